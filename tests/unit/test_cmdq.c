// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/cmdq.c ends a command once: when the target has answered it and the device
 * is done with it. An answer without a command ends the session and nothing else: for a free
 * tag, for an earlier command of the tag, a second answer, or one with data that was not asked
 * for. An answer always finds a receive, and a SEND a send slot.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <malloc.h>

#include "unit.h"

#include "../../kernel/cmdq.h"

/* The device and the queue pair, as far as cmdq.c knows them */
enum ib_wc_status {
	IB_WC_SUCCESS,
	IB_WC_WR_FLUSH_ERR,
	IB_WC_LOC_LEN_ERR,
};

enum { IB_WC_RECV = 128, IB_WC_RECV_RDMA_WITH_IMM, IB_WC_WITH_IMM = 2 };

struct ib_wc {
	struct ib_cqe *wr_cqe;
	enum ib_wc_status status;
	int opcode, wc_flags;
	u32 byte_len;
	struct {
		u32 imm_data;
	} ex;
};

struct ib_recv_wr {
	struct ib_cqe *wr_cqe;
	struct ib_sge *sg_list;
	int num_sge;
};

struct ib_pd {
	struct ib_device *device;
	u32 local_dma_lkey;
};

#define be32_to_cpu		be32toh
#define cpu_to_be32		htobe32
#define array_size(a, b)	((size_t)(a) * (b))
#define kzalloc_node(n, f, node)	(assert_int_equal(node, NODE), kvcalloc(1, n, f))
#define kvzalloc_node		kzalloc_node
#define kfree			kvfree
#define bitmap_zero(map, n)	memset(map, 0, BITS_TO_LONGS(n) * sizeof(long))
#define bitmap_set(map, from, n)	((map)[0] |= ((1UL << (n)) - 1) << (from))

#define NODE		1
#define DEPTH		8
#define OWNED		(RDMABLK_CMD_RESERVED + 1)
#define SLOTS		40
#define RX_BYTES	512
#define RECEIVES	(2 * DEPTH)
#define SENDS		64

static struct ib_qp {
	struct ib_cqe *receive[RECEIVES];	/* posted, in the order of use */
	struct ib_sge sge[RECEIVES];
	unsigned int nr_receives;
	struct ib_send_wr send[SENDS];
	unsigned int nr_sends;
} unit_qp;
static int mappings, map_fails;
static bool post_fails;

static u64 ib_dma_map_single(struct ib_device *dev, void *data, size_t bytes,
			     enum dma_data_direction dir)
{
	(void)dev;
	(void)dir;
	assert_true(bytes);
	if (map_fails && !--map_fails)
		return 0;
	mappings++;
	return (uintptr_t)data;
}

static int ib_dma_mapping_error(struct ib_device *dev, u64 addr)
{
	(void)dev;
	return !addr;
}

static void ib_dma_unmap_single(struct ib_device *dev, u64 addr, size_t bytes,
				enum dma_data_direction dir)
{
	(void)dev;
	(void)dir;
	assert_true(addr && bytes);
	mappings--;
}

static void ib_dma_sync_single_for_device(struct ib_device *dev, u64 addr, size_t bytes,
					  enum dma_data_direction dir)
{
	ib_dma_sync_single_for_cpu(dev, addr, bytes, dir);
}

static int ib_post_recv(struct ib_qp *qp, struct ib_recv_wr *wr, void *bad)
{
	(void)bad;
	if (post_fails)
		return -EINVAL;
	/* There are as many receives as tags. */
	assert_true(qp->nr_receives < DEPTH);
	qp->sge[qp->nr_receives] = wr->num_sge ? *wr->sg_list : (struct ib_sge){ };
	qp->receive[qp->nr_receives++] = wr->wr_cqe;
	return 0;
}

static unsigned int fatals, failed;
static u16 reason;

void rdmablk_queue_failed(struct rdmablk_queue *q, const struct ib_wc *wc)
{
	(void)q;
	assert_int_not_equal(wc->status, IB_WC_SUCCESS);
	failed++;
}

/* As in queue.c: a message that is too long is not a lost connection. */
u16 rdmablk_queue_recv_reason(const struct ib_wc *wc)
{
	return wc->status == IB_WC_LOC_LEN_ERR ? RDMABLK_R_MALFORMED : RDMABLK_R_CONNECTION;
}

/* Posts the batch. The send queue must have room for it. */
void rdmablk_queue_post(struct rdmablk_queue *q)
{
	assert_true(q->lock.held);
	for (unsigned int i = 0; i < q->nr_batch; i++) {
		assert_true(unit_qp.nr_sends < SENDS);
		unit_qp.send[unit_qp.nr_sends++] = q->batch[i].wr;
	}
	q->nr_batch = 0;
}

/* The kernel is built without this warning. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../kernel/cmdq.c"
#pragma GCC diagnostic warning "-Wunused-parameter"

static struct rdmablk_queue q;
static struct rdmablk_cmdq c;
static struct ib_pd pd = { .local_dma_lkey = 77 };
static unsigned int ended, payloads;
static bool few_receives;	/* the test has posted fewer than DEPTH */
static u32 payload_len;
static bool payload_ok;
static struct rdmablk_cmd_tag *last;

static void fatal(struct rdmablk_queue *queue, u16 why)
{
	assert_ptr_equal(queue, &q);
	reason = why;
	fatals++;
}

/* When a command ends its tag may be used again, so its receive must be posted by then. */
static void done(struct rdmablk_cmd_tag *cmd)
{
	assert_false(cmd->busy);
	assert_true(few_receives || unit_qp.nr_receives == DEPTH);
	last = cmd;
	ended++;
	if (cmd->tag >= RDMABLK_CMD_RESERVED)
		rdmablk_cmdq_put(cmd);
}

static bool payload(struct rdmablk_cmd_tag *cmd, const void *data, u32 len)
{
	assert_false(cmd->answered);
	if (len)
		assert_int_equal(((const u8 *)data)[len - 1], 0x5a);
	payload_len = len;
	payloads++;
	return payload_ok;
}

static int create_as(const struct rdmablk_cmdq_attr *attr)
{
	memset(&unit_qp, 0, sizeof(unit_qp));
	memset(&q, 0, sizeof(q));
	q.qp = &unit_qp;
	q.fatal = fatal;
	q.send_slots = SLOTS;
	atomic_set(&q.slots, SLOTS);
	return rdmablk_cmdq_create(&c, &q, &pd, attr);
}

static struct rdmablk_cmdq_attr attr(void)
{
	return (struct rdmablk_cmdq_attr){
		.depth = DEPTH, .owned = OWNED, .needed = 4, .dirty_bytes = 256,
		.rx_bytes = RX_BYTES, .lists = true, .node = NODE,
	};
}

static void create(const struct rdmablk_cmdq_attr *a)
{
	assert_int_equal(create_as(a), 0);
	assert_int_equal(unit_qp.nr_receives, DEPTH);
	assert_int_equal(atomic_read(&q.slots), SLOTS - OWNED);
}

static int setup(void **state)
{
	const struct rdmablk_cmdq_attr a = attr();

	(void)state;
	post_fails = false;
	create(&a);
	fatals = 0;
	failed = 0;
	reason = 0;
	ended = 0;
	payloads = 0;
	payload_ok = true;
	last = NULL;
	few_receives = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rdmablk_cmdq_destroy(&c);
	rdmablk_cmdq_destroy(&c);
	assert_int_equal(mappings, 0);
	rdmablk_cmdq_free(&c);
	rdmablk_cmdq_free(&c);
	return 0;
}

/* A command that is prepared but not sent */
static struct rdmablk_cmd_tag *prepared(int slots)
{
	struct rdmablk_cmd_tag *cmd = rdmablk_cmdq_get(&c, slots);

	assert_non_null(cmd);
	cmd->done = done;
	cmd->payload = NULL;
	rdmablk_cmdq_prepare(cmd, RDMABLK_OP_FLUSH, 0, 0, 0, 0);
	return cmd;
}

static struct rdmablk_cmd_tag *sent(bool pages)
{
	struct rdmablk_cmd_tag *cmd = prepared(1);

	cmd->pages = pages;
	rdmablk_cmdq_send(cmd);
	return cmd;
}

/* A completion of the oldest receive; its first bytes are @data. */
static void receive(struct ib_wc wc, const void *data, size_t bytes)
{
	assert_true(unit_qp.nr_receives);
	wc.wr_cqe = unit_qp.receive[0];
	if (data)
		memcpy((void *)(uintptr_t)unit_qp.sge[0].addr, data, bytes);
	else if (wc.byte_len && wc.byte_len <= unit_qp.sge[0].length)
		memset((void *)(uintptr_t)unit_qp.sge[0].addr, 0x5a, wc.byte_len);
	unit_qp.nr_receives--;
	memmove(unit_qp.receive, unit_qp.receive + 1,
		unit_qp.nr_receives * sizeof(*unit_qp.receive));
	memmove(unit_qp.sge, unit_qp.sge + 1, unit_qp.nr_receives * sizeof(*unit_qp.sge));
	wc.wr_cqe->done(NULL, &wc);
}

static void answer_with(u32 imm, u32 len)
{
	receive((struct ib_wc){
		.opcode = IB_WC_RECV, .wc_flags = IB_WC_WITH_IMM, .byte_len = len,
		.ex.imm_data = htobe32(imm),
	}, NULL, 0);
}

static void answer(const struct rdmablk_cmd_tag *cmd, u8 status)
{
	answer_with(RDMABLK_IMM(cmd->tag, cmd->generation, status), 0);
}

static void answer_list(const u32 *imm, size_t bytes)
{
	__le32 list[2 * RDMABLK_MAX_ANSWERS];

	for (size_t i = 0; i < (bytes + 3) / 4; i++)
		list[i] = htole32(imm[i]);
	receive((struct ib_wc){ .opcode = IB_WC_RECV, .byte_len = (u32)bytes }, list, bytes);
}

static void send_done(struct rdmablk_cmd_tag *cmd)
{
	struct ib_wc wc = { .wr_cqe = &cmd->cqe };

	cmd->cqe.done(NULL, &wc);
}

static struct ib_send_wr *last_send(void)
{
	assert_true(unit_qp.nr_sends);
	return &unit_qp.send[unit_qp.nr_sends - 1];
}

/* The session has ended once, with the reason @why, and no command has ended. */
static void over(u16 why)
{
	assert_int_equal(fatals, 1);
	assert_int_equal(reason, why);
	assert_int_equal(ended, 0);
	fatals = 0;
}

static void test_answered(void **state)
{
	struct rdmablk_cmd_tag *cmd;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		cmd = sent(false);
		assert_true(cmd->busy);
		assert_int_equal(last_send()->opcode, IB_WR_SEND);
		assert_int_equal(last_send()->sg_list[0].length, sizeof(*cmd->msg));
		assert_int_equal(last_send()->sg_list[0].lkey, 77);
		if (last_send()->send_flags & IB_SEND_SIGNALED)
			send_done(cmd);
		answer(cmd, i % 7);
		assert_int_equal(ended, i + 1);
		assert_ptr_equal(last, cmd);
		assert_int_equal(cmd->status, i % 7);
		assert_int_equal(unit_qp.nr_receives, DEPTH);
		unit_qp.nr_sends = 0;
	}
	assert_int_equal(fatals, 0);
}

/* A command with pages of a request ends when it is answered and the device is done with them. */
static void test_pages(void **state)
{
	struct rdmablk_cmd_tag *cmd;

	(void)state;
	for (unsigned int i = 0; i < 10; i++) {
		cmd = sent(true);
		assert_true(last_send()->send_flags & IB_SEND_SIGNALED);
		if (i & 1)
			send_done(cmd);
		else
			answer(cmd, RDMABLK_OK);
		assert_int_equal(ended, i);
		assert_true(cmd->busy);
		if (i & 1)
			answer(cmd, RDMABLK_OK);
		else
			send_done(cmd);
		assert_int_equal(ended, i + 1);
	}
	assert_int_equal(atomic_read(&q.slots), SLOTS - OWNED);
	assert_int_equal(fatals, 0);
}

static void test_failed_completions(void **state)
{
	struct rdmablk_cmd_tag *cmd = sent(true);
	struct ib_wc wc = { .wr_cqe = &cmd->cqe, .status = IB_WC_WR_FLUSH_ERR };

	(void)state;
	answer(cmd, RDMABLK_OK);
	cmd->cqe.done(NULL, &wc);
	assert_int_equal(failed, 1);
	assert_int_equal(fatals, 0);
	receive((struct ib_wc){ .status = IB_WC_WR_FLUSH_ERR }, NULL, 0);
	over(RDMABLK_R_CONNECTION);
	/* Other receives that are flushed report nothing new; an error of another kind does. */
	q.failed = true;
	receive((struct ib_wc){ .status = IB_WC_WR_FLUSH_ERR }, NULL, 0);
	assert_int_equal(fatals, 0);
	receive((struct ib_wc){ .status = IB_WC_LOC_LEN_ERR }, NULL, 0);
	over(RDMABLK_R_MALFORMED);
}

static void test_answers_nobody_waits_for(void **state)
{
	struct rdmablk_cmd_tag *cmd = sent(true);
	u8 now = cmd->generation;

	(void)state;
	few_receives = true;
	for (u16 tag = 0; tag < 3 * DEPTH; tag++) {
		if (tag == cmd->tag)
			continue;
		unit_qp.nr_receives = 0;
		rdmablk_cmdq_post_recv(&c, &c.rx[0]);
		rdmablk_cmdq_post_recv(&c, &c.rx[1]);
		answer_with(RDMABLK_IMM(tag, now, RDMABLK_OK), 0);
		over(RDMABLK_R_STATE);
		answer_with(RDMABLK_IMM(tag, 0, RDMABLK_OK), 0);
		over(RDMABLK_R_STATE);
	}
	for (int generation = 0; generation < 256; generation++) {
		if (generation == now)
			continue;
		unit_qp.nr_receives = 0;
		rdmablk_cmdq_post_recv(&c, &c.rx[0]);
		answer_with(RDMABLK_IMM(cmd->tag, generation, RDMABLK_OK), 0);
		over(RDMABLK_R_STATE);
	}
	/* The command is still under way after all of these answers. */
	unit_qp.nr_receives = 0;
	rdmablk_cmdq_post_recv(&c, &c.rx[0]);
	rdmablk_cmdq_post_recv(&c, &c.rx[1]);
	answer(cmd, RDMABLK_OK);
	answer(cmd, RDMABLK_OK);
	over(RDMABLK_R_STATE);
	send_done(cmd);
	assert_int_equal(ended, 1);
	ended = 0;
	rdmablk_cmdq_post_recv(&c, &c.rx[2]);
	answer(cmd, RDMABLK_OK);
	over(RDMABLK_R_STATE);
}

static void test_an_earlier_answer_of_the_tag(void **state)
{
	struct rdmablk_cmd_tag *first = sent(false), *again;
	u32 imm = RDMABLK_IMM(first->tag, first->generation, RDMABLK_OK);

	(void)state;
	answer_with(imm, 0);
	assert_int_equal(ended, 1);
	again = sent(false);
	assert_ptr_equal(again, first);
	ended = 0;
	few_receives = true;
	answer_with(imm, 0);
	over(RDMABLK_R_STATE);
	answer(again, RDMABLK_OK);
	assert_int_equal(ended, 1);
}

/* The target answers a command before it was sent. */
static void test_an_answer_to_what_was_not_sent(void **state)
{
	struct rdmablk_cmd_tag *cmd = prepared(1);

	(void)state;
	few_receives = true;
	answer(cmd, RDMABLK_OK);
	over(RDMABLK_R_STATE);
	rdmablk_cmdq_send(cmd);
	answer(cmd, RDMABLK_OK);
	assert_int_equal(ended, 1);
}

static struct rdmablk_cmd_tag *early;	/* a hostile target answers it before it was sent */
static struct rdmablk_cmd_tag *next_user;

/* Called before each shared access. The next user of the tag sends pages of its own. */
static void answered_early(const void *at)
{
	(void)at;
	if (!early || !early->busy)
		return;
	shim_access = NULL;
	answer(early, RDMABLK_OK);
	assert_int_equal(ended, 1);
	next_user = prepared(1);
	assert_ptr_equal(next_user, early);
	next_user->pages = true;
	for (int i = 1; i < RDMABLK_CMD_SGES; i++)
		next_user->sge[i] = (struct ib_sge){ .addr = i, .length = 4096, .lkey = 77 };
	next_user->nr_sge = RDMABLK_CMD_SGES;
}

/* A tag may be free, and in use again, before its quiet SEND is posted. */
static void test_an_answer_before_the_post(void **state)
{
	(void)state;
	early = prepared(1);
	spin_lock_bh(&q.lock);
	shim_access = answered_early;
	rdmablk_cmdq_add(early);
	answered_early(NULL);
	rdmablk_queue_post(&q);
	spin_unlock_bh(&q.lock);
	/* The first SEND has nothing of the next user. */
	assert_int_equal(last_send()->send_flags, 0);
	assert_int_equal(last_send()->num_sge, 1);
	assert_int_equal(last_send()->sg_list[0].addr, early->dma);
	assert_int_equal(last_send()->sg_list[0].length, sizeof(*early->msg));
	assert_int_equal(last_send()->sg_list[0].lkey, 77);
	/* The next command needs its own answer and its own completion. */
	assert_false(next_user->busy);
	rdmablk_cmdq_send(next_user);
	assert_int_equal(last_send()->num_sge, RDMABLK_CMD_SGES);
	answer(next_user, RDMABLK_OK);
	assert_int_equal(ended, 1);
	send_done(next_user);
	assert_int_equal(ended, 2);
	early = NULL;
}

static void test_payload(void **state)
{
	struct rdmablk_cmd_tag *cmd;

	(void)state;
	cmd = sent(true);
	cmd->payload = payload;
	answer_with(RDMABLK_IMM(cmd->tag, cmd->generation, RDMABLK_OK), RX_BYTES);
	assert_int_equal(payloads, 1);
	assert_int_equal(payload_len, RX_BYTES);
	send_done(cmd);
	assert_int_equal(ended, 1);

	/* An answer with an error has no data, and payload() is not called. */
	cmd = sent(false);
	cmd->payload = payload;
	answer(cmd, RDMABLK_R_INTERNAL);
	assert_int_equal(payloads, 1);
	assert_int_equal(ended, 2);
	assert_int_equal(fatals, 0);
	assert_int_equal(unit_qp.nr_receives, DEPTH);
}

/* Data that is too long, not asked for, comes with an error, or is refused by payload() */
static void test_bad_payload(void **state)
{
	static const struct {
		bool wanted, ok;
		u8 status;
		u32 len;
	} bad[] = {
		{ true, true, RDMABLK_OK, RX_BYTES + 1 },
		{ true, true, RDMABLK_OK, U32_MAX },
		{ false, true, RDMABLK_OK, 1 },
		{ true, true, RDMABLK_R_INTERNAL, 1 },
		{ true, false, RDMABLK_OK, 8 },
		{ true, false, RDMABLK_OK, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rdmablk_cmd_tag *cmd;

		rdmablk_cmdq_destroy(&c);
		setup(state);
		cmd = sent(false);
		cmd->payload = bad[i].wanted ? payload : NULL;
		payload_ok = bad[i].ok;
		answer_with(RDMABLK_IMM(cmd->tag, cmd->generation, bad[i].status), bad[i].len);
		over(RDMABLK_R_MALFORMED);
		assert_int_equal(payloads, !bad[i].ok);
	}
}

static void test_forms_of_answers(void **state)
{
	struct rdmablk_cmdq_attr a = attr();

	(void)state;
	sent(false);
	receive((struct ib_wc){
		.opcode = IB_WC_RECV_RDMA_WITH_IMM, .wc_flags = IB_WC_WITH_IMM,
	}, NULL, 0);
	over(RDMABLK_R_MALFORMED);
	rdmablk_cmdq_destroy(&c);
	/* Without lists each answer has immediate data. */
	a.lists = false;
	create(&a);
	receive((struct ib_wc){ .opcode = IB_WC_RECV, .byte_len = 4 }, NULL, 0);
	over(RDMABLK_R_MALFORMED);
}

static void test_no_receive(void **state)
{
	struct rdmablk_cmd_tag *cmd = sent(false);
	u32 imm = RDMABLK_IMM(cmd->tag, cmd->generation, RDMABLK_OK);

	(void)state;
	post_fails = true;
	answer(cmd, RDMABLK_OK);
	over(RDMABLK_R_CONNECTION);
	answer_list(&imm, sizeof(imm));
	over(RDMABLK_R_CONNECTION);
}

static void test_lists(void **state)
{
	struct rdmablk_cmd_tag *cmd[4];
	u32 imm[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		cmd[i] = sent(i == 2);
		imm[i] = RDMABLK_IMM(cmd[i]->tag, cmd[i]->generation, i);
	}
	answer_list(imm, sizeof(imm));
	assert_int_equal(fatals, 0);
	assert_int_equal(ended, 3);
	assert_int_equal(unit_qp.nr_receives, DEPTH);
	send_done(cmd[2]);
	assert_int_equal(ended, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(cmd[i]->status, i);
}

static void test_bad_lists(void **state)
{
	static const size_t bytes[] = {
		0, 1, 3, 5, sizeof(struct rdmablk_answers) + 1,
		sizeof(struct rdmablk_answers) + 4, RX_BYTES,
	};
	struct rdmablk_cmd_tag *cmd[2];
	u32 imm[RX_BYTES / 4] = { 0 };

	(void)state;
	cmd[0] = sent(false);
	cmd[1] = sent(false);
	for (int i = 0; i < 2; i++)
		imm[i] = RDMABLK_IMM(cmd[i]->tag, cmd[i]->generation, RDMABLK_OK);
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		answer_list(imm, bytes[i]);
		over(RDMABLK_R_MALFORMED);
		rdmablk_cmdq_post_recv(&c, &c.rx[i]);
	}
	/* The first answer is good; the second has a tag that does not exist. */
	few_receives = true;
	imm[1] = RDMABLK_IMM(DEPTH, 1, RDMABLK_OK);
	answer_list(imm, 8);
	assert_int_equal(ended, 1);
	ended = 0;
	over(RDMABLK_R_STATE);
	/* A list does not answer a command that wants data. */
	cmd[1]->payload = payload;
	imm[0] = RDMABLK_IMM(cmd[1]->tag, cmd[1]->generation, RDMABLK_OK);
	answer_list(imm, 4);
	over(RDMABLK_R_MALFORMED);
	/* The same answer twice in one list */
	cmd[0] = sent(true);
	imm[0] = RDMABLK_IMM(cmd[0]->tag, cmd[0]->generation, RDMABLK_OK);
	imm[1] = imm[0];
	answer_list(imm, 8);
	over(RDMABLK_R_STATE);
	assert_int_equal(payloads, 0);
}

/*
 * SENDs without a completion keep their slots, but leave room for a request. The next SEND with
 * a completion gives all of them back.
 */
static void test_slots_of_quiet_commands(void **state)
{
	unsigned int quiet = 0;
	struct rdmablk_cmd_tag *cmd;

	(void)state;
	for (int i = 0; i < 200; i++) {
		cmd = sent(false);
		if (last_send()->send_flags & IB_SEND_SIGNALED) {
			assert_int_equal(quiet, (SLOTS - OWNED - 4) / 4);
			send_done(cmd);
			assert_int_equal(atomic_read(&q.slots), SLOTS - OWNED);
			quiet = 0;
		} else {
			quiet++;
			assert_int_equal(atomic_read(&q.slots), SLOTS - OWNED - quiet);
		}
		answer(cmd, RDMABLK_OK);
		unit_qp.nr_sends = 0;
	}
	assert_int_equal(ended, 200);
}

/* A reserved tag owns a slot. If its SEND has no completion, it takes another one. */
static void test_slots_of_reserved_tags(void **state)
{
	struct rdmablk_cmd_tag *cmd = &c.cmd[RDMABLK_CMD_FENCE];

	(void)state;
	for (int i = 0; i < 2; i++) {
		/* First there is one slot, then none. */
		atomic_set(&q.slots, i ? 0 : 1);
		cmd->done = done;
		rdmablk_cmdq_prepare(cmd, RDMABLK_OP_FENCE, 0, 0, 0, 0);
		rdmablk_cmdq_send(cmd);
		assert_int_equal(last_send()->send_flags, i ? IB_SEND_SIGNALED : 0);
		assert_int_equal(atomic_read(&q.slots), 0);
		if (i)
			send_done(cmd);
		answer(cmd, RDMABLK_OK);
	}
	assert_int_equal(atomic_read(&q.slots), 1);
	assert_int_equal(ended, 2);
}

static void test_tags(void **state)
{
	struct rdmablk_cmd_tag *cmd[DEPTH];
	int n = 0;

	(void)state;
	while (n < DEPTH - RDMABLK_CMD_RESERVED) {
		cmd[n] = rdmablk_cmdq_get(&c, 1);
		assert_non_null(cmd[n]);
		assert_true(cmd[n]->tag >= RDMABLK_CMD_RESERVED);
		n++;
	}
	assert_null(rdmablk_cmdq_get(&c, 1));
	assert_int_equal(atomic_read(&q.slots), SLOTS - OWNED - n);
	rdmablk_cmdq_put(cmd[2]);
	/* Without slots no tag is taken. */
	assert_null(rdmablk_cmdq_get(&c, SLOTS));
	assert_int_equal(atomic_read(&q.slots), SLOTS - OWNED - n);
	assert_ptr_equal(rdmablk_cmdq_get(&c, 3), cmd[2]);
	assert_int_equal(cmd[2]->slots, 3);
}

/* An implied command: both ends take the tag after that of the command posted before. */
static void test_implied(void **state)
{
	struct rdmablk_cmdq_attr a = attr();
	struct rdmablk_cmd_tag *cmd, *other;
	struct ib_rdma_wr *wr;
	u8 generation;

	(void)state;
	rdmablk_cmdq_destroy(&c);
	a.implied = true;
	create(&a);
	/* No command was posted before, so no tag is implied. */
	cmd = rdmablk_cmdq_get(&c, 1);
	cmd->done = done;
	assert_false(rdmablk_cmdq_imply(cmd, 5));
	rdmablk_cmdq_prepare(cmd, RDMABLK_OP_WRITE, 0, 0, 0, 0);
	rdmablk_cmdq_send(cmd);
	other = rdmablk_cmdq_get(&c, 1);
	assert_int_equal(other->tag, cmd->tag + 1);
	other->done = done;
	other->payload = NULL;
	generation = other->generation;
	assert_true(rdmablk_cmdq_imply(other, 5));
	spin_lock_bh(&q.lock);
	wr = rdmablk_cmdq_add_implied(other);
	assert_non_null(wr);
	assert_int_equal(wr->wr.opcode, IB_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(be32toh(wr->wr.ex.imm_data), 5);
	assert_true(wr->wr.send_flags & IB_SEND_SIGNALED);
	assert_true(other->busy);
	assert_int_equal(other->generation, (u8)(generation + 1));
	/* A tag's turn comes only once. */
	assert_null(rdmablk_cmdq_add_implied(other));
	rdmablk_queue_post(&q);
	spin_unlock_bh(&q.lock);
	assert_false(rdmablk_cmdq_imply(cmd, 5));
	/* The command ends only when the device is done with its pages. */
	answer(other, RDMABLK_OK);
	assert_int_equal(ended, 0);
	send_done(other);
	assert_int_equal(ended, 1);
	assert_int_equal(rdmablk_cmdq_get(&c, 1)->tag, other->tag + 1);
}

/* When a step of create fails nothing leaks, and the next connection reuses the memory. */
static void test_errors_of_create(void **state)
{
	struct rdmablk_cmdq_attr a = attr();
	void *memory = c.cmd;
	int n = 0, ret;

	(void)state;
	rdmablk_cmdq_destroy(&c);
	create(&a);
	assert_ptr_equal(c.cmd, memory);
	rdmablk_cmdq_destroy(&c);
	rdmablk_cmdq_free(&c);
	do {
		shim_allocations = n++;
		ret = create_as(&a);
		shim_allocations = -1;
		assert_true(!ret || ret == -ENOMEM);
		rdmablk_cmdq_destroy(&c);
		assert_int_equal(mappings, 0);
		/* The next connection allocates what the failed one lacks. */
		create(&a);
		rdmablk_cmdq_destroy(&c);
		rdmablk_cmdq_free(&c);
	} while (ret);
	assert_int_equal(n, 2 + 2 * DEPTH + 1);
	for (n = 1; n <= 2 * DEPTH; n++) {
		map_fails = n;
		assert_int_equal(create_as(&a), -ENOMEM);
		rdmablk_cmdq_destroy(&c);
		assert_int_equal(mappings, 0);
	}
	post_fails = true;
	assert_int_equal(create_as(&a), -EINVAL);
	post_fails = false;
	rdmablk_cmdq_destroy(&c);
	a.owned = SLOTS + 1;
	assert_int_equal(create_as(&a), -EINVAL);
	rdmablk_cmdq_destroy(&c);
	/* A larger login gets larger buffers; answers without data need no buffer. */
	a = attr();
	a.dirty_bytes = 4096;
	create(&a);
	assert_true(malloc_usable_size(c.cmd[RDMABLK_CMD_DIRTY].msg) >= 4096);
	rdmablk_cmdq_destroy(&c);
	a.rx_bytes = 0;
	a.lists = false;
	create(&a);
	assert_int_equal(unit_qp.sge[0].length, 0);
	assert_null(c.rx[0].data);
}

/*
 * A login that fails leaves tables without some buffers. A smaller login that completes them
 * serves a later one of the first size, too.
 */
static void test_a_smaller_login_after_a_failed_one(void **state)
{
	struct rdmablk_cmdq_attr large = attr(), small = attr();
	int n;

	(void)state;
	large.rx_bytes = 4096;
	large.dirty_bytes = 4096;
	for (n = 2; n < 2 + 2 * DEPTH; n++) {
		rdmablk_cmdq_destroy(&c);
		rdmablk_cmdq_free(&c);
		shim_allocations = n;
		assert_int_equal(create_as(&large), -ENOMEM);
		shim_allocations = -1;
		rdmablk_cmdq_destroy(&c);
		create(&small);
		rdmablk_cmdq_destroy(&c);
		/* With AddressSanitizer: a buffer that is cleared beyond its end ends the test. */
		create(&large);
		assert_true(malloc_usable_size(c.cmd[RDMABLK_CMD_DIRTY].msg) >= 4096);
		for (u32 i = 0; i < DEPTH; i++)
			assert_true(malloc_usable_size(c.rx[i].data) >= 4096);
	}
}

/* What a connection sends has no data of an earlier connection in it. */
static void test_memory_is_zeroed(void **state)
{
	const struct rdmablk_cmdq_attr a = attr();

	(void)state;
	memset(c.cmd[4].msg, 0xaa, sizeof(*c.cmd[4].msg));
	memset(c.rx[4].data, 0xaa, RX_BYTES);
	rdmablk_cmdq_destroy(&c);
	create(&a);
	for (size_t i = 0; i < sizeof(*c.cmd[4].msg); i++)
		assert_int_equal(((u8 *)c.cmd[4].msg)[i], 0);
	for (size_t i = 0; i < RX_BYTES; i++)
		assert_int_equal(((u8 *)c.rx[4].data)[i], 0);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answered),
		TEST(test_pages),
		TEST(test_failed_completions),
		TEST(test_answers_nobody_waits_for),
		TEST(test_an_earlier_answer_of_the_tag),
		TEST(test_an_answer_to_what_was_not_sent),
		TEST(test_an_answer_before_the_post),
		TEST(test_payload),
		TEST(test_bad_payload),
		TEST(test_forms_of_answers),
		TEST(test_no_receive),
		TEST(test_lists),
		TEST(test_bad_lists),
		TEST(test_slots_of_quiet_commands),
		TEST(test_slots_of_reserved_tags),
		TEST(test_tags),
		TEST(test_implied),
		TEST(test_errors_of_create),
		TEST(test_a_smaller_login_after_a_failed_one),
		TEST(test_memory_is_zeroed),
	};

	return cmocka_run_group_tests_name("cmdq", tests, NULL, NULL);
}
