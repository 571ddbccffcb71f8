// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that the key schedule of kernel/keysched.c gives the reference values, that each
 * byte of its inputs counts, that a wrong MAC is refused, that an error of a primitive comes
 * back with no result, and that no secret stays on the stack.
 */
#include <linux/kernel.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "login2.h"
#include "uapi/rdmablk_keysched.h"
#include "unit.h"

#define LEN	RDMABLK_KEYSCHED_LEN
#define PUBLIC	2048	/* bytes of all results */

/*
 * Addresses of what the primitives have written and the tested code has not wiped yet. Results
 * are in result[]; anything else is on the stack of the tested code.
 */
static uint8_t result[PUBLIC];
static struct {
	uint8_t *at;
	size_t len;
} written[64];
static unsigned int nr_written, calls, fail_at;
static size_t compared;

static uint8_t K[LEN], z[LEN], th0[LEN], th1[LEN], th2[LEN], prk0[LEN], prk1[LEN];
static uint8_t hello[LOGIN2_HELLO], challenge[LOGIN2_CHALLENGE], reauth[120], accept_msg[48];
static uint8_t nonce[LEN], k_resume[LEN], uuid[RDMABLK_KEYSCHED_UUID_LEN], resume_mac[LEN];
static uint8_t proof[LEN], k_join[LEN], join_mac[LEN], accept_mac[LEN];

static bool is_input(const uint8_t *key)
{
	return key == K || key == prk0 || key == prk1 || key == k_join || key == k_resume;
}

static void wrote(uint8_t *at, size_t len)
{
	if (at >= result && at < result + sizeof(result))
		return;
	for (unsigned int i = 0; i < nr_written; i++)
		if (written[i].at == at)
			return;
	assert_true(nr_written < ARRAY_SIZE(written));
	written[nr_written].at = at;
	written[nr_written++].len = len;
}

static void wipe(void *buf, unsigned long len)
{
	uint8_t *first = buf;

	memset(buf, 0, len);
	for (unsigned int i = 0; i < nr_written;) {
		if (written[i].at >= first && written[i].at + written[i].len <= first + len)
			written[i] = written[--nr_written];
		else
			i++;
	}
}

static int fails(void)
{
	return ++calls == fail_at ? -ENOMEM : 0;
}

static size_t join_parts(const struct rdmablk_keysched_part *part, unsigned int nr,
			 uint8_t *to)
{
	size_t len = 0;

	for (unsigned int i = 0; i < nr; i++) {
		memcpy(to + len, part[i].data, part[i].len);
		len += part[i].len;
	}
	return len;
}

static int hash(void *ctx, const struct rdmablk_keysched_part *part, unsigned int nr,
		uint8_t *out)
{
	uint8_t all[1024];

	assert_ptr_equal(ctx, &calls);
	SHA256(all, join_parts(part, nr, all), out);
	wrote(out, LEN);
	return fails();
}

static int hmac(void *ctx, const uint8_t *key, unsigned long key_len,
		const struct rdmablk_keysched_part *part, unsigned int nr, uint8_t *out)
{
	uint8_t all[1024], mac[LEN];

	assert_ptr_equal(ctx, &calls);
	/* A key that the tested code has derived is a secret on its stack, too. */
	if (key_len == LEN && !is_input(key))
		wrote((uint8_t *)key, LEN);
	assert_non_null(HMAC(EVP_sha256(), key, (int)key_len, all, join_parts(part, nr, all),
			     mac, NULL));
	memcpy(out, mac, LEN);
	wrote(out, LEN);
	return fails();
}

static int differ(const void *a, const void *b, unsigned long len)
{
	compared += len;
	return memcmp(a, b, len);
}

static const struct rdmablk_keysched_ops ops = {
	.hash = hash, .hmac = hmac, .differ = differ, .wipe = wipe,
};

static const struct rdmablk_keysched c = { .ops = &ops, .ctx = &calls };

static int setup(void **state)
{
	(void)state;
	login2_hello(hello);
	login2_challenge(challenge);
	login2_bytes(K, LOGIN2_K);
	login2_bytes(z, LOGIN2_Z);
	memcpy(nonce, hello + 88, LEN);
	login2_bytes(uuid, LOGIN2_UUID);
	login2_bytes(resume_mac, LOGIN2_RESUME);
	login2_bytes(th0, LOGIN2_TH0);
	login2_bytes(th1, LOGIN2_TH1);
	login2_bytes(th2, LOGIN2_TH2);
	login2_bytes(proof, LOGIN2_PROOF);
	login2_bytes(k_join, LOGIN2_K_JOIN);
	login2_bytes(join_mac, LOGIN2_JOIN_MAC);
	unit_random_bytes(reauth, sizeof(reauth));
	unit_random_bytes(accept_msg, sizeof(accept_msg));
	memset(result, 0, sizeof(result));
	nr_written = 0;
	fail_at = 0;
	calls = 0;
	if (rdmablk_keysched_prk0(&c, K, result) ||
	    rdmablk_keysched_prk1(&c, result, th1, z, result + LEN) ||
	    rdmablk_keysched_accept(&c, k_join, accept_msg, join_mac, 0x44, result + 2 * LEN))
		return -1;
	memcpy(prk0, result, LEN);
	memcpy(prk1, result + LEN, LEN);
	if (rdmablk_keysched_resume_key(&c, prk0, nonce, result + 3 * LEN))
		return -1;
	memcpy(k_resume, result + 3 * LEN, LEN);
	memcpy(accept_mac, result + 2 * LEN, LEN);
	calls = 0;
	nr_written = 0;
	return 0;
}

/* Each function with the inputs of the reference login */
static int do_id(void)
{
	return rdmablk_keysched_id(&c, K, result);
}

static int do_th0(void)
{
	return rdmablk_keysched_th0(&c, LOGIN2_QPN_I, LOGIN2_QPN_T, hello, sizeof(hello), result);
}

static int do_reauth(void)
{
	return rdmablk_keysched_reauth(&c, th2, reauth, sizeof(reauth), result);
}

static int do_th1(void)
{
	return rdmablk_keysched_th1(&c, th0, challenge, sizeof(challenge), result);
}

static int do_prk0(void)
{
	return rdmablk_keysched_prk0(&c, K, result);
}

static int do_resume_key(void)
{
	return rdmablk_keysched_resume_key(&c, prk0, nonce, result);
}

static int do_resume(void)
{
	return rdmablk_keysched_resume(&c, k_resume, uuid, result);
}

static int do_check_resume(void)
{
	return rdmablk_keysched_check_resume(&c, k_resume, uuid, resume_mac);
}

static int do_proof(void)
{
	return rdmablk_keysched_proof(&c, prk0, th1, result);
}

static int do_check_proof(void)
{
	return rdmablk_keysched_check_proof(&c, prk0, th1, proof);
}

static int do_th2(void)
{
	return rdmablk_keysched_th2(&c, th1, proof, result);
}

static int do_prk1(void)
{
	return rdmablk_keysched_prk1(&c, prk0, th1, z, result);
}

static int do_keys(void)
{
	return rdmablk_keysched_keys(&c, prk1, th2, (struct rdmablk_keysched_keys *)result);
}

static int do_join(void)
{
	return rdmablk_keysched_join(&c, k_join, login2_request, LOGIN2_JOIN_QPN, result);
}

static int do_check_join(void)
{
	return rdmablk_keysched_check_join(&c, k_join, login2_request, LOGIN2_JOIN_QPN,
					   join_mac);
}

static int do_accept(void)
{
	return rdmablk_keysched_accept(&c, k_join, accept_msg, join_mac, 0x44, result);
}

static int do_check_accept(void)
{
	return rdmablk_keysched_check_accept(&c, k_join, accept_msg, join_mac, 0x44, accept_mac);
}

static int do_expand(void)
{
	return rdmablk_keysched_expand(&c, prk0, "use", 3, result, 3 * LEN + 1);
}

static const struct {
	const char *name;
	int (*call)(void);
	unsigned int primitives;
	const char *want;
} all[] = {
	{ "id", do_id, 1, LOGIN2_ID },
	{ "th0", do_th0, 1, LOGIN2_TH0 },
	{ "reauth", do_reauth, 1, NULL },
	{ "th1", do_th1, 1, LOGIN2_TH1 },
	{ "prk0", do_prk0, 1, NULL },
	{ "resume_key", do_resume_key, 1, NULL },
	{ "resume", do_resume, 1, LOGIN2_RESUME },
	{ "check_resume", do_check_resume, 1, NULL },
	{ "proof", do_proof, 2, LOGIN2_PROOF },
	{ "check_proof", do_check_proof, 2, NULL },
	{ "th2", do_th2, 1, LOGIN2_TH2 },
	{ "prk1", do_prk1, 2, NULL },
	{ "keys", do_keys, 4, LOGIN2_I2T LOGIN2_T2I },
	{ "join", do_join, 1, LOGIN2_JOIN_MAC },
	{ "check_join", do_check_join, 1, NULL },
	{ "accept", do_accept, 1, NULL },
	{ "check_accept", do_check_accept, 1, NULL },
	{ "expand", do_expand, 4, NULL },
};

static void reference_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_int_equal(all[i].call(), 0);
		if (all[i].want)
			assert_hex(result, all[i].want);
	}
	assert_int_equal(do_keys(), 0);
	assert_hex(result + 2 * LEN, LOGIN2_K_JOIN);
	assert_hex(result + 3 * LEN, LOGIN2_EXPORT);
}

/* From K, messages, numbers and Z to the keys, with nothing else given */
static void whole_login(void **state)
{
	uint8_t mac[LEN];

	(void)state;
	assert_int_equal(do_th0(), 0);
	memcpy(th0, result, LEN);
	assert_int_equal(do_th1(), 0);
	memcpy(th1, result, LEN);
	assert_int_equal(do_proof(), 0);
	memcpy(proof, result, LEN);
	assert_int_equal(do_th2(), 0);
	memcpy(th2, result, LEN);
	assert_int_equal(do_prk1(), 0);
	memcpy(prk1, result, LEN);
	assert_int_equal(do_keys(), 0);
	assert_hex(result, LOGIN2_I2T LOGIN2_T2I);
	memcpy(k_join, result + 2 * LEN, LEN);
	assert_int_equal(do_join(), 0);
	memcpy(mac, result, LEN);
	assert_hex(mac, LOGIN2_JOIN_MAC);
}

static void hkdf_of_rfc5869(void **state)
{
	static const struct {
		const char *ikm, *salt, *info, *prk, *okm;
	} list[] = {
		{ "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
		  "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
		  "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
		  "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
		  "34007208d5b887185865" },
		{ "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
		  "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
		  "404142434445464748494a4b4c4d4e4f",
		  "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
		  "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
		  "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
		  "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
		  "d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef"
		  "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
		  "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
		  "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
		  "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
		  "cc30c58179ec3e87c14c01d5c1f3434f1d87" },
		{ "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
		  "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
		  "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
		  "9d201395faa4b61a96c8" },
	};
	uint8_t ikm[80], salt[80], info[80];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		size_t ikm_len = login2_bytes(ikm, list[i].ikm);
		size_t salt_len = login2_bytes(salt, list[i].salt);
		size_t info_len = login2_bytes(info, list[i].info);

		assert_int_equal(rdmablk_keysched_extract(&c, salt, salt_len, ikm, ikm_len,
							  result), 0);
		assert_hex(result, list[i].prk);
		assert_int_equal(rdmablk_keysched_expand(&c, result, info, info_len,
							 result + LEN,
							 strlen(list[i].okm) / 2), 0);
		assert_hex(result + LEN, list[i].okm);
	}
}

static void expand_has_a_limit(void **state)
{
	static uint8_t out[RDMABLK_KEYSCHED_EXPAND_MAX + 1];

	(void)state;
	assert_int_equal(rdmablk_keysched_expand(&c, prk0, "", 0, out, sizeof(out)), -EINVAL);
	assert_int_equal(calls, 0);
	assert_int_equal(rdmablk_keysched_expand(&c, prk0, "", 0, out, sizeof(out) - 1), 0);
	assert_int_equal(calls, 255);
	assert_int_equal(out[sizeof(out) - 1], 0);
	assert_memory_not_equal(out + sizeof(out) - 1 - LEN, out, LEN);
}

/* Any bit of an input changes the result. */
static void counts(const char *what, int (*call)(void), uint8_t *input, size_t len)
{
	uint8_t usual[LEN];

	assert_int_equal(call(), 0);
	memcpy(usual, result, LEN);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		input[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(call(), 0);
		if (!memcmp(usual, result, RDMABLK_KEYSCHED_ID_LEN))
			fail_msg("bit %zu of %s does not count", bit, what);
		input[bit / 8] ^= 1 << bit % 8;
	}
}

static uint32_t qpn_i, qpn_t;
static uint8_t request[56];

static int do_th0_qpn(void)
{
	return rdmablk_keysched_th0(&c, qpn_i, qpn_t, hello, sizeof(hello), result);
}

static int do_join_qpn(void)
{
	return rdmablk_keysched_join(&c, k_join, request, qpn_i, result);
}

static int do_accept_qpn(void)
{
	return rdmablk_keysched_accept(&c, k_join, accept_msg, join_mac, qpn_t, result);
}

static void every_bit_counts(void **state)
{
	(void)state;
	counts("K", do_id, K, LEN);
	counts("HELLO", do_th0, hello, sizeof(hello));
	counts("QPN_i", do_th0_qpn, (uint8_t *)&qpn_i, sizeof(qpn_i));
	counts("QPN_t", do_th0_qpn, (uint8_t *)&qpn_t, sizeof(qpn_t));
	counts("th2 of the last epoch", do_reauth, th2, LEN);
	counts("REAUTH", do_reauth, reauth, sizeof(reauth));
	counts("th0", do_th1, th0, LEN);
	counts("CHALLENGE", do_th1, challenge, sizeof(challenge));
	counts("K", do_prk0, K, LEN);
	counts("prk0", do_resume_key, prk0, LEN);
	counts("the nonce", do_resume_key, nonce, LEN);
	counts("the key of a resume", do_resume, k_resume, LEN);
	counts("the UUID", do_resume, uuid, sizeof(uuid));
	counts("prk0", do_proof, prk0, LEN);
	counts("th1", do_proof, th1, LEN);
	counts("th1", do_th2, th1, LEN);
	counts("PROOF", do_th2, proof, LEN);
	counts("prk0", do_prk1, prk0, LEN);
	counts("th1", do_prk1, th1, LEN);
	counts("Z", do_prk1, z, LEN);
	counts("prk1", do_keys, prk1, LEN);
	counts("th2", do_keys, th2, LEN);
	counts("the key of joins", do_join_qpn, k_join, LEN);
	counts("a join", do_join_qpn, request, RDMABLK_KEYSCHED_REQUEST_LEN);
	counts("the joining queue pair", do_join_qpn, (uint8_t *)&qpn_i, sizeof(qpn_i));
	counts("an accept", do_accept_qpn, accept_msg, RDMABLK_KEYSCHED_ACCEPT_LEN);
	counts("the MAC of the join", do_accept_qpn, join_mac, LEN);
	counts("the accepting queue pair", do_accept_qpn, (uint8_t *)&qpn_t, sizeof(qpn_t));
}

/* A queue pair number has one place: the two ends are not interchangeable. */
static void ends_have_their_places(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_keysched_th0(&c, LOGIN2_QPN_T, LOGIN2_QPN_I, hello,
					      sizeof(hello), result), 0);
	assert_memory_not_equal(result, th0, LEN);
}

/* Values of reauth and accept, which have no reference value, computed here in one piece */
static void reauth_and_accept_by_hand(void **state)
{
	uint8_t text[256], want[LEN];

	(void)state;
	memcpy(text, "rdmablk reauth 2", 16);
	memcpy(text + 16, th2, LEN);
	memcpy(text + 48, reauth, sizeof(reauth));
	SHA256(text, 48 + sizeof(reauth), want);
	assert_int_equal(do_reauth(), 0);
	assert_memory_equal(result, want, LEN);

	memcpy(text, "rdmablk joinrep2", 16);
	memcpy(text + 16, accept_msg, 16);
	memcpy(text + 32, join_mac, LEN);
	memcpy(text + 64, "\x78\x56\x34\x12", 4);
	HMAC(EVP_sha256(), k_join, LEN, text, 68, want, NULL);
	assert_int_equal(rdmablk_keysched_accept(&c, k_join, accept_msg, join_mac, 0x12345678,
						 result), 0);
	assert_memory_equal(result, want, LEN);
}

/* The MAC itself is not part of what it covers. */
static void macs_cover_what_is_before_them(void **state)
{
	(void)state;
	memcpy(request, login2_request, sizeof(login2_request));
	memset(request + RDMABLK_KEYSCHED_REQUEST_LEN, 0xff,
	       sizeof(request) - RDMABLK_KEYSCHED_REQUEST_LEN);
	assert_int_equal(rdmablk_keysched_join(&c, k_join, request, LOGIN2_JOIN_QPN, result), 0);
	assert_hex(result, LOGIN2_JOIN_MAC);
	memset(accept_msg + RDMABLK_KEYSCHED_ACCEPT_LEN, 0xff,
	       sizeof(accept_msg) - RDMABLK_KEYSCHED_ACCEPT_LEN);
	assert_int_equal(do_check_accept(), 0);
	memset(request, 0, sizeof(request));
}

static void wrong_mac(int (*check)(void), uint8_t *mac, size_t len)
{
	compared = 0;
	assert_int_equal(check(), 0);
	assert_int_equal(compared, len);
	for (unsigned int bit = 0; bit < 8 * len; bit++) {
		mac[bit / 8] ^= 1 << bit % 8;
		compared = 0;
		assert_int_equal(check(), -EACCES);
		assert_int_equal(compared, len);
		mac[bit / 8] ^= 1 << bit % 8;
	}
}

static void wrong_macs_are_refused(void **state)
{
	(void)state;
	wrong_mac(do_check_resume, resume_mac, RDMABLK_KEYSCHED_UUID_LEN);
	wrong_mac(do_check_proof, proof, LEN);
	wrong_mac(do_check_join, join_mac, LEN);
	wrong_mac(do_check_accept, accept_mac, LEN);
	assert_int_equal(rdmablk_keysched_check_join(&c, k_join, login2_request,
						     LOGIN2_JOIN_QPN + 1, join_mac), -EACCES);
	assert_int_equal(rdmablk_keysched_check_accept(&c, k_join, accept_msg, join_mac, 0x45,
						       accept_mac), -EACCES);
}

static void errors_come_back_without_results(void **state)
{
	static const uint8_t zero[PUBLIC];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		calls = 0;
		assert_int_equal(all[i].call(), 0);
		if (calls != all[i].primitives)
			fail_msg("%s calls %u primitives", all[i].name, calls);
		for (fail_at = 1; fail_at <= all[i].primitives; fail_at++) {
			memset(result, 0, sizeof(result));
			memset(result, 0x55, LEN / 4);
			calls = 0;
			assert_int_equal(all[i].call(), -ENOMEM);
			assert_int_equal(calls, fail_at);
			if (!strncmp(all[i].name, "check", 5))
				memset(result, 0, LEN / 4);
			if (memcmp(result, zero, sizeof(zero)))
				fail_msg("%s leaves a result", all[i].name);
		}
		fail_at = 0;
	}
}

static void nothing_stays_on_the_stack(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		for (fail_at = 0; fail_at <= all[i].primitives; fail_at++) {
			calls = 0;
			nr_written = 0;
			all[i].call();
			if (nr_written)
				fail_msg("%s leaves %u values on the stack", all[i].name,
					 nr_written);
		}
		fail_at = 0;
	}
	proof[0] ^= 1;
	nr_written = 0;
	assert_int_equal(do_check_proof(), -EACCES);
	assert_int_equal(nr_written, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reference_values, setup),
		cmocka_unit_test_setup(whole_login, setup),
		cmocka_unit_test_setup(hkdf_of_rfc5869, setup),
		cmocka_unit_test_setup(expand_has_a_limit, setup),
		cmocka_unit_test_setup(every_bit_counts, setup),
		cmocka_unit_test_setup(ends_have_their_places, setup),
		cmocka_unit_test_setup(reauth_and_accept_by_hand, setup),
		cmocka_unit_test_setup(macs_cover_what_is_before_them, setup),
		cmocka_unit_test_setup(wrong_macs_are_refused, setup),
		cmocka_unit_test_setup(errors_come_back_without_results, setup),
		cmocka_unit_test_setup(nothing_stays_on_the_stack, setup),
	};

	return cmocka_run_group_tests_name("keysched", tests, NULL, NULL);
}
