// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registration. Per session: its own domain, its own keys, an address that
 * cannot be guessed, no right to write for a session that only reads, and never
 * relaxed ordering, on which reads after writes across queue pairs depend.
 */
#include <errno.h>

#include "base/util.h"
#include "session/region.h"
#include "wire/mac.h"

#define IOVA_ALIGN	(2ULL << 20)
#define IOVA_BITS	62	/* leaves room for the length below 2^63 */

/**
 * region_iova - choose the remote address of a region
 * @from: its first byte
 * @page_size: of its memory, bytes, a power of two
 * @iova: result
 *
 * Random, but with the offset of the memory within its pages: adapters map large
 * pages as such only then.
 *
 * Return: 0 or -errno.
 */
int region_iova(const void *from, uint64_t page_size, uint64_t *iova)
{
	uint64_t align = page_size > IOVA_ALIGN ? page_size : IOVA_ALIGN;
	uint64_t n;
	int ret = mac_random(&n, sizeof(n));

	if (ret)
		return ret;
	n &= (1ULL << IOVA_BITS) - 1;
	*iova = (n & ~(align - 1)) | ((uintptr_t)from & (align - 1));
	return 0;
}

static int register_one(const struct regions *regions, const struct store *store,
			struct ibv_pd *pd, uint32_t index, unsigned int access)
{
	struct region *region = &regions->region[index];
	uint64_t off = index * regions->bytes;
	char *from = (char *)store->base + off;
	uint64_t len = min_u64(regions->bytes, regions->size - off);
	int ret = region_iova(from, store->page_size, &region->iova);

	if (ret)
		return ret;
	region->mr = ibv_reg_mr_iova(pd, from, len, region->iova, access);
	return region->mr ? 0 : -errno;
}

/**
 * region_register - register all regions of an export
 * @regions: @nr, @bytes and @size are set
 * @store: of the export
 * @pd: of the session
 * @writable: the session may write
 *
 * Blocks; for workers. region_deregister() is due either way.
 *
 * Return: 0, -ECANCELED or -errno.
 */
int region_register(struct regions *regions, const struct store *store,
		    struct ibv_pd *pd, bool writable)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

	if (writable)
		access |= IBV_ACCESS_REMOTE_WRITE;
	regions->region = calloc(regions->nr, sizeof(*regions->region));
	if (!regions->region)
		return -ENOMEM;
	for (uint32_t i = 0; i < regions->nr; i++) {
		int ret;

		if (atomic_load(&regions->cancel))
			return -ECANCELED;
		ret = register_one(regions, store, pd, i, access);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * region_deregister - undo region_register(), finished or not
 * @regions: no key of them is valid after success
 *
 * Blocks; for workers. May be called again after an error.
 *
 * Return: 0 or -errno.
 */
int region_deregister(struct regions *regions)
{
	for (uint32_t i = 0; regions->region && i < regions->nr; i++) {
		struct ibv_mr *mr = regions->region[i].mr;
		int ret = mr ? ibv_dereg_mr(mr) : 0;

		if (ret)
			return -ret;
		regions->region[i].mr = NULL;
	}
	free(regions->region);
	regions->region = NULL;
	return 0;
}
