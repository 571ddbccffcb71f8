/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * rdmablk wire protocol, versions 1 and 2: the messages between an initiator (rdmablk.ko)
 * and a target (rdmablkd). Both compile this file, rdmablk_keysched.h and rdmablk_sealed.h;
 * nothing else defines a byte on the wire.
 *
 * Documentation/protocol.rst has the rules and sequences. Documentation/protocol-tables
 * makes its tables from these comments: run it after a change here. It takes kernel-doc
 * comments, comments after a #define, and "@NAME: meaning" in the comment above it.
 *
 * - Integers are little-endian and naturally aligned. Arrays of bytes have no byte order.
 * - Padding is explicit and named "reserved". The sender writes zero, the receiver checks
 *   for zero. Sizes and offsets are asserted below each definition.
 * - A message is exactly as long as its type says; only a command on a write queue may
 *   have data behind it. A longer or a shorter message is malformed, and so is one whose
 *   length field is not the length received.
 * - Names are printable ASCII (0x20 to 0x7e), padded with NUL to their full size, with at
 *   least one NUL at the end.
 * - A receiver checks the length, then the fields, then what they point to. It uses
 *   nothing before it has checked it.
 *
 * Some things are the same in all versions: struct rdmablk_hdr, struct rdmablk_close,
 * struct rdmablk_cm_reject, and the place of version_min and version_max in struct
 * rdmablk_hello. They suffice to say "no common version", and which versions the sender
 * speaks.
 */
#ifndef _UAPI_RDMABLK_PROTO_H
#define _UAPI_RDMABLK_PROTO_H

#include <linux/types.h>

#define RDMABLK_ASSERT(cond)	_Static_assert(cond, #cond)
#define RDMABLK_SIZE(type, size)					\
	RDMABLK_ASSERT(sizeof(struct type) == (size))
#define RDMABLK_OFFSET(type, member, off)				\
	RDMABLK_ASSERT(__builtin_offsetof(struct type, member) == (off))

/* Constants and limits */
#define RDMABLK_VERSION_MIN	1	/* lowest version defined here */
#define RDMABLK_VERSION_MAX	2	/* highest */
#define RDMABLK_VERSION_OPEN	1	/* the version without authentication */
#define RDMABLK_VERSION_PROVEN	2	/* the version in which both sides prove K */

#define RDMABLK_PORT		20420	/* default port of rdma_cm (RDMA_PS_TCP) */
#define RDMABLK_MAGIC		0x6b6c6272	/* bytes "rblk" on the wire */

#define RDMABLK_NAME_LEN	64	/* bytes of a name, with its NUL */
#define RDMABLK_ID_LEN		16	/* bytes of a UUID, a host's nonce, an epoch */
#define RDMABLK_NONCE_LEN	32	/* bytes of a nonce of HELLO or CHALLENGE */
#define RDMABLK_MAC_LEN		32	/* bytes of a MAC (HMAC-SHA256), and of K */
#define RDMABLK_KEY_ID_LEN	8	/* bytes of a key id */
#define RDMABLK_POINT_LEN	64	/* bytes of a public key: X and Y, big-endian */

#define RDMABLK_CTRL_MSG_MAX	512	/* bytes of the largest control message */
#define RDMABLK_CTRL_RECVS	8	/* receives each side keeps posted on queue 0 */
#define RDMABLK_CTRL_TAGS	4	/* commands in flight on queue 0 */
#define RDMABLK_MAX_QUEUES	256	/* hardware queues of a session */
#define RDMABLK_MAX_REGIONS	4096	/* regions of an export */
#define RDMABLK_REGIONS_PER_MSG	16	/* regions in one REGIONS message */
#define RDMABLK_LISTED_PER_MSG	5	/* exports in one LIST message */
#define RDMABLK_MAX_CMD_DEPTH	1024	/* commands in flight on a write queue */
#define RDMABLK_CMD_BYTES	64	/* bytes of a command without its trailer */
#define RDMABLK_MAX_ANSWERS	64	/* answers in one SEND */
#define RDMABLK_MAX_TRAILER	16384	/* bytes behind a command, or of data in an answer */
#define RDMABLK_MIN_GRANULE	512	/* bytes; smallest granule of dirty ranges */
#define RDMABLK_MAX_GRANULE	(1U << 20)	/* bytes; largest granule, 1 MiB */
#define RDMABLK_MAX_SLOT	(1U << 24)	/* bytes of a slot, 16 MiB */
#define RDMABLK_MAX_SCRATCH	(1U << 20)	/* bytes of a scratch region, 1 MiB */
#define RDMABLK_MIN_REGION	(1U << 20)	/* bytes of a region, 1 MiB */
#define RDMABLK_MAX_SIZE	(1ULL << 62)	/* bytes of an export */
#define RDMABLK_MIN_KEEP_ALIVE_MS	100	/* shortest keep-alive timeout */
#define RDMABLK_MAX_KEEP_ALIVE_MS	600000	/* longest keep-alive timeout */
#define RDMABLK_MAX_SESSION_MS	(4 * RDMABLK_MAX_KEEP_ALIVE_MS)	/* longest session timeout */

/*
 * Limits of the timeouts in GRANT
 *
 * @RDMABLK_KEEP_ALIVE_FACTOR: keep-alive timeout: at most this many times HELLO's,
 * @RDMABLK_KEEP_ALIVE_ANY_MS: or at most this, whichever is more
 * @RDMABLK_SESSION_FACTOR: session timeout: at most this many keep-alive timeouts,
 * @RDMABLK_SESSION_ANY_MS: or at most this, whichever is more
 *
 * After a lost connection an initiator may have to hold writes for the session timeout.
 */
#define RDMABLK_KEEP_ALIVE_FACTOR	4
#define RDMABLK_KEEP_ALIVE_ANY_MS	60000
#define RDMABLK_SESSION_FACTOR		20
#define RDMABLK_SESSION_ANY_MS		300000

/*
 * Labels of the MACs of version 1
 *
 * @RDMABLK_LABEL_LEN: bytes of a label
 * @RDMABLK_LABEL_PROOF: proof; key K; HELLO and CHALLENGE as sent
 * @RDMABLK_LABEL_SESSION: session key; key K; HELLO.nonce, CHALLENGE.nonce, session_id
 *	(__le64), generation (__le32)
 * @RDMABLK_LABEL_GRANT: grant MAC; session key; GRANT without its mac
 * @RDMABLK_LABEL_REGIONS: regions MAC; session key; REGIONS without its mac
 * @RDMABLK_LABEL_LIMITS: limits MAC; session key; LIMITS without its mac
 * @RDMABLK_LABEL_JOIN: join MAC; session key; struct rdmablk_cm_request without its mac
 *
 * Each MAC is HMAC-SHA256 over its label (16 bytes) and the parts named after the key,
 * with nothing in between. No two uses share a label, so no MAC serves for another.
 *
 * K is 32 zero bytes in version 1. rdmablk_keysched.h has the MACs and keys of version 2.
 */
#define RDMABLK_LABEL_LEN	16
#define RDMABLK_LABEL_PROOF	"rdmablk proof  1"
#define RDMABLK_LABEL_SESSION	"rdmablk session1"
#define RDMABLK_LABEL_GRANT	"rdmablk grant  1"
#define RDMABLK_LABEL_REGIONS	"rdmablk regions1"
#define RDMABLK_LABEL_LIMITS	"rdmablk limits 1"
#define RDMABLK_LABEL_JOIN	"rdmablk join   1"

/**
 * enum rdmablk_reason - reasons of rejects, CLOSE messages and answers
 *
 * @RDMABLK_OK: answer: the command is done
 * @RDMABLK_R_MAGIC: reject: the private data does not begin with RDMABLK_MAGIC
 * @RDMABLK_R_VERSION: reject, or CLOSE of either side: the two ranges of versions have
 *	nothing in common, or HELLO or a join is of another version than the control
 *	queue. The sender's range stands beside the reason.
 * @RDMABLK_R_MALFORMED: reject, or CLOSE of either side: wrong length, a reserved field
 *	that is not zero, a value out of bounds
 * @RDMABLK_R_STATE: CLOSE of either side: a message that the state does not allow, or one
 *	too many; a stale login generation, a SEND on a data queue without commands, a
 *	tag in use, a flood of messages. Reject: a join after LIVE. Initiator, noted: an
 *	answer on a write queue that belongs to no command.
 * @RDMABLK_R_FEATURE: CLOSE after HELLO: the target lacks a required feature. CLOSE after
 *	PROOF: the export needs a feature that was not chosen.
 * @RDMABLK_R_NO_EXPORT: CLOSE after PROOF: there is none, or not for this address. Reject:
 *	the target takes no connections from this address
 * @RDMABLK_R_READ_ONLY: CLOSE after PROOF: the export is read-only and HELLO wants to
 *	write. Answer: DIRTY, DISCARD, WRITE_ZEROES, SECURE_ERASE or WRITE without the
 *	right to write.
 * @RDMABLK_R_BUSY: CLOSE after PROOF: another host writes, and HELLO does not steal
 * @RDMABLK_R_BUSY_INSTANCE: CLOSE after PROOF: another device of the same host writes
 * @RDMABLK_R_FENCING: CLOSE after PROOF, with retry_after_ms: a session that this login
 *	replaces or follows is being fenced. The one refusal after which an initiator
 *	tries again within the same connect, until its timeout.
 * @RDMABLK_R_LIMIT_LOGINS: reject, with retry_after_ms: in all, or from this address
 * @RDMABLK_R_LIMIT_SESSIONS: CLOSE after PROOF: the host, its address, the export or the
 *	target has as many sessions as it may
 * @RDMABLK_R_LIMIT_QUEUES: CLOSE after PROOF: the same for hardware queues, and not one is
 *	left. Reject: the queue number is beyond those granted.
 * @RDMABLK_R_LIMIT_MEMORY: CLOSE after PROOF: the host, the export or the target would have
 *	more memory registered than it may, or the RDMA device registers too little at
 *	once for the slots of a hardware queue
 * @RDMABLK_R_NO_MEMORY: reject or CLOSE, with retry_after_ms: the target cannot allocate,
 *	register or pin (memlock) what the session needs. Answer: it cannot allocate
 *	what the command needs.
 * @RDMABLK_R_DEVICE_FULL: reject or CLOSE, with retry_after_ms: the device makes no more
 *	queue pairs or completion queues. An initiator whose data queues meet this (version
 *	2: CLOSE) logs in again and asks for half as many.
 * @RDMABLK_R_AUTH_REQUIRED: CLOSE after HELLO: the target takes no method offered. Reject:
 *	the target demands version 2
 * @RDMABLK_R_AUTH_FAILED: CLOSE: the MAC of PROOF is wrong, the key id is unknown, or the
 *	key is not that of the host. CLOSE of the initiator: that of GRANT, REGIONS or
 *	LIMITS is, or a sealed frame does not open.
 * @RDMABLK_R_JOIN_SESSION: reject: no session has this id, queues may not join it now, or
 *	the generation is not that of its login
 * @RDMABLK_R_JOIN_MAC: reject
 * @RDMABLK_R_JOIN_TWICE: reject
 * @RDMABLK_R_JOIN_DEVICE: reject: not those of the control queue
 * @RDMABLK_R_JOIN_MISSING: CLOSE after READY
 * @RDMABLK_R_AUTH_KEY: CLOSE, sealed only: the key is revoked or has expired
 * @RDMABLK_R_LOGOUT: noted by the target after LOGOUT
 * @RDMABLK_R_SHUTDOWN: reject or CLOSE, with retry_after_ms
 * @RDMABLK_R_EXPORT_GONE: CLOSE: the export is removed, or opened again, while in use
 * @RDMABLK_R_STOLEN: CLOSE to the session that ends: another host took the export with
 *	RDMABLK_HELLO_STEAL. CLOSE after PROOF with RDMABLK_HELLO_RESUME: the last writer
 *	is somebody else, or unknown.
 * @RDMABLK_R_EXPIRED: CLOSE: no message came for session_tmo_ms. Initiator, noted: the
 *	daemon has not answered for keep_alive_ms.
 * @RDMABLK_R_REPLACED: CLOSE to the session that ends: the same host logged in again, after
 *	a restart or with a higher generation. An initiator that knows of no newer login
 *	of its own shares its host_id with another host.
 * @RDMABLK_R_ACCESS: CLOSE: a request went outside the granted regions, or wrote without
 *	the right to. Initiator, noted: its adapter reports a remote access error.
 * @RDMABLK_R_LOGIN_TIMEOUT: CLOSE: no progress in time
 * @RDMABLK_R_CONNECTION: noted by the side that loses the connection. CLOSE: a data queue
 *	is lost while the control queue is not.
 * @RDMABLK_R_DEVICE_GONE: reject, or CLOSE if it can still be sent, with retry_after_ms: the
 *	RDMA device is being removed, or cannot be used. Initiator, noted: its own is.
 * @RDMABLK_R_DATA_LOST: CLOSE of the initiator after GRANT of a reconnect: another epoch,
 *	and the disk may have lost data with the old one
 * @RDMABLK_R_IDENTITY: CLOSE after PROOF with RDMABLK_HELLO_RESUME: uuid names another
 *	export. CLOSE of the initiator after GRANT of a reconnect: another UUID, logical
 *	block, right to write or kind of export.
 * @RDMABLK_R_SHRUNK: CLOSE of the initiator after GRANT, LIMITS or REGIONS of a reconnect:
 *	the size, the operations or a limit that the disk depends on has become less
 * @RDMABLK_R_IO_TIMEOUT: noted by the initiator: the daemon answers keep-alives, but a
 *	command has been under way for longer than io_tmo allows
 * @RDMABLK_R_KICKED: CLOSE
 * @RDMABLK_R_UNSUPPORTED: answer: the operation is unknown, or not in LIMITS.ops
 * @RDMABLK_R_RANGE: answer: the range is not inside the export, not of whole blocks or
 *	granules, or larger than LIMITS allows. The request fails with an I/O error.
 * @RDMABLK_R_STORE_IO: answer: the medium failed, or the file has become shorter than the
 *	export. The request fails with an I/O error.
 * @RDMABLK_R_STORE_SPACE: answer: there is no space, or the quota is used up. The request
 *	fails with "no space".
 * @RDMABLK_R_STORE_READ_ONLY: answer: the file system or the device under the export takes
 *	no writes any more. The request fails, the session goes on.
 * @RDMABLK_R_STORE_FAILED: answer: an earlier flush failed so that nobody knows what is on
 *	the medium. The target answers every FLUSH, and every WRITE with
 *	RDMABLK_IO_FUA, so until its administrator reopens the export.
 * @RDMABLK_R_INTERNAL: reject, CLOSE or answer: an error of the target that no other reason
 *	describes, for instance that it cannot note the writer of an export. Its log has
 *	more.
 *
 * Numbers are never reused.
 * Rejects, CLOSEs and answers come from the target unless the entry says otherwise. A
 * reason that a side notes is not sent. The first connect fails with the reason; in a live
 * session and at a reconnect the initiator does what "Reconnect" in protocol.rst says.
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
	RDMABLK_R_AUTH_KEY		= 55,
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
	RDMABLK_R_KICKED		= 78,
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
	case RDMABLK_R_AUTH_KEY:	return "key is revoked or has expired";
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
	case RDMABLK_R_KICKED:		return "ended by the target's administrator";
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
 * enum rdmablk_kind - kinds of queue pairs
 * @RDMABLK_KIND_CONTROL: queue 0: login, keep-alive, events; SENDs only, but for the scratch
 *	region of a visit
 * @RDMABLK_KIND_READ: RDMA READs of the initiator, nothing else; odd queue numbers
 * @RDMABLK_KIND_WRITE: RDMA WRITEs of the initiator and, with RDMABLK_F_COMMANDS, commands
 *	and their answers; even queue numbers from 2
 */
enum rdmablk_kind {
	RDMABLK_KIND_CONTROL	= 0,
	RDMABLK_KIND_READ	= 1,
	RDMABLK_KIND_WRITE	= 2,
};

/**
 * struct rdmablk_cm_request - private data of a connection request
 * @magic: RDMABLK_MAGIC
 * @version_min: lowest version of the initiator; data queue: the session's version
 * @version_max: highest; data queue: the session's version
 * @kind: enum rdmablk_kind
 * @reserved: zero
 * @queue: 0 for the control queue; hardware queue i READs on 2i + 1 and WRITEs on 2i + 2
 * @generation: login generation, as in HELLO; 0 for the control queue
 * @session_id: as in CHALLENGE; 0 for the control queue
 * @mac: join MAC; zero for the control queue
 *
 * rdma_cm leaves no more than these 56 bytes.
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
 * @version: the version that both sides speak from here on
 * @queue: queue number of the request
 * @reserved: zero
 *
 * rdma_cm pads replies and rejects with zeroes. A receiver ignores what follows the
 * structure.
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
 * struct rdmablk_cm_accept2 - private data of the accepting reply of version 2
 * @accept: as in version 1
 * @mac: accept MAC; zero for the control queue
 *
 * The initiator posts nothing on a data queue before it has verified the MAC.
 */
struct rdmablk_cm_accept2 {
	struct rdmablk_cm_accept accept;
	__u8	mac[RDMABLK_MAC_LEN];
};

RDMABLK_SIZE(rdmablk_cm_accept2, 48);
RDMABLK_OFFSET(rdmablk_cm_accept2, mac, 16);

/**
 * struct rdmablk_cm_reject - private data of a reject, in all versions
 * @magic: RDMABLK_MAGIC
 * @reason: enum rdmablk_reason
 * @version_min: lowest version of the target
 * @version_max: highest version of the target
 * @reserved: zero
 * @retry_after_ms: milliseconds after which a new try makes sense; 0: waiting does not help
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
 * @RDMABLK_MSG_HELLO: initiator: identity, wishes, export
 * @RDMABLK_MSG_CHALLENGE: target: version, features, nonce
 * @RDMABLK_MSG_PROOF: initiator: the MAC that proves K
 * @RDMABLK_MSG_GRANT: target: the session, with a MAC in turn
 * @RDMABLK_MSG_REGIONS_GET: initiator: asks where the memory is
 * @RDMABLK_MSG_REGIONS: target: addresses and keys
 * @RDMABLK_MSG_READY: initiator: all queues have joined
 * @RDMABLK_MSG_LIVE: target: the session is live, I/O may start
 * @RDMABLK_MSG_COMMAND: initiator: enum rdmablk_op
 * @RDMABLK_MSG_ANSWER: target: outcome of a command
 * @RDMABLK_MSG_EVENT: target: enum rdmablk_event
 * @RDMABLK_MSG_CLOSE: either: the session, or the login, is over; the reason
 * @RDMABLK_MSG_LIMITS_GET: initiator: asks what commands may ask for; with
 *	RDMABLK_F_COMMANDS
 * @RDMABLK_MSG_LIMITS: target: the answer
 * @RDMABLK_MSG_SEALED: either, version 2: another message, sealed; rdmablk_sealed.h has the
 *	layout. After PROOF a receiver takes nothing else.
 * @RDMABLK_MSG_REAUTH: initiator, version 2: begins another key epoch
 * @RDMABLK_MSG_REAUTH_CHALLENGE: target: the answer
 * @RDMABLK_MSG_REAUTH_PROOF: initiator: the MAC that proves K
 * @RDMABLK_MSG_REAUTH_DONE: target: first message of the new epoch
 * @RDMABLK_MSG_VISIT: target: answers PROOF of a visit
 * @RDMABLK_MSG_LIST_GET: initiator: asks for exports
 * @RDMABLK_MSG_LIST: target: the answer
 * @RDMABLK_MSG_SCRATCH_GET: initiator: asks for a scratch region
 * @RDMABLK_MSG_SCRATCH: target: the answer
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
	RDMABLK_MSG_SEALED	= 15,
	RDMABLK_MSG_REAUTH	= 16,
	RDMABLK_MSG_REAUTH_CHALLENGE	= 17,
	RDMABLK_MSG_REAUTH_PROOF	= 18,
	RDMABLK_MSG_REAUTH_DONE	= 19,
	RDMABLK_MSG_VISIT	= 20,
	RDMABLK_MSG_LIST_GET	= 21,
	RDMABLK_MSG_LIST	= 22,
	RDMABLK_MSG_SCRATCH_GET	= 23,
	RDMABLK_MSG_SCRATCH	= 24,
};

/**
 * struct rdmablk_hdr - head of every message, in all versions
 * @type: enum rdmablk_msg_type
 * @length: bytes of the whole message; of a command on a write queue with its trailer
 * @tag: of COMMAND and ANSWER: below RDMABLK_CTRL_TAGS, on a write queue below
 *	LIMITS.cmd_depth; else 0
 * @reserved: zero
 * @generation: of COMMAND and ANSWER: how often the tag has been used, on a write queue
 *	modulo 256; else 0. An answer that is not of the newest generation of its tag
 *	completes nothing.
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
 * Features, offered, required and chosen
 *
 * @RDMABLK_F_COMMANDS: write queues carry commands (operations from RDMABLK_OP_FENCE on)
 *	and their answers; LIMITS_GET and LIMITS, EVENT RESIZE and RDMABLK_LOGOUT_CLEAN
 *	exist
 * @RDMABLK_F_STAGED: the target may grant staged exports; needs RDMABLK_F_COMMANDS
 * @RDMABLK_F_LISTS: one SEND may carry several answers of a staged session; needs
 *	RDMABLK_F_STAGED
 * @RDMABLK_F_IMPLIED: a WRITE of a staged session may be its data alone; needs
 *	RDMABLK_F_STAGED
 * @RDMABLK_FEATURES_V1: all features of version 1
 */
#define RDMABLK_F_COMMANDS	(1ULL << 0)
#define RDMABLK_F_STAGED	(1ULL << 1)
#define RDMABLK_F_LISTS		(1ULL << 2)
#define RDMABLK_F_IMPLIED	(1ULL << 3)
#define RDMABLK_FEATURES_V1	(RDMABLK_F_COMMANDS | RDMABLK_F_STAGED | \
				 RDMABLK_F_LISTS | RDMABLK_F_IMPLIED)

/* Authentication methods, a set in HELLO and one bit in CHALLENGE */
#define RDMABLK_AUTH_NONE	(1U << 0)	/* K is 32 zero bytes: authenticates nobody */
#define RDMABLK_AUTH_PSK	(1U << 1)	/* pre-shared key and ECDH; the one of version 2 */

/* Group and cipher suite of version 2; both sides refuse all others */
#define RDMABLK_GROUP_P256	1	/* ECDH on NIST P-256 */
#define RDMABLK_SUITE_AES256_GCM	1	/* HMAC-SHA-256, HKDF-SHA-256, AES-256-GCM */

/*
 * Flags of HELLO
 *
 * @RDMABLK_HELLO_READ_ONLY: the initiator never writes and wants no right to
 * @RDMABLK_HELLO_STEAL: end another host's writing session if there is one
 * @RDMABLK_HELLO_RESUME: continue an earlier session of this instance; the generation is
 *	higher than that session's
 * @RDMABLK_HELLO_FLAGS: all of a login to an export
 * @RDMABLK_HELLO_VISIT: a visit: no export and no other flag; VISIT answers PROOF
 */
#define RDMABLK_HELLO_READ_ONLY	(1U << 0)
#define RDMABLK_HELLO_STEAL	(1U << 1)
#define RDMABLK_HELLO_RESUME	(1U << 2)
#define RDMABLK_HELLO_FLAGS	(RDMABLK_HELLO_READ_ONLY | RDMABLK_HELLO_STEAL | \
				 RDMABLK_HELLO_RESUME)
#define RDMABLK_HELLO_VISIT	(1U << 3)

/**
 * struct rdmablk_hello - HELLO, first message of a login
 * @hdr: head
 * @version_min: lowest version of the initiator; never moves
 * @version_max: highest version of the initiator; never moves
 * @flags: RDMABLK_HELLO_*; others are malformed
 * @features_offered: RDMABLK_F_* that the initiator can use
 * @features_required: those that it cannot do without; a subset of the offered
 * @host_id: identity of the host, the same for all its disks and after a reboot
 * @boot_nonce: random per start of the initiator. A host with a new one has lost all it
 *	had, so it may take over its old sessions.
 * @instance_id: random per device. With the same boot nonce, another instance is another
 *	live device of this host.
 * @nonce: random per login
 * @generation: logins of this instance, from 1, each one more
 * @nr_queues: hardware queues wished for, 1 to RDMABLK_MAX_QUEUES; each is two queue pairs
 * @queue_depth: requests in flight per hardware queue, at least 1
 * @keep_alive_ms: keep-alive timeout wished for, milliseconds, not 0
 * @auth_methods: RDMABLK_AUTH_* that the initiator can use, at least one
 * @host_name: for the target's log; may be empty
 * @export_name: the export wanted; empty only in a visit
 * @uuid: UUID of the export to resume, in version 2 its resume MAC; zero without
 *	RDMABLK_HELLO_RESUME
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
 * struct rdmablk_hello2 - HELLO of version 2
 * @hello: as in version 1; both versions are 2, auth_methods is RDMABLK_AUTH_PSK
 * @key_id: names K: the first bytes of a hash of it
 * @group: RDMABLK_GROUP_P256
 * @suite: RDMABLK_SUITE_AES256_GCM
 * @reserved: zero
 * @point: ephemeral public key of the initiator
 */
struct rdmablk_hello2 {
	struct rdmablk_hello hello;
	__u8	key_id[RDMABLK_KEY_ID_LEN];
	__le16	group;
	__le16	suite;
	__le32	reserved;
	__u8	point[RDMABLK_POINT_LEN];
};

RDMABLK_SIZE(rdmablk_hello2, 360);
RDMABLK_OFFSET(rdmablk_hello2, key_id, 280);
RDMABLK_OFFSET(rdmablk_hello2, point, 296);

/**
 * struct rdmablk_challenge - CHALLENGE, answer to HELLO
 * @hdr: head
 * @version: chosen: the highest that both sides speak
 * @reserved: zero
 * @auth_method: chosen: one bit of HELLO.auth_methods
 * @features: chosen: a subset of the offered, a superset of the required
 * @session_id: not 0, never used twice by one target process
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
 * struct rdmablk_challenge2 - CHALLENGE of version 2
 * @challenge: as in version 1; version is 2, auth_method is RDMABLK_AUTH_PSK
 * @target_id: identity of the target, the same for all its exports and after a restart
 * @group: RDMABLK_GROUP_P256
 * @suite: RDMABLK_SUITE_AES256_GCM
 * @reserved: zero
 * @point: ephemeral public key of the target
 *
 * A host or key id that the target does not know gets one like any other, and learns of the
 * refusal after PROOF.
 */
struct rdmablk_challenge2 {
	struct rdmablk_challenge challenge;
	__u8	target_id[RDMABLK_ID_LEN];
	__le16	group;
	__le16	suite;
	__le32	reserved;
	__u8	point[RDMABLK_POINT_LEN];
};

RDMABLK_SIZE(rdmablk_challenge2, 160);
RDMABLK_OFFSET(rdmablk_challenge2, target_id, 72);
RDMABLK_OFFSET(rdmablk_challenge2, point, 96);

/**
 * struct rdmablk_proof - PROOF, the initiator knows K
 * @hdr: head
 * @mac: proof MAC
 */
struct rdmablk_proof {
	struct rdmablk_hdr hdr;
	__u8	mac[RDMABLK_MAC_LEN];
};

RDMABLK_SIZE(rdmablk_proof, 48);

/*
 * Flags of GRANT
 *
 * @RDMABLK_GRANT_READ_ONLY: the session has no right to write; set if HELLO asked for it
 * @RDMABLK_GRANT_SHARED: other hosts may write, too
 * @RDMABLK_GRANT_ROTATIONAL: the medium rotates
 * @RDMABLK_GRANT_CACHE: writes are durable only after FLUSH; with RDMABLK_F_COMMANDS
 * @RDMABLK_GRANT_STAGED: no regions, READ and WRITE are commands; with RDMABLK_F_STAGED
 * @RDMABLK_GRANT_FLAGS: all of them
 */
#define RDMABLK_GRANT_READ_ONLY	(1U << 0)
#define RDMABLK_GRANT_SHARED	(1U << 1)
#define RDMABLK_GRANT_ROTATIONAL	(1U << 2)
#define RDMABLK_GRANT_CACHE	(1U << 3)
#define RDMABLK_GRANT_STAGED	(1U << 4)
#define RDMABLK_GRANT_FLAGS	(RDMABLK_GRANT_READ_ONLY | \
				 RDMABLK_GRANT_SHARED | \
				 RDMABLK_GRANT_ROTATIONAL | \
				 RDMABLK_GRANT_CACHE | RDMABLK_GRANT_STAGED)

/**
 * struct rdmablk_grant - GRANT, the session
 * @hdr: head
 * @session_id: as in CHALLENGE
 * @features: as in CHALLENGE
 * @uuid: identity of the export
 * @epoch: identity of the store's volatile contents
 * @size: bytes of the export; a multiple of logical_block, at most RDMABLK_MAX_SIZE
 * @region_bytes: bytes of every region but the last, which holds the rest; a power of two,
 *	at least RDMABLK_MIN_REGION. Staged: 0
 * @nr_regions: size / region_bytes, rounded up; at most RDMABLK_MAX_REGIONS. Staged: 0
 * @flags: RDMABLK_GRANT_*; others are malformed
 * @logical_block: bytes, 512 or 4096
 * @physical_block: bytes, a power of two, from logical_block to 65536
 * @io_min: preferred smallest request, bytes, a multiple of logical_block; 0: the physical
 *	block
 * @io_opt: preferred largest sustained request, bytes, a multiple of logical_block; 0: none
 * @max_io: largest request, bytes, a multiple of logical_block, at least 4096; 0: the target
 *	has no limit of its own
 * @nr_queues: hardware queues granted, 1 to HELLO.nr_queues
 * @queue_depth: granted, 1 to HELLO.queue_depth
 * @read_depth: RDMA READs that each queue pair of the target answers at once, at least 1
 * @reserved: zero
 * @keep_alive_ms: keep-alive timeout of the initiator, from RDMABLK_MIN_KEEP_ALIVE_MS to
 *	RDMABLK_MAX_KEEP_ALIVE_MS
 * @session_tmo_ms: the target ends a session that is silent for so long; more than
 *	keep_alive_ms, at most RDMABLK_MAX_SESSION_MS
 * @reserved2: zero
 * @target_name: for logs
 * @mac: grant MAC; version 2: the message ends before it
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
 * struct rdmablk_regions_get - REGIONS_GET, asks for regions
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
 * struct rdmablk_region - one region, inside REGIONS
 * @iova: remote address of its first byte
 * @rkey: remote key, valid for this session only
 * @reserved: zero
 */
struct rdmablk_region {
	__le64	iova;
	__le32	rkey;
	__le32	reserved;
};

RDMABLK_SIZE(rdmablk_region, 16);

/**
 * struct rdmablk_regions - REGIONS, answer to REGIONS_GET
 * @hdr: head
 * @first: as asked
 * @count: regions in this message: all that remain, at most RDMABLK_REGIONS_PER_MSG
 * @region: struct rdmablk_region each; the first @count are valid, the others zero
 * @mac: regions MAC; version 2: the message ends before it
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
 * struct rdmablk_limits_get - LIMITS_GET, asks what commands may ask for
 * @hdr: head
 */
struct rdmablk_limits_get {
	struct rdmablk_hdr hdr;
};

RDMABLK_SIZE(rdmablk_limits_get, 16);

/* The bit of an operation of write queues in LIMITS.ops */
#define RDMABLK_OP_BIT(op)	(1U << ((op) - RDMABLK_OP_FENCE))

/**
 * struct rdmablk_limits - LIMITS, answer to LIMITS_GET
 * @hdr: head
 * @ops: operations of write queues: bit n stands for operation 32 + n. RDMABLK_OP_FENCE is
 *	always among them. RDMABLK_R_UNSUPPORTED answers all others.
 * @cmd_depth: commands in flight on each write queue, 2 to RDMABLK_MAX_CMD_DEPTH; tags are
 *	below it
 * @max_ranges: ranges in a DIRTY command, 1 to as many as RDMABLK_MAX_TRAILER holds (1024);
 *	0 without that operation
 * @granule: every range of DIRTY begins and ends at a multiple of this many bytes, or at the
 *	end of the export; a power of two, from RDMABLK_MIN_GRANULE and the logical
 *	block to RDMABLK_MAX_GRANULE; 0 without that operation
 * @trailer_bytes: data that a WRITE command, or the answer to a READ, may carry; at most
 *	RDMABLK_MAX_TRAILER; 0: none. Staged with RDMABLK_F_LISTS: at least the size of
 *	struct rdmablk_answers
 * @max_discard: bytes of a DISCARD, at least a logical block with that operation. An
 *	initiator does without DISCARD when this is less than the granularity.
 * @max_zeroes: bytes of a WRITE_ZEROES, at least a logical block with that operation
 * @max_erase: bytes of a SECURE_ERASE, likewise
 * @discard_granularity: bytes, a power of two; 0 without DISCARD
 * @discard_alignment: bytes before the first granule; below the granularity, or 0
 * @erase_granularity: of SECURE_ERASE, bytes, a power of two; 0 without it
 * @slot_bytes: bytes of a slot, and of the largest READ or WRITE command; a multiple of the
 *	logical block, from 4096 to RDMABLK_MAX_SLOT; 0 unless staged
 * @slot_iova: remote address of slot 0; 0 unless staged
 * @slot_rkey: remote key of all slots; 0 unless staged
 * @reserved: zero
 * @mac: limits MAC; version 2: the message ends before it
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
 * struct rdmablk_ready - READY, all data queues have joined
 * @hdr: head
 */
struct rdmablk_ready {
	struct rdmablk_hdr hdr;
};

RDMABLK_SIZE(rdmablk_ready, 16);

/**
 * struct rdmablk_live - LIVE, the target agrees: I/O may start
 * @hdr: head
 */
struct rdmablk_live {
	struct rdmablk_hdr hdr;
};

RDMABLK_SIZE(rdmablk_live, 16);

/**
 * enum rdmablk_op - operations of commands
 * @RDMABLK_OP_KEEPALIVE: proves that the daemon lives, and extends the session; tag
 *	RDMABLK_TAG_KEEPALIVE
 * @RDMABLK_OP_LOGOUT: ends the session; the initiator has no request in flight; tag
 *	RDMABLK_TAG_LOGOUT
 * @RDMABLK_OP_FENCE: does nothing else. As every command, it makes what the WRITEs posted
 *	before it on its queue have written visible to the target's CPU.
 * @RDMABLK_OP_DIRTY: the ranges behind the command, an array of struct rdmablk_range, have
 *	been written; the target notes them for this session's next FLUSH
 * @RDMABLK_OP_FLUSH: makes durable what has been written
 * @RDMABLK_OP_DISCARD: nobody needs the contents of the range: it reads as anything until it
 *	is written, and the store may give back the space
 * @RDMABLK_OP_WRITE_ZEROES: the range reads as zeroes
 * @RDMABLK_OP_SECURE_ERASE: nobody can get the contents of the range from the store any more
 * @RDMABLK_OP_READ: staged: the data is in the command's slot when the answer comes
 * @RDMABLK_OP_WRITE: staged: the data is in the command's slot
 *
 * Numbers below 32 are operations of the control queue, the others those of write queues.
 * 2 to 31 and those above RDMABLK_OP_WRITE are reserved. RDMABLK_R_UNSUPPORTED answers an
 * operation that the target does not know.
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

/*
 * Flags of commands
 *
 * @RDMABLK_LOGOUT_CLEAN: LOGOUT: a FLUSH has covered all that the session wrote; with
 *	RDMABLK_F_COMMANDS
 * @RDMABLK_ZEROES_KEEP: WRITE_ZEROES: the range keeps its space in the store
 * @RDMABLK_IO_TRAILER: READ: the answer carries the data. WRITE: the data follows the
 *	command.
 * @RDMABLK_IO_FUA: WRITE: the data is durable when the answer comes
 */
#define RDMABLK_LOGOUT_CLEAN	(1U << 0)
#define RDMABLK_ZEROES_KEEP	(1U << 0)
#define RDMABLK_IO_TRAILER	(1U << 0)
#define RDMABLK_IO_FUA		(1U << 1)

/**
 * enum rdmablk_ctrl_tag - tags of the control queue
 * @RDMABLK_TAG_KEEPALIVE: KEEPALIVE
 * @RDMABLK_TAG_LOGOUT: LOGOUT
 * @RDMABLK_TAG_FENCE: reserved
 * @RDMABLK_TAG_ADMIN: reserved
 *
 * Each has one purpose, so that a keep-alive never waits for a tag behind something slow.
 */
enum rdmablk_ctrl_tag {
	RDMABLK_TAG_KEEPALIVE	= 0,
	RDMABLK_TAG_LOGOUT	= 1,
	RDMABLK_TAG_FENCE	= 2,
	RDMABLK_TAG_ADMIN	= 3,
};

/**
 * struct rdmablk_command - COMMAND
 * @hdr: head, with tag and generation. On a write queue the length counts the trailer: the
 *	data of a WRITE, the ranges of DIRTY; and the generation is below 256, because
 *	the answer has room for no more.
 * @op: enum rdmablk_op
 * @flags: of the operation; others are malformed
 * @reserved: zero
 * @offset: first byte in the export; 0 where the operation has no range
 * @bytes: bytes of the range; 0 where the operation has none
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
 * struct rdmablk_range - a range of the export, behind a DIRTY command
 * @offset: first byte
 * @bytes: how many, not 0
 */
struct rdmablk_range {
	__le64	offset;
	__le64	bytes;
};

RDMABLK_SIZE(rdmablk_range, 16);

/*
 * Immediate data of an answer on a write queue
 *
 * The number in host order; in the packet it is in network order, as all immediate data.
 *
 *   bits 31 to 16  tag of the command
 *   bits 15 to 8   its generation
 *   bits 7 to 0    enum rdmablk_reason; RDMABLK_OK: done
 */
#define RDMABLK_IMM(tag, generation, status)				\
	((__u32)(tag) << 16 | ((__u32)(generation) & 0xff) << 8 |	\
	 ((__u32)(status) & 0xff))
#define RDMABLK_IMM_TAG(imm)		((imm) >> 16)
#define RDMABLK_IMM_GENERATION(imm)	((imm) >> 8 & 0xff)
#define RDMABLK_IMM_STATUS(imm)		((imm) & 0xff)

/*
 * Immediate data of an implied WRITE
 *
 * @RDMABLK_WRITE_FUA: bit 31: as RDMABLK_IO_FUA
 * @RDMABLK_WRITE_PAGES: bit 30: the position counts 4096 bytes, else logical blocks
 * @RDMABLK_WRITE_PAGE_SHIFT: log2 of these 4096 bytes
 *
 * Bits 29 to 0, RDMABLK_WRITE_POS(), are the position of the first byte in the export.
 * "Implied WRITEs" in protocol.rst has the rest.
 */
#define RDMABLK_WRITE_FUA		(1U << 31)
#define RDMABLK_WRITE_PAGES		(1U << 30)
#define RDMABLK_WRITE_POS(imm)		((imm) & (RDMABLK_WRITE_PAGES - 1))
#define RDMABLK_WRITE_PAGE_SHIFT	12

/**
 * struct rdmablk_answers - several answers in one SEND without immediate data
 * @imm: the number that each answer would be alone. Only as many are sent as there are
 *	answers.
 */
struct rdmablk_answers {
	__le32	imm[RDMABLK_MAX_ANSWERS];
};

RDMABLK_SIZE(rdmablk_answers, 256);

/**
 * struct rdmablk_answer - ANSWER, on the control queue
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
 * enum rdmablk_event - events
 * @RDMABLK_EVENT_DRAIN: the target is about to shut down; value: milliseconds until then; 0:
 *	at any moment. An initiator with unflushed writes flushes them and logs out.
 * @RDMABLK_EVENT_RESIZE: the export has grown; value: its size now, bytes, a multiple of 512
 *	up to RDMABLK_MAX_SIZE; with RDMABLK_F_COMMANDS
 * @RDMABLK_EVENT_LEAVING: the export is about to be removed, and DRAIN follows for that
 *	reason; value: that of DRAIN
 * @RDMABLK_EVENT_REAUTH: version 2: the session's key is about to end; value: milliseconds
 *	until the target ends the session with RDMABLK_R_AUTH_KEY. An initiator that has
 *	another key begins REAUTH.
 *
 * An initiator ignores an event that it does not know. At most 3 events (RDMABLK_CTRL_RECVS -
 * RDMABLK_CTRL_TAGS - 1) are under way, unacknowledged by the transport, at a time; others
 * wait.
 */
enum rdmablk_event {
	RDMABLK_EVENT_DRAIN	= 1,
	RDMABLK_EVENT_RESIZE	= 2,
	RDMABLK_EVENT_LEAVING	= 3,
	RDMABLK_EVENT_REAUTH	= 4,
};

/**
 * struct rdmablk_event_msg - EVENT
 * @hdr: head
 * @event: enum rdmablk_event
 * @reserved: zero
 * @reserved2: zero
 * @value: as the event says
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
 * struct rdmablk_reauth - REAUTH, version 2
 * @hdr: head
 * @key_id: names K, which may be another key of the same host
 * @nonce: random
 * @point: ephemeral public key of the initiator
 */
struct rdmablk_reauth {
	struct rdmablk_hdr hdr;
	__u8	key_id[RDMABLK_KEY_ID_LEN];
	__u8	nonce[RDMABLK_NONCE_LEN];
	__u8	point[RDMABLK_POINT_LEN];
};

RDMABLK_SIZE(rdmablk_reauth, 120);
RDMABLK_OFFSET(rdmablk_reauth, point, 56);

/**
 * struct rdmablk_reauth_challenge - REAUTH_CHALLENGE, version 2
 * @hdr: head
 * @nonce: random
 * @point: ephemeral public key of the target
 */
struct rdmablk_reauth_challenge {
	struct rdmablk_hdr hdr;
	__u8	nonce[RDMABLK_NONCE_LEN];
	__u8	point[RDMABLK_POINT_LEN];
};

RDMABLK_SIZE(rdmablk_reauth_challenge, 112);
RDMABLK_OFFSET(rdmablk_reauth_challenge, point, 48);

/**
 * struct rdmablk_reauth_proof - REAUTH_PROOF, version 2
 * @hdr: head
 * @mac: proof MAC, of the transcript of the reauthentication
 *
 * Each side goes on in the old epoch until it has sent or received REAUTH_DONE.
 */
struct rdmablk_reauth_proof {
	struct rdmablk_hdr hdr;
	__u8	mac[RDMABLK_MAC_LEN];
};

RDMABLK_SIZE(rdmablk_reauth_proof, 48);

/**
 * struct rdmablk_reauth_done - REAUTH_DONE, version 2
 * @hdr: head
 */
struct rdmablk_reauth_done {
	struct rdmablk_hdr hdr;
};

RDMABLK_SIZE(rdmablk_reauth_done, 16);

/**
 * struct rdmablk_visit - VISIT, answer to PROOF of a visit
 * @hdr: head
 * @session_id: as in CHALLENGE
 * @reserved: zero
 * @target_name: for people
 */
struct rdmablk_visit {
	struct rdmablk_hdr hdr;
	__le64	session_id;
	__le64	reserved;
	char	target_name[RDMABLK_NAME_LEN];
};

RDMABLK_SIZE(rdmablk_visit, 96);
RDMABLK_OFFSET(rdmablk_visit, target_name, 32);

/**
 * struct rdmablk_list_get - LIST_GET, in a visit
 * @hdr: head
 * @after: name before those wanted, in the order of their bytes; empty: from the first on
 */
struct rdmablk_list_get {
	struct rdmablk_hdr hdr;
	char	after[RDMABLK_NAME_LEN];
};

RDMABLK_SIZE(rdmablk_list_get, 80);

/*
 * Flags of struct rdmablk_listed, besides those of GRANT
 *
 * @RDMABLK_LISTED_HERE: a session of this host uses it
 * @RDMABLK_LISTED_ELSEWHERE: one of another host does
 * @RDMABLK_LISTED_WRITTEN: and may write
 */
#define RDMABLK_LISTED_HERE	(1U << 16)
#define RDMABLK_LISTED_ELSEWHERE	(1U << 17)
#define RDMABLK_LISTED_WRITTEN	(1U << 18)

/**
 * struct rdmablk_listed - an export that the host may use, inside LIST
 * @name: of the export
 * @size: bytes
 * @logical_block: bytes
 * @flags: RDMABLK_GRANT_* as a login would get them, RDMABLK_LISTED_*
 */
struct rdmablk_listed {
	char	name[RDMABLK_NAME_LEN];
	__le64	size;
	__le32	logical_block;
	__le32	flags;
};

RDMABLK_SIZE(rdmablk_listed, 80);

/**
 * struct rdmablk_list - LIST, answer to LIST_GET
 * @hdr: head
 * @count: exports in this message, at most RDMABLK_LISTED_PER_MSG
 * @more: 1: others follow the last of them; 0: none
 * @listed: struct rdmablk_listed each; the first @count are valid, the others zero
 */
struct rdmablk_list {
	struct rdmablk_hdr hdr;
	__le32	count;
	__le32	more;
	struct rdmablk_listed listed[RDMABLK_LISTED_PER_MSG];
};

RDMABLK_SIZE(rdmablk_list, 424);
RDMABLK_OFFSET(rdmablk_list, listed, 24);

/**
 * struct rdmablk_scratch_get - SCRATCH_GET, in a visit, once
 * @hdr: head
 * @bytes: wanted, 1 to RDMABLK_MAX_SCRATCH
 * @reserved: zero
 */
struct rdmablk_scratch_get {
	struct rdmablk_hdr hdr;
	__le32	bytes;
	__le32	reserved;
};

RDMABLK_SIZE(rdmablk_scratch_get, 24);

/**
 * struct rdmablk_scratch - SCRATCH, answer to SCRATCH_GET
 * @hdr: head
 * @iova: remote address of the region's first byte; 0 without a region
 * @rkey: remote key, valid on queue 0 of this visit only; 0 without a region
 * @bytes: of the region, which is zero at first and may be smaller than wanted; 0: there is
 *	none
 * @reason: enum rdmablk_reason: why there is none, RDMABLK_R_UNSUPPORTED: the target lends
 *	none; else RDMABLK_OK
 * @reserved: zero
 * @reserved2: zero
 */
struct rdmablk_scratch {
	struct rdmablk_hdr hdr;
	__le64	iova;
	__le32	rkey;
	__le32	bytes;
	__le16	reason;
	__le16	reserved;
	__le32	reserved2;
};

RDMABLK_SIZE(rdmablk_scratch, 40);
RDMABLK_OFFSET(rdmablk_scratch, bytes, 28);

/**
 * struct rdmablk_close - CLOSE, in all versions
 * @hdr: head
 * @reason: enum rdmablk_reason
 * @version_min: lowest version of the sender
 * @version_max: highest version of the sender
 * @reserved: zero
 * @retry_after_ms: milliseconds after which a new try makes sense; 0: waiting does not help
 * @reserved2: zero
 *
 * From a target, in a session past GRANT, it also says: every data queue pair of the session
 * is destroyed and its memory deregistered. No write of this session can land any more. In
 * version 2 only a sealed CLOSE says so; one that is not sealed is a hint for the log.
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
