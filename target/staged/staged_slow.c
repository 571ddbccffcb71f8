// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DISCARD, WRITE_ZEROES and SECURE_ERASE. They may take long and have no entries in a
 * ring: a thread for each file does them one after the other, in pieces between which
 * it looks whether somebody still wants them.
 */
#include <signal.h>

#include "base/log.h"
#include "base/util.h"
#include "staged/staged_io.h"

#define PIECE	(64ULL << 20)	/* bytes */

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
		uint64_t bytes = min_u64(io->bytes - io->at, PIECE);

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

/**
 * staged_slow_begin - have a command done by the thread for them
 * @io: DISCARD, WRITE_ZEROES or SECURE_ERASE, in its own thread
 */
void staged_slow_begin(struct staged_io *io)
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

/**
 * staged_slow_stop - end the thread; nothing is under way
 * @sf: its file
 */
void staged_slow_stop(struct staged_file *sf)
{
	pthread_mutex_lock(&sf->lock);
	sf->stop = true;
	pthread_cond_signal(&sf->wake);
	pthread_mutex_unlock(&sf->lock);
	if (sf->threaded)
		pthread_join(sf->thread, NULL);
}
