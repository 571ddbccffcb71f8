// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests for changes at run time. One is under way at a time. It may take for ever: a
 * file does not answer, or a session does not end. Then those that wait for their turn are
 * told so, and so are those that come.
 */
#include <errno.h>
#include <stdio.h>

#include "admin/admin.h"
#include "admin/admin_reload.h"
#include "base/loop.h"
#include "base/util.h"

TAILQ_HEAD(admin_queue, admin);

int64_t admin_patience_ms = 10000;

static void patience_over(struct loop_timer *timer);

static struct {
	struct config *cfg;
	struct admin_queue queue;	/* the first is under way */
	struct loop_timer patience;	/* of those that wait */
	bool late;			/* it is over */
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
}

/* Joins complaints of a line each in one line. */
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
		snprintf(a->why, sizeof(a->why), "%s", admin_said());
		one_line(a->why);
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
	const struct export *e = first->name[0] ? NULL : admin_step_export();
	char text[ADMIN_TEXT];

	admin_text(first, text, sizeof(text));
	a->error = -EBUSY;
	snprintf(a->why, sizeof(a->why), "busy: the daemon is still at \"%s\"%s%s", text,
		 e ? ", export " : "", e ? e->cfg->name : "");
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
