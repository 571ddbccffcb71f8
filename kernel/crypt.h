/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_CRYPT_H
#define RDMABLK_CRYPT_H

#include <linux/types.h>

#define RDMABLK_CRYPT_HASH	32	/* bytes of a hash, a MAC and a key */
#define RDMABLK_CRYPT_POINT	64	/* bytes of a public key: X and Y, big-endian */
#define RDMABLK_CRYPT_SECRET	32	/* bytes of what two sides share: X of a point */
#define RDMABLK_CRYPT_NONCE	12	/* bytes of a nonce */
#define RDMABLK_CRYPT_TAG	16	/* bytes that a sealed text is longer than the text */

struct rdmablk_crypt;

/**
 * enum rdmablk_crypt_way - the two keys of a session, one for each direction
 */
enum rdmablk_crypt_way {
	/** @RDMABLK_CRYPT_SEAL: for what this host sends */
	RDMABLK_CRYPT_SEAL,
	/** @RDMABLK_CRYPT_OPEN: for what it receives */
	RDMABLK_CRYPT_OPEN,
	/** @RDMABLK_CRYPT_WAYS: number of them */
	RDMABLK_CRYPT_WAYS,
};

/**
 * struct rdmablk_crypt_part - a piece of what is hashed
 * @data: its bytes
 * @len: number of them
 */
struct rdmablk_crypt_part {
	const void *data;
	unsigned int len;
};

struct rdmablk_crypt *rdmablk_crypt_new(void);
void rdmablk_crypt_free(struct rdmablk_crypt *c);
int rdmablk_crypt_hash(struct rdmablk_crypt *c, const struct rdmablk_crypt_part *part,
		       unsigned int parts, u8 *hash);
int rdmablk_crypt_mac(struct rdmablk_crypt *c, const void *key, unsigned int len,
		      const struct rdmablk_crypt_part *part, unsigned int parts, u8 *mac);
int rdmablk_crypt_new_pair(struct rdmablk_crypt *c, u8 *point);
int rdmablk_crypt_share(struct rdmablk_crypt *c, const u8 *point, u8 *secret);
int rdmablk_crypt_set_key(struct rdmablk_crypt *c, enum rdmablk_crypt_way way, const u8 *key);
int rdmablk_crypt_seal(struct rdmablk_crypt *c, const u8 *nonce, void *frame,
		       unsigned int head, unsigned int text);
int rdmablk_crypt_open(struct rdmablk_crypt *c, const u8 *nonce, void *frame,
		       unsigned int head, unsigned int sealed);
int rdmablk_crypt_forget(struct rdmablk_crypt *c);

#endif /* RDMABLK_CRYPT_H */
