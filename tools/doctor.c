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
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <unistd.h>

#include "adapter.h"
#include "control.h"
#include "doctor.h"
#include "files.h"
#include "keyring.h"
#include "opts.h"
#include "rdma_res.h"
#include "sysfs.h"
#include "util.h"

#define TEXT		256	/* of a finding */
#define LINE		ADAPTER_LINE	/* of a file */
#define ROCE_HEADERS	96	/* bytes of an Ethernet frame that rdma_cm keeps free */
#define LARGEST_MTU	4096

/*
 * Files
 */

/* Reads the first line of a file below the root. Returns 0 or -errno. */
__printf(3, 4)
static int read_line(const struct doctor *d, char line[LINE], const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	return files_line(d->root, path, line, LINE);
}

static bool exists(const struct doctor *d, const char *path)
{
	return !faccessat(d->root, path, F_OK, 0);
}

/*
 * Findings
 */

/**
 * doctor_level_text() - the word for a level
 * @level: as in a finding
 */
const char *doctor_level_text(enum doctor_level level)
{
	static const char *const texts[] = {
		[DOCTOR_OK] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_WARNING] = "warning",
		[DOCTOR_ERROR] = "error",
	};

	return texts[level];
}

/* @mend: the command, or NULL */
__printf(4, 5)
static void found(struct doctor *d, enum doctor_level level, const char *mend,
		  const char *fmt, ...)
{
	struct json_object *finding = json_object_new_object();
	char text[TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	json_object_object_add(finding, "role", json_object_new_string(d->role));
	json_object_object_add(finding, "check", json_object_new_string(d->check));
	json_object_object_add(finding, "level",
			       json_object_new_string(doctor_level_text(level)));
	json_object_object_add(finding, "text", json_object_new_string(text));
	json_object_object_add(finding, "mend", mend ? json_object_new_string(mend) : NULL);
	json_object_array_add(d->findings, finding);
	if (level > d->worst)
		d->worst = level;
}

/*
 * Adapters
 */

static bool reaches_beyond(const struct adapter_gid *gid, void *context)
{
	bool *has = context;

	*has = !strcmp(gid->kind, "RoCE v2") && strncmp(gid->gid, "fe80:", 5);
	return !*has;
}

/* Whether the port has an address that reaches beyond its link */
static bool has_address(const struct doctor *d, const char *dev, const char *port)
{
	bool has = false;

	adapter_gids(d->root, dev, port, reaches_beyond, &has);
	return has;
}

/* Returns the bytes that one packet of RoCE carries. */
static unsigned int roce_mtu(unsigned int mtu)
{
	unsigned int bytes = LARGEST_MTU;

	while (bytes > 256 && bytes + ROCE_HEADERS > mtu)
		bytes /= 2;
	return bytes;
}

static void check_mtu(struct doctor *d, const char *dev, const char *netdev)
{
	char line[LINE], mend[TEXT];
	unsigned int mtu;

	if (read_line(d, line, "sys/class/net/%s/mtu", netdev))
		return;
	mtu = strtoul(line, NULL, 10);
	if (roce_mtu(mtu) == LARGEST_MTU) {
		found(d, DOCTOR_OK, NULL, "%s: packets carry %u bytes", dev, LARGEST_MTU);
		return;
	}
	snprintf(mend, sizeof(mend), "ip link set %s mtu 9000", netdev);
	/* The MTU of a Soft-RoCE target must not change while disks use it. */
	found(d, DOCTOR_NOTE, adapter_is_soft(d->root, dev) ? NULL : mend,
	      "%s: packets carry %u bytes, because %s has an MTU of %u; from %u on, on both hosts and the switches between them, it is %u",
	      dev, roce_mtu(mtu), netdev, mtu, LARGEST_MTU + ROCE_HEADERS, LARGEST_MTU);
}

static void check_roce(struct doctor *d, const char *dev, const char *port)
{
	char netdev[LINE], mend[TEXT];

	adapter_netdev(d->root, dev, port, netdev);
	snprintf(mend, sizeof(mend), "ip address add ADDRESS/PREFIX dev %s",
		 netdev[0] ? netdev : "DEV");
	if (has_address(d, dev, port))
		found(d, DOCTOR_OK, NULL, "%s port %s: active, with an address", dev, port);
	else
		found(d, DOCTOR_ERROR, mend, "%s port %s: no address that reaches other networks",
		      dev, port);
	check_mtu(d, dev, netdev);
}

/* Returns whether the port is active. */
static bool check_port(struct doctor *d, const char *dev, const char *port)
{
	char state[LINE], layer[LINE], netdev[LINE], mend[TEXT];

	adapter_line(d->root, state, "%s/ports/%s/state", dev, port);
	adapter_line(d->root, layer, "%s/ports/%s/link_layer", dev, port);
	if (!strcmp(state, "4: ACTIVE")) {
		if (strcmp(layer, "Ethernet"))
			found(d, DOCTOR_OK, NULL, "%s port %s: active (%s)", dev, port, layer);
		else
			check_roce(d, dev, port);
		return true;
	}
	adapter_netdev(d->root, dev, port, netdev);
	snprintf(mend, sizeof(mend), "ip link set %s up", netdev);
	found(d, DOCTOR_NOTE, netdev[0] ? mend : NULL, "%s port %s: not active (%s)", dev, port,
	      state);
	return false;
}

/* Known faults of some kinds of adapters */
static void check_kind(struct doctor *d, const char *dev)
{
	char mend[TEXT];

	if (adapter_is_soft(d->root, dev))
		found(d, DOCTOR_NOTE, NULL,
		      "%s: Soft-RoCE, for tests: do not change MTU or queueing discipline of a target in use, or READs may return no data (reliability.rst, What Soft-RoCE gets wrong)",
		      dev);
	/* Only the target's adapter must keep the order. */
	if (d->roles & DOCTOR_TARGET && !strncmp(dev, "mlx5_", 5)) {
		snprintf(mend, sizeof(mend), "mlxconfig -d %s query PCI_WR_ORDERING", dev);
		found(d, DOCTOR_NOTE, mend,
		      "%s: no program can see whether it keeps the order of its writes: PCI_WR_ORDERING must not be force_relax",
		      dev);
	}
}

static unsigned int check_adapter(struct doctor *d, const char *dev)
{
	unsigned int active = 0;
	struct dirent **ports;
	int i, nr;

	if (adapter_is_iwarp(d->root, dev)) {
		found(d, DOCTOR_NOTE, NULL, "%s: iWARP, which rdmablk does not support", dev);
		return 0;
	}
	nr = adapter_ports(d->root, dev, &ports);
	for (i = 0; i < nr; i++)
		active += check_port(d, dev, ports[i]->d_name);
	files_free(ports, nr);
	check_kind(d, dev);
	return active;
}

static void check_adapters(struct doctor *d)
{
	unsigned int active = 0;
	struct dirent **devs;
	int i, nr = adapter_names(d->root, &devs);

	for (i = 0; i < nr; i++)
		active += check_adapter(d, devs[i]->d_name);
	files_free(devs, nr);
	if (!nr)
		found(d, DOCTOR_ERROR,
		      "modprobe rdma_rxe; rdma link add rxe0 type rxe netdev DEV",
		      "there is no RDMA device; the driver of the adapter is not loaded, or there is none: Soft-RoCE makes one of a network card");
	else if (!active)
		found(d, DOCTOR_ERROR, "rdma link", "no port of an RDMA device can be used");
}

struct resources {
	struct doctor *d;
	unsigned int qps, domains;
};

static void take_resource(const struct rdma_res *res, void *context)
{
	struct resources *r = context;
	char mend[TEXT];

	r->qps += !res->is_pd;
	/* Each session of the module has one. Its queue pairs are those of rdma_cm here. */
	r->domains += res->is_pd && !strcmp(res->owner, "rdmablk");
	if (!res->gsi || !res->broken)
		return;
	/* An rxe device that could not send one of its packets stays like this. */
	snprintf(mend, sizeof(mend),
		 "rdma link delete %s; rdma link add %s type rxe netdev DEV", res->dev, res->dev);
	found(r->d, DOCTOR_ERROR, mend,
	      "%s: its queue pair 1 is in the error state: nothing can connect", res->dev);
}

static int disks_of(const struct doctor *d, struct dirent ***names)
{
	return files_names(d->root, "sys/block", sysfs_is_disk, names);
}

static void check_resources(struct doctor *d)
{
	struct resources r = { .d = d };
	struct dirent **names;
	unsigned int disks;
	int ret;

	if (!d->here)
		return;
	ret = rdma_res_walk(take_resource, &r);
	disks = disks_of(d, &names);
	files_free(names, disks);
	if (ret)
		found(d, DOCTOR_NOTE, NULL, "the queue pairs cannot be listed: %s", strerror(-ret));
	else if (r.domains > disks)
		found(d, DOCTOR_NOTE, "rdma resource show pd",
		      "the module has more protection domains (%u) than disks: a connect is under way, or they are left",
		      r.domains);
	else
		found(d, DOCTOR_OK, NULL, "%u queue pairs; protection domains of the module: %u",
		      r.qps, r.domains);
}

/*
 * Initiator
 */

static void check_module(struct doctor *d)
{
	char version[LINE];

	if (!exists(d, "sys/module/rdmablk")) {
		found(d, DOCTOR_ERROR, "modprobe rdmablk", "the module rdmablk is not loaded");
		return;
	}
	read_line(d, version, "sys/module/rdmablk/version");
	if (strcmp(version, RDMABLK_TOOLS_VERSION))
		found(d, DOCTOR_WARNING, "modprobe -r rdmablk && modprobe rdmablk",
		      "the module has version %s, the tool %s", version, RDMABLK_TOOLS_VERSION);
	else
		found(d, DOCTOR_OK, NULL, "the module rdmablk %s is loaded", version);
}

static void check_rules(struct doctor *d)
{
	static const char *const dirs[] = {
		"etc", "run", "usr/local/lib", "usr/lib", "lib",
	};
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/udev/rules.d/61-rdmablk.rules", dirs[i]);
		if (exists(d, path)) {
			found(d, DOCTOR_OK, NULL, "/%s is there", path);
			return;
		}
	}
	found(d, DOCTOR_WARNING,
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

static void check_host_id(struct doctor *d)
{
	static const char mend[] = "uuidgen > /etc/rdmablk/host-id";
	__u8 id[OPTS_UUID_LEN];
	char uuid[LINE];
	int ret = read_line(d, uuid, "etc/rdmablk/host-id");

	if (ret != -ENOENT) {
		uuid[strcspn(uuid, " \t\r")] = '\0';
		if (ret)
			found(d, DOCTOR_ERROR, NULL, "/etc/rdmablk/host-id: %s", strerror(-ret));
		else if (opts_parse_uuid(uuid, id) || is_template(uuid))
			found(d, DOCTOR_ERROR, mend,
			      "/etc/rdmablk/host-id: '%.40s' identifies no host; change it while no disk is connected",
			      uuid);
		else
			found(d, DOCTOR_OK, NULL,
			      "%s, of /etc/rdmablk/host-id: no other host may have it", uuid);
		return;
	}
	ret = read_line(d, uuid, "sys/class/dmi/id/product_uuid");
	if (ret == -EACCES)
		found(d, DOCTOR_NOTE, NULL, "only root can read the SMBIOS UUID of the machine");
	else if (ret || is_template(uuid))
		found(d, DOCTOR_WARNING, mend,
		      "the machine has no SMBIOS UUID of its own: the host has another identity after each load of the module; make the file while no disk is connected");
	else
		found(d, DOCTOR_OK, NULL, "%s, of the machine", uuid);
}

static void check_disks(struct doctor *d)
{
	char state[LINE], why[LINE], mend[TEXT];
	struct dirent **names;
	int i, nr = disks_of(d, &names), live = 0;

	for (i = 0; i < nr; i++) {
		const char *name = names[i]->d_name;

		read_line(d, state, "sys/block/%s/rdmablk/state", name);
		if (!strcmp(state, "live")) {
			live++;
			continue;
		}
		read_line(d, why, "sys/block/%s/rdmablk/reason", name);
		snprintf(mend, sizeof(mend), "rdmablk status %.32s", name);
		found(d, strcmp(state, "failed") ? DOCTOR_WARNING : DOCTOR_ERROR, mend,
		      "%s is %s: %s", name, state, why);
	}
	files_free(names, nr);
	if (!nr)
		found(d, DOCTOR_OK, NULL, "there is no disk");
	else if (live)
		found(d, DOCTOR_OK, NULL, "live: %d of %d", live, nr);
}

struct keys {
	struct doctor *d;
	unsigned int nr;
};

static bool key_found(const struct keyring_key *key, void *context)
{
	struct keys *keys = context;
	struct doctor *d = keys->d;
	char mend[TEXT];

	keys->nr++;
	if (!strcmp(key->state, "valid")) {
		found(d, DOCTOR_OK, NULL, "%s: valid%s%s", key->name,
		      key->expires[0] ? " for " : "", key->expires);
		return true;
	}
	snprintf(mend, sizeof(mend), "rdmablk key load /etc/rdmablk/keys/%.128s.key", key->name);
	found(d, DOCTOR_WARNING, mend, "%s: %s: a disk that has it cannot connect again",
	      key->name, key->state);
	return true;
}

static void check_keys(struct doctor *d)
{
	struct keys keys = { .d = d };
	int err;

	if (!d->here)
		return;
	if (geteuid()) {
		found(d, DOCTOR_NOTE, NULL, "only root can list the keys of the kernel");
		return;
	}
	err = keyring_walk(key_found, &keys);
	if (err)
		found(d, DOCTOR_NOTE, NULL, "the keys of the kernel cannot be listed: %s",
		      strerror(err < 0 ? -err : err));
	else if (!keys.nr)
		found(d, DOCTOR_OK, NULL, "no key is loaded");
}

/*
 * Target
 */

/* The rule that closes the devices is installed as an example: not every host wants it. */
static void mend_verbs(const struct doctor *d, char mend[TEXT])
{
	static const char rule[] = "usr/local/share/doc/rdmablkd/examples/70-rdmablkd-verbs.rules";

	snprintf(mend, TEXT,
		 "cp /usr/%sshare/doc/rdmablkd/examples/70-rdmablkd-verbs.rules /etc/udev/rules.d; udevadm control --reload; udevadm trigger --subsystem-match=infiniband_verbs --subsystem-match=misc",
		 exists(d, rule) ? "local/" : "");
}

static void check_verbs(struct doctor *d)
{
	struct dirent **names;
	struct stat st;
	char path[PATH_MAX], mend[TEXT];
	int i, nr = files_names(d->root, "dev/infiniband", NULL, &names), devices = 0, open = 0;

	for (i = 0; i < nr; i++) {
		const char *name = names[i]->d_name;

		snprintf(path, sizeof(path), "dev/infiniband/%s", name);
		if ((strncmp(name, "uverbs", 6) && strcmp(name, "rdma_cm")) ||
		    fstatat(d->root, path, &st, 0))
			continue;
		devices++;
		if (!(st.st_mode & 006))
			continue;
		open++;
		mend_verbs(d, mend);
		found(d, DOCTOR_WARNING, mend,
		      "any user can use /%s, send to the peers of this host, and pin memory", path);
	}
	files_free(names, nr);
	if (!exists(d, "dev/infiniband/rdma_cm"))
		found(d, DOCTOR_ERROR, "modprobe -a ib_uverbs rdma_ucm",
		      "/dev/infiniband/rdma_cm is missing: the daemon cannot listen");
	else if (devices > 1 && !open)
		found(d, DOCTOR_OK, NULL, "the devices below /dev/infiniband are for their group");
	else if (devices == 1)
		found(d, DOCTOR_ERROR, "modprobe ib_uverbs",
		      "no /dev/infiniband/uverbsN: the daemon can use no RDMA device");
}

static void check_io_uring(struct doctor *d)
{
	static const char mend[] =
		"echo kernel.io_uring_disabled=0 > /etc/sysctl.d/90-rdmablkd.conf; sysctl --system";
	char line[LINE];

	if (!exists(d, "proc/sys/kernel"))
		return;
	/* Linux before 6.6 does not have it. */
	if (read_line(d, line, "proc/sys/kernel/io_uring_disabled") || !strcmp(line, "0"))
		found(d, DOCTOR_OK, NULL, "io_uring is allowed");
	else if (!strcmp(line, "1"))
		found(d, DOCTOR_WARNING, mend,
		      "kernel.io_uring_disabled is 1: io_uring is for root and the group in kernel.io_uring_group; the daemon's user must be in it");
	else
		found(d, DOCTOR_ERROR, mend,
		      "kernel.io_uring_disabled is %s: nobody may use io_uring, and the daemon cannot start",
		      line);
}

/* The process at the other end of the daemon's socket. Returns its number, or -errno. */
static pid_t daemon_pid(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd, err = 0;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		err = -errno;
	close(fd);
	return err ?: peer.pid;
}

/* Copies what follows @begin in a line of /proc/PID/NAME. Returns whether there is one. */
static bool proc_line(pid_t pid, const char *name, const char *begin, char rest[LINE])
{
	char path[64], line[LINE];
	bool has = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!has && fgets(line, sizeof(line), file))
		has = !strncmp(line, begin, strlen(begin));
	fclose(file);
	if (has)
		snprintf(rest, LINE, "%s", line + strlen(begin));
	return has;
}

static void check_memlock(struct doctor *d, pid_t pid)
{
	char limit[LINE], caps[LINE];
	bool any;

	if (!proc_line(pid, "limits", "Max locked memory", limit) ||
	    !proc_line(pid, "status", "CapEff:", caps))
		return;
	any = strstr(limit, "unlimited") || strtoull(caps, NULL, 16) & 1ULL << CAP_IPC_LOCK;
	if (any)
		found(d, DOCTOR_OK, NULL, "the daemon may lock any amount of memory");
	else
		found(d, DOCTOR_WARNING,
		      "systemctl edit rdmablkd    # [Service] LimitMEMLOCK=infinity",
		      "the daemon may lock %llu bytes only: exports of memory may be larger",
		      strtoull(limit, NULL, 10));
}

static bool is_set(struct json_object *export, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(export, key, &value) && json_object_get_boolean(value);
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : "";
}

static void check_export(struct doctor *d, struct json_object *export)
{
	const char *name = text_of(export, "name");
	char mend[TEXT];

	if (!strcmp(text_of(export, "state"), "closed")) {
		snprintf(mend, sizeof(mend), "rdmablk target reopen %s", name);
		found(d, DOCTOR_ERROR, mend, "export %s: its store could not be opened again",
		      name);
	} else if (is_set(export, "failed")) {
		/* Without --force it is refused while a session uses the export. */
		snprintf(mend, sizeof(mend), "rdmablk target reopen --force %s", name);
		found(d, DOCTOR_ERROR, mend,
		      "export %s: an fdatasync has failed: unmount its disks and repair what is below the file first",
		      name);
	}
}

static void check_exports(struct doctor *d)
{
	struct json_object *request = json_object_new_object(), *answer = NULL, *exports;
	char why[CONTROL_WHY];
	size_t i;

	json_object_object_add(request, "version", json_object_new_int(1));
	json_object_object_add(request, "command", json_object_new_string("list"));
	if (control_ask(d->control, request, &answer, NULL, why)) {
		found(d, DOCTOR_ERROR, "journalctl -u rdmablkd", "%s", why);
	} else if (json_object_object_get_ex(answer, "exports", &exports) &&
		   json_object_is_type(exports, json_type_array)) {
		found(d, DOCTOR_OK, NULL, "the daemon answers, and has %zu exports",
		      json_object_array_length(exports));
		for (i = 0; i < json_object_array_length(exports); i++)
			check_export(d, json_object_array_get_idx(exports, i));
	} else {
		found(d, DOCTOR_ERROR, "systemctl restart rdmablkd",
		      "the daemon does not understand this tool: they are of different versions");
	}
	json_object_put(request);
	json_object_put(answer);
}

static void check_daemon(struct doctor *d)
{
	pid_t pid;

	if (!d->here)
		return;
	pid = daemon_pid(d->control);
	if (pid == -EACCES) {
		found(d, DOCTOR_NOTE, NULL, "only root and the daemon's user can ask the daemon");
	} else if (pid < 0) {
		found(d, DOCTOR_ERROR, "systemctl start rdmablkd",
		      "the daemon does not run: %s: %s", d->control, strerror(-pid));
	} else {
		check_exports(d);
		check_memlock(d, pid);
	}
}

/* Keys of hosts expire at a date. */
static void check_clock(struct doctor *d)
{
	struct timex now = { 0 };

	if (!d->here)
		return;
	if (adjtimex(&now) < 0 || now.status & STA_UNSYNC)
		found(d, DOCTOR_NOTE, "timedatectl set-ntp true",
		      "nothing sets the clock: keys with \"expires\" end by it");
	else
		found(d, DOCTOR_OK, NULL, "the clock is synchronised");
}

/*
 * The whole
 */

#define BOTH	(DOCTOR_INITIATOR | DOCTOR_TARGET)

static const struct check {
	const char *name;
	unsigned int roles;
	void (*run)(struct doctor *d);
} checks[] = {
	{ "adapter", BOTH, check_adapters },
	{ "resources", BOTH, check_resources },
	{ "module", DOCTOR_INITIATOR, check_module },
	{ "rules", DOCTOR_INITIATOR, check_rules },
	{ "host-id", DOCTOR_INITIATOR, check_host_id },
	{ "disks", DOCTOR_INITIATOR, check_disks },
	{ "keys", DOCTOR_INITIATOR, check_keys },
	{ "verbs", DOCTOR_TARGET, check_verbs },
	{ "io_uring", DOCTOR_TARGET, check_io_uring },
	{ "daemon", DOCTOR_TARGET, check_daemon },
	{ "clock", DOCTOR_TARGET, check_clock },
};

static const char *role_text(unsigned int roles)
{
	if (roles == BOTH)
		return "both";
	return roles == DOCTOR_TARGET ? "target" : "initiator";
}

/* A section is "[KIND NAME]", as the daemon and 'up' read it. */
static bool is_section(const char *line, const char *const *kinds)
{
	line += strspn(line, " \t");
	if (*line++ != '[')
		return false;
	for (; *kinds; kinds++)
		if (!strncmp(line, *kinds, strlen(*kinds)) && line[strlen(*kinds)] == ' ')
			return true;
	return false;
}

static bool has_section(const struct doctor *d, const char *path, const char *const *kinds)
{
	int fd = openat(d->root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	bool has = false;
	char *line = NULL;
	size_t size = 0;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!has && getline(&line, &size, file) > 0)
		has = is_section(line, kinds);
	free(line);
	fclose(file);
	return has;
}

static int is_drop_in(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && end && !strcmp(end, ".conf");
}

/*
 * Whether the file or one of its drop-in files configures something. The packages install both
 * files with samples alone, and a target has the package of the tool, too.
 */
static bool configures(const struct doctor *d, const char *file, const char *const *kinds)
{
	char path[PATH_MAX];
	struct dirent **names;
	bool has = has_section(d, file, kinds);
	int i, nr;

	snprintf(path, sizeof(path), "%s.d", file);
	nr = files_names(d->root, path, is_drop_in, &names);
	for (i = 0; i < nr && !has; i++) {
		snprintf(path, sizeof(path), "%s.d/%s", file, names[i]->d_name);
		has = has_section(d, path, kinds);
	}
	files_free(names, nr);
	return has;
}

/* Finds the roles of the host; a host that has neither is checked for both. */
static unsigned int roles_of(const struct doctor *d)
{
	static const char *const initiator[] = { "disk", NULL };
	static const char *const target[] = { "export", "host", NULL };
	unsigned int roles = 0;

	if (exists(d, "sys/module/rdmablk") ||
	    configures(d, "etc/rdmablk/rdmablk.conf", initiator))
		roles |= DOCTOR_INITIATOR;
	if (configures(d, "etc/rdmablk/rdmablkd.conf", target) ||
	    (d->here && !access(d->control, F_OK)))
		roles |= DOCTOR_TARGET;
	return roles ?: BOTH;
}

/**
 * doctor_open() - begin an examination
 * @d: with @control and @roles set
 * @root: directory that stands for /
 *
 * Returns 0 or an errno. Of both roles the one remains that the host has.
 */
int doctor_open(struct doctor *d, const char *root)
{
	d->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (d->root < 0)
		return errno;
	d->here = !strcmp(root, "/");
	if (d->roles == BOTH)
		d->roles = roles_of(d);
	d->findings = json_object_new_array();
	return 0;
}

/**
 * doctor_run() - make all checks of the roles
 * @d: gets the findings
 */
void doctor_run(struct doctor *d)
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
void doctor_close(struct doctor *d)
{
	json_object_put(d->findings);
	d->findings = NULL;
	close(d->root);
}
