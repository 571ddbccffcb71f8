// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk monitor: a line for each disk, then one for each change of a disk's state, until
 * killed. It subscribes before it asks for the disks, so that it misses no change; a change
 * may appear in both.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "device.h"
#include "output.h"
#include "report.h"
#include "util.h"

const struct option_info monitor_options[] = {
	{ "json", 0, 'j', NULL, "print a JSON object a line" },
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

static struct json_object *json_text(const struct value *value)
{
	return value && value->text[0] ? json_object_new_string(value->text) : NULL;
}

static struct json_object *json_number(const struct value *value)
{
	return value && value->present ? json_object_new_uint64(value->number) : NULL;
}

/* @device is NULL when the event is not about a device. */
static void print_json(const char *event, const struct device *device)
{
	const struct value *value = device ? device->value : NULL;
	struct json_object *top = output_json_new();
	char now[OUTPUT_TIME_LEN];

#define VALUE(attr) (value ? &value[RDMABLK_ATTR_##attr] : NULL)
	output_now(now, sizeof(now));
	json_object_object_add(top, "time", json_object_new_string(now));
	json_object_object_add(top, "event", json_object_new_string(event));
	json_object_object_add(top, "index", json_number(VALUE(INDEX)));
	json_object_object_add(top, "name", json_text(VALUE(NAME)));
	json_object_object_add(top, "state", json_text(VALUE(STATE)));
	json_object_object_add(top, "reason", json_number(VALUE(REASON)));
	json_object_object_add(top, "reason_text", json_text(VALUE(REASON)));
	json_object_object_add(top, "io_failing", value ?
			       json_object_new_boolean(VALUE(IO_FAILING)->present) :
			       NULL);
#undef VALUE
	output_json_line(top);
}

static void print_line(const struct device *device)
{
	const struct value *reason = &device->value[RDMABLK_ATTR_REASON];
	char now[OUTPUT_TIME_LEN];

	output_now(now, sizeof(now));
	printf("%s %s %s%s%s%s\n", now, device->value[RDMABLK_ATTR_NAME].text,
	       device->value[RDMABLK_ATTR_STATE].text,
	       reason->text[0] ? ": " : "", reason->text,
	       device->value[RDMABLK_ATTR_IO_FAILING].present ? " (I/O fails)" : "");
	fflush(stdout);
}

/**
 * struct which - the disks that are watched
 * @all: all of them
 * @index: N of rdmablkN, if not
 */
struct which {
	bool all;
	__u32 index;
};

static void print(const char *event, const struct which *which, const struct device *device)
{
	if (!which->all && device->value[RDMABLK_ATTR_INDEX].number != which->index)
		return;
	if (report_json)
		print_json(event, device);
	else
		print_line(device);
}

static int on_event(const struct nlmsghdr *nlh, void *context)
{
	struct device device;

	if (!device_decode(nlh, &device))
		print("state", context, &device);
	return MNL_CB_OK;
}

/* Asks over another connection, so that events that come meanwhile stay in this one. */
static int print_disks(const struct which *which, struct nl_failure *failure)
{
	__cleanup(device_list_clear) struct device_list list = { 0 };
	__cleanup(nl_closep) struct nl *nl = nl_open(failure);
	size_t i;

	/* Where the kernel lets anybody watch, still only root may ask. */
	if (!nl || device_dump(nl, &list, failure))
		return failure->err == EPERM ? 0 : -1;
	for (i = 0; i < list.nr; i++)
		print("present", which, &list.device[i]);
	return 0;
}

/* After lost events: prints the disks as they are now. */
static int print_lost(const struct which *which, struct nl_failure *failure)
{
	report_warning("monitor", "events came too fast, some are lost");
	if (report_json)
		print_json("lost", NULL);
	return print_disks(which, failure);
}

/* Return: whether it ends, because of a failure */
static bool next(struct nl *nl, struct which *which, struct nl_failure *failure)
{
	if (!nl_next_event(nl, on_event, which, failure) || failure->err == EINTR)
		return false;
	return failure->err != ENOBUFS || print_lost(which, failure);
}

/**
 * cmd_monitor() - rdmablk monitor
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_monitor(const struct command_info *command, int argc, char **argv)
{
	__cleanup(nl_closep) struct nl *nl = NULL;
	char what[DEVICE_WHAT_LEN];
	struct nl_failure failure;
	struct which which = { 0 };
	int ret;

	ret = opts_parse(command, argc, argv, set, NULL);
	if (!ret)
		ret = device_operand(command->name, argv + optind, &which.index, what);
	if (ret)
		return ret;
	which.all = !argv[optind];

	nl = nl_open(&failure);
	if (!nl || nl_subscribe(nl, &failure) || print_disks(&which, &failure))
		return report_failure(failure.err, what, "%s", failure.text);
	while (!ferror(stdout))
		if (next(nl, &which, &failure))
			return report_failure(failure.err, what, "%s", failure.text);
	return STATUS_FAILED;
}
