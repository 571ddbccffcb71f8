// SPDX-License-Identifier: GPL-2.0-only
/*
 * The keep-alive finds an error when nothing else moves.
 */
#include <linux/jiffies.h>
#include "keepalive.h"
#include "session.h"

/**
 * rdmablk_keepalive_tmo() - how long an answer of the daemon may take
 * @s: session that has been granted
 *
 * Return: jiffies.
 */
unsigned long rdmablk_keepalive_tmo(const struct rdmablk_session *s)
{
	return max(msecs_to_jiffies(s->offer.grant.keep_alive_ms), 2UL);
}

static void rdmablk_keepalive_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(to_delayed_work(work),
						 struct rdmablk_session, keepalive_work);
	unsigned long tmo = rdmablk_keepalive_tmo(s), delay = tmo / 2;
	int ret;

	ret = rdmablk_ctrl_command(&s->ctrl, RDMABLK_OP_KEEPALIVE, 0,
				   RDMABLK_TAG_KEEPALIVE);
	if (!ret) {
		s->keepalive_sent = jiffies;
		s->keepalive_late = false;
	} else {
		/* The last one is under way. Look more often. */
		delay = tmo / 4;
	}
	if (ret && time_after(jiffies, s->keepalive_sent + tmo)) {
		if (s->keepalive_late) {
			/* A target that does not answer this will not answer a LOGOUT. */
			rdmablk_ctrl_break(&s->ctrl);
			rdmablk_session_error(s, RDMABLK_R_EXPIRED);
			return;
		}
		/*
		 * Once more: on a host that stood still, a virtual one say, this
		 * work may run before the answer that came meanwhile is received.
		 */
		s->keepalive_late = true;
	}
	queue_delayed_work(rdmablk_wq, &s->keepalive_work, max(delay, 1UL));
}

/**
 * rdmablk_keepalive_init() - prepare the work
 * @s: new session
 */
void rdmablk_keepalive_init(struct rdmablk_session *s)
{
	INIT_DELAYED_WORK(&s->keepalive_work, rdmablk_keepalive_work);
}

/**
 * rdmablk_keepalive_start() - ask the daemon whether it lives, from now on
 * @s: session that is about to be live
 *
 * READs and WRITEs succeed against a daemon that is stopped; only its own answer
 * proves that it lives.
 */
void rdmablk_keepalive_start(struct rdmablk_session *s)
{
	s->keepalive_late = false;
	queue_delayed_work(rdmablk_wq, &s->keepalive_work, rdmablk_keepalive_tmo(s) / 2);
}
