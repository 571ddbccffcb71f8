/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * I/O on a file or block device through io_uring. Knows nothing of RDMA: a command
 * works on any registered buffer.
 */
#ifndef RDMABLKD_STAGED_IO_H
#define RDMABLKD_STAGED_IO_H

#include <stdatomic.h>

#include "base/ring.h"
#include "base/worker.h"
#include "store/disk_loss.h"
#include "store/file.h"

struct staged_io;

TAILQ_HEAD(staged_ios, staged_io);

/**
 * struct staged_file - a file, shared by its threads
 * @entry: in the list of all files
 * @watch: hears of losses of the disk that the file is on
 * @file: the open file
 * @identity: of the file's contents in the host's caches; see sync_errors.h
 * @through: each change is durable when its command is answered
 * @errors: number of commands that have failed
 * @failed: an fdatasync of this or another file on its disk has failed, or may have: earlier
 *	writes may be lost, although the next fdatasync would not say so
 * @told: it has failed because of another file, after which a FLUSH of this one may have succeeded
 * @unsynced: the file has been changed since the last fdatasync began
 * @syncing: an fdatasync is under way, for @batch
 * @since: when it began, ms
 * @turn: number of the generation that writes with FUA begin in
 * @fua: number of writes of each generation whose outcome is not known yet
 * @fua_since: when the first of them began, ms
 * @sync: completion of the fdatasync
 * @ring: ring of the fdatasync
 * @batch: FLUSHes that the fdatasync serves, and writes with FUA that ended well beside it
 * @waiting: FLUSHes that came after the fdatasync began; the next one serves them
 * @held: FLUSHes whose fdatasync is done, and writes with FUA, until @fua[!@turn] is 0
 * @synced: FLUSHes and writes that wait for the next generation
 * @lock: guards all fields from @syncing to @synced
 * @slow: does DISCARDs, WRITE_ZEROES and SECURE_ERASEs, in the order they came
 */
struct staged_file {
	LIST_ENTRY(staged_file) entry;
	struct disk_watch watch;
	struct file *file;
	uint8_t identity[RDMABLK_ID_LEN];
	bool through;
	atomic_uint_fast64_t errors;
	atomic_bool failed;
	atomic_bool told;
	atomic_bool unsynced;
	bool syncing;
	int64_t since;
	unsigned int turn;
	unsigned int fua[2];
	int64_t fua_since[2];
	struct ring_source sync;
	struct ring *ring;
	struct staged_ios batch;
	struct staged_ios waiting;
	struct staged_ios held;
	struct staged_ios synced;
	pthread_mutex_t lock;
	struct worker slow;
};

/**
 * struct staged_engine - the I/O of one thread on a file
 * @ring: ring of the thread
 * @file: the file
 * @backlog: READs and WRITEs that found the ring full
 * @looked: @length was read in this turn
 * @length: length of the file, bytes
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
 * @src: its completion
 * @note: brings the command back to its thread
 * @engine: I/O of the thread that owns the command
 * @done: called in that thread when the command has ended, with @status
 * @cancel: when set, I/O that has not begun is not begun any more
 * @op: READ, WRITE, FLUSH, DISCARD, WRITE_ZEROES, SECURE_ERASE
 * @fua: WRITE: durable when done; each is, of a file that is @through
 * @keep: WRITE_ZEROES: the space is kept
 * @buffer: number of the ring's buffer that @buf is in
 * @buf: data of a READ or WRITE, aligned to a page, less than 2 GiB
 * @offset: in the file, a multiple of the logical block
 * @bytes: length, a multiple of the logical block
 * @at: bytes done
 * @tries: number of tries without progress, one after the other
 * @pausing: the command waits for its next try
 * @synced: the write under way has RWF_DSYNC
 * @plain: an earlier write of the command had no RWF_DSYNC
 * @counted: the command is counted in @fua of the file
 * @suspect: error of the write with RWF_DSYNC, -errno; the second try may show whether a
 *	sync has failed
 * @turn: generation that the command is counted in
 * @status: enum rdmablk_reason
 * @job: job for @slow of the file; for DISCARD, WRITE_ZEROES and SECURE_ERASE
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
	struct job job;
};

/*
 * A command has changed the file; to be called before its answer, in any thread. Most calls
 * find the flag set, and then do not take its cache line from the other threads.
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

/* staged_loss.c: what a sync that has failed, or may have failed, means */
void staged_loss_watch(struct staged_file *sf);
void staged_loss_forget(struct staged_file *sf);
void staged_fail(struct staged_file *sf, int ret);
unsigned int staged_syncing(void);
void staged_abandon(void);

#endif
