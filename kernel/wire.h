/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The initiator's side of the wire protocol: pack what it sends, parse and validate
 * what it receives. Values here are in host order.
 */
#ifndef RDMABLK_WIRE_H
#define RDMABLK_WIRE_H

#include <linux/types.h>
#include "uapi/rdmablk_proto.h"

#define RDMABLK_MIN_MAX_IO	4096	/* of GRANT.max_io and LIMITS.slot_bytes, bytes */

/**
 * struct rdmablk_wire_reject - a parsed struct rdmablk_cm_reject
 * @reason: enum rdmablk_reason
 * @version_min: of the target
 * @version_max: of the target
 * @retry_after_ms: milliseconds
 */
struct rdmablk_wire_reject {
	u16 reason;
	u16 version_min;
	u16 version_max;
	u32 retry_after_ms;
};

/**
 * struct rdmablk_wire_hello - what the initiator decides in HELLO; the fields are
 *	those of struct rdmablk_hello
 * @flags: RDMABLK_HELLO_*
 * @features_offered: RDMABLK_F_*
 * @host_id: identity of the host
 * @boot_nonce: random per start
 * @instance_id: random per device
 * @nonce: random per login
 * @generation: of the login
 * @nr_queues: wished for
 * @queue_depth: wished for
 * @keep_alive_ms: wished for
 * @host_name: NUL-terminated
 * @export_name: NUL-terminated
 * @uuid: of the export that was granted, or zero
 */
struct rdmablk_wire_hello {
	u32 flags;
	u64 features_offered;
	u8 host_id[RDMABLK_ID_LEN];
	u8 boot_nonce[RDMABLK_ID_LEN];
	u8 instance_id[RDMABLK_ID_LEN];
	u8 nonce[RDMABLK_NONCE_LEN];
	u32 generation;
	u16 nr_queues;
	u16 queue_depth;
	u32 keep_alive_ms;
	char host_name[RDMABLK_NAME_LEN];
	char export_name[RDMABLK_NAME_LEN];
	u8 uuid[RDMABLK_ID_LEN];
};

/**
 * struct rdmablk_wire_challenge - a parsed struct rdmablk_challenge
 * @version: chosen
 * @auth_method: chosen
 * @features: chosen
 * @session_id: not zero
 * @nonce: of the target
 */
struct rdmablk_wire_challenge {
	u16 version;
	u32 auth_method;
	u64 features;
	u64 session_id;
	u8 nonce[RDMABLK_NONCE_LEN];
};

/**
 * struct rdmablk_wire_grant - a parsed struct rdmablk_grant, field by field
 * @session_id: session
 * @features: chosen
 * @uuid: of the export
 * @epoch: of the store
 * @size: bytes
 * @region_bytes: a power of two; 0 when staged
 * @nr_regions: at least 1; 0 when staged
 * @flags: RDMABLK_GRANT_*
 * @logical_block: bytes
 * @physical_block: bytes
 * @io_min: bytes or 0
 * @io_opt: bytes or 0
 * @max_io: bytes or 0
 * @nr_queues: granted
 * @queue_depth: granted
 * @read_depth: of the target's queue pairs
 * @keep_alive_ms: milliseconds
 * @session_tmo_ms: milliseconds
 * @target_name: NUL-terminated
 * @mac: not verified here
 */
struct rdmablk_wire_grant {
	u64 session_id;
	u64 features;
	u8 uuid[RDMABLK_ID_LEN];
	u8 epoch[RDMABLK_ID_LEN];
	u64 size;
	u64 region_bytes;
	u32 nr_regions;
	u32 flags;
	u32 logical_block;
	u32 physical_block;
	u32 io_min;
	u32 io_opt;
	u32 max_io;
	u16 nr_queues;
	u16 queue_depth;
	u16 read_depth;
	u32 keep_alive_ms;
	u32 session_tmo_ms;
	char target_name[RDMABLK_NAME_LEN];
	u8 mac[RDMABLK_MAC_LEN];
};

/**
 * struct rdmablk_wire_region - one region
 * @iova: remote address of its first byte
 * @rkey: remote key
 */
struct rdmablk_wire_region {
	u64 iova;
	u32 rkey;
};

/**
 * struct rdmablk_wire_limits - a parsed struct rdmablk_limits. What an operation has is
 *	0 when @ops is without it.
 * @ops: RDMABLK_OP_BIT() of operations that this version knows
 * @unusable: of operations that the target has and that are left out of @ops: it takes less
 *	at once than their granularity
 * @cmd_depth: commands in flight per write queue; tags are below it
 * @max_ranges: of a DIRTY command
 * @granule: bytes, a power of two, a multiple of the logical block
 * @trailer_bytes: data with a WRITE or with the answer of a READ; or 0
 * @max_discard: bytes, a multiple of the logical block, no less than the granularity
 * @max_zeroes: bytes, a multiple of the logical block
 * @max_erase: bytes, as that of DISCARD
 * @discard_granularity: bytes, a power of two, a multiple of the logical block
 * @discard_alignment: bytes, a multiple of the logical block below the granularity
 * @erase_granularity: as that of DISCARD
 * @slot_bytes: of a slot, a multiple of the logical block; 0 unless staged
 * @slot_iova: remote address of slot 0; the last slot of the last queue ends without
 *	overflow
 * @slot_rkey: remote key of all slots
 * @mac: not verified here
 */
struct rdmablk_wire_limits {
	u32 ops;
	u32 unusable;
	u16 cmd_depth;
	u16 max_ranges;
	u32 granule;
	u32 trailer_bytes;
	u64 max_discard;
	u64 max_zeroes;
	u64 max_erase;
	u32 discard_granularity;
	u32 discard_alignment;
	u32 erase_granularity;
	u32 slot_bytes;
	u64 slot_iova;
	u32 slot_rkey;
	u8 mac[RDMABLK_MAC_LEN];
};

/**
 * struct rdmablk_wire_imm - a parsed answer to a command on a write queue
 * @tag: below LIMITS.cmd_depth
 * @generation: of the command
 * @status: enum rdmablk_reason
 */
struct rdmablk_wire_imm {
	u16 tag;
	u8 generation;
	u8 status;
};

/**
 * struct rdmablk_wire_answer - a parsed struct rdmablk_answer
 * @tag: below RDMABLK_CTRL_TAGS
 * @generation: of the command
 * @status: enum rdmablk_reason
 */
struct rdmablk_wire_answer {
	u16 tag;
	u32 generation;
	u16 status;
};

/**
 * struct rdmablk_wire_event - a parsed struct rdmablk_event_msg
 * @event: enum rdmablk_event, or one that this version does not know
 * @value: see the event
 */
struct rdmablk_wire_event {
	u16 event;
	u64 value;
};

/**
 * struct rdmablk_wire_close - a parsed struct rdmablk_close
 * @reason: enum rdmablk_reason, not 0
 * @version_min: of the target
 * @version_max: of the target
 * @retry_after_ms: milliseconds
 */
struct rdmablk_wire_close {
	u16 reason;
	u16 version_min;
	u16 version_max;
	u32 retry_after_ms;
};

int rdmablk_wire_type(const void *buf, size_t len);
int rdmablk_wire_take(const void *buf, size_t len, int type, void *msg);
struct rdmablk_hdr rdmablk_wire_hdr(u16 type);
void rdmablk_wire_cm_request(struct rdmablk_cm_request *req, u8 kind, u16 queue,
			     u32 generation, u64 session_id, u16 version_min,
			     u16 version_max);
int rdmablk_wire_parse_accept(const void *buf, size_t len, u16 queue, u16 *version);
int rdmablk_wire_parse_reject(const void *buf, size_t len,
			      struct rdmablk_wire_reject *out);
void rdmablk_wire_hello(struct rdmablk_hello *msg, const struct rdmablk_wire_hello *h);
int rdmablk_wire_parse_challenge(const void *buf, size_t len,
				 const struct rdmablk_hello *sent,
				 struct rdmablk_wire_challenge *out);
void rdmablk_wire_proof(struct rdmablk_proof *msg, const u8 *mac);
int rdmablk_wire_parse_grant(const void *buf, size_t len,
			     const struct rdmablk_hello *sent,
			     const struct rdmablk_wire_challenge *ch,
			     struct rdmablk_wire_grant *out);
bool rdmablk_wire_times_ok(const struct rdmablk_wire_grant *g, u32 asked_ms);
void rdmablk_wire_regions_get(struct rdmablk_regions_get *msg, u32 first);
int rdmablk_wire_parse_regions(const void *buf, size_t len,
			       const struct rdmablk_wire_grant *g, u32 first,
			       struct rdmablk_wire_region *table, u8 *mac);
void rdmablk_wire_ready(struct rdmablk_ready *msg);
int rdmablk_wire_parse_live(const void *buf, size_t len);
void rdmablk_wire_command(struct rdmablk_command *msg, u16 op, u16 flags, u16 tag,
			  u32 generation, u64 offset, u64 bytes);
int rdmablk_wire_parse_answer(const void *buf, size_t len,
			      struct rdmablk_wire_answer *out);
int rdmablk_wire_parse_event(const void *buf, size_t len,
			     struct rdmablk_wire_event *out);
void rdmablk_wire_close(struct rdmablk_close *msg, u16 reason);
int rdmablk_wire_parse_close(const void *buf, size_t len,
			     struct rdmablk_wire_close *out);
int rdmablk_wire_errno(unsigned int reason);

/* wire_data.c: commands on write queues */
void rdmablk_wire_limits_get(struct rdmablk_limits_get *msg);
int rdmablk_wire_parse_limits(const void *buf, size_t len,
			      const struct rdmablk_wire_grant *g,
			      struct rdmablk_wire_limits *out);
void rdmablk_wire_data_command(struct rdmablk_command *msg, u16 op, u16 flags, u16 tag,
			       u8 generation, u64 offset, u64 bytes, u16 trailer);
bool rdmablk_wire_implied(u64 offset, u8 block_shift, bool fua, u32 *imm);
int rdmablk_wire_parse_imm(u32 imm, u16 cmd_depth, struct rdmablk_wire_imm *out);
int rdmablk_wire_parse_answers(const void *buf, size_t len, struct rdmablk_answers *out);

#endif /* RDMABLK_WIRE_H */
