// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HMAC-SHA256 over a label and the parts named in the wire header.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdatomic.h>

#include "base/util.h"
#include "wire/mac.h"

struct part {
	const void *data;
	size_t len;
};

/*
 * libcrypto searches its providers for an algorithm. The result is kept until the process
 * ends, because the search is a fifth of the time of a MAC. Any thread.
 */
static EVP_MAC *mac_hmac(void)
{
	static EVP_MAC *_Atomic kept;
	EVP_MAC *hmac = atomic_load(&kept), *first = NULL;

	if (hmac)
		return hmac;
	hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	if (hmac && !atomic_compare_exchange_strong(&kept, &first, hmac)) {
		EVP_MAC_free(hmac);
		hmac = first;
	}
	return hmac;
}

static int mac_parts(const uint8_t *key, const struct part *part, size_t nr,
		     uint8_t *out)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_utf8_string("digest", (char *)"SHA256", 6),
		OSSL_PARAM_END,
	};
	EVP_MAC *hmac = mac_hmac();
	EVP_MAC_CTX *ctx = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
	size_t len = 0;
	int ok;

	ok = ctx && EVP_MAC_init(ctx, key, RDMABLK_MAC_LEN, params);
	for (size_t i = 0; ok && i < nr; i++)
		ok = EVP_MAC_update(ctx, part[i].data, part[i].len);
	ok = ok && EVP_MAC_final(ctx, out, &len, RDMABLK_MAC_LEN) &&
	     len == RDMABLK_MAC_LEN;
	EVP_MAC_CTX_free(ctx);
	return ok ? 0 : -EIO;
}

/**
 * mac_random - unpredictable bytes
 * @buf: filled
 * @len: bytes
 *
 * Return: 0 or -EIO. Any thread.
 */
int mac_random(void *buf, size_t len)
{
	return RAND_bytes(buf, (int)len) == 1 ? 0 : -EIO;
}

/**
 * mac_digest - SHA-256 of something under a label
 * @label: RDMABLK_LABEL_LEN bytes, for one use
 * @data: the rest of the input
 * @len: bytes of @data
 * @out: MAC_DIGEST_LEN bytes
 *
 * For public data only: the digest has no key.
 *
 * Return: 0 or -EIO.
 */
int mac_digest(const char *label, const void *data, size_t len, uint8_t *out)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned int got = 0;
	int ok;

	ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) &&
	     EVP_DigestUpdate(ctx, label, RDMABLK_LABEL_LEN) &&
	     EVP_DigestUpdate(ctx, data, len) &&
	     EVP_DigestFinal_ex(ctx, out, &got) && got == MAC_DIGEST_LEN;
	EVP_MD_CTX_free(ctx);
	return ok ? 0 : -EIO;
}

/**
 * mac_proof - MAC of PROOF
 * @key: K, RDMABLK_MAC_LEN bytes
 * @hello: as received
 * @challenge: as sent
 * @out: RDMABLK_MAC_LEN bytes
 *
 * Return: 0 or -EIO.
 */
int mac_proof(const uint8_t *key, const struct rdmablk_hello *hello,
	      const struct rdmablk_challenge *challenge, uint8_t *out)
{
	const struct part parts[] = {
		{ RDMABLK_LABEL_PROOF, RDMABLK_LABEL_LEN },
		{ hello, sizeof(*hello) },
		{ challenge, sizeof(*challenge) },
	};

	return mac_parts(key, parts, ARRAY_SIZE(parts), out);
}

/**
 * mac_session_key - key of one session
 * @key: K, RDMABLK_MAC_LEN bytes
 * @hello: as received
 * @challenge: as sent
 * @out: RDMABLK_MAC_LEN bytes, secret
 *
 * Return: 0 or -EIO.
 */
int mac_session_key(const uint8_t *key, const struct rdmablk_hello *hello,
		    const struct rdmablk_challenge *challenge, uint8_t *out)
{
	const struct part parts[] = {
		{ RDMABLK_LABEL_SESSION, RDMABLK_LABEL_LEN },
		{ hello->nonce, sizeof(hello->nonce) },
		{ challenge->nonce, sizeof(challenge->nonce) },
		{ &challenge->session_id, sizeof(challenge->session_id) },
		{ &hello->generation, sizeof(hello->generation) },
	};

	return mac_parts(key, parts, ARRAY_SIZE(parts), out);
}

/**
 * mac_message - MAC of a message under a label
 * @key: RDMABLK_MAC_LEN bytes
 * @label: RDMABLK_LABEL_*
 * @msg: without its MAC
 * @len: bytes of @msg
 * @out: RDMABLK_MAC_LEN bytes
 *
 * Return: 0 or -EIO.
 */
int mac_message(const uint8_t *key, const char *label, const void *msg,
		size_t len, uint8_t *out)
{
	const struct part parts[] = {
		{ label, RDMABLK_LABEL_LEN },
		{ msg, len },
	};

	return mac_parts(key, parts, ARRAY_SIZE(parts), out);
}

/**
 * mac_equal - compare two MACs in constant time
 * @a: RDMABLK_MAC_LEN bytes
 * @b: RDMABLK_MAC_LEN bytes
 *
 * Return: whether they are the same.
 */
bool mac_equal(const uint8_t *a, const uint8_t *b)
{
	return !CRYPTO_memcmp(a, b, RDMABLK_MAC_LEN);
}

/**
 * mac_wipe - forget a secret
 * @buf: overwritten
 * @len: bytes
 */
void mac_wipe(void *buf, size_t len)
{
	OPENSSL_cleanse(buf, len);
}
