/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_STATS_H
#define RDMABLK_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include "uapi/rdmablk_netlink.h"

/**
 * struct rdmablk_stats - counters of one CPU; they only grow
 * @ios: completed requests, index: 0 read, 1 write
 * @bytes: bytes of those, same index
 * @flushes: FLUSH requests
 * @discards: DISCARD, WRITE ZEROES and SECURE ERASE requests
 * @discard_bytes: bytes of @discards
 * @errors: requests that ended with an error
 * @work_requests: RDMA work requests of completed requests
 * @busy: how often a request went back to the block layer, because it found no send slot, tag
 *	or memory, or because it came just before the recovery quiesced the queue
 * @requeues: requests posted again after the connection was lost
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
 * struct rdmablk_transport_errors - reasons why queue pairs ended; the counters only grow
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

/* Kinds of requests with separate latencies: index of struct rdmablk_latency.op */
enum rdmablk_timed {
	RDMABLK_TIMED_READ,
	RDMABLK_TIMED_WRITE,
	RDMABLK_TIMED_FLUSH,
	RDMABLK_TIMED_DISCARD,

	RDMABLK_TIMED_OPS
};

/**
 * struct rdmablk_latency - latencies of the requests that ended on one CPU
 * @op: histograms, by enum rdmablk_timed
 */
struct rdmablk_latency {
	struct rdmablk_latency_histogram op[RDMABLK_TIMED_OPS];
};

/**
 * struct rdmablk_timing - latencies of a device
 * @on: requests are measured
 * @latency: results; NULL until @on is first set, then kept until the device ends
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
 * rdmablk_stats_timing_is_on() - whether to measure the requests that begin now
 * @t: latencies of the device
 *
 * If true, rdmablk_stats_timing_add() may be called for these requests.
 */
static inline bool rdmablk_stats_timing_is_on(const struct rdmablk_timing *t)
{
	/* Pairs with the release in rdmablk_stats_timing_set(). */
	return smp_load_acquire(&t->on);
}

#endif /* RDMABLK_STATS_H */
