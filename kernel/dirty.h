/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of an export that were written since the last flush.
 */
#ifndef RDMABLK_DIRTY_H
#define RDMABLK_DIRTY_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/types.h>
#include "uapi/rdmablk_proto.h"

/**
 * struct rdmablk_dirty - two bitmaps with a bit per granule of the export; each bitmap has a
 *	summary with a bit per group of 64 words
 * @bytes: size of the export
 * @shift: binary logarithm of the granule's size in bytes
 * @granules: number of bits of a bitmap
 * @groups: number of bits of a summary
 * @dirty: granules that were written and are in no flush
 * @dirty_groups: groups that may have a bit in @dirty; lacks a group with a bit only while a
 *	setter is on its way from the bit to the summary
 * @flushing: granules of the flush under way; the flushing context owns it and the fields
 *	below
 * @flushing_groups: groups that may have a bit in @flushing
 * @cursor: granules below it were returned already in this flush
 */
struct rdmablk_dirty {
	/* read only while writes complete */
	u64 bytes;
	unsigned int shift;
	unsigned long granules;
	unsigned long groups;
	atomic_long_t *dirty;
	unsigned long *dirty_groups;

	/* owned by the flush */
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
