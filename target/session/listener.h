/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses the daemon listens on.
 */
#ifndef RDMABLKD_LISTENER_H
#define RDMABLKD_LISTENER_H

#include "config/config.h"
#include "rdma/device.h"

/**
 * struct listener_status - one listener, for the administrator
 * @address: ADDR:PORT
 * @device: RDMA device of that address; NULL: of any device, or there is none now
 * @listening: connections may come; else a timer tries again
 * @allow_address: networks from which logins are taken here, if the daemon's list has them,
 *	too; NULL: it has no list of its own
 * @refused: logins that one of these lists has refused since the start
 */
struct listener_status {
	const char *address;
	const char *device;
	bool listening;
	const char *allow_address;
	uint64_t refused;
};

int listener_open_all(const struct config *cfg);
int listener_check(const struct listen_addr *addr);
const char *listener_networks(void);
bool listener_show(unsigned int i, struct listener_status *status);
void listener_close_device(struct device *dev);
void listener_close_all(void);

#endif
