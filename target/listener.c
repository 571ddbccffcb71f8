// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Listeners. At the start every address must listen; later one whose device has
 * gone tries again until a device for it is back. Only then does a timer run.
 */
#include <errno.h>
#include <stdio.h>

#include "listener.h"
#include "log.h"
#include "request.h"
#include "util.h"

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
		request_handle(ev);
	else if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL && l->device)
		device_remove(l->device);
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
	*step = "no RDMA device has this address";
	if (rdma_bind_addr(l->id, (struct sockaddr *)&l->addr->sa))
		return -errno;
	*step = "its RDMA device cannot be used";
	if (l->id->verbs) {
		l->device = device_get(l->id->verbs, rdma_get_local_addr(l->id));
		if (!l->device)
			return -ENODEV;
	}
	*step = "cannot listen";
	return rdma_listen(l->id, LISTENER_BACKLOG) ? -errno : 0;
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
