// SPDX-License-Identifier: GPL-2.0-only
/*
 * The I/O timeout.
 *
 * A daemon that answers keep-alives may still have lost an answer, or a file may hang it.
 * So a command has io_tmo, counted by the block layer's timer of its request: a READ or
 * WRITE once, any other command and a durable write RDMABLK_SLOW_FACTOR times. Then the
 * connection counts as lost, and everything goes on as in recovery.c: a login, and so a
 * request that is sent again, waits until the target has ended what it has begun with.
 * READs and WRITEs without a command have the time that the transport retries for.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/mutex.h>
#include "io_tmo.h"
#include "session.h"

/* What a request may take when its disk is removed by force, or the machine goes down */
#define RDMABLK_HURRY_TMO	(5 * HZ)

/**
 * rdmablk_io_tmo_expired() - upcall: a request has had its time
 * @path: of a session
 * @command: a command of the daemon's; else it is of the RDMA device alone
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
 * rdmablk_io_tmo_apply() - how long requests may take that are sent from now on
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

/**
 * rdmablk_io_tmo_changed() - io_tmo was changed: it counts for what is under way, too
 * @s: session
 *
 * Context: may sleep.
 */
void rdmablk_io_tmo_changed(struct rdmablk_session *s)
{
	mutex_lock(&s->disk_mutex);
	rdmablk_io_tmo_apply(s);
	if (s->disk)
		rdmablk_request_rearm(&s->tag_set, UINT_MAX);
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
		blk_queue_rq_timeout(s->disk->queue, RDMABLK_HURRY_TMO);
		rdmablk_request_rearm(&s->tag_set, RDMABLK_HURRY_TMO);
	}
	mutex_unlock(&s->disk_mutex);
}
