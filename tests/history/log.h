/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of a history: what was asked of the disk and what it answered, in order.
 *
 * A file of records of 32 bytes, numbered from 0, each with a checksum. The order has a
 * meaning: the record of a request is written before the request is issued. The record of
 * its end is written after it has ended, and before any request that depends on it is
 * issued. So if B's issue comes after A's end in the log, it came after A's end in reality.
 * The reverse need not hold.
 *
 *   RUN       first record of the file: what all rounds share
 *   ROUND     a writer starts. Nothing of earlier rounds is under way any more
 *   ISSUE     a request is about to be issued
 *   DONE      it has succeeded
 *   ERROR     it has failed
 *   SEEN      sectors with several possible contents had this one when read
 *   BAD       the writer has read what it should not have
 *   STOP      the round ended in order: every request has its end in the log
 *   QUIET     check looks at the disk; requests without an end are not under way
 */
#ifndef HISTORY_LOG_H
#define HISTORY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_VERSION	1
#define LOG_BUFFER	256	/* records */

enum record_type {
	RECORD_RUN = 1,
	RECORD_ROUND,
	RECORD_ISSUE,
	RECORD_DONE,
	RECORD_ERROR,
	RECORD_SEEN,
	RECORD_BAD,
	RECORD_STOP,
	RECORD_QUIET,
};

enum op_kind {
	OP_WRITE,
	OP_WRITE_FUA,
	OP_READ,
	OP_FLUSH,
	OP_KINDS,
};

/**
 * struct record - of a log
 * @number: of the record
 * @type: enum record_type
 * @kind: ISSUE: enum op_kind
 * @writer: ISSUE: number of the writer; RUN: sectors of a logical block
 * @op: ISSUE, DONE, ERROR: number of the request, from 1, in the order of issue; SEEN:
 *	that of the write that was seen, or VALUE_*; BAD: the same; ROUND: its number
 * @count: ISSUE, SEEN, BAD: sectors; RUN: of the disk
 * @lba: ISSUE, SEEN, BAD: first sector; RUN: identity of the run
 * @aux: ERROR: errno; BAD: enum verdict; ROUND: seed; RUN: LOG_VERSION, and LOG_ANY
 * @crc: over what comes before
 */
struct record {
	uint32_t number;
	uint8_t type;
	uint8_t kind;
	uint16_t writer;
	uint32_t op;
	uint32_t count;
	uint64_t lba;
	uint32_t aux;
	uint32_t crc;
};

#define LOG_ANY		0x100	/* the disk held anything before; else zeroes */

/**
 * struct log - being written
 * @fd: file
 * @next: number of the next record
 * @nr: number of records that wait
 * @buf: the waiting records
 */
struct log {
	int fd;
	uint32_t next;
	unsigned int nr;
	struct record buf[LOG_BUFFER];
};

/**
 * struct log_map - being read
 * @records: of the file
 * @nr: number of leading records that are whole and in order
 * @rest: bytes behind them
 * @size: bytes
 */
struct log_map {
	const struct record *records;
	size_t nr;
	size_t rest;
	size_t size;
};

int log_open(struct log *log, const char *path, size_t records, bool sync);
void log_add(struct log *log, struct record r);
void log_flush(struct log *log);
int log_map(struct log_map *map, const char *path);
void log_unmap(struct log_map *map);

#endif
