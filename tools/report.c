// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Error messages: one line on stderr, "rdmablk: what: why", and with --json also one
 * object on stdout, so that a program that reads stdout gets JSON in every case.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "output.h"
#include "report.h"

#define WHY_LEN	1280	/* the longest text names all columns */

bool report_json;

static void report(enum exit_status status, int err, const char *what,
		   const char *why)
{
	struct json_object *top, *error;
	const char *code = strerrorname_np(err);

	fprintf(stderr, "rdmablk: %s: %s\n", what, why);
	if (!report_json)
		return;

	top = output_json_new();
	error = json_object_new_object();
	json_object_object_add(error, "what", json_object_new_string(what));
	json_object_object_add(error, "code",
			       json_object_new_string(code ? code : "EIO"));
	json_object_object_add(error, "errno", json_object_new_int(err));
	json_object_object_add(error, "message", json_object_new_string(why));
	json_object_object_add(error, "exit_status", json_object_new_int(status));
	json_object_object_add(top, "error", error);
	output_json_line(top);
}

/**
 * report_failure() - something could not be done
 * @err: errno that describes it, positive
 * @what: what was to be done, with the name of the object
 * @fmt: why it was not
 *
 * Returns the exit status of a failure.
 */
int report_failure(int err, const char *what, const char *fmt, ...)
{
	char why[WHY_LEN];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	report(STATUS_FAILED, err, what, why);
	return STATUS_FAILED;
}

/**
 * report_usage() - the command line makes no sense
 * @what: the subcommand, or the part of the command line
 * @fmt: what is wrong with it
 *
 * Returns the exit status of wrong usage.
 */
int report_usage(const char *what, const char *fmt, ...)
{
	char why[WHY_LEN];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	report(STATUS_USAGE, EINVAL, what, why);
	return STATUS_USAGE;
}

/**
 * report_warning() - something was done, but not quite as asked
 * @what: what was to be done
 * @fmt: what differs
 */
void report_warning(const char *what, const char *fmt, ...)
{
	char why[WHY_LEN];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	fprintf(stderr, "rdmablk: %s: warning: %s\n", what, why);
}
