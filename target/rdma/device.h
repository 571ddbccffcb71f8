/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDMA devices in use: what they can do, their completion channel, their
 * asynchronous events, their removal.
 */
#ifndef RDMABLKD_DEVICE_H
#define RDMABLKD_DEVICE_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/loop.h"
#include "rdma/cm.h"
#include "rdma/cq.h"

/**
 * struct qp_handler - what the context of a queue pair points to
 * @failed: it is in error and did not get there by our doing; @access: the
 *	peer went where it may not. In the loop.
 * @established: the peer's first message came before the connection manager
 *	knew that the connection stands. In the loop.
 */
struct qp_handler {
	void (*failed)(struct qp_handler *handler, bool access);
	void (*established)(struct qp_handler *handler);
};

/**
 * struct device - one RDMA device
 * @entry: in the list of devices
 * @verbs: librdmacm's context of it
 * @attr: its limits
 * @name: for the log
 * @ino: of its directory in sysfs, which no other device ever has; 0: unknown
 * @channel: of all completion queues on it that the loop polls; NULL: it could not be
 *	used until now
 * @completions: @channel in the loop
 * @async: asynchronous events in the loop
 * @cm: handler of @sentinel
 * @sentinel: an id bound to it, which hears of its removal
 * @users: sessions and listeners, and a request that is looked at
 * @gone: it is being removed; closed when @users is 0
 */
struct device {
	LIST_ENTRY(device) entry;
	struct ibv_context *verbs;
	struct ibv_device_attr attr;
	const char *name;
	ino_t ino;
	struct ibv_comp_channel *channel;
	struct loop_source completions;
	struct loop_source async;
	struct cm_handler cm;
	struct rdma_cm_id *sentinel;
	unsigned int users;
	bool gone;
};

/* Negative errno: the device has no queue pair or no completion queue left */
#define DEVICE_FULL	(-EUSERS)

void device_init(void (*gone)(struct device *dev));
struct device *device_get(struct ibv_context *verbs, const struct sockaddr *local);
void device_put(struct device *dev);
void device_remove(struct device *dev);
void device_exit(void);
uint8_t device_read_depth(const struct device *dev);
const char *device_error_text(int ret);

/**
 * device_queue_error - why no queue pair or completion queue could be made
 *
 * After ibv_create_cq(), ibv_create_qp() or rdma_create_qp() has failed, with errno as that
 * has left it. A device that is full says ENOMEM. So does a host without memory, which is
 * rare: what a queue needs is small.
 *
 * Return: DEVICE_FULL or -errno.
 */
static inline int device_queue_error(void)
{
	return errno == ENOMEM ? DEVICE_FULL : -errno;
}

#endif
