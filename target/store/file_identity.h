/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identities of a file, in this boot of the host and beyond, and whether its contents have
 * changed.
 */
#ifndef RDMABLKD_FILE_IDENTITY_H
#define RDMABLKD_FILE_IDENTITY_H

#include "store/file.h"

/**
 * struct file_mark - a file, in notes that outlive a boot of the host
 * @place: names the note
 * @id: says in the note which file it is about: another file may get the same place
 */
struct file_mark {
	uint8_t place[RDMABLK_ID_LEN];
	uint8_t id[RDMABLK_ID_LEN];
};

/**
 * struct file_contents - contents of a file; compared byte by byte, so without padding
 * @dev: file system
 * @ino: number of the file in @dev
 * @bytes: size of the file
 * @exported: size of the export
 * @born_sec: time at which the file was made, or 0
 * @born_nsec: nanoseconds of that second
 * @written_sec: time of the last change of its data
 * @written_nsec: nanoseconds of that second
 * @changed_sec: time of the last change of data or attributes; no program can set it back
 * @changed_nsec: nanoseconds of that second
 */
struct file_contents {
	uint64_t dev;
	uint64_t ino;
	uint64_t bytes;
	uint64_t exported;
	int64_t born_sec;
	int64_t born_nsec;
	int64_t written_sec;
	int64_t written_nsec;
	int64_t changed_sec;
	int64_t changed_nsec;
};

bool file_settled(const struct file *f, const struct file_stamp *stamp);
int file_disk(const struct file *f, uint8_t *id);
int file_epoch(const struct file *f, uint8_t *epoch);
int file_stable_epoch(const struct file *f, uint8_t *epoch);
int file_mark(const struct file *f, struct file_mark *mark);
int file_contents(const struct file *f, struct file_contents *out);
int file_contents_epoch(const struct file_contents *c, uint8_t *epoch);

#endif
