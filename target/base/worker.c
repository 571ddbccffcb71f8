// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Worker threads. A job goes loop -> list of its kind -> thread -> inbox of the loop. The
 * lock guards the lists and nothing else, and hands the job's memory over.
 *
 * The list of a kind has one job of each client that waits; the client's later jobs are
 * behind that one. When a thread takes it, the next of the client goes to the end of the
 * list: new clients cannot keep it waiting for longer than one job each.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/loop.h"
#include "base/thread.h"
#include "base/util.h"
#include "base/worker.h"

/* Of each kind so many jobs run at once. */
static const unsigned int threads_of[JOB_KINDS] = {
	[JOB_OPEN]	= 2,
	[JOB_FENCE]	= 2,
	[JOB_REGISTER]	= 2,
	[JOB_NOTE]	= 1,
	[JOB_GROW]	= 1,
	[JOB_ADMIN]	= 1,
};

static const char * const name_of[JOB_KINDS] = {
	[JOB_OPEN]	= "open",
	[JOB_FENCE]	= "fence",
	[JOB_REGISTER]	= "register",
	[JOB_NOTE]	= "note",
	[JOB_GROW]	= "grow",
	[JOB_ADMIN]	= "admin",
};

#define WORKER_MAX	9	/* in all */
#define WORKER_NOTE_MS	1000	/* for the state directory to answer at the end */

/**
 * struct worker - a thread
 * @thread: itself
 * @kind: of its jobs
 */
struct worker {
	pthread_t thread;
	enum job_kind kind;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake[JOB_KINDS];
	struct job_list todo[JOB_KINDS];
	bool stop;
	struct worker worker[WORKER_MAX];
	unsigned int nr_workers;
	unsigned int busy;		/* jobs that are not done; the loop's */
	bool started;
	struct loop_inbox done;
} workers = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = { [0 ... JOB_KINDS - 1] = PTHREAD_COND_INITIALIZER },
};

static void enqueue(struct job_list *todo, struct job *job)
{
	struct job *first;

	TAILQ_INIT(&job->behind);
	TAILQ_FOREACH(first, todo, entry) {
		if (!memcmp(&first->client, &job->client, sizeof(job->client))) {
			TAILQ_INSERT_TAIL(&first->behind, job, entry);
			return;
		}
	}
	TAILQ_INSERT_TAIL(todo, job, entry);
}

static struct job *dequeue(struct job_list *todo)
{
	struct job *job = TAILQ_FIRST(todo), *next;

	if (!job)
		return NULL;
	TAILQ_REMOVE(todo, job, entry);
	next = TAILQ_FIRST(&job->behind);
	if (!next)
		return job;
	TAILQ_REMOVE(&job->behind, next, entry);
	TAILQ_CONCAT(&next->behind, &job->behind, entry);
	TAILQ_INSERT_TAIL(todo, next, entry);
	return job;
}

/* Return: the next job of a kind, off its list, or NULL when there are to be no more. */
static struct job *worker_next(enum job_kind kind)
{
	struct job *job;

	pthread_mutex_lock(&workers.lock);
	while (!(job = dequeue(&workers.todo[kind])) && !workers.stop)
		pthread_cond_wait(&workers.wake[kind], &workers.lock);
	pthread_mutex_unlock(&workers.lock);
	return job;
}

/* @arg: struct worker */
static void *worker_main(void *arg)
{
	const struct worker *self = arg;
	struct job *job;

	while ((job = worker_next(self->kind))) {
		job->run(job);
		loop_inbox_post(&workers.done, &job->note);
	}
	return NULL;
}

static void job_done(struct loop_note *note)
{
	struct job *job = container_of(note, struct job, note);

	workers.busy--;
	job->done(job);
}

/* Return: 0 or -errno. */
static int start_kind(enum job_kind kind)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < threads_of[kind]; i++) {
		struct worker *worker = &workers.worker[workers.nr_workers];

		worker->kind = kind;
		ret = thread_start(&worker->thread, name_of[kind], worker_main, worker);
		if (!ret)
			workers.nr_workers++;
	}
	return ret;
}

/**
 * worker_start - start the threads and hear of finished jobs in the loop
 *
 * Return: 0 or -errno.
 */
int worker_start(void)
{
	int ret;

	for (int kind = 0; kind < JOB_KINDS; kind++)
		TAILQ_INIT(&workers.todo[kind]);
	ret = loop_inbox_open(&workers.done);
	if (ret)
		return ret;
	workers.started = true;
	for (int kind = 0; !ret && kind < JOB_KINDS; kind++)
		ret = start_kind((enum job_kind)kind);
	return ret;
}

/**
 * worker_submit - hand a job to the workers
 * @job: theirs until its @done is called
 *
 * In the loop.
 */
void worker_submit(struct job *job)
{
	workers.busy++;
	job->note.run = job_done;
	pthread_mutex_lock(&workers.lock);
	enqueue(&workers.todo[job->kind], job);
	pthread_cond_signal(&workers.wake[job->kind]);
	pthread_mutex_unlock(&workers.lock);
}

/**
 * worker_idle - have all jobs been done
 *
 * Return: whether they have. In the loop.
 */
bool worker_idle(void)
{
	return !workers.busy;
}

/* The state directory may never answer, and what is noted there is no data of a disk. */
static bool worker_join(const struct worker *worker)
{
	struct timespec until;

	if (worker->kind != JOB_NOTE)
		return !pthread_join(worker->thread, NULL);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WORKER_NOTE_MS / 1000;
	return !pthread_clockjoin_np(worker->thread, NULL, CLOCK_MONOTONIC, &until);
}

/**
 * worker_stop - finish what was submitted, then end the threads
 *
 * The state directory has WORKER_NOTE_MS for its jobs. No @done is called any more: the
 * owner of a job that is still under way is past caring.
 *
 * Return: whether all threads have ended. If not, the state directory hangs, and nothing
 * may be freed that its jobs use.
 */
bool worker_stop(void)
{
	bool ended = true;

	pthread_mutex_lock(&workers.lock);
	workers.stop = true;
	for (int kind = 0; kind < JOB_KINDS; kind++)
		pthread_cond_broadcast(&workers.wake[kind]);
	pthread_mutex_unlock(&workers.lock);
	while (workers.nr_workers)
		ended = worker_join(&workers.worker[--workers.nr_workers]) && ended;
	if (workers.started && ended) {
		loop_inbox_ignore(&workers.done);
		loop_inbox_close(&workers.done);
		workers.started = false;
	}
	return ended;
}
