// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that a flush of kernel/fenced.c makes durable what had been written before it,
 * and that what the target's CPU does to memory comes after that, whatever happens between
 * any two steps.
 */
#include "fenced_world.h"

static void test_a_flush_is_durable(void **state)
{
	for (int i = 0; i < 2000; i++) {
		setup(state);
		run_world(300, false);
		teardown(state);
	}
}

static void test_flushes_that_fail(void **state)
{
	for (int i = 0; i < 2000; i++) {
		setup(state);
		failing = true;
		run_world(300, false);
		teardown(state);
	}
}

static void test_lost_connections(void **state)
{
	for (int i = 0; i < 2000; i++) {
		setup(state);
		failing = i & 1;
		run_world(300, true);
		teardown(state);
	}
}

/* So few writes that there is often nothing to flush. */
static void test_a_calm_disk(void **state)
{
	cleans = 0;
	for (int i = 0; i < 2000; i++) {
		setup(state);
		calm = true;
		failing = i & 1;
		run_world(300, i & 2);
		teardown(state);
	}
	assert_in_range(cleans, 5000, UINT32_MAX);
}

/* Whoever waits for a flush that nobody does any more does not. */
static void test_a_flush_after_the_end(void **state)
{
	(void)state;
	write_done(0, 1);
	rdmablk_fenced_stop(f);
	assert_int_equal(rdmablk_fenced_flush(f, 1), -ENOTCONN);
	assert_false(f->own_queued);
	lose_connection();
	stop_meanwhile = true;
	assert_int_equal(rdmablk_fenced_flush(f, 1), -EIO);
	assert_int_equal(rdmablk_fenced_flush(f, 1), -EBUSY);
	stop_meanwhile = false;
	lose_connection();
	flush_the_rest();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_flush_is_durable),
		cmocka_unit_test(test_flushes_that_fail),
		cmocka_unit_test(test_lost_connections),
		cmocka_unit_test(test_a_calm_disk),
		cmocka_unit_test_setup_teardown(test_a_flush_after_the_end, setup, teardown),
	};

	return cmocka_run_group_tests_name("fenced", tests, NULL, NULL);
}
