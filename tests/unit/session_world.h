/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel around a session, for the tests that compile a file which knows session.h. A
 * file is included behind it.
 */
#ifndef SESSION_WORLD_H
#define SESSION_WORLD_H

#include <linux/kernel.h>

#include "unit.h"

#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/workqueue.h>

typedef int16_t s16;
typedef int32_t s32;

#define HZ			1000
#define __aligned(n)		__attribute__((aligned(n)))
#define MSEC_PER_SEC		1000L
#define IB_DEVICE_NAME_MAX	64
#define U64_MAX			UINT64_MAX
#define BIT_ULL(nr)		(1ULL << (nr))
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define jiffies_to_msecs(j)	((unsigned int)(j))
#define spin_lock_irq		spin_lock_bh
#define spin_unlock_irq		spin_unlock_bh

struct delayed_work {
	struct work_struct work;
	unsigned long due;	/* jiffies */
};

struct blk_mq_tag_set {
	unsigned int queue_depth;
};

struct rdmablk_session;

static unsigned long jiffies = 1000;

static inline void session_log(const struct rdmablk_session *s, const char *fmt, ...)
{
	(void)s;
	(void)fmt;
}

#define RDMABLK_LOG_H
#define rdmablk_err(s, ...)	session_log(s, __VA_ARGS__)
#define rdmablk_info(s, ...)	session_log(s, __VA_ARGS__)
#define rdmablk_warn(s, ...)	session_log(s, __VA_ARGS__)
#define rdmablk_err_ratelimited(s, ...)	session_log(s, __VA_ARGS__)
#define rdmablk_info_ratelimited(s, ...)	session_log(s, __VA_ARGS__)

#include "../../kernel/session.h"

#endif
