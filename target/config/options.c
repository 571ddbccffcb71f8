// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command line: the keys of [target] as options, and a few options of its own. The file is
 * read first, so that an option overrides it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/near.h"
#include "base/util.h"
#include "config/options.h"

enum {
	OPT_HELP = 'h',
	OPT_VERSION = 'V',
	OPT_EXPORT = 256,
	OPT_CONFIG,
	OPT_CHECK,
	OPT_FAULT,
	OPT_COMMAND,
	OPT_KEY,		/* the first of those in config_target_keys[] */
};

#define NR_OWN		7

static const struct option own_options[NR_OWN] = {
	{ "export", required_argument, NULL, OPT_EXPORT },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "fault", required_argument, NULL, OPT_FAULT },
	{ "run", required_argument, NULL, OPT_COMMAND },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
};

static void print_keys(const struct config_key *keys, unsigned int nr, const char *before,
		       const char *between)
{
	for (unsigned int i = 0; i < nr; i++)
		if (keys[i].help)
			printf("  %s%s%s%s\n\t%s\n", before, keys[i].name,
			       keys[i].arg ? between : "", keys[i].arg ?: "", keys[i].help);
}

static void print_help(void)
{
	puts("Usage: rdmablkd --listen ADDR[:PORT] … --export NAME,memory,size=SIZE[,…] …\n"
	     "       rdmablkd --listen ADDR[:PORT] … --export NAME,file=FILE[,…] …\n"
	     "       rdmablkd --config FILE [--check|--run COMMAND]\n"
	     "\n"
	     "Serves block devices over RDMA: memory, files, other block devices.\n"
	     "\n"
	     "Options (keys of [target] in the configuration file, too):");
	print_keys(config_target_keys, config_nr_target_keys, "--", " ");
	puts("\nOther options:\n"
	     "  --export NAME,TYPE[,KEY[=VALUE]]…\n\texport this (again for more); TYPE is memory or file=FILE\n"
	     "  --config FILE\n\tits configuration; options of the command line override it\n"
	     "  --check\n\tcheck the configuration, its files and its addresses, and exit\n"
	     "  --run COMMAND\n\tcommand of a shell for when all is ready; end with it and its status\n"
	     "  --help, --version\n"
	     "\n"
	     "Keys of an export (of [export NAME] in the file, too):");
	print_keys(config_export_keys, config_nr_export_keys, "", "=");
	puts("\nK, M, G and T are powers of 1024.\n"
	     "\n"
	     "Exit status: 0 done, 1 failed, 2 wrong usage; with --run that of the command.");
	fputs(fault_options(), stdout);
}

/* Return: the long options, to be freed. */
static struct option *all_options(void)
{
	struct option *opts = calloc(NR_OWN + config_nr_target_keys + 1,
				     sizeof(*opts));

	if (!opts)
		return NULL;
	memcpy(opts, own_options, sizeof(own_options));
	for (unsigned int i = 0; i < config_nr_target_keys; i++) {
		struct option *opt = &opts[NR_OWN + i];

		opt->name = config_target_keys[i].name;
		opt->has_arg = config_target_keys[i].arg ? required_argument :
							   no_argument;
		opt->val = OPT_KEY + (int)i;
	}
	return opts;
}

static void apply_key(struct config *cfg, unsigned int key, const char *value)
{
	char where[CONFIG_WHERE];

	snprintf(where, sizeof(where), "rdmablkd: --%s",
		 config_target_keys[key].name);
	config_set(cfg, NULL, config_target_keys[key].name, value ?: "", where);
}

struct parse {
	struct config *cfg;
	const char *file;
	bool check;
	bool again;
};

static int given_argc;
static char **given_argv;

/* Return: an exit status or OPTIONS_RUN. */
static int apply_option(struct parse *p, int opt, bool keys)
{
	switch (opt) {
	case OPT_HELP:
		print_help();
		return EXIT_DONE;
	case OPT_VERSION:
		puts("rdmablkd " RDMABLKD_VERSION);
		return EXIT_DONE;
	case OPT_CONFIG:
		p->file = optarg;
		p->cfg->file = optarg;
		return OPTIONS_RUN;
	case OPT_CHECK:
		p->check = true;
		return OPTIONS_RUN;
	case OPT_COMMAND:
		p->cfg->run = optarg;
		return OPTIONS_RUN;
	case OPT_EXPORT:
		if (keys)
			config_export_spec(p->cfg, optarg);
		return OPTIONS_RUN;
	case OPT_FAULT:
		if (p->again || !fault_set(optarg))
			return OPTIONS_RUN;
		fprintf(stderr, "rdmablkd: --fault %s: no such fault in this build\n",
			optarg);
		return EXIT_USAGE;
	default:
		if (opt < OPT_KEY)
			return EXIT_USAGE;
		if (keys)
			apply_key(p->cfg, (unsigned int)(opt - OPT_KEY), optarg);
		return OPTIONS_RUN;
	}
}

/* Explains an option that is not known, or cut short too much. @word: with its dashes */
static void unknown_option(const struct option *opts, const char *word)
{
	unsigned int begin = 0;
	struct near near;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	near_begin(&near, name);
	for (; opts->name; opts++) {
		if (!strcmp(opts->name, "fault"))
			continue;
		begin += !strncmp(opts->name, name, strlen(name));
		near_try(&near, opts->name);
	}
	if (begin > 1)
		fprintf(stderr, "rdmablkd: --%s begins several options; see 'rdmablkd --help'\n",
			name);
	else if (near.best)
		fprintf(stderr, "rdmablkd: unknown option --%s; did you mean --%s?\n", name,
			near.best);
	else
		fprintf(stderr, "rdmablkd: unknown option %s; see 'rdmablkd --help'\n", word);
}

/* Explains an error of getopt_long(), which returned @opt. @word: option, if it is a long one */
static void refuse(const struct option *opts, int opt, const char *word)
{
	if (opt == ':')
		fprintf(stderr, "rdmablkd: %s needs a value\n", word);
	else if (optopt && optopt < OPT_EXPORT && optopt != OPT_HELP && optopt != OPT_VERSION)
		fprintf(stderr, "rdmablkd: unknown option -%c; see 'rdmablkd --help'\n", optopt);
	else if (optopt)
		fprintf(stderr, "rdmablkd: %s takes no value\n", word);
	else
		unknown_option(opts, word);
}

/*
 * Goes through the options. @keys: apply those that are keys, after the file has been read;
 * else only the daemon's own options.
 */
static int pass(struct parse *p, int argc, char **argv, bool keys)
{
	struct option *opts __cleanup_free = all_options();
	int ret = OPTIONS_RUN, opt;

	if (!opts)
		return EXIT_FAILED;
	optind = 0;
	opterr = 0;
	while (ret == OPTIONS_RUN &&
	       (opt = getopt_long(argc, argv, ":hV", opts, NULL)) != -1) {
		if (opt == '?' || opt == ':')
			refuse(opts, opt, argv[optind - 1]);
		ret = apply_option(p, opt, keys);
	}
	if (ret == OPTIONS_RUN && optind < argc) {
		fprintf(stderr, "rdmablkd: unexpected argument \"%s\"\n",
			argv[optind]);
		ret = EXIT_USAGE;
	}
	return ret;
}

/*
 * Reads the file, then the options, which override it. Return: an exit status or OPTIONS_RUN.
 */
static int read_all(struct parse *p, int argc, char **argv)
{
	struct config *cfg = p->cfg;
	unsigned int in_file;
	int ret = p->file ? config_read(cfg, p->file) : 0;

	if (ret) {
		fprintf(cfg->complaints ?: stderr, "rdmablkd: cannot read %s: %s\n",
			p->file, strerror(-ret));
		return EXIT_FAILED;
	}
	in_file = cfg->errors;
	cfg->seen = 0;		/* options from here on override the file */
	ret = pass(p, argc, argv, true);
	if (ret != OPTIONS_RUN)
		return ret;
	if (cfg->errors == in_file)
		config_finish(cfg);
	return cfg->errors ? EXIT_USAGE : OPTIONS_RUN;
}

/**
 * options_parse - read the options and the configuration file
 * @cfg: initialised; complete afterwards
 * @argc: of main()
 * @argv: of main()
 *
 * Return: OPTIONS_RUN, OPTIONS_CHECK or an exit status; problems are printed.
 */
int options_parse(struct config *cfg, int argc, char **argv)
{
	struct parse p = { .cfg = cfg };
	int ret;

	given_argc = argc;
	given_argv = argv;
	argv[0] = (char *)"rdmablkd";	/* for getopt's messages */
	ret = pass(&p, argc, argv, false);
	if (ret != OPTIONS_RUN)
		return ret;
	ret = read_all(&p, argc, argv);
	return ret == OPTIONS_RUN && p.check ? OPTIONS_CHECK : ret;
}

/**
 * options_again - read the configuration once more, with the same options
 * @cfg: initialised, with a place for complaints; complete afterwards
 *
 * One thread at a time.
 *
 * Return: 0; -EINVAL: the file has mistakes, or cannot be read; -ENOENT: there is no file, so
 * the exports of a reload are unknown.
 */
int options_again(struct config *cfg)
{
	struct parse p = { .cfg = cfg, .again = true };
	int ret = pass(&p, given_argc, given_argv, false);

	if (ret == OPTIONS_RUN && !p.file)
		return -ENOENT;
	if (ret == OPTIONS_RUN)
		ret = read_all(&p, given_argc, given_argv);
	return ret == OPTIONS_RUN ? 0 : -EINVAL;
}
