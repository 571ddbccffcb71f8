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
 * The order in which the kernel's modules were loaded decides which part of it hears of a
 * removal first. Where ib_uverbs comes before rdma_cm, and the driver cannot take a device
 * from programs that use it, as rxe cannot, no event of verbs or rdma_cm comes: the
 * removal waits for the device to be closed and tells nobody. What comes is the kernel's
 * message that the file in /dev/infiniband has gone.
 *
 * All calls are the loop's; no other thread makes librdmacm open or close a
 * device.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "rdma/device.h"

/*
 * rxe says that a registration may have any size, and keeps 16 bytes for each page of it, in
 * some kernels in one piece of memory: for 256 MiB that is one of 1 MiB, which a kernel that
 * has run for long still has. More than 4 MiB it never gets, and warns that it was asked for.
 */
#define RXE_VENDOR	0xffffff
#define RXE_MR_BYTES	(256ULL << 20)

static LIST_HEAD(, device) devices = LIST_HEAD_INITIALIZER(devices);
static void (*device_on_gone)(struct device *dev);
static struct loop_source uevents = { .fd = -1 };
static int nowhere = -1;	/* open early: later there may be no descriptor left */

#define UEVENT_GROUP	1	/* the kernel's own, not udev's */
#define UEVENT_BYTES	8192	/* more than the kernel sends at once */

static void set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* One event of each queue at most: nothing here makes another one, see cq.c. */
static void completions_ready(struct loop_source *src)
{
	struct device *dev = container_of(src, struct device, completions);
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(dev->channel, &cq, &context)) {
		/* acknowledged last: a destroyer of the queue waits for us */
		cq_event(context);
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
	dev->channel = NULL;
	return ret;
}

#define UVERBS	"/sys/class/infiniband_verbs"

static int uverbs_stat(const struct device *dev, struct stat *st)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), UVERBS "/%s/", dev->verbs->device->dev_name);
	return stat(path, st) ? -errno : 0;
}

/*
 * Whether its file is there, and not that of another device with the same number. Names
 * say nothing: RDMA devices can be renamed in use. Nor does it that the file cannot be
 * seen where nothing of verbs can, as in a container without sysfs.
 */
static bool uverbs_is_there(const struct device *dev)
{
	struct stat st;
	int ret = uverbs_stat(dev, &st);

	if (ret)
		return ret != -ENOENT || access(UVERBS, F_OK);
	return !dev->ino || dev->ino == st.st_ino;
}

/* What context_close() has done; librdmacm does not know until it looks. */
static bool context_is_closed(const struct ibv_context *verbs)
{
	struct stat now, null;

	return nowhere >= 0 && !fstat(verbs->cmd_fd, &now) && !fstat(nowhere, &null) &&
	       now.st_rdev == null.st_rdev;
}

/* In the list even when it cannot be used: librdmacm has it open. */
static struct device *device_open(struct ibv_context *verbs,
				  const struct sockaddr *local)
{
	struct device *dev = calloc(1, sizeof(*dev));
	struct stat st;

	if (!dev || context_is_closed(verbs)) {
		free(dev);
		return NULL;
	}
	dev->verbs = verbs;
	dev->name = ibv_get_device_name(verbs->device);
	dev->ino = uverbs_stat(dev, &st) ? 0 : st.st_ino;
	dev->cm.event = sentinel_event;
	sentinel_create(dev, local);
	LIST_INSERT_HEAD(&devices, dev, entry);
	return dev;
}

/* Return: whether it can be used; it may be so the next time. */
static bool device_use(struct device *dev)
{
	int ret;

	if (dev->channel)
		return true;
	ret = -ibv_query_device(dev->verbs, &dev->attr) ?: device_watch(dev);
	if (!ret && dev->attr.vendor_id == RXE_VENDOR && dev->attr.max_mr_size > RXE_MR_BYTES)
		dev->attr.max_mr_size = RXE_MR_BYTES;
	if (ret)
		log_peer(NULL, LOG_ERR, "device %s: cannot be used: %s", dev->name,
			 strerror(-ret));
	else
		log_info("device %s: in use", dev->name);
	return !ret;
}

/* See the top of the file. */
static void context_close(int cmd_fd, int async_fd)
{
	if (nowhere < 0)
		return;
	dup3(nowhere, async_fd, O_CLOEXEC);
	dup3(nowhere, cmd_fd, O_CLOEXEC);
}

static void device_close(struct device *dev)
{
	int cmd_fd = dev->verbs->cmd_fd, async_fd = dev->verbs->async_fd;

	LIST_REMOVE(dev, entry);
	if (dev->channel) {
		loop_del(&dev->completions);
		loop_del(&dev->async);
		ibv_destroy_comp_channel(dev->channel);
	}
	if (dev->sentinel)
		rdma_destroy_id(dev->sentinel);
	if (dev->gone) {
		context_close(cmd_fd, async_fd);
		log_info("device %s: closed", dev->name);
	}
	free(dev);
}

static void look_for_removed(void)
{
	struct device *dev, *next;

	for (dev = LIST_FIRST(&devices); dev; dev = next) {
		next = LIST_NEXT(dev, entry);
		if (!uverbs_is_there(dev))
			device_remove(dev);
	}
}

/* What a message says is not needed, nor whether one was lost. */
static void uevents_ready(struct loop_source *src)
{
	static const char verbs[] = "/infiniband_verbs/";
	char message[UEVENT_BYTES + 1];
	bool look = false;
	ssize_t n;

	while ((n = recv(src->fd, message, UEVENT_BYTES, 0)) >= 0 || errno == ENOBUFS) {
		if (n >= 0)
			message[n] = '\0';
		look |= n < 0 || (!strncmp(message, "remove@", 7) &&
				  strstr(message, verbs));
	}
	if (look)
		look_for_removed();
}

static int uevents_open(void)
{
	const struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK, .nl_groups = UEVENT_GROUP,
	};
	int ret;

	uevents.ready = uevents_ready;
	uevents.fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    NETLINK_KOBJECT_UEVENT);
	if (uevents.fd < 0)
		return -errno;
	ret = bind(uevents.fd, (const struct sockaddr *)&addr, sizeof(addr)) ? -errno :
	      loop_add(&uevents);
	if (ret) {
		close(uevents.fd);
		uevents.fd = -1;
	}
	return ret;
}

static void uevents_close(void)
{
	if (uevents.fd < 0)
		return;
	loop_del(&uevents);
	close(uevents.fd);
	uevents.fd = -1;
}

/**
 * device_init - say who hears of removals
 * @gone: shall end everything that uses the device, and then device_put() it
 */
void device_init(void (*gone)(struct device *dev))
{
	int ret = uevents_open();

	device_on_gone = gone;
	nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (nowhere < 0)
		log_warn("cannot open /dev/null: %s; the removal of a device waits for the daemon's end",
			 strerror(errno));
	if (ret)
		log_warn("cannot hear the kernel's messages about devices: %s; the removal of one may wait for the daemon's end",
			 strerror(-ret));
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
	if (!dev) {
		dev = device_open(verbs, local);
		/* The kernel may have told of its removal before it was in the list. */
		if (dev && !uverbs_is_there(dev)) {
			device_remove(dev);
			return NULL;
		}
	}
	if (!dev || dev->gone || !device_use(dev))
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

	uevents_close();
	for (dev = LIST_FIRST(&devices); dev; dev = next) {
		next = LIST_NEXT(dev, entry);
		device_close(dev);
	}
	if (nowhere >= 0)
		close(nowhere);
	nowhere = -1;
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

/**
 * device_error_text - say what has failed
 * @ret: DEVICE_FULL or -errno
 *
 * Return: a text.
 */
const char *device_error_text(int ret)
{
	if (ret == DEVICE_FULL)
		return "the RDMA device has no queue pair or completion queue left";
	return strerror(-ret);
}
