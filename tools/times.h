/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_TIMES_H
#define RDMABLK_TOOLS_TIMES_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define TIMES_KEPT	65536	/* for percentiles */

/**
 * struct times - how long things have taken; zeroed memory: none
 * @ns: durations that are kept, nanoseconds; a sample if there are more than TIMES_KEPT
 * @kept: number of durations in @ns
 * @count: number of all durations
 * @sum: sum of all durations, nanoseconds
 * @min: shortest of all durations, nanoseconds
 * @max: longest of all durations, nanoseconds
 * @random: state of the generator that chooses the sample
 * @sorted: @ns is sorted
 */
struct times {
	__u64 *ns;
	size_t kept;
	__u64 count;
	__u64 sum;
	__u64 min;
	__u64 max;
	__u64 random;
	bool sorted;
};

__u64 times_now(void);
int times_add(struct times *times, __u64 ns);
__u64 times_average(const struct times *times);
__u64 times_percentile(struct times *times, double percent);
void times_free(struct times *times);

#endif /* RDMABLK_TOOLS_TIMES_H */
