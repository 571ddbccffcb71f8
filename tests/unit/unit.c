// SPDX-License-Identifier: GPL-2.0-only
/*
 * The treatment that every parser gets. Messages lie in memory of exactly their
 * length, so that AddressSanitizer sees a parser that looks beyond it.
 */
#include <endian.h>

#include "unit.h"

#define NOISE_ROUNDS	20000

/* The message in memory of its own, at an offset from what malloc() aligns. */
static int parse_copy(const struct unit_msg *m, const void *msg, size_t len, size_t off)
{
	uint8_t *room = malloc(off + len ? off + len : 1);
	int ret;

	assert_non_null(room);
	if (len)
		memcpy(room + off, msg, len);
	ret = m->parse(room + off, len);
	free(room);
	return ret;
}

/* The bytes behind the message are zero, as rdma_cm pads it. */
static void build(const struct unit_msg *m, uint8_t *msg)
{
	memset(msg, 0, RDMABLK_CTRL_MSG_MAX + 1);
	m->build(msg);
}

static int in_ranges(const struct unit_range *r, size_t at)
{
	for (size_t i = 0; i < UNIT_RANGES; i++)
		if (at >= r[i].first && at - r[i].first < r[i].len)
			return 1;
	return 0;
}

/**
 * unit_truncations() - no shorter message is accepted
 * @m: message
 */
void unit_truncations(const struct unit_msg *m)
{
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX + 1];

	build(m, msg);
	for (size_t len = 0; len < m->size; len++) {
		if (m->type)
			((struct rdmablk_hdr *)msg)->length = htole16((uint16_t)len);
		if (parse_copy(m, msg, len, 0) != -EBADMSG)
			fail_msg("%s of %zu bytes, length field too", m->name, len);
	}
	build(m, msg);
	for (size_t len = 0; len < m->size; len++)
		if (parse_copy(m, msg, len, 0) != -EBADMSG)
			fail_msg("%s of %zu bytes", m->name, len);
}

/**
 * unit_overlengths() - no longer message is accepted, but private data is padded
 * @m: message
 */
void unit_overlengths(const struct unit_msg *m)
{
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX + 1];
	int want = m->type ? -EBADMSG : 0;

	build(m, msg);
	for (size_t len = m->size + 1; len <= sizeof(msg); len++)
		if (parse_copy(m, msg, len, 0) != want)
			fail_msg("%s of %zu bytes", m->name, len);
	for (size_t len = m->size + 1; m->type && len <= sizeof(msg); len++) {
		((struct rdmablk_hdr *)msg)->length = htole16((uint16_t)len);
		if (parse_copy(m, msg, len, 0) != want)
			fail_msg("%s of %zu bytes, length field too", m->name, len);
	}
}

/**
 * unit_bit_flips() - each bit counts where it should and only there
 * @m: message
 */
void unit_bit_flips(const struct unit_msg *m)
{
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX + 1];

	for (size_t bit = 0; bit < 8 * m->size; bit++) {
		int ret;

		build(m, msg);
		msg[bit / 8] ^= (uint8_t)(1U << bit % 8);
		ret = parse_copy(m, msg, m->size, 0);
		if (in_ranges(m->some, bit / 8))
			continue;
		if (in_ranges(m->any, bit / 8) ? ret : !ret)
			fail_msg("%s with bit %zu of byte %zu changed: %d", m->name,
				 bit % 8, bit / 8, ret);
	}
}

/**
 * unit_types_and_lengths() - all types and all values of the length but one
 * @m: message of the control queue
 */
void unit_types_and_lengths(const struct unit_msg *m)
{
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX + 1];
	struct rdmablk_hdr *hdr = (struct rdmablk_hdr *)msg;

	build(m, msg);
	for (uint32_t v = 0; v <= UINT16_MAX; v++) {
		hdr->type = htole16((uint16_t)v);
		if (parse_copy(m, msg, m->size, 0) != (v == m->type ? 0 : -EBADMSG))
			fail_msg("%s with type %u", m->name, v);
	}
	hdr->type = htole16(m->type);
	for (uint32_t v = 0; v <= UINT16_MAX; v++) {
		hdr->length = htole16((uint16_t)v);
		if (parse_copy(m, msg, m->size, 0) != (v == m->size ? 0 : -EBADMSG))
			fail_msg("%s with length %u", m->name, v);
	}
}

/**
 * unit_unaligned() - a message may lie anywhere
 * @m: message
 */
void unit_unaligned(const struct unit_msg *m)
{
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX + 1];

	build(m, msg);
	for (size_t off = 0; off < 16; off++)
		if (parse_copy(m, msg, m->size, off))
			fail_msg("%s at offset %zu", m->name, off);
}

/**
 * unit_noise() - random bytes, alone and behind a valid head, break nothing
 * @m: message
 */
void unit_noise(const struct unit_msg *m)
{
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX + 1];

	for (int i = 0; i < NOISE_ROUNDS; i++) {
		size_t len = unit_random() % (sizeof(msg) + 1);

		unit_random_bytes(msg, len);
		if (!parse_copy(m, msg, len, 0))
			fail_msg("%s of noise", m->name);
		build(m, msg);
		for (uint64_t n = unit_random() % 8; n; n--)
			msg[unit_random() % m->size] = (uint8_t)(unit_random() >> 32);
		parse_copy(m, msg, m->size, 0);
	}
}

/**
 * unit_cases() - a table of changes
 * @m: message
 * @c: table
 * @n: of so many
 */
void unit_cases(const struct unit_msg *m, const struct unit_case *c, size_t n)
{
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX + 1];

	for (size_t i = 0; i < n; i++) {
		int ret;

		build(m, msg);
		for (size_t k = 0; k < UNIT_SETS; k++) {
			uint64_t value = htole64(c[i].set[k].value);

			memcpy(msg + c[i].set[k].first, &value, c[i].set[k].len);
		}
		ret = parse_copy(m, msg, m->size, 0);
		if (ret != c[i].want)
			fail_msg("%s, %s: %d, not %d", m->name, c[i].what, ret, c[i].want);
	}
}
