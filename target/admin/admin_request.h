/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests for changes at run time.
 */
#ifndef RDMABLKD_ADMIN_REQUEST_H
#define RDMABLKD_ADMIN_REQUEST_H

#include "export/export.h"

#define ADMIN_WHY	1024	/* text of an error */
#define ADMIN_TEXT	96	/* text of a request */

/**
 * enum admin_op - kinds of requests
 * @ADMIN_ADD: open and fill an export, and make it ready for sessions
 * @ADMIN_REMOVE: remove an export
 * @ADMIN_RESIZE: let an export grow with its file
 * @ADMIN_REOPEN: close the store of an export and open it again
 * @ADMIN_RELOAD: apply the present configuration
 * @ADMIN_HOST_ADD: add a host
 * @ADMIN_HOST_REMOVE: remove a host
 * @ADMIN_ALLOW: change which hosts may use an export
 * @ADMIN_KICK: end a session, or all of a host
 * @ADMIN_SAVE: make a configuration file of what was changed
 */
enum admin_op {
	ADMIN_ADD,
	ADMIN_REMOVE,
	ADMIN_RESIZE,
	ADMIN_REOPEN,
	ADMIN_RELOAD,
	ADMIN_HOST_ADD,
	ADMIN_HOST_REMOVE,
	ADMIN_ALLOW,
	ADMIN_KICK,
	ADMIN_SAVE,
};

/**
 * enum admin_thing - what a request changes
 * @ADMIN_EXPORT: an export
 * @ADMIN_SETTING: a key of [target]
 * @ADMIN_HOST: a host
 * @ADMIN_SESSION: a session
 */
enum admin_thing {
	ADMIN_EXPORT,
	ADMIN_SETTING,
	ADMIN_HOST,
	ADMIN_SESSION,
};

/**
 * struct admin_change - what a request has done to one thing, or not
 * @entry: in the report
 * @thing: kind of the thing
 * @name: name of the thing; for a session its id
 * @action: added, removed, resized, changed, kept, ended; NULL: nothing was done
 * @why: what went wrong, or is left to do, or whose session it is; empty: nothing
 */
struct admin_change {
	TAILQ_ENTRY(admin_change) entry;
	enum admin_thing thing;
	char name[RDMABLK_NAME_LEN];
	const char *action;
	char why[EXPORT_WHY];
};

TAILQ_HEAD(admin_changes, admin_change);

/**
 * struct admin - one request; its owner fills in all fields that are not an outcome
 * @entry: in the queue
 * @op: what is asked for
 * @name: name of the export, or of the host; KICK: id of a session, or name of a host; unused
 *	for ADD, HOST_ADD, RELOAD and SAVE
 * @spec: ADD: in the words of --export; HOST_ADD: of config_host_spec()
 * @allow: ALLOW: list of hosts
 * @reason: KICK: why, in the words of the administrator, or NULL
 * @size: RESIZE: size wanted, bytes; or 0: that of the file
 * @force: REMOVE and REOPEN: end the sessions that use it, and expect no device back
 * @patient: waits for its turn as long as it takes
 * @uid: user that asks
 * @by_signal: it came by SIGHUP; else by the control socket
 * @owner: data of the owner, for @done
 * @done: upcall in the loop, when the request is over; releases it with admin_free()
 * @error: outcome: 0 or -errno
 * @why: outcome: text of the error, in one line
 * @bytes: outcome of ADD, RESIZE, REOPEN: size of the export
 * @path: outcome of SAVE: path of the file to write
 * @text: outcome of SAVE: text of that file
 * @changes: outcome of RELOAD and KICK; of SAVE: what is not in the text
 */
struct admin {
	TAILQ_ENTRY(admin) entry;
	enum admin_op op;
	char name[RDMABLK_NAME_LEN];
	char *spec;
	char *allow;
	char *reason;
	uint64_t size;
	bool force;
	bool patient;
	uid_t uid;
	bool by_signal;
	void *owner;
	void (*done)(struct admin *a);
	int error;
	char why[ADMIN_WHY];
	uint64_t bytes;
	char *path;
	char *text;
	struct admin_changes changes;
};

struct admin *admin_alloc(enum admin_op op);
void admin_free(struct admin *a);
struct admin_change *admin_change_new(struct admin *a, const char *name,
				      enum admin_thing thing);
const char *admin_thing_word(enum admin_thing thing);
bool admin_of_host(enum admin_op op);
void admin_text(const struct admin *a, char *text, size_t size);

/* The audit log */
void admin_audit_done(const struct admin *a);
void admin_audit_refused(uid_t uid, const char *why);

#endif
