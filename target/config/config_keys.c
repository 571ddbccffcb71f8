// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The keys: a table of those of [target], which are also long options, and a table of those of
 * [export NAME], which are also the words of --export.
 */
#include <errno.h>
#include <syslog.h>

#include "base/fault.h"
#include "base/util.h"
#include "config/config.h"

static const char *set_string(const struct config_key *key, void *base,
			      const char *value)
{
	char **field = (char **)((char *)base + key->offset);

	if (!*value)
		return "needs a value";
	free(*field);
	*field = strdup(value);
	return *field ? NULL : "out of memory";
}

static const char *set_fault(const struct config_key *key, void *base,
			     const char *value)
{
	return FAULT_BUILT ? set_string(key, base, value) : "not in this build";
}

static const char *set_name(const struct config_key *key, void *base,
			    const char *value)
{
	if (!value_name_ok(value, RDMABLK_NAME_LEN))
		return "up to 63 letters, digits, '.', '_', '-'";
	return set_string(key, base, value);
}

static const char *set_directories(const struct config_key *key, void *base,
				   const char *value)
{
	const char *dir = value;

	for (;;) {
		if (*dir != '/')
			return "not absolute paths with ':' between them";
		dir = strchr(dir, ':');
		if (!dir)
			return set_string(key, base, value);
		dir++;
	}
}

static const char *set_networks(const struct config_key *key, void *base,
				const char *value)
{
	return value_networks_ok(value) ? set_string(key, base, value) :
	       "neither addresses nor networks (ADDRESS/BITS)";
}

static const char *set_auth(const struct config_key *key, void *base,
			    const char *value)
{
	enum config_auth *field = (enum config_auth *)((char *)base + key->offset);
	struct config *cfg = base;

	if (!strcmp(value, "psk"))
		*field = AUTH_PSK;
	else if (!strcmp(value, "none"))
		*field = AUTH_NONE;
	else
		return "neither psk nor none";
	cfg->auth_given = true;
	return NULL;
}

/* An empty list is right, too: it allows no host. */
static const char *set_allow(const struct config_key *key, void *base,
			     const char *value)
{
	const char *wrong = value_allow_check(value);

	return wrong ?: *value ? set_string(key, base, value) : NULL;
}

static const char *set_key_file(const struct config_key *key, void *base,
				const char *value)
{
	struct host_config *hc = base;

	(void)key;
	if (*value != '/' && !value_name_ok(value, RDMABLK_NAME_LEN))
		return "neither an absolute path nor the name of a key";
	if (hc->nr_keys == CONFIG_HOST_KEYS)
		return "a host has two keys at most";
	for (unsigned int i = 0; i < hc->nr_keys; i++)
		if (!strcmp(hc->key[i], value))
			return "the same key twice";
	hc->key[hc->nr_keys] = strdup(value);
	return hc->key[hc->nr_keys] ? (hc->nr_keys++, NULL) : "out of memory";
}

static void clear_key_files(void *base)
{
	struct host_config *hc = base;

	while (hc->nr_keys)
		free(hc->key[--hc->nr_keys]);
}

static const char *set_expires(const struct config_key *key, void *base,
			       const char *value)
{
	int64_t *field = (int64_t *)((char *)base + key->offset);

	return value_date(value, field) ? "not a date (YYYY-MM-DD)" : NULL;
}

static const char *set_host_id(const struct config_key *key, void *base,
			       const char *value)
{
	struct host_config *hc = base;

	hc->has_id = !value_uuid(value, (uint8_t *)base + key->offset);
	return hc->has_id ? NULL : "not a UUID";
}

static const char *set_bool(const struct config_key *key, void *base,
			    const char *value)
{
	bool *field = (bool *)((char *)base + key->offset);

	if (!*value) {
		*field = true;
		return NULL;
	}
	return value_bool(value, field) ? "neither yes nor no" : NULL;
}

static const char *check_range(const struct config_key *key, int ret,
			       uint64_t value)
{
	if (ret == -EINVAL)
		return key->arg[0] == 'S' ? "not a size" : "not a number";
	if (ret || value > key->max)
		return "too large";
	return value < key->min ? "too small" : NULL;
}

static const char *set_in_range(const struct config_key *key, void *base, int ret,
				uint64_t n)
{
	uint64_t *field = (uint64_t *)((char *)base + key->offset);
	const char *wrong = check_range(key, ret, n);

	if (!wrong)
		*field = n;
	return wrong;
}

static const char *set_number(const struct config_key *key, void *base,
			      const char *value)
{
	uint64_t n = 0;
	int ret = value_number(value, &n);

	return set_in_range(key, base, ret, n);
}

static const char *set_size(const struct config_key *key, void *base,
			    const char *value)
{
	uint64_t n = 0;
	int ret = value_size(value, &n);

	return set_in_range(key, base, ret, n);
}

static const char *set_region(const struct config_key *key, void *base,
			      const char *value)
{
	const char *wrong = set_size(key, base, value);
	struct export_config *ec = base;

	return wrong ?: is_power_of_two(ec->region) ? NULL : "no power of two";
}

static const char *set_block(const struct config_key *key, void *base,
			     const char *value)
{
	const char *wrong = set_size(key, base, value);
	struct export_config *ec = base;

	return wrong ?: ec->block == 512 || ec->block == 4096 ? NULL :
		"neither 512 nor 4096";
}

static const char *set_uuid(const struct config_key *key, void *base,
			    const char *value)
{
	struct export_config *ec = base;

	ec->has_uuid = !value_uuid(value, (uint8_t *)base + key->offset);
	return ec->has_uuid ? NULL : "not a UUID";
}

static const char *set_type(const struct config_key *key, void *base,
			    const char *value)
{
	if (strcmp(value, "memory") && strcmp(value, "file"))
		return "unknown type of store; there are \"memory\" and \"file\"";
	return set_string(key, base, value);
}

static const char *set_cache(const struct config_key *key, void *base,
			     const char *value)
{
	enum cache_mode *field = (enum cache_mode *)((char *)base + key->offset);

	if (!strcmp(value, "none"))
		*field = CACHE_NONE;
	else if (!strcmp(value, "full"))
		*field = CACHE_FULL;
	else
		return "neither full nor none";
	return NULL;
}

static const char *set_epoch(const struct config_key *key, void *base,
			     const char *value)
{
	enum epoch_mode *field = (enum epoch_mode *)((char *)base + key->offset);

	if (!strcmp(value, "boot"))
		*field = EPOCH_BOOT;
	else if (!strcmp(value, "stable"))
		*field = EPOCH_STABLE;
	else
		return "neither boot nor stable";
	return NULL;
}

static const char *set_huge_pages(const struct config_key *key, void *base,
				  const char *value)
{
	static const char * const words[] = {
		[HUGE_AUTO] = "auto", [HUGE_NO] = "no",
		[HUGE_2M] = "2M", [HUGE_1G] = "1G",
	};
	enum huge_pages *field = (enum huge_pages *)((char *)base + key->offset);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(value, words[i])) {
			*field = (enum huge_pages)i;
			return NULL;
		}
	}
	return "none of auto, no, 2M, 1G";
}

static const char *set_numa(const struct config_key *key, void *base, const char *value)
{
	struct export_config *ec = base;
	uint64_t n = 0;

	if (!strcmp(value, "auto")) {
		ec->numa = NUMA_AUTO;
	} else if (!strcmp(value, "none")) {
		ec->numa = NUMA_NONE;
	} else if (!value_number(value, &n) && n <= key->max) {
		ec->numa = NUMA_NODE;
		ec->node = (unsigned int)n;
	} else {
		return "neither auto, none nor the number of a NUMA node";
	}
	return NULL;
}

static const char *set_log_level(const struct config_key *key, void *base,
				 const char *value)
{
	static const struct {
		const char *word;
		int level;
	} levels[] = {
		{ "error", LOG_ERR }, { "warn", LOG_WARNING },
		{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (!strcmp(value, levels[i].word)) {
			*(int *)((char *)base + key->offset) = levels[i].level;
			return NULL;
		}
	}
	return "none of error, warn, info, debug";
}

/**
 * config_find_listen - the section of an address
 * @cfg: configuration
 * @addr: address
 *
 * Return: the section; NULL: there is none.
 */
struct listen_config *config_find_listen(const struct config *cfg, const struct listen_addr *addr)
{
	struct listen_config *lc;

	TAILQ_FOREACH(lc, &cfg->listens, entry)
		if (!strcmp(lc->addr.text, addr->text))
			return lc;
	return NULL;
}

/**
 * config_listens - whether a configuration has an address to listen on
 * @cfg: configuration
 * @addr: address
 */
bool config_listens(const struct config *cfg, const struct listen_addr *addr)
{
	for (unsigned int i = 0; i < cfg->nr_listen; i++)
		if (!strcmp(cfg->listen[i].text, addr->text))
			return true;
	return false;
}

/**
 * config_add_address - add an address to listen on
 * @cfg: gets it
 * @text: ADDR[:PORT]
 * @addr: result, the same
 *
 * Return: NULL, or what is wrong.
 */
const char *config_add_address(struct config *cfg, const char *text, struct listen_addr *addr)
{
	struct listen_addr *more;

	if (value_address(text, addr))
		return "not a numeric address; ADDR[:PORT], IPv6 in brackets, link-local%INTERFACE";
	if (config_listens(cfg, addr))
		return config_find_listen(cfg, addr) ? NULL : "the same address twice";
	more = reallocarray(cfg->listen, cfg->nr_listen + 1, sizeof(*addr));
	if (!more)
		return "out of memory";
	more[cfg->nr_listen++] = *addr;
	cfg->listen = more;
	return NULL;
}

static const char *set_listen(const struct config_key *key, void *base,
			      const char *value)
{
	char *copy __cleanup_free = strdup(value);
	const char *wrong = copy ? NULL : "out of memory";
	char *rest = copy, *word;
	struct listen_addr addr;
	bool any = false;

	(void)key;
	while (!wrong && (word = strsep(&rest, ", \t"))) {
		if (!*word)
			continue;
		any = true;
		wrong = config_add_address(base, word, &addr);
	}
	return wrong ?: any ? NULL : "needs an address";
}

static void clear_listen(void *base)
{
	struct config *cfg = base;

	free(cfg->listen);
	cfg->listen = NULL;
	cfg->nr_listen = 0;
}

#define TARGET(field)	.offset = offsetof(struct config, field)
#define EXPORT(field)	.offset = offsetof(struct export_config, field)

const struct config_key config_target_keys[] = {
	{ "listen", "ADDR[:PORT]", "listen here (numeric; IPv6 in brackets; again for more)",
	  set_listen, .clear = clear_listen },
	{ "insecure", NULL, "auth = none: listen beyond loopback nevertheless",
	  set_bool, TARGET(insecure) },
	{ "auth", "METHOD",
	  "psk, hosts prove a key, or none (psk, if there is a [host]; else none)",
	  set_auth, TARGET(auth) },
	{ "name", "NAME", "name of this target in the logs of initiators (host name)",
	  set_name, TARGET(name) },
	{ "state-dir", "DIR", "where UUIDs of exports are kept (/var/lib/rdmablkd)",
	  set_string, TARGET(state_dir) },
	{ "log-level", "LEVEL", "error, warn, info or debug (info)",
	  set_log_level, TARGET(log_level) },
	{ "keep-alive-min", "MS", "shortest keep-alive timeout granted (500)",
	  set_number, TARGET(keep_alive_min), RDMABLK_MIN_KEEP_ALIVE_MS,
	  RDMABLK_MAX_KEEP_ALIVE_MS },
	{ "keep-alive-max", "MS", "longest keep-alive timeout granted (60000)",
	  set_number, TARGET(keep_alive_max), RDMABLK_MIN_KEEP_ALIVE_MS,
	  RDMABLK_MAX_KEEP_ALIVE_MS },
	{ "session-timeout-factor", "N",
	  "a session silent for N keep-alive timeouts ends (2)",
	  set_number, TARGET(session_factor), 2, 100 },
	{ "hello-timeout", "MS",
	  "time for each message that says and proves who the host is (5000)",
	  set_number, TARGET(hello_ms), 100, 600000 },
	{ "login-timeout", "MS", "time from one step of a login to the next (15000)",
	  set_number, TARGET(login_ms), 100, 600000 },
	{ "drain-ms", "MS", "time initiators get to stop before shutdown (200)",
	  set_number, TARGET(drain_ms), 0, 60000 },
	{ "max-sessions", "N", "sessions in all; readers get three quarters (4096)",
	  set_number, TARGET(max_sessions_all), 1, UINT32_MAX },
	{ "max-sessions-per-address", "N", "sessions from one address (512)",
	  set_number, TARGET(max_sessions_addr), 1, UINT32_MAX },
	{ "max-sessions-per-host", "N", "sessions of one host (256)",
	  set_number, TARGET(max_sessions), 1, UINT32_MAX },
	{ "max-queues", "N", "hardware queues in all; readers get three quarters (16384)",
	  set_number, TARGET(max_queues_all), 1, UINT32_MAX },
	{ "max-queues-per-address", "N", "hardware queues from one address (8192)",
	  set_number, TARGET(max_queues_addr), 1, UINT32_MAX },
	{ "max-queues-per-host", "N", "hardware queues of one host (4096)",
	  set_number, TARGET(max_queues), 1, UINT32_MAX },
	{ "max-pinned", "SIZE", "memory registered for one host, not for one export (no limit)",
	  set_size, TARGET(max_pinned), 1, UINT64_MAX },
	{ "max-pinned-per-address", "SIZE", "memory registered for one address (no limit)",
	  set_size, TARGET(max_pinned_addr), 1, UINT64_MAX },
	{ "max-pinned-total", "SIZE",
	  "memory registered in all; readers get three quarters (no limit)",
	  set_size, TARGET(max_pinned_all), 1, UINT64_MAX },
	{ "max-logins", "N", "logins in progress (256)",
	  set_number, TARGET(max_logins), 1, UINT32_MAX },
	{ "max-logins-per-address", "N", "logins in progress from one address (64)",
	  set_number, TARGET(max_logins_addr), 1, UINT32_MAX },
	{ "login-rate", "N", "logins that an unknown address may begin in a second (64)",
	  set_number, TARGET(login_rate), 1, 1000000 },
	{ "scratch", "SIZE", "memory lent to \"rdmablk ping\", up to 1M; 0: none (1M)",
	  set_size, TARGET(scratch), 0, RDMABLK_MAX_SCRATCH },
	{ "io-threads", "N",
	  "threads for each file without a cache (4, or the processors)",
	  set_number, TARGET(io_threads), 1, 64 },
	{ "control", "PATH", "socket of \"rdmablk target\" (/run/rdmablkd/control)",
	  set_string, TARGET(control) },
	{ "audit", "FILE", "write an audit log, JSON lines, to this file (none)",
	  set_string, TARGET(audit) },
	{ "allow-address", "NET[,NET]...",
	  "take connections from these addresses and networks only (any)",
	  set_networks, TARGET(allow_address) },
	{ "directories", "DIR[:DIR]...",
	  "write only below these, and the files of [export] sections (anywhere)",
	  set_directories, TARGET(directories) },
};

const unsigned int config_nr_target_keys = ARRAY_SIZE(config_target_keys);

const struct config_key config_export_keys[] = {
	{ "type", "TYPE", "memory, or file, which \"file\" implies", set_type,
	  EXPORT(type) },
	{ "file", "FILE", "file or block device that has the contents",
	  set_string, EXPORT(file) },
	{ "cache", "MODE", "of a file: full, all of it in memory, or none (none)",
	  set_cache, EXPORT(cache) },
	{ "epoch", "MODE",
	  "cache=none: boot, or stable, each write is durable when answered (boot)",
	  set_epoch, EXPORT(epoch) },
	{ "state", "DIR", "where its UUID and its last writer are kept (state-dir)",
	  set_string, EXPORT(state) },
	{ "size", "SIZE", "of the export; of a file all of it, if not given",
	  set_size, EXPORT(size), 4096, RDMABLK_MAX_SIZE },
	{ "arena", "FILE", "on tmpfs or hugetlbfs, keeps the contents",
	  set_string, EXPORT(arena) },
	{ "ro", NULL, "nobody may write", set_bool, EXPORT(read_only) },
	{ "shared", NULL, "several hosts may write", set_bool, EXPORT(shared) },
	{ "uuid", "UUID", "identity of the export", set_uuid, EXPORT(uuid) },
	{ "block", "SIZE", "logical block, 512 or 4096 (512; the device's)", set_block,
	  EXPORT(block), 512, 4096 },
	{ "region", "SIZE", "of one registration, a power of two", set_region,
	  EXPORT(region), RDMABLK_MIN_REGION, 1ULL << 40 },
	{ "hugepages", "PAGES", "auto, no, 2M or 1G", set_huge_pages,
	  EXPORT(huge_pages) },
	{ "overcommit", NULL, "take the memory even if the host has too little free",
	  set_bool, EXPORT(overcommit) },
	{ "numa", "NODE", "node of its memory: auto, that of the adapter; none; a number (auto)",
	  set_numa, .max = CONFIG_NODES - 1 },
	{ "slot-bytes", "SIZE", "cache=none: largest request (128K)", set_size,
	  EXPORT(slot_bytes), 4096, RDMABLK_MAX_SLOT },
	{ "slot-memory", "SIZE", "cache=none: for the requests of a session (64M)",
	  set_size, EXPORT(slot_memory), 8192, 1ULL << 40 },
	{ "max-sessions", "N",
	  "its sessions; readers get three quarters (half; all, if it is alone)",
	  set_number, EXPORT(max_sessions), 1, UINT32_MAX },
	{ "max-queues", "N",
	  "their hardware queues; readers get three quarters (as max-sessions)",
	  set_number, EXPORT(max_queues), 1, UINT32_MAX },
	{ "max-pinned", "SIZE",
	  "its registered memory; readers get three quarters (no limit)",
	  set_size, EXPORT(max_pinned), 1, UINT64_MAX },
	{ "allow-address", "NET[,NET]...",
	  "only these addresses and networks may use it (any)",
	  set_networks, EXPORT(allow_address) },
	{ "allow", "HOST[:RIGHTS][,...]",
	  "only these hosts; RIGHTS are ro, rw or rw+steal (auth = psk: nobody)",
	  set_allow, EXPORT(allow) },
	{ "fault", "FILE", NULL, set_fault, EXPORT(fault) },
};

const unsigned int config_nr_export_keys = ARRAY_SIZE(config_export_keys);

#define HOST(field)	.offset = offsetof(struct host_config, field)

const struct config_key config_host_keys[] = {
	{ "key", "FILE", "key file, or NAME of a key; twice while one replaces the other",
	  set_key_file, .clear = clear_key_files },
	{ "host-id", "UUID", "identity that the host must have", set_host_id,
	  HOST(host_id) },
	{ "expires", "YYYY-MM-DD", "its keys end when this day begins, UTC", set_expires,
	  HOST(expires) },
	{ "address", "NET[,NET]...", "it comes from these addresses and networks only (any)",
	  set_networks, HOST(address) },
};

const unsigned int config_nr_host_keys = ARRAY_SIZE(config_host_keys);

#define LISTEN(field)	.offset = offsetof(struct listen_config, field)

const struct config_key config_listen_keys[] = {
	{ "allow-address", "NET[,NET]...",
	  "take connections there from these addresses and networks only (any)",
	  set_networks, LISTEN(allow_address) },
};

const unsigned int config_nr_listen_keys = ARRAY_SIZE(config_listen_keys);
