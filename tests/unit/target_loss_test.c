// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a sync that has failed, or may have, means for files on the same disk. Those without a
 * cache fail with the one that was told; cached ones are written again from their arenas. A
 * process that ends at once while something is being made durable will not be told whether it
 * was: the next one has another epoch of the file, and has the same where nothing was.
 *
 * Sources: target/staged/staged_loss.c target/store/disk_loss.c target/store/full.c
 *	   target/store/store_full.c
 */
#include <dlfcn.h>
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/fs.h>
#include <cmocka.h>

#include "target_full.h"
#include "target_staged.h"

static const uint8_t beside[RDMABLK_ID_LEN] = { 9 };
static const uint8_t another_disk[RDMABLK_ID_LEN] = { 7, 8 };

/* Another file in the same directory, or, so to speak, elsewhere. */
static struct neighbour {
	struct file file;
	struct staged_file sf;
} *neighbour_open(bool same_disk, bool read_only)
{
	struct neighbour *n = calloc(1, sizeof(*n));
	char path[96];
	struct file_params params = { .name = "beside", .path = path, .read_only = read_only };
	int fd;

	assert_non_null(n);
	snprintf(path, sizeof(path), "%s/beside", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	close(fd);
	assert_int_equal(file_open(&n->file, &params), 0);
	unlink(path);
	n->file.path = "beside";
	staged_file_init(&n->sf, &n->file, beside, same_disk ? one_disk : another_disk);
	return n;
}

static void neighbour_close(struct neighbour *n)
{
	staged_file_exit(&n->sf);
	file_close(&n->file);
	free(n);
}

/*
 * The end of a process
 */

static const uint8_t mine[RDMABLK_ID_LEN] = { 1, 2, 3 };

/* What is under way when the process ends; false: that cannot be here. */
typedef bool (*under_way)(struct command *c);

static bool nothing(struct command *c)
{
	(void)c;
	return true;
}

static bool a_sync(struct command *c)
{
	fake(&place.sf.sync, 0, 0);
	begin(c, RDMABLK_OP_FLUSH, 0, 0, 0);
	until_kept_back();
	return place.sf.syncing;
}

static bool a_sync_that_has_ended(struct command *c)
{
	begin(c, RDMABLK_OP_FLUSH, 0, 0, 0);
	return end(c) == RDMABLK_OK;
}

static bool a_write_with_fua(struct command *c)
{
	c->io.fua = true;
	begin(c, RDMABLK_OP_WRITE, 0, 0, BLOCK);
	fake(&c->io.src, 0, 0);
	until_kept_back();
	return c->io.counted;
}

static bool a_write_without(struct command *c)
{
	begin(c, RDMABLK_OP_WRITE, 0, 0, BLOCK);
	fake(&c->io.src, 0, 0);
	until_kept_back();
	return true;
}

static bool a_sync_beside_another(struct command *c)
{
	neighbour_open(true, false);
	neighbour_open(true, true);
	neighbour_open(false, false);
	return a_sync(c);
}

static unsigned int syncing_after(under_way begin_it, bool direct)
{
	struct command c = { 0 };
	unsigned int nr;

	place_open(dir, 1U << 20, 512, direct);
	if (direct && !place.file.direct) {
		place_close();
		skip();
	}
	keep_back = false;
	assert_true(begin_it(&c));
	nr = staged_syncing();
	if (keep_back) {
		keep_back = false;
		kept_by->ready = real_ready;
		real_ready(kept_by, kept_res, 0);
	}
	assert_int_equal(end(&c), RDMABLK_OK);
	assert_int_equal(staged_syncing(), 0);
	place_close();
	return nr;
}

/* The end waits for what would count as lost. */
static void a_sync_is_waited_for(void **state)
{
	(void)state;
	assert_int_equal(staged_syncing(), 0);
	assert_int_equal(syncing_after(a_sync, false), 1);
	assert_int_equal(syncing_after(a_sync_that_has_ended, false), 0);
	assert_int_equal(syncing_after(a_write_without, false), 0);
	assert_int_equal(syncing_after(a_write_with_fua, true), 1);
}

/* It has been noted by then, and not by this. */
static bool a_failure(struct command *c)
{
	fake(&place.sf.sync, -EIO, 1);
	begin(c, RDMABLK_OP_FLUSH, 0, 0, 0);
	return end(c) == RDMABLK_R_STORE_IO;
}

static unsigned int notes(void)
{
	char path[96], line[256];
	unsigned int nr = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/" SYNC_ERRORS_FILE, dir);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		nr += line[0] != '\n';
	if (file)
		fclose(file);
	return nr;
}

/* Return: how many losses are noted when a process has ended so. */
static unsigned int ends_during(under_way begin_it, bool direct)
{
	unsigned int before = notes();
	struct command c = { 0 };
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		place_open(dir, 1U << 20, 512, true);
		memcpy(place.sf.identity, mine, sizeof(mine));
		if ((direct && !place.file.direct) || !begin_it(&c))
			_exit(2);
		staged_abandon();
		unlink(place.path);
		/* and nothing comes after that */
		_exit(pthread_mutex_trylock(&place.sf.lock) != EBUSY);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (direct && WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
	return notes() - before;
}

static bool epoch_changes(under_way begin_it, bool direct)
{
	uint8_t before[RDMABLK_ID_LEN], after[RDMABLK_ID_LEN];
	unsigned int nr;

	assert_int_equal(sync_errors_epoch("test", mine, one_disk, before), 0);
	nr = ends_during(begin_it, direct);
	assert_int_equal(sync_errors_epoch("test", mine, one_disk, after), 0);
	assert_int_equal(nr, !!memcmp(before, after, sizeof(after)));
	return nr;
}

static void nothing_is_lost(void **state)
{
	(void)state;
	assert_false(epoch_changes(nothing, false));
	assert_false(epoch_changes(a_sync_that_has_ended, false));
	assert_false(epoch_changes(a_write_without, false));
}

static void a_sync_counts_as_failed(void **state)
{
	(void)state;
	assert_true(epoch_changes(a_sync, false));
	assert_true(epoch_changes(a_sync, false));
}

static void a_loss_is_noted_once(void **state)
{
	(void)state;
	assert_true(epoch_changes(a_failure, false));
}

static void a_write_with_fua_counts_as_failed(void **state)
{
	(void)state;
	assert_true(epoch_changes(a_write_with_fua, true));
}

static bool changes_beside(under_way begin_it, const uint8_t *disk)
{
	uint8_t before[RDMABLK_ID_LEN], after[RDMABLK_ID_LEN];

	assert_int_equal(sync_errors_epoch("beside", beside, disk, before), 0);
	assert_int_equal(ends_during(begin_it, false), 1);
	assert_int_equal(sync_errors_epoch("beside", beside, disk, after), 0);
	return memcmp(before, after, sizeof(after));
}

/* Also of what is not exported in that moment. */
static void all_of_the_disk_count_as_failed(void **state)
{
	(void)state;
	assert_true(changes_beside(a_sync_beside_another, one_disk));
	assert_false(changes_beside(a_sync_beside_another, another_disk));
	assert_true(changes_beside(a_sync, one_disk));
}

/*
 * A failure
 */

/* Return: whether what is on that disk has another epoch after a sync has failed so. */
static bool fails(int ret, const uint8_t *disk)
{
	uint8_t before[RDMABLK_ID_LEN], after[RDMABLK_ID_LEN];
	struct command c = { 0 };

	assert_int_equal(sync_errors_epoch("beside", beside, disk, before), 0);
	fake(&place.sf.sync, ret, 1);
	begin(&c, RDMABLK_OP_FLUSH, 0, 0, 0);
	assert_int_not_equal(end(&c), RDMABLK_OK);
	assert_true(atomic_load(&place.sf.failed));
	assert_int_equal(sync_errors_epoch("beside", beside, disk, after), 0);
	return memcmp(before, after, sizeof(after));
}

/* A reader has nothing to lose; another epoch does not stop it. */
static void fails_beside(int ret, bool same_disk, bool read_only, bool want)
{
	struct neighbour *n;

	place_open(dir, 1U << 20, 512, false);
	n = neighbour_open(same_disk, read_only);
	assert_int_equal(fails(ret, n->sf.watch.disk), same_disk && (want || read_only));
	assert_int_equal(atomic_load(&n->sf.failed), want);
	neighbour_close(n);
	place_close();
}

/* Exported before and after, and not in that moment. */
static void a_file_that_is_closed_has_lost_it_too(void **state)
{
	(void)state;
	place_open(dir, 1U << 20, 512, false);
	assert_true(fails(-EIO, one_disk));
	place_close();
	place_open(dir, 1U << 20, 512, false);
	assert_false(fails(-EIO, another_disk));
	place_close();
}

static void a_cache_is_lost_for_all_of_its_disk(void **state)
{
	(void)state;
	fails_beside(-EIO, true, false, true);
	fails_beside(-EROFS, true, false, true);
	fails_beside(-EINVAL, true, false, true);
	fails_beside(-EIO, false, false, false);
	fails_beside(-EIO, true, true, false);
}

static void other_errors_are_of_one_file(void **state)
{
	static const int errors[] = {
		ENOSPC, EDQUOT, ENOMEM, EFAULT, ESTALE, EFBIG, EACCES, EPERM,
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++)
		fails_beside(-errors[i], true, false, false);
}

/*
 * Cached files on the same disk
 */

static unsigned int syncs;
static bool syncs_fail;			/* each fdatasync */
static unsigned int sync_of_hook;	/* so many ends before the hook's; 0: there is no hook */
static void (*sync_hook)(void);
static void (*stat_hook)(void);		/* of an fstat */
static unsigned int stats_before;	/* it so many others */
static void (*lock_hook)(void);		/* of the next lock */
static bool lock_ends;			/* the process, if it would have to wait for one */
static void (*submit_hook)(void);	/* of the next entries of a ring */
static int page_cache_errno;		/* of a write that failed; not told yet */
static int filter_errno;		/* a filter refuses sync_file_range() so */
static int64_t still_ms;		/* the clock stands still but for pauses; 0: it does not */
static int64_t paused_ms;		/* while it does */
static bool disguised;			/* a file passes for a block device */
static int durable_res, plain_res;	/* of writes, if not 0 */
static unsigned int durable_times;	/* so many durable writes have theirs; 0: all */
static uint64_t bytes_read;		/* by rings */

/* The daemon's calls come here. */
int fdatasync(int fd)
{
	int ret = (int)syscall(SYS_fdatasync, fd);

	syncs++;
	if (sync_of_hook && !--sync_of_hook)
		sync_hook();
	if (!syncs_fail && !page_cache_errno)
		return ret;
	errno = syncs_fail ? EIO : page_cache_errno;
	page_cache_errno = 0;
	return -1;
}

int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned int flags)
{
	assert_true(!flags || flags == (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					SYNC_FILE_RANGE_WAIT_AFTER));
	if (!filter_errno && (!flags || !page_cache_errno))
		return (int)syscall(SYS_sync_file_range, fd, offset, bytes, flags);
	errno = filter_errno ?: page_cache_errno;
	page_cache_errno = 0;
	return -1;
}

int fstat(int fd, struct stat *st)
{
	int (*real)(int fd, struct stat *st) = dlsym(RTLD_NEXT, "fstat");
	void (*hook)(void) = stat_hook;

	if (hook && !stats_before--) {
		stat_hook = NULL;
		stats_before = 0;
		hook();
	}
	return real(fd, st);
}

int pthread_mutex_lock(pthread_mutex_t *lock)
{
	int (*real)(pthread_mutex_t *lock) = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	void (*hook)(void) = lock_hook;

	lock_hook = NULL;
	if (hook)
		hook();
	if (lock_ends && pthread_mutex_trylock(lock))
		_exit(0);
	return lock_ends ? 0 : real(lock);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	if (id != CLOCK_MONOTONIC || !still_ms)
		return (int)syscall(SYS_clock_gettime, id, now);
	*now = (struct timespec){ still_ms / 1000, still_ms % 1000 * 1000000 };
	return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	int64_t ms = time->tv_sec * 1000LL + time->tv_nsec / 1000000;

	if (!still_ms)
		return (int)syscall(SYS_nanosleep, time, left);
	still_ms += ms;
	paused_ms += ms;
	return 0;
}

static void clock_stop(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	still_ms = now.tv_sec * 1000LL + 1000000;
	paused_ms = 0;
}

/* Return: how long it was paused, ms */
static int64_t clock_go_on(void)
{
	still_ms = 0;
	return paused_ms;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct stat st;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!disguised || request != BLKGETSIZE64)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	assert_int_equal(fstat(fd, &st), 0);
	*(uint64_t *)arg = (uint64_t)st.st_size;
	return 0;
}

/* One entry at a time. */
int io_uring_submit_and_wait(struct io_uring *ring, unsigned int nr)
{
	int (*real)(struct io_uring *ring, unsigned int nr) =
		dlsym(RTLD_NEXT, "io_uring_submit_and_wait");
	const struct io_uring_sqe *sqe = &ring->sq.sqes[ring->sq.sqe_head & ring->sq.ring_mask];
	bool write = ring->sq.sqe_head != ring->sq.sqe_tail && sqe->opcode == IORING_OP_WRITE;
	int res = !write ? 0 : sqe->rw_flags & RWF_DSYNC ? durable_res : plain_res;
	void (*hook)(void) = submit_hook;
	int ret;

	submit_hook = NULL;
	if (hook)
		hook();
	for (unsigned int i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++) {
		sqe = &ring->sq.sqes[i & ring->sq.ring_mask];
		if (sqe->opcode == IORING_OP_READ)
			bytes_read += sqe->len;
	}
	ret = real(ring, nr);
	if (res && res == durable_res && durable_times && !--durable_times)
		durable_res = 0;
	if (res)
		ring->cq.cqes[*ring->cq.khead & ring->cq.ring_mask].res = res;
	return ret;
}

static void before_the_nth_sync_ends(unsigned int nth, void (*what)(void))
{
	sync_of_hook = nth;
	sync_hook = what;
}

/* A file without a cache on the disk of a cached one. */
static struct neighbour *neighbour_of(const struct store *s)
{
	struct neighbour *n = neighbour_open(false, false);
	uint8_t disk[RDMABLK_ID_LEN];

	assert_int_equal(file_disk(&full_of(s)->file, disk), 0);
	staged_file_exit(&n->sf);
	staged_file_init(&n->sf, &n->file, beside, disk);
	return n;
}

static bool says_failed(struct store *s)
{
	struct store_status status = { 0 };

	s->ops->status(s, &status);
	return status.failed;
}

/* A cached file of 1 MiB with contents of stamp 1, flushed, and another file on its disk */
static struct cached {
	char path[240];
	struct store s;
	struct bitmap dirty;
	struct neighbour *n;
} *here;

static struct cached *cached_open(const char *name)
{
	struct cached *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	snprintf(c->path, sizeof(c->path), "%s", files_new(name, MIB));
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	c->n = neighbour_of(&c->s);
	c->dirty = full_dirty(&c->s);
	full_rdma(&c->s, 0, MIB, 1);
	full_note(&c->s, &c->dirty, 0, MIB);
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	here = c;
	return c;
}

static void cached_close(struct cached *c)
{
	full_close(&c->s);
	bitmap_free(&c->dirty);
	neighbour_close(c->n);
	free(c);
}

static unsigned int flush_piece(struct cached *c, uint64_t offset, unsigned int seed)
{
	full_rdma(&c->s, offset, 4096, seed);
	full_note(&c->s, &c->dirty, offset, 4096);
	return full_flush_all(&c->s, &c->dirty);
}

/* The disk has lost what was written, flushed or not; the arena has it. */
static void a_cached_file_is_written_again(void **state)
{
	struct cached *c = cached_open("cached");
	struct neighbour *far = neighbour_open(false, false);

	(void)state;
	files_write(c->path, 0, MIB, 2);
	/* another disk, or an error that is that file's own */
	staged_fail(&far->sf, -EIO);
	staged_fail(&c->n->sf, -ENOSPC);
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, MIB, 2));
	staged_fail(&c->n->sf, -EIO);
	assert_true(c->s.ops->behind(&c->s));
	assert_false(says_failed(&c->s));
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, MIB, 1));
	assert_false(c->s.ops->behind(&c->s) || says_failed(&c->s));
	/* by the store thread after other work, or at the end */
	files_write(c->path, 0, MIB, 2);
	staged_fail(&c->n->sf, -EIO);
	while (c->s.ops->idle(&c->s))
		;
	assert_true(files_are(c->path, 0, MIB, 1));
	files_write(c->path, 0, MIB, 2);
	staged_fail(&c->n->sf, -EIO);
	neighbour_close(far);
	full_close(&c->s);
	assert_true(files_are(c->path, 0, MIB, 1));
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	cached_close(c);
}

/* Others go on failing, and nobody flushes this file. */
static void what_is_told_again_is_compared_later(void **state)
{
	struct cached *c = cached_open("later");

	(void)state;
	clock_stop();
	for (unsigned int i = 0; i < 2; i++) {
		files_write(c->path, 0, MIB, 2);
		staged_fail(&c->n->sf, -EIO);
		while (c->s.ops->idle(&c->s))
			;
		assert_true(files_are(c->path, 0, MIB, 1));
		files_write(c->path, 0, MIB, 2);
		disk_loss_tell(&c->n->sf.watch, true);
		still_ms += 500000;
		while (c->s.ops->idle(&c->s))
			;
		assert_true(files_are(c->path, 0, MIB, 2));
		still_ms += 101000;
		while (c->s.ops->idle(&c->s))
			;
		assert_true(files_are(c->path, 0, MIB, 1));
		assert_false(c->s.ops->behind(&c->s));
	}
	clock_go_on();
	cached_close(c);
}

static void abandon_and_end(void)
{
	staged_abandon();
	_exit(0);
}

static void end_badly(void)
{
	_exit(1);
}

/* What a process does when it is told to end at once; returns if that cannot be here. */
static void end_in_a_sync(struct cached *c)
{
	before_the_nth_sync_ends(1, abandon_and_end);
	flush_piece(c, 0, 3);
}

static void end_in_a_durable_write(struct cached *c)
{
	struct file *f = &full_of(&c->s)->file;

	if (!f->direct)
		return;
	f->block_device = true;
	disguised = true;
	f->fua = true;
	submit_hook = abandon_and_end;
	flush_piece(c, 0, 3);
}

static void end_after_a_sync(struct cached *c)
{
	if (flush_piece(c, 0, 3) == RDMABLK_OK)
		abandon_and_end();
}

/* No sync begins any more, and nobody is told that one has ended. */
static void sync_after_the_end(struct cached *c)
{
	staged_abandon();
	lock_ends = true;
	before_the_nth_sync_ends(1, end_badly);
	flush_piece(c, 0, 3);
	_exit(1);
}

/* Return: how often the loss of a disk is noted when a process with cached files ends so. */
static unsigned int noted_at(void (*the_end)(struct cached *c))
{
	unsigned int before = notes();
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		cached_open("beside-it");
		the_end(cached_open("end"));
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
	return notes() - before;
}

/* A sync of a cached file may be the one that hears of a loss, and then nobody is there. */
static void a_sync_of_a_cached_file_counts_as_failed(void **state)
{
	(void)state;
	assert_int_equal(noted_at(end_after_a_sync), 0);
	assert_int_equal(noted_at(end_in_a_sync), 1);
	assert_int_equal(noted_at(sync_after_the_end), 0);
	assert_int_equal(noted_at(end_in_a_durable_write), 1);
}

/* The disk has lost all that this file had, and another one hears of it. */
static void disk_loses_all(void)
{
	files_write(here->path, 0, MIB, 2);
	staged_fail(&here->n->sf, -EIO);
}

/* It has lost what was not synced, not for the first time. */
static void disk_loses_again(void)
{
	files_write(here->path, 8192, 4096, 2);
	disk_loss_tell(&here->n->sf.watch, true);
}

/* The next fstat is that of the stamp, when all that was written counts as synced. */
static void then_disk_loses_again(void)
{
	stat_hook = disk_loses_again;
}

static void a_loss_during_a_flush_is_mended_before_its_answer(void **state)
{
	struct cached *c = cached_open("during");

	(void)state;
	before_the_nth_sync_ends(1, disk_loses_again);
	assert_int_equal(flush_piece(c, 8192, 3), RDMABLK_OK);
	assert_true(files_are(c->path, 8192, 4096, 3));
	before_the_nth_sync_ends(1, disk_loses_all);
	assert_int_equal(flush_piece(c, 8192, 4), RDMABLK_OK);
	assert_true(files_are(c->path, 8192, 4096, 4));
	assert_true(files_are(c->path, 0, 8192, 1));
	before_the_nth_sync_ends(1, then_disk_loses_again);
	assert_int_equal(flush_piece(c, 8192, 4), RDMABLK_OK);
	assert_null(stat_hook);
	assert_true(files_are(c->path, 8192, 4096, 4));
	/* during the sync of that mending */
	before_the_nth_sync_ends(1, disk_loses_all);
	staged_fail(&c->n->sf, -EIO);
	assert_int_equal(flush_piece(c, 0, 5), RDMABLK_OK);
	assert_true(files_are(c->path, 0, 4096, 5) && files_are(c->path, 8192, 4096, 4));
	cached_close(c);
}

/* Of what was compared, written and synced a moment ago, before a FLUSH or in the background */
static void a_loss_after_a_comparison_is_mended(void **state)
{
	struct cached *c = cached_open("after");

	(void)state;
	for (unsigned int idle = 0; idle < 2; idle++) {
		disk_loses_all();
		before_the_nth_sync_ends(2, then_disk_loses_again);
		if (!idle)
			assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		while (c->s.ops->idle(&c->s))
			assert_true(idle);
		assert_true(!sync_of_hook && !stat_hook);
		assert_true(files_are(c->path, 0, MIB, 1));
	}
	cached_close(c);
}

static void a_loss_during_the_last_sync_is_mended(void **state)
{
	struct cached *c = cached_open("last");

	(void)state;
	assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL), RDMABLK_OK);
	before_the_nth_sync_ends(1, disk_loses_all);
	full_close(&c->s);
	assert_int_equal(sync_of_hook, 0);
	assert_true(files_are(c->path, 0, 4096, 1) && files_zero(c->path, 4096, 4096));
	assert_true(files_are(c->path, 8192, MIB - 8192, 1));
	/* a loss that was told again, of what was synced before */
	for (unsigned int late = 0; late < 2; late++) {
		assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
		assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL),
				 RDMABLK_OK);
		before_the_nth_sync_ends(1, late ? then_disk_loses_again : disk_loses_again);
		full_close(&c->s);
		assert_true(sync_of_hook == 0 && !stat_hook);
		assert_true(files_are(c->path, 8192, MIB - 8192, 1));
	}
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	cached_close(c);
}

/* One that is told before the end, or again and again: all of the file is read once. */
static void the_end_compares_once(void **state)
{
	struct cached *c = cached_open("once");

	(void)state;
	for (unsigned int again = 0; again < 3; again++) {
		unsigned int before = syncs;

		files_write(c->path, 8192, 4096, 2);
		disk_loss_tell(&c->n->sf.watch, again);
		if (again == 2)		/* and none of it is left to mend but the comparison */
			assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		bytes_read = 0;
		full_close(&c->s);
		assert_int_equal(bytes_read, MIB);
		assert_int_equal(syncs - before, again == 2 ? 3 : 2);
		assert_true(files_are(c->path, 0, MIB, 1));
		assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	}
	cached_close(c);
}

static void then_disk_loses_all(void)
{
	lock_hook = disk_loses_all;
}

/* The last look has seen nothing, and the watch has not ended. */
static void a_loss_after_the_last_look_is_mended(void **state)
{
	struct cached *c = cached_open("late");

	(void)state;
	assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL), RDMABLK_OK);
	before_the_nth_sync_ends(1, then_disk_loses_all);
	full_close(&c->s);
	assert_true(sync_of_hook == 0 && !lock_hook);
	assert_true(files_are(c->path, 0, 4096, 1) && files_zero(c->path, 4096, 4096));
	assert_true(files_are(c->path, 8192, MIB - 8192, 1));
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	cached_close(c);
}

/* In an arena on tmpfs. */
static struct cached *kept_open(const char *name)
{
	struct cached *c = cached_open(name);

	full_close(&c->s);
	full_config(c->path)->arena = (char *)files_path("kept/arena");
	assert_int_equal(full_open(&c->s, &full_ec), 0);
	return c;
}

/* Return: whether its next daemon compares it. */
static bool kept_is_newer(struct cached *c)
{
	bool newer;

	c->s = (struct store){ .ops = &store_full_ops };
	assert_int_equal(c->s.ops->open(&c->s, &full_ec), 0);
	newer = c->s.newer;
	assert_int_equal(c->s.ops->publish(&c->s), 0);
	return newer;
}

/* While the stamp of the file is taken; nobody has ever written the arena */
static void a_kept_arena_is_newer_than_what_the_end_has_lost(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_open("stamp");
	full_close(&c->s);
	assert_false(kept_is_newer(c));
	stats_before = 1;
	stat_hook = disk_loses_all;
	full_close(&c->s);
	assert_null(stat_hook);
	assert_true(files_are(c->path, 0, MIB, 2));
	assert_true(kept_is_newer(c));
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, MIB, 1));
	cached_close(c);
	assert_int_equal(umount2(files_path("kept"), MNT_DETACH), 0);
}

/* Before anybody has written the arena; then the daemon is killed */
static void a_kept_arena_is_newer_than_what_was_not_mended(void **state)
{
	struct cached *c;
	int status;
	pid_t pid;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_open("killed");
	full_close(&c->s);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (kept_is_newer(c))
			_exit(1);
		staged_fail(&c->n->sf, -EIO);
		c->s.ops->idle(&c->s);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(kept_is_newer(c));
	cached_close(c);
	assert_int_equal(umount2(files_path("kept"), MNT_DETACH), 0);
}

static unsigned int losses_left;	/* for disk_loses_often() */
static atomic_bool *waiter;		/* to be cancelled at the last of them; or NULL */

/* Others tell of a loss during each sync, for a while. */
static void disk_loses_often(void)
{
	disk_loses_all();
	if (--losses_left)
		before_the_nth_sync_ends(1, disk_loses_often);
	else if (waiter)
		atomic_store(waiter, true);
}

static void lose_often(unsigned int times)
{
	losses_left = times;
	before_the_nth_sync_ends(1, disk_loses_often);
}

/* Syncs that succeed are no failures, however often others have told of one meanwhile. */
static void others_that_fail_fail_no_flush(void **state)
{
	struct cached *c = cached_open("often");
	unsigned int before = syncs;

	(void)state;
	clock_stop();
	lose_often(20);
	assert_int_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_in_range(clock_go_on(), 1000, 30000);
	assert_true(syncs - before >= 20 && !losses_left);
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	/* the same in the background, which does not wait, and at the end */
	clock_stop();
	lose_often(20);
	staged_fail(&c->n->sf, -EIO);
	for (unsigned int i = 0; losses_left && i < 100; i++)
		c->s.ops->idle(&c->s);
	assert_int_equal(losses_left, 0);
	assert_int_equal(clock_go_on(), 0);
	clock_stop();
	lose_often(20);
	staged_fail(&c->n->sf, -EIO);
	full_close(&c->s);
	assert_in_range(clock_go_on(), 1000, 30000);
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	cached_close(c);
}

static void disk_loses_during_long_work(void)
{
	still_ms += 3600000;
	disk_loses_often();
}

/* A file may be so large that its comparison takes an hour. */
static void a_long_comparison_may_be_repeated(void **state)
{
	struct cached *c = cached_open("long");

	(void)state;
	clock_stop();
	losses_left = 2;
	before_the_nth_sync_ends(1, disk_loses_during_long_work);
	assert_int_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_int_equal(losses_left, 0);
	clock_go_on();
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	cached_close(c);
}

/* What an earlier daemon has written may not be synced; nobody knows what that was. */
static void a_loss_before_the_first_sync_may_be_anything(void **state)
{
	struct cached *c = cached_open("before");

	(void)state;
	full_close(&c->s);
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	disk_loses_again();
	assert_int_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	cached_close(c);
}

/* A disk that loses everything each time does not keep anybody for ever. */
static void mending_ends(void **state)
{
	struct cached *c = cached_open("ends");
	unsigned int before = syncs;

	(void)state;
	clock_stop();
	lose_often(1000);
	assert_int_equal(flush_piece(c, 0, 3), RDMABLK_R_STORE_IO);
	assert_in_range(clock_go_on(), 50000, 70000);
	assert_in_range(syncs - before, 30, 200);
	before_the_nth_sync_ends(0, NULL);
	assert_true(c->s.ops->behind(&c->s) && !says_failed(&c->s));
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	cached_close(c);
}

/* The second FLUSH goes on when the session of the first has ended. */
static void mending_ends_when_nobody_waits(void **state)
{
	struct store_works works = TAILQ_HEAD_INITIALIZER(works);
	struct store_work w[2] = {
		{ .op = RDMABLK_OP_FLUSH }, { .op = RDMABLK_OP_FLUSH },
	};
	struct cached *c = cached_open("nobody");

	(void)state;
	full_rdma(&c->s, 0, 4096, 3);
	full_note(&c->s, &c->dirty, 0, 4096);
	w[0].dirty = &c->dirty;
	TAILQ_INSERT_TAIL(&works, &w[0], entry);
	clock_stop();
	lose_often(10);
	waiter = &w[0].cancelled;
	c->s.ops->flush(&c->s, &works);
	assert_int_not_equal(w[0].status, RDMABLK_OK);
	assert_int_equal(losses_left, 0);
	assert_true(bitmap_any(&c->dirty));
	atomic_store(&w[0].cancelled, false);
	TAILQ_INSERT_TAIL(&works, &w[1], entry);
	lose_often(10);
	c->s.ops->flush(&c->s, &works);
	assert_int_equal(w[1].status, RDMABLK_OK);
	assert_in_range(clock_go_on(), 1000, 30000);
	waiter = NULL;
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	cached_close(c);
}

/* Its own sync fails: files without a cache have lost writes, and other arenas have them. */
static void a_cached_file_tells_others_of_its_disk(void **state)
{
	char rules[240];
	struct cached *c = cached_open("tells"), *other = cached_open("told");
	struct neighbour *far = neighbour_open(false, false);
	unsigned int noted;

	(void)state;
	full_close(&c->s);
	snprintf(rules, sizeof(rules), "%s", files_path("rules"));
	files_text(rules, "sync error ENOSPC\n");
	full_config(c->path)->fault = rules;
	sync_errors_exit();	/* nothing but cached files is open from here on */
	assert_int_equal(full_open(&c->s, &full_ec), 0);
	noted = notes();
	assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_false(atomic_load(&c->n->sf.failed) || other->s.ops->behind(&other->s));
	assert_int_equal(notes(), noted);
	files_text(rules, "sync error EIO\n");
	assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(notes(), noted + 1);
	assert_true(atomic_load(&c->n->sf.failed) && other->s.ops->behind(&other->s));
	assert_false(atomic_load(&far->sf.failed));
	assert_true(says_failed(&c->s) && !says_failed(&other->s));
	files_text(rules, "");
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_false(says_failed(&c->s));
	assert_true(files_are(c->path, 0, 4096, 3));
	neighbour_close(far);
	cached_close(other);
	cached_close(c);
}

/* What the kernel's own write of a page could not do is no loss of the disk's cache. */
static void an_error_of_the_page_cache_is_its_own(void **state)
{
	static const int errors[] = { EIO, EPERM, ENOSYS };
	struct cached *c = cached_open("own");
	unsigned int noted = notes();

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		page_cache_errno = errors[i];
		assert_int_not_equal(flush_piece(c, 0, 3 + i), RDMABLK_OK);
		assert_false(page_cache_errno || atomic_load(&c->n->sf.failed));
		assert_int_equal(notes(), noted);
		files_write(c->path, 0, 4096, 2);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_true(files_are(c->path, 0, 4096, 3 + i));
	}
	cached_close(c);
}

/* Where sync_file_range() is refused, the fdatasync alone tells all errors. */
static void a_filter_of_system_calls(void **state)
{
	static const int errors[] = { EPERM, ENOSYS, EACCES };
	struct cached *c = cached_open("filter");

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		full_close(&c->s);
		filter_errno = errors[i];
		assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
		assert_int_equal(flush_piece(c, 0, 3 + i), RDMABLK_OK);
		page_cache_errno = EIO;
		assert_int_equal(flush_piece(c, 0, 4 + i), RDMABLK_R_STORE_IO);
		assert_int_equal(page_cache_errno, 0);
		files_write(c->path, 0, 4096, 2);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_true(files_are(c->path, 0, 4096, 4 + i));
	}
	filter_errno = 0;
	cached_close(c);
}

static const struct durable_case {
	int durable, plain;		/* results of writes; 0: they succeed */
	bool once;			/* of the first durable one only */
	bool sync;			/* the fdatasync fails, too */
	bool fails, lost;		/* what becomes of the FLUSH, and of the disk */
} durable_cases[] = {
	{ 0 },
	/* a bad sector that the cache does not take either, or that it takes */
	{ .durable = -EIO, .plain = -EIO, .fails = true },
	{ .durable = -EIO },
	{ .durable = -EIO, .sync = true, .fails = true, .lost = true },
	/* what no flush of a cache returns; the second is a missing page of the arena */
	{ .durable = -EOPNOTSUPP },
	{ .durable = -EFAULT },
	{ .durable = -EFAULT, .once = true },
	{ .durable = -EFAULT, .plain = -EIO, .fails = true },
	/* a flush may have failed */
	{ .durable = -EIO, .once = true, .lost = true },
	{ .durable = -EIO, .plain = -ENOSPC, .fails = true, .lost = true },
};

/* Nor is an error of a durable write, unless it may have been one of a flush. */
static void a_durable_write_has_errors_of_two_kinds(void **state)
{
	struct cached *c = cached_open("fua");
	struct file *f = &full_of(&c->s)->file;

	(void)state;
	if (!f->direct) {
		cached_close(c);
		skip();
	}
	f->block_device = true;
	disguised = true;
	f->fua = true;
	clock_stop();
	for (unsigned int i = 0; i < ARRAY_SIZE(durable_cases); i++) {
		const struct durable_case *k = &durable_cases[i];
		unsigned int noted = notes(), before = syncs;

		still_ms += 60000;
		durable_res = k->durable;
		plain_res = k->plain;
		durable_times = k->once;
		syncs_fail = k->sync;
		assert_int_equal(flush_piece(c, 0, 3 + i) != RDMABLK_OK, k->fails);
		assert_int_equal(atomic_exchange(&c->n->sf.failed, false), k->lost);
		assert_int_equal(notes() - noted, k->lost);
		if (!k->durable)
			assert_int_equal(syncs, before);
		durable_res = 0;
		plain_res = 0;
		syncs_fail = false;
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_true(files_are(c->path, 0, 4096, 3 + i));
	}
	clock_go_on();
	f->block_device = false;
	disguised = false;
	cached_close(c);
}

/* Their first and their end have files compared; what is between, only what is not synced. */
static void failures_in_a_row(void **state)
{
	struct cached *c = cached_open("row"), *other = cached_open("other");
	uint8_t epoch[RDMABLK_ID_LEN];
	unsigned int noted = notes();

	(void)state;
	clock_stop();
	syncs_fail = true;
	assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_int_equal(paused_ms, 0);
	assert_int_equal(notes(), noted + 1);
	syncs_fail = false;
	files_write(other->path, 0, MIB, 2);
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	assert_true(files_are(other->path, 0, MIB, 1));
	files_write(other->path, 0, MIB, 2);
	for (unsigned int i = 0; i < 3; i++) {
		syncs_fail = true;
		assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_int_equal(paused_ms, 1000 * (i + 1));	/* others get some rest */
		syncs_fail = false;
		assert_true(other->s.ops->behind(&other->s));
		assert_int_equal(flush_piece(other, 0, 4), RDMABLK_OK);
		assert_true(files_are(other->path, 0, 4096, 4));
		assert_true(files_are(other->path, 4096, MIB - 4096, 2));
		/* it is noted again when there is a file that does not have the first note */
		assert_int_equal(notes(), noted + 1 + i);
		assert_int_equal(sync_errors_epoch("beside", beside, one_disk, epoch), 0);
	}
	/* and after a while, because another process may have one */
	syncs_fail = true;
	assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(notes(), noted + 4);
	assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(notes(), noted + 4);
	still_ms += 60000;
	assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(notes(), noted + 5);
	clock_go_on();
	syncs_fail = false;
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	assert_true(files_are(other->path, 4096, MIB - 4096, 1));
	assert_false(other->s.ops->behind(&other->s));
	/* a file that is closed before their end is compared then */
	files_write(other->path, 0, MIB, 2);
	disk_loss_tell(&c->n->sf.watch, true);
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	assert_true(files_are(other->path, 4096, MIB - 4096, 2));
	full_close(&other->s);
	assert_true(files_are(other->path, 4096, MIB - 4096, 1));
	assert_int_equal(full_open(&other->s, full_config(other->path)), 0);
	cached_close(other);
	cached_close(c);
}

/* A failure that was not noted is noted at the end of the row: another process may have a file. */
static void the_end_of_a_row_is_noted(void **state)
{
	struct cached *c = cached_open("noted");
	unsigned int noted = notes();

	(void)state;
	for (unsigned int failures = 1; failures < 4; failures++) {
		clock_stop();
		still_ms += 60000 * failures;
		syncs_fail = true;
		for (unsigned int i = 0; i < failures; i++)
			assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
		assert_int_equal(notes(), noted + 1);
		syncs_fail = false;
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		noted += 1 + (failures > 1);
		assert_int_equal(notes(), noted);
	}
	clock_go_on();
	cached_close(c);
}

/* Others get some rest, too, when good syncs come between. */
static void failures_by_turns(void **state)
{
	struct cached *c = cached_open("turns");

	(void)state;
	clock_stop();
	for (unsigned int i = 0; i < 3; i++) {
		syncs_fail = true;
		assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
		assert_int_equal(paused_ms, 1000 * i);
		syncs_fail = false;
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	}
	clock_go_on();
	cached_close(c);
}

/*
 * Two files on a disk that fails tell each other. Each says so after one sync, before it reads
 * all of its file, and has nothing more to do by itself.
 */
static void files_do_not_keep_each_other_busy(void **state)
{
	struct cached *c = cached_open("one"), *other = cached_open("two");
	struct store *stores[] = { &other->s, &c->s };
	struct store_status status;
	unsigned int before = syncs;

	(void)state;
	clock_stop();
	syncs_fail = true;
	assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_int_equal(syncs, before + 1);
	for (unsigned int i = 0; i < 6; i++) {
		assert_false(stores[i % 2]->ops->idle(stores[i % 2]));
		assert_int_equal(syncs, before + 2 + i);
	}
	assert_int_not_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	other->s.ops->status(&other->s, &status);
	assert_int_equal(status.comparing, MIB);
	clock_go_on();
	syncs_fail = false;
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, 4096, 3));
	cached_close(other);
	cached_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sync_is_waited_for),
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(a_sync_counts_as_failed),
		cmocka_unit_test(a_loss_is_noted_once),
		cmocka_unit_test(a_write_with_fua_counts_as_failed),
		cmocka_unit_test(all_of_the_disk_count_as_failed),
		cmocka_unit_test(a_cache_is_lost_for_all_of_its_disk),
		cmocka_unit_test(a_file_that_is_closed_has_lost_it_too),
		cmocka_unit_test(other_errors_are_of_one_file),
		cmocka_unit_test(a_cached_file_is_written_again),
		cmocka_unit_test(a_sync_of_a_cached_file_counts_as_failed),
		cmocka_unit_test(what_is_told_again_is_compared_later),
		cmocka_unit_test(a_loss_during_a_flush_is_mended_before_its_answer),
		cmocka_unit_test(a_loss_after_a_comparison_is_mended),
		cmocka_unit_test(a_loss_during_the_last_sync_is_mended),
		cmocka_unit_test(the_end_compares_once),
		cmocka_unit_test(a_loss_after_the_last_look_is_mended),
		cmocka_unit_test(a_kept_arena_is_newer_than_what_the_end_has_lost),
		cmocka_unit_test(a_kept_arena_is_newer_than_what_was_not_mended),
		cmocka_unit_test(others_that_fail_fail_no_flush),
		cmocka_unit_test(a_long_comparison_may_be_repeated),
		cmocka_unit_test(a_loss_before_the_first_sync_may_be_anything),
		cmocka_unit_test(mending_ends),
		cmocka_unit_test(mending_ends_when_nobody_waits),
		cmocka_unit_test(a_cached_file_tells_others_of_its_disk),
		cmocka_unit_test(an_error_of_the_page_cache_is_its_own),
		cmocka_unit_test(a_filter_of_system_calls),
		cmocka_unit_test(a_durable_write_has_errors_of_two_kinds),
		cmocka_unit_test(failures_in_a_row),
		cmocka_unit_test(the_end_of_a_row_is_noted),
		cmocka_unit_test(failures_by_turns),
		cmocka_unit_test(files_do_not_keep_each_other_busy),
	};
	char path[96];
	int failed;

	if (place_dir_make())
		return 1;
	sync_errors_init(dir, dir);
	failed = cmocka_run_group_tests(tests, files_setup, files_teardown);
	sync_errors_exit();
	snprintf(path, sizeof(path), "%s/" SYNC_ERRORS_FILE, dir);
	unlink(path);
	place_dir_remove();
	return failed;
}
