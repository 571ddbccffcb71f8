// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/recovery.c keeps its times: when held I/O fails, when a write fails that
 * may still land, when reconnecting ends, and how long the pause before a try is.
 */
#include "recovery_world.h"

/*
 * The clock of held I/O
 */

static void test_nothing_fails_while_the_connection_is_there(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 0;
	mod_delayed_work(rdmablk_wq, &s.fail_work, 0);
	unit_run(&s.fail_work);
	assert_int_equal(io.failed, 0);
	assert_false(s.path.failing);
	assert_int_equal(unit_due(&s.fail_work), -1);
}

/* A READ may fail at once. A write fails only when it cannot land any more. */
static void test_fast_io_fail(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 5;
	outage();
	assert_int_equal(io.failed, 1);		/* the FAILFAST one */
	assert_int_equal(unit_due(&s.fail_work), 5 * HZ);
	unit_run(&s.fail_work);
	assert_true(s.path.failing);
	assert_int_equal(events, 1);
	assert_int_equal(io.failed, 3);
	assert_int_equal(io.writes, 3);
	assert_int_equal(s.outage.clock + SESSION_TMO + HZ, s.fail_work.due);
	unit_run(&s.fail_work);
	assert_int_equal(io.failed, 6);
	assert_int_equal(s.state, RDMABLK_DEV_RECOVERING);
	/* Next, reconnecting ends. */
	assert_int_equal(s.outage.clock + 600 * HZ, s.fail_work.due);
	unit_run(&s.fail_work);
	assert_int_equal(s.state, RDMABLK_DEV_FAILED);
	assert_true(s.waiter.cancelled);
	assert_int_equal(unit_due(&s.fail_work), -1);
	assert_int_equal(events, 1);
}

/* The shorter of both timeouts ends the holding of I/O. */
static void test_which_timeout(void **state)
{
	static const struct {
		s32 fast, loss;
		long due;
	} c[] = {
		{ -1, 600, 600 * HZ },
		{ 700, 600, 600 * HZ },
		{ 7, -1, 7 * HZ },
		{ -1, -1, -1 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		setup(state);
		s.opt.fast_io_fail_tmo = c[i].fast;
		s.opt.dev_loss_tmo = c[i].loss;
		outage();
		assert_int_equal(unit_due(&s.fail_work), c[i].due);
		assert_int_equal(io.failed, 1);
	}
}

/* Reconnecting has ended, but the disk fails only after its last write has. */
static void test_lost_with_writes(void **state)
{
	(void)state;
	s.opt.dev_loss_tmo = 3;
	outage();
	unit_run(&s.fail_work);
	assert_true(s.outage.phase == RDMABLK_PHASE_LOST && s.path.failing);
	assert_true(s.waiter.cancelled);
	assert_int_equal(io.failed, 3);
	assert_int_equal(s.state, RDMABLK_DEV_RECOVERING);
	unit_run(&s.fail_work);
	assert_int_equal(jiffies, s.outage.hold_until);
	assert_int_equal(io.failed, 6);
	assert_int_equal(s.state, RDMABLK_DEV_FAILED);
}

/* The target has said that no write can land any more. */
static void test_fenced(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 5;
	outage();
	s.outage.fenced = true;
	unit_run(&s.fail_work);
	assert_int_equal(io.failed, 6);
}

/* A GRANT says the same, even if its login fails, for example because the export has shrunk. */
static void test_fenced_by_a_login_that_fails(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 0;
	outage();
	assert_true(s.path.failing);
	assert_int_equal(io.writes, 3);
	unit_run(&s.recovery_work);
	assert_int_equal(io.writes, 3);
	target.fences = true;
	target.refusal = RDMABLK_R_SHRUNK;
	unit_run(&s.recovery_work);
	assert_int_equal(unit_due(&s.fail_work), 0);
	unit_run(&s.fail_work);
	assert_int_equal(io.writes, 0);
	assert_int_equal(io.failed, 6);
	assert_int_equal(s.state, RDMABLK_DEV_RECOVERING);
	assert_true(unit_due(&s.recovery_work) > 0);
}

/* Once I/O fails it goes on failing, unless only because the disk had not been added. */
static void test_failing_goes_on(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 5;
	outage();
	unit_run(&s.fail_work);
	assert_true(s.path.failing);
	s.opt.fast_io_fail_tmo = 100;
	rdmablk_recovery_changed(&s);
	unit_run(&s.fail_work);
	assert_true(s.path.failing);
	assert_int_equal(events, 1);
	assert_false(s.unscanned);
}

/* The task that adds the disk waits for the disk's I/O, so that must fail. */
static void test_before_the_disk_is_added(void **state)
{
	(void)state;
	s.added = false;
	outage();
	assert_true(s.path.failing && s.unscanned);
	assert_int_equal(io.failed, 3);
	assert_int_equal(events, 1);
	s.added = true;
	rdmablk_recovery_changed(&s);
	assert_int_equal(unit_due(&s.fail_work), 0);
	unit_run(&s.fail_work);
	assert_false(s.path.failing);
	assert_int_equal(events, 2);
	/* The scan for partitions is still to come. */
	assert_true(s.unscanned);
}

/* After a planned end the clock begins only when a first try has had its time. */
static void test_planned(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 5;
	target.login = -ENETUNREACH;
	renews();
	assert_int_equal(s.outage.clock, jiffies + 10 * HZ);
	assert_false(io.lost);
	unit_run(&s.fail_work);
	assert_int_equal(io.failed, 0);
	assert_int_equal(s.fail_work.due, s.outage.clock);
	unit_run(&s.fail_work);
	assert_int_equal(io.failed, 1);
	assert_false(s.path.failing);
	assert_int_equal(unit_due(&s.fail_work), 5 * HZ);
}

/* The peer closes with the reason of a logout, but this side has not planned the outage. */
static void test_a_logout_of_the_peer(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 5;
	s.outage.fenced = true;
	target.login = -ENETUNREACH;
	breaks(RDMABLK_R_LOGOUT);
	assert_int_equal(s.outage.clock, jiffies);
	assert_true(io.lost);
	/* FAILFAST requests use another disk now. */
	unit_run(&s.fail_work);
	assert_true(s.path.failing_fast);
	assert_int_equal(io.failed, 1);
	setup(state);
	s.opt.dev_loss_tmo = 0;
	s.outage.fenced = true;
	breaks(RDMABLK_R_LOGOUT);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_LOST);
}

/* Changed timeouts do nothing to a disk that is removed, or live. */
static void test_changed(void **state)
{
	(void)state;
	rdmablk_recovery_changed(&s);
	assert_int_equal(unit_due(&s.fail_work), -1);
	assert_int_equal(unit_due(&s.recovery_work), -1);
	outage();
	unit_run(&s.recovery_work);
	cancel_delayed_work_sync(&s.fail_work);
	assert_true(unit_due(&s.recovery_work) > 0);
	rdmablk_recovery_shutdown(&s);
	assert_true(hurried);
	assert_int_equal(unit_due(&s.recovery_work), 0);
	assert_int_equal(unit_due(&s.fail_work), 0);
	unit_run(&s.fail_work);
	assert_true(s.path.failing);
	cancel_delayed_work_sync(&s.fail_work);
	cancel_delayed_work_sync(&s.recovery_work);
	s.state = RDMABLK_DEV_DELETING;
	rdmablk_recovery_changed(&s);
	assert_int_equal(unit_due(&s.fail_work), -1);
	assert_int_equal(unit_due(&s.recovery_work), -1);
}

/*
 * Taking a connection down, and the next one
 */

/* After a long life of the connection the first try comes at once. */
static void test_live_again(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 30;
	s.outage.attempts = 9;
	mod_delayed_work(rdmablk_wq, &s.keepalive.work, 0);
	breaks(RDMABLK_R_CONNECTION);
	assert_true(destroyed);
	assert_true(io.lost);
	assert_false(io.again);
	assert_int_equal(unit_due(&s.keepalive.work), -1);
	assert_int_equal(target.logouts + target.closes, 0);
	assert_int_equal(target.logins, 1);
	assert_int_equal(s.outage.attempts, 1);
	assert_int_equal(s.state, RDMABLK_DEV_LIVE);
	assert_int_equal(io.requeued, 6);
	assert_int_equal(io.patience, 30 * HZ);
	assert_int_equal(io.failed, 0);
	assert_int_equal(s.held, 6);
	assert_int_equal(s.reconnects, 1);
	assert_int_equal(queue.quiesced, 0);
	assert_true(looked);
	assert_int_equal(unit_due(&s.recovery_work), -1);
	assert_int_equal(unit_due(&s.fail_work), -1);
}

/* A request may break connections for as long as it could be held; without a limit, for ever. */
static void test_patience(void **state)
{
	s.opt.fast_io_fail_tmo = 700;
	breaks(RDMABLK_R_CONNECTION);
	assert_int_equal(io.requeued, 6);
	assert_int_equal(io.patience, 600 * HZ);
	setup(state);
	s.opt.dev_loss_tmo = -1;
	breaks(RDMABLK_R_CONNECTION);
	assert_int_equal(io.patience, MAX_JIFFY_OFFSET);
}

/* The pause before a try grows up to what the administrator has set. */
static void test_pauses(void **state)
{
	unsigned int tries = 1;
	long pause = 1;

	(void)state;
	outage();
	while (tries++ < 8) {
		assert_in_range(unit_due(&s.recovery_work), pause, 2 * HZ);
		pause = unit_due(&s.recovery_work);
		stopped = false;
		unit_run(&s.recovery_work);
		assert_true(stopped);	/* queues of the try */
	}
	assert_int_equal(pause, 2 * HZ);
	assert_int_equal(target.logins, 8);
	assert_int_equal(io.requeued, 0);
}

/* If I/O breaks a connection at once, there is a pause before the next try. */
static void test_short_life(void **state)
{
	(void)state;
	s.outage.attempts = 4;
	s.live_at = jiffies - KEEP_ALIVE + 1;
	breaks(RDMABLK_R_CONNECTION);
	assert_true(io.again);
	assert_int_equal(target.logins, 0);
	assert_int_equal(s.outage.attempts, 4);
	assert_int_equal(unit_due(&s.recovery_work), HZ);
	unit_run(&s.recovery_work);
	assert_int_equal(target.logins, 1);
	assert_int_equal(s.outage.attempts, 5);
	setup(state);
	s.outage.attempts = 4;
	s.live_at = jiffies - KEEP_ALIVE;
	breaks(RDMABLK_R_CONNECTION);
	assert_int_equal(s.outage.attempts, 1);
}

static bool no_fast_io(void)
{
	return !io.fast;
}

static bool fails(void)
{
	return s.path.failing;
}

static bool has_failed(void)
{
	return s.state == RDMABLK_DEV_FAILED;
}

/* Runs both works, each at its time, until @over or for 300 s. Return: the time it took. */
static unsigned long lasts(bool (*over)(void))
{
	const unsigned long begun = jiffies;
	struct delayed_work *next;

	while (time_before(jiffies, begun + 300 * HZ) && !over()) {
		next = &s.recovery_work;
		if (!next->work.queued ||
		    (s.fail_work.work.queued && time_before(s.fail_work.due, next->due)))
			next = &s.fail_work;
		unit_run(next);
	}
	return jiffies - begun;
}

/*
 * The target ends each connection as soon as it is live, or announces growth that it does not
 * grant. A request is held no longer than in one outage.
 */
static void test_connections_for_nothing(void **state)
{
	static const struct {
		u16 ends;
		bool plans;
	} c[] = {
		{ RDMABLK_R_SHUTDOWN, false },	/* a drain */
		{ RDMABLK_R_CONNECTION, false },
		{ RDMABLK_R_LOGOUT, true },	/* growth; the first try has its time */
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		unsigned long begun, more = c[i].plans ? 10 * HZ : 0;

		setup(state);
		s.opt.fast_io_fail_tmo = 30;
		s.opt.dev_loss_tmo = 100;
		target.ends = c[i].ends;
		target.plans = c[i].plans;
		target.grows = c[i].plans;
		begun = jiffies;
		lost(target.ends, target.plans);
		/* A FAILFAST request fails soon, and goes to another disk. */
		assert_in_range(lasts(no_fast_io), more, more + 2 * HZ);
		lasts(fails);
		assert_in_range(jiffies - begun, 30 * HZ + more, 32 * HZ + more);
		assert_true(target.logins > 5);
		/* No request waits any more, and still the time goes on. */
		io.writes = 0;
		lasts(has_failed);
		assert_in_range(jiffies - begun, 100 * HZ + more, 102 * HZ + more);
		assert_int_equal(s.state, RDMABLK_DEV_FAILED);
	}
}

static bool is_live_or_fails(void)
{
	return s.outage.phase == RDMABLK_PHASE_UP || s.path.failing;
}

/*
 * Each connection ends after @pace jiffies, for an hour or until the request fails that no
 * connection completes. Return: the time it took.
 */
static unsigned long paced(unsigned long pace, u16 reason, bool planned)
{
	const unsigned long begun = jiffies;

	io.stuck = true;
	s.keepalive.tmo = 2;		/* granted; asked for was another one */
	s.opt.keep_alive_tmo = KEEP_ALIVE / HZ;
	while (io.stuck && !s.path.failing && time_before(jiffies, begun + 3600 * HZ)) {
		jiffies += pace;
		lost(reason, planned);
		lasts(is_live_or_fails);
	}
	return jiffies - begun;
}

/*
 * The target announces growth again and again, before the timer of a request that it leaves
 * unanswered. It may grant the growth, and may serve other requests.
 */
static void test_growth_without_end(void **state)
{
	static const unsigned long pace[] = { 1, HZ, 4 * HZ, 6 * HZ, 29 * HZ };

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(pace); i++) {
		unsigned long each = pace[i / 2];

		setup(state);
		s.opt.fast_io_fail_tmo = 30;
		target.grows = true;
		target.serves = i % 2 ? READ : -1;
		/* A first try has its time. */
		assert_in_range(paced(each, RDMABLK_R_LOGOUT, true), 40 * HZ,
				42 * HZ + 2 * each);
	}
	/* Growth that comes now and then fails nothing, however little time I/O has. */
	setup(state);
	s.opt.fast_io_fail_tmo = 0;
	io.stuck = true;
	target.grows = true;
	for (unsigned int i = 0; i < 2; i++) {
		jiffies += 6 * HZ;
		renews();
		assert_int_equal(s.state, RDMABLK_DEV_LIVE);
		assert_true(io.stuck && io.lost);
	}
}

/* The administrator may want as many connections as he likes. */
static void test_renewals_without_end(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 30;
	assert_true(paced(10 * HZ, RDMABLK_R_LOGOUT, true) >= 3600 * HZ);
	assert_true(io.stuck);
}

/*
 * A target that grants a keep-alive of next to nothing ends each connection a little later than
 * that. It completes nothing, so the outage goes on.
 */
static void test_a_short_keep_alive(void **state)
{
	(void)state;
	s.opt.fast_io_fail_tmo = 30;
	assert_in_range(paced(KEEP_ALIVE - HZ, RDMABLK_R_CONNECTION, false), 30 * HZ, 40 * HZ);
	assert_true(s.path.failing);
}

/* A FLUSH may take ten minutes, and no connection lives as long. */
static void test_a_flush_that_never_ends(void **state)
{
	static const unsigned long pace[] = { 2 * REQUEST_TMO + HZ, 599 * HZ };

	for (unsigned int i = 0; i < ARRAY_SIZE(pace); i++) {
		setup(state);
		s.opt.fast_io_fail_tmo = 30;
		s.path.slow_tmo = 600 * HZ;
		target.serves = READ;
		assert_in_range(paced(pace[i], RDMABLK_R_CONNECTION, false), 30 * HZ,
				2 * pace[i] + 2 * HZ);
		assert_false(s.path.failing);
	}
}

/* An outage is over when a request was served, when none has waited, or after a while. */
static void test_connections_for_something(void **state)
{
	for (int i = -1; i < 4; i++) {
		setup(state);
		s.opt.fast_io_fail_tmo = 30;
		target.ends = RDMABLK_R_CONNECTION;
		target.serves = i;
		if (i < 0) {
			io.reads = 0;
			io.fast = 0;
			io.writes = 0;
		}
		lost(RDMABLK_R_CONNECTION, false);
		assert_true(lasts(fails) >= 300 * HZ);
		assert_false(s.path.failing);
	}
	setup(state);
	s.opt.fast_io_fail_tmo = 30;
	breaks(RDMABLK_R_CONNECTION);
	assert_int_equal(io.requeued, 6);
	jiffies += KEEP_ALIVE;
	target.login = -ENETUNREACH;
	breaks(RDMABLK_R_CONNECTION);
	assert_int_equal(s.outage.clock, jiffies);
}

/*
 * The transport may take longer than the keep-alive to notice that a request breaks the
 * connection. A connection that outlives the request's time twice has another cause.
 */
static void test_slow_to_notice(void **state)
{
	(void)state;
	s.live_at = jiffies - 2 * REQUEST_TMO + 1;
	breaks(RDMABLK_R_CONNECTION);
	assert_true(io.again);
	setup(state);
	s.live_at = jiffies - 2 * REQUEST_TMO;
	breaks(RDMABLK_R_CONNECTION);
	assert_false(io.again);
	/* A slow command */
	setup(state);
	s.path.slow_tmo = 600 * HZ;
	s.live_at = jiffies - REQUEST_TMO - 600 * HZ + 1;
	breaks(RDMABLK_R_CONNECTION);
	assert_true(io.again);
	setup(state);
	s.path.slow_tmo = 600 * HZ;
	s.live_at = jiffies - REQUEST_TMO - 600 * HZ;
	breaks(RDMABLK_R_CONNECTION);
	assert_false(io.again);
	/* A keep-alive of minutes */
	setup(state);
	s.keepalive.tmo = 3 * REQUEST_TMO;
	s.live_at = jiffies - 3 * REQUEST_TMO + 1;
	breaks(RDMABLK_R_CONNECTION);
	assert_true(io.again);
}

/* The request that timed out may end the next connection, too, however long this one lived. */
static void test_io_timeout_counts(void **state)
{
	(void)state;
	breaks(RDMABLK_R_IO_TIMEOUT);
	assert_true(io.lost && io.again);
	assert_int_equal(s.outage.attempts, 1);
}

/* A refusal that another try would not change ends reconnecting. */
static void test_final_refusal(void **state)
{
	static const u16 final[] = {
		RDMABLK_R_STOLEN, RDMABLK_R_REPLACED, RDMABLK_R_DATA_LOST, RDMABLK_R_VERSION,
		RDMABLK_R_FEATURE, RDMABLK_R_AUTH_REQUIRED, RDMABLK_R_AUTH_FAILED,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(final); i++) {
		setup(state);
		io.writes = 0;
		outage();
		target.refusal = final[i];
		unit_run(&s.recovery_work);
		assert_int_equal(s.outage.phase, RDMABLK_PHASE_LOST);
		assert_int_equal(s.outage.reason, final[i]);
		assert_int_equal(unit_due(&s.recovery_work), -1);
		unit_run(&s.fail_work);
		assert_int_equal(s.state, RDMABLK_DEV_FAILED);
		assert_int_equal(io.failed, 3);
	}
	setup(state);
	outage();
	target.refusal = RDMABLK_R_FENCING;
	unit_run(&s.recovery_work);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_DOWN);
	assert_int_equal(s.outage.reason, RDMABLK_R_CONNECTION);
	assert_true(unit_due(&s.recovery_work) > 0);
	/* However many tries the target's fence lasts, the try after it gets the final refusal. */
	for (unsigned int i = 0; i < 10; i++)
		unit_run(&s.recovery_work);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_DOWN);
	target.refusal = RDMABLK_R_STOLEN;
	unit_run(&s.recovery_work);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_LOST);
	assert_int_equal(s.outage.reason, RDMABLK_R_STOLEN);
}

/* In version 2 anybody can refuse without a seal, and a key can be replaced: not final. */
static void test_only_an_oath_is_final(void **state)
{
	static const struct {
		u16 refusal, trusted;
		bool final;
	} c[] = {
		{ RDMABLK_R_STOLEN, 0, false },
		{ RDMABLK_R_VERSION, 0, false },
		{ RDMABLK_R_AUTH_FAILED, 0, false },
		{ RDMABLK_R_STOLEN, RDMABLK_R_STOLEN, true },
		{ RDMABLK_R_DATA_LOST, RDMABLK_R_DATA_LOST, true },
		{ RDMABLK_R_CONNECTION, RDMABLK_R_REPLACED, true },
		{ RDMABLK_R_AUTH_FAILED, RDMABLK_R_AUTH_FAILED, false },
		{ RDMABLK_R_AUTH_REQUIRED, RDMABLK_R_AUTH_REQUIRED, false },
		{ RDMABLK_R_AUTH_KEY, RDMABLK_R_AUTH_KEY, false },
		{ RDMABLK_R_NO_EXPORT, RDMABLK_R_NO_EXPORT, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		setup(state);
		s.login.version = 2;
		outage();
		target.refusal = c[i].refusal;
		target.trusted = c[i].trusted;
		unit_run(&s.recovery_work);
		assert_int_equal(s.outage.phase, c[i].final ? RDMABLK_PHASE_LOST :
							      RDMABLK_PHASE_DOWN);
		assert_int_equal(s.outage.reason, c[i].final ? c[i].trusted :
							       RDMABLK_R_CONNECTION);
		assert_int_equal(unit_due(&s.recovery_work) > 0, !c[i].final);
		/* The same for the end of a session */
		setup(state);
		s.login.version = 2;
		target.login = -ENETUNREACH;
		s.outage.trusted = c[i].trusted;
		breaks(c[i].refusal);
		assert_int_equal(s.outage.phase, c[i].final ? RDMABLK_PHASE_LOST :
							      RDMABLK_PHASE_DOWN);
	}
}

/* No try follows the end of reconnecting, nor the end of the session. */
static void test_no_try(void **state)
{
	(void)state;
	outage();
	s.outage.phase = RDMABLK_PHASE_LOST;
	unit_run(&s.recovery_work);
	s.outage.phase = RDMABLK_PHASE_DOWN;
	s.state = RDMABLK_DEV_DELETING;
	mod_delayed_work(rdmablk_recovery_wq, &s.recovery_work, 0);
	unit_run(&s.recovery_work);
	assert_int_equal(target.logins, 1);
	/* A sealed session has ended in order, which is not an error. */
	s.state = RDMABLK_DEV_LIVE;
	s.outage.phase = RDMABLK_PHASE_SEALED;
	stopped = false;
	mod_delayed_work(rdmablk_recovery_wq, &s.recovery_work, 0);
	unit_run(&s.recovery_work);
	assert_false(stopped);
	assert_int_equal(target.logins, 1);
}

/* A reason after which there is no further try */
static void test_hopeless(void **state)
{
	(void)state;
	breaks(RDMABLK_R_STOLEN);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_LOST);
	assert_int_equal(target.logins, 0);
	/* The answer to LOGOUT says that the session is fenced, so the writes need not be held. */
	assert_int_equal(target.logouts, 1);
	assert_int_equal(target.logout_flags, 0);
	assert_true(s.outage.fenced);
	unit_run(&s.fail_work);
	assert_int_equal(io.failed, 6);
	assert_int_equal(s.state, RDMABLK_DEV_FAILED);
	/* Without an answer they must be held, and no later login will tell of the fence. */
	setup(state);
	s.opt.dev_loss_tmo = 0;
	target.logout = -ETIMEDOUT;
	breaks(RDMABLK_R_CONNECTION);
	assert_int_equal(target.logouts, 1);
	unit_run(&s.fail_work);
	assert_int_equal(io.failed, 3);
	assert_int_equal(unit_due(&s.fail_work), SESSION_TMO + HZ);
	setup(state);
	s.opt.dev_loss_tmo = 0;
	io.writes = 0;
	breaks(RDMABLK_R_CONNECTION);
	assert_int_equal(target.logouts, 0);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_LOST);
}

/* A planned end is not final, however short dev_loss_tmo is. */
static void test_planned_is_not_hopeless(void **state)
{
	(void)state;
	s.opt.dev_loss_tmo = 0;
	renews();
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_UP);
	assert_int_equal(s.state, RDMABLK_DEV_LIVE);
}

/* A peer that sends nonsense gets a CLOSE with the reason, and no LOGOUT. */
static void test_bad_peer(void **state)
{
	(void)state;
	s.opt.dev_loss_tmo = 0;
	breaks(RDMABLK_R_MALFORMED);
	assert_int_equal(target.closes, 1);
	assert_int_equal(target.logouts, 0);
	/* A frame that cannot be opened */
	setup(state);
	s.login.version = 2;
	target.login = -ENETUNREACH;
	breaks(RDMABLK_R_AUTH_FAILED);
	assert_int_equal(target.closes, 1);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_DOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_fails_while_the_connection_is_there),
		TEST(test_fast_io_fail),
		TEST(test_which_timeout),
		TEST(test_lost_with_writes),
		TEST(test_fenced),
		TEST(test_fenced_by_a_login_that_fails),
		TEST(test_failing_goes_on),
		TEST(test_before_the_disk_is_added),
		TEST(test_planned),
		TEST(test_a_logout_of_the_peer),
		TEST(test_changed),
		TEST(test_live_again),
		TEST(test_patience),
		TEST(test_pauses),
		TEST(test_short_life),
		TEST(test_connections_for_nothing),
		TEST(test_growth_without_end),
		TEST(test_renewals_without_end),
		TEST(test_a_short_keep_alive),
		TEST(test_a_flush_that_never_ends),
		TEST(test_connections_for_something),
		TEST(test_slow_to_notice),
		TEST(test_io_timeout_counts),
		TEST(test_final_refusal),
		TEST(test_only_an_oath_is_final),
		TEST(test_no_try),
		TEST(test_hopeless),
		TEST(test_planned_is_not_hopeless),
		TEST(test_bad_peer),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
