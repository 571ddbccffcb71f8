// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The event loop: descriptors, then tasks, then timers. A handler may remove any source;
 * events of a removed source that are still in the batch are dropped.
 */
#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/latency.h"
#include "base/loop.h"
#include "base/util.h"

#define LOOP_BATCH	16
#define TASKS_MS	5	/* for tasks in one turn of the loop */

TAILQ_HEAD(timer_list, loop_timer);
TAILQ_HEAD(task_list, loop_task);

static struct {
	int epoll;
	bool stop;
	struct timer_list timers;		/* soonest first */
	struct task_list tasks;			/* next first */
	struct epoll_event batch[LOOP_BATCH];
	int nr_batch;
	struct latency turns;
} loop = { .epoll = -1 };

/**
 * loop_init - make the loop
 *
 * Return: 0 or -errno.
 */
int loop_init(void)
{
	TAILQ_INIT(&loop.timers);
	TAILQ_INIT(&loop.tasks);
	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	return loop.epoll < 0 ? -errno : 0;
}

/**
 * loop_exit - undo loop_init(); the owners of the sources close them
 */
void loop_exit(void)
{
	if (loop.epoll >= 0)
		close(loop.epoll);
	loop.epoll = -1;
}

/**
 * loop_add - watch a descriptor
 * @src: owned by the caller, valid until loop_del()
 *
 * Return: 0 or -errno.
 */
int loop_add(struct loop_source *src)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = src };

	return epoll_ctl(loop.epoll, EPOLL_CTL_ADD, src->fd, &ev) ? -errno : 0;
}

/**
 * loop_watch - choose what to watch a descriptor for; loop_add() watches input
 * @src: as given to loop_add()
 * @input: there is something to read
 * @output: something can be written
 *
 * The end of a connection is always reported.
 */
void loop_watch(struct loop_source *src, bool input, bool output)
{
	struct epoll_event ev = {
		.events = (input ? EPOLLIN : 0U) | (output ? EPOLLOUT : 0U),
		.data.ptr = src,
	};

	epoll_ctl(loop.epoll, EPOLL_CTL_MOD, src->fd, &ev);
}

/**
 * loop_del - stop watching a descriptor; call it before closing the descriptor
 * @src: as given to loop_add()
 */
void loop_del(struct loop_source *src)
{
	epoll_ctl(loop.epoll, EPOLL_CTL_DEL, src->fd, NULL);
	for (int i = 0; i < loop.nr_batch; i++)
		if (loop.batch[i].data.ptr == src)
			loop.batch[i].data.ptr = NULL;
}

static struct loop_note *inbox_next(struct loop_inbox *inbox)
{
	struct loop_note *note;

	pthread_mutex_lock(&inbox->lock);
	note = TAILQ_FIRST(&inbox->notes);
	if (note)
		TAILQ_REMOVE(&inbox->notes, note, entry);
	pthread_mutex_unlock(&inbox->lock);
	return note;
}

static void inbox_ready(struct loop_source *src)
{
	struct loop_inbox *inbox = container_of(src, struct loop_inbox, source);
	struct loop_note *note;
	eventfd_t n;

	/* Read before taking notes: a note that comes to an empty list later writes again. */
	eventfd_read(src->fd, &n);
	while ((note = inbox_next(inbox)))
		note->run(note);
}

/**
 * loop_inbox_open - make an inbox, by which other threads ask the loop for calls
 * @inbox: result
 *
 * Return: 0; or -errno: the inbox must not be closed.
 */
int loop_inbox_open(struct loop_inbox *inbox)
{
	int ret;

	inbox->source.ready = inbox_ready;
	TAILQ_INIT(&inbox->notes);
	inbox->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inbox->source.fd < 0)
		return -errno;
	ret = loop_add(&inbox->source);
	if (ret)
		close(inbox->source.fd);
	else
		pthread_mutex_init(&inbox->lock, NULL);
	return ret;
}

/**
 * loop_inbox_post - ask the loop for a call
 * @inbox: open
 * @note: belongs to the loop until its @run is called; calls come in the order of the notes
 *
 * Any thread. Whatever the thread has written before, the loop sees in @run.
 */
void loop_inbox_post(struct loop_inbox *inbox, struct loop_note *note)
{
	bool first;

	pthread_mutex_lock(&inbox->lock);
	first = TAILQ_EMPTY(&inbox->notes);
	TAILQ_INSERT_TAIL(&inbox->notes, note, entry);
	if (first)
		eventfd_write(inbox->source.fd, 1);
	pthread_mutex_unlock(&inbox->lock);
}

/**
 * loop_inbox_ignore - run no more notes, not even those that wait
 * @inbox: open; threads may still post
 */
void loop_inbox_ignore(struct loop_inbox *inbox)
{
	loop_del(&inbox->source);
}

/**
 * loop_inbox_close - undo loop_inbox_open()
 * @inbox: ignored; no thread posts to it any more
 */
void loop_inbox_close(struct loop_inbox *inbox)
{
	close(inbox->source.fd);
	pthread_mutex_destroy(&inbox->lock);
}

/**
 * loop_now - the time
 *
 * Return: monotonic milliseconds.
 */
int64_t loop_now(void)
{
	return monotonic_ms();
}

/**
 * loop_timer_start - (re)start a timer
 * @timer: with @expired set
 * @ms: from now
 */
void loop_timer_start(struct loop_timer *timer, int64_t ms)
{
	struct loop_timer *t;

	loop_timer_stop(timer);
	timer->deadline = loop_now() + ms;
	timer->armed = true;
	TAILQ_FOREACH(t, &loop.timers, entry) {
		if (t->deadline > timer->deadline) {
			TAILQ_INSERT_BEFORE(t, timer, entry);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&loop.timers, timer, entry);
}

/**
 * loop_timer_stop - stop a timer, running or not
 * @timer: may be freed afterwards
 */
void loop_timer_stop(struct loop_timer *timer)
{
	if (!timer->armed)
		return;
	timer->armed = false;
	TAILQ_REMOVE(&loop.timers, timer, entry);
}

/**
 * loop_task_start - queue a task; it runs after the tasks queued before it
 * @task: with @run set; does nothing if it is queued already
 */
void loop_task_start(struct loop_task *task)
{
	if (task->queued)
		return;
	task->queued = true;
	TAILQ_INSERT_TAIL(&loop.tasks, task, entry);
}

/**
 * loop_task_stop - remove a task from the queue
 * @task: started or not; may be freed afterwards
 */
void loop_task_stop(struct loop_task *task)
{
	if (!task->queued)
		return;
	task->queued = false;
	TAILQ_REMOVE(&loop.tasks, task, entry);
}

static int loop_timeout(void)
{
	struct loop_timer *first = TAILQ_FIRST(&loop.timers);
	int64_t left;

	if (!TAILQ_EMPTY(&loop.tasks))
		return 0;
	if (!first)
		return -1;
	left = first->deadline - loop_now();
	if (left <= 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}

static void loop_run_tasks(void)
{
	int64_t until = loop_now() + TASKS_MS;
	struct loop_task *task;

	while ((task = TAILQ_FIRST(&loop.tasks))) {
		loop_task_stop(task);
		task->run(task);
		if (loop_now() >= until)
			return;
	}
}

static void loop_expire(void)
{
	int64_t now = loop_now();
	struct loop_timer *t;

	while ((t = TAILQ_FIRST(&loop.timers)) && t->deadline <= now) {
		loop_timer_stop(t);
		t->expired(t);
	}
}

/**
 * loop_run - run until loop_stop(); may be called again
 *
 * Return: 0 or -errno of epoll.
 */
int loop_run(void)
{
	while (!loop.stop) {
		int n = epoll_wait(loop.epoll, loop.batch, LOOP_BATCH,
				   loop_timeout());
		uint64_t began = latency_now();

		/*
		 * After SIGSTOP and SIGCONT epoll_wait() fails with EINTR. Waiting again
		 * handles what has arrived before a timer expires that would report
		 * silence.
		 */
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		loop.nr_batch = n;
		for (int i = 0; i < loop.nr_batch; i++) {
			struct loop_source *src = loop.batch[i].data.ptr;

			if (src)
				src->ready(src);
		}
		loop.nr_batch = 0;
		loop_run_tasks();
		loop_expire();
		latency_add(&loop.turns, latency_now() - began);
	}
	loop.stop = false;
	return 0;
}

/**
 * loop_turns - how long the turns of the loop have taken
 *
 * An event may have waited for the loop as long as a turn takes. Only the loop adds to the
 * histogram, so another thread sees numbers that change.
 *
 * Return: durations from the end of a wait to the next.
 */
const struct latency *loop_turns(void)
{
	return &loop.turns;
}

/**
 * loop_stop - make loop_run() return
 */
void loop_stop(void)
{
	loop.stop = true;
}
