/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_CM_H
#define RDMABLK_CM_H

#include <linux/types.h>
#include "queue.h"

struct sockaddr;

/*
 * rdma_cm asks for the target's link address before it begins to wait. If the answer comes
 * before that, it wakes nobody: rdma_cm finds it only when this time is over.
 */
#define RDMABLK_RESOLVE_MS	500U

/* Values of rdmablk_cm_route.ack_timeout that are not exponents */
#define RDMABLK_ACK_TIMEOUT_PATH	0	/* what the path record says */
#define RDMABLK_ACK_TIMEOUT_AUTO	U8_MAX	/* the path record on InfiniBand, else fixed */

#define RDMABLK_TOS_UNSET		-1	/* rdma_cm uses its default_roce_tos */

/* Text for RDMABLK_R_AUTH_REQUIRED when the administrator has given no key */
#define RDMABLK_WHY_NEEDS_KEY	"the target demands a key: connect with --key NAME"

/**
 * struct rdmablk_cm_route - what the administrator asks of the fabric
 * @ack_timeout: exponent e of the transport's retransmit timeout, 4.096 us * 2^e; or one of
 *	the values above
 * @tos: type of service, 0 to 255; becomes the traffic class of RoCE packets, and chooses
 *	the service level on InfiniBand; or RDMABLK_TOS_UNSET
 */
struct rdmablk_cm_route {
	u8 ack_timeout;
	s16 tos;
};

bool rdmablk_cm_is_done(const struct rdmablk_queue *q);
int rdmablk_cm_wait(struct rdmablk_queue *q, unsigned long deadline);
int rdmablk_cm_start_address(struct rdmablk_queue *q, struct sockaddr *dst,
			     struct sockaddr *src, unsigned int ms);
int rdmablk_cm_start_route(struct rdmablk_queue *q, const struct rdmablk_cm_route *route,
			   unsigned int ms);
int rdmablk_cm_share_route(struct rdmablk_queue *q, const struct rdmablk_cm_route *route,
			   const struct rdmablk_queue *from, unsigned int ms);
int rdmablk_cm_resolve(struct rdmablk_queue *q, struct sockaddr *dst,
		       struct sockaddr *src, const struct rdmablk_cm_route *route,
		       unsigned long deadline);
u8 rdmablk_cm_ack_timeout(const struct rdmablk_queue *q, const struct rdmablk_cm_route *route);
u8 rdmablk_cm_longest_ack(const struct rdmablk_queue *q, const struct rdmablk_cm_route *route);
int rdmablk_cm_start_connect(struct rdmablk_queue *q,
			     const struct rdmablk_cm_request *req, u8 read_depth);
void rdmablk_cm_destroy(struct rdmablk_queue *q);
long rdmablk_cm_left(unsigned long deadline);

#endif /* RDMABLK_CM_H */
