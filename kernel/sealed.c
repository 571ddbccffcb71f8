// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Sealed frames; uapi/rdmablk_sealed.h has their layout.
 *
 * PURE, for both sides, as keysched.c is. The caller gives AES-256-GCM.
 *
 * The receiver knows each byte of the next head. It compares the head with that, and gives
 * the cipher its own bytes, not those of the frame: no field of the frame decides anything.
 */
#include <linux/errno.h>
#include "uapi/rdmablk_proto.h"
#include "uapi/rdmablk_sealed.h"

RDMABLK_ASSERT(sizeof(struct rdmablk_hdr) == RDMABLK_SEALED_MIN);
RDMABLK_ASSERT(RDMABLK_SEALED_MAX + RDMABLK_SEALED_EXTRA == RDMABLK_CTRL_MSG_MAX);
RDMABLK_ASSERT(RDMABLK_SEALED_TYPE == RDMABLK_MSG_SEALED);

static void rdmablk_sealed_le(__u8 *to, __u64 n, unsigned int bytes)
{
	for (; bytes; bytes--, n >>= 8)
		*to++ = n & 0xff;
}

/* The head of a frame of @len bytes, and its nonce */
static void rdmablk_sealed_head(__u8 *head, __u8 *nonce, unsigned long len, __u32 epoch,
				__u64 seq)
{
	rdmablk_sealed_le(head, RDMABLK_SEALED_TYPE, 2);
	rdmablk_sealed_le(head + 2, len, 2);
	rdmablk_sealed_le(head + 4, 0, 4);
	rdmablk_sealed_le(head + 8, epoch, 4);
	rdmablk_sealed_le(head + 12, 0, 4);
	rdmablk_sealed_le(head + 16, seq, 8);
	rdmablk_sealed_le(nonce, epoch, 4);
	rdmablk_sealed_le(nonce + 4, seq, 8);
}

static int rdmablk_sealed_same(const __u8 *a, const __u8 *b, unsigned long len)
{
	while (len--) {
		if (*a++ != *b++)
			return 0;
	}
	return 1;
}

/**
 * rdmablk_sealed_init() - begin with frame 0 of epoch 0
 * @s: state to initialise
 * @ops: cipher
 * @key: first argument of @ops, for epoch 0
 */
void rdmablk_sealed_init(struct rdmablk_sealed *s, const struct rdmablk_sealed_ops *ops,
			 void *key)
{
	*s = (struct rdmablk_sealed) { .ops = ops, .key = key };
}

/**
 * rdmablk_sealed_seal() - make the next frame
 * @s: direction
 * @msg: whole message
 * @len: bytes of @msg
 * @frame: result
 * @room: bytes of @frame
 *
 * After an error nothing of @frame may be sent.
 *
 * Return: bytes of the frame; -EMSGSIZE: @len is not that of a message, or @room is too
 * small; -EOVERFLOW: no sequence number is left; or a negative errno of the cipher.
 */
int rdmablk_sealed_seal(struct rdmablk_sealed *s, const void *msg, unsigned long len,
			void *frame, unsigned long room)
{
	__u8 nonce[RDMABLK_SEALED_NONCE_LEN];
	__u8 *head = frame;
	const struct rdmablk_sealed_job job = {
		.nonce = nonce, .aad = head, .aad_len = RDMABLK_SEALED_HEAD_LEN,
		.from = msg, .len = len, .to = head + RDMABLK_SEALED_HEAD_LEN,
	};
	int ret;

	if (len < RDMABLK_SEALED_MIN || len > RDMABLK_SEALED_MAX ||
	    room < len + RDMABLK_SEALED_EXTRA)
		return -EMSGSIZE;
	if (s->seq == ~(__u64)0)
		return -EOVERFLOW;
	rdmablk_sealed_head(head, nonce, len + RDMABLK_SEALED_EXTRA, s->epoch, s->seq);
	ret = s->ops->seal(s->key, &job);
	if (ret)
		return ret;
	s->seq++;
	return len + RDMABLK_SEALED_EXTRA;
}

static int rdmablk_sealed_try(const struct rdmablk_sealed *s, void *key, __u32 epoch,
			      const __u8 *frame, unsigned long len, void *msg)
{
	__u8 head[RDMABLK_SEALED_HEAD_LEN], nonce[RDMABLK_SEALED_NONCE_LEN];
	const struct rdmablk_sealed_job job = {
		.nonce = nonce, .aad = head, .aad_len = sizeof(head),
		.from = frame + sizeof(head), .len = len - RDMABLK_SEALED_EXTRA, .to = msg,
	};

	rdmablk_sealed_head(head, nonce, len, epoch, s->seq);
	if (!rdmablk_sealed_same(frame, head, sizeof(head)))
		return -EBADMSG;
	return s->ops->open(key, &job);
}

/**
 * rdmablk_sealed_open() - take the next frame
 * @s: direction
 * @frame: frame as received
 * @len: bytes of @frame
 * @msg: result; zero after an error, because a cipher may decrypt before it verifies
 * @room: bytes of @msg
 *
 * The first frame of a prepared epoch ends the one before: @s->epoch, @s->key and @s->next
 * change, and the caller may free the old key.
 *
 * Return: bytes of the message; -EBADMSG: the frame is not the next one, or the tag is
 * wrong; -EMSGSIZE: @room is too small; -EOVERFLOW: no sequence number is left; or another
 * negative errno of the cipher.
 */
int rdmablk_sealed_open(struct rdmablk_sealed *s, const void *frame, unsigned long len,
			void *msg, unsigned long room)
{
	int ret;

	if (len < RDMABLK_SEALED_MIN + RDMABLK_SEALED_EXTRA ||
	    len > RDMABLK_SEALED_MAX + RDMABLK_SEALED_EXTRA)
		return -EBADMSG;
	if (room < len - RDMABLK_SEALED_EXTRA)
		return -EMSGSIZE;
	if (s->seq == ~(__u64)0)
		return -EOVERFLOW;
	ret = rdmablk_sealed_try(s, s->key, s->epoch, frame, len, msg);
	if (ret == -EBADMSG && s->next) {
		ret = rdmablk_sealed_try(s, s->next, s->epoch + 1, frame, len, msg);
		if (!ret)
			rdmablk_sealed_rekey(s, s->next);
	}
	if (ret) {
		rdmablk_sealed_le(msg, 0, len - RDMABLK_SEALED_EXTRA);
		return ret;
	}
	s->seq++;
	return len - RDMABLK_SEALED_EXTRA;
}

/**
 * rdmablk_sealed_rekey() - begin the next epoch at once
 * @s: direction
 * @key: first argument of the cipher, for the epoch that begins
 *
 * For the sender; a receiver calls rdmablk_sealed_prepare(). The caller may free the old key.
 *
 * Return: 0; -EOVERFLOW: no epoch is left.
 */
int rdmablk_sealed_rekey(struct rdmablk_sealed *s, void *key)
{
	if (s->epoch == ~(__u32)0)
		return -EOVERFLOW;
	*s = (struct rdmablk_sealed) {
		.ops = s->ops, .key = key, .seq = s->seq, .epoch = s->epoch + 1,
	};
	return 0;
}

/**
 * rdmablk_sealed_prepare() - take the first frame of the next epoch, too
 * @s: direction
 * @key: first argument of the cipher, for the next epoch
 *
 * Frames of the present epoch may still be on their way. They are taken until the first frame
 * of the next one.
 *
 * Return: 0; -EBUSY: a key is prepared already; -EOVERFLOW: no epoch is left.
 */
int rdmablk_sealed_prepare(struct rdmablk_sealed *s, void *key)
{
	if (s->next)
		return -EBUSY;
	if (s->epoch == ~(__u32)0)
		return -EOVERFLOW;
	s->next = key;
	return 0;
}
