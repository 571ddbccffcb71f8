/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NUMA: which node the memory of an export is on, and how it gets there.
 */
#ifndef RDMABLKD_NUMA_H
#define RDMABLKD_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

#define NUMA_WORDS	(CONFIG_NODES / (8 * sizeof(unsigned long)))

/**
 * struct numa_place - where memory shall be; zeroed: anywhere
 * @placed: on @node
 * @only: on no other node; false: on another node if @node has too little memory
 * @node: number of the node
 */
struct numa_place {
	bool placed;
	bool only;
	unsigned int node;
};

/**
 * struct numa_saved - the memory policy that numa_enter() has replaced
 * @changed: numa_enter() has set another policy
 * @mode: mode of the replaced policy
 * @nodes: nodes of the replaced policy, a bit each
 */
struct numa_saved {
	bool changed;
	int mode;
	unsigned long nodes[NUMA_WORDS];
};

extern const char *numa_sysfs;

int numa_find(const struct config *daemon, const struct export_config *ec,
	      struct numa_place *place);
uint64_t numa_room(const struct numa_place *place);
void numa_enter(const struct numa_place *place, bool huge, struct numa_saved *saved);
void numa_leave(const struct numa_saved *saved);
int numa_keep(const struct numa_place *place, void *from, size_t bytes);

#endif
