// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the steps of a login share: the reason of a failure, and deadlines.
 */
#include <linux/jiffies.h>
#include "login.h"
#include "patience.h"
#include "session.h"

/**
 * rdmablk_login_fail() - a step of the login has failed
 * @s: session
 * @ret: negative errno
 * @why: text, static
 *
 * Return: @ret.
 */
int rdmablk_login_fail(struct rdmablk_session *s, int ret, const char *why)
{
	s->why = why;
	return ret;
}

/**
 * rdmablk_login_reason() - note why the login under way cannot succeed
 * @s: session
 * @reason: enum rdmablk_reason; the first one counts, unless it is a lost connection
 *
 * A target that sends a bad message may close the connection right behind it.
 */
void rdmablk_login_reason(struct rdmablk_session *s, u16 reason)
{
	spin_lock_irq(&s->lock);
	if (!s->login.reason || s->login.reason == RDMABLK_R_CONNECTION)
		s->login.reason = reason;
	spin_unlock_irq(&s->lock);
}

/**
 * rdmablk_login_believes() - whether a reason may decide about the next login
 * @s: session
 * @reason: enum rdmablk_reason
 *
 * Return: true: only the target can have given it; version 1 cannot tell.
 */
bool rdmablk_login_believes(const struct rdmablk_session *s, u16 reason)
{
	return s->login.version == RDMABLK_VERSION_OPEN || READ_ONCE(s->login.trusted) == reason;
}

/**
 * rdmablk_login_queue_fail() - the connect of a queue has failed
 * @s: session
 * @q: queue; has a text, and the target's reason if there is one
 * @ret: negative errno
 *
 * The receives of a refused queue pair fail, and may have noted RDMABLK_R_CONNECTION first.
 *
 * Return: @ret.
 */
int rdmablk_login_queue_fail(struct rdmablk_session *s, struct rdmablk_queue *q, int ret)
{
	spin_lock_irq(&s->lock);
	if (q->cm_reason && (!s->login.reason ||
			     s->login.reason == RDMABLK_R_CONNECTION))
		s->login.reason = q->cm_reason;
	spin_unlock_irq(&s->lock);
	return rdmablk_login_fail(s, ret, q->why);
}

/**
 * rdmablk_login_progress() - a step of the login has succeeded: restart the time of a step
 * @s: session
 */
void rdmablk_login_progress(struct rdmablk_session *s)
{
	struct rdmablk_login_state *l = &s->login;
	unsigned long at = jiffies + l->no_progress;

	l->deadline = time_before(at, l->last_deadline) ? at : l->last_deadline;
}

/**
 * rdmablk_login_step() - when to give up a connection that gets no answer
 * @s: session
 * @ms: time of the step in a reconnect, milliseconds; a first login has more
 *
 * rdma_cm repeats a lost message after 4 s at the earliest. A reconnect gives up sooner and
 * tries again.
 *
 * Return: deadline in jiffies.
 */
unsigned long rdmablk_login_step(const struct rdmablk_session *s, u64 ms)
{
	unsigned long at = jiffies + msecs_to_jiffies(min_t(u64, ms, INT_MAX));

	return s->resume && time_before(at, s->login.deadline) ? at : s->login.deadline;
}

/**
 * rdmablk_login_start_clock() - set the deadlines of a login that begins
 * @s: session
 */
void rdmablk_login_start_clock(struct rdmablk_session *s)
{
	struct rdmablk_login_state *l = &s->login;
	u32 tmo = s->opt.connect_tmo * MSEC_PER_SEC;
	u32 joins;
	u64 whole;

	l->failed_tries = s->resume && s->outage.attempts ? s->outage.attempts - 1 : 0;
	if (l->failed_tries)
		tmo = max(tmo, rdmablk_patience_control(0, l->failed_tries));
	joins = 2 * (s->nr_queues ?: max_t(u32, s->opt.queues, RDMABLK_DEFAULT_QUEUES) +
				     s->opt.poll_queues);
	whole = rdmablk_patience_login(tmo, joins);
	l->no_progress = msecs_to_jiffies(tmo);
	l->last_deadline = jiffies + msecs_to_jiffies(min_t(u64, whole, INT_MAX));
	rdmablk_login_progress(s);
}
