/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_BITOPS_H
#define SHIM_LINUX_BITOPS_H

#include <linux/atomic.h>
#include <linux/kernel.h>

#define BITS_PER_LONG		((int)(8 * sizeof(long)))
#define BIT(nr)			(1UL << (nr))
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return READ_ONCE(map[nr / BITS_PER_LONG]) >> nr % BITS_PER_LONG & 1;
}

static inline void set_bit(unsigned long nr, unsigned long *map)
{
	shim_before(&map[nr / BITS_PER_LONG]);
	__atomic_fetch_or(&map[nr / BITS_PER_LONG], 1UL << nr % BITS_PER_LONG,
			  __ATOMIC_RELAXED);
}

static inline bool test_and_set_bit_lock(unsigned long nr, unsigned long *map)
{
	unsigned long bit = 1UL << nr % BITS_PER_LONG;

	shim_before(&map[nr / BITS_PER_LONG]);
	return __atomic_fetch_or(&map[nr / BITS_PER_LONG], bit, __ATOMIC_ACQUIRE) & bit;
}

static inline void clear_bit_unlock(unsigned long nr, unsigned long *map)
{
	shim_before(&map[nr / BITS_PER_LONG]);
	__atomic_fetch_and(&map[nr / BITS_PER_LONG], ~(1UL << nr % BITS_PER_LONG),
			   __ATOMIC_RELEASE);
}

#endif
