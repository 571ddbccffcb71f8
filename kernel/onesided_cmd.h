/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of one-sided sessions that are commands, or need one.
 */
#ifndef RDMABLK_ONESIDED_CMD_H
#define RDMABLK_ONESIDED_CMD_H

#include "request.h"

u16 rdmablk_onesided_op(struct request *rq, u16 *flags);
void rdmablk_onesided_prepare_fua(struct rdmablk_hwq *hwq, struct request *rq);
blk_status_t rdmablk_onesided_prepare_flush(struct rdmablk_path *path,
					    struct rdmablk_request *req);
blk_status_t rdmablk_onesided_prepare_other(struct rdmablk_path *path,
					    struct rdmablk_hwq *hwq, struct request *rq);

#endif /* RDMABLK_ONESIDED_CMD_H */
