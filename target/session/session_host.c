// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What becomes of sessions when hosts, keys and rights change. A session goes on only while its
 * host could log in with the key that it has proven, and only with rights that its host still
 * has. A right that is lost ends it at once, also while it has time to prove another key.
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

/* Return: RDMABLK_OK, or why the session must end now. One that waits for its export has none. */
static unsigned int check_right(const struct session *s)
{
	const struct host *h = s->export ? host_find_name(s->proof.name) : NULL;
	unsigned int reason = h ? lost_right(s, host_may(h, s->export)) : RDMABLK_OK;

	if (reason)
		log_warn("%s: host %s has lost its right to %s export %s", session_text(s),
			 s->proof.name, reason == RDMABLK_R_NO_EXPORT ? "use" : "write",
			 s->export->cfg->name);
	return reason;
}

static void check(struct session *s)
{
	unsigned int reason = check_right(s);

	if (reason) {
		session_end(s, reason);
	} else if (host_find_again(&s->proof, s->proof.key_id, session_peer(s),
				   s->wish.host_id)) {
		session_key_stays(s);
	} else if (!s->key_ends.armed) {	/* the next change gives no more time */
		log_warn("%s: the key of host %s has ended", session_text(s), s->proof.name);
		session_key_ends(s, KEY_ENDS_MS);
	}
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
