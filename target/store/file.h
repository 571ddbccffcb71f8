/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and block devices behind exports: opening, locking, measuring. The stores read and
 * write them.
 */
#ifndef RDMABLKD_FILE_H
#define RDMABLKD_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store_fault.h"
#include "uapi/rdmablk_proto.h"

/**
 * struct file_params - how a file shall be opened
 * @name: name of the export, for messages
 * @path: path of the file; outlives the struct file
 * @fault: path of a file with rules of faults, or NULL
 * @read_only: nothing will be written
 * @size: size of the export, bytes; 0: all of the file
 * @block: logical block of the export, bytes; 0: 512, or the device's
 */
struct file_params {
	const char *name;
	const char *path;
	const char *fault;
	bool read_only;
	uint64_t size;
	uint32_t block;
};

struct file_claim;

/**
 * struct file_stamp - a state of a file, which each later change of the file ends
 * @sec: time of the last write, seconds since 1970; a program can set it to any time
 * @nsec: nanoseconds of that second; negative: the state is not known
 * @changed_sec: time of the last change of data or attributes; no program can set it back
 * @changed_nsec: nanoseconds of that second
 * @bytes: size of the file
 */
struct file_stamp {
	int64_t sec;
	int64_t nsec;
	int64_t changed_sec;
	int64_t changed_nsec;
	uint64_t bytes;
};

/**
 * struct file - an open file or block device
 * @name: name of the export, for messages
 * @path: path of the file
 * @claim: keeps other exports of this process from having the file
 * @fault: rules of faults on demand; NULL: there are none
 * @fd: holds the lock, and with @direct bypasses the page cache. I/O under way keeps @fd, and
 *	so the lock, even after the death of the process
 * @buffered: descriptor for I/O through the page cache, which @fd does not take; without
 *	@direct the same number as @fd
 * @direct: @fd is O_DIRECT
 * @block_device: block device; false: regular file
 * @read_only: opened for reading only
 * @fua: device that makes a direct write with RWF_DSYNC durable by itself. No cache is flushed
 *	for such a write, so its error concerns its own data only
 * @rotational: device with seek times
 * @stable: memory must not change while it is written directly: there are checksums over the
 *	data, and data that has changed meanwhile cannot be read again
 * @copies: its disk may keep copies, which differ from then on if memory changes while it is
 *	written directly
 * @size: size of the export, bytes; at most that of the file
 * @logical_block: of the export, bytes
 * @physical_block: bytes, a power of two, at least @logical_block
 * @io_min: preferred smallest request, bytes, or 0
 * @io_opt: preferred largest sustained request, bytes, or 0
 * @max_io: largest request that a device does at once, bytes; a larger one is done in
 *	pieces. 0: unknown
 * @align: offsets and lengths of direct I/O, bytes
 * @mem_align: addresses of direct I/O, bytes
 * @unit: allocation unit of its file system, bytes, a power of two; 0 for a device
 * @discard_granularity: bytes, a power of two; 0: cannot discard
 * @discard_alignment: offset of the first granule, bytes, below the granularity
 * @erase_granularity: granularity of file_erase(), bytes; 0: cannot erase
 * @max_discard: largest range of file_discard(), bytes; 0: cannot discard
 * @max_zeroes: largest range of file_zero(), bytes; never 0 unless @read_only
 * @max_erase: largest range of file_erase(), bytes; 0: cannot erase
 * @dev: file system of a regular file; 0 for a device
 * @ino: number of the file in @dev; number of a device
 * @named: a regular file that had a name when it was opened
 * @stamp: stamp of the file when it was opened; file_probe() takes it again
 * @shrunk_said: the log has said that the file has become shorter
 * @removed_said: the log has said that the file was removed
 * @no_punch: punching a hole has failed; file_zero() does not try it again
 * @no_range: zeroing a range has failed; file_zero() does not try it again
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
	bool copies;
	uint64_t size;
	uint32_t logical_block;
	uint32_t physical_block;
	uint32_t io_min;
	uint32_t io_opt;
	uint32_t max_io;
	uint32_t align;
	uint32_t mem_align;
	uint32_t unit;
	uint32_t discard_granularity;
	uint32_t discard_alignment;
	uint32_t erase_granularity;
	uint64_t max_discard;
	uint64_t max_zeroes;
	uint64_t max_erase;
	uint64_t dev;
	uint64_t ino;
	bool named;
	struct file_stamp stamp;
	bool shrunk_said;
	bool removed_said;
	bool no_punch;
	bool no_range;
};

int file_open(struct file *f, const struct file_params *params);
void file_probe(struct file *f);
int file_check(const struct file_params *params);
void file_drop_cached(const struct file *f, uint64_t at, uint64_t bytes);
void file_close(struct file *f);
int file_size(const struct file *f, uint64_t *size);
int file_grown(const struct file *f, bool fixed, uint64_t *size);
bool file_shrunk(struct file *f);
bool file_removed(struct file *f);
bool file_aligned(const struct file *f, const void *buf, uint64_t offset,
		  uint64_t bytes);
bool file_same(const struct file *a, const struct file *b);
uint32_t file_block(const char *path);
void file_stamp(const struct file *f, struct file_stamp *out);
bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b);
int file_data(const struct file *f, uint64_t from, uint64_t *start, uint64_t *end);
int file_discard(struct file *f, uint64_t offset, uint64_t bytes);
int file_zero(struct file *f, uint64_t offset, uint64_t bytes, bool keep);
int file_erase(struct file *f, uint64_t offset, uint64_t bytes);
unsigned int file_reason(int ret);

#endif
