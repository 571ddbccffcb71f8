// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dialogue of a live session that proves a key again: REAUTH, REAUTH_CHALLENGE,
 * REAUTH_PROOF, REAUTH_DONE. The key may be another one of the same host. Data queues and
 * memory stay; the control queue gets new keys, and with them a session outlives the end of
 * the key that it began with.
 *
 * Both sides go on with the old keys until REAUTH_DONE, the first message of the new ones.
 */
#include "base/log.h"
#include "base/util.h"
#include "session/reauth.h"
#include "wire/mac.h"

static const struct host *host_of(const struct session *s, const uint8_t *key_id)
{
	return host_find_again(&s->proof, key_id, session_peer(s), s->wish.host_id);
}

static bool under_way(const struct session *s)
{
	return s->rekeying.pair.pkey;
}

/**
 * reauth_begin - REAUTH
 * @s: live session
 * @msg: passed wire_check_head()
 * @len: bytes
 *
 * The peer is known, so it is told at once that the host does not have this key.
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int reauth_begin(struct session *s, const void *msg, size_t len)
{
	struct rdmablk_reauth_challenge challenge;
	uint8_t nonce[RDMABLK_NONCE_LEN];
	struct keying *k = &s->rekeying;
	struct rdmablk_reauth reauth;
	const struct host *h;

	(void)len;
	if (under_way(s))
		return RDMABLK_R_STATE;
	memcpy(&reauth, msg, sizeof(reauth));
	h = host_of(s, reauth.key_id);
	if (!h)
		return RDMABLK_R_AUTH_KEY;
	if (mac_random(nonce, sizeof(nonce)))
		return RDMABLK_R_INTERNAL;
	wire_pack_reauth_challenge(&challenge, nonce);
	if (keying_reauth(k, &s->keying, &reauth) ||
	    host_prk0(h, reauth.key_id, k->prk0) ||
	    keying_generate(k, reauth.point, challenge.point) ||
	    keying_challenge(k, &challenge, sizeof(challenge)))
		return RDMABLK_R_INTERNAL;
	memcpy(s->rekeying_id, reauth.key_id, sizeof(s->rekeying_id));
	return session_send(s, &challenge, sizeof(challenge));
}

static void proven(struct session *s)
{
	keying_turn(&s->keying, &s->rekeying);
	memcpy(s->proof.key_id, s->rekeying_id, sizeof(s->proof.key_id));
	session_key_stays(s);
	log_debug("%s: has proven a key again", session_text(s));
}

/**
 * reauth_prove - REAUTH_PROOF
 * @s: live session
 * @msg: passed wire_check_head()
 * @len: bytes
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int reauth_prove(struct session *s, const void *msg, size_t len)
{
	const struct rdmablk_reauth_proof *proof = msg;
	struct rdmablk_keysched_keys keys;
	struct rdmablk_reauth_done done;
	int ret;

	(void)len;
	if (!under_way(s))
		return RDMABLK_R_STATE;
	ret = keying_verify(&s->rekeying, proof->mac, &keys);
	if (!ret && host_of(s, s->rekeying_id))
		ret = ctrl_rekey(&s->ctrl, &keys);
	else if (!ret)
		ret = KEYING_NO_KEY;
	mac_wipe(&keys, sizeof(keys));
	if (ret)
		return keying_reason(ret);
	proven(s);
	wire_pack_reauth_done(&done);
	return session_send(s, &done, sizeof(done));
}
