// SPDX-License-Identifier: GPL-2.0-only
/*
 * The I/O timeout.
 *
 * A daemon that answers keep-alives may still have lost an answer, or may hang in a file. So a
 * READ or WRITE that is a command may take io_tmo. Any other command, and a durable write, may
 * take RDMABLK_SLOW_FACTOR times as long. The block layer's timer of the request counts. When
 * the time is over, the connection counts as lost, and recovery.c logs in again. The target
 * grants only when it has ended the commands of the old session, so a request that is sent
 * again cannot overtake its first attempt. READs and WRITEs without a command may take as long
 * as the transport retries. When the disk is removed by force, or the machine goes down, any
 * request may take RDMABLK_HURRY_TMO.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/mutex.h>
#include "io_tmo.h"
#include "session.h"

/* Longest time of a request when its disk is removed by force, or the machine goes down */
#define RDMABLK_HURRY_TMO	(5 * HZ)

/**
 * rdmablk_io_tmo_expired() - upcall: a request has had its time
 * @path: of a session
 * @command: the daemon has to answer the request; false: only the RDMA devices take part
 *
 * Context: the block layer's work.
 */
void rdmablk_io_tmo_expired(struct rdmablk_path *path, bool command)
{
	struct rdmablk_session *s = container_of(path, struct rdmablk_session, path);

	if (!command)
		rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	else if (READ_ONCE(s->opt.io_tmo) > 0 || READ_ONCE(s->hurry) ||
		 rdmablk_session_state(s) == RDMABLK_DEV_DELETING)
		rdmablk_session_error(s, RDMABLK_R_IO_TIMEOUT);
}

/**
 * rdmablk_io_tmo_apply() - set how long requests that are sent from now on may take
 * @s: session
 */
void rdmablk_io_tmo_apply(struct rdmablk_session *s)
{
	unsigned int tmo = max(READ_ONCE(s->opt.io_tmo), 0) * HZ;
	unsigned int slow = tmo * RDMABLK_SLOW_FACTOR;

	if (s->hurry) {
		tmo = min_not_zero(tmo, (unsigned int)RDMABLK_HURRY_TMO);
		slow = RDMABLK_HURRY_TMO;
	}
	WRITE_ONCE(s->path.read_write_tmo, tmo);
	WRITE_ONCE(s->path.slow_tmo, slow);
}

/*
 * Applies the changed limits to requests under way. A task in queue_rq may have read the older
 * limit for a request that it has not started yet. The quiesce waits for such tasks.
 */
static void rdmablk_io_tmo_rearm(struct rdmablk_session *s, unsigned int most)
{
	blk_mq_quiesce_queue(s->disk->queue);
	rdmablk_request_rearm(&s->tag_set, most);
	blk_mq_unquiesce_queue(s->disk->queue);
}

/**
 * rdmablk_io_tmo_changed() - apply a changed io_tmo, also to requests under way
 * @s: session
 *
 * Context: may sleep.
 */
void rdmablk_io_tmo_changed(struct rdmablk_session *s)
{
	mutex_lock(&s->disk_mutex);
	rdmablk_io_tmo_apply(s);
	if (s->disk)
		rdmablk_io_tmo_rearm(s, UINT_MAX);
	mutex_unlock(&s->disk_mutex);
}

/**
 * rdmablk_io_tmo_hurry() - give requests RDMABLK_HURRY_TMO at most, because the disk is
 *	removed or the machine goes down
 * @s: session
 *
 * Context: may sleep.
 */
void rdmablk_io_tmo_hurry(struct rdmablk_session *s)
{
	mutex_lock(&s->disk_mutex);
	WRITE_ONCE(s->hurry, true);
	rdmablk_io_tmo_apply(s);
	if (s->disk) {
		/* A login may set the timeout at the same time. */
		spin_lock_irq(&s->lock);
		blk_queue_rq_timeout(s->disk->queue, RDMABLK_HURRY_TMO);
		spin_unlock_irq(&s->lock);
		rdmablk_io_tmo_rearm(s, RDMABLK_HURRY_TMO);
	}
	mutex_unlock(&s->disk_mutex);
}
