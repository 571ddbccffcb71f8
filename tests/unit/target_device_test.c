// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device is there if it has a directory in sysfs, for which a tmpfs stands here, or if sysfs
 * cannot be seen. And librdmacm may close a context as soon as no id is bound to its device any
 * more, so the daemon does not touch it after that.
 *
 * Sources: target/rdma/device.c
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/rdma/device.h"

#define CLASS	"/sys/class/infiniband_verbs"

static unsigned int removed;

/*
 * A fake librdmacm. With the last id of a device it closes the context, if it has found out
 * meanwhile that libibverbs does not list the device any more.
 */
static struct {
	struct ibv_context *verbs;	/* NULL: closed */
	unsigned int ids;		/* bound to the device */
	bool dead;			/* not listed any more */
	int no_id;			/* errno of the next cm_create_id(); 0: it succeeds */
	struct ibv_context *elsewhere;	/* context that ids are bound to instead, or NULL */
	int cmd_fd, async_fd;		/* after the close: numbers that another file has */
	bool nowhere;			/* both were /dev/null when they were closed */
} rdma;

static void rdma_opens(void)
{
	struct ibv_device *device = calloc(1, sizeof(*device));

	assert_non_null(device);
	memset(&rdma, 0, sizeof(rdma));
	snprintf(device->name, sizeof(device->name), "rxe0");
	snprintf(device->dev_name, sizeof(device->dev_name), "uverbs0");
	rdma.verbs = calloc(1, sizeof(*rdma.verbs));
	assert_non_null(rdma.verbs);
	rdma.verbs->device = device;
	rdma.verbs->cmd_fd = eventfd(0, EFD_CLOEXEC);
	rdma.verbs->async_fd = eventfd(0, EFD_CLOEXEC);
}

static bool is_null(int fd)
{
	struct stat st, null;

	return !fstat(fd, &st) && !stat("/dev/null", &null) && S_ISCHR(st.st_mode) &&
	       st.st_rdev == null.st_rdev;
}

/* As if another thread opened a file at once, and that got the number @fd. */
static void taken(int fd)
{
	int other = memfd_create("other", MFD_CLOEXEC);

	assert_true(other >= 0);
	if (other != fd)
		assert_int_equal(dup3(other, fd, O_CLOEXEC), fd);
	if (other != fd)
		close(other);
}

static void rdma_closes(void)
{
	rdma.cmd_fd = rdma.verbs->cmd_fd;
	rdma.async_fd = rdma.verbs->async_fd;
	rdma.nowhere = is_null(rdma.cmd_fd) && is_null(rdma.async_fd);
	close(rdma.cmd_fd);
	close(rdma.async_fd);
	taken(rdma.cmd_fd);
	taken(rdma.async_fd);
	memset(rdma.verbs->device, 0xff, sizeof(*rdma.verbs->device));
	free(rdma.verbs->device);
	free(rdma.verbs);
	rdma.verbs = NULL;
}

/* Frees what the end of the process would free. */
static void rdma_ends(void)
{
	assert_int_equal(rdma.ids, 0);
	if (rdma.verbs)
		rdma_closes();
	close(rdma.cmd_fd);
	close(rdma.async_fd);
}

static void id_begins(void)
{
	rdma.ids++;
}

static void id_ends(void)
{
	if (!--rdma.ids && rdma.dead)
		rdma_closes();
}

struct rdma_cm_id *cm_create_id(struct cm_handler *handler)
{
	struct rdma_cm_id *id = rdma.no_id ? NULL : calloc(1, sizeof(*id));

	if (id)
		id->context = handler;
	else
		errno = rdma.no_id;
	return id;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)addr;
	id->verbs = rdma.elsewhere ?: rdma.verbs;
	if (!rdma.elsewhere)
		id_begins();
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	bool bound = id->verbs && id->verbs == rdma.verbs;

	free(id);
	if (bound)
		id_ends();
	return 0;
}

/*
 * Replacements of functions of the daemon and of libibverbs
 */

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

static struct device *get(void)
{
	const struct sockaddr_in local = { .sin_family = AF_INET };

	return device_get(rdma.verbs, (const struct sockaddr *)&local);
}

static void begin(void)
{
	rdma_opens();
	removed = 0;
	device_init(gone);
}

static void end(void)
{
	device_exit();
	rdma_ends();
}

/* Return: whether the device can be used; if not, gone() must have been called. */
static bool is_there(void)
{
	struct device *dev;

	begin();
	id_begins();
	dev = get();
	if (dev)
		device_put(dev);
	assert_int_equal(is_null(rdma.verbs->cmd_fd), !dev);
	id_ends();
	assert_int_equal(removed, !dev);
	end();
	return dev;
}

/* librdmacm meets another device, and so finds out that this one is not listed any more. */
static void another_device_is_met(void)
{
	rdma.dead = true;
}

static bool is_taken(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

/*
 * A device is removed. The ids of its sessions go first. The context must stay open and in place
 * until the last user puts the device.
 */
static void a_context_is_not_touched_after_its_last_id(void **state)
{
	(void)state;
	for (int met = 0; met < 2; met++) {
		struct device *dev;

		begin();
		id_begins();
		dev = get();
		assert_non_null(dev);
		device_remove(dev);
		assert_int_equal(removed, 1);
		if (met)
			another_device_is_met();
		id_ends();
		assert_non_null(rdma.verbs);
		assert_false(is_null(rdma.verbs->cmd_fd) || is_null(rdma.verbs->async_fd));
		device_put(dev);
		if (!met) {	/* librdmacm keeps the context; the kernel need not wait */
			assert_true(is_null(rdma.verbs->cmd_fd) && is_null(rdma.verbs->async_fd));
			assert_null(get());
		} else {
			assert_null(rdma.verbs);
			assert_true(rdma.nowhere);
			assert_true(is_taken(rdma.cmd_fd) && is_taken(rdma.async_fd));
		}
		end();
	}
}

/* Without an id of its own the device could lose its context with the id of any session. */
static void a_device_that_nothing_keeps_open_is_not_used(void **state)
{
	struct ibv_context other = { .device = NULL };
	struct device *dev;

	(void)state;
	for (int there = 0; there < 2; there++) {
		begin();
		id_begins();
		rdma.no_id = there ? 0 : EMFILE;
		rdma.elsewhere = there ? &other : NULL;
		assert_null(get());
		assert_int_equal(removed, 0);
		assert_false(is_null(rdma.verbs->cmd_fd));
		another_device_is_met();
		id_ends();
		assert_null(rdma.verbs);
		end();
	}
	/* the next request tries again */
	begin();
	id_begins();
	rdma.no_id = EMFILE;
	assert_null(get());
	rdma.no_id = 0;
	dev = get();
	assert_non_null(dev);
	assert_string_equal(dev->name, "rxe0");
	device_put(dev);
	id_ends();
	assert_int_equal(rdma.ids, 1);
	end();
}

/* From here on the process has its own mount namespace. */
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
	/* the kernel's removal need not wait for a device that got no id of its own, either */
	begin();
	id_begins();
	rdma.no_id = ENODEV;
	assert_null(get());
	assert_true(is_null(rdma.verbs->cmd_fd) && is_null(rdma.verbs->async_fd));
	id_ends();
	end();
	assert_int_equal(mkdir(CLASS "/uverbs0", 0755), 0);
	assert_true(is_there());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_context_is_not_touched_after_its_last_id),
		cmocka_unit_test(a_device_that_nothing_keeps_open_is_not_used),
		cmocka_unit_test(sysfs_says_it),
	};

	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
