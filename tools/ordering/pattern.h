/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data of a WRITE, and the check of a READ of the same place. PURE. */
#ifndef RDMABLK_ORDERING_PATTERN_H
#define RDMABLK_ORDERING_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_LINE	64	/* bytes of a cache line; lengths are multiples of it */

/* Never the counter of a WRITE */
#define PATTERN_EMPTY	UINT64_MAX

/**
 * struct pattern_found - what is wrong with the data of a READ
 * @stale: lines with data of an earlier WRITE
 * @damaged: lines with data that no WRITE has written yet
 * @first: offset of the first wrong word, in bytes
 * @counter: that word: the counter of an earlier WRITE, PATTERN_EMPTY or garbage
 */
struct pattern_found {
	size_t stale;
	size_t damaged;
	size_t first;
	uint64_t counter;
};

void pattern_fill(uint64_t *words, size_t bytes, uint64_t counter);
bool pattern_check(const uint64_t *words, size_t bytes, uint64_t counter,
		   struct pattern_found *found);

#endif /* RDMABLK_ORDERING_PATTERN_H */
