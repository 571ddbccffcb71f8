// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long things have taken: least, most and average of all times, percentiles of those that are
 * kept. Up to TIMES_KEPT times are all kept. Of more, each has the same chance to be kept.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "times.h"

/**
 * times_now() - the time, to begin and to end a duration
 *
 * Returns nanoseconds of CLOCK_MONOTONIC.
 */
__u64 times_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* A number from 0 to @below - 1; the same ones in each run */
static __u64 draw(struct times *times, __u64 below)
{
	times->random = times->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (times->random >> 16) % below;
}

/**
 * times_add() - add a duration
 * @times: durations of its kind
 * @ns: how long it took, nanoseconds
 *
 * Returns 0, or -1 when memory is short.
 */
int times_add(struct times *times, __u64 ns)
{
	__u64 at = times->count;

	if (!times->ns)
		times->ns = malloc(TIMES_KEPT * sizeof(*times->ns));
	if (!times->ns)
		return -1;
	if (!times->count || ns < times->min)
		times->min = ns;
	if (ns > times->max)
		times->max = ns;
	times->sum += ns;
	times->count++;
	times->sorted = false;
	if (times->kept < TIMES_KEPT)
		times->kept++;
	else
		at = draw(times, times->count);
	if (at < TIMES_KEPT)
		times->ns[at] = ns;
	return 0;
}

/**
 * times_average() - the average of all durations
 * @times: durations of one kind
 *
 * Returns nanoseconds; 0 without any.
 */
__u64 times_average(const struct times *times)
{
	return times->count ? times->sum / times->count : 0;
}

static int by_value(const void *a, const void *b)
{
	const __u64 *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/**
 * times_percentile() - a percentile of the durations that are kept
 * @times: durations of one kind
 * @percent: above 0, 100 at most
 *
 * Returns the least of those kept that @percent of these do not exceed, nanoseconds; 0
 * without any.
 */
__u64 times_percentile(struct times *times, double percent)
{
	size_t rank;

	if (!times->kept)
		return 0;
	if (!times->sorted)
		qsort(times->ns, times->kept, sizeof(*times->ns), by_value);
	times->sorted = true;
	/* 99.9 percent of 41000 are 40959, not 40960: 99.9 has no exact form */
	rank = (size_t)ceil((double)times->kept * percent / 100 - 0.000001);
	return times->ns[(rank ? rank : 1) - 1];
}

/**
 * times_free() - forget all durations
 * @times: durations of one kind; zeroed afterwards
 */
void times_free(struct times *times)
{
	free(times->ns);
	*times = (struct times){ 0 };
}
