// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk stats: the requests and bytes of disks, and the latencies: since the disk was
 * connected, or, with an interval, a line of rates for each disk in each interval.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "adapter.h"
#include "commands.h"
#include "output.h"
#include "rates.h"
#include "report.h"
#include "sysfs.h"
#include "stats.h"
#include "util.h"

const struct option_info stats_options[] = {
	{ "json", 0, 'j', NULL, "print JSON" },
	{ 0 }
};

/* The attributes that are shown, in this order. */
static const unsigned int shown[] = {
	RDMABLK_ATTR_STATE, RDMABLK_ATTR_IO_FAILING, RDMABLK_ATTR_OPENERS,
	RDMABLK_ATTR_IN_FLIGHT, RDMABLK_ATTR_UNFLUSHED, RDMABLK_ATTR_READS,
	RDMABLK_ATTR_WRITES, RDMABLK_ATTR_READ_BYTES, RDMABLK_ATTR_WRITE_BYTES,
	RDMABLK_ATTR_FLUSHES, RDMABLK_ATTR_DISCARDS, RDMABLK_ATTR_DISCARD_BYTES,
	RDMABLK_ATTR_ERRORS, RDMABLK_ATTR_WORK_REQUESTS, RDMABLK_ATTR_BUSY,
	RDMABLK_ATTR_FENCES, RDMABLK_ATTR_KEEPALIVES, RDMABLK_ATTR_STALE_ANSWERS,
	RDMABLK_ATTR_RECONNECTS, RDMABLK_ATTR_OUTAGE_MS, RDMABLK_ATTR_ATTEMPTS,
	RDMABLK_ATTR_LAST_ERROR,
	RDMABLK_ATTR_HELD, RDMABLK_ATTR_REQUEUES, RDMABLK_ATTR_RETRY_ERRORS,
	RDMABLK_ATTR_RNR_ERRORS, RDMABLK_ATTR_REMOTE_ERRORS,
	RDMABLK_ATTR_OTHER_ERRORS, RDMABLK_ATTR_IBDEV, RDMABLK_ATTR_IBPORT,
	RDMABLK_ATTR_TIMED,
};

static const struct {
	const char *key;
	double percent;
} percentiles[] = {
	{ "p50_ns", 50 }, { "p90_ns", 90 }, { "p99_ns", 99 }, { "p999_ns", 99.9 },
};

static int set(void *context, int id, const char *value)
{
	(void)context;
	(void)value;
	if (id == 'j')
		report_json = true;
	return 0;
}

static struct json_object *json_ns(double ns)
{
	return json_object_new_uint64((__u64)llround(ns));
}

static struct json_object *json_buckets(const struct rdmablk_latency_histogram *h)
{
	struct json_object *array = json_object_new_array(), *bucket;
	unsigned int i;

	for (i = 0; i < RDMABLK_LATENCY_BUCKETS; i++) {
		if (!h->count[i])
			continue;
		bucket = json_object_new_object();
		json_object_object_add(bucket, "begin_ns",
				       json_object_new_uint64(rdmablk_latency_begin(i)));
		json_object_object_add(bucket, "count",
				       json_object_new_uint64(h->count[i]));
		json_object_array_add(array, bucket);
	}
	return array;
}

/* Without requests the mean and the percentiles are null. */
static struct json_object *json_latency(const struct rdmablk_latency_histogram *h)
{
	struct json_object *object = json_object_new_object();
	__u64 requests = latency_requests(h);
	size_t i;

	json_object_object_add(object, "requests", json_object_new_uint64(requests));
	json_object_object_add(object, "sum_ns", json_object_new_uint64(h->sum));
	json_object_object_add(object, "mean_ns",
			       requests ? json_ns(latency_mean(h)) : NULL);
	for (i = 0; i < ARRAY_SIZE(percentiles); i++)
		json_object_object_add(object, percentiles[i].key, requests ?
				       json_ns(latency_percentile(h, percentiles[i].percent)) :
				       NULL);
	json_object_object_add(object, "max_ns",
			       requests ? json_ns(latency_max(h)) : NULL);
	return object;
}

static struct json_object *json_stats(const struct stats *stats)
{
	struct json_object *object = json_object_new_object(), *latency, *op;
	unsigned int i;

	json_object_object_add(object, "index",
			       output_json_value(&stats->device, RDMABLK_ATTR_INDEX));
	json_object_object_add(object, "name",
			       output_json_value(&stats->device, RDMABLK_ATTR_NAME));
	for (i = 0; i < ARRAY_SIZE(shown); i++)
		json_object_object_add(object, attr_key(shown[i]),
				       output_json_value(&stats->device, shown[i]));
	latency = json_object_new_object();
	for (i = 0; i < STATS_OPS; i++) {
		op = json_latency(&stats->latency[i]);
		json_object_object_add(op, "buckets", json_buckets(&stats->latency[i]));
		json_object_object_add(latency, stats_op_names[i], op);
	}
	json_object_object_add(object, "latency", latency);
	json_object_object_add(object, "adapter", adapter_counters(&stats->device));
	return object;
}

static void print_json(const struct stats_list *list)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < list->nr; i++)
		json_object_array_add(array, json_stats(&list->stats[i]));
	output_json_document(array);
}

/* Times are microseconds. */
static void cell(struct json_object *row, const char *key, char *text, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	if (strstr(key, "_ns"))
		snprintf(text, size, "%.1f", json_object_get_uint64(value) / 1000.0);
	else
		snprintf(text, size, "%s", json_object_get_string(value));
}

static int print_latency(const struct stats *stats)
{
	static const struct output_column columns[] = {
		OUTPUT_TEXT("OPERATION", "operation"),
		OUTPUT_NUMBER("REQUESTS", "requests"), OUTPUT_NUMBER("MEAN-US", "mean_ns"),
		OUTPUT_NUMBER("P50-US", "p50_ns"), OUTPUT_NUMBER("P90-US", "p90_ns"),
		OUTPUT_NUMBER("P99-US", "p99_ns"), OUTPUT_NUMBER("P99.9-US", "p999_ns"),
		OUTPUT_NUMBER("MAX-US", "max_ns"),
		{ 0 }
	};
	struct json_object *rows = json_object_new_array(), *row;
	int i, ret = 0;

	for (i = 0; i < STATS_OPS; i++) {
		if (!latency_requests(&stats->latency[i]))
			continue;
		row = json_latency(&stats->latency[i]);
		json_object_object_add(row, "operation",
				       json_object_new_string(stats_op_names[i]));
		json_object_array_add(rows, row);
	}
	if (json_object_array_length(rows))
		ret = output_rows(rows, columns, cell);
	json_object_put(rows);
	return ret;
}

static void print_adapter(const struct stats *stats)
{
	struct json_object *counters = adapter_counters(&stats->device);

	if (!counters)
		return;
	printf("  of all that use port %s of %s:\n",
	       stats->device.value[RDMABLK_ATTR_IBPORT].text,
	       stats->device.value[RDMABLK_ATTR_IBDEV].text);
	json_object_object_foreach(counters, name, value)
		printf("    %-24s%s\n", name, json_object_get_string(value));
	json_object_put(counters);
}

static int print_text(const struct stats_list *list)
{
	const struct stats *stats;
	size_t i, j;

	for (i = 0; i < list->nr; i++) {
		stats = &list->stats[i];
		printf("%s%s\n", i ? "\n" : "",
		       stats->device.value[RDMABLK_ATTR_NAME].text);
		for (j = 0; j < ARRAY_SIZE(shown); j++)
			output_line(&stats->device, shown[j]);
		print_adapter(stats);
		if (print_latency(stats))
			return report_failure(ENOMEM, "stats", "%s", strerror(ENOMEM));
	}
	return STATUS_DONE;
}

static int print_once(struct nl *nl, const struct rates *ask, struct stats_list *list,
		      const char *what)
{
	struct nl_failure failure;

	if (ask->one ? stats_get(nl, ask->index, list, &failure) :
		       stats_dump(nl, list, &failure)) {
		sysfs_name_disks(&failure);
		return report_failure(failure.err, what, "%s", failure.text);
	}
	if (!report_json)
		return print_text(list);
	print_json(list);
	return STATUS_DONE;
}

static int once(const struct rates *ask, const char *what)
{
	__cleanup(stats_list_clear) struct stats_list list = { 0 };
	__cleanup(nl_closep) struct nl *nl = NULL;
	struct nl_failure failure;

	nl = nl_open(&failure);
	if (!nl)
		return report_failure(failure.err, what, "%s", failure.text);
	return print_once(nl, ask, &list, what);
}

/*
 * With an interval
 */

/* Widths are fixed, so that the lines of all intervals are one table; 80 characters */
static const struct {
	const char *head;
	const char *key;
	int width;		/* negative: text, which begins at the left */
} rate_columns[] = {
	{ "NAME", "name", -10 },
	{ "STATE", "state", -10 },
	{ "R/S", "reads_per_s", 7 },
	{ "W/S", "writes_per_s", 7 },
	{ "R-MB/S", "read_bytes_per_s", 7 },
	{ "W-MB/S", "write_bytes_per_s", 7 },
	{ "F/S", "flushes_per_s", 5 },
	{ "IN-FL", "in_flight", 5 },
	{ "P99-US", "p99_ns", 8 },
	{ "ERR/S", "errors_per_s", 5 },
};

static void print_heads(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rate_columns); i++)
		printf("%s%*s", i ? " " : "", rate_columns[i].width, rate_columns[i].head);
	printf("\n");
}

static void print_rates(struct json_object *row)
{
	char text[VALUE_TEXT_LEN];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rate_columns); i++) {
		rates_cell(row, rate_columns[i].key, text, sizeof(text));
		printf("%s%*s", i ? " " : "", rate_columns[i].width, text);
	}
	printf("\n");
}

/* Lines below one heading: on a terminal, as many as it has beside it */
static size_t page(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ||
	    size.ws_row < 4)
		return 0;
	return size.ws_row - 2;
}

/* @lines: printed below the heading */
static void print_interval(const struct rates *rates, size_t *lines)
{
	struct json_object *rows;
	size_t i, nr = page();

	if (report_json) {
		rates_print_json(rates);
		return;
	}
	rows = rates_rows(rates);
	if (!*lines || (nr && *lines + json_object_array_length(rows) > nr)) {
		print_heads();
		*lines = 0;
	}
	for (i = 0; i < json_object_array_length(rows); i++)
		print_rates(json_object_array_get_idx(rows, i));
	*lines += i;
	json_object_put(rows);
	fflush(stdout);
}

/* @count: 0: for ever. Returns an exit status; a signal is the normal end. */
static int again(struct rates *rates, __u32 interval, __u32 count, const char *what)
{
	struct nl_failure failure;
	size_t lines = 0;
	__u32 done = 0;
	__s64 next;

	if (rates_open(rates, &failure) || rates_ask(rates, &failure)) {
		sysfs_name_disks(&failure);
		return report_failure(failure.err, what, "%s", failure.text);
	}
	next = nl_deadline(interval);
	do {
		if (nl_wait(rates->nl, next, &failure) < 0)
			return failure.err == EINTR ? STATUS_DONE :
			       report_failure(failure.err, what, "%s", failure.text);
		/* After a SIGSTOP one line stands for all the intervals that are missed. */
		do
			next += interval * 1000LL;
		while (next <= nl_deadline(0));
		if (rates_ask(rates, &failure))
			return report_failure(failure.err, what, "%s", failure.text);
		print_interval(rates, &lines);
	} while (++done != count && !ferror(stdout));
	return STATUS_DONE;
}

/* Takes the numbers from the operands, so that a disk is left, or nothing. */
static int take_numbers(char **operand, __u32 *interval, __u32 *count)
{
	static const struct opts_origin origin = { "stats", "" };
	int ret;

	/* The name of a disk begins with a letter or a slash. */
	if (operand[0] && (operand[0][0] < '0' || operand[0][0] > '9'))
		operand++;
	if (!operand[0] || operand[0][0] < '0' || operand[0][0] > '9')
		return 0;
	ret = opts_number(&origin, "INTERVAL", operand[0], 1, RATES_MAX_INTERVAL, " seconds",
			  interval);
	if (!ret && operand[1])
		ret = opts_number(&origin, "COUNT", operand[1], 1, RATES_MAX_COUNT, "", count);
	if (!ret && operand[1] && operand[2])
		ret = report_usage("stats", "too many arguments: '%s'", operand[2]);
	operand[0] = NULL;
	return ret;
}

/**
 * cmd_stats() - rdmablk stats
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_stats(const struct command_info *command, int argc, char **argv)
{
	struct rates rates = { 0 };
	__u32 interval = 0, count = 0;
	char what[DEVICE_WHAT_LEN];
	int ret;

	ret = opts_parse(command, argc, argv, set, NULL);
	if (!ret)
		ret = take_numbers(argv + optind, &interval, &count);
	if (!ret)
		ret = device_operand(command->name, argv + optind, &rates.index, what);
	if (ret)
		return ret;
	rates.one = argv[optind];
	if (!interval)
		return once(&rates, what);
	ret = again(&rates, interval, count, what);
	rates_close(&rates);
	return ret;
}
