// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Worker threads. A job goes loop -> list of its kind -> thread -> inbox of the loop.
 *
 * The list of a worker has one job of each client that waits. Later jobs of the client hang
 * behind that job. When a thread takes the job, the client's next job goes to the end of the
 * list. So other clients delay it by one job each, even if new ones keep coming.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/thread.h"
#include "base/util.h"
#include "base/worker.h"

#define WORKER_NOTE_S	1	/* time for jobs of the state directory at the end, seconds */

#define WORKER_LATE_MS	30000	/* a kind that ends no job for so long is reported */

static void late(struct loop_timer *timer);

/*
 * Each kind has @threads threads. @waits: what its jobs wait for; NULL: a job may take hours
 */
static const struct {
	const char *name;
	unsigned int threads;
	const char *waits;
} kinds[JOB_KINDS] = {
	[JOB_OPEN]	= { "open", 2, "an adapter" },
	[JOB_FENCE]	= { "fence", 2, "an adapter" },
	[JOB_REGISTER]	= { "register", 2, "an adapter" },
	[JOB_NOTE]	= { "note", 1, "the state directory" },
	[JOB_NOTE_STATE] = { "note-state", 2, "the state directory of an export" },
	[JOB_GROW]	= { "grow", 1, "a file" },
	[JOB_ADMIN]	= { "admin", 1, NULL },
};

static struct {
	struct worker of[JOB_KINDS];
	unsigned int busy[JOB_KINDS];	/* jobs that are not done; the loop's */
	int64_t since[JOB_KINDS];	/* no job has been done, but some are busy, ms */
	struct loop_timer late;
	bool started;
	struct loop_inbox done;
} workers = {
	.late = { .expired = late },
};

static bool is_note(unsigned int kind)
{
	return kind == JOB_NOTE || kind == JOB_NOTE_STATE;
}

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

/* Waits for a job, and takes it off the list. Return: the job; NULL: the thread shall end. */
static struct job *worker_next(struct worker *w)
{
	struct job *job;

	pthread_mutex_lock(&w->lock);
	while (!(job = dequeue(&w->todo)) && !w->stop)
		pthread_cond_wait(&w->wake, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return job;
}

/* @arg: struct worker */
static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct job *job;

	while ((job = worker_next(w))) {
		bool tell = job->done;	/* read first: without @done, @run may free the job */

		job->run(job);
		if (tell)
			loop_inbox_post(&workers.done, &job->note);
	}
	return NULL;
}

/* Return: 0; or -errno: there are fewer threads than wanted. */
static int start_threads(struct worker *w)
{
	int ret = 0;

	while (!ret && w->nr < w->threads) {
		ret = thread_start(&w->thread[w->nr], w->name, worker_main, w);
		w->nr += !ret;
	}
	return ret;
}

/**
 * worker_init - make a worker without threads
 * @w: filled
 * @name: name of the threads, 15 bytes at most, constant
 * @threads: how many worker_add() shall start, 1 to WORKER_THREADS
 */
void worker_init(struct worker *w, const char *name, unsigned int threads)
{
	*w = (struct worker){ .name = name, .threads = threads };
	TAILQ_INIT(&w->todo);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
}

/**
 * worker_add - hand a job to a worker; the first job starts the threads
 * @w: not ended
 * @job: zeroed, except for @run, which may free it. It belongs to the worker until @run is
 *	called
 *
 * Any thread.
 *
 * Return: 0 or -errno: no job was handed over.
 */
int worker_add(struct worker *w, struct job *job)
{
	int ret;

	pthread_mutex_lock(&w->lock);
	ret = start_threads(w);
	if (!ret) {
		enqueue(&w->todo, job);
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return ret;
}

static bool join(pthread_t thread, unsigned int seconds)
{
	struct timespec until;

	if (!seconds)
		return !pthread_join(thread, NULL);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	return !pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until);
}

/**
 * worker_end - finish the jobs that a worker has, then end its threads
 * @w: gets no more jobs
 * @seconds: longest wait for each thread; 0: as long as it takes
 *
 * Any thread.
 *
 * Return: whether all threads have ended. If not, nothing may be freed that @w or a job
 * uses; the call may be repeated.
 */
bool worker_end(struct worker *w, unsigned int seconds)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	while (w->nr && join(w->thread[w->nr - 1], seconds))
		w->nr--;
	return !w->nr;
}

/* Runs every 30 s while there are jobs. */
static void late(struct loop_timer *timer)
{
	for (int kind = 0; kind < JOB_KINDS; kind++) {
		int64_t ms = loop_now() - workers.since[kind];

		if (workers.busy[kind] && kinds[kind].waits && ms >= WORKER_LATE_MS)
			log_warn("worker %s has ended no job for %lld s; does %s hang?",
				 kinds[kind].name, (long long)ms / 1000, kinds[kind].waits);
	}
	loop_timer_start(timer, WORKER_LATE_MS);
}

static void job_done(struct loop_note *note)
{
	struct job *job = container_of(note, struct job, note);

	workers.busy[job->kind]--;
	workers.since[job->kind] = loop_now();
	if (worker_idle())
		loop_timer_stop(&workers.late);
	job->done(job);
}

/**
 * worker_start - start the threads of all kinds, and take notes about finished jobs in the
 * loop
 *
 * Return: 0 or -errno.
 */
int worker_start(void)
{
	int ret = loop_inbox_open(&workers.done);

	if (ret)
		return ret;
	workers.started = true;
	for (int kind = 0; kind < JOB_KINDS; kind++)
		worker_init(&workers.of[kind], kinds[kind].name, kinds[kind].threads);
	for (int kind = 0; !ret && kind < JOB_KINDS; kind++)
		ret = start_threads(&workers.of[kind]);
	return ret;
}

/**
 * worker_submit - hand a job to the workers of its kind
 * @job: belongs to the workers until its @done is called
 *
 * In the loop.
 */
void worker_submit(struct job *job)
{
	if (!workers.late.armed)
		loop_timer_start(&workers.late, WORKER_LATE_MS);
	if (!workers.busy[job->kind]++)
		workers.since[job->kind] = loop_now();
	job->note.run = job_done;
	worker_add(&workers.of[job->kind], job);	/* cannot fail: the threads exist */
}

/**
 * worker_idle - whether all submitted jobs are done
 *
 * Return: true: they are. In the loop.
 */
bool worker_idle(void)
{
	for (int kind = 0; kind < JOB_KINDS; kind++)
		if (workers.busy[kind])
			return false;
	return true;
}

/**
 * worker_stop - finish the submitted jobs, then end the threads of all kinds
 *
 * Jobs of the state directory have WORKER_NOTE_S only: it may never answer, and has no data of
 * disks. No @done is called any more, because no owner waits for the jobs that are still under
 * way.
 *
 * Return: whether all threads have ended. If not, the state directory hangs, and nothing
 * may be freed that its jobs use.
 */
bool worker_stop(void)
{
	bool ended = true;

	if (!workers.started)
		return true;
	loop_timer_stop(&workers.late);
	for (int kind = JOB_KINDS; kind--;)
		ended = worker_end(&workers.of[kind], is_note(kind) ? WORKER_NOTE_S : 0) &&
			ended;
	if (ended) {
		loop_inbox_ignore(&workers.done);
		loop_inbox_close(&workers.done);
		workers.started = false;
	}
	return ended;
}
