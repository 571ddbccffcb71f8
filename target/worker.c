// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Worker threads. A job goes loop -> todo or slow -> thread -> done -> loop; the
 * lock guards the lists and nothing else, and hands the job's memory over.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include "loop.h"
#include "util.h"
#include "worker.h"

#define WORKER_MAX	8

TAILQ_HEAD(job_list, job);

static void worker_ready(struct loop_source *src);

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job_list todo;
	struct job_list slow;
	struct job_list done;
	bool stop;
	pthread_t thread[WORKER_MAX];
	unsigned int nr_threads;
	unsigned int busy;		/* jobs that are not done; the loop's */
	struct loop_source source;
} workers = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.source = { .fd = -1, .ready = worker_ready },
};

/* Takes the next job off its list; the lock is held. */
static struct job *worker_take(bool slow_too)
{
	struct job *job = TAILQ_FIRST(&workers.todo);

	if (job) {
		TAILQ_REMOVE(&workers.todo, job, entry);
	} else if (slow_too) {
		job = TAILQ_FIRST(&workers.slow);
		if (job)
			TAILQ_REMOVE(&workers.slow, job, entry);
	}
	return job;
}

static struct job *worker_next(bool slow_too)
{
	struct job *job;

	pthread_mutex_lock(&workers.lock);
	while (!(job = worker_take(slow_too)) && !workers.stop)
		pthread_cond_wait(&workers.wake, &workers.lock);
	pthread_mutex_unlock(&workers.lock);
	return job;
}

/* @arg: NULL for the thread that takes no slow job */
static void *worker_main(void *arg)
{
	struct job *job;

	while ((job = worker_next(arg))) {
		job->run(job);
		pthread_mutex_lock(&workers.lock);
		TAILQ_INSERT_TAIL(&workers.done, job, entry);
		pthread_mutex_unlock(&workers.lock);
		eventfd_write(workers.source.fd, 1);
	}
	return NULL;
}

static void worker_ready(struct loop_source *src)
{
	struct job *job;
	eventfd_t n;

	eventfd_read(src->fd, &n);
	for (;;) {
		pthread_mutex_lock(&workers.lock);
		job = TAILQ_FIRST(&workers.done);
		if (job)
			TAILQ_REMOVE(&workers.done, job, entry);
		pthread_mutex_unlock(&workers.lock);
		if (!job)
			return;
		workers.busy--;
		job->done(job);
	}
}

/**
 * worker_start - start the threads and hear of finished jobs in the loop
 * @threads: how many jobs may run at once, at least 2; all but one of them slow
 *
 * Signals stay the loop's: the threads block all of them but SIGBUS.
 *
 * Return: 0 or -errno.
 */
int worker_start(unsigned int threads)
{
	sigset_t all, old;
	int ret;

	TAILQ_INIT(&workers.todo);
	TAILQ_INIT(&workers.slow);
	TAILQ_INIT(&workers.done);
	workers.source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (workers.source.fd < 0)
		return -errno;
	ret = loop_add(&workers.source);
	sigfillset(&all);
	sigdelset(&all, SIGBUS);	/* of arenas: see arena_guard.c */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	while (!ret && workers.nr_threads < threads &&
	       workers.nr_threads < WORKER_MAX) {
		ret = -pthread_create(&workers.thread[workers.nr_threads], NULL,
				      worker_main,
				      workers.nr_threads ? &workers : NULL);
		if (!ret)
			workers.nr_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
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
	pthread_mutex_lock(&workers.lock);
	if (job->slow)
		TAILQ_INSERT_TAIL(&workers.slow, job, entry);
	else
		TAILQ_INSERT_TAIL(&workers.todo, job, entry);
	/* All of them: the one that woke might not take slow jobs. */
	pthread_cond_broadcast(&workers.wake);
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

/**
 * worker_stop - finish what was submitted, then end the threads
 *
 * No @done is called any more: the owner of a job that is still under way is
 * past caring.
 */
void worker_stop(void)
{
	pthread_mutex_lock(&workers.lock);
	workers.stop = true;
	pthread_cond_broadcast(&workers.wake);
	pthread_mutex_unlock(&workers.lock);
	while (workers.nr_threads)
		pthread_join(workers.thread[--workers.nr_threads], NULL);
	if (workers.source.fd >= 0) {
		loop_del(&workers.source);
		close(workers.source.fd);
		workers.source.fd = -1;
	}
}
