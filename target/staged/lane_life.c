// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How lanes come to their threads and leave them. A thread hears of both by a note, so
 * that nothing of a lane needs a lock while it has it.
 *
 * They leave in two steps, of which the loop is told. The first is a matter of moments:
 * no queue pair and no completion queue is touched any more. The second takes as long as
 * the file does: what has begun on it has ended. Nobody waits for that but the session,
 * or a disk that does not answer would stop those who wait for others, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "base/fault.h"
#include "base/util.h"
#include "staged/lane.h"

#define ATTACH_S	5	/* a thread that takes longer hangs in its file */

/**
 * lane_staged_put - one user less
 * @s: may be gone afterwards
 */
void lane_staged_put(struct staged *s)
{
	if (atomic_fetch_sub(&s->users, 1) != 1)
		return;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	for (unsigned int i = 0; s->queue && i < s->nr_queues; i++) {
		free(s->queue[i].cmd);
		free(s->queue[i].receive);
		free(s->queue[i].receive_sge);
	}
	free(s->queue);
	free(s->lane);
	free(s);
}

/**
 * lane_set_nonblock - asking for events must not wait for them
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
 * lane_destroy - undo its verbs
 * @lane: not with a thread; its queue pairs are destroyed. Destroyed already: nothing
 *
 * Return: 0 or -errno.
 */
int lane_destroy(struct lane *lane)
{
	int ret = 0;

	/* its destroyer waits for the acknowledgment of every event */
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

static int lane_get_buffers(struct lane *lane)
{
	struct staged *s = lane->staged;
	size_t bytes = (size_t)s->scope.cmd_depth * s->stride;

	for (unsigned int i = lane->number; i < s->nr_queues; i += s->nr_lanes) {
		struct lane_queue *q = &s->queue[i];

		q->buffer[0] = iothread_get_buffer(lane->thread, s->slots +
						   i * s->queue_bytes, s->queue_bytes,
						   s->scope.writer);
		if (q->buffer[0] < 0)
			return q->buffer[0];
		q->buffer[1] = iothread_get_buffer(lane->thread, s->receives + i * bytes,
						   bytes, s->scope.writer);
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

/* In the loop */

static void parting_run(struct ring_note *note)
{
	struct staged *s = container_of(note, struct staged, parting);

	s->stopped(s->owner);
}

static void leaving_run(struct ring_note *note)
{
	struct staged *s = container_of(note, struct staged, leaving);

	s->idle(s->owner);
}

/* The last to part tells before it can be the last to leave: the loop hears in order. */
static void lane_part(struct lane *lane)
{
	struct staged *s = lane->staged;

	lane->parted = true;
	if (atomic_fetch_sub(&s->together, 1) != 1)
		return;
	s->parting.run = parting_run;
	iothread_tell_loop(s->threads, &s->parting);
}

/* Afterwards the session may be gone. */
static void lane_leave(struct lane *lane)
{
	struct staged *s = lane->staged;

	lane->attached = false;
	if (atomic_fetch_sub(&s->working, 1) != 1)
		return;
	s->leaving.run = leaving_run;
	iothread_tell_loop(s->threads, &s->leaving);
}

/**
 * lane_check_done - how far has a lane come that is stopping
 * @lane: of the caller's thread; may be gone afterwards
 */
void lane_check_done(struct lane *lane)
{
	if (!lane->attached || lane->watched || lane->unwatching)
		return;
	if (!lane->parted)
		lane_part(lane);
	if (lane->busy && !fault(FAULT_NO_STORE_WAIT))
		return;
	if (!lane->busy)	/* with the fault they are used for longer */
		lane_put_buffers(lane);
	lane_leave(lane);
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

/* Have the kernel end the poll of the channel. */
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
 * lane_attach_all - give its lanes to the threads
 * @s: with everything but queue pairs
 *
 * Blocks, for moments. lane_detach_all() is due either way.
 *
 * Return: 0 or -errno; -ETIMEDOUT: a thread does not answer, but may yet.
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
 * lane_detach_all - take its lanes from the threads
 * @s: with queue pairs or without; once
 *
 * Any thread. @s->stopped is called in the loop when no thread touches a queue pair or
 * completion queue for this session any more, and then @s->idle, when none touches its
 * memory or the file: the I/O that has begun has ended.
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
