// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk down: disconnects disks of rdmablk.conf. A disk that is not connected is down
 * already. A disk that has just been unmounted may be open for a moment longer, while
 * udev probes its contents.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <time.h>

#include "commands.h"
#include "config.h"
#include "disconnect.h"
#include "report.h"
#include "util.h"

#define PAUSE_NS	100000000	/* between two tries to remove a busy disk */

static const struct opts_origin origin = { "down", "--" };

const struct option_info down_options[] = {
	CONFIG_OPTION_ALL,
	CONFIG_OPTION_AUTO,
	CONFIG_OPTION_CONFIG,
	{ "force", 'f', 'f', NULL, "even if the disk is open or mounted" },
	{ "wait", 'w', 'w', "S",
	  "seconds to wait for a disk in use, 0 to 86400 (0)" },
	{ 0 }
};

struct down_args {
	struct config_selection selection;
	bool force;
	__u32 wait;
};

static int set(void *context, int id, const char *value)
{
	struct down_args *args = context;

	if (config_set_option(&args->selection, id, value))
		return 0;
	if (id == 'w')
		return opts_number(&origin, "wait", value, 0, CONFIG_MAX_WAIT,
				   " seconds", &args->wait);
	args->force = true;
	return 0;
}

static int disconnect(struct nl *nl, const struct disk_config *disk,
		      const struct down_args *args, struct nl_failure *failure)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	__s64 deadline = nl_deadline(args->wait);
	struct device device;
	int ret;

	for (;;) {
		ret = connect_find(nl, &disk->request, &device, failure);
		if (ret <= 0)
			return ret;
		ret = disconnect_run(nl, device.value[RDMABLK_ATTR_INDEX].number,
				     args->force, failure);
		if (!ret || failure->err != EBUSY || nl_deadline(0) >= deadline)
			return ret;
		nanosleep(&pause, NULL);
	}
}

static int down_one(struct nl *nl, const struct disk_config *disk,
		    const struct down_args *args, struct nl_failure *failure)
{
	char what[128];

	snprintf(what, sizeof(what), "down %s", disk->name);
	/* ENODEV: somebody else has removed the disk meanwhile. */
	if (disconnect(nl, disk, args, failure) && failure->err != ENODEV)
		return report_failure(failure->err, what, "%s%s", failure->text,
				      failure->err == EBUSY && !args->force ?
				      " (--force removes it anyway)" : "");
	return STATUS_DONE;
}

static int run(const struct config *config, const struct down_args *args)
{
	__cleanup(nl_closep) struct nl *nl = NULL;
	int status = STATUS_DONE, one;
	struct nl_failure failure;
	size_t i;

	nl = nl_open(&failure);
	/* Without the module there are no disks. */
	if (!nl && failure.err == EUNATCH)
		return STATUS_DONE;
	if (!nl)
		return report_failure(failure.err, "down", "%s", failure.text);
	for (i = 0; i < config->nr; i++) {
		if (!config->disk[i].selected)
			continue;
		one = down_one(nl, &config->disk[i], args, &failure);
		status = report_both(status, one);
		if (one && nl_is_final(failure.err))
			break;
	}
	return status;
}

/**
 * cmd_down() - rdmablk down
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_down(const struct command_info *command, int argc, char **argv)
{
	__cleanup(config_clear) struct config config = { 0 };
	struct down_args args = { 0 };
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (!ret)
		ret = config_select("down", &args.selection, argv + optind, &config);
	return ret ? ret : run(&config, &args);
}
