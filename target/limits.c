// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits. Accounts exist as long as something is taken on them. Loop thread.
 */
#include <netinet/in.h>

#include "limits.h"
#include "loop.h"
#include "util.h"

struct limits_host {
	LIST_ENTRY(limits_host) entry;
	uint8_t id[RDMABLK_ID_LEN];
	uint64_t sessions;
	uint64_t queues;
	uint64_t bytes;
};

/*
 * Of the logins at once so many are kept for addresses that have a live session, or had one
 * lately: connections that never become sessions cost nothing, and must not keep a host from
 * coming back. So many addresses without a live session are remembered for so long.
 */
#define KNOWN_SHARE	4		/* one of so many logins */
#define KNOWN_MAX	1024
#define KNOWN_MS	900000

/**
 * struct limits_addr - what is known of an address
 * @entry: in the list of all; those that had a session last come first
 * @addr: it
 * @logins: in progress
 * @live: sessions that have been live and are not gone
 * @until: it counts as known, ms; 0: no session of it has ended
 */
struct limits_addr {
	LIST_ENTRY(limits_addr) entry;
	struct in6_addr addr;
	uint64_t logins;
	uint64_t live;
	int64_t until;
};

static struct {
	const struct config *cfg;
	LIST_HEAD(, limits_host) hosts;
	LIST_HEAD(, limits_addr) addrs;
	uint64_t logins;
	unsigned int remembered;	/* addresses with an @until */
} limits;

/**
 * limits_init - learn the limits
 * @cfg: outlives the rest
 */
void limits_init(const struct config *cfg)
{
	limits.cfg = cfg;
	LIST_INIT(&limits.hosts);
	LIST_INIT(&limits.addrs);
	limits.remembered = 0;
}

/* IPv4 as mapped IPv6, so that one comparison serves both. */
static struct in6_addr plain_address(const struct sockaddr *peer)
{
	struct in6_addr addr = IN6ADDR_ANY_INIT;

	if (peer->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)peer)->sin6_addr;
	addr.s6_addr[10] = 0xff;
	addr.s6_addr[11] = 0xff;
	memcpy(&addr.s6_addr[12], &((const struct sockaddr_in *)peer)->sin_addr, 4);
	return addr;
}

static struct limits_addr *find_addr(const struct in6_addr *addr)
{
	struct limits_addr *a;

	LIST_FOREACH(a, &limits.addrs, entry)
		if (!memcmp(&a->addr, addr, sizeof(*addr)))
			return a;
	return NULL;
}

static void forget(struct limits_addr *a)
{
	if (a->until)
		limits.remembered--;
	a->until = 0;
	if (a->logins || a->live)
		return;
	LIST_REMOVE(a, entry);
	free(a);
}

static struct limits_addr *get_addr(const struct sockaddr *peer)
{
	struct in6_addr addr = plain_address(peer);
	struct limits_addr *a = find_addr(&addr);

	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->addr = addr;
	LIST_INSERT_HEAD(&limits.addrs, a, entry);
	return a;
}

static bool is_known(const struct limits_addr *a)
{
	return a && (a->live || a->until > loop_now());
}

/**
 * limits_login_get - take a login slot
 * @peer: address of the initiator
 *
 * Return: enum rdmablk_reason; with RDMABLK_OK limits_login_put() is due.
 */
unsigned int limits_login_get(const struct sockaddr *peer)
{
	struct in6_addr addr = plain_address(peer);
	struct limits_addr *a = find_addr(&addr);
	uint64_t max = limits.cfg->max_logins;

	if (!is_known(a))
		max -= max / KNOWN_SHARE;
	if (limits.logins >= max || (a && a->logins >= limits.cfg->max_logins_addr))
		return RDMABLK_R_LIMIT_LOGINS;
	a = get_addr(peer);
	if (!a)
		return RDMABLK_R_NO_MEMORY;
	a->logins++;
	limits.logins++;
	return RDMABLK_OK;
}

/**
 * limits_login_put - give a login slot back
 * @peer: as given to limits_login_get()
 */
void limits_login_put(const struct sockaddr *peer)
{
	struct in6_addr addr = plain_address(peer);
	struct limits_addr *a = find_addr(&addr);

	limits.logins--;
	if (!a)
		return;
	a->logins--;
	if (!a->until || a->until <= loop_now())
		forget(a);
}

/**
 * limits_live_get - an initiator has a live session more
 * @peer: its address
 */
void limits_live_get(const struct sockaddr *peer)
{
	struct limits_addr *a = get_addr(peer);

	if (a)		/* else it is one of those nothing is known of */
		a->live++;
}

/* Of those whose time is not over the one whose session ended first gives way. */
static void make_room(void)
{
	struct limits_addr *a, *next, *last = NULL;

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
 * limits_live_put - a session that limits_live_get() was called for is gone
 * @peer: address of the initiator
 */
void limits_live_put(const struct sockaddr *peer)
{
	struct in6_addr addr = plain_address(peer);
	struct limits_addr *a = find_addr(&addr);

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
 * limits_same_address - are two addresses the same but for the port
 * @a: address
 * @b: address
 *
 * Return: whether they are.
 */
bool limits_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct in6_addr plain_a = plain_address(a), plain_b = plain_address(b);

	return !memcmp(&plain_a, &plain_b, sizeof(plain_a));
}

static struct limits_host *find_host(const uint8_t *id)
{
	struct limits_host *h;

	LIST_FOREACH(h, &limits.hosts, entry)
		if (!memcmp(h->id, id, sizeof(h->id)))
			return h;
	return NULL;
}

static unsigned int host_check(const struct limits_host *h, uint64_t bytes)
{
	uint64_t max = limits.cfg->max_pinned;

	if (h && h->sessions >= limits.cfg->max_sessions)
		return RDMABLK_R_LIMIT_SESSIONS;
	if (h && h->queues >= limits.cfg->max_queues)
		return RDMABLK_R_LIMIT_QUEUES;
	if (max && (bytes > max || (h && h->bytes > max - bytes)))
		return RDMABLK_R_LIMIT_MEMORY;
	return RDMABLK_OK;
}

/* What is taken by a host, less what it gets back. */
static struct limits_host taken_then(const uint8_t *host_id, const struct limits_freed *freed)
{
	const struct limits_host *h = find_host(host_id);
	struct limits_host then = { .sessions = 0 };

	if (!h)
		return then;
	then.sessions = h->sessions - min_u64(h->sessions, freed->sessions);
	then.queues = h->queues - min_u64(h->queues, freed->queues);
	then.bytes = h->bytes - min_u64(h->bytes, freed->bytes);
	return then;
}

/**
 * limits_session_check - would a session be refused once others of its host have ended
 * @host_id: identity of the host
 * @bytes: that the session would register
 * @freed: what these others have taken
 *
 * Return: RDMABLK_OK, or the enum rdmablk_reason of limits_session_get() then.
 */
unsigned int limits_session_check(const uint8_t *host_id, uint64_t bytes,
				  const struct limits_freed *freed)
{
	const struct limits_host then = taken_then(host_id, freed);

	return host_check(&then, bytes);
}

/**
 * limits_session_queues - how many queues a session would get
 * @host_id: identity of the host
 * @queues: wished for
 * @freed: what sessions of that host have taken which end before; NULL: none does
 *
 * Return: fewer, perhaps; one at least, be it that limits_session_get() refuses it.
 */
uint32_t limits_session_queues(const uint8_t *host_id, uint32_t queues,
			       const struct limits_freed *freed)
{
	static const struct limits_freed nothing;
	uint64_t max = limits.cfg->max_queues;
	uint64_t taken = taken_then(host_id, freed ?: &nothing).queues;

	/* The limit may have been lowered below what is taken. */
	return (uint32_t)min_u64(queues, taken < max ? max - taken : 1);
}

/**
 * limits_session_get - take what a session needs
 * @share: zeroed; says what was taken
 * @host_id: identity of the host
 * @queues: wished for; limits_session_queues() of them are taken
 * @bytes: registered
 *
 * Return: enum rdmablk_reason; with RDMABLK_OK limits_session_put() is due.
 */
unsigned int limits_session_get(struct limits_share *share,
				const uint8_t *host_id, uint32_t queues,
				uint64_t bytes)
{
	struct limits_host *h = find_host(host_id);
	unsigned int reason = host_check(h, bytes);

	if (reason)
		return reason;
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return RDMABLK_R_NO_MEMORY;
		memcpy(h->id, host_id, sizeof(h->id));
		LIST_INSERT_HEAD(&limits.hosts, h, entry);
	}
	share->host = h;
	share->bytes = bytes;
	share->queues = limits_session_queues(host_id, queues, NULL);
	h->sessions++;
	h->bytes += share->bytes;
	h->queues += share->queues;
	return RDMABLK_OK;
}

/**
 * limits_session_put - give it back
 * @share: as filled by limits_session_get(), or zeroed; zeroed afterwards
 */
void limits_session_put(struct limits_share *share)
{
	struct limits_host *h = share->host;

	if (!h)
		return;
	h->bytes -= share->bytes;
	h->queues -= share->queues;
	if (!--h->sessions) {
		LIST_REMOVE(h, entry);
		free(h);
	}
	*share = (struct limits_share){ 0 };
}
