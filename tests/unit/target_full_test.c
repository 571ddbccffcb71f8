// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cached file: what is read into the arena, what a FLUSH writes and what it does not, errors
 * of the file, and a failed fdatasync.
 *
 * Sources: target/store/store_full.c target/store/full.c target/store/file.c
 *	   target/store/pages.c target/store/file_batch.c target/base/bitmap.c
 * Libraries: liburing libcrypto
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "target_disguise.h"
#include "target_full.h"

#define SIZE	(16 * MIB)

static unsigned int syncs;
static uint64_t dropped;	/* bytes of the page cache that were to be dropped */
static int hurry;		/* seconds that pass with each clock_gettime() */

/* fdatasync(), posix_fadvise() and clock_gettime() replace those of the C library. */
int fdatasync(int fd)
{
	syncs++;
	return (int)syscall(SYS_fdatasync, fd);
}

int posix_fadvise(int fd, off_t offset, off_t len, int advice)
{
	(void)fd;
	assert_int_equal(offset % (8 * MIB), 0);
	assert_int_equal(advice, POSIX_FADV_DONTNEED);
	dropped += (uint64_t)len;
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	static time_t later;

	later += hurry;
	if (syscall(SYS_clock_gettime, id, now))
		return -1;
	now->tv_sec += later;
	return 0;
}

static void a_file_is_read(void **state)
{
	static const uint64_t sizes[] = { SIZE, 4 * MIB + 512, 4096, 512 * 9 };
	struct store s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t size = sizes[i];
		const char *path = files_new("read", size);

		files_write(path, 0, size, 1);
		assert_int_equal(full_open(&s, full_config(path)), 0);
		assert_int_equal(s.size, size);
		assert_true(full_has(&s, 0, size, 1));
		assert_true(s.mapped >= size);
		full_close(&s);
	}
}

/* Return: whether the log has @text, and at @rest all that follows it. */
static bool logged(const char *text, const char **rest)
{
	*rest = strstr(*rest, text);
	*rest = *rest ? *rest + strlen(text) : "";
	return **rest;
}

/*
 * After a failed write-back the page cache has data that the disk does not have. The arena gets
 * the data of the disk.
 */
static void a_file_is_read_from_the_disk(void **state)
{
	const char *path = files_new("cached", SIZE);
	struct store s;

	(void)state;
	files_write(path, 0, SIZE, 1);
	dropped = 0;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	assert_true(dropped >= SIZE);
	full_close(&s);
}

/* Data written to a file without a name is gone when it is closed. */
static void a_file_that_is_removed(void **state)
{
	const char *path = files_new("removed", SIZE);
	struct store s;

	(void)state;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	full_rdma(&s, 0, 4096, 1);
	assert_int_equal(full_do(&s, RDMABLK_OP_FLUSH, 0, 0, 4096, NULL), RDMABLK_OK);
	files_new("restored", SIZE);
	assert_int_equal(rename(files_path("restored"), files_path("removed")), 0);
	full_rdma(&s, 0, 4096, 2);
	assert_int_equal(full_do(&s, RDMABLK_OP_FLUSH, 0, 0, 4096, NULL), RDMABLK_R_STORE_IO);
	assert_int_equal(s.ops->close(&s), -ENOENT);
	assert_true(s.lost && s.doubtful);
}

/* A file that had no name when it was opened has not lost it. */
static void a_file_without_a_name(void **state)
{
	const char *path = files_new("nameless", SIZE);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct store s;
	char link[64];

	(void)state;
	assert_int_equal(unlink(path), 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_int_equal(full_open(&s, full_config(link)), 0);
	full_rdma(&s, 0, 4096, 1);
	assert_int_equal(full_do(&s, RDMABLK_OP_FLUSH, 0, 0, 4096, NULL), RDMABLK_OK);
	assert_int_equal(s.ops->close(&s), 0);
	close(fd);
}

/* A slow read of a file logs its progress, by the clock and not by bytes. */
static void how_far_it_is(void **state)
{
	const char *path = files_new("slow", 4 * MIB), *log = files_path("log");
	int to = dup(STDERR_FILENO), fd;
	char text[4096] = "";
	const char *at = text;
	struct store s;
	int ret;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)	/* four reads, with holes between them */
		files_write(path, i * MIB, 4096, 1);
	fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	dup2(fd, STDERR_FILENO);
	hurry = 6;
	ret = full_open(&s, full_config(path));
	hurry = 0;
	dup2(to, STDERR_FILENO);
	close(to);
	assert_int_equal(ret, 0);
	full_close(&s);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	close(fd);
	assert_true(logged("reading ", &at));
	assert_true(logged("1 of 4 MiB read from ", &at));
	assert_true(logged("3 of 4 MiB read from ", &at));
	assert_null(strstr(at, " of 4 MiB"));
	assert_true(logged("16384 bytes read from ", &at));
}

static void holes_are_zero(void **state)
{
	const char *path = files_new("holes", SIZE);
	struct store s;

	(void)state;
	files_write(path, 3 * MIB + 1000, 5000, 1);
	files_write(path, SIZE - 512, 512, 2);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	assert_true(full_is_zero(&s, 0, 3 * MIB + 1000));
	assert_true(full_has(&s, 3 * MIB + 1000, 5000, 1));
	assert_true(full_is_zero(&s, 3 * MIB + 6000, SIZE - 512 - 3 * MIB - 6000));
	assert_true(full_has(&s, SIZE - 512, 512, 2));
	full_close(&s);
	/* only the first part of the file is exported */
	full_config(path)->size = 4 * MIB;
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_int_equal(s.size, 4 * MIB);
	assert_true(full_has(&s, 3 * MIB + 1000, 5000, 1));
	full_close(&s);
}

static void limits(void **state)
{
	const char *path = files_new("limits", SIZE);
	struct store_limits l;
	struct store s, t;

	(void)state;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	s.ops->limits(&s, &l);
	assert_int_equal(l.flags, RDMABLK_GRANT_CACHE);
	assert_true(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_DIRTY));
	assert_true(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_FLUSH));
	assert_true(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_WRITE_ZEROES));
	assert_false(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE));
	assert_false(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_READ));
	assert_int_equal(l.granule, 4096);
	assert_true(!!l.max_discard == !!(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_DISCARD)));
	assert_int_equal(full_open(&t, full_config(path)), -EBUSY);
	full_close(&s);
	full_config(path)->read_only = true;
	assert_int_equal(full_open(&s, &full_ec), 0);
	s.ops->limits(&s, &l);
	assert_int_equal(l.flags, 0);
	assert_int_equal(l.ops, 0);
	full_close(&s);
}

static void epoch_with(const char *path, uint64_t size, const char *rules, uint8_t *epoch)
{
	struct store s;

	full_config(path)->read_only = true;
	full_ec.size = size;
	full_ec.fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	memcpy(epoch, s.epoch, RDMABLK_ID_LEN);
	full_close(&s);
}

static void epoch_of(const char *path, uint64_t size, uint8_t *epoch)
{
	epoch_with(path, size, NULL, epoch);
}

/* The epoch lasts as long as the contents of the file do. */
static void the_epoch_of_a_read_only_file_lasts(void **state)
{
	const char *path = files_new("epoch", SIZE), *other = files_new("other", SIZE);
	uint8_t first[RDMABLK_ID_LEN], again[RDMABLK_ID_LEN];
	const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct stat st;
	struct store s;

	(void)state;
	files_write(path, 0, SIZE, 1);
	epoch_of(path, 0, first);
	epoch_of(path, 0, again);
	assert_memory_equal(first, again, sizeof(first));
	/* an export of a part has another epoch */
	epoch_of(path, SIZE / 2, again);
	assert_memory_not_equal(first, again, sizeof(first));
	/* a write, even if the old time is set again */
	assert_int_equal(stat(path, &st), 0);
	files_write(path, MIB, 512, 2);
	assert_int_equal(utimensat(AT_FDCWD, path,
				   (struct timespec[]){ st.st_atim, st.st_mtim }, 0), 0);
	epoch_of(path, 0, again);
	assert_memory_not_equal(first, again, sizeof(first));
	epoch_of(path, 0, first);
	assert_memory_equal(first, again, sizeof(first));
	/* a copy with the same times */
	files_write(other, 0, SIZE, 1);
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, other, long_ago, 0), 0);
	epoch_of(path, 0, first);
	epoch_of(other, 0, again);
	assert_memory_not_equal(first, again, sizeof(first));
	/* a time in the future says nothing about later writes */
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){
				   { .tv_sec = 1LL << 33 }, { .tv_sec = 1LL << 33 } }, 0), 0);
	epoch_of(path, 0, first);
	epoch_of(path, 0, again);
	assert_memory_not_equal(first, again, sizeof(first));
	/* a writable file gets a new epoch each time */
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	epoch_of(path, 0, first);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	assert_memory_not_equal(first, s.epoch, sizeof(first));
	full_close(&s);
}

static const char *written;

static void *write_main(void *arg)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	atomic_bool *stop = arg;

	while (!atomic_load(stop)) {
		files_write(written, MIB - 512, 512, 3);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* A file that changes while it is read has no lasting epoch. Several writes fall into the read. */
static void nor_of_one_that_changes(void **state)
{
	uint8_t first[RDMABLK_ID_LEN], again[RDMABLK_ID_LEN];
	const char *rules = files_path("rules");
	atomic_bool stop = false;
	pthread_t thread;

	(void)state;
	written = files_new("changing", MIB);
	files_write(written, 0, MIB, 2);
	files_text(rules, "read delay 3000\n");
	assert_int_equal(pthread_create(&thread, NULL, write_main, &stop), 0);
	epoch_with(written, 0, rules, first);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	epoch_of(written, 0, again);
	assert_memory_not_equal(first, again, sizeof(first));
}

static void a_flush_writes_what_is_dirty(void **state)
{
	const char *path = files_new("flush", SIZE + 512);
	struct bitmap dirty;
	struct store s;

	(void)state;
	files_write(path, 0, SIZE, 1);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	dirty = full_dirty(&s);
	full_rdma(&s, 0, SIZE + 512, 2);
	full_note(&s, &dirty, 8192, 4096);
	full_note(&s, &dirty, MIB, 5 * MIB);
	full_note(&s, &dirty, SIZE, 512);
	assert_true(files_are(path, 0, SIZE, 1));
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_false(bitmap_any(&dirty));
	assert_true(files_are(path, 0, 8192, 1));
	assert_true(files_are(path, 8192, 4096, 2));
	assert_true(files_are(path, 12288, MIB - 12288, 1));
	assert_true(files_are(path, MIB, 5 * MIB, 2));
	assert_true(files_are(path, 6 * MIB, SIZE - 6 * MIB, 1));
	assert_true(files_are(path, SIZE, 512, 2));
	/* a FLUSH with a range leaves the other granules dirty */
	full_note(&s, &dirty, 0, 4096);
	assert_int_equal(full_do(&s, RDMABLK_OP_FLUSH, 0, 12288, 512, NULL), RDMABLK_OK);
	assert_true(files_are(path, 12288, 512, 2));
	assert_true(files_are(path, 0, 8192, 1));
	assert_true(bitmap_any(&dirty));
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 0, 4096, 2));
	bitmap_free(&dirty);
	full_close(&s);
	/* the rest was not noted as dirty */
	assert_true(files_are(path, 6 * MIB, SIZE - 6 * MIB, 1));
}

static void an_error_leaves_it_dirty(void **state)
{
	static const struct {
		const char *rules;
		unsigned int want;
	} cases[] = {
		{ "write error EIO at 1M+4K\n", RDMABLK_R_STORE_IO },
		{ "write error ENOSPC\n", RDMABLK_R_STORE_SPACE },
		{ "write error EDQUOT skip 1\n", RDMABLK_R_STORE_SPACE },
		{ "write error EROFS\n", RDMABLK_R_STORE_READ_ONLY },
		{ "sync error EIO\n", RDMABLK_R_STORE_IO },
		{ "sync error ENOSPC\n", RDMABLK_R_STORE_SPACE },
	};
	const char *path = files_new("error", SIZE), *rules = files_path("rules");
	struct bitmap dirty;
	struct store s;

	(void)state;
	files_text(rules, "");
	full_config(path)->fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	dirty = full_dirty(&s);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		full_rdma(&s, 0, 4 * MIB, i + 1);
		full_note(&s, &dirty, 0, 4 * MIB);
		files_text(rules, cases[i].rules);
		for (int again = 0; again < 3; again++) {
			assert_int_equal(full_flush_all(&s, &dirty), cases[i].want);
			assert_true(bitmap_any(&dirty));
		}
		files_text(rules, "");
		assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
		assert_false(bitmap_any(&dirty));
		assert_true(files_are(path, 0, 4 * MIB, i + 1));
	}
	bitmap_free(&dirty);
	full_close(&s);
}

/*
 * After a failed fdatasync the kernel has forgotten the error: the pages are clean, and the disk
 * has the old contents. The next FLUSH writes them again.
 */
static void a_failed_fdatasync_loses_nothing(void **state)
{
	const char *path = files_new("sync", SIZE), *rules = files_path("rules");
	struct bitmap dirty;
	struct store s;

	(void)state;
	files_write(path, 0, SIZE, 1);
	files_text(rules, "sync error EIO skip 1 count 1\n");
	full_config(path)->fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	dirty = full_dirty(&s);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	full_rdma(&s, 2 * MIB, MIB, 2);
	full_note(&s, &dirty, 2 * MIB, MIB);
	/* the FLUSH of the first part fails; the next one, of another part, writes both */
	assert_int_equal(full_do(&s, RDMABLK_OP_FLUSH, 0, 2 * MIB, 8192, NULL),
			 RDMABLK_R_STORE_IO);
	files_write(path, 2 * MIB, MIB, 1);
	assert_int_equal(full_do(&s, RDMABLK_OP_FLUSH, 0, 2 * MIB + 8192, 4096, NULL),
			 RDMABLK_OK);
	assert_true(files_are(path, 2 * MIB, 12288, 2));
	assert_true(files_are(path, 2 * MIB + 12288, MIB - 12288, 1));
	/* granules that are durable are not written again */
	files_write(path, 2 * MIB, 12288, 3);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 2 * MIB, MIB, 2));
	files_write(path, 2 * MIB, MIB, 3);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 2 * MIB, MIB, 3));
	bitmap_free(&dirty);
	full_close(&s);
}

/*
 * Writes of an earlier daemon may still be in a cache, and are not noted as unsynced. So after a
 * failed first fdatasync all of the file is written again.
 */
static void a_first_fdatasync_that_fails_loses_nothing(void **state)
{
	const char *path = files_new("first", SIZE), *rules = files_path("rules");
	struct bitmap dirty;
	struct store s;

	(void)state;
	files_write(path, 0, SIZE, 1);
	files_text(rules, "sync error EIO count 2\n");
	full_config(path)->fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	dirty = full_dirty(&s);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_IO);
	files_write(path, 4 * MIB, 4096, 3);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_IO);
	files_write(path, 6 * MIB, MIB, 3);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 0, SIZE, 1));
	/* after a good fdatasync only noted granules are written */
	files_write(path, 4 * MIB, 4096, 3);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 4 * MIB, 4096, 3));
	bitmap_free(&dirty);
	full_close(&s);
}

static void the_end_writes_what_a_failed_fdatasync_lost(void **state)
{
	const char *path = files_new("sync", SIZE), *rules = files_path("rules");
	struct bitmap dirty;
	struct store s;

	(void)state;
	files_text(rules, "sync error EIO count 2\n");
	full_config(path)->fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	dirty = full_dirty(&s);
	full_rdma(&s, MIB, MIB, 2);
	full_note(&s, &dirty, MIB, MIB);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_IO);
	files_write(path, MIB, MIB, 1);
	bitmap_free(&dirty);
	full_close(&s);		/* the first of its tries fails, too */
	assert_true(files_are(path, MIB, MIB, 2));
}

static void a_full_file_system(void **state)
{
	const char *path, *ballast;
	struct bitmap dirty;
	struct store s;

	(void)state;
	if (!files_tmpfs("small", "size=6m"))
		skip();
	path = files_new("small/disk", SIZE);
	ballast = files_new("small/ballast", 0);
	files_write(ballast, 0, 4 * MIB, 9);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	dirty = full_dirty(&s);
	full_rdma(&s, 0, 4 * MIB, 1);
	full_note(&s, &dirty, 0, 4 * MIB);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_SPACE);
	assert_true(bitmap_any(&dirty));
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_SPACE);
	/* a DISCARD makes room */
	assert_int_equal(full_do(&s, RDMABLK_OP_DISCARD, 0, MIB, 3 * MIB, NULL), RDMABLK_OK);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_false(bitmap_any(&dirty));
	assert_true(files_are(path, 0, MIB, 1));
	assert_true(files_zero(path, MIB, 3 * MIB));
	assert_true(files_space(path) <= MIB);
	/* the removal of another file makes room */
	full_rdma(&s, 8 * MIB, 4 * MIB, 2);
	full_note(&s, &dirty, 8 * MIB, 4 * MIB);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_SPACE);
	unlink(ballast);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 8 * MIB, 4 * MIB, 2));
	bitmap_free(&dirty);
	full_close(&s);
	assert_int_equal(umount(files_path("small")), 0);
}

static void zeroes_and_discards(void **state)
{
	const char *path = files_new("zero", SIZE);
	struct bitmap dirty;
	struct store s;
	uint64_t space;

	(void)state;
	files_write(path, 0, SIZE, 1);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	dirty = full_dirty(&s);
	space = files_space(path);
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, RDMABLK_ZEROES_KEEP, MIB,
				 MIB, NULL), RDMABLK_OK);
	assert_in_range(files_space(path), space - EXTENTS, space + EXTENTS);
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, 0, 4 * MIB, MIB, NULL),
			 RDMABLK_OK);
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, 0, 512, 512, NULL), RDMABLK_OK);
	assert_int_equal(full_do(&s, RDMABLK_OP_DISCARD, 0, 8 * MIB, 4 * MIB, NULL), RDMABLK_OK);
	assert_true(files_space(path) <= space - 5 * MIB + EXTENTS);
	assert_true(full_has(&s, 0, 512, 1) && full_is_zero(&s, 512, 512));
	assert_true(full_has(&s, 1024, MIB - 1024, 1) && full_is_zero(&s, MIB, MIB));
	assert_true(full_has(&s, 2 * MIB, 2 * MIB, 1) && full_is_zero(&s, 4 * MIB, MIB));
	assert_true(full_is_zero(&s, 8 * MIB, 4 * MIB) && full_has(&s, 12 * MIB, 4 * MIB, 1));
	assert_true(files_zero(path, 512, 512) && files_zero(path, MIB, MIB));
	assert_true(files_zero(path, 4 * MIB, MIB) && files_zero(path, 8 * MIB, 4 * MIB));
	/* discarded granules that are dirty are not written, so that they take no space */
	space = files_space(path);
	full_note(&s, &dirty, 8 * MIB, 4 * MIB);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_in_range(files_space(path), space - EXTENTS, space + EXTENTS);
	assert_true(files_zero(path, 8 * MIB, 4 * MIB));
	/* zeroes that a session wrote over data are written */
	memset(full_at(&s, 13 * MIB), 0, MIB);
	full_note(&s, &dirty, 13 * MIB, MIB);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_zero(path, 13 * MIB, MIB));
	assert_int_equal(full_do(&s, RDMABLK_OP_SECURE_ERASE, 0, 0, MIB, NULL),
			 RDMABLK_R_UNSUPPORTED);
	assert_int_equal(full_do(&s, RDMABLK_OP_READ, 0, 0, MIB, NULL),
			 RDMABLK_R_UNSUPPORTED);
	bitmap_free(&dirty);
	full_close(&s);
}

/* If a failed DISCARD or WRITE_ZEROES has changed the file, the next FLUSH restores the data. */
static void refused_zeroes_change_nothing(void **state)
{
	const char *path = files_new("refused", SIZE), *rules = files_path("rules");
	struct store s;

	(void)state;
	files_write(path, 0, SIZE, 1);
	files_text(rules, "zero error EIO\ndiscard error EIO\n");
	full_config(path)->fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, 0, MIB, MIB, NULL),
			 RDMABLK_R_STORE_IO);
	assert_int_equal(full_do(&s, RDMABLK_OP_DISCARD, 0, 4 * MIB, MIB, NULL),
			 RDMABLK_R_STORE_IO);
	assert_true(full_has(&s, 0, SIZE, 1));
	assert_int_equal(files_run("fallocate -p -o 1M -l 512K %s", path), 0);
	assert_int_equal(files_run("fallocate -p -o 4M -l 512K %s", path), 0);
	assert_true(files_zero(path, MIB, 512 * KIB));
	files_text(rules, "");
	assert_int_equal(full_flush_all(&s, NULL), RDMABLK_OK);
	assert_true(files_are(path, 0, SIZE, 1));
	full_close(&s);
}

static void a_file_that_shrinks(void **state)
{
	const char *path = files_new("shrink", SIZE);
	struct bitmap dirty;
	struct store s;
	struct stat st;

	(void)state;
	files_write(path, 0, SIZE, 1);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	dirty = full_dirty(&s);
	assert_int_equal(truncate(path, 4 * MIB), 0);
	full_rdma(&s, 0, SIZE, 2);
	full_note(&s, &dirty, 0, SIZE);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_IO);
	assert_int_equal(full_do(&s, RDMABLK_OP_FLUSH, 0, MIB, 4096, NULL),
			 RDMABLK_R_STORE_IO);
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, 0, 5 * MIB, MIB, NULL),
			 RDMABLK_R_STORE_IO);
	s.ops->ended(&s, false);
	assert_false(s.ops->idle(&s));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4 * MIB);
	assert_true(bitmap_any(&dirty));
	/* the file gets its old length back */
	assert_int_equal(truncate(path, SIZE), 0);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 0, SIZE, 2));
	/* flushed data that was cut off is written again, too */
	assert_int_equal(truncate(path, 4 * MIB), 0);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_IO);
	assert_int_equal(truncate(path, SIZE), 0);
	assert_true(files_zero(path, 4 * MIB, SIZE - 4 * MIB));
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 0, SIZE, 2));
	bitmap_free(&dirty);
	full_close(&s);
}

/* The close writes again what a failed fdatasync lost, but not behind the end of the file. */
static void the_end_of_a_file_that_shrank(void **state)
{
	const char *path = files_new("shrank", SIZE), *rules = files_path("rules");
	struct bitmap dirty;
	struct store s;
	struct stat st;

	(void)state;
	files_text(rules, "sync error EIO count 1\n");
	full_config(path)->fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	dirty = full_dirty(&s);
	full_rdma(&s, 0, SIZE, 2);
	full_note(&s, &dirty, 0, SIZE);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_R_STORE_IO);
	assert_int_equal(truncate(path, 4 * MIB), 0);
	bitmap_free(&dirty);
	full_close(&s);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4 * MIB);
}

static void a_block_device(void **state)
{
	const char *path = files_new("disk", SIZE);
	struct bitmap dirty;
	struct store s;
	char dev[64];

	(void)state;
	files_write(path, 0, SIZE, 1);
	if (!files_loop(path, 4096, dev, sizeof(dev)))
		skip();
	full_config(dev)->block = 4096;
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_int_equal(s.size, SIZE);
	assert_true(full_has(&s, 0, SIZE, 1));
	dirty = full_dirty(&s);
	full_rdma(&s, MIB, MIB, 2);
	full_note(&s, &dirty, MIB, MIB);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, RDMABLK_ZEROES_KEEP, 4 * MIB,
				 MIB, NULL), RDMABLK_OK);
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, 0, 6 * MIB, MIB, NULL),
			 RDMABLK_OK);
	assert_int_equal(full_do(&s, RDMABLK_OP_DISCARD, 0, 8 * MIB, MIB, NULL), RDMABLK_OK);
	full_rdma(&s, 12 * MIB, 4096, 3);
	s.ops->ended(&s, false);
	full_close(&s);
	assert_true(files_are(dev, MIB, MIB, 2));
	assert_true(files_zero(dev, 4 * MIB, MIB) && files_zero(dev, 6 * MIB, MIB));
	assert_true(files_zero(dev, 8 * MIB, MIB));
	assert_true(files_are(dev, 9 * MIB, 3 * MIB, 1));
	assert_true(files_are(dev, 12 * MIB, 4096, 3));
	bitmap_free(&dirty);
	files_unloop(dev);
}

static void let_writes_reach(uint64_t end)
{
	const struct rlimit limit = { .rlim_cur = end, .rlim_max = RLIM_INFINITY };

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Flushes one dirty run at @offset. Return: number of calls of fdatasync */
static unsigned int flush_run(struct store *s, struct bitmap *dirty, uint64_t offset,
			      uint64_t bytes, unsigned int seed, bool fails)
{
	unsigned int before = syncs;

	full_rdma(s, offset, bytes, seed);
	full_note(s, dirty, offset, bytes);
	assert_int_equal(full_flush_all(s, dirty) == RDMABLK_OK, !fails);
	assert_int_equal(bitmap_any(dirty), fails);
	return syncs - before;
}

/* A FLUSH of nothing calls no fdatasync, except the first: an earlier daemon may have written. */
static void a_flush_of_nothing_syncs_nothing(void **state)
{
	const char *path = files_new("nothing", SIZE);
	struct bitmap dirty;
	unsigned int before;
	struct store s;

	(void)state;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	dirty = full_dirty(&s);
	before = syncs;
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_int_equal(syncs, before + 1);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_int_equal(syncs, before + 1);
	assert_int_equal(flush_run(&s, &dirty, MIB, 4096, 1, false), 1);
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, 0, MIB, 4096, NULL), RDMABLK_OK);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_int_equal(syncs, before + 3);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_int_equal(syncs, before + 3);
	bitmap_free(&dirty);
	full_close(&s);
}

/* FLUSHes of two sessions share one fdatasync. A failed write fails the FLUSH of its session. */
static void flushes_share_a_sync(void **state)
{
	const char *path = files_new("shared", SIZE);
	struct store_works works = TAILQ_HEAD_INITIALIZER(works);
	struct store_work w[2] = {
		{ .op = RDMABLK_OP_FLUSH }, { .op = RDMABLK_OP_FLUSH },
	};
	struct bitmap dirty[2];
	unsigned int before;
	struct store s;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	for (unsigned int i = 0; i < 2; i++) {
		dirty[i] = full_dirty(&s);
		w[i].dirty = &dirty[i];
		TAILQ_INSERT_TAIL(&works, &w[i], entry);
		full_rdma(&s, (i + 1) * MIB, 4096, i + 1);
		full_note(&s, &dirty[i], (i + 1) * MIB, 4096);
	}
	before = syncs;
	let_writes_reach(2 * MIB);
	s.ops->flush(&s, &works);
	let_writes_reach(RLIM_INFINITY);
	assert_int_equal(w[0].status, RDMABLK_OK);
	assert_int_not_equal(w[1].status, RDMABLK_OK);
	assert_int_equal(syncs, before + 1);
	assert_false(bitmap_any(&dirty[0]));
	assert_true(bitmap_any(&dirty[1]));
	assert_true(files_are(path, MIB, 4096, 1));
	s.ops->flush(&s, &works);
	assert_int_equal(w[0].status, RDMABLK_OK);
	assert_int_equal(w[1].status, RDMABLK_OK);
	assert_int_equal(syncs, before + 2);
	assert_false(bitmap_any(&dirty[1]));
	assert_true(files_are(path, 2 * MIB, 4096, 2));
	bitmap_free(&dirty[0]);
	bitmap_free(&dirty[1]);
	full_close(&s);
}

/* A single short run is written with FUA and no fdatasync, if all other data is durable. */
static void a_run_is_written_through(void **state)
{
	const char *path = files_new("through", SIZE);
	struct bitmap dirty;
	struct store s;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	if (!full_of(&s)->file.direct) {
		full_close(&s);
		skip();
	}
	dirty = full_dirty(&s);
	/* a regular file always needs an fdatasync */
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 1, false), 1);
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 2, false), 1);
	full_close(&s);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	full_of(&s)->file.block_device = true;
	full_of(&s)->file.fua = true;
	disguised = true;
	/* an earlier daemon may have written anything */
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 3, false), 1);
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 4, false), 0);
	assert_int_equal(flush_run(&s, &dirty, SIZE - MIB, MIB, 4, false), 0);
	assert_true(files_are(path, 0, 4096, 4) && files_are(path, SIZE - MIB, MIB, 4));
	/* a run that is too long, and two runs */
	assert_int_equal(flush_run(&s, &dirty, MIB, MIB + 4096, 5, false), 1);
	full_note(&s, &dirty, 0, 4096);
	assert_int_equal(flush_run(&s, &dirty, MIB, 4096, 5, false), 1);
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 6, false), 0);
	/* WRITE_ZEROES is not durable yet */
	assert_int_equal(full_do(&s, RDMABLK_OP_WRITE_ZEROES, 0, MIB, 4096, NULL), RDMABLK_OK);
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 7, false), 1);
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 8, false), 0);
	/* without FUA the kernel would flush the device's cache with the write */
	full_of(&s)->file.fua = false;
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 7, false), 1);
	full_of(&s)->file.fua = true;
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 8, false), 0);
	/* a failed run is written again by the next FLUSH, with an fdatasync */
	let_writes_reach(MIB);
	assert_int_equal(flush_run(&s, &dirty, 2 * MIB, 4096, 9, true), 0);
	let_writes_reach(RLIM_INFINITY);
	bitmap_clear(&dirty, 0, SIZE / 4096);
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 9, false), 1);
	assert_true(files_are(path, 2 * MIB, 4096, 9));
	assert_int_equal(flush_run(&s, &dirty, 0, 4096, 10, false), 0);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	full_close(&s);
	disguised = false;
	assert_true(files_are(path, 0, 4096, 10));
	bitmap_free(&dirty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read),
		cmocka_unit_test(a_file_is_read_from_the_disk),
		cmocka_unit_test(a_file_that_is_removed),
		cmocka_unit_test(a_file_without_a_name),
		cmocka_unit_test(how_far_it_is),
		cmocka_unit_test(holes_are_zero),
		cmocka_unit_test(limits),
		cmocka_unit_test(the_epoch_of_a_read_only_file_lasts),
		cmocka_unit_test(nor_of_one_that_changes),
		cmocka_unit_test(a_flush_writes_what_is_dirty),
		cmocka_unit_test(an_error_leaves_it_dirty),
		cmocka_unit_test(a_failed_fdatasync_loses_nothing),
		cmocka_unit_test(a_first_fdatasync_that_fails_loses_nothing),
		cmocka_unit_test(the_end_writes_what_a_failed_fdatasync_lost),
		cmocka_unit_test(a_full_file_system),
		cmocka_unit_test(zeroes_and_discards),
		cmocka_unit_test(refused_zeroes_change_nothing),
		cmocka_unit_test(a_file_that_shrinks),
		cmocka_unit_test(the_end_of_a_file_that_shrank),
		cmocka_unit_test(a_block_device),
		cmocka_unit_test(a_run_is_written_through),
		cmocka_unit_test(a_flush_of_nothing_syncs_nothing),
		cmocka_unit_test(flushes_share_a_sync),
	};

	return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
