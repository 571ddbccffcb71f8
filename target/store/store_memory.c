// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory store: an arena of shared memory, anonymous or a kept file.
 */
#include "base/log.h"
#include "base/meminfo.h"
#include "base/util.h"
#include "store/arena.h"
#include "store/pages.h"

#define MEMORY_BLOCK	4096		/* preferred unit of I/O: a page */
#define MEMORY_ZERO_MAX	(1ULL << 30)	/* bytes of a command, because zeroing takes time */

static int kept_open(struct store *store, const struct export_config *ec)
{
	int fresh = arena_open(store, ec), zero, ret;

	if (fresh < 0)
		return fresh;
	ret = pages_reserve(store, ec->name) ?: pages_map(store, ec->name, 0);
	if (ret)
		return ret;
	zero = arena_attach(store, ec, NULL, fresh);
	if (zero < 0)
		return zero;
	log_info("export %s: arena %s %s, %llu bytes in pages of %llu KiB",
		 ec->name, ec->arena, zero ? "is new" : "keeps its contents",
		 (unsigned long long)store->size,
		 (unsigned long long)store->page_size >> 10);
	ret = pages_populate(store, ec->name, 0);
	if (!ret && zero && !fresh)
		memset(store->base, 0, store->size);
	return ret;
}

static int memory_close(struct store *store)
{
	arena_leave(store);
	pages_release(store, 0);
	return 0;
}

static int memory_open(struct store *store, const struct export_config *ec)
{
	int ret;

	store->fd = -1;
	store->size = ec->size;
	store->physical_block = MEMORY_BLOCK;
	store->kept = ec->arena;
	store->overcommit = ec->overcommit;
	if (ec->arena)
		ret = kept_open(store, ec);
	else
		ret = pages_anonymous(store, ec) ?: pages_map(store, ec->name, 0) ?:
		      pages_populate(store, ec->name, 0);
	if (ret)
		memory_close(store);
	else
		meminfo_check_locked(ec->name, store->size);
	return ret;
}

static void memory_limits(const struct store *store, struct store_limits *out)
{
	(void)store;
	*out = (struct store_limits){
		.ops = RDMABLK_OP_BIT(RDMABLK_OP_DISCARD) |
		       RDMABLK_OP_BIT(RDMABLK_OP_WRITE_ZEROES),
		.max_discard = MEMORY_ZERO_MAX,
		.max_zeroes = MEMORY_ZERO_MAX,
		.discard_granularity = MEMORY_BLOCK,
	};
}

/* Adapters may write to any page, so a page is never given back: discarded data is zeroed. */
static unsigned int memory_work(struct store *store, struct store_work *w,
				uint64_t offset, uint64_t bytes)
{
	(void)w;
	memset((char *)store->base + offset, 0, bytes);
	return arena_guard_broken(store->guard) ? RDMABLK_R_STORE_FAILED : RDMABLK_OK;
}

const struct store_ops store_memory_ops = {
	.type = "memory",
	.open = memory_open,
	.publish = arena_publish,
	.written_by = arena_written_by,
	.close = memory_close,
	.limits = memory_limits,
	.work = memory_work,
};
