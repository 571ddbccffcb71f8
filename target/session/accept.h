/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connection requests: a login begins, or a data queue joins its session.
 */
#ifndef RDMABLKD_ACCEPT_H
#define RDMABLKD_ACCEPT_H

#include "config/config.h"
#include "rdma/cm.h"

void accept_init(const struct config *cfg);
void accept_request(const struct cm_event *ev);

#endif
