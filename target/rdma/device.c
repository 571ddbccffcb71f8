// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RDMA devices.
 *
 * The removal of a device waits, in the kernel, until its last user has closed it. But the
 * context belongs to librdmacm, which has no call to close it. librdmacm finds out that a
 * device was removed when it compares its list of devices with the kernel's, which it does
 * when it meets a new device. It then closes the context, or, if there are ids on it, does so
 * when the last of them is destroyed, by whatever thread. rdma_get_devices() would force a
 * comparison, but opens every device of the host, and the removal of a device that is open
 * but not used here would wait for ever.
 *
 * So each device has an id of its own, the sentinel: until it is destroyed, at the very end of
 * device_close(), the context stays open, whichever other ids go. A device without a sentinel
 * is not used. Before it destroys the sentinel, device_close() puts /dev/null in the place of
 * the context's descriptors: afterwards the context may be gone, and their numbers may be
 * those of other files. The kernel can then go on, and librdmacm may close the context whenever
 * it likes. librdmacm cannot free its protection domain then, and leaks a few bytes.
 *
 * The order in which the kernel's modules were loaded decides which of them hears of a
 * removal first. If ib_uverbs comes before rdma_cm, and the driver cannot take a device from
 * programs that use it (rxe cannot), no event of verbs or rdma_cm comes: the removal just
 * waits until the device is closed. Only the kernel's uevent says that the file in
 * /dev/infiniband has gone.
 *
 * Only the loop calls these functions. Workers destroy ids, but never the last one of a device
 * that is in the list.
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
 * rxe says that a registration may have any size. It needs 16 bytes for each page of it, in
 * some kernels in one piece of memory. For 256 MiB that is a piece of 1 MiB, which a kernel
 * that has run for long can still allocate. rxe never gets a piece of more than 4 MiB, and
 * the kernel warns about the attempt.
 */
#define RXE_VENDOR	0xffffff
#define RXE_MR_BYTES	(256ULL << 20)

static LIST_HEAD(, device) devices = LIST_HEAD_INITIALIZER(devices);
static void (*device_on_gone)(struct device *dev);
static struct loop_source uevents = { .fd = -1 };
static int nowhere = -1;	/* open early: later there may be no descriptor left */

#define UEVENT_GROUP	1	/* messages of the kernel, not of udev */
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

/* Return: 0 or -errno */
static int sentinel_create(struct device *dev, const struct sockaddr *local)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} addr;
	int ret;

	memset(&addr, 0, sizeof(addr));
	if (local->sa_family == AF_INET6) {
		memcpy(&addr, local, sizeof(addr.in6));
		addr.in6.sin6_port = 0;
	} else {
		memcpy(&addr, local, sizeof(addr.in));
		addr.in.sin_port = 0;
	}
	dev->sentinel = cm_create_id(&dev->cm);
	if (!dev->sentinel)
		return -errno;
	ret = rdma_bind_addr(dev->sentinel, &addr.sa) ? -errno :
	      dev->sentinel->verbs == dev->verbs ? 0 : -EADDRNOTAVAIL;
	if (ret)
		rdma_destroy_id(dev->sentinel);
	return ret;
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
 * Whether the uverbs directory of a device is there, and is not that of a later device with
 * the same number. The name of an RDMA device does not tell, because it can change in use. Nor
 * does a missing directory where sysfs shows no verbs at all, as in some containers.
 */
static bool uverbs_is_there(const struct device *dev)
{
	struct stat st;
	int ret = uverbs_stat(dev, &st);

	if (ret)
		return ret != -ENOENT || access(UVERBS, F_OK);
	return !dev->ino || dev->ino == st.st_ino;
}

/* Whether context_close() has closed a context that librdmacm takes for open */
static bool context_is_closed(const struct ibv_context *verbs)
{
	struct stat now, null;

	return nowhere >= 0 && !fstat(verbs->cmd_fd, &now) && !fstat(nowhere, &null) &&
	       now.st_rdev == null.st_rdev;
}

/* See the top of the file. */
static void context_close(const struct ibv_context *verbs)
{
	if (nowhere < 0)
		return;
	dup3(nowhere, verbs->async_fd, O_CLOEXEC);
	dup3(nowhere, verbs->cmd_fd, O_CLOEXEC);
}

/*
 * A device that cannot be used is in the list, too, because librdmacm has it open. But nothing of
 * a device without a sentinel may be kept: its address may have gone, perhaps with the device
 * itself. The next call tries again. The context is open as long as the caller has an id on it.
 */
static struct device *device_open(struct ibv_context *verbs,
				  const struct sockaddr *local)
{
	struct device *dev = calloc(1, sizeof(*dev));
	struct stat st;
	int ret;

	if (!dev || context_is_closed(verbs)) {
		free(dev);
		return NULL;
	}
	dev->verbs = verbs;
	snprintf(dev->name, sizeof(dev->name), "%s", ibv_get_device_name(verbs->device));
	dev->ino = uverbs_stat(dev, &st) ? 0 : st.st_ino;
	dev->cm.event = sentinel_event;
	ret = sentinel_create(dev, local);
	if (ret) {
		log_peer(NULL, LOG_ERR,
			 "device %s: cannot be used: no id of rdma_cm can be bound to it: %s",
			 dev->name, strerror(-ret));
		if (!uverbs_is_there(dev))
			context_close(verbs);
		free(dev);
		return NULL;
	}
	LIST_INSERT_HEAD(&devices, dev, entry);
	return dev;
}

/* Return: whether the device can be used. If not, the next call tries again. */
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

static void device_close(struct device *dev)
{
	LIST_REMOVE(dev, entry);
	if (dev->channel) {
		loop_del(&dev->completions);
		loop_del(&dev->async);
		ibv_destroy_comp_channel(dev->channel);
	}
	if (dev->gone) {
		context_close(dev->verbs);
		log_info("device %s: closed", dev->name);
	}
	rdma_destroy_id(dev->sentinel);		/* the context may go with it */
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

/* A message is only a reason to look, and so is the loss of messages. */
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
 * device_init - watch for removals
 * @gone: upcall: a device is being removed. All users end, and call device_put()
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
 * device_get - take a reference to the device of a context
 * @verbs: context of a CM id
 * @local: address of that id
 *
 * Return: the device, for device_put(); NULL: the device cannot be used, or is being removed.
 */
struct device *device_get(struct ibv_context *verbs, const struct sockaddr *local)
{
	struct device *dev;

	LIST_FOREACH(dev, &devices, entry)
		if (dev->verbs == verbs)
			break;
	if (!dev) {
		dev = device_open(verbs, local);
		/* The uevent of its removal may have come before it was in the list. */
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
 * device_put - drop a reference
 * @dev: device; may be gone afterwards
 */
void device_put(struct device *dev)
{
	dev->users--;
	if (dev->gone && !dev->users)
		device_close(dev);
}

/**
 * device_remove - the device is being removed
 * @dev: device; may be gone afterwards
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
 * device_exit - release all devices, which nobody uses any more
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
 * device_error_text - text of an error
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
