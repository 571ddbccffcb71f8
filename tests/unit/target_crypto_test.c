// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libcrypto as wire version 2 uses it: ECDH on P-256, HMAC, the key schedule and sealed frames
 * give the reference values. ECDH refuses a point that is no public key. A missing algorithm is
 * named.
 *
 * Sources: target/wire/crypto.c, kernel/keysched.c, kernel/sealed.c
 * Libraries: libcrypto
 */
#include <dlfcn.h>
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../target/base/util.h"
#include "../../target/wire/crypto.h"
#include "login2.h"
#include "p256_cases.h"

#define LEN	RDMABLK_KEYSCHED_LEN

static const struct rdmablk_keysched *c = &crypto_keysched;
static const char *absent;

/* libcrypto's function; NULL for the algorithm that is absent */
static void *real(const char *function, const char *algorithm)
{
	return absent && !strcmp(absent, algorithm) ? NULL : dlsym(RTLD_NEXT, function);
}

EVP_MD *EVP_MD_fetch(OSSL_LIB_CTX *ctx, const char *name, const char *properties)
{
	EVP_MD *(*fetch)(OSSL_LIB_CTX *ctx, const char *name, const char *properties);

	*(void **)&fetch = real("EVP_MD_fetch", name);
	return fetch ? fetch(ctx, name, properties) : NULL;
}

EVP_MAC *EVP_MAC_fetch(OSSL_LIB_CTX *ctx, const char *name, const char *properties)
{
	EVP_MAC *(*fetch)(OSSL_LIB_CTX *ctx, const char *name, const char *properties);

	*(void **)&fetch = real("EVP_MAC_fetch", name);
	return fetch ? fetch(ctx, name, properties) : NULL;
}

EVP_CIPHER *EVP_CIPHER_fetch(OSSL_LIB_CTX *ctx, const char *name, const char *properties)
{
	EVP_CIPHER *(*fetch)(OSSL_LIB_CTX *ctx, const char *name, const char *properties);

	*(void **)&fetch = real("EVP_CIPHER_fetch", name);
	return fetch ? fetch(ctx, name, properties) : NULL;
}

EVP_KEYEXCH *EVP_KEYEXCH_fetch(OSSL_LIB_CTX *ctx, const char *name, const char *properties)
{
	EVP_KEYEXCH *(*fetch)(OSSL_LIB_CTX *ctx, const char *name, const char *properties);

	*(void **)&fetch = real("EVP_KEYEXCH_fetch", name);
	return fetch ? fetch(ctx, name, properties) : NULL;
}

EVP_PKEY_CTX *EVP_PKEY_CTX_new_from_name(OSSL_LIB_CTX *ctx, const char *name,
					 const char *properties)
{
	EVP_PKEY_CTX *(*new)(OSSL_LIB_CTX *ctx, const char *name, const char *properties);

	*(void **)&new = real("EVP_PKEY_CTX_new_from_name", name);
	return new ? new(ctx, name, properties) : NULL;
}

static int start(void **state)
{
	const char *missing;

	(void)state;
	absent = NULL;
	return crypto_start(&missing);
}

static int stop(void **state)
{
	(void)state;
	crypto_stop();
	return 0;
}

/* Makes a pair from a known private key. */
static void load(struct crypto_pair *pair, const char *private)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	OSSL_PARAM *params;
	uint8_t d[LEN];
	BIGNUM *n;

	login2_bytes(d, private);
	n = BN_bin2bn(d, sizeof(d), NULL);
	pair->pkey = NULL;
	assert_true(OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-256",
						    0));
	assert_true(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, n));
	params = OSSL_PARAM_BLD_to_param(build);
	assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
	assert_int_equal(EVP_PKEY_fromdata(ctx, &pair->pkey, EVP_PKEY_KEYPAIR, params), 1);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(build);
	BN_free(n);
	EVP_PKEY_CTX_free(ctx);
}

static void point(uint8_t *to, const char *x, const char *y)
{
	assert_int_equal(login2_bytes(to, x), LEN);
	assert_int_equal(login2_bytes(to + LEN, y), LEN);
}

static void agreements(void **state)
{
	uint8_t peer[CRYPTO_POINT_LEN], z[LEN];
	struct crypto_pair pair;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(p256_cases); i++) {
		const struct p256_case *p = &p256_cases[i];

		load(&pair, p256_private[p->private]);
		point(peer, p->x, p->y);
		assert_int_equal(crypto_agree(&pair, peer, z), 0);
		assert_hex(z, p->z);
		/* One flipped bit takes the point off the curve. */
		peer[LEN + i % LEN] ^= 1 << i % 8;
		assert_int_equal(crypto_agree(&pair, peer, z), -EBADMSG);
		crypto_forget(&pair);
		crypto_forget(&pair);
	}
	assert_int_equal(ERR_peek_error(), 0);
}

static void not_public_keys(void **state)
{
	static const uint8_t zero[LEN];
	uint8_t peer[CRYPTO_POINT_LEN], z[LEN];
	struct crypto_pair pair;

	(void)state;
	load(&pair, p256_private[0]);
	for (size_t i = 0; i < ARRAY_SIZE(p256_not_points); i++) {
		point(peer, p256_not_points[i].x, p256_not_points[i].y);
		memset(z, 0x55, sizeof(z));
		assert_int_equal(crypto_agree(&pair, peer, z), -EBADMSG);
		assert_memory_equal(z, zero, sizeof(z));
	}
	memset(peer, 0, LEN);
	login2_bytes(peer + LEN, P256_ZERO_Y);
	assert_int_equal(crypto_agree(&pair, peer, z), 0);
	memset(peer, 0xff, sizeof(peer));
	assert_int_equal(crypto_agree(&pair, peer, z), -EBADMSG);
	crypto_forget(&pair);
	assert_int_equal(crypto_agree(&pair, peer, z), -EBADMSG);
	assert_int_equal(ERR_peek_error(), 0);
}

static void generated_pairs(void **state)
{
	uint8_t pub[2][CRYPTO_POINT_LEN], z[2][LEN];
	struct crypto_pair pair[2];

	(void)state;
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < 2; i++)
			assert_int_equal(crypto_generate(&pair[i], pub[i]), 0);
		assert_memory_not_equal(pub[0], pub[1], CRYPTO_POINT_LEN);
		assert_int_equal(crypto_agree(&pair[0], pub[1], z[0]), 0);
		assert_int_equal(crypto_agree(&pair[1], pub[0], z[1]), 0);
		assert_memory_equal(z[0], z[1], LEN);
		for (int i = 0; i < 2; i++)
			crypto_forget(&pair[i]);
		assert_int_equal(crypto_agree(&pair[0], pub[1], z[0]), -EIO);
	}
}

static void hmac_of_rfc4231(void **state)
{
	static const struct {
		const char *key;	/* hexadecimal, or one byte that is repeated */
		unsigned int key_repeat;
		const char *data;	/* the same */
		unsigned int data_repeat;
		const char *mac;
	} list[] = {
		{ "0b", 20, "4869205468657265", 1,
		  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
		{ "4a656665", 1,
		  "7768617420646f2079612077616e7420666f72206e6f7468696e673f", 1,
		  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
		{ "aa", 20, "dd", 50,
		  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
		{ "0102030405060708090a0b0c0d0e0f10111213141516171819", 1, "cd", 50,
		  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
		{ "aa", 131,
		  "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a"
		  "65204b6579202d2048617368204b6579204669727374", 1,
		  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
		{ "aa", 131,
		  "5468697320697320612074657374207573696e672061206c6172676572207468"
		  "616e20626c6f636b2d73697a65206b657920616e642061206c61726765722074"
		  "68616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565"
		  "647320746f20626520686173686564206265666f7265206265696e6720757365"
		  "642062792074686520484d414320616c676f726974686d2e", 1,
		  "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
	};
	uint8_t key[256], data[256], mac[LEN];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		size_t key_len = 0, len = 0;

		for (unsigned int r = 0; r < list[i].key_repeat; r++)
			key_len += login2_bytes(key + key_len, list[i].key);
		for (unsigned int r = 0; r < list[i].data_repeat; r++)
			len += login2_bytes(data + len, list[i].data);
		/* Pieces are hashed as if they were one. */
		for (size_t cut = 0; cut <= len; cut++) {
			const struct rdmablk_keysched_part part[] = {
				{ data, cut }, { data + cut, len - cut },
			};

			assert_int_equal(c->ops->hmac(c->ctx, key, key_len, part, 2, mac), 0);
			assert_hex(mac, list[i].mac);
		}
	}
}

/* One end of a login: derives the keys from its own private key and the peer's point. */
static void end_of_login(const char *private, const char *peer_point,
			 struct rdmablk_keysched_keys *keys)
{
	uint8_t hello[LOGIN2_HELLO], challenge[LOGIN2_CHALLENGE], peer[CRYPTO_POINT_LEN];
	uint8_t key[LEN], id[8], th[LEN], prk0[LEN], prk1[LEN], mac[LEN], z[LEN], th2[LEN];
	struct crypto_pair pair;

	load(&pair, private);
	login2_bytes(key, LOGIN2_K);
	login2_bytes(peer, peer_point);
	login2_hello(hello);
	login2_challenge(challenge);
	assert_int_equal(rdmablk_keysched_id(c, key, id), 0);
	assert_hex(id, LOGIN2_ID);
	assert_int_equal(rdmablk_keysched_th0(c, LOGIN2_QPN_I, LOGIN2_QPN_T, hello,
					      sizeof(hello), th), 0);
	assert_int_equal(rdmablk_keysched_th1(c, th, challenge, sizeof(challenge), th), 0);
	assert_int_equal(rdmablk_keysched_prk0(c, key, prk0), 0);
	assert_int_equal(rdmablk_keysched_proof(c, prk0, th, mac), 0);
	assert_int_equal(rdmablk_keysched_check_proof(c, prk0, th, mac), 0);
	assert_int_equal(crypto_agree(&pair, peer, z), 0);
	assert_hex(z, LOGIN2_Z);
	assert_int_equal(rdmablk_keysched_th2(c, th, mac, th2), 0);
	assert_int_equal(rdmablk_keysched_prk1(c, prk0, th, z, prk1), 0);
	assert_int_equal(rdmablk_keysched_keys(c, prk1, th2, keys), 0);
	mac[31] ^= 1;
	assert_int_equal(rdmablk_keysched_check_proof(c, prk0, th, mac), -EACCES);
	crypto_forget(&pair);
}

static void reference_login(void **state)
{
	struct rdmablk_keysched_keys i, t;
	uint8_t mac[LEN];

	(void)state;
	end_of_login(LOGIN2_D_I, LOGIN2_P_T, &i);
	end_of_login(LOGIN2_D_T, LOGIN2_P_I, &t);
	assert_memory_equal(&i, &t, sizeof(i));
	assert_hex(i.i2t, LOGIN2_I2T);
	assert_hex(i.t2i, LOGIN2_T2I);
	assert_hex(i.join, LOGIN2_K_JOIN);
	assert_hex(i.exporter, LOGIN2_EXPORT);
	assert_int_equal(rdmablk_keysched_join(c, i.join, login2_request, LOGIN2_JOIN_QPN, mac),
			 0);
	assert_hex(mac, LOGIN2_JOIN_MAC);
}

static void reference_frame(void **state)
{
	uint8_t key[LEN], msg[RDMABLK_SEALED_MAX], frame[512], text[RDMABLK_SEALED_MAX];
	struct rdmablk_sealed tx, rx;

	(void)state;
	login2_bytes(key, LOGIN2_T2I);
	rdmablk_sealed_init(&tx, &crypto_sealed, crypto_cipher(key, true));
	rdmablk_sealed_init(&rx, &crypto_sealed, crypto_cipher(key, false));
	assert_true(tx.key && rx.key);
	login2_bytes(msg, LOGIN2_MESSAGE);
	assert_int_equal(rdmablk_sealed_seal(&tx, msg, 16, frame, sizeof(frame)), 56);
	assert_hex(frame, LOGIN2_FRAME);
	for (int bit = 0; bit < 8 * 56; bit++) {
		frame[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(rdmablk_sealed_open(&rx, frame, 56, text, sizeof(text)),
				 -EBADMSG);
		frame[bit / 8] ^= 1 << bit % 8;
	}
	assert_int_equal(rdmablk_sealed_open(&rx, frame, 56, text, sizeof(text)), 16);
	assert_memory_equal(text, msg, 16);
	/* The ciphers still work after the frames that were refused. */
	for (int len = 16; len <= RDMABLK_SEALED_MAX; len++) {
		memset(msg, len, sizeof(msg));
		assert_int_equal(rdmablk_sealed_seal(&tx, msg, len, frame, sizeof(frame)),
				 len + 40);
		assert_int_equal(rdmablk_sealed_open(&rx, frame, len + 40, text, sizeof(text)),
				 len);
		assert_memory_equal(text, msg, len);
	}
	assert_int_equal(ERR_peek_error(), 0);
	crypto_cipher_free(tx.key);
	crypto_cipher_free(rx.key);
	crypto_cipher_free(NULL);
}

static void missing_algorithms(void **state)
{
	static const struct {
		const char *absent;
		const char *named;
	} list[] = {
		{ "SHA256", "HMAC with SHA-256" },
		{ "HMAC", "HMAC with SHA-256" },
		{ "AES-256-GCM", "AES-256-GCM" },
		{ "ECDH", "ECDH on P-256" },
		{ "EC", "ECDH on P-256" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		const char *missing = NULL;

		absent = list[i].absent;
		assert_int_equal(crypto_start(&missing), -ENOTSUP);
		assert_string_equal(missing, list[i].named);
		crypto_stop();
	}
	absent = NULL;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agreements, start, stop),
		cmocka_unit_test_setup_teardown(not_public_keys, start, stop),
		cmocka_unit_test_setup_teardown(generated_pairs, start, stop),
		cmocka_unit_test_setup_teardown(hmac_of_rfc4231, start, stop),
		cmocka_unit_test_setup_teardown(reference_login, start, stop),
		cmocka_unit_test_setup_teardown(reference_frame, start, stop),
		cmocka_unit_test(missing_algorithms),
	};

	return cmocka_run_group_tests_name("crypto", tests, NULL, NULL);
}
