/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data path of a request of one segment, which most are, in line; see onesided.c and
 * dispatch.c.
 */
#ifndef RDMABLK_ONESIDED_H
#define RDMABLK_ONESIDED_H

#include "cmdq.h"
#include "compat.h"
#include "request.h"

void rdmablk_onesided_unmap_all(struct rdmablk_path *path, struct request *rq);
blk_status_t rdmablk_onesided_map_all(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
				      struct request *rq);
void rdmablk_onesided_add_chain(struct rdmablk_path *path, struct rdmablk_request *req,
				enum ib_wr_opcode op, u64 remote, u32 rkey, bool signal);
void rdmablk_onesided_follow(struct request *rq);
void rdmablk_onesided_send_list(struct rdmablk_path *path, struct rdmablk_queue *q,
				struct rq_list *list);

/**
 * rdmablk_request_start() - where a request begins
 * @rq: request
 *
 * Return: bytes.
 */
static inline u64 rdmablk_request_start(struct request *rq)
{
	return (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
}

/**
 * rdmablk_request_hand_over() - have ->complete() called
 * @rq: request with a status, no device's any more
 *
 * It may be handed to another processor, which must not go away between the block layer's
 * look at it and that: there it would lie until the processor is back. Taking one away
 * waits for sections without preemption. With PREEMPT_RT the block layer hands over
 * nothing, and ->complete() takes locks that sleep.
 */
static inline void rdmablk_request_hand_over(struct request *rq)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		blk_mq_complete_request(rq);
		return;
	}
	preempt_disable();
	blk_mq_complete_request(rq);
	preempt_enable();
}

static inline enum dma_data_direction rdmablk_onesided_dir(struct request *rq)
{
	return rq_data_dir(rq) == WRITE ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/**
 * rdmablk_onesided_unmap() - unmap what rdmablk_onesided_map_pages() mapped
 * @path: path; its device is still there
 * @rq: request that no work request refers to any more; may have been unmapped
 */
static inline void rdmablk_onesided_unmap(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	/* A single segment needs no unmapping where the device is software. */
	if (unlikely(req->nr_sge != 1) || !ib_uses_virt_dma(path->dev))
		rdmablk_onesided_unmap_all(path, rq);
	req->nr_sge = 0;
}

/**
 * rdmablk_onesided_map_page() - map physically contiguous memory, a segment
 * @path: live path
 * @rq: request it is of
 * @sge: element that gets it
 * @page: where it begins
 * @offset: from there, bytes; may be more than a page
 * @len: bytes
 *
 * Return: false: not now.
 */
static inline bool rdmablk_onesided_map_page(struct rdmablk_path *path,
					     struct request *rq, struct ib_sge *sge,
					     struct page *page, u32 offset, u32 len)
{
	u64 addr = ib_dma_map_page(path->dev, page, offset, len,
				   rdmablk_onesided_dir(rq));

	if (unlikely(ib_dma_mapping_error(path->dev, addr)))
		return false;
	sge->addr = addr;
	sge->length = len;
	sge->lkey = path->lkey;
	return true;
}

/**
 * rdmablk_onesided_map_pages() - map the pages of a read or write request
 * @path: live path
 * @hwq: hardware queue of the request
 * @rq: REQ_OP_READ or REQ_OP_WRITE, nothing of which is mapped
 *
 * Return: BLK_STS_OK, or BLK_STS_RESOURCE when they cannot be mapped now.
 */
static inline blk_status_t rdmablk_onesided_map_pages(struct rdmablk_path *path,
						      struct rdmablk_hwq *hwq,
						      struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u32 bytes = blk_rq_bytes(rq);
	struct bio_vec bv;

	/* Mostly it is one page or less, and no loop is needed. */
	if (unlikely(blk_rq_nr_phys_segments(rq) != 1))
		return rdmablk_onesided_map_all(path, hwq, rq);
	bv = req_bvec(rq);
	if (unlikely(bv.bv_len != bytes || bytes > path->max_segment))
		return rdmablk_onesided_map_all(path, hwq, rq);
	if (unlikely(!rdmablk_onesided_map_page(path, rq, req->sge, bv.bv_page,
						bv.bv_offset, bytes)))
		return BLK_STS_RESOURCE;
	req->nr_sge = 1;
	req->nr_wr = 1;
	return BLK_STS_OK;
}

/**
 * rdmablk_onesided_map() - find where a read or write request goes, and map its pages
 * @path: live path
 * @hwq: hardware queue of the request
 * @rq: REQ_OP_READ or REQ_OP_WRITE, nothing of which is mapped
 *
 * Return: BLK_STS_OK; BLK_STS_RESOURCE when the pages cannot be mapped now;
 * BLK_STS_IOERR when the request does not lie within one region of the export.
 */
static inline blk_status_t rdmablk_onesided_map(struct rdmablk_path *path,
						struct rdmablk_hwq *hwq,
						struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u64 pos = rdmablk_request_start(rq);
	u32 bytes = blk_rq_bytes(rq);
	u64 last = pos + bytes - 1;
	const struct rdmablk_wire_region *region;

	/* One whose end does not fit into 64 bits has its last byte in another region. */
	if (unlikely(!bytes || last >= path->size || (pos ^ last) >> path->region_shift))
		return BLK_STS_IOERR;
	region = &path->region[pos >> path->region_shift];
	req->remote = region->iova + (pos & path->region_mask);
	req->rkey = region->rkey;
	return rdmablk_onesided_map_pages(path, hwq, rq);
}

static inline void rdmablk_onesided_fill(struct ib_rdma_wr *wr,
					 struct rdmablk_request *req,
					 enum ib_wr_opcode op, u64 remote, u32 rkey)
{
	wr->wr.wr_cqe = &req->cqe;
	wr->wr.opcode = op;
	wr->remote_addr = remote;
	wr->rkey = rkey;
}

/**
 * rdmablk_onesided_add() - put a request's work requests at the end of its queue's batch
 * @path: live path
 * @req: mapped; the lock of its queue is held
 * @op: RDMA READ or WRITE
 * @remote: address at the target
 * @rkey: key of it
 * @signal: the last one completes @req->cqe; else something follows that does
 */
static inline void rdmablk_onesided_add(struct rdmablk_path *path,
					struct rdmablk_request *req,
					enum ib_wr_opcode op, u64 remote, u32 rkey,
					bool signal)
{
	struct ib_rdma_wr *wr;

	if (unlikely(req->nr_sge != 1)) {
		rdmablk_onesided_add_chain(path, req, op, remote, rkey, signal);
		return;
	}
	wr = rdmablk_queue_next_wr(req->queue);
	rdmablk_onesided_fill(wr, req, op, remote, rkey);
	wr->wr.sg_list = req->sge;
	wr->wr.num_sge = 1;
	wr->wr.send_flags = signal ? IB_SEND_SIGNALED : 0;
}

/**
 * rdmablk_onesided_add_request() - put a request at the end of its queue's batch
 * @path: live path
 * @rq: mapped by rdmablk_onesided_map(); the lock of its queue is held
 *
 * A command of the request follows its WRITEs on the same queue pair, and its answer
 * completes it; or a READ does, see queue.c.
 */
static inline void rdmablk_onesided_add_request(struct rdmablk_path *path,
						struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	rdmablk_onesided_add(path, req, rq_data_dir(rq) == WRITE ?
			     IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
			     req->remote, req->rkey, !req->more);
	if (unlikely(req->more))
		rdmablk_onesided_follow(rq);
}

/**
 * rdmablk_onesided_send() - hand a mapped request to its queue pair
 * @path: live path
 * @rq: started request, with send slots taken for its work requests
 * @flush: post the batch; else a rdmablk_queue_commit() follows
 *
 * The request may complete, and its tag be in use again, before this returns.
 */
static inline void rdmablk_onesided_send(struct rdmablk_path *path, struct request *rq,
					 bool flush)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_queue *q = req->queue;

	spin_lock_bh(&q->lock);
	rdmablk_onesided_add_request(path, rq);
	if (flush)
		rdmablk_queue_post(q);
	spin_unlock_bh(&q->lock);
}

#endif /* RDMABLK_ONESIDED_H */
