// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Load on the path to a target, and whether its data arrive: all of a scratch region is written
 * with a pattern that no round before had, then read, then compared. Writes and reads take turns,
 * so that each has its own figures; the comparison is not in their time.
 */
#include <errno.h>
#include <stdlib.h>

#include "blast.h"

#define KEEP_ALIVE_NS	1000000000ULL	/* a visit that is silent for some seconds ends */

/**
 * struct window - the requests of one half of a round
 * @blast: blast that they are part of
 * @way: whether they are WRITEs or READs
 * @began: start of each request under way, by its id, ns
 * @free: ids that are not in use
 * @nr_free: number of ids in @free
 * @next: number of the next block
 * @blocks: number of blocks of the region
 * @end: time after which no request begins, ns
 * @said: when the last keep-alive was sent, ns
 * @broken: no request begins any more
 */
struct window {
	struct blast *blast;
	enum blast_way way;
	__u64 *began;
	unsigned int *free;
	unsigned int nr_free;
	__u32 next;
	__u32 blocks;
	__u64 end;
	__u64 said;
	bool broken;
};

static int post_one(struct window *w, struct nl_failure *failure)
{
	struct blast *b = w->blast;
	unsigned int id = w->free[--w->nr_free];

	w->began[id] = times_now();
	return scratch_post(b->scratch, w->way == BLAST_WRITE, id, w->next++ * b->size,
			    b->size, failure);
}

static int take_one(struct window *w, struct nl_failure *failure)
{
	unsigned int id;

	if (client_done(w->blast->scratch->client, &id, failure))
		return -1;
	if (id >= w->blast->depth)
		return nl_fail(failure, EIO, "request %u is done, which nobody has begun", id);
	if (times_add(&w->blast->times[w->way], times_now() - w->began[id]))
		return nl_fail(failure, ENOMEM, "no memory");
	w->free[w->nr_free++] = id;
	return 0;
}

/* Keeps the visit alive, and breaks the round off at its end or when the user stops it. */
static int look_up(struct window *w, struct nl_failure *failure)
{
	struct blast *b = w->blast;
	__u64 now = times_now();

	if (!w->broken && (atomic_load(b->stop) || now > w->end)) {
		w->broken = true;
		client_limit(b->scratch->client, BLAST_DRAIN_MS);
	}
	if (now - w->said < KEEP_ALIVE_NS)
		return 0;
	w->said = now;
	return client_keep_alive(b->scratch->client, failure);
}

static bool more(const struct window *w)
{
	return !w->broken && w->next < w->blocks;
}

/* All blocks of the region once, unless the round is broken off */
static int all_blocks(struct window *w, struct nl_failure *failure)
{
	w->next = 0;
	while (more(w) || w->nr_free < w->blast->depth) {
		if (look_up(w, failure))
			return -1;
		if (more(w) && w->nr_free) {
			if (post_one(w, failure))
				return -1;
		} else if (w->nr_free < w->blast->depth && take_one(w, failure)) {
			return -1;
		}
	}
	return 0;
}

static int half(struct window *w, enum blast_way way, struct nl_failure *failure)
{
	__u64 before = times_now();
	int ret;

	w->way = way;
	ret = all_blocks(w, failure);
	w->blast->busy_ns[way] += times_now() - before;
	return ret;
}

static int one_round(struct window *w, struct nl_failure *failure)
{
	struct blast *b = w->blast;

	scratch_fill(b->scratch, w->blocks * b->size);
	if (half(w, BLAST_WRITE, failure))
		return -1;
	if (!w->broken && half(w, BLAST_READ, failure))
		return -1;
	if (w->broken)
		return 0;
	b->rounds++;
	b->damaged = !scratch_check(b->scratch, 0, w->blocks * b->size, &b->damage);
	return 0;
}

static int all_rounds(struct window *w, struct nl_failure *failure)
{
	struct blast *b = w->blast;
	__u64 now = times_now(), until = now + b->seconds * 1000000000ULL;

	w->said = now;
	w->end = until + BLAST_GRACE_MS * 1000000ULL;
	client_limit(b->scratch->client,
		     b->seconds * 1000 + BLAST_GRACE_MS + BLAST_DRAIN_MS);
	do {
		if (one_round(w, failure))
			return -1;
	} while (!b->damaged && !w->broken && !atomic_load(b->stop) && times_now() < until);
	return 0;
}

/**
 * blast_run() - writes, reads and compares
 * @blast: with its region, which has room for a request at least, and all fields up to @stop
 * @failure: why the blast has ended before its time; the figures are valid nevertheless
 *
 * Returns 0, also when a comparison has failed, or when no round was complete; or -1.
 */
int blast_run(struct blast *blast, struct nl_failure *failure)
{
	struct window w = { .blast = blast, .nr_free = blast->depth };
	unsigned int i;
	int ret = -1;

	w.blocks = blast->scratch->lent.bytes / blast->size;
	w.began = calloc(blast->depth, sizeof(*w.began));
	w.free = calloc(blast->depth, sizeof(*w.free));
	if (w.began && w.free) {
		for (i = 0; i < blast->depth; i++)
			w.free[i] = i;
		ret = all_rounds(&w, failure);
	} else {
		nl_fail(failure, ENOMEM, "no memory");
	}
	free(w.began);
	free(w.free);
	return ret;
}

/**
 * blast_free() - forgets the figures
 * @blast: after blast_run()
 */
void blast_free(struct blast *blast)
{
	unsigned int i;

	for (i = 0; i < BLAST_WAYS; i++)
		times_free(&blast->times[i]);
}
