// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gendisk: limits, capacity, who may open it.
 *
 * The disk has no major number of its own (disk->major stays 0): LVM knows a fixed
 * list of driver names and refuses any other, but takes the extended range that the
 * block layer hands out.
 *
 * What the target has is what is advertised. A store that is memory has no volatile
 * write cache: the block layer completes FLUSH by itself and drops FUA. Operations that
 * are not advertised never reach the driver.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include "compat.h"
#include "disk.h"
#include "log.h"
#include "session.h"

/* A target may say all the time that the export has grown; each change is an event. */
#define RDMABLK_DISK_PAUSE	(HZ / 10)

/* Called with disk->open_mutex held, as is the move to "deleting" unless by force. */
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
 * Longer than the transport retries: (retries + 1) times four times the timeout,
 * which is what the specification allows a device to make of it, and a second. And
 * no shorter than what other block devices have, because requests queue.
 */
static unsigned int rdmablk_disk_timeout(const struct rdmablk_session *s)
{
	u64 ns = 4096ULL << s->longest_ack;

	return max_t(unsigned long, 30 * HZ, nsecs_to_jiffies(7 * 4 * ns) + HZ);
}

static int rdmablk_disk_alloc_tags(struct rdmablk_session *s)
{
	struct blk_mq_tag_set *set = &s->tag_set;

	set->ops = &rdmablk_dispatch_ops;
	set->nr_hw_queues = s->nr_queues;
	set->nr_maps = s->path.nr_poll ? HCTX_MAX_TYPES : 1;
	set->queue_depth = s->offer.grant.queue_depth;
	set->numa_node = ibdev_to_node(s->pd->device);
	set->cmd_size = sizeof(struct rdmablk_request);
	/*
	 * A processor that goes need not wait for the requests of its hardware queue, which
	 * may be held in an outage. That wait is for devices whose interrupts go with their
	 * processors; those of RDMA devices move to others, and so do softirqs and works.
	 *
	 * With a single hardware queue the block layer would choose mq-deadline. The order of
	 * requests is up to the disk of the target, if it has one.
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
	const struct rdmablk_wire_grant *g = &s->offer.grant;
	const struct rdmablk_wire_limits *c = &s->offer.cmds;

	*lim = (struct rdmablk_disk_limits) {
		.logical_block	= g->logical_block,
		.physical_block	= g->physical_block,
		/* Read-ahead grows with these; a target must not make it gigabytes. */
		.io_min		= min_t(u32, g->io_min ?: g->physical_block, SZ_1M),
		.io_opt		= min_t(u32, g->io_opt, SZ_16M),
		.max_sectors	= s->offer.limits.max_io_bytes >> SECTOR_SHIFT,
		.max_segments	= s->offer.limits.max_segments,
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
	 * A power of two that divides the region serves as well as the region. One region
	 * has no end that a request could cross, and the block layer looks at each small
	 * request once more where there is a chunk. So such a disk goes on with one region
	 * only: rdmablk_login_compare() refuses two, whatever has been queued by then, and
	 * no target lets an export grow beyond it while a session has it.
	 */
	if (g->nr_regions > 1)
		lim->chunk_sectors = min_t(u64, g->region_bytes >> SECTOR_SHIFT, 1U << 31);
}

/**
 * rdmablk_disk_alloc() - make the disk of a granted session
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
	set_capacity(disk, s->offer.grant.size >> SECTOR_SHIFT);
	if (s->offer.grant.flags & RDMABLK_GRANT_READ_ONLY)
		set_disk_ro(disk, true);
	s->disk = disk;
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
	rdmablk_info_ratelimited(s, "now %llu bytes\n", a.grant.size);
	set_capacity_and_notify(s->disk, sectors);
}

/*
 * The first scan for partitions has failed. The next who opens the disk scans again;
 * that is udev, which hears of a change. Not here: the connection may be lost again,
 * and the scan does I/O under open_mutex.
 */
static void rdmablk_disk_rescan(struct rdmablk_session *s)
{
	bool scan;

	spin_lock_irq(&s->lock);
	scan = s->unscanned && READ_ONCE(s->added) && !s->down;
	if (scan)
		s->unscanned = false;
	spin_unlock_irq(&s->lock);
	if (!scan)
		return;
	set_bit(GD_NEED_PART_SCAN, &s->disk->state);
	kobject_uevent(&disk_to_dev(s->disk)->kobj, KOBJ_CHANGE);
}

/**
 * rdmablk_disk_work() - the connection is back: tell the block layer, and who listens
 *	to it, what that has changed
 * @work: disk_work of a session whose disk has been added, or will be
 *
 * Not the recovery's own work: the event waits for a lock whose holder may wait for
 * memory, and that for what is held when the connection is lost again.
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
 * rdmablk_disk_look() - a connection may have changed something
 * @s: session whose disk has been added, or will be
 */
void rdmablk_disk_look(struct rdmablk_session *s)
{
	unsigned long next = READ_ONCE(s->disk_looked) + RDMABLK_DISK_PAUSE;
	unsigned long flags, now = jiffies;

	/* Queued under the lock: who moves to "deleting" cancels it afterwards. */
	spin_lock_irqsave(&s->lock, flags);
	if (s->state != RDMABLK_DEV_DELETING)
		queue_delayed_work(rdmablk_login_wq, &s->disk_work,
				   time_in_range(now, s->disk_looked, next) ? next - now : 0);
	spin_unlock_irqrestore(&s->lock, flags);
}

/**
 * rdmablk_disk_free() - give up the disk; may be called twice
 * @s: session whose disk is not visible, or not any more
 *
 * Who still has it open keeps the gendisk and, through it, the session.
 */
void rdmablk_disk_free(struct rdmablk_session *s)
{
	struct gendisk *disk;

	mutex_lock(&s->disk_mutex);
	disk = s->disk;
	s->disk = NULL;
	/* Its queue was; that of the next disk is not. */
	s->frozen = false;
	mutex_unlock(&s->disk_mutex);
	if (!disk)
		return;
	put_disk(disk);
	blk_mq_free_tag_set(&s->tag_set);
}
