/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each sector of a medium may hold after unflushed data was lost. The rules are at the
 * top of flushed.c.
 */
#ifndef HISTORY_FLUSHED_H
#define HISTORY_FLUSHED_H

#include "log.h"
#include "model.h"

/**
 * struct flushed - what a log promises of a medium
 * @floor: of each sector: the last write that was made durable, or 0
 * @newest: of each sector: the last write, whatever became of it, or 0
 * @any: what nobody wrote is anything; else zeroes
 */
struct flushed {
	uint32_t *floor;
	uint32_t *newest;
	bool any;
};

void flushed_init(struct flushed *f, const struct model *m, const struct log_map *map);
void flushed_free(struct flushed *f);
bool flushed_is_open(const struct flushed *f, uint64_t lba);
uint32_t flushed_judge(const struct flushed *f, const struct model *m, uint64_t lba,
		       uint32_t count, struct look *look);

#endif
