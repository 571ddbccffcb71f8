// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of arenas. All of them exist before the first session. Later, a missing page would be
 * an error of the adapter, or a SIGBUS.
 *
 * Behind an arena that may grow, addresses are kept free. So it grows in place, and neither
 * registered memory nor the pointers of threads move.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/meminfo.h"
#include "base/util.h"
#include "store/arena.h"
#include "store/pages.h"
#include "wire/mac.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#define PAGE_2M		(2ULL << 20)
#define PAGE_1G		(1ULL << 30)
#define PLACE_TEXT	32	/* " on NUMA node 1023" */
#define STEP		(1ULL << 30)	/* bytes at a time; may be cancelled in between */
#define MOVE_STEP	(64ULL << 20)	/* the same, for base pages that may be moved */

static const struct page_kind {
	enum huge_pages setting;
	uint64_t size;
	unsigned int flags;
	const char *text;
} page_kinds[] = {
	{ HUGE_1G, PAGE_1G, MFD_HUGETLB | MFD_HUGE_1GB, "1 GiB pages" },
	{ HUGE_2M, PAGE_2M, MFD_HUGETLB | MFD_HUGE_2MB, "2 MiB pages" },
	{ HUGE_NO, 4096, 0, "base pages" },
};

/* Whether the node has room for the pages that the first @bytes of a file lack */
static bool has_room(const struct store *store, int fd, uint64_t bytes)
{
	struct stat st;
	uint64_t had;

	if (fstat(fd, &st))
		return false;
	had = (uint64_t)st.st_blocks * 512;
	return had >= bytes || bytes - had <= numa_room(&store->place);
}

/* Whether the host has room for the base pages that the first @bytes of a file lack */
static int check_memory(const struct store *store, const char *name, int fd, uint64_t bytes)
{
	struct stat st;
	uint64_t had;

	if (fstat(fd, &st))
		return -errno;
	had = (uint64_t)st.st_blocks * 512;
	return had >= bytes ? 0 : meminfo_check(name, bytes - had, store->overcommit);
}

/* Makes pages of a file exist, at their place. */
static int allocate(const struct store *store, const char *name, int fd,
		    uint64_t page_size, uint64_t from, uint64_t bytes)
{
	struct numa_saved saved;
	int ret = page_size < PAGE_2M ? check_memory(store, name, fd, from + bytes) : 0;

	if (ret)
		return ret;
	if (store->place.only && page_size < PAGE_2M && !has_room(store, fd, from + bytes))
		return -ENOMEM;
	numa_enter(&store->place, page_size >= PAGE_2M, &saved);
	ret = fallocate(fd, 0, (off_t)from, (off_t)bytes) ? -errno : 0;
	numa_leave(&saved);
	return ret;
}

/* Text for messages that names the node, if the export insists on one */
static const char *place_text(const struct store *store, char *text, size_t bytes)
{
	text[0] = '\0';
	if (store->place.only)
		snprintf(text, bytes, " on NUMA node %u", store->place.node);
	return text;
}

static int try_kind(struct store *store, const char *name,
		    const struct page_kind *kind)
{
	uint64_t bytes = round_up(store->size, kind->size);
	int fd = memfd_create(name, kind->flags | MFD_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = ftruncate(fd, (off_t)bytes) ? -errno :
	      allocate(store, name, fd, kind->size, 0, bytes);
	if (ret) {
		close(fd);
		return ret;
	}
	store->fd = fd;
	store->mapped = bytes;
	store->page_size = kind->size;
	return 0;
}

/**
 * pages_anonymous - allocate memory that ends with the process, for an arena of @store->size
 * @store: gets @fd, @mapped and @page_size, and an epoch
 * @ec: configuration of the export
 *
 * Return: 0 or -errno, logged.
 */
int pages_anonymous(struct store *store, const struct export_config *ec)
{
	char place[PLACE_TEXT];
	int ret = -ENOMEM;

	place_text(store, place, sizeof(place));
	for (size_t i = 0; i < ARRAY_SIZE(page_kinds); i++) {
		const struct page_kind *kind = &page_kinds[i];

		if (ec->huge_pages != HUGE_AUTO && ec->huge_pages != kind->setting)
			continue;
		/* Do not waste most of a 1 GiB page unless the administrator asks for it. */
		if (ec->huge_pages == HUGE_AUTO && store->size % kind->size &&
		    kind->setting == HUGE_1G)
			continue;
		ret = try_kind(store, ec->name, kind);
		if (!ret) {
			bool poor = kind->setting == HUGE_NO && ec->huge_pages == HUGE_AUTO;

			log_info("export %s: %llu bytes in %s%s%s", ec->name,
				 (unsigned long long)store->size, kind->text,
				 poor ? "; the host has no huge pages free" : "",
				 poor ? place : "");
			return mac_random(store->epoch, sizeof(store->epoch));
		}
	}
	if (ret != -E2BIG)	/* check_memory() has logged that */
		log_err("export %s: no memory for %llu bytes%s: %s", ec->name,
			(unsigned long long)store->size, place, strerror(-ret));
	return ret;
}

/**
 * pages_reserve - make sure that the file system has the memory of a kept arena
 * @store: with @fd and @mapped
 * @name: name of the export
 *
 * Return: 0 or -errno, logged.
 */
int pages_reserve(struct store *store, const char *name)
{
	int ret = allocate(store, name, store->fd, store->page_size, 0, store->mapped);
	char place[PLACE_TEXT];

	if (ret && ret != -E2BIG)
		log_err("export %s: its arena's file system has no room for %llu bytes%s: %s",
			name, (unsigned long long)store->mapped,
			place_text(store, place, sizeof(place)), strerror(-ret));
	return ret;
}

/* Maps @bytes of the file from offset @from on, at the same offset in the arena. */
static int map_at(const struct store *store, void *base, uint64_t from,
		  uint64_t bytes)
{
	char *at = (char *)base + from;

	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 store->fd, (off_t)from) == MAP_FAILED)
		return -errno;
	madvise(at, bytes, MADV_DONTFORK);
	madvise(at, bytes, MADV_DONTDUMP);
	if (store->page_size < PAGE_2M)
		madvise(at, bytes, MADV_HUGEPAGE);
	return 0;
}

/* Reserves addresses without memory, aligned to @align. */
static void *find_room(uint64_t bytes, uint64_t align)
{
	char *start, *base, *end;

	start = mmap(NULL, bytes + align, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	base = (char *)round_up((uint64_t)(uintptr_t)start, align);
	end = base + bytes;
	if (base > start)
		munmap(start, (size_t)(base - start));
	if (start + bytes + align > end)
		munmap(end, (size_t)(start + bytes + align - end));
	return base;
}

/**
 * pages_map - map an arena
 * @store: with @fd, @mapped and @page_size; gets its base
 * @name: name of the export
 * @room: bytes of addresses to reserve, a multiple of 1 GiB; 0: the arena never grows
 *
 * Return: 0 or -errno, logged.
 */
int pages_map(struct store *store, const char *name, uint64_t room)
{
	uint64_t align = store->page_size > PAGE_2M ? store->page_size : PAGE_2M;
	void *base = find_room(room ?: store->mapped, align);
	int ret = base ? map_at(store, base, 0, store->mapped) : -errno;

	if (!ret) {
		store->guard = arena_guard_add(base, room ?: store->mapped,
					       store->page_size);
		ret = store->guard ? 0 : -ENFILE;
	}
	if (!ret) {
		store->base = base;
		return 0;
	}
	log_err("export %s: cannot map %llu bytes: %s", name,
		(unsigned long long)store->mapped, strerror(-ret));
	if (base)
		munmap(base, room ?: store->mapped);
	return ret;
}

/*
 * Moves pages that are on the wrong node, which takes as long as copying them. While the
 * kernel looks for such pages, and before Linux 6.7 until it has moved them, no thread of the
 * process can map memory. So the steps are small. After each step the memory has its final
 * policy, and the kernel merges the mappings of such steps into one. It does not merge those
 * of huge pages of a pool, and the number of mappings is limited: there the steps are large.
 */
static int keep_place(const struct store *store, const char *name, uint64_t from)
{
	uint64_t step = store->page_size < PAGE_2M ? MOVE_STEP : STEP;

	if (!store->place.only)
		step = store->mapped;
	for (uint64_t off = from; off < store->mapped; off += step) {
		int ret;

		if (atomic_load(&store->cancelled))
			return -ECANCELED;
		ret = numa_keep(&store->place, (char *)store->base + off,
				min_u64(step, store->mapped - off));
		if (ret) {
			log_err("export %s: not all of its memory can be on NUMA node %u: %s",
				name, store->place.node, ret == -EIO ?
				"the node has too little" : strerror(-ret));
			return ret;
		}
	}
	return 0;
}

static int populate(const struct store *store, const char *name, uint64_t from)
{
	for (uint64_t off = from; off < store->mapped; off += STEP) {
		uint64_t len = min_u64(STEP, store->mapped - off);

		if (atomic_load(&store->cancelled))
			return -ECANCELED;
		if (madvise((char *)store->base + off, len, MADV_POPULATE_WRITE)) {
			int ret = -errno;

			log_err("export %s: no memory for its arena: %s", name,
				strerror(-ret));
			return ret;
		}
		if (store->mapped > 16 * STEP && off && !(off % (16 * STEP)))
			log_info("export %s: %llu of %llu GiB of memory there", name,
				 (unsigned long long)(off / STEP),
				 (unsigned long long)(store->mapped / STEP));
	}
	return 0;
}

/**
 * pages_populate - make every page exist, at its place
 * @store: mapped
 * @name: name of the export
 * @from: first offset, a multiple of the page size
 *
 * Return: 0 or -errno, logged.
 */
int pages_populate(const struct store *store, const char *name, uint64_t from)
{
	struct numa_saved saved;
	int ret;

	numa_enter(&store->place, store->page_size >= PAGE_2M, &saved);
	ret = populate(store, name, from);
	numa_leave(&saved);
	return ret ?: keep_place(store, name, from);
}

/**
 * pages_grow - add zeroed memory at the end of an arena
 * @store: mapped by pages_map(); @mapped grows
 * @name: name of the export
 * @room: as for pages_map()
 * @size: bytes that the arena must have
 *
 * The old part neither moves nor changes.
 *
 * Return: 0 or -errno, logged; after an error pages_shrink() frees the new part.
 */
int pages_grow(struct store *store, const char *name, uint64_t room, uint64_t size)
{
	uint64_t had = store->mapped, want = round_up(size, store->page_size);
	int ret;

	if (want <= had)
		return 0;
	if (want > room) {
		log_err("export %s: too few addresses were kept for %llu bytes; restart the daemon",
			name, (unsigned long long)size);
		return -ENOMEM;
	}
	ret = ftruncate(store->fd, (off_t)want) ? -errno :
	      allocate(store, name, store->fd, store->page_size, had, want - had);
	ret = ret ?: map_at(store, store->base, had, want - had);
	if (ret == -E2BIG)
		return ret;
	if (ret) {
		log_err("export %s: no memory to grow to %llu bytes: %s", name,
			(unsigned long long)size, strerror(-ret));
		return ret;
	}
	store->mapped = want;
	return pages_populate(store, name, had);
}

/**
 * pages_shrink - free the memory of a growth that has failed
 * @store: as pages_grow() has left it
 * @had: @mapped before pages_grow()
 *
 * No session knows the new part, so no adapter writes to it. Its addresses stay reserved.
 */
void pages_shrink(struct store *store, uint64_t had)
{
	int ret = ftruncate(store->fd, (off_t)had);

	(void)ret;	/* cannot fail: only this process has the file */
	store->mapped = had;
}

/**
 * pages_release - unmap an arena and close its file
 * @store: mapped or not
 * @room: as for pages_map()
 */
void pages_release(struct store *store, uint64_t room)
{
	arena_guard_del(store->guard);
	store->guard = NULL;
	if (store->base)
		munmap(store->base, room ?: store->mapped);
	if (store->fd >= 0)
		close(store->fd);
	store->base = NULL;
	store->fd = -1;
}
