/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_AUTH_H
#define RDMABLK_AUTH_H

#include <linux/types.h>
#include "uapi/rdmablk_proto.h"
#include "wire.h"

struct crypto_shash;

/**
 * struct rdmablk_auth - the keys of one login
 * @tfm: hmac(sha256)
 * @key: K of the protocol header
 * @session_key: derived by rdmablk_auth_session(); zero after rdmablk_auth_forget()
 */
struct rdmablk_auth {
	struct crypto_shash *tfm;
	u8 key[RDMABLK_MAC_LEN];
	u8 session_key[RDMABLK_MAC_LEN];
};

int rdmablk_auth_open(struct rdmablk_auth *a);
void rdmablk_auth_close(struct rdmablk_auth *a);
void rdmablk_auth_forget(struct rdmablk_auth *a);
int rdmablk_auth_proof(struct rdmablk_auth *a, const struct rdmablk_hello *hello,
		       const void *challenge, u8 *mac);
int rdmablk_auth_session(struct rdmablk_auth *a, const struct rdmablk_hello *hello,
			 const struct rdmablk_wire_challenge *ch);
int rdmablk_auth_check(struct rdmablk_auth *a, const char *label,
		       const void *msg, size_t len, const u8 *mac);
int rdmablk_auth_join(struct rdmablk_auth *a, struct rdmablk_cm_request *req);

#endif /* RDMABLK_AUTH_H */
