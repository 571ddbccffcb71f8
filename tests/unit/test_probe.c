// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/probe.c notices that a target is back although the connection request was
 * lost: any answer to another request shows it, and nothing else does. However the wait ends,
 * nothing of a probe is left.
 */
#include "session_world.h"

#include <linux/slab.h>

#define kzalloc(size, flags)	((void)(flags), unit_alloc(size))
#define kfree(p)		unit_free(p)
/* Time passes, and others answer, only while somebody waits. */
#define wait_event_idle_timeout(wq, condition, left)				\
	do {								\
		unsigned long until_ = jiffies + (unsigned long)(left);	\
									\
		(void)(wq);						\
		while (!(condition) && time_before(jiffies, until_))	\
			unit_wait((long)(until_ - jiffies));		\
	} while (0)

#define NEVER	(~0UL)

struct ib_device {
	int none;
};

struct ib_pd {
	struct ib_device *device;
};

struct ib_qp {
	int none;
};

struct ib_cq {
	int none;
};

struct rdma_cm_id {
	struct ib_device *device;
};

static struct ib_device device, elsewhere;
static struct ib_pd pd = { .device = &device };
static struct ib_cq cq;
static struct ib_qp qp;
static struct rdma_cm_id id;
static struct rdmablk_session s;
static const struct rdmablk_cm_request request = { .version_min = 1 };
static struct rdmablk_queue *probe;	/* the current one; NULL: none */
static unsigned int probes, connects;
static bool no_memory;
static int no_address;
/* When each request is answered, in jiffies, and how */
static unsigned long answer_at, probe_at, back_at, cancel_at;
static int answer, probe_answer, address;
static u16 probe_reason;

static void *unit_alloc(size_t bytes)
{
	assert_null(probe);
	if (no_memory)
		return NULL;
	probe = calloc(1, bytes);
	probes++;
	probe_at = NEVER;
	return probe;
}

static void unit_free(void *p)
{
	assert_ptr_equal(p, probe);
	assert_true(!probe->cm_id && !probe->qp);
	free(p);
	probe = NULL;
}

/* NEVER is later than all times. */
static bool is_over(unsigned long at, unsigned long now)
{
	return at <= now;
}

static void unit_wait(long left)
{
	unsigned long next = min(answer_at, cancel_at);

	assert_true(left > 0);
	if (probe && probe->cm_pending)
		next = min(next, probe_at);
	jiffies = min(max(next, jiffies), jiffies + (unsigned long)left);
	if (is_over(answer_at, jiffies)) {
		s.ctrl.queue.cm_pending = false;
		s.ctrl.queue.cm_status = answer;
	}
	if (is_over(cancel_at, jiffies))
		s.waiter.cancelled = true;
	if (probe && is_over(probe_at, jiffies))
		probe->cm_pending = false;
}

void rdmablk_queue_init(struct rdmablk_queue *q, u16 nr, u8 kind,
			const struct rdmablk_queue_owner *owner)
{
	assert_ptr_equal(q, probe);
	assert_int_equal(nr, 0);
	assert_int_equal(kind, RDMABLK_KIND_CONTROL);
	q->waiter = owner->waiter;
	q->fatal = owner->fatal;
}

bool rdmablk_cm_is_done(const struct rdmablk_queue *q)
{
	return !q->cm_pending;
}

long rdmablk_cm_left(unsigned long deadline)
{
	return time_before(jiffies, deadline) ? (long)(deadline - jiffies) : 1;
}

int rdmablk_cm_wait(struct rdmablk_queue *q, unsigned long deadline)
{
	assert_ptr_equal(q, &s.ctrl.queue);
	(void)deadline;
	return q->cm_pending ? -ETIMEDOUT : q->cm_status;
}

static int step(struct rdmablk_queue *q, int status, unsigned long at)
{
	assert_ptr_equal(q, probe);
	assert_false(q->cm_pending);
	q->cm_status = status;
	q->cm_pending = true;
	probe_at = at;
	return 0;
}

int rdmablk_cm_start_address(struct rdmablk_queue *q, struct sockaddr *dst,
			     struct sockaddr *src, unsigned int ms)
{
	(void)ms;
	assert_ptr_equal(dst, &s.opt.target);
	assert_ptr_equal(src, s.opt.source.ss_family ? &s.opt.source : NULL);
	assert_ptr_equal(q->waiter, &s.waiter);
	if (no_address)
		return no_address;
	q->cm_id = &id;
	return step(q, address, jiffies + 1);
}

int rdmablk_cm_share_route(struct rdmablk_queue *q, const struct rdmablk_cm_route *route,
			   const struct rdmablk_queue *from, unsigned int ms)
{
	assert_true(ms > 0);
	assert_ptr_equal(route, &s.opt.route);
	assert_ptr_equal(from, &s.ctrl.queue);
	return step(q, 0, jiffies + 1);
}

int rdmablk_queue_create_qp(struct rdmablk_queue *q, struct ib_pd *of, struct ib_cq *its,
			    unsigned int send_slots, unsigned int recvs, unsigned int sge)
{
	assert_ptr_equal(of, &pd);
	assert_ptr_equal(its, &cq);
	/* Nothing is ever posted there. */
	assert_int_equal(send_slots + recvs, 0);
	(void)sge;
	q->qp = &qp;
	return 0;
}

/* A request that goes out while the network is down is lost. */
int rdmablk_cm_start_connect(struct rdmablk_queue *q, const struct rdmablk_cm_request *req,
			     u8 read_depth)
{
	assert_ptr_equal(req, &request);
	assert_int_equal(read_depth, 0);
	assert_ptr_equal(q->qp, &qp);
	connects++;
	q->cm_reason = probe_reason;
	return step(q, probe_answer, is_over(back_at, jiffies) ? jiffies + 1 : NEVER);
}

void rdmablk_queue_destroy_qp(struct rdmablk_queue *q)
{
	q->qp = NULL;
}

void rdmablk_cm_destroy(struct rdmablk_queue *q)
{
	assert_null(q->qp);
	q->cm_id = NULL;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../kernel/probe.c"
#pragma GCC diagnostic warning "-Wunused-parameter"

static int setup(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	jiffies = 100000;
	id.device = &device;
	probes = 0;
	connects = 0;
	no_memory = false;
	no_address = 0;
	answer_at = NEVER;
	cancel_at = NEVER;
	back_at = 0;
	answer = 0;
	probe_answer = 0;
	probe_reason = 0;
	address = 0;
	s.pd = &pd;
	s.ctrl.cq = &cq;
	s.ctrl.queue.cm_pending = true;
	s.opt.reconnect_delay = 2;
	return 0;
}

/* Waits for at most 9 s. @took: how long it was. Return: the outcome. */
static int waits(unsigned long *took)
{
	unsigned long start = jiffies;
	int ret = rdmablk_probe_wait(&s, &request, start + 9 * HZ);

	*took = jiffies - start;
	assert_null(probe);
	assert_true(*took <= 9 * HZ);
	return ret;
}

static void test_target_answers(void **state)
{
	unsigned long took;

	(void)state;
	answer_at = jiffies + 2 * HZ - 1;
	assert_int_equal(waits(&took), 0);
	assert_int_equal(took, 2 * HZ - 1);
	assert_int_equal(probes, 0);
	setup(state);
	answer_at = jiffies + 1;
	answer = -ECONNREFUSED;
	assert_int_equal(waits(&took), -ECONNREFUSED);
	assert_int_equal(took, 1);
}

/* The network is back after 5 s. The next probe notices it. */
static void test_request_was_lost(void **state)
{
	unsigned long took;

	(void)state;
	back_at = jiffies + 5 * HZ;
	assert_int_equal(waits(&took), -ERESTART);
	assert_in_range(took, 6 * HZ, 6 * HZ + 10);
	assert_int_equal(connects, 3);
}

/* A refusal is an answer of the target, whatever its reason. */
static void test_answers_of_a_probe(void **state)
{
	static const struct {
		int status;
		u16 reason;
		bool is_one;
	} c[] = {
		{ 0, 0, true },
		{ -ECONNREFUSED, 0, true },
		{ -EBUSY, RDMABLK_R_FENCING, true },
		{ -ETIMEDOUT, 0, false },
		{ -EHOSTUNREACH, 0, false },
	};
	unsigned long took;

	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		setup(state);
		probe_answer = c[i].status;
		probe_reason = c[i].reason;
		assert_int_equal(waits(&took), c[i].is_one ? -ERESTART : -ETIMEDOUT);
		assert_int_equal(probes, c[i].is_one ? 1 : 4);
	}
}

/* An outcome of the address resolution is not an answer of the target. */
static void test_address_is_no_answer(void **state)
{
	unsigned long took;

	(void)state;
	address = -ECONNREFUSED;
	assert_int_equal(waits(&took), -ETIMEDOUT);
	assert_int_equal(took, 9 * HZ);
	assert_int_equal(connects, 0);
	assert_int_equal(probes, 4);
}

/* A slow target answers the older request first: that is the connection. */
static void test_both_are_answered(void **state)
{
	unsigned long took;

	(void)state;
	answer_at = jiffies + 2 * HZ + 3;
	assert_int_equal(waits(&took), 0);
	assert_int_equal(connects, 1);
}

static void test_deadline(void **state)
{
	unsigned long took;

	(void)state;
	back_at = NEVER;
	assert_int_equal(waits(&took), -ETIMEDOUT);
	assert_int_equal(took, 9 * HZ);
	/* A longer pause does not make the wait longer. */
	setup(state);
	s.opt.reconnect_delay = 60;
	assert_int_equal(waits(&took), -ETIMEDOUT);
	assert_int_equal(took, 9 * HZ);
	assert_int_equal(probes, 0);
}

static void test_cancelled(void **state)
{
	unsigned long took;

	(void)state;
	back_at = NEVER;
	cancel_at = jiffies + 3 * HZ;
	assert_int_equal(waits(&took), -ETIMEDOUT);
	assert_int_equal(took, 3 * HZ);
	assert_int_equal(probes, 1);
}

/* The login goes on without a probe. */
static void test_no_probe(void **state)
{
	unsigned long took;

	(void)state;
	no_memory = true;
	answer_at = jiffies + 7 * HZ;
	assert_int_equal(waits(&took), 0);
	assert_int_equal(took, 7 * HZ);
	setup(state);
	no_address = -ENOMEM;
	answer_at = jiffies + 7 * HZ;
	assert_int_equal(waits(&took), 0);
	assert_int_equal(probes, 3);
}

/* The address leads to another device by now, which does not have this protection domain. */
static void test_other_device(void **state)
{
	unsigned long took;

	(void)state;
	id.device = &elsewhere;
	assert_int_equal(waits(&took), -ETIMEDOUT);
	assert_int_equal(connects, 0);
}

static void test_source_address(void **state)
{
	unsigned long took;

	(void)state;
	s.opt.source.ss_family = AF_INET;
	assert_int_equal(waits(&took), -ERESTART);
	assert_int_equal(probes, 1);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_target_answers),
		TEST(test_request_was_lost),
		TEST(test_answers_of_a_probe),
		TEST(test_address_is_no_answer),
		TEST(test_both_are_answered),
		TEST(test_deadline),
		TEST(test_cancelled),
		TEST(test_no_probe),
		TEST(test_other_device),
		TEST(test_source_address),
	};

	return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
