/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels; no other file may know of them. The code uses the newest
 * idiom. Each wrapper names the upstream change that it hides.
 *
 * Stable kernels take API backports, so a test checks what a header defines if it can. Only
 * if no macro tells, it checks the version.
 */
#ifndef RDMABLK_COMPAT_H
#define RDMABLK_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/version.h>

/*
 * "block: pass a queue_limits argument to blk_mq_alloc_disk" (6.9): the caller passes limits
 * at allocation instead of setting them one by one afterwards. "block: move cache control
 * settings out of queue->flags" (6.11): the same for features.
 */
struct rdmablk_disk_limits {
	unsigned int logical_block;
	unsigned int physical_block;
	unsigned int io_min;
	unsigned int io_opt;
	unsigned int max_sectors;
	unsigned int chunk_sectors;
	unsigned short max_segments;
	unsigned int max_segment_size;
	unsigned int max_discard_sectors;
	unsigned int discard_granularity;
	unsigned int discard_alignment;
	unsigned int max_zeroes_sectors;
	unsigned int max_erase_sectors;
	bool rotational;
	bool cache;
};

#ifndef BLK_FEAT_WRITE_CACHE
static inline void rdmablk_compat_set_flags(struct request_queue *q,
					    const struct rdmablk_disk_limits *l)
{
	blk_queue_write_cache(q, l->cache, l->cache);
	if (!l->rotational)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, q);
}
#endif

/* The preprocessor cannot see the number of arguments of a function. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
static inline struct gendisk *
rdmablk_compat_alloc_disk(struct blk_mq_tag_set *set,
			  const struct rdmablk_disk_limits *l, void *queuedata)
{
	struct queue_limits lim = {
		.logical_block_size	= l->logical_block,
		.physical_block_size	= l->physical_block,
		.io_min			= l->io_min,
		.io_opt			= l->io_opt,
		.max_hw_sectors		= l->max_sectors,
		.chunk_sectors		= l->chunk_sectors,
		.max_segments		= l->max_segments,
		.max_segment_size	= l->max_segment_size,
		.max_hw_discard_sectors	= l->max_discard_sectors,
		.discard_granularity	= l->discard_granularity,
		.discard_alignment	= l->discard_alignment,
		.max_write_zeroes_sectors = l->max_zeroes_sectors,
		.max_secure_erase_sectors = l->max_erase_sectors,
	};
	struct gendisk *disk;

#ifdef BLK_FEAT_WRITE_CACHE
	lim.features = (l->rotational ? BLK_FEAT_ROTATIONAL : 0) |
		       (l->cache ? BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA : 0);
#endif
	disk = blk_mq_alloc_disk(set, &lim, queuedata);
#ifndef BLK_FEAT_WRITE_CACHE
	if (!IS_ERR(disk))
		rdmablk_compat_set_flags(disk->queue, l);
#endif
	return disk;
}
#else
static inline struct gendisk *
rdmablk_compat_alloc_disk(struct blk_mq_tag_set *set,
			  const struct rdmablk_disk_limits *l, void *queuedata)
{
	struct gendisk *disk = blk_mq_alloc_disk(set, queuedata);
	struct request_queue *q;

	if (IS_ERR(disk))
		return disk;
	q = disk->queue;
	blk_queue_logical_block_size(q, l->logical_block);
	blk_queue_physical_block_size(q, l->physical_block);
	blk_queue_io_min(q, l->io_min);
	blk_queue_io_opt(q, l->io_opt);
	blk_queue_max_hw_sectors(q, l->max_sectors);
	blk_queue_chunk_sectors(q, l->chunk_sectors);
	blk_queue_max_segments(q, l->max_segments);
	blk_queue_max_segment_size(q, l->max_segment_size);
	blk_queue_max_discard_sectors(q, l->max_discard_sectors);
	q->limits.discard_granularity = l->discard_granularity;
	q->limits.discard_alignment = l->discard_alignment;
	blk_queue_max_write_zeroes_sectors(q, l->max_zeroes_sectors);
	blk_queue_max_secure_erase_sectors(q, l->max_erase_sectors);
	rdmablk_compat_set_flags(q, l);
	return disk;
}
#endif

/*
 * "block: remove BLK_MQ_F_SHOULD_MERGE" (6.14): merging became the default. The flag is an
 * enumerator, which the preprocessor cannot see.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define RDMABLK_TAGSET_FLAGS	BLK_MQ_F_SHOULD_MERGE
#else
#define RDMABLK_TAGSET_FLAGS	0
#endif

/*
 * "block: pass a gendisk to ->open" and "block: use the holder as indication for exclusive
 * opens" (6.5): ->open() gets the disk and a blk_mode_t, whose flags are macros.
 */
#ifdef BLK_OPEN_READ
#define RDMABLK_DISK_OPEN(name, fn)					\
	static int name(struct gendisk *disk, blk_mode_t mode)		\
	{								\
		return fn(disk);					\
	}
#else
#define RDMABLK_DISK_OPEN(name, fn)					\
	static int name(struct block_device *bdev, fmode_t mode)	\
	{								\
		return fn(bdev->bd_disk);				\
	}
#endif

/*
 * "block: force noio scope in blk_mq_freeze_queue" (6.14): blk_mq_unfreeze_queue() also ends
 * the noio scope of the task that froze the queue. Neither function is a macro.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
static inline void rdmablk_compat_unfreeze_queue(struct request_queue *q)
{
	blk_mq_unfreeze_queue_nomemrestore(q);
}
#else
static inline void rdmablk_compat_unfreeze_queue(struct request_queue *q)
{
	blk_mq_unfreeze_queue(q);
}
#endif

/*
 * "block: add a rq_list type" (6.13, and 6.12 by a stable update): ->queue_rqs() gets a list
 * with head and tail instead of a bare chain of requests. With the chain, the functions that
 * handle it are macros.
 */
#ifdef rq_list_add_tail
#undef rq_list_add_tail
#undef rq_list_empty
#undef rq_list_peek
#undef rq_list_pop

struct rq_list {
	struct request *head;
	struct request *tail;
};

static inline bool rq_list_empty(const struct rq_list *rl)
{
	return !rl->head;
}

static inline struct request *rq_list_peek(const struct rq_list *rl)
{
	return rl->head;
}

static inline void rq_list_init(struct rq_list *rl)
{
	rl->head = NULL;
	rl->tail = NULL;
}

static inline void rq_list_add_tail(struct rq_list *rl, struct request *rq)
{
	rq->rq_next = NULL;
	if (rl->tail)
		rl->tail->rq_next = rq;
	else
		rl->head = rq;
	rl->tail = rq;
}

static inline struct request *rq_list_pop(struct rq_list *rl)
{
	struct request *rq = rl->head;

	if (!rq)
		return NULL;
	rl->head = rq->rq_next;
	if (!rl->head)
		rl->tail = NULL;
	rq->rq_next = NULL;
	return rq;
}

/* The caller never uses the tail of the requests that are left in the list. */
#define RDMABLK_QUEUE_RQS(name, fn)					\
	static void name(struct request **chain)			\
	{								\
		struct rq_list list = { .head = *chain };		\
									\
		fn(&list);						\
		*chain = list.head;					\
	}
#else
#define RDMABLK_QUEUE_RQS(name, fn)					\
	static void name(struct rq_list *list)				\
	{								\
		fn(list);						\
	}
#endif

/*
 * "genetlink: Use internal flags for multicast groups" (6.7, and stable updates of earlier
 * kernels): a multicast group can require CAP_NET_ADMIN. Without the flag, any process may
 * join.
 */
#ifdef GENL_MCAST_CAP_NET_ADMIN
#define RDMABLK_MCAST_FLAGS	.flags = GENL_MCAST_CAP_NET_ADMIN,
#else
#define RDMABLK_MCAST_FLAGS
#endif

/*
 * "block: remove the q argument from blk_rq_map_sg" (6.15). No macro tells.
 */
static inline unsigned int rdmablk_compat_map_sg(struct request *rq, struct scatterlist *sg)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	return blk_rq_map_sg(rq->q, rq, sg);
#else
	return blk_rq_map_sg(rq, sg);
#endif
}

/*
 * "blk-mq: update driver tags request table when start request" (6.7): before, a driver with
 * ->queue_rqs() must enter its requests in the table that iterators and timeouts read. No
 * macro tells.
 */
static inline void rdmablk_compat_enter(struct request *rq)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	rq->mq_hctx->tags->rqs[rq->tag] = rq;
#endif
}

#endif /* RDMABLK_COMPAT_H */
