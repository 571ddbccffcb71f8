// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/poll.c finds completions where there are no interrupts. One task polls at
 * a time, and none before a connection is up or after it is stopped. A work polls as long as a
 * command or request is under way for which no task polls.
 */
#include <linux/kernel.h>

#include "request_fakes.h"
#include "unit.h"

#include "../../kernel/poll.h"
#include "../../kernel/request.h"

#define REQ_POLLED		(1u << 24)
#define spin_lock		spin_lock_bh
#define spin_unlock		spin_unlock_bh
#define spin_trylock(l)		((l)->held ? false : ((l)->held = true))
#define usleep_range(a, b)	unit_sleep(a, b)
#define bio_clear_polled(b)	((b)->polled = false)
#define __rq_for_each_bio(b, rq)	for ((b) = (rq)->bio; (b); (b) = (b)->next)

struct io_comp_batch {
	int none;
};

struct ib_cq {
	int entries;
};

struct blk_mq_hw_ctx {
	void *driver_data;
};

struct bio {
	struct bio *next;
	bool polled;
};

struct request {
	struct blk_mq_hw_ctx *mq_hctx;
	unsigned int cmd_flags;
	struct bio *bio;
	struct rdmablk_request pdu;
};

static struct rdmablk_path path;
static struct rdmablk_hwq hwq, other;
static struct rdmablk_hwq *hwqs[] = { &hwq, &other }, *driver_data = &hwq;
static struct blk_mq_hw_ctx hctx = { .driver_data = &driver_data };
static struct rdmablk_cmd_tag tags[8];
static struct ib_cq cq, other_cq;
static struct io_comp_batch batch, *wanted;
static unsigned int looks, slept;

static int ib_process_cq_direct(struct ib_cq *of, int budget)
{
	struct rdmablk_hwq *its = of == &cq ? &hwq : &other;
	int n = min(of->entries, budget);

	looks++;
	assert_true(its->poll_lock.held && its->poll_open);
	assert_ptr_equal(its->iob, wanted);
	/* A second task returns at once. */
	assert_int_equal(rdmablk_poll(its, NULL), 0);
	assert_ptr_equal(its->iob, wanted);
	of->entries -= n;
	return n;
}

static void unit_sleep(unsigned int least, unsigned int most)
{
	assert_false(hwq.poll_lock.held);
	assert_true(least > 0 && least < most);
	slept = least;
}

#include "../../kernel/poll.c"

static int setup(void **state)
{
	(void)state;
	memset(&hwq, 0, sizeof(hwq));
	memset(&other, 0, sizeof(other));
	memset(tags, 0, sizeof(tags));
	for (u16 i = 0; i < ARRAY_SIZE(tags); i++)
		tags[i].tag = i;
	hwq.path = &path;
	hwq.cq = &cq;
	hwq.polled = true;
	other.cq = &other_cq;
	cq.entries = 0;
	other_cq.entries = 0;
	for (int i = 0; i < 2; i++) {
		rdmablk_poll_init(hwqs[i]);
		rdmablk_poll_open(hwqs[i]);
	}
	wanted = NULL;
	looks = 0;
	slept = 0;
	return 0;
}

static void run_work(void)
{
	assert_true(hwq.poll_work.queued);
	hwq.poll_work.queued = false;
	slept = 0;
	hwq.poll_work.fn(&hwq.poll_work);
}

static void test_look(void **state)
{
	(void)state;
	cq.entries = 5;
	wanted = &batch;
	assert_int_equal(rdmablk_poll(&hwq, &batch), 5);
	assert_int_equal(looks, 1);
	/* A request that ends later has no batch. */
	assert_null(hwq.iob);
	assert_int_equal(rdmablk_poll(&hwq, &batch), 0);
	assert_false(hwq.poll_lock.held);
}

/* Nobody polls a closed queue: its completion queue may be gone. */
static void test_nobody_looks_when_it_is_closed(void **state)
{
	struct rdmablk_hwq fresh = { .cq = &cq };

	(void)state;
	rdmablk_poll_init(&fresh);
	assert_int_equal(rdmablk_poll(&fresh, NULL), 0);
	cq.entries = 5;
	atomic_set(&hwq.watched, 1);
	queue_work(NULL, &hwq.poll_work);
	rdmablk_poll_close(&hwq);
	assert_false(hwq.poll_work.queued);
	rdmablk_poll_close(&hwq);
	assert_int_equal(rdmablk_poll(&hwq, &batch), 0);
	rdmablk_poll_now(&hwq);
	queue_work(NULL, &hwq.poll_work);
	run_work();
	assert_false(hwq.poll_work.queued);
	assert_int_equal(looks, 0);
	assert_false(hwq.poll_lock.held);
}

/* A wait for the end of all requests polls until nothing is left. */
static void test_all(void **state)
{
	(void)state;
	cq.entries = 1000;
	other_cq.entries = 64;
	rdmablk_poll_all(hwqs, 2);
	assert_int_equal(cq.entries, 0);
	assert_int_equal(other_cq.entries, 0);
	/* A poll for a single request has a limit. */
	cq.entries = 1000;
	assert_in_range(rdmablk_poll(&hwq, NULL), 1, 64);
}

/* No task polls for the end of a command that belongs to no request. */
static void test_work_looks_for_commands_of_the_driver(void **state)
{
	(void)state;
	hwq.cmdq.cmd = tags;
	hwq.cmdq.depth = ARRAY_SIZE(tags);
	for (int tag = 0; tag < (int)ARRAY_SIZE(tags); tag++) {
		tags[tag].busy = true;
		queue_work(NULL, &hwq.poll_work);
		run_work();
		assert_int_equal(hwq.poll_work.queued, tag < RDMABLK_CMD_RESERVED);
		hwq.poll_work.queued = false;
		tags[tag].busy = false;
	}
}

static void test_session_without_commands(void **state)
{
	(void)state;
	queue_work(NULL, &hwq.poll_work);
	run_work();
	assert_int_equal(looks, 1);
	assert_false(hwq.poll_work.queued);
}

/* No task polls for the request; the pauses of the work grow up to 1 ms. */
static void test_watched(void **state)
{
	struct request rq = { .mq_hctx = &hctx, .cmd_flags = REQ_POLLED };
	unsigned int before = 0, first = 0;

	(void)state;
	rdmablk_poll_request(&hwq, &rq);
	assert_true(rq.pdu.watched);
	assert_true(rq.cmd_flags & REQ_POLLED);
	for (unsigned int i = 0; i < 20; i++) {
		run_work();
		assert_int_equal(looks, i + 1);
		assert_in_range(slept, max(before, 1U), 1000);
		first = first ?: slept;
		before = slept;
	}
	assert_int_equal(slept, 1000);
	rdmablk_poll_request_done(&rq);
	assert_false(rq.pdu.watched);
	run_work();
	assert_false(hwq.poll_work.queued);
	/* The next one begins with short pauses. */
	rdmablk_poll_request(&hwq, &rq);
	run_work();
	assert_int_equal(slept, first);
}

/* The work polls until the last watched request has ended. */
static void test_two_watched(void **state)
{
	struct request rq[2] = { { .mq_hctx = &hctx }, { .mq_hctx = &hctx } };

	(void)state;
	rdmablk_poll_request(&hwq, &rq[0]);
	rdmablk_poll_request(&hwq, &rq[1]);
	rdmablk_poll_request_done(&rq[1]);
	run_work();
	assert_true(hwq.poll_work.queued);
	rdmablk_poll_request_done(&rq[0]);
	run_work();
	assert_false(hwq.poll_work.queued);
}

/* The work does not poll for requests of a lost connection, which are held. */
static void test_next_connection(void **state)
{
	struct request rq = { .mq_hctx = &hctx };

	(void)state;
	rdmablk_poll_request(&hwq, &rq);
	run_work();
	rdmablk_poll_close(&hwq);
	rdmablk_poll_open(&hwq);
	queue_work(NULL, &hwq.poll_work);
	run_work();
	assert_int_equal(looks, 2);
	assert_false(hwq.poll_work.queued);
}

/* A queue with interrupts needs no polling; up to 6.1 the bio must not ask for it. */
static void test_queue_with_interrupts(void **state)
{
	struct bio second = { .polled = true }, first = { .next = &second, .polled = true };
	struct request rq = { .mq_hctx = &hctx, .cmd_flags = REQ_POLLED | 1, .bio = &first };

	(void)state;
	hwq.polled = false;
	rdmablk_poll_request(&hwq, &rq);
	assert_int_equal(rq.cmd_flags, 1);
	assert_false(first.polled || second.polled);
	assert_false(rq.pdu.watched || hwq.poll_work.queued);
	assert_int_equal(atomic_read(&hwq.watched), 0);
}

/* Only a command that belongs to no request wakes the work. */
static void test_watch(void **state)
{
	struct rdmablk_queue *q = &hwq.write;
	struct rdmablk_request req;

	(void)state;
	q->batch[0].wr.opcode = IB_WR_RDMA_WRITE;
	q->batch[0].wr.wr_cqe = &req.cqe;
	q->batch[1].wr.opcode = IB_WR_SEND;
	q->batch[1].wr.wr_cqe = &tags[RDMABLK_CMD_RESERVED].cqe;
	q->batch[2].wr.opcode = IB_WR_SEND;
	q->nr_batch = 2;
	rdmablk_poll_watch(q);
	assert_false(hwq.poll_work.queued);
	for (int tag = 0; tag < RDMABLK_CMD_RESERVED; tag++) {
		q->batch[2].wr.wr_cqe = &tags[tag].cqe;
		q->nr_batch = 2;
		rdmablk_poll_watch(q);
		assert_false(hwq.poll_work.queued);
		q->nr_batch = 3;
		rdmablk_poll_watch(q);
		assert_true(hwq.poll_work.queued);
		hwq.poll_work.queued = false;
	}
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_look),
		TEST(test_nobody_looks_when_it_is_closed),
		TEST(test_all),
		TEST(test_work_looks_for_commands_of_the_driver),
		TEST(test_session_without_commands),
		TEST(test_watched),
		TEST(test_two_watched),
		TEST(test_next_connection),
		TEST(test_queue_with_interrupts),
		TEST(test_watch),
	};

	return cmocka_run_group_tests_name("poll", tests, NULL, NULL);
}
