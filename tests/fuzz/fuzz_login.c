// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hostile initiator can say: the first byte of the input chooses a check of
 * target/login.c, the rest is the message. What HELLO asks for and gets, the other
 * end's parser must take.
 */
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "../../target/login.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void request(const void *msg, size_t len)
{
	struct login_request out;

	if (login_check_request(msg, len, &out))
		return;
	check(out.version == 1 && out.kind <= RDMABLK_KIND_WRITE);
	check(out.queue <= 2 * RDMABLK_MAX_QUEUES);
	check(!out.queue == (out.kind == RDMABLK_KIND_CONTROL));
}

static void hello(const void *msg, size_t len)
{
	static const uint8_t nonce[RDMABLK_NONCE_LEN];
	struct rdmablk_wire_challenge parsed;
	struct rdmablk_challenge challenge;
	struct rdmablk_hello sent;
	struct login_wish wish;

	if (login_check_hello(msg, len, &wish))
		return;
	check(wish.nr_queues && wish.nr_queues <= RDMABLK_MAX_QUEUES && wish.queue_depth);
	check(wish.export_name[0] && memchr(wish.export_name, 0, sizeof(wish.export_name)));
	check(memchr(wish.host_name, 0, sizeof(wish.host_name)));
	login_pack_challenge(&challenge, &wish, 1, nonce);
	memcpy(&sent, msg, sizeof(sent));
	check(!rdmablk_wire_parse_challenge(&challenge, sizeof(challenge), &sent, &parsed));
}

static void message(const void *msg, size_t len)
{
	struct login_command cmd;
	unsigned int reason;
	uint32_t first;
	uint16_t type;

	if (login_check_head(msg, len, &type))
		return;
	check(type && len <= RDMABLK_CTRL_MSG_MAX);
	switch (type) {
	case RDMABLK_MSG_HELLO:
		hello(msg, len);
		break;
	case RDMABLK_MSG_REGIONS_GET:
		if (!login_check_regions_get(msg, len, 20, &first))
			check(first < 20);
		break;
	case RDMABLK_MSG_COMMAND:
		if (!login_check_command(msg, len, &cmd))
			check(cmd.tag < RDMABLK_CTRL_TAGS);
		break;
	case RDMABLK_MSG_CLOSE:
		login_check_close(msg, len, &reason);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *msg;

	if (!size)
		return 0;
	msg = malloc(size);
	check(msg);
	memcpy(msg, data + 1, size - 1);
	if (data[0] == 0)
		request(msg, size - 1);
	else
		message(msg, size - 1);
	free(msg);
	return 0;
}
