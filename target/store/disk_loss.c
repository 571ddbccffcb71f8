// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files whose disk has lost writes.
 *
 * Files on one disk have one cache: when a sync of one file fails, data of the others may be
 * lost, and their syncs would not say so. So every file that is exported for writing hears of it,
 * whatever kind of store it has.
 *
 * A file that hears of a loss tells nobody. It tells others when a sync of its own fails. An
 * uncached file does not sync any more, and a cached one syncs when it is flushed, after other
 * work of its store thread, and at its end. So files do not keep each other busy in circles.
 */
#include <errno.h>
#include <pthread.h>

#include "base/log.h"
#include "base/util.h"
#include "store/disk_loss.h"
#include "store/sync_errors.h"

#define SETTLE_MS	10000	/* most time for syncs of other files */
#define STEP_MS		10	/* between two looks at them */

static LIST_HEAD(, disk_watch) watches = LIST_HEAD_INITIALIZER(watches);
static pthread_mutex_t watches_lock = PTHREAD_MUTEX_INITIALIZER;

/**
 * disk_loss_watch - let a file hear of losses of its disk
 * @w: filled
 */
void disk_loss_watch(struct disk_watch *w)
{
	pthread_mutex_lock(&watches_lock);
	LIST_INSERT_HEAD(&watches, w, entry);
	pthread_mutex_unlock(&watches_lock);
}

/**
 * disk_loss_forget - undo disk_loss_watch(); no upcall comes any more
 * @w: watch, or one that was never given to disk_loss_watch()
 */
void disk_loss_forget(struct disk_watch *w)
{
	pthread_mutex_lock(&watches_lock);
	if (w->entry.le_prev)
		LIST_REMOVE(w, entry);
	w->entry.le_prev = NULL;
	pthread_mutex_unlock(&watches_lock);
}

/**
 * disk_loss_shared - whether an error of a sync may concern other files of the disk
 * @ret: -errno
 *
 * Return: false: the file found no room or no memory, or a file server refuses this file. Other
 * errors may come from the disk: a file system whose journal was told of the loss returns EROFS.
 */
bool disk_loss_shared(int ret)
{
	switch (-ret) {
	case ENOSPC:
	case EDQUOT:
	case ENOMEM:
	case EFAULT:
	case ESTALE:
	case EFBIG:
	case EACCES:
	case EPERM:
		return false;
	default:
		return true;
	}
}

/**
 * disk_loss_own_error - whether the error of a durable write is never one of a sync
 * @ret: -errno of the write
 *
 * Return: true: it comes from the write itself. EFAULT says that a page of the arena is missing.
 */
bool disk_loss_own_error(int ret)
{
	switch (-ret) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EROFS:
	case EPERM:
	case EINVAL:
	case EFAULT:
	case EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

static void tell(const struct disk_watch *by, bool mends, bool again)
{
	struct disk_watch *w;

	pthread_mutex_lock(&watches_lock);
	LIST_FOREACH(w, &watches, entry)
		if (w != by && w->mends == mends && disk_watch_beside(w, by))
			w->lost(w, by->name, again);
	pthread_mutex_unlock(&watches_lock);
}

/**
 * disk_loss_tell - tell the other files of a disk that mend losses that a sync has failed
 * @by: watch of the file whose sync has failed
 * @again: no sync of that file has succeeded since it told of a loss last
 *
 * Any thread. To be called before the loss is noted, because the write of the note may hang. To be
 * called once more, with @again false, when a sync of @by succeeds after failures that were told
 * with @again.
 */
void disk_loss_tell(const struct disk_watch *by, bool again)
{
	tell(by, true, again);
}

/**
 * disk_loss_fail - fail the files of a disk that do not mend losses
 * @by: watch of another file, whose sync has failed
 *
 * Any thread, after the loss has been noted, and before a command is answered whose sync it was.
 */
void disk_loss_fail(const struct disk_watch *by)
{
	tell(by, false, false);
}

/**
 * disk_loss_sync_begin - say that a sync, or a durable write, of a cached file begins
 * @w: its watch. The sync that follows a failed durable write is part of it
 */
void disk_loss_sync_begin(struct disk_watch *w)
{
	pthread_mutex_lock(&watches_lock);
	if (!w->since)
		w->since = monotonic_ms();
	pthread_mutex_unlock(&watches_lock);
}

/**
 * disk_loss_sync_end - say that the sync has ended, and that a loss is noted
 * @w: watch of the file
 */
void disk_loss_sync_end(struct disk_watch *w)
{
	pthread_mutex_lock(&watches_lock);
	w->since = 0;
	pthread_mutex_unlock(&watches_lock);
}

/* Whether a sync of another file on the disk has been under way since @when. */
static bool others_sync(const struct disk_watch *of, int64_t when)
{
	struct disk_watch *w;
	bool any = false;

	pthread_mutex_lock(&watches_lock);
	LIST_FOREACH(w, &watches, entry) {
		int64_t since = w->syncs_since ? w->syncs_since(w) : w->since;

		any |= w != of && disk_watch_beside(w, of) && since && since <= when;
	}
	pthread_mutex_unlock(&watches_lock);
	return any;
}

/**
 * disk_loss_settle - wait for syncs of other files of a disk, SETTLE_MS at most
 * @of: watch of a file whose last sync has ended well
 *
 * A sync that was under way then may be the one that hears of an earlier loss. One that begins
 * later does not concern the file, because all of it is durable. So a file that is always busy
 * with the next sync is not waited for.
 *
 * Return: whether they have ended, and have told of what they have heard.
 */
bool disk_loss_settle(const struct disk_watch *of)
{
	int64_t now = monotonic_ms();

	for (int ms = 0; ms <= SETTLE_MS; ms += STEP_MS) {
		if (!others_sync(of, now))
			return true;
		pause_ms(STEP_MS);
	}
	return false;
}

/* The first cached file on the disk of @beside that syncs; the lock is held. */
static const struct disk_watch *first_that_syncs(const struct disk_watch *beside)
{
	const struct disk_watch *w;

	LIST_FOREACH(w, &watches, entry)
		if (w->since && disk_watch_beside(w, beside))
			return w;
	return NULL;
}

/**
 * disk_loss_abandon - note losses for the syncs of cached files, because the process ends at once
 *
 * A sync under way may hear of a loss after the end of the process. The lock stays locked: from
 * here on no sync begins, and none ends as if it had succeeded.
 */
void disk_loss_abandon(void)
{
	struct disk_watch *w;

	pthread_mutex_lock(&watches_lock);
	LIST_FOREACH(w, &watches, entry) {
		if (first_that_syncs(w) != w)
			continue;
		sync_errors_note_disk_last(w->name, w->disk);
		log_warn("export %s: the daemon exits during its fdatasync: data of uncached exports on its disk that was not flushed counts as lost",
			 w->name);
	}
}
