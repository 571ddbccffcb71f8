// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/request.c ends each request that a lost connection leaves behind once: the
 * request fails, or returns to the block layer to be posted again. A request whose completion
 * was seen is left alone, however late its end comes. A WRITE that may land is kept until it
 * cannot. A request that breaks one connection after the other fails.
 */
#include <linux/kernel.h>

#include "request_fakes.h"
#include "unit.h"

#include "../../kernel/request.h"

/* The block layer, as far as request.c knows it */
#define RDMABLK_COMPAT_H
#define RDMABLK_ONESIDED_H	/* this file has its contents */
#define RDMABLK_TRACE_H
#define BLK_STS_TRANSPORT	4
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define REQUESTS		5

#define BLK_STS_RESOURCE	9
#define REQ_FUA			(1u << 11)
#define IB_WC_SUCCESS		0
#define CONFIG_PREEMPT_RT	0
#define MQ_RQ_IN_FLIGHT		1
#define noinline
#define REQ_FAILFAST_DEV	(1u << 8)
#define REQ_FAILFAST_TRANSPORT	(1u << 9)
#define REQ_RAHEAD		(1u << 10)
#define RQF_MIXED_MERGE		(1u << 0)
#define RQF_DONTPREP		(1u << 1)

enum { REQ_OP_READ, REQ_OP_WRITE, REQ_OP_FLUSH, REQ_OP_DISCARD };

struct request_queue {
	void *queuedata;
	int timeout;
};

struct blk_mq_hw_ctx {
	unsigned int queue_num;
};

struct io_comp_batch {
	int unused;
};

struct ib_wc {
	struct ib_cqe *wr_cqe;
	int status;
};

struct ib_cq {
	void *cq_context;
};

struct request {
	struct request_queue *q;
	int op;
	unsigned int cmd_flags, rq_flags;
	bool free, completed;
	unsigned int requeued, unmapped, timeout;
	unsigned long deadline;
	int tag;
	struct blk_mq_hw_ctx *mq_hctx;
	struct rdmablk_request pdu;
};

struct blk_mq_tag_set {
	struct request *rq;
};

static struct rdmablk_stats counters;

#define this_cpu_inc(what)	((void)(what)++)
#define this_cpu_add(what, n)	((void)((what) += (n)))
#define time_after(a, b)	((long)((b) - (a)) < 0)
/* Tracing is off, and no timeouts are faked. */
#define trace_rdmablk_end_enabled()		false
#define trace_rdmablk_end(...)			((void)0)
#define trace_rdmablk_complete_enabled()	false
#define trace_rdmablk_complete(index, queue, tag, error)	\
	((void)(index), (void)(queue), (void)(tag), (void)(error))
#define blk_status_to_errno(status)		(status)
#define blk_should_fake_timeout(queue)		((void)(queue), false)
#define timer_reduce(timer, at)			((void)(timer), looks_at = (at))

static unsigned long jiffies = 1000;
static unsigned long looks_at;	/* when the block layer's timer fires, in jiffies */
static unsigned int ended;

static int rq_data_dir(const struct request *rq)
{
	return rq->op & 1;
}

static unsigned int blk_rq_bytes(const struct request *rq)
{
	(void)rq;
	return 4096;
}

static u64 rdmablk_request_start(struct request *rq)
{
	(void)rq;
	return 0;
}

static int blk_mq_rq_state(const struct request *rq)
{
	return rq->free || rq->completed ? 0 : MQ_RQ_IN_FLIGHT;
}

static void blk_mq_end_request(struct request *rq, blk_status_t status)
{
	rq->free = true;
	assert_int_equal(status, rq->pdu.status);
}

static bool blk_mq_complete_request_remote(struct request *rq)
{
	(void)rq;
	return false;
}

static void blk_mq_end_request_batch(struct io_comp_batch *iob)
{
	(void)iob;
}

static bool blk_mq_add_to_batch(struct request *rq, struct io_comp_batch *iob, bool error,
				void (*end)(struct io_comp_batch *iob))
{
	(void)rq;
	(void)iob;
	assert_false(error);
	assert_ptr_equal(end, blk_mq_end_request_batch);
	return false;
}

/* Functions of other files */
void rdmablk_stats_timing_add(struct rdmablk_timing *t, enum rdmablk_timed what, u64 since)
{
	(void)t;
	(void)what;
	(void)since;
}

void rdmablk_poll_request_done(struct request *rq)
{
	rq->pdu.watched = false;
}

void rdmablk_queue_failed(struct rdmablk_queue *q, const struct ib_wc *wc)
{
	(void)wc;
	q->failed = true;
}

void rdmablk_fence_queue(struct rdmablk_fence *f, struct rdmablk_fence_op *op)
{
	(void)f;
	(void)op;
}

void rdmablk_fence_dirty(struct rdmablk_path *path, u64 pos, u64 bytes)
{
	(void)path;
	(void)pos;
	(void)bytes;
}

static bool blk_mq_request_completed(struct request *rq)
{
	return rq->completed;
}

static void blk_mq_tagset_busy_iter(struct blk_mq_tag_set *set,
				    bool (*fn)(struct request *rq, void *data), void *data)
{
	for (int i = 0; i < REQUESTS; i++) {
		if (!set->rq[i].free && !fn(&set->rq[i], data))
			return;
	}
}

/* The block layer takes the request back, so the request must not end as well. */
static void blk_mq_requeue_request(struct request *rq, bool kick)
{
	assert_false(rq->completed || rq->free || kick);
	/* Without this flag the block layer may merge the request into another one. */
	assert_true(rq->rq_flags & RQF_DONTPREP);
	rq->requeued++;
	rq->free = true;
}

static void rdmablk_onesided_unmap(struct rdmablk_path *path, struct request *rq)
{
	(void)path;
	rq->unmapped++;
}

/* ->complete() comes later. Until then the tag is in use. */
static void rdmablk_request_hand_over(struct request *rq)
{
	assert_false(rq->completed || rq->free);
	assert_int_equal(rq->pdu.status, BLK_STS_TRANSPORT);
	assert_false(rq->pdu.held);
	rq->completed = true;
	ended++;
}

#include "../../kernel/request.c"

static struct rdmablk_path path;
static struct request_queue queue = { .queuedata = &path };
static struct request rq[REQUESTS];
static struct blk_mq_tag_set set = { .rq = rq };

/* A READ and a WRITE that were posted, a WRITE that was not, a FLUSH, one that has ended */
enum { READ, WRITE, UNPOSTED, FLUSH, COMPLETED };

static int setup(void **state)
{
	static const int op[REQUESTS] = {
		REQ_OP_READ, REQ_OP_WRITE, REQ_OP_WRITE, REQ_OP_FLUSH, REQ_OP_WRITE,
	};

	(void)state;
	memset(&path, 0, sizeof(path));
	memset(&counters, 0, sizeof(counters));
	path.stats = &counters;
	memset(rq, 0, sizeof(rq));
	for (int i = 0; i < REQUESTS; i++) {
		rq[i].q = &queue;
		rq[i].op = op[i];
		rq[i].pdu.posted = i != UNPOSTED;
		rq[i].completed = i == COMPLETED;
	}
	ended = 0;
	return 0;
}

/* A connection ends that has had all requests. */
static struct rdmablk_held lose(bool lost, bool again)
{
	for (int i = 0; i < REQUESTS; i++)
		rq[i].pdu.held = false;
	return rdmablk_request_hold_all(&set, lost, again);
}

static struct rdmablk_held hold(void)
{
	return lose(true, false);
}

static void test_hold(void **state)
{
	struct rdmablk_cmd_tag cmd = { .tag = 3 };
	struct rdmablk_held held;

	(void)state;
	rq[WRITE].pdu.cmd = &cmd;
	rq[WRITE].pdu.watched = true;
	rq[WRITE].timeout = 600;
	assert_true(rdmablk_request_busy(&set));
	held = hold();
	assert_int_equal(held.requests, REQUESTS - 1);
	assert_int_equal(held.writes, 1);
	for (int i = 0; i < REQUESTS; i++) {
		assert_int_equal(rq[i].pdu.held, i != COMPLETED);
		assert_int_equal(rq[i].unmapped, i != COMPLETED);
	}
	assert_null(rq[WRITE].pdu.cmd);
	assert_false(rq[WRITE].pdu.watched);
	assert_int_equal(rq[WRITE].timeout, 0);
	assert_false(rdmablk_request_busy(&set));
	assert_int_equal(rdmablk_request_in_flight(&set), REQUESTS - 1);
	assert_int_equal(ended, 0);
}

/* The data of a staged FLUSH that was lost still has to be flushed. */
static void test_unflushed(void **state)
{
	(void)state;
	rq[FLUSH].pdu.was_unflushed = true;
	hold();
	assert_false(path.unflushed);
	path.staged = true;
	rq[FLUSH].pdu.was_unflushed = false;
	hold();
	assert_false(path.unflushed);
	rq[FLUSH].pdu.was_unflushed = true;
	hold();
	assert_true(path.unflushed);
}

static void test_fail(void **state)
{
	(void)state;
	hold();
	/* A posted WRITE may land. */
	assert_int_equal(rdmablk_request_fail_held(&set, true, true), 1);
	assert_int_equal(ended, REQUESTS - 2);
	assert_true(rq[WRITE].pdu.held && !rq[WRITE].completed);
	assert_true(rq[UNPOSTED].completed);
	assert_int_equal(rdmablk_request_fail_held(&set, true, true), 1);
	assert_int_equal(rdmablk_request_fail_held(&set, true, false), 0);
	assert_int_equal(ended, REQUESTS - 1);
	/* Requests that have ended do not end again, however late ->complete() comes. */
	assert_int_equal(rdmablk_request_fail_held(&set, true, false), 0);
	assert_int_equal(rdmablk_request_requeue_held(&set, 100), 0);
	assert_int_equal(ended, REQUESTS - 1);
}

/* FAILFAST requests end at once, except a WRITE that may land. */
static void test_fail_fast(void **state)
{
	(void)state;
	rq[READ].cmd_flags = REQ_FAILFAST_DEV;
	rq[WRITE].cmd_flags = REQ_FAILFAST_TRANSPORT;
	rq[UNPOSTED].cmd_flags = REQ_FAILFAST_TRANSPORT | REQ_FAILFAST_DEV;
	hold();
	assert_int_equal(rdmablk_request_fail_held(&set, false, true), 1);
	assert_int_equal(ended, 2);
	assert_true(rq[READ].completed && rq[UNPOSTED].completed);
	assert_true(rq[WRITE].pdu.held && rq[FLUSH].pdu.held);
	assert_int_equal(rdmablk_request_fail_held(&set, false, false), 0);
	assert_int_equal(ended, 3);
	assert_true(rq[WRITE].completed);
	assert_true(rq[FLUSH].pdu.held && !rq[FLUSH].completed);
}

/*
 * The block layer marks all readahead, and a merged request has one set of flags for all its
 * bios. Neither is a wish to fail fast.
 */
static void test_not_asked_to_fail_fast(void **state)
{
	(void)state;
	rq[READ].cmd_flags = REQ_FAILFAST_DEV | REQ_FAILFAST_TRANSPORT | REQ_RAHEAD;
	rq[UNPOSTED].cmd_flags = REQ_FAILFAST_DEV;
	rq[UNPOSTED].rq_flags = RQF_MIXED_MERGE;
	hold();
	assert_int_equal(rdmablk_request_fail_held(&set, false, false), 0);
	assert_int_equal(ended, 0);
}

static void test_requeue(void **state)
{
	(void)state;
	hold();
	rq[READ].pdu.held = false;
	rq[WRITE].timeout = 600;	/* its timer has set the limit of an older time */
	assert_int_equal(rdmablk_request_requeue_held(&set, 100), REQUESTS - 2);
	for (int i = 0; i < REQUESTS; i++)
		assert_int_equal(rq[i].requeued, i != COMPLETED && i != READ);
	/* Until the request is queued again its timer may fire, which must not count. */
	assert_true(rq[WRITE].pdu.held);
	assert_int_equal(rq[WRITE].timeout, 0);
	assert_int_equal(ended, 0);
}

/* A request that completes although it is held ends once, whatever the cause. */
static void test_completed_and_held(void **state)
{
	(void)state;
	hold();
	for (int i = 0; i < REQUESTS; i++)
		rq[i].completed = true;
	assert_int_equal(rdmablk_request_fail_held(&set, true, true), 0);
	rdmablk_request_requeue_held(&set, 0);
	assert_int_equal(hold().requests, 0);
	assert_int_equal(rdmablk_request_in_flight(&set), 0);
	assert_int_equal(ended, 0);
}

/* A request that breaks connections fails when its time is over. */
static void test_connections_that_do_not_last(void **state)
{
	(void)state;
	hold();
	jiffies += 50;
	/* The second time is no coincidence. The time counts from the first. */
	lose(true, true);
	for (int i = 0; i < COMPLETED; i++)
		assert_int_equal(rq[i].pdu.holds, 2);
	jiffies += 49;
	rq[WRITE].pdu.holds = 1;
	rq[READ].free = true;
	rdmablk_request_requeue_held(&set, 100);
	assert_int_equal(ended, 0);
	assert_int_equal(rq[UNPOSTED].requeued, 1);
	for (int i = 0; i < COMPLETED; i++)
		rq[i].free = i == READ;
	jiffies++;
	rdmablk_request_requeue_held(&set, 100);
	assert_int_equal(ended, 2);
	assert_int_equal(rq[WRITE].requeued, 2);
}

/* A request that came while the connection was being taken down was not on it. */
static void test_held_already(void **state)
{
	struct rdmablk_held held;

	(void)state;
	rq[READ].pdu.held = true;
	rq[READ].pdu.unsent = true;
	rq[READ].timeout = 600;
	held = rdmablk_request_hold_all(&set, true, true);
	assert_int_equal(held.requests, REQUESTS - 2);
	assert_int_equal(rq[READ].pdu.holds, 0);
	assert_true(rq[READ].pdu.held && rq[READ].pdu.unsent);
	assert_int_equal(rq[READ].timeout, 600);
}

/* A planned end does not count. After a connection that lasted, counting begins again. */
static void test_counted_holds(void **state)
{
	(void)state;
	lose(false, false);
	assert_int_equal(rq[READ].pdu.holds, 0);
	lose(true, true);
	assert_int_equal(rq[READ].pdu.holds, 1);
	jiffies += 7;
	lose(true, true);
	assert_int_equal(rq[READ].pdu.holds, 2);
	assert_int_equal(rq[READ].pdu.held_since, jiffies - 7);
	lose(false, true);
	assert_int_equal(rq[READ].pdu.holds, 2);
	hold();
	assert_int_equal(rq[READ].pdu.holds, 1);
	assert_int_equal(rq[READ].pdu.held_since, jiffies);
}

/* A request was sent 10 jiffies ago with the time @had. It has the time @has afterwards. */
static void rearms(unsigned int had, unsigned int most, unsigned int has)
{
	rq[READ].timeout = had;
	rq[READ].deadline = jiffies - 10 + had;
	looks_at = 0;
	for (int i = READ + 1; i < REQUESTS; i++)
		rq[i].free = true;
	rdmablk_request_rearm(&set, most);
	assert_int_equal(rq[READ].timeout, has);
	assert_int_equal(rq[READ].deadline, jiffies - 10 + has);
	if (had == has)
		assert_int_equal(looks_at, 0);
	else
		assert_int_equal(looks_at, has > 10 ? rq[READ].deadline : jiffies + 1);
}

/* The new time counts from when the request was sent. */
static void test_rearm(void **state)
{
	struct rdmablk_cmd_tag cmd = { .tag = 3 };

	(void)state;
	path.read_write_tmo = 50;
	path.slow_tmo = 1000;
	/* The time of a READ or WRITE without a command changes only in a hurry. */
	rearms(30, ~0U, 30);
	rearms(30, 20, 20);
	rearms(30, 5, 5);
	rq[READ].pdu.cmd = &cmd;
	rearms(30, ~0U, 50);
	rearms(70, ~0U, 50);
	rearms(70, 40, 40);
	rq[READ].op = REQ_OP_WRITE;
	rearms(30, ~0U, 50);
	rq[READ].pdu.durable = true;
	rearms(30, ~0U, 1000);
	rq[READ].pdu.durable = false;
	rq[READ].cmd_flags = REQ_FUA;
	rearms(30, ~0U, 1000);
	rq[READ].op = REQ_OP_FLUSH;
	rq[READ].cmd_flags = 0;
	rq[READ].pdu.cmd = NULL;
	rearms(30, ~0U, 1000);
	/* Without a limit the request keeps the block layer's own time. */
	path.slow_tmo = 0;
	rearms(30, ~0U, 30);
	rq[READ].completed = true;
	path.slow_tmo = 7;
	rearms(30, ~0U, 30);
}

/* The time of a command that has waited begins when it is sent. */
static void test_begin(void **state)
{
	(void)state;
	rq[READ].timeout = 600;
	rq[READ].deadline = jiffies + 1;
	rdmablk_request_begin(&rq[READ].pdu.fence);
	assert_int_equal(rq[READ].deadline, jiffies + 600);
}

/* A write whose FLUSH waits for a tag waits for the daemon, too. */
static void test_is_command(void **state)
{
	struct rdmablk_cmd_tag cmd = { .tag = 3 };

	(void)state;
	assert_false(rdmablk_request_is_command(&rq[READ]));
	assert_false(rdmablk_request_is_command(&rq[WRITE]));
	assert_true(rdmablk_request_is_command(&rq[FLUSH]));
	rq[READ].pdu.cmd = &cmd;
	rq[WRITE].pdu.fua = true;
	assert_true(rdmablk_request_is_command(&rq[READ]));
	assert_true(rdmablk_request_is_command(&rq[WRITE]));
}

/* A request that is refused for good is counted, and leaves nothing to the next one of its tag. */
static void test_refuse(void **state)
{
	(void)state;
	rq[READ].pdu.held = true;
	rq[READ].pdu.begun = 5;
	assert_int_equal(rdmablk_request_refuse(&path, &rq[READ], BLK_STS_RESOURCE),
			 BLK_STS_RESOURCE);
	assert_true(rq[READ].pdu.held);
	assert_int_equal(counters.busy, 1);
	assert_int_equal(counters.errors, 0);
	assert_int_equal(rdmablk_request_refuse(&path, &rq[READ], BLK_STS_TRANSPORT),
			 BLK_STS_TRANSPORT);
	assert_false(rq[READ].pdu.held);
	assert_int_equal(rq[READ].pdu.begun, 0);
	assert_int_equal(counters.errors, 1);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hold),
		TEST(test_unflushed),
		TEST(test_fail),
		TEST(test_fail_fast),
		TEST(test_not_asked_to_fail_fast),
		TEST(test_requeue),
		TEST(test_completed_and_held),
		TEST(test_connections_that_do_not_last),
		TEST(test_held_already),
		TEST(test_counted_holds),
		TEST(test_rearm),
		TEST(test_begin),
		TEST(test_is_command),
		TEST(test_refuse),
	};

	return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
