// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/auth.c derives what a target with the same K derives, and nothing else;
 * that a peer with other queue pairs, another key or a point off the curve gets no keys; that
 * a second epoch has ciphers of its own; and that whatever fails, no secret stays and no
 * memory is lost.
 */
#include <linux/kernel.h>

#define ERR_PTR(e)		((void *)(long)(e))
#define PTR_ERR(p)		((int)(long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= (unsigned long)-4095)
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))
#define PTR_ERR_OR_ZERO(p)	(IS_ERR(p) ? PTR_ERR(p) : 0)

#include "fake_crypt.h"

/* The kernel is built without this warning. */
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../kernel/auth.c"

enum { QPN_I = 0x11, QPN_T = 0x22, JOIN_I = 0x33, JOIN_T = 0x44 };

static struct rdmablk_auth auth;
static struct crypt_target target;
static u8 hello[360], challenge[160], key_id[RDMABLK_KEY_ID_LEN], mac[RDMABLK_MAC_LEN];

static int setup(void **state)
{
	(void)state;
	crypt_begin();
	memset(&auth, 0, sizeof(auth));
	memset(&target, 0, sizeof(target));
	memset(target.key, 0x4b, sizeof(target.key));
	unit_random_bytes(hello, sizeof(hello));
	unit_random_bytes(challenge, sizeof(challenge));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rdmablk_auth_close(&auth);
	crypt_target_end(&target);
	crypt_end();
	return 0;
}

/* Runs the login until PROOF; the target's keys use @qpn_t. Return: 0 or the initiator's error. */
static int dialogue(u32 qpn_t)
{
	int ret = rdmablk_auth_open(&auth);

	if (ret)
		return ret;
	memset(auth.secret.key, 0x4b, sizeof(auth.secret.key));
	ret = rdmablk_auth_begin(&auth, key_id, hello + 296);
	if (!ret)
		ret = rdmablk_auth_hello(&auth, QPN_I, QPN_T, hello, sizeof(hello));
	if (ret)
		return ret;
	crypt_target_end(&target);
	crypt_target_hello(&target, QPN_I, qpn_t, hello, sizeof(hello), hello + 296,
			   challenge + 96);
	crypt_target_challenge(&target, challenge, sizeof(challenge));
	return rdmablk_auth_challenge(&auth, challenge, sizeof(challenge), challenge + 96, mac);
}

static void same_keys(void)
{
	const struct rdmablk_auth_ciphers *c = rdmablk_auth_ciphers(&auth);

	assert_memory_equal(c->tx->key, target.keys.i2t, sizeof(c->tx->key));
	assert_memory_equal(c->rx->key, target.keys.t2i, sizeof(c->rx->key));
}

static bool is_zero(const void *buf, size_t len)
{
	return !crypt_is_secret(buf, len);
}

static void test_both_sides_agree(void **state)
{
	u8 id[RDMABLK_KEY_ID_LEN];

	(void)state;
	assert_int_equal(dialogue(QPN_T), 0);
	rdmablk_keysched_id(&crypto_keysched, target.key, id);
	assert_memory_equal(key_id, id, sizeof(id));
	assert_int_equal(crypt_target_proof(&target, mac), 0);
	same_keys();
	/* After CHALLENGE the initiator needs K no more, and has wiped it. */
	assert_true(is_zero(auth.secret.key, sizeof(auth.secret.key)));
}

/* The MAC of PROOF covers the queue pairs, so the target refuses one that was relayed. */
static void test_a_relay_gets_no_proof(void **state)
{
	(void)state;
	assert_int_equal(dialogue(QPN_T + 1), 0);
	assert_int_equal(crypt_target_proof(&target, mac), -EACCES);
}

static void test_another_key_proves_nothing(void **state)
{
	(void)state;
	target.key[31] ^= 1;
	assert_int_equal(dialogue(QPN_T), 0);
	assert_int_equal(crypt_target_proof(&target, mac), -EACCES);
}

static void test_a_point_that_is_none(void **state)
{
	u8 point[RDMABLK_POINT_LEN];

	(void)state;
	assert_int_equal(dialogue(QPN_T), 0);
	memcpy(point, challenge + 96, sizeof(point));
	point[63] ^= 1;
	assert_int_equal(rdmablk_auth_challenge(&auth, challenge, sizeof(challenge), point, mac),
			 -EBADMSG);
}

/* The MAC that names an export in HELLO verifies only with K and the nonce of this login. */
static void test_an_export_is_named(void **state)
{
	u8 uuid[RDMABLK_ID_LEN], named[RDMABLK_ID_LEN], key[RDMABLK_KEYSCHED_LEN];
	const u8 *nonce = hello + 88;

	(void)state;
	unit_random_bytes(uuid, sizeof(uuid));
	assert_int_equal(dialogue(QPN_T), 0);
	assert_int_equal(rdmablk_auth_resume(&auth, nonce, uuid, named), 0);
	assert_memory_not_equal(named, uuid, sizeof(named));
	rdmablk_keysched_resume_key(&crypto_keysched, target.prk0, nonce, key);
	assert_int_equal(rdmablk_keysched_check_resume(&crypto_keysched, key, uuid, named), 0);
	uuid[15] ^= 1;
	assert_int_equal(rdmablk_keysched_check_resume(&crypto_keysched, key, uuid, named),
			 -EACCES);
	uuid[15] ^= 1;
	rdmablk_keysched_resume_key(&crypto_keysched, target.prk0, nonce + 1, key);
	assert_int_equal(rdmablk_keysched_check_resume(&crypto_keysched, key, uuid, named),
			 -EACCES);
	for (int calls = 0; calls < 2; calls++) {
		crypt_world.left = calls;
		assert_int_equal(rdmablk_auth_resume(&auth, nonce, uuid, named), -ENOMEM);
		crypt_world.left = -1;
	}
}

/* The MACs of join and accept cover the queue pair number of their sender. */
static void test_joins(void **state)
{
	struct rdmablk_cm_request req = { .magic = cpu_to_le32(RDMABLK_MAGIC), .kind = 1 };
	struct rdmablk_cm_accept2 acc = { .accept.magic = cpu_to_le32(RDMABLK_MAGIC) };

	(void)state;
	assert_int_equal(dialogue(QPN_T), 0);
	assert_int_equal(crypt_target_proof(&target, mac), 0);
	assert_int_equal(rdmablk_auth_join(&auth, JOIN_I, &req), 0);
	assert_int_equal(rdmablk_keysched_check_join(&crypto_keysched, target.keys.join, &req,
						     JOIN_I, req.mac), 0);
	assert_int_equal(rdmablk_keysched_check_join(&crypto_keysched, target.keys.join, &req,
						     JOIN_I + 1, req.mac), -EACCES);
	rdmablk_keysched_accept(&crypto_keysched, target.keys.join, &acc, req.mac, JOIN_T,
				acc.mac);
	assert_int_equal(rdmablk_auth_accept(&auth, &acc, req.mac, JOIN_T), 0);
	assert_int_equal(rdmablk_auth_accept(&auth, &acc, req.mac, JOIN_T + 1), -EACCES);
	acc.accept.queue ^= 1;
	assert_int_equal(rdmablk_auth_accept(&auth, &acc, req.mac, JOIN_T), -EACCES);
	acc.accept.queue ^= 1;
	req.mac[0] ^= 1;
	assert_int_equal(rdmablk_auth_accept(&auth, &acc, req.mac, JOIN_T), -EACCES);
	req.mac[0] ^= 1;
	acc.mac[31] ^= 1;
	assert_int_equal(rdmablk_auth_accept(&auth, &acc, req.mac, JOIN_T), -EACCES);
}

/* The ciphers of the old epoch stay valid beside the new ones while REAUTH_DONE is on its way. */
static void test_the_next_epoch(void **state)
{
	const struct rdmablk_auth_ciphers *first;
	u8 reauth[120], answer[112], old[RDMABLK_SEALED_KEY_LEN];

	(void)state;
	assert_int_equal(dialogue(QPN_T), 0);
	assert_int_equal(crypt_target_proof(&target, mac), 0);
	first = rdmablk_auth_ciphers(&auth);
	memcpy(old, first->tx->key, sizeof(old));
	rdmablk_auth_turn(&auth);
	rdmablk_auth_forget(&auth);
	unit_random_bytes(reauth, sizeof(reauth));
	unit_random_bytes(answer, sizeof(answer));
	for (unsigned int i = 0; i < 2; i++) {
		memset(auth.secret.key, 0x4b, sizeof(auth.secret.key));
		assert_int_equal(rdmablk_auth_begin(&auth, key_id, reauth + 56), 0);
		assert_int_equal(rdmablk_auth_reauth(&auth, reauth, sizeof(reauth)), 0);
		crypt_target_end(&target);
		crypt_target_reauth(&target, reauth, sizeof(reauth), reauth + 56, answer + 48);
		crypt_target_challenge(&target, answer, sizeof(answer));
		assert_int_equal(rdmablk_auth_challenge(&auth, answer, sizeof(answer),
							answer + 48, mac), 0);
		assert_int_equal(crypt_target_proof(&target, mac), 0);
		same_keys();
		if (!i) {
			assert_ptr_not_equal(rdmablk_auth_ciphers(&auth), first);
			assert_memory_equal(first->tx->key, old, sizeof(old));
		}
		rdmablk_auth_turn(&auth);
		rdmablk_auth_forget(&auth);
		assert_true(is_zero(rdmablk_auth_ciphers(&auth)->tx->key, sizeof(old)));
		assert_true(is_zero(rdmablk_auth_ciphers(&auth)->rx->key, sizeof(old)));
	}
	assert_int_equal(crypt_world.secrets, 2);
}

/* The secrets of a login are wiped after it, its ciphers' keys when the connection ends. */
static void test_nothing_stays(void **state)
{
	(void)state;
	assert_int_equal(dialogue(QPN_T), 0);
	assert_false(is_zero(&auth.secret, sizeof(auth.secret)));
	rdmablk_auth_turn(&auth);
	rdmablk_auth_forget(&auth);
	assert_true(is_zero(&auth.secret, sizeof(auth.secret)));
	assert_int_equal(crypt_world.secrets, 2);
	rdmablk_auth_end(&auth);
	assert_int_equal(crypt_world.secrets, 0);
	/* The next login begins as the first one did. */
	assert_int_equal(crypt_world.objects, 5);
	assert_int_equal(dialogue(QPN_T), 0);
	assert_int_equal(crypt_world.objects, 5);
	assert_ptr_equal(rdmablk_auth_ciphers(&auth), &auth.ciphers[0]);
	rdmablk_auth_end(&auth);
	assert_true(is_zero(&auth.secret, sizeof(auth.secret)));
	assert_int_equal(crypt_world.secrets, 0);
	rdmablk_auth_close(&auth);
	rdmablk_auth_close(&auth);
	assert_true(is_zero(&auth, sizeof(auth)));
	/* A session of version 1 has no secrets: these calls do nothing. */
	rdmablk_auth_end(&auth);
	rdmablk_auth_forget(&auth);
}

/* A key that could not be wiped at the end of a connection is wiped before the next login. */
static void test_wiped_later(void **state)
{
	(void)state;
	for (int calls = 0; calls < 4; calls++) {
		assert_int_equal(dialogue(QPN_T), 0);
		rdmablk_auth_turn(&auth);
		assert_false(auth.stale);
		assert_int_equal(dialogue(QPN_T), 0);
		rdmablk_auth_forget(&auth);
		assert_int_equal(crypt_world.secrets, 4);
		crypt_world.left = calls;
		rdmablk_auth_end(&auth);
		crypt_world.left = -1;
		assert_int_equal(crypt_world.secrets, 1);
		assert_true(auth.stale);
		assert_int_equal(rdmablk_auth_open(&auth), 0);
		assert_int_equal(crypt_world.secrets, 0);
		assert_false(auth.stale);
	}
}

/* Each call of the crypto layer fails once. */
static void test_each_failure(void **state)
{
	int failures = 0, ret;

	(void)state;
	do {
		crypt_world.left = failures;
		ret = dialogue(QPN_T);
		crypt_world.left = -1;
		if (!ret)
			break;
		assert_int_equal(ret, -ENOMEM);
		failures++;
		if (auth.crypt)
			assert_int_equal(crypt_world.objects, 5);
		else
			assert_int_equal(crypt_world.objects, 0);
		rdmablk_auth_end(&auth);
		assert_int_equal(crypt_world.secrets, 0);
		assert_true(is_zero(&auth.secret, sizeof(auth.secret)));
		rdmablk_auth_close(&auth);
		assert_int_equal(crypt_world.objects, 0);
	} while (failures < 100);
	assert_in_range(failures, 15, 99);
	assert_int_equal(crypt_target_proof(&target, mac), 0);
	same_keys();
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_both_sides_agree),
		TEST(test_a_relay_gets_no_proof),
		TEST(test_another_key_proves_nothing),
		TEST(test_a_point_that_is_none),
		TEST(test_an_export_is_named),
		TEST(test_joins),
		TEST(test_the_next_epoch),
		TEST(test_nothing_stays),
		TEST(test_wiped_later),
		TEST(test_each_failure),
	};

	return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
