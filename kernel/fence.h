/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands that make the target's CPU look at registered memory, and the fence that
 * comes before them.
 */
#ifndef RDMABLK_FENCE_H
#define RDMABLK_FENCE_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "dirty.h"

struct rdmablk_cmd_tag;
struct rdmablk_hwq;
struct rdmablk_path;

/**
 * enum rdmablk_fence_kind - things to be done
 * @RDMABLK_FENCE_COMMAND: a command that needs a fence
 * @RDMABLK_FENCE_ALONE: one that needs none, only a tag
 * @RDMABLK_FENCE_FUA: a FLUSH of what a WRITE on the same queue has written, which is
 *	its own fence
 * @RDMABLK_FENCE_FLUSH: the flush of all that is dirty
 */
enum rdmablk_fence_kind {
	RDMABLK_FENCE_COMMAND,
	RDMABLK_FENCE_ALONE,
	RDMABLK_FENCE_FUA,
	RDMABLK_FENCE_FLUSH,
};

/**
 * enum rdmablk_fence_line - who waits for a tag of a write queue
 * @RDMABLK_LINE_SLOW: commands that may take long
 * @RDMABLK_LINE_FUA: FLUSHes of FUA writes
 * @RDMABLK_LINES: how many there are
 */
enum rdmablk_fence_line {
	RDMABLK_LINE_SLOW,
	RDMABLK_LINE_FUA,
	RDMABLK_LINES,
};

/**
 * struct rdmablk_fence_op - one thing to be done
 * @node: where it is: queued, in the round, waiting for a tag, served by the flush under
 *	way, or ended
 * @kind: what it is
 * @hwq: hardware queue of the command; NULL for a flush
 * @send: of a command: upcall, in a work: here is its tag, it may be sent
 * @done: of a flush, or after rdmablk_fence_end(): upcall with enum rdmablk_reason, in a
 *	work; not called when the connection is lost first
 * @status: for @done
 */
struct rdmablk_fence_op {
	struct list_head node;
	enum rdmablk_fence_kind kind;
	struct rdmablk_hwq *hwq;
	void (*send)(struct rdmablk_fence_op *op, struct rdmablk_cmd_tag *cmd);
	void (*done)(struct rdmablk_fence_op *op, u8 status);
	u8 status;
};

/**
 * struct rdmablk_fence - see the top of fence.c
 * @path: data path
 * @wq: where @work runs
 * @lock: protects @queued, @ended and @stopped; taken in softirq, too
 * @queued: not begun
 * @ended: whose @done is to be called
 * @stopped: no command is sent
 * @work: does everything below; nobody else touches it, but for what is said
 * @round: ops whose fence is under way
 * @flushes: flush ops that the flush under way serves
 * @fencing: a round is under way
 * @fences: unanswered FENCEs of the round, and one more until all are sent; taken down
 *	by the answers
 * @fences_sent: FENCEs, in all
 * @with_flush: the round is also that of the flush
 * @flushing: a flush is under way, from the snapshot to its end
 * @shipping: its ranges may be sent
 * @flush_hwq: hardware queue on which it is sent
 * @carried: its commands are the fence of that hardware queue, and may not have been
 *	received
 * @unanswered: of its DIRTY and FLUSH; taken down by the answers
 * @flush_last: what is unanswered is all there was to send
 * @told: a DIRTY has been sent
 * @status: first answer that was not OK
 * @dirty: what has been written since it was last flushed; set up when the target has a
 *	volatile cache
 * @has_dirty: it is set up
 * @was_unflushed: @path->unflushed before the snapshot
 * @own: the driver's own flush
 * @own_mutex: who waits for it
 * @own_queued: it is in a list; cleared by the work, or by rdmablk_fence_reset()
 * @own_done: its end, or that of the connection, or rdmablk_fence_stop()
 * @own_status: its outcome, enum rdmablk_reason
 * @broken: the connection has failed: nobody waits for a flush any more
 */
struct rdmablk_fence {
	/* read only in the hot path */
	struct rdmablk_path *path;
	struct workqueue_struct *wq;
	bool has_dirty;
	struct rdmablk_dirty dirty;

	/* written by commands and flushes */
	spinlock_t lock ____cacheline_aligned_in_smp;	/* queued, ended, stopped */
	struct list_head queued;
	struct list_head ended;
	bool stopped;
	struct work_struct work;
	struct list_head round;
	struct list_head flushes;
	bool fencing;
	atomic_t fences;
	u64 fences_sent;
	bool with_flush;
	bool flushing;
	bool shipping;
	u32 flush_hwq;
	bool carried;
	atomic_t unanswered;
	bool flush_last;
	bool told;
	u8 status;
	bool was_unflushed;
	struct rdmablk_fence_op own;
	struct mutex own_mutex;		/* who waits for own */
	bool own_queued;
	struct completion own_done;
	u8 own_status;
	bool broken;
};

void rdmablk_fence_init(struct rdmablk_fence *f, struct rdmablk_path *path,
			struct workqueue_struct *wq);
void rdmablk_fence_exit(struct rdmablk_fence *f);
void rdmablk_fence_start(struct rdmablk_fence *f);
void rdmablk_fence_stop(struct rdmablk_fence *f);
void rdmablk_fence_reset(struct rdmablk_fence *f);
void rdmablk_fence_queue(struct rdmablk_fence *f, struct rdmablk_fence_op *op);
void rdmablk_fence_end(struct rdmablk_fence *f, struct rdmablk_fence_op *op, u8 status);
void rdmablk_fence_put(struct rdmablk_fence *f, struct rdmablk_cmd_tag *cmd, bool slow);
void rdmablk_fence_dirty(struct rdmablk_path *path, u64 pos, u64 bytes);
void rdmablk_fence_break(struct rdmablk_fence *f);
bool rdmablk_fence_is_clean(const struct rdmablk_fence *f);
int rdmablk_fence_flush(struct rdmablk_fence *f, unsigned long timeout);

/**
 * rdmablk_fence_flush_wait() - wait longer for what rdmablk_fence_flush() has begun
 * @f: of which it has returned -ETIMEDOUT, in the same thread
 * @timeout: jiffies
 *
 * Context: may sleep.
 *
 * Return: 0; -ETIMEDOUT; -EIO: as of rdmablk_fence_flush(), or the connection has failed.
 */
static inline int rdmablk_fence_flush_wait(struct rdmablk_fence *f, unsigned long timeout)
{
	if (!wait_for_completion_timeout(&f->own_done, timeout))
		return -ETIMEDOUT;
	return READ_ONCE(f->own_status) ? -EIO : 0;
}

#endif /* RDMABLK_FENCE_H */
