/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data path's view of a session. The files of the data path know struct rdmablk_path and
 * nothing of the session behind it.
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

/* Most segments for which a request has memory of its own */
#define RDMABLK_FEW_SEGMENTS	8
/* Most requests with more segments at a time per hardware queue: 128 KiB of memory */
#define RDMABLK_RESERVE		42

/**
 * struct rdmablk_segments - memory for the segments of a request that has more than
 *	RDMABLK_FEW_SEGMENTS
 * @reserve: owner of this memory
 * @sge: scatter/gather elements
 * @sg: table for the mapping
 */
struct rdmablk_segments {
	struct rdmablk_reserve *reserve;
	struct ib_sge sge[RDMABLK_MAX_SEGMENTS];
	struct scatterlist sg[RDMABLK_MAX_SEGMENTS];
};

/**
 * struct rdmablk_reserve - memory for large requests of a hardware queue
 * @segments: memory for RDMABLK_RESERVE requests; NULL: no request has so many segments
 * @used: bit per entry of @segments that is in use
 */
struct rdmablk_reserve {
	/* read only in the hot path */
	struct rdmablk_segments *segments;

	/* written in the hot path */
	unsigned long used ____cacheline_aligned_in_smp;
};

/**
 * struct rdmablk_hwq - one hardware queue
 * @read: queue pair of RDMA READs. A READ without an initiator-depth credit stalls every
 *	work request behind it on its queue pair, so nothing else is posted here.
 * @write: queue pair of RDMA WRITEs and commands
 * @cmdq: commands on @write; depth 0 without RDMABLK_F_COMMANDS
 * @wrote: value of @path->snapshots when the first WRITE since the last fence completed;
 *	0: none has completed; see fence.c
 * @line: ops that wait for a tag of @cmdq, by enum rdmablk_fence_line; owned by the work
 *	of fence.c
 * @waits: bit per non-empty @line; set by that work before it looks for a tag the last time
 * @slow: number of tags that commands of RDMABLK_LINE_SLOW have; answers decrement it
 * @passed: a request that stands in no line got a tag while commands in RDMABLK_LINE_SLOW
 *	waited and had no tag; a hint. Such requests set it, the work of fence.c clears it
 * @cq: completion queue of both queue pairs, on a completion vector of its own
 * @polled: @cq has no interrupts, see poll.c
 * @poll_open: polling is allowed; under @poll_lock
 * @poll_lock: held by the poller; never taken in softirq
 * @iob: batch in which the poller collects requests that end; NULL: none; under @poll_lock
 * @poll_work: polls while a command without a request or one of @watched is under way
 * @watched: number of requests under way here that no task polls for
 * @poll_pause: next pause of @poll_work, microseconds; owned by that work
 * @reserve: memory for requests with many segments
 * @path: data path that the hardware queue belongs to
 * @nr: index in @path->hwq
 * @node: NUMA node of the processors that use the queue, or NUMA_NO_NODE
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

	/* written by pollers only, so never if the queue is not polled */
	struct io_comp_batch *iob ____cacheline_aligned_in_smp;
	spinlock_t poll_lock;	/* poll_open, iob, polling */
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
 * struct rdmablk_path - the state of a session that the data path needs
 * @live: I/O may be posted; all other fields here are constant while it is true. Cleared
 *	before a quiesce; after the quiesce nobody posts.
 * @failing: while not @live: I/O fails; else it waits
 * @holding: while not @live: new requests are held, unless they fail. True after the
 *	connection has been taken down, and while an orderly end flushes
 * @failing_fast: while not @live: FAILFAST requests fail
 * @commands: the session has commands
 * @staged: READs and WRITEs are commands, too
 * @cache: a write is durable only after a flush
 * @ordered: each RDMA WRITE ends with a READ, or with a command; see queue.c
 * @more: @cache or @ordered
 * @unflushed: a write has been reported as done since the last flush
 * @snapshots: one more than the number of flushes that have taken the dirty bits; never 0
 * @ahead: flushes that come with the write
 * @block_shift: log2 of the logical block
 * @region_shift: log2 of the region size; 63 if there is one region
 * @region_mask: mask for the position within a region
 * @read_only: the session has no write right at the target
 * @sge_per_wr: scatter/gather elements per work request
 * @max_segment: most bytes per element
 * @lkey: local key of all memory
 * @dev: RDMA device; valid while requests are mapped
 * @region: regions of the export
 * @size: size of the export, bytes
 * @hwq: hardware queues, as many as the tag set has, each in memory of its own node
 * @map: per hardware queue of the tag set, the entry of @hwq that it uses
 * @cmds: limits of commands
 * @fence: commands that need a fence
 * @poll_wq: work queue of all poll_work; nothing else runs there
 * @nr_hwqs: number of hardware queues that the target granted; if the tag set has more,
 *	several of them share one
 * @nr_poll: number of hardware queues of the tag set for polled requests; these are the
 *	last ones
 * @stats: counters
 * @timing: latencies
 * @index: N of rdmablkN, for tracepoints
 * @read_write_tmo: jiffies that a READ or WRITE with a command may take; 0: the block
 *	layer's timeout, renewed again and again
 * @slow_tmo: jiffies that any other command, or a durable write, may take; 0: as above
 * @timed_out: upcall: a request has been under way for longer than the transport can
 *	retry; a command, for longer than @read_write_tmo or @slow_tmo
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
 * enum rdmablk_sender - how a prepared request is sent
 */
enum rdmablk_sender {
	/** @RDMABLK_SENDER_ONESIDED: as RDMA READs or WRITEs; a request that begins has it */
	RDMABLK_SENDER_ONESIDED,
	/** @RDMABLK_SENDER_STAGED: as a command that has its tag */
	RDMABLK_SENDER_STAGED,
	/** @RDMABLK_SENDER_FENCE: through fence.c, which waits for a fence or a tag */
	RDMABLK_SENDER_FENCE,
	/** @RDMABLK_SENDER_NONE: not at all: a FLUSH with nothing to do ends at once */
	RDMABLK_SENDER_NONE,
};

/**
 * struct rdmablk_request - per-request state, allocated with the tag
 * @cqe: completion of the last work request
 * @queue: queue to which the request is posted
 * @cmd: command of the request; NULL: it has none
 * @nr_sge: number of elements, see rdmablk_request_sge(); 0: nothing is mapped
 * @nr_wr: number of work requests, and of send slots taken
 * @was_unflushed: staged FLUSH: path.unflushed when it was sent
 * @durable: the request is a write that must be durable when it ends, because it has FUA or
 *	unasked: see flush_ahead.c
 * @sender: how the prepared request is sent, enum rdmablk_sender
 * @more: @cmd or a READ follows the WRITEs and completes them; before the request is
 *	prepared: may follow
 * @fua: the WRITE is sent without its FLUSH; the FLUSH follows and makes it durable
 * @posted: the device may have seen the request
 * @watched: no task polls for the request, although its completion has no interrupt
 * @held: the connection was lost while the request was in flight, and the device is done
 *	with it; or the request arrived while new requests are held. It will be posted
 *	again with the next connection, or ended
 * @unsent: the request is held, and was not with the device when the connection was lost
 * @status: status with which the request ends
 * @remote: address at the target, if one-sided
 * @begun: time when the request was first queued, nanoseconds; 0: it is not measured
 * @rkey: key of @remote
 * @fence: entry in the lists of fence.c: waits for a fence or a tag
 * @holds: number of times in a row that a connection was lost with this request in flight,
 *	counting on while the request may be what breaks the connections; 2 at most
 * @held_since: time of the first of these losses, in jiffies
 * @nr_sg: number of mapped entries of the table; 0: no table, an element is a mapping by
 *	itself
 * @segments: memory for elements and table; NULL: the request uses @sge and @sg
 * @sge: scatter/gather elements; a single element is always here
 * @sg: table for the mapping of several segments
 */
struct rdmablk_request {
	struct ib_cqe cqe;
	struct rdmablk_queue *queue;
	/* cleared when the request is queued */
	struct_group(attempt,
		struct rdmablk_cmd_tag *cmd;
		u16 nr_sge;
		u16 nr_wr;
		bool was_unflushed;
		bool durable;
		u8 sender;
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
 * Return: the first of @req->nr_sge elements.
 */
static inline struct ib_sge *rdmablk_request_sge(struct rdmablk_request *req)
{
	return req->segments && req->nr_sge > 1 ? req->segments->sge : req->sge;
}

/**
 * struct rdmablk_held - requests that a lost connection left behind
 * @requests: number of held requests
 * @writes: number of those that change the export and were posted
 * @lost: the connection was lost, or given up because the target wanted that; false: the
 *	administrator wanted it
 * @again: a request that has lost the connection before, too, may be what broke both
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
void rdmablk_request_begin(struct rdmablk_fence_op *op);
bool rdmablk_request_is_command(struct request *rq);
struct rdmablk_held rdmablk_request_hold_all(struct blk_mq_tag_set *set, bool lost,
					     bool again);
bool rdmablk_request_fails_fast(const struct request *rq);
unsigned int rdmablk_request_fail_held(struct blk_mq_tag_set *set, bool all,
				       bool keep_writes);
unsigned int rdmablk_request_requeue_held(struct blk_mq_tag_set *set, unsigned long patience);
bool rdmablk_request_busy(struct blk_mq_tag_set *set);
u32 rdmablk_request_in_flight(struct blk_mq_tag_set *set);
void rdmablk_request_rearm(struct blk_mq_tag_set *set, unsigned int most);

/**
 * rdmablk_request_wrote() - a part of the export has changed; target CPU and store may not
 *	know yet
 * @path: data path
 * @hwq: hardware queue whose write queue has carried the WRITE
 * @pos: first byte
 * @bytes: number of bytes, not 0
 *
 * Called before the request ends. The order matters; see the top of fence.c. Context: any.
 */
static inline void rdmablk_request_wrote(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
					 u64 pos, u64 bytes)
{
	/* An older mark stays: it stands for older bits. */
	if (!READ_ONCE(hwq->wrote))
		cmpxchg(&hwq->wrote, 0, READ_ONCE(path->snapshots));
	if (path->cache)
		rdmablk_fence_dirty(path, pos, bytes);
}

/* dispatch.c */
extern const struct blk_mq_ops rdmablk_dispatch_ops;

#endif /* RDMABLK_REQUEST_H */
