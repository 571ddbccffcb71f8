/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An io_uring and the thread that owns it. Everything the thread waits for completes
 * here: I/O, readable descriptors, notes from other threads. All functions but
 * ring_tell() are for that thread.
 *
 * A thread without I/O has an epoll in place of the io_uring, which an administrator or a
 * container may have forbidden.
 */
#ifndef RDMABLKD_RING_H
#define RDMABLKD_RING_H

#include <liburing.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define RING_DEPTH	2048	/* entries under way at once; watches do not count */

/**
 * struct ring_source - what a completion belongs to
 * @ready: called with the result and the flags of the completion
 */
struct ring_source {
	void (*ready)(struct ring_source *src, int res, unsigned int flags);
};

/**
 * struct ring_note - a call that another thread asks the owner of a ring for
 * @entry: the ring's, from ring_tell() to @run
 * @run: called in the owner's thread
 */
struct ring_note {
	TAILQ_ENTRY(ring_note) entry;
	void (*run)(struct ring_note *note);
};

TAILQ_HEAD(ring_notes, ring_note);

/**
 * struct ring - an io_uring, or an epoll
 * @uring: the io_uring
 * @epoll: descriptor of the epoll; -1: there is @uring instead
 * @wake: completion of the read of @event
 * @event: eventfd, written to with each first note; -1: a ring without notes
 * @count: what was read from it
 * @busy: entries given out whose completion has not come; watches do not count
 * @lock: guards @notes
 * @notes: not yet run
 */
struct ring {
	struct io_uring uring;
	int epoll;
	struct ring_source wake;
	int event;
	uint64_t count;
	unsigned int busy;
	pthread_mutex_t lock;
	struct ring_notes notes;
};

int ring_init(struct ring *r, unsigned int buffers);
int ring_init_epoll(struct ring *r);
int ring_init_files(struct ring *r, unsigned int depth, const int *fds, unsigned int nr);
void ring_exit(struct ring *r);
struct io_uring_sqe *ring_sqe(struct ring *r, struct ring_source *src);
bool ring_full(const struct ring *r);
int ring_watch(struct ring *r, struct ring_source *src, int fd);
bool ring_unwatch(struct ring *r, struct ring_source *src, int fd, struct ring_source *end);
void ring_pause(struct ring *r, struct ring_source *src);
void ring_turn(struct ring *r, bool wait);
void ring_tell(struct ring *r, struct ring_note *note);
int ring_set_buffer(struct ring *r, unsigned int slot, void *from, size_t bytes);

#endif
