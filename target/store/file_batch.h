/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading and writing one file through io_uring, many requests at a time, for threads
 * that wait for the outcome of all of them together. One thread at a time.
 */
#ifndef RDMABLKD_FILE_BATCH_H
#define RDMABLKD_FILE_BATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/ring.h"
#include "store/file.h"

#define FILE_BATCH_PIECE	(1U << 20)	/* largest request, bytes */

struct file_batch;

/**
 * struct file_batch_io - a request
 * @free: link in the list of free requests
 * @src: completion of the request
 * @batch: ring of the request
 * @op: read or write
 * @through_cache: direct I/O has refused it, so it uses the page cache
 * @durable: a write whose data is durable once it has completed
 * @tries: tries in a row without progress
 * @buf: where the rest of the data begins
 * @offset: offset of the rest in the file
 * @bytes: number of bytes of the rest
 */
struct file_batch_io {
	SLIST_ENTRY(file_batch_io) free;
	struct ring_source src;
	struct file_batch *batch;
	enum store_fault_op op;
	bool through_cache;
	bool durable;
	unsigned int tries;
	char *buf;
	uint64_t offset;
	uint64_t bytes;
};

SLIST_HEAD(file_batch_free, file_batch_io);

/**
 * struct file_batch - a ring for a file
 * @ring: the ring
 * @file: the file; @fd and @buffered are registered
 * @io: requests
 * @free: requests that are not under way
 * @busy: number of requests under way
 * @error: first error since file_batch_wait(), or 0
 * @error_at: offset of @error in the file
 * @given_up: nothing is handed to the kernel until file_batch_wait() has returned
 * @no_direct: all I/O goes through the page cache, because direct I/O has refused a request
 *	that it should have taken, or because the owner of the ring wants that
 * @no_write_back: the process may not call sync_file_range()
 */
struct file_batch {
	struct ring ring;
	struct file *file;
	struct file_batch_io *io;
	struct file_batch_free free;
	unsigned int busy;
	int error;
	uint64_t error_at;
	bool given_up;
	bool no_direct;
	bool no_write_back;
};

int file_batch_open(struct file_batch *b, struct file *f, unsigned int depth);
void file_batch_close(struct file_batch *b);
void file_batch_read(struct file_batch *b, void *buf, uint64_t offset, uint64_t bytes);
void file_batch_write(struct file_batch *b, const void *buf, uint64_t offset, uint64_t bytes);
void file_batch_write_durable(struct file_batch *b, const void *buf, uint64_t offset,
			      uint64_t bytes);
void file_batch_give_up(struct file_batch *b);
int file_batch_wait(struct file_batch *b);
int file_batch_write_back(struct file_batch *b);
int file_batch_sync(struct file_batch *b);

#endif
