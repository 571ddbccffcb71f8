/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of every sector on the disk under test: the write, its number and its place,
 * a checksum over all bytes, and noise that differs in every sector of every write. Any
 * other contents are not a sector of this run.
 */
#ifndef HISTORY_STAMP_H
#define HISTORY_STAMP_H

#include <stdint.h>

#define SECTOR		512

/**
 * enum stamp_kind - what a sector is
 * @STAMP_GOOD: of this run, for this place, and whole
 * @STAMP_ZERO: 512 zeroes
 * @STAMP_DAMAGED: begins like a stamp, but its checksum is wrong
 * @STAMP_FOREIGN: of another run
 * @STAMP_MISPLACED: belongs to another sector
 * @STAMP_NONE: anything else
 */
enum stamp_kind {
	STAMP_GOOD,
	STAMP_ZERO,
	STAMP_DAMAGED,
	STAMP_FOREIGN,
	STAMP_MISPLACED,
	STAMP_NONE,
};

void stamp_init(void);
void stamp_write(void *sector, uint64_t run, uint64_t lba, uint32_t op, uint16_t writer);
enum stamp_kind stamp_read(const void *sector, uint64_t run, uint64_t lba, uint32_t *op);
uint32_t crc32c(uint32_t crc, const void *data, unsigned int len);

#endif
