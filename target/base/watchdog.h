/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watching what must not stop: the loop, for systemd; and other threads, for the log.
 */
#ifndef RDMABLKD_WATCHDOG_H
#define RDMABLKD_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/**
 * struct heartbeat - a thread that is watched
 * @entry: the watchdog's, from watchdog_add() to watchdog_del()
 * @watched: between watchdog_add() and watchdog_del()
 * @name: export that the thread serves, for the log
 * @kind: of the thread, for the log
 * @number: number of the thread, for the log
 * @suspect: what hangs most likely if the thread does, for the log
 * @ask: called in the loop: have the thread call watchdog_answer()
 * @asked: the thread has not answered yet; any thread
 * @since: time of the question, ms
 * @reported: time of the last message that the thread does not answer, ms; 0: none
 */
struct heartbeat {
	LIST_ENTRY(heartbeat) entry;
	bool watched;
	const char *name;
	const char *kind;
	unsigned int number;
	const char *suspect;
	void (*ask)(struct heartbeat *hb);
	atomic_bool asked;
	int64_t since;
	int64_t reported;
};

void watchdog_start(void);
void watchdog_stop(void);
void watchdog_add(struct heartbeat *hb);
void watchdog_del(struct heartbeat *hb);
void watchdog_answer(struct heartbeat *hb);

#endif
