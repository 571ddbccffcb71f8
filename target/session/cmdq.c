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
 * The end: from command_stop() on no queue pair is touched, because a worker destroys
 * them. What the keeper has not begun is dropped, of what it has begun the piece at
 * hand is finished; @idle says when, and until then the session's export is not free.
 */
#include <endian.h>
#include <errno.h>

#include "base/util.h"
#include "session/cmdq.h"

#define COMMAND_RANGES	((COMMAND_BYTES - RDMABLK_CMD_BYTES) / \
			 sizeof(struct rdmablk_range))
#define COMMAND_ALIGN	4096

/*
 * Sends: an answer per tag, and as many again that the peer has seen but the transport
 * has not yet told us about: it does that once for several.
 */
#define COMMAND_SENDS	(2 * COMMAND_DEPTH)
#define TELL_EACH	(COMMAND_DEPTH / 2)

/* Work request ids: what it was, which queue, which buffer or how many sends. */
#define WR_RECV		(1ULL << 32)
#define WR_QUEUE_SHIFT	16
#define WR_BUFFER	0xffff

/*
 * Answers
 */

static void post_answer(struct command_slot *slot)
{
	struct command_queue *q = slot->queue;
	struct commands *c = q->commands;
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
 * command_answer - a command is done, or not
 * @slot: busy with it
 * @status: enum rdmablk_reason
 */
void command_answer(struct command_slot *slot, unsigned int status)
{
	struct command_queue *q = slot->queue;

	if (q->commands->stopped)
		return;
	store_count(&q->commands->counts, slot->data.op, status);
	slot->data.status = status;
	if (q->sends < COMMAND_SENDS) {
		post_answer(slot);
		return;
	}
	slot->state = SLOT_ANSWERED;
	TAILQ_INSERT_TAIL(&q->answers, slot, entry);
}

/**
 * command_sent - answers have arrived
 * @q: their queue
 * @nr: how many
 */
void command_sent(struct command_queue *q, unsigned int nr)
{
	struct command_slot *slot;

	q->sends -= nr;
	/* One that cannot be sent ends the session, and a worker its queue pair. */
	while (!q->commands->stopped && q->sends < COMMAND_SENDS &&
	       (slot = TAILQ_FIRST(&q->answers))) {
		TAILQ_REMOVE(&q->answers, slot, entry);
		post_answer(slot);
	}
}

/*
 * Completions
 */

static int post_receive(struct command_queue *q, unsigned int buffer)
{
	struct commands *c = q->commands;
	uint64_t queue = (uint64_t)(q - c->queue);
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->buf +
			(queue * COMMAND_DEPTH + buffer) * c->buf_bytes,
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
static unsigned int command_received(struct command_queue *q, unsigned int buffer,
				     uint32_t len)
{
	struct commands *c = q->commands;
	const char *msg = c->buf + ((size_t)(q - c->queue) * COMMAND_DEPTH + buffer) *
			  c->buf_bytes;
	struct command_slot *slot;
	struct login_data data;
	unsigned int reason;

	if (!c->live)
		return RDMABLK_R_STATE;
	reason = login_check_data(msg, len, &c->scope, &data);
	if (reason)
		return reason;
	slot = &q->slot[data.tag];
	if (slot->state != SLOT_FREE)
		return RDMABLK_R_STATE;
	slot->state = SLOT_BUSY;
	slot->data = data;
	if (data.op == RDMABLK_OP_DIRTY && !data.status)
		command_note(c, msg, &data);
	if (post_receive(q, buffer))
		return RDMABLK_R_CONNECTION;
	command_do(slot);
	return RDMABLK_OK;
}

static void completed(struct cq *cq, const struct ibv_wc *wc)
{
	struct commands *c = container_of(cq, struct commands, cq);
	uint64_t id = wc->wr_id & ~WR_RECV;
	struct command_queue *q = &c->queue[id >> WR_QUEUE_SHIFT];
	unsigned int reason = RDMABLK_OK;

	if (wc->status)
		reason = conn_failure(wc, wc->wr_id & WR_RECV);
	else if (!(wc->wr_id & WR_RECV))
		command_sent(q, id & WR_BUFFER);
	/* Neither a WRITE that says so nor anything but the plain command. */
	else if (wc->opcode != IBV_WC_RECV ||
		 wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV))
		reason = RDMABLK_R_MALFORMED;
	else
		reason = command_received(q, id & WR_BUFFER, wc->byte_len);
	if (reason)
		c->ended(c, reason);
}

static void failed(struct cq *cq)
{
	struct commands *c = container_of(cq, struct commands, cq);

	c->ended(c, RDMABLK_R_CONNECTION);
}

/*
 * Beginning and end
 */

/**
 * command_scope - what LIMITS says of a one-sided store
 * @scope: filled but for @size, @logical_block and @writer
 * @limits: of the store
 */
void command_scope(struct login_scope *scope, const struct store_limits *limits)
{
	store_limits_scope(limits, scope);
	scope->cmd_depth = COMMAND_DEPTH;
	scope->max_ranges = limits->granule ? COMMAND_RANGES : 0;
}

static int make_queues(struct commands *c)
{
	c->queue = calloc(c->nr, sizeof(*c->queue));
	if (!c->queue)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->nr; i++) {
		struct command_queue *q = &c->queue[i];

		q->commands = c;
		TAILQ_INIT(&q->answers);
		for (unsigned int tag = 0; tag < COMMAND_DEPTH; tag++)
			q->slot[tag].queue = q;
	}
	return 0;
}

static int make_sets(struct commands *c)
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

static int make_buffers(struct commands *c, struct ibv_pd *pd)
{
	size_t bytes;

	c->buf_bytes = c->scope.max_ranges ? COMMAND_BYTES : RDMABLK_CMD_BYTES;
	bytes = round_up((uint64_t)c->nr * COMMAND_DEPTH * c->buf_bytes, COMMAND_ALIGN);
	c->buf = aligned_alloc(COMMAND_ALIGN, bytes);
	if (!c->buf)
		return -ENOMEM;
	memset(c->buf, 0, bytes);
	c->mr = ibv_reg_mr(pd, c->buf, bytes, IBV_ACCESS_LOCAL_WRITE);
	return c->mr ? 0 : -errno;
}

/**
 * command_open - get ready for write queues
 * @c: zeroed but for what the session sets
 * @dev: of the session
 * @pd: its domain
 * @nr: hardware queues
 *
 * Blocks; for workers. command_close() and command_free() are due either way.
 *
 * Return: 0; DEVICE_FULL, also when a completion queue of the device is too short for so
 * many hardware queues; or -errno.
 */
int command_open(struct commands *c, struct device *dev, struct ibv_pd *pd,
		 unsigned int nr)
{
	int cqes = (int)nr * (COMMAND_DEPTH + COMMAND_SENDS);
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
 * command_caps - what a write queue is made with
 * @c: opened
 * @caps: filled
 */
void command_caps(const struct commands *c, struct conn_caps *caps)
{
	(void)c;
	*caps = (struct conn_caps){ .sends = COMMAND_SENDS, .recvs = COMMAND_DEPTH };
}

/**
 * command_join - a write queue has a queue pair
 * @c: opened
 * @i: its hardware queue
 * @qp: its queue pair, with completions in @c->cq
 *
 * Return: 0 or -errno.
 */
int command_join(struct commands *c, unsigned int i, struct ibv_qp *qp)
{
	struct command_queue *q = &c->queue[i];
	int ret = 0;

	q->qp = qp;
	for (unsigned int buffer = 0; !ret && buffer < COMMAND_DEPTH; buffer++)
		ret = post_receive(q, buffer);
	return ret;
}

/**
 * command_live - commands are right from now on
 * @c: opened
 */
void command_live(struct commands *c)
{
	c->live = true;
}

/**
 * command_stop - the session ends: touch no queue pair, finish what has begun
 * @c: in any condition
 *
 * When something has begun, @c->idle is called once it is over.
 */
void command_stop(struct commands *c)
{
	if (c->stopped)
		return;
	c->stopped = true;
	cq_stop(&c->cq);
	if (c->flush_under_way)
		keeper_cancel(c->store->keeper, &c->flush);
	for (unsigned int i = 0; c->queue && i < c->nr; i++)
		for (unsigned int tag = 0; tag < COMMAND_DEPTH; tag++)
			if (c->queue[i].slot[tag].state == SLOT_KEEPER)
				keeper_cancel(c->store->keeper,
					      &c->queue[i].slot[tag].work);
}

/**
 * command_busy - is the keeper at something of the session's
 * @c: in any condition
 *
 * Return: whether it is.
 */
bool command_busy(const struct commands *c)
{
	return c->pending;
}

/**
 * command_flushes - is a FLUSH under way
 * @c: in any condition
 * @since: ms: or was there one that has ended after that
 *
 * Return: whether there is, or was.
 */
bool command_flushes(const struct commands *c, int64_t since)
{
	return c->flush_under_way || (c->flush_ended && c->flush_ended >= since);
}

/**
 * command_clean - has everything noted been flushed
 * @c: stopped and not busy
 *
 * Return: whether it has.
 */
bool command_clean(const struct commands *c)
{
	return !bitmap_any(&c->dirty);
}

/**
 * command_gave_up - would a FLUSH of who logs out with something unflushed be in vain
 * @c: in any condition
 *
 * The last one has failed; or something takes too long to be waited for, but what has
 * been answered is flushed.
 *
 * Return: whether.
 */
bool command_gave_up(const struct commands *c)
{
	return c->flush_failed || (c->pending && !c->changed);
}

/**
 * command_close - undo the verbs of command_open()
 * @c: in any condition, its queue pairs destroyed
 *
 * Blocks; for workers. May be called again after an error.
 *
 * Return: 0 or -errno.
 */
int command_close(struct commands *c)
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
 * command_free - free the memory
 * @c: closed and not busy
 *
 * For workers: there may be a lot of it.
 */
void command_free(struct commands *c)
{
	bitmap_free(&c->dirty);
	bitmap_free(&c->flushing);
	free(c->queue);
	c->queue = NULL;
}
