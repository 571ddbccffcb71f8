/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_BLAST_H
#define RDMABLK_TOOLS_BLAST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "scratch.h"
#include "times.h"

/**
 * enum blast_way - what a figure is about
 * @BLAST_WRITE: WRITEs
 * @BLAST_READ: READs
 */
enum blast_way {
	BLAST_WRITE,
	BLAST_READ,
	BLAST_WAYS,
};

#define BLAST_GRACE_MS	5000	/* for the last round */
#define BLAST_DRAIN_MS	1000	/* for the requests under way when a round is broken off */

/**
 * struct blast - a scratch region written and read again and again, and what came of it
 * @scratch: the region
 * @size: bytes of a request
 * @depth: requests under way at once
 * @seconds: how long; a round that has begun has BLAST_GRACE_MS more
 * @stop: set by a signal: begin no request any more
 * @times: duration of each request, from its post to its completion
 * @busy_ns: how long requests were under way
 * @rounds: number of rounds that were written, read and compared; the last one may be incomplete
 * @damaged: a comparison has failed, which is the end
 * @damage: where
 */
struct blast {
	struct scratch *scratch;
	__u32 size;
	__u32 depth;
	__u32 seconds;
	const atomic_bool *stop;
	struct times times[BLAST_WAYS];
	__u64 busy_ns[BLAST_WAYS];
	__u32 rounds;
	bool damaged;
	struct scratch_damage damage;
};

int blast_run(struct blast *blast, struct nl_failure *failure);
void blast_free(struct blast *blast);

#endif /* RDMABLK_TOOLS_BLAST_H */
