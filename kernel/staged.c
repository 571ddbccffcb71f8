// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block requests as commands, for exports that are not in the target's memory.
 *
 *   small READ    command; the data is the payload of the answer
 *   large READ    command; answer; RDMA READ from the command's slot
 *   small WRITE   command with the data behind it; answer
 *   large WRITE   RDMA WRITE into the slot, command; answer
 *   any WRITE     RDMA WRITE into the slot with immediate data; answer. Needs the feature
 *                 IMPLIED, the implied tag, a single work request for all data, and a
 *                 position that the immediate data can express
 *   others        command; answer
 *
 * A slot is memory of the target for the data of one command. The slot belongs to the tag of
 * the command, so the request keeps the tag until nothing reads the slot any more. A request
 * takes everything that it needs later, such as slots of the read queue, before it begins:
 * the handling of an answer never has to wait.
 *
 * After a reconnect there may be fewer tags than requests. The block layer retries a READ or
 * WRITE that finds no tag. DISCARD and other slow commands always wait in the line of
 * fence.c, for half of the tags; in the block layer all later requests would wait behind
 * them. Requests from the block layer might always be faster than the line, which would then
 * wait for ever: so while the line has no tag, one request may pass, and then it is the
 * line's turn. A FLUSH that finds no tag does not wait: it is sent together with others on
 * the tag that is reserved for flushes (dispatch.c).
 */
#include <linux/errno.h>
#include "onesided.h"
#include "onesided_cmd.h"
#include "poll.h"
#include "staged.h"
#include "status.h"

static struct rdmablk_path *rdmablk_staged_path(struct request *rq)
{
	return rq->q->queuedata;
}

static struct rdmablk_hwq *rdmablk_staged_hwq(const struct rdmablk_request *req)
{
	return container_of(req->cmd->cmdq, struct rdmablk_hwq, cmdq);
}

static u64 rdmablk_staged_slot(struct rdmablk_path *path, const struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_hwq *hwq = container_of(cmd->cmdq, struct rdmablk_hwq, cmdq);
	u64 nr = (u64)hwq->nr * path->cmds.cmd_depth + cmd->tag;

	return path->cmds.slot_iova + nr * path->cmds.slot_bytes;
}

static bool rdmablk_staged_is_large_read(struct rdmablk_path *path, struct request *rq)
{
	return req_op(rq) == REQ_OP_READ && blk_rq_bytes(rq) > path->cmds.trailer_bytes;
}

/* Whether the request may take as long as the store needs */
static bool rdmablk_staged_is_slow(struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
	case REQ_OP_SECURE_ERASE:
		return true;
	default:
		return false;
	}
}

static void rdmablk_staged_end(struct request *rq, blk_status_t status)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_path *path = rdmablk_staged_path(rq);
	struct rdmablk_cmd_tag *cmd = req->cmd;

	rdmablk_onesided_unmap(path, rq);
	/* Before the request ends: the tag is the request's only until then. */
	req->cmd = NULL;
	rdmablk_fence_put(&path->fence, cmd, rdmablk_staged_is_slow(rq));
	if (req_op(rq) == REQ_OP_FLUSH) {
		rdmablk_flush_ahead_end(path, req->was_unflushed, !status);
	} else if (op_is_write(req_op(rq)) && req_op(rq) != REQ_OP_DISCARD && path->cache &&
		   (!req->durable || status)) {
		WRITE_ONCE(path->unflushed, true);
	}
	if (unlikely(status && req->durable && !(rq->cmd_flags & REQ_FUA))) {
		/* The write was durable unasked: send it again as an ordinary one. */
		rdmablk_flush_ahead_failed(path);
		if (unlikely(req->watched))
			rdmablk_poll_request_done(rq);
		/* As in rdmablk_request_requeue(): it must not be merged away. */
		rq->rq_flags |= RQF_DONTPREP;
		blk_mq_requeue_request(rq, true);
		return;
	}
	rdmablk_request_end(rq, status);
}

static void rdmablk_staged_read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdmablk_request *req = container_of(wc->wr_cqe, struct rdmablk_request,
						   cqe);
	struct rdmablk_queue *q = req->queue;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rdmablk_queue_failed(q, wc);
		return;
	}
	rdmablk_queue_put_slots(q, req->nr_wr);
	rdmablk_staged_end(blk_mq_rq_from_pdu(req), BLK_STS_OK);
}

/* Reads the data, which is in the slot. */
static void rdmablk_staged_fetch(struct rdmablk_path *path, struct rdmablk_request *req)
{
	struct rdmablk_queue *q = req->queue;

	spin_lock_bh(&q->lock);
	rdmablk_onesided_add(path, req, IB_WR_RDMA_READ,
			     rdmablk_staged_slot(path, req->cmd),
			     path->cmds.slot_rkey, true);
	rdmablk_queue_post(q);
	spin_unlock_bh(&q->lock);
}

static void rdmablk_staged_done(struct rdmablk_cmd_tag *cmd)
{
	struct request *rq = cmd->owner;
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_path *path = rdmablk_staged_path(rq);
	bool large = rdmablk_staged_is_large_read(path, rq);

	if (large && cmd->status == RDMABLK_OK) {
		rdmablk_staged_fetch(path, req);
		return;
	}
	if (large)
		rdmablk_queue_put_slots(req->queue, req->nr_wr);
	rdmablk_staged_end(rq, rdmablk_status_blk(cmd->status));
}

static bool rdmablk_staged_payload(struct rdmablk_cmd_tag *cmd, const void *data, u32 len)
{
	struct request *rq = cmd->owner;
	struct req_iterator iter;
	struct bio_vec bv;

	if (len != blk_rq_bytes(rq))
		return false;
	rq_for_each_segment(bv, rq, iter) {
		memcpy_to_bvec(&bv, data);
		data += bv.bv_len;
	}
	return true;
}

/* Whether the data of a mapped WRITE fits behind its command */
static bool rdmablk_staged_write_fits(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	return blk_rq_bytes(rq) <= path->cmds.trailer_bytes &&
	       req->nr_sge < min_t(u32, RDMABLK_CMD_SGES, path->sge_per_wr);
}

/* Whether slow commands wait for a tag while no slow command has one */
static bool rdmablk_staged_slow_waits(struct rdmablk_hwq *hwq)
{
	return READ_ONCE(hwq->waits) & BIT(RDMABLK_LINE_SLOW) && !atomic_read(&hwq->slow);
}

/* Takes a tag and the send slots for all work requests, or nothing. */
static blk_status_t rdmablk_staged_reserve(struct rdmablk_path *path,
					   struct rdmablk_hwq *hwq, struct request *rq,
					   bool trailer)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	bool large = rdmablk_staged_is_large_read(path, rq);
	bool pass = rdmablk_staged_slow_waits(hwq);
	int slots = 1;

	if (unlikely(pass) && READ_ONCE(hwq->passed))
		return BLK_STS_RESOURCE;
	if (req_op(rq) == REQ_OP_WRITE && !trailer)
		slots += req->nr_wr;
	if (large && !rdmablk_queue_get_slots(&hwq->read, req->nr_wr))
		return BLK_STS_RESOURCE;
	req->cmd = rdmablk_cmdq_get(&hwq->cmdq, slots);
	if (likely(req->cmd)) {
		/* The line may have got its tag meanwhile. */
		if (unlikely(pass) && rdmablk_staged_slow_waits(hwq))
			WRITE_ONCE(hwq->passed, true);
		return BLK_STS_OK;
	}
	if (large)
		rdmablk_queue_put_slots(&hwq->read, req->nr_wr);
	return BLK_STS_RESOURCE;
}

static void rdmablk_staged_own(struct rdmablk_cmd_tag *cmd, struct request *rq)
{
	cmd->owner = rq;
	cmd->done = rdmablk_staged_done;
	cmd->payload = NULL;
}

static void rdmablk_staged_command(struct request *rq, u16 op, u16 flags, u64 pos,
				   u32 trailer)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	rdmablk_staged_own(req->cmd, rq);
	rdmablk_cmdq_prepare(req->cmd, op, flags, pos, blk_rq_bytes(rq), trailer);
}

/* Upcall: a slow command has its tag. */
static void rdmablk_staged_send_slow(struct rdmablk_fence_op *op,
				     struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_request *req = container_of(op, struct rdmablk_request, fence);
	struct request *rq = blk_mq_rq_from_pdu(req);
	u16 flags, code = rdmablk_onesided_op(rq, &flags);

	req->cmd = cmd;
	rdmablk_staged_command(rq, code, flags, rdmablk_request_start(rq), 0);
	rdmablk_cmdq_send(cmd);
}

static blk_status_t rdmablk_staged_prepare_slow(struct rdmablk_hwq *hwq,
						struct rdmablk_request *req)
{
	req->fence.kind = RDMABLK_FENCE_ALONE;
	req->fence.hwq = hwq;
	req->fence.begin = rdmablk_request_begin;
	req->fence.send = rdmablk_staged_send_slow;
	return BLK_STS_OK;
}

static void rdmablk_staged_add_trailer(struct rdmablk_request *req)
{
	struct rdmablk_cmd_tag *cmd = req->cmd;

	memcpy(&cmd->sge[1], rdmablk_request_sge(req), req->nr_sge * sizeof(req->sge[0]));
	cmd->nr_sge = 1 + req->nr_sge;
}

/* Prepares a WRITE as a full command; with @trailer the data follows the command. */
static void rdmablk_staged_write(struct request *rq, u16 flags, bool trailer)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	rdmablk_staged_command(rq, RDMABLK_OP_WRITE,
			       flags | (trailer ? RDMABLK_IO_TRAILER : 0),
			       rdmablk_request_start(rq), trailer ? blk_rq_bytes(rq) : 0);
	req->cmd->pages = true;
	if (trailer)
		rdmablk_staged_add_trailer(req);
}

/* Return: true: the WRITE is prepared to be sent as its data only. */
static bool rdmablk_staged_imply(struct rdmablk_path *path, struct request *rq, u16 flags)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u32 imm;

	if (req->nr_wr != 1 ||
	    !rdmablk_wire_implied(rdmablk_request_start(rq), path->block_shift,
				  flags & RDMABLK_IO_FUA, &imm) ||
	    !rdmablk_cmdq_imply(req->cmd, imm))
		return false;
	rdmablk_staged_own(req->cmd, rq);
	return true;
}

/**
 * rdmablk_staged_prepare() - take everything that a request needs
 * @path: data path, live, of a staged session
 * @hwq: hardware queue
 * @rq: request
 *
 * Return: BLK_STS_OK, without a tag if the request must go through rdmablk_fence_queue();
 * BLK_STS_RESOURCE: try again later; or the status with which the request fails.
 */
blk_status_t rdmablk_staged_prepare(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
				    struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u64 pos = rdmablk_request_start(rq);
	bool write = req_op(rq) == REQ_OP_WRITE, trailer = false;
	u32 bytes = blk_rq_bytes(rq);
	u16 op, flags;
	blk_status_t ret;

	op = rdmablk_onesided_op(rq, &flags);
	if (!op)
		return BLK_STS_NOTSUPP;
	if (path->read_only && op_is_write(req_op(rq)))
		return BLK_STS_IOERR;
	rq->timeout = READ_ONCE(path->slow_tmo);
	if (op == RDMABLK_OP_READ || (write && !(flags & RDMABLK_IO_FUA)))
		rq->timeout = READ_ONCE(path->read_write_tmo);
	/* A FLUSH has no position; the block layer gives it a meaningless one. */
	if (op == RDMABLK_OP_FLUSH)
		pos = 0;
	if (pos > path->size || bytes > path->size - pos)
		return BLK_STS_IOERR;
	if (write || rdmablk_staged_is_large_read(path, rq)) {
		if (bytes > path->cmds.slot_bytes)
			return BLK_STS_IOERR;
		ret = rdmablk_onesided_map_pages(path, hwq, rq);
		if (ret)
			return ret;
	}
	if (rdmablk_staged_is_slow(rq))
		return rdmablk_staged_prepare_slow(hwq, req);
	if (write)
		trailer = rdmablk_staged_write_fits(path, rq);
	else if (op == RDMABLK_OP_READ)
		trailer = !req->nr_sge;
	ret = rdmablk_staged_reserve(path, hwq, rq, trailer);
	if (ret) {
		rdmablk_onesided_unmap(path, rq);
		return ret;
	}
	req->queue = write ? &hwq->write : &hwq->read;
	req->cqe.done = rdmablk_staged_read_done;
	if (write) {
		if (!rdmablk_staged_imply(path, rq, flags))
			rdmablk_staged_write(rq, flags, trailer);
		return BLK_STS_OK;
	}
	if (trailer)
		flags |= RDMABLK_IO_TRAILER;
	rdmablk_staged_command(rq, op, flags, pos, 0);
	if (trailer)
		req->cmd->payload = rdmablk_staged_payload;
	return BLK_STS_OK;
}

/* Adds the command to the batch, behind the WRITE into its slot if it has one. */
static void rdmablk_staged_add(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_cmd_tag *cmd = req->cmd;

	/* Not signalled: the SEND that follows is. */
	if (req_op(rq) == REQ_OP_WRITE && cmd->nr_sge == 1)
		rdmablk_onesided_add(path, req, IB_WR_RDMA_WRITE,
				     rdmablk_staged_slot(path, cmd), path->cmds.slot_rkey,
				     false);
	rdmablk_cmdq_add(cmd);
}

/* Return: false: the WRITE has become a full command, which needs the same send slots. */
static bool rdmablk_staged_add_implied(struct rdmablk_path *path, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct ib_rdma_wr *wr = rdmablk_cmdq_add_implied(req->cmd);
	u16 flags;

	if (unlikely(!wr)) {
		rdmablk_onesided_op(rq, &flags);
		rdmablk_staged_write(rq, flags, rdmablk_staged_write_fits(path, rq));
		return false;
	}
	wr->wr.sg_list = rdmablk_request_sge(req);
	wr->wr.num_sge = req->nr_sge;
	wr->remote_addr = rdmablk_staged_slot(path, req->cmd);
	wr->rkey = path->cmds.slot_rkey;
	return true;
}

/**
 * rdmablk_staged_send() - hand a prepared request to its queue pairs
 * @path: data path, live
 * @rq: started request
 * @flush: post the batch; else the caller calls rdmablk_queue_commit() later
 *
 * The request may complete, and its tag may be in use again, before this returns.
 */
void rdmablk_staged_send(struct rdmablk_path *path, struct request *rq, bool flush)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_queue *q = &rdmablk_staged_hwq(req)->write;
	struct rdmablk_cmd_tag *cmd = req->cmd;

	if (req_op(rq) == REQ_OP_FLUSH)
		req->was_unflushed = rdmablk_flush_ahead_begin(path);
	spin_lock_bh(&q->lock);
	if (!cmd->implied || !rdmablk_staged_add_implied(path, rq))
		rdmablk_staged_add(path, rq);
	if (flush)
		rdmablk_queue_post(q);
	spin_unlock_bh(&q->lock);
}
