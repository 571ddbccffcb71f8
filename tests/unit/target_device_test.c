// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether a device is there: its directory in sysfs says so, which is a tmpfs here, unless
 * sysfs cannot be seen.
 *
 * Sources: target/rdma/device.c
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/rdma/device.h"

#define CLASS	"/sys/class/infiniband_verbs"

static struct ibv_device device = { .name = "rxe0", .dev_name = "uverbs0" };
static struct ibv_context context = { .device = &device, .cmd_fd = -1, .async_fd = -1 };
static unsigned int removed;

/*
 * Instead of those of the daemon and of the library
 */

struct rdma_cm_id *cm_create_id(struct cm_handler *handler)
{
	(void)handler;
	return NULL;
}

int loop_add(struct loop_source *src)
{
	(void)src;
	return 0;
}

void loop_del(struct loop_source *src)
{
	(void)src;
}

void cq_event(struct cq *cq)
{
	(void)cq;
}

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	(void)verbs;
	memset(attr, 0, sizeof(*attr));
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *verbs)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	assert_non_null(channel);
	channel->context = verbs;
	channel->fd = -1;
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	free(channel);
	return 0;
}

static void gone(struct device *dev)
{
	(void)dev;
	removed++;
}

/* Return: whether it can be used; if not, it was told to be removed. */
static bool is_there(void)
{
	const struct sockaddr_in local = { .sin_family = AF_INET };
	struct device *dev;

	removed = 0;
	device_init(gone);
	dev = device_get(&context, (const struct sockaddr *)&local);
	if (dev)
		device_put(dev);
	device_exit();
	assert_int_equal(removed, !dev);
	return dev;
}

/* In a namespace of its own from here on. */
static void sysfs_says_it(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/sys", "tmpfs", 0, "size=64k"))
		skip();
	assert_true(is_there());
	assert_int_equal(mkdir("/sys/class", 0755), 0);
	assert_true(is_there());
	assert_int_equal(mkdir(CLASS, 0755), 0);
	assert_false(is_there());
	assert_int_equal(mkdir(CLASS "/uverbs0", 0755), 0);
	assert_true(is_there());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sysfs_says_it),
	};

	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
