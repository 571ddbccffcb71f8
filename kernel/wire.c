// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pack, parse and validate: every byte from a target passes through here before any other
 * code reads it.
 *
 * PURE: no block layer, no verbs, no locks, no allocation; the unit tests and the fuzzers
 * compile this very file.
 *
 * Each parser checks the length, copies the message out of the buffer, which may be
 * unaligned, and then checks the head, the reserved fields and the ranges. An accepted
 * message satisfies every rule of uapi/rdmablk_proto.h that concerns this message alone, or
 * this message and the message that it answers. Other files verify MACs.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>
#include "wire.h"

#define RDMABLK_MAX_PHYSICAL_BLOCK	65536

static const u16 rdmablk_wire_size[] = {
	[RDMABLK_MSG_HELLO]		= sizeof(struct rdmablk_hello),
	[RDMABLK_MSG_CHALLENGE]		= sizeof(struct rdmablk_challenge),
	[RDMABLK_MSG_PROOF]		= sizeof(struct rdmablk_proof),
	[RDMABLK_MSG_GRANT]		= sizeof(struct rdmablk_grant),
	[RDMABLK_MSG_REGIONS_GET]	= sizeof(struct rdmablk_regions_get),
	[RDMABLK_MSG_REGIONS]		= sizeof(struct rdmablk_regions),
	[RDMABLK_MSG_READY]		= sizeof(struct rdmablk_ready),
	[RDMABLK_MSG_LIVE]		= sizeof(struct rdmablk_live),
	[RDMABLK_MSG_COMMAND]		= sizeof(struct rdmablk_command),
	[RDMABLK_MSG_ANSWER]		= sizeof(struct rdmablk_answer),
	[RDMABLK_MSG_EVENT]		= sizeof(struct rdmablk_event_msg),
	[RDMABLK_MSG_CLOSE]		= sizeof(struct rdmablk_close),
	[RDMABLK_MSG_LIMITS_GET]	= sizeof(struct rdmablk_limits_get),
	[RDMABLK_MSG_LIMITS]		= sizeof(struct rdmablk_limits),
};

/* Of version 2: those of other sizes, and those that version 1 does not have */
static const u16 rdmablk_wire_size2[] = {
	[RDMABLK_MSG_HELLO]		= sizeof(struct rdmablk_hello2),
	[RDMABLK_MSG_CHALLENGE]		= sizeof(struct rdmablk_challenge2),
	[RDMABLK_MSG_GRANT]		= offsetof(struct rdmablk_grant, mac),
	[RDMABLK_MSG_REGIONS]		= offsetof(struct rdmablk_regions, mac),
	[RDMABLK_MSG_LIMITS]		= offsetof(struct rdmablk_limits, mac),
	[RDMABLK_MSG_REAUTH]		= sizeof(struct rdmablk_reauth),
	[RDMABLK_MSG_REAUTH_CHALLENGE]	= sizeof(struct rdmablk_reauth_challenge),
	[RDMABLK_MSG_REAUTH_PROOF]	= sizeof(struct rdmablk_reauth_proof),
	[RDMABLK_MSG_REAUTH_DONE]	= sizeof(struct rdmablk_reauth_done),
};

/* Bytes of a message; 0: the version has no such type, or the size is free */
static u16 rdmablk_wire_bytes(u16 type, u16 version)
{
	u16 bytes = 0;

	if (version == RDMABLK_VERSION_PROVEN && type < ARRAY_SIZE(rdmablk_wire_size2))
		bytes = rdmablk_wire_size2[type];
	if (!bytes && type < ARRAY_SIZE(rdmablk_wire_size))
		bytes = rdmablk_wire_size[type];
	return bytes;
}

/* Whether a name is printable, NUL-terminated and padded with NULs to its end */
static bool rdmablk_wire_name_ok(const char *name)
{
	size_t i, len = strnlen(name, RDMABLK_NAME_LEN);

	if (len == RDMABLK_NAME_LEN)
		return false;
	for (i = 0; i < len; i++) {
		if (name[i] < 0x20 || name[i] > 0x7e)
			return false;
	}
	return !memchr_inv(name + len, 0, RDMABLK_NAME_LEN - len);
}

/**
 * rdmablk_wire_type() - check the head of a message
 * @buf: message
 * @len: bytes received
 * @version: version that both sides speak
 *
 * RDMABLK_MSG_SEALED has no fixed size: sealed.c checks such a message.
 *
 * Return: enum rdmablk_msg_type if the message is as long as its type demands; else
 * -EBADMSG.
 */
int rdmablk_wire_type(const void *buf, size_t len, u16 version)
{
	struct rdmablk_hdr hdr;
	u16 type, want;

	if (len < sizeof(hdr))
		return -EBADMSG;
	memcpy(&hdr, buf, sizeof(hdr));
	type = le16_to_cpu(hdr.type);
	want = rdmablk_wire_bytes(type, version);
	if (!want || len != want || le16_to_cpu(hdr.length) != len)
		return -EBADMSG;
	if (hdr.reserved || hdr.reserved2)
		return -EBADMSG;
	if (type != RDMABLK_MSG_COMMAND && type != RDMABLK_MSG_ANSWER &&
	    (hdr.tag || hdr.generation))
		return -EBADMSG;
	return type;
}

/**
 * rdmablk_wire_take() - copy a message of one type out of the buffer
 * @buf: message
 * @len: bytes received
 * @version: version that both sides speak; any if the type is the same in all
 * @type: enum rdmablk_msg_type
 * @msg: result, as long as the type demands in that version
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_take(const void *buf, size_t len, u16 version, int type, void *msg)
{
	if (rdmablk_wire_type(buf, len, version) != type)
		return -EBADMSG;
	memcpy(msg, buf, len);
	return 0;
}

/**
 * rdmablk_wire_hdr() - make the head of a message
 * @type: enum rdmablk_msg_type, of those that have one size in all versions that have them
 *
 * Return: head, with tag and generation 0.
 */
struct rdmablk_hdr rdmablk_wire_hdr(u16 type)
{
	return (struct rdmablk_hdr) {
		.type	= cpu_to_le16(type),
		.length	= cpu_to_le16(rdmablk_wire_bytes(type, RDMABLK_VERSION_OPEN) ?:
				      rdmablk_wire_bytes(type, RDMABLK_VERSION_PROVEN)),
	};
}

/**
 * rdmablk_wire_cm_request() - pack private data of a connection request, without its MAC
 * @req: result
 * @kind: enum rdmablk_kind
 * @queue: queue number
 * @generation: generation of the login; 0 for the control queue
 * @session_id: session; 0 for the control queue
 * @version_min: lowest version
 * @version_max: highest version
 */
void rdmablk_wire_cm_request(struct rdmablk_cm_request *req, u8 kind, u16 queue,
			     u32 generation, u64 session_id, u16 version_min,
			     u16 version_max)
{
	*req = (struct rdmablk_cm_request) {
		.magic		= cpu_to_le32(RDMABLK_MAGIC),
		.version_min	= cpu_to_le16(version_min),
		.version_max	= cpu_to_le16(version_max),
		.kind		= kind,
		.queue		= cpu_to_le16(queue),
		.generation	= cpu_to_le32(generation),
		.session_id	= cpu_to_le64(session_id),
	};
}

/**
 * rdmablk_wire_parse_accept() - parse private data of an accept
 * @buf: private data, padded by rdma_cm
 * @len: bytes
 * @queue: queue number of the request
 * @version: version of the request
 * @out: result; its MAC is not verified yet, and zero in version 1
 *
 * Return: 0; -EBADMSG; -EPROTONOSUPPORT: the target accepts another version.
 */
int rdmablk_wire_parse_accept(const void *buf, size_t len, u16 queue, u16 version,
			      struct rdmablk_cm_accept2 *out)
{
	const bool proven = version == RDMABLK_VERSION_PROVEN;
	const struct rdmablk_cm_accept *acc = &out->accept;

	*out = (struct rdmablk_cm_accept2) { };
	if (!buf || len < sizeof(*acc))
		return -EBADMSG;
	memcpy(out, buf, sizeof(*acc));
	if (le32_to_cpu(acc->magic) != RDMABLK_MAGIC || le16_to_cpu(acc->queue) != queue ||
	    acc->reserved)
		return -EBADMSG;
	if (le16_to_cpu(acc->version) != version)
		return -EPROTONOSUPPORT;
	if (!proven)
		return 0;
	if (len < sizeof(*out))
		return -EBADMSG;
	memcpy(out, buf, sizeof(*out));
	/* The control queue has no key yet. */
	return !queue && memchr_inv(out->mac, 0, sizeof(out->mac)) ? -EBADMSG : 0;
}

/**
 * rdmablk_wire_parse_reject() - parse private data of a reject
 * @buf: private data, padded by rdma_cm
 * @len: bytes
 * @out: result
 *
 * Return: 0; -EBADMSG: not the reject of an rdmablk target.
 */
int rdmablk_wire_parse_reject(const void *buf, size_t len,
			      struct rdmablk_wire_reject *out)
{
	struct rdmablk_cm_reject rej;

	if (!buf || len < sizeof(rej))
		return -EBADMSG;
	memcpy(&rej, buf, sizeof(rej));
	if (le32_to_cpu(rej.magic) != RDMABLK_MAGIC || !rej.reason || rej.reserved)
		return -EBADMSG;
	*out = (struct rdmablk_wire_reject) {
		.reason		= le16_to_cpu(rej.reason),
		.version_min	= le16_to_cpu(rej.version_min),
		.version_max	= le16_to_cpu(rej.version_max),
		.retry_after_ms	= le32_to_cpu(rej.retry_after_ms),
	};
	return 0;
}

static void rdmablk_wire_put_name(char *to, const char *from)
{
	size_t i, len = strnlen(from, RDMABLK_NAME_LEN - 1);

	memset(to, 0, RDMABLK_NAME_LEN);
	for (i = 0; i < len; i++)
		to[i] = from[i] >= 0x20 && from[i] <= 0x7e ? from[i] : '?';
}

/**
 * rdmablk_wire_hello() - pack HELLO of version 1
 * @msg: result
 * @h: fields; unprintable characters of names become '?'
 *
 * HELLO requires no feature. Whether the target has the features that an export needs shows
 * in GRANT, or in the refusal.
 */
void rdmablk_wire_hello(struct rdmablk_hello *msg, const struct rdmablk_wire_hello *h)
{
	*msg = (struct rdmablk_hello) {
		.hdr			= rdmablk_wire_hdr(RDMABLK_MSG_HELLO),
		.version_min		= cpu_to_le16(RDMABLK_VERSION_OPEN),
		.version_max		= cpu_to_le16(RDMABLK_VERSION_OPEN),
		.flags			= cpu_to_le32(h->flags),
		.features_offered	= cpu_to_le64(h->features_offered),
		.generation		= cpu_to_le32(h->generation),
		.nr_queues		= cpu_to_le16(h->nr_queues),
		.queue_depth		= cpu_to_le16(h->queue_depth),
		.keep_alive_ms		= cpu_to_le32(h->keep_alive_ms),
		.auth_methods		= cpu_to_le32(RDMABLK_AUTH_NONE),
	};
	memcpy(msg->host_id, h->host_id, sizeof(msg->host_id));
	memcpy(msg->boot_nonce, h->boot_nonce, sizeof(msg->boot_nonce));
	memcpy(msg->instance_id, h->instance_id, sizeof(msg->instance_id));
	memcpy(msg->nonce, h->nonce, sizeof(msg->nonce));
	rdmablk_wire_put_name(msg->host_name, h->host_name);
	rdmablk_wire_put_name(msg->export_name, h->export_name);
	memcpy(msg->uuid, h->uuid, sizeof(msg->uuid));
}

/**
 * rdmablk_wire_hello2() - pack HELLO of version 2
 * @msg: result
 * @h: fields, as for rdmablk_wire_hello()
 * @key_id: names K, RDMABLK_KEY_ID_LEN bytes
 * @point: ephemeral public key, RDMABLK_POINT_LEN bytes
 */
void rdmablk_wire_hello2(struct rdmablk_hello2 *msg, const struct rdmablk_wire_hello *h,
			 const u8 *key_id, const u8 *point)
{
	*msg = (struct rdmablk_hello2) {
		.group	= cpu_to_le16(RDMABLK_GROUP_P256),
		.suite	= cpu_to_le16(RDMABLK_SUITE_AES256_GCM),
	};
	rdmablk_wire_hello(&msg->hello, h);
	msg->hello.hdr.length = cpu_to_le16(sizeof(*msg));
	msg->hello.version_min = cpu_to_le16(RDMABLK_VERSION_PROVEN);
	msg->hello.version_max = cpu_to_le16(RDMABLK_VERSION_PROVEN);
	msg->hello.auth_methods = cpu_to_le32(RDMABLK_AUTH_PSK);
	memcpy(msg->key_id, key_id, sizeof(msg->key_id));
	memcpy(msg->point, point, sizeof(msg->point));
}

static int rdmablk_wire_challenge_fields(const struct rdmablk_challenge *msg,
					 const struct rdmablk_hello *sent,
					 struct rdmablk_wire_challenge *out)
{
	out->version = le16_to_cpu(msg->version);
	out->auth_method = le32_to_cpu(msg->auth_method);
	out->features = le64_to_cpu(msg->features);
	out->session_id = le64_to_cpu(msg->session_id);
	memcpy(out->nonce, msg->nonce, sizeof(out->nonce));
	if (out->version < le16_to_cpu(sent->version_min) ||
	    out->version > le16_to_cpu(sent->version_max))
		return -EPROTONOSUPPORT;
	if (msg->reserved || !out->session_id || !is_power_of_2(out->auth_method) ||
	    out->auth_method & ~le32_to_cpu(sent->auth_methods))
		return -EBADMSG;
	if (out->features & ~le64_to_cpu(sent->features_offered) ||
	    le64_to_cpu(sent->features_required) & ~out->features)
		return -EBADMSG;
	/* Staged I/O consists of commands. */
	if (out->features & RDMABLK_F_STAGED && !(out->features & RDMABLK_F_COMMANDS))
		return -EBADMSG;
	/* Only answers to staged commands come in lists; only staged WRITEs are implied. */
	if (out->features & (RDMABLK_F_LISTS | RDMABLK_F_IMPLIED) &&
	    !(out->features & RDMABLK_F_STAGED))
		return -EBADMSG;
	return 0;
}

/**
 * rdmablk_wire_parse_challenge() - parse CHALLENGE of version 1
 * @buf: message
 * @len: bytes
 * @sent: the HELLO that it answers
 * @out: result
 *
 * Return: 0; -EBADMSG; -EPROTONOSUPPORT: HELLO did not offer the version.
 */
int rdmablk_wire_parse_challenge(const void *buf, size_t len,
				 const struct rdmablk_hello *sent,
				 struct rdmablk_wire_challenge *out)
{
	struct rdmablk_challenge msg;
	int ret = rdmablk_wire_take(buf, len, RDMABLK_VERSION_OPEN, RDMABLK_MSG_CHALLENGE,
				    &msg);

	return ret ? ret : rdmablk_wire_challenge_fields(&msg, sent, out);
}

/**
 * rdmablk_wire_parse_challenge2() - parse CHALLENGE of version 2
 * @buf: message
 * @len: bytes
 * @sent: the HELLO that it answers
 * @out: result
 * @point: ephemeral public key of the target, RDMABLK_POINT_LEN bytes; may be no point of
 *	the curve
 *
 * Return: as of rdmablk_wire_parse_challenge().
 */
int rdmablk_wire_parse_challenge2(const void *buf, size_t len,
				  const struct rdmablk_hello2 *sent,
				  struct rdmablk_wire_challenge *out, u8 *point)
{
	struct rdmablk_challenge2 msg;
	int ret = rdmablk_wire_take(buf, len, RDMABLK_VERSION_PROVEN, RDMABLK_MSG_CHALLENGE,
				    &msg);

	if (!ret)
		ret = rdmablk_wire_challenge_fields(&msg.challenge, &sent->hello, out);
	if (ret)
		return ret;
	memcpy(point, msg.point, sizeof(msg.point));
	return msg.group != sent->group || msg.suite != sent->suite || msg.reserved ?
	       -EBADMSG : 0;
}

/**
 * rdmablk_wire_proof() - pack PROOF
 * @msg: result
 * @mac: RDMABLK_MAC_LEN bytes
 */
void rdmablk_wire_proof(struct rdmablk_proof *msg, const u8 *mac)
{
	msg->hdr = rdmablk_wire_hdr(RDMABLK_MSG_PROOF);
	memcpy(msg->mac, mac, sizeof(msg->mac));
}

static bool rdmablk_wire_blocks_ok(const struct rdmablk_wire_grant *g)
{
	u32 mask = g->logical_block - 1;

	if (g->logical_block != 512 && g->logical_block != 4096)
		return false;
	if (!is_power_of_2(g->physical_block) || g->physical_block < g->logical_block ||
	    g->physical_block > RDMABLK_MAX_PHYSICAL_BLOCK)
		return false;
	if ((g->io_min | g->io_opt | g->max_io) & mask)
		return false;
	return !g->max_io || g->max_io >= RDMABLK_MIN_MAX_IO;
}

static bool rdmablk_wire_size_ok(const struct rdmablk_wire_grant *g)
{
	int shift;

	if (!g->size || g->size > RDMABLK_MAX_SIZE || g->size & (g->logical_block - 1))
		return false;
	if (g->flags & RDMABLK_GRANT_STAGED)
		return !g->region_bytes && !g->nr_regions;
	/* Not is_power_of_2(): with a 32-bit unsigned long it sees only half of the value. */
	if (g->region_bytes & (g->region_bytes - 1) ||
	    g->region_bytes < RDMABLK_MIN_REGION || g->region_bytes > RDMABLK_MAX_SIZE)
		return false;
	/* A shift: with 32 bits a 64-bit division would be a function call. */
	shift = ilog2(g->region_bytes);
	return g->nr_regions <= RDMABLK_MAX_REGIONS &&
	       g->nr_regions == ((g->size - 1) >> shift) + 1;
}

static bool rdmablk_wire_session_ok(const struct rdmablk_wire_grant *g,
				    const struct rdmablk_hello *sent,
				    const struct rdmablk_wire_challenge *ch)
{
	u32 asked = le32_to_cpu(sent->flags);

	if (g->session_id != ch->session_id || g->features != ch->features)
		return false;
	if (g->flags & ~RDMABLK_GRANT_FLAGS)
		return false;
	if (g->flags & RDMABLK_GRANT_CACHE && !(g->features & RDMABLK_F_COMMANDS))
		return false;
	if (g->flags & RDMABLK_GRANT_STAGED && !(g->features & RDMABLK_F_STAGED))
		return false;
	if (asked & RDMABLK_HELLO_READ_ONLY && !(g->flags & RDMABLK_GRANT_READ_ONLY))
		return false;
	if (!g->nr_queues || g->nr_queues > le16_to_cpu(sent->nr_queues) ||
	    !g->queue_depth || g->queue_depth > le16_to_cpu(sent->queue_depth) ||
	    !g->read_depth)
		return false;
	return g->keep_alive_ms >= RDMABLK_MIN_KEEP_ALIVE_MS &&
	       g->keep_alive_ms <= RDMABLK_MAX_KEEP_ALIVE_MS &&
	       g->session_tmo_ms > g->keep_alive_ms &&
	       g->session_tmo_ms <= RDMABLK_MAX_SESSION_MS;
}

static void rdmablk_wire_grant_fields(const struct rdmablk_grant *msg,
				      struct rdmablk_wire_grant *out)
{
	*out = (struct rdmablk_wire_grant) {
		.session_id	= le64_to_cpu(msg->session_id),
		.features	= le64_to_cpu(msg->features),
		.size		= le64_to_cpu(msg->size),
		.region_bytes	= le64_to_cpu(msg->region_bytes),
		.nr_regions	= le32_to_cpu(msg->nr_regions),
		.flags		= le32_to_cpu(msg->flags),
		.logical_block	= le32_to_cpu(msg->logical_block),
		.physical_block	= le32_to_cpu(msg->physical_block),
		.io_min		= le32_to_cpu(msg->io_min),
		.io_opt		= le32_to_cpu(msg->io_opt),
		.max_io		= le32_to_cpu(msg->max_io),
		.nr_queues	= le16_to_cpu(msg->nr_queues),
		.queue_depth	= le16_to_cpu(msg->queue_depth),
		.read_depth	= le16_to_cpu(msg->read_depth),
		.keep_alive_ms	= le32_to_cpu(msg->keep_alive_ms),
		.session_tmo_ms	= le32_to_cpu(msg->session_tmo_ms),
	};
	memcpy(out->uuid, msg->uuid, sizeof(out->uuid));
	memcpy(out->epoch, msg->epoch, sizeof(out->epoch));
	memcpy(out->target_name, msg->target_name, sizeof(out->target_name));
	memcpy(out->mac, msg->mac, sizeof(out->mac));
}

/**
 * rdmablk_wire_parse_grant() - parse GRANT
 * @buf: message
 * @len: bytes
 * @sent: the HELLO of this login
 * @ch: the CHALLENGE of this login
 * @out: result; its MAC is not verified yet, and zero in version 2
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_parse_grant(const void *buf, size_t len,
			     const struct rdmablk_hello *sent,
			     const struct rdmablk_wire_challenge *ch,
			     struct rdmablk_wire_grant *out)
{
	struct rdmablk_grant msg = { };
	int ret = rdmablk_wire_take(buf, len, ch->version, RDMABLK_MSG_GRANT, &msg);

	if (ret)
		return ret;
	rdmablk_wire_grant_fields(&msg, out);
	out->version = ch->version;
	if (msg.reserved || msg.reserved2 || !rdmablk_wire_name_ok(msg.target_name) ||
	    !rdmablk_wire_blocks_ok(out) || !rdmablk_wire_size_ok(out) ||
	    !rdmablk_wire_session_ok(out, sent, ch))
		return -EBADMSG;
	return 0;
}

/**
 * rdmablk_wire_times_ok() - check that the timeouts of a GRANT are short enough
 * @g: parsed GRANT
 * @asked_ms: keep-alive timeout that HELLO asked for, milliseconds
 *
 * Return: false: a session with these timeouts would notice a dead target too late.
 */
bool rdmablk_wire_times_ok(const struct rdmablk_wire_grant *g, u32 asked_ms)
{
	u64 keep_alive = (u64)asked_ms * RDMABLK_KEEP_ALIVE_FACTOR;
	u64 session = (u64)g->keep_alive_ms * RDMABLK_SESSION_FACTOR;

	return g->keep_alive_ms <= max_t(u64, keep_alive, RDMABLK_KEEP_ALIVE_ANY_MS) &&
	       g->session_tmo_ms <= max_t(u64, session, RDMABLK_SESSION_ANY_MS);
}

/**
 * rdmablk_wire_regions_get() - pack REGIONS_GET
 * @msg: result
 * @first: first region wanted
 */
void rdmablk_wire_regions_get(struct rdmablk_regions_get *msg, u32 first)
{
	*msg = (struct rdmablk_regions_get) {
		.hdr	= rdmablk_wire_hdr(RDMABLK_MSG_REGIONS_GET),
		.first	= cpu_to_le32(first),
	};
}

static u64 rdmablk_wire_region_bytes(const struct rdmablk_wire_grant *g, u32 nr)
{
	if (nr < g->nr_regions - 1)
		return g->region_bytes;
	return g->size - ((u64)nr << ilog2(g->region_bytes));
}

static int rdmablk_wire_regions_fields(const struct rdmablk_regions *msg,
				       const struct rdmablk_wire_grant *g, u32 first,
				       struct rdmablk_wire_region *table)
{
	u32 i, count;

	if (first >= g->nr_regions)
		return -EBADMSG;
	count = min_t(u32, g->nr_regions - first, RDMABLK_REGIONS_PER_MSG);
	if (le32_to_cpu(msg->first) != first || le32_to_cpu(msg->count) != count)
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		u64 iova = le64_to_cpu(msg->region[i].iova);

		if (msg->region[i].reserved ||
		    iova + rdmablk_wire_region_bytes(g, first + i) - 1 < iova)
			return -EBADMSG;
		table[first + i].iova = iova;
		table[first + i].rkey = le32_to_cpu(msg->region[i].rkey);
	}
	if (count < RDMABLK_REGIONS_PER_MSG &&
	    memchr_inv(&msg->region[count], 0,
		       (RDMABLK_REGIONS_PER_MSG - count) * sizeof(msg->region[0])))
		return -EBADMSG;
	return 0;
}

/**
 * rdmablk_wire_parse_regions() - parse REGIONS
 * @buf: message
 * @len: bytes
 * @g: the GRANT of this login
 * @first: first region that REGIONS_GET asked for, below @g->nr_regions
 * @table: @g->nr_regions regions; filled in from @first on
 * @mac: result, RDMABLK_MAC_LEN bytes; not verified yet, and zero in version 2
 *
 * Return: 0; -EBADMSG: @table may be filled in partly.
 */
int rdmablk_wire_parse_regions(const void *buf, size_t len,
			       const struct rdmablk_wire_grant *g, u32 first,
			       struct rdmablk_wire_region *table, u8 *mac)
{
	struct rdmablk_regions msg = { };
	int ret = rdmablk_wire_take(buf, len, g->version, RDMABLK_MSG_REGIONS, &msg);

	if (!ret)
		ret = rdmablk_wire_regions_fields(&msg, g, first, table);
	memcpy(mac, msg.mac, sizeof(msg.mac));
	/* Sealed, these keys were a secret. */
	memzero_explicit(&msg, sizeof(msg));
	return ret;
}

/**
 * rdmablk_wire_ready() - pack READY
 * @msg: result
 */
void rdmablk_wire_ready(struct rdmablk_ready *msg)
{
	msg->hdr = rdmablk_wire_hdr(RDMABLK_MSG_READY);
}

/**
 * rdmablk_wire_parse_live() - parse LIVE
 * @buf: message
 * @len: bytes
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_parse_live(const void *buf, size_t len)
{
	return rdmablk_wire_type(buf, len, RDMABLK_VERSION_OPEN) == RDMABLK_MSG_LIVE ?
	       0 : -EBADMSG;
}

/**
 * rdmablk_wire_reauth() - pack REAUTH
 * @msg: result
 * @key_id: names K, RDMABLK_KEY_ID_LEN bytes
 * @nonce: random, RDMABLK_NONCE_LEN bytes
 * @point: ephemeral public key, RDMABLK_POINT_LEN bytes
 */
void rdmablk_wire_reauth(struct rdmablk_reauth *msg, const u8 *key_id, const u8 *nonce,
			 const u8 *point)
{
	msg->hdr = rdmablk_wire_hdr(RDMABLK_MSG_REAUTH);
	memcpy(msg->key_id, key_id, sizeof(msg->key_id));
	memcpy(msg->nonce, nonce, sizeof(msg->nonce));
	memcpy(msg->point, point, sizeof(msg->point));
}

/**
 * rdmablk_wire_parse_reauth_challenge() - parse REAUTH_CHALLENGE
 * @buf: message
 * @len: bytes
 * @point: ephemeral public key of the target, RDMABLK_POINT_LEN bytes; may be no point of
 *	the curve
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_parse_reauth_challenge(const void *buf, size_t len, u8 *point)
{
	struct rdmablk_reauth_challenge msg;
	int ret = rdmablk_wire_take(buf, len, RDMABLK_VERSION_PROVEN,
				    RDMABLK_MSG_REAUTH_CHALLENGE, &msg);

	if (!ret)
		memcpy(point, msg.point, sizeof(msg.point));
	return ret;
}

/**
 * rdmablk_wire_reauth_proof() - pack REAUTH_PROOF
 * @msg: result
 * @mac: RDMABLK_MAC_LEN bytes
 */
void rdmablk_wire_reauth_proof(struct rdmablk_reauth_proof *msg, const u8 *mac)
{
	msg->hdr = rdmablk_wire_hdr(RDMABLK_MSG_REAUTH_PROOF);
	memcpy(msg->mac, mac, sizeof(msg->mac));
}

/**
 * rdmablk_wire_command() - pack COMMAND for the control queue
 * @msg: result
 * @op: enum rdmablk_op
 * @flags: flags of the operation
 * @tag: below RDMABLK_CTRL_TAGS
 * @generation: generation of the tag
 * @offset: first byte
 * @bytes: number of bytes
 */
void rdmablk_wire_command(struct rdmablk_command *msg, u16 op, u16 flags, u16 tag,
			  u32 generation, u64 offset, u64 bytes)
{
	*msg = (struct rdmablk_command) {
		.hdr	= rdmablk_wire_hdr(RDMABLK_MSG_COMMAND),
		.op	= cpu_to_le16(op),
		.flags	= cpu_to_le16(flags),
		.offset	= cpu_to_le64(offset),
		.bytes	= cpu_to_le64(bytes),
	};
	msg->hdr.tag = cpu_to_le16(tag);
	msg->hdr.generation = cpu_to_le32(generation);
}

/**
 * rdmablk_wire_parse_answer() - parse ANSWER
 * @buf: message
 * @len: bytes
 * @out: result
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_parse_answer(const void *buf, size_t len,
			      struct rdmablk_wire_answer *out)
{
	struct rdmablk_answer msg;
	int ret = rdmablk_wire_take(buf, len, RDMABLK_VERSION_OPEN, RDMABLK_MSG_ANSWER, &msg);

	if (ret)
		return ret;
	out->tag = le16_to_cpu(msg.hdr.tag);
	out->generation = le32_to_cpu(msg.hdr.generation);
	out->status = le16_to_cpu(msg.status);
	if (out->tag >= RDMABLK_CTRL_TAGS || msg.reserved || msg.reserved2 ||
	    memchr_inv(msg.reserved3, 0, sizeof(msg.reserved3)))
		return -EBADMSG;
	return 0;
}

/**
 * rdmablk_wire_parse_event() - parse EVENT
 * @buf: message
 * @len: bytes
 * @out: result; the value of an unknown event is not checked
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_parse_event(const void *buf, size_t len,
			     struct rdmablk_wire_event *out)
{
	struct rdmablk_event_msg msg;
	int ret = rdmablk_wire_take(buf, len, RDMABLK_VERSION_OPEN, RDMABLK_MSG_EVENT, &msg);

	if (ret)
		return ret;
	out->event = le16_to_cpu(msg.event);
	out->value = le64_to_cpu(msg.value);
	if (msg.reserved || msg.reserved2)
		return -EBADMSG;
	if (out->event == RDMABLK_EVENT_RESIZE &&
	    (!out->value || out->value > RDMABLK_MAX_SIZE || out->value & 511))
		return -EBADMSG;
	return 0;
}

/**
 * rdmablk_wire_close() - pack CLOSE
 * @msg: result
 * @reason: enum rdmablk_reason
 * @version: the one version that this side speaks here
 */
void rdmablk_wire_close(struct rdmablk_close *msg, u16 reason, u16 version)
{
	*msg = (struct rdmablk_close) {
		.hdr		= rdmablk_wire_hdr(RDMABLK_MSG_CLOSE),
		.reason		= cpu_to_le16(reason),
		.version_min	= cpu_to_le16(version),
		.version_max	= cpu_to_le16(version),
	};
}

/**
 * rdmablk_wire_parse_close() - parse CLOSE
 * @buf: message
 * @len: bytes
 * @out: result
 *
 * Return: 0 or -EBADMSG.
 */
int rdmablk_wire_parse_close(const void *buf, size_t len,
			     struct rdmablk_wire_close *out)
{
	struct rdmablk_close msg;
	int ret = rdmablk_wire_take(buf, len, RDMABLK_VERSION_OPEN, RDMABLK_MSG_CLOSE, &msg);

	if (ret)
		return ret;
	*out = (struct rdmablk_wire_close) {
		.reason		= le16_to_cpu(msg.reason),
		.version_min	= le16_to_cpu(msg.version_min),
		.version_max	= le16_to_cpu(msg.version_max),
		.retry_after_ms	= le32_to_cpu(msg.retry_after_ms),
	};
	return !out->reason || msg.reserved || msg.reserved2 ? -EBADMSG : 0;
}

/**
 * rdmablk_wire_errno() - translate a reason for the process that asked for the connection
 * @reason: enum rdmablk_reason
 *
 * Return: a negative errno, as listed at RDMABLK_CMD_CONNECT; 0 for RDMABLK_OK.
 */
int rdmablk_wire_errno(unsigned int reason)
{
	switch (reason) {
	case RDMABLK_OK:
		return 0;
	case RDMABLK_R_VERSION:
		return -EPROTONOSUPPORT;
	case RDMABLK_R_MAGIC:
	case RDMABLK_R_MALFORMED:
	case RDMABLK_R_STATE:
	case RDMABLK_R_FEATURE:
	case RDMABLK_R_JOIN_SESSION:
	case RDMABLK_R_JOIN_MAC:
	case RDMABLK_R_JOIN_TWICE:
	case RDMABLK_R_JOIN_DEVICE:
	case RDMABLK_R_JOIN_MISSING:
		return -EPROTO;
	case RDMABLK_R_NO_EXPORT:
	case RDMABLK_R_EXPORT_GONE:
		return -ENOENT;
	case RDMABLK_R_READ_ONLY:
	case RDMABLK_R_STORE_READ_ONLY:
		return -EROFS;
	case RDMABLK_R_BUSY:
	case RDMABLK_R_BUSY_INSTANCE:
	case RDMABLK_R_FENCING:
		return -EBUSY;
	case RDMABLK_R_LIMIT_LOGINS:
	case RDMABLK_R_LIMIT_SESSIONS:
	case RDMABLK_R_LIMIT_QUEUES:
	case RDMABLK_R_LIMIT_MEMORY:
	case RDMABLK_R_DEVICE_FULL:
	case RDMABLK_R_STORE_SPACE:
		return -ENOSPC;
	case RDMABLK_R_NO_MEMORY:
		return -ENOMEM;
	case RDMABLK_R_AUTH_REQUIRED:
	case RDMABLK_R_AUTH_FAILED:
		return -EACCES;
	case RDMABLK_R_AUTH_KEY:
		return -EKEYREJECTED;
	case RDMABLK_R_SHUTDOWN:
		return -ECONNREFUSED;
	case RDMABLK_R_LOGIN_TIMEOUT:
	case RDMABLK_R_IO_TIMEOUT:
		return -ETIMEDOUT;
	case RDMABLK_R_LOGOUT:
	case RDMABLK_R_STOLEN:
	case RDMABLK_R_EXPIRED:
	case RDMABLK_R_REPLACED:
	case RDMABLK_R_ACCESS:
	case RDMABLK_R_CONNECTION:
	case RDMABLK_R_KICKED:
		return -ECONNRESET;
	case RDMABLK_R_DEVICE_GONE:
		return -ENODEV;
	case RDMABLK_R_UNSUPPORTED:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}
