/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store of files without a cache, for its own rooms.
 */
#ifndef RDMABLKD_STORE_NONE_H
#define RDMABLKD_STORE_NONE_H

#include "staged/iothread.h"
#include "store/store.h"

#define STAGED_TRAILER	4096U	/* of data with a command or an answer, bytes */
#define STAGED_RECEIVE	8192U	/* of memory for a command with that, bytes */

/**
 * struct store_none - a file without a cache
 * @file: open
 * @staged: the same, for the threads
 * @threads: they
 * @slot_bytes: of each slot
 * @slot_memory: bytes of all slots of a session, at most
 * @fixed: its size was given and stays
 * @volatile_cache: what is written is durable after a FLUSH only
 */
struct store_none {
	struct file file;
	struct staged_file staged;
	struct iothread_pool *threads;
	uint32_t slot_bytes;
	uint64_t slot_memory;
	bool fixed;
	bool volatile_cache;
};

extern const struct staged_ops staged_session_ops;

#endif
