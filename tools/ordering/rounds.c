// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rounds. In each round a pair of queue pairs writes a new counter to a place of the
 * pair's area on one queue pair, waits for the completion, and reads the same place on the
 * other queue pair at once. Only the post of the READ, which was prepared before, comes
 * between the two: any delay there would hide a WRITE that is late.
 *
 * All pairs share the counter, so a READ's data tells which WRITE it comes from. The area
 * of a pair belongs to that pair alone.
 */
#include <errno.h>
#include <signal.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ordering.h"
#include "pattern.h"

#define NS		1000000000ULL
#define PATIENCE_S	10U	/* for a completion; retries end before that */
#define BATCH		16	/* completions taken at once */
#define LOOK		4096	/* polls between two reads of the clock */

enum {
	WRITING = 1,
	READING = 2,
};

/**
 * struct pair - a queue pair that writes and one that reads
 * @write: of this round
 * @read: of this round
 * @source: the data of the WRITE
 * @sink: the destination of the READ
 * @write_sge: @source
 * @read_sge: @sink
 * @counter: of this round
 * @offset: of the place, in the pair's area
 * @bytes: its length
 * @under_way: WRITING and READING
 * @busy: a round has begun
 * @since: when the round began, ns
 */
struct pair {
	struct ibv_send_wr write;
	struct ibv_send_wr read;
	uint64_t *source;
	uint64_t *sink;
	struct ibv_sge write_sge;
	struct ibv_sge read_sge;
	uint64_t counter;
	uint32_t offset;
	uint32_t bytes;
	unsigned int under_way;
	bool busy;
	uint64_t since;
};

/**
 * struct run - all rounds
 * @opts: number and kind of the rounds
 * @end: the near one
 * @target: the far one
 * @result: what is found
 * @counter: of the last round that has begun
 * @seed: of the places and lengths
 * @start: when the first round began, ns
 * @polls: of the completion queue
 * @busy: pairs with a round under way
 * @over: no more rounds begin
 * @pair: the pairs
 */
struct run {
	const struct options *opts;
	struct end *end;
	const struct offer *target;
	struct result *result;
	uint64_t counter;
	uint64_t seed;
	uint64_t start;
	uint64_t polls;
	unsigned int busy;
	bool over;
	struct pair pair[MAX_PAIRS];
};

static atomic_bool interrupted;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = true;
}

/**
 * rounds_now() - the time
 *
 * Return: nanoseconds since some moment.
 */
uint64_t rounds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS + (uint64_t)ts.tv_nsec;
}

/* xorshift64. Return: a number below @limit. */
static uint64_t below(struct run *run, uint64_t limit)
{
	run->seed ^= run->seed << 13;
	run->seed ^= run->seed >> 7;
	run->seed ^= run->seed << 17;
	return run->seed % limit;
}

static int post(struct run *run, unsigned int queue, struct ibv_send_wr *wr, const char *what)
{
	struct ibv_send_wr *bad;
	int err = ibv_post_send(run->end->queue[queue], wr, &bad);

	if (!err)
		return 0;
	return report_failure(run->end->port->name, "cannot post a %s on pair %u: %s", what,
			      queue / 2, strerror(err));
}

static int post_write(struct run *run, unsigned int nr)
{
	run->pair[nr].under_way |= WRITING;
	return post(run, QUEUE_WRITE(nr), &run->pair[nr].write, "WRITE");
}

static int post_read(struct run *run, unsigned int nr)
{
	run->pair[nr].under_way |= READING;
	return post(run, QUEUE_READ(nr), &run->pair[nr].read, "READ");
}

static void prepare(struct run *run, struct pair *pair, unsigned int nr)
{
	const struct options *opts = run->opts;
	size_t area = area_bytes(opts->max_bytes);
	uint64_t address;

	pair->bytes = opts->min_bytes + PATTERN_LINE *
		below(run, (opts->max_bytes - opts->min_bytes) / PATTERN_LINE + 1);
	pair->offset = PATTERN_LINE * below(run, (area - pair->bytes) / PATTERN_LINE + 1);
	pair->counter = ++run->counter;
	address = run->target->address + nr * area + pair->offset;
	pair->write.wr.rdma.remote_addr = address;
	pair->read.wr.rdma.remote_addr = address;
	pair->write_sge.length = pair->bytes;
	pair->read_sge.length = pair->bytes;
	pattern_fill(pair->source, pair->bytes, pair->counter);
	/* Bytes that the READ omits must not look like data of an earlier round. */
	pattern_fill(pair->sink, pair->bytes, PATTERN_EMPTY);
}

/* With --no-wait both are under way at once, and take turns in being posted first. */
static int begin(struct run *run, unsigned int nr)
{
	struct pair *pair = &run->pair[nr];
	int ret;

	prepare(run, pair, nr);
	pair->since = rounds_now();
	pair->busy = true;
	run->busy++;
	if (!run->opts->no_wait)
		return post_write(run, nr);
	if (pair->counter % 2) {
		ret = post_read(run, nr);
		return ret ?: post_write(run, nr);
	}
	ret = post_write(run, nr);
	return ret ?: post_read(run, nr);
}

static void note(struct run *run, unsigned int nr, const struct pattern_found *found)
{
	struct result *result = run->result;
	struct pair *pair = &run->pair[nr];

	if (found->damaged)
		result->damaged++;
	else
		result->stale++;
	if (result->nr_examples == MAX_EXAMPLES)
		return;
	result->example[result->nr_examples++] = (struct example){
		.pair = nr,
		.counter = pair->counter,
		.offset = pair->offset,
		.bytes = pair->bytes,
		.first = found->first,
		.found = found->counter,
		.lines = found->stale + found->damaged,
		.damaged = found->damaged,
	};
}

static bool enough(struct run *run, uint64_t now)
{
	const struct options *opts = run->opts;

	if (interrupted || run->counter >= opts->count ||
	    (opts->seconds && now - run->start >= opts->seconds * NS))
		run->over = true;
	return run->over;
}

static int finish(struct run *run, unsigned int nr)
{
	struct pair *pair = &run->pair[nr];
	struct pattern_found found;

	pair->busy = false;
	run->busy--;
	run->result->rounds++;
	if (!pattern_check(pair->sink, pair->bytes, pair->counter, &found))
		note(run, nr, &found);
	return enough(run, rounds_now()) ? 0 : begin(run, nr);
}

static int check_completion(struct run *run, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return 0;
	return report_failure(run->end->port->name, "a %s of pair %u has failed: %s",
			      wc->wr_id % 2 ? "READ" : "WRITE", (unsigned int)(wc->wr_id / 2),
			      ibv_wc_status_str(wc->status));
}

/* Posts the READs of all completed WRITEs first; anything slower comes after that. */
static int handle(struct run *run, const struct ibv_wc *wc, int nr)
{
	int i, ret = 0;

	for (i = 0; i < nr && !ret; i++) {
		ret = check_completion(run, &wc[i]);
		if (ret || wc[i].wr_id % 2)
			continue;
		run->pair[wc[i].wr_id / 2].under_way &= ~WRITING;
		if (!run->opts->no_wait)
			ret = post_read(run, wc[i].wr_id / 2);
	}
	for (i = 0; i < nr; i++)
		if (wc[i].wr_id % 2)
			run->pair[wc[i].wr_id / 2].under_way &= ~READING;
	return ret;
}

/* Ends the rounds of these completions. Two completions may be of one round. */
static int finish_some(struct run *run, const struct ibv_wc *wc, int nr)
{
	unsigned int pair;
	int i, ret = 0;

	for (i = 0; i < nr && !ret; i++) {
		pair = wc[i].wr_id / 2;
		if (run->pair[pair].busy && !run->pair[pair].under_way)
			ret = finish(run, pair);
	}
	return ret;
}

/* Yields: Soft-RoCE needs the processor that polls. */
static int look_around(struct run *run)
{
	const struct options *opts = run->opts;
	uint64_t now = rounds_now();
	unsigned int i;

	sched_yield();
	for (i = 0; i < opts->pairs; i++) {
		struct pair *pair = &run->pair[i];

		if (pair->under_way && now - pair->since > PATIENCE_S * NS)
			return report_failure(run->end->port->name,
					      "the %s of pair %u has not completed in %u s",
					      pair->under_way & WRITING ? "WRITE" : "READ", i,
					      PATIENCE_S);
	}
	return 0;
}

static int poll_once(struct run *run)
{
	struct ibv_wc wc[BATCH];
	int nr, ret;

	nr = ibv_poll_cq(run->end->cq, BATCH, wc);
	if (nr < 0)
		return report_failure(run->end->port->name,
				      "the completion queue cannot be polled");
	if (nr) {
		ret = handle(run, wc, nr);
		if (ret)
			return ret;
		ret = finish_some(run, wc, nr);
		if (ret)
			return ret;
	}
	return ++run->polls % LOOK ? 0 : look_around(run);
}

static void set_up(struct run *run)
{
	const struct options *opts = run->opts;
	unsigned int i;

	for (i = 0; i < opts->pairs; i++) {
		struct pair *pair = &run->pair[i];
		char *memory = (char *)run->end->memory + 2 * (size_t)i * opts->max_bytes;

		pair->source = (uint64_t *)memory;
		pair->sink = (uint64_t *)(memory + opts->max_bytes);
		pair->write_sge = (struct ibv_sge){
			.addr = (uintptr_t)pair->source,
			.lkey = run->end->mr->lkey,
		};
		pair->read_sge = (struct ibv_sge){
			.addr = (uintptr_t)pair->sink,
			.lkey = run->end->mr->lkey,
		};
		pair->write = (struct ibv_send_wr){
			.wr_id = QUEUE_WRITE(i),
			.sg_list = &pair->write_sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma.rkey = run->target->rkey,
		};
		pair->read = (struct ibv_send_wr){
			.wr_id = QUEUE_READ(i),
			.sg_list = &pair->read_sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.wr.rdma.rkey = run->target->rkey,
		};
	}
}

/**
 * rounds_run() - run all rounds
 * @opts: number and kind of the rounds
 * @end: the near one, connected, with room for two WRITEs of each pair
 * @target: the far one, with an area for each pair
 * @result: set
 *
 * SIGINT and SIGTERM end it early.
 *
 * Return: 0, or STATUS_NOT_RUN after a complaint.
 */
int rounds_run(const struct options *opts, struct end *end, const struct offer *target,
	       struct result *result)
{
	struct sigaction action = { .sa_handler = interrupt };
	struct run *run = calloc(1, sizeof(*run));
	unsigned int i;
	int ret = 0;

	if (!run)
		return report_failure(end->port->name, "no memory for the rounds");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	memset(result, 0, sizeof(*result));
	run->opts = opts;
	run->end = end;
	run->target = target;
	run->result = result;
	run->start = rounds_now();
	run->seed = run->start | 1;
	set_up(run);
	for (i = 0; i < opts->pairs && !ret && !enough(run, run->start); i++)
		ret = begin(run, i);
	while (!ret && run->busy)
		ret = poll_once(run);
	result->ns = rounds_now() - run->start;
	result->interrupted = interrupted;
	free(run);
	return ret;
}
