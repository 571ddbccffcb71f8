/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and block devices that exports are made of: found, locked, measured. The stores
 * read and write them.
 */
#ifndef RDMABLKD_FILE_H
#define RDMABLKD_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store_fault.h"
#include "uapi/rdmablk_proto.h"

/**
 * struct file_wish - how a file shall be opened
 * @name: of the export, for messages
 * @path: of the file; outlives it
 * @fault: of a file with rules of faults, or NULL
 * @read_only: nothing will be written
 * @size: of the export, bytes; 0: all of the file
 * @block: logical block of the export, bytes; 0: 512, or the device's
 */
struct file_wish {
	const char *name;
	const char *path;
	const char *fault;
	bool read_only;
	uint64_t size;
	uint32_t block;
};

struct file_claim;

/**
 * struct file - an open file or block device
 * @name: of the export, for messages
 * @path: of the file
 * @claim: that no other export of this process may have it
 * @fault: what goes wrong on demand; NULL: nothing
 * @fd: holds the lock, and with @direct bypasses the page cache. I/O under way pins
 *	it, and thereby the lock, beyond the death of the process
 * @buffered: the same through the page cache, for what @fd does not take; the same
 *	number as @fd without @direct
 * @direct: @fd is O_DIRECT
 * @block_device: it is one; else a regular file
 * @read_only: opened so
 * @fua: a device that makes a direct write with RWF_DSYNC durable by itself: no cache is
 *	flushed with it, whose error would be that of the write
 * @rotational: it seeks
 * @stable: what is written directly must not change meanwhile, or it cannot be read
 *	again: there are checksums over it
 * @size: of the export, bytes; at most what the file has
 * @logical_block: of the export, bytes
 * @physical_block: bytes, a power of two, at least @logical_block
 * @io_min: preferred smallest request, bytes, or 0
 * @io_opt: preferred largest sustained request, bytes, or 0
 * @max_io: what a device does at once, bytes; a larger request is done in pieces. 0: of
 *	no interest
 * @align: offsets and lengths of direct I/O, bytes
 * @mem_align: addresses of direct I/O, bytes
 * @discard_granularity: bytes, a power of two; 0: cannot discard
 * @discard_alignment: where the first granule begins, bytes, below the granularity
 * @erase_granularity: of file_erase(); 0: cannot
 * @max_discard: bytes at once; 0: cannot
 * @max_zeroes: of file_zero(); never 0 unless @read_only
 * @max_erase: of file_erase(); 0: cannot
 * @dev: identity: of the file system, or 0
 * @ino: in it, or the device's number
 * @found_sec: as file_time(), when it was opened; looking at it may count as writing
 * @found_nsec: of that second
 * @shrunk_said: its having become shorter has been logged
 * @no_punch: file_zero() need not try that
 * @no_range: file_zero() need not try that
 */
struct file {
	const char *name;
	const char *path;
	struct file_claim *claim;
	struct store_fault *fault;
	int fd;
	int buffered;
	bool direct;
	bool block_device;
	bool read_only;
	bool fua;
	bool rotational;
	bool stable;
	uint64_t size;
	uint32_t logical_block;
	uint32_t physical_block;
	uint32_t io_min;
	uint32_t io_opt;
	uint32_t max_io;
	uint32_t align;
	uint32_t mem_align;
	uint32_t discard_granularity;
	uint32_t discard_alignment;
	uint32_t erase_granularity;
	uint64_t max_discard;
	uint64_t max_zeroes;
	uint64_t max_erase;
	uint64_t dev;
	uint64_t ino;
	int64_t found_sec;
	int64_t found_nsec;
	bool shrunk_said;
	bool no_punch;
	bool no_range;
};

int file_open(struct file *f, const struct file_wish *wish);
int file_check(const struct file_wish *wish);
void file_close(struct file *f);
int file_size(const struct file *f, uint64_t *size);
int file_grown(const struct file *f, bool fixed, uint64_t *size);
bool file_shrunk(struct file *f);
bool file_aligned(const struct file *f, const void *buf, uint64_t offset,
		  uint64_t bytes);
bool file_same(const struct file *a, const struct file *b);
uint32_t file_block(const char *path);
int file_time(const struct file *f, int64_t *sec, int64_t *nsec);
int file_data(const struct file *f, uint64_t from, uint64_t *start, uint64_t *end);
int file_discard(struct file *f, uint64_t offset, uint64_t bytes);
int file_zero(struct file *f, uint64_t offset, uint64_t bytes, bool keep);
int file_erase(struct file *f, uint64_t offset, uint64_t bytes);
unsigned int file_reason(int ret);

#endif
