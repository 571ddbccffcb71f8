// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check [OPTION...] LOG [DATA]: is what DATA holds allowed by the history in LOG?
 *
 *   --unclean        the writer was killed: the log need not end with the end of a
 *                    round, nor with a whole record
 *   --settle         note in the log what was found where several contents were
 *                    possible, so that the next round and the next check hold the disk
 *                    to it; with DATA
 *   --flushed        DATA is below a volatile cache, and has what was flushed or what was
 *                    written later; flushed.c begins with the rules. With DATA, without
 *                    --settle
 *   --torn, --late   what the disk may do beyond model.c
 *   --dump           print the log
 *   --sector LBA     print what the log has about a sector, and what it may hold
 *
 * DATA is the disk, or a file with its contents, like the arena of the export at the
 * Contents behind the sectors of the log are ignored. No request may be in flight. Without
 * DATA only the log is checked.
 *
 * The last line says how many of how many sectors are bad. The first of them are
 * printed, with the requests that their history ends with.
 *
 * Status: 0 the history is legal; 1 it is not, or the log is not complete; 2 it could not
 * be checked.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flushed.h"
#include "replay.h"

#define CHUNK		2048	/* sectors */
#define BAD_SHOWN	20
#define HISTORY_SHOWN	5

static struct {
	int unclean, settle, flushed, torn, late, dump, sector;
	uint64_t lba;
} opt;

static const char * const kind_text[OP_KINDS] = {
	"write", "write FUA", "read", "flush",
};

static const char * const state_text[] = {
	[OP_OPEN] = "no end", [OP_DONE] = "done", [OP_FAILED] = "failed",
};

/*
 * Output
 */

static void dump_record(const struct record *r)
{
	printf("%u: ", r->number);
	switch (r->type) {
	case RECORD_RUN:
		printf("run %016" PRIx64 ", %u sectors in blocks of %u\n", r->lba, r->count,
		       r->writer * SECTOR);
		break;
	case RECORD_ROUND:
		printf("round %u, seed %u\n", r->op, r->aux);
		break;
	case RECORD_ISSUE:
		printf("%s %u of writer %u: sector %" PRIu64 ", %u\n",
		       r->kind < OP_KINDS ? kind_text[r->kind] : "?", r->op, r->writer,
		       r->lba, r->count);
		break;
	case RECORD_DONE:
		printf("%u done\n", r->op);
		break;
	case RECORD_ERROR:
		printf("%u failed: %s\n", r->op, strerror((int)r->aux));
		break;
	case RECORD_SEEN:
		printf("sector %" PRIu64 ", %u: seen %u\n", r->lba, r->count, r->op);
		break;
	case RECORD_BAD:
		printf("sector %" PRIu64 ": %s (%u)\n", r->lba,
		       r->aux < VERDICTS ? verdict_text[r->aux] : "?", r->op);
		break;
	case RECORD_STOP:
		printf("stop\n");
		break;
	case RECORD_QUIET:
		printf("quiet\n");
		break;
	default:
		printf("type %u\n", r->type);
	}
}

/* Prints the last requests that wrote a sector, the newest first. */
static void show_history(const struct model *m, uint64_t lba, unsigned int most)
{
	for (uint32_t n = m->nr_ops - 1; n && most; n--) {
		const struct op *op = &m->ops[n];

		if ((op->kind != OP_WRITE && op->kind != OP_WRITE_FUA) || lba < op->lba ||
		    lba - op->lba >= op->count)
			continue;
		printf("    %s %u of writer %u: sector %" PRIu64 ", %u: %s%s\n",
		       kind_text[op->kind], n, op->writer, op->lba, op->count,
		       state_text[op->state], model_allows(m, lba, n) ? ", may be" : "");
		most--;
	}
}

/*
 * The data
 */

struct result {
	uint64_t bad;
	uint64_t kinds[VERDICTS];
	uint64_t settled;
	struct log log;
	struct flushed flushed;
};

static void show_bad(const struct model *m, uint64_t lba, const struct look *look)
{
	printf("sector %" PRIu64 ": %s", lba, verdict_text[look->verdict]);
	if (look->op)
		printf(", write %u", look->op);
	printf("\n");
	show_history(m, lba, HISTORY_SHOWN);
}

static void settle(struct log *log, uint64_t lba, const struct look *look)
{
	log_add(log, (struct record){
		.type = RECORD_SEEN, .op = look->op, .lba = lba, .count = 1,
	});
}

static void judge_chunk(struct model *m, uint64_t lba, uint32_t count, struct look *look,
			struct result *res)
{
	if (opt.flushed)
		flushed_judge(&res->flushed, m, lba, count, look);
	else
		model_judge(m, lba, count, look);
	for (uint32_t i = 0; i < count; i++) {
		if (look[i].verdict != VERDICT_GOOD) {
			res->kinds[look[i].verdict]++;
			if (res->bad++ < BAD_SHOWN)
				show_bad(m, lba + i, &look[i]);
		} else if (opt.flushed ? flushed_is_open(&res->flushed, lba + i) :
					 !model_is_settled(m, lba + i)) {
			res->settled++;
			if (opt.settle)
				settle(&res->log, lba + i, &look[i]);
		}
	}
}

static int open_data(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st))
		err(2, "%s", path);
	/* The page cache, which has what this host has written, is bypassed. */
	fd = open(path, O_RDONLY | O_CLOEXEC | (S_ISBLK(st.st_mode) ? O_DIRECT : 0));
	if (fd < 0)
		err(2, "%s", path);
	return fd;
}

static void read_chunk(int fd, const char *path, char *data, uint64_t lba, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, data + done, len - done, (off_t)(lba * SECTOR + done));

		if (n < 0)
			err(2, "%s, sector %" PRIu64, path, lba + done / SECTOR);
		if (!n)
			errx(2, "%s has %" PRIu64 " sectors only", path,
			     lba + done / SECTOR);
		done += (size_t)n;
	}
}

static void check_data(struct model *m, const char *path, struct result *res)
{
	int fd = open_data(path);
	uint64_t lba;
	uint32_t count;
	struct look *look = calloc(CHUNK, sizeof(*look));
	void *data;

	if (!look || posix_memalign(&data, 4096, (size_t)CHUNK * SECTOR))
		err(2, "no memory");
	for (lba = 0; lba < m->sectors; lba += count) {
		count = m->sectors - lba < CHUNK ? (uint32_t)(m->sectors - lba) : CHUNK;
		read_chunk(fd, path, data, lba, (size_t)count * SECTOR);
		model_look(m, data, lba, count, look);
		judge_chunk(m, lba, count, look, res);
	}
	free(data);
	free(look);
	close(fd);
}

/*
 * The log
 */

static bool check_log(const char *path, const struct log_map *map, struct model *m,
		      struct replay *r)
{
	bool good = true;

	if (replay(m, map, opt.late, opt.torn, r)) {
		printf("%s, record %zu: %s\n", path, r->at, r->why);
		return false;
	}
	if (map->rest && (!opt.unclean || map->rest >= sizeof(struct record))) {
		printf("%s: damaged after record %zu\n", path, map->nr);
		good = false;
	}
	if (!r->stopped && !opt.unclean) {
		printf("%s: the last round has no end\n", path);
		good = false;
	}
	r->open += model_end_round(m);
	if (r->bad)
		printf("%s: a writer has read %" PRIu64 " bad sectors\n", path, r->bad);
	return good;
}

static void print_log(const struct replay *r, size_t records)
{
	printf("%zu records, %u rounds: %" PRIu64 " writes, %" PRIu64 " failed, %" PRIu64
	       " without an end; %" PRIu64 " reads, %" PRIu64 " failed; %" PRIu64
	       " flushes, %" PRIu64 " failed\n", records, r->rounds,
	       r->ended[OP_WRITE][0] + r->ended[OP_WRITE_FUA][0],
	       r->ended[OP_WRITE][1] + r->ended[OP_WRITE_FUA][1], r->open,
	       r->ended[OP_READ][0], r->ended[OP_READ][1], r->ended[OP_FLUSH][0],
	       r->ended[OP_FLUSH][1]);
}

static void check_disk(struct model *m, const char *log_path, const struct log_map *map,
		       const char *data_path, struct result *res)
{
	if (opt.flushed)
		flushed_init(&res->flushed, m, map);
	if (opt.settle) {
		errno = -log_open(&res->log, log_path, map->nr, false);
		if (errno)
			err(2, "%s", log_path);
		log_add(&res->log, (struct record){ .type = RECORD_QUIET });
	}
	check_data(m, data_path, res);
	if (opt.settle)
		log_flush(&res->log);
	flushed_free(&res->flushed);
	for (int i = 1; i < VERDICTS; i++)
		if (res->kinds[i])
			printf("%" PRIu64 " sectors: %s\n", res->kinds[i], verdict_text[i]);
	printf("%" PRIu64 " of %" PRIu64 " sectors are bad, %" PRIu64
	       " could have been otherwise\n", res->bad, m->sectors, res->settled);
}

static int run(const char *log_path, const char *data_path)
{
	struct result res = { };
	struct replay r;
	struct log_map map;
	struct model m;
	int ret = log_map(&map, log_path);

	if (ret && ret != -ENOENT)
		errx(2, "%s: %s", log_path, strerror(-ret));
	if (ret) {
		printf("%s: is empty, or not there\n", log_path);
		return 1;
	}
	for (size_t i = 0; opt.dump && i < map.nr; i++)
		dump_record(&map.records[i]);
	if (!check_log(log_path, &map, &m, &r))
		return 1;
	print_log(&r, map.nr);
	if (opt.sector && opt.lba < m.sectors)
		show_history(&m, opt.lba, UINT32_MAX);
	if (data_path)
		check_disk(&m, log_path, &map, data_path, &res);
	return res.bad || r.bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "unclean",	no_argument,		&opt.unclean,	1 },
		{ "settle",	no_argument,		&opt.settle,	1 },
		{ "flushed",	no_argument,		&opt.flushed,	1 },
		{ "torn",	no_argument,		&opt.torn,	1 },
		{ "late",	no_argument,		&opt.late,	1 },
		{ "dump",	no_argument,		&opt.dump,	1 },
		{ "sector",	required_argument,	&opt.sector,	1 },
		{ }
	};
	int c;

	while (!(c = getopt_long(argc, argv, "", options, NULL)))
		if (optarg)
			opt.lba = strtoull(optarg, NULL, 0);
	if (c > 0 || (opt.settle && opt.flushed) ||
	    (argc - optind != 2 && (argc - optind != 1 || opt.settle || opt.flushed)))
		errx(2, "usage: check [OPTION...] LOG [DATA]");
	stamp_init();
	return run(argv[optind], argv[optind + 1]);
}
