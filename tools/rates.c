// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What disks do per second: the difference of two answers of the module, divided by the
 * time that really passed between them. "stats" with an interval and "top" print it.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "rates.h"
#include "util.h"

static __s64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static __u64 counter(const struct stats *stats, unsigned int attr)
{
	return stats->device.value[attr].number;
}

/* The same disk in the last answer; NULL: it was not there. */
static const struct stats *find_before(const struct rates *rates, const struct stats *now)
{
	size_t i;

	for (i = 0; i < rates->before.nr; i++)
		if (counter(&rates->before.stats[i], RDMABLK_ATTR_INDEX) ==
		    counter(now, RDMABLK_ATTR_INDEX))
			return &rates->before.stats[i];
	return NULL;
}

/* Have the counters only grown? Otherwise this is another disk of the same name. */
static bool goes_on(const struct stats *now, const struct stats *before)
{
	unsigned int attr;

	if (!before)
		return false;
	for (attr = 0; attr <= RDMABLK_ATTR_MAX; attr++)
		if (attr_table[attr].kind == ATTR_U64 &&
		    (counter(now, attr) < counter(before, attr) ||
		     !now->device.value[attr].present !=
		     !before->device.value[attr].present))
			return false;
	return true;
}

/* Requests, with one digit after the point. A rate below 1 has more, or rare errors would be 0. */
static struct json_object *json_requests(double rate)
{
	struct json_object *number = json_object_new_double(rate);

	json_object_set_serializer(number, json_object_double_to_json_string,
				   rate > 0 && rate < 1 ? "%.3g" : "%.1f", NULL);
	return number;
}

static struct json_object *json_whole(double value)
{
	return json_object_new_uint64((__u64)llround(value));
}

static struct json_object *json_text(const struct value *value)
{
	return json_object_new_string(value->text[0] ? value->text : "-");
}

/*
 * Reads and writes that ended since: only these, because the time of other requests depends
 * on the store. Returns false when there are none, or nothing is timed.
 */
static bool timed_since(const struct stats *now, const struct stats *before,
			struct rdmablk_latency_histogram *both)
{
	struct rdmablk_latency_histogram since;
	int op;

	memset(both, 0, sizeof(*both));
	if (!counter(now, RDMABLK_ATTR_TIMED))
		return false;
	for (op = STATS_READ; op <= STATS_WRITE; op++) {
		if (!latency_since(&now->latency[op], &before->latency[op], &since))
			return false;
		latency_add(both, &since);
	}
	return latency_requests(both);
}

static void add_latency(struct json_object *row, const struct stats *now,
			const struct stats *before)
{
	struct rdmablk_latency_histogram both;
	bool timed = before && timed_since(now, before, &both);

	json_object_object_add(row, "p50_ns",
			       timed ? json_whole(latency_percentile(&both, 50)) : NULL);
	json_object_object_add(row, "p99_ns",
			       timed ? json_whole(latency_percentile(&both, 99)) : NULL);
}

static struct json_object *row_of(const struct rates *rates, const struct stats *now)
{
	static const struct {
		const char *key;
		unsigned int attr;
	} keys[] = {
		{ "reads_per_s", RDMABLK_ATTR_READS },
		{ "writes_per_s", RDMABLK_ATTR_WRITES },
		{ "read_bytes_per_s", RDMABLK_ATTR_READ_BYTES },
		{ "write_bytes_per_s", RDMABLK_ATTR_WRITE_BYTES },
		{ "flushes_per_s", RDMABLK_ATTR_FLUSHES },
		{ "requeues_per_s", RDMABLK_ATTR_REQUEUES },
		{ "errors_per_s", RDMABLK_ATTR_ERRORS },
	};
	double seconds = (rates->now_ns - rates->before_ns) / 1e9, rate;
	const struct stats *before = find_before(rates, now);
	struct json_object *row = json_object_new_object();
	size_t i;

	if (!goes_on(now, before) || seconds <= 0)
		before = NULL;
	json_object_object_add(row, "index",
			       output_json_value(&now->device, RDMABLK_ATTR_INDEX));
	json_object_object_add(row, "name", json_text(&now->device.value[RDMABLK_ATTR_NAME]));
	json_object_object_add(row, "state", json_text(&now->device.value[RDMABLK_ATTR_STATE]));
	json_object_object_add(row, "in_flight",
			       output_json_value(&now->device, RDMABLK_ATTR_IN_FLIGHT));
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!before || !now->device.value[keys[i].attr].present) {
			json_object_object_add(row, keys[i].key, NULL);
			continue;
		}
		rate = (counter(now, keys[i].attr) - counter(before, keys[i].attr)) / seconds;
		json_object_object_add(row, keys[i].key, strstr(keys[i].key, "bytes") ?
				       json_whole(rate) : json_requests(rate));
	}
	add_latency(row, now, before);
	return row;
}

/**
 * rates_rows() - what the disks did between the two newest answers
 * @rates: the answers
 *
 * A rate is null while nothing can be said: the disk is new, or its counters have restarted.
 *
 * Returns an array with an object for each disk, by number.
 */
struct json_object *rates_rows(const struct rates *rates)
{
	struct json_object *rows = json_object_new_array();
	size_t i;

	for (i = 0; i < rates->now.nr; i++)
		json_object_array_add(rows, row_of(rates, &rates->now.stats[i]));
	return rows;
}

/**
 * rates_print_json() - prints rates_rows() as a line of JSON, with the time
 * @rates: the answers
 */
void rates_print_json(const struct rates *rates)
{
	struct json_object *top = output_json_new();
	char now[OUTPUT_TIME_LEN];

	output_now(now, sizeof(now));
	json_object_object_add(top, "time", json_object_new_string(now));
	json_object_object_add(top, "interval_ms",
			       json_whole((rates->now_ns - rates->before_ns) / 1e6));
	json_object_object_add(top, "devices", rates_rows(rates));
	output_json_line(top);
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), part = strlen(end);

	return len >= part && !strcmp(text + len - part, end);
}

/* A rate above 0 is not shown as 0, or rare errors would not be seen. */
static void requests_cell(double rate, char *text, size_t size)
{
	if (rate > 0 && rate < 0.01)
		snprintf(text, size, "<0.01");
	else
		snprintf(text, size, "%.*f", rate > 0 && rate < 1 ? 2 : 0, rate);
}

/**
 * rates_cell() - a value of a row as text
 * @row: of rates_rows()
 * @key: its key
 * @text: result: megabytes, microseconds, requests; a dash for an unknown value
 * @size: bytes of @text
 */
void rates_cell(struct json_object *row, const char *key, char *text, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	if (!value)
		snprintf(text, size, "-");
	else if (ends_with(key, "_bytes_per_s"))
		snprintf(text, size, "%.1f", json_object_get_double(value) / 1e6);
	else if (ends_with(key, "_per_s"))
		requests_cell(json_object_get_double(value), text, size);
	else if (ends_with(key, "_ns"))
		snprintf(text, size, "%.1f", json_object_get_double(value) / 1000);
	else
		snprintf(text, size, "%s", json_object_get_string(value));
}

/* Signals are held, and would not end a write to a pipe that nobody reads. */
static struct {
	struct nl *nl;		/* holds them; NULL: nothing does */
	bool given_up;		/* a signal came, and standard output took nothing */
} output;

/* A write() of stdout. Returns @len, or 0 after an error. */
static ssize_t write_output(void *cookie, const char *text, size_t len)
{
	size_t left = len;
	ssize_t n;

	(void)cookie;
	while (left && !output.given_up) {
		if (output.nl && nl_wait_to_write(output.nl, STDOUT_FILENO)) {
			output.given_up = true;
			break;
		}
		n = write(STDOUT_FILENO, text, left < PIPE_BUF ? left : PIPE_BUF);
		if (n < 0 && errno != EINTR)
			return 0;
		text += n < 0 ? 0 : n;
		left -= n < 0 ? 0 : n;
	}
	return len;
}

static void hold_output(struct nl *nl)
{
	FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_output });

	output.nl = nl;
	if (file)
		stdout = file;
}

/**
 * rates_open() - connects to the module
 * @rates: its @one and @index are set, the rest is zero
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why; rates_close() in both cases.
 */
int rates_open(struct rates *rates, struct nl_failure *failure)
{
	rates->nl = nl_open(failure);
	if (!rates->nl)
		return -1;
	nl_hold_signals(rates->nl);
	hold_output(rates->nl);
	return 0;
}

/**
 * rates_close() - ends what rates_open() began
 * @rates: empty afterwards
 */
void rates_close(struct rates *rates)
{
	fflush(stdout);
	output.nl = NULL;
	nl_close(rates->nl);
	rates->nl = NULL;
	stats_list_clear(&rates->now);
	stats_list_clear(&rates->before);
}

static int get(struct rates *rates, struct nl_failure *failure)
{
	return rates->one ? stats_get(rates->nl, rates->index, &rates->now, failure) :
			    stats_dump(rates->nl, &rates->now, failure);
}

/* A module that was loaded again has another family number, and its counters restart. */
static int reopen(struct rates *rates, struct nl_failure *failure)
{
	struct nl_failure first = *failure;

	if (nl_reopen(rates->nl, failure)) {
		*failure = first;
		return -1;
	}
	return get(rates, failure);
}

/**
 * rates_ask() - gets the next answer
 * @rates: the newest answer becomes the one before
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int rates_ask(struct rates *rates, struct nl_failure *failure)
{
	stats_list_clear(&rates->before);
	rates->before = rates->now;
	rates->before_ns = rates->now_ns;
	memset(&rates->now, 0, sizeof(rates->now));
	if (get(rates, failure) && (failure->err != EUNATCH || reopen(rates, failure)))
		return -1;
	rates->now_ns = now_ns();
	return 0;
}
