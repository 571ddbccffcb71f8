// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cached file (cache=full): an arena that is filled from the file at the start.
 * Adapters read and write the arena, and the store thread brings the file up to date.
 *
 * A kept arena whose daemon did not end in order is newer than its file, and is compared
 * with it. After a daemon that ended in order the two are equal, unless another program has
 * written the file since; then the file counts. If the disk of the file has lost writes, and the
 * daemon has heard of that and not made it good, the next one compares the two, unless another
 * program has written the file since. A block device does not tell that, so there the arena counts,
 * as after a daemon that did not end in order.
 *
 * The epoch is that of the arena, a random number. A read-only export has an epoch made of
 * the file's identity and the time of its last change, so that it lasts as long as these
 * contents do.
 *
 * The end of the daemon waits until the file is up to date, however long that takes. If the file
 * cannot be brought up to date, the end says so, and without a kept arena the data is lost. Then
 * flushed data may be missing, too, and no disk goes on by itself. If there is a kept arena, disks
 * go on with it. They do not go on with the file if a reboot has ended the arena.
 */
#include <errno.h>

#include "base/log.h"
#include "base/meminfo.h"
#include "base/util.h"
#include "store/arena.h"
#include "store/file_identity.h"
#include "store/pages.h"
#include "store/full.h"
#include "store/sync_errors.h"

#define MIN_GRANULE	4096
#define MAX_GRANULES	(1ULL << 28)	/* a session has a bit for each */
#define ROOM_UNIT	(1ULL << 30)
#define ROOM_FACTOR	8		/* so many times its size an arena may grow in place */
#define ROOM_MAX	(16ULL << 40)
#define END_TRIES	3

/* ms between two of them, for a disk that is away for a moment; shorter in tests */
unsigned int full_end_pause_ms = 1000;

static uint32_t choose_granule(const struct full *full)
{
	uint64_t granule = MIN_GRANULE;

	while (granule < RDMABLK_MAX_GRANULE && full->file.size / granule > MAX_GRANULES)
		granule *= 2;
	return (uint32_t)granule;
}

/* Notes that arena and file are equal, unless another program has written the file since. */
static int note_equal(struct store *store, bool doubtful)
{
	struct full *full = full_of(store);
	struct arena_file file = { .stamp = full->stamp, .doubtful = doubtful };
	int ret = file_epoch(&full->file, file.id);

	if (!ret)
		arena_clean(store, &file);
	return ret;
}

/* If the file changes while it is read, the arena has a mixture that was never in the file. */
static int fill_unchanging(struct store *store, bool blank)
{
	struct full *full = full_of(store);
	struct file_contents before, after;
	int known = file_contents(&full->file, &before);
	int ret = full_fill(store, &full->batch, 0, blank);

	if (ret)
		return ret;
	known = known ?: file_contents(&full->file, &after);
	if (!known && !memcmp(&before, &after, sizeof(before)))
		return file_contents_epoch(&after, store->epoch);
	if (!full->file.block_device)
		log_warn("export %s: %s; it has a new epoch", full->file.name, !known ?
			 "was changed while it was read" : known == -EAGAIN ?
			 "is being changed, or its times are of the future" :
			 strerror(-known));
	return 0;
}

static int fill(struct store *store, bool blank)
{
	struct full *full = full_of(store);

	log_info("export %s: reading %s", full->file.name, full->file.path);
	return full->file.read_only ? fill_unchanging(store, blank) :
				      full_fill(store, &full->batch, 0, blank);
}

/* A stamp that a further change need not alter is no stamp. */
static void settle_stamp(struct full *full)
{
	if (!file_settled(&full->file, &full->stamp))
		full->stamp.nsec = -1;
}

/* file_probe() may have changed the file a moment ago. */
static int fill_kept(struct store *store, bool blank)
{
	struct full *full = full_of(store);

	settle_stamp(full);
	return fill(store, blank);
}

static int open_anonymous(struct store *store, const struct export_config *ec)
{
	struct full *full = full_of(store);
	int ret = pages_anonymous(store, ec);
	uint64_t room;

	if (ret)
		return ret;
	file_probe(&full->file);
	room = round_up(store->mapped, ROOM_UNIT);
	full->room = min_u64(room * ROOM_FACTOR, ROOM_MAX);
	if (full->room < room)
		full->room = room;
	return pages_map(store, ec->name, full->room) ?:
	       pages_populate(store, ec->name, 0) ?: fill(store, true);
}

/* Serves the arena at once; the file is compared with it, and written where it differs. */
static int take_newer(struct store *store, const struct export_config *ec)
{
	store->newer = true;
	if (!ec->read_only)
		return 0;
	log_err("export %s: it can only be once it is not exported \"ro\"", ec->name);
	return -EROFS;
}

/*
 * The loss counts as one that was heard of just now. A read-only export needs the arena only, and
 * leaves the comparison to the next daemon that may write the file.
 */
static int take_doubtful(struct store *store, const struct export_config *ec)
{
	log_warn("export %s: the disk of %s may have lost writes that arena %s has; the two are compared",
		 ec->name, ec->file, ec->arena);
	atomic_fetch_or(&full_of(store)->lost, FULL_LOST | FULL_LOST_ANY);
	return 0;
}

/*
 * Decides whether the contents of a kept arena or those of its file count. file_probe() has
 * changed the times of the file. The trailer gets the new stamp at once; otherwise, if the export
 * is not served after all, the next daemon would take the file for newer.
 */
static int take_over(struct store *store, const struct export_config *ec,
		     enum arena_state state)
{
	switch (state) {
	case ARENA_EQUAL:
		log_info("export %s: arena %s keeps the contents of %s", ec->name,
			 ec->arena, ec->file);
		return note_equal(store, false);
	case ARENA_NEWER:
		log_warn("export %s: arena %s was not written back to %s when its daemon ended",
			 ec->name, ec->arena, ec->file);
		return take_newer(store, ec);
	case ARENA_DOUBTFUL:
		return take_doubtful(store, ec) ?: note_equal(store, true);
	case ARENA_OLDER:
		return arena_renew(store) ?: fill_kept(store, false);
	}
	return -EINVAL;
}

static int open_kept(struct store *store, const struct export_config *ec)
{
	int empty = arena_open(store, ec), fresh, ret;
	struct full *full = full_of(store);
	struct arena_file file = { 0 };
	enum arena_state state;

	if (empty < 0)
		return empty;
	ret = pages_reserve(store, ec->name) ?: pages_map(store, ec->name, 0);
	if (ret)
		return ret;
	ret = file_epoch(&full->file, file.id);
	if (ret)
		return ret;
	fresh = arena_attach(store, ec, &file, empty);
	if (fresh < 0)
		return fresh;
	ret = pages_populate(store, ec->name, 0);
	if (ret)
		return ret;
	/* Not earlier: another program may have written the file during the minutes before. */
	file_stamp(&full->file, &file.stamp);
	state = arena_newer(store, ec, &file, fresh);
	file_probe(&full->file);
	full->stamp = full->file.stamp;
	return fresh ? fill_kept(store, empty) : take_over(store, ec, state);
}

/* The arena has all data of the file, so the export does not fail. */
static void disk_lost(struct disk_watch *w, const char *by, bool again)
{
	struct full *full = container_of(w, struct full, watch);
	struct store *store;

	if (again) {
		atomic_fetch_or(&full->lost, FULL_LOST);
		log_peer(NULL, LOG_WARNING,
			 "export %s: data written to %s may be lost again with that of export %s on the same disk; what is not synced is written again",
			 full->file.name, full->file.path, by);
	} else if (!(atomic_fetch_or(&full->lost, FULL_LOST | FULL_LOST_ANY) & FULL_LOST_ANY)) {
		log_warn("export %s: data written to %s may be lost with that of export %s on the same disk; the next flush compares all of it with its arena",
			 full->file.name, full->file.path, by);
	}
	/* The daemon may be killed before the store thread looks at it. */
	store = atomic_load(&full->published);
	if (store)
		arena_doubt(store);
}

static void release(struct store *store)
{
	struct full *full = full_of(store);

	full_failures_end(full);
	disk_loss_forget(&full->watch);
	file_batch_close(&full->batch);
	file_close(&full->file);
	arena_leave(store);
	pages_release(store, full->room);
	bitmap_free(&full->unsynced);
	free(full->bounce);
	pthread_mutex_destroy(&full->lock);
	free(full);
	store->priv = NULL;
}

static int open_parts(struct store *store, const struct export_config *ec)
{
	const struct file_params params = {
		.name = ec->name, .path = ec->file, .fault = ec->fault,
		.read_only = ec->read_only, .size = ec->size,
		.block = (uint32_t)ec->block,
	};
	struct full *full = full_of(store);
	int ret = file_open(&full->file, &params);

	if (ret)
		return ret;
	store->size = full->file.size;
	store->physical_block = full->file.physical_block;
	full->granule = choose_granule(full);
	ret = store_mark(store, &full->file) ?: file_disk(&full->file, full->watch.disk);
	if (ret) {
		log_err("export %s: cannot tell what %s is: %s", ec->name, ec->file,
			strerror(-ret));
		return ret;
	}
	ret = file_batch_open(&full->batch, &full->file, FULL_DEPTH);
	if (ret)
		return ret;
	if (!full->file.read_only) {
		sync_errors_open();
		full->watch.name = ec->name;
		full->watch.mends = true;
		full->watch.lost = disk_lost;
		disk_loss_watch(&full->watch);
	}
	/* Adapters write to the arena while it is written to the file. */
	full->batch.no_direct = full->file.stable || full->file.copies;
	ret = bitmap_init(&full->unsynced, round_up(store->size, full->granule) /
			  full->granule) ?: full_compare_init(full);
	if (ret)
		log_err("export %s: out of memory", ec->name);
	return ret;
}

static int store_open(struct store *store, const struct export_config *ec)
{
	struct full *full = calloc(1, sizeof(*full));
	int ret;

	if (!full)
		return -ENOMEM;
	full->file.fd = -1;
	full->file.buffered = -1;
	full->fixed = ec->size;
	pthread_mutex_init(&full->lock, NULL);
	store->priv = full;
	store->fd = -1;
	store->kept = ec->arena;
	store->overcommit = ec->overcommit;
	ret = open_parts(store, ec) ?: (ec->arena ? open_kept(store, ec) :
					open_anonymous(store, ec));
	if (ret)
		release(store);
	else
		meminfo_check_locked(ec->name, store->size);
	return ret;
}

static int store_publish(struct store *store)
{
	struct full *full = full_of(store);
	int ret = 0;

	if (store->newer)
		atomic_store(&full->ended, true);
	else if (store->kept)
		ret = note_equal(store, atomic_load(&full->lost));
	atomic_store(&full->published, store);
	if (atomic_load(&full->lost))
		arena_doubt(store);
	store->newer = false;
	return ret ?: arena_publish(store);
}

/*
 * Brings the file up to date. If the file was cut short, a kept arena stays newer. A loss of the
 * disk that was heard of during the last sync needs another try.
 */
static int finish(struct store *store)
{
	struct full *full = full_of(store);
	int ret = -EIO;

	for (int i = 1; ret && i <= END_TRIES; i++) {
		bool late;

		if (i > 1)
			pause_ms(full_end_pause_ms);
		if (full->owed || atomic_load(&full->lost))
			atomic_fetch_or(&full->lost, FULL_LOST_ANY);
		full_patience(full);
		ret = full_compare(store, NULL);
		if (!ret && bitmap_any(&full->unsynced))
			ret = full_sync(store, NULL);
		late = !ret && (full_has_lost(full) || full->owed);
		if (late)
			ret = -EIO;
		if (ret)
			log_warn("export %s: try %d of %d to bring %s up to date at the end: %s",
				 full->file.name, i, END_TRIES, full->file.path, late ?
				 "its disk has lost writes meanwhile" : strerror(-ret));
	}
	if (!ret && file_removed(&full->file))
		return -ENOENT;
	return ret ?: store->kept && file_shrunk(&full->file) ? -EIO : 0;
}

/*
 * Brings the file up to date, then ends its watch. A loss that is told of after the last look is
 * mended in a second round or, with a kept arena, by the next daemon. So all that takes time comes
 * before the watch ends: the stamp, which may take seconds, and the end of syncs of other files
 * that may report a loss. If these syncs hang, the next daemon compares a kept arena.
 *
 * @settled: cleared if these syncs hang, and the file may lack flushed data
 */
static int finish_writer(struct store *store, bool *settled)
{
	struct full *full = full_of(store);
	int ret = finish(store);

	*settled = ret || disk_loss_settle(&full->watch);
	if (!ret && store->kept)
		settle_stamp(full);
	disk_loss_forget(&full->watch);
	if (store->kept && !*settled) {
		atomic_fetch_or(&full->lost, FULL_LOST);
		arena_doubt(store);
	}
	if (!ret && !store->kept && atomic_load(&full->lost)) {
		disk_loss_watch(&full->watch);
		ret = finish(store);
		*settled = ret || disk_loss_settle(&full->watch);
		disk_loss_forget(&full->watch);
		ret = ret ?: atomic_load(&full->lost) ? -EIO : 0;
	}
	return ret;
}

static void close_equal(struct store *store)
{
	struct full *full = full_of(store);
	bool lost = atomic_load(&full->lost);

	if (arena_guard_broken(store->guard)) {
		log_err("export %s: pages of its arena are missing; the next daemon reads %s again",
			full->file.name, full->file.path);
		return;
	}
	if (lost) {
		log_warn("export %s: the disk of %s may have lost writes that its arena has; the next daemon compares the two",
			 full->file.name, full->file.path);
		if (full->file.block_device)
			return;
	}
	note_equal(store, lost);
}

/* Return: 0; or -errno, logged */
static int close_published(struct store *store)
{
	struct full *full = full_of(store);
	bool settled = true, broken;
	int ret = full->file.read_only ? 0 : finish_writer(store, &settled);

	broken = arena_guard_broken(store->guard);
	store->doubtful = ret || !settled || atomic_load(&full->lost);
	if (ret) {
		store->lost = !store->kept || broken;
		log_err("export %s: %s lacks the last writes: %s%s",
			full->file.name, full->file.path, strerror(-ret),
			!store->lost ? "; its arena has it" : store->kept ? "" :
			"; flushed ones may be missing, too, and no disk goes on by itself");
	} else if (!store->kept && !settled) {
		ret = -EIO;
		store->lost = true;
		log_err("export %s: %s may lack flushed writes: a sync of another export on its disk has not ended for 10 s, and no disk goes on by itself",
			full->file.name, full->file.path);
	}
	if (store->kept && (!ret || broken))
		close_equal(store);
	return ret;
}

static int store_close(struct store *store)
{
	struct full *full = full_of(store);
	int ret = 0;

	if (atomic_load(&full->published)) {	/* else arena and file stay as they are */
		pthread_mutex_lock(&full->lock);
		ret = close_published(store);
		pthread_mutex_unlock(&full->lock);
	}
	release(store);
	return ret;
}

static void store_limits(const struct store *store, struct store_limits *out)
{
	const struct full *full = full_of(store);
	const struct file *f = &full->file;

	/* Requests go to memory, so that their size has no limit. */
	*out = (struct store_limits){
		.io_min = f->io_min,
		.io_opt = f->io_opt,
		.flags = f->rotational ? RDMABLK_GRANT_ROTATIONAL : 0,
	};
	if (f->read_only)
		return;
	out->ops = RDMABLK_OP_BIT(RDMABLK_OP_DIRTY) | RDMABLK_OP_BIT(RDMABLK_OP_FLUSH) |
		   RDMABLK_OP_BIT(RDMABLK_OP_WRITE_ZEROES);
	out->flags |= RDMABLK_GRANT_CACHE;
	out->granule = full->granule;
	out->max_zeroes = f->max_zeroes;
	if (f->max_discard) {
		out->ops |= RDMABLK_OP_BIT(RDMABLK_OP_DISCARD);
		out->max_discard = f->max_discard;
		out->discard_granularity = f->discard_granularity;
		out->discard_alignment = f->discard_alignment;
	}
	if (f->max_erase) {
		out->ops |= RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE);
		out->max_erase = f->max_erase;
		out->erase_granularity = f->erase_granularity;
	}
}

static int do_range(struct full *full, const struct store_work *w, uint64_t offset,
		    uint64_t bytes)
{
	switch (w->op) {
	case RDMABLK_OP_DISCARD:
		return file_discard(&full->file, offset, bytes);
	case RDMABLK_OP_WRITE_ZEROES:
		return file_zero(&full->file, offset, bytes, w->flags & RDMABLK_ZEROES_KEEP);
	case RDMABLK_OP_SECURE_ERASE:
		return file_erase(&full->file, offset, bytes);
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * The file first: when it refuses, the arena is unchanged, and the next flush undoes the part
 * that the file did. The arena first would leave a refused command half done, until the
 * daemon ends.
 */
static int zero_range(struct store *store, const struct store_work *w,
		      uint64_t offset, uint64_t bytes)
{
	struct full *full = full_of(store);
	int ret;

	full_changed(full, offset, bytes);
	ret = do_range(full, w, offset, bytes);
	if (ret)
		full->rewrite = true;
	else
		memset((char *)store->base + offset, 0, bytes);
	return ret ?: arena_guard_broken(store->guard) ? -EIO : 0;
}

/* Counts and logs an error. Return: enum rdmablk_reason for it. */
static unsigned int work_status(struct full *full, int ret)
{
	if (ret && ret != -ECANCELED) {
		atomic_fetch_add(&full->errors, 1);
		log_peer(NULL, LOG_ERR, "export %s: %s: %s", full->file.name,
			 full->file.path, strerror(-ret));
	}
	return file_reason(ret);
}

static unsigned int store_work(struct store *store, struct store_work *w,
			       uint64_t offset, uint64_t bytes)
{
	struct full *full = full_of(store);
	int ret;

	pthread_mutex_lock(&full->lock);
	ret = zero_range(store, w, offset, bytes);
	pthread_mutex_unlock(&full->lock);
	return work_status(full, ret);
}

static void store_flush(struct store *store, struct store_works *works)
{
	struct full *full = full_of(store);
	struct store_work *w;

	pthread_mutex_lock(&full->lock);
	full_flush(store, works);
	pthread_mutex_unlock(&full->lock);
	TAILQ_FOREACH(w, works, entry) {
		/* The kernel could not read the arena. */
		if (w->error == -EFAULT)
			arena_guard_break(store->guard);
		w->status = work_status(full, w->error);
	}
}

static bool store_idle(struct store *store)
{
	struct full *full = full_of(store);
	bool more;

	if (full->file.read_only)
		return false;
	pthread_mutex_lock(&full->lock);
	more = full_compare_idle(store);
	pthread_mutex_unlock(&full->lock);
	return more;
}

static void store_ended(struct store *store, bool clean)
{
	if (!clean)
		atomic_store(&full_of(store)->ended, true);
}

static bool store_behind(const struct store *store)
{
	struct full *full = full_of(store);
	bool behind;

	if (full->file.read_only)
		return false;
	if (pthread_mutex_trylock(&full->lock))	/* the store thread is working */
		return true;
	behind = atomic_load(&full->ended) || full_has_lost(full) || full->owed ||
		 full->compare_sync || full->rewrite;
	pthread_mutex_unlock(&full->lock);
	return behind;
}

static void store_status(struct store *store, struct store_status *out)
{
	struct full *full = full_of(store);
	struct store_status *seen = &full->seen;

	/*
	 * The store thread holds the lock for as long as the file takes; meanwhile the last
	 * status counts. The progress of a comparison is always read.
	 */
	if (!pthread_mutex_trylock(&full->lock)) {
		seen->dirty = bitmap_any(&full->unsynced);
		seen->failed = full->rewrite;
		pthread_mutex_unlock(&full->lock);
	}
	seen->comparing = __atomic_load_n(&full->compare_left, __ATOMIC_RELAXED);
	seen->errors = atomic_load(&full->errors);
	*out = *seen;
}

/*
 * Lets the arena grow, and fills it from the file; no session sees the new part yet. The last
 * page may still have data of an earlier growth that failed.
 */
static int grow_arena(struct store *store, uint64_t size)
{
	struct full *full = full_of(store);
	struct file file = full->file;
	struct file_batch batch;
	int ret = pages_grow(store, file.name, full->room, size);

	if (ret)
		return ret;
	file.size = size;
	ret = file_batch_open(&batch, &file, FULL_DEPTH);
	if (ret)
		return ret;
	ret = full_fill(store, &batch, full->file.size, false);
	file_batch_close(&batch);
	return ret;
}

static int grow_sets(struct full *full, uint64_t size)
{
	uint64_t at = 0, first, count;
	struct bitmap larger;
	int ret = bitmap_init(&larger, round_up(size, full->granule) / full->granule);

	if (ret)
		return ret;
	pthread_mutex_lock(&full->lock);
	while (bitmap_next(&full->unsynced, at, &first, &count)) {
		bitmap_set(&larger, first, count);
		at = first + count;
	}
	bitmap_free(&full->unsynced);
	full->unsynced = larger;
	full->settled = false;	/* its length may be in the page cache only */
	if (full->compare_left)
		full_compare_leave(full, full->compare_left + size - full->file.size);
	__atomic_store_n(&full->file.size, size, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&full->lock);
	return 0;
}

static int store_grow(struct store *store, uint64_t *size, uint64_t most)
{
	struct full *full = full_of(store);
	const struct file *f = &full->file;
	uint64_t have = *size, had = store->mapped;
	int ret = file_grown(f, full->fixed, &have);

	*size = f->size;
	if (ret || have == f->size)
		return ret;
	if (store->kept) {
		log_err("export %s: a kept arena does not grow while the daemon runs", f->name);
		return -EOPNOTSUPP;
	}
	if (have > most) {
		log_err("export %s: a session has it in one region, and cannot go on with more than %llu bytes: disconnect its disks, then resize it",
			f->name, (unsigned long long)most);
		return -EBUSY;
	}
	ret = grow_arena(store, have) ?: grow_sets(full, have);
	if (ret)
		pages_shrink(store, had);
	else
		*size = have;
	return ret;
}

const struct store_ops store_full_ops = {
	.type = "file",
	.open = store_open,
	.publish = store_publish,
	.written_by = arena_written_by,
	.close = store_close,
	.status = store_status,
	.limits = store_limits,
	.work = store_work,
	.flush = store_flush,
	.idle = store_idle,
	.ended = store_ended,
	.behind = store_behind,
	.grow = store_grow,
};
