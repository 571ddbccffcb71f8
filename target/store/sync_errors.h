/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that have lost writes that were acknowledged but not flushed.
 */
#ifndef RDMABLKD_SYNC_ERRORS_H
#define RDMABLKD_SYNC_ERRORS_H

#include <stdint.h>

#define SYNC_ERRORS_FILE	"losses"	/* in a directory */

void sync_errors_init(const char *dir, const char *other);
void sync_errors_exit(void);
void sync_errors_open(void);
unsigned int sync_errors_opened(void);
int sync_errors_epoch(const char *name, const uint8_t *identity, const uint8_t *disk,
		      uint8_t *epoch);
void sync_errors_note(const char *name, const uint8_t *identity);
void sync_errors_note_disk(const char *name, const uint8_t *disk);
void sync_errors_note_last(const char *name, const uint8_t *identity);
void sync_errors_note_disk_last(const char *name, const uint8_t *disk);

#endif
