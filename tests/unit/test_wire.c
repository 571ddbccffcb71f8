// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/wire.c accepts each message that follows the protocol and no
 * other: every length, every bit, every range at both ends, and noise.
 */
#include <endian.h>
#include <linux/kernel.h>

#include "messages.h"
#include "unit.h"

static struct rdmablk_wire_grant grant;
static struct rdmablk_wire_region table[RDMABLK_MAX_REGIONS + 1];
static uint8_t mac[RDMABLK_MAC_LEN];

static int parse_accept(const void *buf, size_t len)
{
	static const uint8_t none[RDMABLK_MAC_LEN];
	struct rdmablk_cm_accept2 out;
	int ret = rdmablk_wire_parse_accept(buf, len, MSG_QUEUE, 1, &out);

	if (!ret) {
		assert_memory_equal(&out, buf, sizeof(out.accept));
		assert_memory_equal(out.mac, none, sizeof(none));
	}
	return ret;
}

static int parse_accept2(const void *buf, size_t len)
{
	struct rdmablk_cm_accept2 out;
	int ret = rdmablk_wire_parse_accept(buf, len, MSG_QUEUE, 2, &out);

	if (!ret)
		assert_memory_equal(&out, buf, sizeof(out));
	return ret;
}

static int parse_reject(const void *buf, size_t len)
{
	struct rdmablk_wire_reject out = { 0 };
	int ret = rdmablk_wire_parse_reject(buf, len, &out);

	if (!ret)
		assert_int_not_equal(out.reason, 0);
	return ret;
}

static int parse_challenge(const void *buf, size_t len)
{
	struct rdmablk_wire_challenge out = { 0 };
	int ret = rdmablk_wire_parse_challenge(buf, len, &msg_sent, &out);

	if (!ret) {
		assert_int_equal(out.version, 1);
		assert_int_equal(out.auth_method, RDMABLK_AUTH_NONE);
		assert_int_equal(out.features & ~RDMABLK_FEATURES_V1, 0);
		assert_int_not_equal(out.features, RDMABLK_F_STAGED);
		assert_int_not_equal(out.session_id, 0);
	}
	return ret;
}

static int parse_challenge2(const void *buf, size_t len)
{
	uint8_t point[RDMABLK_POINT_LEN];
	struct rdmablk_wire_challenge out = { 0 };
	int ret = rdmablk_wire_parse_challenge2(buf, len, &msg_sent2, &out, point);

	if (!ret) {
		assert_int_equal(out.version, 2);
		assert_int_equal(out.auth_method, RDMABLK_AUTH_PSK);
		assert_int_not_equal(out.session_id, 0);
		assert_memory_equal(point, (const uint8_t *)buf +
				    offsetof(struct rdmablk_challenge2, point), sizeof(point));
	}
	return ret;
}

/* Version 2 has no MAC in GRANT: the parsed one is zero. */
static int parse_grant2(const void *buf, size_t len)
{
	static const uint8_t none[RDMABLK_MAC_LEN];
	struct rdmablk_wire_challenge ch = msg_challenged;
	struct rdmablk_wire_grant g = { 0 };
	int ret;

	ch.version = 2;
	ret = rdmablk_wire_parse_grant(buf, len, &msg_sent2.hello, &ch, &g);
	if (!ret) {
		assert_int_equal(g.version, 2);
		assert_int_equal(g.session_id, MSG_SESSION);
		assert_memory_equal(g.mac, none, sizeof(none));
	}
	return ret;
}

static int parse_regions_of(const struct rdmablk_wire_grant *g, const void *buf, size_t len,
			    uint32_t first)
{
	int ret;

	memset(&table[MSG_REGIONS], 0xa5, sizeof(table[0]));
	ret = rdmablk_wire_parse_regions(buf, len, g, first, table, mac);
	assert_int_equal(table[MSG_REGIONS].rkey, 0xa5a5a5a5);
	return ret;
}

static int parse_regions2_at(const void *buf, size_t len, uint32_t first)
{
	static const uint8_t none[RDMABLK_MAC_LEN];
	struct rdmablk_wire_grant g = msg_granted;
	int ret;

	g.version = 2;
	ret = parse_regions_of(&g, buf, len, first);
	if (!ret)
		assert_memory_equal(mac, none, sizeof(none));
	return ret;
}

static int parse_regions2(const void *buf, size_t len)
{
	return parse_regions2_at(buf, len, 0);
}

static int parse_last_regions2(const void *buf, size_t len)
{
	return parse_regions2_at(buf, len, RDMABLK_REGIONS_PER_MSG);
}

static int parse_limits2(const void *buf, size_t len)
{
	struct rdmablk_wire_grant g = msg_granted;
	struct rdmablk_wire_limits out;

	g.version = 2;
	return rdmablk_wire_parse_limits(buf, len, &g, &out);
}

static int parse_reauth_challenge(const void *buf, size_t len)
{
	uint8_t point[RDMABLK_POINT_LEN];
	int ret = rdmablk_wire_parse_reauth_challenge(buf, len, point);

	if (!ret)
		assert_memory_equal(point, (const uint8_t *)buf +
				    offsetof(struct rdmablk_reauth_challenge, point),
				    sizeof(point));
	return ret;
}

/* What the rest of the driver relies on, said in another way than in wire.c. */
static int parse_grant(const void *buf, size_t len)
{
	struct rdmablk_wire_grant g = { 0 };
	int ret = rdmablk_wire_parse_grant(buf, len, &msg_sent, &msg_challenged, &g);

	if (ret)
		return ret;
	assert_true(g.logical_block == 512 || g.logical_block == 4096);
	assert_true(g.physical_block % g.logical_block == 0);
	assert_true(g.size && g.size % g.logical_block == 0);
	if (g.flags & RDMABLK_GRANT_STAGED) {
		assert_true(!g.region_bytes && !g.nr_regions);
	} else {
		assert_true(g.region_bytes % g.physical_block == 0);
		assert_true(g.nr_regions && g.nr_regions <= RDMABLK_MAX_REGIONS);
		assert_true((g.nr_regions - 1) * (unsigned __int128)g.region_bytes < g.size);
		assert_true(g.nr_regions * (unsigned __int128)g.region_bytes >= g.size);
	}
	assert_true(g.io_min % g.logical_block == 0 && g.io_opt % g.logical_block == 0);
	assert_true(g.max_io % g.logical_block == 0);
	assert_in_range(g.nr_queues, 1, MSG_QUEUES);
	assert_in_range(g.queue_depth, 1, MSG_DEPTH);
	assert_in_range(g.keep_alive_ms, 100, 600000);
	assert_in_range(g.session_tmo_ms, g.keep_alive_ms + 1,
			RDMABLK_MAX_SESSION_MS);
	assert_int_not_equal(g.read_depth, 0);
	assert_int_equal(g.session_id, MSG_SESSION);
	assert_int_equal(g.target_name[RDMABLK_NAME_LEN - 1], 0);
	grant = g;
	return ret;
}

static int parse_regions(const void *buf, size_t len)
{
	return parse_regions_of(&msg_granted, buf, len, 0);
}

static int parse_last_regions(const void *buf, size_t len)
{
	return parse_regions_of(&msg_granted, buf, len, RDMABLK_REGIONS_PER_MSG);
}

static int parse_answer(const void *buf, size_t len)
{
	struct rdmablk_wire_answer out = { 0 };
	int ret = rdmablk_wire_parse_answer(buf, len, &out);

	if (!ret)
		assert_in_range(out.tag, 0, RDMABLK_CTRL_TAGS - 1);
	return ret;
}

static int parse_event(const void *buf, size_t len)
{
	struct rdmablk_wire_event out = { 0 };
	int ret = rdmablk_wire_parse_event(buf, len, &out);

	if (!ret && out.event == RDMABLK_EVENT_RESIZE) {
		assert_true(out.value && out.value <= RDMABLK_MAX_SIZE);
		assert_int_equal(out.value % 512, 0);
	}
	return ret;
}

static int parse_close(const void *buf, size_t len)
{
	struct rdmablk_wire_close out = { 0 };
	int ret = rdmablk_wire_parse_close(buf, len, &out);

	if (!ret)
		assert_int_not_equal(out.reason, 0);
	return ret;
}

/* A region's iova ends where the sum with its size would wrap. */
static const struct unit_msg messages[] = {
	{
		.name = "accept", .size = sizeof(struct rdmablk_cm_accept),
		.build = msg_accept, .parse = parse_accept,
	}, {
		.name = "reject", .size = sizeof(struct rdmablk_cm_reject),
		.build = msg_reject, .parse = parse_reject,
		.any = {
			UNIT_FIELD(rdmablk_cm_reject, version_min),
			UNIT_FIELD(rdmablk_cm_reject, version_max),
			UNIT_FIELD(rdmablk_cm_reject, retry_after_ms),
		},
		.some = { UNIT_FIELD(rdmablk_cm_reject, reason) },
	}, {
		.name = "CHALLENGE", .type = RDMABLK_MSG_CHALLENGE,
		.size = sizeof(struct rdmablk_challenge),
		.build = msg_challenge, .parse = parse_challenge,
		.any = {
			UNIT_FIELD(rdmablk_challenge, session_id),
			UNIT_FIELD(rdmablk_challenge, nonce),
		},
		.some = { UNIT_FIELD(rdmablk_challenge, features) },
	}, {
		.name = "GRANT", .type = RDMABLK_MSG_GRANT,
		.size = sizeof(struct rdmablk_grant),
		.build = msg_grant, .parse = parse_grant,
		.any = {
			UNIT_FIELD(rdmablk_grant, uuid), UNIT_FIELD(rdmablk_grant, epoch),
			UNIT_FIELD(rdmablk_grant, mac),
		},
		.some = {
			UNIT_FIELD(rdmablk_grant, size), UNIT_FIELD(rdmablk_grant, flags),
			UNIT_FIELD(rdmablk_grant, physical_block),
			UNIT_FIELD(rdmablk_grant, io_min), UNIT_FIELD(rdmablk_grant, io_opt),
			UNIT_FIELD(rdmablk_grant, max_io),
			UNIT_FIELD(rdmablk_grant, nr_queues),
			UNIT_FIELD(rdmablk_grant, queue_depth),
			UNIT_FIELD(rdmablk_grant, read_depth),
			UNIT_FIELD(rdmablk_grant, keep_alive_ms),
			UNIT_FIELD(rdmablk_grant, session_tmo_ms),
			UNIT_FIELD(rdmablk_grant, target_name),
		},
	}, {
		.name = "REGIONS", .type = RDMABLK_MSG_REGIONS,
		.size = sizeof(struct rdmablk_regions),
		.build = msg_regions, .parse = parse_regions,
		.any = { UNIT_FIELD(rdmablk_regions, mac) },
		.some = { UNIT_FIELD(rdmablk_regions, region) },
	}, {
		.name = "the last REGIONS", .type = RDMABLK_MSG_REGIONS,
		.size = sizeof(struct rdmablk_regions),
		.build = msg_last_regions, .parse = parse_last_regions,
		.any = { UNIT_FIELD(rdmablk_regions, mac) },
		.some = {
			{ offsetof(struct rdmablk_regions, region),
			  (MSG_REGIONS - RDMABLK_REGIONS_PER_MSG) *
			  sizeof(struct rdmablk_region) },
		},
	}, {
		.name = "LIVE", .type = RDMABLK_MSG_LIVE,
		.size = sizeof(struct rdmablk_live),
		.build = msg_live, .parse = rdmablk_wire_parse_live,
	}, {
		.name = "ANSWER", .type = RDMABLK_MSG_ANSWER,
		.size = sizeof(struct rdmablk_answer),
		.build = msg_answer, .parse = parse_answer,
		.any = {
			UNIT_FIELD(rdmablk_answer, hdr.generation),
			UNIT_FIELD(rdmablk_answer, status),
		},
		.some = { UNIT_FIELD(rdmablk_answer, hdr.tag) },
	}, {
		.name = "EVENT", .type = RDMABLK_MSG_EVENT,
		.size = sizeof(struct rdmablk_event_msg),
		.build = msg_event, .parse = parse_event,
		.any = {
			UNIT_FIELD(rdmablk_event_msg, event),
			UNIT_FIELD(rdmablk_event_msg, value),
		},
	}, {
		.name = "RESIZE", .type = RDMABLK_MSG_EVENT,
		.size = sizeof(struct rdmablk_event_msg),
		.build = msg_resize, .parse = parse_event,
		.any = { UNIT_FIELD(rdmablk_event_msg, event) },
		.some = { UNIT_FIELD(rdmablk_event_msg, value) },
	}, {
		.name = "CLOSE", .type = RDMABLK_MSG_CLOSE,
		.size = sizeof(struct rdmablk_close),
		.build = msg_close, .parse = parse_close,
		.any = {
			UNIT_FIELD(rdmablk_close, version_min),
			UNIT_FIELD(rdmablk_close, version_max),
			UNIT_FIELD(rdmablk_close, retry_after_ms),
		},
		.some = { UNIT_FIELD(rdmablk_close, reason) },
	}, {
		.name = "accept of version 2", .size = sizeof(struct rdmablk_cm_accept2),
		.build = msg_accept2, .parse = parse_accept2,
		.any = { UNIT_FIELD(rdmablk_cm_accept2, mac) },
	}, {
		.name = "CHALLENGE of version 2", .type = RDMABLK_MSG_CHALLENGE,
		.size = sizeof(struct rdmablk_challenge2),
		.build = msg_challenge2, .parse = parse_challenge2,
		.any = {
			UNIT_FIELD(rdmablk_challenge2, challenge.session_id),
			UNIT_FIELD(rdmablk_challenge2, challenge.nonce),
			UNIT_FIELD(rdmablk_challenge2, target_id),
			UNIT_FIELD(rdmablk_challenge2, point),
		},
		.some = { UNIT_FIELD(rdmablk_challenge2, challenge.features) },
	}, {
		.name = "GRANT of version 2", .type = RDMABLK_MSG_GRANT, .size = MSG_GRANT2,
		.build = msg_grant2, .parse = parse_grant2,
		.any = { UNIT_FIELD(rdmablk_grant, uuid), UNIT_FIELD(rdmablk_grant, epoch) },
		.some = {
			UNIT_FIELD(rdmablk_grant, size), UNIT_FIELD(rdmablk_grant, flags),
			UNIT_FIELD(rdmablk_grant, physical_block),
			UNIT_FIELD(rdmablk_grant, io_min), UNIT_FIELD(rdmablk_grant, io_opt),
			UNIT_FIELD(rdmablk_grant, max_io),
			UNIT_FIELD(rdmablk_grant, nr_queues),
			UNIT_FIELD(rdmablk_grant, queue_depth),
			UNIT_FIELD(rdmablk_grant, read_depth),
			UNIT_FIELD(rdmablk_grant, keep_alive_ms),
			UNIT_FIELD(rdmablk_grant, session_tmo_ms),
			UNIT_FIELD(rdmablk_grant, target_name),
		},
	}, {
		.name = "REGIONS of version 2", .type = RDMABLK_MSG_REGIONS,
		.size = MSG_REGIONS2,
		.build = msg_regions2, .parse = parse_regions2,
		.some = { UNIT_FIELD(rdmablk_regions, region) },
	}, {
		.name = "the last REGIONS of version 2", .type = RDMABLK_MSG_REGIONS,
		.size = MSG_REGIONS2,
		.build = msg_last_regions2, .parse = parse_last_regions2,
		.some = {
			{ offsetof(struct rdmablk_regions, region),
			  (MSG_REGIONS - RDMABLK_REGIONS_PER_MSG) *
			  sizeof(struct rdmablk_region) },
		},
	}, {
		.name = "LIMITS of version 2", .type = RDMABLK_MSG_LIMITS, .size = MSG_LIMITS2,
		.build = msg_limits2, .parse = parse_limits2,
		.some = {
			{ offsetof(struct rdmablk_limits, ops),
			  offsetof(struct rdmablk_limits, slot_bytes) -
			  offsetof(struct rdmablk_limits, ops) },
		},
	}, {
		.name = "REAUTH_CHALLENGE", .type = RDMABLK_MSG_REAUTH_CHALLENGE,
		.size = sizeof(struct rdmablk_reauth_challenge),
		.build = msg_reauth_challenge, .parse = parse_reauth_challenge,
		.any = {
			UNIT_FIELD(rdmablk_reauth_challenge, nonce),
			UNIT_FIELD(rdmablk_reauth_challenge, point),
		},
	},
};

static const struct unit_msg *message(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		if (!strcmp(messages[i].name, name))
			return &messages[i];
	fail_msg("no message %s", name);
	return NULL;
}

static void test_truncated_messages_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		unit_truncations(&messages[i]);
}

static void test_longer_messages_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		unit_overlengths(&messages[i]);
}

static void test_each_bit_is_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		unit_bit_flips(&messages[i]);
}

static void test_other_types_and_lengths_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		if (messages[i].type)
			unit_types_and_lengths(&messages[i]);
}

static void test_messages_may_be_unaligned(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		unit_unaligned(&messages[i]);
}

static void test_noise_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		unit_noise(&messages[i]);
}

/* The head of every type, with its own length and with all others */
static void test_type_knows_all_messages(void **state)
{
	static const size_t size[] = {
		0, sizeof(struct rdmablk_hello), sizeof(struct rdmablk_challenge),
		sizeof(struct rdmablk_proof), sizeof(struct rdmablk_grant),
		sizeof(struct rdmablk_regions_get), sizeof(struct rdmablk_regions),
		sizeof(struct rdmablk_ready), sizeof(struct rdmablk_live),
		sizeof(struct rdmablk_command), sizeof(struct rdmablk_answer),
		sizeof(struct rdmablk_event_msg), sizeof(struct rdmablk_close),
		sizeof(struct rdmablk_limits_get), sizeof(struct rdmablk_limits),
	};
	/* Frames are checked by sealed.c. A frame inside a frame is not a message. */
	static const size_t size2[] = {
		0, 360, 160, 48, 192, 24, 280, 16, 16, 64, 32, 32, 32, 16, 88, 0,
		120, 112, 48, 16,
	};
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX] = { 0 };

	(void)state;
	for (uint16_t type = 0; type < 40; type++) {
		for (size_t len = 0; len <= sizeof(msg); len++) {
			bool ok = type && type < ARRAY_SIZE(size) && len == size[type];

			*(struct rdmablk_hdr *)msg = msg_hdr(type, len);
			assert_int_equal(rdmablk_wire_type(msg, len, 1), ok ? type : -EBADMSG);
			ok = type < ARRAY_SIZE(size2) && len && len == size2[type];
			assert_int_equal(rdmablk_wire_type(msg, len, 2), ok ? type : -EBADMSG);
		}
	}
}

static void test_accept_ranges(void **state)
{
	static const struct unit_case cases[] = {
		{ "version 0", -EPROTONOSUPPORT, { UNIT_SET(rdmablk_cm_accept, version, 0) } },
		{ "version 2", -EPROTONOSUPPORT, { UNIT_SET(rdmablk_cm_accept, version, 2) } },
		{ "queue below", -EBADMSG, { UNIT_SET(rdmablk_cm_accept, queue, 4) } },
		{ "queue above", -EBADMSG, { UNIT_SET(rdmablk_cm_accept, queue, 6) } },
	};
	struct rdmablk_cm_accept2 msg, out;

	(void)state;
	unit_cases(message("accept"), cases, ARRAY_SIZE(cases));
	assert_int_equal(rdmablk_wire_parse_accept(NULL, 0, 0, 1, &out), -EBADMSG);
	/* Each version takes its own accept, and that of the control queue has no MAC. */
	msg_accept2(&msg);
	assert_int_equal(rdmablk_wire_parse_accept(&msg, sizeof(msg), MSG_QUEUE, 1, &out),
			 -EPROTONOSUPPORT);
	assert_int_equal(rdmablk_wire_parse_accept(&msg, sizeof(msg), MSG_QUEUE, 2, &out), 0);
	msg.accept.version = htole16(1);
	assert_int_equal(rdmablk_wire_parse_accept(&msg, sizeof(msg), MSG_QUEUE, 2, &out),
			 -EPROTONOSUPPORT);
	msg_accept2(&msg);
	msg.accept.queue = 0;
	assert_int_equal(rdmablk_wire_parse_accept(&msg, sizeof(msg), 0, 2, &out), -EBADMSG);
	memset(msg.mac, 0, sizeof(msg.mac));
	assert_int_equal(rdmablk_wire_parse_accept(&msg, sizeof(msg), 0, 2, &out), 0);
	assert_int_equal(rdmablk_wire_parse_reject(NULL, 0, NULL), -EBADMSG);
}

/* Only what HELLO of version 2 has offered: one group, one suite and one version */
static void test_challenge2_ranges(void **state)
{
	static const struct unit_case cases[] = {
		{ "version 1", -EPROTONOSUPPORT,
		  { UNIT_SET(rdmablk_challenge2, challenge.version, 1) } },
		{ "version 3", -EPROTONOSUPPORT,
		  { UNIT_SET(rdmablk_challenge2, challenge.version, 3) } },
		{ "no authentication", -EBADMSG,
		  { UNIT_SET(rdmablk_challenge2, challenge.auth_method, 1) } },
		{ "group 0", -EBADMSG, { UNIT_SET(rdmablk_challenge2, group, 0) } },
		{ "group 2", -EBADMSG, { UNIT_SET(rdmablk_challenge2, group, 2) } },
		{ "suite 0", -EBADMSG, { UNIT_SET(rdmablk_challenge2, suite, 0) } },
		{ "suite 2", -EBADMSG, { UNIT_SET(rdmablk_challenge2, suite, 2) } },
		{ "reserved", -EBADMSG, { UNIT_SET(rdmablk_challenge2, reserved, 1) } },
	};

	(void)state;
	unit_cases(message("CHALLENGE of version 2"), cases, ARRAY_SIZE(cases));
}

static void test_challenge_ranges(void **state)
{
	static const struct unit_case cases[] = {
		{ "version 0", -EPROTONOSUPPORT, { UNIT_SET(rdmablk_challenge, version, 0) } },
		{ "version 2", -EPROTONOSUPPORT, { UNIT_SET(rdmablk_challenge, version, 2) } },
		{ "no method", -EBADMSG, { UNIT_SET(rdmablk_challenge, auth_method, 0) } },
		{ "both methods", -EBADMSG, { UNIT_SET(rdmablk_challenge, auth_method, 3) } },
		{ "not offered", -EBADMSG, { UNIT_SET(rdmablk_challenge, auth_method, 2) } },
		{ "no features", 0, { UNIT_SET(rdmablk_challenge, features, 0) } },
		{ "commands", 0, { UNIT_SET(rdmablk_challenge, features, 1) } },
		{ "staged without commands", -EBADMSG,
		  { UNIT_SET(rdmablk_challenge, features, 2) } },
		{ "lists without staged", -EBADMSG,
		  { UNIT_SET(rdmablk_challenge, features, 5) } },
		{ "implied without staged", -EBADMSG,
		  { UNIT_SET(rdmablk_challenge, features, 9) } },
		{ "all features", 0,
		  { UNIT_SET(rdmablk_challenge, features, RDMABLK_FEATURES_V1) } },
		{ "a feature more", -EBADMSG,
		  { UNIT_SET(rdmablk_challenge, features, RDMABLK_FEATURES_V1 + 1) } },
		{ "the last feature", -EBADMSG,
		  { UNIT_SET(rdmablk_challenge, features, 1ULL << 63) } },
		{ "no session", -EBADMSG, { UNIT_SET(rdmablk_challenge, session_id, 0) } },
		{ "session 1", 0, { UNIT_SET(rdmablk_challenge, session_id, 1) } },
		{ "last session", 0, { UNIT_SET(rdmablk_challenge, session_id, UINT64_MAX) } },
	};

	(void)state;
	unit_cases(message("CHALLENGE"), cases, ARRAY_SIZE(cases));
}

/* Features and methods of later versions, with a HELLO that offers them */
static void test_challenge_features(void **state)
{
	static const struct {
		uint64_t offered, required, chosen;
		uint32_t methods, method;
		int want;
	} cases[] = {
		{ 0x7, 0x1, 0x1, 1, 1, 0 },
		{ 0x7, 0x1, 0x7, 3, 2, 0 },
		{ 0x7, 0x1, 0x6, 3, 2, -EBADMSG },
		{ 0x7, 0x1, 0xf, 3, 2, -EBADMSG },
		{ 0xf, 0x1, 0xf, 3, 2, 0 },
		{ 0xf, 0x1, 0xb, 3, 2, 0 },
		{ 0xf, 0x1, 0x9, 3, 2, -EBADMSG },
		{ 0x0, 0x0, 0x0, 1, 1, 0 },
		{ 0x0, 0x0, 0x1, 1, 1, -EBADMSG },
		{ 0x3, 0x2, 0x3, 1, 1, 0 },
		{ 0x3, 0x2, 0x1, 1, 1, -EBADMSG },
		{ 0x3, 0x0, 0x2, 1, 1, -EBADMSG },
		{ 0x7, 0x0, 0x3, 1, 1, 0 },
		{ 0x7, 0x0, 0x5, 1, 1, -EBADMSG },
		{ 0x7, 0x1, 0x1, 3, 3, -EBADMSG },
		{ 0x7, 0x1, 0x1, 2, 1, -EBADMSG },
		{ 1ULL << 63, 0, 1ULL << 63, 1, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rdmablk_hello sent = msg_sent;
		struct rdmablk_wire_challenge out;
		struct rdmablk_challenge msg;

		sent.features_offered = htole64(cases[i].offered);
		sent.features_required = htole64(cases[i].required);
		sent.auth_methods = htole32(cases[i].methods);
		msg_challenge(&msg);
		msg.features = htole64(cases[i].chosen);
		msg.auth_method = htole32(cases[i].method);
		assert_int_equal(rdmablk_wire_parse_challenge(&msg, sizeof(msg), &sent, &out),
				 cases[i].want);
	}
}

static void test_regions_ranges(void **state)
{
	static const struct unit_case first[] = {
		{ "first 1", -EBADMSG, { UNIT_SET(rdmablk_regions, first, 1) } },
		{ "first 2^32-1", -EBADMSG, { UNIT_SET(rdmablk_regions, first, UINT32_MAX) } },
		{ "count 15", -EBADMSG, { UNIT_SET(rdmablk_regions, count, 15) } },
		{ "count 17", -EBADMSG, { UNIT_SET(rdmablk_regions, count, 17) } },
		{ "count 0", -EBADMSG, { UNIT_SET(rdmablk_regions, count, 0) } },
		{ "reserved", -EBADMSG,
		  { UNIT_SET(rdmablk_regions, region[15].reserved, 1) } },
		{ "iova 0", 0, { UNIT_SET(rdmablk_regions, region[0].iova, 0) } },
		{ "last iova", 0,
		  { UNIT_SET(rdmablk_regions, region[7].iova, -MSG_REGION) } },
		{ "iova wraps", -EBADMSG,
		  { UNIT_SET(rdmablk_regions, region[7].iova, -MSG_REGION + 1) } },
		{ "iova 2^64-1", -EBADMSG,
		  { UNIT_SET(rdmablk_regions, region[15].iova, UINT64_MAX) } },
	};
	static const struct unit_case last[] = {
		{ "count 3", -EBADMSG, { UNIT_SET(rdmablk_regions, count, 3) } },
		{ "count 5", -EBADMSG, { UNIT_SET(rdmablk_regions, count, 5) } },
		{ "unused iova", -EBADMSG, { UNIT_SET(rdmablk_regions, region[4].iova, 1) } },
		{ "unused key", -EBADMSG, { UNIT_SET(rdmablk_regions, region[15].rkey, 1) } },
		{ "last iova of the short one", 0,
		  { UNIT_SET(rdmablk_regions, region[3].iova, -(MSG_REGION / 2)) } },
		{ "the short one wraps", -EBADMSG,
		  { UNIT_SET(rdmablk_regions, region[3].iova, -(MSG_REGION / 2) + 1) } },
	};

	(void)state;
	unit_cases(message("REGIONS"), first, ARRAY_SIZE(first));
	unit_cases(message("the last REGIONS"), last, ARRAY_SIZE(last));
}

/* The driver does not ask for regions behind the last. Answers with them write nothing. */
static void test_regions_behind_the_last_are_refused(void **state)
{
	struct rdmablk_regions msg;

	(void)state;
	msg_regions(&msg);
	for (uint32_t i = 0; i < RDMABLK_REGIONS_PER_MSG; i++)
		msg.region[i].iova = 0;
	for (uint32_t first = MSG_REGIONS; first < MSG_REGIONS + 20; first++) {
		msg.first = htole32(first);
		assert_int_equal(parse_regions_of(&msg_granted, &msg, sizeof(msg), first),
				 -EBADMSG);
	}
	msg = (struct rdmablk_regions) {
		.hdr	= msg_hdr(RDMABLK_MSG_REGIONS, sizeof(msg)),
		.first	= htole32(MSG_REGIONS),
	};
	assert_int_equal(parse_regions_of(&msg_granted, &msg, sizeof(msg), MSG_REGIONS), -EBADMSG);
}

static void test_regions_fill_the_table(void **state)
{
	struct rdmablk_regions msg;

	(void)state;
	memset(table, 0, sizeof(table));
	msg_regions(&msg);
	assert_int_equal(parse_regions(&msg, sizeof(msg)), 0);
	assert_memory_equal(mac, msg.mac, sizeof(mac));
	msg_last_regions(&msg);
	assert_int_equal(parse_last_regions(&msg, sizeof(msg)), 0);
	for (uint32_t i = 0; i < MSG_REGIONS; i++) {
		assert_int_equal(table[i].iova, 0x7f0000000000 + i * MSG_REGION);
		assert_int_equal(table[i].rkey, 0x1000 + i);
	}
}

static void test_small_message_ranges(void **state)
{
	static const struct unit_case answer[] = {
		{ "tag 3", 0, { UNIT_SET(rdmablk_answer, hdr.tag, 3) } },
		{ "tag 4", -EBADMSG, { UNIT_SET(rdmablk_answer, hdr.tag, 4) } },
		{ "tag 65535", -EBADMSG, { UNIT_SET(rdmablk_answer, hdr.tag, 65535) } },
		{ "status 65535", 0, { UNIT_SET(rdmablk_answer, status, 65535) } },
	};
	static const struct unit_case event[] = {
		{ "event 0", 0, { UNIT_SET(rdmablk_event_msg, event, 0) } },
		{ "event 65535", 0, { UNIT_SET(rdmablk_event_msg, event, 65535) } },
		{ "a tag", -EBADMSG, { UNIT_SET(rdmablk_event_msg, hdr.tag, 1) } },
		{ "an unknown one with any value", 0,
		  { UNIT_SET(rdmablk_event_msg, event, 3),
		    UNIT_SET(rdmablk_event_msg, value, UINT64_MAX) } },
	};
	static const struct unit_case resize[] = {
		{ "size 0", -EBADMSG, { UNIT_SET(rdmablk_event_msg, value, 0) } },
		{ "size 512", 0, { UNIT_SET(rdmablk_event_msg, value, 512) } },
		{ "size 511", -EBADMSG, { UNIT_SET(rdmablk_event_msg, value, 511) } },
		{ "size 513", -EBADMSG, { UNIT_SET(rdmablk_event_msg, value, 513) } },
		{ "largest", 0, { UNIT_SET(rdmablk_event_msg, value, RDMABLK_MAX_SIZE) } },
		{ "too large", -EBADMSG,
		  { UNIT_SET(rdmablk_event_msg, value, RDMABLK_MAX_SIZE + 512) } },
		{ "all bits", -EBADMSG, { UNIT_SET(rdmablk_event_msg, value, UINT64_MAX) } },
		{ "a reserved bit", -EBADMSG, { UNIT_SET(rdmablk_event_msg, reserved2, 1) } },
	};
	static const struct unit_case close[] = {
		{ "reason 0", -EBADMSG, { UNIT_SET(rdmablk_close, reason, 0) } },
		{ "reason 1", 0, { UNIT_SET(rdmablk_close, reason, 1) } },
		{ "reason 65535", 0, { UNIT_SET(rdmablk_close, reason, 65535) } },
	};
	static const struct unit_case reject[] = {
		{ "reason 0", -EBADMSG, { UNIT_SET(rdmablk_cm_reject, reason, 0) } },
		{ "reason 1", 0, { UNIT_SET(rdmablk_cm_reject, reason, 1) } },
		{ "reason 65535", 0, { UNIT_SET(rdmablk_cm_reject, reason, 65535) } },
	};

	(void)state;
	unit_cases(message("ANSWER"), answer, ARRAY_SIZE(answer));
	unit_cases(message("EVENT"), event, ARRAY_SIZE(event));
	unit_cases(message("RESIZE"), resize, ARRAY_SIZE(resize));
	unit_cases(message("CLOSE"), close, ARRAY_SIZE(close));
	unit_cases(message("reject"), reject, ARRAY_SIZE(reject));
}

static void test_fields_come_out_as_they_were_sent(void **state)
{
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX];
	struct rdmablk_wire_answer answer;
	struct rdmablk_wire_event event;
	struct rdmablk_wire_close close;
	struct rdmablk_wire_reject reject;

	(void)state;
	msg_answer(msg);
	assert_int_equal(rdmablk_wire_parse_answer(msg, sizeof(struct rdmablk_answer), &answer), 0);
	assert_int_equal(answer.tag, RDMABLK_TAG_LOGOUT);
	assert_int_equal(answer.generation, 0x01020304);
	assert_int_equal(answer.status, RDMABLK_R_STORE_IO);
	msg_event(msg);
	assert_int_equal(rdmablk_wire_parse_event(msg, sizeof(struct rdmablk_event_msg), &event),
			 0);
	assert_int_equal(event.event, RDMABLK_EVENT_DRAIN);
	assert_int_equal(event.value, 5000);
	msg_close(msg);
	assert_int_equal(rdmablk_wire_parse_close(msg, sizeof(struct rdmablk_close), &close), 0);
	assert_int_equal(close.reason, RDMABLK_R_SHUTDOWN);
	assert_int_equal(close.version_min, 1);
	assert_int_equal(close.version_max, 3);
	assert_int_equal(close.retry_after_ms, 1000);
	msg_reject(msg);
	assert_int_equal(rdmablk_wire_parse_reject(msg, sizeof(struct rdmablk_cm_reject), &reject),
			 0);
	assert_int_equal(reject.reason, RDMABLK_R_FENCING);
	assert_int_equal(reject.version_min, 1);
	assert_int_equal(reject.version_max, 7);
	assert_int_equal(reject.retry_after_ms, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncated_messages_are_refused),
		cmocka_unit_test(test_longer_messages_are_refused),
		cmocka_unit_test(test_each_bit_is_checked),
		cmocka_unit_test(test_other_types_and_lengths_are_refused),
		cmocka_unit_test(test_messages_may_be_unaligned),
		cmocka_unit_test(test_noise_is_refused),
		cmocka_unit_test(test_type_knows_all_messages),
		cmocka_unit_test(test_accept_ranges),
		cmocka_unit_test(test_challenge_ranges),
		cmocka_unit_test(test_challenge2_ranges),
		cmocka_unit_test(test_challenge_features),
		cmocka_unit_test(test_regions_ranges),
		cmocka_unit_test(test_regions_behind_the_last_are_refused),
		cmocka_unit_test(test_regions_fill_the_table),
		cmocka_unit_test(test_small_message_ranges),
		cmocka_unit_test(test_fields_come_out_as_they_were_sent),
	};

	msg_setup();
	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
