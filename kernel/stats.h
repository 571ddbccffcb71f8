/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_STATS_H
#define RDMABLK_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include "uapi/rdmablk_netlink.h"

/**
 * struct rdmablk_stats - what one CPU has done; only ever grows
 * @ios: completed requests, index: 0 read, 1 write
 * @bytes: bytes, same index
 * @flushes: FLUSH requests
 * @discards: DISCARD, WRITE ZEROES and SECURE ERASE requests
 * @discard_bytes: their bytes
 * @errors: requests ended with an error
 * @work_requests: RDMA work requests of the completed requests
 * @busy: times a request was given back to the block layer, because of send slots, tags
 *	or memory, or between an error and the quiesce that follows it
 * @requeues: requests posted anew after the connection was lost
 */
struct rdmablk_stats {
	u64 ios[2];
	u64 bytes[2];
	u64 flushes;
	u64 discards;
	u64 discard_bytes;
	u64 errors;
	u64 work_requests;
	u64 busy;
	u64 requeues;
};

/**
 * struct rdmablk_transport_errors - why queue pairs have ended; only ever grows
 * @retry: the peer acknowledged nothing, RETRY_EXC_ERR
 * @rnr: the peer had no receive posted for too long, RNR_RETRY_EXC_ERR
 * @remote: the peer refused a work request: access, invalid request, operation error
 * @other: a local error
 */
struct rdmablk_transport_errors {
	atomic_t retry;
	atomic_t rnr;
	atomic_t remote;
	atomic_t other;
};

/* What is timed apart: index of struct rdmablk_latency.op */
enum rdmablk_timed {
	RDMABLK_TIMED_READ,
	RDMABLK_TIMED_WRITE,
	RDMABLK_TIMED_FLUSH,
	RDMABLK_TIMED_DISCARD,

	RDMABLK_TIMED_OPS
};

/**
 * struct rdmablk_latency - how long the requests that ended on one CPU have taken
 * @op: by enum rdmablk_timed
 */
struct rdmablk_latency {
	struct rdmablk_latency_histogram op[RDMABLK_TIMED_OPS];
};

/**
 * struct rdmablk_timing - the clock of a device
 * @on: requests are timed
 * @latency: what has been measured; NULL until it was first switched on, then there until
 *	the end
 */
struct rdmablk_timing {
	bool on;
	struct rdmablk_latency __percpu *latency;
};

void rdmablk_stats_sum(const struct rdmablk_stats __percpu *stats,
		       struct rdmablk_stats *sum);
int rdmablk_stats_timing_set(struct rdmablk_timing *t, bool on);
void rdmablk_stats_timing_exit(struct rdmablk_timing *t);
void rdmablk_stats_timing_add(struct rdmablk_timing *t, enum rdmablk_timed op, u64 begun);
void rdmablk_stats_timing_sum(const struct rdmablk_timing *t, enum rdmablk_timed op,
			      struct rdmablk_latency_histogram *sum);

/**
 * rdmablk_stats_timing_is_on() - whether requests are to be timed
 * @t: of the device
 *
 * Then rdmablk_stats_timing_add() may be called for those that begin now.
 */
static inline bool rdmablk_stats_timing_is_on(const struct rdmablk_timing *t)
{
	/* Pairs with the release in rdmablk_stats_timing_set(). */
	return smp_load_acquire(&t->on);
}

#endif /* RDMABLK_STATS_H */
