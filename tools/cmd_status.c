// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmablk status: all attributes of a disk, or of all disks. */
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "device.h"
#include "output.h"
#include "report.h"
#include "sysfs.h"
#include "util.h"

const struct option_info status_options[] = {
	{ "json", 0, 'j', NULL, "print JSON" },
	{ 0 }
};

static int set(void *context, int id, const char *value)
{
	(void)context;
	(void)value;
	if (id == 'j')
		report_json = true;
	return 0;
}

/* Fills @list with the device that @name says, or with all. */
static int gather(struct nl *nl, const char *name, __u32 index,
		  struct device_list *list, struct nl_failure *failure)
{
	struct device device;

	if (!name)
		return device_dump(nl, list, failure);
	if (device_get(nl, index, &device, failure)) {
		sysfs_name_disks(failure);
		return -1;
	}
	return device_list_add(list, &device, failure);
}

/**
 * cmd_status() - rdmablk status
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_status(const struct command_info *command, int argc, char **argv)
{
	__cleanup(device_list_clear) struct device_list list = { 0 };
	__cleanup(nl_closep) struct nl *nl = NULL;
	char what[DEVICE_WHAT_LEN];
	struct nl_failure failure;
	const char *name;
	__u32 index = 0;
	size_t i;
	int ret;

	ret = opts_parse(command, argc, argv, set, NULL);
	if (!ret)
		ret = device_operand(command->name, argv + optind, &index, what);
	if (ret)
		return ret;
	name = argv[optind];

	nl = nl_open(&failure);
	if (!nl || gather(nl, name, index, &list, &failure))
		return report_failure(failure.err, what, "%s", failure.text);
	if (report_json) {
		output_json_devices(&list);
		return STATUS_DONE;
	}
	for (i = 0; i < list.nr; i++) {
		if (i)
			printf("\n");
		output_block(&list.device[i]);
	}
	return STATUS_DONE;
}
