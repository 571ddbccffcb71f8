// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store thread of an export does one thing at a time: FLUSHes first, long commands in
 * pieces, and background work when there is nothing else. It ends each work once, also one
 * that fails or is cancelled.
 *
 * The fake store does a piece when the test lets it: each call of its work() waits for a
 * permit, so that no order depends on time.
 *
 * Sources: target/store/store_thread.c
 */
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/util.h"
#include "../../target/store/store_thread.h"

#define PIECE	STORE_THREAD_PIECE
#define ENDLESS	60000

static struct {
	struct store store;
	sem_t permit;		/* a piece may be done */
	sem_t begun;		/* a piece is waiting for its permit */
	atomic_int inside;	/* threads in the store: one at most */
	atomic_int overlaps;
	atomic_int idle_steps;	/* left */
	atomic_int idles;	/* done */
	atomic_bool endless;	/* there are ENDLESS steps, each takes 1 ms */
	bool gate;		/* steps in the background wait for permits, too */
	char log[256];		/* what was done, a letter each */
	atomic_int fail;	/* status of the next piece */
	sem_t over;		/* a work is done */
} t;

static void enter(char what)
{
	size_t len = strlen(t.log);

	if (atomic_fetch_add(&t.inside, 1))
		atomic_fetch_add(&t.overlaps, 1);
	t.log[len] = what;
}

static unsigned int fake_work(struct store *store, struct store_work *w,
			      uint64_t offset, uint64_t bytes)
{
	assert_ptr_equal(store, &t.store);
	(void)w;
	enter((char)('0' + offset / PIECE % 10));
	assert_true(bytes && bytes <= PIECE);
	sem_post(&t.begun);
	sem_wait(&t.permit);
	atomic_fetch_sub(&t.inside, 1);
	return (unsigned int)atomic_exchange(&t.fail, 0);
}

/* Does all FLUSHes at once. Only the first gets the error that the test wants. */
static void fake_flush(struct store *store, struct store_works *works)
{
	struct store_work *w;

	assert_ptr_equal(store, &t.store);
	TAILQ_FOREACH(w, works, entry) {
		assert_int_equal(w->op, RDMABLK_OP_FLUSH);
		t.log[strlen(t.log)] = 'F';
	}
	enter('.');
	sem_post(&t.begun);
	sem_wait(&t.permit);
	atomic_fetch_sub(&t.inside, 1);
	TAILQ_FIRST(works)->status = (unsigned int)atomic_exchange(&t.fail, 0);
}

static bool fake_idle(struct store *store)
{
	bool more;

	assert_ptr_equal(store, &t.store);
	if (t.endless) {
		usleep(1000);
		return atomic_fetch_add(&t.idles, 1) < ENDLESS;
	}
	if (atomic_load(&t.idle_steps) <= 0)
		return false;
	more = atomic_fetch_sub(&t.idle_steps, 1) > 1;
	enter('i');
	if (t.gate) {
		sem_post(&t.begun);
		sem_wait(&t.permit);
	}
	atomic_fetch_sub(&t.inside, 1);
	atomic_fetch_add(&t.idles, 1);
	return more;
}

static const struct store_ops fake_ops = {
	.type = "fake",
	.work = fake_work,
	.flush = fake_flush,
	.idle = fake_idle,
};

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	sem_init(&t.permit, 0, 0);
	sem_init(&t.begun, 0, 0);
	sem_init(&t.over, 0, 0);
	t.store.ops = &fake_ops;
	return store_thread_start(&t.store);
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)	/* whatever a failed test has left */
		sem_post(&t.permit);
	store_thread_stop(&t.store);
	assert_int_equal(t.overlaps, 0);
	return 0;
}

static void work_done(struct store_work *w)
{
	w->done = NULL;		/* once only */
	sem_post(&t.over);
}

static struct store_work work(uint16_t op, uint64_t offset, uint64_t bytes)
{
	return (struct store_work){ .op = op, .offset = offset, .bytes = bytes,
				    .done = work_done };
}

static void let(int pieces)
{
	while (pieces--)
		sem_post(&t.permit);
}

static void wait_done(int nr)
{
	while (nr--)
		sem_wait(&t.over);
}

static void a_flush_goes_before_the_rest(void **state)
{
	struct store_work zeroes = work(RDMABLK_OP_WRITE_ZEROES, 0, 3 * PIECE + 512);
	struct store_work discard = work(RDMABLK_OP_DISCARD, 5 * PIECE, PIECE);
	struct store_work flush = work(RDMABLK_OP_FLUSH, 0, 0);

	(void)state;
	store_thread_submit(t.store.thread, &zeroes);
	sem_wait(&t.begun);
	store_thread_submit(t.store.thread, &discard);
	store_thread_submit(t.store.thread, &flush);
	let(100);
	wait_done(3);
	/* the piece at hand, the FLUSH, then in order */
	assert_string_equal(t.log, "0F.1235");
	assert_int_equal(zeroes.status, RDMABLK_OK);
	assert_null(zeroes.done);
	assert_null(discard.done);
	assert_null(flush.done);
}

/* FLUSHes of several sessions: one is cancelled before they begin, and one later. */
static void flushes_that_wait_are_done_together(void **state)
{
	struct store_work zeroes = work(RDMABLK_OP_WRITE_ZEROES, 0, PIECE + 512);
	struct store_work flush[4];

	(void)state;
	store_thread_submit(t.store.thread, &zeroes);
	sem_wait(&t.begun);
	for (int i = 0; i < 4; i++) {
		flush[i] = work(RDMABLK_OP_FLUSH, 0, 0);
		store_thread_submit(t.store.thread, &flush[i]);
	}
	store_thread_cancel(t.store.thread, &flush[1]);
	let(1);
	sem_wait(&t.begun);
	/* too late: the fdatasync is under way, and this FLUSH ends with the others */
	store_thread_cancel(t.store.thread, &flush[2]);
	atomic_store(&t.fail, RDMABLK_R_STORE_IO);
	let(100);
	wait_done(5);
	assert_string_equal(t.log, "0FFF.1");
	assert_int_equal(flush[0].status, RDMABLK_R_STORE_IO);
	assert_int_equal(flush[3].status, RDMABLK_OK);
	for (int i = 0; i < 4; i++)
		assert_null(flush[i].done);
}

/* One client has many long works. The others need not wait for all of them. */
static void clients_take_turns(void **state)
{
	static const struct {
		unsigned int client;
		uint64_t piece, pieces;
	} of[] = {
		{ 0, 0, 2 }, { 0, 2, 2 }, { 0, 4, 2 }, { 0, 4, 1 }, { 0, 4, 1 },
		{ 1, 6, 3 }, { 2, 9, 1 }, { 1, 6, 1 },
	};
	struct store_client client[3] = { 0 };
	struct store_work works[ARRAY_SIZE(of)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		works[i] = work(RDMABLK_OP_WRITE_ZEROES, of[i].piece * PIECE,
				of[i].pieces * PIECE);
		works[i].client = &client[of[i].client];
		store_thread_submit(t.store.thread, &works[i]);
		if (!i)
			sem_wait(&t.begun);
	}
	store_thread_cancel(t.store.thread, &works[7]);
	store_thread_cancel(t.store.thread, &works[3]);
	let(100);
	wait_done(ARRAY_SIZE(of));
	assert_string_equal(t.log, "01692738454");
	for (size_t i = 0; i < ARRAY_SIZE(client); i++)
		assert_false(client[i].waits);
}

static void an_error_ends_a_command_at_its_piece(void **state)
{
	struct store_work zeroes = work(RDMABLK_OP_WRITE_ZEROES, 0, 3 * PIECE);

	(void)state;
	t.fail = RDMABLK_R_STORE_IO;
	let(100);
	store_thread_submit(t.store.thread, &zeroes);
	wait_done(1);
	assert_string_equal(t.log, "0");
	assert_int_equal(zeroes.status, RDMABLK_R_STORE_IO);
}

static void what_is_cancelled_before_it_begins_is_not_done(void **state)
{
	struct store_work zeroes = work(RDMABLK_OP_WRITE_ZEROES, 0, PIECE);
	struct store_work discard = work(RDMABLK_OP_DISCARD, 5 * PIECE, PIECE);
	struct store_work flush = work(RDMABLK_OP_FLUSH, 0, 0);

	(void)state;
	store_thread_submit(t.store.thread, &zeroes);
	sem_wait(&t.begun);
	store_thread_submit(t.store.thread, &discard);
	store_thread_submit(t.store.thread, &flush);
	store_thread_cancel(t.store.thread, &flush);
	store_thread_cancel(t.store.thread, &discard);
	/* their end does not wait for the piece at hand */
	wait_done(2);
	assert_null(flush.done);
	assert_null(discard.done);
	assert_non_null(zeroes.done);
	let(100);
	store_thread_stop(&t.store);
	assert_string_equal(t.log, "0");
}

static void what_is_cancelled_ends_after_its_piece(void **state)
{
	struct store_work zeroes = work(RDMABLK_OP_WRITE_ZEROES, 0, 9 * PIECE);

	(void)state;
	store_thread_submit(t.store.thread, &zeroes);
	sem_wait(&t.begun);
	let(1);
	sem_wait(&t.begun);
	store_thread_cancel(t.store.thread, &zeroes);
	/* cancelled, but not over: its piece is being done */
	assert_non_null(zeroes.done);
	let(100);
	wait_done(1);
	assert_string_equal(t.log, "01");
}

static void the_background_waits_for_commands(void **state)
{
	struct store_work zeroes = work(RDMABLK_OP_WRITE_ZEROES, 0, 3 * PIECE);

	(void)state;
	store_thread_submit(t.store.thread, &zeroes);
	sem_wait(&t.begun);
	atomic_store(&t.idle_steps, 4);
	store_thread_wake(t.store.thread);
	let(100);
	wait_done(1);
	while (atomic_load(&t.idles) < 4)
		sched_yield();
	store_thread_stop(&t.store);
	assert_string_equal(t.log, "012iiii");
}

/* Other files may cause background work for ever. The close of the store does what is left. */
static void the_end_does_not_wait_for_the_background(void **state)
{
	struct store_work zeroes = work(RDMABLK_OP_WRITE_ZEROES, 0, 3 * PIECE);

	(void)state;
	t.endless = true;
	store_thread_wake(t.store.thread);
	while (!atomic_load(&t.idles))
		sched_yield();
	store_thread_submit(t.store.thread, &zeroes);
	let(100);
	store_thread_stop(&t.store);
	assert_in_range(atomic_load(&t.idles), 1, ENDLESS - 1);
	assert_null(zeroes.done);
}

static void waking_begins_the_background_again(void **state)
{
	(void)state;
	for (int round = 1; round <= 3; round++) {
		atomic_store(&t.idle_steps, 2);
		store_thread_wake(t.store.thread);
		while (atomic_load(&t.idles) < 2 * round)
			sched_yield();
	}
	store_thread_stop(&t.store);
	assert_string_equal(t.log, "iiiiii");
}

static void waking_amidst_the_background_is_not_lost(void **state)
{
	(void)state;
	t.gate = true;
	atomic_store(&t.idle_steps, 1);
	store_thread_wake(t.store.thread);
	sem_wait(&t.begun);
	/* the step under way will say that nothing is left, and cannot know of what comes now */
	store_thread_wake(t.store.thread);
	atomic_store(&t.idle_steps, 1);
	let(100);
	while (atomic_load(&t.idles) < 2)
		sched_yield();
	store_thread_stop(&t.store);
	assert_string_equal(t.log, "ii");
}

/* Nobody wakes the thread: it looks for background work by itself. */
static void the_background_is_looked_at_now_and_then(void **state)
{
	(void)state;
	for (int round = 1; round <= 3; round++) {
		int64_t until = monotonic_ms() + 60000;

		atomic_store(&t.idle_steps, 2);
		while (atomic_load(&t.idles) < 2 * round && monotonic_ms() < until)
			sched_yield();
		assert_int_equal(atomic_load(&t.idles), 2 * round);
	}
	store_thread_stop(&t.store);
	assert_string_equal(t.log, "iiiiii");
}

static int setup_looking(void **state)
{
	store_thread_look_ms = 10;
	return setup(state);
}

static int teardown_looking(void **state)
{
	store_thread_look_ms = 60000;
	return teardown(state);
}

static void a_store_without_work_has_no_thread(void **state)
{
	static const struct store_ops none = { .type = "none" };
	struct store store = { .ops = &none };

	(void)state;
	assert_int_equal(store_thread_start(&store), 0);
	assert_null(store.thread);
	store_thread_stop(&store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(a_flush_goes_before_the_rest),
	TEST(flushes_that_wait_are_done_together),
	TEST(clients_take_turns),
	TEST(an_error_ends_a_command_at_its_piece),
	TEST(what_is_cancelled_before_it_begins_is_not_done),
	TEST(what_is_cancelled_ends_after_its_piece),
	TEST(the_background_waits_for_commands),
	TEST(the_end_does_not_wait_for_the_background),
	TEST(waking_begins_the_background_again),
	TEST(waking_amidst_the_background_is_not_lost),
	cmocka_unit_test_setup_teardown(the_background_is_looked_at_now_and_then, setup_looking,
					teardown_looking),
	cmocka_unit_test(a_store_without_work_has_no_thread),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
