// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk reconnect: makes a disk try now, restart from "failed", or replace a live
 * connection by a new one.
 *
 * The module does not wait for the result, so --wait follows the events. Events from
 * before the acknowledgment are ignored; the state is asked for after it. A live disk
 * stays "live" for a moment after the request: only a new session proves the reconnect.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "device.h"
#include "rdmablk_proto.h"
#include "report.h"
#include "sysfs.h"
#include "util.h"

#define MAX_WAIT	86400

const struct option_info reconnect_options[] = {
	{ "accept-data-loss", 0, 'a', NULL,
	  "go on although the store has lost its contents" },
	{ "wait", 'w', 'w', "S", "wait until the disk is live, 1 to 86400 seconds" },
	{ 0 }
};

struct reconnect_args {
	bool accept;
	__u32 wait;	/* seconds; 0: do not */
};

static const struct opts_origin origin = { "reconnect", "--" };

static const struct errno_text texts[] = {
	{ ENODEV, "no such device" },
	{ EALREADY, "somebody is disconnecting it" },
	{ EAGAIN, "it is still connecting" },
	{ ENODATA, "the store has lost its contents" },
	{ 0, NULL }
};

/* The state of --wait. */
struct watch {
	struct nl *events;
	struct nl *nl;		/* for questions */
	__u32 index;
	struct device before;
	struct device now;
};

static int set(void *context, int id, const char *value)
{
	struct reconnect_args *args = context;

	if (id == 'w')
		return opts_number(&origin, "wait", value, 1, MAX_WAIT, " seconds",
				   &args->wait);
	args->accept = true;
	return 0;
}

static int request(struct nl *nl, __u32 index, bool accept,
		   struct nl_failure *failure)
{
	struct nlmsghdr *nlh = nl_request(nl, RDMABLK_CMD_RECONNECT, 0);

	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, index);
	if (accept)
		mnl_attr_put(nlh, RDMABLK_ATTR_ACCEPT_DATA_LOSS, 0, NULL);
	return nl_run(nl, NULL, NULL, texts, failure);
}

static bool has_state(const struct device *device, enum rdmablk_dev_state state)
{
	const struct value *value = &device->value[RDMABLK_ATTR_STATE];

	return value->present && value->number == state;
}

static bool differs(const struct watch *watch, enum rdmablk_attr attr)
{
	return watch->before.value[attr].number != watch->now.value[attr].number;
}

/* Is the disk live with a session that is newer than the request? */
static bool is_back(const struct watch *watch)
{
	return has_state(&watch->now, RDMABLK_DEV_LIVE) &&
	       (!has_state(&watch->before, RDMABLK_DEV_LIVE) ||
		differs(watch, RDMABLK_ATTR_SESSION_ID) ||
		differs(watch, RDMABLK_ATTR_RECONNECTS));
}

static int on_event(const struct nlmsghdr *nlh, void *context)
{
	struct watch *watch = context;
	struct device device;

	if (!device_decode(nlh, &device) &&
	    device.value[RDMABLK_ATTR_INDEX].number == watch->index)
		watch->now = device;
	return MNL_CB_OK;
}

/* The time is over. Returns 0 if the disk has come back all the same. */
static int give_up(struct watch *watch, __u32 seconds, struct nl_failure *failure)
{
	const struct value *value = watch->now.value;
	const char *why = value[RDMABLK_ATTR_LAST_ERROR].text;

	if (device_get(watch->nl, watch->index, &watch->now, failure))
		return -1;
	if (is_back(watch))
		return 0;
	if (!why[0])
		why = value[RDMABLK_ATTR_REASON].text;
	failure->err = ETIMEDOUT;
	snprintf(failure->text, sizeof(failure->text), "still %.16s after %u s%s%.150s",
		 value[RDMABLK_ATTR_STATE].text, seconds, why[0] ? ": " : "", why);
	return -1;
}

/* Judges an event; 1: keep waiting. */
static int judge(const struct watch *watch, struct nl_failure *failure)
{
	const struct value *value = watch->now.value;

	if (has_state(&watch->now, RDMABLK_DEV_LIVE))
		return 0;
	if (!has_state(&watch->now, RDMABLK_DEV_FAILED) &&
	    !has_state(&watch->now, RDMABLK_DEV_DELETING))
		return 1;
	failure->err = value[RDMABLK_ATTR_REASON].number == RDMABLK_R_DATA_LOST ?
		       ENODATA : ENOLINK;
	snprintf(failure->text, sizeof(failure->text), "the disk is %.16s%s%.150s",
		 value[RDMABLK_ATTR_STATE].text,
		 value[RDMABLK_ATTR_REASON].text[0] ? ": " : "",
		 value[RDMABLK_ATTR_REASON].text);
	return -1;
}

/* Asks for the state after the acknowledgment, and after events were lost. */
static int follow(struct watch *watch, __u32 seconds, struct nl_failure *failure)
{
	__s64 deadline = nl_deadline(seconds);
	bool ask = true;
	int ret;

	do {
		if (ask && device_get(watch->nl, watch->index, &watch->now, failure))
			return -1;
		if (ask && is_back(watch))
			return 0;
		ret = nl_wait(watch->events, deadline, failure);
		if (!ret)
			return give_up(watch, seconds, failure);
		if (ret < 0)
			return -1;
		watch->now.value[RDMABLK_ATTR_STATE].present = false;
		ask = nl_next_event(watch->events, on_event, watch, failure);
		if (ask && failure->err != ENOBUFS)
			return -1;
		ret = ask ? 1 : judge(watch, failure);
	} while (ret > 0);
	return ret;
}

static int reconnect_and_wait(struct watch *watch, const struct reconnect_args *args,
			      struct nl_failure *failure)
{
	watch->events = nl_open(failure);
	if (!watch->events || nl_subscribe(watch->events, failure) ||
	    device_get(watch->nl, watch->index, &watch->before, failure))
		return -1;
	nl_hold_signals(watch->events);
	if (request(watch->events, watch->index, args->accept, failure))
		return -1;
	return follow(watch, args->wait, failure);
}

static int run(const struct reconnect_args *args, __u32 index)
{
	struct watch watch = { .index = index };
	struct nl_failure failure;
	char what[64];
	int ret = -1;

	snprintf(what, sizeof(what), "reconnect rdmablk%u", index);
	watch.nl = nl_open(&failure);
	if (watch.nl && args->wait)
		ret = reconnect_and_wait(&watch, args, &failure);
	else if (watch.nl)
		ret = request(watch.nl, index, args->accept, &failure);
	nl_close(watch.events);
	nl_close(watch.nl);
	if (!ret)
		return STATUS_DONE;
	sysfs_name_disks(&failure);
	return report_failure(failure.err, what, "%s%s", failure.text,
			      failure.err == EINTR ?
			      "; the kernel goes on with it" :
			      failure.err == ENODATA ?
			      " (--accept-data-loss goes on without them)" : "");
}

/**
 * cmd_reconnect() - rdmablk reconnect
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_reconnect(const struct command_info *command, int argc, char **argv)
{
	struct reconnect_args args = { 0 };
	char what[128];
	const char *name;
	__u32 index = 0;
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (ret)
		return ret;
	name = argv[optind];
	if (!name)
		return report_usage("reconnect", "DEV is missing");
	if (argv[optind + 1])
		return report_usage("reconnect", "too many arguments: '%s'",
				    argv[optind + 1]);
	snprintf(what, sizeof(what), "reconnect %.100s", name);
	ret = device_name(what, name, &index);
	return ret ? ret : run(&args, index);
}
