/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file is told by, in this boot of the host and beyond, and whether its contents are
 * those of another time.
 */
#ifndef RDMABLKD_FILE_IDENTITY_H
#define RDMABLKD_FILE_IDENTITY_H

#include "store/file.h"

/**
 * struct file_mark - a file, in notes that outlive a boot of the host
 * @place: where its note is
 * @id: whose note it is: a place may become another file's
 */
struct file_mark {
	uint8_t place[RDMABLK_ID_LEN];
	uint8_t id[RDMABLK_ID_LEN];
};

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

int file_disk(const struct file *f, uint8_t *id);
int file_epoch(const struct file *f, uint8_t *epoch);
int file_stable_epoch(const struct file *f, uint8_t *epoch);
int file_mark(const struct file *f, struct file_mark *mark);
int file_contents(const struct file *f, struct file_contents *out);
int file_contents_epoch(const struct file_contents *c, uint8_t *epoch);

#endif
