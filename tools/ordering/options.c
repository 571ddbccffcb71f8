// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of rdmablk-ordering. One table feeds the parser and the help, so that no option
 * can exist without being explained.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "ordering.h"
#include "pattern.h"

#define DEFAULT_COUNT	10000000
#define DEFAULT_PAIRS	4
#define DEFAULT_MAX	4096
#define MAX_SECONDS	(7U * 24 * 3600)

enum {
	OPT_HELP = 'h',
	OPT_VERSION = 'V',
	OPT_COUNT = 256,
	OPT_SECONDS,
	OPT_SIZE,
	OPT_PAIRS,
	OPT_RELAXED,
	OPT_NO_WAIT,
	OPT_TARGET,
	OPT_JSON,
	OPT_GID_INDEX,
	OPT_LISTEN,
};

/**
 * struct option_info - an option
 * @name: without the dashes
 * @id: OPT_*
 * @measures: has no meaning with --listen
 * @arg: name of its value, or NULL
 * @help: what it does
 */
struct option_info {
	const char *name;
	int id;
	bool measures;
	const char *arg;
	const char *help;
};

static const struct option_info infos[] = {
	{ "count", OPT_COUNT, true, "N", "rounds in all; default 10000000" },
	{ "seconds", OPT_SECONDS, true, "S", "end after this time; then --count has no default" },
	{ "size", OPT_SIZE, true, "BYTES", "of a WRITE, or MIN-MAX; default 64-4096" },
	{ "pairs", OPT_PAIRS, true, "N", "pairs of queue pairs at once; default 4" },
	{ "relaxed", OPT_RELAXED, true, NULL, "register the memory with relaxed ordering" },
	{ "no-wait", OPT_NO_WAIT, true, NULL, "READ before the WRITE has completed: must fail" },
	{ "target", OPT_TARGET, true, "HOST", "memory of the machine that listens there" },
	{ "json", OPT_JSON, true, NULL, "print JSON" },
	{ "listen", OPT_LISTEN, false, "ADDR", "offer memory to a machine with --target" },
	{ "gid-index", OPT_GID_INDEX, false, "N", "of the port's own address" },
};

static int print_help(void)
{
	char left[48];
	size_t i;

	printf("Usage: rdmablk-ordering [OPTION]... DEVICE[:PORT]\n"
	       "       rdmablk-ordering --listen ADDR[:PORT] [OPTION]... DEVICE[:PORT]\n"
	       "       rdmablk-ordering --target HOST[:PORT] [OPTION]... DEVICE[:PORT]\n\n"
	       "Looks for READs that overtake a completed WRITE of another queue pair.\n\n"
	       "Options:\n");
	for (i = 0; i < ARRAY_SIZE(infos); i++) {
		snprintf(left, sizeof(left), "--%s%s%s", infos[i].name,
			 infos[i].arg ? " " : "", infos[i].arg ?: "");
		printf("  %-24s  %s\n", left, infos[i].help);
	}
	printf("  %-24s  %s\n  %-24s  %s\n\n"
	       "Exit status: 0 no READ was stale, 1 one was, 2 could not run. See\n"
	       "rdmablk-ordering(8).\n",
	       "-h, --help", "show this text and exit",
	       "-V, --version", "show the version and exit");
	return STATUS_ORDERED;
}

/* Takes digits at *@text, and leaves *@text behind them. Return: whether it has some. */
static bool take_number(const char **text, uint64_t min, uint64_t max, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*number = strtoull(*text, &end, 10);
	*text = end;
	return !errno && *number >= min && *number <= max;
}

static int set_number(const char *option, const char *text, uint64_t min, uint64_t max,
		      uint64_t *number)
{
	const char *rest = text;

	if (take_number(&rest, min, max, number) && !*rest)
		return OPTIONS_RUN;
	return report_failure(option, "'%s' is not a number from %llu to %llu", text,
			      (unsigned long long)min, (unsigned long long)max);
}

static int set_size(struct options *opts, const char *text)
{
	const char *rest = text;
	uint64_t min, max;

	if (!take_number(&rest, PATTERN_LINE, MAX_BYTES, &min))
		goto wrong;
	max = min;
	if (*rest == '-') {
		rest++;
		if (!take_number(&rest, PATTERN_LINE, MAX_BYTES, &max))
			goto wrong;
	}
	if (*rest || min > max || min % PATTERN_LINE || max % PATTERN_LINE)
		goto wrong;
	opts->min_bytes = min;
	opts->max_bytes = max;
	return OPTIONS_RUN;
wrong:
	return report_failure("--size", "'%s' is not BYTES or MIN-MAX, multiples of %u up to %u",
			      text, PATTERN_LINE, MAX_BYTES);
}

static int set_option(struct options *opts, int id, const char *value)
{
	uint64_t number = 0;
	int ret = OPTIONS_RUN;

	switch (id) {
	case OPT_COUNT:
		return set_number("--count", value, 1, INT64_MAX, &opts->count);
	case OPT_SECONDS:
		ret = set_number("--seconds", value, 1, MAX_SECONDS, &number);
		opts->seconds = number;
		return ret;
	case OPT_SIZE:
		return set_size(opts, value);
	case OPT_PAIRS:
		ret = set_number("--pairs", value, 1, MAX_PAIRS, &number);
		opts->pairs = number;
		return ret;
	case OPT_GID_INDEX:
		ret = set_number("--gid-index", value, 0, UINT8_MAX, &number);
		opts->gid_index = number;
		return ret;
	case OPT_RELAXED:
		opts->relaxed = true;
		return ret;
	case OPT_NO_WAIT:
		opts->no_wait = true;
		return ret;
	case OPT_JSON:
		opts->json = true;
		return ret;
	case OPT_LISTEN:
		opts->listen = value;
		return ret;
	default:
		opts->target = value;
		return ret;
	}
}

/* DEVICE[:PORT] */
static int set_device(struct options *opts, const char *text)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	uint64_t port = 1;
	const char *rest;

	if (!len || len >= sizeof(opts->device))
		return report_failure(text, "is not DEVICE or DEVICE:PORT");
	if (colon) {
		rest = colon + 1;
		if (!take_number(&rest, 1, UINT8_MAX, &port) || *rest)
			return report_failure(text, "'%s' is not a port from 1 to %u",
					      colon + 1, UINT8_MAX);
	}
	memcpy(opts->device, text, len);
	opts->device[len] = '\0';
	opts->port = port;
	return OPTIONS_RUN;
}

/* Explains an error of getopt_long(), which returned @c. */
static int refuse(char **argv, int c)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		return report_failure("usage", "%s needs a value", word);
	if (optopt && strncmp(word, "--", 2))
		return report_failure("usage", "unknown option -%c; see --help", optopt);
	if (optopt)
		return report_failure("usage", "%s takes no value", word);
	return report_failure("usage", "unknown option %s; see --help", word);
}

/* @measures: an option that was given and has no meaning with --listen, or NULL */
static int finish(struct options *opts, int nr, char **words, const char *measures)
{
	if (nr != 1)
		return report_failure("usage", nr ? "one device, not several; see --help" :
				      "a device is missing; see --help");
	if (opts->listen && measures)
		return report_failure("usage",
				      "--%s belongs to the side with --target, not to --listen",
				      measures);
	if (!opts->count)
		opts->count = opts->seconds ? INT64_MAX : DEFAULT_COUNT;
	return set_device(opts, words[0]);
}

/* Looked up before parsing, so that an error in the options is reported as JSON, too. */
static bool wants_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	return false;
}

static const struct option_info *info_of(int id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(infos) - 1; i++)
		if (infos[i].id == id)
			break;
	return &infos[i];
}

/**
 * options_parse() - the command line
 * @opts: set
 * @argc: of main()
 * @argv: of main()
 *
 * Return: OPTIONS_RUN, or an exit status; what is wrong has been printed.
 */
int options_parse(struct options *opts, int argc, char **argv)
{
	struct option longopts[ARRAY_SIZE(infos) + 3] = { 0 };
	const char *measures = NULL;
	int c, ret;
	size_t i;

	*opts = (struct options){
		.gid_index = -1,
		.pairs = DEFAULT_PAIRS,
		.min_bytes = PATTERN_LINE,
		.max_bytes = DEFAULT_MAX,
	};
	report_json = wants_json(argc, argv);
	for (i = 0; i < ARRAY_SIZE(infos); i++)
		longopts[i] = (struct option){
			.name = infos[i].name,
			.has_arg = infos[i].arg ? required_argument : no_argument,
			.val = infos[i].id,
		};
	longopts[i++] = (struct option){ .name = "help", .val = OPT_HELP };
	longopts[i] = (struct option){ .name = "version", .val = OPT_VERSION };
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":hV", longopts, NULL)) != -1) {
		if (c == '?' || c == ':')
			return refuse(argv, c);
		if (c == OPT_HELP)
			return print_help();
		if (c == OPT_VERSION) {
			puts("rdmablk-ordering " RDMABLK_TOOLS_VERSION);
			return STATUS_ORDERED;
		}
		ret = set_option(opts, c, optarg);
		if (ret != OPTIONS_RUN)
			return ret;
		if (info_of(c)->measures)
			measures = info_of(c)->name;
	}
	return finish(opts, argc - optind, argv + optind, measures);
}
