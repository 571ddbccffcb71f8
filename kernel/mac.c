// SPDX-License-Identifier: GPL-2.0-only
/*
 * Message authentication codes of the login, one function per use. uapi/rdmablk_proto.h
 * defines the bytes that each MAC covers.
 */
#include <crypto/algapi.h>
#include <crypto/hash.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include "mac.h"

struct rdmablk_part {
	const void *data;
	unsigned int len;
};

static int rdmablk_mac_mac(struct rdmablk_mac *a, const u8 *key, const char *label,
			   const struct rdmablk_part *part, int parts, u8 *mac)
{
	SHASH_DESC_ON_STACK(desc, a->tfm);
	int ret, i;

	ret = crypto_shash_setkey(a->tfm, key, RDMABLK_MAC_LEN);
	if (ret)
		return ret;
	desc->tfm = a->tfm;
	ret = crypto_shash_init(desc);
	if (!ret)
		ret = crypto_shash_update(desc, (const u8 *)label, RDMABLK_LABEL_LEN);
	for (i = 0; !ret && i < parts; i++)
		ret = crypto_shash_update(desc, part[i].data, part[i].len);
	if (!ret)
		ret = crypto_shash_final(desc, mac);
	shash_desc_zero(desc);
	return ret;
}

/**
 * rdmablk_mac_open() - prepare for a login
 * @a: keys to initialise; K becomes zero, as RDMABLK_AUTH_NONE needs it
 *
 * Return: 0; -ENOENT: the kernel has no hmac(sha256); or another negative errno of the
 * crypto layer.
 */
int rdmablk_mac_open(struct rdmablk_mac *a)
{
	BUILD_BUG_ON(sizeof(RDMABLK_LABEL_PROOF) != RDMABLK_LABEL_LEN + 1);
	BUILD_BUG_ON(sizeof(RDMABLK_LABEL_SESSION) != RDMABLK_LABEL_LEN + 1);
	BUILD_BUG_ON(sizeof(RDMABLK_LABEL_GRANT) != RDMABLK_LABEL_LEN + 1);
	BUILD_BUG_ON(sizeof(RDMABLK_LABEL_REGIONS) != RDMABLK_LABEL_LEN + 1);
	BUILD_BUG_ON(sizeof(RDMABLK_LABEL_JOIN) != RDMABLK_LABEL_LEN + 1);

	memset(a, 0, sizeof(*a));
	a->tfm = crypto_alloc_shash("hmac(sha256)", 0, 0);
	if (IS_ERR(a->tfm)) {
		int ret = PTR_ERR(a->tfm);

		a->tfm = NULL;
		return ret;
	}
	return 0;
}

/**
 * rdmablk_mac_close() - forget the keys; may be called twice
 * @a: initialised by rdmablk_mac_open()
 */
void rdmablk_mac_close(struct rdmablk_mac *a)
{
	if (a->tfm)
		crypto_free_shash(a->tfm);
	memzero_explicit(a, sizeof(*a));
}

/**
 * rdmablk_mac_forget() - forget the session key
 * @a: initialised by rdmablk_mac_open()
 *
 * Called after the last join, or after a failed login: nothing needs the session key any
 * more. K replaces the copy of the session key in @tfm.
 */
void rdmablk_mac_forget(struct rdmablk_mac *a)
{
	memzero_explicit(a->session_key, sizeof(a->session_key));
	crypto_shash_setkey(a->tfm, a->key, RDMABLK_MAC_LEN);
}

/**
 * rdmablk_mac_proof() - MAC of PROOF
 * @a: keys
 * @hello: HELLO as sent
 * @challenge: CHALLENGE as received, sizeof(struct rdmablk_challenge) bytes
 * @mac: result
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_mac_proof(struct rdmablk_mac *a, const struct rdmablk_hello *hello,
		      const void *challenge, u8 *mac)
{
	const struct rdmablk_part part[] = {
		{ hello, sizeof(*hello) },
		{ challenge, sizeof(struct rdmablk_challenge) },
	};

	return rdmablk_mac_mac(a, a->key, RDMABLK_LABEL_PROOF, part,
			       ARRAY_SIZE(part), mac);
}

/**
 * rdmablk_mac_session() - derive the session key
 * @a: keys
 * @hello: HELLO as sent
 * @ch: CHALLENGE as received
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_mac_session(struct rdmablk_mac *a, const struct rdmablk_hello *hello,
			const struct rdmablk_wire_challenge *ch)
{
	__le64 id = cpu_to_le64(ch->session_id);
	const struct rdmablk_part part[] = {
		{ hello->nonce, sizeof(hello->nonce) },
		{ ch->nonce, sizeof(ch->nonce) },
		{ &id, sizeof(id) },
		{ &hello->generation, sizeof(hello->generation) },
	};

	return rdmablk_mac_mac(a, a->key, RDMABLK_LABEL_SESSION, part,
			       ARRAY_SIZE(part), a->session_key);
}

/**
 * rdmablk_mac_check() - whether the sender of a message knows the session key
 * @a: keys
 * @label: label of the message
 * @msg: message without its MAC
 * @len: length of @msg, bytes
 * @mac: MAC of the message
 *
 * Return: 0; -EACCES: the MAC is wrong; or an errno of the crypto layer.
 */
int rdmablk_mac_check(struct rdmablk_mac *a, const char *label,
		      const void *msg, size_t len, const u8 *mac)
{
	const struct rdmablk_part part = { msg, len };
	u8 want[RDMABLK_MAC_LEN];
	int ret;

	ret = rdmablk_mac_mac(a, a->session_key, label, &part, 1, want);
	if (!ret && crypto_memneq(want, mac, sizeof(want)))
		ret = -EACCES;
	memzero_explicit(want, sizeof(want));
	return ret;
}

/**
 * rdmablk_mac_join() - put the join MAC into a connection request
 * @a: keys
 * @req: complete except for the MAC
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_mac_join(struct rdmablk_mac *a, struct rdmablk_cm_request *req)
{
	const struct rdmablk_part part = {
		req, offsetof(struct rdmablk_cm_request, mac)
	};

	return rdmablk_mac_mac(a, a->session_key, RDMABLK_LABEL_JOIN, &part, 1,
			       req->mac);
}
