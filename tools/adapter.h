/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_ADAPTER_H
#define RDMABLK_TOOLS_ADAPTER_H

#include <dirent.h>
#include <stdbool.h>

#include <json-c/json.h>

#include "util.h"

struct device;

#define ADAPTER_LINE	160	/* bytes of a line of sysfs */

/**
 * struct adapter_gid - an address of a port
 * @index: its place in the port's table
 * @gid: eight groups of four hexadecimal digits
 * @kind: as sysfs has it: "IB/RoCE v1" or "RoCE v2"
 * @netdev: network device; "": none
 */
struct adapter_gid {
	unsigned int index;
	char gid[ADAPTER_LINE];
	char kind[ADAPTER_LINE];
	char netdev[ADAPTER_LINE];
};

typedef bool (*adapter_gid_fn)(const struct adapter_gid *gid, void *context);

int adapter_names(int root, struct dirent ***names);
int adapter_ports(int root, const char *dev, struct dirent ***names);
__printf(3, 4)
int adapter_line(int root, char line[ADAPTER_LINE], const char *fmt, ...);
void adapter_netdev(int root, const char *dev, const char *port, char netdev[ADAPTER_LINE]);
bool adapter_is_soft(int root, const char *dev);
bool adapter_is_iwarp(int root, const char *dev);
void adapter_gids(int root, const char *dev, const char *port, adapter_gid_fn fn,
		  void *context);

struct json_object *adapter_counters(const struct device *device);
struct json_object *adapter_port_counters(const char *ibdev, unsigned int port);

#endif /* RDMABLK_TOOLS_ADAPTER_H */
