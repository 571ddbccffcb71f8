/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files whose disk has lost writes: all files on one disk share its cache.
 */
#ifndef RDMABLKD_DISK_LOSS_H
#define RDMABLKD_DISK_LOSS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "uapi/rdmablk_proto.h"

/**
 * struct disk_watch - a file that hears of losses of its disk
 * @entry: in the list of all
 * @name: name of the export, for messages
 * @disk: identity of the disk, from file_disk()
 * @mends: the file makes a loss good itself
 * @since: when disk_loss_sync_begin() was called, ms; 0: disk_loss_sync_end() was, too
 * @syncs_since: upcall: since when data of the file is being made durable, ms, at the latest; 0:
 *	none is. Waits for nothing. NULL: @since says so
 * @lost: upcall: the sync of another file on the disk has failed; @by: name of its export;
 *	@again: that file has told of a loss before, and no sync of it has succeeded since. Any
 *	thread; takes no lock and tells nobody
 */
struct disk_watch {
	LIST_ENTRY(disk_watch) entry;
	const char *name;
	uint8_t disk[RDMABLK_ID_LEN];
	bool mends;
	int64_t since;
	int64_t (*syncs_since)(struct disk_watch *w);
	void (*lost)(struct disk_watch *w, const char *by, bool again);
};

/* Whether two files are on one disk */
static inline bool disk_watch_beside(const struct disk_watch *a, const struct disk_watch *b)
{
	return !memcmp(a->disk, b->disk, sizeof(a->disk));
}

void disk_loss_watch(struct disk_watch *w);
void disk_loss_forget(struct disk_watch *w);
bool disk_loss_shared(int ret);
bool disk_loss_own_error(int ret);
void disk_loss_tell(const struct disk_watch *by, bool again);
void disk_loss_fail(const struct disk_watch *by);
void disk_loss_sync_begin(struct disk_watch *w);
void disk_loss_sync_end(struct disk_watch *w);
bool disk_loss_settle(const struct disk_watch *of);
void disk_loss_abandon(void);

#endif
