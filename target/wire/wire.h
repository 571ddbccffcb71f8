/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages: checks messages of the peer, and packs those for the peer. PURE: no verbs, no
 * crypto, no state, so that tests and fuzzers can feed it anything.
 *
 * A daemon speaks one version, RDMABLK_VERSION_OPEN or RDMABLK_VERSION_PROVEN. Where the
 * parameter @version is not described, it is that version.
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
 * struct wire_request - private data of a connection request, decoded
 * @version: highest version that both sides speak
 * @kind: enum rdmablk_kind
 * @queue: 0 or 1..2n
 * @generation: login generation
 * @session_id: of the session to join
 */
struct wire_request {
	uint16_t version;
	uint8_t kind;
	uint16_t queue;
	uint32_t generation;
	uint64_t session_id;
};

/**
 * struct wire_hello - HELLO, decoded
 * @version: highest version that both sides speak
 * @flags: RDMABLK_HELLO_*
 * @features: chosen features
 * @host_id: identity of the host
 * @boot_nonce: random number of the host's boot
 * @instance_id: identity of the device
 * @generation: number of the login
 * @nr_queues: hardware queues that the initiator asks for
 * @queue_depth: depth that it asks for
 * @keep_alive_ms: keep-alive timeout that it asks for, ms
 * @host_name: name of the host, for the log
 * @export_name: name of the export wanted
 * @uuid: of the export that it goes on with, in version 2 its resume MAC; zero without
 *	RDMABLK_HELLO_RESUME
 * @key_id: version 2: names the key of the host
 * @point: version 2: ephemeral public key, not checked
 */
struct wire_hello {
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
	uint8_t key_id[RDMABLK_KEY_ID_LEN];
	uint8_t point[RDMABLK_POINT_LEN];
};

/**
 * struct wire_command - COMMAND, decoded
 * @op: enum rdmablk_op or unknown
 * @flags: of the operation
 * @tag: below RDMABLK_CTRL_TAGS
 * @generation: of the tag
 */
struct wire_command {
	uint16_t op;
	uint16_t flags;
	uint16_t tag;
	uint32_t generation;
};

/* What GRANT says, before it is laid out; fields as in struct rdmablk_grant. */
struct wire_grant {
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
 * struct wire_scope - what the commands of a session may be and ask for
 * @size: of the export as the session knows it, bytes
 * @logical_block: bytes
 * @writer: the session may write
 *
 * The other fields are those of struct rdmablk_limits.
 */
struct wire_scope {
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

/**
 * struct wire_data - a command on a write queue, decoded
 * @op: enum rdmablk_op or unknown
 * @flags: of the operation
 * @tag: below the depth granted
 * @generation: of the tag
 * @trailer: bytes that follow the command
 * @offset: first byte
 * @bytes: how many
 * @status: RDMABLK_OK: it can be done; else what it is answered with, and nothing else
 *	happens. enum rdmablk_reason
 */
struct wire_data {
	uint16_t op;
	uint16_t flags;
	uint16_t tag;
	uint8_t generation;
	uint32_t trailer;
	uint64_t offset;
	uint64_t bytes;
	unsigned int status;
};

unsigned int wire_check_request(const void *data, size_t len, uint16_t version,
				struct wire_request *out);
unsigned int wire_check_head(const void *msg, size_t len, uint16_t version, uint16_t *type);
unsigned int wire_check_hello(const void *msg, size_t len, uint16_t version,
			      struct wire_hello *out);
unsigned int wire_check_regions_get(const void *msg, size_t len,
				    uint32_t nr_regions, uint32_t *first);
unsigned int wire_check_list_get(const void *msg, size_t len, char *after);
unsigned int wire_check_scratch_get(const void *msg, size_t len, uint32_t *bytes);
unsigned int wire_check_command(const void *msg, size_t len,
				struct wire_command *out);
unsigned int wire_check_close(const void *msg, size_t len,
			      unsigned int *reason);
uint32_t wire_retry_after(unsigned int reason);
size_t wire_length(uint16_t type, uint16_t version);

void wire_pack_accept(struct rdmablk_cm_accept *out, uint16_t version,
		      uint16_t queue);
void wire_pack_reject(struct rdmablk_cm_reject *out, unsigned int reason, uint16_t version);
void wire_pack_challenge(struct rdmablk_challenge *out,
			 const struct wire_hello *hello, uint64_t session_id,
			 const uint8_t *nonce);
void wire_pack_challenge2(struct rdmablk_challenge2 *out, const struct wire_hello *hello,
			  uint64_t session_id, const uint8_t *nonce, const uint8_t *target_id);
void wire_pack_grant(struct rdmablk_grant *out, const struct wire_grant *in, uint16_t version);
void wire_pack_regions(struct rdmablk_regions *out, uint32_t first, uint32_t count,
		       uint16_t version);
void wire_pack_region(struct rdmablk_region *out, uint64_t iova, uint32_t rkey);
void wire_pack_limits(struct rdmablk_limits *out, const struct wire_scope *in,
		      uint16_t version);
void wire_pack_live(struct rdmablk_live *out);
void wire_pack_answer(struct rdmablk_answer *out,
		      const struct wire_command *cmd, unsigned int status);
void wire_pack_event(struct rdmablk_event_msg *out, uint16_t event,
		     uint64_t value);
void wire_pack_reauth_challenge(struct rdmablk_reauth_challenge *out, const uint8_t *nonce);
void wire_pack_reauth_done(struct rdmablk_reauth_done *out);
void wire_pack_visit(struct rdmablk_visit *out, uint64_t session_id, const char *target_name);
void wire_pack_listed(struct rdmablk_listed *out, const char *name, uint64_t size,
		      uint32_t logical_block, uint32_t flags);
void wire_pack_list(struct rdmablk_list *out, unsigned int count, bool more);
void wire_pack_scratch(struct rdmablk_scratch *out, uint64_t iova, uint32_t rkey,
		       uint32_t bytes);
void wire_pack_no_scratch(struct rdmablk_scratch *out, unsigned int reason);
void wire_pack_close(struct rdmablk_close *out, unsigned int reason, uint16_t version);

/* wire_data.c: commands on write queues */
unsigned int wire_check_data(const void *msg, size_t len,
			     const struct wire_scope *scope,
			     struct wire_data *out);
void wire_check_implied(uint32_t imm, uint32_t len, const struct wire_scope *scope,
			uint16_t tag, const struct wire_data *last,
			struct wire_data *out);
void wire_data_range(const void *msg, unsigned int index, uint64_t *offset,
		     uint64_t *bytes);
unsigned int wire_data_ranges(const struct wire_data *data);

#endif
