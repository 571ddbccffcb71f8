// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The keeper of an export. A work goes loop -> flush or rest -> thread -> done -> loop;
 * the lock guards the lists and nothing else, and hands the work's memory over, as in
 * worker.c. One that is cancelled takes the same way: its @done is called exactly once.
 *
 * All FLUSHes that wait are done together: several sessions may write to a shared export,
 * and one fdatasync is enough for all of them.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "store/store_thread.h"

/**
 * struct keeper - the keeper of an export
 * @store: what it keeps
 * @thread: its own
 * @lock: of all that follows
 * @wake: something to do, or @stop
 * @flush: FLUSHes not begun
 * @rest: the others, the first perhaps begun
 * @done: for the loop
 * @idle: the store may have something to do in the background
 * @stop: end when nothing is left to do
 * @source: says that @done is not empty
 */
struct keeper {
	struct store *store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct store_works flush;
	struct store_works rest;
	struct store_works done;
	bool idle;
	bool stop;
	struct loop_source source;
};

/* The lock is held. */
static void finish(struct keeper *k, struct store_work *w)
{
	TAILQ_INSERT_TAIL(&k->done, w, entry);
	eventfd_write(k->source.fd, 1);
}

static struct store_works *list_of(struct keeper *k, const struct store_work *w)
{
	return w->op == RDMABLK_OP_FLUSH ? &k->flush : &k->rest;
}

/*
 * The next things to do, off their list: all FLUSHes, or one of the rest. The lock is
 * held. Return: whether there is something; else work in the background, perhaps.
 */
static bool take(struct keeper *k, struct store_works *works)
{
	struct store_work *w;

	if (!TAILQ_EMPTY(&k->flush)) {
		TAILQ_CONCAT(works, &k->flush, entry);
	} else if (!TAILQ_EMPTY(&k->rest)) {
		w = TAILQ_FIRST(&k->rest);
		TAILQ_REMOVE(&k->rest, w, entry);
		TAILQ_INSERT_TAIL(works, w, entry);
	}
	TAILQ_FOREACH(w, works, entry)
		w->queued = false;
	return !TAILQ_EMPTY(works);
}

/* One piece. Return: whether it is all done. */
static bool piece(struct keeper *k, struct store_work *w)
{
	uint64_t bytes = min_u64(w->bytes - w->at, KEEPER_PIECE);

	w->status = k->store->ops->work(k->store, w, w->offset + w->at, bytes);
	w->at += bytes;
	return w->status || w->at >= w->bytes;
}

/* Return: whether they are all done. */
static bool step(struct keeper *k, struct store_works *works)
{
	struct store_work *first = TAILQ_FIRST(works);

	if (fault(FAULT_SLOW_KEEPER))
		usleep((useconds_t)fault(FAULT_SLOW_KEEPER) * 1000);
	if (first->op != RDMABLK_OP_FLUSH)
		return piece(k, first);
	if (!fault(FAULT_LOST_FLUSH))
		k->store->ops->flush(k->store, works);
	return true;
}

static void do_works(struct keeper *k, struct store_works *works)
{
	bool over = step(k, works);
	struct store_work *w;

	pthread_mutex_lock(&k->lock);
	k->idle = true;
	while ((w = TAILQ_FIRST(works))) {
		TAILQ_REMOVE(works, w, entry);
		if (over || atomic_load(&w->cancelled)) {
			finish(k, w);
		} else {	/* the next round asks whether a FLUSH is wanted first */
			TAILQ_INSERT_HEAD(&k->rest, w, entry);
			w->queued = true;
		}
	}
	pthread_mutex_unlock(&k->lock);
}

static void do_idle(struct keeper *k)
{
	bool more = k->store->ops->idle && k->store->ops->idle(k->store);

	pthread_mutex_lock(&k->lock);
	k->idle = more || k->idle;
	pthread_mutex_unlock(&k->lock);
}

/* Return: whether to go on; with nothing in @works, with work in the background. */
static bool next(struct keeper *k, struct store_works *works)
{
	bool some;
	bool on;

	pthread_mutex_lock(&k->lock);
	while (!(some = take(k, works)) && !k->idle && !k->stop)
		pthread_cond_wait(&k->wake, &k->lock);
	on = some || k->idle;
	if (!some)
		k->idle = false;
	pthread_mutex_unlock(&k->lock);
	return on;
}

static void *keeper_main(void *arg)
{
	struct store_works works = TAILQ_HEAD_INITIALIZER(works);
	struct keeper *k = arg;

	while (next(k, &works)) {
		if (TAILQ_EMPTY(&works))
			do_idle(k);
		else
			do_works(k, &works);
	}
	return NULL;
}

static void keeper_ready(struct loop_source *src)
{
	struct keeper *k = container_of(src, struct keeper, source);
	struct store_work *w;
	eventfd_t n;

	eventfd_read(src->fd, &n);
	for (;;) {
		pthread_mutex_lock(&k->lock);
		w = TAILQ_FIRST(&k->done);
		if (w)
			TAILQ_REMOVE(&k->done, w, entry);
		pthread_mutex_unlock(&k->lock);
		if (!w)
			return;
		w->done(w);
	}
}

static int start_thread(struct keeper *k)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);	/* of the arena: see arena_guard.c */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	ret = pthread_create(&k->thread, NULL, keeper_main, k);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -ret;
}

/**
 * keeper_start - give a store its keeper, when its kind has one
 * @store: published; not otherwise touched by a thread until keeper_stop(), but for
 *	what its own kind takes care of
 *
 * Signals stay the loop's.
 *
 * Return: 0 or -errno.
 */
int keeper_start(struct store *store)
{
	struct keeper *k;
	int ret;

	if (!store->ops->work)
		return 0;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->store = store;
	k->idle = true;
	k->source.ready = keeper_ready;
	TAILQ_INIT(&k->flush);
	TAILQ_INIT(&k->rest);
	TAILQ_INIT(&k->done);
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->wake, NULL);
	k->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->source.fd < 0) {
		ret = -errno;
		goto free;
	}
	ret = loop_add(&k->source) ?: start_thread(k);
	if (ret)
		goto close;
	store->keeper = k;
	return 0;
close:
	loop_del(&k->source);
	close(k->source.fd);
free:
	free(k);
	return ret;
}

/**
 * keeper_submit - have something done
 * @k: keeper
 * @w: with @op to @dirty and @done; the keeper's until @done is called
 */
void keeper_submit(struct keeper *k, struct store_work *w)
{
	w->at = 0;
	w->status = RDMABLK_OK;
	atomic_store(&w->cancelled, false);
	pthread_mutex_lock(&k->lock);
	TAILQ_INSERT_TAIL(list_of(k, w), w, entry);
	w->queued = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
}

/**
 * keeper_cancel - nobody waits for the outcome of a work any more
 * @k: keeper
 * @w: submitted, its @done not yet called
 *
 * Its @done is called in any case: soon when nothing of it is being done, else after
 * the piece that is. Its @status says nothing.
 */
void keeper_cancel(struct keeper *k, struct store_work *w)
{
	pthread_mutex_lock(&k->lock);
	atomic_store(&w->cancelled, true);
	if (w->queued) {
		TAILQ_REMOVE(list_of(k, w), w, entry);
		w->queued = false;
		finish(k, w);
	}
	pthread_mutex_unlock(&k->lock);
}

/**
 * keeper_wake - the store has something to do in the background
 * @k: keeper
 */
void keeper_wake(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	k->idle = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
}

/* The service manager is told that the shutdown goes on: this is data. */
static void join_thread(pthread_t thread)
{
	struct timespec until;

	do {
		sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000");
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 10;
	} while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
}

/**
 * keeper_quiet - hear of nothing that a keeper has done any more
 * @store: perhaps without one; no session is left
 */
void keeper_quiet(struct store *store)
{
	if (store->keeper)
		loop_del(&store->keeper->source);
}

/**
 * keeper_stop - let a keeper finish, background included, and end it
 * @store: perhaps without one; quiet
 *
 * Blocks for as long as that takes. Any thread.
 */
void keeper_stop(struct store *store)
{
	struct keeper *k = store->keeper;

	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
	join_thread(k->thread);
	close(k->source.fd);
	free(k);
	store->keeper = NULL;
}
