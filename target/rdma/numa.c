// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NUMA: puts the memory of an export on the node of its adapter.
 *
 * An adapter that reads or writes memory of another node crosses the link between the
 * processors with each packet. So an export's memory belongs on the node of the adapter. The
 * daemon finds that node by the network device that has its listening address: an RDMA device
 * and its network device are on the same card. For a VLAN or a bond it takes the network
 * device below. It does not open the RDMA device for that: exports are filled before the
 * daemon listens, nobody looks for removals yet, and an open device could not be removed.
 *
 * The thread that fills an arena has a memory policy meanwhile, because the pages of a file
 * exist before the file is mapped. The policy only prefers the node: with a strict policy the
 * kernel would kill a process when the node is full. So some pages may be on another node: the
 * kernel takes those before it drops file caches on this node, and the pages of a kept arena
 * are where an earlier daemon left them. numa_keep() moves these pages afterwards. The caller
 * first checks that the node has room, because the kernel warns about a move that fails.
 * Huge pages of a pool are the exception: if the node has too few, a strict policy fails and
 * kills nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "base/util.h"
#include "rdma/numa.h"

#define MAX_BELOW	4	/* a VLAN on a bond, and some */
#define BITS		(8 * sizeof(unsigned long))
#define MAX_NODE	(CONFIG_NODES + 1UL)	/* the kernel counts one less */

/* Where sysfs is; tests have a directory of their own */
const char *numa_sysfs = "/sys";

/*
 * What sysfs says
 */

static bool read_line(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "re");
	bool ok = file && fgets(text, (int)bytes, file);

	if (file)
		fclose(file);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

/* Return: the node of a device, or of the nearest device above it that has one; -1: none. */
static int node_of_device(const char *path)
{
	char real[PATH_MAX], file[PATH_MAX + 16], text[16], *slash;

	if (!realpath(path, real))
		return -1;
	while ((slash = strrchr(real, '/')) && slash > real) {
		snprintf(file, sizeof(file), "%s/numa_node", real);
		if (read_line(file, text, sizeof(text)))
			return atoi(text);
		*slash = '\0';
	}
	return -1;
}

static int node_of_netdev(const char *path, unsigned int below);

/*
 * For a network device that has no card of its own, such as a bond. Return: the node of the
 * first device below it that has one; -1: none.
 */
static int node_below(const char *path, unsigned int below)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int node = -1;

	while (dir && node < 0 && (entry = readdir(dir))) {
		char lower[PATH_MAX];

		if (strncmp(entry->d_name, "lower_", 6))
			continue;
		if ((size_t)snprintf(lower, sizeof(lower), "%s/%s", path,
				     entry->d_name) < sizeof(lower))
			node = node_of_netdev(lower, below - 1);
	}
	if (dir)
		closedir(dir);
	return node;
}

static int node_of_netdev(const char *path, unsigned int below)
{
	int node = node_of_device(path);

	return node < 0 && below ? node_below(path, below) : node;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;

	if (!a || a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET6)
		return !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
	return a->sa_family == AF_INET && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

static int node_of_address(const struct listen_addr *addr, const struct ifaddrs *all)
{
	const struct sockaddr *sa = (const struct sockaddr *)&addr->sa;
	char path[PATH_MAX];

	for (; all; all = all->ifa_next) {
		if (!same_address(all->ifa_addr, sa))
			continue;
		snprintf(path, sizeof(path), "%s/class/net/%s", numa_sysfs,
			 all->ifa_name);
		return node_of_netdev(path, MAX_BELOW);
	}
	return -1;
}

/* Return: the node of all adapters that the daemon listens on; -1: unknown, or several. */
static int node_of_adapters(const struct config *daemon)
{
	struct ifaddrs *all;
	int node = -1;

	if (getifaddrs(&all))
		return -1;
	for (unsigned int i = 0; i < daemon->nr_listen; i++) {
		int n = node_of_address(&daemon->listen[i], all);

		if (n >= 0 && node >= 0 && n != node) {
			node = -1;
			break;
		}
		node = n >= 0 ? n : node;
	}
	freeifaddrs(all);
	return node;
}

/* Whether @n is in a list such as "0-1,4". @more: set if the list has other numbers, too */
static bool in_list(const char *list, unsigned long n, bool *more)
{
	unsigned long first, last;
	bool is_in = false;
	char *end;

	*more = false;
	for (; *list; list = *end ? end + 1 : end) {
		first = strtoul(list, &end, 10);
		last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
		if (n >= first && n <= last)
			is_in = true;
		if (first < last || first != n)
			*more = true;
		if (*end && *end != ',')
			break;
	}
	return is_in;
}

/**
 * numa_room - how much memory a place has room for
 * @place: a node
 *
 * Counts free memory of the node, and caches that the kernel can drop.
 *
 * Return: bytes; UINT64_MAX: unknown.
 */
uint64_t numa_room(const struct numa_place *place)
{
	static const char * const kinds[] = {
		"MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:",
	};
	char path[PATH_MAX], line[128], word[32];
	uint64_t kib = 0, n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/devices/system/node/node%u/meminfo", numa_sysfs,
		 place->node);
	file = fopen(path, "re");
	if (!file)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Node %*u %31s %" SCNu64, word, &n) != 2)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
			if (!strcmp(word, kinds[i]))
				kib += n;
	}
	fclose(file);
	return kib << 10;
}

/*
 * The memory policy of a thread
 */

static long get_policy(int *mode, unsigned long *nodes)
{
	return syscall(SYS_get_mempolicy, mode, nodes, MAX_NODE, NULL, 0UL);
}

static void node_mask(const struct numa_place *place, unsigned long *nodes)
{
	memset(nodes, 0, NUMA_WORDS * sizeof(*nodes));
	nodes[place->node / BITS] = 1UL << place->node % BITS;
}

/* An administrator who starts the daemon with a policy (numactl) has chosen a node. */
static bool has_policy(void)
{
	unsigned long nodes[NUMA_WORDS];
	int mode;

	return get_policy(&mode, nodes) || mode != MPOL_DEFAULT;
}

static int find_asked(const struct export_config *ec, const char *list,
		      struct numa_place *place)
{
	bool more;

	if (!*list) {
		log_err("export %s: numa = %u: the kernel shows no NUMA nodes", ec->name,
			ec->node);
		return -EINVAL;
	}
	if (!in_list(list, ec->node, &more)) {
		log_err("export %s: numa = %u: no NUMA node with memory has this number; there %s %s",
			ec->name, ec->node, strpbrk(list, ",-") ? "are" : "is only", list);
		return -EINVAL;
	}
	*place = (struct numa_place){ .placed = true, .only = true, .node = ec->node };
	log_info("export %s: its memory is to be on NUMA node %u", ec->name, ec->node);
	return 0;
}

/**
 * numa_find - choose the place for the memory of an export
 * @daemon: configuration with the addresses that the daemon listens on
 * @ec: configuration of the export
 * @place: result
 *
 * In a worker.
 *
 * Return: 0; -EINVAL, logged: there is no such node.
 */
int numa_find(const struct config *daemon, const struct export_config *ec,
	      struct numa_place *place)
{
	char path[PATH_MAX], list[256];
	bool more;
	int node;

	*place = (struct numa_place){ 0 };
	if (ec->numa == NUMA_NONE)
		return 0;
	snprintf(path, sizeof(path), "%s/devices/system/node/has_memory", numa_sysfs);
	if (!read_line(path, list, sizeof(list)))
		list[0] = '\0';
	if (ec->numa == NUMA_NODE)
		return find_asked(ec, list, place);
	node = node_of_adapters(daemon);
	if (node < 0 || node >= CONFIG_NODES || !in_list(list, (unsigned long)node, &more) ||
	    !more || has_policy())
		return 0;
	*place = (struct numa_place){ .placed = true, .node = (unsigned int)node };
	log_info("export %s: its memory is to be on NUMA node %d, as the adapter is",
		 ec->name, node);
	return 0;
}

/**
 * numa_enter - let this thread get memory at a place
 * @place: where
 * @huge: the memory is in huge pages of a pool
 * @saved: result, for numa_leave()
 *
 * An error is ignored: numa_keep() finds pages that are elsewhere.
 */
void numa_enter(const struct numa_place *place, bool huge, struct numa_saved *saved)
{
	unsigned long nodes[NUMA_WORDS];
	int mode = place->only && huge ? MPOL_BIND : MPOL_PREFERRED;

	saved->changed = false;
	if (!place->placed || get_policy(&saved->mode, saved->nodes))
		return;
	node_mask(place, nodes);
	saved->changed = !syscall(SYS_set_mempolicy, mode, nodes, MAX_NODE);
}

/**
 * numa_leave - undo numa_enter()
 * @saved: result of numa_enter()
 */
void numa_leave(const struct numa_saved *saved)
{
	bool none = saved->mode == MPOL_DEFAULT;

	if (saved->changed)
		syscall(SYS_set_mempolicy, saved->mode, none ? NULL : saved->nodes,
			none ? 0UL : MAX_NODE);
}

/**
 * numa_keep - move mapped memory to its place, and keep it there
 * @place: where
 * @from: address, a multiple of the page size
 * @bytes: number of bytes, whole pages
 *
 * Moves pages that are elsewhere, if @place allows no other node. Afterwards the memory
 * only prefers the node. That policy stays with the file, and a page that was swapped out
 * while it was not registered should rather come back elsewhere than cost a process its life.
 *
 * Return: 0 or -errno; -EIO: not all pages could be moved. Always 0 if @place allows other
 * nodes.
 */
int numa_keep(const struct numa_place *place, void *from, size_t bytes)
{
	unsigned long nodes[NUMA_WORDS];
	int ret = 0;

	if (!place->placed || !bytes)
		return 0;
	node_mask(place, nodes);
	if (place->only && syscall(SYS_mbind, from, bytes, MPOL_BIND, nodes, MAX_NODE,
				   MPOL_MF_STRICT | MPOL_MF_MOVE))
		ret = -errno;
	syscall(SYS_mbind, from, bytes, MPOL_PREFERRED, nodes, MAX_NODE, 0);
	return ret;
}
