// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * I/O on a file or block device.
 *
 * The file is not registered with the rings. A ring releases registered files some time
 * after it is closed, and the file system of a daemon that has ended would stay busy.
 *
 * READ and WRITE take one entry of the ring each, as long as the kernel does all of it at
 * once. The rest of a short transfer is asked for again. A transfer of less than a block
 * means that the file has ended, which is an error.
 *
 * FLUSH: one fdatasync at a time for each file, whichever threads the commands come from.
 * FLUSHes that come meanwhile share the next one. The kernel tells an error of the page
 * cache to one fdatasync only, so with two at once one could succeed in spite of the error.
 * After one has failed, no other is tried: the kernel has marked clean what it could not
 * write. EINTR and EAGAIN count as such a failure, too, because the kernel may return
 * them in place of that error (mm/filemap.c, file_write_and_wait_range()).
 *
 * A FLUSH with nothing to make durable needs no fdatasync. @unsynced is set after a
 * command has changed the file and before the command is answered, and is cleared just
 * before an fdatasync begins. So a change that was answered before a FLUSH came either
 * left the flag set, or was made before the last fdatasync began. The flag is set at the
 * start, because a former process may have left changes in the page cache.
 *
 * A WRITE with FUA is a write and then a FLUSH, each with its own errors; an error of the
 * write concerns no other command. RWF_DSYNC does both in one, with one error for both, and
 * EIO does not tell a bad sector from a lost cache. It is used only where a device makes
 * the write durable by itself, and flushes nothing with it (file.c).
 *
 * A device may do something else than it says: one behind a network may flush a cache
 * there. So a write that failed with RWF_DSYNC is tried again without. When the second try
 * fails in the same way, it was the write. When the second try succeeds, it was a sync,
 * unless no sync has that error; then a FLUSH makes the write durable. When the second try
 * fails otherwise, it proves nothing, and the first failure counts as one of a sync.
 * FLUSHes use another descriptor than direct writes, so neither takes the news of an error
 * of the page cache from the other.
 *
 * An error of the device's cache is told once, to the request that had the device write the
 * cache out. That may be a write with FUA whose completion waits in the ring of one thread
 * while an fdatasync, or another write with FUA, begins and ends well in another thread. So
 * a FLUSH, or such a write, is answered when the outcome of every write with FUA is known
 * that was under way when it ended: an earlier loss has failed one of these. A write with
 * FUA waits for the fdatasync under way, too. Writes with FUA are counted in two
 * generations, and only one of them grows; otherwise a FLUSH would wait for as long as
 * writes with FUA keep coming. A write with FUA that is alone waits for nothing.
 *
 * A file that is served by several hosts in turn is @through: what is acknowledged must be in
 * the file when the next host opens it, although nobody has flushed. O_DIRECT is not enough.
 * Replicated devices such as DRBD and RBD compute checksums over data on its way, so that
 * is_direct() has it copied into the page cache of this host. And a file system may keep in
 * its journal's memory where a block is. So each WRITE is one with FUA, and a DISCARD,
 * WRITE_ZEROES or SECURE_ERASE is followed by a FLUSH of its own.
 *
 * staged_loss.c says what a failure means for this and other files.
 *
 * DISCARD, WRITE_ZEROES and SECURE_ERASE may take long and have no entries in a ring. A
 * thread for each file does them one after the other, in pieces, and looks between two
 * pieces whether the command is still wanted.
 */
#include <errno.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/retry.h"
#include "base/util.h"
#include "staged/staged_fault.h"
#include "staged/staged_io.h"

#define SLOW_PIECE	(64ULL << 20)	/* piece of a DISCARD or another long command, bytes */

/* Ends a command, in its own thread. */
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
 * The caller has set @syncing and does not hold the lock: a full ring makes system calls
 * until it takes the entry.
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
	staged_fault(&ask);
}

static void told_finish(struct ring_note *note)
{
	struct staged_io *io = container_of(note, struct staged_io, note);

	io->done(io);
}

/* Ends a command, from another thread than its own. */
static void staged_tell(struct staged_io *io, unsigned int status)
{
	io->status = status;
	io->note.run = told_finish;
	ring_tell(&io->engine->ring, &io->note);
}

/* Ends a command in its own thread; called in any thread. */
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
 * Moves to @ios the commands that wait for no write with FUA any more. Commands that came
 * after the last generation was closed wait for the next one, which is closed when the last
 * one has ended. The lock is held.
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

/* The lock is not held, because an owner may begin the next command. */
static void held_finish(struct staged_file *sf, struct staged_ios *ios,
			const struct ring *here)
{
	finish_all(ios, here, atomic_load(&sf->failed) ? RDMABLK_R_STORE_FAILED :
		   RDMABLK_OK);
}

/* An fdatasync has failed: fails its FLUSHes, and those that waited for the next one. */
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
	/* Nothing has changed since this one began, so it covers those that wait, too. */
	if (!atomic_load(&sf->unsynced))
		TAILQ_CONCAT(&sf->synced, &sf->waiting, entry);
	held_release(sf, &done);
	TAILQ_CONCAT(&sf->batch, &sf->waiting, entry);
	again = !TAILQ_EMPTY(&sf->batch);
	sf->syncing = again;
	sf->since = monotonic_ms();
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
	if (file_removed(sf->file)) {
		staged_finish(io, RDMABLK_R_STORE_IO);
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
		sf->since = monotonic_ms();
		start = true;
	}
	pthread_mutex_unlock(&sf->lock);
	if (start)
		sync_start(sf, here);
	held_finish(sf, &done, here);
}

/*
 * DISCARD, WRITE_ZEROES and SECURE_ERASE
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

static void slow_flush(struct ring_note *note)
{
	flush_begin(container_of(note, struct staged_io, note));
}

/* Ends a long command, which has changed the file. */
static void slow_end(struct staged_io *io, unsigned int status)
{
	if (status != RDMABLK_OK || !io->engine->file->through) {
		staged_tell(io, status);
		return;
	}
	io->note.run = slow_flush;
	ring_tell(&io->engine->ring, &io->note);
}

static void slow_run(struct job *job)
{
	struct staged_io *io = container_of(job, struct staged_io, job);
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
	slow_end(io, io->at < io->bytes && !ret ? RDMABLK_R_INTERNAL : file_reason(ret));
}

/*
 * Gives a command to the thread for long commands, in which the sessions of a shared export take
 * turns: they differ in @cancel. In the thread of @io.
 */
static void slow_begin(struct staged_io *io)
{
	io->job = (struct job){ .run = slow_run };
	memcpy(&io->job.client, &io->cancel, sizeof(io->cancel));
	if (worker_add(&io->engine->file->slow, &io->job))
		staged_finish(io, RDMABLK_R_NO_MEMORY);
}

/*
 * READ and WRITE
 */

/* Before the kernel has the write, because other commands wait for its outcome. */
static void fua_begin(struct staged_io *io)
{
	struct staged_file *sf = io->engine->file;

	if (io->counted)
		return;
	io->counted = true;
	pthread_mutex_lock(&sf->lock);
	io->turn = sf->turn;
	if (!sf->fua[io->turn]++)
		sf->fua_since[io->turn] = monotonic_ms();
	pthread_mutex_unlock(&sf->lock);
}

/*
 * The outcome of a write with FUA is known, and a loss is noted. @safe: the write itself
 * is durable; it is answered when no other write can have lost it.
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
 * Data must not change while it is written to a disk with checksums, but a peer may WRITE
 * to its slot at any time. Writes to such a disk go through the page cache: the kernel
 * copies the data and writes the copy.
 *
 * If the file wants larger blocks than the export has, some writes have to go through the page
 * cache, so all do. A direct write that ends while its page is dirty makes the kernel report a
 * lost write: the next fdatasync fails with EIO, as if the disk had lost data of all exports.
 */
static bool is_direct(const struct file *f, const struct staged_io *io, const char *buf,
		      uint64_t offset, uint64_t bytes)
{
	if (io->op == RDMABLK_OP_WRITE && (f->stable || f->align > f->logical_block))
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

	staged_fault(&ask);
}

/* A write without RWF_DSYNC has changed the file, at least in part. */
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

/* The first try may have failed because of a sync. */
static bool in_doubt(const struct staged_io *io)
{
	return io->suspect && !disk_loss_own_error(io->suspect);
}

static void rw_done(struct staged_io *io)
{
	rw_changed(io);
	if (in_doubt(io)) {
		staged_fail(io->engine->file, io->suspect);
		rw_finish(io, RDMABLK_R_STORE_IO);
	} else if (io->fua && io->plain) {
		fua_end(io, false);	/* or the FLUSH would wait for its own write */
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
 * The file ends before the transfer does. file_shrunk() logs that once. At the second try of
 * a write with FUA that is not how the first has failed, which may have been a sync.
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
 * A write behind the end of a file that was cut would make the file longer again, with
 * zeroes in place of the lost data. The length is read once for all writes of a turn.
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
 * staged_begin - begin a command
 * @io: filled up to @bytes; its @done may be called before this returns
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
	io->fua |= io->op == RDMABLK_OP_WRITE && io->engine->file->through;
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
 * staged_file_init - prepare a file for any number of threads
 * @sf: filled
 * @file: open; stays the caller's
 * @identity: RDMABLK_ID_LEN bytes, from file_epoch()
 * @disk: RDMABLK_ID_LEN bytes, from file_disk()
 */
void staged_file_init(struct staged_file *sf, struct file *file, const uint8_t *identity,
		      const uint8_t *disk)
{
	*sf = (struct staged_file){ .file = file, .sync.ready = sync_ready };
	atomic_init(&sf->unsynced, true);
	memcpy(sf->identity, identity, sizeof(sf->identity));
	memcpy(sf->watch.disk, disk, sizeof(sf->watch.disk));
	TAILQ_INIT(&sf->batch);
	TAILQ_INIT(&sf->waiting);
	TAILQ_INIT(&sf->synced);
	TAILQ_INIT(&sf->held);
	pthread_mutex_init(&sf->lock, NULL);
	worker_init(&sf->slow, "slow", 1);
	staged_loss_watch(sf);
}

/**
 * staged_file_exit - undo staged_file_init(); no command is under way
 * @sf: file
 */
void staged_file_exit(struct staged_file *sf)
{
	staged_loss_forget(sf);
	worker_end(&sf->slow, 0);
	pthread_mutex_destroy(&sf->lock);
}

/**
 * staged_engine_init - make the calling thread one that does I/O
 * @e: filled
 * @sf: file of the I/O; NULL: there is none, and no io_uring
 * @buffers: number of buffers that may be registered with the ring
 *
 * Return: 0 or -errno.
 */
int staged_engine_init(struct staged_engine *e, struct staged_file *sf,
		       unsigned int buffers)
{
	e->file = sf;
	e->looked = false;
	TAILQ_INIT(&e->backlog);
	return sf ? ring_init(&e->ring, buffers) : ring_init_epoll(&e->ring);
}

/**
 * staged_engine_exit - undo staged_engine_init(); no I/O is under way
 * @e: of the calling thread
 */
void staged_engine_exit(struct staged_engine *e)
{
	ring_exit(&e->ring);
}

/**
 * staged_engine_turn - submit I/O and handle completions
 * @e: of the calling thread
 * @wait: wait until something has completed
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
