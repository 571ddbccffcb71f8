// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/recovery.c lets writes that it holds because they may still land fail as
 * soon as a target has said that they cannot, also when nothing else comes of that login.
 */
#include "session_world.h"

#include "../../kernel/disk.h"
#include "../../kernel/patience.h"
#include "../../kernel/poll.h"

/* The kernel around recovery.c */
#define MAX_JIFFY_OFFSET	(LONG_MAX / 2 - 1)
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define INIT_DELAYED_WORK(w, f)	INIT_WORK(&(w)->work, f)
#define cancel_delayed_work_sync(w)	cancel_work_sync(&(w)->work)
#define flush_delayed_work(w)	((void)(w))
#define memalloc_noio_save()	0
#define memalloc_noio_restore(flags)	((void)(flags))
#define get_random_u32()	0
#define schedule_timeout_uninterruptible(left)	((void)(left))
#define test_and_set_bit(nr, map)	test_and_set_bit_lock(nr, map)
#define blk_mq_quiesce_queue(q)	((void)(q))
#define blk_mq_unquiesce_queue(q)	((void)(q))
#define blk_mq_kick_requeue_list(q)	((void)(q))
#define fallthrough		__attribute__((fallthrough))

struct request_queue;

struct gendisk {
	struct request_queue *queue;
};

static bool test_and_clear_bit(unsigned long nr, unsigned long *map)
{
	bool was = test_bit(nr, map);

	clear_bit_unlock(nr, map);
	return was;
}

static void mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			     unsigned long delay)
{
	queue_work(wq, &work->work);
	work->due = jiffies + delay;
}

static void queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			       unsigned long delay)
{
	if (!work->work.queued)
		mod_delayed_work(wq, work, delay);
}

struct workqueue_struct *rdmablk_wq, *rdmablk_recovery_wq;
static struct rdmablk_session session;
static struct gendisk disk;
static bool fences;		/* the login ends the connection that was lost */
static unsigned int writes;	/* that are held, and were posted */

/* A target that grants, with an export that is smaller than it was */
int rdmablk_login(struct rdmablk_session *s)
{
	s->fenced |= fences;
	s->attempt_reason = fences ? RDMABLK_R_SHRUNK : RDMABLK_R_CONNECTION;
	s->why = "unit";
	return -ESTALE;
}

unsigned int rdmablk_request_fail_held(struct blk_mq_tag_set *set, bool all, bool keep_writes)
{
	(void)set;
	if (all && !keep_writes)
		writes = 0;
	return keep_writes ? writes : 0;
}

enum rdmablk_dev_state rdmablk_session_state(struct rdmablk_session *s)
{
	return s->state;
}

bool rdmablk_session_move(struct rdmablk_session *s, enum rdmablk_dev_state to)
{
	s->state = to;
	return true;
}

/* What of the kernel is no matter here */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NOTHING(name, ...)	void name(__VA_ARGS__); void name(__VA_ARGS__) { }
#define ANSWER(type, value, name, ...)	\
	type name(__VA_ARGS__); type name(__VA_ARGS__) { return value; }

NOTHING(rdmablk_queue_waiter_cancel, struct rdmablk_waiter *w)
NOTHING(rdmablk_session_announce, struct rdmablk_session *s)
NOTHING(rdmablk_fence_stop, struct rdmablk_fence *f)
NOTHING(rdmablk_poll_all, struct rdmablk_hwq **hwq, u32 n)
NOTHING(rdmablk_session_stop_data, struct rdmablk_session *s)
NOTHING(rdmablk_session_destroy_queues, struct rdmablk_session *s)
NOTHING(rdmablk_session_error, struct rdmablk_session *s, u16 reason)
NOTHING(rdmablk_ctrl_close, struct rdmablk_ctrl *ctrl, u16 reason)
NOTHING(rdmablk_ctrl_stop, struct rdmablk_ctrl *ctrl)
NOTHING(rdmablk_disk_look, struct rdmablk_session *s)
NOTHING(rdmablk_disk_work, struct work_struct *work)
NOTHING(rdmablk_keepalive_init, struct rdmablk_session *s)
NOTHING(rdmablk_io_tmo_hurry, struct rdmablk_session *s)
NOTHING(rdmablk_request_requeue_held, struct blk_mq_tag_set *set, unsigned long patience)
ANSWER(bool, true, rdmablk_flush_ahead_is_settled, const struct rdmablk_path *path)
ANSWER(int, 0, rdmablk_fence_flush, struct rdmablk_fence *f, unsigned long timeout)
ANSWER(bool, true, rdmablk_fence_is_clean, const struct rdmablk_fence *f)
ANSWER(bool, false, rdmablk_session_is_orderly, u16 reason)
ANSWER(bool, false, rdmablk_request_busy, struct blk_mq_tag_set *set)
ANSWER(unsigned long, HZ, rdmablk_keepalive_tmo, const struct rdmablk_session *s)
ANSWER(int, 0, rdmablk_ctrl_command, struct rdmablk_ctrl *ctrl, u16 op, u16 flags, u16 tag)
ANSWER(int, 0, rdmablk_ctrl_wait, struct rdmablk_ctrl *ctrl, u16 tag, unsigned long deadline)

struct rdmablk_held rdmablk_request_hold_all(struct blk_mq_tag_set *set, bool lost, bool again)
{
	return (struct rdmablk_held){ 0 };
}

/* The kernel is built without these warnings. */
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../kernel/recovery.c"
#pragma GCC diagnostic warning "-Wunused-parameter"
#pragma GCC diagnostic warning "-Wsign-compare"

static int setup(void **state)
{
	(void)state;
	session = (struct rdmablk_session){
		.state = RDMABLK_DEV_RECOVERING, .down = true, .added = true, .disk = &disk,
		.reason = RDMABLK_R_CONNECTION, .clock = jiffies,
		.hold_until = jiffies + 100 * HZ,
		.opt = { .fast_io_fail_tmo = 0, .dev_loss_tmo = 600, .reconnect_delay = 2 },
	};
	rdmablk_recovery_init(&session);
	writes = 3;
	return 0;
}

/* Runs what is due. */
static void run_due(struct delayed_work *work)
{
	if (!work->work.queued || time_after(work->due, jiffies))
		return;
	work->work.queued = false;
	work->work.fn(&work->work);
}

/* I/O fails, but for the writes that may land, and a login comes to nothing. */
static void try_in_vain(void)
{
	rdmablk_recovery_changed(&session);
	run_due(&session.fail_work);
	assert_true(session.path.failing);
	assert_int_equal(writes, 3);
	run_due(&session.recovery_work);
	assert_int_equal(session.attempts, 1);
	assert_true(session.recovery_work.work.queued);
	run_due(&session.fail_work);
}

static void test_writes_are_held_until_they_cannot_land(void **state)
{
	(void)state;
	fences = false;
	try_in_vain();
	assert_int_equal(writes, 3);
	jiffies = session.hold_until;
	run_due(&session.fail_work);
	assert_int_equal(writes, 0);
}

static void test_writes_fail_when_the_target_says_so(void **state)
{
	(void)state;
	fences = true;
	try_in_vain();
	assert_int_equal(writes, 0);
	assert_int_equal(session.state, RDMABLK_DEV_RECOVERING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_writes_are_held_until_they_cannot_land, setup),
		cmocka_unit_test_setup(test_writes_fail_when_the_target_says_so, setup),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
