/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The world around kernel/fence.c. When a WRITE completes, the target's adapter has it. The
 * target's CPU sees it when it has received a command that was posted later on the same queue
 * pair. The target copies to its file what its CPU sees. Before each access of the tested code
 * to memory that others use, the world may take a step.
 *
 * A flush must make durable all that had ended before it. A DISCARD, which the target's CPU
 * does, must come after all of that.
 */
#ifndef FENCE_WORLD_H
#define FENCE_WORLD_H

#include <linux/kernel.h>

#include "../../kernel/request.h"
#include "dirty_any.h"
#include "unit.h"

#define QUEUES		3
#define DEPTH		8
#define TAGS		(DEPTH - RDMABLK_CMD_RESERVED + 0U)
#define GRANULES	48
#define BYTES		(GRANULES * 512)
#define WRITES		(1 << 16)
#define OPS		400

struct command {
	struct rdmablk_command msg;
	struct rdmablk_range ranges[4];
};

struct op {
	struct rdmablk_fence_op op;
	struct rdmablk_cmd_tag *cmd;
	uint32_t granule, version;
	uint32_t before[GRANULES];	/* versions that a flush has to make durable */
	unsigned int first[QUEUES];	/* writes that the CPU must see first */
	bool queued, begun, done;
};

/* The queue pairs */
static struct {
	struct {
		uint32_t granule, version;
	} write[WRITES];		/* completed WRITEs */
	unsigned int nr, seen;		/* how many; how many the target's CPU sees */
	unsigned int ended;		/* the requests of so many have ended */
	struct rdmablk_cmd_tag *sent[DEPTH];
	unsigned int writes[DEPTH];	/* WRITEs before each of them */
	unsigned int nr_sent;
	unsigned int slow_at_once;
	struct rdmablk_cmd_tag tag[DEPTH];
	struct command buf[DEPTH];
} queue[QUEUES];

static struct rdmablk_hwq hwq[QUEUES], *hwq_list[QUEUES];
static struct rdmablk_path path;
static struct rdmablk_fence *const f = &path.fence;
static struct op op[OPS];
static unsigned int nr_ops;
static uint32_t version, ended[GRANULES], visible[GRANULES], file[GRANULES];
static bool noted[GRANULES], no_hurry, failing, calm, stop_meanwhile;
static bool in_world, in_work;
static unsigned int fences, slow_done, cleans;

/*
 * What fence.c calls
 */

struct rdmablk_cmd_tag *rdmablk_cmdq_get(struct rdmablk_cmdq *cmdq, int slots)
{
	assert_int_equal(slots, 0);
	for (uint16_t tag = RDMABLK_CMD_RESERVED; tag < cmdq->depth; tag++) {
		if (cmdq->used[0] >> tag & 1)
			continue;
		cmdq->used[0] |= 1UL << tag;
		return &cmdq->cmd[tag];
	}
	return NULL;
}

void rdmablk_cmdq_put(struct rdmablk_cmd_tag *cmd)
{
	assert_true(cmd->cmdq->used[0] >> cmd->tag & 1);
	cmd->cmdq->used[0] &= ~(1UL << cmd->tag);
}

void rdmablk_cmdq_prepare(struct rdmablk_cmd_tag *cmd, u16 code, u16 flags, u64 offset,
			  u64 bytes, u32 trailer)
{
	(void)flags;
	assert_false(cmd->busy);
	cmd->msg->op = htole16(code);
	cmd->msg->offset = htole64(offset);
	cmd->msg->bytes = htole64(bytes);
	cmd->msg->hdr.length = htole16((uint16_t)(sizeof(*cmd->msg) + trailer));
	cmd->status = RDMABLK_OK;
}

static inline unsigned int queue_of(const struct rdmablk_cmd_tag *cmd)
{
	return (unsigned int)(container_of(cmd->cmdq, struct rdmablk_hwq, cmdq) - hwq);
}

void rdmablk_cmdq_add(struct rdmablk_cmd_tag *cmd)
{
	unsigned int q = queue_of(cmd), n = queue[q].nr_sent++;

	assert_true(hwq[q].write.lock.held);
	assert_true(n < DEPTH);
	cmd->busy = true;
	hwq[q].write.nr_batch++;
	queue[q].sent[n] = cmd;
	queue[q].writes[n] = queue[q].nr;
}

void rdmablk_queue_post(struct rdmablk_queue *q)
{
	assert_true(q->lock.held);
	assert_true(q->nr_batch);
	q->nr_batch = 0;
}

void rdmablk_cmdq_send(struct rdmablk_cmd_tag *cmd)
{
	struct rdmablk_hwq *h = &hwq[queue_of(cmd)];

	spin_lock_bh(&h->write.lock);
	rdmablk_cmdq_add(cmd);
	rdmablk_queue_post(&h->write);
	spin_unlock_bh(&h->write.lock);
}

/*
 * The world
 */

static inline void fatal(struct rdmablk_queue *q, u16 reason)
{
	(void)q;
	fail_msg("a queue is given up: %u", reason);
}

static inline void sees(unsigned int q, unsigned int end)
{
	for (; queue[q].seen < end; queue[q].seen++) {
		uint32_t g = queue[q].write[queue[q].seen].granule;
		uint32_t v = queue[q].write[queue[q].seen].version;

		if (visible[g] < v)
			visible[g] = v;
	}
}

static inline bool is_slow(const struct rdmablk_cmd_tag *cmd)
{
	return le16toh(cmd->msg->op) == RDMABLK_OP_DISCARD;
}

static inline void note_ranges(const struct rdmablk_cmd_tag *cmd)
{
	const struct rdmablk_range *r = (const struct rdmablk_range *)(cmd->msg + 1);
	size_t n = (le16toh(cmd->msg->hdr.length) - sizeof(*cmd->msg)) / sizeof(*r);

	assert_in_range(n, 1, ARRAY_SIZE(queue[0].buf[0].ranges));
	for (size_t i = 0; i < n; i++) {
		uint64_t first = le64toh(r[i].offset) / 512, nr = le64toh(r[i].bytes) / 512;

		for (uint64_t g = first; g < first + nr; g++)
			noted[g] = true;
	}
}

static inline uint8_t do_flush(const struct rdmablk_cmd_tag *cmd)
{
	uint64_t g = le64toh(cmd->msg->offset) / 512, nr = le64toh(cmd->msg->bytes) / 512;
	bool fails = failing && !(unit_random() % 4);

	assert_true(g + nr <= GRANULES);
	if (nr) {
		for (; nr && !fails; nr--, g++)
			file[g] = visible[g];
		return fails ? RDMABLK_R_STORE_IO : RDMABLK_OK;
	}
	for (g = 0; g < GRANULES; g++) {
		if (noted[g] && !fails)
			file[g] = visible[g];
		noted[g] = false;
	}
	return fails ? RDMABLK_R_STORE_IO : RDMABLK_OK;
}

/* The CPU changes memory, so no earlier WRITE may arrive later. */
static inline uint8_t do_discard(const struct rdmablk_cmd_tag *cmd)
{
	const struct op *o = cmd->owner;

	for (unsigned int q = 0; o->op.kind == RDMABLK_FENCE_COMMAND && q < QUEUES; q++)
		assert_true(queue[q].seen >= o->first[q]);
	return failing && unit_random() & 1 ? RDMABLK_R_STORE_IO : RDMABLK_OK;
}

/* The target receives command @n of those sent and not answered, and answers it. */
static inline void answer(unsigned int q, unsigned int n)
{
	struct rdmablk_cmd_tag *cmd = queue[q].sent[n];

	/* The CPU sees the WRITEs before the command, too. */
	sees(q, queue[q].writes[n]);
	for (--queue[q].nr_sent; n < queue[q].nr_sent; n++) {
		queue[q].sent[n] = queue[q].sent[n + 1];
		queue[q].writes[n] = queue[q].writes[n + 1];
	}
	switch (le16toh(cmd->msg->op)) {
	case RDMABLK_OP_FENCE:
		fences++;
		break;
	case RDMABLK_OP_DIRTY:
		note_ranges(cmd);
		break;
	case RDMABLK_OP_FLUSH:
		cmd->status = do_flush(cmd);
		break;
	case RDMABLK_OP_DISCARD:
		cmd->status = do_discard(cmd);
		break;
	default:
		fail_msg("command %u", le16toh(cmd->msg->op));
	}
	cmd->busy = false;
	cmd->done(cmd);
}

/* Answers the first command of a queue. With no_hurry, slow commands get no answer. */
static inline bool answer_some(unsigned int q)
{
	for (unsigned int n = 0; n < queue[q].nr_sent; n++) {
		if (no_hurry && is_slow(queue[q].sent[n]))
			continue;
		answer(q, n);
		return true;
	}
	return false;
}

static inline void complete_write(unsigned int q, uint32_t g)
{
	unsigned int n = queue[q].nr++;

	assert_true(n < WRITES);
	queue[q].write[n].granule = g;
	queue[q].write[n].version = ++version;
}

static inline void write_done(unsigned int q, uint32_t g)
{
	unsigned int nr;
	uint32_t v;

	complete_write(q, g);
	v = version;
	nr = queue[q].nr;
	/* Others may complete meanwhile. */
	rdmablk_request_wrote(&path, &hwq[q], (u64)g * 512, 512);
	ended[g] = max(ended[g], v);
	queue[q].ended = max(queue[q].ended, nr);
}

static inline bool kind_is_slow(enum rdmablk_fence_kind kind)
{
	return kind == RDMABLK_FENCE_COMMAND || kind == RDMABLK_FENCE_ALONE;
}

static inline void op_end(struct op *o)
{
	o->done = true;
	o->cmd = NULL;
}

static inline void op_begin(struct rdmablk_fence_op *fop)
{
	struct op *o = container_of(fop, struct op, op);

	assert_true(in_work);
	assert_false(o->begun || o->done);
	o->begun = true;
}

static inline void op_flushed(struct rdmablk_fence_op *fop, u8 status)
{
	struct op *o = container_of(fop, struct op, op);

	assert_true(o->begun);
	assert_false(fop->waits);
	for (uint32_t g = 0; !status && g < GRANULES; g++)
		assert_true(file[g] >= o->before[g]);
	op_end(o);
}

static inline void op_undone(struct rdmablk_fence_op *fop, u8 status)
{
	assert_int_not_equal(status, RDMABLK_OK);
	assert_true(in_work);
	op_end(container_of(fop, struct op, op));
}

static inline void op_answered(struct rdmablk_cmd_tag *cmd)
{
	unsigned int q = queue_of(cmd);
	struct op *o = cmd->owner;
	bool slow = kind_is_slow(o->op.kind);
	u8 status = cmd->status;

	slow_done += slow;
	queue[q].slow_at_once -= slow;
	rdmablk_fence_put(f, cmd, slow);
	if (slow && status) {
		rdmablk_fence_end(f, &o->op, status);
		return;
	}
	if (!slow && status)
		rdmablk_request_wrote(&path, &hwq[q], (u64)o->granule * 512, 512);
	else if (!slow)
		assert_true(file[o->granule] >= o->version);
	op_end(o);
}

static inline void op_send(struct rdmablk_fence_op *fop, struct rdmablk_cmd_tag *cmd)
{
	struct op *o = container_of(fop, struct op, op);
	bool slow = kind_is_slow(fop->kind);

	assert_true(in_work && o->begun);
	assert_false(fop->waits);
	assert_null(o->cmd);
	o->cmd = cmd;
	cmd->owner = o;
	cmd->done = op_answered;
	if (slow)
		assert_true(++queue[queue_of(cmd)].slow_at_once <= TAGS / 2);
	rdmablk_cmdq_prepare(cmd, slow ? RDMABLK_OP_DISCARD : RDMABLK_OP_FLUSH, 0,
			     (u64)o->granule * 512, 512, 0);
	rdmablk_cmdq_send(cmd);
}

static inline void op_submit(struct op *o)
{
	o->queued = true;
	o->begun = false;
	if (o->op.kind == RDMABLK_FENCE_FUA) {
		complete_write((unsigned int)(o->op.hwq - hwq), o->granule);
		o->version = version;
	}
	memcpy(o->before, ended, sizeof(ended));
	for (unsigned int q = 0; q < QUEUES; q++)
		o->first[q] = queue[q].ended;
	rdmablk_fence_queue(f, &o->op);
}

static inline struct op *op_new(enum rdmablk_fence_kind kind, unsigned int q)
{
	struct op *o = &op[nr_ops++];

	assert_true(nr_ops <= OPS);
	memset(o, 0, sizeof(*o));
	o->op.kind = kind;
	o->op.hwq = kind == RDMABLK_FENCE_FLUSH ? NULL : &hwq[q];
	o->op.begin = op_begin;
	o->op.send = op_send;
	o->op.done = kind == RDMABLK_FENCE_FLUSH ? op_flushed : op_undone;
	o->granule = (uint32_t)(unit_random() % GRANULES);
	op_submit(o);
	return o;
}

static inline void work(void)
{
	if (!f->work.queued)
		return;
	f->work.queued = false;
	in_work = true;
	f->work.fn(&f->work);
	in_work = false;
}

/* If nothing needs a flush, all writes that had ended must be in the file. */
static inline void flush_is_wanted(void)
{
	uint32_t before[GRANULES];

	memcpy(before, ended, sizeof(ended));
	if (!rdmablk_flush_ahead_is_clean(&path))
		return;
	cleans++;
	for (uint32_t g = 0; g < GRANULES; g++)
		assert_true(file[g] >= before[g]);
}

/* Some task or the target does something. */
static inline void step(void)
{
	unsigned int q = (unsigned int)(unit_random() % QUEUES);

	switch (unit_random() % 8) {
	case 0 ... 2:
		if (calm && unit_random() % 16)
			break;
		write_done(q, (uint32_t)(unit_random() % GRANULES));
		break;
	case 3 ... 5:
		answer_some(q);
		break;
	case 6:
		if (nr_ops < OPS)
			op_new((enum rdmablk_fence_kind)(unit_random() % 4), q);
		break;
	case 7:
		flush_is_wanted();
		break;
	}
}

/* Before an access of the tested code: softirqs interrupt the work; other tasks run beside it. */
static inline void world(const void *at)
{
	(void)at;
	if (in_world || f->lock.held || unit_random() % 3)
		return;
	in_world = true;
	if (!in_work && unit_random() & 1)
		work();
	else
		step();
	in_world = false;
}

/* Goes on until nothing more happens by itself. */
static inline void settle(void)
{
	bool more;

	do {
		more = f->work.queued;
		work();
		for (unsigned int q = 0; q < QUEUES; q++)
			more |= answer_some(q);
	} while (more);
}

unsigned long wait_for_completion_timeout(struct completion *c, unsigned long timeout)
{
	bool locked = f->own_mutex.lock.held;

	f->own_mutex.lock.held = false;
	if (stop_meanwhile)
		rdmablk_fence_stop(f);
	else
		settle();
	f->own_mutex.lock.held = locked;
	return c->done ? timeout : 0;
}

static inline void all_done(void)
{
	for (unsigned int i = 0; i < nr_ops; i++)
		assert_true(op[i].done);
	for (unsigned int q = 0; q < QUEUES; q++) {
		assert_int_equal(hwq[q].waits, 0);
		assert_int_equal(atomic_read(&hwq[q].slow), 0);
		assert_int_equal(hwq[q].cmdq.used[0], (1 << RDMABLK_CMD_RESERVED) - 1);
	}
}

static inline void queue_start(unsigned int q)
{
	struct rdmablk_cmdq *cmdq = &hwq[q].cmdq;

	queue[q].nr_sent = 0;
	queue[q].slow_at_once = 0;
	*cmdq = (struct rdmablk_cmdq){
		.queue = &hwq[q].write, .depth = DEPTH, .cmd = queue[q].tag,
		.dirty_bytes = sizeof(struct command),
	};
	cmdq->used[0] = (1 << RDMABLK_CMD_RESERVED) - 1;
	for (uint16_t tag = 0; tag < DEPTH; tag++) {
		queue[q].tag[tag] = (struct rdmablk_cmd_tag){
			.cmdq = cmdq, .tag = tag, .msg = &queue[q].buf[tag].msg,
		};
	}
}

static inline int setup(void **state)
{
	(void)state;
	shim_access = NULL;
	memset(queue, 0, sizeof(queue));
	memset(hwq, 0, sizeof(hwq));
	memset(&path, 0, sizeof(path));
	memset(ended, 0, sizeof(ended));
	memset(visible, 0, sizeof(visible));
	memset(file, 0, sizeof(file));
	memset(noted, 0, sizeof(noted));
	nr_ops = 0;
	version = 0;
	fences = 0;
	slow_done = 0;
	no_hurry = false;
	failing = false;
	calm = false;
	stop_meanwhile = false;
	path.hwq = hwq_list;
	path.nr_hwqs = QUEUES;
	path.cache = true;
	path.cmds.max_ranges = ARRAY_SIZE(queue[0].buf[0].ranges);
	for (unsigned int q = 0; q < QUEUES; q++) {
		hwq_list[q] = &hwq[q];
		hwq[q].nr = q;
		INIT_LIST_HEAD(&hwq[q].line[RDMABLK_LINE_SLOW]);
		INIT_LIST_HEAD(&hwq[q].line[RDMABLK_LINE_FUA]);
		hwq[q].write.fatal = fatal;
		queue_start(q);
	}
	rdmablk_fence_init(f, &path, NULL);
	assert_int_equal(rdmablk_dirty_init(&f->dirty, BYTES, 512), 0);
	f->has_dirty = true;
	rdmablk_flush_ahead_start(&path, false);
	rdmablk_fence_start(f);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	shim_access = NULL;
	rdmablk_fence_stop(f);
	rdmablk_fence_reset(f);
	rdmablk_fence_exit(f);
	return 0;
}

/* The connection is lost: its queues go, which is a fence, and requests are held. */
static inline void lose_connection(void)
{
	/* All is drained, so nothing else happens. */
	in_world = true;
	rdmablk_fence_stop(f);
	rdmablk_fence_reset(f);
	memset(noted, 0, sizeof(noted));
	/* The login asks this if the store has lost data that was not flushed. */
	for (uint32_t g = 0; rdmablk_fence_is_clean(f) && g < GRANULES; g++)
		assert_true(file[g] >= ended[g]);
	for (unsigned int q = 0; q < QUEUES; q++) {
		sees(q, queue[q].nr);
		queue_start(q);
		assert_true(list_empty(&hwq[q].line[RDMABLK_LINE_SLOW]));
		assert_true(list_empty(&hwq[q].line[RDMABLK_LINE_FUA]));
	}
	rdmablk_flush_ahead_start(&path, false);
	rdmablk_fence_start(f);
	for (unsigned int i = 0; i < nr_ops; i++) {
		assert_false(op[i].op.waits);
		if (op[i].done)
			continue;
		op[i].cmd = NULL;
		op_submit(&op[i]);
	}
	in_world = false;
}

/* Each write that was reported as done is in the file, unless the fence says that it is not. */
static inline void flush_the_rest(void)
{
	bool clean = rdmablk_fence_is_clean(f);

	for (uint32_t g = 0; g < GRANULES; g++)
		assert_true(!clean || file[g] >= ended[g]);
	assert_int_equal(rdmablk_fence_flush(f, 1), 0);
	for (uint32_t g = 0; g < GRANULES; g++)
		assert_true(file[g] >= ended[g]);
	assert_true(rdmablk_fence_is_clean(f));
	assert_false(dirty_any(&f->dirty));
}

static inline void run_world(unsigned int rounds, bool lossy)
{
	shim_access = world;
	for (unsigned int i = 0; i < rounds; i++) {
		step();
		work();
		if (lossy && !(unit_random() % 50))
			lose_connection();
	}
	shim_access = NULL;
	failing = false;
	settle();
	all_done();
	flush_the_rest();
}

#endif
