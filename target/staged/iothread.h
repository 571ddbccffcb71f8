/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads of an export that serve its write queues. Each owns a ring and the lanes that it
 * was given (lane.h). Those of an uncached file do its I/O, too. The one of an arena needs no
 * io_uring.
 */
#ifndef RDMABLKD_IOTHREAD_H
#define RDMABLKD_IOTHREAD_H

#include "base/loop.h"
#include "base/watchdog.h"
#include "staged/staged_io.h"

#define IOTHREAD_BUFFERS	16384	/* registered with a ring; the kernel takes no more */

struct lane;
struct lane_queue;
struct iothread_pool;

TAILQ_HEAD(lane_list, lane);
TAILQ_HEAD(lane_queues, lane_queue);

/**
 * struct iothread - one thread; all fields but @error and @heartbeat are its own
 * @engine: does the I/O, if there is any
 * @all: the threads of the store
 * @thread: its id
 * @note: sets @stop, for iothread_pool_stop()
 * @heartbeat: of the watchdog
 * @alive: lets the thread answer the watchdog
 * @stop: the thread must end
 * @started: @error is valid; guarded by the lock of @all
 * @error: 0, or why the thread could not begin, -errno
 * @polled: lanes that may have completions
 * @answering: queues with answers to be posted
 * @buffers: a bit for each place in the ring's table that is in use
 */
struct iothread {
	struct staged_engine engine;
	struct iothread_pool *all;
	pthread_t thread;
	struct ring_note note;
	struct heartbeat heartbeat;
	struct ring_note alive;
	bool stop;
	bool started;
	int error;
	struct lane_list polled;
	struct lane_queues answering;
	uint64_t buffers[IOTHREAD_BUFFERS / 64];
};

/**
 * struct iothread_pool - the threads of an export
 * @name: of the export
 * @kind: of the threads, for the log
 * @file: of an uncached file; else NULL
 * @turn: upcall whenever a thread wakes up: serve its lanes; set at the start
 * @lock: guards @started and @error of each thread
 * @began: signalled when a thread has set @started
 * @inbox: of the loop, for what the threads ask it to do
 * @next: number, modulo @nr, of the thread for the first lane of the next session
 * @nr: number of threads
 * @thread: the threads
 */
struct iothread_pool {
	const char *name;
	const char *kind;
	struct staged_file *file;
	void (*turn)(struct iothread *t);
	pthread_mutex_t lock;
	pthread_cond_t began;
	struct loop_inbox inbox;
	atomic_uint next;
	unsigned int nr;
	struct iothread thread[];
};

struct iothread_pool *iothread_pool_start(const char *name, struct staged_file *sf,
					  unsigned int nr, void (*turn)(struct iothread *t));
void iothread_pool_attach(struct iothread_pool *all);
void iothread_pool_detach(struct iothread_pool *all);
void iothread_pool_stop(struct iothread_pool *all);
int iothread_free_place(const struct iothread *t, bool writer);
int iothread_get_buffer(struct iothread *t, void *from, size_t bytes, bool writer);
void iothread_put_buffer(struct iothread *t, unsigned int place);

#endif
