// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands of a session with a one-sided store, done in the thread of their lane.
 * write_queue.c receives and answers them. The store thread does those that take time.
 *
 * One FLUSH is under way at a time, with the granules noted until it began. The next one
 * answers all FLUSHes that come meanwhile together. Granules noted during a FLUSH go into
 * another set, so none of them is lost when the FLUSH succeeds. When it fails, its own
 * granules go back among the noted ones. The thread moves them bit by bit, because there may
 * be so many that all at once would take too long. The FLUSH is under way until all are
 * back, so that no other one takes a set that lacks some of them.
 *
 * FLUSHes with a range have a turn of their own, with only their ranges. Such a FLUSH must not
 * fail because of writes of another writer to a part of the file that takes no writes.
 *
 * The end: from stop() on the thread touches no queue pair, because a worker destroys them.
 * The store thread drops the works that it has not begun, and finishes the piece at hand. The
 * lane leaves its thread when it has all works back; until then the session's export is not
 * free.
 */
#include <assert.h>
#include <errno.h>

#include "base/fault.h"
#include "base/util.h"
#include "session/cmdq.h"

#define CMDQ_RANGES	((CMDQ_BYTES - RDMABLK_CMD_BYTES) / \
			 sizeof(struct rdmablk_range))

#define MERGE_MOST	4096U		/* runs of 4096 granules at once */

static_assert(!offsetof(struct cmdq_slot, tag), "lane_open_all() finds tags by their size");

static struct cmdqs *cmdqs_of(const struct cmdq_slot *slot)
{
	return container_of(slot->tag.queue->all, struct cmdqs, lanes.queues);
}

static void answer(struct write_tag *tag, unsigned int status)
{
	if (!lane_queue_of(tag->queue)->lane->stopping)
		write_queue_answer(tag, status);
}

static void tell(struct cmdqs *c, struct ring_note *note)
{
	ring_tell(&c->lanes.lane->thread->engine.ring, note);
}

/*
 * What commands do
 */

static void work_begin(struct cmdqs *c, struct store_work *w)
{
	lane_begun(c->lanes.lane);
	c->pending++;
	store_thread_submit(c->store->thread, w);
}

/* Call it last: the session may be freed afterwards. */
static void work_over(struct cmdqs *c)
{
	c->pending--;
	lane_over(c->lanes.lane);
}

static void slot_over(struct ring_note *note)
{
	struct cmdq_slot *slot = container_of(note, struct cmdq_slot, over);
	const struct store_work *w = &slot->work;
	struct cmdqs *c = cmdqs_of(slot);

	slot->working = false;
	if (!w->status && w->op != RDMABLK_OP_DISCARD)
		c->changed = true;
	answer(&slot->tag, w->status);
	work_over(c);
}

/* In the store thread */
static void slot_done(struct store_work *w)
{
	struct cmdq_slot *slot = container_of(w, struct cmdq_slot, work);

	tell(cmdqs_of(slot), &slot->over);
}

static void early_done(struct store_work *w)
{
	free(w);
}

/* With the fault: answers the command now, and does it later. */
static bool early(struct cmdq_slot *slot)
{
	struct store_work *w;

	if (!fault(FAULT_EARLY_ZEROES))
		return false;
	w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	*w = slot->work;
	w->client = NULL;	/* it may outlive its session */
	w->done = early_done;
	store_thread_submit(cmdqs_of(slot)->store->thread, w);
	answer(&slot->tag, RDMABLK_OK);
	return true;
}

static void slot_submit(struct cmdq_slot *slot)
{
	const struct wire_data *data = &slot->tag.data;
	struct cmdqs *c = cmdqs_of(slot);

	slot->work = (struct store_work){
		.client = &c->client,
		.op = data->op,
		.flags = data->flags,
		.offset = data->offset,
		.bytes = data->bytes,
		.done = slot_done,
	};
	if (early(slot))
		return;
	slot->over.run = slot_over;
	slot->working = true;
	work_begin(c, &slot->work);
}

/* Notes each granule that a range overlaps. */
static void note(struct bitmap *b, uint32_t granule, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset / granule;

	bitmap_set(b, first, (offset + bytes + granule - 1) / granule - first);
}

/**
 * cmdq_note - note the ranges of a DIRTY command
 * @c: commands of the session
 * @msg: the command as received
 * @data: the command, decoded and valid
 */
void cmdq_note(struct cmdqs *c, const void *msg, const struct wire_data *data)
{
	uint64_t offset, bytes, sum = 0;
	unsigned int nr = wire_data_ranges(data);

	if (fault(FAULT_LOST_DIRTY) || !c->dirty.nr)
		return;
	for (unsigned int i = 0; i < nr; i++) {
		wire_data_range(msg, i, &offset, &bytes);
		/* The ranges overlap. Noting a granule again and again would take too long. */
		if (bytes > c->lanes.scope.size - sum) {
			bitmap_set(&c->dirty, 0, c->dirty.nr);
			return;
		}
		sum += bytes;
		note(&c->dirty, c->lanes.scope.granule, offset, bytes);
	}
}

static void flush_answer(struct cmdqs *c, unsigned int status)
{
	struct write_tag *tag;

	while ((tag = TAILQ_FIRST(&c->flushed))) {
		TAILQ_REMOVE(&c->flushed, tag, entry);
		answer(tag, status);
	}
}

static void flush_begin(struct cmdqs *c);

/* Moves some granules. One step is enough when few are left, as after a successful FLUSH. */
static void flush_merge(struct ring_note *note)
{
	struct cmdqs *c = container_of(note, struct cmdqs, flush_over);

	if (c->dirty.nr && !bitmap_merge(&c->dirty, &c->flushing, MERGE_MOST)) {
		tell(c, note);
		return;
	}
	c->flush_under_way = false;
	flush_answer(c, c->flush.status);
	if (!c->lanes.lane->stopping)
		flush_begin(c);
	work_over(c);
}

static void flush_over(struct ring_note *note)
{
	struct cmdqs *c = container_of(note, struct cmdqs, flush_over);

	c->flush_ended = loop_now();
	c->flush_failed = c->flush.status;
	note->run = flush_merge;
	flush_merge(note);
}

/* In the store thread */
static void flush_done(struct store_work *w)
{
	struct cmdqs *c = container_of(w, struct cmdqs, flush);

	tell(c, &c->flush_over);
}

/*
 * Takes the waiting FLUSHes of the same kind as the first: either those with a range, or those
 * for all noted granules. The ranges together are no larger than the store, because noting a
 * granule again and again would take too long. The other FLUSHes keep their place.
 */
static void flush_take(struct cmdqs *c, bool ranged)
{
	struct write_tag *tag, *next;
	uint64_t room = c->lanes.scope.size;

	for (tag = TAILQ_FIRST(&c->waiting); tag; tag = next) {
		next = TAILQ_NEXT(tag, entry);
		if (!!tag->data.bytes != ranged)
			continue;
		if (tag->data.bytes > room)
			break;		/* never the first: it is no larger than the store */
		room -= tag->data.bytes;
		TAILQ_REMOVE(&c->waiting, tag, entry);
		TAILQ_INSERT_TAIL(&c->flushed, tag, entry);
		if (ranged && c->flushing.nr && !fault(FAULT_LOST_DIRTY))
			note(&c->flushing, c->lanes.scope.granule, tag->data.offset,
			     tag->data.bytes);
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
	c->flush_over.run = flush_over;
	c->flush_under_way = true;
	if (!ranged)
		c->changed = false;
	c->flushes++;
	work_begin(c, &c->flush);
	if (fault(FAULT_EARLY_FLUSH))
		flush_answer(c, RDMABLK_OK);
}

static void begin(struct write_tag *tag)
{
	struct cmdq_slot *slot = container_of(tag, struct cmdq_slot, tag);
	struct cmdqs *c = cmdqs_of(slot);

	switch (tag->data.op) {
	case RDMABLK_OP_FLUSH:
		TAILQ_INSERT_TAIL(&c->waiting, tag, entry);
		flush_begin(c);
		break;
	case RDMABLK_OP_DISCARD:
	case RDMABLK_OP_WRITE_ZEROES:
	case RDMABLK_OP_SECURE_ERASE:
		slot_submit(slot);
		break;
	default:	/* DIRTY */
		cmdq_note(c, write_queue_command(tag), &tag->data);
		answer(tag, RDMABLK_OK);
		break;
	}
}

/* The session has ended: nobody waits for what the store thread does for it. */
static void stop(struct lane *lane)
{
	struct cmdqs *c = container_of(lane->lanes, struct cmdqs, lanes);

	if (c->flush_under_way)
		store_thread_cancel(c->store->thread, &c->flush);
	for (unsigned int i = 0; i < c->lanes.nr_queues; i++) {
		struct cmdq_slot *slot = c->lanes.queue[i].tags;

		for (unsigned int tag = 0; tag < CMDQ_DEPTH; tag++, slot++)
			if (slot->working)
				store_thread_cancel(c->store->thread, &slot->work);
	}
}

static const struct lane_ops cmdq_lane_ops = {
	.stop = stop,
};

/*
 * Beginning and end
 */

/**
 * cmdq_scope - fill in the limits of commands for LIMITS of a one-sided store
 * @scope: all fields but @size, @logical_block and @writer are set
 * @limits: of the store
 */
void cmdq_scope(struct wire_scope *scope, const struct store_limits *limits)
{
	store_limits_scope(limits, scope);
	scope->cmd_depth = CMDQ_DEPTH;
	scope->max_ranges = limits->granule ? CMDQ_RANGES : 0;
}

static int make_sets(struct cmdqs *c)
{
	const struct wire_scope *scope = &c->lanes.scope;
	uint64_t nr;

	if (!scope->granule || !scope->writer)
		return 0;
	nr = (scope->size + scope->granule - 1) / scope->granule;
	if (bitmap_init(&c->dirty, nr) || bitmap_init(&c->flushing, nr))
		return -ENOMEM;
	bitmap_touch(&c->dirty);
	bitmap_touch(&c->flushing);
	return 0;
}

/**
 * cmdq_open - prepare the commands of a session, and give their lane to its thread
 * @c: zeroed but for what the session sets
 * @dev: of the session
 * @pd: protection domain of the session
 * @nr: number of hardware queues
 *
 * Blocks; for workers. lane_close_all() and cmdq_free() are due either way, and before them
 * lane_detach_all() if the lane was given to its thread.
 *
 * Return: 0; DEVICE_FULL, also when a completion queue of the device is too short for so
 * many hardware queues; or -errno.
 */
int cmdq_open(struct cmdqs *c, struct device *dev, struct ibv_pd *pd,
	      unsigned int nr)
{
	struct lanes *l = &c->lanes;
	int ret;

	if ((int)(nr * (CMDQ_DEPTH + write_queue_sends(CMDQ_DEPTH))) > dev->attr.max_cqe)
		return DEVICE_FULL;
	TAILQ_INIT(&c->flushed);
	TAILQ_INIT(&c->waiting);
	l->ops = &cmdq_lane_ops;
	l->nr_queues = nr;
	l->rounds = 1;
	l->tag_bytes = sizeof(struct cmdq_slot);
	l->queues.begin = begin;
	l->queues.stride = l->scope.max_ranges ? CMDQ_BYTES : RDMABLK_CMD_BYTES;
	ret = make_sets(c) ?: lane_open_all(l, pd, &c->store->place);
	/* With several lanes, several threads would change @dirty and @flushing at once. */
	assert(l->nr_lanes <= 1);
	return ret ?: lane_attach_all(l);
}

/**
 * cmdq_busy - whether the store thread has works of the session
 * @c: in any condition
 *
 * Return: true: it has.
 */
bool cmdq_busy(const struct cmdqs *c)
{
	return c->pending;
}

/**
 * cmdq_flushes - whether a FLUSH is under way, or has ended recently
 * @c: in any condition
 * @since: earliest end that counts as recent, ms
 *
 * Return: true: yes.
 */
bool cmdq_flushes(const struct cmdqs *c, int64_t since)
{
	int64_t ended;

	/* In this order: one that ends meanwhile has set the other before. */
	if (c->flush_under_way)
		return true;
	ended = c->flush_ended;
	return ended && ended >= since;
}

/**
 * cmdq_clean - whether all noted ranges are flushed
 * @c: idle
 *
 * Return: true: they are.
 */
bool cmdq_clean(const struct cmdqs *c)
{
	return !bitmap_any(&c->dirty);
}

/**
 * cmdq_gave_up - whether another FLUSH of a session that logs out unflushed would not help
 * @c: in any condition
 *
 * It would not if the last FLUSH has failed; nor if all answered writes are flushed and a
 * command takes too long to wait for. Reads @pending first: a FLUSH that ends meanwhile has
 * set the other fields by then.
 *
 * Return: true: it would not help.
 */
bool cmdq_gave_up(const struct cmdqs *c)
{
	return (c->pending && !c->changed) || c->flush_failed;
}

/**
 * cmdq_free - free the memory
 * @c: closed and idle
 *
 * For workers, because the sets of granules may be large.
 */
void cmdq_free(struct cmdqs *c)
{
	bitmap_free(&c->dirty);
	bitmap_free(&c->flushing);
	lane_free_all(&c->lanes);
}
