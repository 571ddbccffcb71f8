// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The write queues of a session with a one-sided store: commands in, answers out.
 *
 * A command belongs to its slot, one per tag, from its receive to the posting of its
 * answer; then the peer may use the tag again, and may do so before the completion of
 * our send is seen. That is why sends are counted by themselves and answers wait for
 * one. A receive is posted anew before its command is answered: the peer always finds
 * as many as it may have commands under way.
 *
 * What a command does that takes time is done by the store thread.
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
 *
 * The end: from cmdq_stop() on no queue pair is touched, because a worker destroys
 * them. What the store thread has not begun is dropped, of what it has begun the piece at
 * hand is finished; @idle says when, and until then the session's export is not free.
 */
#include <endian.h>
#include <errno.h>

#include "base/fault.h"
#include "base/util.h"
#include "session/cmdq.h"

#define CMDQ_RANGES	((CMDQ_BYTES - RDMABLK_CMD_BYTES) / \
			 sizeof(struct rdmablk_range))
#define CMDQ_ALIGN	4096

/*
 * Sends: an answer per tag, and as many again that the peer has seen but the transport
 * has not yet told us about: it does that once for several.
 */
#define CMDQ_SENDS	(2 * CMDQ_DEPTH)
#define TELL_EACH	(CMDQ_DEPTH / 2)

#define MERGE_MOST	4096U		/* runs of 4096 granules at once */

/* Work request ids: what it was, which queue, which buffer or how many sends. */
#define WR_RECV		(1ULL << 32)
#define WR_QUEUE_SHIFT	16
#define WR_BUFFER	0xffff

/*
 * Answers
 */

static void post_answer(struct cmdq_slot *slot)
{
	struct cmdq *q = slot->queue;
	struct cmdqs *c = q->cmdqs;
	uint32_t imm = RDMABLK_IMM(slot->data.tag, slot->data.generation,
				   slot->data.status);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(imm),
	}, *bad;

	slot->state = SLOT_FREE;
	q->sends++;
	if (++q->quiet == TELL_EACH) {
		wr.wr_id = (uint64_t)(q - c->queue) << WR_QUEUE_SHIFT | q->quiet;
		wr.send_flags = IBV_SEND_SIGNALED;
		q->quiet = 0;
	}
	if (ibv_post_send(q->qp, &wr, &bad))
		c->ended(c, RDMABLK_R_CONNECTION);
}

/**
 * cmdq_answer - a command is done, or not
 * @slot: busy with it
 * @status: enum rdmablk_reason
 */
void cmdq_answer(struct cmdq_slot *slot, unsigned int status)
{
	struct cmdq *q = slot->queue;

	if (q->cmdqs->stopped)
		return;
	store_count(&q->cmdqs->counts, slot->data.op, status);
	slot->data.status = status;
	if (q->sends < CMDQ_SENDS) {
		post_answer(slot);
		return;
	}
	slot->state = SLOT_ANSWERED;
	TAILQ_INSERT_TAIL(&q->answers, slot, entry);
}

/**
 * cmdq_sent - answers have arrived
 * @q: their queue
 * @nr: how many
 */
void cmdq_sent(struct cmdq *q, unsigned int nr)
{
	struct cmdq_slot *slot;

	q->sends -= nr;
	/* One that cannot be sent ends the session, and a worker its queue pair. */
	while (!q->cmdqs->stopped && q->sends < CMDQ_SENDS &&
	       (slot = TAILQ_FIRST(&q->answers))) {
		TAILQ_REMOVE(&q->answers, slot, entry);
		post_answer(slot);
	}
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

/*
 * Completions
 */

static int post_receive(struct cmdq *q, unsigned int buffer)
{
	struct cmdqs *c = q->cmdqs;
	uint64_t queue = (uint64_t)(q - c->queue);
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->buf +
			(queue * CMDQ_DEPTH + buffer) * c->buf_bytes,
		.length = c->buf_bytes,
		.lkey = c->mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = WR_RECV | queue << WR_QUEUE_SHIFT | buffer,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	return -ibv_post_recv(q->qp, &wr, &bad);
}

/* Return: RDMABLK_OK or why the session must end. */
static unsigned int cmdq_received(struct cmdq *q, unsigned int buffer,
				  uint32_t len)
{
	struct cmdqs *c = q->cmdqs;
	const char *msg = c->buf + ((size_t)(q - c->queue) * CMDQ_DEPTH + buffer) *
			  c->buf_bytes;
	struct cmdq_slot *slot;
	struct wire_data data;
	unsigned int reason;

	if (!c->live)
		return RDMABLK_R_STATE;
	reason = wire_check_data(msg, len, &c->scope, &data);
	if (reason)
		return reason;
	slot = &q->slot[data.tag];
	if (slot->state != SLOT_FREE)
		return RDMABLK_R_STATE;
	slot->state = SLOT_BUSY;
	slot->data = data;
	if (data.op == RDMABLK_OP_DIRTY && !data.status)
		cmdq_note(c, msg, &data);
	if (post_receive(q, buffer))
		return RDMABLK_R_CONNECTION;
	cmdq_do(slot);
	return RDMABLK_OK;
}

static void completed(struct cq *cq, const struct ibv_wc *wc)
{
	struct cmdqs *c = container_of(cq, struct cmdqs, cq);
	uint64_t id = wc->wr_id & ~WR_RECV;
	struct cmdq *q = &c->queue[id >> WR_QUEUE_SHIFT];
	unsigned int reason = RDMABLK_OK;

	if (wc->status)
		reason = conn_failure(wc, wc->wr_id & WR_RECV);
	else if (!(wc->wr_id & WR_RECV))
		cmdq_sent(q, id & WR_BUFFER);
	/* Neither a WRITE that says so nor anything but the plain command. */
	else if (wc->opcode != IBV_WC_RECV ||
		 wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV))
		reason = RDMABLK_R_MALFORMED;
	else
		reason = cmdq_received(q, id & WR_BUFFER, wc->byte_len);
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
 * cmdq_scope - what LIMITS says of a one-sided store
 * @scope: filled but for @size, @logical_block and @writer
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
	c->queue = calloc(c->nr, sizeof(*c->queue));
	if (!c->queue)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->nr; i++) {
		struct cmdq *q = &c->queue[i];

		q->cmdqs = c;
		TAILQ_INIT(&q->answers);
		for (unsigned int tag = 0; tag < CMDQ_DEPTH; tag++)
			q->slot[tag].queue = q;
	}
	return 0;
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

static int make_buffers(struct cmdqs *c, struct ibv_pd *pd)
{
	size_t bytes;

	c->buf_bytes = c->scope.max_ranges ? CMDQ_BYTES : RDMABLK_CMD_BYTES;
	bytes = round_up((uint64_t)c->nr * CMDQ_DEPTH * c->buf_bytes, CMDQ_ALIGN);
	c->buf = aligned_alloc(CMDQ_ALIGN, bytes);
	if (!c->buf)
		return -ENOMEM;
	memset(c->buf, 0, bytes);
	c->mr = ibv_reg_mr(pd, c->buf, bytes, IBV_ACCESS_LOCAL_WRITE);
	return c->mr ? 0 : -errno;
}

/**
 * cmdq_open - get ready for write queues
 * @c: zeroed but for what the session sets
 * @dev: of the session
 * @pd: its domain
 * @nr: hardware queues
 *
 * Blocks; for workers. cmdq_close() and cmdq_free() are due either way.
 *
 * Return: 0; DEVICE_FULL, also when a completion queue of the device is too short for so
 * many hardware queues; or -errno.
 */
int cmdq_open(struct cmdqs *c, struct device *dev, struct ibv_pd *pd,
	      unsigned int nr)
{
	int cqes = (int)nr * (CMDQ_DEPTH + CMDQ_SENDS);
	int ret;

	if (cqes > dev->attr.max_cqe)
		return DEVICE_FULL;
	c->nr = nr;
	c->cq.completed = completed;
	c->cq.failed = failed;
	TAILQ_INIT(&c->flushed);
	TAILQ_INIT(&c->waiting);
	ret = make_queues(c) ?: make_sets(c) ?: make_buffers(c, pd);
	return ret ?: cq_open(&c->cq, dev->channel, cqes);
}

/**
 * cmdq_caps - what a write queue is made with
 * @c: opened
 * @caps: filled
 */
void cmdq_caps(const struct cmdqs *c, struct conn_caps *caps)
{
	(void)c;
	*caps = (struct conn_caps){ .sends = CMDQ_SENDS, .recvs = CMDQ_DEPTH };
}

/**
 * cmdq_join - a write queue has a queue pair
 * @c: opened
 * @i: its hardware queue
 * @qp: its queue pair, with completions in @c->cq
 *
 * Return: 0 or -errno.
 */
int cmdq_join(struct cmdqs *c, unsigned int i, struct ibv_qp *qp)
{
	struct cmdq *q = &c->queue[i];
	int ret = 0;

	q->qp = qp;
	for (unsigned int buffer = 0; !ret && buffer < CMDQ_DEPTH; buffer++)
		ret = post_receive(q, buffer);
	return ret;
}

/**
 * cmdq_live - commands are right from now on
 * @c: opened
 */
void cmdq_live(struct cmdqs *c)
{
	c->live = true;
}

/**
 * cmdq_stop - the session ends: touch no queue pair, finish what has begun
 * @c: in any condition
 *
 * When something has begun, @c->idle is called once it is over.
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
			if (c->queue[i].slot[tag].state == SLOT_THREAD)
				store_thread_cancel(c->store->thread,
						    &c->queue[i].slot[tag].work);
}

/**
 * cmdq_busy - is the store thread at something of the session's
 * @c: in any condition
 *
 * Return: whether it is.
 */
bool cmdq_busy(const struct cmdqs *c)
{
	return c->pending;
}

/**
 * cmdq_flushes - is a FLUSH under way
 * @c: in any condition
 * @since: ms: or was there one that has ended after that
 *
 * Return: whether there is, or was.
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
 * cmdq_gave_up - would a FLUSH of who logs out with something unflushed be in vain
 * @c: in any condition
 *
 * The last one has failed; or something takes too long to be waited for, but what has
 * been answered is flushed.
 *
 * Return: whether.
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
	free(c->buf);
	c->buf = NULL;
	return 0;
}

/**
 * cmdq_free - free the memory
 * @c: closed and not busy
 *
 * For workers: there may be a lot of it.
 */
void cmdq_free(struct cmdqs *c)
{
	bitmap_free(&c->dirty);
	bitmap_free(&c->flushing);
	free(c->queue);
	c->queue = NULL;
}
