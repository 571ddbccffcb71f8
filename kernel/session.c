// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: the object, its members, references, states and errors.
 *
 * References
 *
 * The list of sessions holds a reference; so does the disk once it is added (until the last
 * close after del_gendisk()), and each task that looked the session up. The list's reference
 * belongs to the task that moves the session to "deleting", which happens once.
 *
 * On an RDMA device a session owns, in this order: the ids of rdma_cm, which hold
 * the device; the protection domain; completion queues; queue pairs and mapped
 * buffers; mapped pages of requests. The removal of the device waits for the ids.
 *
 * Teardown order, after an error (recovery.c), after a failed login, and at the end:
 *
 *  1. path.live goes false and the queue is quiesced, or the disk is deleted: nobody
 *     posts any more.
 *  2. No more fences and flushes; data queues: disconnect all, then drain each. No
 *     completion handler runs and the device touches no page of a request after this.
 *  3. Requests left over are unmapped and held (request.c).
 *  4. Control queue: a LOGOUT or CLOSE is sent, then it is disconnected and drained.
 *  5. Queue pairs, then completion queues, message buffers, protection domain.
 *  6. Ids of rdma_cm. From here the device may vanish.
 *  7. Disk and tag set.
 *
 * Each step can be repeated without harm. One context at a time runs steps 2 to 6: the first
 * login; the recovery work; or the task that removes the session. That task first moves the
 * outage to a phase in which no error starts the recovery, and waits for a recovery that
 * runs.
 *
 * Errors
 *
 * rdmablk_session_error() may be called from any context, any number of times and
 * from all queues at once. While no connection carries I/O (rdmablk_state_is_down()) it
 * only notes the reason for the login under way. Otherwise the first call moves the outage
 * from "up" to "broken", under the lock, and starts the recovery.
 */
#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/jiffies.h>
#include <linux/key.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "cm.h"
#include "hwq.h"
#include "poll.h"
#include "session.h"
#include "state.h"
#include "trace.h"

/* Sessions that exist, in the list or not */
static atomic_t rdmablk_sessions_left;

/* Announces a session; netlink.c sets it once, before the first session exists */
void (*rdmablk_session_event)(struct rdmablk_session *s);

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
	opt->reauth_tmo = RDMABLK_DEFAULT_REAUTH_TMO;
	memcpy(opt->host_id, rdmablk_host_id, sizeof(opt->host_id));
}

static void rdmablk_session_free(struct kref *ref)
{
	struct rdmablk_session *s = container_of(ref, struct rdmablk_session, ref);

	rdmablk_mac_close(&s->mac);
	key_put(s->key);
	rdmablk_auth_close(&s->auth);
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
 * rdmablk_session_alloc() - a session in the state "new", in no list
 * @opt: options
 *
 * Return: session with a reference for the caller, or NULL: out of memory.
 */
struct rdmablk_session *rdmablk_session_alloc(const struct rdmablk_options *opt)
{
	struct rdmablk_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	atomic_inc(&rdmablk_sessions_left);
	kref_init(&s->ref);
	spin_lock_init(&s->lock);
	rdmablk_log_init(&s->log);
	mutex_init(&s->disk_mutex);
	init_completion(&s->gone);
	init_completion(&s->login_done);
	rdmablk_queue_waiter_init(&s->waiter);
	s->opt = *opt;
	if (opt->route.ack_timeout != RDMABLK_ACK_TIMEOUT_AUTO)
		s->ack_timeout = opt->route.ack_timeout;
	s->state = RDMABLK_DEV_NEW;
	s->outage.phase = RDMABLK_PHASE_FIRST;
	get_random_bytes(s->instance_id, sizeof(s->instance_id));
	rdmablk_fence_init(&s->path.fence, &s->path, rdmablk_wq);
	s->path.poll_wq = rdmablk_poll_wq;
	s->path.stats = alloc_percpu(struct rdmablk_stats);
	if (!s->path.stats) {
		rdmablk_session_put(s);
		return NULL;
	}
	return s;
}

/**
 * rdmablk_session_await_freed() - wait until no session exists any more
 *
 * When the last opener of a removed disk closes it, the block layer drops its reference to the
 * module first, and then the disk, which calls ->free_disk(). So the exit waits here until that
 * call has freed the session.
 *
 * It does not wait for the call to return. A task that is preempted after its last access to
 * the session still has to run a few instructions of this module. The kernel unmaps a module
 * only after a grace period of RCU. Without preemption the task has left the module by then;
 * with preemption nothing guarantees that.
 */
void rdmablk_session_await_freed(void)
{
	wait_var_event(&rdmablk_sessions_left, !atomic_read(&rdmablk_sessions_left));
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
	if (to == RDMABLK_DEV_DELETING)
		s->deleted_at = jiffies;
	WRITE_ONCE(s->state, to);
	return from;
}

/**
 * rdmablk_session_announce() - send an event with the state of the session
 * @s: session
 *
 * Context: may sleep, but waits neither for memory nor for I/O.
 */
void rdmablk_session_announce(struct rdmablk_session *s)
{
	if (rdmablk_session_event)
		rdmablk_session_event(s);
}

static void rdmablk_session_moved(struct rdmablk_session *s, int from,
				  enum rdmablk_dev_state to)
{
	trace_rdmablk_state(s->index, from, to, READ_ONCE(s->outage.reason));
	rdmablk_session_announce(s);
}

/**
 * rdmablk_session_move() - move to any state but "live"
 * @s: session
 * @to: state to move to
 *
 * If two callers want the same move, only one of them succeeds. So what follows a move is done
 * once.
 *
 * Context: may sleep; announces the move.
 *
 * Return: false when the move is not allowed from the state the session is in.
 */
bool rdmablk_session_move(struct rdmablk_session *s, enum rdmablk_dev_state to)
{
	int from;

	spin_lock_irq(&s->lock);
	/* The administrator may have started another try since the session was lost. */
	from = to == RDMABLK_DEV_FAILED && s->outage.phase != RDMABLK_PHASE_LOST ?
	       -1 : rdmablk_session_set(s, to);
	spin_unlock_irq(&s->lock);
	if (from < 0)
		return false;
	rdmablk_session_moved(s, from, to);
	return true;
}

static u64 rdmablk_session_down_ms(const struct rdmablk_session *s)
{
	return jiffies64_to_msecs(jiffies - s->outage.down_at);
}

/**
 * rdmablk_session_set_phase() - move to another phase of an outage
 * @s: session, locked
 * @to: phase to go to
 *
 * Return: false: @to may not follow the present phase.
 */
bool rdmablk_session_set_phase(struct rdmablk_session *s, enum rdmablk_phase to)
{
	lockdep_assert_held(&s->lock);
	if (!rdmablk_state_may_follow(s->outage.phase, to))
		return false;
	if (to == RDMABLK_PHASE_BROKEN)
		s->outage.down_at = jiffies;
	else if (to == RDMABLK_PHASE_UP && s->outage.phase != RDMABLK_PHASE_FIRST)
		s->outage.down_ms += rdmablk_session_down_ms(s);
	WRITE_ONCE(s->outage.phase, to);
	return true;
}

/**
 * rdmablk_session_go_live() - the login has succeeded: I/O may be posted
 * @s: session whose queues are connected
 * @resized: set to the size that the target has announced during the login, bytes; 0: it has
 *	announced none
 * @drained: set to the reason for which the target has announced, during the login, that the
 *	session will end soon, enum rdmablk_reason; 0: it has announced no end
 *
 * Context: may sleep; announces the move.
 *
 * Return: false when an error came in between, or the session is being removed, or
 * reconnecting has ended.
 */
bool rdmablk_session_go_live(struct rdmablk_session *s, u64 *resized, u16 *drained)
{
	int from = -1;

	spin_lock_irq(&s->lock);
	if (!s->login.reason && s->outage.phase != RDMABLK_PHASE_LOST)
		from = rdmablk_session_set(s, RDMABLK_DEV_LIVE);
	if (from >= 0) {
		/* Whatever a store with a new epoch has lost, the login has accepted. */
		if (s->resume && memcmp(s->agreed.grant.epoch, s->login.offer.grant.epoch,
					sizeof(s->login.offer.grant.epoch)))
			s->path.unflushed = false;
		if (!s->resume)
			s->promised = s->login.offer;
		s->agreed = s->login.offer;
		/* Tasks that show @agreed copy it to their stacks: leave the key of slots out. */
		s->agreed.cmds.slot_iova = 0;
		s->agreed.cmds.slot_rkey = 0;
		s->live_at = jiffies;
		rdmablk_session_set_phase(s, RDMABLK_PHASE_UP);
		s->outage.fenced = false;
		s->outage.reason = 0;
		s->outage.trusted = 0;
		s->resume = true;
		s->accept_loss = false;
		s->path.failing = false;
		WRITE_ONCE(s->path.failing_fast, false);
		WRITE_ONCE(s->path.holding, false);
		*resized = s->login.resized;
		*drained = s->login.drained;
		/* Pairs with the acquire in dispatch.c. */
		smp_store_release(&s->path.live, true);
	}
	spin_unlock_irq(&s->lock);
	if (from < 0)
		return false;
	rdmablk_session_moved(s, from, RDMABLK_DEV_LIVE);
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
 * rdmablk_session_outage_ms() - how long the session has had no connection that carries I/O
 * @s: session
 *
 * Return: milliseconds of all outages since the first login, the present one included.
 */
u64 rdmablk_session_outage_ms(struct rdmablk_session *s)
{
	u64 ms;

	spin_lock_irq(&s->lock);
	ms = s->outage.down_ms;
	if (s->outage.phase == RDMABLK_PHASE_BROKEN || s->outage.phase == RDMABLK_PHASE_DOWN ||
	    s->outage.phase == RDMABLK_PHASE_LOST)
		ms += rdmablk_session_down_ms(s);
	spin_unlock_irq(&s->lock);
	return ms;
}

/**
 * rdmablk_session_disconnect_ms() - how long the session has been ending
 * @s: session
 * @ms: set to milliseconds since its removal began
 *
 * Return: false when nobody removes it.
 */
bool rdmablk_session_disconnect_ms(struct rdmablk_session *s, u64 *ms)
{
	bool ending;

	spin_lock_irq(&s->lock);
	ending = s->state == RDMABLK_DEV_DELETING;
	*ms = jiffies64_to_msecs(jiffies - s->deleted_at);
	spin_unlock_irq(&s->lock);
	return ending;
}

/**
 * rdmablk_session_is_orderly() - does the connection still work when a session ends for it
 * @reason: enum rdmablk_reason
 *
 * Return: true: written data may be flushed before the end.
 */
bool rdmablk_session_is_orderly(u16 reason)
{
	return reason == RDMABLK_R_SHUTDOWN || reason == RDMABLK_R_EXPORT_GONE ||
	       reason == RDMABLK_R_LOGOUT;
}

static void rdmablk_session_break(struct rdmablk_session *s, u16 reason, bool planned,
				  bool grown)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (rdmablk_state_is_down(s->outage.phase)) {
		/* The login under way fails for this reason, and its caller cleans up. */
		if (!s->login.reason)
			s->login.reason = reason;
	} else if (rdmablk_session_set_phase(s, RDMABLK_PHASE_BROKEN)) {
		s->outage.reason = reason;
		s->outage.planned = planned;
		s->outage.grown = grown;
		s->outage.lost_at = jiffies;
		s->outage.clock = jiffies;
		WRITE_ONCE(s->path.live, false);
		/* Under the lock: a task that seals the session later waits for this work. */
		mod_delayed_work(rdmablk_recovery_wq, &s->recovery_work, 0);
	}
	/*
	 * After an orderly reason the connection still works: the recovery flushes on it. Under the
	 * lock: the recovery needs it before the next connection, whose fence this must not break.
	 */
	if (!rdmablk_session_is_orderly(reason))
		rdmablk_fence_break(&s->path.fence);
	spin_unlock_irqrestore(&s->lock, flags);
	/* The removal of the device waits for this session: skip the LOGOUT. */
	if (reason == RDMABLK_R_DEVICE_GONE)
		rdmablk_ctrl_break(&s->ctrl);
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
	rdmablk_session_break(s, reason, false, false);
}

/**
 * rdmablk_session_renew() - this side wants a new connection
 * @s: session
 * @grown: because the target says that the export has grown, which it may say at any time
 *
 * The outage counts as planned. A peer that closes the connection with the reason
 * RDMABLK_R_LOGOUT plans nothing for this side.
 *
 * Context: any. An error that came first counts.
 */
void rdmablk_session_renew(struct rdmablk_session *s, bool grown)
{
	rdmablk_session_break(s, RDMABLK_R_LOGOUT, true, grown);
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
 * rdmablk_session_stop_data() - disconnect and drain the data queues
 * @s: session; nobody posts requests any more
 */
void rdmablk_session_stop_data(struct rdmablk_session *s)
{
	u32 i;

	rdmablk_fence_stop(&s->path.fence);
	/* Disconnect all before draining the first: the adapter works on all at once. */
	for (i = 0; s->path.hwq && i < s->path.nr_hwqs; i++) {
		rdmablk_queue_disconnect(&s->path.hwq[i]->write);
		rdmablk_queue_disconnect(&s->path.hwq[i]->read);
	}
	for (i = 0; s->path.hwq && i < s->path.nr_hwqs; i++) {
		rdmablk_poll_close(s->path.hwq[i]);
		/* The write queue first, because answers to commands post READs. */
		rdmablk_queue_stop(&s->path.hwq[i]->write);
		rdmablk_queue_stop(&s->path.hwq[i]->read);
	}
	rdmablk_fence_reset(&s->path.fence);
}

/**
 * rdmablk_session_destroy_queues() - free all that the session has on the RDMA device
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
		 * Before the commands, which own the receives: a receive that was posted
		 * behind the drain's marker completes after the drain, and a polling task may
		 * be about to call its handler.
		 */
		if (hwq->cq)
			ib_free_cq(hwq->cq);
		hwq->cq = NULL;
		rdmablk_cmdq_destroy(&hwq->cmdq);
	}
	rdmablk_ctrl_destroy(&s->ctrl);
	rdmablk_auth_end(&s->auth);
	if (s->pd)
		ib_dealloc_pd(s->pd);
	s->pd = NULL;
	for (i = 0; s->path.hwq && i < s->path.nr_hwqs; i++) {
		rdmablk_cm_destroy(&s->path.hwq[i]->read);
		rdmablk_cm_destroy(&s->path.hwq[i]->write);
	}
	rdmablk_cm_destroy(&s->ctrl.queue);
}
