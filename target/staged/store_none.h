/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The uncached file, for the files of this folder only.
 */
#ifndef RDMABLKD_STORE_NONE_H
#define RDMABLKD_STORE_NONE_H

#include "staged/iothread.h"
#include "store/store.h"

#define STAGED_TRAILER	4096U	/* bytes of data with a command or an answer, at most */
#define STAGED_RECEIVE	8192U	/* bytes of memory for a command with its data */

/**
 * struct store_none - an uncached file
 * @file: the open file
 * @staged: what the threads share of the file
 * @threads: I/O threads
 * @slot_bytes: bytes of each slot
 * @slot_memory: most bytes of all slots of a session
 * @fixed: the size is configured and stays
 * @volatile_cache: a write is durable only after a FLUSH
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
