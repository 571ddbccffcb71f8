// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stamps of sectors; see stamp.h. Little-endian machines only, like the log: both are
 * read on the machine that wrote them.
 */
#include <assert.h>
#include <string.h>

#include "stamp.h"

#define MAGIC	0x6b6c626d61747368ULL	/* "hstamblk" */
#define POLY	0x82f63b78U

struct stamp {
	uint64_t magic;
	uint64_t run;
	uint64_t lba;
	uint32_t op;
	uint16_t writer;
	uint16_t zero;
	uint32_t crc;		/* over the sector, this taken as 0 */
	uint32_t zero2;
	uint64_t noise[59];
};

static_assert(sizeof(struct stamp) == SECTOR, "a stamp is a sector");

static uint32_t crc_table[8][256];

/**
 * stamp_init - before anything else here
 */
void stamp_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLY : crc >> 1;
		crc_table[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int k = 1; k < 8; k++)
			crc_table[k][i] = crc_table[k - 1][i] >> 8 ^
					  crc_table[0][crc_table[k - 1][i] & 255];
}

/**
 * crc32c - Castagnoli's
 * @crc: of what comes before, or 0
 * @data: aligned to 8
 * @len: bytes, a multiple of 4
 *
 * Return: checksum.
 */
uint32_t crc32c(uint32_t crc, const void *data, unsigned int len)
{
	const unsigned char *p = data;

	crc = ~crc;
	for (; len >= 8; len -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		word ^= crc;
		crc = crc_table[7][word & 255] ^ crc_table[6][word >> 8 & 255] ^
		      crc_table[5][word >> 16 & 255] ^ crc_table[4][word >> 24 & 255] ^
		      crc_table[3][word >> 32 & 255] ^ crc_table[2][word >> 40 & 255] ^
		      crc_table[1][word >> 48 & 255] ^ crc_table[0][word >> 56];
	}
	for (; len; len--, p++)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 255];
	return ~crc;
}

/**
 * stamp_write - make a sector
 * @sector: 512 bytes, aligned to 8
 * @run: identity of the run
 * @lba: where it goes
 * @op: number of the write
 * @writer: number of the writer
 */
void stamp_write(void *sector, uint64_t run, uint64_t lba, uint32_t op, uint16_t writer)
{
	struct stamp *s = sector;
	uint64_t x = run ^ lba * 0x9e3779b97f4a7c15ULL ^ (uint64_t)op << 32;

	*s = (struct stamp){
		.magic = MAGIC, .run = run, .lba = lba, .op = op, .writer = writer,
	};
	for (unsigned int i = 0; i < 59; i++) {
		x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL + i;
		s->noise[i] = x;
	}
	s->crc = crc32c(0, s, sizeof(*s));
}

/**
 * stamp_read - look at a sector
 * @sector: 512 bytes, aligned to 8
 * @run: identity of the run
 * @lba: where it was read
 * @op: set to the number of the write that it claims to be of; 0 without one
 *
 * Return: what it is.
 */
enum stamp_kind stamp_read(const void *sector, uint64_t run, uint64_t lba, uint32_t *op)
{
	static const uint64_t zero[SECTOR / sizeof(uint64_t)];
	struct stamp s;
	uint32_t crc;

	*op = 0;
	memcpy(&s, sector, sizeof(s));
	if (s.magic != MAGIC)
		return memcmp(&s, zero, sizeof(s)) ? STAMP_NONE : STAMP_ZERO;
	crc = s.crc;
	s.crc = 0;
	if (crc32c(0, &s, sizeof(s)) != crc)
		return STAMP_DAMAGED;
	*op = s.op;
	if (s.run != run)
		return STAMP_FOREIGN;
	return s.lba == lba ? STAMP_GOOD : STAMP_MISPLACED;
}
