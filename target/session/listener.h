/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses the daemon listens on.
 */
#ifndef RDMABLKD_LISTENER_H
#define RDMABLKD_LISTENER_H

#include "config/config.h"
#include "rdma/device.h"

int listener_open_all(const struct config *cfg);
int listener_check(const struct listen_addr *addr);
void listener_close_device(struct device *dev);
void listener_close_all(void);

#endif
