/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log lines about one device: "rdmablk: rdmablk0 10.0.0.1:20420/disk0: ...".
 * Messages that a peer can cause again and again use the _ratelimited form; the data path
 * uses tracepoints instead.
 */
#ifndef RDMABLK_LOG_H
#define RDMABLK_LOG_H

#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>

/**
 * struct rdmablk_log - limit of the log lines that a peer can cause about one device
 * @lock: protects @limit; taken in softirq, too
 * @limit: limit; the log says how many lines it has dropped
 */
struct rdmablk_log {
	spinlock_t lock;	/* limit */
	struct ratelimit_state limit;
};

void rdmablk_log_init(struct rdmablk_log *log);
bool rdmablk_log_may(struct rdmablk_log *log, const char *id);

#define rdmablk_err(s, fmt, ...)	pr_err("%s: " fmt, (s)->id, ##__VA_ARGS__)
#define rdmablk_info(s, fmt, ...)	pr_info("%s: " fmt, (s)->id, ##__VA_ARGS__)
#define rdmablk_warn(s, fmt, ...)	pr_warn("%s: " fmt, (s)->id, ##__VA_ARGS__)

#define rdmablk_log_limited(level, s, fmt, ...)				\
	do {								\
		typeof(s) _s = (s);					\
									\
		if (rdmablk_log_may(&_s->log, _s->id))			\
			level(_s, fmt, ##__VA_ARGS__);			\
	} while (0)
#define rdmablk_err_ratelimited(s, fmt, ...)				\
	rdmablk_log_limited(rdmablk_err, s, fmt, ##__VA_ARGS__)
#define rdmablk_info_ratelimited(s, fmt, ...)				\
	rdmablk_log_limited(rdmablk_info, s, fmt, ##__VA_ARGS__)
#define rdmablk_warn_ratelimited(s, fmt, ...)				\
	rdmablk_log_limited(rdmablk_warn, s, fmt, ##__VA_ARGS__)

#endif /* RDMABLK_LOG_H */
