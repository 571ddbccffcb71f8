// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block request as RDMA READs or WRITEs.
 *
 * All pages of the request are one DMA mapping, and its pieces become scatter/gather
 * elements under pd->local_dma_lkey: nothing is registered, nothing is copied, and no key
 * of this host leaves it. An IOMMU may merge many segments into one piece. Each work
 * request carries as many elements as it can, and the work requests form a chain. Only the
 * last one is signalled.
 *
 * No memory is allocated here. A tag has room for a few segments. A request with more takes
 * memory from a reserve of the hardware queue. If the reserve is empty, the request waits
 * in the block layer, as it does when there are no send slots.
 *
 * The remote range of a request is contiguous: the block layer splits requests at the ends
 * of regions (chunk_sectors). rdmablk_onesided_map() refuses a request that crosses one
 * rather than send it to the wrong memory.
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
 * rdmablk_onesided_unmap_all() - unmap the pages of a request, however many segments
 * @path: data path; its device still exists
 * @rq: request that no work request refers to any more; may be unmapped already
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

/* Maps @nr entries of the table and turns the resulting pieces into elements. */
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

/* Maps a table with one entry, and gives the memory of the table back. */
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
 * rdmablk_onesided_map_all() - map the pages of a request, however many segments
 * @path: data path, live
 * @hwq: hardware queue of the request
 * @rq: see rdmablk_onesided_map_pages()
 *
 * All segments form one mapping, which an IOMMU may merge into one element.
 *
 * Return: BLK_STS_OK; BLK_STS_RESOURCE: cannot be mapped now; BLK_STS_IOERR: the request has
 * more segments than the limit that the block layer was given.
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
	/*
	 * The table is used again without sg_init_table(). Of an earlier mapping only
	 * SG_DMA_SWIOTLB stays in it. An IOMMU sets that for each mapping of an untrusted device,
	 * and for pieces of less than two cache lines, which a request does not have: a sector
	 * is longer. So either all requests of a device have it, or none. Only a disk that
	 * reconnects from an untrusted device, one at an external port, to a trusted one would
	 * have it wrong.
	 */
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
 * @path: data path, live
 * @req: mapped; the caller holds the lock of its queue
 * @op: RDMA READ or WRITE
 * @remote: address at the target
 * @rkey: key for @remote
 * @signal: the last work request completes @req->cqe
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
 * rdmablk_onesided_follow() - put behind a WRITE its command, or the READ of the tail
 * @rq: mapped; has a command, or its queue has a tail; the caller holds the queue's lock
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
 * rdmablk_onesided_send_list() - hand mapped requests to their queue pair and post them
 * @path: data path, live
 * @q: queue of all these requests
 * @list: started requests; send slots are taken for their work requests
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
