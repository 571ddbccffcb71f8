/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What wire version 2 needs of libcrypto: ECDH on P-256, AES-256-GCM, and SHA-256 with HMAC
 * for the key schedule.
 */
#ifndef RDMABLKD_CRYPTO_H
#define RDMABLKD_CRYPTO_H

#include <stdbool.h>
#include <stdint.h>

#include "uapi/rdmablk_keysched.h"
#include "uapi/rdmablk_sealed.h"

#define CRYPTO_POINT_LEN	64	/* a public key: X and Y, big-endian */

/**
 * struct crypto_pair - an ephemeral key of ECDH
 * @pkey: private and public key
 */
struct crypto_pair {
	struct evp_pkey_st *pkey;
};

extern const struct rdmablk_keysched crypto_keysched;
extern const struct rdmablk_sealed_ops crypto_sealed;

int crypto_start(const char **missing);
void crypto_stop(void);
int crypto_generate(struct crypto_pair *pair, uint8_t *public);
int crypto_agree(const struct crypto_pair *pair, const uint8_t *peer, uint8_t *z);
void crypto_forget(struct crypto_pair *pair);
void *crypto_cipher(const uint8_t *key, bool seals);
void crypto_cipher_free(void *cipher);

#endif
