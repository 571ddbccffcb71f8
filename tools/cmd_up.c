// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk up: connects disks of rdmablk.conf. At boot the target, the route to it, the
 * RDMA device or the name service may become ready after this program starts. Errors that
 * may pass are therefore tried again for a while; all disks take turns.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adjust.h"
#include "commands.h"
#include "config.h"
#include "keyring.h"
#include "report.h"
#include "util.h"
#include "visit_names.h"

#define PAUSE_S	1	/* between two rounds */

static const struct opts_origin origin = { "up", "--" };

const struct option_info up_options[] = {
	CONFIG_OPTION_ALL,
	CONFIG_OPTION_AUTO,
	CONFIG_OPTION_CONFIG,
	{ "wait", 'w', 'w', "S",
	  "seconds to try, 0 to 86400 (the file's; 60)" },
	{ 0 }
};

struct up_args {
	struct config_selection selection;
	bool has_wait;
	__u32 wait;
};

/**
 * struct attempt - the attempts to connect one disk
 * @disk: its section
 * @what: for messages
 * @wait: seconds to try
 * @deadline: the end of that, which begins with the first try: those of other disks come first,
 *	and may take long; 0: before the first try
 * @over: there is no further try
 * @last: another disk would fail in the same way
 * @said: the last warning
 */
struct attempt {
	const struct disk_config *disk;
	char what[128];
	__u32 wait;
	__s64 deadline;
	bool over;
	bool last;
	char said[256];
};

static int set(void *context, int id, const char *value)
{
	struct up_args *args = context;

	if (config_set_option(&args->selection, id, value))
		return 0;
	args->has_wait = true;
	return opts_number(&origin, "wait", value, 0, CONFIG_MAX_WAIT, " seconds",
			   &args->wait);
}

/*
 * Will the error be the same in a second? EPROTO may pass: a data queue gets it, too, when
 * the daemon was restarted after the login. ENOENT may pass: the target, or its
 * administrator, may be about to add the export. ENOKEY may pass: another service may be about
 * to load the key, unless the section names none.
 */
static bool is_final(int err, const char *key, const struct device *device)
{
	const struct value *state = &device->value[RDMABLK_ATTR_STATE];

	switch (err) {
	case EPERM:
	case EINVAL:
	case ERANGE:
	case EINTR:
	case EROFS:
	case EACCES:
	case EPROTONOSUPPORT:
	case EOPNOTSUPP:
	case EAFNOSUPPORT:
	case ECANCELED:
	case EUNATCH:
	case ETIME:
	case EBADMSG:
	case EFBIG:
		return true;
	case ENOKEY:
		return !*key;
	case EEXIST:
		/* A disk that reconnects may still become live, or be replaced by another one. */
		return !state->present || state->number == RDMABLK_DEV_LIVE ||
		       state->number == RDMABLK_DEV_FAILED;
	default:
		return false;
	}
}

static int finish(struct attempt *attempt, const struct device *device,
		  struct nl_failure *failure)
{
	char path[DEVICE_PATH_LEN];

	attempt->over = true;
	if (failure->text[0])
		report_warning(attempt->what, "%s", failure->text);
	if (adjust_disk(device, &attempt->disk->request.settings, failure))
		report_warning(attempt->what, "its options are not changed: %s", failure->text);
	device_path(device, path);
	if (connect_wait_for_node(device, failure))
		return report_no_node(failure->err, path, "%s", failure->text);
	puts(path);
	fflush(stdout);
	return STATUS_DONE;
}

/*
 * Return: a hint for the error message, when there is no further try. @request: with the identity
 * of this host; @names: room for export names
 */
static const char *hint(const struct connect_request *request, int err,
			char names[VISIT_NAMES_TEXT])
{
	switch (err) {
	case EROFS:
		return " (read-only = yes connects to it)";
	case ENOENT:
		visit_names(request, names);
		return names;
	default:
		return "";
	}
}

/* Warns about a failed try, but does not repeat the same text. */
static void say(struct attempt *attempt, const char *text)
{
	if (!strcmp(attempt->said, text))
		return;
	snprintf(attempt->said, sizeof(attempt->said), "%s", text);
	report_warning(attempt->what, "%s; trying again", text);
}

/*
 * Connects. If the kernel lacks the key, loads it from its file, because at boot nobody has loaded
 * keys yet. Does not replace a key that is loaded. Return: 0 or -1, when @failure tells why.
 */
static int connect_with_key(const struct connect_request *request, struct device *device,
			    struct nl_failure *failure)
{
	int err;

	if (!connect_run(request, device, failure))
		return 0;
	if (failure->err != ENOKEY || !*request->key)
		return -1;
	err = keyring_load_named(request->key, failure->text, sizeof(failure->text));
	if (!err)
		return connect_run(request, device, failure);
	/* EACCES is the refusal of a target. */
	if (err != ENOENT)
		failure->err = err == EACCES ? EPERM : err;
	return -1;
}

static int try_one(struct attempt *attempt)
{
	struct connect_request request = attempt->disk->request;
	struct nl_failure failure = { 0 };
	struct device device = { 0 };
	char names[VISIT_NAMES_TEXT];

	if (!attempt->deadline)
		attempt->deadline = nl_deadline(attempt->wait);
	if (connect_read_host_id(&request, &failure)) {
		attempt->over = true;
		return report_failure(failure.err, attempt->what, "%s", failure.text);
	}
	if (!connect_with_key(&request, &device, &failure) ||
	    !connect_existing(&request, &device, &failure))
		return finish(attempt, &device, &failure);
	attempt->over = is_final(failure.err, request.key, &device) ||
			nl_deadline(0) >= attempt->deadline;
	/* With a key EPERM may be about that key. */
	attempt->last = nl_is_final(failure.err) && (failure.err != EPERM || !request.key[0]);
	if (attempt->over)
		return report_peer_failure(failure.err, attempt->what, "%s%s", failure.text,
					   hint(&request, failure.err, names));
	say(attempt, failure.text);
	return STATUS_DONE;
}

/* One round over all disks; false when no disk needs another try. */
static bool try_all(struct attempt *attempts, size_t nr, int *status)
{
	bool left = false;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (attempts[i].over)
			continue;
		*status = report_both(*status, try_one(&attempts[i]));
		if (attempts[i].last)
			return false;
		left |= !attempts[i].over;
	}
	return left;
}

static int run(const struct config *config, const struct up_args *args)
{
	static const struct timespec pause = { .tv_sec = PAUSE_S };
	struct attempt *attempts = calloc(config->nr + 1, sizeof(*attempts));
	int status = STATUS_DONE;
	size_t i, nr = 0;

	if (!attempts)
		return report_failure(ENOMEM, "up", "%s", strerror(ENOMEM));
	for (i = 0; i < config->nr; i++) {
		const struct disk_config *disk = &config->disk[i];
		struct attempt *attempt = &attempts[nr];

		if (!disk->selected)
			continue;
		nr++;
		attempt->disk = disk;
		attempt->wait = args->has_wait ? args->wait : disk->wait;
		snprintf(attempt->what, sizeof(attempt->what), "up %s", disk->name);
	}
	while (try_all(attempts, nr, &status))
		nanosleep(&pause, NULL);
	free(attempts);
	return status;
}

/**
 * cmd_up() - rdmablk up
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_up(const struct command_info *command, int argc, char **argv)
{
	__cleanup(config_clear) struct config config = { 0 };
	struct up_args args = { 0 };
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (!ret)
		ret = config_select("up", &args.selection, argv + optind, &config);
	return ret ? ret : run(&config, &args);
}
