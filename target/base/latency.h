/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of durations: one bucket for each power of two. One thread adds to a
 * histogram, while others may look.
 */
#ifndef RDMABLKD_LATENCY_H
#define RDMABLKD_LATENCY_H

#include <stdint.h>

/* The last bucket has no end; the one before it ends at 2^35 ns, half a minute. */
#define LATENCY_BUCKETS	27U

/**
 * struct latency - durations; zeroed memory has none
 * @sum: of all of them, nanoseconds
 * @count: by duration; bucket i ends before latency_end(i)
 */
struct latency {
	uint64_t sum;
	uint64_t count[LATENCY_BUCKETS];
};

/* Return: the shortest duration that is too long for a bucket, nanoseconds; not of the last */
static inline uint64_t latency_end(unsigned int bucket)
{
	return 1024ULL << bucket;
}

uint64_t latency_now(void);
void latency_add(struct latency *l, uint64_t ns);

#endif
