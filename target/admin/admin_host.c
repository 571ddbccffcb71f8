// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes of hosts, their keys and their rights at run time. Key files are read beside the
 * loop. A change counts for logins at once, and each session that it leaves without its key or
 * its right ends. The administrator's tool names the file of a key; the daemon reads it.
 */
#include <errno.h>
#include <stdio.h>

#include "admin/admin_host.h"
#include "base/log.h"
#include "base/util.h"
#include "session/session.h"

static struct {
	struct config *cfg;
	struct admin *a;		/* request that adds a host */
	admin_then then;
	struct job job;
	struct config fresh;		/* has only the new host */
	char *text;			/* complaints about @fresh */
	size_t len;			/* bytes of @text; set by the stream until it is closed */
	struct host_table *table;	/* new table, not in force yet */
} change;

/**
 * admin_host_init - initialise, before the first change
 * @cfg: of the daemon
 */
void admin_host_init(struct config *cfg)
{
	change.cfg = cfg;
}

static bool takes_hosts(void)
{
	if (change.cfg->auth == AUTH_PSK)
		return true;
	admin_say("the daemon has auth = none: hosts need auth = psk, and a restart");
	return false;
}

/*
 * Adding
 */

static void add_run(struct job *job)
{
	(void)job;
	change.table = host_load(&change.fresh, HOST_KEEP_ALL);
}

static void add_over(int ret)
{
	fclose(change.fresh.complaints);
	change.fresh.complaints = NULL;
	if (ret && change.text && change.text[0])
		admin_say("%s", change.text);
	free(change.text);
	change.text = NULL;
	config_host_empty(&change.fresh.hosts);
	change.then(ret);
}

static void add_done(struct job *job)
{
	(void)job;
	if (!change.table) {
		add_over(-EINVAL);
		return;
	}
	host_install(change.table);
	change.table = NULL;
	log_info("host %s: added", change.a->name);
	session_hosts_changed();
	add_over(0);
}

/* Return: 0, and the name of the request is that of the host; or -errno, and why */
static int parse_spec(struct admin *a)
{
	const struct host_config *hc;

	config_host_spec(&change.fresh, a->spec);
	hc = TAILQ_FIRST(&change.fresh.hosts);
	if (change.fresh.errors || !hc)
		return -EINVAL;
	snprintf(a->name, sizeof(a->name), "%s", hc->name);
	if (!host_by_name(hc->name))
		return 0;
	fprintf(change.fresh.complaints, "host %s exists already\n", hc->name);
	return -EEXIST;
}

/**
 * admin_host_add - add a host
 * @a: request, with the host in the words of config_host_spec(); gets its name
 * @then: upcall with the result
 */
void admin_host_add(struct admin *a, admin_then then)
{
	int ret;

	if (!takes_hosts()) {
		then(-EINVAL);
		return;
	}
	change.a = a;
	change.then = then;
	change.fresh = (struct config){ 0 };
	TAILQ_INIT(&change.fresh.hosts);
	change.fresh.complaints = open_memstream(&change.text, &change.len);
	if (!change.fresh.complaints) {
		admin_say("out of memory");
		then(-ENOMEM);
		return;
	}
	ret = parse_spec(a);
	if (ret) {
		add_over(ret);
		return;
	}
	change.job = (struct job){ .run = add_run, .done = add_done, .kind = JOB_ADMIN };
	worker_submit(&change.job);
}

/*
 * Removing, and rights
 */

/**
 * admin_host_remove - remove a host, and end its sessions
 * @name: of the host
 *
 * Lists that allow it stay as they are. A reload brings back a host of the configuration.
 *
 * Return: 0 or -errno, and admin_said() says why.
 */
int admin_host_remove(const char *name)
{
	char why[ADMIN_NEAR_WHY];

	if (!host_remove(name)) {
		admin_near_host(name, why);
		admin_say("%s", why);
		return -ENOENT;
	}
	log_info("host %s: removed", name);
	session_hosts_changed();
	return 0;
}

/* Return: whether a list is right; if not, admin_said() says why. */
static bool check_list(const char *list)
{
	const char *wrong = value_allow_check(list);
	struct allow_entry host;
	char why[ADMIN_NEAR_WHY];

	if (wrong) {
		admin_say("%.200s: %s", list, wrong);
		return false;
	}
	while (value_allow_next(&list, &host))
		if (!host_by_name(host.name)) {
			admin_near_host(host.name, why);
			admin_say("%s", why);
			return false;
		}
	return true;
}

/**
 * admin_host_check - check the list of hosts that may use an export
 * @list: list of hosts
 *
 * Return: whether the daemon takes hosts and knows these; if not, admin_said() says why.
 */
bool admin_host_check(const char *list)
{
	return takes_hosts() && check_list(list);
}

/**
 * admin_host_allow - change which hosts may use an export
 * @e: export
 * @list: list of hosts; empty: no host
 *
 * A reload brings back the list of the configuration.
 *
 * Return: 0 or -errno, and admin_said() says why.
 */
int admin_host_allow(struct export *e, const char *list)
{
	const char *now = *list ? list : NULL;

	if (!admin_host_check(list))
		return -EINVAL;
	config_take_text(&e->cfg->allow, now);
	if (now && (!e->cfg->allow || strcmp(e->cfg->allow, now))) {
		admin_say("out of memory");
		return -ENOMEM;
	}
	log_info("export %s: allowed: %s", e->cfg->name, now ?: "nobody");
	session_hosts_changed();
	return 0;
}

/*
 * Reading the configuration again
 */

/**
 * admin_host_read - read the keys of a new configuration
 * @fresh: the configuration; its hosts are taken, problems are printed and counted
 *
 * In a worker.
 *
 * Return: 0 or -EINVAL; then nothing changes.
 */
int admin_host_read(struct config *fresh)
{
	if (change.cfg->auth != AUTH_PSK)
		return 0;
	change.table = host_load(fresh, HOST_KEEP_BY_HAND);
	return change.table ? 0 : -EINVAL;
}

/*
 * An export that differs may be opened again hours later, or never, if it is in use. Until then it
 * has its old contents, so a host gets no right to them that only the new section gives. The
 * other rights of the new section come when the export is opened with it.
 */
static void narrow(struct export *e, const struct export_config *ec)
{
	const struct export_config *is = e->cfg;

	if (!config_export_narrow(e->cfg, ec))
		return;
	log_info("export %s: allowed until it is opened again: hosts %s, networks %s",
		 is->name, e->daemon->auth != AUTH_PSK ? "any" : is->allow ?: "none",
		 !is->allow_address ? "any" : *is->allow_address ? is->allow_address : "none");
}

/* The same contents, and perhaps more of them */
static void take(struct export *e, const struct export_config *ec)
{
	bool allow = config_take_text(&e->cfg->allow, ec->allow);

	if (config_take_text(&e->cfg->allow_address, ec->allow_address) || allow)
		e->allow_changed = true;
}

/**
 * admin_host_rights - take over from a new configuration who may use the exports, and from where
 * @fresh: the configuration
 *
 * Counts at once, however long the exports take, and before the networks of the daemon, which may
 * get wider because those of its exports get narrower. In the loop; admin_host_reload() looks at
 * the sessions.
 */
void admin_host_rights(const struct config *fresh)
{
	const struct export_config *ec;
	struct export *e;

	TAILQ_FOREACH(ec, &fresh->exports, entry) {
		e = export_by_name(ec->name);
		if (!e)
			continue;
		if (config_export_same(e->cfg, ec) || config_export_grows(e->cfg, ec))
			take(e, ec);
		else
			narrow(e, ec);
	}
}

/**
 * admin_host_reload - take over hosts and keys of a new configuration, after admin_host_read()
 * @report: called for each host that changes
 *
 * In the loop, after admin_host_rights().
 */
void admin_host_reload(void (*report)(const char *name, const char *action))
{
	if (!change.table)
		return;
	host_changes(change.table, report);
	host_install(change.table);
	change.table = NULL;
	session_hosts_changed();
}
