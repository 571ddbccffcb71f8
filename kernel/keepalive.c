// SPDX-License-Identifier: GPL-2.0-only
/*
 * The keep-alive finds a lost connection when no I/O is under way, and a stopped daemon, which
 * I/O does not notice.
 */
#include <linux/jiffies.h>
#include "keepalive.h"
#include "session.h"

static void rdmablk_keepalive_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(to_delayed_work(work),
						 struct rdmablk_session, keepalive.work);
	struct rdmablk_keepalive *k = &s->keepalive;
	unsigned long delay = k->tmo / 2;
	int ret;

	ret = rdmablk_ctrl_command(&s->ctrl, RDMABLK_OP_KEEPALIVE, 0,
				   RDMABLK_TAG_KEEPALIVE);
	if (!ret) {
		k->sent = jiffies;
		k->late = false;
	} else {
		/* The last question is not answered yet. Look more often. */
		delay = k->tmo / 4;
	}
	if (ret && time_after(jiffies, k->sent + k->tmo)) {
		if (k->late) {
			/* A target that does not answer this will not answer a LOGOUT. */
			rdmablk_ctrl_break(&s->ctrl);
			rdmablk_session_error(s, RDMABLK_R_EXPIRED);
			return;
		}
		/*
		 * Look once more. On a host that stood still, such as a virtual machine,
		 * this work may run before the answer that came meanwhile is received.
		 */
		k->late = true;
	}
	queue_delayed_work(rdmablk_wq, &k->work, max(delay, 1UL));
}

/**
 * rdmablk_keepalive_init() - prepare the work
 * @s: new session
 */
void rdmablk_keepalive_init(struct rdmablk_session *s)
{
	INIT_DELAYED_WORK(&s->keepalive.work, rdmablk_keepalive_work);
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
	struct rdmablk_keepalive *k = &s->keepalive;

	k->tmo = max(msecs_to_jiffies(s->login.offer.grant.keep_alive_ms), 2UL);
	k->late = false;
	queue_delayed_work(rdmablk_wq, &k->work, k->tmo / 2);
}
