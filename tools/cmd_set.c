// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmablk set: changes options of a disk in use, at once, also during an outage. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "connect.h"
#include "keyring.h"
#include "report.h"
#include "settings.h"
#include "sysfs.h"
#include "util.h"

const struct option_info set_options[] = {
	SETTING_OPTION_KEEP_ALIVE_TMO,
	SETTING_OPTION_RECONNECT_DELAY,
	SETTING_OPTION_FAST_IO_FAIL_TMO,
	SETTING_OPTION_DEV_LOSS_TMO,
	SETTING_OPTION_IO_TMO,
	SETTING_OPTION_ON_DATA_LOSS,
	SETTING_OPTION_KEY('k'),
	SETTING_OPTION_REAUTH_TMO,
	{ "timed", 0, SETTING_ID_TIMED, "yes|no",
	  "measure how long requests take (off)" },
	{ 0 }
};

static const struct opts_origin origin = { "set", "--" };

static const struct errno_text texts[] = {
	{ ENODEV, "no such device" },
	{ EINVAL, "the kernel refuses an argument" },
	{ EKEYREVOKED, "the key is revoked" },
	{ EKEYEXPIRED, "the key has expired" },
	{ 0, NULL }
};

/**
 * struct set_args - the changes
 * @settings: numbers
 * @key: name of the key for the next login, or NULL
 */
struct set_args {
	struct settings settings;
	const char *key;
};

static int set(void *context, int id, const char *value)
{
	struct set_args *args = context;

	if (id != 'k')
		return settings_set(&origin, &args->settings, id, value);
	args->key = value;
	return opts_key_name(&origin, "key", value);
}

static bool is_empty(const struct set_args *args)
{
	unsigned int attr;

	for (attr = 0; attr <= RDMABLK_ATTR_MAX; attr++)
		if (args->settings.given[attr])
			return false;
	return !args->key;
}

static int parse_operand(char **argv, const struct set_args *args, __u32 *index)
{
	const char *name = argv[optind];
	char what[128];
	int ret;

	if (!name)
		return report_usage("set", "DEV is missing");
	if (argv[optind + 1])
		return report_usage("set", "too many arguments: '%s'",
				    argv[optind + 1]);
	snprintf(what, sizeof(what), "set %.100s", name);
	ret = device_name(what, name, index);
	if (ret)
		return ret;
	if (is_empty(args))
		return report_usage(what, "no option is given; see 'rdmablk set --help'");
	return settings_check(&origin, &args->settings, false);
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
	struct set_args args = { 0 };
	struct nl_failure failure;
	struct nlmsghdr *nlh;
	__u32 index = 0;
	char what[64];
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (!ret)
		ret = parse_operand(argv, &args, &index);
	if (ret)
		return ret;

	snprintf(what, sizeof(what), "set rdmablk%u", index);
	nl = nl_open(&failure);
	if (!nl)
		return report_failure(failure.err, what, "%s", failure.text);
	nlh = nl_request(nl, RDMABLK_CMD_SET, 0);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, index);
	settings_put(nlh, &args.settings);
	if (args.key) {
		keyring_open();
		mnl_attr_put_strz(nlh, RDMABLK_ATTR_KEY, args.key);
	}
	if (nl_run(nl, NULL, NULL, texts, &failure)) {
		connect_name_key(args.key, &failure);
		sysfs_name_disks(&failure);
		return report_failure(failure.err, what, "%s", failure.text);
	}
	return STATUS_DONE;
}
