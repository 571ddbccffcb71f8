// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk, the command line of the rdmablk block driver: a table of subcommands,
 * each in a file of its own. They talk to the module over generic netlink (nl.c) and
 * use only kernel/uapi/ of its sources; "target" talks to the daemon of this host over
 * its socket (control.c).
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "report.h"
#include "util.h"

#define HELP_COLUMN	14	/* where the help of a command begins */

static int cmd_help(const struct command_info *command, int argc, char **argv);

static const struct option_info help_options[] = {
	{ 0 }
};

static const struct command_info commands[] = {
	{
		.name = "connect",
		.run = cmd_connect,
		.synopsis = "[OPTION]... HOST[:PORT]/NAME",
		.help = "Connect to an export and print the path of its disk",
		.options = connect_options,
	},
	{
		.name = "disconnect",
		.run = cmd_disconnect,
		.synopsis = "[--force] DEV|--all",
		.help = "Log out and remove a disk",
		.options = disconnect_options,
	},
	{
		.name = "up",
		.run = cmd_up,
		.synopsis = "[OPTION]... NAME...|--all|--auto",
		.help = "Connect disks of the configuration file",
		.options = up_options,
	},
	{
		.name = "down",
		.run = cmd_down,
		.synopsis = "[OPTION]... NAME...|--all|--auto",
		.help = "Disconnect disks of the configuration file",
		.options = down_options,
	},
	{
		.name = "config",
		.run = cmd_config,
		.synopsis = "[--auto] [--config FILE]",
		.help = "Check the configuration file and list its disks",
		.options = config_options,
	},
	{
		.name = "shutdown",
		.run = cmd_shutdown,
		.synopsis = "[--wait S]",
		.help = "Let no disk hold up the shutdown of the host",
		.options = shutdown_options,
	},
	{
		.name = "set",
		.run = cmd_set,
		.synopsis = "DEV OPTION...",
		.help = "Change options of a disk in use",
		.options = set_options,
	},
	{
		.name = "reconnect",
		.run = cmd_reconnect,
		.synopsis = "DEV [OPTION]...",
		.help = "Connect a disk again, at once",
		.options = reconnect_options,
	},
	{
		.name = "list",
		.run = cmd_list,
		.synopsis = "[OPTION]...",
		.help = "List the disks in a table",
		.options = list_options,
	},
	{
		.name = "status",
		.run = cmd_status,
		.synopsis = "[-v] [--json] [DEV]",
		.help = "Show what matters of a disk, or of all; with -v all of it",
		.options = status_options,
	},
	{
		.name = "stats",
		.run = cmd_stats,
		.synopsis = "[--json] [DEV] [INTERVAL [COUNT]]",
		.help = "Show what a disk, or each, has done, or does in each interval",
		.options = stats_options,
	},
	{
		.name = "top",
		.run = cmd_top,
		.synopsis = "[--interval S] [--count N] [--json]",
		.help = "Show what the disks are doing, again and again",
		.options = top_options,
	},
	{
		.name = "monitor",
		.run = cmd_monitor,
		.synopsis = "[--json] [DEV]",
		.help = "Print a line for each disk, and whenever one changes its state",
		.options = monitor_options,
	},
	{
		.name = "metrics",
		.run = cmd_metrics,
		.synopsis = "[--output FILE] [--format FORMAT]",
		.help = "Print the figures of the disks for a monitoring system",
		.options = metrics_options,
	},
	{
		.name = "target",
		.run = cmd_target,
		.synopsis = "[OPTION]... "
			    "list|show|sessions|metrics|add|remove|resize|reload|save|reopen|allow|kick|host [ARGUMENT]...",
		.help = "Look at and change what the daemon of this host exports, and to whom",
		.options = target_options,
	},
	{
		.name = "key",
		.run = cmd_key,
		.synopsis = "[OPTION]... new|check|load|list|unload [FILE|NAME]",
		.help = "Make keys for hosts and targets, check them, give them to the kernel",
		.options = key_options,
	},
	{
		.name = "discover",
		.run = cmd_discover,
		.synopsis = "[OPTION]... HOST[:PORT]",
		.help = "List the exports of a target that this host may use",
		.options = discover_options,
	},
	{
		.name = "ping",
		.run = cmd_ping,
		.synopsis = "[OPTION]... HOST[:PORT]",
		.help = "Measure and test messages, READ and WRITE on the path to a target",
		.options = ping_options,
	},
	{
		.name = "devices",
		.run = cmd_devices,
		.synopsis = "[OPTION]... [DEVICE]",
		.help = "Show the RDMA devices of this host: ports, addresses, MTU, limits",
		.options = devices_options,
	},
	{
		.name = "doctor",
		.run = cmd_doctor,
		.synopsis = "[OPTION]... [initiator|target]",
		.help = "Look for what keeps this host from working well, and say what mends it",
		.options = doctor_options,
	},
	{
		.name = "help",
		.run = cmd_help,
		.synopsis = "[COMMAND]",
		.help = "List the commands, or explain one",
		.options = help_options,
	},
};

static int print_help(void)
{
	size_t i;

	printf("Usage: rdmablk [COMMAND [ARGUMENT]...]\n\n"
	       "Disks over one-sided RDMA. Without a command: the status of all disks.\n\n"
	       "Commands:\n");
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		printf("  %-11s ", commands[i].name);
		opts_print_wrapped(commands[i].help, HELP_COLUMN, HELP_COLUMN);
	}
	printf("\nOptions:\n"
	       "  -h, --help     show this text and exit\n"
	       "  -V, --version  show the version and exit\n"
	       "\n'rdmablk help COMMAND' explains a command. See rdmablk(8).\n");
	return STATUS_DONE;
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

static int unknown(const char *word)
{
	struct near near;
	size_t i;

	near_begin(&near, word);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		near_try(&near, commands[i].name);
	return opts_unknown("usage", "unknown command", &near, "rdmablk --help");
}

/* An option before the command, where there are two; perhaps it is one of status. */
static int unknown_option(const char *word)
{
	const struct option_info *option;
	struct near near, of_status;

	near_begin(&near, word + strspn(word, "-"));
	of_status = near;
	near_try(&near, "help");
	near_try(&near, "version");
	for (option = status_options; option->name; option++)
		near_try(&of_status, option->name);
	if (!strncmp(word, "--", 2) && near.best)
		return report_usage("usage", "unknown option %s; did you mean --%s?", word,
				    near.best);
	if (!strncmp(word, "--", 2) && of_status.best)
		return report_usage("usage",
				    "unknown option %s; did you mean 'rdmablk status --%s'?", word,
				    of_status.best);
	return report_usage("usage", "unknown option %s; see 'rdmablk --help'", word);
}

static const struct command_info *find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static int set_nothing(void *context, int id, const char *value)
{
	(void)context;
	(void)id;
	(void)value;
	return 0;
}

static int cmd_help(const struct command_info *command, int argc, char **argv)
{
	char option[] = "--help", *words[] = { NULL, option, NULL };
	int ret = opts_parse(command, argc, argv, set_nothing, NULL);

	if (ret)
		return ret;
	words[0] = argv[optind];
	if (!words[0])
		return print_help();
	if (argv[optind + 1])
		return report_usage("help", "too many arguments: '%s'", argv[optind + 1]);
	command = find(words[0]);
	return command ? command->run(command, 2, words) : unknown(words[0]);
}

static int run(int argc, char **argv)
{
	const struct command_info *command;

	if (argc < 2)
		return cmd_status_overview();
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		opts_print_version();
		return STATUS_DONE;
	}
	if (argv[1][0] == '-')
		return unknown_option(argv[1]);
	command = find(argv[1]);
	return command ? command->run(command, argc - 1, argv + 1) : unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	report_json = wants_json(argc, argv);
	status = run(argc, argv);
	if (status == OPTS_FINISHED)
		status = STATUS_DONE;
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "rdmablk: standard output: %s\n", strerror(errno));
		status = STATUS_FAILED;
	}
	return status;
}
