// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The target's steps of the key schedule, in the order of the messages. A secret is wiped in
 * the step that needs it last, whether the step succeeds or not.
 */
#include <errno.h>
#include <stddef.h>

#include "base/util.h"
#include "wire/mac.h"
#include "wire/keying.h"

static const struct rdmablk_keysched *schedule = &crypto_keysched;

/**
 * keying_hello - a login begins
 * @k: zeroed
 * @qpn_i: number of the initiator's queue pair
 * @qpn_t: number of the target's
 * @hello: as received
 * @len: bytes of @hello
 *
 * Return: 0 or -errno of libcrypto.
 */
int keying_hello(struct keying *k, uint32_t qpn_i, uint32_t qpn_t, const void *hello, size_t len)
{
	return rdmablk_keysched_th0(schedule, qpn_i, qpn_t, hello, len, k->th);
}

/**
 * keying_reauth - a reauthentication begins
 * @k: zeroed
 * @old: of the epoch that is to end
 * @reauth: as received
 *
 * Return: 0 or -errno of libcrypto.
 */
int keying_reauth(struct keying *k, const struct keying *old, const struct rdmablk_reauth *reauth)
{
	return rdmablk_keysched_reauth(schedule, old->th, reauth, sizeof(*reauth), k->th);
}

/**
 * keying_generate - make the ephemeral key
 * @k: begun
 * @peer: that of the initiator, as received; looked at in keying_verify()
 * @public: public key for CHALLENGE, RDMABLK_POINT_LEN bytes
 *
 * Return: 0 or -EIO.
 */
int keying_generate(struct keying *k, const uint8_t *peer, uint8_t *public)
{
	memcpy(k->peer, peer, sizeof(k->peer));
	return crypto_generate(&k->pair, public);
}

/**
 * keying_challenge - CHALLENGE is complete
 * @k: after keying_generate()
 * @challenge: as sent
 * @len: bytes of @challenge
 *
 * Return: 0 or -errno of libcrypto.
 */
int keying_challenge(struct keying *k, const void *challenge, size_t len)
{
	return rdmablk_keysched_th1(schedule, k->th, challenge, len, k->th);
}

/**
 * keying_expect_resume - HELLO has a resume MAC
 * @k: verified
 * @prk0: from K, secret
 * @nonce: HELLO's
 *
 * Return: 0 or -errno of libcrypto.
 */
int keying_expect_resume(struct keying *k, const uint8_t *prk0, const uint8_t *nonce)
{
	return rdmablk_keysched_resume_key(schedule, prk0, nonce, k->resume);
}

/**
 * keying_resumes - whether HELLO names an export
 * @k: after keying_expect_resume(); good for one answer
 * @uuid: UUID of the export
 * @mac: resume MAC of HELLO
 *
 * Return: true: HELLO names this export.
 */
bool keying_resumes(struct keying *k, const uint8_t *uuid, const uint8_t *mac)
{
	bool same = !rdmablk_keysched_check_resume(schedule, k->resume, uuid, mac);

	mac_wipe(k->resume, sizeof(k->resume));
	return same;
}

/* What follows the MAC, which the transcript takes in last */
static int derive(struct keying *k, const uint8_t *prk0, const uint8_t *mac,
		  struct rdmablk_keysched_keys *keys)
{
	uint8_t z[RDMABLK_KEYSCHED_LEN], prk1[RDMABLK_KEYSCHED_LEN];
	int ret = crypto_agree(&k->pair, k->peer, z);

	ret = ret ?: rdmablk_keysched_prk1(schedule, prk0, k->th, z, prk1);
	ret = ret ?: rdmablk_keysched_th2(schedule, k->th, mac, k->th);
	ret = ret ?: rdmablk_keysched_keys(schedule, prk1, k->th, keys);
	mac_wipe(z, sizeof(z));
	mac_wipe(prk1, sizeof(prk1));
	return ret;
}

/**
 * keying_verify - whether the initiator knows K
 * @k: after CHALLENGE; gets @join if the initiator does
 * @prk0: from K, secret
 * @mac: MAC of PROOF
 * @keys: result, keys of the epoch that begins, secret; the caller wipes them in any case
 *
 * The MAC comes first: a peer that does not know K costs no ECDH.
 *
 * Return: 0; -EACCES: no; -EBADMSG: yes, but its public key is not one; or -errno of
 * libcrypto.
 */
int keying_verify(struct keying *k, const uint8_t *prk0, const uint8_t *mac,
		  struct rdmablk_keysched_keys *keys)
{
	int ret = rdmablk_keysched_check_proof(schedule, prk0, k->th, mac);

	ret = ret ?: derive(k, prk0, mac, keys);
	crypto_forget(&k->pair);
	mac_wipe(k->peer, sizeof(k->peer));
	if (!ret)
		memcpy(k->join, keys->join, sizeof(k->join));
	return ret;
}

/**
 * keying_turn - the next key epoch begins
 * @k: of the epoch that ends
 * @next: verified; all zero afterwards
 */
void keying_turn(struct keying *k, struct keying *next)
{
	keying_forget(k);
	*k = *next;
	mac_wipe(next, sizeof(*next));
}

/**
 * keying_reason - reason of the session's end for an error
 * @ret: of keying_verify(), ctrl_seal() or ctrl_rekey()
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int keying_reason(int ret)
{
	switch (ret) {
	case 0:
		return RDMABLK_OK;
	case -EACCES:
		return RDMABLK_R_AUTH_FAILED;
	case -EBADMSG:
		return RDMABLK_R_MALFORMED;
	case -EBUSY:
		return RDMABLK_R_STATE;
	default:
		return RDMABLK_R_INTERNAL;
	}
}

/**
 * keying_join - whether the session's initiator sent a request to join from this queue pair
 * @k: verified
 * @request: struct rdmablk_cm_request as received
 * @qpn: number of the request's queue pair, as rdma_cm reports it
 *
 * Return: true: it did.
 */
bool keying_join(const struct keying *k, const void *request, uint32_t qpn)
{
	const uint8_t *mac = (const uint8_t *)request + offsetof(struct rdmablk_cm_request, mac);

	return !rdmablk_keysched_check_join(schedule, k->join, request, qpn, mac);
}

/**
 * keying_accept - MAC of an accept
 * @k: verified
 * @accept: complete but for its MAC
 * @request_mac: MAC of the request, RDMABLK_MAC_LEN bytes
 * @qpn: number of the target's queue pair
 *
 * Return: 0 or -errno of libcrypto.
 */
int keying_accept(const struct keying *k, struct rdmablk_cm_accept2 *accept,
		  const uint8_t *request_mac, uint32_t qpn)
{
	return rdmablk_keysched_accept(schedule, k->join, accept, request_mac, qpn, accept->mac);
}

/**
 * keying_forget - wipe all of it; may be called twice
 * @k: in any state
 */
void keying_forget(struct keying *k)
{
	crypto_forget(&k->pair);
	mac_wipe(k, sizeof(*k));
}
