// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk shutdown: runs before the host unmounts its file systems. A disk whose target
 * is lost may hold its I/O for ever, and unmounting would wait as long. This command
 * limits the time after which such I/O fails. Disks with a shorter limit keep theirs;
 * disks whose target is there notice nothing.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "device.h"
#include "opts.h"
#include "report.h"
#include "util.h"

#define WAIT	30	/* seconds, the default of --wait */
#define MAX_WAIT	86400

static const struct opts_origin origin = { "shutdown", "--" };

const struct option_info shutdown_options[] = {
	{ "wait", 'w', 'w', "S",
	  "seconds that a lost target is waited for, 0 to 86400 (30)" },
	{ 0 }
};

static const struct errno_text texts[] = {
	{ ENODEV, "no such device" },
	{ 0, NULL }
};

static int set(void *context, int id, const char *value)
{
	(void)id;
	return opts_number(&origin, "wait", value, 0, MAX_WAIT, " seconds", context);
}

/* Does the disk's I/O fail within @wait seconds anyway? */
static bool is_early(const struct device *device, enum rdmablk_attr attr, __u32 wait)
{
	const struct value *value = &device->value[attr];

	return value->present && (__s64)value->number >= 0 && value->number <= wait;
}

static int limit(struct nl *nl, const struct device *device, __u32 wait)
{
	const char *name = device->value[RDMABLK_ATTR_NAME].text;
	struct nl_failure failure;
	struct nlmsghdr *nlh;
	char what[64];

	if (is_early(device, RDMABLK_ATTR_FAST_IO_FAIL_TMO, wait) ||
	    is_early(device, RDMABLK_ATTR_DEV_LOSS_TMO, wait))
		return STATUS_DONE;
	nlh = nl_request(nl, RDMABLK_CMD_SET, 0);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX,
			 device->value[RDMABLK_ATTR_INDEX].number);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_FAST_IO_FAIL_TMO, wait);
	/* A disk that is gone, or being removed, delays nothing. */
	if (!nl_run(nl, NULL, NULL, texts, &failure) || failure.err == ENODEV)
		return STATUS_DONE;
	snprintf(what, sizeof(what), "shutdown %.32s", name);
	return report_failure(failure.err, what, "%s", failure.text);
}

static int run(__u32 wait)
{
	__cleanup(device_list_clear) struct device_list list = { 0 };
	__cleanup(nl_closep) struct nl *nl = NULL;
	struct nl_failure failure;
	int status = STATUS_DONE;
	size_t i;

	nl = nl_open(&failure);
	/* Without the module there are no disks. */
	if (!nl && failure.err == EUNATCH)
		return STATUS_DONE;
	if (!nl || device_dump(nl, &list, &failure))
		return report_failure(failure.err, "shutdown", "%s", failure.text);
	for (i = 0; i < list.nr; i++)
		status = report_both(status, limit(nl, &list.device[i], wait));
	return status;
}

/**
 * cmd_shutdown() - rdmablk shutdown
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_shutdown(const struct command_info *command, int argc, char **argv)
{
	__u32 wait = WAIT;
	int ret;

	ret = opts_parse(command, argc, argv, set, &wait);
	if (ret)
		return ret;
	if (argv[optind])
		return report_usage("shutdown", "too many arguments: '%s'",
				    argv[optind]);
	return run(wait);
}
