/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper of an export: one thread, which does one thing at a time to arena and
 * file, so that no write-back races with zeroing. FLUSHes go before the rest; the rest
 * is done in pieces, between which a FLUSH finds its turn; with nothing to do it does
 * what the store wants done in the background.
 *
 * Functions are for the loop, but for keeper_stop().
 */
#ifndef RDMABLKD_STORE_THREAD_H
#define RDMABLKD_STORE_THREAD_H

#include "store/store.h"

#define KEEPER_PIECE	(64ULL << 20)	/* bytes of a command done at a time */

int keeper_start(struct store *store);
void keeper_submit(struct keeper *k, struct store_work *w);
void keeper_cancel(struct keeper *k, struct store_work *w);
void keeper_wake(struct keeper *k);
void keeper_quiet(struct store *store);
void keeper_stop(struct store *store);

#endif
