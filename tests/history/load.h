/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The load of a writer: threads that write, read and flush, each one request at a time.
 */
#ifndef HISTORY_LOAD_H
#define HISTORY_LOAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "log.h"
#include "model.h"

#define MAX_SECTORS	2048	/* of a request */

/**
 * struct load_options - what to do
 * @writers: how many
 * @depth: requests in flight of each
 * @ops: stop after so many; 0: never
 * @seconds: stop after so long; 0: never
 * @errors: stop at this error; 0: at none
 * @seed: of what is chosen at random
 * @max: sectors of the largest request
 * @read_percent: of requests that are reads
 * @fua_percent: of writes that are FUA
 * @flush_every: so many requests of a thread; 0: no flushes
 */
struct load_options {
	unsigned int writers;
	unsigned int depth;
	uint64_t ops;
	unsigned int seconds;
	uint64_t errors;
	uint32_t seed;
	uint32_t max;
	unsigned int read_percent;
	unsigned int fua_percent;
	unsigned int flush_every;
};

/**
 * struct load - under way
 * @opt: options
 * @fd: of the disk
 * @lock: of what follows
 * @changed: a request has ended, or it is time to stop
 * @model: of the disk
 * @log: of the history
 * @issued: requests of this round
 * @ended: of these, by kind and by failure
 * @bad: sectors that were read and should not have been
 * @stop: issue nothing any more; also set by a signal
 */
struct load {
	struct load_options opt;
	int fd;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct model model;
	struct log log;
	uint64_t issued;
	uint64_t ended[OP_KINDS][2];
	uint64_t bad;
	atomic_bool stop;
};

int load_run(struct load *load);
void load_sweep(struct load *load);

#endif
