// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a sync that has failed, or may have, means for files without a cache.
 *
 * A file of which one has failed is not flushed any more, and that is noted (losses.c)
 * before anybody is answered: who hears of it may kill the daemon.
 */
#include <errno.h>
#include <string.h>

#include "log.h"
#include "losses.h"
#include "staged_loss.h"

static LIST_HEAD(, staged_file) files = LIST_HEAD_INITIALIZER(files);
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;

/**
 * staged_loss_watch - a file that staged_abandon() looks at
 * @sf: filled
 */
void staged_loss_watch(struct staged_file *sf)
{
	pthread_mutex_lock(&files_lock);
	LIST_INSERT_HEAD(&files, sf, entry);
	pthread_mutex_unlock(&files_lock);
}

/**
 * staged_loss_forget - undo staged_loss_watch()
 * @sf: file
 */
void staged_loss_forget(struct staged_file *sf)
{
	pthread_mutex_lock(&files_lock);
	LIST_REMOVE(sf, entry);
	pthread_mutex_unlock(&files_lock);
}

/**
 * staged_own_error - can nothing but a write itself, and no cache, have failed so
 * @ret: -errno of the write
 *
 * Return: whether that is so.
 */
bool staged_own_error(int ret)
{
	switch (-ret) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EROFS:
	case EPERM:
	case EINVAL:
	case EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

/**
 * staged_fail - what was written to a file may be lost
 * @sf: file
 * @ret: -errno
 *
 * Any thread, without the lock.
 */
void staged_fail(struct staged_file *sf, int ret)
{
	if (!atomic_load(&sf->failed))
		losses_note(sf->file->name, sf->identity);
	if (!atomic_exchange(&sf->failed, true))
		log_err("export %s: what was written to %s cannot be made durable: %s; no FLUSH will succeed until it is opened anew",
			sf->file->name, sf->file->path, strerror(-ret));
}

/**
 * staged_abandon - the process ends at once
 *
 * A sync that is under way may fail when there is nobody left to be told, so what it was
 * for counts as lost. No lock is given back: nothing is made durable from here on, and
 * nobody hears that something is.
 */
void staged_abandon(void)
{
	struct staged_file *sf;

	pthread_mutex_lock(&files_lock);
	LIST_FOREACH(sf, &files, entry) {
		pthread_mutex_lock(&sf->lock);
		if (atomic_load(&sf->failed) ||
		    !(sf->syncing || sf->fua[0] || sf->fua[1]))
			continue;
		losses_note(sf->file->name, sf->identity);
		log_warn("export %s: whether what was written to %s is durable is not waited for: what was not flushed counts as lost",
			 sf->file->name, sf->file->path);
	}
}
