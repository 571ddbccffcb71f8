// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk connect: asks the module for a disk and prints its path. A host name
 * may have several addresses; they are tried in turn. The path is printed only
 * when the node is there, so that a script can go on with mkfs or mount at once.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "connect.h"
#include "output.h"
#include "report.h"
#include "util.h"

enum {
	OPT_READ_ONLY = 1,
	OPT_STEAL,
	OPT_SOURCE,
	OPT_HOST_ID,
	OPT_IDEMPOTENT,
	OPT_JSON,
};

const struct option_info connect_options[] = {
	{ "read-only", 'r', OPT_READ_ONLY, NULL,
	  "do not ask for write access" },
	{ "steal", 0, OPT_STEAL, NULL,
	  "end another host's session that writes" },
	{ "queues", 0, SETTING_ID_QUEUES, "N",
	  "hardware queues, 1 to 256 (default: one per CPU)" },
	{ "queue-depth", 0, SETTING_ID_QUEUE_DEPTH, "N",
	  "requests in flight per queue, 1 to 1024 (128)" },
	SETTING_OPTION_KEEP_ALIVE_TMO,
	{ "connect-tmo", 0, SETTING_ID_CONNECT_TMO, "S",
	  "seconds for the whole connect, 1 to 600 (10)" },
	SETTING_OPTION_RECONNECT_DELAY,
	SETTING_OPTION_FAST_IO_FAIL_TMO,
	SETTING_OPTION_DEV_LOSS_TMO,
	SETTING_OPTION_ON_DATA_LOSS,
	{ "ack-timeout", 0, SETTING_ID_ACK_TIMEOUT, "N",
	  "RDMA retransmit timeout, 4.096 us * 2^N, 8 to 22 (16)" },
	{ "source", 0, OPT_SOURCE, "ADDR",
	  "address of this host to connect from" },
	{ "host-id", 0, OPT_HOST_ID, "UUID",
	  "identity of this host (/etc/rdmablk/host-id)" },
	{ "idempotent", 0, OPT_IDEMPOTENT, NULL,
	  "succeed if this host is connected to it already" },
	{ "json", 0, OPT_JSON, NULL,
	  "print JSON" },
	{ 0 }
};

static int set_source(struct connect_request *request, const char *value)
{
	char why[256];

	if (request->source)
		freeaddrinfo(request->source);
	request->source = addr_parse_source(value, why, sizeof(why));
	if (!request->source)
		return report_usage("connect: --source", "'%s': %s", value, why);
	return 0;
}

static int set_host_id(struct connect_request *request, const char *value)
{
	if (connect_set_host_id(request, value))
		return report_usage("connect: --host-id",
				    "'%s' is not a UUID other than the nil one",
				    value);
	return 0;
}

static int set(void *context, int id, const char *value)
{
	struct connect_request *request = context;

	switch (id) {
	case OPT_READ_ONLY:
		request->read_only = true;
		return 0;
	case OPT_STEAL:
		request->steal = true;
		return 0;
	case OPT_SOURCE:
		return set_source(request, value);
	case OPT_HOST_ID:
		return set_host_id(request, value);
	case OPT_IDEMPOTENT:
		request->idempotent = true;
		return 0;
	case OPT_JSON:
		report_json = true;
		return 0;
	default:
		return settings_set("connect", &request->settings, id, value);
	}
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
	if (request->read_only && request->steal)
		return report_usage("connect", "--read-only and --steal exclude each other");
	return settings_check("connect", &request->settings, true);
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

static int run(struct connect_request *request, const char *what)
{
	struct nl_failure failure = { 0 };
	struct device device;
	char path[DEVICE_PATH_LEN];

	if (connect_read_host_id(request, &failure))
		return report_failure(failure.err, CONNECT_HOST_ID_FILE, "%s",
				      failure.text);
	if (connect_run(request, &device, &failure))
		return report_failure(failure.err, what, "%s%s", failure.text,
				      failure.err == EROFS ?
				      " (--read-only connects to it)" : "");
	if (failure.text[0])
		report_warning(what, "%s", failure.text);
	if (connect_wait_for_node(&device, &failure)) {
		device_path(&device, path);
		return report_failure(failure.err, path, "%s", failure.text);
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
	if (!ret) {
		snprintf(what, sizeof(what), "connect %.380s", argv[optind]);
		ret = run(&request, what);
	}
	if (request.source)
		freeaddrinfo(request.source);
	return ret;
}
