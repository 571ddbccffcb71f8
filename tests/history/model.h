/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each sector of a disk may hold, by the history of what was asked of it and what
 * it answered: the specification that writer and check share. It is at the top of
 * model.c.
 */
#ifndef HISTORY_MODEL_H
#define HISTORY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"
#include "stamp.h"

#define VALUE_ZERO	0U		/* zeroes, that nobody wrote */
#define VALUE_ANY	0x3fffffffU	/* what was there before, whatever it is */

enum op_state {
	OP_OPEN,	/* issued, no end in the log */
	OP_DONE,
	OP_FAILED,
};

struct op {
	uint64_t lba;
	uint32_t count;
	uint16_t writer;
	uint8_t kind;		/* enum op_kind */
	uint8_t state;		/* enum op_state */
};

/**
 * enum verdict - on the contents of a sector
 * @VERDICT_GOOD: may be
 * @VERDICT_ZEROES: zeroes where something was written
 * @VERDICT_DAMAGED: a stamp with a wrong checksum
 * @VERDICT_FOREIGN: a stamp of another run
 * @VERDICT_MISPLACED: a stamp that belongs to another sector
 * @VERDICT_GARBAGE: no stamp
 * @VERDICT_UNKNOWN: a write that the log does not know
 * @VERDICT_OLD: a write that a later one has replaced: the later one is lost, or the
 *	older has landed after it
 * @VERDICT_LATE: a write that failed, landed after it was seen not to have
 * @VERDICT_TORN: a logical block of more than one write
 */
enum verdict {
	VERDICT_GOOD,
	VERDICT_ZEROES,
	VERDICT_DAMAGED,
	VERDICT_FOREIGN,
	VERDICT_MISPLACED,
	VERDICT_GARBAGE,
	VERDICT_UNKNOWN,
	VERDICT_OLD,
	VERDICT_LATE,
	VERDICT_TORN,
	VERDICTS,
};

extern const char * const verdict_text[VERDICTS];

/**
 * struct look - at a sector
 * @op: write that its stamp names, or 0; when the verdict is good a value of the model
 * @kind: enum stamp_kind
 * @verdict: enum verdict
 */
struct look {
	uint32_t op;
	uint8_t kind;
	uint8_t verdict;
};

struct set;

/**
 * struct model - of a disk
 * @run: identity of the run
 * @sectors: of the disk
 * @block: sectors of a logical block
 * @late: a failed write may land later, until another one of its sector has succeeded
 * @torn: a logical block may be of several writes
 * @value: of each sector: the one that it may hold, or with VALUE_SET a set
 * @busy: of each sector: who is at it; BUSY_WRITE, or how many readers
 * @sets: of those values
 * @ops: requests by their number; number 0 is not used
 */
struct model {
	uint64_t run;
	uint64_t sectors;
	unsigned int block;
	bool late;
	bool torn;
	uint32_t *value;
	uint8_t *busy;
	struct set **sets;
	uint32_t nr_sets;
	uint32_t free_set;
	struct op *ops;
	uint32_t nr_ops;
	uint32_t max_ops;
};

void model_init(struct model *m, uint64_t run, uint64_t sectors, unsigned int block,
		bool any);
bool model_is_free(const struct model *m, enum op_kind kind, uint64_t lba, uint32_t count);
uint32_t model_issue(struct model *m, enum op_kind kind, uint16_t writer, uint64_t lba,
		     uint32_t count);
void model_end(struct model *m, uint32_t op, bool failed);
bool model_is_settled(const struct model *m, uint64_t lba);
bool model_allows(const struct model *m, uint64_t lba, uint32_t value);
void model_seen(struct model *m, uint64_t lba, uint32_t value);
uint32_t model_end_round(struct model *m);
/* Verdicts by stamp, for a sector whose contents are not allowed. STAMP_GOOD has none. */
extern const enum verdict model_bad[];

bool model_wrote(const struct model *m, uint32_t op, uint64_t lba);
void model_look(const struct model *m, const void *data, uint64_t lba, uint32_t count,
		struct look *look);
uint32_t model_judge(const struct model *m, uint64_t lba, uint32_t count,
		     struct look *look);

#endif
