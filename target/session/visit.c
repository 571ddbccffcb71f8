// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Visits: a host logs in without an export, to see what it may use. A visit keeps its login slot
 * and has the time of a login. When slots are short it may be evicted as a silent login may,
 * however much it says. It has no memory registered and no data queue. An export that the host
 * may not use is not there for it.
 */
#include "session/session_audit.h"
#include "session/visit.h"

/**
 * visit_begin - the initiator has proven who it is
 * @s: session past PROOF, without an export
 * @h: its host; NULL with version 1
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int visit_begin(struct session *s, const struct host *h)
{
	struct rdmablk_visit msg;

	/* of a lease that it never takes: to tell its own sessions from those of others */
	if (h)
		host_lease_id(h, s->lease.host_id);
	else
		memcpy(s->lease.host_id, s->wish.host_id, sizeof(s->lease.host_id));
	session_set_state(s, SESSION_VISIT);
	session_login_timer(s);
	wire_pack_visit(&msg, s->id, s->cfg->name);
	return session_send(s, &msg, sizeof(msg));
}

/* Return: ALLOW_*, or 0: there is no such export for this host. */
static unsigned int rights_to(const struct session *s, const struct host *h,
			      const struct export *e)
{
	const char *networks = e->cfg->allow_address;

	if (e->state != EXPORT_READY ||
	    (networks && !value_in_networks(networks, session_peer(s))))
		return 0;
	return h ? host_may(h, e) : ALLOW_READ | ALLOW_WRITE;
}

static uint32_t use_of(const struct session *s, const struct export *e)
{
	const struct lease *held;
	uint32_t flags = 0;

	LIST_FOREACH(held, &e->leases, entry) {
		if (!memcmp(held->host_id, s->lease.host_id, sizeof(held->host_id)))
			flags |= RDMABLK_LISTED_HERE;
		else
			flags |= RDMABLK_LISTED_ELSEWHERE |
				 (held->writer ? RDMABLK_LISTED_WRITTEN : 0);
	}
	return flags;
}

static void pack(const struct session *s, const struct host *h, struct export *e,
		 struct rdmablk_listed *out)
{
	bool write = rights_to(s, h, e) & ALLOW_WRITE && !e->cfg->read_only;
	struct store_limits limits = { 0 };

	if (e->store.ops->limits)
		e->store.ops->limits(&e->store, &limits);
	wire_pack_listed(out, e->cfg->name, e->store.size, (uint32_t)e->cfg->block,
			 limits.flags | (write ? 0 : RDMABLK_GRANT_READ_ONLY) |
			 (e->cfg->shared ? RDMABLK_GRANT_SHARED : 0) | use_of(s, e));
}

/* Return: the export whose name is the next after @after, or NULL. */
static struct export *next_after(const struct session *s, const struct host *h,
				 const char *after)
{
	struct export *e, *next = NULL;

	for (e = export_next(NULL); e; e = export_next(e))
		/* Rights come last: they are read from a text each time. */
		if (strcmp(e->cfg->name, after) > 0 &&
		    (!next || strcmp(e->cfg->name, next->cfg->name) < 0) &&
		    rights_to(s, h, e))
			next = e;
	return next;
}

/**
 * visit_list - LIST_GET
 * @s: session in SESSION_VISIT
 * @msg: passed wire_check_head()
 * @len: bytes
 *
 * Pages begin after a name, so that an export that comes or goes between two pages hides no
 * other.
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int visit_list(struct session *s, const void *msg, size_t len)
{
	const struct host *h = s->proof.name[0] ? host_find_name(s->proof.name) : NULL;
	struct export *found[RDMABLK_LISTED_PER_MSG], *e;
	char after[RDMABLK_NAME_LEN];
	struct rdmablk_list list;
	unsigned int nr, reason = wire_check_list_get(msg, len, after);

	if (reason)
		return reason;
	if (s->proof.name[0] && !h)
		return RDMABLK_R_AUTH_KEY;
	e = next_after(s, h, after);
	for (nr = 0; e && nr < RDMABLK_LISTED_PER_MSG; nr++) {
		found[nr] = e;
		e = next_after(s, h, e->cfg->name);
	}
	wire_pack_list(&list, nr, e);
	while (nr--)
		pack(s, h, found[nr], &list.listed[nr]);
	session_login_timer(s);
	return session_send(s, &list, sizeof(list));
}
