// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Proves that rdmablk-ordering finds each wrong word of a READ, and tells the data of an
 * earlier WRITE from damaged data.
 */
#include "../../tools/ordering/pattern.h"
#include "unit.h"

#define LINES	64
#define WORDS	(PATTERN_LINE / sizeof(uint64_t))
#define BYTES	(LINES * PATTERN_LINE)

static uint64_t data[LINES * WORDS];
static struct pattern_found found;

static bool check(size_t bytes, uint64_t counter)
{
	memset(&found, 0xee, sizeof(found));
	return pattern_check(data, bytes, counter, &found);
}

static void expect(size_t stale, size_t damaged, size_t first, uint64_t counter)
{
	assert_int_equal(found.stale, stale);
	assert_int_equal(found.damaged, damaged);
	assert_int_equal(found.first, first);
	assert_int_equal(found.counter, counter);
}

static void test_right_data(void **state)
{
	(void)state;
	for (size_t bytes = PATTERN_LINE; bytes <= BYTES; bytes += PATTERN_LINE) {
		memset(data, 0, sizeof(data));
		pattern_fill(data, bytes, 77);
		assert_true(check(bytes, 77));
		/*
		 * pattern_fill() writes no more than that, and pattern_check() does not look
		 * behind it.
		 */
		assert_true(bytes == BYTES || !data[bytes / sizeof(*data)]);
	}
}

/* Whichever word is wrong, and whatever counter it has */
static void test_one_wrong_word(void **state)
{
	static const uint64_t old[] = { 0, 1, 499, 500 ^ 256 };
	static const uint64_t none[] = { 501, 500 ^ (1ULL << 63), PATTERN_EMPTY };

	(void)state;
	for (size_t word = 0; word < LINES * WORDS; word++) {
		for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++) {
			pattern_fill(data, BYTES, 500);
			data[word] = old[i];
			assert_false(check(BYTES, 500));
			expect(1, 0, word * sizeof(*data), old[i]);
		}
		for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
			pattern_fill(data, BYTES, 500);
			data[word] = none[i];
			assert_false(check(BYTES, 500));
			expect(0, 1, word * sizeof(*data), none[i]);
		}
	}
}

static void test_wrong_lines(void **state)
{
	(void)state;
	/* All of the data is of the WRITE before. */
	pattern_fill(data, BYTES, 41);
	assert_false(check(BYTES, 42));
	expect(LINES, 0, 0, 41);
	/* The READ has brought no data. */
	pattern_fill(data, BYTES, PATTERN_EMPTY);
	assert_false(check(BYTES, 42));
	expect(0, LINES, 0, PATTERN_EMPTY);
	/* The last lines have old data. */
	pattern_fill(data, BYTES, 42);
	pattern_fill(data + 60 * WORDS, 4 * PATTERN_LINE, 40);
	assert_false(check(BYTES, 42));
	expect(4, 0, 60 * PATTERN_LINE, 40);
	/* Several wrong lines; one with words of both kinds counts as damaged */
	pattern_fill(data, BYTES, 42);
	data[3 * WORDS + 5] = 7;
	data[9 * WORDS] = 8;
	data[9 * WORDS + 7] = 43;
	data[63 * WORDS + 7] = 44;
	assert_false(check(BYTES, 42));
	expect(1, 2, (3 * WORDS + 5) * sizeof(*data), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right_data),
		cmocka_unit_test(test_one_wrong_word),
		cmocka_unit_test(test_wrong_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
