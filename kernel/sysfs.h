/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attributes of a disk.
 */
#ifndef RDMABLK_SYSFS_H
#define RDMABLK_SYSFS_H

struct attribute_group;

extern const struct attribute_group *rdmablk_disk_groups[];

#endif /* RDMABLK_SYSFS_H */
