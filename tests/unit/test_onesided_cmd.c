// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/onesided_cmd.c ends a write that brings its own FLUSH as its submitter may
 * expect. A write with FUA ends with the error of a FLUSH that failed. A write without FUA
 * succeeds, but still has to be flushed, and the next such write is sent without a FLUSH.
 */
#include <linux/kernel.h>

#include "request_fakes.h"
#include "unit.h"

#include "../../kernel/request.h"
#include "../../kernel/status.h"

/* The block layer, and what onesided_cmd.c calls */
#define RDMABLK_COMPAT_H
#define RDMABLK_ONESIDED_H
#define REQ_FUA		(1u << 8)
#define REQ_NOUNMAP	(1u << 9)
#define cond_resched()	((void)0)

enum {
	REQ_OP_READ, REQ_OP_WRITE, REQ_OP_FLUSH, REQ_OP_DISCARD, REQ_OP_WRITE_ZEROES,
	REQ_OP_SECURE_ERASE,
};

struct request_queue {
	void *queuedata;
};

struct request {
	struct request_queue *q;
	int op;
	unsigned int cmd_flags, bytes, timeout;
	u64 pos;
	struct rdmablk_request pdu;
};

static struct rdmablk_path path;
static struct rdmablk_hwq hwq;
static struct request_queue queue = { .queuedata = &path };
static struct request rq;
static struct rdmablk_cmd_tag tag;
static bool tags_left;
static unsigned int ended, marked, put, sent, begun;
static int how;
static u16 op_sent;

static unsigned int blk_rq_bytes(const struct request *of)
{
	return of->bytes;
}

static u64 rdmablk_request_start(struct request *of)
{
	return of->pos;
}

static void rdmablk_onesided_unmap(struct rdmablk_path *of, struct request *mapped)
{
	(void)of;
	mapped->pdu.nr_sge = 0;
}

void rdmablk_request_begin(struct rdmablk_fence_op *op)
{
	assert_ptr_equal(op, &rq.pdu.fence);
	begun++;
}

struct rdmablk_cmd_tag *rdmablk_cmdq_get(struct rdmablk_cmdq *cmdq, int slots)
{
	(void)cmdq;
	assert_int_equal(slots, 0);
	return tags_left ? &tag : NULL;
}

void rdmablk_cmdq_prepare(struct rdmablk_cmd_tag *cmd, u16 op, u16 flags, u64 offset,
			  u64 bytes, u32 trailer)
{
	assert_ptr_equal(cmd, &tag);
	assert_int_equal(offset, rq.pos);
	assert_int_equal(bytes, rq.bytes);
	assert_int_equal(trailer, 0);
	assert_int_equal(flags, 0);
	op_sent = op;
}

void rdmablk_cmdq_send(struct rdmablk_cmd_tag *cmd)
{
	assert_ptr_equal(cmd, &tag);
	sent++;
}

void rdmablk_fence_put(struct rdmablk_fence *f, struct rdmablk_cmd_tag *cmd, bool slow)
{
	assert_ptr_equal(f, &path.fence);
	assert_ptr_equal(cmd, &tag);
	assert_int_equal(slow, rq.op != REQ_OP_WRITE);
	put++;
}

void rdmablk_fence_end(struct rdmablk_fence *f, struct rdmablk_fence_op *op, u8 status)
{
	(void)f;
	op->done(op, status);
}

void rdmablk_fence_dirty(struct rdmablk_path *of, u64 pos, u64 bytes)
{
	assert_ptr_equal(of, &path);
	assert_true(pos >= rq.pos && pos + bytes <= rq.pos + rq.bytes);
	assert_int_equal(ended, 0);	/* else a FLUSH may miss it */
	marked += (unsigned int)bytes;
}

void rdmablk_request_end(struct request *of, blk_status_t status)
{
	assert_ptr_equal(of, &rq);
	assert_null(rq.pdu.cmd);
	how = status;
	ended++;
}

#include "../../kernel/onesided_cmd.c"

static int setup(void **state)
{
	(void)state;
	memset(&path, 0, sizeof(path));
	memset(&hwq, 0, sizeof(hwq));
	memset(&rq, 0, sizeof(rq));
	memset(&tag, 0, sizeof(tag));
	path.cache = true;
	path.commands = true;
	path.snapshots = 1;
	path.size = 1 << 20;
	path.slow_tmo = 600;
	hwq.path = &path;
	tag.cmdq = &hwq.cmdq;
	rq.pdu.queue = &hwq.write;
	rq.q = &queue;
	rq.op = REQ_OP_WRITE;
	rq.pos = 8192;
	rq.bytes = 4096;
	rq.pdu.durable = true;
	path.ahead.flushed = true;
	path.ahead.singles = 4;
	tags_left = true;
	ended = 0;
	marked = 0;
	put = 0;
	sent = 0;
	begun = 0;
	memset(&rq.pdu.fence, 0, sizeof(rq.pdu.fence));
	how = -1;
	return 0;
}

static void write_answered(unsigned int flags, u8 status)
{
	rq.cmd_flags = flags;
	rdmablk_onesided_prepare_fua(&hwq, &rq);
	assert_ptr_equal(rq.pdu.cmd, &tag);
	assert_int_equal(op_sent, RDMABLK_OP_FLUSH);
	assert_int_equal(rq.timeout, path.slow_tmo);
	tag.status = status;
	tag.done(&tag);
	assert_int_equal(put, 1);
	assert_int_equal(ended, 1);
}

static void test_durable_write(void **state)
{
	(void)state;
	write_answered(REQ_FUA, RDMABLK_OK);
	assert_int_equal(how, BLK_STS_OK);
	assert_int_equal(marked, 0);
	assert_int_equal(hwq.wrote, 0);
	assert_true(path.ahead.flushed);
}

static void test_durable_write_fails(void **state)
{
	(void)state;
	write_answered(REQ_FUA, RDMABLK_R_STORE_IO);
	assert_int_equal(how, rdmablk_status_blk(RDMABLK_R_STORE_IO));
	assert_int_not_equal(how, BLK_STS_OK);
	/* The target's memory has the data, but perhaps its store has not. */
	assert_int_equal(marked, rq.bytes);
	assert_int_equal(hwq.wrote, path.snapshots);
}

/* The submitter has asked only for the write, and that is done. */
static void test_unasked_flush_fails(void **state)
{
	(void)state;
	write_answered(0, RDMABLK_R_STORE_IO);
	assert_int_equal(how, BLK_STS_OK);
	assert_int_equal(marked, rq.bytes);
	assert_int_equal(hwq.wrote, path.snapshots);
	assert_false(path.ahead.flushed);
	assert_int_equal(path.ahead.singles, 0);
}

/*
 * Without a tag a write with FUA waits for one. Any other write is sent without its FLUSH, and
 * has the time limit of a write.
 */
static void test_no_tag(void **state)
{
	(void)state;
	tags_left = false;
	rdmablk_onesided_prepare_fua(&hwq, &rq);
	assert_false(rq.pdu.durable || rq.pdu.fua);
	assert_null(rq.pdu.cmd);
	assert_int_equal(rq.timeout, 0);
	rq.pdu.durable = true;
	rq.cmd_flags = REQ_FUA;
	rdmablk_onesided_prepare_fua(&hwq, &rq);
	assert_true(rq.pdu.durable && rq.pdu.fua);
	assert_int_equal(rq.timeout, path.slow_tmo);
	assert_int_equal(rq.pdu.fence.kind, RDMABLK_FENCE_FUA);
	rq.pdu.fence.begin(&rq.pdu.fence);
	rq.pdu.fence.send(&rq.pdu.fence, &tag);
	assert_int_equal(sent, 1);
	assert_int_equal(begun, 1);
	assert_int_equal(op_sent, RDMABLK_OP_FLUSH);
	/* A write does not overtake those that wait for a tag. */
	tags_left = true;
	rq.pdu.fua = false;
	rq.pdu.cmd = NULL;
	hwq.waits = BIT(RDMABLK_LINE_FUA);
	rdmablk_onesided_prepare_fua(&hwq, &rq);
	assert_null(rq.pdu.cmd);
	assert_true(rq.pdu.fua);
}

/* A command that failed may be half done: its range must still be flushed to the store. */
static void test_half_done(void **state)
{
	(void)state;
	rq.op = REQ_OP_DISCARD;
	assert_int_equal(rdmablk_onesided_prepare_other(&path, &hwq, &rq), BLK_STS_OK);
	assert_ptr_equal(rq.pdu.fence.begin, rdmablk_request_begin);
	rq.pdu.fence.send(&rq.pdu.fence, &tag);
	assert_int_equal(op_sent, RDMABLK_OP_DISCARD);
	tag.status = RDMABLK_R_STORE_IO;
	tag.done(&tag);
	assert_int_equal(ended, 1);
	assert_int_not_equal(how, BLK_STS_OK);
	assert_int_equal(marked, rq.bytes);
}

static void test_the_time_of_a_flush(void **state)
{
	(void)state;
	rq.op = REQ_OP_FLUSH;
	assert_int_equal(rdmablk_onesided_prepare_other(&path, &hwq, &rq), BLK_STS_OK);
	assert_int_equal(rq.timeout, path.slow_tmo);
	assert_int_equal(rq.pdu.fence.kind, RDMABLK_FENCE_FLUSH);
	assert_ptr_equal(rq.pdu.fence.begin, rdmablk_request_begin);
}

static void test_zeroes_want_a_flush(void **state)
{
	(void)state;
	rq.op = REQ_OP_WRITE_ZEROES;
	assert_int_equal(rdmablk_onesided_prepare_other(&path, &hwq, &rq), BLK_STS_OK);
	rq.pdu.fence.send(&rq.pdu.fence, &tag);
	tag.status = RDMABLK_OK;
	tag.done(&tag);
	assert_int_equal(how, BLK_STS_OK);
	assert_true(path.unflushed);
}

static void test_refused(void **state)
{
	(void)state;
	rq.op = REQ_OP_DISCARD;
	rq.pos = path.size - rq.bytes + 512;
	assert_int_equal(rdmablk_onesided_prepare_other(&path, &hwq, &rq), BLK_STS_IOERR);
	rq.pos = path.size + 512;
	assert_int_equal(rdmablk_onesided_prepare_other(&path, &hwq, &rq), BLK_STS_IOERR);
	rq.pos = 0;
	path.read_only = true;
	assert_int_equal(rdmablk_onesided_prepare_other(&path, &hwq, &rq), BLK_STS_IOERR);
	path.commands = false;
	assert_int_equal(rdmablk_onesided_prepare_other(&path, &hwq, &rq), BLK_STS_NOTSUPP);
	rq.op = REQ_OP_FLUSH;
	assert_int_equal(rdmablk_onesided_prepare_other(&path, &hwq, &rq), BLK_STS_NOTSUPP);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_durable_write),
		TEST(test_durable_write_fails),
		TEST(test_unasked_flush_fails),
		TEST(test_no_tag),
		TEST(test_half_done),
		TEST(test_the_time_of_a_flush),
		TEST(test_zeroes_want_a_flush),
		TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
