// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The modes of bad_target that grant the largest values. They are, in the order of their
 * names:
 *
 *	largest		on memory, without a cache: the largest size, the most regions
 *	largest-cache	the same with a cache, whose granules are more than an initiator can
 *			keep track of
 *	largest-granules  with a cache, and as many granules as it can
 *	largest-staged	without regions: the largest trailers, slots and number of commands
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bad_largest.h"

#define GRANULES	(1ULL << 28)	/* of the kernel's RDMABLK_DIRTY_MAX_GRANULES */
#define RECVS		16		/* commands on a write queue, of those that are offered */
#define RECV_BYTES	1024
#define DATA_BYTES	RDMABLK_MAX_TRAILER

/* The write queues of the one session */
static struct {
	struct ibv_qp *qp[RDMABLK_MAX_QUEUES];
	struct ibv_mr *mr;
	char *memory;	/* zeroes for answers, then the receives of all queues */
} l;

static char *receive_at(unsigned int queue, unsigned int i)
{
	return l.memory + DATA_BYTES + (queue * RECVS + i) * RECV_BYTES;
}

static bool has(const char *mode, const char *what)
{
	return strstr(mode, what);
}

static void refused(const char *what)
{
	printf("failed: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Features of CHALLENGE; an initiator offers all of them */
uint64_t largest_features(const char *mode)
{
	if (has(mode, "staged"))
		return RDMABLK_FEATURES_V1;
	return RDMABLK_F_COMMANDS;
}

/* @g: the parts that depend on the login are filled in */
void largest_grant(const char *mode, const struct rdmablk_hello *hello,
		   struct rdmablk_grant *g)
{
	uint64_t size = has(mode, "granules") ? GRANULES * RDMABLK_MAX_GRANULE :
						RDMABLK_MAX_SIZE;
	bool staged = has(mode, "staged");
	uint32_t flags = RDMABLK_GRANT_ROTATIONAL;

	if (staged)
		flags |= RDMABLK_GRANT_STAGED;
	if (!strcmp(mode, LARGEST "-cache") || has(mode, "granules") || staged)
		flags |= RDMABLK_GRANT_CACHE;
	g->size = htole64(size);
	g->region_bytes = htole64(staged ? 0 : size / RDMABLK_MAX_REGIONS);
	g->nr_regions = htole32(staged ? 0 : RDMABLK_MAX_REGIONS);
	g->flags = htole32(flags);
	g->logical_block = htole32(4096);
	g->physical_block = htole32(65536);
	g->io_min = htole32(~4095U);
	g->io_opt = htole32(~4095U);
	g->max_io = htole32(~4095U);
	g->nr_queues = hello->nr_queues;
	g->queue_depth = hello->queue_depth;
	g->read_depth = htole16(UINT16_MAX);
	/* The largest timeouts that an initiator accepts, whatever it has asked for */
	g->keep_alive_ms = htole32(RDMABLK_KEEP_ALIVE_ANY_MS);
	g->session_tmo_ms = htole32(RDMABLK_KEEP_ALIVE_ANY_MS * RDMABLK_SESSION_FACTOR);
}

/* @limits: all zero except the header */
void largest_limits(const char *mode, struct rdmablk_limits *limits)
{
	uint32_t ops = RDMABLK_OP_BIT(RDMABLK_OP_FENCE) | RDMABLK_OP_BIT(RDMABLK_OP_FLUSH) |
		       RDMABLK_OP_BIT(RDMABLK_OP_DISCARD) |
		       RDMABLK_OP_BIT(RDMABLK_OP_WRITE_ZEROES) |
		       RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE);

	limits->cmd_depth = htole16(RDMABLK_MAX_CMD_DEPTH);
	limits->trailer_bytes = htole32(RDMABLK_MAX_TRAILER);
	limits->max_discard = htole64(UINT64_MAX);
	limits->max_zeroes = htole64(UINT64_MAX);
	limits->max_erase = htole64(UINT64_MAX);
	limits->discard_granularity = htole32(1U << 31);
	limits->discard_alignment = htole32((1U << 31) - 4096);
	limits->erase_granularity = htole32(1U << 31);
	if (has(mode, "staged")) {
		ops |= RDMABLK_OP_BIT(RDMABLK_OP_READ) | RDMABLK_OP_BIT(RDMABLK_OP_WRITE);
		limits->slot_bytes = htole32(RDMABLK_MAX_SLOT);
		limits->slot_rkey = htole32(1);
	} else if (strcmp(mode, LARGEST)) {
		ops |= RDMABLK_OP_BIT(RDMABLK_OP_DIRTY);
		limits->granule = htole32(RDMABLK_MAX_GRANULE);
		limits->max_ranges = htole16(RDMABLK_MAX_TRAILER / sizeof(struct rdmablk_range));
	}
	limits->ops = htole32(ops);
}

/* Answers a REGIONS_GET for regions from @first on. All regions are the same memory. */
void largest_regions(struct rdmablk_regions *r, uint32_t first)
{
	r->first = htole32(first);
	r->count = htole32(RDMABLK_REGIONS_PER_MSG);
	for (unsigned int i = 1; i < RDMABLK_REGIONS_PER_MSG; i++)
		r->region[i] = r->region[0];
}

static void post_recv(unsigned int queue, unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)receive_at(queue, i), RECV_BYTES,
			       l.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = WR_LARGEST + queue * RECVS + i, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	if (ibv_post_recv(l.qp[queue], &wr, &bad))
		refused("ibv_post_recv");
}

/* The queue pair joins as queue number @queue. A write queue gets receives for commands. */
void largest_joined(struct ibv_pd *pd, struct ibv_qp *qp, unsigned int queue)
{
	size_t bytes = DATA_BYTES + (size_t)RDMABLK_MAX_QUEUES * RECVS * RECV_BYTES;
	unsigned int nr = (queue - 1) / 2;

	if (queue % 2)
		return;
	if (!l.memory)
		l.memory = calloc(1, bytes);
	if (!l.memory)
		refused("calloc");
	if (!l.mr)
		l.mr = ibv_reg_mr(pd, l.memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!l.mr)
		refused("ibv_reg_mr");
	l.qp[nr] = qp;
	for (unsigned int i = 0; i < RECVS; i++)
		post_recv(nr, i);
}

/* Answers each command with success. READs return zeroes. */
void largest_command(const struct ibv_wc *wc)
{
	unsigned int queue = (unsigned int)(wc->wr_id - WR_LARGEST) / RECVS;
	unsigned int i = (unsigned int)(wc->wr_id - WR_LARGEST) % RECVS;
	struct ibv_sge sge = { (uintptr_t)l.memory, 0, l.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 100, .sg_list = &sge,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct rdmablk_command cmd;

	memcpy(&cmd, receive_at(queue, i), sizeof(cmd));
	post_recv(queue, i);
	if (le16toh(cmd.op) == RDMABLK_OP_READ && le16toh(cmd.flags) & RDMABLK_IO_TRAILER) {
		sge.length = (uint32_t)le64toh(cmd.bytes);
		wr.num_sge = 1;
	}
	wr.imm_data = htobe32(RDMABLK_IMM(le16toh(cmd.hdr.tag), le32toh(cmd.hdr.generation),
					  RDMABLK_OK));
	if (ibv_post_send(l.qp[queue], &wr, &bad))
		refused("ibv_post_send");
}

/* Forgets the queue pairs of the session, which are destroyed already. */
void largest_end(void)
{
	if (l.mr)
		ibv_dereg_mr(l.mr);
	l.mr = NULL;
	memset(l.qp, 0, sizeof(l.qp));
}
