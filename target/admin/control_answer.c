// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers on the socket of the administrator. Documentation/json describes them; a change that
 * could break a reader raises CONTROL_VERSION.
 */
#include <stdio.h>
#include <time.h>

#include "admin/control_answer.h"
#include "admin/control_request.h"
#include "base/loop.h"
#include "base/meminfo.h"
#include "base/util.h"
#include "config/options.h"
#include "export/export.h"
#include "export/quota.h"
#include "session/listener.h"
#include "session/session.h"
#include "session/session_audit.h"

static void add(struct json_object *to, const char *key, struct json_object *value)
{
	json_object_object_add(to, key, value);
}

static void add_number(struct json_object *to, const char *key, uint64_t number)
{
	add(to, key, json_object_new_uint64(number));
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

/* Adds the status of a store, unless a worker has the store. */
static void show_store(struct json_object *o, struct export *e)
{
	struct store_status status = { 0 };
	bool ready = e->state == EXPORT_READY;

	if (ready && e->store.ops->status)
		e->store.ops->status(&e->store, &status);
	add(o, "size", ready ? json_object_new_uint64(e->store.size) : NULL);
	add(o, "uuid", ready ? uuid_text(e->store.uuid) : NULL);
	add(o, "epoch", ready ? uuid_text(e->store.epoch) : NULL);
	add(o, "failed", json_object_new_boolean(status.failed || e->broken));
	add(o, "dirty", json_object_new_boolean(status.dirty));
	add(o, "comparing", json_object_new_uint64(status.comparing));
	add(o, "errors", json_object_new_uint64(status.errors));
}

/* Adds the place of a store's memory, unless a worker has the store. */
static struct json_object *node_or_null(const struct export *e)
{
	const struct numa_place *place = &e->store.place;

	return e->state == EXPORT_READY && place->placed ?
	       json_object_new_int64(place->node) : NULL;
}

/* Adds what the sessions of an export have taken, and their limits. */
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
	add(o, "state_dir", json_object_new_string(config_state_dir(e->daemon, ec)));
	add(o, "stable_epoch", json_object_new_boolean(ec->epoch == EPOCH_STABLE));
	add(o, "numa", node_or_null(e));
	add(o, "read_only", json_object_new_boolean(ec->read_only));
	add(o, "shared", json_object_new_boolean(ec->shared));
	add(o, "by_hand", json_object_new_boolean(e->by_hand));
	add(o, "allow", text_or_null(ec->allow));
	add(o, "allow_address", text_or_null(ec->allow_address));
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
	case SESSION_VISIT:
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

/* By operation, of a session or of an export */
static struct json_object *show_counts(const struct store_counts *counts)
{
	static const char * const names[STORE_OPS] = {
		"fence", "dirty", "flush", "discard", "write_zeroes", "secure_erase",
		"read", "write",
	};
	struct json_object *all = json_object_new_object();

	for (unsigned int i = 0; i < STORE_OPS; i++) {
		struct json_object *one = json_object_new_object();

		add_number(one, "done", counts->done[i]);
		add_number(one, "errors", counts->failed[i]);
		add_number(one, "bytes", counts->bytes[i]);
		add(all, names[i], one);
	}
	return all;
}

static struct json_object *show_commands(const struct session *s)
{
	struct store_counts counts = { 0 };

	session_counts(s, &counts);
	return show_counts(&counts);
}

/* Why it ends, for how long it has been ending, and what it waits for */
static void show_ending(struct json_object *o, const struct session *s)
{
	const char *awaits = session_awaits(s);

	add(o, "reason", awaits ? json_object_new_int((int)s->end.reason) : NULL);
	add(o, "reason_text", text_or_null(awaits ? rdmablk_reason_text(s->end.reason) : NULL));
	add(o, "ending_ms", awaits ? json_object_new_int64(loop_now() - s->end.began) : NULL);
	add(o, "waits_for", text_or_null(awaits));
}

static struct json_object *show_session(const struct session *s)
{
	bool visit = s->hello.flags & RDMABLK_HELLO_VISIT, export = s->hello.export_name[0];
	bool named = export || visit, proven = s->proof.name[0];
	struct json_object *o = json_object_new_object();
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)s->id);
	add(o, "id", json_object_new_string(id));
	add(o, "state", json_object_new_string(session_state_name(s->state)));
	add(o, "host", text_or_null(named ? s->hello.host_name : NULL));
	add(o, "host_id", named ? uuid_text(s->hello.host_id) : NULL);
	add(o, "auth_host", text_or_null(proven ? s->proof.name : NULL));
	add(o, "key_id", proven ? hex(s->proof.key_id, sizeof(s->proof.key_id)) : NULL);
	add(o, "address", json_object_new_string(s->peer_text));
	add(o, "device", text_or_null(s->device->name));
	add(o, "export", text_or_null(export ? s->hello.export_name : NULL));
	add(o, "visit", json_object_new_boolean(visit));
	add(o, "read_only", json_object_new_boolean(!s->lease.writer));
	add(o, "queues", json_object_new_int((int)(s->nr_data / 2)));
	add(o, "queue_depth", json_object_new_int(session_queue_depth(s)));
	add(o, "keep_alive_ms", json_object_new_int64(s->heard.keep_alive_ms));
	add(o, "since", json_object_new_int64(time(NULL) - (loop_now() - s->born) / 1000));
	add(o, "messages", json_object_new_uint64(s->heard.messages));
	add(o, "keepalives", json_object_new_uint64(s->heard.keepalives));
	add(o, "scratch", json_object_new_uint64(s->scratch.bytes));
	add(o, "commands", show_commands(s));
	show_ending(o, s);
	return o;
}

static struct json_object *show_listeners(void)
{
	struct json_object *list = json_object_new_array();
	struct listener_status status;

	for (unsigned int i = 0; listener_show(i, &status); i++) {
		struct json_object *o = json_object_new_object();

		add(o, "address", json_object_new_string(status.address));
		add(o, "device", text_or_null(status.device));
		add(o, "listening", json_object_new_boolean(status.listening));
		add(o, "allow_address", text_or_null(status.allow_address));
		add(o, "refused", json_object_new_uint64(status.refused));
		json_object_array_add(list, o);
	}
	return list;
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
	struct json_object *logins = json_object_new_object();
	const struct session *s;

	for (s = session_next(NULL); s; s = session_next(s))
		if (!*name || !strcmp(s->hello.export_name, name))
			json_object_array_add(list, show_session(s));
	add(top, "sessions", list);
	add(logins, "in_progress", json_object_new_uint64(quota_logins()));
	add(logins, "visits", json_object_new_uint64(quota_visits()));
	add(logins, "too_often", json_object_new_uint64(quota_rate_refused()));
	add(top, "logins", logins);
	add(top, "allow_address", text_or_null(listener_networks()));
	add(top, "listeners", show_listeners());
	return top;
}

/* The day of a time that value_date() has made */
static struct json_object *day_or_null(int64_t when)
{
	time_t time = when;
	char text[32];
	struct tm tm;

	if (!when || !gmtime_r(&time, &tm) || !strftime(text, sizeof(text), "%F", &tm))
		return NULL;
	return json_object_new_string(text);
}

static struct json_object *show_keys(const struct host *h)
{
	struct json_object *keys = json_object_new_array();

	for (unsigned int i = 0; i < host_section(h)->nr_keys; i++) {
		struct json_object *key = json_object_new_object();

		add(key, "file", json_object_new_string(host_section(h)->key[i]));
		add(key, "id", hex(host_key_id(h, i), RDMABLK_KEY_ID_LEN));
		json_object_array_add(keys, key);
	}
	return keys;
}

static struct json_object *show_host(const struct host *h)
{
	const struct host_config *hc = host_section(h);
	struct json_object *o = json_object_new_object();

	add(o, "name", json_object_new_string(hc->name));
	add(o, "keys", show_keys(h));
	add(o, "expires", day_or_null(hc->expires));
	add(o, "expired", json_object_new_boolean(!host_find_name(hc->name)));
	add(o, "host_id", hc->has_id ? uuid_text(hc->host_id) : NULL);
	add(o, "address", text_or_null(hc->address));
	add(o, "by_hand", json_object_new_boolean(host_by_hand(h)));
	return o;
}

/**
 * control_hosts - the hosts that may log in
 *
 * Return: answer.
 */
struct json_object *control_hosts(void)
{
	struct json_object *top = control_answer(), *list = json_object_new_array();
	const struct host *h = NULL;

	while ((h = host_next(h)))
		json_object_array_add(list, show_host(h));
	add(top, "hosts", list);
	return top;
}

/*
 * Figures for a monitoring system. The lists of exports and sessions are in the same answer;
 * here is what they lack: what each export has done, and the daemon.
 *
 * Counters must never seem to shrink. The counters of an export are sums over its sessions,
 * past ones included. While a session ends, some of its commands cannot be seen. So an export
 * is never reported with smaller counters than the last time.
 */

/* Buckets without durations are left out; the last one has no end. */
static struct json_object *show_latency(const struct latency *l)
{
	struct json_object *o = json_object_new_object(), *buckets = json_object_new_array();

	add_number(o, "sum_ns", l->sum);
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		struct json_object *bucket;

		if (!l->count[i])
			continue;
		bucket = json_object_new_object();
		add(bucket, "end_ns", i < LATENCY_BUCKETS - 1 ?
		    json_object_new_uint64(latency_end(i)) : NULL);
		add_number(bucket, "count", l->count[i]);
		json_object_array_add(buckets, bucket);
	}
	add(o, "buckets", buckets);
	return o;
}

static void no_less(struct store_counts *shown, const struct store_counts *now)
{
	const uint64_t *from = (const uint64_t *)now;
	uint64_t *to = (uint64_t *)shown;

	for (unsigned int i = 0; i < STORE_NUMBERS; i++)
		if (to[i] < from[i])
			to[i] = from[i];
}

/* The numbers are not read at one moment, so their difference could be negative. */
static uint64_t pending_of(const struct store_counts *counts)
{
	uint64_t done = 0;

	for (unsigned int i = 0; i < STORE_OPS; i++)
		done += counts->done[i];
	return counts->begun > done ? counts->begun - done : 0;
}

/* A session that has let its export go is in @past. */
static struct json_object *show_work(struct export *e)
{
	struct json_object *o = json_object_new_object();
	struct store_counts now = { 0 }, running = { 0 };
	const struct session *s;

	for (s = session_next(NULL); s; s = session_next(s))
		if (s->export == e && s->leased)
			session_counts(s, &running);
	store_add_counts(&now, &e->past);
	store_add_counts(&now, &running);
	no_less(&e->shown, &now);
	add(o, "export", json_object_new_string(e->cfg->name));
	add_number(o, "pending", pending_of(&running));
	add(o, "commands", show_counts(&e->shown));
	add(o, "flush_latency", show_latency(&e->shown.flush));
	return o;
}

static void add_refused(struct json_object *list, const char *what, const uint64_t *counts)
{
	for (unsigned int i = 0; i < SESSION_AUDIT_REASONS; i++) {
		struct json_object *o;

		if (!counts[i])
			continue;
		o = json_object_new_object();
		add(o, "what", json_object_new_string(what));
		add(o, "reason", json_object_new_int((int)i));
		add(o, "reason_text", json_object_new_string(rdmablk_reason_text(i)));
		add_number(o, "count", counts[i]);
		json_object_array_add(list, o);
	}
}

static struct json_object *show_refused(const struct session_audit_counts *counts)
{
	struct json_object *list = json_object_new_array();

	add_refused(list, "login", counts->logins_refused);
	add_refused(list, "connection", counts->connections_refused);
	return list;
}

/* How much memory the daemon may lock and register, bytes; NULL: any amount */
static struct json_object *memlock_limit(void)
{
	uint64_t most = meminfo_lockable();

	return most == UINT64_MAX ? NULL : json_object_new_uint64(most);
}

static struct json_object *show_daemon(void)
{
	const struct session_audit_counts *counts = session_audit_counts();
	const struct quota_account *taken = quota_taken();
	struct json_object *o = json_object_new_object();
	const struct export *any = export_next(NULL);
	uint64_t most = any ? any->daemon->max_pinned_all : 0;

	add(o, "version", json_object_new_string(RDMABLKD_VERSION));
	add_number(o, "logins", counts->logins);
	add_number(o, "takeovers", counts->takeovers);
	add_number(o, "ended", counts->ended);
	add_number(o, "visits", counts->visits);
	add(o, "refused", show_refused(counts));
	add_number(o, "queues", taken->queues);
	add_number(o, "pinned", taken->bytes);
	add_number(o, "scratch", quota_lent());
	add(o, "max_pinned", most ? json_object_new_uint64(most) : NULL);
	add(o, "memlock", memlock_limit());
	add(o, "loop_turns", show_latency(loop_turns()));
	return o;
}

/**
 * control_metrics_add - add the figures of exports and daemon to an answer
 * @top: the answer, which has the lists already
 */
void control_metrics_add(struct json_object *top)
{
	struct json_object *list = json_object_new_array();
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e))
		json_object_array_add(list, show_work(e));
	add(top, "work", list);
	add(top, "daemon", show_daemon());
}

/**
 * control_metrics - exports, sessions and figures
 *
 * One answer, so that the figures are of one moment.
 *
 * Return: answer.
 */
struct json_object *control_metrics(void)
{
	struct json_object *top = control_list(""), *more = control_sessions(""), *sessions;

	if (json_object_object_get_ex(more, "sessions", &sessions))
		add(top, "sessions", json_object_get(sessions));
	json_object_put(more);
	control_metrics_add(top);
	return top;
}

/*
 * The outcome of a request
 */

static struct json_object *show_change(const struct admin_change *c)
{
	struct json_object *o = json_object_new_object();

	add(o, "name", json_object_new_string(c->name));
	add(o, "action", text_or_null(c->action));
	add(o, "message", text_or_null(c->why[0] ? c->why : NULL));
	return o;
}

/* @thing: kind of the things that are wanted */
static struct json_object *list_changes(const struct admin *a, enum admin_thing thing)
{
	struct json_object *list = json_object_new_array();
	const struct admin_change *c;

	TAILQ_FOREACH(c, &a->changes, entry)
		if (c->thing == thing)
			json_object_array_add(list, show_change(c));
	return list;
}

static void show_report(struct json_object *top, const struct admin *a)
{
	add(top, "exports", list_changes(a, ADMIN_EXPORT));
	add(top, "hosts", list_changes(a, ADMIN_HOST));
	if (a->op == ADMIN_RELOAD) {
		add(top, "settings", list_changes(a, ADMIN_SETTING));
	} else {
		add(top, "path", json_object_new_string(a->path));
		add(top, "text", json_object_new_string(a->text));
	}
}

/**
 * control_done - the outcome of a request
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
	if (a->op == ADMIN_RELOAD || a->op == ADMIN_SAVE) {
		show_report(top, a);
		return top;
	}
	add(top, "name", json_object_new_string(a->name));
	if (a->op == ADMIN_KICK)
		add(top, "sessions", list_changes(a, ADMIN_SESSION));
	else if (a->op == ADMIN_ALLOW)
		add(top, "allow", text_or_null(a->allow[0] ? a->allow : NULL));
	else if (a->op != ADMIN_REMOVE && !admin_of_host(a->op))
		add(top, "size", json_object_new_uint64(a->bytes));
	return top;
}
