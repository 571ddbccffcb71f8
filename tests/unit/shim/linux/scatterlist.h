/* SPDX-License-Identifier: GPL-2.0-only */
/* A table of segments, without its links. */
#ifndef SHIM_LINUX_SCATTERLIST_H
#define SHIM_LINUX_SCATTERLIST_H

#include <linux/types.h>

struct page;

struct scatterlist {
	struct page *page;
	unsigned int offset;
	unsigned int length;
	u64 dma_address;
	unsigned int dma_length;
};

#define sg_page(sg)		((sg)->page)
#define sg_dma_address(sg)	((sg)->dma_address)
#define sg_dma_len(sg)		((sg)->dma_length)

#endif
