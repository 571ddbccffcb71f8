// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that both ends agree: what kernel/wire.c packs, target/login.c takes, with
 * the same values, and the reverse; a whole login, message by message.
 */
#include <linux/kernel.h>

#include "../../target/login.h"
#include "messages.h"
#include "unit.h"

static const uint8_t nonce[RDMABLK_NONCE_LEN] = { 9, 8, 7 };

static const struct rdmablk_wire_hello hello = {
	.flags = RDMABLK_HELLO_READ_ONLY, .host_id = { 1 }, .boot_nonce = { 2 },
	.instance_id = { 3 }, .nonce = { 4 }, .generation = 0xfffffffe, .nr_queues = 256,
	.queue_depth = 1024, .keep_alive_ms = 600000, .host_name = "host \xff",
	.export_name = "disk0",
};

/* The head as the daemon looks at it before anything else. */
static void taken(const void *msg, size_t len, uint16_t want)
{
	uint16_t type;

	assert_int_equal(login_check_head(msg, len, &type), RDMABLK_OK);
	assert_int_equal(type, want);
}

static void login_wish(struct rdmablk_hello *sent, struct login_wish *wish)
{
	rdmablk_wire_hello(sent, &hello);
	taken(sent, sizeof(*sent), RDMABLK_MSG_HELLO);
	assert_int_equal(login_check_hello(sent, sizeof(*sent), wish), RDMABLK_OK);
}

static void test_connection_request(void **state)
{
	struct rdmablk_cm_request req;
	struct login_request out;

	(void)state;
	rdmablk_wire_cm_request(&req, RDMABLK_KIND_CONTROL, 0, 0, 0, RDMABLK_VERSION_MIN,
				RDMABLK_VERSION_MAX);
	assert_int_equal(login_check_request(&req, sizeof(req), &out), RDMABLK_OK);
	assert_int_equal(out.version, RDMABLK_VERSION_MAX);
	assert_int_equal(out.kind, RDMABLK_KIND_CONTROL);
	for (uint16_t queue = 1; queue <= 2 * RDMABLK_MAX_QUEUES; queue++) {
		uint8_t kind = queue % 2 ? RDMABLK_KIND_READ : RDMABLK_KIND_WRITE;

		rdmablk_wire_cm_request(&req, kind, queue, 7, MSG_SESSION, 1, 1);
		assert_int_equal(login_check_request(&req, sizeof(req), &out), RDMABLK_OK);
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
	uint16_t version;

	(void)state;
	for (uint16_t queue = 0; queue <= 2 * RDMABLK_MAX_QUEUES; queue++) {
		login_pack_accept(&accept, 1, queue);
		assert_int_equal(rdmablk_wire_parse_accept(&accept, sizeof(accept), queue,
							   &version), 0);
		assert_int_equal(version, 1);
	}
	for (unsigned int reason = 1; reason <= RDMABLK_R_INTERNAL; reason++) {
		login_pack_reject(&reject, reason);
		assert_int_equal(rdmablk_wire_parse_reject(&reject, sizeof(reject), &out), 0);
		assert_int_equal(out.reason, reason);
		assert_int_equal(out.version_max, RDMABLK_VERSION_MAX);
		assert_int_equal(out.retry_after_ms, login_retry_after(reason));
	}
}

static void test_hello(void **state)
{
	struct rdmablk_hello sent;
	struct login_wish wish;

	(void)state;
	login_wish(&sent, &wish);
	assert_int_equal(wish.version, 1);
	assert_int_equal(wish.flags, RDMABLK_HELLO_READ_ONLY);
	assert_memory_equal(wish.host_id, hello.host_id, RDMABLK_ID_LEN);
	assert_memory_equal(wish.boot_nonce, hello.boot_nonce, RDMABLK_ID_LEN);
	assert_memory_equal(wish.instance_id, hello.instance_id, RDMABLK_ID_LEN);
	assert_int_equal(wish.generation, 0xfffffffe);
	assert_int_equal(wish.nr_queues, 256);
	assert_int_equal(wish.queue_depth, 1024);
	assert_int_equal(wish.keep_alive_ms, 600000);
	assert_string_equal(wish.host_name, "host ?");
	assert_string_equal(wish.export_name, "disk0");
}

/* Each wish arrives as it was sent, RESUME among them; other bits are no wishes. */
static void test_hello_flags(void **state)
{
	struct rdmablk_wire_hello h = hello;
	struct rdmablk_hello sent;
	struct login_wish wish;

	(void)state;
	assert_int_equal(RDMABLK_HELLO_FLAGS, RDMABLK_HELLO_READ_ONLY |
			 RDMABLK_HELLO_STEAL | RDMABLK_HELLO_RESUME);
	for (int bit = 0; bit < 32; bit++) {
		h.flags = 1U << bit;
		rdmablk_wire_hello(&sent, &h);
		assert_int_equal(login_check_hello(&sent, sizeof(sent), &wish),
				 h.flags & RDMABLK_HELLO_FLAGS ? RDMABLK_OK :
				 RDMABLK_R_MALFORMED);
		if (h.flags & RDMABLK_HELLO_FLAGS)
			assert_int_equal(wish.flags, h.flags);
	}
	h.flags = RDMABLK_HELLO_FLAGS;
	memset(h.uuid, 5, sizeof(h.uuid));
	rdmablk_wire_hello(&sent, &h);
	assert_int_equal(login_check_hello(&sent, sizeof(sent), &wish), RDMABLK_OK);
	assert_int_equal(wish.flags, RDMABLK_HELLO_FLAGS);
	assert_memory_equal(wish.uuid, h.uuid, sizeof(h.uuid));
}

static void test_challenge(void **state)
{
	struct rdmablk_wire_challenge out;
	struct rdmablk_challenge msg;
	struct rdmablk_hello sent;
	struct login_wish wish;

	(void)state;
	login_wish(&sent, &wish);
	login_pack_challenge(&msg, &wish, MSG_SESSION, nonce);
	assert_int_equal(rdmablk_wire_parse_challenge(&msg, sizeof(msg), &sent, &out), 0);
	assert_int_equal(out.version, 1);
	assert_int_equal(out.session_id, MSG_SESSION);
	assert_int_equal(out.auth_method, RDMABLK_AUTH_NONE);
	assert_memory_equal(out.nonce, nonce, sizeof(nonce));
}

static void test_grant_and_regions(void **state)
{
	static const uint8_t uuid[RDMABLK_ID_LEN] = { 5 }, epoch[RDMABLK_ID_LEN] = { 6 };
	static const struct login_grant in = {
		.session_id = MSG_SESSION, .uuid = uuid, .epoch = epoch, .size = MSG_SIZE,
		.region_bytes = MSG_REGION, .nr_regions = MSG_REGIONS,
		.flags = RDMABLK_GRANT_READ_ONLY, .logical_block = 512,
		.physical_block = 4096, .nr_queues = 2, .queue_depth = 3, .read_depth = 4,
		.keep_alive_ms = 5000, .session_tmo_ms = 15000, .target_name = "target",
	};
	struct rdmablk_wire_region table[MSG_REGIONS] = { 0 };
	struct rdmablk_wire_grant grant;
	struct rdmablk_regions_get get;
	struct rdmablk_regions regions;
	struct rdmablk_hello sent;
	struct rdmablk_grant msg;
	struct login_wish wish;
	uint8_t mac[RDMABLK_MAC_LEN];

	(void)state;
	login_wish(&sent, &wish);
	login_pack_grant(&msg, &in);
	assert_int_equal(rdmablk_wire_parse_grant(&msg, sizeof(msg), &sent, &msg_challenged,
						  &grant), 0);
	assert_int_equal(grant.size, MSG_SIZE);
	assert_int_equal(grant.flags, RDMABLK_GRANT_READ_ONLY);
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
		assert_int_equal(login_check_regions_get(&get, sizeof(get), MSG_REGIONS, &asked),
				 RDMABLK_OK);
		assert_int_equal(asked, first);
		login_pack_regions(&regions, first, count);
		for (uint32_t i = 0; i < count; i++)
			login_pack_region(&regions.region[i], (first + i) * MSG_REGION, first + i);
		assert_int_equal(rdmablk_wire_parse_regions(&regions, sizeof(regions), &grant,
							    first, table, mac), 0);
	}
	for (uint32_t i = 0; i < MSG_REGIONS; i++)
		assert_true(table[i].iova == i * MSG_REGION && table[i].rkey == i);
	rdmablk_wire_regions_get(&get, MSG_REGIONS);
	assert_int_equal(login_check_regions_get(&get, sizeof(get), MSG_REGIONS,
						 &(uint32_t){ 0 }), RDMABLK_R_MALFORMED);
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
	login_pack_live(&live);
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
		struct login_command cmd;

		rdmablk_wire_command(&msg, list[i].op, list[i].tag, 77, 0, 0);
		taken(&msg, sizeof(msg), RDMABLK_MSG_COMMAND);
		assert_int_equal(login_check_command(&msg, sizeof(msg), &cmd), RDMABLK_OK);
		assert_int_equal(cmd.op, list[i].op);
		login_pack_answer(&answer, &cmd, RDMABLK_R_UNSUPPORTED);
		assert_int_equal(rdmablk_wire_parse_answer(&answer, sizeof(answer), &out), 0);
		assert_int_equal(out.tag, list[i].tag);
		assert_int_equal(out.generation, 77);
		assert_int_equal(out.status, RDMABLK_R_UNSUPPORTED);
	}
}

static void test_events_and_ends(void **state)
{
	struct rdmablk_wire_event event;
	struct rdmablk_wire_close out;
	struct rdmablk_event_msg msg;
	struct rdmablk_close close;
	unsigned int reason;

	(void)state;
	login_pack_event(&msg, RDMABLK_EVENT_DRAIN, 1500);
	assert_int_equal(rdmablk_wire_parse_event(&msg, sizeof(msg), &event), 0);
	assert_int_equal(event.event, RDMABLK_EVENT_DRAIN);
	assert_int_equal(event.value, 1500);
	for (uint16_t r = 1; r <= RDMABLK_R_INTERNAL; r++) {
		login_pack_close(&close, r);
		assert_int_equal(rdmablk_wire_parse_close(&close, sizeof(close), &out), 0);
		assert_int_equal(out.reason, r);
		assert_int_equal(out.retry_after_ms, login_retry_after(r));
		rdmablk_wire_close(&close, r);
		taken(&close, sizeof(close), RDMABLK_MSG_CLOSE);
		assert_int_equal(login_check_close(&close, sizeof(close), &reason), RDMABLK_OK);
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
		cmocka_unit_test(test_challenge),
		cmocka_unit_test(test_grant_and_regions),
		cmocka_unit_test(test_ready_and_live),
		cmocka_unit_test(test_commands_and_answers),
		cmocka_unit_test(test_events_and_ends),
	};

	msg_setup();
	return cmocka_run_group_tests_name("cross", tests, NULL, NULL);
}
