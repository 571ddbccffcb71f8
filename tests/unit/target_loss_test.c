// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a sync that has failed, or may have, means for files without a cache. Those on the
 * same disk fail with the one that was told. A process that ends at once while something
 * is being made durable will not be told whether it was: the next one has another epoch
 * of the file, and has the same where nothing was.
 *
 * Sources: target/staged/staged_loss.c
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
#include <sys/wait.h>
#include <cmocka.h>

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
	assert_int_equal(fails(ret, n->sf.disk), same_disk && (want || read_only));
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
	(void)state;
	fails_beside(-ENOSPC, true, false, false);
	fails_beside(-EDQUOT, true, false, false);
	fails_beside(-ENOMEM, true, false, false);
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
	};
	char path[96];
	int failed;

	if (place_dir_make())
		return 1;
	sync_errors_init(dir, dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sync_errors_exit();
	snprintf(path, sizeof(path), "%s/" SYNC_ERRORS_FILE, dir);
	unlink(path);
	place_dir_remove();
	return failed;
}
