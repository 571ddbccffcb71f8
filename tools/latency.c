// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mean, percentiles and maximum of a histogram of latencies. Latencies are assumed to be
 * spread evenly inside a bucket. From 1 us on there are four buckets to a power of two, so
 * a percentile is wrong by a quarter at most, and usually by much less. The last bucket,
 * from half an hour on, is open; it is assumed to be as wide as a further bucket would be.
 */
#include "latency.h"

/**
 * latency_requests() - number of requests in a histogram
 * @h: histogram
 */
__u64 latency_requests(const struct rdmablk_latency_histogram *h)
{
	__u64 total = 0;
	unsigned int i;

	for (i = 0; i < RDMABLK_LATENCY_BUCKETS; i++)
		total += h->count[i];
	return total;
}

/**
 * latency_mean() - mean of the latencies, which is exact
 * @h: histogram, not empty
 *
 * Returns nanoseconds.
 */
double latency_mean(const struct rdmablk_latency_histogram *h)
{
	return (double)h->sum / latency_requests(h);
}

/**
 * latency_percentile() - the latency that @percent of the requests do not exceed
 * @h: histogram, not empty
 * @percent: of the requests, more than 0 to 100
 *
 * Returns nanoseconds.
 */
double latency_percentile(const struct rdmablk_latency_histogram *h, double percent)
{
	double left = latency_requests(h) * percent / 100;
	unsigned int i, last = 0;
	__u64 begin, end;

	for (i = 0; i < RDMABLK_LATENCY_BUCKETS; i++) {
		if (!h->count[i])
			continue;
		last = i;
		if (left <= h->count[i]) {
			begin = rdmablk_latency_begin(i);
			end = rdmablk_latency_begin(i + 1);
			return begin + left / h->count[i] * (end - begin);
		}
		left -= h->count[i];
	}
	/* Rounding errors may leave something over. */
	return rdmablk_latency_begin(last + 1);
}

/**
 * latency_max() - the upper limit of all latencies
 * @h: histogram, not empty
 *
 * Returns the end of the highest bucket, nanoseconds.
 */
__u64 latency_max(const struct rdmablk_latency_histogram *h)
{
	unsigned int i = RDMABLK_LATENCY_BUCKETS;

	while (i > 1 && !h->count[i - 1])
		i--;
	return rdmablk_latency_begin(i);
}

/**
 * latency_add() - add a histogram to another
 * @to: gets the requests of @from
 * @from: histogram
 */
void latency_add(struct rdmablk_latency_histogram *to,
		 const struct rdmablk_latency_histogram *from)
{
	unsigned int i;

	to->sum += from->sum;
	for (i = 0; i < RDMABLK_LATENCY_BUCKETS; i++)
		to->count[i] += from->count[i];
}

/**
 * latency_since() - the requests between two looks at a histogram
 * @now: histogram
 * @before: the same, earlier
 * @result: the difference
 *
 * Returns false when the histogram was reset in between.
 */
bool latency_since(const struct rdmablk_latency_histogram *now,
		   const struct rdmablk_latency_histogram *before,
		   struct rdmablk_latency_histogram *result)
{
	unsigned int i;

	if (now->sum < before->sum)
		return false;
	result->sum = now->sum - before->sum;
	for (i = 0; i < RDMABLK_LATENCY_BUCKETS; i++) {
		if (now->count[i] < before->count[i])
			return false;
		result->count[i] = now->count[i] - before->count[i];
	}
	return true;
}
