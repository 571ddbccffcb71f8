/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_SYSFS_H
#define RDMABLK_TOOLS_SYSFS_H

#include "nl.h"

void sysfs_name_disks(struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_SYSFS_H */
