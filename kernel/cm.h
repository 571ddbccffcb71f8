/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_CM_H
#define RDMABLK_CM_H

#include <linux/types.h>
#include "queue.h"

struct sockaddr;

int rdmablk_cm_resolve(struct rdmablk_queue *q, struct sockaddr *dst,
		       struct sockaddr *src, u8 ack_timeout,
		       unsigned long deadline);
int rdmablk_cm_connect(struct rdmablk_queue *q,
		       const struct rdmablk_cm_request *req, u8 read_depth,
		       unsigned long deadline);
void rdmablk_cm_destroy(struct rdmablk_queue *q);
long rdmablk_deadline_left(unsigned long deadline);

#endif /* RDMABLK_CM_H */
