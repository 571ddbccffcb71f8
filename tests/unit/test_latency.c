// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Proves that each duration is counted in the bucket that it belongs to, and that what
 * tools/latency.c says of histograms is true of the durations in them.
 */
#include "../../tools/latency.h"
#include "unit.h"

#define LAST	(RDMABLK_LATENCY_BUCKETS - 1)

static struct rdmablk_latency_histogram h;

static void clear(void)
{
	memset(&h, 0, sizeof(h));
}

static void count(uint64_t ns, uint64_t requests)
{
	h.sum += ns * requests;
	h.count[rdmablk_latency_bucket(ns)] += requests;
}

static void test_borders(void **state)
{
	uint64_t begin;

	(void)state;
	assert_int_equal(rdmablk_latency_begin(0), 0);
	for (unsigned int i = 0; i <= LAST; i++) {
		begin = rdmablk_latency_begin(i);
		assert_int_equal(rdmablk_latency_bucket(begin), i);
		assert_true(rdmablk_latency_begin(i + 1) > begin);
		assert_int_equal(rdmablk_latency_bucket(rdmablk_latency_begin(i + 1) - 1), i);
		if (i)
			assert_int_equal(rdmablk_latency_bucket(begin - 1), i - 1);
	}
	assert_int_equal(rdmablk_latency_bucket(rdmablk_latency_begin(LAST + 1)), LAST);
	assert_int_equal(rdmablk_latency_bucket(UINT64_MAX), LAST);
}

/* As the header promises: four buckets to a power of two, from 256 ns on. */
static void test_widths(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(rdmablk_latency_begin(i), 256 * i);
	for (unsigned int i = 4; i <= LAST; i += 4) {
		uint64_t power = rdmablk_latency_begin(i);

		assert_int_equal(power & (power - 1), 0);
		assert_int_equal(rdmablk_latency_begin(i + 4), 2 * power);
		for (unsigned int j = 1; j < 4; j++)
			assert_int_equal(rdmablk_latency_begin(i + j), power + j * power / 4);
	}
	/* Half an hour. */
	assert_true(rdmablk_latency_begin(LAST) > 1800 * 1000000000ULL);
}

static void test_one_duration(void **state)
{
	(void)state;
	clear();
	count(100000, 1);	/* in the bucket from 98304 to 114688 */
	assert_int_equal(latency_requests(&h), 1);
	assert_true(latency_mean(&h) == 100000);
	assert_true(latency_percentile(&h, 50) == 98304 + 8192);
	assert_true(latency_percentile(&h, 100) == 114688);
	assert_int_equal(latency_max(&h), 114688);
	count(100000, 999);
	assert_true(latency_mean(&h) == 100000);
	assert_true(latency_percentile(&h, 50) == 98304 + 8192);
	assert_true(latency_percentile(&h, 25) == 98304 + 4096);
}

static void test_two_durations(void **state)
{
	(void)state;
	clear();
	count(1024, 90);	/* to 1280 */
	count(1 << 20, 10);	/* to 1310720 */
	assert_true(latency_percentile(&h, 50) == 1024 + 256.0 * 50 / 90);
	assert_true(latency_percentile(&h, 90) == 1280);
	assert_true(latency_percentile(&h, 95) == (1 << 20) + (1 << 18) / 2);
	assert_true(latency_percentile(&h, 99) == (1 << 20) + (1 << 18) * 0.9);
	assert_true(latency_percentile(&h, 99.9) > 1310720 - 2700 &&
		    latency_percentile(&h, 99.9) < 1310720 - 2600);
	assert_true(latency_mean(&h) == (90 * 1024 + 10 * 1048576) / 100.0);
	assert_int_equal(latency_max(&h), 1310720);
}

/* Durations are spread evenly: each percentile is right within a bucket. */
static void test_even_spread(void **state)
{
	static const double percents[] = { 0.1, 1, 10, 50, 90, 99, 99.9, 100 };
	double is, want;

	(void)state;
	clear();
	for (uint64_t ns = 1; ns <= 1000000; ns++)
		count(ns, 1);
	assert_int_equal(latency_requests(&h), 1000000);
	assert_true(latency_mean(&h) == 500000.5);
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		is = latency_percentile(&h, percents[i]);
		want = percents[i] * 10000;
		/* The highest bucket, from 917504 to 1048576, is filled in part. */
		assert_true(is > want * 0.999 - 1 && is < want * 1.05);
		if (want < 900000)
			assert_true(is < want * 1.001 + 1);
	}
}

static void test_ends(void **state)
{
	(void)state;
	clear();
	assert_int_equal(latency_requests(&h), 0);
	count(0, 4);
	assert_true(latency_percentile(&h, 50) == 128);
	assert_int_equal(latency_max(&h), 256);
	count(UINT64_MAX, 4);
	assert_int_equal(latency_max(&h), rdmablk_latency_begin(LAST + 1));
	assert_true(latency_percentile(&h, 100) == rdmablk_latency_begin(LAST + 1));
	assert_true(latency_percentile(&h, 50) == 256);
	/* More requests than a double can count exactly */
	clear();
	h.count[0] = UINT64_MAX / 2;
	h.count[1] = UINT64_MAX / 2;
	assert_true(latency_percentile(&h, 99.9999999999999999) <= 512);
	assert_true(latency_percentile(&h, 100) == 512);
}

static void test_difference(void **state)
{
	struct rdmablk_latency_histogram before, since, both = { 0 };

	(void)state;
	clear();
	count(5000, 7);
	count(900000, 3);
	before = h;
	count(5000, 2);
	count(70, 1);
	assert_true(latency_since(&h, &before, &since));
	assert_int_equal(latency_requests(&since), 3);
	assert_int_equal(since.sum, 10070);
	assert_int_equal(since.count[0], 1);
	latency_add(&both, &before);
	latency_add(&both, &since);
	assert_memory_equal(&both, &h, sizeof(h));
	assert_true(latency_since(&h, &h, &since));
	assert_int_equal(latency_requests(&since), 0);
	/* The histogram was reset. */
	assert_false(latency_since(&before, &h, &since));
	before.sum = h.sum;
	assert_false(latency_since(&before, &h, &since));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_one_duration),
		cmocka_unit_test(test_two_durations),
		cmocka_unit_test(test_even_spread),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
