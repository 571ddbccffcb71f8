// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The port of the tested RDMA device, and the address by which its peers reach it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

#include "../util.h"
#include "ordering.h"

#define MAX_GIDS	256
#define NAMES_LEN	512

/* The names of all devices, for a complaint. */
static void list_names(struct ibv_device **list, char *names)
{
	size_t used = 0;

	names[0] = '\0';
	for (; *list && used < NAMES_LEN; list++)
		used += snprintf(names + used, NAMES_LEN - used, "%s%s", used ? ", " : "",
				 ibv_get_device_name(*list));
}

static int open_device(struct port *port, const struct options *opts)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	char names[NAMES_LEN];
	int ret = 0;
	size_t i;

	if (!list)
		return report_failure(opts->device,
				      "the RDMA devices cannot be listed: %s (no module ib_uverbs?)",
				      strerror(errno));
	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), opts->device); i++)
		;
	if (!list[0]) {
		ret = report_failure(opts->device,
				     "user space sees no RDMA device at all; see ibv_devices(1)");
	} else if (!list[i]) {
		list_names(list, names);
		ret = report_failure(opts->device, "there is no such RDMA device; there is %s",
				     names);
	} else {
		port->ctx = ibv_open_device(list[i]);
		if (!port->ctx)
			ret = report_failure(opts->device, "cannot be opened: %s",
					     strerror(errno));
	}
	ibv_free_device_list(list);
	return ret;
}

static int query_port(struct port *port)
{
	struct ibv_device_attr device;
	int err;

	err = ibv_query_device(port->ctx, &device);
	if (err)
		return report_failure(port->name, "the device does not describe itself: %s",
				      strerror(err));
	if (port->num > device.phys_port_cnt)
		return report_failure(port->name, "the device has %u port%s",
				      device.phys_port_cnt, device.phys_port_cnt == 1 ? "" : "s");
	err = ibv_query_port(port->ctx, port->num, &port->attr);
	if (err)
		return report_failure(port->name, "the port does not describe itself: %s",
				      strerror(err));
	if (port->ctx->device->transport_type != IBV_TRANSPORT_IB)
		return report_failure(port->name,
				      "it is neither InfiniBand nor RoCE, which rdmablk needs");
	if (port->attr.state != IBV_PORT_ACTIVE)
		return report_failure(port->name, "the port is %s, not active",
				      ibv_port_state_str(port->attr.state));
	return 0;
}

static bool is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

static void free_entries(struct ibv_gid_entry **entries)
{
	free(*entries);
}

/* Prefers RoCE v2 with a routable address, as rdma_cm does. */
static int rank(const struct ibv_gid_entry *entry)
{
	if (entry->gid_type != IBV_GID_TYPE_ROCE_V2)
		return 1;
	if (is_v4(&entry->gid))
		return 4;
	return is_link_local(&entry->gid) ? 2 : 3;
}

static int choose_gid(struct port *port)
{
	__cleanup(free_entries) struct ibv_gid_entry *entries = calloc(MAX_GIDS,
								       sizeof(*entries));
	int best = 0;
	ssize_t nr, i;

	if (!entries)
		return report_failure(port->name, "no memory for its addresses");
	nr = ibv_query_gid_table(port->ctx, entries, MAX_GIDS, 0);
	if (nr < 0)
		return report_failure(port->name, "its addresses (GIDs) cannot be read: %s",
				      strerror(-nr));
	for (i = 0; i < nr; i++) {
		if (entries[i].port_num != port->num || entries[i].gid_index > UINT8_MAX ||
		    rank(&entries[i]) <= best)
			continue;
		best = rank(&entries[i]);
		port->gid_index = entries[i].gid_index;
		port->gid = entries[i].gid;
	}
	if (!best)
		return report_failure(port->name,
				      "the port has no address (GID); its interface needs an IP address");
	return 0;
}

static int find_gid(struct port *port, int index)
{
	static const union ibv_gid none;

	port->global = index >= 0 || port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	if (!port->global)
		return 0;
	if (index < 0)
		return choose_gid(port);
	if (index >= port->attr.gid_tbl_len)
		return report_failure(port->name, "there is no GID %d: the port has %d", index,
				      port->attr.gid_tbl_len);
	if (ibv_query_gid(port->ctx, port->num, index, &port->gid) ||
	    !memcmp(&port->gid, &none, sizeof(none)))
		return report_failure(port->name,
				      "GID %d is not set; without --gid-index one is chosen",
				      index);
	port->gid_index = index;
	return 0;
}

/**
 * port_open() - open the device, and find the port's address
 * @port: set; to be closed if this succeeds
 * @opts: device, port and, if wanted, the index of the address
 *
 * Return: 0, or STATUS_NOT_RUN after a complaint.
 */
int port_open(struct port *port, const struct options *opts)
{
	int ret;

	memset(port, 0, sizeof(*port));
	snprintf(port->name, sizeof(port->name), "%s port %u", opts->device, opts->port);
	port->num = opts->port;
	ret = open_device(port, opts);
	if (ret)
		return ret;
	ret = query_port(port) ?: find_gid(port, opts->gid_index);
	if (ret)
		port_close(port);
	return ret;
}

/**
 * port_close() - close the device
 * @port: opened, and nothing of it in use any more
 */
void port_close(struct port *port)
{
	ibv_close_device(port->ctx);
	port->ctx = NULL;
}
