// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions with an uncached file: their memory, its registration, and their queues, which
 * go to the threads of the store (lane.h).
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

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

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
 * Memory
 */

static void *map(size_t bytes, const struct numa_place *place)
{
	struct numa_place there = *place;
	void *from = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (from == MAP_FAILED)
		return NULL;
	madvise(from, bytes, MADV_DONTFORK);
	madvise(from, bytes, MADV_DONTDUMP);
	madvise(from, bytes, MADV_HUGEPAGE);
	/* No page exists yet: a policy is enough. A strict one could call the OOM killer. */
	there.only = false;
	numa_keep(&there, from, bytes);
	if (!madvise(from, bytes, MADV_POPULATE_WRITE))
		return from;
	munmap(from, bytes);
	return NULL;
}

static int make_memory(struct staged *s, struct ibv_pd *pd, const struct numa_place *place)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	uint64_t n;
	int ret = mac_random(&n, sizeof(n));

	if (ret)
		return ret;
	if (s->scope.writer)
		access |= IBV_ACCESS_REMOTE_WRITE;
	s->mapped[0] = s->nr_queues * s->queue_bytes;
	s->mapped[1] = (size_t)s->nr_queues * s->scope.cmd_depth * s->queues.stride;
	s->slots = map(s->mapped[0], place);
	s->queues.receives = map(s->mapped[1], place);
	if (!s->slots || !s->queues.receives)
		return -ENOMEM;
	n &= (1ULL << IOVA_BITS) - 1;
	s->slot_iova = (n & ~(IOVA_ALIGN - 1)) | ((uintptr_t)s->slots & (IOVA_ALIGN - 1));
	s->slot_mr = ibv_reg_mr_iova(pd, s->slots, s->mapped[0], s->slot_iova, access);
	if (!s->slot_mr)
		return -errno;
	s->receive_mr = ibv_reg_mr(pd, s->queues.receives, s->mapped[1],
				   IBV_ACCESS_LOCAL_WRITE);
	if (!s->receive_mr)
		return -errno;
	s->queues.lkey = s->receive_mr->lkey;
	return 0;
}

/*
 * Queues
 */

static void make_command(struct lane_queue *q, unsigned int tag)
{
	struct lane_cmd *cmd = &q->cmd[tag];
	struct staged *s = q->lane->staged;

	cmd->io.engine = &q->lane->thread->engine;
	cmd->io.done = lane_command_done;
	cmd->io.cancel = &s->cancel;
	cmd->tag.sge.addr = s->slot_iova + q->queue.index * s->queue_bytes +
			    (uint64_t)tag * s->scope.slot_bytes;
	cmd->tag.sge.lkey = s->slot_mr->lkey;
	write_queue_add(&q->queue, tag, &cmd->tag);
}

static int make_queue(struct staged *s, unsigned int index)
{
	struct lane_queue *q = &s->queue[index];
	unsigned int depth = s->scope.cmd_depth;
	int ret;

	q->lane = &s->lane[index % s->nr_lanes];
	q->buffer[0] = -1;
	q->buffer[1] = -1;
	ret = write_queue_init(&q->queue, &s->queues, index, &q->lane->counts);
	if (ret)
		return ret;
	q->cmd = calloc(depth, sizeof(*q->cmd));
	if (!q->cmd)
		return -ENOMEM;
	for (unsigned int i = 0; i < depth; i++)
		make_command(q, i);
	return 0;
}

/*
 * The completion queue has room for each work request of its queue pairs, because all of
 * them complete when the queue pairs fail.
 */
static int make_lane(struct staged *s, unsigned int number, unsigned int thread,
		     struct ibv_context *verbs)
{
	struct lane *lane = &s->lane[number];
	unsigned int queues = (s->nr_queues - number + s->nr_lanes - 1) / s->nr_lanes;
	int vectors = verbs->num_comp_vectors > 0 ? verbs->num_comp_vectors : 1;
	unsigned int depth = s->scope.cmd_depth;
	unsigned int cqes = queues * (depth + write_queue_sends(depth));
	int ret;

	lane->staged = s;
	lane->number = number;
	lane->thread = &s->threads->thread[thread % s->threads->nr];
	lane->channel = ibv_create_comp_channel(verbs);
	if (!lane->channel)
		return -errno;
	ret = lane_set_nonblock(lane);
	if (ret)
		return ret;
	lane->cq = ibv_create_cq(verbs, (int)cqes, NULL, lane->channel,
				 (int)number % vectors);
	return lane->cq ? 0 : device_queue_error();
}

static int make_all(struct staged *s, struct staged_plan *plan,
		    const struct numa_place *place)
{
	unsigned int first;
	int ret = 0;

	s->queue = calloc(s->nr_queues, sizeof(*s->queue));
	s->lane = calloc(s->nr_lanes, sizeof(*s->lane));
	if (!s->queue || !s->lane)
		return -ENOMEM;
	/* One step: the lanes of a session begun meanwhile do not come between these. */
	first = atomic_fetch_add(&s->threads->next, s->nr_lanes);
	for (unsigned int i = 0; !ret && i < s->nr_lanes; i++)
		ret = make_lane(s, i, first + i, plan->verbs);
	ret = ret ?: make_memory(s, plan->pd, place);
	for (unsigned int i = 0; !ret && i < s->nr_queues; i++)
		ret = make_queue(s, i);
	return ret;
}

/* Undoes what make_all() did with verbs. May be called again after an error. */
static int unmake_verbs(struct staged *s)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && s->lane && i < s->nr_lanes; i++)
		ret = lane_destroy(&s->lane[i]);
	if (!ret && s->slot_mr)
		ret = -ibv_dereg_mr(s->slot_mr);
	if (ret)
		return ret;
	s->slot_mr = NULL;
	if (s->receive_mr)
		ret = -ibv_dereg_mr(s->receive_mr);
	if (ret)
		return ret;
	s->receive_mr = NULL;
	return 0;
}

static void free_memory(struct staged *s)
{
	if (s->slots)
		munmap(s->slots, s->mapped[0]);
	if (s->queues.receives)
		munmap(s->queues.receives, s->mapped[1]);
	s->slots = NULL;
	s->queues.receives = NULL;
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
	struct staged *s;

	if (ret)
		return ret;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	store->ops->limits(store, &limits);
	store_limits_scope(&limits, &s->scope);
	s->scope.size = plan->size;
	s->scope.logical_block = plan->logical_block;
	s->scope.writer = plan->writer;
	s->scope.cmd_depth = plan->cmd_depth;
	s->scope.trailer_bytes = plan->trailer_bytes;
	s->scope.slot_bytes = plan->slot_bytes;
	s->threads = none->threads;
	s->nr_queues = plan->nr_queues;
	s->nr_lanes = (unsigned int)min_u64(plan->nr_queues, s->threads->nr);
	s->queue_bytes = (uint64_t)plan->cmd_depth * plan->slot_bytes;
	s->queues.ops = &lane_queue_ops;
	s->queues.scope = &s->scope;
	s->queues.stride = STAGED_RECEIVE;
	s->queues.head = STAGED_RECEIVE - plan->trailer_bytes - RDMABLK_CMD_BYTES;
	s->queues.lists = plan->lists;
	s->queues.implied = plan->implied;
	s->owner = plan->owner;
	s->failed = plan->failed;
	s->stopped = plan->stopped;
	s->idle = plan->idle;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	atomic_store(&s->users, 1);
	ret = make_all(s, plan, &store->place);
	if (ret) {
		unmake_verbs(s);
		free_memory(s);
		lane_staged_put(s);
		return ret;
	}
	plan->slot_iova = s->slot_iova;
	plan->slot_rkey = s->slot_mr->rkey;
	*out = s;
	ret = lane_attach_all(s);
	if (ret)
		log_peer(NULL, LOG_ERR, "export %s: its I/O threads take no session: %s",
			 none->file.name, strerror(-ret));
	return ret;
}

static void staged_queue(struct staged *s, unsigned int i, struct ibv_cq **cq,
			 uint32_t *sends, uint32_t *recvs)
{
	*cq = s->queue[i].lane->cq;
	*sends = s->queue[i].queue.max_sends;
	*recvs = s->scope.cmd_depth;
}

/* From the first receive on the queue belongs to its thread. */
static int staged_join(struct staged *s, unsigned int i, struct ibv_qp *qp)
{
	return write_queue_join(&s->queue[i].queue, qp);
}

static void staged_live(struct staged *s)
{
	atomic_store(&s->queues.live, true);
}

static void staged_resized(struct staged *s, uint64_t size)
{
	__atomic_store_n(&s->scope.size, size, __ATOMIC_RELAXED);
}

static void staged_counts(const struct staged *s, struct store_counts *sum)
{
	for (unsigned int i = 0; i < s->nr_lanes; i++)
		store_add_counts(sum, &s->lane[i].counts);
}

static void staged_stop(struct staged *s)
{
	if (!atomic_load(&s->cancel))
		lane_detach_all(s);
}

/* With the fault that lets I/O go on, its memory stays. */
static bool still_busy(const struct staged *s)
{
	for (unsigned int i = 0; i < s->nr_lanes; i++)
		if (s->lane[i].busy)
			return true;
	return false;
}

static void staged_free(struct staged *s)
{
	if (fault(FAULT_NO_STORE_WAIT) && still_busy(s))
		return;
	free_memory(s);
	lane_staged_put(s);
}

const struct staged_ops staged_session_ops = {
	.plan = staged_plan,
	.open = staged_open,
	.queue = staged_queue,
	.join = staged_join,
	.live = staged_live,
	.resized = staged_resized,
	.counts = staged_counts,
	.stop = staged_stop,
	.close = unmake_verbs,
	.free = staged_free,
};
