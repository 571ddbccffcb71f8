/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_STATS_H
#define RDMABLK_TOOLS_STATS_H

#include <stddef.h>

#include "device.h"
#include "latency.h"

/* The operations that are timed separately. */
enum stats_op {
	STATS_READ,
	STATS_WRITE,
	STATS_FLUSH,
	STATS_DISCARD,
	STATS_OPS
};

extern const char *const stats_op_names[STATS_OPS];

/**
 * struct stats - the statistics of a disk, from RDMABLK_CMD_STATS_GET
 * @device: attributes, fewer than from RDMABLK_CMD_GET
 * @latency: by enum stats_op; empty while nothing has been timed
 */
struct stats {
	struct device device;
	struct rdmablk_latency_histogram latency[STATS_OPS];
};

/**
 * struct stats_list - the statistics of several disks, by number
 * @stats: array
 * @nr: its length
 */
struct stats_list {
	struct stats *stats;
	size_t nr;
};

int stats_get(struct nl *nl, __u32 index, struct stats_list *list,
	      struct nl_failure *failure);
int stats_dump(struct nl *nl, struct stats_list *list, struct nl_failure *failure);
void stats_list_clear(struct stats_list *list);

#endif /* RDMABLK_TOOLS_STATS_H */
