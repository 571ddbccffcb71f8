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
 * @failed: the queue pair is in error, and not because of the daemon; @access: the peer has
 *	accessed memory that it may not access. In the loop.
 * @established: the peer's first message has come before the connection manager knew that
 *	the connection is established. In the loop.
 */
struct qp_handler {
	void (*failed)(struct qp_handler *handler, bool access);
	void (*established)(struct qp_handler *handler);
};

/**
 * struct device - one RDMA device
 * @entry: in the list of devices
 * @verbs: context of the device, which librdmacm owns
 * @attr: limits of the device
 * @name: name for the log; that of libibverbs goes with the context
 * @ino: inode of its directory in sysfs, which no other device ever has; 0: unknown
 * @channel: channel of all its completion queues that the loop polls; NULL: the device could
 *	not be used until now
 * @completions: source of events of @channel
 * @async: source of asynchronous events
 * @cm: handler of @sentinel
 * @sentinel: CM id that is bound to the device. Hears of its removal, and keeps librdmacm from
 *	closing @verbs
 * @users: number of users: sessions, listeners, and a connection request that is looked at
 * @gone: the device is being removed, and will be closed when @users is 0
 */
struct device {
	LIST_ENTRY(device) entry;
	struct ibv_context *verbs;
	struct ibv_device_attr attr;
	char name[IBV_SYSFS_NAME_MAX];
	ino_t ino;
	struct ibv_comp_channel *channel;
	struct loop_source completions;
	struct loop_source async;
	struct cm_handler cm;
	struct rdma_cm_id *sentinel;
	unsigned int users;
	bool gone;
};

/* A negative errno: the device has no queue pair or no completion queue left */
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
 * To be called after ibv_create_cq() or ibv_create_qp() has failed, with its errno.
 * ENOMEM is taken for a full device. It could also mean that the host has no memory, but that
 * is rare, because a queue needs little.
 *
 * Return: DEVICE_FULL or -errno.
 */
static inline int device_queue_error(void)
{
	return errno == ENOMEM ? DEVICE_FULL : -errno;
}

#endif
