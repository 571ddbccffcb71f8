/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write queues of a session with an uncached file, on I/O threads. A lane is the part
 * of a session that one thread has.
 */
#ifndef RDMABLKD_LANE_H
#define RDMABLKD_LANE_H

#include "staged/iothread.h"
#include "staged/write_queue.h"

struct staged;

/**
 * struct lane_cmd - a tag of a write queue
 * @tag: the command and its answer
 * @io: what the command asks for
 */
struct lane_cmd {
	struct write_tag tag;
	struct staged_io io;
};

/**
 * struct lane_queue - a write queue
 * @entry: in @answering of the thread
 * @lane: its lane
 * @queue: its commands and answers
 * @buffer: places of its slots and of its receives in the ring's table; -1: none
 * @cmd: its tags
 * @answering: whether it is in that list of the thread
 */
struct lane_queue {
	TAILQ_ENTRY(lane_queue) entry;
	struct lane *lane;
	struct write_queue queue;
	int buffer[2];
	struct lane_cmd *cmd;
	bool answering;
};

/**
 * struct lane - the part of a session in one thread; the thread's while it is attached
 * @entry: in @polled of the thread
 * @note: attaches the lane
 * @leave: detaches the lane
 * @event: completions of the poll of @channel
 * @unwatch: completion of the request that cancels this poll
 * @thread: its thread
 * @staged: its session
 * @channel: of @cq alone
 * @cq: completion queue of its write queues, for both directions
 * @events: events of @cq that are not acknowledged
 * @number: its queues are those whose index leaves this when divided by the number of
 *	lanes
 * @attached: the thread has the lane
 * @error: of attaching, 0 or -errno
 * @watched: the poll of @channel is under way
 * @unwatching: the request that cancels it is under way
 * @armed: the next completion makes an event
 * @polled: the lane is in that list of the thread
 * @failed: the session must end: no completion is looked at any more
 * @stopping: the session ends: no queue pair is touched any more either
 * @parted: @cq and @channel are not touched any more either, and the session knows
 * @busy: commands whose I/O is under way
 * @counts: of commands answered
 */
struct lane {
	TAILQ_ENTRY(lane) entry;
	struct ring_note note;
	struct ring_note leave;
	struct ring_source event;
	struct ring_source unwatch;
	struct iothread *thread;
	struct staged *staged;
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
 * struct staged - a session with an uncached file
 * @threads: of the store
 * @scope: what commands may ask for
 * @slots: memory of all slots; of hardware queue i from i * @queue_bytes on
 * @queue_bytes: bytes of the slots of a queue
 * @mapped: bytes of the slots, and of the receives
 * @slot_mr: registration of @slots
 * @receive_mr: registration of the receives, with local rights only
 * @slot_iova: address of @slots for @slot_mr
 * @queues: what the write queues have in common. A command ends at a page's end, so that
 *	the data which follows it is aligned
 * @queue: the write queue of each hardware queue
 * @nr_queues: how many
 * @lane: each lane
 * @nr_lanes: how many
 * @reason: why the session must end
 * @cancel: I/O that has not begun is not begun any more
 * @ending: @fail is on its way
 * @fail: brings @reason to the loop
 * @owner: argument of the upcalls
 * @failed: upcall
 * @stopped: upcall
 * @idle: upcall
 * @users: the session, and the loop while @fail is on its way
 * @lock: guards @left and the results of attaching
 * @changed: signalled when either changes
 * @left: lanes that have not answered whether they are attached
 * @parting: brings @stopped to the loop
 * @together: lanes that may touch a queue pair or a completion queue
 * @leaving: brings @idle to the loop
 * @working: lanes that have I/O under way, or their memory in the ring
 */
struct staged {
	struct iothread_pool *threads;
	struct wire_scope scope;
	char *slots;
	uint64_t queue_bytes;
	size_t mapped[2];
	struct ibv_mr *slot_mr;
	struct ibv_mr *receive_mr;
	uint64_t slot_iova;
	struct write_queues queues;
	struct lane_queue *queue;
	unsigned int nr_queues;
	struct lane *lane;
	unsigned int nr_lanes;
	unsigned int reason;
	atomic_bool cancel;
	atomic_bool ending;
	struct loop_note fail;
	void *owner;
	void (*failed)(void *owner, unsigned int reason);
	void (*stopped)(void *owner);
	void (*idle)(void *owner);
	atomic_uint users;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int left;
	struct loop_note parting;
	atomic_uint together;
	struct loop_note leaving;
	atomic_uint working;
};

extern const struct write_queue_ops lane_queue_ops;

void lane_command_done(struct staged_io *io);
int lane_set_nonblock(struct lane *lane);
int lane_destroy(struct lane *lane);
int lane_attach_all(struct staged *s);
void lane_detach_all(struct staged *s);
void lane_staged_put(struct staged *s);
void lane_turn(struct iothread *t);

#endif
