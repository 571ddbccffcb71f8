// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmablk list: the disks in a table, or as JSON. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "commands.h"
#include "device.h"
#include "output.h"
#include "report.h"
#include "sysfs.h"
#include "util.h"

const struct option_info list_options[] = {
	{ "json", 0, 'j', NULL, "print JSON" },
	{ "noheadings", 'n', 'n', NULL, "no line of headings" },
	{ "bytes", 'b', 'b', NULL, "sizes in bytes" },
	{ "output", 'o', 'o', "COLUMNS", "columns to print, with commas between them" },
	{ 0 }
};

struct list_args {
	const char *columns;
	bool noheadings;
	bool bytes;
};

static int set(void *context, int id, const char *value)
{
	struct list_args *args = context;

	switch (id) {
	case 'j':
		report_json = true;
		break;
	case 'n':
		args->noheadings = true;
		break;
	case 'b':
		args->bytes = true;
		break;
	case 'o':
		args->columns = value;
		break;
	}
	return 0;
}

static int check_args(const struct list_args *args,
		      struct output_columns *columns, const char *operand)
{
	const char *bad = output_parse_columns(args->columns, columns);
	char names[OUTPUT_COLUMN_NAMES];

	if (operand)
		return report_usage("list", "too many arguments: '%s'", operand);
	if (args->columns && report_json)
		return report_usage("list", "-o does not go with --json, which has every key");
	if (bad) {
		output_column_names(names, sizeof(names));
		return report_usage("list", "no column '%.*s'; there are %s",
				    (int)strcspn(bad, ","), bad, names);
	}
	return 0;
}

/* A user other than root sees what sysfs has, and a warning where that is not all. */
static int gather(struct device_list *list, const struct output_columns *columns,
		  struct nl_failure *failure)
{
	__cleanup(nl_closep) struct nl *nl = nl_open(failure);
	bool missing = report_json;
	int i;

	if (!nl)
		return -1;
	if (!device_dump(nl, list, failure))
		return 0;
	if (failure->err != EPERM || sysfs_gather(NULL, list, failure))
		return -1;
	for (i = 0; i < columns->nr; i++)
		missing |= !sysfs_knows(columns->id[i]);
	if (missing)
		sysfs_warn("list");
	return 0;
}

/**
 * cmd_list() - rdmablk list
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_list(const struct command_info *command, int argc, char **argv)
{
	__cleanup(device_list_clear) struct device_list list = { 0 };
	struct output_columns columns;
	struct nl_failure failure;
	struct list_args args = { 0 };
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (!ret)
		ret = check_args(&args, &columns, argv[optind]);
	if (ret)
		return ret;

	if (gather(&list, &columns, &failure))
		return report_failure(failure.err, "list", "%s", failure.text);
	if (report_json) {
		output_json_devices(&list);
		return STATUS_DONE;
	}
	if (output_table(&list, &columns, !args.noheadings, args.bytes))
		return report_failure(ENOMEM, "list", "%s", strerror(ENOMEM));
	return STATUS_DONE;
}
