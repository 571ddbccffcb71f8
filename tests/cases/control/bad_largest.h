/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target that grants the maximum of everything the protocol allows, for bad_target.c.
 * The reads that an initiator does by itself when it adds the disk return zeroes.
 */
#ifndef BAD_LARGEST_H
#define BAD_LARGEST_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "uapi/rdmablk_proto.h"

#define LARGEST		"largest"	/* what the names of its modes begin with */
#define WR_LARGEST	1000		/* and above: receives of commands */

uint64_t largest_features(const char *mode);
void largest_grant(const char *mode, const struct rdmablk_hello *hello,
		   struct rdmablk_grant *g);
void largest_regions(struct rdmablk_regions *r, uint32_t first);
void largest_limits(const char *mode, struct rdmablk_limits *l);
void largest_joined(struct ibv_pd *pd, struct ibv_qp *qp, unsigned int queue);
void largest_command(const struct ibv_wc *wc);
void largest_end(void);

#endif
