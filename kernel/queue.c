// SPDX-License-Identifier: GPL-2.0-only
/*
 * One RC connection of a session.
 *
 * Send slots
 *
 * A caller takes a send slot for each work request before it posts, so send queue and
 * completion queue never overflow. (On rxe an overfull CQ loses completions, and a request
 * whose completion is lost never ends.) The slots come back when the signalled last work
 * request of a request completes: RC completes in order, so all work requests before it are
 * done, too. After an error slots do not come back; the queue pair is not used again.
 *
 * The batch
 *
 * The queue owns the memory of work requests, not the request: a provider may still read a
 * work request, at least its next pointer, after its request has completed on another CPU
 * and the tag is in use again (rxe walks the list that way). The lock is held while a batch
 * is built and while it is posted.
 *
 * The tail
 *
 * If the firmware of the target's adapter orders writes to memory loosely, a READ on one
 * queue pair may overtake a completed WRITE of another. But a READ on the same queue pair
 * behind that WRITE is answered only when the WRITE is in memory. If the administrator asks
 * for it, each WRITE ends with such a READ of its last bytes, and the completion of that
 * READ completes the request. Nobody uses the bytes that it reads.
 *
 * Teardown
 *
 * rdmablk_queue_stop() moves the queue pair to the error state and returns when every
 * completion has been delivered: from then on the device touches no memory of a request,
 * and no done() handler of this queue runs. Only then may the caller end requests, unmap
 * their pages and destroy the queue pair.
 *
 * If the completion queue has no interrupts, the drain must poll for its end. ib_drain_qp()
 * polls every 0.1 s; rdmablk_queue_drain() polls at once, and then less and less often. What
 * it cannot do it leaves to ib_drain_qp(), because some devices have a drain of their own
 * for when they are broken.
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <rdma/rdma_cm.h>
#include "queue.h"
#include "trace.h"

/**
 * rdmablk_queue_waiter_init() - initialise a waiter
 * @waiter: to initialise
 */
void rdmablk_queue_waiter_init(struct rdmablk_waiter *waiter)
{
	init_waitqueue_head(&waiter->wq);
	waiter->cancelled = false;
	waiter->broken = false;
}

/**
 * rdmablk_queue_waiter_cancel() - abandon the login that waits here, and later ones
 * @waiter: waiter of the session
 *
 * Context: any.
 */
void rdmablk_queue_waiter_cancel(struct rdmablk_waiter *waiter)
{
	WRITE_ONCE(waiter->cancelled, true);
	wake_up_all(&waiter->wq);
}

/**
 * rdmablk_queue_init() - put a queue into its first state
 * @q: queue, zeroed memory
 * @nr: queue number
 * @kind: enum rdmablk_kind
 * @owner: values that all queues of the session share; need not outlive the call
 */
void rdmablk_queue_init(struct rdmablk_queue *q, u16 nr, u8 kind,
			const struct rdmablk_queue_owner *owner)
{
	spin_lock_init(&q->lock);
	q->nr = nr;
	q->kind = kind;
	q->index = owner->index;
	q->waiter = owner->waiter;
	q->errors = owner->errors;
	q->fatal = owner->fatal;
}

/**
 * rdmablk_queue_reset() - forget the state of an earlier connection
 * @q: queue without a connection
 */
void rdmablk_queue_reset(struct rdmablk_queue *q)
{
	q->cm_pending = false;
	q->cm_status = 0;
	q->cm_reason = 0;
	q->why = NULL;
	q->retry_after_ms = 0;
	q->version = 0;
	q->read_depth = 0;
	q->connected = false;
	q->failed = false;
}

static void rdmablk_queue_qp_event(struct ib_event *event, void *context)
{
	struct rdmablk_queue *q = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_QP_LAST_WQE_REACHED:
	case IB_EVENT_PATH_MIG:
		return;
	default:
		q->fatal(q, RDMABLK_R_CONNECTION);
	}
}

/**
 * rdmablk_queue_create_qp() - create the queue pair of a resolved connection
 * @q: queue whose cm_id has a device
 * @pd: protection domain
 * @cq: completion queue of both directions, with room for @send_slots + @recvs + 2
 * @send_slots: most work requests in flight
 * @recvs: most receives posted
 * @sge: scatter/gather elements per work request
 *
 * Return: 0 or a negative errno of the device.
 */
int rdmablk_queue_create_qp(struct rdmablk_queue *q, struct ib_pd *pd,
			    struct ib_cq *cq, unsigned int send_slots,
			    unsigned int recvs, unsigned int sge)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= rdmablk_queue_qp_event,
		.qp_context	= q,
		.send_cq	= cq,
		.recv_cq	= cq,
		.cap = {
			.max_send_wr	= send_slots + 1,	/* +1: drain */
			.max_recv_wr	= recvs + 1,		/* +1: drain */
			.max_send_sge	= sge,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	int ret;

	ret = rdma_create_qp(q->cm_id, pd, &attr);
	if (ret)
		return ret;
	q->qp = q->cm_id->qp;
	q->send_slots = send_slots;
	atomic_set(&q->slots, send_slots);
	return 0;
}

/**
 * rdmablk_queue_make_tail() - let a READ follow each WRITE
 * @q: queue with a queue pair and @tail_buf; nothing is posted
 * @lkey: key of this host's memory
 *
 * Valid until rdmablk_queue_destroy_qp().
 *
 * Return: 0 or -ENOMEM.
 */
int rdmablk_queue_make_tail(struct rdmablk_queue *q, u32 lkey)
{
	struct ib_device *dev = q->qp->device;
	u64 addr = ib_dma_map_single(dev, q->tail_buf, RDMABLK_TAIL_BYTES, DMA_FROM_DEVICE);

	if (ib_dma_mapping_error(dev, addr))
		return -ENOMEM;
	q->tail_sge = (struct ib_sge){
		.addr = addr,
		.length = RDMABLK_TAIL_BYTES,
		.lkey = lkey,
	};
	q->tail = true;
	return 0;
}

static void rdmablk_queue_drop_tail(struct rdmablk_queue *q)
{
	if (!q->tail)
		return;
	ib_dma_unmap_single(q->qp->device, q->tail_sge.addr, RDMABLK_TAIL_BYTES,
			    DMA_FROM_DEVICE);
	q->tail = false;
}

/* First and longest pause of rdmablk_queue_drain() between two polls, microseconds */
#define RDMABLK_DRAIN_PAUSE	20U
#define RDMABLK_DRAIN_PAUSE_MAX	1000U

struct rdmablk_drain {
	struct ib_cqe cqe;
	bool done;
};

/* No locking: the handler runs inside rdmablk_queue_drain(), which reads @done. */
static void rdmablk_queue_drained(struct ib_cq *cq, struct ib_wc *wc)
{
	container_of(wc->wr_cqe, struct rdmablk_drain, cqe)->done = true;
}

/*
 * Posts one more work request and one more receive behind all others, and waits for their
 * completions, which are the last.
 */
static void rdmablk_queue_drain(struct ib_qp *qp)
{
	struct rdmablk_drain send = { .cqe.done = rdmablk_queue_drained };
	struct rdmablk_drain recv = { .cqe.done = rdmablk_queue_drained };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_rdma_wr swr = {
		.wr = { .wr_cqe = &send.cqe, .opcode = IB_WR_RDMA_WRITE },
	};
	struct ib_recv_wr rwr = { .wr_cqe = &recv.cqe };
	unsigned int pause = RDMABLK_DRAIN_PAUSE;
	bool others;

	if (ib_modify_qp(qp, &attr, IB_QP_STATE)) {
		ib_drain_qp(qp);
		return;
	}
	send.done = ib_post_send(qp, &swr.wr, NULL);
	recv.done = ib_post_recv(qp, &rwr, NULL);
	others = send.done || recv.done;
	for (;;) {
		ib_process_cq_direct(qp->send_cq, -1);
		if (send.done && recv.done)
			break;
		usleep_range(pause, 2 * pause);
		pause = min(2 * pause, RDMABLK_DRAIN_PAUSE_MAX);
	}
	if (others)
		ib_drain_qp(qp);
}

/**
 * rdmablk_queue_disconnect() - begin to end the traffic of a queue
 * @q: queue, connected or not, with a queue pair or without
 *
 * Moves the queue pair to the error state; it may still deliver completions.
 */
void rdmablk_queue_disconnect(struct rdmablk_queue *q)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (!q->qp)
		return;
	/* Tells the peer; harmless when there is no connection. */
	rdma_disconnect(q->cm_id);
	/* Needed if there is no connection. If it fails, the drain deals with that. */
	ib_modify_qp(q->qp, &attr, IB_QP_STATE);
}

/**
 * rdmablk_queue_stop() - end all traffic of a queue
 * @q: queue, connected or not, with a queue pair or without
 *
 * Sleeps until every completion has been delivered. From now on nobody may post.
 */
void rdmablk_queue_stop(struct rdmablk_queue *q)
{
	if (!q->qp)
		return;
	/* Tells the peer; harmless when there is no connection. */
	rdma_disconnect(q->cm_id);
	if (q->qp->send_cq->poll_ctx == IB_POLL_DIRECT)
		rdmablk_queue_drain(q->qp);
	else
		ib_drain_qp(q->qp);
	spin_lock_bh(&q->lock);
	q->nr_batch = 0;
	spin_unlock_bh(&q->lock);
}

/**
 * rdmablk_queue_destroy_qp() - destroy the queue pair; may be called twice
 * @q: stopped queue
 */
void rdmablk_queue_destroy_qp(struct rdmablk_queue *q)
{
	if (!q->qp)
		return;
	rdmablk_queue_drop_tail(q);
	q->qp = NULL;
	rdma_destroy_qp(q->cm_id);
}

/**
 * rdmablk_queue_post() - post the batch with one doorbell
 * @q: queue with a batch; the caller holds its lock
 */
void rdmablk_queue_post(struct rdmablk_queue *q)
{
	lockdep_assert_held(&q->lock);
	/* An empty batch would post old work requests, whose requests have ended. */
	if (WARN_ON_ONCE(!q->nr_batch))
		return;
	/*
	 * After a failed post, never post the end of a request without its beginning: the
	 * completion would say that all of the request is done.
	 */
	if (unlikely(READ_ONCE(q->failed))) {
		WRITE_ONCE(q->nr_batch, 0);
		return;
	}
	if (unlikely(q->watch))
		q->watch(q);
	/* Checked before, because the arguments must be computed. */
	if (trace_rdmablk_post_enabled())
		trace_rdmablk_post(q->index, (q->nr - 1) / 2,
				   q->kind == RDMABLK_KIND_WRITE, q->nr_batch);
	WRITE_ONCE(q->nr_batch, 0);
	/*
	 * After a failed post the device has not seen the rest of the batch. Its requests
	 * count as in flight. The recovery, which starts here, ends them with all others.
	 */
	if (unlikely(ib_post_send(q->qp, &q->batch[0].wr, NULL)))
		q->fatal(q, RDMABLK_R_CONNECTION);
}

/**
 * rdmablk_queue_commit() - post the batch, if there is one
 * @q: queue
 */
void rdmablk_queue_commit(struct rdmablk_queue *q)
{
	if (likely(!READ_ONCE(q->nr_batch)))
		return;
	spin_lock_bh(&q->lock);
	if (q->nr_batch)
		rdmablk_queue_post(q);
	spin_unlock_bh(&q->lock);
}

/* The first error of a queue pair says why it ends; the errors after it are flushes. */
static void rdmablk_queue_count(struct rdmablk_queue *q, enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_WR_FLUSH_ERR:
		break;
	case IB_WC_RETRY_EXC_ERR:
		atomic_inc(&q->errors->retry);
		break;
	case IB_WC_RNR_RETRY_EXC_ERR:
		atomic_inc(&q->errors->rnr);
		break;
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
		atomic_inc(&q->errors->remote);
		break;
	default:
		atomic_inc(&q->errors->other);
		break;
	}
}

/**
 * rdmablk_queue_recv_reason() - why a receive has completed with an error
 * @wc: completion; only wr_cqe and status are valid
 *
 * A message that is longer than the receive breaks the protocol, and the device then ends
 * the connection. Soft-RoCE reports LOC_QP_OP_ERR for such a message.
 *
 * Return: enum rdmablk_reason.
 */
u16 rdmablk_queue_recv_reason(const struct ib_wc *wc)
{
	return wc->status == IB_WC_LOC_LEN_ERR || wc->status == IB_WC_LOC_QP_OP_ERR ?
	       RDMABLK_R_MALFORMED : RDMABLK_R_CONNECTION;
}

/**
 * rdmablk_queue_failed() - a send work request has completed with an error
 * @q: queue
 * @wc: completion; only wr_cqe and status are valid
 *
 * The device flushes all work requests of a queue pair at once, on many processors for the
 * many queue pairs of a session. Only the first error of each takes the session's lock.
 */
void rdmablk_queue_failed(struct rdmablk_queue *q, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR && READ_ONCE(q->failed))
		return;
	rdmablk_queue_count(q, wc->status);
	q->fatal(q, wc->status == IB_WC_REM_ACCESS_ERR ?
		 RDMABLK_R_ACCESS : RDMABLK_R_CONNECTION);
}
