// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The watchdog tells systemd that the loop turns, but only if systemd has asked for it. A
 * thread that does not answer is reported repeatedly, and also when it answers again. The test
 * decides how time passes.
 *
 * Sources: target/base/watchdog.c
 * Libraries: libsystemd
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/base/loop.h"
#include "../../target/base/watchdog.h"
#include "last_line.h"

static int64_t now;
static struct loop_timer *timers[2];
static unsigned int questions;
static int notify_fd = -1;

int64_t loop_now(void)
{
	return now;
}

void loop_timer_stop(struct loop_timer *timer)
{
	for (int i = 0; i < 2; i++)
		if (timers[i] == timer)
			timers[i] = NULL;
	timer->armed = false;
}

void loop_timer_start(struct loop_timer *timer, int64_t ms)
{
	loop_timer_stop(timer);
	timer->deadline = now + ms;
	timer->armed = true;
	timers[timers[0] ? 1 : 0] = timer;
}

/* Lets time pass, timer by timer. */
static void pass(int64_t ms)
{
	int64_t end = now + ms;

	for (;;) {
		struct loop_timer *next = NULL;

		for (int i = 0; i < 2; i++)
			if (timers[i] && timers[i]->deadline <= end &&
			    (!next || timers[i]->deadline < next->deadline))
				next = timers[i];
		if (!next)
			break;
		now = next->deadline;
		loop_timer_stop(next);
		next->expired(next);
	}
	now = end;
}

/* Return: how often systemd was told @text since the last call; others do not count */
static unsigned int told(const char *text)
{
	unsigned int nr = 0;
	char buf[100];
	ssize_t n;

	while ((n = recv(notify_fd, buf, sizeof(buf) - 1, MSG_DONTWAIT)) >= 0) {
		buf[n] = '\0';
		nr += !strcmp(buf, text);
	}
	return nr;
}

static void ask(struct heartbeat *hb)
{
	(void)hb;
	questions++;
}

static void systemd_hears_of_the_loop(void **state)
{
	(void)state;
	setenv("WATCHDOG_USEC", "20000000", 1);
	watchdog_start();
	assert_int_equal(told("WATCHDOG=1"), 1);
	pass(20000);
	assert_in_range(told("WATCHDOG=1"), 2, 5);
	watchdog_stop();
	assert_int_equal(told("WATCHDOG_USEC=0"), 1);
	pass(60000);
	assert_int_equal(told("WATCHDOG=1"), 0);
}

static void systemd_does_not_want_to_know(void **state)
{
	(void)state;
	unsetenv("WATCHDOG_USEC");
	watchdog_start();
	assert_null(timers[0]);
	watchdog_stop();
	assert_int_equal(told("WATCHDOG_USEC=0"), 0);
}

static void a_thread_that_answers(void **state)
{
	struct heartbeat hb = { .name = "disk0", .number = 3, .ask = ask };

	(void)state;
	lines = 0;
	questions = 0;
	watchdog_add(&hb);
	for (int i = 0; i < 30; i++) {
		pass(10000);
		watchdog_answer(&hb);
	}
	assert_int_equal(questions, 30);
	assert_int_equal(lines, 0);
	watchdog_del(&hb);
	assert_null(timers[0]);
}

static void a_thread_that_hangs(void **state)
{
	struct heartbeat other = {
		.name = "disk1", .kind = "commands", .suspect = "adapter", .ask = ask,
	};
	struct heartbeat hb = {
		.name = "disk0", .kind = "I/O", .number = 3, .suspect = "disk", .ask = ask,
	};

	(void)state;
	lines = 0;
	questions = 0;
	watchdog_add(&hb);
	watchdog_add(&other);
	pass(30000);
	assert_int_equal(lines, 0);
	watchdog_answer(&other);
	pass(10000);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(last_line, "export disk0: I/O thread 3 has not answered for 30 s"
			       "; does its disk hang?"));
	watchdog_answer(&other);
	pass(50000);
	assert_int_equal(lines, 2);	/* the other one is silent, too, now */
	assert_non_null(strstr(last_line, "export disk1: commands thread 0 has not answered "
			       "for 30 s; does its adapter hang?"));
	watchdog_answer(&other);
	pass(10000);
	assert_int_equal(lines, 4);	/* and answers; the first one is reported again */
	watchdog_del(&other);
	watchdog_answer(&hb);
	pass(10000);
	assert_int_equal(lines, 5);
	assert_string_equal(last_line, "export disk0: I/O thread 3 answers again");
	watchdog_del(&hb);
	assert_null(timers[0]);
}

static int setup(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "\0rdmablk-unit-" };
	char name[sizeof(addr.sun_path) + 2];

	(void)state;
	/* an abstract name: no file is left behind */
	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "rdmablk-unit-%d", getpid());
	snprintf(name, sizeof(name), "@%s", addr.sun_path + 1);
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsetenv("WATCHDOG_PID");
	return setenv("NOTIFY_SOCKET", name, 1) ||
	       bind(notify_fd, (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				strlen(addr.sun_path + 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(systemd_hears_of_the_loop),
		cmocka_unit_test(systemd_does_not_want_to_know),
		cmocka_unit_test(a_thread_that_answers),
		cmocka_unit_test(a_thread_that_hangs),
	};

	return cmocka_run_group_tests_name("watchdog", tests, setup, NULL);
}
