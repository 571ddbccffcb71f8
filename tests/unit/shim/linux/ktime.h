/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_KTIME_H
#define SHIM_LINUX_KTIME_H

#include <time.h>
#include <linux/types.h>

static inline u64 ktime_get_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

#endif /* SHIM_LINUX_KTIME_H */
