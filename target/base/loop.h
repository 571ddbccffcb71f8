/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop: one thread, epoll, timers. Code that may block runs in other threads,
 * which put what they have done into an inbox of the loop. Everything else runs in the loop
 * and needs no locks. With nothing to do it sleeps without a timeout.
 *
 * A peer can send without end, so a handler does not take all that has come. Tasks do that bit
 * by bit; each turn of the loop gives all tasks together a few milliseconds.
 */
#ifndef RDMABLKD_LOOP_H
#define RDMABLKD_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct latency;

/**
 * struct loop_source - a descriptor the loop watches for input
 * @fd: non-blocking; belongs to its owner
 * @ready: called when there is something to read, or what loop_watch() asks for
 */
struct loop_source {
	int fd;
	void (*ready)(struct loop_source *src);
};

/**
 * struct loop_timer - fires once; zeroed memory is a stopped timer
 * @entry: in the list of the loop
 * @deadline: time at which it fires, ms; owned by the loop
 * @armed: the timer runs; owned by the loop
 * @expired: called when the time has come; may start the timer again
 */
struct loop_timer {
	TAILQ_ENTRY(loop_timer) entry;
	int64_t deadline;
	bool armed;
	void (*expired)(struct loop_timer *timer);
};

/**
 * struct loop_task - one bit of a long piece of work; zeroed memory is a stopped task
 * @entry: in the list of the loop
 * @queued: the task is started; owned by the loop, others may read it
 * @run: does a bit, once for each start; starts the task again if there is more. May
 *	stop any task, and free the memory of a stopped one
 *
 * Tasks run in the order in which they were started, after descriptors and before
 * timers: a peer that has just been heard does not count as silent.
 */
struct loop_task {
	TAILQ_ENTRY(loop_task) entry;
	bool queued;
	void (*run)(struct loop_task *task);
};

/**
 * struct loop_note - a call that another thread asks the loop for
 * @entry: in the list of the inbox, from loop_inbox_post() to @run
 * @run: called in the loop; may free the note
 */
struct loop_note {
	TAILQ_ENTRY(loop_note) entry;
	void (*run)(struct loop_note *note);
};

TAILQ_HEAD(loop_notes, loop_note);

/**
 * struct loop_inbox - notes for the loop
 * @source: eventfd, written when a note comes to an empty list
 * @lock: protects @notes
 * @notes: notes that have not run yet
 */
struct loop_inbox {
	struct loop_source source;
	pthread_mutex_t lock;
	struct loop_notes notes;
};

int loop_init(void);
void loop_exit(void);
int loop_add(struct loop_source *src);
void loop_watch(struct loop_source *src, bool input, bool output);
void loop_del(struct loop_source *src);
int loop_inbox_open(struct loop_inbox *inbox);
void loop_inbox_post(struct loop_inbox *inbox, struct loop_note *note);
void loop_inbox_ignore(struct loop_inbox *inbox);
void loop_inbox_close(struct loop_inbox *inbox);
void loop_timer_start(struct loop_timer *timer, int64_t ms);
void loop_timer_stop(struct loop_timer *timer);
void loop_task_start(struct loop_task *task);
void loop_task_stop(struct loop_task *task);
int64_t loop_now(void);
int loop_run(void);
const struct latency *loop_turns(void);
void loop_stop(void);

#endif
