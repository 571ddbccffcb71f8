// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a sync that may have failed means for files without a cache. A process that ends at once while something
 * is being made durable will not be told whether it was: the next one has another epoch
 * of the file, and has the same where nothing was.
 *
 * Sources: target/staged_loss.c
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

static const uint8_t mine[RDMABLK_ID_LEN] = { 1, 2, 3 };

/* What is under way when the process ends; false: that cannot be here. */
typedef bool (*under_way)(struct command *c);

static bool nothing(struct command *c)
{
	(void)c;
	return true;
}

static void until_kept_back(void)
{
	keep_back = true;
	kept_back = false;
	while (!kept_back)
		staged_engine_turn(&place.engine, true);
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

	snprintf(path, sizeof(path), "%s/" LOSSES_FILE, dir);
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

	assert_int_equal(losses_epoch("test", mine, before), 0);
	nr = ends_during(begin_it, direct);
	assert_int_equal(losses_epoch("test", mine, after), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(a_sync_counts_as_failed),
		cmocka_unit_test(a_loss_is_noted_once),
		cmocka_unit_test(a_write_with_fua_counts_as_failed),
	};
	char path[96];
	int failed;

	if (place_dir_make())
		return 1;
	losses_init(dir, dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	losses_exit();
	snprintf(path, sizeof(path), "%s/" LOSSES_FILE, dir);
	unlink(path);
	place_dir_remove();
	return failed;
}
