// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the daemon can no longer do in its sandbox, and what it still can. Each sandbox is
 * entered by a child process, since nothing leads out of it.
 *
 * Sources: target/base/sandbox.c
 * Libraries: libsystemd
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "../../target/base/sandbox.h"
#include "target_files.h"

static long version;	/* of Landlock; below 1: there is none */

/* Each returns the errno of what it tries; 0: success. If try_exec() succeeds, the test fails. */
static int try_exec(void)
{
	execl("/bin/false", "false", NULL);
	return errno;
}

static int try_open(const char *name, int flags)
{
	int fd = open(files_path(name), flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_create(const char *name)
{
	return try_open(name, O_RDWR | O_CREAT | O_EXCL);
}

static int try_mkdir(const char *name)
{
	return mkdir(files_path(name), 0700) ? errno : 0;
}

static int try_unlink(const char *name)
{
	return unlink(files_path(name)) ? errno : 0;
}

static int try_rename(const char *from, const char *to)
{
	return rename(files_path(from), files_path(to)) ? errno : 0;
}

static int try_fifo(const char *name)
{
	return mkfifo(files_path(name), 0600) ? errno : 0;
}

static int try_symlink(const char *name)
{
	return symlink("/etc/passwd", files_path(name)) ? errno : 0;
}

static int try_socket(const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int ret;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", files_path(name));
	ret = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ? errno : 0;
	close(fd);
	return ret;
}

static int try_tcp(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int ret = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ? errno : 0;

	close(fd);
	return ret;
}

static int try_memory(void)
{
	int fd = memfd_create("unit", MFD_CLOEXEC);
	int ret = fd < 0 || ftruncate(fd, 4096) ? errno : 0;

	close(fd);
	return ret;
}

/* In a child: a check that fails ends it with the number of the line. */
#define EXPECT(what, want) do { if ((what) != (want)) _exit(__LINE__ % 256 ?: 1); } while (0)

static void in_child(void (*run)(void))
{
	pid_t pid = fork();
	int status = -1;

	assert_true(pid >= 0);
	if (!pid) {
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status))
		fail_msg("the check in line %d (modulo 256) failed", WEXITSTATUS(status));
}

/* Return: how many descriptors of this process refer to a path */
static int descriptors_of(const char *path)
{
	struct stat of, st;
	int nr = 0;

	EXPECT(stat(path, &of), 0);
	for (int fd = 0; fd < 100; fd++)
		nr += !fstat(fd, &st) && st.st_dev == of.st_dev && st.st_ino == of.st_ino;
	return nr;
}

static void enter(bool confine)
{
	EXPECT(sandbox_begin(confine), 0);
	EXPECT(sandbox_allow_own(files_path("state")), 0);
	EXPECT(sandbox_allow(files_path("later/state"), SANDBOX_MANAGE), 0);
	EXPECT(sandbox_allow(files_path("disks"), SANDBOX_CREATE), 0);
	/* The daemon starts with a path below a file, or through a link to itself. */
	EXPECT(sandbox_allow(files_path("elsewhere/one/state"), SANDBOX_MANAGE), 0);
	EXPECT(sandbox_allow(files_path("loop/state"), SANDBOX_MANAGE), 0);
	EXPECT(sandbox_allow(files_path("elsewhere/one"), SANDBOX_WRITE), 0);
	EXPECT(sandbox_allow(files_path("nowhere/two"), SANDBOX_WRITE), 0);
	EXPECT(sandbox_allow_beside(files_path("arenas/a"), SANDBOX_CREATE), 0);
	EXPECT(sandbox_enter(), 0);
	/* The daemon keeps its state directory open: a later inode of it would have no rule. */
	EXPECT(descriptors_of(files_path("state")), 1);
	/* Other directories are not kept open, so that their file systems can be unmounted. */
	EXPECT(descriptors_of(files_path("disks")), 0);
	EXPECT(descriptors_of(files_path("elsewhere/one")), 0);
}

static void refused_in_any_case(void)
{
	EXPECT(try_exec(), EACCES);
	EXPECT(try_fifo("state/fifo"), EACCES);
	EXPECT(try_symlink("state/link"), EACCES);
	EXPECT(try_mkdir("elsewhere/dir"), EACCES);
	EXPECT(try_socket("elsewhere/socket"), EACCES);
	EXPECT(try_unlink("elsewhere/one"), EACCES);
	if (version >= 4)
		EXPECT(try_tcp(), EACCES);
}

static void needed_in_any_case(void)
{
	EXPECT(try_create("state/new"), 0);
	EXPECT(try_rename("state/new", "state/renamed"), 0);
	EXPECT(try_unlink("state/renamed"), 0);
	EXPECT(try_mkdir("state/dir"), 0);
	EXPECT(rmdir(files_path("state/dir")), 0);
	EXPECT(try_socket("state/socket"), 0);
	EXPECT(try_unlink("state/socket"), 0);
	EXPECT(try_mkdir("later/state"), 0);
	EXPECT(try_create("later/state/file"), 0);
	EXPECT(try_unlink("later/state/file"), 0);
	EXPECT(rmdir(files_path("later/state")), 0);
	EXPECT(try_open("elsewhere/one", O_RDWR), 0);
	EXPECT(try_open("elsewhere/other", O_RDONLY), 0);
	EXPECT(try_memory(), 0);
}

static void by_default(void)
{
	enter(false);
	refused_in_any_case();
	needed_in_any_case();
	EXPECT(try_open("elsewhere/other", O_RDWR), 0);
	EXPECT(try_create("elsewhere/new"), 0);
	EXPECT(*sandbox_hint(EACCES), '\0');
}

static void confined(void)
{
	enter(true);
	refused_in_any_case();
	needed_in_any_case();
	EXPECT(try_open("elsewhere/other", O_RDWR), EACCES);
	EXPECT(try_create("elsewhere/newer"), EACCES);
	EXPECT(try_create("disks/new"), 0);
	EXPECT(try_open("disks/new", O_RDWR), 0);
	EXPECT(try_unlink("disks/new"), EACCES);
	EXPECT(try_create("arenas/a"), 0);
	EXPECT(!*sandbox_hint(EACCES), 0);
	EXPECT(*sandbox_hint(ENOENT), '\0');
}

static void *thread_writes(void *arg)
{
	int *ret = arg;

	*ret = try_open("elsewhere/other", O_RDWR);
	return NULL;
}

static void confined_threads(void)
{
	pthread_t thread;
	int ret = 0;

	enter(true);
	EXPECT(pthread_create(&thread, NULL, thread_writes, &ret), 0);
	EXPECT(pthread_join(thread, NULL), 0);
	EXPECT(ret, EACCES);
}

/* Landlock needs no_new_privs. Without Landlock it still keeps a shell in its AppArmor profile. */
static void no_new_privileges(void)
{
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	sandbox_begin(false);
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}

static void without_landlock_too(void **state)
{
	in_child(*state);
}

static void in_sandbox(void **state)
{
	if (version < 1)
		skip();
	in_child(*state);
}

static int setup(void **state)
{
	if (files_setup(state) ||
	    files_run("cd %s && mkdir state later disks elsewhere arenas", files_dir))
		return -1;
	if (symlink("loop", files_path("loop")))
		return -1;
	files_new("elsewhere/one", 4096);
	files_new("elsewhere/other", 4096);
	version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	if (version < 1)
		printf("SKIP no Landlock in this kernel: %s\n", strerror(errno));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "refused_by_default", in_sandbox, NULL, NULL, by_default },
		{ "refused_to_a_confined_daemon", in_sandbox, NULL, NULL, confined },
		{ "refused_to_its_threads", in_sandbox, NULL, NULL, confined_threads },
		{ "no_new_privileges", without_landlock_too, NULL, NULL, no_new_privileges },
	};

	return cmocka_run_group_tests_name("sandbox", tests, setup, files_teardown);
}
