// SPDX-License-Identifier: GPL-2.0-only
/*
 * In place of keys.c where the kernel has no keyrings (CONFIG_KEYS): no key is ever found, so
 * all disks speak version 1.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include "keys.h"

/**
 * rdmablk_keys_start() - there is no keyring to make
 *
 * Return: 0.
 */
int rdmablk_keys_start(void)
{
	return 0;
}

/**
 * rdmablk_keys_stop() - there is no keyring to give back
 */
void rdmablk_keys_stop(void)
{
}

/**
 * rdmablk_keys_find() - find no key
 * @name: any
 *
 * Return: ERR_PTR(-ENOKEY).
 */
struct key *rdmablk_keys_find(const char *name)
{
	return ERR_PTR(-ENOKEY);
}

/**
 * rdmablk_keys_text() - why there is no key to log in with
 * @err: any
 *
 * Return: static text.
 */
const char *rdmablk_keys_text(int err)
{
	return "the kernel does not give the key";
}

/**
 * rdmablk_keys_give() - never called, because no key is ever found
 * @s: session
 * @name: any
 * @key: any
 *
 * Return: -ENOKEY.
 */
int rdmablk_keys_give(struct rdmablk_session *s, const char *name, struct key *key)
{
	return -ENOKEY;
}

/**
 * rdmablk_keys_name() - the next login of a session takes no key
 * @s: session
 * @name: result: ""
 */
void rdmablk_keys_name(struct rdmablk_session *s, char *name)
{
	*name = '\0';
}

/**
 * rdmablk_keys_take() - never called, because no session has a key
 * @s: session
 * @secret: any
 *
 * Return: -ENOKEY.
 */
int rdmablk_keys_take(struct rdmablk_session *s, u8 *secret)
{
	return -ENOKEY;
}
