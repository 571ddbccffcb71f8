// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What all commands that visit a target have in common: options, the key, the identity of this
 * host, the addresses of the target. Once the process has a key, it leaves no core dump.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "../target/base/key_file.h"
#include "files.h"
#include "report.h"
#include "visit.h"

#define MAX_TIMEOUT	600	/* seconds */
#define HOST_ID		"/sys/module/rdmablk/parameters/host_id"
#define PRODUCT_UUID	"/sys/class/dmi/id/product_uuid"
#define REQUIRE_KEY	"/sys/module/rdmablk/parameters/require_key"

/**
 * visit_set_option() - takes an option of VISIT_OPT_*
 * @origin: where it was given
 * @visit: gets it
 * @id: VISIT_*
 * @value: of the option
 *
 * Returns 0 or the exit status after a complaint.
 */
int visit_set_option(const struct opts_origin *origin, struct visit *visit, int id,
		     const char *value)
{
	switch (id) {
	case VISIT_KEY:
		visit->key = value;
		return strchr(value, '/') ? 0 : opts_key_name(origin, "key", value);
	case VISIT_HOST_ID:
		if (connect_set_host_id(&visit->request, value))
			return opts_refuse(origin, "host-id",
					   "'%s' is not a UUID other than the nil one", value);
		return 0;
	default:
		return opts_number(origin, "timeout", value, 1, MAX_TIMEOUT, " seconds",
				   &visit->tmo_s);
	}
}

/**
 * visit_parse() - takes the operand HOST[:PORT]
 * @what: the command
 * @operands: with NULL at their end
 * @visit: gets it
 *
 * Returns 0 or the exit status after a complaint.
 */
int visit_parse(const char *what, char **operands, struct visit *visit)
{
	char why[256], object[320];

	if (!operands[0])
		return report_usage(what, "HOST[:PORT] is missing");
	if (operands[1])
		return report_usage(what, "too many arguments: '%s'", operands[1]);
	if (!addr_parse_host(operands[0], &visit->where, why, sizeof(why)))
		return 0;
	snprintf(object, sizeof(object), "%s %.300s", what, operands[0]);
	return report_usage(object, "%s", why);
}

/*
 * Finds the host id that disks of this host have: from the tool's file, the module's parameter or
 * the machine. Unlike a disk, a visit may go without one.
 */
static int find_host_id(struct visit *visit, struct nl_failure *failure)
{
	static const char *const paths[] = { HOST_ID, PRODUCT_UUID };
	char line[80];
	size_t i;

	if (connect_read_host_id(&visit->request, failure))
		return -1;
	for (i = 0; !visit->request.has_host_id && i < ARRAY_SIZE(paths); i++)
		if (!files_line(AT_FDCWD, paths[i], line, sizeof(line)))
			connect_set_host_id(&visit->request, line);
	return 0;
}

/* Complains, unless the visit is a silent one. Returns the exit status. */
__printf(4, 5)
static int refuse(bool peer, int err, const char *what, const char *fmt, ...)
{
	char why[PATH_MAX + KEY_FILE_WHY];
	va_list args;

	if (!what)
		return STATUS_FAILED;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return peer ? report_peer_failure(err, what, "%s", why) :
		      report_failure(err, what, "%s", why);
}

/* The module's rule require_key counts for visits as for disks, with the same errno. */
static int check_rule(const struct visit *visit, const char *what)
{
	char line[8];

	if (visit->key || files_line(AT_FDCWD, REQUIRE_KEY, line, sizeof(line)) ||
	    line[0] != 'Y')
		return 0;
	return refuse(false, ENOKEY, what,
		      "this host demands keys (require_key of the module): --key NAME");
}

static struct key_file *read_key(const char *name, const char *what, int *status)
{
	char path[PATH_MAX], why[KEY_FILE_WHY] = "";
	struct key_file *key = NULL;
	int err;

	if (!prctl(PR_SET_DUMPABLE, 0))
		key = key_file_alloc();
	if (!key) {
		*status = refuse(false, errno, what, "no memory for the key: %s",
				 strerror(errno));
		return NULL;
	}
	err = key_file_find(key, name, KEY_FILE_DIR, path, why);
	if (!err)
		return key;
	key_file_free(key);
	*status = refuse(false, err, what, "%s: %s", path, why);
	return NULL;
}

/* Tries each address; the failure is that of the last one. */
static struct client *open_any(struct visit *visit, struct client_login *login,
			       struct nl_failure *failure)
{
	struct addrinfo *list, *at;
	struct client *client = NULL;

	failure->err = EHOSTUNREACH;
	list = addr_resolve(&visit->where, failure->text, sizeof(failure->text));
	for (at = list; at && !client; at = at->ai_next) {
		addr_format(at->ai_addr, visit->address);
		login->target = at->ai_addr;
		client = client_open(login, failure);
	}
	if (list)
		freeaddrinfo(list);
	return client;
}

/**
 * visit_open() - visits the target
 * @visit: parsed
 * @what: what it is for, with the name of the target; NULL: without complaints
 * @status: set after a complaint: the exit status
 *
 * Returns the visit, or NULL after a complaint.
 */
struct client *visit_open(struct visit *visit, const char *what, int *status)
{
	struct client_login login = {
		.tmo_ms = visit->tmo_s ? visit->tmo_s * 1000 : CLIENT_TMO_MS,
		.requests = visit->requests,
		.stop = visit->stop,
	};
	struct nl_failure failure = { 0 };
	struct key_file *key = NULL;
	struct client *client;

	*status = check_rule(visit, what);
	if (*status)
		return NULL;
	if (find_host_id(visit, &failure)) {
		*status = refuse(false, failure.err, what, "%s", failure.text);
		return NULL;
	}
	memcpy(login.host_id, visit->request.host_id, sizeof(login.host_id));
	if (visit->key) {
		key = read_key(visit->key, what, status);
		if (!key)
			return NULL;
		login.key = key;
	}
	client = open_any(visit, &login, &failure);
	if (key)
		key_file_free(key);
	if (!client)
		*status = refuse(true, failure.err, what, "%s", failure.text);
	return client;
}
