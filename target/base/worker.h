/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worker threads for work that may block: registering and deregistering memory, making and
 * destroying queue pairs and CM ids, reading files. Each kind of job has threads of its own,
 * so a job that hangs delays only jobs of its kind: if the state directory does not answer,
 * fences go on, and so do logins to exports in memory.
 *
 * Within a kind the clients take turns, job by job: a client that submits many jobs delays
 * the next job of any other client by one of them.
 *
 * A kind that has ended no job for 30 s, although it has some, is reported again and again.
 *
 * A job that must wait for no job of another owner goes to a struct worker of its own.
 */
#ifndef RDMABLKD_WORKER_H
#define RDMABLKD_WORKER_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/loop.h"

/**
 * enum job_kind - what a job may wait for
 * @JOB_OPEN: the adapter, which makes a queue
 * @JOB_FENCE: the adapter, which destroys queues or memory keys; other sessions wait for that
 * @JOB_REGISTER: the adapter and the memory manager: memory is registered, for seconds
 * @JOB_NOTE: the daemon's state directory
 * @JOB_NOTE_STATE: the state directory of an export
 * @JOB_GROW: files of exports, which are looked at and read
 * @JOB_ADMIN: the configuration, and files that are opened and filled, for hours
 */
enum job_kind {
	JOB_OPEN,
	JOB_FENCE,
	JOB_REGISTER,
	JOB_NOTE,
	JOB_NOTE_STATE,
	JOB_GROW,
	JOB_ADMIN,
	JOB_KINDS,
};

TAILQ_HEAD(job_list, job);

/**
 * struct job - one piece of blocking work
 * @entry: in a list of the workers
 * @behind: later jobs of the same client; owned by the workers
 * @note: tells the loop that the job is done; owned by the workers
 * @client: for whom the job is done: the address of a peer, or for worker_add() any bytes that
 *	differ between clients; zeroes: the daemon itself
 * @run: called in a worker thread; touches only memory that the owner has handed over
 * @done: called in the loop, after @run; may free the job. NULL, for worker_add() only: no
 *	call
 * @kind: which threads run it; not for worker_add()
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

#define WORKER_THREADS	2	/* most threads of a worker */

/**
 * struct worker - threads that run the jobs of one list
 * @name: name of the threads, 15 bytes at most
 * @threads: number of threads wanted
 * @nr: number of threads that run
 * @thread: threads
 * @lock: protects @todo and @stop, and hands over the memory of jobs
 * @wake: a job has come, or @stop is set
 * @todo: jobs that no thread has taken
 * @stop: no more jobs will come
 */
struct worker {
	const char *name;
	unsigned int threads;
	unsigned int nr;
	pthread_t thread[WORKER_THREADS];
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job_list todo;
	bool stop;
};

void worker_init(struct worker *w, const char *name, unsigned int threads);
int worker_add(struct worker *w, struct job *job);
bool worker_end(struct worker *w, unsigned int seconds);
int worker_start(void);
void worker_submit(struct job *job);
bool worker_idle(void);
bool worker_stop(void);

#endif
