// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the commands of a session with a one-sided store do. What takes time goes to
 * the store thread.
 *
 * Of FLUSHes there is one at a time, with the granules noted until it began; what
 * comes meanwhile is answered by the next one, all of it together. Granules noted while
 * it is under way are in another set, so nothing of theirs is lost when it succeeds;
 * when it fails its own go back among them. The loop moves them bit by bit, because there
 * may be so many that all at once would take too long; the FLUSH is under way until all are
 * back, so that no other one takes a set that lacks some of them.
 *
 * FLUSHes with a range have a turn of their own, with their ranges and nothing else: one
 * must not fail for what another writer has in a part of the file that takes no writes.
 */
#include "base/fault.h"
#include "base/util.h"
#include "session/cmdq.h"

#define MERGE_MOST	4096U		/* runs of 4096 granules at once */

static void work_done(struct cmdqs *c)
{
	if (!--c->pending && c->stopped)
		c->idle(c);
}

static void slot_done(struct store_work *w)
{
	struct cmdq_slot *slot = container_of(w, struct cmdq_slot, work);

	slot->state = SLOT_BUSY;
	slot->queue->cmdqs->changed |= !w->status && w->op != RDMABLK_OP_DISCARD;
	cmdq_answer(slot, w->status);
	work_done(slot->queue->cmdqs);
}

static void early_done(struct store_work *w)
{
	free(w);
}

/* The fault: answered, and done later. */
static bool early(struct cmdq_slot *slot)
{
	struct store_work *w;

	if (!fault(FAULT_EARLY_ZEROES))
		return false;
	w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	*w = slot->work;
	w->done = early_done;
	store_thread_submit(slot->queue->cmdqs->store->thread, w);
	cmdq_answer(slot, RDMABLK_OK);
	return true;
}

static void slot_submit(struct cmdq_slot *slot)
{
	struct cmdqs *c = slot->queue->cmdqs;

	slot->work = (struct store_work){
		.op = slot->data.op,
		.flags = slot->data.flags,
		.offset = slot->data.offset,
		.bytes = slot->data.bytes,
		.done = slot_done,
	};
	if (early(slot))
		return;
	slot->state = SLOT_THREAD;
	c->pending++;
	store_thread_submit(c->store->thread, &slot->work);
}

/* Granules that a range has any part of. */
static void note(struct bitmap *b, uint32_t granule, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset / granule;

	bitmap_set(b, first, (offset + bytes + granule - 1) / granule - first);
}

/**
 * cmdq_note - note the ranges of a DIRTY command
 * @c: commands of the session
 * @msg: as received
 * @data: the same, decoded and right
 */
void cmdq_note(struct cmdqs *c, const void *msg, const struct wire_data *data)
{
	uint64_t offset, bytes, sum = 0;
	unsigned int nr = wire_data_ranges(data);

	if (fault(FAULT_LOST_DIRTY) || !c->dirty.nr)
		return;
	for (unsigned int i = 0; i < nr; i++) {
		wire_data_range(msg, i, &offset, &bytes);
		/* They overlap: the loop has no time for the same thing again. */
		if (bytes > c->scope.size - sum) {
			bitmap_set(&c->dirty, 0, c->dirty.nr);
			return;
		}
		sum += bytes;
		note(&c->dirty, c->scope.granule, offset, bytes);
	}
}

static void flush_answer(struct cmdqs *c, unsigned int status)
{
	struct cmdq_slot *slot;

	while ((slot = TAILQ_FIRST(&c->flushed))) {
		TAILQ_REMOVE(&c->flushed, slot, entry);
		cmdq_answer(slot, status);
	}
}

static void flush_begin(struct cmdqs *c);

/* All of it, when a few granules are left, as after every FLUSH that has succeeded */
static void flush_merge(struct loop_task *task)
{
	struct cmdqs *c = container_of(task, struct cmdqs, merge);

	if (c->dirty.nr && !bitmap_merge(&c->dirty, &c->flushing, MERGE_MOST)) {
		loop_task_start(task);
		return;
	}
	c->flush_under_way = false;
	flush_answer(c, c->flush.status);
	if (!c->stopped)
		flush_begin(c);
	work_done(c);
}

static void flush_done(struct store_work *w)
{
	struct cmdqs *c = container_of(w, struct cmdqs, flush);

	c->flush_ended = loop_now();
	c->flush_failed = w->status;
	c->merge.run = flush_merge;
	flush_merge(&c->merge);
}

/*
 * Those that wait and are as the first: of ranges of their own, or of all that is noted.
 * Of ranges no more than the store has bytes: the loop has no time for the same thing
 * again. The others keep their place for a turn to come.
 */
static void flush_take(struct cmdqs *c, bool ranged)
{
	struct cmdq_slot *slot, *next;
	uint64_t room = c->scope.size;

	for (slot = TAILQ_FIRST(&c->waiting); slot; slot = next) {
		next = TAILQ_NEXT(slot, entry);
		if (!!slot->data.bytes != ranged)
			continue;
		if (slot->data.bytes > room)
			break;		/* not the first: it is no larger than the store */
		room -= slot->data.bytes;
		TAILQ_REMOVE(&c->waiting, slot, entry);
		TAILQ_INSERT_TAIL(&c->flushed, slot, entry);
		if (ranged && c->flushing.nr && !fault(FAULT_LOST_DIRTY))
			note(&c->flushing, c->scope.granule, slot->data.offset,
			     slot->data.bytes);
	}
}

static void flush_begin(struct cmdqs *c)
{
	bool ranged;

	if (c->flush_under_way || TAILQ_EMPTY(&c->waiting))
		return;
	ranged = TAILQ_FIRST(&c->waiting)->data.bytes;
	if (!ranged) {
		struct bitmap noted = c->dirty;

		c->dirty = c->flushing;
		c->flushing = noted;
	}
	flush_take(c, ranged);
	c->flush = (struct store_work){
		.op = RDMABLK_OP_FLUSH,
		.dirty = &c->flushing,
		.done = flush_done,
	};
	c->flush_under_way = true;
	c->changed &= ranged;
	c->flushes++;
	c->pending++;
	store_thread_submit(c->store->thread, &c->flush);
	if (fault(FAULT_EARLY_FLUSH))
		flush_answer(c, RDMABLK_OK);
}

/**
 * cmdq_do - do a command, or begin to
 * @slot: busy with it; of DIRTY the ranges are noted
 */
void cmdq_do(struct cmdq_slot *slot)
{
	struct cmdqs *c = slot->queue->cmdqs;

	if (slot->data.status) {
		cmdq_answer(slot, slot->data.status);
		return;
	}
	switch (slot->data.op) {
	case RDMABLK_OP_FLUSH:
		/* Who cannot write has nothing to make durable, and delays nobody's FLUSH. */
		if (!c->scope.writer) {
			cmdq_answer(slot, RDMABLK_OK);
			break;
		}
		TAILQ_INSERT_TAIL(&c->waiting, slot, entry);
		flush_begin(c);
		break;
	case RDMABLK_OP_DISCARD:
	case RDMABLK_OP_WRITE_ZEROES:
	case RDMABLK_OP_SECURE_ERASE:
		slot_submit(slot);
		break;
	default:	/* FENCE: it is here. DIRTY: is noted. */
		cmdq_answer(slot, RDMABLK_OK);
		break;
	}
}
