/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop: one thread, epoll, timers. Everything but the jobs of
 * worker.h runs in it, so the rooms above it need no locks. With nothing to do
 * it sleeps without a timeout.
 *
 * What a peer can make without end is not handled to its end by who hears of it, but
 * bit by bit by tasks, a few milliseconds of all of them in each turn of the loop.
 */
#ifndef RDMABLKD_LOOP_H
#define RDMABLKD_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/**
 * struct loop_source - a descriptor the loop watches for input
 * @fd: non-blocking; stays its owner's
 * @ready: called when there is something to read, or what loop_watch() asks for
 */
struct loop_source {
	int fd;
	void (*ready)(struct loop_source *src);
};

/**
 * struct loop_timer - fires once; zeroed memory is a stopped timer
 * @entry: the loop's
 * @deadline: the loop's, ms
 * @armed: the loop's
 * @expired: called when the time has come; may start the timer again
 */
struct loop_timer {
	TAILQ_ENTRY(loop_timer) entry;
	int64_t deadline;
	bool armed;
	void (*expired)(struct loop_timer *timer);
};

/**
 * struct loop_task - a bit of what takes many; zeroed memory is a stopped task
 * @entry: the loop's
 * @queued: it is started; the loop's, others may read it
 * @run: does a bit, once for each start; starts the task again if there is more. May
 *	stop any task, and free the memory of any that is stopped
 *
 * Tasks run in the order in which they were started, after descriptors and before
 * timers: nobody is said to be silent who has just been heard.
 */
struct loop_task {
	TAILQ_ENTRY(loop_task) entry;
	bool queued;
	void (*run)(struct loop_task *task);
};

int loop_init(void);
void loop_exit(void);
int loop_add(struct loop_source *src);
void loop_watch(struct loop_source *src, bool input, bool output);
void loop_del(struct loop_source *src);
void loop_timer_start(struct loop_timer *timer, int64_t ms);
void loop_timer_stop(struct loop_timer *timer);
void loop_task_start(struct loop_task *task);
void loop_task_stop(struct loop_task *task);
int64_t loop_now(void);
int loop_run(void);
void loop_stop(void);

#endif
