/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which parts of an export have been written since they were last flushed.
 */
#ifndef RDMABLK_DIRTY_H
#define RDMABLK_DIRTY_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/types.h>
#include "uapi/rdmablk_proto.h"

/**
 * struct rdmablk_dirty - two bitmaps, a bit for each granule of the export, and for each
 *	of them a summary, a bit for each group of 64 words
 * @bytes: size of the export
 * @shift: granule, as a power of two
 * @granules: bits of a bitmap
 * @groups: bits of a summary
 * @dirty: written and in no flush
 * @dirty_groups: groups that may have a bit in @dirty; those that do are all in here but
 *	for the time that a setter needs from the one to the other
 * @flushing: in the flush that is under way; of the flushing context, as all below
 * @flushing_groups: groups that may have a bit in @flushing
 * @cursor: granules before it have been given out in this flush
 */
struct rdmablk_dirty {
	/* read only while writes complete */
	u64 bytes;
	unsigned int shift;
	unsigned long granules;
	unsigned long groups;
	atomic_long_t *dirty;
	unsigned long *dirty_groups;

	/* of the flush */
	unsigned long *flushing ____cacheline_aligned_in_smp;
	unsigned long *flushing_groups;
	unsigned long cursor;
};

int rdmablk_dirty_init(struct rdmablk_dirty *d, u64 bytes, u32 granule);
int rdmablk_dirty_grow(struct rdmablk_dirty *d, u64 bytes);
void rdmablk_dirty_exit(struct rdmablk_dirty *d);
void rdmablk_dirty_set(struct rdmablk_dirty *d, u64 pos, u64 bytes);
void rdmablk_dirty_begin(struct rdmablk_dirty *d);
unsigned int rdmablk_dirty_next(struct rdmablk_dirty *d, struct rdmablk_range *out,
				unsigned int max);
void rdmablk_dirty_done(struct rdmablk_dirty *d);
void rdmablk_dirty_restore(struct rdmablk_dirty *d);

#endif /* RDMABLK_DIRTY_H */
