// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads that serve the write queues of an export. A thread sleeps in one place, its
 * ring, where completions of the file, events of the sessions' queues and notes of other
 * threads wake it.
 */
#include <errno.h>

#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"
#include "staged/iothread.h"

static void iothread_began(struct iothread *t, int error)
{
	pthread_mutex_lock(&t->all->lock);
	t->error = error;
	t->started = true;
	pthread_cond_broadcast(&t->all->began);
	pthread_mutex_unlock(&t->all->lock);
}

static void iothread_turn(struct iothread *t)
{
	staged_engine_turn(&t->engine, TAILQ_EMPTY(&t->polled));
	t->all->turn(t);
}

static void *iothread_main(void *arg)
{
	struct iothread *t = arg;
	int ret = staged_engine_init(&t->engine, t->all->file, IOTHREAD_BUFFERS);

	iothread_began(t, ret);
	if (ret)
		return NULL;
	while (!t->stop)
		iothread_turn(t);
	staged_engine_exit(&t->engine);
	return NULL;
}

static int iothread_create(struct iothread *t, struct iothread_pool *all)
{
	int ret;

	t->all = all;
	TAILQ_INIT(&t->polled);
	TAILQ_INIT(&t->answering);
	ret = thread_start(&t->thread, all->file ? "io" : "commands", iothread_main, t);
	if (ret)
		return ret;
	pthread_mutex_lock(&all->lock);
	while (!t->started)
		pthread_cond_wait(&all->began, &all->lock);
	ret = t->error;
	pthread_mutex_unlock(&all->lock);
	if (ret)
		pthread_join(t->thread, NULL);
	return ret;
}

static int start_all(struct iothread_pool *all, unsigned int nr)
{
	int ret = 0;

	while (!ret && all->nr < nr) {
		ret = iothread_create(&all->thread[all->nr], all);
		if (!ret)
			all->nr++;
	}
	if (ret)
		log_err("export %s: cannot start its %s threads: %s%s", all->name, all->kind,
			strerror(-ret), !all->file ? "" : ret == -EPERM ?
			" (io_uring is disabled: sysctl kernel.io_uring_disabled)" :
			ret == -ENOMEM ? " (RLIMIT_MEMLOCK too small?)" : "");
	return ret;
}

/**
 * iothread_pool_start - start the threads of an export
 * @name: of the export; outlives them
 * @sf: uncached file; NULL: the threads do no I/O
 * @nr: number of threads
 * @turn: upcall in each thread whenever it wakes up: serve the lanes
 *
 * Any thread.
 *
 * Return: the threads, or NULL, logged.
 */
struct iothread_pool *iothread_pool_start(const char *name, struct staged_file *sf,
					  unsigned int nr, void (*turn)(struct iothread *t))
{
	struct iothread_pool *all = calloc(1, sizeof(*all) + nr * sizeof(all->thread[0]));
	int ret;

	if (!all)
		return NULL;
	all->name = name;
	all->kind = sf ? "I/O" : "commands";
	all->file = sf;
	all->turn = turn;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->began, NULL);
	ret = loop_inbox_open(&all->inbox);
	if (ret) {
		log_err("export %s: cannot start its %s threads: %s", name, all->kind,
			strerror(-ret));
		free(all);
		return NULL;
	}
	if (!start_all(all, nr))
		return all;
	iothread_pool_stop(all);
	return NULL;
}

static void stop_run(struct ring_note *note)
{
	container_of(note, struct iothread, note)->stop = true;
}

static void alive_run(struct ring_note *note)
{
	watchdog_answer(&container_of(note, struct iothread, alive)->heartbeat);
}

static void alive_ask(struct heartbeat *hb)
{
	struct iothread *t = container_of(hb, struct iothread, heartbeat);

	ring_tell(&t->engine.ring, &t->alive);
}

/**
 * iothread_pool_attach - watch the threads of an export
 * @all: threads
 *
 * In the loop.
 */
void iothread_pool_attach(struct iothread_pool *all)
{
	for (unsigned int i = 0; i < all->nr; i++) {
		struct iothread *t = &all->thread[i];

		t->alive.run = alive_run;
		t->heartbeat = (struct heartbeat){
			.name = all->name, .kind = all->kind, .number = i, .ask = alive_ask,
			.suspect = all->file ? "disk" : "adapter",
		};
		watchdog_add(&t->heartbeat);
	}
}

/**
 * iothread_pool_detach - undo iothread_pool_attach(), and run no more notes of the threads
 * @all: threads; no session has a lane any more
 *
 * In the loop.
 */
void iothread_pool_detach(struct iothread_pool *all)
{
	loop_inbox_ignore(&all->inbox);
	for (unsigned int i = 0; i < all->nr; i++)
		watchdog_del(&all->thread[i].heartbeat);
}

/**
 * iothread_pool_stop - end the threads of an export
 * @all: threads, detached
 *
 * Any thread.
 */
void iothread_pool_stop(struct iothread_pool *all)
{
	for (unsigned int i = 0; i < all->nr; i++) {
		struct iothread *t = &all->thread[i];

		t->note.run = stop_run;
		ring_tell(&t->engine.ring, &t->note);
		pthread_join(t->thread, NULL);
	}
	loop_inbox_close(&all->inbox);
	pthread_cond_destroy(&all->began);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/**
 * iothread_free_place - look for a place in the table of buffers of a ring
 * @t: thread of the ring
 * @writer: for a session that may write; others do not get places of the last quarter
 *
 * Return: the place, or -ENOSPC.
 */
int iothread_free_place(const struct iothread *t, bool writer)
{
	size_t most = ARRAY_SIZE(t->buffers);

	if (!writer)
		most -= most / 4;
	for (size_t i = 0; i < most; i++)
		if (~t->buffers[i])
			return (int)(i * 64) + __builtin_ctzll(~t->buffers[i]);
	return -ENOSPC;
}

/**
 * iothread_get_buffer - register memory with the ring of a thread
 * @t: of the caller
 * @from: aligned to a page
 * @bytes: up to 1 GiB
 * @writer: as for iothread_free_place()
 *
 * Return: its place in the ring's table, or -errno.
 */
int iothread_get_buffer(struct iothread *t, void *from, size_t bytes, bool writer)
{
	int place = iothread_free_place(t, writer), ret;

	if (place < 0)
		return place;
	ret = ring_set_buffer(&t->engine.ring, (unsigned int)place, from, bytes);
	if (ret)
		return ret;
	t->buffers[place / 64] |= 1ULL << place % 64;
	return place;
}

/**
 * iothread_put_buffer - undo iothread_get_buffer(); no I/O uses the buffer
 * @t: of the caller
 * @place: as returned
 *
 * When the ring keeps the memory, the place stays taken until the thread ends.
 */
void iothread_put_buffer(struct iothread *t, unsigned int place)
{
	int ret = ring_set_buffer(&t->engine.ring, place, NULL, 0);

	if (ret) {
		log_err("export %s: io_uring keeps the buffer of a session: %s; its memory stays pinned until the export is closed",
			t->all->name, strerror(-ret));
		return;
	}
	t->buffers[place / 64] &= ~(1ULL << place % 64);
}
