/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel around a session, for tests of files that include session.h: a clock that the test
 * moves, and works that run when the test says so. The test includes the tested file after this
 * one.
 */
#ifndef SESSION_WORLD_H
#define SESSION_WORLD_H

#include <linux/kernel.h>

#include "unit.h"

#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/mutex.h>
#include <linux/workqueue.h>

typedef int16_t s16;
typedef int32_t s32;

#define HZ			1000
#define __aligned(n)		__attribute__((aligned(n)))
#define MSEC_PER_SEC		1000L
#define MAX_JIFFY_OFFSET	((unsigned long)(LONG_MAX / 2 - 1))
#define IB_DEVICE_NAME_MAX	64
#define U8_MAX			UINT8_MAX
#define U64_MAX			UINT64_MAX
#define BIT_ULL(nr)		(1ULL << (nr))
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define time_in_range(a, b, c)	((long)((a) - (b)) >= 0 && (long)((c) - (a)) >= 0)
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define jiffies_to_msecs(j)	((unsigned int)(j))
#define jiffies64_to_msecs(j)	((u64)(j))
#define clamp(v, low, high)	min(max(v, low), high)
#define min_not_zero(a, b)	(!(a) ? (b) : !(b) ? (a) : min(a, b))
#define memset_startat(p, v, member)	\
	memset((char *)(p) + offsetof(typeof(*(p)), member), v, \
	       sizeof(*(p)) - offsetof(typeof(*(p)), member))
#define fallthrough		__attribute__((__fallthrough__))
#define spin_lock_irq		spin_lock_bh
#define spin_unlock_irq		spin_unlock_bh

#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define INIT_DELAYED_WORK(w, f)	INIT_WORK(&(w)->work, f)

struct delayed_work {
	struct work_struct work;
	unsigned long due;	/* jiffies */
	struct workqueue_struct *wq;	/* queue of its last queueing */
};

struct request_queue {
	unsigned int quiesced, timeout;
};

struct gendisk {
	struct request_queue *queue;
	struct mutex open_mutex;	/* held by opens, closes and scans */
};

struct blk_mq_tag_set {
	unsigned int queue_depth, timeout;
};

struct rdmablk_session;

static unsigned long jiffies = 1000;

static inline __attribute__((__format__(__printf__, 2, 3)))
void session_log(const struct rdmablk_session *s, const char *fmt, ...)
{
	(void)s;
	(void)fmt;
}

/* The last line without a limit. A target must not be able to cause one again and again. */
static const char *logged_always;
#define session_log_always(s, fmt, ...)						\
	(session_log(s, fmt, ##__VA_ARGS__), logged_always = (fmt))

/* Only a line that has @part, if it is not NULL, has no limit. */
static inline void log_is_limited(const char *part)
{
	if (logged_always && (!part || !strstr(logged_always, part)))
		fail_msg("a target can fill the log with: %s", logged_always);
	logged_always = NULL;
}

#define RDMABLK_LOG_H

struct rdmablk_log {
	int none;
};

#define rdmablk_log_init(log)	((void)(log))
#define rdmablk_err(s, ...)	session_log_always(s, __VA_ARGS__)
#define rdmablk_info(s, ...)	session_log_always(s, __VA_ARGS__)
#define rdmablk_warn(s, ...)	session_log_always(s, __VA_ARGS__)
#define rdmablk_err_ratelimited(s, ...)	session_log(s, __VA_ARGS__)
#define rdmablk_info_ratelimited(s, ...)	session_log(s, __VA_ARGS__)
#define rdmablk_warn_ratelimited(s, ...)	session_log(s, __VA_ARGS__)

#include "../../kernel/session.h"

static inline bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *w,
				      unsigned long delay)
{
	if (w->work.queued)
		return false;
	w->due = jiffies + delay;
	w->wq = wq;
	return queue_work(wq, &w->work);
}

static inline bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *w,
				    unsigned long delay)
{
	bool was = w->work.queued;

	w->due = jiffies + delay;
	w->wq = wq;
	queue_work(wq, &w->work);
	return was;
}

static inline bool cancel_delayed_work_sync(struct delayed_work *w)
{
	return cancel_work_sync(&w->work);
}

/* Runs the work now, even if it is not due. */
static inline bool flush_delayed_work(struct delayed_work *w)
{
	if (!cancel_work_sync(&w->work))
		return false;
	w->work.fn(&w->work);
	return true;
}

/* Moves the clock to when the work is due, and runs it. */
static inline void unit_run(struct delayed_work *w)
{
	assert_true(w->work.queued);
	if (time_before(jiffies, w->due))
		jiffies = w->due;
	flush_delayed_work(w);
}

/* Return: jiffies until the work is due; -1: it is not queued. */
static inline long unit_due(const struct delayed_work *w)
{
	return w->work.queued ? (long)(w->due - jiffies) : -1;
}

#endif
