// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block request as RDMA READs or WRITEs.
 *
 * The pages of the request are one mapping for the device, whose pieces become
 * scatter/gather elements under pd->local_dma_lkey: nothing is registered, nothing
 * is copied, no key of this host leaves it. An IOMMU may make one piece of many
 * segments. As many elements as a work request takes make one, as many work requests
 * as it takes make a chain. Only the last is signalled.
 *
 * All memory was allocated before. A tag has what few segments need. More segments take
 * memory of a reserve of the hardware queue; a request that finds none waits in the
 * block layer, as one does that finds no send slot.
 *
 * The remote side of a request is one contiguous piece: the block layer splits at
 * region ends (chunk_sectors), and a request that crosses one is refused by
 * rdmablk_onesided_map() rather than sent to the wrong memory.
 */
#include <linux/bitops.h>
#include <linux/scatterlist.h>
#include "onesided.h"

static struct rdmablk_segments *rdmablk_onesided_get(struct rdmablk_reserve *reserve)
{
	unsigned long i;

	do {
		i = find_first_zero_bit(&reserve->used, RDMABLK_RESERVE);
		if (i >= RDMABLK_RESERVE)
			return NULL;
	} while (test_and_set_bit_lock(i, &reserve->used));
	return &reserve->segments[i];
}

static void rdmablk_onesided_put(struct rdmablk_request *req)
{
	struct rdmablk_segments *segments = req->segments;

	if (!segments)
		return;
	req->segments = NULL;
	clear_bit_unlock(segments - segments->reserve->segments, &segments->reserve->used);
}

static struct scatterlist *rdmablk_onesided_sg(struct rdmablk_request *req)
{
	return req->segments ? req->segments->sg : req->sg;
}

/**
 * rdmablk_onesided_unmap_all() - unmap the pages of a request of any shape
 * @path: path; its device is still there
 * @rq: request that no work request refers to any more; may have been unmapped
 */
void rdmablk_onesided_unmap_all(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (!req->nr_sge)
		return;
	if (req->nr_sg)
		ib_dma_unmap_sg(path->dev, rdmablk_onesided_sg(req), req->nr_sg,
				rdmablk_onesided_dir(rq));
	else
		ib_dma_unmap_page(path->dev, req->sge[0].addr, req->sge[0].length,
				  rdmablk_onesided_dir(rq));
	req->nr_sg = 0;
	rdmablk_onesided_put(req);
}

/* Maps @nr entries of the table, and makes elements of what has become of them. */
static bool rdmablk_onesided_map_sg(struct rdmablk_path *path, struct request *rq,
				    struct scatterlist *sg, unsigned int nr)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	int n = ib_dma_map_sg(path->dev, sg, nr, rdmablk_onesided_dir(rq));
	struct ib_sge *sge;
	int i;

	if (unlikely(n <= 0))
		return false;
	req->nr_sg = nr;
	req->nr_sge = n;
	req->nr_wr = DIV_ROUND_UP(n, path->sge_per_wr);
	sge = rdmablk_request_sge(req);
	for (i = 0; i < n; i++) {
		sge[i].addr = sg_dma_address(&sg[i]);
		sge[i].length = sg_dma_len(&sg[i]);
		sge[i].lkey = path->lkey;
	}
	return true;
}

/* Maps a table of one entry, whose memory is not needed any longer. */
static bool rdmablk_onesided_map_single(struct rdmablk_path *path, struct request *rq,
					struct scatterlist *sg)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	if (!rdmablk_onesided_map_page(path, rq, req->sge, sg_page(sg), sg->offset,
				       sg->length))
		return false;
	req->nr_sge = 1;
	req->nr_wr = 1;
	rdmablk_onesided_put(req);
	return true;
}

/**
 * rdmablk_onesided_map_all() - map the pages of a request of any shape
 * @path: live path
 * @hwq: hardware queue of the request
 * @rq: see rdmablk_onesided_map_pages()
 *
 * All segments are one mapping. An IOMMU may make one element of them all.
 *
 * Return: BLK_STS_OK; BLK_STS_RESOURCE when they cannot be mapped now; BLK_STS_IOERR when
 * there are more of them than the block layer was told of.
 */
blk_status_t rdmablk_onesided_map_all(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
				      struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	unsigned int nr = blk_rq_nr_phys_segments(rq);
	struct scatterlist *sg;
	bool mapped;

	if (WARN_ON_ONCE(nr > queue_max_segments(rq->q)))
		return BLK_STS_IOERR;
	if (nr > RDMABLK_FEW_SEGMENTS) {
		req->segments = rdmablk_onesided_get(&hwq->reserve);
		if (!req->segments)
			return BLK_STS_RESOURCE;
	}
	sg = rdmablk_onesided_sg(req);
	nr = rdmablk_compat_map_sg(rq, sg);
	mapped = nr == 1 ? rdmablk_onesided_map_single(path, rq, sg) :
			   rdmablk_onesided_map_sg(path, rq, sg, nr);
	if (likely(mapped))
		return BLK_STS_OK;
	rdmablk_onesided_put(req);
	return BLK_STS_RESOURCE;
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
	struct ib_sge *sge = rdmablk_request_sge(req);
	u32 left = req->nr_sge, n;
	struct ib_rdma_wr *wr;

	while (left) {
		n = min(left, path->sge_per_wr);
		left -= n;
		wr = rdmablk_queue_next_wr(req->queue);
		rdmablk_onesided_fill(wr, req, op, remote, rkey);
		wr->wr.sg_list = sge;
		wr->wr.num_sge = n;
		wr->wr.send_flags = left || !signal ? 0 : IB_SEND_SIGNALED;
		for (; n; n--, sge++)
			remote += sge->length;
	}
}

/**
 * rdmablk_onesided_follow() - put what completes a WRITE behind its work requests
 * @rq: mapped, of a queue whose lock is held; it has a command, or its queue a tail
 */
void rdmablk_onesided_follow(struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_queue *q = req->queue;
	struct ib_rdma_wr *wr;

	if (req->cmd) {
		rdmablk_cmdq_add(req->cmd);
		return;
	}
	wr = rdmablk_queue_next_wr(q);
	rdmablk_onesided_fill(wr, req, IB_WR_RDMA_READ,
			      req->remote + blk_rq_bytes(rq) - RDMABLK_TAIL_BYTES, req->rkey);
	wr->wr.sg_list = &q->tail_sge;
	wr->wr.num_sge = 1;
	wr->wr.send_flags = IB_SEND_SIGNALED;
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
