// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * State files are durable when the daemon goes on. The test replaces fsync(), syncfs() and
 * rename(), which note the order of their calls. Also, no two exports have the same UUID.
 *
 * Sources: target/base/state_file.c target/export/export.c target/export/last_writer.c
 *	   target/config/config.c
 */
#include <sys/fsuid.h>
#include <sys/syscall.h>

#include "../../target/base/log.h"
#include "../../target/base/state_file.h"
#include "../../target/wire/mac.h"
#include "target_last_writer.h"

/* Calls: 'f' fsync of a file, 'd' fsync of a directory, 's' syncfs, 'r' rename */
static char calls[64];
static int fail_sync_dir;

static void called(char what)
{
	size_t len = strlen(calls);

	assert_true(len + 1 < sizeof(calls));
	calls[len] = what;
	calls[len + 1] = '\0';
}

int fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	called(S_ISDIR(st.st_mode) ? 'd' : 'f');
	if (S_ISDIR(st.st_mode) && fail_sync_dir) {
		errno = fail_sync_dir;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int syncfs(int fd)
{
	called('s');
	return (int)syscall(SYS_syncfs, fd);
}

int rename(const char *from, const char *to)
{
	called('r');
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static void expect_calls(const char *want)
{
	assert_string_equal(calls, want);
	calls[0] = '\0';
}

static void expect_text(const char *path, const char *want)
{
	char text[64] = "";

	files_read(path, text, 0, strlen(want));
	assert_string_equal(text, want);
}

static void the_directory_is_synced_last(void **state)
{
	(void)state;
	assert_int_equal(state_file_make_dir(files_path("s")), 0);
	expect_calls("d");
	assert_int_equal(state_file_make_dir(files_path("s")), 0);
	expect_calls("d");	/* another process may have made it, and not synced it */
	assert_int_equal(state_file_replace(files_path("s/x"), "one\n"), 0);
	expect_calls("frd");
	expect_text(files_path("s/x"), "one\n");
	assert_int_equal(state_file_replace(files_path("s/x"), "two\n"), 0);
	expect_text(files_path("s/x"), "two\n");
	assert_int_equal(access(files_path("s/x.new"), F_OK), -1);
	calls[0] = '\0';
}

/* A daemon that is confined to its directories cannot read those above them. */
static void what_is_above_cannot_be_read(void **state)
{
	int ret;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chmod(files_path("."), 0711), 0);
	assert_int_equal(mkdir(files_path("above"), 0711), 0);
	assert_int_equal(mkdir(files_path("above/s"), 0755), 0);
	/* With another fsuid root may no longer read everything. */
	setfsuid(65534);
	ret = state_file_make_dir(files_path("above/s"));
	setfsuid(0);
	assert_int_equal(ret, 0);
	expect_calls("s");
}

static void what_is_not_durable_is_an_error(void **state)
{
	(void)state;
	fail_sync_dir = EIO;
	assert_int_equal(state_file_replace(files_path("s/x"), "six\n"), -EIO);
	fail_sync_dir = EINVAL;	/* a file system that has nothing to sync */
	assert_int_equal(state_file_replace(files_path("s/x"), "ten\n"), 0);
	fail_sync_dir = 0;
	assert_int_equal(state_file_replace(files_path("none/x"), "one\n"), -ENOENT);
	calls[0] = '\0';
}

static void a_made_up_uuid_is_durable(void **state)
{
	(void)state;
	start_with("u", "d,memory,size=1M");
	expect_calls("dfrd");	/* the directory is new */
	stop();
	start_with("u", "d,memory,size=1M");
	expect_calls("");
	stop();
}

static void a_uuid_that_is_not_kept_is_refused(void **state)
{
	(void)state;
	fail_sync_dir = EIO;
	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("u"));
	config_export_spec(&cfg, "e,memory,size=1M");
	assert_int_equal(loop_init(), 0);
	assert_int_equal(export_open_all(&cfg), -EIO);
	fail_sync_dir = 0;
	stop();
	calls[0] = '\0';
}

static void notes_of_writers_are_durable(void **state)
{
	(void)state;
	assert_int_equal(note("w", u, &f, &a), 0);
	assert_true(noted);
	/* two directories; the note of the file; that of the export */
	expect_calls("dd" "frd" "frd");
	/* The directories are made once, and again if they were removed. */
	assert_int_equal(note("w", u, &f, &b), 0);
	expect_calls("frd");
	files_run("rm -r %s", files_path("w"));
	assert_int_equal(note("w", u, &f, &a), 0);
	expect_calls("dd" "frd" "frd");
}

static void two_exports_of_one_uuid(void **state)
{
	static const char state_text[] = "0123cdef-0000-4000-8000-000000000001\n";
	char why[256];

	(void)state;
	mkdir(files_path("two"), 0755);
	files_text(files_path("two/d.uuid"), state_text);
	files_text(files_path("two/e.uuid"), state_text);
	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("two"));
	config_export_spec(&cfg, "d,memory,size=1M");
	config_export_spec(&cfg, "e,memory,size=1M");
	assert_int_equal(cfg.errors, 0);
	assert_int_equal(loop_init(), 0);
	log_keep(why, sizeof(why));
	assert_int_equal(export_open_all(&cfg), -EEXIST);
	log_keep(NULL, 0);
	assert_non_null(strstr(why, "export e: UUID 0123cdef-0000-4000-8000-000000000001"));
	assert_non_null(strstr(why, " is that of export d already"));
	assert_non_null(export_find("d"));
	assert_null(export_find("e"));
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_directory_is_synced_last),
		cmocka_unit_test(what_is_above_cannot_be_read),
		cmocka_unit_test(what_is_not_durable_is_an_error),
		cmocka_unit_test(a_made_up_uuid_is_durable),
		cmocka_unit_test(a_uuid_that_is_not_kept_is_refused),
		cmocka_unit_test(notes_of_writers_are_durable),
		cmocka_unit_test(two_exports_of_one_uuid),
	};

	return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
