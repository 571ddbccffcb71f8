// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/lifecycle.c shows a session to others only when it is whole; that one task
 * removes it, and which one; and that held I/O ends before the disk is removed, and the disk is
 * removed before the session leaves the list.
 */
#include "session_fakes.h"

#define IS_ERR(p)	((unsigned long)(p) >= (unsigned long)-4095)
#define PTR_ERR(p)	((int)(long)(p))
#define ERR_PTR(e)	((void *)(long)(e))
#define kref_get(k)		((void)(k)->refcount++)
#define complete_all(c)		gone_is_told(c)
#define mutex_trylock(m)	unit_trylock(m)

#include "../../kernel/ctrl_events.h"
#include "../../kernel/disk.h"
#include "../../kernel/io_tmo.h"
#include "../../kernel/login.h"
#include "../../kernel/recovery.h"
#include "../../kernel/registry.h"
#include "../../kernel/state.h"
#include "../../kernel/sysfs.h"

#define NEVER	(~0UL)

struct attribute_group {
	int none;
};

const struct attribute_group *rdmablk_disk_groups[2];
const struct rdmablk_ctrl_ops rdmablk_ctrl_events_ops;
struct workqueue_struct *rdmablk_wq, *rdmablk_recovery_wq;
static struct rdmablk_session s;
static struct rdmablk_options opt;
static struct request_queue queue;
static struct gendisk disk;
static const char *why;
static bool no_session, listed, visible, dead, given_up, hurried, flushed, finished;
static bool stopped, ctrl_stopped, destroyed, cancelled, awaited, recovered, changed, looked;
static unsigned int logouts, logins, gone;
static int add_ret, login_ret, disk_ret;
static unsigned long closed_at, unlocked_at;	/* in jiffies */
static struct rdmablk_session *removed[3];
static unsigned int steps;

static bool is_over(unsigned long at, unsigned long now)
{
	return at <= now;
}

static bool unit_trylock(struct mutex *m)
{
	if (!is_over(unlocked_at, jiffies))
		return false;
	mutex_lock(m);
	return true;
}

static void schedule_timeout_uninterruptible(long left)
{
	assert_int_equal(left, 1);
	jiffies++;
}

static int disk_openers(const struct gendisk *of)
{
	assert_ptr_equal(of, &disk);
	return !is_over(closed_at, jiffies);
}

static int device_add_disk(void *parent, struct gendisk *of,
			   const struct attribute_group **groups)
{
	assert_null(parent);
	assert_ptr_equal(of, &disk);
	assert_ptr_equal(groups, rdmablk_disk_groups);
	/* From now on the last close may come, so the disk has its reference. */
	assert_int_equal(s.ref.refcount, 2);
	assert_false(s.added);
	visible = !disk_ret;
	return disk_ret;
}

/* del_gendisk() waits for I/O, so none may be held, now or later. */
static void del_gendisk(struct gendisk *of)
{
	assert_ptr_equal(of, &disk);
	assert_true(visible);
	assert_false(s.recovery_work.work.queued || s.disk_work.work.queued);
	assert_true(s.outage.phase == RDMABLK_PHASE_UP || (given_up && dead));
	assert_true(s.end != RDMABLK_END_FORCED || given_up || hurried);
	assert_false(flushed);
	visible = false;
}

/* A file system that is told may wait for its I/O, so held I/O must have failed before. */
static void blk_mark_disk_dead(struct gendisk *of)
{
	assert_ptr_equal(of, &disk);
	assert_true(given_up && visible);
	dead = true;
}

struct rdmablk_session *rdmablk_session_alloc(const struct rdmablk_options *of)
{
	assert_ptr_equal(of, &opt);
	return no_session ? NULL : &s;
}

void rdmablk_session_put(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	assert_true(s.ref.refcount > 0);
	s.ref.refcount--;
	/* As long as a session is listed, it has a reference. */
	assert_true(s.ref.refcount || !listed);
}

bool rdmablk_session_move(struct rdmablk_session *of, enum rdmablk_dev_state to)
{
	/* Others may open a visible disk just now, so its state changes under the mutex. */
	if (visible)
		assert_true(s.disk_mutex.lock.held);
	return session_fakes_move(of, to);
}

void rdmablk_session_agreed(struct rdmablk_session *of, struct rdmablk_agreed *agreed)
{
	*agreed = of->agreed;
}

void rdmablk_queue_waiter_cancel(struct rdmablk_waiter *waiter)
{
	assert_ptr_equal(waiter, &s.waiter);
	/* set before, or the login might end and the disk be added */
	assert_int_equal(s.end, RDMABLK_END_UNWANTED);
	cancelled = true;
}

void rdmablk_io_tmo_expired(struct rdmablk_path *path, bool command)
{
	(void)path;
	(void)command;
}

void rdmablk_io_tmo_apply(struct rdmablk_session *of)
{
	of->path.slow_tmo = 7;
}

void rdmablk_ctrl_events_fatal(struct rdmablk_queue *q, u16 reason)
{
	(void)q;
	(void)reason;
}

void rdmablk_ctrl_init(struct rdmablk_ctrl *ctrl, const struct rdmablk_ctrl_ops *ops,
		       struct rdmablk_waiter *waiter,
		       struct rdmablk_transport_errors *errors,
		       void (*fatal)(struct rdmablk_queue *q, u16 reason))
{
	assert_ptr_equal(waiter, &s.waiter);
	assert_ptr_equal(errors, &s.errors);
	assert_ptr_equal(fatal, rdmablk_ctrl_events_fatal);
	ctrl->ops = ops;
}

static void recovery(struct work_struct *work)
{
	(void)work;
	recovered = true;
}

static void nothing(struct work_struct *work)
{
	(void)work;
}

void rdmablk_recovery_init(struct rdmablk_session *of)
{
	INIT_DELAYED_WORK(&of->recovery_work, recovery);
	INIT_DELAYED_WORK(&of->disk_work, nothing);
}

/* From here on other tasks find the session, and may claim it at once. */
int rdmablk_registry_add(struct rdmablk_session *of, const char **text)
{
	assert_ptr_equal(of, &s);
	assert_ptr_equal(s.ctrl.ops, &rdmablk_ctrl_events_ops);
	assert_ptr_equal(s.recovery_work.work.fn, recovery);
	assert_ptr_equal(s.path.timed_out, rdmablk_io_tmo_expired);
	assert_int_equal(s.path.slow_tmo, 7);
	assert_int_equal(s.nl_portid, 77);
	if (add_ret)
		*text = "this export is connected already";
	listed = !add_ret;
	return add_ret;
}

/* From then on a successor may have the number, and the export. */
void rdmablk_registry_del(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	assert_true(listed && destroyed);
	assert_null(s.disk);
	listed = false;
}

/* A list of three sessions; the disk of the second one is gone already */
bool rdmablk_registry_step(struct rdmablk_session **of)
{
	steps++;
	*of = steps < 4 ? &s : NULL;
	if (!*of)
		return false;
	s.disk = steps == 2 ? NULL : &disk;
	s.state = RDMABLK_DEV_LIVE;
	s.outage.phase = RDMABLK_PHASE_UP;
	visible = true;
	listed = true;
	stopped = false;
	ctrl_stopped = false;
	destroyed = false;
	hurried = false;
	flushed = false;
	s.path.live = true;
	s.ref.refcount = 2;
	return true;
}

int rdmablk_login(struct rdmablk_session *of)
{
	assert_int_equal(of->state, RDMABLK_DEV_CONNECTING);
	logins++;
	if (!login_ret)
		of->state = RDMABLK_DEV_LIVE;
	return login_ret;
}

void rdmablk_recovery_changed(struct rdmablk_session *of)
{
	assert_true(of->added);		/* else the call would do nothing */
	assert_false(of->disk_mutex.lock.held);
	changed = true;
}

void rdmablk_disk_look(struct rdmablk_session *of)
{
	assert_true(of->added);
	looked = true;
}

void rdmablk_recovery_give_up(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	assert_false(dead);
	given_up = true;
}

void rdmablk_io_tmo_hurry(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	assert_true(visible);
	hurried = true;
}

/* By now the page cache has been written back, and the connection works. */
bool rdmablk_recovery_flush(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	assert_false(visible || of->outage.phase != RDMABLK_PHASE_UP);
	flushed = true;
	return true;
}

/* In this phase an error that comes later starts nothing. */
void rdmablk_recovery_finish(struct rdmablk_session *of)
{
	assert_int_not_equal(of->outage.phase, RDMABLK_PHASE_UP);
	assert_false(of->lock.held);
	finished = true;
}

int rdmablk_recovery_logout(struct rdmablk_session *of, bool ended)
{
	assert_ptr_equal(of, &s);
	assert_true(ended && finished);
	assert_false(stopped || ctrl_stopped);
	logouts++;
	return 0;
}

void rdmablk_session_stop_data(struct rdmablk_session *of)
{
	assert_false(of->path.live);	/* nobody posts any more */
	assert_true(finished);
	stopped = true;
}

void rdmablk_ctrl_stop(struct rdmablk_ctrl *ctrl)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	assert_true(stopped);
	ctrl_stopped = true;
}

void rdmablk_session_destroy_queues(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	assert_true(stopped && ctrl_stopped);
	destroyed = true;
}

void rdmablk_disk_free(struct rdmablk_session *of)
{
	assert_true(destroyed);
	assert_false(visible);
	of->disk = NULL;
}

static void gone_is_told(struct completion *c)
{
	assert_ptr_equal(c, &s.gone);
	assert_false(listed);
	removed[min(gone, 2U)] = &s;
	gone++;
}

void rdmablk_session_await_freed(void)
{
	awaited = true;
}

/* A u64 of the kernel is a long long. */
#pragma GCC diagnostic ignored "-Wformat"
#include "../../kernel/lifecycle.c"
#pragma GCC diagnostic warning "-Wformat"

/* As rdmablk_session_alloc() leaves it */
static int setup(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	s.ref.refcount = 1;
	s.state = RDMABLK_DEV_NEW;
	s.outage.phase = RDMABLK_PHASE_FIRST;
	why = NULL;
	no_session = false;
	listed = false;
	visible = false;
	dead = false;
	given_up = false;
	hurried = false;
	flushed = false;
	finished = false;
	stopped = false;
	ctrl_stopped = false;
	destroyed = false;
	cancelled = false;
	awaited = false;
	recovered = false;
	changed = false;
	looked = false;
	logouts = 0;
	logins = 0;
	gone = 0;
	steps = 0;
	add_ret = 0;
	login_ret = 0;
	disk_ret = 0;
	closed_at = 0;
	unlocked_at = 0;
	jiffies = 1000;
	disk = (struct gendisk){ .queue = &queue };
	return 0;
}

static void create(void)
{
	assert_ptr_equal(rdmablk_lifecycle_create(&opt, 77, &why), &s);
	s.nl_portid = 0;
}

/* A session whose disk was added */
static void publish(void)
{
	create();
	assert_int_equal(rdmablk_lifecycle_connect(&s), 0);
	s.outage.phase = RDMABLK_PHASE_UP;
	s.disk = &disk;
	s.path.live = true;
	assert_int_equal(rdmablk_lifecycle_publish(&s), 0);
}

/* As rdmablk_session_error() and the recovery leave it */
static void outage(void)
{
	s.state = RDMABLK_DEV_RECOVERING;
	s.outage.phase = RDMABLK_PHASE_DOWN;
	s.path.live = false;
	queue_delayed_work(rdmablk_recovery_wq, &s.recovery_work, 100);
}

/*
 * From a new session to its disk
 */

static void test_create(void **state)
{
	(void)state;
	create();
	assert_true(listed);
	assert_int_equal(s.ref.refcount, 1);
	setup(state);
	add_ret = -EEXIST;
	assert_int_equal(PTR_ERR(rdmablk_lifecycle_create(&opt, 77, &why)), -EEXIST);
	assert_string_equal(why, "this export is connected already");
	assert_int_equal(s.ref.refcount, 0);
	setup(state);
	no_session = true;
	assert_int_equal(PTR_ERR(rdmablk_lifecycle_create(&opt, 77, &why)), -ENOMEM);
	assert_string_equal(why, "out of memory");
}

static void test_connect(void **state)
{
	(void)state;
	create();
	assert_int_equal(rdmablk_lifecycle_connect(&s), 0);
	/* Only one task connects. */
	assert_int_equal(rdmablk_lifecycle_connect(&s), -EALREADY);
	assert_int_equal(logins, 1);
	setup(state);
	create();
	login_ret = -EPROTO;
	s.login.reason = RDMABLK_R_MALFORMED;
	assert_int_equal(rdmablk_lifecycle_connect(&s), -EPROTO);
	assert_int_equal(s.outage.reason, RDMABLK_R_MALFORMED);
	assert_string_equal(s.why, "connect failed");
	setup(state);
	create();
	login_ret = -ENOENT;
	s.why = "no such export";
	assert_int_equal(rdmablk_lifecycle_connect(&s), -ENOENT);
	assert_string_equal(s.why, "no such export");
}

static void test_publish(void **state)
{
	(void)state;
	publish();
	assert_true(visible && s.added && changed && looked);
	assert_int_equal(s.ref.refcount, 2);
	assert_false(s.disk_mutex.lock.held);
	assert_int_equal(jiffies, 1000);
}

static void test_disk_cannot_be_added(void **state)
{
	(void)state;
	create();
	assert_int_equal(rdmablk_lifecycle_connect(&s), 0);
	s.disk = &disk;
	disk_ret = -EEXIST;
	assert_int_equal(rdmablk_lifecycle_publish(&s), -EEXIST);
	assert_string_equal(s.why, "cannot add the disk");
	assert_int_equal(s.ref.refcount, 1);
	assert_false(s.added || changed || looked);
	/* The caller ends the session, which drops its last reference. */
	rdmablk_lifecycle_abort(&s);
	assert_int_equal(s.ref.refcount, 0);
}

/*
 * A kernel thread closes the disk a little after the scan for partitions. Publishing waits for
 * that, but not for long.
 */
static void test_scan_closes_late(void **state)
{
	(void)state;
	closed_at = jiffies + 20;
	publish();
	assert_int_equal(jiffies, 1020);
	setup(state);
	closed_at = NEVER;
	publish();
	assert_in_range(jiffies, 1000 + HZ / 20, 1000 + HZ / 10);
	assert_true(s.added);
}

/* A disconnect that comes before the disk is added makes publish return 1. */
static void test_unwanted(void **state)
{
	(void)state;
	create();
	assert_int_equal(rdmablk_lifecycle_connect(&s), 0);
	s.disk = &disk;
	rdmablk_lifecycle_unwanted(&s);
	assert_true(s.end == RDMABLK_END_UNWANTED && cancelled);
	assert_false(s.disk_mutex.lock.held);
	assert_int_equal(rdmablk_lifecycle_publish(&s), 1);
	assert_true(s.added);
	setup(state);
	publish();
	rdmablk_lifecycle_unwanted(&s);
	assert_false(s.end || cancelled);
}

/*
 * Which task removes a session
 */

static void test_claim_of_one_that_connects(void **state)
{
	(void)state;
	create();
	assert_int_equal(rdmablk_lifecycle_claim(&s, false, &why), 1);
	assert_true(s.end == RDMABLK_END_UNWANTED && cancelled);
	assert_int_equal(s.state, RDMABLK_DEV_NEW);
	assert_false(s.disk_mutex.lock.held);
}

static void test_claim(void **state)
{
	(void)state;
	publish();
	assert_int_equal(rdmablk_lifecycle_claim(&s, false, &why), 0);
	assert_int_equal(s.state, RDMABLK_DEV_DELETING);
	assert_int_equal(s.end, RDMABLK_END_ORDERLY);
	assert_false(disk.open_mutex.lock.held || s.disk_mutex.lock.held);
	for (int force = 0; force < 2; force++) {
		why = NULL;
		assert_int_equal(rdmablk_lifecycle_claim(&s, force, &why), -EALREADY);
		assert_string_equal(why, "the device is being disconnected already");
		assert_false(disk.open_mutex.lock.held || s.disk_mutex.lock.held);
	}
	assert_int_equal(s.end, RDMABLK_END_ORDERLY);
	s.disk = NULL;
	why = NULL;
	assert_int_equal(rdmablk_lifecycle_claim(&s, true, &why), -EALREADY);
	assert_string_equal(why, "the device is being disconnected already");
	assert_false(s.disk_mutex.lock.held);
}

static void test_claim_of_one_in_use(void **state)
{
	(void)state;
	publish();
	closed_at = NEVER;
	assert_int_equal(rdmablk_lifecycle_claim(&s, false, &why), -EBUSY);
	assert_string_equal(why, "the device is in use");
	assert_int_equal(s.state, RDMABLK_DEV_LIVE);
	assert_false(disk.open_mutex.lock.held || s.disk_mutex.lock.held);
	/* A session that is being removed is reported as such, whether in use or not. */
	s.state = RDMABLK_DEV_DELETING;
	assert_int_equal(rdmablk_lifecycle_claim(&s, false, &why), -EALREADY);
	s.state = RDMABLK_DEV_LIVE;
	assert_int_equal(rdmablk_lifecycle_claim(&s, true, &why), 0);
	assert_int_equal(s.end, RDMABLK_END_FORCED);
}

/* A scan has the mutex, and its I/O may be held: a forced removal does not wait for it. */
static void test_claim_during_a_scan(void **state)
{
	(void)state;
	publish();
	unlocked_at = jiffies + 30;
	assert_int_equal(rdmablk_lifecycle_claim(&s, false, &why), 0);
	assert_int_equal(jiffies, 1030);
	setup(state);
	publish();
	unlocked_at = NEVER;
	assert_int_equal(rdmablk_lifecycle_claim(&s, false, &why), -EBUSY);
	assert_in_range(jiffies, 1000 + HZ, 1000 + 2 * HZ);
	assert_string_equal(why, "the device is in use");
	assert_int_equal(s.state, RDMABLK_DEV_LIVE);
	assert_false(disk.open_mutex.lock.held || s.disk_mutex.lock.held);
	assert_int_equal(rdmablk_lifecycle_claim(&s, true, &why), 0);
	assert_in_range(jiffies, 1000 + HZ, 1000 + 2 * HZ);
}

/* A state that a session with a disk never has */
static void test_claim_of_a_wrong_state(void **state)
{
	(void)state;
	publish();
	s.state = RDMABLK_DEV_STATES;
	assert_int_equal(rdmablk_lifecycle_claim(&s, false, &why), -EAGAIN);
	assert_string_equal(why, "the device is still connecting");
	assert_int_equal(s.end, RDMABLK_END_NONE);
}

/*
 * The end of a session
 */

static void remove_claimed(bool force)
{
	s.ref.refcount++;	/* the caller's */
	assert_int_equal(rdmablk_lifecycle_claim(&s, force, &why), 0);
	rdmablk_lifecycle_remove(&s);
	assert_true(destroyed && s.outage.phase != RDMABLK_PHASE_UP && !s.disk);
	assert_false(s.lock.held || s.disk_mutex.lock.held);
	assert_int_equal(gone, 1);
	/* The reference of the caller, and that of the disk, whose last close may come later */
	assert_int_equal(s.ref.refcount, 2);
}

static void test_remove_live(void **state)
{
	(void)state;
	publish();
	queue_delayed_work(rdmablk_wq, &s.disk_work, 10);
	remove_claimed(false);
	assert_true(flushed && s.outage.phase == RDMABLK_PHASE_SEALED);
	assert_int_equal(logouts, 1);
	assert_false(given_up || hurried || dead);
}

static void test_remove_by_force(void **state)
{
	(void)state;
	publish();
	remove_claimed(true);
	assert_true(hurried && flushed);
	assert_false(given_up || dead);
	assert_int_equal(logouts, 1);
}

/* Without a connection nothing is written back, and no LOGOUT is sent. */
static void test_remove_in_an_outage(void **state)
{
	for (int force = 0; force < 2; force++) {
		setup(state);
		publish();
		outage();
		remove_claimed(force);
		assert_true(given_up && dead && recovered);
		assert_false(flushed || hurried || s.outage.phase == RDMABLK_PHASE_SEALED);
		assert_int_equal(logouts, 0);
	}
}

/* The recovery has not taken the queues down yet. */
static void test_remove_at_an_error(void **state)
{
	(void)state;
	publish();
	s.outage.phase = RDMABLK_PHASE_BROKEN;
	queue_delayed_work(rdmablk_recovery_wq, &s.recovery_work, 0);
	remove_claimed(false);
	assert_true(given_up && dead && recovered);
	assert_int_equal(logouts, 0);
}

/* A login that failed has logged out already, or never had a connection. */
static void test_abort(void **state)
{
	(void)state;
	create();
	login_ret = -ENOENT;
	rdmablk_lifecycle_connect(&s);
	rdmablk_lifecycle_abort(&s);
	assert_int_equal(s.state, RDMABLK_DEV_DELETING);
	assert_int_equal(logouts, 0);
	assert_int_equal(gone, 1);
	assert_int_equal(s.ref.refcount, 0);
	assert_int_equal(s.outage.phase, RDMABLK_PHASE_FIRST);
	/* A session that was live exists at the target, and logs out, */
	setup(state);
	create();
	assert_int_equal(rdmablk_lifecycle_connect(&s), 0);
	s.outage.phase = RDMABLK_PHASE_UP;
	rdmablk_lifecycle_abort(&s);
	assert_int_equal(s.state, RDMABLK_DEV_DELETING);
	assert_int_equal(logouts, 1);
	/* unless its connection is gone. */
	setup(state);
	create();
	assert_int_equal(rdmablk_lifecycle_connect(&s), 0);
	rdmablk_lifecycle_abort(&s);
	assert_int_equal(logouts, 0);
}

static void test_remove_all(void **state)
{
	(void)state;
	rdmablk_recovery_init(&s);
	s.outage.phase = RDMABLK_PHASE_UP;
	s.added = true;
	rdmablk_lifecycle_remove_all();
	assert_int_equal(steps, 4);
	assert_int_equal(gone, 2);
	assert_true(s.end == RDMABLK_END_FORCED && awaited);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_create),
		TEST(test_connect),
		TEST(test_publish),
		TEST(test_disk_cannot_be_added),
		TEST(test_scan_closes_late),
		TEST(test_unwanted),
		TEST(test_claim_of_one_that_connects),
		TEST(test_claim),
		TEST(test_claim_of_one_in_use),
		TEST(test_claim_during_a_scan),
		TEST(test_claim_of_a_wrong_state),
		TEST(test_remove_live),
		TEST(test_remove_by_force),
		TEST(test_remove_in_an_outage),
		TEST(test_remove_at_an_error),
		TEST(test_abort),
		TEST(test_remove_all),
	};

	return cmocka_run_group_tests_name("lifecycle", tests, NULL, NULL);
}
