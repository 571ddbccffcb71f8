// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/recovery.c ends a connection in order where that is asked for: it flushes,
 * and says truly whether all is flushed. And that in each state a reconnect or a removal does
 * what the administrator has asked for.
 */
#include "recovery_world.h"

/*
 * An orderly end
 */

/* All writes are flushed, again if more were answered meanwhile, and LOGOUT says so. */
static void test_orderly(void **state)
{
	(void)state;
	io.writes = 0;
	io.busy = 3;
	target.unflushed = 2;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_int_equal(target.flushes, 2);
	assert_int_equal(target.logouts, 1);
	assert_int_equal(target.logout_flags, RDMABLK_LOGOUT_CLEAN);
	assert_int_equal(target.logout_wait, KEEP_ALIVE);
	assert_int_equal(longest_nap, 1);
}

/* Nothing to flush: no volatile cache, no right to write, or the session is fenced already */
static void test_nothing_to_flush(void **state)
{
	for (int i = 0; i < 3; i++) {
		setup(state);
		target.unflushed = 1;
		s.path.cache = i != 0;
		s.path.read_only = i == 1;
		s.outage.fenced = i == 2;
		breaks(RDMABLK_R_SHUTDOWN);
		assert_int_equal(target.flushes, 0);
		assert_int_equal(target.logouts, 0);
	}
}

/* A session that was not flushed in full does not say that it is clean. */
static void test_flush_fails(void **state)
{
	(void)state;
	io.writes = 0;
	target.unflushed = 1;
	target.flush = -EIO;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_int_equal(target.flushes, 1);
	assert_int_equal(target.logouts, 1);
	assert_int_equal(target.logout_flags, 0);
}

/* A request that has not ended may have been written after the flush: LOGOUT is not clean. */
static void test_request_hangs(void **state)
{
	(void)state;
	io.busy = 1 << 20;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_int_equal(target.logouts, 1);
	assert_int_equal(target.logout_flags, 0);
}

/* Each flush leaves more to flush. The flushes have an end, however fast or slow they are. */
static void test_flushes_without_end(void **state)
{
	(void)state;
	target.unflushed = 1000;
	target.takes = HZ;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_in_range(target.flushes, 60, 62);
	setup(state);
	target.unflushed = 1000;
	target.takes = 50 * HZ;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_int_equal(target.flushes, 3);
}

/* A target that goes down has time until I/O would fail. A reconnect has less. */
static void test_slow_flush(void **state)
{
	(void)state;
	target.unflushed = 1;
	target.slow = 5;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_int_equal(target.slow, 0);
	assert_int_equal(target.unflushed, 0);
	setup(state);
	target.unflushed = 1;
	target.slow = 5;
	renews();
	assert_int_equal(target.slow, 4);
	setup(state);
	s.opt.fast_io_fail_tmo = 150;
	target.unflushed = 1;
	target.slow = 5;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_int_equal(target.slow, 3);
	/* The disk is being removed. */
	setup(state);
	s.state = RDMABLK_DEV_DELETING;
	s.outage.reason = RDMABLK_R_SHUTDOWN;
	target.unflushed = 1;
	target.slow = 5;
	assert_false(rdmablk_recovery_flush(&s));
	assert_int_equal(target.slow, 4);
}

/* Lets the fail work look, which ends the quiesce. */
static void fail_work_runs(void)
{
	assert_true(s.path.holding);
	assert_int_equal(unit_due(&s.fail_work), 0);
	unit_run(&s.fail_work);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_BROKEN);
	assert_int_equal(queue.quiesced, 0);
}

/* I/O that comes during the flush has its usual time, which the administrator may change. */
static void io_fails_meanwhile(void)
{
	fail_work_runs();
	assert_int_equal(io.failed, 1);		/* FAILFAST */
	assert_false(s.path.failing);
	assert_int_equal(unit_due(&s.fail_work), 30 * HZ - (long)(jiffies - s.outage.clock));
	s.opt.fast_io_fail_tmo = 7;
	jiffies += 7 * HZ;
	rdmablk_recovery_changed(&s);
	fail_work_runs();
	assert_true(s.path.failing);
	assert_int_equal(io.failed, 3);
	assert_int_equal(unit_due(&s.fail_work), -1);
	/* Tries to connect end later, and the teardown goes on. */
	jiffies += 600 * HZ;
	rdmablk_recovery_changed(&s);
	fail_work_runs();
	assert_int_equal(unit_due(&s.fail_work), -1);
	assert_int_equal(s.state, RDMABLK_DEV_RECOVERING);
	/* It may be armed when the flush ends. */
	s.opt.dev_loss_tmo = 700;
	rdmablk_recovery_changed(&s);
}

static void test_io_during_a_flush(void **state)
{
	(void)state;
	io.writes = 0;
	io.busy = 3;
	s.opt.fast_io_fail_tmo = 30;
	target.unflushed = 1;
	target.meanwhile = io_fails_meanwhile;
	target.login = -ENETUNREACH;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_int_equal(target.logout_flags, RDMABLK_LOGOUT_CLEAN);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_DOWN);
	assert_true(s.path.holding && s.path.failing);
	assert_int_equal(unit_due(&s.fail_work), 0);
	unit_run(&s.fail_work);
	assert_int_equal(unit_due(&s.fail_work), 700 * HZ - (long)(jiffies - s.outage.clock));
}

static void io_fails_at_once(void)
{
	fail_work_runs();
	assert_true(s.path.failing);
}

static void request_completes(void)
{
	io_fails_at_once();
	io.served[0]++;
}

/* A connection lasts 2 s after an outage of 29 s. It serves nobody, and its target shuts down. */
static void short_connection_flushes(void (*meanwhile)(void))
{
	s.opt.fast_io_fail_tmo = 30;
	target.login = -ENETUNREACH;
	breaks(RDMABLK_R_CONNECTION);
	unit_run(&s.fail_work);
	jiffies = s.outage.clock + 29 * HZ;
	target.login = 0;
	unit_run(&s.recovery_work);
	jiffies += 2 * HZ;
	stopped = false;
	ctrl_stopped = false;
	destroyed = false;
	target.unflushed = 1;
	target.meanwhile = meanwhile;
	breaks(RDMABLK_R_SHUTDOWN);
	assert_int_equal(target.flushes, 1);
}

static void test_io_during_a_flush_of_a_short_connection(void **state)
{
	short_connection_flushes(io_fails_at_once);
	assert_int_equal(s.outage.clock, s.outage.last_clock);
	setup(state);
	short_connection_flushes(request_completes);
	assert_int_equal(s.outage.clock, s.outage.lost_at);
}

/* A connection that is renewed on purpose fails no I/O before its first try is over. */
static void nothing_fails_meanwhile(void)
{
	assert_int_equal(unit_due(&s.fail_work), -1);
	rdmablk_recovery_changed(&s);
	assert_int_equal(unit_due(&s.fail_work), -1);
	assert_int_equal(queue.quiesced, 1);
	mod_delayed_work(rdmablk_wq, &s.fail_work, 0);
	unit_run(&s.fail_work);
	assert_int_equal(queue.quiesced, 1);
	assert_int_equal(io.failed, 0);
}

/* Runs as the recovery work, for which the task that removes the disk waits. */
static void io_fails_before_the_flush_ends(struct work_struct *work)
{
	(void)work;
	fail_work_runs();
	assert_true(s.path.failing);
	assert_int_equal(io.failed, 3);
}

static void disk_is_removed_meanwhile(void)
{
	void (*recovery)(struct work_struct *work) = s.recovery_work.work.fn;

	s.state = RDMABLK_DEV_DELETING;
	s.recovery_work.work.fn = io_fails_before_the_flush_ends;
	mod_delayed_work(rdmablk_recovery_wq, &s.recovery_work, 0);
	rdmablk_recovery_give_up(&s);
	s.recovery_work.work.fn = recovery;
}

static void machine_goes_down_meanwhile(void)
{
	s.hurry = true;
	rdmablk_recovery_shutdown(&s);
	fail_work_runs();
	assert_true(s.path.failing);
}

static void test_io_during_a_planned_flush(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 0;
	target.unflushed = 1;
	target.meanwhile = nothing_fails_meanwhile;
	renews();
	assert_int_equal(s.state, RDMABLK_DEV_LIVE);
	setup(state);
	io.writes = 0;
	target.unflushed = 1;
	target.meanwhile = disk_is_removed_meanwhile;
	renews();
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_LOST);
	assert_int_equal(target.logins, 0);
	/* The removal began before the flush. */
	setup(state);
	s.state = RDMABLK_DEV_DELETING;
	target.unflushed = 1;
	target.meanwhile = io_fails_at_once;
	renews();
	assert_int_equal(target.flushes, 1);
	setup(state);
	target.unflushed = 1;
	target.login = -ENETUNREACH;
	target.meanwhile = machine_goes_down_meanwhile;
	renews();
	assert_int_equal(target.flushes, 1);
	assert_true(s.path.failing);
}

/*
 * What the administrator asks for
 */

static int again(bool accept_loss)
{
	const char *why = NULL;
	int ret = rdmablk_recovery_again(&s, accept_loss, &why);

	assert_int_equal(!!ret, !!why);
	return ret;
}

static void test_again_live(void **state)
{
	(void)state;
	assert_int_equal(again(true), 0);
	assert_int_equal(error, RDMABLK_R_LOGOUT);
	assert_true(s.accept_loss);
	/* The consent to an earlier loss does not count. */
	assert_int_equal(again(false), 0);
	assert_false(s.accept_loss);
}

static void test_again_recovering(void **state)
{
	(void)state;
	outage();
	assert_true(unit_due(&s.recovery_work) > 0);
	assert_int_equal(again(true), 0);
	assert_true(s.accept_loss);
	assert_int_equal(unit_due(&s.recovery_work), 0);
	assert_int_equal(error, 0);
	cancel_delayed_work_sync(&s.recovery_work);
	s.outage.phase = RDMABLK_PHASE_LOST;
	assert_int_equal(again(false), -EAGAIN);
	assert_int_equal(unit_due(&s.recovery_work), -1);
}

static void fails(u16 reason)
{
	outage();
	io.writes = 0;
	s.outage.phase = RDMABLK_PHASE_LOST;
	s.outage.reason = reason;
	mod_delayed_work(rdmablk_wq, &s.fail_work, 0);
	unit_run(&s.fail_work);
	assert_int_equal(s.state, RDMABLK_DEV_FAILED);
	jiffies += 1000 * HZ;
}

/* There is time for one try, however short dev_loss_tmo is. */
static void test_again_failed(void **state)
{
	(void)state;
	s.opt.dev_loss_tmo = 1;
	fails(RDMABLK_R_CONNECTION);
	assert_int_equal(again(false), 0);
	assert_int_equal(s.state, RDMABLK_DEV_RECOVERING);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_DOWN);
	assert_false(s.waiter.cancelled || s.accept_loss);
	assert_int_equal(s.outage.attempts, 0);
	assert_int_equal(unit_due(&s.recovery_work), 0);
	unit_run(&s.fail_work);
	assert_int_equal(s.state, RDMABLK_DEV_RECOVERING);
	unit_run(&s.recovery_work);
	assert_int_equal(target.logins, 2);
	jiffies = s.outage.clock + HZ;
	mod_delayed_work(rdmablk_wq, &s.fail_work, 0);
	unit_run(&s.fail_work);
	assert_int_equal(s.state, RDMABLK_DEV_FAILED);
}

/* A disk with lost contents comes back only when the administrator accepts the loss. */
static void test_again_after_a_loss(void **state)
{
	(void)state;
	fails(RDMABLK_R_DATA_LOST);
	assert_int_equal(again(false), -ENODATA);
	assert_int_equal(s.state, RDMABLK_DEV_FAILED);
	assert_int_equal(again(true), 0);
	assert_true(s.accept_loss);
	assert_int_equal(s.state, RDMABLK_DEV_RECOVERING);
}

static void test_again_too_early_or_late(void **state)
{
	(void)state;
	s.state = RDMABLK_DEV_CONNECTING;
	assert_int_equal(again(false), -EAGAIN);
	s.state = RDMABLK_DEV_DELETING;
	assert_int_equal(again(true), -EALREADY);
	assert_false(s.accept_loss);
	assert_int_equal(unit_due(&s.recovery_work), -1);
	assert_int_equal(error, 0);
}

/* give_up() sleeps in short naps: a sleep of two minutes would look like a hung task. */
static void test_give_up(void **state)
{
	(void)state;
	outage();
	s.state = RDMABLK_DEV_DELETING;
	rdmablk_recovery_give_up(&s);
	assert_true(s.waiter.cancelled && s.path.failing);
	assert_int_equal(io.failed, 6);
	assert_int_equal(jiffies, s.outage.hold_until);
	assert_in_range(longest_nap, 1, HZ);
	assert_int_equal(unit_due(&s.fail_work), -1);
	assert_int_equal(unit_due(&s.recovery_work), -1);
	assert_int_equal(target.logins, 1);
}

static void test_finish(void **state)
{
	(void)state;
	outage();
	s.state = RDMABLK_DEV_DELETING;
	mod_delayed_work(rdmablk_wq, &s.fail_work, 0);
	mod_delayed_work(rdmablk_wq, &s.keepalive.work, 0);
	mod_delayed_work(rdmablk_wq, &s.disk_work, 0);
	rdmablk_recovery_finish(&s);
	assert_true(s.waiter.cancelled);
	assert_int_equal(unit_due(&s.recovery_work), -1);
	assert_int_equal(unit_due(&s.fail_work), -1);
	assert_int_equal(unit_due(&s.keepalive.work), -1);
	assert_int_equal(unit_due(&s.disk_work), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_orderly),
		TEST(test_nothing_to_flush),
		TEST(test_flush_fails),
		TEST(test_request_hangs),
		TEST(test_flushes_without_end),
		TEST(test_slow_flush),
		TEST(test_io_during_a_flush),
		TEST(test_io_during_a_flush_of_a_short_connection),
		TEST(test_io_during_a_planned_flush),
		TEST(test_again_live),
		TEST(test_again_recovering),
		TEST(test_again_failed),
		TEST(test_again_after_a_loss),
		TEST(test_again_too_early_or_late),
		TEST(test_give_up),
		TEST(test_finish),
	};

	return cmocka_run_group_tests_name("recovery_asked", tests, NULL, NULL);
}
