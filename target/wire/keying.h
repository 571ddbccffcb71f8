/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The key schedule of one session of version 2: from HELLO, or REAUTH, to the keys of an
 * epoch.
 */
#ifndef RDMABLKD_KEYING_H
#define RDMABLKD_KEYING_H

#include "uapi/rdmablk_proto.h"
#include "wire/crypto.h"

/**
 * struct keying - what a session keeps of a dialogue, secret
 * @pair: ephemeral key, until PROOF
 * @peer: ephemeral public key of the initiator, until PROOF
 * @resume: key of the resume MAC of HELLO, from PROOF until keying_resumes(); zero: HELLO has none
 * @th: transcript so far
 * @join: key of joins, from PROOF on
 *
 * All zero before the first message, and after keying_forget(). Neither K nor the value prk0,
 * which is as good as K, is here, because sessions are not in locked memory. Each step that
 * needs prk0 computes it with host_prk0().
 */
struct keying {
	struct crypto_pair pair;
	uint8_t peer[RDMABLK_POINT_LEN];
	uint8_t resume[RDMABLK_KEYSCHED_LEN];
	uint8_t th[RDMABLK_KEYSCHED_LEN];
	uint8_t join[RDMABLK_KEYSCHED_LEN];
};

int keying_hello(struct keying *k, uint32_t qpn_i, uint32_t qpn_t, const void *hello, size_t len);
int keying_reauth(struct keying *k, const struct keying *old, const struct rdmablk_reauth *reauth);
int keying_generate(struct keying *k, const uint8_t *peer, uint8_t *public);
int keying_challenge(struct keying *k, const void *challenge, size_t len);
int keying_expect_resume(struct keying *k, const uint8_t *prk0, const uint8_t *nonce);
bool keying_resumes(struct keying *k, const uint8_t *uuid, const uint8_t *mac);
int keying_verify(struct keying *k, const uint8_t *prk0, const uint8_t *mac,
		  struct rdmablk_keysched_keys *keys);
void keying_turn(struct keying *k, struct keying *next);
unsigned int keying_reason(int ret);
bool keying_join(const struct keying *k, const void *request, uint32_t qpn);
int keying_accept(const struct keying *k, struct rdmablk_cm_accept2 *accept,
		  const uint8_t *request_mac, uint32_t qpn);
void keying_forget(struct keying *k);

#endif
