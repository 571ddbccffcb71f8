// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the arena into the file.
 *
 * The kernel reports an error of write-back once and has forgotten by then which pages
 * it was: they are clean for it. So whatever was changed since the last good fdatasync is
 * remembered here, and written again, all of it, before another may succeed.
 *
 * The arena is alive while it is written: what an adapter writes meanwhile may be in the
 * file in part. It was not flushed yet; the flush that covers it writes it again.
 */
#include <errno.h>

#include "base/log.h"
#include "base/util.h"
#include "store/store_full.h"

#define ZERO_PIECE	65536U		/* looked at for zeroes at once */

static uint64_t align_down(uint64_t value, uint64_t unit)
{
	return value / unit * unit;
}

/**
 * full_changed - note that the file has been changed
 * @full: locked
 * @offset: where
 * @bytes: how many
 */
void full_changed(struct full *full, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset / full->granule;
	uint64_t end = (offset + bytes + full->granule - 1) / full->granule;

	bitmap_set(&full->unsynced, first, end - first);
}

static bool all_zero(const char *p, uint64_t bytes)
{
	return !bytes || (!*p && !memcmp(p, p + 1, bytes - 1));
}

/* Zeroes that the file has already, without space for them. */
static bool is_hole(const struct file *f, const char *p, uint64_t offset,
		    uint64_t bytes)
{
	uint64_t start, end;

	return !f->block_device && all_zero(p, bytes) &&
	       !file_data(f, offset, &start, &end) && start >= offset + bytes;
}

/**
 * full_write - write a piece of the arena to the file, soon
 * @store: locked
 * @offset: where
 * @bytes: how many
 *
 * What was discarded stays so: zeroes are not written where the file has none but them.
 *
 * Return: 0, or an error there has been; file_batch_wait() tells of it again, but not of -EIO
 * because a page of the arena is missing
 */
int full_write(struct store *store, uint64_t offset, uint64_t bytes)
{
	struct full *full = full_of(store);
	const char *base = store->base;
	uint64_t end = min_u64(offset + bytes, full->file.size), run = offset;

	while (offset < end && !full->batch.error) {
		uint64_t n = min_u64(ZERO_PIECE, end - offset);

		bool hole = is_hole(&full->file, base + offset, offset, n);

		/* What was looked at there may be the zeroes of a missing page. */
		if (arena_guard_broken(store->guard)) {
			file_batch_give_up(&full->batch);
			return -EIO;
		}
		if (hole) {
			file_batch_write(&full->batch, base + run, run, offset - run);
			run = offset + n;
		} else if (offset + n - run >= FILE_BATCH_PIECE) {
			file_batch_write(&full->batch, base + run, run, offset + n - run);
			run = offset + n;
		}
		offset += n;
	}
	if (run < offset)
		file_batch_write(&full->batch, base + run, run, offset - run);
	return full->batch.error;
}

/* All granules of a set, from the arena to the file. */
static int write_set(struct store *store, const struct bitmap *set,
		     const atomic_bool *cancelled)
{
	struct full *full = full_of(store);
	uint64_t at = 0, first, count;
	int ret = 0;

	while (!ret && bitmap_next(set, at, &first, &count)) {
		uint64_t most = (64ULL << 20) / full->granule;

		count = min_u64(count, most);
		if (set != &full->unsynced)
			bitmap_set(&full->unsynced, first, count);
		ret = full_write(store, first * full->granule, count * full->granule);
		at = first + count;
		if (cancelled && atomic_load(cancelled))
			ret = -ECANCELED;
	}
	return file_batch_wait(&full->batch) ?: ret;
}

static void all_synced(struct full *full)
{
	uint64_t at = 0, first, count;

	while (bitmap_next(&full->unsynced, at, &first, &count)) {
		bitmap_clear(&full->unsynced, first, count);
		at = first + count;
	}
	full->rewrite = false;
	full->settled = true;
}

/**
 * full_sync - make durable what was written to the file
 * @store: locked
 *
 * Return: 0 or -errno; then all of it is to be written again, which the next call does. As
 * long as no fdatasync has succeeded, that is all of the file: what an earlier process has
 * written may be lost, and nobody knows what that was.
 */
int full_sync(struct store *store)
{
	struct full *full = full_of(store);
	int ret = 0;

	if (full->rewrite) {
		log_info("export %s: writing to %s again what a failed fdatasync may have lost",
			 full->file.name, full->file.path);
		ret = file_shrunk(&full->file) ? -EIO :
		      write_set(store, &full->unsynced, NULL);
	}
	ret = ret ?: file_batch_sync(&full->batch);
	if (!ret) {
		all_synced(full);
		return 0;
	}
	full->rewrite = true;
	if (!full->settled)
		full_compare_leave(full, full->file.size);
	return ret;
}

/*
 * Little that was written, to a disk of which all else is durable, is made so while it is
 * written: one request that the disk has a bit for (FUA), or that the kernel has a flush of
 * its cache behind, instead of a write and an fdatasync. The kernel does that of a block
 * device without a thread; of a regular file it would do an fdatasync all the same.
 *
 * Return: whether @w is such, with its only run of granules.
 */
static bool is_short(struct store *store, const struct store_work *w, struct store_range *run)
{
	const struct full *full = full_of(store);
	uint64_t first, count, more;

	/* Faults on demand know a write and a sync. */
	if (!full->file.block_device || !full->file.direct || full->batch.no_direct ||
	    full->file.fault)
		return false;
	if (!full->settled || bitmap_any(&full->unsynced) || !w->dirty || w->bytes)
		return false;
	if (!bitmap_next(w->dirty, 0, &first, &count) ||
	    bitmap_next(w->dirty, first + count, &more, &more))
		return false;
	run->offset = first * full->granule;
	run->bytes = min_u64(count * full->granule, full->file.size - run->offset);
	return run->bytes <= FILE_BATCH_PIECE &&
	       file_aligned(&full->file, (char *)store->base + run->offset, run->offset,
			    run->bytes);
}

/* What has failed is written again with all that an fdatasync is due for. */
static int write_through(struct store *store, const struct store_range *run)
{
	struct full *full = full_of(store);
	int ret;

	full_changed(full, run->offset, run->bytes);
	file_batch_write_durable(&full->batch, (char *)store->base + run->offset, run->offset,
				 run->bytes);
	ret = file_batch_wait(&full->batch);
	if (ret)
		full->rewrite = true;
	else
		all_synced(full);
	return ret;
}

/* The range of a FUA: whole units of direct I/O. */
static int write_own(struct store *store, const struct store_work *w)
{
	struct full *full = full_of(store);
	uint64_t unit = full->file.direct ? full->file.align : 1;
	uint64_t first = align_down(w->offset, unit);
	uint64_t end = round_up(w->offset + w->bytes, unit);
	int ret;

	full_changed(full, first, end - first);
	ret = full_write(store, first, end - first);
	return file_batch_wait(&full->batch) ?: ret;
}

static void clear_set(struct bitmap *set)
{
	uint64_t at = 0, first, count;

	while (bitmap_next(set, at, &first, &count)) {
		bitmap_clear(set, first, count);
		at = first + count;
	}
}

/* What was cut off is only here, and will be written again when there is room for it. */
static int cut_off(struct full *full)
{
	full_compare_leave(full, full->file.size);
	return -EIO;
}

/* Into the file; it is not synced yet. Return: 0 or -errno. */
static int flush_write(struct store *store, struct store_work *w)
{
	int ret = full_compare(store, &w->cancelled);

	if (!ret && w->dirty)
		ret = write_set(store, w->dirty, &w->cancelled);
	if (!ret && w->bytes)
		ret = write_own(store, w);
	return ret;
}

/*
 * An error of writing is that of the session that has the data, one of the fdatasync is
 * everybody's. Nothing is synced when nothing has changed since the last good fdatasync.
 */
static void flush_all(struct store *store, struct store_works *works)
{
	struct full *full = full_of(store);
	struct store_work *w;
	bool written = false;
	int ret = 0;

	TAILQ_FOREACH(w, works, entry) {
		w->error = flush_write(store, w);
		written |= !w->error;
	}
	if (written && (!full->settled || bitmap_any(&full->unsynced)))
		ret = full_sync(store);
	TAILQ_FOREACH(w, works, entry)
		w->error = w->error ?: ret;
}

/* Return: whether it is all done, or has failed. */
static bool flush_short(struct store *store, struct store_work *w)
{
	struct store_range run;

	w->error = full_compare(store, &w->cancelled);
	if (w->error)
		return true;
	if (!is_short(store, w, &run))
		return false;
	w->error = write_through(store, &run);
	return true;
}

/**
 * full_flush - make durable what sessions have written
 * @store: locked
 * @works: FLUSHes, at least one: their granules, their ranges
 *
 * Fills the @error of each: 0, then its granules are clean; or -errno.
 */
void full_flush(struct store *store, struct store_works *works)
{
	struct full *full = full_of(store);
	struct store_work *w, *first = TAILQ_FIRST(works);
	int ret = arena_guard_broken(store->guard) ? -EIO :
		  file_shrunk(&full->file) ? cut_off(full) : 0;

	if (ret)
		TAILQ_FOREACH(w, works, entry)
			w->error = ret;
	else if (TAILQ_NEXT(first, entry) || !flush_short(store, first))
		flush_all(store, works);
	TAILQ_FOREACH(w, works, entry)
		if (!w->error && w->dirty)
			clear_set(w->dirty);
}
