// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cryptography of a session, from the kernel's crypto layer: SHA-256, HMAC-SHA-256,
 * ECDH on the curve P-256 and AES-256-GCM. The module links to none of their modules, so
 * that insmod works after 'modprobe -a rdma_cm ib_core'.
 *
 * All memory is allocated with the session. Messages are sealed and opened where a receive
 * completes, so AES-256-GCM must neither sleep nor answer later: the mask CRYPTO_ALG_ASYNC
 * leaves only implementations that are done when they return.
 */
#include <crypto/aead.h>
#include <crypto/hash.h>
#include <crypto/kpp.h>
#include <linux/crypto.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kmod.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "crypt.h"

/*
 * What "ecdh-nist-p256" takes as a private key: <crypto/ecdh.h> encodes the same, but by a
 * function of the module ecdh_generic.
 */
struct rdmablk_crypt_private {
	struct kpp_secret head;
	unsigned short bytes;	/* of @number; 0: the kernel chooses a number */
	u8 number[RDMABLK_CRYPT_SECRET];
} __packed;

/**
 * struct rdmablk_crypt - algorithms and keys of a session
 * @sha256: hash
 * @hmac: HMAC; holds the last key
 * @ecdh: holds the last private key
 * @exchange: request of @ecdh
 * @aead: AES-256-GCM, by enum rdmablk_crypt_way; each holds its key
 * @message: request of each of @aead
 * @nonce: nonce of each of @message
 * @point: public key that @exchange reads or writes; a stack may be no memory for that
 * @secret: result of @exchange
 * @private: private key on its way to @ecdh
 */
struct rdmablk_crypt {
	struct crypto_shash *sha256;
	struct crypto_shash *hmac;
	struct crypto_kpp *ecdh;
	struct kpp_request *exchange;
	struct crypto_aead *aead[RDMABLK_CRYPT_WAYS];
	struct aead_request *message[RDMABLK_CRYPT_WAYS];
	u8 nonce[RDMABLK_CRYPT_WAYS][RDMABLK_CRYPT_NONCE];
	u8 point[RDMABLK_CRYPT_POINT];
	u8 secret[RDMABLK_CRYPT_SECRET];
	struct rdmablk_crypt_private private;
};

static int rdmablk_crypt_new_hashes(struct rdmablk_crypt *c)
{
	c->sha256 = crypto_alloc_shash("sha256", 0, 0);
	if (IS_ERR(c->sha256))
		return PTR_ERR(c->sha256);
	c->hmac = crypto_alloc_shash("hmac(sha256)", 0, 0);
	return PTR_ERR_OR_ZERO(c->hmac);
}

static int rdmablk_crypt_new_ecdh(struct rdmablk_crypt *c)
{
	/* The module has no alias for each curve, so the crypto layer does not find it. */
	request_module("crypto-ecdh");
	c->ecdh = crypto_alloc_kpp("ecdh-nist-p256", 0, CRYPTO_ALG_ASYNC);
	if (IS_ERR(c->ecdh))
		return PTR_ERR(c->ecdh);
	c->exchange = kpp_request_alloc(c->ecdh, GFP_KERNEL);
	return c->exchange ? 0 : -ENOMEM;
}

static int rdmablk_crypt_new_aead(struct rdmablk_crypt *c, enum rdmablk_crypt_way way)
{
	int ret;

	c->aead[way] = crypto_alloc_aead("gcm(aes)", 0, CRYPTO_ALG_ASYNC);
	if (IS_ERR(c->aead[way]))
		return PTR_ERR(c->aead[way]);
	ret = crypto_aead_setauthsize(c->aead[way], RDMABLK_CRYPT_TAG);
	if (ret)
		return ret;
	c->message[way] = aead_request_alloc(c->aead[way], GFP_KERNEL);
	return c->message[way] ? 0 : -ENOMEM;
}

/**
 * rdmablk_crypt_new() - get the algorithms and all memory that they need
 *
 * May load modules of the crypto layer, and waits for them.
 *
 * Return: the algorithms, with no key; ERR_PTR(-ENOENT): the kernel lacks one of them; or
 * another errno of the crypto layer.
 */
struct rdmablk_crypt *rdmablk_crypt_new(void)
{
	struct rdmablk_crypt *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int ret, way;

	if (!c)
		return ERR_PTR(-ENOMEM);
	ret = rdmablk_crypt_new_hashes(c);
	if (!ret)
		ret = rdmablk_crypt_new_ecdh(c);
	for (way = 0; !ret && way < RDMABLK_CRYPT_WAYS; way++)
		ret = rdmablk_crypt_new_aead(c, way);
	if (!ret)
		return c;
	rdmablk_crypt_free(c);
	return ERR_PTR(ret);
}

/**
 * rdmablk_crypt_free() - give up the algorithms and wipe their keys
 * @c: from rdmablk_crypt_new(); no other function uses it any more
 */
void rdmablk_crypt_free(struct rdmablk_crypt *c)
{
	int way;

	/* The crypto layer wipes what an algorithm or a request holds when it frees it. */
	for (way = 0; way < RDMABLK_CRYPT_WAYS; way++) {
		aead_request_free(c->message[way]);
		if (!IS_ERR_OR_NULL(c->aead[way]))
			crypto_free_aead(c->aead[way]);
	}
	kpp_request_free(c->exchange);
	if (!IS_ERR_OR_NULL(c->ecdh))
		crypto_free_kpp(c->ecdh);
	if (!IS_ERR_OR_NULL(c->hmac))
		crypto_free_shash(c->hmac);
	if (!IS_ERR_OR_NULL(c->sha256))
		crypto_free_shash(c->sha256);
	kfree_sensitive(c);
}

static int rdmablk_crypt_digest(struct crypto_shash *tfm, const struct rdmablk_crypt_part *part,
				unsigned int parts, u8 *result)
{
	SHASH_DESC_ON_STACK(desc, tfm);
	unsigned int i;
	int ret;

	desc->tfm = tfm;
	ret = crypto_shash_init(desc);
	for (i = 0; !ret && i < parts; i++)
		ret = crypto_shash_update(desc, part[i].data, part[i].len);
	if (!ret)
		ret = crypto_shash_final(desc, result);
	shash_desc_zero(desc);
	return ret;
}

/**
 * rdmablk_crypt_hash() - SHA-256
 * @c: algorithms
 * @part: pieces that are hashed one after the other
 * @parts: number of them
 * @hash: result, RDMABLK_CRYPT_HASH bytes
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_crypt_hash(struct rdmablk_crypt *c, const struct rdmablk_crypt_part *part,
		       unsigned int parts, u8 *hash)
{
	return rdmablk_crypt_digest(c->sha256, part, parts, hash);
}

/**
 * rdmablk_crypt_mac() - HMAC-SHA-256
 * @c: algorithms; the key stays in them until the next one or rdmablk_crypt_forget()
 * @key: key
 * @len: bytes of @key, at least 14: FIPS mode refuses shorter keys
 * @part: pieces that are hashed one after the other
 * @parts: number of them
 * @mac: result, RDMABLK_CRYPT_HASH bytes
 *
 * Two calls must not run at a time.
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_crypt_mac(struct rdmablk_crypt *c, const void *key, unsigned int len,
		      const struct rdmablk_crypt_part *part, unsigned int parts, u8 *mac)
{
	int ret = crypto_shash_setkey(c->hmac, key, len);

	return ret ? ret : rdmablk_crypt_digest(c->hmac, part, parts, mac);
}

/* @number: private key, big-endian; NULL: the kernel chooses a number */
static int rdmablk_crypt_set_private(struct rdmablk_crypt *c, const u8 *number)
{
	const unsigned int bytes = number ? sizeof(c->private.number) : 0;
	const unsigned int len = offsetof(struct rdmablk_crypt_private, number) + bytes;
	int ret;

	c->private.head.type = CRYPTO_KPP_SECRET_TYPE_ECDH;
	c->private.head.len = len;
	c->private.bytes = bytes;
	if (number)
		memcpy(c->private.number, number, bytes);
	ret = crypto_kpp_set_secret(c->ecdh, &c->private, len);
	memzero_explicit(&c->private, sizeof(c->private));
	return ret;
}

static int rdmablk_crypt_public(struct rdmablk_crypt *c, u8 *point)
{
	struct scatterlist to;
	int ret;

	sg_init_one(&to, c->point, sizeof(c->point));
	kpp_request_set_callback(c->exchange, 0, NULL, NULL);
	kpp_request_set_input(c->exchange, NULL, 0);
	kpp_request_set_output(c->exchange, &to, sizeof(c->point));
	ret = crypto_kpp_generate_public_key(c->exchange);
	if (!ret)
		memcpy(point, c->point, sizeof(c->point));
	return ret;
}

/**
 * rdmablk_crypt_new_pair() - choose a private key, and compute its public key
 * @c: algorithms; they keep the private key until the next one or rdmablk_crypt_forget()
 * @point: the public key, RDMABLK_CRYPT_POINT bytes
 *
 * Allocates memory and takes a fraction of a millisecond: not in a softirq. Two calls must
 * not run at a time.
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_crypt_new_pair(struct rdmablk_crypt *c, u8 *point)
{
	int ret = rdmablk_crypt_set_private(c, NULL);

	return ret ? ret : rdmablk_crypt_public(c, point);
}

/**
 * rdmablk_crypt_share() - compute what only the two owners of private keys can compute
 * @c: algorithms after rdmablk_crypt_new_pair()
 * @point: public key of the peer, RDMABLK_CRYPT_POINT bytes, from anybody
 * @secret: result, RDMABLK_CRYPT_SECRET bytes
 *
 * As for rdmablk_crypt_new_pair(). The kernel cannot compute with the two points whose X is
 * zero and refuses them; the chance that a peer chooses one of them is 2^-255.
 *
 * Return: 0; -EINVAL: @point is not a point of the curve; or another errno of the crypto
 * layer.
 */
int rdmablk_crypt_share(struct rdmablk_crypt *c, const u8 *point, u8 *secret)
{
	struct scatterlist from, to;
	int ret;

	memcpy(c->point, point, sizeof(c->point));
	sg_init_one(&from, c->point, sizeof(c->point));
	sg_init_one(&to, c->secret, sizeof(c->secret));
	kpp_request_set_callback(c->exchange, 0, NULL, NULL);
	kpp_request_set_input(c->exchange, &from, sizeof(c->point));
	kpp_request_set_output(c->exchange, &to, sizeof(c->secret));
	ret = crypto_kpp_compute_shared_secret(c->exchange);
	if (!ret)
		memcpy(secret, c->secret, sizeof(c->secret));
	memzero_explicit(c->secret, sizeof(c->secret));
	return ret;
}

/**
 * rdmablk_crypt_set_key() - set the key of a direction
 * @c: algorithms
 * @way: direction; no message of it is being sealed or opened
 * @key: key of AES-256, RDMABLK_CRYPT_HASH bytes
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_crypt_set_key(struct rdmablk_crypt *c, enum rdmablk_crypt_way way, const u8 *key)
{
	return crypto_aead_setkey(c->aead[way], key, RDMABLK_CRYPT_HASH);
}

/* @sg is of the caller, because it must live as long as the request. */
static struct aead_request *rdmablk_crypt_message(struct rdmablk_crypt *c,
						  enum rdmablk_crypt_way way, const u8 *nonce,
						  struct scatterlist *sg, unsigned int head,
						  unsigned int len)
{
	struct aead_request *message = c->message[way];

	memcpy(c->nonce[way], nonce, RDMABLK_CRYPT_NONCE);
	aead_request_set_callback(message, 0, NULL, NULL);
	aead_request_set_ad(message, head);
	aead_request_set_crypt(message, sg, sg, len, c->nonce[way]);
	return message;
}

/**
 * rdmablk_crypt_seal() - encrypt a message in place, and add its tag
 * @c: algorithms with a key for RDMABLK_CRYPT_SEAL
 * @nonce: RDMABLK_CRYPT_NONCE bytes, never used before with this key
 * @frame: @head bytes that stay readable and are proved by the tag, then @text bytes that
 *	are encrypted, then room for RDMABLK_CRYPT_TAG bytes; in memory from kmalloc()
 * @head: bytes
 * @text: bytes
 *
 * Softirq context is fine. Two calls must not run at a time.
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_crypt_seal(struct rdmablk_crypt *c, const u8 *nonce, void *frame,
		       unsigned int head, unsigned int text)
{
	struct scatterlist sg;

	sg_init_one(&sg, frame, head + text + RDMABLK_CRYPT_TAG);
	return crypto_aead_encrypt(rdmablk_crypt_message(c, RDMABLK_CRYPT_SEAL, nonce, &sg,
							 head, text));
}

/**
 * rdmablk_crypt_open() - check a message's tag, and decrypt the message in place
 * @c: algorithms with a key for RDMABLK_CRYPT_OPEN
 * @nonce: RDMABLK_CRYPT_NONCE bytes
 * @frame: @head bytes that are proved by the tag, then @sealed bytes; in memory from
 *	kmalloc(). If the tag is wrong, nobody may read what this function leaves there.
 * @head: bytes
 * @sealed: bytes of the encrypted text and its tag
 *
 * Softirq context is fine. Two calls must not run at a time.
 *
 * Return: 0; -EBADMSG: the message is not what the owner of the key has sealed with @nonce;
 * or another errno of the crypto layer.
 */
int rdmablk_crypt_open(struct rdmablk_crypt *c, const u8 *nonce, void *frame,
		       unsigned int head, unsigned int sealed)
{
	struct scatterlist sg;

	if (sealed < RDMABLK_CRYPT_TAG)
		return -EBADMSG;
	sg_init_one(&sg, frame, head + sealed);
	return crypto_aead_decrypt(rdmablk_crypt_message(c, RDMABLK_CRYPT_OPEN, nonce, &sg,
							 head, sealed));
}

/**
 * rdmablk_crypt_forget() - replace the keys of the login
 * @c: algorithms
 *
 * Called when a login has ended: HMAC forgets its key and ECDH the private key. The keys of
 * the two directions stay. Allocates memory, like rdmablk_crypt_new_pair().
 *
 * Return: 0 or a negative errno of the crypto layer; then the old private key may be left.
 */
int rdmablk_crypt_forget(struct rdmablk_crypt *c)
{
	static const u8 zeroes[RDMABLK_CRYPT_HASH];

	crypto_shash_setkey(c->hmac, zeroes, sizeof(zeroes));
	return rdmablk_crypt_set_private(c, NULL);
}
