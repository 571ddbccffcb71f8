/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * I/O on a file or block device through io_uring. Knows nothing of RDMA: who has a
 * buffer has a command done on it.
 */
#ifndef RDMABLKD_STAGED_IO_H
#define RDMABLKD_STAGED_IO_H

#include <stdatomic.h>

#include "base/ring.h"
#include "store/file.h"

struct staged_io;

TAILQ_HEAD(staged_ios, staged_io);

/**
 * struct staged_file - what the threads share of a file
 * @entry: in the list of all
 * @file: open
 * @identity: of what the host's caches have of it; see sync_errors.h
 * @disk: identity of what it is on; see file_disk()
 * @errors: commands that have failed
 * @failed: an fdatasync has failed, or may have, of this or of another file on @disk: what
 *	was written before may be lost, although the next would not say so
 * @unsynced: the file has been changed since the last fdatasync began
 * @syncing: an fdatasync is under way, for @batch; under @lock, as what follows
 * @stop: the thread for @slow shall end
 * @threaded: it exists
 * @turn: the generation of writes with FUA that begin
 * @fua: of each generation, those of which nobody knows yet whether they, or others with
 *	them, are lost
 * @sync: completion of the fdatasync
 * @ring: where it is
 * @batch: FLUSHes that it serves, and writes with FUA that ended well beside it
 * @waiting: FLUSHes that came after it began; the next one is for them
 * @held: FLUSHes whose fdatasync is done, and writes with FUA, until nothing is left of
 *	@fua[!@turn]
 * @synced: those that are for the next generation
 * @slow: DISCARDs and their like, in the order they came
 * @lock: guards all from @syncing on
 * @wake: there is something in @slow, or @stop
 * @thread: for @slow
 */
struct staged_file {
	LIST_ENTRY(staged_file) entry;
	struct file *file;
	uint8_t identity[RDMABLK_ID_LEN];
	uint8_t disk[RDMABLK_ID_LEN];
	atomic_uint_fast64_t errors;
	atomic_bool failed;
	atomic_bool unsynced;
	bool syncing;
	bool stop;
	bool threaded;
	unsigned int turn;
	unsigned int fua[2];
	struct ring_source sync;
	struct ring *ring;
	struct staged_ios batch;
	struct staged_ios waiting;
	struct staged_ios held;
	struct staged_ios synced;
	struct staged_ios slow;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
};

/**
 * struct staged_engine - one thread's part in a file
 * @ring: its
 * @file: it
 * @backlog: READs and WRITEs that found the ring full
 * @looked: @length is of this turn
 * @length: of the file, bytes
 */
struct staged_engine {
	struct ring ring;
	struct staged_file *file;
	struct staged_ios backlog;
	bool looked;
	uint64_t length;
};

/**
 * struct staged_io - one command, from staged_begin() to its @done
 * @entry: in a list of the engine or the file
 * @src: of its completion
 * @note: brings it back to its thread
 * @engine: of the thread it belongs to
 * @done: in that thread, with @status
 * @cancel: when set, what has not begun is not begun any more
 * @op: READ, WRITE, FLUSH, DISCARD, WRITE_ZEROES, SECURE_ERASE
 * @fua: of a WRITE: durable when it is done
 * @keep: of WRITE_ZEROES: the space is kept
 * @buffer: of the ring, in which @buf is
 * @buf: aligned to a page; of READ and WRITE, which have less than 2 GiB
 * @offset: in the file, a multiple of the logical block, as @bytes
 * @bytes: how many
 * @at: how many of them are done
 * @tries: that came to nothing, one after the other
 * @pausing: it waits for the next try
 * @synced: the write under way is one that makes durable what it writes
 * @plain: one before was not
 * @suspect: such a write has failed so, -errno; when it is tried again it may show whose
 *	fault it was
 * @counted: among @fua of the file
 * @turn: in this generation
 * @status: enum rdmablk_reason
 */
struct staged_io {
	TAILQ_ENTRY(staged_io) entry;
	struct ring_source src;
	struct ring_note note;
	struct staged_engine *engine;
	void (*done)(struct staged_io *io);
	const atomic_bool *cancel;
	uint16_t op;
	bool fua;
	bool keep;
	unsigned int buffer;
	char *buf;
	uint64_t offset;
	uint64_t bytes;
	uint64_t at;
	unsigned int tries;
	bool pausing;
	bool synced;
	bool plain;
	bool counted;
	int suspect;
	unsigned int turn;
	unsigned int status;
};

/*
 * Any thread: a command has changed the file; before it is answered. Most find the flag set,
 * and then do not take its cache line from the others.
 */
static inline void staged_changed(struct staged_file *sf)
{
	if (!atomic_load(&sf->unsynced))
		atomic_store(&sf->unsynced, true);
}

void staged_file_init(struct staged_file *sf, struct file *file, const uint8_t *identity,
		      const uint8_t *disk);
void staged_file_exit(struct staged_file *sf);
int staged_engine_init(struct staged_engine *e, struct staged_file *sf,
		       unsigned int buffers);
void staged_engine_exit(struct staged_engine *e);
void staged_engine_turn(struct staged_engine *e, bool wait);
void staged_begin(struct staged_io *io);

#endif
