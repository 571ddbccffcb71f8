// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/wire_data.c accepts LIMITS that follow the protocol and no others, that
 * the parsed values can be used as they are, and that commands and answers of write queues have
 * the right layout.
 */
#include <endian.h>
#include <linux/kernel.h>

#include "messages.h"
#include "unit.h"

#define BIT_OF(op)	RDMABLK_OP_BIT(RDMABLK_OP_##op)
#define ALL_OPS		0xffU	/* operations that this version knows */

static const struct rdmablk_wire_grant *granted;
static struct rdmablk_wire_limits got;

/* What the rest of the driver relies on, said in another way than in wire_data.c. */
static void usable(const struct rdmablk_wire_limits *l, const struct rdmablk_wire_grant *g)
{
	unsigned __int128 slots = (unsigned __int128)l->slot_bytes * l->cmd_depth * g->nr_queues;

	assert_int_equal(l->ops & ~ALL_OPS, 0);
	assert_true(l->ops & BIT_OF(FENCE));
	assert_in_range(l->cmd_depth, 2, RDMABLK_MAX_CMD_DEPTH);
	assert_in_range(l->trailer_bytes, 0, RDMABLK_MAX_TRAILER);
	assert_true(l->max_ranges * sizeof(struct rdmablk_range) <= RDMABLK_MAX_TRAILER);
	assert_int_equal(!!(l->ops & BIT_OF(DIRTY)), !!l->max_ranges);
	assert_int_equal(!!(l->ops & BIT_OF(DIRTY)), !!l->granule);
	assert_int_equal(!!(l->ops & BIT_OF(DISCARD)), !!l->max_discard);
	assert_int_equal(!!(l->ops & BIT_OF(DISCARD)), !!l->discard_granularity);
	assert_int_equal(!!(l->ops & BIT_OF(WRITE_ZEROES)), !!l->max_zeroes);
	assert_int_equal(!!(l->ops & BIT_OF(SECURE_ERASE)), !!l->max_erase);
	assert_int_equal(!!(l->ops & BIT_OF(SECURE_ERASE)), !!l->erase_granularity);
	assert_int_equal((l->granule | l->max_discard | l->max_zeroes | l->max_erase |
			  l->discard_granularity | l->discard_alignment |
			  l->erase_granularity | l->slot_bytes) % g->logical_block, 0);
	assert_true(l->max_discard >= l->discard_granularity);
	assert_true(l->max_erase >= l->erase_granularity);
	assert_int_equal(l->ops & l->unusable, 0);
	assert_true(!l->discard_alignment || l->discard_alignment < l->discard_granularity);
	assert_int_equal(!!(g->flags & RDMABLK_GRANT_STAGED), !!l->slot_bytes);
	assert_true(l->slot_iova + slots <= (unsigned __int128)1 << 64);
}

static int parse(const void *buf, size_t len)
{
	int ret = rdmablk_wire_parse_limits(buf, len, granted, &got);

	if (!ret)
		usable(&got, granted);
	return ret;
}

static int parse_cached(const void *buf, size_t len)
{
	granted = &msg_granted;
	return parse(buf, len);
}

static int parse_staged(const void *buf, size_t len)
{
	granted = &msg_staged;
	return parse(buf, len);
}

static int parse_blocks_of_4096(const void *buf, size_t len)
{
	static struct rdmablk_wire_grant g;

	g = msg_granted;
	g.logical_block = 4096;
	granted = &g;
	return parse(buf, len);
}

static const struct unit_msg cached = {
	.name = "LIMITS", .type = RDMABLK_MSG_LIMITS, .size = sizeof(struct rdmablk_limits),
	.build = msg_limits, .parse = parse_cached,
	.any = { UNIT_FIELD(rdmablk_limits, mac) },
	.some = {
		UNIT_FIELD(rdmablk_limits, ops), UNIT_FIELD(rdmablk_limits, cmd_depth),
		UNIT_FIELD(rdmablk_limits, max_ranges),
		UNIT_FIELD(rdmablk_limits, trailer_bytes),
		UNIT_FIELD(rdmablk_limits, max_discard),
		UNIT_FIELD(rdmablk_limits, max_zeroes), UNIT_FIELD(rdmablk_limits, max_erase),
		UNIT_FIELD(rdmablk_limits, discard_alignment),
	},
};

static const struct unit_msg staged = {
	.name = "staged LIMITS", .type = RDMABLK_MSG_LIMITS,
	.size = sizeof(struct rdmablk_limits),
	.build = msg_staged_limits, .parse = parse_staged,
	.any = {
		UNIT_FIELD(rdmablk_limits, max_discard),
		UNIT_FIELD(rdmablk_limits, max_zeroes), UNIT_FIELD(rdmablk_limits, max_erase),
		UNIT_FIELD(rdmablk_limits, slot_iova), UNIT_FIELD(rdmablk_limits, slot_rkey),
		UNIT_FIELD(rdmablk_limits, mac),
	},
	.some = {
		UNIT_FIELD(rdmablk_limits, ops), UNIT_FIELD(rdmablk_limits, cmd_depth),
		UNIT_FIELD(rdmablk_limits, trailer_bytes),
		UNIT_FIELD(rdmablk_limits, slot_bytes),
	},
};

static const struct unit_msg blocks_of_4096 = {
	.name = "LIMITS of 4096", .type = RDMABLK_MSG_LIMITS,
	.size = sizeof(struct rdmablk_limits),
	.build = msg_limits, .parse = parse_blocks_of_4096,
};

static void test_as_every_message(void **state)
{
	static const struct unit_msg *const list[] = { &cached, &staged };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		unit_truncations(list[i]);
		unit_overlengths(list[i]);
		unit_bit_flips(list[i]);
		unit_types_and_lengths(list[i]);
		unit_unaligned(list[i]);
		unit_noise(list[i]);
	}
}

#define L(member, value)	UNIT_SET(rdmablk_limits, member, value)
#define DIRTY_OPS		(BIT_OF(FENCE) | BIT_OF(DIRTY) | BIT_OF(FLUSH))

static void test_commands(void **state)
{
	static const struct unit_case cases[] = {
		{ "depth 0", -EBADMSG, { L(cmd_depth, 0) } },
		{ "depth 1", -EBADMSG, { L(cmd_depth, 1) } },
		{ "depth 2", 0, { L(cmd_depth, 2) } },
		{ "depth 1024", 0, { L(cmd_depth, 1024) } },
		{ "depth 1025", -EBADMSG, { L(cmd_depth, 1025) } },
		{ "depth 65535", -EBADMSG, { L(cmd_depth, 65535) } },
		{ "trailer 1", 0, { L(trailer_bytes, 1) } },
		{ "trailer 16384", 0, { L(trailer_bytes, 16384) } },
		{ "trailer 16385", -EBADMSG, { L(trailer_bytes, 16385) } },
		{ "trailer 2^32-1", -EBADMSG, { L(trailer_bytes, UINT32_MAX) } },
		{ "operations to come", 0, { L(ops, 0xffffff3f) } },
		{ "a slot", -EBADMSG, { L(slot_bytes, 4096) } },
		{ "an address", -EBADMSG, { L(slot_iova, 1) } },
		{ "a key", -EBADMSG, { L(slot_rkey, 1) } },
	};

	(void)state;
	unit_cases(&cached, cases, ARRAY_SIZE(cases));
}

static void test_dirty(void **state)
{
	static const struct unit_case cases[] = {
		{ "no ranges", -EBADMSG, { L(max_ranges, 0) } },
		{ "one range", 0, { L(max_ranges, 1) } },
		{ "1024 ranges", 0, { L(max_ranges, 1024) } },
		{ "1025 ranges", -EBADMSG, { L(max_ranges, 1025) } },
		{ "granule 0", -EBADMSG, { L(granule, 0) } },
		{ "granule 256", -EBADMSG, { L(granule, 256) } },
		{ "granule 512", 0, { L(granule, 512) } },
		{ "granule 1536", -EBADMSG, { L(granule, 1536) } },
		{ "granule 1M", 0, { L(granule, 1 << 20) } },
		{ "granule 2M", -EBADMSG, { L(granule, 2 << 20) } },
	};
	static const struct unit_case blocks[] = {
		{ "granule 2048", -EBADMSG, { L(granule, 2048) } },
		{ "granule 4096", 0, { L(granule, 4096) } },
		{ "granule 8192", 0, { L(granule, 8192) } },
	};

	(void)state;
	unit_cases(&cached, cases, ARRAY_SIZE(cases));
	unit_cases(&blocks_of_4096, blocks, ARRAY_SIZE(blocks));
}

static void test_ranges_of_operations(void **state)
{
	static const struct unit_case cases[] = {
		{ "discard of 0", -EBADMSG, { L(max_discard, 0) } },
		{ "discard of 511", -EBADMSG, { L(max_discard, 511) } },
		{ "discard of 512", 0, { L(max_discard, 512) } },
		{ "discard of 2^64-1", 0, { L(max_discard, UINT64_MAX) } },
		{ "zeroes of 0", -EBADMSG, { L(max_zeroes, 0) } },
		{ "zeroes of 511", -EBADMSG, { L(max_zeroes, 511) } },
		{ "zeroes of 513", 0, { L(max_zeroes, 513) } },
		{ "erase of 0", -EBADMSG, { L(max_erase, 0) } },
		{ "erase of 2^32", 0, { L(max_erase, 1ULL << 32) } },
		{ "granularity 0", -EBADMSG, { L(discard_granularity, 0) } },
		{ "granularity 0, no alignment", -EBADMSG,
		  { L(discard_granularity, 0), L(discard_alignment, 0) } },
		{ "granularity 3", -EBADMSG,
		  { L(discard_granularity, 3), L(discard_alignment, 0) } },
		{ "granularity 1", 0, { L(discard_granularity, 1), L(discard_alignment, 0) } },
		{ "granularity 2^31", 0, { L(discard_granularity, 1U << 31) } },
		{ "as the granularity", -EBADMSG, { L(discard_alignment, 1 << 16) } },
		{ "one below", 0, { L(discard_alignment, (1 << 16) - 1) } },
		{ "one below 2^31", 0,
		  { L(discard_granularity, 1U << 31), L(discard_alignment, (1U << 31) - 1) } },
		{ "2^32-1", -EBADMSG, { L(discard_alignment, UINT32_MAX) } },
		{ "erase granularity 0", -EBADMSG, { L(erase_granularity, 0) } },
		{ "erase granularity 12288", -EBADMSG, { L(erase_granularity, 12288) } },
	};

	(void)state;
	unit_cases(&cached, cases, ARRAY_SIZE(cases));
	unit_cases(&blocks_of_4096, cases + 8, 1);
	unit_cases(&blocks_of_4096, cases + 12, ARRAY_SIZE(cases) - 12);
}

/* Sizes that a disk of larger blocks cannot use become the nearest ones that it can. */
static void test_sizes_are_made_to_fit(void **state)
{
	struct rdmablk_limits msg;

	(void)state;
	msg_limits(&msg);
	msg.max_discard = htole64(UINT64_MAX);
	msg.max_zeroes = htole64(3 * 4096 + 512);
	msg.max_erase = htole64(4096);
	msg.discard_granularity = htole32(512);
	msg.discard_alignment = htole32(0);
	msg.erase_granularity = htole32(1);
	assert_int_equal(parse_blocks_of_4096(&msg, sizeof(msg)), 0);
	assert_int_equal(got.max_discard, UINT64_MAX - 4095);
	assert_int_equal(got.max_zeroes, 3 * 4096);
	assert_int_equal(got.max_erase, 4096);
	assert_int_equal(got.discard_granularity, 4096);
	assert_int_equal(got.erase_granularity, 4096);
	msg.discard_granularity = htole32(16384);
	for (uint32_t alignment = 0; alignment < 16384; alignment += 512) {
		msg.discard_alignment = htole32(alignment);
		assert_int_equal(parse_blocks_of_4096(&msg, sizeof(msg)), 0);
		assert_int_equal(got.discard_alignment,
				 (alignment + 4095) / 4096 * 4096 % 16384);
	}
}

/* An operation that takes less at once than its granularity is unusable, and left out. */
static void test_less_than_a_granule(void **state)
{
	struct rdmablk_limits msg;

	(void)state;
	msg_limits(&msg);
	msg.max_discard = htole64((1 << 16) - 512);
	assert_int_equal(parse_cached(&msg, sizeof(msg)), 0);
	assert_int_equal(got.ops, 0x3f & ~BIT_OF(DISCARD));
	assert_int_equal(got.unusable, BIT_OF(DISCARD));
	assert_int_equal(got.discard_alignment, 0);
	assert_int_equal(got.max_zeroes, 1ULL << 30);
	msg.max_discard = htole64(1 << 16);
	msg.max_erase = htole64((1 << 20) - 512);
	assert_int_equal(parse_cached(&msg, sizeof(msg)), 0);
	assert_int_equal(got.ops, 0x3f & ~BIT_OF(SECURE_ERASE));
	assert_int_equal(got.unusable, BIT_OF(SECURE_ERASE));
	msg.max_erase = htole64(1 << 20);
	assert_int_equal(parse_cached(&msg, sizeof(msg)), 0);
	assert_int_equal(got.unusable, 0);
}

static void test_slots(void **state)
{
	const uint64_t all = 4ULL * MSG_CMDS * MSG_SLOT;
	const struct unit_case cases[] = {
		{ "no slots", -EBADMSG, { L(slot_bytes, 0) } },
		{ "2048", -EBADMSG, { L(slot_bytes, 2048) } },
		{ "3584", -EBADMSG, { L(slot_bytes, 3584) } },
		{ "4096", 0, { L(slot_bytes, 4096) } },
		{ "4608", 0, { L(slot_bytes, 4608) } },
		{ "4097", -EBADMSG, { L(slot_bytes, 4097) } },
		{ "16M", 0, { L(slot_bytes, 16 << 20) } },
		{ "16M and a block", -EBADMSG, { L(slot_bytes, (16 << 20) + 512) } },
		{ "2^31", -EBADMSG, { L(slot_bytes, 1U << 31) } },
		{ "address 0, key 0", 0, { L(slot_iova, 0), L(slot_rkey, 0) } },
		{ "the last address", 0, { L(slot_iova, -all) } },
		{ "one further", -EBADMSG, { L(slot_iova, -all + 1) } },
		{ "2^64-1", -EBADMSG, { L(slot_iova, UINT64_MAX) } },
		{ "the last of the largest", 0,
		  { L(slot_iova, -(4ULL << 34)), L(slot_bytes, 16 << 20), L(cmd_depth, 1024) } },
		{ "one further of the largest", -EBADMSG,
		  { L(slot_iova, -(4ULL << 34) + 1), L(slot_bytes, 16 << 20),
		    L(cmd_depth, 1024) } },
		{ "a granule", -EBADMSG, { L(granule, 4096) } },
		{ "ranges", -EBADMSG, { L(max_ranges, 1) } },
	};

	(void)state;
	unit_cases(&staged, cases, ARRAY_SIZE(cases));
}

/* A field has a value with its operation, and is 0 without it. */
static void lay_out(struct rdmablk_limits *msg, uint32_t ops, uint32_t flags)
{
	msg_limits(msg);
	msg->ops = htole32(ops);
	if (!(ops & BIT_OF(DIRTY))) {
		msg->granule = 0;
		msg->max_ranges = 0;
	}
	if (!(ops & BIT_OF(DISCARD))) {
		msg->discard_granularity = 0;
		msg->discard_alignment = 0;
	}
	if (!(ops & BIT_OF(SECURE_ERASE)))
		msg->erase_granularity = 0;
	if (flags & RDMABLK_GRANT_STAGED) {
		msg->trailer_bytes = htole32(MSG_TRAILER);
		msg->slot_bytes = htole32(MSG_SLOT);
		msg->slot_rkey = htole32(1);
	}
}

/* Whether an export with these flags may have these operations, as a list of what is wrong */
static bool fits(uint32_t ops, uint32_t flags)
{
	bool cache = flags & RDMABLK_GRANT_CACHE, in_slots = flags & RDMABLK_GRANT_STAGED;
	bool writes = !(flags & RDMABLK_GRANT_READ_ONLY);

	if (!(ops & BIT_OF(FENCE)))
		return false;
	if (cache && !(ops & BIT_OF(FLUSH)))
		return false;
	if (cache && !in_slots && !(ops & BIT_OF(DIRTY)))
		return false;
	if (in_slots && ops & BIT_OF(DIRTY))
		return false;
	if (in_slots && !(ops & BIT_OF(READ)))
		return false;
	if (in_slots && writes && !(ops & BIT_OF(WRITE)))
		return false;
	return in_slots || !(ops & (BIT_OF(READ) | BIT_OF(WRITE)));
}

/* All sets of operations with all flags of an export */
static void test_operations(void **state)
{
	struct rdmablk_wire_grant g = msg_granted;
	struct rdmablk_limits msg;

	(void)state;
	granted = &g;
	for (g.flags = 0; g.flags <= RDMABLK_GRANT_FLAGS; g.flags++) {
		for (uint32_t ops = 0; ops <= ALL_OPS; ops++) {
			lay_out(&msg, ops, g.flags);
			assert_int_equal(parse(&msg, sizeof(msg)),
					 fits(ops, g.flags) ? 0 : -EBADMSG);
			msg.ops |= htole32(~ALL_OPS);
			if (!parse(&msg, sizeof(msg)))
				assert_int_equal(got.ops, ops);
		}
	}
	lay_out(&msg, DIRTY_OPS, 0);
	g.flags = 0;
	assert_int_equal(parse(&msg, sizeof(msg)), 0);
	g.features = 0;
	assert_int_equal(parse(&msg, sizeof(msg)), -EBADMSG);
	g.features = RDMABLK_F_STAGED;
	assert_int_equal(parse(&msg, sizeof(msg)), -EBADMSG);
}

static void test_fields_come_out_as_they_were_sent(void **state)
{
	struct rdmablk_limits msg;

	(void)state;
	msg_limits(&msg);
	assert_int_equal(parse_cached(&msg, sizeof(msg)), 0);
	assert_int_equal(got.ops, 0x3f);
	assert_int_equal(got.cmd_depth, MSG_CMDS);
	assert_int_equal(got.max_ranges, 252);
	assert_int_equal(got.granule, MSG_GRANULE);
	assert_int_equal(got.trailer_bytes, 0);
	assert_int_equal(got.max_discard, 1ULL << 40);
	assert_int_equal(got.max_zeroes, 1ULL << 30);
	assert_int_equal(got.max_erase, 1ULL << 31);
	assert_int_equal(got.discard_granularity, 1 << 16);
	assert_int_equal(got.discard_alignment, 1 << 12);
	assert_int_equal(got.erase_granularity, 1 << 20);
	assert_memory_equal(got.mac, msg.mac, sizeof(msg.mac));
	msg_staged_limits(&msg);
	assert_int_equal(parse_staged(&msg, sizeof(msg)), 0);
	assert_int_equal(got.ops, 0xc5);
	assert_int_equal(got.trailer_bytes, MSG_TRAILER);
	assert_int_equal(got.slot_bytes, MSG_SLOT);
	assert_int_equal(got.slot_iova, MSG_SLOTS);
	assert_int_equal(got.slot_rkey, 0x2000);
	assert_memory_equal(got.mac, msg.mac, sizeof(msg.mac));
}

static void hex_equal(const void *msg, size_t len, const char *want)
{
	char text[2 * RDMABLK_CMD_BYTES + 1] = "";

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)msg)[i]);
	assert_string_equal(text, want);
}

static void test_what_is_packed(void **state)
{
	struct rdmablk_limits_get get;
	struct rdmablk_command cmd;

	(void)state;
	memset(&get, 0xff, sizeof(get));
	rdmablk_wire_limits_get(&get);
	hex_equal(&get, sizeof(get), "0d00100000000000" "0000000000000000");
	memset(&cmd, 0xff, sizeof(cmd));
	rdmablk_wire_data_command(&cmd, RDMABLK_OP_WRITE,
				  RDMABLK_IO_FUA | RDMABLK_IO_TRAILER, 0x0102, 0xf3,
				  0x1122334455667788, 0x1000, 0x1000);
	hex_equal(&cmd, sizeof(cmd),
		  "0900401002010000" "f300000000000000" "2700030000000000" "8877665544332211"
		  "0010000000000000" "0000000000000000" "0000000000000000" "0000000000000000");
	memset(&cmd, 0xff, sizeof(cmd));
	rdmablk_wire_data_command(&cmd, RDMABLK_OP_FENCE, 0, 0, 0, 0, 0, 0);
	hex_equal(&cmd, sizeof(cmd),
		  "0900400000000000" "0000000000000000" "2000000000000000" "0000000000000000"
		  "0000000000000000" "0000000000000000" "0000000000000000" "0000000000000000");
}

static void test_answers(void **state)
{
	struct rdmablk_wire_imm out;

	(void)state;
	assert_int_equal(rdmablk_wire_parse_imm(0x0102a554, 0x103, &out), 0);
	assert_int_equal(out.tag, 0x0102);
	assert_int_equal(out.generation, 0xa5);
	assert_int_equal(out.status, RDMABLK_R_STORE_READ_ONLY);
	for (uint32_t tag = 0; tag <= UINT16_MAX; tag++) {
		uint8_t generation = (uint8_t)unit_random(), status = (uint8_t)unit_random();
		uint32_t imm = RDMABLK_IMM(tag, generation, status);

		assert_int_equal(rdmablk_wire_parse_imm(imm, MSG_CMDS, &out),
				 tag < MSG_CMDS ? 0 : -EBADMSG);
		assert_int_equal(rdmablk_wire_parse_imm(imm, UINT16_MAX, &out),
				 tag < UINT16_MAX ? 0 : -EBADMSG);
		assert_int_equal(out.tag, tag);
		assert_int_equal(out.generation, generation);
		assert_int_equal(out.status, status);
	}
}

static void test_lists_of_answers(void **state)
{
	struct rdmablk_answers sent, list;
	uint8_t buf[sizeof(sent) + 8];

	(void)state;
	for (size_t i = 0; i < RDMABLK_MAX_ANSWERS; i++)
		sent.imm[i] = htole32((uint32_t)unit_random());
	memset(buf, 0xff, sizeof(buf));
	memcpy(buf, &sent, sizeof(sent));
	for (size_t len = 0; len <= sizeof(buf); len++) {
		bool ok = len && len <= sizeof(sent) && !(len % 4);

		memset(&list, 0, sizeof(list));
		assert_int_equal(rdmablk_wire_parse_answers(buf, len, &list),
				 ok ? (int)(len / 4) : -EBADMSG);
		if (ok)
			assert_memory_equal(&list, &sent, len);
	}
}

/* With lists of answers, the limits must leave room for a list. */
static void test_lists_need_room(void **state)
{
	struct rdmablk_wire_grant g = msg_staged;
	struct rdmablk_limits msg;

	(void)state;
	granted = &g;
	msg_staged_limits(&msg);
	for (uint32_t room = 0; room <= 1024; room++) {
		msg.trailer_bytes = htole32(room);
		g.features = RDMABLK_FEATURES_V1;
		assert_int_equal(parse(&msg, sizeof(msg)), room < 256 ? -EBADMSG : 0);
		g.features = RDMABLK_FEATURES_V1 & ~RDMABLK_F_LISTS;
		assert_int_equal(parse(&msg, sizeof(msg)), 0);
	}
}

/* An implied WRITE has 30 bits for its position, in pages or in blocks. */
static void test_implied_writes(void **state)
{
	const uint64_t most = 1ULL << 30;
	uint32_t imm;

	(void)state;
	assert_true(rdmablk_wire_implied(0, 9, false, &imm));
	assert_int_equal(imm, RDMABLK_WRITE_PAGES);
	assert_true(rdmablk_wire_implied(8192, 9, true, &imm));
	assert_int_equal(imm, RDMABLK_WRITE_PAGES | RDMABLK_WRITE_FUA | 2);
	assert_true(rdmablk_wire_implied(8192 + 512, 9, false, &imm));
	assert_int_equal(imm, 17);
	assert_true(rdmablk_wire_implied((most - 1) * 512, 9, false, &imm));
	assert_int_equal(imm, most - 1);
	assert_false(rdmablk_wire_implied(most * 512 + 512, 9, false, &imm));
	assert_true(rdmablk_wire_implied((most - 1) * 4096, 12, false, &imm));
	assert_int_equal(imm, RDMABLK_WRITE_PAGES | (most - 1));
	assert_false(rdmablk_wire_implied(most * 4096, 12, false, &imm));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_implied_writes),
		cmocka_unit_test(test_as_every_message),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_dirty),
		cmocka_unit_test(test_ranges_of_operations),
		cmocka_unit_test(test_sizes_are_made_to_fit),
		cmocka_unit_test(test_less_than_a_granule),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_fields_come_out_as_they_were_sent),
		cmocka_unit_test(test_lists_of_answers),
		cmocka_unit_test(test_lists_need_room),
		cmocka_unit_test(test_what_is_packed),
		cmocka_unit_test(test_answers),
	};

	msg_setup();
	return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}
