/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Upcalls from the control queue to the session.
 */
#ifndef RDMABLK_CTRL_EVENTS_H
#define RDMABLK_CTRL_EVENTS_H

#include <linux/types.h>
#include "ctrl.h"

struct rdmablk_session;

extern const struct rdmablk_ctrl_ops rdmablk_ctrl_events_ops;
void rdmablk_ctrl_events_fatal(struct rdmablk_queue *q, u16 reason);
void rdmablk_ctrl_events_drain(struct rdmablk_session *s, u16 reason);
void rdmablk_ctrl_events_resized(struct rdmablk_session *s, u64 bytes);

#endif /* RDMABLK_CTRL_EVENTS_H */
