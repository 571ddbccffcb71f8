/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_CM_H
#define RDMABLK_CM_H

#include <linux/types.h>
#include "queue.h"

struct sockaddr;

/*
 * rdma_cm asks for the target's link address first and only then begins to wait. An
 * answer that is faster wakes nobody, and is found at the end of this time.
 */
#define RDMABLK_RESOLVE_MS	500U

bool rdmablk_cm_is_done(const struct rdmablk_queue *q);
int rdmablk_cm_wait(struct rdmablk_queue *q, unsigned long deadline);
int rdmablk_cm_start_address(struct rdmablk_queue *q, struct sockaddr *dst,
			     struct sockaddr *src, unsigned int ms);
int rdmablk_cm_start_route(struct rdmablk_queue *q, u8 ack_timeout, unsigned int ms);
int rdmablk_cm_resolve(struct rdmablk_queue *q, struct sockaddr *dst,
		       struct sockaddr *src, u8 ack_timeout,
		       unsigned long deadline);
int rdmablk_cm_start_connect(struct rdmablk_queue *q,
			     const struct rdmablk_cm_request *req, u8 read_depth);
void rdmablk_cm_destroy(struct rdmablk_queue *q);
long rdmablk_deadline_left(unsigned long deadline);

#endif /* RDMABLK_CM_H */
