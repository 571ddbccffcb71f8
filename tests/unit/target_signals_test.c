// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A signal that ends a daemon after its loop has ended loses no lines that still wait in the
 * log. The reader gets all of them, and then a last line that says why the daemon has ended.
 *
 * Sources: target/base/late_signals.c target/base/log.c
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/late_signals.h"
#include "../../target/base/log.h"
#include "../../target/base/util.h"
#include "../../target/config/options.h"

#define LINES		600U	/* more than a page, and fewer than the log can keep waiting */
#define PATIENCE_S	60

static void say_end(void)
{
	log_warn("the end");
}

/* A daemon that hangs at its end. Its log is a pipe that holds one page. */
static void daemon_main(int log, int ready, bool asked)
{
	sigset_t set;

	alarm(5 * PATIENCE_S);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	dup2(log, STDERR_FILENO);
	log_setup(LOG_INFO);
	log_stop_ms = 2 * PATIENCE_S * 1000;
	if (log_start() || late_signals_start(asked, say_end))
		_exit(100);
	for (unsigned int i = 0; i < LINES; i++)
		log_info("line %u", i);
	if (write(ready, "", 1) != 1)
		_exit(101);
	for (;;)
		pause();
}

/* Return: whether no thread has taken @signo yet. */
static bool is_pending(pid_t pid, int signo)
{
	unsigned long long set = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "ShdPnd: %llx", &set) == 1)
			break;
	if (file)
		fclose(file);
	return set & 1ULL << (signo - 1);
}

static void send_signal(pid_t pid, int signo)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	time_t end = time(NULL) + PATIENCE_S;

	assert_int_equal(kill(pid, signo), 0);
	while (is_pending(pid, signo)) {
		assert_true(time(NULL) < end);
		nanosleep(&pause, NULL);
	}
}

static char *read_all(int fd)
{
	size_t size = 1 << 20, len = 0;
	char *text = calloc(1, size);
	ssize_t n;

	while ((n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	return text;
}

static void assert_line(char **rest, const char *wanted)
{
	char *line = strsep(rest, "\n");

	assert_non_null(line);
	assert_string_equal(line, wanted);
}

static const char first[] =
	"rdmablkd: warning: ending already; another signal ends it at once";
static const char again[] = "rdmablkd: warning: a signal again: exiting at once";

static void assert_lines(char *text, bool asked)
{
	char line[100], *rest = text;

	for (unsigned int i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "rdmablkd: line %u", i);
		assert_line(&rest, line);
	}
	if (!asked)
		assert_line(&rest, first);
	assert_line(&rest, again);
	assert_line(&rest, "rdmablkd: warning: the end");
	assert_line(&rest, "");
	assert_null(rest);
}

static void ended_by(bool asked)
{
	int log[2], ready[2], status;
	char byte, *text;
	pid_t pid;

	assert_int_equal(pipe2(log, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_true(fcntl(log[1], F_SETPIPE_SZ, 4096) > 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		daemon_main(log[1], ready[1], asked);
	close(log[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	if (!asked) {
		send_signal(pid, SIGTERM);
		assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	}
	send_signal(pid, SIGINT);
	text = read_all(log[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILED);
	assert_lines(text, asked);
	free(text);
	close(log[0]);
	close(ready[0]);
}

static void the_second_signal_ends_it_with_all_lines(void **state)
{
	(void)state;
	ended_by(false);
}

static void after_one_that_asked_the_first_does(void **state)
{
	(void)state;
	ended_by(true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_signal_ends_it_with_all_lines),
		cmocka_unit_test(after_one_that_asked_the_first_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
