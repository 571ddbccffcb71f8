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

#define RDMABLK_TAIL_BYTES	8	/* read by the READ behind a WRITE; see @tail */

#define RDMABLK_BATCH	32	/* most work requests per doorbell */

/**
 * struct rdmablk_waiter - wait queue for the steps of a login
 * @wq: woken by every outcome
 * @cancelled: the login is given up, and no task waits here any more
 * @broken: the control queue of the current login is broken, so its data queues need not be
 *	waited for
 */
struct rdmablk_waiter {
	wait_queue_head_t wq;
	bool cancelled;
	bool broken;
};

/**
 * struct rdmablk_queue - one queue pair
 * @qp: queue pair; NULL before it is created and after it is destroyed
 * @lock: protects @batch and @nr_batch, and is held while the batch is posted; taken in
 *	softirq, too
 * @nr_batch: number of work requests in @batch
 * @slots: number of work requests that may still be posted
 * @send_slots: initial value of @slots
 * @cm_id: connection; NULL before it is created and after it is destroyed
 * @waiter: woken when the step under way has an outcome
 * @cm_pending: the step has no outcome yet; the CM handler clears it after it has stored the
 *	outcome
 * @cm_status: outcome of the step: 0 or a negative errno
 * @cm_reason: enum rdmablk_reason if the target refused, else 0
 * @why: static text for @cm_status
 * @retry_after_ms: pause that a refusal asks for, milliseconds
 * @version: protocol version of the connection request; the target accepts no other
 * @accept: the target's reply
 * @join_mac: MAC of the connection request of a data queue in version 2
 * @peer_qpn: number of the queue pair that the reply names as its own
 * @read_depth: negotiated number of RDMA READs in flight
 * @nr: queue number
 * @kind: enum rdmablk_kind
 * @connected: the connection is established, so its end must call @fatal; set and read by
 *	the CM handler, which rdma_cm serialises
 * @index: N of rdmablkN, for tracepoints
 * @errors: counters of the reasons why queue pairs end
 * @failed: the queue has broken since rdmablk_queue_reset()
 * @tail: each WRITE ends with a READ
 * @tail_sge: DMA address of @tail_buf; all these READs share it
 * @tail_buf: sink of these READs; NULL: no WRITE will end with a READ
 * @fatal: upcall: the queue is broken. Any context, any number of times.
 * @watch: upcall before @batch is posted, under @lock; or NULL
 * @batch: work requests not posted yet, linked
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
	struct rdmablk_cm_accept2 accept;
	u8 join_mac[RDMABLK_MAC_LEN];
	u32 peer_qpn;
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
 * struct rdmablk_queue_owner - values that all queues of a session share
 * @index: N of rdmablkN, for tracepoints
 * @waiter: wait queue of logins
 * @errors: counters of the reasons why queue pairs end
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
u16 rdmablk_queue_recv_reason(const struct ib_wc *wc);
void rdmablk_queue_failed(struct rdmablk_queue *q, const struct ib_wc *wc);

/**
 * rdmablk_queue_next_wr() - add a work request to the batch
 * @q: queue; the caller holds its lock and has taken a send slot
 *
 * Posts the batch first if it is full.
 *
 * Return: work request for the caller to fill in, except its next pointer.
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
 * @n: number of work requests
 *
 * Return: false: fewer than @n are free now; a completion of this queue will free some.
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
 * @n: number of work requests that completed or were never posted
 */
static inline void rdmablk_queue_put_slots(struct rdmablk_queue *q, int n)
{
	atomic_add(n, &q->slots);
}

#endif /* RDMABLK_QUEUE_H */
