// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the commands of a session with a one-sided store do. write_queue.c receives and
 * answers them. The store thread does what takes time.
 *
 * One FLUSH is under way at a time, with the granules noted until it began. The next one
 * answers all FLUSHes that come meanwhile together. Granules noted during a FLUSH go into
 * another set, so none of them is lost when the FLUSH succeeds. When it fails, its own
 * granules go back among the noted ones. The loop moves them bit by bit, because there may
 * be so many that all at once would take too long. The FLUSH is under way until all are
 * back, so that no other one takes a set that lacks some of them.
 *
 * FLUSHes with a range have a turn of their own, with their ranges and nothing else: one
 * must not fail for what another writer has in a part of the file that takes no writes.
 *
 * The end: from cmdq_stop() on no queue pair is touched, because a worker destroys them.
 * The store thread drops the works that it has not begun, and finishes the piece at hand.
 * @idle says when; until then the session's export is not free.
 */
#include <errno.h>

#include "base/fault.h"
#include "base/util.h"
#include "session/cmdq.h"

#define CMDQ_RANGES	((CMDQ_BYTES - RDMABLK_CMD_BYTES) / \
			 sizeof(struct rdmablk_range))
#define CMDQ_ALIGN	4096

#define MERGE_MOST	4096U		/* runs of 4096 granules at once */

static struct cmdqs *cmdqs_of(const struct cmdq_slot *slot)
{
	return container_of(slot->tag.queue, struct cmdq, queue)->cmdqs;
}

/* Posts at once: the loop has its completions one by one, with others between them. */
static void answering(struct write_queue *q)
{
	struct cmdqs *c = container_of(q, struct cmdq, queue)->cmdqs;

	if (!c->stopped && write_queue_post(q))
		c->ended(c, RDMABLK_R_CONNECTION);
}

static void answer(struct cmdq_slot *slot, unsigned int status)
{
	if (!cmdqs_of(slot)->stopped)
		write_queue_answer(&slot->tag, status);
}

/*
 * What commands do
 */

static void work_done(struct cmdqs *c)
{
	if (!--c->pending && c->stopped)
		c->idle(c);
}

static void slot_done(struct store_work *w)
{
	struct cmdq_slot *slot = container_of(w, struct cmdq_slot, work);
	struct cmdqs *c = cmdqs_of(slot);

	slot->working = false;
	c->changed |= !w->status && w->op != RDMABLK_OP_DISCARD;
	answer(slot, w->status);
	work_done(c);
}

static void early_done(struct store_work *w)
{
	free(w);
}

/* The fault: the command is answered, and done later. */
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
	store_thread_submit(cmdqs_of(slot)->store->thread, w);
	answer(slot, RDMABLK_OK);
	return true;
}

static void slot_submit(struct cmdq_slot *slot)
{
	const struct wire_data *data = &slot->tag.data;
	struct cmdqs *c = cmdqs_of(slot);

	slot->work = (struct store_work){
		.op = data->op,
		.flags = data->flags,
		.offset = data->offset,
		.bytes = data->bytes,
		.done = slot_done,
	};
	if (early(slot))
		return;
	slot->working = true;
	c->pending++;
	store_thread_submit(c->store->thread, &slot->work);
}

/* Notes each granule that a range has a part of. */
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
		/* They overlap. The loop has no time to note a granule again and again. */
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
		answer(slot, status);
	}
}

static void flush_begin(struct cmdqs *c);

/* One step; the only one when few granules are left, as after a FLUSH that has succeeded */
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
 * Takes the commands that wait and are like the first one: either with a range of their own,
 * or for all that is noted. The ranges together are no larger than the store, because the
 * loop has no time to note a granule again and again. The other commands keep their place.
 */
static void flush_take(struct cmdqs *c, bool ranged)
{
	struct cmdq_slot *slot, *next;
	uint64_t room = c->scope.size;

	for (slot = TAILQ_FIRST(&c->waiting); slot; slot = next) {
		next = TAILQ_NEXT(slot, entry);
		if (!!slot->tag.data.bytes != ranged)
			continue;
		if (slot->tag.data.bytes > room)
			break;		/* never the first: it is no larger than the store */
		room -= slot->tag.data.bytes;
		TAILQ_REMOVE(&c->waiting, slot, entry);
		TAILQ_INSERT_TAIL(&c->flushed, slot, entry);
		if (ranged && c->flushing.nr && !fault(FAULT_LOST_DIRTY))
			note(&c->flushing, c->scope.granule, slot->tag.data.offset,
			     slot->tag.data.bytes);
	}
}

static void flush_begin(struct cmdqs *c)
{
	bool ranged;

	if (c->flush_under_way || TAILQ_EMPTY(&c->waiting))
		return;
	ranged = TAILQ_FIRST(&c->waiting)->tag.data.bytes;
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

static void begin(struct write_tag *tag)
{
	struct cmdq_slot *slot = container_of(tag, struct cmdq_slot, tag);
	struct cmdqs *c = cmdqs_of(slot);

	switch (tag->data.op) {
	case RDMABLK_OP_FLUSH:
		TAILQ_INSERT_TAIL(&c->waiting, slot, entry);
		flush_begin(c);
		break;
	case RDMABLK_OP_DISCARD:
	case RDMABLK_OP_WRITE_ZEROES:
	case RDMABLK_OP_SECURE_ERASE:
		slot_submit(slot);
		break;
	default:	/* DIRTY */
		cmdq_note(c, write_queue_command(tag), &tag->data);
		answer(slot, RDMABLK_OK);
		break;
	}
}

static const struct write_queue_ops queue_ops = {
	.begin = begin,
	.answering = answering,
};

/*
 * Completions
 */

static void completed(struct cq *cq, const struct ibv_wc *wc)
{
	struct cmdqs *c = container_of(cq, struct cmdqs, cq);
	struct cmdq *q = &c->queue[write_queue_index(wc)];
	unsigned int reason = write_queue_completed(&q->queue, wc);

	if (reason)
		c->ended(c, reason);
}

static void failed(struct cq *cq)
{
	struct cmdqs *c = container_of(cq, struct cmdqs, cq);

	c->ended(c, RDMABLK_R_CONNECTION);
}

/*
 * Beginning and end
 */

/**
 * cmdq_scope - fill what LIMITS says of a one-sided store
 * @scope: all fields but @size, @logical_block and @writer are set
 * @limits: of the store
 */
void cmdq_scope(struct wire_scope *scope, const struct store_limits *limits)
{
	store_limits_scope(limits, scope);
	scope->cmd_depth = CMDQ_DEPTH;
	scope->max_ranges = limits->granule ? CMDQ_RANGES : 0;
}

static int make_queues(struct cmdqs *c)
{
	int ret = 0;

	c->queue = calloc(c->nr, sizeof(*c->queue));
	if (!c->queue)
		return -ENOMEM;
	for (unsigned int i = 0; !ret && i < c->nr; i++) {
		struct cmdq *q = &c->queue[i];

		q->cmdqs = c;
		ret = write_queue_init(&q->queue, &c->queues, i, &c->counts);
		for (unsigned int tag = 0; !ret && tag < CMDQ_DEPTH; tag++)
			write_queue_add(&q->queue, tag, &q->slot[tag].tag);
	}
	return ret;
}

static int make_sets(struct cmdqs *c)
{
	uint64_t nr;

	if (!c->scope.granule || !c->scope.writer)
		return 0;
	nr = (c->scope.size + c->scope.granule - 1) / c->scope.granule;
	if (bitmap_init(&c->dirty, nr) || bitmap_init(&c->flushing, nr))
		return -ENOMEM;
	bitmap_touch(&c->dirty);
	bitmap_touch(&c->flushing);
	return 0;
}

static int make_receives(struct cmdqs *c, struct ibv_pd *pd)
{
	uint32_t stride = c->scope.max_ranges ? CMDQ_BYTES : RDMABLK_CMD_BYTES;
	size_t bytes = round_up((uint64_t)c->nr * CMDQ_DEPTH * stride, CMDQ_ALIGN);

	c->queues.ops = &queue_ops;
	c->queues.scope = &c->scope;
	c->queues.stride = stride;
	c->queues.receives = aligned_alloc(CMDQ_ALIGN, bytes);
	if (!c->queues.receives)
		return -ENOMEM;
	memset(c->queues.receives, 0, bytes);
	c->mr = ibv_reg_mr(pd, c->queues.receives, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		return -errno;
	c->queues.lkey = c->mr->lkey;
	return 0;
}

/**
 * cmdq_open - prepare the commands of a session
 * @c: zeroed but for what the session sets
 * @dev: of the session
 * @pd: protection domain of the session
 * @nr: number of hardware queues
 *
 * Blocks; for workers. cmdq_close() and cmdq_free() are due either way.
 *
 * Return: 0; DEVICE_FULL, also when a completion queue of the device is too short for so
 * many hardware queues; or -errno.
 */
int cmdq_open(struct cmdqs *c, struct device *dev, struct ibv_pd *pd,
	      unsigned int nr)
{
	unsigned int cqes = nr * (CMDQ_DEPTH + write_queue_sends(CMDQ_DEPTH));
	int ret;

	if ((int)cqes > dev->attr.max_cqe)
		return DEVICE_FULL;
	c->nr = nr;
	c->cq.completed = completed;
	c->cq.failed = failed;
	TAILQ_INIT(&c->flushed);
	TAILQ_INIT(&c->waiting);
	ret = make_sets(c) ?: make_receives(c, pd) ?: make_queues(c);
	return ret ?: cq_open(&c->cq, dev->channel, (int)cqes);
}

/**
 * cmdq_caps - tell how many work requests a write queue has
 * @c: opened
 * @caps: filled
 */
void cmdq_caps(const struct cmdqs *c, struct conn_caps *caps)
{
	(void)c;
	*caps = (struct conn_caps){
		.sends = write_queue_sends(CMDQ_DEPTH), .recvs = CMDQ_DEPTH,
	};
}

/**
 * cmdq_join - a write queue has a queue pair
 * @c: opened
 * @i: number of its hardware queue
 * @qp: the queue pair, with completions in @c->cq
 *
 * Return: 0 or -errno.
 */
int cmdq_join(struct cmdqs *c, unsigned int i, struct ibv_qp *qp)
{
	return write_queue_join(&c->queue[i].queue, qp);
}

/**
 * cmdq_live - accept commands from now on
 * @c: opened
 */
void cmdq_live(struct cmdqs *c)
{
	atomic_store(&c->queues.live, true);
}

/**
 * cmdq_stop - the session ends: touch no queue pair, finish works that have begun
 * @c: in any condition
 *
 * While the store thread has works, cmdq_busy() is true; @c->idle is called when it has none.
 */
void cmdq_stop(struct cmdqs *c)
{
	if (c->stopped)
		return;
	c->stopped = true;
	cq_stop(&c->cq);
	if (c->flush_under_way)
		store_thread_cancel(c->store->thread, &c->flush);
	for (unsigned int i = 0; c->queue && i < c->nr; i++)
		for (unsigned int tag = 0; tag < CMDQ_DEPTH; tag++)
			if (c->queue[i].slot[tag].working)
				store_thread_cancel(c->store->thread,
						    &c->queue[i].slot[tag].work);
}

/**
 * cmdq_busy - does the store thread have works of the session
 * @c: in any condition
 *
 * Return: whether it does.
 */
bool cmdq_busy(const struct cmdqs *c)
{
	return c->pending;
}

/**
 * cmdq_flushes - is a FLUSH under way, or has one ended recently
 * @c: in any condition
 * @since: ms; recently means not before
 *
 * Return: whether one is or has.
 */
bool cmdq_flushes(const struct cmdqs *c, int64_t since)
{
	return c->flush_under_way || (c->flush_ended && c->flush_ended >= since);
}

/**
 * cmdq_clean - has everything noted been flushed
 * @c: stopped and not busy
 *
 * Return: whether it has.
 */
bool cmdq_clean(const struct cmdqs *c)
{
	return !bitmap_any(&c->dirty);
}

/**
 * cmdq_gave_up - would a FLUSH of a session that logs out unflushed be in vain
 * @c: in any condition
 *
 * Its last FLUSH has failed; or a command takes too long to wait for, and everything that
 * was answered is flushed.
 *
 * Return: whether it would.
 */
bool cmdq_gave_up(const struct cmdqs *c)
{
	return c->flush_failed || (c->pending && !c->changed);
}

/**
 * cmdq_close - undo the verbs of cmdq_open()
 * @c: in any condition, its queue pairs destroyed
 *
 * Blocks; for workers. May be called again after an error.
 *
 * Return: 0 or -errno.
 */
int cmdq_close(struct cmdqs *c)
{
	int ret = cq_close(&c->cq);

	if (ret)
		return ret;
	ret = c->mr ? ibv_dereg_mr(c->mr) : 0;
	if (ret)
		return -ret;
	c->mr = NULL;
	free(c->queues.receives);
	c->queues.receives = NULL;
	return 0;
}

/**
 * cmdq_free - free the memory
 * @c: closed and not busy
 *
 * For workers, because the sets of granules may be large.
 */
void cmdq_free(struct cmdqs *c)
{
	bitmap_free(&c->dirty);
	bitmap_free(&c->flushing);
	for (unsigned int i = 0; c->queue && i < c->nr; i++)
		write_queue_free(&c->queue[i].queue);
	free(c->queue);
	c->queue = NULL;
}
