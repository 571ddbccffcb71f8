// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of one-sided sessions that are sent as commands, or need one: FLUSH, DISCARD,
 * WRITE ZEROES, SECURE ERASE, and durable writes. The answer to the command ends the
 * request. fence.c sends the commands that must be ordered with WRITEs.
 */
#include <linux/blk-mq.h>
#include "compat.h"
#include "onesided.h"
#include "onesided_cmd.h"
#include "request.h"
#include "status.h"

/* Bytes marked as changed in one step, because a command may cover a large range */
#define RDMABLK_MARK_BYTES	(64ULL << 20)

/* The target has answered a command: the flush of a durable write, DISCARD, ... */
static void rdmablk_request_answered(struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_hwq *hwq = container_of(cmd->cmdq, struct rdmablk_hwq, cmdq);
	struct request *rq = cmd->owner;
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_path *path = rq->q->queuedata;
	bool write = req_op(rq) == REQ_OP_WRITE;
	u8 status = cmd->status;

	rdmablk_onesided_unmap(path, rq);
	req->cmd = NULL;
	rdmablk_fence_put(&path->fence, cmd, !write);
	if (unlikely(status != RDMABLK_OK && !write)) {
		rdmablk_fence_end(&path->fence, &req->fence, status);
		return;
	}
	/* A durable write that succeeded is flushed already. */
	if (status != RDMABLK_OK) {
		rdmablk_request_wrote(path, hwq, rdmablk_request_start(rq),
				      blk_rq_bytes(rq));
		/* A write without FUA has written; a later FLUSH makes it durable. */
		if (!(rq->cmd_flags & REQ_FUA)) {
			rdmablk_flush_ahead_failed(path);
			status = RDMABLK_OK;
		}
	} else if (!write && req_op(rq) != REQ_OP_DISCARD && path->cache) {
		WRITE_ONCE(path->unflushed, true);
	}
	rdmablk_request_end(rq, rdmablk_status_blk(status));
}

/*
 * A command such as DISCARD has failed and may have changed a part of its range in the
 * target's memory. That range must get into the store, and may be most of the export.
 */
static void rdmablk_request_half_done(struct rdmablk_fence_op *op, u8 status)
{
	struct rdmablk_request *req = container_of(op, struct rdmablk_request, fence);
	struct request *rq = blk_mq_rq_from_pdu(req);
	u64 pos = rdmablk_request_start(rq), end = pos + blk_rq_bytes(rq), next;

	for (; pos < end; pos = next) {
		next = min_t(u64, end, pos + RDMABLK_MARK_BYTES);
		rdmablk_request_wrote(rq->q->queuedata, op->hwq, pos, next - pos);
		cond_resched();
	}
	rdmablk_request_end(rq, rdmablk_status_blk(status));
}

/**
 * rdmablk_onesided_op() - map a request to a command
 * @rq: request
 * @flags: set to the flags of the operation
 *
 * Return: enum rdmablk_op; 0: the request has no command.
 */
u16 rdmablk_onesided_op(struct request *rq, u16 *flags)
{
	const struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	*flags = 0;
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return RDMABLK_OP_READ;
	case REQ_OP_WRITE:
		if (rq->cmd_flags & REQ_FUA || req->durable)
			*flags = RDMABLK_IO_FUA;
		return RDMABLK_OP_WRITE;
	case REQ_OP_FLUSH:
		return RDMABLK_OP_FLUSH;
	case REQ_OP_DISCARD:
		return RDMABLK_OP_DISCARD;
	case REQ_OP_WRITE_ZEROES:
		if (rq->cmd_flags & REQ_NOUNMAP)
			*flags = RDMABLK_ZEROES_KEEP;
		return RDMABLK_OP_WRITE_ZEROES;
	case REQ_OP_SECURE_ERASE:
		return RDMABLK_OP_SECURE_ERASE;
	default:
		return 0;
	}
}

/* Prepares a command on the range of the request; its answer ends the request. */
static void rdmablk_request_command(struct request *rq, struct rdmablk_cmd_tag *cmd,
				    u16 op, u16 flags)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	req->cmd = cmd;
	cmd->owner = rq;
	cmd->done = rdmablk_request_answered;
	cmd->payload = NULL;
	rdmablk_cmdq_prepare(cmd, op, flags, rdmablk_request_start(rq), blk_rq_bytes(rq), 0);
}

/* Upcall: the command is fenced and has a tag. */
static void rdmablk_request_send_command(struct rdmablk_fence_op *op,
					 struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_request *req = container_of(op, struct rdmablk_request, fence);
	struct request *rq = blk_mq_rq_from_pdu(req);
	u16 flags, code = rdmablk_onesided_op(rq, &flags);

	if (op->kind == RDMABLK_FENCE_FUA)
		rdmablk_request_command(rq, cmd, RDMABLK_OP_FLUSH, 0);
	else
		rdmablk_request_command(rq, cmd, code, flags);
	rdmablk_cmdq_send(cmd);
}

static void rdmablk_request_flushed(struct rdmablk_fence_op *op, u8 status)
{
	struct rdmablk_request *req = container_of(op, struct rdmablk_request, fence);

	rdmablk_request_end(blk_mq_rq_from_pdu(req), rdmablk_status_blk(status));
}

/**
 * rdmablk_onesided_prepare_fua() - let a FLUSH of its range follow a durable WRITE, either
 *	at once or after waiting for a tag
 * @hwq: hardware queue of the request
 * @rq: write of a one-sided session, mapped, with send slots
 */
void rdmablk_onesided_prepare_fua(struct rdmablk_hwq *hwq, struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_cmd_tag *cmd = NULL;

	rq->timeout = READ_ONCE(hwq->path->slow_tmo);
	/* FLUSHes that already wait for a tag go first. */
	if (!(READ_ONCE(hwq->waits) & BIT(RDMABLK_LINE_FUA)))
		cmd = rdmablk_cmdq_get(&hwq->cmdq, 0);
	if (cmd) {
		rdmablk_request_command(rq, cmd, RDMABLK_OP_FLUSH, 0);
		/* The WRITEs are not signalled, so the command gives back their slots. */
		cmd->slots = req->nr_wr;
		cmd->pages = true;
		return;
	}
	/* Without a tag, a write that is durable unasked does not wait: it becomes ordinary. */
	req->durable = rq->cmd_flags & REQ_FUA;
	if (!req->durable) {
		rq->timeout = 0;
		return;
	}
	req->fua = true;
	req->fence.kind = RDMABLK_FENCE_FUA;
	req->fence.hwq = hwq;
	req->fence.begin = rdmablk_request_begin;
	req->fence.send = rdmablk_request_send_command;
}

static blk_status_t rdmablk_request_prepare_command(struct rdmablk_path *path,
						    struct rdmablk_hwq *hwq,
						    struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	u64 pos = rdmablk_request_start(rq);
	u16 flags;

	if (!path->commands || !rdmablk_onesided_op(rq, &flags))
		return BLK_STS_NOTSUPP;
	if (path->read_only || pos > path->size || blk_rq_bytes(rq) > path->size - pos)
		return BLK_STS_IOERR;
	req->nr_wr = 1;
	req->fence.kind = RDMABLK_FENCE_COMMAND;
	req->fence.hwq = hwq;
	req->fence.begin = rdmablk_request_begin;
	req->fence.send = rdmablk_request_send_command;
	req->fence.done = rdmablk_request_half_done;
	return BLK_STS_OK;
}

/**
 * rdmablk_onesided_prepare_flush() - prepare a FLUSH, which a fence precedes
 * @path: data path, live
 * @req: request of the FLUSH
 *
 * Return: BLK_STS_OK; BLK_STS_NOTSUPP: the session has no commands.
 */
blk_status_t rdmablk_onesided_prepare_flush(struct rdmablk_path *path,
					    struct rdmablk_request *req)
{
	req->fence.kind = RDMABLK_FENCE_FLUSH;
	req->fence.begin = rdmablk_request_begin;
	req->fence.done = rdmablk_request_flushed;
	return path->commands ? BLK_STS_OK : BLK_STS_NOTSUPP;
}

/**
 * rdmablk_onesided_prepare_other() - prepare a request that moves no data
 * @path: data path, live, of a one-sided session
 * @hwq: hardware queue
 * @rq: FLUSH, DISCARD, WRITE ZEROES or SECURE ERASE
 *
 * Return: BLK_STS_OK; or the status with which the request fails.
 */
blk_status_t rdmablk_onesided_prepare_other(struct rdmablk_path *path,
					    struct rdmablk_hwq *hwq, struct request *rq)
{
	rq->timeout = READ_ONCE(path->slow_tmo);
	if (req_op(rq) == REQ_OP_FLUSH)
		return rdmablk_onesided_prepare_flush(path, blk_mq_rq_to_pdu(rq));
	return rdmablk_request_prepare_command(path, hwq, rq);
}
