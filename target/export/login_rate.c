// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A token bucket for each address that has begun a login lately. An address begins as many
 * logins as it has tokens; it gets login-rate of them in a second, and has those of
 * LOGIN_RATE_SECONDS at most, which is what an unknown address begins with.
 *
 * The table has one size. An address that has begun no login for longest makes room for a new
 * one: it has most of its tokens again. Only the loop calls this.
 */
#include <sys/random.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "export/login_rate.h"

#define SETS	256
#define WAYS	8
#define ONE	1000		/* a token, so that a millisecond brings a whole number */

/**
 * struct bucket - tokens of an address
 * @key: log_peer_key() of the address
 * @used: number of its last login among all; 0: not in use
 * @seen: when that was, loop_now()
 * @level: tokens then, in parts of ONE
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
 * login_rate_init - initialize with the limit of the configuration
 * @cfg: read as long as the daemon runs
 */
void login_rate_init(const struct config *cfg)
{
	memset(&rate, 0, sizeof(rate));
	rate.cfg = cfg;
	/* Without it peers can choose whose buckets share a set, and no more. */
	if (getrandom(&rate.seed, sizeof(rate.seed), GRND_NONBLOCK) < 0)
		rate.seed = (uint64_t)(uintptr_t)&rate;
}

static uint64_t most(void)
{
	return rate.cfg->login_rate * LOGIN_RATE_SECONDS * ONE;
}

/* Return: that of an address, or the one of its set that was used first, for a new address. */
static struct bucket *find(uint64_t key)
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
 * login_rate_take - may an address begin a login now
 * @peer: address of the initiator; an IPv6 network of 64 bits is one, as for the log
 *
 * Return: whether it had a token, which is gone then.
 */
bool login_rate_take(const struct sockaddr *peer)
{
	struct bucket *b = find(log_peer_key(peer));

	fill(b);
	if (b->level < ONE)
		return false;
	b->level -= ONE;
	return true;
}

/**
 * login_rate_refuse - count a login that is refused because its address has no token
 */
void login_rate_refuse(void)
{
	rate.refused++;
}

/**
 * login_rate_refused - logins that were refused
 *
 * Return: their number, since login_rate_init().
 */
uint64_t login_rate_refused(void)
{
	return rate.refused;
}
