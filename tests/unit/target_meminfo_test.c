// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An export that does not fit into the host's memory is refused before it gets any. The
 * daemon protects itself from the kernel's OOM killer once it is ready.
 *
 * Sources: target/base/meminfo.c target/store/pages.c target/store/store_memory.c
 * Libraries: libcrypto libsystemd liburing
 */
#include "../../target/base/log.h"
#include "../../target/base/meminfo.h"
#include "../../target/store/store.h"
#include "target_files.h"

static char root[200], why[512];

static void put(const char *path, const char *text)
{
	char full[400];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(files_run("mkdir -p $(dirname %s)", full), 0);
	file = fopen(full, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
	int ret = files_setup(state);

	snprintf(root, sizeof(root), "%s/root", files_dir);
	meminfo_root = root;
	return ret;
}

static int check(uint64_t bytes, bool overcommit)
{
	int ret;

	log_keep(why, sizeof(why));
	ret = meminfo_check("d", bytes, overcommit);
	log_keep(NULL, 0);
	return ret;
}

static void nothing_known_is_no_error(void **state)
{
	(void)state;
	assert_int_equal(check(UINT64_MAX, false), 0);
}

static void what_is_available_less_a_reserve(void **state)
{
	(void)state;
	/* 1600 MiB; the reserve is 100 of them */
	put("/proc/meminfo", "MemTotal:  1638400 kB\nMemFree: 1 kB\nMemAvailable: 819200 kB\n");
	assert_int_equal(check(700 * MIB, false), 0);
	assert_int_equal(check(700 * MIB + 1, false), -E2BIG);
	assert_non_null(strstr(why, "needs 701 MiB"));
	assert_non_null(strstr(why, "has 700 MiB free"));
	assert_int_equal(check(16384 * MIB, true), 0);
}

static void control_groups_count(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "1:name=x:/y\n0::/a.slice/b.service\n");
	put("/sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
	put("/sys/fs/cgroup/a.slice/b.service/memory.current", "1048576\n");
	assert_int_equal(check(700 * MIB, false), 0);
	put("/sys/fs/cgroup/a.slice/memory.max", "104857600\n");
	put("/sys/fs/cgroup/a.slice/memory.current", "4194304\n");
	assert_int_equal(check(96 * MIB, false), 0);
	assert_int_equal(check(97 * MIB, false), -E2BIG);
	assert_non_null(strstr(why, "has 96 MiB free: the limit of the daemon's control group"));
	/* in a container the root has the limit */
	put("/proc/self/cgroup", "0::/\n");
	assert_int_equal(check(700 * MIB, false), 0);
	put("/sys/fs/cgroup/memory.max", "1048576\n");
	assert_int_equal(check(2 * MIB, false), -E2BIG);
	put("/sys/fs/cgroup/memory.max", "max\n");
}

static int check_session(uint64_t bytes, bool writer)
{
	int ret;

	log_keep(why, sizeof(why));
	ret = meminfo_check_session("d", bytes, writer);
	log_keep(NULL, 0);
	return ret;
}

/* Sessions may use half of the reserve. A reader's leaves as much again for another session. */
static void sessions_leave_room(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/memory.max", "max\n");
	put("/proc/meminfo", "MemTotal:  1638400 kB\nMemAvailable: 153600 kB\n");
	assert_int_equal(check(50 * MIB, false), 0);
	assert_int_equal(check(51 * MIB, false), -E2BIG);
	assert_int_equal(check_session(100 * MIB, true), 0);
	assert_int_equal(check_session(100 * MIB + 1, true), -E2BIG);
	assert_int_equal(check_session(50 * MIB, false), 0);
	assert_int_equal(check_session(50 * MIB + 1, false), -E2BIG);
	put("/sys/fs/cgroup/memory.max", "62914560\n");
	put("/sys/fs/cgroup/memory.current", "20971520\n");
	assert_int_equal(check_session(40 * MIB, true), 0);
	assert_int_equal(check_session(41 * MIB, true), -E2BIG);
	assert_int_equal(check_session(21 * MIB, false), -E2BIG);
	put("/sys/fs/cgroup/memory.max", "max\n");
	put("/proc/meminfo", "MemTotal:  1638400 kB\nMemAvailable: 1024 kB\n");
	assert_int_equal(check_session(1, true), -E2BIG);
	meminfo_root = "/nowhere";
	assert_int_equal(check_session(UINT64_MAX, false), 0);
	meminfo_root = root;
}

static int open_memory(struct store *s, uint64_t size, bool overcommit)
{
	struct export_config ec = {
		.name = "d", .size = size, .huge_pages = HUGE_NO, .overcommit = overcommit,
	};
	int ret;

	*s = (struct store){ .ops = &store_memory_ops };
	log_keep(why, sizeof(why));
	ret = s->ops->open(s, &ec);
	log_keep(NULL, 0);
	return ret;
}

static void an_export_is_refused(void **state)
{
	struct store s;

	(void)state;
	put("/proc/meminfo", "MemTotal:  32768 kB\nMemAvailable: 18432 kB\n");
	assert_int_equal(open_memory(&s, 17 * MIB, false), -E2BIG);
	assert_non_null(strstr(why, "needs 17 MiB of memory, and the host has 16 MiB free"));
	assert_int_equal(open_memory(&s, 16 * MIB, false), 0);
	s.ops->close(&s);
	assert_int_equal(open_memory(&s, 17 * MIB, true), 0);
	s.ops->close(&s);
}

static void expect_score(const char *want)
{
	char path[300], text[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/oom_score_adj", root);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_int_equal(atoi(text), atoi(want));
}

static void protected_when_ready(void **state)
{
	(void)state;
	put("/proc/self/oom_score_adj", "-900\n");
	meminfo_expose();
	expect_score("0");
	meminfo_protect();
	expect_score("-900");
	/* a daemon that the administrator has made a likely victim stays one */
	put("/proc/self/oom_score_adj", "500\n");
	meminfo_expose();
	expect_score("500");
	meminfo_protect();
	expect_score("500");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_known_is_no_error),
		cmocka_unit_test(what_is_available_less_a_reserve),
		cmocka_unit_test(control_groups_count),
		cmocka_unit_test(sessions_leave_room),
		cmocka_unit_test(an_export_is_refused),
		cmocka_unit_test(protected_when_ready),
	};

	return cmocka_run_group_tests(tests, setup, files_teardown);
}
