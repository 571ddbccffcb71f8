/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_BLK_TYPES_H
#define SHIM_LINUX_BLK_TYPES_H

#include <linux/types.h>

typedef u8 blk_status_t;

#endif
