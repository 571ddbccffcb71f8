// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of subcommands. One table per subcommand feeds both the parser and the
 * help, so that no option can exist without being explained.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../target/base/key_file.h"
#include "../target/base/value.h"
#include "opts.h"
#include "report.h"
#include "util.h"

#define MAX_OPTIONS	32
#define LINE_LENGTH	80	/* of the help */
#define HELP_COLUMN	28	/* where the help of an option begins */
#define LONG		0x100	/* and the index in the table: what getopt_long() returns */
#define ID_HELP		0x20001
#define ID_VERSION	0x20002

/* Length of the first part of @text, up to a blank or behind a '|' */
static size_t part_length(const char *text)
{
	size_t len = strcspn(text, " |");

	return text[len] == '|' ? len + 1 : len;
}

/**
 * opts_print_wrapped() - prints a text in lines of at most 80 characters
 * @text: the text, broken at blanks and behind '|'
 * @at: column where it begins
 * @indent: column where its other lines begin
 */
void opts_print_wrapped(const char *text, size_t at, size_t indent)
{
	bool blank = false;

	while (*text) {
		size_t len = part_length(text);

		if (at + blank + len > LINE_LENGTH && at > indent) {
			printf("\n%*s", (int)indent, "");
			at = indent;
			blank = false;
		}
		printf("%s%.*s", blank ? " " : "", (int)len, text);
		at += blank + len;
		text += len;
		blank = *text == ' ';
		text += strspn(text, " ");
	}
	printf("\n");
}

static void print_option(const struct option_info *option)
{
	char left[48], letter[8] = "    ";
	int len;

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, option->name,
		 option->arg ? " " : "", option->arg ? option->arg : "");
	len = printf("  %-*s ", HELP_COLUMN - 3, left);
	opts_print_wrapped(option->help, (size_t)len, HELP_COLUMN);
}

static void print_help(const struct command_info *command)
{
	static const struct option_info common[] = {
		{ "help", 'h', 0, NULL, "show this text and exit" },
		{ "version", 'V', 0, NULL, "show the version and exit" },
	};
	const struct option_info *option;
	size_t i;
	int len;

	len = printf("Usage: rdmablk %s ", command->name);
	opts_print_wrapped(command->synopsis, (size_t)len, (size_t)len);
	printf("\n%s.\n\nOptions:\n", command->help);
	for (option = command->options; option->name; option++)
		print_option(option);
	for (i = 0; i < ARRAY_SIZE(common); i++)
		print_option(&common[i]);
	printf("\nExit status: 0 done, 2 wrong usage, others a failure by its cause.\n"
	       "See rdmablk(8).\n");
}

/* Converts the table for getopt_long(). No long option has the value of a letter. */
static void build_getopt(const struct command_info *command,
			 struct option *longopts, char *letters)
{
	const struct option_info *info;
	size_t n = 0;

	*letters++ = ':';
	*letters++ = 'h';
	*letters++ = 'V';
	for (info = command->options; info->name && n < MAX_OPTIONS; info++, n++) {
		longopts[n] = (struct option) {
			.name = info->name,
			.has_arg = info->arg ? required_argument : no_argument,
			.val = LONG + (int)n,
		};
		if (info->letter) {
			*letters++ = info->letter;
			if (info->arg)
				*letters++ = ':';
		}
	}
	*letters = '\0';
	longopts[n++] = (struct option) { .name = "help", .val = ID_HELP };
	longopts[n++] = (struct option) { .name = "version", .val = ID_VERSION };
	longopts[n] = (struct option) { 0 };
}

/* @c: a letter of the table, or LONG and an index in it, or one of the ids of all commands */
static int id_of(const struct command_info *command, int c)
{
	const struct option_info *info;

	if (c >= LONG && c < LONG + MAX_OPTIONS)
		return command->options[c - LONG].id;
	if (c == 'h')
		return ID_HELP;
	if (c == 'V')
		return ID_VERSION;
	for (info = command->options; info->name; info++)
		if (info->letter && info->letter == c)
			return info->id;
	return c;
}

/**
 * opts_unknown() - complains about a word that is not in its list
 * @what: the subcommand, or the part of the command line
 * @kind: what the word should be, with a verb: "unknown command"
 * @near: its word, after a look at the list
 * @help: command that prints the list
 *
 * Returns the exit status of wrong usage.
 */
int opts_unknown(const char *what, const char *kind, const struct near *near, const char *help)
{
	if (near->best)
		return report_usage(what, "%s '%s'; did you mean '%s'?", kind, near->word,
				    near->best);
	return report_usage(what, "%s '%s'; see '%s'", kind, near->word, help);
}

static int refuse_word(const struct command_info *command, const char *word)
{
	const struct option_info *info;
	struct near near;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	near_begin(&near, name);
	for (info = command->options; info->name; info++)
		near_try(&near, info->name);
	near_try(&near, "help");
	near_try(&near, "version");
	if (near.best)
		return report_usage(command->name, "unknown option --%s; did you mean --%s?",
				    name, near.best);
	return report_usage(command->name, "unknown option %s; see 'rdmablk %s --help'", word,
			    command->name);
}

/* Explains an error of getopt_long(), which returned @c. */
static int refuse(const struct command_info *command, char **argv, int c)
{
	const char *word = argv[optind - 1];	/* the option, if it is a long one */
	bool letter = optopt && optopt < LONG;

	if (c == ':' && letter)
		return report_usage(command->name, "-%c needs a value", optopt);
	if (c == ':')
		return report_usage(command->name, "%s needs a value", word);
	if (letter)
		return report_usage(command->name,
				    "unknown option -%c; see 'rdmablk %s --help'",
				    optopt, command->name);
	if (optopt)
		return report_usage(command->name, "%s takes no value", word);
	return refuse_word(command, word);
}

/**
 * opts_parse() - goes through the options of a subcommand
 * @command: the subcommand
 * @argc: arguments, the first one being the subcommand's name
 * @argv: the same; operands are moved to the end, from optind on
 * @set: called with the id and the value of each option; what it returns other
 *	than 0 ends the parsing
 * @context: for @set
 *
 * Returns 0, the exit status after a complaint, or OPTS_FINISHED.
 */
int opts_parse(const struct command_info *command, int argc, char **argv,
	       opts_set_fn set, void *context)
{
	struct option longopts[MAX_OPTIONS + 3];
	char letters[2 * MAX_OPTIONS + 4];
	int c, id, ret;

	build_getopt(command, longopts, letters);
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, letters, longopts, NULL)) != -1) {
		if (c == '?' || c == ':')
			return refuse(command, argv, c);
		id = id_of(command, c);
		if (id == ID_HELP) {
			print_help(command);
			return OPTS_FINISHED;
		}
		if (id == ID_VERSION) {
			opts_print_version();
			return OPTS_FINISHED;
		}
		ret = set(context, id, optarg);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * opts_refuse() - complains about the value of an option
 * @origin: where it was given
 * @name: name of the option
 * @fmt: what is wrong with it
 *
 * Returns the exit status of wrong usage.
 */
int opts_refuse(const struct opts_origin *origin, const char *name,
		const char *fmt, ...)
{
	char what[512], why[512];
	va_list args;

	snprintf(what, sizeof(what), "%.400s: %s%s", origin->what, origin->dashes,
		 name);
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return report_usage(what, "%s", why);
}

/**
 * opts_number() - a decimal number within limits
 * @origin: where it was given
 * @name: name of the option
 * @text: what was given
 * @min: lowest allowed value
 * @max: highest allowed value
 * @unit: " seconds" or the like, may be empty
 * @number: result
 *
 * Returns 0 or the exit status after a complaint.
 */
int opts_number(const struct opts_origin *origin, const char *name,
		const char *text, __u32 min, __u32 max, const char *unit,
		__u32 *number)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end)
		return opts_refuse(origin, name, "'%s' is not a number; %u to %u%s",
				   text, min, max, unit);
	if (errno || value < min || value > max)
		return opts_refuse(origin, name, "%s is out of range; %u to %u%s",
				   text, min, max, unit);
	*number = value;
	return 0;
}

/**
 * opts_switch() - yes or no, in each spelling that the daemon takes
 * @origin: where it was given
 * @name: name of the option
 * @text: what was given
 * @on: result
 *
 * Returns 0 or the exit status after a complaint.
 */
int opts_switch(const struct opts_origin *origin, const char *name, const char *text, bool *on)
{
	if (!value_bool(text, on))
		return 0;
	return opts_refuse(origin, name, "'%s' is neither yes nor no", text);
}

/**
 * opts_key_name() - the name of a key
 * @origin: where it was given
 * @name: name of the option
 * @text: what was given
 *
 * Returns 0 or the exit status after a complaint.
 */
int opts_key_name(const struct opts_origin *origin, const char *name,
		  const char *text)
{
	if (key_file_name_ok(text, strlen(text)))
		return 0;
	return opts_refuse(origin, name,
			   "'%s' is not 1 to %d letters, digits and '._-', beginning with neither '.' nor '-'",
			   text, KEY_FILE_NAME_LEN - 1);
}

/**
 * opts_parse_uuid() - 8-4-4-4-12 hexadecimal digits
 * @text: what was given, nothing before or after it
 * @uuid: the bytes in the order of the digits
 *
 * Returns 0, or -1 when @text is something else.
 */
int opts_parse_uuid(const char *text, __u8 uuid[OPTS_UUID_LEN])
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	unsigned int digits = 0, value;
	size_t i;

	if (strlen(text) != sizeof(form) - 1)
		return -1;
	memset(uuid, 0, OPTS_UUID_LEN);
	for (i = 0; i < sizeof(form) - 1; i++) {
		unsigned char c = tolower((unsigned char)text[i]);

		if (form[i] == '-') {
			if (c != '-')
				return -1;
			continue;
		}
		if (!isxdigit(c))
			return -1;
		value = isdigit(c) ? c - '0' : c - 'a' + 10;
		uuid[digits / 2] |= digits % 2 ? value : value << 4;
		digits++;
	}
	return 0;
}

/**
 * opts_print_version() - prints the text of --version
 */
void opts_print_version(void)
{
	printf("rdmablk %s\n", RDMABLK_TOOLS_VERSION);
}
