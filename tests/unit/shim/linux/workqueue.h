/* SPDX-License-Identifier: GPL-2.0-only */
/* A queued work runs when the test runs it. */
#ifndef SHIM_LINUX_WORKQUEUE_H
#define SHIM_LINUX_WORKQUEUE_H

#include <linux/types.h>

struct workqueue_struct;

struct work_struct {
	void (*fn)(struct work_struct *work);
	bool queued;
};

#define INIT_WORK(w, f)	do { (w)->fn = (f); (w)->queued = false; } while (0)

static inline bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	bool was = work->queued;

	(void)wq;
	work->queued = true;
	return !was;
}

static inline bool cancel_work_sync(struct work_struct *work)
{
	bool was = work->queued;

	work->queued = false;
	return was;
}

#endif
