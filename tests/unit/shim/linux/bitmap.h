/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_BITMAP_H
#define SHIM_LINUX_BITMAP_H

#include <linux/bitops.h>

#define DECLARE_BITMAP(name, bits)	unsigned long name[BITS_TO_LONGS(bits)]

#define BITMAP_FIRST_WORD_MASK(start)	(~0UL << ((start) & (BITS_PER_LONG - 1)))
#define BITMAP_LAST_WORD_MASK(bits)	(~0UL >> (-(bits) & (BITS_PER_LONG - 1)))

/* The first bit from @from on that is @want; @size if there is none */
static inline unsigned long shim_find(const unsigned long *map, unsigned long size,
				      unsigned long from, bool want)
{
	unsigned long word, skip;

	for (; from < size; from += skip) {
		skip = BITS_PER_LONG - from % BITS_PER_LONG;
		word = want ? map[from / BITS_PER_LONG] : ~map[from / BITS_PER_LONG];
		word >>= from % BITS_PER_LONG;
		if (word) {
			from += (unsigned long)__builtin_ctzl(word);
			break;
		}
	}
	return from < size ? from : size;
}

#define find_next_bit(map, size, from)		shim_find(map, size, from, true)
#define find_first_zero_bit(map, size)		shim_find(map, size, 0, false)
#define find_next_zero_bit(map, size, from)	shim_find(map, size, from, false)

#define for_each_set_bit(bit, map, size)				\
	for ((bit) = find_next_bit(map, size, 0); (bit) < (unsigned long)(size);	\
	     (bit) = find_next_bit(map, size, (bit) + 1))

#endif
