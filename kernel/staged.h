/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_STAGED_H
#define RDMABLK_STAGED_H

#include "request.h"

blk_status_t rdmablk_staged_prepare(struct rdmablk_path *path, struct rdmablk_hwq *hwq,
				    struct request *rq);
void rdmablk_staged_send(struct rdmablk_path *path, struct request *rq, bool flush);

#endif /* RDMABLK_STAGED_H */
