/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_STRING_H
#define SHIM_LINUX_STRING_H

#include <linux/types.h>
#include <string.h>

static inline void memzero_explicit(void *to, size_t bytes)
{
	memset(to, 0, bytes);
	/* The compiler must assume that the memory is read again. */
	__asm__ volatile("" : : "r"(to) : "memory");
}

static inline void *memchr_inv(const void *start, int c, size_t bytes)
{
	const u8 *p = start;

	for (; bytes; p++, bytes--) {
		if (*p != (u8)c)
			return (void *)p;
	}
	return NULL;
}

#endif
