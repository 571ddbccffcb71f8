/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policies and operations of the netlink family, for netlink.c.
 * Documentation/netlink/generate makes this file from rdmablk.yaml there.
 */
#ifndef RDMABLK_NETLINK_OPS_H
#define RDMABLK_NETLINK_OPS_H

#include <net/genetlink.h>
#include "uapi/rdmablk_netlink.h"

/* Not const: the policies of older kernels take a pointer that is not. */
static struct netlink_range_validation_signed rdmablk_nl_fast_io_fail_tmo_range = {
	.min = -1,
	.max = 86400,
};

static struct netlink_range_validation_signed rdmablk_nl_dev_loss_tmo_range = {
	.min = -1,
	.max = 1000000,
};

static struct netlink_range_validation_signed rdmablk_nl_io_tmo_range = {
	.min = -1,
	.max = 86400,
};

static struct netlink_range_validation_signed rdmablk_nl_tos_range = {
	.min = -1,
	.max = 255,
};

static struct netlink_range_validation_signed rdmablk_nl_reauth_tmo_range = {
	.min = -1,
	.max = 604800,
};

static const struct nla_policy rdmablk_nl_connect_policy[RDMABLK_ATTR_MAX + 1] = {
	[RDMABLK_ATTR_TARGET] = NLA_POLICY_MIN_LEN(16),
	[RDMABLK_ATTR_EXPORT] = { .type = NLA_NUL_STRING, .len = 63 },
	[RDMABLK_ATTR_SOURCE] = NLA_POLICY_MIN_LEN(16),
	[RDMABLK_ATTR_READ_ONLY] = { .type = NLA_FLAG },
	[RDMABLK_ATTR_STEAL] = { .type = NLA_FLAG },
	[RDMABLK_ATTR_QUEUES] = NLA_POLICY_RANGE(NLA_U32, 1, 256),
	[RDMABLK_ATTR_POLL_QUEUES] = NLA_POLICY_MAX(NLA_U32, 128),
	[RDMABLK_ATTR_QUEUE_DEPTH] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
	[RDMABLK_ATTR_KEEP_ALIVE_TMO] = NLA_POLICY_RANGE(NLA_U32, 1, 600),
	[RDMABLK_ATTR_CONNECT_TMO] = NLA_POLICY_RANGE(NLA_U32, 1, 600),
	[RDMABLK_ATTR_RECONNECT_DELAY] = NLA_POLICY_RANGE(NLA_U32, 1, 600),
	[RDMABLK_ATTR_FAST_IO_FAIL_TMO] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_fast_io_fail_tmo_range),
	[RDMABLK_ATTR_DEV_LOSS_TMO] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_dev_loss_tmo_range),
	[RDMABLK_ATTR_ON_DATA_LOSS] = NLA_POLICY_MAX(NLA_U32, 1),
	[RDMABLK_ATTR_ACK_TIMEOUT] = NLA_POLICY_MAX(NLA_U8, 22),
	[RDMABLK_ATTR_HOST_ID] = NLA_POLICY_EXACT_LEN(16),
	[RDMABLK_ATTR_IO_TMO] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_io_tmo_range),
	[RDMABLK_ATTR_TOS] = NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_tos_range),
	[RDMABLK_ATTR_ORDERED] = { .type = NLA_FLAG },
	[RDMABLK_ATTR_KEY] = { .type = NLA_NUL_STRING, .len = 63 },
	[RDMABLK_ATTR_REAUTH_TMO] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_reauth_tmo_range),
};

static const struct nla_policy rdmablk_nl_disconnect_policy[RDMABLK_ATTR_MAX + 1] = {
	[RDMABLK_ATTR_INDEX] = { .type = NLA_U32 },
	[RDMABLK_ATTR_FORCE] = { .type = NLA_FLAG },
};

static const struct nla_policy rdmablk_nl_get_policy[RDMABLK_ATTR_MAX + 1] = {
	[RDMABLK_ATTR_INDEX] = { .type = NLA_U32 },
};

static const struct nla_policy rdmablk_nl_set_policy[RDMABLK_ATTR_MAX + 1] = {
	[RDMABLK_ATTR_INDEX] = { .type = NLA_U32 },
	[RDMABLK_ATTR_KEEP_ALIVE_TMO] = NLA_POLICY_RANGE(NLA_U32, 1, 600),
	[RDMABLK_ATTR_RECONNECT_DELAY] = NLA_POLICY_RANGE(NLA_U32, 1, 600),
	[RDMABLK_ATTR_FAST_IO_FAIL_TMO] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_fast_io_fail_tmo_range),
	[RDMABLK_ATTR_DEV_LOSS_TMO] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_dev_loss_tmo_range),
	[RDMABLK_ATTR_ON_DATA_LOSS] = NLA_POLICY_MAX(NLA_U32, 1),
	[RDMABLK_ATTR_TIMED] = NLA_POLICY_MAX(NLA_U8, 1),
	[RDMABLK_ATTR_IO_TMO] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_io_tmo_range),
	[RDMABLK_ATTR_KEY] = { .type = NLA_NUL_STRING, .len = 63 },
	[RDMABLK_ATTR_REAUTH_TMO] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &rdmablk_nl_reauth_tmo_range),
};

static const struct nla_policy rdmablk_nl_reconnect_policy[RDMABLK_ATTR_MAX + 1] = {
	[RDMABLK_ATTR_INDEX] = { .type = NLA_U32 },
	[RDMABLK_ATTR_ACCEPT_DATA_LOSS] = { .type = NLA_FLAG },
};

static const struct nla_policy rdmablk_nl_stats_get_policy[RDMABLK_ATTR_MAX + 1] = {
	[RDMABLK_ATTR_INDEX] = { .type = NLA_U32 },
};

static int rdmablk_nl_connect(struct sk_buff *skb, struct genl_info *info);
static int rdmablk_nl_disconnect(struct sk_buff *skb, struct genl_info *info);
static int rdmablk_nl_get(struct sk_buff *skb, struct genl_info *info);
static int rdmablk_nl_dump_start(struct netlink_callback *cb);
static int rdmablk_nl_get_dump(struct sk_buff *skb, struct netlink_callback *cb);
static int rdmablk_nl_set(struct sk_buff *skb, struct genl_info *info);
static int rdmablk_nl_reconnect(struct sk_buff *skb, struct genl_info *info);
static int rdmablk_nl_stats_get(struct sk_buff *skb, struct genl_info *info);
static int rdmablk_nl_stats_start(struct netlink_callback *cb);
static int rdmablk_nl_stats_get_dump(struct sk_buff *skb, struct netlink_callback *cb);

static const struct genl_ops rdmablk_nl_ops[] = {
	{
		.cmd		= RDMABLK_CMD_CONNECT,
		.flags		= GENL_ADMIN_PERM,
		.policy		= rdmablk_nl_connect_policy,
		.maxattr	= RDMABLK_ATTR_MAX,
		.doit		= rdmablk_nl_connect,
	},
	{
		.cmd		= RDMABLK_CMD_DISCONNECT,
		.flags		= GENL_ADMIN_PERM,
		.policy		= rdmablk_nl_disconnect_policy,
		.maxattr	= RDMABLK_ATTR_MAX,
		.doit		= rdmablk_nl_disconnect,
	},
	{
		.cmd		= RDMABLK_CMD_GET,
		.flags		= GENL_ADMIN_PERM,
		.policy		= rdmablk_nl_get_policy,
		.maxattr	= RDMABLK_ATTR_MAX,
		.doit		= rdmablk_nl_get,
		.start		= rdmablk_nl_dump_start,
		.dumpit		= rdmablk_nl_get_dump,
	},
	{
		.cmd		= RDMABLK_CMD_SET,
		.flags		= GENL_ADMIN_PERM,
		.policy		= rdmablk_nl_set_policy,
		.maxattr	= RDMABLK_ATTR_MAX,
		.doit		= rdmablk_nl_set,
	},
	{
		.cmd		= RDMABLK_CMD_RECONNECT,
		.flags		= GENL_ADMIN_PERM,
		.policy		= rdmablk_nl_reconnect_policy,
		.maxattr	= RDMABLK_ATTR_MAX,
		.doit		= rdmablk_nl_reconnect,
	},
	{
		.cmd		= RDMABLK_CMD_STATS_GET,
		.flags		= GENL_ADMIN_PERM,
		.policy		= rdmablk_nl_stats_get_policy,
		.maxattr	= RDMABLK_ATTR_MAX,
		.doit		= rdmablk_nl_stats_get,
		.start		= rdmablk_nl_stats_start,
		.dumpit		= rdmablk_nl_stats_get_dump,
	},
};

#endif /* RDMABLK_NETLINK_OPS_H */
