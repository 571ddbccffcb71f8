// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Visits: a host logs in without an export, to see what it may use, and to measure the path to
 * this target. A visit keeps its login slot and lasts VISIT_MS (session.c) longer than a
 * login. When slots are short it may be evicted as a silent login may, however much it says.
 * It has no data queue. An export that the host may not use is not there for it.
 *
 * Queue 0 lets nobody READ or WRITE but a visit that has asked for a scratch region. Such a
 * visit reaches that region only: no other memory of its domain has a remote key. Sessions
 * with an export cannot ask: SCRATCH_GET is a message of visits. Without keys, a visit from an
 * address that may use no export gets no region: a host that gets one could log in, and would
 * cost more then.
 */
#include <errno.h>

#include "base/log.h"
#include "base/util.h"
#include "session/session_audit.h"
#include "session/visit.h"

/* The peer is told the reason only: the log names the limit. */
static unsigned int refuse(const struct session *s, unsigned int reason, const char *full)
{
	if (full)
		log_peer(session_peer(s), LOG_WARNING, "%s: refused by %s", session_text(s),
			 full);
	return reason;
}

/**
 * visit_begin - begin a visit after a good PROOF
 * @s: session past PROOF, without an export
 * @h: its host; NULL with version 1
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int visit_begin(struct session *s, const struct host *h)
{
	struct rdmablk_visit msg;
	const char *full = NULL;
	unsigned int reason;

	/* A visit takes no lease, but its host id tells its own sessions from those of others. */
	if (h)
		host_lease_id(h, s->lease.host_id);
	else
		memcpy(s->lease.host_id, s->hello.host_id, sizeof(s->lease.host_id));
	reason = quota_visit_get(&s->visit, s->lease.host_id, session_peer(s), &full);
	if (reason)
		return refuse(s, reason, full);
	session_audit_visit_begins();
	session_set_state(s, SESSION_VISIT);
	session_login_timer(s);
	wire_pack_visit(&msg, s->id, s->cfg->name);
	return session_send(s, &msg, sizeof(msg));
}

static bool takes_address(const struct session *s, const struct export *e)
{
	const char *networks = e->cfg->allow_address;

	return !networks || value_in_networks(networks, session_peer(s));
}

/* Return: ALLOW_*, or 0: there is no such export for this host. */
static unsigned int rights_to(const struct session *s, const struct host *h,
			      const struct export *e)
{
	if (e->state != EXPORT_READY || !takes_address(s, e))
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

/* One page of a list, and the export behind it */
struct page {
	struct export *found[RDMABLK_LISTED_PER_MSG + 1];
	unsigned int nr;
};

/* Keeps the names in their order, as many as there is room for. */
static void insert(struct page *page, struct export *e)
{
	unsigned int at = page->nr;

	if (at == ARRAY_SIZE(page->found))
		at--;		/* the last one is on a later page */
	else
		page->nr++;
	for (; at && strcmp(e->cfg->name, page->found[at - 1]->cfg->name) < 0; at--)
		page->found[at] = page->found[at - 1];
	page->found[at] = e;
}

static bool belongs(const struct page *page, const struct export *e, const char *after)
{
	const char *name = e->cfg->name;

	return strcmp(name, after) > 0 &&
	       (page->nr < ARRAY_SIZE(page->found) ||
		strcmp(name, page->found[page->nr - 1]->cfg->name) < 0);
}

/*
 * The host whose rights count now; they may have changed since PROOF. NULL with version 1.
 * Return: RDMABLK_OK or why the session must end.
 */
static unsigned int visitor(const struct session *s, const struct host **h)
{
	*h = s->proof.name[0] ? host_find_name(s->proof.name) : NULL;
	return s->proof.name[0] && !*h ? RDMABLK_R_AUTH_KEY : RDMABLK_OK;
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
	char after[RDMABLK_NAME_LEN];
	struct page page = { .nr = 0 };
	struct rdmablk_list list;
	const struct host *h;
	unsigned int nr, reason = wire_check_list_get(msg, len, after) ?: visitor(s, &h);

	if (reason)
		return reason;
	for (struct export *e = export_next(NULL); e; e = export_next(e))
		/* Checks rights last, because they are parsed from a text each time. */
		if (belongs(&page, e, after) && rights_to(s, h, e))
			insert(&page, e);
	nr = (unsigned int)min_u64(page.nr, RDMABLK_LISTED_PER_MSG);
	wire_pack_list(&list, nr, page.nr > nr);
	while (nr--)
		pack(s, h, page.found[nr], &list.listed[nr]);
	session_login_timer(s);
	return session_send(s, &list, sizeof(list));
}

/*
 * Scratch regions
 */

/* A visit with a key may borrow. Without one, an export has to take its address. */
static bool may_borrow(const struct session *s, const struct host *h)
{
	const struct export *e;

	if (h)
		return true;
	for (e = export_next(NULL); e; e = export_next(e))
		if (takes_address(s, e))
			return true;
	log_peer(session_peer(s), LOG_WARNING,
		 "%s: no scratch region: no export takes its address", session_text(s));
	return false;
}

static unsigned int lend_nothing(struct session *s, unsigned int reason)
{
	struct rdmablk_scratch msg;

	wire_pack_no_scratch(&msg, reason);
	return session_send(s, &msg, sizeof(msg));
}

/*
 * The queue pair is opened to the visitor as the last step, when there is a region. A peer can
 * make this step fail, by an error of its queue pair. Nobody knows the key yet, so the memory
 * can be given back before the queue pair is gone.
 */
static void lend_run(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	s->job_error = scratch_register(&s->scratch, s->pd);
	if (!s->job_error) {
		s->scratch.step = "its queue pair cannot be opened";
		s->job_error = conn_permit(s->conn,
					   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	}
	if (s->job_error && !scratch_deregister(&s->scratch))
		scratch_free(&s->scratch);
}

static unsigned int lend_failed(struct session *s)
{
	log_peer(session_peer(s), LOG_WARNING, "%s: no scratch region of %llu bytes: %s: %s%s",
		 session_text(s), (unsigned long long)s->scratch.bytes, s->scratch.step,
		 strerror(-s->job_error),
		 s->job_error == -ENOMEM ? " (RLIMIT_MEMLOCK too small?)" : "");
	if (!s->scratch.mem) {		/* else the fence tries again */
		quota_visit_return(&s->visit);
		s->scratch.bytes = 0;
	}
	return lend_nothing(s, RDMABLK_R_NO_MEMORY);
}

static void lend_done(struct job *job)
{
	struct session *s = container_of(job, struct session, job);
	struct rdmablk_scratch msg;
	unsigned int reason;

	s->busy = false;
	if (s->state == SESSION_CLOSING) {
		session_fence(s);
		return;
	}
	session_login_timer(s);
	if (s->job_error) {
		reason = lend_failed(s);
	} else {
		wire_pack_scratch(&msg, s->scratch.iova, s->scratch.mr->rkey,
				  s->scratch.bytes);
		reason = session_send(s, &msg, sizeof(msg));
	}
	if (reason)
		session_end(s, reason);
}

/**
 * visit_scratch - SCRATCH_GET
 * @s: session in SESSION_VISIT
 * @msg: passed wire_check_head()
 * @len: bytes
 *
 * A visit asks once. It has no more than the configuration lends; a worker registers the
 * memory.
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int visit_scratch(struct session *s, const void *msg, size_t len)
{
	const char *full = NULL;
	const struct host *h;
	uint32_t bytes;
	unsigned int reason = wire_check_scratch_get(msg, len, &bytes) ?: visitor(s, &h);

	if (reason)
		return reason;
	if (s->scratch.asked)
		return RDMABLK_R_STATE;
	s->scratch.asked = true;
	session_login_timer(s);
	bytes = (uint32_t)min_u64(bytes, s->cfg->scratch);
	if (!bytes)
		return lend_nothing(s, RDMABLK_R_UNSUPPORTED);
	if (!may_borrow(s, h))
		return lend_nothing(s, RDMABLK_R_NO_EXPORT);
	reason = quota_visit_lend(&s->visit, scratch_room(bytes), &full);
	if (reason)
		return lend_nothing(s, refuse(s, reason, full));
	s->scratch.bytes = bytes;
	/* Not with those that register whole exports, and take their time. */
	session_submit(s, lend_run, lend_done, JOB_OPEN);
	return RDMABLK_OK;
}
