/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last device that was allowed to write a file, noted beyond the end of the daemon.
 */
#ifndef RDMABLKD_LAST_WRITER_H
#define RDMABLKD_LAST_WRITER_H

#include "store/store.h"

#define LAST_WRITER_DIR	"writers"	/* in the directory of the state */

/**
 * enum last_writer_state - what is known of the last writer
 * @LAST_WRITER_NONE: nothing
 * @LAST_WRITER_KNOWN: which device it was
 * @LAST_WRITER_OTHER: the file was written as another export since
 */
enum last_writer_state {
	LAST_WRITER_NONE,
	LAST_WRITER_KNOWN,
	LAST_WRITER_OTHER,
};

/**
 * struct last_writer_dir - what is known of a directory of notes; zeroed memory: nothing
 * @settled: the notes there are durable: the directory was synced after they were written
 * @made: the directories are there, and their names are durable
 *
 * Zeroed when an export is opened: another host may have had the directory since, and an earlier
 * process may have ended between a change and its sync.
 */
struct last_writer_dir {
	bool settled;
	bool made;
};

/**
 * struct last_writer_of - an export whose writers are noted
 * @dir: state directory of the export
 * @dir_state: what is known of @dir
 * @name: of the export, for messages
 * @uuid: its identity
 * @mark: identity of its file in notes
 * @arena: epoch of the kept arena that has its contents; NULL: none
 */
struct last_writer_of {
	const char *dir;
	struct last_writer_dir *dir_state;
	const char *name;
	const uint8_t *uuid;
	const struct file_mark *mark;
	const uint8_t *arena;
};

enum last_writer_state last_writer_read(const struct last_writer_of *of, struct store_writer *last);
int last_writer_missed(const struct last_writer_of *of, const struct store_writer *by);
int last_writer_note(const struct last_writer_of *of, const struct store_writer *writer);
int last_writer_forget(const struct last_writer_of *of);

#endif
