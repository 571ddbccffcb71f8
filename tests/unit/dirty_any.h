/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether kernel/dirty.c has a granule that is not known to be durable */
#ifndef UNIT_DIRTY_ANY_H
#define UNIT_DIRTY_ANY_H

#include <linux/atomic.h>
#include <linux/kernel.h>

#include "dirty.h"
#include "unit.h"

#define DIRTY_WORD_BITS	(8 * sizeof(unsigned long))

static inline bool dirty_group_in(const unsigned long *groups, unsigned long group)
{
	return groups[group / DIRTY_WORD_BITS] >> group % DIRTY_WORD_BITS & 1;
}

/* No task may write or flush meanwhile. A bit that is not in its summary would be lost. */
static inline bool dirty_any(struct rdmablk_dirty *d)
{
	bool any = false;

	for (unsigned long i = 0; i < DIV_ROUND_UP(d->granules, DIRTY_WORD_BITS); i++) {
		bool dirty = atomic_long_read(&d->dirty[i]), flushing = d->flushing[i];

		assert_true(!dirty || dirty_group_in(d->dirty_groups, i / 64));
		assert_true(!flushing || dirty_group_in(d->flushing_groups, i / 64));
		any |= dirty || flushing;
	}
	return any;
}

#endif
