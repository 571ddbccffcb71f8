/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The initiator's side of the wire protocol: pack the messages that it sends, parse and
 * validate those that it receives. Values here are in host order.
 */
#ifndef RDMABLK_WIRE_H
#define RDMABLK_WIRE_H

#include <linux/types.h>
#include "uapi/rdmablk_proto.h"

#define RDMABLK_MIN_MAX_IO	4096	/* least GRANT.max_io and LIMITS.slot_bytes, bytes */

/**
 * struct rdmablk_wire_reject - a parsed struct rdmablk_cm_reject
 * @reason: enum rdmablk_reason
 * @version_min: lowest version of the target
 * @version_max: highest version of the target
 * @retry_after_ms: pause before the next try, milliseconds
 */
struct rdmablk_wire_reject {
	u16 reason;
	u16 version_min;
	u16 version_max;
	u32 retry_after_ms;
};

/**
 * struct rdmablk_wire_hello - the fields of struct rdmablk_hello that the initiator chooses
 * @flags: RDMABLK_HELLO_*
 * @features_offered: RDMABLK_F_*
 * @host_id: identity of the host
 * @boot_nonce: random per start of the host
 * @instance_id: random per device
 * @nonce: random per login
 * @generation: generation of the login
 * @nr_queues: wished number of hardware queues
 * @queue_depth: wished requests per hardware queue
 * @keep_alive_ms: wished keep-alive timeout, milliseconds
 * @host_name: name of the host, NUL-terminated
 * @export_name: name of the export, NUL-terminated
 * @uuid: UUID of the export after it was granted once, in version 2 its resume MAC; or zero
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
 * @version: chosen version
 * @auth_method: chosen method
 * @features: chosen features
 * @session_id: session, not zero
 * @nonce: random number of the target
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
 * @version: version of the login
 * @session_id: session
 * @features: chosen features
 * @uuid: UUID of the export
 * @epoch: epoch of the store
 * @size: size of the export, bytes
 * @region_bytes: size of a region, bytes, a power of two; 0 when staged
 * @nr_regions: number of regions, at least 1; 0 when staged
 * @flags: RDMABLK_GRANT_*
 * @logical_block: bytes
 * @physical_block: bytes
 * @io_min: bytes or 0
 * @io_opt: bytes or 0
 * @max_io: largest request, bytes; 0: no limit
 * @nr_queues: granted hardware queues
 * @queue_depth: granted requests per hardware queue
 * @read_depth: RDMA READs in flight per queue pair of the target
 * @keep_alive_ms: keep-alive timeout, milliseconds
 * @session_tmo_ms: session timeout, milliseconds
 * @target_name: NUL-terminated
 * @mac: not verified by the parser
 */
struct rdmablk_wire_grant {
	u16 version;
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
 * struct rdmablk_wire_limits - a parsed struct rdmablk_limits. The limits of an operation
 *	are 0 if @ops does not have it.
 * @ops: RDMABLK_OP_BIT() of operations that this version knows
 * @unusable: RDMABLK_OP_BIT() of operations that the target has, but that are left out of
 *	@ops because their limit is below their granularity
 * @cmd_depth: commands in flight per write queue; tags are below it
 * @max_ranges: ranges per DIRTY command
 * @granule: bytes, a power of two, a multiple of the logical block
 * @trailer_bytes: most bytes of data with a WRITE or with the answer of a READ; or 0
 * @max_discard: bytes, a multiple of the logical block, not less than the granularity
 * @max_zeroes: bytes, a multiple of the logical block
 * @max_erase: bytes, a multiple of the logical block, not less than the granularity
 * @discard_granularity: bytes, a power of two, a multiple of the logical block
 * @discard_alignment: bytes, a multiple of the logical block, below the granularity
 * @erase_granularity: bytes, a power of two, a multiple of the logical block
 * @slot_bytes: size of a slot, bytes, a multiple of the logical block; 0 unless staged
 * @slot_iova: remote address of slot 0; the last slot of the last queue ends without
 *	overflow
 * @slot_rkey: remote key of all slots
 * @mac: not verified by the parser
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
 * @generation: generation of the command
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
 * @generation: generation of the command
 * @status: enum rdmablk_reason
 */
struct rdmablk_wire_answer {
	u16 tag;
	u32 generation;
	u16 status;
};

/**
 * struct rdmablk_wire_event - a parsed struct rdmablk_event_msg
 * @event: enum rdmablk_event, or an event that this version does not know
 * @value: meaning depends on @event
 */
struct rdmablk_wire_event {
	u16 event;
	u64 value;
};

/**
 * struct rdmablk_wire_close - a parsed struct rdmablk_close
 * @reason: enum rdmablk_reason, not 0
 * @version_min: lowest version of the target
 * @version_max: highest version of the target
 * @retry_after_ms: pause before the next try, milliseconds
 */
struct rdmablk_wire_close {
	u16 reason;
	u16 version_min;
	u16 version_max;
	u32 retry_after_ms;
};

int rdmablk_wire_type(const void *buf, size_t len, u16 version);
int rdmablk_wire_take(const void *buf, size_t len, u16 version, int type, void *msg);
struct rdmablk_hdr rdmablk_wire_hdr(u16 type);
void rdmablk_wire_cm_request(struct rdmablk_cm_request *req, u8 kind, u16 queue,
			     u32 generation, u64 session_id, u16 version_min,
			     u16 version_max);
int rdmablk_wire_parse_accept(const void *buf, size_t len, u16 queue, u16 version,
			      struct rdmablk_cm_accept2 *out);
int rdmablk_wire_parse_reject(const void *buf, size_t len,
			      struct rdmablk_wire_reject *out);
void rdmablk_wire_hello(struct rdmablk_hello *msg, const struct rdmablk_wire_hello *h);
int rdmablk_wire_parse_challenge(const void *buf, size_t len,
				 const struct rdmablk_hello *sent,
				 struct rdmablk_wire_challenge *out);
void rdmablk_wire_hello2(struct rdmablk_hello2 *msg, const struct rdmablk_wire_hello *h,
			 const u8 *key_id, const u8 *point);
int rdmablk_wire_parse_challenge2(const void *buf, size_t len,
				  const struct rdmablk_hello2 *sent,
				  struct rdmablk_wire_challenge *out, u8 *point);
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
void rdmablk_wire_reauth(struct rdmablk_reauth *msg, const u8 *key_id, const u8 *nonce,
			 const u8 *point);
int rdmablk_wire_parse_reauth_challenge(const void *buf, size_t len, u8 *point);
void rdmablk_wire_reauth_proof(struct rdmablk_reauth_proof *msg, const u8 *mac);
void rdmablk_wire_command(struct rdmablk_command *msg, u16 op, u16 flags, u16 tag,
			  u32 generation, u64 offset, u64 bytes);
int rdmablk_wire_parse_answer(const void *buf, size_t len,
			      struct rdmablk_wire_answer *out);
int rdmablk_wire_parse_event(const void *buf, size_t len,
			     struct rdmablk_wire_event *out);
void rdmablk_wire_close(struct rdmablk_close *msg, u16 reason, u16 version);
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
