/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write queues of a session, on threads (iothread.h). A lane is the part of a session
 * that one thread has.
 */
#ifndef RDMABLKD_LANE_H
#define RDMABLKD_LANE_H

#include "base/util.h"
#include "rdma/conn.h"
#include "rdma/numa.h"
#include "staged/iothread.h"
#include "staged/write_queue.h"

struct lane;

/**
 * struct lane_ops - upcalls of a kind of store; all are called in the thread of the lane, and
 *	may be NULL
 * @enter: the thread gets the lane, without queue pairs yet: 0 or -errno
 * @stop: the session ends: begin no further command
 * @leave: undo @enter, also after an error of @enter; no command of the lane is under way
 */
struct lane_ops {
	int (*enter)(struct lane *lane);
	void (*stop)(struct lane *lane);
	void (*leave)(struct lane *lane);
};

/**
 * struct lane_queue - a write queue
 * @entry: in @answering of the thread
 * @lane: its lane
 * @queue: its commands and answers
 * @tags: tags of the queue, a part of @tags of &struct lanes
 * @buffer: of a staged session: places of its slots and of its receives in the ring's table;
 *	-1: none
 * @answering: the queue is in @answering of the thread
 */
struct lane_queue {
	TAILQ_ENTRY(lane_queue) entry;
	struct lane *lane;
	struct write_queue queue;
	void *tags;
	int buffer[2];
	bool answering;
};

/**
 * struct lane - the part of a session in one thread, which owns it while it is attached
 * @entry: in @polled of the thread
 * @note: attaches the lane
 * @leave: detaches the lane
 * @event: completions of the poll of @channel
 * @unwatch: completion of the request that cancels this poll
 * @thread: thread of the lane
 * @lanes: lanes of the session
 * @channel: completion channel of @cq alone
 * @cq: completion queue of its write queues, for both directions
 * @events: events of @cq that are not acknowledged
 * @number: number of the lane: it has the queues whose index modulo @nr_lanes is this
 * @attached: the thread has the lane
 * @error: result of attaching, 0 or -errno
 * @watched: the poll of @channel is under way
 * @unwatching: the request that cancels it is under way
 * @armed: the next completion makes an event
 * @polled: the lane is in @polled of the thread
 * @failed: the session must end: no completion is handled any more
 * @stopping: the session ends: no queue pair is touched any more, either
 * @parted: @cq and @channel are not touched any more, either, and the session knows that
 * @busy: number of commands and pieces of I/O under way; any thread may look
 * @counts: counters of answered commands
 */
struct lane {
	TAILQ_ENTRY(lane) entry;
	struct ring_note note;
	struct ring_note leave;
	struct ring_source event;
	struct ring_source unwatch;
	struct iothread *thread;
	struct lanes *lanes;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	unsigned int events;
	unsigned int number;
	bool attached;
	int error;
	bool watched;
	bool unwatching;
	bool armed;
	bool polled;
	bool failed;
	bool stopping;
	bool parted;
	unsigned int busy;
	struct store_counts counts;
};

/**
 * struct lanes - the write queues of a session; zeroed: it has none
 * @ops: upcalls of its kind of store
 * @threads: threads of the export
 * @scope: what commands may ask for
 * @rounds: of polling a lane before other lanes have their turn; few, if a command may keep
 *	the thread for long
 * @tag_bytes: of the owner's struct for a tag, which begins with &struct write_tag
 * @queues: what the write queues have in common
 * @receive_bytes: mapped for the receives
 * @receive_mr: registration of the receives, with local rights only
 * @tags: memory of the tags of all write queues
 * @queue: the write queue of each hardware queue
 * @nr_queues: number of write queues
 * @lane: lanes
 * @nr_lanes: number of lanes
 * @given: the threads know the lanes, so lane_detach_all() must be called
 * @reason: why the session must end
 * @cancel: no further command begins
 * @ending: @fail is on its way
 * @fail: brings @reason to the loop
 * @owner: argument of the upcalls
 * @failed: upcall: the session must end; not after lane_detach_all(); perhaps more than once
 * @stopped: upcall, once, soon after lane_detach_all(): no thread touches a queue pair or
 *	completion queue of the session any more
 * @idle: upcall, once, after @stopped, when all that has begun has ended, perhaps never: no
 *	thread touches the session's memory or the store any more
 * @lock: guards @left and the results of attaching
 * @changed: signalled when either changes
 * @left: number of lanes that have not answered whether they are attached
 * @parting: brings @stopped to the loop
 * @together: number of lanes that have not parted
 * @leaving: brings @idle to the loop
 * @working: number of lanes that have not left
 *
 * The owner sets @ops, @threads, @scope, @rounds, @tag_bytes, @nr_queues and the upcalls, and
 * in @queues @begin, @stride, @head, @lists and @implied.
 */
struct lanes {
	const struct lane_ops *ops;
	struct iothread_pool *threads;
	struct wire_scope scope;
	unsigned int rounds;
	size_t tag_bytes;
	struct write_queues queues;
	size_t receive_bytes;
	struct ibv_mr *receive_mr;
	void *tags;
	struct lane_queue *queue;
	unsigned int nr_queues;
	struct lane *lane;
	unsigned int nr_lanes;
	bool given;
	unsigned int reason;
	atomic_bool cancel;
	atomic_bool ending;
	struct loop_note fail;
	void *owner;
	void (*failed)(void *owner, unsigned int reason);
	void (*stopped)(void *owner);
	void (*idle)(void *owner);
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int left;
	struct loop_note parting;
	atomic_uint together;
	struct loop_note leaving;
	atomic_uint working;
};

/**
 * struct staged - a session with an uncached file
 * @lanes: its write queues. A command ends at a page's end, so that the data which follows it
 *	is aligned
 * @slots: memory of all slots; of hardware queue i from i * @queue_bytes on
 * @slot_memory: bytes mapped there
 * @queue_bytes: bytes of the slots of a queue
 * @slot_mr: registration of @slots
 * @slot_iova: address of @slots for @slot_mr
 */
struct staged {
	struct lanes lanes;
	char *slots;
	size_t slot_memory;
	uint64_t queue_bytes;
	struct ibv_mr *slot_mr;
	uint64_t slot_iova;
};

static inline struct lane_queue *lane_queue_of(const struct write_queue *q)
{
	return container_of(q, struct lane_queue, queue);
}

/* A command or a piece of I/O begins. In the thread of the lane. */
static inline void lane_begun(struct lane *lane)
{
	__atomic_store_n(&lane->busy, lane->busy + 1, __ATOMIC_RELEASE);
}

void *lane_map(size_t bytes, const struct numa_place *place);
int lane_open_all(struct lanes *l, struct ibv_pd *pd, const struct numa_place *place);
int lane_attach_all(struct lanes *l);
void lane_setup(const struct lanes *l, unsigned int i, struct conn_setup *setup);
int lane_join(struct lanes *l, unsigned int i, struct ibv_qp *qp);
void lane_live(struct lanes *l);
void lane_resized(struct lanes *l, uint64_t size);
void lane_counts(const struct lanes *l, struct store_counts *sum);
void lane_over(struct lane *lane);
bool lane_busy(const struct lanes *l);
void lane_detach_all(struct lanes *l);
int lane_close_all(struct lanes *l);
void lane_free_all(struct lanes *l);
void lane_turn(struct iothread *t);

#endif
