/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of granules: a bit each, and above them a bit for each 4096 granules, so that a
 * few in a large export are found without looking at all of it.
 */
#ifndef RDMABLKD_BITMAP_H
#define RDMABLKD_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct bitmap - a set; zeroed: of nothing, and empty
 * @nr: bits, numbered from 0
 * @words: 64 bits each
 * @groups: a bit for each 64 words; set when one of them may not be zero
 *
 * One thread at a time.
 */
struct bitmap {
	uint64_t nr;
	uint64_t *words;
	uint64_t *groups;
};

int bitmap_init(struct bitmap *b, uint64_t nr);
void bitmap_touch(struct bitmap *b);
void bitmap_free(struct bitmap *b);
void bitmap_set(struct bitmap *b, uint64_t first, uint64_t count);
void bitmap_clear(struct bitmap *b, uint64_t first, uint64_t count);
bool bitmap_next(const struct bitmap *b, uint64_t from, uint64_t *first,
		 uint64_t *count);
bool bitmap_any(const struct bitmap *b);
bool bitmap_merge(struct bitmap *to, struct bitmap *from, uint64_t most);

#endif
