// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hosts and their keys, in a table. A worker makes and owns a new table, because that reads
 * files. The loop puts the table in force as a whole, or not at all. Changes are made one at a
 * time, so the table in force does not change while a worker copies from it.
 *
 * The keys of a table, and the memory in which its key files are read, are in pages of their
 * own, which are locked. They are wiped when the table goes.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/audit.h"
#include "base/key_file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/secret.h"
#include "base/util.h"
#include "export/export.h"
#include "export/host.h"
#include "wire/crypto.h"
#include "wire/mac.h"

#define LABEL_LEASE	"rdmablk lease  2"

/**
 * struct host_key - a key
 * @id: fingerprint
 * @secret: secret, in the memory of the table
 */
struct host_key {
	uint8_t id[RDMABLK_KEYSCHED_ID_LEN];
	uint8_t *secret;
};

/**
 * struct host - a host
 * @cfg: configuration of the host, which owns it
 * @by_hand: the administrator has added the host; it is in no configuration
 * @expired: the keys have ended, and the log has said so
 * @key: keys, in the order of @cfg
 * @nr_keys: number of keys that have been read
 * @lease_id: identity of the host in leases
 * @address: addresses that the configuration names, because each login is compared with them
 * @nr_addresses: number of @address
 */
struct host {
	struct host_config *cfg;
	bool by_hand;
	bool expired;
	struct host_key key[CONFIG_HOST_KEYS];
	unsigned int nr_keys;
	uint8_t lease_id[RDMABLK_ID_LEN];
	struct in6_addr *address;
	int nr_addresses;
};

/**
 * struct host_secrets - the secrets of a table
 * @work: a key file that is being read
 * @key: keys
 */
struct host_secrets {
	struct key_file work;
	uint8_t key[][KEY_FILE_SECRET_LEN];
};

/**
 * struct host_table - hosts and their keys
 * @secrets: memory from secret_alloc()
 * @len: bytes of @secrets
 * @used: number of keys in @secrets
 * @nr: number of hosts
 * @host: hosts, those of a new configuration first
 */
struct host_table {
	struct host_secrets *secrets;
	size_t len;
	unsigned int used;
	unsigned int nr;
	struct host host[];
};

static void look_again(struct loop_timer *timer);

static struct {
	struct host_table *table;	/* in force; NULL: nobody may log in */
	void (*expired)(void);
	struct loop_timer timer;
} hosts = {
	.timer = { .expired = look_again },
};

const char *host_key_dir = KEY_FILE_DIR;
time_t (*host_time)(time_t *now) = time;
int64_t host_look_ms = 60000;		/* also before a key ends, because clocks are set */

/*
 * Tables
 */

/* The next host of a table, or NULL */
static struct host *next_in(struct host_table *table, const struct host *h)
{
	unsigned int next = h ? (unsigned int)(h - table->host) + 1 : 0;

	return table && next < table->nr ? &table->host[next] : NULL;
}

/* Frees what a host owns, except its secrets, which are in the memory of the table. */
static void release(struct host *h)
{
	config_host_free(h->cfg);
	free(h->address);
	h->address = NULL;
}

/**
 * host_discard - forget a table, and wipe its keys
 * @table: not in force; or NULL
 */
void host_discard(struct host_table *table)
{
	struct host *h;

	if (!table)
		return;
	for (h = next_in(table, NULL); h; h = next_in(table, h))
		release(h);
	secret_free(table->secrets, table->len);
	free(table);
}

static struct host *find_in(struct host_table *table, const char *name)
{
	struct host *h;

	for (h = next_in(table, NULL); h; h = next_in(table, h))
		if (!strcmp(h->cfg->name, name))
			return h;
	return NULL;
}

static struct host_config *copy_config(const struct host_config *from)
{
	struct host_config *hc = malloc(sizeof(*hc));
	bool ok = hc;

	if (!hc)
		return NULL;
	*hc = *from;
	hc->nr_keys = 0;
	hc->address = from->address ? strdup(from->address) : NULL;
	hc->lines = from->lines ? strdup(from->lines) : NULL;
	ok = (!from->address || hc->address) && (!from->lines || hc->lines);
	while (ok && hc->nr_keys < from->nr_keys) {
		hc->key[hc->nr_keys] = strdup(from->key[hc->nr_keys]);
		ok = hc->key[hc->nr_keys];
		hc->nr_keys += ok;
	}
	if (ok)
		return hc;
	config_host_free(hc);
	return NULL;
}

/* Adds a host, which owns @hc, also after an error. Return: the host; NULL: out of memory. */
static struct host *add_host(struct host_table *table, struct host_config *hc)
{
	struct host *h = &table->host[table->nr];
	uint8_t digest[MAC_DIGEST_LEN];

	if (!hc)
		return NULL;
	h->cfg = hc;
	if (hc->address)
		h->nr_addresses = value_addresses(hc->address, &h->address);
	if (h->nr_addresses < 0 ||
	    mac_digest(LABEL_LEASE, hc->name, strlen(hc->name), digest)) {
		release(h);
		return NULL;
	}
	memcpy(h->lease_id, digest, sizeof(h->lease_id));
	table->nr++;
	return h;
}

static bool is_kept(const struct host *h, enum host_keep keep)
{
	return keep == HOST_KEEP_ALL || (keep == HOST_KEEP_BY_HAND && h->by_hand);
}

/* Adds the hosts of @cfg, and those to keep, without keys. Return: false: out of memory. */
static bool gather(struct host_table *table, struct config *cfg, enum host_keep keep)
{
	struct host_config *hc;
	struct host *h, *old;

	while ((hc = TAILQ_FIRST(&cfg->hosts))) {
		TAILQ_REMOVE(&cfg->hosts, hc, entry);
		h = add_host(table, hc);
		if (!h)
			return false;
		h->by_hand = keep == HOST_KEEP_ALL;
	}
	for (old = next_in(hosts.table, NULL); old; old = next_in(hosts.table, old)) {
		if (!is_kept(old, keep) || find_in(table, old->cfg->name))
			continue;
		h = add_host(table, copy_config(old->cfg));
		if (!h)
			return false;
		h->by_hand = old->by_hand;
		h->expired = old->expired;
	}
	return true;
}

static void take_key(struct host_table *table, struct host *h, const uint8_t *id,
		     const uint8_t *secret)
{
	struct host_key *key = &h->key[h->nr_keys++];

	memcpy(key->id, id, sizeof(key->id));
	key->secret = table->secrets->key[table->used++];
	memcpy(key->secret, secret, KEY_FILE_SECRET_LEN);
}

/* Reads all keys of a host. Prints and counts those that cannot be read. */
static void read_keys(struct host_table *table, struct host *h, struct config *cfg)
{
	struct key_file *work = &table->secrets->work;
	char path[PATH_MAX], why[KEY_FILE_WHY];

	for (unsigned int i = 0; i < h->cfg->nr_keys; i++) {
		if (key_file_find(work, h->cfg->key[i], host_key_dir, path, why))
			config_error(cfg, h->cfg->where, "host \"%s\": key %s: %s",
				     h->cfg->name, path, why);
		else
			take_key(table, h, work->id, work->secret);
		explicit_bzero(work, sizeof(*work));
	}
}

static void copy_keys(struct host_table *table, struct host *h)
{
	const struct host *old = find_in(hosts.table, h->cfg->name);

	for (unsigned int i = 0; i < old->nr_keys; i++)
		take_key(table, h, old->key[i].id, old->key[i].secret);
}

/* Return: the host of a key, if the key comes before @end in the table; or NULL. */
static const struct host *owner_of(struct host_table *table, const uint8_t *id,
				   const struct host_key *end)
{
	const struct host *h;

	for (h = next_in(table, NULL); h; h = next_in(table, h))
		for (unsigned int i = 0; i < h->nr_keys; i++) {
			if (&h->key[i] == end)
				return NULL;
			if (!memcmp(h->key[i].id, id, sizeof(h->key[i].id)))
				return h;
		}
	return NULL;
}

/* A login names its host by the key, so no two hosts may have the same key. */
static void check_ids(struct host_table *table, struct config *cfg)
{
	const struct host *h, *other;

	for (h = next_in(table, NULL); h; h = next_in(table, h))
		for (unsigned int i = 0; i < h->nr_keys; i++) {
			other = owner_of(table, h->key[i].id, &h->key[i]);
			if (other)
				config_error(cfg, h->cfg->where,
					     "host \"%s\": key %s is a key of host \"%s\", too",
					     h->cfg->name, h->cfg->key[i], other->cfg->name);
		}
}

/* Looks for equal host ids: config.c does not see hosts that were added by hand. */
static void check_host_ids(struct host_table *table, struct config *cfg)
{
	const struct host *h, *other;

	for (h = next_in(table, NULL); h; h = next_in(table, h))
		for (other = next_in(table, NULL); other; other = next_in(table, other)) {
			if (other == h)
				break;
			if (h->cfg->has_id && other->cfg->has_id &&
			    !memcmp(h->cfg->host_id, other->cfg->host_id, RDMABLK_ID_LEN))
				config_error(cfg, h->cfg->where,
					     "host \"%s\" has the host-id of host \"%s\"",
					     h->cfg->name, other->cfg->name);
		}
}

static bool alloc_secrets(struct host_table *table, struct config *cfg)
{
	char why[SECRET_WHY];
	unsigned int nr = 0;
	struct host *h;

	for (h = next_in(table, NULL); h; h = next_in(table, h))
		nr += h->cfg->nr_keys;
	table->len = sizeof(*table->secrets) + nr * sizeof(table->secrets->key[0]);
	table->secrets = secret_alloc(table->len, why);
	if (!table->secrets)
		config_error(cfg, "rdmablkd", "%s", why);
	return table->secrets;
}

static unsigned int count_hosts(const struct config *cfg)
{
	const struct host_config *hc;
	unsigned int nr = 0;

	TAILQ_FOREACH(hc, &cfg->hosts, entry)
		nr++;
	return nr;
}

/* Makes a table with room for @fresh new hosts and all hosts in force. */
static struct host_table *new_table(unsigned int fresh)
{
	size_t nr = fresh + (hosts.table ? hosts.table->nr : 0);

	return calloc(1, sizeof(struct host_table) + nr * sizeof(struct host));
}

/**
 * host_load - make a table, and read its keys
 * @cfg: configuration, whose hosts the table takes; problems are printed and counted
 * @keep: which hosts in force the table gets, too
 *
 * Blocks. A key that cannot be read is a problem, and so is a key of two hosts.
 *
 * Return: the table; or NULL: @cfg has problems.
 */
struct host_table *host_load(struct config *cfg, enum host_keep keep)
{
	unsigned int before = cfg->errors, fresh = count_hosts(cfg);
	struct host_table *table = new_table(fresh);
	struct host *h;

	if (!table || !gather(table, cfg, keep)) {
		config_error(cfg, "rdmablkd", "out of memory");
		host_discard(table);
		return NULL;
	}
	if (alloc_secrets(table, cfg)) {
		for (h = next_in(table, NULL); h; h = next_in(table, h)) {
			if (h < table->host + fresh)
				read_keys(table, h, cfg);
			else
				copy_keys(table, h);
		}
		check_ids(table, cfg);
		check_host_ids(table, cfg);
	}
	key_file_wipe_stack();
	if (cfg->errors == before)
		return table;
	host_discard(table);
	return NULL;
}

static bool same_keys(const struct host *a, const struct host *b)
{
	if (a->nr_keys != b->nr_keys)
		return false;
	for (unsigned int i = 0; i < a->nr_keys; i++)
		if (memcmp(a->key[i].id, b->key[i].id, sizeof(a->key[i].id)))
			return false;
	return true;
}

/**
 * host_changes - report what a table will change
 * @table: not in force yet
 * @change: called for each host that differs; the action is "added", "removed" or "changed"
 */
void host_changes(struct host_table *table,
		  void (*change)(const char *name, const char *action))
{
	const struct host *h, *old;

	for (old = next_in(hosts.table, NULL); old; old = next_in(hosts.table, old))
		if (!find_in(table, old->cfg->name))
			change(old->cfg->name, "removed");
	for (h = next_in(table, NULL); h; h = next_in(table, h)) {
		old = find_in(hosts.table, h->cfg->name);
		if (!old)
			change(h->cfg->name, "added");
		else if (!same_keys(old, h) || !config_host_same(old->cfg, h->cfg))
			change(h->cfg->name, "changed");
	}
}

/*
 * The end of keys
 */

static bool is_expired(const struct host *h)
{
	return h->cfg->expires && host_time(NULL) >= h->cfg->expires;
}

static void say_expired(const struct host *h)
{
	struct json_object *line = audit_line("expired");

	log_warn("host %s: its keys have expired", h->cfg->name);
	audit_text(line, "auth_host", h->cfg->name);
	audit_write(line);
}

/* Looks for hosts whose keys have ended since the last look. Return: whether there are any. */
static bool look_at_clock(void)
{
	bool any = false, left = false;
	struct host *h;

	loop_timer_stop(&hosts.timer);
	for (h = next_in(hosts.table, NULL); h; h = next_in(hosts.table, h)) {
		if (!is_expired(h)) {
			h->expired = false;	/* the clock was set */
			left = left || h->cfg->expires;
		} else if (!h->expired) {
			h->expired = true;
			any = true;
			say_expired(h);
		}
	}
	if (left)
		loop_timer_start(&hosts.timer, host_look_ms);
	return any;
}

static void look_again(struct loop_timer *timer)
{
	(void)timer;
	if (look_at_clock() && hosts.expired)
		hosts.expired();
}

/**
 * host_install - put a table in force
 * @table: from host_load(); this file owns it from now on
 *
 * In the loop. The caller looks at the sessions.
 */
void host_install(struct host_table *table)
{
	struct host_table *old = hosts.table;

	hosts.table = table;
	host_discard(old);
	look_at_clock();
}

/**
 * host_remove - remove a host, and wipe its keys
 * @name: name of the host
 *
 * In the loop. The caller looks at the sessions.
 *
 * Return: whether there was one.
 */
bool host_remove(const char *name)
{
	struct host *h = find_in(hosts.table, name), *end;

	if (!h)
		return false;
	for (unsigned int i = 0; i < h->nr_keys; i++)
		explicit_bzero(h->key[i].secret, KEY_FILE_SECRET_LEN);
	release(h);
	end = hosts.table->host + --hosts.table->nr;
	memmove(h, h + 1, (size_t)((char *)end - (char *)h));
	return true;
}

/**
 * host_start - read the keys, before anybody can log in
 * @cfg: configuration, whose hosts are taken; problems are printed
 * @expired: called in the loop when keys of a host have ended; the caller looks at the
 *	sessions
 *
 * Return: 0 or -EINVAL.
 */
int host_start(struct config *cfg, void (*expired)(void))
{
	struct host_table *table = host_load(cfg, HOST_KEEP_NONE);

	if (!table)
		return -EINVAL;
	if (!table->nr)
		log_warn("auth = psk, and there is no [host]: nobody can log in");
	hosts.expired = expired;
	host_install(table);
	return 0;
}

/**
 * host_stop - wipe all keys; nobody can log in any more
 */
void host_stop(void)
{
	loop_timer_stop(&hosts.timer);
	host_discard(hosts.table);
	hosts.table = NULL;
}

/*
 * Logins
 */

static const struct host *by_key(const uint8_t *key_id)
{
	const struct host *h, *found = NULL;

	for (h = next_in(hosts.table, NULL); h; h = next_in(hosts.table, h))
		if (host_proves(h, key_id))
			found = h;
	return found;
}

static bool may_come(const struct host *h, const struct sockaddr *peer)
{
	return !h->cfg->address || value_in_networks(h->cfg->address, peer);
}

/**
 * host_find - find the host whose key HELLO names
 * @key_id: name of the key, as received
 * @peer: address of the initiator
 *
 * Return: the host; NULL: no host has the key, or its keys have expired, or it may not come
 * from this address. host_refusal() says which, for the log only.
 */
const struct host *host_find(const uint8_t *key_id, const struct sockaddr *peer)
{
	const struct host *h = by_key(key_id);

	return h && !is_expired(h) && may_come(h, peer) ? h : NULL;
}

/**
 * host_expects - whether an address is that of a host
 * @peer: address of an initiator that has sent no message yet
 *
 * Return: true: the section of a host whose keys have not expired has this very address, and
 * not only a network with it.
 */
bool host_expects(const struct sockaddr *peer)
{
	const struct in6_addr ip = value_ip(peer);
	const struct host *h;

	for (h = next_in(hosts.table, NULL); h; h = next_in(hosts.table, h))
		for (int i = 0; i < h->nr_addresses; i++)
			if (IN6_ARE_ADDR_EQUAL(&h->address[i], &ip) && !is_expired(h))
				return true;
	return false;
}

/**
 * host_find_name - the host of a session
 * @name: name in struct host_proof
 *
 * Return: the host; NULL: the host is gone, or its keys have expired.
 */
const struct host *host_find_name(const char *name)
{
	const struct host *h = find_in(hosts.table, name);

	return h && !is_expired(h) ? h : NULL;
}

/**
 * host_find_again - the host of a session, if that could log in now
 * @proof: proof of the session
 * @key_id: name of the key that the session has, or is about to prove
 * @peer: address of the session
 * @host_id: identity in HELLO
 *
 * Return: the host; NULL: the host is gone, does not have the key, or may not come from the
 * address or with this id any more.
 */
const struct host *host_find_again(const struct host_proof *proof, const uint8_t *key_id,
				   const struct sockaddr *peer, const uint8_t *host_id)
{
	const struct host *h = host_find(key_id, peer);

	return h && !strcmp(h->cfg->name, proof->name) && host_is(h, host_id) ? h : NULL;
}

/**
 * host_refusal - say why a login with a key has failed
 * @key_id: name of the key, as received
 * @peer: address of the initiator
 * @text: result
 * @size: bytes of @text, HOST_WHY
 */
void host_refusal(const uint8_t *key_id, const struct sockaddr *peer, char *text, size_t size)
{
	const struct host *h = by_key(key_id);

	if (!h)
		snprintf(text, size, "no host has this key");
	else if (is_expired(h))
		snprintf(text, size, "the keys of host %s have expired", h->cfg->name);
	else if (!may_come(h, peer))
		snprintf(text, size, "host %s may not come from this address", h->cfg->name);
	else
		snprintf(text, size, "the key of host %s was not proven", h->cfg->name);
}

/**
 * host_name - name of a host
 * @h: host
 *
 * Return: the name, as long as the host is in force.
 */
const char *host_name(const struct host *h)
{
	return h->cfg->name;
}

static const struct host_key *key_of(const struct host *h, const uint8_t *key_id)
{
	const struct host_key *found = NULL;

	for (unsigned int i = 0; h && i < h->nr_keys; i++)
		if (!memcmp(h->key[i].id, key_id, sizeof(h->key[i].id)))
			found = &h->key[i];
	return found;
}

/**
 * host_proves - whether a host has a key
 * @h: host
 * @key_id: fingerprint
 *
 * Return: true: it is a key of the host.
 */
bool host_proves(const struct host *h, const uint8_t *key_id)
{
	return key_of(h, key_id);
}

/**
 * host_prk0 - compute the value that a login derives its keys from
 * @h: host, or NULL
 * @key_id: name of its key
 * @prk0: secret, RDMABLK_KEYSCHED_LEN bytes; zero after an error
 *
 * With NULL, or a key that the host does not have, @prk0 comes from a key that nobody has.
 * That takes as long: a stranger cannot tell which keys are known.
 *
 * Return: 0 or -errno. After crypto_start().
 */
int host_prk0(const struct host *h, const uint8_t *key_id, uint8_t *prk0)
{
	const struct host_key *key = key_of(h, key_id);
	uint8_t nobody[KEY_FILE_SECRET_LEN];
	int ret = mac_random(nobody, sizeof(nobody));

	if (ret)
		memset(prk0, 0, RDMABLK_KEYSCHED_LEN);
	else
		ret = rdmablk_keysched_prk0(&crypto_keysched, key ? key->secret : nobody, prk0);
	mac_wipe(nobody, sizeof(nobody));
	key_file_wipe_stack();
	return ret;
}

/**
 * host_is - whether a host may have an identity
 * @h: host
 * @host_id: identity in HELLO
 *
 * Return: true: the section of the host has this id, or no id.
 */
bool host_is(const struct host *h, const uint8_t *host_id)
{
	return !h->cfg->has_id || !memcmp(h->cfg->host_id, host_id, RDMABLK_ID_LEN);
}

/**
 * host_lease_id - the identity of a host, for leases and limits
 * @h: host
 * @id: RDMABLK_ID_LEN bytes
 *
 * The identity depends only on the name of the section. The one in HELLO could be another
 * host's. And a disk in use must keep its identity when its section gets or loses a host id.
 */
void host_lease_id(const struct host *h, uint8_t *id)
{
	memcpy(id, h->lease_id, RDMABLK_ID_LEN);
}

/**
 * host_may - what a host may do with an export
 * @h: host
 * @export: export
 *
 * Return: ALLOW_READ and more; 0: nothing.
 */
unsigned int host_may(const struct host *h, const struct export *export)
{
	return value_allow_rights(export->cfg->allow, h->cfg->name);
}

/*
 * The administrator
 */

/**
 * host_by_name - a host in force, also when its keys have expired
 * @name: name of the host
 *
 * Return: the host or NULL.
 */
const struct host *host_by_name(const char *name)
{
	return find_in(hosts.table, name);
}

/**
 * host_next - the hosts in force, one by one
 * @h: the one before, or NULL
 *
 * Return: the host or NULL.
 */
const struct host *host_next(const struct host *h)
{
	return next_in(hosts.table, h);
}

/**
 * host_section - the configuration of a host
 * @h: host
 *
 * Return: its configuration.
 */
const struct host_config *host_section(const struct host *h)
{
	return h->cfg;
}

/**
 * host_key_id - the fingerprint of a key
 * @h: host
 * @key: index of one of its files
 *
 * Return: RDMABLK_KEYSCHED_ID_LEN bytes.
 */
const uint8_t *host_key_id(const struct host *h, unsigned int key)
{
	return h->key[key].id;
}

/**
 * host_by_hand - whether the administrator has added a host at run time
 * @h: host
 *
 * Return: true: yes; false: the host is in the configuration.
 */
bool host_by_hand(const struct host *h)
{
	return h->by_hand;
}
