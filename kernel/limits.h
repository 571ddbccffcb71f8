/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of requests and queue pairs, from the abilities of device and target.
 */
#ifndef RDMABLK_LIMITS_H
#define RDMABLK_LIMITS_H

#include <linux/sizes.h>
#include <linux/types.h>

/*
 * Most elements used per work request: 64 KiB in pages of 4 KiB. Each entry of a send queue
 * has memory for all elements of a work request, whether it uses them or not.
 */
#define RDMABLK_MAX_SGES	16
/* Most work requests per request, on any device */
#define RDMABLK_MAX_CHAIN	4
/* Most segments per request */
#define RDMABLK_MAX_SEGMENTS	(RDMABLK_MAX_CHAIN * RDMABLK_MAX_SGES)
#define RDMABLK_MAX_IO		SZ_1M		/* most bytes per request */

/* Most send slots of a queue pair that several hardware queues share */
#define RDMABLK_SHARED_SLOTS	4096U

/*
 * Most bytes of all receive buffers of a disk, and the size to which a buffer may shrink
 * for that limit: it still has room for a list of answers.
 */
#define RDMABLK_MAX_RECV_BYTES	SZ_64M
#define RDMABLK_MIN_RECV_BYTES	512U

/**
 * struct rdmablk_limits_in - limits of device, target and administrator
 * @max_send_sge: scatter/gather elements per work request
 * @max_sge_rd: scatter/gather elements per RDMA READ
 * @max_qp_wr: work requests in a queue pair's send queue
 * @max_msg_size: bytes per work request
 * @queue_depth: requests per hardware queue of the tag set
 * @sharers: hardware queues of the tag set that share a queue pair
 * @max_cqe: entries of a completion queue
 * @cqes: entries needed besides those for send slots
 * @max_io: largest request of the target, bytes; 0: no limit
 * @logical_block: logical block size, bytes
 * @region_bytes: size of a region, bytes, a power of two
 * @reserved: send slots reserved for tags of commands
 * @tail: work requests that follow those of a request
 * @page_bytes: page size of this host, bytes
 * @segments: segments per request that the block layer was told with an earlier connection,
 *	at most RDMABLK_MAX_SEGMENTS; 0: there was none
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
 * struct rdmablk_limits_out - resulting limits
 * @sge_per_wr: scatter/gather elements used per work request
 * @max_segments: segments per request
 * @max_chain: most work requests per request; more than RDMABLK_MAX_CHAIN only after a
 *	reconnect through a device with smaller work requests
 * @max_io_bytes: bytes per request, a multiple of the logical block
 * @send_slots: work requests that a queue pair of WRITEs and commands holds, without the
 *	drain's; for READs see rdmablk_limits_reads()
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
 * @nr: number of hardware queues of the disk
 * @i: index of the hardware queue
 * @vectors: number of completion vectors of the device
 *
 * If there are more vectors than hardware queues, disks spread over the vectors. If each
 * vector has one hardware queue, the vector of a processor is the same for all disks.
 *
 * Return: vector, below @vectors.
 */
static inline u32 rdmablk_limits_vector(u32 disk, u32 nr, u32 i, u32 vectors)
{
	return (disk % vectors * (nr % vectors) + i) % vectors;
}

#define RDMABLK_DEFAULT_QUEUES	16	/* default limit of hardware queues per disk */

/**
 * struct rdmablk_limits_queues - wishes and limits for the number of hardware queues
 * @wanted: number that the administrator wants; 0: no wish
 * @polled: number wanted for polled I/O, in addition
 * @possible: most processors that this host may have
 * @online: processors that are online now
 * @vectors: completion vectors of the device
 * @max: most hardware queues per session in the protocol
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
