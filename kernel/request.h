/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data path's view of a session. Request, one-sided and queue code know this
 * and nothing of the session behind it.
 */
#ifndef RDMABLK_REQUEST_H
#define RDMABLK_REQUEST_H

#include <linux/blk-mq.h>
#include <linux/cache.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include "flush_ahead.h"
#include "cmdq.h"
#include "fence.h"
#include "limits.h"
#include "queue.h"
#include "stats.h"
#include "wire.h"

/* Segments for which a request has memory of its own */
#define RDMABLK_FEW_SEGMENTS	8
/* Requests of a hardware queue that have more at a time: what fits into 128 KiB */
#define RDMABLK_RESERVE		42

/**
 * struct rdmablk_segments - memory for the segments of a request that has more than
 *	RDMABLK_FEW_SEGMENTS
 * @reserve: where it comes from
 * @sge: scatter/gather elements
 * @sg: what is mapped
 */
struct rdmablk_segments {
	struct rdmablk_reserve *reserve;
	struct ib_sge sge[RDMABLK_MAX_SEGMENTS];
	struct scatterlist sg[RDMABLK_MAX_SEGMENTS];
};

/**
 * struct rdmablk_reserve - memory for large requests of a hardware queue
 * @segments: for RDMABLK_RESERVE requests; NULL: no request has so many segments
 * @used: which of @segments are in use, a bit each
 */
struct rdmablk_reserve {
	/* read only in the hot path */
	struct rdmablk_segments *segments;

	/* written in the hot path */
	unsigned long used ____cacheline_aligned_in_smp;
};

/**
 * struct rdmablk_hwq - one hardware queue
 * @read: queue pair of RDMA READs. A READ that finds no initiator-depth credit
 *	stalls every work request behind it on its queue pair, so nothing else is
 *	posted here.
 * @write: queue pair of RDMA WRITEs, and of commands
 * @cmdq: commands on @write; of depth 0 without RDMABLK_F_COMMANDS
 * @wrote: value of @snapshots of @path when the first WRITE completed since the target was
 *	last sent a fence; 0: none has; see fence.c
 * @line: who waits for a tag of @cmdq, by enum rdmablk_fence_line; of the work of
 *	fence.c
 * @waits: which of @line have somebody, a bit each; set by that work, before it looks for
 *	a tag the last time
 * @slow: tags that those of RDMABLK_LINE_SLOW have got; taken down by the answers
 * @passed: somebody who stands in no line has got a tag while RDMABLK_LINE_SLOW waited and
 *	had none; a hint, set and cleared by who gets one
 * @cq: completion queue of both, on a completion vector of its own
 * @polled: @cq has no interrupts, see poll.c
 * @poll_open: whoever waits may look for completions; under @poll_lock
 * @poll_lock: held by who looks; never taken in softirq
 * @iob: where who looks wants what has ended; NULL: nowhere; under @poll_lock
 * @poll_work: looks while a command of no request is under way, or one of @watched
 * @watched: requests under way here that nobody polls for
 * @poll_pause: how long it sleeps after the next look, microseconds; of that work
 * @reserve: memory for requests with many segments
 * @path: what it belongs to
 * @nr: index in @hwq of @path
 * @node: NUMA node of the processors that use it, or NUMA_NO_NODE
 */
struct rdmablk_hwq {
	/* read only in the hot path */
	struct rdmablk_path *path;
	struct ib_cq *cq;
	u32 nr;
	int node;
	bool polled;

	/* written by writes and flushes */
	u32 wrote ____cacheline_aligned_in_smp;
	u8 waits;
	bool passed;
	atomic_t slow;
	struct list_head line[RDMABLK_LINES];

	/* written by who looks for completions; without that, by nobody */
	struct io_comp_batch *iob ____cacheline_aligned_in_smp;
	spinlock_t poll_lock;	/* poll_open, iob, looking */
	bool poll_open;
	atomic_t watched;
	unsigned int poll_pause;
	struct work_struct poll_work;

	struct rdmablk_queue read;
	struct rdmablk_queue write;
	struct rdmablk_cmdq cmdq;
	struct rdmablk_reserve reserve;
};

/**
 * struct rdmablk_path - what the data path needs to know
 * @live: I/O may be posted; everything else here is constant while it is true. Cleared
 *	before a quiesce, so that after it nobody posts.
 * @failing: while not @live: I/O fails; else it waits
 * @holding: the connection has been taken down: requests that come are held, unless
 *	they fail
 * @failing_fast: while not @live: I/O that is to fail fast fails
 * @commands: the session has commands
 * @staged: READs and WRITEs are commands, too
 * @cache: what is written is durable after a flush only
 * @ordered: each RDMA WRITE ends with a READ, or with a command; see queue.c
 * @more: @cache or @ordered
 * @unflushed: something has been written, and reported as done, since the last flush
 * @snapshots: flushes that have taken what was written, and 1 to begin with; never 0
 * @ahead: flushes that come with the write
 * @block_shift: log2 of the logical block
 * @region_shift: log2 of the region size; 63 when there is one region
 * @region_mask: the bits of a position that are one within its region
 * @read_only: the session has no write right at the target
 * @sge_per_wr: scatter/gather elements of one work request
 * @max_segment: bytes of one element
 * @lkey: local key of all memory
 * @dev: RDMA device; valid while requests are mapped
 * @region: regions of the export
 * @size: of the export, bytes
 * @hwq: hardware queues, as many as the tag set has, each in memory of its own node
 * @map: which of them each hardware queue of the tag set uses
 * @cmds: what commands may ask for
 * @fence: commands that need a fence
 * @poll_wq: where those look who look for nobody else; nothing else runs there
 * @nr_hwqs: how many the target granted; the tag set may have more, then several
 *	of them share one
 * @nr_poll: of the hardware queues of the tag set, the last so many are for requests
 *	whose completion is polled for
 * @stats: counters
 * @timing: clock
 * @index: N of rdmablkN, for tracepoints
 * @read_write_tmo: jiffies that a READ or WRITE that is a command may take; 0: as long as
 *	the block layer's timeout lasts, again and again
 * @slow_tmo: jiffies that any other command, and a durable write, may take; 0: the same
 * @timed_out: upcall: a request has been under way for longer than the transport
 *	can retry; a command, for longer than @read_write_tmo or @slow_tmo
 */
struct rdmablk_path {
	/* read only in the hot path */
	bool live;
	bool failing;
	bool holding;
	bool failing_fast;
	bool read_only;
	bool commands;
	bool staged;
	bool cache;
	bool ordered;
	bool more;
	u8 block_shift;
	u8 region_shift;
	u32 sge_per_wr;
	u32 max_segment;
	u32 lkey;
	u64 size;
	u64 region_mask;
	struct ib_device *dev;
	struct rdmablk_wire_region *region;
	struct rdmablk_hwq **hwq;
	struct rdmablk_hwq **map;
	struct rdmablk_stats __percpu *stats;
	struct rdmablk_timing timing;
	u32 nr_hwqs;
	u32 nr_poll;
	int index;
	struct rdmablk_wire_limits cmds;
	struct workqueue_struct *poll_wq;
	unsigned int read_write_tmo;
	unsigned int slow_tmo;
	void (*timed_out)(struct rdmablk_path *path, bool command);

	/* written by writes and flushes */
	u32 unflushed ____cacheline_aligned_in_smp;
	u32 snapshots;
	struct rdmablk_flush_ahead ahead;

	struct rdmablk_fence fence;
};

/**
 * struct rdmablk_request - per-request state, allocated with the tag
 * @cqe: completion of the last work request
 * @queue: queue it was posted to
 * @cmd: its command; NULL: it has none
 * @nr_sge: elements, see rdmablk_request_sge(); 0: nothing is mapped
 * @nr_wr: work requests, as many send slots are taken
 * @was_unflushed: of a staged FLUSH: path.unflushed when it was sent
 * @durable: it is a write that must be durable when it ends, or shall be: see flush_ahead.c
 * @clean: it is a FLUSH with nothing to do
 * @more: something follows its WRITEs and completes it: @cmd, or a READ. Until it is
 *	prepared: perhaps something does
 * @fua: its WRITE is sent without the FLUSH that makes it durable, which follows
 * @posted: the device may have seen it
 * @watched: nobody polls for it, although its completion has no interrupt
 * @held: in flight when the connection was lost, and no device's any more, or queued
 *	since; posted anew with the next connection, or ended
 * @unsent: it is held and was never posted
 * @status: how it ends
 * @remote: address of a one-sided one at the target
 * @begun: when it was first queued, nanoseconds; 0: it is not timed
 * @rkey: key of @remote
 * @fence: place in the line of those that need a fence, or a tag
 * @holds: times that the connection was lost with it in flight and had not lasted since
 *	the time before, up to 2
 * @held_since: when it was the first of these, in jiffies
 * @nr_sg: entries of the table that is mapped; 0: none, and an element is a mapping by
 *	itself
 * @segments: memory for elements and table; NULL: @sge and @sg are
 * @sge: scatter/gather elements; the only one of a request is here in any case
 * @sg: table for the mapping of several segments
 */
struct rdmablk_request {
	struct ib_cqe cqe;
	struct rdmablk_queue *queue;
	/* forgotten at once when it is queued */
	struct_group(attempt,
		struct rdmablk_cmd_tag *cmd;
		u16 nr_sge;
		u16 nr_wr;
		bool was_unflushed;
		bool durable;
		bool clean;
		bool more;
		bool fua;
		bool posted;
	);
	bool watched;
	bool held;
	bool unsent;
	blk_status_t status;
	u64 remote;
	u64 begun;
	u32 rkey;
	struct rdmablk_fence_op fence;
	u8 holds;
	unsigned long held_since;
	u16 nr_sg;
	struct rdmablk_segments *segments;
	struct ib_sge sge[RDMABLK_FEW_SEGMENTS];
	struct scatterlist sg[RDMABLK_FEW_SEGMENTS];
};

/**
 * rdmablk_request_sge() - scatter/gather elements of a request
 * @req: mapped
 *
 * Return: the first of nr_sge.
 */
static inline struct ib_sge *rdmablk_request_sge(struct rdmablk_request *req)
{
	return req->segments && req->nr_sge > 1 ? req->segments->sge : req->sge;
}

/**
 * struct rdmablk_held - what a lost connection left behind
 * @requests: held
 * @writes: of these, such that change the export and were posted
 * @lost: it was lost, and not given up as planned
 * @again: it had not lasted
 */
struct rdmablk_held {
	unsigned int requests;
	unsigned int writes;
	bool lost;
	bool again;
};

void rdmablk_request_complete(struct request *rq);
void rdmablk_request_end(struct request *rq, blk_status_t status);
void rdmablk_request_done(struct ib_cq *cq, struct ib_wc *wc);
blk_status_t rdmablk_request_refuse(struct rdmablk_path *path, struct request *rq,
				    blk_status_t why);
void rdmablk_request_cleanup(struct request *rq);
bool rdmablk_request_is_command(struct request *rq);
struct rdmablk_held rdmablk_request_hold_all(struct blk_mq_tag_set *set, bool lost,
					     bool again);
bool rdmablk_request_fails_fast(const struct request *rq);
unsigned int rdmablk_request_fail_held(struct blk_mq_tag_set *set, bool all,
				       bool keep_writes);
void rdmablk_request_requeue_held(struct blk_mq_tag_set *set, unsigned long patience);
bool rdmablk_request_busy(struct blk_mq_tag_set *set);
u32 rdmablk_request_in_flight(struct blk_mq_tag_set *set);
void rdmablk_request_rearm(struct blk_mq_tag_set *set, unsigned int most);

/**
 * rdmablk_request_wrote() - a part of the export has changed, and neither the target's CPU
 *	nor its store may know
 * @path: data path
 * @hwq: whose write queue it was
 * @pos: first byte
 * @bytes: how many, not 0
 *
 * Before the request ends. The order matters; see the top of fence.c. Context: any.
 */
static inline void rdmablk_request_wrote(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
					 u64 pos, u64 bytes)
{
	/* An older mark stays: it says that there are older bits. */
	if (!READ_ONCE(hwq->wrote))
		cmpxchg(&hwq->wrote, 0, READ_ONCE(path->snapshots));
	if (path->cache)
		rdmablk_fence_dirty(path, pos, bytes);
}

/* dispatch.c */
extern const struct blk_mq_ops rdmablk_dispatch_ops;

#endif /* RDMABLK_REQUEST_H */
