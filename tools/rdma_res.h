/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_RDMA_RES_H
#define RDMABLK_TOOLS_RDMA_RES_H

#include <stdbool.h>

/**
 * struct rdma_res - a queue pair or a protection domain of this host
 * @dev: its RDMA device
 * @owner: module that has made it; rdma_cm for many queue pairs; empty: a program
 * @is_pd: protection domain
 * @gsi: queue pair 1, by which all connections of a port are made
 * @broken: queue pair in the error state
 */
struct rdma_res {
	char dev[64];
	char owner[64];
	bool is_pd;
	bool gsi;
	bool broken;
};

typedef void (*rdma_res_fn)(const struct rdma_res *res, void *context);

int rdma_res_walk(rdma_res_fn fn, void *context);

#endif /* RDMABLK_TOOLS_RDMA_RES_H */
