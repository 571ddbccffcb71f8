// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands on a write queue.
 *
 * A command is a SEND. The target answers with the immediate data of a SEND, or with one of
 * several answers in the payload of a SEND without immediate data. The queue posts as many
 * receives as there are tags, and posts a receive again before its tag can be used again, so
 * every answer finds a receive.
 *
 * A tag comes back when the target has answered and the SEND has completed. When the SEND
 * carries pages of the request, the answer alone is not enough: until the device has seen
 * the acknowledgment it may read the pages again to retransmit them. Both completions arrive
 * at one completion queue, one after the other, so the two flags need no lock. A command
 * without pages is sent from the tag's own buffer, which stays mapped. Most of these SENDs
 * are unsignalled ("quiet"), and the next signalled SEND gives back their send slots.
 *
 * A WRITE may consist of its data only (RDMABLK_F_IMPLIED). Initiator and target number it
 * alike: its tag follows the tag of the command posted before it, because both ends count
 * the commands of a connection that keeps their order. So rdmablk_cmdq_get() gives tags out
 * in turn. A WRITE that gets another tag, because the next tag was in use or another task
 * was faster, is sent with a full command, and the count goes on from that command's tag.
 *
 * The initiator never gives up on a command while the connection lives. So an answer without
 * a waiting command is the target's mistake and ends the session.
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

/* Return: the command that this answer belongs to; NULL: no command waits for it. */
static struct rdmablk_cmd_tag *rdmablk_cmdq_match(struct rdmablk_cmdq *cmdq, u32 imm)
{
	struct rdmablk_wire_imm answer;
	struct rdmablk_cmd_tag *cmd;

	if (rdmablk_wire_parse_imm(imm, cmdq->depth, &answer))
		return NULL;
	cmd = &cmdq->cmd[answer.tag];
	/* Pairs with the release in rdmablk_cmdq_add(): the fields belong to this command. */
	if (!smp_load_acquire(&cmd->busy) || cmd->answered ||
	    cmd->generation != answer.generation)
		return NULL;
	cmd->status = answer.status;
	return cmd;
}

/* The payload is used before the buffer is posted to the device again. */
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
 * Several answers, all without data. They are copied first: the first freed tag may be used
 * at once, and its answer needs the receive that holds this list. So the receive must be
 * posted before any tag is freed, and the device may then overwrite the list.
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
		/* The device flushes all receives at once; see rdmablk_queue_failed(). */
		if (wc->status != IB_WC_WR_FLUSH_ERR || !READ_ONCE(q->failed))
			q->fatal(q, rdmablk_queue_recv_reason(wc));
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
 * Maps @bytes of memory for @room. Memory that an earlier connection left in *@data is used
 * again, and has room for @room, too. On error nothing is mapped, and the memory stays.
 */
static int rdmablk_cmdq_buf(struct rdmablk_cmdq *cmdq, u32 bytes, u32 room, void **data,
			    u64 *dma, enum dma_data_direction dir)
{
	if (*data)
		memset(*data, 0, bytes);
	else
		*data = kzalloc_node(room, GFP_KERNEL, cmdq->node);
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
	u32 room = tag == RDMABLK_CMD_DIRTY ? cmdq->room_dirty : sizeof(struct rdmablk_command);
	struct rdmablk_cmd_tag *cmd = &cmdq->cmd[tag];
	void *data = cmd->msg;
	int ret;

	*cmd = (struct rdmablk_cmd_tag){ };
	ret = rdmablk_cmdq_buf(cmdq, rdmablk_cmdq_tx_bytes(cmdq, tag), room, &data, &cmd->dma,
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
		ret = rdmablk_cmdq_buf(cmdq, cmdq->rx_bytes, cmdq->room_rx, &rx->data,
				       &rx->dma, DMA_FROM_DEVICE);
		rx->mapped = !ret;
		if (ret)
			return ret;
	}
	return rdmablk_cmdq_post_recv(cmdq, rx);
}

/*
 * Provides tags and receives for @attr, and keeps those of an earlier connection if they are
 * large enough. Receives have buffers only if answers have payloads, so a table of one kind
 * does not serve the other.
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
	/* Both go, because the next login takes @room for the proof that both exist. */
	rdmablk_cmdq_free(cmdq);
	return -ENOMEM;
}

/**
 * rdmablk_cmdq_create() - prepare a write queue for commands
 * @cmdq: zeroed, or destroyed
 * @q: write queue, not connected yet; its queue pair has a receive for each tag
 * @pd: protection domain
 * @attr: sizes
 *
 * On error the caller calls rdmablk_cmdq_destroy() after it has destroyed the queue pair.
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
	/* Whatever else is posted, quiet SENDs must leave enough send slots. */
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
	/* These slots are never given back. */
	if (!ret && !rdmablk_queue_get_slots(q, attr->owned))
		ret = -EINVAL;
	return ret;
}

/**
 * rdmablk_cmdq_destroy() - unmap all memory; may be called twice
 * @cmdq: command queue whose queue pair is destroyed
 *
 * The memory stays for the next connection: a recovery should allocate little, and another
 * device can use the same memory.
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
 * rdmablk_cmdq_get() - take a free tag and send slots for its SEND
 * @cmdq: commands of a connected queue
 * @slots: work requests to post, the SEND included; 0: use a slot that is kept for the SEND
 *
 * Context: any.
 *
 * Return: command for rdmablk_cmdq_prepare(); NULL: no tag or not enough slots are free.
 */
struct rdmablk_cmd_tag *rdmablk_cmdq_get(struct rdmablk_cmdq *cmdq, int slots)
{
	unsigned long tag = cmdq->depth;

	/* Implied WRITEs need the tags in turn. Else the lowest: it is likely still cached. */
	if (cmdq->implies)
		tag = find_next_zero_bit(cmdq->used, cmdq->depth, READ_ONCE(cmdq->next));
	if (tag >= cmdq->depth)
		tag = find_first_zero_bit(cmdq->used, cmdq->depth);
	if (tag >= cmdq->depth)
		return NULL;
	/*
	 * Take the slots before the tag: waiters for a tag are woken when a command gives
	 * its tag back, but not when this function takes a tag and returns it unused. Slots
	 * may run short for a moment, while a task that has asked for too many has not given
	 * them back yet.
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
 * @cmd: from rdmablk_cmdq_get(); the caller does not use it any more
 */
void rdmablk_cmdq_put(struct rdmablk_cmd_tag *cmd)
{
	clear_bit_unlock(cmd->tag, cmd->cmdq->used);
}

/**
 * rdmablk_cmdq_prepare() - fill in a command
 * @cmd: tag that is not under way; the caller sets @done, @payload and @owner
 * @op: enum rdmablk_op
 * @flags: flags of the operation
 * @offset: first byte
 * @bytes: number of bytes
 * @trailer: bytes that follow the command, in its buffer or in @sge entries of the caller
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
 * Whether the SEND can be unsignalled, so that the answer alone frees the tag. It can if the
 * SEND carries only the command's own buffer, which stays mapped, and no page of a request.
 * If an acknowledgment is lost and the device reads the buffer once more, it sends a message
 * that the target already has and ignores. When the answer frees the tag, a slot reserved for
 * the tag would still be in use, so a quiet SEND takes another slot instead.
 */
static bool rdmablk_cmd_is_quiet(const struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_cmdq *cmdq = cmd->cmdq;

	if (cmd->pages || cmdq->quiet >= cmdq->max_quiet)
		return false;
	return cmd->slots || rdmablk_queue_get_slots(cmdq->queue, 1);
}

/* The completion of a signalled SEND gives back the slots of quiet SENDs before it, too. */
static void rdmablk_cmd_tells(struct rdmablk_cmd_tag *cmd)
{
	cmd->slots += cmd->cmdq->quiet;
	cmd->cmdq->quiet = 0;
}

/**
 * rdmablk_cmdq_imply() - prepare a WRITE that consists of its data only
 * @cmd: tag that is not under way; the caller sets @done, @payload and @owner
 * @imm: immediate data, in host order
 *
 * Return: false: the WRITE needs a full command; @cmd is unchanged.
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
 * rdmablk_cmdq_add_implied() - put an implied WRITE at the end of its queue's batch
 * @cmd: from rdmablk_cmdq_imply(); the caller holds the lock of its queue
 *
 * Return: work request, in which the caller sets data, remote address and key; NULL: another
 * command was posted first, and this WRITE needs a full command.
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
	wr = rdmablk_queue_next_wr(cmdq->queue);
	wr->wr.wr_cqe = &cmd->cqe;
	wr->wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	wr->wr.ex.imm_data = cpu_to_be32(cmd->imm);
	/* As in rdmablk_cmdq_add(). The tag is free only when the device is done with @wr. */
	smp_store_release(&cmd->busy, true);
	return wr;
}

/**
 * rdmablk_cmdq_add() - put a command at the end of its queue's batch
 * @cmd: prepared; the caller holds the lock of its queue
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
	wr = rdmablk_queue_next_wr(cmdq->queue);
	wr->wr.wr_cqe = &cmd->cqe;
	wr->wr.sg_list = cmd->sge;
	wr->wr.num_sge = cmd->nr_sge;
	wr->wr.opcode = IB_WR_SEND;
	wr->wr.send_flags = signal ? IB_SEND_SIGNALED : 0;
	/*
	 * Before posting, and after the last use of @cmd here: a hostile target may answer a
	 * command that it has not received. The answer to a quiet SEND frees the tag, and
	 * another task may use it before this SEND is posted. The device then still reads
	 * the one segment of this SEND, which never changes: the tag's own buffer.
	 */
	smp_store_release(&cmd->busy, true);
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
