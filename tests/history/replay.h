/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log replayed into a model: the beginning of every check, and of every round but
 * the first.
 */
#ifndef HISTORY_REPLAY_H
#define HISTORY_REPLAY_H

#include "log.h"
#include "model.h"

/**
 * struct replay - what a log says
 * @rounds: that began
 * @seed: of the last one
 * @stopped: the last one ended in order
 * @ended: requests with an end, by kind and by failure
 * @open: writes without one
 * @bad: what a writer has read and should not have
 * @why: text, when the log is not one
 * @at: number of the record at which it is not
 */
struct replay {
	uint32_t rounds;
	uint32_t seed;
	bool stopped;
	uint64_t ended[OP_KINDS][2];
	uint64_t open;
	uint64_t bad;
	const char *why;
	size_t at;
};

int replay(struct model *m, const struct log_map *map, bool late, bool torn,
	   struct replay *r);

#endif
