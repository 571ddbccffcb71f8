// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long things take.
 */
#include <time.h>

#include "base/latency.h"

/**
 * latency_now - the time
 *
 * Return: monotonic nanoseconds, never 0.
 */
uint64_t latency_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec + 1;
}

/**
 * latency_add - add a duration
 * @l: histogram; only one thread adds to it
 * @ns: duration, nanoseconds
 */
void latency_add(struct latency *l, uint64_t ns)
{
	unsigned int i = 0;

	while (i < LATENCY_BUCKETS - 1 && ns >= latency_end(i))
		i++;
	__atomic_store_n(&l->count[i], l->count[i] + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&l->sum, l->sum + ns, __ATOMIC_RELAXED);
}
