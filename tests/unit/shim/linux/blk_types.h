/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_BLK_TYPES_H
#define SHIM_LINUX_BLK_TYPES_H

#include <linux/types.h>

typedef u8 blk_status_t;

#define BLK_STS_OK		0
#define BLK_STS_NOTSUPP		1
#define BLK_STS_NOSPC		3
#define BLK_STS_TARGET		5
#define BLK_STS_IOERR		10

#endif
