// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What only the keys of an export together show: which of them go with which kind of
 * store, and whether the numbers fit each other.
 */
#include "base/util.h"
#include "config/config.h"

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

/* Keys that not every kind has, and who has them */
static const struct {
	const char *key;
	unsigned int kinds;
} special[] = {
	{ "file", KIND_FULL | KIND_NONE },
	{ "cache", KIND_FULL | KIND_NONE },
	{ "arena", KIND_MEMORY | KIND_FULL },
	{ "region", KIND_MEMORY | KIND_FULL },
	{ "hugepages", KIND_MEMORY | KIND_FULL },
	{ "overcommit", KIND_MEMORY | KIND_FULL },
	{ "slot-bytes", KIND_NONE },
	{ "slot-memory", KIND_NONE },
	{ "fault", KIND_FULL | KIND_NONE },
};

/* Was a key given, be it with a value that was refused? */
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

/* Each session of what is in memory registers all of it. */
static void check_pinned(struct config *cfg, const struct export_config *ec)
{
	bool all = !ec->file || ec->cache == CACHE_FULL;

	if (all && ec->max_pinned && ec->max_pinned < ec->size)
		config_error(cfg, ec->where,
			     "max-pinned of export \"%s\" is less than its size, which each session registers",
			     ec->name);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* As it was given: an export that is open has one in any case. */
static uint64_t block_of(const struct export_config *ec)
{
	return has(ec, "block") || !ec->file ? ec->block : 0;
}

/**
 * config_export_same - would two exports be the same
 * @a: checked, perhaps open
 * @b: likewise
 *
 * Return: whether all that was said of them is the same, wherever it was said, but for
 * what config_export_limit() takes over.
 */
bool config_export_same(const struct export_config *a, const struct export_config *b)
{
	return same_text(a->type, b->type) && same_text(a->file, b->file) &&
	       same_text(a->arena, b->arena) && same_text(a->fault, b->fault) &&
	       a->cache == b->cache && a->size == b->size &&
	       a->read_only == b->read_only && a->shared == b->shared &&
	       a->has_uuid == b->has_uuid &&
	       !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) &&
	       block_of(a) == block_of(b) && a->region == b->region &&
	       a->huge_pages == b->huge_pages && a->overcommit == b->overcommit &&
	       a->numa == b->numa && a->node == b->node && a->slot_bytes == b->slot_bytes &&
	       a->slot_memory == b->slot_memory;
}

/**
 * config_export_limit - take over the limits of an export, which need no opening
 * @ec: of an export, perhaps open and in use
 * @now: what is said of it now
 *
 * Return: whether anything has changed.
 */
bool config_export_limit(struct export_config *ec, const struct export_config *now)
{
	bool same = ec->max_sessions == now->max_sessions &&
		    ec->max_queues == now->max_queues && ec->max_pinned == now->max_pinned;

	ec->max_sessions = now->max_sessions;
	ec->max_queues = now->max_queues;
	ec->max_pinned = now->max_pinned;
	return !same;
}

/**
 * config_export_check - check an export as a whole
 * @cfg: whose; problems are printed and counted
 * @ec: complete; gets its type, if "file" implies it
 */
void config_export_check(struct config *cfg, struct export_config *ec)
{
	if (!has(ec, "type") && ec->file) {
		ec->type = strdup("file");
		if (!ec->type)
			config_error(cfg, ec->where, "out of memory");
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
