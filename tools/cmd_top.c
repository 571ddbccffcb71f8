// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk top: shows the activity of disks periodically: in place on a terminal, else one
 * table after another. A rate is the difference of two answers of the module, divided by
 * the time that really passed between them.
 */
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "output.h"
#include "report.h"
#include "stats.h"
#include "util.h"

const struct option_info top_options[] = {
	{ "interval", 'i', 'i', "S", "seconds from one table to the next, 1 to 3600 (2)" },
	{ "count", 'n', 'n', "N", "end after so many tables, 1 to 1000000, or 0: never (0)" },
	{ 0 }
};

static const struct opts_origin origin = { "top", "--" };

/* Cursor to the top left corner; clear what the last table has left below. */
#define HOME_AND_CLEAR	"\033[H\033[J"

struct top {
	struct nl *nl;
	struct stats_list now, before;
	__s64 now_ns, before_ns;
	__u32 interval;
	__u32 count;
	bool terminal;
};

static int set(void *context, int id, const char *value)
{
	struct top *top = context;

	if (id == 'i')
		return opts_number(&origin, "interval", value, 1, 3600, " seconds",
				   &top->interval);
	return opts_number(&origin, "count", value, 0, 1000000, "", &top->count);
}

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

/* The same disk in the last table; NULL: it was not there. */
static const struct stats *find_before(const struct top *top, const struct stats *now)
{
	size_t i;

	for (i = 0; i < top->before.nr; i++)
		if (counter(&top->before.stats[i], RDMABLK_ATTR_INDEX) ==
		    counter(now, RDMABLK_ATTR_INDEX))
			return &top->before.stats[i];
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

static void add_text(struct json_object *row, const char *key, const char *text)
{
	json_object_object_add(row, key, json_object_new_string(text[0] ? text : "-"));
}

static void add_rate(struct json_object *row, const char *key, double rate, int digits)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*f", digits, rate);
	add_text(row, key, text);
}

/* Of reads and writes only: the time of other requests depends on the store. */
static void add_latency(struct json_object *row, const struct stats *now,
			const struct stats *before)
{
	struct rdmablk_latency_histogram both = { 0 }, since;
	int op;

	if (!counter(now, RDMABLK_ATTR_TIMED))
		return;
	for (op = STATS_READ; op <= STATS_WRITE; op++) {
		if (!latency_since(&now->latency[op], &before->latency[op], &since))
			return;
		latency_add(&both, &since);
	}
	if (!latency_requests(&both))
		return;
	add_rate(row, "p50", latency_percentile(&both, 50) / 1000, 1);
	add_rate(row, "p99", latency_percentile(&both, 99) / 1000, 1);
}

static struct json_object *row_of(const struct top *top, const struct stats *now)
{
	static const struct {
		const char *key;
		__u16 attr;
		double unit;
	} rates[] = {
		{ "read", RDMABLK_ATTR_READS, 1 },
		{ "write", RDMABLK_ATTR_WRITES, 1 },
		{ "read_mb", RDMABLK_ATTR_READ_BYTES, 1e6 },
		{ "write_mb", RDMABLK_ATTR_WRITE_BYTES, 1e6 },
		{ "flush", RDMABLK_ATTR_FLUSHES, 1 },
		{ "requeue", RDMABLK_ATTR_REQUEUES, 1 },
		{ "error", RDMABLK_ATTR_ERRORS, 1 },
	};
	const struct stats *before = find_before(top, now);
	double seconds = (top->now_ns - top->before_ns) / 1e9;
	struct json_object *row = json_object_new_object();
	size_t i;

	add_text(row, "name", now->device.value[RDMABLK_ATTR_NAME].text);
	add_text(row, "state", now->device.value[RDMABLK_ATTR_STATE].text);
	add_text(row, "in_flight", now->device.value[RDMABLK_ATTR_IN_FLIGHT].text);
	if (!goes_on(now, before) || seconds <= 0)
		return row;
	for (i = 0; i < ARRAY_SIZE(rates); i++)
		if (now->device.value[rates[i].attr].present)
			add_rate(row, rates[i].key,
				 (counter(now, rates[i].attr) -
				  counter(before, rates[i].attr)) / seconds / rates[i].unit,
				 rates[i].unit > 1);
	add_latency(row, now, before);
	return row;
}

/* Prints a dash for an unknown value. */
static void cell(struct json_object *row, const char *key, char *text, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	snprintf(text, size, "%s", value ? json_object_get_string(value) : "-");
}

/* How many disks fit on the terminal, beside the heading and the line "and N more". */
static size_t room(const struct top *top)
{
	struct winsize size;

	if (!top->terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4)
		return top->now.nr;
	return size.ws_row - 3;
}

/* How many characters fit in a line. */
static size_t line_length(const struct top *top)
{
	struct winsize size;

	if (!top->terminal)
		return SIZE_MAX;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

/* How wide a table is, with a blank between two columns. */
static size_t table_width(struct json_object *rows, const struct output_column *c)
{
	char text[VALUE_TEXT_LEN];
	size_t width = 0, widest, i;

	for (; c->name; c++) {
		widest = strlen(c->name);
		for (i = 0; i < json_object_array_length(rows); i++) {
			cell(json_object_array_get_idx(rows, i), c->key, text, sizeof(text));
			if (strlen(text) > widest)
				widest = strlen(text);
		}
		width += widest + !!c[1].name;
	}
	return width;
}

/* Drops columns, the least useful first, until the rest fits in a line. */
static void fit(struct json_object *rows, struct output_column *columns, size_t length)
{
	static const char *const keys[] = {
		"flush", "requeue", "p50", "in_flight", "write_mb", "read_mb", "p99",
	};
	struct output_column *c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys) && table_width(rows, columns) > length; i++) {
		for (c = columns; strcmp(c->key, keys[i]); c++)
			;
		for (; c->name; c++)
			c[0] = c[1];
	}
}

static int print_table(const struct top *top, bool first)
{
	struct output_column columns[] = {
		OUTPUT_TEXT("NAME", "name"), OUTPUT_TEXT("STATE", "state"),
		OUTPUT_NUMBER("R/S", "read"), OUTPUT_NUMBER("W/S", "write"),
		OUTPUT_NUMBER("R-MB/S", "read_mb"), OUTPUT_NUMBER("W-MB/S", "write_mb"),
		OUTPUT_NUMBER("F/S", "flush"), OUTPUT_NUMBER("IN-FL", "in_flight"),
		OUTPUT_NUMBER("P50-US", "p50"), OUTPUT_NUMBER("P99-US", "p99"),
		OUTPUT_NUMBER("RQ/S", "requeue"), OUTPUT_NUMBER("ERR/S", "error"),
		{ 0 }
	};
	struct json_object *rows = json_object_new_array();
	size_t i, nr = room(top);
	int ret;

	if (top->terminal)
		fputs(HOME_AND_CLEAR, stdout);
	else if (!first)
		printf("\n");
	for (i = 0; i < top->now.nr && i < nr; i++)
		json_object_array_add(rows, row_of(top, &top->now.stats[i]));
	fit(rows, columns, line_length(top));
	ret = output_rows(rows, columns, cell);
	if (!top->now.nr)
		printf("no disks\n");
	if (i < top->now.nr)
		printf("and %zu more\n", top->now.nr - i);
	json_object_put(rows);
	fflush(stdout);
	return ret;
}

/* A module that was loaded again has another family number, and its counters restart. */
static int reopen(struct top *top, struct nl_failure *failure)
{
	struct nl_failure first = *failure;

	nl_close(top->nl);
	top->nl = nl_open(failure);
	if (!top->nl) {
		*failure = first;
		return -1;
	}
	nl_hold_signals(top->nl);
	return stats_dump(top->nl, &top->now, failure);
}

static int ask(struct top *top, struct nl_failure *failure)
{
	stats_list_clear(&top->before);
	top->before = top->now;
	top->before_ns = top->now_ns;
	memset(&top->now, 0, sizeof(top->now));
	if (stats_dump(top->nl, &top->now, failure) &&
	    (failure->err != EUNATCH || reopen(top, failure)))
		return -1;
	top->now_ns = now_ns();
	return 0;
}

/* Returns an exit status; a signal is the normal end. */
static int run(struct top *top)
{
	struct nl_failure failure;
	__u32 tables = 0;

	if (ask(top, &failure))
		return report_failure(failure.err, "top", "%s", failure.text);
	do {
		if (nl_wait(top->nl, nl_deadline(top->interval), &failure) < 0) {
			if (failure.err != EINTR)
				return report_failure(failure.err, "top", "%s", failure.text);
			/* Start a new line after the "^C" that the terminal shows. */
			if (top->terminal)
				printf("\n");
			return STATUS_DONE;
		}
		if (ask(top, &failure))
			return report_failure(failure.err, "top", "%s", failure.text);
		if (print_table(top, !tables))
			return report_failure(ENOMEM, "top", "%s", strerror(ENOMEM));
	} while (++tables != top->count && !ferror(stdout));
	return STATUS_DONE;
}

/**
 * cmd_top() - rdmablk top
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_top(const struct command_info *command, int argc, char **argv)
{
	struct top top = { .interval = 2, .terminal = isatty(STDOUT_FILENO) };
	struct nl_failure failure;
	int ret;

	ret = opts_parse(command, argc, argv, set, &top);
	if (ret)
		return ret;
	if (argv[optind])
		return report_usage("top", "too many arguments: '%s'", argv[optind]);

	top.nl = nl_open(&failure);
	if (!top.nl)
		return report_failure(failure.err, "top", "%s", failure.text);
	nl_hold_signals(top.nl);
	ret = run(&top);
	nl_close(top.nl);
	stats_list_clear(&top.now);
	stats_list_clear(&top.before);
	return ret;
}
