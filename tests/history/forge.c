// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forge LOG DATA <SCRIPT: makes a log and contents that say what the script says, for
 * tests of the checker. Nothing here asks whether that makes sense.
 *
 *   run SECTORS [BLOCK] [any]      first line; sectors of a logical block, 1
 *   round                          numbers itself
 *   write|fua|read LBA COUNT       issue; requests number themselves, from 1
 *   flush
 *   ok OP ; error OP               its end
 *   seen LBA COUNT OP
 *   bad LBA VERDICT OP
 *   stop
 *   data LBA COUNT OP              the contents: stamps of a write
 *   zero LBA COUNT
 *   foreign LBA COUNT OP           stamps of another run
 *   misplaced LBA FROM OP          the stamp of another sector
 *   flip LBA BIT                   the other value of a bit of what is there
 *   noise LBA COUNT
 *   fill N SEED                    N writes and reads at random that succeed, and their
 *                                  contents; at least a round before
 *
 * LBA COUNT alone mean that sectors, and 'run' makes the data zero.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "model.h"
#include "stamp.h"

#define RUN	0x0123456789abcdefULL

static struct {
	struct log log;
	char *data;
	uint64_t sectors;
	uint32_t ops;
	uint32_t rounds;
} forge;

static char *sector(uint64_t lba)
{
	if (lba >= forge.sectors)
		errx(2, "there is no sector %llu", (unsigned long long)lba);
	return forge.data + lba * SECTOR;
}

static void run(const unsigned long *n, int nr, bool any)
{
	forge.sectors = n[0];
	forge.data = calloc(n[0], SECTOR);
	if (!forge.data)
		err(2, "no memory");
	log_add(&forge.log, (struct record){
		.type = RECORD_RUN, .writer = nr > 1 ? (uint16_t)n[1] : 1,
		.count = (uint32_t)n[0], .lba = RUN,
		.aux = LOG_VERSION | (any ? LOG_ANY : 0),
	});
}

static void issue(enum op_kind kind, const unsigned long *n)
{
	log_add(&forge.log, (struct record){
		.type = RECORD_ISSUE, .kind = kind, .op = ++forge.ops,
		.lba = kind == OP_FLUSH ? 0 : n[0],
		.count = kind == OP_FLUSH ? 0 : (uint32_t)n[1],
	});
}

static void stamps(uint64_t run, uint64_t lba, uint64_t count, uint32_t op)
{
	for (uint64_t i = lba; i < lba + count; i++)
		stamp_write(sector(i), run, i, op, 0);
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 31;
}

static void fill(unsigned long nr, uint64_t seed)
{
	uint32_t *last = calloc(forge.sectors, sizeof(*last));

	if (!last)
		err(2, "no memory");
	while (nr--) {
		unsigned long n[2];
		uint64_t size = 1ULL << next_random(&seed) % 12;
		bool reads = next_random(&seed) % 10 < 3;

		if (size > forge.sectors)
			size = forge.sectors;
		n[1] = 1 + next_random(&seed) % size;
		n[0] = next_random(&seed) % (forge.sectors - n[1] + 1);
		issue(reads ? OP_READ : OP_WRITE, n);
		log_add(&forge.log, (struct record){ .type = RECORD_DONE, .op = forge.ops });
		for (unsigned long i = 0; !reads && i < n[1]; i++)
			last[n[0] + i] = forge.ops;
	}
	for (uint64_t i = 0; i < forge.sectors; i++)
		if (last[i])
			stamps(RUN, i, 1, last[i]);
	free(last);
}

static void add(enum record_type type, const struct record *r)
{
	struct record copy = *r;

	copy.type = (uint8_t)type;
	log_add(&forge.log, copy);
}

static bool contents(const char *word, const unsigned long *n)
{
	uint64_t seed = n[0] + 1;

	if (!strcmp(word, "data"))
		stamps(RUN, n[0], n[1], (uint32_t)n[2]);
	else if (!strcmp(word, "zero"))
		memset(sector(n[0] + n[1] - 1) - (n[1] - 1) * SECTOR, 0, n[1] * SECTOR);
	else if (!strcmp(word, "foreign"))
		stamps(RUN + 1, n[0], n[1], (uint32_t)n[2]);
	else if (!strcmp(word, "misplaced"))
		stamp_write(sector(n[0]), RUN, n[1], (uint32_t)n[2], 0);
	else if (!strcmp(word, "flip"))
		sector(n[0])[n[1] / 8 % SECTOR] ^= (char)(1 << n[1] % 8);
	else if (!strcmp(word, "noise"))
		for (uint64_t i = 0; i < n[1] * SECTOR / 8; i++)
			((uint64_t *)sector(n[0]))[i] = next_random(&seed);
	else
		return false;
	return true;
}

static bool record(const char *word, const unsigned long *n)
{
	struct record r = { .op = (uint32_t)n[0] };
	struct record seen = { .lba = n[0], .count = (uint32_t)n[1], .op = (uint32_t)n[2] };
	struct record bad = { .lba = n[0], .count = 1, .aux = (uint32_t)n[1],
			      .op = (uint32_t)n[2] };

	if (!strcmp(word, "round"))
		add(RECORD_ROUND, &(struct record){ .op = ++forge.rounds });
	else if (!strcmp(word, "write"))
		issue(OP_WRITE, n);
	else if (!strcmp(word, "fua"))
		issue(OP_WRITE_FUA, n);
	else if (!strcmp(word, "read"))
		issue(OP_READ, n);
	else if (!strcmp(word, "flush"))
		issue(OP_FLUSH, n);
	else if (!strcmp(word, "ok"))
		add(RECORD_DONE, &r);
	else if (!strcmp(word, "error"))
		add(RECORD_ERROR, &(struct record){ .op = r.op, .aux = EIO });
	else if (!strcmp(word, "seen"))
		add(RECORD_SEEN, &seen);
	else if (!strcmp(word, "bad"))
		add(RECORD_BAD, &bad);
	else if (!strcmp(word, "stop"))
		add(RECORD_STOP, &r);
	else
		return false;
	return true;
}

static void line(const char *text)
{
	char word[16];
	unsigned long n[3] = { };
	int nr = sscanf(text, " %15s %lu %lu %lu", word, &n[0], &n[1], &n[2]);

	if (nr < 1 || word[0] == '#')
		return;
	if (!strcmp(word, "run"))
		run(n, nr - 1, strstr(text, " any"));
	else if (!forge.data)
		errx(2, "'run' comes first");
	else if (!strcmp(word, "fill"))
		fill(n[0], n[1]);
	else if (!record(word, n) && !contents(word, n))
		errx(2, "what is '%s'?", word);
}

static void write_data(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t done = 0, len = forge.sectors * SECTOR;

	if (fd < 0)
		err(2, "%s", path);
	while (done < len) {
		ssize_t n = write(fd, forge.data + done, len - done);

		if (n <= 0)
			err(2, "%s", path);
		done += (size_t)n;
	}
	close(fd);
}

int main(int argc, char **argv)
{
	char text[128];

	if (argc != 3) {
		fprintf(stderr, "usage: %s LOG DATA <SCRIPT\n", argv[0]);
		return 2;
	}
	stamp_init();
	errno = -log_open(&forge.log, argv[1], 0, false);
	if (errno)
		err(2, "%s", argv[1]);
	while (fgets(text, sizeof(text), stdin))
		line(text);
	log_flush(&forge.log);
	write_data(argv[2]);
	return 0;
}
