/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a login waits, and how long the pause after a failed login is.
 */
#ifndef RDMABLK_PATIENCE_H
#define RDMABLK_PATIENCE_H

#include <linux/types.h>

/* Most data queues of one login that join at the same time */
#define RDMABLK_JOINS			16U

/* rdma_cm repeats an unanswered message after 4.096 us << 20 and two packet lifetimes. */
#define RDMABLK_CM_RESPONSE_MS		4400U

#define RDMABLK_MIN_PAUSE_MS		50U

u64 rdmablk_patience_login(u32 connect_ms, u32 joins);
u32 rdmablk_patience_control(u32 delay_ms, u32 failed);
u64 rdmablk_patience_join(u32 delay_ms, u32 late);
u32 rdmablk_patience_pause(u32 delay_ms, u32 tries, u32 late, u32 chance);

#endif /* RDMABLK_PATIENCE_H */
