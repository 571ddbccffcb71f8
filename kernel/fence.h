/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands that make the target's CPU look at registered memory, and the fence before them.
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
 * enum rdmablk_fence_kind - kinds of ops
 * @RDMABLK_FENCE_COMMAND: a command that needs a fence
 * @RDMABLK_FENCE_ALONE: a command that needs only a tag
 * @RDMABLK_FENCE_FUA: a FLUSH of a WRITE on the same queue; the FLUSH is its own fence
 * @RDMABLK_FENCE_FLUSH: a flush of all dirty ranges
 */
enum rdmablk_fence_kind {
	RDMABLK_FENCE_COMMAND,
	RDMABLK_FENCE_ALONE,
	RDMABLK_FENCE_FUA,
	RDMABLK_FENCE_FLUSH,
};

/**
 * enum rdmablk_fence_line - lines of ops that wait for a tag of a write queue
 * @RDMABLK_LINE_SLOW: commands that may take long
 * @RDMABLK_LINE_FUA: FLUSHes of FUA writes
 * @RDMABLK_LINES: number of lines
 */
enum rdmablk_fence_line {
	RDMABLK_LINE_SLOW,
	RDMABLK_LINE_FUA,
	RDMABLK_LINES,
};

/**
 * struct rdmablk_fence_op - a command or a flush to be done
 * @node: entry in the list of queued ops, of the round, of a line, of the flush under way,
 *	or of ended ops
 * @kind: kind of op
 * @hwq: hardware queue of the command; NULL for a flush
 * @begin: upcall or NULL, in a work, before @send, and before a flush begins: the op waits no
 *	longer
 * @send: upcall of a command, in a work: the command has its tag and may be sent
 * @done: upcall of a flush, or after rdmablk_fence_end(), in a work; @status is an enum
 *	rdmablk_reason. Not called when the connection is lost first
 * @status: argument for @done
 * @waits: the command stands in a line, or the flush waits for the end of another one; written
 *	by the fence work, and by rdmablk_fence_reset() while that work is stopped
 */
struct rdmablk_fence_op {
	struct list_head node;
	enum rdmablk_fence_kind kind;
	struct rdmablk_hwq *hwq;
	void (*begin)(struct rdmablk_fence_op *op);
	void (*send)(struct rdmablk_fence_op *op, struct rdmablk_cmd_tag *cmd);
	void (*done)(struct rdmablk_fence_op *op, u8 status);
	u8 status;
	bool waits;
};

/**
 * struct rdmablk_fence - see the top of fence.c
 * @path: data path
 * @wq: work queue of @work
 * @lock: protects @queued, @ended and @stopped; taken in softirq, too
 * @queued: ops that have not begun
 * @ended: ops whose @done is to be called
 * @stopped: no command may be sent
 * @work: owns all fields below, except where another writer or a lock is named
 * @round: ops whose fence is under way
 * @flushes: flush ops that the flush under way serves
 * @fencing: a round is under way
 * @fences: number of unanswered FENCEs of the round, plus one until all are sent; answers
 *	decrement it
 * @fences_sent: number of FENCEs sent, in all
 * @with_flush: the round fences for a flush, too
 * @flushing: a flush is under way, from the snapshot to its end
 * @shipping: the ranges of the flush may be sent
 * @flush_hwq: index of the hardware queue that carries the flush
 * @carried: the commands of the flush are the fence of @flush_hwq, and the target may not
 *	have received them yet
 * @unanswered: number of unanswered DIRTY and FLUSH commands; answers decrement it
 * @flush_last: the unanswered commands are the last of the flush
 * @dirty_sent: the flush has sent a DIRTY
 * @status: status of the flush: the first answer that was not OK
 * @dirty: ranges written since the last flush; exists if the target has a volatile cache
 * @has_dirty: @dirty exists
 * @was_unflushed: @path->unflushed before the snapshot
 * @own: flush of the driver itself
 * @own_mutex: serializes the users of @own
 * @own_queued: @own is in a list; cleared by the work, or by rdmablk_fence_reset()
 * @own_done: completed by the end of @own, the end of the connection, or
 *	rdmablk_fence_stop()
 * @own_status: outcome of @own, enum rdmablk_reason
 * @broken: the connection has failed: rdmablk_fence_flush() fails at once
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
	bool dirty_sent;
	u8 status;
	bool was_unflushed;
	struct rdmablk_fence_op own;
	struct mutex own_mutex;		/* serializes the users of own */
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
 * rdmablk_fence_flush_wait() - wait longer for a flush of rdmablk_fence_flush()
 * @f: fence state; rdmablk_fence_flush() has returned -ETIMEDOUT to this task
 * @timeout: jiffies
 *
 * Context: may sleep.
 *
 * Return: 0; -ETIMEDOUT; -EIO: as for rdmablk_fence_flush(), or the connection has failed.
 */
static inline int rdmablk_fence_flush_wait(struct rdmablk_fence *f, unsigned long timeout)
{
	if (!wait_for_completion_timeout(&f->own_done, timeout))
		return -ETIMEDOUT;
	return READ_ONCE(f->own_status) ? -EIO : 0;
}

#endif /* RDMABLK_FENCE_H */
