/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_IBDEV_H
#define RDMABLK_IBDEV_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include "limits.h"

int rdmablk_ibdev_check(struct ib_device *dev, u32 port, const char **why);
void rdmablk_ibdev_limits(struct ib_device *dev, u32 port,
			  struct rdmablk_limits_in *in);
u32 rdmablk_ibdev_max_segment(struct ib_device *dev);
u8 rdmablk_ibdev_read_depth(struct ib_device *dev);

#endif /* RDMABLK_IBDEV_H */
