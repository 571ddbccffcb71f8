// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Replays logs; see replay.h. A log may come from anywhere: every field is checked
 * before it is used.
 */
#include <stddef.h>

#include "replay.h"

static const char *begin(struct model *m, const struct record *r)
{
	if (r->type != RECORD_RUN)
		return "not a log of a history";
	if ((r->aux & ~LOG_ANY) != LOG_VERSION)
		return "another version of the log";
	if (!r->writer || !r->count || r->count % r->writer)
		return "a disk of no size, or of broken blocks";
	model_init(m, r->lba, r->count, r->writer, r->aux & LOG_ANY);
	return NULL;
}

static bool range_is_good(const struct model *m, const struct record *r)
{
	return r->lba < m->sectors && r->count && r->count <= m->sectors - r->lba;
}

static const char *issue(struct model *m, const struct record *r)
{
	bool flush = r->kind == OP_FLUSH;

	if (r->kind >= OP_KINDS || r->op != m->nr_ops)
		return "requests are not in order";
	if (flush && r->count)
		return "a flush of sectors";
	if (!flush && (!range_is_good(m, r) || r->lba % m->block || r->count % m->block))
		return "a request beyond the disk, or of broken blocks";
	if (!flush && !model_is_free(m, r->kind, r->lba, r->count))
		return "two requests meet on a sector";
	model_issue(m, r->kind, r->writer, r->lba, r->count);
	return NULL;
}

static const char *end(struct model *m, const struct record *r, struct replay *p)
{
	bool failed = r->type == RECORD_ERROR;

	if (!r->op || r->op >= m->nr_ops || m->ops[r->op].state != OP_OPEN)
		return "the end of a request that is not under way";
	model_end(m, r->op, failed);
	p->ended[m->ops[r->op].kind][failed]++;
	return NULL;
}

static const char *seen(struct model *m, const struct record *r)
{
	if (!range_is_good(m, r))
		return "a sector beyond the disk";
	for (uint32_t i = 0; i < r->count; i++) {
		if (!model_allows(m, r->lba + i, r->op))
			return "a writer has seen what must not be";
		model_seen(m, r->lba + i, r->op);
	}
	return NULL;
}

static const char *apply(struct model *m, const struct record *r, struct replay *p)
{
	/* Between two rounds the checker may have noted what it found. */
	p->stopped = r->type == RECORD_STOP ||
		     (p->stopped && (r->type == RECORD_QUIET || r->type == RECORD_SEEN));
	switch (r->type) {
	case RECORD_ROUND:
		p->open += model_end_round(m);
		p->seed = r->aux;
		p->rounds++;
		return r->op == p->rounds ? NULL : "rounds are not in order";
	case RECORD_ISSUE:
		return issue(m, r);
	case RECORD_DONE:
	case RECORD_ERROR:
		return end(m, r, p);
	case RECORD_SEEN:
		return seen(m, r);
	case RECORD_BAD:
		p->bad++;
		return NULL;
	case RECORD_STOP:
		return NULL;
	case RECORD_QUIET:
		p->open += model_end_round(m);
		return NULL;
	default:
		return "an unknown record";
	}
}

/**
 * replay - replay a log
 * @m: to set up
 * @map: of the log
 * @late: see struct model
 * @torn: see struct model
 * @p: to set up
 *
 * Return: 0 or -1, with @why and @at in @p.
 */
int replay(struct model *m, const struct log_map *map, bool late, bool torn,
	   struct replay *p)
{
	*p = (struct replay){ .why = map->nr ? begin(m, &map->records[0]) :
					       "not a log of a history" };
	if (p->why)
		return -1;
	m->late = late;
	m->torn = torn;
	for (size_t i = 1; i < map->nr; i++) {
		p->why = apply(m, &map->records[i], p);
		if (p->why) {
			p->at = i;
			return -1;
		}
	}
	return 0;
}
