// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Consequences of a sync that has failed, or may have failed, for uncached files.
 *
 * A file whose sync has failed is not flushed any more. That is noted (sync_errors.c) before
 * any command is answered, because an administrator who hears of it may kill the daemon.
 *
 * All uncached files of the disk fail with it (disk_loss.c), unless the error cannot come from
 * a cache. The loss is noted for the disk, because it also concerns files that are exported
 * before or after, and not at that moment. An answer for another file just before the failure
 * was read is not held back: each FLUSH would have to wait for the FLUSHes of all other files of
 * its disk. So flushed data of the other file may be lost, and no device goes on with it by itself
 * after it was closed.
 */
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "staged/staged_io.h"
#include "store/sync_errors.h"

static LIST_HEAD(, staged_file) files = LIST_HEAD_INITIALIZER(files);
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;

static void disk_lost(struct disk_watch *w, const char *by, bool again)
{
	struct staged_file *sf = container_of(w, struct staged_file, watch);

	(void)again;	/* nothing makes it good until the file is opened again */
	if (sf->file->read_only || atomic_exchange(&sf->failed, true))
		return;
	atomic_store(&sf->told, true);
	log_err("export %s: data written to %s may be lost with that of export %s on the same disk; no FLUSH will succeed until it is opened again",
		sf->file->name, sf->file->path, by);
}

/* Whether data of a file is being made durable. The file's lock is held. */
static bool syncs(const struct staged_file *sf)
{
	return sf->syncing || sf->fua[0] || sf->fua[1];
}

/*
 * Does not wait for the lock: staged_abandon() keeps it, and then waits for that of the watches.
 * While it is held, a sync may be under way since any time.
 */
static int64_t watch_syncs_since(struct disk_watch *w)
{
	struct staged_file *sf = container_of(w, struct staged_file, watch);
	int64_t since = 0;

	if (pthread_mutex_trylock(&sf->lock))
		return 1;
	if (sf->syncing)
		since = sf->since;
	for (int i = 0; i < 2; i++)
		if (sf->fua[i] && (!since || sf->fua_since[i] < since))
			since = sf->fua_since[i];
	pthread_mutex_unlock(&sf->lock);
	return since;
}

/**
 * staged_loss_watch - let a file fail with others of its disk
 * @sf: filled
 */
void staged_loss_watch(struct staged_file *sf)
{
	pthread_mutex_lock(&files_lock);
	LIST_INSERT_HEAD(&files, sf, entry);
	pthread_mutex_unlock(&files_lock);
	sf->watch.name = sf->file->name;
	sf->watch.lost = disk_lost;
	sf->watch.syncs_since = watch_syncs_since;
	disk_loss_watch(&sf->watch);
}

/**
 * staged_loss_forget - undo staged_loss_watch()
 * @sf: file
 */
void staged_loss_forget(struct staged_file *sf)
{
	disk_loss_forget(&sf->watch);
	pthread_mutex_lock(&files_lock);
	LIST_REMOVE(sf, entry);
	pthread_mutex_unlock(&files_lock);
}

/**
 * staged_fail - note that data written to a file may be lost
 * @sf: file
 * @ret: -errno
 *
 * Any thread, without the lock.
 */
void staged_fail(struct staged_file *sf, int ret)
{
	bool own = !disk_loss_shared(ret);

	if (!own)
		disk_loss_tell(&sf->watch, false);
	/* A loss of the disk each time: a file may have come into use since the last one. */
	if (!own || !atomic_load(&sf->failed))
		sync_errors_note(sf->file->name, own ? sf->identity : sf->watch.disk);
	if (!atomic_exchange(&sf->failed, true))
		log_err("export %s: data written to %s cannot be made durable: %s; no FLUSH will succeed until it is opened again",
			sf->file->name, sf->file->path, strerror(-ret));
	if (!own)
		disk_loss_fail(&sf->watch);
}

/**
 * staged_syncing - count the files whose data is being made durable
 *
 * Return: number of files; staged_abandon() would count their disks as lost.
 */
unsigned int staged_syncing(void)
{
	struct staged_file *sf;
	unsigned int nr = 0;

	pthread_mutex_lock(&files_lock);
	LIST_FOREACH(sf, &files, entry) {
		pthread_mutex_lock(&sf->lock);
		nr += syncs(sf);
		pthread_mutex_unlock(&sf->lock);
	}
	pthread_mutex_unlock(&files_lock);
	return nr;
}

/* The first file on the disk of @beside for which a sync is under way; all locks are held. */
static const struct staged_file *first_that_syncs(const struct staged_file *beside)
{
	const struct staged_file *sf;

	LIST_FOREACH(sf, &files, entry)
		if (disk_watch_beside(&sf->watch, &beside->watch) && syncs(sf))
			return sf;
	return NULL;
}

/**
 * staged_abandon - note losses, because the process ends at once
 *
 * A sync under way may fail after the end of the process, so its data counts as lost. That of a
 * cached file counts for the uncached files of its disk (disk_loss.c). The locks stay locked:
 * from here on no data becomes durable, and no command is answered as if it had.
 */
void staged_abandon(void)
{
	struct staged_file *sf;

	pthread_mutex_lock(&files_lock);
	LIST_FOREACH(sf, &files, entry)
		pthread_mutex_lock(&sf->lock);
	LIST_FOREACH(sf, &files, entry)
		if (first_that_syncs(sf) == sf)
			sync_errors_note_last(sf->file->name, sf->watch.disk);
	LIST_FOREACH(sf, &files, entry) {
		if (atomic_load(&sf->failed) || sf->file->read_only ||
		    !first_that_syncs(sf))
			continue;
		log_warn("export %s: the end does not wait for a sync of %s: data that was not flushed counts as lost",
			 sf->file->name, sf->file->path);
	}
	disk_loss_abandon();
}
