/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MACs and random numbers of the protocol; see "Labels of the MACs" in the wire
 * header. Beside crypto, the only room that knows libcrypto.
 */
#ifndef RDMABLKD_MAC_H
#define RDMABLKD_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi/rdmablk_proto.h"

#define MAC_DIGEST_LEN	32	/* SHA-256 */

int mac_random(void *buf, size_t len);
int mac_digest(const char *label, const void *data, size_t len, uint8_t *out);
int mac_proof(const uint8_t *key, const struct rdmablk_hello *hello,
	      const struct rdmablk_challenge *challenge, uint8_t *out);
int mac_session_key(const uint8_t *key, const struct rdmablk_hello *hello,
		    const struct rdmablk_challenge *challenge, uint8_t *out);
int mac_message(const uint8_t *key, const char *label, const void *msg,
		size_t len, uint8_t *out);
bool mac_equal(const uint8_t *a, const uint8_t *b);
void mac_wipe(void *buf, size_t len);

#endif
