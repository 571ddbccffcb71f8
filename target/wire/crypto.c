// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The algorithms of wire version 2, by libcrypto.
 *
 * libcrypto searches its providers for an algorithm. crypto_start() does that once; after it
 * has succeeded any thread may call the other functions until crypto_stop().
 */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

#include "base/util.h"
#include "wire/crypto.h"

#define POINT_UNCOMPRESSED	4	/* octet before "X and Y" */
#define POINT_OCTETS		(1 + CRYPTO_POINT_LEN)

static struct {
	EVP_MD *sha256;
	EVP_MAC *hmac;
	EVP_CIPHER *gcm;
	EVP_KEYEXCH *ecdh;
	EVP_PKEY *group;	/* P-256, without a key */
} lib;

static EVP_PKEY *crypto_group(void)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	EVP_PKEY *group = NULL;

	if (!ctx || EVP_PKEY_paramgen_init(ctx) != 1 ||
	    EVP_PKEY_CTX_set_group_name(ctx, "P-256") != 1 ||
	    EVP_PKEY_paramgen(ctx, &group) != 1)
		group = NULL;
	EVP_PKEY_CTX_free(ctx);
	return group;
}

/**
 * crypto_start - search for the algorithms
 * @missing: name of an algorithm that libcrypto does not have, set after -ENOTSUP
 *
 * Return: 0 or -ENOTSUP. Main thread, before there are others.
 */
int crypto_start(const char **missing)
{
	const char *name = NULL;

	lib.sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	lib.hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	lib.gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
	lib.ecdh = EVP_KEYEXCH_fetch(NULL, "ECDH", NULL);
	lib.group = crypto_group();
	if (!lib.sha256 || !lib.hmac)
		name = "HMAC with SHA-256";
	else if (!lib.gcm)
		name = "AES-256-GCM";
	else if (!lib.ecdh || !lib.group)
		name = "ECDH on P-256";
	if (!name)
		return 0;
	*missing = name;
	crypto_stop();
	ERR_clear_error();
	return -ENOTSUP;
}

/**
 * crypto_stop - undo crypto_start(), even if it failed
 */
void crypto_stop(void)
{
	EVP_PKEY_free(lib.group);
	EVP_KEYEXCH_free(lib.ecdh);
	EVP_CIPHER_free(lib.gcm);
	EVP_MAC_free(lib.hmac);
	EVP_MD_free(lib.sha256);
	memset(&lib, 0, sizeof(lib));
}

/* A peer can make libcrypto fail: its list of errors must not grow. */
static int crypto_result(bool ok, int error)
{
	if (ok)
		return 0;
	ERR_clear_error();
	return error;
}

/**
 * crypto_generate - make an ephemeral key
 * @pair: to be forgotten by crypto_forget(), even after an error
 * @public: X and Y, CRYPTO_POINT_LEN bytes
 *
 * Return: 0 or -EIO.
 */
int crypto_generate(struct crypto_pair *pair, uint8_t *public)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, lib.group, NULL);
	uint8_t octets[POINT_OCTETS];
	size_t len = 0;
	bool ok;

	pair->pkey = NULL;
	ok = ctx && EVP_PKEY_keygen_init(ctx) == 1 && EVP_PKEY_keygen(ctx, &pair->pkey) == 1 &&
	     EVP_PKEY_get_octet_string_param(pair->pkey, OSSL_PKEY_PARAM_PUB_KEY, octets,
					     sizeof(octets), &len) == 1 &&
	     len == sizeof(octets) && octets[0] == POINT_UNCOMPRESSED;
	if (ok)
		memcpy(public, octets + 1, CRYPTO_POINT_LEN);
	EVP_PKEY_CTX_free(ctx);
	return crypto_result(ok, -EIO);
}

/* The peer's key, if it is a point of the group other than infinity */
static EVP_PKEY *crypto_peer(const uint8_t *peer)
{
	uint8_t octets[POINT_OCTETS] = { POINT_UNCOMPRESSED };
	EVP_PKEY *pkey = EVP_PKEY_new();
	EVP_PKEY_CTX *ctx = NULL;
	bool ok;

	memcpy(octets + 1, peer, CRYPTO_POINT_LEN);
	ok = pkey && EVP_PKEY_copy_parameters(pkey, lib.group) == 1 &&
	     EVP_PKEY_set1_encoded_public_key(pkey, octets, sizeof(octets)) == 1;
	if (ok)
		ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
	ok = ctx && EVP_PKEY_public_check(ctx) == 1;
	EVP_PKEY_CTX_free(ctx);
	if (ok)
		return pkey;
	EVP_PKEY_free(pkey);
	return NULL;
}

/**
 * crypto_agree - the secret that two ephemeral keys have in common
 * @pair: own key
 * @peer: public key of the peer, CRYPTO_POINT_LEN bytes, as received
 * @z: x-coordinate, secret, RDMABLK_KEYSCHED_LEN bytes; zero after an error
 *
 * Return: 0; -EBADMSG: @peer is not a public key of P-256; -EIO.
 */
int crypto_agree(const struct crypto_pair *pair, const uint8_t *peer, uint8_t *z)
{
	size_t len = RDMABLK_KEYSCHED_LEN;
	EVP_PKEY *pkey = crypto_peer(peer);
	EVP_PKEY_CTX *ctx = NULL;
	bool ok;

	memset(z, 0, RDMABLK_KEYSCHED_LEN);
	if (!pkey)
		return crypto_result(false, -EBADMSG);
	if (pair->pkey)
		ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pair->pkey, NULL);
	ok = ctx && EVP_PKEY_derive_init(ctx) == 1 && EVP_PKEY_derive_set_peer(ctx, pkey) == 1 &&
	     EVP_PKEY_derive(ctx, z, &len) == 1 && len == RDMABLK_KEYSCHED_LEN;
	if (!ok)
		OPENSSL_cleanse(z, RDMABLK_KEYSCHED_LEN);
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	return crypto_result(ok, -EIO);
}

/**
 * crypto_forget - wipe an ephemeral key; may be called twice
 * @pair: made by crypto_generate()
 */
void crypto_forget(struct crypto_pair *pair)
{
	EVP_PKEY_free(pair->pkey);
	pair->pkey = NULL;
}

/**
 * crypto_cipher - a key of crypto_sealed
 * @key: RDMABLK_SEALED_KEY_LEN bytes, which the cipher copies
 * @seals: the key seals; else it opens
 *
 * One thread at a time may use it.
 *
 * Return: the key, for crypto_cipher_free(); NULL: out of memory.
 */
void *crypto_cipher(const uint8_t *key, bool seals)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	if (ctx && EVP_CipherInit_ex2(ctx, lib.gcm, key, NULL, seals, NULL) == 1)
		return ctx;
	EVP_CIPHER_CTX_free(ctx);
	ERR_clear_error();
	return NULL;
}

/**
 * crypto_cipher_free - wipe a key of crypto_sealed
 * @cipher: made by crypto_cipher(), or NULL
 */
void crypto_cipher_free(void *cipher)
{
	EVP_CIPHER_CTX_free(cipher);
}

static int crypto_seal(void *key, const struct rdmablk_sealed_job *job)
{
	EVP_CIPHER_CTX *ctx = key;
	int len, end;
	bool ok;

	ok = EVP_EncryptInit_ex2(ctx, NULL, NULL, job->nonce, NULL) == 1 &&
	     EVP_EncryptUpdate(ctx, NULL, &len, job->aad, (int)job->aad_len) == 1 &&
	     EVP_EncryptUpdate(ctx, job->to, &len, job->from, (int)job->len) == 1 &&
	     EVP_EncryptFinal_ex(ctx, job->to + len, &end) == 1 &&
	     EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, RDMABLK_SEALED_TAG_LEN,
				 job->to + job->len) == 1;
	return crypto_result(ok, -EIO);
}

static int crypto_open(void *key, const struct rdmablk_sealed_job *job)
{
	uint8_t tag[RDMABLK_SEALED_TAG_LEN];
	EVP_CIPHER_CTX *ctx = key;
	int len, end;
	bool ok;

	memcpy(tag, job->from + job->len, sizeof(tag));
	ok = EVP_DecryptInit_ex2(ctx, NULL, NULL, job->nonce, NULL) == 1 &&
	     EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, sizeof(tag), tag) == 1 &&
	     EVP_DecryptUpdate(ctx, NULL, &len, job->aad, (int)job->aad_len) == 1 &&
	     EVP_DecryptUpdate(ctx, job->to, &len, job->from, (int)job->len) == 1;
	if (!ok)
		return crypto_result(false, -EIO);
	return crypto_result(EVP_DecryptFinal_ex(ctx, job->to + len, &end) == 1, -EBADMSG);
}

static int crypto_hash(void *ctx, const struct rdmablk_keysched_part *part, unsigned int nr,
		       uint8_t *out)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool ok = md && EVP_DigestInit_ex2(md, lib.sha256, NULL) == 1;

	(void)ctx;
	for (unsigned int i = 0; ok && i < nr; i++)
		ok = EVP_DigestUpdate(md, part[i].data, part[i].len) == 1;
	ok = ok && EVP_DigestFinal_ex(md, out, NULL) == 1;
	EVP_MD_CTX_free(md);
	return crypto_result(ok, -EIO);
}

static int crypto_hmac(void *ctx, const uint8_t *key, unsigned long key_len,
		       const struct rdmablk_keysched_part *part, unsigned int nr, uint8_t *out)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_utf8_string("digest", (char *)"SHA256", 6),
		OSSL_PARAM_END,
	};
	EVP_MAC_CTX *mac = EVP_MAC_CTX_new(lib.hmac);
	size_t len = 0;
	bool ok;

	(void)ctx;
	ok = mac && EVP_MAC_init(mac, key, key_len, params) == 1;
	for (unsigned int i = 0; ok && i < nr; i++)
		ok = EVP_MAC_update(mac, part[i].data, part[i].len) == 1;
	ok = ok && EVP_MAC_final(mac, out, &len, RDMABLK_KEYSCHED_LEN) == 1 &&
	     len == RDMABLK_KEYSCHED_LEN;
	EVP_MAC_CTX_free(mac);
	return crypto_result(ok, -EIO);
}

static int crypto_differ(const void *a, const void *b, unsigned long len)
{
	return CRYPTO_memcmp(a, b, len);
}

static void crypto_wipe(void *buf, unsigned long len)
{
	OPENSSL_cleanse(buf, len);
}

static const struct rdmablk_keysched_ops crypto_keysched_ops = {
	.hash	= crypto_hash,
	.hmac	= crypto_hmac,
	.differ	= crypto_differ,
	.wipe	= crypto_wipe,
};

const struct rdmablk_keysched crypto_keysched = { .ops = &crypto_keysched_ops };

const struct rdmablk_sealed_ops crypto_sealed = {
	.seal	= crypto_seal,
	.open	= crypto_open,
};
