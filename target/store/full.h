/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cached file (cache=full): all of its contents are in an arena.
 */
#ifndef RDMABLKD_FULL_H
#define RDMABLKD_FULL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "store/disk_loss.h"
#include "store/file_batch.h"
#include "store/store.h"

#define FULL_DEPTH	16	/* requests to the file at once */
#define FULL_PROGRESS_S	10	/* seconds between two progress lines in the log */

/* What a file has heard of its disk: bits of @lost */
#define FULL_LOST	1U	/* it has lost writes */
#define FULL_LOST_ANY	2U	/* any that it had, not only those that are not synced */

/**
 * struct full - the file behind an arena
 * @file: the open file
 * @batch: reads and writes the file
 * @watch: hears of losses of the disk that @file is on
 * @lost: what was heard and not yet looked at, FULL_LOST and FULL_LOST_ANY; any thread
 * @published: the store, when its trailer is filled in; any thread
 * @room: bytes of address space that the arena may grow into; 0: it cannot grow
 * @fixed: the size was given and stays
 * @granule: unit of dirty ranges and of @unsynced, bytes, a power of two
 * @ended: a session has ended that may have left unflushed writes
 * @lock: guards all fields from @unsynced to @bounce, @batch and the size of @file: between
 *	the store thread and a worker that lets the store grow
 * @unsynced: granules of the file changed since the last good fdatasync
 * @stamp: of @file, before it was read into the arena or after the last good sync: a later
 *	write is that of another program
 * @settled: an fdatasync has succeeded since the file was opened, so all of the file but
 *	@unsynced is durable. Before, writes of an earlier process may be in a cache
 * @rewrite: the last fdatasync failed, or another operation did half of its work: all of
 *	@unsynced must be written again, whatever the page cache says of it
 * @mend: the disk has lost writes: @unsynced must be written again, too. That is no failure of
 *	this file, whose arena has everything
 * @owed: a loss was heard of that did not begin a comparison; the background, a FLUSH or the end
 *	of the store begins one later
 * @failing: the last sync failed, and other files of the disk were told
 * @told_again: other files were told again since
 * @pace: a sync of the FLUSH under way has failed, not for the first time: its answer waits
 * @patience: time until which losses that others tell of meanwhile are mended, ms; see
 *	full_patience()
 * @rounds: how often such a loss was mended since full_patience()
 * @noted: value of sync_errors_opened() at the last note of a loss
 * @noted_s: time of that note, seconds
 * @skipped: the last loss was not noted
 * @compare_at: where to compare arena and file next, bytes
 * @compare_left: bytes that are still to be compared. Changed by full_compare_leave() only;
 *	may be read without the lock
 * @compared_s: when the last comparison began or ended, or the file was opened, seconds
 * @compare_wrote: bytes that were found to differ, and written
 * @compare_sync: bytes that the comparison wrote are not synced yet
 * @compare_said: last error of the comparison in the background, so that it is logged once
 * @progress: time of the last progress line in the log, seconds
 * @bounce: the piece of the file that is compared
 * @errors: number of commands that have failed; any thread
 * @seen: status when the loop last got @lock; for the loop only
 */
struct full {
	struct file file;
	struct file_batch batch;
	struct disk_watch watch;
	atomic_uint lost;
	struct store *_Atomic published;
	uint64_t room;
	bool fixed;
	uint32_t granule;
	atomic_bool ended;
	pthread_mutex_t lock;
	struct bitmap unsynced;
	struct file_stamp stamp;
	bool settled;
	bool rewrite;
	bool mend;
	bool owed;
	bool failing;
	bool told_again;
	bool pace;
	int64_t patience;
	unsigned int rounds;
	unsigned int noted;
	int64_t noted_s;
	bool skipped;
	uint64_t compare_at;
	uint64_t compare_left;
	int64_t compared_s;
	uint64_t compare_wrote;
	bool compare_sync;
	int compare_said;
	int64_t progress;
	void *bounce;
	atomic_uint_fast64_t errors;
	struct store_status seen;
};

/* Return: seconds of a clock, for FULL_PROGRESS_S */
static inline int64_t full_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static inline struct full *full_of(const struct store *store)
{
	return store->priv;
}

/* Sets how many bytes are still to be compared; locked. */
static inline void full_compare_leave(struct full *full, uint64_t bytes)
{
	__atomic_store_n(&full->compare_left, bytes, __ATOMIC_RELAXED);
}

/* Whether a loss of the disk is not made good yet; locked. */
static inline bool full_has_lost(const struct full *full)
{
	return atomic_load(&full->lost) || full->mend || full->compare_left;
}

extern unsigned int full_end_pause_ms;

int full_fill(struct store *store, struct file_batch *batch, uint64_t from, bool blank);
void full_changed(struct full *full, uint64_t offset, uint64_t bytes);
void full_patience(struct full *full);
int full_sync(struct store *store, const atomic_bool *cancelled);
void full_failures_end(struct full *full);
void full_flush(struct store *store, struct store_works *works);
int full_compare_init(struct full *full);
void full_compare_begin(struct full *full);
int full_compare(struct store *store, const atomic_bool *cancelled);
bool full_compare_idle(struct store *store);

#endif
