// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The figures of the daemon for a monitoring system, from its answer in JSON. If the answer
 * lacks a number, the figure is missing, not 0.
 *
 * Each set of labels may come once. But the answer has an export that is being replaced twice:
 * only one of them counts. The sessions of a host with one export are added up. Names that a
 * host gives itself are no labels, because a peer could make up any number of them.
 */
#include <stdlib.h>
#include <string.h>

#include "adapter.h"
#include "target_metrics.h"
#include "util.h"

#define COUNTER(name, help)		{ "rdmablk_target_" name, METRICS_COUNTER, NULL, help }
#define BYTES_COUNTER(name, help)	{ "rdmablk_target_" name, METRICS_COUNTER, "bytes", help }
#define GAUGE(name, help)		{ "rdmablk_target_" name, METRICS_GAUGE, NULL, help }
#define BYTES_GAUGE(name, help)		{ "rdmablk_target_" name, METRICS_GAUGE, "bytes", help }
#define HISTOGRAM(name, help) \
	{ "rdmablk_target_" name, METRICS_HISTOGRAM, "seconds", help }

/**
 * struct figure - a family that is a number in an object of the answer
 * @key: key of the number, or of a boolean
 * @family: the family
 */
struct figure {
	const char *key;
	struct metrics_family family;
};

static const struct metrics_family up_family = GAUGE("up", "1: the daemon has answered");

static const struct metrics_family build_family =
	GAUGE("build_info", "1, with the version of the daemon");

static const struct figure daemon_figures[] = {
	{ "logins", COUNTER("logins", "Sessions granted") },
	{ "takeovers", COUNTER("takeovers", "Sessions that ended because of a login") },
	{ "ended", COUNTER("sessions_ended", "Sessions that were granted and are gone") },
	{ "visits", COUNTER("visits", "Logins without an export, to look round or to measure") },
	{ "queues", GAUGE("queues", "Hardware queues of all sessions") },
	{ "pinned", BYTES_GAUGE("pinned_bytes", "Memory registered for all sessions") },
	{ "max_pinned", BYTES_GAUGE("pinned_limit_bytes", "Limit of this; absent: none") },
	{ "scratch", BYTES_GAUGE("scratch_bytes", "Memory lent to all visits") },
	{ "memlock", BYTES_GAUGE("memlock_limit_bytes",
				 "Memory that the daemon may lock and register; absent: any") },
};

static const struct metrics_family refused_family =
	COUNTER("refused", "Logins and connections refused");
static const struct metrics_family turn_family =
	HISTOGRAM("loop_turn_seconds", "How long the turns of the event loop have taken");
static const struct metrics_family sessions_family =
	GAUGE("sessions", "Sessions by state");
static const struct metrics_family export_info_family =
	GAUGE("export_info", "1 for each export, with its kind");
static const struct metrics_family export_state_family =
	GAUGE("export_state", "1 for the state that the export is in, 0 for the others");

static const struct figure export_figures[] = {
	{ "size", BYTES_GAUGE("export_size_bytes", "Size of the export") },
	{ "sessions", GAUGE("export_sessions", "Sessions that use the export") },
	{ "queues", GAUGE("export_queues", "Hardware queues of these") },
	{ "pinned", BYTES_GAUGE("export_pinned_bytes", "Memory registered for these") },
	{ "max_pinned", BYTES_GAUGE("export_pinned_limit_bytes",
				    "Limit of this; absent: none") },
	{ "failed", GAUGE("export_failed", "1: a flush has failed, see rdmablkd(8)") },
	{ "dirty", GAUGE("export_dirty", "1: the file has changes that are not synced") },
	{ "comparing", BYTES_GAUGE("export_comparing_bytes",
				   "Bytes of the file still to be compared with memory") },
	{ "errors", COUNTER("export_errors",
			    "Commands that have failed since the export was opened") },
};

static const struct figure work_figures[] = {
	{ "pending", GAUGE("export_commands_pending",
			   "Commands that have come and are not answered") },
};

static const struct metrics_family flush_family =
	HISTOGRAM("export_flush_duration_seconds", "How long flushes have taken");

static const struct figure export_commands[] = {
	{ "done", COUNTER("export_commands", "Commands answered, with and without errors") },
	{ "errors", COUNTER("export_command_errors", "Commands answered with an error") },
	{ "bytes", BYTES_COUNTER("export_command_bytes", "Bytes of commands without one") },
};

static const struct figure session_commands[] = {
	{ "done", COUNTER("session_commands", "Commands of the present sessions of a host") },
	{ "errors", COUNTER("session_command_errors", "Commands answered with an error") },
	{ "bytes", BYTES_COUNTER("session_command_bytes", "Bytes of commands without one") },
};

static const struct metrics_family session_family =
	GAUGE("host_sessions", "Sessions of a host with an export");
static const struct metrics_family adapter_family =
	COUNTER("adapter_events",
		"Counters of the adapter's port that tell of trouble, for all its users");

/*
 * The answer
 */

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

static const char *text_of(struct json_object *object, const char *key)
{
	return json_object_get_string(member(object, key)) ?: "";
}

static size_t length(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/* Return: whether there is a number */
static bool number_of(struct json_object *object, const char *key, __u64 *number)
{
	struct json_object *value = member(object, key);

	if (!json_object_is_type(value, json_type_int) &&
	    !json_object_is_type(value, json_type_boolean))
		return false;
	*number = json_object_get_uint64(value);
	return true;
}

/* Return: whether an earlier element has this text, too */
static bool came_before(struct json_object *array, size_t nr, const char *key)
{
	const char *text = text_of(json_object_array_get_idx(array, nr), key);
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(text_of(json_object_array_get_idx(array, i), key), text))
			return true;
	return false;
}

static void latency_of(struct json_object *object, struct rdmablk_latency_histogram *h)
{
	struct json_object *buckets = member(object, "buckets"), *bucket;
	__u64 end, count;
	size_t i;

	memset(h, 0, sizeof(*h));
	number_of(object, "sum_ns", &h->sum);
	for (i = 0; i < length(buckets); i++) {
		bucket = json_object_array_get_idx(buckets, i);
		if (!number_of(bucket, "count", &count))
			continue;
		if (number_of(bucket, "end_ns", &end) && end)
			h->count[rdmablk_latency_bucket(end - 1)] += count;
		else
			h->count[RDMABLK_LATENCY_BUCKETS - 1] += count;
	}
}

/*
 * Daemon
 */

static void put_figure(struct metrics *m, const struct metrics_label *labels,
		       const struct figure *figure, struct json_object *object)
{
	__u64 number;

	if (number_of(object, figure->key, &number))
		metrics_number(m, labels, number);
}

static void put_refused(struct metrics *m, struct json_object *list)
{
	size_t i;

	metrics_family(m, &refused_family);
	for (i = 0; i < length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		const struct metrics_label labels[] = {
			{ "what", text_of(row, "what") },
			{ "reason", text_of(row, "reason_text") },
			{ 0 }
		};
		__u64 number;

		if (number_of(row, "count", &number))
			metrics_number(m, labels, number);
	}
}

static void put_daemon(struct metrics *m, struct json_object *object)
{
	const struct metrics_label version[] = {
		{ "version", text_of(object, "version") }, { 0 }
	};
	struct rdmablk_latency_histogram turns;
	size_t i;

	metrics_family(m, &build_family);
	metrics_number(m, version, 1);
	for (i = 0; i < ARRAY_SIZE(daemon_figures); i++) {
		metrics_family(m, &daemon_figures[i].family);
		put_figure(m, NULL, &daemon_figures[i], object);
	}
	put_refused(m, member(object, "refused"));
	latency_of(member(object, "loop_turns"), &turns);
	metrics_family(m, &turn_family);
	metrics_latency(m, NULL, &turns);
}

/*
 * Exports
 */

static void put_export_info(struct metrics *m, struct json_object *list)
{
	size_t i;

	metrics_family(m, &export_info_family);
	for (i = 0; i < length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		const struct metrics_label labels[] = {
			{ "export", text_of(row, "name") },
			{ "type", text_of(row, "type") },
			{ "cache", text_of(row, "cache") },
			{ "uuid", text_of(row, "uuid") },
			{ 0 }
		};

		if (!came_before(list, i, "name"))
			metrics_number(m, labels, 1);
	}
}

static void put_export_states(struct metrics *m, struct json_object *list)
{
	static const char *const states[] = { "opening", "ready", "leaving", "closed" };
	size_t i, j;

	metrics_family(m, &export_state_family);
	for (i = 0; i < length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		for (j = 0; j < ARRAY_SIZE(states) && !came_before(list, i, "name"); j++) {
			const struct metrics_label labels[] = {
				{ "export", text_of(row, "name") },
				{ "state", states[j] },
				{ 0 }
			};

			metrics_number(m, labels, !strcmp(text_of(row, "state"), states[j]));
		}
	}
}

/* @name: key of the export's name */
static void put_rows(struct metrics *m, const struct figure *figures, size_t nr,
		     struct json_object *list, const char *name)
{
	size_t i, j;

	for (i = 0; i < nr; i++) {
		metrics_family(m, &figures[i].family);
		for (j = 0; j < length(list); j++) {
			struct json_object *row = json_object_array_get_idx(list, j);
			const struct metrics_label labels[] = {
				{ "export", text_of(row, name) }, { 0 }
			};

			if (!came_before(list, j, name))
				put_figure(m, labels, &figures[i], row);
		}
	}
}

static void put_export_commands(struct metrics *m, const struct figure *figure,
				struct json_object *work)
{
	struct json_object *commands = member(work, "commands");

	if (!json_object_is_type(commands, json_type_object))
		return;
	json_object_object_foreach(commands, operation, counts) {
		const struct metrics_label labels[] = {
			{ "export", text_of(work, "export") },
			{ "operation", operation },
			{ 0 }
		};

		put_figure(m, labels, figure, counts);
	}
}

static void put_work(struct metrics *m, struct json_object *list)
{
	struct rdmablk_latency_histogram h;
	size_t i, j;

	put_rows(m, work_figures, ARRAY_SIZE(work_figures), list, "export");
	for (i = 0; i < ARRAY_SIZE(export_commands); i++) {
		metrics_family(m, &export_commands[i].family);
		for (j = 0; j < length(list); j++)
			if (!came_before(list, j, "export"))
				put_export_commands(m, &export_commands[i],
						    json_object_array_get_idx(list, j));
	}
	metrics_family(m, &flush_family);
	for (j = 0; j < length(list); j++) {
		struct json_object *work = json_object_array_get_idx(list, j);
		const struct metrics_label labels[] = {
			{ "export", text_of(work, "export") }, { 0 }
		};

		latency_of(member(work, "flush_latency"), &h);
		if (!came_before(list, j, "export"))
			metrics_latency(m, labels, &h);
	}
}

/*
 * Sessions
 */

static void put_session_states(struct metrics *m, struct json_object *list)
{
	static const char *const states[] = { "login", "live", "ending" };
	size_t i, j, nr;

	metrics_family(m, &sessions_family);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		const struct metrics_label labels[] = { { "state", states[i] }, { 0 } };

		for (j = 0, nr = 0; j < length(list); j++)
			nr += !strcmp(text_of(json_object_array_get_idx(list, j), "state"),
				      states[i]);
		metrics_number(m, labels, nr);
	}
}

/* Return: bytes of an address without its port; IPv6 addresses are in brackets */
static int address_len(const char *address)
{
	const char *port = strrchr(address, ':');

	return port ? (int)(port - address) : (int)strlen(address);
}

static bool same_host(struct json_object *a, struct json_object *b)
{
	const char *left = text_of(a, "address"), *right = text_of(b, "address");

	return address_len(left) == address_len(right) &&
	       !strncmp(left, right, address_len(left)) &&
	       !strcmp(text_of(a, "export"), text_of(b, "export")) &&
	       !strcmp(text_of(a, "auth_host"), text_of(b, "auth_host"));
}

static bool is_live(struct json_object *session)
{
	return !strcmp(text_of(session, "state"), "live");
}

/* Return: whether this is the first live session of its host with its export */
static bool is_first(struct json_object *list, size_t nr)
{
	struct json_object *session = json_object_array_get_idx(list, nr), *other;
	size_t i;

	for (i = 0; i < nr; i++) {
		other = json_object_array_get_idx(list, i);
		if (is_live(other) && same_host(other, session))
			return false;
	}
	return is_live(session);
}

/* Sums a number over all operations; without a key: 1. */
static __u64 session_sum(struct json_object *session, const char *key)
{
	struct json_object *commands = member(session, "commands");
	__u64 sum = 0, number;

	if (!key)
		return 1;
	if (!json_object_is_type(commands, json_type_object))
		return 0;
	json_object_object_foreach(commands, operation, counts) {
		(void)operation;
		if (number_of(counts, key, &number))
			sum += number;
	}
	return sum;
}

static void put_host(struct metrics *m, const char *key, struct json_object *list, size_t first)
{
	struct json_object *session = json_object_array_get_idx(list, first), *other;
	const char *with_port = text_of(session, "address");
	char address[64];
	const struct metrics_label labels[] = {
		{ "export", text_of(session, "export") },
		{ "host", text_of(session, "auth_host") },
		{ "address", address },
		{ 0 }
	};
	__u64 sum = 0;
	size_t i;

	snprintf(address, sizeof(address), "%.*s", address_len(with_port), with_port);
	for (i = first; i < length(list); i++) {
		other = json_object_array_get_idx(list, i);
		if (is_live(other) && same_host(other, session))
			sum += session_sum(other, key);
	}
	metrics_number(m, labels, sum);
}

static void put_hosts(struct metrics *m, const struct metrics_family *family, const char *key,
		      struct json_object *list)
{
	size_t i;

	metrics_family(m, family);
	for (i = 0; i < length(list); i++)
		if (is_first(list, i))
			put_host(m, key, list, i);
}

/* Return: whether the port has counters that can be read */
static bool put_port(struct metrics *m, const char *device, unsigned int port)
{
	struct json_object *counters = adapter_port_counters(device, port);
	char number[16];

	if (!counters)
		return false;
	snprintf(number, sizeof(number), "%u", port);
	json_object_object_foreach(counters, counter, value) {
		const struct metrics_label labels[] = {
			{ "adapter", device }, { "port", number }, { "counter", counter }, { 0 }
		};

		metrics_number(m, labels, json_object_get_uint64(value));
	}
	json_object_put(counters);
	return true;
}

/* The adapters that have sessions */
static void put_adapters(struct metrics *m, struct json_object *list)
{
	unsigned int port;
	size_t i;

	metrics_family(m, &adapter_family);
	for (i = 0; i < length(list); i++) {
		const char *device = text_of(json_object_array_get_idx(list, i), "device");

		if (*device && !came_before(list, i, "device"))
			for (port = 1; put_port(m, device, port); port++)
				;
	}
}

/*
 * All of it
 */

static void fill(struct metrics *m, void *context)
{
	struct json_object *answer = context, *exports = member(answer, "exports");
	struct json_object *sessions = member(answer, "sessions");
	size_t i;

	metrics_family(m, &up_family);
	metrics_number(m, NULL, 1);
	put_daemon(m, member(answer, "daemon"));
	put_session_states(m, sessions);
	put_export_info(m, exports);
	put_export_states(m, exports);
	put_rows(m, export_figures, ARRAY_SIZE(export_figures), exports, "name");
	put_work(m, member(answer, "work"));
	put_hosts(m, &session_family, NULL, sessions);
	for (i = 0; i < ARRAY_SIZE(session_commands); i++)
		put_hosts(m, &session_commands[i].family, session_commands[i].key, sessions);
	put_adapters(m, sessions);
}

static void fill_down(struct metrics *m, void *context)
{
	(void)context;
	metrics_family(m, &up_family);
	metrics_number(m, NULL, 0);
}

/**
 * target_metrics_print() - write the figures of the daemon
 * @args: options, checked
 * @answer: of the daemon
 *
 * Returns the exit status.
 */
int target_metrics_print(const struct metrics_args *args, struct json_object *answer)
{
	return metrics_print("target metrics", args, fill, answer);
}

/**
 * target_metrics_down() - write that the daemon is down, in place of its last figures
 * @args: options, checked; without a file nothing happens
 */
void target_metrics_down(const struct metrics_args *args)
{
	if (args->file)
		metrics_print("target metrics", args, fill_down, NULL);
}
