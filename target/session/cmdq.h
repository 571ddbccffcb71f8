/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of one session with a one-sided store: the receives and answers of its
 * write queues, and what the commands do. Everything but command_open() and
 * command_close() is for the loop.
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

#define COMMAND_DEPTH	8	/* commands in flight on a write queue */
#define COMMAND_BYTES	4096	/* of a command with ranges */

struct command_queue;

TAILQ_HEAD(command_slots, command_slot);

/**
 * enum slot_state - what a tag is in use for
 * @SLOT_FREE: nothing
 * @SLOT_BUSY: its command is being done
 * @SLOT_KEEPER: by the keeper, with @work
 * @SLOT_ANSWERED: its answer waits for a send
 */
enum slot_state {
	SLOT_FREE,
	SLOT_BUSY,
	SLOT_KEEPER,
	SLOT_ANSWERED,
};

/**
 * struct command_slot - a tag of a write queue
 * @entry: in @flushed or @waiting of the commands, or in @answers of the queue
 * @queue: its queue
 * @state: what it is in use for
 * @data: the command
 * @work: for the keeper
 */
struct command_slot {
	TAILQ_ENTRY(command_slot) entry;
	struct command_queue *queue;
	enum slot_state state;
	struct login_data data;
	struct store_work work;
};

/**
 * struct command_queue - a write queue
 * @commands: of its session
 * @qp: its queue pair; NULL: it has not joined
 * @sends: posted and not known to be done
 * @quiet: of these, posted after the last that will tell
 * @answers: that wait for one
 * @slot: by tag
 */
struct command_queue {
	struct commands *commands;
	struct ibv_qp *qp;
	unsigned int sends;
	unsigned int quiet;
	struct command_slots answers;
	struct command_slot slot[COMMAND_DEPTH];
};

/**
 * struct commands - the commands of a session; zeroed: it has none
 * @scope: what they may ask for; set by the session before command_open()
 * @store: of the session's export; likewise
 * @ended: upcall: the session must end; likewise
 * @idle: upcall, after command_stop(): what was under way is over; likewise
 * @queue: of the write queues, @nr of them
 * @nr: hardware queues granted
 * @cq: of all write queues; none: no commands
 * @mr: registration of @buf, local rights only
 * @buf: receive buffers, of @buf_bytes each
 * @buf_bytes: each
 * @live: commands are right
 * @stopped: the session is ending: no queue pair may be touched any more
 * @pending: works at the keeper
 * @dirty: granules noted since the last FLUSH began
 * @flushing: granules of @flush; empty unless @flush_under_way
 * @flush: the FLUSH at the keeper; one at a time
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
struct commands {
	struct login_scope scope;
	struct store *store;
	void (*ended)(struct commands *c, unsigned int reason);
	void (*idle)(struct commands *c);
	struct command_queue *queue;
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
	struct command_slots flushed;
	struct command_slots waiting;
	struct store_counts counts;
};

/* command.c: the queues */
void command_scope(struct login_scope *scope, const struct store_limits *limits);
int command_open(struct commands *c, struct device *dev, struct ibv_pd *pd,
		 unsigned int nr);
void command_caps(const struct commands *c, struct conn_caps *caps);
int command_join(struct commands *c, unsigned int i, struct ibv_qp *qp);
void command_live(struct commands *c);
void command_stop(struct commands *c);
bool command_busy(const struct commands *c);
bool command_flushes(const struct commands *c, int64_t since);
bool command_clean(const struct commands *c);
bool command_gave_up(const struct commands *c);
int command_close(struct commands *c);
void command_free(struct commands *c);
void command_answer(struct command_slot *slot, unsigned int status);
void command_sent(struct command_queue *q, unsigned int nr);

/* command_work.c: what commands do */
void command_note(struct commands *c, const void *msg, const struct login_data *data);
void command_do(struct command_slot *slot);

#endif
