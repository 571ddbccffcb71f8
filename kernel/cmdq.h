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
 * Tags with one purpose each, and a send slot that is theirs: what makes a FLUSH never
 * waits for a tag behind something slow.
 */
#define RDMABLK_CMD_FENCE	0
#define RDMABLK_CMD_DIRTY	1
#define RDMABLK_CMD_FLUSH	2
#define RDMABLK_CMD_RESERVED	3

/* What may take as long as the store does has half of the others, and no more than this */
#define RDMABLK_CMD_SLOW	16

#define RDMABLK_CMD_QUIET	31	/* SENDs one after the other that tell nothing */
#define RDMABLK_CMD_SGES	4	/* the command and segments of what follows it */

struct rdmablk_cmdq;

/**
 * struct rdmablk_cmd_tag - a command tag
 * @cqe: completion of the SEND
 * @cmdq: owner
 * @done: upcall, in softirq: the target has answered, and the device is done with the
 *	SEND. Whoever is called gives the tag back.
 * @payload: upcall, in softirq, before @done: what came with the answer RDMABLK_OK;
 *	false: it is not what was asked for. NULL: nothing may come
 * @owner: theirs
 * @msg: the command; that of RDMABLK_CMD_DIRTY with room for ranges behind it
 * @dma: as the device sees @msg
 * @sge: what is sent; the first is @msg
 * @nr_sge: of them
 * @tag: index of this one
 * @slots: send slots that come back when the SEND is done
 * @generation: uses of the tag, modulo 256
 * @status: of the answer, enum rdmablk_reason
 * @pages: pages of a request are sent with it, or by work requests before it: the device
 *	must be known to be done with them. Set after rdmablk_cmdq_prepare()
 * @implied: it is a WRITE that is nothing but its data
 * @imm: of one that is implied: what it says, in host order
 * @busy: under way: from the posting to the call of @done
 * @sent: the device is done with it
 * @answered: the target is
 * @mapped: @dma is the device's address of @msg
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
 * struct rdmablk_cmd_rx - a receive of an answer
 * @cqe: its completion
 * @cmdq: owner
 * @data: buffer, NULL when answers have no payload
 * @dma: as the device sees @data
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
 * @dev: device of the buffers; NULL while there are none
 * @lkey: local key
 * @depth: tags; 0: this session has no commands
 * @owned: so many send slots, for a SEND each, are kept for those that ask for none
 * @dirty_bytes: of a DIRTY with what may follow it in its buffer
 * @rx_bytes: of an answer's payload
 * @lists: several answers may come together
 * @implies: WRITEs may be nothing but their data
 * @next: the tag after that of the last command, @depth: none; the lock of @queue is held
 *	where it changes
 * @quiet: SENDs since the last that tells of its completion; the lock of @queue is held
 * @max_quiet: of them
 * @node: NUMA node of its memory, or NUMA_NO_NODE
 * @room: tags that @cmd and @rx have memory for, with a connection and without
 * @room_dirty: bytes of memory of the DIRTY tag
 * @room_rx: bytes of memory of each receive
 * @used: tags in use, but for the reserved ones
 * @cmd: tags
 * @rx: receives, as many
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
 * @depth: tags
 * @owned: send slots that are kept for those that ask for none: one for each reserved tag,
 *	and as many as may have another tag without asking
 * @needed: send slots that one request may ask for, no more than there are besides those
 * @dirty_bytes: of a DIRTY and what follows it in its buffer
 * @rx_bytes: of what may come with an answer; 0: nothing
 * @lists: several answers may come together, in @rx_bytes
 * @implied: WRITEs may be nothing but their data
 * @node: NUMA node of the processors that use it, or NUMA_NO_NODE
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
 * rdmablk_cmdq_slow() - tags of a write queue that slow commands may have
 * @depth: tags in all
 *
 * Return: how many; one at least.
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
