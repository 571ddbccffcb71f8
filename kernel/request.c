// SPDX-License-Identifier: GPL-2.0-only
/*
 * DATA PATH: from blk-mq to the queue pairs and back.
 *
 * One request is one work request (or one chain) and one completion. Nothing is
 * allocated, no lock is taken that another hardware queue takes, and nothing waits.
 *
 * Who ends a request
 *
 * - Success: the done() handler of its last work request.
 * - Anything else: nobody, at first. A completion with an error, a failed post or a
 *   timeout only calls for recovery. The device may still read or write the pages
 *   of any request until all queue pairs are drained; the block layer would hand
 *   them to somebody else. After the drain, rdmablk_request_hold_all() takes what is
 *   left: unmapped, still in flight for the block layer, no device's any more.
 * - What is held is requeued when the session is live again, or ended when the
 *   administrator's patience is. A write that was posted is not reported as failed
 *   before the target's session has ended: until then a delayed packet of it could
 *   still land, after a newer write that somebody issued because this one had failed.
 */
#include <linux/blk-mq.h>
#include "compat.h"
#include "onesided.h"
#include "request.h"
#include "trace.h"

/**
 * rdmablk_request_size() - bytes of per-request state
 * @max_segments: segments of the largest request
 *
 * Return: what goes into the tag set's cmd_size.
 */
size_t rdmablk_request_size(u32 max_segments)
{
	return sizeof(struct rdmablk_request) +
	       (size_t)max_segments * sizeof(struct ib_sge);
}

/* ->complete(): on the CPU that submitted, when the administrator wants that. */
static void rdmablk_request_complete(struct request *rq)
{
	struct rdmablk_path *path = rq->q->queuedata;
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	int dir = rq_data_dir(rq);

	if (likely(req->status == BLK_STS_OK)) {
		this_cpu_inc(path->stats->ios[dir]);
		this_cpu_add(path->stats->bytes[dir], blk_rq_bytes(rq));
		this_cpu_add(path->stats->work_requests, req->nr_wr);
	} else {
		this_cpu_inc(path->stats->errors);
	}
	trace_rdmablk_complete(path->index, rq->mq_hctx->queue_num, rq->tag,
			       blk_status_to_errno(req->status));
	blk_mq_end_request(rq, req->status);
}

static void rdmablk_request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdmablk_request *req = container_of(wc->wr_cqe, struct rdmablk_request,
						   cqe);
	struct request *rq = blk_mq_rq_from_pdu(req);
	struct rdmablk_queue *q = req->queue;

	/* After an error only wr_cqe and status are valid. */
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		q->fatal(q, wc->status == IB_WC_REM_ACCESS_ERR ?
			 RDMABLK_R_ACCESS : RDMABLK_R_CONNECTION);
		return;
	}
	/*
	 * Unmapped here and not in ->complete(), which may run on another CPU after
	 * the device is gone.
	 */
	rdmablk_onesided_unmap(rq->q->queuedata, rq);
	rdmablk_queue_put_slots(q, req->nr_wr);
	req->status = BLK_STS_OK;
	if (likely(!blk_should_fake_timeout(rq->q)))
		blk_mq_complete_request(rq);
}

static void rdmablk_hwq_commit(struct rdmablk_hwq *hwq)
{
	rdmablk_queue_commit(&hwq->read);
	rdmablk_queue_commit(&hwq->write);
}

static blk_status_t rdmablk_request_prepare(struct rdmablk_path *path,
					    struct request *rq,
					    struct rdmablk_queue *q)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	req->cqe.done = rdmablk_request_done;
	req->queue = q;
	req->posted = false;
	req->held = false;
	switch (rdmablk_onesided_map(path, rq)) {
	case 0:
		break;
	case -ENOMEM:
		return BLK_STS_RESOURCE;
	default:
		return BLK_STS_IOERR;
	}
	if (likely(rdmablk_queue_get_slots(q, req->nr_wr)))
		return BLK_STS_OK;
	rdmablk_onesided_unmap(path, rq);
	/*
	 * Not BLK_STS_DEV_RESOURCE: the requests that hold the slots may be of
	 * another hardware queue, whose completions do not restart this one.
	 */
	return BLK_STS_RESOURCE;
}

static blk_status_t rdmablk_request_queue(struct blk_mq_hw_ctx *hctx,
					  const struct blk_mq_queue_data *bd)
{
	struct rdmablk_path *path = hctx->queue->queuedata;
	struct rdmablk_hwq *hwq;
	struct request *rq = bd->rq;
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_queue *q;
	blk_status_t ret;

	/* Pairs with the release in session.c: the queues are those of this session. */
	if (unlikely(!smp_load_acquire(&path->live)))
		/*
		 * Between an error and the quiesce that follows it, I/O comes
		 * again a little later.
		 */
		return READ_ONCE(path->failing) ? BLK_STS_TRANSPORT :
						  BLK_STS_RESOURCE;
	hwq = *(struct rdmablk_hwq **)hctx->driver_data;
	switch (req_op(rq)) {
	case REQ_OP_READ:
		q = &hwq->read;
		break;
	case REQ_OP_WRITE:
		/*
		 * Only who opens the disk is refused by the block layer; bios of
		 * stacked devices come through. The target would answer with an
		 * access error, which is the end of the session.
		 */
		if (unlikely(path->read_only))
			return BLK_STS_IOERR;
		q = &hwq->write;
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	ret = rdmablk_request_prepare(path, rq, q);
	if (unlikely(ret != BLK_STS_OK)) {
		if (bd->last)
			rdmablk_hwq_commit(hwq);
		return ret;
	}
	blk_mq_start_request(rq);
	trace_rdmablk_queue(path->index, hctx->queue_num, rq->tag,
			    (__force u32)req_op(rq),
			    blk_rq_pos(rq), blk_rq_bytes(rq), req->nr_wr);
	req->posted = true;
	rdmablk_onesided_send(path, rq, bd->last);
	/* The batch of the other direction ends here, too. */
	if (bd->last)
		rdmablk_queue_commit(q == &hwq->read ? &hwq->write : &hwq->read);
	return BLK_STS_OK;
}

static void rdmablk_request_commit(struct blk_mq_hw_ctx *hctx)
{
	rdmablk_hwq_commit(*(struct rdmablk_hwq **)hctx->driver_data);
}

static int rdmablk_request_init_hctx(struct blk_mq_hw_ctx *hctx, void *data,
				     unsigned int idx)
{
	struct rdmablk_path *path = data;

	hctx->driver_data = &path->map[idx];
	return 0;
}

/*
 * The transport gives up before this timer fires, so a request that is still here
 * belongs to a connection that is broken without knowing it. The request itself is
 * the device's until the queue pairs are drained.
 */
static enum blk_eh_timer_return rdmablk_request_timeout(struct request *rq)
{
	struct rdmablk_path *path = rq->q->queuedata;
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (READ_ONCE(path->live) && !READ_ONCE(req->held))
		path->timed_out(path);
	return BLK_EH_RESET_TIMER;
}

static bool rdmablk_request_hold(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_held *held = data;

	/* Ended already; ->complete() has not run yet. */
	if (blk_mq_request_completed(rq))
		return true;
	rdmablk_onesided_unmap(rq->q->queuedata, rq);
	WRITE_ONCE(req->held, true);
	held->requests++;
	held->writes += req->posted && req_op(rq) == REQ_OP_WRITE;
	return true;
}

/**
 * rdmablk_request_hold_all() - take the requests that a lost connection left behind
 * @set: tag set, quiesced; all queue pairs are drained, the device is still there
 *
 * Return: how many there are.
 */
struct rdmablk_held rdmablk_request_hold_all(struct blk_mq_tag_set *set)
{
	struct rdmablk_held held = { };

	blk_mq_tagset_busy_iter(set, rdmablk_request_hold, &held);
	return held;
}

struct rdmablk_fail {
	bool keep_writes;
	unsigned int kept;
};

static bool rdmablk_request_fail(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_fail *fail = data;

	if (blk_mq_request_completed(rq) || !req->held)
		return true;
	if (fail->keep_writes && req->posted && req_op(rq) == REQ_OP_WRITE) {
		fail->kept++;
		return true;
	}
	req->held = false;
	req->status = BLK_STS_TRANSPORT;
	blk_mq_complete_request(rq);
	return true;
}

/**
 * rdmablk_request_fail_held() - end held requests with BLK_STS_TRANSPORT
 * @set: tag set
 * @keep_writes: not the WRITEs that were posted
 *
 * Return: how many WRITEs are still held.
 */
unsigned int rdmablk_request_fail_held(struct blk_mq_tag_set *set, bool keep_writes)
{
	struct rdmablk_fail fail = { .keep_writes = keep_writes };

	blk_mq_tagset_busy_iter(set, rdmablk_request_fail, &fail);
	return fail.kept;
}

static bool rdmablk_request_requeue(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (blk_mq_request_completed(rq) || !req->held)
		return true;
	req->held = false;
	/* Whoever unquiesces the queue kicks the list. */
	blk_mq_requeue_request(rq, false);
	return true;
}

/**
 * rdmablk_request_requeue_held() - give held requests back to the block layer, to
 *	be posted anew
 * @set: tag set; nothing of an earlier connection can land any more
 */
void rdmablk_request_requeue_held(struct blk_mq_tag_set *set)
{
	blk_mq_tagset_busy_iter(set, rdmablk_request_requeue, NULL);
}

/**
 * rdmablk_stats_sum() - add up the counters of all CPUs
 * @stats: counters
 * @sum: result
 */
void rdmablk_stats_sum(const struct rdmablk_stats __percpu *stats,
		       struct rdmablk_stats *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct rdmablk_stats *s = per_cpu_ptr(stats, cpu);

		sum->ios[READ] += s->ios[READ];
		sum->ios[WRITE] += s->ios[WRITE];
		sum->bytes[READ] += s->bytes[READ];
		sum->bytes[WRITE] += s->bytes[WRITE];
		sum->errors += s->errors;
		sum->work_requests += s->work_requests;
	}
}

const struct blk_mq_ops rdmablk_mq_ops = {
	.queue_rq	= rdmablk_request_queue,
	.commit_rqs	= rdmablk_request_commit,
	.complete	= rdmablk_request_complete,
	.timeout	= rdmablk_request_timeout,
	.init_hctx	= rdmablk_request_init_hctx,
};
