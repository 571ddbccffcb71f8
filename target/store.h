/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is behind an export.
 */
#ifndef RDMABLKD_STORE_H
#define RDMABLKD_STORE_H

#include "config.h"

/**
 * struct store_writer - a device of a host; all zero: nobody
 * @host_id: identity of the host
 * @instance_id: of its device
 */
struct store_writer {
	uint8_t host_id[RDMABLK_ID_LEN];
	uint8_t instance_id[RDMABLK_ID_LEN];
};

/**
 * struct store - the contents of an export
 * @ops: of its kind
 * @base: its arena in this process, aligned to @page_size
 * @size: of the arena, bytes
 * @mapped: bytes mapped from @base on
 * @page_size: of the pages behind it, bytes
 * @physical_block: preferred unit of I/O, bytes
 * @uuid: identity of the export; all zero until it is known
 * @epoch: identity of the volatile contents
 * @writer: who was the last to be let write
 * @kept: the arena outlives this process
 * @fd: of the arena; holds its lock
 *
 * From open to close the arena is neither punched, truncated nor remapped:
 * adapters write to it.
 */
struct store {
	const struct store_ops *ops;
	void *base;
	uint64_t size;
	uint64_t mapped;
	uint64_t page_size;
	uint32_t physical_block;
	uint8_t uuid[RDMABLK_ID_LEN];
	uint8_t epoch[RDMABLK_ID_LEN];
	struct store_writer writer;
	bool kept;
	int fd;
};

/**
 * struct store_ops - a kind of store
 * @type: its name in the configuration
 * @open: fill @store, arena included; logs what is wrong; 0 or -errno. With
 *	@store->uuid set it is checked against what is kept with the contents;
 *	not set, it may come from there
 * @publish: the export is complete, with its UUID; 0 or -errno
 * @written_by: @store->writer has changed; it is kept where the contents are
 * @close: undo @open, when no session is left
 */
struct store_ops {
	const char *type;
	int (*open)(struct store *store, const struct export_config *ec);
	int (*publish)(struct store *store);
	void (*written_by)(struct store *store);
	void (*close)(struct store *store);
};

extern const struct store_ops store_memory_ops;

#endif
