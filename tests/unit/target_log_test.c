// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log of the daemon: no caller waits for its reader, lines keep their order, dropped lines
 * are counted where they are missing, and no peer uses up the lines about another.
 *
 * Sources: target/base/log.c target/base/lines.c
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/base/util.h"

#define LINES	5000U
#define BURST	60U	/* lines about a peer that a place may write at once */

static int ends[2], saved = -1;

/* From here on stderr is a pipe that holds one page, which nobody reads. */
static void log_to_pipe(void)
{
	alarm(60);	/* ends a test that waits for the reader for ever */
	log_stop_ms = 30000;	/* a stop that is cut short would lose lines */
	assert_int_equal(pipe(ends), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
	saved = dup(STDERR_FILENO);
	assert_true(saved >= 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	log_setup(LOG_INFO);
}

static void log_to_stderr(void)
{
	log_setup(-1);
	dup2(saved, STDERR_FILENO);
	close(saved);
	alarm(0);
}

static char *text;

static void *read_all(void *arg)
{
	size_t size = 1 << 20, len = 0;
	ssize_t n;

	text = calloc(1, size);
	while ((n = read(ends[0], text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	return arg;
}

static void no_line_is_lost_unsaid(int flags)
{
	unsigned int next = 0, number = 0, dropped = 0;
	pthread_t reader;
	char *line, *rest;

	log_to_pipe();
	assert_int_equal(fcntl(STDERR_FILENO, F_SETFL, flags), 0);
	assert_int_equal(log_start(), 0);
	for (unsigned int i = 0; i < LINES; i++)
		log_info("line %u", i);
	assert_int_equal(pthread_create(&reader, NULL, read_all, NULL), 0);
	log_stop();
	log_info("the last");	/* written here: there is no thread any more */
	log_to_stderr();
	pthread_join(reader, NULL);
	close(ends[0]);
	line = strtok_r(text, "\n", &rest);
	while (line && sscanf(line, "rdmablkd: line %u", &number) == 1) {
		assert_int_equal(number, next++);
		line = strtok_r(NULL, "\n", &rest);
	}
	assert_true(next >= 1000);	/* the lines that fit into the ring and the pipe */
	assert_non_null(line);
	if (sscanf(line, "rdmablkd: warning: %u lines were dropped", &dropped) != 1)
		fail_msg("not the number of lines: %s", line);
	assert_int_equal(next + dropped, LINES);
	assert_string_equal(strtok_r(NULL, "\n", &rest), "rdmablkd: the last");
	assert_null(strtok_r(NULL, "\n", &rest));
	free(text);
	text = NULL;
}

/* Return: KiB of the program's zeroed variables, among them the ring, that have pages. */
static unsigned int resident_kib(void)
{
	static char variable[3 * 4096];	/* its middle is in no page of initialised data */
	const uintptr_t at = (uintptr_t)&variable[4096];
	unsigned int kib = 0;
	unsigned long from, to;
	bool here = false;
	char line[512];
	FILE *f = fopen("/proc/self/smaps", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from <= at && at < to;
		else if (here && sscanf(line, "Rss: %u", &kib) == 1)
			break;
	}
	fclose(f);
	assert_true(here);
	return kib;
}

/* Must be the first test: the others fill the ring. */
static void lines_that_are_read_touch_few_pages(void **state)
{
	unsigned int before = 0, after, number;
	char line[1024];

	(void)state;
	log_to_pipe();
	for (unsigned int i = 0; i < 1000; i++) {
		size_t len = 0;

		assert_int_equal(log_start(), 0);
		log_info("line %u, which is long: %0900u", i, 0U);
		log_stop();
		/* Each line is read at once: one that waits would need a page of the ring. */
		while (!len || line[len - 1] != '\n') {
			ssize_t n = read(ends[0], line + len, sizeof(line) - 1 - len);

			assert_true(n > 0);
			len += (size_t)n;
		}
		line[len] = 0;
		if (sscanf(line, "rdmablkd: line %u, ", &number) != 1)
			fail_msg("not the line: %s", line);
		assert_int_equal(number, i);
		/* The first line also touches pages that are needed only once. */
		if (!i)
			before = resident_kib();
	}
	after = resident_kib();
	log_to_stderr();
	close(ends[0]);
	if (after > before + 64)
		fail_msg("%u KiB for lines that nobody has to keep", after - before);
}

static void nobody_waits_for_the_reader(void **state)
{
	(void)state;
	no_line_is_lost_unsaid(0);
}

static void a_pipe_that_does_not_block_is_waited_for(void **state)
{
	(void)state;
	no_line_is_lost_unsaid(O_NONBLOCK);
}

static void a_stuck_reader_does_not_keep_the_process(void **state)
{
	pthread_t reader;

	(void)state;
	log_to_pipe();
	assert_int_equal(log_start(), 0);
	for (unsigned int i = 0; i < LINES; i++)
		log_info("line %u", i);
	log_stop_ms = 100;
	log_stop();
	log_signal("rdmablkd: a signal\n", 19);
	log_info("nobody waits for this one");
	/* the log thread is still in write(2): with a reader it goes on and ends */
	log_stop_ms = 30000;
	assert_int_equal(pthread_create(&reader, NULL, read_all, NULL), 0);
	log_stop();
	log_to_stderr();
	pthread_join(reader, NULL);
	close(ends[0]);
	assert_non_null(strstr(text, "lines were dropped"));
	assert_null(strstr(text, "a signal"));
	free(text);
	text = NULL;
}

static struct sockaddr_storage address(const char *what)
{
	struct sockaddr_storage sa = { .ss_family = strchr(what, ':') ? AF_INET6 : AF_INET };

	if (sa.ss_family == AF_INET6)
		assert_int_equal(inet_pton(AF_INET6, what,
					   &((struct sockaddr_in6 *)&sa)->sin6_addr), 1);
	else
		assert_int_equal(inet_pton(AF_INET, what,
					   &((struct sockaddr_in *)&sa)->sin_addr), 1);
	return sa;
}

static unsigned int allowed(const void *place, const char *peer, unsigned int tries)
{
	struct sockaddr_storage sa = { 0 };
	unsigned int nr = 0;

	if (peer)
		sa = address(peer);
	while (tries--)
		nr += log_allow(place, peer ? (struct sockaddr *)&sa : NULL);
	return nr;
}

static void no_peer_uses_up_the_lines_of_another(void **state)
{
	static char place, other;

	(void)state;
	assert_int_equal(allowed(&place, "10.0.0.1", 3 * BURST), BURST);
	assert_int_equal(allowed(&place, "10.0.0.2", 3 * BURST), BURST);
	assert_int_equal(allowed(&other, "10.0.0.1", 3 * BURST), BURST);
	assert_int_equal(allowed(&place, NULL, 3 * BURST), BURST);
	assert_int_equal(allowed(&place, "10.0.0.1", BURST), 0);
	/* the owner of an IPv6 network has all its addresses */
	assert_int_equal(allowed(&place, "2001:db8::1", BURST), BURST);
	assert_int_equal(allowed(&place, "2001:db8::2", BURST), 0);
	assert_int_equal(allowed(&place, "2001:db8:0:1::1", BURST), BURST);
	/* but nobody owns all link-local addresses */
	assert_int_equal(allowed(&place, "fe80::1", BURST + 1), BURST);
	assert_int_equal(allowed(&place, "fe80::2", BURST + 1), BURST);
}

/* When a peer takes the budget of another, the log says how many lines that one has left out. */
static void many_peers_are_no_way_to_hide(void **state)
{
	static const char place[] = "many";
	pthread_t reader;
	unsigned int sum = 0, n;
	char *line, *rest;

	(void)state;
	log_to_pipe();
	assert_int_equal(pthread_create(&reader, NULL, read_all, NULL), 0);
	assert_int_equal(allowed(place, "10.1.0.1", BURST + 7), BURST);
	for (unsigned int i = 0; i < 20000; i++) {
		char peer[32];

		snprintf(peer, sizeof(peer), "10.2.%u.%u", i >> 8, i & 255);
		assert_int_equal(allowed(place, peer, 1), 1);
	}
	log_to_stderr();
	pthread_join(reader, NULL);
	close(ends[0]);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (sscanf(line, "rdmablkd: %u lines about other peers were left out: ", &n) == 1)
			sum += n;
	assert_true(sum >= 7);
	free(text);
	text = NULL;
}

/* Return: how many lines of a place were left out, by the counts in @text. */
static unsigned int left_out(const char *place)
{
	unsigned int sum = 0, n;
	char *copy = strdup(text), *line, *rest;
	char kind[64];

	for (line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (sscanf(line, "rdmablkd: %u lines about other peers were left out: %63s",
			   &n, kind) == 2 && !strcmp(kind, place))
			sum += n;
	free(copy);
	return sum;
}

/* Return: how many lines were left out before a line of the same kind, by the counts in @text. */
static unsigned int left_out_before(void)
{
	unsigned int sum = 0, n;
	char *copy = strdup(text), *line, *rest;

	for (line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strstr(line, "of the next kind") && sscanf(line, "rdmablkd: %u", &n) == 1)
			sum += n;
	free(copy);
	return sum;
}

/*
 * The log says for each place how many lines were left out, even if no further line of that
 * place comes, and whether other lines come or not.
 */
static void what_is_left_out_is_said_in_time(void **state)
{
	static const char first[] = "first", second[] = "second", third[] = "third";
	const int window_ms = log_window_ms;
	unsigned int got, tries, said;
	pthread_t reader;

	(void)state;
	log_to_pipe();
	log_window_ms = 1000;
	assert_int_equal(pthread_create(&reader, NULL, read_all, NULL), 0);
	assert_int_equal(log_start(), 0);
	got = allowed(first, "10.3.0.1", BURST + 5) + allowed(first, "10.3.0.2", BURST + 2) +
	      allowed(second, "10.3.0.1", BURST + 40);
	tries = 3 * BURST + 47;
	/* the log thread says it, because no further line of these places comes */
	while (!text || !strstr(text, ": first\n") || !strstr(text, ": second\n")) {
		log_info("another line");
		usleep(10000);
	}
	assert_true(left_out("first") && left_out("second"));
	said = left_out("first") + left_out("second");
	assert_int_equal(said + left_out_before(), tries - got);
	log_window_ms = 60000;
	got = allowed(third, "10.3.0.7", BURST + 3);
	log_stop();		/* the log says it now at the latest */
	log_window_ms = window_ms;
	log_to_stderr();
	pthread_join(reader, NULL);
	close(ends[0]);
	assert_int_equal(left_out("third"), BURST + 3 - got);
	/* and says it only once */
	assert_int_equal(left_out("first") + left_out("second"), said);
	free(text);
	text = NULL;
}

/* The daemon's own lines have room, however many peers there are and however slow the reader. */
static void peers_leave_room_for_the_daemons_own_lines(void **state)
{
	static const char place[] = "place";
	unsigned int written = 0, own = 0;
	pthread_t reader;
	char *line, *rest;

	(void)state;
	log_to_pipe();
	assert_int_equal(log_start(), 0);
	for (unsigned int i = 0; i < LINES; i++) {
		char peer[32];

		snprintf(peer, sizeof(peer), "10.4.%u.%u", i >> 8, i & 255);
		if (allowed(place, peer, 1)) {
			log_info("line %u", i);
			written++;
		}
	}
	for (unsigned int i = 0; i < 200; i++)
		log_info("own %u", i);
	assert_int_equal(pthread_create(&reader, NULL, read_all, NULL), 0);
	log_stop();
	log_to_stderr();
	pthread_join(reader, NULL);
	close(ends[0]);
	assert_null(strstr(text, "were dropped"));
	assert_int_equal(written + left_out("place"), LINES);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		own += !strncmp(line, "rdmablkd: own ", 14);
	assert_int_equal(own, 200);
	free(text);
	text = NULL;
}

#define THREADS	4

static char shared_place;
static atomic_uint shared_allowed;

static void *ask(void *arg)
{
	atomic_fetch_add(&shared_allowed, allowed(&shared_place, "10.0.0.9", 10000));
	return arg;
}

static void threads_share_a_budget(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ask, NULL), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(atomic_load(&shared_allowed), BURST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_are_read_touch_few_pages),
		cmocka_unit_test(nobody_waits_for_the_reader),
		cmocka_unit_test(a_pipe_that_does_not_block_is_waited_for),
		cmocka_unit_test(a_stuck_reader_does_not_keep_the_process),
		cmocka_unit_test(no_peer_uses_up_the_lines_of_another),
		cmocka_unit_test(many_peers_are_no_way_to_hide),
		cmocka_unit_test(what_is_left_out_is_said_in_time),
		cmocka_unit_test(peers_leave_room_for_the_daemons_own_lines),
		cmocka_unit_test(threads_share_a_budget),
	};

	log_setup(-1);
	return _cmocka_run_group_tests("log", tests, ARRAY_SIZE(tests), NULL, NULL);
}
