// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store "memory": an arena of shared memory, anonymous or a kept file. All
 * its pages exist before the first session: a fault later would be one of the
 * adapter's making, or a SIGBUS.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <sys/mman.h>

#include "arena.h"
#include "log.h"
#include "mac.h"
#include "util.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#define PAGE_2M		(2ULL << 20)
#define PAGE_1G		(1ULL << 30)
#define FILL_STEP	(1ULL << 30)	/* between lines about progress */
#define MEMORY_BLOCK	4096		/* a page is what caches like */

static const struct page_kind {
	enum huge_pages wish;
	uint64_t size;
	unsigned int flags;
	const char *text;
} page_kinds[] = {
	{ HUGE_1G, PAGE_1G, MFD_HUGETLB | MFD_HUGE_1GB, "1 GiB pages" },
	{ HUGE_2M, PAGE_2M, MFD_HUGETLB | MFD_HUGE_2MB, "2 MiB pages" },
	{ HUGE_NO, 4096, 0, "base pages" },
};

static int anonymous_try(struct store *store, const struct export_config *ec,
			 const struct page_kind *kind)
{
	uint64_t bytes = round_up(store->size, kind->size);
	int fd = memfd_create(ec->name, kind->flags | MFD_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) || fallocate(fd, 0, 0, (off_t)bytes))
		ret = -errno;
	if (ret) {
		close(fd);
		return ret;
	}
	store->fd = fd;
	store->mapped = bytes;
	store->page_size = kind->size;
	return 0;
}

static int anonymous_open(struct store *store, const struct export_config *ec)
{
	int ret = -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(page_kinds); i++) {
		const struct page_kind *kind = &page_kinds[i];

		if (ec->huge_pages != HUGE_AUTO && ec->huge_pages != kind->wish)
			continue;
		/* Nobody asked for 1 GiB pages: don't waste most of the last. */
		if (ec->huge_pages == HUGE_AUTO && store->size % kind->size &&
		    kind->wish == HUGE_1G)
			continue;
		ret = anonymous_try(store, ec, kind);
		if (!ret) {
			log_info("export %s: %llu bytes in %s%s", ec->name,
				 (unsigned long long)store->size, kind->text,
				 kind->wish == HUGE_NO && ec->huge_pages == HUGE_AUTO ?
				 "; the host has no huge pages free" : "");
			return mac_random(store->epoch, sizeof(store->epoch));
		}
	}
	log_err("export %s: no memory for %llu bytes: %s", ec->name,
		(unsigned long long)store->size, strerror(-ret));
	return ret;
}

static int map_arena(struct store *store, const struct export_config *ec)
{
	void *base = mmap(NULL, store->mapped, PROT_READ | PROT_WRITE, MAP_SHARED,
			  store->fd, 0);
	int ret;

	if (base == MAP_FAILED) {
		ret = -errno;
		log_err("export %s: cannot map %llu bytes: %s", ec->name,
			(unsigned long long)store->mapped, strerror(-ret));
		return ret;
	}
	store->base = base;
	madvise(base, store->mapped, MADV_DONTFORK);
	if (store->page_size < PAGE_2M)
		madvise(base, store->mapped, MADV_HUGEPAGE);
	return 0;
}

/* Make every page exist; zeroed on demand. */
static int fill_arena(struct store *store, const struct export_config *ec,
		      bool zero)
{
	for (uint64_t off = 0; off < store->mapped; off += FILL_STEP) {
		uint64_t len = min_u64(FILL_STEP, store->mapped - off);
		char *from = (char *)store->base + off;

		if (madvise(from, len, MADV_POPULATE_WRITE)) {
			int ret = -errno;

			log_err("export %s: no memory for its arena: %s", ec->name,
				strerror(-ret));
			return ret;
		}
		if (zero && off < store->size)
			memset(from, 0, min_u64(len, store->size - off));
		if (store->mapped > 16 * FILL_STEP && off && !(off % (16 * FILL_STEP)))
			log_info("export %s: %llu of %llu GiB filled", ec->name,
				 (unsigned long long)(off / FILL_STEP),
				 (unsigned long long)(store->mapped / FILL_STEP));
	}
	return 0;
}

static int reserve_arena(struct store *store, const struct export_config *ec)
{
	int ret = fallocate(store->fd, 0, 0, (off_t)store->mapped) ? -errno : 0;

	if (ret)
		log_err("arena %s: no memory for %llu bytes: %s", ec->arena,
			(unsigned long long)store->mapped, strerror(-ret));
	return ret;
}

static void memory_close(struct store *store)
{
	if (store->base)
		munmap(store->base, store->mapped);
	if (store->fd >= 0)
		close(store->fd);
	store->base = NULL;
	store->fd = -1;
}

static int kept_open(struct store *store, const struct export_config *ec)
{
	int fresh = arena_open(store, ec), zero, ret;

	if (fresh < 0)
		return fresh;
	ret = reserve_arena(store, ec) ?: map_arena(store, ec);
	if (ret)
		return ret;
	zero = arena_attach(store, ec, fresh);
	if (zero < 0)
		return zero;
	log_info("export %s: arena %s %s, %llu bytes in pages of %llu KiB",
		 ec->name, ec->arena, zero ? "is new" : "keeps its contents",
		 (unsigned long long)store->size,
		 (unsigned long long)store->page_size >> 10);
	return fill_arena(store, ec, zero && !fresh);
}

static int memory_open(struct store *store, const struct export_config *ec)
{
	int ret;

	store->fd = -1;
	store->size = ec->size;
	store->physical_block = MEMORY_BLOCK;
	store->kept = ec->arena;
	if (ec->arena)
		ret = kept_open(store, ec);
	else
		ret = anonymous_open(store, ec) ?: map_arena(store, ec) ?:
		      fill_arena(store, ec, false);
	if (ret)
		memory_close(store);
	return ret;
}

static int memory_publish(struct store *store)
{
	return store->kept ? arena_publish(store) : 0;
}

static void memory_written_by(struct store *store)
{
	if (store->kept)
		arena_written_by(store);
}

const struct store_ops store_memory_ops = {
	.type = "memory",
	.open = memory_open,
	.publish = memory_publish,
	.written_by = memory_written_by,
	.close = memory_close,
};
