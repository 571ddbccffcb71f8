/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who was the last to be let write a file, beyond the end of the daemon.
 */
#ifndef RDMABLKD_LAST_WRITER_H
#define RDMABLKD_LAST_WRITER_H

#include "store/store.h"

#define WRITERS_DIR	"writers"	/* in the directory of the daemon's state */

/**
 * enum writers_state - what is known of the last writer
 * @WRITERS_NONE: nothing
 * @WRITERS_KNOWN: who it was
 * @WRITERS_OTHER: it wrote another export that the file was made of since
 */
enum writers_state {
	WRITERS_NONE,
	WRITERS_KNOWN,
	WRITERS_OTHER,
};

/**
 * struct writers_of - an export whose writers are noted
 * @dir: of the daemon's state
 * @name: of the export, for messages
 * @uuid: its identity
 * @mark: of its file
 * @arena: epoch of the kept arena that has its contents; NULL: none
 */
struct writers_of {
	const char *dir;
	const char *name;
	const uint8_t *uuid;
	const struct file_mark *mark;
	const uint8_t *arena;
};

enum writers_state writers_read(const struct writers_of *of, struct store_writer *last);
int writers_missed(const struct writers_of *of, const struct store_writer *by);
int writers_note(const struct writers_of *of, const struct store_writer *writer);

#endif
