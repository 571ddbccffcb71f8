// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queue pairs and protection domains of this host, as rdma(8) lists them: by netlink from
 * the RDMA subsystem.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "rdma_res.h"
#include "util.h"

/* Values of enum ib_qp_type and enum ib_qp_state, which no header for programs defines */
#define TYPE_GSI	1
#define STATE_ERR	6
#define MAX_DEVICES	64
#define MESSAGE		32768	/* bytes of the largest message of a dump */

struct device {
	__u32 index;
	char name[64];
};

struct walk {
	struct mnl_socket *socket;
	unsigned int seq;
	struct device devices[MAX_DEVICES];
	unsigned int nr;
	const struct device *device;
	rdma_res_fn fn;
	void *context;
};

static void copy(char *to, size_t size, const struct nlattr *attr)
{
	snprintf(to, size, "%s", mnl_attr_get_str(attr));
}

static int take_device(const struct nlmsghdr *nlh, void *context)
{
	struct walk *w = context;
	const struct nlattr *attr;
	struct device device = { 0 };

	mnl_attr_for_each(attr, nlh, 0) {
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_INDEX &&
		    mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			device.index = mnl_attr_get_u32(attr);
		else if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_NAME &&
			 mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			copy(device.name, sizeof(device.name), attr);
	}
	if (device.name[0] && w->nr < MAX_DEVICES)
		w->devices[w->nr++] = device;
	return MNL_CB_OK;
}

static void take_entry(struct walk *w, const struct nlattr *entry, bool is_pd)
{
	struct rdma_res res = { .is_pd = is_pd };
	const struct nlattr *attr;

	snprintf(res.dev, sizeof(res.dev), "%s", w->device->name);
	mnl_attr_for_each_nested(attr, entry) {
		switch (mnl_attr_get_type(attr)) {
		case RDMA_NLDEV_ATTR_RES_TYPE:
			if (mnl_attr_validate(attr, MNL_TYPE_U8) >= 0)
				res.gsi = mnl_attr_get_u8(attr) == TYPE_GSI;
			break;
		case RDMA_NLDEV_ATTR_RES_STATE:
			if (mnl_attr_validate(attr, MNL_TYPE_U8) >= 0)
				res.broken = mnl_attr_get_u8(attr) == STATE_ERR;
			break;
		case RDMA_NLDEV_ATTR_RES_KERN_NAME:
			if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
				copy(res.owner, sizeof(res.owner), attr);
			break;
		}
	}
	w->fn(&res, w->context);
}

static int take_entries(const struct nlmsghdr *nlh, void *context)
{
	const struct nlattr *attr, *entry;

	mnl_attr_for_each(attr, nlh, 0) {
		bool is_pd = mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_RES_PD;

		if (is_pd || mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_RES_QP)
			mnl_attr_for_each_nested(entry, attr)
				take_entry(context, entry, is_pd);
	}
	return MNL_CB_OK;
}

/* Asks for all of a kind, of @device or of the host. Returns 0 or -errno. */
static int dump(struct walk *w, unsigned int command, const struct device *device, mnl_cb_t take)
{
	char buf[MESSAGE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	ssize_t len;
	int ret;

	nlh->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP;
	nlh->nlmsg_seq = ++w->seq;
	w->device = device;
	if (device)
		mnl_attr_put_u32(nlh, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
	if (mnl_socket_sendto(w->socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		len = mnl_socket_recvfrom(w->socket, buf, sizeof(buf));
		if (len < 0)
			return -errno;
		ret = mnl_cb_run(buf, len, w->seq, mnl_socket_get_portid(w->socket), take, w);
	} while (ret > 0);
	return ret < 0 ? -errno : 0;
}

/* A device that has gone meanwhile has no resources: no error. */
static int dump_device(struct walk *w, const struct device *device)
{
	static const unsigned int commands[] = {
		RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_PD_GET,
	};
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(commands); i++)
		ret = dump(w, commands[i], device, take_entries);
	return ret == -ENODEV || ret == -EINVAL ? 0 : ret;
}

/**
 * rdma_res_walk() - look at all queue pairs and protection domains of this host
 * @fn: called for each
 * @context: for @fn
 *
 * Returns 0 or -errno.
 */
int rdma_res_walk(rdma_res_fn fn, void *context)
{
	struct walk w = { .seq = time(NULL), .fn = fn, .context = context };
	unsigned int i;
	int ret;

	w.socket = mnl_socket_open2(NETLINK_RDMA, SOCK_CLOEXEC);
	if (!w.socket)
		return -errno;
	ret = mnl_socket_bind(w.socket, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : 0;
	if (!ret)
		ret = dump(&w, RDMA_NLDEV_CMD_GET, NULL, take_device);
	for (i = 0; !ret && i < w.nr; i++)
		ret = dump_device(&w, &w.devices[i]);
	mnl_socket_close(w.socket);
	return ret;
}
