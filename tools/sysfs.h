/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_SYSFS_H
#define RDMABLK_TOOLS_SYSFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "nl.h"

#define SYSFS_USERS	256	/* bytes for the users of a disk */

struct device_list;

int sysfs_is_disk(const struct dirent *entry);
void sysfs_name_disks(struct nl_failure *failure);
bool sysfs_knows(unsigned int attr);
void sysfs_warn(const char *what);
int sysfs_gather(const char *name, struct device_list *list, struct nl_failure *failure);
void sysfs_users(const char *name, char text[SYSFS_USERS]);

#endif /* RDMABLK_TOOLS_SYSFS_H */
