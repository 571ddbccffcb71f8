/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of one session with a one-sided store: the receives and answers of its
 * write queues, and what the commands do. Everything but cmdq_open() and
 * cmdq_close() is for the loop.
 */
#ifndef RDMABLKD_CMDQ_H
#define RDMABLKD_CMDQ_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "rdma/conn.h"
#include "rdma/cq.h"
#include "rdma/device.h"
#include "store/store_thread.h"
#include "wire/wire_data.h"

#define CMDQ_DEPTH	8	/* commands in flight on a write queue */
#define CMDQ_BYTES	4096	/* of a command with ranges */

struct cmdq;

TAILQ_HEAD(cmdq_slots, cmdq_slot);

/**
 * enum cmdq_slot_state - what a tag is in use for
 * @SLOT_FREE: nothing
 * @SLOT_BUSY: its command is being done
 * @SLOT_THREAD: by the store thread, with @work
 * @SLOT_ANSWERED: its answer waits for a send
 */
enum cmdq_slot_state {
	SLOT_FREE,
	SLOT_BUSY,
	SLOT_THREAD,
	SLOT_ANSWERED,
};

/**
 * struct cmdq_slot - a tag of a write queue
 * @entry: in @flushed or @waiting of the commands, or in @answers of the queue
 * @queue: its queue
 * @state: what it is in use for
 * @data: the command
 * @work: for the store thread
 */
struct cmdq_slot {
	TAILQ_ENTRY(cmdq_slot) entry;
	struct cmdq *queue;
	enum cmdq_slot_state state;
	struct wire_data data;
	struct store_work work;
};

/**
 * struct cmdq - a write queue
 * @cmdqs: of its session
 * @qp: its queue pair; NULL: it has not joined
 * @sends: posted and not known to be done
 * @quiet: of these, posted after the last that will tell
 * @answers: that wait for one
 * @slot: by tag
 */
struct cmdq {
	struct cmdqs *cmdqs;
	struct ibv_qp *qp;
	unsigned int sends;
	unsigned int quiet;
	struct cmdq_slots answers;
	struct cmdq_slot slot[CMDQ_DEPTH];
};

/**
 * struct cmdqs - the commands of a session; zeroed: it has none
 * @scope: what they may ask for; set by the session before cmdq_open()
 * @store: of the session's export; likewise
 * @ended: upcall: the session must end; likewise
 * @idle: upcall, after cmdq_stop(): what was under way is over; likewise
 * @queue: of the write queues, @nr of them
 * @nr: hardware queues granted
 * @cq: of all write queues; none: no commands
 * @mr: registration of @buf, local rights only
 * @buf: receive buffers, of @buf_bytes each
 * @buf_bytes: each
 * @live: commands are right
 * @stopped: the session is ending: no queue pair may be touched any more
 * @pending: works at the store thread
 * @dirty: granules noted since the last FLUSH began
 * @flushing: granules of @flush; empty unless @flush_under_way
 * @flush: the FLUSH at the store thread; one at a time
 * @flush_under_way: it is, or @merge is still to run
 * @merge: moves what a FLUSH has not flushed back from @flushing to @dirty
 * @flushes: that have begun
 * @flush_ended: when the last one has, ms; 0: none
 * @flush_failed: and with an error
 * @changed: something was done since the last FLUSH of all began that the next one takes
 * @flushed: commands that @flush answers
 * @waiting: FLUSH commands for the next one
 * @counts: of commands answered; of a staged store when its queues have stopped
 */
struct cmdqs {
	struct wire_scope scope;
	struct store *store;
	void (*ended)(struct cmdqs *c, unsigned int reason);
	void (*idle)(struct cmdqs *c);
	struct cmdq *queue;
	unsigned int nr;
	struct cq cq;
	struct ibv_mr *mr;
	char *buf;
	uint32_t buf_bytes;
	bool live;
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
void cmdq_answer(struct cmdq_slot *slot, unsigned int status);
void cmdq_sent(struct cmdq *q, unsigned int nr);
void cmdq_note(struct cmdqs *c, const void *msg, const struct wire_data *data);
void cmdq_do(struct cmdq_slot *slot);

#endif
