/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worker threads for what may block: registering and deregistering memory, making and
 * destroying queue pairs and CM ids, looking at files. Each kind of job has threads of its
 * own, so that what hangs keeps only its like waiting: a login of an export in memory goes
 * on when the state directory does not answer, and so does a fence.
 *
 * Within a kind the clients take turns, job by job: a client that submits many jobs delays
 * the next job of any other client by one of them.
 */
#ifndef RDMABLKD_WORKER_H
#define RDMABLKD_WORKER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/loop.h"

/**
 * enum job_kind - what a job may wait for
 * @JOB_OPEN: the adapter, which makes a queue
 * @JOB_FENCE: the adapter, which destroys something; others' writes wait for that
 * @JOB_REGISTER: the adapter and the memory manager: memory is registered, for seconds
 * @JOB_NOTE: the state directory
 * @JOB_GROW: files of exports, which are looked at and read
 * @JOB_ADMIN: the configuration, and files that are opened and filled, for hours
 */
enum job_kind {
	JOB_OPEN,
	JOB_FENCE,
	JOB_REGISTER,
	JOB_NOTE,
	JOB_GROW,
	JOB_ADMIN,
	JOB_KINDS,
};

TAILQ_HEAD(job_list, job);

/**
 * struct job - one piece of blocking work
 * @entry: the workers'
 * @behind: the workers': later jobs of the same client
 * @note: the workers'
 * @client: address of the peer for which it is done; zeroes: the daemon itself
 * @run: in a worker thread; touches only what its owner has handed over
 * @done: in the loop, after @run; may free the job
 * @kind: whose threads run it
 */
struct job {
	TAILQ_ENTRY(job) entry;
	struct job_list behind;
	struct loop_note note;
	struct in6_addr client;
	void (*run)(struct job *job);
	void (*done)(struct job *job);
	enum job_kind kind;
};

int worker_start(void);
void worker_submit(struct job *job);
bool worker_idle(void);
bool worker_stop(void);

#endif
