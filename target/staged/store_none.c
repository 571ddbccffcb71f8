// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The uncached file (cache=none): every READ and WRITE is a command, done by the threads
 * of the store on the file or block device itself.
 *
 * The epoch is made of the host's boot and the file's identity. Data that was acknowledged
 * and not flushed is in the caches of this host, which outlive the daemon, unless an
 * fdatasync has failed: see sync_errors.c. With epoch=stable there is no such data, and
 * another host may serve the file next.
 */
#include <errno.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "base/meminfo.h"
#include "base/util.h"
#include "staged/lane.h"
#include "staged/store_none.h"
#include "store/disk_stack.h"
#include "store/sync_errors.h"

#define SLOT_ALIGN	4096
#define DROPPED_AT_ONCE	(1ULL << 30)	/* bytes of the page cache */

static unsigned int nr_threads = 1;

/**
 * store_none_setup - set the number of I/O threads
 * @threads: of each store that is opened from now on
 */
void store_none_setup(unsigned int threads)
{
	nr_threads = threads;
}

/*
 * Whether direct writes are durable when they complete. The kernel knows that of a block
 * device without a volatile cache, or with a cache that survives a power failure. It does not
 * say so of a partition, so this asks about the disk of the partition.
 */
static bool write_through(const struct file *f)
{
	char text[32];

	if (!f->block_device || !f->direct || f->stable || f->align > f->logical_block)
		return false;
	return disk_attribute(f->ino, "queue/write_cache", text, sizeof(text)) &&
	       !strcmp(text, "write through");
}

static int none_start(struct store *store, struct store_none *none,
		      const struct export_config *ec)
{
	uint8_t identity[RDMABLK_ID_LEN], disk[RDMABLK_ID_LEN];
	int ret = file_epoch(&none->file, identity) ?: file_disk(&none->file, disk) ?:
		  store_mark(store, &none->file);

	if (ret)
		goto no_epoch;
	/* Before the epoch is read: from here on the file learns of a loss of its disk. */
	staged_file_init(&none->staged, &none->file, identity, disk);
	ret = sync_errors_epoch(ec->name, identity, disk, store->epoch);
	if (!ret && ec->epoch == EPOCH_STABLE)
		ret = file_stable_epoch(&none->file, store->epoch);
	if (ret)
		goto exit;
	none->staged.through = ec->epoch == EPOCH_STABLE;
	none->volatile_cache = !none->staged.through && !write_through(&none->file);
	none->threads = iothread_pool_start(ec->name, &none->staged, nr_threads,
					    lane_turn);
	if (none->threads)
		return 0;
	staged_file_exit(&none->staged);
	return -EIO;
exit:
	staged_file_exit(&none->staged);
no_epoch:
	log_err("export %s: has no epoch: %s", ec->name, strerror(-ret));
	return ret;
}

/*
 * READs that go through the page cache should not find what the disk has lost. Dropping begins to
 * write what is still to be written, which may take long after a crash of another daemon.
 */
static void drop_cached(const struct file *f)
{
	for (uint64_t at = 0; at < f->size; at += DROPPED_AT_ONCE) {
		sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000");
		file_drop_cached(f, at, min_u64(DROPPED_AT_ONCE, f->size - at));
	}
}

static int none_open(struct store *store, const struct export_config *ec)
{
	const struct file_params params = {
		.name = ec->name,
		.path = ec->file,
		.fault = ec->fault,
		.read_only = ec->read_only,
		.size = ec->size,
		.block = (uint32_t)ec->block,
	};
	struct store_none *none = calloc(1, sizeof(*none));
	int ret;

	store->fd = -1;
	if (!none)
		return -ENOMEM;
	none->slot_bytes = (uint32_t)(ec->slot_bytes - ec->slot_bytes % SLOT_ALIGN);
	none->slot_memory = ec->slot_memory;
	none->fixed = ec->size;
	ret = file_open(&none->file, &params);
	if (ret)
		goto free;
	file_probe(&none->file);
	drop_cached(&none->file);
	ret = none_start(store, none, ec);
	if (ret)
		goto close;
	store->priv = none;
	store->size = none->file.size;
	store->physical_block = none->file.physical_block;
	log_info("export %s: %s, %llu bytes%s%s, %u I/O threads", ec->name, ec->file,
		 (unsigned long long)store->size,
		 !none->file.direct ? ", through the page cache" : none->file.stable ?
		 ", writes through the page cache because its disk may have checksums" : "",
		 none->volatile_cache ? "" : ", writes are durable at once", nr_threads);
	meminfo_check_locked(ec->name, none->slot_memory + none->slot_memory / none->slot_bytes *
		      STAGED_RECEIVE);
	return 0;
close:
	file_close(&none->file);
free:
	free(none);
	return ret;
}

static int none_publish(struct store *store)
{
	(void)store;
	return 0;
}

static void none_attach(struct store *store)
{
	struct store_none *none = store->priv;

	iothread_pool_attach(none->threads);
}

static void none_detach(struct store *store)
{
	struct store_none *none = store->priv;

	iothread_pool_detach(none->threads);
}

static void none_status(struct store *store, struct store_status *out)
{
	struct store_none *none = store->priv;

	*out = (struct store_status){
		.failed = atomic_load(&none->staged.failed),
		.errors = atomic_load(&none->staged.errors),
	};
}

/* Each initiator knows which of its writes are not flushed. */
static int none_close(struct store *store)
{
	struct store_none *none = store->priv;

	iothread_pool_stop(none->threads);
	staged_file_exit(&none->staged);
	/* From here on no other file can tell this one of a loss. */
	store->doubtful = atomic_load(&none->staged.told) ||
			  (!none->file.read_only && file_removed(&none->file));
	file_close(&none->file);
	free(none);
	store->priv = NULL;
	return 0;
}

static void none_limits(const struct store *store, struct store_limits *out)
{
	const struct store_none *none = store->priv;
	const struct file *f = &none->file;

	*out = (struct store_limits){
		.ops = RDMABLK_OP_BIT(RDMABLK_OP_READ) | RDMABLK_OP_BIT(RDMABLK_OP_WRITE) |
		       RDMABLK_OP_BIT(RDMABLK_OP_FLUSH),
		.flags = RDMABLK_GRANT_STAGED |
			 (none->volatile_cache ? RDMABLK_GRANT_CACHE : 0) |
			 (f->rotational ? RDMABLK_GRANT_ROTATIONAL : 0),
		.max_discard = f->max_discard,
		.max_zeroes = f->max_zeroes,
		.max_erase = f->max_erase,
		.io_min = f->io_min,
		.io_opt = f->io_opt,
		.max_io = f->max_io,
	};
	if (f->max_zeroes)
		out->ops |= RDMABLK_OP_BIT(RDMABLK_OP_WRITE_ZEROES);
	if (f->max_discard) {
		out->ops |= RDMABLK_OP_BIT(RDMABLK_OP_DISCARD);
		out->discard_granularity = f->discard_granularity;
		out->discard_alignment = f->discard_alignment;
	}
	if (f->max_erase) {
		out->ops |= RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE);
		out->erase_granularity = f->erase_granularity;
	}
}

static int none_grow(struct store *store, uint64_t *size, uint64_t most)
{
	struct store_none *none = store->priv;
	struct file *f = &none->file;
	uint64_t have = *size;
	int ret = file_grown(f, none->fixed, &have);

	(void)most;
	*size = f->size;
	if (ret || have == f->size)
		return ret;
	__atomic_store_n(&f->size, have, __ATOMIC_RELAXED);
	staged_changed(&none->staged);	/* its length may be in the page cache only */
	*size = have;
	return 0;
}

const struct store_ops store_none_ops = {
	.type = "file",
	.open = none_open,
	.publish = none_publish,
	.attach = none_attach,
	.detach = none_detach,
	.close = none_close,
	.status = none_status,
	.limits = none_limits,
	.grow = none_grow,
	.staged = &staged_session_ops,
};
