// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pack, parse and validate messages about commands on write queues: LIMITS, the commands,
 * and their answers, which are immediate data. PURE; the rules of wire.c apply.
 *
 * The protocol leaves some sizes free that the block layer does not. This file rounds them
 * to multiples of the logical block.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>
#include "wire.h"

#define BIT_OF(op)	RDMABLK_OP_BIT(RDMABLK_OP_##op)

#define RDMABLK_WIRE_OPS						\
	(BIT_OF(FENCE) | BIT_OF(DIRTY) | BIT_OF(FLUSH) | BIT_OF(DISCARD) |	\
	 BIT_OF(WRITE_ZEROES) | BIT_OF(SECURE_ERASE) | BIT_OF(READ) | BIT_OF(WRITE))

/**
 * rdmablk_wire_limits_get() - pack LIMITS_GET
 * @msg: result
 */
void rdmablk_wire_limits_get(struct rdmablk_limits_get *msg)
{
	msg->hdr = rdmablk_wire_hdr(RDMABLK_MSG_LIMITS_GET);
}

/* Whether LIMITS has all operations that the export needs, and none that it cannot have */
static bool rdmablk_wire_ops_ok(const struct rdmablk_wire_limits *l,
				const struct rdmablk_wire_grant *g)
{
	u32 need = BIT_OF(FENCE), never;

	if (g->flags & RDMABLK_GRANT_CACHE)
		need |= BIT_OF(FLUSH);
	if (g->flags & RDMABLK_GRANT_STAGED) {
		need |= BIT_OF(READ);
		if (!(g->flags & RDMABLK_GRANT_READ_ONLY))
			need |= BIT_OF(WRITE);
		never = BIT_OF(DIRTY);
	} else {
		if (g->flags & RDMABLK_GRANT_CACHE)
			need |= BIT_OF(DIRTY);
		never = BIT_OF(READ) | BIT_OF(WRITE);
	}
	return !(need & ~l->ops) && !(never & l->ops);
}

/* The ranges of a DIRTY follow its command, so the size of a trailer bounds them. */
static bool rdmablk_wire_dirty_ok(const struct rdmablk_wire_limits *l,
				  const struct rdmablk_wire_grant *g)
{
	if (!(l->ops & BIT_OF(DIRTY)))
		return !l->max_ranges && !l->granule;
	if (!l->max_ranges ||
	    l->max_ranges > RDMABLK_MAX_TRAILER / sizeof(struct rdmablk_range))
		return false;
	/* The smallest logical block is RDMABLK_MIN_GRANULE, so the minimum is checked, too. */
	return is_power_of_2(l->granule) && l->granule >= g->logical_block &&
	       l->granule <= RDMABLK_MAX_GRANULE;
}

/* Whether an operation has a limit of at least a block; sets it to 0 without the operation. */
static bool rdmablk_wire_most(struct rdmablk_wire_limits *l,
			      const struct rdmablk_wire_grant *g, u32 bit, u64 *most)
{
	*most &= l->ops & bit ? ~(u64)(g->logical_block - 1) : 0;
	return !(l->ops & bit) || *most;
}

static bool rdmablk_wire_granularity(struct rdmablk_wire_limits *l,
				     const struct rdmablk_wire_grant *g, u32 bit,
				     u32 *granularity)
{
	if (!(l->ops & bit))
		return !*granularity;
	if (!is_power_of_2(*granularity))
		return false;
	*granularity = max_t(u32, *granularity, g->logical_block);
	return true;
}

/*
 * Leaves out an operation whose limit is below its granularity: it could never discard
 * anything, and the block layer, which splits at granules, would exceed the limit.
 */
static void rdmablk_wire_leave_out(struct rdmablk_wire_limits *l)
{
	if (l->max_discard < l->discard_granularity) {
		l->unusable |= BIT_OF(DISCARD);
		l->max_discard = 0;
		l->discard_granularity = 0;
		l->discard_alignment = 0;
	}
	if (l->max_erase < l->erase_granularity) {
		l->unusable |= BIT_OF(SECURE_ERASE);
		l->max_erase = 0;
		l->erase_granularity = 0;
	}
	l->ops &= ~l->unusable;
}

/* Checks DISCARD, WRITE_ZEROES and SECURE_ERASE. */
static bool rdmablk_wire_ranged_ok(struct rdmablk_wire_limits *l,
				   const struct rdmablk_wire_grant *g)
{
	u32 mask = g->logical_block - 1;

	if (l->discard_alignment && l->discard_alignment >= l->discard_granularity)
		return false;
	if (!rdmablk_wire_most(l, g, BIT_OF(DISCARD), &l->max_discard) ||
	    !rdmablk_wire_most(l, g, BIT_OF(WRITE_ZEROES), &l->max_zeroes) ||
	    !rdmablk_wire_most(l, g, BIT_OF(SECURE_ERASE), &l->max_erase))
		return false;
	if (!rdmablk_wire_granularity(l, g, BIT_OF(DISCARD), &l->discard_granularity) ||
	    !rdmablk_wire_granularity(l, g, BIT_OF(SECURE_ERASE), &l->erase_granularity))
		return false;
	/* Rounded up, the alignment may reach the granularity; then the next granule is at 0. */
	if (l->discard_granularity)
		l->discard_alignment = ((l->discard_alignment + mask) & ~mask) &
				       (l->discard_granularity - 1);
	rdmablk_wire_leave_out(l);
	return true;
}

static bool rdmablk_wire_slots_ok(const struct rdmablk_wire_limits *l,
				  const struct rdmablk_wire_grant *g)
{
	u64 bytes = (u64)g->nr_queues * l->cmd_depth * l->slot_bytes;

	if (!(g->flags & RDMABLK_GRANT_STAGED))
		return !l->slot_bytes && !l->slot_iova && !l->slot_rkey;
	if (l->slot_bytes < RDMABLK_MIN_MAX_IO || l->slot_bytes > RDMABLK_MAX_SLOT ||
	    l->slot_bytes & (g->logical_block - 1))
		return false;
	if (g->features & RDMABLK_F_LISTS &&
	    l->trailer_bytes < sizeof(struct rdmablk_answers))
		return false;
	return l->slot_iova + bytes - 1 >= l->slot_iova;
}

static void rdmablk_wire_limits_fields(const struct rdmablk_limits *msg,
				       struct rdmablk_wire_limits *out)
{
	*out = (struct rdmablk_wire_limits) {
		.ops			= le32_to_cpu(msg->ops) & RDMABLK_WIRE_OPS,
		.cmd_depth		= le16_to_cpu(msg->cmd_depth),
		.max_ranges		= le16_to_cpu(msg->max_ranges),
		.granule		= le32_to_cpu(msg->granule),
		.trailer_bytes		= le32_to_cpu(msg->trailer_bytes),
		.max_discard		= le64_to_cpu(msg->max_discard),
		.max_zeroes		= le64_to_cpu(msg->max_zeroes),
		.max_erase		= le64_to_cpu(msg->max_erase),
		.discard_granularity	= le32_to_cpu(msg->discard_granularity),
		.discard_alignment	= le32_to_cpu(msg->discard_alignment),
		.erase_granularity	= le32_to_cpu(msg->erase_granularity),
		.slot_bytes		= le32_to_cpu(msg->slot_bytes),
		.slot_iova		= le64_to_cpu(msg->slot_iova),
		.slot_rkey		= le32_to_cpu(msg->slot_rkey),
	};
	memcpy(out->mac, msg->mac, sizeof(out->mac));
}

/**
 * rdmablk_wire_parse_limits() - parse LIMITS
 * @buf: message
 * @len: bytes
 * @g: the GRANT of this login, with RDMABLK_F_COMMANDS
 * @out: result; its MAC is not verified yet, and zero in version 2
 *
 * Unknown operations are left out of @out.
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_parse_limits(const void *buf, size_t len,
			      const struct rdmablk_wire_grant *g,
			      struct rdmablk_wire_limits *out)
{
	struct rdmablk_limits msg = { };
	int ret = rdmablk_wire_take(buf, len, g->version, RDMABLK_MSG_LIMITS, &msg);
	bool reserved;

	if (ret)
		return ret;
	rdmablk_wire_limits_fields(&msg, out);
	reserved = msg.reserved;
	/* Sealed, the key of the slots was a secret. */
	memzero_explicit(&msg, sizeof(msg));
	if (reserved || !(g->features & RDMABLK_F_COMMANDS) ||
	    out->cmd_depth < 2 || out->cmd_depth > RDMABLK_MAX_CMD_DEPTH ||
	    out->trailer_bytes > RDMABLK_MAX_TRAILER)
		return -EBADMSG;
	if (!rdmablk_wire_ops_ok(out, g) || !rdmablk_wire_dirty_ok(out, g) ||
	    !rdmablk_wire_ranged_ok(out, g) || !rdmablk_wire_slots_ok(out, g))
		return -EBADMSG;
	return 0;
}

/**
 * rdmablk_wire_data_command() - pack COMMAND for a write queue
 * @msg: result
 * @op: enum rdmablk_op
 * @flags: flags of the operation
 * @tag: below LIMITS.cmd_depth
 * @generation: generation of the tag
 * @offset: first byte
 * @bytes: number of bytes
 * @trailer: bytes that follow the command
 */
void rdmablk_wire_data_command(struct rdmablk_command *msg, u16 op, u16 flags, u16 tag,
			       u8 generation, u64 offset, u64 bytes, u16 trailer)
{
	rdmablk_wire_command(msg, op, flags, tag, generation, offset, bytes);
	msg->hdr.length = cpu_to_le16(sizeof(*msg) + trailer);
}

/**
 * rdmablk_wire_implied() - make the immediate data of a WRITE that is sent as its data only
 * @offset: first byte
 * @block_shift: log2 of the logical block
 * @fua: the WRITE has RDMABLK_IO_FUA
 * @imm: result, in host order
 *
 * Return: false: @offset does not fit; the WRITE needs a full command.
 */
bool rdmablk_wire_implied(u64 offset, u8 block_shift, bool fua, u32 *imm)
{
	u32 flags = fua ? RDMABLK_WRITE_FUA : 0;

	if (!(offset & ((1U << RDMABLK_WRITE_PAGE_SHIFT) - 1))) {
		flags |= RDMABLK_WRITE_PAGES;
		block_shift = RDMABLK_WRITE_PAGE_SHIFT;
	}
	offset >>= block_shift;
	*imm = flags | RDMABLK_WRITE_POS((u32)offset);
	return offset <= RDMABLK_WRITE_POS(U32_MAX);
}

/**
 * rdmablk_wire_parse_imm() - parse immediate data of a SEND on a write queue
 * @imm: immediate data, in host order
 * @cmd_depth: LIMITS.cmd_depth
 * @out: result
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_parse_imm(u32 imm, u16 cmd_depth, struct rdmablk_wire_imm *out)
{
	*out = (struct rdmablk_wire_imm) {
		.tag		= RDMABLK_IMM_TAG(imm),
		.generation	= RDMABLK_IMM_GENERATION(imm),
		.status		= RDMABLK_IMM_STATUS(imm),
	};
	return out->tag < cmd_depth ? 0 : -EBADMSG;
}

/**
 * rdmablk_wire_parse_answers() - parse a SEND without immediate data on a write queue
 * @buf: message
 * @len: bytes
 * @out: copy of @buf
 *
 * Return: number of answers in @out, each for rdmablk_wire_parse_imm(); or -EBADMSG.
 */
int rdmablk_wire_parse_answers(const void *buf, size_t len, struct rdmablk_answers *out)
{
	if (!len || len % sizeof(out->imm[0]) || len > sizeof(*out))
		return -EBADMSG;
	memcpy(out, buf, len);
	return len / sizeof(out->imm[0]);
}
