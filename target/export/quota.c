// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits of hosts, addresses, exports and the whole daemon. The account of a host or
 * address exists as long as it has sessions, logins or visits, that of an export as long as
 * the export. Only the loop calls this.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "export/quota.h"

/**
 * struct quota_host - account of a host
 * @entry: in the list of all hosts
 * @id: identity
 * @visits: under way
 * @lent: scratch regions of these
 * @taken: by sessions
 */
struct quota_host {
	LIST_ENTRY(quota_host) entry;
	uint8_t id[RDMABLK_ID_LEN];
	uint64_t visits;
	uint64_t lent;
	struct quota_account taken;
};

/*
 * A quarter of the login slots is reserved for known addresses: those that have a live
 * session, or had one within KNOWN_MS, and those that the section of a host names.
 * Connections cost a peer nothing, and must not keep a host from coming, or coming back. At
 * most KNOWN_MAX addresses without a live session are remembered. One of them gets half of
 * the reserved slots at most.
 */
#define KNOWN_SHARE	4		/* one of so many login slots is reserved */
#define KNOWN_MAX	1024
#define KNOWN_MS	900000

/**
 * struct quota_addr - account of an address, or of an IPv6 network of 64 bits
 * @entry: in the list of all addresses, most recent end of a session first
 * @addr: the address; IPv4 as mapped IPv6; of a network the rest is zero
 * @logins: number of logins in progress
 * @live: number of sessions that have been live and are not gone
 * @visits: number of visits under way
 * @lent: number of their scratch regions
 * @taken: what its sessions have taken
 * @until: time until which the address counts as known, loop_now(); 0: no session has ended
 */
struct quota_addr {
	LIST_ENTRY(quota_addr) entry;
	struct in6_addr addr;
	uint64_t logins;
	uint64_t live;
	uint64_t visits;
	uint64_t lent;
	struct quota_account taken;
	int64_t until;
};

static struct {
	const struct config *cfg;
	bool (*expects)(const struct sockaddr *peer);
	LIST_HEAD(, quota_host) hosts;
	LIST_HEAD(, quota_addr) addrs;
	uint64_t logins;
	uint64_t evicted;		/* logins without a slot that are not gone yet */
	uint64_t visits;
	uint64_t lent;			/* scratch regions */
	uint64_t lent_bytes;
	struct quota_account taken;
	unsigned int remembered;	/* addresses with an @until */
} limits;

/**
 * quota_init - initialize with the limits of the configuration
 * @cfg: read as long as the daemon runs
 */
void quota_init(const struct config *cfg)
{
	limits.cfg = cfg;
	limits.expects = NULL;
	LIST_INIT(&limits.hosts);
	LIST_INIT(&limits.addrs);
	limits.taken = (struct quota_account){ 0 };
	limits.visits = 0;
	limits.lent = 0;
	limits.lent_bytes = 0;
	limits.remembered = 0;
}

/**
 * quota_expect - let more addresses be known than those with sessions
 * @expects: upcall with the address of an initiator that has sent no message yet; returns
 *	whether it is that of a host. NULL: no upcall
 */
void quota_expect(bool (*expects)(const struct sockaddr *peer))
{
	limits.expects = expects;
}

static struct quota_addr *find_key(struct in6_addr addr)
{
	struct quota_addr *a;

	LIST_FOREACH(a, &limits.addrs, entry)
		if (!memcmp(&a->addr, &addr, sizeof(addr)))
			return a;
	return NULL;
}

/* Return: the interface of a link-local address, or 0. */
static uint32_t scope_of(const struct sockaddr *sa)
{
	const struct in6_addr ip = value_ip(sa);

	return IN6_IS_ADDR_LINKLOCAL(&ip) ? ((const struct sockaddr_in6 *)sa)->sin6_scope_id : 0;
}

/*
 * The owner of an IPv6 network of 64 bits has every address in it, so the network is one
 * address, as for the log. An address that the section of a host names has an account of its
 * own: nobody else in its network takes what is that host's.
 */
static struct in6_addr network_of(const struct sockaddr *peer)
{
	struct in6_addr ip = value_ip(peer);

	const uint32_t scope = scope_of(peer);

	if (IN6_IS_ADDR_LINKLOCAL(&ip))	/* these bytes of it are zero */
		memcpy(&ip.s6_addr[4], &scope, sizeof(scope));
	else if (!IN6_IS_ADDR_V4MAPPED(&ip))
		memset(&ip.s6_addr[8], 0, sizeof(ip.s6_addr) - 8);
	return ip;
}

static struct in6_addr key_of(const struct sockaddr *peer)
{
	const struct in6_addr own = value_ip(peer), net = network_of(peer);
	bool named = memcmp(&own, &net, sizeof(net)) && limits.expects && limits.expects(peer);

	return named ? own : net;
}

/* An account that exists stays, also when the hosts of the configuration change. */
static struct quota_addr *find_addr(const struct sockaddr *peer)
{
	return find_key(value_ip(peer)) ?: find_key(key_of(peer));
}

static void forget(struct quota_addr *a)
{
	if (a->until)
		limits.remembered--;
	a->until = 0;
	if (a->logins || a->live || a->visits || a->taken.sessions)
		return;
	LIST_REMOVE(a, entry);
	free(a);
}

static struct quota_addr *get_addr(const struct sockaddr *peer)
{
	struct quota_addr *a = find_addr(peer);

	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->addr = key_of(peer);
	LIST_INSERT_HEAD(&limits.addrs, a, entry);
	return a;
}

static bool is_recent(const struct quota_addr *a)
{
	return a && (a->live || a->until > loop_now());
}

/**
 * quota_known - is an address known
 * @peer: address of an initiator
 *
 * Return: whether it has a live session, had one lately, or is that of a host.
 */
bool quota_known(const struct sockaddr *peer)
{
	return is_recent(find_addr(peer)) || (limits.expects && limits.expects(peer));
}

/* Whether a login may begin while @all logins are in progress, @own of them of its address */
static bool login_fits(const struct sockaddr *peer, uint64_t all, uint64_t own)
{
	uint64_t max = limits.cfg->max_logins, kept = max / KNOWN_SHARE;

	if (own >= limits.cfg->max_logins_addr)
		return false;
	if (all < max - kept)
		return true;
	return all < max && own < (kept + 1) / 2 && quota_known(peer);
}

/**
 * quota_login_get - take a login slot
 * @peer: address of the initiator
 *
 * Return: enum rdmablk_reason; with RDMABLK_OK quota_login_put() is due.
 */
unsigned int quota_login_get(const struct sockaddr *peer)
{
	struct quota_addr *a = find_addr(peer);

	if (!login_fits(peer, limits.logins, a ? a->logins : 0))
		return RDMABLK_R_LIMIT_LOGINS;
	a = get_addr(peer);
	if (!a)
		return RDMABLK_R_NO_MEMORY;
	a->logins++;
	limits.logins++;
	return RDMABLK_OK;
}

/**
 * quota_login_put - give a login slot back
 * @peer: as given to quota_login_get()
 */
void quota_login_put(const struct sockaddr *peer)
{
	struct quota_addr *a = find_addr(peer);

	limits.logins--;
	if (!a || !a->logins)	/* taken before the address was named, or its name was taken away */
		a = find_key(network_of(peer));
	if (!a || !a->logins)
		return;
	a->logins--;
	if (!a->until || a->until <= loop_now())
		forget(a);
}

/**
 * quota_login_would - would a login get a slot if another login gave its slot back
 * @peer: address of the first
 * @other: address of the other, which has a slot
 *
 * A login without a slot still takes memory until its session is gone. There are no more of
 * them than slots.
 *
 * Return: whether it would.
 */
bool quota_login_would(const struct sockaddr *peer, const struct sockaddr *other)
{
	const struct quota_addr *a = find_addr(peer);
	uint64_t own = a ? a->logins : 0;

	return limits.evicted < limits.cfg->max_logins &&
	       login_fits(peer, limits.logins - 1, own - (own && a == find_addr(other)));
}

/**
 * quota_login_evict - take the slot of a login that is about to end
 * @peer: as given to quota_login_get(); quota_login_gone() is due instead of
 *	quota_login_put()
 */
void quota_login_evict(const struct sockaddr *peer)
{
	quota_login_put(peer);
	limits.evicted++;
}

/**
 * quota_login_gone - the session of an evicted login is gone
 */
void quota_login_gone(void)
{
	limits.evicted--;
}

/**
 * quota_logins - logins in progress
 *
 * Return: slots that are taken.
 */
uint64_t quota_logins(void)
{
	return limits.logins;
}

/**
 * quota_live_get - count a live session of an address
 * @peer: its address
 */
void quota_live_get(const struct sockaddr *peer)
{
	struct quota_addr *a = get_addr(peer);

	if (a)		/* without memory the address just stays unknown */
		a->live++;
}

/* At most KNOWN_MAX: the address whose session ended first is forgotten. */
static void make_room(void)
{
	struct quota_addr *a, *next, *last = NULL;

	for (a = LIST_FIRST(&limits.addrs); a; a = next) {
		next = LIST_NEXT(a, entry);
		if (a->until && a->until <= loop_now())
			forget(a);
		else if (a->until)
			last = a;
	}
	if (last && limits.remembered >= KNOWN_MAX)
		forget(last);
}

/**
 * quota_live_put - a live session of an address has ended
 * @peer: address of the initiator
 */
void quota_live_put(const struct sockaddr *peer)
{
	struct quota_addr *a = find_addr(peer);

	if (!a || !a->live)
		a = find_key(network_of(peer));
	if (!a || !a->live)
		return;
	a->live--;
	if (!a->until)
		make_room();
	limits.remembered += !a->until;
	a->until = loop_now() + KNOWN_MS;
	LIST_REMOVE(a, entry);
	LIST_INSERT_HEAD(&limits.addrs, a, entry);
}

/**
 * quota_same_address - whether two addresses are equal, apart from the port
 * @a: address
 * @b: address; another interface makes a link-local address another one
 *
 * Return: true: equal.
 */
bool quota_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct in6_addr plain_a = value_ip(a), plain_b = value_ip(b);

	return !memcmp(&plain_a, &plain_b, sizeof(plain_a)) && scope_of(a) == scope_of(b);
}

static struct quota_host *find_host(const uint8_t *id)
{
	struct quota_host *h;

	LIST_FOREACH(h, &limits.hosts, entry)
		if (!memcmp(h->id, id, sizeof(h->id)))
			return h;
	return NULL;
}

#define READER_SHARE	4	/* readers leave one part of so many to writers */

static uint64_t for_all(const struct quota_who *who, uint64_t max)
{
	return who->writer ? max : max - max / READER_SHARE;
}

static uint64_t left(uint64_t max, uint64_t taken)
{
	return taken < max ? max - taken : 0;
}

/*
 * The part of an export's limit that readers may take: they leave room for at least one
 * writer. Readers have an account of their own, so a writer that is there does not reduce
 * their part.
 */
static uint64_t for_readers(const struct quota_who *who, uint64_t max, uint64_t one)
{
	uint64_t kept = max / READER_SHARE;

	if (who->writer || who->read_only)
		return max;
	return left(max, kept < one ? one : kept);
}

static uint64_t bytes_max(uint64_t max)
{
	return max ?: UINT64_MAX;
}

static void add(struct quota_account *to, uint64_t queues, uint64_t bytes)
{
	to->sessions++;
	to->queues += queues;
	to->bytes += bytes;
}

static void give_back(struct quota_account *from, const struct quota_account *what)
{
	from->sessions -= min_u64(from->sessions, what->sessions);
	from->queues -= min_u64(from->queues, what->queues);
	from->bytes -= min_u64(from->bytes, what->bytes);
}

/**
 * struct taken - accounts that concern a session, now or after some sessions have ended
 * @host: account of the host
 * @addr: account of its address
 * @export: account of all sessions of the export
 * @readers: account of those sessions of the export that may not write
 * @all: account of all sessions
 */
struct taken {
	struct quota_account host;
	struct quota_account addr;
	struct quota_account export;
	struct quota_account readers;
	struct quota_account all;
};

static struct taken taken_then(const struct quota_who *who, const struct quota_freed *freed)
{
	const struct quota_addr *a = find_addr(who->peer);
	const struct quota_host *h = find_host(who->host_id);
	struct taken then = {
		.export = who->export->taken,
		.readers = who->export->readers,
		.all = limits.taken,
	};

	if (h)
		then.host = h->taken;
	if (a)
		then.addr = a->taken;
	if (!freed)
		return then;
	give_back(&then.host, &freed->host);
	give_back(&then.addr, &freed->addr);
	give_back(&then.export, &freed->all);
	give_back(&then.readers, &freed->readers);
	give_back(&then.all, &freed->all);
	return then;
}

/**
 * struct cap - one limit, as it applies to one session
 * @option: name of the limit
 * @reason: enum rdmablk_reason of a refusal
 * @of_export: the limit is set in the section of the export, not of the target
 * @given: value of the limit
 * @max: part of @given that sessions of this kind may take
 * @taken: part of @max that is taken
 * @need: least that the session needs
 */
struct cap {
	const char *option;
	unsigned int reason;
	bool of_export;
	uint64_t given;
	uint64_t max;
	uint64_t taken;
	uint64_t need;
};

/* Return: RDMABLK_OK, or why there is no room, and in @full the first limit that says so. */
static unsigned int check(const struct quota_who *who, const struct taken *then,
			  uint64_t bytes, struct cap *full)
{
	const struct config *cfg = limits.cfg;
	const struct quota_caps *own = &who->caps;
#define CAP(_reason, _option, _of_export, _given, _max, _taken, _need)			\
	{ .reason = RDMABLK_R_LIMIT_##_reason, .option = (_option),			\
	  .of_export = (_of_export), .given = (_given), .max = (_max),			\
	  .taken = (_taken), .need = (_need) }
	const struct cap caps[] = {
		CAP(SESSIONS, "max-sessions-per-host", false, cfg->max_sessions,
		    cfg->max_sessions, then->host.sessions, 1),
		CAP(SESSIONS, "max-sessions-per-address", false, cfg->max_sessions_addr,
		    cfg->max_sessions_addr, then->addr.sessions, 1),
		CAP(SESSIONS, "max-sessions", false, cfg->max_sessions_all,
		    for_all(who, cfg->max_sessions_all), then->all.sessions, 1),
		CAP(SESSIONS, "max-sessions", true, own->sessions,
		    own->sessions, then->export.sessions, 1),
		CAP(SESSIONS, "max-sessions", true, own->sessions,
		    for_readers(who, own->sessions, 1), then->readers.sessions, 1),
		CAP(QUEUES, "max-queues-per-host", false, cfg->max_queues,
		    cfg->max_queues, then->host.queues, 1),
		CAP(QUEUES, "max-queues-per-address", false, cfg->max_queues_addr,
		    cfg->max_queues_addr, then->addr.queues, 1),
		CAP(QUEUES, "max-queues", false, cfg->max_queues_all,
		    for_all(who, cfg->max_queues_all), then->all.queues, 1),
		CAP(QUEUES, "max-queues", true, own->queues,
		    own->queues, then->export.queues, 1),
		CAP(QUEUES, "max-queues", true, own->queues,
		    for_readers(who, own->queues, 1), then->readers.queues, 1),
		CAP(MEMORY, "max-pinned", false, cfg->max_pinned,
		    bytes_max(cfg->max_pinned), then->host.bytes, bytes),
		CAP(MEMORY, "max-pinned-per-address", false, cfg->max_pinned_addr,
		    bytes_max(cfg->max_pinned_addr), then->addr.bytes, bytes),
		CAP(MEMORY, "max-pinned-total", false, cfg->max_pinned_all,
		    for_all(who, bytes_max(cfg->max_pinned_all)), then->all.bytes, bytes),
		CAP(MEMORY, "max-pinned", true, own->bytes,
		    bytes_max(own->bytes), then->export.bytes, bytes),
		CAP(MEMORY, "max-pinned", true, own->bytes,
		    for_readers(who, bytes_max(own->bytes), bytes), then->readers.bytes, bytes),
	};
#undef CAP

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		if (caps[i].need <= left(caps[i].max, caps[i].taken))
			continue;
		*full = caps[i];
		return caps[i].reason;
	}
	return RDMABLK_OK;
}

/**
 * quota_freed_add - add the share of a session that ends before a new session of its
 * export begins
 * @freed: zeroed, or with others that end
 * @who: owner of the new session
 * @share: what the session has taken
 */
void quota_freed_add(struct quota_freed *freed, const struct quota_who *who,
		     const struct quota_share *share)
{
	if (!share->host)
		return;
	add(&freed->all, share->queues, share->bytes);
	if (!share->writer)
		add(&freed->readers, share->queues, share->bytes);
	if (!memcmp(share->host->id, who->host_id, sizeof(share->host->id)))
		add(&freed->host, share->queues, share->bytes);
	if (share->addr == find_addr(who->peer))
		add(&freed->addr, share->queues, share->bytes);
}

/**
 * quota_session_check - whether a session would be refused after others of its export
 * have ended
 * @who: accounts of the session
 * @bytes: bytes that the session would register
 * @freed: what these others have taken
 *
 * Return: RDMABLK_OK, or the enum rdmablk_reason of quota_session_get() then.
 */
unsigned int quota_session_check(const struct quota_who *who, uint64_t bytes,
				 const struct quota_freed *freed)
{
	const struct taken then = taken_then(who, freed);
	struct cap full;

	return check(who, &then, bytes, &full);
}

/**
 * quota_session_why - which limit refuses a session, for the log
 * @who: as given to quota_session_check() or quota_session_get(), which have refused it
 * @bytes: as given to that function
 * @freed: as given to quota_session_check(); NULL: it was quota_session_get()
 * @text: result; empty: no limit refuses the session
 * @size: bytes of @text, QUOTA_WHY is enough
 */
void quota_session_why(const struct quota_who *who, uint64_t bytes,
		       const struct quota_freed *freed, char *text, size_t size)
{
	const struct taken then = taken_then(who, freed);
	char readers[80] = "";
	struct cap full;

	*text = '\0';
	if (!check(who, &then, bytes, &full))
		return;
	if (full.max < full.given)
		snprintf(readers, sizeof(readers), ", %llu for those that may not write",
			 (unsigned long long)full.max);
	snprintf(text, size, "%s=%llu of %s%s: %llu taken, %llu needed", full.option,
		 (unsigned long long)full.given, full.of_export ? "the export" : "the target",
		 readers, (unsigned long long)full.taken, (unsigned long long)full.need);
}

/**
 * quota_session_queues - how many queues a session would get
 * @who: accounts of the session
 * @queues: number wished for
 * @freed: shares of sessions of the export that end first; NULL: no session ends
 *
 * Return: number of queues, @queues at most; at least 1, even if quota_session_get()
 * would refuse the session.
 */
uint32_t quota_session_queues(const struct quota_who *who, uint32_t queues,
			      const struct quota_freed *freed)
{
	const struct taken then = taken_then(who, freed);
	const struct config *cfg = limits.cfg;
	uint64_t readers = for_readers(who, who->caps.queues, 1);
	uint64_t room = min_u64(left(cfg->max_queues, then.host.queues),
				left(cfg->max_queues_addr, then.addr.queues));

	room = min_u64(room, left(for_all(who, cfg->max_queues_all), then.all.queues));
	room = min_u64(room, left(who->caps.queues, then.export.queues));
	if (!who->writer)
		room = min_u64(room, left(readers, then.readers.queues));
	return (uint32_t)min_u64(queues, room ?: 1);
}

static struct quota_host *get_host(const uint8_t *id)
{
	struct quota_host *h = find_host(id);

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	memcpy(h->id, id, sizeof(h->id));
	LIST_INSERT_HEAD(&limits.hosts, h, entry);
	return h;
}

static void forget_host(struct quota_host *h)
{
	if (h->visits || h->taken.sessions)
		return;
	LIST_REMOVE(h, entry);
	free(h);
}

/**
 * quota_session_get - take what a session needs
 * @share: zeroed; gets what was taken
 * @who: accounts of the session
 * @queues: number the initiator asks for; the session takes what quota_session_queues()
 *	returns
 * @bytes: registered
 *
 * Return: enum rdmablk_reason; with RDMABLK_OK quota_session_put() is due.
 */
unsigned int quota_session_get(struct quota_share *share,
			       const struct quota_who *who, uint32_t queues,
			       uint64_t bytes)
{
	const struct taken now = taken_then(who, NULL);
	struct cap full;
	unsigned int reason = check(who, &now, bytes, &full);
	struct quota_addr *a;
	struct quota_host *h;

	if (reason)
		return reason;
	share->bytes = bytes;
	share->queues = quota_session_queues(who, queues, NULL);
	h = get_host(who->host_id);
	if (!h)
		return RDMABLK_R_NO_MEMORY;
	a = get_addr(who->peer);
	if (!a) {
		forget_host(h);
		return RDMABLK_R_NO_MEMORY;
	}
	share->host = h;
	share->addr = a;
	share->export = who->export;
	share->writer = who->writer;
	add(&h->taken, share->queues, bytes);
	add(&a->taken, share->queues, bytes);
	add(&share->export->taken, share->queues, bytes);
	if (!share->writer)
		add(&share->export->readers, share->queues, bytes);
	add(&limits.taken, share->queues, bytes);
	return RDMABLK_OK;
}

/**
 * quota_session_put - give back what a session has taken
 * @share: as filled by quota_session_get(), or zeroed; zeroed afterwards
 */
void quota_session_put(struct quota_share *share)
{
	const struct quota_account all = { 1, share->queues, share->bytes };
	struct quota_host *h = share->host;
	struct quota_addr *a = share->addr;

	if (!h)
		return;
	give_back(&h->taken, &all);
	give_back(&a->taken, &all);
	give_back(&share->export->taken, &all);
	if (!share->writer)
		give_back(&share->export->readers, &all);
	give_back(&limits.taken, &all);
	forget_host(h);
	if (!is_recent(a))
		forget(a);
	*share = (struct quota_share){ 0 };
}

/**
 * quota_taken - what all sessions together have taken
 *
 * Return: the account.
 */
const struct quota_account *quota_taken(void)
{
	return &limits.taken;
}

/*
 * Visits
 */

/**
 * quota_visits - visits under way
 *
 * Return: their number.
 */
uint64_t quota_visits(void)
{
	return limits.visits;
}

/**
 * quota_lent - memory of all scratch regions
 *
 * Return: bytes.
 */
uint64_t quota_lent(void)
{
	return limits.lent_bytes;
}

/* Return: the name of a limit that has no room for another visit, or NULL. */
static const char *visits_full(const struct quota_host *h, const struct quota_addr *a)
{
	if (h->visits >= limits.cfg->max_sessions)
		return "max-sessions-per-host";
	if (a->visits >= limits.cfg->max_sessions_addr)
		return "max-sessions-per-address";
	return NULL;
}

/**
 * quota_visit_get - count a visit
 * @visit: zeroed; says what was taken
 * @host_id: RDMABLK_ID_LEN bytes: identity of its host
 * @peer: address of the initiator
 * @full: set with RDMABLK_R_LIMIT_SESSIONS: the limit that refuses it
 *
 * As many visits of a host, or an address, may be under way as sessions.
 *
 * Return: enum rdmablk_reason; with RDMABLK_OK quota_visit_put() is due.
 */
unsigned int quota_visit_get(struct quota_visit *visit, const uint8_t *host_id,
			     const struct sockaddr *peer, const char **full)
{
	struct quota_host *h = get_host(host_id);
	struct quota_addr *a = get_addr(peer);

	*full = h && a ? visits_full(h, a) : NULL;
	if (!h || !a || *full) {
		if (h)
			forget_host(h);
		if (a && !is_recent(a))
			forget(a);
		return *full ? RDMABLK_R_LIMIT_SESSIONS : RDMABLK_R_NO_MEMORY;
	}
	h->visits++;
	a->visits++;
	limits.visits++;
	*visit = (struct quota_visit){ .host = h, .addr = a };
	return RDMABLK_OK;
}

/* Return: whose limit has no room for another scratch region, or NULL. */
static const char *lent_full(const struct quota_visit *visit)
{
	if (visit->host->lent >= QUOTA_SCRATCH_HOST)
		return "its host's limit of scratch regions";
	if (visit->addr->lent >= QUOTA_SCRATCH_ADDR)
		return "its address's limit of scratch regions";
	if (limits.lent >= QUOTA_SCRATCH)
		return "the limit of scratch regions";
	return NULL;
}

/**
 * quota_visit_lend - count the scratch region of a visit
 * @visit: as filled by quota_visit_get(), without a region
 * @bytes: of the region, not 0
 * @full: set with RDMABLK_R_LIMIT_MEMORY: the limit that refuses it
 *
 * A visitor with a key needs no right to any export. So scratch regions are limited by their
 * number and count for no limit of sessions.
 *
 * Return: RDMABLK_OK or RDMABLK_R_LIMIT_MEMORY; quota_visit_put() gives back the region, too.
 */
unsigned int quota_visit_lend(struct quota_visit *visit, uint64_t bytes, const char **full)
{
	*full = lent_full(visit);
	if (*full)
		return RDMABLK_R_LIMIT_MEMORY;
	visit->bytes = bytes;
	visit->host->lent++;
	visit->addr->lent++;
	limits.lent++;
	limits.lent_bytes += bytes;
	return RDMABLK_OK;
}

/**
 * quota_visit_return - a visit has no scratch region any more
 * @visit: as filled by quota_visit_get(), with a region or without
 */
void quota_visit_return(struct quota_visit *visit)
{
	if (!visit->bytes)
		return;
	visit->host->lent--;
	visit->addr->lent--;
	limits.lent--;
	limits.lent_bytes -= visit->bytes;
	visit->bytes = 0;
}

/**
 * quota_visit_put - give back what a visit has taken
 * @visit: as filled by quota_visit_get(), or zeroed; zeroed afterwards
 */
void quota_visit_put(struct quota_visit *visit)
{
	struct quota_host *h = visit->host;
	struct quota_addr *a = visit->addr;

	if (!h)
		return;
	quota_visit_return(visit);
	h->visits--;
	a->visits--;
	limits.visits--;
	forget_host(h);
	if (!is_recent(a))
		forget(a);
	*visit = (struct quota_visit){ 0 };
}

/*
 * Limits how many logins an address begins in a second, by a token bucket for each address
 * that has begun a login lately. A login costs a token. An address gets login-rate tokens in a
 * second, and has QUOTA_RATE_SECONDS times as many at most. A new address begins with that.
 *
 * The size of the table is fixed. For a new address, it forgets the address whose last login
 * is the oldest, and which has got back most of its tokens.
 */

#define SETS	256
#define WAYS	8
#define ONE	1000		/* parts of a token: a millisecond brings whole ones */

/**
 * struct bucket - tokens of an address
 * @key: log_peer_key() of the address
 * @used: number of its last login, counting all logins; 0: not in use
 * @seen: time of that login, loop_now()
 * @level: tokens at that time, in parts of ONE
 */
struct bucket {
	uint64_t key;
	uint64_t used;
	int64_t seen;
	uint64_t level;
};

static struct {
	const struct config *cfg;
	uint64_t seed;
	uint64_t logins;
	uint64_t refused;
	struct bucket bucket[SETS][WAYS];
} rate;

/**
 * quota_rate_init - initialize with the limit of the configuration
 * @cfg: read as long as the daemon runs
 */
void quota_rate_init(const struct config *cfg)
{
	memset(&rate, 0, sizeof(rate));
	rate.cfg = cfg;
	/* If there is no random seed yet, a peer can choose whose buckets share a set, no more. */
	if (getrandom(&rate.seed, sizeof(rate.seed), GRND_NONBLOCK) < 0)
		rate.seed = (uint64_t)(uintptr_t)&rate;
}

static uint64_t most(void)
{
	return rate.cfg->login_rate * QUOTA_RATE_SECONDS * ONE;
}

/* Return: the bucket of an address; for a new address the oldest bucket of its set. */
static struct bucket *find_bucket(uint64_t key)
{
	struct bucket *set = rate.bucket[mix_u64(key ^ rate.seed) % SETS], *oldest = set;

	for (unsigned int i = 0; i < WAYS; i++) {
		if (set[i].used && set[i].key == key)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	*oldest = (struct bucket){ .key = key, .seen = loop_now(), .level = most() };
	return oldest;
}

static void fill(struct bucket *b)
{
	int64_t now = loop_now();
	uint64_t ms = (uint64_t)(now - b->seen);

	b->level = min_u64(b->level + ms * rate.cfg->login_rate, most());
	b->seen = now;
	b->used = ++rate.logins;
}

/**
 * quota_rate_take - take a token for a login
 * @peer: address of the initiator; an IPv6 network of 64 bits is one address, as for the log
 *
 * Return: false: the address has no token.
 */
bool quota_rate_take(const struct sockaddr *peer)
{
	struct bucket *b = find_bucket(log_peer_key(peer));

	fill(b);
	if (b->level < ONE)
		return false;
	b->level -= ONE;
	return true;
}

/**
 * quota_rate_refuse - count a login that is refused because its address has no token
 */
void quota_rate_refuse(void)
{
	rate.refused++;
}

/**
 * quota_rate_refused - logins that were refused
 *
 * Return: their number, since quota_rate_init().
 */
uint64_t quota_rate_refused(void)
{
	return rate.refused;
}
