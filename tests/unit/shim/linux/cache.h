/* SPDX-License-Identifier: GPL-2.0-only */
/* The alignment of members does not matter here. */
#ifndef SHIM_LINUX_CACHE_H
#define SHIM_LINUX_CACHE_H

#define ____cacheline_aligned_in_smp

#endif
