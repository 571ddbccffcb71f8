/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_CRYPT_H
#define RDMABLK_CRYPT_H

#include <linux/types.h>
#include "uapi/rdmablk_keysched.h"
#include "uapi/rdmablk_sealed.h"

#define RDMABLK_CRYPT_POINT	64	/* bytes of a public key: X and Y, big-endian */
#define RDMABLK_CRYPT_SECRET	32	/* bytes of what two sides share: X of a point */

struct rdmablk_crypt;
struct rdmablk_crypt_cipher;

extern const struct rdmablk_keysched_ops rdmablk_crypt_keysched;
extern const struct rdmablk_sealed_ops rdmablk_crypt_sealed;

struct rdmablk_crypt *rdmablk_crypt_new(void);
void rdmablk_crypt_free(struct rdmablk_crypt *c);
int rdmablk_crypt_new_pair(struct rdmablk_crypt *c, u8 *point);
int rdmablk_crypt_share(struct rdmablk_crypt *c, const u8 *point, u8 *secret);
int rdmablk_crypt_forget(struct rdmablk_crypt *c);

struct rdmablk_crypt_cipher *rdmablk_crypt_new_cipher(void);
void rdmablk_crypt_free_cipher(struct rdmablk_crypt_cipher *c);
int rdmablk_crypt_set_key(struct rdmablk_crypt_cipher *c, const u8 *key);

#endif /* RDMABLK_CRYPT_H */
