// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk devices: shows the RDMA devices of this host, with all that matters to disks and
 * exports: ports, addresses, MTU, limits. Addresses and states come from sysfs, limits and
 * MTUs from the driver. If the driver cannot be asked, the rest is shown.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter.h"
#include "adapter_verbs.h"
#include "commands.h"
#include "files.h"
#include "output.h"
#include "report.h"
#include "util.h"

const struct option_info devices_options[] = {
	{ "json", 0, 'j', NULL, "print JSON" },
	{ "root", 0, 'r', "DIR", "look at the files below DIR (/)" },
	{ 0 }
};

/**
 * struct look - a look at the devices of a host
 * @root: directory that stands for /
 * @here: @root is that of this host: its drivers can be asked
 * @dev: name of the device that is looked at
 * @ctx: the same, open; NULL: it cannot be asked
 */
struct look {
	int root;
	bool here;
	const char *dev;
	struct ibv_context *ctx;
};

static int set(void *context, int id, const char *value)
{
	const char **root = context;

	if (id == 'j')
		report_json = true;
	else
		*root = value;
	return 0;
}

/*
 * The JSON document
 */

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text[0] ? json_object_new_string(text) : NULL);
}

/* @number: 0 is not known */
static void add_number(struct json_object *object, const char *key, __u64 number)
{
	json_object_object_add(object, key, number ? json_object_new_uint64(number) : NULL);
}

/* Files of states have a number, a colon, a blank, and the word. */
static const char *word_of(const char *line)
{
	const char *colon = strstr(line, ": ");

	return colon ? colon + 2 : line;
}

/* Writes a GID in the form that people use; "": it is not an address. */
static void readable(const char *gid, char text[INET6_ADDRSTRLEN])
{
	struct in6_addr addr;

	text[0] = '\0';
	if (inet_pton(AF_INET6, gid, &addr) != 1)
		return;
	if (IN6_IS_ADDR_V4MAPPED(&addr))
		inet_ntop(AF_INET, &addr.s6_addr[12], text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, &addr, text, INET6_ADDRSTRLEN);
}

static bool take_gid(const struct adapter_gid *gid, void *context)
{
	struct json_object *object = json_object_new_object();
	char text[INET6_ADDRSTRLEN];

	readable(gid->gid, text);
	json_object_object_add(object, "index", json_object_new_int(gid->index));
	add_text(object, "gid", gid->gid);
	add_text(object, "address", text);
	add_text(object, "kind", gid->kind);
	add_text(object, "netdev", gid->netdev);
	json_object_array_add(context, object);
	return true;
}

static struct json_object *port_object(const struct look *look, const char *port)
{
	static const struct {
		const char *key, *file;
	} lines[] = {
		{ "state", "state" }, { "physical", "phys_state" },
		{ "link_layer", "link_layer" }, { "rate", "rate" },
	};
	struct json_object *object = json_object_new_object(), *gids = json_object_new_array();
	unsigned int number = strtoul(port, NULL, 10), active = 0, max = 0;
	char line[ADAPTER_LINE];

	json_object_object_add(object, "port", json_object_new_int(number));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		adapter_line(look->root, line, "%s/ports/%s/%s", look->dev, port, lines[i].file);
		add_text(object, lines[i].key, word_of(line));
	}
	adapter_netdev(look->root, look->dev, port, line);
	add_text(object, "netdev", line);
	if (look->ctx)
		active = adapter_verbs_mtu(look->ctx, number, &max);
	add_number(object, "active_mtu", active);
	add_number(object, "max_mtu", max);
	adapter_gids(look->root, look->dev, port, take_gid, gids);
	json_object_object_add(object, "gids", gids);
	return object;
}

/* Adds what the driver says, or why it says nothing. */
static void add_limits(struct look *look, struct json_object *object)
{
	struct json_object *limits = NULL, *features = NULL;
	char why[ADAPTER_WHY] = "";

	if (look->here)
		look->ctx = adapter_verbs_open(look->dev, why);
	else
		snprintf(why, sizeof(why), "the driver is not asked with --root");
	if (look->ctx)
		limits = adapter_verbs_limits(look->ctx, why);
	if (limits)
		features = adapter_verbs_features(look->ctx);
	json_object_object_add(object, "limits", limits);
	json_object_object_add(object, "features", features);
	add_text(object, "unknown_because", why);
}

static struct json_object *device_object(struct look *look)
{
	struct json_object *object = json_object_new_object(), *ports = json_object_new_array();
	char line[ADAPTER_LINE];
	struct dirent **names;
	int i, nr;

	add_text(object, "name", look->dev);
	json_object_object_add(object, "transport",
			       json_object_new_string(adapter_is_iwarp(look->root, look->dev) ?
						      "iWARP" : "InfiniBand"));
	json_object_object_add(object, "software",
			       json_object_new_boolean(adapter_is_soft(look->root, look->dev)));
	adapter_line(look->root, line, "%s/fw_ver", look->dev);
	add_text(object, "firmware", line);
	adapter_line(look->root, line, "%s/node_guid", look->dev);
	add_text(object, "node_guid", line);
	/*
	 * Returns the NUMA node of a device; -1: it has none, or the host has only one node.
	 */
	adapter_line(look->root, line, "%s/device/numa_node", look->dev);
	json_object_object_add(object, "numa_node", line[0] && line[0] != '-' ?
			       json_object_new_int(strtol(line, NULL, 10)) : NULL);
	add_limits(look, object);
	nr = adapter_ports(look->root, look->dev, &names);
	for (i = 0; i < nr; i++)
		json_object_array_add(ports, port_object(look, names[i]->d_name));
	files_free(names, nr);
	json_object_object_add(object, "ports", ports);
	return object;
}

/* Returns the devices, or the one of this name. */
static struct json_object *gather(int root, bool here, const char *only)
{
	struct json_object *devices = json_object_new_array();
	struct dirent **names;
	int i, nr = adapter_names(root, &names);

	for (i = 0; i < nr; i++) {
		struct look look = { .root = root, .here = here, .dev = names[i]->d_name };

		if (only && strcmp(only, look.dev))
			continue;
		json_object_array_add(devices, device_object(&look));
		adapter_verbs_close(look.ctx);
	}
	files_free(names, nr);
	return devices;
}

/*
 * The same for people
 */

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) && value ?
	       json_object_get_string(value) : "-";
}

static struct json_object *array_of(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

static void print_port(struct json_object *port)
{
	struct json_object *gids = array_of(port, "gids");
	char head[32];

	snprintf(head, sizeof(head), "port %s", text_of(port, "port"));
	printf("  %-20s%s, %s, %s, netdev %s, MTU %s of %s\n", head, text_of(port, "state"),
	       text_of(port, "link_layer"), text_of(port, "rate"), text_of(port, "netdev"),
	       text_of(port, "active_mtu"), text_of(port, "max_mtu"));
	for (size_t i = 0; i < json_object_array_length(gids); i++) {
		struct json_object *gid = json_object_array_get_idx(gids, i);

		snprintf(head, sizeof(head), "gid %s/%s", text_of(port, "port"),
			 text_of(gid, "index"));
		printf("  %-20s%s, %s, netdev %s\n", head, text_of(gid, "address"),
		       text_of(gid, "kind"), text_of(gid, "netdev"));
	}
}

static void print_limits(struct json_object *device)
{
	struct json_object *limits = array_of(device, "limits");
	struct json_object *features = array_of(device, "features");

	if (!limits) {
		printf("  %-20snot known: %s\n", "limits", text_of(device, "unknown_because"));
		return;
	}
	json_object_object_foreach(limits, key, value)
		printf("  %-20s%s\n", key, json_object_get_string(value));
	printf("  %-20s", "features");
	for (size_t i = 0; i < json_object_array_length(features); i++)
		printf("%s%s", i ? " " : "",
		       json_object_get_string(json_object_array_get_idx(features, i)));
	printf("\n");
}

static void print_device(struct json_object *device)
{
	struct json_object *ports = array_of(device, "ports"), *soft;

	json_object_object_get_ex(device, "software", &soft);
	printf("%s\n", text_of(device, "name"));
	printf("  %-20s%s%s\n", "transport", text_of(device, "transport"),
	       json_object_get_boolean(soft) ? ", in software (Soft-RoCE)" : "");
	printf("  %-20s%s\n", "firmware", text_of(device, "firmware"));
	printf("  %-20s%s\n", "node_guid", text_of(device, "node_guid"));
	printf("  %-20s%s\n", "numa_node", text_of(device, "numa_node"));
	for (size_t i = 0; i < json_object_array_length(ports); i++)
		print_port(json_object_array_get_idx(ports, i));
	print_limits(device);
}

static int complain(int root, const char *name)
{
	struct dirent **names;
	int i, nr = adapter_names(root, &names), ret;
	struct near near;
	char what[96];

	near_begin(&near, name);
	for (i = 0; i < nr; i++)
		near_try(&near, names[i]->d_name);
	snprintf(what, sizeof(what), "devices %.80s", name);
	if (near.best)
		ret = report_failure(ENODEV, what, "no such RDMA device; did you mean '%s'?",
				     near.best);
	else
		ret = report_failure(ENODEV, what,
				     "no such RDMA device; 'rdmablk devices' lists them");
	files_free(names, nr);
	return ret;
}

static int show(int root, bool here, const char *only)
{
	struct json_object *devices = gather(root, here, only), *document;
	size_t i, nr = json_object_array_length(devices);
	int ret = STATUS_DONE;

	if (only && !nr) {
		ret = complain(root, only);
	} else if (report_json) {
		document = output_json_new();
		json_object_object_add(document, "devices", json_object_get(devices));
		output_json_line(document);
	} else {
		for (i = 0; i < nr; i++)
			print_device(json_object_array_get_idx(devices, i));
	}
	json_object_put(devices);
	return ret;
}

/**
 * cmd_devices() - rdmablk devices
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_devices(const struct command_info *command, int argc, char **argv)
{
	const char *path = "/", *only;
	int ret, root;

	ret = opts_parse(command, argc, argv, set, &path);
	if (ret)
		return ret;
	only = argv[optind];
	if (only && argv[optind + 1])
		return report_usage("devices", "too many arguments: '%s'", argv[optind + 1]);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return report_failure(errno, "devices", "%s: %s", path, strerror(errno));
	if (strcmp(path, "/"))
		files_set_root(root);
	ret = show(root, !strcmp(path, "/"), only);
	close(root);
	return ret;
}
