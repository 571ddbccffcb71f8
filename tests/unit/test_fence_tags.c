// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that the commands of kernel/fence.c get tags of their write queue: slow commands never
 * have all of them, and each command gets one sooner or later.
 */
#include "fence_world.h"

/* 100 slow commands of one queue do not end, fenced or not. Other commands still get tags. */
static void test_slow_commands_leave_tags(void **state)
{
	unsigned int waiting = 0;

	(void)state;
	no_hurry = true;
	for (int i = 0; i < 100; i++)
		op_new(i < 50 ? RDMABLK_FENCE_ALONE : RDMABLK_FENCE_COMMAND, 0);
	settle();
	assert_int_equal(queue[0].nr_sent, TAGS / 2);
	/* Their timers must not end the connection before they are sent. */
	for (int i = 0; i < 100; i++)
		waiting += op[i].op.waits;
	assert_int_equal(waiting, 100 - TAGS / 2);
	for (int i = 0; i < 20; i++)
		op_new(RDMABLK_FENCE_FUA, 0);
	write_done(1, 1);
	op_new(RDMABLK_FENCE_FLUSH, 0);
	settle();
	for (int i = 100; i < 121; i++)
		assert_true(op[i].done);
	assert_int_equal(queue[0].nr_sent, TAGS / 2);
	assert_int_equal(hwq[0].waits, 1 << RDMABLK_LINE_SLOW);
	no_hurry = false;
	settle();
	assert_int_equal(slow_done, 100);
	all_done();
}

/* The time of a FLUSH behind another one begins when that one has ended. */
static void test_a_flush_behind_another_one(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		op_new(RDMABLK_FENCE_FLUSH, 0);
		work();
	}
	assert_true(op[0].begun);
	assert_false(op[0].op.waits || op[0].done);
	for (int i = 1; i < 3; i++)
		assert_true(op[i].op.waits && !op[i].begun);
	answer(0, 0);
	work();
	assert_true(op[0].done);
	for (int i = 1; i < 3; i++)
		assert_true(op[i].begun && !op[i].op.waits && !op[i].done);
	settle();
	all_done();
}

/* FUA writes get tags in the order in which they came. */
static void test_fua_writes_wait_in_line(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		op_new(RDMABLK_FENCE_FUA, 2);
	work();
	assert_int_equal(queue[2].nr_sent, TAGS);
	assert_true(hwq[2].waits & 1 << RDMABLK_LINE_FUA);
	for (unsigned int i = 0; i < 20; i++) {
		assert_ptr_equal(queue[2].sent[0], op[i].cmd);
		answer(2, 0);
		assert_true(op[i].done);
		work();
		assert_int_equal(queue[2].nr_sent, i < 20 - TAGS ? TAGS : 19 - i);
	}
	assert_int_equal(fences, 0);
	all_done();
}

/*
 * The target takes one command besides the reserved ones. If its tag comes back while the next
 * command begins to wait, no other answer will wake that one.
 */
static void test_a_single_tag(void **state)
{
	for (int i = 0; i < 500; i++) {
		setup(state);
		hwq[0].cmdq.depth = RDMABLK_CMD_RESERVED + 1;
		for (int n = 0; n < 30; n++)
			op_new(n & 1 ? RDMABLK_FENCE_FUA : RDMABLK_FENCE_COMMAND, 0);
		shim_access = world;
		settle();
		shim_access = NULL;
		settle();
		all_done();
		teardown(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_slow_commands_leave_tags, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_flush_behind_another_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fua_writes_wait_in_line, setup, teardown),
		cmocka_unit_test(test_a_single_tag),
	};

	return cmocka_run_group_tests_name("fenced_tags", tests, NULL, NULL);
}
