/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block devices that are made of others.
 */
#ifndef RDMABLKD_DISK_STACK_H
#define RDMABLKD_DISK_STACK_H

#include <stdbool.h>
#include <sys/types.h>

bool disk_stacked(dev_t dev);
bool disk_copies(dev_t dev);

#endif
