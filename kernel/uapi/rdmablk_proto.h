/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * rdmablk wire protocol, version 1: what an initiator (rdmablk.ko) and a target
 * (rdmablkd) say to each other. Both compile this file; nothing else describes a
 * byte on the wire. Documentation/protocol.rst explains the sequences.
 *
 * Rules of every structure here:
 *
 * - integers are little-endian, naturally aligned, padding is explicit, named
 *   "reserved", sent as zero and checked to be zero;
 * - size and offsets are asserted below the definition;
 * - a message is exactly as long as its type says: a longer or shorter one is
 *   malformed;
 * - character arrays are printable ASCII, padded with NUL to their full size, at
 *   least one NUL at the end.
 *
 * What never changes from version to version: struct rdmablk_hdr, the place of
 * version_min and version_max in struct rdmablk_hello, struct rdmablk_close and
 * struct rdmablk_cm_reject. They suffice to say "no common version".
 */
#ifndef _UAPI_RDMABLK_PROTO_H
#define _UAPI_RDMABLK_PROTO_H

#include <linux/types.h>

#define RDMABLK_ASSERT(cond)	_Static_assert(cond, #cond)
#define RDMABLK_SIZE(type, size)					\
	RDMABLK_ASSERT(sizeof(struct type) == (size))
#define RDMABLK_OFFSET(type, member, off)				\
	RDMABLK_ASSERT(__builtin_offsetof(struct type, member) == (off))

#define RDMABLK_VERSION_MIN	1	/* lowest version this header speaks */
#define RDMABLK_VERSION_MAX	1	/* highest */

#define RDMABLK_PORT		20420	/* default port of rdma_cm (RDMA_PS_TCP) */
#define RDMABLK_MAGIC		0x6b6c6272	/* "rblk" as bytes on the wire */

#define RDMABLK_NAME_LEN	64	/* export and host names, with their NUL */
#define RDMABLK_ID_LEN		16	/* UUIDs, nonces of hosts, epochs */
#define RDMABLK_NONCE_LEN	32
#define RDMABLK_MAC_LEN		32	/* HMAC-SHA256 */

#define RDMABLK_CTRL_MSG_MAX	512	/* no control message is larger, bytes */
#define RDMABLK_CTRL_RECVS	8	/* receives each side keeps posted on queue 0 */
#define RDMABLK_CTRL_TAGS	4	/* commands in flight on queue 0 */
#define RDMABLK_MAX_QUEUES	256	/* hardware queues of a session */
#define RDMABLK_MAX_REGIONS	4096	/* of an export */
#define RDMABLK_REGIONS_PER_MSG	16
#define RDMABLK_MAX_CMD_DEPTH	1024	/* commands in flight on a write queue */
#define RDMABLK_CMD_BYTES	64	/* of a command without what follows it */
#define RDMABLK_MAX_ANSWERS	64	/* in one SEND */
#define RDMABLK_MAX_TRAILER	16384	/* what follows a command or answers it, bytes */
#define RDMABLK_MIN_GRANULE	512	/* of dirty ranges, bytes, a power of two */
#define RDMABLK_MAX_GRANULE	(1U << 20)
#define RDMABLK_MAX_SLOT	(1U << 24)	/* bytes */
#define RDMABLK_MIN_REGION	(1U << 20)	/* bytes; a region is a power of two */
#define RDMABLK_MAX_SIZE	(1ULL << 62)	/* bytes; of an export */
#define RDMABLK_MIN_KEEP_ALIVE_MS	100
#define RDMABLK_MAX_KEEP_ALIVE_MS	600000
#define RDMABLK_MAX_SESSION_MS	(4 * RDMABLK_MAX_KEEP_ALIVE_MS)

/*
 * What the target may grant in view of what HELLO asks for: a keep-alive timeout of so many
 * times that, or so long, whichever is more; and a session timeout of so many times the
 * keep-alive timeout, or so long. For that time an initiator holds what was under way when
 * the connection was lost.
 */
#define RDMABLK_KEEP_ALIVE_FACTOR	4
#define RDMABLK_KEEP_ALIVE_ANY_MS	60000
#define RDMABLK_SESSION_FACTOR		20
#define RDMABLK_SESSION_ANY_MS		300000

/*
 * Labels of the MACs. Each MAC is HMAC-SHA256 over its label (16 bytes) and then
 * the parts named; no two uses share a label, so that no MAC serves for another.
 *
 * K is the key both sides know: the pre-shared key, or 32 zero bytes with
 * RDMABLK_AUTH_NONE, which keeps one code path but authenticates nobody.
 *
 *   proof       K,           label, HELLO, CHALLENGE
 *   session key K,           label, HELLO.nonce, CHALLENGE.nonce,
 *                            session_id (__le64), generation (__le32)
 *   grant       session key, label, GRANT without its mac
 *   regions     session key, label, REGIONS without its mac
 *   limits      session key, label, LIMITS without its mac
 *   join        session key, label, struct rdmablk_cm_request without its mac
 */
#define RDMABLK_LABEL_LEN	16
#define RDMABLK_LABEL_PROOF	"rdmablk proof  1"
#define RDMABLK_LABEL_SESSION	"rdmablk session1"
#define RDMABLK_LABEL_GRANT	"rdmablk grant  1"
#define RDMABLK_LABEL_REGIONS	"rdmablk regions1"
#define RDMABLK_LABEL_LIMITS	"rdmablk limits 1"
#define RDMABLK_LABEL_JOIN	"rdmablk join   1"

/**
 * enum rdmablk_reason - why something was refused, closed or failed
 *
 * One list for connection rejects, CLOSE messages and command answers. Numbers
 * are never reused. rdmablk_reason_text() has the words.
 *
 * @RDMABLK_OK: no error
 * @RDMABLK_R_MAGIC: not an rdmablk peer
 * @RDMABLK_R_VERSION: no common protocol version
 * @RDMABLK_R_MALFORMED: malformed message
 * @RDMABLK_R_STATE: message not allowed in this state
 * @RDMABLK_R_FEATURE: a required feature is missing
 * @RDMABLK_R_NO_EXPORT: no such export
 * @RDMABLK_R_READ_ONLY: export is read-only
 * @RDMABLK_R_BUSY: export is in use by another host
 * @RDMABLK_R_BUSY_INSTANCE: export is in use by this host already
 * @RDMABLK_R_FENCING: previous session is being fenced
 * @RDMABLK_R_LIMIT_LOGINS: too many logins in progress
 * @RDMABLK_R_LIMIT_SESSIONS: too many sessions
 * @RDMABLK_R_LIMIT_QUEUES: too many queues
 * @RDMABLK_R_LIMIT_MEMORY: too much registered memory
 * @RDMABLK_R_NO_MEMORY: target is out of memory
 * @RDMABLK_R_DEVICE_FULL: target's RDMA device has no room for more queues
 * @RDMABLK_R_AUTH_REQUIRED: authentication required
 * @RDMABLK_R_AUTH_FAILED: authentication failed
 * @RDMABLK_R_JOIN_SESSION: queue joins an unknown session
 * @RDMABLK_R_JOIN_MAC: queue join does not verify
 * @RDMABLK_R_JOIN_TWICE: queue joined already
 * @RDMABLK_R_JOIN_DEVICE: queue joins on another RDMA device or port
 * @RDMABLK_R_JOIN_MISSING: not all queues have joined
 * @RDMABLK_R_LOGOUT: logged out
 * @RDMABLK_R_SHUTDOWN: target is shutting down
 * @RDMABLK_R_EXPORT_GONE: export was removed
 * @RDMABLK_R_STOLEN: export was taken over by another host
 * @RDMABLK_R_EXPIRED: session was silent for too long
 * @RDMABLK_R_REPLACED: session was replaced by a newer login
 * @RDMABLK_R_ACCESS: access outside the granted regions
 * @RDMABLK_R_LOGIN_TIMEOUT: login took too long
 * @RDMABLK_R_CONNECTION: connection lost
 * @RDMABLK_R_DEVICE_GONE: RDMA device was removed
 * @RDMABLK_R_DATA_LOST: store has lost its contents
 * @RDMABLK_R_IDENTITY: export is not the one it was
 * @RDMABLK_R_SHRUNK: export has become smaller or takes less
 * @RDMABLK_R_IO_TIMEOUT: command was not answered in time
 * @RDMABLK_R_UNSUPPORTED: command not supported
 * @RDMABLK_R_RANGE: command outside the export
 * @RDMABLK_R_STORE_IO: store reports an I/O error
 * @RDMABLK_R_STORE_SPACE: store is out of space
 * @RDMABLK_R_STORE_READ_ONLY: store has become read-only
 * @RDMABLK_R_STORE_FAILED: store has failed and must be reopened
 * @RDMABLK_R_INTERNAL: internal error of the target
 */
enum rdmablk_reason {
	RDMABLK_OK			= 0,
	/* the peer broke the protocol */
	RDMABLK_R_MAGIC			= 1,
	RDMABLK_R_VERSION		= 2,
	RDMABLK_R_MALFORMED		= 3,
	RDMABLK_R_STATE			= 4,
	RDMABLK_R_FEATURE		= 5,
	/* the export cannot be had */
	RDMABLK_R_NO_EXPORT		= 16,
	RDMABLK_R_READ_ONLY		= 17,
	RDMABLK_R_BUSY			= 18,
	RDMABLK_R_BUSY_INSTANCE		= 19,
	RDMABLK_R_FENCING		= 20,
	/* a limit of the target */
	RDMABLK_R_LIMIT_LOGINS		= 32,
	RDMABLK_R_LIMIT_SESSIONS	= 33,
	RDMABLK_R_LIMIT_QUEUES		= 34,
	RDMABLK_R_LIMIT_MEMORY		= 35,
	RDMABLK_R_NO_MEMORY		= 36,
	RDMABLK_R_DEVICE_FULL		= 37,
	/* authentication and joining */
	RDMABLK_R_AUTH_REQUIRED		= 48,
	RDMABLK_R_AUTH_FAILED		= 49,
	RDMABLK_R_JOIN_SESSION		= 50,
	RDMABLK_R_JOIN_MAC		= 51,
	RDMABLK_R_JOIN_TWICE		= 52,
	RDMABLK_R_JOIN_DEVICE		= 53,
	RDMABLK_R_JOIN_MISSING		= 54,
	/* the end of a session */
	RDMABLK_R_LOGOUT		= 64,
	RDMABLK_R_SHUTDOWN		= 65,
	RDMABLK_R_EXPORT_GONE		= 66,
	RDMABLK_R_STOLEN		= 67,
	RDMABLK_R_EXPIRED		= 68,
	RDMABLK_R_REPLACED		= 69,
	RDMABLK_R_ACCESS		= 70,
	RDMABLK_R_LOGIN_TIMEOUT		= 71,
	RDMABLK_R_CONNECTION		= 72,
	RDMABLK_R_DEVICE_GONE		= 73,
	RDMABLK_R_DATA_LOST		= 74,
	RDMABLK_R_IDENTITY		= 75,
	RDMABLK_R_SHRUNK		= 76,
	RDMABLK_R_IO_TIMEOUT		= 77,
	/* commands */
	RDMABLK_R_UNSUPPORTED		= 80,
	RDMABLK_R_RANGE			= 81,
	RDMABLK_R_STORE_IO		= 82,
	RDMABLK_R_STORE_SPACE		= 83,
	RDMABLK_R_STORE_READ_ONLY	= 84,
	RDMABLK_R_STORE_FAILED		= 85,
	RDMABLK_R_INTERNAL		= 96,
};

static inline const char *rdmablk_reason_text(unsigned int reason)
{
	switch (reason) {
	case RDMABLK_OK:		return "no error";
	case RDMABLK_R_MAGIC:		return "not an rdmablk peer";
	case RDMABLK_R_VERSION:		return "no common protocol version";
	case RDMABLK_R_MALFORMED:	return "malformed message";
	case RDMABLK_R_STATE:		return "message not allowed in this state";
	case RDMABLK_R_FEATURE:		return "a required feature is missing";
	case RDMABLK_R_NO_EXPORT:	return "no such export";
	case RDMABLK_R_READ_ONLY:	return "export is read-only";
	case RDMABLK_R_BUSY:		return "export is in use by another host";
	case RDMABLK_R_BUSY_INSTANCE:	return "export is in use by this host already";
	case RDMABLK_R_FENCING:		return "previous session is being fenced";
	case RDMABLK_R_LIMIT_LOGINS:	return "too many logins in progress";
	case RDMABLK_R_LIMIT_SESSIONS:	return "too many sessions";
	case RDMABLK_R_LIMIT_QUEUES:	return "too many queues";
	case RDMABLK_R_LIMIT_MEMORY:	return "too much registered memory";
	case RDMABLK_R_NO_MEMORY:	return "target is out of memory";
	case RDMABLK_R_DEVICE_FULL:
		return "target's RDMA device has no room for more queues";
	case RDMABLK_R_AUTH_REQUIRED:	return "authentication required";
	case RDMABLK_R_AUTH_FAILED:	return "authentication failed";
	case RDMABLK_R_JOIN_SESSION:	return "queue joins an unknown session";
	case RDMABLK_R_JOIN_MAC:	return "queue join does not verify";
	case RDMABLK_R_JOIN_TWICE:	return "queue joined already";
	case RDMABLK_R_JOIN_DEVICE:	return "queue joins on another RDMA device or port";
	case RDMABLK_R_JOIN_MISSING:	return "not all queues have joined";
	case RDMABLK_R_LOGOUT:		return "logged out";
	case RDMABLK_R_SHUTDOWN:	return "target is shutting down";
	case RDMABLK_R_EXPORT_GONE:	return "export was removed";
	case RDMABLK_R_STOLEN:		return "export was taken over by another host";
	case RDMABLK_R_EXPIRED:		return "session was silent for too long";
	case RDMABLK_R_REPLACED:	return "session was replaced by a newer login";
	case RDMABLK_R_ACCESS:		return "access outside the granted regions";
	case RDMABLK_R_LOGIN_TIMEOUT:	return "login took too long";
	case RDMABLK_R_CONNECTION:	return "connection lost";
	case RDMABLK_R_DEVICE_GONE:	return "RDMA device was removed";
	case RDMABLK_R_DATA_LOST:	return "store has lost its contents";
	case RDMABLK_R_IDENTITY:	return "export is not the one it was";
	case RDMABLK_R_SHRUNK:		return "export has become smaller or takes less";
	case RDMABLK_R_IO_TIMEOUT:	return "command was not answered in time";
	case RDMABLK_R_UNSUPPORTED:	return "command not supported";
	case RDMABLK_R_RANGE:		return "command outside the export";
	case RDMABLK_R_STORE_IO:	return "store reports an I/O error";
	case RDMABLK_R_STORE_SPACE:	return "store is out of space";
	case RDMABLK_R_STORE_READ_ONLY:	return "store has become read-only";
	case RDMABLK_R_STORE_FAILED:	return "store has failed and must be reopened";
	case RDMABLK_R_INTERNAL:	return "internal error of the target";
	default:			return "unknown reason";
	}
}

/**
 * enum rdmablk_kind - what a queue pair of a session carries
 * @RDMABLK_KIND_CONTROL: queue 0: login, keep-alive, events. SENDs only.
 * @RDMABLK_KIND_READ: RDMA READs of the initiator, nothing else
 * @RDMABLK_KIND_WRITE: RDMA WRITEs of the initiator and, with RDMABLK_F_COMMANDS,
 *	commands and their answers
 */
enum rdmablk_kind {
	RDMABLK_KIND_CONTROL	= 0,
	RDMABLK_KIND_READ	= 1,
	RDMABLK_KIND_WRITE	= 2,
};

/**
 * struct rdmablk_cm_request - private data of a connection request (56 bytes,
 *	all that rdma_cm leaves)
 * @magic: RDMABLK_MAGIC
 * @version_min: lowest protocol version of the initiator
 * @version_max: highest; of a data queue: both are the session's version
 * @kind: enum rdmablk_kind
 * @reserved: zero
 * @queue: 0 for the control queue; 1..2n for the data queues of n hardware
 *	queues: hardware queue i READs on 2i+1 and WRITEs on 2i+2
 * @generation: login generation of the session; 0 for the control queue
 * @session_id: as granted; 0 for the control queue
 * @mac: join MAC; zero for the control queue
 */
struct rdmablk_cm_request {
	__le32	magic;
	__le16	version_min;
	__le16	version_max;
	__u8	kind;
	__u8	reserved;
	__le16	queue;
	__le32	generation;
	__le64	session_id;
	__u8	mac[RDMABLK_MAC_LEN];
};

RDMABLK_SIZE(rdmablk_cm_request, 56);
RDMABLK_OFFSET(rdmablk_cm_request, kind, 8);
RDMABLK_OFFSET(rdmablk_cm_request, session_id, 16);
RDMABLK_OFFSET(rdmablk_cm_request, mac, 24);

/**
 * struct rdmablk_cm_accept - private data of the accepting reply
 * @magic: RDMABLK_MAGIC
 * @version: the version both sides speak from here on
 * @queue: the queue number of the request
 * @reserved: zero
 *
 * rdma_cm pads private data with zeroes; a receiver reads these 16 bytes and
 * ignores what follows them.
 */
struct rdmablk_cm_accept {
	__le32	magic;
	__le16	version;
	__le16	queue;
	__le64	reserved;
};

RDMABLK_SIZE(rdmablk_cm_accept, 16);
RDMABLK_OFFSET(rdmablk_cm_accept, reserved, 8);

/**
 * struct rdmablk_cm_reject - private data of a reject; the same in all versions
 * @magic: RDMABLK_MAGIC
 * @reason: enum rdmablk_reason
 * @version_min: lowest protocol version of the target
 * @version_max: highest
 * @reserved: zero
 * @retry_after_ms: when a new try makes sense, milliseconds; 0: not by itself
 */
struct rdmablk_cm_reject {
	__le32	magic;
	__le16	reason;
	__le16	version_min;
	__le16	version_max;
	__le16	reserved;
	__le32	retry_after_ms;
};

RDMABLK_SIZE(rdmablk_cm_reject, 16);
RDMABLK_OFFSET(rdmablk_cm_reject, retry_after_ms, 12);

/**
 * enum rdmablk_msg_type - messages on the control queue
 * @RDMABLK_MSG_HELLO: initiator: who I am and what I want
 * @RDMABLK_MSG_CHALLENGE: target: what we speak, prove yourself
 * @RDMABLK_MSG_PROOF: initiator: proof
 * @RDMABLK_MSG_GRANT: target: the session, proven in turn
 * @RDMABLK_MSG_REGIONS_GET: initiator: where is the memory
 * @RDMABLK_MSG_REGIONS: target: here, with keys
 * @RDMABLK_MSG_READY: initiator: all queues have joined
 * @RDMABLK_MSG_LIVE: target: the session is live
 * @RDMABLK_MSG_COMMAND: initiator: see enum rdmablk_op
 * @RDMABLK_MSG_ANSWER: target: outcome of a command
 * @RDMABLK_MSG_EVENT: target: see enum rdmablk_event
 * @RDMABLK_MSG_CLOSE: either: this session is over, and why
 * @RDMABLK_MSG_LIMITS_GET: initiator: what may commands ask for
 * @RDMABLK_MSG_LIMITS: target: this
 */
enum rdmablk_msg_type {
	RDMABLK_MSG_HELLO	= 1,
	RDMABLK_MSG_CHALLENGE	= 2,
	RDMABLK_MSG_PROOF	= 3,
	RDMABLK_MSG_GRANT	= 4,
	RDMABLK_MSG_REGIONS_GET	= 5,
	RDMABLK_MSG_REGIONS	= 6,
	RDMABLK_MSG_READY	= 7,
	RDMABLK_MSG_LIVE	= 8,
	RDMABLK_MSG_COMMAND	= 9,
	RDMABLK_MSG_ANSWER	= 10,
	RDMABLK_MSG_EVENT	= 11,
	RDMABLK_MSG_CLOSE	= 12,
	RDMABLK_MSG_LIMITS_GET	= 13,
	RDMABLK_MSG_LIMITS	= 14,
};

/**
 * struct rdmablk_hdr - the head of every message; the same in all versions
 * @type: enum rdmablk_msg_type
 * @length: of the whole message, bytes
 * @tag: of a command and its answer: below RDMABLK_CTRL_TAGS; else 0
 * @reserved: zero
 * @generation: of a command and its answer: how often the tag has been used; an
 *	answer whose generation is not the newest of its tag completes nothing.
 *	Else 0
 * @reserved2: zero
 */
struct rdmablk_hdr {
	__le16	type;
	__le16	length;
	__le16	tag;
	__le16	reserved;
	__le32	generation;
	__le32	reserved2;
};

RDMABLK_SIZE(rdmablk_hdr, 16);
RDMABLK_OFFSET(rdmablk_hdr, generation, 8);

/*
 * Features, both for what is offered and for what is required.
 *
 * COMMANDS: write queues carry commands (operations from RDMABLK_OP_FENCE on) and
 * their answers; there is a message LIMITS, an event RESIZE, and a flag of LOGOUT.
 * STAGED: exports whose data is not in registered memory can be had; only together
 * with COMMANDS.
 * LISTS: several answers of a staged session may come in one SEND; only together with
 * STAGED.
 * IMPLIED: a WRITE of a staged session may be nothing but its data, see RDMABLK_WRITE_FUA;
 * only together with STAGED.
 *
 * A target refuses an export that needs what was not agreed on with
 * RDMABLK_R_FEATURE, after PROOF.
 */
#define RDMABLK_F_COMMANDS	(1ULL << 0)
#define RDMABLK_F_STAGED	(1ULL << 1)
#define RDMABLK_F_LISTS		(1ULL << 2)
#define RDMABLK_F_IMPLIED	(1ULL << 3)
#define RDMABLK_FEATURES_V1	(RDMABLK_F_COMMANDS | RDMABLK_F_STAGED | \
				 RDMABLK_F_LISTS | RDMABLK_F_IMPLIED)

/* Authentication methods, as a set in HELLO and as one bit in CHALLENGE. */
#define RDMABLK_AUTH_NONE	(1U << 0)
#define RDMABLK_AUTH_PSK	(1U << 1)	/* pre-shared key; reserved */

/* Wishes in HELLO */
#define RDMABLK_HELLO_READ_ONLY	(1U << 0)	/* never writes; no write right wanted */
#define RDMABLK_HELLO_STEAL	(1U << 1)	/* end another host's writing session */
#define RDMABLK_HELLO_RESUME	(1U << 2)	/* goes on from an earlier session */
#define RDMABLK_HELLO_FLAGS	(RDMABLK_HELLO_READ_ONLY | RDMABLK_HELLO_STEAL | \
				 RDMABLK_HELLO_RESUME)

/**
 * struct rdmablk_hello - first message of a login
 * @hdr: head
 * @version_min: lowest version of the initiator; never moves
 * @version_max: highest; never moves
 * @flags: RDMABLK_HELLO_*
 * @features_offered: what the initiator can do
 * @features_required: without which it cannot go on; a subset of the offered
 * @host_id: identity of the host, the same for all its disks and after a reboot
 * @boot_nonce: random per start of the initiator; a host that comes back with a
 *	new one has lost all it had, so it may take over its old sessions
 * @instance_id: random per device; with the same boot nonce, another instance
 *	is another live device of this host
 * @nonce: random per login
 * @generation: logins of this instance, from 1, each one more
 * @nr_queues: hardware queues wished for, 1..RDMABLK_MAX_QUEUES; each is two
 *	queue pairs
 * @queue_depth: requests in flight per hardware queue, at least 1
 * @keep_alive_ms: wished keep-alive timeout, milliseconds
 * @auth_methods: RDMABLK_AUTH_* the initiator can do
 * @host_name: for the target's log
 * @export_name: what it wants
 * @uuid: of the export that it goes on with; zero without RDMABLK_HELLO_RESUME
 */
struct rdmablk_hello {
	struct rdmablk_hdr hdr;
	__le16	version_min;
	__le16	version_max;
	__le32	flags;
	__le64	features_offered;
	__le64	features_required;
	__u8	host_id[RDMABLK_ID_LEN];
	__u8	boot_nonce[RDMABLK_ID_LEN];
	__u8	instance_id[RDMABLK_ID_LEN];
	__u8	nonce[RDMABLK_NONCE_LEN];
	__le32	generation;
	__le16	nr_queues;
	__le16	queue_depth;
	__le32	keep_alive_ms;
	__le32	auth_methods;
	char	host_name[RDMABLK_NAME_LEN];
	char	export_name[RDMABLK_NAME_LEN];
	__u8	uuid[RDMABLK_ID_LEN];
};

RDMABLK_SIZE(rdmablk_hello, 280);
RDMABLK_OFFSET(rdmablk_hello, version_min, 16);
RDMABLK_OFFSET(rdmablk_hello, host_id, 40);
RDMABLK_OFFSET(rdmablk_hello, nonce, 88);
RDMABLK_OFFSET(rdmablk_hello, generation, 120);
RDMABLK_OFFSET(rdmablk_hello, host_name, 136);

/**
 * struct rdmablk_challenge - answer to HELLO
 * @hdr: head
 * @version: chosen: the highest that both speak
 * @reserved: zero
 * @auth_method: chosen, one bit of HELLO's
 * @features: chosen, a subset of the offered, a superset of the required
 * @session_id: not zero, never used twice by one target process
 * @nonce: random
 */
struct rdmablk_challenge {
	struct rdmablk_hdr hdr;
	__le16	version;
	__le16	reserved;
	__le32	auth_method;
	__le64	features;
	__le64	session_id;
	__u8	nonce[RDMABLK_NONCE_LEN];
};

RDMABLK_SIZE(rdmablk_challenge, 72);
RDMABLK_OFFSET(rdmablk_challenge, features, 24);
RDMABLK_OFFSET(rdmablk_challenge, nonce, 40);

/**
 * struct rdmablk_proof - the initiator knows K
 * @hdr: head
 * @mac: see the labels above
 */
struct rdmablk_proof {
	struct rdmablk_hdr hdr;
	__u8	mac[RDMABLK_MAC_LEN];
};

RDMABLK_SIZE(rdmablk_proof, 48);

/* What an export is, in GRANT */
#define RDMABLK_GRANT_READ_ONLY	(1U << 0)	/* of the session: no write right */
#define RDMABLK_GRANT_SHARED	(1U << 1)	/* other hosts may write, too */
#define RDMABLK_GRANT_ROTATIONAL	(1U << 2)
#define RDMABLK_GRANT_CACHE	(1U << 3)	/* durable after FLUSH only; COMMANDS */
#define RDMABLK_GRANT_STAGED	(1U << 4)	/* no regions: READ and WRITE are commands */
#define RDMABLK_GRANT_FLAGS	(RDMABLK_GRANT_READ_ONLY | \
				 RDMABLK_GRANT_SHARED | \
				 RDMABLK_GRANT_ROTATIONAL | \
				 RDMABLK_GRANT_CACHE | RDMABLK_GRANT_STAGED)

/**
 * struct rdmablk_grant - the session, as the target grants it
 * @hdr: head
 * @session_id: as in CHALLENGE
 * @features: as in CHALLENGE
 * @uuid: identity of the export
 * @epoch: identity of the store's volatile contents
 * @size: of the export, bytes; a multiple of @logical_block
 * @region_bytes: size of each region but the last, which holds the rest; a power
 *	of two, at least RDMABLK_MIN_REGION. No request crosses a region's end. Zero
 *	with RDMABLK_GRANT_STAGED.
 * @nr_regions: size / region_bytes, rounded up; at most RDMABLK_MAX_REGIONS. Zero
 *	with RDMABLK_GRANT_STAGED.
 * @flags: RDMABLK_GRANT_*
 * @logical_block: bytes, 512 or 4096
 * @physical_block: bytes, a power of two, at least @logical_block, at most 64 KiB
 * @io_min: preferred smallest request, bytes; 0: the physical block. As @io_opt and
 *	@max_io a multiple of @logical_block
 * @io_opt: preferred largest sustained request, bytes; 0: none
 * @max_io: largest request, bytes, at least 4096; 0: no limit of the target's own
 * @nr_queues: hardware queues granted, 1..HELLO.nr_queues
 * @queue_depth: granted, 1..HELLO.queue_depth
 * @read_depth: RDMA READs each queue pair of the target answers at once, at least 1
 * @reserved: zero
 * @keep_alive_ms: the initiator's keep-alive timeout: it sends two KEEPALIVEs in
 *	this time and gives up when one stays unanswered for longer
 * @session_tmo_ms: the target ends the session when it heard nothing for so long;
 *	more than @keep_alive_ms, at most RDMABLK_MAX_SESSION_MS
 * @reserved2: zero
 * @target_name: for logs
 * @mac: grant MAC
 */
struct rdmablk_grant {
	struct rdmablk_hdr hdr;
	__le64	session_id;
	__le64	features;
	__u8	uuid[RDMABLK_ID_LEN];
	__u8	epoch[RDMABLK_ID_LEN];
	__le64	size;
	__le64	region_bytes;
	__le32	nr_regions;
	__le32	flags;
	__le32	logical_block;
	__le32	physical_block;
	__le32	io_min;
	__le32	io_opt;
	__le32	max_io;
	__le16	nr_queues;
	__le16	queue_depth;
	__le16	read_depth;
	__le16	reserved;
	__le32	keep_alive_ms;
	__le32	session_tmo_ms;
	__le32	reserved2;
	char	target_name[RDMABLK_NAME_LEN];
	__u8	mac[RDMABLK_MAC_LEN];
};

RDMABLK_SIZE(rdmablk_grant, 224);
RDMABLK_OFFSET(rdmablk_grant, size, 64);
RDMABLK_OFFSET(rdmablk_grant, nr_queues, 108);
RDMABLK_OFFSET(rdmablk_grant, target_name, 128);
RDMABLK_OFFSET(rdmablk_grant, mac, 192);

/**
 * struct rdmablk_regions_get - asks for region descriptors
 * @hdr: head
 * @first: number of the first region wanted, below GRANT.nr_regions
 * @reserved: zero
 */
struct rdmablk_regions_get {
	struct rdmablk_hdr hdr;
	__le32	first;
	__le32	reserved;
};

RDMABLK_SIZE(rdmablk_regions_get, 24);

/**
 * struct rdmablk_region - one piece of registered memory of the target
 * @iova: remote address of its first byte
 * @rkey: remote key, of this session only
 * @reserved: zero
 */
struct rdmablk_region {
	__le64	iova;
	__le32	rkey;
	__le32	reserved;
};

RDMABLK_SIZE(rdmablk_region, 16);

/**
 * struct rdmablk_regions - answer to REGIONS_GET
 * @hdr: head
 * @first: as asked
 * @count: regions in this message: all that remain, RDMABLK_REGIONS_PER_MSG at most
 * @region: the first @count are valid, the others zero
 * @mac: regions MAC
 */
struct rdmablk_regions {
	struct rdmablk_hdr hdr;
	__le32	first;
	__le32	count;
	struct rdmablk_region region[RDMABLK_REGIONS_PER_MSG];
	__u8	mac[RDMABLK_MAC_LEN];
};

RDMABLK_SIZE(rdmablk_regions, 312);
RDMABLK_OFFSET(rdmablk_regions, region, 24);
RDMABLK_OFFSET(rdmablk_regions, mac, 280);

/**
 * struct rdmablk_limits_get - asks what commands may ask for
 * @hdr: head
 */
struct rdmablk_limits_get {
	struct rdmablk_hdr hdr;
};

RDMABLK_SIZE(rdmablk_limits_get, 16);

/* An operation of data queues in LIMITS.ops */
#define RDMABLK_OP_BIT(op)	(1U << ((op) - RDMABLK_OP_FENCE))

/**
 * struct rdmablk_limits - answer to LIMITS_GET: what commands may ask for
 * @hdr: head
 * @ops: operations of data queues, RDMABLK_OP_BIT() of each; RDMABLK_OP_FENCE always;
 *	READ and WRITE when staged and only then, DIRTY only when not. What is not in
 *	it is answered with RDMABLK_R_UNSUPPORTED.
 * @cmd_depth: commands in flight on each write queue, at least 2, at most
 *	RDMABLK_MAX_CMD_DEPTH; their tags are below it
 * @max_ranges: ranges in a DIRTY command, as many as RDMABLK_MAX_TRAILER holds at most;
 *	0 without that operation
 * @granule: with DIRTY: every range begins and ends at a multiple of this, but for the
 *	end of the export; a power of two, at least the logical block; else 0
 * @trailer_bytes: what may follow a WRITE command as its data, or answer a READ;
 *	0: nothing; at most RDMABLK_MAX_TRAILER. When staged, with RDMABLK_F_LISTS, at
 *	least the size of struct rdmablk_answers
 * @max_discard: bytes of a DISCARD, not 0 with that operation
 * @max_zeroes: bytes of a WRITE_ZEROES, not 0 with that operation
 * @max_erase: bytes of a SECURE_ERASE, not 0 with that operation
 * @discard_granularity: bytes, a power of two; 0 without DISCARD
 * @discard_alignment: where the first granule begins, bytes, below the granularity
 * @erase_granularity: the same of SECURE_ERASE
 * @slot_bytes: of a slot, and the largest READ or WRITE command; a multiple of the
 *	logical block, at least 4096, at most RDMABLK_MAX_SLOT; 0 unless staged
 * @slot_iova: remote address of slot 0. Slot of a command: i * cmd_depth + tag, for
 *	hardware queue i. 0 unless staged
 * @slot_rkey: remote key of all slots; 0 unless staged
 * @reserved: zero
 * @mac: limits MAC
 */
struct rdmablk_limits {
	struct rdmablk_hdr hdr;
	__le32	ops;
	__le16	cmd_depth;
	__le16	max_ranges;
	__le32	granule;
	__le32	trailer_bytes;
	__le64	max_discard;
	__le64	max_zeroes;
	__le64	max_erase;
	__le32	discard_granularity;
	__le32	discard_alignment;
	__le32	erase_granularity;
	__le32	slot_bytes;
	__le64	slot_iova;
	__le32	slot_rkey;
	__le32	reserved;
	__u8	mac[RDMABLK_MAC_LEN];
};

RDMABLK_SIZE(rdmablk_limits, 120);
RDMABLK_OFFSET(rdmablk_limits, max_discard, 32);
RDMABLK_OFFSET(rdmablk_limits, slot_iova, 72);
RDMABLK_OFFSET(rdmablk_limits, mac, 88);

/**
 * struct rdmablk_ready - all data queues have joined
 * @hdr: head
 */
struct rdmablk_ready {
	struct rdmablk_hdr hdr;
};

RDMABLK_SIZE(rdmablk_ready, 16);

/**
 * struct rdmablk_live - the target agrees: I/O may start
 * @hdr: head
 */
struct rdmablk_live {
	struct rdmablk_hdr hdr;
};

RDMABLK_SIZE(rdmablk_live, 16);

/**
 * enum rdmablk_op - commands
 * @RDMABLK_OP_KEEPALIVE: answered by the daemon itself, which proves that it
 *	lives and extends the session. Tag RDMABLK_TAG_KEEPALIVE.
 * @RDMABLK_OP_LOGOUT: the initiator has no request in flight and wants the
 *	session to end. The answer comes after all its queue pairs but the control
 *	queue and all its registrations are gone. Tag RDMABLK_TAG_LOGOUT.
 * @RDMABLK_OP_FENCE: of a write queue, as all that follow: whatever was written by the
 *	WRITEs posted before it on this queue can be seen by the target's CPU. Every
 *	command is that, too, for its own queue. An operation that makes the CPU look
 *	at registered memory (DIRTY, FLUSH, DISCARD, WRITE_ZEROES) is sent after the
 *	answer to a FENCE, or to another command, on every queue with completed WRITEs
 *	since the last.
 * @RDMABLK_OP_DIRTY: the ranges that follow the command, an array of struct
 *	rdmablk_range, have been written since they were last flushed; the target
 *	notes them for the next FLUSH of this session
 * @RDMABLK_OP_FLUSH: make durable what has been written: of an export that is in
 *	memory the ranges of the DIRTY commands received before, and the range of the
 *	command if it has one; of a staged one whatever was answered before. After an
 *	error all of it is as dirty as it was.
 * @RDMABLK_OP_DISCARD: the contents of the range are of no use any more; it reads as
 *	anything until it is written
 * @RDMABLK_OP_WRITE_ZEROES: the range reads as zeroes. RDMABLK_ZEROES_KEEP: and
 *	keeps its space in the store
 * @RDMABLK_OP_SECURE_ERASE: the contents of the range cannot be had from the store any
 *	more
 * @RDMABLK_OP_READ: staged: answered with the data as the payload of the answer with
 *	RDMABLK_IO_TRAILER, else when it is in the command's slot
 * @RDMABLK_OP_WRITE: staged: the data follows the command with RDMABLK_IO_TRAILER,
 *	else it is in the command's slot. RDMABLK_IO_FUA: answered when it is durable
 *
 * Numbers from 2 to 31 on the control queue and those above RDMABLK_OP_WRITE are kept
 * for features; a target answers what it does not know with RDMABLK_R_UNSUPPORTED.
 */
enum rdmablk_op {
	RDMABLK_OP_KEEPALIVE	= 0,
	RDMABLK_OP_LOGOUT	= 1,
	RDMABLK_OP_FENCE	= 32,
	RDMABLK_OP_DIRTY	= 33,
	RDMABLK_OP_FLUSH	= 34,
	RDMABLK_OP_DISCARD	= 35,
	RDMABLK_OP_WRITE_ZEROES	= 36,
	RDMABLK_OP_SECURE_ERASE	= 37,
	RDMABLK_OP_READ		= 38,
	RDMABLK_OP_WRITE	= 39,
};

/* Flags of commands, by operation */
#define RDMABLK_LOGOUT_CLEAN	(1U << 0)	/* nothing written is not flushed; COMMANDS */
#define RDMABLK_ZEROES_KEEP	(1U << 0)
#define RDMABLK_IO_TRAILER	(1U << 0)
#define RDMABLK_IO_FUA		(1U << 1)

/*
 * Tags of the control queue. Each has one purpose, so that a keep-alive or a
 * fence never waits for a slot behind something slow.
 */
enum rdmablk_ctrl_tag {
	RDMABLK_TAG_KEEPALIVE	= 0,
	RDMABLK_TAG_LOGOUT	= 1,
	RDMABLK_TAG_FENCE	= 2,	/* reserved */
	RDMABLK_TAG_ADMIN	= 3,	/* reserved */
};

/**
 * struct rdmablk_command - a command
 * @hdr: head, with tag and generation. On a write queue @length counts what follows the
 *	command: the data of a WRITE, the ranges of DIRTY; and the generation is below
 *	256, because no more of it comes back
 * @op: enum rdmablk_op
 * @flags: of the operation; else zero
 * @reserved: zero
 * @offset: first byte of the export concerned; zero where the operation has none
 * @bytes: how many; zero where the operation has none
 * @reserved2: zero
 */
struct rdmablk_command {
	struct rdmablk_hdr hdr;
	__le16	op;
	__le16	flags;
	__le32	reserved;
	__le64	offset;
	__le64	bytes;
	__u8	reserved2[24];
};

RDMABLK_SIZE(rdmablk_command, 64);
RDMABLK_OFFSET(rdmablk_command, offset, 24);
RDMABLK_OFFSET(rdmablk_command, reserved2, 40);

/**
 * struct rdmablk_range - a piece of the export, after a DIRTY command
 * @offset: first byte
 * @bytes: how many, not 0
 */
struct rdmablk_range {
	__le64	offset;
	__le64	bytes;
};

RDMABLK_SIZE(rdmablk_range, 16);

/*
 * The answer to a command on a write queue is the immediate data of a SEND, whose
 * payload is empty but for a READ with RDMABLK_IO_TRAILER that was done: then it is
 * the data, and nothing else. In host order:
 *
 *   bits 31..16  tag of the command
 *   bits 15..8   its generation
 *   bits 7..0    enum rdmablk_reason; RDMABLK_OK: done
 */
#define RDMABLK_IMM(tag, generation, status)				\
	((__u32)(tag) << 16 | ((__u32)(generation) & 0xff) << 8 |	\
	 ((__u32)(status) & 0xff))
#define RDMABLK_IMM_TAG(imm)		((imm) >> 16)
#define RDMABLK_IMM_GENERATION(imm)	((imm) >> 8 & 0xff)
#define RDMABLK_IMM_STATUS(imm)		((imm) & 0xff)

/*
 * A WRITE command that is implied: one RDMA WRITE with immediate data into the slot of its
 * tag, from the slot's beginning, as long as the data. The tag is the one after that of the
 * last command on this write queue, implied or not, and below LIMITS.cmd_depth; its
 * generation is the next of that tag, from 1. In host order:
 *
 *   bit 31       RDMABLK_WRITE_FUA: as RDMABLK_IO_FUA
 *   bit 30       RDMABLK_WRITE_PAGES: the first byte is a multiple of 4096 bytes, else of
 *                the logical block
 *   bits 29..0   which one
 */
#define RDMABLK_WRITE_FUA		(1U << 31)
#define RDMABLK_WRITE_PAGES		(1U << 30)
#define RDMABLK_WRITE_POS(imm)		((imm) & (RDMABLK_WRITE_PAGES - 1))
#define RDMABLK_WRITE_PAGE_SHIFT	12

/**
 * struct rdmablk_answers - several answers in one SEND, which has no immediate data
 * @imm: RDMABLK_IMM() of each; none is that of a READ with RDMABLK_IO_TRAILER that was
 *	done. As many as were received, RDMABLK_MAX_ANSWERS at most
 */
struct rdmablk_answers {
	__le32	imm[RDMABLK_MAX_ANSWERS];
};

RDMABLK_SIZE(rdmablk_answers, 256);

/**
 * struct rdmablk_answer - outcome of a command on the control queue
 * @hdr: head, with the tag and generation of the command
 * @status: enum rdmablk_reason; RDMABLK_OK: done
 * @reserved: zero
 * @reserved2: zero
 * @reserved3: zero
 */
struct rdmablk_answer {
	struct rdmablk_hdr hdr;
	__le16	status;
	__le16	reserved;
	__le32	reserved2;
	__u8	reserved3[8];
};

RDMABLK_SIZE(rdmablk_answer, 32);

/**
 * enum rdmablk_event - what the target says unasked
 * @RDMABLK_EVENT_DRAIN: it is about to shut down; value: milliseconds until then. An
 *	initiator with unflushed writes flushes them and logs out.
 * @RDMABLK_EVENT_RESIZE: the export has grown; value: its size now, bytes. A session
 *	with regions has those of the old size; a login gives the others.
 * @RDMABLK_EVENT_LEAVING: the export is about to be removed, and DRAIN, which follows, is
 *	told for that; value: as that of DRAIN
 *
 * An initiator ignores an event it does not know. At most RDMABLK_CTRL_RECVS -
 * RDMABLK_CTRL_TAGS - 1 events may be unacknowledged by the transport at a time.
 */
enum rdmablk_event {
	RDMABLK_EVENT_DRAIN	= 1,
	RDMABLK_EVENT_RESIZE	= 2,
	RDMABLK_EVENT_LEAVING	= 3,
};

/**
 * struct rdmablk_event_msg - an event
 * @hdr: head
 * @event: enum rdmablk_event
 * @reserved: zero
 * @reserved2: zero
 * @value: see the event
 */
struct rdmablk_event_msg {
	struct rdmablk_hdr hdr;
	__le16	event;
	__le16	reserved;
	__le32	reserved2;
	__le64	value;
};

RDMABLK_SIZE(rdmablk_event_msg, 32);
RDMABLK_OFFSET(rdmablk_event_msg, value, 24);

/**
 * struct rdmablk_close - the session, or the login, is over; the same in all
 *	versions
 * @hdr: head
 * @reason: enum rdmablk_reason
 * @version_min: lowest version of the sender
 * @version_max: highest version of the sender
 * @reserved: zero
 * @retry_after_ms: when a new try makes sense, milliseconds; 0: not by itself
 * @reserved2: zero
 *
 * From a target in a session that is past GRANT it says more: every data queue
 * pair of the session is destroyed and its memory deregistered. No write of this
 * session can land any more.
 */
struct rdmablk_close {
	struct rdmablk_hdr hdr;
	__le16	reason;
	__le16	version_min;
	__le16	version_max;
	__le16	reserved;
	__le32	retry_after_ms;
	__le32	reserved2;
};

RDMABLK_SIZE(rdmablk_close, 32);
RDMABLK_OFFSET(rdmablk_close, retry_after_ms, 24);

#endif /* _UAPI_RDMABLK_PROTO_H */
