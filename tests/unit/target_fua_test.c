// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes with FUA to an uncached file, and the FLUSHes beside them. If a write fails because of
 * a lost cache, the FLUSHes fail, too; if the write itself fails, they do not. No command is
 * answered before that is known.
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

/* Whether a failed write with FUA counts as a failed sync, which fails later FLUSHes */
static void fua_tells_whose_fault(void **state)
{
	(void)state;
	place_open(dir, 1U << 20, BLOCK, true);
	if (place.file.direct) {
		/* the write fails again without RWF_DSYNC, so the write itself has failed */
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -EINVAL, 2),
				 RDMABLK_R_STORE_IO);
		assert_int_equal(readies, 2);
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -ENOSPC, 2),
				 RDMABLK_R_STORE_SPACE);
		assert_int_equal(readies, 2);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
		/* the second try finds space; an fdatasync makes it durable */
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -ENOSPC, 1),
				 RDMABLK_OK);
		assert_int_equal(readies, 2);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
		/* the second try, without RWF_DSYNC, is good: the sync has failed */
		assert_int_equal(run_faked(RDMABLK_OP_WRITE, true, BLOCK, -EIO, 1),
				 RDMABLK_R_STORE_IO);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_FAILED);
	}
	place_close();
	place_open(dir, 1U << 20, BLOCK, false);
	fake(&place.sf.sync, -EIO, 1);
	assert_int_equal(write_fua(0, BLOCK), RDMABLK_R_STORE_IO);
	assert_int_equal(readies, 1);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_FAILED);
	place_close();
}

/*
 * If both tries fail in the same way, the write itself has failed, and nothing else is lost.
 * Otherwise the first failure may be that of a sync: from then on FLUSHes and writes with FUA
 * fail, other commands do not.
 */
static void failed_twice(int first, int again, unsigned int want)
{
	struct command write = { .io.fua = true };

	place_open(dir, 1U << 20, BLOCK, true);
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
 * Without FUA of the device a write and its sync are two requests, each with its own error. An
 * error of the write fails this command only, and is not tried again.
 */
static void a_bad_sector_is_no_lost_cache(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		place_open(dir, 1U << 20, BLOCK, direct);
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

/* If the write is done and the fdatasync behind it fails, that is a failed sync. */
static void a_lost_cache_is_no_bad_sector(void **state)
{
	struct command write = { .io.fua = true };

	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		place_open(dir, 1U << 20, BLOCK, direct);
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

/* The file was cut, so the second try proves nothing: the first failure counts as a failed sync. */
static void a_cut_hides_no_failure(void **state)
{
	struct command write = { .io.fua = true };

	(void)state;
	place_open(dir, 1U << 20, BLOCK, true);
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
 * A FLUSH that comes between the two tries of a write with FUA is answered after the second.
 * @first: result of the first try; @again: of the second; @want: status of the FLUSH
 */
static void flush_between(int first, int again, unsigned int want)
{
	struct command write = { .io.fua = true }, flush = { 0 };

	place_open(dir, 1U << 20, BLOCK, true);
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

/* A file that wants larger blocks than its export has gets all writes through the page cache. */
static void fua_of_buffered_writes(void **state)
{
	struct command c = { .io.fua = true };

	(void)state;
	place_open(dir, 1U << 20, 512, true);
	place.file.align = BLOCK;
	begin(&c, RDMABLK_OP_WRITE, 0, 0, BLOCK);
	assert_false(c.io.synced);
	/* an fdatasync makes the write durable, or does not */
	fake(&place.sf.sync, -EIO, 1);
	assert_int_equal(end(&c), RDMABLK_R_STORE_IO);
	assert_int_equal(readies, 1);
	place_close();
}

/*
 * The completion of a write with FUA is in the ring, unread, while an fdatasync begins and ends.
 * A device reports an error of its cache once, so the one in the ring may concern both.
 */

/* Begins a write with FUA whose completion stays unread until release(). */
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
	place_open(dir, 1U << 20, BLOCK, true);
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
	/* the second try succeeds, so the error was not one of the write itself */
	unread(-EIO, RDMABLK_R_STORE_IO, RDMABLK_R_STORE_FAILED);
	place_close();
}

/* A FLUSH does not wait for writes with FUA that begin after its fdatasync has ended. */
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
	/* f2 waits for w1 and w2; that w2 is done does not release f1 or f2 */
	sync_all(&f2);
	keep(&w3);
	assert_false(f1.done || f2.done);
	release(&w2, BLOCK);
	assert_false(f1.done || f2.done);
	release(&w1, BLOCK);
	assert_true(f1.done);
	assert_false(w1.done || w2.done);
	/* f3 has to wait for w3, too, which is in the ring already */
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

/* Begins a write with FUA in other memory, and waits until its completion was read. */
static void write_beside(struct command *c)
{
	c->io.fua = true;
	begin(c, RDMABLK_OP_WRITE, BLOCK, BLOCK, BLOCK);
	assert_true(c->io.synced);
	while (c->io.counted)
		staged_engine_turn(&place.engine, true);
}

/* @res: result of the write whose completion stays unread while another write is done */
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

/* A lost cache concerns all writes with FUA, but only one of them gets the error. */
static void no_write_before_an_outcome_is_read(void **state)
{
	(void)state;
	if (!place_open_direct())
		skip();
	beside_a_write(BLOCK, RDMABLK_OK);
	beside_a_write(-EIO, RDMABLK_R_STORE_FAILED);
	place_close();
}

/* As beside_a_write(), but an fdatasync gets the error. */
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

/* A write alone is answered at once. In a stream without a pause each write is answered, too. */
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
		/* the oldest write ends after the next one has begun */
		keep(&c[i]);
		release(&c[i - 2], BLOCK);
		/* all writes that were under way beside this one have ended */
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

/* With @through every change is durable in the file before its answer. READs do not wait. */
static void through_the_cache(void **state)
{
	static const uint16_t ops[] = { RDMABLK_OP_WRITE, RDMABLK_OP_WRITE_ZEROES };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(ops); i++) {
		uint16_t op = ops[i / 2];

		place_open(dir, 1U << 20, BLOCK, i & 1);
		place.file.fua = false;
		place.sf.through = true;
		assert_int_equal(run(op, 0, 0, BLOCK), RDMABLK_OK);
		assert_false(place.sf.unsynced);
		assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
		/* after a failed sync no change is acknowledged any more */
		fake(&place.sf.sync, -EIO, 1);
		assert_int_equal(run(op, 0, 0, BLOCK), RDMABLK_R_STORE_IO);
		assert_int_equal(readies, 1);
		for (size_t k = 0; k < ARRAY_SIZE(ops); k++)
			assert_int_equal(run(ops[k], 0, 0, BLOCK), RDMABLK_R_STORE_FAILED);
		assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
		place_close();
	}
	/* A failed write is not followed by a sync, and does not count as a failed one. */
	place_open(dir, 1U << 20, BLOCK, false);
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
		cmocka_unit_test(fua_of_buffered_writes),
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
