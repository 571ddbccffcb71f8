// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a medium may hold below a volatile cache that may be lost:
 *
 *  1. A write is durable when it has succeeded as FUA, or when it has succeeded before a
 *     FLUSH was issued that has succeeded. The log's order says which (log.h).
 *  2. A sector holds its last durable write, or any that was issued for it later, whatever
 *     became of that: a cache may have written it back or not, at any time.
 *  3. Without a durable write: that, or what was there before the first.
 *
 * No two writes of a sector are under way at a time, so their numbers are their order.
 *
 * This says nothing about logical blocks; each sector has the data of one write. With
 * @torn, a sector that was written after its last durable write may have parts of several
 * writes, because it may be written back while it is being written again.
 */
#include <err.h>
#include <stdlib.h>

#include "flushed.h"

static bool writes(enum op_kind kind)
{
	return kind == OP_WRITE || kind == OP_WRITE_FUA;
}

/* The record with which the last FLUSH that has succeeded was issued; 0: there was none. */
static size_t last_flush(const struct model *m, const struct log_map *map)
{
	size_t last = 0;

	for (size_t i = 1; i < map->nr; i++) {
		const struct record *r = &map->records[i];

		if (r->type == RECORD_ISSUE && r->kind == OP_FLUSH &&
		    m->ops[r->op].state == OP_DONE)
			last = i;
	}
	return last;
}

static bool is_durable(const struct op *op, bool flushed)
{
	return op->kind == OP_WRITE_FUA || (op->kind == OP_WRITE && flushed);
}

static void raise_to(uint32_t *sector, const struct op *op, uint32_t n)
{
	for (uint64_t lba = op->lba; lba < op->lba + op->count; lba++)
		if (sector[lba] < n)
			sector[lba] = n;
}

/**
 * flushed_init - what does a log promise
 * @f: to set up
 * @m: the log, replayed
 * @map: the log
 */
void flushed_init(struct flushed *f, const struct model *m, const struct log_map *map)
{
	size_t flush = last_flush(m, map);

	*f = (struct flushed){
		.floor = calloc(m->sectors, sizeof(*f->floor)),
		.newest = calloc(m->sectors, sizeof(*f->newest)),
		.any = map->records[0].aux & LOG_ANY,
	};
	if (!f->floor || !f->newest)
		err(2, "no memory");
	for (size_t i = 1; i < map->nr; i++) {
		const struct record *r = &map->records[i];

		if (r->type == RECORD_ISSUE && writes(r->kind))
			raise_to(f->newest, &m->ops[r->op], r->op);
		if (r->type == RECORD_DONE && is_durable(&m->ops[r->op], i < flush))
			raise_to(f->floor, &m->ops[r->op], r->op);
	}
}

/**
 * flushed_free - counterpart of flushed_init()
 * @f: no longer to be used
 */
void flushed_free(struct flushed *f)
{
	free(f->floor);
	free(f->newest);
}

/**
 * flushed_is_open - are there several contents that a sector may have
 * @f: what the log promises
 * @lba: sector
 *
 * Return: whether it was written after its last durable write.
 */
bool flushed_is_open(const struct flushed *f, uint64_t lba)
{
	return f->newest[lba] > f->floor[lba];
}

static enum verdict judge(const struct flushed *f, const struct model *m, uint64_t lba,
			  const struct look *look)
{
	if (look->kind == STAMP_GOOD) {
		if (!model_wrote(m, look->op, lba))
			return VERDICT_UNKNOWN;
		return look->op >= f->floor[lba] ? VERDICT_GOOD : VERDICT_OLD;
	}
	if (!f->floor[lba] && (f->any || look->kind == STAMP_ZERO))
		return VERDICT_GOOD;
	if (m->torn && flushed_is_open(f, lba) &&
	    (look->kind == STAMP_DAMAGED || look->kind == STAMP_NONE))
		return VERDICT_GOOD;
	return model_bad[look->kind];
}

/**
 * flushed_judge - may these sectors hold what was found, by what was flushed
 * @f: what the log promises
 * @m: the log, replayed
 * @lba: of the first
 * @count: how many
 * @look: as many, by model_look(); get their verdict
 *
 * Return: how many may not.
 */
uint32_t flushed_judge(const struct flushed *f, const struct model *m, uint64_t lba,
		       uint32_t count, struct look *look)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < count; i++) {
		look[i].verdict = judge(f, m, lba + i, &look[i]);
		nr += look[i].verdict != VERDICT_GOOD;
	}
	return nr;
}
