/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store thread of an export. It does one thing at a time to arena and file, so that no
 * write-back races with zeroing. FLUSHes go first. Other works are done in pieces, and a FLUSH
 * may come between two pieces. When nothing else is to do, the thread works in the background.
 *
 * store_thread_start() and store_thread_wake() are for the loop.
 */
#ifndef RDMABLKD_STORE_THREAD_H
#define RDMABLKD_STORE_THREAD_H

#include "store/store.h"

#define STORE_THREAD_PIECE	(64ULL << 20)	/* bytes of a piece */

extern int store_thread_look_ms;

int store_thread_start(struct store *store);
void store_thread_submit(struct store_thread *t, struct store_work *w);
void store_thread_cancel(struct store_thread *t, struct store_work *w);
void store_thread_wake(struct store_thread *t);
void store_thread_stop(struct store *store);

#endif
