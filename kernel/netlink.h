/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_NETLINK_H
#define RDMABLK_NETLINK_H

int rdmablk_netlink_init(void);
void rdmablk_netlink_exit(void);

#endif /* RDMABLK_NETLINK_H */
