/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of one session with a one-sided store: what the commands of its write queues do, in
 * the thread of their lane (lane.h). cmdq_open() and cmdq_free() are for workers, cmdq_note()
 * is for that thread, everything else is for the loop.
 */
#ifndef RDMABLKD_CMDQ_H
#define RDMABLKD_CMDQ_H

#include "rdma/device.h"
#include "staged/lane.h"
#include "store/store_thread.h"

#define CMDQ_DEPTH	8	/* most commands in flight on a write queue */
#define CMDQ_BYTES	4096	/* of a command with ranges */

/**
 * struct cmdq_slot - a tag of a write queue
 * @tag: the command and its answer; first. Its entry is in @flushed or @waiting of the
 *	commands until it is answered
 * @work: for the store thread
 * @over: brings @work back to the thread of the lane
 * @working: the store thread has @work, or @over is on its way
 */
struct cmdq_slot {
	struct write_tag tag;
	struct store_work work;
	struct ring_note over;
	bool working;
};

/**
 * struct cmdqs - the commands of a session; zeroed: the session has none
 * @lanes: its write queues, on one lane, because they share what follows. Set by the session
 *	before cmdq_open(): @threads, the upcalls, and in @scope what LIMITS says
 * @store: of the session's export; set by the session likewise
 * @client: takes turns with other sessions in the store thread
 * @pending: works that the store thread has; any thread may look
 * @dirty: granules noted since the last FLUSH began
 * @flushing: granules that @flush has to write; empty unless @flush_under_way
 * @flush: the FLUSH that the store thread has; one at a time
 * @flush_over: brings @flush back to the thread of the lane. Runs there again, step by step,
 *	until what was not flushed has gone back from @flushing to @dirty
 * @flush_under_way: the store thread has @flush, or @flush_over is still to run; any thread
 * @flushes: number of FLUSHes that have begun; any thread
 * @flush_ended: time at which the last FLUSH ended, ms; 0: none has; any thread
 * @flush_failed: the last FLUSH ended with an error; any thread
 * @changed: a command has changed something since the last FLUSH of all began; any thread
 * @flushed: commands that @flush answers
 * @waiting: FLUSH commands for the next one
 */
struct cmdqs {
	struct lanes lanes;
	struct store *store;
	struct store_client client;
	atomic_uint pending;
	struct bitmap dirty;
	struct bitmap flushing;
	struct store_work flush;
	struct ring_note flush_over;
	atomic_bool flush_under_way;
	atomic_uint_fast64_t flushes;
	atomic_int_fast64_t flush_ended;
	atomic_bool flush_failed;
	atomic_bool changed;
	struct write_tags flushed;
	struct write_tags waiting;
};

void cmdq_scope(struct wire_scope *scope, const struct store_limits *limits);
int cmdq_open(struct cmdqs *c, struct device *dev, struct ibv_pd *pd,
	      unsigned int nr);
bool cmdq_busy(const struct cmdqs *c);
bool cmdq_flushes(const struct cmdqs *c, int64_t since);
bool cmdq_clean(const struct cmdqs *c);
bool cmdq_gave_up(const struct cmdqs *c);
void cmdq_free(struct cmdqs *c);
void cmdq_note(struct cmdqs *c, const void *msg, const struct wire_data *data);

#endif
