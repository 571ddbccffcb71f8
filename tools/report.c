// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Error messages: one line on stderr, "rdmablk: what: why", and with --json also one
 * object on stdout, so that a program that reads stdout gets JSON in every case.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "output.h"
#include "report.h"
#include "shown.h"

#define WHY_LEN		1280	/* the longest text names all columns */
#define WHAT_LEN	(PATH_MAX + 64)	/* a command and a path */

bool report_json;

__printf(4, 0)
static void report(enum exit_status status, int err, const char *what, const char *fmt,
		   va_list args)
{
	struct json_object *top, *error;
	const char *code = strerrorname_np(err);
	char why[WHY_LEN], object[WHAT_LEN];

	vsnprintf(why, sizeof(why), fmt, args);
	snprintf(object, sizeof(object), "%s", what);
	/*
	 * An operand may be any bytes, and a long one is cut, even inside a character. A peer or
	 * the daemon may have chosen parts of the reason.
	 */
	shown_clean(object);
	shown_clean(why);
	fprintf(stderr, "rdmablk: %s: %s\n", object, why);
	if (!report_json)
		return;
	top = output_json_new();
	error = json_object_new_object();
	json_object_object_add(error, "what", json_object_new_string(object));
	json_object_object_add(error, "code",
			       json_object_new_string(code ? code : "EIO"));
	json_object_object_add(error, "errno", json_object_new_int(err));
	json_object_object_add(error, "message", json_object_new_string(why));
	json_object_object_add(error, "exit_status", json_object_new_int(status));
	json_object_object_add(top, "error", error);
	output_json_line(top);
}

/* The status of an error on this host. */
static enum exit_status status_of(int err)
{
	switch (err) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case ENOKEY:
	case EKEYREVOKED:
	case EKEYEXPIRED:
		return STATUS_ABSENT;
	case EEXIST:
	case EBUSY:
	case EALREADY:
	case EADDRINUSE:
		return STATUS_IN_USE;
	case ETIMEDOUT:
	case ETIME:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
	case ECONNREFUSED:
	case ECONNRESET:
	case ECONNABORTED:
	case EPIPE:
		return STATUS_UNREACHABLE;
	case EROFS:
	case EKEYREJECTED:
		return STATUS_REFUSED;
	case EPERM:
	case EACCES:
		return STATUS_DENIED;
	case EUNATCH:
	case EPROTO:
	case EPROTONOSUPPORT:
		return STATUS_MISMATCH;
	case EILSEQ:
		return STATUS_CORRUPT;
	default:
		return STATUS_FAILED;
	}
}

/**
 * report_failure() - something could not be done on this host
 * @err: errno that describes it, positive
 * @what: what was to be done, with the name of the object
 * @fmt: why it was not
 *
 * Returns the exit status of the cause.
 */
int report_failure(int err, const char *what, const char *fmt, ...)
{
	enum exit_status status = status_of(err);
	va_list args;

	va_start(args, fmt);
	report(status, err, what, fmt, args);
	va_end(args);
	return status;
}

/**
 * report_peer_failure() - something could not be done with a target, or the daemon
 * @err: errno that describes it, positive
 * @what: what was to be done, with the name of the object
 * @fmt: why it was not
 *
 * EACCES is the peer's refusal here, and ENODEV a device on the way to it.
 *
 * Returns the exit status of the cause.
 */
int report_peer_failure(int err, const char *what, const char *fmt, ...)
{
	enum exit_status status = err == EACCES ? STATUS_REFUSED :
				  err == ENODEV ? STATUS_UNREACHABLE : status_of(err);
	va_list args;

	va_start(args, fmt);
	report(status, err, what, fmt, args);
	va_end(args);
	return status;
}

/**
 * report_no_daemon() - the daemon of this host could not be asked
 * @err: errno that describes it, positive
 * @what: what was to be done, with the name of the object
 * @fmt: why it was not
 *
 * Returns the exit status of the cause.
 */
int report_no_daemon(int err, const char *what, const char *fmt, ...)
{
	enum exit_status status = err == EACCES || err == EPERM ? STATUS_DENIED :
				  err == ENAMETOOLONG ? STATUS_FAILED : STATUS_UNREACHABLE;
	va_list args;

	va_start(args, fmt);
	report(status, err, what, fmt, args);
	va_end(args);
	return status;
}

/**
 * report_no_node() - the path of a disk does not appear
 * @err: errno that describes it, positive
 * @path: the path
 * @fmt: what to look for
 *
 * The disk is connected, so the target was reached, whatever @err is elsewhere.
 *
 * Returns the exit status of the cause.
 */
int report_no_node(int err, const char *path, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report(STATUS_FAILED, err, path, fmt, args);
	va_end(args);
	return STATUS_FAILED;
}

/**
 * report_both() - the exit status of a command that did several things
 * @status: of those before
 * @other: of one more
 *
 * Returns the status of the failures, if they have the same, or STATUS_FAILED.
 */
int report_both(int status, int other)
{
	if (!status || !other || status == other)
		return status ? status : other;
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
	va_list args;

	va_start(args, fmt);
	report(STATUS_USAGE, EINVAL, what, fmt, args);
	va_end(args);
	return STATUS_USAGE;
}

/**
 * report_warning() - something was done, but not quite as asked
 * @what: what was to be done
 * @fmt: what differs
 */
void report_warning(const char *what, const char *fmt, ...)
{
	char why[WHY_LEN], object[WHAT_LEN];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	snprintf(object, sizeof(object), "%s", what);
	shown_clean(object);
	shown_clean(why);
	fprintf(stderr, "rdmablk: %s: warning: %s\n", object, why);
}
