/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inlined data path of a request with one segment, the most frequent kind; see
 * onesided.c and dispatch.c.
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
 * rdmablk_request_start() - position of a request's first byte
 * @rq: request
 *
 * Return: offset in the export, bytes.
 */
static inline u64 rdmablk_request_start(struct request *rq)
{
	return (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
}

/**
 * rdmablk_request_hand_over() - let the block layer call ->complete()
 * @rq: request with a status; the device is done with it
 *
 * The block layer may hand the request to another processor. If that processor went offline
 * between the block layer's check and the hand-over, the request would wait until it is back.
 * Taking a processor offline waits for sections without preemption. With PREEMPT_RT the
 * block layer hands nothing over, and ->complete() takes sleeping locks.
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
 * rdmablk_onesided_unmap() - undo rdmablk_onesided_map_pages()
 * @path: data path; its device still exists
 * @rq: request that no work request refers to any more; may be unmapped already
 */
static inline void rdmablk_onesided_unmap(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	/* Software devices (virtual DMA) have nothing to unmap for a single segment. */
	if (unlikely(req->nr_sge != 1) || !ib_uses_virt_dma(path->dev))
		rdmablk_onesided_unmap_all(path, rq);
	req->nr_sge = 0;
}

/**
 * rdmablk_onesided_map_page() - map one segment, physically contiguous memory
 * @path: data path, live
 * @rq: request of the segment
 * @sge: element to fill in
 * @page: first page
 * @offset: start within @page, bytes; may be more than a page
 * @len: length, bytes
 *
 * Return: false: cannot be mapped now.
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
 * @path: data path, live
 * @hwq: hardware queue of the request
 * @rq: REQ_OP_READ or REQ_OP_WRITE, not mapped
 *
 * Return: BLK_STS_OK; BLK_STS_RESOURCE: the pages cannot be mapped now.
 */
static inline blk_status_t rdmablk_onesided_map_pages(struct rdmablk_path *path,
						      struct rdmablk_hwq *hwq,
						      struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u32 bytes = blk_rq_bytes(rq);
	struct bio_vec bv;

	/* Most requests are one page or less and need no loop. */
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
 * rdmablk_onesided_map() - find the remote address of a read or write, and map its pages
 * @path: data path, live
 * @hwq: hardware queue of the request
 * @rq: REQ_OP_READ or REQ_OP_WRITE, not mapped
 *
 * Return: BLK_STS_OK; BLK_STS_RESOURCE: the pages cannot be mapped now; BLK_STS_IOERR: the
 * request does not lie within one region of the export.
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

	/* If pos + bytes overflows 64 bits, the last byte is in another region. */
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
 * rdmablk_onesided_add() - add a request's work requests to its queue's batch
 * @path: data path, live
 * @req: mapped; the caller holds the lock of its queue
 * @op: RDMA READ or WRITE
 * @remote: address at the target
 * @rkey: key for @remote
 * @signal: the last work request completes @req->cqe; else a later work request does
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
 * rdmablk_onesided_add_request() - add a request to its queue's batch
 * @path: data path, live
 * @rq: mapped by rdmablk_onesided_map(); the caller holds the lock of its queue
 *
 * If the request has a command, the command follows its WRITEs on the same queue pair, and
 * the answer completes the request. If the queue has a tail, a READ does; see queue.c.
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
 * @path: data path, live
 * @rq: started request; send slots are taken for its work requests
 * @flush: post the batch; else the caller calls rdmablk_queue_commit() later
 *
 * The request may complete, and its tag may be in use again, before this returns.
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
