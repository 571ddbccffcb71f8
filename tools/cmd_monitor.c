// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmablk monitor: a line for each change of a disk's state, until killed. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

/* Now, in UTC, as ISO 8601 with milliseconds. */
static void format_now(char *text, size_t size)
{
	struct timespec now;
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	len = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, size - len, ".%03ldZ", now.tv_nsec / 1000000);
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
	char now[40];

#define VALUE(attr) (value ? &value[RDMABLK_ATTR_##attr] : NULL)
	format_now(now, sizeof(now));
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
	char now[40];

	format_now(now, sizeof(now));
	printf("%s %s %s%s%s%s\n", now, device->value[RDMABLK_ATTR_NAME].text,
	       device->value[RDMABLK_ATTR_STATE].text,
	       reason->text[0] ? ": " : "", reason->text,
	       device->value[RDMABLK_ATTR_IO_FAILING].present ? " (I/O fails)" : "");
	fflush(stdout);
}

static int on_event(const struct nlmsghdr *nlh, void *context)
{
	struct device device;

	(void)context;
	if (device_decode(nlh, &device))
		return MNL_CB_OK;
	if (report_json)
		print_json("state", &device);
	else
		print_line(&device);
	return MNL_CB_OK;
}

static void print_lost(void)
{
	report_warning("monitor", "events came too fast, some are lost");
	if (report_json)
		print_json("lost", NULL);
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
	struct nl_failure failure;
	int ret;

	ret = opts_parse(command, argc, argv, set, NULL);
	if (ret)
		return ret;
	if (argv[optind])
		return report_usage("monitor", "too many arguments: '%s'",
				    argv[optind]);

	nl = nl_open(&failure);
	if (!nl || nl_subscribe(nl, &failure))
		return report_failure(failure.err, "monitor", "%s", failure.text);
	while (!ferror(stdout)) {
		if (!nl_next_event(nl, on_event, NULL, &failure))
			continue;
		if (failure.err == ENOBUFS)
			print_lost();
		else if (failure.err != EINTR)
			return report_failure(failure.err, "monitor", "%s",
					      failure.text);
	}
	return STATUS_FAILED;
}
