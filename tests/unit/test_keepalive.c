// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/keepalive.c takes a silent daemon for dead, and nothing else: if the host
 * itself stood still, the work looks once more for the late answer.
 */
#include "session_world.h"

#define KEEP_ALIVE	5000

static struct rdmablk_session s;
static bool silent, broken;
static unsigned int asked, errors;
static u16 error;
struct workqueue_struct *rdmablk_wq;

/* One question is under way at a time. */
int rdmablk_ctrl_command(struct rdmablk_ctrl *ctrl, u16 op, u16 flags, u16 tag)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	assert_int_equal(op, RDMABLK_OP_KEEPALIVE);
	assert_int_equal(flags, 0);
	assert_int_equal(tag, RDMABLK_TAG_KEEPALIVE);
	if (silent && asked)
		return -EBUSY;
	asked++;
	return 0;
}

void rdmablk_ctrl_break(struct rdmablk_ctrl *ctrl)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	assert_int_equal(errors, 0);	/* else the recovery may wait for a LOGOUT */
	broken = true;
}

void rdmablk_session_error(struct rdmablk_session *of, u16 reason)
{
	assert_ptr_equal(of, &s);
	error = reason;
	errors++;
}

#include "../../kernel/keepalive.c"

static int setup(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	jiffies = 1000;
	silent = false;
	broken = false;
	asked = 0;
	errors = 0;
	error = 0;
	s.login.offer.grant.keep_alive_ms = KEEP_ALIVE;
	rdmablk_keepalive_init(&s);
	return 0;
}

/* While the daemon answers, a question follows each half of the agreed time. */
static void test_answers(void **state)
{
	unsigned long start = jiffies;

	(void)state;
	rdmablk_keepalive_start(&s);
	for (unsigned int i = 1; i <= 100; i++) {
		unit_run(&s.keepalive.work);
		assert_int_equal(asked, i);
		assert_int_equal(jiffies, start + i * KEEP_ALIVE / 2);
	}
	assert_int_equal(errors, 0);
}

static void test_silence(void **state)
{
	unsigned long last;

	(void)state;
	silent = true;
	rdmablk_keepalive_start(&s);
	unit_run(&s.keepalive.work);
	assert_int_equal(asked, 1);
	last = jiffies;
	while (!errors)
		unit_run(&s.keepalive.work);
	assert_true(broken);
	assert_int_equal(error, RDMABLK_R_EXPIRED);
	assert_int_equal(errors, 1);
	/* The work looks once more after the answer was due, and no more. */
	assert_in_range(jiffies - last, KEEP_ALIVE + 1, 2 * KEEP_ALIVE);
	assert_int_equal(unit_due(&s.keepalive.work), -1);
}

/* The host stands still for an hour; the answer is received after the work has run. */
static void test_host_that_stood_still(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		asked = 0;
		silent = true;
		rdmablk_keepalive_start(&s);
		unit_run(&s.keepalive.work);
		jiffies += 3600 * HZ;
		unit_run(&s.keepalive.work);
		assert_int_equal(errors, 0);
		assert_true(unit_due(&s.keepalive.work) > 0);
		silent = false;
		unit_run(&s.keepalive.work);
		assert_int_equal(asked, 2);
		/* The next answer that is late gets a second look, too. */
		silent = true;
		jiffies += 3600 * HZ;
		unit_run(&s.keepalive.work);
		assert_int_equal(errors, 0);
		cancel_delayed_work_sync(&s.keepalive.work);
	}
}

/* A late answer on an earlier connection does not count for the next one. */
static void test_next_connection(void **state)
{
	(void)state;
	silent = true;
	asked = 1;	/* the control queue cannot send just now */
	s.keepalive.late = true;
	jiffies += 3600 * HZ;
	rdmablk_keepalive_start(&s);
	unit_run(&s.keepalive.work);
	assert_int_equal(errors, 0);
}

/* The target may grant a time of 0: the work still makes a pause. */
static void test_short_time(void **state)
{
	(void)state;
	s.login.offer.grant.keep_alive_ms = 0;
	rdmablk_keepalive_start(&s);
	for (int i = 0; i < 4; i++) {
		silent = i > 0;
		assert_true(unit_due(&s.keepalive.work) > 0);
		unit_run(&s.keepalive.work);
	}
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answers),
		TEST(test_silence),
		TEST(test_host_that_stood_still),
		TEST(test_next_connection),
		TEST(test_short_time),
	};

	return cmocka_run_group_tests_name("keepalive", tests, NULL, NULL);
}
