// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cached file: reading the file into the arena, writing the arena to the file,
 * comparing both.
 *
 * The kernel reports an error of write-back once, and by then it has marked the pages clean
 * and forgotten them. So all changes since the last good fdatasync are remembered here, and
 * are written again, all of them, before another fdatasync may succeed.
 *
 * Adapters write to the arena while it is written to the file, so the file may get part of a
 * newer write. That write was not flushed yet; the flush that covers it writes it again.
 *
 * Arena and file are compared when it is unknown which changes of the arena are in the
 * file: after a session, or a daemon, that ended without a flush. All of the file is read,
 * compared and, where it differs, written; in the background, until a flush is wanted.
 *
 * Files on one disk share its cache, and the kernel reports a loss of that cache to one of them
 * (disk_loss.c). A cached file that hears of one has lost nothing, because the arena has all of
 * it. The store then mends the file. Data that was not synced is written again. Data that was
 * synced may be gone, too: the sync may have ended well after the loss, and before anybody heard
 * of it. So all of the file is compared, under the same rules as after a session.
 *
 * A loss heard of before a flush is mended before the flush writes. One heard of while the flush
 * writes or syncs is looked for after its last sync, before it is answered. One heard of later is
 * mended by the next flush, by the store thread after other work or within a minute, or at the
 * end. Mending delays only flushes of the same export; the loop never waits for it.
 *
 * On a disk with many exports others may tell of a loss during each sync. A sync of this file
 * that has succeeded is no failure of its own, so the flush tries again, with longer and longer
 * pauses. It fails after a minute, and not before the fourth try, however long the tries take. A
 * file whose syncs keep failing answers a FLUSH, and so tells the others, once a second at most.
 *
 * The comparison begins with a sync, so that a disk that still fails says so before all of the
 * file has been read. A file whose syncs go on failing, say on a file system that has shut
 * itself down, tells others each time. The first failure and the end of the failures have them
 * compare their files. In between they only write again what they have not synced, and compare
 * every ten minutes. Else each FLUSH of that file would have all of the others compared.
 *
 * The arena is filled from the disk's contents, and compared with them, not with those of the
 * page cache: after a failed write-back the two differ, although no later sync says so. Direct
 * I/O reads the disk, or else the cache is told to drop its pages.
 */
#include <errno.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"
#include "store/arena.h"
#include "store/full.h"
#include "store/sync_errors.h"

#define MIB		(1ULL << 20)
#define STEP_FILL	(64ULL << 20)	/* bytes read before each check for errors */
#define TIMEOUT_US	"600000000"	/* of the service manager, from each step on */
#define UNIT		4096ULL		/* pieces of a file begin and end at multiples */
#define ZERO_PIECE	65536U		/* bytes searched for zeroes at once */
#define STEP_IDLE	(512ULL << 10)	/* bytes compared per step in the background */
#define STEP_FLUSH	(8ULL << 20)	/* the same while a flush waits */
#define STEP_HOLE	(16ULL << 20)	/* the same in a hole of the file */
#define NOTE_S		10	/* seconds between two notes of failures in a row */
#define OWED_S		600	/* least time between comparisons for losses told again, seconds */
#define PACE_MS		1000	/* how late a further failure in a row is answered */
#define PATIENCE_MS	60000	/* for losses that others tell of while one is mended */
#define PATIENCE_TRIES	3	/* further tries at least, even if they take longer */
#define PAUSE_MS	10	/* before the first other try; doubles each time */
#define PAUSE_MAX_MS	1000

/*
 * From the file into the arena
 */

static int read_failed(const struct file *f, const struct file_batch *batch, int ret)
{
	log_err("export %s: cannot read %s at byte %llu: %s", f->name, f->path,
		(unsigned long long)batch->error_at, strerror(-ret));
	return ret;
}

/*
 * Reads part of a file as the disk has it. Even a descriptor with O_DIRECT may read from the page
 * cache: some file systems allow that without a word. The kernel keeps a folio that is partly
 * outside the range that is dropped, and one may exceed a piece.
 */
static void read_from_disk(struct file_batch *batch, void *buf, uint64_t at, uint64_t bytes)
{
	uint64_t start = at / STEP_FLUSH * STEP_FLUSH;

	file_drop_cached(batch->file, start, round_up(at + bytes, STEP_FLUSH) - start);
	file_batch_read(batch, buf, at, bytes);
}

/* @told: time of the last progress line in the log, seconds */
static void tell_read(const struct file *f, uint64_t at, int64_t *told)
{
	int64_t now = full_now_s();

	if (now - *told < FULL_PROGRESS_S)
		return;
	*told = now;
	log_info("export %s: %llu of %llu MiB read from %s", f->name,
		 (unsigned long long)(at / MIB),
		 (unsigned long long)(f->size / MIB), f->path);
}

static int read_piece(const struct store *store, struct file_batch *batch, uint64_t from,
		      uint64_t to, int64_t *told)
{
	char *base = store->base;
	int ret = 0;

	while (!ret && from < to) {
		uint64_t bytes = min_u64(STEP_FILL, to - from);

		if (atomic_load(&store->cancelled))
			return -ECANCELED;
		read_from_disk(batch, base + from, from, bytes);
		ret = file_batch_wait(batch);
		if (!ret && thread_end_wanted())
			ret = -EINTR;
		sd_notify(0, "EXTEND_TIMEOUT_USEC=" TIMEOUT_US);
		from += bytes;
		if (!ret)
			tell_read(batch->file, from, told);
	}
	return ret ? read_failed(batch->file, batch, ret) : 0;
}

/**
 * full_fill - fill an arena from its file
 * @store: with an arena whose pages exist
 * @batch: ring of the file; the arena is filled up to the size of that file
 * @from: first offset, bytes, a multiple of the block
 * @blank: the arena is zero, so holes of the file need not be touched
 *
 * Return: 0 or -errno, logged.
 */
int full_fill(struct store *store, struct file_batch *batch, uint64_t from, bool blank)
{
	const struct file *f = batch->file;
	uint64_t at = from, data = 0, start, end;
	int64_t told = full_now_s();
	char *base = store->base;
	int ret = 0;

	while (!ret && at < f->size) {
		ret = file_data(f, at, &start, &end);
		if (ret)
			return read_failed(f, batch, ret);
		if (start > at)
			start = start / UNIT * UNIT > at ? start / UNIT * UNIT : at;
		end = min_u64(round_up(end, UNIT), f->size);
		if (!blank)
			memset(base + at, 0, start - at);
		ret = read_piece(store, batch, start, end, &told);
		data += end - start;
		at = end;
	}
	if (!ret)
		log_info("export %s: %llu bytes read from %s, %llu skipped as empty",
			 f->name, (unsigned long long)data, f->path,
			 (unsigned long long)(f->size - from - data));
	return ret;
}

/*
 * From the arena into the file
 */

/**
 * full_changed - note that the file has been changed
 * @full: locked
 * @offset: first byte
 * @bytes: number of bytes
 */
void full_changed(struct full *full, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset / full->granule;
	uint64_t end = (offset + bytes + full->granule - 1) / full->granule;

	bitmap_set(&full->unsynced, first, end - first);
}

/* Whether a piece of the arena is all zeroes, and a hole of the file already */
static bool is_hole(const struct file *f, const char *p, uint64_t offset,
		    uint64_t bytes)
{
	uint64_t start, end;

	return !f->block_device && all_zero(p, bytes) &&
	       !file_data(f, offset, &start, &end) && start >= offset + bytes;
}

/*
 * Begins to write a piece of the arena to the file.
 *
 * Discarded space stays free: zeroes are not written into a hole.
 *
 * Return: 0, or an error of an earlier write; file_batch_wait() returns it, too, but not
 * -EIO because a page of the arena is missing
 */
static int full_write(struct store *store, uint64_t offset, uint64_t bytes)
{
	struct full *full = full_of(store);
	const char *base = store->base;
	uint64_t end = min_u64(offset + bytes, full->file.size), run = offset;

	while (offset < end && !full->batch.error) {
		uint64_t n = min_u64(ZERO_PIECE, end - offset);

		bool hole = is_hole(&full->file, base + offset, offset, n);

		/* The zeroes may be those of a missing page. */
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

/* Writes all granules of a set from the arena to the file. */
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

/**
 * full_failures_end - tell others that failures in a row are over
 * @full: locked
 *
 * Other cached files have not compared their contents for losses that were told again, so they are
 * told to do so now. Another process may have opened an uncached file between the last note and
 * the last failure, so a skipped note is written now. But if this process has opened one since
 * that failure, no note is written: that file has lost nothing.
 */
void full_failures_end(struct full *full)
{
	if (full->skipped && full->noted == sync_errors_opened())
		sync_errors_note_disk(full->file.name, full->watch.disk);
	full->skipped = false;
	if (full->told_again)
		disk_loss_tell(&full->watch, false);
	full->failing = false;
	full->told_again = false;
}

/*
 * A loss that is told of only now is too late: data that it may have taken counts as synced, and
 * would not be written again. So all of the file has to be compared.
 */
static void look_for_late(struct full *full)
{
	if (atomic_load(&full->lost))
		atomic_fetch_or(&full->lost, FULL_LOST_ANY);
}

static void all_synced(struct full *full)
{
	uint64_t at = 0, first, count;

	while (bitmap_next(&full->unsynced, at, &first, &count)) {
		bitmap_clear(&full->unsynced, first, count);
		at = first + count;
	}
	full->rewrite = false;
	full->mend = false;
	full->settled = true;
	full_failures_end(full);
	file_stamp(&full->file, &full->stamp);
	look_for_late(full);
}

/*
 * Whether to note a loss. The notes have a loss in a row of failures already, unless an uncached
 * file was opened since the last note: by this process, or perhaps by another one within NOTE_S.
 * When the row ends, full_failures_end() writes a note that was skipped.
 */
static bool note_wanted(struct full *full)
{
	unsigned int opened = sync_errors_opened();
	int64_t now = full_now_s();

	full->skipped = full->failing && full->noted == opened && now - full->noted_s < NOTE_S;
	if (full->skipped)
		return false;
	full->noted = opened;
	full->noted_s = now;
	return true;
}

/*
 * A sync has failed, or may have inside a durable write. This file has lost nothing, because
 * its arena has everything; others on the disk may have.
 */
static void sync_failed(struct full *full, int ret)
{
	bool recent;

	full->rewrite = true;
	log_peer(NULL, LOG_ERR,
		 "export %s: data written to %s cannot be made durable: %s; its arena keeps it, and the next FLUSH writes it again",
		 full->file.name, full->file.path, strerror(-ret));
	if (!disk_loss_shared(ret))
		return;
	/* A FLUSH is slowed down also when syncs of this file fail and succeed by turns. */
	recent = full->noted_s && full_now_s() - full->noted_s < NOTE_S;
	disk_loss_tell(&full->watch, full->failing);
	if (note_wanted(full))
		sync_errors_note_disk(full->file.name, full->watch.disk);
	disk_loss_fail(&full->watch);
	full->pace |= full->failing || recent;
	full->told_again = full->failing;
	full->failing = true;
}

/*
 * An error of the page cache's writes is no loss of the disk's cache. The fdatasync follows in
 * any case, because it may have such a loss to report.
 */
static int sync_now(struct full *full)
{
	int written, ret;

	disk_loss_sync_begin(&full->watch);
	written = file_batch_write_back(&full->batch);
	ret = file_batch_sync(&full->batch);
	if (ret)
		sync_failed(full, ret);
	disk_loss_sync_end(&full->watch);
	return ret ?: written;
}

/* Takes over losses of the disk that this file has heard of. */
static void look_for_lost(struct store *store)
{
	struct full *full = full_of(store);
	unsigned int lost = atomic_exchange(&full->lost, 0);

	/* Only this process mends the loss, and it may be killed when it has begun to. */
	if (lost)
		arena_mending(store);
	full->mend |= lost;
	/* Before the first sync it is unknown what is not synced. */
	if (lost & FULL_LOST_ANY || (lost && !full->settled))
		full_compare_begin(full);
	else
		full->owed |= lost;
}

static int write_again(struct store *store, const atomic_bool *cancelled)
{
	struct full *full = full_of(store);

	if (!full->rewrite && !full->mend)
		return 0;
	if (bitmap_any(&full->unsynced))
		log_peer(NULL, LOG_INFO, "export %s: writing again to %s what was not synced",
			 full->file.name, full->file.path);
	return file_shrunk(&full->file) ? -EIO : write_set(store, &full->unsynced, cancelled);
}

/*
 * Writes what a failed sync, or the disk, may have lost, and makes all writes durable.
 *
 * Return: 0; 1: the sync has succeeded, but others have told of a loss meanwhile, and it may be
 * one of what was just written; or -errno
 */
static int sync_once(struct store *store, const atomic_bool *cancelled)
{
	struct full *full = full_of(store);
	int ret;

	look_for_lost(store);
	ret = write_again(store, cancelled) ?: sync_now(full);
	if (ret == -ECANCELED)
		return ret;
	if (ret) {
		full->rewrite = true;
		if (!full->settled)
			full_compare_leave(full, full->file.size);
		return ret;
	}
	if (atomic_load(&full->lost))
		return 1;
	all_synced(full);
	return 0;
}

/**
 * full_patience - mend losses that others tell of from now on for PATIENCE_MS at most
 * @full: locked
 */
void full_patience(struct full *full)
{
	full->patience = monotonic_ms() + PATIENCE_MS;
	full->rounds = 0;
}

/*
 * Pauses before another try. Return: 0; -ECANCELED: nobody waits any more; -EIO: it has taken
 * too long
 */
static int be_patient(struct full *full, const atomic_bool *cancelled)
{
	unsigned int longer = full->rounds < 8 ? full->rounds : 8;
	bool late = monotonic_ms() >= full->patience;

	if (cancelled && atomic_load(cancelled))
		return -ECANCELED;
	if (late && full->rounds >= PATIENCE_TRIES) {
		log_peer(NULL, LOG_ERR,
			 "export %s: other exports have told of losses of the disk of %s again and again for %d s",
			 full->file.name, full->file.path, PATIENCE_MS / 1000);
		return -EIO;
	}
	full->rounds++;
	pause_ms(min_u64(PAUSE_MS << longer, PAUSE_MAX_MS));
	return 0;
}

/**
 * full_sync - make all writes to the file durable
 * @store: locked; after full_patience()
 * @cancelled: set when the caller does not wait any more; or NULL
 *
 * Return: 0 or -errno. After an error the next call writes all unsynced granules again. As
 * long as no fdatasync has succeeded, all of the file is compared, too, because unknown
 * writes of an earlier process may be lost. 0 with full_has_lost(): the disk has lost writes,
 * so the file has to be compared.
 */
int full_sync(struct store *store, const atomic_bool *cancelled)
{
	int ret;

	while ((ret = sync_once(store, cancelled)) > 0) {
		ret = be_patient(full_of(store), cancelled);
		if (ret)
			break;
	}
	return ret;
}

/*
 * Comparing both
 */

/**
 * full_compare_init - prepare for comparisons
 * @full: its file is open
 *
 * Return: 0 or -ENOMEM.
 */
int full_compare_init(struct full *full)
{
	int ret = posix_memalign(&full->bounce, FILE_BATCH_PIECE, STEP_FLUSH);

	full->compared_s = full_now_s();
	return -ret;
}

/**
 * full_compare_begin - let all of the file be compared
 * @full: locked. A comparison under way begins again
 */
void full_compare_begin(struct full *full)
{
	bool begun = full->compare_left == full->file.size;

	full->owed = false;
	full_compare_leave(full, full->file.size);
	full->progress = full_now_s();
	full->compared_s = full->progress;
	if (!begun)
		log_info("export %s: %s is compared with its arena, and brought up to date",
			 full->file.name, full->file.path);
}

/*
 * Writes the parts of a piece that differ from the file's contents @is (NULL: zeroes).
 * When a page of the arena is missing, nothing is written, because zeroes may have been read
 * in its place.
 */
static int write_differing(struct store *store, const char *is, uint64_t at,
			   uint64_t bytes)
{
	static const char zeroes[4096];
	struct full *full = full_of(store);
	const char *want = (char *)store->base + at;
	uint64_t run = 0, n;

	if (arena_lacks_page(store))
		return -EIO;
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

	read_from_disk(&full->batch, full->bounce, at, bytes);
	ret = file_batch_wait(&full->batch);
	if (ret)
		return ret;
	ret = write_differing(store, full->bounce, at, bytes);
	return file_batch_wait(&full->batch) ?: ret;
}

static void tell_compared(struct full *full)
{
	int64_t now = full_now_s();

	if (now - full->progress < FULL_PROGRESS_S)
		return;
	full->progress = now;
	sd_notify(0, "EXTEND_TIMEOUT_USEC=120000000");	/* during a shutdown */
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
	tell_compared(full);
}

/* Compares the next piece, at most @step bytes where the file has data. */
static int compare_step(struct store *store, uint64_t step)
{
	struct full *full = full_of(store);
	uint64_t at = full->compare_at, start, end, bytes;
	bool first = full->compare_left == full->file.size;
	int ret = file_shrunk(&full->file) || (first && arena_has_lost(store)) ? -EIO :
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

/* All of it is compared and synced. */
static void compare_end(struct full *full)
{
	full->compare_sync = false;
	full->compared_s = full_now_s();
	log_info("export %s: %s is up to date, %llu bytes were not", full->file.name,
		 full->file.path, (unsigned long long)full->compare_wrote);
	full->compare_wrote = 0;
}

/* A session that ended with unflushed writes begins a comparison; so may a loss of the disk. */
static void look_for_ended(struct store *store)
{
	struct full *full = full_of(store);
	bool due;

	look_for_lost(store);
	due = full->owed && full_now_s() - full->compared_s >= OWED_S;
	if (atomic_exchange(&full->ended, false) || due)
		full_compare_begin(full);
}

static int compare_all(struct store *store, const atomic_bool *cancelled)
{
	struct full *full = full_of(store);
	int ret;

	look_for_ended(store);
	ret = full->mend ? full_sync(store, cancelled) : 0;
	while (!ret && full->compare_left) {
		ret = compare_step(store, STEP_FLUSH);
		if (cancelled && atomic_load(cancelled))
			ret = -ECANCELED;
	}
	if (ret || !full->compare_sync)
		return ret;
	ret = arena_has_lost(store) ? -EIO : full_sync(store, cancelled);
	if (!ret && !full->compare_left)
		compare_end(full);
	return ret;
}

/**
 * full_compare - finish the comparison, and mend what the disk has lost
 * @store: locked; after full_patience()
 * @cancelled: set when the caller does not wait any more; or NULL
 *
 * Return: 0: the file has all writes but those of live sessions; or -errno.
 */
int full_compare(struct store *store, const atomic_bool *cancelled)
{
	struct full *full = full_of(store);

	for (;;) {
		int ret = compare_all(store, cancelled);

		if (ret || !full_has_lost(full))
			return ret;
		ret = be_patient(full, cancelled);
		if (ret)
			return ret;
	}
}

/**
 * full_compare_idle - compare a little, in the background
 * @store: locked
 *
 * Return: whether there is more to do now; false after an error, or when others have told of
 * a loss during a sync, until the next try.
 */
bool full_compare_idle(struct store *store)
{
	struct full *full = full_of(store);
	int ret = 0;

	look_for_ended(store);
	if (!full->mend && full->compare_left) {
		ret = compare_step(store, STEP_IDLE);
	} else if (full->mend || full->compare_sync) {
		bool end = full->compare_sync && !full->compare_left;

		ret = end && arena_has_lost(store) ? -EIO : sync_once(store, NULL);
		if (!ret && end && !full->compare_left)
			compare_end(full);
	}
	if (ret < 0 && ret != full->compare_said)
		log_err("export %s: cannot bring %s up to date: %s", full->file.name,
			full->file.path, strerror(-ret));
	full->compare_said = ret;
	return !ret && (full_has_lost(full) || full->compare_sync);
}

/*
 * Flushing
 */

/*
 * When all else on the disk is durable, a small FLUSH is one durable write instead of a write
 * and an fdatasync, if the disk has a bit for it (FUA). Elsewhere the kernel would flush the
 * disk's cache after the write, and not say which of the two has failed.
 *
 * Return: whether @w is such a FLUSH; then @run is its only run of granules.
 */
static bool is_short(struct store *store, const struct store_work *w, struct store_range *run)
{
	const struct full *full = full_of(store);
	uint64_t first, count, more;

	/* The rules of faults tell a write from a sync. */
	if (!full->file.block_device || !full->file.fua || !full->file.direct ||
	    full->batch.no_direct || full->file.fault)
		return false;
	if (!full->settled || bitmap_any(&full->unsynced) || !w->dirty)
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

static int write_durable(struct store *store, const struct store_range *run)
{
	struct full *full = full_of(store);

	file_batch_write_durable(&full->batch, (char *)store->base + run->offset, run->offset,
				 run->bytes);
	return file_batch_wait(&full->batch);
}

/*
 * A durable write has failed, and the device may have flushed a cache with it, although it claims
 * to have FUA. The loss of a cache is told once; a bad sector fails each time. So the write is
 * tried again, after a pause, in which a device that resets itself may come back. If the second
 * try does not fail in the same way, the first failure may have been one of a flush. Else the
 * write is tried without a flush. If it fails in the same way once more, it was the write, and no
 * other file has lost anything. If it succeeds, the data may only be in the cache, and the sync
 * that follows tells whether the cache can be written out.
 */
static int write_apart(struct store *store, const struct store_range *run, int first)
{
	struct full *full = full_of(store);
	bool own = disk_loss_own_error(first);
	int again, ret;

	log_peer(NULL, LOG_WARNING,
		 "export %s: a durable write of %llu bytes to %s at %llu: %s; it is tried again",
		 full->file.name, (unsigned long long)run->bytes, full->file.path,
		 (unsigned long long)run->offset, strerror(-first));
	full->rewrite = true;
	if (!own)
		pause_ms(PACE_MS);
	again = write_durable(store, run);
	ret = again ? write_set(store, &full->unsynced, NULL) : 0;
	if (own)
		return ret;
	if (again != first || (ret && ret != first))
		sync_failed(full, first);
	return ret;
}

static int write_through(struct store *store, const struct store_range *run,
			 const atomic_bool *cancelled)
{
	struct full *full = full_of(store);
	int first, ret;

	full_changed(full, run->offset, run->bytes);
	disk_loss_sync_begin(&full->watch);
	first = write_durable(store, run);
	/* After a failure the next sync may be the one that reports the loss. */
	ret = first ? write_apart(store, run, first) ?: full_sync(store, cancelled) : 0;
	disk_loss_sync_end(&full->watch);
	if (!first)
		all_synced(full);
	return ret;
}

static void clear_set(struct bitmap *set)
{
	uint64_t at = 0, first, count;

	while (bitmap_next(set, at, &first, &count)) {
		bitmap_clear(set, first, count);
		at = first + count;
	}
}

/* Only the arena has the data that was cut off. It is written when the file has grown. */
static int cut_off(struct full *full)
{
	full_compare_leave(full, full->file.size);
	return -EIO;
}

/* Writes to the file, without a sync. Return: 0 or -errno. */
static int flush_write(struct store *store, struct store_work *w)
{
	int ret = full_compare(store, &w->cancelled);

	if (!ret && w->dirty)
		ret = write_set(store, w->dirty, &w->cancelled);
	return ret;
}

/*
 * Syncs once for all FLUSHes that have no error. If the FLUSH that the sync is done for is
 * cancelled, the sync goes on for the next FLUSH.
 */
static int sync_for(struct store *store, struct store_works *works)
{
	int ret = -ECANCELED;
	struct store_work *w;

	TAILQ_FOREACH(w, works, entry)
		if (!w->error && ret == -ECANCELED)
			ret = full_sync(store, &w->cancelled);
	return ret;
}

/*
 * An error of a write concerns the session that wrote, an error of the fdatasync concerns all
 * sessions. There is no fdatasync when nothing has changed since the last good one.
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
		ret = sync_for(store, works);
	TAILQ_FOREACH(w, works, entry)
		w->error = w->error ?: ret;
}

/* Return: whether @w is done, or has failed; its @error says which. */
static bool flush_short(struct store *store, struct store_work *w)
{
	struct store_range run;

	w->error = full_compare(store, &w->cancelled);
	if (w->error)
		return true;
	if (!is_short(store, w, &run))
		return false;
	w->error = write_through(store, &run, &w->cancelled);
	return true;
}

/* Mends a loss that was heard of during or after the last sync, as sync_for() does. */
static void mend(struct store *store, struct store_works *works)
{
	struct full *full = full_of(store);
	struct store_work *w;
	int ret = -ECANCELED;

	look_for_late(full);
	TAILQ_FOREACH(w, works, entry)
		if (!w->error && ret == -ECANCELED)
			ret = full_compare(store, &w->cancelled);
	TAILQ_FOREACH(w, works, entry)
		if (!w->error)
			w->error = ret;
}

/**
 * full_flush - make writes of sessions durable
 * @store: locked
 * @works: FLUSHes with their granules, at least one
 *
 * Fills the @error of each: 0, and then its granules are clean; or -errno.
 */
void full_flush(struct store *store, struct store_works *works)
{
	struct full *full = full_of(store);
	struct store_work *w, *first = TAILQ_FIRST(works);
	int ret = arena_guard_broken(store->guard) || file_removed(&full->file) ? -EIO :
		  file_shrunk(&full->file) ? cut_off(full) : 0;

	full->pace = false;
	full_patience(full);
	if (ret)
		TAILQ_FOREACH(w, works, entry)
			w->error = ret;
	else if (TAILQ_NEXT(first, entry) || !flush_short(store, first))
		flush_all(store, works);
	if (!ret && full_has_lost(full))
		mend(store, works);
	TAILQ_FOREACH(w, works, entry)
		if (!w->error && w->dirty)
			clear_set(w->dirty);
	if (full->pace)
		pause_ms(PACE_MS);
}
