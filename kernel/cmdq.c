// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands on a write queue.
 *
 * A command is a SEND; its answer is the immediate data of a SEND of the target, or one
 * of several in the payload of a SEND without. As many receives are posted as there are
 * tags, and a receive is posted again before its tag can be used again: an answer never
 * finds none.
 *
 * A tag comes back when both are true: the target has answered, and the SEND has
 * completed. The answer alone is not enough where pages of the request are sent: until
 * the acknowledgment has been seen the device may read them to send them again. Both
 * completions arrive at one completion queue, one after the other; the two flags need no
 * lock. A command that is sent alone is out of the tag's own buffer, which stays mapped:
 * most of those do not tell of their completion, and the next SEND that does gives their
 * send slots back.
 *
 * A WRITE may be nothing but its data (RDMABLK_F_IMPLIED). Its tag is the one after that of
 * the command posted before it, at both ends, which count what they post and receive on a
 * connection that keeps the order. So tags are given out in turn, and a WRITE that has got
 * another one, because that was in use or somebody else was faster, is a command in full,
 * which those behind it go on from.
 *
 * Nobody gives up on a command as long as the connection lives. So an answer that
 * nobody waits for is the target's mistake and ends the session.
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include "cmdq.h"
#include "wire.h"

static void rdmablk_cmd_finish(struct rdmablk_cmd_tag *cmd)
{
	if (!cmd->sent || !cmd->answered)
		return;
	WRITE_ONCE(cmd->busy, false);
	cmd->done(cmd);
}

static void rdmablk_cmd_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdmablk_cmd_tag *cmd = container_of(wc->wr_cqe, struct rdmablk_cmd_tag, cqe);
	struct rdmablk_queue *q = cmd->cmdq->queue;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rdmablk_queue_failed(q, wc);
		return;
	}
	rdmablk_queue_put_slots(q, cmd->slots);
	cmd->sent = true;
	rdmablk_cmd_finish(cmd);
}

static int rdmablk_cmdq_post_recv(struct rdmablk_cmdq *cmdq, struct rdmablk_cmd_rx *rx)
{
	struct ib_sge sge = {
		.addr	= rx->dma,
		.length	= cmdq->rx_bytes,
		.lkey	= cmdq->lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe		= &rx->cqe,
		.sg_list	= rx->data ? &sge : NULL,
		.num_sge	= rx->data ? 1 : 0,
	};

	if (rx->data)
		ib_dma_sync_single_for_device(cmdq->dev, rx->dma, cmdq->rx_bytes,
					      DMA_FROM_DEVICE);
	return ib_post_recv(cmdq->queue->qp, &wr, NULL);
}

/* Returns the command that is answered; NULL: none that waits for it. */
static struct rdmablk_cmd_tag *rdmablk_cmdq_match(struct rdmablk_cmdq *cmdq, u32 imm)
{
	struct rdmablk_wire_imm answer;
	struct rdmablk_cmd_tag *cmd;

	if (rdmablk_wire_parse_imm(imm, cmdq->depth, &answer))
		return NULL;
	cmd = &cmdq->cmd[answer.tag];
	/* Pairs with the release in rdmablk_cmdq_add(): all else is of this command. */
	if (!smp_load_acquire(&cmd->busy) || cmd->answered ||
	    cmd->generation != answer.generation)
		return NULL;
	cmd->status = answer.status;
	return cmd;
}

/* What comes with an answer is used before the buffer is the device's again. */
static bool rdmablk_cmdq_payload(struct rdmablk_cmdq *cmdq, struct rdmablk_cmd_tag *cmd,
				 struct rdmablk_cmd_rx *rx, u32 len)
{
	if (cmd->status != RDMABLK_OK || !cmd->payload)
		return !len;
	if (len > cmdq->rx_bytes)
		return false;
	if (rx->data)
		ib_dma_sync_single_for_cpu(cmdq->dev, rx->dma, len, DMA_FROM_DEVICE);
	return cmd->payload(cmd, rx->data, len);
}

/*
 * Several answers, none of which has data. They are copied: once the first tag is free
 * there may be a receive too few, and what comes in it may be here.
 */
static void rdmablk_cmdq_list(struct rdmablk_cmdq *cmdq, struct rdmablk_cmd_rx *rx, u32 len)
{
	struct rdmablk_queue *q = cmdq->queue;
	struct rdmablk_answers list;
	struct rdmablk_cmd_tag *cmd;
	int nr, i;

	if (unlikely(len > sizeof(list))) {
		q->fatal(q, RDMABLK_R_MALFORMED);
		return;
	}
	ib_dma_sync_single_for_cpu(cmdq->dev, rx->dma, len, DMA_FROM_DEVICE);
	nr = rdmablk_wire_parse_answers(rx->data, len, &list);
	if (unlikely(nr < 0)) {
		q->fatal(q, RDMABLK_R_MALFORMED);
		return;
	}
	if (unlikely(rdmablk_cmdq_post_recv(cmdq, rx))) {
		q->fatal(q, RDMABLK_R_CONNECTION);
		return;
	}
	for (i = 0; i < nr; i++) {
		cmd = rdmablk_cmdq_match(cmdq, le32_to_cpu(list.imm[i]));
		if (unlikely(!cmd)) {
			q->fatal(q, RDMABLK_R_STATE);
			return;
		}
		if (unlikely(cmd->status == RDMABLK_OK && cmd->payload)) {
			q->fatal(q, RDMABLK_R_MALFORMED);
			return;
		}
		cmd->answered = true;
		rdmablk_cmd_finish(cmd);
	}
}

static void rdmablk_cmdq_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdmablk_cmd_rx *rx = container_of(wc->wr_cqe, struct rdmablk_cmd_rx, cqe);
	struct rdmablk_cmdq *cmdq = rx->cmdq;
	struct rdmablk_queue *q = cmdq->queue;
	struct rdmablk_cmd_tag *cmd;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		/* All receives are flushed at once; see rdmablk_queue_failed(). */
		if (wc->status != IB_WC_WR_FLUSH_ERR || !READ_ONCE(q->failed))
			q->fatal(q, RDMABLK_R_CONNECTION);
		return;
	}
	if (unlikely(wc->opcode != IB_WC_RECV)) {
		q->fatal(q, RDMABLK_R_MALFORMED);
		return;
	}
	if (!(wc->wc_flags & IB_WC_WITH_IMM)) {
		if (likely(cmdq->lists))
			rdmablk_cmdq_list(cmdq, rx, wc->byte_len);
		else
			q->fatal(q, RDMABLK_R_MALFORMED);
		return;
	}
	cmd = rdmablk_cmdq_match(cmdq, be32_to_cpu(wc->ex.imm_data));
	if (unlikely(!cmd)) {
		q->fatal(q, RDMABLK_R_STATE);
		return;
	}
	if (unlikely(!rdmablk_cmdq_payload(cmdq, cmd, rx, wc->byte_len))) {
		q->fatal(q, RDMABLK_R_MALFORMED);
		return;
	}
	if (unlikely(rdmablk_cmdq_post_recv(cmdq, rx))) {
		q->fatal(q, RDMABLK_R_CONNECTION);
		return;
	}
	cmd->answered = true;
	rdmablk_cmd_finish(cmd);
}

/*
 * Memory that an earlier connection has left in *@data is used again. On error the caller
 * unmaps nothing, and the memory stays.
 */
static int rdmablk_cmdq_buf(struct rdmablk_cmdq *cmdq, u32 bytes, void **data, u64 *dma,
			    enum dma_data_direction dir)
{
	if (*data)
		memset(*data, 0, bytes);
	else
		*data = kzalloc_node(bytes, GFP_KERNEL, cmdq->node);
	if (!*data)
		return -ENOMEM;
	*dma = ib_dma_map_single(cmdq->dev, *data, bytes, dir);
	return ib_dma_mapping_error(cmdq->dev, *dma) ? -ENOMEM : 0;
}

static u32 rdmablk_cmdq_tx_bytes(const struct rdmablk_cmdq *cmdq, u32 tag)
{
	return tag == RDMABLK_CMD_DIRTY ? cmdq->dirty_bytes : sizeof(struct rdmablk_command);
}

static int rdmablk_cmdq_init_cmd(struct rdmablk_cmdq *cmdq, u32 tag)
{
	struct rdmablk_cmd_tag *cmd = &cmdq->cmd[tag];
	void *data = cmd->msg;
	int ret;

	*cmd = (struct rdmablk_cmd_tag){ };
	ret = rdmablk_cmdq_buf(cmdq, rdmablk_cmdq_tx_bytes(cmdq, tag), &data, &cmd->dma,
			       DMA_TO_DEVICE);
	cmd->msg = data;
	cmd->mapped = !ret;
	cmd->cqe.done = rdmablk_cmd_sent;
	cmd->cmdq = cmdq;
	cmd->tag = tag;
	return ret;
}

static int rdmablk_cmdq_init_rx(struct rdmablk_cmdq *cmdq, u32 i)
{
	struct rdmablk_cmd_rx *rx = &cmdq->rx[i];
	int ret;

	rx->cqe.done = rdmablk_cmdq_received;
	rx->cmdq = cmdq;
	if (cmdq->rx_bytes) {
		ret = rdmablk_cmdq_buf(cmdq, cmdq->rx_bytes, &rx->data, &rx->dma,
				       DMA_FROM_DEVICE);
		rx->mapped = !ret;
		if (ret)
			return ret;
	}
	return rdmablk_cmdq_post_recv(cmdq, rx);
}

/*
 * Tags and receives for @attr: those of an earlier connection when they are enough. Without
 * payload a receive must have no buffer.
 */
static int rdmablk_cmdq_alloc(struct rdmablk_cmdq *cmdq, const struct rdmablk_cmdq_attr *attr)
{
	if (attr->depth <= cmdq->room && attr->dirty_bytes <= cmdq->room_dirty &&
	    attr->rx_bytes <= cmdq->room_rx && !attr->rx_bytes == !cmdq->room_rx)
		return 0;
	rdmablk_cmdq_free(cmdq);
	cmdq->cmd = kvzalloc_node(array_size(attr->depth, sizeof(*cmdq->cmd)), GFP_KERNEL,
				  attr->node);
	cmdq->rx = kvzalloc_node(array_size(attr->depth, sizeof(*cmdq->rx)), GFP_KERNEL,
				 attr->node);
	cmdq->room = attr->depth;
	cmdq->room_dirty = attr->dirty_bytes;
	cmdq->room_rx = attr->rx_bytes;
	if (cmdq->cmd && cmdq->rx)
		return 0;
	/* Else the next login would take one of two tables for both. */
	rdmablk_cmdq_free(cmdq);
	return -ENOMEM;
}

/**
 * rdmablk_cmdq_create() - prepare a write queue for commands
 * @cmdq: zeroed, or destroyed
 * @q: write queue with a queue pair of as many receives as there will be tags, not
 *	connected yet
 * @pd: protection domain
 * @attr: sizes
 *
 * On error the caller calls rdmablk_cmdq_destroy(), after the queue pair's end.
 *
 * Return: 0 or a negative errno.
 */
int rdmablk_cmdq_create(struct rdmablk_cmdq *cmdq, struct rdmablk_queue *q,
			struct ib_pd *pd, const struct rdmablk_cmdq_attr *attr)
{
	int ret;
	u32 i;

	cmdq->queue = q;
	cmdq->lkey = pd->local_dma_lkey;
	cmdq->owned = attr->owned;
	cmdq->dirty_bytes = attr->dirty_bytes;
	cmdq->rx_bytes = attr->rx_bytes;
	cmdq->lists = attr->lists;
	cmdq->implies = attr->implied;
	cmdq->node = attr->node;
	cmdq->next = attr->depth;
	cmdq->quiet = 0;
	/* What is not told of leaves enough send slots, whatever else is posted. */
	cmdq->max_quiet = min_t(u32, RDMABLK_CMD_QUIET,
				(q->send_slots - attr->owned - attr->needed) / 4);
	bitmap_zero(cmdq->used, RDMABLK_MAX_CMD_DEPTH);
	bitmap_set(cmdq->used, 0, RDMABLK_CMD_RESERVED);
	ret = rdmablk_cmdq_alloc(cmdq, attr);
	if (ret)
		return ret;
	cmdq->dev = pd->device;
	cmdq->depth = attr->depth;
	for (i = 0; !ret && i < attr->depth; i++)
		ret = rdmablk_cmdq_init_cmd(cmdq, i) ?: rdmablk_cmdq_init_rx(cmdq, i);
	/* Nobody gives these back. */
	if (!ret && !rdmablk_queue_get_slots(q, attr->owned))
		ret = -EINVAL;
	return ret;
}

/**
 * rdmablk_cmdq_destroy() - unmap all memory; may be called twice
 * @cmdq: whose queue pair is destroyed
 *
 * The memory stays for the next connection: a recovery should need little of it, and the
 * next device can use it as well as this one.
 */
void rdmablk_cmdq_destroy(struct rdmablk_cmdq *cmdq)
{
	u32 i;

	for (i = 0; i < cmdq->depth; i++) {
		if (cmdq->cmd[i].mapped)
			ib_dma_unmap_single(cmdq->dev, cmdq->cmd[i].dma,
					    rdmablk_cmdq_tx_bytes(cmdq, i), DMA_TO_DEVICE);
		if (cmdq->rx[i].mapped)
			ib_dma_unmap_single(cmdq->dev, cmdq->rx[i].dma, cmdq->rx_bytes,
					    DMA_FROM_DEVICE);
		cmdq->cmd[i].mapped = false;
		cmdq->rx[i].mapped = false;
	}
	cmdq->dev = NULL;
	cmdq->depth = 0;
}

/**
 * rdmablk_cmdq_free() - give all memory back; may be called twice
 * @cmdq: zeroed, or destroyed
 */
void rdmablk_cmdq_free(struct rdmablk_cmdq *cmdq)
{
	u32 i;

	for (i = 0; i < cmdq->room; i++) {
		if (cmdq->cmd)
			kfree(cmdq->cmd[i].msg);
		if (cmdq->rx)
			kfree(cmdq->rx[i].data);
	}
	kvfree(cmdq->cmd);
	kvfree(cmdq->rx);
	cmdq->cmd = NULL;
	cmdq->rx = NULL;
	cmdq->room = 0;
}

/**
 * rdmablk_cmdq_get() - a tag that is free, and send slots for its SEND
 * @cmdq: of a connected queue
 * @slots: work requests, the SEND among them; 0: one that is kept for it
 *
 * Context: any.
 *
 * Return: command for rdmablk_cmdq_prepare(), or NULL: none is free now.
 */
struct rdmablk_cmd_tag *rdmablk_cmdq_get(struct rdmablk_cmdq *cmdq, int slots)
{
	unsigned long tag = cmdq->depth;

	/* In turn; else the same few, which are in the caches. */
	if (cmdq->implies)
		tag = find_next_zero_bit(cmdq->used, cmdq->depth, READ_ONCE(cmdq->next));
	if (tag >= cmdq->depth)
		tag = find_first_zero_bit(cmdq->used, cmdq->depth);
	if (tag >= cmdq->depth)
		return NULL;
	/*
	 * Before the tag: who waits for one is told when it comes back from a command, and
	 * not when it was had for nothing. Slots may be short while somebody else has
	 * asked for too many.
	 */
	if (slots && unlikely(!rdmablk_queue_get_slots(cmdq->queue, slots)))
		return NULL;
	while (test_and_set_bit_lock(tag, cmdq->used)) {
		tag = find_first_zero_bit(cmdq->used, cmdq->depth);
		if (tag >= cmdq->depth) {
			rdmablk_queue_put_slots(cmdq->queue, slots);
			return NULL;
		}
	}
	cmdq->cmd[tag].slots = slots;
	return &cmdq->cmd[tag];
}

/**
 * rdmablk_cmdq_put() - give a tag back
 * @cmd: from rdmablk_cmdq_get(), done with
 */
void rdmablk_cmdq_put(struct rdmablk_cmd_tag *cmd)
{
	clear_bit_unlock(cmd->tag, cmd->cmdq->used);
}

/**
 * rdmablk_cmdq_prepare() - fill in a command
 * @cmd: tag that is not under way; @done, @payload and @owner are the caller's to set
 * @op: enum rdmablk_op
 * @flags: of the operation
 * @offset: first byte
 * @bytes: how many
 * @trailer: bytes that follow the command, in its buffer or by the caller's @sge
 */
void rdmablk_cmdq_prepare(struct rdmablk_cmd_tag *cmd, u16 op, u16 flags, u64 offset,
			  u64 bytes, u32 trailer)
{
	cmd->generation++;
	cmd->sent = false;
	cmd->answered = false;
	cmd->pages = false;
	cmd->implied = false;
	cmd->nr_sge = 1;
	cmd->sge[0].addr = cmd->dma;
	cmd->sge[0].length = sizeof(*cmd->msg);
	cmd->sge[0].lkey = cmd->cmdq->lkey;
	ib_dma_sync_single_for_cpu(cmd->cmdq->dev, cmd->dma, sizeof(*cmd->msg),
				   DMA_TO_DEVICE);
	rdmablk_wire_data_command(cmd->msg, op, flags, cmd->tag, cmd->generation, offset,
				  bytes, trailer);
}

/*
 * Whether the answer alone is enough: no page of a request is sent, nothing but the
 * command's own buffer, which stays mapped. A device that reads it once more, for an
 * acknowledgment that was lost, sends what the target has got and ignores. A slot that
 * is the tag's own is not free when the tag is: another one is taken instead.
 */
static bool rdmablk_cmd_is_quiet(const struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_cmdq *cmdq = cmd->cmdq;

	if (cmd->pages || cmdq->quiet >= cmdq->max_quiet)
		return false;
	return cmd->slots || rdmablk_queue_get_slots(cmdq->queue, 1);
}

/* Its send slots come back with those of the SENDs before it that told nothing. */
static void rdmablk_cmd_tells(struct rdmablk_cmd_tag *cmd)
{
	cmd->slots += cmd->cmdq->quiet;
	cmd->cmdq->quiet = 0;
}

/**
 * rdmablk_cmdq_imply() - prepare a WRITE that is nothing but its data
 * @cmd: tag that is not under way; @done, @payload and @owner are the caller's to set
 * @imm: what it says
 *
 * Return: false: it has to be a command in full; nothing has changed.
 */
bool rdmablk_cmdq_imply(struct rdmablk_cmd_tag *cmd, u32 imm)
{
	struct rdmablk_cmdq *cmdq = cmd->cmdq;

	if (!cmdq->implies || cmd->tag != READ_ONCE(cmdq->next))
		return false;
	cmd->sent = false;
	cmd->answered = false;
	cmd->pages = true;
	cmd->implied = true;
	cmd->imm = imm;
	return true;
}

/**
 * rdmablk_cmdq_add_implied() - put such a WRITE at the end of its queue's batch
 * @cmd: from rdmablk_cmdq_imply(); its queue's lock is held
 *
 * Return: work request, in which data, remote address and key are the caller's to set;
 * NULL: another command was faster, and it has to be one in full.
 */
struct ib_rdma_wr *rdmablk_cmdq_add_implied(struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_cmdq *cmdq = cmd->cmdq;
	struct ib_rdma_wr *wr;

	if (unlikely(cmd->tag != cmdq->next))
		return NULL;
	WRITE_ONCE(cmdq->next, cmd->tag + 1);
	cmd->generation++;
	rdmablk_cmd_tells(cmd);
	/* As in rdmablk_cmdq_add(). */
	smp_store_release(&cmd->busy, true);
	wr = rdmablk_queue_next_wr(cmdq->queue);
	wr->wr.wr_cqe = &cmd->cqe;
	wr->wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	wr->wr.ex.imm_data = cpu_to_be32(cmd->imm);
	return wr;
}

/**
 * rdmablk_cmdq_add() - put a command at the end of its queue's batch
 * @cmd: prepared; its queue's lock is held
 */
void rdmablk_cmdq_add(struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_cmdq *cmdq = cmd->cmdq;
	struct ib_rdma_wr *wr;
	bool signal;

	ib_dma_sync_single_for_device(cmdq->dev, cmd->dma, cmd->sge[0].length,
				      DMA_TO_DEVICE);
	WRITE_ONCE(cmdq->next, cmd->tag + 1);
	signal = !rdmablk_cmd_is_quiet(cmd);
	if (signal) {
		rdmablk_cmd_tells(cmd);
	} else {
		cmdq->quiet++;
		cmd->sent = true;
	}
	/* A hostile target may answer what it has not got yet. */
	smp_store_release(&cmd->busy, true);
	wr = rdmablk_queue_next_wr(cmdq->queue);
	wr->wr.wr_cqe = &cmd->cqe;
	wr->wr.sg_list = cmd->sge;
	wr->wr.num_sge = cmd->nr_sge;
	wr->wr.opcode = IB_WR_SEND;
	wr->wr.send_flags = signal ? IB_SEND_SIGNALED : 0;
}

/**
 * rdmablk_cmdq_send() - send a command now
 * @cmd: prepared
 */
void rdmablk_cmdq_send(struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_queue *q = cmd->cmdq->queue;

	spin_lock_bh(&q->lock);
	rdmablk_cmdq_add(cmd);
	rdmablk_queue_post(q);
	spin_unlock_bh(&q->lock);
}
