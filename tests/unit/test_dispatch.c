// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/dispatch.c takes all that a request needs, or nothing; that a request
 * which comes while the connection is down is held, fails or is queued again, as the state of
 * the path demands; and that each request is sent once, in a batch or alone.
 */
#include <linux/kernel.h>

#include "request_fakes.h"
#include "unit.h"

#include "../../kernel/onesided_cmd.h"
#include "../../kernel/poll.h"
#include "../../kernel/request.h"
#include "../../kernel/staged.h"

/* The block layer, and what dispatch.c calls */
#define RDMABLK_COMPAT_H
#define RDMABLK_ONESIDED_H
#define RDMABLK_TRACE_H
#define BLK_STS_TRANSPORT	4
#define BLK_STS_RESOURCE	9
#define REQ_FUA			(1u << 8)
#define REQ_POLLED		(1u << 24)
#define READ			0
#define WRITE			1
#define MQ_RQ_IN_FLIGHT		1
#define noinline
#define __force
#define this_cpu_inc(what)	((void)(what)++)
#define trace_rdmablk_queue_enabled()	false
#define trace_rdmablk_queue(...)	((void)0)
#define RDMABLK_TRACE_COMMAND	1
#define RDMABLK_TRACE_AGAIN	2
#define rdmablk_compat_enter(rq)	((rq)->entered = true)
#define RDMABLK_QUEUE_RQS(name, fn)	\
	static void name(struct rq_list *list) { fn(list); }

enum { REQ_OP_READ, REQ_OP_WRITE, REQ_OP_FLUSH, REQ_OP_DISCARD };

enum blk_eh_timer_return { BLK_EH_DONE, BLK_EH_RESET_TIMER };

enum { HCTX_TYPE_DEFAULT, HCTX_TYPE_READ, HCTX_TYPE_POLL, HCTX_MAX_TYPES };

struct io_comp_batch;

struct request_queue {
	void *queuedata;
};

struct blk_mq_hw_ctx {
	struct request_queue *queue;
	void *driver_data;
	unsigned int queue_num;
};

enum state { NEW, STARTED, SENT, LISTED, QUEUED, STAGED, ENDED };

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	struct request *rq_next;
	int op, tag;
	unsigned int cmd_flags, bytes;
	enum state state;
	bool mapped, entered, idle;
	unsigned long deadline;
	struct rdmablk_request pdu;
};

struct rq_list {
	struct request *head, *tail;
};

struct blk_mq_queue_data {
	struct request *rq;
	bool last;
};

struct blk_mq_queue_map {
	unsigned int nr_queues, queue_offset;
	bool mapped;
};

struct blk_mq_tag_set {
	void *driver_data;
	unsigned int nr_hw_queues, nr_maps;
	struct blk_mq_queue_map map[HCTX_MAX_TYPES];
};

struct blk_mq_ops {
	blk_status_t (*queue_rq)(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd);
	void (*queue_rqs)(struct rq_list *list);
	void (*commit_rqs)(struct blk_mq_hw_ctx *hctx);
	void (*complete)(struct request *rq);
	void (*cleanup_rq)(struct request *rq);
	enum blk_eh_timer_return (*timeout)(struct request *rq);
	int (*poll)(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob);
	void (*map_queues)(struct blk_mq_tag_set *set);
	int (*init_hctx)(struct blk_mq_hw_ctx *hctx, void *data, unsigned int idx);
};

#define SLOTS		4
#define REQUESTS	4

static unsigned long jiffies = 1000;
#define time_before(a, b)	((long)((a) - (b)) < 0)

static struct rdmablk_path path;
static struct rdmablk_hwq hwqs[2];
static struct rdmablk_hwq *map[] = { &hwqs[0], &hwqs[1] };
static struct request_queue queue = { .queuedata = &path };
static struct blk_mq_hw_ctx hctx[2];
static struct request rq[REQUESTS];
static struct rdmablk_stats counters;
static struct rdmablk_cmd_tag tag;
static bool has_tag, fails_fast, polled_in_time;
static blk_status_t map_status, staged_status, refused;
static unsigned int commits[2], flush_ops, others, timeouts, watched;
static bool timed_out_command;

static int rq_data_dir(const struct request *of)
{
	return of->op & 1;
}

static unsigned int blk_rq_bytes(const struct request *of)
{
	return of->bytes;
}

/* From here on iterators over tags find the request. */
static void blk_mq_start_request(struct request *of)
{
	assert_int_equal(of->state, NEW);
	of->state = STARTED;
	assert_int_equal(of->pdu.held, !path.live);
	assert_false(of->pdu.posted);
}

static int blk_mq_rq_state(const struct request *of)
{
	return of->idle ? 0 : MQ_RQ_IN_FLIGHT;
}

static void blk_mq_map_queues(struct blk_mq_queue_map *of)
{
	of->mapped = true;
}

static struct request *rq_list_peek(const struct rq_list *list)
{
	return list->head;
}

static struct request *rq_list_pop(struct rq_list *list)
{
	struct request *first = list->head;

	if (first) {
		list->head = first->rq_next;
		first->rq_next = NULL;
	}
	return first;
}

static void rq_list_add_tail(struct rq_list *list, struct request *of)
{
	if (list->head)
		list->tail->rq_next = of;
	else
		list->head = of;
	list->tail = of;
}

static void rq_list_init(struct rq_list *list)
{
	list->head = NULL;
}

static void moves(struct request *of, enum state from, enum state to)
{
	assert_int_equal(of->state, from);
	of->state = to;
	assert_true(of->pdu.posted || to == QUEUED);
}

static blk_status_t rdmablk_onesided_map(struct rdmablk_path *on, struct rdmablk_hwq *hwq,
					 struct request *of)
{
	assert_true(on == &path && !of->mapped);
	assert_ptr_equal(hwq, *(struct rdmablk_hwq **)of->mq_hctx->driver_data);
	if (map_status)
		return map_status;
	of->mapped = true;
	of->pdu.nr_wr = 2;
	return BLK_STS_OK;
}

static void rdmablk_onesided_unmap(struct rdmablk_path *on, struct request *of)
{
	assert_ptr_equal(on, &path);
	of->mapped = false;
}

static void rdmablk_onesided_send(struct rdmablk_path *on, struct request *of, bool flush)
{
	(void)flush;
	assert_true(on == &path && of->mapped);
	moves(of, STARTED, SENT);
}

static void rdmablk_onesided_send_list(struct rdmablk_path *on, struct rdmablk_queue *q,
				       struct rq_list *list)
{
	struct request *of;

	assert_ptr_equal(on, &path);
	while ((of = rq_list_pop(list))) {
		assert_ptr_equal(of->pdu.queue, q);
		assert_true(of->entered);
		moves(of, STARTED, LISTED);
	}
}

void rdmablk_onesided_prepare_fua(struct rdmablk_hwq *hwq, struct request *of)
{
	(void)hwq;
	of->pdu.cmd = has_tag ? &tag : NULL;
	of->pdu.fua = !has_tag && of->cmd_flags & REQ_FUA;
	of->pdu.durable = has_tag || of->pdu.fua;
}

blk_status_t rdmablk_onesided_prepare_flush(struct rdmablk_path *on, struct rdmablk_request *req)
{
	(void)on;
	assert_null(req->cmd);
	flush_ops++;
	return BLK_STS_OK;
}

blk_status_t rdmablk_onesided_prepare_other(struct rdmablk_path *on, struct rdmablk_hwq *hwq,
					    struct request *of)
{
	(void)on;
	(void)hwq;
	(void)of;
	others++;
	return BLK_STS_OK;
}

blk_status_t rdmablk_staged_prepare(struct rdmablk_path *on, struct rdmablk_hwq *hwq,
				    struct request *of)
{
	(void)on;
	(void)hwq;
	if (!staged_status)
		of->pdu.cmd = has_tag ? &tag : NULL;
	return staged_status;
}

void rdmablk_staged_send(struct rdmablk_path *on, struct request *of, bool flush)
{
	(void)on;
	(void)flush;
	assert_ptr_equal(of->pdu.cmd, &tag);
	moves(of, STARTED, STAGED);
}

void rdmablk_fence_queue(struct rdmablk_fence *f, struct rdmablk_fence_op *op)
{
	assert_ptr_equal(f, &path.fence);
	moves(container_of(op, struct request, pdu.fence), STARTED, QUEUED);
}

void rdmablk_queue_commit(struct rdmablk_queue *q)
{
	commits[q == &hwqs[0].write || q == &hwqs[1].write]++;
}

void rdmablk_request_end(struct request *of, blk_status_t status)
{
	assert_int_equal(status, BLK_STS_OK);
	moves(of, STARTED, ENDED);
}

blk_status_t rdmablk_request_refuse(struct rdmablk_path *on, struct request *of,
				    blk_status_t why)
{
	assert_ptr_equal(on, &path);
	assert_int_equal(of->state, NEW);
	assert_false(of->mapped);
	refused = why;
	return why;
}

void rdmablk_request_complete(struct request *of)
{
	(void)of;
}

void rdmablk_request_cleanup(struct request *of)
{
	(void)of;
}

void rdmablk_request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	(void)cq;
	(void)wc;
}

bool rdmablk_request_is_command(struct request *of)
{
	return of->pdu.cmd;
}

bool rdmablk_request_fails_fast(const struct request *of)
{
	(void)of;
	return fails_fast;
}

void rdmablk_poll_request(struct rdmablk_hwq *hwq, struct request *of)
{
	(void)hwq;
	assert_int_equal(of->state, NEW);
	watched++;
}

int rdmablk_poll(struct rdmablk_hwq *hwq, struct io_comp_batch *iob)
{
	(void)iob;
	return (int)hwq->nr;
}

void rdmablk_poll_now(struct rdmablk_hwq *hwq)
{
	assert_ptr_equal(hwq, &hwqs[0]);
	rq[0].idle |= polled_in_time;
}

static void timed_out(struct rdmablk_path *on, bool command)
{
	assert_ptr_equal(on, &path);
	timeouts++;
	timed_out_command = command;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../kernel/dispatch.c"
#pragma GCC diagnostic warning "-Wunused-parameter"

static int setup(void **state)
{
	(void)state;
	memset(&path, 0, sizeof(path));
	memset(hwqs, 0, sizeof(hwqs));
	memset(rq, 0, sizeof(rq));
	memset(&counters, 0, sizeof(counters));
	memset(commits, 0, sizeof(commits));
	path.live = true;
	path.stats = &counters;
	path.hwq = map;
	path.map = map;
	path.timed_out = timed_out;
	for (u32 i = 0; i < 2; i++) {
		hwqs[i].path = &path;
		hwqs[i].nr = i;
		atomic_set(&hwqs[i].read.slots, SLOTS);
		atomic_set(&hwqs[i].write.slots, SLOTS);
		hctx[i].queue = &queue;
		assert_int_equal(rdmablk_dispatch_ops.init_hctx(&hctx[i], &path, i), 0);
	}
	for (int i = 0; i < REQUESTS; i++) {
		rq[i].q = &queue;
		rq[i].mq_hctx = &hctx[0];
		rq[i].bytes = 4096;
	}
	has_tag = true;
	fails_fast = false;
	polled_in_time = false;
	map_status = BLK_STS_OK;
	staged_status = BLK_STS_OK;
	refused = BLK_STS_OK;
	flush_ops = 0;
	others = 0;
	timeouts = 0;
	watched = 0;
	return 0;
}

static blk_status_t send_it(bool last)
{
	const struct blk_mq_queue_data bd = { .rq = &rq[0], .last = last };

	return rdmablk_dispatch_ops.queue_rq(&hctx[0], &bd);
}

static void slots_are(int reads, int writes)
{
	assert_int_equal(atomic_read(&hwqs[0].read.slots), reads);
	assert_int_equal(atomic_read(&hwqs[0].write.slots), writes);
}

/* rq[0] is refused for @why, and keeps nothing. */
static void is_refused(blk_status_t why)
{
	refused = BLK_STS_OK;
	assert_int_equal(send_it(true), why);
	assert_int_equal(refused, why);
	assert_int_equal(rq[0].state, NEW);
	slots_are(SLOTS, SLOTS);
}

/*
 * The connection is down
 */

static void test_down(void **state)
{
	(void)state;
	path.live = false;
	/* The teardown would not find a request that is held now. */
	is_refused(BLK_STS_RESOURCE);
	path.failing_fast = true;
	fails_fast = true;
	is_refused(BLK_STS_RESOURCE);
	path.holding = true;
	is_refused(BLK_STS_TRANSPORT);
	path.failing_fast = false;
	fails_fast = false;
	path.failing = true;
	is_refused(BLK_STS_TRANSPORT);
	path.holding = false;
	is_refused(BLK_STS_TRANSPORT);
}

/* A new request is held like those of the lost connection, and marked as not sent. */
static void test_hold_new(void **state)
{
	(void)state;
	path.live = false;
	path.holding = true;
	path.failing_fast = true;
	memset(&rq[0].pdu, 0xff, sizeof(rq[0].pdu));	/* left from the last use of the tag */
	rq[0].pdu.held = false;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(rq[0].state, STARTED);
	assert_true(rq[0].pdu.held && rq[0].pdu.unsent);
	assert_int_equal(rq[0].pdu.holds, 0);
	assert_null(rq[0].pdu.cmd);
	assert_int_equal(rq[0].pdu.nr_sge + rq[0].pdu.nr_wr, 0);
	assert_false(rq[0].pdu.watched || rq[0].pdu.posted || rq[0].pdu.durable);
	slots_are(SLOTS, SLOTS);
	assert_int_equal(commits[0] + commits[1], 0);
}

/* The request was sent before the outage: its count of broken connections stays. */
static void test_hold_again(void **state)
{
	(void)state;
	path.live = false;
	path.holding = true;
	rq[0].pdu.held = true;
	rq[0].pdu.holds = 2;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_true(rq[0].pdu.held);
	assert_false(rq[0].pdu.unsent);
	assert_int_equal(rq[0].pdu.holds, 2);
}

/* The next connection sends a held request, which counts as sent again. */
static void test_held_is_sent(void **state)
{
	for (int unsent = 0; unsent < 2; unsent++) {
		setup(state);
		rq[0].pdu.held = true;
		rq[0].pdu.unsent = unsent;
		rq[0].pdu.holds = 1;
		assert_int_equal(send_it(true), BLK_STS_OK);
		assert_int_equal(rq[0].state, SENT);
		assert_false(rq[0].pdu.held || rq[0].pdu.unsent);
		assert_int_equal(rq[0].pdu.holds, 1);
		assert_int_equal(counters.requeues, !unsent);
	}
	/* A new request does not inherit the count of a held one that had its tag. */
	setup(state);
	rq[0].pdu.holds = 2;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(rq[0].pdu.holds, 0);
	assert_int_equal(counters.requeues, 0);
}

/*
 * What a request needs
 */

static void test_read(void **state)
{
	(void)state;
	memset(&rq[0].pdu.attempt, 0xff, sizeof(rq[0].pdu.attempt));
	assert_int_equal(send_it(false), BLK_STS_OK);
	assert_int_equal(rq[0].state, SENT);
	assert_ptr_equal(rq[0].pdu.queue, &hwqs[0].read);
	assert_null(rq[0].pdu.cmd);
	assert_false(rq[0].pdu.durable || rq[0].pdu.more || rq[0].pdu.fua);
	slots_are(SLOTS - 2, SLOTS);
	assert_int_equal(commits[0] + commits[1], 0);
}

static void test_write(void **state)
{
	(void)state;
	rq[0].op = REQ_OP_WRITE;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_ptr_equal(rq[0].pdu.queue, &hwqs[0].write);
	slots_are(SLOTS, SLOTS - 2);
	/* The last request of a batch commits both queues. */
	assert_int_equal(commits[0], 1);
	assert_int_equal(commits[1], 1);
}

/* A stacked device may send a WRITE to a read-only disk. The target would end the session. */
static void test_read_only(void **state)
{
	(void)state;
	path.read_only = true;
	rq[0].op = REQ_OP_WRITE;
	is_refused(BLK_STS_IOERR);
	rq[0].op = REQ_OP_READ;
	assert_int_equal(send_it(true), BLK_STS_OK);
}

static void test_no_slots(void **state)
{
	(void)state;
	atomic_set(&hwqs[0].read.slots, 1);
	assert_int_equal(send_it(true), BLK_STS_RESOURCE);
	assert_int_equal(refused, BLK_STS_RESOURCE);
	assert_false(rq[0].mapped);
	slots_are(1, SLOTS);
	/* Earlier requests of the batch are committed, and do not wait for the next batch. */
	assert_int_equal(commits[0] + commits[1], 2);
	setup(state);
	map_status = BLK_STS_RESOURCE;
	is_refused(BLK_STS_RESOURCE);
}

/* A WRITE takes a slot for the READ behind it, too, or takes none at all. */
static void test_ordered(void **state)
{
	(void)state;
	path.ordered = true;
	path.more = true;
	rq[0].op = REQ_OP_WRITE;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_true(rq[0].pdu.more);
	assert_int_equal(rq[0].pdu.nr_wr, 3);
	slots_are(SLOTS, SLOTS - 3);
	setup(state);
	path.ordered = true;
	path.more = true;
	rq[0].op = REQ_OP_WRITE;
	atomic_set(&hwqs[0].write.slots, 2);
	assert_int_equal(send_it(true), BLK_STS_RESOURCE);
	assert_false(rq[0].mapped);
	slots_are(SLOTS, 2);
	/* A READ request needs no further READ. */
	rq[0].op = REQ_OP_READ;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_false(rq[0].pdu.more);
	slots_are(SLOTS - 2, 2);
}

/* The command that makes a WRITE durable proves that the WRITE has arrived: no READ follows. */
static void test_durable(void **state)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		setup(state);
		path.ordered = ordered;
		path.cache = true;
		path.more = true;
		rq[0].op = REQ_OP_WRITE;
		rq[0].cmd_flags = REQ_FUA;
		assert_int_equal(send_it(true), BLK_STS_OK);
		assert_true(rq[0].pdu.more && rq[0].pdu.durable);
		assert_int_equal(rq[0].pdu.nr_wr, 2);
		slots_are(SLOTS, SLOTS - 2);
	}
	/* Without a tag the FLUSH is sent later, so the WRITE must tell of its own completion. */
	setup(state);
	path.cache = true;
	path.more = true;
	has_tag = false;
	rq[0].op = REQ_OP_WRITE;
	rq[0].cmd_flags = REQ_FUA;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_false(rq[0].pdu.more);
	assert_true(rq[0].pdu.fua);
}

static void cached(int op)
{
	setup(NULL);
	path.cache = true;
	path.commands = true;
	path.more = true;
	path.ahead.flushed = true;
	rq[0].op = op;
}

/* A FLUSH is not sent if nothing has to be flushed. */
static void test_flush(void **state)
{
	(void)state;
	cached(REQ_OP_FLUSH);
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(rq[0].state, ENDED);
	cached(REQ_OP_FLUSH);
	path.unflushed = true;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(rq[0].state, QUEUED);
	assert_int_equal(others, 1);
	/* WRITEs before a FLUSH are counted, except durable ones. */
	cached(REQ_OP_WRITE);
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(path.ahead.recent, 1);
	rq[0] = (struct request){ .q = &queue, .mq_hctx = &hctx[0], .op = REQ_OP_FLUSH };
	path.unflushed = true;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(path.ahead.singles, 1);
	assert_int_equal(path.ahead.recent, 0);
	cached(REQ_OP_WRITE);
	rq[0].cmd_flags = REQ_FUA;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(path.ahead.recent, 0);
}

/* A command with a tag, one that waits for a tag, one that is refused, and a FLUSH */
static void test_staged(void **state)
{
	(void)state;
	path.staged = true;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(rq[0].state, STAGED);
	setup(state);
	path.staged = true;
	has_tag = false;
	rq[0].op = REQ_OP_DISCARD;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(rq[0].state, QUEUED);
	setup(state);
	path.staged = true;
	staged_status = BLK_STS_RESOURCE;
	is_refused(BLK_STS_RESOURCE);
	assert_int_equal(flush_ops, 0);
	rq[0].op = REQ_OP_FLUSH;
	assert_int_equal(send_it(true), BLK_STS_OK);
	assert_int_equal(flush_ops, 1);
	assert_int_equal(rq[0].state, QUEUED);
}

/* A request is watched if one of the two is polled, the request or its queue, and not both. */
static void test_polled(void **state)
{
	for (int i = 0; i < 4; i++) {
		setup(state);
		hwqs[0].polled = i & 1;
		rq[0].cmd_flags = i & 2 ? REQ_POLLED : 0;
		assert_int_equal(send_it(true), BLK_STS_OK);
		assert_int_equal(watched, (i & 1) != (i & 2) / 2);
	}
	assert_int_equal(rdmablk_dispatch_ops.poll(&hctx[1], NULL), 1);
}

/*
 * Batches
 */

static struct rq_list list_of(int n)
{
	struct rq_list list = { };

	for (int i = 0; i < n; i++)
		rq_list_add_tail(&list, &rq[i]);
	return list;
}

static void test_batch(void **state)
{
	struct rq_list list = list_of(REQUESTS);

	(void)state;
	rq[1].op = REQ_OP_WRITE;
	rq[2].op = REQ_OP_FLUSH;	/* stays in the list, to be queued alone */
	rq[3].op = REQ_OP_WRITE;
	rq[3].mq_hctx = &hctx[1];
	rdmablk_dispatch_ops.queue_rqs(&list);
	assert_ptr_equal(list.head, &rq[2]);
	assert_null(rq[2].rq_next);
	for (int i = 0; i < REQUESTS; i++)
		assert_int_equal(rq[i].state, i == 2 ? NEW : LISTED);
	slots_are(SLOTS - 2, SLOTS - 2);
	assert_int_equal(atomic_read(&hwqs[1].write.slots), SLOTS - 2);
}

/* Requests that find no slots stay in the list, in their order. */
static void test_batch_without_slots(void **state)
{
	struct rq_list list = list_of(REQUESTS);

	(void)state;
	rdmablk_dispatch_ops.queue_rqs(&list);
	assert_int_equal(rq[0].state, LISTED);
	assert_int_equal(rq[1].state, LISTED);
	assert_ptr_equal(list.head, &rq[2]);
	assert_ptr_equal(rq[2].rq_next, &rq[3]);
	assert_false(rq[2].mapped || rq[3].mapped);
	slots_are(0, SLOTS);
}

static void test_batch_of_one(void **state)
{
	struct rq_list list = list_of(1);

	(void)state;
	rdmablk_dispatch_ops.queue_rqs(&list);
	assert_null(list.head);
	assert_int_equal(rq[0].state, SENT);
	assert_true(rq[0].entered);
	setup(state);
	list = list_of(1);
	map_status = BLK_STS_IOERR;
	rdmablk_dispatch_ops.queue_rqs(&list);
	assert_ptr_equal(list.head, &rq[0]);
	assert_int_equal(rq[0].state, NEW);
}

/* The block layer queues commands, and requests to hold, one by one. */
static void test_no_batch(void **state)
{
	for (int down = 0; down < 2; down++) {
		struct rq_list list;

		setup(state);
		list = list_of(2);
		path.live = !down;
		path.staged = !down;
		rdmablk_dispatch_ops.queue_rqs(&list);
		assert_ptr_equal(list.head, &rq[0]);
		assert_ptr_equal(rq[0].rq_next, &rq[1]);
		assert_int_equal(rq[0].state + rq[1].state, 2 * NEW);
	}
}

/*
 * Timeouts
 */

static void test_timeout(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_RESET_TIMER);
	assert_int_equal(timeouts, 1);
	assert_false(timed_out_command);
	rq[0].pdu.cmd = &tag;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_RESET_TIMER);
	assert_int_equal(timeouts, 2);
	assert_true(timed_out_command);
}

/* On a polled queue the request may have ended unseen: its timeout breaks no connection. */
static void test_timeout_of_what_has_ended(void **state)
{
	(void)state;
	polled_in_time = true;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_DONE);
	assert_int_equal(timeouts, 0);
}

/* A held request waits for the next connection, so its timeout breaks none. */
static void test_timeout_of_what_is_held(void **state)
{
	(void)state;
	rq[0].pdu.held = true;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_RESET_TIMER);
	rq[0].pdu.held = false;
	path.live = false;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_RESET_TIMER);
	assert_int_equal(timeouts, 0);
}

/* A command that waits for a tag was not sent: the target has not had the time yet. */
static void test_timeout_of_what_waits_for_a_tag(void **state)
{
	(void)state;
	rq[0].pdu.fence.waits = true;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_RESET_TIMER);
	assert_int_equal(timeouts, 0);
	rq[0].pdu.fence.waits = false;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_RESET_TIMER);
	assert_int_equal(timeouts, 1);
}

/* The timer has found an older deadline: the request was sent meanwhile, again or at last. */
static void test_timeout_of_what_was_sent_meanwhile(void **state)
{
	(void)state;
	rq[0].deadline = jiffies + 1;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_RESET_TIMER);
	assert_int_equal(timeouts, 0);
	rq[0].deadline = jiffies;
	assert_int_equal(rdmablk_dispatch_ops.timeout(&rq[0]), BLK_EH_RESET_TIMER);
	assert_int_equal(timeouts, 1);
	rq[0].deadline = 0;
}

static void test_map_queues(void **state)
{
	struct blk_mq_tag_set set = { .driver_data = &path, .nr_hw_queues = 6, .nr_maps = 3 };

	(void)state;
	path.nr_poll = 2;
	rdmablk_dispatch_ops.map_queues(&set);
	assert_int_equal(set.map[HCTX_TYPE_DEFAULT].nr_queues, 4);
	assert_int_equal(set.map[HCTX_TYPE_POLL].nr_queues, 2);
	assert_int_equal(set.map[HCTX_TYPE_POLL].queue_offset, 4);
	assert_true(set.map[HCTX_TYPE_DEFAULT].mapped && set.map[HCTX_TYPE_POLL].mapped);
	assert_int_equal(set.map[HCTX_TYPE_READ].nr_queues, 0);
	/* A tag set without a map for polling */
	set = (struct blk_mq_tag_set){ .driver_data = &path, .nr_hw_queues = 6, .nr_maps = 1 };
	rdmablk_dispatch_ops.map_queues(&set);
	assert_int_equal(set.map[HCTX_TYPE_DEFAULT].nr_queues, 6);
	assert_false(set.map[HCTX_TYPE_POLL].mapped);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_down),
		TEST(test_hold_new),
		TEST(test_hold_again),
		TEST(test_held_is_sent),
		TEST(test_read),
		TEST(test_write),
		TEST(test_read_only),
		TEST(test_no_slots),
		TEST(test_ordered),
		TEST(test_durable),
		TEST(test_flush),
		TEST(test_staged),
		TEST(test_polled),
		TEST(test_batch),
		TEST(test_batch_without_slots),
		TEST(test_batch_of_one),
		TEST(test_no_batch),
		TEST(test_timeout),
		TEST(test_timeout_of_what_has_ended),
		TEST(test_timeout_of_what_waits_for_a_tag),
		TEST(test_timeout_of_what_was_sent_meanwhile),
		TEST(test_timeout_of_what_is_held),
		TEST(test_map_queues),
	};

	return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
