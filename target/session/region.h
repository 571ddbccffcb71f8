/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registration of an export's arena for one session.
 */
#ifndef RDMABLKD_REGION_H
#define RDMABLKD_REGION_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "store/store.h"

/**
 * struct region - one region
 * @mr: registration; NULL: none
 * @iova: remote address
 */
struct region {
	struct ibv_mr *mr;
	uint64_t iova;
};

/**
 * struct regions - the regions of one session; zeroed: none
 * @region: @nr of them, or NULL
 * @nr: number of regions
 * @bytes: size of each region except the last
 * @size: size of all regions, bytes; the export may be larger, because it may have grown
 * @cancel: stop registering; set by the loop
 */
struct regions {
	struct region *region;
	uint32_t nr;
	uint64_t bytes;
	uint64_t size;
	atomic_bool cancel;
};

int region_iova(const void *from, uint64_t page_size, uint64_t *iova);
int region_register(struct regions *regions, const struct store *store,
		    struct ibv_pd *pd, bool writable);
int region_deregister(struct regions *regions);

#endif
