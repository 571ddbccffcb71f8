/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A write queue: the commands that a peer sends on it, and their answers. A lane (lane.h) has
 * it, and its kind of store does the commands.
 */
#ifndef RDMABLKD_WRITE_QUEUE_H
#define RDMABLKD_WRITE_QUEUE_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "store/store.h"
#include "wire/wire.h"

/* Work request ids: bit 32 says send, then the queue, then a receive or a number of sends */
#define WRITE_QUEUE_SEND	(1ULL << 32)
#define WRITE_QUEUE_WR(queue, index)	((uint64_t)(queue) << 16 | (index))

struct write_queue;

/**
 * struct write_tag - a tag of a write queue, for one command at a time
 * @entry: in @answers of its queue; the owner may use it until the command is answered
 * @queue: queue of the tag
 * @wr: the send of its answer
 * @sge: data of a READ, for @wr; address and key are the owner's to set
 * @list: list of answers, for @wr; length 0: @wr is no list
 * @data: the command, decoded; from the answer on with its status
 * @began: time at which a FLUSH came that has something to do, latency_now(); 0: another
 *	command
 * @receive: number of the receive that the command came with
 * @busy: the command is under way: from its receive until its answer is posted
 */
struct write_tag {
	TAILQ_ENTRY(write_tag) entry;
	struct write_queue *queue;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_sge list;
	struct wire_data data;
	uint64_t began;
	uint16_t receive;
	bool busy;
};

TAILQ_HEAD(write_tags, write_tag);

/**
 * struct write_queues - what the write queues of a session have in common
 * @begin: do the command of a tag, then call write_queue_answer(), which may be at once.
 *	Until then write_queue_command() has its bytes. FENCE does not get here, nor does a
 *	command that has a status already, nor a FLUSH of a session that cannot write
 * @answering: upcall: answers or receives wait: call write_queue_post() soon
 * @scope: what commands may ask for; the owner may change its size at any time
 * @receives: memory of the receives, those of a queue one after the other
 * @stride: from one receive to the next, bytes
 * @head: bytes before the command, for a list of answers if there are lists
 * @lkey: local key of @receives
 * @lists: several answers may go in one send
 * @implied: a WRITE may be nothing but its data
 * @live: the session is live, so commands are allowed
 */
struct write_queues {
	void (*begin)(struct write_tag *tag);
	void (*answering)(struct write_queue *q);
	const struct wire_scope *scope;
	char *receives;
	uint32_t stride;
	uint32_t head;
	uint32_t lkey;
	bool lists;
	bool implied;
	atomic_bool live;
};

/**
 * struct write_queue - a write queue; belongs to one thread from its first receive on
 * @all: what it has in common with others
 * @counts: counters of answered commands
 * @qp: its queue pair; NULL: it has not joined
 * @index: number of its hardware queue
 * @max_sends: most sends that the queue pair takes
 * @tell_each: the last of so many sends is signalled
 * @tag: its tags, which are the owner's memory
 * @receive: its receives
 * @receive_sge: of @receive
 * @implied: the tag after that of the last command; a WRITE that is nothing but its data
 *	has it
 * @again: receives to be posted, linked
 * @again_end: where the next is linked
 * @answers: tags whose answers are to be posted
 * @sends: number of sends posted and not known to be done
 * @quiet: number of sends after the last signalled one
 */
struct write_queue {
	struct write_queues *all;
	struct store_counts *counts;
	struct ibv_qp *qp;
	unsigned int index;
	unsigned int max_sends;
	unsigned int tell_each;
	struct write_tag **tag;
	struct ibv_recv_wr *receive;
	struct ibv_sge *receive_sge;
	unsigned int implied;
	struct ibv_recv_wr *again;
	struct ibv_recv_wr **again_end;
	struct write_tags answers;
	unsigned int sends;
	unsigned int quiet;
};

/* The hardware queue of a completion */
static inline unsigned int write_queue_index(const struct ibv_wc *wc)
{
	return wc->wr_id >> 16 & 0xffff;
}

/* The bytes of a receive; what follows the command is where its owner wants it. */
static inline char *write_queue_receive(const struct write_queue *q, unsigned int i)
{
	const struct write_queues *all = q->all;

	return all->receives + ((size_t)q->index * all->scope->cmd_depth + i) * all->stride +
	       all->head;
}

/* The bytes that the command of a busy tag came in */
static inline char *write_queue_command(const struct write_tag *tag)
{
	return write_queue_receive(tag->queue, tag->receive);
}

unsigned int write_queue_sends(unsigned int depth);
int write_queue_init(struct write_queue *q, struct write_queues *all, unsigned int index,
		     struct store_counts *counts);
void write_queue_free(struct write_queue *q);
void write_queue_add(struct write_queue *q, unsigned int number, struct write_tag *tag);
int write_queue_join(struct write_queue *q, struct ibv_qp *qp);
unsigned int write_queue_completed(struct write_queue *q, const struct ibv_wc *wc);
void write_queue_answer(struct write_tag *tag, unsigned int status);
int write_queue_post(struct write_queue *q);

#endif
