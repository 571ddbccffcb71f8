/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Store threads, all in this thread, for target_world.h. Submitted operations are done when
 * the harness lets jobs run. And a store for them: memory with all that commands can ask
 * for. It has a cache, which loses nothing and fails when the harness wants it to.
 */
#ifndef STORE_WORLD_H
#define STORE_WORLD_H

#include "../../target/base/bitmap.h"
#include "../../target/base/util.h"
#include "../../target/store/store.h"
#include "../../target/store/store_thread.h"

#define STORE_THREADS	4
#define STORE_GRANULE	4096
#define STORE_BYTES	(1U << 20)

/* flush, rest: operations to do; over: operations that were cancelled before they began */
struct store_thread {
	struct store *store;
	struct store_works flush, rest, over;
};

static struct store_thread store_threads[STORE_THREADS];
static unsigned int nr_store_threads;
static unsigned int store_fails;	/* so many operations */

int store_thread_start(struct store *store)
{
	struct store_thread *t = &store_threads[nr_store_threads];

	if (!store->ops->work)
		return 0;
	if (++nr_store_threads > STORE_THREADS)
		abort();
	t->store = store;
	TAILQ_INIT(&t->flush);
	TAILQ_INIT(&t->rest);
	TAILQ_INIT(&t->over);
	store->thread = t;
	return 0;
}

static struct store_works *store_list(struct store_thread *t, const struct store_work *w)
{
	return w->op == RDMABLK_OP_FLUSH ? &t->flush : &t->rest;
}

void store_thread_submit(struct store_thread *t, struct store_work *w)
{
	w->status = RDMABLK_OK;
	w->queued = true;
	atomic_store(&w->cancelled, false);
	TAILQ_INSERT_TAIL(store_list(t, w), w, entry);
}

void store_thread_cancel(struct store_thread *t, struct store_work *w)
{
	atomic_store(&w->cancelled, true);
	if (!w->queued)
		return;
	TAILQ_REMOVE(store_list(t, w), w, entry);
	TAILQ_INSERT_TAIL(&t->over, w, entry);
	w->queued = false;
}

void store_thread_wake(struct store_thread *t)
{
	(void)t;
}

/* The fake threads end with the process. */
void store_thread_stop(struct store *store)
{
	(void)store;
}

static bool store_over(struct store_works *works)
{
	struct store_work *w = TAILQ_FIRST(works);

	if (!w)
		return false;
	TAILQ_REMOVE(works, w, entry);
	w->done(w);
	return true;
}

/* Does one operation of a store thread; false if there is none. */
static bool store_step(void)
{
	struct store_works works = TAILQ_HEAD_INITIALIZER(works);
	struct store_thread *t;
	struct store_work *w;

	for (t = store_threads; t < store_threads + nr_store_threads; t++) {
		if (store_over(&t->over))
			return true;
		w = TAILQ_FIRST(&t->rest);
		if (!TAILQ_EMPTY(&t->flush)) {
			TAILQ_CONCAT(&works, &t->flush, entry);
			TAILQ_FOREACH(w, &works, entry)
				w->queued = false;
			t->store->ops->flush(t->store, &works);
			while (store_over(&works))
				;
			return true;
		}
		if (!w)
			continue;
		w->queued = false;
		w->status = t->store->ops->work(t->store, w, w->offset, w->bytes);
		return store_over(&t->rest);
	}
	return false;
}

/*
 * The store
 */

static const struct store_ops *store_was;	/* that of memory */
static struct store_ops store_ops;

static void store_limits_of(const struct store *store, struct store_limits *out)
{
	store_was->limits(store, out);
	out->ops |= RDMABLK_OP_BIT(RDMABLK_OP_DIRTY) | RDMABLK_OP_BIT(RDMABLK_OP_FLUSH) |
		    RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE);
	out->granule = STORE_GRANULE;
	out->max_erase = out->max_discard;
	out->erase_granularity = STORE_GRANULE;
	out->flags |= RDMABLK_GRANT_CACHE;
}

static bool store_has_failed(void)
{
	if (!store_fails)
		return false;
	store_fails--;
	return true;
}

static unsigned int store_work(struct store *store, struct store_work *w, uint64_t offset,
			       uint64_t bytes)
{
	if (!bytes || offset > store->size || bytes > store->size - offset)
		abort();
	if (store_has_failed())
		return RDMABLK_R_STORE_IO;
	/* A store that has grown still has only the memory of its old size. */
	return offset + bytes > STORE_BYTES ? RDMABLK_OK :
	       store_was->work(store, w, offset, bytes);
}

static void store_flush(struct store *store, struct store_works *works)
{
	struct store_work *w;

	(void)store;
	TAILQ_FOREACH(w, works, entry) {
		w->status = store_has_failed() ? RDMABLK_R_STORE_IO : RDMABLK_OK;
		if (!w->status && w->dirty && w->dirty->nr)
			bitmap_clear(w->dirty, 0, w->dirty->nr);
	}
}

/* To be called before there is a session */
static void store_becomes(struct store *store)
{
	store_was = store->ops;
	store_ops = *store->ops;
	store_ops.limits = store_limits_of;
	store_ops.work = store_work;
	store_ops.flush = store_flush;
	store->ops = &store_ops;
}

#endif /* STORE_WORLD_H */
