// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The key of a session: its end, changes of hosts, keys and rights, and the proof of another
 * key.
 */
#include "base/log.h"
#include "base/util.h"
#include "session/session.h"
#include "session/session_audit.h"
#include "wire/mac.h"

#define KEY_ENDS_MS	30000	/* for the initiator to prove another key */

/* Return: the host of a session, if it may use this key now; or NULL */
static const struct host *host_of(const struct session *s, const uint8_t *key_id)
{
	return host_find_again(&s->proof, key_id, session_peer(s), s->hello.host_id);
}

static void key_ended(struct loop_timer *timer)
{
	struct session *s = container_of(timer, struct session, key_ends);

	if (host_of(s, s->proof.key_id))
		log_info("%s: its key is in force again", session_text(s));
	else
		session_end(s, RDMABLK_R_AUTH_KEY);
}

/**
 * session_key_ends - the key of a session is revoked or expires
 * @s: session of version 2, in any state
 * @ms: time for the initiator to prove another key; 0: no time
 *
 * A login gets no time: the next one may use another key. A session that has been told keeps
 * its deadline, unless this one is earlier.
 */
void session_key_ends(struct session *s, uint64_t ms)
{
	int64_t until = loop_now() + (int64_t)ms;

	if (s->version != RDMABLK_VERSION_PROVEN || s->state >= SESSION_CLOSING)
		return;
	if (!ms || s->state != SESSION_LIVE) {
		session_end(s, RDMABLK_R_AUTH_KEY);
		return;
	}
	if (s->key_ends.armed && s->key_ends.deadline <= until)
		return;
	session_audit_revoke(s, ms);
	s->key_ends.expired = key_ended;
	loop_timer_start(&s->key_ends, (int64_t)ms);
	session_tell(s, RDMABLK_EVENT_REAUTH, (uint64_t)until);
}

/* The initiator has proven a key that is in force. */
static void session_key_stays(struct session *s)
{
	loop_timer_stop(&s->key_ends);
	s->events.due &= ~(1U << RDMABLK_EVENT_REAUTH);
}

/*
 * Changes. A session goes on only while its host could log in with the key that it has proven,
 * and only with rights that its host still has. A right that is lost ends it at once, also
 * while it has time to prove another key.
 */

/* Return: RDMABLK_OK, or why a session with such rights must end */
static unsigned int lost_right(const struct session *s, unsigned int rights)
{
	if (!rights)
		return RDMABLK_R_NO_EXPORT;
	return s->lease.writer && !(rights & ALLOW_WRITE) ? RDMABLK_R_READ_ONLY : RDMABLK_OK;
}

/*
 * The list of the export counts, also for a host that is gone or whose keys have expired. A
 * session before PROOF has no export.
 *
 * Return: RDMABLK_OK, or why the session must end now.
 */
static unsigned int check_right(const struct session *s)
{
	const struct export *e = s->export;
	unsigned int reason = RDMABLK_OK;

	if (e)
		reason = lost_right(s, value_allow_rights(e->cfg->allow, s->proof.name));

	if (reason)
		log_warn("%s: host %s has lost its right to %s export %s", session_text(s),
			 s->proof.name, reason == RDMABLK_R_NO_EXPORT ? "use" : "write",
			 e->cfg->name);
	return reason;
}

static void check(struct session *s)
{
	unsigned int reason = check_right(s);

	if (reason) {
		session_end(s, reason);
	} else if (host_of(s, s->proof.key_id)) {
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

/*
 * The dialogue of a live session that proves a key again: REAUTH, REAUTH_CHALLENGE,
 * REAUTH_PROOF, REAUTH_DONE. The key may be another one of the same host. Data queues and
 * memory stay; the control queue gets new keys, and with them a session outlives the end of
 * the key that it began with.
 *
 * Both sides go on with the old keys until REAUTH_DONE, the first message of the new ones.
 */

static bool under_way(const struct session *s)
{
	return s->rekeying.pair.pkey;
}

/**
 * session_reauth_begin - REAUTH
 * @s: live session
 * @msg: passed wire_check_head()
 * @len: bytes
 *
 * The peer is known, so it is told at once that the host does not have this key.
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int session_reauth_begin(struct session *s, const void *msg, size_t len)
{
	struct rdmablk_reauth_challenge challenge;
	uint8_t nonce[RDMABLK_NONCE_LEN];
	struct keying *k = &s->rekeying;
	struct rdmablk_reauth reauth;

	(void)len;
	if (under_way(s))
		return RDMABLK_R_STATE;
	memcpy(&reauth, msg, sizeof(reauth));
	if (!host_of(s, reauth.key_id))
		return RDMABLK_R_AUTH_KEY;
	if (mac_random(nonce, sizeof(nonce)))
		return RDMABLK_R_INTERNAL;
	wire_pack_reauth_challenge(&challenge, nonce);
	if (keying_reauth(k, &s->keying, &reauth) ||
	    keying_generate(k, reauth.point, challenge.point) ||
	    keying_challenge(k, &challenge, sizeof(challenge)))
		return RDMABLK_R_INTERNAL;
	memcpy(s->rekeying_id, reauth.key_id, sizeof(s->rekeying_id));
	return session_send(s, &challenge, sizeof(challenge));
}

static void proven(struct session *s)
{
	uint8_t old[RDMABLK_KEY_ID_LEN];

	keying_turn(&s->keying, &s->rekeying);
	memcpy(old, s->proof.key_id, sizeof(old));
	memcpy(s->proof.key_id, s->rekeying_id, sizeof(s->proof.key_id));
	session_key_stays(s);
	log_debug("%s: has proven a key again", session_text(s));
	if (memcmp(old, s->proof.key_id, sizeof(old)))
		session_audit_reauth(s, old);
}

/**
 * session_reauth_prove - REAUTH_PROOF
 * @s: live session
 * @msg: passed wire_check_head()
 * @len: bytes
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int session_reauth_prove(struct session *s, const void *msg, size_t len)
{
	const struct rdmablk_reauth_proof *proof = msg;
	struct rdmablk_keysched_keys keys;
	uint8_t prk0[RDMABLK_KEYSCHED_LEN];
	struct rdmablk_reauth_done done;
	const struct host *h;
	int ret;

	(void)len;
	if (!under_way(s))
		return RDMABLK_R_STATE;
	h = host_of(s, s->rekeying_id);
	if (!h)
		return RDMABLK_R_AUTH_KEY;
	ret = host_prk0(h, s->rekeying_id, prk0) ?:
	      keying_verify(&s->rekeying, prk0, proof->mac, &keys) ?:
	      ctrl_rekey(&s->ctrl, &keys);
	mac_wipe(prk0, sizeof(prk0));
	mac_wipe(&keys, sizeof(keys));
	if (ret)
		return keying_reason(ret);
	proven(s);
	wire_pack_reauth_done(&done);
	return session_send(s, &done, sizeof(done));
}
