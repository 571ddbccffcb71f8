// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that make the target's CPU look at registered memory: DISCARD, WRITE_ZEROES,
 * and FLUSH of what RDMA WRITEs have changed.
 *
 * The fence
 *
 * The completion of a WRITE says that the target's adapter has it, not that the target's
 * CPU can see it. A SEND on the same queue pair, once received, does: RC keeps the order.
 * So each write queue that has completed a WRITE since it was last fenced ("wrote") gets
 * a FENCE, and the commands are sent when all of these are answered.
 *
 * The snapshot comes first. What a FLUSH ships must have been fenced, and a WRITE that
 * completes between fence and shipping has not been; shipped all the same it could be
 * written back with its old contents, and forgotten. So:
 *
 *   a WRITE completes     "wrote" of its queue is set, then its dirty bits, then
 *                         "unflushed", then its request ends
 *   a flush               clears "unflushed", takes all dirty bits, counts "snapshots" up,
 *                         then looks at "wrote" of all queues and sends the fences, then
 *                         ships what it has taken
 *
 * with a full barrier between each two. So a bit that a flush has left out leaves
 * "unflushed" set, and nothing is called flushed that is not.
 *
 * A bit that is taken has its queue's "wrote" set, or was set by somebody who found
 * "wrote" set; then the fence that cleared it was sent after that WRITE had completed.
 * "wrote" is cleared before the fence is posted: a WRITE that completes in between costs
 * one fence more.
 *
 * "wrote" holds the value of "snapshots" at the first WRITE since the last fence. A queue
 * whose mark is the newest value has no bit in the flush: its first WRITE read "snapshots"
 * after the flush had counted it up, so after the flush had taken the bits, and set its
 * bits later still. The flush leaves that mark to the next flush. Bits that a failed flush
 * puts back need no fence: that flush shipped them after their fence.
 *
 * The flush itself goes by a queue that would need a fence, if there is one: its commands
 * are that fence, and the mark is cleared before they are posted. Until the flush ends
 * nobody knows that the target has received them. So the commands of a round that begins
 * meanwhile have a fence on that queue in any case.
 *
 * Rounds
 *
 * One work does all of this and never sleeps: answers take a counter down or clear a
 * flag, and queue the work. What came while a round was under way is the next round. A
 * flush serves all FLUSH requests of its round; those that come while it is under way
 * wait for its end, other commands do not.
 *
 * Tags
 *
 * A command waits for a tag here, after its fence, and not in the block layer, where
 * READs and WRITEs would wait behind it. Each write queue has two lines. Those of the
 * first, DISCARD and the like, may take as long as the store does, and get half of the
 * tags at most. The second is of FUA writes: one that finds a tag is sent with its FLUSH
 * behind it; one that does not is a WRITE at first, and its FLUSH waits here.
 *
 * The line is seen by who gives a tag back, or the tag by who stands in it:
 *
 *	the work			an answer
 *	"waits" is set			tag is given back
 *	full barrier			full barrier
 *	a tag?				"waits"? queues the work
 *
 * After a lost connection: rdmablk_fence_stop(), drain, rdmablk_fence_reset(). What
 * was taken and not flushed is dirty again. Requests are the caller's to hold: they are
 * queued anew with the next connection.
 */
#include <linux/errno.h>
#include "cmdq.h"
#include "fence.h"
#include "request.h"

static void rdmablk_fence_kick(struct rdmablk_fence *f)
{
	queue_work(f->wq, &f->work);
}

static struct rdmablk_cmd_tag *
rdmablk_fence_cmd(struct rdmablk_hwq *hwq, int tag, struct rdmablk_fence *f,
		  void (*done)(struct rdmablk_cmd_tag *cmd))
{
	struct rdmablk_cmd_tag *cmd = &hwq->cmdq.cmd[tag];

	cmd->owner = f;
	cmd->done = done;
	cmd->payload = NULL;
	cmd->slots = 0;
	return cmd;
}

/*
 * Fences
 */

static void rdmablk_fence_answered(struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_queue *q = cmd->cmdq->queue;
	struct rdmablk_fence *f = cmd->owner;

	/* Every target can do this. */
	if (cmd->status != RDMABLK_OK) {
		q->fatal(q, RDMABLK_R_STATE);
		return;
	}
	if (atomic_dec_and_test(&f->fences))
		rdmablk_fence_kick(f);
}

static void rdmablk_fence_send_fence(struct rdmablk_fence *f, struct rdmablk_hwq *hwq)
{
	struct rdmablk_cmd_tag *cmd = rdmablk_fence_cmd(hwq, RDMABLK_CMD_FENCE, f,
						     rdmablk_fence_answered);

	WRITE_ONCE(f->fences_sent, f->fences_sent + 1);
	atomic_inc(&f->fences);
	rdmablk_cmdq_prepare(cmd, RDMABLK_OP_FENCE, 0, 0, 0, 0);
	rdmablk_cmdq_send(cmd);
}

/*
 * Whether a queue has written since its last fence what the round is about: for commands
 * all that has been written, for a flush what it has taken.
 */
static bool rdmablk_fence_must(const struct rdmablk_fence *f, const struct rdmablk_hwq *hwq,
			       bool commands)
{
	u32 wrote = READ_ONCE(hwq->wrote);

	if (commands)
		return wrote || (f->carried && hwq->nr == f->flush_hwq);
	return wrote && !(f->has_dirty && wrote == f->path->snapshots);
}

static void rdmablk_fence_send_fences(struct rdmablk_fence *f, bool commands)
{
	u32 i;

	/* One of ours, so that no answer ends the round before all are sent. */
	atomic_set(&f->fences, 1);
	for (i = 0; i < f->path->nr_hwqs; i++) {
		struct rdmablk_hwq *hwq = f->path->hwq[i];

		if (!rdmablk_fence_must(f, hwq, commands))
			continue;
		/* A full barrier, before the fence is posted */
		xchg(&hwq->wrote, 0);
		rdmablk_fence_send_fence(f, hwq);
	}
	atomic_dec(&f->fences);
}

/* The flush goes where something was written: one fence less, but for @commands. */
static void rdmablk_fence_pick(struct rdmablk_fence *f, bool commands)
{
	u32 i;

	f->flush_hwq = 0;
	for (i = 0; i < f->path->nr_hwqs; i++) {
		if (!rdmablk_fence_must(f, f->path->hwq[i], false))
			continue;
		f->flush_hwq = i;
		f->carried = !commands;
		if (f->carried)
			xchg(&f->path->hwq[i]->wrote, 0);
		return;
	}
}

/* Takes what is queued and need not wait. Returns whether a round begins with it. */
static bool rdmablk_fence_take(struct rdmablk_fence *f, bool *commands, bool *flush)
{
	struct rdmablk_fence_op *op, *next;

	*commands = false;
	*flush = false;
	spin_lock_bh(&f->lock);
	list_for_each_entry_safe(op, next, &f->queued, node) {
		if (op->kind == RDMABLK_FENCE_FUA) {
			list_move_tail(&op->node, &op->hwq->line[RDMABLK_LINE_FUA]);
		} else if (op->kind == RDMABLK_FENCE_ALONE) {
			list_move_tail(&op->node, &op->hwq->line[RDMABLK_LINE_SLOW]);
		} else if (f->fencing) {
			continue;
		} else if (op->kind == RDMABLK_FENCE_COMMAND) {
			*commands = true;
			list_move_tail(&op->node, &f->round);
		} else if (!f->flushing) {
			*flush = true;
			list_move_tail(&op->node, &f->flushes);
		}
	}
	spin_unlock_bh(&f->lock);
	return *commands || *flush;
}

/* The order matters; see the top of the file. */
static void rdmablk_fence_snapshot(struct rdmablk_fence *f)
{
	/* Before the bits; a full barrier, pairs with the one in rdmablk_fence_dirty(). */
	f->was_unflushed = rdmablk_flush_ahead_begin(f->path);
	if (!f->has_dirty)
		return;
	rdmablk_dirty_begin(&f->dirty);
	/* After the bits: that has ended with a full barrier. No mark is 0. */
	WRITE_ONCE(f->path->snapshots, f->path->snapshots + 1 ?: 1);
}

static bool rdmablk_fence_begin(struct rdmablk_fence *f)
{
	bool commands, flush;

	if (!rdmablk_fence_take(f, &commands, &flush))
		return false;
	f->fencing = true;
	f->with_flush = flush;
	if (flush) {
		f->flushing = true;
		f->flush_last = false;
		f->told = false;
		f->status = RDMABLK_OK;
		rdmablk_fence_snapshot(f);
		rdmablk_fence_pick(f, commands);
	}
	rdmablk_fence_send_fences(f, commands);
	return true;
}

static void rdmablk_fence_round(struct rdmablk_fence *f)
{
	struct rdmablk_fence_op *op, *next;

	if (!f->fencing || atomic_read(&f->fences))
		return;
	f->fencing = false;
	f->shipping |= f->with_flush;
	list_for_each_entry_safe(op, next, &f->round, node)
		list_move_tail(&op->node, &op->hwq->line[RDMABLK_LINE_SLOW]);
}

/*
 * Tags
 */

static u8 rdmablk_fence_waits(const struct rdmablk_hwq *hwq)
{
	u8 waits = 0, line;

	for (line = 0; line < RDMABLK_LINES; line++)
		waits |= list_empty(&hwq->line[line]) ? 0 : BIT(line);
	return waits;
}

/* All others may have all tags; what is slow leaves them half of these. */
static bool rdmablk_fence_may_send(struct rdmablk_hwq *hwq, u8 line)
{
	return line != RDMABLK_LINE_SLOW ||
	       (u32)atomic_read(&hwq->slow) < rdmablk_cmdq_slow(hwq->cmdq.depth);
}

static void rdmablk_fence_serve_line(struct rdmablk_hwq *hwq, u8 line)
{
	struct rdmablk_fence_op *op, *next;
	struct rdmablk_cmd_tag *cmd;

	list_for_each_entry_safe(op, next, &hwq->line[line], node) {
		cmd = rdmablk_fence_may_send(hwq, line) ?
		      rdmablk_cmdq_get(&hwq->cmdq, 0) : NULL;
		if (!cmd)
			return;
		if (line == RDMABLK_LINE_SLOW) {
			atomic_inc(&hwq->slow);
			WRITE_ONCE(hwq->passed, false);
		}
		/* It may end, and be queued anew, before the upcall returns. */
		list_del_init(&op->node);
		op->send(op, cmd);
	}
}

static void rdmablk_fence_serve(struct rdmablk_fence *f)
{
	struct rdmablk_hwq *hwq;
	u8 waits, line;
	u32 i;

	for (i = 0; i < f->path->nr_hwqs; i++) {
		hwq = f->path->hwq[i];
		waits = rdmablk_fence_waits(hwq);
		if (!waits && !hwq->waits)
			continue;
		WRITE_ONCE(hwq->waits, waits);
		/* Pairs with the barrier in rdmablk_fence_put(). */
		smp_mb();
		for (line = 0; line < RDMABLK_LINES; line++)
			rdmablk_fence_serve_line(hwq, line);
		WRITE_ONCE(hwq->waits, rdmablk_fence_waits(hwq));
	}
}

/**
 * rdmablk_fence_put() - give back the tag of a command where others may wait for it
 * @f: of the session
 * @cmd: tag, done with
 * @slow: its command stood in RDMABLK_LINE_SLOW
 *
 * Context: any.
 */
void rdmablk_fence_put(struct rdmablk_fence *f, struct rdmablk_cmd_tag *cmd, bool slow)
{
	struct rdmablk_hwq *hwq = container_of(cmd->cmdq, struct rdmablk_hwq, cmdq);
	u8 waits;

	if (slow)
		atomic_dec(&hwq->slow);
	rdmablk_cmdq_put(cmd);
	/* Pairs with the barrier in rdmablk_fence_serve(). */
	smp_mb__after_atomic();
	waits = READ_ONCE(hwq->waits);
	/*
	 * Slow ones that have all the tags they may have can do nothing with this one.
	 * Whoever takes their number down looks here after it, and sees the tag.
	 */
	if (waits & ~BIT(RDMABLK_LINE_SLOW) ||
	    (waits && rdmablk_fence_may_send(hwq, RDMABLK_LINE_SLOW)))
		rdmablk_fence_kick(f);
}

/*
 * The flush
 */

/* DIRTY and FLUSH go by one queue: their answers come one after the other. */
static void rdmablk_fence_flush_answered(struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_fence *f = cmd->owner;

	if (!f->status)
		f->status = cmd->status;
	/* A full barrier; pairs with the acquire in rdmablk_fence_ship(). */
	if (atomic_dec_and_test(&f->unanswered))
		rdmablk_fence_kick(f);
}

static void rdmablk_fence_flush_end(struct rdmablk_fence *f)
{
	struct rdmablk_fence_op *op, *next;
	u8 status = f->status;
	LIST_HEAD(ended);

	if (f->has_dirty && status)
		rdmablk_dirty_restore(&f->dirty);
	else if (f->has_dirty)
		rdmablk_dirty_done(&f->dirty);
	rdmablk_flush_ahead_end(f->path, f->was_unflushed, !status);
	f->flushing = false;
	f->shipping = false;
	f->carried = false;
	list_splice_init(&f->flushes, &ended);
	list_for_each_entry_safe(op, next, &ended, node) {
		list_del_init(&op->node);
		op->done(op, status);
	}
}

/* Returns how many ranges there were to send; fewer than the most: these are the last. */
static u32 rdmablk_fence_ranges(struct rdmablk_fence *f, struct rdmablk_cmdq *cmdq)
{
	struct rdmablk_cmd_tag *cmd = &cmdq->cmd[RDMABLK_CMD_DIRTY];

	if (!f->has_dirty)
		return 0;
	ib_dma_sync_single_for_cpu(cmdq->dev, cmd->dma, cmdq->dirty_bytes, DMA_TO_DEVICE);
	return rdmablk_dirty_next(&f->dirty, (struct rdmablk_range *)(cmd->msg + 1),
				  f->path->cmds.max_ranges);
}

static void rdmablk_fence_prepare_dirty(struct rdmablk_cmd_tag *cmd, u32 n)
{
	u32 bytes = n * sizeof(struct rdmablk_range);

	rdmablk_cmdq_prepare(cmd, RDMABLK_OP_DIRTY, 0, 0, 0, bytes);
	cmd->sge[0].length += bytes;
}

/*
 * A FLUSH has a range of its own, or is of all ranges that DIRTY has told of. When there is
 * one to tell of the FLUSH itself does: two commands less to send and to answer.
 */
static void rdmablk_fence_ship(struct rdmablk_fence *f)
{
	struct rdmablk_hwq *hwq = f->path->hwq[f->flush_hwq];
	struct rdmablk_cmd_tag *dirty, *flush;
	const struct rdmablk_range *range;
	u64 offset = 0, bytes = 0;
	u32 n;

	/* Pairs with the barrier in rdmablk_fence_flush_answered(): the status is there. */
	if (!f->shipping || atomic_read_acquire(&f->unanswered))
		return;
	if (f->flush_last || f->status) {
		rdmablk_fence_flush_end(f);
		return;
	}
	dirty = rdmablk_fence_cmd(hwq, RDMABLK_CMD_DIRTY, f, rdmablk_fence_flush_answered);
	flush = rdmablk_fence_cmd(hwq, RDMABLK_CMD_FLUSH, f, rdmablk_fence_flush_answered);
	n = rdmablk_fence_ranges(f, &hwq->cmdq);
	/* The target takes the commands of a queue in order: the last two go together. */
	f->flush_last = !f->has_dirty || n < f->path->cmds.max_ranges;
	if (n == 1 && f->flush_last && !f->told) {
		range = (const struct rdmablk_range *)(dirty->msg + 1);
		offset = le64_to_cpu(range->offset);
		bytes = le64_to_cpu(range->bytes);
		n = 0;
	}
	f->told |= !!n;
	atomic_set(&f->unanswered, !!n + f->flush_last);
	if (n)
		rdmablk_fence_prepare_dirty(dirty, n);
	if (f->flush_last)
		rdmablk_cmdq_prepare(flush, RDMABLK_OP_FLUSH, 0, offset, bytes, 0);
	spin_lock_bh(&hwq->write.lock);
	if (n)
		rdmablk_cmdq_add(dirty);
	if (f->flush_last)
		rdmablk_cmdq_add(flush);
	rdmablk_queue_post(&hwq->write);
	spin_unlock_bh(&hwq->write.lock);
}

/* What took too long for where it was noticed. */
static void rdmablk_fence_ended(struct rdmablk_fence *f)
{
	struct rdmablk_fence_op *op, *next;
	LIST_HEAD(ended);

	if (list_empty_careful(&f->ended))
		return;
	spin_lock_bh(&f->lock);
	list_splice_init(&f->ended, &ended);
	spin_unlock_bh(&f->lock);
	list_for_each_entry_safe(op, next, &ended, node) {
		list_del_init(&op->node);
		op->done(op, op->status);
	}
}

static void rdmablk_fence_work(struct work_struct *work)
{
	struct rdmablk_fence *f = container_of(work, struct rdmablk_fence, work);

	if (READ_ONCE(f->stopped))
		return;
	rdmablk_fence_ended(f);
	do {
		rdmablk_fence_round(f);
		rdmablk_fence_ship(f);
	} while (rdmablk_fence_begin(f));
	rdmablk_fence_serve(f);
}

/**
 * rdmablk_fence_init() - nothing to do yet, and stopped
 * @f: of zeroed memory
 * @path: data path
 * @wq: runs the work; it reclaims memory
 */
void rdmablk_fence_init(struct rdmablk_fence *f, struct rdmablk_path *path,
			struct workqueue_struct *wq)
{
	f->path = path;
	path->snapshots = 1;
	f->wq = wq;
	f->stopped = true;
	spin_lock_init(&f->lock);
	INIT_LIST_HEAD(&f->queued);
	INIT_LIST_HEAD(&f->ended);
	INIT_LIST_HEAD(&f->round);
	INIT_LIST_HEAD(&f->flushes);
	mutex_init(&f->own_mutex);
	INIT_WORK(&f->work, rdmablk_fence_work);
	init_completion(&f->own_done);
}

/**
 * rdmablk_fence_exit() - give the memory back; may be called twice
 * @f: stopped and reset
 */
void rdmablk_fence_exit(struct rdmablk_fence *f)
{
	if (f->has_dirty)
		rdmablk_dirty_exit(&f->dirty);
	f->has_dirty = false;
}

/**
 * rdmablk_fence_start() - commands may be sent
 * @f: reset
 */
void rdmablk_fence_start(struct rdmablk_fence *f)
{
	u32 i;

	/* The target has destroyed what could have been under way. */
	for (i = 0; i < f->path->nr_hwqs; i++)
		f->path->hwq[i]->wrote = 0;
	WRITE_ONCE(f->broken, false);
	spin_lock_bh(&f->lock);
	f->stopped = false;
	spin_unlock_bh(&f->lock);
}

/**
 * rdmablk_fence_stop() - send nothing any more; may be called twice
 * @f: to stop
 */
void rdmablk_fence_stop(struct rdmablk_fence *f)
{
	spin_lock_bh(&f->lock);
	f->stopped = true;
	spin_unlock_bh(&f->lock);
	/* Who waits for a flush has queued it before, and waits in vain. */
	complete(&f->own_done);
	cancel_work_sync(&f->work);
}

/* Requests are forgotten here; whoever calls holds them. */
static void rdmablk_fence_forget(struct list_head *list)
{
	struct rdmablk_fence_op *op, *next;

	list_for_each_entry_safe(op, next, list, node)
		list_del_init(&op->node);
}

static void rdmablk_fence_forget_lines(struct rdmablk_path *path)
{
	struct rdmablk_hwq *hwq;
	u32 i;

	for (i = 0; path->hwq && i < path->nr_hwqs; i++) {
		hwq = path->hwq[i];
		rdmablk_fence_forget(&hwq->line[RDMABLK_LINE_SLOW]);
		rdmablk_fence_forget(&hwq->line[RDMABLK_LINE_FUA]);
		hwq->waits = 0;
		hwq->passed = false;
		atomic_set(&hwq->slow, 0);
	}
}

/**
 * rdmablk_fence_reset() - forget what is under way; may be called twice
 * @f: stopped, its queues drained
 */
void rdmablk_fence_reset(struct rdmablk_fence *f)
{
	/* Answers that came until the queues were drained have queued it. */
	cancel_work_sync(&f->work);
	spin_lock_bh(&f->lock);
	rdmablk_fence_forget(&f->queued);
	rdmablk_fence_forget(&f->ended);
	spin_unlock_bh(&f->lock);
	rdmablk_fence_forget(&f->round);
	rdmablk_fence_forget(&f->flushes);
	rdmablk_fence_forget_lines(f->path);
	if (f->flushing && f->has_dirty)
		rdmablk_dirty_restore(&f->dirty);
	if (f->flushing && f->was_unflushed)
		WRITE_ONCE(f->path->unflushed, true);
	f->fencing = false;
	f->flushing = false;
	f->shipping = false;
	f->carried = false;
	atomic_set(&f->unanswered, 0);
	f->status = RDMABLK_OK;
	if (f->own_queued) {
		/* As in rdmablk_fence_own_done(). */
		smp_store_release(&f->own_queued, false);
		complete(&f->own_done);
	}
}

/**
 * rdmablk_fence_break() - the connection has failed: who waits for a flush need not
 * @f: of any session
 *
 * Until the next rdmablk_fence_start(). Context: any.
 */
void rdmablk_fence_break(struct rdmablk_fence *f)
{
	WRITE_ONCE(f->broken, true);
	/* Pairs with the barrier in rdmablk_fence_flush(): it is seen, or wakes. */
	smp_mb();
	complete(&f->own_done);
}

/**
 * rdmablk_fence_is_clean() - whether all that has been written is flushed
 * @f: stopped
 *
 * What a flush has taken that did not end is not.
 */
bool rdmablk_fence_is_clean(const struct rdmablk_fence *f)
{
	return !READ_ONCE(f->path->unflushed) && !(f->flushing && f->was_unflushed);
}

/**
 * rdmablk_fence_queue() - have something done
 * @f: of a live session
 * @op: filled in
 *
 * Context: any.
 */
void rdmablk_fence_queue(struct rdmablk_fence *f, struct rdmablk_fence_op *op)
{
	spin_lock_bh(&f->lock);
	list_add_tail(&op->node, &f->queued);
	spin_unlock_bh(&f->lock);
	rdmablk_fence_kick(f);
}

/**
 * rdmablk_fence_end() - have @done of a command called, in a work
 * @f: of a session with a connection
 * @op: in no list
 * @status: for @done
 *
 * Context: any.
 */
void rdmablk_fence_end(struct rdmablk_fence *f, struct rdmablk_fence_op *op, u8 status)
{
	op->status = status;
	spin_lock_bh(&f->lock);
	list_add_tail(&op->node, &f->ended);
	spin_unlock_bh(&f->lock);
	rdmablk_fence_kick(f);
}

/**
 * rdmablk_fence_dirty() - a part of the export has changed, and its store may not know
 * @path: data path, of an export with a cache
 * @pos: first byte
 * @bytes: how many, not 0
 *
 * Before the request ends. The order matters; see the top of the file. Context: any.
 */
void rdmablk_fence_dirty(struct rdmablk_path *path, u64 pos, u64 bytes)
{
	/* A full barrier to begin with. */
	rdmablk_dirty_set(&path->fence.dirty, pos, bytes);
	/*
	 * The bits before the look; pairs with xchg() in rdmablk_fence_snapshot(): whoever
	 * finds it set has bits that the flush which clears it takes.
	 */
	smp_mb();
	if (!READ_ONCE(path->unflushed))
		WRITE_ONCE(path->unflushed, true);
}

static void rdmablk_fence_own_done(struct rdmablk_fence_op *op, u8 status)
{
	struct rdmablk_fence *f = container_of(op, struct rdmablk_fence, own);

	f->own_status = status;
	/* Pairs with the acquire in rdmablk_fence_flush(). */
	smp_store_release(&f->own_queued, false);
	complete(&f->own_done);
}

/* False: nothing is done any more. Else who stops wakes us. */
static bool rdmablk_fence_queue_own(struct rdmablk_fence *f)
{
	bool queued;

	spin_lock_bh(&f->lock);
	queued = !f->stopped;
	if (queued) {
		f->own_queued = true;
		list_add_tail(&f->own.node, &f->queued);
	}
	spin_unlock_bh(&f->lock);
	if (queued)
		rdmablk_fence_kick(f);
	return queued;
}

static int rdmablk_fence_flush_locked(struct rdmablk_fence *f, unsigned long timeout)
{
	lockdep_assert_held(&f->own_mutex);
	/* Pairs with the release where it is taken out of its list. */
	if (smp_load_acquire(&f->own_queued))
		return -EBUSY;
	reinit_completion(&f->own_done);
	/* Pairs with the barrier in rdmablk_fence_break(). */
	smp_mb();
	if (READ_ONCE(f->broken))
		return -ENOTCONN;
	f->own_status = RDMABLK_R_CONNECTION;
	f->own.kind = RDMABLK_FENCE_FLUSH;
	f->own.done = rdmablk_fence_own_done;
	if (!rdmablk_fence_queue_own(f))
		return -ENOTCONN;
	return rdmablk_fence_flush_wait(f, timeout);
}

/**
 * rdmablk_fence_flush() - flush without a request
 * @f: of a session that has commands
 * @timeout: jiffies
 *
 * When the time is over the flush goes on; rdmablk_fence_reset() ends it.
 *
 * Context: may sleep.
 *
 * Return: 0; -ETIMEDOUT; -EBUSY: an earlier one has not ended; -ENOTCONN: stopped, or the
 * connection has failed; -EIO: the target says so, or that came meanwhile.
 */
int rdmablk_fence_flush(struct rdmablk_fence *f, unsigned long timeout)
{
	int ret;

	mutex_lock(&f->own_mutex);
	ret = rdmablk_fence_flush_locked(f, timeout);
	mutex_unlock(&f->own_mutex);
	return ret;
}
