/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One RC connection of a session: rdma_cm id, queue pair, send-slot accounting.
 */
#ifndef RDMABLK_QUEUE_H
#define RDMABLK_QUEUE_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include "stats.h"
#include "uapi/rdmablk_proto.h"

struct rdma_cm_id;

#define RDMABLK_TAIL_BYTES	8	/* of the READ behind a WRITE; see @tail */

#define RDMABLK_BATCH	32	/* work requests posted with one doorbell, at most */

/**
 * struct rdmablk_waiter - where the steps of a login wait
 * @wq: woken by every outcome
 * @cancelled: the login is given up; nobody waits any more
 * @broken: the control queue of the login under way is; no data queue is waited for
 */
struct rdmablk_waiter {
	wait_queue_head_t wq;
	bool cancelled;
	bool broken;
};

/**
 * struct rdmablk_queue - one queue pair
 * @qp: queue pair; NULL before and after
 * @lock: protects @batch and @nr_batch, and is held while the batch is posted; taken in
 *	softirq, too
 * @nr_batch: work requests in @batch
 * @slots: work requests that may still be posted
 * @send_slots: what @slots starts with
 * @cm_id: connection; NULL before and after
 * @waiter: woken when the step under way has an outcome
 * @cm_pending: it has none yet; cleared by the CM handler, after the outcome
 * @cm_status: the outcome: 0 or a negative errno
 * @cm_reason: enum rdmablk_reason when the target refused, else 0
 * @why: text that goes with a @cm_status, static
 * @retry_after_ms: of a refusal, milliseconds
 * @version: agreed protocol version, from the target's reply
 * @read_depth: RDMA READs in flight, as negotiated
 * @nr: queue number
 * @kind: enum rdmablk_kind
 * @connected: the connection is established, so that its end is worth a call of
 *	@fatal; set and read by the CM handler, which rdma_cm serialises
 * @index: N of rdmablkN, for tracepoints
 * @errors: where the end of the queue pair is counted
 * @failed: it has been broken since rdmablk_queue_reset()
 * @tail: each WRITE ends with a READ
 * @tail_sge: where all these READs read to
 * @tail_buf: the same, of the processor; NULL: no WRITE will end with a READ
 * @fatal: upcall: the queue is broken. Any context, any number of times.
 * @watch: upcall with @lock held: @batch is about to be posted; or NULL
 * @batch: work requests that are not posted yet, linked
 */
struct rdmablk_queue {
	/* read only in the hot path */
	struct ib_qp *qp;
	void (*fatal)(struct rdmablk_queue *q, u16 reason);
	void (*watch)(struct rdmablk_queue *q);
	bool failed;
	struct ib_sge tail_sge;

	/* control path; constant while I/O is under way */
	bool tail;
	void *tail_buf;
	unsigned int send_slots;
	struct rdma_cm_id *cm_id;
	struct rdmablk_waiter *waiter;
	bool cm_pending;
	int cm_status;
	u16 cm_reason;
	const char *why;
	u32 retry_after_ms;
	u16 version;
	u8 read_depth;
	u16 nr;
	u8 kind;
	bool connected;
	int index;
	struct rdmablk_transport_errors *errors;

	/* written in the hot path */
	spinlock_t lock ____cacheline_aligned_in_smp;	/* batch, nr_batch, posting */
	unsigned int nr_batch;
	atomic_t slots;
	struct ib_rdma_wr batch[RDMABLK_BATCH];
};

/**
 * struct rdmablk_queue_owner - what the queues of a session have in common
 * @index: N of rdmablkN, for tracepoints
 * @waiter: where connects wait
 * @errors: where the ends of queue pairs are counted
 * @fatal: upcall, see struct rdmablk_queue
 */
struct rdmablk_queue_owner {
	int index;
	struct rdmablk_waiter *waiter;
	struct rdmablk_transport_errors *errors;
	void (*fatal)(struct rdmablk_queue *q, u16 reason);
};

void rdmablk_queue_waiter_init(struct rdmablk_waiter *waiter);
void rdmablk_queue_waiter_cancel(struct rdmablk_waiter *waiter);
void rdmablk_queue_init(struct rdmablk_queue *q, u16 nr, u8 kind,
			const struct rdmablk_queue_owner *owner);
void rdmablk_queue_reset(struct rdmablk_queue *q);
int rdmablk_queue_create_qp(struct rdmablk_queue *q, struct ib_pd *pd,
			    struct ib_cq *cq, unsigned int send_slots,
			    unsigned int recvs, unsigned int sge);
int rdmablk_queue_make_tail(struct rdmablk_queue *q, u32 lkey);
void rdmablk_queue_disconnect(struct rdmablk_queue *q);
void rdmablk_queue_stop(struct rdmablk_queue *q);
void rdmablk_queue_destroy_qp(struct rdmablk_queue *q);
void rdmablk_queue_post(struct rdmablk_queue *q);
void rdmablk_queue_commit(struct rdmablk_queue *q);
void rdmablk_queue_failed(struct rdmablk_queue *q, const struct ib_wc *wc);

/**
 * rdmablk_queue_next_wr() - a work request at the end of the batch
 * @q: queue, with its lock held; a send slot has been taken for it
 *
 * A batch that is full is posted first.
 *
 * Return: work request for the caller to fill, but for its next.
 */
static inline struct ib_rdma_wr *rdmablk_queue_next_wr(struct rdmablk_queue *q)
{
	unsigned int n = q->nr_batch;
	struct ib_rdma_wr *wr;

	lockdep_assert_held(&q->lock);
	if (unlikely(n == RDMABLK_BATCH)) {
		rdmablk_queue_post(q);
		n = 0;
	}
	wr = &q->batch[n];
	wr->wr.next = NULL;
	if (n)
		wr[-1].wr.next = &wr->wr;
	WRITE_ONCE(q->nr_batch, n + 1);
	return wr;
}

/**
 * rdmablk_queue_get_slots() - reserve send slots before posting
 * @q: queue
 * @n: work requests
 *
 * Return: false when so many are not free now; a completion of this queue will
 * free some.
 */
static inline bool rdmablk_queue_get_slots(struct rdmablk_queue *q, int n)
{
	if (likely(atomic_sub_return(n, &q->slots) >= 0))
		return true;
	atomic_add(n, &q->slots);
	return false;
}

/**
 * rdmablk_queue_put_slots() - give send slots back
 * @q: queue
 * @n: work requests that completed or were never posted
 */
static inline void rdmablk_queue_put_slots(struct rdmablk_queue *q, int n)
{
	atomic_add(n, &q->slots);
}

#endif /* RDMABLK_QUEUE_H */
