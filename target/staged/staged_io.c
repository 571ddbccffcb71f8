// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * I/O on a file or block device.
 *
 * The file is not registered with the rings. A ring lets go of what is registered some
 * time after it is closed, and a file system whose daemon has ended would stay busy.
 *
 * READ and WRITE: one entry of the ring each, as long as the kernel does all of it at
 * once. What it leaves is asked for again; when nothing of a block was done that is the
 * end of the file, and an error.
 *
 * FLUSH: one fdatasync at a time for each file, whichever threads the commands are of;
 * those that come while it is under way share the next. An error of the page cache is
 * told to one fdatasync only, so with two at once one could succeed in spite of it.
 * After one has failed, none is tried any more: the kernel has marked clean what it
 * could not write. EINTR and EAGAIN are such a failure, too, because the kernel may return
 * them in place of that error (mm/filemap.c, file_write_and_wait_range()).
 *
 * A FLUSH with nothing to make durable needs no fdatasync. @unsynced is set after a
 * command has changed the file and before it is answered, and is cleared just before an
 * fdatasync begins. So whatever was answered before a FLUSH has come either finds the
 * flag set, or was there when the last fdatasync began. At the start it is set: a former
 * process may have left something in the page cache.
 *
 * WRITE with FUA is a write and then a FLUSH, each with errors of its own: that of the
 * write concerns nobody else. RWF_DSYNC is that in one, with one error for both, and after
 * EIO nobody knows whether a sector is bad or a cache is lost. Only where a device makes
 * the write durable by itself, and flushes nothing with it (file.c), is it used.
 *
 * A device may do otherwise than it says: one in a network may flush a cache elsewhere. So
 * what has failed so is tried again without. When that fails in the same way, it was the
 * write; when it succeeds it was a sync, but for an error that no sync has: then a FLUSH
 * makes it durable. When it fails otherwise that says nothing, and it counts as a sync.
 * The descriptor for FLUSHes is another one than that of direct writes, so none of them
 * takes from the other the news of an error of the page cache.
 *
 * An error of the device's cache is not kept for anybody: who had the device write it
 * out is told, and the next to do so is not. That may be a write with FUA whose
 * completion waits in the ring of one thread while another has an fdatasync, or a write
 * with FUA, begin and end well. So a FLUSH, or such a write, is answered when the outcome
 * of every write with FUA is known that was under way when it ended: what failed before
 * that, failed by one of them. A write with FUA waits for the fdatasync under way, too.
 * They are counted in two generations, of which only one grows, or they would wait for
 * as long as writes with FUA keep coming. One with nothing beside it waits for nobody.
 *
 * What a failure means for this and other files: staged_loss.c.
 *
 * DISCARD, WRITE_ZEROES and SECURE_ERASE may take long and have no entries in a ring: a
 * thread for each file does them one after the other, in pieces between which it looks
 * whether somebody still wants them.
 */
#include <errno.h>
#include <signal.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/retry.h"
#include "base/util.h"
#include "staged/staged_fault.h"
#include "staged/staged_io.h"
#include "staged/staged_loss.h"

#define SLOW_PIECE	(64ULL << 20)	/* of a DISCARD or its like, bytes */

/* A command is done, in its own thread. */
static void staged_finish(struct staged_io *io, unsigned int status)
{
	io->status = status;
	io->done(io);
}

static bool cancelled(const struct staged_io *io)
{
	return atomic_load_explicit(io->cancel, memory_order_relaxed);
}

/*
 * FLUSH
 */

static void sync_submit(struct ring_source *src, uint64_t bytes)
{
	struct staged_file *sf = container_of(src, struct staged_file, sync);

	(void)bytes;
	io_uring_prep_fsync(ring_sqe(sf->ring, src), sf->file->buffered,
			    IORING_FSYNC_DATASYNC);
}

/*
 * For who has set @syncing. The lock is not held: where the ring takes no more entries
 * there are system calls until it does.
 */
static void sync_start(struct staged_file *sf, struct ring *r)
{
	const struct staged_ask ask = {
		.ring = r,
		.fault = sf->file->fault,
		.op = STORE_FAULT_SYNC,
		.src = &sf->sync,
		.go = sync_submit,
	};

	sf->ring = r;
	atomic_store(&sf->unsynced, false);
	if (ask.fault)
		staged_ask(&ask);
	else
		sync_submit(&sf->sync, 0);
}

static void told_finish(struct ring_note *note)
{
	struct staged_io *io = container_of(note, struct staged_io, note);

	io->done(io);
}

/* A command is done, in another thread than its own. */
static void staged_tell(struct staged_io *io, unsigned int status)
{
	io->status = status;
	io->note.run = told_finish;
	ring_tell(&io->engine->ring, &io->note);
}

/* In its own thread, wherever this is. */
static void finish_at_home(struct staged_io *io, const struct ring *here,
			   unsigned int status)
{
	if (&io->engine->ring == here)
		staged_finish(io, status);
	else
		staged_tell(io, status);
}

static void finish_all(struct staged_ios *ios, const struct ring *here,
		       unsigned int status)
{
	struct staged_io *io;

	while ((io = TAILQ_FIRST(ios))) {
		TAILQ_REMOVE(ios, io, entry);
		finish_at_home(io, here, status);
	}
}

/*
 * Those that wait for no write with FUA any more, for @ios. Those that have come since
 * the last generation was closed wait for the next, which is closed when that has ended.
 * The lock is held.
 */
static void held_release(struct staged_file *sf, struct staged_ios *ios)
{
	for (int i = 0; i < 2 && !sf->fua[!sf->turn]; i++) {
		TAILQ_CONCAT(ios, &sf->held, entry);
		if (TAILQ_EMPTY(&sf->synced))
			return;
		TAILQ_CONCAT(&sf->held, &sf->synced, entry);
		sf->turn = !sf->turn;
	}
}

/* The lock is not held while they are done with: their owners may begin others. */
static void held_finish(struct staged_file *sf, struct staged_ios *ios,
			const struct ring *here)
{
	finish_all(ios, here, atomic_load(&sf->failed) ? RDMABLK_R_STORE_FAILED :
		   RDMABLK_OK);
}

/* One has failed: those that it was for, and those that waited for the next. */
static void sync_failed(struct staged_file *sf, int ret)
{
	struct staged_ios late = TAILQ_HEAD_INITIALIZER(late);
	struct staged_ios now = TAILQ_HEAD_INITIALIZER(now);
	struct ring *here = sf->ring;

	staged_fail(sf, ret);
	pthread_mutex_lock(&sf->lock);
	TAILQ_CONCAT(&now, &sf->batch, entry);
	TAILQ_CONCAT(&late, &sf->waiting, entry);
	sf->syncing = false;
	pthread_mutex_unlock(&sf->lock);
	finish_all(&now, here, file_reason(ret));
	finish_all(&late, here, RDMABLK_R_STORE_FAILED);
}

static void sync_ready(struct ring_source *src, int res, unsigned int flags)
{
	struct staged_file *sf = container_of(src, struct staged_file, sync);
	struct staged_ios done = TAILQ_HEAD_INITIALIZER(done);
	struct ring *here = sf->ring;
	bool again;

	(void)flags;
	if (res < 0) {
		sync_failed(sf, res);
		return;
	}
	pthread_mutex_lock(&sf->lock);
	TAILQ_CONCAT(&sf->synced, &sf->batch, entry);
	/* Nothing has changed since this one began: it is theirs, too. */
	if (!atomic_load(&sf->unsynced))
		TAILQ_CONCAT(&sf->synced, &sf->waiting, entry);
	held_release(sf, &done);
	TAILQ_CONCAT(&sf->batch, &sf->waiting, entry);
	again = !TAILQ_EMPTY(&sf->batch);
	sf->syncing = again;
	pthread_mutex_unlock(&sf->lock);
	if (again)
		sync_start(sf, here);
	held_finish(sf, &done, here);
}

static void flush_begin(struct staged_io *io)
{
	struct staged_ios done = TAILQ_HEAD_INITIALIZER(done);
	struct staged_file *sf = io->engine->file;
	struct ring *here = &io->engine->ring;
	bool start = false;

	if (fault(FAULT_LOST_FLUSH)) {
		staged_finish(io, RDMABLK_OK);
		return;
	}
	if (atomic_load(&sf->failed)) {
		staged_finish(io, RDMABLK_R_STORE_FAILED);
		return;
	}
	pthread_mutex_lock(&sf->lock);
	if (sf->syncing) {
		TAILQ_INSERT_TAIL(&sf->waiting, io, entry);
	} else if (!atomic_load(&sf->unsynced)) {
		TAILQ_INSERT_TAIL(&sf->synced, io, entry);
		held_release(sf, &done);
	} else {
		TAILQ_INSERT_TAIL(&sf->batch, io, entry);
		sf->syncing = true;
		start = true;
	}
	pthread_mutex_unlock(&sf->lock);
	if (start)
		sync_start(sf, here);
	held_finish(sf, &done, here);
}

/*
 * DISCARD and its like
 */

static int slow_piece(struct staged_io *io, uint64_t offset, uint64_t bytes)
{
	struct file *f = io->engine->file->file;

	switch (io->op) {
	case RDMABLK_OP_DISCARD:
		return file_discard(f, offset, bytes);
	case RDMABLK_OP_WRITE_ZEROES:
		return file_zero(f, offset, bytes, io->keep);
	default:
		return file_erase(f, offset, bytes);
	}
}

static void slow_run(struct staged_io *io)
{
	int ret = 0;

	while (!ret && io->at < io->bytes && !atomic_load(io->cancel)) {
		uint64_t bytes = min_u64(io->bytes - io->at, SLOW_PIECE);

		ret = slow_piece(io, io->offset + io->at, bytes);
		io->at += bytes;
	}
	if (ret && ret != -EOPNOTSUPP)
		log_peer(NULL, LOG_WARNING, "export %s: operation %u of %llu bytes at %llu: %s",
			 io->engine->file->file->name, io->op, (unsigned long long)io->bytes,
			 (unsigned long long)io->offset, strerror(-ret));
	if (io->at)
		staged_changed(io->engine->file);
	staged_tell(io, io->at < io->bytes && !ret ? RDMABLK_R_INTERNAL :
			file_reason(ret));
}

static void *slow_main(void *arg)
{
	struct staged_file *sf = arg;
	struct staged_io *io;

	pthread_mutex_lock(&sf->lock);
	for (;;) {
		while (!(io = TAILQ_FIRST(&sf->slow)) && !sf->stop)
			pthread_cond_wait(&sf->wake, &sf->lock);
		if (!io)
			break;
		TAILQ_REMOVE(&sf->slow, io, entry);
		pthread_mutex_unlock(&sf->lock);
		slow_run(io);
		pthread_mutex_lock(&sf->lock);
	}
	pthread_mutex_unlock(&sf->lock);
	return NULL;
}

/* The lock is held. Signals stay the loop's. */
static int slow_thread(struct staged_file *sf)
{
	sigset_t all, old;
	int ret;

	if (sf->threaded)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	ret = pthread_create(&sf->thread, NULL, slow_main, sf);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	sf->threaded = !ret;
	return -ret;
}

/* Has a command done by the thread for them. In the thread of @io. */
static void slow_begin(struct staged_io *io)
{
	struct staged_file *sf = io->engine->file;
	int ret;

	pthread_mutex_lock(&sf->lock);
	ret = slow_thread(sf);
	if (!ret) {
		TAILQ_INSERT_TAIL(&sf->slow, io, entry);
		pthread_cond_signal(&sf->wake);
	}
	pthread_mutex_unlock(&sf->lock);
	if (ret)
		staged_finish(io, RDMABLK_R_NO_MEMORY);
}

/* Ends the thread; nothing is under way. */
static void slow_stop(struct staged_file *sf)
{
	pthread_mutex_lock(&sf->lock);
	sf->stop = true;
	pthread_cond_signal(&sf->wake);
	pthread_mutex_unlock(&sf->lock);
	if (sf->threaded)
		pthread_join(sf->thread, NULL);
}

/*
 * READ and WRITE
 */

/* Before the kernel has it: others wait for what comes of it. */
static void fua_begin(struct staged_io *io)
{
	struct staged_file *sf = io->engine->file;

	if (io->counted)
		return;
	io->counted = true;
	pthread_mutex_lock(&sf->lock);
	io->turn = sf->turn;
	sf->fua[io->turn]++;
	pthread_mutex_unlock(&sf->lock);
}

/*
 * That is known, and noted if others may be lost with it. @safe: it is not lost by
 * itself, and answered when no other can have lost it.
 */
static void fua_end(struct staged_io *io, bool safe)
{
	struct staged_ios done = TAILQ_HEAD_INITIALIZER(done);
	const struct ring *here = &io->engine->ring;
	struct staged_file *sf = io->engine->file;

	if (!io->counted)
		return;
	io->counted = false;
	pthread_mutex_lock(&sf->lock);
	sf->fua[io->turn]--;
	if (safe)
		TAILQ_INSERT_TAIL(sf->syncing ? &sf->batch : &sf->synced, io, entry);
	held_release(sf, &done);
	pthread_mutex_unlock(&sf->lock);
	held_finish(sf, &done, here);
}

/*
 * Below a disk with checksums data must not change while it is written, and a peer may
 * WRITE to its slot at any time. There the kernel copies it into the page cache, and
 * writes the copy.
 */
static bool is_direct(const struct file *f, const struct staged_io *io, const char *buf,
		      uint64_t offset, uint64_t bytes)
{
	if (io->op == RDMABLK_OP_WRITE && f->stable)
		return false;
	return f->direct && file_aligned(f, buf, offset, bytes);
}

static void rw_submit(struct ring_source *src, uint64_t bytes)
{
	struct staged_io *io = container_of(src, struct staged_io, src);
	struct staged_engine *e = io->engine;
	const struct file *f = e->file->file;
	uint64_t offset = io->offset + io->at;
	char *buf = io->buf + io->at;
	bool direct = is_direct(f, io, buf, offset, bytes);
	struct io_uring_sqe *sqe = ring_sqe(&e->ring, src);
	int fd = direct ? f->fd : f->buffered;

	if (io->op == RDMABLK_OP_READ)
		io_uring_prep_read_fixed(sqe, fd, buf, (unsigned int)bytes, offset,
					 (int)io->buffer);
	else
		io_uring_prep_write_fixed(sqe, fd, buf, (unsigned int)bytes, offset,
					  (int)io->buffer);
	io->synced = direct && io->fua && f->fua && !io->suspect && !f->fault &&
		     !fault(FAULT_LOST_FLUSH);
	if (io->synced) {
		sqe->rw_flags = RWF_DSYNC;
		fua_begin(io);
	} else {
		io->plain = true;
	}
}

static void rw_start(struct staged_io *io)
{
	const struct staged_ask ask = {
		.ring = &io->engine->ring,
		.fault = io->engine->file->file->fault,
		.op = io->op == RDMABLK_OP_READ ? STORE_FAULT_READ : STORE_FAULT_WRITE,
		.offset = io->offset + io->at,
		.bytes = io->bytes - io->at,
		.src = &io->src,
		.go = rw_submit,
	};

	if (ask.fault)
		staged_ask(&ask);
	else
		rw_submit(&io->src, ask.bytes);
}

/* A write that was not durable by itself has changed the file, at least in part. */
static void rw_changed(const struct staged_io *io)
{
	if (io->op == RDMABLK_OP_WRITE && io->plain)
		staged_changed(io->engine->file);
}

static void rw_finish(struct staged_io *io, unsigned int status)
{
	rw_changed(io);
	fua_end(io, false);
	staged_finish(io, status);
}

/* The first try may have been a sync that has failed. */
static bool in_doubt(const struct staged_io *io)
{
	return io->suspect && !staged_own_error(io->suspect);
}

static void rw_done(struct staged_io *io)
{
	rw_changed(io);
	if (in_doubt(io)) {
		staged_fail(io->engine->file, io->suspect);
		rw_finish(io, RDMABLK_R_STORE_IO);
	} else if (io->fua && io->plain) {
		fua_end(io, false);	/* or it would wait for itself */
		flush_begin(io);
	} else if (io->counted) {
		fua_end(io, true);
	} else {
		staged_finish(io, RDMABLK_OK);
	}
}

static void rw_failed(struct staged_io *io, int res)
{
	struct staged_file *sf = io->engine->file;

	if (io->synced) {
		io->suspect = res;
		io->at = 0;
		io->tries = 0;
		rw_start(io);
		return;
	}
	log_peer(NULL, LOG_WARNING, "export %s: %s of %llu bytes at %llu: %s",
		 sf->file->name, io->op == RDMABLK_OP_READ ? "read" : "write",
		 (unsigned long long)io->bytes, (unsigned long long)io->offset,
		 strerror(-res));
	if (in_doubt(io) && io->suspect != res)
		staged_fail(sf, io->suspect);
	rw_finish(io, file_reason(res));
}

/*
 * Nothing more of a file that had more: it says why, once. Of a second try that is not
 * all, and not how the first has failed, which may have been a sync.
 */
static void rw_ended(struct staged_io *io)
{
	if (io->suspect)
		rw_failed(io, -ENXIO);
	else if (file_shrunk(io->engine->file->file))
		rw_finish(io, RDMABLK_R_STORE_IO);
	else
		rw_failed(io, -EIO);
}

static void rw_ready(struct ring_source *src, int res, unsigned int flags)
{
	struct staged_io *io = container_of(src, struct staged_io, src);
	uint64_t block = io->engine->file->file->logical_block, at;

	(void)flags;
	switch (io->pausing ? RETRY_NOW : retry_after(&io->tries, res)) {
	case RETRY_NOW:
		io->pausing = false;
		rw_start(io);
		return;
	case RETRY_LATER:
		io->pausing = true;
		ring_pause(&io->engine->ring, src);
		return;
	case RETRY_NOT:
		break;
	}
	if (res < 0) {
		rw_failed(io, res);
		return;
	}
	at = io->at + (uint64_t)res;
	if (at >= io->bytes) {
		rw_done(io);
		return;
	}
	at -= at % block;
	if (at == io->at) {
		rw_ended(io);
		return;
	}
	io->at = at;
	io->tries = 0;
	rw_start(io);
}

/*
 * A write behind the end of a file that was cut would make it longer again, with zeroes
 * for what was there. Looked at once for all the writes of a turn.
 */
static bool behind_end(struct staged_io *io)
{
	struct staged_engine *e = io->engine;
	const struct file *f = e->file->file;

	if (f->block_device)
		return false;
	if (!e->looked && file_size(f, &e->length))
		e->length = 0;
	e->looked = true;
	return io->offset + io->bytes > e->length;
}

static void rw_begin(struct staged_io *io)
{
	if (cancelled(io))
		staged_finish(io, RDMABLK_R_INTERNAL);
	else if (io->fua && atomic_load(&io->engine->file->failed))
		staged_finish(io, RDMABLK_R_STORE_FAILED);
	else if (io->op == RDMABLK_OP_WRITE && behind_end(io))
		rw_ended(io);
	else
		rw_start(io);
}

/**
 * staged_begin - have a command done
 * @io: filled but for what is said to be in use from here on; its @done may be called
 *	before this returns
 *
 * In the thread of @io->engine.
 */
void staged_begin(struct staged_io *io)
{
	io->at = 0;
	io->tries = 0;
	io->suspect = 0;
	io->synced = false;
	io->plain = false;
	io->counted = false;
	switch (io->op) {
	case RDMABLK_OP_READ:
	case RDMABLK_OP_WRITE:
		io->src.ready = rw_ready;
		if (ring_full(&io->engine->ring))
			TAILQ_INSERT_TAIL(&io->engine->backlog, io, entry);
		else
			rw_begin(io);
		break;
	case RDMABLK_OP_FLUSH:
		flush_begin(io);
		break;
	default:
		slow_begin(io);
		break;
	}
}

/*
 * Files and threads
 */

/**
 * staged_file_init - a file for any number of threads
 * @sf: filled
 * @file: open; stays the caller's
 * @identity: RDMABLK_ID_LEN bytes, as file_epoch()
 * @disk: the same, as file_disk()
 */
void staged_file_init(struct staged_file *sf, struct file *file, const uint8_t *identity,
		      const uint8_t *disk)
{
	*sf = (struct staged_file){ .file = file, .sync.ready = sync_ready };
	atomic_init(&sf->unsynced, true);
	memcpy(sf->identity, identity, sizeof(sf->identity));
	memcpy(sf->disk, disk, sizeof(sf->disk));
	TAILQ_INIT(&sf->batch);
	TAILQ_INIT(&sf->waiting);
	TAILQ_INIT(&sf->synced);
	TAILQ_INIT(&sf->held);
	TAILQ_INIT(&sf->slow);
	pthread_mutex_init(&sf->lock, NULL);
	pthread_cond_init(&sf->wake, NULL);
	staged_loss_watch(sf);
}

/**
 * staged_file_exit - undo staged_file_init(); no command is under way
 * @sf: file
 */
void staged_file_exit(struct staged_file *sf)
{
	staged_loss_forget(sf);
	slow_stop(sf);
	pthread_cond_destroy(&sf->wake);
	pthread_mutex_destroy(&sf->lock);
}

/**
 * staged_engine_init - make the calling thread one that does I/O
 * @e: filled
 * @sf: on this
 * @buffers: that may be registered with the ring
 *
 * Return: 0 or -errno.
 */
int staged_engine_init(struct staged_engine *e, struct staged_file *sf,
		       unsigned int buffers)
{
	e->file = sf;
	e->looked = false;
	TAILQ_INIT(&e->backlog);
	return ring_init(&e->ring, buffers);
}

/**
 * staged_engine_exit - undo staged_engine_init(); nothing is under way
 * @e: of the calling thread
 */
void staged_engine_exit(struct staged_engine *e)
{
	ring_exit(&e->ring);
}

/**
 * staged_engine_turn - submit, and handle what has completed
 * @e: of the calling thread
 * @wait: until something has
 */
void staged_engine_turn(struct staged_engine *e, bool wait)
{
	struct staged_io *io;

	ring_turn(&e->ring, wait);
	e->looked = false;
	while (!ring_full(&e->ring) && (io = TAILQ_FIRST(&e->backlog))) {
		TAILQ_REMOVE(&e->backlog, io, entry);
		rw_begin(io);
	}
}
