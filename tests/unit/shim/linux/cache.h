/* SPDX-License-Identifier: GPL-2.0-only */
/* Where members lie is for the kernel to know. */
#ifndef SHIM_LINUX_CACHE_H
#define SHIM_LINUX_CACHE_H

#define ____cacheline_aligned_in_smp

#endif
