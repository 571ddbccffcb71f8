/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log lines about one device: "rdmablk: rdmablk0 10.0.0.1:20420/disk0: ...".
 * Messages that a peer can cause again and again use the _ratelimited form; the data path
 * uses tracepoints instead.
 */
#ifndef RDMABLK_LOG_H
#define RDMABLK_LOG_H

#include <linux/printk.h>

#define rdmablk_err(s, fmt, ...)	pr_err("%s: " fmt, (s)->id, ##__VA_ARGS__)
#define rdmablk_info(s, fmt, ...)	pr_info("%s: " fmt, (s)->id, ##__VA_ARGS__)
#define rdmablk_warn(s, fmt, ...)	pr_warn("%s: " fmt, (s)->id, ##__VA_ARGS__)
#define rdmablk_err_ratelimited(s, fmt, ...)				\
	pr_err_ratelimited("%s: " fmt, (s)->id, ##__VA_ARGS__)
#define rdmablk_info_ratelimited(s, fmt, ...)				\
	pr_info_ratelimited("%s: " fmt, (s)->id, ##__VA_ARGS__)
#define rdmablk_warn_ratelimited(s, fmt, ...)				\
	pr_warn_ratelimited("%s: " fmt, (s)->id, ##__VA_ARGS__)

#endif /* RDMABLK_LOG_H */
