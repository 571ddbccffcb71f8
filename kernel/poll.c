// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware queues with polled completions.
 *
 * The completion queue of such a hardware queue has no interrupts: a task must poll it. One
 * of these polls at a time:
 *
 * - A task that waits for a request, by ->poll().
 * - The work of the hardware queue. It polls while a FENCE, DIRTY or FLUSH is under way
 *   there, because these belong to no request of that queue. It also polls while the queue
 *   has a request that no task polls for. Either the request was sent on a connection
 *   without a polled queue for it, its sender was told not to poll, and it was sent again
 *   on a connection that has one. Or it is the FLUSH that the block layer sends for a
 *   polled bio: no task polls before the data of that bio is sent.
 * - The timer of a request, before it judges the connection: the task that sent the request
 *   may have been stopped.
 *
 * A poller may collect the requests that end in a batch of its own and end them together.
 * They count as completed from the moment the poller finds them.
 *
 * Before a queue pair is drained, polling is closed and the last poller has finished: the
 * drain polls by itself.
 *
 * The work sleeps between two polls. When memory is short, a single rescuer thread runs all
 * works of a work queue in turn. So polling has its own work queue, on which nothing else
 * waits, and the work queues itself again after each poll to let others run. When a recovery
 * closes the polling, it waits for one pause at most, and for no work that has not begun.
 */
#include <linux/delay.h>
#include "poll.h"
#include "request.h"

/* Most completions per poll: a task that waits for one of them waits for all. */
#define RDMABLK_POLL_BUDGET	64

/* First and longest pause of the work, microseconds */
#define RDMABLK_POLL_PAUSE	20U
#define RDMABLK_POLL_PAUSE_MAX	1000U

/* Return: number of completions; -1: polling is closed. */
static int rdmablk_poll_locked(struct rdmablk_hwq *hwq, struct io_comp_batch *iob)
{
	int n;

	lockdep_assert_held(&hwq->poll_lock);
	if (!hwq->poll_open)
		return -1;
	hwq->iob = iob;
	n = ib_process_cq_direct(hwq->cq, RDMABLK_POLL_BUDGET);
	hwq->iob = NULL;
	return n;
}

/**
 * rdmablk_poll() - poll for completions, unless another task does
 * @hwq: hardware queue, polled or not
 * @iob: collects the requests that end, or NULL
 *
 * Context: task.
 *
 * Return: number of completions.
 */
int rdmablk_poll(struct rdmablk_hwq *hwq, struct io_comp_batch *iob)
{
	int n;

	if (!spin_trylock(&hwq->poll_lock))
		return 0;
	n = rdmablk_poll_locked(hwq, iob);
	spin_unlock(&hwq->poll_lock);
	return max(n, 0);
}

/**
 * rdmablk_poll_now() - poll for completions; waits until another poller has finished
 * @hwq: hardware queue, polled or not
 *
 * Context: task.
 */
void rdmablk_poll_now(struct rdmablk_hwq *hwq)
{
	spin_lock(&hwq->poll_lock);
	while (rdmablk_poll_locked(hwq, NULL) == RDMABLK_POLL_BUDGET)
		;
	spin_unlock(&hwq->poll_lock);
}

/**
 * rdmablk_poll_all() - poll hardware queues that may have no poller any more
 * @hwq: hardware queues
 * @n: number of them
 *
 * A caller that waits until no request is under way might otherwise wait for ever.
 * Context: task.
 */
void rdmablk_poll_all(struct rdmablk_hwq **hwq, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		rdmablk_poll_now(hwq[i]);
}

/* Whether a command without a request is under way, or a request that no task polls for */
static bool rdmablk_poll_must_watch(struct rdmablk_hwq *hwq)
{
	bool busy = atomic_read(&hwq->watched);
	u32 i;

	/* A session without commands has no tags. */
	for (i = 0; i < min_t(u32, RDMABLK_CMD_RESERVED, hwq->cmdq.depth); i++)
		busy |= READ_ONCE(hwq->cmdq.cmd[i].busy);
	return busy;
}

static void rdmablk_poll_work(struct work_struct *work)
{
	struct rdmablk_hwq *hwq = container_of(work, struct rdmablk_hwq, poll_work);
	bool more;

	spin_lock(&hwq->poll_lock);
	more = rdmablk_poll_locked(hwq, NULL) >= 0 && rdmablk_poll_must_watch(hwq);
	spin_unlock(&hwq->poll_lock);
	if (!more) {
		hwq->poll_pause = RDMABLK_POLL_PAUSE;
		return;
	}
	usleep_range(hwq->poll_pause, 2 * hwq->poll_pause);
	hwq->poll_pause = min(2 * hwq->poll_pause, RDMABLK_POLL_PAUSE_MAX);
	queue_work(hwq->path->poll_wq, &hwq->poll_work);
}

/**
 * rdmablk_poll_watch() - upcall of a polled write queue, before it posts its batch
 * @q: queue; the caller holds its lock
 */
void rdmablk_poll_watch(struct rdmablk_queue *q)
{
	struct rdmablk_hwq *hwq = container_of(q, struct rdmablk_hwq, write);
	const struct ib_send_wr *wr;
	unsigned int i;

	for (i = 0; i < q->nr_batch; i++) {
		wr = &q->batch[i].wr;
		if (wr->opcode == IB_WR_SEND &&
		    container_of(wr->wr_cqe, struct rdmablk_cmd_tag, cqe)->tag <
		    RDMABLK_CMD_RESERVED)
			queue_work(hwq->path->poll_wq, &hwq->poll_work);
	}
}

/* Kernels up to 6.1 do not allow a polled bio to end in softirq. */
static void rdmablk_poll_not(struct request *rq)
{
	struct bio *bio;

	rq->cmd_flags &= ~REQ_POLLED;
	__rq_for_each_bio(bio, rq)
		bio_clear_polled(bio);
}

/**
 * rdmablk_poll_request() - handle a request that is polled for but is on a queue with
 *	interrupts (the target granted too few polled ones), or that is not polled for but is
 *	on a polled queue
 * @hwq: hardware queue on which the request is about to be posted
 * @rq: request
 *
 * Context: any.
 */
void rdmablk_poll_request(struct rdmablk_hwq *hwq, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (!hwq->polled) {
		rdmablk_poll_not(rq);
		return;
	}
	req->watched = true;
	atomic_inc(&hwq->watched);
	queue_work(hwq->path->poll_wq, &hwq->poll_work);
}

/**
 * rdmablk_poll_request_done() - the device is done with a watched request
 * @rq: request after rdmablk_poll_request(), which has not ended
 *
 * Context: any.
 */
void rdmablk_poll_request_done(struct request *rq)
{
	struct rdmablk_hwq *hwq = *(struct rdmablk_hwq **)rq->mq_hctx->driver_data;
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	req->watched = false;
	atomic_dec(&hwq->watched);
}

/**
 * rdmablk_poll_init() - initialise; polling is closed
 * @hwq: zeroed memory
 */
void rdmablk_poll_init(struct rdmablk_hwq *hwq)
{
	spin_lock_init(&hwq->poll_lock);
	hwq->poll_pause = RDMABLK_POLL_PAUSE;
	INIT_WORK(&hwq->poll_work, rdmablk_poll_work);
}

/**
 * rdmablk_poll_open() - allow polling
 * @hwq: polled hardware queue whose queue pairs are connected
 */
void rdmablk_poll_open(struct rdmablk_hwq *hwq)
{
	/* Requests of an earlier connection are held, or have ended. */
	atomic_set(&hwq->watched, 0);
	hwq->poll_pause = RDMABLK_POLL_PAUSE;
	spin_lock(&hwq->poll_lock);
	hwq->poll_open = true;
	spin_unlock(&hwq->poll_lock);
}

/**
 * rdmablk_poll_close() - forbid polling; may be called twice
 * @hwq: hardware queue on which nobody posts any more
 *
 * When this returns, no poller is active.
 */
void rdmablk_poll_close(struct rdmablk_hwq *hwq)
{
	spin_lock(&hwq->poll_lock);
	hwq->poll_open = false;
	spin_unlock(&hwq->poll_lock);
	cancel_work_sync(&hwq->poll_work);
}
