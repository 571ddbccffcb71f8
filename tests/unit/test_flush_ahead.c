// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/flush_ahead.c calls nothing flushed that is not, whatever happens between
 * two of its steps, and after which writes it expects a FLUSH. test_fence.c proves the same for
 * one-sided sessions.
 */
#include <limits.h>
#include <linux/kernel.h>

#include "../../kernel/request.h"
#include "unit.h"

#define FLUSHES	3
#define SINGLES	4
#define BYTES	(64U << 10)

static struct rdmablk_path path;
static unsigned int ended, durable, depth, cleans, settled;

/* A FLUSH from its beginning to its end */
static struct {
	bool busy, was_unflushed;
	unsigned int covers;		/* number of ended writes when it was sent */
} flush[FLUSHES];

static void write_ends(void)
{
	WRITE_ONCE(path.unflushed, true);
	ended++;
}

static void flush_begins(unsigned int i)
{
	flush[i].busy = true;
	flush[i].covers = UINT_MAX;
	flush[i].was_unflushed = rdmablk_flush_ahead_begin(&path);
	flush[i].covers = ended;
}

static void flush_ends(unsigned int i)
{
	bool ok = unit_random() & 1;

	if (flush[i].covers == UINT_MAX)
		return;		/* it is still being sent */
	if (ok)
		durable = max(durable, flush[i].covers);
	flush[i].covers = UINT_MAX;
	rdmablk_flush_ahead_end(&path, flush[i].was_unflushed, ok);
	flush[i].busy = false;
}

static void flush_is_wanted(void)
{
	unsigned int before = ended;

	if (!rdmablk_flush_ahead_is_clean(&path))
		return;
	cleans++;
	assert_true(durable >= before);
}

static void session_ends(void)
{
	unsigned int before = ended;

	if (!rdmablk_flush_ahead_is_settled(&path))
		return;
	settled++;
	assert_true(durable >= before);
}

static void step(void)
{
	unsigned int i = (unsigned int)(unit_random() % FLUSHES);

	switch (unit_random() % 4) {
	case 0:
		if (unit_random() % 8)
			break;
		write_ends();
		break;
	case 1 ... 2:
		if (flush[i].busy)
			flush_ends(i);
		else
			flush_begins(i);
		break;
	case 3:
		if (unit_random() & 1)
			flush_is_wanted();
		else
			session_ends();
		break;
	}
}

/* Before each access of the tested code other tasks may take a step. */
static void world(const void *at)
{
	(void)at;
	if (depth == 3 || unit_random() % 3)
		return;
	depth++;
	step();
	depth--;
}

static int setup(void **state)
{
	(void)state;
	shim_access = NULL;
	memset(&path, 0, sizeof(path));
	memset(flush, 0, sizeof(flush));
	path.cache = true;
	ended = 0;
	durable = 0;
	rdmablk_flush_ahead_start(&path, false);
	return 0;
}

static void test_what_is_clean_is_durable(void **state)
{
	cleans = 0;
	settled = 0;
	for (int i = 0; i < 5000; i++) {
		setup(state);
		shim_access = world;
		for (int n = 0; n < 200; n++)
			step();
		shim_access = NULL;
	}
	/* otherwise the test has shown nothing */
	assert_in_range(cleans, 5000, UINT_MAX);
	assert_in_range(settled, 5000, UINT_MAX);
}

static bool flushes_clean(void)
{
	bool was = rdmablk_flush_ahead_begin(&path);

	rdmablk_flush_ahead_end(&path, was, true);
	return rdmablk_flush_ahead_is_clean(&path);
}

/* Writes from before the session, and writes of other hosts, are unknown: the FLUSH is sent. */
static void test_the_first_flush_is_sent(void **state)
{
	(void)state;
	assert_false(rdmablk_flush_ahead_is_clean(&path));
	rdmablk_flush_ahead_end(&path, rdmablk_flush_ahead_begin(&path), false);
	assert_false(rdmablk_flush_ahead_is_clean(&path));
	assert_true(flushes_clean());
	rdmablk_flush_ahead_start(&path, true);
	assert_false(flushes_clean());
	/* a session ends with a FLUSH under way; the next session has another connection */
	rdmablk_flush_ahead_begin(&path);
	rdmablk_flush_ahead_start(&path, false);
	assert_false(rdmablk_flush_ahead_is_clean(&path));
	assert_true(flushes_clean());
}

/* An orderly end waits for a FLUSH under way, whatever has been written. */
static void test_a_flush_under_way_is_not_settled(void **state)
{
	bool was;

	(void)state;
	assert_true(rdmablk_flush_ahead_is_settled(&path));
	write_ends();
	assert_false(rdmablk_flush_ahead_is_settled(&path));
	was = rdmablk_flush_ahead_begin(&path);
	assert_false(rdmablk_flush_ahead_is_settled(&path));
	rdmablk_flush_ahead_end(&path, was, true);
	assert_true(rdmablk_flush_ahead_is_settled(&path));
	/* where other hosts write, too, an orderly end needs no FLUSH */
	rdmablk_flush_ahead_start(&path, true);
	assert_true(rdmablk_flush_ahead_is_settled(&path));
}

static void singles(unsigned int nr)
{
	while (nr--) {
		assert_false(rdmablk_flush_ahead_expects(&path, 512));
		rdmablk_flush_ahead_write(&path);
		rdmablk_flush_ahead_flush(&path);
	}
}

static void test_what_is_expected(void **state)
{
	(void)state;
	rdmablk_flush_ahead_flush(&path);
	singles(SINGLES);
	/* no FLUSH has succeeded yet, so the one behind this write must be sent */
	assert_false(rdmablk_flush_ahead_expects(&path, 512));
	assert_true(flushes_clean());
	assert_true(rdmablk_flush_ahead_expects(&path, BYTES));
	assert_false(rdmablk_flush_ahead_expects(&path, BYTES + 512));
	/*
	 * a second write before the FLUSH expects none; after many of them the count starts
	 * again
	 */
	rdmablk_flush_ahead_write(&path);
	assert_false(rdmablk_flush_ahead_expects(&path, 512));
	rdmablk_flush_ahead_flush(&path);
	assert_true(rdmablk_flush_ahead_expects(&path, 512));
	for (int i = 0; i < 1000; i++)
		rdmablk_flush_ahead_write(&path);
	rdmablk_flush_ahead_flush(&path);
	singles(SINGLES);
	/* FLUSHes without writes do not change the count */
	for (int i = 0; i < 10; i++)
		rdmablk_flush_ahead_flush(&path);
	assert_true(rdmablk_flush_ahead_expects(&path, 512));
	rdmablk_flush_ahead_start(&path, true);
	assert_false(rdmablk_flush_ahead_expects(&path, 512));
}

/* After a failure the write is sent again as a plain one, and the FLUSH behind it is sent. */
static void test_a_failure_is_the_end_of_it(void **state)
{
	(void)state;
	assert_true(flushes_clean());
	rdmablk_flush_ahead_flush(&path);
	singles(SINGLES);
	assert_true(rdmablk_flush_ahead_expects(&path, 512));
	rdmablk_flush_ahead_failed(&path);
	assert_false(rdmablk_flush_ahead_is_clean(&path));
	assert_false(rdmablk_flush_ahead_expects(&path, 512));
	assert_true(flushes_clean());
	singles(SINGLES);
	assert_true(rdmablk_flush_ahead_expects(&path, 512));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_clean_is_durable),
		cmocka_unit_test_setup_teardown(test_the_first_flush_is_sent, setup, NULL),
		cmocka_unit_test_setup_teardown(test_a_flush_under_way_is_not_settled, setup,
						NULL),
		cmocka_unit_test_setup_teardown(test_what_is_expected, setup, NULL),
		cmocka_unit_test_setup_teardown(test_a_failure_is_the_end_of_it, setup, NULL),
	};

	return cmocka_run_group_tests_name("ahead", tests, NULL, NULL);
}
