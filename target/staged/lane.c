// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a thread does with the write queues of a session.
 *
 * Waiting costs system calls, so there is little of it. A lane whose completion queue
 * was found with more than one completion is looked at again before the thread sleeps;
 * only when it is empty its event is asked for, and once more it is looked at. Events
 * come through the ring, as everything the thread waits for.
 *
 * A tag is busy from its receive to the posting of its answer. The receive goes back
 * before the answer is posted, so a peer that keeps to its depth always finds one.
 * Answers that are posted at the same time go in one send, where the peer takes that and
 * as long as they carry no data: none waits for others.
 * Sends tell of their completion every so often only. The peer may have seen an answer,
 * and send the next command, before we know that the send is done: sends are counted
 * by themselves, and answers wait for a free one.
 *
 * The end of a session: the lane takes note, looks at no completion any more and
 * touches no queue pair. I/O that has begun ends in its own time, what has not is not
 * begun. When nothing is left, and the ring does not know the memory any more, the
 * session is told.
 */
#include <endian.h>
#include <poll.h>

#include "base/log.h"
#include "base/util.h"
#include "rdma/conn.h"
#include "staged/lane.h"

#define POLL_BATCH	32
#define POLL_ROUNDS	8		/* of a lane, before the others have their turn */
#define ACK_EVENTS	(1U << 16)	/* acknowledged at once */

/* Work request ids of sends: those of receives are LANE_WR() without more. */
#define WR_SEND		(1ULL << 32)

static void fail_run(struct ring_note *note)
{
	struct staged *s = container_of(note, struct staged, fail);

	if (!atomic_load(&s->cancel))
		s->failed(s->owner, s->reason);
	lane_staged_put(s);
}

/* The session must end. The first reason is the one. */
static void lane_fail(struct lane *lane, unsigned int reason)
{
	struct staged *s = lane->staged;

	lane->failed = true;
	if (atomic_exchange(&s->ending, true))
		return;
	s->reason = reason;
	s->fail.run = fail_run;
	atomic_fetch_add(&s->users, 1);
	iothread_tell_loop(s->threads, &s->fail);
}

/*
 * Answers
 */

static void queue_answering(struct lane_queue *q)
{
	if (q->answering)
		return;
	q->answering = true;
	TAILQ_INSERT_TAIL(&q->lane->thread->answering, q, entry);
}

static void answer(struct lane_cmd *cmd, unsigned int status)
{
	struct lane_queue *q = cmd->queue;
	struct ibv_recv_wr *receive = &q->receive[cmd->receive];

	cmd->data.status = status;
	store_count(&q->lane->counts, cmd->data.op, status);
	if (status >= RDMABLK_R_STORE_IO && status <= RDMABLK_R_STORE_FAILED)
		atomic_fetch_add(&q->lane->staged->threads->file->errors, 1);
	receive->next = NULL;
	*q->again_end = receive;
	q->again_end = &receive->next;
	TAILQ_INSERT_TAIL(&q->answers, cmd, entry);
	queue_answering(q);
}

static bool carries_data(const struct lane_cmd *cmd)
{
	const struct wire_data *data = &cmd->data;

	return data->op == RDMABLK_OP_READ && data->status == RDMABLK_OK &&
	       data->flags & RDMABLK_IO_TRAILER;
}

static uint32_t number_of(const struct lane_cmd *cmd)
{
	const struct wire_data *data = &cmd->data;

	return RDMABLK_IMM(data->tag, data->generation, data->status);
}

/* The data of a READ goes out of its slot. */
static void fill_answer(struct lane_cmd *cmd)
{
	struct lane_queue *q = cmd->queue;
	struct staged *s = q->lane->staged;
	bool carries = carries_data(cmd);

	/* Of one that is not signalled, too: its completion may be an error. */
	cmd->wr.wr_id = WR_SEND | LANE_WR(q->index, 0);
	cmd->wr.opcode = IBV_WR_SEND_WITH_IMM;
	cmd->wr.imm_data = htobe32(number_of(cmd));
	cmd->wr.sg_list = &cmd->sge;
	cmd->wr.num_sge = carries;
	cmd->sge.length = carries ? (uint32_t)cmd->data.bytes : 0;
	cmd->list.length = 0;
	cmd->wr.send_flags = 0;
	q->sends++;
	if (++q->quiet < s->tell_each)
		return;
	cmd->wr.send_flags = IBV_SEND_SIGNALED;
	cmd->wr.wr_id = WR_SEND | LANE_WR(q->index, q->quiet);
	q->quiet = 0;
}

/*
 * Another answer goes with the one of @first. Who gets the list may use its tags again,
 * and this memory is used again; a device that sends it once more, for an acknowledgment
 * that was lost, sends what is not looked at.
 *
 * Return: there is room for more.
 */
static bool add_answer(struct lane_cmd *first, const struct lane_cmd *cmd)
{
	struct rdmablk_answers *list = (void *)(uintptr_t)first->list.addr;
	size_t nr = first->list.length / sizeof(list->imm[0]);

	if (!nr) {
		first->wr.opcode = IBV_WR_SEND;
		first->wr.sg_list = &first->list;
		first->wr.num_sge = 1;
		list->imm[nr++] = htole32(number_of(first));
	}
	list->imm[nr++] = htole32(number_of(cmd));
	first->list.length = (uint32_t)(nr * sizeof(list->imm[0]));
	return nr < ARRAY_SIZE(list->imm);
}

static int post_receives(struct lane_queue *q)
{
	struct ibv_recv_wr *first = q->again, *bad;

	q->again = NULL;
	q->again_end = &q->again;
	return first ? ibv_post_recv(q->qp, first, &bad) : 0;
}

static int post_answers(struct lane_queue *q)
{
	struct ibv_send_wr *first = NULL, **end = &first, *bad;
	const struct staged *s = q->lane->staged;
	struct lane_cmd *cmd, *open = NULL;

	while ((cmd = TAILQ_FIRST(&q->answers))) {
		bool data = carries_data(cmd);

		if ((data || !open) && q->sends == s->max_sends)
			break;
		TAILQ_REMOVE(&q->answers, cmd, entry);
		cmd->busy = false;
		if (open && !data) {
			if (!add_answer(open, cmd))
				open = NULL;
			continue;
		}
		fill_answer(cmd);
		*end = &cmd->wr;
		end = &cmd->wr.next;
		if (s->lists && !data)
			open = cmd;
	}
	*end = NULL;
	return first ? ibv_post_send(q->qp, first, &bad) : 0;
}

/**
 * lane_answer_all - post what there is to be answered
 * @t: of the caller
 */
void lane_answer_all(struct iothread *t)
{
	struct lane_queue *q;

	while ((q = TAILQ_FIRST(&t->answering))) {
		TAILQ_REMOVE(&t->answering, q, entry);
		q->answering = false;
		if (q->lane->failed)
			continue;
		if (post_receives(q) || post_answers(q))
			lane_fail(q->lane, RDMABLK_R_CONNECTION);
	}
}

/*
 * Commands
 */

/**
 * lane_command_done - the I/O of a command has ended
 * @io: of the command
 */
void lane_command_done(struct staged_io *io)
{
	struct lane_cmd *cmd = container_of(io, struct lane_cmd, io);
	struct lane *lane = cmd->queue->lane;

	lane->busy--;
	if (lane->stopping)
		lane_check_done(lane);
	else
		answer(cmd, io->status);
}

/**
 * lane_receive - where a receive of a queue receives
 * @q: queue
 * @index: of the receive
 *
 * Return: its first byte; what follows the command is aligned to a page.
 */
char *lane_receive(const struct lane_queue *q, unsigned int index)
{
	const struct staged *s = q->lane->staged;

	return s->receives + ((size_t)q->index * s->scope.cmd_depth + index) * s->stride +
	       s->stride - s->scope.trailer_bytes - RDMABLK_CMD_BYTES;
}

/**
 * lane_list - where the list of answers is made that begins with a tag
 * @q: queue
 * @tag: the tag
 *
 * Return: its first byte, which no receive receives in.
 */
char *lane_list(const struct lane_queue *q, unsigned int tag)
{
	const struct staged *s = q->lane->staged;

	return s->receives + ((size_t)q->index * s->scope.cmd_depth + tag) * s->stride;
}

static void command_begin(struct lane_cmd *cmd)
{
	struct lane_queue *q = cmd->queue;
	struct staged *s = q->lane->staged;
	const struct wire_data *data = &cmd->data;
	bool carried = data->op == RDMABLK_OP_WRITE && data->flags & RDMABLK_IO_TRAILER;
	struct staged_io *io = &cmd->io;

	io->op = data->op;
	io->fua = data->op == RDMABLK_OP_WRITE && data->flags & RDMABLK_IO_FUA;
	io->keep = data->op == RDMABLK_OP_WRITE_ZEROES && data->flags & RDMABLK_ZEROES_KEEP;
	io->offset = data->offset;
	io->bytes = data->bytes;
	io->buffer = (unsigned int)q->buffer[carried];
	io->buf = carried ? lane_receive(q, cmd->receive) + RDMABLK_CMD_BYTES :
		  s->slots + q->index * s->queue_bytes +
		  (uint64_t)data->tag * s->scope.slot_bytes;
	q->lane->busy++;
	/* Who cannot write has nothing to make durable, and delays nobody's FLUSH. */
	if (io->op == RDMABLK_OP_FLUSH && !s->scope.writer) {
		io->status = RDMABLK_OK;
		lane_command_done(io);
		return;
	}
	staged_begin(io);
}

/* Return: RDMABLK_OK or why the session must end. */
static unsigned int command_take(struct lane_queue *q, unsigned int index,
				 const struct wire_data *data)
{
	struct lane_cmd *cmd = &q->cmd[data->tag];

	if (cmd->busy)
		return RDMABLK_R_STATE;
	q->implied = data->tag + 1U;
	cmd->busy = true;
	cmd->data = *data;
	cmd->receive = (uint16_t)index;
	if (data->status || data->op == RDMABLK_OP_FENCE)
		answer(cmd, data->status);
	else
		command_begin(cmd);
	return RDMABLK_OK;
}

/* The same. */
static unsigned int cmdq_received(struct lane_queue *q, unsigned int index,
				  uint32_t len)
{
	struct staged *s = q->lane->staged;
	struct wire_data data;
	unsigned int reason;

	if (!atomic_load_explicit(&s->live, memory_order_relaxed))
		return RDMABLK_R_STATE;
	reason = wire_check_data(lane_receive(q, index), len, &s->scope, &data);
	return reason ?: command_take(q, index, &data);
}

/* The same; the data is in the slot. */
static unsigned int implied_received(struct lane_queue *q, unsigned int index,
				     const struct ibv_wc *wc)
{
	struct staged *s = q->lane->staged;
	struct wire_data data;

	if (!s->implied)
		return RDMABLK_R_MALFORMED;
	if (!atomic_load_explicit(&s->live, memory_order_relaxed) ||
	    q->implied == s->scope.cmd_depth)
		return RDMABLK_R_STATE;
	wire_check_implied(be32toh(wc->imm_data), wc->byte_len, &s->scope,
			   (uint16_t)q->implied, &q->cmd[q->implied].data, &data);
	return command_take(q, index, &data);
}

/*
 * Completions
 */

static void sends_done(struct lane_queue *q, unsigned int nr)
{
	q->sends -= nr;
	if (!TAILQ_EMPTY(&q->answers))
		queue_answering(q);
}

static void completed(struct lane *lane, const struct ibv_wc *wc)
{
	uint64_t id = wc->wr_id & ~WR_SEND;
	struct lane_queue *q = &lane->staged->queue[LANE_WR_QUEUE(id)];
	unsigned int reason = RDMABLK_OK;

	if (wc->status)
		reason = conn_failure(wc, !(wc->wr_id & WR_SEND));
	else if (wc->wr_id & WR_SEND)
		sends_done(q, LANE_WR_INDEX(id));
	else if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		reason = implied_received(q, LANE_WR_INDEX(id), wc);
	else if (wc->opcode != IBV_WC_RECV ||
		 wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV))
		reason = RDMABLK_R_MALFORMED;
	else
		reason = cmdq_received(q, LANE_WR_INDEX(id), wc->byte_len);
	if (reason)
		lane_fail(lane, reason);
}

/* Return: how many there were. */
static unsigned int poll_some(struct lane *lane)
{
	struct ibv_wc wc[POLL_BATCH];
	unsigned int nr = 0;

	for (int round = 0; round < POLL_ROUNDS && !lane->failed; round++) {
		int n = ibv_poll_cq(lane->cq, POLL_BATCH, wc);

		if (n < 0)
			lane_fail(lane, RDMABLK_R_CONNECTION);
		for (int i = 0; i < n && !lane->failed; i++)
			completed(lane, &wc[i]);
		if (n <= 0)
			break;
		nr += (unsigned int)n;
		if (n < POLL_BATCH)
			break;
	}
	return nr;
}

/**
 * lane_unpoll - do not look at its completions
 * @lane: of the caller's thread
 */
void lane_unpoll(struct lane *lane)
{
	if (lane->polled)
		TAILQ_REMOVE(&lane->thread->polled, lane, entry);
	lane->polled = false;
}

static void lane_poll(struct lane *lane)
{
	unsigned int nr = poll_some(lane);

	/* There is enough going on: it will be looked at again anyway. */
	if (nr > 1 && !lane->failed)
		return;
	if (!lane->armed && !lane->failed) {
		if (ibv_req_notify_cq(lane->cq, 0))
			lane_fail(lane, RDMABLK_R_CONNECTION);
		lane->armed = true;
		nr = poll_some(lane);
	}
	if (!nr || lane->failed)
		lane_unpoll(lane);
}

/**
 * lane_poll_all - look at the completions of lanes that may have some
 * @t: of the caller
 */
void lane_poll_all(struct iothread *t)
{
	struct lane *lane, *next;

	for (lane = TAILQ_FIRST(&t->polled); lane; lane = next) {
		next = TAILQ_NEXT(lane, entry);
		lane_poll(lane);
	}
}

static void event_ready(struct ring_source *src, int res, unsigned int flags);

/**
 * lane_watch - hear of its completions
 * @lane: of the caller's thread, not watched
 */
void lane_watch(struct lane *lane)
{
	struct io_uring_sqe *sqe = ring_sqe(&lane->thread->engine.ring, &lane->event);

	lane->event.ready = event_ready;
	io_uring_prep_poll_multishot(sqe, lane->channel->fd, POLLIN);
	lane->watched = true;
}

static void lane_take_event(struct lane *lane)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(lane->channel, &cq, &context))
		return;
	lane->armed = false;
	if (++lane->events == ACK_EVENTS) {
		ibv_ack_cq_events(lane->cq, lane->events);
		lane->events = 0;
	}
	if (lane->polled || lane->failed)
		return;
	lane->polled = true;
	TAILQ_INSERT_TAIL(&lane->thread->polled, lane, entry);
}

static void event_ready(struct ring_source *src, int res, unsigned int flags)
{
	struct lane *lane = container_of(src, struct lane, event);

	if (!(flags & IORING_CQE_F_MORE))
		lane->watched = false;
	if (lane->stopping) {
		lane_check_done(lane);
		return;
	}
	if (res >= 0)
		lane_take_event(lane);
	else
		lane_fail(lane, RDMABLK_R_INTERNAL);
	if (!lane->watched && !lane->failed)
		lane_watch(lane);
}
