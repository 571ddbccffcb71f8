// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a disk may answer.
 *
 * The unit is a sector of 512 bytes: each is a register of its own. It has a set of
 * contents that it may hold. Requests on one sector never overlap in time, unless all
 * of them read, so the set changes from one request to the next:
 *
 *  1. Before the first write: zeroes; or, if the run began so, anything.
 *  2. A write that succeeded: its data, and nothing else. No acknowledged write is
 *     lost, and none that is older, acknowledged or not, comes back.
 *  3. A write that failed: what was there before, or its data; whichever, it has been
 *     so since before the failure was reported. rdmablk reports no write as failed that
 *     could still land (protocol.rst, "Held writes").
 *  4. A write that has no end, because the writer died: the same, from the beginning of
 *     the next round on. A round begins when nothing of earlier ones is under way.
 *  5. A read that succeeded returns a member of the set, and from then on the set is
 *     that one alone: what was absent does not come, what was there does not go. A read
 *     that failed says nothing. The check between two rounds is such a read.
 *  6. FLUSH and FUA change nothing here. Data that the target lost with a volatile cache is
 *     not part of this specification; flushed.c specifies what is below such a cache.
 *
 * Torn requests: 3 and 4 are about each sector for itself, so of a request that failed
 * any part may have landed. A request that succeeded is there as a whole, by 2.
 *
 * Torn blocks: all sectors of a logical block have the data of one write, also if it
 * failed. A fault that may tear a block is an initiator that dies in the middle of a
 * logical block larger than the path MTU. A test of such a fault sets @torn.
 *
 * Late writes: a disk in general may place a write after it has reported its failure, until
 * it has acknowledged another write of the sector. @late weakens 3, 4 and 5 to that. This
 * is all that can be promised when a daemon is stopped for longer than packets are assumed
 * to live.
 *
 * The rules above hold as well when a disk is connected again, when another host takes it
 * over, and when the daemon is killed.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define BUSY_WRITE	0xff
#define VALUE_SET	0x80000000U	/* in value[]: the rest is the number of a set */
#define VALUE_LATE	0x40000000U	/* in a set: stays when another was seen */

struct set {
	uint32_t next_free;
	uint32_t nr;
	uint32_t value[];
};

#define NO_SET		0xffffffffU

const char * const verdict_text[VERDICTS] = {
	[VERDICT_GOOD]		= "good",
	[VERDICT_ZEROES]	= "zeroes",
	[VERDICT_DAMAGED]	= "damaged",
	[VERDICT_FOREIGN]	= "of another run",
	[VERDICT_MISPLACED]	= "of another sector",
	[VERDICT_GARBAGE]	= "garbage",
	[VERDICT_UNKNOWN]	= "of an unknown write",
	[VERDICT_OLD]		= "old",
	[VERDICT_LATE]		= "came late",
	[VERDICT_TORN]		= "torn block",
};

static void *grow(void *p, size_t nr, size_t size)
{
	p = reallocarray(p, nr, size);
	if (!p)
		err(2, "no memory");
	return p;
}

/**
 * model_init - a disk before the first write
 * @m: to set up
 * @run: identity of the run
 * @sectors: of the disk
 * @block: sectors of a logical block
 * @any: it holds anything; else zeroes
 */
void model_init(struct model *m, uint64_t run, uint64_t sectors, unsigned int block,
		bool any)
{
	*m = (struct model){
		.run = run, .sectors = sectors, .block = block,
		.nr_ops = 1, .free_set = NO_SET,
	};
	m->value = calloc(sectors, sizeof(*m->value));
	m->busy = calloc(sectors, sizeof(*m->busy));
	if (!m->value || !m->busy)
		err(2, "no memory");
	for (uint64_t i = 0; any && i < sectors; i++)
		m->value[i] = VALUE_ANY;
}

/*
 * Sets. Most sectors have one value and no set.
 */

static struct set *set_of(const struct model *m, uint32_t value)
{
	return m->sets[value & ~VALUE_SET];
}

static uint32_t set_alloc(struct model *m)
{
	uint32_t n = m->free_set;

	if (n != NO_SET) {
		m->free_set = m->sets[n]->next_free;
	} else {
		n = m->nr_sets;
		if (!(n & (n - 1)))
			m->sets = grow(m->sets, n ? 2 * (size_t)n : 1, sizeof(*m->sets));
		m->sets[n] = NULL;
		m->nr_sets++;
	}
	return n;
}

static void set_add(struct model *m, uint64_t lba, uint32_t value)
{
	uint32_t old = m->value[lba], n;
	struct set *set = NULL;

	if (old & VALUE_SET) {
		n = old & ~VALUE_SET;
		set = m->sets[n];
	} else {
		n = set_alloc(m);
		set = grow(m->sets[n], 1, sizeof(*set) + sizeof(value));
		set->nr = 1;
		set->value[0] = old;
		m->value[lba] = VALUE_SET | n;
	}
	set = grow(set, 1, sizeof(*set) + (set->nr + 1) * sizeof(value));
	set->value[set->nr++] = value;
	m->sets[n] = set;
}

static void set_one(struct model *m, uint64_t lba, uint32_t value)
{
	uint32_t old = m->value[lba];

	if (old & VALUE_SET) {
		set_of(m, old)->next_free = m->free_set;
		m->free_set = old & ~VALUE_SET;
	}
	m->value[lba] = value;
}

/*
 * Requests
 */

static bool writes(enum op_kind kind)
{
	return kind == OP_WRITE || kind == OP_WRITE_FUA;
}

/**
 * model_is_free - may a request be issued
 * @m: model
 * @kind: of the request
 * @lba: first sector
 * @count: sectors
 *
 * Return: whether nothing is under way that it must not meet.
 */
bool model_is_free(const struct model *m, enum op_kind kind, uint64_t lba, uint32_t count)
{
	uint8_t most = writes(kind) ? 0 : BUSY_WRITE - 2;

	for (uint32_t i = 0; i < count; i++)
		if (m->busy[lba + i] > most)
			return false;
	return true;
}

/**
 * model_issue - a request is issued
 * @m: model
 * @kind: of the request
 * @writer: number of the writer
 * @lba: first sector
 * @count: sectors; 0: a flush
 *
 * Return: number of the request.
 */
uint32_t model_issue(struct model *m, enum op_kind kind, uint16_t writer, uint64_t lba,
		     uint32_t count)
{
	uint32_t op = m->nr_ops++;

	if (op >= VALUE_ANY)
		errx(2, "too many requests for one log");
	if (op >= m->max_ops) {
		m->max_ops = m->max_ops ? 2 * m->max_ops : 1024;
		m->ops = grow(m->ops, m->max_ops, sizeof(*m->ops));
	}
	m->ops[op] = (struct op){
		.lba = lba, .count = count, .writer = writer, .kind = kind,
	};
	for (uint32_t i = 0; i < count; i++)
		m->busy[lba + i] = writes(kind) ? BUSY_WRITE : m->busy[lba + i] + 1;
	return op;
}

/**
 * model_end - a request ends
 * @m: model
 * @n: its number
 * @failed: with an error, or without any answer
 */
void model_end(struct model *m, uint32_t n, bool failed)
{
	struct op *op = &m->ops[n];

	op->state = failed ? OP_FAILED : OP_DONE;
	for (uint64_t lba = op->lba; lba < op->lba + op->count; lba++) {
		if (!writes(op->kind)) {
			m->busy[lba]--;
			continue;
		}
		m->busy[lba] = 0;
		if (failed)
			set_add(m, lba, n | (m->late ? VALUE_LATE : 0));
		else
			set_one(m, lba, n);
	}
}

/**
 * model_end_round - nothing is under way any more
 * @m: model
 *
 * Return: how many requests had no end.
 */
uint32_t model_end_round(struct model *m)
{
	uint32_t nr = 0;

	for (uint32_t op = 1; op < m->nr_ops; op++) {
		if (m->ops[op].state == OP_OPEN) {
			model_end(m, op, true);
			nr++;
		}
	}
	return nr;
}

/*
 * Contents
 */

/**
 * model_is_settled - is there one content only that a sector may hold
 * @m: model
 * @lba: sector
 *
 * Return: whether reading it tells nothing new.
 */
bool model_is_settled(const struct model *m, uint64_t lba)
{
	return !(m->value[lba] & VALUE_SET);
}

/**
 * model_allows - whether a sector may have a value
 * @m: model
 * @lba: sector
 * @value: number of a write, VALUE_ZERO or VALUE_ANY
 *
 * Return: true: it may.
 */
bool model_allows(const struct model *m, uint64_t lba, uint32_t value)
{
	const struct set *set;

	if (model_is_settled(m, lba))
		return m->value[lba] == value;
	set = set_of(m, m->value[lba]);
	for (uint32_t i = 0; i < set->nr; i++)
		if ((set->value[i] & ~VALUE_LATE) == value)
			return true;
	return false;
}

/**
 * model_seen - a sector was seen to hold this
 * @m: model
 * @lba: sector
 * @value: what model_allows()
 */
void model_seen(struct model *m, uint64_t lba, uint32_t value)
{
	struct set *set;
	uint32_t nr = 0;

	if (model_is_settled(m, lba))
		return;
	set = set_of(m, m->value[lba]);
	for (uint32_t i = 0; i < set->nr; i++)
		if (set->value[i] & VALUE_LATE && (set->value[i] & ~VALUE_LATE) != value)
			set->value[nr++] = set->value[i];
	if (!nr) {
		set_one(m, lba, value);
		return;
	}
	set->nr = nr;
	set_add(m, lba, value);
}

/**
 * model_look - what are these sectors
 * @m: only @run is used
 * @data: aligned to 8
 * @lba: of the first
 * @count: how many
 * @look: as many, to fill but for the verdict
 */
void model_look(const struct model *m, const void *data, uint64_t lba, uint32_t count,
		struct look *look)
{
	for (uint32_t i = 0; i < count; i++)
		look[i].kind = stamp_read((const char *)data + (size_t)i * SECTOR, m->run,
					  lba + i, &look[i].op);
}

/* Why a stamp of this run and this sector must not be there. */
static enum verdict judge_old(const struct model *m, uint64_t lba, uint32_t op)
{
	uint32_t value = m->value[lba];
	const struct set *set;

	if (m->ops[op].state == OP_DONE)
		return VERDICT_OLD;
	if (!(value & VALUE_SET))
		return value != VALUE_ANY && value > op ? VERDICT_OLD : VERDICT_LATE;
	set = set_of(m, value);
	for (uint32_t i = 0; i < set->nr; i++)
		if ((set->value[i] & ~VALUE_LATE) != VALUE_ANY &&
		    (set->value[i] & ~VALUE_LATE) > op)
			return VERDICT_OLD;
	return VERDICT_LATE;
}

const enum verdict model_bad[] = {
	[STAMP_ZERO]		= VERDICT_ZEROES,
	[STAMP_DAMAGED]		= VERDICT_DAMAGED,
	[STAMP_FOREIGN]		= VERDICT_FOREIGN,
	[STAMP_MISPLACED]	= VERDICT_MISPLACED,
	[STAMP_NONE]		= VERDICT_GARBAGE,
};

/**
 * model_wrote - whether a number is that of a write of a sector
 * @m: model
 * @op: any number
 * @lba: sector
 *
 * Return: true: it is.
 */
bool model_wrote(const struct model *m, uint32_t op, uint64_t lba)
{
	return op && op < m->nr_ops && writes(m->ops[op].kind) &&
	       lba >= m->ops[op].lba && lba - m->ops[op].lba < m->ops[op].count;
}

static enum verdict judge(const struct model *m, uint64_t lba, struct look *look)
{
	if (look->kind == STAMP_GOOD) {
		if (!model_wrote(m, look->op, lba))
			return VERDICT_UNKNOWN;
		return model_allows(m, lba, look->op) ? VERDICT_GOOD :
							judge_old(m, lba, look->op);
	}
	if (look->kind == STAMP_ZERO && model_allows(m, lba, VALUE_ZERO)) {
		look->op = VALUE_ZERO;
		return VERDICT_GOOD;
	}
	if (model_allows(m, lba, VALUE_ANY)) {
		look->op = VALUE_ANY;
		return VERDICT_GOOD;
	}
	return model_bad[look->kind];
}

/**
 * model_judge - may these sectors hold what was found
 * @m: model
 * @lba: of the first; the beginning of a block
 * @count: how many; whole blocks
 * @look: as many, by model_look(); get their verdict
 *
 * Return: how many may not.
 */
uint32_t model_judge(const struct model *m, uint64_t lba, uint32_t count, struct look *look)
{
	uint32_t bad = 0;

	for (uint32_t i = 0; i < count; i++) {
		look[i].verdict = judge(m, lba + i, &look[i]);
		if (i % m->block && !m->torn && look[i].verdict == VERDICT_GOOD &&
		    look[i - 1].verdict == VERDICT_GOOD && look[i].op != look[i - 1].op)
			look[i].verdict = VERDICT_TORN;
		bad += look[i].verdict != VERDICT_GOOD;
	}
	return bad;
}
