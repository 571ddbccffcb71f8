/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Write queues of a session with a store without a cache: commands come in, I/O is
 * done, answers go out. A lane is what one thread has of one session.
 */
#ifndef RDMABLKD_LANE_H
#define RDMABLKD_LANE_H

#include <infiniband/verbs.h>

#include "staged/iothread.h"
#include "store/store.h"
#include "wire/wire_data.h"

/* Work request ids: which queue, and which receive or how many sends. */
#define LANE_WR(queue, index)	((uint64_t)(queue) << 16 | (index))
#define LANE_WR_QUEUE(id)	((id) >> 16)
#define LANE_WR_INDEX(id)	((unsigned int)((id) & 0xffff))

struct lane_cmd;
struct staged;

TAILQ_HEAD(lane_cmds, lane_cmd);

/**
 * struct lane_cmd - a tag of a write queue
 * @entry: in @answers of its queue
 * @io: what it asks for
 * @queue: its own
 * @wr: its answer
 * @sge: of @wr, when that is alone
 * @list: of @wr, when it is a list; no bytes: it is not
 * @data: as received
 * @receive: which receive it came with
 * @busy: it is under way: from its receive to the posting of its answer
 */
struct lane_cmd {
	TAILQ_ENTRY(lane_cmd) entry;
	struct staged_io io;
	struct lane_queue *queue;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_sge list;
	struct wire_data data;
	uint16_t receive;
	bool busy;
};

/**
 * struct lane_queue - a write queue; from its first receive on the thread's
 * @entry: in @answering of the thread
 * @lane: its own
 * @qp: its queue pair; NULL: not joined
 * @index: of its hardware queue
 * @buffer: places of its slots and of its receives in the ring's table; -1: none
 * @cmd: by tag
 * @receive: by number
 * @receive_sge: of @receive
 * @implied: the tag after that of the last command, which a WRITE that is nothing but its
 *	data has
 * @again: receives to be posted, linked
 * @again_end: where the next is linked
 * @answers: to be posted
 * @answering: it is in that list of the thread
 * @sends: posted and not known to be done
 * @quiet: of these, posted after the last that will tell
 */
struct lane_queue {
	TAILQ_ENTRY(lane_queue) entry;
	struct lane *lane;
	struct ibv_qp *qp;
	unsigned int index;
	int buffer[2];
	struct lane_cmd *cmd;
	struct ibv_recv_wr *receive;
	struct ibv_sge *receive_sge;
	unsigned int implied;
	struct ibv_recv_wr *again;
	struct ibv_recv_wr **again_end;
	struct lane_cmds answers;
	bool answering;
	unsigned int sends;
	unsigned int quiet;
};

/**
 * struct lane - part of a session in one thread; the thread's while it is attached
 * @entry: in @polled of the thread
 * @note: to attach it
 * @leave: to detach it
 * @event: completions of the poll of @channel
 * @unwatch: completion of the request that cancels this poll
 * @thread: its own
 * @staged: its session
 * @channel: of @cq alone
 * @cq: of its write queues, both directions
 * @events: of @cq, not acknowledged
 * @number: its queues are those whose index leaves this when divided by the number of
 *	lanes
 * @attached: it is
 * @error: of attaching
 * @watched: the poll of @channel is under way
 * @unwatching: the request that cancels it is under way
 * @armed: the next completion makes an event
 * @polled: it is in that list of the thread
 * @failed: the session must end: what comes is no longer looked at
 * @stopping: likewise, and no queue pair is touched
 * @parted: nor its completion queue and channel, and the session has been told
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
 * struct staged - a session with a store without a cache
 * @threads: of the store
 * @scope: what commands may ask for
 * @slots: memory of all slots; of hardware queue i from i * @queue_bytes on
 * @queue_bytes: of the slots of a queue
 * @receives: memory of all receives, and of a list of answers for each tag
 * @mapped: bytes of @slots and @receives
 * @slot_mr: registration of @slots
 * @receive_mr: registration of @receives, with local rights only
 * @slot_iova: address of @slots for @slot_mr
 * @queue: of each hardware queue
 * @nr_queues: how many
 * @stride: from one receive to the next, bytes; the command ends at a page's end, so
 *	that what follows it is aligned
 * @lane: each
 * @nr_lanes: how many
 * @max_sends: of a queue pair
 * @tell_each: every so manyth send tells of its completion
 * @reason: why the session must end
 * @lists: several answers may go in one send
 * @implied: a WRITE may be nothing but its data
 * @live: commands are right
 * @cancel: what has not begun is not begun any more
 * @ending: @fail is on its way
 * @fail: brings @reason to the loop
 * @owner: for the upcalls
 * @failed: upcall
 * @stopped: upcall
 * @idle: upcall
 * @users: the session, and the loop while @fail is on its way
 * @lock: guards @left and the results of attaching
 * @changed: signalled with either
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
	char *receives;
	size_t mapped[2];
	struct ibv_mr *slot_mr;
	struct ibv_mr *receive_mr;
	uint64_t slot_iova;
	struct lane_queue *queue;
	unsigned int nr_queues;
	uint32_t stride;
	struct lane *lane;
	unsigned int nr_lanes;
	unsigned int max_sends;
	unsigned int tell_each;
	unsigned int reason;
	bool lists;
	bool implied;
	atomic_bool live;
	atomic_bool cancel;
	atomic_bool ending;
	struct ring_note fail;
	void *owner;
	void (*failed)(void *owner, unsigned int reason);
	void (*stopped)(void *owner);
	void (*idle)(void *owner);
	atomic_uint users;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int left;
	struct ring_note parting;
	atomic_uint together;
	struct ring_note leaving;
	atomic_uint working;
};

char *lane_receive(const struct lane_queue *q, unsigned int index);
char *lane_list(const struct lane_queue *q, unsigned int tag);
void lane_command_done(struct staged_io *io);
int lane_set_nonblock(struct lane *lane);
int lane_destroy(struct lane *lane);
int lane_attach_all(struct staged *s);
void lane_detach_all(struct staged *s);
void lane_staged_put(struct staged *s);
void lane_turn(struct iothread *t);

#endif
