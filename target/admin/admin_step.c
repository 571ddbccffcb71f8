// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Steps of changes of one export at run time. One step is under way at a time, in one struct.
 * A step waits for a job, for a timer, or for the end of sessions.
 *
 * An export goes through the states of enum export_state. A login finds only exports that are
 * EXPORT_READY. A store is closed when no session uses the export any more, not even an ending
 * one. A worker has an export from admin_work() to work_done(), and the loop does not touch
 * its store meanwhile.
 *
 * Before an export goes, its sessions are told to drain. Sessions with unflushed writes get
 * ADMIN_FLUSH_MS to flush and log out, and longer while a FLUSH is under way; the others get as
 * long as at a shutdown. Data that is still unflushed then goes to the file when the store is
 * closed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "admin/admin_request.h"
#include "admin/admin_step.h"
#include "base/log.h"
#include "base/near.h"
#include "base/util.h"
#include "export/host.h"
#include "session/session.h"

#define LATE_MS		1000	/* between looks at sessions that flush for longer */

static void drain_expired(struct loop_timer *timer);

static struct {
	struct config *cfg;
	bool stopping;
	struct export *e;
	struct export_config *ec;
	bool adding;
	admin_then then;
	void (*vacated)(void);		/* set while the step waits for the end of sessions */
	struct loop_timer timer;
	int64_t deadline;
	struct job job;
	int (*work)(struct export *e);
	void (*worked)(int ret);
	int ret;
	char why[ADMIN_WHY];
	char begin_why[ADMIN_WHY];	/* error of export_begin(), until the store is closed */
	int closed;			/* -errno: the file of the closed store lacks data */
	char closed_why[ADMIN_WHY];	/* text of @closed */
} step = {
	.timer = { .expired = drain_expired },
};

/**
 * admin_step_init - before the first step
 * @cfg: of the daemon
 */
void admin_step_init(struct config *cfg)
{
	step.cfg = cfg;
}

/**
 * admin_say - why a step cannot be done
 * @fmt: printf format
 */
void admin_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(step.why, sizeof(step.why), fmt, args);
	va_end(args);
}

/**
 * admin_said - the text of the last step's error
 *
 * Return: text, until the next step.
 */
const char *admin_said(void)
{
	return step.why;
}

/**
 * admin_step_export - the export that a step changes
 *
 * Return: the export of the step, or NULL: no step is under way.
 */
const struct export *admin_step_export(void)
{
	return step.e;
}

/*
 * The sentence about a name that does not exist, and the existing name that is near it
 */

static void say_near(const char *what, const struct near *near, char *why)
{
	int len = snprintf(why, ADMIN_NEAR_WHY, "there is no %s %s", what, near->word);

	if (near->best && len < ADMIN_NEAR_WHY)
		snprintf(why + len, (size_t)(ADMIN_NEAR_WHY - len), "; did you mean %s?",
			 near->best);
}

/**
 * admin_near_export - there is no such export
 * @name: that was asked for
 * @why: ADMIN_NEAR_WHY bytes, the sentence
 */
void admin_near_export(const char *name, char *why)
{
	struct export *e = NULL;
	struct near near;

	near_begin(&near, name);
	while ((e = export_next(e)))
		near_try(&near, e->cfg->name);
	say_near("export", &near, why);
}

/**
 * admin_near_host - there is no such host
 * @name: that was asked for
 * @why: ADMIN_NEAR_WHY bytes, the sentence
 */
void admin_near_host(const char *name, char *why)
{
	const struct host *h = NULL;
	struct near near;

	near_begin(&near, name);
	while ((h = host_next(h)))
		near_try(&near, host_name(h));
	say_near("host", &near, why);
}

/*
 * Begin and end of a step
 */

static void closed(int ret)
{
	step.closed = ret;
	snprintf(step.closed_why, sizeof(step.closed_why), "%s", step.why);
}

/*
 * Words the error of a step that has closed a store whose file lacks data. Such a step has
 * failed, even if all else succeeded. Return: -errno
 */
static int lacks_data(int ret)
{
	char why[ADMIN_WHY];

	snprintf(why, sizeof(why), "%s", step.why);
	if (ret)
		admin_say("%s; and %s", step.closed_why, why);
	else
		admin_say("the export is %s, but %s", step.e ? "open again" : "removed",
			  step.closed_why);
	return ret ?: step.closed;
}

/* The step is over. Its @then may begin the next one. */
static void over(int ret)
{
	admin_then then = step.then;

	if (ret && !step.why[0])
		admin_say("%s", strerror(-ret));
	if (step.closed)
		ret = lacks_data(ret);
	step.e = NULL;
	step.ec = NULL;
	step.adding = false;
	then(ret);
}

static void step_begin(struct export *e, admin_then then)
{
	step.e = e;
	step.then = then;
	step.why[0] = '\0';
	step.closed = 0;
}

/*
 * Work beside the loop
 */

static void work_run(struct job *job)
{
	(void)job;
	log_keep(step.why, sizeof(step.why));
	step.ret = step.work(step.e);
	log_keep(NULL, 0);
}

static void work_done(struct job *job)
{
	(void)job;
	step.worked(step.ret);
}

static void admin_work(int (*work)(struct export *e), void (*worked)(int ret))
{
	step.work = work;
	step.worked = worked;
	step.job = (struct job){ .run = work_run, .done = work_done, .kind = JOB_ADMIN };
	worker_submit(&step.job);
}

static int close_work(struct export *e)
{
	return export_close(e);
}

/*
 * Opening
 */

/* Removes an export that could not be opened, or keeps it closed until it is reopened. */
static void open_failed(int ret)
{
	struct export *e = step.e;

	e->state = EXPORT_CLOSED;
	if (step.adding)
		export_free(e);
	over(ret);
}

static void begin_failed(int ret)
{
	(void)ret;
	admin_say("%s", step.begin_why);	/* closing has replaced the text */
	open_failed(-EIO);
}

static void opened(int ret)
{
	if (ret) {
		open_failed(ret);
		return;
	}
	log_keep(step.begin_why, sizeof(step.begin_why));
	ret = export_begin(step.e);
	log_keep(NULL, 0);
	if (!ret)
		over(0);
	else
		admin_work(close_work, begin_failed);
}

/* A daemon that ends opens no exports any more. */
static void begin_open(void)
{
	if (step.stopping) {
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
 * @then: upcall. 0: the export is ready for sessions; -errno: there is no such export
 */
void admin_add(struct export_config *ec, bool by_hand, admin_then then)
{
	struct export *e = export_new(step.cfg, ec);

	step_begin(e, then);
	if (!e) {
		config_export_free(ec);
		over(-ENOMEM);
		return;
	}
	e->by_hand = by_hand;
	step.adding = true;
	begin_open();
}

/*
 * Waiting for the end of sessions
 */

static void look_for_end(void)
{
	void (*vacated)(void) = step.vacated;

	if (!vacated || session_left(step.e))
		return;
	step.vacated = NULL;
	loop_timer_stop(&step.timer);
	vacated();
}

/**
 * admin_session_gone - go on if the step waits for the end of sessions
 */
void admin_session_gone(void)
{
	look_for_end();
}

/* The time is over: first that of sessions with nothing to flush, at @deadline that of all. */
static void drain_expired(struct loop_timer *timer)
{
	int64_t left = step.deadline - loop_now();
	unsigned int nr = session_caches(step.e), late;

	session_end_export(step.e, RDMABLK_R_EXPORT_GONE);
	if (nr && left > 0) {
		loop_timer_start(timer, left);
		return;
	}
	late = session_end_late(step.e, RDMABLK_R_EXPORT_GONE);
	if (nr > late)
		log_warn("export %s: %u sessions have not flushed in %d s",
			 step.e->cfg->name, nr - late, ADMIN_FLUSH_MS / 1000);
	if (late)
		loop_timer_start(timer, LATE_MS);
}

/* Return: 0: @vacated is called when no session knows the export any more */
static int vacate(bool force, void (*vacated)(void))
{
	struct export *e = step.e;
	unsigned int nr = session_users(e);

	if (nr && !force) {
		admin_say("export %s is in use by %u session%s", e->cfg->name, nr,
			  nr == 1 ? "" : "s");
		return -EBUSY;
	}
	if (e->awaited > loop_now() && !force) {
		admin_say("export %s: a disk that has lost its connection is expected back: "
			  "wait, or use --force",
			  e->cfg->name);
		return -EBUSY;
	}
	e->state = EXPORT_LEAVING;
	step.vacated = vacated;
	step.deadline = loop_now() + ADMIN_FLUSH_MS;
	if (nr)
		log_info("export %s: ending %u sessions", e->cfg->name, nr);
	session_drain(e, step.cfg->drain_ms, ADMIN_FLUSH_MS);
	loop_timer_start(&step.timer, (int64_t)step.cfg->drain_ms);
	look_for_end();
	return 0;
}

static void shut(void (*worked)(int ret))
{
	export_quiet(step.e);
	admin_work(close_work, worked);
}

/*
 * Removing
 */

static void remove_closed(int ret)
{
	log_info("export %s: removed", step.e->cfg->name);
	export_free(step.e);
	step.e = NULL;
	closed(ret);
	over(0);
}

static void remove_vacated(void)
{
	shut(remove_closed);
}

/**
 * admin_remove - forget an export
 * @e: export, EXPORT_READY or EXPORT_CLOSED
 * @force: end its sessions, and expect no device back
 * @then: upcall. 0: the export is gone, its store closed. -errno: the export stays; or it is
 *	gone, but its file could not be brought up to date
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
 * Opening again
 */

static void open_again(int ret)
{
	closed(ret);
	export_renew(step.e, step.ec);
	begin_open();
}

static void reopen_vacated(void)
{
	shut(open_again);
}

/**
 * admin_reopen - close the store of an export and open it again
 * @e: export, EXPORT_READY or EXPORT_CLOSED
 * @ec: its configuration from then on; is taken, unless it is that of @e
 * @force: end its sessions, and expect no device back
 * @then: upcall. 0: the export is ready again. -errno: it is in use, and as it was; or it
 *	could not be opened, and is EXPORT_CLOSED; or it is ready again, but its file could
 *	not be brought up to date when it was closed
 */
void admin_reopen(struct export *e, struct export_config *ec, bool force,
		  admin_then then)
{
	int ret = 0;

	step_begin(e, then);
	step.ec = ec;
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
		if (!step.stopping)
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
	/* The file takes no writes while it is too short, and memory has what was cut off. */
	if (export_lacks(e)) {
		admin_say("export %s: %s has become shorter, and may lack writes that are in "
			  "memory: give it its length back, or lose them with reopen --force",
			  e->cfg->name, e->cfg->file);
		over(ret);
		return;
	}
	/* No session uses the export, so it may get smaller, too. */
	step.why[0] = '\0';
	admin_reopen(e, e->cfg, false, step.then);
}

/**
 * admin_grow - an export gets the size that its file has got
 * @e: export
 * @size: bytes, of an export that was given its size; or 0
 * @then: upcall. 0: the export has its new size, and sessions have been told; or -errno
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

/**
 * admin_shutdown - begin no step any more, and cancel a step that takes long
 *
 * A job in a worker ends before worker_stop() returns; then every export may be closed.
 */
void admin_shutdown(void)
{
	step.stopping = true;
	if (step.e)
		atomic_store(&step.e->store.cancelled, true);
}

/**
 * admin_stopping - has the end of the daemon begun
 *
 * Return: whether it has: nothing is begun any more.
 */
bool admin_stopping(void)
{
	return step.stopping;
}
