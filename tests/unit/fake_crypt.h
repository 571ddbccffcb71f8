/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of kernel/crypt.c, made of libcrypto. They count what is allocated and what
 * holds a secret, and fail when the test says so.
 */
#ifndef FAKE_CRYPT_H
#define FAKE_CRYPT_H

#include <stdlib.h>
#include <string.h>

#include "crypt_target.h"
#include "../../kernel/crypt.h"

struct rdmablk_crypt {
	struct crypto_pair pair;
	bool has_pair;
	bool keyed;		/* HMAC has a key */
};

struct rdmablk_crypt_cipher {
	u8 key[RDMABLK_SEALED_KEY_LEN];
	void *seal, *open;
};

/* left: allocations or calls until one fails with ret; negative: none does */
static struct {
	int objects, secrets, left, ret;
	unsigned int pairs;	/* number of pairs made */
} crypt_world = { .left = -1 };

static bool crypt_fails(void)
{
	return crypt_world.left >= 0 && !crypt_world.left--;
}

static bool crypt_is_secret(const u8 *key, size_t len)
{
	while (len--)
		if (*key++)
			return true;
	return false;
}

struct rdmablk_crypt *rdmablk_crypt_new(void)
{
	if (crypt_fails())
		return ERR_PTR(crypt_world.ret);
	crypt_world.objects++;
	return calloc(1, sizeof(struct rdmablk_crypt));
}

static void crypt_drop_pair(struct rdmablk_crypt *c)
{
	if (c->has_pair)
		crypto_forget(&c->pair);
	crypt_world.secrets -= c->has_pair + c->keyed;
	c->has_pair = false;
	c->keyed = false;
}

void rdmablk_crypt_free(struct rdmablk_crypt *c)
{
	crypt_drop_pair(c);
	crypt_world.objects--;
	free(c);
}

int rdmablk_crypt_new_pair(struct rdmablk_crypt *c, u8 *point)
{
	if (crypt_fails())
		return crypt_world.ret;
	if (c->has_pair)
		crypto_forget(&c->pair);
	crypt_world.secrets += !c->has_pair;
	c->has_pair = true;
	crypt_world.pairs++;
	return crypto_generate(&c->pair, point);
}

int rdmablk_crypt_share(struct rdmablk_crypt *c, const u8 *point, u8 *secret)
{
	if (crypt_fails())
		return crypt_world.ret;
	assert_true(c->has_pair);
	return crypto_agree(&c->pair, point, secret) ? -EINVAL : 0;
}

int rdmablk_crypt_forget(struct rdmablk_crypt *c)
{
	crypt_drop_pair(c);
	return 0;
}

struct rdmablk_crypt_cipher *rdmablk_crypt_new_cipher(void)
{
	if (crypt_fails())
		return ERR_PTR(crypt_world.ret);
	crypt_world.objects++;
	return calloc(1, sizeof(struct rdmablk_crypt_cipher));
}

int rdmablk_crypt_set_key(struct rdmablk_crypt_cipher *c, const u8 *key)
{
	if (crypt_fails())
		return crypt_world.ret;
	crypt_world.secrets += crypt_is_secret(key, sizeof(c->key)) -
			       crypt_is_secret(c->key, sizeof(c->key));
	memcpy(c->key, key, sizeof(c->key));
	if (c->seal) {
		crypto_cipher_free(c->seal);
		crypto_cipher_free(c->open);
	}
	c->seal = crypto_cipher(key, true);
	c->open = crypto_cipher(key, false);
	return 0;
}

void rdmablk_crypt_free_cipher(struct rdmablk_crypt_cipher *c)
{
	crypt_world.secrets -= crypt_is_secret(c->key, sizeof(c->key));
	crypt_world.objects--;
	if (c->seal) {
		crypto_cipher_free(c->seal);
		crypto_cipher_free(c->open);
	}
	free(c);
}

static int crypt_hash(void *ctx, const struct rdmablk_keysched_part *part, unsigned int nr,
		      u8 *out)
{
	assert_non_null(ctx);
	return crypt_fails() ? crypt_world.ret :
	       crypto_keysched.ops->hash(crypto_keysched.ctx, part, nr, out);
}

static int crypt_hmac(void *ctx, const u8 *key, unsigned long key_len,
		      const struct rdmablk_keysched_part *part, unsigned int nr, u8 *out)
{
	struct rdmablk_crypt *c = ctx;

	if (crypt_fails())
		return crypt_world.ret;
	crypt_world.secrets += !c->keyed;
	c->keyed = true;
	return crypto_keysched.ops->hmac(crypto_keysched.ctx, key, key_len, part, nr, out);
}

static int crypt_differ(const void *a, const void *b, unsigned long len)
{
	return crypto_keysched.ops->differ(a, b, len);
}

static void crypt_wipe(void *buf, unsigned long len)
{
	crypto_keysched.ops->wipe(buf, len);
}

const struct rdmablk_keysched_ops rdmablk_crypt_keysched = {
	.hash = crypt_hash, .hmac = crypt_hmac, .differ = crypt_differ, .wipe = crypt_wipe,
};

static int crypt_seal(void *key, const struct rdmablk_sealed_job *job)
{
	return crypt_fails() ? crypt_world.ret :
	       crypto_sealed.seal(((struct rdmablk_crypt_cipher *)key)->seal, job);
}

static int crypt_open(void *key, const struct rdmablk_sealed_job *job)
{
	return crypt_fails() ? crypt_world.ret :
	       crypto_sealed.open(((struct rdmablk_crypt_cipher *)key)->open, job);
}

const struct rdmablk_sealed_ops rdmablk_crypt_sealed = {
	.seal = crypt_seal, .open = crypt_open,
};

/* With OTHER_TARGET the daemon starts and stops libcrypto itself. */
static inline void crypt_begin(void)
{
#ifndef OTHER_TARGET
	const char *missing;

	assert_int_equal(crypto_start(&missing), 0);
#endif
	crypt_world.left = -1;
	crypt_world.ret = -ENOMEM;
	crypt_world.objects = 0;
	crypt_world.secrets = 0;
}

static inline void crypt_end(void)
{
	assert_int_equal(crypt_world.objects, 0);
	assert_int_equal(crypt_world.secrets, 0);
#ifndef OTHER_TARGET
	crypto_stop();
#endif
}

#endif /* FAKE_CRYPT_H */
