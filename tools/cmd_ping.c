// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk ping: how long the daemon of a target takes to answer. The messages are keep-alives on
 * the control queue, as those of a disk: only an answer of the daemon proves that it lives.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "output.h"
#include "report.h"
#include "util.h"
#include "visit.h"

#define MOST		100	/* a visit lasts no longer than a login may */
#define PAUSE_NS	100000000L

const struct option_info ping_options[] = {
	VISIT_OPT_KEY,
	VISIT_OPT_HOST_ID,
	VISIT_OPT_TIMEOUT,
	{ "count", 'c', 'c', "N", "messages, 1 to 100 (10)" },
	{ "json", 0, 'j', NULL, "print JSON" },
	{ 0 }
};

static const struct opts_origin origin = { "ping", "--" };

/**
 * struct ping - messages and their answers
 * @visit: the target
 * @count: messages
 * @mtu: of the way, bytes; 0: not known
 * @ns: time of each
 */
struct ping {
	struct visit visit;
	__u32 count;
	unsigned int mtu;
	__u64 ns[MOST];
};

static int set(void *context, int id, const char *value)
{
	struct ping *ping = context;

	switch (id) {
	case 'c':
		return opts_number(&origin, "count", value, 1, MOST, "", &ping->count);
	case 'j':
		report_json = true;
		return 0;
	default:
		return visit_set_option(&origin, &ping->visit, id, value);
	}
}

static int by_value(const void *a, const void *b)
{
	const __u64 *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* @ns: sorted. Returns the least value that @percent of all do not exceed. */
static __u64 percentile(const struct ping *ping, unsigned int percent)
{
	return ping->ns[(ping->count * percent + 99) / 100 - 1];
}

static __u64 average(const struct ping *ping)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < ping->count; i++)
		sum += ping->ns[i];
	return ping->count ? sum / ping->count : 0;
}

static double ms(__u64 ns)
{
	return ns / 1e6;
}

static void print(struct ping *ping, const char *target_name)
{
	struct json_object *top;

	qsort(ping->ns, ping->count, sizeof(ping->ns[0]), by_value);
	const struct {
		const char *key;
		__u64 ns;
	} times[] = {
		{ "min_ns", ping->ns[0] }, { "avg_ns", average(ping) },
		{ "p50_ns", percentile(ping, 50) }, { "p99_ns", percentile(ping, 99) },
		{ "max_ns", ping->ns[ping->count - 1] },
	};

	if (!report_json) {
		printf("%s: MTU %u, %u answers, min/avg/p50/p99/max %.3f/%.3f/%.3f/%.3f/%.3f ms\n",
		       ping->visit.address, ping->mtu, ping->count, ms(times[0].ns),
		       ms(times[1].ns), ms(times[2].ns), ms(times[3].ns), ms(times[4].ns));
		return;
	}
	top = output_json_new();
	json_object_object_add(top, "target", json_object_new_string(ping->visit.address));
	json_object_object_add(top, "target_name", json_object_new_string(target_name));
	json_object_object_add(top, "auth",
			       json_object_new_string(ping->visit.key ? "psk" : "none"));
	json_object_object_add(top, "mtu", ping->mtu ? json_object_new_int(ping->mtu) : NULL);
	json_object_object_add(top, "answers", json_object_new_int(ping->count));
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		json_object_object_add(top, times[i].key, json_object_new_uint64(times[i].ns));
	output_json_line(top);
}

static int run(struct ping *ping, struct client *client, const char *what)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct nl_failure failure;
	__u32 i;

	ping->mtu = client_mtu(client);
	for (i = 0; i < ping->count; i++) {
		if (i)
			nanosleep(&pause, NULL);
		if (client_ping(client, &ping->ns[i], &failure))
			return report_peer_failure(failure.err, what, "message %u: %s", i + 1,
						   failure.text);
		if (!report_json) {
			printf("message %u: %.3f ms\n", i + 1, ms(ping->ns[i]));
			fflush(stdout);
		}
	}
	print(ping, client_target_name(client));
	return STATUS_DONE;
}

/**
 * cmd_ping() - rdmablk ping
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_ping(const struct command_info *command, int argc, char **argv)
{
	struct ping ping = { .count = 10 };
	struct client *client;
	char what[320];
	int ret;

	ret = opts_parse(command, argc, argv, set, &ping);
	if (!ret)
		ret = visit_parse("ping", argv + optind, &ping.visit);
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "ping %.300s", argv[optind]);
	client = visit_open(&ping.visit, what, &ret);
	if (!client)
		return ret;
	ret = run(&ping, client, what);
	client_close(client);
	return ret;
}
