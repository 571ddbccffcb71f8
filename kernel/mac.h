/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_MAC_H
#define RDMABLK_MAC_H

#include <linux/types.h>
#include "uapi/rdmablk_proto.h"
#include "wire.h"

struct crypto_shash;

/**
 * struct rdmablk_mac - the keys of one login
 * @tfm: hmac(sha256)
 * @key: K of the protocol header
 * @session_key: derived by rdmablk_mac_session(); zero after rdmablk_mac_forget()
 */
struct rdmablk_mac {
	struct crypto_shash *tfm;
	u8 key[RDMABLK_MAC_LEN];
	u8 session_key[RDMABLK_MAC_LEN];
};

int rdmablk_mac_open(struct rdmablk_mac *a);
void rdmablk_mac_close(struct rdmablk_mac *a);
void rdmablk_mac_forget(struct rdmablk_mac *a);
int rdmablk_mac_proof(struct rdmablk_mac *a, const struct rdmablk_hello *hello,
		      const void *challenge, u8 *mac);
int rdmablk_mac_session(struct rdmablk_mac *a, const struct rdmablk_hello *hello,
			const struct rdmablk_wire_challenge *ch);
int rdmablk_mac_check(struct rdmablk_mac *a, const char *label,
		      const void *msg, size_t len, const u8 *mac);
int rdmablk_mac_join(struct rdmablk_mac *a, struct rdmablk_cm_request *req);

#endif /* RDMABLK_MAC_H */
