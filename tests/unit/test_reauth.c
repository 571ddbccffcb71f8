// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/reauth.c proves the key again when its time has come and when it is asked
 * to, only in a live session of version 2; that both sides have the same new keys then; that
 * the session goes on if there is no key; and that any later failure ends the session with a
 * reason that is not final.
 */
#include "session_fakes.h"

#include "messages.h"

#define ERR_PTR(e)		((void *)(long)(e))
#define PTR_ERR(p)		((int)(long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= (unsigned long)-4095)
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))
#define PTR_ERR_OR_ZERO(p)	(IS_ERR(p) ? PTR_ERR(p) : 0)
#define spin_lock_irqsave(l, f)		do { (f) = 0; spin_lock_bh(l); } while (0)
#define spin_unlock_irqrestore(l, f)	do { (void)(f); spin_unlock_bh(l); } while (0)
#define get_random_bytes(to, n)	unit_random_bytes(to, n)
#define memalloc_noreclaim_save()	({ assert_false(may_not_wait); may_not_wait = true; 7U; })
#define memalloc_noreclaim_restore(f)	({ assert_int_equal(f, 7); may_not_wait = false; })

#include "fake_crypt.h"
#include "../../kernel/state.h"

/* Work of the second queue may wait for a target, that of the first may not. */
static struct workqueue_struct {
	int none;
} queues[2];
struct workqueue_struct *rdmablk_wq = &queues[0], *rdmablk_reauth_wq = &queues[1];
static struct rdmablk_session s;
static struct crypt_target target;
static bool may_not_wait;
static int take_ret;
static u16 error;
static unsigned int asks, breaks;
/* How an answer is changed, or what error comes in its place */
static struct {
	u16 at;
	void (*change)(void *msg);
	int ret;
} fault;
static struct rdmablk_crypt_cipher *open_next;
static int seal_ret;
static bool wipe_fails;
static unsigned int epochs;
/* Allocations fail until short_for pauses are over. The connection is lost in pause break_after. */
static unsigned int short_for, break_after, pauses;

static void schedule_timeout_uninterruptible(long left)
{
	assert_true(left > 0 && left <= HZ);
	jiffies += left;
	pauses++;
	if (pauses < short_for)
		crypt_world.left = 0;
	if (pauses == break_after)
		s.ctrl.broken = true;
}

int rdmablk_keys_take(struct rdmablk_session *of, u8 *secret)
{
	assert_ptr_equal(of, &s);
	assert_true(may_not_wait);
	if (!take_ret)
		memcpy(secret, target.key, sizeof(target.key));
	return take_ret;
}

const char *rdmablk_keys_text(int err)
{
	(void)err;
	return "no key";
}

void rdmablk_session_error(struct rdmablk_session *of, u16 reason)
{
	assert_false(of->lock.held);
	assert_int_equal(error, 0);
	error = reason;
	of->outage.phase = RDMABLK_PHASE_BROKEN;
}

void rdmablk_ctrl_break(struct rdmablk_ctrl *ctrl)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	breaks++;
}

static void challenge(struct rdmablk_ctrl *ctrl, const struct rdmablk_reauth *msg)
{
	struct rdmablk_reauth_challenge *ch = (struct rdmablk_reauth_challenge *)ctrl->msg;

	msg_reauth_challenge(ch);
	crypt_target_end(&target);
	crypt_target_reauth(&target, msg, sizeof(*msg), msg->point, ch->point);
	crypt_target_challenge(&target, ch, sizeof(*ch));
	ctrl->msg_len = sizeof(*ch);
}

int rdmablk_ctrl_ask(struct rdmablk_ctrl *ctrl, const void *msg, size_t len, u16 reply,
		     unsigned long deadline)
{
	const struct rdmablk_reauth_proof *proof = msg;

	asks++;
	assert_ptr_equal(s.reauth_work.wq, rdmablk_reauth_wq);
	assert_true(time_after(deadline, jiffies));
	assert_false(time_after(deadline, jiffies + s.keepalive.tmo));
	if (reply == RDMABLK_MSG_REAUTH_CHALLENGE) {
		assert_int_equal(len, sizeof(struct rdmablk_reauth));
		assert_null(open_next);
		challenge(ctrl, msg);
		if (short_for)
			crypt_world.left = 0;
	} else {
		assert_int_equal(reply, RDMABLK_MSG_REAUTH_DONE);
		assert_int_equal(len, sizeof(*proof));
		/* The answer is the first frame of the next epoch. */
		assert_non_null(open_next);
		assert_int_equal(crypt_target_proof(&target, proof->mac), 0);
		assert_memory_equal(open_next->key, target.keys.t2i, sizeof(open_next->key));
	}
	if (reply != fault.at)
		return 0;
	if (fault.change)
		fault.change(ctrl->msg);
	return fault.ret;
}

int rdmablk_ctrl_open_next(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	open_next = cipher;
	return 0;
}

int rdmablk_ctrl_seal_next(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	assert_memory_equal(cipher->key, target.keys.i2t, sizeof(cipher->key));
	if (seal_ret)
		return seal_ret;
	if (wipe_fails)
		crypt_world.left = 0;
	open_next = NULL;
	epochs++;
	return 0;
}

#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../kernel/auth.c"
#include "../../kernel/reauth.c"
#pragma GCC diagnostic warning "-Wsign-compare"

/* A live session, as a login with a key leaves it */
static int setup(void **state)
{
	u8 id[RDMABLK_KEY_ID_LEN], point[RDMABLK_POINT_LEN], mac[RDMABLK_MAC_LEN], other[64];

	(void)state;
	crypt_begin();
	memset(&s, 0, sizeof(s));
	memset(&target, 0, sizeof(target));
	memset(&fault, 0, sizeof(fault));
	memset(target.key, 0x4b, sizeof(target.key));
	jiffies = 1000;
	may_not_wait = false;
	short_for = 0;
	break_after = 0;
	pauses = 0;
	take_ret = 0;
	error = 0;
	asks = 0;
	breaks = 0;
	open_next = NULL;
	seal_ret = 0;
	wipe_fails = false;
	epochs = 0;
	s.login.version = 2;
	s.outage.phase = RDMABLK_PHASE_UP;
	s.opt.reauth_tmo = 3600;
	s.keepalive.tmo = 5000;
	rdmablk_reauth_init(&s);
	assert_int_equal(rdmablk_auth_open(&s.auth), 0);
	memcpy(s.auth.secret.key, target.key, sizeof(target.key));
	assert_int_equal(rdmablk_auth_begin(&s.auth, id, point), 0);
	assert_int_equal(rdmablk_auth_hello(&s.auth, 1, 2, "hello", 5), 0);
	crypt_target_hello(&target, 1, 2, "hello", 5, point, other);
	crypt_target_challenge(&target, "challenge", 9);
	assert_int_equal(rdmablk_auth_challenge(&s.auth, "challenge", 9, other, mac), 0);
	assert_int_equal(crypt_target_proof(&target, mac), 0);
	rdmablk_auth_turn(&s.auth);
	rdmablk_auth_forget(&s.auth);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_is_limited(NULL);
	assert_false(may_not_wait);
	cancel_delayed_work_sync(&s.reauth_work);
	rdmablk_auth_close(&s.auth);
	crypt_target_end(&target);
	crypt_end();
	return 0;
}

static void nothing_stays(void)
{
	assert_false(crypt_is_secret((u8 *)&s.auth.secret, sizeof(s.auth.secret)));
}

static void test_from_time_to_time(void **state)
{
	(void)state;
	rdmablk_reauth_start(&s);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(unit_due(&s.reauth_work), 3600 * HZ);
		unit_run(&s.reauth_work);
		assert_int_equal(epochs, i);
		assert_int_equal(asks, 2 * i);
		assert_int_equal(crypt_world.secrets, 2);
		nothing_stays();
	}
	assert_int_equal(error, 0);
	/* Without a timeout there are no further proofs. */
	s.opt.reauth_tmo = -1;
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 4);
	assert_int_equal(unit_due(&s.reauth_work), -1);
	rdmablk_reauth_start(&s);
	assert_int_equal(unit_due(&s.reauth_work), -1);
	rdmablk_reauth_now(&s);
	assert_int_equal(unit_due(&s.reauth_work), 0);
}

/* The target announces the end of the key, or the administrator has loaded another one. */
static void test_at_once(void **state)
{
	(void)state;
	rdmablk_reauth_start(&s);
	rdmablk_reauth_now(&s);
	assert_int_equal(unit_due(&s.reauth_work), 0);
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 1);
	assert_int_equal(unit_due(&s.reauth_work), 3600 * HZ);
}

static void test_during_a_login(void **state)
{
	(void)state;
	s.outage.phase = RDMABLK_PHASE_DOWN;
	rdmablk_reauth_now(&s);
	assert_int_equal(unit_due(&s.reauth_work), -1);
	s.outage.phase = RDMABLK_PHASE_UP;
	rdmablk_reauth_start(&s);
	assert_int_equal(unit_due(&s.reauth_work), 0);
	/* A session that ends has no more proofs. */
	cancel_delayed_work_sync(&s.reauth_work);
	s.login.reauth = false;
	s.outage.phase = RDMABLK_PHASE_SEALED;
	rdmablk_reauth_start(&s);
	rdmablk_reauth_now(&s);
	assert_int_equal(unit_due(&s.reauth_work), -1);
}

static void test_version_1(void **state)
{
	(void)state;
	s.login.version = 1;
	rdmablk_reauth_start(&s);
	rdmablk_reauth_now(&s);
	assert_int_equal(unit_due(&s.reauth_work), -1);
}

/* Another key of the same host */
static void test_another_key(void **state)
{
	(void)state;
	memset(target.key, 0x5c, sizeof(target.key));
	rdmablk_reauth_now(&s);
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 1);
	assert_int_equal(error, 0);
}

/* Nothing was sent, so the session goes on. The administrator may load a key in time. */
static void test_no_key(void **state)
{
	(void)state;
	take_ret = -EKEYREVOKED;
	rdmablk_reauth_now(&s);
	unit_run(&s.reauth_work);
	assert_int_equal(asks, 0);
	assert_int_equal(error, 0);
	assert_int_equal(unit_due(&s.reauth_work), 10 * HZ);
	nothing_stays();
	take_ret = 0;
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 1);
	assert_int_equal(unit_due(&s.reauth_work), 3600 * HZ);
}

/* The target does not take the old key: nothing is sent until another one is loaded. */
static void test_the_key_ends(void **state)
{
	const unsigned int pairs = crypt_world.pairs;

	(void)state;
	rdmablk_reauth_ends(&s, 30000);
	assert_int_equal(unit_due(&s.reauth_work), 0);
	for (unsigned int i = 0; i < 2; i++) {
		unit_run(&s.reauth_work);
		assert_int_equal(asks, 0);
		/* No key pair is made for a message that is not sent. */
		assert_int_equal(crypt_world.pairs, pairs);
		assert_int_equal(error, 0);
		assert_int_equal(unit_due(&s.reauth_work), 10 * HZ);
		nothing_stays();
	}
	memset(target.key, 0x5c, sizeof(target.key));
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 1);
	/* The notice was about the old key only. */
	rdmablk_reauth_now(&s);
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 2);
}

/* The target has changed its mind: the session goes on with the old key. */
static void test_the_key_stays(void **state)
{
	(void)state;
	rdmablk_reauth_ends(&s, 30000);
	unit_run(&s.reauth_work);
	assert_int_equal(asks, 0);
	jiffies += 30 * HZ;
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 1);
	assert_int_equal(error, 0);
	/* A time that no administrator sets */
	rdmablk_reauth_ends(&s, U64_MAX);
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 1);
	jiffies += 3600 * HZ;
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 2);
}

/* Each proof needs a key pair, so a target that asks all the time gets one proof a second. */
static void test_a_target_that_asks_all_the_time(void **state)
{
	const unsigned long begun = jiffies;

	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		jiffies += HZ / 10;
		rdmablk_reauth_ends(&s, 0);
		if (unit_due(&s.reauth_work) <= 0)
			unit_run(&s.reauth_work);
	}
	assert_int_equal(jiffies - begun, 10 * HZ);
	assert_int_equal(epochs, 10);
	/* A request of the administrator is not delayed. */
	rdmablk_reauth_now(&s);
	assert_int_equal(unit_due(&s.reauth_work), 0);
	/* A last proof so long ago that it seems to be in the future delays nothing. */
	s.reauth_at = jiffies + 100;
	rdmablk_reauth_ends(&s, 0);
	assert_int_equal(unit_due(&s.reauth_work), 0);
}

static void wrong_type(void *msg)
{
	((struct rdmablk_hdr *)msg)->type ^= cpu_to_le16(1);
}

static void bad_point(void *msg)
{
	((struct rdmablk_reauth_challenge *)msg)->point[63] ^= 1;
}

/* The connection ends, and the next login brings the disk back. */
static void test_what_goes_wrong(void **state)
{
	static const struct {
		u16 at;
		void (*change)(void *msg);
		int ret, seal_ret;
		u16 error;
		unsigned int breaks;
	} c[] = {
		{ RDMABLK_MSG_REAUTH_CHALLENGE, wrong_type, 0, 0, RDMABLK_R_AUTH_FAILED, 0 },
		{ RDMABLK_MSG_REAUTH_CHALLENGE, bad_point, 0, 0, RDMABLK_R_AUTH_FAILED, 0 },
		{ RDMABLK_MSG_REAUTH_CHALLENGE, NULL, -ECONNRESET, 0, 0, 0 },
		{ RDMABLK_MSG_REAUTH_DONE, NULL, -ENOTCONN, 0, 0, 0 },
		{ RDMABLK_MSG_REAUTH_CHALLENGE, NULL, -ETIMEDOUT, 0, RDMABLK_R_EXPIRED, 1 },
		{ RDMABLK_MSG_REAUTH_DONE, NULL, -ETIMEDOUT, 0, RDMABLK_R_EXPIRED, 1 },
		/* The administrator ends the session, which has its own reason. */
		{ RDMABLK_MSG_REAUTH_CHALLENGE, NULL, -ECANCELED, 0, 0, 0 },
		{ RDMABLK_MSG_REAUTH_DONE, NULL, -ECANCELED, 0, 0, 0 },
		/* REAUTH_DONE came in the old epoch. */
		{ 0, NULL, 0, -EBADMSG, RDMABLK_R_AUTH_FAILED, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		teardown(state);
		setup(state);
		fault.at = c[i].at;
		fault.change = c[i].change;
		fault.ret = c[i].ret;
		seal_ret = c[i].seal_ret;
		rdmablk_reauth_now(&s);
		unit_run(&s.reauth_work);
		assert_int_equal(error, c[i].error);
		assert_int_equal(breaks, c[i].breaks);
		assert_int_equal(epochs, 0);
		assert_int_equal(unit_due(&s.reauth_work), -1);
		nothing_stays();
	}
}

/* Each call of the crypto layer fails once. */
static void fail_each(void **state, int ret)
{
	int failures = 0;
	bool failed;

	do {
		teardown(state);
		setup(state);
		rdmablk_reauth_now(&s);
		crypt_world.ret = ret;
		crypt_world.left = failures;
		unit_run(&s.reauth_work);
		failed = crypt_world.left < 0;
		crypt_world.left = -1;
		nothing_stays();
		/* Before REAUTH nothing has happened. After it, a lack of memory passes. */
		if (!asks || ret == -ENOMEM)
			assert_int_equal(error, 0);
		else
			assert_int_equal(error, epochs ? 0 : RDMABLK_R_AUTH_FAILED);
		if (asks && ret == -ENOMEM)
			assert_int_equal(epochs, 1);
		failures++;
	} while (failed && failures < 100);
	assert_in_range(failures, 10, 99);
}

static void test_each_failure(void **state)
{
	fail_each(state, -EIO);
	fail_each(state, -ENOMEM);
}

/*
 * An old key that cannot be wiped for lack of memory stays until the next proof, which comes
 * soon.
 */
static void test_an_old_key_stays(void **state)
{
	(void)state;
	wipe_fails = true;
	s.opt.reauth_tmo = -1;
	rdmablk_reauth_now(&s);
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 1);
	assert_int_equal(error, 0);
	assert_int_equal(crypt_world.secrets, 3);
	assert_int_equal(unit_due(&s.reauth_work), 10 * HZ);
	wipe_fails = false;
	unit_run(&s.reauth_work);
	assert_int_equal(epochs, 2);
	assert_int_equal(crypt_world.secrets, 2);
	assert_int_equal(unit_due(&s.reauth_work), -1);
}

/* The target has got REAUTH, but there is no memory to go on with. */
static void test_no_memory(void **state)
{
	(void)state;
	short_for = 5;
	rdmablk_reauth_now(&s);
	unit_run(&s.reauth_work);
	assert_int_equal(pauses, 5);
	assert_int_equal(error, 0);
	assert_int_equal(epochs, 1);
	assert_int_equal(unit_due(&s.reauth_work), 3600 * HZ);
	assert_ptr_equal(s.reauth_work.wq, rdmablk_reauth_wq);
	/* The work gives up in the end, because the target waits for a message. */
	pauses = 0;
	short_for = 1000;
	unit_run(&s.reauth_work);
	assert_in_range(pauses, 2, 999);
	assert_int_equal(error, RDMABLK_R_AUTH_FAILED);
	assert_int_equal(epochs, 1);
	nothing_stays();
	/* The recovery has taken the connection down, and waits for the work. */
	teardown(state);
	setup(state);
	short_for = 1000;
	break_after = 3;
	rdmablk_reauth_now(&s);
	unit_run(&s.reauth_work);
	assert_int_equal(pauses, 3);
	assert_int_equal(epochs, 0);
	nothing_stays();
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_from_time_to_time),
		TEST(test_at_once),
		TEST(test_during_a_login),
		TEST(test_version_1),
		TEST(test_another_key),
		TEST(test_no_key),
		TEST(test_the_key_ends),
		TEST(test_the_key_stays),
		TEST(test_a_target_that_asks_all_the_time),
		TEST(test_what_goes_wrong),
		TEST(test_each_failure),
		TEST(test_an_old_key_stays),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests_name("reauth", tests, NULL, NULL);
}
