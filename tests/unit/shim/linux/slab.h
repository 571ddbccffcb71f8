/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_SLAB_H
#define SHIM_LINUX_SLAB_H

#include <stddef.h>
#include <stdlib.h>

#define GFP_KERNEL	0

/* Allocations until one fails; negative: none does */
__attribute__((weak)) int shim_allocations = -1;

static inline void *kvcalloc(size_t n, size_t size, int flags)
{
	(void)flags;
	if (!shim_allocations)
		return NULL;
	if (shim_allocations > 0)
		shim_allocations--;
	return calloc(n, size);
}

static inline void kvfree(void *p)
{
	free(p);
}

#endif
