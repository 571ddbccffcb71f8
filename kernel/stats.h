/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_STATS_H
#define RDMABLK_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

/**
 * struct rdmablk_stats - what one CPU has completed; only ever grows
 * @ios: requests, index: 0 read, 1 write
 * @bytes: bytes, same index
 * @flushes: FLUSH requests
 * @discards: DISCARD, WRITE ZEROES and SECURE ERASE requests
 * @discard_bytes: their bytes
 * @errors: requests ended with an error
 * @work_requests: RDMA work requests of the completed requests
 */
struct rdmablk_stats {
	u64 ios[2];
	u64 bytes[2];
	u64 flushes;
	u64 discards;
	u64 discard_bytes;
	u64 errors;
	u64 work_requests;
};

void rdmablk_stats_sum(const struct rdmablk_stats __percpu *stats,
		       struct rdmablk_stats *sum);

#endif /* RDMABLK_STATS_H */
