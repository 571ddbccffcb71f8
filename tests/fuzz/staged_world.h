/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The I/O of an uncached file, for target_world.h, without a file. A READ fills its buffer,
 * a WRITE reads its buffer, and other operations do nothing. Each I/O ends when the harness
 * lets jobs run, and fails when the harness wants it to. The harness defines io_begins().
 */
#ifndef STAGED_WORLD_H
#define STAGED_WORLD_H

#include "../../target/staged/store_none.h"
#include "store_world.h"

#define UNCACHED_SLOT	8192

static struct store_none uncached = {
	.file = {
		.name = "first", .path = "first", .fd = -1,
		.size = STORE_BYTES, .logical_block = 512, .physical_block = 512,
		.max_discard = STORE_BYTES, .discard_granularity = 4096,
		.max_zeroes = STORE_BYTES,
		.max_erase = STORE_BYTES, .erase_granularity = 4096,
	},
	.slot_bytes = UNCACHED_SLOT,
	.slot_memory = 64 * UNCACHED_SLOT,
	.volatile_cache = true,
};

static struct staged_ios ios = TAILQ_HEAD_INITIALIZER(ios);	/* under way, oldest first */

/* The I/O of a command begins. */
static void io_begins(const struct staged_io *io);

void staged_begin(struct staged_io *io)
{
	io_begins(io);
	TAILQ_INSERT_TAIL(&ios, io, entry);
}

/* The adapter and the CPU use the same memory. The sanitizer checks the CPU's accesses. */
static void touch(struct staged_io *io)
{
	uint8_t sum = 0;

	if (io->op == RDMABLK_OP_READ)
		memset(io->buf, 0x5a, io->bytes);
	for (uint64_t i = 0; io->op == RDMABLK_OP_WRITE && i < io->bytes; i++)
		sum ^= (uint8_t)io->buf[i];
	asm volatile("" : : "r"(sum));	/* the bytes are read */
}

/* The oldest I/O ends; false: there is none. */
static bool io_step(void)
{
	struct staged_io *io = TAILQ_FIRST(&ios);

	if (!io)
		return false;
	TAILQ_REMOVE(&ios, io, entry);
	io->status = store_has_failed() ? RDMABLK_R_STORE_IO : RDMABLK_OK;
	if (!io->status)
		touch(io);
	io->done(io);
	return true;
}

/* All I/Os end together, so that their answers can be sent in a list. */
static bool io_settle(void)
{
	bool any = false;

	while (io_step())
		any = true;
	return any;
}

/* The harness opens no file. */
void staged_file_init(struct staged_file *sf, struct file *file, const uint8_t *identity,
		      const uint8_t *disk)
{
	(void)sf;
	(void)file;
	(void)identity;
	(void)disk;
	abort();
}

void staged_file_exit(struct staged_file *sf)
{
	(void)sf;
	abort();
}

/* Makes the store an uncached file, or memory again. There must be no session. */
static void store_changes(struct store *store, bool to_uncached)
{
	static void *memory;

	if (!memory)
		memory = store->priv;
	store->ops = to_uncached ? &store_none_ops : &store_ops;
	store->priv = to_uncached ? &uncached : memory;
}

#endif /* STAGED_WORLD_H */
