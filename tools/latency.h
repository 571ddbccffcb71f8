/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_LATENCY_H
#define RDMABLK_TOOLS_LATENCY_H

#include <stdbool.h>
#include <linux/types.h>

#include "rdmablk_netlink.h"

__u64 latency_requests(const struct rdmablk_latency_histogram *h);
double latency_mean(const struct rdmablk_latency_histogram *h);
double latency_percentile(const struct rdmablk_latency_histogram *h, double percent);
__u64 latency_max(const struct rdmablk_latency_histogram *h);
void latency_add(struct rdmablk_latency_histogram *to,
		 const struct rdmablk_latency_histogram *from);
bool latency_since(const struct rdmablk_latency_histogram *now,
		   const struct rdmablk_latency_histogram *before,
		   struct rdmablk_latency_histogram *result);

#endif /* RDMABLK_TOOLS_LATENCY_H */
