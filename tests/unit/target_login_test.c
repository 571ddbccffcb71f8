// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's checks of messages: every truncation and every length is refused,
 * every reserved byte is looked at, and what is right is taken as it is.
 *
 * Sources: target/wire/wire.c
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../target/base/util.h"
#include "../../target/wire/wire.h"

static struct rdmablk_hdr head(uint16_t type, size_t len)
{
	return (struct rdmablk_hdr){ .type = htole16(type),
				     .length = htole16((uint16_t)len) };
}

static struct rdmablk_hello good_hello(void)
{
	struct rdmablk_hello h = {
		.hdr = head(RDMABLK_MSG_HELLO, sizeof(h)),
		.version_min = htole16(1), .version_max = htole16(1),
		.generation = htole32(7), .nr_queues = htole16(256),
		.queue_depth = htole16(128), .keep_alive_ms = htole32(5000),
		.auth_methods = htole32(RDMABLK_AUTH_NONE),
		.host_name = "host", .export_name = "disk0",
	};

	h.host_id[0] = 1;
	return h;
}

static uint16_t version = RDMABLK_VERSION_OPEN;	/* of the daemon */

/* A copy of exactly @len bytes: a sanitizer sees every byte read beyond. */
static unsigned int check_all(const void *msg, size_t len)
{
	void *copy = malloc(len ? len : 1);
	char after[RDMABLK_NAME_LEN];
	struct wire_command command;
	struct wire_hello hello;
	unsigned int reason;
	uint32_t first;
	uint16_t type;

	memcpy(copy, msg, len);
	reason = wire_check_head(copy, len, version, &type);
	if (!reason && type == RDMABLK_MSG_HELLO)
		reason = wire_check_hello(copy, len, version, &hello);
	else if (!reason && type == RDMABLK_MSG_REGIONS_GET)
		reason = wire_check_regions_get(copy, len, 10, &first);
	else if (!reason && type == RDMABLK_MSG_LIST_GET)
		reason = wire_check_list_get(copy, len, after);
	else if (!reason && type == RDMABLK_MSG_COMMAND)
		reason = wire_check_command(copy, len, &command);
	else if (!reason && type == RDMABLK_MSG_CLOSE)
		reason = wire_check_close(copy, len, &first);
	free(copy);
	return reason;
}

static const struct {
	uint16_t type;
	size_t len;
} messages[] = {
	{ RDMABLK_MSG_PROOF, sizeof(struct rdmablk_proof) },
	{ RDMABLK_MSG_REGIONS_GET, sizeof(struct rdmablk_regions_get) },
	{ RDMABLK_MSG_READY, sizeof(struct rdmablk_ready) },
	{ RDMABLK_MSG_COMMAND, sizeof(struct rdmablk_command) },
	{ RDMABLK_MSG_CLOSE, sizeof(struct rdmablk_close) },
	{ RDMABLK_MSG_LIMITS_GET, sizeof(struct rdmablk_limits_get) },
	{ RDMABLK_MSG_LIST_GET, sizeof(struct rdmablk_list_get) },
};

static void every_length_but_the_right_one_is_malformed(void **state)
{
	char buf[RDMABLK_CTRL_MSG_MAX + 8];
	struct rdmablk_hdr hdr;

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(messages); m++) {
		for (size_t len = 0; len <= sizeof(buf); len++) {
			unsigned int want = len == messages[m].len ?
					    RDMABLK_OK : RDMABLK_R_MALFORMED;

			memset(buf, 0, sizeof(buf));
			/* the head tells the truth about the bytes that came */
			hdr = head(messages[m].type, len);
			memcpy(buf, &hdr, sizeof(hdr));
			assert_int_equal(check_all(buf, len), want);
			/* and then it lies */
			hdr = head(messages[m].type, messages[m].len);
			memcpy(buf, &hdr, sizeof(hdr));
			assert_int_equal(check_all(buf, len), want);
		}
	}
}

static void every_truncated_hello_is_malformed(void **state)
{
	struct rdmablk_hello h = good_hello();

	(void)state;
	assert_int_equal(check_all(&h, sizeof(h)), RDMABLK_OK);
	for (size_t len = 0; len < sizeof(h); len++) {
		h.hdr.length = htole16((uint16_t)len);
		assert_int_equal(check_all(&h, len), RDMABLK_R_MALFORMED);
	}
}

static void hello_of_another_version_is_told_so_whatever_its_length(void **state)
{
	struct rdmablk_hello h = good_hello();

	(void)state;
	h.version_min = htole16(2);
	h.version_max = htole16(3);
	h.hdr.length = htole16(20);
	assert_int_equal(check_all(&h, 20), RDMABLK_R_VERSION);
	h.hdr.length = htole16(sizeof(h));
	assert_int_equal(check_all(&h, sizeof(h)), RDMABLK_R_VERSION);
	h.version_min = htole16(1);
	assert_int_equal(check_all(&h, sizeof(h)), RDMABLK_OK);
}

/* One thing wrong with HELLO, and what is said about it. */
static const struct {
	size_t offset;
	size_t len;
	const char *bytes;
	unsigned int reason;
} wrong_hellos[] = {
#define AT(field)	offsetof(struct rdmablk_hello, field)
	{ AT(hdr.tag), 1, "\1", RDMABLK_R_MALFORMED },
	{ AT(hdr.reserved), 1, "\1", RDMABLK_R_MALFORMED },
	{ AT(hdr.generation), 1, "\1", RDMABLK_R_MALFORMED },
	{ AT(hdr.reserved2), 1, "\1", RDMABLK_R_MALFORMED },
	{ AT(flags), 1, "\10", RDMABLK_R_MALFORMED },
	{ AT(features_required), 1, "\1", RDMABLK_R_MALFORMED },
	{ AT(features_offered), 9, "\1\0\0\0\0\0\0\0\1", RDMABLK_OK },
	{ AT(features_offered), 9, "\3\0\0\0\0\0\0\0\3", RDMABLK_OK },
	{ AT(features_offered), 9, "\17\0\0\0\0\0\0\0\17", RDMABLK_OK },
	{ AT(features_offered), 9, "\20\0\0\0\0\0\0\0\20", RDMABLK_R_FEATURE },
	/* a feature without the one it needs is refused */
	{ AT(features_offered), 9, "\2\0\0\0\0\0\0\0\2", RDMABLK_R_FEATURE },
	{ AT(features_offered), 9, "\5\0\0\0\0\0\0\0\4", RDMABLK_R_FEATURE },
	{ AT(features_offered), 9, "\11\0\0\0\0\0\0\0\10", RDMABLK_R_FEATURE },
	{ AT(generation), 4, "\0\0\0\0", RDMABLK_R_MALFORMED },
	{ AT(nr_queues), 2, "\0\0", RDMABLK_R_MALFORMED },
	{ AT(nr_queues), 2, "\1\1", RDMABLK_R_MALFORMED },
	{ AT(queue_depth), 2, "\0\0", RDMABLK_R_MALFORMED },
	{ AT(keep_alive_ms), 4, "\0\0\0\0", RDMABLK_R_MALFORMED },
	{ AT(auth_methods), 4, "\0\0\0\0", RDMABLK_R_MALFORMED },
	{ AT(auth_methods), 4, "\2\0\0\0", RDMABLK_R_AUTH_REQUIRED },
	{ AT(host_name), 1, "\n", RDMABLK_R_MALFORMED },
	{ AT(host_name), 1, "\xc3", RDMABLK_R_MALFORMED },
	{ AT(host_name), 1, "\0", RDMABLK_R_MALFORMED },
	{ AT(export_name), 6, "\0\0\0\0\0\0", RDMABLK_R_MALFORMED },
	{ AT(export_name[40]), 1, "x", RDMABLK_R_MALFORMED },
	{ AT(export_name[63]), 1, "x", RDMABLK_R_MALFORMED },
	{ AT(uuid), 1, "\1", RDMABLK_R_MALFORMED },
	{ AT(uuid[15]), 1, "\1", RDMABLK_R_MALFORMED },
#undef AT
};

static void hello_fields_are_checked(void **state)
{
	struct rdmablk_hello h;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong_hellos); i++) {
		h = good_hello();
		memcpy((char *)&h + wrong_hellos[i].offset, wrong_hellos[i].bytes,
		       wrong_hellos[i].len);
		assert_int_equal(check_all(&h, sizeof(h)), wrong_hellos[i].reason);
	}
	h = good_hello();
	memset(h.export_name, 'a', sizeof(h.export_name));
	assert_int_equal(check_all(&h, sizeof(h)), RDMABLK_R_MALFORMED);
}

static void features_are_what_both_can_do(void **state)
{
	static const uint64_t offered[] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 15, 16, ~0ULL
	};
	static const uint64_t chosen[] = {
		0, 1, 0, 3, 0, 1, 0, 7, 0, 1, 11, 0, 15, 0, 15
	};
	struct rdmablk_hello h = good_hello();
	struct wire_hello hello;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offered); i++) {
		h.features_offered = htole64(offered[i]);
		assert_int_equal(wire_check_hello(&h, sizeof(h), RDMABLK_VERSION_OPEN, &hello),
				 RDMABLK_OK);
		assert_int_equal(hello.features, chosen[i]);
	}
}

static void command_fields_are_checked(void **state)
{
	struct rdmablk_command good = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(good)) };

	(void)state;
	for (size_t i = sizeof(struct rdmablk_hdr); i < sizeof(good); i++) {
		struct rdmablk_command cmd = good;

		((uint8_t *)&cmd)[i] = 0x40;
		/* an unknown operation is answered, everything else refused */
		assert_int_equal(check_all(&cmd, sizeof(cmd)),
				 i < 18 ? RDMABLK_OK : RDMABLK_R_MALFORMED);
	}
	good.hdr.tag = htole16(RDMABLK_TAG_LOGOUT);
	assert_int_equal(check_all(&good, sizeof(good)), RDMABLK_R_MALFORMED);
	good.flags = htole16(RDMABLK_LOGOUT_CLEAN);
	good.hdr.tag = htole16(RDMABLK_TAG_KEEPALIVE);
	assert_int_equal(check_all(&good, sizeof(good)), RDMABLK_R_MALFORMED);
	good.hdr.tag = htole16(RDMABLK_TAG_LOGOUT);
	good.op = htole16(RDMABLK_OP_LOGOUT);
	assert_int_equal(check_all(&good, sizeof(good)), RDMABLK_OK);
	good.flags = htole16(RDMABLK_LOGOUT_CLEAN << 1);
	assert_int_equal(check_all(&good, sizeof(good)), RDMABLK_R_MALFORMED);
	good.flags = 0;
	assert_int_equal(check_all(&good, sizeof(good)), RDMABLK_OK);
	good.hdr.tag = htole16(RDMABLK_CTRL_TAGS);
	assert_int_equal(check_all(&good, sizeof(good)), RDMABLK_R_MALFORMED);
}

static unsigned int request(const struct rdmablk_cm_request *req, size_t len)
{
	struct wire_request out;
	void *copy = malloc(len ? len : 1);
	unsigned int reason;

	memcpy(copy, req, len);
	reason = wire_check_request(copy, len, version, &out);
	free(copy);
	return reason;
}

static void requests_are_checked(void **state)
{
	const struct rdmablk_cm_request good = {
		.magic = htole32(RDMABLK_MAGIC),
		.version_min = htole16(1), .version_max = htole16(1),
	};
	struct rdmablk_cm_request req = good;

	(void)state;
	assert_int_equal(request(&req, sizeof(req)), RDMABLK_OK);
	for (size_t len = 0; len < sizeof(req); len++)
		assert_int_equal(request(&req, len), RDMABLK_R_MALFORMED);
	for (size_t i = 8; i < sizeof(req); i++) {
		req = good;
		((uint8_t *)&req)[i] = 0x80;
		assert_int_equal(request(&req, sizeof(req)), RDMABLK_R_MALFORMED);
	}
	for (unsigned int queue = 0; queue < 600; queue++) {
		for (unsigned int kind = 1; kind <= 2; kind++) {
			unsigned int fits = queue && queue <= 512 &&
					    (queue & 1) == (kind == 1);

			req = good;
			req.kind = (uint8_t)kind;
			req.queue = htole16((uint16_t)queue);
			assert_int_equal(request(&req, sizeof(req)),
					 fits ? RDMABLK_OK : RDMABLK_R_MALFORMED);
		}
	}
}

static void regions_beyond_the_last_are_refused(void **state)
{
	struct rdmablk_regions_get get = {
		.hdr = head(RDMABLK_MSG_REGIONS_GET, sizeof(get)),
	};

	(void)state;
	for (uint32_t first = 0; first < 20; first++) {
		get.first = htole32(first);
		assert_int_equal(check_all(&get, sizeof(get)),
				 first < 10 ? RDMABLK_OK : RDMABLK_R_MALFORMED);
	}
	get.first = htole32(UINT32_MAX);
	assert_int_equal(check_all(&get, sizeof(get)), RDMABLK_R_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_but_the_right_one_is_malformed),
		cmocka_unit_test(every_truncated_hello_is_malformed),
		cmocka_unit_test(hello_of_another_version_is_told_so_whatever_its_length),
		cmocka_unit_test(hello_fields_are_checked),
		cmocka_unit_test(features_are_what_both_can_do),
		cmocka_unit_test(command_fields_are_checked),
		cmocka_unit_test(requests_are_checked),
		cmocka_unit_test(regions_beyond_the_last_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
