/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files on a disk that loses writes: uncached ones, and cached ones with a neighbour. The
 * daemon's system calls come here, so that they fail, or other files learn of a loss meanwhile.
 */
#ifndef TARGET_LOSS_H
#define TARGET_LOSS_H

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
#include <cmocka.h>

#include "target_disguise.h"
#include "target_full.h"
#include "target_staged.h"

static const uint8_t beside[RDMABLK_ID_LEN] = { 9 };
static const uint8_t another_disk[RDMABLK_ID_LEN] = { 7, 8 };

struct neighbour {
	struct file file;
	struct staged_file sf;
};

/* Another file in the same directory, which pretends to be on the same disk or on another one */
static inline struct neighbour *neighbour_open(bool same_disk, bool read_only)
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

static inline void neighbour_close(struct neighbour *n)
{
	staged_file_exit(&n->sf);
	file_close(&n->file);
	free(n);
}

static inline unsigned int notes(void)
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

static unsigned int syncs;
static bool syncs_fail;			/* each fdatasync fails */
static unsigned int sync_of_hook;	/* the hook runs when this one ends; 0: off */
static void (*sync_hook)(void);
static void (*stat_hook)(void);		/* called in an fstat */
static unsigned int stats_before;	/* so many fstats after now */
static const struct stat *times_as;	/* each fstat returns its times */
static void (*lock_hook)(void);		/* called at a lock */
static unsigned int locks_before;	/* so many locks after now */
static void (*flock_hook)(void);	/* called at the second flock from now */
static bool lock_ends;			/* the process ends instead of waiting for a lock */
static void (*submit_hook)(void);	/* called at the next submission to a ring */
static int page_cache_errno;		/* error of a failed write that was not reported yet */
static int filter_errno;		/* a filter refuses sync_file_range() with it */
static int64_t still_ms;		/* the clock shows this, and moves only in pauses; 0: off */
static int64_t paused_ms;		/* length of these pauses */
static void (*pause_hook)(void);	/* called in each of these pauses */
static int durable_res, plain_res;	/* results of writes, if not 0 */
static unsigned int durable_times;	/* number of durable writes with that result; 0: all */
static uint64_t bytes_read;		/* by rings */

/* The daemon's system calls come here. */
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
	int ret;

	if (hook && !stats_before--) {
		stat_hook = NULL;
		stats_before = 0;
		hook();
	}
	ret = real(fd, st);
	if (times_as) {
		st->st_mtim = times_as->st_mtim;
		st->st_ctim = times_as->st_ctim;
	}
	return ret;
}

int pthread_mutex_lock(pthread_mutex_t *lock)
{
	int (*real)(pthread_mutex_t *lock) = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	void (*hook)(void) = lock_hook;

	if (hook && !locks_before--) {
		lock_hook = NULL;
		locks_before = 0;
		hook();
	}
	if (lock_ends && pthread_mutex_trylock(lock))
		_exit(0);
	return lock_ends ? 0 : real(lock);
}

int flock(int fd, int how)
{
	static unsigned int flocks;
	void (*hook)(void) = flock_hook;

	flocks = hook ? flocks + 1 : 0;
	if (flocks == 2) {
		flock_hook = NULL;
		hook();
	}
	return (int)syscall(SYS_flock, fd, how);
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
	if (pause_hook)
		pause_hook();
	return 0;
}

static inline void clock_stop(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	still_ms = now.tv_sec * 1000LL + 1000000;
	paused_ms = 0;
}

/* Return: how long the pauses of the stopped clock were, ms */
static inline int64_t clock_go_on(void)
{
	still_ms = 0;
	return paused_ms;
}

/* Only one entry is submitted at a time. */
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

static inline void before_the_nth_sync_ends(unsigned int nth, void (*what)(void))
{
	sync_of_hook = nth;
	sync_hook = what;
}

/* Return: the child; 0: this process is the child, which must not return from the test. */
static inline pid_t child_begin(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	return pid;
}

/* Return: exit status of the child */
static inline int child_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* An uncached file on the disk of a cached one */
static inline struct neighbour *neighbour_of(const struct store *s)
{
	struct neighbour *n = neighbour_open(false, false);
	uint8_t disk[RDMABLK_ID_LEN];

	assert_int_equal(file_disk(&full_of(s)->file, disk), 0);
	staged_file_exit(&n->sf);
	staged_file_init(&n->sf, &n->file, beside, disk);
	return n;
}

static inline bool says_failed(struct store *s)
{
	struct store_status status = { 0 };

	s->ops->status(s, &status);
	return status.failed;
}

/* A cached file of 1 MiB that was flushed with pattern 1, and another file on its disk */
static struct cached {
	char path[240];
	struct store s;
	struct bitmap dirty;
	struct neighbour *n;
} *here;

static inline struct cached *cached_open(const char *name)
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

static inline void cached_close(struct cached *c)
{
	full_close(&c->s);
	bitmap_free(&c->dirty);
	neighbour_close(c->n);
	free(c);
}

static inline unsigned int flush_piece(struct cached *c, uint64_t offset, unsigned int seed)
{
	full_rdma(&c->s, offset, 4096, seed);
	full_note(&c->s, &c->dirty, offset, 4096);
	return full_flush_all(&c->s, &c->dirty);
}

/* The disk has lost what was written, flushed or not. The arena still has it. */
static inline void a_cached_file_is_written_again(void **state)
{
	struct cached *c = cached_open("cached");
	struct neighbour *far = neighbour_open(false, false);

	(void)state;
	files_write(c->path, 0, MIB, 2);
	/* An error on another disk, or of that file alone, changes nothing. */
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
	/* The store thread writes it again after other work, or at the end. */
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

static inline void flush_or_idle(struct cached *c, bool flush)
{
	if (flush)
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	else
		while (c->s.ops->idle(&c->s))
			;
}

/*
 * A loss is announced again and again. The file is compared again only after a while, whether
 * it is flushed all the time or never.
 */
static inline void what_is_told_again_is_compared_later(void **state)
{
	struct cached *c = cached_open("later");

	(void)state;
	clock_stop();
	for (unsigned int i = 0; i < 4; i++) {
		files_write(c->path, 0, MIB, 2);
		staged_fail(&c->n->sf, -EIO);
		flush_or_idle(c, i & 1);
		assert_true(files_are(c->path, 0, MIB, 1));
		files_write(c->path, 0, MIB, 2);
		disk_loss_tell(&c->n->sf.watch, true);
		still_ms += 500000;
		flush_or_idle(c, i & 1);
		assert_true(files_are(c->path, 0, MIB, 2));
		still_ms += 101000;
		flush_or_idle(c, i & 1);
		assert_true(files_are(c->path, 0, MIB, 1));
		assert_false(c->s.ops->behind(&c->s));
	}
	clock_go_on();
	cached_close(c);
}

/* Another file on the disk learns of a loss. */
static inline void staged_loses(void)
{
	staged_fail(&here->n->sf, -EIO);
}

/* The disk loses all data of this file, and another file learns of a loss. */
static inline void disk_loses_all(void)
{
	files_write(here->path, 0, MIB, 2);
	staged_loses();
}

static inline void hears_nothing(struct disk_watch *w, const char *by, bool again)
{
	(void)w;
	(void)by;
	(void)again;
}

static inline bool losses_begin(void)
{
	if (place_dir_make())
		return false;
	sync_errors_init(dir, dir);
	return true;
}

static inline void losses_end(void)
{
	char path[96];

	sync_errors_exit();
	snprintf(path, sizeof(path), "%s/" SYNC_ERRORS_FILE, dir);
	unlink(path);
	place_dir_remove();
}

#endif
