// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmablk set: changes options of a disk in use, at once, also during an outage. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "device.h"
#include "report.h"
#include "settings.h"
#include "util.h"

const struct option_info set_options[] = {
	SETTING_OPTION_KEEP_ALIVE_TMO,
	SETTING_OPTION_RECONNECT_DELAY,
	SETTING_OPTION_FAST_IO_FAIL_TMO,
	SETTING_OPTION_DEV_LOSS_TMO,
	SETTING_OPTION_IO_TMO,
	SETTING_OPTION_ON_DATA_LOSS,
	{ "timed", 0, SETTING_ID_TIMED, "on|off",
	  "measure how long requests take (off)" },
	{ 0 }
};

static const struct opts_origin origin = { "set", "--" };

static const struct errno_text texts[] = {
	{ ENODEV, "no such device" },
	{ EINVAL, "the kernel refuses an argument" },
	{ 0, NULL }
};

static int set(void *context, int id, const char *value)
{
	return settings_set(&origin, context, id, value);
}

static bool is_empty(const struct settings *settings)
{
	unsigned int attr;

	for (attr = 0; attr <= RDMABLK_ATTR_MAX; attr++)
		if (settings->given[attr])
			return false;
	return true;
}

static int parse_operand(char **argv, const struct settings *settings, __u32 *index)
{
	const char *name = argv[optind];
	char what[128], why[128];

	if (!name)
		return report_usage("set", "DEV is missing");
	if (argv[optind + 1])
		return report_usage("set", "too many arguments: '%s'",
				    argv[optind + 1]);
	snprintf(what, sizeof(what), "set %.100s", name);
	if (device_parse_name(name, index, why, sizeof(why)))
		return report_usage(what, "%s", why);
	if (is_empty(settings))
		return report_usage(what, "no option is given; see 'rdmablk set --help'");
	return settings_check(&origin, settings, false);
}

/**
 * cmd_set() - rdmablk set
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_set(const struct command_info *command, int argc, char **argv)
{
	__cleanup(nl_closep) struct nl *nl = NULL;
	struct settings settings = { 0 };
	struct nl_failure failure;
	struct nlmsghdr *nlh;
	__u32 index = 0;
	char what[64];
	int ret;

	ret = opts_parse(command, argc, argv, set, &settings);
	if (!ret)
		ret = parse_operand(argv, &settings, &index);
	if (ret)
		return ret;

	snprintf(what, sizeof(what), "set rdmablk%u", index);
	nl = nl_open(&failure);
	if (!nl)
		return report_failure(failure.err, what, "%s", failure.text);
	nlh = nl_request(nl, RDMABLK_CMD_SET, 0);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, index);
	settings_put(nlh, &settings);
	if (nl_run(nl, NULL, NULL, texts, &failure))
		return report_failure(failure.err, what, "%s", failure.text);
	return STATUS_DONE;
}
