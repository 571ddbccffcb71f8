/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * The key schedule of wire version 2: from K, the queue pair numbers, the messages of the
 * login and the ECDH value to the keys of a session. Initiator and target compile
 * kernel/keysched.c, so that both derive the same bytes.
 *
 *	key_id	= SHA256("rdmablk key id 2" | K), first 8 bytes
 *	th0	= SHA256("rdmablk login  2" | QPN_i le32 | QPN_t le32 | HELLO)
 *	    or	  SHA256("rdmablk reauth 2" | th2 of the epoch that ends | REAUTH)
 *	th1	= SHA256(th0 | CHALLENGE)
 *	prk0	= HKDF-Extract(salt "rdmablk-psk-p256", K)
 *	resume	= HMAC(HKDF-Expand(prk0, "rdmablk resume 2" | nonce of HELLO), UUID), first 16
 *		  bytes
 *	proof	= HMAC(HKDF-Expand(prk0, "rdmablk proof  2" | th1), th1)
 *	th2	= SHA256(th1 | proof)
 *	prk1	= HKDF-Extract(salt HKDF-Expand(prk0, "rdmablk derive 2" | th1), Z)
 *	keys	= HKDF-Expand(prk1, "rdmablk i2t    2" | th2), and the same with
 *		  "rdmablk t2i    2", "rdmablk join   2", "rdmablk export 2"
 *	join	= HMAC(key of joins, "rdmablk joinreq2" | request, bytes 0..23 | QPN_i le32)
 *	accept	= HMAC(key of joins, "rdmablk joinrep2" | accept, bytes 0..15 |
 *		  MAC of the request | QPN_t le32)
 *
 * Z is the x-coordinate of the ECDH point. QPN_i and QPN_t are the numbers of the initiator's
 * and the target's queue pair of the connection that carries the message.
 *
 * Every function may be called by any thread. It returns 0, or the error of the primitive
 * that has failed. After an error its results are zero. Secrets that are not results are
 * wiped before it returns.
 */
#ifndef _UAPI_RDMABLK_KEYSCHED_H
#define _UAPI_RDMABLK_KEYSCHED_H

#include <linux/types.h>

#define RDMABLK_KEYSCHED_LEN		32	/* bytes of K, of each hash, key and MAC, of Z */
#define RDMABLK_KEYSCHED_ID_LEN		8	/* bytes of a key id */
#define RDMABLK_KEYSCHED_UUID_LEN	16	/* bytes of a UUID, and of a resume MAC */
#define RDMABLK_KEYSCHED_LABEL_LEN	16	/* bytes of a label */
#define RDMABLK_KEYSCHED_REQUEST_LEN	24	/* bytes of a join request below its MAC */
#define RDMABLK_KEYSCHED_ACCEPT_LEN	16	/* bytes of an accept below its MAC */
#define RDMABLK_KEYSCHED_EXPAND_MAX	(255 * RDMABLK_KEYSCHED_LEN)

/**
 * struct rdmablk_keysched_part - a piece of what is hashed
 * @data: bytes
 * @len: number of bytes
 */
struct rdmablk_keysched_part {
	const void *data;
	unsigned long len;
};

/**
 * struct rdmablk_keysched_ops - primitives of the side that calls
 * @hash: SHA-256 of @nr parts in a row into @out; 0 or a negative errno
 * @hmac: HMAC-SHA-256 of @nr parts in a row into @out, with a key of @key_len bytes; 0 or a
 *	negative errno
 * @differ: not 0 if two buffers differ; takes the same time wherever they differ
 * @wipe: overwrites secrets, even if the compiler thinks that nobody reads them again
 *
 * @ctx is that of struct rdmablk_keysched.
 */
struct rdmablk_keysched_ops {
	int (*hash)(void *ctx, const struct rdmablk_keysched_part *part, unsigned int nr,
		    __u8 *out);
	int (*hmac)(void *ctx, const __u8 *key, unsigned long key_len,
		    const struct rdmablk_keysched_part *part, unsigned int nr, __u8 *out);
	int (*differ)(const void *a, const void *b, unsigned long len);
	void (*wipe)(void *buf, unsigned long len);
};

/**
 * struct rdmablk_keysched - primitives and their context
 * @ops: primitives
 * @ctx: first argument of @ops->hash and @ops->hmac
 */
struct rdmablk_keysched {
	const struct rdmablk_keysched_ops *ops;
	void *ctx;
};

/**
 * struct rdmablk_keysched_keys - keys of one epoch of a session, secret
 * @i2t: seals what the initiator sends on the control queue
 * @t2i: seals what the target sends
 * @join: MACs of joins and accepts
 * @exporter: for uses outside the protocol
 */
struct rdmablk_keysched_keys {
	__u8 i2t[RDMABLK_KEYSCHED_LEN];
	__u8 t2i[RDMABLK_KEYSCHED_LEN];
	__u8 join[RDMABLK_KEYSCHED_LEN];
	__u8 exporter[RDMABLK_KEYSCHED_LEN];
};

int rdmablk_keysched_extract(const struct rdmablk_keysched *c, const void *salt,
			     unsigned long salt_len, const void *ikm, unsigned long ikm_len,
			     __u8 *prk);
int rdmablk_keysched_expand(const struct rdmablk_keysched *c, const __u8 *prk,
			    const void *info, unsigned long info_len, __u8 *out,
			    unsigned long len);
int rdmablk_keysched_id(const struct rdmablk_keysched *c, const __u8 *key, __u8 *id);
int rdmablk_keysched_th0(const struct rdmablk_keysched *c, __u32 qpn_i, __u32 qpn_t,
			 const void *hello, unsigned long len, __u8 *th0);
int rdmablk_keysched_reauth(const struct rdmablk_keysched *c, const __u8 *th2,
			    const void *reauth, unsigned long len, __u8 *th0);
int rdmablk_keysched_th1(const struct rdmablk_keysched *c, const __u8 *th0,
			 const void *challenge, unsigned long len, __u8 *th1);
int rdmablk_keysched_prk0(const struct rdmablk_keysched *c, const __u8 *key, __u8 *prk0);
int rdmablk_keysched_resume_key(const struct rdmablk_keysched *c, const __u8 *prk0,
				const __u8 *nonce, __u8 *key);
int rdmablk_keysched_resume(const struct rdmablk_keysched *c, const __u8 *key,
			    const __u8 *uuid, __u8 *mac);
int rdmablk_keysched_check_resume(const struct rdmablk_keysched *c, const __u8 *key,
				  const __u8 *uuid, const __u8 *mac);
int rdmablk_keysched_proof(const struct rdmablk_keysched *c, const __u8 *prk0,
			   const __u8 *th1, __u8 *mac);
int rdmablk_keysched_check_proof(const struct rdmablk_keysched *c, const __u8 *prk0,
				 const __u8 *th1, const __u8 *mac);
int rdmablk_keysched_th2(const struct rdmablk_keysched *c, const __u8 *th1,
			 const __u8 *mac, __u8 *th2);
int rdmablk_keysched_prk1(const struct rdmablk_keysched *c, const __u8 *prk0,
			  const __u8 *th1, const __u8 *z, __u8 *prk1);
int rdmablk_keysched_keys(const struct rdmablk_keysched *c, const __u8 *prk1,
			  const __u8 *th2, struct rdmablk_keysched_keys *keys);
int rdmablk_keysched_join(const struct rdmablk_keysched *c, const __u8 *key,
			  const void *request, __u32 qpn_i, __u8 *mac);
int rdmablk_keysched_check_join(const struct rdmablk_keysched *c, const __u8 *key,
				const void *request, __u32 qpn_i, const __u8 *mac);
int rdmablk_keysched_accept(const struct rdmablk_keysched *c, const __u8 *key,
			    const void *accept, const __u8 *request_mac, __u32 qpn_t,
			    __u8 *mac);
int rdmablk_keysched_check_accept(const struct rdmablk_keysched *c, const __u8 *key,
				  const void *accept, const __u8 *request_mac,
				  __u32 qpn_t, const __u8 *mac);

#endif /* _UAPI_RDMABLK_KEYSCHED_H */
