// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counters of an RDMA adapter, /sys/class/infiniband/DEV/ports/N/hw_counters. They
 * count for all users of the port, not for a disk. Each driver has its own set; the tool
 * shows those that tell of trouble in the network.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
