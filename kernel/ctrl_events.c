// SPDX-License-Identifier: GPL-2.0-only
/*
 * Upcalls from the control queue to the session: the queue broke, or the target sent
 * something unasked. They run in softirq context and leave slow work to a work item.
 */
#include "ctrl_events.h"
#include "disk.h"
#include "log.h"
#include "reauth.h"
#include "session.h"

/**
 * rdmablk_ctrl_events_fatal() - the control queue is broken
 * @q: control queue
 * @reason: enum rdmablk_reason
 *
 * Context: any.
 */
void rdmablk_ctrl_events_fatal(struct rdmablk_queue *q, u16 reason)
{
	struct rdmablk_ctrl *ctrl = container_of(q, struct rdmablk_ctrl, queue);
	struct rdmablk_session *s = container_of(ctrl, struct rdmablk_session, ctrl);

	/*
	 * A peer that breaks the protocol still gets a CLOSE, on this very queue. When the
	 * connection is lost, nothing can be sent.
	 */
	rdmablk_session_error(s, reason);
	if (reason != RDMABLK_R_MALFORMED && reason != RDMABLK_R_STATE &&
	    reason != RDMABLK_R_AUTH_FAILED)
		rdmablk_ctrl_break(ctrl);
	else
		rdmablk_ctrl_wake(ctrl);
}

/*
 * CLOSE has come without a seal, although the target could have sealed it. So somebody else
 * has put it in the place of the target's next message, which is lost.
 */
static void rdmablk_ctrl_events_unsealed(struct rdmablk_ctrl *ctrl,
					 const struct rdmablk_wire_close *c)
{
	struct rdmablk_session *s = container_of(ctrl, struct rdmablk_session, ctrl);

	rdmablk_warn_ratelimited(s, "ignoring the reason of a close that is not sealed: %s\n",
				 rdmablk_reason_text(c->reason));
	rdmablk_session_error(s, RDMABLK_R_CONNECTION);
	rdmablk_fence_break(&s->path.fence);
	rdmablk_ctrl_break(ctrl);
}

static void rdmablk_ctrl_events_closed(struct rdmablk_ctrl *ctrl,
				       const struct rdmablk_wire_close *c,
				       enum rdmablk_ctrl_trust trust)
{
	struct rdmablk_session *s = container_of(ctrl, struct rdmablk_session, ctrl);
	unsigned long flags;
	bool live = !rdmablk_state_is_down(READ_ONCE(s->outage.phase));

	/* An unproven reason counts only as a hint in a login, and never in a session. */
	if (trust == RDMABLK_CTRL_UNSEALED || (trust == RDMABLK_CTRL_UNPROVEN && live))
		return rdmablk_ctrl_events_unsealed(ctrl, c);

	/*
	 * In a session, CLOSE is the target's promise that no write can land any more. Its
	 * reason is better than the connection error that this host noticed while the
	 * target took the queues down.
	 */
	spin_lock_irqsave(&s->lock, flags);
	live = !rdmablk_state_is_down(s->outage.phase);
	if (live) {
		s->outage.fenced = true;
		s->outage.trusted = c->reason;
		if (s->outage.reason == RDMABLK_R_CONNECTION)
			s->outage.reason = c->reason;
	} else {
		if (trust == RDMABLK_CTRL_TRUSTED)
			s->login.trusted = c->reason;
		if (s->login.reason == RDMABLK_R_CONNECTION)
			s->login.reason = c->reason;
	}
	s->ctrl.queue.retry_after_ms = c->retry_after_ms;
	spin_unlock_irqrestore(&s->lock, flags);
	if (live)
		rdmablk_warn_ratelimited(s, "closed by the target: %s\n",
					 rdmablk_reason_text(c->reason));
	rdmablk_session_error(s, c->reason);
	rdmablk_fence_break(&s->path.fence);
	rdmablk_ctrl_break(ctrl);
}

/*
 * A disk that is being removed does not connect again, and without a connection its page cache
 * cannot be written back. So the disk keeps this connection until it logs out, or the target ends
 * the session.
 */
static bool rdmablk_ctrl_events_is_removed(const struct rdmablk_session *s)
{
	lockdep_assert_held(&s->lock);
	return s->state == RDMABLK_DEV_DELETING;
}

/**
 * rdmablk_ctrl_events_drain() - the target, or the export, is about to end
 * @s: session with a control queue
 * @reason: RDMABLK_R_SHUTDOWN (the target) or RDMABLK_R_EXPORT_GONE (the export)
 *
 * If the connection just ended, the target would have to find out which writes are not
 * flushed. So the recovery flushes and logs out first. A login that is under way does the
 * same when it is complete. Without effect on a disk that is removed. Context: any.
 */
void rdmablk_ctrl_events_drain(struct rdmablk_session *s, u16 reason)
{
	unsigned long flags;
	bool live;

	spin_lock_irqsave(&s->lock, flags);
	live = s->path.live && !rdmablk_ctrl_events_is_removed(s);
	if (rdmablk_state_is_down(s->outage.phase) && !s->login.drained)
		s->login.drained = reason;
	spin_unlock_irqrestore(&s->lock, flags);
	if (live && s->path.cache && !s->path.read_only)
		rdmablk_session_error(s, reason);
}

/**
 * rdmablk_ctrl_events_resized() - the target says that the export has grown
 * @s: session with a control queue
 * @bytes: size of the export now
 *
 * A login under way may have been granted the old size, so it calls this function again when
 * it has gone live. A login that begins later is granted the new size. Without effect on a
 * disk that is removed. Context: any.
 */
void rdmablk_ctrl_events_resized(struct rdmablk_session *s, u64 bytes)
{
	bool larger, staged;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (rdmablk_state_is_down(s->outage.phase))
		s->login.resized = max(s->login.resized, bytes);
	larger = s->path.live && !rdmablk_ctrl_events_is_removed(s) &&
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
		/* Log in again: only a login gives the regions of the new size. */
		rdmablk_session_renew(s, true);
}

static void rdmablk_ctrl_events_event(struct rdmablk_ctrl *ctrl,
				      const struct rdmablk_wire_event *ev)
{
	struct rdmablk_session *s = container_of(ctrl, struct rdmablk_session, ctrl);

	switch (ev->event) {
	case RDMABLK_EVENT_LEAVING:
		rdmablk_warn_ratelimited(s, "export is about to be removed, in %llu ms\n",
					 ev->value);
		rdmablk_ctrl_events_drain(s, RDMABLK_R_EXPORT_GONE);
		s->login.leaving = true;
		break;
	case RDMABLK_EVENT_DRAIN:
		if (s->login.leaving)
			break;
		rdmablk_warn_ratelimited(s, "target is about to shut down, in %llu ms\n",
					 ev->value);
		rdmablk_ctrl_events_drain(s, RDMABLK_R_SHUTDOWN);
		break;
	case RDMABLK_EVENT_RESIZE:
		rdmablk_ctrl_events_resized(s, ev->value);
		break;
	case RDMABLK_EVENT_REAUTH:
		rdmablk_info_ratelimited(s, "the key ends in %llu ms\n", ev->value);
		rdmablk_reauth_ends(s, ev->value);
		break;
	}
}

static void rdmablk_ctrl_events_answered(struct rdmablk_ctrl *ctrl,
					 const struct rdmablk_wire_answer *a)
{
	struct rdmablk_session *s = container_of(ctrl, struct rdmablk_session, ctrl);

	if (a->tag != RDMABLK_TAG_KEEPALIVE)
		return;
	WRITE_ONCE(s->keepalive.answers, s->keepalive.answers + 1);
}

const struct rdmablk_ctrl_ops rdmablk_ctrl_events_ops = {
	.closed		= rdmablk_ctrl_events_closed,
	.event		= rdmablk_ctrl_events_event,
	.answered	= rdmablk_ctrl_events_answered,
};
