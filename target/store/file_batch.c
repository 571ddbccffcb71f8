// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A ring for a file. Requests are taken without waiting as long as some are free; what
 * has been prepared goes to the kernel when they are not, or when somebody waits.
 *
 * A transfer that was short goes on where it stopped. One that moved nothing has met
 * the end of the file, which is shorter than its export then: an error. Requests are
 * interrupted and told to come again now and then: they do, but not for ever.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/retry.h"
#include "base/ring.h"
#include "base/util.h"
#include "store/file_batch.h"

enum { REGISTERED_FD, REGISTERED_BUFFERED };

static void pause_shortly(void)
{
	const struct timespec time = { .tv_nsec = RETRY_MS * 1000000L };

	nanosleep(&time, NULL);
}

static int register_files(struct uring *u)
{
	const int fds[] = {
		[REGISTERED_FD] = u->file->fd,
		[REGISTERED_BUFFERED] = u->file->buffered,
	};

	return io_uring_register_files(&u->ring, fds, ARRAY_SIZE(fds));
}

/**
 * uring_open - make a ring
 * @u: filled
 * @f: open; closed after the ring
 * @depth: requests under way at once
 *
 * Return: 0 or -errno, logged.
 */
int uring_open(struct uring *u, struct file *f, unsigned int depth)
{
	int ret;

	*u = (struct uring){ .file = f };
	u->io = calloc(depth, sizeof(*u->io));
	if (!u->io)
		return -ENOMEM;
	ret = io_uring_queue_init(depth, &u->ring, 0);
	if (!ret) {
		ret = register_files(u);
		if (ret)
			io_uring_queue_exit(&u->ring);
	}
	if (ret) {
		log_err("export %s: no io_uring for %s: %s%s", f->name, f->path,
			strerror(-ret), ret == -EPERM ?
			" (see the sysctl kernel.io_uring_disabled)" : "");
		free(u->io);
		u->io = NULL;
		return ret;
	}
	SLIST_INIT(&u->free);
	for (unsigned int i = 0; i < depth; i++)
		SLIST_INSERT_HEAD(&u->free, &u->io[i], free);
	return 0;
}

/**
 * uring_close - end a ring
 * @u: nothing is under way; closed already: nothing happens
 *
 * The lock of the file is not held by it any more.
 */
void uring_close(struct uring *u)
{
	if (!u->io)
		return;
	/* The kernel would do it later, and pin the lock until then. */
	io_uring_unregister_files(&u->ring);
	io_uring_queue_exit(&u->ring);
	free(u->io);
	u->io = NULL;
}

static void end(struct uring *u, struct uring_io *io, int ret)
{
	if (ret && !u->error) {
		u->error = ret;
		u->error_at = io->offset;
	}
	SLIST_INSERT_HEAD(&u->free, io, free);
	u->busy--;
}

static void prepare(struct uring *u, struct uring_io *io, uint64_t bytes)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
	bool cached = io->through_cache || u->no_direct ||
		      !file_aligned(u->file, io->buf, io->offset, bytes);
	int fd = cached ? REGISTERED_BUFFERED : REGISTERED_FD;

	io->through_cache = cached;
	if (io->op == STORE_FAULT_READ)
		io_uring_prep_read(sqe, fd, io->buf, (unsigned int)bytes, io->offset);
	else
		io_uring_prep_write(sqe, fd, io->buf, (unsigned int)bytes, io->offset);
	if (io->durable)
		sqe->rw_flags = RWF_DSYNC;
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, io);
}

/* Return: whether a request that was told to come again shall do so, now */
static bool again(unsigned int *tries, int ret)
{
	enum retry retry = retry_after(tries, ret);

	if (retry == RETRY_LATER)
		pause_shortly();
	return retry != RETRY_NOT;
}

/* Does the rest of a request. There is a place in the ring for each. */
static void go_on(struct uring *u, struct uring_io *io)
{
	uint64_t bytes;
	int ret;

	if (u->given_up) {
		end(u, io, -EIO);
		return;
	}
	do {
		bytes = io->bytes;
		ret = store_fault(u->file->fault, io->op, io->offset, &bytes);
	} while (again(&io->tries, ret));
	if (ret)
		end(u, io, ret);
	else
		prepare(u, io, bytes);
}

/* Some file systems take O_DIRECT when a file is opened and refuse it then. */
static void go_through_cache(struct uring *u, struct uring_io *io)
{
	if (!u->no_direct)
		log_warn("export %s: %s refuses direct I/O; the page cache is used",
			 u->file->name, u->file->path);
	u->no_direct = true;
	io->through_cache = true;
	go_on(u, io);
}

static void moved(struct uring *u, struct uring_io *io, uint64_t bytes)
{
	io->tries = 0;
	io->buf += bytes;
	io->offset += bytes;
	io->bytes -= bytes;
	if (io->bytes)
		go_on(u, io);
	else
		end(u, io, 0);
}

static void complete(struct uring *u, struct uring_io *io, int res)
{
	if (again(&io->tries, res))
		go_on(u, io);
	else if (res == -EINVAL && !io->through_cache && u->file->direct)
		go_through_cache(u, io);
	else if (res < 0)
		end(u, io, res);
	else if (res == 0)
		end(u, io, -EIO);
	else
		moved(u, io, min_u64((uint64_t)res, io->bytes));
}

/* Hands over what was prepared and waits until something is done, and takes it. */
static void reap(struct uring *u)
{
	struct io_uring_cqe *cqe;
	int ret = io_uring_submit_and_wait(&u->ring, 1);

	if (!io_uring_cq_ready(&u->ring))
		ring_check(ret);
	while (!io_uring_peek_cqe(&u->ring, &cqe)) {
		struct uring_io *io = io_uring_cqe_get_data(cqe);
		int res = cqe->res;

		io_uring_cqe_seen(&u->ring, cqe);
		complete(u, io, res);
	}
}

static void start(struct uring *u, const struct uring_io *what)
{
	struct uring_io *io;

	while (SLIST_EMPTY(&u->free))
		reap(u);
	io = SLIST_FIRST(&u->free);
	SLIST_REMOVE_HEAD(&u->free, free);
	*io = *what;
	u->busy++;
	go_on(u, io);
}

/* In pieces. */
static void start_all(struct uring *u, struct uring_io what)
{
	uint64_t left = what.bytes;

	while (left) {
		what.bytes = min_u64(left, URING_PIECE);
		start(u, &what);
		what.buf += what.bytes;
		what.offset += what.bytes;
		left -= what.bytes;
	}
}

/**
 * uring_read - read, soon
 * @u: ring
 * @buf: complete after uring_wait()
 * @offset: in the file
 * @bytes: how many
 *
 * Waits while all requests are under way.
 */
void uring_read(struct uring *u, void *buf, uint64_t offset, uint64_t bytes)
{
	start_all(u, (struct uring_io){
		.op = STORE_FAULT_READ, .buf = buf, .offset = offset, .bytes = bytes,
	});
}

/**
 * uring_write - write, soon
 * @u: ring
 * @buf: unchanged until uring_wait(), or it does not matter what is written
 * @offset: in the file
 * @bytes: how many
 *
 * Waits while all requests are under way.
 */
void uring_write(struct uring *u, const void *buf, uint64_t offset, uint64_t bytes)
{
	start_all(u, (struct uring_io){
		.op = STORE_FAULT_WRITE, .buf = (char *)buf, .offset = offset,
		.bytes = bytes,
	});
}

/**
 * uring_write_durable - write, soon, so that it is durable when uring_wait() says it is done
 * @u: ring
 * @buf: as for uring_write()
 * @offset: in the file
 * @bytes: how many
 *
 * What was written before in any other way is not concerned.
 */
void uring_write_durable(struct uring *u, const void *buf, uint64_t offset,
			 uint64_t bytes)
{
	start_all(u, (struct uring_io){
		.op = STORE_FAULT_WRITE, .buf = (char *)buf, .offset = offset,
		.bytes = bytes, .durable = true,
	});
}

/**
 * uring_give_up - what the memory of requests has is not what it should be
 * @u: ring
 *
 * Requests that the kernel does not have yet fail with -EIO, and so do the rests of those
 * that it has done in part, until uring_wait() has returned.
 */
void uring_give_up(struct uring *u)
{
	const struct io_uring_sq *sq = &u->ring.sq;

	u->given_up = true;
	/* One that does nothing moves nothing, which is an error: see complete(). */
	for (unsigned int i = io_uring_smp_load_acquire(sq->khead); i != sq->sqe_tail; i++)
		io_uring_prep_nop(&sq->sqes[i & sq->ring_mask]);
}

/**
 * uring_wait - wait until nothing is under way
 * @u: ring
 *
 * Return: 0, or the first -errno since the last time; @u->error_at says where.
 */
int uring_wait(struct uring *u)
{
	int ret;

	while (u->busy)
		reap(u);
	ret = u->error;
	u->error = 0;
	u->given_up = false;
	return ret;
}

/**
 * uring_sync - fdatasync
 * @u: ring; nothing is under way
 *
 * Not by the ring: it would give it to a thread of the kernel, and this one waits anyway.
 *
 * Return: 0 or -errno.
 */
int uring_sync(struct uring *u)
{
	const struct file *f = u->file;
	unsigned int tries = 0;
	uint64_t none = 0;
	int ret;

	do {
		ret = store_fault(f->fault, STORE_FAULT_SYNC, 0, &none);
		if (!ret && fdatasync(u->no_direct ? f->buffered : f->fd))
			ret = -errno;
	} while (again(&tries, ret));
	return ret;
}
