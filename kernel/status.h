/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Translates the status in a target's answer for the block layer. PURE
 */
#ifndef RDMABLK_STATUS_H
#define RDMABLK_STATUS_H

#include <linux/blk_types.h>
#include <linux/types.h>

blk_status_t rdmablk_status_blk(u8 status);

#endif /* RDMABLK_STATUS_H */
