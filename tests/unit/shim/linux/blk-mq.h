/* SPDX-License-Identifier: GPL-2.0-only */
/* Names only: the tested files have requests by pointer. */
#ifndef SHIM_LINUX_BLK_MQ_H
#define SHIM_LINUX_BLK_MQ_H

#include <linux/blk_types.h>

struct blk_mq_ops;
struct blk_mq_tag_set;
struct request;

#endif
