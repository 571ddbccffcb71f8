// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sets of granules.
 */
#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/util.h"

#define WORD_BITS	64
#define GROUP_WORDS	64	/* words that share a bit of a group word */

static uint64_t nr_words(const struct bitmap *b)
{
	return (b->nr + WORD_BITS - 1) / WORD_BITS;
}

static uint64_t nr_groups(const struct bitmap *b)
{
	return (nr_words(b) + GROUP_WORDS - 1) / GROUP_WORDS;
}

/* Bits @from to @to, the latter not included, of a word; @from < @to <= 64. */
static uint64_t word_mask(uint64_t from, uint64_t to)
{
	return ~0ULL << from & ~0ULL >> (WORD_BITS - to);
}

/**
 * bitmap_init - an empty set
 * @b: without memory
 * @nr: bits
 *
 * Return: 0 or -ENOMEM.
 */
int bitmap_init(struct bitmap *b, uint64_t nr)
{
	*b = (struct bitmap){ .nr = nr };
	b->words = calloc(nr_words(b) + !nr, sizeof(*b->words));
	b->groups = calloc((nr_groups(b) + WORD_BITS - 1) / WORD_BITS + !nr,
			   sizeof(*b->groups));
	if (b->words && b->groups)
		return 0;
	bitmap_free(b);
	return -ENOMEM;
}

/**
 * bitmap_touch - have the kernel provide the memory of a set now
 * @b: empty set
 *
 * The first write to a page takes much longer than any other, and a large set has
 * thousands of pages. For workers, before a thread writes there that others wait for.
 */
void bitmap_touch(struct bitmap *b)
{
	memset(b->words, 0, nr_words(b) * sizeof(*b->words));
	memset(b->groups, 0, (nr_groups(b) + WORD_BITS - 1) / WORD_BITS *
	       sizeof(*b->groups));
}

/**
 * bitmap_free - free the memory of a set
 * @b: zeroed afterwards
 */
void bitmap_free(struct bitmap *b)
{
	free(b->words);
	free(b->groups);
	*b = (struct bitmap){ 0 };
}

static void group_set(struct bitmap *b, uint64_t word)
{
	uint64_t group = word / GROUP_WORDS;

	b->groups[group / WORD_BITS] |= 1ULL << group % WORD_BITS;
}

/**
 * bitmap_set - put a run into the set
 * @b: set
 * @first: bit
 * @count: how many; what is beyond the last is ignored
 */
void bitmap_set(struct bitmap *b, uint64_t first, uint64_t count)
{
	uint64_t end = count > b->nr || first > b->nr - count ? b->nr : first + count;

	while (first < end) {
		uint64_t word = first / WORD_BITS, bit = first % WORD_BITS;
		uint64_t stop = min_u64(WORD_BITS, bit + end - first);
		uint64_t whole = bit ? 0 : min_u64((end - first) / WORD_BITS,
						   GROUP_WORDS - word % GROUP_WORDS);

		group_set(b, word);
		/* It may be all of a large set, and other sessions are waiting. */
		if (whole) {
			memset(&b->words[word], 0xff, whole * sizeof(*b->words));
			first += whole * WORD_BITS;
			continue;
		}
		b->words[word] |= word_mask(bit, stop);
		first += stop - bit;
	}
}

/* Forget a group that has no bit left. */
static void group_trim(struct bitmap *b, uint64_t group)
{
	uint64_t end = min_u64(nr_words(b), (group + 1) * GROUP_WORDS);

	for (uint64_t word = group * GROUP_WORDS; word < end; word++)
		if (b->words[word])
			return;
	b->groups[group / WORD_BITS] &= ~(1ULL << group % WORD_BITS);
}

/**
 * bitmap_clear - take a run out of the set
 * @b: set
 * @first: bit
 * @count: how many; what is beyond the last is ignored
 */
void bitmap_clear(struct bitmap *b, uint64_t first, uint64_t count)
{
	uint64_t end = count > b->nr || first > b->nr - count ? b->nr : first + count;

	while (first < end) {
		uint64_t bit = first % WORD_BITS;
		uint64_t stop = min_u64(WORD_BITS, bit + end - first);
		uint64_t group = first / WORD_BITS / GROUP_WORDS;

		b->words[first / WORD_BITS] &= ~word_mask(bit, stop);
		first += stop - bit;
		if (first >= end || first / WORD_BITS / GROUP_WORDS != group)
			group_trim(b, group);
	}
}

/* The first group at or after @group that may hold something; else their number. */
static uint64_t next_group(const struct bitmap *b, uint64_t group)
{
	uint64_t nr = nr_groups(b);

	while (group < nr) {
		uint64_t bits = b->groups[group / WORD_BITS] >> group % WORD_BITS;

		if (bits)
			return group + (uint64_t)__builtin_ctzll(bits);
		group = (group / WORD_BITS + 1) * WORD_BITS;
	}
	return nr;
}

static uint64_t next_set(const struct bitmap *b, uint64_t from)
{
	uint64_t word = from / WORD_BITS, nr = nr_words(b);
	uint64_t mask = ~0ULL << from % WORD_BITS;

	while (word < nr) {
		uint64_t group = next_group(b, word / GROUP_WORDS);
		uint64_t end;

		if (group != word / GROUP_WORDS) {
			word = group * GROUP_WORDS;
			mask = ~0ULL;
		}
		end = min_u64(nr, (group + 1) * GROUP_WORDS);
		for (; word < end; word++, mask = ~0ULL)
			if (b->words[word] & mask)
				return word * WORD_BITS +
				       (uint64_t)__builtin_ctzll(b->words[word] & mask);
	}
	return b->nr;
}

static uint64_t next_clear(const struct bitmap *b, uint64_t from)
{
	uint64_t word = from / WORD_BITS, nr = nr_words(b);
	uint64_t mask = ~0ULL << from % WORD_BITS;

	for (; word < nr; word++, mask = ~0ULL)
		if (~b->words[word] & mask)
			return min_u64(b->nr, word * WORD_BITS +
				       (uint64_t)__builtin_ctzll(~b->words[word] & mask));
	return b->nr;
}

/**
 * bitmap_next - the next run
 * @b: set
 * @from: bit from which to look on
 * @first: of the run; at least @from
 * @count: how many
 *
 * Return: whether there is one.
 */
bool bitmap_next(const struct bitmap *b, uint64_t from, uint64_t *first,
		 uint64_t *count)
{
	if (from >= b->nr)
		return false;
	*first = next_set(b, from);
	if (*first >= b->nr)
		return false;
	*count = next_clear(b, *first) - *first;
	return true;
}

/**
 * bitmap_any - whether a set has a bit
 * @b: set
 *
 * Return: false: the set is empty.
 */
bool bitmap_any(const struct bitmap *b)
{
	return b->nr && next_set(b, 0) < b->nr;
}

/**
 * bitmap_merge - move one set, or a part of it, into another of the same size
 * @to: set
 * @from: set; what is moved is taken out of it
 * @most: runs of 4096 bits that may be moved, because other sessions are waiting
 *
 * Return: whether all is moved and @from is empty.
 */
bool bitmap_merge(struct bitmap *to, struct bitmap *from, uint64_t most)
{
	for (uint64_t group = next_group(from, 0); group < nr_groups(from);
	     group = next_group(from, group + 1)) {
		uint64_t end = min_u64(nr_words(from), (group + 1) * GROUP_WORDS);

		if (!most--)
			return false;
		for (uint64_t word = group * GROUP_WORDS; word < end; word++) {
			to->words[word] |= from->words[word];
			from->words[word] = 0;
		}
		group_set(to, group * GROUP_WORDS);
		from->groups[group / WORD_BITS] &= ~(1ULL << group % WORD_BITS);
	}
	return true;
}
