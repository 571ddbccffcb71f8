/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the unit tests: cmocka, repeatable random numbers, and a description of a message,
 * by which each parser is tested in the same way.
 */
#ifndef UNIT_H
#define UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "uapi/rdmablk_proto.h"

/* xorshift64: the same numbers in each run */
static inline uint64_t unit_random(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static inline void unit_random_bytes(void *to, size_t len)
{
	uint8_t *p = to;

	while (len--)
		*p++ = (uint8_t)(unit_random() >> 32);
}

/**
 * struct unit_range - bytes of a message
 * @first: offset of the first byte
 * @len: number of bytes
 */
struct unit_range {
	size_t first;
	size_t len;
};

#define UNIT_FIELD(type, member)					\
	{ offsetof(struct type, member), sizeof(((struct type *)0)->member) }

#define UNIT_RANGES	16

/**
 * struct unit_msg - a message and its parser
 * @name: name for failures
 * @type: enum rdmablk_msg_type; 0: private data of rdma_cm
 * @size: size in bytes
 * @build: lays out a valid message
 * @parse: returns 0 if it accepts the message
 * @any: bytes that may have any value in a valid message
 * @some: bytes with some valid and some invalid values
 *
 * Any change of any other byte makes the message invalid.
 */
struct unit_msg {
	const char *name;
	uint16_t type;
	size_t size;
	void (*build)(void *msg);
	int (*parse)(const void *buf, size_t len);
	struct unit_range any[UNIT_RANGES];
	struct unit_range some[UNIT_RANGES];
};

/**
 * struct unit_set - a change to a field of a message
 * @first: offset of the field
 * @len: size of the field, 1 to 8 bytes
 * @value: new value of the field
 */
struct unit_set {
	size_t first;
	size_t len;
	uint64_t value;
};

#define UNIT_SET(type, member, number)					\
	{ offsetof(struct type, member), sizeof(((struct type *)0)->member), (number) }

#define UNIT_SETS	5

/**
 * struct unit_case - a valid message after some changes
 * @what: name for failures
 * @want: result of the parser
 * @set: the changes
 */
struct unit_case {
	const char *what;
	int want;
	struct unit_set set[UNIT_SETS];
};

void unit_truncations(const struct unit_msg *m);
void unit_overlengths(const struct unit_msg *m);
void unit_bit_flips(const struct unit_msg *m);
void unit_types_and_lengths(const struct unit_msg *m);
void unit_unaligned(const struct unit_msg *m);
void unit_noise(const struct unit_msg *m);
void unit_cases(const struct unit_msg *m, const struct unit_case *c, size_t n);

#endif
