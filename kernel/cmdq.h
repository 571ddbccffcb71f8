/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands on a write queue, and their answers.
 */
#ifndef RDMABLK_CMDQ_H
#define RDMABLK_CMDQ_H

#include <linux/bitmap.h>
#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include "queue.h"
#include "uapi/rdmablk_proto.h"

/*
 * Each reserved tag has one purpose and owns a send slot, so a FLUSH never waits for a tag
 * behind a slow command.
 */
#define RDMABLK_CMD_FENCE	0
#define RDMABLK_CMD_DIRTY	1
#define RDMABLK_CMD_FLUSH	2
#define RDMABLK_CMD_RESERVED	3

/* Slow commands (as slow as the store) get half of the other tags, and at most this many. */
#define RDMABLK_CMD_SLOW	16

#define RDMABLK_CMD_QUIET	31	/* unsignalled SENDs in a row, at most */
#define RDMABLK_CMD_SGES	4	/* the command, and segments of its payload */

struct rdmablk_cmdq;

/**
 * struct rdmablk_cmd_tag - a command tag
 * @cqe: completion of the SEND
 * @cmdq: owner
 * @done: upcall, in softirq: the target has answered, and the device is done with the
 *	SEND. The upcall gives the tag back.
 * @payload: upcall, in softirq, before @done: data came with the answer RDMABLK_OK; returns
 *	false if the data is not what the command asked for. NULL: no data may come
 * @owner: private to the user of the tag
 * @msg: the command; the buffer of RDMABLK_CMD_DIRTY has room for ranges behind it
 * @dma: DMA address of @msg
 * @sge: segments to send; the first is @msg
 * @nr_sge: number of segments in @sge
 * @tag: index of this tag
 * @slots: send slots to give back when the SEND completes
 * @generation: uses of the tag, modulo 256
 * @status: status in the answer, enum rdmablk_reason
 * @pages: this SEND, or work requests before it, carry pages of a request, so the device
 *	must be done with them before the request ends. Set after rdmablk_cmdq_prepare()
 * @implied: the command is a WRITE that consists of its data only
 * @imm: immediate data of an implied WRITE, in host order
 * @busy: the command is under way: from posting to the call of @done
 * @sent: the device is done with the SEND
 * @answered: the target has answered
 * @mapped: @dma is valid
 */
struct rdmablk_cmd_tag {
	struct ib_cqe cqe;
	struct rdmablk_cmdq *cmdq;
	void (*done)(struct rdmablk_cmd_tag *cmd);
	bool (*payload)(struct rdmablk_cmd_tag *cmd, const void *data, u32 len);
	void *owner;
	struct rdmablk_command *msg;
	u64 dma;
	struct ib_sge sge[RDMABLK_CMD_SGES];
	u8 nr_sge;
	u16 tag;
	u16 slots;
	u8 generation;
	u8 status;
	bool pages;
	bool implied;
	u32 imm;
	bool busy;
	bool sent;
	bool answered;
	bool mapped;
};

/**
 * struct rdmablk_cmd_rx - a receive for an answer
 * @cqe: completion of the receive
 * @cmdq: owner
 * @data: buffer; NULL when answers have no payload
 * @dma: DMA address of @data
 * @mapped: @dma is valid
 */
struct rdmablk_cmd_rx {
	struct ib_cqe cqe;
	struct rdmablk_cmdq *cmdq;
	void *data;
	u64 dma;
	bool mapped;
};

/**
 * struct rdmablk_cmdq - the commands of a write queue
 * @queue: write queue
 * @dev: device of the buffers; NULL while no buffers are mapped
 * @lkey: local key
 * @depth: number of tags; 0: this session has no commands
 * @owned: send slots kept for callers of rdmablk_cmdq_get() that ask for no slot, one each
 * @dirty_bytes: size of a DIRTY and the ranges behind it, bytes
 * @rx_bytes: largest payload of an answer, bytes
 * @lists: one receive may bring several answers
 * @implies: WRITEs may consist of their data only
 * @next: the tag after the tag of the last command; @depth: there is none; changed under
 *	the lock of @queue
 * @quiet: unsignalled SENDs since the last signalled one; under the lock of @queue
 * @max_quiet: limit of @quiet
 * @node: NUMA node of the memory, or NUMA_NO_NODE
 * @room: number of tags that @cmd and @rx have memory for, connected or not
 * @room_dirty: bytes of memory of the DIRTY tag
 * @room_rx: bytes of memory of each receive
 * @used: bit per tag in use; the bits of reserved tags are always set
 * @cmd: tags, @depth of them
 * @rx: receives, @depth of them
 */
struct rdmablk_cmdq {
	/* read only in the hot path */
	struct rdmablk_queue *queue;
	struct ib_device *dev;
	u32 lkey;
	u32 depth;
	u32 owned;
	u32 dirty_bytes;
	u32 rx_bytes;
	bool lists;
	bool implies;
	u32 max_quiet;
	int node;
	struct rdmablk_cmd_tag *cmd;
	struct rdmablk_cmd_rx *rx;

	/* control path */
	u32 room;
	u32 room_dirty;
	u32 room_rx;

	/* written in the hot path */
	u32 next ____cacheline_aligned_in_smp;
	u32 quiet;
	DECLARE_BITMAP(used, RDMABLK_MAX_CMD_DEPTH);
};

/**
 * struct rdmablk_cmdq_attr - sizes of a struct rdmablk_cmdq
 * @depth: number of tags
 * @owned: send slots kept for callers that ask for no slot: one for each reserved tag, and
 *	one for each other tag that may be taken without slots at the same time
 * @needed: send slots that one request may ask for; the queue has at least @owned + @needed
 * @dirty_bytes: size of a DIRTY and the ranges behind it, bytes
 * @rx_bytes: largest payload of an answer, bytes; 0: answers have none
 * @lists: one receive may bring several answers, in @rx_bytes
 * @implied: WRITEs may consist of their data only
 * @node: NUMA node of the processors that use the queue, or NUMA_NO_NODE
 */
struct rdmablk_cmdq_attr {
	u32 depth;
	u32 owned;
	u32 needed;
	u32 dirty_bytes;
	u32 rx_bytes;
	bool lists;
	bool implied;
	int node;
};

/**
 * rdmablk_cmdq_slow() - how many tags of a write queue slow commands may use
 * @depth: number of tags
 *
 * Return: number of tags, at least 1.
 */
static inline u32 rdmablk_cmdq_slow(u32 depth)
{
	u32 half = (depth - RDMABLK_CMD_RESERVED) / 2;

	return max_t(u32, min_t(u32, half, RDMABLK_CMD_SLOW), 1);
}

int rdmablk_cmdq_create(struct rdmablk_cmdq *cmdq, struct rdmablk_queue *q,
			struct ib_pd *pd, const struct rdmablk_cmdq_attr *attr);
void rdmablk_cmdq_destroy(struct rdmablk_cmdq *cmdq);
void rdmablk_cmdq_free(struct rdmablk_cmdq *cmdq);
struct rdmablk_cmd_tag *rdmablk_cmdq_get(struct rdmablk_cmdq *cmdq, int slots);
void rdmablk_cmdq_put(struct rdmablk_cmd_tag *cmd);
void rdmablk_cmdq_prepare(struct rdmablk_cmd_tag *cmd, u16 op, u16 flags, u64 offset,
			  u64 bytes, u32 trailer);
bool rdmablk_cmdq_imply(struct rdmablk_cmd_tag *cmd, u32 imm);
struct ib_rdma_wr *rdmablk_cmdq_add_implied(struct rdmablk_cmd_tag *cmd);
void rdmablk_cmdq_add(struct rdmablk_cmd_tag *cmd);
void rdmablk_cmdq_send(struct rdmablk_cmd_tag *cmd);

#endif /* RDMABLK_CMDQ_H */
