/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The allowed moves between states; the setter in session.c checks them.
 */
#ifndef RDMABLK_STATE_H
#define RDMABLK_STATE_H

#include <linux/types.h>
#include "uapi/rdmablk_netlink.h"

bool rdmablk_state_may_move(enum rdmablk_dev_state from, enum rdmablk_dev_state to);

#endif /* RDMABLK_STATE_H */
