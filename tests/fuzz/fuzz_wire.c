// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of a hostile target. The first byte of the input chooses a parser of
 * kernel/wire.c or wire_data.c; its highest bit means version 2; the rest is the message.
 * The results of an accepted message must be usable.
 */
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static uint16_t version;	/* of the message */

/* What the initiator was granted in that version */
static struct rdmablk_wire_grant granted(const struct rdmablk_wire_grant *g)
{
	struct rdmablk_wire_grant copy = *g;

	copy.version = version;
	return copy;
}

static void grant(const void *buf, size_t len)
{
	struct rdmablk_wire_challenge ch = msg_challenged;
	struct rdmablk_wire_grant g;

	ch.version = version;
	if (rdmablk_wire_parse_grant(buf, len, &msg_sent, &ch, &g))
		return;
	check(g.logical_block == 512 || g.logical_block == 4096);
	check(g.physical_block && g.physical_block % g.logical_block == 0);
	check(g.size && g.size % g.logical_block == 0);
	if (g.flags & RDMABLK_GRANT_STAGED) {
		check(!g.region_bytes && !g.nr_regions);
	} else {
		check(g.region_bytes >= RDMABLK_MIN_REGION);
		check(g.nr_regions && g.nr_regions <= RDMABLK_MAX_REGIONS);
		check((g.size - 1) / g.region_bytes == g.nr_regions - 1);
	}
	check(g.nr_queues && g.nr_queues <= MSG_QUEUES);
	check(g.queue_depth && g.queue_depth <= MSG_DEPTH && g.read_depth);
	check(g.session_tmo_ms > g.keep_alive_ms);
	check(memchr(g.target_name, 0, sizeof(g.target_name)));
}

static void regions(const void *buf, size_t len, uint32_t first)
{
	struct rdmablk_wire_region *table = calloc(MSG_REGIONS, sizeof(*table));
	const struct rdmablk_wire_grant g = granted(&msg_granted);
	uint8_t mac[RDMABLK_MAC_LEN];

	check(table);
	if (!rdmablk_wire_parse_regions(buf, len, &g, first, table, mac)) {
		uint32_t end = min_t(uint32_t, first + RDMABLK_REGIONS_PER_MSG, MSG_REGIONS);

		for (uint32_t i = first; i < end; i++)
			check(table[i].iova + (MSG_REGION / 2 - 1) >= table[i].iova);
	}
	free(table);
}

static void limits(const void *buf, size_t len, const struct rdmablk_wire_grant *g)
{
	unsigned __int128 slots;
	const struct rdmablk_wire_grant copy = granted(g);
	struct rdmablk_wire_limits l;

	if (rdmablk_wire_parse_limits(buf, len, &copy, &l))
		return;
	slots = (unsigned __int128)l.slot_bytes * l.cmd_depth * g->nr_queues;
	check(l.cmd_depth >= 2 && l.cmd_depth <= RDMABLK_MAX_CMD_DEPTH);
	check(l.trailer_bytes <= RDMABLK_MAX_TRAILER);
	check(l.max_ranges * sizeof(struct rdmablk_range) <= RDMABLK_MAX_TRAILER);
	check(!(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_DIRTY)) == !l.granule);
	check(!(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_DISCARD)) == !l.max_discard);
	check(!(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_WRITE_ZEROES)) == !l.max_zeroes);
	check(!(l.ops & RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE)) == !l.max_erase);
	check(!(l.max_discard % g->logical_block) && !(l.max_zeroes % g->logical_block));
	check(!(l.max_erase % g->logical_block) && !(l.granule % g->logical_block));
	check(!l.slot_bytes == !(g->flags & RDMABLK_GRANT_STAGED));
	check(l.slot_iova + slots <= (unsigned __int128)1 << 64);
}

/* The tag is the index of the command. */
static void imm(const void *buf, size_t len)
{
	struct rdmablk_wire_imm out;
	uint32_t value;

	if (len != sizeof(value))
		return;
	memcpy(&value, buf, len);
	if (!rdmablk_wire_parse_imm(value, MSG_CMDS, &out))
		check(out.tag < MSG_CMDS);
}

/* Not more regions than there are. */
static void answers(const void *buf, size_t len)
{
	struct rdmablk_answers out;
	int nr = rdmablk_wire_parse_answers(buf, len, &out);

	check(nr < 0 || (nr && nr <= RDMABLK_MAX_ANSWERS &&
			 (size_t)nr * sizeof(out.imm[0]) == len));
}

static void event(const void *buf, size_t len)
{
	struct rdmablk_wire_event out;

	if (!rdmablk_wire_parse_event(buf, len, &out) && out.event == RDMABLK_EVENT_RESIZE)
		check(out.value && out.value <= RDMABLK_MAX_SIZE && !(out.value % 512));
}

/* HELLO of version 2 offers one choice of each kind, so CHALLENGE can choose nothing else. */
static void challenge2(const void *buf, size_t len)
{
	struct rdmablk_wire_challenge out;
	uint8_t point[RDMABLK_POINT_LEN];

	if (!rdmablk_wire_parse_challenge2(buf, len, &msg_sent2, &out, point))
		check(out.version == 2 && out.session_id && out.auth_method == RDMABLK_AUTH_PSK);
	rdmablk_wire_parse_reauth_challenge(buf, len, point);
}

static void small(unsigned int which, const void *buf, size_t len)
{
	struct rdmablk_wire_challenge challenge;
	struct rdmablk_wire_answer answer;
	struct rdmablk_wire_reject reject;
	struct rdmablk_wire_close close;
	struct rdmablk_cm_accept2 accept;

	switch (which) {
	case 0:
		if (!rdmablk_wire_parse_accept(buf, len, MSG_QUEUE, version, &accept))
			check(le16_to_cpu(accept.accept.version) == version);
		break;
	case 1:
		if (!rdmablk_wire_parse_reject(buf, len, &reject))
			check(rdmablk_wire_errno(reject.reason) < 0);
		break;
	case 2:
		challenge2(buf, len);
		if (!rdmablk_wire_parse_challenge(buf, len, &msg_sent, &challenge))
			check(challenge.session_id && challenge.auth_method == 1);
		break;
	case 6:
		rdmablk_wire_parse_live(buf, len);
		break;
	case 7:
		if (!rdmablk_wire_parse_answer(buf, len, &answer))
			check(answer.tag < RDMABLK_CTRL_TAGS);
		break;
	case 8:
	case 13:
		event(buf, len);
		break;
	case 9:
		if (!rdmablk_wire_parse_close(buf, len, &close))
			check(rdmablk_wire_errno(close.reason) < 0);
		break;
	case 12:
		imm(buf, len);
		answers(buf, len);
		break;
	default:
		rdmablk_wire_type(buf, len, version);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *msg;

	if (!size)
		return 0;
	if (!msg_granted.nr_regions)
		msg_setup();
	msg = malloc(size);
	check(msg);
	memcpy(msg, data + 1, size - 1);
	version = data[0] & 0x80 ? RDMABLK_VERSION_PROVEN : RDMABLK_VERSION_OPEN;
	switch (data[0] & 0x7f) {
	case 3:
		grant(msg, size - 1);
		break;
	case 4:
		regions(msg, size - 1, 0);
		break;
	case 5:
		regions(msg, size - 1, RDMABLK_REGIONS_PER_MSG);
		break;
	case 10:
		limits(msg, size - 1, &msg_granted);
		break;
	case 11:
		limits(msg, size - 1, &msg_staged);
		break;
	default:
		small(data[0] & 0x7f, msg, size - 1);
	}
	free(msg);
	return 0;
}
