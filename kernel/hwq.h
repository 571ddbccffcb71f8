/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of hardware queues.
 */
#ifndef RDMABLK_HWQ_H
#define RDMABLK_HWQ_H

#include <linux/types.h>

struct rdmablk_queue;
struct rdmablk_session;

int rdmablk_hwq_alloc(struct rdmablk_session *s,
		      void (*fatal)(struct rdmablk_queue *q, u16 reason));
void rdmablk_hwq_free(struct rdmablk_session *s);

#endif /* RDMABLK_HWQ_H */
