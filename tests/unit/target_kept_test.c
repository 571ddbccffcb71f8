// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cached file whose sessions or daemon end: unflushed writes reach the file, whatever the end
 * was. The trailer of a kept arena says whether the arena or the file counts. And an export
 * grows.
 *
 * Sources: target/store/store_full.c target/store/full.c target/store/arena.c
 *	   target/export/export.c target/store/pages.c
 * Libraries: liburing libcrypto
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include "../../target/base/log.h"
#include "../../target/base/loop.h"
#include "../../target/export/export.h"
#include "../../target/store/arena.h"
#include "target_full.h"

#define SIZE	(24 * MIB)	/* more than is compared at once */

static bool coarse;	/* times of files are in seconds */
static bool ahead;	/* the clock that gives files their times is half a second ahead */

static void later(struct timespec *t)
{
	t->tv_nsec += 500000000;
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
}

int fstat(int fd, struct stat *st)
{
	int (*real)(int fd, struct stat *st) = dlsym(RTLD_NEXT, "fstat");
	int ret = real(fd, st);

	if (!ret && coarse) {
		st->st_mtim.tv_nsec = 0;
		st->st_ctim.tv_nsec = 0;
	}
	if (!ret && ahead) {
		later(&st->st_mtim);
		later(&st->st_ctim);
	}
	return ret;
}

/* Runs the background work of the store to its end. Return: number of steps */
static unsigned int idle_all(struct store *s)
{
	unsigned int steps = 0;

	while (s->ops->idle(s))
		steps++;
	return steps;
}

static void scatter(struct store *s, unsigned int seed)
{
	full_rdma(s, 0, 512, seed);
	full_rdma(s, 5 * MIB + 512, 1536, seed);
	full_rdma(s, 9 * MIB - 4096, 8192, seed);
	full_rdma(s, 17 * MIB, MIB, seed);
	full_rdma(s, SIZE - 512, 512, seed);
}

static bool scattered(const char *path, unsigned int seed)
{
	return files_are(path, 0, 512, seed) && files_zero(path, 512, 4096) &&
	       files_are(path, 5 * MIB + 512, 1536, seed) &&
	       files_are(path, 9 * MIB - 4096, 8192, seed) &&
	       files_are(path, 17 * MIB, MIB, seed) && files_zero(path, 18 * MIB, MIB) &&
	       files_are(path, SIZE - 512, 512, seed);
}

static void what_was_left_is_found_in_the_background(void **state)
{
	const char *path = files_new("left", SIZE);
	struct store s;

	(void)state;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	assert_int_equal(idle_all(&s), 0);
	scatter(&s, 1);
	s.ops->ended(&s, true);		/* the session claims that it flushed all */
	assert_int_equal(idle_all(&s), 0);
	assert_false(scattered(path, 1));
	s.ops->ended(&s, false);
	assert_true(idle_all(&s) > 1);
	assert_true(scattered(path, 1));
	/* parts that did not differ take no space of the file */
	assert_true(files_space(path) < 3 * MIB);
	/* the other way round: the file has data, and the arena has zeroes */
	memset(s.base, 0, SIZE);
	s.ops->ended(&s, false);
	idle_all(&s);
	assert_true(files_zero(path, 0, SIZE));
	full_close(&s);
}

/* Sessions end during the comparison for an earlier one: all of the file is compared again. */
static void ends_add_up(void **state)
{
	const char *path = files_new("adds", SIZE);
	struct store s;

	(void)state;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	s.ops->ended(&s, false);
	assert_true(s.ops->idle(&s));
	scatter(&s, 2);
	s.ops->ended(&s, false);
	s.ops->ended(&s, true);
	idle_all(&s);
	assert_true(scattered(path, 2));
	full_close(&s);
}

static void a_flush_finishes_it_first(void **state)
{
	const char *path = files_new("first", SIZE);
	struct bitmap dirty;
	struct store s;

	(void)state;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	dirty = full_dirty(&s);
	scatter(&s, 1);
	s.ops->ended(&s, false);
	assert_true(s.ops->idle(&s));
	full_rdma(&s, 20 * MIB, 4096, 3);
	full_note(&s, &dirty, 20 * MIB, 4096);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(scattered(path, 1));
	assert_true(files_are(path, 20 * MIB, 4096, 3));
	assert_int_equal(idle_all(&s), 0);
	/* a FLUSH with a range does so, too */
	scatter(&s, 2);
	s.ops->ended(&s, false);
	assert_int_equal(full_do(&s, RDMABLK_OP_FLUSH, 0, 0, 512, NULL), RDMABLK_OK);
	assert_true(scattered(path, 2));
	bitmap_free(&dirty);
	full_close(&s);
}

static void errors_do_not_end_it(void **state)
{
	static const char * const faults[] = {
		"read error EIO at 9M+4K\n", "write error ENOSPC at 17M+1M\n",
		"sync error EIO\n",
	};
	const char *path = files_new("errors", SIZE), *rules = files_path("rules");
	struct store s;

	(void)state;
	files_text(rules, "");
	full_config(path)->fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(faults); i++) {
		/* so that there is something to read */
		files_write(path, 9 * MIB, 8192, 9);
		full_rdma(&s, 9 * MIB, 8192, 9);
		scatter(&s, i + 1);
		s.ops->ended(&s, false);
		files_text(rules, faults[i]);
		idle_all(&s);		/* does not go on for ever */
		assert_int_equal(full_flush_all(&s, NULL),
				 i == 1 ? RDMABLK_R_STORE_SPACE : RDMABLK_R_STORE_IO);
		files_text(rules, "");
		if (i != 1)
			assert_int_equal(full_flush_all(&s, NULL), RDMABLK_OK);
		else
			idle_all(&s);
		assert_true(scattered(path, i + 1));
	}
	/* the background got the error of a lost write-back; the next FLUSH rewrites the data */

	scatter(&s, 5);
	s.ops->ended(&s, false);
	files_text(rules, "sync error EIO count 1\n");
	idle_all(&s);
	files_write(path, 17 * MIB, MIB, 1);
	assert_int_equal(full_flush_all(&s, NULL), RDMABLK_OK);
	assert_true(scattered(path, 5));
	full_close(&s);
}

static void a_flush_nobody_waits_for_stops(void **state)
{
	const char *path = files_new("cancel", SIZE);
	struct store_works works = TAILQ_HEAD_INITIALIZER(works);
	struct store_work w = { .op = RDMABLK_OP_FLUSH };
	struct store s;

	(void)state;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	scatter(&s, 1);
	s.ops->ended(&s, false);
	atomic_store(&w.cancelled, true);
	TAILQ_INSERT_TAIL(&works, &w, entry);
	s.ops->flush(&s, &works);
	assert_int_not_equal(w.status, RDMABLK_OK);
	assert_false(files_are(path, SIZE - 512, 512, 1));
	full_close(&s);
	assert_true(scattered(path, 1));
}

static void the_end_of_the_daemon_waits(void **state)
{
	const char *path = files_new("end", SIZE);
	struct store s;

	(void)state;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	scatter(&s, 1);
	s.ops->ended(&s, false);
	full_close(&s);
	assert_true(scattered(path, 1));
	/* without ended() the daemon knows of no writes */
	assert_int_equal(full_open(&s, full_config(path)), 0);
	scatter(&s, 2);
	full_close(&s);
	assert_true(scattered(path, 1));
}

/* Another process opens the arena, writes to it without a FLUSH, and dies or ends in order. */
static void die_with(const struct export_config *ec, unsigned int seed, uint8_t *epoch,
		     bool in_order)
{
	struct store s;
	int epochs[2], status;
	pid_t child;

	assert_int_equal(pipe(epochs), 0);
	child = fork();
	if (!child) {
		if (full_open(&s, ec))
			_exit(1);
		s.ops->written_by(&s);
		scatter(&s, seed);
		if (write(epochs[1], s.epoch, RDMABLK_ID_LEN) != RDMABLK_ID_LEN)
			_exit(1);
		if (in_order) {
			s.ops->ended(&s, false);
			full_close(&s);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(epochs[0], epoch, RDMABLK_ID_LEN), RDMABLK_ID_LEN);
	close(epochs[0]);
	close(epochs[1]);
}

/* Prepares @full_ec with a kept arena on tmpfs. Return: false: there is no tmpfs */
static bool kept_config(const char *name)
{
	static char arena[160], path[160];

	if (!files_tmpfs("kept", "size=64m"))
		return false;
	snprintf(arena, sizeof(arena), "%s", files_path("kept/arena"));
	snprintf(path, sizeof(path), "%s", files_new(name, SIZE));
	full_config(path)->arena = arena;
	return true;
}

static void kept_end(void)
{
	assert_int_equal(umount(files_path("kept")), 0);
}

static void a_kept_arena_outlives_its_daemon(void **state)
{
	uint8_t epoch[RDMABLK_ID_LEN], again[RDMABLK_ID_LEN];
	struct store s;

	(void)state;
	if (!kept_config("outlives"))
		skip();
	die_with(&full_ec, 3, epoch, true);
	assert_true(scattered(full_ec.file, 3));
	die_with(&full_ec, 2, again, false);
	assert_memory_equal(epoch, again, sizeof(epoch));
	die_with(&full_ec, 1, again, false);	/* dies before it has compared anything */
	assert_memory_equal(epoch, again, sizeof(epoch));
	assert_true(scattered(full_ec.file, 3));
	/* the export cannot be read-only before the file is up to date */
	full_ec.read_only = true;
	assert_int_equal(full_open(&s, &full_ec), -EROFS);
	full_ec.read_only = false;
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_memory_equal(s.epoch, epoch, sizeof(epoch));
	assert_true(full_has(&s, 17 * MIB, MIB, 1));
	assert_true(scattered(full_ec.file, 3));
	idle_all(&s);
	assert_true(scattered(full_ec.file, 1));
	full_close(&s);
	kept_end();
}

static void nobody_had(const struct export_config *ec)
{
	pid_t child = fork();
	struct store s;
	int status;

	if (!child)
		_exit(full_open(&s, ec) != 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* If a daemon dies before a session may write to its arena, the file counts at the next start. */
static void an_arena_that_nobody_had(void **state)
{
	uint8_t epoch[RDMABLK_ID_LEN];
	struct store s;

	(void)state;
	if (!kept_config("nobody"))
		skip();
	die_with(&full_ec, 3, epoch, true);
	nobody_had(&full_ec);
	files_write(full_ec.file, 17 * MIB, MIB, 5);
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_true(full_has(&s, 17 * MIB, MIB, 5));
	full_close(&s);
	assert_true(files_are(full_ec.file, 17 * MIB, MIB, 5));
	kept_end();
}

static void a_clean_end_needs_no_comparison(void **state)
{
	uint8_t epoch[RDMABLK_ID_LEN];
	struct store s;

	(void)state;
	if (!kept_config("clean"))
		skip();
	assert_int_equal(full_open(&s, &full_ec), 0);
	memcpy(epoch, s.epoch, sizeof(epoch));
	scatter(&s, 1);
	s.ops->ended(&s, false);
	full_close(&s);
	assert_true(scattered(full_ec.file, 1));
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_memory_equal(s.epoch, epoch, sizeof(epoch));
	assert_int_equal(idle_all(&s), 0);
	assert_true(full_has(&s, 17 * MIB, MIB, 1));
	full_close(&s);
	/* read-only, and killed: still equal */
	full_ec.read_only = true;
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_memory_equal(s.epoch, epoch, sizeof(epoch));
	full_close(&s);
	full_ec.read_only = false;
	/* another program has written the file meanwhile, so the file counts */
	files_write(full_ec.file, 17 * MIB, MIB, 5);
	assert_int_equal(files_run("fallocate -p -o 0 -l 4096 %s", full_ec.file), 0);
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_memory_not_equal(s.epoch, epoch, sizeof(epoch));
	assert_true(full_has(&s, 17 * MIB, MIB, 5));
	assert_true(full_is_zero(&s, 0, 4096));
	full_close(&s);
	kept_end();
}

/* Another program writes the file, until the file's time of the last write has changed. */
static void another_writes(uint64_t offset, size_t bytes, unsigned int seed)
{
	struct stat had, has;

	assert_int_equal(stat(full_ec.file, &had), 0);
	do {
		files_write(full_ec.file, offset, bytes, seed);
		assert_int_equal(stat(full_ec.file, &has), 0);
	} while (!memcmp(&had.st_mtim, &has.st_mtim, sizeof(had.st_mtim)));
}

/* Opens a kept arena and expects the contents of its file, which another program has written. */
static void file_counts(uint64_t offset, size_t bytes, unsigned int seed)
{
	struct store s;

	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_true(full_has(&s, offset, bytes, seed));
	full_close(&s);
}

static void a_file_changes_while_it_is_exported(void **state)
{
	struct bitmap dirty;
	struct store s;

	(void)state;
	if (!kept_config("changes"))
		skip();
	for (int read_only = 0; read_only < 2; read_only++) {
		full_ec.read_only = read_only;
		assert_int_equal(full_open(&s, &full_ec), 0);
		another_writes(0, MIB, 1 + read_only);
		full_close(&s);
		file_counts(0, MIB, 1 + read_only);
		/* after the arena was filled, before it is served */
		unlink(full_ec.arena);
		s = (struct store){ .ops = &store_full_ops };
		assert_int_equal(s.ops->open(&s, &full_ec), 0);
		another_writes(0, MIB, 3 + read_only);
		assert_int_equal(s.ops->publish(&s), 0);
		full_close(&s);
		file_counts(0, MIB, 3 + read_only);
	}
	/* after a flush of a session */
	full_ec.read_only = false;
	assert_int_equal(full_open(&s, &full_ec), 0);
	s.ops->written_by(&s);
	dirty = full_dirty(&s);
	full_rdma(&s, 4 * MIB, MIB, 5);
	full_note(&s, &dirty, 4 * MIB, MIB);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	bitmap_free(&dirty);
	another_writes(0, MIB, 6);
	full_close(&s);
	file_counts(0, MIB, 6);
	file_counts(4 * MIB, MIB, 5);
	kept_end();
}

/* A program that copies a file sets the time of its last write to that of the other file. */
static void a_time_is_set_back(void **state)
{
	struct timespec times[2];
	struct stat had;
	struct store s;

	(void)state;
	if (!kept_config("back"))
		skip();
	assert_int_equal(full_open(&s, &full_ec), 0);
	full_close(&s);
	assert_int_equal(stat(full_ec.file, &had), 0);
	times[0] = had.st_atim;
	times[1] = had.st_mtim;
	another_writes(0, MIB, 1);
	assert_int_equal(utimensat(AT_FDCWD, full_ec.file, times, 0), 0);
	file_counts(0, MIB, 1);
	kept_end();
}

/* On a file system whose times are in seconds, two changes can have one time. */
static void a_file_changes_in_the_same_second(void **state)
{
	struct stat had, has;
	struct bitmap dirty;
	struct store s;

	(void)state;
	if (!kept_config("second"))
		skip();
	coarse = true;
	for (int flush = 0; flush < 2; flush++) {
		unlink(full_ec.arena);
		files_write(full_ec.file, 0, MIB, 1);
		assert_int_equal(full_open(&s, &full_ec), 0);
		if (flush) {
			s.ops->written_by(&s);
			dirty = full_dirty(&s);
			full_rdma(&s, 0, MIB, 2);
			full_note(&s, &dirty, 0, MIB);
			assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
			bitmap_free(&dirty);
			full_close(&s);
		}
		assert_int_equal(stat(full_ec.file, &had), 0);
		files_write(full_ec.file, 0, MIB, 3 + flush);
		assert_int_equal(stat(full_ec.file, &has), 0);
		assert_int_not_equal(had.st_ctim.tv_sec, has.st_ctim.tv_sec);
		if (!flush)
			full_close(&s);
		file_counts(0, MIB, 3 + flush);
	}
	coarse = false;
	kept_end();
}

/* On a file server whose clock is ahead, a file just written has a time in the future. */
static void a_clock_that_is_ahead_costs_no_comparison(void **state)
{
	uint8_t epoch[RDMABLK_ID_LEN];
	struct store s;

	(void)state;
	if (!kept_config("ahead"))
		skip();
	ahead = true;
	assert_int_equal(full_open(&s, &full_ec), 0);
	memcpy(epoch, s.epoch, sizeof(epoch));
	scatter(&s, 1);
	s.ops->ended(&s, false);
	full_close(&s);
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_memory_equal(s.epoch, epoch, sizeof(epoch));
	full_close(&s);
	ahead = false;
	kept_end();
}

static void a_second_opening_is_refused(void)
{
	struct export_config memory = { .name = "m", .size = MIB, .block = 512,
					.arena = full_ec.arena };
	struct store s = { .ops = &store_memory_ops };

	assert_int_equal(s.ops->open(&s, &memory), -EWOULDBLOCK);
	s.ops->close(&s);
}

static bool has_open(pid_t pid, const char *path)
{
	struct stat st, is;
	char link[64];

	if (stat(path, &st))
		return false;
	for (int fd = 0; fd < 256; fd++) {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
		if (!stat(link, &is) && is.st_dev == st.st_dev && is.st_ino == st.st_ino)
			return true;
	}
	return false;
}

/*
 * Another process locks the arena, and ends when this one has opened it. Before that it makes
 * the arena @bytes long, or removes its name.
 */
static pid_t held_by_another(off_t bytes, bool removed)
{
	const char *arena = full_ec.arena;
	int locked[2];
	pid_t child;
	char c;

	assert_int_equal(pipe(locked), 0);
	child = fork();
	if (!child) {
		int fd = open(arena, O_RDWR | O_CREAT, 0600);

		if (fd < 0 || flock(fd, LOCK_EX) || write(locked[1], "l", 1) != 1)
			_exit(1);
		for (int i = 0; i < 6000 && !has_open(getppid(), arena); i++)
			poll(NULL, 0, 10);
		_exit((bytes && ftruncate(fd, bytes)) || (removed && unlink(arena)));
	}
	assert_int_equal(read(locked[0], &c, 1), 1);
	close(locked[0]);
	close(locked[1]);
	return child;
}

static void a_killed_daemon_is_waited_for(void **state)
{
	static const struct {
		off_t bytes;
		bool removed;
		int ret;
		const char *why;
	} cases[] = {
		{ 0, false, 0, NULL },
		{ 3 * MIB, false, -EINVAL, "bytes long" },
		{ 0, true, -EAGAIN, "replaced or removed" },
	};
	struct store s;
	char why[300];
	int status;
	pid_t child;

	(void)state;
	if (!kept_config("waits"))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unlink(full_ec.arena);
		child = held_by_another(cases[i].bytes, cases[i].removed);
		log_keep(why, sizeof(why));
		assert_int_equal(full_open(&s, &full_ec), cases[i].ret);
		log_keep(NULL, 0);
		if (cases[i].ret)
			assert_non_null(strstr(why, cases[i].why));
		else
			full_close(&s);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	/* the wait for a daemon that lives has a limit */
	arena_wait_ms = 20;
	assert_int_equal(full_open(&s, &full_ec), 0);
	a_second_opening_is_refused();
	full_close(&s);
	arena_wait_ms = 10000;
	kept_end();
}

/* A lost page reads as zeroes in the next daemon, so that one fills the arena from the file. */

static void an_arena_that_has_lost_a_page_is_filled_again(void **state)
{
	uint8_t epoch[RDMABLK_ID_LEN];
	struct bitmap dirty;
	struct store s;

	(void)state;
	if (!kept_config("lost"))
		skip();
	for (int flushed = 0; flushed < 2; flushed++) {
		assert_int_equal(full_open(&s, &full_ec), 0);
		memcpy(epoch, s.epoch, sizeof(epoch));
		s.ops->written_by(&s);
		full_rdma(&s, 4 * MIB, MIB, 5);
		if (flushed) {
			dirty = full_dirty(&s);
			full_note(&s, &dirty, 4 * MIB, MIB);
			assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
			bitmap_free(&dirty);
		} else {
			s.ops->ended(&s, false);
		}
		assert_non_null(s.guard);
		arena_guard_break(s.guard);
		memset(full_at(&s, 4 * MIB), 0, 4096);
		full_close(&s);
		assert_int_equal(full_open(&s, &full_ec), 0);
		assert_memory_not_equal(s.epoch, epoch, sizeof(epoch));
		assert_true(flushed ? full_has(&s, 4 * MIB, MIB, 5) :
				      full_is_zero(&s, 4 * MIB, MIB));
		full_close(&s);
	}
	kept_end();
}

/* After a kill the arena would count, but it has a hole: it is filled from the file again. */
static void a_file_is_read_when_its_arena_has_a_hole(void **state)
{
	uint8_t epoch[RDMABLK_ID_LEN];
	struct store s;

	(void)state;
	if (!kept_config("hole"))
		skip();
	files_write(full_ec.file, 0, SIZE, 4);
	die_with(&full_ec, 5, epoch, false);
	assert_int_equal(files_run("fallocate -p -o 17M -l 4096 %s", full_ec.arena), 0);
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_memory_not_equal(s.epoch, epoch, sizeof(epoch));
	assert_true(full_has(&s, 0, SIZE, 4));
	idle_all(&s);
	full_close(&s);
	assert_true(files_are(full_ec.file, 0, SIZE, 4));
	kept_end();
}

static void an_arena_belongs_to_its_file(void **state)
{
	struct export_config memory = { .name = "m", .size = SIZE, .block = 512 };
	char *first, *another = (char *)files_new("another", SIZE);
	struct store s;

	(void)state;
	if (!kept_config("belongs"))
		skip();
	first = full_ec.file;
	memory.arena = full_ec.arena;
	for (int lost = 0; lost < 2; lost++) {
		assert_int_equal(full_open(&s, &full_ec), 0);
		if (lost)
			arena_guard_break(s.guard);
		full_close(&s);
		full_ec.file = another;
		assert_int_equal(full_open(&s, &full_ec), -EINVAL);
		s = (struct store){ .ops = &store_memory_ops };
		assert_int_equal(s.ops->open(&s, &memory), -EINVAL);
		full_ec.file = first;
		assert_int_equal(full_open(&s, &full_ec), 0);
		full_close(&s);
	}
	/* an arena of memory that has lost a page is not filled from a file */
	unlink(memory.arena);
	s = (struct store){ .ops = &store_memory_ops };
	assert_int_equal(s.ops->open(&s, &memory), 0);
	assert_int_equal(s.ops->publish(&s), 0);
	arena_guard_break(s.guard);
	s.ops->close(&s);
	assert_int_equal(full_open(&s, &full_ec), -EINVAL);
	kept_end();
}

/* Grows the store to the size of its file. */
static int grow(struct store *s, uint64_t *size)
{
	*size = 0;
	return s->ops->grow(s, size, UINT64_MAX);
}

static void growing(void **state)
{
	const char *path = files_new("grow", SIZE);
	struct bitmap dirty;
	uint64_t size;
	struct store s;
	void *base;

	(void)state;
	files_write(path, 0, SIZE, 1);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	base = s.base;
	assert_int_equal(grow(&s, &size), 0);
	assert_int_equal(size, SIZE);
	/* by less than a page */
	assert_int_equal(truncate(path, SIZE + 512), 0);
	files_write(path, SIZE, 512, 2);
	full_rdma(&s, SIZE - 512, 512, 7);
	assert_int_equal(grow(&s, &size), 0);
	assert_int_equal(size, SIZE + 512);
	s.size = size;
	assert_true(full_has(&s, SIZE, 512, 2) && full_has(&s, SIZE - 512, 512, 7));
	/* in the middle of a comparison that has to return to the start of the file */
	s.ops->ended(&s, false);
	assert_true(s.ops->idle(&s));
	full_rdma(&s, 0, 4096, 6);
	s.ops->ended(&s, false);
	assert_true(s.ops->idle(&s));
	assert_int_equal(truncate(path, SIZE + 64 * MIB), 0);
	files_write(path, SIZE + 512, 8192, 3);
	files_write(path, SIZE + 63 * MIB, MIB, 4);
	assert_int_equal(grow(&s, &size), 0);
	assert_int_equal(size, SIZE + 64 * MIB);
	s.size = size;
	assert_ptr_equal(s.base, base);
	assert_true(full_has(&s, 4096, SIZE - 512 - 4096, 1));
	assert_true(full_has(&s, 0, 4096, 6) && full_has(&s, SIZE - 512, 512, 7));
	assert_true(full_has(&s, SIZE, 512, 2) && full_has(&s, SIZE + 512, 8192, 3));
	assert_true(full_is_zero(&s, SIZE + 512 + 8192, 63 * MIB - 8704));
	assert_true(full_has(&s, SIZE + 63 * MIB, MIB, 4));
	dirty = full_dirty(&s);
	full_rdma(&s, SIZE + 32 * MIB, MIB, 5);
	full_note(&s, &dirty, SIZE + 32 * MIB, MIB);
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, SIZE + 32 * MIB, MIB, 5));
	assert_true(files_are(path, SIZE - 512, 512, 7) && files_are(path, 0, 4096, 6));
	bitmap_free(&dirty);
	full_close(&s);
}

/* A growth fails after a part was read. That data is gone when a later growth succeeds. */
static void growing_after_an_error(void **state)
{
	const char *path = files_new("again", SIZE + 512), *rules = files_path("rules");
	uint64_t size = 0;
	struct stat had, has;
	struct store s;

	(void)state;
	files_text(rules, "read error EIO at 30M+4K\n");	/* SIZE is 24M */
	full_config(path)->fault = (char *)rules;
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_int_equal(fstat(s.fd, &had), 0);
	assert_int_equal(truncate(path, SIZE + 8 * MIB), 0);
	files_write(path, SIZE, MIB, 1);
	files_write(path, SIZE + 6 * MIB, MIB, 1);
	assert_int_equal(grow(&s, &size), -EIO);
	/* the failed growth has released its memory */
	assert_int_equal(fstat(s.fd, &has), 0);
	assert_int_equal(has.st_size, had.st_size);
	assert_int_equal(has.st_blocks, had.st_blocks);
	assert_int_equal(truncate(path, SIZE), 0);
	assert_int_equal(truncate(path, SIZE + 8 * MIB), 0);
	files_write(path, SIZE + 7 * MIB, MIB, 2);
	files_text(rules, "");
	assert_int_equal(grow(&s, &size), 0);
	assert_int_equal(size, SIZE + 8 * MIB);
	assert_true(full_is_zero(&s, SIZE, 7 * MIB));
	assert_true(full_has(&s, SIZE + 7 * MIB, MIB, 2));
	full_close(&s);
}

/* The trailer of a kept arena is behind the contents, and cannot move while the daemon runs. */
static void a_kept_arena_does_not_grow(void **state)
{
	const char *path = files_new("stays", MIB);
	uint64_t size = 0;
	struct store s;
	char why[200];

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	full_config(path)->arena = (char *)files_path("kept/stays");
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_int_equal(grow(&s, &size), 0);
	assert_int_equal(size, MIB);
	assert_int_equal(truncate(path, 2 * MIB), 0);
	size = 0;
	log_keep(why, sizeof(why));
	assert_int_equal(grow(&s, &size), -EOPNOTSUPP);
	log_keep(NULL, 0);
	assert_non_null(strstr(why, "a kept arena does not grow while the daemon runs"));
	assert_int_equal(size, MIB);
	assert_true(full_is_zero(&s, 0, MIB));
	full_close(&s);
	umount2(files_path("kept"), MNT_DETACH);
}

static void shrinking_is_refused(void **state)
{
	const char *path = files_new("shrinks", SIZE);
	uint64_t size;
	struct store s;

	(void)state;
	full_config(path)->size = MIB;
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_int_equal(grow(&s, &size), 0);
	assert_int_equal(size, MIB);
	full_close(&s);
	assert_int_equal(full_open(&s, full_config(path)), 0);
	assert_int_equal(truncate(path, MIB), 0);
	assert_int_equal(grow(&s, &size), -ERANGE);
	assert_int_equal(truncate(path, SIZE), 0);
	full_close(&s);
}

static void add_export(struct config *cfg, const char *name, const char *path)
{
	struct export_config *ec = config_export_add(cfg, name, "test");

	ec->file = strdup(path);
	ec->cache = CACHE_FULL;
}

static void one_file_one_export(void **state)
{
	const char *path = files_new("one", MIB), *link_to = files_path("two");
	struct config cfg;

	(void)state;
	assert_int_equal(symlink(path, link_to), 0);
	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("state"));
	assert_int_equal(loop_init(), 0);
	add_export(&cfg, "a", path);
	add_export(&cfg, "b", link_to);
	assert_int_equal(export_open_all(&cfg), -EBUSY);
	assert_non_null(export_find("a"));
	assert_null(export_find("b"));
	assert_int_equal(export_find("a")->cfg->block, 512);
	export_close_all();
	loop_exit();
	config_free(&cfg);
}

static int grown_times, grown_sum;

static void count_grown(struct export *export, int ret)
{
	assert_true(ret >= 0);
	assert_int_equal(export->store.size, SIZE + MIB);
	grown_sum += ret;
	if (++grown_times == 2)
		loop_stop();
	else
		assert_int_equal(export_grow(export, 0, UINT64_MAX, count_grown), 0);
}

/* Of two requests to grow the first finds a larger file, and the second changes nothing. */
static void an_export_grows(void **state)
{
	const char *path = files_new("grows", SIZE);
	struct config cfg;

	(void)state;
	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("state"));
	assert_int_equal(loop_init(), 0);
	assert_int_equal(worker_start(), 0);
	add_export(&cfg, "grows", path);
	assert_int_equal(export_open_all(&cfg), 0);
	assert_int_equal(truncate(path, SIZE + MIB), 0);
	assert_int_equal(export_grow(export_find("grows"), 0, UINT64_MAX,
				     count_grown), 0);
	assert_int_equal(loop_run(), 0);
	assert_int_equal(grown_sum, 1);
	worker_stop();
	export_close_all();
	loop_exit();
	config_free(&cfg);
}

/* Closes unused exports until only @left are not closed. */
static void closed_but(unsigned int left)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int i = 0; i < 30000 && export_close_unused() > left; i++)
		nanosleep(&ms, NULL);
	assert_int_equal(export_close_unused(), left);
}

/* Data in memory reaches the files of all exports, although the file of another export hangs. */
static void a_file_that_hangs_is_alone_at_the_end(void **state)
{
	const char * const paths[] = { files_new("first", SIZE), files_new("hangs", SIZE),
				files_new("last", SIZE) };
	const char *rules = files_path("rules");
	struct lease lease = { 0 };
	struct export *e[3];
	struct config cfg;
	char name[] = "0";

	(void)state;
	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("state"));
	assert_int_equal(loop_init(), 0);
	for (int i = 0; i < 3; i++, name[0]++) {
		add_export(&cfg, name, paths[i]);
		if (i == 1)
			TAILQ_LAST(&cfg.exports, export_config_list)->fault = strdup(rules);
	}
	files_text(rules, "");
	assert_int_equal(export_open_all(&cfg), 0);
	files_text(rules, "write hang\n");
	for (int i = 0; i < 3; i++) {
		e[i] = export_find((char []){ (char)('0' + i), 0 });
		full_rdma(&e[i]->store, 0, MIB, 5);
		e[i]->store.ops->ended(&e[i]->store, false);
	}
	/* a session still has the last export */

	export_lease(e[2], &lease);
	closed_but(1);
	assert_true(files_are(paths[0], 0, MIB, 5));
	export_release(&lease);
	closed_but(1);
	assert_true(files_are(paths[2], 0, MIB, 5));
	assert_true(files_zero(paths[1], 0, MIB));
	files_text(rules, "");
	closed_but(0);
	assert_true(files_are(paths[1], 0, MIB, 5));
	export_close_all();
	loop_exit();
	config_free(&cfg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_left_is_found_in_the_background),
		cmocka_unit_test(ends_add_up),
		cmocka_unit_test(a_flush_finishes_it_first),
		cmocka_unit_test(errors_do_not_end_it),
		cmocka_unit_test(a_flush_nobody_waits_for_stops),
		cmocka_unit_test(the_end_of_the_daemon_waits),
		cmocka_unit_test(a_kept_arena_outlives_its_daemon),
		cmocka_unit_test(an_arena_that_nobody_had),
		cmocka_unit_test(a_clean_end_needs_no_comparison),
		cmocka_unit_test(a_file_changes_while_it_is_exported),
		cmocka_unit_test(a_time_is_set_back),
		cmocka_unit_test(a_file_changes_in_the_same_second),
		cmocka_unit_test(a_clock_that_is_ahead_costs_no_comparison),
		cmocka_unit_test(a_killed_daemon_is_waited_for),
		cmocka_unit_test(an_arena_that_has_lost_a_page_is_filled_again),
		cmocka_unit_test(a_file_is_read_when_its_arena_has_a_hole),
		cmocka_unit_test(an_arena_belongs_to_its_file),
		cmocka_unit_test(growing),
		cmocka_unit_test(growing_after_an_error),
		cmocka_unit_test(a_kept_arena_does_not_grow),
		cmocka_unit_test(shrinking_is_refused),
		cmocka_unit_test(one_file_one_export),
		cmocka_unit_test(an_export_grows),
		cmocka_unit_test(a_file_that_hangs_is_alone_at_the_end),
	};

	return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
