// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The NUMA node for the memory of an export: the key "numa", what sysfs says of the adapters
 * (sysfs is a directory of the test), and nodes that an export cannot have.
 *
 * Sources: target/rdma/numa.c target/config/config_keys.c
 * Libraries: inih
 */
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/base/util.h"
#include "../../target/rdma/numa.h"

static char root[32];
static char why[256];

/*
 * Network devices and their addresses, instead of the host's
 */

static const struct {
	const char *name, *address;
} netdevs[] = {
	{ "lo", "127.0.0.1" },
	{ "one", "10.0.0.1" },
	{ "one", "fd99::1" },
	{ "zero", "10.0.0.2" },
	{ "vlan", "10.0.0.3" },
	{ "nowhere", "10.0.0.4" },
	{ "other", "10.0.0.5" },
	{ "ring", "10.0.0.6" },
	{ "far", "10.0.0.7" },
};

static struct listen_addr addrs[ARRAY_SIZE(netdevs)];
static struct ifaddrs list[ARRAY_SIZE(netdevs) + 1];

int getifaddrs(struct ifaddrs **all)
{
	list[0] = (struct ifaddrs){ .ifa_name = (char *)"down", .ifa_next = &list[1] };
	for (size_t i = 0; i < ARRAY_SIZE(netdevs); i++) {
		value_address(netdevs[i].address, &addrs[i]);
		list[i + 1] = (struct ifaddrs){
			.ifa_next = i + 1 < ARRAY_SIZE(netdevs) ? &list[i + 2] : NULL,
			.ifa_name = (char *)netdevs[i].name,
			.ifa_addr = (struct sockaddr *)&addrs[i].sa,
		};
	}
	*all = list;
	return 0;
}

void freeifaddrs(struct ifaddrs *all)
{
	(void)all;
}

/*
 * sysfs
 */

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *fmt, ...)
{
	char command[512];
	va_list args;
	int n = snprintf(command, sizeof(command), "cd %s && ", root);

	va_start(args, fmt);
	vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

static void nodes(const char *text)
{
	run("echo %s >devices/system/node/has_memory", text);
}

/* An adapter on a node, whose network device is @name */
static void adapter(const char *name, const char *node)
{
	run("mkdir -p devices/pci/%s/net/%s && echo %s >devices/pci/%s/numa_node && "
	    "ln -s ../../devices/pci/%s/net/%s class/net/%s", name, name, node, name, name,
	    name, name);
}

static int make_sysfs(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/rdmablk-numa.XXXXXX");
	assert_non_null(mkdtemp(root));
	numa_sysfs = root;
	run("mkdir -p class/net devices/system/node devices/virtual/net");
	nodes("0-1,4");
	adapter("one", "1");
	adapter("zero", "0");
	adapter("other", "3");	/* a node without memory */
	adapter("nowhere", "-1");
	adapter("far", "4");
	for (size_t i = 0; i < 4; i++) {
		static const char * const virtual[] = { "lo", "bond", "vlan", "ring" };

		run("mkdir devices/virtual/net/%s && ln -s ../../devices/virtual/net/%s class/net/",
		    virtual[i], virtual[i]);
	}
	run("ln -s ../bond devices/virtual/net/vlan/lower_bond");
	run("ln -s ../../../pci/one/net/one devices/virtual/net/bond/lower_one");
	run("ln -s ../ring devices/virtual/net/ring/lower_ring");
	return 0;
}

static int remove_sysfs(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/*
 * Asking
 */

/* Return: the node that is preferred; -1: none; -2: an error, and @why says which */
static int find(const char *numa, const char *listen)
{
	struct numa_place place = { .placed = true, .only = true, .node = 99 };
	struct config cfg;
	char spec[96];
	int ret;

	config_init(&cfg);
	snprintf(spec, sizeof(spec), "d,memory,size=1M%s%s", *numa ? ",numa=" : "", numa);
	config_export_spec(&cfg, spec);
	config_set(&cfg, NULL, "listen", listen, "test");
	assert_int_equal(cfg.errors, 0);
	why[0] = '\0';
	log_keep(why, sizeof(why));
	ret = numa_find(&cfg, TAILQ_FIRST(&cfg.exports), &place);
	log_keep(NULL, 0);
	config_free(&cfg);
	if (ret) {
		assert_int_equal(ret, -EINVAL);
		assert_non_null(strstr(why, "export d: numa = "));
		return -2;
	}
	assert_int_equal(place.only, place.placed && *numa && strcmp(numa, "auto"));
	return place.placed ? (int)place.node : -1;
}

/* Return: the policy of this thread; -1: the kernel does not tell, as in some containers */
static int policy_now(unsigned long *nodes)
{
	int mode;

	return syscall(SYS_get_mempolicy, &mode, nodes, CONFIG_NODES + 1UL, NULL, 0UL) ?
	       -1 : mode;
}

static bool policies_work(void)
{
	unsigned long nodes[NUMA_WORDS];

	return policy_now(nodes) >= 0;
}

static unsigned int errors_of(const char *numa)
{
	struct config cfg;
	unsigned int n;
	char spec[96];

	config_init(&cfg);
	cfg.complaints = fmemopen(why, sizeof(why), "w");
	assert_non_null(cfg.complaints);
	snprintf(spec, sizeof(spec), "d,file=/x,numa=%s", numa);
	config_export_spec(&cfg, spec);
	fclose(cfg.complaints);
	n = cfg.errors;
	config_free(&cfg);
	return n;
}

static void the_key(void **state)
{
	static const char * const good[] = { "auto", "none", "0", "1", "1023" };
	static const char * const bad[] = { "", "1024", "-1", "1x", "0-1", "near",
					    "18446744073709551617" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(errors_of(good[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(errors_of(bad[i]), 1);
		assert_non_null(strstr(why, "neither auto, none nor the number of a NUMA node"));
		assert_non_null(strstr(why, "numa = "));
	}
}

static void a_node_that_is_asked_for(void **state)
{
	(void)state;
	assert_int_equal(find("0", "10.0.0.1"), 0);
	assert_int_equal(find("1", "10.0.0.2"), 1);
	assert_int_equal(find("4", "127.0.0.1"), 4);
	assert_int_equal(find("2", "10.0.0.1"), -2);
	assert_non_null(strstr(why, "no NUMA node with memory has this number; there are 0-1,4"));
	nodes("0");
	assert_int_equal(find("0", "10.0.0.1"), 0);
	assert_int_equal(find("1", "10.0.0.1"), -2);
	assert_non_null(strstr(why, "there is only 0"));
	run("rm devices/system/node/has_memory");
	assert_int_equal(find("0", "10.0.0.1"), -2);
	assert_non_null(strstr(why, "the kernel shows no NUMA nodes"));
	nodes("0-1,4");
}

static void that_of_the_adapter(void **state)
{
	(void)state;
	if (!policies_work())
		skip();
	assert_int_equal(find("", "10.0.0.1"), 1);
	assert_int_equal(find("auto", "10.0.0.1"), 1);
	assert_int_equal(find("auto", "10.0.0.2"), 0);
	assert_int_equal(find("auto", "[fd99::1]"), 1);
	assert_int_equal(find("auto", "10.0.0.7"), 4);
	assert_int_equal(find("none", "10.0.0.1"), -1);
	/* a virtual device has the node of the adapter below it */
	assert_int_equal(find("auto", "10.0.0.3"), 1);
	/* several addresses: one node is known, or the same twice, or two */
	assert_int_equal(find("auto", "10.0.0.1,127.0.0.1,10.0.0.4"), 1);
	assert_int_equal(find("auto", "127.0.0.1,10.0.0.3,10.0.0.1"), 1);
	assert_int_equal(find("auto", "10.0.0.1,10.0.0.2"), -1);
	assert_int_equal(find("auto", "10.0.0.1,10.0.0.2,10.0.0.7"), -1);
}

static void no_node_is_known(void **state)
{
	(void)state;
	assert_int_equal(find("auto", "127.0.0.1"), -1);
	assert_int_equal(find("auto", "10.0.0.4"), -1);
	assert_int_equal(find("auto", "10.0.0.5"), -1);
	assert_int_equal(find("auto", "10.0.0.6"), -1);
	assert_int_equal(find("auto", "10.9.9.9"), -1);
	assert_int_equal(find("auto", "0.0.0.0"), -1);
	nodes("1");	/* there is no other */
	assert_int_equal(find("auto", "10.0.0.1"), -1);
	run("rm devices/system/node/has_memory");
	assert_int_equal(find("auto", "10.0.0.1"), -1);
	nodes("0-1,4");
}

static void room(void **state)
{
	const struct numa_place one = { .placed = true, .only = true, .node = 1 };

	(void)state;
	assert_true(numa_room(&one) == UINT64_MAX);
	run("mkdir devices/system/node/node1 && printf '%s' >devices/system/node/node1/meminfo",
	    "\\nNode 1 MemTotal:  9000000 kB\\nNode 1 MemFree:  1000 kB\\nNode 1 MemUsed: 7 kB\\n"
	    "Node 1 Active(file):  200 kB\\nNode 1 Inactive(file):   30 kB\\n"
	    "Node 1 FilePages: 5000 kB\\nNode 1 SReclaimable:    4 kB\\nNode 1 HugePages_Free:  9\\n");
	assert_true(numa_room(&one) == 1234 << 10);
}

static void who_says_where_is_heard(void **state)
{
	const unsigned long node0 = 1;

	(void)state;
	if (!policies_work())
		skip();
	assert_int_equal(syscall(SYS_set_mempolicy, MPOL_PREFERRED, &node0, 2UL), 0);
	assert_int_equal(find("auto", "10.0.0.1"), -1);
	assert_int_equal(find("1", "10.0.0.1"), 1);
	assert_int_equal(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL), 0);
	assert_int_equal(find("auto", "10.0.0.1"), 1);
}

/* Node 0 exists on every host with NUMA nodes. */
static void the_policy_of_a_thread_comes_back(void **state)
{
	const struct numa_place place = { .placed = true, .only = true };
	const unsigned long node0 = 1;
	unsigned long now[NUMA_WORDS];
	struct numa_saved saved;

	(void)state;
	if (!policies_work())
		skip();
	for (int had = MPOL_DEFAULT; had <= MPOL_PREFERRED; had++) {
		assert_int_equal(syscall(SYS_set_mempolicy, had, had ? &node0 : NULL,
					 had ? 2UL : 0UL), 0);
		for (int huge = 0; huge <= 1; huge++) {
			numa_enter(&place, huge, &saved);
			assert_int_equal(policy_now(now), huge ? MPOL_BIND : MPOL_PREFERRED);
			assert_int_equal(now[0], 1);
			numa_leave(&saved);
			assert_int_equal(policy_now(now), had);
		}
	}
	assert_int_equal(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_key),
		cmocka_unit_test(a_node_that_is_asked_for),
		cmocka_unit_test(that_of_the_adapter),
		cmocka_unit_test(no_node_is_known),
		cmocka_unit_test(room),
		cmocka_unit_test(who_says_where_is_heard),
		cmocka_unit_test(the_policy_of_a_thread_comes_back),
	};

	return cmocka_run_group_tests(tests, make_sysfs, remove_sysfs);
}
