// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the audit log says about the administrator: each request, and whatever a reload has
 * changed or could not.
 */
#include "admin/admin_audit.h"
#include "base/audit.h"
#include "base/util.h"

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
	const struct admin_change *c;

	add_user(line, a);
	audit_text(line, "request", admin_word(a->op));
	audit_text(line, "export", admin_of_host(a->op) ? NULL : a->name);
	audit_text(line, "auth_host", admin_of_host(a->op) ? a->name : NULL);
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
