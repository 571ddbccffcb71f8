// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that make the target's CPU look at registered memory: DISCARD, WRITE_ZEROES,
 * and FLUSH of ranges that RDMA WRITEs have changed.
 *
 * The fence
 *
 * The completion of a WRITE says that the target's adapter has the data, not that the
 * target's CPU can see it. The CPU can see it when it has received a later SEND on the same
 * queue pair, because RC keeps the order. So each write queue that has completed a WRITE
 * since its last fence ("wrote") sends a FENCE, and the commands follow when the target has
 * answered all FENCEs.
 *
 * The snapshot comes first. A flush may send ("ship") the target only ranges that a fence
 * covers. A WRITE that completes after the fence of its queue is not covered: if the flush
 * shipped its range, the target could write back the old contents and forget the range. So:
 *
 *   a WRITE completes     sets "wrote" of its queue, then its dirty bits, then "unflushed",
 *                         then ends its request
 *   a flush               clears "unflushed", takes all dirty bits, increments "snapshots",
 *                         then checks "wrote" of all queues and sends the fences, then
 *                         ships the bits that it has taken
 *
 * with a full barrier between each two steps. So a bit that a flush has missed leaves
 * "unflushed" set, and no such write counts as flushed.
 *
 * For each taken bit, its WRITE has set "wrote" or found it set. Either "wrote" is still
 * set, and the flush fences the queue; or a fence has cleared "wrote" since, and that fence
 * was sent after the WRITE had completed. "wrote" is cleared before the fence is posted: a
 * WRITE that completes in between costs one more fence.
 *
 * "wrote" holds the value of "snapshots" at the first WRITE since the last fence. If it
 * holds the newest value, the queue has no bit in this flush: its first WRITE read
 * "snapshots" after the flush had taken the bits, and set its own bits later. The next flush
 * fences that queue. Bits that a failed flush puts back need no fence: that flush shipped
 * them after their fence.
 *
 * The flush sends its commands on a queue that needs a fence, if there is one: the commands
 * are that fence ("carried"). The flush clears "wrote" before it posts them. Until it ends,
 * the target may not have received them, so any round of commands that begins meanwhile
 * fences that queue, too.
 *
 * Rounds
 *
 * One work item does all of this and never sleeps: each answer decrements a counter or
 * clears a flag, and queues the work. Ops that arrive during a round form the next round. A
 * flush serves all FLUSH requests of its round. FLUSH requests that arrive while it is under
 * way wait for its end; other commands do not.
 *
 * Tags
 *
 * After its fence a command waits for a tag here. In the block layer, READs and WRITEs would
 * wait behind it. Each write queue has two lists of ops that wait ("lines"). The first is
 * for DISCARD and other commands that may take as long as the store does; they get half of
 * the tags at most. The second is for FUA writes: a FUA write that gets a tag is sent
 * together with its FLUSH; one that gets no tag is sent as a plain WRITE, and its FLUSH waits
 * here afterwards.
 *
 * Either the task that gives a tag back sees the line, or the work sees the tag:
 *
 *	the work			an answer
 *	sets "waits"			gives the tag back
 *	full barrier			full barrier
 *	is a tag free?			if "waits": queues the work
 *
 * After a lost connection: rdmablk_fence_stop(), drain, rdmablk_fence_reset(). Ranges that
 * a flush has taken and not flushed are dirty again. The caller holds the requests and
 * queues them again with the next connection.
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

	/* Every target supports FENCE, so another answer breaks the protocol. */
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
 * Whether a queue must be fenced. For commands: if it has written anything since its last
 * fence, or if a flush that has not ended is the fence of this queue. For a flush: if it has
 * written a range that the flush has taken.
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

	/* An extra count, so that no answer ends the round before all fences are sent. */
	atomic_set(&f->fences, 1);
	for (i = 0; i < f->path->nr_hwqs; i++) {
		struct rdmablk_hwq *hwq = f->path->hwq[i];

		if (!rdmablk_fence_must(f, hwq, commands))
			continue;
		/* A full barrier before the fence is posted */
		xchg(&hwq->wrote, 0);
		rdmablk_fence_send_fence(f, hwq);
	}
	atomic_dec(&f->fences);
}

/*
 * The flush uses a queue that needs a fence, and is that fence. If the same round has
 * @commands, the queue is fenced all the same, because they need it.
 */
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

/* Appends a command to a line of its hardware queue, where it waits for a tag. */
static void rdmablk_fence_line_up(struct rdmablk_fence_op *op, u8 line)
{
	list_move_tail(&op->node, &op->hwq->line[line]);
	WRITE_ONCE(op->waits, true);
}

/* A timer that finds an op that does not wait must find its new deadline, too. */
static void rdmablk_fence_begin_op(struct rdmablk_fence_op *op)
{
	if (op->begin)
		op->begin(op);
	/* Pairs with the barrier in rdmablk_dispatch_timeout(). */
	smp_wmb();
	WRITE_ONCE(op->waits, false);
}

/* Takes the queued ops that need not wait. Return: whether a round begins with them. */
static bool rdmablk_fence_take(struct rdmablk_fence *f, bool *commands, bool *flush)
{
	struct rdmablk_fence_op *op, *next;

	*commands = false;
	*flush = false;
	spin_lock_bh(&f->lock);
	list_for_each_entry_safe(op, next, &f->queued, node) {
		if (op->kind == RDMABLK_FENCE_FUA) {
			rdmablk_fence_line_up(op, RDMABLK_LINE_FUA);
		} else if (op->kind == RDMABLK_FENCE_ALONE) {
			rdmablk_fence_line_up(op, RDMABLK_LINE_SLOW);
		} else if (f->fencing) {
			continue;
		} else if (op->kind == RDMABLK_FENCE_COMMAND) {
			*commands = true;
			list_move_tail(&op->node, &f->round);
		} else if (f->flushing) {
			WRITE_ONCE(op->waits, true);
		} else {
			*flush = true;
			list_move_tail(&op->node, &f->flushes);
			rdmablk_fence_begin_op(op);
		}
	}
	spin_unlock_bh(&f->lock);
	return *commands || *flush;
}

/* The order matters; see the top of the file. */
static void rdmablk_fence_snapshot(struct rdmablk_fence *f)
{
	/* Before the bits; the full barrier pairs with the one in rdmablk_fence_dirty(). */
	f->was_unflushed = rdmablk_flush_ahead_begin(f->path);
	if (!f->has_dirty)
		return;
	rdmablk_dirty_begin(&f->dirty);
	/* After the bits: rdmablk_dirty_begin() ends with a full barrier. 0 is not a mark. */
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
		f->dirty_sent = false;
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
		rdmablk_fence_line_up(op, RDMABLK_LINE_SLOW);
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

/* Slow commands may use half of the tags, other commands all. */
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
		/* The op may end, and be queued again, before the upcall returns. */
		list_del_init(&op->node);
		rdmablk_fence_begin_op(op);
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
 * rdmablk_fence_put() - give back a tag that queued commands may wait for
 * @f: fence state of the session
 * @cmd: tag; the caller does not use it any more
 * @slow: the command stood in RDMABLK_LINE_SLOW
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
	 * Slow commands that already have all their tags cannot use this one. The task that
	 * later decrements hwq->slow comes here, too, and sees this tag.
	 */
	if (waits & ~BIT(RDMABLK_LINE_SLOW) ||
	    (waits && rdmablk_fence_may_send(hwq, RDMABLK_LINE_SLOW)))
		rdmablk_fence_kick(f);
}

/*
 * The flush
 */

/* DIRTY and FLUSH use one queue, so their answers arrive one after the other. */
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

/* Return: number of ranges for the next DIRTY; fewer than max_ranges: these are the last. */
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
 * A FLUSH covers its own range, or all ranges of the DIRTY commands before it. A single
 * range goes into the FLUSH itself, which saves sending and answering a DIRTY.
 */
static void rdmablk_fence_ship(struct rdmablk_fence *f)
{
	struct rdmablk_hwq *hwq = f->path->hwq[f->flush_hwq];
	struct rdmablk_cmd_tag *dirty, *flush;
	const struct rdmablk_range *range;
	u64 offset = 0, bytes = 0;
	u32 n;

	/* Pairs with the barrier in rdmablk_fence_flush_answered(): the status is valid. */
	if (!f->shipping || atomic_read_acquire(&f->unanswered))
		return;
	if (f->flush_last || f->status) {
		rdmablk_fence_flush_end(f);
		return;
	}
	dirty = rdmablk_fence_cmd(hwq, RDMABLK_CMD_DIRTY, f, rdmablk_fence_flush_answered);
	flush = rdmablk_fence_cmd(hwq, RDMABLK_CMD_FLUSH, f, rdmablk_fence_flush_answered);
	n = rdmablk_fence_ranges(f, &hwq->cmdq);
	/* The target takes the commands of a queue in order, so the last two go together. */
	f->flush_last = !f->has_dirty || n < f->path->cmds.max_ranges;
	if (n == 1 && f->flush_last && !f->dirty_sent) {
		range = (const struct rdmablk_range *)(dirty->msg + 1);
		offset = le64_to_cpu(range->offset);
		bytes = le64_to_cpu(range->bytes);
		n = 0;
	}
	f->dirty_sent |= !!n;
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

/* Ends ops by @done, which takes too long for the context of rdmablk_fence_end(). */
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
 * rdmablk_fence_init() - initialize; nothing is queued, and the fence is stopped
 * @f: zeroed memory
 * @path: data path
 * @wq: work queue for the work item; it has WQ_MEM_RECLAIM
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
 * rdmablk_fence_exit() - free the memory; may be called twice
 * @f: stopped and reset
 */
void rdmablk_fence_exit(struct rdmablk_fence *f)
{
	if (f->has_dirty)
		rdmablk_dirty_exit(&f->dirty);
	f->has_dirty = false;
}

/**
 * rdmablk_fence_start() - allow commands to be sent
 * @f: reset
 */
void rdmablk_fence_start(struct rdmablk_fence *f)
{
	u32 i;

	/* The target has destroyed every queue pair on which a WRITE could be under way. */
	for (i = 0; i < f->path->nr_hwqs; i++)
		f->path->hwq[i]->wrote = 0;
	WRITE_ONCE(f->broken, false);
	spin_lock_bh(&f->lock);
	f->stopped = false;
	spin_unlock_bh(&f->lock);
}

/**
 * rdmablk_fence_stop() - send no more commands; may be called twice
 * @f: fence state of the session
 */
void rdmablk_fence_stop(struct rdmablk_fence *f)
{
	spin_lock_bh(&f->lock);
	f->stopped = true;
	spin_unlock_bh(&f->lock);
	/* A task in rdmablk_fence_flush() has queued its flush, which will not be served. */
	complete(&f->own_done);
	cancel_work_sync(&f->work);
}

/* Drops the ops from @list; the caller holds their requests. */
static void rdmablk_fence_forget(struct list_head *list)
{
	struct rdmablk_fence_op *op, *next;

	list_for_each_entry_safe(op, next, list, node) {
		list_del_init(&op->node);
		WRITE_ONCE(op->waits, false);
	}
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
 * rdmablk_fence_reset() - forget everything that is under way; may be called twice
 * @f: stopped, its queues drained
 */
void rdmablk_fence_reset(struct rdmablk_fence *f)
{
	/* Answers that came until the queues were drained have queued the work. */
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
		/* As in rdmablk_fence_own_done() */
		smp_store_release(&f->own_queued, false);
		complete(&f->own_done);
	}
}

/**
 * rdmablk_fence_break() - the connection has failed: end the wait for a flush
 * @f: of any session
 *
 * Later flushes fail at once, until the next rdmablk_fence_start(). Context: any. The caller holds
 * the lock of the session, or is a handler of the control queue: neither can be late and break the
 * fence of the next connection.
 */
void rdmablk_fence_break(struct rdmablk_fence *f)
{
	WRITE_ONCE(f->broken, true);
	/* Pairs with the barrier in rdmablk_fence_flush(): it sees @broken, or is woken. */
	smp_mb();
	complete(&f->own_done);
}

/**
 * rdmablk_fence_is_clean() - whether all writes are flushed
 * @f: stopped
 *
 * Writes that an unfinished flush has taken are not flushed.
 */
bool rdmablk_fence_is_clean(const struct rdmablk_fence *f)
{
	return !READ_ONCE(f->path->unflushed) && !(f->flushing && f->was_unflushed);
}

/**
 * rdmablk_fence_queue() - queue a command or a flush
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
 * rdmablk_fence_end() - call @done of a command from the work
 * @f: of a session with a connection
 * @op: in no list
 * @status: argument for @done
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
 * rdmablk_fence_dirty() - a WRITE has changed a part of the export; it needs a flush
 * @path: data path, of an export with a cache
 * @pos: first byte
 * @bytes: number of bytes, not 0
 *
 * Called before the request ends. The order matters; see the top of the file.
 * Context: any.
 */
void rdmablk_fence_dirty(struct rdmablk_path *path, u64 pos, u64 bytes)
{
	/* Begins with a full barrier. */
	rdmablk_dirty_set(&path->fence.dirty, pos, bytes);
	/*
	 * Set the bits before checking "unflushed"; pairs with xchg() in
	 * rdmablk_fence_snapshot(). If "unflushed" is set here, the flush that clears it
	 * takes these bits.
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

/* Return: false: the fence is stopped. If true, rdmablk_fence_stop() wakes the caller. */
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
	/* Pairs with the release that says: the last flush is out of its list. */
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
 * After -ETIMEDOUT the flush goes on; it ends by itself or by rdmablk_fence_reset().
 *
 * Context: may sleep.
 *
 * Return: 0; -ETIMEDOUT; -EBUSY: an earlier flush has not ended; -ENOTCONN: stopped, or the
 * connection has failed; -EIO: the flush failed at the target, or the fence was stopped or
 * the connection failed meanwhile.
 */
int rdmablk_fence_flush(struct rdmablk_fence *f, unsigned long timeout)
{
	int ret;

	mutex_lock(&f->own_mutex);
	ret = rdmablk_fence_flush_locked(f, timeout);
	mutex_unlock(&f->own_mutex);
	return ret;
}
