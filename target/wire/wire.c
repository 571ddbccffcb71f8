// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages in and out. A structure from the peer is copied before anything reads it: the
 * adapter may write to the buffer, which need not be aligned, either.
 */
#include <endian.h>

#include "base/util.h"
#include "wire/wire.h"

/* Hints for CLOSE and rejects, milliseconds. */
#define RETRY_FENCING	100
#define RETRY_LATER	1000

/* Printable, padded with NUL, at least one; empty only where that is allowed. */
static bool name_ok(const char *name, bool may_be_empty)
{
	size_t len = strnlen(name, RDMABLK_NAME_LEN);

	if (len == RDMABLK_NAME_LEN || (!len && !may_be_empty))
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] < 0x20 || name[i] > 0x7e)
			return false;
	return all_zero(name + len, RDMABLK_NAME_LEN - len);
}

/* Tells a peer that speaks only version 1 that this daemon demands a key. */
static unsigned int choose_version(uint16_t min, uint16_t max, uint16_t ours, uint16_t *version)
{
	if (min > max)
		return RDMABLK_R_MALFORMED;
	if (ours == RDMABLK_VERSION_PROVEN && max == RDMABLK_VERSION_OPEN)
		return RDMABLK_R_AUTH_REQUIRED;
	if (max < ours || min > ours)
		return RDMABLK_R_VERSION;
	*version = ours;
	return RDMABLK_OK;
}

/**
 * wire_check_request - private data of a connection request
 * @data: as received
 * @len: bytes of it
 * @version: that of the daemon
 * @out: decoded
 *
 * The caller verifies the MAC before it uses anything of @out except the session id.
 *
 * Return: enum rdmablk_reason.
 */
unsigned int wire_check_request(const void *data, size_t len, uint16_t version,
				struct wire_request *out)
{
	struct rdmablk_cm_request req;
	unsigned int reason, reads;

	if (len != sizeof(req))
		return RDMABLK_R_MALFORMED;
	memcpy(&req, data, sizeof(req));
	if (le32toh(req.magic) != RDMABLK_MAGIC)
		return RDMABLK_R_MAGIC;
	reason = choose_version(le16toh(req.version_min),
				le16toh(req.version_max), version, &out->version);
	if (reason)
		return reason;
	out->kind = req.kind;
	out->queue = le16toh(req.queue);
	out->generation = le32toh(req.generation);
	out->session_id = le64toh(req.session_id);
	if (req.reserved || req.kind > RDMABLK_KIND_WRITE)
		return RDMABLK_R_MALFORMED;
	if (req.kind == RDMABLK_KIND_CONTROL)
		return out->queue || out->generation || out->session_id ||
		       !all_zero(req.mac, sizeof(req.mac)) ?
		       RDMABLK_R_MALFORMED : RDMABLK_OK;
	if (req.version_min != req.version_max)
		return RDMABLK_R_MALFORMED;
	/* odd queues READ, even ones WRITE */
	reads = req.kind == RDMABLK_KIND_READ;
	if (!out->queue || out->queue > 2 * RDMABLK_MAX_QUEUES ||
	    (out->queue & 1) != reads)
		return RDMABLK_R_MALFORMED;
	return RDMABLK_OK;
}

/* In version 2 the frame of a message, not its MAC, says who has sent it. */
static size_t proven_length(unsigned int type)
{
	switch (type) {
	case RDMABLK_MSG_HELLO:		return sizeof(struct rdmablk_hello2);
	case RDMABLK_MSG_CHALLENGE:	return sizeof(struct rdmablk_challenge2);
	case RDMABLK_MSG_GRANT:		return offsetof(struct rdmablk_grant, mac);
	case RDMABLK_MSG_REGIONS:	return offsetof(struct rdmablk_regions, mac);
	case RDMABLK_MSG_LIMITS:	return offsetof(struct rdmablk_limits, mac);
	case RDMABLK_MSG_REAUTH:	return sizeof(struct rdmablk_reauth);
	case RDMABLK_MSG_REAUTH_CHALLENGE:
		return sizeof(struct rdmablk_reauth_challenge);
	case RDMABLK_MSG_REAUTH_PROOF:	return sizeof(struct rdmablk_reauth_proof);
	case RDMABLK_MSG_REAUTH_DONE:	return sizeof(struct rdmablk_reauth_done);
	default:			return 0;
	}
}

/**
 * wire_length - length of a message
 * @type: enum rdmablk_msg_type
 * @version: of the session
 *
 * Return: bytes; 0: the version has no such message, or it is RDMABLK_MSG_SEALED.
 */
size_t wire_length(uint16_t type, uint16_t version)
{
	size_t len = version == RDMABLK_VERSION_PROVEN ? proven_length(type) : 0;

	if (len)
		return len;
	switch (type) {
	case RDMABLK_MSG_HELLO:		return sizeof(struct rdmablk_hello);
	case RDMABLK_MSG_CHALLENGE:	return sizeof(struct rdmablk_challenge);
	case RDMABLK_MSG_PROOF:		return sizeof(struct rdmablk_proof);
	case RDMABLK_MSG_GRANT:		return sizeof(struct rdmablk_grant);
	case RDMABLK_MSG_REGIONS_GET:	return sizeof(struct rdmablk_regions_get);
	case RDMABLK_MSG_REGIONS:	return sizeof(struct rdmablk_regions);
	case RDMABLK_MSG_READY:		return sizeof(struct rdmablk_ready);
	case RDMABLK_MSG_LIVE:		return sizeof(struct rdmablk_live);
	case RDMABLK_MSG_COMMAND:	return sizeof(struct rdmablk_command);
	case RDMABLK_MSG_ANSWER:	return sizeof(struct rdmablk_answer);
	case RDMABLK_MSG_EVENT:		return sizeof(struct rdmablk_event_msg);
	case RDMABLK_MSG_CLOSE:		return sizeof(struct rdmablk_close);
	case RDMABLK_MSG_LIMITS_GET:	return sizeof(struct rdmablk_limits_get);
	case RDMABLK_MSG_LIMITS:	return sizeof(struct rdmablk_limits);
	case RDMABLK_MSG_VISIT:		return sizeof(struct rdmablk_visit);
	case RDMABLK_MSG_LIST_GET:	return sizeof(struct rdmablk_list_get);
	case RDMABLK_MSG_LIST:		return sizeof(struct rdmablk_list);
	case RDMABLK_MSG_SCRATCH_GET:	return sizeof(struct rdmablk_scratch_get);
	case RDMABLK_MSG_SCRATCH:	return sizeof(struct rdmablk_scratch);
	default:			return 0;
	}
}

/**
 * wire_check_head - the head of any message
 * @msg: as received
 * @len: bytes received
 * @version: that of the daemon
 * @type: enum rdmablk_msg_type, known and of the right length
 *
 * HELLO may have any length a control message can have: that of another version
 * is not ours to judge before its versions are.
 *
 * Return: enum rdmablk_reason.
 */
unsigned int wire_check_head(const void *msg, size_t len, uint16_t version, uint16_t *type)
{
	struct rdmablk_hdr hdr;
	size_t want;

	if (len < sizeof(hdr) || len > RDMABLK_CTRL_MSG_MAX)
		return RDMABLK_R_MALFORMED;
	memcpy(&hdr, msg, sizeof(hdr));
	*type = le16toh(hdr.type);
	want = wire_length(*type, version);
	if (!want || le16toh(hdr.length) != len)
		return RDMABLK_R_MALFORMED;
	if (*type != RDMABLK_MSG_HELLO && want != len)
		return RDMABLK_R_MALFORMED;
	if (hdr.reserved || hdr.reserved2)
		return RDMABLK_R_MALFORMED;
	if (*type != RDMABLK_MSG_COMMAND && *type != RDMABLK_MSG_ANSWER &&
	    (hdr.tag || hdr.generation))
		return RDMABLK_R_MALFORMED;
	return RDMABLK_OK;
}

/* Features of both sides; without the one that it needs a feature does not count. */
static uint64_t choose_features(const struct rdmablk_hello *hello)
{
	uint64_t both = le64toh(hello->features_offered) & RDMABLK_FEATURES_V1;

	if (!(both & RDMABLK_F_COMMANDS))
		both &= ~RDMABLK_F_STAGED;
	if (!(both & RDMABLK_F_STAGED))
		both &= ~(RDMABLK_F_LISTS | RDMABLK_F_IMPLIED);
	return both;
}

static unsigned int check_hello_fields(const struct rdmablk_hello *hello, uint16_t version)
{
	uint64_t required = le64toh(hello->features_required);
	uint16_t queues = le16toh(hello->nr_queues);
	uint32_t methods = le32toh(hello->auth_methods);
	bool visit = le32toh(hello->flags) == RDMABLK_HELLO_VISIT;

	if (required & ~le64toh(hello->features_offered))
		return RDMABLK_R_MALFORMED;
	if (le32toh(hello->flags) & ~RDMABLK_HELLO_FLAGS && !visit)
		return RDMABLK_R_MALFORMED;
	if (!(le32toh(hello->flags) & RDMABLK_HELLO_RESUME) &&
	    !all_zero(hello->uuid, sizeof(hello->uuid)))
		return RDMABLK_R_MALFORMED;
	if (!queues || queues > RDMABLK_MAX_QUEUES || !hello->queue_depth ||
	    !hello->keep_alive_ms || !hello->generation || !methods)
		return RDMABLK_R_MALFORMED;
	if (!name_ok(hello->host_name, true) || !name_ok(hello->export_name, visit) ||
	    (visit && hello->export_name[0]))
		return RDMABLK_R_MALFORMED;
	if (required & ~choose_features(hello))
		return RDMABLK_R_FEATURE;
	if (version == RDMABLK_VERSION_PROVEN)
		return methods == RDMABLK_AUTH_PSK ? RDMABLK_OK : RDMABLK_R_AUTH_REQUIRED;
	if (!(methods & RDMABLK_AUTH_NONE))
		return RDMABLK_R_AUTH_REQUIRED;
	return RDMABLK_OK;
}

/* What HELLO of version 2 has behind that of version 1 */
static unsigned int check_hello2(const struct rdmablk_hello2 *h, struct wire_hello *out)
{
	/* A range would let the peer of a changed request think that 1 was chosen. */
	if (h->hello.version_min != h->hello.version_max || h->reserved)
		return RDMABLK_R_MALFORMED;
	if (le16toh(h->group) != RDMABLK_GROUP_P256 ||
	    le16toh(h->suite) != RDMABLK_SUITE_AES256_GCM)
		return RDMABLK_R_FEATURE;
	memcpy(out->key_id, h->key_id, sizeof(out->key_id));
	memcpy(out->point, h->point, sizeof(out->point));
	return RDMABLK_OK;
}

/**
 * wire_check_hello - HELLO
 * @msg: passed wire_check_head()
 * @len: bytes
 * @version: that of the daemon
 * @out: decoded
 *
 * Return: enum rdmablk_reason.
 */
unsigned int wire_check_hello(const void *msg, size_t len, uint16_t version,
			      struct wire_hello *out)
{
	struct rdmablk_hello2 whole = { 0 };
	const struct rdmablk_hello *hello = &whole.hello;
	unsigned int reason;

	if (len < offsetof(struct rdmablk_hello, flags))
		return RDMABLK_R_MALFORMED;
	memcpy(&whole, msg, len < sizeof(whole) ? len : sizeof(whole));
	reason = choose_version(le16toh(hello->version_min),
				le16toh(hello->version_max), version, &out->version);
	if (reason)
		return reason;
	if (len != wire_length(RDMABLK_MSG_HELLO, version))
		return RDMABLK_R_MALFORMED;
	reason = check_hello_fields(hello, version);
	if (!reason && version == RDMABLK_VERSION_PROVEN)
		reason = check_hello2(&whole, out);
	if (reason)
		return reason;
	out->flags = le32toh(hello->flags);
	out->features = choose_features(hello);
	memcpy(out->host_id, hello->host_id, sizeof(out->host_id));
	memcpy(out->boot_nonce, hello->boot_nonce, sizeof(out->boot_nonce));
	memcpy(out->instance_id, hello->instance_id, sizeof(out->instance_id));
	out->generation = le32toh(hello->generation);
	out->nr_queues = le16toh(hello->nr_queues);
	out->queue_depth = le16toh(hello->queue_depth);
	out->keep_alive_ms = le32toh(hello->keep_alive_ms);
	memcpy(out->host_name, hello->host_name, sizeof(out->host_name));
	memcpy(out->export_name, hello->export_name, sizeof(out->export_name));
	memcpy(out->uuid, hello->uuid, sizeof(out->uuid));
	return RDMABLK_OK;
}

/**
 * wire_check_regions_get - REGIONS_GET
 * @msg: passed wire_check_head()
 * @len: bytes
 * @nr_regions: of the session
 * @first: the region asked for
 *
 * Return: enum rdmablk_reason.
 */
unsigned int wire_check_regions_get(const void *msg, size_t len,
				    uint32_t nr_regions, uint32_t *first)
{
	struct rdmablk_regions_get get;

	if (len != sizeof(get))
		return RDMABLK_R_MALFORMED;
	memcpy(&get, msg, sizeof(get));
	*first = le32toh(get.first);
	return get.reserved || *first >= nr_regions ? RDMABLK_R_MALFORMED :
						      RDMABLK_OK;
}

/**
 * wire_check_list_get - LIST_GET
 * @msg: passed wire_check_head()
 * @len: bytes
 * @after: RDMABLK_NAME_LEN bytes: the name before those wanted, or ""
 *
 * Return: enum rdmablk_reason.
 */
unsigned int wire_check_list_get(const void *msg, size_t len, char *after)
{
	struct rdmablk_list_get get;

	if (len != sizeof(get))
		return RDMABLK_R_MALFORMED;
	memcpy(&get, msg, sizeof(get));
	if (!name_ok(get.after, true))
		return RDMABLK_R_MALFORMED;
	memcpy(after, get.after, sizeof(get.after));
	return RDMABLK_OK;
}

/**
 * wire_check_scratch_get - SCRATCH_GET
 * @msg: passed wire_check_head()
 * @len: bytes
 * @bytes: wanted, 1 to RDMABLK_MAX_SCRATCH
 *
 * Return: enum rdmablk_reason.
 */
unsigned int wire_check_scratch_get(const void *msg, size_t len, uint32_t *bytes)
{
	struct rdmablk_scratch_get get;

	if (len != sizeof(get))
		return RDMABLK_R_MALFORMED;
	memcpy(&get, msg, sizeof(get));
	*bytes = le32toh(get.bytes);
	return get.reserved || !*bytes || *bytes > RDMABLK_MAX_SCRATCH ? RDMABLK_R_MALFORMED :
									 RDMABLK_OK;
}

/**
 * wire_check_command - COMMAND on the control queue
 * @msg: passed wire_check_head()
 * @len: bytes
 * @out: decoded; an unknown operation is not an error of the message
 *
 * The caller checks whether a flag of LOGOUT was agreed on.
 *
 * Return: enum rdmablk_reason.
 */
unsigned int wire_check_command(const void *msg, size_t len,
				struct wire_command *out)
{
	struct rdmablk_command cmd;
	unsigned int flags = 0;

	if (len != sizeof(cmd))
		return RDMABLK_R_MALFORMED;
	memcpy(&cmd, msg, sizeof(cmd));
	out->op = le16toh(cmd.op);
	out->flags = le16toh(cmd.flags);
	out->tag = le16toh(cmd.hdr.tag);
	out->generation = le32toh(cmd.hdr.generation);
	if (out->tag >= RDMABLK_CTRL_TAGS || cmd.reserved ||
	    !all_zero(cmd.reserved2, sizeof(cmd.reserved2)))
		return RDMABLK_R_MALFORMED;
	if (out->op != RDMABLK_OP_KEEPALIVE && out->op != RDMABLK_OP_LOGOUT)
		return RDMABLK_OK;
	if (out->op == RDMABLK_OP_LOGOUT)
		flags = RDMABLK_LOGOUT_CLEAN;
	if (out->flags & ~flags || cmd.offset || cmd.bytes)
		return RDMABLK_R_MALFORMED;
	if (out->tag != (out->op == RDMABLK_OP_KEEPALIVE ?
			 RDMABLK_TAG_KEEPALIVE : RDMABLK_TAG_LOGOUT))
		return RDMABLK_R_MALFORMED;
	return RDMABLK_OK;
}

/**
 * wire_check_close - CLOSE
 * @msg: passed wire_check_head()
 * @len: bytes
 * @reason: of the peer; known or not
 *
 * Return: enum rdmablk_reason.
 */
unsigned int wire_check_close(const void *msg, size_t len,
			      unsigned int *reason)
{
	struct rdmablk_close close;

	if (len != sizeof(close))
		return RDMABLK_R_MALFORMED;
	memcpy(&close, msg, sizeof(close));
	*reason = le16toh(close.reason);
	return close.reserved || close.reserved2 ? RDMABLK_R_MALFORMED :
						   RDMABLK_OK;
}

/**
 * wire_retry_after - when a refused peer may try again
 * @reason: enum rdmablk_reason
 *
 * Return: milliseconds; 0: not by itself.
 */
uint32_t wire_retry_after(unsigned int reason)
{
	switch (reason) {
	case RDMABLK_R_FENCING:
		return RETRY_FENCING;
	case RDMABLK_R_LIMIT_LOGINS:
	case RDMABLK_R_NO_MEMORY:
	case RDMABLK_R_DEVICE_FULL:
	case RDMABLK_R_SHUTDOWN:
	case RDMABLK_R_DEVICE_GONE:
		return RETRY_LATER;
	default:
		return 0;
	}
}

static struct rdmablk_hdr head2(uint16_t type, uint16_t version)
{
	return (struct rdmablk_hdr){
		.type = htole16(type),
		.length = htole16((uint16_t)wire_length(type, version)),
	};
}

/* Of a message that is the same in both versions */
static struct rdmablk_hdr head(uint16_t type)
{
	return head2(type, RDMABLK_VERSION_OPEN);
}

/**
 * wire_pack_accept - private data of an accepting reply
 * @out: filled
 * @version: spoken from here on
 * @queue: of the request
 */
void wire_pack_accept(struct rdmablk_cm_accept *out, uint16_t version,
		      uint16_t queue)
{
	*out = (struct rdmablk_cm_accept){
		.magic = htole32(RDMABLK_MAGIC),
		.version = htole16(version),
		.queue = htole16(queue),
	};
}

/**
 * wire_pack_reject - private data of a reject
 * @out: filled
 * @reason: enum rdmablk_reason
 * @version: that of the daemon
 */
void wire_pack_reject(struct rdmablk_cm_reject *out, unsigned int reason, uint16_t version)
{
	*out = (struct rdmablk_cm_reject){
		.magic = htole32(RDMABLK_MAGIC),
		.reason = htole16((uint16_t)reason),
		.version_min = htole16(version),
		.version_max = htole16(version),
		.retry_after_ms = htole32(wire_retry_after(reason)),
	};
}

/**
 * wire_pack_challenge - CHALLENGE
 * @out: filled
 * @hello: what it answers
 * @session_id: of the session to be
 * @nonce: RDMABLK_NONCE_LEN random bytes
 */
void wire_pack_challenge(struct rdmablk_challenge *out,
			 const struct wire_hello *hello, uint64_t session_id,
			 const uint8_t *nonce)
{
	*out = (struct rdmablk_challenge){
		.hdr = head(RDMABLK_MSG_CHALLENGE),
		.version = htole16(hello->version),
		.auth_method = htole32(RDMABLK_AUTH_NONE),
		.features = htole64(hello->features),
		.session_id = htole64(session_id),
	};
	memcpy(out->nonce, nonce, sizeof(out->nonce));
}

/**
 * wire_pack_challenge2 - CHALLENGE of version 2, but for the public key
 * @out: filled; @point is zero
 * @hello: what it answers
 * @session_id: of the session to be
 * @nonce: RDMABLK_NONCE_LEN random bytes
 * @target_id: RDMABLK_ID_LEN bytes
 */
void wire_pack_challenge2(struct rdmablk_challenge2 *out, const struct wire_hello *hello,
			  uint64_t session_id, const uint8_t *nonce, const uint8_t *target_id)
{
	*out = (struct rdmablk_challenge2){
		.group = htole16(RDMABLK_GROUP_P256),
		.suite = htole16(RDMABLK_SUITE_AES256_GCM),
	};
	wire_pack_challenge(&out->challenge, hello, session_id, nonce);
	out->challenge.hdr = head2(RDMABLK_MSG_CHALLENGE, RDMABLK_VERSION_PROVEN);
	out->challenge.auth_method = htole32(RDMABLK_AUTH_PSK);
	memcpy(out->target_id, target_id, sizeof(out->target_id));
}

/**
 * wire_pack_grant - GRANT but for its MAC
 * @out: filled; @mac is zero
 * @in: what it says
 * @version: of the session
 */
void wire_pack_grant(struct rdmablk_grant *out, const struct wire_grant *in, uint16_t version)
{
	*out = (struct rdmablk_grant){
		.hdr = head2(RDMABLK_MSG_GRANT, version),
		.session_id = htole64(in->session_id),
		.features = htole64(in->features),
		.size = htole64(in->size),
		.region_bytes = htole64(in->region_bytes),
		.nr_regions = htole32(in->nr_regions),
		.flags = htole32(in->flags),
		.logical_block = htole32(in->logical_block),
		.physical_block = htole32(in->physical_block),
		.io_min = htole32(in->io_min),
		.io_opt = htole32(in->io_opt),
		.max_io = htole32(in->max_io),
		.nr_queues = htole16(in->nr_queues),
		.queue_depth = htole16(in->queue_depth),
		.read_depth = htole16(in->read_depth),
		.keep_alive_ms = htole32(in->keep_alive_ms),
		.session_tmo_ms = htole32(in->session_tmo_ms),
	};
	memcpy(out->uuid, in->uuid, sizeof(out->uuid));
	memcpy(out->epoch, in->epoch, sizeof(out->epoch));
	memcpy(out->target_name, in->target_name,
	       strnlen(in->target_name, RDMABLK_NAME_LEN - 1));
}

/**
 * wire_pack_regions - REGIONS without regions and MAC
 * @out: filled; the caller lays out its regions
 * @first: number of the first
 * @count: how many
 * @version: of the session
 */
void wire_pack_regions(struct rdmablk_regions *out, uint32_t first, uint32_t count,
		       uint16_t version)
{
	*out = (struct rdmablk_regions){
		.hdr = head2(RDMABLK_MSG_REGIONS, version),
		.first = htole32(first),
		.count = htole32(count),
	};
}

/**
 * wire_pack_region - one region of REGIONS
 * @out: filled
 * @iova: remote address
 * @rkey: remote key
 */
void wire_pack_region(struct rdmablk_region *out, uint64_t iova, uint32_t rkey)
{
	*out = (struct rdmablk_region){
		.iova = htole64(iova),
		.rkey = htole32(rkey),
	};
}

/* What a session that only reads is offered: what it asks for where there is a cache, too. */
#define READ_ONLY_OPS	(RDMABLK_OP_BIT(RDMABLK_OP_READ) |	\
			 RDMABLK_OP_BIT(RDMABLK_OP_DIRTY) |	\
			 RDMABLK_OP_BIT(RDMABLK_OP_FLUSH))

/**
 * wire_pack_limits - LIMITS but for its MAC
 * @out: filled; @mac is zero
 * @scope: what it says; of a session that only reads without what that session may not do
 * @version: of the session
 */
void wire_pack_limits(struct rdmablk_limits *out, const struct wire_scope *scope,
		      uint16_t version)
{
	struct wire_scope offer = *scope, *in = &offer;

	if (!scope->writer) {
		offer.ops &= READ_ONLY_OPS;
		offer.max_discard = 0;
		offer.max_zeroes = 0;
		offer.max_erase = 0;
		offer.discard_granularity = 0;
		offer.discard_alignment = 0;
		offer.erase_granularity = 0;
	}
	*out = (struct rdmablk_limits){
		.hdr = head2(RDMABLK_MSG_LIMITS, version),
		.ops = htole32(in->ops | RDMABLK_OP_BIT(RDMABLK_OP_FENCE)),
		.cmd_depth = htole16(in->cmd_depth),
		.max_ranges = htole16(in->max_ranges),
		.granule = htole32(in->granule),
		.trailer_bytes = htole32(in->trailer_bytes),
		.max_discard = htole64(in->max_discard),
		.max_zeroes = htole64(in->max_zeroes),
		.max_erase = htole64(in->max_erase),
		.discard_granularity = htole32(in->discard_granularity),
		.discard_alignment = htole32(in->discard_alignment),
		.erase_granularity = htole32(in->erase_granularity),
		.slot_bytes = htole32(in->slot_bytes),
		.slot_iova = htole64(in->slot_iova),
		.slot_rkey = htole32(in->slot_rkey),
	};
}

/**
 * wire_pack_live - LIVE
 * @out: filled
 */
void wire_pack_live(struct rdmablk_live *out)
{
	*out = (struct rdmablk_live){ .hdr = head(RDMABLK_MSG_LIVE) };
}

/**
 * wire_pack_answer - ANSWER
 * @out: filled
 * @cmd: the command
 * @status: enum rdmablk_reason
 */
void wire_pack_answer(struct rdmablk_answer *out,
		      const struct wire_command *cmd, unsigned int status)
{
	*out = (struct rdmablk_answer){
		.hdr = head(RDMABLK_MSG_ANSWER),
		.status = htole16((uint16_t)status),
	};
	out->hdr.tag = htole16(cmd->tag);
	out->hdr.generation = htole32(cmd->generation);
}

/**
 * wire_pack_event - EVENT
 * @out: filled
 * @event: enum rdmablk_event
 * @value: its value
 */
void wire_pack_event(struct rdmablk_event_msg *out, uint16_t event,
		     uint64_t value)
{
	*out = (struct rdmablk_event_msg){
		.hdr = head(RDMABLK_MSG_EVENT),
		.event = htole16(event),
		.value = htole64(value),
	};
}

/**
 * wire_pack_visit - VISIT
 * @out: filled
 * @session_id: of the visit
 * @target_name: for people
 */
void wire_pack_visit(struct rdmablk_visit *out, uint64_t session_id, const char *target_name)
{
	*out = (struct rdmablk_visit){
		.hdr = head(RDMABLK_MSG_VISIT),
		.session_id = htole64(session_id),
	};
	memcpy(out->target_name, target_name, strnlen(target_name, RDMABLK_NAME_LEN - 1));
}

/**
 * wire_pack_list - LIST without exports
 * @out: filled; the caller lays out its exports
 * @count: how many
 * @more: others follow the last of them
 */
void wire_pack_list(struct rdmablk_list *out, unsigned int count, bool more)
{
	*out = (struct rdmablk_list){
		.hdr = head(RDMABLK_MSG_LIST),
		.count = htole32(count),
		.more = htole32(more),
	};
}

/**
 * wire_pack_listed - one export of LIST
 * @out: filled
 * @name: of the export
 * @size: bytes
 * @logical_block: bytes
 * @flags: RDMABLK_GRANT_* and RDMABLK_LISTED_*
 */
void wire_pack_listed(struct rdmablk_listed *out, const char *name, uint64_t size,
		      uint32_t logical_block, uint32_t flags)
{
	*out = (struct rdmablk_listed){
		.size = htole64(size),
		.logical_block = htole32(logical_block),
		.flags = htole32(flags),
	};
	memcpy(out->name, name, strnlen(name, RDMABLK_NAME_LEN - 1));
}

/**
 * wire_pack_scratch - SCRATCH
 * @out: filled
 * @iova: remote address
 * @rkey: remote key
 * @bytes: of the region
 */
void wire_pack_scratch(struct rdmablk_scratch *out, uint64_t iova, uint32_t rkey,
		       uint32_t bytes)
{
	*out = (struct rdmablk_scratch){
		.hdr = head(RDMABLK_MSG_SCRATCH),
		.iova = htole64(iova),
		.rkey = htole32(rkey),
		.bytes = htole32(bytes),
	};
}

/**
 * wire_pack_no_scratch - SCRATCH without a region
 * @out: filled
 * @reason: enum rdmablk_reason: why there is none
 */
void wire_pack_no_scratch(struct rdmablk_scratch *out, unsigned int reason)
{
	*out = (struct rdmablk_scratch){
		.hdr = head(RDMABLK_MSG_SCRATCH),
		.reason = htole16((uint16_t)reason),
	};
}

/**
 * wire_pack_reauth_challenge - REAUTH_CHALLENGE, but for the public key
 * @out: filled; @point is zero
 * @nonce: RDMABLK_NONCE_LEN random bytes
 */
void wire_pack_reauth_challenge(struct rdmablk_reauth_challenge *out, const uint8_t *nonce)
{
	*out = (struct rdmablk_reauth_challenge){
		.hdr = head2(RDMABLK_MSG_REAUTH_CHALLENGE, RDMABLK_VERSION_PROVEN),
	};
	memcpy(out->nonce, nonce, sizeof(out->nonce));
}

/**
 * wire_pack_reauth_done - REAUTH_DONE
 * @out: filled
 */
void wire_pack_reauth_done(struct rdmablk_reauth_done *out)
{
	*out = (struct rdmablk_reauth_done){
		.hdr = head2(RDMABLK_MSG_REAUTH_DONE, RDMABLK_VERSION_PROVEN),
	};
}

/**
 * wire_pack_close - CLOSE
 * @out: filled
 * @reason: enum rdmablk_reason
 * @version: that of the daemon
 */
void wire_pack_close(struct rdmablk_close *out, unsigned int reason, uint16_t version)
{
	*out = (struct rdmablk_close){
		.hdr = head(RDMABLK_MSG_CLOSE),
		.reason = htole16((uint16_t)reason),
		.version_min = htole16(version),
		.version_max = htole16(version),
		.retry_after_ms = htole32(wire_retry_after(reason)),
	};
}
