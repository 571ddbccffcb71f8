/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an open file or block device can do, and in which units. For file.c alone.
 */
#ifndef RDMABLKD_FILE_GEOMETRY_H
#define RDMABLKD_FILE_GEOMETRY_H

#include "store/file.h"

int file_geometry(struct file *f, uint32_t block);

#endif
