/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session with kernel/recovery.c, requests that the device has or that are held, and a target
 * that answers as the test says.
 */
#ifndef RECOVERY_WORLD_H
#define RECOVERY_WORLD_H

#include "session_fakes.h"

#include "../../kernel/disk.h"
#include "../../kernel/io_tmo.h"
#include "../../kernel/keepalive.h"
#include "../../kernel/login.h"
#include "../../kernel/patience.h"
#include "../../kernel/poll.h"
#include "../../kernel/recovery.h"
#include "../../kernel/state.h"

#define READ	0
#define WRITE	1
#define get_random_u32()	0
#define memalloc_noio_save()	({ assert_false(may_not_io); may_not_io = true; 7U; })
#define memalloc_noio_restore(f)	({ assert_int_equal(f, 7); may_not_io = false; })
#define test_and_set_bit(nr, to)	({ bool w_ = *(to); *(to) |= 1UL << (nr); w_; })
#define test_and_clear_bit(nr, to)	({ bool w_ = *(to); *(to) &= ~(1UL << (nr)); w_; })

#define SESSION_TMO	20000
#define KEEP_ALIVE	5000
#define REQUEST_TMO	30000

struct workqueue_struct *rdmablk_wq, *rdmablk_recovery_wq;
static struct rdmablk_session s;
static struct request_queue queue;
static struct gendisk disk = { .queue = &queue };
static bool may_not_io;
/* Numbers of requests: with the device, held, and ended */
static struct {
	unsigned int busy, reads, fast, writes, failed, requeued;
	bool lost, again;
	unsigned int served[4];		/* by kind */
	unsigned long patience;
	bool stuck;			/* a further request, which no connection completes, */
	u8 holds;			/* as request.c counts its losses */
	unsigned long held_since;
} io;
/* How the target answers, and what it was told */
static struct {
	int login, logout, flush;	/* its answers */
	u16 refusal, trusted;
	bool fences;			/* although its login fails */
	unsigned int logins, logouts, closes, flushes;
	u16 logout_flags;
	unsigned long logout_wait;
	unsigned int unflushed;		/* flushes until nothing is left */
	unsigned int slow;		/* number of waits for a flush that time out */
	unsigned long takes;		/* time of a flush, jiffies */
	void (*meanwhile)(void);	/* what happens during a flush */
	bool dirty;			/* a flush has failed */
	u16 ends;			/* reason with which each new connection ends */
	bool plans;			/* this side plans these ends, */
	bool grows;			/* because the target announces growth */
	int serves;			/* kind of request served before; -1: none */
} target;
static unsigned int events, longest_nap;
static bool no_timeout, stopped, destroyed, ctrl_stopped, hurried, looked;
static u16 error;

static void blk_mq_quiesce_queue(struct request_queue *q)
{
	assert_int_equal(q->quiesced++, 0);
}

static void blk_mq_unquiesce_queue(struct request_queue *q)
{
	assert_int_equal(q->quiesced--, 1);
}

/* The block layer's timer and its work have ended. */
static void blk_sync_queue(struct request_queue *q)
{
	assert_ptr_equal(q, &queue);
	assert_int_equal(q->quiesced, 1);
	no_timeout = true;
}

static void timer_reduce(unsigned int *timer, unsigned long at)
{
	assert_ptr_equal(timer, &queue.timeout);
	assert_int_equal(queue.quiesced, 1);
	assert_int_equal(at, jiffies + 1);
	no_timeout = false;
}

static void blk_mq_kick_requeue_list(struct request_queue *q)
{
	assert_int_equal(q->quiesced, 0);
	assert_false(no_timeout);	/* requests of the new connection have a timer */
}

/* The queue is quiesced: otherwise a task that saw the old path might hold one more. */
unsigned int rdmablk_request_fail_held(struct blk_mq_tag_set *set, bool all, bool keep_writes)
{
	assert_ptr_equal(set, &s.tag_set);
	assert_int_equal(queue.quiesced, 1);
	io.failed += io.fast;
	io.fast = 0;
	if (!all)
		return 0;
	io.failed += io.reads;
	io.reads = 0;
	if (keep_writes)
		return io.writes;
	io.failed += io.writes;
	io.writes = 0;
	return 0;
}

struct rdmablk_held rdmablk_request_hold_all(struct blk_mq_tag_set *set, bool lost, bool again)
{
	assert_ptr_equal(set, &s.tag_set);
	assert_int_equal(queue.quiesced, 1);
	assert_true(stopped);
	assert_true(no_timeout);
	no_timeout = false;
	assert_false(s.fail_work.work.queued);	/* else it could end the quiesce */
	/* A reauthentication may wait for a target that is silent; I/O must not. */
	assert_true(s.reauth_work.work.queued);
	io.lost = lost;
	io.again = again;
	if (lost && again && io.holds) {
		io.holds = 2;
	} else if (lost) {
		io.holds = 1;
		io.held_since = jiffies;
	}
	return (struct rdmablk_held){ io.reads + io.fast + io.writes, io.writes, lost, again };
}

unsigned int rdmablk_request_requeue_held(struct blk_mq_tag_set *set, unsigned long patience)
{
	assert_ptr_equal(set, &s.tag_set);
	assert_int_equal(queue.quiesced, 1);
	assert_true(no_timeout);
	assert_false(s.fail_work.work.queued);	/* else it could end what is requeued */
	io.requeued += io.reads + io.fast + io.writes;
	io.patience = patience;
	if (io.holds > 1 && time_after_eq(jiffies, io.held_since + patience))
		io.stuck = false;
	return io.reads + io.fast + io.writes;
}

void rdmablk_stats_sum(const struct rdmablk_stats __percpu *stats, struct rdmablk_stats *sum)
{
	assert_ptr_equal(stats, s.path.stats);
	memset(sum, 0, sizeof(*sum));
	sum->ios[READ] = io.served[0];
	sum->ios[WRITE] = io.served[1];
	sum->flushes = io.served[2];
	sum->discards = io.served[3];
	sum->errors = io.failed;
}

bool rdmablk_request_busy(struct blk_mq_tag_set *set)
{
	assert_ptr_equal(set, &s.tag_set);
	return io.busy;
}

void rdmablk_poll_all(struct rdmablk_hwq **hwq, u32 n)
{
	assert_ptr_equal(hwq, s.path.hwq);
	assert_int_equal(n, s.nr_queues);
}

/* While the recovery needs a quiesced queue, nobody can have the fail work end the quiesce. */
static void changes_nothing(void)
{
	if (s.outage.phase != RDMABLK_PHASE_BROKEN)
		return;
	rdmablk_recovery_changed(&s);
	assert_int_equal(unit_due(&s.fail_work), -1);
}

static void schedule_timeout_uninterruptible(long left)
{
	assert_true(left > 0);
	if (!s.path.holding)
		changes_nothing();
	jiffies += (unsigned long)left;
	longest_nap = max_t(unsigned int, longest_nap, left);
	if (io.busy)
		io.busy--;
}

void rdmablk_queue_waiter_cancel(struct rdmablk_waiter *waiter)
{
	waiter->cancelled = true;
}

void rdmablk_session_announce(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	events++;
}

bool rdmablk_session_move(struct rdmablk_session *of, enum rdmablk_dev_state to)
{
	/* No event tells of the outage before new requests wait for its end. */
	if (of->outage.phase == RDMABLK_PHASE_BROKEN && to == RDMABLK_DEV_RECOVERING)
		assert_int_equal(queue.quiesced, 1);
	return session_fakes_move(of, to);
}

bool rdmablk_session_is_orderly(u16 reason)
{
	return reason == RDMABLK_R_SHUTDOWN || reason == RDMABLK_R_LOGOUT;
}

void rdmablk_session_error(struct rdmablk_session *of, u16 reason)
{
	assert_false(of->lock.held);
	error = reason;
}

void rdmablk_session_renew(struct rdmablk_session *of, bool grown)
{
	assert_false(grown);
	rdmablk_session_error(of, RDMABLK_R_LOGOUT);
}

void rdmablk_session_stop_data(struct rdmablk_session *of)
{
	(void)of;
	stopped = true;
}

void rdmablk_session_destroy_queues(struct rdmablk_session *of)
{
	(void)of;
	assert_true(stopped && ctrl_stopped);
	destroyed = true;
}

bool rdmablk_flush_ahead_is_settled(const struct rdmablk_path *path)
{
	(void)path;
	return !target.unflushed;
}

static bool flush_takes_longer(unsigned long timeout)
{
	if (!target.slow)
		return false;
	target.slow--;
	jiffies += timeout;
	return true;
}

int rdmablk_fence_flush(struct rdmablk_fence *f, unsigned long timeout)
{
	assert_ptr_equal(f, &s.path.fence);
	target.flushes++;
	jiffies += target.takes;
	if (target.meanwhile)
		target.meanwhile();
	if (flush_takes_longer(timeout))
		return -ETIMEDOUT;
	target.unflushed -= !target.flush;
	target.dirty |= target.flush != 0;
	return target.flush;
}

unsigned long wait_for_completion_timeout(struct completion *c, unsigned long timeout)
{
	assert_ptr_equal(c, &s.path.fence.own_done);
	if (flush_takes_longer(timeout))
		return 0;
	target.unflushed = 0;
	return 1;
}

void rdmablk_fence_stop(struct rdmablk_fence *f)
{
	f->stopped = true;
}

bool rdmablk_fence_is_clean(const struct rdmablk_fence *f)
{
	assert_true(f->stopped);
	return !target.dirty;
}

int rdmablk_ctrl_command(struct rdmablk_ctrl *ctrl, u16 op, u16 flags, u16 tag)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	assert_int_equal(op, RDMABLK_OP_LOGOUT);
	assert_int_equal(tag, RDMABLK_TAG_LOGOUT);
	assert_false(ctrl_stopped);
	target.logouts++;
	target.logout_flags = flags;
	return 0;
}

int rdmablk_ctrl_wait(struct rdmablk_ctrl *ctrl, u16 tag, unsigned long deadline)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	assert_int_equal(tag, RDMABLK_TAG_LOGOUT);
	target.logout_wait = deadline - jiffies;
	changes_nothing();
	return target.logout;
}

void rdmablk_ctrl_close(struct rdmablk_ctrl *ctrl, u16 reason)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	assert_int_equal(reason, s.outage.reason);
	target.closes++;
}

void rdmablk_ctrl_stop(struct rdmablk_ctrl *ctrl)
{
	assert_ptr_equal(ctrl, &s.ctrl);
	ctrl_stopped = true;
}

static void nothing(struct work_struct *work)
{
	(void)work;
}

void rdmablk_reauth_init(struct rdmablk_session *of)
{
	INIT_DELAYED_WORK(&of->reauth_work, nothing);
}

void rdmablk_keepalive_init(struct rdmablk_session *of)
{
	INIT_DELAYED_WORK(&of->keepalive.work, nothing);
}

void rdmablk_disk_work(struct work_struct *work)
{
	(void)work;
}

void rdmablk_disk_look(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	looked = true;
}

void rdmablk_io_tmo_hurry(struct rdmablk_session *of)
{
	assert_ptr_equal(of, &s);
	hurried = true;
}

/* As rdmablk_session_break() does for a connection that carries I/O */
static void lost(u16 reason, bool planned)
{
	s.outage.phase = RDMABLK_PHASE_BROKEN;
	s.outage.reason = reason;
	s.outage.planned = planned;
	s.outage.grown = planned && target.grows;
	s.outage.lost_at = jiffies;
	s.outage.clock = jiffies;
	mod_delayed_work(rdmablk_wq, &s.reauth_work, 0);
	mod_delayed_work(rdmablk_recovery_wq, &s.recovery_work, 0);
}

/* As rdmablk_session_go_live() leaves the session */
int rdmablk_login(struct rdmablk_session *of)
{
	/* A reauthentication would use the same keys. */
	assert_false(of->reauth_work.work.queued);
	assert_true(may_not_io);
	assert_true(of->outage.phase == RDMABLK_PHASE_DOWN && destroyed);
	target.logins++;
	of->login.reason = target.refusal;
	of->login.trusted = target.trusted;
	of->outage.fenced |= target.fences;
	if (target.login)
		return target.login;
	of->state = RDMABLK_DEV_LIVE;
	of->outage.phase = RDMABLK_PHASE_UP;
	of->path.failing = false;
	of->path.failing_fast = false;
	of->path.holding = false;
	of->live_at = jiffies;
	if (target.serves >= 0)
		io.served[target.serves]++;
	if (target.ends)
		lost(target.ends, target.plans);
	return 0;
}

#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../kernel/recovery.c"
#pragma GCC diagnostic warning "-Wsign-compare"

/* A session that has been live for a minute, with requests under way */
static int setup(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	memset(&queue, 0, sizeof(queue));
	memset(&io, 0, sizeof(io));
	memset(&target, 0, sizeof(target));
	target.serves = -1;
	jiffies = 1000;
	events = 0;
	longest_nap = 0;
	stopped = false;
	destroyed = false;
	ctrl_stopped = false;
	hurried = false;
	looked = false;
	error = 0;
	may_not_io = false;
	s.disk = &disk;
	s.state = RDMABLK_DEV_LIVE;
	s.outage.phase = RDMABLK_PHASE_UP;
	s.added = true;
	s.login.version = 1;
	s.opt.fast_io_fail_tmo = -1;
	s.opt.dev_loss_tmo = 600;
	s.opt.reconnect_delay = 2;
	s.opt.connect_tmo = 10;
	s.agreed.grant.session_tmo_ms = SESSION_TMO;
	s.path.cache = true;
	s.path.commands = true;
	s.live_at = jiffies;
	s.keepalive.tmo = KEEP_ALIVE;
	s.tag_set.timeout = REQUEST_TMO;
	rdmablk_recovery_init(&s);
	jiffies += 60 * HZ;
	io.reads = 2;
	io.fast = 1;
	io.writes = 3;
	return 0;
}

/* As rdmablk_session_error() */
static void breaks(u16 reason)
{
	lost(reason, false);
	unit_run(&s.recovery_work);
}

/* As rdmablk_session_renew() */
static inline void renews(void)
{
	lost(RDMABLK_R_LOGOUT, true);
	unit_run(&s.recovery_work);
}

/* The connection is lost, and no target answers any more. */
static inline void outage(void)
{
	target.login = -ENETUNREACH;
	breaks(RDMABLK_R_CONNECTION);
	assert_int_equal(s.state, RDMABLK_DEV_RECOVERING);
	assert_true(destroyed && s.path.holding);
	assert_int_equal(unit_due(&s.fail_work), 0);
	unit_run(&s.fail_work);
	assert_int_equal(queue.quiesced, 0);
}

static int teardown(void **state)
{
	(void)state;
	/* Only the administrator begins what this line ends. */
	log_is_limited("reconnecting has ended");
	return 0;
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* RECOVERY_WORLD_H */
