// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * writer [OPTION...] LOG DISK: writes stamped sectors to a disk, reads them back, and logs
 * its requests and their results. 'check' reads the log and the disk.
 *
 *   --writers N      4
 *   --depth N        requests in flight of each writer, a thread each; 4
 *   --ops N          stop after so many requests
 *   --seconds N      stop after so long
 *   --errors N       stop at the Nth error; 1 by default, 0: go on whatever fails
 *   --seed N         of what is chosen at random; the clock's by default. Printed
 *   --size BYTES     use the beginning of the disk only
 *   --max BYTES      largest request, 1M
 *   --read PERCENT   of requests that are reads, 30
 *   --fua PERCENT    of writes that are FUA, 0
 *   --flush N        every so many requests of a thread, 0: never
 *   --sweep          at the end read the whole disk
 *   --any            the disk holds anything before the first round; else zeroes
 *   --torn, --late   what the disk may do beyond model.c
 *   --block BYTES    logical block of a file; that of a disk is known
 *   --buffered       not O_DIRECT; for a file
 *   --sync           the log survives the power of this machine
 *
 * The disk is a block device, which nobody else may have open, or a file. BYTES may end
 * in K, M or G.
 *
 * Without --ops and --seconds it goes on until SIGTERM or SIGINT. Then it waits for the
 * requests in flight, which takes as long as a disk without a target holds them, and writes
 * the end of the round to the log. The log, which must not be on the disk, is all that a
 * round leaves behind. The next round with the same log goes on from there, whatever has
 * happened to target, network, initiator or writer. It first waits until no request of the
 * last round is in flight.
 *
 * The first error is printed when it comes.
 *
 * Status: 0 ended in order, with errors or without; 1 a read returned illegal contents,
 * which are printed and logged; 2 the writer could not work; 3 stopped by --errors.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "load.h"
#include "replay.h"

#define IDLE_TRIES	600	/* times 100 ms, for requests of an earlier round to end */

static struct load load = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t size, block;
static int sweep, any, torn, late, buffered, sync_log;

/* Options with a number */
enum {
	WRITERS, DEPTH, OPS, SECONDS, ERRORS, SEED, SIZE, MAX, READ, FUA, FLUSH, BLOCK,
	NUMBERS,
};

static struct {
	uint64_t value, min, max;
} numbers[NUMBERS] = {
	[WRITERS]	= { 4, 1, 1000 },
	[DEPTH]		= { 4, 1, 100 },
	[OPS]		= { 0, 1, UINT32_MAX },
	[SECONDS]	= { 0, 1, 1000000 },
	[ERRORS]	= { 1, 0, UINT32_MAX },
	[SEED]		= { 0, 0, UINT32_MAX },
	[SIZE]		= { 0, SECTOR, (uint64_t)UINT32_MAX * SECTOR },
	[MAX]		= { MAX_SECTORS * SECTOR, SECTOR, MAX_SECTORS * SECTOR },
	[READ]		= { 30, 0, 100 },
	[FUA]		= { 0, 0, 100 },
	[FLUSH]		= { 0, 0, 1000000 },
	[BLOCK]		= { 0, SECTOR, 65536 },
};

#define NUMBER_OPTION	256	/* above what getopt returns otherwise */

static const struct option options[] = {
	{ "writers",	required_argument,	NULL,	NUMBER_OPTION + WRITERS },
	{ "depth",	required_argument,	NULL,	NUMBER_OPTION + DEPTH },
	{ "ops",	required_argument,	NULL,	NUMBER_OPTION + OPS },
	{ "seconds",	required_argument,	NULL,	NUMBER_OPTION + SECONDS },
	{ "errors",	required_argument,	NULL,	NUMBER_OPTION + ERRORS },
	{ "seed",	required_argument,	NULL,	NUMBER_OPTION + SEED },
	{ "size",	required_argument,	NULL,	NUMBER_OPTION + SIZE },
	{ "max",	required_argument,	NULL,	NUMBER_OPTION + MAX },
	{ "read",	required_argument,	NULL,	NUMBER_OPTION + READ },
	{ "fua",	required_argument,	NULL,	NUMBER_OPTION + FUA },
	{ "flush",	required_argument,	NULL,	NUMBER_OPTION + FLUSH },
	{ "block",	required_argument,	NULL,	NUMBER_OPTION + BLOCK },
	{ "sweep",	no_argument,		&sweep,		1 },
	{ "any",	no_argument,		&any,		1 },
	{ "torn",	no_argument,		&torn,		1 },
	{ "late",	no_argument,		&late,		1 },
	{ "buffered",	no_argument,		&buffered,	1 },
	{ "sync",	no_argument,		&sync_log,	1 },
	{ }
};

static uint64_t number(const char *text, uint64_t min, uint64_t max)
{
	static const char units[] = "KMG";
	char *end;
	uint64_t n;
	const char *unit;

	errno = 0;
	n = strtoull(text, &end, 0);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit && !end[1]) {
		n <<= 10 * (unit - units + 1);
		end++;
	}
	if (errno || end == text || *end || n < min || n > max)
		errx(2, "'%s' is not a number from %llu to %llu", text,
		     (unsigned long long)min, (unsigned long long)max);
	return n;
}

static void parse(int argc, char **argv)
{
	int c, i;

	numbers[SEED].value = (uint32_t)time(NULL);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (!c)
			continue;
		if (c < NUMBER_OPTION)
			exit(2);
		i = c - NUMBER_OPTION;
		numbers[i].value = number(optarg, numbers[i].min, numbers[i].max);
	}
	if (argc - optind != 2)
		errx(2, "usage: writer [OPTION...] LOG DISK");
	load.opt = (struct load_options){
		.writers = (unsigned int)numbers[WRITERS].value,
		.depth = (unsigned int)numbers[DEPTH].value,
		.ops = numbers[OPS].value,
		.seconds = (unsigned int)numbers[SECONDS].value,
		.errors = numbers[ERRORS].value,
		.seed = (uint32_t)numbers[SEED].value,
		.max = (uint32_t)numbers[MAX].value / SECTOR,
		.read_percent = (unsigned int)numbers[READ].value,
		.fua_percent = (unsigned int)numbers[FUA].value,
		.flush_every = (unsigned int)numbers[FLUSH].value,
	};
	size = numbers[SIZE].value;
	block = numbers[BLOCK].value;
}

/* Requests of an earlier round, or of a killed writer, may still be in flight. */
static void wait_idle(const struct stat *st)
{
	char path[64];
	unsigned long reads, writes;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/inflight", major(st->st_rdev),
		 minor(st->st_rdev));
	for (int i = 0; i < IDLE_TRIES; i++) {
		FILE *file = fopen(path, "re");
		int n = file ? fscanf(file, "%lu %lu", &reads, &writes) : 0;

		if (file)
			fclose(file);
		if (n != 2)
			errx(2, "cannot read %s", path);
		if (!reads && !writes)
			return;
		usleep(100000);
	}
	errx(2, "requests are still under way: %s: %lu %lu", path, reads, writes);
}

static void size_up(const char *path, const struct stat *st)
{
	uint64_t all = (uint64_t)st->st_size;
	int logical = SECTOR;

	if (S_ISBLK(st->st_mode)) {
		if (ioctl(load.fd, BLKGETSIZE64, &all) || ioctl(load.fd, BLKSSZGET, &logical))
			err(2, "%s", path);
		block = (unsigned int)logical;
	} else if (!block) {
		block = SECTOR;
	}
	if (size > all)
		errx(2, "%s has %llu bytes only", path, (unsigned long long)all);
	if (!size)
		size = all;
	size -= size % block;
	load.opt.max -= load.opt.max % (uint32_t)(block / SECTOR);
	if (!size || !load.opt.max || block % SECTOR || size / SECTOR > UINT32_MAX)
		errx(2, "%s cannot be used: %llu bytes in blocks of %llu", path,
		     (unsigned long long)size, (unsigned long long)block);
}

static void open_disk(const char *path)
{
	int flags = O_RDWR | O_CLOEXEC | (buffered ? 0 : O_DIRECT);
	struct stat st;

	if (stat(path, &st))
		err(2, "%s", path);
	if (S_ISBLK(st.st_mode))
		flags |= O_EXCL;
	load.fd = open(path, flags);
	if (load.fd < 0)
		err(2, "%s", path);
	if (S_ISBLK(st.st_mode))
		wait_idle(&st);
	size_up(path, &st);
}

static void new_run(const char *path)
{
	uint64_t run;

	if (getrandom(&run, sizeof(run), 0) != sizeof(run))
		err(2, "getrandom");
	model_init(&load.model, run, size / SECTOR, (unsigned int)(block / SECTOR), any);
	load.model.late = late;
	load.model.torn = torn;
	errno = -log_open(&load.log, path, 0, sync_log);
	if (errno)
		err(2, "%s", path);
	log_add(&load.log, (struct record){
		.type = RECORD_RUN, .writer = (uint16_t)(block / SECTOR),
		.count = (uint32_t)(size / SECTOR), .lba = run,
		.aux = LOG_VERSION | (any ? LOG_ANY : 0),
	});
}

/*
 * A partial record, which a killed writer may leave, is cut off. If a log has lost more, a
 * read returns data of a write that the log does not have.
 */
static uint32_t resume(const char *path, const struct log_map *map)
{
	struct replay r;

	if (replay(&load.model, map, late, torn, &r))
		errx(2, "%s, record %zu: %s", path, r.at, r.why);
	if (map->rest >= sizeof(struct record) || (map->rest && r.stopped))
		errx(2, "%s is damaged after record %zu", path, map->nr);
	if (load.model.sectors != size / SECTOR ||
	    load.model.block != block / SECTOR)
		errx(2, "%s is of a disk of another size", path);
	errno = -log_open(&load.log, path, map->nr, sync_log);
	if (errno)
		err(2, "%s", path);
	model_end_round(&load.model);
	return r.rounds;
}

static void begin_round(const char *path, const char *disk)
{
	struct log_map map;
	uint32_t rounds = 0;
	int ret = log_map(&map, path);

	if (ret == -ENOENT) {
		new_run(path);
	} else if (ret) {
		errx(2, "%s: %s", path, strerror(-ret));
	} else {
		rounds = resume(path, &map);
		log_unmap(&map);
	}
	log_add(&load.log, (struct record){
		.type = RECORD_ROUND, .op = rounds + 1, .aux = load.opt.seed,
	});
	log_flush(&load.log);
	printf("round %u of run %016llx on %s: %llu sectors in blocks of %u, seed %u\n",
	       rounds + 1, (unsigned long long)load.model.run, disk,
	       (unsigned long long)load.model.sectors, load.model.block, load.opt.seed);
	fflush(stdout);
}

static void print_ended(const char *what, uint64_t done, uint64_t failed)
{
	printf("%llu %s, %llu failed; ", (unsigned long long)done, what,
	       (unsigned long long)failed);
}

static int end_round(void)
{
	uint64_t (*n)[2] = load.ended, failed = 0;

	log_add(&load.log, (struct record){ .type = RECORD_STOP });
	log_flush(&load.log);
	print_ended("writes", n[OP_WRITE][0] + n[OP_WRITE_FUA][0],
		    n[OP_WRITE][1] + n[OP_WRITE_FUA][1]);
	print_ended("reads", n[OP_READ][0], n[OP_READ][1]);
	print_ended("flushes", n[OP_FLUSH][0], n[OP_FLUSH][1]);
	printf("%llu bad sectors\n", (unsigned long long)load.bad);
	if (load.bad)
		return 1;
	for (int kind = 0; kind < OP_KINDS; kind++)
		failed += n[kind][1];
	return load.opt.errors && failed >= load.opt.errors ? 3 : 0;
}

static void on_signal(int sig)
{
	(void)sig;
	load.stop = true;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_condattr_t attr;
	int ret;

	parse(argc, argv);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&load.changed, &attr);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	stamp_init();
	open_disk(argv[optind + 1]);
	begin_round(argv[optind], argv[optind + 1]);
	ret = load_run(&load);
	if (ret)
		errx(2, "threads: %s", strerror(ret));
	if (sweep && !load.bad)
		load_sweep(&load);
	return end_round();
}
