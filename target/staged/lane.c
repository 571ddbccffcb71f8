// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The write queues of a session, from the moment when a thread gets them to the moment when
 * they leave it. The commands themselves are in staged_session.c for an uncached file, and in
 * session/cmdq.c for an arena.
 *
 * Waiting costs system calls, so a thread waits little. If a lane had more than one
 * completion, more are likely, and the thread polls it again before it sleeps. Only when the
 * completion queue is empty does the thread ask for an event, and it polls once more after
 * that. Events come through the ring, like everything that the thread waits for.
 *
 * The loop hands a lane to the thread, and takes it back, by notes. In between only the thread
 * touches the lane, so the lane needs no lock.
 *
 * When a session ends, its lanes begin no command any more; commands that have begun go on. A
 * lane leaves in two steps, and tells the loop of both:
 *
 * - It parts, which takes moments: the thread touches no queue pair and no completion queue of
 *   the lane any more. When all lanes of a session have parted, the loop calls @stopped.
 * - It leaves, which takes as long as the store does: all commands have ended, and the ring
 *   has released the memory. When all lanes have left, the loop calls @idle. Only the session
 *   waits for that, because a disk that does not answer must not stop other sessions.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <time.h>

#include "base/fault.h"
#include "base/log.h"
#include "staged/lane.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#define ATTACH_S	5	/* a thread that takes a lane later than that hangs */
#define POLL_BATCH	32	/* most completions of a round */
#define ACK_EVENTS	(1U << 16)	/* number of events to acknowledge together */

static void fail_run(struct loop_note *note)
{
	struct lanes *l = container_of(note, struct lanes, fail);

	if (!atomic_load(&l->cancel))
		l->failed(l->owner, l->reason);
}

/*
 * Tells the loop, once, that the session must end; later reasons do not count. The inbox keeps
 * the order of notes, so this note comes before those that bring @stopped and @idle, and finds
 * the session.
 */
static void lane_fail(struct lane *lane, unsigned int reason)
{
	struct lanes *l = lane->lanes;

	lane->failed = true;
	if (atomic_exchange(&l->ending, true))
		return;
	l->reason = reason;
	l->fail.run = fail_run;
	loop_inbox_post(&l->threads->inbox, &l->fail);
}

/*
 * Leaving
 */

/* In the loop */
static void parting_run(struct loop_note *note)
{
	struct lanes *l = container_of(note, struct lanes, parting);

	l->stopped(l->owner);
}

/* In the loop */
static void leaving_run(struct loop_note *note)
{
	struct lanes *l = container_of(note, struct lanes, leaving);

	l->idle(l->owner);
}

/* First step. The last lane to part posts @stopped, before a lane can be the last to leave. */
static void lane_part(struct lane *lane)
{
	struct lanes *l = lane->lanes;

	lane->parted = true;
	if (atomic_fetch_sub(&l->together, 1) != 1)
		return;
	l->parting.run = parting_run;
	loop_inbox_post(&l->threads->inbox, &l->parting);
}

/* Second step. Afterwards the session may be gone. */
static void lane_leave(struct lane *lane)
{
	struct lanes *l = lane->lanes;

	lane->attached = false;
	if (atomic_fetch_sub(&l->working, 1) != 1)
		return;
	l->leaving.run = leaving_run;
	loop_inbox_post(&l->threads->inbox, &l->leaving);
}

/* Takes the steps of leaving that are possible now. The lane may be freed afterwards. */
static void lane_check_done(struct lane *lane)
{
	const struct lane_ops *ops = lane->lanes->ops;

	if (!lane->attached || lane->watched || lane->unwatching)
		return;
	if (!lane->parted)
		lane_part(lane);
	if (lane->busy && !fault(FAULT_NO_STORE_WAIT))
		return;
	if (!lane->busy && ops->leave)	/* with the fault, I/O still uses the buffers */
		ops->leave(lane);
	lane_leave(lane);
}

/**
 * lane_over - undo lane_begun(), when a command or I/O has ended
 * @lane: lane of the calling thread; if its session ends, it may be freed afterwards
 */
void lane_over(struct lane *lane)
{
	/*
	 * With a fault a lane leaves its thread while it is busy, and is freed when it is not.
	 */
	bool ending = lane->stopping && lane->attached;

	__atomic_store_n(&lane->busy, lane->busy - 1, __ATOMIC_RELEASE);
	if (ending)
		lane_check_done(lane);
}

/**
 * lane_busy - is anything under way for the commands of a session
 * @l: in any condition
 *
 * Any thread.
 *
 * Return: whether something is.
 */
bool lane_busy(const struct lanes *l)
{
	for (unsigned int i = 0; l->lane && i < l->nr_lanes; i++)
		if (__atomic_load_n(&l->lane[i].busy, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/*
 * Answers
 */

/* Upcall: a queue has answers. The thread posts them at the end of its turn. */
static void lane_answering(struct write_queue *queue)
{
	struct lane_queue *q = lane_queue_of(queue);

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
 * Completions
 */

static void completed(struct lane *lane, const struct ibv_wc *wc)
{
	struct lane_queue *q = &lane->lanes->queue[write_queue_index(wc)];
	unsigned int reason = write_queue_completed(&q->queue, wc);

	if (reason)
		lane_fail(lane, reason);
}

/* Return: number of completions handled. */
static unsigned int poll_some(struct lane *lane)
{
	struct ibv_wc wc[POLL_BATCH];
	unsigned int nr = 0;

	for (unsigned int round = 0; round < lane->lanes->rounds && !lane->failed; round++) {
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

/* Takes the lane out of the list of lanes to poll. */
static void lane_unpoll(struct lane *lane)
{
	if (lane->polled)
		TAILQ_REMOVE(&lane->thread->polled, lane, entry);
	lane->polled = false;
}

static void lane_poll(struct lane *lane)
{
	unsigned int nr = poll_some(lane);

	/* More completions are likely: the lane stays in the list for the next turn. */
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

/* Asks the ring for events of the lane's channel. Return: 0 or -errno. */
static int lane_watch(struct lane *lane)
{
	int ret;

	lane->event.ready = event_ready;
	ret = ring_watch(&lane->thread->engine.ring, &lane->event, lane->channel->fd);
	lane->watched = !ret;
	return ret;
}

/* There is one at most: the queue is armed again only after its event was taken. */
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
	if (res < 0)
		lane_fail(lane, RDMABLK_R_INTERNAL);
	else if (res == POLLIN)
		lane_take_event(lane);
	else	/* the device is gone, and no event comes any more */
		lane_fail(lane, RDMABLK_R_CONNECTION);
	if (!lane->watched && !lane->failed)
		lane_watch(lane);
}

/*
 * Beginning and end, in the thread
 */

static void lane_answered(struct lane *lane, int error)
{
	struct lanes *l = lane->lanes;

	pthread_mutex_lock(&l->lock);
	lane->error = error;
	l->left--;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void attach_run(struct ring_note *note)
{
	struct lane *lane = container_of(note, struct lane, note);
	const struct lane_ops *ops = lane->lanes->ops;
	int ret = ops->enter ? ops->enter(lane) : 0;

	ret = ret ?: -ibv_req_notify_cq(lane->cq, 0) ?: lane_watch(lane);
	lane->armed = !ret;
	lane->attached = !ret;
	if (ret && ops->leave)
		ops->leave(lane);
	lane_answered(lane, ret);
}

static void lane_unwatch(struct lane *lane);

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

/* Ends the ring's poll of the completion channel. */
static void lane_unwatch(struct lane *lane)
{
	lane->unwatch.ready = unwatched;
	lane->unwatching = ring_unwatch(&lane->thread->engine.ring, &lane->event,
					lane->channel->fd, &lane->unwatch);
	if (!lane->unwatching)
		lane->watched = false;
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
	if (lane->lanes->ops->stop)
		lane->lanes->ops->stop(lane);
	if (lane->watched)
		lane_unwatch(lane);
	lane_check_done(lane);
}

/*
 * From other threads
 */

/* Lets ibv_get_cq_event() return at once without an event. Return: 0 or -errno. */
static int set_nonblock(const struct ibv_comp_channel *channel)
{
	int flags = fcntl(channel->fd, F_GETFL);

	return flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

/*
 * The completion queue has room for each work request of its queue pairs, because all of
 * them complete when the queue pairs fail.
 */
static int open_lane(struct lanes *l, unsigned int number, unsigned int thread,
		     struct ibv_context *verbs)
{
	unsigned int queues = (l->nr_queues - number + l->nr_lanes - 1) / l->nr_lanes;
	int vectors = verbs->num_comp_vectors > 0 ? verbs->num_comp_vectors : 1;
	unsigned int depth = l->scope.cmd_depth;
	unsigned int cqes = queues * (depth + write_queue_sends(depth));
	struct lane *lane = &l->lane[number];
	int ret;

	lane->lanes = l;
	lane->number = number;
	lane->thread = &l->threads->thread[thread % l->threads->nr];
	lane->channel = ibv_create_comp_channel(verbs);
	if (!lane->channel)
		return -errno;
	ret = set_nonblock(lane->channel);
	if (ret)
		return ret;
	lane->cq = ibv_create_cq(verbs, (int)cqes, NULL, lane->channel,
				 (int)number % vectors);
	return lane->cq ? 0 : device_queue_error();
}

/**
 * lane_map - map zeroed memory for an adapter, with all pages present
 * @bytes: number of bytes
 * @place: preferred place
 *
 * Return: the memory, to be unmapped with munmap(); or NULL.
 */
void *lane_map(size_t bytes, const struct numa_place *place)
{
	struct numa_place there = *place;
	void *from = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (from == MAP_FAILED)
		return NULL;
	madvise(from, bytes, MADV_DONTFORK);
	madvise(from, bytes, MADV_DONTDUMP);
	madvise(from, bytes, MADV_HUGEPAGE);
	/*
	 * No page exists, so nothing has to move. A strict policy could wake the OOM killer.
	 */
	there.only = false;
	numa_keep(&there, from, round_up(bytes, (uint64_t)getpagesize()));
	if (!madvise(from, bytes, MADV_POPULATE_WRITE))
		return from;
	munmap(from, bytes);
	return NULL;
}

static int open_receives(struct lanes *l, struct ibv_pd *pd, const struct numa_place *place)
{
	l->receive_bytes = (size_t)l->nr_queues * l->scope.cmd_depth * l->queues.stride;
	l->queues.receives = lane_map(l->receive_bytes, place);
	if (!l->queues.receives)
		return -ENOMEM;
	l->receive_mr = ibv_reg_mr(pd, l->queues.receives, l->receive_bytes,
				   IBV_ACCESS_LOCAL_WRITE);
	if (!l->receive_mr)
		return -errno;
	l->queues.lkey = l->receive_mr->lkey;
	return 0;
}

static int open_queue(struct lanes *l, unsigned int index)
{
	struct lane_queue *q = &l->queue[index];
	unsigned int depth = l->scope.cmd_depth;
	int ret;

	q->lane = &l->lane[index % l->nr_lanes];
	q->tags = (char *)l->tags + (size_t)index * depth * l->tag_bytes;
	q->buffer[0] = -1;
	q->buffer[1] = -1;
	ret = write_queue_init(&q->queue, &l->queues, index, &q->lane->counts);
	for (unsigned int i = 0; !ret && i < depth; i++)
		write_queue_add(&q->queue, i, (void *)((char *)q->tags + i * l->tag_bytes));
	return ret;
}

/**
 * lane_open_all - make the lanes of a session, its write queues and their receives
 * @l: lanes, with the fields set that belong to the owner; see lane.h
 * @pd: protection domain of the session
 * @place: preferred place of the receives
 *
 * Blocks; for workers. The caller calls lane_close_all() and lane_free_all(), also after an
 * error.
 *
 * Return: 0; DEVICE_FULL; or -errno.
 */
int lane_open_all(struct lanes *l, struct ibv_pd *pd, const struct numa_place *place)
{
	unsigned int first;
	int ret = 0;

	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	l->queues.answering = lane_answering;
	l->queues.scope = &l->scope;
	l->nr_lanes = (unsigned int)min_u64(l->nr_queues, l->threads->nr);
	l->queue = calloc(l->nr_queues, sizeof(*l->queue));
	l->lane = calloc(l->nr_lanes, sizeof(*l->lane));
	l->tags = calloc((size_t)l->nr_queues * l->scope.cmd_depth, l->tag_bytes);
	if (!l->queue || !l->lane || !l->tags)
		return -ENOMEM;
	/* One atomic step, so that two sessions that begin together use all threads alike. */
	first = atomic_fetch_add(&l->threads->next, l->nr_lanes);
	for (unsigned int i = 0; !ret && i < l->nr_lanes; i++)
		ret = open_lane(l, i, first + i, pd->context);
	ret = ret ?: open_receives(l, pd, place);
	for (unsigned int i = 0; !ret && i < l->nr_queues; i++)
		ret = open_queue(l, i);
	return ret;
}

/**
 * lane_attach_all - give the lanes of a session to the threads
 * @l: opened
 *
 * Blocks for up to ATTACH_S. The caller calls lane_detach_all() in any case.
 *
 * Return: 0 or -errno, logged; -ETIMEDOUT: a thread has not answered in time, but may do so
 * later.
 */
int lane_attach_all(struct lanes *l)
{
	struct timespec until;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ATTACH_S;
	l->given = true;
	l->left = l->nr_lanes;
	for (unsigned int i = 0; i < l->nr_lanes; i++) {
		l->lane[i].note.run = attach_run;
		ring_tell(&l->lane[i].thread->engine.ring, &l->lane[i].note);
	}
	pthread_mutex_lock(&l->lock);
	while (l->left && !ret)
		ret = -pthread_cond_clockwait(&l->changed, &l->lock, CLOCK_MONOTONIC,
					      &until);
	for (unsigned int i = 0; !ret && i < l->nr_lanes; i++)
		ret = l->lane[i].error;
	pthread_mutex_unlock(&l->lock);
	if (ret)
		log_peer(NULL, LOG_ERR, "export %s: its %s threads take no session: %s",
			 l->threads->name, l->threads->kind, strerror(-ret));
	return ret;
}

/**
 * lane_setup - fill in what the queue pair of a write queue needs
 * @l: opened
 * @i: number of the hardware queue
 * @setup: gets completion queue and numbers of work requests
 */
void lane_setup(const struct lanes *l, unsigned int i, struct conn_setup *setup)
{
	setup->cq = l->queue[i].lane->cq;
	setup->caps.sends = l->queue[i].queue.max_sends;
	setup->caps.recvs = l->scope.cmd_depth;
}

/**
 * lane_join - a write queue has a queue pair
 * @l: attached
 * @i: number of the hardware queue
 * @qp: the queue pair, made as wished
 *
 * From the first receive on the queue belongs to its thread.
 *
 * Return: 0 or -errno.
 */
int lane_join(struct lanes *l, unsigned int i, struct ibv_qp *qp)
{
	return write_queue_join(&l->queue[i].queue, qp);
}

/**
 * lane_live - accept commands from now on
 * @l: attached
 */
void lane_live(struct lanes *l)
{
	atomic_store(&l->queues.live, true);
}

/**
 * lane_resized - the export has grown
 * @l: attached
 * @size: bytes
 */
void lane_resized(struct lanes *l, uint64_t size)
{
	__atomic_store_n(&l->scope.size, size, __ATOMIC_RELAXED);
}

/**
 * lane_counts - add up the counters of a session's commands
 * @l: opened
 * @sum: the counters are added here
 *
 * Any thread.
 */
void lane_counts(const struct lanes *l, struct store_counts *sum)
{
	for (unsigned int i = 0; i < l->nr_lanes; i++)
		store_add_counts(sum, &l->lane[i].counts);
}

/**
 * lane_detach_all - take the lanes of a session from the threads
 * @l: lanes that the threads have, with or without queue pairs; later calls do nothing
 *
 * In the loop, which calls @l->stopped when no thread touches a queue pair or completion queue
 * of the session any more. Then it calls @l->idle, when all that had begun has ended and no
 * thread touches the session's memory or the store any more.
 */
void lane_detach_all(struct lanes *l)
{
	unsigned int nr = l->nr_lanes;

	if (atomic_exchange(&l->cancel, true))
		return;
	atomic_store(&l->together, nr);
	atomic_store(&l->working, nr);
	for (unsigned int i = 0; i < nr; i++)
		l->lane[i].leave.run = detach_run;
	for (unsigned int i = 0; i < nr; i++)
		ring_tell(&l->lane[i].thread->engine.ring, &l->lane[i].leave);
}

static int close_lane(struct lane *lane)
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

/**
 * lane_close_all - undo what lane_open_all() did with verbs
 * @l: opened or not; no thread touches it, and its queue pairs are destroyed
 *
 * Blocks; for workers. May be called again after an error.
 *
 * Return: 0 or -errno.
 */
int lane_close_all(struct lanes *l)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && l->lane && i < l->nr_lanes; i++)
		ret = close_lane(&l->lane[i]);
	if (!ret && l->receive_mr)
		ret = -ibv_dereg_mr(l->receive_mr);
	if (!ret)
		l->receive_mr = NULL;
	return ret;
}

/**
 * lane_free_all - free the memory of lanes and write queues
 * @l: closed and idle; or zeroed
 */
void lane_free_all(struct lanes *l)
{
	if (!l->queues.scope)	/* never opened */
		return;
	if (l->queues.receives)
		munmap(l->queues.receives, l->receive_bytes);
	for (unsigned int i = 0; l->queue && i < l->nr_queues; i++)
		write_queue_free(&l->queue[i].queue);
	free(l->queue);
	free(l->lane);
	free(l->tags);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
}
