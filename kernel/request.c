// SPDX-License-Identifier: GPL-2.0-only
/*
 * DATA PATH: how a request ends. dispatch.c sends requests.
 *
 * This code allocates nothing, takes no lock that another hardware queue takes, and never
 * waits.
 *
 * How requests end
 *
 * - The done() handler of its last work request, or the answer to its command, ends a
 *   request with success. An answer may also end it with the target's error.
 * - After a completion with an error, a failed post or a timeout, nobody ends the request
 *   at first: these only start a recovery. Until all queue pairs are drained, the device may
 *   still access the pages of any request, and the block layer would give them to another
 *   user. After the drain, rdmablk_request_hold_all() unmaps and holds the requests that
 *   are left: the block layer counts them as in flight, and no device refers to them.
 *   Requests that arrive while the connection is down are held, too.
 * - Held requests are requeued when the session is live again. They fail when the
 *   administrator's time limit is over, or at once if the submitter has an alternative
 *   (FAILFAST). A posted write does not fail before the target's session has ended: until
 *   then a delayed packet of it might land after a newer write that somebody issued
 *   because this one had failed.
 */
#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include "compat.h"
#include "onesided.h"
#include "poll.h"
#include "request.h"
#include "trace.h"

static enum rdmablk_timed rdmablk_request_timed(struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return RDMABLK_TIMED_READ;
	case REQ_OP_WRITE:
		return RDMABLK_TIMED_WRITE;
	case REQ_OP_FLUSH:
		return RDMABLK_TIMED_FLUSH;
	default:
		return RDMABLK_TIMED_DISCARD;
	}
}

/* Out of line: without measuring, requests do not pay for the clock. */
static noinline void rdmablk_request_time(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	rdmablk_stats_timing_add(&path->timing, rdmablk_request_timed(rq), req->begun);
	req->begun = 0;
}

static inline void rdmablk_request_count(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_stats __percpu *stats = path->stats;
	int dir = rq_data_dir(rq);

	switch (req_op(rq)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		this_cpu_inc(stats->ios[dir]);
		this_cpu_add(stats->bytes[dir], blk_rq_bytes(rq));
		break;
	case REQ_OP_FLUSH:
		this_cpu_inc(stats->flushes);
		break;
	default:
		this_cpu_inc(stats->discards);
		this_cpu_add(stats->discard_bytes, blk_rq_bytes(rq));
		break;
	}
	this_cpu_add(stats->work_requests, req->nr_wr);
	if (unlikely(req->begun))
		rdmablk_request_time(path, rq);
}

static __always_inline void rdmablk_request_account(struct request *rq)
{
	struct rdmablk_path *path = rq->q->queuedata;
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (likely(req->status == BLK_STS_OK)) {
		rdmablk_request_count(path, rq);
	} else {
		this_cpu_inc(path->stats->errors);
		req->begun = 0;
	}
	/* Checked here, too, because the translation into an errno is a call. */
	if (trace_rdmablk_end_enabled())
		trace_rdmablk_end(path->index, rq->mq_hctx->queue_num, rq->tag,
				  blk_status_to_errno(req->status));
}

/**
 * rdmablk_request_complete() - ->complete()
 * @rq: request with a status
 *
 * Context: on the CPU that submitted the request, if the administrator wants that.
 */
void rdmablk_request_complete(struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	rdmablk_request_account(rq);
	blk_mq_end_request(rq, req->status);
}

static inline void rdmablk_request_trace_complete(struct request *rq, blk_status_t status)
{
	const struct rdmablk_path *path = rq->q->queuedata;

	if (trace_rdmablk_complete_enabled())
		trace_rdmablk_complete(path->index, rq->mq_hctx->queue_num, rq->tag,
				       blk_status_to_errno(status));
}

static inline void rdmablk_request_end_now(struct request *rq, blk_status_t status)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (unlikely(req->watched))
		rdmablk_poll_request_done(rq);
	rdmablk_request_trace_complete(rq, status);
	req->status = status;
	if (unlikely(blk_should_fake_timeout(rq->q)))
		return;
	rdmablk_request_hand_over(rq);
}

/**
 * rdmablk_request_end() - end a request
 * @rq: request, unmapped, without a command; no device refers to it
 * @status: status with which it ends
 */
void rdmablk_request_end(struct request *rq, blk_status_t status)
{
	rdmablk_request_end_now(rq, status);
}

/*
 * Adds the request to the batch of the polling task, which ends it together with others.
 * From here on recoveries ignore it.
 */
static noinline void rdmablk_request_end_polled(struct request *rq, struct io_comp_batch *iob)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (unlikely(req->watched))
		rdmablk_poll_request_done(rq);
	rdmablk_request_trace_complete(rq, BLK_STS_OK);
	req->status = BLK_STS_OK;
	if (unlikely(blk_should_fake_timeout(rq->q)) || blk_mq_complete_request_remote(rq))
		return;
	rdmablk_request_account(rq);
	if (!blk_mq_add_to_batch(rq, iob, false, blk_mq_end_request_batch))
		blk_mq_end_request(rq, BLK_STS_OK);
}

/**
 * rdmablk_request_done() - the last work request of a READ or WRITE has completed
 * @cq: completion queue of its hardware queue
 * @wc: work completion; its wr_cqe belongs to the request
 */
void rdmablk_request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdmablk_request *req = container_of(wc->wr_cqe, struct rdmablk_request,
						   cqe);
	struct request *rq = blk_mq_rq_from_pdu(req);
	struct rdmablk_hwq *hwq = cq->cq_context;
	struct rdmablk_path *path = hwq->path;
	struct rdmablk_queue *q = req->queue;

	/* After an error only wr_cqe and status are valid. */
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rdmablk_queue_failed(q, wc);
		return;
	}
	/*
	 * Unmapped here and not in ->complete(), which may run on another CPU after the
	 * device is gone.
	 */
	rdmablk_onesided_unmap(path, rq);
	rdmablk_queue_put_slots(q, req->nr_wr);
	if (unlikely(req->fua)) {
		rdmablk_fence_queue(&path->fence, &req->fence);
		return;
	}
	if (req_op(rq) == REQ_OP_WRITE)
		rdmablk_request_wrote(path, hwq, rdmablk_request_start(rq), blk_rq_bytes(rq));
	if (hwq->iob)
		rdmablk_request_end_polled(rq, hwq->iob);
	else
		rdmablk_request_end_now(rq, BLK_STS_OK);
}

/* Forgets the history of the request, because another request will use the tag next. */
static void rdmablk_request_forget(struct rdmablk_request *req)
{
	req->held = false;
	req->unsent = false;
	req->begun = 0;
}

/**
 * rdmablk_request_refuse() - refuse a request that cannot be sent and was not started
 * @path: data path
 * @rq: request, with nothing mapped or taken
 * @why: BLK_STS_RESOURCE: the block layer queues the request again a little later; any
 *	other status: the block layer ends it without ->complete()
 *
 * Return: @why.
 */
blk_status_t rdmablk_request_refuse(struct rdmablk_path *path, struct request *rq,
				    blk_status_t why)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (why == BLK_STS_RESOURCE) {
		this_cpu_inc(path->stats->busy);
		return why;
	}
	rdmablk_request_forget(req);
	req->status = why;
	/* Counted here: the block layer does not call ->complete(). */
	rdmablk_request_account(rq);
	return why;
}

/**
 * rdmablk_request_cleanup() - ->cleanup_rq()
 * @rq: clone of a stacked device, refused with BLK_STS_RESOURCE. The stacked device frees it
 *	and makes another one later.
 */
void rdmablk_request_cleanup(struct request *rq)
{
	rdmablk_request_forget(blk_mq_rq_to_pdu(rq));
}

/**
 * rdmablk_request_begin() - upcall: the time of a command begins, for it waits no longer
 * @op: of a started request
 *
 * The block layer's timer may fire earlier. It then finds the new deadline.
 */
void rdmablk_request_begin(struct rdmablk_fence_op *op)
{
	struct rdmablk_request *req = container_of(op, struct rdmablk_request, fence);
	struct request *rq = blk_mq_rq_from_pdu(req);

	WRITE_ONCE(rq->deadline, jiffies + rq->timeout);
}

/**
 * rdmablk_request_is_command() - whether a request waits for the daemon
 * @rq: started request
 *
 * Return: false: the request is a READ or WRITE that involves only the RDMA devices.
 */
bool rdmablk_request_is_command(struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	bool io = req_op(rq) == REQ_OP_READ || req_op(rq) == REQ_OP_WRITE;

	/* A request with @fua has no command yet, because it waits for a tag. */
	return !io || req->fua || READ_ONCE(req->cmd);
}

static bool rdmablk_request_rearm_one(struct request *rq, void *data)
{
	const struct rdmablk_path *path = rq->q->queuedata;
	const struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	unsigned int tmo = rq->timeout, *most = data;
	unsigned long deadline;

	if (blk_mq_rq_state(rq) != MQ_RQ_IN_FLIGHT)
		return true;
	if (rdmablk_request_is_command(rq))
		tmo = (req_op(rq) == REQ_OP_READ || req_op(rq) == REQ_OP_WRITE) &&
		      !(rq->cmd_flags & REQ_FUA) && !req->durable ?
		      path->read_write_tmo : path->slow_tmo;
	tmo = min(tmo ?: rq->timeout, *most);
	if (tmo == rq->timeout)
		return true;
	deadline = rq->deadline - rq->timeout + tmo;
	rq->timeout = tmo;
	WRITE_ONCE(rq->deadline, deadline);
	timer_reduce(&rq->q->timeout, time_after(deadline, jiffies) ? deadline : jiffies + 1);
	return true;
}

/**
 * rdmablk_request_rearm() - apply a changed time limit to requests under way
 * @set: tag set, quiesced since the limit was changed: no request is sent with the older one
 * @most: most jiffies that any request may take
 *
 * The block layer's timer counts from when the request was sent, or from when the timer
 * fired last. If a request ends meanwhile, it keeps its tag until this function has looked
 * at it.
 */
void rdmablk_request_rearm(struct blk_mq_tag_set *set, unsigned int most)
{
	blk_mq_tagset_busy_iter(set, rdmablk_request_rearm_one, &most);
}

/*
 * Requests that a lost connection leaves behind
 */

static bool rdmablk_request_hold(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_path *path = rq->q->queuedata;
	struct rdmablk_held *held = data;

	/* The request has ended already, but ->complete() has not run yet. */
	if (blk_mq_request_completed(rq))
		return true;
	/* It came during the flush of an orderly end, so the device does not have it. */
	if (req->held)
		return true;
	rdmablk_onesided_unmap(path, rq);
	if (path->staged && req_op(rq) == REQ_OP_FLUSH && req->was_unflushed)
		WRITE_ONCE(path->unflushed, true);
	req->cmd = NULL;
	req->watched = false;
	/* The timeout may be that of a command. The request may be sent again without one. */
	rq->timeout = 0;
	if (held->lost && held->again && req->holds) {
		req->holds = 2;
	} else if (held->lost) {
		req->holds = 1;
		req->held_since = jiffies;
	}
	WRITE_ONCE(req->held, true);
	held->requests++;
	held->writes += req->posted && op_is_write(req_op(rq));
	return true;
}

/**
 * rdmablk_request_hold_all() - hold the requests that a lost connection left behind
 * @set: tag set, quiesced; all queue pairs are drained, the device still exists
 * @lost: the connection was lost, or given up because the target wanted that; false: the
 *	administrator wanted it
 * @again: a request that has lost the connection before, too, may be what broke both
 *
 * Return: number of requests and writes.
 */
struct rdmablk_held rdmablk_request_hold_all(struct blk_mq_tag_set *set, bool lost,
					     bool again)
{
	struct rdmablk_held held = { .lost = lost, .again = again };

	blk_mq_tagset_busy_iter(set, rdmablk_request_hold, &held);
	return held;
}

static bool rdmablk_request_is_posted(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	bool *busy = data;

	*busy |= !blk_mq_request_completed(rq) && !READ_ONCE(req->held);
	return !*busy;
}

/**
 * rdmablk_request_busy() - whether any request is under way and not held
 * @set: tag set. Unless it is quiesced, a request that is being held or ended may count, too
 *
 * Return: true: there is one.
 */
bool rdmablk_request_busy(struct blk_mq_tag_set *set)
{
	bool busy = false;

	blk_mq_tagset_busy_iter(set, rdmablk_request_is_posted, &busy);
	return busy;
}

static bool rdmablk_request_is_in_flight(struct request *rq, void *data)
{
	u32 *n = data;

	*n += !blk_mq_request_completed(rq);
	return true;
}

/**
 * rdmablk_request_in_flight() - count the requests that have not ended
 * @set: tag set
 *
 * Return: current number, held requests included.
 */
u32 rdmablk_request_in_flight(struct blk_mq_tag_set *set)
{
	u32 n = 0;

	blk_mq_tagset_busy_iter(set, rdmablk_request_is_in_flight, &n);
	return n;
}

static void rdmablk_request_end_held(struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	WRITE_ONCE(req->held, false);
	req->unsent = false;
	req->status = BLK_STS_TRANSPORT;
	rdmablk_request_hand_over(rq);
}

/**
 * rdmablk_request_fails_fast() - whether a request fails at once without a connection
 * @rq: request
 *
 * Multipath and md set the FAILFAST flags if they can use another disk at once. The block
 * layer sets them for all readahead. Readahead is exempt, because its failure would turn an
 * outage into unreadable pages; so is a request merged from bios with different flags.
 *
 * Return: true: the request does not wait for the next connection.
 */
bool rdmablk_request_fails_fast(const struct request *rq)
{
	return rq->cmd_flags & (REQ_FAILFAST_TRANSPORT | REQ_FAILFAST_DEV) &&
	       !(rq->cmd_flags & REQ_RAHEAD) && !(rq->rq_flags & RQF_MIXED_MERGE);
}

struct rdmablk_fail {
	bool all;
	bool keep_writes;
	unsigned int kept;
};

static bool rdmablk_request_fail(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_fail *fail = data;

	if (blk_mq_request_completed(rq) || !req->held)
		return true;
	if (!fail->all && !rdmablk_request_fails_fast(rq))
		return true;
	if (fail->keep_writes && req->posted && op_is_write(req_op(rq))) {
		fail->kept++;
		return true;
	}
	rdmablk_request_end_held(rq);
	return true;
}

/**
 * rdmablk_request_fail_held() - end held requests with BLK_STS_TRANSPORT
 * @set: tag set, quiesced
 * @all: all of them, not only FAILFAST requests
 * @keep_writes: except WRITEs that were posted
 *
 * Return: number of requests that stay held only because of @keep_writes.
 */
unsigned int rdmablk_request_fail_held(struct blk_mq_tag_set *set, bool all,
				       bool keep_writes)
{
	struct rdmablk_fail fail = { .all = all, .keep_writes = keep_writes };

	blk_mq_tagset_busy_iter(set, rdmablk_request_fail, &fail);
	return fail.kept;
}

struct rdmablk_resend {
	unsigned long patience;
	unsigned int requests;
};

static bool rdmablk_request_requeue(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_resend *resend = data;

	if (blk_mq_request_completed(rq) || !req->held)
		return true;
	if (req->holds > 1 && time_after_eq(jiffies, req->held_since + resend->patience)) {
		rdmablk_request_end_held(rq);
		return true;
	}
	/*
	 * The request stays marked as held, because its timer may fire until it is queued
	 * again. The caller's unquiesce kicks the requeue list.
	 *
	 * With RQF_DONTPREP the request bypasses the scheduler and is never merged. A request
	 * that was merged away would end without this file, and the next request of its tag
	 * would inherit its losses.
	 */
	rq->rq_flags |= RQF_DONTPREP;
	rq->timeout = 0;	/* the limit at the time when it is sent, which may have changed */
	blk_mq_requeue_request(rq, false);
	resend->requests++;
	return true;
}

/**
 * rdmablk_request_requeue_held() - give held requests back to the block layer, which sends
 *	them again
 * @set: tag set, quiesced; no packet of an earlier connection can land any more
 * @patience: jiffies, up to MAX_JIFFY_OFFSET; a request that has lost one connection after
 *	the other for so long fails
 *
 * A new connection ends the outage, but not for a request that may break every connection:
 * if the network drops large packets, this request may be the cause.
 *
 * Return: number of requests that are sent again.
 */
unsigned int rdmablk_request_requeue_held(struct blk_mq_tag_set *set, unsigned long patience)
{
	struct rdmablk_resend resend = { .patience = patience };

	blk_mq_tagset_busy_iter(set, rdmablk_request_requeue, &resend);
	return resend.requests;
}
