// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and hibernation.
 *
 * From the moment the network devices are suspended until they are resumed nothing
 * that is in flight can end, and nothing that is held: the recovery has no network.
 * Whoever needs the disk on the way down would wait for what comes up last. A program
 * that has submitted its I/O and waits for the outcome interruptibly does not keep the
 * freezer of processes from going on.
 *
 * So the queues are frozen before the first device is suspended, when all devices and
 * the recovery still work, and unfrozen after the last one has been resumed. What is
 * in flight has time to end. When it does not, because it is held in an outage, the
 * suspend is refused.
 *
 * Who polls for a request has been stopped by then, so whoever waits for these looks
 * himself.
 *
 * ->prepare() of any device comes before ->suspend() of all, hence a device of our own.
 */
#include <linux/blk-mq.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include "compat.h"
#include "log.h"
#include "poll.h"
#include "power.h"
#include "registry.h"
#include "session.h"

/* For what is in flight on a connection that works, generously */
#define RDMABLK_FREEZE_TMO	(5 * HZ)

static struct platform_device *rdmablk_power_device;

/* Whoever removes the disk meanwhile has waited for its I/O: nothing is left to freeze. */
static void rdmablk_power_freeze_start(struct rdmablk_session *s)
{
	mutex_lock(&s->disk_mutex);
	if (s->disk && !s->frozen) {
		blk_freeze_queue_start(s->disk->queue);
		s->frozen = true;
	}
	mutex_unlock(&s->disk_mutex);
}

static bool rdmablk_power_settle(struct rdmablk_session *s, unsigned long until)
{
	long left;

	do {
		rdmablk_poll_all(s->path.hwq, s->nr_queues);
		left = max((long)(until - jiffies), 1L);
		if (blk_mq_freeze_queue_wait_timeout(s->disk->queue,
						     s->path.nr_poll ? 1 : left))
			return true;
	} while (time_before(jiffies, until));
	return false;
}

static bool rdmablk_power_freeze_wait(struct rdmablk_session *s, unsigned long until)
{
	bool idle = true;

	mutex_lock(&s->disk_mutex);
	if (s->disk && s->frozen)
		idle = rdmablk_power_settle(s, until);
	mutex_unlock(&s->disk_mutex);
	if (!idle)
		rdmablk_warn(s, "no suspend while requests are held or take long\n");
	return idle;
}

static void rdmablk_power_unfreeze(struct rdmablk_session *s)
{
	mutex_lock(&s->disk_mutex);
	if (s->disk && s->frozen)
		rdmablk_compat_unfreeze_queue(s->disk->queue);
	s->frozen = false;
	mutex_unlock(&s->disk_mutex);
}

static void rdmablk_power_complete(struct device *dev)
{
	struct rdmablk_session *s = NULL;

	while (rdmablk_registry_step(&s))
		rdmablk_power_unfreeze(s);
}

static int rdmablk_power_prepare(struct device *dev)
{
	unsigned long until = jiffies + RDMABLK_FREEZE_TMO;
	struct rdmablk_session *s = NULL;
	bool idle = true;

	while (rdmablk_registry_step(&s))
		rdmablk_power_freeze_start(s);
	while (idle && rdmablk_registry_step(&s))
		idle = rdmablk_power_freeze_wait(s, until);
	if (idle)
		return 0;
	rdmablk_session_put(s);
	/* ->complete() is called for those only that agreed. */
	rdmablk_power_complete(dev);
	return -EBUSY;
}

static const struct dev_pm_ops rdmablk_power_ops = {
	.prepare	= rdmablk_power_prepare,
	.complete	= rdmablk_power_complete,
};

static struct platform_driver rdmablk_power_driver = {
	.driver = {
		.name	= "rdmablk",
		.pm	= &rdmablk_power_ops,
	},
};

/**
 * rdmablk_power_init() - have a say in suspends
 *
 * Return: 0 or a negative errno.
 */
int rdmablk_power_init(void)
{
	int ret = platform_driver_register(&rdmablk_power_driver);

	if (ret)
		return ret;
	rdmablk_power_device = platform_device_register_simple("rdmablk",
							       PLATFORM_DEVID_NONE,
							       NULL, 0);
	if (!IS_ERR(rdmablk_power_device))
		return 0;
	platform_driver_unregister(&rdmablk_power_driver);
	return PTR_ERR(rdmablk_power_device);
}

/**
 * rdmablk_power_exit() - the opposite
 */
void rdmablk_power_exit(void)
{
	platform_device_unregister(rdmablk_power_device);
	platform_driver_unregister(&rdmablk_power_driver);
}
