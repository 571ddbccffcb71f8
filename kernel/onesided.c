// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block request as RDMA READs or WRITEs.
 *
 * Each segment of the request is mapped for the device and becomes one
 * scatter/gather element under pd->local_dma_lkey: nothing is registered, nothing
 * is copied, no key of this host leaves it. As many elements as the device takes
 * make one work request, as many work requests as it takes make a chain. Only the
 * last is signalled. The memory that a request needs was allocated with its tag and
 * with its queue.
 *
 * The remote side of a request is one contiguous piece: the block layer splits at
 * region ends (chunk_sectors), and a request that crosses one is refused here
 * rather than sent to the wrong memory.
 */
#include <linux/errno.h>
#include "onesided.h"
#include "wire.h"

static enum dma_data_direction rdmablk_onesided_dir(struct request *rq)
{
	return rq_data_dir(rq) == WRITE ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/**
 * rdmablk_onesided_unmap() - unmap what rdmablk_onesided_map() mapped
 * @path: path; its device is still there
 * @rq: request that no work request refers to any more; may have been unmapped
 */
void rdmablk_onesided_unmap(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u16 i;

	for (i = 0; i < req->nr_sge; i++)
		ib_dma_unmap_page(path->dev, req->sge[i].addr, req->sge[i].length,
				  rdmablk_onesided_dir(rq));
	req->nr_sge = 0;
}

/*
 * One segment of the request as the block layer counts them: a bio_vec, or a part
 * of one that is larger than what the device maps at once.
 */
static int rdmablk_onesided_map_one(struct rdmablk_path *path, struct request *rq,
				    const struct bio_vec *bv, u32 done, u32 len)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct ib_sge *sge = &req->sge[req->nr_sge];
	u64 addr;

	if (WARN_ON_ONCE(req->nr_sge == queue_max_segments(rq->q)))
		return -ERANGE;
	addr = ib_dma_map_page(path->dev, bv->bv_page, bv->bv_offset + done, len,
			       rdmablk_onesided_dir(rq));
	if (unlikely(ib_dma_mapping_error(path->dev, addr)))
		return -ENOMEM;
	sge->addr = addr;
	sge->length = len;
	sge->lkey = path->lkey;
	req->nr_sge++;
	return 0;
}

/**
 * rdmablk_onesided_map() - map a read or write request
 * @path: live path
 * @rq: REQ_OP_READ or REQ_OP_WRITE
 *
 * Return: BLK_STS_OK; BLK_STS_RESOURCE when the pages cannot be mapped now;
 * BLK_STS_IOERR when the request does not lie within one region of the export.
 */
blk_status_t rdmablk_onesided_map(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u64 pos = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	u64 mask = (1ULL << path->region_shift) - 1;
	u32 done, len, bytes = blk_rq_bytes(rq);
	struct req_iterator iter;
	struct bio_vec bv;
	int ret;

	req->nr_sge = 0;
	if (unlikely(!bytes || pos >= path->size || bytes > path->size - pos ||
		     (pos & mask) + bytes > mask + 1))
		return BLK_STS_IOERR;
	rq_for_each_bvec(bv, rq, iter) {
		for (done = 0; done < bv.bv_len; done += len) {
			len = min(bv.bv_len - done, path->max_segment);
			ret = rdmablk_onesided_map_one(path, rq, &bv, done, len);
			if (unlikely(ret)) {
				rdmablk_onesided_unmap(path, rq);
				return ret == -ENOMEM ? BLK_STS_RESOURCE : BLK_STS_IOERR;
			}
		}
	}
	req->nr_wr = req->nr_sge <= path->sge_per_wr ? 1 :
		     DIV_ROUND_UP(req->nr_sge, path->sge_per_wr);
	return BLK_STS_OK;
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
void rdmablk_onesided_add(struct rdmablk_path *path, struct rdmablk_request *req,
			  enum ib_wr_opcode op, u64 remote, u32 rkey, bool signal)
{
	u32 first = 0, left = req->nr_sge, n, i;
	struct ib_rdma_wr *wr;

	while (left) {
		n = min(left, path->sge_per_wr);
		left -= n;
		wr = rdmablk_queue_next_wr(req->queue);
		wr->wr.wr_cqe = &req->cqe;
		wr->wr.sg_list = &req->sge[first];
		wr->wr.num_sge = n;
		wr->wr.opcode = op;
		wr->wr.send_flags = left || !signal ? 0 : IB_SEND_SIGNALED;
		wr->remote_addr = remote;
		wr->rkey = rkey;
		/* Nothing follows the last one, so its length is not needed. */
		for (i = first; left && i < first + n; i++)
			remote += req->sge[i].length;
		first += n;
	}
}

/*
 * With the lock of its queue held. A command of the request follows its WRITEs on the
 * same queue pair, and its answer completes it.
 */
static void rdmablk_onesided_add_request(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u64 pos = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	const struct rdmablk_wire_region *region = &path->region[pos >> path->region_shift];
	u64 remote = region->iova + (pos & ((1ULL << path->region_shift) - 1));
	enum ib_wr_opcode op = rq_data_dir(rq) == WRITE ? IB_WR_RDMA_WRITE :
							  IB_WR_RDMA_READ;

	rdmablk_onesided_add(path, req, op, remote, region->rkey, !req->cmd);
	if (req->cmd)
		rdmablk_cmd_add(req->cmd);
}

/**
 * rdmablk_onesided_send() - hand a mapped request to its queue pair
 * @path: live path
 * @rq: started request, with send slots taken for its work requests
 * @flush: post the batch; else a rdmablk_queue_commit() follows
 *
 * The request may complete, and its tag be in use again, before this returns.
 */
void rdmablk_onesided_send(struct rdmablk_path *path, struct request *rq, bool flush)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_queue *q = req->queue;

	spin_lock_bh(&q->lock);
	rdmablk_onesided_add_request(path, rq);
	if (flush)
		rdmablk_queue_post(q);
	spin_unlock_bh(&q->lock);
}

/**
 * rdmablk_onesided_send_list() - hand mapped requests to their queue pair, and post them
 * @path: live path
 * @q: queue of all of them
 * @list: started requests, each with send slots taken for its work requests
 */
void rdmablk_onesided_send_list(struct rdmablk_path *path, struct rdmablk_queue *q,
				struct rq_list *list)
{
	struct request *rq;

	if (rq_list_empty(list))
		return;
	spin_lock_bh(&q->lock);
	while ((rq = rq_list_pop(list)))
		rdmablk_onesided_add_request(path, rq);
	rdmablk_queue_post(q);
	spin_unlock_bh(&q->lock);
}
