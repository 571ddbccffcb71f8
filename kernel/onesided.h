/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_ONESIDED_H
#define RDMABLK_ONESIDED_H

#include "compat.h"
#include "request.h"

blk_status_t rdmablk_onesided_map(struct rdmablk_path *path, struct request *rq);
void rdmablk_onesided_unmap(struct rdmablk_path *path, struct request *rq);
void rdmablk_onesided_add(struct rdmablk_path *path, struct rdmablk_request *req,
			  enum ib_wr_opcode op, u64 remote, u32 rkey, bool signal);
void rdmablk_onesided_send(struct rdmablk_path *path, struct request *rq, bool flush);
void rdmablk_onesided_send_list(struct rdmablk_path *path, struct rdmablk_queue *q,
				struct rq_list *list);

#endif /* RDMABLK_ONESIDED_H */
