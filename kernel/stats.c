// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters, and histograms of latencies.
 *
 * Counters are per CPU and always on. Latencies are measured for the devices for which the
 * administrator switches that on; the first time allocates the memory. For other devices
 * the data path has a branch, not taken, where it would read the clock. The branch is not a
 * static key: patching one waits for CPU hotplug, and that may wait for requests of any disk.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/string.h>
#include "stats.h"

/**
 * rdmablk_stats_sum() - add up the counters of all CPUs
 * @stats: counters
 * @sum: result
 */
void rdmablk_stats_sum(const struct rdmablk_stats __percpu *stats,
		       struct rdmablk_stats *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct rdmablk_stats *s = per_cpu_ptr(stats, cpu);

		sum->ios[READ] += s->ios[READ];
		sum->ios[WRITE] += s->ios[WRITE];
		sum->bytes[READ] += s->bytes[READ];
		sum->bytes[WRITE] += s->bytes[WRITE];
		sum->flushes += s->flushes;
		sum->discards += s->discards;
		sum->discard_bytes += s->discard_bytes;
		sum->errors += s->errors;
		sum->work_requests += s->work_requests;
		sum->busy += s->busy;
		sum->requeues += s->requeues;
	}
}

/**
 * rdmablk_stats_timing_set() - switch the measuring of a device on or off
 * @t: latencies of the device
 * @on: whether to measure requests from now on
 *
 * Results so far are kept.
 *
 * Context: may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rdmablk_stats_timing_set(struct rdmablk_timing *t, bool on)
{
	struct rdmablk_latency __percpu *latency;

	/* If several callers race, one installs its memory and the others free theirs. */
	if (on && !READ_ONCE(t->latency)) {
		latency = alloc_percpu(struct rdmablk_latency);
		if (!latency)
			return -ENOMEM;
		if (cmpxchg(&t->latency, NULL, latency))
			free_percpu(latency);
	}
	/* Pairs with the acquire in rdmablk_stats_timing_is_on(): the memory exists. */
	smp_store_release(&t->on, on);
	return 0;
}

/**
 * rdmablk_stats_timing_exit() - free the memory
 * @t: latencies of a device that no longer exists
 */
void rdmablk_stats_timing_exit(struct rdmablk_timing *t)
{
	free_percpu(t->latency);
	t->latency = NULL;
}

/**
 * rdmablk_stats_timing_add() - add the latency of a request that ends now
 * @t: latencies of the device
 * @op: kind of request
 * @begun: start of the request, by ktime_get_ns()
 *
 * Context: any that completes requests.
 */
void rdmablk_stats_timing_add(struct rdmablk_timing *t, enum rdmablk_timed op, u64 begun)
{
	u64 ns = ktime_get_ns() - begun;

	this_cpu_add(t->latency->op[op].sum, ns);
	this_cpu_inc(t->latency->op[op].count[rdmablk_latency_bucket(ns)]);
}

/**
 * rdmablk_stats_timing_sum() - add up the histograms of all CPUs
 * @t: latencies of a device
 * @op: kind of request
 * @sum: result; all zero if nothing was measured
 */
void rdmablk_stats_timing_sum(const struct rdmablk_timing *t, enum rdmablk_timed op,
			      struct rdmablk_latency_histogram *sum)
{
	struct rdmablk_latency __percpu *latency = READ_ONCE(t->latency);
	const struct rdmablk_latency_histogram *h;
	unsigned int i;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	if (!latency)
		return;
	for_each_possible_cpu(cpu) {
		h = &per_cpu_ptr(latency, cpu)->op[op];
		sum->sum += h->sum;
		for (i = 0; i < RDMABLK_LATENCY_BUCKETS; i++)
			sum->count[i] += h->count[i];
	}
}
