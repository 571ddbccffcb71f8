// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk top: shows the activity of disks periodically: in place on a terminal, where keys
 * sort and filter it, else one table after another, or lines of JSON.
 */
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "commands.h"
#include "output.h"
#include "rates.h"
#include "report.h"
#include "util.h"

const struct option_info top_options[] = {
	{ "interval", 'i', 'i', "S", "seconds from one table to the next, 1 to 3600 (2)" },
	{ "count", 'n', 'n', "N", "end after so many tables, 1 to 1000000, or 0: never (0)" },
	{ "json", 0, 'j', NULL, "print a JSON object a line in place of each table" },
	{ 0 }
};

static const struct opts_origin origin = { "top", "--" };

/* Moves the cursor to the top left corner, and clears the rest of the last table below. */
#define HOME_AND_CLEAR	"\033[H\033[J"

#define FILTER_LEN	32

/* The columns; in this order the arrow keys sort by them. */
static const struct output_column all_columns[] = {
	OUTPUT_TEXT("NAME", "name"), OUTPUT_TEXT("STATE", "state"),
	OUTPUT_NUMBER("R/S", "reads_per_s"), OUTPUT_NUMBER("W/S", "writes_per_s"),
	OUTPUT_NUMBER("R-MB/S", "read_bytes_per_s"),
	OUTPUT_NUMBER("W-MB/S", "write_bytes_per_s"),
	OUTPUT_NUMBER("F/S", "flushes_per_s"), OUTPUT_NUMBER("IN-FL", "in_flight"),
	OUTPUT_NUMBER("P50-US", "p50_ns"), OUTPUT_NUMBER("P99-US", "p99_ns"),
	OUTPUT_NUMBER("RQ/S", "requeues_per_s"), OUTPUT_NUMBER("ERR/S", "errors_per_s"),
	{ 0 }
};

#define NR_COLUMNS	(ARRAY_SIZE(all_columns) - 1)

/**
 * struct view - what the keys choose
 * @sort: column that the disks are sorted by; 0, the name: by number
 * @reverse: the other way round
 * @active: only disks that do something
 * @filter: only disks with this in their name or state; empty: all
 * @editing: the next keys are the filter
 * @help: the keys are explained in place of the table
 */
struct view {
	size_t sort;
	bool reverse;
	bool active;
	char filter[FILTER_LEN];
	bool editing;
	bool help;
};

/**
 * struct top - one run
 * @rates: what the disks do
 * @interval: seconds
 * @count: tables after which it ends; 0: never
 * @terminal: standard output is a terminal
 * @keys: standard input is one, too, and is read
 * @saved: its settings before that
 * @view: what the keys have chosen
 */
struct top {
	struct rates rates;
	__u32 interval;
	__u32 count;
	bool terminal;
	bool keys;
	struct termios saved;
	struct view view;
};

static int set(void *context, int id, const char *value)
{
	struct top *top = context;

	if (id == 'j') {
		report_json = true;
		return 0;
	}
	if (id == 'i')
		return opts_number(&origin, "interval", value, 1, RATES_MAX_INTERVAL,
				   " seconds", &top->interval);
	return opts_number(&origin, "count", value, 0, RATES_MAX_COUNT, "", &top->count);
}

/*
 * The table
 */

/* Lines of the terminal, or 0 where all disks are printed */
static size_t height(const struct top *top)
{
	struct winsize size;

	if (!top->terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4)
		return 0;
	return size.ws_row;
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
			rates_cell(json_object_array_get_idx(rows, i), c->key, text,
				   sizeof(text));
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
		"flushes_per_s", "requeues_per_s", "p50_ns", "in_flight",
		"write_bytes_per_s", "read_bytes_per_s", "p99_ns",
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

static double number(struct json_object *row, const char *key)
{
	return json_object_get_double(json_object_object_get(row, key));
}

static bool is_active(struct json_object *row)
{
	return number(row, "reads_per_s") > 0 || number(row, "writes_per_s") > 0 ||
	       number(row, "flushes_per_s") > 0 || number(row, "requeues_per_s") > 0 ||
	       number(row, "errors_per_s") > 0 || number(row, "in_flight") > 0;
}

static bool is_shown(const struct view *view, struct json_object *row)
{
	if (view->active && !is_active(row))
		return false;
	return strstr(json_object_get_string(json_object_object_get(row, "name")),
		      view->filter) ||
	       strstr(json_object_get_string(json_object_object_get(row, "state")),
		      view->filter);
}

/*
 * The largest number first, unknown ones last, words from A to Z; else by number of the disk
 */
static int compare(const void *a, const void *b, void *context)
{
	struct json_object *const *one = a, *const *other = b;
	const struct view *view = context;
	const struct output_column *column = &all_columns[view->sort];
	struct json_object *x = json_object_object_get(*one, column->key);
	struct json_object *y = json_object_object_get(*other, column->key);
	double difference = number(*other, "index") - number(*one, "index");

	if (view->sort && !x != !y)
		return x ? -1 : 1;
	if (view->sort && x && column->right && number(*one, column->key) !=
						number(*other, column->key))
		difference = number(*one, column->key) - number(*other, column->key);
	else if (view->sort && x && !column->right &&
		 strcmp(json_object_get_string(x), json_object_get_string(y)))
		difference = strcmp(json_object_get_string(y), json_object_get_string(x));
	if (view->reverse)
		difference = -difference;
	return difference > 0 ? -1 : difference < 0;
}

/* Returns the rows that are shown, in their order; @rows is released. */
static struct json_object *arrange(struct view *view, struct json_object *rows)
{
	size_t i, nr = 0, all = json_object_array_length(rows);
	struct json_object **row = calloc(all + 1, sizeof(*row));
	struct json_object *shown = json_object_new_array();

	for (i = 0; row && i < all; i++)
		if (is_shown(view, json_object_array_get_idx(rows, i)))
			row[nr++] = json_object_get(json_object_array_get_idx(rows, i));
	if (row)
		qsort_r(row, nr, sizeof(*row), compare, view);
	for (i = 0; i < nr; i++)
		json_object_array_add(shown, row[i]);
	free(row);
	json_object_put(rows);
	return shown;
}

/* Says what the keys have chosen. Returns the lines that it took. */
static size_t print_view(const struct view *view)
{
	if (view->editing) {
		printf("filter: %s\n", view->filter);
		return 1;
	}
	if (!view->sort && !view->reverse && !view->active && !view->filter[0])
		return 0;
	printf("by %s%s%s%s%s\n", all_columns[view->sort].name,
	       view->reverse ? ", reversed" : "", view->active ? ", active only" : "",
	       view->filter[0] ? ", filter: " : "", view->filter);
	return 1;
}

static void print_keys(void)
{
	printf("q          quit\n"
	       "? h        these keys; any key leads back\n"
	       "< > arrows sort by the column before, or after\n"
	       "r          reverse the order\n"
	       "a          only disks that do something, or all\n"
	       "/ f        only disks with a text in their name or state; Enter ends it\n"
	       "Esc        no filter\n"
	       "blank      a new table at once\n");
}

/* Moves the rows beyond @room out of @rows. Returns how many these were. */
static size_t cut(struct json_object *rows, size_t room)
{
	size_t nr = json_object_array_length(rows);

	if (nr <= room)
		return 0;
	json_object_array_del_idx(rows, room, nr - room);
	return nr - room;
}

/* Returns 0, or -1 when memory is short. */
static int print_rows(struct top *top, size_t used)
{
	struct json_object *rows = arrange(&top->view, rates_rows(&top->rates));
	size_t lines = height(top), more = 0;
	struct output_column columns[ARRAY_SIZE(all_columns)];
	int ret;

	memcpy(columns, all_columns, sizeof(columns));
	if (lines)	/* beside the heading, the line "and N more" and the cursor's */
		more = cut(rows, lines > used + 4 ? lines - used - 3 : 1);
	fit(rows, columns, line_length(top));
	ret = output_rows(rows, columns, rates_cell);
	if (!json_object_array_length(rows))
		printf(top->rates.now.nr ? "no disk to show\n" : "no disks\n");
	if (more)
		printf("and %zu more\n", more);
	json_object_put(rows);
	return ret;
}

/* @first: nothing has been printed before. Returns 0, or -1 when memory is short. */
static int print_table(struct top *top, bool first)
{
	int ret = 0;

	if (report_json) {
		rates_print_json(&top->rates);
		return 0;
	}
	if (top->terminal)
		fputs(HOME_AND_CLEAR, stdout);
	else if (!first)
		printf("\n");
	if (top->view.help)
		print_keys();
	else
		ret = print_rows(top, print_view(&top->view));
	fflush(stdout);
	return ret;
}

/*
 * Keys
 */

/* Keys arrive one by one and are not echoed; also again, after the job was stopped. */
static void take_keyboard(struct top *top)
{
	struct termios raw = top->saved;
	bool ours = top->keys && tcgetpgrp(STDIN_FILENO) == getpgrp();

	nl_watch(top->rates.nl, ours ? STDIN_FILENO : -1);
	if (!ours)
		return;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	raw.c_cc[VQUIT] = _POSIX_VDISABLE;	/* would leave the terminal like this */
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void give_keyboard_back(const struct top *top)
{
	if (top->keys && tcgetpgrp(STDIN_FILENO) == getpgrp())
		tcsetattr(STDIN_FILENO, TCSANOW, &top->saved);
}

enum key_result {
	KEY_QUIT,
	KEY_SHOW,	/* the same figures again */
	KEY_ASK,	/* new figures */
};

static void edit(struct view *view, char key)
{
	size_t len = strlen(view->filter);

	if (key == '\n' || key == '\r')
		view->editing = false;
	else if ((key == '\b' || key == 0x7f) && len)
		view->filter[len - 1] = '\0';
	else if (key > ' ' && key < 0x7f && len < FILTER_LEN - 1)
		snprintf(view->filter + len, FILTER_LEN - len, "%c", key);
}

static void no_filter(struct view *view)
{
	view->filter[0] = '\0';
	view->editing = false;
}

static enum key_result on_key(struct view *view, char key)
{
	if (view->help) {
		view->help = false;
		return KEY_SHOW;
	}
	if (view->editing) {
		edit(view, key);
		return KEY_SHOW;
	}
	switch (key) {
	case 'q':
		return KEY_QUIT;
	case ' ':
		return KEY_ASK;
	case '?':
	case 'h':
		view->help = true;
		break;
	case '<':
		view->sort = (view->sort + NR_COLUMNS - 1) % NR_COLUMNS;
		break;
	case '>':
		view->sort = (view->sort + 1) % NR_COLUMNS;
		break;
	case 'r':
		view->reverse = !view->reverse;
		break;
	case 'a':
		view->active = !view->active;
		break;
	case '/':
	case 'f':
		view->editing = true;
		break;
	}
	return KEY_SHOW;
}

/* The length of an escape sequence; an arrow is the key of the same meaning. */
static size_t on_escape(struct view *view, const char *text, size_t len)
{
	size_t end = 2;

	if (len < 2 || (text[1] != '[' && text[1] != 'O')) {
		no_filter(view);
		view->help = false;
		return 1;
	}
	while (end < len && (text[end] < '@' || text[end] > '~'))
		end++;
	if (end < len && (text[end] == 'C' || text[end] == 'D') && !view->editing)
		on_key(view, text[end] == 'C' ? '>' : '<');
	return end + 1;
}

static enum key_result read_keys(struct top *top)
{
	enum key_result result = KEY_SHOW, one;
	ssize_t len, i;
	char text[64];

	len = read(STDIN_FILENO, text, sizeof(text));
	if (len <= 0) {
		give_keyboard_back(top);
		top->keys = false;
	}
	for (i = 0; i < len && result != KEY_QUIT; i++) {
		if (text[i] == '\033') {
			i += (ssize_t)on_escape(&top->view, text + i, (size_t)(len - i)) - 1;
			continue;
		}
		one = on_key(&top->view, text[i]);
		if (one != KEY_SHOW)
			result = one;
	}
	return result;
}

/*
 * Running
 */

static int no_memory(void)
{
	return report_failure(ENOMEM, "top", "%s", strerror(ENOMEM));
}

/*
 * Waits for the end of the interval and serves keys meanwhile. Returns STATUS_DONE, an exit
 * status, or OPTS_FINISHED when the user wants to leave.
 */
static int wait_interval(struct top *top)
{
	__s64 end = nl_deadline(top->interval);
	struct nl_failure failure;
	int ret;

	for (;;) {
		take_keyboard(top);
		ret = nl_wait(top->rates.nl, end, &failure);
		if (ret < 0 && failure.err != EINTR)
			return report_failure(failure.err, "top", "%s", failure.text);
		if (ret < 0) {
			/* Start a new line after the "^C" that the terminal shows. */
			if (top->terminal && !top->keys)
				printf("\n");
			return OPTS_FINISHED;
		}
		if (ret != NL_WATCHED)
			return STATUS_DONE;
		switch (read_keys(top)) {
		case KEY_QUIT:
			return OPTS_FINISHED;
		case KEY_ASK:
			return STATUS_DONE;
		default:
			if (print_table(top, false))
				return no_memory();
		}
	}
}

/* Returns an exit status; a signal and the key q are the normal end. */
static int run(struct top *top)
{
	struct nl_failure failure;
	__u32 tables = 0;
	int ret;

	if (rates_open(&top->rates, &failure) || rates_ask(&top->rates, &failure))
		return report_failure(failure.err, "top", "%s", failure.text);
	do {
		ret = wait_interval(top);
		if (ret)
			return ret == OPTS_FINISHED ? STATUS_DONE : ret;
		if (rates_ask(&top->rates, &failure))
			return report_failure(failure.err, "top", "%s", failure.text);
		if (print_table(top, !tables))
			return no_memory();
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
	struct top top = { .interval = 2 };
	int ret;

	ret = opts_parse(command, argc, argv, set, &top);
	if (ret)
		return ret;
	if (argv[optind])
		return report_usage("top", "too many arguments: '%s'", argv[optind]);

	top.terminal = !report_json && isatty(STDOUT_FILENO);
	top.keys = top.terminal && isatty(STDIN_FILENO) &&
		   !tcgetattr(STDIN_FILENO, &top.saved);
	ret = run(&top);
	give_keyboard_back(&top);
	rates_close(&top.rates);
	return ret;
}
