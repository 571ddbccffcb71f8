// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of hardware queues: the first login that succeeds allocates it, later logins
 * use it again, and the end of the session frees it. Each hardware queue is on the NUMA
 * node of the processors that use it.
 */
#include <linux/bitops.h>
#include <linux/blk-mq.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include "hwq.h"
#include "poll.h"
#include "session.h"

/* The allocator rounds up to powers of two: a little more would cost twice as much. */
static_assert(RDMABLK_RESERVE * sizeof(struct rdmablk_segments) <= SZ_128K);
static_assert(RDMABLK_RESERVE <= BITS_PER_LONG);

/* Allocates the sink of the READs behind WRITEs, if the session may have such READs. */
static int rdmablk_hwq_tail(struct rdmablk_session *s, struct rdmablk_hwq *hwq)
{
	if (!s->opt.ordered)
		return 0;
	hwq->write.tail_buf = kzalloc_node(RDMABLK_TAIL_BYTES, GFP_KERNEL, hwq->node);
	return hwq->write.tail_buf ? 0 : -ENOMEM;
}

/* Allocates the reserve for requests with too many segments for a tag, if there may be any. */
static int rdmablk_hwq_reserve(struct rdmablk_session *s, struct rdmablk_hwq *hwq)
{
	struct rdmablk_reserve *reserve = &hwq->reserve;
	u32 i;

	if (s->login.offer.limits.max_segments <= RDMABLK_FEW_SEGMENTS)
		return 0;
	reserve->segments = kvzalloc_node(array_size(RDMABLK_RESERVE,
						     sizeof(*reserve->segments)),
					  GFP_KERNEL, hwq->node);
	if (!reserve->segments)
		return -ENOMEM;
	for (i = 0; i < RDMABLK_RESERVE; i++)
		reserve->segments[i].reserve = reserve;
	return 0;
}

static struct rdmablk_hwq *rdmablk_hwq_create(struct rdmablk_session *s, u32 nr, int node,
					      void (*fatal)(struct rdmablk_queue *q, u16 reason))
{
	const struct rdmablk_queue_owner owner = {
		.index	= s->index,
		.waiter	= &s->waiter,
		.errors	= &s->errors,
		.fatal	= fatal,
	};
	struct rdmablk_hwq *hwq = kvzalloc_node(sizeof(*hwq), GFP_KERNEL, node);

	if (!hwq)
		return NULL;
	hwq->path = &s->path;
	hwq->nr = nr;
	hwq->node = node;
	rdmablk_poll_init(hwq);
	INIT_LIST_HEAD(&hwq->line[RDMABLK_LINE_SLOW]);
	INIT_LIST_HEAD(&hwq->line[RDMABLK_LINE_FUA]);
	rdmablk_queue_init(&hwq->read, 2 * nr + 1, RDMABLK_KIND_READ, &owner);
	rdmablk_queue_init(&hwq->write, 2 * nr + 2, RDMABLK_KIND_WRITE, &owner);
	return hwq;
}

/* Maps processors to hardware queues of the tag set, as the block layer does. */
static int rdmablk_hwq_spread(const struct rdmablk_session *s,
			      struct blk_mq_queue_map *shown, struct blk_mq_queue_map *polled)
{
	shown->nr_queues = s->nr_queues - s->path.nr_poll;
	polled->nr_queues = s->path.nr_poll;
	polled->queue_offset = shown->nr_queues;
	shown->mq_map = kcalloc(nr_cpu_ids, sizeof(*shown->mq_map), GFP_KERNEL);
	polled->mq_map = kcalloc(nr_cpu_ids, sizeof(*polled->mq_map), GFP_KERNEL);
	if (!shown->mq_map || !polled->mq_map)
		return -ENOMEM;
	blk_mq_map_queues(shown);
	if (polled->nr_queues)
		blk_mq_map_queues(polled);
	return 0;
}

static int rdmablk_hwq_node(const struct blk_mq_queue_map *map, u32 nr)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		if (map->mq_map[cpu] == nr)
			return cpu_to_node(cpu);
	}
	return NUMA_NO_NODE;
}

/**
 * rdmablk_hwq_alloc() - allocate the hardware queues of a session
 * @s: session with limits and without hardware queues
 * @fatal: upcall of each queue pair: the connection has failed, for an enum
 *	rdmablk_reason
 *
 * Allocates as many as the tag set will have, even if the target grants fewer.
 *
 * Return: 0; -ENOMEM, with a text in @s->why.
 */
int rdmablk_hwq_alloc(struct rdmablk_session *s,
		      void (*fatal)(struct rdmablk_queue *q, u16 reason))
{
	struct blk_mq_queue_map shown = { }, polled = { }, *map;
	struct rdmablk_path *path = &s->path;
	int ret;
	u32 i;

	path->hwq = kcalloc(s->nr_queues, sizeof(*path->hwq), GFP_KERNEL);
	path->map = kcalloc(s->nr_queues, sizeof(*path->map), GFP_KERNEL);
	ret = path->hwq && path->map ? rdmablk_hwq_spread(s, &shown, &polled) : -ENOMEM;
	for (i = 0; !ret && i < s->nr_queues; i++) {
		map = i < polled.queue_offset ? &shown : &polled;
		path->hwq[i] = rdmablk_hwq_create(s, i, rdmablk_hwq_node(map, i), fatal);
		if (!path->hwq[i] || rdmablk_hwq_reserve(s, path->hwq[i]) ||
		    rdmablk_hwq_tail(s, path->hwq[i]))
			ret = -ENOMEM;
	}
	kfree(shown.mq_map);
	kfree(polled.mq_map);
	if (ret)
		s->why = "out of memory";
	return ret;
}

/**
 * rdmablk_hwq_free() - free the hardware queues of a session; may be called twice
 * @s: session without disk and connections; may have none or only some hardware queues
 */
void rdmablk_hwq_free(struct rdmablk_session *s)
{
	u32 i;

	for (i = 0; s->path.hwq && i < s->nr_queues; i++) {
		if (!s->path.hwq[i])
			continue;
		rdmablk_cmdq_free(&s->path.hwq[i]->cmdq);
		kvfree(s->path.hwq[i]->reserve.segments);
		kfree(s->path.hwq[i]->write.tail_buf);
		kvfree(s->path.hwq[i]);
	}
	kfree(s->path.hwq);
	kfree(s->path.map);
	s->path.hwq = NULL;
	s->path.map = NULL;
	s->path.nr_hwqs = 0;
}
