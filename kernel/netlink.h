/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_NETLINK_H
#define RDMABLK_NETLINK_H

#include <linux/types.h>

struct genl_info;
struct rdmablk_session;
struct sk_buff;
struct sockaddr_storage;

int rdmablk_netlink_init(void);
void rdmablk_netlink_exit(void);
void rdmablk_netlink_event(struct rdmablk_session *s);

/* netlink_msg.c */
int rdmablk_netlink_addr(struct genl_info *info, int nr, u16 port,
			 struct sockaddr_storage *ss);
int rdmablk_netlink_put_id(struct sk_buff *msg, struct rdmablk_session *s);
int rdmablk_netlink_put_session(struct sk_buff *msg, void *hdr, struct rdmablk_session *s);
int rdmablk_netlink_put_stats(struct sk_buff *msg, void *hdr, struct rdmablk_session *s);

/* Room for a message of rdmablk_netlink_put_stats(), bytes */
#define RDMABLK_NL_STATS_SIZE	SZ_8K

#endif /* RDMABLK_NETLINK_H */
