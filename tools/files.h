/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_FILES_H
#define RDMABLK_TOOLS_FILES_H

#include <dirent.h>
#include <stddef.h>

void files_set_root(int dir);
int files_open(int dir, const char *path, int flags);
int files_line(int dir, const char *path, char *text, size_t size);
int files_names(int dir, const char *path, int (*wanted)(const struct dirent *entry),
		struct dirent ***names);
void files_free(struct dirent **names, int nr);
int files_write(int fd, const char *text, size_t len);

#endif /* RDMABLK_TOOLS_FILES_H */
