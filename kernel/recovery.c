// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens after an error.
 *
 * Two work items run an outage. Only the recovery work touches queues: it takes them down,
 * then tries to log in until a login succeeds. Only the fail work ends held requests: it
 * runs the timers fast_io_fail_tmo and dev_loss_tmo, which must fire while a login waits for
 * its target. The two synchronise in three places:
 *
 * - Only the recovery work ends the phase "broken", at the end of the teardown. In this phase
 *   the fail work runs only while an orderly end flushes: rdmablk_recovery_hold() lets it
 *   run, and rdmablk_recovery_unhold() waits for it before the queues are taken down.
 * - rdmablk_session_go_live() ends the outage, and clears "failing", under the lock.
 *   The recovery work then waits for a fail work that has already begun, and requeues the
 *   held requests after that. So no request is both ended and requeued.
 * - The fail work begins the phase "lost" and wakes the login, which gives up.
 *
 * A request is requeued only after a login has succeeded. Its GRANT says that no packet of an
 * earlier connection of this disk can land any more, because the target has destroyed the
 * queue pairs and registrations of that connection.
 *
 * When a write that was posted may be reported as failed
 *
 * A write that was posted may still be under way in the network. It is not reported
 * as failed before nothing of this session can land any more. The target says so by a
 * CLOSE, by the GRANT of a later login, or by its answer to a LOGOUT, which is sent when no
 * login will follow and the control queue survived. If the target says nothing, its
 * session timeout is the bound: the target ends a session from which it has heard nothing for
 * session_tmo_ms, and it hears nothing after our queue pairs are destroyed. One more
 * second covers the life of a packet in the network and a late timer of the target. A daemon
 * that is stopped does not end the session. Then no packet is under way any more: the time is
 * many times the life of one. But WRITE commands of a staged export may wait in the daemon,
 * which executes them when it goes on. Such a late write overtakes nothing: the store takes no
 * newer write before a GRANT, and the daemon grants only when it has ended the commands of the
 * session before.
 *
 * The recovery work runs under memalloc_noio: an allocation that waited for write-back
 * to this very disk would wait for itself. If anything fails, the next try follows.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/errno.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include "disk.h"
#include "io_tmo.h"
#include "keepalive.h"
#include "log.h"
#include "login.h"
#include "patience.h"
#include "poll.h"
#include "reauth.h"
#include "recovery.h"
#include "session.h"

/* Upper bound of the life of our packets in the network */
#define RDMABLK_PACKET_LIFE	HZ

/* Before a logout: the time for one flush, and for requests under way to end */
#define RDMABLK_FLUSH_TMO	(60 * HZ)
#define RDMABLK_FLUSHES		3		/* so many always run to their end */
#define RDMABLK_SETTLE_TMO	(2 * HZ)

/* How long a logout waits for its answer, at most */
#define RDMABLK_LOGOUT_TMO	(10 * HZ)

/*
 * Another try would be useless or harmful: another host has written the export, its contents
 * are lost, or both sides have no common version, feature or authentication. In version 2 the
 * authentication is not among these: the administrator may load another key at any time.
 */
static bool rdmablk_reason_is_final(const struct rdmablk_session *s, u16 reason)
{
	switch (reason) {
	case RDMABLK_R_STOLEN:
	case RDMABLK_R_REPLACED:
	case RDMABLK_R_DATA_LOST:
	case RDMABLK_R_VERSION:
	case RDMABLK_R_FEATURE:
		return true;
	case RDMABLK_R_AUTH_REQUIRED:
	case RDMABLK_R_AUTH_FAILED:
		return s->login.version == RDMABLK_VERSION_OPEN;
	default:
		return false;
	}
}

/*
 * Version 2 gives a disk up only for what the target has sealed, or for what this side
 * concludes from it. All else may come from anybody on the network.
 */
static u16 rdmablk_recovery_trusted(const struct rdmablk_session *s, u16 reason, u16 trusted)
{
	return s->login.version == RDMABLK_VERSION_OPEN ? reason : trusted;
}

static bool rdmablk_recovery_is_over(const struct rdmablk_session *s)
{
	return READ_ONCE(s->outage.phase) == RDMABLK_PHASE_LOST;
}

/*
 * The clock of held I/O
 */

/* Sets *@at to the time when the clock shows @seconds. Return: false: never. */
static bool rdmablk_recovery_time(const struct rdmablk_session *s, s32 seconds,
				  unsigned long *at)
{
	*at = s->outage.clock + (unsigned long)seconds * HZ;
	return seconds >= 0;
}

/* Sets *@at to the time when held I/O begins to fail. Return: false: never. */
static bool rdmablk_recovery_fail_time(const struct rdmablk_session *s,
				       unsigned long *at)
{
	s32 fast = READ_ONCE(s->opt.fast_io_fail_tmo);
	s32 loss = READ_ONCE(s->opt.dev_loss_tmo);

	if (fast < 0 || (loss >= 0 && loss < fast))
		fast = loss;
	return rdmablk_recovery_time(s, fast, at);
}

/* Sets *@at to the time when reconnecting ends. Return: false: never. */
static bool rdmablk_recovery_loss_time(const struct rdmablk_session *s,
				       unsigned long *at)
{
	return rdmablk_recovery_time(s, READ_ONCE(s->opt.dev_loss_tmo), at);
}

/* The timeouts of a planned outage count from the time at which the first try must have ended. */
static bool rdmablk_recovery_is_planned(const struct rdmablk_session *s)
{
	return READ_ONCE(s->outage.planned);
}

static void rdmablk_recovery_quiesce(struct rdmablk_session *s)
{
	if (!test_and_set_bit(0, &s->outage.quiesced))
		blk_mq_quiesce_queue(s->disk->queue);
}

static void rdmablk_recovery_unquiesce(struct rdmablk_session *s)
{
	if (test_and_clear_bit(0, &s->outage.quiesced))
		blk_mq_unquiesce_queue(s->disk->queue);
}

/*
 * Ends held requests: all of them when "failing" is set, those that fail fast when
 * "failing_fast" is set. The quiesce waits for tasks in queue_rq that have read an older
 * value and are about to hold a new request.
 *
 * Return: how many writes must still be held.
 */
static unsigned int rdmablk_recovery_fail_io(struct rdmablk_session *s)
{
	bool keep = !READ_ONCE(s->outage.fenced) && time_before(jiffies, s->outage.hold_until);
	bool failing = READ_ONCE(s->path.failing);
	unsigned int kept = 0;

	rdmablk_recovery_quiesce(s);
	if (failing || READ_ONCE(s->path.failing_fast))
		kept = rdmablk_request_fail_held(&s->tag_set, failing, keep);
	rdmablk_recovery_unquiesce(s);
	return kept;
}

/* Arms the fail work for the next deadline that is still ahead. */
static void rdmablk_fail_arm(struct rdmablk_session *s, bool kept)
{
	unsigned long now = jiffies, at, next = now + MAX_JIFFY_OFFSET;

	if (kept && time_before(s->outage.hold_until, next))
		next = s->outage.hold_until;
	if (!READ_ONCE(s->path.failing_fast) && time_before(s->outage.clock, next))
		next = s->outage.clock;
	if (!READ_ONCE(s->path.failing) && rdmablk_recovery_fail_time(s, &at) &&
	    time_before(at, next))
		next = at;
	if (READ_ONCE(s->outage.phase) == RDMABLK_PHASE_DOWN &&
	    rdmablk_recovery_loss_time(s, &at) && time_before(at, next))
		next = at;
	if (next == now + MAX_JIFFY_OFFSET)
		return;
	queue_delayed_work(rdmablk_wq, &s->fail_work,
			   time_after(next, now) ? next - now : 1);
}

/*
 * Decides whether I/O fails from now on. Before the disk has been added, I/O fails in any
 * outage, because the task that adds the disk waits for that I/O. Later I/O is held as usual.
 *
 * Return: whether that has changed.
 */
static bool rdmablk_fail_decide(struct rdmablk_session *s, bool over)
{
	bool was = s->path.failing, failing;
	unsigned long at;

	lockdep_assert_held(&s->lock);
	failing = over || (was && !s->outage.failing_early) ||
		  (rdmablk_recovery_fail_time(s, &at) && time_after_eq(jiffies, at));
	s->outage.failing_early = !failing && !READ_ONCE(s->added);
	failing |= s->outage.failing_early;
	s->unscanned |= failing && !READ_ONCE(s->added);
	WRITE_ONCE(s->path.failing, failing);
	return failing != was;
}

/*
 * Whether the fail work may end held requests: while no connection carries I/O, and while
 * an orderly end flushes. If a connection is renewed on purpose, the clock has not begun during
 * the flush.
 */
static bool rdmablk_fail_may_run(const struct rdmablk_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->outage.phase == RDMABLK_PHASE_BROKEN)
		return s->path.holding &&
		       (!s->outage.planned || READ_ONCE(s->hurry) ||
			s->state == RDMABLK_DEV_DELETING);
	return rdmablk_state_is_down(s->outage.phase);
}

/* Lets the fail work look at a session that has changed. */
static void rdmablk_fail_kick(struct rdmablk_session *s)
{
	lockdep_assert_held(&s->lock);
	if (rdmablk_fail_may_run(s))
		mod_delayed_work(rdmablk_wq, &s->fail_work, 0);
}

static void rdmablk_fail_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(to_delayed_work(work),
						 struct rdmablk_session, fail_work);
	bool news, over, failing;
	unsigned long at;
	unsigned int kept;

	spin_lock_irq(&s->lock);
	if (!rdmablk_fail_may_run(s)) {
		spin_unlock_irq(&s->lock);
		return;
	}
	if (s->outage.phase == RDMABLK_PHASE_DOWN && rdmablk_recovery_loss_time(s, &at) &&
	    time_after_eq(jiffies, at))
		rdmablk_session_set_phase(s, RDMABLK_PHASE_LOST);
	over = rdmablk_recovery_is_over(s) || s->state == RDMABLK_DEV_DELETING;
	news = rdmablk_fail_decide(s, over);
	failing = s->path.failing;
	/* FAILFAST: a connection that is renewed on purpose is no reason to use another disk. */
	WRITE_ONCE(s->path.failing_fast,
		   !rdmablk_recovery_is_planned(s) || time_after_eq(jiffies, s->outage.clock));
	/* Under the lock: rdmablk_recovery_restart() clears "cancelled" under it. */
	if (over)
		rdmablk_queue_waiter_cancel(&s->waiter);
	spin_unlock_irq(&s->lock);

	kept = rdmablk_recovery_fail_io(s);
	if (news) {
		rdmablk_warn_ratelimited(s, "I/O %s from now on\n",
					 failing ? "fails" : "is held");
		rdmablk_session_announce(s);
	}
	if (over && !kept) {
		if (rdmablk_session_move(s, RDMABLK_DEV_FAILED))
			rdmablk_err(s, "failed: %s; reconnecting has ended\n",
				    rdmablk_reason_text(READ_ONCE(s->outage.reason)));
		return;
	}
	rdmablk_fail_arm(s, kept);
}

/*
 * Taking a connection down
 */

/**
 * rdmablk_recovery_flush() - flush what has been written, before a logout
 * @s: session with a connection; requests may be under way, but no new ones are sent
 *
 * Data of a FLUSH under way counts as unflushed: a session that ends in the middle of a FLUSH
 * does not end in order. After a failed flush the target compares the whole file. A target
 * that shuts down cannot report its progress. While its connection works, this function then
 * waits until I/O would fail, or the disk is to be removed.
 *
 * Context: may sleep, for RDMABLK_FLUSH_TMO at most unless the target goes down.
 *
 * Return: true: everything is flushed except writes that were answered during the flush;
 * false: an error, or nothing to flush.
 */
bool rdmablk_recovery_flush(struct rdmablk_session *s)
{
	unsigned long at;
	int ret;

	if (!s->path.cache || s->path.read_only || rdmablk_flush_ahead_is_settled(&s->path))
		return false;
	ret = rdmablk_fence_flush(&s->path.fence, RDMABLK_FLUSH_TMO);
	while (ret == -ETIMEDOUT && !rdmablk_recovery_is_planned(s) &&
	       rdmablk_session_state(s) == RDMABLK_DEV_RECOVERING &&
	       !(rdmablk_recovery_fail_time(s, &at) &&
		 time_after(jiffies + RDMABLK_FLUSH_TMO, at)))
		ret = rdmablk_fence_flush_wait(&s->path.fence, RDMABLK_FLUSH_TMO);
	if (ret)
		rdmablk_warn_ratelimited(s, "not all that was written could be flushed (%d)\n",
					 ret);
	return !ret;
}

/**
 * rdmablk_recovery_logout() - end the session in order
 * @s: session with a control queue; no request of it is with the device
 * @ended: all its requests have ended; a request that has not ended may have written something
 *
 * Context: may sleep, for the keep-alive timeout or RDMABLK_LOGOUT_TMO at most.
 *
 * Return: 0: the target says that nothing of the session can land any more; else a negative
 * errno.
 */
int rdmablk_recovery_logout(struct rdmablk_session *s, bool ended)
{
	bool clean;
	int ret;

	/* A flush that was given up may be under way. */
	rdmablk_fence_stop(&s->path.fence);
	clean = s->path.commands && ended && rdmablk_fence_is_clean(&s->path.fence);

	ret = rdmablk_ctrl_command(&s->ctrl, RDMABLK_OP_LOGOUT,
				   clean ? RDMABLK_LOGOUT_CLEAN : 0, RDMABLK_TAG_LOGOUT);
	if (ret)
		return ret;
	return rdmablk_ctrl_wait(&s->ctrl, RDMABLK_TAG_LOGOUT,
				 jiffies + min(s->keepalive.tmo,
					       (unsigned long)RDMABLK_LOGOUT_TMO));
}

/* Tries to learn from the target that nothing of the session can land any more. */
static void rdmablk_recovery_goodbye(struct rdmablk_session *s, bool ended)
{
	if (rdmablk_recovery_logout(s, ended))
		return;
	spin_lock_irq(&s->lock);
	s->outage.fenced = true;
	spin_unlock_irq(&s->lock);
}

/* Waits until no request is with the device, for RDMABLK_SETTLE_TMO at most. */
static void rdmablk_recovery_wait_idle(struct rdmablk_session *s)
{
	unsigned long deadline = jiffies + RDMABLK_SETTLE_TMO;

	while (rdmablk_request_busy(&s->tag_set) && time_before(jiffies, deadline) &&
	       !READ_ONCE(s->ctrl.broken)) {
		rdmablk_poll_all(s->path.hwq, s->nr_queues);
		schedule_timeout_uninterruptible(1);
	}
}

/*
 * Writes that are answered during a flush belong to the next flush. No new requests are
 * sent, so a few flushes cover everything.
 */
static void rdmablk_recovery_flush_all(struct rdmablk_session *s)
{
	unsigned long until = jiffies + RDMABLK_FLUSH_TMO;
	unsigned int flushes = 0;

	while (!READ_ONCE(s->ctrl.broken) && rdmablk_recovery_flush(s)) {
		/* This flush has also ended a FLUSH under way: let its request end. */
		rdmablk_recovery_wait_idle(s);
		if (rdmablk_session_state(s) != RDMABLK_DEV_RECOVERING ||
		    (++flushes >= RDMABLK_FLUSHES && time_after(jiffies, until)))
			return;
	}
}

/*
 * New requests are held as soon as the fail work has ended the quiesce. As long as the fail work
 * may not run, they wait in the block layer.
 */
static void rdmablk_recovery_hold(struct rdmablk_session *s)
{
	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->path.holding, true);
	rdmablk_fail_kick(s);
}

/* Undoes rdmablk_recovery_hold(). What is held already remains so. */
static void rdmablk_recovery_unhold(struct rdmablk_session *s)
{
	spin_lock_irq(&s->lock);
	WRITE_ONCE(s->path.holding, false);
	spin_unlock_irq(&s->lock);
	/* Nobody arms it any more, but it may run. It would end the quiesce that follows. */
	cancel_delayed_work_sync(&s->fail_work);
	rdmablk_recovery_quiesce(s);
}

/*
 * Whether the lost connection was a short one. It does not reset the pause between two tries.
 * The target may grant a keep-alive of next to nothing, so the one that this side asks for
 * counts, too.
 */
static bool rdmablk_recovery_was_short(const struct rdmablk_session *s)
{
	unsigned long asked = READ_ONCE(s->opt.keep_alive_tmo) * HZ;

	return time_before(s->outage.lost_at, s->live_at + max(s->keepalive.tmo, asked));
}

static u64 rdmablk_recovery_served(const struct rdmablk_session *s)
{
	struct rdmablk_stats sum;

	rdmablk_stats_sum(s->path.stats, &sum);
	return sum.ios[READ] + sum.ios[WRITE] + sum.flushes + sum.discards;
}

/*
 * Whether the last outage goes on: the connection in between was a short one and has completed no
 * request, although requests were held, or I/O had failed. Otherwise a target that ends each
 * connection right away, or makes this side do so, would hold I/O for ever.
 */
static bool rdmablk_recovery_goes_on(const struct rdmablk_session *s)
{
	return s->outage.waiting && rdmablk_recovery_was_short(s) &&
	       rdmablk_recovery_served(s) == s->outage.served;
}

/*
 * An orderly end, because the target shuts down or the administrator wants a new connection.
 * The connection still works. Requests under way end, written data is flushed, and the session
 * ends before its queues do, because the target takes the end of a queue for a lost
 * connection. Requests that do not end are held, and sent again on the next connection. If
 * a step fails, the session ends like one whose connection was lost. The keep-alive goes on: a
 * flush may take longer than the target's session timeout. I/O may have less time than that,
 * so meanwhile the fail work runs. The waits before and after the flush are short.
 */
static void rdmablk_recovery_settle(struct rdmablk_session *s)
{
	bool goes_on;

	rdmablk_recovery_wait_idle(s);
	goes_on = rdmablk_recovery_goes_on(s);
	spin_lock_irq(&s->lock);
	if (goes_on)
		s->outage.clock = s->outage.last_clock;
	rdmablk_recovery_hold(s);
	spin_unlock_irq(&s->lock);
	rdmablk_recovery_flush_all(s);
	rdmablk_recovery_unhold(s);
	cancel_delayed_work_sync(&s->keepalive.work);
	if (!rdmablk_request_busy(&s->tag_set))
		rdmablk_recovery_goodbye(s, true);
}

static bool rdmablk_recovery_is_hopeless(struct rdmablk_session *s)
{
	return rdmablk_session_state(s) == RDMABLK_DEV_DELETING ||
	       (!READ_ONCE(s->opt.dev_loss_tmo) && !rdmablk_recovery_is_planned(s)) ||
	       rdmablk_reason_is_final(s, rdmablk_recovery_trusted(s, READ_ONCE(s->outage.reason),
								   READ_ONCE(s->outage.trusted)));
}

static bool rdmablk_recovery_is_orderly(struct rdmablk_session *s)
{
	return rdmablk_session_is_orderly(s->outage.reason) && s->path.cache &&
	       !s->path.read_only && !READ_ONCE(s->outage.fenced);
}

/*
 * Whether a request that has lost the connection before this one, too, may be what broke both,
 * as a large WRITE does where large packets do not get through. The transport, or the timer of
 * the request, needs up to tag_set.timeout to notice that, a command up to its I/O timeout.
 * Meanwhile a connection that works completes such a request. The I/O timeout of slow commands
 * is the longest; the timer may fire a little late.
 */
static bool rdmablk_recovery_is_again(const struct rdmablk_session *s)
{
	unsigned long slow = READ_ONCE(s->path.slow_tmo);
	unsigned long life = max(s->keepalive.tmo, s->tag_set.timeout +
				 max((unsigned long)s->tag_set.timeout, slow));

	return s->outage.reason == RDMABLK_R_IO_TIMEOUT ||
	       time_before(s->outage.lost_at, s->live_at + life);
}

/*
 * Whether the end of the connection counts for the requests on it. The target decides when its
 * export grows, so growth counts: otherwise growth without end would hold a request for ever.
 */
static bool rdmablk_recovery_counts(const struct rdmablk_session *s)
{
	return !rdmablk_recovery_is_planned(s) || READ_ONCE(s->outage.grown);
}

static void rdmablk_recovery_teardown(struct rdmablk_session *s)
{
	struct rdmablk_held held;
	bool hopeless, orderly, goes_on;

	rdmablk_err_ratelimited(s, "connection lost: %s\n", rdmablk_reason_text(s->outage.reason));
	rdmablk_recovery_quiesce(s);
	rdmablk_session_move(s, RDMABLK_DEV_RECOVERING);
	orderly = rdmablk_recovery_is_orderly(s);
	if (orderly)
		rdmablk_recovery_settle(s);
	/* A timeout that has found this connection live must not break the next one. */
	blk_sync_queue(s->disk->queue);
	cancel_delayed_work_sync(&s->keepalive.work);
	rdmablk_session_stop_data(s);
	held = rdmablk_request_hold_all(&s->tag_set, rdmablk_recovery_counts(s),
					rdmablk_recovery_is_again(s));
	s->held += held.requests;
	hopeless = rdmablk_recovery_is_hopeless(s);
	if (s->outage.reason == RDMABLK_R_MALFORMED || s->outage.reason == RDMABLK_R_STATE ||
	    s->outage.reason == RDMABLK_R_AUTH_FAILED)
		rdmablk_ctrl_close(&s->ctrl, s->outage.reason);
	else if ((orderly || (hopeless && held.writes)) && !READ_ONCE(s->outage.fenced))
		rdmablk_recovery_goodbye(s, !held.writes);
	rdmablk_ctrl_stop(&s->ctrl);
	/* After the queue has stopped: else this work might wait for a silent target. */
	cancel_delayed_work_sync(&s->reauth_work);
	rdmablk_session_destroy_queues(s);
	s->outage.hold_until = jiffies + msecs_to_jiffies(s->agreed.grant.session_tmo_ms) +
			RDMABLK_PACKET_LIFE;
	if (!rdmablk_recovery_was_short(s))
		s->outage.attempts = 0;
	s->outage.attempt_ret = 0;
	goes_on = rdmablk_recovery_goes_on(s);
	spin_lock_irq(&s->lock);
	if (goes_on)
		s->outage.clock = s->outage.last_clock;
	else if (rdmablk_recovery_is_planned(s))
		s->outage.clock = jiffies + s->opt.connect_tmo * HZ;
	else
		s->outage.clock = s->outage.lost_at;
	rdmablk_session_set_phase(s, hopeless ? RDMABLK_PHASE_LOST : RDMABLK_PHASE_DOWN);
	rdmablk_recovery_hold(s);
	spin_unlock_irq(&s->lock);
}

/*
 * Connecting again
 */

static void rdmablk_recovery_resume(struct rdmablk_session *s)
{
	unsigned long patience = MAX_JIFFY_OFFSET, more = 0, at;

	cancel_delayed_work_sync(&s->fail_work);
	/* The connection may be lost right now, which sets the clock. */
	spin_lock_irq(&s->lock);
	if (rdmablk_recovery_fail_time(s, &at))
		patience = at - s->outage.clock;
	/* As for the clock: a try has its time. */
	if (rdmablk_recovery_is_planned(s))
		more = s->opt.connect_tmo * HZ;
	spin_unlock_irq(&s->lock);
	/* Waits for tasks in queue_rq that found the session not live and hold a request now. */
	rdmablk_recovery_quiesce(s);
	/*
	 * The block layer's timeout work changes rq_flags of a held request whose time is over.
	 * That must not happen while the requeue changes them, too.
	 */
	blk_sync_queue(s->disk->queue);
	s->outage.waiting = rdmablk_request_requeue_held(&s->tag_set, patience + more) ||
			    time_after_eq(s->live_at, s->outage.last_clock + patience);
	/* Requests that were sent since the session is live have lost their timer. */
	timer_reduce(&s->disk->queue->timeout, jiffies + 1);
	rdmablk_recovery_unquiesce(s);
	blk_mq_kick_requeue_list(s->disk->queue);
	s->reconnects++;
	WRITE_ONCE(s->why, NULL);
	rdmablk_info_ratelimited(s, "live again after %u ms and %u tries\n",
				 jiffies_to_msecs(jiffies - s->outage.lost_at), s->outage.attempts);
	rdmablk_disk_look(s);
}

/* Takes down the queues that a failed login has made. */
static void rdmablk_recovery_undo(struct rdmablk_session *s)
{
	cancel_delayed_work_sync(&s->keepalive.work);
	rdmablk_session_stop_data(s);
	rdmablk_ctrl_stop(&s->ctrl);
	rdmablk_session_destroy_queues(s);
}

/* The pause after a failed try, or after a short connection, in jiffies */
static unsigned long rdmablk_recovery_pause(const struct rdmablk_session *s)
{
	u32 delay = READ_ONCE(s->opt.reconnect_delay) * MSEC_PER_SEC;
	const struct rdmablk_outage *o = &s->outage;

	return msecs_to_jiffies(rdmablk_patience_pause(delay, o->attempts, o->late_joins,
						       get_random_u32()));
}

/* Whether a login may begin */
static bool rdmablk_recovery_may_try(const struct rdmablk_session *s)
{
	lockdep_assert_held(&s->lock);
	return s->outage.phase == RDMABLK_PHASE_DOWN && s->state == RDMABLK_DEV_RECOVERING;
}

static void rdmablk_recovery_try(struct rdmablk_session *s)
{
	u16 trusted;
	int ret;

	s->outage.attempts++;
	s->outage.last_clock = s->outage.clock;
	s->outage.served = rdmablk_recovery_served(s);
	ret = rdmablk_login(s);
	if (!ret) {
		rdmablk_recovery_resume(s);
		return;
	}
	rdmablk_recovery_undo(s);
	/*
	 * One line for each kind of failure: an outage may last for days. With a limit, because
	 * the target chooses its refusals, and when the next outage begins.
	 */
	if (ret != s->outage.attempt_ret && ret != -ECANCELED)
		rdmablk_warn_ratelimited(s, "cannot reconnect: %s (%d), try %u\n", s->why, ret,
					 s->outage.attempts);
	s->outage.attempt_ret = ret;
	trusted = rdmablk_recovery_trusted(s, READ_ONCE(s->login.reason),
					   READ_ONCE(s->login.trusted));
	if (rdmablk_reason_is_final(s, trusted)) {
		spin_lock_irq(&s->lock);
		s->outage.reason = trusted;
		rdmablk_session_set_phase(s, RDMABLK_PHASE_LOST);
		spin_unlock_irq(&s->lock);
		mod_delayed_work(rdmablk_wq, &s->fail_work, 0);
		return;
	}
	/* If the target granted before the try failed, posted writes may fail now. */
	if (READ_ONCE(s->outage.fenced))
		mod_delayed_work(rdmablk_wq, &s->fail_work, 0);
	if (rdmablk_session_state(s) == RDMABLK_DEV_RECOVERING && !rdmablk_recovery_is_over(s))
		queue_delayed_work(rdmablk_recovery_wq, &s->recovery_work,
				   rdmablk_recovery_pause(s));
}

static void rdmablk_recovery_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(to_delayed_work(work),
						 struct rdmablk_session, recovery_work);
	unsigned int noio = memalloc_noio_save();
	bool broken = READ_ONCE(s->outage.phase) == RDMABLK_PHASE_BROKEN;
	bool may_try;

	if (broken)
		rdmablk_recovery_teardown(s);
	spin_lock_irq(&s->lock);
	may_try = rdmablk_recovery_may_try(s);
	spin_unlock_irq(&s->lock);
	if (broken && s->outage.attempts)
		rdmablk_recovery_kick(s, rdmablk_recovery_pause(s));
	else if (may_try)
		rdmablk_recovery_try(s);
	memalloc_noio_restore(noio);
}

/*
 * Called from other files
 */

/**
 * rdmablk_recovery_init() - prepare the works
 * @s: new session
 */
void rdmablk_recovery_init(struct rdmablk_session *s)
{
	INIT_DELAYED_WORK(&s->recovery_work, rdmablk_recovery_work);
	INIT_DELAYED_WORK(&s->fail_work, rdmablk_fail_work);
	rdmablk_keepalive_init(s);
	rdmablk_reauth_init(s);
	INIT_DELAYED_WORK(&s->disk_work, rdmablk_disk_work);
}

/**
 * rdmablk_recovery_kick() - let a session that reconnects try again soon
 * @s: session
 * @delay: jiffies
 */
void rdmablk_recovery_kick(struct rdmablk_session *s, unsigned long delay)
{
	/* Armed under the lock: the task that moves to "deleting" cancels it afterwards. */
	spin_lock_irq(&s->lock);
	if (rdmablk_recovery_may_try(s))
		mod_delayed_work(rdmablk_recovery_wq, &s->recovery_work, delay);
	spin_unlock_irq(&s->lock);
}

/**
 * rdmablk_recovery_changed() - a timeout of the session was changed
 * @s: session
 */
void rdmablk_recovery_changed(struct rdmablk_session *s)
{
	spin_lock_irq(&s->lock);
	if (READ_ONCE(s->added) && s->state != RDMABLK_DEV_DELETING)
		rdmablk_fail_kick(s);
	spin_unlock_irq(&s->lock);
	rdmablk_recovery_kick(s, 0);
}

/**
 * rdmablk_recovery_shutdown() - the machine is going down: nothing is held any more
 * @s: session
 */
void rdmablk_recovery_shutdown(struct rdmablk_session *s)
{
	WRITE_ONCE(s->opt.fast_io_fail_tmo, 0);
	rdmablk_io_tmo_hurry(s);
	rdmablk_recovery_changed(s);
}

/* Begins the outage of a failed device again. Return: false: it is not failed. */
static bool rdmablk_recovery_restart(struct rdmablk_session *s, bool accept_loss)
{
	bool again;

	spin_lock_irq(&s->lock);
	if (s->state != RDMABLK_DEV_FAILED) {
		spin_unlock_irq(&s->lock);
		return false;
	}
	/* A failed session is in the phase "lost", unless another task restarts it already. */
	if (!rdmablk_session_set_phase(s, RDMABLK_PHASE_DOWN)) {
		s->accept_loss |= accept_loss;
		spin_unlock_irq(&s->lock);
		return true;
	}
	s->accept_loss = accept_loss;
	s->outage.lost_at = jiffies;
	/* However short dev_loss_tmo is, there is time for one try. */
	s->outage.clock = jiffies + s->opt.connect_tmo * HZ;
	/* Under the lock, which no task has held yet to remove this session. */
	s->waiter.cancelled = false;
	spin_unlock_irq(&s->lock);
	s->outage.attempts = 0;
	s->outage.attempt_ret = 0;
	if (!rdmablk_session_move(s, RDMABLK_DEV_RECOVERING))
		return false;
	spin_lock_irq(&s->lock);
	again = s->state != RDMABLK_DEV_DELETING;
	if (again) {
		mod_delayed_work(rdmablk_wq, &s->fail_work, 0);
		mod_delayed_work(rdmablk_recovery_wq, &s->recovery_work, 0);
	}
	spin_unlock_irq(&s->lock);
	return again;
}

/*
 * Makes a device that reconnects try at once. If it is live by now, there is nothing to do,
 * and the accepted loss does not count for a later outage.
 */
static int rdmablk_recovery_hurry(struct rdmablk_session *s, bool accept_loss,
				  const char **why)
{
	bool lost;

	spin_lock_irq(&s->lock);
	lost = rdmablk_recovery_is_over(s);
	if (!lost && s->state != RDMABLK_DEV_LIVE)
		s->accept_loss |= accept_loss;
	spin_unlock_irq(&s->lock);
	if (lost) {
		*why = "reconnecting has ended; writes are still held";
		return -EAGAIN;
	}
	rdmablk_recovery_kick(s, 0);
	return 0;
}

/**
 * rdmablk_recovery_again() - the administrator wants a new connection
 * @s: session
 * @accept_loss: connect even if the store has lost its contents
 * @why: set to a text on error
 *
 * Return: 0; -ENODATA, -EAGAIN or -EALREADY as for RDMABLK_CMD_RECONNECT.
 */
int rdmablk_recovery_again(struct rdmablk_session *s, bool accept_loss,
			   const char **why)
{
	switch (rdmablk_session_state(s)) {
	case RDMABLK_DEV_LIVE:
		spin_lock_irq(&s->lock);
		s->accept_loss = accept_loss;
		spin_unlock_irq(&s->lock);
		rdmablk_session_renew(s, false);
		return 0;
	case RDMABLK_DEV_RECOVERING:
		return rdmablk_recovery_hurry(s, accept_loss, why);
	case RDMABLK_DEV_FAILED:
		if (READ_ONCE(s->outage.reason) == RDMABLK_R_DATA_LOST && !accept_loss) {
			*why = "the store has lost its contents, and the loss is not accepted";
			return -ENODATA;
		}
		if (rdmablk_recovery_restart(s, accept_loss))
			return 0;
		/* Another task has restarted the session, or removes it. */
		if (rdmablk_session_state(s) != RDMABLK_DEV_DELETING)
			return rdmablk_recovery_hurry(s, accept_loss, why);
		fallthrough;
	case RDMABLK_DEV_DELETING:
		*why = "the device is being disconnected already";
		return -EALREADY;
	default:
		*why = "the device is still connecting";
		return -EAGAIN;
	}
}

/**
 * rdmablk_recovery_give_up() - end all held requests, and those that come later
 * @s: session that is being deleted and whose connection was lost
 *
 * Sleeps until posted writes may fail, which is bounded by the target's session
 * timeout, and until a flush has ended that an orderly end of the connection has begun.
 */
void rdmablk_recovery_give_up(struct rdmablk_session *s)
{
	rdmablk_queue_waiter_cancel(&s->waiter);
	/* If that flush is under way, tasks need not wait for it. */
	spin_lock_irq(&s->lock);
	rdmablk_fail_kick(s);
	spin_unlock_irq(&s->lock);
	flush_delayed_work(&s->recovery_work);
	cancel_delayed_work_sync(&s->fail_work);
	spin_lock_irq(&s->lock);
	WRITE_ONCE(s->path.failing, true);
	spin_unlock_irq(&s->lock);
	while (rdmablk_recovery_fail_io(s)) {
		long left = (long)(s->outage.hold_until - jiffies);

		/* In pieces: the kernel reports a task as hung that sleeps for two minutes. */
		schedule_timeout_uninterruptible(clamp(left, 1L, (long)HZ));
	}
}

/**
 * rdmablk_recovery_finish() - wait for all works of the session; none runs afterwards
 * @s: session that no error can break any more, with no request in flight
 */
void rdmablk_recovery_finish(struct rdmablk_session *s)
{
	rdmablk_queue_waiter_cancel(&s->waiter);
	flush_delayed_work(&s->recovery_work);
	cancel_delayed_work_sync(&s->recovery_work);
	cancel_delayed_work_sync(&s->fail_work);
	cancel_delayed_work_sync(&s->keepalive.work);
	cancel_delayed_work_sync(&s->reauth_work);
	cancel_delayed_work_sync(&s->disk_work);
}
