/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_KEYS_USER_TYPE_H
#define SHIM_KEYS_USER_TYPE_H

#include <linux/key.h>

struct user_key_payload {
	unsigned short datalen;
	const void *data;
};

extern struct key_type key_type_logon;

const struct user_key_payload *user_key_payload_locked(const struct key *key);

#endif
