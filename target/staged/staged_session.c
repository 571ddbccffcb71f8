// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions with an uncached file: their memory, its registration, and what the commands of
 * their write queues do in the threads of the store (lane.h).
 *
 * A session has two pieces of memory, both new and zeroed. The slots, one per tag of each
 * queue: the peer writes to them and reads from them, and answers to short READs take their
 * data there. The receives, which the peer has no access to: a command ends where a page
 * ends, so that the data which follows it is aligned for direct I/O, and before the command
 * there is room for a list of answers.
 */
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/meminfo.h"
#include "base/util.h"
#include "rdma/device.h"
#include "staged/lane.h"
#include "staged/store_none.h"
#include "wire/mac.h"

#define PAGE		4096U
#define SPARE_TAGS	3U		/* of commands that are not READs and WRITEs */
#define MIN_DEPTH	CONFIG_MIN_SLOTS
#define GOOD_DEPTH	32U		/* READs and WRITEs; with less there are fewer queues */
#define MAX_QUEUE_BYTES	(1ULL << 30)	/* registered with a ring in one piece */
#define IOVA_ALIGN	(2ULL << 20)
#define IOVA_BITS	62		/* leaves room for the length below 2^63 */

static_assert(STAGED_RECEIVE == 2 * PAGE && STAGED_TRAILER <= PAGE,
	      "a command ends with a page, and what follows it has the next");

static_assert(sizeof(struct rdmablk_answers) <=
	      STAGED_RECEIVE - STAGED_TRAILER - RDMABLK_CMD_BYTES,
	      "a list has room before the command");

static_assert(sizeof(struct rdmablk_answers) <= STAGED_TRAILER,
	      "the peer receives a list where it receives data");

static_assert(MIN_DEPTH > SPARE_TAGS, "a READ or WRITE has a tag");

/* How many commands each of @nr queues may have for a lane's completion queue to suffice */
static uint64_t completion_depth(const struct store_none *none, unsigned int max_cqe,
				 unsigned int nr)
{
	unsigned int lanes = (unsigned int)min_u64(nr, none->threads->nr);
	unsigned int queues = (nr + lanes - 1) / lanes;

	/* a receive of each command, and at most twice as many sends */
	return max_cqe / queues / 3;
}

/* How many commands each of @nr queues may have */
static uint64_t depth_of(const struct store_none *none, const struct staged_plan *plan,
			 unsigned int nr)
{
	uint64_t depth = min_u64(plan->queue_depth + SPARE_TAGS, RDMABLK_MAX_CMD_DEPTH);
	uint64_t memory = min_u64(none->slot_memory, plan->max_mr_size);

	depth = min_u64(depth, completion_depth(none, plan->max_cqe, nr));
	depth = min_u64(depth, memory / none->slot_bytes / nr);
	return min_u64(depth, MAX_QUEUE_BYTES / none->slot_bytes);
}

static unsigned int staged_plan(struct store *store, struct staged_plan *plan)
{
	const struct store_none *none = store->priv;
	uint64_t good = min_u64(plan->queue_depth, GOOD_DEPTH) + SPARE_TAGS, depth;

	/* Processors that share a deep queue do better than with a shallow queue each. */
	while (plan->nr_queues > 1 &&
	       depth_of(none, plan, plan->nr_queues) < good)
		plan->nr_queues--;
	depth = depth_of(none, plan, plan->nr_queues);
	if (depth < MIN_DEPTH) {
		log_peer(NULL, LOG_WARNING,
			 "export %s: its device registers %llu bytes at once, too few for %u slots of %u bytes",
			 none->file.name, (unsigned long long)plan->max_mr_size,
			 MIN_DEPTH, none->slot_bytes);
		return RDMABLK_R_LIMIT_MEMORY;
	}
	plan->cmd_depth = (uint16_t)depth;
	plan->queue_depth = (uint16_t)min_u64(plan->queue_depth, depth - SPARE_TAGS);
	plan->trailer_bytes = STAGED_TRAILER;
	plan->slot_bytes = none->slot_bytes;
	plan->pinned = plan->nr_queues * depth * (none->slot_bytes + STAGED_RECEIVE);
	return RDMABLK_OK;
}

/*
 * Commands, in the thread of the lane
 */

/**
 * struct staged_cmd - a tag of a write queue
 * @tag: the command and its answer
 * @io: what the command asks for
 */
struct staged_cmd {
	struct write_tag tag;
	struct staged_io io;
};

static struct staged *staged_of(const struct lane *lane)
{
	return container_of(lane->lanes, struct staged, lanes);
}

static void count_error(const struct lane *lane, unsigned int status)
{
	if (status >= RDMABLK_R_STORE_IO && status <= RDMABLK_R_STORE_FAILED)
		atomic_fetch_add(&lane->thread->all->file->errors, 1);
}

static void command_done(struct staged_io *io)
{
	struct staged_cmd *cmd = container_of(io, struct staged_cmd, io);
	struct lane *lane = lane_queue_of(cmd->tag.queue)->lane;

	if (!lane->stopping) {
		count_error(lane, io->status);
		write_queue_answer(&cmd->tag, io->status);
	}
	lane_over(lane);
}

static void begin(struct write_tag *tag)
{
	struct lane_queue *q = lane_queue_of(tag->queue);
	struct staged_io *io = &container_of(tag, struct staged_cmd, tag)->io;
	const struct wire_data *data = &tag->data;
	bool carried = data->op == RDMABLK_OP_WRITE && data->flags & RDMABLK_IO_TRAILER;
	struct staged *s = staged_of(q->lane);

	io->op = data->op;
	io->fua = data->op == RDMABLK_OP_WRITE && data->flags & RDMABLK_IO_FUA;
	io->keep = data->op == RDMABLK_OP_WRITE_ZEROES && data->flags & RDMABLK_ZEROES_KEEP;
	io->offset = data->offset;
	io->bytes = data->bytes;
	io->buffer = (unsigned int)q->buffer[carried];
	io->buf = carried ? write_queue_command(tag) + RDMABLK_CMD_BYTES :
		  s->slots + q->queue.index * s->queue_bytes +
		  (uint64_t)data->tag * s->lanes.scope.slot_bytes;
	lane_begun(q->lane);
	staged_begin(io);
}

static void put_buffers(struct lane *lane)
{
	const struct lanes *l = lane->lanes;

	for (unsigned int i = lane->number; i < l->nr_queues; i += l->nr_lanes) {
		int *buffer = l->queue[i].buffer;

		for (unsigned int kind = 0; kind < ARRAY_SIZE(l->queue[i].buffer); kind++) {
			if (buffer[kind] >= 0)
				iothread_put_buffer(lane->thread, (unsigned int)buffer[kind]);
			buffer[kind] = -1;
		}
	}
}

static int get_buffers(struct lane *lane)
{
	const struct lanes *l = lane->lanes;
	struct staged *s = staged_of(lane);
	size_t bytes = (size_t)l->scope.cmd_depth * l->queues.stride;

	for (unsigned int i = lane->number; i < l->nr_queues; i += l->nr_lanes) {
		int *buffer = l->queue[i].buffer;

		buffer[0] = iothread_get_buffer(lane->thread, s->slots + i * s->queue_bytes,
						s->queue_bytes, l->scope.writer);
		if (buffer[0] < 0)
			return buffer[0];
		buffer[1] = iothread_get_buffer(lane->thread, l->queues.receives + i * bytes,
						bytes, l->scope.writer);
		if (buffer[1] < 0)
			return buffer[1];
	}
	return 0;
}

static const struct lane_ops staged_lane_ops = {
	.enter = get_buffers,
	.leave = put_buffers,
};

/*
 * Memory
 */

static int make_slots(struct staged *s, struct ibv_pd *pd, const struct numa_place *place)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	uint64_t n;
	int ret = mac_random(&n, sizeof(n));

	if (ret)
		return ret;
	if (s->lanes.scope.writer)
		access |= IBV_ACCESS_REMOTE_WRITE;
	s->slot_memory = s->lanes.nr_queues * s->queue_bytes;
	s->slots = lane_map(s->slot_memory, place);
	if (!s->slots)
		return -ENOMEM;
	n &= (1ULL << IOVA_BITS) - 1;
	s->slot_iova = (n & ~(IOVA_ALIGN - 1)) | ((uintptr_t)s->slots & (IOVA_ALIGN - 1));
	s->slot_mr = ibv_reg_mr_iova(pd, s->slots, s->slot_memory, s->slot_iova, access);
	return s->slot_mr ? 0 : -errno;
}

static void make_command(struct staged *s, const struct lane_queue *q, unsigned int tag)
{
	struct staged_cmd *cmd = (struct staged_cmd *)q->tags + tag;

	cmd->io.engine = &q->lane->thread->engine;
	cmd->io.done = command_done;
	cmd->io.cancel = &s->lanes.cancel;
	cmd->tag.sge.addr = s->slot_iova + q->queue.index * s->queue_bytes +
			    (uint64_t)tag * s->lanes.scope.slot_bytes;
	cmd->tag.sge.lkey = s->slot_mr->lkey;
}

static int make_all(struct staged *s, struct ibv_pd *pd, const struct numa_place *place)
{
	int ret = lane_open_all(&s->lanes, pd, place) ?: make_slots(s, pd, place);

	for (unsigned int i = 0; !ret && i < s->lanes.nr_queues; i++)
		for (unsigned int tag = 0; tag < s->lanes.scope.cmd_depth; tag++)
			make_command(s, &s->lanes.queue[i], tag);
	return ret;
}

/* Undoes what make_all() did with verbs. May be called again after an error. */
static int unmake_verbs(struct staged *s)
{
	int ret = lane_close_all(&s->lanes);

	if (!ret && s->slot_mr)
		ret = -ibv_dereg_mr(s->slot_mr);
	if (!ret)
		s->slot_mr = NULL;
	return ret;
}

static void free_all(struct staged *s)
{
	if (s->slots)
		munmap(s->slots, s->slot_memory);
	lane_free_all(&s->lanes);
	free(s);
}

/*
 * The functions of struct staged_ops
 */

static int staged_open(struct store *store, struct staged_plan *plan,
		       struct staged **out)
{
	const struct store_none *none = store->priv;
	int ret = meminfo_check_session(none->file.name, plan->pinned, plan->writer);
	struct store_limits limits;
	struct lanes *l;
	struct staged *s;

	if (ret)
		return ret;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	l = &s->lanes;
	store->ops->limits(store, &limits);
	store_limits_scope(&limits, &l->scope);
	l->scope.size = plan->size;
	l->scope.logical_block = plan->logical_block;
	l->scope.writer = plan->writer;
	l->scope.cmd_depth = plan->cmd_depth;
	l->scope.trailer_bytes = plan->trailer_bytes;
	l->scope.slot_bytes = plan->slot_bytes;
	l->ops = &staged_lane_ops;
	l->threads = none->threads;
	l->nr_queues = plan->nr_queues;
	l->rounds = 8;
	l->tag_bytes = sizeof(struct staged_cmd);
	l->queues.begin = begin;
	l->queues.stride = STAGED_RECEIVE;
	l->queues.head = STAGED_RECEIVE - plan->trailer_bytes - RDMABLK_CMD_BYTES;
	l->queues.lists = plan->lists;
	l->queues.implied = plan->implied;
	l->owner = plan->owner;
	l->failed = plan->failed;
	l->stopped = plan->stopped;
	l->idle = plan->idle;
	s->queue_bytes = (uint64_t)plan->cmd_depth * plan->slot_bytes;
	ret = make_all(s, plan->pd, &store->place);
	if (ret) {
		unmake_verbs(s);
		free_all(s);
		return ret;
	}
	plan->slot_iova = s->slot_iova;
	plan->slot_rkey = s->slot_mr->rkey;
	*out = s;
	return lane_attach_all(l);
}

/* With the fault that lets I/O go on, its memory stays. */
static void staged_free(struct staged *s)
{
	if (!fault(FAULT_NO_STORE_WAIT) || !lane_busy(&s->lanes))
		free_all(s);
}

const struct staged_ops staged_session_ops = {
	.plan = staged_plan,
	.open = staged_open,
	.close = unmake_verbs,
	.free = staged_free,
};
