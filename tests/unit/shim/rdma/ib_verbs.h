/* SPDX-License-Identifier: GPL-2.0-only */
/* Types that structures of the data path have as members. */
#ifndef SHIM_RDMA_IB_VERBS_H
#define SHIM_RDMA_IB_VERBS_H

#include <linux/types.h>

struct ib_cq;
struct ib_device;
struct ib_pd;
struct ib_qp;
struct ib_wc;

struct ib_cqe {
	void (*done)(struct ib_cq *cq, struct ib_wc *wc);
};

struct ib_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

enum ib_wr_opcode {
	IB_WR_RDMA_WRITE,
	IB_WR_RDMA_READ,
	IB_WR_SEND,
	IB_WR_RDMA_WRITE_WITH_IMM,
};

#define IB_SEND_SIGNALED	2

struct ib_send_wr {
	struct ib_send_wr *next;
	struct ib_cqe *wr_cqe;
	struct ib_sge *sg_list;
	int num_sge;
	enum ib_wr_opcode opcode;
	int send_flags;
	union {
		u32 imm_data;
	} ex;
};

struct ib_rdma_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u32 rkey;
};

enum dma_data_direction {
	DMA_TO_DEVICE,
	DMA_FROM_DEVICE,
};

static inline void ib_dma_sync_single_for_cpu(struct ib_device *dev, u64 addr, size_t bytes,
					      enum dma_data_direction dir)
{
	(void)dev;
	(void)addr;
	(void)bytes;
	(void)dir;
}

#endif
