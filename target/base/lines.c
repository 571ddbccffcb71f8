// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines that a thread writes.
 *
 * When the ring is full, lines are dropped. If the owner has set @dropped, all lines are
 * dropped from then on until the ring is empty, and counted. So the line with the count stands
 * where the lines are missing.
 */
#include <errno.h>
#include <time.h>

#include "base/lines.h"
#include "base/thread.h"
#include "base/util.h"

#define LINES_SAID	256	/* bytes of the line that says how many were dropped */

/**
 * lines_now - time on the clock of @due
 *
 * Return: ms of CLOCK_MONOTONIC.
 */
int64_t lines_now(void)
{
	return monotonic_ms();
}

/* The lock is held, but released during the write. */
static void write_unlocked(struct lines *l, const char *line, size_t len)
{
	l->writing = true;
	pthread_mutex_unlock(&l->lock);
	l->write(line, len);
	pthread_mutex_lock(&l->lock);
	l->writing = false;
}

static void write_oldest(struct lines *l)
{
	unsigned int at = l->head;

	/* The place stays taken until the line is written, so no line overwrites it. */
	write_unlocked(l, l->line + at * l->size, l->len[at]);
	l->head = (l->head + 1) % l->nr;
	/*
	 * An empty ring begins at its first place again, so few of its pages are ever touched.
	 */
	if (!--l->count)
		l->head = 0;
}

static void write_missing(struct lines *l)
{
	char line[LINES_SAID];
	size_t len = l->dropped(line, l->missing);

	l->missing = 0;
	write_unlocked(l, line, len);
}

/* Calls @say if it is due. The lock is held. Return: whether it was released meanwhile. */
static bool say_in_time(struct lines *l)
{
	if (!l->due || l->due() > lines_now() || l->missing || l->count > l->nr - l->spare)
		return false;
	pthread_mutex_unlock(&l->lock);
	l->say();
	pthread_mutex_lock(&l->lock);
	return true;
}

/* Waits for a line, or for the time of @due. The lock is held. */
static void wait_for_lines(struct lines *l)
{
	int64_t at = l->due ? l->due() : INT64_MAX;
	struct timespec until = { .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };

	if (at < INT64_MAX)
		pthread_cond_clockwait(&l->change, &l->lock, CLOCK_MONOTONIC, &until);
	else
		pthread_cond_wait(&l->change, &l->lock);
}

static void *lines_main(void *arg)
{
	struct lines *l = arg;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		if (say_in_time(l))
			continue;
		if (l->count) {
			write_oldest(l);
		} else if (l->missing) {
			write_missing(l);
		} else if (l->running) {
			pthread_cond_broadcast(&l->all);
			wait_for_lines(l);
		} else {
			break;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/**
 * lines_start - start the thread that writes the lines
 * @l: lines; all fields that the owner does not set are 0, or from LINES_INITIALIZER
 * @name: name of the thread
 *
 * Return: 0 or -errno.
 */
int lines_start(struct lines *l, const char *name)
{
	int ret;

	pthread_mutex_lock(&l->lock);
	ret = thread_start(&l->thread, name, lines_main, l);
	l->running = !ret;
	pthread_mutex_unlock(&l->lock);
	return ret;
}

static bool lines_drained(const struct lines *l)
{
	return !l->count && !l->missing && !l->writing;
}

/**
 * lines_stop - wait until all lines are written, and end the thread
 * @l: lines; without lines_start() nothing happens
 * @ms: longest time to wait. After it these lines, and all later ones, stay in the ring
 *
 * Any thread but a signal handler.
 *
 * Return: whether the thread has ended.
 */
bool lines_stop(struct lines *l, int ms)
{
	int64_t at = lines_now() + ms;
	struct timespec until = { .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };
	bool stopped;

	pthread_mutex_lock(&l->lock);
	while (l->running && !lines_drained(l) &&
	       !pthread_cond_clockwait(&l->all, &l->lock, CLOCK_MONOTONIC, &until))
		;
	stopped = l->running && lines_drained(l);
	if (stopped)
		l->running = false;
	pthread_cond_signal(&l->change);
	pthread_mutex_unlock(&l->lock);
	if (stopped)
		pthread_join(l->thread, NULL);
	return stopped;
}

/**
 * lines_put - add a line
 * @l: lines
 * @line: line with its line feed; copied
 * @len: bytes of @line, at most @size of struct lines
 *
 * Any thread.
 *
 * Return: 0: the line is in the ring, or counted as dropped; -ENOBUFS: the ring is full;
 * -ESRCH: no thread takes lines.
 */
int lines_put(struct lines *l, const char *line, size_t len)
{
	int ret = 0;

	pthread_mutex_lock(&l->lock);
	if (!l->running) {
		ret = -ESRCH;
	} else if (l->missing || (l->count == l->nr && l->dropped)) {
		l->missing++;
	} else if (l->count == l->nr) {
		ret = -ENOBUFS;
	} else {
		unsigned int at = (l->head + l->count++) % l->nr;

		memcpy(l->line + at * l->size, line, len);
		l->len[at] = (uint16_t)len;
		pthread_cond_signal(&l->change);
	}
	pthread_mutex_unlock(&l->lock);
	return ret;
}

/**
 * lines_wake - let the thread call @due again
 * @l: lines
 */
void lines_wake(struct lines *l)
{
	pthread_mutex_lock(&l->lock);
	pthread_cond_signal(&l->change);
	pthread_mutex_unlock(&l->lock);
}

/**
 * lines_running - whether a thread takes lines
 * @l: lines
 *
 * Return: true: yes.
 */
bool lines_running(struct lines *l)
{
	bool running;

	pthread_mutex_lock(&l->lock);
	running = l->running;
	pthread_mutex_unlock(&l->lock);
	return running;
}

/**
 * lines_short - whether the ring is nearly full
 * @l: lines
 * @left: number of places
 *
 * Return: true: @left places or fewer are free. Always false without the thread.
 */
bool lines_short(struct lines *l, unsigned int left)
{
	bool is_short;

	pthread_mutex_lock(&l->lock);
	is_short = l->running && (l->missing || l->count >= l->nr - left);
	pthread_mutex_unlock(&l->lock);
	return is_short;
}
