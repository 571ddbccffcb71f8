// SPDX-License-Identifier: GPL-2.0-only
/*
 * The abilities of an RDMA device, and whether it can carry a session.
 *
 * This file takes no reference to an ib_device. Every rdma_cm id that is bound to a device
 * holds one, and the removal of the device waits for these ids: a session destroys its last
 * id after everything else that it has on the device (session.c).
 */
#include <linux/dma-mapping.h>
#include <linux/errno.h>
#include "ibdev.h"

/**
 * rdmablk_ibdev_check() - whether a device can carry a session
 * @dev: RDMA device that leads to the target
 * @port: port of @dev
 * @why: set to a text on error
 *
 * The sink of an RDMA READ is local memory under pd->local_dma_lkey. On iWARP the key of
 * the sink travels on the wire and must grant remote write access. That would expose this
 * host's memory, so iWARP is refused.
 *
 * Return: 0, or -EOPNOTSUPP.
 */
int rdmablk_ibdev_check(struct ib_device *dev, u32 port, const char **why)
{
	if (rdma_protocol_iwarp(dev, port)) {
		*why = "iWARP devices are not supported";
		return -EOPNOTSUPP;
	}
	if (!dev->attrs.max_send_sge || !dev->attrs.max_sge_rd ||
	    !dev->attrs.max_qp_init_rd_atom) {
		*why = "the RDMA device cannot send RDMA READs";
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * rdmablk_ibdev_limits() - fill in the device's limits of work requests
 * @dev: RDMA device
 * @port: port of @dev
 * @in: only the fields that belong to the device are written
 */
void rdmablk_ibdev_limits(struct ib_device *dev, u32 port,
			  struct rdmablk_limits_in *in)
{
	struct ib_port_attr attr = { };

	in->max_send_sge = dev->attrs.max_send_sge;
	in->max_sge_rd = dev->attrs.max_sge_rd;
	in->max_qp_wr = dev->attrs.max_qp_wr;
	in->max_cqe = dev->attrs.max_cqe;
	in->max_msg_size = U32_MAX;
	if (!ib_query_port(dev, port, &attr) && attr.max_msg_sz)
		in->max_msg_size = attr.max_msg_sz;
}

/**
 * rdmablk_ibdev_max_segment() - most bytes that can be mapped as one piece
 * @dev: RDMA device
 *
 * A bounce buffer holds 256 KiB; a larger mapping would fail for ever.
 *
 * Return: a multiple of the page size.
 */
u32 rdmablk_ibdev_max_segment(struct ib_device *dev)
{
	size_t max = ib_dma_max_seg_size(dev);

	if (!ib_uses_virt_dma(dev))
		max = min(max, dma_max_mapping_size(dev->dma_device));
	return round_down(min_t(size_t, max, U32_MAX), PAGE_SIZE);
}

/**
 * rdmablk_ibdev_read_depth() - most RDMA READs in flight on one queue pair
 * @dev: RDMA device
 *
 * Return: 1 to 255, the range of rdma_conn_param.
 */
u8 rdmablk_ibdev_read_depth(struct ib_device *dev)
{
	return clamp_t(u32, dev->attrs.max_qp_init_rd_atom, 1, U8_MAX);
}
