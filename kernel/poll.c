// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware queues whose completions are looked for.
 *
 * The completion queue of such a hardware queue has no interrupts: what is in it, is
 * found by who looks. That is, one at a time:
 *
 * - Who waits for a request, by ->poll().
 * - The work of the hardware queue, while a FENCE, DIRTY or FLUSH is under way there:
 *   these belong to no request of that queue; and while there is a request that nobody
 *   polls for. That is one whose sender was told not to, on a connection that had no such
 *   queue for it, and that has been sent anew with one that has; or the block layer's own
 *   FLUSH of a bio that is polled for, which is not until its data is sent.
 * - The timer of a request, before it says anything about the connection: who has sent
 *   the request may have been stopped.
 *
 * Requests that end while somebody looks are collected where he says, and ended
 * together; they count as completed from when they are found.
 *
 * Before a queue pair is drained nobody looks any more, and who did is done: the drain
 * looks itself.
 *
 * The work sleeps between two looks, and in a shortage of memory one thread does all that
 * is queued where it is. So that is a queue of its own, on which nothing else waits, and
 * after each look comes who is next. A recovery waits for one pause, when it ends the
 * looking, and for no work that has not begun.
 */
#include <linux/delay.h>
#include "poll.h"
#include "request.h"

/* Completions at once: who waits for one of them waits for all */
#define RDMABLK_POLL_BUDGET	64

/* Pauses of the work, microseconds: from the first to the longest */
#define RDMABLK_POLL_PAUSE	20U
#define RDMABLK_POLL_PAUSE_MAX	1000U

/* Returns the number of completions; -1: nobody looks any more. */
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
 * rdmablk_poll() - look for completions, unless somebody does
 * @hwq: hardware queue, polled or not
 * @iob: collects what has ended, or NULL
 *
 * Context: of a task.
 *
 * Return: how many there were.
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
 * rdmablk_poll_now() - look for completions, and wait for who does
 * @hwq: hardware queue, polled or not
 *
 * Context: of a task.
 */
void rdmablk_poll_now(struct rdmablk_hwq *hwq)
{
	spin_lock(&hwq->poll_lock);
	while (rdmablk_poll_locked(hwq, NULL) == RDMABLK_POLL_BUDGET)
		;
	spin_unlock(&hwq->poll_lock);
}

/**
 * rdmablk_poll_all() - look for what has completed where nobody looks any more
 * @hwq: hardware queues
 * @n: how many
 *
 * Who waits until nothing is under way would else wait for it in vain. Context: of a task.
 */
void rdmablk_poll_all(struct rdmablk_hwq **hwq, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		rdmablk_poll_now(hwq[i]);
}

/* Whether a command of no request is under way, or a request that nobody polls for. */
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
 * @q: queue, with its lock held
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

/* Up to 6.1 a bio that is polled for must not end in softirq. */
static void rdmablk_poll_not(struct request *rq)
{
	struct bio *bio;

	rq->cmd_flags &= ~REQ_POLLED;
	__rq_for_each_bio(bio, rq)
		bio_clear_polled(bio);
}

/**
 * rdmablk_poll_request() - a request is polled for on a queue that has interrupts, because
 *	the target granted too few without, or is not on one that has none
 * @hwq: hardware queue on which it is about to be posted
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
 * rdmablk_poll_request_done() - a request that is watched is the device's no more
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
 * rdmablk_poll_init() - nobody looks yet
 * @hwq: of zeroed memory
 */
void rdmablk_poll_init(struct rdmablk_hwq *hwq)
{
	spin_lock_init(&hwq->poll_lock);
	hwq->poll_pause = RDMABLK_POLL_PAUSE;
	INIT_WORK(&hwq->poll_work, rdmablk_poll_work);
}

/**
 * rdmablk_poll_open() - who likes may look
 * @hwq: polled hardware queue whose queue pairs are connected
 */
void rdmablk_poll_open(struct rdmablk_hwq *hwq)
{
	/* Requests of an earlier connection are held, or gone. */
	atomic_set(&hwq->watched, 0);
	hwq->poll_pause = RDMABLK_POLL_PAUSE;
	spin_lock(&hwq->poll_lock);
	hwq->poll_open = true;
	spin_unlock(&hwq->poll_lock);
}

/**
 * rdmablk_poll_close() - nobody looks any more; may be called twice
 * @hwq: hardware queue on which nobody posts any more
 *
 * Who did is done when this returns.
 */
void rdmablk_poll_close(struct rdmablk_hwq *hwq)
{
	spin_lock(&hwq->poll_lock);
	hwq->poll_open = false;
	spin_unlock(&hwq->poll_lock);
	cancel_work_sync(&hwq->poll_work);
}
