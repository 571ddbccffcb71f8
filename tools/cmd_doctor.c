// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmablk doctor: looks for reasons why disks or exports of this host may not work well. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "control.h"
#include "doctor.h"
#include "output.h"
#include "report.h"
#include "util.h"

const struct option_info doctor_options[] = {
	{ "json", 0, 'j', NULL, "print JSON" },
	{ "root", 0, 'r', "DIR", "look at the files below DIR (/)" },
	{ "control", 0, 'c', "PATH", "socket of the daemon (" CONTROL_PATH ")" },
	{ 0 }
};

struct doctor_args {
	const char *root;
	const char *control;
};

static int set(void *context, int id, const char *value)
{
	struct doctor_args *args = context;

	switch (id) {
	case 'j':
		report_json = true;
		break;
	case 'r':
		args->root = value;
		break;
	case 'c':
		args->control = value;
		break;
	}
	return 0;
}

static const char *text_of(struct json_object *finding, const char *key)
{
	struct json_object *value;

	json_object_object_get_ex(finding, key, &value);
	return json_object_get_string(value);
}

/* A line for each finding, and a second one with the command that mends it. */
static void print(const struct exam *d)
{
	size_t i, nr = json_object_array_length(d->findings);

	for (i = 0; i < nr; i++) {
		struct json_object *finding = json_object_array_get_idx(d->findings, i);
		const char *mend = text_of(finding, "mend");

		printf("%-8s%-11s%s\n", text_of(finding, "level"), text_of(finding, "check"),
		       text_of(finding, "text"));
		if (mend)
			printf("%19s%s\n", "> ", mend);
	}
}

static void print_json(struct exam *d)
{
	struct json_object *document = output_json_new();

	json_object_object_add(document, "worst",
			       json_object_new_string(exam_level_text(d->worst)));
	json_object_object_add(document, "findings", json_object_get(d->findings));
	output_json_line(document);
}

/* Returns EXAM_*, or 0: no such word. */
static unsigned int role_of(const char *operand)
{
	if (!operand)
		return EXAM_INITIATOR | EXAM_TARGET;
	if (!strcmp(operand, "initiator"))
		return EXAM_INITIATOR;
	return strcmp(operand, "target") ? 0 : EXAM_TARGET;
}

/**
 * cmd_doctor() - rdmablk doctor
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_doctor(const struct command_info *command, int argc, char **argv)
{
	static const int status[EXAM_LEVELS] = {
		[EXAM_WARNING] = STATUS_WARNING, [EXAM_ERROR] = STATUS_FAILED,
	};
	struct doctor_args args = { .root = "/", .control = CONTROL_PATH };
	struct exam d = { 0 };
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (ret)
		return ret;
	d.roles = role_of(argv[optind]);
	if (!d.roles)
		return report_usage("doctor", "'%s' is neither initiator nor target",
				    argv[optind]);
	if (argv[optind] && argv[optind + 1])
		return report_usage("doctor", "too many arguments: '%s'", argv[optind + 1]);
	d.control = args.control;
	ret = doctor_open(&d, args.root);
	if (ret)
		return report_failure(ret, "doctor", "%s: %s", args.root, strerror(ret));
	doctor_run(&d);
	if (report_json)
		print_json(&d);
	else
		print(&d);
	ret = status[d.worst];
	doctor_close(&d);
	return ret;
}
