// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/wire.c checks each field of GRANT against both ends of its range, and
 * against what HELLO and CHALLENGE said.
 */
#include <endian.h>
#include <linux/kernel.h>

#include "messages.h"
#include "unit.h"

static struct rdmablk_wire_grant got;

static int parse(const void *buf, size_t len)
{
	return rdmablk_wire_parse_grant(buf, len, &msg_sent, &msg_challenged, &got);
}

static const struct unit_msg message = {
	.name = "GRANT", .type = RDMABLK_MSG_GRANT, .size = sizeof(struct rdmablk_grant),
	.build = msg_grant, .parse = parse,
};

#define G(member, value)	UNIT_SET(rdmablk_grant, member, value)
#define M			(1ULL << 20)

static void test_size_and_regions(void **state)
{
	static const struct unit_case cases[] = {
		{ "size 0", -EBADMSG, { G(size, 0), G(nr_regions, 0) } },
		{ "size 0, a region", -EBADMSG, { G(size, 0), G(nr_regions, 1) } },
		{ "one block", 0, { G(size, 512), G(nr_regions, 1) } },
		{ "half a block", -EBADMSG, { G(size, 256), G(nr_regions, 1) } },
		{ "not a multiple", -EBADMSG, { G(size, MSG_SIZE - 1) } },
		{ "512 of 4096", -EBADMSG,
		  { G(size, MSG_SIZE - 512), G(logical_block, 4096) } },
		{ "full last region", 0, { G(size, MSG_REGION * MSG_REGIONS) } },
		{ "one block too many", -EBADMSG, { G(size, MSG_REGION * MSG_REGIONS + 512) } },
		{ "last region of a block", 0,
		  { G(size, MSG_REGION * (MSG_REGIONS - 1) + 512) } },
		{ "last region empty", -EBADMSG, { G(size, MSG_REGION * (MSG_REGIONS - 1)) } },
		{ "no regions", -EBADMSG, { G(nr_regions, 0) } },
		{ "one region less", -EBADMSG, { G(nr_regions, MSG_REGIONS - 1) } },
		{ "one region more", -EBADMSG, { G(nr_regions, MSG_REGIONS + 1) } },
		{ "all regions", 0,
		  { G(size, 4096 * MSG_REGION), G(nr_regions, 4096) } },
		{ "4097 regions", -EBADMSG,
		  { G(size, 4097 * MSG_REGION), G(nr_regions, 4097) } },
		{ "2^32 regions more", -EBADMSG,
		  { G(size, MSG_REGION << 32), G(nr_regions, 0) } },
		{ "smallest region", 0,
		  { G(size, 3 * M), G(region_bytes, M), G(nr_regions, 3) } },
		{ "region too small", -EBADMSG,
		  { G(size, M), G(region_bytes, M / 2), G(nr_regions, 2) } },
		{ "region 0", -EBADMSG, { G(region_bytes, 0) } },
		{ "region no power of two", -EBADMSG,
		  { G(size, 3 * M), G(region_bytes, 3 * M), G(nr_regions, 1) } },
		{ "region 2^32 + 2^20", -EBADMSG,
		  { G(size, M), G(region_bytes, (1ULL << 32) + M), G(nr_regions, 1) } },
		{ "region 2^32", 0,
		  { G(size, M), G(region_bytes, 1ULL << 32), G(nr_regions, 1) } },
		{ "largest", 0,
		  { G(size, RDMABLK_MAX_SIZE), G(region_bytes, RDMABLK_MAX_SIZE),
		    G(nr_regions, 1) } },
		{ "largest in pieces", 0,
		  { G(size, RDMABLK_MAX_SIZE), G(region_bytes, RDMABLK_MAX_SIZE / 4096),
		    G(nr_regions, 4096) } },
		{ "size too large", -EBADMSG,
		  { G(size, RDMABLK_MAX_SIZE + 512), G(region_bytes, RDMABLK_MAX_SIZE),
		    G(nr_regions, 2) } },
		{ "region too large", -EBADMSG,
		  { G(region_bytes, RDMABLK_MAX_SIZE * 2), G(nr_regions, 1) } },
		{ "all bits", -EBADMSG,
		  { G(size, UINT64_MAX), G(region_bytes, UINT64_MAX),
		    G(nr_regions, UINT32_MAX) } },
	};

	(void)state;
	unit_cases(&message, cases, ARRAY_SIZE(cases));
}

static void test_blocks(void **state)
{
	static const struct unit_case cases[] = {
		{ "logical 0", -EBADMSG, { G(logical_block, 0) } },
		{ "logical 256", -EBADMSG, { G(logical_block, 256) } },
		{ "logical 1024", -EBADMSG, { G(logical_block, 1024) } },
		{ "logical 2048", -EBADMSG, { G(logical_block, 2048) } },
		{ "logical 4096", 0, { G(logical_block, 4096) } },
		{ "logical 8192", -EBADMSG,
		  { G(logical_block, 8192), G(physical_block, 8192) } },
		{ "physical 0", -EBADMSG, { G(physical_block, 0) } },
		{ "physical as logical", 0, { G(physical_block, 512) } },
		{ "physical below logical", -EBADMSG,
		  { G(physical_block, 2048), G(logical_block, 4096) } },
		{ "physical 65536", 0, { G(physical_block, 65536) } },
		{ "physical 131072", -EBADMSG, { G(physical_block, 131072) } },
		{ "physical 1536", -EBADMSG, { G(physical_block, 1536) } },
		{ "io_min 0", 0, { G(io_min, 0) } },
		{ "io_min 512", 0, { G(io_min, 512) } },
		{ "io_min 511", -EBADMSG, { G(io_min, 511) } },
		{ "io_min 513", -EBADMSG, { G(io_min, 513) } },
		{ "io_min 512 of 4096", -EBADMSG, { G(io_min, 512), G(logical_block, 4096) } },
		{ "io_opt 0", 0, { G(io_opt, 0) } },
		{ "io_opt 1", -EBADMSG, { G(io_opt, 1) } },
		{ "io_opt 2^32-1", -EBADMSG, { G(io_opt, UINT32_MAX) } },
		{ "max_io 0", 0, { G(max_io, 0) } },
		{ "max_io 512", -EBADMSG, { G(max_io, 512) } },
		{ "max_io 3584", -EBADMSG, { G(max_io, 3584) } },
		{ "max_io 4096", 0, { G(max_io, 4096) } },
		{ "max_io 4097", -EBADMSG, { G(max_io, 4097) } },
		{ "max_io 4608", 0, { G(max_io, 4608) } },
		{ "max_io 4608 of 4096", -EBADMSG,
		  { G(max_io, 4608), G(logical_block, 4096) } },
		{ "largest max_io", 0, { G(max_io, 0xfffffe00) } },
	};

	(void)state;
	unit_cases(&message, cases, ARRAY_SIZE(cases));
}

static void test_session(void **state)
{
	static const struct unit_case cases[] = {
		{ "session 0", -EBADMSG, { G(session_id, 0) } },
		{ "another session", -EBADMSG, { G(session_id, MSG_SESSION + 1) } },
		{ "no feature", -EBADMSG, { G(features, 0) } },
		{ "a feature less", -EBADMSG, { G(features, 1) } },
		{ "a feature more", -EBADMSG, { G(features, RDMABLK_FEATURES_V1 + 1) } },
		{ "no flags", 0, { G(flags, 0) } },
		{ "all flags", 0,
		  { G(flags, RDMABLK_GRANT_FLAGS), G(region_bytes, 0), G(nr_regions, 0) } },
		{ "an unknown flag", -EBADMSG, { G(flags, RDMABLK_GRANT_FLAGS + 1) } },
		{ "the last flag", -EBADMSG, { G(flags, 1U << 31) } },
		{ "no queue", -EBADMSG, { G(nr_queues, 0) } },
		{ "one queue", 0, { G(nr_queues, 1) } },
		{ "all queues", 0, { G(nr_queues, MSG_QUEUES) } },
		{ "too many queues", -EBADMSG, { G(nr_queues, MSG_QUEUES + 1) } },
		{ "65535 queues", -EBADMSG, { G(nr_queues, 65535) } },
		{ "depth 0", -EBADMSG, { G(queue_depth, 0) } },
		{ "depth 1", 0, { G(queue_depth, 1) } },
		{ "full depth", 0, { G(queue_depth, MSG_DEPTH) } },
		{ "too deep", -EBADMSG, { G(queue_depth, MSG_DEPTH + 1) } },
		{ "read depth 0", -EBADMSG, { G(read_depth, 0) } },
		{ "read depth 1", 0, { G(read_depth, 1) } },
		{ "read depth 65535", 0, { G(read_depth, 65535) } },
	};

	(void)state;
	unit_cases(&message, cases, ARRAY_SIZE(cases));
}

static void test_timeouts(void **state)
{
	static const struct unit_case cases[] = {
		{ "keep-alive 0", -EBADMSG, { G(keep_alive_ms, 0) } },
		{ "keep-alive 99", -EBADMSG, { G(keep_alive_ms, 99) } },
		{ "keep-alive 100", 0, { G(keep_alive_ms, 100) } },
		{ "longest keep-alive", 0,
		  { G(keep_alive_ms, 600000), G(session_tmo_ms, 600001) } },
		{ "keep-alive too long", -EBADMSG,
		  { G(keep_alive_ms, 600001), G(session_tmo_ms, 600002) } },
		{ "session as keep-alive", -EBADMSG, { G(session_tmo_ms, 5000) } },
		{ "session a bit longer", 0, { G(session_tmo_ms, 5001) } },
		{ "session 0", -EBADMSG, { G(session_tmo_ms, 0) } },
		{ "longest session", 0, { G(session_tmo_ms, RDMABLK_MAX_SESSION_MS) } },
		{ "session too long", -EBADMSG,
		  { G(session_tmo_ms, RDMABLK_MAX_SESSION_MS + 1) } },
		{ "session 2^32-1", -EBADMSG, { G(session_tmo_ms, UINT32_MAX) } },
	};

	(void)state;
	unit_cases(&message, cases, ARRAY_SIZE(cases));
}

/* Keep-alive asked for, keep-alive and session timeout granted, and whether they are accepted */
static void test_timeouts_fit_what_was_asked_for(void **state)
{
	static const struct {
		uint32_t asked, keep_alive, session;
		bool ok;
	} cases[] = {
		{ 5000, 5000, 10000, true },
		{ 5000, 60000, 300000, true },
		{ 5000, 60001, 300000, false },
		{ 15001, 60004, 300000, true },
		{ 15001, 60005, 300000, false },
		{ 5000, 5000, 300000, true },
		{ 5000, 5000, 300001, false },
		{ 5000, 15001, 300020, true },
		{ 5000, 15001, 300021, false },
		{ 600000, 600000, RDMABLK_MAX_SESSION_MS, true },
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, true },
		{ 1, UINT32_MAX, UINT32_MAX, false },
		{ 1, 1, UINT32_MAX, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct rdmablk_wire_grant g = {
			.keep_alive_ms = cases[i].keep_alive,
			.session_tmo_ms = cases[i].session,
		};

		if (rdmablk_wire_times_ok(&g, cases[i].asked) != cases[i].ok)
			fail_msg("case %zu", i);
	}
}

static void test_target_name(void **state)
{
	struct rdmablk_grant msg;

	(void)state;
	for (int c = 0; c < 256; c++) {
		msg_grant(&msg);
		msg.target_name[2] = (char)c;
		assert_int_equal(parse(&msg, sizeof(msg)),
				 c >= 0x20 && c <= 0x7e ? 0 : -EBADMSG);
	}
	for (size_t len = 0; len <= RDMABLK_NAME_LEN; len++) {
		msg_grant(&msg);
		memset(msg.target_name, 0, sizeof(msg.target_name));
		memset(msg.target_name, 'x', len);
		assert_int_equal(parse(&msg, sizeof(msg)),
				 len < RDMABLK_NAME_LEN ? 0 : -EBADMSG);
	}
	for (size_t at = 11; at < RDMABLK_NAME_LEN; at++) {
		msg_grant(&msg);
		msg.target_name[at] = 'x';
		assert_int_equal(parse(&msg, sizeof(msg)), -EBADMSG);
	}
}

/* The GRANT of a staged export has no regions, and no size of regions. */
static void test_staged(void **state)
{
	static const struct unit_case cases[] = {
		{ "no regions", 0,
		  { G(flags, RDMABLK_GRANT_STAGED), G(region_bytes, 0), G(nr_regions, 0) } },
		{ "regions", -EBADMSG, { G(flags, RDMABLK_GRANT_STAGED) } },
		{ "a region", -EBADMSG,
		  { G(flags, RDMABLK_GRANT_STAGED), G(region_bytes, 0), G(nr_regions, 1) } },
		{ "a size of regions", -EBADMSG,
		  { G(flags, RDMABLK_GRANT_STAGED), G(nr_regions, 0) } },
		{ "not staged", -EBADMSG,
		  { G(flags, RDMABLK_GRANT_CACHE), G(region_bytes, 0), G(nr_regions, 0) } },
		{ "largest", 0,
		  { G(flags, RDMABLK_GRANT_STAGED), G(region_bytes, 0), G(nr_regions, 0),
		    G(size, RDMABLK_MAX_SIZE) } },
		{ "too large", -EBADMSG,
		  { G(flags, RDMABLK_GRANT_STAGED), G(region_bytes, 0), G(nr_regions, 0),
		    G(size, RDMABLK_MAX_SIZE + 512) } },
		{ "size 0", -EBADMSG,
		  { G(flags, RDMABLK_GRANT_STAGED), G(region_bytes, 0), G(nr_regions, 0),
		    G(size, 0) } },
		{ "not a multiple", -EBADMSG,
		  { G(flags, RDMABLK_GRANT_STAGED), G(region_bytes, 0), G(nr_regions, 0),
		    G(size, MSG_SIZE - 512), G(logical_block, 4096) } },
	};

	(void)state;
	unit_cases(&message, cases, ARRAY_SIZE(cases));
}

/* A GRANT with these flags that is otherwise ordinary */
static int parse_flags(const struct rdmablk_hello *sent, uint64_t features, uint32_t flags)
{
	struct rdmablk_wire_challenge ch = msg_challenged;
	struct rdmablk_grant msg;

	ch.features = features;
	msg_grant(&msg);
	msg.features = htole64(features);
	msg.flags = htole32(flags);
	if (flags & RDMABLK_GRANT_STAGED) {
		msg.region_bytes = 0;
		msg.nr_regions = 0;
	}
	return rdmablk_wire_parse_grant(&msg, sizeof(msg), sent, &ch, &got);
}

/* A flag of GRANT is refused without the feature that it needs. */
static void test_flags_need_features(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags <= RDMABLK_GRANT_FLAGS; flags++) {
		bool cache = flags & RDMABLK_GRANT_CACHE;
		bool staged = flags & RDMABLK_GRANT_STAGED;

		assert_int_equal(parse_flags(&msg_sent, 0, flags),
				 cache || staged ? -EBADMSG : 0);
		assert_int_equal(parse_flags(&msg_sent, RDMABLK_F_COMMANDS, flags),
				 staged ? -EBADMSG : 0);
		assert_int_equal(parse_flags(&msg_sent, RDMABLK_FEATURES_V1, flags), 0);
	}
}

/* An initiator that asks for read-only access never gets the right to write. */
static void test_read_only_is_kept(void **state)
{
	struct rdmablk_hello sent = msg_sent;

	(void)state;
	sent.flags = htole32(RDMABLK_HELLO_READ_ONLY);
	for (uint32_t flags = 0; flags <= RDMABLK_GRANT_FLAGS; flags++) {
		assert_int_equal(parse_flags(&sent, RDMABLK_FEATURES_V1, flags),
				 flags & RDMABLK_GRANT_READ_ONLY ? 0 : -EBADMSG);
		assert_int_equal(parse_flags(&msg_sent, RDMABLK_FEATURES_V1, flags), 0);
	}
}

static void test_fields_come_out_as_they_were_sent(void **state)
{
	struct rdmablk_grant msg;

	(void)state;
	msg_grant(&msg);
	assert_int_equal(parse(&msg, sizeof(msg)), 0);
	assert_int_equal(got.session_id, MSG_SESSION);
	assert_int_equal(got.features, RDMABLK_FEATURES_V1);
	assert_memory_equal(got.uuid, msg.uuid, sizeof(msg.uuid));
	assert_memory_equal(got.epoch, msg.epoch, sizeof(msg.epoch));
	assert_int_equal(got.size, MSG_SIZE);
	assert_int_equal(got.region_bytes, MSG_REGION);
	assert_int_equal(got.nr_regions, MSG_REGIONS);
	assert_int_equal(got.flags, RDMABLK_GRANT_SHARED);
	assert_int_equal(got.logical_block, 512);
	assert_int_equal(got.physical_block, 4096);
	assert_int_equal(got.io_min, 4096);
	assert_int_equal(got.io_opt, 1 << 20);
	assert_int_equal(got.max_io, 1 << 19);
	assert_int_equal(got.nr_queues, 4);
	assert_int_equal(got.queue_depth, 64);
	assert_int_equal(got.read_depth, 16);
	assert_int_equal(got.keep_alive_ms, 5000);
	assert_int_equal(got.session_tmo_ms, 15000);
	assert_string_equal(got.target_name, "target one");
	assert_memory_equal(got.mac, msg.mac, sizeof(msg.mac));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_and_regions),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_timeouts_fit_what_was_asked_for),
		cmocka_unit_test(test_target_name),
		cmocka_unit_test(test_staged),
		cmocka_unit_test(test_flags_need_features),
		cmocka_unit_test(test_read_only_is_kept),
		cmocka_unit_test(test_fields_come_out_as_they_were_sent),
	};

	msg_setup();
	return cmocka_run_group_tests_name("grant", tests, NULL, NULL);
}
