/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include <linux/types.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

/* Evaluate their arguments once, as the kernel's do. */
#define min_t(type, a, b)	({ type a_ = (a), b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b)	({ type c_ = (a), d_ = (b); c_ > d_ ? c_ : d_; })

#endif
