// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store thread of an export. A work goes owner -> list -> thread -> @done; the lock guards
 * the lists and nothing else, and hands the work's memory over. A cancelled work takes the same
 * way: its @done is called exactly once.
 *
 * The thread does all FLUSHes that wait together: several sessions may write to a shared
 * export, and one fdatasync is enough for all of them.
 *
 * A store may hear of something to do from a thread that cannot wake this one, because the store
 * thread may be about to end. So the store is asked for work in the background once a minute.
 *
 * The clients, which are sessions, take turns: a piece of a work is a turn. So a client with many
 * long works delays the others by one piece between two of their pieces.
 *
 * A worker (worker.h) does a job in one go. The store thread does not: it puts a work back
 * after each piece, takes FLUSHes first, and works in the background when its lists are
 * empty. So it has lists of its own.
 */
#include <errno.h>
#include <pthread.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "base/fault.h"
#include "base/thread.h"
#include "base/util.h"
#include "store/store_thread.h"

int store_thread_look_ms = 60000;	/* between two looks for work in the background */

/**
 * struct store_thread - the store thread of an export
 * @store: the store
 * @thread: the thread
 * @lock: protects all fields below
 * @wake: there is something to do, or @stop is set
 * @flush: FLUSHes that have not begun
 * @clients: those with other works, in the order of their turns; the first work of each may
 *	have begun
 * @nobody: client of the works that belong to no session
 * @idle: the store may have something to do in the background
 * @stop: the thread ends when nothing is left to do
 */
struct store_thread {
	struct store *store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct store_works flush;
	struct store_clients clients;
	struct store_client nobody;
	bool idle;
	bool stop;
};

static struct store_client *client_of(struct store_thread *t, const struct store_work *w)
{
	return w->client ?: &t->nobody;
}

/* Puts a work into its list; @first: before the others of its client. The lock is held. */
static void enqueue(struct store_thread *t, struct store_work *w, bool first)
{
	struct store_client *c = client_of(t, w);

	w->queued = true;
	if (w->op == RDMABLK_OP_FLUSH) {
		TAILQ_INSERT_TAIL(&t->flush, w, entry);
		return;
	}
	if (!c->waits) {
		TAILQ_INIT(&c->works);
		TAILQ_INSERT_TAIL(&t->clients, c, entry);
		c->waits = true;
	}
	if (first)
		TAILQ_INSERT_HEAD(&c->works, w, entry);
	else
		TAILQ_INSERT_TAIL(&c->works, w, entry);
}

/* Takes a queued work out of its list. The lock is held. */
static void dequeue(struct store_thread *t, struct store_work *w)
{
	struct store_client *c = client_of(t, w);

	w->queued = false;
	if (w->op == RDMABLK_OP_FLUSH) {
		TAILQ_REMOVE(&t->flush, w, entry);
		return;
	}
	TAILQ_REMOVE(&c->works, w, entry);
	if (!TAILQ_EMPTY(&c->works))
		return;
	TAILQ_REMOVE(&t->clients, c, entry);
	c->waits = false;
}

/* Takes a work of the client whose turn it is. The client goes to the end of the list. */
static struct store_work *take_turn(struct store_thread *t)
{
	struct store_client *c = TAILQ_FIRST(&t->clients);
	struct store_work *w = TAILQ_FIRST(&c->works);

	TAILQ_REMOVE(&t->clients, c, entry);
	TAILQ_INSERT_TAIL(&t->clients, c, entry);
	dequeue(t, w);
	return w;
}

/*
 * Takes the next works off their list: all FLUSHes, or one other. The lock is held. Return: false:
 * there are none, but perhaps work in the background.
 */
static bool take(struct store_thread *t, struct store_works *works)
{
	struct store_work *w;

	if (!TAILQ_EMPTY(&t->flush)) {
		TAILQ_CONCAT(works, &t->flush, entry);
	} else if (!TAILQ_EMPTY(&t->clients)) {
		w = take_turn(t);
		TAILQ_INSERT_TAIL(works, w, entry);
	}
	TAILQ_FOREACH(w, works, entry)
		w->queued = false;
	return !TAILQ_EMPTY(works);
}

/* Does one piece of a work. Return: whether the work is done. */
static bool piece(struct store_thread *t, struct store_work *w)
{
	uint64_t bytes = min_u64(w->bytes - w->at, STORE_THREAD_PIECE);

	w->status = t->store->ops->work(t->store, w, w->offset + w->at, bytes);
	w->at += bytes;
	return w->status || w->at >= w->bytes;
}

/* Does FLUSHes, or a piece of another work. Return: whether they are done. */
static bool step(struct store_thread *t, struct store_works *works)
{
	struct store_work *first = TAILQ_FIRST(works);

	if (fault(FAULT_SLOW_STORE))
		usleep((useconds_t)fault(FAULT_SLOW_STORE) * 1000);
	if (first->op != RDMABLK_OP_FLUSH)
		return piece(t, first);
	if (!fault(FAULT_LOST_FLUSH))
		t->store->ops->flush(t->store, works);
	return true;
}

static void do_works(struct store_thread *t, struct store_works *works)
{
	bool over = step(t, works);
	struct store_work *w;

	pthread_mutex_lock(&t->lock);
	t->idle = true;
	while ((w = TAILQ_FIRST(works))) {
		TAILQ_REMOVE(works, w, entry);
		/* The next round asks whether a FLUSH is wanted before the rest of the work. */
		if (over || atomic_load(&w->cancelled))
			w->done(w);
		else
			enqueue(t, w, true);
	}
	pthread_mutex_unlock(&t->lock);
}

static void do_idle(struct store_thread *t)
{
	bool more = t->store->ops->idle && t->store->ops->idle(t->store);

	pthread_mutex_lock(&t->lock);
	t->idle = more || t->idle;
	pthread_mutex_unlock(&t->lock);
}

/* The lock is held. */
static void wait_for_wake(struct store_thread *t)
{
	int64_t ms = monotonic_ms() + store_thread_look_ms;
	const struct timespec until = { ms / 1000, ms % 1000 * 1000000 };

	if (pthread_cond_timedwait(&t->wake, &t->lock, &until) == ETIMEDOUT)
		t->idle = true;
}

/*
 * Waits for something to do. Return: false: the thread ends; true with an empty @works: do
 * work in the background.
 */
static bool next(struct store_thread *t, struct store_works *works)
{
	bool some;
	bool on;

	pthread_mutex_lock(&t->lock);
	while (!(some = take(t, works)) && !t->idle && !t->stop)
		wait_for_wake(t);
	on = some || (t->idle && !t->stop);
	if (!some)
		t->idle = false;
	pthread_mutex_unlock(&t->lock);
	return on;
}

static void *store_thread_main(void *arg)
{
	struct store_works works = TAILQ_HEAD_INITIALIZER(works);
	struct store_thread *t = arg;

	while (next(t, &works)) {
		if (TAILQ_EMPTY(&works))
			do_idle(t);
		else
			do_works(t, &works);
	}
	return NULL;
}

/**
 * store_thread_start - give a store its store thread, if its kind has one
 * @store: published. Until store_thread_stop() other threads touch the store only where its
 *	kind allows it
 *
 * Return: 0 or -errno.
 */
int store_thread_start(struct store *store)
{
	struct store_thread *t;
	pthread_condattr_t attr;
	int ret;

	if (!store->ops->work)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->store = store;
	t->idle = true;
	TAILQ_INIT(&t->flush);
	TAILQ_INIT(&t->clients);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	ret = thread_start(&t->thread, "store", store_thread_main, t);
	if (ret)
		free(t);
	else
		store->thread = t;
	return ret;
}

/**
 * store_thread_submit - give a work to the store thread
 * @t: store thread
 * @w: work with @op to @dirty and @done set; the store thread owns it until @done is called
 *
 * Any thread.
 */
void store_thread_submit(struct store_thread *t, struct store_work *w)
{
	w->at = 0;
	w->status = RDMABLK_OK;
	atomic_store(&w->cancelled, false);
	pthread_mutex_lock(&t->lock);
	enqueue(t, w, false);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

/**
 * store_thread_cancel - end a work early, because nobody waits for its outcome any more
 * @t: store thread
 * @w: submitted; its @done may have been called without its owner knowing yet
 *
 * Its @done is called at once if the store thread is not working on it, else after the present
 * piece. Its @status says nothing. Only the thread that has submitted it may cancel it.
 */
void store_thread_cancel(struct store_thread *t, struct store_work *w)
{
	pthread_mutex_lock(&t->lock);
	atomic_store(&w->cancelled, true);
	if (w->queued) {
		dequeue(t, w);
		w->done(w);
	}
	pthread_mutex_unlock(&t->lock);
}

/**
 * store_thread_wake - say that the store has something to do in the background
 * @t: store thread
 */
void store_thread_wake(struct store_thread *t)
{
	pthread_mutex_lock(&t->lock);
	t->idle = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

/* Tells the service manager again and again that the shutdown goes on, to save the data. */
static void join_thread(pthread_t thread)
{
	struct timespec until;

	do {
		sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000");
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += 10;
	} while (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
}

/**
 * store_thread_stop - let a store thread finish all works, and end it
 * @store: with or without a store thread; no session is left
 *
 * What is left to do in the background is for close() of &struct store_ops, which is bounded:
 * others that tell of losses may give the background something to do for ever.
 *
 * Blocks for as long as that takes. Any thread.
 */
void store_thread_stop(struct store *store)
{
	struct store_thread *t = store->thread;

	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	join_thread(t->thread);
	free(t);
	store->thread = NULL;
}
