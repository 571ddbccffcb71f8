/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By what it is known whether the contents of a file are those of another time.
 */
#ifndef RDMABLKD_FILE_CONTENTS_H
#define RDMABLKD_FILE_CONTENTS_H

#include "store/file.h"

/**
 * struct file_contents - compared byte by byte: nothing between the fields
 * @dev: of its file system
 * @ino: in it
 * @bytes: of the file
 * @exported: of these
 * @born_sec: when it was made, or 0
 * @born_nsec: of that second
 * @written_sec: when its data was changed
 * @written_nsec: of that second
 * @changed_sec: when anything of it was; nobody can set that back
 * @changed_nsec: of that second
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

int file_contents(const struct file *f, struct file_contents *out);
int file_contents_epoch(const struct file_contents *c, uint8_t *epoch);

#endif
