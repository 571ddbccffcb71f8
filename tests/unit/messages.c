// SPDX-License-Identifier: GPL-2.0-only
/*
 * Valid messages. Bytes whose value is free have some value other than zero.
 */
#include <linux/kernel.h>
#include <string.h>

#include "messages.h"

#define BIT_OF(op)	RDMABLK_OP_BIT(RDMABLK_OP_##op)

/*
 * The HELLO that was sent, and what came of it: an export in memory that has a cache, or
 * a staged one.
 */
struct rdmablk_hello msg_sent;
struct rdmablk_hello2 msg_sent2;
struct rdmablk_wire_challenge msg_challenged;
struct rdmablk_wire_grant msg_granted;
struct rdmablk_wire_grant msg_staged;

/* Compound literals do not say what is in padding; there is none here. */
struct rdmablk_hdr msg_hdr(uint16_t type, size_t size)
{
	return (struct rdmablk_hdr) {
		.type	= cpu_to_le16(type),
		.length	= cpu_to_le16((uint16_t)size),
	};
}

void msg_accept(void *msg)
{
	*(struct rdmablk_cm_accept *)msg = (struct rdmablk_cm_accept) {
		.magic		= cpu_to_le32(RDMABLK_MAGIC),
		.version	= cpu_to_le16(1),
		.queue		= cpu_to_le16(MSG_QUEUE),
	};
}

void msg_reject(void *msg)
{
	*(struct rdmablk_cm_reject *)msg = (struct rdmablk_cm_reject) {
		.magic		= cpu_to_le32(RDMABLK_MAGIC),
		.reason		= cpu_to_le16(RDMABLK_R_FENCING),
		.version_min	= cpu_to_le16(1),
		.version_max	= cpu_to_le16(7),
		.retry_after_ms	= cpu_to_le32(100),
	};
}

void msg_challenge(void *msg)
{
	struct rdmablk_challenge *ch = msg;

	*ch = (struct rdmablk_challenge) {
		.hdr		= msg_hdr(RDMABLK_MSG_CHALLENGE, sizeof(*ch)),
		.version	= cpu_to_le16(1),
		.auth_method	= cpu_to_le32(RDMABLK_AUTH_NONE),
		.features	= cpu_to_le64(RDMABLK_FEATURES_V1),
		.session_id	= cpu_to_le64(MSG_SESSION),
	};
	memset(ch->nonce, 0xc5, sizeof(ch->nonce));
}

void msg_accept2(void *msg)
{
	struct rdmablk_cm_accept2 *acc = msg;

	msg_accept(&acc->accept);
	acc->accept.version = cpu_to_le16(2);
	memset(acc->mac, 0x77, sizeof(acc->mac));
}

void msg_challenge2(void *msg)
{
	struct rdmablk_challenge2 *ch = msg;

	*ch = (struct rdmablk_challenge2) {
		.group	= cpu_to_le16(RDMABLK_GROUP_P256),
		.suite	= cpu_to_le16(RDMABLK_SUITE_AES256_GCM),
	};
	msg_challenge(&ch->challenge);
	ch->challenge.hdr.length = cpu_to_le16(sizeof(*ch));
	ch->challenge.version = cpu_to_le16(2);
	ch->challenge.auth_method = cpu_to_le32(RDMABLK_AUTH_PSK);
	memset(ch->target_id, 0x88, sizeof(ch->target_id));
	memset(ch->point, 0x99, sizeof(ch->point));
}

/* A message of version 2 is one of version 1 without its MAC. */
static void msg_without_mac(void (*build)(void *msg), void *msg, size_t len)
{
	_Alignas(8) uint8_t whole[RDMABLK_CTRL_MSG_MAX];

	build(whole);
	((struct rdmablk_hdr *)whole)->length = cpu_to_le16((uint16_t)len);
	memcpy(msg, whole, len);
}

void msg_grant2(void *msg)
{
	msg_without_mac(msg_grant, msg, MSG_GRANT2);
}

void msg_regions2(void *msg)
{
	msg_without_mac(msg_regions, msg, MSG_REGIONS2);
}

void msg_last_regions2(void *msg)
{
	msg_without_mac(msg_last_regions, msg, MSG_REGIONS2);
}

void msg_limits2(void *msg)
{
	msg_without_mac(msg_limits, msg, MSG_LIMITS2);
}

void msg_staged_limits2(void *msg)
{
	msg_without_mac(msg_staged_limits, msg, MSG_LIMITS2);
}

void msg_reauth_challenge(void *msg)
{
	struct rdmablk_reauth_challenge *ch = msg;

	ch->hdr = msg_hdr(RDMABLK_MSG_REAUTH_CHALLENGE, sizeof(*ch));
	memset(ch->nonce, 0xaa, sizeof(ch->nonce));
	memset(ch->point, 0xbb, sizeof(ch->point));
}

void msg_grant(void *msg)
{
	struct rdmablk_grant *g = msg;

	*g = (struct rdmablk_grant) {
		.hdr		= msg_hdr(RDMABLK_MSG_GRANT, sizeof(*g)),
		.session_id	= cpu_to_le64(MSG_SESSION),
		.features	= cpu_to_le64(RDMABLK_FEATURES_V1),
		.size		= cpu_to_le64(MSG_SIZE),
		.region_bytes	= cpu_to_le64(MSG_REGION),
		.nr_regions	= cpu_to_le32(MSG_REGIONS),
		.flags		= cpu_to_le32(RDMABLK_GRANT_SHARED),
		.logical_block	= cpu_to_le32(512),
		.physical_block	= cpu_to_le32(4096),
		.io_min		= cpu_to_le32(4096),
		.io_opt		= cpu_to_le32(1 << 20),
		.max_io		= cpu_to_le32(1 << 19),
		.nr_queues	= cpu_to_le16(4),
		.queue_depth	= cpu_to_le16(64),
		.read_depth	= cpu_to_le16(16),
		.keep_alive_ms	= cpu_to_le32(5000),
		.session_tmo_ms	= cpu_to_le32(15000),
		.target_name	= "target one",
	};
	memset(g->uuid, 0x11, sizeof(g->uuid));
	memset(g->epoch, 0x22, sizeof(g->epoch));
	memset(g->mac, 0x33, sizeof(g->mac));
}

static void msg_some_regions(struct rdmablk_regions *r, uint32_t first, uint32_t count)
{
	*r = (struct rdmablk_regions) {
		.hdr	= msg_hdr(RDMABLK_MSG_REGIONS, sizeof(*r)),
		.first	= cpu_to_le32(first),
		.count	= cpu_to_le32(count),
	};
	for (uint32_t i = 0; i < count; i++) {
		r->region[i].iova = cpu_to_le64(0x7f0000000000 + (first + i) * MSG_REGION);
		r->region[i].rkey = cpu_to_le32(0x1000 + first + i);
	}
	memset(r->mac, 0x44, sizeof(r->mac));
}

void msg_regions(void *msg)
{
	msg_some_regions(msg, 0, RDMABLK_REGIONS_PER_MSG);
}

void msg_last_regions(void *msg)
{
	msg_some_regions(msg, RDMABLK_REGIONS_PER_MSG, MSG_REGIONS - RDMABLK_REGIONS_PER_MSG);
}

void msg_limits(void *msg)
{
	struct rdmablk_limits *l = msg;

	*l = (struct rdmablk_limits) {
		.hdr			= msg_hdr(RDMABLK_MSG_LIMITS, sizeof(*l)),
		.ops			= cpu_to_le32(BIT_OF(FENCE) | BIT_OF(DIRTY) |
						      BIT_OF(FLUSH) | BIT_OF(DISCARD) |
						      BIT_OF(WRITE_ZEROES) |
						      BIT_OF(SECURE_ERASE)),
		.cmd_depth		= cpu_to_le16(MSG_CMDS),
		.max_ranges		= cpu_to_le16(252),
		.granule		= cpu_to_le32(MSG_GRANULE),
		.max_discard		= cpu_to_le64(1ULL << 40),
		.max_zeroes		= cpu_to_le64(1ULL << 30),
		.max_erase		= cpu_to_le64(1ULL << 31),
		.discard_granularity	= cpu_to_le32(1 << 16),
		.discard_alignment	= cpu_to_le32(1 << 12),
		.erase_granularity	= cpu_to_le32(1 << 20),
	};
	memset(l->mac, 0x55, sizeof(l->mac));
}

void msg_staged_limits(void *msg)
{
	struct rdmablk_limits *l = msg;

	*l = (struct rdmablk_limits) {
		.hdr		= msg_hdr(RDMABLK_MSG_LIMITS, sizeof(*l)),
		.ops		= cpu_to_le32(BIT_OF(FENCE) | BIT_OF(FLUSH) | BIT_OF(READ) |
					      BIT_OF(WRITE)),
		.cmd_depth	= cpu_to_le16(MSG_CMDS),
		.trailer_bytes	= cpu_to_le32(MSG_TRAILER),
		.slot_bytes	= cpu_to_le32(MSG_SLOT),
		.slot_iova	= cpu_to_le64(MSG_SLOTS),
		.slot_rkey	= cpu_to_le32(0x2000),
	};
	memset(l->mac, 0x66, sizeof(l->mac));
}

void msg_live(void *msg)
{
	*(struct rdmablk_hdr *)msg = msg_hdr(RDMABLK_MSG_LIVE, sizeof(struct rdmablk_live));
}

void msg_answer(void *msg)
{
	struct rdmablk_answer *a = msg;

	*a = (struct rdmablk_answer) {
		.hdr	= msg_hdr(RDMABLK_MSG_ANSWER, sizeof(*a)),
		.status	= cpu_to_le16(RDMABLK_R_STORE_IO),
	};
	a->hdr.tag = cpu_to_le16(RDMABLK_TAG_LOGOUT);
	a->hdr.generation = cpu_to_le32(0x01020304);
}

void msg_event(void *msg)
{
	struct rdmablk_event_msg *e = msg;

	*e = (struct rdmablk_event_msg) {
		.hdr	= msg_hdr(RDMABLK_MSG_EVENT, sizeof(*e)),
		.event	= cpu_to_le16(RDMABLK_EVENT_DRAIN),
		.value	= cpu_to_le64(5000),
	};
}

void msg_resize(void *msg)
{
	struct rdmablk_event_msg *e = msg;

	msg_event(msg);
	e->event = cpu_to_le16(RDMABLK_EVENT_RESIZE);
	e->value = cpu_to_le64(2 * MSG_SIZE);
}

void msg_close(void *msg)
{
	struct rdmablk_close *c = msg;

	*c = (struct rdmablk_close) {
		.hdr		= msg_hdr(RDMABLK_MSG_CLOSE, sizeof(*c)),
		.reason		= cpu_to_le16(RDMABLK_R_SHUTDOWN),
		.version_min	= cpu_to_le16(1),
		.version_max	= cpu_to_le16(3),
		.retry_after_ms	= cpu_to_le32(1000),
	};
}

/* What the initiator knows when each of these messages comes. */
void msg_setup(void)
{
	static const uint8_t id[RDMABLK_KEY_ID_LEN] = { 1 }, point[RDMABLK_POINT_LEN] = { 2 };
	static const struct rdmablk_wire_hello hello = {
		.features_offered	= RDMABLK_FEATURES_V1,
		.generation		= 1,
		.nr_queues		= MSG_QUEUES,
		.queue_depth		= MSG_DEPTH,
		.keep_alive_ms		= 5000,
		.host_name		= "host",
		.export_name		= "disk0",
	};

	rdmablk_wire_hello(&msg_sent, &hello);
	rdmablk_wire_hello2(&msg_sent2, &hello, id, point);
	msg_challenged = (struct rdmablk_wire_challenge) {
		.version	= 1,
		.auth_method	= RDMABLK_AUTH_NONE,
		.features	= RDMABLK_FEATURES_V1,
		.session_id	= MSG_SESSION,
	};
	msg_granted = (struct rdmablk_wire_grant) {
		.version	= 1,
		.session_id	= MSG_SESSION,
		.features	= RDMABLK_FEATURES_V1,
		.size		= MSG_SIZE,
		.region_bytes	= MSG_REGION,
		.nr_regions	= MSG_REGIONS,
		.flags		= RDMABLK_GRANT_CACHE,
		.logical_block	= 512,
		.physical_block	= 4096,
		.nr_queues	= 4,
		.queue_depth	= 64,
	};
	msg_staged = msg_granted;
	msg_staged.region_bytes = 0;
	msg_staged.nr_regions = 0;
	msg_staged.flags = RDMABLK_GRANT_CACHE | RDMABLK_GRANT_STAGED;
}
