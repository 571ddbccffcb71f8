// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmablk disconnect: removes a disk, or all; a disk in use only by force. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "device.h"
#include "disconnect.h"
#include "report.h"
#include "sysfs.h"
#include "util.h"

const struct option_info disconnect_options[] = {
	{ "force", 'f', 'f', NULL, "even if the disk is open or mounted" },
	{ "all", 'a', 'a', NULL, "all disks" },
	{ 0 }
};

struct disconnect_args {
	bool force;
	bool all;
};

static int set(void *context, int id, const char *value)
{
	struct disconnect_args *args = context;

	(void)value;
	if (id == 'f')
		args->force = true;
	else
		args->all = true;
	return 0;
}

static int disconnect_one(struct nl *nl, __u32 index, bool force,
			  struct nl_failure *failure)
{
	char what[64];

	snprintf(what, sizeof(what), "disconnect rdmablk%u", index);
	if (disconnect_run(nl, index, force, failure)) {
		sysfs_name_disks(failure);
		return report_failure(failure->err, what, "%s%s", failure->text,
				      failure->err == EBUSY && !force ?
				      " (--force removes it anyway)" : "");
	}
	if (failure->text[0])
		report_warning(what, "%s", failure->text);
	return STATUS_DONE;
}

/* Removes each disk that can be removed; an error with one does not stop the others. */
static int disconnect_all(struct nl *nl, bool force)
{
	__cleanup(device_list_clear) struct device_list list = { 0 };
	struct nl_failure failure;
	int status = STATUS_DONE;
	size_t i;
	int one;

	if (device_dump(nl, &list, &failure))
		return report_failure(failure.err, "disconnect --all", "%s",
				      failure.text);
	for (i = 0; i < list.nr; i++) {
		one = disconnect_one(nl, list.device[i].value[RDMABLK_ATTR_INDEX].number,
				     force, &failure);
		status = report_both(status, one);
		if (one && nl_is_final(failure.err))
			break;
	}
	return status;
}

/**
 * cmd_disconnect() - rdmablk disconnect
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_disconnect(const struct command_info *command, int argc, char **argv)
{
	__cleanup(nl_closep) struct nl *nl = NULL;
	struct disconnect_args args = { 0 };
	char what[128];
	struct nl_failure failure;
	__u32 index = 0;
	const char *name;
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (ret)
		return ret;
	name = argv[optind];
	if (!name == !args.all)
		return report_usage("disconnect", "%s", name ?
				    "a disk and --all exclude each other" :
				    "DEV or --all is missing");
	if (name && argv[optind + 1])
		return report_usage("disconnect", "too many arguments: '%s'",
				    argv[optind + 1]);
	snprintf(what, sizeof(what), "disconnect %.100s", name ? name : "--all");
	ret = name ? device_name(what, name, &index) : 0;
	if (ret)
		return ret;

	nl = nl_open(&failure);
	if (!nl)
		return report_failure(failure.err, what, "%s", failure.text);
	return args.all ? disconnect_all(nl, args.force) :
			  disconnect_one(nl, index, args.force, &failure);
}
