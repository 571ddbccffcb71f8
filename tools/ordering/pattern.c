// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data of a WRITE, and the check of a READ of the same place. Each word of the data is
 * the counter of the WRITE. Counters only grow, so a smaller one is data of an earlier
 * WRITE, and a larger one has never been written.
 */
#include <string.h>

#include "pattern.h"

#define LINE_WORDS	(PATTERN_LINE / sizeof(uint64_t))

/**
 * pattern_fill() - the data of a WRITE
 * @words: where to
 * @bytes: how many, a multiple of PATTERN_LINE
 * @counter: of the WRITE, or PATTERN_EMPTY for a place that a READ is to fill
 */
void pattern_fill(uint64_t *words, size_t bytes, uint64_t counter)
{
	size_t i;

	for (i = 0; i < bytes / sizeof(*words); i++)
		words[i] = counter;
}

static void note(struct pattern_found *found, size_t first, uint64_t counter)
{
	if (found->stale || found->damaged)
		return;
	found->first = first * sizeof(counter);
	found->counter = counter;
}

/* @start: number of the line's first word */
static void check_line(const uint64_t *words, size_t start, uint64_t counter,
		       struct pattern_found *found)
{
	bool stale = false, damaged = false;
	size_t i;

	for (i = start; i < start + LINE_WORDS; i++) {
		if (words[i] == counter)
			continue;
		if (!stale && !damaged)
			note(found, i, words[i]);
		if (words[i] < counter)
			stale = true;
		else
			damaged = true;
	}
	found->damaged += damaged;
	found->stale += stale && !damaged;
}

/**
 * pattern_check() - is this what the last WRITE wrote?
 * @words: data of a READ
 * @bytes: how many, a multiple of PATTERN_LINE
 * @counter: of the last WRITE
 * @found: set, if it is not
 *
 * Return: whether all of it is.
 */
bool pattern_check(const uint64_t *words, size_t bytes, uint64_t counter,
		   struct pattern_found *found)
{
	size_t nr = bytes / sizeof(*words), i;
	uint64_t differs = 0;

	for (i = 0; i < nr; i++)
		differs |= words[i] ^ counter;
	if (!differs)
		return true;
	memset(found, 0, sizeof(*found));
	for (i = 0; i < nr; i += LINE_WORDS)
		check_line(words, i, counter, found);
	return false;
}
