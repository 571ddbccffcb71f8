/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From what a device and a target can do to the limits of requests and queue pairs.
 */
#ifndef RDMABLK_LIMITS_H
#define RDMABLK_LIMITS_H

#include <linux/sizes.h>
#include <linux/types.h>

/*
 * Elements used of a work request, at most: 64 KiB in pages of 4 KiB. The memory of a
 * queue pair is as many times what a work request takes, whether its elements are used
 * or not.
 */
#define RDMABLK_MAX_SGES	16
/* Work requests of a request, at most, on any device */
#define RDMABLK_MAX_CHAIN	4
/* Segments of a request, at most */
#define RDMABLK_MAX_SEGMENTS	(RDMABLK_MAX_CHAIN * RDMABLK_MAX_SGES)
#define RDMABLK_MAX_IO		SZ_1M		/* bytes of a request, at most */

/* Send slots of a queue pair that several hardware queues share, at most */
#define RDMABLK_SHARED_SLOTS	4096U

/*
 * Bytes of all receive buffers of a disk, at most, and the smallest that a buffer is made
 * for that: it has room for a list of answers.
 */
#define RDMABLK_MAX_RECV_BYTES	SZ_64M
#define RDMABLK_MIN_RECV_BYTES	512U

/**
 * struct rdmablk_limits_in - what device, target and administrator say
 * @max_send_sge: scatter/gather elements of a work request
 * @max_sge_rd: the same of an RDMA READ
 * @max_qp_wr: work requests in a queue pair's send queue
 * @max_msg_size: bytes of a work request
 * @queue_depth: requests per hardware queue of the tag set
 * @sharers: hardware queues of the tag set that share a queue pair
 * @max_cqe: entries of a completion queue
 * @cqes: entries that are needed besides those of send slots
 * @max_io: largest request of the target, bytes; 0: no limit
 * @logical_block: bytes
 * @region_bytes: bytes of a region, a power of two
 * @reserved: send slots that tags of commands have for themselves
 * @tail: work requests that follow those of a request
 * @page_bytes: bytes of a page of this host
 * @segments: segments of a request that the block layer was told of with an earlier
 *	connection, at most RDMABLK_MAX_SEGMENTS; 0: it was told of nothing
 */
struct rdmablk_limits_in {
	u32 max_send_sge;
	u32 max_sge_rd;
	u32 max_qp_wr;
	u64 max_msg_size;
	u16 queue_depth;
	u32 sharers;
	u32 max_cqe;
	u32 cqes;
	u32 max_io;
	u32 logical_block;
	u64 region_bytes;
	u32 reserved;
	u32 tail;
	u32 page_bytes;
	u32 segments;
};

/**
 * struct rdmablk_limits_out - what follows for requests
 * @sge_per_wr: scatter/gather elements used of a work request
 * @max_segments: segments of a request
 * @max_chain: work requests of a request, at most; more than RDMABLK_MAX_CHAIN only after a
 *	reconnect by a device with smaller work requests
 * @max_io_bytes: bytes of a request, a multiple of the logical block
 * @send_slots: work requests that a queue pair of WRITEs and commands holds, without the
 *	drain's; of READs see rdmablk_limits_reads()
 */
struct rdmablk_limits_out {
	u32 sge_per_wr;
	u32 max_segments;
	u32 max_chain;
	u32 max_io_bytes;
	u32 send_slots;
};

/**
 * rdmablk_limits_vector() - completion vector of a hardware queue
 * @disk: number of the disk
 * @nr: hardware queues that the disk has
 * @i: which of them
 * @vectors: completion vectors of the device
 *
 * Where there are more vectors than hardware queues, disks share the load. Where each
 * vector has its hardware queue, that of a processor is the same for all disks.
 *
 * Return: below @vectors.
 */
static inline u32 rdmablk_limits_vector(u32 disk, u32 nr, u32 i, u32 vectors)
{
	return (disk % vectors * (nr % vectors) + i) % vectors;
}

#define RDMABLK_DEFAULT_QUEUES	16	/* hardware queues of a disk, at most, unless set */

/**
 * struct rdmablk_limits_queues - what decides how many hardware queues a disk has
 * @wanted: by the administrator; 0: no wish
 * @polled: wanted for polled I/O, besides
 * @possible: processors that this host may have
 * @online: processors that it has now
 * @vectors: completion vectors of the device
 * @max: of a session, in the protocol
 */
struct rdmablk_limits_queues {
	u32 wanted;
	u32 polled;
	u32 possible;
	u32 online;
	u32 vectors;
	u32 max;
};

u32 rdmablk_limits_polled(const struct rdmablk_limits_queues *in);
u32 rdmablk_limits_shown(const struct rdmablk_limits_queues *in);
u32 rdmablk_limits_pairs(int max_qp, int max_cq);
int rdmablk_limits_compute(const struct rdmablk_limits_in *in,
			   struct rdmablk_limits_out *out);
u32 rdmablk_limits_reads(const struct rdmablk_limits_out *out, u32 reserved);
void rdmablk_limits_receive(u32 queues, u32 *tags, u32 *bytes);

#endif /* RDMABLK_LIMITS_H */
