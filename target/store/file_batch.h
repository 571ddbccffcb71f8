/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading and writing one file through io_uring, many requests at a time, for threads
 * that wait for the outcome of all of them together. One thread at a time.
 */
#ifndef RDMABLKD_FILE_BATCH_H
#define RDMABLKD_FILE_BATCH_H

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "store/file.h"

#define URING_PIECE	(1U << 20)	/* bytes of a request, at most */

struct uring;

/**
 * struct uring_io - a request
 * @free: in the list of those that are not under way
 * @op: read, write or sync
 * @through_cache: past direct I/O, which has refused it
 * @durable: of a write: it is, once it is done
 * @tries: in which nothing moved
 * @buf: of what is left
 * @offset: of it, in the file
 * @bytes: of it
 */
struct uring_io {
	SLIST_ENTRY(uring_io) free;
	enum store_fault_op op;
	bool through_cache;
	bool durable;
	unsigned int tries;
	char *buf;
	uint64_t offset;
	uint64_t bytes;
};

SLIST_HEAD(uring_free, uring_io);

/**
 * struct uring - a ring for a file
 * @ring: the ring
 * @file: the file; @fd and @buffered are registered
 * @io: requests
 * @free: those not under way
 * @busy: how many are under way
 * @error: the first since uring_wait(), or 0
 * @error_at: its offset
 * @given_up: nothing is handed to the kernel until uring_wait() has returned
 * @no_direct: all goes through the page cache: direct I/O has refused what it should
 *	have taken, or the owner of the ring wants it so
 */
struct uring {
	struct io_uring ring;
	struct file *file;
	struct uring_io *io;
	struct uring_free free;
	unsigned int busy;
	int error;
	uint64_t error_at;
	bool given_up;
	bool no_direct;
};

int uring_open(struct uring *u, struct file *f, unsigned int depth);
void uring_close(struct uring *u);
void uring_read(struct uring *u, void *buf, uint64_t offset, uint64_t bytes);
void uring_write(struct uring *u, const void *buf, uint64_t offset, uint64_t bytes);
void uring_write_durable(struct uring *u, const void *buf, uint64_t offset,
			 uint64_t bytes);
void uring_give_up(struct uring *u);
int uring_wait(struct uring *u);
int uring_sync(struct uring *u);

#endif
