// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the file into the arena.
 */
#include <errno.h>
#include <signal.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "base/util.h"
#include "store/store_full.h"

#define STEP		(64ULL << 20)	/* read before errors are looked for */
#define MIB		(1ULL << 20)
#define TIMEOUT_US	"600000000"	/* of the service manager, from here on */
#define UNIT		4096ULL		/* in which pieces of a file begin and end */

static int failed(const struct file *f, const struct file_batch *batch, int ret)
{
	log_err("export %s: cannot read %s at byte %llu: %s", f->name, f->path,
		(unsigned long long)batch->error_at, strerror(-ret));
	return ret;
}

/* @told: when that was last told, seconds */
static void tell(const struct file *f, uint64_t at, int64_t *told)
{
	int64_t now = full_now_s();

	if (now - *told < FULL_PROGRESS_S)
		return;
	*told = now;
	log_info("export %s: %llu of %llu MiB read from %s", f->name,
		 (unsigned long long)(at / MIB),
		 (unsigned long long)(f->size / MIB), f->path);
}

/* At the start the loop does not run yet: nobody else would see it. */
static bool told_to_end(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGTERM) ||
				     sigismember(&set, SIGINT));
}

static int read_piece(const struct store *store, struct file_batch *batch, uint64_t from,
		      uint64_t to, int64_t *told)
{
	char *base = store->base;
	int ret = 0;

	while (!ret && from < to) {
		uint64_t bytes = min_u64(STEP, to - from);

		if (atomic_load(&store->cancelled))
			return -ECANCELED;
		file_batch_read(batch, base + from, from, bytes);
		ret = file_batch_wait(batch);
		if (!ret && told_to_end())
			ret = -EINTR;
		sd_notify(0, "EXTEND_TIMEOUT_USEC=" TIMEOUT_US);
		from += bytes;
		if (!ret)
			tell(batch->file, from, told);
	}
	return ret ? failed(batch->file, batch, ret) : 0;
}

/**
 * full_fill - fill an arena from its file
 * @store: with an arena whose pages exist
 * @batch: of the file, whose size says how far
 * @from: where to begin, a multiple of the block
 * @blank: the arena is zero: what the file has no data for need not be touched
 *
 * Return: 0 or -errno, logged.
 */
int full_fill(struct store *store, struct file_batch *batch, uint64_t from, bool blank)
{
	const struct file *f = batch->file;
	uint64_t at = from, data = 0, start, end;
	int64_t told = full_now_s();
	char *base = store->base;
	int ret = 0;

	while (!ret && at < f->size) {
		ret = file_data(f, at, &start, &end);
		if (ret)
			return failed(f, batch, ret);
		if (start > at)
			start = start / UNIT * UNIT > at ? start / UNIT * UNIT : at;
		end = min_u64(round_up(end, UNIT), f->size);
		if (!blank)
			memset(base + at, 0, start - at);
		ret = read_piece(store, batch, start, end, &told);
		data += end - start;
		at = end;
	}
	if (!ret)
		log_info("export %s: %llu bytes read from %s, %llu skipped as empty",
			 f->name, (unsigned long long)data, f->path,
			 (unsigned long long)(f->size - from - data));
	return ret;
}
