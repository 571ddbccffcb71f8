/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * Sealed frames of wire version 2: how one message of the control queue travels after PROOF.
 * Initiator and target compile kernel/sealed.c.
 *
 *	 0	head: type 15, length of the frame, 0, 0, generation = epoch, 0
 *	16	sequence number, le64
 *	24	AES-256-GCM of one whole message, then the tag of 16 bytes
 *
 * The first 24 bytes are the associated data; the nonce is epoch le32 | sequence le64. Each
 * direction has its own key and counts its frames from 0. A new epoch has a new key; the
 * sequence goes on.
 *
 * The queue is reliable and ordered, so a receiver takes the next frame and no other. After
 * any error the state is what it was: the caller ends the session.
 */
#ifndef _UAPI_RDMABLK_SEALED_H
#define _UAPI_RDMABLK_SEALED_H

#include <linux/types.h>

#define RDMABLK_SEALED_TYPE		15	/* type in the head */
#define RDMABLK_SEALED_HEAD_LEN		24	/* bytes before the message; associated data */
#define RDMABLK_SEALED_TAG_LEN		16	/* bytes after it */
#define RDMABLK_SEALED_NONCE_LEN	12	/* bytes of a nonce */
#define RDMABLK_SEALED_KEY_LEN		32	/* bytes of a key of AES-256 */
#define RDMABLK_SEALED_EXTRA		(RDMABLK_SEALED_HEAD_LEN + RDMABLK_SEALED_TAG_LEN)
#define RDMABLK_SEALED_MIN		16	/* bytes of the shortest message: a head */
#define RDMABLK_SEALED_MAX		472	/* bytes of the longest message */

/**
 * struct rdmablk_sealed_job - one call of the cipher
 * @nonce: RDMABLK_SEALED_NONCE_LEN bytes
 * @aad: associated data
 * @aad_len: bytes of @aad
 * @from: message, or ciphertext with the tag behind it
 * @len: bytes of the message, without the tag
 * @to: room for the ciphertext with the tag behind it, or for the message
 */
struct rdmablk_sealed_job {
	const __u8 *nonce;
	const __u8 *aad;
	unsigned long aad_len;
	const __u8 *from;
	unsigned long len;
	__u8 *to;
};

/**
 * struct rdmablk_sealed_ops - AES-256-GCM of the side that calls
 * @seal: encrypt; 0 or a negative errno
 * @open: verify and decrypt; 0; -EBADMSG: the tag is wrong; or another negative errno
 *
 * @key is that of struct rdmablk_sealed.
 */
struct rdmablk_sealed_ops {
	int (*seal)(void *key, const struct rdmablk_sealed_job *job);
	int (*open)(void *key, const struct rdmablk_sealed_job *job);
};

/**
 * struct rdmablk_sealed - one direction of a control queue
 * @ops: cipher
 * @key: of @epoch; the caller owns it
 * @next: of the epoch after it; NULL until rdmablk_sealed_prepare()
 * @seq: number of the next frame
 * @epoch: key epoch of the next frame
 * @reserved: zero
 *
 * The caller serialises calls.
 */
struct rdmablk_sealed {
	const struct rdmablk_sealed_ops *ops;
	void *key;
	void *next;
	__u64 seq;
	__u32 epoch;
	__u32 reserved;
};

void rdmablk_sealed_init(struct rdmablk_sealed *s, const struct rdmablk_sealed_ops *ops,
			 void *key);
int rdmablk_sealed_seal(struct rdmablk_sealed *s, const void *msg, unsigned long len,
			void *frame, unsigned long room);
int rdmablk_sealed_open(struct rdmablk_sealed *s, const void *frame, unsigned long len,
			void *msg, unsigned long room);
int rdmablk_sealed_rekey(struct rdmablk_sealed *s, void *key);
int rdmablk_sealed_prepare(struct rdmablk_sealed *s, void *key);

#endif /* _UAPI_RDMABLK_SEALED_H */
