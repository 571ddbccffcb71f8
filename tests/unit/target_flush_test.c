// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dirty granules: a FLUSH writes those that were noted before it began. Those that fail are
 * dirty again, and those noted during the FLUSH are not lost. The adapter is fake_verbs.h. The
 * store does its work when the test lets it. The test acts as the commands thread, one turn at a
 * time.
 *
 * Sources: target/session/cmdq.c target/staged/write_queue.c
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../target/base/loop.h"
#include "../../target/base/util.h"
#include "../../target/session/cmdq.h"
#include "fake_verbs.h"

#define GRANULE	4096U
#define SIZE	(100 * (uint64_t)GRANULE + 512)
#define GRANULES 101

static struct {
	struct cmdqs c;
	struct iothread_pool *pool;
	struct store store;
	struct device dev;
	struct fake_qp qp;
	uint32_t answers[64];
	unsigned int nr_answers;
	unsigned int reason;		/* the session must end */
	unsigned int stops, idles;	/* upcalls */
	sem_t begun, permit;
	unsigned int status;		/* of the next work item */
	char written[GRANULES + 1];	/* by the last FLUSH: "x"; others "." */
	unsigned int works;
	uint8_t generation;
} t;

static void answered(struct fake_qp *qp)
{
	for (unsigned int i = 0; i < qp->nr_answers; i++) {
		assert_true(t.nr_answers < ARRAY_SIZE(t.answers));
		t.answers[t.nr_answers++] = qp->answers[i].imm;
	}
	qp->nr_answers = 0;
}

static unsigned int fake_step(void)
{
	t.works++;
	sem_post(&t.begun);
	sem_wait(&t.permit);
	return t.status;
}

static unsigned int fake_work(struct store *store, struct store_work *w,
			      uint64_t offset, uint64_t bytes)
{
	(void)store;
	(void)w;
	(void)offset;
	(void)bytes;
	return fake_step();
}

static void fake_flush(struct store *store, struct store_works *works)
{
	struct store_work *w = TAILQ_FIRST(works);
	uint64_t first = 0, count = 0;

	(void)store;
	assert_null(TAILQ_NEXT(w, entry));	/* a session has one FLUSH at a time */
	if (w->dirty->nr == GRANULES) {
		memset(t.written, '.', GRANULES);
		while (bitmap_next(w->dirty, first + count, &first, &count))
			memset(t.written + first, 'x', count);
	}
	w->status = fake_step();
	if (!w->status)
		bitmap_clear(w->dirty, 0, GRANULES);
}

static const struct store_ops fake_ops = {
	.type = "fake", .work = fake_work, .flush = fake_flush,
};

static void failed(void *owner, unsigned int reason)
{
	assert_ptr_equal(owner, &t);
	t.reason = reason;
	lane_detach_all(&t.c.lanes);
}

static void stopped(void *owner)
{
	assert_ptr_equal(owner, &t);
	t.stops++;
}

static void idle(void *owner)
{
	assert_ptr_equal(owner, &t);
	assert_int_equal(t.stops, 1);
	t.idles++;
}

/* One turn of the lane's thread. Then the loop handles the notes that the thread has sent. */
static void turn(bool wait)
{
	struct iothread *thread = &t.pool->thread[0];

	staged_engine_turn(&thread->engine, wait && TAILQ_EMPTY(&thread->polled));
	lane_turn(thread);
	t.pool->inbox.source.ready(&t.pool->inbox.source);
}

static int make_pool(void)
{
	struct iothread *thread;

	t.pool = calloc(1, sizeof(*t.pool) + sizeof(*thread));
	if (!t.pool)
		return -1;
	thread = &t.pool->thread[0];
	t.pool->name = "unit";
	t.pool->nr = 1;
	thread->all = t.pool;
	TAILQ_INIT(&thread->polled);
	TAILQ_INIT(&thread->answering);
	return loop_inbox_open(&t.pool->inbox) ?:
	       staged_engine_init(&thread->engine, NULL, 0);
}

/* Runs in a worker thread, which waits for the thread of the lane. */
static void *open_run(void *ret)
{
	*(int *)ret = cmdq_open(&t.c, &t.dev, fake_pd(), 1);
	return NULL;
}

static int open_commands(void)
{
	int ret = -1, over = EBUSY;
	pthread_t worker;

	if (pthread_create(&worker, NULL, open_run, &ret))
		return -1;
	for (; over; over = pthread_tryjoin_np(worker, NULL))
		turn(false);
	return ret;
}

static int setup(void **state)
{
	struct lanes *l = &t.c.lanes;
	struct conn_setup setup;

	(void)state;
	memset(&t, 0, sizeof(t));
	sem_init(&t.begun, 0, 0);
	sem_init(&t.permit, 0, 0);
	t.dev.attr.max_cqe = FAKE_CQES;
	t.store.ops = &fake_ops;
	if (loop_init() || store_thread_start(&t.store) || make_pool())
		return -1;
	l->scope = (struct wire_scope){ .size = SIZE, .logical_block = 512,
		.writer = true, .granule = GRANULE, .max_ranges = 252,
		.ops = UINT32_MAX, .max_discard = SIZE, .max_zeroes = SIZE,
		.cmd_depth = CMDQ_DEPTH };
	l->threads = t.pool;
	l->owner = &t;
	l->failed = failed;
	l->stopped = stopped;
	l->idle = idle;
	t.c.store = &t.store;
	if (open_commands())
		return -1;
	lane_setup(l, 0, &setup);
	fake_qp_init(&t.qp, setup.cq);
	t.qp.sent = answered;
	lane_live(l);
	return lane_join(l, 0, &t.qp.qp);
}

/* Stops the session. After the next turn of the thread nothing may be posted. */
static void stop(void)
{
	lane_detach_all(&t.c.lanes);
	turn(true);
	assert_int_equal(t.stops, 1);
	t.qp.dead = true;
}

static void wait_idle(void)
{
	while (!t.idles)
		turn(true);
	assert_int_equal(t.idles, 1);
	assert_false(cmdq_busy(&t.c));
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)	/* for work items that a failed test has left */
		sem_post(&t.permit);
	lane_detach_all(&t.c.lanes);
	wait_idle();
	store_thread_stop(&t.store);
	if (lane_close_all(&t.c.lanes))
		return -1;
	cmdq_free(&t.c);
	staged_engine_exit(&t.pool->thread[0].engine);
	loop_inbox_ignore(&t.pool->inbox);
	loop_inbox_close(&t.pool->inbox);
	free(t.pool);
	loop_exit();
	return t.qp.late ? -1 : (int)fake_objects();
}

static void dirty(uint64_t offset, uint64_t bytes)
{
	struct {
		struct rdmablk_command cmd;
		struct rdmablk_range range;
	} msg = { .range = { htole64(offset), htole64(bytes) } };
	struct wire_data data = { .op = RDMABLK_OP_DIRTY, .trailer = sizeof(msg.range) };

	cmdq_note(&t.c, &msg, &data);
}

/* Handles received commands and completions of sends. */
static void handle(void)
{
	turn(true);
	while (!TAILQ_EMPTY(&t.pool->thread[0].polled))
		turn(false);
}

static struct rdmablk_command command(unsigned int op, unsigned int tag, size_t ranges)
{
	return (struct rdmablk_command){
		.hdr = {
			.type = htole16(RDMABLK_MSG_COMMAND),
			.length = htole16((uint16_t)(sizeof(struct rdmablk_command) + ranges)),
			.tag = htole16((uint16_t)tag),
			.generation = htole32(++t.generation),
		},
		.op = htole16((uint16_t)op),
	};
}

static void start(unsigned int op, unsigned int tag, uint64_t offset, uint64_t bytes)
{
	struct rdmablk_command cmd = command(op, tag, 0);

	cmd.offset = htole64(offset);
	cmd.bytes = htole64(bytes);
	assert_true(fake_send(&t.qp, &cmd, sizeof(cmd)));
	handle();
}

static void flush(unsigned int tag)
{
	start(RDMABLK_OP_FLUSH, tag, 0, 0);
}

/* Waits until the store thread has begun a work item. */
static void begun(void)
{
	sem_wait(&t.begun);
}

static void let(void)
{
	sem_post(&t.permit);
}

/* Waits until @nr answers in all have been posted. */
static void wait_answers(unsigned int nr)
{
	while (t.nr_answers < nr)
		turn(true);
	assert_int_equal(t.nr_answers, nr);
}

static void expect_written(uint64_t first, uint64_t count)
{
	char want[GRANULES + 1] = { 0 };

	memset(want, '.', GRANULES);
	memset(want + first, 'x', count);
	assert_string_equal(t.written, want);
}

static void expect_answer(unsigned int nr, unsigned int tag, unsigned int status)
{
	assert_int_equal(RDMABLK_IMM_TAG(t.answers[nr]), tag);
	assert_int_equal(RDMABLK_IMM_STATUS(t.answers[nr]), status);
}

static void a_flush_writes_what_was_noted_once(void **state)
{
	(void)state;
	dirty(3 * GRANULE, 4 * GRANULE);
	flush(1);
	begun();
	assert_int_equal(t.nr_answers, 0);
	let();
	wait_answers(1);
	expect_answer(0, 1, RDMABLK_OK);
	expect_written(3, 4);
	flush(1);
	let();
	wait_answers(2);
	expect_written(0, 0);
	assert_true(cmdq_clean(&t.c));
}

/* A DIRTY of the peer with two ranges */
static void ranges_of_a_command_are_noted(void **state)
{
	struct {
		struct rdmablk_command cmd;
		struct rdmablk_range range[2];
	} msg = { command(RDMABLK_OP_DIRTY, 6, sizeof(msg.range)), {
		{ htole64(4 * GRANULE), htole64(GRANULE) },
		{ htole64(5 * GRANULE), htole64(2 * GRANULE) } } };

	(void)state;
	assert_true(fake_send(&t.qp, &msg, sizeof(msg)));
	handle();
	assert_int_equal(t.nr_answers, 1);
	expect_answer(0, 6, RDMABLK_OK);
	flush(1);
	let();
	wait_answers(2);
	expect_written(4, 3);
}

/* A session that may only read has written nothing: its FLUSH does not reach the store. */
static void a_reader_has_nothing_to_flush(void **state)
{
	(void)state;
	t.c.lanes.scope.writer = false;
	flush(1);
	assert_int_equal(t.nr_answers, 1);
	expect_answer(0, 1, RDMABLK_OK);
	start(RDMABLK_OP_FLUSH, 2, GRANULE, GRANULE);
	assert_int_equal(t.nr_answers, 2);
	expect_answer(1, 2, RDMABLK_OK);
	assert_int_equal(t.works, 0);
	assert_int_equal(t.c.pending, 0);
}

/* The shutdown asks whether a FLUSH of a session is under way, or has just ended. */
static void a_flush_under_way_is_seen(void **state)
{
	int64_t before = loop_now();

	(void)state;
	assert_false(cmdq_flushes(&t.c, 0));
	flush(0);
	begun();
	assert_true(cmdq_flushes(&t.c, INT64_MAX));
	assert_int_equal(t.c.flushes, 1);
	let();
	wait_answers(1);
	assert_true(cmdq_flushes(&t.c, before));
	assert_false(cmdq_flushes(&t.c, loop_now() + 1));
}

static void what_is_noted_during_a_flush_is_for_the_next(void **state)
{
	(void)state;
	dirty(0, GRANULE);
	flush(1);
	begun();
	/* DIRTY of the same granule and of another one */
	dirty(0, 2 * GRANULE);
	let();
	wait_answers(1);
	expect_written(0, 1);
	assert_false(cmdq_clean(&t.c));
	flush(2);
	let();
	wait_answers(2);
	expect_written(0, 2);
	assert_true(cmdq_clean(&t.c));
}

static void what_failed_is_dirty_again(void **state)
{
	(void)state;
	dirty(5 * GRANULE, GRANULE);
	flush(1);
	begun();
	dirty(6 * GRANULE, GRANULE);
	t.status = RDMABLK_R_STORE_SPACE;
	let();
	wait_answers(1);
	expect_answer(0, 1, RDMABLK_R_STORE_SPACE);
	assert_false(cmdq_clean(&t.c));
	t.status = RDMABLK_OK;
	flush(1);
	let();
	wait_answers(2);
	expect_answer(1, 1, RDMABLK_OK);
	expect_written(5, 2);
}

/* So many granules that a failed FLUSH needs several turns to move them back */
#define LARGE		(3 * 4096ULL * 4096)

static void make_large(void)
{
	struct cmdqs *c = &t.c;

	bitmap_free(&c->dirty);
	bitmap_free(&c->flushing);
	c->lanes.scope.size = LARGE * GRANULE;
	assert_int_equal(bitmap_init(&c->dirty, LARGE), 0);
	assert_int_equal(bitmap_init(&c->flushing, LARGE), 0);
}

static bool is_noted(uint64_t granule)
{
	uint64_t first, count;

	return bitmap_next(&t.c.dirty, granule, &first, &count) && first == granule;
}

/*
 * A failed FLUSH is answered when all of its granules are dirty again. A FLUSH that comes
 * meanwhile waits, and granules noted meanwhile are not lost.
 */
static void many_that_failed_go_back_bit_by_bit(void **state)
{
	unsigned int looks = 0;

	(void)state;
	make_large();
	dirty(0, LARGE * GRANULE);
	flush(1);
	begun();
	t.status = RDMABLK_R_STORE_SPACE;
	let();
	while (!bitmap_any(&t.c.dirty))	/* until the first granules are back */
		turn(true);
	/* between two of these steps a FLUSH and a DIRTY come */
	for (; !t.nr_answers; looks++) {
		assert_true(bitmap_any(&t.c.flushing));
		assert_true(cmdq_flushes(&t.c, 0));
		assert_int_equal(t.c.flushes, 1);
		if (!looks) {
			flush(2);
			dirty((LARGE - 7) * GRANULE, GRANULE);
		} else {
			turn(true);
		}
	}
	assert_true(looks > 1);
	expect_answer(0, 1, RDMABLK_R_STORE_SPACE);
	/* the next FLUSH has all granules */
	begun();
	assert_false(bitmap_any(&t.c.dirty));
	let();
	wait_answers(2);
	expect_answer(1, 2, RDMABLK_R_STORE_SPACE);
	assert_true(is_noted(0) && is_noted(LARGE - 7) && is_noted(LARGE - 1));
}

static void an_end_waits_until_all_have_gone_back(void **state)
{
	(void)state;
	make_large();
	dirty(0, LARGE * GRANULE);
	flush(1);
	begun();
	t.status = RDMABLK_R_STORE_SPACE;
	let();
	while (!bitmap_any(&t.c.dirty))
		turn(true);
	stop();
	assert_true(cmdq_busy(&t.c));
	assert_int_equal(t.idles, 0);
	wait_idle();
	assert_false(bitmap_any(&t.c.flushing));
	assert_true(is_noted(0) && is_noted(LARGE - 1));
	assert_int_equal(t.nr_answers, 0);
}

static void flushes_that_come_meanwhile_are_answered_by_the_next(void **state)
{
	(void)state;
	flush(1);
	begun();
	dirty(7 * GRANULE, GRANULE);
	flush(2);
	flush(3);
	let();
	wait_answers(1);
	expect_answer(0, 1, RDMABLK_OK);
	begun();
	expect_written(7, 1);
	/* the second FLUSH has begun, so this one waits for a third */
	flush(4);
	let();
	wait_answers(3);
	expect_answer(1, 2, RDMABLK_OK);
	expect_answer(2, 3, RDMABLK_OK);
	let();
	wait_answers(4);
	expect_answer(3, 4, RDMABLK_OK);
	assert_int_equal(t.works, 3);
}

static void a_range_of_its_own_is_flushed(void **state)
{
	(void)state;
	start(RDMABLK_OP_FLUSH, 1, 10 * GRANULE + 512, GRANULE);
	let();
	wait_answers(1);
	expect_written(10, 2);
	start(RDMABLK_OP_FLUSH, 1, 100 * (uint64_t)GRANULE, 512);
	let();
	wait_answers(2);
	expect_written(100, 1);
}

static void a_range_does_not_fail_for_another(void **state)
{
	(void)state;
	dirty(5 * GRANULE, GRANULE);
	flush(1);
	t.status = RDMABLK_R_STORE_IO;
	let();
	wait_answers(1);
	t.status = RDMABLK_OK;
	start(RDMABLK_OP_FLUSH, 2, 20 * GRANULE, GRANULE);
	let();
	wait_answers(2);
	expect_answer(1, 2, RDMABLK_OK);
	expect_written(20, 1);
	/* the granule that failed is still dirty */
	assert_false(cmdq_clean(&t.c));
	flush(3);
	let();
	wait_answers(3);
	expect_written(5, 1);
}

static void ranges_and_all_take_turns(void **state)
{
	(void)state;
	flush(1);
	begun();
	start(RDMABLK_OP_FLUSH, 2, 20 * GRANULE, GRANULE);
	dirty(7 * GRANULE, GRANULE);
	flush(3);
	start(RDMABLK_OP_FLUSH, 4, 22 * GRANULE, GRANULE);
	let();
	wait_answers(1);
	begun();
	assert_int_equal(t.written[20], 'x');
	assert_int_equal(t.written[22], 'x');
	assert_int_equal(t.written[7], '.');
	/* its turn comes after that of tag 3, a FLUSH of everything that has waited longer */
	start(RDMABLK_OP_FLUSH, 5, 24 * GRANULE, GRANULE);
	let();
	wait_answers(3);
	expect_answer(1, 2, RDMABLK_OK);
	expect_answer(2, 4, RDMABLK_OK);
	begun();
	expect_written(7, 1);
	let();
	wait_answers(4);
	expect_answer(3, 3, RDMABLK_OK);
	let();
	wait_answers(5);
	expect_answer(4, 5, RDMABLK_OK);
	expect_written(24, 1);
	assert_true(cmdq_clean(&t.c));
}

/*
 * FLUSHes with a range share a turn only as long as their ranges together are no larger than the
 * export. So the thread does not note the same granules many times in one turn.
 */
static void a_turn_has_ranges_of_no_more_than_everything(void **state)
{
	(void)state;
	flush(1);
	begun();
	start(RDMABLK_OP_FLUSH, 2, 0, SIZE);
	start(RDMABLK_OP_FLUSH, 3, 0, SIZE);
	start(RDMABLK_OP_FLUSH, 4, 0, 60 * GRANULE);
	start(RDMABLK_OP_FLUSH, 5, 60 * GRANULE, 40 * (uint64_t)GRANULE + 512);
	start(RDMABLK_OP_FLUSH, 6, 10 * GRANULE, 512);
	start(RDMABLK_OP_FLUSH, 7, 10 * GRANULE, SIZE - 10 * GRANULE);
	/* a FLUSH of all that is noted; it came last, so its turn is the last */
	flush(0);
	let();
	wait_answers(1);
	for (unsigned int tag = 2; tag <= 3; tag++) {
		begun();
		expect_written(0, GRANULES);
		let();
		wait_answers(tag);
		expect_answer(tag - 1, tag, RDMABLK_OK);
	}
	begun();
	expect_written(0, GRANULES);
	let();
	wait_answers(5);
	expect_answer(3, 4, RDMABLK_OK);
	expect_answer(4, 5, RDMABLK_OK);
	begun();
	expect_written(10, GRANULES - 10);
	let();
	wait_answers(7);
	expect_answer(5, 6, RDMABLK_OK);
	expect_answer(6, 7, RDMABLK_OK);
	begun();
	expect_written(0, 0);
	let();
	wait_answers(8);
	expect_answer(7, 0, RDMABLK_OK);
	assert_int_equal(t.works, 6);
}

/* A FLUSH whose range has no room in this turn is not overtaken by a later one that would fit. */
static void ranges_keep_their_order(void **state)
{
	(void)state;
	flush(1);
	begun();
	start(RDMABLK_OP_FLUSH, 2, 0, 60 * GRANULE);
	start(RDMABLK_OP_FLUSH, 3, 0, 60 * GRANULE);
	start(RDMABLK_OP_FLUSH, 4, 70 * GRANULE, GRANULE);
	let();
	wait_answers(1);
	begun();
	expect_written(0, 60);
	let();
	wait_answers(2);
	expect_answer(1, 2, RDMABLK_OK);
	begun();
	assert_int_equal(t.written[0], 'x');
	assert_int_equal(t.written[70], 'x');
	let();
	wait_answers(4);
	expect_answer(2, 3, RDMABLK_OK);
	expect_answer(3, 4, RDMABLK_OK);
	assert_int_equal(t.works, 3);
}

static void overlapping_ranges_cost_no_more_than_everything(void **state)
{
	struct {
		struct rdmablk_command cmd;
		struct rdmablk_range range[3];
	} msg = { .range = { { htole64(GRANULE), htole64(50 * GRANULE) },
			     { htole64(GRANULE), htole64(50 * GRANULE) },
			     { htole64(GRANULE), htole64(50 * GRANULE) } } };
	struct wire_data data = { .op = RDMABLK_OP_DIRTY, .trailer = sizeof(msg.range) };

	(void)state;
	cmdq_note(&t.c, &msg, &data);
	flush(1);
	let();
	wait_answers(1);
	expect_written(0, GRANULES);
}

static void the_last_granule_is_not_whole(void **state)
{
	(void)state;
	dirty(100 * (uint64_t)GRANULE, 512);
	flush(1);
	let();
	wait_answers(1);
	expect_written(100, 1);
}

static void zeroes_do_not_wait_for_flushes_to_be_answered(void **state)
{
	(void)state;
	start(RDMABLK_OP_WRITE_ZEROES, 5, 0, GRANULE);
	begun();
	flush(1);
	let();
	wait_answers(1);
	expect_answer(0, 5, RDMABLK_OK);
	let();
	wait_answers(2);
	expect_answer(1, 1, RDMABLK_OK);
}

/* cmdq_gave_up(): whether more FLUSHes would not help a session that logs out with dirty data */
static void what_a_session_leaves_to_flush_is_known(void **state)
{
	(void)state;
	assert_false(cmdq_gave_up(&t.c));
	start(RDMABLK_OP_WRITE_ZEROES, 5, 0, GRANULE);
	begun();
	assert_true(cmdq_gave_up(&t.c));
	flush(1);
	let();
	wait_answers(1);
	assert_false(cmdq_gave_up(&t.c));
	let();
	wait_answers(2);
	assert_false(cmdq_gave_up(&t.c));
	t.status = RDMABLK_R_STORE_IO;
	flush(1);
	begun();
	assert_true(cmdq_gave_up(&t.c));
	let();
	wait_answers(3);
	assert_true(cmdq_gave_up(&t.c));
	t.status = RDMABLK_OK;
	flush(1);
	let();
	wait_answers(4);
	assert_false(cmdq_gave_up(&t.c));
}

static void a_session_that_ends_waits_for_what_has_begun(void **state)
{
	(void)state;
	dirty(GRANULE, GRANULE);
	flush(1);
	begun();
	flush(2);
	start(RDMABLK_OP_DISCARD, 3, 0, GRANULE);
	start(RDMABLK_OP_WRITE_ZEROES, 4, 0, GRANULE);
	stop();
	assert_true(cmdq_busy(&t.c));
	assert_int_equal(t.idles, 0);
	t.status = RDMABLK_R_STORE_IO;
	let();
	wait_idle();
	/* only the first FLUSH was done, no command was answered, and granules are still dirty */
	assert_int_equal(t.works, 1);
	assert_int_equal(t.nr_answers, 0);
	assert_false(cmdq_clean(&t.c));
}

static void a_flush_that_has_not_begun_is_dropped(void **state)
{
	(void)state;
	start(RDMABLK_OP_WRITE_ZEROES, 4, 0, GRANULE);
	begun();
	dirty(GRANULE, GRANULE);
	flush(1);
	stop();
	let();
	wait_idle();
	assert_int_equal(t.works, 1);
	assert_false(cmdq_clean(&t.c));
}

static void what_cannot_be_done_is_answered_at_once(void **state)
{
	(void)state;
	start(RDMABLK_OP_DISCARD, 2, 0, SIZE + 512);
	assert_int_equal(t.nr_answers, 1);
	expect_answer(0, 2, RDMABLK_R_RANGE);
	start(RDMABLK_OP_FENCE, 2, 0, 0);
	expect_answer(1, 2, RDMABLK_OK);
	assert_int_equal(RDMABLK_IMM_GENERATION(t.answers[1]), t.generation);
	assert_int_equal(t.works, 0);
}

static void a_tag_is_for_one_command_at_a_time(void **state)
{
	(void)state;
	start(RDMABLK_OP_WRITE_ZEROES, 5, 0, GRANULE);
	begun();
	start(RDMABLK_OP_FENCE, 6, 0, 0);
	assert_int_equal(t.reason, RDMABLK_OK);
	start(RDMABLK_OP_FENCE, 5, 0, 0);
	assert_int_equal(t.reason, RDMABLK_R_STATE);
	let();
	wait_idle();
	assert_int_equal(t.nr_answers, 1);
}

/* Handles a completion that reports @nr sends as done. */
static void sends_done(unsigned int nr)
{
	const struct ibv_wc wc = { .wr_id = WRITE_QUEUE_SEND | WRITE_QUEUE_WR(0, nr) };

	assert_int_equal(write_queue_completed(&t.c.lanes.queue->queue, &wc), RDMABLK_OK);
	lane_turn(&t.pool->thread[0]);
}

static void answers_wait_for_sends(void **state)
{
	const struct cmdq_slot *slot = t.c.lanes.queue->tags;
	unsigned int nr, told = 0;

	(void)state;
	/* the peer has seen each answer and uses the tag again; no send is known to be done */
	t.qp.hold = true;
	for (nr = 0; nr < 2 * CMDQ_DEPTH; nr++)
		start(RDMABLK_OP_FENCE, nr % CMDQ_DEPTH, 0, 0);
	assert_int_equal(t.nr_answers, nr);
	/* the completions to come cover all sends, or no answer could ever be sent again */
	for (unsigned int i = 0; i < t.qp.nr_unsaid; i++)
		told += t.qp.unsaid[i] & 0xffff;
	assert_int_equal(told, nr);
	start(RDMABLK_OP_FENCE, 3, 0, 0);
	start(RDMABLK_OP_FENCE, 5, 0, 0);
	assert_int_equal(t.nr_answers, nr);
	assert_true(slot[3].tag.busy && slot[5].tag.busy);
	sends_done(1);
	assert_int_equal(t.nr_answers, nr + 1);
	expect_answer(nr, 3, RDMABLK_OK);
	assert_false(slot[3].tag.busy);
	assert_true(slot[5].tag.busy);
	sends_done(3);
	assert_int_equal(t.nr_answers, nr + 2);
	expect_answer(nr + 1, 5, RDMABLK_OK);
	assert_int_equal(t.qp.nr_receives, CMDQ_DEPTH);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(a_flush_under_way_is_seen),
	TEST(a_flush_writes_what_was_noted_once),
	TEST(what_is_noted_during_a_flush_is_for_the_next),
	TEST(what_failed_is_dirty_again),
	TEST(many_that_failed_go_back_bit_by_bit),
	TEST(an_end_waits_until_all_have_gone_back),
	TEST(flushes_that_come_meanwhile_are_answered_by_the_next),
	TEST(ranges_of_a_command_are_noted),
	TEST(a_reader_has_nothing_to_flush),
	TEST(a_range_of_its_own_is_flushed),
	TEST(a_range_does_not_fail_for_another),
	TEST(ranges_and_all_take_turns),
	TEST(a_turn_has_ranges_of_no_more_than_everything),
	TEST(ranges_keep_their_order),
	TEST(overlapping_ranges_cost_no_more_than_everything),
	TEST(the_last_granule_is_not_whole),
	TEST(zeroes_do_not_wait_for_flushes_to_be_answered),
	TEST(what_a_session_leaves_to_flush_is_known),
	TEST(a_session_that_ends_waits_for_what_has_begun),
	TEST(a_flush_that_has_not_begun_is_dropped),
	TEST(what_cannot_be_done_is_answered_at_once),
	TEST(a_tag_is_for_one_command_at_a_time),
	TEST(answers_wait_for_sends),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
