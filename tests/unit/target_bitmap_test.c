// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A bitmap of granules behaves like a plain array of booleans.
 *
 * Sources: target/base/bitmap.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/bitmap.h"
#include "../../target/base/util.h"

#define BITS	(3 * 64 * 4096 + 77)	/* several words of groups, the last not whole */

static bool model[BITS], other[BITS];

static void compare(const struct bitmap *b, const bool *want, uint64_t nr)
{
	uint64_t first, count, at = 0;

	while (bitmap_next(b, at, &first, &count)) {
		assert_true(first >= at && count && first + count <= nr);
		for (; at < first; at++)
			assert_false(want[at]);
		for (; at < first + count; at++)
			assert_true(want[at]);
		/* the run does not end too early */
		assert_true(at == nr || !want[at]);
	}
	for (; at < nr; at++)
		assert_false(want[at]);
	assert_int_equal(bitmap_any(b), !!memchr(want, 1, nr));
}

static void change(struct bitmap *b, bool *want, uint64_t nr, unsigned int *seed)
{
	uint64_t first = (uint64_t)rand_r(seed) % nr;
	uint64_t count = (uint64_t)rand_r(seed) % (rand_r(seed) % 4 ? 200 : 40000);
	bool set = rand_r(seed) % 2;

	if (set)
		bitmap_set(b, first, count);
	else
		bitmap_clear(b, first, count);
	memset(want + first, set, min_u64(count, nr - first));
}

static void sets_are_what_was_put_and_not_taken(void **state)
{
	static const uint64_t sizes[] = { 1, 63, 64, 65, 4095, 4096, 4097, BITS };
	unsigned int seed = 1;
	struct bitmap b;

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		assert_int_equal(bitmap_init(&b, sizes[s]), 0);
		memset(model, 0, sizeof(model));
		compare(&b, model, sizes[s]);
		for (int i = 0; i < 300; i++) {
			change(&b, model, sizes[s], &seed);
			if (i % 30 == 0)
				compare(&b, model, sizes[s]);
		}
		compare(&b, model, sizes[s]);
		bitmap_clear(&b, 0, UINT64_MAX);
		assert_false(bitmap_any(&b));
		bitmap_set(&b, 0, UINT64_MAX);
		memset(model, 1, sizes[s]);
		compare(&b, model, sizes[s]);
		bitmap_free(&b);
	}
}

static void what_is_beyond_the_last_is_ignored(void **state)
{
	struct bitmap b;

	(void)state;
	assert_int_equal(bitmap_init(&b, 100), 0);
	bitmap_set(&b, 100, 1);
	bitmap_set(&b, 1000, 5);
	bitmap_set(&b, UINT64_MAX, UINT64_MAX);
	bitmap_set(&b, 50, 0);
	assert_false(bitmap_any(&b));
	bitmap_set(&b, 99, 7);
	memset(model, 0, sizeof(model));
	model[99] = true;
	compare(&b, model, 100);
	bitmap_free(&b);
}

/* Return: number of groups of 4096 bits that have a set bit */
static uint64_t runs_of(const struct bitmap *b)
{
	uint64_t first, count, runs = 0;

	for (uint64_t at = 0; bitmap_next(b, at, &first, &count);
	     at = (first / 4096 + 1) * 4096)
		runs++;
	return runs;
}

/* Return: how many of the pages of @b->words are in memory. */
static size_t pages_of(const struct bitmap *b, size_t *all)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), in = 0;
	uintptr_t start = round_up((uintptr_t)b->words, page);
	uintptr_t end = ((uintptr_t)b->words + b->nr / 8) / page * page;
	unsigned char *vec;

	*all = (end - start) / page;
	vec = calloc(1, *all);
	assert_int_equal(mincore((void *)start, end - start, vec), 0);
	for (size_t i = 0; i < *all; i++)
		in += vec[i] & 1;
	free(vec);
	return in;
}

/* bitmap_touch() brings all of a large bitmap into memory: a later set needs no new page. */
static void what_is_touched_is_in_memory(void **state)
{
	struct bitmap b;
	size_t all;

	(void)state;
	assert_int_equal(bitmap_init(&b, 1ULL << 28), 0);
	assert_true(pages_of(&b, &all) < all / 2);
	bitmap_touch(&b);
	assert_int_equal(pages_of(&b, &all), all);
	assert_false(bitmap_any(&b));
	bitmap_free(&b);
}

static void merging_moves(void **state)
{
	uint64_t most, had;
	struct bitmap a, b;
	bool all;
	unsigned int seed = 2;

	(void)state;
	assert_int_equal(bitmap_init(&a, BITS), 0);
	assert_int_equal(bitmap_init(&b, BITS), 0);
	memset(model, 0, sizeof(model));
	memset(other, 0, sizeof(other));
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 8; i++) {
			change(&a, model, BITS, &seed);
			change(&b, other, BITS, &seed);
		}
		/* Merge in steps. Each step moves at most @most groups of 4096 bits. */
		most = 1 + (uint64_t)round % 3;
		do {
			had = runs_of(&b);
			all = bitmap_merge(&a, &b, most);
			assert_int_equal(runs_of(&b), had > most ? had - most : 0);
			assert_int_equal(all, !bitmap_any(&b));
		} while (!all);
		for (uint64_t i = 0; i < BITS; i++)
			model[i] = model[i] || other[i];
		memset(other, 0, sizeof(other));
		compare(&a, model, BITS);
		compare(&b, other, BITS);
	}
	bitmap_free(&a);
	bitmap_free(&b);
}

static void a_zeroed_set_is_empty(void **state)
{
	struct bitmap b = { 0 };
	uint64_t first, count;

	(void)state;
	assert_false(bitmap_any(&b));
	assert_false(bitmap_next(&b, 0, &first, &count));
	bitmap_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_are_what_was_put_and_not_taken),
		cmocka_unit_test(what_is_beyond_the_last_is_ignored),
		cmocka_unit_test(merging_moves),
		cmocka_unit_test(what_is_touched_is_in_memory),
		cmocka_unit_test(a_zeroed_set_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
