// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * If an arena loses pages, its export ends, and no other. The zeroes that threads read in their
 * place are not written to a file. The file of an arena must be the daemon's own. A memory store
 * in a kept arena that has lost pages keeps the other ones, and gets a new epoch.
 *
 * Sources: target/store/arena.c target/export/export.c target/store/full.c
 *	   target/store/store_memory.c
 * Libraries: libcrypto libsystemd liburing
 */
#include <semaphore.h>
#include <sys/syscall.h>

#include "../../target/base/log.h"
#include "../../target/store/arena.h"
#include "../../target/store/store_thread.h"
#include "target_full.h"
#include "target_last_writer.h"

static unsigned int hits;	/* exports found broken */
static struct export *last;

static void hit(void)
{
	struct export *e;

	while ((e = export_broken())) {
		hits++;
		last = e;
	}
	loop_stop();
}

static void give_up(struct loop_timer *timer)
{
	(void)timer;
	fail_msg("nobody has woken the loop");
}

static void begin(const char *first, const char *second)
{
	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("state"));
	config_export_spec(&cfg, first);
	if (second)
		config_export_spec(&cfg, second);
	assert_int_equal(cfg.errors, 0);
	assert_int_equal(loop_init(), 0);
	assert_int_equal(arena_guard_init(hit), 0);
	assert_int_equal(export_open_all(&cfg), 0);
	hits = 0;
	last = NULL;
}

static void end(void)
{
	export_close_all();
	arena_guard_exit();
	loop_exit();
	config_free(&cfg);
}

/* Runs the loop until hit() was called for a broken arena. */
static void run_until_hit(void)
{
	struct loop_timer limit = { .expired = give_up };

	loop_timer_start(&limit, 60000);
	assert_int_equal(loop_run(), 0);
	loop_timer_stop(&limit);
}

static struct store_work work;
static sem_t work_over;

static void work_done(struct store_work *w)
{
	assert_ptr_equal(w, &work);
	sem_post(&work_over);
}

/* WRITE_ZEROES of 4 KiB in the store thread of the export. Return: enum rdmablk_reason */
static unsigned int zeroes(struct export *e, uint64_t offset)
{
	work = (struct store_work){
		.op = RDMABLK_OP_WRITE_ZEROES, .offset = offset, .bytes = 4096,
		.done = work_done,
	};
	sem_init(&work_over, 0, 0);
	store_thread_submit(e->store.thread, &work);
	sem_wait(&work_over);
	return work.status;
}

static void one_ends_and_the_other_goes_on(void **state)
{
	struct export *a, *b;

	(void)state;
	begin("a,memory,size=8M,hugepages=no", "b,memory,size=8M,hugepages=no");
	a = export_find("a");
	b = export_find("b");
	assert_int_equal(zeroes(a, 4 * MIB), RDMABLK_OK);
	assert_int_equal(hits, 0);
	assert_int_equal(ftruncate(a->store.fd, 2 * MIB), 0);
	assert_int_equal(zeroes(a, 4 * MIB), RDMABLK_R_STORE_FAILED);
	if (!hits)
		run_until_hit();
	assert_int_equal(hits, 1);
	assert_ptr_equal(last, a);
	assert_true(a->broken);
	assert_false(b->broken);
	/* other pages of the broken arena cannot be used any more, either */
	assert_int_equal(zeroes(a, MIB), RDMABLK_R_STORE_FAILED);
	assert_null(export_broken());
	memset((char *)b->store.base + MIB, 7, 4096);
	assert_int_equal(zeroes(b, MIB), RDMABLK_OK);
	assert_int_equal(((char *)b->store.base)[MIB], 0);
	/* after a reopen the arena has all of its pages */
	export_quiet(a);
	export_close(a);
	export_renew(a, a->cfg);
	assert_int_equal(export_open(a), 0);
	assert_int_equal(export_begin(a), 0);
	assert_false(a->broken);
	assert_int_equal(zeroes(a, 4 * MIB), RDMABLK_OK);
	end();
}

/* A SIGBUS for a page outside all arenas that no thread has touched leaves the guard on. */
static void an_error_elsewhere_leaves_the_guard(void **state)
{
	siginfo_t info = { .si_signo = SIGBUS, .si_code = BUS_MCEERR_AO };

	(void)state;
	begin("a,memory,size=8M,hugepages=no", NULL);
	info.si_addr = &info;
	assert_int_equal(syscall(SYS_rt_sigqueueinfo, getpid(), SIGBUS, &info), 0);
	assert_int_equal(ftruncate(export_find("a")->store.fd, 2 * MIB), 0);
	assert_int_equal(zeroes(export_find("a"), 4 * MIB), RDMABLK_R_STORE_FAILED);
	if (!hits)
		run_until_hit();
	assert_int_equal(hits, 1);
	end();
}

static void the_loop_itself_may_touch_it(void **state)
{
	struct export *e;
	char spec[400];

	(void)state;
	if (!files_tmpfs("kept", "size=32m"))
		skip();
	snprintf(spec, sizeof(spec), "a,memory,size=8M,arena=%s", files_path("kept/arena"));
	begin(spec, NULL);
	e = export_find("a");
	assert_int_equal(truncate(files_path("kept/arena"), 8 * MIB), 0);
	let_write("a", &lease_a);	/* writes to the trailer, the last page */
	run_until_hit();
	assert_int_equal(hits, 1);
	assert_ptr_equal(last, e);
	end();
	umount2(files_path("kept"), MNT_DETACH);
}

/* A cached file of 8 MiB with data of stamp 1, whose arena is guarded */
static void open_guarded(const char *path, struct store *s)
{
	files_write(path, 0, 8 * MIB, 1);
	assert_int_equal(loop_init(), 0);
	assert_int_equal(arena_guard_init(hit), 0);
	full_config(path)->huge_pages = HUGE_NO;
	assert_int_equal(full_open(s, &full_ec), 0);
}

/*
 * The zeroes in place of missing pages are not written to the file: neither by a FLUSH, nor by
 * a comparison, nor at the end.
 */
static void zeroes_do_not_get_into_the_file(void **state)
{
	const char *path = files_new("disk", 8 * MIB);
	struct bitmap dirty;
	struct store s;

	(void)state;
	open_guarded(path, &s);
	dirty = full_dirty(&s);
	full_rdma(&s, 0, 4096, 2);
	full_note(&s, &dirty, 0, 8 * MIB);
	assert_int_equal(ftruncate(s.fd, 2 * MIB), 0);
	assert_int_not_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(bitmap_any(&dirty));
	s.ops->ended(&s, false);
	while (s.ops->idle(&s))
		;
	assert_true(arena_guard_broken(s.guard));
	full_close(&s);
	bitmap_free(&dirty);
	assert_true(files_are(path, 2 * MIB, 6 * MIB, 1));
	arena_guard_exit();
	loop_exit();
}

static void comparing_finds_no_zeroes_either(void **state)
{
	const char *path = files_new("disk", 8 * MIB);
	struct store s;

	(void)state;
	open_guarded(path, &s);
	assert_int_equal(ftruncate(s.fd, 3 * MIB), 0);
	s.ops->ended(&s, false);
	while (s.ops->idle(&s))
		;
	assert_true(arena_guard_broken(s.guard));
	full_close(&s);
	assert_true(files_are(path, 0, 8 * MIB, 1));
	arena_guard_exit();
	loop_exit();
}

/*
 * A huge page is lost while a FLUSH reads it: some of it has been read, and is about to be
 * written. The guard replaces the whole huge page by zeroes, which must not be written.
 */
static void nor_do_those_of_a_huge_page(void **state)
{
	const char *path = files_new("disk", 8 * MIB);
	struct bitmap dirty;
	struct store s;

	(void)state;
	open_guarded(path, &s);
	arena_guard_del(s.guard);
	s.guard = arena_guard_add(s.base, 8 * MIB, 2 * MIB);
	assert_non_null(s.guard);
	dirty = full_dirty(&s);
	full_rdma(&s, 4 * MIB, 4 * MIB, 2);
	full_note(&s, &dirty, 4 * MIB, 4 * MIB);
	assert_int_equal(ftruncate(s.fd, 5 * MIB), 0);
	assert_int_not_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(full_is_zero(&s, 4 * MIB, 2 * MIB));
	assert_true(files_are(path, 0, 8 * MIB, 1));
	full_close(&s);
	bitmap_free(&dirty);
	assert_true(files_are(path, 0, 8 * MIB, 1));
	arena_guard_exit();
	loop_exit();
}

/* Return: result of arena_open(); @why gets the message */
static int open_arena(const char *path, char *why, size_t room)
{
	struct export_config ec = { .name = "a", .arena = (char *)path, .size = MIB };
	struct store s = { .size = MIB, .fd = -1 };
	int ret;

	log_keep(why, room);
	ret = arena_open(&s, &ec);
	log_keep(NULL, 0);
	if (s.fd >= 0)
		close(s.fd);
	return ret;
}

static void expect_refused(const char *path, int want, const char *text)
{
	char why[256];

	assert_int_equal(open_arena(path, why, sizeof(why)), want);
	if (!strstr(why, text))
		fail_msg("%s", why);
}

static void an_arena_is_the_daemons_own(void **state)
{
	const char *path;
	char why[256], link[300];

	(void)state;
	if (!files_tmpfs("kept", "size=32m"))
		skip();
	path = files_path("kept/arena");
	snprintf(link, sizeof(link), "%s/kept/link", files_dir);
	assert_int_equal(open_arena(path, why, sizeof(why)), 1);
	assert_int_equal(open_arena(path, why, sizeof(why)), 0);
	assert_int_equal(symlink(path, link), 0);
	expect_refused(link, -ELOOP, "symbolic link");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(chmod(path, 0620), 0);
	expect_refused(path, -EPERM, "mode 0620");
	assert_int_equal(chmod(path, 0602), 0);
	expect_refused(path, -EPERM, "mode 0602");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(open_arena(path, why, sizeof(why)), 0);
	assert_int_equal(syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, link, 0), 0);
	expect_refused(path, -EPERM, "has 2 names");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(chown(path, 12345, -1), 0);
	expect_refused(path, -EPERM, "belongs to user 12345");
	umount2(files_path("kept"), MNT_DETACH);
}

/*
 * Memory in a kept arena
 */

static unsigned int false_holes;	/* so many lseek() calls find a hole that is not there */

off_t lseek(int fd, off_t offset, int whence)
{
	if (whence == SEEK_HOLE && false_holes) {
		false_holes--;
		return 0;
	}
	return syscall(SYS_lseek, fd, offset, whence);
}

static const uint8_t memory_uuid[RDMABLK_ID_LEN] = { 7, 7, 7 };

static int memory_open(struct store *s, bool publish)
{
	const struct export_config ec = {
		.name = "m", .size = 8 * MIB, .block = 512, .arena = (char *)files_path("kept/m"),
	};
	int ret;

	*s = (struct store){ .ops = &store_memory_ops };
	ret = s->ops->open(s, &ec);
	if (ret || !publish)
		return ret;
	memcpy(s->uuid, memory_uuid, sizeof(memory_uuid));
	return s->ops->publish(s);
}

static void memory_punch(void)
{
	assert_int_equal(files_run("fallocate -p -o 4M -l 4096 %s", files_path("kept/m")), 0);
}

static void punched_after_the_end(void)
{
	struct store s;

	assert_int_equal(memory_open(&s, true), 0);
	s.ops->close(&s);
	memory_punch();
}

static void punched_before_the_end(void)
{
	struct store s;

	assert_int_equal(memory_open(&s, true), 0);
	memory_punch();
	s.ops->close(&s);
	/* another process fills the hole with zeroes */
	assert_int_equal(files_run("dd if=/dev/zero of=%s bs=4096 seek=1024 count=1 conv=notrunc",
				   files_path("kept/m")), 0);
}

static void punched_after_a_kill(void)
{
	pid_t child = fork();
	struct store s;
	int status;

	if (!child)
		_exit(memory_open(&s, true) != 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	memory_punch();
}

/* The next daemon finds the hole and fills it, but ends before it publishes the arena. */
static void punched_and_filled(void)
{
	struct store s;

	punched_after_the_end();
	assert_int_equal(memory_open(&s, false), 0);
	s.ops->close(&s);
}

/* The trailer says "filling" when the daemon ends and finds a hole. */
static void punched_while_filled(void)
{
	const uint32_t filling = 1;
	struct store s;

	assert_int_equal(memory_open(&s, true), 0);
	assert_int_equal(pwrite(s.fd, &filling, sizeof(filling), 8 * MIB + 16), sizeof(filling));
	memory_punch();
	s.ops->close(&s);
}

/* A thread of the daemon touched the hole; then it was filled with zeroes. */
static void met_by_the_daemon(void)
{
	struct store s;

	assert_int_equal(memory_open(&s, true), 0);
	assert_non_null(s.guard);
	arena_guard_break(s.guard);
	memset(full_at(&s, 4 * MIB), 0, 4096);
	s.ops->close(&s);
}

static void cut_short(void)
{
	punched_after_the_end();
	assert_int_equal(truncate(files_path("kept/m"), 4 * MIB), 0);
	assert_int_equal(truncate(files_path("kept/m"), 8 * MIB + 4096), 0);
}

/* Gets the epoch of the export, which stays the same until pages are lost. */
static void memory_epoch(uint8_t *epoch)
{
	struct store s;

	for (int again = 0; again < 2; again++) {
		assert_int_equal(memory_open(&s, true), 0);
		if (again)
			assert_memory_equal(epoch, s.epoch, RDMABLK_ID_LEN);
		memcpy(epoch, s.epoch, RDMABLK_ID_LEN);
		s.ops->close(&s);
	}
}

/* A hole that the kernel shows only for a moment does not count, neither at start nor at end. */
static void a_hole_for_a_moment_is_none(void **state)
{
	uint8_t before[RDMABLK_ID_LEN];
	struct store s;

	(void)state;
	if (!files_tmpfs("kept", "size=16m"))
		skip();
	memory_epoch(before);
	for (int at_end = 0; at_end < 2; at_end++) {
		false_holes = at_end ? 0 : 4;
		assert_int_equal(memory_open(&s, true), 0);
		assert_int_equal(false_holes, 0);
		assert_memory_equal(s.epoch, before, sizeof(before));
		false_holes = at_end ? 4 : 0;
		s.ops->close(&s);
		assert_int_equal(false_holes, 0);
	}
	assert_int_equal(memory_open(&s, true), 0);
	assert_memory_equal(s.epoch, before, sizeof(before));
	s.ops->close(&s);
	assert_int_equal(umount(files_path("kept")), 0);
}

/* The other pages keep their contents. A new epoch keeps disks from going on over the zeroes. */
static void memory_that_has_lost_a_page_has_a_new_epoch(void **state)
{
	static void (* const ways[])(void) = {
		punched_after_the_end, punched_before_the_end, punched_after_a_kill,
		punched_and_filled, met_by_the_daemon, cut_short, punched_while_filled,
	};
	uint8_t before[RDMABLK_ID_LEN], after[RDMABLK_ID_LEN];
	struct store s;
	char why[300];

	(void)state;
	if (!files_tmpfs("kept", "size=16m"))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		unlink(files_path("kept/m"));
		memory_epoch(before);
		assert_int_equal(memory_open(&s, true), 0);
		assert_memory_equal(s.epoch, before, sizeof(before));
		full_rdma(&s, 0, 8 * MIB, 5);
		s.ops->close(&s);
		ways[i]();
		log_keep(why, sizeof(why));
		assert_int_equal(memory_open(&s, false), 0);
		log_keep(NULL, 0);
		/* the trailer is lost, too, or says "filling": the arena starts with zeroes */
		if (ways[i] == cut_short || ways[i] == punched_while_filled) {
			assert_true(full_is_zero(&s, 0, 8 * MIB));
		} else {
			assert_non_null(strstr(why, "has lost pages"));
			assert_memory_equal(s.uuid, memory_uuid, sizeof(memory_uuid));
			assert_true(full_has(&s, 0, 4 * MIB, 5));
			assert_true(full_is_zero(&s, 4 * MIB, 4096));
			assert_true(full_has(&s, 4 * MIB + 4096, 4 * MIB - 4096, 5));
		}
		s.ops->close(&s);
		memory_epoch(after);
		assert_memory_not_equal(before, after, sizeof(before));
	}
	assert_int_equal(umount(files_path("kept")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_ends_and_the_other_goes_on),
		cmocka_unit_test(an_error_elsewhere_leaves_the_guard),
		cmocka_unit_test(the_loop_itself_may_touch_it),
		cmocka_unit_test(zeroes_do_not_get_into_the_file),
		cmocka_unit_test(comparing_finds_no_zeroes_either),
		cmocka_unit_test(nor_do_those_of_a_huge_page),
		cmocka_unit_test(an_arena_is_the_daemons_own),
		cmocka_unit_test(memory_that_has_lost_a_page_has_a_new_epoch),
		cmocka_unit_test(a_hole_for_a_moment_is_none),
	};

	return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
