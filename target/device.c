// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RDMA devices.
 *
 * A device that is being removed waits, in the kernel, until its last user has
 * closed it. The context is librdmacm's, which keeps it for later and has no
 * call to close it. It compares its list of devices with the kernel's when it
 * meets one it does not know, and only then closes those that are gone. The call
 * that forces a comparison, rdma_get_devices(), opens every device of the host,
 * and the removal of one that is open here but not used would wait for ever.
 * Hence device_close() puts /dev/null in the place of the context's descriptors.
 * That lets the kernel go on, and librdmacm may close the context whenever it
 * likes.
 *
 * All calls are the loop's; no other thread makes librdmacm open or close a
 * device.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "device.h"
#include "log.h"
#include "util.h"

static LIST_HEAD(, device) devices = LIST_HEAD_INITIALIZER(devices);
static void (*device_on_gone)(struct device *dev);

static void set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static void completions_ready(struct loop_source *src)
{
	struct device *dev = container_of(src, struct device, completions);
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(dev->channel, &cq, &context)) {
		struct cq_handler *handler = context;

		/* acknowledged last: a destroyer of the queue waits for us */
		handler->ready(handler);
		ibv_ack_cq_events(cq, 1);
	}
}

static void qp_event(struct ibv_qp *qp, enum ibv_event_type type)
{
	struct qp_handler *handler = qp->qp_context;

	if (type == IBV_EVENT_COMM_EST)
		handler->established(handler);
	else
		handler->failed(handler, type == IBV_EVENT_QP_ACCESS_ERR);
}

static void async_ready(struct loop_source *src)
{
	struct device *dev = container_of(src, struct device, async);
	struct ibv_async_event ev;
	bool fatal = false;

	while (!fatal && !ibv_get_async_event(dev->verbs, &ev)) {
		log_debug("%s: %s", dev->name, ibv_event_type_str(ev.event_type));
		switch (ev.event_type) {
		case IBV_EVENT_COMM_EST:
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			qp_event(ev.element.qp, ev.event_type);
			break;
		case IBV_EVENT_DEVICE_FATAL:
			fatal = true;
			break;
		default:
			break;
		}
		ibv_ack_async_event(&ev);
	}
	if (fatal)
		device_remove(dev);
}

static void sentinel_event(struct cm_handler *handler, const struct cm_event *ev)
{
	if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		device_remove(container_of(handler, struct device, cm));
}

static void sentinel_create(struct device *dev, const struct sockaddr *local)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} addr;

	memset(&addr, 0, sizeof(addr));
	if (local->sa_family == AF_INET6) {
		memcpy(&addr, local, sizeof(addr.in6));
		addr.in6.sin6_port = 0;
	} else {
		memcpy(&addr, local, sizeof(addr.in));
		addr.in.sin_port = 0;
	}
	dev->sentinel = cm_create_id(&dev->cm);
	if (dev->sentinel && !rdma_bind_addr(dev->sentinel, &addr.sa) &&
	    dev->sentinel->verbs == dev->verbs)
		return;
	log_warn("device %s: its removal will be noticed by its connections only",
		 dev->name);
	if (dev->sentinel)
		rdma_destroy_id(dev->sentinel);
	dev->sentinel = NULL;
}

static int device_watch(struct device *dev)
{
	int ret;

	dev->channel = ibv_create_comp_channel(dev->verbs);
	if (!dev->channel)
		return -errno;
	dev->completions.fd = dev->channel->fd;
	dev->completions.ready = completions_ready;
	dev->async.fd = dev->verbs->async_fd;
	dev->async.ready = async_ready;
	set_nonblock(dev->completions.fd);
	set_nonblock(dev->async.fd);
	ret = loop_add(&dev->completions);
	if (ret)
		goto destroy_channel;
	ret = loop_add(&dev->async);
	if (ret)
		goto del_completions;
	return 0;
del_completions:
	loop_del(&dev->completions);
destroy_channel:
	ibv_destroy_comp_channel(dev->channel);
	return ret;
}

static struct device *device_open(struct ibv_context *verbs,
				  const struct sockaddr *local)
{
	struct device *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return NULL;
	dev->verbs = verbs;
	dev->name = ibv_get_device_name(verbs->device);
	dev->cm.event = sentinel_event;
	if (ibv_query_device(verbs, &dev->attr) || device_watch(dev)) {
		log_err("device %s: cannot be used: %s", dev->name, strerror(errno));
		free(dev);
		return NULL;
	}
	sentinel_create(dev, local);
	LIST_INSERT_HEAD(&devices, dev, entry);
	log_info("device %s: in use", dev->name);
	return dev;
}

/* See the top of the file. */
static void context_close(int cmd_fd, int async_fd)
{
	int null;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return;
	dup3(null, async_fd, O_CLOEXEC);
	dup3(null, cmd_fd, O_CLOEXEC);
	close(null);
}

static void device_close(struct device *dev)
{
	int cmd_fd = dev->verbs->cmd_fd, async_fd = dev->verbs->async_fd;

	LIST_REMOVE(dev, entry);
	loop_del(&dev->completions);
	loop_del(&dev->async);
	ibv_destroy_comp_channel(dev->channel);
	if (dev->sentinel)
		rdma_destroy_id(dev->sentinel);
	if (dev->gone) {
		context_close(cmd_fd, async_fd);
		log_info("device %s: closed", dev->name);
	}
	free(dev);
}

/**
 * device_init - say who hears of removals
 * @gone: shall end everything that uses the device, and then device_put() it
 */
void device_init(void (*gone)(struct device *dev))
{
	device_on_gone = gone;
}

/**
 * device_get - the device of a context
 * @verbs: of a CM id
 * @local: address of that id
 *
 * Return: the device, device_put() is due; NULL: it cannot be used or is being
 * removed.
 */
struct device *device_get(struct ibv_context *verbs, const struct sockaddr *local)
{
	struct device *dev;

	LIST_FOREACH(dev, &devices, entry)
		if (dev->verbs == verbs)
			break;
	if (!dev)
		dev = device_open(verbs, local);
	if (!dev || dev->gone)
		return NULL;
	dev->users++;
	return dev;
}

/**
 * device_put - one user less
 * @dev: may be gone afterwards
 */
void device_put(struct device *dev)
{
	dev->users--;
	if (dev->gone && !dev->users)
		device_close(dev);
}

/**
 * device_remove - the device is being removed
 * @dev: may be gone afterwards
 */
void device_remove(struct device *dev)
{
	if (dev->gone)
		return;
	log_warn("device %s: is being removed", dev->name);
	dev->gone = true;
	dev->users++;
	device_on_gone(dev);
	device_put(dev);
}

/**
 * device_exit - let go of all devices; nobody uses them any more
 */
void device_exit(void)
{
	struct device *dev, *next;

	for (dev = LIST_FIRST(&devices); dev; dev = next) {
		next = LIST_NEXT(dev, entry);
		device_close(dev);
	}
}

/**
 * device_read_depth - how many READs a queue pair can answer at once
 * @dev: the device
 *
 * Return: 1..255.
 */
uint8_t device_read_depth(const struct device *dev)
{
	int depth = dev->attr.max_qp_rd_atom;

	if (depth < 1)
		return 1;
	return depth > UINT8_MAX ? UINT8_MAX : (uint8_t)depth;
}
