// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and hibernation.
 *
 * While the network devices are suspended, no request in flight and no held request can end:
 * the recovery has no network. A task or device that needs the disk on the way down would
 * wait for a network that resumes last. The freezer of processes does not prevent this: a
 * program that has submitted I/O and waits for it interruptibly lets the freezer go on.
 *
 * So this file freezes the request queues before the first of these devices is suspended, when
 * all of them and the recovery still work, and unfreezes them after the last device has
 * resumed. Requests in flight get time to end. If they do not end, because an outage holds
 * them, the suspend is refused.
 *
 * Tasks that poll for requests are stopped by then, so this file polls while it waits.
 *
 * ->prepare() of a device would be too early: later kernels may swap until the devices are
 * suspended, and Linux 7.3 makes room for the image of a hibernation after all ->prepare().
 *
 * The PM core suspends the children of a device before the device, hence a child of our own
 * for each RDMA device. An RDMA device of Soft-RoCE is no child of its network device. There
 * the PM core suspends the younger device first, which is our child. A device without a parent
 * freezes the queues when there is no RDMA device. A port of a bond may be younger than all of
 * ours: then requests in flight do not end, and the suspend is refused.
 */
#include <linux/blk-mq.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <rdma/ib_verbs.h>
#include "compat.h"
#include "log.h"
#include "poll.h"
#include "power.h"
#include "registry.h"
#include "session.h"

/* Time for requests in flight on a working connection, generous */
#define RDMABLK_FREEZE_TMO	(5 * HZ)

static struct platform_device *rdmablk_power_device;

/* If the disk is removed meanwhile, the removal has waited for its I/O: nothing to freeze. */
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

/* The first of our devices does it for all disks. */
static int rdmablk_power_suspend(struct device *dev)
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
	/* The PM core resumes all devices, and calls ->complete(). */
	return -EBUSY;
}

static const struct dev_pm_ops rdmablk_power_ops = {
	.suspend	= rdmablk_power_suspend,
	.freeze		= rdmablk_power_suspend,
	.poweroff	= rdmablk_power_suspend,
	.complete	= rdmablk_power_complete,
};

static struct platform_driver rdmablk_power_driver = {
	.driver = {
		.name	= "rdmablk",
		.pm	= &rdmablk_power_ops,
	},
};

static struct platform_device *rdmablk_power_device_new(struct device *parent, int id)
{
	const struct platform_device_info info = {
		.parent	= parent,
		.name	= "rdmablk",
		.id	= id,
	};

	return platform_device_register_full(&info);
}

/**
 * rdmablk_power_add() - suspend the disks before an RDMA device
 * @ibdev: the device
 *
 * Return: what rdmablk_power_remove() takes, or an error pointer.
 */
struct platform_device *rdmablk_power_add(struct ib_device *ibdev)
{
	return rdmablk_power_device_new(&ibdev->dev, PLATFORM_DEVID_AUTO);
}

/**
 * rdmablk_power_remove() - undo rdmablk_power_add()
 * @child: its result
 */
void rdmablk_power_remove(struct platform_device *child)
{
	platform_device_unregister(child);
}

/**
 * rdmablk_power_init() - register for suspends
 *
 * Return: 0 or a negative errno.
 */
int rdmablk_power_init(void)
{
	int ret = platform_driver_register(&rdmablk_power_driver);

	if (ret)
		return ret;
	rdmablk_power_device = rdmablk_power_device_new(NULL, PLATFORM_DEVID_NONE);
	if (!IS_ERR(rdmablk_power_device))
		return 0;
	platform_driver_unregister(&rdmablk_power_driver);
	return PTR_ERR(rdmablk_power_device);
}

/**
 * rdmablk_power_exit() - undo rdmablk_power_init()
 */
void rdmablk_power_exit(void)
{
	platform_device_unregister(rdmablk_power_device);
	platform_driver_unregister(&rdmablk_power_driver);
}
