// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks whether disks and exports of this host can work well. A check reads files of /proc,
 * /sys, /dev and /etc, or asks the kernel or the daemon, and changes nothing. A finding says
 * what is wrong and has the command that mends it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "adapter.h"
#include "doctor.h"
#include "doctor_config.h"
#include "doctor_resources.h"
#include "doctor_target.h"
#include "files.h"
#include "keyring.h"
#include "opts.h"
#include "sysfs.h"
#include "util.h"

#define ROCE_HEADERS	96	/* bytes of an Ethernet frame that rdma_cm keeps free */
#define LARGEST_MTU	4096

/*
 * Adapters
 */

/**
 * struct reach - how far the addresses of a port reach
 * @d: the examination
 * @gid: the one that is compared with addresses
 * @global: to other networks
 * @link: to peers on its link
 */
struct reach {
	const struct exam *d;
	const char *gid;
	bool global, link;
};

/* @line: of if_inet6; it begins with an address, a GID without colons */
static bool see_address(const char *line, void *context)
{
	struct reach *reach = context;
	const char *gid;

	for (gid = reach->gid; *gid; gid++)
		if (*gid != ':' && *gid != *line++)
			return true;
	reach->link = true;
	return false;
}

/* A port has a GID of its link even if no network device has that address. */
static bool see_gid(const struct adapter_gid *gid, void *context)
{
	struct reach *reach = context;

	if (strcmp(gid->kind, "RoCE v2"))
		return true;
	reach->global = strncmp(gid->gid, "fe80:", 5);
	reach->gid = gid->gid;
	if (!reach->global)
		exam_lines(reach->d, "proc/net/if_inet6", see_address, reach);
	return !reach->global;
}

/* Returns the bytes that one packet of RoCE carries. */
static unsigned int roce_mtu(unsigned int mtu)
{
	unsigned int bytes = LARGEST_MTU;

	while (bytes > 256 && bytes + ROCE_HEADERS > mtu)
		bytes /= 2;
	return bytes;
}

static void check_mtu(struct exam *d, const char *dev, const char *netdev)
{
	char line[EXAM_LINE], mend[EXAM_TEXT];
	unsigned int mtu;

	if (exam_line(d, line, "sys/class/net/%s/mtu", netdev))
		return;
	mtu = strtoul(line, NULL, 10);
	if (roce_mtu(mtu) == LARGEST_MTU) {
		exam_found(d, EXAM_OK, NULL, "%s: packets carry %u bytes", dev, LARGEST_MTU);
		return;
	}
	snprintf(mend, sizeof(mend), "ip link set %s mtu 9000", netdev);
	/* The MTU of a Soft-RoCE target must not change while disks use it. */
	exam_found(d, EXAM_NOTE, adapter_is_soft(d->root, dev) ? NULL : mend,
		   "%s: packets carry %u bytes, because %s has an MTU of %u; from %u on, on both hosts and the switches between them, it is %u",
		   dev, roce_mtu(mtu), netdev, mtu, LARGEST_MTU + ROCE_HEADERS, LARGEST_MTU);
}

/* Returns whether the port can be used. */
static bool check_roce(struct exam *d, const char *dev, const char *port)
{
	char netdev[EXAM_LINE], mend[EXAM_TEXT];
	struct reach reach = { .d = d };

	adapter_netdev(d->root, dev, port, netdev);
	adapter_gids(d->root, dev, port, see_gid, &reach);
	snprintf(mend, sizeof(mend), "ip address add ADDRESS/PREFIX dev %s",
		 netdev[0] ? netdev : "DEV");
	if (reach.global)
		exam_found(d, EXAM_OK, NULL, "%s port %s: active, with an address", dev, port);
	else if (reach.link)
		exam_found(d, EXAM_NOTE, mend,
			   "%s port %s: active, with a link-local address only", dev, port);
	else
		exam_found(d, EXAM_NOTE, mend, "%s port %s: active, without an address", dev, port);
	check_mtu(d, dev, netdev);
	return reach.global || reach.link;
}

/* Returns whether the port can be used. */
static bool check_port(struct exam *d, const char *dev, const char *port)
{
	char state[EXAM_LINE], layer[EXAM_LINE], netdev[EXAM_LINE], mend[EXAM_TEXT];

	adapter_line(d->root, state, "%s/ports/%s/state", dev, port);
	adapter_line(d->root, layer, "%s/ports/%s/link_layer", dev, port);
	if (!strcmp(state, "4: ACTIVE")) {
		if (!strcmp(layer, "Ethernet"))
			return check_roce(d, dev, port);
		exam_found(d, EXAM_OK, NULL, "%s port %s: active (%s)", dev, port, layer);
		return true;
	}
	adapter_netdev(d->root, dev, port, netdev);
	snprintf(mend, sizeof(mend), "ip link set %s up", netdev);
	exam_found(d, EXAM_NOTE, netdev[0] ? mend : NULL, "%s port %s: not active (%s)", dev, port,
		   state);
	return false;
}

/* Known faults of some kinds of adapters */
static void check_kind(struct exam *d, const char *dev)
{
	char mend[EXAM_TEXT];

	if (adapter_is_soft(d->root, dev))
		exam_found(d, EXAM_NOTE, NULL,
			   "%s: Soft-RoCE, for tests: do not change MTU or queueing discipline of a target in use, or READs may return no data (reliability.rst, What Soft-RoCE gets wrong)",
			   dev);
	/* Only the target's adapter must keep the order. */
	if (d->roles & EXAM_TARGET && !strncmp(dev, "mlx5_", 5)) {
		snprintf(mend, sizeof(mend), "mlxconfig -d %s query PCI_WR_ORDERING", dev);
		exam_found(d, EXAM_NOTE, mend,
			   "%s: no program can see whether it keeps the order of its writes: PCI_WR_ORDERING must not be force_relax, or disks need connect --ordered; rdmablk-ordering tests it",
			   dev);
	}
}

/* Returns how many ports can be used. */
static unsigned int check_adapter(struct exam *d, const char *dev)
{
	unsigned int usable = 0;
	struct dirent **ports;
	int i, nr;

	if (adapter_is_iwarp(d->root, dev)) {
		exam_found(d, EXAM_NOTE, NULL, "%s: iWARP, which rdmablk does not support", dev);
		return 0;
	}
	nr = adapter_ports(d->root, dev, &ports);
	for (i = 0; i < nr; i++)
		usable += check_port(d, dev, ports[i]->d_name);
	files_free(ports, nr);
	check_kind(d, dev);
	return usable;
}

static void check_adapters(struct exam *d)
{
	unsigned int usable = 0;
	struct dirent **devs;
	int i, nr = adapter_names(d->root, &devs);

	for (i = 0; i < nr; i++)
		usable += check_adapter(d, devs[i]->d_name);
	files_free(devs, nr);
	if (!nr)
		exam_found(d, EXAM_ERROR,
			   "modprobe rdma_rxe; rdma link add rxe0 type rxe netdev DEV",
			   "there is no RDMA device; the driver of the adapter is not loaded, or there is none: Soft-RoCE makes one of a network card");
	else if (!usable)
		exam_found(d, EXAM_ERROR, "rdma link", "no port of an RDMA device can be used");
}

/*
 * Initiator
 */

static int disks_of(const struct exam *d, struct dirent ***names)
{
	return files_names(d->root, "sys/block", sysfs_is_disk, names);
}

static void check_module(struct exam *d)
{
	char version[EXAM_LINE];

	if (!exam_exists(d, "sys/module/rdmablk")) {
		exam_found(d, EXAM_ERROR, "modprobe rdmablk", "the module rdmablk is not loaded");
		return;
	}
	exam_line(d, version, "sys/module/rdmablk/version");
	if (strcmp(version, RDMABLK_TOOLS_VERSION))
		exam_found(d, EXAM_WARNING, "modprobe -r rdmablk && modprobe rdmablk",
			   "the module has version %s, the tool %s", version,
			   RDMABLK_TOOLS_VERSION);
	else
		exam_found(d, EXAM_OK, NULL, "the module rdmablk %s is loaded", version);
}

static void check_rules(struct exam *d)
{
	static const char *const dirs[] = {
		"etc", "run", "usr/local/lib", "usr/lib", "lib",
	};
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/udev/rules.d/61-rdmablk.rules", dirs[i]);
		if (exam_exists(d, path)) {
			exam_found(d, EXAM_OK, NULL, "/%s is there", path);
			return;
		}
	}
	exam_found(d, EXAM_WARNING,
		   "apt install --reinstall rdmablk; udevadm control --reload; udevadm trigger",
		   "61-rdmablk.rules is missing: disks have no links in /dev/disk/by-id; from sources, make -C tools install brings it");
}

/*
 * UUIDs of vendors' templates, which many machines have. The module uses none of them. It
 * makes up an identity instead, and forgets it when it is unloaded; targets then take the
 * machine for another host.
 */
static bool is_template(const char *uuid)
{
	static const char *const templates[] = {
		"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"03000200-0400-0500-0006-000700080009",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(templates); i++)
		if (!strcasecmp(uuid, templates[i]))
			return true;
	return false;
}

static void check_host_id(struct exam *d)
{
	static const char mend[] = "uuidgen > /etc/rdmablk/host-id";
	__u8 id[OPTS_UUID_LEN];
	char uuid[EXAM_LINE];
	int ret = exam_line(d, uuid, "etc/rdmablk/host-id");

	if (ret != -ENOENT) {
		uuid[strcspn(uuid, " \t\r")] = '\0';
		if (ret)
			exam_found(d, EXAM_ERROR, NULL, "/etc/rdmablk/host-id: %s",
				   strerror(-ret));
		else if (opts_parse_uuid(uuid, id) || is_template(uuid))
			exam_found(d, EXAM_ERROR, mend,
				   "/etc/rdmablk/host-id: '%.40s' identifies no host; change it while no disk is connected",
				   uuid);
		else
			exam_found(d, EXAM_OK, NULL,
				   "%s, of /etc/rdmablk/host-id: no other host may have it", uuid);
		return;
	}
	if (!exam_line(d, uuid, "sys/module/rdmablk/parameters/host_id") &&
	    !opts_parse_uuid(uuid, id)) {
		exam_found(d, EXAM_OK, NULL,
			   "%s, of the module's parameter: no other host may have it", uuid);
		return;
	}
	ret = exam_line(d, uuid, "sys/class/dmi/id/product_uuid");
	if (ret == -EACCES)
		exam_found(d, EXAM_NOTE, NULL, "only root can read the SMBIOS UUID of the machine");
	else if (ret || is_template(uuid))
		exam_found(d, EXAM_WARNING, mend,
			   "the machine has no SMBIOS UUID of its own: the host has another identity after each load of the module; make the file while no disk is connected");
	else
		exam_found(d, EXAM_OK, NULL, "%s, of the machine", uuid);
}

static void check_disks(struct exam *d)
{
	char state[EXAM_LINE], why[EXAM_LINE], mend[EXAM_TEXT];
	struct dirent **names;
	int i, nr = disks_of(d, &names), live = 0;

	for (i = 0; i < nr; i++) {
		const char *name = names[i]->d_name;

		exam_line(d, state, "sys/block/%s/rdmablk/state", name);
		if (!strcmp(state, "live")) {
			live++;
			continue;
		}
		exam_line(d, why, "sys/block/%s/rdmablk/reason", name);
		snprintf(mend, sizeof(mend), "rdmablk status %.32s", name);
		exam_found(d, strcmp(state, "failed") ? EXAM_WARNING : EXAM_ERROR, mend,
			   "%s is %s: %s", name, state, why);
	}
	files_free(names, nr);
	if (!nr)
		exam_found(d, EXAM_OK, NULL, "there is no disk");
	else if (live)
		exam_found(d, EXAM_OK, NULL, "live: %d of %d", live, nr);
}

static bool key_found(const struct keyring_key *key, void *context)
{
	struct exam *d = context;
	char mend[EXAM_TEXT];

	d->keys++;
	d->expiring |= key->expires[0];
	if (!strcmp(key->state, "valid")) {
		exam_found(d, EXAM_OK, NULL, "%s: valid%s%s", key->name,
			   key->expires[0] ? " for " : "", key->expires);
		return true;
	}
	snprintf(mend, sizeof(mend), "rdmablk key load /etc/rdmablk/keys/%.128s.key", key->name);
	exam_found(d, EXAM_WARNING, mend, "%s: %s: a disk that has it cannot connect again",
		   key->name, key->state);
	return true;
}

static void check_keys(struct exam *d)
{
	int err;

	if (!d->here)
		return;
	if (geteuid()) {
		exam_found(d, EXAM_NOTE, NULL, "only root can list the keys of the kernel");
		return;
	}
	err = keyring_walk(key_found, d);
	if (err)
		exam_found(d, EXAM_NOTE, NULL, "the keys of the kernel cannot be listed: %s",
			   strerror(err < 0 ? -err : err));
	else if (!d->keys)
		exam_found(d, EXAM_OK, NULL, "no key is loaded");
}

/* A disk needs no device of user space, but these commands log in to targets by themselves. */
static void check_visits(struct exam *d)
{
	if (!(d->roles & EXAM_TARGET) && !exam_exists(d, "dev/infiniband/rdma_cm"))
		exam_found(d, EXAM_NOTE, "modprobe -a ib_uverbs rdma_ucm",
			   "/dev/infiniband/rdma_cm is missing: rdmablk discover and ping reach no target");
}

/*
 * Both
 */

/* Keys end at a date. Follows the checks of keys and hosts. */
static void check_clock(struct exam *d)
{
	struct timex now = { 0 };

	if (!d->here || !(d->roles & EXAM_TARGET || d->keys))
		return;
	if (adjtimex(&now) >= 0 && !(now.status & STA_UNSYNC))
		exam_found(d, EXAM_OK, NULL, "the clock is synchronised");
	else if (d->expiring)
		exam_found(d, EXAM_WARNING, "timedatectl set-ntp true",
			   "nothing sets the clock, by which keys of this host expire");
	else
		exam_found(d, EXAM_NOTE, "timedatectl set-ntp true",
			   "nothing sets the clock: keys with \"expires\" end by it");
}

/*
 * The whole
 */

#define BOTH	(EXAM_INITIATOR | EXAM_TARGET)

static const struct check {
	const char *name;
	unsigned int roles;
	void (*run)(struct exam *d);
} checks[] = {
	{ "adapter", BOTH, check_adapters },
	{ "resources", BOTH, doctor_resources_check },
	{ "module", EXAM_INITIATOR, check_module },
	{ "rules", EXAM_INITIATOR, check_rules },
	{ "host-id", EXAM_INITIATOR, check_host_id },
	{ "disks", EXAM_INITIATOR, check_disks },
	{ "keys", EXAM_INITIATOR, check_keys },
	{ "verbs", EXAM_INITIATOR, check_visits },
	{ "verbs", EXAM_TARGET, doctor_target_verbs },
	{ "io_uring", EXAM_TARGET, doctor_target_io_uring },
	{ "daemon", EXAM_TARGET, doctor_target_daemon },
	{ "sessions", EXAM_TARGET, doctor_target_sessions },
	{ "hosts", EXAM_TARGET, doctor_target_hosts },
	{ "clock", BOTH, check_clock },
};

static const char *role_text(unsigned int roles)
{
	if (roles == BOTH)
		return "both";
	return roles == EXAM_TARGET ? "target" : "initiator";
}

/* Finds the roles of the host; a host that has neither is checked for both. */
static unsigned int roles_of(const struct exam *d)
{
	static const char *const initiator[] = { "disk", NULL };
	static const char *const target[] = { "export", "host", NULL };
	unsigned int roles = 0;

	if (exam_exists(d, "sys/module/rdmablk") ||
	    doctor_config_has(d, DOCTOR_CONFIG_TOOL, initiator, NULL))
		roles |= EXAM_INITIATOR;
	if (doctor_config_has(d, DOCTOR_CONFIG_DAEMON, target, NULL) ||
	    (d->here && !access(d->control, F_OK)))
		roles |= EXAM_TARGET;
	return roles ?: BOTH;
}

/**
 * doctor_open() - begin an examination
 * @d: with @control and @roles set
 * @root: directory that stands for /
 *
 * Returns 0 or an errno. Of both roles the one remains that the host has.
 */
int doctor_open(struct exam *d, const char *root)
{
	d->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (d->root < 0)
		return errno;
	d->here = !strcmp(root, "/");
	if (!d->here)
		files_set_root(d->root);
	if (d->roles == BOTH)
		d->roles = roles_of(d);
	d->findings = json_object_new_array();
	return 0;
}

/**
 * doctor_run() - make all checks of the roles
 * @d: gets the findings
 */
void doctor_run(struct exam *d)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		if (!(checks[i].roles & d->roles))
			continue;
		d->check = checks[i].name;
		d->role = role_text(checks[i].roles);
		checks[i].run(d);
	}
}

/**
 * doctor_close() - end an examination
 * @d: without findings afterwards
 */
void doctor_close(struct exam *d)
{
	json_object_put(d->findings);
	d->findings = NULL;
	close(d->root);
}
