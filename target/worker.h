/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worker threads for what may block: registering and deregistering memory,
 * destroying queue pairs and CM ids. The first thread takes no slow job, so that a
 * fence, on which somebody's writes wait, never queues behind registrations.
 */
#ifndef RDMABLKD_WORKER_H
#define RDMABLKD_WORKER_H

#include <stdbool.h>
#include <sys/queue.h>

/**
 * struct job - one piece of blocking work
 * @entry: the workers'
 * @run: in a worker thread; touches only what its owner has handed over
 * @done: in the loop, after @run; may free the job
 * @slow: it may take seconds and nobody is endangered by its waiting
 */
struct job {
	TAILQ_ENTRY(job) entry;
	void (*run)(struct job *job);
	void (*done)(struct job *job);
	bool slow;
};

int worker_start(unsigned int threads);
void worker_submit(struct job *job);
bool worker_idle(void);
void worker_stop(void);

#endif
