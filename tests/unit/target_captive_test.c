// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command of --run starts when the daemon is ready, and gets its environment. When it ends,
 * the loop ends, and its status is that of the daemon. Signals are passed on to it. A command
 * that the daemon did not start does nothing.
 *
 * Sources: target/base/captive.c target/base/loop.c
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/captive.h"
#include "../../target/base/log.h"
#include "../../target/base/loop.h"
#include "../../target/base/util.h"

#define PATIENCE_MS	60000

static const struct captive_place place = {
	.uri = "10.0.0.2:20420/disk0", .address = "10.0.0.2:20420", .export = "disk0",
	.control = "/run/control",
};

static int status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A daemon that serves until its command has ended. Return: its exit status */
static int serve(const char *command, const struct captive_place *at, int signo)
{
	pid_t pid = fork();
	int ret;

	if (pid)
		return status_of(pid);
	alarm(PATIENCE_MS / 1000);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_DFL);	/* a shell makes its background jobs ignore it */
	close_range(3, ~0U, 0);	/* descriptors that this program has inherited */
	log_setup(LOG_ERR);
	ret = captive_prepare(command, at) ?: loop_init() ?: captive_start(loop_stop);
	if (ret)
		_exit(100);
	if (signo)
		captive_signal(signo);
	if (command)
		loop_run();
	loop_exit();
	_exit(captive_end(EXIT_DONE, PATIENCE_MS));
}

static void test_status(void **state)
{
	(void)state;
	assert_int_equal(serve("exit 0", &place, 0), 0);
	assert_int_equal(serve("exit 7", &place, 0), 7);
	assert_int_equal(serve("kill -KILL $$", &place, 0), 128 + SIGKILL);
	assert_int_equal(serve("/nonexistent/command 2>/dev/null", &place, 0), 127);
	assert_int_equal(serve(NULL, &place, 0), 0);
}

static void test_environment(void **state)
{
	struct captive_place any = place;

	(void)state;
	setenv("RDMABLK_URI", "of another daemon", 1);
	assert_int_equal(serve("test \"$RDMABLK_URI $RDMABLK_ADDRESS\" = "
			       "'10.0.0.2:20420/disk0 10.0.0.2:20420' && "
			       "test \"$RDMABLK_EXPORT $RDMABLK_CONTROL\" = 'disk0 /run/control'",
			       &place, 0), 0);
	any.uri = NULL;
	assert_int_equal(serve("test -z \"${RDMABLK_URI+set}\" -a -n \"$RDMABLK_ADDRESS\"", &any,
			       0), 0);
	/* The command inherits no descriptor of the daemon. Descriptor 3 is that of ls itself. */
	assert_int_equal(serve("test \"$(ls /proc/self/fd | tr -d '\\n')\" = 0123", &place, 0),
			 0);
}

static void test_signal(void **state)
{
	(void)state;
	assert_int_equal(serve("exec sleep 1000", &place, SIGTERM), 128 + SIGTERM);
	assert_int_equal(serve("exec sleep 1000", &place, SIGINT), 128 + SIGINT);
}

/* The shell itself cannot be run: the log says why. */
static void test_not_run(void **state)
{
	static char command[200000];	/* longer than one argument may be */
	int old = dup(STDERR_FILENO), ends[2];
	char log[512];
	ssize_t len;

	(void)state;
	memset(command, '#', sizeof(command) - 1);
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	assert_int_equal(serve(command, &place, 0), 126);
	dup2(old, STDERR_FILENO);
	close(ends[1]);
	len = read(ends[0], log, sizeof(log) - 1);
	assert_true(len > 0);
	log[len] = '\0';
	assert_non_null(strstr(log, "cannot run the command: /bin/sh: Argument list too long"));
	close(ends[0]);
	close(old);
}

/* The audit log gets the status of the command, also when the daemon's own status counts. */
static void test_both_statuses(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		log_setup(LOG_ERR);
		if (captive_status() != -1 || captive_prepare("exit 7", &place) || loop_init() ||
		    captive_start(loop_stop))
			_exit(100);
		loop_run();
		loop_exit();
		if (captive_end(EXIT_FAILED, PATIENCE_MS) != EXIT_FAILED)
			_exit(101);
		_exit(captive_status());
	}
	assert_int_equal(status_of(pid), 7);
}

/* If the daemon fails before it is ready, the command does not run; the daemon's status counts. */
static void test_not_begun(void **state)
{
	char path[] = "/tmp/rdmablk-captive-XXXXXX", command[64];
	int fd = mkstemp(path);
	struct stat st;
	pid_t pid;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "rm %s", path);
	pid = fork();
	if (!pid) {
		if (captive_prepare(command, &place))
			_exit(100);
		if (captive_end(EXIT_FAILED, PATIENCE_MS) != EXIT_FAILED)
			_exit(101);
		_exit(captive_status() == -1 ? EXIT_FAILED : 102);
	}
	assert_int_equal(status_of(pid), EXIT_FAILED);
	assert_int_equal(stat(path, &st), 0);
	unlink(path);
}

/* A command that does not end in time is ended, and the status of the daemon is a failure. */
static void test_late(void **state)
{
	pid_t pid = fork(), command;
	int ends[2];
	char byte;

	(void)state;
	if (!pid) {
		log_setup(LOG_ERR);
		if (captive_prepare("exec sleep 1000", &place) || loop_init() ||
		    captive_start(loop_stop))
			_exit(100);
		_exit(captive_end(EXIT_DONE, 0));
	}
	assert_int_equal(status_of(pid), EXIT_FAILED);
	/* If the daemon dies before the start, its command never runs: the pipe has no writer. */
	assert_int_equal(pipe(ends), 0);
	command = fork();
	if (!command) {
		if (captive_prepare("echo; exec sleep 1000", &place) || loop_init())
			_exit(100);
		_exit(100);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	assert_int_equal(status_of(command), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_not_run),
		cmocka_unit_test(test_both_statuses),
		cmocka_unit_test(test_not_begun),
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
