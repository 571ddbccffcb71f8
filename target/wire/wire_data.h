/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands on write queues: checking what came in. PURE, as wire.h.
 */
#ifndef RDMABLKD_WIRE_DATA_H
#define RDMABLKD_WIRE_DATA_H

#include "wire/wire.h"

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
