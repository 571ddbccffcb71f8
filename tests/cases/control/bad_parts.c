// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parts of bad_target.c that do not use the state of the login.
 */
#include <endian.h>
#include <string.h>

#include "bad_parts.h"
#include "wire/mac.h"

/* The generator of P-256. It stands for a public key, which has to be a point of the curve. */
static const uint8_t generator[RDMABLK_POINT_LEN] = {
	0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40,
	0xf2, 0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98,
	0xc2, 0x96, 0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c,
	0x0f, 0x9e, 0x16, 0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68,
	0x37, 0xbf, 0x51, 0xf5,
};

struct rdmablk_hdr head(unsigned int type, size_t len)
{
	return (struct rdmablk_hdr){ .type = htole16((uint16_t)type),
				     .length = htole16((uint16_t)len) };
}

/*
 * A well-formed CHALLENGE of version 2. The target does not know the private key of its
 * point.
 */
void fill_challenge2(struct rdmablk_challenge2 *c)
{
	*c = (struct rdmablk_challenge2){
		.challenge = {
			.hdr = head(RDMABLK_MSG_CHALLENGE, sizeof(*c)),
			.version = htole16(RDMABLK_VERSION_PROVEN),
			.auth_method = htole32(RDMABLK_AUTH_PSK),
			.session_id = htole64(0x1234),
		},
		.group = htole16(RDMABLK_GROUP_P256),
		.suite = htole16(RDMABLK_SUITE_AES256_GCM),
	};
	mac_random(c->challenge.nonce, sizeof(c->challenge.nonce));
	memcpy(c->point, generator, sizeof(c->point));
}

/* Makes the peer's adapter send again 10 us after an RNR NAK. */
int hurry_rnr(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = 1 };

	return ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER);
}
