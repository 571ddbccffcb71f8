/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include <linux/types.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_down(x, y)	((x) & ~((typeof(x))(y) - 1))

#define container_of(ptr, type, member)					\
	((type *)((char *)(ptr) - offsetof(type, member)))

#define unlikely(x)		(x)
#define likely(x)		(x)

/* Evaluate their arguments once, as the kernel's do. */
#define min_t(type, a, b)	({ type a_ = (a), b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b)	({ type c_ = (a), d_ = (b); c_ > d_ ? c_ : d_; })
#define max(a, b)		max_t(typeof(a), a, b)
#define min(a, b)		min_t(typeof(a), a, b)

#endif
