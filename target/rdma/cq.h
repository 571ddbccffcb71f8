/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion queues that the loop polls.
 */
#ifndef RDMABLKD_CQ_H
#define RDMABLKD_CQ_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "base/loop.h"

/**
 * struct cq - a completion queue; zeroed except for the upcalls: not opened
 * @ibv: the queue of verbs, whose context is this struct; NULL: there is none
 * @task: polls the queue
 * @armed: the next completion makes an event, or has made one that nobody has read
 * @stopped: the loop does not poll the queue any more
 * @completed: upcall for each completion; may call cq_stop()
 * @failed: upcall: the queue cannot be polled or armed; may call cq_stop()
 */
struct cq {
	struct ibv_cq *ibv;
	struct loop_task task;
	bool armed;
	bool stopped;
	void (*completed)(struct cq *cq, const struct ibv_wc *wc);
	void (*failed)(struct cq *cq);
};

int cq_open(struct cq *cq, struct ibv_comp_channel *channel, int cqes);
void cq_event(struct cq *cq);
void cq_catch_up(struct cq *cq, unsigned int most);
bool cq_waits(const struct cq *cq);
void cq_stop(struct cq *cq);
int cq_close(struct cq *cq);

#endif
