// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes with FUA to a file without a cache, and the FLUSHes beside them: an error of the
 * one is an error of the other when it may be, and nobody is told before that is known.
 *
 * Sources: target/staged/staged_io.c
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "target_staged.h"

#define STREAM	16U	/* writes; one is always under way */

/* What a write that should have been durable does to the rest. */
static void fua_tells_whose_fault(void **state)
{
	(void)state;
	place_open(dir, 1U << 20, 512, true);
	if (place.file.direct) {
		/* the write itself: tried without, fails again, as no sync does */
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -EINVAL, 2),
				 RDMABLK_R_STORE_IO);
		assert_int_equal(readies, 2);
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -ENOSPC, 2),
				 RDMABLK_R_STORE_SPACE);
		assert_int_equal(readies, 2);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
		/* the same, and now there is space: it is made durable by a sync */
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -ENOSPC, 1),
				 RDMABLK_OK);
		assert_int_equal(readies, 2);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
		/* the sync: without it, it is done */
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -EIO, 1),
				 RDMABLK_R_STORE_IO);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_FAILED);
	}
	place_close();
	place_open(dir, 1U << 20, 512, false);
	fake(&place.sf.sync, -EIO, 1);
	assert_int_equal(write_fua(0, BLOCK), RDMABLK_R_STORE_IO);
	assert_int_equal(readies, 1);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_FAILED);
	place_close();
}

/*
 * One that fails twice in the same way is a write that has failed, and nothing else is
 * lost. Otherwise the first may have been a sync: nothing but what makes durable fails
 * from then on.
 */
static void failed_twice(int first, int again, unsigned int want)
{
	struct command write = { .io.fua = true };

	place_open(dir, 1U << 20, 512, true);
	if (place.file.direct) {
		begin(&write, RDMABLK_OP_WRITE, 0, 0, BLOCK);
		fake(&write.io.src, first, 1);
		until_kept_back();
		keep_back = false;
		real_ready(&write.io.src, again, 0);
		assert_int_equal(end(&write), RDMABLK_R_STORE_IO);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), want);
		assert_int_equal(write_fua(0, BLOCK), want);
		assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
		assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
	}
	place_close();
}

static void twice_the_same_is_the_write(void **state)
{
	static const int errors[] = {
		EIO, ETIMEDOUT, ENOLINK, EREMOTEIO, ENODEV, ENODATA,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		failed_twice(-errors[i], -errors[i], RDMABLK_OK);
	failed_twice(-EIO, -EINVAL, RDMABLK_R_STORE_FAILED);
	failed_twice(-EIO, -ENODEV, RDMABLK_R_STORE_FAILED);
	failed_twice(-EINVAL, -EIO, RDMABLK_OK);
	failed_twice(-EINVAL, -EINVAL, RDMABLK_OK);
}

/*
 * A disk that has a cache flushed behind such a write, or a file: one error for both would
 * not say whose it is. The write is told its own, once, and nobody else is told.
 */
static void a_bad_sector_is_no_lost_cache(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		place_open(dir, 1U << 20, 512, direct);
		place.file.fua = false;
		assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -EIO, 1),
				 RDMABLK_R_STORE_IO);
		assert_int_equal(readies, 1);
		assert_false(place.sf.failed);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
		assert_int_equal(write_fua(BLOCK, BLOCK), RDMABLK_OK);
		place_close();
	}
}

/* Nor the other way round: the write is done, and the fdatasync behind it fails. */
static void a_lost_cache_is_no_bad_sector(void **state)
{
	struct command write = { .io.fua = true };

	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		place_open(dir, 1U << 20, 512, direct);
		place.file.fua = false;
		begin(&write, RDMABLK_OP_WRITE, 0, 0, BLOCK);
		assert_false(write.io.synced);
		fake(&place.sf.sync, -EIO, 1);
		assert_int_equal(end(&write), RDMABLK_R_STORE_IO);
		assert_int_equal(readies, 1);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_FAILED);
		place_close();
	}
}

/* The second try does nothing, for the file was cut: the first says more than that. */
static void a_cut_hides_no_failure(void **state)
{
	struct command write = { .io.fua = true };

	(void)state;
	place_open(dir, 1U << 20, 512, true);
	if (place.file.direct) {
		begin(&write, RDMABLK_OP_WRITE, 0, 0, BLOCK);
		fake(&write.io.src, -EIO, 1);
		until_kept_back();
		keep_back = false;
		assert_int_equal(ftruncate(place.file.fd, 0), 0);
		real_ready(&write.io.src, 0, 0);
		assert_int_equal(end(&write), RDMABLK_R_STORE_IO);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_FAILED);
	}
	place_close();
}

/*
 * A FLUSH between a write with FUA that has failed and the answer to whose fault it was
 * says nothing before that is known. @first: how it has failed; @again: what the second
 * try comes to
 */
static void flush_between(int first, int again, unsigned int want)
{
	struct command write = { .io.fua = true }, flush = { 0 };

	place_open(dir, 1U << 20, 512, true);
	if (place.file.direct) {
		begin(&write, RDMABLK_OP_WRITE, 0, 0, BLOCK);
		fake(&write.io.src, first, 1);
		until_kept_back();
		begin(&flush, RDMABLK_OP_FLUSH, 0, 0, 0);
		while (place.sf.syncing)
			staged_engine_turn(&place.engine, true);
		assert_false(flush.done);
		keep_back = false;
		real_ready(&write.io.src, again, 0);
		assert_int_equal(end(&write), RDMABLK_R_STORE_IO);
		assert_int_equal(end(&flush), want);
	}
	place_close();
}

static void no_flush_before_a_failure_is_known(void **state)
{
	(void)state;
	flush_between(-EIO, BLOCK, RDMABLK_R_STORE_FAILED);
	flush_between(-EIO, -ENODEV, RDMABLK_R_STORE_FAILED);
	flush_between(-EIO, -EIO, RDMABLK_OK);
	flush_between(-EINVAL, -EINVAL, RDMABLK_OK);
}

/* A part went through the page cache, the rest did not. */
static void fua_is_of_all_parts(void **state)
{
	struct command c = { .io.fua = true };

	(void)state;
	place_open(dir, 1U << 20, 512, true);
	if (!place.file.direct) {
		place_close();
		skip();
	}
	place.file.align = BLOCK;
	begin(&c, RDMABLK_OP_WRITE, BLOCK - 512, BLOCK - 512, BLOCK + 512);
	assert_false(c.io.synced);
	fake(&c.io.src, 512, 1);
	assert_false(c.done);
	while (readies < 2)
		staged_engine_turn(&place.engine, true);
	assert_true(c.io.synced);
	/* which is a flush */
	assert_false(c.done);
	assert_int_equal(end(&c), RDMABLK_OK);
	assert_int_equal(readies, 2);
	place_close();
}

/*
 * The outcome of a write with FUA is in the ring, unread, when an fdatasync has begun and
 * ended. A device tells an error of its cache once: it may be for both.
 */

/* Its completion is there, and stays unread until release(). */
static void keep(struct command *c)
{
	c->io.fua = true;
	begin(c, RDMABLK_OP_WRITE, 0, 0, BLOCK);
	assert_true(c->io.synced);
	fake(&c->io.src, 0, 0);
	until_kept_back();
	keep_back = false;
}

static void release(struct command *c, int res)
{
	c->io.src.ready = real_ready;
	real_ready(&c->io.src, res, 0);
}

static void sync_all(struct command *flush)
{
	begin(flush, RDMABLK_OP_FLUSH, 0, 0, 0);
	while (place.sf.syncing)
		staged_engine_turn(&place.engine, true);
}

static void unread(int res, unsigned int write_status, unsigned int flush_status)
{
	struct command write = { 0 }, flush = { 0 };

	keep(&write);
	sync_all(&flush);
	assert_false(flush.done);
	release(&write, res);
	assert_int_equal(end(&write), write_status);
	assert_int_equal(end(&flush), flush_status);
}

static bool place_open_direct(void)
{
	place_open(dir, 1U << 20, 512, true);
	if (place.file.direct)
		return true;
	place_close();
	return false;
}

static void no_flush_before_an_outcome_is_read(void **state)
{
	(void)state;
	if (!place_open_direct())
		skip();
	unread(BLOCK, RDMABLK_OK, RDMABLK_OK);
	/* the second try succeeds: it was not the write */
	unread(-EIO, RDMABLK_R_STORE_IO, RDMABLK_R_STORE_FAILED);
	place_close();
}

/* Those that begin after an fdatasync has ended are of no interest to its FLUSHes. */
static void no_flush_waits_for_what_comes_after(void **state)
{
	struct command w1 = { 0 }, w2 = { 0 }, w3 = { 0 };
	struct command f1 = { 0 }, f2 = { 0 }, f3 = { 0 };

	(void)state;
	if (!place_open_direct())
		skip();
	keep(&w1);
	sync_all(&f1);
	keep(&w2);
	/* by now there are two to wait for, and it is not the first that tells */
	sync_all(&f2);
	keep(&w3);
	assert_false(f1.done || f2.done);
	release(&w2, BLOCK);
	assert_false(f1.done || f2.done);
	release(&w1, BLOCK);
	assert_true(f1.done);
	assert_false(w1.done || w2.done);
	/* as old as w3 for all that is known */
	sync_all(&f3);
	assert_false(f3.done);
	release(&w3, BLOCK);
	assert_int_equal(end(&w1), RDMABLK_OK);
	assert_int_equal(end(&w2), RDMABLK_OK);
	assert_int_equal(end(&w3), RDMABLK_OK);
	assert_int_equal(end(&f2), RDMABLK_OK);
	assert_int_equal(end(&f3), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	place_close();
}

/* In its own memory, and not kept back: all that is under way ends but what is. */
static void write_beside(struct command *c)
{
	c->io.fua = true;
	begin(c, RDMABLK_OP_WRITE, BLOCK, BLOCK, BLOCK);
	assert_true(c->io.synced);
	while (c->io.counted)
		staged_engine_turn(&place.engine, true);
}

/* @res: of the one that is kept back while the other begins and ends well */
static void beside_a_write(int res, unsigned int want)
{
	struct command kept = { 0 }, beside = { 0 };

	keep(&kept);
	write_beside(&beside);
	assert_false(beside.done);
	release(&kept, res);
	assert_int_equal(end(&kept), res < 0 ? RDMABLK_R_STORE_IO : RDMABLK_OK);
	assert_int_equal(end(&beside), want);
}

/* A cache that is lost is lost for all, and one of those who wrote it out is told. */
static void no_write_before_an_outcome_is_read(void **state)
{
	(void)state;
	if (!place_open_direct())
		skip();
	beside_a_write(BLOCK, RDMABLK_OK);
	beside_a_write(-EIO, RDMABLK_R_STORE_FAILED);
	place_close();
}

/* The same, and it is an fdatasync that is told. */
static void beside_a_sync(int res, unsigned int want)
{
	struct command flush = { 0 }, beside = { 0 };

	if (!place_open_direct())
		skip();
	fake(&place.sf.sync, 0, 0);
	begin(&flush, RDMABLK_OP_FLUSH, 0, 0, 0);
	until_kept_back();
	write_beside(&beside);
	assert_false(flush.done || beside.done);
	keep_back = false;
	place.sf.sync.ready = real_ready;
	real_ready(&place.sf.sync, res, 0);
	assert_int_equal(end(&flush), want);
	assert_int_equal(end(&beside), want);
	assert_true(TAILQ_EMPTY(&place.sf.batch));
	place_close();
}

static void no_write_before_a_sync_has_ended(void **state)
{
	(void)state;
	beside_a_sync(0, RDMABLK_OK);
	beside_a_sync(-EIO, RDMABLK_R_STORE_IO);
}

/* One alone is done when it completes; in a stream that never pauses each is done. */
static void writes_wait_for_few(void **state)
{
	struct command c[STREAM] = { 0 };

	(void)state;
	if (!place_open_direct())
		skip();
	write_beside(&c[0]);
	assert_true(c[0].done);
	for (size_t i = 0; i < 2; i++)
		keep(&c[i]);
	for (size_t i = 2; i < ARRAY_SIZE(c); i++) {
		/* the oldest ends after the next has begun */
		keep(&c[i]);
		release(&c[i - 2], BLOCK);
		/* by now nothing is left of what was there with the one before */
		if (i >= 5)
			assert_true(c[i - 5].done);
	}
	release(&c[STREAM - 2], BLOCK);
	release(&c[STREAM - 1], BLOCK);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		assert_true(c[i].done);
		assert_int_equal(c[i].io.status, RDMABLK_OK);
	}
	place_close();
}

/* Nothing is answered before it is in the file, whatever changes it; and READs wait for none. */
static void through_the_cache(void **state)
{
	static const uint16_t ops[] = { RDMABLK_OP_WRITE, RDMABLK_OP_WRITE_ZEROES };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(ops); i++) {
		uint16_t op = ops[i / 2];

		place_open(dir, 1U << 20, 512, i & 1);
		place.file.fua = false;
		place.sf.through = true;
		assert_int_equal(run(op, 0, 0, BLOCK), RDMABLK_OK);
		assert_false(place.sf.unsynced);
		assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
		/* what cannot be made durable is not acknowledged, nor what comes later */
		fake(&place.sf.sync, -EIO, 1);
		assert_int_equal(run(op, 0, 0, BLOCK), RDMABLK_R_STORE_IO);
		assert_int_equal(readies, 1);
		for (size_t k = 0; k < ARRAY_SIZE(ops); k++)
			assert_int_equal(run(ops[k], 0, 0, BLOCK), RDMABLK_R_STORE_FAILED);
		assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
		place_close();
	}
	/* A command that has failed by itself is not made durable. */
	place_open(dir, 1U << 20, 512, false);
	place.sf.through = true;
	assert_int_equal(run_faked(RDMABLK_OP_WRITE, false, BLOCK, -EIO, 1), RDMABLK_R_STORE_IO);
	assert_false(place.sf.failed);
	place_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fua_tells_whose_fault),
		cmocka_unit_test(twice_the_same_is_the_write),
		cmocka_unit_test(a_bad_sector_is_no_lost_cache),
		cmocka_unit_test(a_lost_cache_is_no_bad_sector),
		cmocka_unit_test(a_cut_hides_no_failure),
		cmocka_unit_test(no_flush_before_a_failure_is_known),
		cmocka_unit_test(fua_is_of_all_parts),
		cmocka_unit_test(no_flush_before_an_outcome_is_read),
		cmocka_unit_test(no_flush_waits_for_what_comes_after),
		cmocka_unit_test(no_write_before_an_outcome_is_read),
		cmocka_unit_test(no_write_before_a_sync_has_ended),
		cmocka_unit_test(writes_wait_for_few),
		cmocka_unit_test(through_the_cache),
	};
	int failed;

	if (place_dir_make())
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_dir_remove();
	return failed;
}
