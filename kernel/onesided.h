/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_ONESIDED_H
#define RDMABLK_ONESIDED_H

#include "request.h"

int rdmablk_onesided_map(struct rdmablk_path *path, struct request *rq);
void rdmablk_onesided_unmap(struct rdmablk_path *path, struct request *rq);
void rdmablk_onesided_send(struct rdmablk_path *path, struct request *rq, bool flush);

#endif /* RDMABLK_ONESIDED_H */
