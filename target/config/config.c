// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The configuration: defaults, setting one key, checking the whole. Problems
 * are printed as "where: what" and counted, so that one run shows all of them.
 */
#include <stdarg.h>
#include <sys/utsname.h>
#include <syslog.h>

#include "base/near.h"
#include "base/util.h"
#include "config/config.h"

/*
 * The defaults that depend on the host, as they are at the start. Later the host may get
 * another name or more processors; then a reload of the same file must find no difference.
 */
static struct {
	uint64_t io_threads;	/* 0: not known yet */
	char name[RDMABLK_NAME_LEN];
} of_host;

static void ask_host(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname host;

	of_host.io_threads = cpus > 0 ? min_u64((uint64_t)cpus, CONFIG_IO_THREADS) : 1;
	snprintf(of_host.name, sizeof(of_host.name), "%.*s", RDMABLK_NAME_LEN - 1,
		 !uname(&host) && value_name_ok(host.nodename, RDMABLK_NAME_LEN) ?
		 host.nodename : "rdmablkd");
}

/**
 * config_init - set the defaults
 * @cfg: result
 *
 * The first call is that of the start, before there is a second thread.
 */
void config_init(struct config *cfg)
{
	if (!of_host.io_threads)
		ask_host();
	*cfg = (struct config){
		.log_level = LOG_INFO,
		.keep_alive_min = 500,
		.keep_alive_max = 60000,
		.session_factor = 2,
		.hello_ms = 5000,
		.login_ms = 15000,
		.drain_ms = 200,
		.max_sessions_all = 4096,
		.max_sessions_addr = 512,
		.max_sessions = 256,
		.max_queues_all = 16384,
		.max_queues_addr = 8192,
		.max_queues = 4096,
		.max_logins = 256,
		.max_logins_addr = 64,
		.login_rate = 64,
		.scratch = RDMABLK_MAX_SCRATCH,
		.io_threads = of_host.io_threads,
	};
	TAILQ_INIT(&cfg->exports);
	TAILQ_INIT(&cfg->hosts);
	TAILQ_INIT(&cfg->listens);
	cfg->state_dir = strdup("/var/lib/rdmablkd");
	cfg->name = strdup(of_host.name);
}

/**
 * config_export_free - release an export
 * @ec: in no list; or NULL
 */
void config_export_free(struct export_config *ec)
{
	if (!ec)
		return;
	free(ec->type);
	free(ec->file);
	free(ec->fault);
	free(ec->arena);
	free(ec->state);
	free(ec->allow_address);
	free(ec->allow);
	free(ec->lines);
	free(ec);
}

/**
 * config_host_free - release a host
 * @hc: in no list; or NULL
 */
void config_host_free(struct host_config *hc)
{
	if (!hc)
		return;
	for (unsigned int i = 0; i < hc->nr_keys; i++)
		free(hc->key[i]);
	free(hc->address);
	free(hc->lines);
	free(hc);
}

/**
 * config_host_empty - release all hosts of a list
 * @hosts: list
 */
void config_host_empty(struct host_config_list *hosts)
{
	struct host_config *hc;

	while ((hc = TAILQ_FIRST(hosts))) {
		TAILQ_REMOVE(hosts, hc, entry);
		config_host_free(hc);
	}
}

/**
 * config_free - release everything
 * @cfg: may be initialised again
 */
void config_free(struct config *cfg)
{
	struct export_config *ec;
	struct listen_config *lc;

	while ((ec = TAILQ_FIRST(&cfg->exports))) {
		TAILQ_REMOVE(&cfg->exports, ec, entry);
		config_export_free(ec);
	}
	while ((lc = TAILQ_FIRST(&cfg->listens))) {
		TAILQ_REMOVE(&cfg->listens, lc, entry);
		free(lc->allow_address);
		free(lc);
	}
	config_host_empty(&cfg->hosts);
	free(cfg->listen);
	free(cfg->name);
	free(cfg->state_dir);
	free(cfg->control);
	free(cfg->audit);
	free(cfg->allow_address);
	free(cfg->directories);
}

/**
 * config_export_take - take an export out of a configuration, to outlive it
 * @cfg: configuration
 * @ec: export of @cfg
 *
 * Return: @ec; config_export_free() releases it.
 */
struct export_config *config_export_take(struct config *cfg, struct export_config *ec)
{
	TAILQ_REMOVE(&cfg->exports, ec, entry);
	return ec;
}

/**
 * config_error - print a problem and count it
 * @cfg: configuration with the problem
 * @where: "file:line" or the option
 * @fmt: text of the problem, as for printf()
 */
void config_error(struct config *cfg, const char *where, const char *fmt, ...)
{
	FILE *out = cfg->complaints ?: stderr;
	va_list args;

	cfg->errors++;
	fprintf(out, "%s: ", where);
	va_start(args, fmt);
	vfprintf(out, fmt, args);
	va_end(args);
	fputc('\n', out);
}

/*
 * Whether a new export or host may have a name; prints why not. @taken: where another one has
 * the name already, or NULL
 */
static bool check_name(struct config *cfg, const char *what, const char *name,
		       const char *taken, const char *where)
{
	if (!value_name_ok(name, RDMABLK_NAME_LEN))
		config_error(cfg, where,
			     "bad %s name \"%s\": up to %d letters, digits, '.', '_', '-'",
			     what, name, RDMABLK_NAME_LEN - 1);
	else if (taken)
		config_error(cfg, where, "%s \"%s\" exists already, at %s", what, name,
			     taken);
	else
		return true;
	return false;
}

static struct host_config *find_host(const struct config *cfg, const char *name)
{
	struct host_config *hc;

	TAILQ_FOREACH(hc, &cfg->hosts, entry)
		if (!strcmp(hc->name, name))
			return hc;
	return NULL;
}

/**
 * config_export_add - begin an export
 * @cfg: gets it
 * @name: name of the export
 * @where: for messages
 *
 * Return: the export, or NULL with the problem printed.
 */
struct export_config *config_export_add(struct config *cfg, const char *name,
					const char *where)
{
	struct export_config *ec;

	TAILQ_FOREACH(ec, &cfg->exports, entry)
		if (!strcmp(ec->name, name))
			break;
	if (!check_name(cfg, "export", name, ec ? ec->where : NULL, where))
		return NULL;
	ec = calloc(1, sizeof(*ec));
	if (!ec) {
		config_error(cfg, where, "out of memory");
		return NULL;
	}
	snprintf(ec->name, sizeof(ec->name), "%s", name);
	snprintf(ec->where, sizeof(ec->where), "%s", where);
	ec->slot_bytes = CONFIG_SLOT_BYTES;
	ec->slot_memory = CONFIG_SLOT_MEMORY;
	TAILQ_INSERT_TAIL(&cfg->exports, ec, entry);
	return ec;
}

/**
 * config_host_add - begin a host
 * @cfg: gets it
 * @name: name of the host
 * @where: for messages
 *
 * Return: the host, or NULL with the problem printed.
 */
struct host_config *config_host_add(struct config *cfg, const char *name,
				    const char *where)
{
	struct host_config *hc = find_host(cfg, name);

	if (!check_name(cfg, "host", name, hc ? hc->where : NULL, where))
		return NULL;
	hc = calloc(1, sizeof(*hc));
	if (!hc) {
		config_error(cfg, where, "out of memory");
		return NULL;
	}
	snprintf(hc->name, sizeof(hc->name), "%s", name);
	snprintf(hc->where, sizeof(hc->where), "%s", where);
	TAILQ_INSERT_TAIL(&cfg->hosts, hc, entry);
	return hc;
}

static bool is_listen(const struct config_key *key)
{
	return !strcmp(key->name, "listen");
}

/**
 * config_listen_add - begin the section of an address, and listen there
 * @cfg: gets it
 * @text: ADDR[:PORT]
 * @where: for messages
 *
 * Sections and "listen" of [target] add up, and may have the same address. The option
 * --listen replaces the addresses of both, but not what a section says of an address.
 *
 * Return: the section, or NULL with the problem printed.
 */
struct listen_config *config_listen_add(struct config *cfg, const char *text,
					const char *where)
{
	struct listen_config *lc = calloc(1, sizeof(*lc));
	const char *wrong = lc ? NULL : "out of memory";

	if (lc && !value_address(text, &lc->addr) && config_find_listen(cfg, &lc->addr))
		wrong = "the same address twice";
	else if (lc && !config_listens(cfg, &lc->addr))
		wrong = config_add_address(cfg, text, &lc->addr);
	if (wrong) {
		config_error(cfg, where, "listen %.64s: %s", text, wrong);
		free(lc);
		return NULL;
	}
	for (unsigned int i = 0; i < config_nr_target_keys; i++)
		if (is_listen(&config_target_keys[i]))
			cfg->seen |= 1ULL << i;
	TAILQ_INSERT_TAIL(&cfg->listens, lc, entry);
	return lc;
}

/**
 * config_listen_networks - networks from which connections to an address are taken
 * @cfg: configuration
 * @addr: address that the daemon listens on
 *
 * Return: networks, valid until @cfg changes; NULL: the address has no such limit of its own.
 */
const char *config_listen_networks(const struct config *cfg, const struct listen_addr *addr)
{
	const struct listen_config *lc = config_find_listen(cfg, addr);

	return lc ? lc->allow_address : NULL;
}

/**
 * config_listen_take - take over the networks of an address from a new configuration
 * @cfg: configuration of the daemon
 * @now: new configuration
 * @addr: address that the daemon listens on
 *
 * If @now does not have the address, the daemon still listens on it until its end. Then the
 * list stays, so that no peer gets in that the list has kept out.
 *
 * Return: whether the networks have changed.
 */
bool config_listen_take(struct config *cfg, const struct config *now,
			const struct listen_addr *addr)
{
	const char *networks = config_listen_networks(now, addr);
	struct listen_config *lc = config_find_listen(cfg, addr);

	if (!config_listens(now, addr))
		return false;
	if (!lc && networks) {
		lc = calloc(1, sizeof(*lc));
		if (!lc)
			return false;
		lc->addr = *addr;
		TAILQ_INSERT_TAIL(&cfg->listens, lc, entry);
	}
	return lc && config_take_text(&lc->allow_address, networks);
}

static void unknown_key(struct config *cfg, const struct config_key *keys,
			unsigned int nr, const char *key, const char *where)
{
	struct near near;

	near_begin(&near, key);
	for (unsigned int i = 0; i < nr; i++)
		near_try(&near, keys[i].name);
	if (near.best)
		config_error(cfg, where, "unknown key \"%s\"; did you mean \"%s\"?",
			     key, near.best);
	else
		config_error(cfg, where, "unknown key \"%s\"", key);
}

/* Sets one key of a table in the struct @base. @seen: keys that were given, a bit each */
static void set_key(struct config *cfg, const struct config_key *keys, unsigned int nr,
		    void *base, uint64_t *seen, const char *key, const char *value,
		    const char *where)
{
	const char *wrong;
	unsigned int i;

	for (i = 0; i < nr && strcmp(key, keys[i].name); i++)
		;
	if (i == nr) {
		unknown_key(cfg, keys, nr, key, where);
		return;
	}
	if (*seen & 1ULL << i && !keys[i].clear) {
		config_error(cfg, where, "\"%s\" was given before", key);
		return;
	}
	if (!(*seen & 1ULL << i) && keys[i].clear)
		keys[i].clear(base);
	*seen |= 1ULL << i;
	wrong = keys[i].set(&keys[i], base, value);
	if (wrong)
		config_error(cfg, where, "%s = %.64s: %s", key, value, wrong);
}

/* Adds a line to the text of a section, as a file would have it. */
static void keep_line(struct config *cfg, char **lines, const char *key, const char *value,
		      const char *where)
{
	char *longer;

	if (asprintf(&longer, "%s%s = %s\n", *lines ?: "", key, *value ? value : "yes") < 0) {
		config_error(cfg, where, "out of memory");
		return;
	}
	free(*lines);
	*lines = longer;
}

/**
 * config_set - set one key
 * @cfg: the configuration
 * @ec: the export the key belongs to; NULL: the target itself
 * @key: its name
 * @value: its value, "" for a switch without one
 * @where: for messages
 */
void config_set(struct config *cfg, struct export_config *ec,
		const char *key, const char *value, const char *where)
{
	if (ec) {
		set_key(cfg, config_export_keys, config_nr_export_keys, ec, &ec->seen,
			key, value, where);
		keep_line(cfg, &ec->lines, key, value, where);
		return;
	}
	set_key(cfg, config_target_keys, config_nr_target_keys, cfg, &cfg->seen, key, value,
		where);
}

/**
 * config_set_host - set one key of a host
 * @cfg: the configuration
 * @hc: the host
 * @key: its name
 * @value: its value
 * @where: for messages
 */
void config_set_host(struct config *cfg, struct host_config *hc,
		     const char *key, const char *value, const char *where)
{
	set_key(cfg, config_host_keys, config_nr_host_keys, hc, &hc->seen, key, value,
		where);
	keep_line(cfg, &hc->lines, key, value, where);
}

/**
 * config_set_listen - set one key of an address
 * @cfg: the configuration
 * @lc: section of the address
 * @key: its name
 * @value: its value
 * @where: for messages
 */
void config_set_listen(struct config *cfg, struct listen_config *lc,
		       const char *key, const char *value, const char *where)
{
	set_key(cfg, config_listen_keys, config_nr_listen_keys, lc, &lc->seen, key, value,
		where);
}

/**
 * config_export_spec - add an export in the words of --export
 * @cfg: gets it
 * @spec: NAME,memory[,KEY[=VALUE]]… or NAME,file=PATH[,KEY[=VALUE]]…
 */
void config_export_spec(struct config *cfg, const char *spec)
{
	char *copy __cleanup_free = strdup(spec);
	char where[CONFIG_WHERE], *rest = copy, *word;
	struct export_config *ec;

	snprintf(where, sizeof(where), "--export %s", spec);
	if (!copy) {
		config_error(cfg, where, "out of memory");
		return;
	}
	word = strsep(&rest, ",");
	ec = config_export_add(cfg, word, where);
	if (!ec)
		return;
	for (unsigned int i = 0; (word = strsep(&rest, ",")); i++) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		if (i == 0 && !value)
			config_set(cfg, ec, "type", word, where);
		else
			config_set(cfg, ec, word, value ? value : "", where);
	}
}

/**
 * config_host_spec - add a host in the words of "rdmablk target host add", and check it
 * @cfg: gets it
 * @spec: NAME,key=FILE[,KEY=VALUE]…
 */
void config_host_spec(struct config *cfg, const char *spec)
{
	char *copy __cleanup_free = strdup(spec);
	char where[CONFIG_WHERE], *rest = copy, *word;
	struct host_config *hc;

	snprintf(where, sizeof(where), "host %s", spec);
	if (!copy) {
		config_error(cfg, where, "out of memory");
		return;
	}
	hc = config_host_add(cfg, strsep(&rest, ","), where);
	if (!hc)
		return;
	while ((word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		config_set_host(cfg, hc, word, value ? value : "", where);
	}
	config_host_check(cfg, hc);
}

/*
 * Exports: which keys go with which kind of store, and whether the numbers fit each other
 */

/**
 * enum kind - kinds of stores, as a set
 * @KIND_MEMORY: memory
 * @KIND_FULL: a file with all of it in memory
 * @KIND_NONE: a file without a cache
 */
enum kind {
	KIND_MEMORY	= 1 << 0,
	KIND_FULL	= 1 << 1,
	KIND_NONE	= 1 << 2,
};

/* Keys that not every kind of store has, and the kinds that have them */
static const struct {
	const char *key;
	unsigned int kinds;
} special[] = {
	{ "file", KIND_FULL | KIND_NONE },
	{ "cache", KIND_FULL | KIND_NONE },
	{ "epoch", KIND_NONE },
	{ "arena", KIND_MEMORY | KIND_FULL },
	{ "region", KIND_MEMORY | KIND_FULL },
	{ "hugepages", KIND_MEMORY | KIND_FULL },
	{ "overcommit", KIND_MEMORY | KIND_FULL },
	{ "slot-bytes", KIND_NONE },
	{ "slot-memory", KIND_NONE },
	{ "fault", KIND_FULL | KIND_NONE },
};

/* Whether a key was given, even with a value that was refused */
static bool has(const struct export_config *ec, const char *key)
{
	for (unsigned int i = 0; i < config_nr_export_keys; i++)
		if (!strcmp(config_export_keys[i].name, key))
			return ec->seen & 1ULL << i;
	return false;
}

static const char *kind_text(enum kind kind)
{
	switch (kind) {
	case KIND_MEMORY:	return "memory";
	case KIND_FULL:		return "a file with cache=full";
	case KIND_NONE:		return "a file with cache=none";
	}
	return "?";
}

static void check_kind(struct config *cfg, const struct export_config *ec,
		       enum kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (has(ec, special[i].key) && !(special[i].kinds & kind))
			config_error(cfg, ec->where,
				     "export \"%s\": \"%s\" is not for an export of %s",
				     ec->name, special[i].key, kind_text(kind));
}

static void check_memory(struct config *cfg, struct export_config *ec)
{
	check_kind(cfg, ec, KIND_MEMORY);
	if (!has(ec, "size"))
		config_error(cfg, ec->where, "export \"%s\" has no size", ec->name);
	if (!ec->block && !has(ec, "block"))
		ec->block = 512;
}

static void check_file(struct config *cfg, const struct export_config *ec)
{
	check_kind(cfg, ec, ec->cache == CACHE_FULL ? KIND_FULL : KIND_NONE);
	if (!has(ec, "file"))
		config_error(cfg, ec->where, "export \"%s\" has no file", ec->name);
	if (ec->shared && ec->cache == CACHE_FULL)
		config_error(cfg, ec->where,
			     "export \"%s\": one host's flush cannot cover what another wrote: \"shared\" is not for cache=full",
			     ec->name);
	if (ec->slot_bytes % 4096)
		config_error(cfg, ec->where,
			     "slot-bytes of export \"%s\" is no multiple of 4096", ec->name);
	if (ec->slot_memory < CONFIG_MIN_SLOTS * ec->slot_bytes)
		config_error(cfg, ec->where,
			     "slot-memory of export \"%s\" holds fewer than %d slots of %llu bytes, too few for a hardware queue",
			     ec->name, CONFIG_MIN_SLOTS, (unsigned long long)ec->slot_bytes);
}

static void check_size(struct config *cfg, const struct export_config *ec)
{
	if (ec->block && ec->size % ec->block)
		config_error(cfg, ec->where,
			     "size of export \"%s\" is no multiple of its block of %llu bytes",
			     ec->name, (unsigned long long)ec->block);
	if (ec->region && (ec->size - 1) / ec->region >= RDMABLK_MAX_REGIONS)
		config_error(cfg, ec->where,
			     "export \"%s\" would have more than %d regions; give it larger ones",
			     ec->name, RDMABLK_MAX_REGIONS);
}

/* If the data of an export is in memory, each session registers all of it. */
static void check_pinned(struct config *cfg, const struct export_config *ec)
{
	bool all = !ec->file || ec->cache == CACHE_FULL;

	if (all && ec->max_pinned && ec->max_pinned < ec->size)
		config_error(cfg, ec->where,
			     "max-pinned of export \"%s\" is less than its size, which each session registers",
			     ec->name);
}

/* Return: the block as it was given; 0: not given. An open export always has a block. */
static uint64_t block_of(const struct export_config *ec)
{
	return has(ec, "block") || !ec->file ? ec->block : 0;
}

static bool same_but_size(const struct export_config *a, const struct export_config *b)
{
	return same_text(a->type, b->type) && same_text(a->file, b->file) &&
	       same_text(a->arena, b->arena) && same_text(a->fault, b->fault) &&
	       same_text(a->state, b->state) &&
	       a->cache == b->cache && a->epoch == b->epoch &&
	       a->read_only == b->read_only && a->shared == b->shared &&
	       a->has_uuid == b->has_uuid &&
	       !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) &&
	       block_of(a) == block_of(b) && a->region == b->region &&
	       a->huge_pages == b->huge_pages && a->overcommit == b->overcommit &&
	       a->numa == b->numa && a->node == b->node && a->slot_bytes == b->slot_bytes &&
	       a->slot_memory == b->slot_memory;
}

/**
 * config_export_same - whether two exports are configured alike
 * @a: checked, perhaps open
 * @b: checked, perhaps open
 *
 * Return: true: all keys are equal, except those that config_export_limit() takes over.
 */
bool config_export_same(const struct export_config *a, const struct export_config *b)
{
	return a->size == b->size && same_but_size(a, b);
}

/**
 * config_export_grows - whether an export differs only in that it shows more of its file
 * @ec: configuration of an open export
 * @now: new configuration of the export, checked
 *
 * Return: true: it does, and keys that config_export_limit() takes over may differ.
 */
bool config_export_grows(const struct export_config *ec, const struct export_config *now)
{
	return now->file && ec->size && now->size > ec->size && same_but_size(ec, now);
}

/**
 * config_take_text - take over the value of a key that is a text
 * @field: gets a copy of @now, unless it has that text already, or memory is short
 * @now: new text, or NULL
 *
 * Return: whether it has changed.
 */
bool config_take_text(char **field, const char *now)
{
	char *copy = NULL;

	if (same_text(*field, now))
		return false;
	if (now) {
		copy = strdup(now);
		if (!copy)
			return false;
	}
	free(*field);
	*field = copy;
	return true;
}

/**
 * config_export_limit - take over the limits of an export, for which it need not be reopened
 * @ec: configuration of an export, perhaps open and in use
 * @now: new configuration of the export
 *
 * Return: whether anything has changed.
 */
bool config_export_limit(struct export_config *ec, const struct export_config *now)
{
	bool address = config_take_text(&ec->allow_address, now->allow_address);
	bool allow = config_take_text(&ec->allow, now->allow);
	bool changed = address || allow || ec->max_sessions != now->max_sessions ||
		       ec->max_queues != now->max_queues || ec->max_pinned != now->max_pinned;

	config_take_text(&ec->lines, now->lines);
	ec->max_sessions = now->max_sessions;
	ec->max_queues = now->max_queues;
	ec->max_pinned = now->max_pinned;
	return changed;
}

static bool narrow_networks(char **is, const char *now)
{
	char *both __cleanup_free = NULL;

	if (!now || same_text(*is, now))
		return false;
	if (!*is)
		return config_take_text(is, now);
	both = value_networks_both(*is, now);
	return both && config_take_text(is, both);
}

/**
 * config_export_narrow - take away rights that a new configuration of an export does not give
 * @ec: configuration of an export, perhaps open and in use
 * @now: new configuration of the export, perhaps with other contents
 *
 * Until @now takes the place of @ec, a host has the rights that both give, and has to come from
 * the networks of both; an empty list has no network. If memory is short, no host has any
 * right.
 *
 * Return: whether anything has changed.
 */
bool config_export_narrow(struct export_config *ec, const struct export_config *now)
{
	char *both __cleanup_free = value_allow_both(ec->allow, now->allow);
	bool address = narrow_networks(&ec->allow_address, now->allow_address);
	bool allow = !same_text(ec->allow, now->allow) &&
		     config_take_text(&ec->allow, both && *both ? both : NULL);

	return address || allow;
}

/**
 * config_state_dir - where the UUID and the notes of an export are
 * @cfg: of the daemon
 * @ec: of the export
 *
 * What the daemon itself keeps, and what files have lost in this boot of its host, is in the
 * directory of the daemon in any case.
 *
 * Return: directory, as long as both last.
 */
const char *config_state_dir(const struct config *cfg, const struct export_config *ec)
{
	return ec->state ?: cfg->state_dir;
}

/**
 * config_export_check - check an export as a whole
 * @cfg: configuration; problems are printed and counted
 * @ec: complete; gets its type, if "file" implies it
 */
void config_export_check(struct config *cfg, struct export_config *ec)
{
	if (!has(ec, "type") && ec->file) {
		char *type = strdup("file");

		if (!type)
			config_error(cfg, ec->where, "out of memory");
		free(ec->type);
		ec->type = type;
	} else if (!has(ec, "type") && !has(ec, "file")) {
		config_error(cfg, ec->where, "export \"%s\" has neither a type nor a file",
			     ec->name);
	}
	if (ec->type && !strcmp(ec->type, "file"))
		check_file(cfg, ec);
	else if (ec->type)
		check_memory(cfg, ec);
	if (ec->size)
		check_size(cfg, ec);
	check_pinned(cfg, ec);
	if (ec->arena && ec->huge_pages != HUGE_AUTO)
		config_error(cfg, ec->where,
			     "export \"%s\": its arena's file system decides about huge pages",
			     ec->name);
}

/*
 * Hosts
 */

/**
 * config_host_check - check a host as a whole
 * @cfg: configuration; problems are printed and counted
 * @hc: complete
 */
void config_host_check(struct config *cfg, const struct host_config *hc)
{
	const struct host_config *other;

	if (!hc->nr_keys)
		config_error(cfg, hc->where, "host \"%s\" has no key", hc->name);
	if (!hc->has_id)
		return;
	TAILQ_FOREACH(other, &cfg->hosts, entry) {
		if (other == hc)
			return;
		if (other->has_id && !memcmp(other->host_id, hc->host_id, RDMABLK_ID_LEN))
			config_error(cfg, hc->where,
				     "host \"%s\" has the host-id of host \"%s\", at %s",
				     hc->name, other->name, other->where);
	}
}

/**
 * config_host_same - whether two hosts are configured alike
 * @a: checked
 * @b: checked
 *
 * Return: true: all keys are equal. The contents of their key files do not count.
 */
bool config_host_same(const struct host_config *a, const struct host_config *b)
{
	if (a->nr_keys != b->nr_keys)
		return false;
	for (unsigned int i = 0; i < a->nr_keys; i++)
		if (strcmp(a->key[i], b->key[i]))
			return false;
	return a->expires == b->expires && same_text(a->address, b->address) &&
	       a->has_id == b->has_id &&
	       !memcmp(a->host_id, b->host_id, sizeof(a->host_id));
}

/*
 * The whole configuration
 */

/* Each host in "allow" must have a section. Without authentication there are no hosts. */
static void check_allow(struct config *cfg, const struct export_config *ec)
{
	const char *rest = ec->allow;
	struct allow_entry host;

	if (rest && cfg->auth == AUTH_NONE)
		config_error(cfg, ec->where,
			     "export \"%s\" has \"allow\", which takes auth = psk",
			     ec->name);
	while (rest && value_allow_next(&rest, &host))
		if (!find_host(cfg, host.name))
			config_error(cfg, ec->where,
				     "export \"%s\" allows host \"%s\", and there is no [host %s]",
				     ec->name, host.name, host.name);
}

static void check_listen(struct config *cfg)
{
	for (unsigned int i = 0; i < cfg->nr_listen; i++)
		if (!value_loopback(&cfg->listen[i]))
			config_error(cfg, "rdmablkd",
				     "refusing to listen on %s: nobody is authenticated, so whoever reaches it reads and writes every export; --insecure says that is meant",
				     cfg->listen[i].text);
}

static void check_uuid(struct config *cfg, const struct export_config *ec)
{
	const struct export_config *other;

	if (!ec->has_uuid)
		return;
	TAILQ_FOREACH(other, &cfg->exports, entry) {
		if (other == ec)
			return;
		if (other->has_uuid && !memcmp(other->uuid, ec->uuid, sizeof(ec->uuid)))
			config_error(cfg, ec->where,
				     "export \"%s\" has the UUID of export \"%s\", at %s",
				     ec->name, other->name, other->where);
	}
}

/**
 * config_finish - check the whole configuration
 * @cfg: complete; gets its way to authenticate, if that was not given
 */
void config_finish(struct config *cfg)
{
	const struct host_config *hc;
	struct export_config *ec;

	if (!cfg->auth_given)
		cfg->auth = TAILQ_EMPTY(&cfg->hosts) ? AUTH_NONE : AUTH_PSK;
	if (!cfg->nr_listen)
		config_error(cfg, "rdmablkd", "no address to listen on (--listen)");
	if (TAILQ_EMPTY(&cfg->exports))
		config_error(cfg, "rdmablkd", "nothing to export (--export)");
	if (cfg->keep_alive_min > cfg->keep_alive_max)
		config_error(cfg, "rdmablkd",
			     "keep-alive-min is more than keep-alive-max");
	if (cfg->auth == AUTH_NONE && !cfg->insecure)
		check_listen(cfg);
	TAILQ_FOREACH(hc, &cfg->hosts, entry)
		config_host_check(cfg, hc);
	TAILQ_FOREACH(ec, &cfg->exports, entry) {
		config_export_check(cfg, ec);
		check_uuid(cfg, ec);
		check_allow(cfg, ec);
	}
}
