/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of one session with a one-sided store: what the commands of its write queues
 * do. cmdq_open() and cmdq_close() are for workers, everything else is for the loop.
 */
#ifndef RDMABLKD_CMDQ_H
#define RDMABLKD_CMDQ_H

#include "rdma/conn.h"
#include "rdma/cq.h"
#include "rdma/device.h"
#include "staged/write_queue.h"
#include "store/store_thread.h"

#define CMDQ_DEPTH	8	/* commands in flight on a write queue */
#define CMDQ_BYTES	4096	/* of a command with ranges */

struct cmdq;

TAILQ_HEAD(cmdq_slots, cmdq_slot);

/**
 * struct cmdq_slot - a tag of a write queue
 * @entry: in @flushed or @waiting of the commands
 * @tag: the command and its answer
 * @work: for the store thread
 * @working: the store thread has @work
 */
struct cmdq_slot {
	TAILQ_ENTRY(cmdq_slot) entry;
	struct write_tag tag;
	struct store_work work;
	bool working;
};

/**
 * struct cmdq - a write queue
 * @cmdqs: of its session
 * @queue: its commands and answers
 * @slot: its tags
 */
struct cmdq {
	struct cmdqs *cmdqs;
	struct write_queue queue;
	struct cmdq_slot slot[CMDQ_DEPTH];
};

/**
 * struct cmdqs - the commands of a session; zeroed: the session has none
 * @scope: what they may ask for; set by the session before cmdq_open()
 * @store: of the session's export; set by the session likewise
 * @ended: upcall: the session must end; set by the session likewise
 * @idle: upcall, after cmdq_stop(): what was under way is over; set by the session likewise
 * @queues: what the write queues have in common
 * @queue: the write queues, @nr of them
 * @nr: hardware queues granted
 * @cq: completion queue of all write queues; none: no commands
 * @mr: registration of the receives, local rights only
 * @stopped: the session ends: no queue pair may be touched any more
 * @pending: works that the store thread has
 * @dirty: granules noted since the last FLUSH began
 * @flushing: granules of @flush; empty unless @flush_under_way
 * @flush: the FLUSH that the store thread has; one at a time
 * @flush_under_way: the store thread has @flush, or @merge is still to run
 * @merge: moves what a FLUSH has not flushed back from @flushing to @dirty
 * @flushes: number of FLUSHes that have begun
 * @flush_ended: when the last one ended, ms; 0: none has
 * @flush_failed: the last one ended with an error
 * @changed: a command has changed something since the last FLUSH of all began
 * @flushed: commands that @flush answers
 * @waiting: FLUSH commands for the next one
 * @counts: of commands answered; of a staged store when its queues have stopped
 */
struct cmdqs {
	struct wire_scope scope;
	struct store *store;
	void (*ended)(struct cmdqs *c, unsigned int reason);
	void (*idle)(struct cmdqs *c);
	struct write_queues queues;
	struct cmdq *queue;
	unsigned int nr;
	struct cq cq;
	struct ibv_mr *mr;
	bool stopped;
	unsigned int pending;
	struct bitmap dirty;
	struct bitmap flushing;
	struct store_work flush;
	bool flush_under_way;
	struct loop_task merge;
	uint64_t flushes;
	int64_t flush_ended;
	bool flush_failed;
	bool changed;
	struct cmdq_slots flushed;
	struct cmdq_slots waiting;
	struct store_counts counts;
};

void cmdq_scope(struct wire_scope *scope, const struct store_limits *limits);
int cmdq_open(struct cmdqs *c, struct device *dev, struct ibv_pd *pd,
	      unsigned int nr);
void cmdq_caps(const struct cmdqs *c, struct conn_caps *caps);
int cmdq_join(struct cmdqs *c, unsigned int i, struct ibv_qp *qp);
void cmdq_live(struct cmdqs *c);
void cmdq_stop(struct cmdqs *c);
bool cmdq_busy(const struct cmdqs *c);
bool cmdq_flushes(const struct cmdqs *c, int64_t since);
bool cmdq_clean(const struct cmdqs *c);
bool cmdq_gave_up(const struct cmdqs *c);
int cmdq_close(struct cmdqs *c);
void cmdq_free(struct cmdqs *c);
void cmdq_note(struct cmdqs *c, const void *msg, const struct wire_data *data);

#endif
