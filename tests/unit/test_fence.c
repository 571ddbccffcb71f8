// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that a flush of kernel/fence.c makes durable what had been written before it, and that
 * a command by which the target's CPU changes memory comes after all of that, whatever happens
 * between any two steps.
 */
#include "fence_world.h"

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

/* There are so few writes that often nothing has to be flushed. */
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

/* A caller does not wait for a flush that cannot be sent any more. */
static void test_a_flush_after_the_end(void **state)
{
	(void)state;
	write_done(0, 1);
	rdmablk_fence_stop(f);
	assert_int_equal(rdmablk_fence_flush(f, 1), -ENOTCONN);
	assert_false(f->own_queued);
	lose_connection();
	stop_meanwhile = true;
	assert_int_equal(rdmablk_fence_flush(f, 1), -EIO);
	assert_int_equal(rdmablk_fence_flush(f, 1), -EBUSY);
	stop_meanwhile = false;
	lose_connection();
	flush_the_rest();
}

static void flush_now(void)
{
	assert_int_equal(rdmablk_fence_flush(f, 1), 0);
}

/* A FLUSH is sent on a queue that has written, and needs no FENCE on that queue. */
static void test_fences_of_one_writer(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 30; i++) {
		write_done(i / 2 % QUEUES, i);
		flush_now();
		assert_int_equal(fences, 0);
	}
	flush_now();
	assert_int_equal(fences, 0);
	for (unsigned int q = 0; q < QUEUES; q++)
		write_done(q, q);
	flush_now();
	assert_int_equal(fences, QUEUES - 1);
	flush_now();
	assert_int_equal(fences, QUEUES - 1);
}

static unsigned int late;

/* A WRITE completes after the flush has taken the bits, and before it sends fences. */
static void write_late(const void *at)
{
	if (at != &hwq[0].wrote || !f->flushing || late)
		return;
	late = 1;
	write_done(2, 2);
}

static void test_no_fence_of_a_late_writer(void **state)
{
	(void)state;
	late = 0;
	write_done(0, 0);
	write_done(1, 1);
	shim_access = write_late;
	flush_now();
	shim_access = NULL;
	assert_int_equal(late, 1);
	/*
	 * Queue 1 was fenced. Queue 0 carries the flush, and queue 2 has written too late for
	 * it.
	 */
	assert_int_equal(fences, 1);
	assert_true(hwq[2].wrote);
	assert_true(dirty_any(&f->dirty));
	write_done(1, 1);
	flush_now();
	assert_int_equal(fences, 2);
	assert_int_equal(file[2], ended[2]);
}

/* Bits that a failed flush puts back need no second FENCE. */
static void test_no_fence_after_a_failure(void **state)
{
	unsigned int failures = 0;

	(void)state;
	failing = true;
	for (unsigned int i = 0; i < 20; i++) {
		write_done(0, 0);
		write_done(1, 1);
		while (rdmablk_fence_flush(f, 1) == -EIO)
			failures++;
		assert_int_equal(fences, i + 1);
		assert_int_equal(file[0], ended[0]);
		assert_int_equal(file[1], ended[1]);
	}
	assert_in_range(failures, 1, 1000);
}

/* The number of flushes wraps to 1, because a mark is never 0. */
static void test_many_flushes(void **state)
{
	(void)state;
	path.snapshots = UINT32_MAX - 3;
	for (unsigned int i = 0; i < 8; i++) {
		write_done(0, 0);
		write_done(1, 1);
		assert_int_not_equal(hwq[0].wrote, 0);
		flush_now();
		assert_int_equal(fences, i + 1);
	}
	assert_int_equal(path.snapshots, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_flush_is_durable),
		cmocka_unit_test(test_flushes_that_fail),
		cmocka_unit_test(test_lost_connections),
		cmocka_unit_test(test_a_calm_disk),
		cmocka_unit_test_setup_teardown(test_a_flush_after_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fences_of_one_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_fence_of_a_late_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_fence_after_a_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_flushes, setup, teardown),
	};

	return cmocka_run_group_tests_name("fenced", tests, NULL, NULL);
}
