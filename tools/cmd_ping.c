// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk ping: how long messages, READs and WRITEs take on the path to a target, how large a
 * packet the path carries, and whether data arrive unchanged. The messages are keep-alives on
 * the control queue, as those of a disk: only an answer of the daemon proves that it lives.
 * READs and WRITEs reach a scratch region, memory that the daemon lends for this, and no export.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blast.h"
#include "commands.h"
#include "output.h"
#include "report.h"
#include "util.h"
#include "visit.h"

#define MAX_COUNT	10000
#define MAX_INTERVAL	1000	/* ms; the daemon ends a visit that is silent for some seconds */
#define MAX_RUN_MS	60000	/* a visit lasts somewhat longer */
#define INTERVAL	100	/* ms, unless so many rounds then take longer than ... */
#define DEFAULT_RUN_MS	30000
#define MESSAGE_MS	6	/* a daemon ends a visit that sends 200 messages a second */
#define MAX_DEPTH	128
#define MAX_SECONDS	60
#define PRINTED		100	/* with more rounds they are not printed one by one */
#define QUIET_NS	1000000000ULL

const struct option_info ping_options[] = {
	VISIT_OPT_KEY,
	VISIT_OPT_HOST_ID,
	VISIT_OPT_TIMEOUT,
	{ "count", 'c', 'c', "N", "rounds, 1 to 10000 (10)" },
	{ "interval", 'i', 'i', "MS",
	  "from one round to the next, 0 to 1000 (100; less for more than 300 rounds)" },
	{ "size", 's', 's', "BYTES", "of each READ and WRITE, 1 to 1048576 (4096)" },
	{ "send", 0, 'S', NULL, "messages that the daemon answers" },
	{ "write", 0, 'W', NULL, "WRITEs to a scratch region" },
	{ "read", 0, 'R', NULL, "READs from it; without these three options: all of them" },
	{ "blast", 0, 'b', "S",
	  "write all of the region, read it and compare, for 1 to 60 seconds" },
	{ "depth", 0, 'd', "N", "with --blast: requests at once, 1 to 128 (16)" },
	{ "json", 0, 'j', NULL, "print JSON" },
	{ 0 }
};

static const struct opts_origin origin = { "ping", "--" };

enum { SEND, WRITE, READ, OPERATIONS };

static const char *const names[OPERATIONS] = { "send", "write", "read" };

/**
 * struct ping - what is asked for, and what came of it
 * @visit: the target
 * @what: the command with its operand, for complaints
 * @count: rounds
 * @interval: time from one round to the next, ms
 * @size: size of a READ or WRITE, bytes
 * @seconds: duration of a blast; 0: single requests
 * @depth: requests of a blast under way at once
 * @chosen: operations to measure
 * @any: the command line named operations
 * @count_given: --count was given
 * @interval_given: --interval was given
 * @depth_given: --depth was given
 * @size_given: --size was given
 * @client: the visit
 * @mtu: of the queue pair, bytes; 0: not known
 * @passes: the largest packet that has arrived, bytes; 0: not known
 * @scratch: region that is lent
 * @times: durations of single requests, by operation
 * @blast: figures of a blast
 * @began: when the visit has begun, ns
 * @heard: when the daemon has answered last, ns
 * @failed: the measurement has ended with a failure
 */
struct ping {
	struct visit visit;
	const char *what;
	__u32 count;
	__u32 interval;
	__u32 size;
	__u32 seconds;
	__u32 depth;
	bool chosen[OPERATIONS];
	bool any;
	bool count_given;
	bool interval_given;
	bool depth_given;
	bool size_given;
	struct client *client;
	unsigned int mtu;
	unsigned int passes;
	struct scratch scratch;
	struct times times[OPERATIONS];
	struct blast blast;
	__u64 began;
	__u64 heard;
	bool failed;
};

static atomic_bool stopped;

/*
 * Options
 */

static int choose(struct ping *ping, int operation)
{
	ping->chosen[operation] = true;
	ping->any = true;
	return 0;
}

static int set(void *context, int id, const char *value)
{
	struct ping *ping = context;

	switch (id) {
	case 'c':
		ping->count_given = true;
		return opts_number(&origin, "count", value, 1, MAX_COUNT, "", &ping->count);
	case 'i':
		ping->interval_given = true;
		return opts_number(&origin, "interval", value, 0, MAX_INTERVAL, " milliseconds",
				   &ping->interval);
	case 's':
		ping->size_given = true;
		return opts_number(&origin, "size", value, 1, RDMABLK_MAX_SCRATCH, " bytes",
				   &ping->size);
	case 'S':
		return choose(ping, SEND);
	case 'W':
		return choose(ping, WRITE);
	case 'R':
		return choose(ping, READ);
	case 'b':
		return opts_number(&origin, "blast", value, 1, MAX_SECONDS, " seconds",
				   &ping->seconds);
	case 'd':
		ping->depth_given = true;
		return opts_number(&origin, "depth", value, 1, MAX_DEPTH, "", &ping->depth);
	case 'j':
		report_json = true;
		return 0;
	default:
		return visit_set_option(&origin, &ping->visit, id, value);
	}
}

static __u32 pause_ms(const struct ping *ping)
{
	return ping->chosen[SEND] && ping->interval < MESSAGE_MS ? MESSAGE_MS : ping->interval;
}

/* Returns 0 or the exit status after a complaint. */
static int check(struct ping *ping)
{
	int i;

	if (ping->seconds && (ping->any || ping->count_given || ping->interval_given))
		return report_usage("ping", "--blast does not go with %s",
				    "--send, --write, --read, --count or --interval");
	if (ping->depth_given && !ping->seconds)
		return report_usage("ping", "--depth goes with --blast only");
	for (i = 0; i < OPERATIONS; i++)
		ping->chosen[i] |= !ping->any;
	if (!ping->interval_given && ping->count * INTERVAL > DEFAULT_RUN_MS)
		ping->interval = DEFAULT_RUN_MS / ping->count;
	if (ping->count * pause_ms(ping) > MAX_RUN_MS)
		return report_usage("ping",
				    "%u rounds, one each %u ms, take longer than a minute: use an --interval of %u or less",
				    ping->count, pause_ms(ping), MAX_RUN_MS / ping->count);
	return 0;
}

/*
 * What is printed
 */

static double us(__u64 ns)
{
	return (double)ns / 1000;
}

static void add_ns(struct json_object *object, const char *key, struct times *times, __u64 ns)
{
	json_object_object_add(object, key,
			       times->count ? json_object_new_uint64(ns) : NULL);
}

static void add_times(struct json_object *object, struct times *times)
{
	add_ns(object, "min_ns", times, times->min);
	add_ns(object, "avg_ns", times, times_average(times));
	add_ns(object, "p50_ns", times, times_percentile(times, 50));
	add_ns(object, "p90_ns", times, times_percentile(times, 90));
	add_ns(object, "p99_ns", times, times_percentile(times, 99));
	add_ns(object, "p999_ns", times, times_percentile(times, 99.9));
	add_ns(object, "max_ns", times, times->max);
}

static struct json_object *new_row(const char *name, struct times *times, __u32 bytes,
				   __u32 depth)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "operation", json_object_new_string(name));
	json_object_object_add(row, "bytes", bytes ? json_object_new_int64(bytes) : NULL);
	json_object_object_add(row, "depth", json_object_new_int64(depth));
	json_object_object_add(row, "count", json_object_new_uint64(times->count));
	add_times(row, times);
	json_object_object_add(row, "per_second", NULL);
	json_object_object_add(row, "bytes_per_second", NULL);
	return row;
}

/* Makes the row of one operation of a blast. */
static struct json_object *new_blast_row(struct blast *blast, enum blast_way way)
{
	struct times *times = &blast->times[way];
	struct json_object *row = new_row(names[way == BLAST_WRITE ? WRITE : READ], times,
					  blast->size, blast->depth);
	double seconds = (double)blast->busy_ns[way] / 1e9;
	double rate = seconds > 0 ? (double)times->count / seconds : 0;

	json_object_object_add(row, "per_second", json_object_new_double(rate));
	json_object_object_add(row, "bytes_per_second",
			       json_object_new_double(rate * blast->size));
	return row;
}

static struct json_object *new_rows(struct ping *ping)
{
	struct json_object *rows = json_object_new_array();
	int i;

	for (i = 0; i < OPERATIONS; i++)
		if (ping->times[i].count)
			json_object_array_add(rows, new_row(names[i], &ping->times[i],
							    i == SEND ? 0 : ping->size, 1));
	for (i = 0; i < BLAST_WAYS; i++)
		if (ping->blast.times[i].count)
			json_object_array_add(rows, new_blast_row(&ping->blast, i));
	return rows;
}

static void cell(struct json_object *row, const char *key, char *text, size_t size)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(row, key, &value);
	if (!value)
		snprintf(text, size, "-");
	else if (strstr(key, "_ns"))
		snprintf(text, size, "%.1f", us(json_object_get_uint64(value)));
	else if (!strcmp(key, "bytes_per_second"))
		snprintf(text, size, "%.1f", json_object_get_double(value) / 1e6);
	else if (!strcmp(key, "per_second"))
		snprintf(text, size, "%.0f", json_object_get_double(value));
	else
		snprintf(text, size, "%s", json_object_get_string(value));
}

static void print_table(const struct ping *ping, struct json_object *rows)
{
	static const struct output_column one[] = {
		OUTPUT_TEXT("OPERATION", "operation"), OUTPUT_NUMBER("BYTES", "bytes"),
		OUTPUT_NUMBER("COUNT", "count"), OUTPUT_NUMBER("MIN", "min_ns"),
		OUTPUT_NUMBER("AVG", "avg_ns"), OUTPUT_NUMBER("P50", "p50_ns"),
		OUTPUT_NUMBER("P90", "p90_ns"), OUTPUT_NUMBER("P99", "p99_ns"),
		OUTPUT_NUMBER("P99.9", "p999_ns"), OUTPUT_NUMBER("MAX", "max_ns"),
		{ 0 }
	};
	static const struct output_column many[] = {
		OUTPUT_TEXT("OPERATION", "operation"), OUTPUT_NUMBER("BYTES", "bytes"),
		OUTPUT_NUMBER("DEPTH", "depth"), OUTPUT_NUMBER("COUNT", "count"),
		OUTPUT_NUMBER("MB/S", "bytes_per_second"), OUTPUT_NUMBER("PER S", "per_second"),
		OUTPUT_NUMBER("AVG", "avg_ns"), OUTPUT_NUMBER("P50", "p50_ns"),
		OUTPUT_NUMBER("P99", "p99_ns"), OUTPUT_NUMBER("P99.9", "p999_ns"),
		OUTPUT_NUMBER("MAX", "max_ns"),
		{ 0 }
	};

	printf("%s: MTU ", ping->visit.address);
	if (ping->mtu)
		printf("%u", ping->mtu);
	else
		printf("not known");
	if (ping->passes)
		printf(", packets of %u bytes pass", ping->passes);
	printf("; times in microseconds\n");
	output_rows(rows, ping->seconds ? many : one, cell);
	if (!ping->seconds || ping->failed)
		return;
	if (!ping->blast.rounds)
		printf("interrupted in the first round: nothing was compared\n");
	else
		printf("%u rounds of %u bytes: all that was read is what was written\n",
		       ping->blast.rounds,
		       ping->scratch.lent.bytes / ping->size * ping->size);
}

static struct json_object *count_or_null(__u64 value)
{
	return value ? json_object_new_uint64(value) : NULL;
}

static void print_json(struct ping *ping, struct json_object *rows)
{
	struct json_object *top = output_json_new();

	json_object_object_add(top, "target", json_object_new_string(ping->visit.address));
	json_object_object_add(top, "target_name",
			       json_object_new_string(client_target_name(ping->client)));
	json_object_object_add(top, "auth",
			       json_object_new_string(ping->visit.key ? "psk" : "none"));
	json_object_object_add(top, "mtu", count_or_null(ping->mtu));
	json_object_object_add(top, "mtu_passes", count_or_null(ping->passes));
	json_object_object_add(top, "scratch", count_or_null(ping->scratch.lent.bytes));
	json_object_object_add(top, "answers",
			       json_object_new_uint64(ping->times[SEND].count));
	add_times(top, &ping->times[SEND]);
	json_object_object_add(top, "operations", json_object_get(rows));
	json_object_object_add(top, "rounds", json_object_new_int64(ping->blast.rounds));
	output_json_line(top);
}

static void print(struct ping *ping)
{
	struct json_object *rows = new_rows(ping);

	if (report_json)
		print_json(ping, rows);
	else
		print_table(ping, rows);
	json_object_put(rows);
}

/*
 * Rounds
 */

static void hex(const __u8 *bytes, __u32 nr, char *text)
{
	__u32 i;

	for (i = 0; i < nr; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
}

static int report_damage(const struct ping *ping, const struct scratch_damage *damage)
{
	char expected[20] = "", got[20] = "";

	hex(damage->expected, damage->bytes, expected);
	hex(damage->got, damage->bytes, got);
	return report_failure(EILSEQ, ping->what,
			      "what was read is not what was written: at byte %u of the scratch region %s was written, %s was read",
			      damage->offset, expected, got);
}

static int failed(const struct ping *ping, const char *name, __u32 round,
		  const struct nl_failure *failure)
{
	return report_peer_failure(failure->err, ping->what, "%s %u: %s", name, round + 1,
				   failure->text);
}

static int send_one(struct ping *ping, __u64 *ns, struct nl_failure *failure)
{
	if (client_ping(ping->client, ns, failure))
		return -1;
	ping->heard = times_now();
	return 0;
}

static int do_one(struct ping *ping, int operation, __u64 *ns, struct nl_failure *failure)
{
	if (operation == SEND)
		return send_one(ping, ns, failure);
	if (operation == WRITE)
		scratch_fill(&ping->scratch, ping->size);
	return scratch_do(&ping->scratch, operation == WRITE, ping->size, ns, failure);
}

/* Returns 0 or the exit status after a complaint. */
static int one_round(struct ping *ping, __u32 round, bool prints)
{
	struct scratch_damage damage;
	struct nl_failure failure;
	const char *comma = "";
	__u64 ns;
	int i;

	if (prints)
		printf("%u: ", round + 1);
	for (i = 0; i < OPERATIONS; i++) {
		if (!ping->chosen[i])
			continue;
		if (do_one(ping, i, &ns, &failure) ||
		    (times_add(&ping->times[i], ns) && nl_fail(&failure, ENOMEM, "no memory"))) {
			if (prints)
				printf("\n");
			return failed(ping, names[i], round, &failure);
		}
		if (prints)
			printf("%s%s %.1f us", comma, names[i], us(ns));
		comma = ", ";
	}
	if (prints)
		printf("\n");
	fflush(stdout);
	if (ping->chosen[WRITE] && ping->chosen[READ] &&
	    !scratch_check(&ping->scratch, 0, ping->size, &damage))
		return report_damage(ping, &damage);
	return 0;
}

/* Sends a keep-alive if the visit has been silent, because the daemon ends a silent visit. */
static int stay(struct ping *ping)
{
	struct nl_failure failure;
	__u64 ns;

	if (times_now() - ping->heard < QUIET_NS)
		return 0;
	if (send_one(ping, &ns, &failure))
		return report_peer_failure(failure.err, ping->what, "%s", failure.text);
	return 0;
}

static bool is_over(const struct ping *ping, __u32 rounds)
{
	if (times_now() - ping->began < MAX_RUN_MS * 1000000ULL)
		return false;
	report_warning(ping->what, "%u rounds only: they have taken a minute", rounds);
	return true;
}

static int run_rounds(struct ping *ping)
{
	const __u32 ms = pause_ms(ping);
	const struct timespec pause = { .tv_sec = ms / 1000,
					.tv_nsec = ms % 1000 * 1000000L };
	bool prints = !report_json && ping->count <= PRINTED;
	__u32 i;
	int ret = 0;

	for (i = 0; !ret && !atomic_load(&stopped) && i < ping->count; i++) {
		if (i)
			nanosleep(&pause, NULL);
		if (atomic_load(&stopped) || is_over(ping, i))
			break;
		ret = stay(ping);
		ret = ret ? ret : one_round(ping, i, prints);
	}
	return ret;
}

static int run_blast(struct ping *ping)
{
	struct nl_failure failure;

	ping->blast.scratch = &ping->scratch;
	ping->blast.size = ping->size;
	ping->blast.depth = ping->depth;
	ping->blast.seconds = ping->seconds;
	ping->blast.stop = &stopped;
	if (blast_run(&ping->blast, &failure))
		return report_peer_failure(failure.err, ping->what, "%s", failure.text);
	if (ping->blast.damaged)
		return report_damage(ping, &ping->blast.damage);
	if (!ping->blast.rounds && !atomic_load(&stopped))
		return report_failure(ERANGE, ping->what,
				      "no round of %u bytes was complete in time, so nothing was compared: use a larger --size",
				      ping->scratch.lent.bytes / ping->size * ping->size);
	return 0;
}

/*
 * The scratch region
 */

static bool needs_scratch(const struct ping *ping)
{
	return ping->seconds || ping->chosen[WRITE] || ping->chosen[READ];
}

static __u32 wanted(const struct ping *ping)
{
	__u32 least = ping->mtu > ping->size ? ping->mtu : ping->size;

	return ping->seconds ? RDMABLK_MAX_SCRATCH : least;
}

/* Begins the visit, or another one after it. Returns 0 or the exit status after a complaint. */
static int enter(struct ping *ping)
{
	int status = 0;

	scratch_close(&ping->scratch);
	if (ping->client)
		client_close(ping->client);
	ping->client = visit_open(&ping->visit, ping->what, &status);
	ping->began = times_now();
	ping->heard = ping->began;
	return status;
}

/* Goes on with messages alone, unless the user has asked for READ, WRITE or a blast. */
static int go_without(struct ping *ping, const char *why, int err)
{
	if (ping->seconds || ping->any)
		return report_peer_failure(err, ping->what, "%s", why);
	report_warning(ping->what, "%s: messages only", why);
	ping->chosen[WRITE] = false;
	ping->chosen[READ] = false;
	return ping->scratch.lent.over ? enter(ping) : 0;
}

static int no_scratch(struct ping *ping)
{
	unsigned int reason = ping->scratch.lent.reason;
	char why[160];

	if (reason == RDMABLK_R_UNSUPPORTED)
		snprintf(why, sizeof(why), "the target does not lend a scratch region");
	else if (reason == RDMABLK_R_NO_EXPORT)
		snprintf(why, sizeof(why),
			 "the target lends no scratch region to this address, which may use no export");
	else
		snprintf(why, sizeof(why), "the target does not lend a scratch region: %s",
			 rdmablk_reason_text(reason));
	return go_without(ping, why, -client_errno(reason));
}

static int borrow(struct ping *ping)
{
	struct nl_failure failure;

	if (scratch_open(&ping->scratch, ping->client, wanted(ping), &failure))
		return report_peer_failure(failure.err, ping->what, "%s", failure.text);
	return 0;
}

static int report_lost(const struct ping *ping, const struct nl_failure *failure)
{
	return report_peer_failure(failure->err, ping->what, "%s", failure->text);
}

/* Whether a packet seems to be lost: the only sign is that no answer comes. */
static bool was_lost(const struct ping *ping, const struct nl_failure *failure)
{
	return ping->passes && failure->err == ETIMEDOUT;
}

/*
 * Looks for the largest packet that the path carries, before anything is measured. A packet that
 * is lost by chance looks the same, and ends the connection, too: only a size that is lost twice
 * counts as too large.
 */
static int find_mtu(struct ping *ping)
{
	struct nl_failure failure;
	unsigned int first;
	int ret;

	if (!scratch_find_mtu(&ping->scratch, ping->mtu, &ping->passes, &failure))
		return 0;
	if (!was_lost(ping, &failure))
		return report_lost(ping, &failure);
	first = ping->passes;
	ret = enter(ping);
	ret = ret ? ret : borrow(ping);
	if (ret)
		return ret;
	if (ping->scratch.lent.bytes < ping->size)
		return report_lost(ping, &failure);
	if (!scratch_find_mtu(&ping->scratch, ping->mtu, &ping->passes, &failure))
		return 0;
	if (!was_lost(ping, &failure) || ping->passes != first)
		return report_lost(ping, &failure);
	return report_peer_failure(failure.err, ping->what,
				   "packets of %u bytes arrive, larger ones do not, although the MTU is %u: %s",
				   ping->passes, ping->mtu, failure.text);
}

static int use_scratch(struct ping *ping)
{
	const struct client_scratch *lent = &ping->scratch.lent;
	int ret;

	ret = borrow(ping);
	if (ret)
		return ret;
	if (!lent->bytes)
		return no_scratch(ping);
	if (lent->bytes < ping->size && ping->size_given)
		return report_peer_failure(ENOSPC, ping->what,
					   "the target lends %u bytes only: use --size %u or less",
					   lent->bytes, lent->bytes);
	if (lent->bytes < ping->size)
		ping->size = lent->bytes;
	return find_mtu(ping);
}

/*
 * All of it
 */

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stopped, true);
}

/*
 * The first signal ends the measurement, the second one the program. An ignored signal stays
 * ignored.
 */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	static const int signals[] = { SIGINT, SIGTERM };
	struct sigaction old;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

static bool has_figures(const struct ping *ping)
{
	int i;

	for (i = 0; i < OPERATIONS; i++)
		if (ping->times[i].count)
			return true;
	return ping->blast.times[BLAST_WRITE].count;
}

/* After a failure JSON has the failure; people get the figures, too. */
static int run(struct ping *ping)
{
	int ret = 0;

	ping->mtu = client_mtu(ping->client);
	catch_signals();
	if (needs_scratch(ping))
		ret = use_scratch(ping);
	if (ret)
		return ret;
	ret = ping->seconds ? run_blast(ping) : run_rounds(ping);
	ping->failed = ret;
	if (!ret && !has_figures(ping))
		return report_failure(EINTR, ping->what, "interrupted before any figure");
	if (has_figures(ping) && (!ret || !report_json))
		print(ping);
	return ret;
}

static void end(struct ping *ping)
{
	int i;

	for (i = 0; i < OPERATIONS; i++)
		times_free(&ping->times[i]);
	blast_free(&ping->blast);
	scratch_close(&ping->scratch);
	if (ping->client)
		client_close(ping->client);
}

/**
 * cmd_ping() - rdmablk ping
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_ping(const struct command_info *command, int argc, char **argv)
{
	struct ping ping = { .count = 10, .interval = INTERVAL, .size = 4096, .depth = 16 };
	char what[320];
	int ret;

	ret = opts_parse(command, argc, argv, set, &ping);
	if (!ret)
		ret = visit_parse("ping", argv + optind, &ping.visit);
	if (!ret)
		ret = check(&ping);
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "ping %.300s", argv[optind]);
	ping.what = what;
	if (needs_scratch(&ping))
		ping.visit.requests = ping.seconds ? ping.depth : 1;
	ping.visit.stop = &stopped;
	ret = enter(&ping);
	if (!ret)
		ret = run(&ping);
	end(&ping);
	return ret;
}
