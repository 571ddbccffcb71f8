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
 * region ends (chunk_sectors), and a request that crosses one is refused by
 * rdmablk_onesided_map() rather than sent to the wrong memory.
 */
#include "onesided.h"

/**
 * rdmablk_onesided_unmap_all() - unmap the pages of a request for a device with DMA
 * @path: path; its device is still there
 * @rq: request that no work request refers to any more
 */
void rdmablk_onesided_unmap_all(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u16 i;

	for (i = 0; i < req->nr_sge; i++)
		ib_dma_unmap_page(path->dev, req->sge[i].addr, req->sge[i].length,
				  rdmablk_onesided_dir(rq));
}

/**
 * rdmablk_onesided_map_all() - map the pages of a request of any shape
 * @path: live path
 * @rq: see rdmablk_onesided_map_pages()
 *
 * Its segments are bio_vecs, as the block layer counts them, or parts of one that is
 * larger than what the device maps at once.
 *
 * Return: BLK_STS_OK; BLK_STS_RESOURCE when they cannot be mapped now.
 */
blk_status_t rdmablk_onesided_map_all(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u16 most = queue_max_segments(rq->q);
	struct req_iterator iter;
	struct bio_vec bv;
	u32 done, len;

	rq_for_each_bvec(bv, rq, iter) {
		for (done = 0; done < bv.bv_len; done += len) {
			len = min(bv.bv_len - done, path->max_segment);
			if (WARN_ON_ONCE(req->nr_sge == most)) {
				rdmablk_onesided_unmap(path, rq);
				return BLK_STS_IOERR;
			}
			if (!rdmablk_onesided_map_page(path, rq, &req->sge[req->nr_sge],
						       bv.bv_page, bv.bv_offset + done,
						       len)) {
				rdmablk_onesided_unmap(path, rq);
				return BLK_STS_RESOURCE;
			}
			req->nr_sge++;
		}
	}
	req->nr_wr = DIV_ROUND_UP(req->nr_sge, path->sge_per_wr);
	return BLK_STS_OK;
}

/**
 * rdmablk_onesided_add_chain() - rdmablk_onesided_add() for any number of work requests
 * @path: live path
 * @req: mapped; the lock of its queue is held
 * @op: RDMA READ or WRITE
 * @remote: address at the target
 * @rkey: key of it
 * @signal: the last one completes @req->cqe
 */
void rdmablk_onesided_add_chain(struct rdmablk_path *path, struct rdmablk_request *req,
				enum ib_wr_opcode op, u64 remote, u32 rkey, bool signal)
{
	u32 first = 0, left = req->nr_sge, n, i;
	struct ib_rdma_wr *wr;

	while (left) {
		n = min(left, path->sge_per_wr);
		left -= n;
		wr = rdmablk_queue_next_wr(req->queue);
		rdmablk_onesided_fill(wr, req, op, remote, rkey);
		wr->wr.sg_list = &req->sge[first];
		wr->wr.num_sge = n;
		wr->wr.send_flags = left || !signal ? 0 : IB_SEND_SIGNALED;
		/* Nothing follows the last one, so its length is not needed. */
		for (i = first; left && i < first + n; i++)
			remote += req->sge[i].length;
		first += n;
	}
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
