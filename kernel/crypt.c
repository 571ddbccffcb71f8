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
#include <crypto/algapi.h>
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
 * A private key as "ecdh-nist-p256" takes it. <crypto/ecdh.h> has a function that encodes the
 * same, but it is in the module ecdh_generic.
 */
struct rdmablk_crypt_private {
	struct kpp_secret head;
	unsigned short bytes;	/* of the number; 0: the kernel chooses a number */
	u8 number[RDMABLK_CRYPT_SECRET];
} __packed;

/**
 * struct rdmablk_crypt - algorithms of a login
 * @sha256: hash
 * @hmac: HMAC; holds the last key
 * @ecdh: holds the last private key
 * @exchange: request of @ecdh
 * @point: public key that @exchange reads or writes; a stack may be no memory for that
 * @secret: result of @exchange
 * @private: private key on its way to @ecdh
 */
struct rdmablk_crypt {
	struct crypto_shash *sha256;
	struct crypto_shash *hmac;
	struct crypto_kpp *ecdh;
	struct kpp_request *exchange;
	u8 point[RDMABLK_CRYPT_POINT];
	u8 secret[RDMABLK_CRYPT_SECRET];
	struct rdmablk_crypt_private private;
};

/**
 * struct rdmablk_crypt_cipher - AES-256-GCM with a key
 * @aead: holds the key
 * @request: of @aead
 * @nonce: of @request
 * @text: what @request works on in place, because messages may be anywhere
 */
struct rdmablk_crypt_cipher {
	struct crypto_aead *aead;
	struct aead_request *request;
	u8 nonce[RDMABLK_SEALED_NONCE_LEN];
	u8 text[RDMABLK_SEALED_MAX + RDMABLK_SEALED_EXTRA];
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
	int ret;

	if (!c)
		return ERR_PTR(-ENOMEM);
	ret = rdmablk_crypt_new_hashes(c);
	if (!ret)
		ret = rdmablk_crypt_new_ecdh(c);
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
	/* The crypto layer wipes what an algorithm or a request holds when it frees it. */
	kpp_request_free(c->exchange);
	if (!IS_ERR_OR_NULL(c->ecdh))
		crypto_free_kpp(c->ecdh);
	if (!IS_ERR_OR_NULL(c->hmac))
		crypto_free_shash(c->hmac);
	if (!IS_ERR_OR_NULL(c->sha256))
		crypto_free_shash(c->sha256);
	kfree_sensitive(c);
}

static int rdmablk_crypt_digest(struct crypto_shash *tfm,
				const struct rdmablk_keysched_part *part, unsigned int nr,
				u8 *out)
{
	SHASH_DESC_ON_STACK(desc, tfm);
	unsigned int i;
	int ret;

	desc->tfm = tfm;
	ret = crypto_shash_init(desc);
	for (i = 0; !ret && i < nr; i++)
		ret = crypto_shash_update(desc, part[i].data, part[i].len);
	if (!ret)
		ret = crypto_shash_final(desc, out);
	shash_desc_zero(desc);
	return ret;
}

static int rdmablk_crypt_hash(void *ctx, const struct rdmablk_keysched_part *part,
			      unsigned int nr, u8 *out)
{
	struct rdmablk_crypt *c = ctx;

	return rdmablk_crypt_digest(c->sha256, part, nr, out);
}

/* FIPS mode refuses keys of less than 14 bytes; the key schedule has none. */
static int rdmablk_crypt_hmac(void *ctx, const u8 *key, unsigned long key_len,
			      const struct rdmablk_keysched_part *part, unsigned int nr, u8 *out)
{
	struct rdmablk_crypt *c = ctx;
	int ret = crypto_shash_setkey(c->hmac, key, key_len);

	return ret ? ret : rdmablk_crypt_digest(c->hmac, part, nr, out);
}

static int rdmablk_crypt_differ(const void *a, const void *b, unsigned long len)
{
	return crypto_memneq(a, b, len);
}

static void rdmablk_crypt_wipe(void *buf, unsigned long len)
{
	memzero_explicit(buf, len);
}

/*
 * The context is a struct rdmablk_crypt, which keeps the last key of HMAC until the next one
 * or rdmablk_crypt_forget(). Two calls must not run at a time.
 */
const struct rdmablk_keysched_ops rdmablk_crypt_keysched = {
	.hash	= rdmablk_crypt_hash,
	.hmac	= rdmablk_crypt_hmac,
	.differ	= rdmablk_crypt_differ,
	.wipe	= rdmablk_crypt_wipe,
};

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
 * rdmablk_crypt_forget() - replace the keys of a login that is over
 * @c: algorithms
 *
 * HMAC forgets its key, and ECDH the private key. As for rdmablk_crypt_new_pair().
 *
 * Return: 0 or a negative errno of the crypto layer; then a key may be left.
 */
int rdmablk_crypt_forget(struct rdmablk_crypt *c)
{
	static const u8 zeroes[RDMABLK_KEYSCHED_LEN];
	int ret = crypto_shash_setkey(c->hmac, zeroes, sizeof(zeroes));

	return ret ? ret : rdmablk_crypt_set_private(c, NULL);
}

/**
 * rdmablk_crypt_new_cipher() - get AES-256-GCM and all memory that it needs
 *
 * As for rdmablk_crypt_new().
 *
 * Return: the cipher without a key, or an ERR_PTR() as of rdmablk_crypt_new().
 */
struct rdmablk_crypt_cipher *rdmablk_crypt_new_cipher(void)
{
	struct rdmablk_crypt_cipher *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int ret;

	if (!c)
		return ERR_PTR(-ENOMEM);
	c->aead = crypto_alloc_aead("gcm(aes)", 0, CRYPTO_ALG_ASYNC);
	ret = PTR_ERR_OR_ZERO(c->aead);
	if (!ret)
		ret = crypto_aead_setauthsize(c->aead, RDMABLK_SEALED_TAG_LEN);
	if (!ret) {
		c->request = aead_request_alloc(c->aead, GFP_KERNEL);
		ret = c->request ? 0 : -ENOMEM;
	}
	if (!ret)
		return c;
	rdmablk_crypt_free_cipher(c);
	return ERR_PTR(ret);
}

/**
 * rdmablk_crypt_free_cipher() - give up a cipher and wipe its key
 * @c: from rdmablk_crypt_new_cipher(); no other function uses it any more
 */
void rdmablk_crypt_free_cipher(struct rdmablk_crypt_cipher *c)
{
	aead_request_free(c->request);
	if (!IS_ERR_OR_NULL(c->aead))
		crypto_free_aead(c->aead);
	kfree_sensitive(c);
}

/**
 * rdmablk_crypt_set_key() - set the key of a cipher
 * @c: cipher that no other function uses meanwhile
 * @key: key, RDMABLK_SEALED_KEY_LEN bytes
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_crypt_set_key(struct rdmablk_crypt_cipher *c, const u8 *key)
{
	return crypto_aead_setkey(c->aead, key, RDMABLK_SEALED_KEY_LEN);
}

/* @len: bytes of the text, and of its tag when it is opened */
static int rdmablk_crypt_run(struct rdmablk_crypt_cipher *c, const struct rdmablk_sealed_job *job,
			     unsigned int len, int (*run)(struct aead_request *request))
{
	struct scatterlist sg;

	if (job->aad_len + job->len + RDMABLK_SEALED_TAG_LEN > sizeof(c->text))
		return -EMSGSIZE;
	memcpy(c->nonce, job->nonce, sizeof(c->nonce));
	memcpy(c->text, job->aad, job->aad_len);
	memcpy(c->text + job->aad_len, job->from, len);
	sg_init_one(&sg, c->text, job->aad_len + job->len + RDMABLK_SEALED_TAG_LEN);
	aead_request_set_callback(c->request, 0, NULL, NULL);
	aead_request_set_ad(c->request, job->aad_len);
	aead_request_set_crypt(c->request, &sg, &sg, len, c->nonce);
	return run(c->request);
}

static int rdmablk_crypt_seal(void *key, const struct rdmablk_sealed_job *job)
{
	struct rdmablk_crypt_cipher *c = key;
	int ret = rdmablk_crypt_run(c, job, job->len, crypto_aead_encrypt);

	if (!ret)
		memcpy(job->to, c->text + job->aad_len, job->len + RDMABLK_SEALED_TAG_LEN);
	return ret;
}

static int rdmablk_crypt_open(void *key, const struct rdmablk_sealed_job *job)
{
	struct rdmablk_crypt_cipher *c = key;
	int ret = rdmablk_crypt_run(c, job, job->len + RDMABLK_SEALED_TAG_LEN,
				    crypto_aead_decrypt);

	/* If the tag is wrong, the caller gets none of the decrypted text. */
	if (!ret)
		memcpy(job->to, c->text + job->aad_len, job->len);
	memzero_explicit(c->text, sizeof(c->text));
	return ret;
}

/* The key is a struct rdmablk_crypt_cipher. Softirq context is fine. */
const struct rdmablk_sealed_ops rdmablk_crypt_sealed = {
	.seal	= rdmablk_crypt_seal,
	.open	= rdmablk_crypt_open,
};
