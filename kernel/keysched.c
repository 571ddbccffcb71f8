// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The key schedule of wire version 2; uapi/rdmablk_keysched.h has its formulas.
 *
 * PURE, for both sides: includes nothing of the kernel or of the C library but error
 * numbers. The caller gives SHA-256 and HMAC. The second licence is there because the daemon,
 * too, links this file, with libcrypto.
 */
#include <linux/errno.h>
#include "uapi/rdmablk_keysched.h"
#include "uapi/rdmablk_proto.h"

#define LEN	RDMABLK_KEYSCHED_LEN
#define LABEL	RDMABLK_KEYSCHED_LABEL_LEN

#define RDMABLK_KEYSCHED_PARTS(part)	(sizeof(part) / sizeof((part)[0]))

RDMABLK_OFFSET(rdmablk_cm_request, mac, RDMABLK_KEYSCHED_REQUEST_LEN);
RDMABLK_ASSERT(RDMABLK_KEYSCHED_UUID_LEN == RDMABLK_ID_LEN && LEN == RDMABLK_NONCE_LEN);

static void rdmablk_keysched_copy(__u8 *to, const __u8 *from, unsigned long len)
{
	while (len--)
		*to++ = *from++;
}

static void rdmablk_keysched_le32(__u8 *to, __u32 n)
{
	to[0] = n & 0xff;
	to[1] = n >> 8 & 0xff;
	to[2] = n >> 16 & 0xff;
	to[3] = n >> 24;
}

static int rdmablk_keysched_hash(const struct rdmablk_keysched *c,
				 const struct rdmablk_keysched_part *part, unsigned int nr,
				 __u8 *out)
{
	int ret = c->ops->hash(c->ctx, part, nr, out);

	if (ret)
		c->ops->wipe(out, LEN);
	return ret;
}

static int rdmablk_keysched_hmac(const struct rdmablk_keysched *c, const __u8 *key,
				 unsigned long key_len,
				 const struct rdmablk_keysched_part *part, unsigned int nr,
				 __u8 *out)
{
	int ret = c->ops->hmac(c->ctx, key, key_len, part, nr, out);

	if (ret)
		c->ops->wipe(out, LEN);
	return ret;
}

/**
 * rdmablk_keysched_extract() - HKDF-Extract of RFC 5869 with SHA-256
 * @c: primitives
 * @salt: key of the HMAC
 * @salt_len: bytes of @salt
 * @ikm: input keying material
 * @ikm_len: bytes of @ikm
 * @prk: result, secret, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_extract(const struct rdmablk_keysched *c, const void *salt,
			     unsigned long salt_len, const void *ikm, unsigned long ikm_len,
			     __u8 *prk)
{
	const struct rdmablk_keysched_part part = { ikm, ikm_len };

	return rdmablk_keysched_hmac(c, salt, salt_len, &part, 1, prk);
}

/**
 * rdmablk_keysched_expand() - HKDF-Expand of RFC 5869 with SHA-256
 * @c: primitives
 * @prk: pseudorandom key, RDMABLK_KEYSCHED_LEN bytes
 * @info: the use of the result
 * @info_len: bytes of @info
 * @out: result, secret
 * @len: bytes of @out, RDMABLK_KEYSCHED_EXPAND_MAX at most
 *
 * Return: 0; -EINVAL: @len is too large, and @out is unchanged; or a negative errno of the
 * primitives.
 */
int rdmablk_keysched_expand(const struct rdmablk_keysched *c, const __u8 *prk,
			    const void *info, unsigned long info_len, __u8 *out,
			    unsigned long len)
{
	__u8 block[LEN], counter = 0;
	const struct rdmablk_keysched_part part[] = {
		{ block, LEN }, { info, info_len }, { &counter, 1 },
	};
	unsigned long done = 0, i;
	int ret = 0;

	if (len > RDMABLK_KEYSCHED_EXPAND_MAX)
		return -EINVAL;
	while (!ret && done < len) {
		counter++;
		/* Nothing stands before the first block. */
		ret = rdmablk_keysched_hmac(c, prk, LEN, done ? part : part + 1,
					    done ? 3 : 2, block);
		for (i = 0; i < LEN && done < len; i++)
			out[done++] = block[i];
	}
	if (ret)
		c->ops->wipe(out, len);
	c->ops->wipe(block, sizeof(block));
	return ret;
}

/* A key for one use: what a label and a transcript make of a pseudorandom key */
static int rdmablk_keysched_derive(const struct rdmablk_keysched *c, const __u8 *prk,
				   const char *label, const __u8 *th, __u8 *key)
{
	__u8 info[LABEL + LEN];

	rdmablk_keysched_copy(info, (const __u8 *)label, LABEL);
	rdmablk_keysched_copy(info + LABEL, th, LEN);
	return rdmablk_keysched_expand(c, prk, info, sizeof(info), key, LEN);
}

/**
 * rdmablk_keysched_id() - name of a key that may be shown
 * @c: primitives
 * @key: K
 * @id: result, RDMABLK_KEYSCHED_ID_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_id(const struct rdmablk_keysched *c, const __u8 *key, __u8 *id)
{
	const struct rdmablk_keysched_part part[] = {
		{ "rdmablk key id 2", LABEL }, { key, LEN },
	};
	__u8 hash[LEN];
	int ret = rdmablk_keysched_hash(c, part, RDMABLK_KEYSCHED_PARTS(part), hash);

	rdmablk_keysched_copy(id, hash, RDMABLK_KEYSCHED_ID_LEN);
	c->ops->wipe(hash, sizeof(hash));
	return ret;
}

/**
 * rdmablk_keysched_th0() - transcript of a login up to HELLO
 * @c: primitives
 * @qpn_i: queue pair number of the initiator's end of the control queue
 * @qpn_t: the same of the target's end
 * @hello: HELLO as sent
 * @len: bytes of @hello
 * @th0: result, RDMABLK_KEYSCHED_LEN bytes
 *
 * The numbers bind the login to its connection: a relay has other queue pairs.
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_th0(const struct rdmablk_keysched *c, __u32 qpn_i, __u32 qpn_t,
			 const void *hello, unsigned long len, __u8 *th0)
{
	__u8 qpn[8];
	const struct rdmablk_keysched_part part[] = {
		{ "rdmablk login  2", LABEL }, { qpn, sizeof(qpn) }, { hello, len },
	};

	rdmablk_keysched_le32(qpn, qpn_i);
	rdmablk_keysched_le32(qpn + 4, qpn_t);
	return rdmablk_keysched_hash(c, part, RDMABLK_KEYSCHED_PARTS(part), th0);
}

/**
 * rdmablk_keysched_reauth() - transcript of a reauthentication up to REAUTH
 * @c: primitives
 * @th2: that of the epoch that is to end
 * @reauth: REAUTH as sent
 * @len: bytes of @reauth
 * @th0: result, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_reauth(const struct rdmablk_keysched *c, const __u8 *th2,
			    const void *reauth, unsigned long len, __u8 *th0)
{
	const struct rdmablk_keysched_part part[] = {
		{ "rdmablk reauth 2", LABEL }, { th2, LEN }, { reauth, len },
	};

	return rdmablk_keysched_hash(c, part, RDMABLK_KEYSCHED_PARTS(part), th0);
}

/**
 * rdmablk_keysched_th1() - transcript up to CHALLENGE
 * @c: primitives
 * @th0: that of the message that CHALLENGE answers
 * @challenge: CHALLENGE or REAUTH_CHALLENGE as sent
 * @len: bytes of @challenge
 * @th1: result, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_th1(const struct rdmablk_keysched *c, const __u8 *th0,
			 const void *challenge, unsigned long len, __u8 *th1)
{
	const struct rdmablk_keysched_part part[] = {
		{ th0, LEN }, { challenge, len },
	};

	return rdmablk_keysched_hash(c, part, RDMABLK_KEYSCHED_PARTS(part), th1);
}

/**
 * rdmablk_keysched_prk0() - what a login starts from
 * @c: primitives
 * @key: K
 * @prk0: result, secret, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_prk0(const struct rdmablk_keysched *c, const __u8 *key, __u8 *prk0)
{
	return rdmablk_keysched_extract(c, "rdmablk-psk-p256", LABEL, key, LEN, prk0);
}

/**
 * rdmablk_keysched_resume_key() - key of the resume MAC of one HELLO
 * @c: primitives
 * @prk0: from K
 * @nonce: HELLO's, RDMABLK_KEYSCHED_LEN bytes
 * @key: result, secret, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_resume_key(const struct rdmablk_keysched *c, const __u8 *prk0,
				const __u8 *nonce, __u8 *key)
{
	return rdmablk_keysched_derive(c, prk0, "rdmablk resume 2", nonce, key);
}

/**
 * rdmablk_keysched_resume() - resume MAC of an export
 * @c: primitives
 * @key: of rdmablk_keysched_resume_key()
 * @uuid: of the export, RDMABLK_KEYSCHED_UUID_LEN bytes
 * @mac: result, RDMABLK_KEYSCHED_UUID_LEN bytes
 *
 * HELLO names the export with it, before there is a key that could seal the UUID.
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_resume(const struct rdmablk_keysched *c, const __u8 *key,
			    const __u8 *uuid, __u8 *mac)
{
	const struct rdmablk_keysched_part part = { uuid, RDMABLK_KEYSCHED_UUID_LEN };
	__u8 whole[LEN];
	int ret = rdmablk_keysched_hmac(c, key, LEN, &part, 1, whole);

	rdmablk_keysched_copy(mac, whole, RDMABLK_KEYSCHED_UUID_LEN);
	c->ops->wipe(whole, sizeof(whole));
	return ret;
}

/**
 * rdmablk_keysched_check_resume() - whether HELLO names this export
 * @c: primitives
 * @key: of rdmablk_keysched_resume_key()
 * @uuid: of the export, RDMABLK_KEYSCHED_UUID_LEN bytes
 * @mac: resume MAC of HELLO
 *
 * Return: 0; -EACCES: no; or a negative errno of the primitives.
 */
int rdmablk_keysched_check_resume(const struct rdmablk_keysched *c, const __u8 *key,
				  const __u8 *uuid, const __u8 *mac)
{
	__u8 want[RDMABLK_KEYSCHED_UUID_LEN];
	int ret = rdmablk_keysched_resume(c, key, uuid, want);

	if (!ret && c->ops->differ(want, mac, sizeof(want)))
		ret = -EACCES;
	c->ops->wipe(want, sizeof(want));
	return ret;
}

/**
 * rdmablk_keysched_proof() - MAC of PROOF
 * @c: primitives
 * @prk0: from K
 * @th1: transcript up to CHALLENGE
 * @mac: result, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_proof(const struct rdmablk_keysched *c, const __u8 *prk0,
			   const __u8 *th1, __u8 *mac)
{
	const struct rdmablk_keysched_part part = { th1, LEN };
	__u8 key[LEN];
	int ret = rdmablk_keysched_derive(c, prk0, "rdmablk proof  2", th1, key);

	if (!ret)
		ret = rdmablk_keysched_hmac(c, key, LEN, &part, 1, mac);
	else
		c->ops->wipe(mac, LEN);
	c->ops->wipe(key, sizeof(key));
	return ret;
}

/* The right MAC of a message is a secret for a peer that does not know it: it is wiped. */
static int rdmablk_keysched_compare(const struct rdmablk_keysched *c, int ret, __u8 *want,
				    const __u8 *mac)
{
	if (!ret && c->ops->differ(want, mac, LEN))
		ret = -EACCES;
	c->ops->wipe(want, LEN);
	return ret;
}

/**
 * rdmablk_keysched_check_proof() - whether the sender of PROOF knows K
 * @c: primitives
 * @prk0: from K
 * @th1: transcript up to CHALLENGE
 * @mac: MAC of PROOF
 *
 * The target calls this before any ECDH, which costs 100 times as much.
 *
 * Return: 0; -EACCES: no; or a negative errno of the primitives.
 */
int rdmablk_keysched_check_proof(const struct rdmablk_keysched *c, const __u8 *prk0,
				 const __u8 *th1, const __u8 *mac)
{
	__u8 want[LEN];

	return rdmablk_keysched_compare(c, rdmablk_keysched_proof(c, prk0, th1, want), want,
					mac);
}

/**
 * rdmablk_keysched_th2() - transcript up to PROOF
 * @c: primitives
 * @th1: transcript up to CHALLENGE
 * @mac: MAC of PROOF
 * @th2: result, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_th2(const struct rdmablk_keysched *c, const __u8 *th1,
			 const __u8 *mac, __u8 *th2)
{
	const struct rdmablk_keysched_part part[] = {
		{ th1, LEN }, { mac, LEN },
	};

	return rdmablk_keysched_hash(c, part, RDMABLK_KEYSCHED_PARTS(part), th2);
}

/**
 * rdmablk_keysched_prk1() - mix the ECDH value in
 * @c: primitives
 * @prk0: from K
 * @th1: transcript up to CHALLENGE
 * @z: x-coordinate of the ECDH point, RDMABLK_KEYSCHED_LEN bytes
 * @prk1: result, secret, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_prk1(const struct rdmablk_keysched *c, const __u8 *prk0,
			  const __u8 *th1, const __u8 *z, __u8 *prk1)
{
	__u8 salt[LEN];
	int ret = rdmablk_keysched_derive(c, prk0, "rdmablk derive 2", th1, salt);

	if (!ret)
		ret = rdmablk_keysched_extract(c, salt, LEN, z, LEN, prk1);
	else
		c->ops->wipe(prk1, LEN);
	c->ops->wipe(salt, sizeof(salt));
	return ret;
}

/**
 * rdmablk_keysched_keys() - keys of an epoch
 * @c: primitives
 * @prk1: from K and the ECDH value
 * @th2: transcript up to PROOF
 * @keys: result, secret
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_keys(const struct rdmablk_keysched *c, const __u8 *prk1,
			  const __u8 *th2, struct rdmablk_keysched_keys *keys)
{
	int ret = rdmablk_keysched_derive(c, prk1, "rdmablk i2t    2", th2, keys->i2t);

	if (!ret)
		ret = rdmablk_keysched_derive(c, prk1, "rdmablk t2i    2", th2, keys->t2i);
	if (!ret)
		ret = rdmablk_keysched_derive(c, prk1, "rdmablk join   2", th2, keys->join);
	if (!ret)
		ret = rdmablk_keysched_derive(c, prk1, "rdmablk export 2", th2,
					      keys->exporter);
	if (ret)
		c->ops->wipe(keys, sizeof(*keys));
	return ret;
}

/**
 * rdmablk_keysched_join() - MAC of a data queue's connection request
 * @c: primitives
 * @key: key of joins
 * @request: request; its first RDMABLK_KEYSCHED_REQUEST_LEN bytes count
 * @qpn_i: number of the queue pair that joins
 * @mac: result, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_join(const struct rdmablk_keysched *c, const __u8 *key,
			  const void *request, __u32 qpn_i, __u8 *mac)
{
	__u8 qpn[4];
	const struct rdmablk_keysched_part part[] = {
		{ "rdmablk joinreq2", LABEL }, { request, RDMABLK_KEYSCHED_REQUEST_LEN },
		{ qpn, sizeof(qpn) },
	};

	rdmablk_keysched_le32(qpn, qpn_i);
	return rdmablk_keysched_hmac(c, key, LEN, part, RDMABLK_KEYSCHED_PARTS(part), mac);
}

/**
 * rdmablk_keysched_check_join() - whether the session's initiator sent a join from this
 * queue pair
 * @c: primitives
 * @key: key of joins
 * @request: request as received
 * @qpn_i: number of the queue pair that the request came from
 * @mac: MAC of the request
 *
 * Return: 0; -EACCES: no; or a negative errno of the primitives.
 */
int rdmablk_keysched_check_join(const struct rdmablk_keysched *c, const __u8 *key,
				const void *request, __u32 qpn_i, const __u8 *mac)
{
	__u8 want[LEN];

	return rdmablk_keysched_compare(c, rdmablk_keysched_join(c, key, request, qpn_i, want),
					want, mac);
}

/**
 * rdmablk_keysched_accept() - MAC of the accept that answers a data queue's request
 * @c: primitives
 * @key: key of joins
 * @accept: accept; its first RDMABLK_KEYSCHED_ACCEPT_LEN bytes count
 * @request_mac: MAC of the request, RDMABLK_KEYSCHED_LEN bytes
 * @qpn_t: number of the target's queue pair
 * @mac: result, RDMABLK_KEYSCHED_LEN bytes
 *
 * Return: 0 or a negative errno of the primitives.
 */
int rdmablk_keysched_accept(const struct rdmablk_keysched *c, const __u8 *key,
			    const void *accept, const __u8 *request_mac, __u32 qpn_t,
			    __u8 *mac)
{
	__u8 qpn[4];
	const struct rdmablk_keysched_part part[] = {
		{ "rdmablk joinrep2", LABEL }, { accept, RDMABLK_KEYSCHED_ACCEPT_LEN },
		{ request_mac, LEN }, { qpn, sizeof(qpn) },
	};

	rdmablk_keysched_le32(qpn, qpn_t);
	return rdmablk_keysched_hmac(c, key, LEN, part, RDMABLK_KEYSCHED_PARTS(part), mac);
}

/**
 * rdmablk_keysched_check_accept() - whether the session's target accepted with this queue
 * pair
 * @c: primitives
 * @key: key of joins
 * @accept: accept as received
 * @request_mac: MAC of the request as sent
 * @qpn_t: number of the queue pair that the accept came from
 * @mac: MAC of the accept
 *
 * The initiator posts nothing on the queue before this has succeeded.
 *
 * Return: 0; -EACCES: no; or a negative errno of the primitives.
 */
int rdmablk_keysched_check_accept(const struct rdmablk_keysched *c, const __u8 *key,
				  const void *accept, const __u8 *request_mac,
				  __u32 qpn_t, const __u8 *mac)
{
	__u8 want[LEN];
	int ret = rdmablk_keysched_accept(c, key, accept, request_mac, qpn_t, want);

	return rdmablk_keysched_compare(c, ret, want, mac);
}
