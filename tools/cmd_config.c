// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmablk config: checks rdmablk.conf and lists the disks in it. */
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "config.h"
#include "report.h"
#include "util.h"

const struct option_info config_options[] = {
	CONFIG_OPTION_AUTO,
	CONFIG_OPTION_CONFIG,
	{ 0 }
};

static int set(void *context, int id, const char *value)
{
	config_set_option(context, id, value);
	return 0;
}

/**
 * cmd_config() - rdmablk config
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_config(const struct command_info *command, int argc, char **argv)
{
	__cleanup(config_clear) struct config config = { 0 };
	struct config_selection selection = { 0 };
	size_t i;
	int ret;

	ret = opts_parse(command, argc, argv, set, &selection);
	if (ret)
		return ret;
	if (argv[optind])
		return report_usage("config", "too many arguments: '%s'", argv[optind]);
	selection.all = !selection.automatic;
	ret = config_select("config", &selection, argv + optind, &config);
	for (i = 0; i < config.nr && !ret; i++)
		if (config.disk[i].selected)
			printf("%s %s\n", config.disk[i].name, config.disk[i].export);
	return ret;
}
