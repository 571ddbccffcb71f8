// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Figures of the daemon for a monitoring system. The lists of exports and sessions are in
 * the same answer; here is what they lack: what each export has done, and the daemon.
 *
 * Numbers that only grow must never seem to shrink. What an export has done is the sum over
 * its sessions, those that are over included; and while a session ends, some of its
 * commands cannot be seen. So an export is never reported with less than the last time.
 */
#include <sys/resource.h>

#include "admin/control_metrics.h"
#include "base/loop.h"
#include "base/util.h"
#include "config/options.h"
#include "export/export.h"
#include "export/quota.h"
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

/**
 * control_metrics_commands - commands by operation
 * @counts: of a session, or of an export
 *
 * Return: object.
 */
struct json_object *control_metrics_commands(const struct store_counts *counts)
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

static void no_less(struct store_counts *told, const struct store_counts *now)
{
	const uint64_t *from = (const uint64_t *)now;
	uint64_t *to = (uint64_t *)told;

	for (unsigned int i = 0; i < STORE_NUMBERS; i++)
		if (to[i] < from[i])
			to[i] = from[i];
}

/* A number may be read before another one that has grown first. */
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
	no_less(&e->told, &now);
	add(o, "export", json_object_new_string(e->cfg->name));
	add_number(o, "pending", pending_of(&running));
	add(o, "commands", control_metrics_commands(&e->told));
	add(o, "flush_latency", show_latency(&e->told.flush));
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

/* How much memory the daemon may lock and register, bytes; NULL: there is no limit */
static struct json_object *memlock_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return NULL;
	return json_object_new_uint64(limit.rlim_cur);
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
	add(o, "refused", show_refused(counts));
	add_number(o, "queues", taken->queues);
	add_number(o, "pinned", taken->bytes);
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
