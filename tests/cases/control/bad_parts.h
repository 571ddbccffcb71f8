/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of bad_target.c that do not use the state of the login.
 */
#ifndef BAD_PARTS_H
#define BAD_PARTS_H

#include <infiniband/verbs.h>

#include "uapi/rdmablk_proto.h"

struct rdmablk_hdr head(unsigned int type, size_t len);
void fill_challenge2(struct rdmablk_challenge2 *c);
int hurry_rnr(struct ibv_qp *qp);

#endif
