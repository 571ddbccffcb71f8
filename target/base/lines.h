/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines that a thread of their own writes, so that no other thread waits for the file. They
 * wait in a ring, whose memory belongs to the owner.
 */
#ifndef RDMABLKD_LINES_H
#define RDMABLKD_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct lines - a ring of lines, and the thread that writes them
 * @write: upcall in the thread, no lock held: write a line
 * @dropped: upcall: make the line that says how many were dropped, @size bytes at most; NULL:
 *	the owner counts the lines that it could not put
 * @due: upcall: time at which @say is to be called, ms of CLOCK_MONOTONIC; INT64_MAX: not now.
 *	NULL: never
 * @say: upcall in the thread, no lock held: other work of the thread
 * @spare: most lines that @say puts
 * @nr: size of the ring, lines
 * @size: longest line, bytes
 * @len: length of each line in the ring, bytes
 * @line: memory of the ring, @nr times @size bytes
 * @lock: protects all fields below; the thread reads a line without it
 * @change: a line has come, or the thread shall end
 * @all: the thread has written all lines
 * @thread: the thread
 * @running: the thread takes lines
 * @writing: the thread is in @write
 * @head: index of the oldest line
 * @count: number of lines in the ring
 * @missing: number of lines dropped since the ring was full; only with @dropped
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
