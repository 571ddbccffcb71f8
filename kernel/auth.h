/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_AUTH_H
#define RDMABLK_AUTH_H

#include <linux/types.h>
#include "crypt.h"
#include "uapi/rdmablk_proto.h"

/**
 * struct rdmablk_auth_secret - secrets of one dialogue, wiped as a whole
 * @key: K
 * @prk0: from K
 * @z: ECDH value
 * @prk1: from @prk0 and @z
 * @keys: keys of the epoch
 */
struct rdmablk_auth_secret {
	u8 key[RDMABLK_KEYSCHED_LEN];
	u8 prk0[RDMABLK_KEYSCHED_LEN];
	u8 z[RDMABLK_KEYSCHED_LEN];
	u8 prk1[RDMABLK_KEYSCHED_LEN];
	struct rdmablk_keysched_keys keys;
};

/**
 * struct rdmablk_auth_ciphers - AES-256-GCM of one key epoch
 * @tx: seals what this side sends
 * @rx: opens what the target sends
 */
struct rdmablk_auth_ciphers {
	struct rdmablk_crypt_cipher *tx;
	struct rdmablk_crypt_cipher *rx;
};

/**
 * struct rdmablk_auth - how a session of version 2 proves K
 * @crypt: algorithms; NULL before rdmablk_auth_open()
 * @ciphers: of the present epoch, and of the next one
 * @key_id: names K of the present epoch, and of the next one
 * @next: index in @ciphers and @key_id of the next epoch
 * @used: @secret or @crypt may hold a secret
 * @stale: a cipher that is not in use may hold a part of an old key
 * @th0: transcript up to HELLO or REAUTH
 * @th2: transcript of the present epoch
 * @secret: secrets of the dialogue under way
 *
 * Owned by the login under way, in a live session by the reauthentication.
 */
struct rdmablk_auth {
	struct rdmablk_crypt *crypt;
	struct rdmablk_auth_ciphers ciphers[2];
	u8 key_id[2][RDMABLK_KEY_ID_LEN];
	u8 next;
	bool used;
	bool stale;
	u8 th0[RDMABLK_KEYSCHED_LEN];
	u8 th2[RDMABLK_KEYSCHED_LEN];
	struct rdmablk_auth_secret secret;
};

int rdmablk_auth_open(struct rdmablk_auth *a);
void rdmablk_auth_close(struct rdmablk_auth *a);
int rdmablk_auth_name(struct rdmablk_auth *a, u8 *key_id);
int rdmablk_auth_begin(struct rdmablk_auth *a, u8 *key_id, u8 *point);
int rdmablk_auth_resume(struct rdmablk_auth *a, const u8 *nonce, const u8 *uuid, u8 *mac);
bool rdmablk_auth_is_other(const struct rdmablk_auth *a);
int rdmablk_auth_hello(struct rdmablk_auth *a, u32 qpn_i, u32 qpn_t, const void *msg,
		       size_t len);
int rdmablk_auth_reauth(struct rdmablk_auth *a, const void *msg, size_t len);
int rdmablk_auth_challenge(struct rdmablk_auth *a, const void *msg, size_t len,
			   const u8 *point, u8 *mac);
const struct rdmablk_auth_ciphers *rdmablk_auth_ciphers(const struct rdmablk_auth *a);
void rdmablk_auth_turn(struct rdmablk_auth *a);
int rdmablk_auth_join(struct rdmablk_auth *a, u32 qpn, struct rdmablk_cm_request *req);
int rdmablk_auth_accept(struct rdmablk_auth *a, const struct rdmablk_cm_accept2 *acc,
			const u8 *join_mac, u32 qpn);
void rdmablk_auth_forget(struct rdmablk_auth *a);
void rdmablk_auth_end(struct rdmablk_auth *a);

#endif /* RDMABLK_AUTH_H */
