// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Epochs of files that have lost acknowledged writes. Each loss changes the epoch of that file
 * only, in this process and the next ones, if one of two places can take a note. If neither
 * can, each process has an epoch of its own.
 *
 * Sources: target/store/sync_errors.c
 * Libraries: libcrypto
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../target/base/util.h"
#include "../../target/store/sync_errors.h"
#include "target_files.h"

typedef uint8_t epoch_t[16];

/*
 * write() replaces that of libc: a write to the file @hung waits while @hangs is set. The file is
 * known by its inode, because an exit may leave its old descriptor open.
 */
static struct stat hung;
static atomic_bool hangs;
static atomic_int hanging;	/* number of writes that wait, or go on and have not ended */

ssize_t write(int fd, const void *data, size_t len)
{
	struct stat st;
	bool waits = hangs && !fstat(fd, &st) && st.st_dev == hung.st_dev &&
		     st.st_ino == hung.st_ino;
	ssize_t ret;

	hanging += waits;
	while (waits && hangs)
		usleep(1000);
	ret = syscall(SYS_write, fd, data, len);
	hanging -= waits;
	return ret;
}

/* From here on writes to the file @path hang. */
static void hang(const char *path)
{
	assert_int_equal(stat(files_path(path), &hung), 0);
	hangs = true;
}

static const epoch_t one = { 1 }, two = { 2 }, disk = { 3 }, other_disk = { 4 };

static void start(const char *dir, const char *other)
{
	sync_errors_exit();
	sync_errors_init(files_path(dir), files_path(other));
}

static void epoch(const uint8_t *identity, uint8_t *out)
{
	memset(out, 0, sizeof(epoch_t));
	assert_int_equal(sync_errors_epoch("disk", identity, disk, out), 0);
}

static bool same(const uint8_t *identity, const uint8_t *as)
{
	epoch_t now;

	epoch(identity, now);
	return !memcmp(now, as, sizeof(now));
}

/* Notes a loss. The epoch was @before, and is @now afterwards. */
static void lose(const uint8_t *before, uint8_t *now)
{
	sync_errors_note("disk", one);
	epoch(one, now);
	assert_memory_not_equal(now, before, sizeof(epoch_t));
}

static void a_loss_is_remembered(void **state)
{
	epoch_t first, second;

	(void)state;
	start("a", "b");
	assert_true(same(one, one));
	assert_true(same(one, one));
	lose(one, first);
	assert_true(same(one, first));
	assert_true(same(two, two));
	start("a", "b");
	assert_true(same(one, first));
	assert_true(same(two, two));
	lose(first, second);
	assert_memory_not_equal(second, one, sizeof(first));
	start("a", "b");
	assert_true(same(one, second));
	assert_true(same(two, two));
}

/* A loss of a disk changes the epochs of all files on it. */
static void a_loss_of_a_disk(void **state)
{
	epoch_t first, second;

	(void)state;
	start("l", "m");
	assert_true(same(one, one));
	sync_errors_note("disk", other_disk);
	assert_true(same(one, one));
	sync_errors_note("disk", disk);
	epoch(one, first);
	epoch(two, second);
	assert_memory_not_equal(first, one, sizeof(first));
	assert_memory_not_equal(second, two, sizeof(second));
	assert_memory_not_equal(first, second, sizeof(first));
	start("l", "m");
	assert_true(same(one, first));
	assert_true(same(two, second));
	lose(first, second);
	sync_errors_note("disk", disk);
	assert_false(same(one, second));
}

/* Both places are the same directory. */
static void one_place(void **state)
{
	epoch_t first;

	(void)state;
	start("j", "j");
	assert_true(same(one, one));
	lose(one, first);
	start("j", "j");
	assert_true(same(one, first));
}

/* The first place cannot be used, because its parent is a file. */
static void the_other_place(void **state)
{
	epoch_t first, second;

	(void)state;
	files_text(files_path("no"), "no directory\n");
	start("no/dir", "c");
	assert_true(same(one, one));
	lose(one, first);
	start("no/dir", "c");
	assert_true(same(one, first));
	/* the first place can be used again: what is in either place counts */
	start("d", "c");
	assert_true(same(one, first));
	lose(first, second);
	start("d", "c");
	assert_true(same(one, second));
}

static void a_full_place(void **state)
{
	epoch_t first;
	char block[4096] = { 0 };
	int fd;

	(void)state;
	if (!files_tmpfs("small", "size=16k"))
		skip();
	start("small", "e");
	assert_true(same(one, one));
	fd = open(files_path("small/fill"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
	lose(one, first);
	start("small", "e");
	assert_true(same(one, first));
	umount2(files_path("small"), MNT_DETACH);
}

static void nowhere(void **state)
{
	epoch_t first, second, third;

	(void)state;
	start("no/dir", "no/other");
	epoch(one, first);
	assert_memory_not_equal(first, one, sizeof(first));
	assert_true(same(one, first));
	lose(first, second);
	start("no/dir", "no/other");
	epoch(one, third);
	assert_memory_not_equal(third, second, sizeof(first));
	assert_memory_not_equal(third, first, sizeof(first));
}

/* Lines cut short, lines of garbage, and a missing line feed. */
static void rubbish(void **state)
{
	static const char id[] = "01000000000000000000000000000000";
	char text[512];
	epoch_t first;

	(void)state;
	mkdir(files_path("f"), 0755);
	snprintf(text, sizeof(text), "\n%s\n%s %.31s\n%s_%s\n%.31sg %s\n%s %s %s\n\n%s %.9s",
		 id, id, id, id, id, id, id, id, id, id, id, id);
	files_text(files_path("f/losses"), text);
	start("f", "g");
	assert_true(same(one, one));
	lose(one, first);
	start("f", "g");
	assert_true(same(one, first));
	/* a symbolic link is not followed, and a FIFO is not waited for */
	assert_int_equal(symlink(files_path("f/losses"), files_path("link")), 0);
	mkdir(files_path("h"), 0755);
	assert_int_equal(rename(files_path("link"), files_path("h/losses")), 0);
	mkdir(files_path("i"), 0755);
	assert_int_equal(mkfifo(files_path("i/losses"), 0600), 0);
	start("h", "i");
	epoch(two, first);
	assert_memory_not_equal(first, two, sizeof(first));
}

static void *note_one(void *data)
{
	(void)data;
	sync_errors_note("disk", one);
	return NULL;
}

/* All threads end while a write hangs. */
static void ends_beside_it(pthread_t *threads, unsigned int nr)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(pthread_timedjoin_np(threads[i], NULL, &until), 0);
	assert_true(hanging > 0);
}

/* Returns when all writes that hung have ended. */
static void goes_on(void)
{
	hangs = false;
	for (unsigned int i = 0; hanging && i < 60000; i++)
		usleep(1000);
	assert_int_equal(hanging, 0);
}

/* For a moment after its write, a thread still counts as one that hangs. */
static void until_a_note_is_written(void)
{
	for (unsigned int i = 0; same(two, two) && i < 60000; i++) {
		sync_errors_note_last("disk", two);
		usleep(1000);
	}
	assert_false(same(two, two));
}

/*
 * A state directory that hangs stops neither a thread that notes a loss nor the end of the
 * process. The other directory tells the next process of the loss. Without another one the
 * process does not wait for the note any longer.
 */
static void a_place_that_hangs(void **state)
{
	epoch_t before, now;
	pthread_t threads[12];

	(void)state;
	start("slow", "fast");
	epoch(one, before);
	hang("slow/losses");
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, note_one, NULL), 0);
	ends_beside_it(threads, ARRAY_SIZE(threads));
	assert_in_range(hanging, 1, 8);
	epoch(one, now);
	assert_memory_not_equal(now, before, sizeof(now));
	memcpy(before, now, sizeof(before));
	sync_errors_note_last("disk", one);
	epoch(one, now);
	assert_memory_not_equal(now, before, sizeof(now));
	goes_on();
	start("slow", "/dev/null/none");
	until_a_note_is_written();
	epoch(one, before);
	hang("slow/losses");
	sync_errors_note_last("disk", one);
	assert_int_equal(hanging, 1);
	epoch(one, now);
	assert_memory_equal(now, before, sizeof(now));
	goes_on();
	assert_false(same(one, before));
	start("slow", "/dev/null/none");
	assert_false(same(one, before));
}

/* When the write goes on, its descriptor has not become that of another file. */
static void a_write_that_hangs_longer_than_all_files_are_open(void **state)
{
	struct stat st;
	epoch_t before;
	int fd;

	(void)state;
	start("slow", "/dev/null/none");
	epoch(one, before);
	hang("slow/losses");
	sync_errors_note_last("disk", one);
	assert_int_equal(hanging, 1);
	sync_errors_exit();
	fd = open(files_path("other"), O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	goes_on();
	start("slow", "/dev/null/none");
	assert_false(same(one, before));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(fd);
}

static int teardown(void **state)
{
	sync_errors_exit();
	return files_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loss_is_remembered),
		cmocka_unit_test(a_loss_of_a_disk),
		cmocka_unit_test(one_place),
		cmocka_unit_test(the_other_place),
		cmocka_unit_test(a_full_place),
		cmocka_unit_test(nowhere),
		cmocka_unit_test(rubbish),
		cmocka_unit_test(a_place_that_hangs),
		cmocka_unit_test(a_write_that_hangs_longer_than_all_files_are_open),
	};

	return cmocka_run_group_tests_name("sync_errors", tests, files_setup, teardown);
}
