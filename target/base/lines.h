/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines that a thread of their own writes, so that nobody else waits for the file they go
 * to. They wait in a ring, whose memory is its owner's.
 */
#ifndef RDMABLKD_LINES_H
#define RDMABLKD_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct lines - lines on their way
 * @write: writes one; by the thread, with nothing locked
 * @dropped: makes the line that says how many were dropped, of @size bytes at most; NULL:
 *	the owner counts what it could not put
 * @due: when @say is to be called, ms of CLOCK_MONOTONIC; INT64_MAX: not now. NULL: never
 * @say: does what the thread is to do besides; with nothing locked
 * @spare: lines that @say puts, at most
 * @nr: lines that wait, at most
 * @size: bytes of a line, at most
 * @len: bytes of each line
 * @line: each
 * @lock: guards what follows; the thread reads a line without
 * @change: a line has come, or the thread shall end
 * @all: the thread has written all there is
 * @thread: writes
 * @running: the thread takes lines
 * @writing: the thread is in @write
 * @head: the oldest line
 * @count: lines that wait
 * @missing: lines that found the ring full, since it was; with @dropped
 */
struct lines {
	void (*write)(const char *line, size_t len);
	size_t (*dropped)(char *line, unsigned long nr);
	int64_t (*due)(void);
	void (*say)(void);
	unsigned int spare;
	unsigned int nr;
	size_t size;
	uint16_t *len;
	char *line;
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_cond_t all;
	pthread_t thread;
	bool running;
	bool writing;
	unsigned int head;
	unsigned int count;
	unsigned long missing;
};

#define LINES_INITIALIZER				\
	.lock = PTHREAD_MUTEX_INITIALIZER,		\
	.change = PTHREAD_COND_INITIALIZER,		\
	.all = PTHREAD_COND_INITIALIZER

int64_t lines_now(void);
int lines_start(struct lines *l, const char *name);
bool lines_stop(struct lines *l, int ms);
int lines_put(struct lines *l, const char *line, size_t len);
void lines_wake(struct lines *l);
bool lines_running(struct lines *l);
bool lines_short(struct lines *l, unsigned int left);

#endif
