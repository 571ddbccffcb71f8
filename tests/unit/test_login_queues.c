// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/login_queues.c keeps the two queues of a pair apart. If the target's
 * connection manager takes the queue pair of one for that of an earlier life of this host, that
 * queue joins with a new queue pair, and the other queue keeps what it has. And that in version
 * 2 only a sealed CLOSE makes the next login ask for fewer queues.
 */
#include <linux/kernel.h>

#include "unit.h"

#include <netinet/in.h>
#include <sys/socket.h>

typedef int16_t s16;

#include "../../kernel/cm.h"
#include "../../kernel/request.h"
#include "login_kernel.h"

/* The kernel around login_queues.c */
#define HZ			1000
#define MSEC_PER_SEC		1000L
#define spin_lock_irq		spin_lock_bh
#define spin_unlock_irq		spin_unlock_bh
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define jiffies_to_msecs(j)	((unsigned int)(j))
/* Time passes, and the target answers, only while the login waits. */
#define wait_event_idle_timeout(wq, condition, left)				\
	do {								\
		(void)(wq);						\
		if (!(condition))					\
			unit_wait(left);				\
	} while (0)

enum { IB_POLL_SOFTIRQ, IB_POLL_DIRECT };

struct ib_cq {
	int none;
};

struct rdma_cm_id {
	struct ib_device *device;
	u32 port_num;
	struct {
		struct {
			struct sockaddr_storage src_addr;
		} addr;
	} route;
};

/* As much of session.h as login_queues.c knows */
#define RDMABLK_SESSION_H
#define RDMABLK_LOG_H
#define rdmablk_warn(s, ...)	((void)(s))

struct rdmablk_session {
	int index;
	spinlock_t lock;	/* protects login.reason */
	struct {
		u16 version, reason, trusted;
		unsigned long deadline;
		bool no_room;
		struct rdmablk_wire_challenge challenge;
		struct {
			struct rdmablk_wire_grant grant;
			struct rdmablk_limits_out limits;
			struct rdmablk_wire_limits cmds;
			u32 port, nr_hwqs, nr_polled;
		} offer;
	} login;
	struct {
		unsigned int late_joins;
	} outage;
	unsigned int nr_queues;
	u32 generation;
	bool resume;
	const char *why;
	struct rdmablk_waiter waiter;
	struct rdmablk_mac {
		int none;
	} mac;
	struct rdmablk_auth {
		unsigned int joins, accepts;
	} auth;
	struct rdmablk_options {
		u32 reconnect_delay;
		struct sockaddr_storage target;
		struct rdmablk_cm_route route;
		bool ordered;
	} opt;
	struct {
		struct rdmablk_queue queue;
	} ctrl;
	struct ib_pd *pd;
	struct rdmablk_path path;
};

static unsigned long jiffies = 1000;
static struct ib_device device = {
	.attrs = { .max_cqe = 1 << 16, .max_qp_wr = 1 << 12 }, .num_comp_vectors = 1,
};

static struct ib_pd pd = { .device = &device, .local_dma_lkey = 5 };
static struct ib_cq cq;
static struct ib_qp qp = { .qp_num = 0x33 };
static struct rdma_cm_id id = { .device = &device, .port_num = 1 };
static struct rdmablk_hwq hwq;
static struct rdmablk_hwq *hwqs[] = { &hwq }, *map[1];
static struct rdmablk_session session;
static struct rdmablk_queue *stale;	/* the target knows its first queue pair already */
static bool bad_message;	/* the connection is lost together with that refusal */
static struct rdmablk_queue *full;	/* refused: the adapter has no room for it */
static u16 close_reason;	/* reason of the CLOSE after the reject; 0: none comes */
static bool sealed;		/* that CLOSE is sealed */
static u16 full_reason;		/* reason and outcome of the reject */
static int full_ret;
static unsigned long full_after;	/* time until the reject, jiffies */
static unsigned long close_after;	/* time from the reject to CLOSE, jiffies */
static bool gives_up;		/* the connect is cancelled while it waits for CLOSE */
static unsigned int connects[2], cmdqs;
static unsigned int stranger;	/* number of the accept whose check fails; 0: none */
static int join_ret, accept_ret;	/* results of the MAC of a join, and of that check */

/* Sets the outcome of a step of a queue. */
static void outcome(struct rdmablk_queue *q, int status)
{
	q->cm_status = status;
	q->cm_pending = false;
}

/* The login has done all that it can. Now the target answers, the stale queue first. */
static void unit_wait(long left)
{
	struct rdmablk_queue *queues[] = { &hwq.read, &hwq.write };

	assert_true(left > 0);
	if (stale) {
		stale->cm_reason = RDMABLK_R_FENCING;
		outcome(stale, -EBUSY);
		if (bad_message) {
			stale->failed = true;
			session.login.reason = RDMABLK_R_CONNECTION;
			session.waiter.broken = true;
		}
		stale = NULL;
		return;
	}
	if (full) {
		jiffies += full_after;
		full->cm_reason = full_reason;
		full->why = "refused";
		outcome(full, full_ret);
		full = NULL;
		return;
	}
	if (gives_up) {
		session.waiter.cancelled = true;
		return;
	}
	if (close_reason && close_after <= (unsigned long)left) {
		jiffies += close_after;
		session.login.trusted = sealed ? close_reason : 0;
		session.login.reason = sealed ? close_reason : RDMABLK_R_CONNECTION;
		session.waiter.broken = true;
		return;
	}
	jiffies += (unsigned long)left;
	for (int i = 0; i < 2; i++)
		if (queues[i]->cm_pending)
			outcome(queues[i], 0);
}

int rdmablk_queue_make_tail(struct rdmablk_queue *q, u32 lkey)
{
	assert_int_equal(lkey, pd.local_dma_lkey);
	q->tail = 1;
	return 0;
}

static struct ib_cq *ib_alloc_cq(struct ib_device *dev, void *context, unsigned int cqes,
				 u32 vector, int how)
{
	(void)dev;
	(void)context;
	(void)cqes;
	(void)vector;
	(void)how;
	return &cq;
}

long rdmablk_cm_left(unsigned long deadline)
{
	return time_before(jiffies, deadline) ? (long)(deadline - jiffies) : 1;
}

bool rdmablk_cm_is_done(const struct rdmablk_queue *q)
{
	return !q->cm_pending;
}

int rdmablk_cm_start_address(struct rdmablk_queue *q, struct sockaddr *dst,
			     struct sockaddr *src, unsigned int ms)
{
	(void)dst;
	(void)src;
	(void)ms;
	q->cm_id = &id;
	outcome(q, 0);
	return 0;
}

int rdmablk_cm_share_route(struct rdmablk_queue *q, const struct rdmablk_cm_route *route,
			   const struct rdmablk_queue *from, unsigned int ms)
{
	(void)route;
	(void)from;
	(void)ms;
	outcome(q, 0);
	return 0;
}

int rdmablk_cm_start_connect(struct rdmablk_queue *q, const struct rdmablk_cm_request *req,
			     u8 read_depth)
{
	assert_non_null(q->qp);
	connects[q == &hwq.write]++;
	q->version = session.login.challenge.version;
	q->peer_qpn = 0x44;
	memcpy(q->accept.mac, req->mac, sizeof(q->accept.mac));
	q->read_depth = read_depth;
	q->cm_pending = true;
	return 0;
}

void rdmablk_cm_destroy(struct rdmablk_queue *q)
{
	assert_null(q->qp);
	q->cm_id = NULL;
}

int rdmablk_queue_create_qp(struct rdmablk_queue *q, struct ib_pd *domain, struct ib_cq *of,
			    unsigned int send_slots, unsigned int recvs, unsigned int sge)
{
	(void)domain;
	(void)of;
	(void)send_slots;
	(void)recvs;
	(void)sge;
	assert_null(q->qp);
	q->qp = &qp;
	return 0;
}

void rdmablk_queue_stop(struct rdmablk_queue *q)
{
	assert_non_null(q->qp);
}

/* The device may report an error of a queue pair as long as that exists. */
void rdmablk_queue_destroy_qp(struct rdmablk_queue *q)
{
	q->failed = true;
	if (!session.login.reason)
		session.login.reason = RDMABLK_R_CONNECTION;
	q->qp = NULL;
}

int rdmablk_cmdq_create(struct rdmablk_cmdq *cmdq, struct rdmablk_queue *q,
			struct ib_pd *domain, const struct rdmablk_cmdq_attr *attr)
{
	(void)domain;
	assert_ptr_equal(cmdq, &hwq.cmdq);
	assert_ptr_equal(q, &hwq.write);
	assert_int_equal(cmdq->depth, 0);
	cmdq->depth = attr->depth;
	cmdqs++;
	return 0;
}

/* Its receives may be posted to the queue pair as long as that exists. */
void rdmablk_cmdq_destroy(struct rdmablk_cmdq *cmdq)
{
	assert_null(hwq.write.qp);
	cmdq->depth = 0;
}

u8 rdmablk_ibdev_read_depth(struct ib_device *dev);
u8 rdmablk_ibdev_read_depth(struct ib_device *dev)
{
	(void)dev;
	return 16;
}

int rdmablk_mac_join(struct rdmablk_mac *a, struct rdmablk_cm_request *req);
int rdmablk_mac_join(struct rdmablk_mac *a, struct rdmablk_cm_request *req)
{
	(void)a;
	(void)req;
	return 0;
}

/* In this test a MAC is the number of the queue pair. */
int rdmablk_auth_join(struct rdmablk_auth *a, u32 qpn, struct rdmablk_cm_request *req);
int rdmablk_auth_join(struct rdmablk_auth *a, u32 qpn, struct rdmablk_cm_request *req)
{
	a->joins++;
	memcpy(req->mac, &qpn, sizeof(qpn));
	return join_ret;
}

int rdmablk_auth_accept(struct rdmablk_auth *a, const struct rdmablk_cm_accept2 *acc,
			const u8 *join_mac, u32 qpn);
int rdmablk_auth_accept(struct rdmablk_auth *a, const struct rdmablk_cm_accept2 *acc,
			const u8 *join_mac, u32 qpn)
{
	u8 mac[RDMABLK_MAC_LEN] = { 0x33 };

	assert_int_equal(qpn, 0x44);
	assert_memory_equal(join_mac, mac, sizeof(mac));
	assert_memory_equal(acc->mac, mac, sizeof(mac));
	return ++a->accepts == stranger ? accept_ret : 0;
}

void rdmablk_poll_open(struct rdmablk_hwq *of);
void rdmablk_poll_open(struct rdmablk_hwq *of)
{
	(void)of;
}

void rdmablk_poll_watch(struct rdmablk_queue *q);
void rdmablk_poll_watch(struct rdmablk_queue *q)
{
	(void)q;
}

int rdmablk_login_fail(struct rdmablk_session *s, int ret, const char *why)
{
	s->why = why;
	return ret;
}

bool rdmablk_login_believes(const struct rdmablk_session *s, u16 reason)
{
	return s->login.version == RDMABLK_VERSION_OPEN || s->login.trusted == reason;
}

int rdmablk_login_queue_fail(struct rdmablk_session *s, struct rdmablk_queue *q, int ret)
{
	return rdmablk_login_fail(s, ret, q->why);
}

void rdmablk_login_progress(struct rdmablk_session *s)
{
	s->login.deadline = jiffies + 10000;
}

unsigned long rdmablk_login_step(const struct rdmablk_session *s, u64 ms)
{
	return s->resume ? jiffies + ms : s->login.deadline;
}

/* The kernel is built without these warnings. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../kernel/login_queues.c"
#pragma GCC diagnostic warning "-Wunused-parameter"
#pragma GCC diagnostic warning "-Wsign-compare"

static int setup(void **state)
{
	(void)state;
	memset(&hwq, 0, sizeof(hwq));
	hwq.read.kind = RDMABLK_KIND_READ;
	hwq.write.kind = RDMABLK_KIND_WRITE;
	stranger = 0;
	join_ret = 0;
	accept_ret = -EACCES;
	session = (struct rdmablk_session){
		.nr_queues = 1, .pd = &pd,
		.login.challenge.version = 1,
		.login.version = 1,
		.login.offer = {
			.grant = { .nr_queues = 1, .queue_depth = 8, .read_depth = 16 },
			.limits = { .send_slots = 64, .sge_per_wr = 4, .max_chain = 4 },
			.cmds = { .cmd_depth = 16 },
			.port = 1,
		},
		.opt.reconnect_delay = 2,
		.ctrl.queue.cm_id = &id,
		.path = { .hwq = hwqs, .map = map },
	};
	rdmablk_login_map(&session);
	memset(connects, 0, sizeof(connects));
	cmdqs = 0;
	stale = NULL;
	bad_message = false;
	full = NULL;
	full_reason = RDMABLK_R_DEVICE_FULL;
	full_ret = -ENOSPC;
	close_reason = 0;
	full_after = 0;
	close_after = 0;
	sealed = false;
	gives_up = false;
	return 0;
}

static void joined(unsigned int reads, unsigned int writes)
{
	assert_int_equal(rdmablk_login_queues(&session), 0);
	assert_int_equal(connects[0], reads);
	assert_int_equal(connects[1], writes);
	assert_int_equal(cmdqs, writes);
	assert_non_null(hwq.read.qp);
	assert_non_null(hwq.write.qp);
	/* Otherwise nothing would ever be posted, and the login would fail. */
	assert_false(hwq.read.failed || hwq.write.failed);
	assert_int_equal(session.login.reason, 0);
	assert_int_equal(hwq.cmdq.depth, rdmablk_login_tags(&session));
}

static void test_both_join(void **state)
{
	(void)state;
	joined(1, 1);
}

/* By then the write queue of the pair may have posted its receives. */
static void test_read_queue_known_to_the_target(void **state)
{
	(void)state;
	stale = &hwq.read;
	joined(2, 1);
}

static void test_write_queue_known_to_the_target(void **state)
{
	(void)state;
	stale = &hwq.write;
	joined(1, 2);
}

/*
 * The end of a refused queue pair is not an error of the login. An error of the control queue
 * that comes at the same time is one.
 */
static void test_bad_message_beside_a_known_queue(void **state)
{
	(void)state;
	stale = &hwq.read;
	bad_message = true;
	assert_int_not_equal(rdmablk_login_queues(&session), 0);
	assert_int_equal(session.login.reason, RDMABLK_R_CONNECTION);
}

/* Only a write queue whose WRITEs end with READs may have READs under way. */
static void test_write_queues_that_read(void **state)
{
	(void)state;
	joined(1, 1);
	assert_int_equal(hwq.write.tail, 0);
	assert_int_equal(hwq.write.read_depth, 0);
	setup(NULL);
	session.opt.ordered = true;
	joined(1, 1);
	assert_int_equal(hwq.read.tail, 0);
	assert_int_equal(hwq.write.tail, 1);
	assert_int_equal(hwq.write.read_depth, 16);
	setup(NULL);
	session.opt.ordered = true;
	session.login.offer.grant.flags = RDMABLK_GRANT_STAGED;
	joined(1, 1);
	assert_int_equal(hwq.write.tail, 0);
	assert_int_equal(hwq.write.read_depth, 0);
}

/* In version 2 MACs bind the queue pairs to the login; version 1 has no MACs of this kind. */
static void test_joins_of_version_2(void **state)
{
	(void)state;
	joined(1, 1);
	assert_int_equal(session.auth.joins + session.auth.accepts, 0);
	setup(NULL);
	session.login.challenge.version = 2;
	stale = &hwq.read;
	joined(2, 1);
	assert_int_equal(session.auth.joins, 3);
	assert_int_equal(session.auth.accepts, 2);
	for (unsigned int i = 1; i <= 2; i++) {
		setup(NULL);
		session.login.challenge.version = 2;
		stranger = i;
		assert_int_equal(rdmablk_login_queues(&session), -EACCES);
		assert_string_equal(session.why,
				    "somebody else has accepted a queue: its MAC is wrong");
	}
	/* A host that cannot check an accept does not blame a stranger. */
	setup(NULL);
	session.login.challenge.version = 2;
	stranger = 2;
	accept_ret = -ENOMEM;
	assert_int_equal(rdmablk_login_queues(&session), -ENOMEM);
	assert_string_equal(session.why, "cannot compute a MAC");
	setup(NULL);
	session.login.challenge.version = 2;
	join_ret = -ENOMEM;
	assert_int_equal(rdmablk_login_queues(&session), -ENOMEM);
	assert_int_equal(connects[0], 0);
}

static void begin(u16 version)
{
	setup(NULL);
	session.login.version = version;
	session.login.challenge.version = version;
}

/* Returns how long the login took. */
static unsigned long refused(u16 version, u16 reason, bool seal)
{
	unsigned long start = jiffies;
	bool full_room = seal && reason == RDMABLK_R_DEVICE_FULL;

	begin(version);
	full = &hwq.write;
	close_reason = reason;
	sealed = seal;
	assert_int_equal(rdmablk_login_queues(&session), -ENOSPC);
	assert_string_equal(session.why, full_room ?
			    rdmablk_reason_text(RDMABLK_R_DEVICE_FULL) : "refused");
	assert_int_equal(connects[0] + connects[1], 2);
	return jiffies - start;
}

/*
 * Anybody can send a reject, or a CLOSE without a seal: the login fails, and the next one asks
 * for as many queues.
 */
static void test_a_reject_is_a_hint(void **state)
{
	(void)state;
	assert_int_equal(refused(2, 0, false), 10000);
	assert_false(session.login.no_room);
	assert_int_equal(refused(2, RDMABLK_R_DEVICE_FULL, false), 0);
	assert_false(session.login.no_room);
	assert_int_equal(refused(2, RDMABLK_R_STOLEN, true), 0);
	assert_false(session.login.no_room);
	assert_int_equal(refused(2, RDMABLK_R_DEVICE_FULL, true), 0);
	assert_true(session.login.no_room);
	/* Version 1 does not wait for a CLOSE: its target need not say more. */
	assert_int_equal(refused(1, 0, false), 0);
	assert_true(session.login.no_room);
}

/*
 * The target sends CLOSE when it has fenced the session, which may take longer than
 * reconnect_delay. Later tries wait longer, until one of them gets the CLOSE.
 */
static void test_a_late_close_is_waited_for(void **state)
{
	unsigned int late = 0;
	unsigned long start;

	(void)state;
	for (;;) {
		start = jiffies;
		begin(2);
		session.resume = true;
		session.outage.late_joins = late;
		full = &hwq.write;
		close_reason = RDMABLK_R_DEVICE_FULL;
		full_after = 1500;
		close_after = 5000;
		sealed = true;
		assert_int_equal(rdmablk_login_queues(&session), -ENOSPC);
		if (session.login.no_room)
			break;
		assert_int_equal(session.outage.late_joins, ++late);
		assert_int_equal(jiffies - start, 1500 + rdmablk_patience_join(2000, late - 1));
		assert_in_range(late, 1, 8);
	}
	assert_int_equal(session.outage.late_joins, late);
	assert_in_range(late, 2, 8);
}

/* The queue whose outcome is taken first need not be the one without room. */
static void test_another_queue_is_the_full_one(void **state)
{
	static const struct {
		u16 reason;
		int ret;
	} met[] = {
		{ RDMABLK_R_JOIN_SESSION, -EPROTO }, { 0, -ECONNRESET },
		{ RDMABLK_R_JOIN_MAC, -EACCES },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(met); i++) {
		bool before = i % 2, waits = i / 2 < 2;

		begin(2);
		full = &hwq.write;
		full_reason = met[i / 2].reason;
		full_ret = met[i / 2].ret;
		close_reason = RDMABLK_R_DEVICE_FULL;
		sealed = true;
		if (before) {
			session.login.trusted = RDMABLK_R_DEVICE_FULL;
			session.waiter.broken = true;
			outcome(full, full_ret);
		}
		assert_int_equal(rdmablk_login_queues(&session),
				 before || waits ? -ENOSPC : full_ret);
		assert_int_equal(session.login.no_room, before || waits);
	}
}

/* A connect that is given up fails with ECANCELED. */
static void test_a_wait_is_given_up(void **state)
{
	(void)state;
	begin(2);
	full = &hwq.write;
	gives_up = true;
	assert_int_equal(rdmablk_login_queues(&session), -ECANCELED);
	assert_false(session.login.no_room);
	assert_int_equal(session.outage.late_joins, 0);
}

/* The CLOSE may come before the reject. */
static void test_a_close_ends_the_joins(void **state)
{
	(void)state;
	for (int seal = 0; seal < 2; seal++) {
		begin(2);
		close_reason = RDMABLK_R_DEVICE_FULL;
		sealed = seal;
		assert_int_not_equal(rdmablk_login_queues(&session), 0);
		assert_int_equal(session.login.no_room, seal);
	}
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_both_join),
		TEST(test_write_queues_that_read),
		TEST(test_read_queue_known_to_the_target),
		TEST(test_write_queue_known_to_the_target),
		TEST(test_bad_message_beside_a_known_queue),
		TEST(test_joins_of_version_2),
		TEST(test_a_reject_is_a_hint),
		TEST(test_a_late_close_is_waited_for),
		TEST(test_another_queue_is_the_full_one),
		TEST(test_a_wait_is_given_up),
		TEST(test_a_close_ends_the_joins),
	};

	return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}
