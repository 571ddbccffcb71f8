// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RDMA adapters as /sys/class/infiniband shows them: kind, ports, addresses, counters. The
 * counters, ports/N/hw_counters, count for all users of the port, not for a disk. Each driver
 * has its own set; the tool shows the counters that mean trouble in the network.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter.h"
#include "attr.h"
#include "device.h"
#include "files.h"
#include "util.h"

#define IB		"sys/class/infiniband"
#define EMPTY_GID	"0000:0000:0000:0000:0000:0000"	/* start of an empty GID */

/**
 * adapter_names() - lists the RDMA devices
 * @root: directory that stands for /
 * @names: result, for files_free()
 *
 * Returns how many there are.
 */
int adapter_names(int root, struct dirent ***names)
{
	return files_names(root, IB, NULL, names);
}

/**
 * adapter_ports() - lists the ports of an RDMA device
 * @root: directory that stands for /
 * @dev: the device
 * @names: result, for files_free(): numbers in words
 *
 * Returns how many there are.
 */
int adapter_ports(int root, const char *dev, struct dirent ***names)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), IB "/%s/ports", dev);
	return files_names(root, path, NULL, names);
}

/**
 * adapter_line() - reads the first line of a file of an RDMA device
 * @root: directory that stands for /
 * @line: result; "" after an error
 * @fmt: path of the file, from the name of the device on
 *
 * Returns 0 or -errno.
 */
int adapter_line(int root, char line[ADAPTER_LINE], const char *fmt, ...)
{
	char path[PATH_MAX] = IB "/";
	va_list args;

	va_start(args, fmt);
	vsnprintf(path + strlen(path), sizeof(path) - strlen(path), fmt, args);
	va_end(args);
	return files_line(root, path, line, ADAPTER_LINE);
}

/**
 * adapter_netdev() - the network device of a port
 * @root: directory that stands for /
 * @dev: the RDMA device
 * @port: its port
 * @netdev: its name; "": the port has none
 */
void adapter_netdev(int root, const char *dev, const char *port, char netdev[ADAPTER_LINE])
{
	adapter_line(root, netdev, "%s/ports/%s/gid_attrs/ndevs/0", dev, port);
}

/**
 * adapter_is_soft() - whether an RDMA device is Soft-RoCE
 * @root: directory that stands for /
 * @dev: the device
 *
 * Only rxe has a file with its network device. The description does not tell, because
 * rdma-ndd overwrites it.
 */
bool adapter_is_soft(int root, const char *dev)
{
	char line[ADAPTER_LINE];

	return !adapter_line(root, line, "%s/parent", dev);
}

/**
 * adapter_is_iwarp() - whether an RDMA device is iWARP, which rdmablk does not support
 * @root: directory that stands for /
 * @dev: the device
 */
bool adapter_is_iwarp(int root, const char *dev)
{
	char line[ADAPTER_LINE];

	adapter_line(root, line, "%s/node_type", dev);
	return !strncmp(line, "4:", 2);
}

/* Returns whether the port has an address at this place. */
static bool read_gid(int root, const char *dev, const char *port, const char *index,
		     struct adapter_gid *gid)
{
	/* Places without an address have no type: reading it fails. */
	if (adapter_line(root, gid->kind, "%s/ports/%s/gid_attrs/types/%s", dev, port, index) ||
	    adapter_line(root, gid->gid, "%s/ports/%s/gids/%s", dev, port, index) ||
	    !gid->gid[0] || !strncmp(gid->gid, EMPTY_GID, strlen(EMPTY_GID)))
		return false;
	adapter_line(root, gid->netdev, "%s/ports/%s/gid_attrs/ndevs/%s", dev, port, index);
	gid->index = strtoul(index, NULL, 10);
	return true;
}

/**
 * adapter_gids() - goes through the addresses of a port
 * @root: directory that stands for /
 * @dev: the RDMA device
 * @port: its port
 * @fn: called for each that is set, by index; false ends the walk
 * @context: for @fn
 */
void adapter_gids(int root, const char *dev, const char *port, adapter_gid_fn fn, void *context)
{
	struct adapter_gid gid;
	struct dirent **names;
	char path[PATH_MAX];
	int i, nr;

	snprintf(path, sizeof(path), IB "/%s/ports/%s/gids", dev, port);
	nr = files_names(root, path, NULL, &names);
	for (i = 0; i < nr; i++)
		if (read_gid(root, dev, port, names[i]->d_name, &gid) && !fn(&gid, context))
			break;
	files_free(names, nr);
}

static bool is_of_interest(const char *name)
{
	static const char *const parts[] = { "rnr", "retry", "timeout", "seq", "dup" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* Reads a number; -1 if the file has something else or is not readable. */
static int read_number(int dir, const char *name, __u64 *number)
{
	char text[32], *end;

	if (files_line(dir, name, text, sizeof(text)))
		return -1;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno || end == text || *end ? -1 : 0;
}

static int only_of_interest(const struct dirent *entry)
{
	return is_of_interest(entry->d_name);
}

/**
 * adapter_port_counters() - the counters of a port
 * @ibdev: name of the adapter
 * @port: number of the port
 *
 * Returns an object: names and numbers, by name; NULL when there are none.
 */
struct json_object *adapter_port_counters(const char *ibdev, unsigned int port)
{
	struct json_object *object = NULL;
	struct dirent **names;
	char path[PATH_MAX];
	int i, nr, dir;
	__u64 number;

	if (!ibdev[0] || strchr(ibdev, '/'))
		return NULL;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/hw_counters", ibdev,
		 port);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	nr = files_names(dir, ".", only_of_interest, &names);
	for (i = 0; i < nr; i++) {
		if (!read_number(dir, names[i]->d_name, &number)) {
			object = object ?: json_object_new_object();
			json_object_object_add(object, names[i]->d_name,
					       json_object_new_uint64(number));
		}
	}
	files_free(names, nr);
	close(dir);
	return object;
}

/**
 * adapter_counters() - the counters of the port that a disk uses
 * @device: the disk
 *
 * Returns an object: names and numbers, by name; NULL when there are none.
 */
struct json_object *adapter_counters(const struct device *device)
{
	const struct value *port = &device->value[RDMABLK_ATTR_IBPORT];

	if (!port->present)
		return NULL;
	return adapter_port_counters(device->value[RDMABLK_ATTR_IBDEV].text, port->number);
}
