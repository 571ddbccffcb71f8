// SPDX-License-Identifier: GPL-2.0-or-later
/* What /sys/block tells of disks. Everybody may read it, also without the module's answers. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "sysfs.h"

#define MOST_NAMES	4	/* in an error message */

static int is_disk(const struct dirent *entry)
{
	char why[128];
	__u32 index;

	return !device_parse_name(entry->d_name, &index, why, sizeof(why));
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* The disks there are; the caller frees the names and their array. Returns how many. */
static int disks(struct dirent ***names)
{
	int dir = open("/sys/block", O_RDONLY | O_DIRECTORY | O_CLOEXEC), nr;

	*names = NULL;
	if (dir < 0)
		return 0;
	nr = scandirat(dir, ".", names, is_disk, by_number);
	close(dir);
	return nr > 0 ? nr : 0;
}

/**
 * sysfs_name_disks() - adds to "no such device" which ones there are
 * @failure: of a request about one disk; unchanged unless it is ENODEV
 */
void sysfs_name_disks(struct nl_failure *failure)
{
	size_t len = strlen(failure->text);
	struct dirent **names;
	int i, nr;

	if (failure->err != ENODEV)
		return;
	nr = disks(&names);
	for (i = 0; i < nr; i++) {
		if (i < MOST_NAMES && len < sizeof(failure->text))
			len += snprintf(failure->text + len, sizeof(failure->text) - len, "%s%s",
					i ? ", " : nr > 1 ? "; there are " : "; there is ",
					names[i]->d_name);
		free(names[i]);
	}
	if (nr > MOST_NAMES && len < sizeof(failure->text))
		snprintf(failure->text + len, sizeof(failure->text) - len, " and %d more",
			 nr - MOST_NAMES);
	free(names);
}
