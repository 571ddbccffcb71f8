// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The write queues of sessions with an uncached file: how they come to a thread, what the
 * thread does with them, how they leave it.
 *
 * Waiting costs system calls, so a thread waits little. A lane with more than one completion
 * is polled again before the thread sleeps. Only when its completion queue is empty, the
 * thread asks for an event, and polls once more. Events come through the ring, like
 * everything that the thread waits for.
 *
 * A note tells the thread that a lane comes or leaves, so that nothing of a lane needs a
 * lock while the thread has it.
 *
 * When a session ends, its lanes poll no completion queue and touch no queue pair any more.
 * I/O that has begun goes on, and other I/O does not begin. A lane leaves in two steps, and
 * the loop hears of both. The first step takes moments: from then on no queue pair and no
 * completion queue is touched. The second step takes as long as the file does: the I/O has
 * ended, and the ring has released the memory. Only the session waits for the second step,
 * because a disk that does not answer must not stop other sessions.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "staged/lane.h"

#define ATTACH_S	5	/* a thread that does not answer for so long hangs in its file */
#define POLL_BATCH	32
#define POLL_ROUNDS	8		/* of a lane, before other lanes have their turn */
#define ACK_EVENTS	(1U << 16)	/* number of events to acknowledge together */

/**
 * lane_staged_put - drop a reference
 * @s: session; may be freed
 */
void lane_staged_put(struct staged *s)
{
	if (atomic_fetch_sub(&s->users, 1) != 1)
		return;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	for (unsigned int i = 0; s->queue && i < s->nr_queues; i++) {
		free(s->queue[i].cmd);
		write_queue_free(&s->queue[i].queue);
	}
	free(s->queue);
	free(s->lane);
	free(s);
}

static void fail_run(struct loop_note *note)
{
	struct staged *s = container_of(note, struct staged, fail);

	if (!atomic_load(&s->cancel))
		s->failed(s->owner, s->reason);
	lane_staged_put(s);
}

/* The session must end. The first reason counts. */
static void lane_fail(struct lane *lane, unsigned int reason)
{
	struct staged *s = lane->staged;

	lane->failed = true;
	if (atomic_exchange(&s->ending, true))
		return;
	s->reason = reason;
	s->fail.run = fail_run;
	atomic_fetch_add(&s->users, 1);
	loop_inbox_post(&s->threads->inbox, &s->fail);
}

/*
 * Leaving
 */

static void lane_put_buffers(struct lane *lane)
{
	struct staged *s = lane->staged;

	for (unsigned int i = lane->number; i < s->nr_queues; i += s->nr_lanes) {
		for (unsigned int kind = 0; kind < ARRAY_SIZE(s->queue[i].buffer); kind++) {
			if (s->queue[i].buffer[kind] >= 0)
				iothread_put_buffer(lane->thread,
						    (unsigned int)s->queue[i].buffer[kind]);
			s->queue[i].buffer[kind] = -1;
		}
	}
}

/* In the loop */
static void parting_run(struct loop_note *note)
{
	struct staged *s = container_of(note, struct staged, parting);

	s->stopped(s->owner);
}

/* In the loop */
static void leaving_run(struct loop_note *note)
{
	struct staged *s = container_of(note, struct staged, leaving);

	s->idle(s->owner);
}

/* The last lane to part tells the loop before a lane can be the last to leave. */
static void lane_part(struct lane *lane)
{
	struct staged *s = lane->staged;

	lane->parted = true;
	if (atomic_fetch_sub(&s->together, 1) != 1)
		return;
	s->parting.run = parting_run;
	loop_inbox_post(&s->threads->inbox, &s->parting);
}

/* Afterwards the session may be gone. */
static void lane_leave(struct lane *lane)
{
	struct staged *s = lane->staged;

	lane->attached = false;
	if (atomic_fetch_sub(&s->working, 1) != 1)
		return;
	s->leaving.run = leaving_run;
	loop_inbox_post(&s->threads->inbox, &s->leaving);
}

/* A lane that is stopping takes the steps that are possible. It may be freed afterwards. */
static void lane_check_done(struct lane *lane)
{
	if (!lane->attached || lane->watched || lane->unwatching)
		return;
	if (!lane->parted)
		lane_part(lane);
	if (lane->busy && !fault(FAULT_NO_STORE_WAIT))
		return;
	if (!lane->busy)	/* with the fault, I/O still uses them */
		lane_put_buffers(lane);
	lane_leave(lane);
}

/*
 * Answers
 */

/* The thread posts them at the end of its turn. */
static void lane_answering(struct write_queue *queue)
{
	struct lane_queue *q = container_of(queue, struct lane_queue, queue);

	if (q->answering)
		return;
	q->answering = true;
	TAILQ_INSERT_TAIL(&q->lane->thread->answering, q, entry);
}

/* Post the answers of all lanes. */
static void lane_answer_all(struct iothread *t)
{
	struct lane_queue *q;

	while ((q = TAILQ_FIRST(&t->answering))) {
		TAILQ_REMOVE(&t->answering, q, entry);
		q->answering = false;
		if (q->lane->failed)
			continue;
		if (write_queue_post(&q->queue))
			lane_fail(q->lane, RDMABLK_R_CONNECTION);
	}
}

/*
 * Commands
 */

static void count_error(const struct lane *lane, unsigned int status)
{
	if (status >= RDMABLK_R_STORE_IO && status <= RDMABLK_R_STORE_FAILED)
		atomic_fetch_add(&lane->staged->threads->file->errors, 1);
}

/**
 * lane_command_done - the I/O of a command has ended
 * @io: of the command
 */
void lane_command_done(struct staged_io *io)
{
	struct lane_cmd *cmd = container_of(io, struct lane_cmd, io);
	struct lane_queue *q = container_of(cmd->tag.queue, struct lane_queue, queue);
	struct lane *lane = q->lane;

	lane->busy--;
	if (lane->stopping) {
		lane_check_done(lane);
		return;
	}
	count_error(lane, io->status);
	write_queue_answer(&cmd->tag, io->status);
}

static void lane_begin(struct write_tag *tag)
{
	struct lane_queue *q = container_of(tag->queue, struct lane_queue, queue);
	struct staged_io *io = &container_of(tag, struct lane_cmd, tag)->io;
	const struct wire_data *data = &tag->data;
	bool carried = data->op == RDMABLK_OP_WRITE && data->flags & RDMABLK_IO_TRAILER;
	struct staged *s = q->lane->staged;

	io->op = data->op;
	io->fua = data->op == RDMABLK_OP_WRITE && data->flags & RDMABLK_IO_FUA;
	io->keep = data->op == RDMABLK_OP_WRITE_ZEROES && data->flags & RDMABLK_ZEROES_KEEP;
	io->offset = data->offset;
	io->bytes = data->bytes;
	io->buffer = (unsigned int)q->buffer[carried];
	io->buf = carried ? write_queue_command(tag) + RDMABLK_CMD_BYTES :
		  s->slots + q->queue.index * s->queue_bytes +
		  (uint64_t)data->tag * s->scope.slot_bytes;
	q->lane->busy++;
	staged_begin(io);
}

const struct write_queue_ops lane_queue_ops = {
	.begin = lane_begin,
	.answering = lane_answering,
};

/*
 * Completions
 */

static void completed(struct lane *lane, const struct ibv_wc *wc)
{
	struct lane_queue *q = &lane->staged->queue[write_queue_index(wc)];
	unsigned int reason = write_queue_completed(&q->queue, wc);

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

/* Take the lane out of the list of those to be polled. */
static void lane_unpoll(struct lane *lane)
{
	if (lane->polled)
		TAILQ_REMOVE(&lane->thread->polled, lane, entry);
	lane->polled = false;
}

static void lane_poll(struct lane *lane)
{
	unsigned int nr = poll_some(lane);

	/* The lane is busy: the next turn polls it again. */
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

/* Poll the lanes that may have completions. */
static void lane_poll_all(struct iothread *t)
{
	struct lane *lane, *next;

	for (lane = TAILQ_FIRST(&t->polled); lane; lane = next) {
		next = TAILQ_NEXT(lane, entry);
		lane_poll(lane);
	}
}

/**
 * lane_turn - post answers and handle completions of all lanes of a thread
 * @t: of the caller
 *
 * A command that is refused at once is answered in the same turn.
 */
void lane_turn(struct iothread *t)
{
	lane_answer_all(t);
	lane_poll_all(t);
	lane_answer_all(t);
}

static void event_ready(struct ring_source *src, int res, unsigned int flags);

/* Have the ring tell of events of the lane's channel. */
static void lane_watch(struct lane *lane)
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

/*
 * Beginning and end, in the thread
 */

static void lane_answered(struct lane *lane, int error)
{
	struct staged *s = lane->staged;

	pthread_mutex_lock(&s->lock);
	lane->error = error;
	s->left--;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static int lane_get_buffers(struct lane *lane)
{
	struct staged *s = lane->staged;
	size_t bytes = (size_t)s->scope.cmd_depth * s->queues.stride;

	for (unsigned int i = lane->number; i < s->nr_queues; i += s->nr_lanes) {
		struct lane_queue *q = &s->queue[i];

		q->buffer[0] = iothread_get_buffer(lane->thread, s->slots +
						   i * s->queue_bytes, s->queue_bytes,
						   s->scope.writer);
		if (q->buffer[0] < 0)
			return q->buffer[0];
		q->buffer[1] = iothread_get_buffer(lane->thread, s->queues.receives +
						   i * bytes, bytes, s->scope.writer);
		if (q->buffer[1] < 0)
			return q->buffer[1];
	}
	return 0;
}

static void attach_run(struct ring_note *note)
{
	struct lane *lane = container_of(note, struct lane, note);
	int ret = lane_get_buffers(lane);

	ret = ret ?: -ibv_req_notify_cq(lane->cq, 0);
	if (ret) {
		lane_put_buffers(lane);
	} else {
		lane->armed = true;
		lane->attached = true;
		lane_watch(lane);
	}
	lane_answered(lane, ret);
}

static void lane_unwatch(struct lane *lane);

/*
 * The kernel refuses with -EALREADY while an event of the channel is on its way to the
 * ring: the poll then reports that event and goes on. It is asked again until the poll has
 * reported its end.
 */
static void unwatched(struct ring_source *src, int res, unsigned int flags)
{
	struct lane *lane = container_of(src, struct lane, unwatch);

	(void)flags;
	lane->unwatching = false;
	if (res && lane->watched)
		lane_unwatch(lane);
	else
		lane_check_done(lane);
}

/* Cancels the ring's poll of the completion channel. */
static void lane_unwatch(struct lane *lane)
{
	struct io_uring_sqe *sqe = ring_sqe(&lane->thread->engine.ring, &lane->unwatch);

	lane->unwatch.ready = unwatched;
	lane->unwatching = true;
	io_uring_prep_cancel(sqe, &lane->event, 0);
}

static void detach_run(struct ring_note *note)
{
	struct lane *lane = container_of(note, struct lane, leave);
	struct iothread *t = lane->thread;
	struct lane_queue *q, *next;

	if (!lane->attached) {
		lane_part(lane);
		lane_leave(lane);
		return;
	}
	lane->failed = true;
	lane->stopping = true;
	lane_unpoll(lane);
	for (q = TAILQ_FIRST(&t->answering); q; q = next) {
		next = TAILQ_NEXT(q, entry);
		if (q->lane == lane)
			TAILQ_REMOVE(&t->answering, q, entry);
	}
	if (lane->watched)
		lane_unwatch(lane);
	lane_check_done(lane);
}

/*
 * From other threads
 */

/**
 * lane_attach_all - give the lanes of a session to the threads
 * @s: complete, but for queue pairs
 *
 * Blocks for up to ATTACH_S. The caller calls lane_detach_all() in any case.
 *
 * Return: 0 or -errno; -ETIMEDOUT: a thread has not answered in time, but may do so later.
 */
int lane_attach_all(struct staged *s)
{
	struct timespec until;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ATTACH_S;
	s->left = s->nr_lanes;
	for (unsigned int i = 0; i < s->nr_lanes; i++) {
		s->lane[i].note.run = attach_run;
		ring_tell(&s->lane[i].thread->engine.ring, &s->lane[i].note);
	}
	pthread_mutex_lock(&s->lock);
	while (s->left && !ret)
		ret = -pthread_cond_clockwait(&s->changed, &s->lock, CLOCK_MONOTONIC,
					      &until);
	for (unsigned int i = 0; !ret && i < s->nr_lanes; i++)
		ret = s->lane[i].error;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/**
 * lane_detach_all - take the lanes of a session from the threads
 * @s: with or without queue pairs; called once
 *
 * Any thread. The loop calls @s->stopped when no thread touches a queue pair or completion
 * queue of the session any more. Then it calls @s->idle, when all I/O has ended and no thread
 * touches the session's memory or the file any more.
 */
void lane_detach_all(struct staged *s)
{
	unsigned int nr = s->nr_lanes;

	atomic_store(&s->cancel, true);
	atomic_store(&s->together, nr);
	atomic_store(&s->working, nr);
	for (unsigned int i = 0; i < nr; i++)
		s->lane[i].leave.run = detach_run;
	for (unsigned int i = 0; i < nr; i++)
		ring_tell(&s->lane[i].thread->engine.ring, &s->lane[i].leave);
}

/**
 * lane_set_nonblock - let ibv_get_cq_event() return at once without an event
 * @lane: with a channel
 *
 * Return: 0 or -errno.
 */
int lane_set_nonblock(struct lane *lane)
{
	int flags = fcntl(lane->channel->fd, F_GETFL);

	return flags < 0 || fcntl(lane->channel->fd, F_SETFL, flags | O_NONBLOCK) ?
	       -errno : 0;
}

/**
 * lane_destroy - destroy the completion queue and channel of a lane
 * @lane: detached, its queue pairs destroyed; may have neither any more
 *
 * Return: 0 or -errno.
 */
int lane_destroy(struct lane *lane)
{
	int ret = 0;

	/* ibv_destroy_cq() waits for the acknowledgment of every event. */
	if (lane->cq && lane->events)
		ibv_ack_cq_events(lane->cq, lane->events);
	lane->events = 0;
	if (lane->cq)
		ret = -ibv_destroy_cq(lane->cq);
	if (ret)
		return ret;
	lane->cq = NULL;
	if (lane->channel)
		ret = -ibv_destroy_comp_channel(lane->channel);
	if (!ret)
		lane->channel = NULL;
	return ret;
}
