// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block request as RDMA READs or WRITEs.
 *
 * Each segment of the request is mapped for the device and becomes one
 * scatter/gather element under pd->local_dma_lkey: nothing is registered, nothing
 * is copied, no key of this host leaves it. As many elements as the device takes
 * make one work request, as many work requests as it takes make a chain. Only the
 * last is signalled. All of the memory that a request needs was allocated with its
 * tag.
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
	struct ib_sge *sge = rdmablk_request_sge(path, req);
	u16 i;

	for (i = 0; i < req->nr_sge; i++)
		ib_dma_unmap_page(path->dev, sge[i].addr, sge[i].length,
				  rdmablk_onesided_dir(rq));
	req->nr_sge = 0;
}

static int rdmablk_onesided_map_sge(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct ib_sge *sge = rdmablk_request_sge(path, req);
	struct req_iterator iter;
	struct bio_vec bv;
	u64 addr;

	req->nr_sge = 0;
	rq_for_each_bvec(bv, rq, iter) {
		addr = ib_dma_map_page(path->dev, bv.bv_page, bv.bv_offset,
				       bv.bv_len, rdmablk_onesided_dir(rq));
		if (unlikely(ib_dma_mapping_error(path->dev, addr))) {
			rdmablk_onesided_unmap(path, rq);
			return -ENOMEM;
		}
		sge[req->nr_sge].addr = addr;
		sge[req->nr_sge].length = bv.bv_len;
		sge[req->nr_sge].lkey = path->lkey;
		req->nr_sge++;
	}
	return 0;
}

static void rdmablk_onesided_chain(struct rdmablk_path *path, struct request *rq,
				   u64 remote, u32 rkey)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct ib_sge *sge = rdmablk_request_sge(path, req);
	enum ib_wr_opcode op = rq_data_dir(rq) == WRITE ? IB_WR_RDMA_WRITE :
							  IB_WR_RDMA_READ;
	struct ib_rdma_wr *wr = NULL;
	u64 bytes = 0;
	u16 i;

	req->nr_wr = 0;
	for (i = 0; i < req->nr_sge; i++) {
		if (!wr || wr->wr.num_sge == path->sge_per_wr ||
		    bytes + sge[i].length > path->max_msg) {
			struct ib_rdma_wr *next = &req->wr[req->nr_wr++];

			*next = (struct ib_rdma_wr) {
				.wr.sg_list	= &sge[i],
				.wr.wr_cqe	= &req->cqe,
				.wr.opcode	= op,
				.remote_addr	= remote,
				.rkey		= rkey,
			};
			if (wr)
				wr->wr.next = &next->wr;
			wr = next;
			bytes = 0;
		}
		wr->wr.num_sge++;
		bytes += sge[i].length;
		remote += sge[i].length;
	}
	wr->wr.send_flags = IB_SEND_SIGNALED;
}

/**
 * rdmablk_onesided_map() - map a read or write request and build its work requests
 * @path: live path
 * @rq: REQ_OP_READ or REQ_OP_WRITE
 *
 * Return: 0; -ENOMEM when the pages cannot be mapped now; -ERANGE when the request
 * does not lie within one region of the export.
 */
int rdmablk_onesided_map(struct rdmablk_path *path, struct request *rq)
{
	u64 pos = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	u64 mask = (1ULL << path->region_shift) - 1;
	u32 bytes = blk_rq_bytes(rq);
	const struct rdmablk_wire_region *region;
	int ret;

	if (unlikely(!bytes || pos >= path->size || bytes > path->size - pos ||
		     (pos & mask) + bytes > mask + 1))
		return -ERANGE;
	ret = rdmablk_onesided_map_sge(path, rq);
	if (unlikely(ret))
		return ret;
	region = &path->region[pos >> path->region_shift];
	rdmablk_onesided_chain(path, rq, region->iova + (pos & mask), region->rkey);
	return 0;
}
