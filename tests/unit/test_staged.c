// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/staged.c sends each kind of request in the way that fits it; that a
 * request has all that it needs before it begins, and keeps nothing if it cannot begin; and
 * that it keeps its tag, and so its slot at the target, until its data has been moved.
 */
#include <linux/kernel.h>

#include "request_fakes.h"
#include "unit.h"

#include "../../kernel/request.h"
#include "../../kernel/staged.h"
#include "../../kernel/status.h"

/* The block layer, and what staged.c calls */
#define RDMABLK_COMPAT_H
#define RDMABLK_ONESIDED_H
#define BLK_STS_RESOURCE	9
#define REQ_FUA			(1u << 8)
#define RQF_DONTPREP		(1u << 0)

enum {
	REQ_OP_READ, REQ_OP_WRITE, REQ_OP_FLUSH, REQ_OP_DISCARD, REQ_OP_WRITE_ZEROES = 5,
	REQ_OP_SECURE_ERASE = 7, REQ_OP_OTHER = 9,
};

enum ib_wc_status {
	IB_WC_SUCCESS,
	IB_WC_RETRY_EXC_ERR,
};

struct ib_wc {
	struct ib_cqe *wr_cqe;
	enum ib_wc_status status;
};

struct request_queue {
	void *queuedata;
};

struct bio_vec {
	char *to;
	unsigned int bv_len;
};

struct req_iterator {
	unsigned int i;
};

struct request {
	struct request_queue *q;
	int op;
	unsigned int cmd_flags, rq_flags, bytes, timeout, segments;
	u64 pos;
	struct bio_vec bvec[2];
	struct rdmablk_request pdu;
};

#define rq_for_each_segment(bv, rq, iter)				\
	for ((iter).i = 0; (iter).i < 2 && ((bv) = (rq)->bvec[(iter).i], true); (iter).i++)

#define DEPTH		8
#define SLOT		65536
#define TRAILER		4096
#define READ_SLOTS	4
#define WRITE_SLOTS	8

static struct rdmablk_path path;
static struct rdmablk_hwq hwq;
static struct request_queue queue = { .queuedata = &path };
static struct request rq;
static struct rdmablk_cmd_tag tag = { .tag = 5 };
static struct ib_rdma_wr implied;
static bool tags_left, may_imply, in_turn, mapped;
static blk_status_t map_status;
static unsigned int ended, given_back, requeues, unwatched, failures;
static int how;
/* The command as it was prepared, and what was put into the batch */
static struct {
	u16 op, flags;
	u64 offset, bytes;
	u32 trailer;
} command;
static enum { DATA, COMMAND, IMPLIED, FETCH } batch[4];
static unsigned int nr_batch, posted;
static bool sent, begun;

static unsigned int blk_rq_bytes(const struct request *of)
{
	return of->bytes;
}

static void memcpy_to_bvec(struct bio_vec *bv, const char *from)
{
	memcpy(bv->to, from, bv->bv_len);
}

static void blk_mq_requeue_request(struct request *of, bool kick)
{
	assert_ptr_equal(of, &rq);
	assert_true(kick);
	assert_int_equal(given_back, 1);
	assert_true(of->rq_flags & RQF_DONTPREP);
	requeues++;
}

static u64 rdmablk_request_start(struct request *of)
{
	return of->pos;
}

u16 rdmablk_onesided_op(struct request *of, u16 *flags)
{
	static const u16 ops[] = {
		[REQ_OP_READ] = RDMABLK_OP_READ, [REQ_OP_WRITE] = RDMABLK_OP_WRITE,
		[REQ_OP_FLUSH] = RDMABLK_OP_FLUSH, [REQ_OP_DISCARD] = RDMABLK_OP_DISCARD,
		[REQ_OP_WRITE_ZEROES] = RDMABLK_OP_WRITE_ZEROES,
		[REQ_OP_SECURE_ERASE] = RDMABLK_OP_SECURE_ERASE, [REQ_OP_OTHER] = 0,
	};

	*flags = of->op == REQ_OP_WRITE && (of->cmd_flags & REQ_FUA || of->pdu.durable) ?
		 RDMABLK_IO_FUA : 0;
	return ops[of->op];
}

static blk_status_t rdmablk_onesided_map_pages(struct rdmablk_path *of, struct rdmablk_hwq *on,
					       struct request *its)
{
	assert_true(of == &path && on == &hwq && its == &rq);
	assert_false(mapped);
	if (map_status)
		return map_status;
	mapped = true;
	rq.pdu.nr_sge = (u16)rq.segments;
	rq.pdu.nr_wr = (u16)DIV_ROUND_UP(rq.segments, 4);
	return BLK_STS_OK;
}

static void rdmablk_onesided_unmap(struct rdmablk_path *of, struct request *its)
{
	assert_true(of == &path && its == &rq);
	mapped = false;
	rq.pdu.nr_sge = 0;
}

static void add(int what)
{
	assert_true(hwq.write.lock.held || hwq.read.lock.held);
	batch[nr_batch++] = what;
}

/* Data goes to or comes from the slot of the tag, and no other. */
static void in_slot(u64 remote, u32 rkey)
{
	assert_int_equal(remote, path.cmds.slot_iova + (2 * DEPTH + 5) * SLOT);
	assert_int_equal(rkey, path.cmds.slot_rkey);
}

static void rdmablk_onesided_add(struct rdmablk_path *of, struct rdmablk_request *req,
				 enum ib_wr_opcode op, u64 remote, u32 rkey, bool signal)
{
	assert_true(of == &path && req == &rq.pdu);
	assert_true(mapped);
	assert_true(req->queue->lock.held);
	in_slot(remote, rkey);
	/* A WRITE is not signaled, as a command follows it. Nothing follows the READ. */
	assert_int_equal(signal, op == IB_WR_RDMA_READ);
	add(op == IB_WR_RDMA_READ ? FETCH : DATA);
}

struct rdmablk_cmd_tag *rdmablk_cmdq_get(struct rdmablk_cmdq *cmdq, int slots)
{
	assert_ptr_equal(cmdq, &hwq.cmdq);
	if (!tags_left || !rdmablk_queue_get_slots(&hwq.write, slots))
		return NULL;
	tag.slots = (u16)slots;
	tag.implied = false;
	return &tag;
}

void rdmablk_cmdq_prepare(struct rdmablk_cmd_tag *cmd, u16 op, u16 flags, u64 offset,
			  u64 bytes, u32 trailer)
{
	assert_ptr_equal(cmd, &tag);
	command.op = op;
	command.flags = flags;
	command.offset = offset;
	command.bytes = bytes;
	command.trailer = trailer;
	cmd->nr_sge = 1;
	cmd->pages = false;
	cmd->implied = false;
}

bool rdmablk_cmdq_imply(struct rdmablk_cmd_tag *cmd, u32 imm)
{
	assert_ptr_equal(cmd, &tag);
	cmd->imm = imm;
	cmd->implied = may_imply;
	return may_imply;
}

struct ib_rdma_wr *rdmablk_cmdq_add_implied(struct rdmablk_cmd_tag *cmd)
{
	assert_ptr_equal(cmd, &tag);
	if (!in_turn)
		return NULL;
	add(IMPLIED);
	return &implied;
}

void rdmablk_cmdq_add(struct rdmablk_cmd_tag *cmd)
{
	assert_ptr_equal(cmd, &tag);
	assert_true(hwq.write.lock.held);
	assert_false(cmd->implied);
	add(COMMAND);
}

void rdmablk_request_begin(struct rdmablk_fence_op *op)
{
	assert_ptr_equal(op, &rq.pdu.fence);
	assert_false(sent);
	begun = true;
}

void rdmablk_cmdq_send(struct rdmablk_cmd_tag *cmd)
{
	assert_ptr_equal(cmd, &tag);
	sent = true;
}

void rdmablk_queue_post(struct rdmablk_queue *q)
{
	assert_true(q->lock.held);
	posted++;
}

void rdmablk_queue_failed(struct rdmablk_queue *q, const struct ib_wc *wc)
{
	assert_ptr_equal(q, &hwq.read);
	assert_int_not_equal(wc->status, IB_WC_SUCCESS);
	failures++;
}

/* From here on another request may use the tag, and its slot. */
void rdmablk_fence_put(struct rdmablk_fence *f, struct rdmablk_cmd_tag *cmd, bool slow)
{
	assert_ptr_equal(f, &path.fence);
	assert_ptr_equal(cmd, &tag);
	assert_null(rq.pdu.cmd);
	assert_false(mapped);
	assert_int_equal(slow, rq.op >= REQ_OP_DISCARD);
	given_back++;
}

void rdmablk_poll_request_done(struct request *of)
{
	of->pdu.watched = false;
	unwatched++;
}

void rdmablk_request_end(struct request *of, blk_status_t status)
{
	assert_ptr_equal(of, &rq);
	assert_int_equal(given_back, 1);
	how = status;
	ended++;
}

#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../kernel/staged.c"
#pragma GCC diagnostic warning "-Wsign-compare"
#pragma GCC diagnostic warning "-Wunused-parameter"

static int setup(void **state)
{
	(void)state;
	memset(&path, 0, sizeof(path));
	memset(&hwq, 0, sizeof(hwq));
	memset(&rq, 0, sizeof(rq));
	memset(&command, 0, sizeof(command));
	memset(&implied, 0, sizeof(implied));
	path.staged = true;
	path.cache = true;
	path.size = 1 << 20;
	path.block_shift = 9;
	path.sge_per_wr = 4;
	path.read_write_tmo = 30;
	path.slow_tmo = 600;
	path.cmds.cmd_depth = DEPTH;
	path.cmds.trailer_bytes = TRAILER;
	path.cmds.slot_bytes = SLOT;
	path.cmds.slot_iova = 1ULL << 40;
	path.cmds.slot_rkey = 77;
	hwq.path = &path;
	hwq.nr = 2;
	atomic_set(&hwq.read.slots, READ_SLOTS);
	atomic_set(&hwq.write.slots, WRITE_SLOTS);
	tag.cmdq = &hwq.cmdq;
	rq.q = &queue;
	rq.op = REQ_OP_READ;
	rq.pos = 8192;
	rq.bytes = TRAILER;
	rq.segments = 1;
	tags_left = true;
	may_imply = false;
	in_turn = true;
	mapped = false;
	map_status = BLK_STS_OK;
	ended = 0;
	given_back = 0;
	requeues = 0;
	unwatched = 0;
	failures = 0;
	nr_batch = 0;
	posted = 0;
	sent = false;
	how = -1;
	return 0;
}

static blk_status_t prepare(void)
{
	return rdmablk_staged_prepare(&path, &hwq, &rq);
}

/* Sends the request with the only tag: command @op with @flags, and @slots send slots. */
static void sends(u16 op, u16 flags, u16 slots)
{
	assert_int_equal(prepare(), BLK_STS_OK);
	assert_ptr_equal(rq.pdu.cmd, &tag);
	assert_int_equal(tag.slots, slots);
	rdmablk_staged_send(&path, &rq, true);
	assert_int_equal(posted, 1);
	assert_false(hwq.write.lock.held);
	assert_int_equal(ended, 0);
	if (tag.implied)
		return;
	assert_int_equal(command.op, op);
	assert_int_equal(command.flags, flags);
	assert_int_equal(command.offset, op == RDMABLK_OP_FLUSH ? 0 : rq.pos);
	assert_int_equal(command.bytes, rq.bytes);
}

static void answered(u8 status)
{
	tag.status = status;
	tag.done(&tag);
}

static void ended_with(int status)
{
	assert_int_equal(ended, 1);
	assert_int_equal(given_back, 1);
	assert_int_equal(how, status);
	assert_int_equal(atomic_read(&hwq.read.slots), READ_SLOTS);
}

static void test_small_read(void **state)
{
	char data[TRAILER], to[2][TRAILER / 2];

	(void)state;
	sends(RDMABLK_OP_READ, RDMABLK_IO_TRAILER, 1);
	assert_int_equal(nr_batch, 1);
	assert_int_equal(batch[0], COMMAND);
	assert_false(mapped);
	assert_int_equal(command.trailer, 0);
	assert_int_equal(rq.timeout, path.read_write_tmo);
	unit_random_bytes(data, sizeof(data));
	for (int i = 0; i < 2; i++)
		rq.bvec[i] = (struct bio_vec){ to[i], TRAILER / 2 };
	/* Data of another length is not what was asked for. */
	assert_false(tag.payload(&tag, data, TRAILER - 1));
	assert_true(tag.payload(&tag, data, TRAILER));
	assert_memory_equal(data, to, TRAILER);
	answered(RDMABLK_OK);
	ended_with(BLK_STS_OK);
}

/* The request keeps the slot until its data has been fetched. */
static void test_large_read(void **state)
{
	struct ib_wc wc = { .wr_cqe = &rq.pdu.cqe };

	(void)state;
	rq.bytes = TRAILER + 512;
	rq.segments = 6;
	sends(RDMABLK_OP_READ, 0, 1);
	assert_int_equal(nr_batch, 1);
	assert_int_equal(batch[0], COMMAND);
	assert_null(tag.payload);
	assert_int_equal(atomic_read(&hwq.read.slots), READ_SLOTS - 2);
	answered(RDMABLK_OK);
	assert_int_equal(ended + given_back, 0);
	assert_int_equal(batch[1], FETCH);
	assert_int_equal(posted, 2);
	rq.pdu.cqe.done(NULL, &wc);
	ended_with(BLK_STS_OK);
}

static void test_large_read_fails(void **state)
{
	struct ib_wc wc = { .wr_cqe = &rq.pdu.cqe, .status = IB_WC_RETRY_EXC_ERR };

	(void)state;
	rq.bytes = SLOT;
	sends(RDMABLK_OP_READ, 0, 1);
	answered(RDMABLK_R_STORE_IO);
	assert_int_equal(nr_batch, 1);
	ended_with(rdmablk_status_blk(RDMABLK_R_STORE_IO));
	/* The connection fails: the request is held, with all that it has. */
	setup(state);
	rq.bytes = SLOT;
	sends(RDMABLK_OP_READ, 0, 1);
	answered(RDMABLK_OK);
	rq.pdu.cqe.done(NULL, &wc);
	assert_int_equal(failures, 1);
	assert_int_equal(ended + given_back, 0);
}

static void test_small_write(void **state)
{
	(void)state;
	rq.op = REQ_OP_WRITE;
	rq.segments = 3;
	for (int i = 0; i < 3; i++)
		rq.pdu.sge[i].addr = 100U + (u64)i;
	sends(RDMABLK_OP_WRITE, RDMABLK_IO_TRAILER, 1);
	assert_int_equal(nr_batch, 1);
	assert_int_equal(batch[0], COMMAND);
	assert_int_equal(command.trailer, TRAILER);
	assert_int_equal(tag.nr_sge, 4);
	assert_memory_equal(&tag.sge[1], rq.pdu.sge, 3 * sizeof(tag.sge[0]));
	/* The device may send the pages again until it is done with them. */
	assert_true(tag.pages);
	answered(RDMABLK_OK);
	ended_with(BLK_STS_OK);
	assert_true(path.unflushed);
}

/* The write is large, or the command has no room for so many segments. */
static void test_large_write(void **state)
{
	for (int i = 0; i < 3; i++) {
		setup(state);
		rq.op = REQ_OP_WRITE;
		rq.bytes = i ? TRAILER : SLOT;
		rq.segments = i ? 4 : 7;
		if (i == 2) {
			path.sge_per_wr = 2;
			rq.segments = 2;
		}
		sends(RDMABLK_OP_WRITE, 0, 1 + (rq.segments + 3) / 4);
		assert_int_equal(nr_batch, 2);
		assert_int_equal(batch[0], DATA);
		assert_int_equal(batch[1], COMMAND);
		assert_int_equal(command.trailer, 0);
		assert_true(tag.pages);
		answered(RDMABLK_R_STORE_SPACE);
		ended_with(BLK_STS_NOSPC);
	}
}

static void test_implied_write(void **state)
{
	(void)state;
	rq.op = REQ_OP_WRITE;
	rq.bytes = SLOT;
	rq.segments = 4;
	rq.cmd_flags = REQ_FUA;
	may_imply = true;
	sends(RDMABLK_OP_WRITE, 0, 2);
	assert_int_equal(nr_batch, 1);
	assert_int_equal(batch[0], IMPLIED);
	assert_int_equal(tag.imm, RDMABLK_WRITE_FUA | RDMABLK_WRITE_PAGES |
			 RDMABLK_WRITE_POS(8192 >> RDMABLK_WRITE_PAGE_SHIFT));
	in_slot(implied.remote_addr, implied.rkey);
	assert_ptr_equal(implied.wr.sg_list, rq.pdu.sge);
	assert_int_equal(implied.wr.num_sge, 4);
	answered(RDMABLK_OK);
	ended_with(BLK_STS_OK);
}

/* A chain of work requests would have several immediate values. */
static void test_write_that_cannot_be_implied(void **state)
{
	(void)state;
	rq.op = REQ_OP_WRITE;
	rq.bytes = SLOT;
	rq.segments = 5;
	may_imply = true;
	sends(RDMABLK_OP_WRITE, 0, 3);
	assert_int_equal(batch[0], DATA);
	assert_int_equal(batch[1], COMMAND);
	setup(state);
	rq.op = REQ_OP_WRITE;
	path.size = 1ULL << 62;
	rq.pos = 1ULL << 60;
	may_imply = true;
	sends(RDMABLK_OP_WRITE, RDMABLK_IO_TRAILER, 1);
	assert_int_equal(batch[0], COMMAND);
}

/* Another command was posted meanwhile, so the write becomes a full command, with its slots. */
static void test_implied_write_out_of_turn(void **state)
{
	for (int large = 0; large < 2; large++) {
		setup(state);
		rq.op = REQ_OP_WRITE;
		rq.bytes = large ? SLOT : TRAILER;
		rq.pdu.durable = true;
		may_imply = true;
		in_turn = false;
		sends(RDMABLK_OP_WRITE, RDMABLK_IO_FUA | (large ? 0 : RDMABLK_IO_TRAILER),
		      large ? 2 : 1);
		assert_false(tag.implied);
		assert_int_equal(nr_batch, 1 + large);
		assert_int_equal(batch[large], COMMAND);
		assert_true(tag.pages);
		answered(RDMABLK_OK);
		ended_with(BLK_STS_OK);
	}
}

/* A request that cannot begin now keeps nothing, so that others can begin. */
static void test_resources(void **state)
{
	enum { NO_TAG, NO_READ_SLOTS, NO_WRITE_SLOTS, NO_MAPPING, HOW_MANY };

	for (int i = 0; i < HOW_MANY; i++) {
		setup(state);
		rq.op = i == NO_WRITE_SLOTS ? REQ_OP_WRITE : REQ_OP_READ;
		rq.bytes = SLOT;
		rq.segments = 8;
		tags_left = i != NO_TAG;
		if (i == NO_READ_SLOTS)
			atomic_set(&hwq.read.slots, 1);
		if (i == NO_WRITE_SLOTS)
			atomic_set(&hwq.write.slots, 2);
		if (i == NO_MAPPING)
			map_status = BLK_STS_RESOURCE;
		assert_int_equal(prepare(), BLK_STS_RESOURCE);
		assert_false(mapped);
		assert_null(rq.pdu.cmd);
		assert_int_equal(atomic_read(&hwq.read.slots),
				 i == NO_READ_SLOTS ? 1 : READ_SLOTS);
		assert_int_equal(atomic_read(&hwq.write.slots),
				 i == NO_WRITE_SLOTS ? 2 : WRITE_SLOTS);
	}
}

/* Slow commands wait for a tag in their line, and are answered like any other. */
static void test_slow(void **state)
{
	static const struct {
		int op;
		u16 code;
		bool unflushed;
	} c[] = {
		{ REQ_OP_DISCARD, RDMABLK_OP_DISCARD, false },
		{ REQ_OP_WRITE_ZEROES, RDMABLK_OP_WRITE_ZEROES, true },
		{ REQ_OP_SECURE_ERASE, RDMABLK_OP_SECURE_ERASE, true },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		setup(state);
		rq.op = c[i].op;
		rq.bytes = 1 << 19;
		assert_int_equal(prepare(), BLK_STS_OK);
		assert_null(rq.pdu.cmd);
		assert_int_equal(rq.pdu.fence.kind, RDMABLK_FENCE_ALONE);
		assert_ptr_equal(rq.pdu.fence.hwq, &hwq);
		assert_int_equal(rq.timeout, path.slow_tmo);
		begun = false;
		rq.pdu.fence.begin(&rq.pdu.fence);
		rq.pdu.fence.send(&rq.pdu.fence, &tag);
		assert_true(sent && begun);
		assert_int_equal(command.op, c[i].code);
		assert_int_equal(command.offset, rq.pos);
		assert_int_equal(command.bytes, rq.bytes);
		answered(RDMABLK_OK);
		ended_with(BLK_STS_OK);
		assert_int_equal(path.unflushed, c[i].unflushed);
	}
}

/* While a slow command waits for a tag, one request may pass it, but not a second one. */
static void test_turn_of_the_slow(void **state)
{
	(void)state;
	hwq.waits = BIT(RDMABLK_LINE_SLOW);
	assert_int_equal(prepare(), BLK_STS_OK);
	assert_true(hwq.passed);
	rq.pdu.cmd = NULL;
	assert_int_equal(prepare(), BLK_STS_RESOURCE);
	assert_null(rq.pdu.cmd);
	/* If a slow command has a tag, the others that wait have no precedence. */
	atomic_set(&hwq.slow, 1);
	assert_int_equal(prepare(), BLK_STS_OK);
	/* Only the line of the slow commands counts. */
	atomic_set(&hwq.slow, 0);
	hwq.waits = BIT(RDMABLK_LINE_FUA);
	assert_int_equal(prepare(), BLK_STS_OK);
}

static void test_flush(void **state)
{
	(void)state;
	rq.op = REQ_OP_FLUSH;
	rq.bytes = 0;
	rq.pos = ~0ULL << 9;	/* stands for no position */
	path.unflushed = true;
	sends(RDMABLK_OP_FLUSH, 0, 1);
	assert_int_equal(rq.timeout, path.slow_tmo);
	assert_false(path.unflushed);
	assert_true(rq.pdu.was_unflushed);
	answered(RDMABLK_OK);
	ended_with(BLK_STS_OK);
	assert_false(path.unflushed);
	assert_true(rdmablk_flush_ahead_is_clean(&path));
}

/* The data that the FLUSH was for still has to be flushed. */
static void test_flush_fails(void **state)
{
	for (int unflushed = 0; unflushed < 2; unflushed++) {
		setup(state);
		rq.op = REQ_OP_FLUSH;
		rq.bytes = 0;
		path.unflushed = unflushed;
		sends(RDMABLK_OP_FLUSH, 0, 1);
		answered(RDMABLK_R_STORE_IO);
		ended_with(rdmablk_status_blk(RDMABLK_R_STORE_IO));
		assert_int_equal(path.unflushed, unflushed);
		assert_false(rdmablk_flush_ahead_is_clean(&path));
	}
}

static void write_ends(unsigned int flags, bool durable, u8 status)
{
	setup(NULL);
	path.ahead.flushed = true;
	path.ahead.singles = 4;
	rq.op = REQ_OP_WRITE;
	rq.cmd_flags = flags;
	rq.pdu.durable = durable;
	rq.pdu.watched = true;
	sends(RDMABLK_OP_WRITE, RDMABLK_IO_TRAILER | (durable ? RDMABLK_IO_FUA : 0), 1);
	assert_int_equal(rq.timeout, durable ? path.slow_tmo : path.read_write_tmo);
	answered(status);
}

/* For plain and durable writes: what remains to be flushed, and what the submitter is told */
static void test_durable_write(void **state)
{
	(void)state;
	write_ends(0, false, RDMABLK_OK);
	ended_with(BLK_STS_OK);
	assert_true(path.unflushed);
	write_ends(REQ_FUA, true, RDMABLK_OK);
	ended_with(BLK_STS_OK);
	assert_false(path.unflushed);
	write_ends(REQ_FUA, true, RDMABLK_R_STORE_IO);
	ended_with(rdmablk_status_blk(RDMABLK_R_STORE_IO));
	assert_true(path.unflushed);
	assert_int_equal(path.ahead.singles, 4);
	/* The submitter has not asked for durability, so the request is queued again as a write. */
	write_ends(0, true, RDMABLK_R_STORE_IO);
	assert_int_equal(ended, 0);
	assert_int_equal(requeues, 1);
	assert_int_equal(unwatched, 1);
	assert_true(path.unflushed);
	assert_false(path.ahead.flushed);
	assert_int_equal(path.ahead.singles, 0);
}

/* A target would end the session for these requests. */
static void test_refused(void **state)
{
	(void)state;
	rq.pos = path.size - rq.bytes + 512;
	assert_int_equal(prepare(), BLK_STS_IOERR);
	rq.pos = path.size + 512;
	assert_int_equal(prepare(), BLK_STS_IOERR);
	rq.pos = 0;
	rq.bytes = SLOT + 512;
	assert_int_equal(prepare(), BLK_STS_IOERR);
	rq.op = REQ_OP_WRITE;
	assert_int_equal(prepare(), BLK_STS_IOERR);
	rq.bytes = 512;
	path.read_only = true;
	assert_int_equal(prepare(), BLK_STS_IOERR);
	rq.op = REQ_OP_DISCARD;
	assert_int_equal(prepare(), BLK_STS_IOERR);
	path.read_only = false;
	rq.op = REQ_OP_OTHER;
	assert_int_equal(prepare(), BLK_STS_NOTSUPP);
	assert_false(mapped);
	assert_int_equal(atomic_read(&hwq.write.slots), WRITE_SLOTS);
}

/* A batch that is not complete is posted later. */
static void test_batch(void **state)
{
	(void)state;
	assert_int_equal(prepare(), BLK_STS_OK);
	rdmablk_staged_send(&path, &rq, false);
	assert_int_equal(nr_batch, 1);
	assert_int_equal(posted, 0);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_small_read),
		TEST(test_large_read),
		TEST(test_large_read_fails),
		TEST(test_small_write),
		TEST(test_large_write),
		TEST(test_implied_write),
		TEST(test_write_that_cannot_be_implied),
		TEST(test_implied_write_out_of_turn),
		TEST(test_resources),
		TEST(test_slow),
		TEST(test_turn_of_the_slow),
		TEST(test_flush),
		TEST(test_flush_fails),
		TEST(test_durable_write),
		TEST(test_refused),
		TEST(test_batch),
	};

	return cmocka_run_group_tests_name("staged", tests, NULL, NULL);
}
