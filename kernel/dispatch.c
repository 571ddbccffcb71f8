// SPDX-License-Identifier: GPL-2.0-only
/*
 * DATA PATH: from blk-mq to the queue pairs.
 *
 * A request becomes one work request, or one chain of them. This code allocates nothing,
 * takes no lock that another hardware queue takes, and never waits. First it prepares a
 * request: it decides how to send the request, and takes all memory, tags and send slots for
 * that. If one of these is missing, the request goes back to the block layer. Then it begins
 * the request and sends it. While the connection is down, it holds or refuses requests.
 * request.c ends requests.
 */
#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include "compat.h"
#include "onesided.h"
#include "onesided_cmd.h"
#include "poll.h"
#include "request.h"
#include "staged.h"
#include "trace.h"

static void rdmablk_dispatch_commit_hwq(struct rdmablk_hwq *hwq)
{
	rdmablk_queue_commit(&hwq->read);
	rdmablk_queue_commit(&hwq->write);
}

/*
 * Prepares what follows a WRITE that is mapped and has send slots. A command that makes it
 * durable also proves that the data is in memory, so it replaces the READ.
 */
static noinline blk_status_t rdmablk_dispatch_prepare_more(struct rdmablk_path *path,
							   struct rdmablk_hwq *hwq,
							   struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (req->durable)
		rdmablk_onesided_prepare_fua(hwq, rq);
	req->more = req->cmd || path->ordered;
	if (req->cmd || !path->ordered)
		return BLK_STS_OK;
	if (!rdmablk_queue_get_slots(req->queue, 1)) {
		rdmablk_queue_put_slots(req->queue, req->nr_wr);
		rdmablk_onesided_unmap(path, rq);
		return BLK_STS_RESOURCE;
	}
	req->nr_wr++;
	return BLK_STS_OK;
}

static blk_status_t rdmablk_dispatch_prepare_io(struct rdmablk_path *path,
						struct rdmablk_hwq *hwq,
						struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	blk_status_t ret;

	req->queue = req_op(rq) == REQ_OP_WRITE ? &hwq->write : &hwq->read;
	req->cqe.done = rdmablk_request_done;
	ret = rdmablk_onesided_map(path, hwq, rq);
	if (unlikely(ret))
		return ret;
	if (unlikely(!rdmablk_queue_get_slots(req->queue, req->nr_wr))) {
		rdmablk_onesided_unmap(path, rq);
		/*
		 * BLK_STS_DEV_RESOURCE would promise that a completion of this hardware
		 * queue of the tag set restarts it. But requests of another one that shares
		 * the queue pair may hold all slots.
		 */
		return BLK_STS_RESOURCE;
	}
	if (unlikely(req->more))
		return rdmablk_dispatch_prepare_more(path, hwq, rq);
	return BLK_STS_OK;
}

/*
 * Prepares a request of a session whose writes need a flush, or a READ behind them. Return:
 * whether the request is a FLUSH with nothing to flush.
 */
static bool rdmablk_dispatch_prepare_special(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	bool write = req_op(rq) == REQ_OP_WRITE;

	if (path->cache) {
		req->durable = write && (rq->cmd_flags & REQ_FUA ||
					 rdmablk_flush_ahead_expects(path, blk_rq_bytes(rq)));
		if (req_op(rq) == REQ_OP_FLUSH && rdmablk_flush_ahead_is_clean(path))
			req->sender = RDMABLK_SENDER_NONE;
	}
	req->more = req->durable || (write && path->ordered);
	return req->sender == RDMABLK_SENDER_NONE;
}

static blk_status_t rdmablk_dispatch_prepare_staged(struct rdmablk_path *path,
						    struct rdmablk_hwq *hwq,
						    struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	blk_status_t ret = rdmablk_staged_prepare(path, hwq, rq);

	req->sender = req->cmd ? RDMABLK_SENDER_STAGED : RDMABLK_SENDER_FENCE;
	if (ret != BLK_STS_RESOURCE || req_op(rq) != REQ_OP_FLUSH)
		return ret;
	return rdmablk_onesided_prepare_flush(path, req);
}

/* Return: true: the request has nothing to do. */
static inline bool rdmablk_dispatch_prepare_any(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	/* The latency includes the time in which the request was held or waited for a tag. */
	if (unlikely(rdmablk_stats_timing_is_on(&path->timing)) && !req->begun)
		req->begun = ktime_get_ns();
	if (unlikely(req->holds) && !req->held)
		req->holds = 0;
	memset(&req->attempt, 0, sizeof(req->attempt));
	return path->more && rdmablk_dispatch_prepare_special(path, rq);
}

static inline blk_status_t rdmablk_dispatch_prepare_onesided(struct rdmablk_path *path,
							     struct rdmablk_hwq *hwq,
							     struct request *rq)
{
	/*
	 * The block layer refuses only to open the disk for writing; bios of stacked
	 * devices come through. An RDMA WRITE would break the connection with an access
	 * error.
	 */
	if (unlikely(path->read_only) && req_op(rq) == REQ_OP_WRITE)
		return BLK_STS_IOERR;
	return rdmablk_dispatch_prepare_io(path, hwq, rq);
}

static blk_status_t rdmablk_dispatch_prepare_other(struct rdmablk_path *path,
						   struct rdmablk_hwq *hwq,
						   struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	req->sender = RDMABLK_SENDER_FENCE;
	return rdmablk_onesided_prepare_other(path, hwq, rq);
}

static blk_status_t rdmablk_dispatch_prepare(struct rdmablk_path *path,
					     struct rdmablk_hwq *hwq, struct request *rq)
{
	if (rdmablk_dispatch_prepare_any(path, rq))
		return BLK_STS_OK;
	if (path->staged)
		return rdmablk_dispatch_prepare_staged(path, hwq, rq);
	if (unlikely(req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE))
		return rdmablk_dispatch_prepare_other(path, hwq, rq);
	return rdmablk_dispatch_prepare_onesided(path, hwq, rq);
}

/* A switch, no function pointer: the sender of one-sided READs and WRITEs is inlined. */
static void rdmablk_dispatch_send(struct rdmablk_path *path, struct request *rq, bool last)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	switch (req->sender) {
	case RDMABLK_SENDER_ONESIDED:
		rdmablk_onesided_send(path, rq, last);
		break;
	case RDMABLK_SENDER_STAGED:
		rdmablk_staged_send(path, rq, last);
		break;
	case RDMABLK_SENDER_FENCE:
		rdmablk_fence_queue(&path->fence, &req->fence);
		break;
	case RDMABLK_SENDER_NONE:
		rdmablk_request_end(rq, BLK_STS_OK);
		break;
	}
}

static void rdmablk_dispatch_trace(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
				   struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	bool io = req_op(rq) == REQ_OP_READ || req_op(rq) == REQ_OP_WRITE;
	u32 flags = req->held ? RDMABLK_TRACE_AGAIN : 0;

	if (!io || path->staged || req->durable)
		flags |= RDMABLK_TRACE_COMMAND;
	trace_rdmablk_queue(path->index, rq->mq_hctx->queue_num, rq->tag, hwq->nr,
			    (__force u32)req_op(rq), blk_rq_pos(rq), blk_rq_bytes(rq),
			    req->nr_wr, flags);
}

/* Begins a prepared request; the caller sends it next. */
static inline void rdmablk_dispatch_begin(struct rdmablk_path *path,
					  struct rdmablk_hwq *hwq, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (unlikely(!!(rq->cmd_flags & REQ_POLLED) != hwq->polled))
		rdmablk_poll_request(hwq, rq);
	if (trace_rdmablk_queue_enabled())
		rdmablk_dispatch_trace(path, hwq, rq);
	if (unlikely(req->held)) {
		if (!req->unsent)
			this_cpu_inc(path->stats->requeues);
		req->unsent = false;
		req->held = false;
	}
	if (path->cache) {
		if (req_op(rq) == REQ_OP_FLUSH)
			rdmablk_flush_ahead_flush(path);
		else if (op_is_write(req_op(rq)) && !(rq->cmd_flags & REQ_FUA))
			rdmablk_flush_ahead_write(path);
	}
	blk_mq_start_request(rq);
	req->posted = true;
}

/*
 * The connection is down or flushes: holds a new request like those that a connection leaves
 * behind. For the block layer the request is started. So the number of tags limits how many are
 * held, and requests behind it in the queue still arrive here, where some of them must fail
 * at once. All fields are written before the request is started, because from then on others
 * find it by its tag.
 */
static void rdmablk_dispatch_hold_new(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (unlikely(rdmablk_stats_timing_is_on(&path->timing)) && !req->begun)
		req->begun = ktime_get_ns();
	/* A request that was requeued after an earlier outage keeps @holds and @unsent. */
	if (!req->held) {
		req->holds = 0;
		req->unsent = true;
	}
	memset(&req->attempt, 0, sizeof(req->attempt));
	req->watched = false;
	WRITE_ONCE(req->held, true);
	blk_mq_start_request(rq);
}

/* Out of line: a live session does not pay for it. */
static noinline blk_status_t rdmablk_dispatch_queue_down(struct rdmablk_path *path,
							 struct request *rq)
{
	if (READ_ONCE(path->failing))
		return rdmablk_request_refuse(path, rq, BLK_STS_TRANSPORT);
	/* From an error until the recovery holds requests, the block layer keeps new ones. */
	if (!READ_ONCE(path->holding))
		return rdmablk_request_refuse(path, rq, BLK_STS_RESOURCE);
	if (READ_ONCE(path->failing_fast) && rdmablk_request_fails_fast(rq))
		return rdmablk_request_refuse(path, rq, BLK_STS_TRANSPORT);
	rdmablk_dispatch_hold_new(path, rq);
	return BLK_STS_OK;
}

static blk_status_t rdmablk_dispatch_queue(struct blk_mq_hw_ctx *hctx,
					   const struct blk_mq_queue_data *bd)
{
	struct rdmablk_path *path = hctx->queue->queuedata;
	struct rdmablk_hwq *hwq;
	struct request *rq = bd->rq;
	blk_status_t ret;

	/* Pairs with the release in session.c: the queues belong to this session. */
	if (unlikely(!smp_load_acquire(&path->live)))
		return rdmablk_dispatch_queue_down(path, rq);

	hwq = *(struct rdmablk_hwq **)hctx->driver_data;
	ret = rdmablk_dispatch_prepare(path, hwq, rq);
	if (unlikely(ret != BLK_STS_OK)) {
		if (bd->last)
			rdmablk_dispatch_commit_hwq(hwq);
		return rdmablk_request_refuse(path, rq, ret);
	}
	rdmablk_dispatch_begin(path, hwq, rq);
	rdmablk_dispatch_send(path, rq, bd->last);
	/* Requests of the other direction may have been batched, too. */
	if (bd->last)
		rdmablk_dispatch_commit_hwq(hwq);
	return BLK_STS_OK;
}

static void rdmablk_dispatch_commit(struct blk_mq_hw_ctx *hctx)
{
	rdmablk_dispatch_commit_hwq(*(struct rdmablk_hwq **)hctx->driver_data);
}

/* Prepares a READ or WRITE of a session that is not staged. Return: whether it succeeded. */
static bool rdmablk_dispatch_may_batch(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
				       struct request *rq)
{
	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE)
		return false;
	/* Only a FLUSH may have nothing to do. */
	rdmablk_dispatch_prepare_any(path, rq);
	return rdmablk_dispatch_prepare_onesided(path, hwq, rq) == BLK_STS_OK;
}

/* Sends a single request. Return: false: it cannot be prepared in a batch. */
static bool rdmablk_dispatch_queue_one(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_hwq *hwq = *(struct rdmablk_hwq **)rq->mq_hctx->driver_data;

	if (!rdmablk_dispatch_may_batch(path, hwq, rq))
		return false;
	rdmablk_compat_enter(rq);
	rdmablk_dispatch_begin(path, hwq, rq);
	rdmablk_onesided_send(path, rq, true);
	return true;
}

static void rdmablk_dispatch_send_lists(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
					struct rq_list *lists)
{
	if (!hwq)
		return;
	rdmablk_onesided_send_list(path, &hwq->read, &lists[READ]);
	rdmablk_onesided_send_list(path, &hwq->write, &lists[WRITE]);
}

/*
 * Sends the requests of each hardware queue with one doorbell per direction. Out of line, so
 * that a single request does not pay for the lists.
 */
static noinline void rdmablk_dispatch_queue_many(struct rdmablk_path *path, struct rq_list *list)
{
	struct rq_list lists[2] = { }, left = { };
	struct rdmablk_hwq *hwq = NULL, *next;
	struct request *rq;

	while ((rq = rq_list_pop(list))) {
		next = *(struct rdmablk_hwq **)rq->mq_hctx->driver_data;
		if (!rdmablk_dispatch_may_batch(path, next, rq)) {
			rq_list_add_tail(&left, rq);
			continue;
		}
		if (next != hwq)
			rdmablk_dispatch_send_lists(path, hwq, lists);
		hwq = next;
		rdmablk_compat_enter(rq);
		rdmablk_dispatch_begin(path, hwq, rq);
		rq_list_add_tail(&lists[rq_data_dir(rq)], rq);
	}
	rdmablk_dispatch_send_lists(path, hwq, lists);
	*list = left;
}

/*
 * Sends the requests that a task has plugged, maybe a single one. Requests that cannot be
 * prepared here, and those that are neither READ nor WRITE, stay in the list. The block layer
 * queues them one by one.
 */
static void rdmablk_dispatch_queue_batch(struct rq_list *list)
{
	struct request *rq = rq_list_peek(list);
	struct rdmablk_path *path = rq->q->queuedata;

	/* Pairs with the release in session.c, as in rdmablk_dispatch_queue(). */
	if (unlikely(!smp_load_acquire(&path->live) || path->staged))
		return;
	if (rq->rq_next)
		rdmablk_dispatch_queue_many(path, list);
	else if (likely(rdmablk_dispatch_queue_one(path, rq)))
		rq_list_init(list);
}

RDMABLK_QUEUE_RQS(rdmablk_dispatch_queue_rqs, rdmablk_dispatch_queue_batch)

static int rdmablk_dispatch_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	return rdmablk_poll(*(struct rdmablk_hwq **)hctx->driver_data, iob);
}

/*
 * The last hardware queues are for polled requests. If the target granted too few of them,
 * they have interrupts.
 */
static void rdmablk_dispatch_map_queues(struct blk_mq_tag_set *set)
{
	const struct rdmablk_path *path = set->driver_data;
	struct blk_mq_queue_map *map = set->map;
	u32 poll = set->nr_maps > HCTX_TYPE_POLL ? path->nr_poll : 0;

	map[HCTX_TYPE_DEFAULT].nr_queues = set->nr_hw_queues - poll;
	map[HCTX_TYPE_DEFAULT].queue_offset = 0;
	blk_mq_map_queues(&map[HCTX_TYPE_DEFAULT]);
	if (!poll)
		return;
	map[HCTX_TYPE_READ].nr_queues = 0;
	map[HCTX_TYPE_POLL].nr_queues = poll;
	map[HCTX_TYPE_POLL].queue_offset = set->nr_hw_queues - poll;
	blk_mq_map_queues(&map[HCTX_TYPE_POLL]);
}

static int rdmablk_dispatch_init_hctx(struct blk_mq_hw_ctx *hctx, void *data,
				      unsigned int idx)
{
	struct rdmablk_path *path = data;

	hctx->driver_data = &path->map[idx];
	return 0;
}

/*
 * The timer of a request has fired. The transport gives up earlier. So if a READ or WRITE
 * without a command is still under way, its connection is broken and nothing has said so; or
 * rdmablk_io_tmo_hurry() has left it less time. A command has had its io_tmo, or has no limit;
 * see io_tmo.c. The device owns the request until the queue pairs are drained. On a polled
 * queue the request may have completed without a task that polls, so this function polls first.
 *
 * A command that stands in a line is not sent yet, nor is a FLUSH behind another one. Those
 * before it have timers of their own, and its time begins when it is sent.
 *
 * A request that was held may be sent again while this function runs. It is no longer held by
 * then, but either not in flight yet, or its deadline is a new one: hence the order of the reads.
 */
static enum blk_eh_timer_return rdmablk_dispatch_timeout(struct request *rq)
{
	struct rdmablk_path *path = rq->q->queuedata;
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	bool waits;

	rdmablk_poll_now(*(struct rdmablk_hwq **)rq->mq_hctx->driver_data);
	waits = !READ_ONCE(path->live) || READ_ONCE(req->held) || READ_ONCE(req->fence.waits);
	/*
	 * A request that is sent again is no longer held before it is in flight. A command gets
	 * its new deadline before its "waits" is cleared: rdmablk_fence_begin_op().
	 */
	smp_rmb();
	if (blk_mq_rq_state(rq) != MQ_RQ_IN_FLIGHT)
		return BLK_EH_DONE;
	/* Its new deadline is set before it is in flight. */
	smp_rmb();
	if (!waits && !time_before(jiffies, READ_ONCE(rq->deadline)))
		path->timed_out(path, rdmablk_request_is_command(rq));
	return BLK_EH_RESET_TIMER;
}

const struct blk_mq_ops rdmablk_dispatch_ops = {
	.queue_rq	= rdmablk_dispatch_queue,
	.queue_rqs	= rdmablk_dispatch_queue_rqs,
	.commit_rqs	= rdmablk_dispatch_commit,
	.complete	= rdmablk_request_complete,
	.cleanup_rq	= rdmablk_request_cleanup,
	.timeout	= rdmablk_dispatch_timeout,
	.poll		= rdmablk_dispatch_poll,
	.map_queues	= rdmablk_dispatch_map_queues,
	.init_hctx	= rdmablk_dispatch_init_hctx,
};
