/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop: one thread, epoll, timers. Everything but the jobs of
 * worker.h runs in it, so the rooms above it need no locks. With nothing to do
 * it sleeps without a timeout.
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

int loop_init(void);
void loop_exit(void);
int loop_add(struct loop_source *src);
void loop_watch(struct loop_source *src, bool input, bool output);
void loop_del(struct loop_source *src);
void loop_timer_start(struct loop_timer *timer, int64_t ms);
void loop_timer_stop(struct loop_timer *timer);
int64_t loop_now(void);
int loop_run(void);
void loop_stop(void);

#endif
