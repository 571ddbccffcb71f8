// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that both ends agree. What kernel/wire.c and wire_data.c pack, target/wire/wire.c and
 * login_data.c accept with the same values, and the reverse: a whole login, message by message,
 * and the commands of write queues.
 */
#include <linux/kernel.h>

#include "../../target/wire/wire.h"
#include "dirty.h"
#include "messages.h"
#include "unit.h"

static const uint8_t nonce[RDMABLK_NONCE_LEN] = { 9, 8, 7 };

static const struct rdmablk_wire_hello hello = {
	.flags = RDMABLK_HELLO_READ_ONLY, .features_offered = RDMABLK_FEATURES_V1,
	.host_id = { 1 }, .boot_nonce = { 2 }, .instance_id = { 3 }, .nonce = { 4 },
	.generation = 0xfffffffe, .nr_queues = 256, .queue_depth = 1024,
	.keep_alive_ms = 600000, .host_name = "host \xff", .export_name = "disk0",
};

/* The daemon checks the head of a message before anything else. */
static void taken(const void *msg, size_t len, uint16_t want)
{
	uint16_t type;

	assert_int_equal(wire_check_head(msg, len, 1, &type), RDMABLK_OK);
	assert_int_equal(type, want);
}

static void login_hello(struct rdmablk_hello *sent, struct wire_hello *got)
{
	rdmablk_wire_hello(sent, &hello);
	taken(sent, sizeof(*sent), RDMABLK_MSG_HELLO);
	assert_int_equal(wire_check_hello(sent, sizeof(*sent), 1, got), RDMABLK_OK);
}

static void test_connection_request(void **state)
{
	struct rdmablk_cm_request req;
	struct wire_request out;

	(void)state;
	rdmablk_wire_cm_request(&req, RDMABLK_KIND_CONTROL, 0, 0, 0, RDMABLK_VERSION_OPEN,
				RDMABLK_VERSION_OPEN);
	assert_int_equal(wire_check_request(&req, sizeof(req), 1, &out), RDMABLK_OK);
	assert_int_equal(out.version, 1);
	assert_int_equal(out.kind, RDMABLK_KIND_CONTROL);
	for (uint16_t queue = 1; queue <= 2 * RDMABLK_MAX_QUEUES; queue++) {
		uint8_t kind = queue % 2 ? RDMABLK_KIND_READ : RDMABLK_KIND_WRITE;

		rdmablk_wire_cm_request(&req, kind, queue, 7, MSG_SESSION, 1, 1);
		assert_int_equal(wire_check_request(&req, sizeof(req), 1, &out), RDMABLK_OK);
		assert_int_equal(out.kind, kind);
		assert_int_equal(out.queue, queue);
		assert_int_equal(out.generation, 7);
		assert_int_equal(out.session_id, MSG_SESSION);
	}
}

static void test_connection_replies(void **state)
{
	struct rdmablk_cm_accept accept;
	struct rdmablk_cm_reject reject;
	struct rdmablk_wire_reject out;
	struct rdmablk_cm_accept2 got;

	(void)state;
	for (uint16_t queue = 0; queue <= 2 * RDMABLK_MAX_QUEUES; queue++) {
		wire_pack_accept(&accept, 1, queue);
		assert_int_equal(rdmablk_wire_parse_accept(&accept, sizeof(accept), queue, 1,
							   &got), 0);
		assert_memory_equal(&got.accept, &accept, sizeof(accept));
	}
	for (unsigned int reason = 1; reason <= RDMABLK_R_INTERNAL; reason++) {
		wire_pack_reject(&reject, reason, 1);
		assert_int_equal(rdmablk_wire_parse_reject(&reject, sizeof(reject), &out), 0);
		assert_int_equal(out.reason, reason);
		assert_int_equal(out.version_max, 1);
		assert_int_equal(out.retry_after_ms, wire_retry_after(reason));
	}
}

static void test_hello(void **state)
{
	struct rdmablk_hello sent;
	struct wire_hello got;

	(void)state;
	login_hello(&sent, &got);
	assert_int_equal(got.version, 1);
	assert_int_equal(got.features, RDMABLK_FEATURES_V1);
	assert_int_equal(got.flags, RDMABLK_HELLO_READ_ONLY);
	assert_memory_equal(got.host_id, hello.host_id, RDMABLK_ID_LEN);
	assert_memory_equal(got.boot_nonce, hello.boot_nonce, RDMABLK_ID_LEN);
	assert_memory_equal(got.instance_id, hello.instance_id, RDMABLK_ID_LEN);
	assert_int_equal(got.generation, 0xfffffffe);
	assert_int_equal(got.nr_queues, 256);
	assert_int_equal(got.queue_depth, 1024);
	assert_int_equal(got.keep_alive_ms, 600000);
	assert_string_equal(got.host_name, "host ?");
	assert_string_equal(got.export_name, "disk0");
}

/* Each flag arrives as it was sent, RESUME among them; other bits are refused. */
static void test_hello_flags(void **state)
{
	struct rdmablk_wire_hello h = hello;
	struct rdmablk_hello sent;
	struct wire_hello got;

	(void)state;
	assert_int_equal(RDMABLK_HELLO_FLAGS, RDMABLK_HELLO_READ_ONLY |
			 RDMABLK_HELLO_STEAL | RDMABLK_HELLO_RESUME);
	for (int bit = 0; bit < 32; bit++) {
		h.flags = 1U << bit;
		rdmablk_wire_hello(&sent, &h);
		assert_int_equal(wire_check_hello(&sent, sizeof(sent), 1, &got),
				 h.flags & RDMABLK_HELLO_FLAGS ? RDMABLK_OK :
				 RDMABLK_R_MALFORMED);
		if (h.flags & RDMABLK_HELLO_FLAGS)
			assert_int_equal(got.flags, h.flags);
	}
	h.flags = RDMABLK_HELLO_FLAGS;
	memset(h.uuid, 5, sizeof(h.uuid));
	rdmablk_wire_hello(&sent, &h);
	assert_int_equal(wire_check_hello(&sent, sizeof(sent), 1, &got), RDMABLK_OK);
	assert_int_equal(got.flags, RDMABLK_HELLO_FLAGS);
	assert_memory_equal(got.uuid, h.uuid, sizeof(h.uuid));
}

/* The initiator accepts whatever features the target chooses from those offered. */
static void test_features(void **state)
{
	static const struct {
		uint64_t offered, chosen;
	} list[] = {
		{ 0, 0 },
		{ RDMABLK_F_COMMANDS, RDMABLK_F_COMMANDS },
		{ RDMABLK_F_STAGED, 0 },
		{ RDMABLK_F_LISTS | RDMABLK_F_COMMANDS, RDMABLK_F_COMMANDS },
		{ RDMABLK_F_IMPLIED | RDMABLK_F_COMMANDS, RDMABLK_F_COMMANDS },
		{ RDMABLK_F_STAGED | RDMABLK_F_COMMANDS,
		  RDMABLK_F_STAGED | RDMABLK_F_COMMANDS },
		{ RDMABLK_FEATURES_V1, RDMABLK_FEATURES_V1 },
		{ UINT64_MAX, RDMABLK_FEATURES_V1 },
		{ UINT64_MAX & ~RDMABLK_F_COMMANDS, 0 },
	};
	struct rdmablk_wire_challenge out;
	struct rdmablk_wire_hello h = hello;
	struct rdmablk_challenge msg;
	struct rdmablk_hello sent;
	struct wire_hello got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		h.features_offered = list[i].offered;
		rdmablk_wire_hello(&sent, &h);
		assert_int_equal(wire_check_hello(&sent, sizeof(sent), 1, &got), RDMABLK_OK);
		assert_int_equal(got.features, list[i].chosen);
		wire_pack_challenge(&msg, &got, MSG_SESSION, nonce);
		assert_int_equal(rdmablk_wire_parse_challenge(&msg, sizeof(msg), &sent,
							      &out), 0);
		assert_int_equal(out.features, list[i].chosen);
	}
}

static void test_challenge(void **state)
{
	struct rdmablk_wire_challenge out;
	struct rdmablk_challenge msg;
	struct rdmablk_hello sent;
	struct wire_hello got;

	(void)state;
	login_hello(&sent, &got);
	wire_pack_challenge(&msg, &got, MSG_SESSION, nonce);
	assert_int_equal(rdmablk_wire_parse_challenge(&msg, sizeof(msg), &sent, &out), 0);
	assert_int_equal(out.version, 1);
	assert_int_equal(out.session_id, MSG_SESSION);
	assert_int_equal(out.auth_method, RDMABLK_AUTH_NONE);
	assert_memory_equal(out.nonce, nonce, sizeof(nonce));
}

static void test_grant_and_regions(void **state)
{
	static const uint8_t uuid[RDMABLK_ID_LEN] = { 5 }, epoch[RDMABLK_ID_LEN] = { 6 };
	static const struct wire_grant in = {
		.session_id = MSG_SESSION, .features = RDMABLK_FEATURES_V1, .uuid = uuid,
		.epoch = epoch, .size = MSG_SIZE,
		.region_bytes = MSG_REGION, .nr_regions = MSG_REGIONS,
		.flags = RDMABLK_GRANT_READ_ONLY, .logical_block = 512,
		.physical_block = 4096, .io_min = 8192, .io_opt = 3 << 16, .max_io = 1 << 19,
		.nr_queues = 2, .queue_depth = 3, .read_depth = 4,
		.keep_alive_ms = 5000, .session_tmo_ms = 15000, .target_name = "target",
	};
	struct rdmablk_wire_region table[MSG_REGIONS] = { 0 };
	struct rdmablk_wire_grant grant;
	struct rdmablk_regions_get get;
	struct rdmablk_regions regions;
	struct rdmablk_hello sent;
	struct rdmablk_grant msg;
	struct wire_hello got;
	uint8_t mac[RDMABLK_MAC_LEN];

	(void)state;
	login_hello(&sent, &got);
	wire_pack_grant(&msg, &in, 1);
	assert_int_equal(rdmablk_wire_parse_grant(&msg, sizeof(msg), &sent, &msg_challenged,
						  &grant), 0);
	assert_int_equal(grant.size, MSG_SIZE);
	assert_int_equal(grant.flags, RDMABLK_GRANT_READ_ONLY);
	assert_int_equal(grant.physical_block, 4096);
	assert_int_equal(grant.io_min, 8192);
	assert_int_equal(grant.io_opt, 3 << 16);
	assert_int_equal(grant.max_io, 1 << 19);
	assert_int_equal(grant.nr_queues, 2);
	assert_int_equal(grant.queue_depth, 3);
	assert_int_equal(grant.read_depth, 4);
	assert_memory_equal(grant.uuid, uuid, sizeof(uuid));
	assert_memory_equal(grant.epoch, epoch, sizeof(epoch));
	assert_string_equal(grant.target_name, "target");
	for (uint32_t first = 0; first < MSG_REGIONS; first += RDMABLK_REGIONS_PER_MSG) {
		uint32_t left = MSG_REGIONS - first, asked;
		uint32_t count = min_t(uint32_t, left, RDMABLK_REGIONS_PER_MSG);

		rdmablk_wire_regions_get(&get, first);
		taken(&get, sizeof(get), RDMABLK_MSG_REGIONS_GET);
		assert_int_equal(wire_check_regions_get(&get, sizeof(get), MSG_REGIONS, &asked),
				 RDMABLK_OK);
		assert_int_equal(asked, first);
		wire_pack_regions(&regions, first, count, 1);
		for (uint32_t i = 0; i < count; i++)
			wire_pack_region(&regions.region[i], (first + i) * MSG_REGION, first + i);
		assert_int_equal(rdmablk_wire_parse_regions(&regions, sizeof(regions), &grant,
							    first, table, mac), 0);
	}
	for (uint32_t i = 0; i < MSG_REGIONS; i++)
		assert_true(table[i].iova == i * MSG_REGION && table[i].rkey == i);
	rdmablk_wire_regions_get(&get, MSG_REGIONS);
	assert_int_equal(wire_check_regions_get(&get, sizeof(get), MSG_REGIONS,
						&(uint32_t){ 0 }), RDMABLK_R_MALFORMED);
}

static void test_staged_grant(void **state)
{
	static const uint8_t id[RDMABLK_ID_LEN] = { 5 };
	static const struct wire_grant in = {
		.session_id = MSG_SESSION, .features = RDMABLK_FEATURES_V1, .uuid = id,
		.epoch = id, .size = 10ULL << 40,
		.flags = RDMABLK_GRANT_READ_ONLY | RDMABLK_GRANT_STAGED | RDMABLK_GRANT_CACHE,
		.logical_block = 4096, .physical_block = 4096, .nr_queues = 2,
		.queue_depth = 3, .read_depth = 4, .keep_alive_ms = 5000,
		.session_tmo_ms = 15000, .target_name = "target",
	};
	struct rdmablk_wire_grant grant;
	struct rdmablk_hello sent;
	struct rdmablk_grant msg;
	struct wire_hello got;

	(void)state;
	login_hello(&sent, &got);
	wire_pack_grant(&msg, &in, 1);
	assert_int_equal(rdmablk_wire_parse_grant(&msg, sizeof(msg), &sent, &msg_challenged,
						  &grant), 0);
	assert_int_equal(grant.flags, in.flags);
	assert_int_equal(grant.size, 10ULL << 40);
}

/* Each message of a login of version 2 that differs from version 1, from both ends */
static void test_version_2(void **state)
{
	static const uint8_t key_id[RDMABLK_KEY_ID_LEN] = { 7 }, id[RDMABLK_ID_LEN] = { 8 };
	static const struct wire_scope scope = {
		.size = MSG_REGION, .logical_block = 512, .writer = true,
		.ops = RDMABLK_OP_BIT(RDMABLK_OP_FLUSH), .cmd_depth = MSG_CMDS,
	};
	const struct wire_grant in = {
		.session_id = MSG_SESSION, .features = RDMABLK_FEATURES_V1, .uuid = id,
		.epoch = id, .size = MSG_REGION, .region_bytes = MSG_REGION, .nr_regions = 1,
		.flags = RDMABLK_GRANT_READ_ONLY, .logical_block = 512,
		.physical_block = 4096, .nr_queues = 2, .queue_depth = 3, .read_depth = 4,
		.keep_alive_ms = 5000, .session_tmo_ms = 15000, .target_name = "target",
	};
	uint8_t point[RDMABLK_POINT_LEN], got[RDMABLK_POINT_LEN], mac[RDMABLK_MAC_LEN];
	struct rdmablk_reauth_challenge again;
	struct rdmablk_cm_accept2 acc = { }, accepted;
	struct rdmablk_wire_challenge ch;
	struct rdmablk_wire_limits limits;
	struct rdmablk_wire_region table;
	struct rdmablk_challenge2 answer;
	struct rdmablk_regions regions;
	struct rdmablk_cm_request req;
	struct rdmablk_wire_grant grant;
	struct rdmablk_hello2 sent;
	struct rdmablk_limits ops;
	struct rdmablk_grant msg;
	struct wire_request asked;
	struct wire_hello heard;
	uint16_t type;

	(void)state;
	unit_random_bytes(point, sizeof(point));
	rdmablk_wire_cm_request(&req, RDMABLK_KIND_CONTROL, 0, 0, 0, 2, 2);
	assert_int_equal(wire_check_request(&req, sizeof(req), 2, &asked), RDMABLK_OK);
	assert_int_equal(wire_check_request(&req, sizeof(req), 1, &asked), RDMABLK_R_VERSION);
	wire_pack_accept(&acc.accept, 2, 0);
	assert_int_equal(rdmablk_wire_parse_accept(&acc, sizeof(acc), 0, 2, &accepted), 0);
	rdmablk_wire_hello2(&sent, &hello, key_id, point);
	assert_int_equal(wire_check_head(&sent, sizeof(sent), 2, &type), RDMABLK_OK);
	assert_int_equal(wire_check_hello(&sent, sizeof(sent), 2, &heard), RDMABLK_OK);
	assert_memory_equal(heard.key_id, key_id, sizeof(key_id));
	assert_memory_equal(heard.point, point, sizeof(point));
	wire_pack_challenge2(&answer, &heard, MSG_SESSION, nonce, id);
	memcpy(answer.point, point, sizeof(point));
	assert_int_equal(rdmablk_wire_parse_challenge2(&answer, sizeof(answer), &sent, &ch, got),
			 0);
	assert_int_equal(ch.session_id, MSG_SESSION);
	assert_memory_equal(got, point, sizeof(point));
	wire_pack_grant(&msg, &in, 2);
	assert_int_equal(rdmablk_wire_parse_grant(&msg, wire_length(RDMABLK_MSG_GRANT, 2),
						  &sent.hello, &ch, &grant), 0);
	assert_int_equal(grant.nr_regions, 1);
	wire_pack_regions(&regions, 0, 1, 2);
	wire_pack_region(&regions.region[0], 0x10000, 77);
	assert_int_equal(rdmablk_wire_parse_regions(&regions, wire_length(RDMABLK_MSG_REGIONS, 2),
						    &grant, 0, &table, mac), 0);
	assert_int_equal(table.rkey, 77);
	wire_pack_limits(&ops, &scope, 2);
	assert_int_equal(rdmablk_wire_parse_limits(&ops, wire_length(RDMABLK_MSG_LIMITS, 2),
						   &grant, &limits), 0);
	assert_int_equal(limits.cmd_depth, MSG_CMDS);
	wire_pack_reauth_challenge(&again, nonce);
	memcpy(again.point, point, sizeof(point));
	memset(got, 0, sizeof(got));
	assert_int_equal(rdmablk_wire_parse_reauth_challenge(&again, sizeof(again), got), 0);
	assert_memory_equal(got, point, sizeof(point));
	/* Both sides give each message the same length. */
	for (type = RDMABLK_MSG_HELLO; type <= RDMABLK_MSG_REAUTH_DONE; type++) {
		_Alignas(8) uint8_t any[RDMABLK_CTRL_MSG_MAX] = { };
		size_t len = wire_length(type, 2);

		if (type == RDMABLK_MSG_SEALED)
			continue;
		*(struct rdmablk_hdr *)any = msg_hdr(type, len);
		assert_int_equal(rdmablk_wire_type(any, len, 2), type);
	}
}

/* The daemon's limits for a cached file, and below for a staged export */
static const struct wire_scope cached = {
	.size = MSG_SIZE, .logical_block = 512, .writer = true,
	.ops = RDMABLK_OP_BIT(RDMABLK_OP_DIRTY) | RDMABLK_OP_BIT(RDMABLK_OP_FLUSH) |
	       RDMABLK_OP_BIT(RDMABLK_OP_DISCARD) | RDMABLK_OP_BIT(RDMABLK_OP_WRITE_ZEROES) |
	       RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE),
	.cmd_depth = MSG_CMDS, .max_ranges = 252, .granule = MSG_GRANULE,
	.max_discard = 1 << 20, .max_zeroes = 2 << 20, .max_erase = 3 << 20,
	.discard_granularity = 4096, .discard_alignment = 512, .erase_granularity = 8192,
};

static const struct wire_scope staged = {
	.size = MSG_SIZE, .logical_block = 512, .writer = true,
	.ops = RDMABLK_OP_BIT(RDMABLK_OP_READ) | RDMABLK_OP_BIT(RDMABLK_OP_WRITE) |
	       RDMABLK_OP_BIT(RDMABLK_OP_FLUSH),
	.cmd_depth = RDMABLK_MAX_CMD_DEPTH, .trailer_bytes = MSG_TRAILER,
	.slot_bytes = MSG_SLOT, .slot_iova = MSG_SLOTS, .slot_rkey = 0x2000,
};

static void test_limits(void **state)
{
	struct rdmablk_wire_limits out;
	struct rdmablk_limits_get get;
	struct rdmablk_limits msg;

	(void)state;
	rdmablk_wire_limits_get(&get);
	taken(&get, sizeof(get), RDMABLK_MSG_LIMITS_GET);
	wire_pack_limits(&msg, &cached, 1);
	assert_int_equal(rdmablk_wire_parse_limits(&msg, sizeof(msg), &msg_granted, &out), 0);
	assert_int_equal(out.ops, cached.ops | RDMABLK_OP_BIT(RDMABLK_OP_FENCE));
	assert_int_equal(out.cmd_depth, cached.cmd_depth);
	assert_int_equal(out.max_ranges, cached.max_ranges);
	assert_int_equal(out.granule, cached.granule);
	assert_int_equal(out.max_discard, cached.max_discard);
	assert_int_equal(out.max_zeroes, cached.max_zeroes);
	assert_int_equal(out.max_erase, cached.max_erase);
	assert_int_equal(out.discard_granularity, cached.discard_granularity);
	assert_int_equal(out.discard_alignment, cached.discard_alignment);
	assert_int_equal(out.erase_granularity, cached.erase_granularity);
	wire_pack_limits(&msg, &staged, 1);
	assert_int_equal(rdmablk_wire_parse_limits(&msg, sizeof(msg), &msg_staged, &out), 0);
	assert_int_equal(out.ops, staged.ops | RDMABLK_OP_BIT(RDMABLK_OP_FENCE));
	assert_int_equal(out.cmd_depth, staged.cmd_depth);
	assert_int_equal(out.trailer_bytes, staged.trailer_bytes);
	assert_int_equal(out.slot_bytes, staged.slot_bytes);
	assert_int_equal(out.slot_iova, staged.slot_iova);
	assert_int_equal(out.slot_rkey, staged.slot_rkey);
}

/* A session that may only read is offered no operation that it may not use; LIMITS is valid. */
static void test_limits_of_readers(void **state)
{
	struct rdmablk_wire_grant granted = msg_granted, granted_staged = msg_staged;
	struct wire_scope scope = cached;
	struct rdmablk_wire_limits out;
	struct rdmablk_limits msg;

	(void)state;
	granted.flags |= RDMABLK_GRANT_READ_ONLY;
	scope.writer = false;
	wire_pack_limits(&msg, &scope, 1);
	assert_int_equal(rdmablk_wire_parse_limits(&msg, sizeof(msg), &granted, &out), 0);
	assert_int_equal(out.ops, RDMABLK_OP_BIT(RDMABLK_OP_FENCE) |
			 RDMABLK_OP_BIT(RDMABLK_OP_DIRTY) | RDMABLK_OP_BIT(RDMABLK_OP_FLUSH));
	assert_int_equal(out.granule, cached.granule);
	assert_int_equal(out.max_discard + out.max_zeroes + out.max_erase, 0);
	granted_staged.flags |= RDMABLK_GRANT_READ_ONLY;
	scope = staged;
	scope.writer = false;
	wire_pack_limits(&msg, &scope, 1);
	assert_int_equal(rdmablk_wire_parse_limits(&msg, sizeof(msg), &granted_staged, &out), 0);
	assert_int_equal(out.ops, RDMABLK_OP_BIT(RDMABLK_OP_FENCE) |
			 RDMABLK_OP_BIT(RDMABLK_OP_READ) | RDMABLK_OP_BIT(RDMABLK_OP_FLUSH));
}

struct data_case {
	const struct wire_scope *scope;
	uint16_t op, flags;
	uint64_t offset, bytes;
	uint16_t trailer;
	unsigned int status;
};

/* One command to the target, and its answer back */
static void command_and_answer(const struct data_case *c)
{
	uint8_t tag = (uint8_t)(unit_random() % MSG_CMDS), generation = (uint8_t)unit_random();
	uint8_t *buf = calloc(1, sizeof(struct rdmablk_command) + c->trailer);
	struct rdmablk_range range = { 0, cpu_to_le64(MSG_GRANULE) };
	struct rdmablk_wire_imm imm;
	struct wire_data out;

	assert_non_null(buf);
	rdmablk_wire_data_command((void *)buf, c->op, c->flags, tag, generation, c->offset,
				  c->bytes, c->trailer);
	if (c->op == RDMABLK_OP_DIRTY)
		memcpy(buf + RDMABLK_CMD_BYTES, &range, sizeof(range));
	assert_int_equal(wire_check_data(buf, RDMABLK_CMD_BYTES + c->trailer, c->scope, &out),
			 RDMABLK_OK);
	assert_int_equal(out.op, c->op);
	assert_int_equal(out.flags, c->flags);
	assert_int_equal(out.offset, c->offset);
	assert_int_equal(out.bytes, c->bytes);
	assert_int_equal(out.trailer, c->trailer);
	assert_int_equal(out.status, c->status);
	assert_int_equal(rdmablk_wire_parse_imm(RDMABLK_IMM(out.tag, out.generation, out.status),
						MSG_CMDS, &imm), 0);
	assert_int_equal(imm.tag, tag);
	assert_int_equal(imm.generation, generation);
	assert_int_equal(imm.status, c->status);
	free(buf);
}

/*
 * An implied WRITE is its data and 32 bits. It means the same as the whole command does, or is
 * refused.
 */
static void test_implied_writes(void **state)
{
	static const struct wire_data none;
	struct wire_scope scope = staged;

	(void)state;
	for (unsigned int i = 0; i < 200000; i++) {
		bool fua = unit_random() & 1, large = unit_random() & 1;
		uint64_t offset = unit_random() >> (unit_random() % 64);
		uint32_t len = (uint32_t)unit_random() % (2 * MSG_SLOT);
		uint16_t tag = (uint16_t)(unit_random() % MSG_CMDS);
		struct wire_data last = { .generation = (uint8_t)unit_random() }, out;
		uint64_t most;
		uint32_t imm;
		bool ok;

		scope.logical_block = large ? 4096 : 512;
		scope.size = RDMABLK_MAX_SIZE;
		offset -= offset % scope.logical_block;
		most = (offset % 4096 ? 512ULL : 4096ULL) << 30;
		ok = rdmablk_wire_implied(offset, large ? 12 : 9, fua, &imm);
		assert_int_equal(ok, offset < most);
		if (!ok)
			continue;
		wire_check_implied(imm, len, &scope, tag, &last, &out);
		assert_int_equal(out.op, RDMABLK_OP_WRITE);
		assert_int_equal(out.flags, fua ? RDMABLK_IO_FUA : 0);
		assert_int_equal(out.tag, tag);
		assert_int_equal(out.generation, (uint8_t)(last.generation + 1));
		assert_int_equal(out.offset, offset);
		assert_int_equal(out.bytes, len);
		assert_int_equal(out.trailer, 0);
		assert_int_equal(out.status, len && len <= MSG_SLOT &&
				 !(len % scope.logical_block) ?
				 RDMABLK_OK : RDMABLK_R_RANGE);
		scope.size = offset + len - !!len;
		wire_check_implied(imm, len, &scope, tag, &none, &out);
		assert_int_equal(out.generation, 1);
		assert_int_equal(out.status, RDMABLK_R_RANGE);
	}
	scope = staged;
	scope.writer = false;
	for (unsigned int i = 0; i < 1000; i++) {
		struct wire_data out;

		wire_check_implied((uint32_t)unit_random(), (uint32_t)unit_random(), &scope,
				   1, &none, &out);
		assert_int_equal(out.status, RDMABLK_R_READ_ONLY);
	}
}

static void test_commands_of_write_queues(void **state)
{
	static const struct data_case list[] = {
		{ &cached, RDMABLK_OP_FENCE, 0, 0, 0, 0, RDMABLK_OK },
		{ &staged, RDMABLK_OP_FENCE, 0, 0, 0, 0, RDMABLK_OK },
		{ &cached, RDMABLK_OP_DIRTY, 0, 0, 0, 16, RDMABLK_OK },
		{ &cached, RDMABLK_OP_FLUSH, 0, 0, 0, 0, RDMABLK_OK },
		{ &cached, RDMABLK_OP_FLUSH, 0, 512, 1024, 0, RDMABLK_OK },
		{ &staged, RDMABLK_OP_FLUSH, 0, 0, 0, 0, RDMABLK_OK },
		{ &cached, RDMABLK_OP_DISCARD, 0, 0, 1 << 20, 0, RDMABLK_OK },
		{ &cached, RDMABLK_OP_DISCARD, 0, 0, (1 << 20) + 512, 0, RDMABLK_R_RANGE },
		{ &cached, RDMABLK_OP_DISCARD, 0, 0, 256, 0, RDMABLK_R_RANGE },
		{ &cached, RDMABLK_OP_WRITE_ZEROES, 0, 512, 2 << 20, 0, RDMABLK_OK },
		{ &cached, RDMABLK_OP_WRITE_ZEROES, RDMABLK_ZEROES_KEEP, 512, 512, 0, RDMABLK_OK },
		{ &cached, RDMABLK_OP_SECURE_ERASE, 0, MSG_SIZE - 512, 512, 0, RDMABLK_OK },
		{ &cached, RDMABLK_OP_SECURE_ERASE, 0, MSG_SIZE - 512, 1024, 0, RDMABLK_R_RANGE },
		{ &cached, RDMABLK_OP_READ, 0, 0, 4096, 0, RDMABLK_R_UNSUPPORTED },
		{ &staged, RDMABLK_OP_READ, 0, 0, MSG_SLOT, 0, RDMABLK_OK },
		{ &staged, RDMABLK_OP_READ, RDMABLK_IO_TRAILER, 512, 4096, 0, RDMABLK_OK },
		{ &staged, RDMABLK_OP_READ, RDMABLK_IO_TRAILER, 512, 4608, 0, RDMABLK_R_RANGE },
		{ &staged, RDMABLK_OP_WRITE, 0, 0, MSG_SLOT, 0, RDMABLK_OK },
		{ &staged, RDMABLK_OP_WRITE, RDMABLK_IO_FUA, 0, MSG_SLOT + 512, 0,
		  RDMABLK_R_RANGE },
		{ &staged, RDMABLK_OP_WRITE, RDMABLK_IO_FUA | RDMABLK_IO_TRAILER, 1024, 4096,
		  4096, RDMABLK_OK },
		{ &staged, RDMABLK_OP_DISCARD, 0, 0, 4096, 0, RDMABLK_R_UNSUPPORTED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		command_and_answer(&list[i]);
}

/* All dirty granules fit into DIRTY commands, also if the export ends inside a granule. */
static void test_dirty_ranges(void **state)
{
	_Alignas(8) uint8_t buf[RDMABLK_CMD_BYTES + 252 * sizeof(struct rdmablk_range)];
	struct rdmablk_range *range = (void *)(buf + RDMABLK_CMD_BYTES);
	struct wire_scope scope = cached;
	struct wire_data out;
	struct rdmablk_dirty d;
	unsigned int n, sent = 0;

	(void)state;
	scope.size = MSG_SIZE - 512;
	assert_int_equal(rdmablk_dirty_init(&d, scope.size, scope.granule), 0);
	for (uint64_t pos = 512; pos < scope.size; pos += 3 * 4096)
		rdmablk_dirty_set(&d, pos, 512);
	rdmablk_dirty_set(&d, scope.size - 512, 512);
	rdmablk_dirty_begin(&d);
	while ((n = rdmablk_dirty_next(&d, range, scope.max_ranges))) {
		uint16_t bytes = (uint16_t)(n * sizeof(*range));

		rdmablk_wire_data_command((void *)buf, RDMABLK_OP_DIRTY, 0, 1, 2, 0, 0, bytes);
		assert_int_equal(wire_check_data(buf, RDMABLK_CMD_BYTES + bytes, &scope, &out),
				 RDMABLK_OK);
		assert_int_equal(out.status, RDMABLK_OK);
		assert_int_equal(wire_data_ranges(&out), n);
		sent += n;
	}
	assert_true(sent > 20 * 252);
	rdmablk_dirty_exit(&d);
}

static void test_ready_and_live(void **state)
{
	struct rdmablk_proof proof;
	struct rdmablk_ready ready;
	struct rdmablk_live live;
	uint8_t mac[RDMABLK_MAC_LEN] = { 0 };

	(void)state;
	rdmablk_wire_proof(&proof, mac);
	taken(&proof, sizeof(proof), RDMABLK_MSG_PROOF);
	rdmablk_wire_ready(&ready);
	taken(&ready, sizeof(ready), RDMABLK_MSG_READY);
	wire_pack_live(&live);
	assert_int_equal(rdmablk_wire_parse_live(&live, sizeof(live)), 0);
}

static void test_commands_and_answers(void **state)
{
	static const struct {
		uint16_t op, tag;
	} list[] = {
		{ RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE },
		{ RDMABLK_OP_LOGOUT, RDMABLK_TAG_LOGOUT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rdmablk_wire_answer out;
		struct rdmablk_command msg;
		struct rdmablk_answer answer;
		struct wire_command cmd;

		rdmablk_wire_command(&msg, list[i].op, 0, list[i].tag, 77, 0, 0);
		taken(&msg, sizeof(msg), RDMABLK_MSG_COMMAND);
		assert_int_equal(wire_check_command(&msg, sizeof(msg), &cmd), RDMABLK_OK);
		assert_int_equal(cmd.op, list[i].op);
		wire_pack_answer(&answer, &cmd, RDMABLK_R_UNSUPPORTED);
		assert_int_equal(rdmablk_wire_parse_answer(&answer, sizeof(answer), &out), 0);
		assert_int_equal(out.tag, list[i].tag);
		assert_int_equal(out.generation, 77);
		assert_int_equal(out.status, RDMABLK_R_UNSUPPORTED);
	}
}

static void test_clean_logout(void **state)
{
	struct rdmablk_command msg;
	struct wire_command cmd;

	(void)state;
	rdmablk_wire_command(&msg, RDMABLK_OP_LOGOUT, RDMABLK_LOGOUT_CLEAN,
			     RDMABLK_TAG_LOGOUT, 1, 0, 0);
	taken(&msg, sizeof(msg), RDMABLK_MSG_COMMAND);
	assert_int_equal(wire_check_command(&msg, sizeof(msg), &cmd), RDMABLK_OK);
	assert_int_equal(cmd.flags, RDMABLK_LOGOUT_CLEAN);
}

static void test_events_and_ends(void **state)
{
	struct rdmablk_wire_event event;
	struct rdmablk_wire_close out;
	struct rdmablk_event_msg msg;
	struct rdmablk_close close;
	unsigned int reason;

	(void)state;
	wire_pack_event(&msg, RDMABLK_EVENT_DRAIN, 1500);
	assert_int_equal(rdmablk_wire_parse_event(&msg, sizeof(msg), &event), 0);
	assert_int_equal(event.event, RDMABLK_EVENT_DRAIN);
	assert_int_equal(event.value, 1500);
	wire_pack_event(&msg, RDMABLK_EVENT_RESIZE, MSG_SIZE);
	assert_int_equal(rdmablk_wire_parse_event(&msg, sizeof(msg), &event), 0);
	assert_int_equal(event.event, RDMABLK_EVENT_RESIZE);
	assert_int_equal(event.value, MSG_SIZE);
	for (uint16_t r = 1; r <= RDMABLK_R_INTERNAL; r++) {
		wire_pack_close(&close, r, 1);
		assert_int_equal(rdmablk_wire_parse_close(&close, sizeof(close), &out), 0);
		assert_int_equal(out.reason, r);
		assert_int_equal(out.retry_after_ms, wire_retry_after(r));
		rdmablk_wire_close(&close, r, RDMABLK_VERSION_OPEN);
		taken(&close, sizeof(close), RDMABLK_MSG_CLOSE);
		assert_int_equal(wire_check_close(&close, sizeof(close), &reason), RDMABLK_OK);
		assert_int_equal(reason, r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connection_request),
		cmocka_unit_test(test_connection_replies),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_hello_flags),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_challenge),
		cmocka_unit_test(test_grant_and_regions),
		cmocka_unit_test(test_staged_grant),
		cmocka_unit_test(test_version_2),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_of_readers),
		cmocka_unit_test(test_commands_of_write_queues),
		cmocka_unit_test(test_implied_writes),
		cmocka_unit_test(test_dirty_ranges),
		cmocka_unit_test(test_ready_and_live),
		cmocka_unit_test(test_commands_and_answers),
		cmocka_unit_test(test_clean_logout),
		cmocka_unit_test(test_events_and_ends),
	};

	msg_setup();
	return cmocka_run_group_tests_name("cross", tests, NULL, NULL);
}
