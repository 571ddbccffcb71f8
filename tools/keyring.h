/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_KEYRING_H
#define RDMABLK_TOOLS_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYRING_NAME_LEN	128	/* with NUL; keys that others have loaded included */
#define KEYRING_WHY		160	/* room for the reason of a failure */

/**
 * struct keyring_key - a key that the kernel has
 * @id: its number
 * @name: what follows "rdmablk:" in its description
 * @state: valid, expired or revoked
 * @expires: the time left as the kernel rounds it, as in 3m; empty: no end
 */
struct keyring_key {
	int32_t id;
	char name[KEYRING_NAME_LEN];
	const char *state;
	char expires[8];
};

/* Returns whether to go on. */
typedef bool (*keyring_fn)(const struct keyring_key *key, void *context);

void keyring_open(void);
int keyring_load(const char *name, const uint8_t *secret, size_t len, uint32_t seconds,
		 char *why);
int keyring_load_named(const char *name, char *why, size_t size);
int keyring_unload(const char *name, char *why);
int keyring_walk(keyring_fn fn, void *context);

#endif /* RDMABLK_TOOLS_KEYRING_H */
