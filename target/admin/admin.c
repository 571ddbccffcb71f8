// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes at run time. One request is under way at a time, and one step of it: so the
 * place of the step is one struct, and what it waits for is one of a job, a timer and
 * the end of sessions.
 *
 * A step may take for ever: a file does not answer, or a session does not end. Then those
 * that wait for their turn are told so, and so is who comes.
 *
 * An export goes through the states of enum export_state. Whoever logs in finds those
 * that are EXPORT_READY; a store is closed when no session knows the export any more,
 * be it an ending one. A worker has an export from admin_work() to work_done(), and the
 * loop touches nothing of its store meanwhile.
 *
 * Sessions of an export that goes are told to drain first. Those that have something to
 * flush do so and log out, and get ADMIN_FLUSH_MS for it, or as long as a FLUSH takes that
 * is under way then; the others get as long as at a shutdown. What they leave unflushed
 * nevertheless is the store's to bring up to date before it is closed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "admin/admin.h"
#include "base/log.h"
#include "base/util.h"
#include "session/session.h"

#define LATE_MS		1000	/* whether those that flush longer do still */

TAILQ_HEAD(admin_queue, admin);

int64_t admin_patience_ms = 10000;

static void drain_expired(struct loop_timer *timer);
static void patience_over(struct loop_timer *timer);

static struct {
	struct config *cfg;
	struct admin_queue queue;	/* the first is under way */
	bool stopping;
	struct loop_timer patience;	/* of those that wait */
	bool late;			/* it is over */
	/* of the step */
	struct export *e;
	struct export_config *ec;
	bool adding;
	admin_then then;
	void (*vacated)(void);		/* set while sessions are waited for */
	struct loop_timer timer;
	int64_t deadline;
	struct job job;
	int (*work)(struct export *e);
	void (*worked)(int ret);
	int ret;
	char why[ADMIN_WHY];
	char begin_why[ADMIN_WHY];	/* of export_begin(), while the store is closed again */
} admin = {
	.queue = TAILQ_HEAD_INITIALIZER(admin.queue),
	.patience = { .expired = patience_over },
	.timer = { .expired = drain_expired },
};

/**
 * admin_init - before the first request
 * @cfg: of the daemon; parts of it change with RELOAD
 */
void admin_init(struct config *cfg)
{
	admin.cfg = cfg;
}

/**
 * admin_say - why a step cannot be done
 * @fmt: printf format
 */
void admin_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(admin.why, sizeof(admin.why), fmt, args);
	va_end(args);
}

/**
 * admin_said - the text of the last step's error
 *
 * Return: text, until the next step.
 */
const char *admin_said(void)
{
	return admin.why;
}

/* The step is over. What is next may be begun by that. */
static void over(int ret)
{
	admin_then then = admin.then;

	if (ret && !admin.why[0])
		admin_say("%s", strerror(-ret));
	admin.e = NULL;
	admin.ec = NULL;
	admin.adding = false;
	then(ret);
}

static void step_begin(struct export *e, admin_then then)
{
	admin.e = e;
	admin.then = then;
	admin.why[0] = '\0';
}

/*
 * Work beside the loop
 */

static void work_run(struct job *job)
{
	(void)job;
	log_keep(admin.why, sizeof(admin.why));
	admin.ret = admin.work(admin.e);
	log_keep(NULL, 0);
}

static void work_done(struct job *job)
{
	(void)job;
	admin.worked(admin.ret);
}

static void admin_work(int (*work)(struct export *e), void (*worked)(int ret))
{
	admin.work = work;
	admin.worked = worked;
	admin.job = (struct job){ .run = work_run, .done = work_done, .kind = JOB_ADMIN };
	worker_submit(&admin.job);
}

static int close_work(struct export *e)
{
	export_close(e);
	return 0;
}

/*
 * Opening
 */

/* An export that could not be opened is as if it had never been, or waits for better. */
static void open_failed(int ret)
{
	struct export *e = admin.e;

	e->state = EXPORT_CLOSED;
	if (admin.adding)
		export_free(e);
	over(ret);
}

static void begin_failed(int ret)
{
	(void)ret;
	admin_say("%s", admin.begin_why);	/* closing has taken its place */
	open_failed(-EIO);
}

static void opened(int ret)
{
	if (ret) {
		open_failed(ret);
		return;
	}
	log_keep(admin.begin_why, sizeof(admin.begin_why));
	ret = export_begin(admin.e);
	log_keep(NULL, 0);
	if (!ret)
		over(0);
	else
		admin_work(close_work, begin_failed);
}

/* The daemon that ends opens nothing any more. */
static void begin_open(void)
{
	if (admin.stopping) {
		admin_say("the daemon is shutting down");
		open_failed(-ESHUTDOWN);
	} else {
		admin_work(export_open, opened);
	}
}

/**
 * admin_add - a new export
 * @ec: checked, its name not in use; is taken
 * @by_hand: it is in no configuration
 * @then: when it can be had, or not: then it is gone
 */
void admin_add(struct export_config *ec, bool by_hand, admin_then then)
{
	struct export *e = export_new(admin.cfg, ec);

	step_begin(e, then);
	if (!e) {
		config_export_free(ec);
		over(-ENOMEM);
		return;
	}
	e->by_hand = by_hand;
	admin.adding = true;
	begin_open();
}

/*
 * Waiting for the end of sessions
 */

static void look_for_end(void)
{
	void (*vacated)(void) = admin.vacated;

	if (!vacated || session_left(admin.e))
		return;
	admin.vacated = NULL;
	loop_timer_stop(&admin.timer);
	vacated();
}

/**
 * admin_session_gone - a session is gone
 */
void admin_session_gone(void)
{
	look_for_end();
}

/* The time of those that have nothing to flush is over, or that of all. */
static void drain_expired(struct loop_timer *timer)
{
	int64_t left = admin.deadline - loop_now();
	unsigned int nr = session_caches(admin.e), late;

	session_end_export(admin.e, RDMABLK_R_EXPORT_GONE);
	if (nr && left > 0) {
		loop_timer_start(timer, left);
		return;
	}
	late = session_end_late(admin.e, RDMABLK_R_EXPORT_GONE);
	if (nr > late)
		log_warn("export %s: %u sessions have not flushed in %d s",
			 admin.e->cfg->name, nr - late, ADMIN_FLUSH_MS / 1000);
	if (late)
		loop_timer_start(timer, LATE_MS);
}

/* Return: 0: @vacated is called when no session knows the export any more */
static int vacate(bool force, void (*vacated)(void))
{
	struct export *e = admin.e;
	unsigned int nr = session_users(e);

	if (nr && !force) {
		admin_say("export %s is in use by %u session%s", e->cfg->name, nr,
			  nr == 1 ? "" : "s");
		return -EBUSY;
	}
	e->state = EXPORT_LEAVING;
	admin.vacated = vacated;
	admin.deadline = loop_now() + ADMIN_FLUSH_MS;
	if (nr)
		log_info("export %s: ending %u sessions", e->cfg->name, nr);
	session_drain(e, admin.cfg->drain_ms, ADMIN_FLUSH_MS);
	loop_timer_start(&admin.timer, (int64_t)admin.cfg->drain_ms);
	look_for_end();
	return 0;
}

static void shut(void (*worked)(int ret))
{
	export_quiet(admin.e);
	admin_work(close_work, worked);
}

/*
 * Removing
 */

static void remove_closed(int ret)
{
	log_info("export %s: removed", admin.e->cfg->name);
	export_free(admin.e);
	over(ret);
}

static void remove_vacated(void)
{
	shut(remove_closed);
}

/**
 * admin_remove - forget an export
 * @e: export, EXPORT_READY or EXPORT_CLOSED
 * @force: end its sessions
 * @then: when its store is closed, up to date; or when it stays
 */
void admin_remove(struct export *e, bool force, admin_then then)
{
	int ret = 0;

	step_begin(e, then);
	if (!e->open)
		remove_closed(0);
	else
		ret = vacate(force, remove_vacated);
	if (ret)
		over(ret);
}

/*
 * Opening anew
 */

static void open_again(int ret)
{
	(void)ret;
	export_renew(admin.e, admin.ec);
	begin_open();
}

static void reopen_vacated(void)
{
	shut(open_again);
}

/**
 * admin_reopen - close the store of an export and open it again
 * @e: export, EXPORT_READY or EXPORT_CLOSED
 * @ec: what it is from then on; is taken, unless it is that of @e
 * @force: end its sessions
 * @then: when it can be had again; or cannot, and is EXPORT_CLOSED; or as it was, when
 *	it is in use
 */
void admin_reopen(struct export *e, struct export_config *ec, bool force,
		  admin_then then)
{
	int ret = 0;

	step_begin(e, then);
	admin.ec = ec;
	if (!e->open)
		open_again(0);
	else
		ret = vacate(force, reopen_vacated);
	if (!ret)
		return;
	if (ec != e->cfg)
		config_export_free(ec);
	over(ret);
}

/*
 * Growing
 */

static void grown(struct export *e, int ret)
{
	if (ret > 0) {
		if (!admin.stopping)
			session_resized(e);
		if (e->cfg->size)
			e->cfg->size = e->store.size;
		ret = 0;
	} else if (ret) {
		admin_say("%s", e->grow_why);
	}
	if (ret != -ERANGE || e->cfg->size || session_users(e)) {
		over(ret);
		return;
	}
	/* Nobody uses it: it may get smaller, too. */
	admin.why[0] = '\0';
	admin_reopen(e, e->cfg, false, admin.then);
}

/**
 * admin_grow - an export gets the size that its file has got
 * @e: export
 * @size: bytes, of an export that was given its size; or 0
 * @then: when sessions have been told, or it stays as it was
 */
void admin_grow(struct export *e, uint64_t size, admin_then then)
{
	int ret;

	step_begin(e, then);
	if (size && !e->cfg->size) {
		admin_say("export %s has the size of its file; it was not given one",
			  e->cfg->name);
		over(-EINVAL);
		return;
	}
	ret = export_grow(e, size, session_room(e), grown);
	if (ret == -EOPNOTSUPP)
		admin_say("export %s: memory keeps the size it has", e->cfg->name);
	if (ret)
		over(ret);
}

/*
 * Requests
 */

/* Complaints, each of which ends a line, in one. */
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
	const struct export *e = a->name[0] ? export_by_name(a->name) : NULL;

	a->error = ret;
	if (ret) {
		one_line(admin.why);
		snprintf(a->why, sizeof(a->why), "%s", admin.why);
	} else if (e) {
		a->bytes = e->store.size;
	}
	TAILQ_REMOVE(&admin.queue, a, entry);
	a->done(a);
	request_begin();
}

/* One that never began */
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
	if (!cfg.errors)
		return ec;
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

	if (!e) {
		admin_say("there is no export %s", a->name);
		refuse(-ENOENT);
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
	char text[ADMIN_TEXT];

	admin_text(first, text, sizeof(text));
	a->error = -EBUSY;
	snprintf(a->why, sizeof(a->why), "busy: the daemon is still at \"%s\"%s%s", text,
		 admin.e && !first->name[0] ? ", export " : "",
		 admin.e && !first->name[0] ? admin.e->cfg->name : "");
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
	admin.why[0] = '\0';
	if (admin.stopping) {
		admin_say("the daemon is shutting down");
		refuse(-ESHUTDOWN);
	} else if (a->op == ADMIN_ADD) {
		begin_add(a);
	} else if (a->op == ADMIN_RELOAD) {
		admin_reload(a, admin.cfg, request_over);
	} else {
		begin_one(a);
	}
}

/**
 * admin_submit - ask for something
 * @a: filled; its @done may be called before this returns
 *
 * With -EBUSY when what is under way takes longer than others wait, unless @a->patient.
 * In the loop.
 */
void admin_submit(struct admin *a)
{
	bool idle = TAILQ_EMPTY(&admin.queue);

	if (admin.late && !a->patient) {
		refuse_busy(a);
		return;
	}
	TAILQ_INSERT_TAIL(&admin.queue, a, entry);
	if (idle)
		request_begin();
}

/**
 * admin_shutdown - begin nothing any more, and let nothing go on that takes long
 *
 * What a worker is at ends before worker_stop() does; then every export may be closed.
 */
void admin_shutdown(void)
{
	admin.stopping = true;
	if (admin.e)
		atomic_store(&admin.e->store.cancelled, true);
}

/**
 * admin_stopping - has the end of the daemon begun
 *
 * Return: whether it has: nothing is begun any more.
 */
bool admin_stopping(void)
{
	return admin.stopping;
}
