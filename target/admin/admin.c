// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests for changes at run time. One is under way at a time. It may never end, if a file
 * does not answer or a session does not end. Then the requests that wait for their turn, and
 * those that come later, are refused.
 */
#include <errno.h>
#include <stdio.h>

#include "admin/admin.h"
#include "admin/admin_host.h"
#include "admin/admin_save.h"
#include "admin/admin_step.h"
#include "base/audit.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "config/options.h"
#include "session/session.h"

/*
 * Reading the configuration again. A worker reads it, overridden by the options of the command
 * line, as at the start. A configuration with a mistake changes nothing. Hosts, keys and
 * rights come first, because exports may take hours. An export that is to be opened again only
 * loses rights then; what else its new section gives comes when it is open. Then, export by
 * export: an export that is no longer in the configuration is removed, unless it is in use; a
 * new one is added; one that differs is opened again, unless it is in use, or grows; other
 * limits of an export count from its next login on. Exports that the administrator has added
 * by hand stay. At last every other export gets the present size of its file. The report has
 * everything that could not be done, and each changed key of [target] that only counts at the
 * start.
 *
 * Without a configuration file a reload only looks at the sizes of files: the command line has
 * not changed, and exports that were removed by hand must not come back.
 */

static struct {
	struct admin *a;
	struct config *cfg;
	struct config fresh;
	admin_then then;
	struct job job;
	char *text;			/* complaints about the configuration */
	int ret;
	bool removing;			/* first phase: removes exports that @fresh lacks */
	unsigned int generation;	/* @reload of exports that need no look any more */
	struct admin_change *change;	/* report line of the step under way */
	const char *action;		/* @action of @change if the step succeeds */
	bool looping;			/* reload_on() takes steps */
	bool again;			/* a step ended inside reload_on(): it takes the next */
	struct export *growing;		/* export that the step under way lets grow */
	uint64_t size;			/* size of @growing before, bytes */
} reload;

/* Numbers of [target] that a reload may change, because the daemon reads them at each use */
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	{ "keep-alive-min", offsetof(struct config, keep_alive_min) },
	{ "keep-alive-max", offsetof(struct config, keep_alive_max) },
	{ "session-timeout-factor", offsetof(struct config, session_factor) },
	{ "hello-timeout", offsetof(struct config, hello_ms) },
	{ "login-timeout", offsetof(struct config, login_ms) },
	{ "drain-ms", offsetof(struct config, drain_ms) },
	{ "max-sessions", offsetof(struct config, max_sessions_all) },
	{ "max-sessions-per-address", offsetof(struct config, max_sessions_addr) },
	{ "max-sessions-per-host", offsetof(struct config, max_sessions) },
	{ "max-queues", offsetof(struct config, max_queues_all) },
	{ "max-queues-per-address", offsetof(struct config, max_queues_addr) },
	{ "max-queues-per-host", offsetof(struct config, max_queues) },
	{ "max-pinned", offsetof(struct config, max_pinned) },
	{ "max-pinned-per-address", offsetof(struct config, max_pinned_addr) },
	{ "max-pinned-total", offsetof(struct config, max_pinned_all) },
	{ "max-logins", offsetof(struct config, max_logins) },
	{ "max-logins-per-address", offsetof(struct config, max_logins_addr) },
	{ "login-rate", offsetof(struct config, login_rate) },
	{ "scratch", offsetof(struct config, scratch) },
};

static void changed(const char *name, enum admin_thing thing, const char *action,
		    const char *why)
{
	struct admin_change *c = admin_change_new(reload.a, name, thing);

	if (!c)
		return;
	c->action = action;
	snprintf(c->why, sizeof(c->why), "%s", why);
}

/* Settings: keys of [target] */

static bool same_listen(const struct config *a, const struct config *b)
{
	if (a->nr_listen != b->nr_listen)
		return false;
	for (unsigned int i = 0; i < a->nr_listen; i++)
		if (strcmp(a->listen[i].text, b->listen[i].text))
			return false;
	return true;
}

static void needs_restart(const char *name, bool same)
{
	if (!same)
		changed(name, ADMIN_SETTING, NULL, "needs a restart of the daemon");
}

/*
 * The daemon goes on with auth = none until its restart, and would give every host what the new
 * configuration gives to hosts with a key. So exports are neither added nor changed, and
 * networks stay as they are.
 */
static bool waits_for_keys(void)
{
	return reload.cfg->auth == AUTH_NONE && reload.fresh.auth == AUTH_PSK;
}

static const char keyless[] =
	"the new configuration has auth = psk, the daemon has auth = none until its restart";

static void reload_networks(struct config *is, const struct config *fresh)
{
	if (same_text(is->allow_address, fresh->allow_address))
		return;
	if (waits_for_keys())
		changed("allow-address", ADMIN_SETTING, NULL, keyless);
	else if (config_take_text(&is->allow_address, fresh->allow_address))
		changed("allow-address", ADMIN_SETTING, "changed", "");
}

static void reload_listen(struct config *is, const struct config *fresh,
			  const struct listen_addr *addr)
{
	char name[RDMABLK_NAME_LEN];

	snprintf(name, sizeof(name), "listen %.56s", addr->text);
	if (waits_for_keys()) {
		if (!same_text(config_listen_networks(is, addr),
			       config_listen_networks(fresh, addr)))
			changed(name, ADMIN_SETTING, NULL, keyless);
		return;
	}
	if (!config_listen_take(is, fresh, addr))
		return;
	changed(name, ADMIN_SETTING, "changed", "");
}

static void reload_settings(struct config *is, const struct config *fresh)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		uint64_t *old = (uint64_t *)((char *)is + numbers[i].offset);
		uint64_t new = *(const uint64_t *)((const char *)fresh + numbers[i].offset);

		if (*old == new)
			continue;
		*old = new;
		changed(numbers[i].name, ADMIN_SETTING, "changed", "");
	}
	if (is->log_level != fresh->log_level) {
		is->log_level = fresh->log_level;
		log_set_level(is->log_level);
		changed("log-level", ADMIN_SETTING, "changed", "");
	}
	reload_networks(is, fresh);
	for (unsigned int i = 0; i < is->nr_listen; i++)
		reload_listen(is, fresh, &is->listen[i]);
	needs_restart("listen", same_listen(is, fresh));
	needs_restart("insecure", is->insecure == fresh->insecure);
	needs_restart("auth", is->auth == fresh->auth);
	needs_restart("name", same_text(is->name, fresh->name));
	needs_restart("state-dir", same_text(is->state_dir, fresh->state_dir));
	needs_restart("io-threads", is->io_threads == fresh->io_threads);
	needs_restart("control", same_text(is->control, fresh->control));
	needs_restart("audit", same_text(is->audit, fresh->audit));
	needs_restart("directories", same_text(is->directories, fresh->directories));
}

/* Exports */

static bool reload_step(void);

/*
 * Takes steps in a loop, not by recursion: a step may end at once, and then calls this function
 * before reload_step() has returned.
 */
static void reload_on(void)
{
	if (reload.looping) {
		reload.again = true;
		return;
	}
	reload.looping = true;
	do
		reload.again = false;
	while (reload_step() || reload.again);
	reload.looping = false;
}

static void change_over(int ret)
{
	struct admin_change *c = reload.change;

	if (c && ret)
		snprintf(c->why, sizeof(c->why), "%s", admin_said());
	else if (c)
		c->action = reload.action;
	reload.change = NULL;
	reload_on();
}

static void change_begin(const char *name, const char *action)
{
	reload.change = admin_change_new(reload.a, name, ADMIN_EXPORT);
	reload.action = action;
}

static struct export_config *fresh_by_name(const char *name)
{
	struct export_config *ec;

	TAILQ_FOREACH(ec, &reload.fresh.exports, entry)
		if (!strcmp(ec->name, name))
			return ec;
	return NULL;
}

/* Return: the next configured export that the new configuration lacks; or NULL */
static struct export *next_gone(void)
{
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e)) {
		if (e->reload == reload.generation || e->by_hand ||
		    fresh_by_name(e->cfg->name))
			continue;
		e->reload = reload.generation;
		return e;
	}
	return NULL;
}

/* Return: the next export that this reload has not handled yet; or NULL */
static struct export *next_untouched(void)
{
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e)) {
		if (e->reload == reload.generation)
			continue;
		e->reload = reload.generation;
		return e;
	}
	return NULL;
}

static void growth_over(int ret)
{
	struct export *e = reload.growing;

	if (!ret && e->store.size != reload.size)
		reload.action = "resized";
	change_over(ret);
}

/* Return: true: done; false: a step has begun. */
static bool grow_export(struct export *e, const char *action)
{
	change_begin(e->cfg->name, action);
	if (e->by_hand && reload.change)
		snprintf(reload.change->why, sizeof(reload.change->why), "added by hand");
	if (e->state != EXPORT_READY || !e->store.ops->grow) {
		if (reload.change)
			reload.change->action = reload.action;
		reload.change = NULL;
		return true;
	}
	reload.growing = e;
	reload.size = e->store.size;
	admin_grow(e, 0, growth_over);
	return false;
}

static void change_export(struct export *e, struct export_config *ec)
{
	uint64_t size = ec->size;
	bool kept = e->cfg->file || e->cfg->arena;

	e->reload = reload.generation;
	e->allow_changed = false;
	if (e->state == EXPORT_READY && config_export_grows(e->cfg, ec)) {
		config_export_limit(e->cfg, ec);
		config_export_free(ec);
		change_begin(e->cfg->name, "resized");
		admin_grow(e, size, change_over);
		return;
	}
	change_begin(e->cfg->name, "changed");
	if (e->open && !kept) {
		config_export_free(ec);
		admin_say("its contents would be lost; remove it and add it");
		change_over(-EPERM);
		return;
	}
	e->by_hand = false;
	admin_reopen(e, ec, false, change_over);
}

static void added(int ret)
{
	struct export *e = ret || !reload.change ? NULL :
			   export_by_name(reload.change->name);

	if (e)
		e->reload = reload.generation;
	change_over(ret);
}

/* Return: whether an export of the new configuration may be added, or take the place of @e */
static bool may_change(const struct export *e, const struct export_config *ec)
{
	return !waits_for_keys() ||
	       (e && e->open && config_export_same(e->cfg, ec) &&
		same_text(e->cfg->allow_address, ec->allow_address));
}

/* Applies one export of the new configuration. Return: true: done; false: a step has begun. */
static bool reload_one(struct export_config *ec)
{
	struct export *e = export_by_name(ec->name);

	if (!may_change(e, ec)) {
		changed(ec->name, ADMIN_EXPORT, NULL, keyless);
		config_export_free(ec);
		if (e)
			e->reload = reload.generation;
		return true;
	}
	if (!e) {
		change_begin(ec->name, "added");
		admin_add(ec, false, added);
		return false;
	}
	if (e->open && config_export_same(e->cfg, ec)) {
		bool limited = config_export_limit(e->cfg, ec) || e->allow_changed;

		e->allow_changed = false;
		e->by_hand = false;
		config_export_free(ec);
		if (!limited)
			return true;
		e->reload = reload.generation;
		return grow_export(e, "changed");
	}
	change_export(e, ec);
	return false;
}

static void reload_end(void)
{
	config_free(&reload.fresh);
	free(reload.text);
	reload.text = NULL;
	reload.then(reload.ret);
}

/* Return: whether to go on at once; else a step has been begun, or all is over */
static bool reload_step(void)
{
	struct export *gone = reload.removing ? next_gone() : NULL, *e;
	struct export_config *ec;

	if (gone && !admin_stopping()) {
		change_begin(gone->cfg->name, "removed");
		admin_remove(gone, false, change_over);
		return false;
	}
	reload.removing = false;	/* from here on exports leave the list */
	ec = TAILQ_FIRST(&reload.fresh.exports);
	if (ec && !admin_stopping())
		return reload_one(config_export_take(&reload.fresh, ec));
	e = next_untouched();
	if (e && !admin_stopping())
		return grow_export(e, "kept");
	reload_end();
	return false;
}

static void host_changed(const char *name, const char *action)
{
	changed(name, ADMIN_HOST, action, "");
}

static void read_run(struct job *job)
{
	size_t len;

	(void)job;
	config_init(&reload.fresh);
	reload.fresh.complaints = open_memstream(&reload.text, &len);
	if (!reload.fresh.complaints) {
		reload.ret = -ENOMEM;
		return;
	}
	reload.ret = options_again(&reload.fresh);
	if (!reload.ret)
		reload.ret = admin_host_read(&reload.fresh);
	fclose(reload.fresh.complaints);
	reload.fresh.complaints = NULL;
}

static void read_done(struct job *job)
{
	(void)job;
	reload.generation++;
	if (reload.ret == -ENOENT) {
		reload.ret = 0;
		reload.removing = false;
		reload_on();
		return;
	}
	if (reload.ret) {
		if (reload.text && reload.text[0])
			admin_say("%s", reload.text);
		else
			admin_say("%s", strerror(-reload.ret));
		reload_end();
		return;
	}
	if (!waits_for_keys())
		admin_host_rights(&reload.fresh);
	reload_settings(reload.cfg, &reload.fresh);
	admin_host_reload(host_changed);
	reload.removing = true;
	reload_on();
}

/*
 * Begins a reload; @a gets the report. Calls @then with 0, or with -errno: the configuration
 * has mistakes, and nothing was done.
 */
static void reload_begin(struct admin *a, struct config *cfg, admin_then then)
{
	reload.a = a;
	reload.cfg = cfg;
	reload.then = then;
	reload.change = NULL;
	reload.job = (struct job){ .run = read_run, .done = read_done, .kind = JOB_ADMIN };
	worker_submit(&reload.job);
}

/*
 * Requests
 */

TAILQ_HEAD(admin_queue, admin);

int64_t admin_patience_ms = 10000;

static void patience_over(struct loop_timer *timer);

static struct {
	struct config *cfg;
	struct admin_queue queue;	/* the first is under way */
	struct loop_timer patience;	/* how long the others wait for the first */
	bool late;			/* @patience has expired */
} admin = {
	.queue = TAILQ_HEAD_INITIALIZER(admin.queue),
	.patience = { .expired = patience_over },
};

/**
 * admin_init - before the first request
 * @cfg: of the daemon; parts of it change with RELOAD
 */
void admin_init(struct config *cfg)
{
	admin.cfg = cfg;
	admin_step_init(cfg);
	admin_host_init(cfg);
	admin_save_init(cfg);
}

/* Joins the lines of a text into one line. */
static void one_line(char *text)
{
	size_t len = strlen(text);

	if (len && text[len - 1] == '\n')
		text[--len] = '\0';
	for (; *text; text++)
		if (*text == '\n')
			*text = ';';
}

static void request_begin(void);

static void request_over(int ret)
{
	struct admin *a = TAILQ_FIRST(&admin.queue);
	const struct export *e = admin_of_host(a->op) ? NULL : export_by_name(a->name);

	a->error = ret;
	if (ret) {
		snprintf(a->why, sizeof(a->why), "%s", admin_said());
		one_line(a->why);
	} else if (e) {
		a->bytes = e->store.size;
	}
	TAILQ_REMOVE(&admin.queue, a, entry);
	admin_audit_done(a);
	a->done(a);
	request_begin();
}

/* Ends the first request, for which nothing was done. */
static void refuse(int error)
{
	request_over(error);
}

/* Return: the export, or NULL, and admin_said() says why */
static struct export_config *parse_spec(const char *spec)
{
	char *text __cleanup_free = NULL;
	struct export_config *ec = NULL;
	struct config cfg = { 0 };
	size_t len;

	TAILQ_INIT(&cfg.exports);
	cfg.complaints = open_memstream(&text, &len);
	if (!cfg.complaints) {
		admin_say("out of memory");
		return NULL;
	}
	config_export_spec(&cfg, spec);
	ec = TAILQ_FIRST(&cfg.exports);
	if (ec && !cfg.errors)
		config_export_check(&cfg, ec);
	fclose(cfg.complaints);
	if (ec)
		config_export_take(&cfg, ec);
	if (!cfg.errors && (!ec || !ec->allow || admin_host_check(ec->allow)))
		return ec;
	if (cfg.errors)
		admin_say("%s", text);
	config_export_free(ec);
	return NULL;
}

static void begin_add(struct admin *a)
{
	struct export_config *ec = parse_spec(a->spec);

	if (!ec) {
		refuse(-EINVAL);
		return;
	}
	if (export_by_name(ec->name)) {
		admin_say("export %s exists already", ec->name);
		config_export_free(ec);
		refuse(-EEXIST);
		return;
	}
	snprintf(a->name, sizeof(a->name), "%s", ec->name);
	admin_add(ec, true, request_over);
}

static void begin_one(struct admin *a)
{
	struct export *e = export_by_name(a->name);
	char why[ADMIN_NEAR_WHY];

	if (!e) {
		admin_near_export(a->name, why);
		admin_say("%s", why);
		refuse(-ENOENT);
	} else if (a->op == ADMIN_ALLOW) {
		request_over(admin_host_allow(e, a->allow));
	} else if (a->op == ADMIN_REMOVE) {
		admin_remove(e, a->force, request_over);
	} else if (a->op == ADMIN_REOPEN && !e->cfg->file && !e->cfg->arena && e->open) {
		admin_say("export %s: its contents would be lost; remove it and add it",
			  a->name);
		refuse(-EPERM);
	} else if (a->op == ADMIN_REOPEN) {
		admin_reopen(e, e->cfg, a->force, request_over);
	} else if (e->state != EXPORT_READY) {
		admin_say("export %s is not open", a->name);
		refuse(-EINVAL);
	} else {
		admin_grow(e, a->size, request_over);
	}
}

static void refuse_busy(struct admin *a)
{
	const struct admin *first = TAILQ_FIRST(&admin.queue);
	const struct export *e = first->name[0] ? NULL : admin_step_export();
	char text[ADMIN_TEXT];

	admin_text(first, text, sizeof(text));
	a->error = -EBUSY;
	snprintf(a->why, sizeof(a->why), "busy: the daemon is still at \"%s\"%s%s", text,
		 e ? ", export " : "", e ? e->cfg->name : "");
	admin_audit_done(a);
	a->done(a);
}

static struct admin *next_impatient(void)
{
	struct admin *a = TAILQ_FIRST(&admin.queue);

	while (a && (a = TAILQ_NEXT(a, entry)) && a->patient)
		;
	return a;
}

static void patience_over(struct loop_timer *timer)
{
	struct admin *a;

	(void)timer;
	admin.late = true;
	while ((a = next_impatient())) {
		TAILQ_REMOVE(&admin.queue, a, entry);
		refuse_busy(a);
	}
}

static void request_begin(void)
{
	struct admin *a = TAILQ_FIRST(&admin.queue);

	admin.late = false;
	if (!a) {
		loop_timer_stop(&admin.patience);
		return;
	}
	loop_timer_start(&admin.patience, admin_patience_ms);
	admin_say("%s", "");
	if (admin_stopping()) {
		admin_say("the daemon is shutting down");
		refuse(-ESHUTDOWN);
	} else if (a->op == ADMIN_ADD) {
		begin_add(a);
	} else if (a->op == ADMIN_HOST_ADD) {
		admin_host_add(a, request_over);
	} else if (a->op == ADMIN_HOST_REMOVE) {
		request_over(admin_host_remove(a->name));
	} else if (a->op == ADMIN_RELOAD) {
		reload_begin(a, admin.cfg, request_over);
	} else if (a->op == ADMIN_SAVE) {
		admin_save(a, request_over);
	} else {
		begin_one(a);
	}
}

/* Whether it is the session with this id, or a session of this host */
static bool is_named(const struct session *s, const char *name)
{
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)s->id);
	return !strcmp(id, name) || !strcmp(session_host(s), name);
}

static void kick_one(struct admin *a, struct session *s)
{
	const char *host = session_host(s);
	struct admin_change *c;
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)s->id);
	c = admin_change_new(a, id, ADMIN_SESSION);
	if (c) {
		c->action = "ended";
		snprintf(c->why, sizeof(c->why), "host %s (%s) export %s",
			 host[0] ? host : "not known", s->peer_text, s->hello.export_name);
	}
	log_info("%s: is to end by order of the administrator%s%s", session_text(s),
		 a->reason ? ": " : "", a->reason ?: "");
	session_end(s, RDMABLK_R_KICKED);
}

/*
 * Ends sessions at once, whatever else is under way: an administrator kicks a session because
 * something hangs. The initiator is told why and may log in again.
 */
static void kick(struct admin *a)
{
	struct session *s = NULL;

	while ((s = session_next(s)))
		if (s->state < SESSION_CLOSING && is_named(s, a->name))
			kick_one(a, s);
	if (TAILQ_EMPTY(&a->changes)) {
		a->error = -ENOENT;
		snprintf(a->why, sizeof(a->why),
			 "no session has this id, or is of a host of this name: %s", a->name);
	}
	admin_audit_done(a);
	a->done(a);
}

/**
 * admin_submit - ask for something
 * @a: filled; its @done may be called before this returns
 *
 * The outcome is -EBUSY if the request under way takes longer than others wait, unless
 * @a->patient.
 * In the loop.
 */
void admin_submit(struct admin *a)
{
	bool idle = TAILQ_EMPTY(&admin.queue);

	if (a->op == ADMIN_KICK) {
		kick(a);
		return;
	}
	if (a->op == ADMIN_RELOAD)
		audit_reopen();
	if (admin.late && !a->patient) {
		refuse_busy(a);
		return;
	}
	TAILQ_INSERT_TAIL(&admin.queue, a, entry);
	if (idle)
		request_begin();
}

/**
 * admin_reload_log - log what a reload has done
 * @a: of ADMIN_RELOAD, done
 */
void admin_reload_log(const struct admin *a)
{
	const struct admin_change *c;

	if (a->error)
		log_err("configuration not read: %s", a->why);
	TAILQ_FOREACH(c, &a->changes, entry) {
		const char *what = admin_thing_word(c->thing);

		if (!c->action)
			log_warn("configuration: %s %s: %s", what, c->name, c->why);
		else
			log_info("configuration: %s %s: %s", what, c->name, c->action);
	}
}
