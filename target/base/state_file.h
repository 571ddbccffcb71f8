/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that carry the daemon's state across a power cut.
 */
#ifndef RDMABLKD_STATE_FILE_H
#define RDMABLKD_STATE_FILE_H

int state_file_make_dir(const char *path);
int state_file_sync_dir(const char *path);
int state_file_lock(const char *path);
int state_file_replace(const char *path, const char *text);
int state_file_replace_among(const char *path, const char *text);

#endif
