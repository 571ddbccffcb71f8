// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's checks of commands on write queues: a malformed command ends the session, a
 * command that cannot be done is answered with an error, and no byte behind the message is read.
 *
 * Sources: target/wire/wire_data.c
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

#define SIZE	((1ULL << 30) + 1024)	/* ends within a granule */
#define ALL_OPS	0xfe			/* all but FENCE, which every store has */

static const struct wire_scope everything = {
	.size = SIZE, .logical_block = 512, .writer = true, .ops = ALL_OPS,
	.cmd_depth = 8, .max_ranges = 252, .granule = 4096, .trailer_bytes = 4096,
	.max_discard = 1 << 20, .max_zeroes = 2 << 20, .max_erase = 3 << 20,
	.slot_bytes = 131072,
};

static struct rdmablk_command good(uint16_t op)
{
	return (struct rdmablk_command){
		.hdr = { .type = htole16(RDMABLK_MSG_COMMAND),
			 .length = htole16(sizeof(struct rdmablk_command)) },
		.op = htole16(op),
	};
}

static struct rdmablk_command with_range(uint16_t op, uint64_t offset, uint64_t bytes)
{
	struct rdmablk_command cmd = good(op);

	cmd.offset = htole64(offset);
	cmd.bytes = htole64(bytes);
	return cmd;
}

/*
 * Checks a copy of exactly @len bytes, so that a sanitizer sees every read beyond them.
 * Return: reason << 8 | status.
 */
static unsigned int check(const void *msg, size_t len, const struct wire_scope *scope)
{
	void *copy = malloc(len ? len : 1);
	struct wire_data out = { .status = 0xff };
	unsigned int reason;

	memcpy(copy, msg, len);
	reason = wire_check_data(copy, len, scope, &out);
	free(copy);
	return reason ? reason << 8 : out.status;
}

#define MALFORMED	(RDMABLK_R_MALFORMED << 8)

static unsigned int check_cmd(const struct rdmablk_command *cmd)
{
	return check(cmd, sizeof(*cmd), &everything);
}

/* Checks @cmd with @trailer bytes behind it, and the length of both in its header. */
static unsigned int check_trailed(struct rdmablk_command cmd, const void *bytes,
				  size_t trailer, const struct wire_scope *scope)
{
	char *msg = calloc(1, sizeof(cmd) + trailer);
	unsigned int ret;

	cmd.hdr.length = htole16((uint16_t)(sizeof(cmd) + trailer));
	memcpy(msg, &cmd, sizeof(cmd));
	if (bytes)
		memcpy(msg + sizeof(cmd), bytes, trailer);
	ret = check(msg, sizeof(cmd) + trailer, scope);
	free(msg);
	return ret;
}

static void every_length_but_the_right_one_is_malformed(void **state)
{
	static const uint16_t ops[] = { RDMABLK_OP_FENCE, RDMABLK_OP_FLUSH };
	char buf[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rdmablk_command cmd = good(ops[i]);

		for (size_t len = 0; len <= sizeof(buf); len++) {
			unsigned int want = len == sizeof(cmd) ? RDMABLK_OK : MALFORMED;

			memset(buf, 0, sizeof(buf));
			memcpy(buf, &cmd, sizeof(cmd));
			/* the header says 64 bytes, whatever the length of the message is */
			assert_int_equal(check(buf, len, &everything), want);
			/* the header has the length of the message */
			((struct rdmablk_command *)buf)->hdr.length =
				htole16((uint16_t)len);
			assert_int_equal(check(buf, len, &everything), want);
		}
	}
}

static void every_reserved_byte_is_looked_at(void **state)
{
	static const unsigned char reserved[] = {
		6, 7,				/* hdr.reserved */
		9, 10, 11,			/* hdr.generation above 255 */
		12, 13, 14, 15,			/* hdr.reserved2 */
		18, 19,				/* flags of FENCE */
		20, 21, 22, 23,			/* reserved */
		24, 31, 32, 39,			/* offset and bytes of FENCE */
		40, 63,				/* reserved2 */
		0, 1, 2, 3, 4, 5,		/* type, length, tag */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		struct rdmablk_command cmd = good(RDMABLK_OP_FENCE);

		assert_int_equal(check_cmd(&cmd), RDMABLK_OK);
		((uint8_t *)&cmd)[reserved[i]] ^= 0x40;
		assert_int_equal(check_cmd(&cmd), MALFORMED);
	}
}

static void tags_are_below_the_depth(void **state)
{
	struct rdmablk_command cmd = good(RDMABLK_OP_FENCE);

	(void)state;
	for (unsigned int tag = 0; tag < 20; tag++) {
		cmd.hdr.tag = htole16((uint16_t)tag);
		assert_int_equal(check_cmd(&cmd), tag < 8 ? RDMABLK_OK : MALFORMED);
	}
}

static void unknown_operations_are_answered(void **state)
{
	(void)state;
	for (unsigned int op = 0; op <= 0xffff; op++) {
		struct rdmablk_command cmd = good((uint16_t)op);

		if (op >= RDMABLK_OP_FENCE && op <= RDMABLK_OP_WRITE)
			continue;
		cmd.flags = 0xffff;
		cmd.bytes = 77;
		assert_int_equal(check_cmd(&cmd), RDMABLK_R_UNSUPPORTED);
	}
}

/* Checks a good command of an operation, with a range if the operation takes one. */
static unsigned int check_op(uint16_t op, const struct wire_scope *scope)
{
	struct rdmablk_range range = { htole64(0), htole64(4096) };
	bool plain = op == RDMABLK_OP_FENCE || op == RDMABLK_OP_DIRTY;

	return check_trailed(plain ? good(op) : with_range(op, 0, 512), &range,
			     op == RDMABLK_OP_DIRTY ? sizeof(range) : 0, scope);
}

static void operations_the_store_has_not_are_answered(void **state)
{
	struct wire_scope scope = everything;

	(void)state;
	scope.ops = 0;
	for (uint16_t op = RDMABLK_OP_FENCE; op <= RDMABLK_OP_WRITE; op++)
		assert_int_equal(check_op(op, &scope), op == RDMABLK_OP_FENCE ? RDMABLK_OK :
				 RDMABLK_R_UNSUPPORTED);
}

static void readers_do_not_change_anything(void **state)
{
	static const bool changes[] = { false, true, false, true, true, true, false, true };
	struct wire_scope scope = everything;

	(void)state;
	scope.writer = false;
	for (uint16_t op = RDMABLK_OP_FENCE; op <= RDMABLK_OP_WRITE; op++)
		assert_int_equal(check_op(op, &scope), changes[op - RDMABLK_OP_FENCE] ?
				 RDMABLK_R_READ_ONLY : RDMABLK_OK);
}

static void only_flags_of_the_operation_are_taken(void **state)
{
	static const uint16_t allowed[] = { 0, 0, 0, 0, RDMABLK_ZEROES_KEEP, 0,
		RDMABLK_IO_TRAILER, RDMABLK_IO_TRAILER | RDMABLK_IO_FUA };

	(void)state;
	for (uint16_t op = RDMABLK_OP_FLUSH; op <= RDMABLK_OP_WRITE; op++) {
		for (unsigned int bit = 0; bit < 16; bit++) {
			struct rdmablk_command cmd = with_range(op, 0, 512);
			uint16_t flag = (uint16_t)(1U << bit);
			bool trailed = op == RDMABLK_OP_WRITE &&
				       flag == RDMABLK_IO_TRAILER;

			cmd.flags = htole16(flag);
			assert_int_equal(check_trailed(cmd, NULL, trailed ? 512 : 0,
						       &everything),
					 flag & allowed[op - RDMABLK_OP_FENCE] ?
					 RDMABLK_OK : MALFORMED);
		}
	}
}

static const struct {
	uint16_t op;
	uint64_t offset, bytes;
	unsigned int want;
} ranges[] = {
#define OP(op) RDMABLK_OP_##op
	{ OP(DISCARD), 0, 512, RDMABLK_OK },
	{ OP(DISCARD), SIZE - 512, 512, RDMABLK_OK },
	{ OP(DISCARD), SIZE - 512, 1024, RDMABLK_R_RANGE },
	{ OP(DISCARD), SIZE, 512, RDMABLK_R_RANGE },
	{ OP(DISCARD), 0, 0, RDMABLK_R_RANGE },
	{ OP(DISCARD), 1, 512, RDMABLK_R_RANGE },
	{ OP(DISCARD), 512, 513, RDMABLK_R_RANGE },
	{ OP(DISCARD), 0, 1 << 20, RDMABLK_OK },
	{ OP(DISCARD), 0, (1 << 20) + 512, RDMABLK_R_RANGE },
	{ OP(DISCARD), UINT64_MAX - 511, 512, RDMABLK_R_RANGE },
	{ OP(DISCARD), 512, UINT64_MAX - 511, RDMABLK_R_RANGE },
	{ OP(WRITE_ZEROES), 0, 2 << 20, RDMABLK_OK },
	{ OP(WRITE_ZEROES), 0, (2 << 20) + 512, RDMABLK_R_RANGE },
	{ OP(SECURE_ERASE), 0, 3 << 20, RDMABLK_OK },
	{ OP(SECURE_ERASE), 0, (3 << 20) + 512, RDMABLK_R_RANGE },
	{ OP(FLUSH), 0, 0, RDMABLK_OK },
	{ OP(FLUSH), 0, SIZE, RDMABLK_OK },
	{ OP(FLUSH), 512, SIZE, RDMABLK_R_RANGE },
	{ OP(FLUSH), 512, 0, MALFORMED },
	{ OP(FLUSH), 0, 100, RDMABLK_R_RANGE },
	{ OP(READ), 0, 131072, RDMABLK_OK },
	{ OP(READ), 0, 131072 + 512, RDMABLK_R_RANGE },
	{ OP(READ), SIZE - 131072, 131072, RDMABLK_OK },
	{ OP(READ), SIZE - 131072 + 512, 131072, RDMABLK_R_RANGE },
	{ OP(WRITE), 0, 131072, RDMABLK_OK },
	{ OP(WRITE), 0, 131072 + 512, RDMABLK_R_RANGE },
	{ OP(FENCE), 0, 512, MALFORMED },
	{ OP(FENCE), 512, 0, MALFORMED },
};

static void ranges_are_inside_the_export(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct rdmablk_command cmd = with_range(ranges[i].op, ranges[i].offset,
							ranges[i].bytes);

		assert_int_equal(check_cmd(&cmd), ranges[i].want);
	}
}

static void data_that_follows_is_as_long_as_the_write_says(void **state)
{
	struct rdmablk_command cmd = with_range(RDMABLK_OP_WRITE, 0, 1024);

	(void)state;
	assert_int_equal(check_trailed(cmd, NULL, 0, &everything), RDMABLK_OK);
	assert_int_equal(check_trailed(cmd, NULL, 1024, &everything), MALFORMED);
	cmd.flags = htole16(RDMABLK_IO_TRAILER | RDMABLK_IO_FUA);
	for (size_t trailer = 0; trailer < 2048; trailer++)
		assert_int_equal(check_trailed(cmd, NULL, trailer, &everything),
				 trailer == 1024 ? RDMABLK_OK : MALFORMED);
	cmd.bytes = htole64(8192);
	assert_int_equal(check_trailed(cmd, NULL, 8192, &everything), RDMABLK_R_RANGE);
	cmd.bytes = htole64(RDMABLK_MAX_TRAILER + 512);
	assert_int_equal(check_trailed(cmd, NULL, RDMABLK_MAX_TRAILER + 512,
				       &everything), MALFORMED);
	/* the data of a READ follows the answer */
	cmd = with_range(RDMABLK_OP_READ, 0, 4096);
	cmd.flags = htole16(RDMABLK_IO_TRAILER);
	assert_int_equal(check_cmd(&cmd), RDMABLK_OK);
	assert_int_equal(check_trailed(cmd, NULL, 4096, &everything), MALFORMED);
	cmd.bytes = htole64(4096 + 512);
	assert_int_equal(check_cmd(&cmd), RDMABLK_R_RANGE);
}

static unsigned int check_dirty(uint64_t offset, uint64_t bytes)
{
	struct rdmablk_range two[] = {
		{ htole64(8192), htole64(4096) }, { htole64(offset), htole64(bytes) },
	};

	return check_trailed(good(RDMABLK_OP_DIRTY), two, sizeof(two), &everything);
}

static void dirty_ranges_are_granules(void **state)
{
	(void)state;
	assert_int_equal(check_dirty(0, 4096), RDMABLK_OK);
	assert_int_equal(check_dirty(4096, 1 << 29), RDMABLK_OK);
	assert_int_equal(check_dirty(512, 4096), RDMABLK_R_RANGE);
	assert_int_equal(check_dirty(4096, 512), RDMABLK_R_RANGE);
	assert_int_equal(check_dirty(0, 0), MALFORMED);
	/* a range may end within a granule only at the end of the export */
	assert_int_equal(check_dirty(1 << 30, 1024), RDMABLK_OK);
	assert_int_equal(check_dirty(0, SIZE), RDMABLK_OK);
	assert_int_equal(check_dirty(1 << 30, 512), RDMABLK_R_RANGE);
	assert_int_equal(check_dirty(1 << 30, 4096), RDMABLK_R_RANGE);
	assert_int_equal(check_dirty(UINT64_MAX - 4095, 4096), RDMABLK_R_RANGE);
	assert_int_equal(check_dirty(4096, UINT64_MAX - 4095), RDMABLK_R_RANGE);
}

static void dirty_has_as_many_ranges_as_granted(void **state)
{
	struct rdmablk_range many[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct rdmablk_range){ htole64(i * 8192), htole64(4096) };
	for (size_t n = 0; n <= ARRAY_SIZE(many); n++)
		assert_int_equal(check_trailed(good(RDMABLK_OP_DIRTY), many,
					       n * sizeof(many[0]), &everything),
				 n && n <= 252 ? RDMABLK_OK : MALFORMED);
	for (size_t len = 1; len < 64; len++)
		assert_int_equal(check_trailed(good(RDMABLK_OP_DIRTY), many, len,
					       &everything),
				 len % 16 ? MALFORMED : RDMABLK_OK);
}

static void what_is_right_is_taken_as_it_is(void **state)
{
	struct {
		struct rdmablk_command cmd;
		struct rdmablk_range range[2];
	} dirty = { good(RDMABLK_OP_DIRTY), {
		{ htole64(4096), htole64(8192) }, { htole64(1 << 30), htole64(1024) } } };
	struct rdmablk_command cmd = with_range(RDMABLK_OP_WRITE_ZEROES, 1024, 512);
	struct wire_data out;
	uint64_t offset, bytes;

	(void)state;
	cmd.hdr.tag = htole16(7);
	cmd.hdr.generation = htole32(255);
	cmd.flags = htole16(RDMABLK_ZEROES_KEEP);
	assert_int_equal(wire_check_data(&cmd, sizeof(cmd), &everything, &out), 0);
	assert_int_equal(out.op, RDMABLK_OP_WRITE_ZEROES);
	assert_int_equal(out.flags, RDMABLK_ZEROES_KEEP);
	assert_int_equal(out.tag, 7);
	assert_int_equal(out.generation, 255);
	assert_int_equal(out.offset, 1024);
	assert_int_equal(out.bytes, 512);
	assert_int_equal(out.trailer, 0);
	assert_int_equal(out.status, RDMABLK_OK);
	dirty.cmd.hdr.length = htole16(sizeof(dirty));
	assert_int_equal(wire_check_data(&dirty, sizeof(dirty), &everything, &out), 0);
	assert_int_equal(wire_data_ranges(&out), 2);
	wire_data_range(&dirty, 0, &offset, &bytes);
	assert_int_equal(offset, 4096);
	assert_int_equal(bytes, 8192);
	wire_data_range(&dirty, 1, &offset, &bytes);
	assert_int_equal(offset, 1 << 30);
	assert_int_equal(bytes, 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_but_the_right_one_is_malformed),
		cmocka_unit_test(every_reserved_byte_is_looked_at),
		cmocka_unit_test(tags_are_below_the_depth),
		cmocka_unit_test(unknown_operations_are_answered),
		cmocka_unit_test(operations_the_store_has_not_are_answered),
		cmocka_unit_test(readers_do_not_change_anything),
		cmocka_unit_test(only_flags_of_the_operation_are_taken),
		cmocka_unit_test(ranges_are_inside_the_export),
		cmocka_unit_test(data_that_follows_is_as_long_as_the_write_says),
		cmocka_unit_test(dirty_ranges_are_granules),
		cmocka_unit_test(dirty_has_as_many_ranges_as_granted),
		cmocka_unit_test(what_is_right_is_taken_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
