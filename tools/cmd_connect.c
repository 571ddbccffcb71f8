// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk connect: asks the module for a disk and prints its path. A host name
 * may have several addresses; they are tried in turn. The path is printed only
 * when the node is there, so that a script can go on with mkfs or mount at once.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "connect.h"
#include "output.h"
#include "report.h"
#include "util.h"
#include "visit_names.h"

static const struct opts_origin origin = { "connect", "--" };

static int set(void *context, int id, const char *value)
{
	if (id != CONNECT_OPTION_JSON)
		return connect_set_option(&origin, context, id, value);
	report_json = true;
	return 0;
}

static int parse_operand(char **argv, struct connect_request *request)
{
	char what[320], why[256];

	if (!argv[optind])
		return report_usage("connect", "HOST[:PORT]/NAME is missing");
	if (argv[optind + 1])
		return report_usage("connect", "too many arguments: '%s'",
				    argv[optind + 1]);
	if (addr_parse_export(argv[optind], &request->where, why, sizeof(why))) {
		snprintf(what, sizeof(what), "connect %.300s", argv[optind]);
		return report_usage(what, "%s", why);
	}
	return connect_check_options(&origin, request);
}

static void print_result(const struct device *device)
{
	char path[DEVICE_PATH_LEN];
	struct json_object *top;

	device_path(device, path);
	if (!report_json) {
		puts(path);
		return;
	}
	top = output_json_new();
	json_object_object_add(top, "index",
			       json_object_new_uint64(device->value[RDMABLK_ATTR_INDEX].number));
	json_object_object_add(top, "name",
			       json_object_new_string(device->value[RDMABLK_ATTR_NAME].text));
	json_object_object_add(top, "path", json_object_new_string(path));
	output_json_line(top);
}

/* Return: a hint for the error message. @err: of the connect; @names: room for export names */
static const char *hint(const struct connect_request *request, int err,
			char names[VISIT_NAMES_TEXT])
{
	switch (err) {
	case EROFS:
		return " (--read-only connects to it)";
	case ENOENT:
		visit_names(request, names);
		return names[0] ? names : " (rdmablk discover HOST lists them)";
	case EBUSY:
		/* A target with keys ignores the option of a host that has no right to it. */
		return request->steal && request->key[0] ?
		       " (--steal needs rw+steal in the target's allow)" : "";
	default:
		return "";
	}
}

static int run(struct connect_request *request, const char *what)
{
	struct nl_failure failure = { 0 };
	struct device device;
	char path[DEVICE_PATH_LEN], names[VISIT_NAMES_TEXT];

	if (connect_read_host_id(request, &failure))
		return report_failure(failure.err, what, "%s", failure.text);
	if (connect_run(request, &device, &failure) &&
	    connect_existing(request, &device, &failure))
		return report_peer_failure(failure.err, what, "%s%s", failure.text,
					   hint(request, failure.err, names));
	if (failure.text[0])
		report_warning(what, "%s", failure.text);
	if (connect_wait_for_node(&device, &failure)) {
		device_path(&device, path);
		return report_no_node(failure.err, path, "%s", failure.text);
	}
	print_result(&device);
	return STATUS_DONE;
}

/**
 * cmd_connect() - rdmablk connect
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_connect(const struct command_info *command, int argc, char **argv)
{
	struct connect_request request = { 0 };
	char what[400];
	int ret;

	ret = opts_parse(command, argc, argv, set, &request);
	if (!ret)
		ret = parse_operand(argv, &request);
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "connect %.380s", argv[optind]);
	return run(&request, what);
}
