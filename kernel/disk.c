// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gendisk: its limits, its capacity, and when it may be opened.
 *
 * The disk has no major number of its own (disk->major stays 0): LVM accepts only a fixed
 * list of driver names, and the extended range that the block layer hands out.
 *
 * The disk advertises what the target has. A memory store has no volatile write cache: the
 * block layer completes FLUSH by itself and drops FUA. Operations that the disk does not
 * advertise never reach the driver.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include "compat.h"
#include "disk.h"
#include "log.h"
#include "session.h"

/* A target may announce growth again and again; each change is an event. In jiffies */
#define RDMABLK_DISK_PAUSE	(HZ / 10)

/*
 * Called with disk->open_mutex held. The move to "deleting" holds it, too, unless the
 * administrator forces the removal.
 */
static int rdmablk_disk_may_open(struct gendisk *disk)
{
	struct rdmablk_session *s = disk->private_data;

	return rdmablk_session_state(s) == RDMABLK_DEV_DELETING ? -ENXIO : 0;
}

RDMABLK_DISK_OPEN(rdmablk_disk_open, rdmablk_disk_may_open)

static void rdmablk_disk_release_last(struct gendisk *disk)
{
	rdmablk_session_put(disk->private_data);
}

static const struct block_device_operations rdmablk_disk_ops = {
	.owner		= THIS_MODULE,
	.open		= rdmablk_disk_open,
	.free_disk	= rdmablk_disk_release_last,
};

/*
 * Longer than the transport retries: (retries + 1) times four times the timeout, the most
 * that the specification allows a device, plus a second. And not shorter than the default of
 * the block layer, because requests queue.
 */
static unsigned int rdmablk_disk_timeout(const struct rdmablk_session *s)
{
	u64 ns = 4096ULL << s->longest_ack;

	return max_t(unsigned long, 30 * HZ, nsecs_to_jiffies(7 * 4 * ns) + HZ);
}

/**
 * rdmablk_disk_retime() - adapt the timeout of requests to the connection of a login
 * @s: session with a disk that is not live yet
 *
 * The path to the target, or the RDMA device, may not be the one of the last login. Without a
 * change, a timeout that the administrator has set in sysfs stays.
 *
 * Takes no mutex: a suspend holds @s->disk_mutex while it waits for I/O that this login is to
 * bring back.
 */
void rdmablk_disk_retime(struct rdmablk_session *s)
{
	unsigned int tmo = rdmablk_disk_timeout(s);

	if (tmo == s->tag_set.timeout)
		return;
	s->tag_set.timeout = tmo;
	spin_lock_irq(&s->lock);
	/* rdmablk_io_tmo_hurry() sets "hurry" before it takes the lock. */
	if (!READ_ONCE(s->hurry))
		blk_queue_rq_timeout(s->disk->queue, tmo);
	spin_unlock_irq(&s->lock);
}

static int rdmablk_disk_alloc_tags(struct rdmablk_session *s)
{
	struct blk_mq_tag_set *set = &s->tag_set;

	set->ops = &rdmablk_dispatch_ops;
	set->nr_hw_queues = s->nr_queues;
	set->nr_maps = s->path.nr_poll ? HCTX_MAX_TYPES : 1;
	set->queue_depth = s->login.offer.grant.queue_depth;
	set->numa_node = ibdev_to_node(s->pd->device);
	set->cmd_size = sizeof(struct rdmablk_request);
	/*
	 * When a processor goes offline, it need not wait for the requests of its hardware
	 * queue, which an outage may hold. That wait is for devices whose interrupts go with
	 * their processors. The interrupts of RDMA devices move to other processors, and so
	 * do softirqs and works.
	 *
	 * For a single hardware queue the block layer would choose mq-deadline. The target's
	 * disk, if it has one, orders the requests.
	 */
	set->flags = RDMABLK_TAGSET_FLAGS | BLK_MQ_F_STACKING |
		     BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	set->driver_data = &s->path;
	set->timeout = rdmablk_disk_timeout(s);
	return blk_mq_alloc_tag_set(set);
}

/* The block layer counts the bytes of a request in 32 bits. */
static unsigned int rdmablk_disk_sectors(u64 bytes)
{
	return min_t(u64, bytes, round_down(U32_MAX, SZ_1M)) >> SECTOR_SHIFT;
}

static void rdmablk_disk_limits(const struct rdmablk_session *s,
				struct rdmablk_disk_limits *lim)
{
	const struct rdmablk_wire_grant *g = &s->login.offer.grant;
	const struct rdmablk_wire_limits *c = &s->login.offer.cmds;

	*lim = (struct rdmablk_disk_limits) {
		.logical_block	= g->logical_block,
		.physical_block	= g->physical_block,
		/* Read-ahead grows with these; a target must not make it gigabytes. */
		.io_min		= min_t(u32, g->io_min ?: g->physical_block, SZ_1M),
		.io_opt		= min_t(u32, g->io_opt, SZ_16M),
		.max_sectors	= s->login.offer.limits.max_io_bytes >> SECTOR_SHIFT,
		.max_segments	= s->login.offer.limits.max_segments,
		.max_segment_size = s->path.max_segment,
		.max_discard_sectors = rdmablk_disk_sectors(c->max_discard),
		.discard_granularity = c->discard_granularity,
		.discard_alignment = c->discard_alignment,
		.max_zeroes_sectors = rdmablk_disk_sectors(c->max_zeroes),
		.max_erase_sectors = rdmablk_disk_sectors(c->max_erase),
		.rotational	= g->flags & RDMABLK_GRANT_ROTATIONAL,
		.cache		= g->flags & RDMABLK_GRANT_CACHE,
	};
	/*
	 * A power of two that divides the region serves as well as the region. A single region
	 * has no boundary to cross, and with a chunk the block layer checks each small request
	 * once more. So a disk that starts with one region can only reconnect with one:
	 * rdmablk_login_compare() refuses two, because larger requests may be queued by then.
	 * And no target lets an export grow beyond its region while a session uses it.
	 */
	if (g->nr_regions > 1)
		lim->chunk_sectors = min_t(u64, g->region_bytes >> SECTOR_SHIFT, 1U << 31);
}

/**
 * rdmablk_disk_alloc() - allocate the disk of a granted session
 * @s: session with grant, limits and hardware queues
 *
 * The disk is not visible yet.
 *
 * Return: 0 or a negative errno.
 */
int rdmablk_disk_alloc(struct rdmablk_session *s)
{
	struct rdmablk_disk_limits lim;
	struct gendisk *disk;
	int ret;

	ret = rdmablk_disk_alloc_tags(s);
	if (ret)
		return ret;
	rdmablk_disk_limits(s, &lim);
	disk = rdmablk_compat_alloc_disk(&s->tag_set, &lim, &s->path);
	if (IS_ERR(disk)) {
		blk_mq_free_tag_set(&s->tag_set);
		return PTR_ERR(disk);
	}
	disk->fops = &rdmablk_disk_ops;
	disk->private_data = s;
	strscpy(disk->disk_name, s->name, sizeof(disk->disk_name));
	set_capacity(disk, s->login.offer.grant.size >> SECTOR_SHIFT);
	if (s->login.offer.grant.flags & RDMABLK_GRANT_READ_ONLY)
		set_disk_ro(disk, true);
	/* Others may look for the disk already: a suspend, netlink commands, a reboot. */
	mutex_lock(&s->disk_mutex);
	s->disk = disk;
	mutex_unlock(&s->disk_mutex);
	return 0;
}

static void rdmablk_disk_resize(struct rdmablk_session *s)
{
	struct rdmablk_agreed a;
	u64 sectors;

	rdmablk_session_agreed(s, &a);
	sectors = a.grant.size >> SECTOR_SHIFT;
	if (get_capacity(s->disk) == sectors)
		return;
	rdmablk_info_ratelimited(s, "size is now %llu bytes\n", a.grant.size);
	set_capacity_and_notify(s->disk, sectors);
}

/*
 * If the first scan for partitions has failed, the next open scans again. The change event
 * makes udev open the disk. This work does not scan by itself: the connection may be lost
 * again, and the scan does I/O under open_mutex.
 */
static void rdmablk_disk_rescan(struct rdmablk_session *s)
{
	bool scan;

	spin_lock_irq(&s->lock);
	scan = s->unscanned && READ_ONCE(s->added) && s->outage.phase == RDMABLK_PHASE_UP;
	if (scan)
		s->unscanned = false;
	spin_unlock_irq(&s->lock);
	if (!scan)
		return;
	set_bit(GD_NEED_PART_SCAN, &s->disk->state);
	kobject_uevent(&disk_to_dev(s->disk)->kobj, KOBJ_CHANGE);
}

/**
 * rdmablk_disk_work() - the connection is back: tell the block layer and user space what has
 *	changed
 * @work: disk_work of a session whose disk has been added, or will be
 *
 * This is not part of the recovery's work: the event waits for a lock. The lock's holder may
 * wait for memory, and the memory for I/O that is held if the connection is lost again.
 */
void rdmablk_disk_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(to_delayed_work(work),
						 struct rdmablk_session, disk_work);

	WRITE_ONCE(s->disk_looked, jiffies);
	rdmablk_disk_resize(s);
	rdmablk_disk_rescan(s);
}

/**
 * rdmablk_disk_look() - run the disk's work, because a connection may have changed something
 * @s: session whose disk has been added, or will be
 */
void rdmablk_disk_look(struct rdmablk_session *s)
{
	unsigned long next = READ_ONCE(s->disk_looked) + RDMABLK_DISK_PAUSE;
	unsigned long flags, now = jiffies;

	/* Queued under the lock: the move to "deleting" cancels the work afterwards. */
	spin_lock_irqsave(&s->lock, flags);
	if (s->state != RDMABLK_DEV_DELETING)
		queue_delayed_work(rdmablk_login_wq, &s->disk_work,
				   time_in_range(now, s->disk_looked, next) ? next - now : 0);
	spin_unlock_irqrestore(&s->lock, flags);
}

/**
 * rdmablk_disk_free() - free the disk and its tags; may be called twice
 * @s: session whose disk is not visible, or no longer visible
 *
 * A process that still has the disk open keeps the gendisk and, through it, the session.
 */
void rdmablk_disk_free(struct rdmablk_session *s)
{
	struct gendisk *disk;

	mutex_lock(&s->disk_mutex);
	disk = s->disk;
	s->disk = NULL;
	/* The queue of this disk was frozen; the queue of the next disk is not. */
	s->frozen = false;
	mutex_unlock(&s->disk_mutex);
	if (!disk)
		return;
	/*
	 * del_gendisk() does the same, but not all kernels do it for a disk that was never added.
	 * A recovery before that arms both. No recovery runs any more, and there is no request
	 * from which either of them arms again.
	 */
	blk_sync_queue(disk->queue);
	cancel_delayed_work_sync(&disk->queue->requeue_work);
	put_disk(disk);
	blk_mq_free_tag_set(&s->tag_set);
}
