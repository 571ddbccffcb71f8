// SPDX-License-Identifier: GPL-2.0-only
/*
 * The size of a request, and the number of work requests that a queue pair must hold.
 * PURE: the unit tests compile this file.
 *
 * A request is never larger than one message of the device, so only the number of
 * scatter/gather elements decides how many work requests its chain has. The limit of
 * segments keeps the chain short on every device. If a disk reconnects through another
 * device, it keeps its number of segments, and its chains become longer.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include "limits.h"

/**
 * rdmablk_limits_polled() - number of hardware queues for polled I/O
 * @in: wishes and limits
 *
 * Return: number, not more than there are processors.
 */
u32 rdmablk_limits_polled(const struct rdmablk_limits_queues *in)
{
	return min_t(u32, min_t(u32, in->polled, in->possible), in->max - 1);
}

/**
 * rdmablk_limits_shown() - number of hardware queues for I/O that is not polled
 * @in: wishes and limits
 *
 * The administrator's wish counts as far as processors and the protocol allow. The default
 * is not more than the number of completion vectors, because two queues on one vector share
 * its interrupts, and not more than 16: each queue makes logins and FLUSHes longer and takes
 * two of the adapter's queue pairs.
 *
 * Return: number, at least 1.
 */
u32 rdmablk_limits_shown(const struct rdmablk_limits_queues *in)
{
	u32 most = min_t(u32, in->possible, in->max - rdmablk_limits_polled(in));
	u32 nr = in->wanted;

	if (!nr)
		nr = min_t(u32, min_t(u32, in->online, max_t(u32, in->vectors, 1)),
			   RDMABLK_DEFAULT_QUEUES);
	return max_t(u32, min_t(u32, nr, most), 1);
}

/**
 * rdmablk_limits_pairs() - most hardware queues that the device has queue pairs for
 * @max_qp: queue pairs of the device
 * @max_cq: completion queues of the device
 *
 * Each hardware queue takes two queue pairs and a completion queue; the control queue takes
 * one of each. Other users of the device are unknown: there may be room for fewer.
 *
 * Return: number, at least 1.
 */
u32 rdmablk_limits_pairs(int max_qp, int max_cq)
{
	int nr = min_t(int, (max_qp - 1) / 2, max_cq - 1);

	return max_t(int, nr, 1);
}

/**
 * rdmablk_limits_compute() - compute the limits of requests and queue pairs
 * @in: limits of device, target and administrator
 * @out: result
 *
 * Return: 0; -EINVAL: the device or the target cannot carry one page.
 */
int rdmablk_limits_compute(const struct rdmablk_limits_in *in,
			   struct rdmablk_limits_out *out)
{
	u64 bytes = RDMABLK_MAX_IO;
	u32 chain, most, least, slots;

	if (!in->max_send_sge || !in->max_sge_rd || in->max_qp_wr < 2 ||
	    !in->queue_depth || !in->logical_block)
		return -EINVAL;
	if (in->max_io)
		bytes = min_t(u64, bytes, in->max_io);
	bytes = min_t(u64, bytes, in->region_bytes);
	bytes = min_t(u64, bytes, in->max_msg_size);
	out->max_io_bytes = (u32)bytes & ~(in->logical_block - 1);
	/* The block layer needs at least a page, and would warn about less. */
	if (!out->max_io_bytes || out->max_io_bytes < in->page_bytes)
		return -EINVAL;

	out->sge_per_wr = min_t(u32, min_t(u32, in->max_send_sge, in->max_sge_rd),
				RDMABLK_MAX_SGES);
	/* One entry is the drain's. Two longest chains must fit, or the chain shrinks. */
	most = in->max_qp_wr - 1;
	chain = max_t(u32, RDMABLK_MAX_CHAIN, DIV_ROUND_UP(in->segments, out->sge_per_wr));
	out->max_chain = min_t(u32, chain, max_t(u32, most / 2, 1));
	out->max_segments = min_t(u32, RDMABLK_MAX_SEGMENTS,
				  out->max_chain * out->sge_per_wr);
	/* A command or a READ may follow the longest chain. */
	slots = max_t(u32, 2U * in->queue_depth,
		      min_t(u32, 2U * in->queue_depth * max_t(u32, in->sharers, 1),
			    RDMABLK_SHARED_SLOTS));
	out->send_slots = max_t(u32, slots, 2 * out->max_chain + in->tail) + in->reserved;
	out->send_slots = min_t(u32, out->send_slots, most);
	/*
	 * A completion queue has room for both queue pairs, with a drain for each direction. If
	 * it is too small for all hardware queues that share it, they wait for each other. But
	 * it must be large enough for one of them, or the device cannot be used.
	 */
	slots = 0;
	if (in->max_cqe > in->cqes + 4)
		slots = (in->max_cqe - in->cqes) / 2 - 2;
	least = max_t(u32, 2U * in->queue_depth, 2 * out->max_chain + in->tail) + in->reserved;
	least = min_t(u32, out->send_slots, least);
	out->send_slots = min_t(u32, out->send_slots, max_t(u32, slots, least));
	if ((in->reserved || in->tail) &&
	    out->send_slots < in->reserved + out->max_chain + 1)
		return -EINVAL;
	return 0;
}

/**
 * rdmablk_limits_reads() - number of work requests that a queue pair of READs holds
 * @out: limits
 * @reserved: send slots reserved for tags of commands, on the other queue pair
 *
 * Adapters round the memory of a send queue up to a power of two. One entry is the drain's,
 * and rxe leaves one empty, too. So two slots less than a power of two take half of the
 * memory.
 *
 * Return: number of work requests, without the drain's.
 */
u32 rdmablk_limits_reads(const struct rdmablk_limits_out *out, u32 reserved)
{
	u32 slots = out->send_slots - reserved;

	if (is_power_of_2(slots) && slots >= 2 * out->max_chain + 2)
		slots -= 2;
	return slots;
}

/**
 * rdmablk_limits_receive() - limit the memory for the answers of a target
 * @queues: hardware queues granted
 * @tags: command tags of each; offer of the target, reduced to what is used
 * @bytes: payload of an answer, bytes; offer of the target, reduced to what is used
 *
 * Each tag has a receive buffer of @bytes. The buffers shrink first, so that fewer READs get
 * their data in the answer. Then the number of tags shrinks, and requests wait for tags.
 */
void rdmablk_limits_receive(u32 queues, u32 *tags, u32 *bytes)
{
	u32 each = RDMABLK_MAX_RECV_BYTES / queues;

	if (!*bytes)
		return;
	if (*bytes > each / *tags)
		*bytes = max_t(u32, round_down(each / *tags, RDMABLK_MIN_RECV_BYTES),
			       min_t(u32, *bytes, RDMABLK_MIN_RECV_BYTES));
	*tags = min_t(u32, *tags, each / *bytes);
}
