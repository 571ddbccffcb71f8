/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target's end of a login of version 2, made of the daemon's files
 */
#ifndef CRYPT_TARGET_H
#define CRYPT_TARGET_H

#include <string.h>

#include "unit.h"
#include "wire/crypto.h"

struct crypt_target {
	uint8_t key[RDMABLK_KEYSCHED_LEN];		/* K */
	uint8_t th0[RDMABLK_KEYSCHED_LEN], th1[RDMABLK_KEYSCHED_LEN], th2[RDMABLK_KEYSCHED_LEN];
	uint8_t prk0[RDMABLK_KEYSCHED_LEN];
	uint8_t peer[CRYPTO_POINT_LEN];
	struct crypto_pair pair;
	struct rdmablk_keysched_keys keys;
};

/* Takes HELLO. @point: result, the target's public key for CHALLENGE */
static inline void crypt_target_hello(struct crypt_target *t, uint32_t qpn_i, uint32_t qpn_t,
				      const void *hello, size_t len, const uint8_t *peer,
				      uint8_t *point)
{
	assert_int_equal(rdmablk_keysched_th0(&crypto_keysched, qpn_i, qpn_t, hello, len,
					      t->th0), 0);
	assert_int_equal(rdmablk_keysched_prk0(&crypto_keysched, t->key, t->prk0), 0);
	memcpy(t->peer, peer, sizeof(t->peer));
	assert_int_equal(crypto_generate(&t->pair, point), 0);
}

static inline void crypt_target_reauth(struct crypt_target *t, const void *msg, size_t len,
				       const uint8_t *peer, uint8_t *point)
{
	assert_int_equal(rdmablk_keysched_reauth(&crypto_keysched, t->th2, msg, len, t->th0), 0);
	assert_int_equal(rdmablk_keysched_prk0(&crypto_keysched, t->key, t->prk0), 0);
	memcpy(t->peer, peer, sizeof(t->peer));
	assert_int_equal(crypto_generate(&t->pair, point), 0);
}

static inline void crypt_target_challenge(struct crypt_target *t, const void *msg, size_t len)
{
	assert_int_equal(rdmablk_keysched_th1(&crypto_keysched, t->th0, msg, len, t->th1), 0);
}

/* Takes PROOF. Return: 0: PROOF is right, and @t->keys are set. */
static inline int crypt_target_proof(struct crypt_target *t, const uint8_t *mac)
{
	uint8_t z[RDMABLK_KEYSCHED_LEN], prk1[RDMABLK_KEYSCHED_LEN];
	int ret = rdmablk_keysched_check_proof(&crypto_keysched, t->prk0, t->th1, mac);

	if (ret)
		return ret;
	assert_int_equal(crypto_agree(&t->pair, t->peer, z), 0);
	rdmablk_keysched_th2(&crypto_keysched, t->th1, mac, t->th2);
	rdmablk_keysched_prk1(&crypto_keysched, t->prk0, t->th1, z, prk1);
	rdmablk_keysched_keys(&crypto_keysched, prk1, t->th2, &t->keys);
	return 0;
}

static inline void crypt_target_end(struct crypt_target *t)
{
	if (t->pair.pkey)
		crypto_forget(&t->pair);
}

#endif /* CRYPT_TARGET_H */
