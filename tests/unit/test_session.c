// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/session.c makes a session whole or not at all, frees it with its last
 * reference, and moves it from one state to another once, with an event; that only the first
 * error of a connection starts the recovery; and that a teardown takes the queues down in the
 * order that a device needs.
 */
#define RDMABLK_TRACE_H

#include "session_world.h"

#define spin_lock_irqsave(l, f)		do { (f) = 0; spin_lock_bh(l); } while (0)
#define spin_unlock_irqrestore(l, f)	do { (void)(f); spin_unlock_bh(l); } while (0)
#define kzalloc(n, flags)	((void)(flags), unit_alloc(n))
#define kfree_sensitive(p)	unit_free(p)
#define kvfree_sensitive(p, n)	unit_free_wiped(p, n)
#define alloc_percpu(type)	((type *)unit_alloc(sizeof(type)))
#define free_percpu(p)		unit_free(p)
#define kref_init(k)		((k)->refcount = 1)
#define kref_put(k, release)						\
	do {								\
		assert_true((k)->refcount > 0);				\
		if (!--(k)->refcount)					\
			release(k);					\
	} while (0)
#define wake_up_var(v)		((void)(v), woken++)
/* Other tasks go on while this one waits. */
#define wait_var_event(v, condition)					\
	do {								\
		(void)(v);						\
		while (!(condition))					\
			goes_on();					\
	} while (0)
#define trace_rdmablk_state(i, from, to, why)				\
	((void)(i), traced[0] = (from), traced[1] = (to), traced_why = (why))
#define mod_delayed_work(wq, w, delay)					\
	(assert_true(s->lock.held), assert_ptr_equal(wq, rdmablk_recovery_wq),	\
	 mod_delayed_work(wq, w, delay))
#define get_random_bytes(to, n)	unit_random_bytes(to, n)

#include "../../kernel/hwq.h"
#include "../../kernel/poll.h"
#include "../../kernel/state.h"

enum { QUEUES = 3, SHOWN = 5, REGIONS = 4 };

struct workqueue_struct {
	int none;
};

struct ib_pd {
	int none;
};

struct ib_cq {
	int none;
};

struct ib_qp {
	int none;
};

struct rdma_cm_id {
	int none;
};

static struct workqueue_struct queues[3];
struct workqueue_struct *rdmablk_wq = &queues[0], *rdmablk_poll_wq = &queues[1];
struct workqueue_struct *rdmablk_recovery_wq = &queues[2];
u8 rdmablk_host_id[RDMABLK_ID_LEN];

static struct rdmablk_session *s;
static struct rdmablk_options opt;
static int allocated;		/* pieces of memory that are not free */
static int left;		/* allocations until one fails; negative: none does */
static unsigned int woken, waited, told, breaks, ctrl_breaks;
static int traced[2];
static u16 traced_why;
static enum rdmablk_dev_state told_state;
static struct {
	unsigned int mac, key, auth, fence, hwq, timing;	/* calls that free parts of it */
} ended;
/* What the session has on the device, queue pairs by number */
static struct ib_pd pd;
static struct ib_cq cqs[QUEUES];
static struct ib_qp qp;
static struct rdma_cm_id id;
static struct rdmablk_hwq hwqs[SHOWN], *hwq_table[SHOWN];
static bool no_fences, reset, polls[SHOWN], ctrl_there;
static unsigned int disconnected, stopped, cq_frees, pds, cmdqs, wiped;

static void *unit_alloc(size_t n)
{
	if (left >= 0 && !left--)
		return NULL;
	allocated++;
	return calloc(1, n);
}

static void unit_free(void *p)
{
	allocated -= !!p;
	free(p);
}

static void unit_free_wiped(void *p, size_t n)
{
	assert_int_equal(n, p ? REGIONS * sizeof(struct rdmablk_wire_region) : 0);
	unit_free(p);
}

/* The disk is closed for the last time. */
static void goes_on(void)
{
	waited++;
	assert_int_equal(woken, 0);
	rdmablk_session_put(s);
	s = NULL;
	assert_int_equal(woken, 1);
}

void rdmablk_queue_waiter_init(struct rdmablk_waiter *waiter)
{
	waiter->broken = true;	/* so that the test sees the call */
}

void rdmablk_fence_init(struct rdmablk_fence *f, struct rdmablk_path *path,
			struct workqueue_struct *wq)
{
	f->path = path;
	assert_ptr_equal(wq, rdmablk_wq);
}

void rdmablk_fence_exit(struct rdmablk_fence *f)
{
	assert_non_null(f->path);
	ended.fence++;
}

void key_put(struct key *key)
{
	if (key)
		assert_ptr_equal(key, s->key);
	ended.key += !!key;
}

void rdmablk_hwq_free(struct rdmablk_session *of)
{
	(void)of;
	ended.hwq++;
}

void rdmablk_stats_timing_exit(struct rdmablk_timing *t)
{
	(void)t;
	ended.timing++;
}

void rdmablk_mac_close(struct rdmablk_mac *a)
{
	(void)a;
	ended.mac++;
}

void rdmablk_auth_close(struct rdmablk_auth *a)
{
	(void)a;
	ended.auth++;
}

/* The control queue uses the ciphers until it is destroyed. */
void rdmablk_auth_end(struct rdmablk_auth *a)
{
	assert_ptr_equal(a, &s->auth);
	assert_false(ctrl_there);
	wiped++;
}

void rdmablk_fence_break(struct rdmablk_fence *f)
{
	assert_ptr_equal(f, &s->path.fence);
	assert_true(s->lock.held);	/* else it might be the fence of the next connection */
	breaks++;
}

void rdmablk_ctrl_break(struct rdmablk_ctrl *ctrl)
{
	assert_ptr_equal(ctrl, &s->ctrl);
	ctrl_breaks++;
}

static unsigned int hwq_of(const struct rdmablk_queue *q)
{
	unsigned int i = (unsigned int)(((const char *)q - (const char *)hwqs) / sizeof(hwqs[0]));

	assert_in_range(i, 0, QUEUES - 1);	/* the others have no queue pairs */
	return i;
}

void rdmablk_fence_stop(struct rdmablk_fence *f)
{
	assert_ptr_equal(f, &s->path.fence);
	no_fences = true;
}

/* All queues disconnect before any is waited for: an adapter ends them side by side. */
void rdmablk_queue_disconnect(struct rdmablk_queue *q)
{
	hwq_of(q);
	assert_true(no_fences);
	assert_int_equal(stopped, 0);
	disconnected++;
}

void rdmablk_poll_close(struct rdmablk_hwq *hwq)
{
	polls[hwq - hwqs] = false;
}

/* Answers to commands post READs, so the write queue is stopped before the read queue. */
void rdmablk_queue_stop(struct rdmablk_queue *q)
{
	struct rdmablk_hwq *hwq = &hwqs[hwq_of(q)];

	assert_int_equal(disconnected, 2 * QUEUES);
	assert_false(polls[hwq - hwqs]);
	assert_true(q == &hwq->write || hwq->write.failed);
	q->failed = true;	/* means drained, here */
	stopped++;
}

void rdmablk_fence_reset(struct rdmablk_fence *f)
{
	assert_ptr_equal(f, &s->path.fence);
	assert_int_equal(stopped, s->path.hwq ? 2 * QUEUES : 0);
	reset = true;
}

void rdmablk_queue_destroy_qp(struct rdmablk_queue *q)
{
	assert_true(q->failed);
	hwq_of(q);
	q->qp = NULL;
}

static void ib_free_cq(struct ib_cq *cq)
{
	struct rdmablk_hwq *hwq = &hwqs[cq - cqs];

	assert_true(!hwq->read.qp && !hwq->write.qp);
	cq_frees++;
}

/* A polling task may call the handler of a receive as long as the completion queue exists. */
void rdmablk_cmdq_destroy(struct rdmablk_cmdq *cmdq)
{
	struct rdmablk_hwq *hwq = container_of(cmdq, struct rdmablk_hwq, cmdq);

	assert_null(hwq->cq);
	assert_true(cq_frees > (unsigned int)(hwq - hwqs));
	cmdqs++;
}

void rdmablk_ctrl_destroy(struct rdmablk_ctrl *ctrl)
{
	assert_ptr_equal(ctrl, &s->ctrl);
	assert_int_equal(cmdqs % QUEUES, 0);
	ctrl_there = false;
}

static void ib_dealloc_pd(struct ib_pd *of)
{
	assert_ptr_equal(of, &pd);
	assert_int_equal(cq_frees, QUEUES);
	assert_false(ctrl_there);
	pds--;
}

/* When the last id is destroyed the device may be gone. */
void rdmablk_cm_destroy(struct rdmablk_queue *q)
{
	assert_int_equal(pds, 0);
	if (q != &s->ctrl.queue)
		hwq_of(q);
	else
		assert_true(!hwqs[0].read.cm_id && !hwqs[QUEUES - 1].write.cm_id);
	q->cm_id = NULL;
}

#include "../../kernel/session.c"

static void event(struct rdmablk_session *of)
{
	assert_ptr_equal(of, s);
	assert_false(of->lock.held);	/* the event may sleep */
	told++;
	told_state = of->state;
}

/* A session with queue pairs for some of its hardware queues */
static int setup(void **state)
{
	(void)state;
	left = -1;
	woken = 0;
	waited = 0;
	told = 0;
	breaks = 0;
	ctrl_breaks = 0;
	jiffies = 5000;
	memset(&ended, 0, sizeof(ended));
	memset(rdmablk_host_id, 0x5a, sizeof(rdmablk_host_id));
	rdmablk_session_options_init(&opt);
	rdmablk_session_event = event;
	s = rdmablk_session_alloc(&opt);
	assert_non_null(s);
	INIT_DELAYED_WORK(&s->recovery_work, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shim_access = NULL;
	if (s) {
		s->path.hwq = NULL;
		rdmablk_session_put(s);
	}
	s = NULL;
	assert_int_equal(allocated, 0);
	assert_int_equal(rdmablk_sessions_left.counter, 0);
	return 0;
}

static void connect_queues(void)
{
	memset(hwqs, 0, sizeof(hwqs));
	for (unsigned int i = 0; i < SHOWN; i++) {
		hwq_table[i] = &hwqs[i];
		hwqs[i].path = &s->path;
		hwqs[i].read.kind = RDMABLK_KIND_READ;
		hwqs[i].write.kind = RDMABLK_KIND_WRITE;
		if (i >= QUEUES)
			continue;
		hwqs[i].cq = &cqs[i];
		hwqs[i].read.qp = &qp;
		hwqs[i].write.qp = &qp;
		hwqs[i].read.cm_id = &id;
		hwqs[i].write.cm_id = &id;
		polls[i] = true;
	}
	s->ctrl.queue.cm_id = &id;
	s->path.hwq = hwq_table;
	s->path.nr_hwqs = QUEUES;
	s->nr_queues = SHOWN;
	s->pd = &pd;
	pds = 1;
	ctrl_there = true;
	no_fences = false;
	reset = false;
	disconnected = 0;
	stopped = 0;
	cq_frees = 0;
	cmdqs = 0;
	wiped = 0;
}

static bool go_live(void)
{
	u64 resized = 1;
	u16 drained = 1;

	if (s->state == RDMABLK_DEV_NEW)
		assert_true(rdmablk_session_move(s, RDMABLK_DEV_CONNECTING));
	return rdmablk_session_go_live(s, &resized, &drained);
}

/*
 * From the first to the last reference
 */

static void test_options(void **state)
{
	(void)state;
	memset(&opt, 0xff, sizeof(opt));
	rdmablk_session_options_init(&opt);
	assert_int_equal(opt.queue_depth, RDMABLK_DEFAULT_DEPTH);
	assert_int_equal(opt.keep_alive_tmo, RDMABLK_DEFAULT_KEEP_ALIVE);
	assert_int_equal(opt.connect_tmo, RDMABLK_DEFAULT_CONNECT_TMO);
	assert_int_equal(opt.reconnect_delay, RDMABLK_DEFAULT_RECONNECT_DELAY);
	assert_int_equal(opt.fast_io_fail_tmo, -1);
	assert_int_equal(opt.dev_loss_tmo, RDMABLK_DEFAULT_DEV_LOSS);
	assert_int_equal(opt.io_tmo, RDMABLK_DEFAULT_IO_TMO);
	assert_int_equal(opt.route.ack_timeout, RDMABLK_ACK_TIMEOUT_AUTO);
	assert_int_equal(opt.route.tos, RDMABLK_TOS_UNSET);
	assert_memory_equal(opt.host_id, rdmablk_host_id, sizeof(opt.host_id));
	assert_int_equal(opt.source.ss_family, AF_UNSPEC);
	assert_int_equal(opt.on_data_loss, 0);
	assert_true(!opt.read_only && !opt.steal && !opt.ordered);
	assert_true(!opt.queues && !opt.poll_queues);
}

static void test_new_session(void **state)
{
	u8 zero[RDMABLK_ID_LEN] = { }, first[RDMABLK_ID_LEN];

	(void)state;
	assert_int_equal(s->state, RDMABLK_DEV_NEW);
	assert_int_equal(s->ref.refcount, 1);
	assert_int_equal(s->outage.phase, RDMABLK_PHASE_FIRST);
	assert_true(s->waiter.broken);
	assert_ptr_equal(s->path.poll_wq, rdmablk_poll_wq);
	assert_ptr_equal(s->path.fence.path, &s->path);
	assert_non_null(s->path.stats);
	assert_memory_equal(&s->opt, &opt, sizeof(opt));
	assert_int_equal(s->ack_timeout, 0);
	memcpy(first, s->instance_id, sizeof(first));
	assert_memory_not_equal(first, zero, sizeof(first));
	rdmablk_session_put(s);
	opt.route.ack_timeout = 19;
	s = rdmablk_session_alloc(&opt);
	assert_int_equal(s->ack_timeout, 19);
	assert_memory_not_equal(s->instance_id, first, sizeof(first));
}

static void test_no_memory(void **state)
{
	(void)state;
	rdmablk_session_put(s);
	s = NULL;
	for (int i = 0; i < 2; i++) {
		woken = 0;
		left = i;
		assert_null(rdmablk_session_alloc(&opt));
		assert_int_equal(allocated, 0);
		assert_int_equal(rdmablk_sessions_left.counter, 0);
		assert_int_equal(woken, i);
	}
}

static void test_references(void **state)
{
	(void)state;
	s->ref.refcount++;
	s->key = (struct key *)&opt;
	s->path.region = unit_alloc(REGIONS * sizeof(*s->path.region));
	s->nr_regions = REGIONS;
	rdmablk_session_put(s);
	assert_int_equal(allocated, 3);
	assert_int_equal(woken, 0);
	rdmablk_session_put(s);
	s = NULL;
	assert_int_equal(allocated, 0);
	assert_int_equal(woken, 1);
	assert_int_equal(ended.mac, 1);
	assert_int_equal(ended.key, 1);
	assert_int_equal(ended.auth, 1);
	assert_int_equal(ended.fence, 1);
	assert_int_equal(ended.hwq, 1);
	assert_int_equal(ended.timing, 1);
}

/* The module waits for the last session, whether that is in the list or not. */
static void test_module_waits(void **state)
{
	struct rdmablk_session *first = s;

	(void)state;
	s = rdmablk_session_alloc(&opt);
	rdmablk_session_put(first);
	assert_int_equal(woken, 0);
	rdmablk_session_await_freed();
	assert_int_equal(waited, 1);
	rdmablk_session_await_freed();
	assert_int_equal(waited, 1);
}

/*
 * States
 */

static void test_moves(void **state)
{
	(void)state;
	assert_false(rdmablk_session_move(s, RDMABLK_DEV_RECOVERING));
	assert_int_equal(rdmablk_session_state(s), RDMABLK_DEV_NEW);
	assert_int_equal(told, 0);
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_CONNECTING));
	assert_int_equal(told, 1);
	assert_int_equal(told_state, RDMABLK_DEV_CONNECTING);
	assert_int_equal(traced[0], RDMABLK_DEV_NEW);
	assert_int_equal(traced[1], RDMABLK_DEV_CONNECTING);
	/* Only one of two tasks makes the move. */
	s->outage.reason = RDMABLK_R_LOGOUT;
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_DELETING));
	assert_int_equal(traced_why, RDMABLK_R_LOGOUT);
	assert_false(rdmablk_session_move(s, RDMABLK_DEV_DELETING));
	assert_int_equal(told, 2);
	/* Nobody may listen to events yet. */
	rdmablk_session_event = NULL;
	rdmablk_session_announce(s);
	assert_int_equal(told, 2);
}

/* The administrator has begun another try, which has not failed yet. */
static void test_failed_only_when_lost(void **state)
{
	(void)state;
	assert_true(go_live());
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_RECOVERING));
	assert_false(rdmablk_session_move(s, RDMABLK_DEV_FAILED));
	assert_int_equal(s->state, RDMABLK_DEV_RECOVERING);
	s->outage.phase = RDMABLK_PHASE_LOST;
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_FAILED));
}

/* A request that sees the session live finds all of it. */
static void live_is_last(const void *at)
{
	if (at != &s->path.live)
		return;
	assert_true(s->lock.held);
	assert_int_equal(s->state, RDMABLK_DEV_LIVE);
	assert_int_equal(s->outage.phase, RDMABLK_PHASE_UP);
	assert_false(s->outage.fenced);
	assert_false(s->path.failing || s->path.failing_fast || s->path.holding);
	assert_int_equal(s->agreed.nr_hwqs, s->login.offer.nr_hwqs);
}

static void test_go_live(void **state)
{
	struct rdmablk_agreed agreed;
	u64 resized = 0;
	u16 drained = 0;

	(void)state;
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_CONNECTING));
	s->outage.phase = RDMABLK_PHASE_DOWN;
	s->outage.fenced = true;
	s->accept_loss = true;
	s->outage.reason = RDMABLK_R_CONNECTION;
	s->outage.trusted = RDMABLK_R_STOLEN;
	s->path.failing = true;
	s->path.failing_fast = true;
	s->path.holding = true;
	s->login.offer.nr_hwqs = QUEUES;
	s->login.offer.cmds.slot_iova = 0x1234;
	s->login.offer.cmds.slot_rkey = 77;
	s->login.resized = 4096;
	s->login.drained = RDMABLK_R_SHUTDOWN;
	jiffies += 77;
	shim_access = live_is_last;
	assert_true(rdmablk_session_go_live(s, &resized, &drained));
	shim_access = NULL;
	assert_true(s->path.live);
	assert_int_equal(resized, 4096);
	assert_int_equal(drained, RDMABLK_R_SHUTDOWN);
	assert_int_equal(s->live_at, jiffies);
	assert_int_equal(s->outage.reason, 0);
	assert_int_equal(s->outage.trusted, 0);
	assert_true(s->resume);
	assert_false(s->accept_loss);
	assert_int_equal(told_state, RDMABLK_DEV_LIVE);
	assert_int_equal(traced[0], RDMABLK_DEV_CONNECTING);
	/* Copies for other tasks have no key to the target's memory. */
	rdmablk_session_agreed(s, &agreed);
	assert_int_equal(agreed.nr_hwqs, QUEUES);
	assert_int_equal(agreed.cmds.slot_iova, 0);
	assert_int_equal(agreed.cmds.slot_rkey, 0);
}

static void test_not_live(void **state)
{
	(void)state;
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_CONNECTING));
	/* An error came in between, */
	s->login.reason = RDMABLK_R_CONNECTION;
	assert_false(go_live());
	s->login.reason = 0;
	/* reconnecting has ended, */
	s->outage.phase = RDMABLK_PHASE_LOST;
	assert_false(go_live());
	s->outage.phase = RDMABLK_PHASE_FIRST;
	/* or the session is being removed. */
	assert_int_equal(told, 1);
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_DELETING));
	assert_false(go_live());
	assert_int_equal(told, 2);
	assert_true(rdmablk_state_is_down(s->outage.phase) && !s->resume && !s->path.live);
}

/* What the first login agreed on is kept: the block layer was told that. */
static void test_what_was_agreed_on(void **state)
{
	struct rdmablk_agreed a;

	(void)state;
	s->login.offer.nr_hwqs = 4;
	s->path.unflushed = true;
	assert_true(go_live());
	assert_true(s->path.unflushed);
	assert_int_equal(s->promised.nr_hwqs, 4);
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_RECOVERING));
	s->login.offer.nr_hwqs = 2;
	assert_true(go_live());
	assert_int_equal(s->promised.nr_hwqs, 4);
	rdmablk_session_agreed(s, &a);
	assert_int_equal(a.nr_hwqs, 2);
	assert_false(s->lock.held);
	/* The contents are the same, so earlier writes still have to be flushed. */
	assert_true(s->path.unflushed);
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_RECOVERING));
	s->login.offer.grant.epoch[0] = 1;
	assert_true(go_live());
	assert_false(s->path.unflushed);
}

/*
 * Errors
 */

/* An outage lasts from the error to the next successful login, whatever comes between. */
static void test_outages_add_up(void **state)
{
	(void)state;
	jiffies += 500;
	assert_true(go_live());
	jiffies += 1000;
	assert_int_equal(rdmablk_session_outage_ms(s), 0);
	rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	jiffies += 100;
	assert_int_equal(rdmablk_session_outage_ms(s), 100);
	rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_RECOVERING));
	spin_lock_bh(&s->lock);
	assert_true(rdmablk_session_set_phase(s, RDMABLK_PHASE_LOST));
	spin_unlock_bh(&s->lock);
	jiffies += 20;
	assert_int_equal(rdmablk_session_outage_ms(s), 120);
	spin_lock_bh(&s->lock);
	assert_true(rdmablk_session_set_phase(s, RDMABLK_PHASE_DOWN));
	spin_unlock_bh(&s->lock);
	jiffies += 3;
	s->login.reason = 0;
	assert_true(go_live());
	jiffies += 1000;
	assert_int_equal(rdmablk_session_outage_ms(s), 123);
	rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	jiffies += 7;
	assert_int_equal(rdmablk_session_outage_ms(s), 130);
	assert_false(s->lock.held);
}

/* The age counts from the decision to disconnect, whatever the disconnect waits for. */
static void test_age_of_a_disconnect(void **state)
{
	u64 ms;

	(void)state;
	jiffies += 500;
	assert_true(go_live());
	assert_false(rdmablk_session_disconnect_ms(s, &ms));
	jiffies += 1000;
	assert_true(rdmablk_session_move(s, RDMABLK_DEV_DELETING));
	jiffies += 70;
	assert_true(rdmablk_session_disconnect_ms(s, &ms));
	assert_int_equal(ms, 70);
	assert_false(rdmablk_session_move(s, RDMABLK_DEV_DELETING));
	jiffies += 7;
	assert_true(rdmablk_session_disconnect_ms(s, &ms));
	assert_int_equal(ms, 77);
	assert_false(s->lock.held);
}

static void test_error_of_a_login(void **state)
{
	(void)state;
	rdmablk_session_error(s, RDMABLK_R_AUTH_FAILED);
	rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	assert_int_equal(s->login.reason, RDMABLK_R_AUTH_FAILED);
	assert_int_equal(s->outage.reason, 0);
	assert_int_equal(s->outage.phase, RDMABLK_PHASE_FIRST);
	assert_false(s->recovery_work.work.queued);
	assert_int_equal(breaks, 2);
}

static void test_first_error_counts(void **state)
{
	(void)state;
	assert_true(go_live());
	jiffies += 100;
	rdmablk_session_error(s, RDMABLK_R_IO_TIMEOUT);
	assert_int_equal(s->outage.phase, RDMABLK_PHASE_BROKEN);
	assert_false(s->path.live);
	assert_int_equal(s->outage.lost_at, jiffies);
	assert_int_equal(s->outage.clock, jiffies);
	assert_int_equal(unit_due(&s->recovery_work), 0);
	s->recovery_work.work.queued = false;
	jiffies += 100;
	rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	assert_int_equal(s->outage.reason, RDMABLK_R_IO_TIMEOUT);
	assert_int_equal(s->login.reason, 0);
	assert_int_equal(s->outage.clock, jiffies - 100);
	assert_false(s->recovery_work.work.queued);
	assert_false(s->lock.held);
	assert_int_equal(breaks, 2);
	assert_int_equal(ctrl_breaks, 0);
}

/* Only this side plans an outage, and only the first error counts. */
static void test_planned(void **state)
{
	(void)state;
	assert_true(go_live());
	rdmablk_session_renew(s, true);
	assert_int_equal(s->outage.phase, RDMABLK_PHASE_BROKEN);
	assert_int_equal(s->outage.reason, RDMABLK_R_LOGOUT);
	assert_true(s->outage.planned && s->outage.grown);
	rdmablk_session_error(s, RDMABLK_R_LOGOUT);
	assert_true(s->outage.planned && s->outage.grown);
	teardown(state);
	setup(state);
	assert_true(go_live());
	s->outage.grown = true;		/* left from the outage before */
	rdmablk_session_renew(s, false);
	assert_true(s->outage.planned);
	assert_false(s->outage.grown);
	teardown(state);
	setup(state);
	assert_true(go_live());
	s->outage.planned = true;	/* left from the outage before */
	rdmablk_session_error(s, RDMABLK_R_LOGOUT);
	assert_false(s->outage.planned);
	rdmablk_session_renew(s, true);
	assert_false(s->outage.planned || s->outage.grown);
}

/* The task that removes the session has sealed it, so an error starts no recovery. */
static void test_sealed_session(void **state)
{
	(void)state;
	assert_true(go_live());
	s->outage.phase = RDMABLK_PHASE_SEALED;
	rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	assert_false(s->recovery_work.work.queued);
	assert_int_equal(s->outage.reason, 0);
	/* Tasks that wait for an answer go on at once. */
	assert_int_equal(breaks, 1);
}

/* After these reasons the connection still works, so writes can be flushed on it. */
static void test_orderly_ends(void **state)
{
	static const u16 orderly[] = {
		RDMABLK_R_SHUTDOWN, RDMABLK_R_EXPORT_GONE, RDMABLK_R_LOGOUT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(orderly); i++) {
		teardown(state);
		setup(state);
		assert_true(rdmablk_session_is_orderly(orderly[i]));
		assert_true(go_live());
		rdmablk_session_error(s, orderly[i]);
		assert_int_equal(breaks, 0);
		assert_true(s->recovery_work.work.queued);
	}
	for (u16 i = 0; i <= RDMABLK_R_INTERNAL; i++)
		assert_int_equal(rdmablk_session_is_orderly(i), i == RDMABLK_R_SHUTDOWN ||
				 i == RDMABLK_R_EXPORT_GONE || i == RDMABLK_R_LOGOUT);
}

/* The removal of the device waits for the session: no LOGOUT delays it, in any state. */
static void test_device_goes(void **state)
{
	(void)state;
	rdmablk_session_error(s, RDMABLK_R_DEVICE_GONE);
	assert_int_equal(ctrl_breaks, 1);
	s->login.reason = 0;
	assert_true(go_live());
	rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	rdmablk_session_error(s, RDMABLK_R_DEVICE_GONE);
	assert_int_equal(ctrl_breaks, 2);
}

static void test_error_of_a_data_queue(void **state)
{
	(void)state;
	connect_queues();
	assert_true(go_live());
	rdmablk_session_data_fatal(&hwqs[1].read, RDMABLK_R_CONNECTION);
	assert_true(hwqs[1].read.failed);
	assert_false(hwqs[1].write.failed);
	assert_int_equal(s->outage.reason, RDMABLK_R_CONNECTION);
	rdmablk_session_data_fatal(&hwqs[2].write, RDMABLK_R_CONNECTION);
	assert_true(hwqs[2].write.failed);
	assert_false(hwqs[2].read.failed);
	assert_int_equal(breaks, 2);
}

/*
 * Teardown
 */

static void test_teardown(void **state)
{
	(void)state;
	connect_queues();
	rdmablk_session_stop_data(s);
	assert_int_equal(stopped, 2 * QUEUES);
	assert_true(reset);
	for (unsigned int i = 0; i < QUEUES; i++)
		assert_false(polls[i]);
	rdmablk_session_destroy_queues(s);
	assert_int_equal(cq_frees, QUEUES);
	assert_int_equal(cmdqs, QUEUES);
	assert_int_equal(wiped, 1);
	assert_int_equal(pds, 0);
	assert_null(s->pd);
	assert_null(s->ctrl.queue.cm_id);
	for (unsigned int i = 0; i < QUEUES; i++) {
		assert_null(hwqs[i].cq);
		assert_true(!hwqs[i].read.qp && !hwqs[i].write.qp);
		assert_true(!hwqs[i].read.cm_id && !hwqs[i].write.cm_id);
	}
}

static void test_teardown_twice(void **state)
{
	(void)state;
	connect_queues();
	rdmablk_session_stop_data(s);
	rdmablk_session_destroy_queues(s);
	disconnected = 0;
	stopped = 0;
	rdmablk_session_stop_data(s);
	rdmablk_session_destroy_queues(s);
	assert_int_equal(cq_frees, QUEUES);
	assert_int_equal(pds, 0);
}

/* A login that failed before there were hardware queues */
static void test_teardown_of_little(void **state)
{
	(void)state;
	connect_queues();
	s->path.hwq = NULL;
	cq_frees = QUEUES;
	memset(hwqs, 0, sizeof(hwqs));
	rdmablk_session_stop_data(s);
	assert_true(no_fences && reset);
	rdmablk_session_destroy_queues(s);
	assert_int_equal(pds, 0);
	assert_false(ctrl_there);
	assert_null(s->ctrl.queue.cm_id);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_options),
		TEST(test_new_session),
		TEST(test_no_memory),
		TEST(test_references),
		TEST(test_module_waits),
		TEST(test_moves),
		TEST(test_failed_only_when_lost),
		TEST(test_go_live),
		TEST(test_not_live),
		TEST(test_what_was_agreed_on),
		TEST(test_outages_add_up),
		TEST(test_age_of_a_disconnect),
		TEST(test_error_of_a_login),
		TEST(test_first_error_counts),
		TEST(test_planned),
		TEST(test_sealed_session),
		TEST(test_orderly_ends),
		TEST(test_device_goes),
		TEST(test_error_of_a_data_queue),
		TEST(test_teardown),
		TEST(test_teardown_twice),
		TEST(test_teardown_of_little),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
