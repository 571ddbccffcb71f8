/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_NETLINK_H
#define RDMABLK_NETLINK_H

struct rdmablk_session;

int rdmablk_netlink_init(void);
void rdmablk_netlink_exit(void);
void rdmablk_netlink_event(struct rdmablk_session *s);

#endif /* RDMABLK_NETLINK_H */
