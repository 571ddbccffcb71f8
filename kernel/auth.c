// SPDX-License-Identifier: GPL-2.0-only
/*
 * Version 2: from K to the keys of a session, one function per step of the dialogue.
 * uapi/rdmablk_keysched.h has the formulas.
 *
 * All memory and all algorithms are allocated once, by the first login. Secrets of a dialogue
 * are in one struct. rdmablk_auth_forget() wipes it after the last join, or when the login has
 * failed; then only the ciphers have keys, until the connection ends.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/string.h>
#include "auth.h"

static void rdmablk_auth_free_ciphers(struct rdmablk_auth_ciphers *c)
{
	if (!IS_ERR_OR_NULL(c->tx))
		rdmablk_crypt_free_cipher(c->tx);
	if (!IS_ERR_OR_NULL(c->rx))
		rdmablk_crypt_free_cipher(c->rx);
}

static int rdmablk_auth_new_ciphers(struct rdmablk_auth_ciphers *c)
{
	c->tx = rdmablk_crypt_new_cipher();
	if (IS_ERR(c->tx))
		return PTR_ERR(c->tx);
	c->rx = rdmablk_crypt_new_cipher();
	return PTR_ERR_OR_ZERO(c->rx);
}

/*
 * Return: false: the crypto layer had no memory. Then gcm(aes) has replaced the key of AES, but
 * not the key of GHASH, which it had derived from the old one.
 */
static bool rdmablk_auth_clear(struct rdmablk_auth_ciphers *c)
{
	static const u8 zeroes[RDMABLK_SEALED_KEY_LEN];
	int tx = rdmablk_crypt_set_key(c->tx, zeroes);
	int rx = rdmablk_crypt_set_key(c->rx, zeroes);

	return !tx && !rx;
}

static void rdmablk_auth_clear_all(struct rdmablk_auth *a)
{
	bool first = rdmablk_auth_clear(&a->ciphers[0]);
	bool second = rdmablk_auth_clear(&a->ciphers[1]);

	a->stale = !first || !second;
}

/**
 * rdmablk_auth_open() - allocate all that logins of a session need
 * @a: zeroed, or opened already and without a connection
 *
 * May load modules of the crypto layer, and waits for them.
 *
 * Return: 0; -ENOENT: the kernel lacks an algorithm; or another negative errno of the crypto
 * layer. After an error nothing is allocated.
 */
int rdmablk_auth_open(struct rdmablk_auth *a)
{
	int ret;

	if (a->crypt) {
		if (a->stale)
			rdmablk_auth_clear_all(a);
		return 0;
	}
	a->crypt = rdmablk_crypt_new();
	if (IS_ERR(a->crypt)) {
		ret = PTR_ERR(a->crypt);
		a->crypt = NULL;
		return ret;
	}
	ret = rdmablk_auth_new_ciphers(&a->ciphers[0]);
	if (!ret)
		ret = rdmablk_auth_new_ciphers(&a->ciphers[1]);
	if (ret)
		rdmablk_auth_close(a);
	return ret;
}

/**
 * rdmablk_auth_close() - free everything, and wipe it; may be called twice
 * @a: zeroed, or opened; no queue uses its ciphers any more
 */
void rdmablk_auth_close(struct rdmablk_auth *a)
{
	rdmablk_auth_free_ciphers(&a->ciphers[0]);
	rdmablk_auth_free_ciphers(&a->ciphers[1]);
	if (a->crypt)
		rdmablk_crypt_free(a->crypt);
	memzero_explicit(a, sizeof(*a));
}

static struct rdmablk_keysched rdmablk_auth_primitives(const struct rdmablk_auth *a)
{
	return (struct rdmablk_keysched) { .ops = &rdmablk_crypt_keysched, .ctx = a->crypt };
}

/**
 * rdmablk_auth_name() - the name of the key that a dialogue would be about
 * @a: opened; @a->secret.key is K
 * @key_id: result, the name of K, RDMABLK_KEY_ID_LEN bytes
 *
 * The caller ends with rdmablk_auth_forget(), whether or not a dialogue follows.
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_auth_name(struct rdmablk_auth *a, u8 *key_id)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);
	int ret;

	a->used = true;
	ret = rdmablk_keysched_id(&c, a->secret.key, key_id);
	if (!ret)
		memcpy(a->key_id[a->next], key_id, RDMABLK_KEY_ID_LEN);
	return ret;
}

/**
 * rdmablk_auth_begin() - begin a dialogue
 * @a: opened; @a->secret.key is K, which is wiped
 * @key_id: result, the name of K, RDMABLK_KEY_ID_LEN bytes
 * @point: result, the ephemeral public key, RDMABLK_POINT_LEN bytes
 *
 * Context: as of rdmablk_crypt_new_pair().
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_auth_begin(struct rdmablk_auth *a, u8 *key_id, u8 *point)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);
	int ret = rdmablk_auth_name(a, key_id);

	if (!ret)
		ret = rdmablk_keysched_prk0(&c, a->secret.key, a->secret.prk0);
	memzero_explicit(a->secret.key, sizeof(a->secret.key));
	return ret ? ret : rdmablk_crypt_new_pair(a->crypt, point);
}

/**
 * rdmablk_auth_resume() - name an export so that only the target understands it
 * @a: after rdmablk_auth_begin(), before rdmablk_auth_forget()
 * @nonce: of the HELLO that has @mac, RDMABLK_NONCE_LEN bytes
 * @uuid: of the export, RDMABLK_ID_LEN bytes
 * @mac: result, the resume MAC, RDMABLK_ID_LEN bytes
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_auth_resume(struct rdmablk_auth *a, const u8 *nonce, const u8 *uuid, u8 *mac)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);
	u8 key[RDMABLK_KEYSCHED_LEN];
	int ret = rdmablk_keysched_resume_key(&c, a->secret.prk0, nonce, key);

	if (!ret)
		ret = rdmablk_keysched_resume(&c, key, uuid, mac);
	memzero_explicit(key, sizeof(key));
	return ret;
}

/**
 * rdmablk_auth_is_other() - whether the dialogue is about another key than the last one
 * @a: after rdmablk_auth_name() in a live session
 *
 * Return: true: K is not that of the present epoch.
 */
bool rdmablk_auth_is_other(const struct rdmablk_auth *a)
{
	return memcmp(a->key_id[0], a->key_id[1], RDMABLK_KEY_ID_LEN);
}

/**
 * rdmablk_auth_hello() - note HELLO
 * @a: after rdmablk_auth_begin()
 * @qpn_i: number of this side's queue pair of the control queue
 * @qpn_t: number of the target's, as rdma_cm reports it
 * @msg: HELLO as sent
 * @len: bytes of @msg
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_auth_hello(struct rdmablk_auth *a, u32 qpn_i, u32 qpn_t, const void *msg,
		       size_t len)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);

	return rdmablk_keysched_th0(&c, qpn_i, qpn_t, msg, len, a->th0);
}

/**
 * rdmablk_auth_reauth() - note REAUTH
 * @a: after rdmablk_auth_begin()
 * @msg: REAUTH as sent
 * @len: bytes of @msg
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_auth_reauth(struct rdmablk_auth *a, const void *msg, size_t len)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);

	return rdmablk_keysched_reauth(&c, a->th2, msg, len, a->th0);
}

static int rdmablk_auth_derive(struct rdmablk_auth *a, const u8 *th1, const u8 *point)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);
	const struct rdmablk_auth_ciphers *to = &a->ciphers[a->next];
	struct rdmablk_auth_secret *s = &a->secret;
	int ret;

	ret = rdmablk_crypt_share(a->crypt, point, s->z);
	/* The target is to blame, not the crypto layer. */
	if (ret == -EINVAL)
		return -EBADMSG;
	if (!ret)
		ret = rdmablk_keysched_prk1(&c, s->prk0, th1, s->z, s->prk1);
	if (!ret)
		ret = rdmablk_keysched_keys(&c, s->prk1, a->th2, &s->keys);
	if (!ret)
		ret = rdmablk_crypt_set_key(to->tx, s->keys.i2t);
	if (!ret)
		ret = rdmablk_crypt_set_key(to->rx, s->keys.t2i);
	return ret;
}

/**
 * rdmablk_auth_challenge() - derive the keys of the next epoch
 * @a: after rdmablk_auth_hello() or rdmablk_auth_reauth()
 * @msg: CHALLENGE or REAUTH_CHALLENGE as received
 * @len: bytes of @msg
 * @point: public key in @msg
 * @mac: result, for PROOF, RDMABLK_MAC_LEN bytes
 *
 * Context: as of rdmablk_crypt_share().
 *
 * Return: 0: rdmablk_auth_ciphers() have their keys; -EBADMSG: @point is no point of the
 * curve; or another negative errno of the crypto layer.
 */
int rdmablk_auth_challenge(struct rdmablk_auth *a, const void *msg, size_t len,
			   const u8 *point, u8 *mac)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);
	u8 th1[RDMABLK_KEYSCHED_LEN];
	int ret;

	ret = rdmablk_keysched_th1(&c, a->th0, msg, len, th1);
	if (!ret)
		ret = rdmablk_keysched_proof(&c, a->secret.prk0, th1, mac);
	if (!ret)
		ret = rdmablk_keysched_th2(&c, th1, mac, a->th2);
	return ret ? ret : rdmablk_auth_derive(a, th1, point);
}

/**
 * rdmablk_auth_ciphers() - ciphers of the next epoch
 * @a: after rdmablk_auth_challenge()
 *
 * Return: ciphers; their owner is @a.
 */
const struct rdmablk_auth_ciphers *rdmablk_auth_ciphers(const struct rdmablk_auth *a)
{
	return &a->ciphers[a->next];
}

/**
 * rdmablk_auth_turn() - the next epoch has begun in both directions
 * @a: after rdmablk_auth_challenge(); no queue uses the ciphers of the epoch before
 *
 * Sets @a->stale if the keys of the epoch before could not be wiped. The next dialogue
 * overwrites them.
 */
void rdmablk_auth_turn(struct rdmablk_auth *a)
{
	a->next ^= 1;
	a->stale = !rdmablk_auth_clear(&a->ciphers[a->next]);
}

/**
 * rdmablk_auth_join() - put the join MAC of version 2 into a connection request
 * @a: after rdmablk_auth_challenge(), before rdmablk_auth_forget()
 * @qpn: number of the queue pair that is to join
 * @req: complete except for the MAC
 *
 * Return: 0 or a negative errno of the crypto layer.
 */
int rdmablk_auth_join(struct rdmablk_auth *a, u32 qpn, struct rdmablk_cm_request *req)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);

	return rdmablk_keysched_join(&c, a->secret.keys.join, req, qpn, req->mac);
}

/**
 * rdmablk_auth_accept() - whether the session's target has accepted a join
 * @a: after rdmablk_auth_challenge(), before rdmablk_auth_forget()
 * @acc: accept as received
 * @join_mac: MAC of the connection request
 * @qpn: number of the target's queue pair, as rdma_cm reports it
 *
 * Nothing may be posted on the queue before, but receives.
 *
 * Return: 0; -EACCES: no; or another negative errno of the crypto layer.
 */
int rdmablk_auth_accept(struct rdmablk_auth *a, const struct rdmablk_cm_accept2 *acc,
			const u8 *join_mac, u32 qpn)
{
	const struct rdmablk_keysched c = rdmablk_auth_primitives(a);

	return rdmablk_keysched_check_accept(&c, a->secret.keys.join, &acc->accept, join_mac,
					     qpn, acc->mac);
}

/**
 * rdmablk_auth_forget() - wipe all secrets but the keys of the ciphers
 * @a: zeroed, or opened
 *
 * Called after the last join, after a reauthentication, and when either has failed.
 */
void rdmablk_auth_forget(struct rdmablk_auth *a)
{
	memzero_explicit(&a->secret, sizeof(a->secret));
	/* What fails here, the next dialogue overwrites, and rdmablk_auth_close() frees. */
	if (a->used)
		rdmablk_crypt_forget(a->crypt);
	a->used = false;
}

/**
 * rdmablk_auth_end() - the connection is gone: wipe the keys of the ciphers, too
 * @a: zeroed, or opened; no queue uses its ciphers any more
 *
 * Without memory a part of a key may stay until the next login, or rdmablk_auth_close().
 */
void rdmablk_auth_end(struct rdmablk_auth *a)
{
	rdmablk_auth_forget(a);
	a->next = 0;
	if (a->crypt)
		rdmablk_auth_clear_all(a);
}
