// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the administrator's tool is told, in JSON. Documentation/json describes it; a
 * change that could break a reader raises CONTROL_VERSION.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "admin/control.h"
#include "admin/control_request.h"
#include "base/util.h"
#include "session/session.h"

static void add(struct json_object *to, const char *key, struct json_object *value)
{
	json_object_object_add(to, key, value);
}

static struct json_object *text_or_null(const char *text)
{
	return text ? json_object_new_string(text) : NULL;
}

static struct json_object *hex(const uint8_t *bytes, size_t nr)
{
	char text[2 * RDMABLK_ID_LEN + 1];

	for (size_t i = 0; i < nr; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return json_object_new_string(text);
}

static struct json_object *uuid_text(const uint8_t *uuid)
{
	char text[40];

	value_uuid_text(uuid, text);
	return json_object_new_string(text);
}

/**
 * control_answer - an answer, to be filled
 *
 * Return: object with its version.
 */
struct json_object *control_answer(void)
{
	struct json_object *top = json_object_new_object();

	add(top, "version", json_object_new_int(CONTROL_VERSION));
	return top;
}

/**
 * control_error - an answer that says what went wrong
 * @error: -errno
 * @why: text
 *
 * Return: object.
 */
struct json_object *control_error(int error, const char *why)
{
	struct json_object *top = control_answer(), *e = json_object_new_object();
	const char *code = strerrorname_np(-error);

	add(e, "code", json_object_new_string(code ?: "EIO"));
	add(e, "errno", json_object_new_int(-error));
	add(e, "message", json_object_new_string(why));
	add(top, "error", e);
	return top;
}

static const char *state_name(enum export_state state)
{
	switch (state) {
	case EXPORT_OPENING:	return "opening";
	case EXPORT_READY:	return "ready";
	case EXPORT_LEAVING:	return "leaving";
	case EXPORT_CLOSED:	return "closed";
	}
	return "?";
}

static const char *cache_name(const struct export_config *ec)
{
	if (!ec->file)
		return NULL;
	return ec->cache == CACHE_FULL ? "full" : "none";
}

/* While a worker has the store nothing is known of it. */
static void show_store(struct json_object *o, struct export *e)
{
	struct store_status status = { 0 };
	bool ready = e->state == EXPORT_READY;

	if (ready && e->store.ops->status)
		e->store.ops->status(&e->store, &status);
	add(o, "size", ready ? json_object_new_uint64(e->store.size) : NULL);
	add(o, "uuid", ready ? uuid_text(e->store.uuid) : NULL);
	add(o, "epoch", ready ? hex(e->store.epoch, sizeof(e->store.epoch)) : NULL);
	add(o, "failed", json_object_new_boolean(status.failed || e->broken));
	add(o, "dirty", json_object_new_boolean(status.dirty));
	add(o, "comparing", json_object_new_uint64(status.comparing));
	add(o, "errors", json_object_new_uint64(status.errors));
}

/* Where its memory is; while a worker has the store nobody knows. */
static struct json_object *node_or_null(const struct export *e)
{
	const struct numa_place *place = &e->store.place;

	return e->state == EXPORT_READY && place->placed ?
	       json_object_new_int64(place->node) : NULL;
}

/* What its sessions have taken, and what they may take. */
static void show_limits(struct json_object *o, const struct export *e)
{
	const struct quota_caps caps = export_caps(e);

	add(o, "queues", json_object_new_uint64(e->limits.taken.queues));
	add(o, "pinned", json_object_new_uint64(e->limits.taken.bytes));
	add(o, "max_sessions", json_object_new_uint64(caps.sessions));
	add(o, "max_queues", json_object_new_uint64(caps.queues));
	add(o, "max_pinned", caps.bytes ? json_object_new_uint64(caps.bytes) : NULL);
}

static struct json_object *show_export(struct export *e)
{
	const struct export_config *ec = e->cfg;
	struct json_object *o = json_object_new_object();

	add(o, "name", json_object_new_string(ec->name));
	add(o, "state", json_object_new_string(state_name(e->state)));
	add(o, "type", text_or_null(ec->type));
	add(o, "file", text_or_null(ec->file));
	add(o, "cache", text_or_null(cache_name(ec)));
	add(o, "arena", text_or_null(ec->arena));
	add(o, "numa", node_or_null(e));
	add(o, "read_only", json_object_new_boolean(ec->read_only));
	add(o, "shared", json_object_new_boolean(ec->shared));
	add(o, "by_hand", json_object_new_boolean(e->by_hand));
	add(o, "sessions", json_object_new_int((int)session_users(e)));
	show_limits(o, e);
	show_store(o, e);
	return o;
}

/**
 * control_list - the exports
 * @name: of the one that is wanted; empty: all
 *
 * Return: answer.
 */
struct json_object *control_list(const char *name)
{
	struct json_object *top = control_answer(), *list = json_object_new_array();
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e))
		if (!*name || !strcmp(e->cfg->name, name))
			json_object_array_add(list, show_export(e));
	add(top, "exports", list);
	return top;
}

static const char *session_state_name(enum session_state state)
{
	switch (state) {
	case SESSION_HELLO:
	case SESSION_PROOF:
	case SESSION_REGISTER:
	case SESSION_GRANTED:	return "login";
	case SESSION_LIVE:	return "live";
	case SESSION_CLOSING:
	case SESSION_STOPPING:
	case SESSION_FENCING:
	case SESSION_SETTLING:
	case SESSION_CLOSED:
	case SESSION_DYING:	return "ending";
	}
	return "?";
}

/* A worker has the queues of a staged session that is not live. */
static void session_counts(const struct session *s, struct store_counts *sum)
{
	store_add_counts(sum, &s->cmdqs.counts);
	if (s->state == SESSION_LIVE && s->staged)
		s->export->store.ops->staged->counts(s->staged, sum);
}

static struct json_object *show_commands(const struct session *s)
{
	static const char * const names[STORE_OPS] = {
		"fence", "dirty", "flush", "discard", "write_zeroes", "secure_erase",
		"read", "write",
	};
	struct json_object *all = json_object_new_object();
	struct store_counts counts = { 0 };

	session_counts(s, &counts);
	for (unsigned int i = 0; i < STORE_OPS; i++) {
		struct json_object *one = json_object_new_object();

		add(one, "done", json_object_new_uint64(counts.done[i]));
		add(one, "errors", json_object_new_uint64(counts.failed[i]));
		add(all, names[i], one);
	}
	return all;
}

static struct json_object *show_session(const struct session *s)
{
	bool named = s->wish.export_name[0];
	struct json_object *o = json_object_new_object();
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)s->id);
	add(o, "id", json_object_new_string(id));
	add(o, "state", json_object_new_string(session_state_name(s->state)));
	add(o, "host", text_or_null(named ? s->wish.host_name : NULL));
	add(o, "host_id", named ? uuid_text(s->wish.host_id) : NULL);
	add(o, "address", json_object_new_string(s->peer_text));
	add(o, "export", text_or_null(named ? s->wish.export_name : NULL));
	add(o, "read_only", json_object_new_boolean(!s->lease.writer));
	add(o, "queues", json_object_new_int((int)(s->nr_data / 2)));
	add(o, "queue_depth", json_object_new_int(session_queue_depth(s)));
	add(o, "keep_alive_ms", json_object_new_int64(s->heard.keep_alive_ms));
	add(o, "since", json_object_new_int64(time(NULL) - (loop_now() - s->born) / 1000));
	add(o, "messages", json_object_new_uint64(s->heard.messages));
	add(o, "keepalives", json_object_new_uint64(s->heard.keepalives));
	add(o, "commands", show_commands(s));
	return o;
}

/**
 * control_sessions - the sessions
 * @name: of the export whose sessions are wanted; empty: of all
 *
 * Return: answer.
 */
struct json_object *control_sessions(const char *name)
{
	struct json_object *top = control_answer(), *list = json_object_new_array();
	const struct session *s;

	for (s = session_next(NULL); s; s = session_next(s))
		if (!*name || !strcmp(s->wish.export_name, name))
			json_object_array_add(list, show_session(s));
	add(top, "sessions", list);
	return top;
}

static struct json_object *show_change(const struct admin_change *c)
{
	struct json_object *o = json_object_new_object();

	add(o, "name", json_object_new_string(c->name));
	add(o, "action", text_or_null(c->action));
	add(o, "message", text_or_null(c->why[0] ? c->why : NULL));
	return o;
}

static void show_changes(struct json_object *top, const struct admin *a)
{
	struct json_object *exports = json_object_new_array();
	struct json_object *settings = json_object_new_array();
	const struct admin_change *c;

	TAILQ_FOREACH(c, &a->changes, entry)
		json_object_array_add(c->setting ? settings : exports, show_change(c));
	add(top, "exports", exports);
	add(top, "settings", settings);
}

/**
 * control_done - what came of a request
 * @a: done
 *
 * Return: answer.
 */
struct json_object *control_done(const struct admin *a)
{
	struct json_object *top;

	if (a->error)
		return control_error(a->error, a->why);
	top = control_answer();
	if (a->op == ADMIN_RELOAD) {
		show_changes(top, a);
		return top;
	}
	add(top, "name", json_object_new_string(a->name));
	if (a->op != ADMIN_REMOVE)
		add(top, "size", json_object_new_uint64(a->bytes));
	return top;
}
