// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: the object, its states, its beginning and its end.
 *
 * Who holds what
 *
 * A session is referenced by the list of sessions, by its disk once that is added
 * (until the last close after del_gendisk()), and by who looked it up. The list's
 * reference belongs to whoever moves the session to "deleting", which happens once.
 *
 * On an RDMA device a session owns, in this order: the ids of rdma_cm, which hold
 * the device; the protection domain; completion queues; queue pairs and mapped
 * buffers; mapped pages of requests. The removal of the device waits for the ids.
 *
 * Teardown order, after an error (recovery.c), after a login that came to nothing, and
 * at the end:
 *
 *  1. path.live goes false and the queue is quiesced, or the disk is deleted: nobody
 *     posts any more.
 *  2. No more fences and flushes; data queues: disconnect all, then drain each. No
 *     completion handler runs and the device touches no page of a request after this.
 *  3. Requests left over are unmapped and held (request.c).
 *  4. Control queue: said goodbye on, disconnected, drained.
 *  5. Queue pairs, then completion queues, message buffers, protection domain.
 *  6. Ids of rdma_cm. From here the device may vanish.
 *  7. Disk and tag set.
 *
 * Each step can be repeated without harm. Steps 2 to 6 are run by one context at a
 * time: the first login; the recovery work; or, after the recovery work has been
 * flushed and can not start again because the error flag is set, whoever removes the
 * session.
 *
 * Removal
 *
 * rdmablk_session_claim() decides who removes a session. Held I/O is ended before the
 * disk is marked dead, and that is done before del_gendisk(): a file system that is
 * told that its disk is dead may wait for I/O, and del_gendisk() does.
 *
 * Errors
 *
 * rdmablk_session_error() may be called from any context, any number of times and
 * from all queues at once. While no connection carries I/O ("down") it only notes the
 * reason for the login under way. Otherwise the error flag, set once under the lock,
 * decides who starts the recovery.
 */
#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "cm.h"
#include "disk.h"
#include "log.h"
#include "netlink.h"
#include "poll.h"
#include "session.h"
#include "state.h"
#include "trace.h"

/* Sessions that exist, in the list or not */
static atomic_t rdmablk_sessions_left;

/**
 * rdmablk_session_options_init() - the defaults
 * @opt: to fill
 */
void rdmablk_session_options_init(struct rdmablk_options *opt)
{
	memset(opt, 0, sizeof(*opt));
	opt->queue_depth = RDMABLK_DEFAULT_DEPTH;
	opt->keep_alive_tmo = RDMABLK_DEFAULT_KEEP_ALIVE;
	opt->connect_tmo = RDMABLK_DEFAULT_CONNECT_TMO;
	opt->route.ack_timeout = RDMABLK_ACK_TIMEOUT_AUTO;
	opt->route.tos = RDMABLK_TOS_UNSET;
	opt->reconnect_delay = RDMABLK_DEFAULT_RECONNECT_DELAY;
	opt->fast_io_fail_tmo = RDMABLK_DEFAULT_FAST_IO_FAIL;
	opt->dev_loss_tmo = RDMABLK_DEFAULT_DEV_LOSS;
	opt->io_tmo = RDMABLK_DEFAULT_IO_TMO;
	memcpy(opt->host_id, rdmablk_host_id, sizeof(opt->host_id));
}

static void rdmablk_session_free(struct kref *ref)
{
	struct rdmablk_session *s = container_of(ref, struct rdmablk_session, ref);

	rdmablk_mac_close(&s->mac);
	kvfree_sensitive(s->path.region, s->nr_regions * sizeof(*s->path.region));
	rdmablk_fence_exit(&s->path.fence);
	rdmablk_hwq_free(s);
	rdmablk_stats_timing_exit(&s->path.timing);
	free_percpu(s->path.stats);
	kfree_sensitive(s);
	if (atomic_dec_and_test(&rdmablk_sessions_left))
		wake_up_var(&rdmablk_sessions_left);
}

/**
 * rdmablk_session_put() - drop a reference
 * @s: session
 */
void rdmablk_session_put(struct rdmablk_session *s)
{
	kref_put(&s->ref, rdmablk_session_free);
}

/**
 * rdmablk_session_state() - the state now
 * @s: session
 *
 * Return: enum rdmablk_dev_state.
 */
enum rdmablk_dev_state rdmablk_session_state(struct rdmablk_session *s)
{
	return READ_ONCE(s->state);
}

/* The one setter. Returns the state before, or -1 when the move is not allowed. */
static int rdmablk_session_set(struct rdmablk_session *s, enum rdmablk_dev_state to)
{
	enum rdmablk_dev_state from = s->state;

	lockdep_assert_held(&s->lock);
	if (!rdmablk_state_may_move(from, to))
		return -1;
	WRITE_ONCE(s->state, to);
	return from;
}

static void rdmablk_session_moved(struct rdmablk_session *s, int from,
				  enum rdmablk_dev_state to)
{
	trace_rdmablk_state(s->index, from, to, READ_ONCE(s->reason));
	rdmablk_netlink_event(s);
}

/**
 * rdmablk_session_move() - the way to any state but "live"
 * @s: session
 * @to: state to move to
 *
 * The move is what excludes doing a thing twice: of two callers that want the same
 * move one gets it.
 *
 * Context: may sleep; announces the move.
 *
 * Return: false when the move is not allowed from the state the session is in.
 */
bool rdmablk_session_move(struct rdmablk_session *s, enum rdmablk_dev_state to)
{
	int from;

	spin_lock_irq(&s->lock);
	/* The administrator may have begun anew since it was lost. */
	from = to == RDMABLK_DEV_FAILED && !s->lost ? -1 : rdmablk_session_set(s, to);
	spin_unlock_irq(&s->lock);
	if (from < 0)
		return false;
	rdmablk_session_moved(s, from, to);
	return true;
}

/**
 * rdmablk_session_go_live() - the login has succeeded: I/O may be posted
 * @s: session whose queues are connected
 *
 * Context: may sleep; announces the move.
 *
 * Return: false when an error came in between, or the session is being removed, or
 * reconnecting has ended.
 */
bool rdmablk_session_go_live(struct rdmablk_session *s)
{
	u16 drained = 0;
	u64 resized = 0;
	int from = -1;

	spin_lock_irq(&s->lock);
	if (!s->attempt_reason && !s->lost)
		from = rdmablk_session_set(s, RDMABLK_DEV_LIVE);
	if (from >= 0) {
		/* Whatever was lost with the old contents has been accepted. */
		if (s->resume && memcmp(s->agreed.grant.epoch, s->offer.grant.epoch,
					sizeof(s->offer.grant.epoch)))
			s->path.unflushed = false;
		if (!s->resume)
			s->told = s->offer;
		s->agreed = s->offer;
		s->live_at = jiffies;
		s->down = false;
		s->error = false;
		s->fenced = false;
		s->reason = 0;
		s->resume = true;
		s->accept_loss = false;
		s->path.failing = false;
		WRITE_ONCE(s->path.failing_fast, false);
		WRITE_ONCE(s->path.holding, false);
		resized = s->resized;
		drained = s->drained;
		/* Pairs with the acquire in dispatch.c. */
		smp_store_release(&s->path.live, true);
	}
	spin_unlock_irq(&s->lock);
	if (from < 0)
		return false;
	rdmablk_session_moved(s, from, RDMABLK_DEV_LIVE);
	if (resized)
		rdmablk_session_resized(s, resized);
	if (drained)
		rdmablk_ctrl_events_drain(s, drained);
	return true;
}

/**
 * rdmablk_session_agreed() - what the last login has agreed on
 * @s: session that has been live
 * @agreed: copy
 */
void rdmablk_session_agreed(struct rdmablk_session *s, struct rdmablk_agreed *agreed)
{
	spin_lock_irq(&s->lock);
	*agreed = s->agreed;
	spin_unlock_irq(&s->lock);
}

/**
 * rdmablk_session_is_orderly() - does the connection still work when a session ends for it
 * @reason: enum rdmablk_reason
 *
 * Return: whether what has been written may be flushed first.
 */
bool rdmablk_session_is_orderly(u16 reason)
{
	return reason == RDMABLK_R_SHUTDOWN || reason == RDMABLK_R_EXPORT_GONE ||
	       reason == RDMABLK_R_LOGOUT;
}

/**
 * rdmablk_session_error() - a connection has failed
 * @s: session
 * @reason: enum rdmablk_reason
 *
 * Context: any. The first call counts.
 */
void rdmablk_session_error(struct rdmablk_session *s, u16 reason)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (s->down) {
		/* Who logs in sees it and cleans up. */
		if (!s->attempt_reason)
			s->attempt_reason = reason;
	} else if (!s->error) {
		s->error = true;
		s->reason = reason;
		s->lost_at = jiffies;
		s->clock = jiffies;
		WRITE_ONCE(s->path.live, false);
		/* Under the lock: who seals the session finds it queued, or not at all. */
		mod_delayed_work(rdmablk_recovery_wq, &s->recovery_work, 0);
	}
	spin_unlock_irqrestore(&s->lock, flags);
	/* With these the connection still works, and may be flushed on. */
	if (!rdmablk_session_is_orderly(reason))
		rdmablk_fence_break(&s->path.fence);
	/* The removal of the device waits for us: no goodbye, which takes time. */
	if (reason == RDMABLK_R_DEVICE_GONE)
		rdmablk_ctrl_break(&s->ctrl);
}

/**
 * rdmablk_session_resized() - the target says that the export has grown
 * @s: session with a control queue
 * @bytes: its size now
 *
 * A login that is under way may have been granted the old size: it looks when it is done.
 * One that follows an error will be granted the new one. Context: any.
 */
void rdmablk_session_resized(struct rdmablk_session *s, u64 bytes)
{
	bool larger, staged;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (s->down)
		s->resized = max(s->resized, bytes);
	larger = s->path.live &&
		 round_down(bytes, (u64)s->agreed.grant.logical_block) > s->agreed.grant.size;
	staged = larger && s->path.staged;
	if (staged) {
		s->agreed.grant.size = round_down(bytes, (u64)s->agreed.grant.logical_block);
		WRITE_ONCE(s->path.size, s->agreed.grant.size);
	}
	spin_unlock_irqrestore(&s->lock, flags);
	if (staged)
		rdmablk_disk_look(s);
	else if (larger)
		/* A login gives the regions of the new size. */
		rdmablk_session_error(s, RDMABLK_R_LOGOUT);
}

/* The lock that a later error must not pass. Returns whether there was one. */
static bool rdmablk_session_seal(struct rdmablk_session *s)
{
	bool error;

	spin_lock_irq(&s->lock);
	error = s->error || s->down;
	s->sealed = !s->error;
	s->error = true;
	spin_unlock_irq(&s->lock);
	return error;
}

/**
 * rdmablk_session_data_fatal() - upcall of the data queues
 * @q: queue
 * @reason: enum rdmablk_reason
 */
void rdmablk_session_data_fatal(struct rdmablk_queue *q, u16 reason)
{
	struct rdmablk_hwq *hwq = q->kind == RDMABLK_KIND_READ ?
		container_of(q, struct rdmablk_hwq, read) :
		container_of(q, struct rdmablk_hwq, write);

	WRITE_ONCE(q->failed, true);
	rdmablk_session_error(container_of(hwq->path, struct rdmablk_session, path),
			      reason);
}

/**
 * rdmablk_session_create() - a new session, not connected
 * @opt: options
 * @nl_portid: netlink socket that waits for it, or 0
 * @why: set to a text on error
 *
 * Return: session, or an ERR_PTR: -EEXIST, -ENOMEM.
 */
struct rdmablk_session *rdmablk_session_create(const struct rdmablk_options *opt,
					       u32 nl_portid, const char **why)
{
	struct rdmablk_session *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	*why = "out of memory";
	if (!s)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&rdmablk_sessions_left);
	kref_init(&s->ref);
	spin_lock_init(&s->lock);
	mutex_init(&s->disk_mutex);
	init_completion(&s->gone);
	init_completion(&s->login_done);
	rdmablk_queue_waiter_init(&s->waiter);
	s->opt = *opt;
	if (opt->route.ack_timeout != RDMABLK_ACK_TIMEOUT_AUTO)
		s->ack_timeout = opt->route.ack_timeout;
	s->nl_portid = nl_portid;
	s->state = RDMABLK_DEV_NEW;
	s->down = true;
	s->path.stats = alloc_percpu(struct rdmablk_stats);
	s->path.timed_out = rdmablk_io_tmo_expired;
	rdmablk_io_tmo_apply(s);
	get_random_bytes(s->instance_id, sizeof(s->instance_id));
	rdmablk_ctrl_init(&s->ctrl, &rdmablk_ctrl_events_ops, &s->waiter,
			  &s->errors, rdmablk_ctrl_events_fatal);
	rdmablk_recovery_init(s);
	rdmablk_fence_init(&s->path.fence, &s->path, rdmablk_wq);
	s->path.poll_wq = rdmablk_poll_wq;
	if (!s->path.stats) {
		ret = -ENOMEM;
		goto err_put;
	}
	ret = rdmablk_registry_add(s, why);
	if (!ret)
		return s;
err_put:
	rdmablk_session_put(s);
	return ERR_PTR(ret);
}

/**
 * rdmablk_session_stop_data() - disconnect and drain the data queues
 * @s: session; nobody posts requests any more
 */
void rdmablk_session_stop_data(struct rdmablk_session *s)
{
	u32 i;

	rdmablk_fence_stop(&s->path.fence);
	/* All of them first: an adapter takes its time for each, and does that side by side. */
	for (i = 0; s->path.hwq && i < s->path.nr_hwqs; i++) {
		rdmablk_queue_disconnect(&s->path.hwq[i]->write);
		rdmablk_queue_disconnect(&s->path.hwq[i]->read);
	}
	for (i = 0; s->path.hwq && i < s->path.nr_hwqs; i++) {
		rdmablk_poll_close(s->path.hwq[i]);
		/* Of the write queue first: answers to commands post READs. */
		rdmablk_queue_stop(&s->path.hwq[i]->write);
		rdmablk_queue_stop(&s->path.hwq[i]->read);
	}
	rdmablk_fence_reset(&s->path.fence);
}

/**
 * rdmablk_session_destroy_queues() - give back all there is on the RDMA device
 * @s: session with all queues stopped and no request mapped
 */
void rdmablk_session_destroy_queues(struct rdmablk_session *s)
{
	struct rdmablk_hwq *hwq;
	u32 i;

	for (i = 0; s->path.hwq && i < s->path.nr_hwqs; i++) {
		hwq = s->path.hwq[i];
		rdmablk_queue_destroy_qp(&hwq->read);
		rdmablk_queue_destroy_qp(&hwq->write);
		/*
		 * First: a receive that was posted again behind the marker of the drain
		 * ends after it, and who polls may still be about to call its handler.
		 */
		if (hwq->cq)
			ib_free_cq(hwq->cq);
		hwq->cq = NULL;
		rdmablk_cmdq_destroy(&hwq->cmdq);
	}
	rdmablk_ctrl_destroy(&s->ctrl);
	if (s->pd)
		ib_dealloc_pd(s->pd);
	s->pd = NULL;
	for (i = 0; s->path.hwq && i < s->path.nr_hwqs; i++) {
		rdmablk_cm_destroy(&s->path.hwq[i]->read);
		rdmablk_cm_destroy(&s->path.hwq[i]->write);
	}
	rdmablk_cm_destroy(&s->ctrl.queue);
}

/**
 * rdmablk_session_connect() - log in
 * @s: new session
 *
 * Sleeps for connect_tmo at most. After success I/O is possible and the disk is
 * there, but not visible; after an error the caller calls rdmablk_session_abort().
 *
 * Return: 0 or a negative errno, with a text in @s->why, which has been logged.
 */
int rdmablk_session_connect(struct rdmablk_session *s)
{
	int ret;

	if (!rdmablk_session_move(s, RDMABLK_DEV_CONNECTING))
		return -EALREADY;
	ret = rdmablk_login(s);
	if (!ret)
		return 0;
	if (!s->why)
		s->why = "connect failed";
	/* The disk's reason from now on; it is not there for long. */
	s->reason = s->attempt_reason;
	rdmablk_err(s, "connect failed: %s (%d)\n", s->why, ret);
	return ret;
}

/*
 * The scan for partitions has opened the disk, and in a kernel thread a file is closed a
 * little later. Until then the disk would be in use for nobody. Others may have opened it
 * meanwhile, so not for long.
 */
static void rdmablk_session_scanned(struct gendisk *disk)
{
	unsigned long deadline = jiffies + HZ / 20 + 1;

	while (disk_openers(disk) && time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(1);
}

/**
 * rdmablk_session_publish() - make the disk visible
 * @s: session after rdmablk_session_connect()
 *
 * On error the caller calls rdmablk_session_abort().
 *
 * Return: 0; 1 when somebody disconnected it meanwhile, so that the caller has to remove
 * it; or a negative errno, with a text in @s->why, which has been logged.
 */
int rdmablk_session_publish(struct rdmablk_session *s)
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
	rdmablk_session_scanned(s->disk);
	rdmablk_info(s, "%llu bytes, %u-byte blocks%s%s, %u queues of depth %u, %u READs each, on %s port %u\n",
		     a.grant.size, a.grant.logical_block,
		     a.grant.flags & RDMABLK_GRANT_READ_ONLY ? ", read-only" : "",
		     a.grant.flags & RDMABLK_GRANT_SHARED ? ", shared" : "",
		     a.nr_hwqs, a.grant.queue_depth, a.read_depth, a.ibdev, a.port);
	mutex_lock(&s->disk_mutex);
	/* Pairs with the acquire in netlink.c: there is something to tell. */
	smp_store_release(&s->added, true);
	ret = s->unwanted;
	mutex_unlock(&s->disk_mutex);
	/* Of a connection that was lost meanwhile: I/O is held from now on. */
	rdmablk_recovery_changed(s);
	/* Or that is back already. */
	rdmablk_disk_look(s);
	return ret;
}

/* From here on the recovery does not run; see the top of the file. */
static void rdmablk_session_teardown(struct rdmablk_session *s, bool logout)
{
	bool failed = rdmablk_session_seal(s);

	rdmablk_recovery_finish(s);
	if (logout && !failed)
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
 * rdmablk_session_abort() - end a session whose disk was never visible
 * @s: session; the caller's reference, the list's, is used up
 */
void rdmablk_session_abort(struct rdmablk_session *s)
{
	bool logout = rdmablk_session_state(s) == RDMABLK_DEV_LIVE;

	rdmablk_session_move(s, RDMABLK_DEV_DELETING);
	rdmablk_session_teardown(s, logout);
}

/* False: somebody has been opening, closing or scanning the disk for a second. */
static bool rdmablk_session_lock_open(struct gendisk *disk)
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
 * The opener check and the move to "deleting" are one step under open_mutex: who
 * opens later finds the disk closed, who opened before makes the disk busy. By force
 * it does not matter who opens.
 */
static int rdmablk_session_claim_disk(struct rdmablk_session *s, bool force,
				      const char **why)
{
	int ret = 0;

	lockdep_assert_held(&s->disk_mutex);
	/*
	 * Who scans partitions does I/O under open_mutex. That I/O may be held, and
	 * it is the removal that ends it.
	 */
	if (!force && !rdmablk_session_lock_open(s->disk)) {
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
		s->forced = force;
	}
	if (!force)
		mutex_unlock(&s->disk->open_mutex);
	return ret;
}

/**
 * rdmablk_session_unwanted() - nobody waits for the first connect any more
 * @s: session
 *
 * Without effect when the disk is there.
 */
void rdmablk_session_unwanted(struct rdmablk_session *s)
{
	mutex_lock(&s->disk_mutex);
	if (!READ_ONCE(s->added)) {
		s->unwanted = true;
		rdmablk_queue_waiter_cancel(&s->waiter);
	}
	mutex_unlock(&s->disk_mutex);
}

/**
 * rdmablk_session_claim() - the right, and the duty, to remove a session
 * @s: session
 * @force: although the disk is in use
 * @why: set to a text on error
 *
 * Context: may sleep, but waits for nobody's I/O and no peer.
 *
 * Return: 0: the caller calls rdmablk_session_remove(); 1: it was still connecting and
 * removes itself soon; -EBUSY; -EALREADY.
 */
int rdmablk_session_claim(struct rdmablk_session *s, bool force, const char **why)
{
	int ret;

	mutex_lock(&s->disk_mutex);
	if (!READ_ONCE(s->added)) {
		s->unwanted = true;
		rdmablk_queue_waiter_cancel(&s->waiter);
		ret = 1;
	} else if (!s->disk) {
		*why = "the device is being disconnected already";
		ret = -EALREADY;
	} else {
		ret = rdmablk_session_claim_disk(s, force, why);
	}
	mutex_unlock(&s->disk_mutex);
	return ret;
}

/**
 * rdmablk_session_remove() - log out and remove the disk
 * @s: claimed session; the caller keeps its reference
 *
 * Without a connection this waits until no write is held any more, which is bounded by
 * the target's session timeout. On a live session what the page cache of the block
 * device holds is still written; later I/O of those who have it open fails. By force, a
 * request that takes longer than RDMABLK_HURRY_TMO is an error of the connection.
 */
void rdmablk_session_remove(struct rdmablk_session *s)
{
	bool failed;

	spin_lock_irq(&s->lock);
	failed = s->error || s->down;
	spin_unlock_irq(&s->lock);
	/*
	 * Nothing is written back to a disk that has failed. An error that comes
	 * later ends the I/O that del_gendisk() waits for.
	 */
	if (failed)
		rdmablk_recovery_give_up(s);
	else if (s->forced)
		rdmablk_io_tmo_hurry(s);
	/*
	 * Its kick of the requeue list is not the last thing that happens to the queue, and
	 * there is none after the move to "deleting". The capacity stays as it is, too.
	 */
	flush_delayed_work(&s->recovery_work);
	cancel_delayed_work_sync(&s->disk_work);
	if (failed)
		blk_mark_disk_dead(s->disk);
	del_gendisk(s->disk);
	if (!failed)
		rdmablk_recovery_flush(s);
	rdmablk_info(s, "disconnected\n");
	rdmablk_session_teardown(s, true);
}

/**
 * rdmablk_session_remove_all() - at module exit: nobody has a disk open, nobody can
 *	connect
 */
void rdmablk_session_remove_all(void)
{
	struct rdmablk_session *s = NULL;
	const char *why;

	while (rdmablk_registry_step(&s)) {
		if (!rdmablk_session_claim(s, true, &why))
			rdmablk_session_remove(s);
	}
	/*
	 * Who closes a disk that is gone puts the module first, and then the disk, which
	 * calls ->free_disk(): that must have been before the module goes.
	 */
	wait_var_event(&rdmablk_sessions_left, !atomic_read(&rdmablk_sessions_left));
}
