// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/wire.c packs messages byte for byte as the protocol says, and that each
 * reason has the errno and the text that the interfaces promise.
 */
#include <endian.h>
#include <linux/kernel.h>

#include "messages.h"
#include "unit.h"

static void hex_equal(const void *msg, size_t len, const char *want)
{
	char text[2 * RDMABLK_CTRL_MSG_MAX + 1] = "";

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)msg)[i]);
	assert_string_equal(text, want);
}

static void test_cm_request(void **state)
{
	struct rdmablk_cm_request req;

	(void)state;
	memset(&req, 0xff, sizeof(req));
	rdmablk_wire_cm_request(&req, RDMABLK_KIND_WRITE, 0x0102, 0x03040506,
				0x0708090a0b0c0d0e, 1, 2);
	hex_equal(&req, sizeof(req),
		  "72626c6b" "0100" "0200" "02" "00" "0201" "06050403" "0e0d0c0b0a090807"
		  "0000000000000000000000000000000000000000000000000000000000000000");
}

static void test_small_messages(void **state)
{
	struct rdmablk_regions_get get;
	struct rdmablk_command cmd;
	struct rdmablk_ready ready;
	struct rdmablk_close close;
	struct rdmablk_proof proof;
	uint8_t mac[RDMABLK_MAC_LEN];

	(void)state;
	memset(&get, 0xff, sizeof(get));
	rdmablk_wire_regions_get(&get, 0x01020304);
	hex_equal(&get, sizeof(get), "0500180000000000" "0000000000000000" "0403020100000000");
	memset(&ready, 0xff, sizeof(ready));
	rdmablk_wire_ready(&ready);
	hex_equal(&ready, sizeof(ready), "0700100000000000" "0000000000000000");
	memset(&close, 0xff, sizeof(close));
	rdmablk_wire_close(&close, RDMABLK_R_LOGOUT, 1);
	hex_equal(&close, sizeof(close),
		  "0c00200000000000" "0000000000000000" "4000010001000000" "0000000000000000");
	rdmablk_wire_close(&close, RDMABLK_R_LOGOUT, 2);
	hex_equal(&close, sizeof(close),
		  "0c00200000000000" "0000000000000000" "4000020002000000" "0000000000000000");
	memset(&cmd, 0xff, sizeof(cmd));
	rdmablk_wire_command(&cmd, RDMABLK_OP_LOGOUT, 0xa1b2, RDMABLK_TAG_LOGOUT, 0x01020304,
			     0x1122334455667788, 0x99aabbccddeeff00);
	hex_equal(&cmd, sizeof(cmd),
		  "0900400001000000" "0403020100000000" "0100b2a100000000" "8877665544332211"
		  "00ffeeddccbbaa99" "0000000000000000" "0000000000000000" "0000000000000000");
	assert_int_equal(rdmablk_wire_type(&cmd, sizeof(cmd), 1), RDMABLK_MSG_COMMAND);
	assert_int_equal(rdmablk_wire_type(&cmd, sizeof(cmd), 2), RDMABLK_MSG_COMMAND);
	memset(&proof, 0xff, sizeof(proof));
	memset(mac, 0xab, sizeof(mac));
	rdmablk_wire_proof(&proof, mac);
	hex_equal(&proof, sizeof(proof),
		  "0300300000000000" "0000000000000000"
		  "abababababababababababababababababababababababababababababababab");
}

static void test_hello(void **state)
{
	struct rdmablk_wire_hello h = {
		.flags = RDMABLK_HELLO_RESUME, .features_offered = 0x0102030405060708,
		.generation = 7, .nr_queues = 3,
		.queue_depth = 128, .keep_alive_ms = 5000,
		.host_name = "a ~host\tname\xc3\xa9", .export_name = "disk0",
	};
	struct rdmablk_hello msg;

	(void)state;
	memset(h.host_id, 1, sizeof(h.host_id));
	memset(h.boot_nonce, 2, sizeof(h.boot_nonce));
	memset(h.instance_id, 3, sizeof(h.instance_id));
	memset(h.nonce, 4, sizeof(h.nonce));
	memset(h.uuid, 5, sizeof(h.uuid));
	memset(&msg, 0xff, sizeof(msg));
	rdmablk_wire_hello(&msg, &h);
	assert_int_equal(rdmablk_wire_type(&msg, sizeof(msg), 1), RDMABLK_MSG_HELLO);
	assert_int_equal(le16toh(msg.version_min), RDMABLK_VERSION_OPEN);
	assert_int_equal(le16toh(msg.version_max), RDMABLK_VERSION_OPEN);
	assert_int_equal(le32toh(msg.flags), 4);	/* RESUME */
	assert_int_equal(le64toh(msg.features_offered), 0x0102030405060708);
	assert_int_equal(msg.features_required, 0);
	assert_memory_equal(msg.host_id, h.host_id, sizeof(h.host_id));
	assert_memory_equal(msg.boot_nonce, h.boot_nonce, sizeof(h.boot_nonce));
	assert_memory_equal(msg.instance_id, h.instance_id, sizeof(h.instance_id));
	assert_memory_equal(msg.nonce, h.nonce, sizeof(h.nonce));
	assert_int_equal(le32toh(msg.generation), 7);
	assert_int_equal(le16toh(msg.nr_queues), 3);
	assert_int_equal(le16toh(msg.queue_depth), 128);
	assert_int_equal(le32toh(msg.keep_alive_ms), 5000);
	assert_int_equal(le32toh(msg.auth_methods), RDMABLK_AUTH_NONE);
	assert_string_equal(msg.host_name, "a ~host?name??");
	assert_string_equal(msg.export_name, "disk0");
	assert_memory_equal(msg.uuid, h.uuid, sizeof(h.uuid));
}

/* HELLO of version 2 is that of version 1 with other versions, another method, and a tail. */
static void test_hello2(void **state)
{
	struct rdmablk_wire_hello h = {
		.flags = RDMABLK_HELLO_STEAL, .generation = 7, .nr_queues = 3,
		.host_name = "host", .export_name = "disk0",
	};
	uint8_t id[RDMABLK_KEY_ID_LEN], point[RDMABLK_POINT_LEN];
	struct rdmablk_hello2 msg;
	struct rdmablk_hello one;

	(void)state;
	memset(id, 0xa1, sizeof(id));
	memset(point, 0xb2, sizeof(point));
	memset(&msg, 0xff, sizeof(msg));
	rdmablk_wire_hello2(&msg, &h, id, point);
	assert_int_equal(rdmablk_wire_type(&msg, sizeof(msg), 2), RDMABLK_MSG_HELLO);
	assert_int_equal(rdmablk_wire_type(&msg, sizeof(msg), 1), -EBADMSG);
	hex_equal((uint8_t *)&msg + sizeof(one), sizeof(msg) - sizeof(one),
		  "a1a1a1a1a1a1a1a1" "0100" "0100" "00000000"
		  "b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2"
		  "b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2");
	rdmablk_wire_hello(&one, &h);
	one.hdr.length = htole16(360);
	one.version_min = htole16(2);
	one.version_max = htole16(2);
	one.auth_methods = htole32(RDMABLK_AUTH_PSK);
	assert_memory_equal(&msg.hello, &one, sizeof(one));
}

static void test_reauth(void **state)
{
	struct rdmablk_reauth_proof proof;
	struct rdmablk_reauth msg;
	uint8_t id[RDMABLK_KEY_ID_LEN], nonce[RDMABLK_NONCE_LEN], point[RDMABLK_POINT_LEN];

	(void)state;
	memset(id, 0xa1, sizeof(id));
	memset(nonce, 0xc3, sizeof(nonce));
	memset(point, 0xb2, sizeof(point));
	memset(&msg, 0xff, sizeof(msg));
	rdmablk_wire_reauth(&msg, id, nonce, point);
	hex_equal(&msg, sizeof(msg),
		  "1000780000000000" "0000000000000000" "a1a1a1a1a1a1a1a1"
		  "c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3"
		  "b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2"
		  "b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2");
	memset(&proof, 0xff, sizeof(proof));
	rdmablk_wire_reauth_proof(&proof, nonce);
	hex_equal(&proof, sizeof(proof),
		  "1200300000000000" "0000000000000000"
		  "c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3");
}

/* Names of all lengths, even without a NUL, with old bytes behind the NUL */
static void test_names_are_padded(void **state)
{
	(void)state;
	for (size_t len = 0; len <= RDMABLK_NAME_LEN; len++) {
		size_t want = len < RDMABLK_NAME_LEN ? len : RDMABLK_NAME_LEN - 1;
		struct rdmablk_wire_hello h = { 0 };
		struct rdmablk_hello msg;

		memset(h.host_name, 'z', sizeof(h.host_name));
		memset(h.host_name, 'x', len);
		if (len < RDMABLK_NAME_LEN)
			h.host_name[len] = '\0';
		memset(&msg, 0xff, sizeof(msg));
		rdmablk_wire_hello(&msg, &h);
		for (size_t i = 0; i < RDMABLK_NAME_LEN; i++)
			assert_int_equal(msg.host_name[i], i < want ? 'x' : 0);
	}
}

static void test_reasons_have_their_errno(void **state)
{
	static const struct {
		unsigned int first, last;
		int want;
	} list[] = {
		{ RDMABLK_OK, RDMABLK_OK, 0 },
		{ RDMABLK_R_MAGIC, RDMABLK_R_MAGIC, -EPROTO },
		{ RDMABLK_R_VERSION, RDMABLK_R_VERSION, -EPROTONOSUPPORT },
		{ RDMABLK_R_MALFORMED, RDMABLK_R_FEATURE, -EPROTO },
		{ RDMABLK_R_NO_EXPORT, RDMABLK_R_NO_EXPORT, -ENOENT },
		{ RDMABLK_R_READ_ONLY, RDMABLK_R_READ_ONLY, -EROFS },
		{ RDMABLK_R_BUSY, RDMABLK_R_FENCING, -EBUSY },
		{ RDMABLK_R_LIMIT_LOGINS, RDMABLK_R_LIMIT_MEMORY, -ENOSPC },
		{ RDMABLK_R_NO_MEMORY, RDMABLK_R_NO_MEMORY, -ENOMEM },
		{ RDMABLK_R_DEVICE_FULL, RDMABLK_R_DEVICE_FULL, -ENOSPC },
		{ RDMABLK_R_AUTH_REQUIRED, RDMABLK_R_AUTH_FAILED, -EACCES },
		{ RDMABLK_R_JOIN_SESSION, RDMABLK_R_JOIN_MISSING, -EPROTO },
		{ RDMABLK_R_AUTH_KEY, RDMABLK_R_AUTH_KEY, -EKEYREJECTED },
		{ RDMABLK_R_LOGOUT, RDMABLK_R_LOGOUT, -ECONNRESET },
		{ RDMABLK_R_SHUTDOWN, RDMABLK_R_SHUTDOWN, -ECONNREFUSED },
		{ RDMABLK_R_EXPORT_GONE, RDMABLK_R_EXPORT_GONE, -ENOENT },
		{ RDMABLK_R_STOLEN, RDMABLK_R_ACCESS, -ECONNRESET },
		{ RDMABLK_R_LOGIN_TIMEOUT, RDMABLK_R_LOGIN_TIMEOUT, -ETIMEDOUT },
		{ RDMABLK_R_CONNECTION, RDMABLK_R_CONNECTION, -ECONNRESET },
		{ RDMABLK_R_DEVICE_GONE, RDMABLK_R_DEVICE_GONE, -ENODEV },
		{ RDMABLK_R_DATA_LOST, RDMABLK_R_SHRUNK, -EIO },
		{ RDMABLK_R_IO_TIMEOUT, RDMABLK_R_IO_TIMEOUT, -ETIMEDOUT },
		{ RDMABLK_R_KICKED, RDMABLK_R_KICKED, -ECONNRESET },
		{ RDMABLK_R_UNSUPPORTED, RDMABLK_R_UNSUPPORTED, -EOPNOTSUPP },
		{ RDMABLK_R_RANGE, RDMABLK_R_STORE_IO, -EIO },
		{ RDMABLK_R_STORE_SPACE, RDMABLK_R_STORE_SPACE, -ENOSPC },
		{ RDMABLK_R_STORE_READ_ONLY, RDMABLK_R_STORE_READ_ONLY, -EROFS },
		{ RDMABLK_R_STORE_FAILED, RDMABLK_R_STORE_FAILED, -EIO },
	};

	(void)state;
	for (unsigned int reason = 0; reason <= 65536; reason++) {
		int want = -EIO;
		bool known = reason == RDMABLK_R_INTERNAL;

		for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
			if (reason >= list[i].first && reason <= list[i].last) {
				want = list[i].want;
				known = true;
			}
		}
		if (rdmablk_wire_errno(reason) != want)
			fail_msg("reason %u: %d", reason, rdmablk_wire_errno(reason));
		if (known != !!strcmp(rdmablk_reason_text(reason), "unknown reason"))
			fail_msg("reason %u: %s", reason, rdmablk_reason_text(reason));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cm_request),
		cmocka_unit_test(test_small_messages),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_hello2),
		cmocka_unit_test(test_reauth),
		cmocka_unit_test(test_names_are_padded),
		cmocka_unit_test(test_reasons_have_their_errno),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
