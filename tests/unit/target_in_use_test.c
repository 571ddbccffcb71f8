// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes of exports that are in use, and exports whose files hang: which sessions get an event,
 * which ones end, which requests wait, and what the end of the daemon waits for. Sessions have
 * no adapter.
 *
 * Sources: target/admin/admin.c target/admin/admin_step.c target/admin/control.c
 *	   target/admin/control_answer.c
 *	   target/export/export.c target/session/session_list.c
 * Libraries: json-c liburing
 */
#include <json-c/json.h>
#include <limits.h>

#include "../../target/admin/control_answer.h"
#include "../../target/admin/control_request.h"
#include "../../target/session/login.h"
#include "../../target/store/store_thread.h"
#include "../../target/wire/mac.h"
#include "target_admin.h"

static void again_later(struct loop_timer *timer)
{
	(void)timer;
	loop_stop();
}

static void some_time(void)
{
	static struct loop_timer timer = { .expired = again_later };

	loop_timer_start(&timer, 10);
	assert_int_equal(loop_run(), 0);
	loop_timer_stop(&timer);
}

/* Adds a cached file whose faults the file @rules controls. */
static struct export *add_faulty(const char *name, const char *path, const char *rules)
{
	char spec[512];

	files_text(rules, "");
	snprintf(spec, sizeof(spec), "%s,file=%s,cache=full,fault=%s", name, path, rules);
	assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
	return export_find(name);
}

static struct admin *begin(enum admin_op op, const char *name)
{
	struct admin *a = admin_alloc(op);

	assert_non_null(a);
	snprintf(a->name, sizeof(a->name), "%s", name);
	a->done = done;
	admin_free(last);
	last = NULL;
	admin_submit(a);
	return a;
}

/*
 * A worker has an export whose file hangs. The daemon counts such an export as not closed,
 * because an exit now would lose the data in memory.
 */
static void what_a_worker_has_is_counted(void **state)
{
	const char *path = files_new("hung", 4 * MIB), *rules = files_path("rules");
	unsigned int left = 0;
	struct export *e;

	(void)state;
	/* export_close_unused() would close this export */
	assert_int_equal(run(ADMIN_REMOVE, "first", NULL, 0), 0);
	e = add_faulty("hung", path, rules);
	files_write(path, MIB, MIB, 1);
	files_text(rules, "read hang\n");
	e->store.ops->ended(&e->store, false);
	begin(ADMIN_REMOVE, "hung");
	while (e->state != EXPORT_LEAVING)
		some_time();
	for (int i = 0; i < 5; i++) {
		some_time();
		left += export_close_unused();
	}
	files_text(rules, "");
	while (!last)
		some_time();
	assert_int_equal(left, 5);
	assert_int_equal(last->error, 0);
	assert_int_equal(export_close_unused(), 0);
	e = add_faulty("hung", path, rules);
	assert_int_equal(truncate(path, 8 * MIB), 0);
	files_write(path, 5 * MIB, MIB, 1);
	files_text(rules, "read hang\n");
	begin(ADMIN_RESIZE, "hung");
	assert_true(e->growing);
	some_time();
	left = export_close_unused();
	files_text(rules, "");
	while (!last)
		some_time();
	assert_int_equal(left, 1);
	assert_int_equal(last->error, 0);
	assert_int_equal(run(ADMIN_REMOVE, "hung", NULL, 0), 0);
	assert_int_equal(run(ADMIN_ADD, "", "first,memory,size=1M,hugepages=no", 0), 0);
}

/*
 * A session that cannot be fenced, or is being registered, keeps its export from being closed.
 * The export counts as held if the session was let write, or if the file still lacks writes of
 * another session. A session that was never let write does not count by itself.
 */
static void what_cannot_be_closed_is_counted(void **state)
{
	const char *path = files_new("held", 4 * MIB), *rules = files_path("rules");
	struct export *e = add_faulty("held", path, rules);
	struct lease reader = { 0 }, writer = { .writer = true, .ending = true };
	unsigned int held, still;

	(void)state;
	assert_int_equal(export_held(), 0);
	export_lease(e, &reader);
	some_time();
	assert_int_equal(export_held(), 0);
	export_lease(e, &writer);
	assert_int_equal(export_held(), 0);
	export_let_write(e, &writer);
	assert_int_equal(export_held(), 1);
	export_release(&writer);
	files_text(rules, "read hang\n");
	files_write(path, MIB, MIB, 1);
	e->store.ops->ended(&e->store, false);
	held = export_held();
	store_thread_wake(e->store.thread);
	some_time();
	still = export_held();
	files_text(rules, "");
	assert_int_equal(held, 1);
	assert_int_equal(still, 1);
	for (int i = 0; i < 1000 && export_held(); i++)
		some_time();
	assert_int_equal(export_held(), 0);
	assert_true(files_zero(path, MIB, MIB));
	export_release(&reader);
	assert_int_equal(run(ADMIN_REMOVE, "held", NULL, 0), 0);
}

static atomic_bool flushed;

static void flush_done(struct store_work *w)
{
	flushed = w->status == RDMABLK_OK;
}

/* A FLUSH that compares arena and file locks the store; its progress is visible nevertheless. */
static void the_progress_of_a_flush_is_seen(void **state)
{
	const char *path = files_new("large", 32 * MIB), *rules = files_path("rules");
	static struct store_work w = { .op = RDMABLK_OP_FLUSH, .done = flush_done };
	struct store_status status = { 0 };
	bool early;
	struct export *e;

	(void)state;
	files_write(path, 0, 32 * MIB, 1);
	e = add_faulty("large", path, rules);
	some_time();
	files_text(rules, "read hang at 16M+8M\n");
	e->store.ops->ended(&e->store, false);
	store_thread_submit(e->store.thread, &w);
	for (int i = 0; i < 1000 && status.comparing != 16 * MIB; i++) {
		some_time();
		e->store.ops->status(&e->store, &status);
	}
	early = flushed;
	files_text(rules, "");
	for (int i = 0; i < 1000 && !flushed; i++)
		some_time();
	assert_false(early);
	assert_true(flushed);
	assert_int_equal(status.comparing, 16 * MIB);
	e->store.ops->status(&e->store, &status);
	assert_int_equal(status.comparing, 0);
	assert_int_equal(run(ADMIN_REMOVE, "large", NULL, 0), 0);
}

/*
 * Sessions without an adapter. Their events stay due, because ctrl.events says that too many are
 * under way.
 */
static struct device adapter = { .attr.max_mr_size = 64 * MIB };

static struct session *session_new(struct export *e, enum session_state state)
{
	struct session *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->cfg = &cfg;
	s->device = &adapter;
	s->export = e;
	s->state = state;
	s->hello.features = RDMABLK_F_COMMANDS;
	s->scope.size = e ? e->store.size : 0;
	s->regions.nr = e && !e->store.ops->staged ? 1 : 0;
	s->ctrl.events = UINT_MAX;
	session_add(s);
	return s;
}

#define DUE(event)	(1U << RDMABLK_EVENT_##event)

/* A growth that would need new regions is refused: EBUSY. Else live sessions get a RESIZE event. */
static void growth_of_what_is_used(void **state)
{
	const char *path = files_new("used", 4 * MIB);
	struct session *s, *early;
	struct export *e;
	char spec[256];

	(void)state;
	snprintf(spec, sizeof(spec), "used,file=%s,cache=full,region=4M", path);
	assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
	e = export_find("used");
	s = session_new(e, SESSION_LIVE);
	assert_int_equal(truncate(path, 8 * MIB), 0);
	assert_int_equal(run(ADMIN_RESIZE, "used", NULL, 0), -EBUSY);
	assert_non_null(strstr(last->why, "one region"));
	assert_true(e->store.size == 4 * MIB);
	assert_false(s->events.due);
	/* a disk with several regions knows where they end */
	s->regions.nr = 2;
	early = session_new(e, SESSION_REGISTER);
	early->regions.nr = 2;
	assert_int_equal(run(ADMIN_RESIZE, "used", NULL, 0), 0);
	assert_int_equal(s->events.due, DUE(RESIZE));
	assert_true(s->events.value[RDMABLK_EVENT_RESIZE] == 8 * MIB);
	/* a session gets no event before GRANT */
	assert_false(early->events.due);
	early->state = SESSION_GRANTED;
	session_tell_size(early);
	assert_int_equal(early->events.due, DUE(RESIZE));
	session_remove(early);
	session_remove(s);
	assert_int_equal(truncate(path, 16 * MIB), 0);
	assert_int_equal(run(ADMIN_RESIZE, "used", NULL, 0), 0);
	assert_int_equal(run(ADMIN_REMOVE, "used", NULL, 0), 0);
	/* an uncached file has no regions to outgrow; a cached one may grow within its region */
	for (int full = 0; full < 2; full++) {
		assert_int_equal(truncate(path, 4 * MIB), 0);
		snprintf(spec, sizeof(spec), "used,file=%s%s", path,
			 full ? ",cache=full" : "");
		assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
		s = session_new(export_find("used"), SESSION_LIVE);
		assert_int_equal(truncate(path, 64 * MIB), 0);
		assert_int_equal(run(ADMIN_RESIZE, "used", NULL, 0), 0);
		assert_int_equal(s->events.due, DUE(RESIZE));
		s->events.due = 0;
		assert_int_equal(truncate(path, 65 * MIB), 0);
		assert_int_equal(run(ADMIN_RESIZE, "used", NULL, 0), full ? -EBUSY : 0);
		assert_int_equal(s->events.due, full ? 0 : DUE(RESIZE));
		session_remove(s);
		assert_int_equal(run(ADMIN_REMOVE, "used", NULL, 0), 0);
	}
}

/* A drain tells live sessions, and ends logins under way, so that none becomes live untold. */
static void a_drain_reaches_logins(void **state)
{
	struct export *e = export_find("first");
	struct session *s[SESSION_CLOSING], *other;

	(void)state;
	other = session_new(NULL, SESSION_GRANTED);
	for (unsigned int i = 0; i < ARRAY_SIZE(s); i++) {
		s[i] = session_new(e, i);
		s[i]->busy = true;	/* a worker has it, so its end only begins */
	}
	assert_int_equal(session_drain(e, 200, 60000), 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(s); i++) {
		bool live = i == SESSION_LIVE;

		assert_int_equal(s[i]->state, live ? SESSION_LIVE : SESSION_CLOSING);
		assert_int_equal(s[i]->events.due, live ? DUE(DRAIN) | DUE(LEAVING) : 0);
		assert_int_equal(s[i]->end.reason, live ? 0 : RDMABLK_R_EXPORT_GONE);
		session_remove(s[i]);
	}
	assert_int_equal(other->state, SESSION_GRANTED);
	other->busy = true;
	assert_int_equal(session_drain(NULL, 200, 60000), 0);
	assert_int_equal(other->end.reason, RDMABLK_R_SHUTDOWN);
	session_remove(other);
}

/*
 * A disk that comes back may have unflushed writes, which it can flush only while this process
 * lives. So a drain lets its login go on, and the session gets the DRAIN event after GRANT.
 */
static void a_drain_lets_in_who_has_to_flush(void **state)
{
	struct export *e = export_find("first");
	struct session *s[SESSION_CLOSING], *read_only, *clean;
	uint64_t before, after;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(s); i++) {
		s[i] = session_new(e, i);
		s[i]->busy = true;
		s[i]->hello.flags = RDMABLK_HELLO_RESUME;
		s[i]->lease.writer = i >= SESSION_REGISTER;
		s[i]->grant_flags = i >= SESSION_REGISTER ? RDMABLK_GRANT_CACHE : 0;
	}
	read_only = session_new(e, SESSION_GRANTED);
	read_only->busy = true;
	read_only->hello.flags = RDMABLK_HELLO_RESUME;
	read_only->grant_flags = RDMABLK_GRANT_CACHE;
	clean = session_new(e, SESSION_GRANTED);
	clean->busy = true;
	clean->hello.flags = RDMABLK_HELLO_RESUME;
	clean->lease.writer = true;
	before = (uint64_t)loop_now();
	assert_int_equal(session_drain(NULL, 200, 60000), 3);
	after = (uint64_t)loop_now();
	assert_int_equal(session_caches(NULL), 3);
	for (unsigned int i = 0; i < ARRAY_SIZE(s); i++) {
		bool stays = i >= SESSION_REGISTER;

		/* a login whose export is not known yet may be of such a disk; a visit is not */
		assert_int_equal(s[i]->state, i == SESSION_VISIT ? SESSION_CLOSING : i);
		assert_int_equal(s[i]->events.due, stays ? DUE(DRAIN) : 0);
		if (stays)
			assert_in_range(s[i]->events.value[RDMABLK_EVENT_DRAIN],
					before + 60000, after + 60000);
	}
	assert_int_equal(read_only->state, SESSION_CLOSING);
	assert_int_equal(clean->state, SESSION_CLOSING);
	/* a session that is ending does not count any more */
	s[SESSION_GRANTED]->state = SESSION_CLOSING;
	assert_int_equal(session_caches(e), 2);
	for (unsigned int i = 0; i < ARRAY_SIZE(s); i++)
		session_remove(s[i]);
	session_remove(read_only);
	session_remove(clean);
}

static struct session *session_dirty(struct export *e)
{
	struct session *s = session_new(e, SESSION_LIVE);

	s->busy = true;
	s->lease.writer = true;
	s->grant_flags = RDMABLK_GRANT_CACHE;
	return s;
}

/*
 * The first FLUSH after a session that ended without one reads all of the file. While such a
 * FLUSH is under way, and a moment longer for the LOGOUT, the drain does not end its session.
 * After three more FLUSHes it does.
 */
static void a_flush_takes_its_time(void **state)
{
	struct export *e = export_find("first");
	struct session *late = session_dirty(e), *idle = session_dirty(e);
	struct session *greedy = session_dirty(e);

	(void)state;
	late->cmdqs.flush_under_way = true;
	late->cmdqs.flushes = 7;
	greedy->cmdqs.flush_under_way = true;
	assert_int_equal(session_end_late(e, RDMABLK_R_EXPORT_GONE), 2);
	assert_int_equal(idle->state, SESSION_CLOSING);
	assert_int_equal(idle->end.reason, RDMABLK_R_EXPORT_GONE);
	late->cmdqs.flush_under_way = false;
	late->cmdqs.flush_ended = loop_now();
	greedy->cmdqs.flushes = 3;
	assert_int_equal(session_end_late(NULL, RDMABLK_R_SHUTDOWN), 1);
	assert_int_equal(greedy->state, SESSION_CLOSING);
	late->cmdqs.flushes++;
	assert_int_equal(session_end_late(NULL, RDMABLK_R_SHUTDOWN), 1);
	late->cmdqs.flush_ended -= 60000;
	assert_int_equal(session_end_late(NULL, RDMABLK_R_SHUTDOWN), 0);
	assert_int_equal(late->end.reason, RDMABLK_R_SHUTDOWN);
	session_remove(late);
	session_remove(idle);
	session_remove(greedy);
}

/* Sends PROOF for a login to @e. Return: reason of its end, at the latest IDENTITY */
static unsigned int prove(struct export *e, uint32_t flags)
{
	static const uint8_t no_key[RDMABLK_MAC_LEN];
	struct session *s = session_new(NULL, SESSION_PROOF);
	struct rdmablk_proof proof = { .hdr = { .type = htole16(RDMABLK_MSG_PROOF),
						.length = htole16(sizeof(proof)) } };
	unsigned int reason;

	/* the disk is that of another export, so that the login ends */
	s->hello.uuid[0] = (uint8_t)~e->store.uuid[0];
	s->hello.flags = flags;
	s->hello.features = RDMABLK_F_COMMANDS;
	snprintf(s->hello.export_name, sizeof(s->hello.export_name), "%s", e->cfg->name);
	assert_int_equal(mac_proof(no_key, &s->login.hello, &s->login.challenge, proof.mac), 0);
	reason = login_receive(s, &proof, sizeof(proof));
	session_remove(s);
	return reason;
}

static struct session *session_of(const char *host, const char *proven)
{
	struct session *s = session_dirty(export_find("first"));

	snprintf(s->hello.host_name, sizeof(s->hello.host_name), "%s", host);
	snprintf(s->hello.export_name, sizeof(s->hello.export_name), "first");
	snprintf(s->proof.name, sizeof(s->proof.name), "%s", proven);
	s->version = proven[0] ? RDMABLK_VERSION_PROVEN : RDMABLK_VERSION_OPEN;
	return s;
}

static const char *text_in(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(o, key, &value));
	return value ? json_object_get_string(value) : NULL;
}

/* If a host has proven a key, its own name for itself is neither logged nor usable for a kick. */
static void expect_proven_name(const struct session *s)
{
	assert_non_null(strstr(session_text(s), " host db1 ("));
	assert_null(strstr(session_text(s), "web10"));
	assert_int_equal(run(ADMIN_KICK, "web10", NULL, 0), -ENOENT);
	assert_int_equal(s->state, SESSION_LIVE);
}

/*
 * A kick ends sessions by their id, or by the name of their host. That is the proven name, or
 * without keys the name in HELLO. A kick does not wait for another request under way. It does
 * not count sessions that are ending already; the list of sessions says what these wait for.
 */
static void who_is_kicked_ends(void **state)
{
	struct session *s[] = {
		session_of("web1", ""), session_of("else", "web1"), session_of("web10", "db1"),
	};
	struct json_object *answer, *rows, *row = NULL;
	struct admin *slow;
	char id[17];

	(void)state;
	s[0]->busy = true;
	add_faulty("slow", files_new("slow", 4 * MIB), files_path("rules"));
	files_text(files_path("rules"), "close hang");
	slow = begin(ADMIN_REMOVE, "slow");
	assert_null(last);
	assert_int_equal(run(ADMIN_KICK, "web", NULL, 0), -ENOENT);
	assert_non_null(strstr(last->why, ": web"));
	assert_int_equal(run(ADMIN_KICK, "web1", NULL, 0), 0);
	assert_int_equal(s[0]->state, SESSION_CLOSING);
	assert_int_equal(s[0]->end.reason, RDMABLK_R_KICKED);
	assert_int_equal(s[1]->end.reason, RDMABLK_R_KICKED);
	assert_int_equal(s[2]->state, SESSION_LIVE);
	answer = control_done(last);
	assert_string_equal(text_in(answer, "name"), "web1");
	assert_true(json_object_object_get_ex(answer, "sessions", &rows));
	assert_int_equal(json_object_array_length(rows), 2);
	row = json_object_array_get_idx(rows, 0);
	assert_string_equal(text_in(row, "action"), "ended");
	assert_non_null(strstr(text_in(row, "message"), "export first"));
	json_object_put(answer);
	assert_int_equal(run(ADMIN_KICK, "web1", NULL, 0), -ENOENT);
	expect_proven_name(s[2]);

	s[0]->end.began -= 7000;
	answer = control_sessions("first");
	assert_true(json_object_object_get_ex(answer, "sessions", &rows));
	assert_int_equal(json_object_array_length(rows), 3);
	for (size_t i = 0; i < 3; i++) {
		row = json_object_array_get_idx(rows, i);
		if (!strcmp(text_in(row, "host"), "web10")) {
			assert_null(text_in(row, "waits_for"));
			assert_null(text_in(row, "ending_ms"));
			assert_null(text_in(row, "reason"));
		} else {
			assert_non_null(strstr(text_in(row, "waits_for"), "a worker"));
			assert_string_equal(text_in(row, "reason_text"),
					    rdmablk_reason_text(RDMABLK_R_KICKED));
		}
		if (!strcmp(text_in(row, "host"), "web1"))
			assert_true(atoll(text_in(row, "ending_ms")) >= 7000);
	}
	json_object_put(answer);

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)s[2]->id);
	assert_int_equal(run(ADMIN_KICK, id, NULL, 0), 0);
	assert_int_equal(s[2]->end.reason, RDMABLK_R_KICKED);
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		session_remove(s[i]);
	admin_free(last);
	last = NULL;
	files_text(files_path("rules"), "");
	assert_int_equal(loop_run(), 0);
	assert_ptr_equal(last, slow);
}

/* A drain ends a login that may be of an expected disk only when the time for that is over. */
static void the_end_lets_in(struct export *e)
{
	struct session *s = session_new(NULL, SESSION_HELLO);

	s->busy = true;
	export_await(e, loop_now() + 60000);
	session_drain(NULL, 200, 60000);
	assert_int_equal(s->state, SESSION_HELLO);
	export_await(e, loop_now() - 1);
	session_drain(NULL, 200, 60000);
	assert_int_equal(s->end.reason, RDMABLK_R_SHUTDOWN);
	session_remove(s);
}

/*
 * Which ends of a session leave its export awaiting the disk: it may come back to flush, or to
 * go on. A new writer of the export ends the wait.
 */
static void who_may_have_to_flush_is_expected(void **state)
{
	enum { TOLD = 1, FAILED = 2, PENDING = 4, CHANGED = 8, STAGED = 16 };
	static const struct { unsigned int reason, clean, is, refused, awaited; } ends[] = {
		{ RDMABLK_R_CONNECTION, 0, 0, 0, 1 }, { RDMABLK_R_EXPIRED, 0, 0, 0, 1 },
		{ RDMABLK_R_REPLACED, 0, 0, 0, 1 }, { RDMABLK_R_DEVICE_GONE, 0, 0, 0, 1 },
		{ RDMABLK_R_LOGOUT, 0, 0, 0, 1 }, { RDMABLK_R_LOGOUT, 1, 0, 0, 0 },
		{ RDMABLK_R_KICKED, 0, 0, 0, 1 },
		{ RDMABLK_R_STOLEN, 0, 0, 0, 0 }, { RDMABLK_R_SHUTDOWN, 0, 0, 0, 0 },
		/* a session that got DRAIN, but had more to flush, comes back */
		{ RDMABLK_R_LOGOUT, 0, TOLD, 0, 1 }, { RDMABLK_R_LOGOUT, 1, TOLD, 0, 0 },
		/* not if its FLUSH failed and it logs out; but after a lost connection */
		{ RDMABLK_R_LOGOUT, 0, TOLD | FAILED, 0, 0 },
		{ RDMABLK_R_CONNECTION, 0, TOLD | FAILED, 0, 1 },
		{ RDMABLK_R_LOGOUT, 0, FAILED, 0, 1 },
		/* not if only commands that take too long are left, and all else is flushed */
		{ RDMABLK_R_LOGOUT, 0, TOLD | PENDING, 0, 0 },
		{ RDMABLK_R_LOGOUT, 0, TOLD | PENDING | CHANGED, 0, 1 },
		{ RDMABLK_R_LOGOUT, 0, TOLD | PENDING | CHANGED | FAILED, 0, 0 },
		/* unflushed data of a staged store outlives this process */
		{ RDMABLK_R_LOGOUT, 0, TOLD | STAGED, 0, 0 }, { RDMABLK_R_LOGOUT, 0, STAGED, 0, 1 },
		/* the initiator refuses such an export for good, or only for now */
		{ RDMABLK_R_CONNECTION, 0, 0, RDMABLK_R_SHRUNK, 0 },
		{ RDMABLK_R_CONNECTION, 0, 0, RDMABLK_R_DEVICE_FULL, 1 },
	};
	struct export *first = export_find("first"), *e;
	struct lease writer = { .writer = true };
	struct session *s;

	(void)state;
	e = add_faulty("away", files_new("away", 4 * MIB), files_path("rules"));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		s = session_dirty(e);
		s->end.clean = ends[i].clean;
		s->login.refused = ends[i].refused;
		s->state = SESSION_REGISTER;	/* the event stays due until GRANT */
		if (ends[i].is & TOLD)
			session_tell(s, RDMABLK_EVENT_DRAIN, 0);
		s->state = SESSION_LIVE;
		s->cmdqs.flush_failed = ends[i].is & FAILED;
		s->cmdqs.pending = !!(ends[i].is & PENDING);
		s->cmdqs.changed = ends[i].is & CHANGED;
		s->staged = ends[i].is & STAGED ? (struct staged *)s : NULL;
		session_end(s, ends[i].reason);
		assert_int_equal(export_awaiting(), ends[i].awaited);
		s->staged = NULL;
		s->cmdqs.pending = 0;
		session_remove(s);
		export_lease(e, &writer);	/* a writer, the same disk or another */
		assert_int_equal(export_awaiting(), 0);
		export_release(&writer);
	}
	/* a login that resumes fails for lack of memory, and is tried again */
	s = session_dirty(e);
	s->state = SESSION_REGISTER;
	s->hello.flags = RDMABLK_HELLO_RESUME;
	session_end(s, RDMABLK_R_NO_MEMORY);
	assert_int_equal(export_awaiting(), 1);
	session_remove(s);
	export_await(e, 0);
	/* the disk of a memory store is awaited, but not by the daemon's end; a reader is not */
	export_await(first, 0);
	s = session_dirty(first);
	s->grant_flags = 0;
	session_end(s, RDMABLK_R_CONNECTION);
	session_remove(s);
	assert_true(first->awaited > loop_now());
	export_await(first, 0);
	s = session_dirty(e);
	s->lease.writer = false;
	session_end(s, RDMABLK_R_CONNECTION);
	session_remove(s);
	assert_int_equal(export_awaiting(), 0);
	the_end_lets_in(e);
	assert_int_equal(run(ADMIN_REMOVE, "away", NULL, 0), 0);
}

/*
 * While logins are refused because the daemon ends, a disk that may have to flush is still let
 * in, until its time is over. After that a login would only delay the end.
 */
static void who_may_have_to_flush_is_let_in(void **state)
{
	struct export *first = export_find("first"), *e;

	(void)state;
	e = add_faulty("back", files_new("back", 4 * MIB), files_path("rules"));
	login_refuse_all(RDMABLK_R_SHUTDOWN, loop_now() + 60000);
	assert_int_equal(prove(e, 0), RDMABLK_R_SHUTDOWN);
	assert_int_equal(prove(e, RDMABLK_HELLO_RESUME | RDMABLK_HELLO_READ_ONLY),
			 RDMABLK_R_SHUTDOWN);
	assert_int_equal(prove(first, RDMABLK_HELLO_RESUME), RDMABLK_R_SHUTDOWN);
	assert_int_equal(prove(e, RDMABLK_HELLO_RESUME), RDMABLK_R_IDENTITY);
	assert_int_equal(login_refuses(), RDMABLK_R_SHUTDOWN);
	export_await(e, loop_now() + 60000);
	assert_int_equal(login_refuses(), RDMABLK_OK);
	login_refuse_all(RDMABLK_R_SHUTDOWN, loop_now());
	assert_int_equal(export_awaiting(), 1);
	assert_int_equal(login_refuses(), RDMABLK_R_SHUTDOWN);
	assert_int_equal(prove(e, RDMABLK_HELLO_RESUME), RDMABLK_R_SHUTDOWN);
	login_refuse_all(RDMABLK_R_SHUTDOWN, loop_now() + 60000);
	/* an export that is closed already: the answer is SHUTDOWN, not that it does not exist */
	e->state = EXPORT_CLOSED;
	assert_int_equal(prove(e, RDMABLK_HELLO_RESUME), RDMABLK_R_SHUTDOWN);
	e->state = EXPORT_READY;
	login_refuse_all(RDMABLK_OK, 0);
	assert_int_equal(login_refuses(), RDMABLK_OK);
	assert_int_equal(prove(first, RDMABLK_HELLO_RESUME), RDMABLK_R_IDENTITY);
	export_await(e, 0);
	assert_int_equal(run(ADMIN_REMOVE, "back", NULL, 0), 0);
}

/*
 * A file that is too short takes no writes. Until it has its length back, only the arena has the
 * unflushed writes. So such an export is not reopened, even if no session uses it.
 */
static void unflushed_writes_outlive_a_short_file(void **state)
{
	const char *path = files_new("cut", 4 * MIB);
	struct lease writer = { .writer = true };
	const struct admin_change *c;
	struct export *e;

	(void)state;
	e = add_faulty("cut", path, files_path("rules"));
	assert_int_equal(truncate(path, 2 * MIB), 0);
	memset((char *)e->store.base + MIB, 7, MIB);
	memset((char *)e->store.base + 3 * MIB, 7, MIB);
	e->store.ops->ended(&e->store, false);
	assert_int_equal(run(ADMIN_RESIZE, "cut", NULL, 0), -ERANGE);
	assert_non_null(strstr(last->why, "export cut: "));
	assert_non_null(strstr(last->why, "may lack writes that are in memory"));
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	TAILQ_FOREACH(c, &last->changes, entry)
		if (!strcmp(c->name, "cut"))
			break;
	assert_true(c && !c->action && strstr(c->why, "give it its length back"));
	assert_true(e->state == EXPORT_READY && e->store.size == 4 * MIB);
	assert_int_equal(truncate(path, 4 * MIB), 0);
	store_thread_wake(e->store.thread);
	for (int i = 0; i < 1000 && export_lacks(e); i++)
		some_time();
	assert_false(export_lacks(e));
	assert_false(files_zero(path, MIB, MIB));
	assert_false(files_zero(path, 3 * MIB, MIB));
	/* a session that is ending may have written, too */
	assert_int_equal(truncate(path, 2 * MIB), 0);
	export_lease(e, &writer);
	export_let_write(e, &writer);
	assert_int_equal(run(ADMIN_RESIZE, "cut", NULL, 0), -ERANGE);
	export_release(&writer);
	assert_int_equal(run(ADMIN_RESIZE, "cut", NULL, 0), 0);
	assert_true(e->store.size == 2 * MIB);
	assert_int_equal(run(ADMIN_REMOVE, "cut", NULL, 0), 0);
}

static int post_any(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
}

/*
 * The disk of a lost session has to log in again and again until the old session is fenced. So it
 * is awaited without limit until then, and for at most 10 s after that.
 */
static void who_is_told_to_come_again_is_expected(void **state)
{
	struct ibv_context verbs = { .ops.post_send = post_any };
	struct ibv_qp qp = { .context = &verbs };
	struct ibv_mr mr = { 0 };
	struct export *e;
	struct session *s;

	(void)state;
	e = add_faulty("again", files_new("again", 4 * MIB), files_path("rules"));
	s = session_dirty(e);
	s->ctrl = (struct ctrl){ .qp = &qp, .mr = &mr };
	s->ctrl.buf = calloc(CTRL_RECVS + CTRL_SENDS, RDMABLK_CTRL_MSG_MAX);
	assert_non_null(s->ctrl.buf);
	export_lease(e, &s->lease);
	s->leased = true;
	session_end(s, RDMABLK_R_CONNECTION);
	assert_int_equal(s->state, SESSION_CLOSING);
	assert_true(e->awaited > loop_now() + 24 * 3600 * 1000);
	assert_int_equal(export_awaiting(), 1);
	s->busy = false;
	session_fence(s);
	assert_int_equal(s->state, SESSION_CLOSED);
	assert_int_equal(export_awaiting(), 1);
	assert_true(e->awaited <= loop_now() + 10000);
	loop_timer_stop(&s->timer);
	free(s->ctrl.buf);
	session_remove(s);
	export_await(e, 0);
	assert_int_equal(run(ADMIN_REMOVE, "again", NULL, 0), 0);
}

static struct rdmablk_event_msg sent;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)bad;
	assert_int_equal(wr->sg_list->length, sizeof(sent));
	memcpy(&sent, (const void *)(uintptr_t)wr->sg_list->addr, sizeof(sent));
	return 0;
}

/*
 * An event that stays due while memory is registered is sent with the time that is left then, or
 * with 0 if none is left.
 */
static void a_drain_says_what_is_left(void **state)
{
	struct ibv_context verbs = { .ops.post_send = post_send };
	struct ibv_qp qp = { .context = &verbs };
	struct ibv_mr mr = { 0 };
	struct session *s = session_new(export_find("first"), SESSION_REGISTER);
	int64_t until;

	(void)state;
	s->ctrl = (struct ctrl){ .qp = &qp, .mr = &mr };
	s->ctrl.buf = calloc(CTRL_RECVS + CTRL_SENDS, RDMABLK_CTRL_MSG_MAX);
	assert_non_null(s->ctrl.buf);
	until = loop_now() + 60000;
	session_tell(s, RDMABLK_EVENT_DRAIN, (uint64_t)until);
	assert_int_equal(s->events.due, DUE(DRAIN));
	while (loop_now() < until - 60000 + 30)
		some_time();
	s->state = SESSION_GRANTED;
	session_tell_due(s);
	assert_false(s->events.due);
	assert_int_equal(le16toh(sent.event), RDMABLK_EVENT_DRAIN);
	assert_in_range(le64toh(sent.value), 1, 60000 - 30);
	session_tell(s, RDMABLK_EVENT_DRAIN, (uint64_t)(until - 60000));
	assert_int_equal(le64toh(sent.value), 0);
	session_tell(s, RDMABLK_EVENT_RESIZE, MIB);
	assert_int_equal(le64toh(sent.value), MIB);
	/* LEAVING, the reason, is sent before DRAIN. */
	for (unsigned int i = 0; i < CTRL_SENDS; i++)
		ctrl_sent(&s->ctrl, i);
	s->state = SESSION_REGISTER;
	session_tell(s, RDMABLK_EVENT_LEAVING, (uint64_t)until);
	assert_int_equal(s->events.due, DUE(LEAVING));
	session_tell(s, RDMABLK_EVENT_DRAIN, (uint64_t)(until - 60000));
	s->state = SESSION_GRANTED;
	session_tell_due(s);
	assert_false(s->events.due);
	assert_int_equal(le16toh(sent.event), RDMABLK_EVENT_DRAIN);
	session_tell(s, RDMABLK_EVENT_LEAVING, (uint64_t)until);
	assert_int_equal(le16toh(sent.event), RDMABLK_EVENT_LEAVING);
	assert_in_range(le64toh(sent.value), 1, 60000 - 30);
	free(s->ctrl.buf);
	session_remove(s);
}

static const char *state_of(const char *name)
{
	static char text[4096];
	struct json_object *list = control_list(name);

	snprintf(text, sizeof(text), "%s",
		 json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN));
	json_object_put(list);
	return text;
}

/* Return: the figures of the first export in the answer */
static struct json_object *work_of_first(struct json_object *top)
{
	struct json_object *list;

	control_metrics_add(top);
	assert_true(json_object_object_get_ex(top, "work", &list));
	return json_object_array_get_idx(list, 0);
}

static int64_t figure(struct json_object *work, const char *op, const char *key)
{
	struct json_object *o = NULL;

	if (op) {
		assert_true(json_object_object_get_ex(work, "commands", &o));
		assert_true(json_object_object_get_ex(o, op, &work));
	}
	assert_true(json_object_object_get_ex(work, key, &o));
	return json_object_get_int64(o);
}

/* @flushes: answered FLUSHes; @bytes: of WRITEs; @pending: commands under way; @latency: JSON */
static void expect_work(int64_t flushes, int64_t bytes, int64_t pending, const char *latency)
{
	struct json_object *top = json_object_new_object(), *work = work_of_first(top), *o;

	assert_int_equal(figure(work, "flush", "done"), flushes);
	assert_int_equal(figure(work, "write", "bytes"), bytes);
	assert_int_equal(figure(work, NULL, "pending"), pending);
	assert_true(json_object_object_get_ex(work, "flush_latency", &o));
	assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), latency);
	json_object_put(top);
}

/* A monitoring system would take a counter that shrinks for a restart of the daemon. */
static void figures_never_shrink(void **state)
{
	static const char timed[] = "{\"sum_ns\":34359740415,\"buckets\":["
		"{\"end_ns\":1024,\"count\":1},{\"end_ns\":2048,\"count\":1},"
		"{\"end_ns\":null,\"count\":1}]}";
	struct export *e = export_next(NULL);
	struct session *s = session_new(e, SESSION_LIVE), *other = session_new(e, SESSION_HELLO);
	struct store_counts *counts = &s->counts;

	(void)state;
	expect_work(0, 0, 0, "{\"sum_ns\":0,\"buckets\":[]}");
	/* A session without the lease does not count for the export. */
	store_count(&other->counts, RDMABLK_OP_FLUSH, 0, false);
	s->leased = true;
	store_count_begun(counts, RDMABLK_OP_WRITE);
	store_count_begun(counts, RDMABLK_OP_FLUSH);
	store_count_begun(counts, RDMABLK_OP_WRITE + 1);
	store_count(counts, RDMABLK_OP_WRITE + 1, 512, false);
	expect_work(0, 0, 2, "{\"sum_ns\":0,\"buckets\":[]}");
	store_count(counts, RDMABLK_OP_WRITE, 4096, false);
	store_count(counts, RDMABLK_OP_FLUSH, 8192, false);
	latency_add(&counts->flush, 1023);
	latency_add(&counts->flush, 1024);
	latency_add(&counts->flush, 1ULL << 35);
	expect_work(1, 4096, 0, timed);
	store_count_begun(counts, RDMABLK_OP_WRITE);
	store_count(counts, RDMABLK_OP_WRITE, 4096, true);
	/* While a session ends, some of its commands are not counted; the figures stay. */
	*counts = (struct store_counts){ 0 };
	expect_work(1, 4096, 0, timed);
	/* The session has released the export. Commands that it dropped are not pending. */
	s->leased = false;
	e->past.begun = 9;
	e->past.done[RDMABLK_OP_FLUSH - RDMABLK_OP_FENCE] = 2;
	e->past.bytes[RDMABLK_OP_WRITE - RDMABLK_OP_FENCE] = 4096;
	other->leased = true;
	expect_work(3, 4096, 0, timed);
	session_remove(other);
	session_remove(s);
	memset(&e->past, 0, sizeof(e->past));
	memset(&e->shown, 0, sizeof(e->shown));
}

/* Figures of the daemon itself: turns of the loop, and numbers that need no session */
static void figures_of_the_daemon(void **state)
{
	struct json_object *top = json_object_new_object(), *o, *turns;

	(void)state;
	some_time();
	control_metrics_add(top);
	assert_true(json_object_object_get_ex(top, "daemon", &o));
	assert_int_equal(figure(o, NULL, "pinned"), 0);
	assert_int_equal(figure(o, NULL, "logins"), 0);
	assert_true(json_object_object_get_ex(o, "loop_turns", &turns));
	assert_true(figure(turns, NULL, "sum_ns") > 0);
	assert_true(json_object_object_get_ex(turns, "buckets", &o));
	assert_true(json_object_array_length(o) > 0);
	json_object_put(top);
}

static void busy_done(struct admin *a)
{
	*(int *)a->owner = a->error;
	assert_non_null(strstr(a->why, "busy: the daemon is still at \"remove hung\""));
	admin_free(a);
}

static void patient_done(struct admin *a)
{
	*(int *)a->owner = a->error;
	admin_free(a);
}

static void ask(int *error, bool patient)
{
	struct admin *a = admin_alloc(ADMIN_RESIZE);

	assert_non_null(a);
	snprintf(a->name, sizeof(a->name), "first");
	a->owner = error;
	a->done = patient ? patient_done : busy_done;
	a->patient = patient;
	*error = 1;
	admin_submit(a);
}

/* If a request hangs with the file of its export, requests behind it get EBUSY after a while. */
static void what_hangs_is_told(void **state)
{
	const char *path = files_new("hung", 4 * MIB), *rules = files_path("rules");
	struct export *e = add_faulty("hung", path, rules);
	int64_t patience = admin_patience_ms;
	int first, second, patient;
	struct admin *removal;

	(void)state;
	files_write(path, MIB, MIB, 1);
	/* The rule comes first, because ended() may start a comparison at once. */
	files_text(rules, "read hang\n");
	e->store.ops->ended(&e->store, false);
	admin_patience_ms = 30;
	removal = begin(ADMIN_REMOVE, "hung");
	ask(&first, false);
	ask(&patient, true);
	assert_int_equal(first, 1);
	for (int i = 0; i < 1000 && first == 1; i++)
		some_time();
	ask(&second, false);
	admin_patience_ms = patience;
	assert_non_null(strstr(state_of(""), "\"name\":\"hung\",\"state\":\"leaving\""));
	assert_non_null(strstr(state_of("first"), "\"state\":\"ready\""));
	json_object_put(control_sessions(""));
	files_text(rules, "");
	assert_int_equal(first, -EBUSY);
	assert_int_equal(second, -EBUSY);
	assert_null(last);
	while (!last)
		some_time();
	assert_ptr_equal(last, removal);
	assert_int_equal(last->error, 0);
	while (patient == 1)
		some_time();
	/* the patient request was carried out */
	assert_int_equal(patient, -EOPNOTSUPP);
	/* a later request does not wait for the one that is over */
	assert_int_equal(run(ADMIN_RESIZE, "first", NULL, 0), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_of_what_is_used),
		cmocka_unit_test(a_drain_reaches_logins),
		cmocka_unit_test(a_drain_lets_in_who_has_to_flush),
		cmocka_unit_test(a_flush_takes_its_time),
		cmocka_unit_test(who_is_kicked_ends),
		cmocka_unit_test(unflushed_writes_outlive_a_short_file),
		cmocka_unit_test(who_may_have_to_flush_is_expected),
		cmocka_unit_test(who_may_have_to_flush_is_let_in),
		cmocka_unit_test(who_is_told_to_come_again_is_expected),
		cmocka_unit_test(a_drain_says_what_is_left),
		cmocka_unit_test(figures_never_shrink),
		cmocka_unit_test(figures_of_the_daemon),
		cmocka_unit_test(what_hangs_is_told),
		cmocka_unit_test(what_a_worker_has_is_counted),
		cmocka_unit_test(what_cannot_be_closed_is_counted),
		cmocka_unit_test(the_progress_of_a_flush_is_seen),
	};

	return cmocka_run_group_tests_name("in-use", tests, setup, teardown);
}
