// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk target: shows and changes the exports, hosts and sessions of this host's daemon,
 * rdmablkd. Request and answer are a line of JSON each, over the daemon's socket. The
 * daemon checks the contents; this file checks only the form of the command line.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../target/base/conf_line.h"
#include "../target/base/state_file.h"
#include "commands.h"
#include "control.h"
#include "output.h"
#include "report.h"
#include "shown.h"
#include "target_metrics.h"
#include "util.h"

const struct option_info target_options[] = {
	{ "control", 0, 'c', "PATH", "socket of the daemon (/run/rdmablkd/control)" },
	{ "json", 0, 'j', NULL, "print JSON" },
	{ "force", 'f', 'f', NULL, "remove, reopen: end the sessions that use it" },
	{ "reason", 0, 'r', "TEXT", "kick: why, for the logs of the daemon" },
	{ "verbose", 'v', 'v', NULL, "sessions: everything, and what an end waits for" },
	{ "check", 0, 'C', NULL, "save: print the text, and write nothing" },
	{ "size", 0, 's', "SIZE", "resize: of an export that was given its size" },
	{ "output", 'o', 'o', "FILE", "metrics: replace FILE, for the textfile collector" },
	{ "format", 0, 'F', "FORMAT", "metrics: openmetrics or prometheus (as FILE needs it)" },
	{ 0 }
};

static const struct opts_origin origin = { "target", "--" };

#define SAVED_FILE	"/etc/rdmablk/rdmablkd.conf.d/saved.conf"

struct target_args {
	const char *control;
	bool force;
	bool verbose;
	bool check;
	const char *reason;
	__u64 size;
	struct metrics_args metrics;
};

/**
 * struct verb - a command of "rdmablk target"
 * @name: as typed; the verbs of hosts are two words
 * @command: its name in the daemon's protocol; NULL: @name
 * @operand: JSON key of its operand; NULL: it takes no operand
 * @operand_name: name of the operand in error messages
 * @more: JSON key of a second operand; NULL: it takes none
 * @more_name: name of that in error messages
 * @optional: the operand may be left out
 * @asks: changes nothing: the daemon answers at once, unless it is stopped
 * @force: --force goes with it
 * @size: --size goes with it
 * @reason: --reason goes with it
 * @metrics: --output and --format go with it
 * @save: --check goes with it
 * @show: prints the answer, returns an exit status; NULL: prints nothing
 * @show_all: the same with --verbose, which goes with it; NULL: it does not
 */
struct verb {
	const char *name;
	const char *command;
	const char *operand;
	const char *operand_name;
	const char *more;
	const char *more_name;
	bool optional;
	bool asks;
	bool force;
	bool size;
	bool reason;
	bool metrics;
	bool save;
	int (*show)(struct json_object *answer);
	int (*show_all)(struct json_object *answer);
};

static int parse_size(const char *text, __u64 *size)
{
	static const char units[] = "kKmMgGtT";
	unsigned long long value;
	const char *unit = NULL;
	long steps;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end)
		unit = strchr(units, *end);
	if (text[0] < '0' || text[0] > '9' || errno || !value || (*end && (!unit || end[1])))
		return opts_refuse(&origin, "size", "'%s' is not a size", text);
	for (steps = unit ? (unit - units) / 2 + 1 : 0; steps; steps--) {
		if (value >> 54)
			return opts_refuse(&origin, "size", "%s is too large", text);
		value <<= 10;
	}
	*size = value;
	return 0;
}

static int set(void *context, int id, const char *value)
{
	struct target_args *args = context;

	switch (id) {
	case 'c':
		args->control = value;
		break;
	case 'j':
		report_json = true;
		break;
	case 'f':
		args->force = true;
		break;
	case 'r':
		args->reason = value;
		break;
	case 'v':
		args->verbose = true;
		break;
	case 'C':
		args->check = true;
		break;
	case 's':
		return parse_size(value, &args->size);
	case 'o':
		args->metrics.file = value;
		break;
	case 'F':
		args->metrics.format = value;
		break;
	}
	return 0;
}

/*
 * Answers. The user that runs the daemon may not be trusted with root's terminal.
 */

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !value)
		return "-";
	if (json_object_is_type(value, json_type_boolean))
		return json_object_get_boolean(value) ? "yes" : "no";
	return json_object_get_string(value);
}

static struct json_object *array_of(struct json_object *answer, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(answer, key, &value) ||
	    !json_object_is_type(value, json_type_array))
		return NULL;
	return value;
}

/* Whether a row of an answer is an object, and the commands in it are one, if they are there */
static bool is_row(struct json_object *row)
{
	struct json_object *commands;

	return json_object_is_type(row, json_type_object) &&
	       (!json_object_object_get_ex(row, "commands", &commands) || !commands ||
		json_object_is_type(commands, json_type_object));
}

/* Returns the rows of an answer, or NULL after a complaint. */
static struct json_object *rows_of(struct json_object *answer, const char *what, const char *key)
{
	struct json_object *rows = array_of(answer, key);
	size_t i;

	if (!rows) {
		report_failure(EPROTO, what, "the daemon's answer has no %s", key);
		return NULL;
	}
	for (i = 0; i < json_object_array_length(rows); i++)
		if (!is_row(json_object_array_get_idx(rows, i))) {
			report_failure(EPROTO, what, "the daemon's answer is malformed");
			return NULL;
		}
	return rows;
}

/* Sums the commands of a session, or their errors, over all operations. */
static void sum_commands(struct json_object *session, const char *key, char *text,
			 size_t size)
{
	struct json_object *commands, *value;
	__u64 sum = 0;

	if (json_object_object_get_ex(session, "commands", &commands) && commands) {
		json_object_object_foreach(commands, name, one) {
			(void)name;
			if (json_object_object_get_ex(one, key, &value))
				sum += json_object_get_uint64(value);
		}
	}
	snprintf(text, size, "%llu", sum);
}

/* In UTC, as monitor has it */
static void since_text(struct json_object *session, char *text, size_t size)
{
	time_t since = atoll(text_of(session, "since"));
	struct tm tm;

	if (!gmtime_r(&since, &tm) || !strftime(text, size, "%FT%TZ", &tm))
		snprintf(text, size, "-");
}

static void cell(struct json_object *row, const char *key, char *text, size_t size)
{
	struct json_object *value;

	if (!strcmp(key, "size") && json_object_object_get_ex(row, key, &value) && value)
		output_human_bytes(json_object_get_uint64(value), text, size);
	else if (!strcmp(key, "since"))
		since_text(row, text, size);
	else if (!strcmp(key, "done") || (!strcmp(key, "errors") &&
					  json_object_object_get_ex(row, "commands", NULL)))
		sum_commands(row, key, text, size);
	else
		snprintf(text, size, "%s", text_of(row, key));
}

static int show_table(struct json_object *answer, const char *key,
		      const struct output_column *columns, output_cell_fn cell_of)
{
	struct json_object *rows = rows_of(answer, "target", key);

	if (!rows)
		return STATUS_MISMATCH;
	if (output_rows(rows, columns, cell_of))
		return report_failure(ENOMEM, "target", "%s", strerror(ENOMEM));
	return STATUS_DONE;
}

static int show_list(struct json_object *answer)
{
	static const struct output_column columns[] = {
		OUTPUT_TEXT("NAME", "name"), OUTPUT_TEXT("STATE", "state"),
		OUTPUT_TEXT("TYPE", "type"), OUTPUT_TEXT("CACHE", "cache"),
		OUTPUT_NUMBER("SIZE", "size"), OUTPUT_NUMBER("SESSIONS", "sessions"),
		OUTPUT_TEXT("FAILED", "failed"), OUTPUT_NUMBER("ERRORS", "errors"),
		OUTPUT_TEXT("FILE", "file"),
		{ 0 }
	};

	return show_table(answer, "exports", columns, cell);
}

static void show_key(struct json_object *row, const char *key, struct json_object *value)
{
	char human[16];

	printf("  %-18s", shown_text(key));
	if (!value) {
		printf("-\n");
	} else if (!strcmp(key, "size") || !strcmp(key, "comparing") ||
		   !strcmp(key, "pinned") || !strcmp(key, "max_pinned")) {
		output_human_bytes(json_object_get_uint64(value), human, sizeof(human));
		printf("%s (%s bytes)\n", human, shown_text(json_object_get_string(value)));
	} else {
		printf("%s\n", shown_text(text_of(row, key)));
	}
}

/* Prints all attributes of the export, one a line. */
static int show_one(struct json_object *answer)
{
	struct json_object *rows = rows_of(answer, "target show", "exports"), *row;

	if (!rows)
		return STATUS_MISMATCH;
	row = json_object_array_get_idx(rows, 0);
	if (!row)
		return report_failure(EPROTO, "target show", "the daemon's answer has no export");
	if (report_json) {
		output_json_line(json_object_get(answer));
		return STATUS_DONE;
	}
	printf("%s\n", shown_text(text_of(row, "name")));
	json_object_object_foreach(row, key, value) {
		if (strcmp(key, "name"))
			show_key(row, key, value);
	}
	return STATUS_DONE;
}

static int show_sessions(struct json_object *answer)
{
	static const struct output_column columns[] = {
		OUTPUT_TEXT("EXPORT", "export"), OUTPUT_TEXT("HOST", "host"),
		OUTPUT_TEXT("AUTH", "auth_host"), OUTPUT_TEXT("KEY", "key_id"),
		OUTPUT_TEXT("ADDRESS", "address"), OUTPUT_TEXT("STATE", "state"),
		OUTPUT_NUMBER("QUEUES", "queues"), OUTPUT_TEXT("SINCE", "since"),
		OUTPUT_NUMBER("COMMANDS", "done"), OUTPUT_NUMBER("ERRORS", "errors"),
		{ 0 }
	};

	return show_table(answer, "sessions", columns, cell);
}

/* Prints an attribute of a session. */
static void show_session_key(struct json_object *session, const char *key,
			     struct json_object *value)
{
	char text[32];

	if (!strcmp(key, "commands")) {
		sum_commands(session, "done", text, sizeof(text));
		printf("  %-18s%s\n", key, text);
	} else if (!strcmp(key, "since")) {
		since_text(session, text, sizeof(text));
		printf("  %-18s%s\n", key, text);
	} else if (strcmp(key, "ending_ms")) {
		show_key(session, key, value);
	} else if (value) {
		printf("  %-18s%.1f s\n", "ending", json_object_get_double(value) / 1000);
	}
}

/* Prints all attributes of each session, one a line. */
static int show_all_sessions(struct json_object *answer)
{
	struct json_object *rows = rows_of(answer, "target sessions", "sessions"), *row;
	size_t i;

	if (!rows)
		return STATUS_MISMATCH;
	for (i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		printf("%ssession %s\n", i ? "\n" : "", shown_text(text_of(row, "id")));
		json_object_object_foreach(row, key, value) {
			if (strcmp(key, "id"))
				show_session_key(row, key, value);
		}
	}
	return STATUS_DONE;
}

/* Prints the names and fingerprints of keys, with blanks between them. */
static void keys_text(struct json_object *row, const char *what, char *text, size_t size)
{
	struct json_object *keys = array_of(row, "keys");
	size_t i, len = 0;

	text[0] = '\0';
	for (i = 0; keys && i < json_object_array_length(keys) && len < size; i++)
		len += snprintf(text + len, size - len, "%s%s", i ? " " : "",
				text_of(json_object_array_get_idx(keys, i), what));
}

static void host_cell(struct json_object *row, const char *key, char *text, size_t size)
{
	if (!strcmp(key, "id") || !strcmp(key, "file"))
		keys_text(row, key, text, size);
	else
		snprintf(text, size, "%s", text_of(row, key));
}

static int show_hosts(struct json_object *answer)
{
	static const struct output_column columns[] = {
		OUTPUT_TEXT("NAME", "name"), OUTPUT_TEXT("KEYS", "id"),
		OUTPUT_TEXT("EXPIRES", "expires"), OUTPUT_TEXT("EXPIRED", "expired"),
		OUTPUT_TEXT("ADDRESS", "address"), OUTPUT_TEXT("FILES", "file"),
		{ 0 }
	};

	return show_table(answer, "hosts", columns, host_cell);
}

/* Return: whether all changes succeeded */
static bool show_changes(struct json_object *answer, const char *key, const char *what)
{
	struct json_object *rows = array_of(answer, key);
	bool all = true;
	size_t i;

	for (i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct json_object *action, *why;
		bool done = json_object_object_get_ex(row, "action", &action) && action;

		all = all && done;
		if (report_json)
			continue;
		printf("%s %s: %s", what, shown_text(text_of(row, "name")),
		       done ? shown_text(json_object_get_string(action)) : "not done");
		if (json_object_object_get_ex(row, "message", &why) && why)
			printf(": %s", shown_text(json_object_get_string(why)));
		printf("\n");
	}
	return all;
}

static int show_reload(struct json_object *answer)
{
	bool exports = show_changes(answer, "exports", "export");
	bool settings = show_changes(answer, "settings", "setting");
	bool hosts = show_changes(answer, "hosts", "host");

	if (exports && settings && hosts)
		return STATUS_DONE;
	/* With --json the printed answer names the failures. */
	fprintf(stderr, "rdmablk: target reload: not all of it could be done\n");
	return STATUS_FAILED;
}

/* Reads a file. @text: result, to be freed; NULL: no file, or empty. Return: 0 or an errno */
static int read_text(const char *path, char **text)
{
	FILE *file = fopen(path, "re");
	size_t size = 0;
	ssize_t len;
	int err;

	*text = NULL;
	if (!file)
		return errno == ENOENT ? 0 : errno;
	len = getdelim(text, &size, '\0', file);
	err = len < 0 && ferror(file) ? errno : 0;
	fclose(file);
	if (len < 0) {		/* its buffer has nothing in it */
		free(*text);
		*text = NULL;
	}
	return err;
}

/* The daemon's user reads the file, whatever the caller's umask is. Return: 0 or an errno */
static int write_text(const char *path, const char *text)
{
	mode_t mask = umask(022);
	char dir[PATH_MAX], *slash;
	int ret;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	ret = slash ? state_file_make_dir(dir) : 0;
	ret = ret ? ret : state_file_replace_among(path, text);
	umask(mask);
	return -ret;
}

/*
 * The user that runs the daemon may not be trusted with root's files. Then the daemon does not
 * choose the place of the file. The text has only exports and hosts in any case, and nothing
 * that a reader of the file skips before a section, or that a terminal obeys.
 */
static const char *refuse_saved(const char *path, const char *text, uid_t uid)
{
	const char *line, *next;

	if (path[0] != '/')
		return "the daemon must be started with an absolute path of its configuration";
	if (uid != geteuid() && strcmp(path, SAVED_FILE))
		return "a daemon of another user may choose no other file than " SAVED_FILE;
	if (!strncmp(text, CONF_LINE_BOM, strlen(CONF_LINE_BOM)))
		return "the text of the daemon begins with a byte order mark";
	if (shown_control(text, "\n\t"))
		return "the text of the daemon has a control character";
	for (line = text; line; line = next ? next + 1 : NULL) {
		next = strchr(line, '\n');
		line += strspn(line, " \t");
		if (*line == '[' && strncmp(line, "[export ", 8) && strncmp(line, "[host ", 6))
			return "the text of the daemon has another section than exports and hosts";
	}
	return NULL;
}

/* The daemon makes the text, and the tool writes it. @uid: of the daemon */
static int save(const struct target_args *args, struct json_object *answer, uid_t uid)
{
	const char *path = text_of(answer, "path"), *text = text_of(answer, "text");
	const char *why = refuse_saved(path, text, uid);
	bool all, same;
	char *old;
	int err;

	if (shown_control(path, ""))
		return report_failure(EPERM, "target save",
				      "the path of the daemon has a control character");
	if (why)
		return report_failure(EPERM, "target save", "%s: %s", path, why);
	err = read_text(path, &old);
	/* If there is neither a section nor a file, there is nothing to do. */
	same = old ? !strcmp(old, text) : !strchr(text, '[');
	free(old);
	if (!err && !same && !args->check)
		err = write_text(path, text);
	if (err)
		return report_failure(err, "target save", "%s: %s", path, strerror(err));
	if (report_json)
		output_json_line(json_object_get(answer));
	else if (args->check)
		printf("%s", text);
	else if (!same)
		printf("%s\n", path);
	all = show_changes(answer, "exports", "export");
	all = show_changes(answer, "hosts", "host") && all;
	if (all && (same || !args->check))
		return STATUS_DONE;
	if (!all)
		fprintf(stderr, "rdmablk: target save: not all of it can be saved\n");
	else
		fprintf(stderr, "rdmablk: target save: %s has something else\n", path);
	return STATUS_FAILED;
}

static int show_kicked(struct json_object *answer)
{
	show_changes(answer, "sessions", "session");
	return STATUS_DONE;
}

static int show_size(struct json_object *answer)
{
	if (!report_json)
		printf("%s\n", shown_text(text_of(answer, "size")));
	return STATUS_DONE;
}

static const struct verb verbs[] = {
	{ .name = "list", .asks = true, .show = show_list },
	{ .name = "show", .command = "list", .operand = "name", .operand_name = "NAME",
	  .asks = true, .show = show_one },
	{ .name = "sessions", .operand = "name", .operand_name = "NAME", .optional = true,
	  .asks = true, .show = show_sessions, .show_all = show_all_sessions },
	{ .name = "metrics", .asks = true, .metrics = true },
	{ .name = "add", .operand = "spec", .operand_name = "EXPORT" },
	{ .name = "remove", .operand = "name", .operand_name = "NAME", .force = true },
	{ .name = "resize", .operand = "name", .operand_name = "NAME", .size = true,
	  .show = show_size },
	{ .name = "reload", .show = show_reload },
	{ .name = "save", .save = true },
	{ .name = "reopen", .operand = "name", .operand_name = "NAME", .force = true },
	{ .name = "allow", .operand = "name", .operand_name = "EXPORT", .more = "allow",
	  .more_name = "LIST" },
	{ .name = "kick", .operand = "name", .operand_name = "SESSION or HOST", .reason = true,
	  .show = show_kicked },
	{ .name = "host list", .asks = true, .show = show_hosts },
	{ .name = "host add", .operand = "spec", .operand_name = "HOST" },
	{ .name = "host remove", .operand = "name", .operand_name = "NAME" },
};

/*
 * Asking
 */

static const struct verb *find_verb(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* @operand: the operands, with NULL at their end */
static int check(const struct verb *verb, const char *what, char **operand,
		 const struct target_args *args)
{
	int most = !!verb->operand + !!verb->more, nr = 0;

	while (nr < most && operand[nr])
		nr++;
	if (verb->operand && !verb->optional && nr < 1)
		return report_usage(what, "%s is missing", verb->operand_name);
	if (verb->more && nr < 2)
		return report_usage(what, "%s is missing", verb->more_name);
	if (operand[nr])
		return report_usage(what, "too many arguments: '%s'", operand[nr]);
	if (args->force && !verb->force)
		return report_usage(what, "--force does not go with it");
	if (args->size && !verb->size)
		return report_usage(what, "--size does not go with it");
	if (args->check && !verb->save)
		return report_usage(what, "--check does not go with it");
	if (args->reason && !verb->reason)
		return report_usage(what, "--reason does not go with it");
	if (args->verbose && !verb->show_all)
		return report_usage(what, "--verbose does not go with it");
	if ((args->metrics.file || args->metrics.format) && (!verb->metrics || report_json))
		return report_usage(what, "--%s does not go with it",
				    args->metrics.file ? "output" : "format");
	return metrics_check(what, &args->metrics);
}

static struct json_object *request_of(const struct verb *verb, char **operand,
				      const struct target_args *args)
{
	struct json_object *request = output_json_new();
	const char *command = verb->command ?: verb->name;

	json_object_object_add(request, "command", json_object_new_string(command));
	if (operand[0])
		json_object_object_add(request, verb->operand,
				       json_object_new_string(operand[0]));
	if (verb->more)
		json_object_object_add(request, verb->more,
				       json_object_new_string(operand[1]));
	if (args->force)
		json_object_object_add(request, "force", json_object_new_boolean(true));
	if (args->reason)
		json_object_object_add(request, "reason", json_object_new_string(args->reason));
	if (args->size)
		json_object_object_add(request, "size", json_object_new_uint64(args->size));
	return request;
}

static int show(const struct verb *verb, const char *what, bool all,
		struct json_object *answer)
{
	struct json_object *error, *number;

	if (json_object_object_get_ex(answer, "error", &error)) {
		json_object_object_get_ex(error, "errno", &number);
		return report_peer_failure(json_object_get_int(number), what, "%s",
					   text_of(error, "message"));
	}
	if (report_json && verb->show != show_one)
		output_json_line(json_object_get(answer));
	if (!verb->show || (report_json && verb->show != show_reload &&
			    verb->show != show_one))
		return STATUS_DONE;
	return all ? verb->show_all(answer) : verb->show(answer);
}

/* Return: the exit status */
static int answered(const struct verb *verb, const char *what,
		    const struct target_args *args, struct json_object *answer, uid_t uid)
{
	if (json_object_object_get_ex(answer, "error", NULL))
		target_metrics_down(&args->metrics);
	else if (verb->metrics && !report_json)
		return target_metrics_print(&args->metrics, answer);
	else if (verb->save)
		return save(args, answer, uid);
	return show(verb, what, args->verbose, answer);
}

static int ask(const struct verb *verb, char **operand, const struct target_args *args)
{
	struct json_object *request = request_of(verb, operand, args), *answer;
	char what[128], why[CONTROL_WHY];
	uid_t uid;
	int ret;

	snprintf(what, sizeof(what), "target %s%s%.90s", verb->name, operand[0] ? " " : "",
		 operand[0] ? operand[0] : "");
	ret = control_ask(args->control, request, verb->asks ? CONTROL_LIMIT : 0, &answer, &uid,
			  why);
	json_object_put(request);
	if (ret) {
		target_metrics_down(&args->metrics);
		return report_no_daemon(ret, what, "%s", why);
	}
	ret = answered(verb, what, args, answer, uid);
	json_object_put(answer);
	return ret;
}

/* Moves @word on to the last word of the verb. Return: the verb, or NULL */
static const struct verb *take_verb(char ***word)
{
	char name[32];

	if (strcmp(**word, "host") || !(*word)[1])
		return find_verb(**word);
	snprintf(name, sizeof(name), "host %s", (*word)[1]);
	++*word;
	return find_verb(name);
}

/* @words: the verb, of one word or two; @last: its last word */
static int unknown(char **words, const char *last)
{
	const char *host = *words == last ? "" : "host ";
	size_t i, len = strlen(host);
	struct near near;

	near_begin(&near, last);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strncmp(verbs[i].name, host, len) && !strchr(verbs[i].name + len, ' '))
			near_try(&near, verbs[i].name + len);
	return opts_unknown("target", "there is no", &near, "rdmablk target --help");
}

/**
 * cmd_target() - rdmablk target
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_target(const struct command_info *command, int argc, char **argv)
{
	struct target_args args = { .control = CONTROL_PATH };
	const struct verb *verb;
	char what[32], **word;
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (ret)
		return ret;
	word = argv + optind;
	if (!*word)
		return report_usage("target",
				    "list, show, sessions, metrics, add, remove, resize, reload, save, reopen, allow, kick or host is missing");
	if (!strcmp(*word, "host") && !word[1])
		return report_usage("target host", "list, add or remove is missing");
	verb = take_verb(&word);
	if (!verb)
		return unknown(argv + optind, *word);
	snprintf(what, sizeof(what), "target %s", verb->name);
	ret = check(verb, what, word + 1, &args);
	return ret ? ret : ask(verb, word + 1, &args);
}
