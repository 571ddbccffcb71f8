// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a session: create, connect, publish, claim, remove.
 *
 * rdmablk_lifecycle_claim() decides which task removes a session. That task ends held I/O,
 * then marks the disk dead, then calls del_gendisk(). A file system that learns of its dead
 * disk may wait for I/O, and del_gendisk() always does. The top of session.c has the order of
 * a teardown.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include "ctrl_events.h"
#include "disk.h"
#include "io_tmo.h"
#include "lifecycle.h"
#include "log.h"
#include "login.h"
#include "recovery.h"
#include "registry.h"
#include "session.h"
#include "sysfs.h"

/*
 * From now on no error starts a recovery. Return: false: an error came first, or there was no
 * connection.
 */
static bool rdmablk_lifecycle_seal(struct rdmablk_session *s)
{
	bool sealed;

	spin_lock_irq(&s->lock);
	sealed = rdmablk_session_set_phase(s, RDMABLK_PHASE_SEALED);
	spin_unlock_irq(&s->lock);
	return sealed;
}

/**
 * rdmablk_lifecycle_create() - a new session, not connected
 * @opt: options
 * @nl_portid: netlink socket that waits for it, or 0
 * @why: set to a text on error
 *
 * Return: session, or an ERR_PTR: -EEXIST, -ENOMEM.
 */
struct rdmablk_session *rdmablk_lifecycle_create(const struct rdmablk_options *opt,
						 u32 nl_portid, const char **why)
{
	struct rdmablk_session *s = rdmablk_session_alloc(opt);
	int ret;

	*why = "out of memory";
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->nl_portid = nl_portid;
	s->path.timed_out = rdmablk_io_tmo_expired;
	rdmablk_io_tmo_apply(s);
	rdmablk_ctrl_init(&s->ctrl, &rdmablk_ctrl_events_ops, &s->waiter,
			  &s->errors, rdmablk_ctrl_events_fatal);
	rdmablk_recovery_init(s);
	ret = rdmablk_registry_add(s, why);
	if (!ret)
		return s;
	rdmablk_session_put(s);
	return ERR_PTR(ret);
}

/**
 * rdmablk_lifecycle_connect() - log in
 * @s: new session
 *
 * Sleeps until the login has made no progress for connect_tmo, and no longer than
 * rdmablk_patience_login() says. After success I/O is possible and the disk is there, but not
 * visible; after an error the caller calls rdmablk_lifecycle_abort().
 *
 * Return: 0 or a negative errno, with a text in @s->why, which has been logged.
 */
int rdmablk_lifecycle_connect(struct rdmablk_session *s)
{
	int ret;

	if (!rdmablk_session_move(s, RDMABLK_DEV_CONNECTING))
		return -EALREADY;
	ret = rdmablk_login(s);
	if (!ret)
		return 0;
	if (!s->why)
		s->why = "connect failed";
	/* The disk shows this reason until the caller has removed it. */
	s->outage.reason = s->login.reason;
	rdmablk_err(s, "connect failed: %s (%d)\n", s->why, ret);
	return ret;
}

/*
 * The scan for partitions has opened the disk. A kernel thread closes files a little later,
 * and until then the disk would count as in use. This function waits for that, but only
 * briefly, because others may have opened the disk meanwhile.
 */
static void rdmablk_lifecycle_scanned(struct gendisk *disk)
{
	unsigned long deadline = jiffies + HZ / 20 + 1;

	while (disk_openers(disk) && time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(1);
}

/**
 * rdmablk_lifecycle_publish() - make the disk visible
 * @s: session after rdmablk_lifecycle_connect()
 *
 * On error the caller calls rdmablk_lifecycle_abort().
 *
 * Return: 0; 1 when somebody disconnected it meanwhile, so that the caller has to remove
 * it; or a negative errno, with a text in @s->why, which has been logged.
 */
int rdmablk_lifecycle_publish(struct rdmablk_session *s)
{
	struct rdmablk_agreed a;
	int ret;

	rdmablk_session_agreed(s, &a);
	kref_get(&s->ref);
	ret = device_add_disk(NULL, s->disk, rdmablk_disk_groups);
	if (ret) {
		rdmablk_session_put(s);
		s->why = "cannot add the disk";
		rdmablk_err(s, "cannot add the disk (%d)\n", ret);
		return ret;
	}
	rdmablk_lifecycle_scanned(s->disk);
	rdmablk_info(s, "%llu bytes, %u-byte blocks%s%s, %u queues of depth %u, %u READs each, on %s port %u\n",
		     a.grant.size, a.grant.logical_block,
		     a.grant.flags & RDMABLK_GRANT_READ_ONLY ? ", read-only" : "",
		     a.grant.flags & RDMABLK_GRANT_SHARED ? ", shared" : "",
		     a.nr_hwqs, a.grant.queue_depth, a.read_depth, a.ibdev, a.port);
	mutex_lock(&s->disk_mutex);
	/* Pairs with the acquire in netlink.c: there is something to tell. */
	smp_store_release(&s->added, true);
	ret = s->end == RDMABLK_END_UNWANTED;
	mutex_unlock(&s->disk_mutex);
	/* If the connection was lost meanwhile, I/O is held from now on. */
	rdmablk_recovery_changed(s);
	/* The connection may also have been lost and be back already. */
	rdmablk_disk_look(s);
	return ret;
}

/* Ends the recovery, then tears the session down; see the top of session.c. */
static void rdmablk_lifecycle_teardown(struct rdmablk_session *s, bool logout)
{
	bool sealed = rdmablk_lifecycle_seal(s);

	rdmablk_recovery_finish(s);
	if (logout && sealed)
		rdmablk_recovery_logout(s, true);
	WRITE_ONCE(s->path.live, false);
	rdmablk_session_stop_data(s);
	rdmablk_ctrl_stop(&s->ctrl);
	rdmablk_session_destroy_queues(s);
	rdmablk_disk_free(s);
	rdmablk_registry_del(s);
	complete_all(&s->gone);
	rdmablk_session_put(s);
}

/**
 * rdmablk_lifecycle_abort() - end a session whose disk was never visible
 * @s: session; the caller's reference, the list's, is used up
 */
void rdmablk_lifecycle_abort(struct rdmablk_session *s)
{
	bool logout = rdmablk_session_state(s) == RDMABLK_DEV_LIVE;

	rdmablk_session_move(s, RDMABLK_DEV_DELETING);
	rdmablk_lifecycle_teardown(s, logout);
}

/* Return: false: other tasks have been opening, closing or scanning the disk for a second. */
static bool rdmablk_lifecycle_lock_open(struct gendisk *disk)
{
	unsigned long deadline = jiffies + HZ;

	while (!mutex_trylock(&disk->open_mutex)) {
		if (time_after(jiffies, deadline))
			return false;
		schedule_timeout_uninterruptible(1);
	}
	return true;
}

/*
 * The check for openers and the move to "deleting" are one step under open_mutex: a later
 * open is refused, an earlier one makes the disk busy. A forced removal ignores openers.
 */
static int rdmablk_lifecycle_claim_disk(struct rdmablk_session *s, bool force,
					const char **why)
{
	int ret = 0;

	lockdep_assert_held(&s->disk_mutex);
	/*
	 * A scan for partitions does I/O under open_mutex. If that I/O is held, only the
	 * removal ends it, so a forced removal does not wait for the mutex.
	 */
	if (!force && !rdmablk_lifecycle_lock_open(s->disk)) {
		*why = "the device is in use";
		return -EBUSY;
	}
	if (rdmablk_session_state(s) == RDMABLK_DEV_DELETING) {
		*why = "the device is being disconnected already";
		ret = -EALREADY;
	} else if (!force && disk_openers(s->disk)) {
		*why = "the device is in use";
		ret = -EBUSY;
	} else if (!rdmablk_session_move(s, RDMABLK_DEV_DELETING)) {
		*why = "the device is still connecting";
		ret = -EAGAIN;
	} else {
		s->end = force ? RDMABLK_END_FORCED : RDMABLK_END_ORDERLY;
	}
	if (!force)
		mutex_unlock(&s->disk->open_mutex);
	return ret;
}

/**
 * rdmablk_lifecycle_unwanted() - nobody waits for the first connect any more
 * @s: session
 *
 * Has no effect once the disk has been added.
 */
void rdmablk_lifecycle_unwanted(struct rdmablk_session *s)
{
	mutex_lock(&s->disk_mutex);
	if (!READ_ONCE(s->added)) {
		s->end = RDMABLK_END_UNWANTED;
		rdmablk_queue_waiter_cancel(&s->waiter);
	}
	mutex_unlock(&s->disk_mutex);
}

/**
 * rdmablk_lifecycle_claim() - the right, and the duty, to remove a session
 * @s: session
 * @force: even if the disk is in use
 * @why: set to a text on error
 *
 * Context: may sleep, but waits for no I/O and for no peer.
 *
 * Return: 0: the caller calls rdmablk_lifecycle_remove(); 1: the session was still connecting
 * and removes itself soon; -EBUSY; -EALREADY.
 */
int rdmablk_lifecycle_claim(struct rdmablk_session *s, bool force, const char **why)
{
	int ret;

	mutex_lock(&s->disk_mutex);
	if (!READ_ONCE(s->added)) {
		s->end = RDMABLK_END_UNWANTED;
		rdmablk_queue_waiter_cancel(&s->waiter);
		ret = 1;
	} else if (!s->disk) {
		*why = "the device is being disconnected already";
		ret = -EALREADY;
	} else {
		ret = rdmablk_lifecycle_claim_disk(s, force, why);
	}
	mutex_unlock(&s->disk_mutex);
	return ret;
}

/**
 * rdmablk_lifecycle_remove() - log out and remove the disk
 * @s: claimed session; the caller keeps its reference
 *
 * Without a connection this function waits until no write is held any more, which is bounded
 * by the target's session timeout. On a live session the page cache of the block device is
 * still written; later I/O on open file descriptors fails. When forced, a request that takes
 * longer than RDMABLK_HURRY_TMO is an error of the connection.
 */
void rdmablk_lifecycle_remove(struct rdmablk_session *s)
{
	bool failed = READ_ONCE(s->outage.phase) != RDMABLK_PHASE_UP;

	/*
	 * Nothing is written back to a disk without a connection. If the connection fails
	 * later, the recovery ends the I/O that del_gendisk() waits for.
	 */
	if (failed)
		rdmablk_recovery_give_up(s);
	else if (s->end == RDMABLK_END_FORCED)
		rdmablk_io_tmo_hurry(s);
	/*
	 * The recovery kicks the requeue list. That must be over before del_gendisk(), and it
	 * does not begin again after the move to "deleting". The disk's work, which changes
	 * the capacity, ends, too.
	 */
	flush_delayed_work(&s->recovery_work);
	cancel_delayed_work_sync(&s->disk_work);
	if (failed)
		blk_mark_disk_dead(s->disk);
	del_gendisk(s->disk);
	if (!failed)
		rdmablk_recovery_flush(s);
	rdmablk_info(s, "disconnected\n");
	rdmablk_lifecycle_teardown(s, true);
}

/**
 * rdmablk_lifecycle_remove_all() - at module exit: nobody has a disk open, nobody can
 *	connect
 */
void rdmablk_lifecycle_remove_all(void)
{
	struct rdmablk_session *s = NULL;
	const char *why;

	while (rdmablk_registry_step(&s)) {
		if (!rdmablk_lifecycle_claim(s, true, &why))
			rdmablk_lifecycle_remove(s);
	}
	rdmablk_session_await_freed();
}
