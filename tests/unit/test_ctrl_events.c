// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/ctrl_events.c trusts a CLOSE no further than it may. Only a CLOSE that is
 * certainly the target's fences the writes of a session and may end it for good. A hint gives a
 * login its text and no more. A CLOSE of somebody else counts as a lost connection.
 */
#include "session_world.h"

#define spin_lock_irqsave(l, f)		do { (f) = 0; spin_lock_bh(l); } while (0)
#define spin_unlock_irqrestore(l, f)	do { (void)(f); spin_unlock_bh(l); } while (0)

#include "../../kernel/disk.h"
#include "../../kernel/state.h"

static struct rdmablk_session s;
static unsigned int errors, renewals, fences, breaks, wakes, reauths, looks;
static u16 error;

/* As session.c: the first error of a connection, or of a login, counts. */
void rdmablk_session_error(struct rdmablk_session *of, u16 reason)
{
	assert_ptr_equal(of, &s);
	assert_false(s.lock.held);
	errors++;
	error = reason;
	if (rdmablk_state_is_down(s.outage.phase)) {
		if (!s.login.reason)
			s.login.reason = reason;
	} else if (s.outage.phase == RDMABLK_PHASE_UP) {
		s.outage.phase = RDMABLK_PHASE_BROKEN;
		s.outage.reason = reason;
		/* The recovery may look at once, so @fenced and @trusted must agree by now. */
		assert_int_equal(s.outage.fenced, s.outage.trusted != 0);
	}
}

void rdmablk_session_renew(struct rdmablk_session *of, bool grown)
{
	/* The recovery must know that the target has wanted it. */
	assert_true(grown);
	renewals++;
	rdmablk_session_error(of, RDMABLK_R_LOGOUT);
}

void rdmablk_fence_break(struct rdmablk_fence *f)
{
	assert_ptr_equal(f, &s.path.fence);
	fences++;
}

void rdmablk_ctrl_break(struct rdmablk_ctrl *ctrl)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	breaks++;
}

void rdmablk_ctrl_wake(struct rdmablk_ctrl *ctrl)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	wakes++;
}

void rdmablk_reauth_ends(struct rdmablk_session *of, u64 ms)
{
	assert_ptr_equal(of, &s);
	assert_int_equal(ms, 30000);
	reauths++;
}

void rdmablk_disk_look(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	looks++;
}

/* The kernel's u64 is another type. */
#pragma GCC diagnostic ignored "-Wformat"
#include "../../kernel/ctrl_events.c"

static int setup(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	s.outage.phase = RDMABLK_PHASE_UP;
	errors = 0;
	renewals = 0;
	error = 0;
	fences = 0;
	breaks = 0;
	wakes = 0;
	reauths = 0;
	looks = 0;
	return 0;
}

static void closes(u16 reason, enum rdmablk_ctrl_trust trust)
{
	const struct rdmablk_wire_close c = { .reason = reason, .retry_after_ms = 70 };

	rdmablk_ctrl_events_ops.closed(&s.ctrl, &c, trust);
	assert_int_equal(breaks, 1);
	assert_int_equal(fences, 1);
	assert_int_equal(errors, 1);
}

static void test_the_targets_word(void **state)
{
	(void)state;
	closes(RDMABLK_R_STOLEN, RDMABLK_CTRL_TRUSTED);
	assert_true(s.outage.fenced);
	assert_int_equal(s.outage.trusted, RDMABLK_R_STOLEN);
	assert_int_equal(s.outage.reason, RDMABLK_R_STOLEN);
	assert_int_equal(s.ctrl.queue.retry_after_ms, 70);
	/* The adapter may have reported the end of the connection before CLOSE comes. */
	setup(state);
	s.outage.phase = RDMABLK_PHASE_BROKEN;
	s.outage.reason = RDMABLK_R_CONNECTION;
	closes(RDMABLK_R_EXPIRED, RDMABLK_CTRL_TRUSTED);
	assert_true(s.outage.fenced);
	assert_int_equal(s.outage.reason, RDMABLK_R_EXPIRED);
	setup(state);
	s.outage.phase = RDMABLK_PHASE_BROKEN;
	s.outage.reason = RDMABLK_R_IO_TIMEOUT;
	closes(RDMABLK_R_EXPIRED, RDMABLK_CTRL_TRUSTED);
	assert_int_equal(s.outage.reason, RDMABLK_R_IO_TIMEOUT);
	assert_int_equal(s.outage.trusted, RDMABLK_R_EXPIRED);
}

/* Promise 1 rests on @fenced: a CLOSE without a seal must not set it. */
static void test_somebody_elses_word(void **state)
{
	(void)state;
	closes(RDMABLK_R_STOLEN, RDMABLK_CTRL_UNSEALED);
	assert_false(s.outage.fenced);
	assert_int_equal(s.outage.trusted, 0);
	assert_int_equal(s.outage.reason, RDMABLK_R_CONNECTION);
	assert_int_equal(s.ctrl.queue.retry_after_ms, 0);
	/* The same in the middle of a login */
	setup(state);
	s.outage.phase = RDMABLK_PHASE_DOWN;
	closes(RDMABLK_R_STOLEN, RDMABLK_CTRL_UNSEALED);
	assert_int_equal(s.login.reason, RDMABLK_R_CONNECTION);
	assert_int_equal(s.login.trusted, 0);
}

static void test_login(void **state)
{
	(void)state;
	s.outage.phase = RDMABLK_PHASE_DOWN;
	closes(RDMABLK_R_NO_EXPORT, RDMABLK_CTRL_TRUSTED);
	assert_int_equal(s.login.reason, RDMABLK_R_NO_EXPORT);
	assert_int_equal(s.login.trusted, RDMABLK_R_NO_EXPORT);
	assert_false(s.outage.fenced);
	assert_int_equal(s.ctrl.queue.retry_after_ms, 70);
	/* A hint gives the login its text, but is no reason to give up. */
	setup(state);
	s.outage.phase = RDMABLK_PHASE_DOWN;
	s.login.reason = RDMABLK_R_CONNECTION;
	closes(RDMABLK_R_AUTH_FAILED, RDMABLK_CTRL_UNPROVEN);
	assert_int_equal(s.login.reason, RDMABLK_R_AUTH_FAILED);
	assert_int_equal(s.login.trusted, 0);
	assert_false(s.outage.fenced);
}

/* A LOGOUT from the target is not planned by this side; a reconnect for a grown export is. */
static void test_who_plans(void **state)
{
	(void)state;
	closes(RDMABLK_R_LOGOUT, RDMABLK_CTRL_TRUSTED);
	assert_int_equal(s.outage.reason, RDMABLK_R_LOGOUT);
	assert_int_equal(renewals, 0);
	setup(state);
	s.path.live = true;
	s.agreed.grant.logical_block = 512;
	s.agreed.grant.size = 4096;
	rdmablk_ctrl_events_resized(&s, 8192);
	assert_int_equal(renewals, 1);
}

/* A live session cannot get a hint. If it did, the hint would end nothing for good. */
static void test_a_hint_is_no_word(void **state)
{
	(void)state;
	closes(RDMABLK_R_STOLEN, RDMABLK_CTRL_UNPROVEN);
	assert_false(s.outage.fenced);
	assert_int_equal(s.outage.trusted, 0);
	assert_int_equal(s.outage.reason, RDMABLK_R_CONNECTION);
}

/* After an error of the protocol the peer gets a CLOSE, so the queue must still send. */
static void test_fatal(void **state)
{
	static const u16 told[] = {
		RDMABLK_R_MALFORMED, RDMABLK_R_STATE, RDMABLK_R_AUTH_FAILED,
	};

	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		setup(state);
		rdmablk_ctrl_events_fatal(&s.ctrl.queue, told[i]);
		assert_int_equal(error, told[i]);
		assert_int_equal(wakes, 1);
		assert_int_equal(breaks, 0);
	}
	setup(state);
	rdmablk_ctrl_events_fatal(&s.ctrl.queue, RDMABLK_R_CONNECTION);
	assert_int_equal(breaks, 1);
	assert_false(s.outage.fenced);
}

static void test_the_key_ends(void **state)
{
	const struct rdmablk_wire_event ev = { .event = RDMABLK_EVENT_REAUTH, .value = 30000 };

	(void)state;
	rdmablk_ctrl_events_ops.event(&s.ctrl, &ev);
	assert_int_equal(reauths, 1);
	assert_int_equal(errors, 0);
}

static void announces(u16 event, u64 value)
{
	const struct rdmablk_wire_event ev = { .event = event, .value = value };

	rdmablk_ctrl_events_ops.event(&s.ctrl, &ev);
}

static void live(enum rdmablk_dev_state state, bool staged)
{
	setup(NULL);
	s.state = state;
	s.path.live = true;
	s.path.cache = true;
	s.path.staged = staged;
	s.agreed.grant.logical_block = 512;
	s.agreed.grant.size = 4096;
}

/* A disk that is removed writes its page cache back over the connection that it has. */
static void test_a_disk_that_is_removed(void **state)
{
	static const u16 ends[] = { RDMABLK_EVENT_DRAIN, RDMABLK_EVENT_LEAVING };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		live(RDMABLK_DEV_LIVE, false);
		announces(ends[i], 5000);
		assert_int_equal(errors, 1);
		live(RDMABLK_DEV_DELETING, false);
		announces(ends[i], 5000);
		assert_int_equal(errors, 0);
	}
	live(RDMABLK_DEV_LIVE, true);
	announces(RDMABLK_EVENT_RESIZE, 8192);
	assert_int_equal(looks, 1);
	for (int staged = 0; staged < 2; staged++) {
		live(RDMABLK_DEV_DELETING, staged);
		announces(RDMABLK_EVENT_RESIZE, 8192);
		assert_int_equal(errors + looks, 0);
		assert_int_equal(s.agreed.grant.size, 4096);
		assert_int_equal(s.outage.phase, RDMABLK_PHASE_UP);
	}
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_targets_word),
		TEST(test_somebody_elses_word),
		TEST(test_login),
		TEST(test_who_plans),
		TEST(test_a_hint_is_no_word),
		TEST(test_fatal),
		TEST(test_the_key_ends),
		TEST(test_a_disk_that_is_removed),
	};

	return cmocka_run_group_tests_name("ctrl_events", tests, NULL, NULL);
}
