// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The event channel. The loop copies and acknowledges an event before it handles it, so
 * rdma_destroy_id(), which waits for acknowledgements, never waits for a handler. The loop
 * reads the context of the id before it acknowledges: afterwards another thread may destroy
 * the id.
 *
 * A peer that asks for connections without pause keeps the loop here for a few
 * milliseconds at a time. The rest stays in the channel until the loop's next turn.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "rdma/cm.h"

#define EVENTS_MS	3	/* for events in one turn of the loop */

static void cm_ready(struct loop_source *src);

static struct {
	struct rdma_event_channel *channel;
	struct loop_source source;
} cm = { .source = { .fd = -1, .ready = cm_ready } };

static void cm_copy(struct cm_event *ev, const struct rdma_cm_event *from)
{
	const struct rdma_conn_param *param = &from->param.conn;

	*ev = (struct cm_event){
		.type = from->event,
		.status = from->status,
		.id = from->id,
	};
	if (from->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return;
	ev->resources = param->responder_resources;
	ev->qpn = param->qp_num;
	if (param->private_data) {
		ev->len = param->private_data_len;
		memcpy(ev->data, param->private_data, ev->len);
	}
}

static void cm_ready(struct loop_source *src)
{
	int64_t until = loop_now() + EVENTS_MS;
	struct rdma_cm_event *event;
	struct cm_handler *handler;
	struct cm_event ev;

	(void)src;
	do {
		bool request;

		if (rdma_get_cm_event(cm.channel, &event))
			return;
		request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
		handler = request ? event->listen_id->context : event->id->context;
		cm_copy(&ev, event);
		rdma_ack_cm_event(event);
		log_debug("%s, status %d", rdma_event_str(ev.type), ev.status);
		handler->event(handler, &ev);
	} while (loop_now() < until);
}

/**
 * cm_init - open the channel
 *
 * Return: 0 or -errno.
 */
int cm_init(void)
{
	int flags, ret;

	cm.channel = rdma_create_event_channel();
	if (!cm.channel)
		return -errno;
	cm.source.fd = cm.channel->fd;
	flags = fcntl(cm.channel->fd, F_GETFL);
	if (flags < 0 || fcntl(cm.channel->fd, F_SETFL, flags | O_NONBLOCK))
		ret = -errno;
	else
		ret = loop_add(&cm.source);
	if (ret) {
		rdma_destroy_event_channel(cm.channel);
		cm.channel = NULL;
	}
	return ret;
}

/**
 * cm_exit - close the channel; all its ids are destroyed
 */
void cm_exit(void)
{
	if (!cm.channel)
		return;
	loop_del(&cm.source);
	rdma_destroy_event_channel(cm.channel);
	cm.channel = NULL;
}

/**
 * cm_create_id - make a CM id on the channel
 * @handler: gets the events of the id, and outlives it
 *
 * Return: the id, which the caller destroys; or NULL with errno.
 */
struct rdma_cm_id *cm_create_id(struct cm_handler *handler)
{
	struct rdma_cm_id *id;

	return rdma_create_id(cm.channel, &id, handler, RDMA_PS_TCP) ? NULL : id;
}
