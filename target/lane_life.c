// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How lanes come to their threads and leave them. A thread hears of both by a note, so
 * that nothing of a lane needs a lock while it has it.
 */
#include <errno.h>
#include <fcntl.h>

#include "fault.h"
#include "lane.h"
#include "util.h"

/**
 * staged_put - one user less
 * @s: may be gone afterwards
 */
void staged_put(struct staged *s)
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
						   i * s->queue_bytes, s->queue_bytes);
		if (q->buffer[0] < 0)
			return q->buffer[0];
		q->buffer[1] = iothread_get_buffer(lane->thread, s->receives + i * bytes,
						   bytes);
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

/**
 * lane_check_done - has a lane that is stopping come to its end
 * @lane: of the caller's thread
 */
void lane_check_done(struct lane *lane)
{
	if (!lane->attached || lane->watched ||
	    (lane->busy && !fault(FAULT_NO_KEEPER_WAIT)))
		return;
	lane_put_buffers(lane);
	lane->attached = false;
	lane_answered(lane, 0);
}

static void unwatched(struct ring_source *src, int res, unsigned int flags)
{
	(void)src;
	(void)res;
	(void)flags;
}

static void detach_run(struct ring_note *note)
{
	static struct ring_source ignored = { .ready = unwatched };
	struct lane *lane = container_of(note, struct lane, note);
	struct iothread *t = lane->thread;
	struct lane_queue *q, *next;

	if (!lane->attached) {
		lane_answered(lane, lane->error);
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
		io_uring_prep_poll_remove(ring_sqe(&t->engine.ring, &ignored),
					  (uintptr_t)&lane->event);
	lane_check_done(lane);
}

/*
 * From other threads
 */

static void lanes_ask(struct staged *s, void (*run)(struct ring_note *note))
{
	pthread_mutex_lock(&s->lock);
	s->left = s->nr_lanes;
	pthread_mutex_unlock(&s->lock);
	for (unsigned int i = 0; i < s->nr_lanes; i++) {
		s->lane[i].note.run = run;
		ring_tell(&s->lane[i].thread->engine.ring, &s->lane[i].note);
	}
	pthread_mutex_lock(&s->lock);
	while (s->left)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/**
 * lanes_attach - give its lanes to the threads
 * @s: with everything but queue pairs
 *
 * Blocks, for moments. lanes_detach() is due either way.
 *
 * Return: 0 or -errno.
 */
int lanes_attach(struct staged *s)
{
	int ret = 0;

	lanes_ask(s, attach_run);
	for (unsigned int i = 0; !ret && i < s->nr_lanes; i++)
		ret = s->lane[i].error;
	return ret;
}

/**
 * lanes_detach - take its lanes from the threads
 * @s: with queue pairs or without
 *
 * Blocks until the I/O that has begun has ended. Afterwards no thread touches a queue
 * pair, the memory or the file for this session.
 */
void lanes_detach(struct staged *s)
{
	atomic_store(&s->cancel, true);
	lanes_ask(s, detach_run);
}
