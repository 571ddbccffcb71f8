// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The I/O of an uncached file, with real files and a real io_uring. Errors and short transfers,
 * which no file makes on demand, are injected where completions arrive.
 *
 * Sources: target/staged/staged_io.c target/base/ring.c target/store/file.c
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "target_staged.h"

#define MANY		3000U		/* more than a ring takes at once */
#define THREADS		3U
#define ROUNDS		40
#define PATIENCE_S	60

/*
 * Reading and writing
 */

static void back_and_forth(uint32_t block, bool direct)
{
	place_open(dir, 4U << 20, block, direct);
	memset(place.memory, 0xee, 1U << 20);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 1U << 20, 1U << 20), RDMABLK_OK);
	for (size_t i = 0; i < 1U << 20; i++)
		if (place.memory[i])
			fail_msg("a hole has data at %zu", i);
	pattern(place.memory, 1U << 20, 7);
	for (uint64_t n = 1; n <= 64; n *= 2) {
		uint64_t at = (n * 3 + 1) * block, bytes = n * block;
		char *buf = place.memory + (8U << 20);

		assert_int_equal(run(RDMABLK_OP_WRITE, 0, at, bytes), RDMABLK_OK);
		memset(buf, 0, bytes);
		assert_int_equal(run(RDMABLK_OP_READ, 8U << 20, at, bytes), RDMABLK_OK);
		assert_memory_equal(buf, place.memory, bytes);
	}
	assert_int_equal(write_fua(0, block), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	place_close();
}

static void written_is_read(void **state)
{
	(void)state;
	back_and_forth(512, true);
	back_and_forth(4096, true);
	back_and_forth(512, false);
	back_and_forth(4096, false);
}

/* Return: whether the first block of the file is in the page cache */
static bool in_page_cache(void)
{
	unsigned char there = 0;
	void *map = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED,
			 place.file.buffered, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mincore(map, BLOCK, &there), 0);
	munmap(map, BLOCK);
	return there & 1;
}

/*
 * If data must not change while the disk reads it, the disk reads a copy. A peer that changes its
 * slot before the WRITE is answered does not change the copy, so a checksum of it stays right.
 */
static void a_disk_with_checksums_gets_a_copy(void **state)
{
	(void)state;
	place_open(dir, 4U << 20, BLOCK, true);
	if (!place.file.direct)
		skip();
	pattern(place.memory, BLOCK, 1);
	place.file.stable = false;
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	assert_false(in_page_cache());
	place.file.stable = true;
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	assert_true(in_page_cache());
	assert_int_equal(write_fua(0, BLOCK), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	/* a READ is direct, and finds what was written last */
	pattern(place.memory, BLOCK, 2);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_READ, 8U << 20, 0, BLOCK), RDMABLK_OK);
	assert_memory_equal(place.memory + (8U << 20), place.memory, BLOCK);
	place_close();
}

/*
 * If some writes to a page are direct and others are not, the kernel may report a lost write. So
 * the writes of an export whose blocks are smaller than those of direct I/O are all buffered.
 */
static void writes_are_not_mixed(void **state)
{
	(void)state;
	place_open(dir, 4U << 20, 512, true);
	if (!place.file.direct)
		skip();
	place.file.stable = false;
	place.file.align = BLOCK;
	pattern(place.memory, BLOCK, 1);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	assert_true(in_page_cache());
	/* a READ is direct where it can be, and finds what was written */
	assert_int_equal(run(RDMABLK_OP_READ, 8U << 20, 0, BLOCK), RDMABLK_OK);
	assert_memory_equal(place.memory + (8U << 20), place.memory, BLOCK);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	place_close();
}

static void more_than_a_ring_takes(void **state)
{
	struct command *c = calloc(MANY, sizeof(*c));
	char *want = malloc(BLOCK);

	(void)state;
	place_open(dir, MANY * BLOCK, BLOCK, true);
	for (unsigned int i = 0; i < MANY; i++)
		pattern(place.memory + i * BLOCK, BLOCK, i);
	/* each block somewhere else */
	for (unsigned int i = 0; i < MANY; i++)
		begin(&c[i], RDMABLK_OP_WRITE, i * BLOCK,
		      (uint64_t)(i * 1009 % MANY) * BLOCK, BLOCK);
	assert_false(TAILQ_EMPTY(&place.engine.backlog));
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(end(&c[i]), RDMABLK_OK);
	memset(place.memory, 0, MANY * BLOCK);
	for (unsigned int i = 0; i < MANY; i++)
		begin(&c[i], RDMABLK_OP_READ, i * BLOCK, i * BLOCK, BLOCK);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(end(&c[i]), RDMABLK_OK);
	for (unsigned int i = 0; i < MANY; i++) {
		pattern(want, BLOCK, i);
		assert_memory_equal(place.memory + i * 1009 % MANY * BLOCK, want, BLOCK);
	}
	place_close();
	free(want);
	free(c);
}

/*
 * Errors and short transfers
 */

static void short_transfers_go_on(void **state)
{
	(void)state;
	place_open(dir, 1U << 20, 512, true);
	pattern(place.memory, 16 * BLOCK, 3);
	assert_int_equal(run_faked(RDMABLK_OP_WRITE, false, 16 * BLOCK, BLOCK + 100, 5),
			 RDMABLK_OK);
	assert_int_equal(readies, 6);
	memset(place.memory, 0, 16 * BLOCK);
	assert_int_equal(run_faked(RDMABLK_OP_READ, false, 16 * BLOCK, 3 * BLOCK, 2),
			 RDMABLK_OK);
	assert_int_equal(readies, 3);
	pattern(place.memory + (1U << 20), 16 * BLOCK, 3);
	assert_memory_equal(place.memory, place.memory + (1U << 20), 16 * BLOCK);
	/* a transfer of less than a block is an error */
	assert_int_equal(run_faked(RDMABLK_OP_READ, false, 2 * BLOCK, 100, 1),
			 RDMABLK_R_STORE_IO);
	assert_int_equal(run_faked(RDMABLK_OP_WRITE, false, 2 * BLOCK, 0, 1),
			 RDMABLK_R_STORE_IO);
	place_close();
}

/*
 * I/O that fails with EAGAIN or EINTR is tried again at once, then after pauses, RETRY_TRIES times
 * in all. Each command has its own count.
 */
static void what_shall_come_again_does(void **state)
{
	unsigned int tries = 0;
	struct command c = { 0 };

	(void)state;
	assert_int_equal(retry_after(&tries, BLOCK), RETRY_NOT);
	assert_int_equal(retry_after(&tries, -EIO), RETRY_NOT);
	assert_int_equal(tries, 0);
	assert_int_equal(retry_after(&tries, -EAGAIN), RETRY_NOW);
	for (unsigned int i = 1; i < RETRY_TRIES; i++)
		assert_int_equal(retry_after(&tries, -EINTR), RETRY_LATER);
	assert_int_equal(retry_after(&tries, -EAGAIN), RETRY_NOT);

	place_open(dir, 1U << 20, 512, true);
	assert_int_equal(run_faked(RDMABLK_OP_READ, false, 2 * BLOCK, -EINTR, 3),
			 RDMABLK_OK);
	assert_int_equal(run_faked(RDMABLK_OP_READ, false, 2 * BLOCK, -EAGAIN, 100),
			 RDMABLK_OK);
	begin(&c, RDMABLK_OP_READ, 0, 0, BLOCK);
	c.io.tries = RETRY_TRIES - 2;
	fake(&c.io.src, -EAGAIN, 1000);
	assert_int_equal(end(&c), RDMABLK_R_STORE_IO);

	place_close();
}

/* The kernel reports an error of the page cache once, so a failed fdatasync is not tried again. */
static void a_flush_does_not_come_again(void **state)
{
	static const int errors[] = { -EAGAIN, -EINTR };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		place_open(dir, 1U << 20, 512, true);
		sync_errors_init(dir, dir);
		fake(&place.sf.sync, errors[i], 1);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_IO);
		assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_FAILED);
		sync_errors_exit();
		place_close();
	}
}

static void one_error_ends_one_command(void **state)
{
	struct command a = { 0 }, b = { 0 };

	(void)state;
	place_open(dir, 1U << 20, 512, true);
	begin(&a, RDMABLK_OP_READ, 0, 0, BLOCK);
	fake(&a.io.src, -EIO, 1);
	begin(&b, RDMABLK_OP_READ, BLOCK, BLOCK, BLOCK);
	assert_int_equal(end(&a), RDMABLK_R_STORE_IO);
	assert_int_equal(end(&b), RDMABLK_OK);
	assert_int_equal(run_faked(RDMABLK_OP_WRITE, false, BLOCK, -EROFS, 1),
			 RDMABLK_R_STORE_READ_ONLY);
	assert_int_equal(run_faked(RDMABLK_OP_WRITE, false, BLOCK, -EDQUOT, 1),
			 RDMABLK_R_STORE_SPACE);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	place_close();
}

static void a_failed_flush_is_the_last(void **state)
{
	struct command first = { 0 }, second = { 0 }, third = { 0 };
	uint8_t epoch[RDMABLK_ID_LEN];

	(void)state;
	place_open(dir, 1U << 20, 512, true);
	memset(place.sf.identity, 7, sizeof(epoch));
	sync_errors_init(dir, dir);
	assert_int_equal(sync_errors_epoch("d", place.sf.identity, one_disk, epoch), 0);
	assert_memory_equal(epoch, place.sf.identity, sizeof(epoch));
	fake(&place.sf.sync, -EIO, 1);
	begin(&first, RDMABLK_OP_FLUSH, 0, 0, 0);
	begin(&second, RDMABLK_OP_FLUSH, 0, 0, 0);
	assert_int_equal(end(&first), RDMABLK_R_STORE_IO);
	assert_int_equal(sync_errors_epoch("d", place.sf.identity, one_disk, epoch), 0);
	assert_memory_not_equal(epoch, place.sf.identity, sizeof(epoch));
	sync_errors_exit();
	assert_int_equal(end(&second), RDMABLK_R_STORE_FAILED);
	begin(&third, RDMABLK_OP_FLUSH, 0, 0, 0);
	assert_true(third.done);
	assert_int_equal(third.io.status, RDMABLK_R_STORE_FAILED);
	assert_int_equal(readies, 1);
	assert_int_equal(write_fua(0, BLOCK), RDMABLK_R_STORE_FAILED);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
	place_close();
}

/* @write: a WRITE is answered during the first fdatasync. Return: number of fdatasyncs */
static int flush_together(bool write)
{
	struct command c[20] = { 0 };

	place_open(dir, 1U << 20, 512, true);
	fake(&place.sf.sync, 0, 0);
	begin(&c[0], RDMABLK_OP_FLUSH, 0, 0, 0);
	until_kept_back();
	keep_back = false;
	if (write)
		assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	for (size_t i = 1; i < ARRAY_SIZE(c); i++)
		begin(&c[i], RDMABLK_OP_FLUSH, 0, 0, 0);
	real_ready(&place.sf.sync, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		assert_int_equal(end(&c[i]), RDMABLK_OK);
	place_close();
	return readies;
}

static void flushes_share(void **state)
{
	(void)state;
	assert_int_equal(flush_together(false), 1);
	/* the first fdatasync may have begun before the write */
	assert_int_equal(flush_together(true), 2);
}

/* Return: how many fdatasyncs a FLUSH takes now */
static int syncs(void)
{
	fake(&place.sf.sync, 0, 0);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	place.sf.sync.ready = real_ready;
	return readies;
}

/* Data written to a file without a name is gone when it is closed. */
static void a_file_that_is_removed(void **state)
{
	(void)state;
	place_open(dir, 4U << 20, BLOCK, true);
	place.file.fua = false;		/* no file has it, only devices */
	pattern(place.memory, BLOCK, 1);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	assert_int_equal(unlink(place.path), 0);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_R_STORE_IO);
	assert_int_equal(write_fua(0, BLOCK), RDMABLK_R_STORE_IO);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
	place_close();
}

/* The first FLUSH syncs, because the page cache may have data from before the open. */
static void a_flush_of_nothing_syncs_nothing(void **state)
{
	(void)state;
	place_open(dir, 1U << 20, 512, true);
	assert_int_equal(syncs(), 1);
	assert_int_equal(syncs(), 0);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
	assert_int_equal(syncs(), 0);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	assert_int_equal(syncs(), 1);
	assert_int_equal(syncs(), 0);
	/* a WRITE with FUA is durable already */
	assert_int_equal(write_fua(0, BLOCK), RDMABLK_OK);
	assert_int_equal(syncs(), 0);
	/* a WRITE that has failed may have written a part */
	assert_int_equal(run_faked(RDMABLK_OP_WRITE, false, BLOCK, -EROFS, 1),
			 RDMABLK_R_STORE_READ_ONLY);
	assert_int_equal(syncs(), 1);
	if (place.file.max_zeroes) {
		assert_int_equal(run(RDMABLK_OP_WRITE_ZEROES, 0, 0, BLOCK), RDMABLK_OK);
		assert_int_equal(syncs(), 1);
	}
	place_close();
}

/*
 * The lock of a file is not held while a full ring submits entries to make room, which may take
 * long.
 */

static unsigned int submits, submits_locked;

/* Replaces the function of liburing, which is called when the ring has no room. */
int io_uring_submit(struct io_uring *uring)
{
	static int (*real)(struct io_uring *uring);

	if (!real)
		real = (int (*)(struct io_uring *))dlsym(RTLD_NEXT, "io_uring_submit");
	submits++;
	if (pthread_mutex_trylock(&place.sf.lock))
		submits_locked++;
	else
		pthread_mutex_unlock(&place.sf.lock);
	return real(uring);
}

/* Fills the ring with READs. Return: number of READs */
static unsigned int fill(struct command *c, unsigned int max)
{
	unsigned int n = 0;

	while (n < max && io_uring_sq_space_left(&place.engine.ring.uring))
		begin(&c[n++], RDMABLK_OP_READ, 0, 0, BLOCK);
	assert_true(n < max);
	submits = 0;
	return n;
}

static void a_full_ring_locks_nobody_out(void **state)
{
	static struct command c[1024];
	struct command first = { 0 }, second = { 0 };
	unsigned int n, m;

	(void)state;
	place_open(dir, 1U << 20, 512, true);
	submits_locked = 0;
	n = fill(c, ARRAY_SIZE(c) / 2);
	fake(&place.sf.sync, 0, 0);
	begin(&first, RDMABLK_OP_FLUSH, 0, 0, 0);
	assert_int_equal(submits, 1);
	begin(&second, RDMABLK_OP_FLUSH, 0, 0, 0);
	until_kept_back();
	keep_back = false;
	/* the next fdatasync begins when the first ends, because data has changed meanwhile */
	staged_changed(&place.sf);
	m = fill(c + n, ARRAY_SIZE(c) / 2);
	place.sf.sync.ready = real_ready;
	real_ready(&place.sf.sync, 0, 0);
	assert_int_equal(submits, 1);
	assert_int_equal(submits_locked, 0);
	for (unsigned int i = 0; i < n + m; i++)
		assert_int_equal(end(&c[i]), RDMABLK_OK);
	assert_int_equal(end(&first), RDMABLK_OK);
	assert_int_equal(end(&second), RDMABLK_OK);
	place_close();
}

static void shrink(bool direct)
{
	struct stat st;

	place_open(dir, 1U << 20, 512, direct);
	assert_int_equal(truncate(place.path, 10 * BLOCK + 700), 0);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 20 * BLOCK, BLOCK), RDMABLK_R_STORE_IO);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 10 * BLOCK, BLOCK), RDMABLK_R_STORE_IO);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 10 * BLOCK, 1024), RDMABLK_R_STORE_IO);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 8 * BLOCK, 2 * BLOCK), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 20 * BLOCK, BLOCK), RDMABLK_R_STORE_IO);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 10 * BLOCK, BLOCK), RDMABLK_R_STORE_IO);
	assert_int_equal(write_fua(20 * BLOCK, BLOCK), RDMABLK_R_STORE_IO);
	assert_int_equal(run(RDMABLK_OP_WRITE_ZEROES, 0, 20 * BLOCK, BLOCK),
			 RDMABLK_R_STORE_IO);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 2 * BLOCK, BLOCK), RDMABLK_OK);
	assert_int_equal(stat(place.path, &st), 0);
	assert_int_equal(st.st_size, 10 * BLOCK + 700);
	place_close();
}

static void a_file_that_shrinks(void **state)
{
	(void)state;
	shrink(true);
	shrink(false);
}

/* On a tmpfs of 1 MiB. It depends on the age of the kernel whether that takes direct I/O. */
static int full_child(bool direct)
{
	struct command c[64] = { 0 };
	unsigned int space = 0, ok = 0;

	place_open(dir, 4U << 20, BLOCK, direct);
	pattern(place.memory, 4U << 20, 5);
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++)
		begin(&c[i], RDMABLK_OP_WRITE, i * 65536, i * 65536, 65536);
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		unsigned int status = end(&c[i]);

		space += status == RDMABLK_R_STORE_SPACE;
		ok += status == RDMABLK_OK;
	}
	if (space + ok != ARRAY_SIZE(c) || !space || !ok)
		return 1;
	/* the data can be read and flushed, and DISCARD makes room for more */
	if (run(RDMABLK_OP_READ, 8U << 20, 0, 65536) ||
	    run(RDMABLK_OP_FLUSH, 0, 0, 0) ||
	    run(RDMABLK_OP_DISCARD, 0, 0, 4U << 20) ||
	    run(RDMABLK_OP_WRITE, 0, 3U << 20, 65536) || write_fua(0, BLOCK))
		return 2;
	place_close();
	return 0;
}

static void a_full_file_system(void **state)
{
	for (int direct = 0; direct < 2; direct++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
				_exit(77);
			if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
			    mount("none", dir, "tmpfs", 0, "size=1M"))
				_exit(77);
			_exit(full_child(direct));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status == 77 << 8) {
			(void)state;
			skip();
		}
		assert_int_equal(status, 0);
	}
}

/*
 * DISCARD and WRITE_ZEROES
 */

static blkcnt_t blocks(void)
{
	struct stat st;

	assert_int_equal(fsync(place.file.buffered), 0);
	assert_int_equal(stat(place.path, &st), 0);
	return st.st_blocks;
}

static void assert_zero(uint64_t offset, uint64_t bytes)
{
	memset(place.memory, 0xee, bytes);
	assert_int_equal(run(RDMABLK_OP_READ, 0, offset, bytes), RDMABLK_OK);
	for (size_t i = 0; i < bytes; i++)
		if (place.memory[i])
			fail_msg("byte %zu of %llu is not zero", i,
				 (unsigned long long)bytes);
}

static void discard_and_zero(void **state)
{
	struct command keep = { .io.keep = true };
	blkcnt_t full;

	(void)state;
	place_open(dir, 4U << 20, BLOCK, true);
	pattern(place.memory, 4U << 20, 9);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, 4U << 20), RDMABLK_OK);
	full = blocks();
	begin(&keep, RDMABLK_OP_WRITE_ZEROES, 0, 0, 1U << 20);
	assert_int_equal(end(&keep), RDMABLK_OK);
	assert_true(blocks() >= full);
	assert_zero(0, 1U << 20);
	assert_int_equal(run(RDMABLK_OP_WRITE_ZEROES, 0, 1U << 20, 1U << 20), RDMABLK_OK);
	assert_zero(1U << 20, 1U << 20);
	if (!fallocate(place.file.buffered, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		       4U << 20, BLOCK)) {
		assert_true(place.file.max_discard);
		assert_true(blocks() < full);
		full = blocks();
		assert_int_equal(run(RDMABLK_OP_DISCARD, 0, 3U << 20, 1U << 20),
				 RDMABLK_OK);
		assert_true(blocks() < full);
	}
	assert_int_equal(run(RDMABLK_OP_SECURE_ERASE, 0, 0, BLOCK),
			 RDMABLK_R_UNSUPPORTED);
	/* the data in between is unchanged */
	pattern(place.memory + (4U << 20), 4U << 20, 9);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 2U << 20, 1U << 20), RDMABLK_OK);
	assert_memory_equal(place.memory, place.memory + (6U << 20), 1U << 20);
	place_close();
}

static void nobody_waits_for_it(void **state)
{
	static atomic_bool gone = true;
	struct command c = { .io.cancel = &gone };

	(void)state;
	place_open(dir, 1ULL << 30, BLOCK, true);
	pattern(place.memory, BLOCK, 1);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	begin(&c, RDMABLK_OP_WRITE_ZEROES, 0, 0, 1ULL << 30);
	assert_int_equal(end(&c), RDMABLK_R_INTERNAL);
	memset(place.memory + BLOCK, 0xee, BLOCK);
	begin(&c, RDMABLK_OP_WRITE, BLOCK, 0, BLOCK);
	assert_int_equal(end(&c), RDMABLK_R_INTERNAL);
	assert_int_equal(run(RDMABLK_OP_READ, BLOCK, 0, BLOCK), RDMABLK_OK);
	assert_memory_equal(place.memory, place.memory + BLOCK, BLOCK);
	place_close();
}

static sem_t gate;

static void wait_at_gate(struct job *job)
{
	(void)job;
	sem_wait(&gate);
}

/* One session has begun four long commands; another one waits for one of them, not for all. */
static void sessions_take_turns(void **state)
{
	static const atomic_bool others;	/* the flag of another session */
	struct command c[4] = { 0 }, other = { .io.cancel = &others };
	struct job job = { .run = wait_at_gate };

	(void)state;
	place_open(dir, 1ULL << 30, BLOCK, false);
	/* the thread begins none of them before all are there */
	sem_init(&gate, 0, 0);
	assert_int_equal(worker_add(&place.sf.slow, &job), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++)
		begin(&c[i], RDMABLK_OP_WRITE_ZEROES, 0, 0, 1ULL << 30);
	begin(&other, RDMABLK_OP_WRITE_ZEROES, 0, 0, BLOCK);
	sem_post(&gate);
	assert_int_equal(end(&other), RDMABLK_OK);
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++)
		assert_int_equal(end(&c[i]), RDMABLK_OK);
	assert_true(other.nr < c[2].nr && other.nr < c[3].nr);
	sem_destroy(&gate);
	place_close();
}

/*
 * Threads
 */

/**
 * struct writer - a thread that writes one MiB of the file
 * @thread: the thread
 * @engine: engine of the thread
 * @memory: buffers of the thread
 * @number: number of the MiB in the file
 * @wrong: name of what went wrong, or NULL
 */
struct writer {
	pthread_t thread;
	struct staged_engine engine;
	char *memory;
	unsigned int number;
	const char *wrong;
};

static void writer_round(struct writer *w, unsigned int round)
{
	struct command c[32] = { 0 }, flush = { 0 };
	uint64_t base = (uint64_t)w->number << 20;

	pattern(w->memory, 1U << 20, round * 1000 + w->number);
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++)
		begin_on(&w->engine, &c[i], RDMABLK_OP_WRITE, w->memory + i * 32768,
			 base + i * 32768, 32768);
	begin_on(&w->engine, &flush, RDMABLK_OP_FLUSH, NULL, 0, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++)
		if (end(&c[i]))
			w->wrong = "write";
	begin_on(&w->engine, &c[0], RDMABLK_OP_READ, w->memory + (4U << 20), base,
		 1U << 20);
	if (end(&flush) || end(&c[0]))
		w->wrong = "flush or read";
	if (memcmp(w->memory, w->memory + (4U << 20), 1U << 20))
		w->wrong = "data";
}

static atomic_uint finished;

/* A thread that has finished goes on with its ring: another's last fdatasync may be in it. */
static void *writer_main(void *arg)
{
	struct writer *w = arg;

	make_engine(&w->engine, &w->memory);
	for (unsigned int round = 0; round < ROUNDS; round++)
		writer_round(w, round);
	atomic_fetch_add(&finished, 1);
	while (atomic_load(&finished) < THREADS) {
		staged_engine_turn(&w->engine, false);
		sched_yield();
	}
	staged_engine_exit(&w->engine);
	return NULL;
}

static void threads_flush_together(void **state)
{
	struct writer w[THREADS] = { 0 };

	(void)state;
	atomic_store(&finished, 0);
	place_open(dir, (uint64_t)THREADS << 20, BLOCK, true);
	for (unsigned int i = 0; i < THREADS; i++) {
		w[i].number = i;
		assert_int_equal(pthread_create(&w[i].thread, NULL, writer_main, &w[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		if (w[i].wrong)
			fail_msg("thread %u: %s", i, w[i].wrong);
	}
	assert_false(place.sf.syncing);
	for (unsigned int i = 0; i < THREADS; i++)
		munmap(w[i].memory, MEMORY);
	place_close();
}

/* What one engine writes the other reads. When one ends, the other can still use the file. */
static void engines_share_a_file(void **state)
{
	struct staged_engine second;
	struct command c = { 0 };
	char *memory;

	(void)state;
	place_open(dir, 1U << 20, BLOCK, true);
	make_engine(&second, &memory);
	pattern(memory, BLOCK, 5);
	begin_on(&second, &c, RDMABLK_OP_WRITE, memory, 0, BLOCK);
	assert_int_equal(end(&c), RDMABLK_OK);
	assert_int_equal(run(RDMABLK_OP_READ, 0, 0, BLOCK), RDMABLK_OK);
	assert_memory_equal(place.memory, memory, BLOCK);
	staged_engine_exit(&second);
	munmap(memory, MEMORY);
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	place_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_is_read),
		cmocka_unit_test(a_disk_with_checksums_gets_a_copy),
		cmocka_unit_test(writes_are_not_mixed),
		cmocka_unit_test(more_than_a_ring_takes),
		cmocka_unit_test(short_transfers_go_on),
		cmocka_unit_test(what_shall_come_again_does),
		cmocka_unit_test(a_flush_does_not_come_again),
		cmocka_unit_test(one_error_ends_one_command),
		cmocka_unit_test(a_failed_flush_is_the_last),
		cmocka_unit_test(flushes_share),
		cmocka_unit_test(a_file_that_is_removed),
		cmocka_unit_test(a_flush_of_nothing_syncs_nothing),
		cmocka_unit_test(a_full_ring_locks_nobody_out),
		cmocka_unit_test(a_file_that_shrinks),
		cmocka_unit_test(a_full_file_system),
		cmocka_unit_test(discard_and_zero),
		cmocka_unit_test(nobody_waits_for_it),
		cmocka_unit_test(sessions_take_turns),
		cmocka_unit_test(threads_flush_together),
		cmocka_unit_test(engines_share_a_file),
	};
	int failed;

	if (place_dir_make())
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_dir_remove();
	return failed;
}
