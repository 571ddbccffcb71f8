/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files whose disk has lost writes: all files on one disk share its cache.
 */
#ifndef RDMABLKD_DISK_LOSS_H
#define RDMABLKD_DISK_LOSS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "uapi/rdmablk_proto.h"

/**
 * struct disk_watch - a file that is to hear of losses of its disk
 * @entry: in the list of all
 * @disk: identity of the disk, from file_disk()
 * @lost: upcall: the sync of another file on the disk has failed; @by: name of its export. Any
 *	thread; takes no lock
 */
struct disk_watch {
	LIST_ENTRY(disk_watch) entry;
	uint8_t disk[RDMABLK_ID_LEN];
	void (*lost)(struct disk_watch *w, const char *by);
};

void disk_loss_watch(struct disk_watch *w);
void disk_loss_forget(struct disk_watch *w);
bool disk_loss_shared(int ret);
void disk_loss_tell(const struct disk_watch *by, const char *name);

#endif
