// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests for changes at run time, and what the audit log says about the administrator: each
 * request, and whatever a reload has changed or could not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "admin/admin_request.h"
#include "base/audit.h"
#include "base/util.h"

/**
 * admin_alloc - a new request
 * @op: what it asks for
 *
 * Return: the request, zeroed except for its kind; NULL: out of memory.
 */
struct admin *admin_alloc(enum admin_op op)
{
	struct admin *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->op = op;
	TAILQ_INIT(&a->changes);
	return a;
}

/**
 * admin_free - release a request
 * @a: not submitted, or done; or NULL
 */
void admin_free(struct admin *a)
{
	struct admin_change *c;

	if (!a)
		return;
	while ((c = TAILQ_FIRST(&a->changes))) {
		TAILQ_REMOVE(&a->changes, c, entry);
		free(c);
	}
	free(a->spec);
	free(a->allow);
	free(a->reason);
	free(a->path);
	free(a->text);
	free(a);
}

/**
 * admin_change_new - a line in the report of a request
 * @a: request; gets the line
 * @name: name of the thing that changes
 * @thing: kind of the thing
 *
 * Return: the line, to be filled, or NULL.
 */
struct admin_change *admin_change_new(struct admin *a, const char *name,
				      enum admin_thing thing)
{
	struct admin_change *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->thing = thing;
	TAILQ_INSERT_TAIL(&a->changes, c, entry);
	return c;
}

/* The word that the administrator types */
static const char *admin_word(enum admin_op op)
{
	static const char * const words[] = {
		[ADMIN_ADD] = "add", [ADMIN_REMOVE] = "remove",
		[ADMIN_RESIZE] = "resize", [ADMIN_REOPEN] = "reopen",
		[ADMIN_RELOAD] = "reload", [ADMIN_HOST_ADD] = "host add",
		[ADMIN_HOST_REMOVE] = "host remove", [ADMIN_ALLOW] = "allow",
		[ADMIN_KICK] = "kick", [ADMIN_SAVE] = "save",
	};

	return words[op];
}

/**
 * admin_thing_word - the word for what a request changes
 * @thing: kind of the thing
 *
 * Return: the word.
 */
const char *admin_thing_word(enum admin_thing thing)
{
	static const char * const words[] = {
		[ADMIN_EXPORT] = "export", [ADMIN_SETTING] = "setting",
		[ADMIN_HOST] = "host", [ADMIN_SESSION] = "session",
	};

	return words[thing];
}

/**
 * admin_of_host - what a request is about
 * @op: kind of request
 *
 * Return: whether its name is that of a host.
 */
bool admin_of_host(enum admin_op op)
{
	return op == ADMIN_HOST_ADD || op == ADMIN_HOST_REMOVE;
}

/**
 * admin_text - a request in words
 * @a: submitted
 * @text: filled
 * @size: of it, ADMIN_TEXT bytes
 */
void admin_text(const struct admin *a, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", admin_word(a->op), a->name[0] ? " " : "", a->name);
}

/*
 * The audit log
 */

static void add_user(struct json_object *line, const struct admin *a)
{
	audit_number(line, "uid", a->uid);
	audit_text(line, "by", a->by_signal ? "signal" : "control");
}

static void change_done(const struct admin *a, const struct admin_change *c)
{
	struct json_object *line = audit_line("change");

	add_user(line, a);
	audit_text(line, "what", admin_thing_word(c->thing));
	audit_text(line, "name", c->name);
	audit_text(line, "action", c->action);
	audit_text(line, "detail", c->why);
	audit_write(line);
}

/**
 * admin_audit_done - a request is over
 * @a: its outcome
 */
void admin_audit_done(const struct admin *a)
{
	struct json_object *line = audit_line("admin");
	bool kick = a->op == ADMIN_KICK;
	const struct admin_change *c;

	add_user(line, a);
	audit_text(line, "request", admin_word(a->op));
	audit_text(line, "export", admin_of_host(a->op) || kick ? NULL : a->name);
	audit_text(line, "auth_host", admin_of_host(a->op) ? a->name : NULL);
	audit_text(line, "kicked", kick ? a->name : NULL);
	audit_text(line, "why", a->reason);
	audit_text(line, "allow", a->allow);
	audit_bool(line, "force", a->force);
	audit_number(line, "size", a->bytes);
	audit_text(line, "error", a->error ? strerrorname_np(-a->error) : NULL);
	audit_text(line, "detail", a->why);
	audit_write(line);
	TAILQ_FOREACH(c, &a->changes, entry)
		if (!c->action || strcmp(c->action, "kept"))
			change_done(a, c);
}

/**
 * admin_audit_refused - a connection to the control socket is refused
 * @uid: user of the peer
 * @why: in words
 */
void admin_audit_refused(uid_t uid, const char *why)
{
	struct json_object *line = audit_refusal(NULL);

	audit_text(line, "what", "control");
	audit_number(line, "uid", uid);
	audit_text(line, "detail", why);
	audit_write(line);
}
