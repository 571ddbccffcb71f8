/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_KEYS_H
#define RDMABLK_KEYS_H

#include <linux/types.h>

#define RDMABLK_KEYS_SECRET	32	/* bytes of a key */

struct key;
struct rdmablk_session;

int rdmablk_keys_start(void);
void rdmablk_keys_stop(void);
struct key *rdmablk_keys_find(const char *name);
const char *rdmablk_keys_text(int err);
int rdmablk_keys_give(struct rdmablk_session *s, const char *name, struct key *key);
void rdmablk_keys_name(struct rdmablk_session *s, char *name);
int rdmablk_keys_take(struct rdmablk_session *s, u8 *secret);

#endif /* RDMABLK_KEYS_H */
