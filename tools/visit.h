/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_VISIT_H
#define RDMABLK_TOOLS_VISIT_H

#include "addr.h"
#include "client.h"
#include "connect.h"
#include "opts.h"

/**
 * struct visit - a visit as the command line asks for it
 * @where: the target; no export
 * @request: with the identity of this host alone
 * @key: name of the key, or path of its file; NULL: none
 * @tmo_s: patience with each step, seconds; 0: the default
 * @requests: READs and WRITEs at once of what the target lends; 0: none
 * @stop: set by a signal: no wait lasts longer than a second from then on; NULL: none
 * @address: where the target has answered, for people
 */
struct visit {
	struct addr_export where;
	struct connect_request request;
	const char *key;
	__u32 tmo_s;
	unsigned int requests;
	const atomic_bool *stop;
	char address[ADDR_TEXT_LEN];
};

/* ids of options that all visits have */
#define VISIT_KEY	'k'
#define VISIT_HOST_ID	'H'
#define VISIT_TIMEOUT	't'

/* Entries of a table of options */
#define VISIT_OPT_KEY \
	{ "key", 0, VISIT_KEY, "KEY", "log in with this key: its name, or a file" }
#define VISIT_OPT_HOST_ID \
	{ "host-id", 0, VISIT_HOST_ID, "UUID", "identity of this host" }
#define VISIT_OPT_TIMEOUT \
	{ "timeout", 0, VISIT_TIMEOUT, "S", "patience with the target, 1 to 600 seconds (5)" }

int visit_set_option(const struct opts_origin *origin, struct visit *visit, int id,
		     const char *value);
int visit_parse(const char *what, char **operands, struct visit *visit);
struct client *visit_open(struct visit *visit, const char *what, int *status);

#endif /* RDMABLK_TOOLS_VISIT_H */
