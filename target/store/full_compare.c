// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bringing a file up to date when nobody knows what of its arena was written: after a
 * session that ended without a flush, and after a daemon that did. All of the file is
 * read, compared and, where it differs, written; in the background, until somebody
 * wants a flush.
 *
 * What is read must be what the disk has, not what the page cache has: after a failed
 * write-back the two differ. Direct I/O sees to that, or the cache is told to forget.
 */
#include <errno.h>
#include <fcntl.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "base/util.h"
#include "store/store_full.h"

#define STEP_IDLE	(512ULL << 10)	/* bytes compared at once in the background */
#define STEP_FLUSH	(8ULL << 20)	/* while somebody waits */
#define STEP_HOLE	(16ULL << 20)	/* where there is nothing to read */
#define MIB		(1ULL << 20)

/**
 * full_compare_init - get ready to compare
 * @full: its file is open
 *
 * Return: 0 or -ENOMEM.
 */
int full_compare_init(struct full *full)
{
	int ret = posix_memalign(&full->bounce, FILE_BATCH_PIECE, STEP_FLUSH);

	return -ret;
}

/**
 * full_compare_begin - all of the file has to be compared
 * @full: locked
 *
 * What has been compared since an earlier begin has to be compared again.
 */
void full_compare_begin(struct full *full)
{
	full_compare_leave(full, full->file.size);
	full->progress = full_now_s();
	log_info("export %s: %s is compared with what was written, and brought up to date",
		 full->file.name, full->file.path);
}

/*
 * Writes what differs of a piece; @is: what the file has, NULL: zeroes. Of an arena with a
 * missing page nothing is written: what was read there may be zeroes in its place.
 */
static int write_differing(struct store *store, const char *is, uint64_t at,
			   uint64_t bytes)
{
	static const char zeroes[4096];
	struct full *full = full_of(store);
	const char *want = (char *)store->base + at;
	uint64_t run = 0, n;

	for (uint64_t off = 0; off < bytes; off += n) {
		n = min_u64(sizeof(zeroes), bytes - off);
		if (memcmp(want + off, is ? is + off : zeroes, n))
			continue;
		if (arena_guard_broken(store->guard)) {
			file_batch_give_up(&full->batch);
			return -EIO;
		}
		if (run < off) {
			full_changed(full, at + run, off - run);
			file_batch_write(&full->batch, want + run, at + run, off - run);
			full->compare_wrote += off - run;
		}
		run = off + n;
	}
	if (arena_guard_broken(store->guard)) {
		file_batch_give_up(&full->batch);
		return -EIO;
	}
	if (run < bytes) {
		full_changed(full, at + run, bytes - run);
		file_batch_write(&full->batch, want + run, at + run, bytes - run);
		full->compare_wrote += bytes - run;
	}
	return 0;
}

/* Reads and compares a piece. */
static int compare_data(struct store *store, uint64_t at, uint64_t bytes)
{
	struct full *full = full_of(store);
	int ret;

	if (!full->file.direct || full->batch.no_direct ||
	    !file_aligned(&full->file, full->bounce, at, bytes))
		posix_fadvise(full->file.buffered, (off_t)at, (off_t)bytes,
			      POSIX_FADV_DONTNEED);
	file_batch_read(&full->batch, full->bounce, at, bytes);
	ret = file_batch_wait(&full->batch);
	if (ret)
		return ret;
	ret = write_differing(store, full->bounce, at, bytes);
	return file_batch_wait(&full->batch) ?: ret;
}

static void tell(struct full *full)
{
	int64_t now = full_now_s();

	if (now - full->progress < FULL_PROGRESS_S)
		return;
	full->progress = now;
	sd_notify(0, "EXTEND_TIMEOUT_USEC=120000000");	/* if this is the end */
	log_info("export %s: %llu of %llu MiB still to be compared with %s",
		 full->file.name, (unsigned long long)(full->compare_left / MIB),
		 (unsigned long long)(full->file.size / MIB), full->file.path);
}

static void advance(struct full *full, uint64_t bytes)
{
	full->compare_at += bytes;
	if (full->compare_at >= full->file.size)
		full->compare_at = 0;
	full_compare_leave(full, full->compare_left -
			   min_u64(bytes, full->compare_left));
	full->compare_sync = true;
	tell(full);
}

/* The next piece, at most @step where there is something to read. */
static int compare_step(struct store *store, uint64_t step)
{
	struct full *full = full_of(store);
	uint64_t at = full->compare_at, start, end, bytes;
	int ret = file_shrunk(&full->file) ? -EIO :
		  file_data(&full->file, at, &start, &end);

	if (ret)
		return ret;
	start = start / step * step;	/* a multiple of any alignment */
	if (start > at) {
		bytes = min_u64(start - at, STEP_HOLE);
		ret = write_differing(store, NULL, at, bytes);
		ret = file_batch_wait(&full->batch) ?: ret;
	} else {
		bytes = min_u64(step - at % step, full->file.size - at);
		ret = compare_data(store, at, bytes);
	}
	if (!ret)
		advance(full, bytes);
	return ret;
}

static int compare_end(struct store *store)
{
	struct full *full = full_of(store);
	int ret = full_sync(store);

	if (ret)
		return ret;
	full->compare_sync = false;
	log_info("export %s: %s is up to date, %llu bytes were not", full->file.name,
		 full->file.path, (unsigned long long)full->compare_wrote);
	full->compare_wrote = 0;
	return 0;
}

/* Has a session ended that left something? */
static void look_for_ended(struct full *full)
{
	if (atomic_exchange(&full->ended, false))
		full_compare_begin(full);
}

/**
 * full_compare - finish what is to be compared
 * @store: locked
 * @cancelled: nobody waits any more; or NULL
 *
 * Return: 0: the file is up to date but for what live sessions write; or -errno.
 */
int full_compare(struct store *store, const atomic_bool *cancelled)
{
	struct full *full = full_of(store);
	int ret = 0;

	look_for_ended(full);
	while (!ret && full->compare_left) {
		ret = compare_step(store, STEP_FLUSH);
		if (cancelled && atomic_load(cancelled))
			ret = -ECANCELED;
	}
	if (!ret && full->compare_sync)
		ret = compare_end(store);
	return ret;
}

/**
 * full_compare_idle - compare a little, in the background
 * @store: locked
 *
 * Return: whether something is left. Nothing is after an error, but for the next try.
 */
bool full_compare_idle(struct store *store)
{
	struct full *full = full_of(store);
	int ret = 0;

	look_for_ended(full);
	if (full->compare_left)
		ret = compare_step(store, STEP_IDLE);
	else if (full->compare_sync)
		ret = compare_end(store);
	if (ret && ret != full->compare_said)
		log_err("export %s: cannot bring %s up to date: %s", full->file.name,
			full->file.path, strerror(-ret));
	full->compare_said = ret;
	return !ret && (full->compare_left || full->compare_sync);
}
