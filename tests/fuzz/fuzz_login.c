// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of a hostile initiator. The first byte of the input chooses a check of
 * target/wire/wire.c or wire_data.c and a version; the rest is the message, after its frame
 * was opened. What HELLO asks for and gets, the initiator's parser must accept. The range
 * of a command must be inside the export. A command that the initiator packs comes out the
 * same.
 */
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "../../target/wire/wire.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void request(const void *msg, size_t len, uint16_t version)
{
	struct wire_request out;

	if (wire_check_request(msg, len, version, &out))
		return;
	check(out.version == version && out.kind <= RDMABLK_KIND_WRITE);
	check(out.queue <= 2 * RDMABLK_MAX_QUEUES);
	check(!out.queue == (out.kind == RDMABLK_KIND_CONTROL));
}

static void challenge(const void *msg, const struct wire_hello *hello, const uint8_t *nonce)
{
	struct rdmablk_wire_challenge parsed;
	struct rdmablk_challenge challenge;
	struct rdmablk_hello sent;

	wire_pack_challenge(&challenge, hello, 1, nonce);
	memcpy(&sent, msg, sizeof(sent));
	check(!rdmablk_wire_parse_challenge(&challenge, sizeof(challenge), &sent, &parsed));
}

static void challenge2(const void *msg, const struct wire_hello *hello, const uint8_t *nonce)
{
	struct rdmablk_wire_challenge parsed;
	struct rdmablk_challenge2 challenge;
	uint8_t point[RDMABLK_POINT_LEN];
	struct rdmablk_hello2 sent;

	wire_pack_challenge2(&challenge, hello, 1, nonce, nonce);
	memcpy(&sent, msg, sizeof(sent));
	check(!rdmablk_wire_parse_challenge2(&challenge, sizeof(challenge), &sent, &parsed,
					     point));
	check(!memcmp(hello->point, sent.point, sizeof(sent.point)));
	check(!memcmp(hello->key_id, sent.key_id, sizeof(sent.key_id)));
}

static void hello(const void *msg, size_t len, uint16_t version)
{
	static const uint8_t nonce[RDMABLK_NONCE_LEN];
	struct wire_hello hello;

	if (wire_check_hello(msg, len, version, &hello))
		return;
	check(hello.version == version);
	check(hello.nr_queues && hello.nr_queues <= RDMABLK_MAX_QUEUES && hello.queue_depth);
	check(!hello.export_name[0] == (hello.flags == RDMABLK_HELLO_VISIT));
	check(memchr(hello.export_name, 0, sizeof(hello.export_name)));
	check(memchr(hello.host_name, 0, sizeof(hello.host_name)));
	if (version == RDMABLK_VERSION_PROVEN)
		challenge2(msg, &hello, nonce);
	else
		challenge(msg, &hello, nonce);
}

static void message(const void *msg, size_t len, uint16_t version)
{
	char after[RDMABLK_NAME_LEN];
	struct wire_command cmd;
	unsigned int reason;
	uint32_t first, bytes;
	uint16_t type;

	if (wire_check_head(msg, len, version, &type))
		return;
	check(type && len <= RDMABLK_CTRL_MSG_MAX);
	/* A frame contains no frame, and version 1 has no frames. */
	check(type != RDMABLK_MSG_SEALED);
	check(type < RDMABLK_MSG_SEALED || type > RDMABLK_MSG_REAUTH_DONE ||
	      version == RDMABLK_VERSION_PROVEN);
	switch (type) {
	case RDMABLK_MSG_HELLO:
		hello(msg, len, version);
		break;
	case RDMABLK_MSG_REGIONS_GET:
		if (!wire_check_regions_get(msg, len, 20, &first))
			check(first < 20);
		break;
	case RDMABLK_MSG_LIST_GET:
		if (!wire_check_list_get(msg, len, after))
			check(memchr(after, 0, sizeof(after)));
		break;
	case RDMABLK_MSG_SCRATCH_GET:
		if (!wire_check_scratch_get(msg, len, &bytes))
			check(bytes && bytes <= RDMABLK_MAX_SCRATCH);
		break;
	case RDMABLK_MSG_COMMAND:
		if (!wire_check_command(msg, len, &cmd))
			check(cmd.tag < RDMABLK_CTRL_TAGS);
		break;
	case RDMABLK_MSG_CLOSE:
		wire_check_close(msg, len, &reason);
		break;
	/* The session reads these fields without a check of its own. */
	case RDMABLK_MSG_PROOF:
		check(len == sizeof(struct rdmablk_proof));
		break;
	case RDMABLK_MSG_REAUTH:
		check(len == sizeof(struct rdmablk_reauth));
		break;
	case RDMABLK_MSG_REAUTH_PROOF:
		check(len == sizeof(struct rdmablk_reauth_proof));
		break;
	}
}

static const struct wire_scope cached = {
	.size = (1 << 20) + 512, .logical_block = 512, .writer = true,
	.ops = RDMABLK_OP_BIT(RDMABLK_OP_DIRTY) | RDMABLK_OP_BIT(RDMABLK_OP_FLUSH) |
	       RDMABLK_OP_BIT(RDMABLK_OP_DISCARD) | RDMABLK_OP_BIT(RDMABLK_OP_WRITE_ZEROES) |
	       RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE),
	.cmd_depth = 8, .max_ranges = 252, .granule = 4096, .max_discard = 1 << 16,
	.max_zeroes = 1 << 16, .max_erase = 1 << 16,
};

static const struct wire_scope staged = {
	.size = 1ULL << 62, .logical_block = 4096, .writer = true,
	.ops = RDMABLK_OP_BIT(RDMABLK_OP_READ) | RDMABLK_OP_BIT(RDMABLK_OP_WRITE) |
	       RDMABLK_OP_BIT(RDMABLK_OP_FLUSH),
	.cmd_depth = 1024, .trailer_bytes = 4096, .slot_bytes = 1 << 17,
};

static void inside(const struct wire_scope *scope, uint64_t offset, uint64_t bytes)
{
	check(bytes && bytes <= scope->size && offset <= scope->size - bytes);
	check(!(offset % scope->logical_block) && !(bytes % scope->logical_block));
}

static void command(const void *msg, size_t len, const struct wire_scope *scope)
{
	struct wire_data d;
	uint64_t offset, bytes;

	if (wire_check_data(msg, len, scope, &d))
		return;
	check(d.tag < scope->cmd_depth && d.trailer == len - RDMABLK_CMD_BYTES);
	if (d.status)
		return;
	check(d.op == RDMABLK_OP_FENCE || scope->ops & RDMABLK_OP_BIT(d.op));
	if (d.bytes)
		inside(scope, d.offset, d.bytes);
	if (d.op == RDMABLK_OP_WRITE && d.flags & RDMABLK_IO_TRAILER)
		check(d.trailer == d.bytes && d.bytes <= scope->trailer_bytes);
	else if (d.op == RDMABLK_OP_READ || d.op == RDMABLK_OP_WRITE)
		check(d.bytes && d.bytes <= scope->slot_bytes && !d.trailer);
	if (d.op != RDMABLK_OP_DIRTY)
		return;
	check(wire_data_ranges(&d) && wire_data_ranges(&d) <= scope->max_ranges);
	for (unsigned int i = 0; i < wire_data_ranges(&d); i++) {
		wire_data_range(msg, i, &offset, &bytes);
		inside(scope, offset, bytes);
	}
}

/* A WRITE without a command: immediate data, length, tag, and the tag's previous generation */
static void implied(const void *msg, size_t len)
{
	struct wire_data last = { 0 }, d;
	struct {
		uint32_t imm, bytes;
		uint16_t tag;
		uint8_t generation;
	} in;

	if (len < sizeof(in))
		return;
	memcpy(&in, msg, sizeof(in));
	last.generation = in.generation;
	wire_check_implied(in.imm, in.bytes, &staged, in.tag, &last, &d);
	check(d.op == RDMABLK_OP_WRITE && d.tag == in.tag && !d.trailer);
	check(d.generation == (uint8_t)(in.generation + 1) && !(d.flags & ~RDMABLK_IO_FUA));
	if (d.status)
		return;
	inside(&staged, d.offset, d.bytes);
	check(d.bytes == in.bytes && d.bytes <= staged.slot_bytes);
}

/* The initiator's WRITE at a place, with a command and without */
static void made(const void *msg, size_t len)
{
	struct rdmablk_command cmd;
	struct wire_data last = { 0 }, d;
	uint64_t offset;
	uint32_t imm;
	bool fua;

	if (len < sizeof(offset) + 1)
		return;
	memcpy(&offset, msg, sizeof(offset));
	offset %= staged.size - staged.logical_block;
	offset -= offset % staged.logical_block;
	fua = ((const uint8_t *)msg)[sizeof(offset)] & 1;
	rdmablk_wire_data_command(&cmd, RDMABLK_OP_WRITE, fua ? RDMABLK_IO_FUA : 0, 7, 9, offset,
				  staged.logical_block, 0);
	check(!wire_check_data(&cmd, sizeof(cmd), &staged, &d) && !d.status);
	check(d.tag == 7 && d.generation == 9 && d.offset == offset);
	if (!rdmablk_wire_implied(offset, 12, fua, &imm))
		return;
	wire_check_implied(imm, staged.logical_block, &staged, 7, &last, &d);
	check(!d.status && d.offset == offset && !!(d.flags & RDMABLK_IO_FUA) == fua);
}

/* RDMABLK_OK is no error. Every other number is one, also if it is no known reason. */
static void reason(const void *msg, size_t len)
{
	uint16_t number;

	if (len < sizeof(number))
		return;
	memcpy(&number, msg, sizeof(number));
	check(rdmablk_wire_errno(number) <= 0);
	check(!rdmablk_wire_errno(number) == (number == RDMABLK_OK));
	check(rdmablk_reason_text(number));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *msg;

	if (!size)
		return 0;
	msg = malloc(size);
	check(msg);
	memcpy(msg, data + 1, size - 1);
	switch (data[0]) {
	case 0:
		request(msg, size - 1, RDMABLK_VERSION_OPEN);
		break;
	case 2:
		command(msg, size - 1, &cached);
		break;
	case 3:
		command(msg, size - 1, &staged);
		break;
	case 4:
		request(msg, size - 1, RDMABLK_VERSION_PROVEN);
		break;
	case 5:
		message(msg, size - 1, RDMABLK_VERSION_PROVEN);
		break;
	case 6:
		implied(msg, size - 1);
		break;
	case 7:
		made(msg, size - 1);
		break;
	case 8:
		reason(msg, size - 1);
		break;
	default:
		message(msg, size - 1, RDMABLK_VERSION_OPEN);
	}
	free(msg);
	return 0;
}
