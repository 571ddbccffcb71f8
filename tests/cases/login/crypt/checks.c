// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cryptography of the module, as each kernel's crypto layer computes it: known answers,
 * and what must be refused. The parameters 'checks' and 'failed' say how it went.
 *
 * The values of the key exchange and of the sealed message come from another implementation,
 * libcrypto; those of unusual keys are Wycheproof's. Those of HMAC are of RFC 4231, and that
 * of SHA-256 is of FIPS 180-2.
 */
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/timer.h>
#include "crypt.c"
#include "p256_cases.h"

static unsigned int checks, failed;
module_param(checks, uint, 0444);
MODULE_PARM_DESC(checks, "number of checks made");
module_param(failed, uint, 0444);
MODULE_PARM_DESC(failed, "number of checks that failed, each with a line in the log");

#define check(condition) do {						\
	checks++;							\
	if (!(condition)) {						\
		failed++;						\
		pr_info("crypt_test: line %d: not so: %s\n", __LINE__, #condition); \
	}								\
} while (0)

static const char secret_hex[] =
	"e7386f570fb26e0b0e928180071ea1c4221363740499a4995f2920b9d54fe421";
static const char initiator_hex[] =
	"68ec7cf08cd4106e43b14de895426522bd0a45150c027e45c7953434d747e7ba"
	"e3af39a88ebbee8679bb61e7845c3a89cb9b5a3237c3fdb0b0587dbaf415118d";
static const char target_hex[] =
	"13503389436c38c8cb1a381569d72dcb01bb3b99d105d81ffbdb0e2a15f71a0d"
	"b15fc2d6ce1cae3f34e5bf216bab21a0482a674f313723b4dba076fc8e01c992";
static const char key_hex[] =
	"a3d4d70fbbb34ddb7829e27b0de59f78aec1685da1202c224ef4fea53c16f50c";
/* 24 bytes that stay readable, 16 sealed ones, the tag */
static const char frame_hex[] =
	"0f0038000000000000000000000000000000000000000000"
	"25a5e3418b9153b8f7078f21717e2e14" "bb6e3ad478a4c9045356a43d46a7bc22";

#define HEAD	24
#define TEXT	16
#define FRAME	(HEAD + TEXT + RDMABLK_SEALED_TAG_LEN)

/* As hex2bin(), whose header is not the same in all kernels. */
static void from_hex(u8 *bytes, const char *hex, size_t len)
{
	char two[3] = { };
	size_t i;

	for (i = 0; i < len; i++) {
		two[0] = hex[2 * i];
		two[1] = hex[2 * i + 1];
		check(!kstrtou8(two, 16, &bytes[i]));
	}
}

static bool is_hex(const void *bytes, const char *hex)
{
	const size_t len = strlen(hex) / 2;
	u8 want[128];

	if (len > sizeof(want))
		return false;
	from_hex(want, hex, len);
	return !memcmp(bytes, want, len);
}

static void test_hash(struct rdmablk_crypt *c)
{
	const struct rdmablk_keysched_part whole = { "abc", 3 };
	const struct rdmablk_keysched_part pieces[] = { { "a", 1 }, { "", 0 }, { "bc", 2 } };
	static const char want[] =
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	u8 hash[RDMABLK_KEYSCHED_LEN];

	check(!rdmablk_crypt_hash(c, &whole, 1, hash) && is_hex(hash, want));
	memset(hash, 0, sizeof(hash));
	check(!rdmablk_crypt_hash(c, pieces, ARRAY_SIZE(pieces), hash) && is_hex(hash, want));
}

static void test_mac(struct rdmablk_crypt *c)
{
	static const char hi[] = "Hi There";
	static const char large[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	struct rdmablk_keysched_part part = { hi, strlen(hi) };
	u8 key[131], fifty[50], mac[RDMABLK_KEYSCHED_LEN];

	memset(key, 0x0b, 20);
	check(!rdmablk_crypt_hmac(c, key, 20, &part, 1, mac) &&
	      is_hex(mac, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"));
	/* The shorter key of the second case is not approved, so FIPS mode refuses it. */
	memset(key, 0xaa, 20);
	memset(fifty, 0xdd, sizeof(fifty));
	part = (struct rdmablk_keysched_part){ fifty, sizeof(fifty) };
	check(!rdmablk_crypt_hmac(c, key, 20, &part, 1, mac) &&
	      is_hex(mac, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"));
	memset(key, 0xaa, sizeof(key));
	part = (struct rdmablk_keysched_part){ large, strlen(large) };
	check(!rdmablk_crypt_hmac(c, key, sizeof(key), &part, 1, mac) &&
	      is_hex(mac, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
}

static void test_known_exchange(struct rdmablk_crypt *c, u8 first, const char *own,
				const char *peer)
{
	u8 private[RDMABLK_CRYPT_SECRET], point[RDMABLK_CRYPT_POINT];
	u8 secret[RDMABLK_CRYPT_SECRET];
	unsigned int i;

	for (i = 0; i < sizeof(private); i++)
		private[i] = first + i;
	check(!rdmablk_crypt_set_private(c, private));
	check(!rdmablk_crypt_public(c, point) && is_hex(point, own));
	from_hex(point, peer, sizeof(point));
	check(!rdmablk_crypt_share(c, point, secret) && is_hex(secret, secret_hex));
}

static void test_new_pairs(struct rdmablk_crypt *a, struct rdmablk_crypt *b)
{
	u8 point[3][RDMABLK_CRYPT_POINT], secret[3][RDMABLK_CRYPT_SECRET];

	check(!rdmablk_crypt_new_pair(a, point[0]));
	check(!rdmablk_crypt_new_pair(b, point[1]));
	check(memcmp(point[0], point[1], sizeof(point[0])));
	check(!rdmablk_crypt_share(a, point[1], secret[0]));
	check(!rdmablk_crypt_share(b, point[0], secret[1]));
	check(!memcmp(secret[0], secret[1], sizeof(secret[0])));
	/* After that, the private key is another one. */
	check(!rdmablk_crypt_forget(a));
	check(!rdmablk_crypt_share(a, point[1], secret[2]));
	check(memcmp(secret[0], secret[2], sizeof(secret[0])));
	check(!rdmablk_crypt_public(a, point[2]));
	check(memcmp(point[0], point[2], sizeof(point[0])));
}

/* What a peer may send instead of a point of the curve */
static void test_bad_points(struct rdmablk_crypt *c)
{
	u8 point[RDMABLK_CRYPT_POINT], secret[RDMABLK_CRYPT_SECRET];
	unsigned int bit;

	check(!rdmablk_crypt_set_private(c, NULL));
	memset(point, 0, sizeof(point));
	check(rdmablk_crypt_share(c, point, secret));
	memset(point, 0xff, sizeof(point));
	check(rdmablk_crypt_share(c, point, secret));
	/* No bit of X or Y can change alone. */
	for (bit = 0; bit < 8 * RDMABLK_CRYPT_POINT; bit += 7) {
		from_hex(point, initiator_hex, sizeof(point));
		point[bit / 8] ^= 1 << bit % 8;
		check(rdmablk_crypt_share(c, point, secret));
	}
	/*
	 * A point with a small X. X plus the prime of the field still fits, and is not a
	 * valid X.
	 */
	from_hex(point + RDMABLK_CRYPT_SECRET,
		 "459243b9aa581806fe913bce99817ade11ca503c64d9a3c533415c083248fbcc",
		 RDMABLK_CRYPT_SECRET);
	memset(point, 0, RDMABLK_CRYPT_SECRET);
	point[RDMABLK_CRYPT_SECRET - 1] = 5;
	check(!rdmablk_crypt_share(c, point, secret));
	from_hex(point,
		 "ffffffff00000001000000000000000000000001000000000000000000000004",
		 RDMABLK_CRYPT_SECRET);
	check(rdmablk_crypt_share(c, point, secret));
}

static void p256_point(u8 *point, const char *x, const char *y)
{
	from_hex(point, x, RDMABLK_CRYPT_SECRET);
	from_hex(point + RDMABLK_CRYPT_SECRET, y, RDMABLK_CRYPT_SECRET);
}

/*
 * Unusual keys of both sides, each with its point, and values that are not points. The
 * module lets the kernel choose private keys; the kernel refuses some of these. It takes no
 * private key above the order of the curve less 3. Linux 6.1 refuses three more, because it
 * compares their bytes in the wrong order.
 */
static void test_p256_cases(struct rdmablk_crypt *c)
{
	static const char large[] =
		"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc63254f";
	u8 private[RDMABLK_CRYPT_SECRET], point[RDMABLK_CRYPT_POINT];
	u8 secret[RDMABLK_CRYPT_SECRET];
	const struct p256_case *p;
	unsigned int i, refused = 0;

	for (i = 0; i < ARRAY_SIZE(p256_cases); i++) {
		p = &p256_cases[i];
		if (!strcmp(p256_private[p->private], large))
			continue;
		from_hex(private, p256_private[p->private], sizeof(private));
		if (rdmablk_crypt_set_private(c, private)) {
			refused++;
			continue;
		}
		p256_point(point, p->x, p->y);
		check(!rdmablk_crypt_share(c, point, secret) && is_hex(secret, p->z));
		point[RDMABLK_CRYPT_SECRET + i % RDMABLK_CRYPT_SECRET] ^= 1 << i % 8;
		check(rdmablk_crypt_share(c, point, secret));
	}
	check(refused <= 3);
	check(!rdmablk_crypt_set_private(c, NULL));
	for (i = 0; i < ARRAY_SIZE(p256_not_points); i++) {
		p256_point(point, p256_not_points[i].x, p256_not_points[i].y);
		check(rdmablk_crypt_share(c, point, secret));
	}
	/* See rdmablk_crypt_share(). */
	memset(point, 0, sizeof(point));
	from_hex(point + RDMABLK_CRYPT_SECRET, P256_ZERO_Y, RDMABLK_CRYPT_SECRET);
	check(rdmablk_crypt_share(c, point, secret));
}

/* The whole key schedule, with the messages and queue pair numbers of the reference. */
static void test_keys(struct rdmablk_crypt *c)
{
	const struct rdmablk_keysched k = { &rdmablk_crypt_keysched, c };
	u8 key[RDMABLK_KEYSCHED_LEN], hello[360], challenge[160], z[RDMABLK_KEYSCHED_LEN];
	u8 th[RDMABLK_KEYSCHED_LEN], prk0[RDMABLK_KEYSCHED_LEN], prk1[RDMABLK_KEYSCHED_LEN];
	u8 mac[RDMABLK_KEYSCHED_LEN], id[RDMABLK_KEYSCHED_ID_LEN];
	u8 uuid[RDMABLK_KEYSCHED_UUID_LEN], resume[RDMABLK_KEYSCHED_UUID_LEN];
	struct rdmablk_keysched_keys keys;
	unsigned int i;

	for (i = 0; i < sizeof(key); i++)
		key[i] = i;
	for (i = 0; i < sizeof(hello); i++)
		hello[i] = i * 7;
	for (i = 0; i < sizeof(challenge); i++)
		challenge[i] = i * 5;
	from_hex(hello + 296, initiator_hex, RDMABLK_CRYPT_POINT);
	from_hex(challenge + 96, target_hex, RDMABLK_CRYPT_POINT);
	from_hex(z, secret_hex, sizeof(z));
	check(!rdmablk_keysched_id(&k, key, id) && is_hex(id, "19146ac7420bf0e2"));
	check(!rdmablk_keysched_th0(&k, 0x11, 0x22, hello, sizeof(hello), th));
	check(!rdmablk_keysched_th1(&k, th, challenge, sizeof(challenge), th));
	check(!rdmablk_keysched_prk0(&k, key, prk0));
	check(!rdmablk_keysched_resume_key(&k, prk0, hello + 88, mac));
	for (i = 0; i < sizeof(uuid); i++)
		uuid[i] = 0x60 + i;
	check(!rdmablk_keysched_resume(&k, mac, uuid, resume) &&
	      is_hex(resume, "8604657a7a73aeae50150d531f4cda76"));
	check(!rdmablk_keysched_check_resume(&k, mac, uuid, resume));
	uuid[0] ^= 1;
	check(rdmablk_keysched_check_resume(&k, mac, uuid, resume) == -EACCES);
	check(!rdmablk_keysched_proof(&k, prk0, th, mac) &&
	      is_hex(mac, "4d299328893c26974f2171402e5ab64ad59ad8971c546bf1e821c72631293200"));
	check(!rdmablk_keysched_check_proof(&k, prk0, th, mac));
	check(!rdmablk_keysched_prk1(&k, prk0, th, z, prk1));
	check(!rdmablk_keysched_th2(&k, th, mac, th));
	check(!rdmablk_keysched_keys(&k, prk1, th, &keys));
	check(is_hex(keys.i2t,
		     "1a8fd6d5fa46e074fb4222dc384bf0320e21e26214699f8437f1aa409bfea0cc"));
	check(is_hex(keys.t2i, key_hex));
	check(is_hex(keys.join,
		     "851f117b8cb4d2695f43392e3ddcc9814772a0d3660b2130cb2ebc34d1d32173"));
	check(is_hex(keys.exporter,
		     "1cb22a6a4392607fd5084b0a64f4c34beb89b4714b83a0ccf066e59759f631d6"));
	mac[0] ^= 1;
	check(rdmablk_keysched_check_proof(&k, prk0, th, mac) == -EACCES);
}

struct sealed {
	struct rdmablk_crypt_cipher *c;
	u8 frame[FRAME];
	struct timer_list timer;
	struct completion done;
};

static const u8 first_nonce[RDMABLK_SEALED_NONCE_LEN];
static const u8 text[TEXT] = { 7, 0, 16 };

static void seal_and_open(struct rdmablk_crypt_cipher *c)
{
	struct rdmablk_sealed s;
	u8 frame[FRAME], got[TEXT];

	rdmablk_sealed_init(&s, &rdmablk_crypt_sealed, c);
	check(rdmablk_sealed_seal(&s, text, TEXT, frame, FRAME) == FRAME &&
	      is_hex(frame, frame_hex));
	rdmablk_sealed_init(&s, &rdmablk_crypt_sealed, c);
	check(rdmablk_sealed_open(&s, frame, FRAME, got, TEXT) == TEXT &&
	      !memcmp(got, text, TEXT));
	check(rdmablk_sealed_open(&s, frame, FRAME, got, TEXT) == -EBADMSG);
}

static void seal_in_softirq(struct timer_list *timer)
{
	struct sealed *s = container_of(timer, struct sealed, timer);

	check(in_serving_softirq());
	seal_and_open(s->c);
	complete(&s->done);
}

static int open_raw(struct rdmablk_crypt_cipher *c, const u8 *nonce, const u8 *frame,
		    unsigned int len)
{
	u8 got[TEXT + RDMABLK_SEALED_TAG_LEN];
	const struct rdmablk_sealed_job job = {
		.nonce = nonce, .aad = frame, .aad_len = HEAD,
		.from = frame + HEAD, .len = len, .to = got,
	};

	return rdmablk_crypt_open(c, &job);
}

static void test_forged(struct sealed *s)
{
	u8 nonce[RDMABLK_SEALED_NONCE_LEN] = { };
	unsigned int bit;

	for (bit = 0; bit < 8 * FRAME; bit++) {
		from_hex(s->frame, frame_hex, FRAME);
		s->frame[bit / 8] ^= 1 << bit % 8;
		check(open_raw(s->c, nonce, s->frame, TEXT) == -EBADMSG);
	}
	from_hex(s->frame, frame_hex, FRAME);
	for (bit = 0; bit < 8 * sizeof(nonce); bit++) {
		nonce[bit / 8] ^= 1 << bit % 8;
		check(open_raw(s->c, nonce, s->frame, TEXT) == -EBADMSG);
		nonce[bit / 8] ^= 1 << bit % 8;
	}
	for (bit = 0; bit < TEXT; bit++)
		check(open_raw(s->c, nonce, s->frame, bit) == -EBADMSG);
	check(!open_raw(s->c, nonce, s->frame, TEXT));
}

static void test_sealed(void)
{
	struct sealed *s = kzalloc(sizeof(*s), GFP_KERNEL);
	u8 key[RDMABLK_SEALED_KEY_LEN];

	check(s);
	if (!s)
		return;
	s->c = rdmablk_crypt_new_cipher();
	check(!IS_ERR(s->c));
	if (IS_ERR(s->c)) {
		kfree(s);
		return;
	}
	from_hex(key, key_hex, sizeof(key));
	check(!rdmablk_crypt_set_key(s->c, key));
	seal_and_open(s->c);
	init_completion(&s->done);
	timer_setup(&s->timer, seal_in_softirq, 0);
	mod_timer(&s->timer, jiffies);
	wait_for_completion(&s->done);
	timer_shutdown_sync(&s->timer);
	test_forged(s);
	key[31] ^= 1;
	check(!rdmablk_crypt_set_key(s->c, key));
	from_hex(s->frame, frame_hex, FRAME);
	check(open_raw(s->c, first_nonce, s->frame, TEXT) == -EBADMSG);
	rdmablk_crypt_free_cipher(s->c);
	kfree(s);
}

static int __init crypt_test_init(void)
{
	struct rdmablk_crypt *a = rdmablk_crypt_new(), *b;

	if (IS_ERR(a))
		return PTR_ERR(a);
	b = rdmablk_crypt_new();
	if (IS_ERR(b)) {
		rdmablk_crypt_free(a);
		return PTR_ERR(b);
	}
	test_hash(a);
	test_mac(a);
	test_known_exchange(a, 0x40, initiator_hex, target_hex);
	test_known_exchange(b, 0x80, target_hex, initiator_hex);
	test_new_pairs(a, b);
	test_bad_points(a);
	test_p256_cases(a);
	test_keys(a);
	test_sealed();
	rdmablk_crypt_free(b);
	rdmablk_crypt_free(a);
	return 0;
}

static void __exit crypt_test_exit(void)
{
}

module_init(crypt_test_init);
module_exit(crypt_test_exit);
MODULE_DESCRIPTION("Checks of rdmablk's cryptography");
MODULE_LICENSE("GPL");
