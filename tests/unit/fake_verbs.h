/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verbs without an adapter. The calls that the target makes for its queues end here, and the
 * test is the other side of each queue pair.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_DEPTH	1024
#define FAKE_CQES	(8 * FAKE_DEPTH)	/* at most, in a completion queue */

/**
 * struct fake_answer - a send of the target, or one of the answers in it
 * @imm: immediate data, in host order
 * @len: bytes of @data
 * @data: payload; the test frees it
 */
struct fake_answer {
	uint32_t imm;
	uint32_t len;
	char *data;
};

/**
 * struct fake_qp - a queue pair
 * @qp: the queue pair that the target sees
 * @cq: completion queue of both directions
 * @receives: posted receives, the oldest first
 * @nr_receives: number of @receives
 * @answers: sends of the target that the test has not looked at
 * @nr_answers: number of @answers
 * @lists: sends with more than one answer
 * @listed: number of answers in these sends
 * @unsaid: ids of sends whose completions are held back
 * @nr_unsaid: number of @unsaid
 * @hold: hold back the completions of sends
 * @posted: number of sends whose completions the target has not seen
 * @quiet: number of sends since the last one with a completion
 * @most: highest value of @posted so far
 * @dead: nothing may be posted any more
 * @late: something was posted although @dead
 * @sent: upcall after sends of the target, or NULL; it may send, too
 */
struct fake_qp {
	struct ibv_qp qp;
	struct ibv_cq *cq;
	struct ibv_recv_wr receives[FAKE_DEPTH];
	struct ibv_sge sges[FAKE_DEPTH];
	unsigned int nr_receives;
	struct fake_answer answers[FAKE_DEPTH];
	unsigned int nr_answers;
	unsigned int lists;
	unsigned int listed;
	uint64_t unsaid[FAKE_DEPTH];
	unsigned int nr_unsaid;
	bool hold;
	unsigned int posted;
	unsigned int quiet;
	unsigned int most;
	bool dead;
	bool late;
	void (*sent)(struct fake_qp *q);
};

/* Called by ibv_create_comp_channel(), unless NULL */
extern void (*fake_channel_made)(void);

struct ibv_context *fake_context(void);
struct ibv_pd *fake_pd(void);
void fake_qp_init(struct fake_qp *q, struct ibv_cq *cq);
bool fake_send(struct fake_qp *q, const void *msg, uint32_t len);
bool fake_write(struct fake_qp *q, uint32_t imm, uint32_t len);
void fake_complete(struct fake_qp *q, const struct ibv_wc *wc);
void fake_release(struct fake_qp *q);
bool fake_answer(struct fake_qp *q, uint16_t tag, struct fake_answer *out);
void *fake_remote(uint64_t addr, uint32_t rkey);
void fake_break(struct ibv_comp_channel *channel);
unsigned int fake_objects(void);

#endif
