// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Listeners. At the start every address must listen; later one whose device has
 * gone tries again until a device for it is back. Only then does a timer run.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

#include "base/log.h"
#include "base/util.h"
#include "session/accept.h"
#include "session/listener.h"

#define LISTENER_BACKLOG	128
#define LISTENER_RETRY_MS	1000

struct listener {
	struct cm_handler cm;
	struct loop_timer retry;
	const struct listen_addr *addr;
	struct rdma_cm_id *id;
	struct device *device;		/* NULL: of no particular device */
};

static struct listener *listeners;
static unsigned int nr_listeners;

static void listener_event(struct cm_handler *handler, const struct cm_event *ev)
{
	struct listener *l = container_of(handler, struct listener, cm);

	if (ev->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		accept_request(ev);
	else if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL && l->device)
		device_remove(l->device);
}

static const char *bind_text(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "another process listens there";
	case EADDRNOTAVAIL:
	case ENODEV:
		return "no RDMA device has this address";
	default:
		return "cannot bind to it";
	}
}

static int listener_try(struct listener *l, const char **step)
{
	int on = 1;

	*step = "cannot open the RDMA connection manager";
	l->id = cm_create_id(&l->cm);
	if (!l->id)
		return -errno;
	*step = "cannot set options";
	if (rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on,
			    sizeof(on)))
		return -errno;
	if (l->addr->sa.ss_family == AF_INET6 &&
	    rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on,
			    sizeof(on)))
		return -errno;
	if (rdma_bind_addr(l->id, (struct sockaddr *)&l->addr->sa)) {
		*step = bind_text(errno);
		return -errno;
	}
	*step = "its RDMA device cannot be used";
	if (l->id->verbs) {
		l->device = device_get(l->id->verbs, rdma_get_local_addr(l->id));
		if (!l->device)
			return -ENODEV;
	}
	if (!rdma_listen(l->id, LISTENER_BACKLOG))
		return 0;
	*step = errno == EADDRINUSE ? bind_text(errno) : "cannot listen";
	return -errno;
}

static void listener_close(struct listener *l)
{
	struct device *dev = l->device;

	loop_timer_stop(&l->retry);
	if (l->id)
		rdma_destroy_id(l->id);
	l->id = NULL;
	l->device = NULL;
	if (dev)
		device_put(dev);
}

static int listener_open(struct listener *l, const char **step)
{
	int ret = listener_try(l, step);

	if (ret)
		listener_close(l);
	else
		log_info("listening on %s%s%s", l->addr->text,
			 l->device ? ", device " : "",
			 l->device ? l->device->name : "");
	return ret;
}

static void listener_retry(struct loop_timer *timer)
{
	struct listener *l = container_of(timer, struct listener, retry);
	const char *step;
	int ret = listener_open(l, &step);

	if (!ret)
		return;
	log_debug("%s: %s: %s", l->addr->text, step, strerror(-ret));
	loop_timer_start(&l->retry, LISTENER_RETRY_MS);
}

/**
 * listener_open_all - listen on every address
 * @cfg: outlives the listeners
 *
 * Return: 0 or -errno, logged.
 */
int listener_open_all(const struct config *cfg)
{
	const char *step;

	listeners = calloc(cfg->nr_listen, sizeof(*listeners));
	if (!listeners)
		return -ENOMEM;
	for (unsigned int i = 0; i < cfg->nr_listen; i++) {
		struct listener *l = &listeners[nr_listeners++];
		int ret;

		l->addr = &cfg->listen[i];
		l->cm.event = listener_event;
		l->retry.expired = listener_retry;
		ret = listener_open(l, &step);
		if (ret) {
			log_err("cannot listen on %s: %s: %s", l->addr->text, step,
				strerror(-ret));
			return ret;
		}
	}
	return 0;
}

static int try_address(struct rdma_cm_id *id, const struct listen_addr *addr)
{
	struct sockaddr_storage any_port = addr->sa;

	/* A daemon may be listening on the port. IPv4 and IPv6 have it at the same place. */
	((struct sockaddr_in *)(void *)&any_port)->sin_port = 0;
	return rdma_bind_addr(id, (struct sockaddr *)&any_port) ? errno : 0;
}

/**
 * listener_check - does an RDMA device have an address
 * @addr: address; its port may be in use
 *
 * Return: 0 or -errno, logged.
 */
int listener_check(const struct listen_addr *addr)
{
	struct cm_handler nothing = { .event = listener_event };
	struct rdma_cm_id *id = cm_create_id(&nothing);
	const char *step = "cannot open the RDMA connection manager";
	int error = errno;

	if (id) {
		error = try_address(id, addr);
		step = bind_text(error);
		rdma_destroy_id(id);
	}
	if (error)
		log_err("cannot listen on %s: %s: %s", addr->text, step, strerror(error));
	return -error;
}

/**
 * listener_close_device - listen no more on a device that is being removed
 * @dev: the device; its addresses are tried again until they have one
 */
void listener_close_device(struct device *dev)
{
	for (unsigned int i = 0; i < nr_listeners; i++) {
		struct listener *l = &listeners[i];

		if (l->device != dev)
			continue;
		log_warn("listening no more on %s until an RDMA device has that address again",
			 l->addr->text);
		listener_close(l);
		loop_timer_start(&l->retry, LISTENER_RETRY_MS);
	}
}

/**
 * listener_close_all - listen no more
 */
void listener_close_all(void)
{
	for (unsigned int i = 0; i < nr_listeners; i++)
		listener_close(&listeners[i]);
	free(listeners);
	listeners = NULL;
	nr_listeners = 0;
}
