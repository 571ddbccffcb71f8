// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk status: what matters of a disk, or of all disks, or all attributes. "rdmablk"
 * alone shows the former of all disks. A user other than root sees what sysfs has.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "device.h"
#include "output.h"
#include "report.h"
#include "sysfs.h"
#include "util.h"

const struct option_info status_options[] = {
	{ "verbose", 'v', 'v', NULL, "all attributes" },
	{ "json", 0, 'j', NULL, "print JSON, which has all attributes" },
	{ 0 }
};

static int set(void *context, int id, const char *value)
{
	bool *verbose = context;

	(void)value;
	if (id == 'j')
		report_json = true;
	else
		*verbose = true;
	return 0;
}

/* Fills @list with the device that @name says, or with all. */
static int gather(const char *name, __u32 index, const char *what, struct device_list *list,
		  struct nl_failure *failure)
{
	__cleanup(nl_closep) struct nl *nl = nl_open(failure);
	struct device device;
	char disk[24];
	int ret = -1;

	if (nl && !name)
		ret = device_dump(nl, list, failure);
	else if (nl)
		ret = device_get(nl, index, &device, failure) ?:
		      device_list_add(list, &device, failure);
	if (!ret || failure->err != EPERM)
		return ret;
	snprintf(disk, sizeof(disk), "rdmablk%u", index);
	ret = sysfs_gather(name ? disk : NULL, list, failure);
	if (!ret)
		sysfs_warn(what);
	return ret;
}

/* As output_json_devices(), with the users of each disk */
static void print_json(const struct device_list *list)
{
	struct json_object *array = json_object_new_array(), *object;
	char users[SYSFS_USERS];
	size_t i;

	for (i = 0; i < list->nr; i++) {
		object = output_json_device(&list->device[i]);
		sysfs_users(list->device[i].value[RDMABLK_ATTR_NAME].text, users);
		json_object_object_add(object, "used_by",
				       users[0] ? json_object_new_string(users) : NULL);
		json_object_array_add(array, object);
	}
	output_json_document(array);
}

static void print(const struct device_list *list, bool verbose)
{
	char users[SYSFS_USERS];
	size_t i;

	for (i = 0; i < list->nr; i++) {
		if (i)
			printf("\n");
		sysfs_users(list->device[i].value[RDMABLK_ATTR_NAME].text, users);
		if (verbose)
			output_block(&list->device[i], users);
		else
			output_brief(&list->device[i], users);
	}
}

/**
 * cmd_status_overview() - rdmablk without a command
 *
 * Returns an exit status.
 */
int cmd_status_overview(void)
{
	__cleanup(device_list_clear) struct device_list list = { 0 };
	struct nl_failure failure;

	if (gather(NULL, 0, "status", &list, &failure))
		return report_failure(failure.err, "status", "%s%s", failure.text,
				      failure.err == EUNATCH ?
				      "; 'rdmablk help' lists the commands" : "");
	print(&list, false);
	if (!list.nr)
		printf("no disks; 'rdmablk help' lists the commands\n");
	return STATUS_DONE;
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
	char what[DEVICE_WHAT_LEN];
	struct nl_failure failure;
	bool verbose = false;
	__u32 index = 0;
	int ret;

	ret = opts_parse(command, argc, argv, set, &verbose);
	if (!ret)
		ret = device_operand(command->name, argv + optind, &index, what);
	if (ret)
		return ret;
	if (gather(argv[optind], index, what, &list, &failure)) {
		sysfs_name_disks(&failure);
		return report_failure(failure.err, what, "%s", failure.text);
	}
	if (report_json)
		print_json(&list);
	else
		print(&list, verbose);
	return STATUS_DONE;
}
