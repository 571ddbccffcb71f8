// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Version 2: what the steps of target_probe.h do with --key FILE. The key schedule and the
 * sealed frames are those of both sides; test_keysched and test_sealed compare them with
 * reference values.
 */
#include <stdlib.h>

#include "base/key_file.h"
#include "target_probe.h"
#include "wire/crypto.h"

static struct {
	struct key_file *key;
	struct crypto_pair pair;
	struct rdmablk_challenge2 challenge;
	struct rdmablk_keysched_keys keys;
	struct rdmablk_sealed tx, rx;
} v;

static void must(int ret, const char *what)
{
	if (ret) {
		printf("failed: %s: %d\n", what, ret);
		exit(1);
	}
}

/* From here on the probe speaks version 2, with the key in @file. */
void proven_begin(const char *file)
{
	const char *missing = "";
	char why[KEY_FILE_WHY] = "";

	must(crypto_start(&missing), missing);
	v.key = key_file_alloc();
	if (!v.key)
		die("key_file_alloc");
	must(key_file_read(v.key, file, 0, why), why);
	p.version = RDMABLK_VERSION_PROVEN;
}

/* A login begins without a seal. */
static void unseal(void)
{
	crypto_cipher_free(v.tx.key);
	crypto_cipher_free(v.rx.key);
	v.tx = (struct rdmablk_sealed){ 0 };
	v.rx = (struct rdmablk_sealed){ 0 };
}

/* HELLO, with an ephemeral key of its own */
void proven_hello(void)
{
	struct rdmablk_hello2 *h = &p.hello2;

	unseal();
	crypto_forget(&v.pair);
	*h = (struct rdmablk_hello2){
		.hello = p.hello,
		.group = htole16(RDMABLK_GROUP_P256),
		.suite = htole16(RDMABLK_SUITE_AES256_GCM),
	};
	h->hello.hdr.length = htole16(sizeof(*h));
	h->hello.auth_methods = htole32(RDMABLK_AUTH_PSK);
	must(rdmablk_keysched_id(&crypto_keysched, v.key->secret, h->key_id), "key id");
	must(crypto_generate(&v.pair, h->point), "ephemeral key");
	p.hello = h->hello;
}

static void seal_from_now_on(void)
{
	rdmablk_sealed_init(&v.tx, &crypto_sealed, crypto_cipher(v.keys.i2t, true));
	rdmablk_sealed_init(&v.rx, &crypto_sealed, crypto_cipher(v.keys.t2i, false));
	if (!v.tx.key || !v.rx.key)
		die("crypto_cipher");
}

/* CHALLENGE is taken and PROOF sent, the last message without a seal. */
void proven_prove(bool wrong)
{
	const struct rdmablk_keysched *c = &crypto_keysched;
	struct rdmablk_proof proof = { .hdr = head(RDMABLK_MSG_PROOF, sizeof(proof)) };
	uint8_t prk0[RDMABLK_KEYSCHED_LEN], prk1[RDMABLK_KEYSCHED_LEN];
	uint8_t th[RDMABLK_KEYSCHED_LEN], z[RDMABLK_KEYSCHED_LEN];

	want(RDMABLK_MSG_CHALLENGE, &v.challenge, sizeof(v.challenge));
	p.challenge = v.challenge.challenge;
	must(rdmablk_keysched_prk0(c, v.key->secret, prk0), "prk0");
	must(rdmablk_keysched_th0(c, p.ctrl.id->qp->qp_num, p.peer_qpn, &p.hello2,
				  sizeof(p.hello2), th), "th0");
	must(rdmablk_keysched_th1(c, th, &v.challenge, sizeof(v.challenge), th), "th1");
	must(rdmablk_keysched_proof(c, prk0, th, proof.mac), "proof");
	must(crypto_agree(&v.pair, v.challenge.point, z), "ECDH");
	must(rdmablk_keysched_prk1(c, prk0, th, z, prk1), "prk1");
	must(rdmablk_keysched_th2(c, th, proof.mac, th), "th2");
	must(rdmablk_keysched_keys(c, prk1, th, &v.keys), "keys");
	proof.mac[5] ^= wrong;
	send_flipped(RDMABLK_MSG_PROOF, &proof, sizeof(proof));
	seal_from_now_on();
}

/* Return: bytes of the frame, or of the message itself before PROOF */
size_t proven_seal(const void *msg, size_t len, void *frame)
{
	int ret;

	if (!v.tx.key) {
		memcpy(frame, msg, len);
		return len;
	}
	ret = rdmablk_sealed_seal(&v.tx, msg, len, frame, RDMABLK_CTRL_MSG_MAX);
	if (ret < 0)
		die("cannot seal");
	return (size_t)ret;
}

/*
 * Opens a frame in its place. Return: bytes of the message; those of the frame before PROOF,
 * and of a CLOSE of a target that has no key for this login.
 */
size_t proven_open(void *frame, size_t len)
{
	const struct rdmablk_hdr *hdr = frame;
	uint8_t msg[RDMABLK_CTRL_MSG_MAX];
	int ret;

	if (!v.rx.key || (!v.rx.seq && le16toh(hdr->type) == RDMABLK_MSG_CLOSE))
		return len;
	ret = rdmablk_sealed_open(&v.rx, frame, len, msg, sizeof(msg));
	if (ret < 0)
		die("a frame does not open");
	memcpy(frame, msg, (size_t)ret);
	return (size_t)ret;
}

/* The MAC of a join whose queue pair has this number */
void proven_join(struct rdmablk_cm_request *req, uint32_t qpn)
{
	must(rdmablk_keysched_join(&crypto_keysched, v.keys.join, req, qpn, req->mac), "join");
}

/* The target has accepted with its own queue pair. */
void proven_accepted(const struct rdmablk_cm_request *req)
{
	if (rdmablk_keysched_check_accept(&crypto_keysched, v.keys.join, &p.accept.accept,
					  req->mac, p.peer_qpn, p.accept.mac))
		die("MAC of an accept");
}
