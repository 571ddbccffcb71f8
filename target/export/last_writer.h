/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who was the last to be let write a file, beyond the end of the daemon.
 */
#ifndef RDMABLKD_LAST_WRITER_H
#define RDMABLKD_LAST_WRITER_H

#include "store/store.h"

#define LAST_WRITER_DIR	"writers"	/* in the directory of the daemon's state */

/**
 * enum last_writer_state - what is known of the last writer
 * @LAST_WRITER_NONE: nothing
 * @LAST_WRITER_KNOWN: who it was
 * @LAST_WRITER_OTHER: it wrote another export that the file was made of since
 */
enum last_writer_state {
	LAST_WRITER_NONE,
	LAST_WRITER_KNOWN,
	LAST_WRITER_OTHER,
};

/**
 * struct last_writer_of - an export whose writers are noted
 * @dir: of the daemon's state
 * @name: of the export, for messages
 * @uuid: its identity
 * @mark: of its file
 * @arena: epoch of the kept arena that has its contents; NULL: none
 */
struct last_writer_of {
	const char *dir;
	const char *name;
	const uint8_t *uuid;
	const struct file_mark *mark;
	const uint8_t *arena;
};

enum last_writer_state last_writer_read(const struct last_writer_of *of, struct store_writer *last);
int last_writer_missed(const struct last_writer_of *of, const struct store_writer *by);
int last_writer_note(const struct last_writer_of *of, const struct store_writer *writer);

#endif
