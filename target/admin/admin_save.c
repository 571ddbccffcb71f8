// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Saving what was changed at run time: as a drop-in file that is written and read by programs
 * alone. It has each export and host that is in no file of the administrator. The daemon makes
 * its text, and the tool writes it: the daemon may not write where configurations are.
 *
 * A section cannot be in two files, so changes of what the administrator's own files say cannot
 * be saved. They are named, with the place that needs an editor.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/admin_save.h"
#include "base/log.h"
#include "base/util.h"
#include "base/worker.h"
#include "config/options.h"
#include "export/host.h"

#define SAVE_NAME	"saved.conf"
#define SAVE_HEAD	"# Made by 'rdmablk target save'; the next one replaces all of it.\n"

static struct {
	const struct config *cfg;
	struct admin *a;
	admin_then then;
	struct job job;
	struct config fresh;		/* what the files say */
	char *complaints;		/* about the files, or about the text */
	size_t len;			/* bytes of @complaints; set by the stream */
	int ret;
} save;

/**
 * admin_save_init - before the first request
 * @cfg: of the daemon
 */
void admin_save_init(const struct config *cfg)
{
	save.cfg = cfg;
}

__attribute__((format(printf, 3, 4)))
static void unsaved(enum admin_thing thing, const char *name, const char *fmt, ...)
{
	struct admin_change *c = admin_change_new(save.a, name, thing);
	va_list args;

	if (!c)
		return;
	va_start(args, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, args);
	va_end(args);
}

/* Whether a section comes from the file that "save" replaces */
static bool is_ours(const char *where)
{
	char begin[CONFIG_WHERE];

	snprintf(begin, sizeof(begin), "%s.d/" SAVE_NAME ":", save.cfg->file);
	return !strncmp(where, begin, strlen(begin));
}

static const struct export_config *export_in(const struct config *cfg, const char *name)
{
	const struct export_config *ec;

	TAILQ_FOREACH(ec, &cfg->exports, entry)
		if (!strcmp(ec->name, name))
			return ec;
	return NULL;
}

static const struct host_config *host_in(const struct config *cfg, const char *name)
{
	const struct host_config *hc;

	TAILQ_FOREACH(hc, &cfg->hosts, entry)
		if (!strcmp(hc->name, name))
			return hc;
	return NULL;
}

/*
 * The text
 */

/* Whether a line sets a key that may have changed at run time */
static bool is_changeable(const char *line)
{
	return !strncmp(line, "size = ", 7) || !strncmp(line, "allow = ", 8);
}

static void write_export(FILE *out, const struct export_config *ec)
{
	const char *line = ec->lines ?: "", *end;

	fprintf(out, "\n[export %s]\n", ec->name);
	for (; (end = strchr(line, '\n')); line = end + 1)
		if (!is_changeable(line))
			fprintf(out, "%.*s\n", (int)(end - line), line);
	if (ec->size)
		fprintf(out, "size = %llu\n", (unsigned long long)ec->size);
	if (ec->allow)
		fprintf(out, "allow = %s\n", ec->allow);
}

/* Reports how an export differs from the administrator's own file, which "save" leaves alone. */
static void compare(const struct export_config *is, const struct export_config *said)
{
	if (!same_text(is->allow, said->allow))
		unsaved(ADMIN_EXPORT, is->name, "its list of hosts differs from %s", said->where);
	if (is->size != said->size)
		unsaved(ADMIN_EXPORT, is->name, "its size differs from %s", said->where);
}

static void write_exports(FILE *out)
{
	const struct export_config *said;
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e)) {
		said = export_in(&save.fresh, e->cfg->name);
		if (said && !is_ours(said->where))
			compare(e->cfg, said);
		else if (said || e->by_hand)
			write_export(out, e->cfg);
	}
	TAILQ_FOREACH(said, &save.fresh.exports, entry)
		if (!is_ours(said->where) && !export_by_name(said->name))
			unsaved(ADMIN_EXPORT, said->name, "it was removed, and is in %s",
				said->where);
}

static void write_hosts(FILE *out)
{
	const struct host *h = NULL;
	const struct host_config *said, *hc;

	if (save.cfg->auth != AUTH_PSK)
		return;
	while ((h = host_next(h))) {
		hc = host_section(h);
		said = host_in(&save.fresh, hc->name);
		if (said ? is_ours(said->where) : host_by_hand(h))
			fprintf(out, "\n[host %s]\n%s", hc->name, hc->lines ?: "");
	}
	TAILQ_FOREACH(said, &save.fresh.hosts, entry)
		if (!is_ours(said->where) && !host_by_name(said->name))
			unsaved(ADMIN_HOST, said->name, "it was removed, and is in %s",
				said->where);
}

static void check_section(const char *kind, const char *name, bool same)
{
	if (!same)
		fprintf(save.fresh.complaints,
			"%s %s: a value of it cannot be written in a file\n", kind, name);
}

/* Parses the text, and compares its sections with the exports and hosts of the daemon. */
static void check_text(char *text)
{
	FILE *in = fmemopen(text, strlen(text), "r");
	struct config cfg;
	struct export_config *ec;
	struct host_config *hc;

	if (!in) {
		fprintf(save.fresh.complaints, "%s\n", strerror(errno));
		return;
	}
	config_init(&cfg);
	cfg.complaints = save.fresh.complaints;
	config_read_stream(&cfg, SAVE_NAME, in);
	fclose(in);
	TAILQ_FOREACH(ec, &cfg.exports, entry) {
		const struct export *e = export_by_name(ec->name);

		config_export_check(&cfg, ec);
		check_section("export", ec->name, e && config_export_same(e->cfg, ec) &&
			      same_text(e->cfg->allow, ec->allow));
	}
	TAILQ_FOREACH(hc, &cfg.hosts, entry) {
		const struct host *h = host_by_name(hc->name);

		check_section("host", hc->name, h && config_host_same(host_section(h), hc));
	}
	cfg.complaints = NULL;
	config_free(&cfg);
}

/* Return: 0 or -errno; what is wrong with the text is in the complaints */
static int make_text(void)
{
	struct admin *a = save.a;
	size_t len;
	FILE *out = open_memstream(&a->text, &len);

	if (!out)
		return -ENOMEM;
	fputs(SAVE_HEAD, out);
	write_exports(out);
	write_hosts(out);
	if (fclose(out) || asprintf(&a->path, "%s.d/" SAVE_NAME, save.cfg->file) < 0)
		return -ENOMEM;
	check_text(a->text);
	return 0;
}

/*
 * The request
 */

static void over(void)
{
	if (save.fresh.complaints)
		fclose(save.fresh.complaints);
	save.fresh.complaints = NULL;
	if (!save.ret && save.complaints && save.complaints[0])
		save.ret = -EINVAL;
	if (save.ret == -ENOENT)
		admin_say("the daemon has no configuration file (--config) to save beside");
	else if (save.ret)
		admin_say("%s", save.complaints && save.complaints[0] ? save.complaints :
			  strerror(-save.ret));
	free(save.complaints);
	save.complaints = NULL;
	config_free(&save.fresh);
	save.then(save.ret);
}

static void read_run(struct job *job)
{
	(void)job;
	config_init(&save.fresh);
	save.fresh.complaints = open_memstream(&save.complaints, &save.len);
	save.ret = save.fresh.complaints ? options_again(&save.fresh) : -ENOMEM;
}

static void read_done(struct job *job)
{
	(void)job;
	if (!save.ret)
		save.ret = make_text();
	over();
}

/**
 * admin_save - make the text of the file that keeps what was changed at run time
 * @a: request; gets the path of the file, its text, and what is not in it
 * @then: when that is done, or not
 */
void admin_save(struct admin *a, admin_then then)
{
	save.a = a;
	save.then = then;
	save.job = (struct job){ .run = read_run, .done = read_done, .kind = JOB_ADMIN };
	worker_submit(&save.job);
}
