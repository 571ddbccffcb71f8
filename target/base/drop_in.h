/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drop-in files of a configuration file: FILE.d/NAME.conf. The command line tool has them, too.
 */
#ifndef RDMABLKD_DROP_IN_H
#define RDMABLKD_DROP_IN_H

#include <dirent.h>
#include <stddef.h>

/**
 * struct drop_in - the drop-in files of a file
 * @path: each with its directory, in the order in which they are read
 * @nr: how many
 */
struct drop_in {
	char **path;
	size_t nr;
};

int drop_in_is(const struct dirent *entry);
int drop_in_find(struct drop_in *found, const char *file);
void drop_in_free(struct drop_in *found);

#endif
