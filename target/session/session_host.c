// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What becomes of sessions when hosts, keys and rights change. A session goes on only while its
 * host has the key with which it has logged in, and only with rights that its host still has.
 */
#include "base/log.h"
#include "base/util.h"
#include "session/session.h"

#define KEY_ENDS_MS	30000	/* for the initiator to prove another key */

/* Return: RDMABLK_OK, or why a session with such rights must end */
static unsigned int lost_right(const struct session *s, unsigned int rights)
{
	if (!rights)
		return RDMABLK_R_NO_EXPORT;
	return s->lease.writer && !(rights & HOST_WRITE) ? RDMABLK_R_READ_ONLY : RDMABLK_OK;
}

static void check(struct session *s)
{
	const struct host *h = host_find_name(s->proof.name);
	unsigned int reason;

	if (!h || !host_proves(h, s->proof.key_id)) {
		/* The next change gives no more time. */
		if (!s->key_ends.armed) {
			log_warn("%s: the key of host %s has ended", session_text(s),
				 s->proof.name);
			session_key_ends(s, KEY_ENDS_MS);
		}
		return;
	}
	loop_timer_stop(&s->key_ends);	/* the key has come back */
	/* One that waits for its export is looked at when it gets it. */
	reason = s->export ? lost_right(s, host_may(h, s->export)) : RDMABLK_OK;
	if (!reason)
		return;
	log_warn("%s: host %s has lost its right to %s export %s", session_text(s),
		 s->proof.name, reason == RDMABLK_R_NO_EXPORT ? "use" : "write",
		 s->export->cfg->name);
	session_end(s, reason);
}

/**
 * session_hosts_changed - hosts, their keys or the rights of an export have changed
 *
 * In the loop.
 */
void session_hosts_changed(void)
{
	struct session *s = NULL;

	while ((s = session_next(s)))
		if (s->proof.name[0] && s->state < SESSION_CLOSING)
			check(s);
}
