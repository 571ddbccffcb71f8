/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages: checking what came in, laying out what goes out. PURE: no verbs, no
 * crypto, no state, so that tests and fuzzers feed it anything.
 *
 * Every check looks at the length first, then at the fields, and gives an enum
 * rdmablk_reason: RDMABLK_OK or why the message is refused. Outputs are valid
 * after RDMABLK_OK only.
 */
#ifndef RDMABLKD_WIRE_H
#define RDMABLKD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi/rdmablk_proto.h"

/**
 * struct login_request - private data of a connection request, decoded
 * @version: highest both speak
 * @kind: enum rdmablk_kind
 * @queue: 0 or 1..2n
 * @generation: login generation
 * @session_id: of the session to join
 */
struct login_request {
	uint16_t version;
	uint8_t kind;
	uint16_t queue;
	uint32_t generation;
	uint64_t session_id;
};

/**
 * struct login_wish - HELLO, decoded
 * @version: highest both speak
 * @flags: RDMABLK_HELLO_*
 * @features: chosen
 * @host_id: identity of the host
 * @boot_nonce: of its start
 * @instance_id: of the device
 * @generation: of the login
 * @nr_queues: hardware queues wished for
 * @queue_depth: wished for
 * @keep_alive_ms: wished for
 * @host_name: for the log
 * @export_name: wanted
 * @uuid: of the export that it goes on with; zero without RDMABLK_HELLO_RESUME
 */
struct login_wish {
	uint16_t version;
	uint32_t flags;
	uint64_t features;
	uint8_t host_id[RDMABLK_ID_LEN];
	uint8_t boot_nonce[RDMABLK_ID_LEN];
	uint8_t instance_id[RDMABLK_ID_LEN];
	uint32_t generation;
	uint16_t nr_queues;
	uint16_t queue_depth;
	uint32_t keep_alive_ms;
	char host_name[RDMABLK_NAME_LEN];
	char export_name[RDMABLK_NAME_LEN];
	uint8_t uuid[RDMABLK_ID_LEN];
};

/**
 * struct login_command - COMMAND, decoded
 * @op: enum rdmablk_op or unknown
 * @flags: of the operation
 * @tag: below RDMABLK_CTRL_TAGS
 * @generation: of the tag
 */
struct login_command {
	uint16_t op;
	uint16_t flags;
	uint16_t tag;
	uint32_t generation;
};

/* What GRANT says, before it is laid out; fields as in struct rdmablk_grant. */
struct login_grant {
	uint64_t session_id;
	uint64_t features;
	const uint8_t *uuid;
	const uint8_t *epoch;
	uint64_t size;
	uint64_t region_bytes;
	uint32_t nr_regions;
	uint32_t flags;
	uint32_t logical_block;
	uint32_t physical_block;
	uint32_t io_min;
	uint32_t io_opt;
	uint32_t max_io;
	uint16_t nr_queues;
	uint16_t queue_depth;
	uint16_t read_depth;
	uint32_t keep_alive_ms;
	uint32_t session_tmo_ms;
	const char *target_name;
};

/**
 * struct login_scope - what the commands of a session may be and ask for
 * @size: of the export as the session knows it, bytes
 * @logical_block: bytes
 * @writer: the session may write
 *
 * The other fields are those of struct rdmablk_limits.
 */
struct login_scope {
	uint64_t size;
	uint32_t logical_block;
	bool writer;
	uint32_t ops;
	uint16_t cmd_depth;
	uint16_t max_ranges;
	uint32_t granule;
	uint32_t trailer_bytes;
	uint64_t max_discard;
	uint64_t max_zeroes;
	uint64_t max_erase;
	uint32_t discard_granularity;
	uint32_t discard_alignment;
	uint32_t erase_granularity;
	uint32_t slot_bytes;
	uint64_t slot_iova;
	uint32_t slot_rkey;
};

unsigned int login_check_request(const void *data, size_t len,
				 struct login_request *out);
unsigned int login_check_head(const void *msg, size_t len, uint16_t *type);
unsigned int login_check_hello(const void *msg, size_t len,
			       struct login_wish *out);
unsigned int login_check_regions_get(const void *msg, size_t len,
				     uint32_t nr_regions, uint32_t *first);
unsigned int login_check_command(const void *msg, size_t len,
				 struct login_command *out);
unsigned int login_check_close(const void *msg, size_t len,
			       unsigned int *reason);
uint32_t login_retry_after(unsigned int reason);

void login_pack_accept(struct rdmablk_cm_accept *out, uint16_t version,
		       uint16_t queue);
void login_pack_reject(struct rdmablk_cm_reject *out, unsigned int reason);
void login_pack_challenge(struct rdmablk_challenge *out,
			  const struct login_wish *wish, uint64_t session_id,
			  const uint8_t *nonce);
void login_pack_grant(struct rdmablk_grant *out, const struct login_grant *in);
void login_pack_regions(struct rdmablk_regions *out, uint32_t first,
			uint32_t count);
void login_pack_region(struct rdmablk_region *out, uint64_t iova, uint32_t rkey);
void login_pack_limits(struct rdmablk_limits *out, const struct login_scope *in);
void login_pack_live(struct rdmablk_live *out);
void login_pack_answer(struct rdmablk_answer *out,
		       const struct login_command *cmd, unsigned int status);
void login_pack_event(struct rdmablk_event_msg *out, uint16_t event,
		      uint64_t value);
void login_pack_close(struct rdmablk_close *out, unsigned int reason);

#endif
