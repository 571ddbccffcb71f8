// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drop-in files of a configuration file. They are read in the order of the bytes of their
 * names, so that the order is the same in every locale. Others than NAME.conf are left alone:
 * editors and package managers leave backups there.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/drop_in.h"

/**
 * drop_in_is - whether a file has the name of a drop-in file
 * @entry: the file, in the directory of drop-in files
 *
 * Return: 1: it has; 0: it has not.
 */
int drop_in_is(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && end && !strcmp(end, ".conf");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/**
 * drop_in_find - look for drop-in files
 * @found: result, for drop_in_free() in every case
 * @file: the configuration file; its drop-in files are in @file.d
 *
 * Return: 0, also when there is no directory; -errno: it cannot be read.
 */
int drop_in_find(struct drop_in *found, const char *file)
{
	struct dirent **names;
	char dir[PATH_MAX];
	int i, nr, ret = 0;

	*found = (struct drop_in){ 0 };
	if (snprintf(dir, sizeof(dir), "%s.d", file) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	nr = scandir(dir, &names, drop_in_is, by_bytes);
	if (nr < 0)
		return errno == ENOENT ? 0 : -errno;
	found->path = calloc((size_t)nr + 1, sizeof(*found->path));
	for (i = 0; i < nr; i++) {
		char *path = NULL;

		if (found->path && asprintf(&path, "%s/%s", dir, names[i]->d_name) >= 0)
			found->path[found->nr++] = path;
		else
			ret = -ENOMEM;
		free(names[i]);
	}
	free(names);
	return found->path ? ret : -ENOMEM;
}

/**
 * drop_in_free - forget drop-in files
 * @found: of drop_in_find()
 */
void drop_in_free(struct drop_in *found)
{
	while (found->nr)
		free(found->path[--found->nr]);
	free(found->path);
	found->path = NULL;
}
