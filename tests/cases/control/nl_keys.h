/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NL_KEYS_H
#define NL_KEYS_H

#include <stdint.h>

/**
 * nl_keys_read() - read the keys of a host, and load them as rdmablk:key0, rdmablk:key1 ...
 * @path: file with 32 bytes a key
 *
 * Return: number of keys, or -1 with errno.
 */
int nl_keys_read(const char *path);

/**
 * nl_keys_load() - load each key with its right contents
 *
 * Return: 0, or -1 with errno.
 */
int nl_keys_load(void);

/**
 * nl_keys_change() - do something to a key, or to the keyring of the module
 * @random: random number, which alone decides what
 *
 * Every second call mends what the one before may have broken.
 */
void nl_keys_change(uint64_t random);

#endif /* NL_KEYS_H */
