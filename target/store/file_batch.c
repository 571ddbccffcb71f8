// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A ring for a file. The caller does not wait as long as a request is free. Prepared entries
 * go to the kernel when no request is free, or when the caller waits.
 *
 * A short transfer goes on where it stopped. A transfer that moved nothing has met the end of
 * the file, so the file is shorter than its export: an error. Reads and writes that end with
 * EINTR or EAGAIN are tried again for some seconds (retry.h); an fdatasync is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/retry.h"
#include "base/ring.h"
#include "base/util.h"
#include "store/file_batch.h"

enum { REGISTERED_FD, REGISTERED_BUFFERED };

/*
 * A filter of system calls may refuse sync_file_range() with any error. Later that error could
 * not be told from one of the file's pages, so the question is asked once, without flags: such a
 * call waits for nothing, and takes no error of the file.
 */
static bool may_write_back(const struct file *f)
{
	return !sync_file_range(f->buffered, 0, 0, 0);
}

/**
 * file_batch_open - make a ring
 * @b: filled
 * @f: open; closed after the ring
 * @depth: requests under way at once
 *
 * Return: 0 or -errno, logged.
 */
int file_batch_open(struct file_batch *b, struct file *f, unsigned int depth)
{
	const int fds[] = {
		[REGISTERED_FD] = f->fd,
		[REGISTERED_BUFFERED] = f->buffered,
	};
	int ret;

	*b = (struct file_batch){ .file = f };
	b->io = calloc(depth, sizeof(*b->io));
	if (!b->io)
		return -ENOMEM;
	ret = ring_init_files(&b->ring, depth, fds, ARRAY_SIZE(fds));
	if (ret) {
		log_err("export %s: no io_uring for %s: %s%s", f->name, f->path,
			strerror(-ret), ret == -EPERM ?
			" (see the sysctl kernel.io_uring_disabled)" : "");
		free(b->io);
		b->io = NULL;
		return ret;
	}
	SLIST_INIT(&b->free);
	for (unsigned int i = 0; i < depth; i++)
		SLIST_INSERT_HEAD(&b->free, &b->io[i], free);
	b->no_write_back = !may_write_back(f);
	return 0;
}

/**
 * file_batch_close - end a ring
 * @b: nothing is under way; closed already: nothing happens
 *
 * The ring holds the lock of the file no longer.
 */
void file_batch_close(struct file_batch *b)
{
	if (!b->io)
		return;
	ring_exit(&b->ring);
	free(b->io);
	b->io = NULL;
}

static void end(struct file_batch *b, struct file_batch_io *io, int ret)
{
	if (ret && !b->error) {
		b->error = ret;
		b->error_at = io->offset;
	}
	SLIST_INSERT_HEAD(&b->free, io, free);
	b->busy--;
}

static void prepare(struct file_batch *b, struct file_batch_io *io, uint64_t bytes)
{
	struct io_uring_sqe *sqe = ring_sqe(&b->ring, &io->src);
	bool cached = io->through_cache || b->no_direct ||
		      !file_aligned(b->file, io->buf, io->offset, bytes);
	int fd = cached ? REGISTERED_BUFFERED : REGISTERED_FD;

	io->through_cache = cached;
	if (io->op == STORE_FAULT_READ)
		io_uring_prep_read(sqe, fd, io->buf, (unsigned int)bytes, io->offset);
	else
		io_uring_prep_write(sqe, fd, io->buf, (unsigned int)bytes, io->offset);
	if (io->durable)
		sqe->rw_flags = RWF_DSYNC;
	sqe->flags |= IOSQE_FIXED_FILE;
}

/* Pauses if a request is to be tried again later. Return: whether to try it again, now. */
static bool again(unsigned int *tries, int ret)
{
	enum retry retry = retry_after(tries, ret);

	if (retry == RETRY_LATER)
		pause_ms(RETRY_MS);
	return retry != RETRY_NOT;
}

/* Submits the rest of a request. The ring has room for each request. */
static void go_on(struct file_batch *b, struct file_batch_io *io)
{
	uint64_t bytes;
	int ret;

	if (b->given_up) {
		end(b, io, -EIO);
		return;
	}
	do {
		bytes = io->bytes;
		ret = store_fault(b->file->fault, io->op, io->offset, &bytes);
	} while (again(&io->tries, ret));
	if (ret)
		end(b, io, ret);
	else
		prepare(b, io, bytes);
}

/* Some file systems take O_DIRECT when a file is opened and refuse it then. */
static void go_through_cache(struct file_batch *b, struct file_batch_io *io)
{
	if (!b->no_direct)
		log_warn("export %s: %s refuses direct I/O; the page cache is used",
			 b->file->name, b->file->path);
	b->no_direct = true;
	io->through_cache = true;
	go_on(b, io);
}

static void moved(struct file_batch *b, struct file_batch_io *io, uint64_t bytes)
{
	io->tries = 0;
	io->buf += bytes;
	io->offset += bytes;
	io->bytes -= bytes;
	if (io->bytes)
		go_on(b, io);
	else
		end(b, io, 0);
}

static void complete(struct ring_source *src, int res, unsigned int flags)
{
	struct file_batch_io *io = container_of(src, struct file_batch_io, src);
	struct file_batch *b = io->batch;

	(void)flags;
	if (again(&io->tries, res))
		go_on(b, io);
	else if (res == -EINVAL && !io->through_cache && b->file->direct)
		go_through_cache(b, io);
	else if (res < 0)
		end(b, io, res);
	else if (res == 0)
		end(b, io, -EIO);
	else
		moved(b, io, min_u64((uint64_t)res, io->bytes));
}

static void start(struct file_batch *b, const struct file_batch_io *what)
{
	struct file_batch_io *io;

	while (SLIST_EMPTY(&b->free))
		ring_turn(&b->ring, true);
	io = SLIST_FIRST(&b->free);
	SLIST_REMOVE_HEAD(&b->free, free);
	*io = *what;
	io->batch = b;
	io->src.ready = complete;
	b->busy++;
	go_on(b, io);
}

/* Begins a transfer, in pieces of FILE_BATCH_PIECE. */
static void start_all(struct file_batch *b, struct file_batch_io what)
{
	uint64_t left = what.bytes;

	while (left) {
		what.bytes = min_u64(left, FILE_BATCH_PIECE);
		start(b, &what);
		what.buf += what.bytes;
		what.offset += what.bytes;
		left -= what.bytes;
	}
}

/**
 * file_batch_read - read, soon
 * @b: ring
 * @buf: complete after file_batch_wait()
 * @offset: in the file
 * @bytes: number of bytes
 *
 * Waits while all requests are under way.
 */
void file_batch_read(struct file_batch *b, void *buf, uint64_t offset, uint64_t bytes)
{
	start_all(b, (struct file_batch_io){
		.op = STORE_FAULT_READ, .buf = buf, .offset = offset, .bytes = bytes,
	});
}

/**
 * file_batch_write - write, soon
 * @b: ring
 * @buf: data. If it changes before file_batch_wait() returns, the file may get any of it
 * @offset: in the file
 * @bytes: number of bytes
 *
 * Waits while all requests are under way.
 */
void file_batch_write(struct file_batch *b, const void *buf, uint64_t offset, uint64_t bytes)
{
	start_all(b, (struct file_batch_io){
		.op = STORE_FAULT_WRITE, .buf = (char *)buf, .offset = offset,
		.bytes = bytes,
	});
}

/**
 * file_batch_write_durable - write, soon; durable once file_batch_wait() has returned 0
 * @b: ring
 * @buf: as for file_batch_write()
 * @offset: in the file
 * @bytes: number of bytes
 *
 * Other writes, before it or beside it, do not become durable.
 */
void file_batch_write_durable(struct file_batch *b, const void *buf, uint64_t offset,
			      uint64_t bytes)
{
	start_all(b, (struct file_batch_io){
		.op = STORE_FAULT_WRITE, .buf = (char *)buf, .offset = offset,
		.bytes = bytes, .durable = true,
	});
}

/**
 * file_batch_give_up - give requests up, because their memory does not have the right data
 * @b: ring
 *
 * Until file_batch_wait() has returned, requests that the kernel does not have yet fail with
 * -EIO. So do the rests of requests that it has done in part.
 */
void file_batch_give_up(struct file_batch *b)
{
	const struct io_uring_sq *sq = &b->ring.uring.sq;

	b->given_up = true;
	/*
	 * A request that waits for nothing moves nothing, which is an error: see complete().
	 */
	for (unsigned int i = io_uring_smp_load_acquire(sq->khead); i != sq->sqe_tail; i++)
		io_uring_prep_nop(&sq->sqes[i & sq->ring_mask]);
}

/**
 * file_batch_wait - wait until nothing is under way
 * @b: ring
 *
 * Return: 0, or the first -errno since the last time; @b->error_at says where.
 */
int file_batch_wait(struct file_batch *b)
{
	int ret;

	while (b->busy)
		ring_turn(&b->ring, true);
	ret = b->error;
	b->error = 0;
	b->given_up = false;
	return ret;
}

static int sync_fd(const struct file_batch *b)
{
	return b->no_direct ? b->file->buffered : b->file->fd;
}

/**
 * file_batch_write_back - have the kernel write what is in the page cache
 * @b: ring; nothing is under way
 *
 * No cache of the disk is flushed, so the error is one of a write. file_batch_sync() does not
 * report it again, because both use one descriptor.
 *
 * Return: 0 or -errno. 0 also if the process may not make the call; then file_batch_sync()
 * reports all errors.
 */
int file_batch_write_back(struct file_batch *b)
{
	if (b->no_write_back ||
	    !sync_file_range(sync_fd(b), 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
			     SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER))
		return 0;
	return -errno;
}

/**
 * file_batch_sync - fdatasync
 * @b: ring; nothing is under way
 *
 * Not by the ring: it would give it to a thread of the kernel, and this one waits anyway. Not
 * tried again after EINTR or EAGAIN: the kernel may return those in place of an error of the
 * page cache, which it reports once (mm/filemap.c, file_write_and_wait_range()).
 *
 * Return: 0 or -errno.
 */
int file_batch_sync(struct file_batch *b)
{
	const struct file *f = b->file;
	uint64_t none = 0;
	int ret = store_fault(f->fault, STORE_FAULT_SYNC, 0, &none);

	if (!ret && fdatasync(sync_fd(b)))
		ret = -errno;
	return ret;
}
