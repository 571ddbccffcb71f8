/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sysfs says of a block device: which one it is, and which others it is made of.
 */
#ifndef RDMABLKD_DISK_STACK_H
#define RDMABLKD_DISK_STACK_H

#include <stdbool.h>
#include <sys/types.h>

#define DISK_NAME	320	/* bytes, with the NUL */

bool disk_attribute(dev_t dev, const char *name, char *text, int size);
bool disk_stacked(dev_t dev);
bool disk_copies(dev_t dev);
int disk_name(dev_t dev, char *name);

#endif
