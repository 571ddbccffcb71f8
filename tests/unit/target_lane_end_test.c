// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of sessions of an uncached file, also of a file that hangs, and the memory that
 * such sessions get when they begin.
 *
 * Sources: target/staged/lane.c target/staged/staged_session.c target/staged/iothread.c
 */
#include "../../target/base/meminfo.h"
#include "target_lane.h"

/*
 * A staged write that has begun is finished before the session is idle, and its data is in
 * the file. Nobody waits for the hung file before that: the queue pairs and all other verbs
 * objects of the session can be destroyed.
 */
static void the_end_waits_for_what_has_begun(void **state)
{
	static char data[SLOT];
	struct store_counts counts = { 0 };
	int64_t until;

	(void)state;
	open_store(true);
	open_session(true);
	write_rules("write hang\n");
	pattern(data, SLOT, 77);
	for (uint16_t tag = 0; tag < 4; tag++) {
		memcpy(slot(1, tag), data, SLOT);
		send_command(1, tag, RDMABLK_OP_WRITE, 0, tag * SLOT, SLOT, NULL, 0);
	}
	/* a FLUSH that arrived after them is answered */
	send_command(1, 9, RDMABLK_OP_FLUSH, 0, 0, 0, NULL, 0);
	assert_int_equal(answer(1, 9, NULL, 0), RDMABLK_OK);
	stop_session();
	lane_counts(&session->lanes, &counts);
	assert_int_equal(counts.done[RDMABLK_OP_FLUSH - RDMABLK_OP_FENCE], 1);
	assert_int_equal(counts.done[RDMABLK_OP_WRITE - RDMABLK_OP_FENCE], 0);
	assert_int_equal(counts.bytes[RDMABLK_OP_WRITE - RDMABLK_OP_FENCE], 0);
	assert_int_equal(counts.begun, 5);
	until = now() + 300;
	while (now() < until) {
		assert_false(atomic_load(&idle));
		pause_1ms();
	}
	write_rules("");
	free_session();
	for (uint16_t tag = 0; tag < 4; tag++)
		in_file(data, tag * SLOT, SLOT);
	close_store();
}

static void a_hung_session_is_alone(void **state)
{
	struct staged *hung;

	(void)state;
	open_store(true);
	open_session(true);
	write_rules("write hang\n");
	send_command(1, 0, RDMABLK_OP_WRITE, 0, 0, SLOT, NULL, 0);
	send_command(1, 9, RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
	assert_int_equal(answer(1, 9, NULL, 0), RDMABLK_OK);
	stop_session();
	assert_false(atomic_load(&idle));
	hung = session;
	for (unsigned int round = 0; round < 20; round++) {
		/* a session that only reads, served by the same threads */
		open_session(false);
		assert_int_equal(command(2, RDMABLK_OP_READ, 0, 0, SLOT), RDMABLK_OK);
		close_session();
	}
	atomic_store(&idle, false);
	write_rules("");
	wait_for(&idle);
	store.ops->staged->free(hung);
	close_store();
}

/*
 * A thread that hangs takes no new session: opening one fails with ETIMEDOUT. When the
 * thread goes on, the session that failed stops and becomes idle.
 */
static struct hang {
	struct ring_note note;
	atomic_bool on;
} hang;

static void hang_run(struct ring_note *note)
{
	(void)note;
	while (atomic_load(&hang.on))
		pause_1ms();
}

static void a_thread_that_hangs_takes_no_session(void **state)
{
	const struct staged_ops *ops = store_none_ops.staged;
	struct iothread_pool *threads;

	(void)state;
	open_store(false);
	open_session(true);
	close_session();
	threads = ((struct store_none *)store.priv)->threads;
	atomic_store(&hang.on, true);
	hang.note.run = hang_run;
	ring_tell(&threads->thread[1].engine.ring, &hang.note);
	atomic_store(&stopped, false);
	atomic_store(&idle, false);
	session = NULL;
	assert_int_equal(ops->open(&store, &plan, &session), -ETIMEDOUT);
	assert_non_null(session);
	lane_detach_all(&session->lanes);
	assert_false(atomic_load(&stopped));
	atomic_store(&hang.on, false);
	wait_for(&idle);
	assert_int_equal(ops->close(session), 0);
	ops->free(session);
	assert_int_equal(fake_objects(), 0);
	close_store();
}

/* Sessions end under full load. The test fails if anything is posted after a session's stop. */
static void sessions_come_and_go(void **state)
{
	static char data[TRAILER];

	(void)state;
	open_store(false);
	for (unsigned int round = 0; round < 100; round++) {
		open_session(true);
		for (unsigned int n = 0; n < QUEUES * plan.cmd_depth; n++)
			send_command(n % QUEUES, (uint16_t)(n / QUEUES),
				     n & 1 ? RDMABLK_OP_WRITE : RDMABLK_OP_READ,
				     RDMABLK_IO_TRAILER, n * TRAILER, TRAILER, data,
				     n & 1 ? TRAILER : 0);
		if (round & 1)
			flushed();
		close_session();
	}
	open_session(true);
	close_all();
}

static void spin(long ns)
{
	struct timespec from, at;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		clock_gettime(CLOCK_MONOTONIC, &at);
	} while ((at.tv_sec - from.tv_sec) * 1000000000L + at.tv_nsec - from.tv_nsec < ns);
}

/*
 * One command arrives at a random moment while its session ends. The event of the channel
 * may be on its way to the ring when the thread asks the kernel to cancel the poll of the
 * channel. The kernel then refuses, and only a second request ends the poll. Without that
 * request the session never stops, and wait_for() fails the test.
 */
static void a_session_ends_at_any_moment_of_its_last_command(void **state)
{
	unsigned int seed = 1;

	(void)state;
	open_store(false);
	for (unsigned int round = 0; round < 2000; round++) {
		long ns = rand_r(&seed) % 40000;
		uint16_t op = round & 1 ? RDMABLK_OP_READ : RDMABLK_OP_FENCE;

		open_session(true);
		lane_detach_all(&session->lanes);
		spin(ns);
		send_command(round % QUEUES, 0, op, 0, 0, round & 1 ? SLOT : 0, NULL, 0);
		close_session();
	}
	close_store();
}

/* The channel of a device that is gone breaks. No other event may ever tell the daemon. */
static void a_channel_that_breaks_ends_its_session(void **state)
{
	(void)state;
	open_store(false);
	open_session(true);
	fake_break(session->lanes.lane[1].channel);
	assert_int_equal(wait_ended(), RDMABLK_R_CONNECTION);
	close_all();
}

static void another_session_begins(void)
{
	atomic_fetch_add(&((struct store_none *)store.priv)->threads->next, 1);
}

/* The threads differ even if another worker opens a session between two lanes of this one. */
static void each_lane_of_a_session_has_another_thread(void **state)
{
	(void)state;
	open_store(false);
	for (unsigned int round = 0; round < 3; round++) {
		fake_channel_made = another_session_begins;
		open_session(true);
		fake_channel_made = NULL;
		assert_int_equal(session->lanes.nr_lanes, 2);
		assert_ptr_not_equal(session->lanes.lane[0].thread, session->lanes.lane[1].thread);
		close_session();
	}
	close_store();
}

static void memory_is_planned(void **state)
{
	struct staged_plan p = { .max_mr_size = 1ULL << 40, .max_cqe = FAKE_CQES,
				 .queue_depth = 128, .nr_queues = 64 };

	(void)state;
	open_store(false);
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	/* fewer queues rather than shallow ones: each has 32 READs and WRITEs, 3 other commands */
	assert_int_equal(p.nr_queues, (64 << 20) / SLOT / 35);
	assert_int_equal(p.cmd_depth, 35);
	assert_int_equal(p.queue_depth, 32);
	assert_true(p.pinned >= (uint64_t)p.nr_queues * 35 * SLOT);
	/* a session that wants shallow queues gets all of them */
	p.nr_queues = 64;
	p.queue_depth = 8;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.nr_queues, 64);
	assert_int_equal(p.queue_depth, 8);
	/* two threads have a completion queue each */
	p.nr_queues = 2;
	p.queue_depth = 1000;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.cmd_depth, (64 << 20) / SLOT / 2);
	((struct store_none *)store.priv)->slot_memory = 1ULL << 40;
	p.nr_queues = 64;
	p.queue_depth = 1000;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.cmd_depth, FAKE_CQES / 32 / 3);
	((struct store_none *)store.priv)->slot_memory = 64ULL << 20;
	p.nr_queues = 256;
	p.queue_depth = 128;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.nr_queues, (64 << 20) / SLOT / 35);
	assert_int_equal(p.queue_depth, 32);
	((struct store_none *)store.priv)->slot_memory = 4 * SLOT;
	p.nr_queues = 8;
	p.queue_depth = 128;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.nr_queues, 1);
	assert_int_equal(p.queue_depth, 1);
	/* an adapter whose regions are too small for the slots of one queue */
	p.max_mr_size = 3 * SLOT;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_R_LIMIT_MEMORY);
	((struct store_none *)store.priv)->slot_memory = 64ULL << 20;
	open_session(true);
	close_all();
}

static int open_beside(uint64_t available, bool writer)
{
	struct staged_plan p = {
		.pd = fake_pd(), .max_mr_size = 1ULL << 40,
		.max_cqe = FAKE_CQES,
		.nr_queues = QUEUES, .logical_block = 512, .writer = writer, .size = SIZE,
		.queue_depth = depth, .owner = &plan, .failed = failed,
		.stopped = has_stopped, .idle = is_idle,
	};
	char name[128];
	FILE *file;

	snprintf(name, sizeof(name), "%s/proc/meminfo", dir);
	file = fopen(name, "w");
	assert_non_null(file);
	fprintf(file, "MemTotal: 0 kB\nMemAvailable: %llu kB\n",
		(unsigned long long)available >> 10);
	fclose(file);
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_true(p.pinned == plan.pinned);
	atomic_store(&stopped, false);
	atomic_store(&idle, false);
	return store.ops->staged->open(&store, &p, &session);
}

/*
 * Initiators decide how many sessions there are, but the host must not run out of memory. A
 * session is refused with E2BIG unless its memory is available, for a reader twice as much.
 */
static void no_session_without_memory(void **state)
{
	char name[128];

	(void)state;
	open_store(false);
	open_session(true);
	close_session();
	snprintf(name, sizeof(name), "%s/proc", dir);
	assert_int_equal(mkdir(name, 0700), 0);
	meminfo_root = dir;
	assert_int_equal(open_beside(plan.pinned - 1024, true), -E2BIG);
	assert_int_equal(open_beside(2 * plan.pinned - 1024, false), -E2BIG);
	assert_int_equal(fake_objects(), 0);
	assert_int_equal(open_beside(plan.pinned, true), 0);
	close_session();
	assert_int_equal(open_beside(2 * plan.pinned, false), 0);
	close_session();
	meminfo_root = "";
	snprintf(name, sizeof(name), "%s/proc/meminfo", dir);
	assert_int_equal(unlink(name), 0);
	snprintf(name, sizeof(name), "%s/proc", dir);
	assert_int_equal(rmdir(name), 0);
	close_store();
}

/* A store is not attached if its export is refused after the open, because of its UUID. */
static void a_store_ends_that_was_never_attached(void **state)
{
	(void)state;
	open_unattached_store(false);
	close_store();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_waits_for_what_has_begun),
		cmocka_unit_test(a_hung_session_is_alone),
		cmocka_unit_test(a_thread_that_hangs_takes_no_session),
		cmocka_unit_test(sessions_come_and_go),
		cmocka_unit_test(a_session_ends_at_any_moment_of_its_last_command),
		cmocka_unit_test(a_channel_that_breaks_ends_its_session),
		cmocka_unit_test(each_lane_of_a_session_has_another_thread),
		cmocka_unit_test(memory_is_planned),
		cmocka_unit_test(a_store_ends_that_was_never_attached),
		cmocka_unit_test(no_session_without_memory),
	};

	return lane_run(tests, ARRAY_SIZE(tests));
}
