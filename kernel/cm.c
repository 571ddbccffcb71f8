// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma_cm for one queue.
 *
 * One task starts each step of a queue: address, route, connection request. No step waits.
 * The event handler records the outcome and wakes the task, which starts the next step. The
 * task may drive several queues at once. The task keeps the deadlines, because rdma_cm's own
 * timers take a minute when an address is dead. The handler never returns an error, so
 * rdma_cm never destroys an id by itself. Only rdmablk_cm_destroy() destroys ids, and it
 * accepts an id in any step.
 *
 * Device removal arrives as an event on every id of the device. Inside the removal, rdma_cm
 * waits until all these ids are destroyed. The session destroys them after everything else
 * that it owns on the device.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cm_ib.h>
#include "cm.h"
#include "wire.h"

/*
 * Six retries: on rxe, seven means for ever, and the error never comes. RNR_RETRY applies to
 * the target: the CM gives the value in our request to the target's queue pair, and the
 * value in the target's answer to ours. rdmablkd answers "for ever"; if the target takes no
 * messages, the keep-alive ends the session because the target is silent.
 */
#define RDMABLK_RETRY_COUNT	6
#define RDMABLK_RNR_RETRY	6

/*
 * 4.096 us << 16 = 268 ms, for fabrics where no subnet manager knows the packet lifetime.
 * RoCE is one: rdma_cm makes up the lifetime in its path records.
 */
#define RDMABLK_DEFAULT_ACK_TIMEOUT	16

/* The largest exponent that a queue pair takes */
#define RDMABLK_LONGEST_ACK		31

/**
 * rdmablk_cm_left() - time left until a deadline, in jiffies
 * @deadline: in jiffies
 *
 * Return: at least 1, so that a passed deadline times out instead of waiting.
 */
long rdmablk_cm_left(unsigned long deadline)
{
	long left = (long)(deadline - jiffies);

	return left > 0 ? left : 1;
}

static void rdmablk_cm_outcome(struct rdmablk_queue *q, int status, const char *why)
{
	q->cm_status = status;
	q->why = why;
	/* Pairs with the acquire in rdmablk_cm_wait(). */
	smp_store_release(&q->cm_pending, false);
	wake_up_all(&q->waiter->wq);
}

static void rdmablk_cm_unreached(struct rdmablk_queue *q, int status)
{
	switch (status) {
	case -ENODEV:
	case -EADDRNOTAVAIL:
		return rdmablk_cm_outcome(q, -ENODEV,
					  "no RDMA device leads to this address");
	case -ENETUNREACH:
		return rdmablk_cm_outcome(q, -ENETUNREACH, "no route to this network");
	case -EHOSTUNREACH:
		return rdmablk_cm_outcome(q, -EHOSTUNREACH, "no route to host");
	case -ETIMEDOUT:
		return rdmablk_cm_outcome(q, -ETIMEDOUT, "no answer from this address");
	default:
		return rdmablk_cm_outcome(q, status < 0 ? status : -EHOSTUNREACH,
					  "address cannot be resolved");
	}
}

static void rdmablk_cm_established(struct rdmablk_queue *q,
				   struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;
	int ret;

	ret = rdmablk_wire_parse_accept(p->private_data, p->private_data_len, q->nr,
					q->version, &q->accept);
	if (ret == -EPROTONOSUPPORT) {
		q->cm_reason = RDMABLK_R_VERSION;
		return rdmablk_cm_outcome(q, ret, rdmablk_reason_text(RDMABLK_R_VERSION));
	}
	if (ret)
		return rdmablk_cm_outcome(q, -EPROTO,
					  "the peer accepts, but is not an rdmablk target");
	q->read_depth = p->initiator_depth;
	q->peer_qpn = p->qp_num;
	q->connected = true;
	rdmablk_cm_outcome(q, 0, NULL);
}

/* Text for a refusal. If only one side wants a key, it says on which side to change that. */
static const char *rdmablk_cm_refusal(const struct rdmablk_queue *q,
				      const struct rdmablk_wire_reject *rej)
{
	if (rej->reason == RDMABLK_R_AUTH_REQUIRED && q->version == RDMABLK_VERSION_OPEN)
		return RDMABLK_WHY_NEEDS_KEY;
	if (rej->reason == RDMABLK_R_VERSION && q->version == RDMABLK_VERSION_PROVEN &&
	    rej->version_max == RDMABLK_VERSION_OPEN)
		return "the target takes no keys: set auth = psk there, or connect without --key";
	return rdmablk_reason_text(rej->reason);
}

static void rdmablk_cm_rejected(struct rdmablk_queue *q, struct rdma_cm_event *ev)
{
	struct rdmablk_wire_reject rej;
	const void *data;
	u8 len = 0;

	data = rdma_consumer_reject_data(q->cm_id, ev, &len);
	if (data && !rdmablk_wire_parse_reject(data, len, &rej)) {
		q->cm_reason = rej.reason;
		q->retry_after_ms = rej.retry_after_ms;
		return rdmablk_cm_outcome(q, rdmablk_wire_errno(rej.reason),
					  rdmablk_cm_refusal(q, &rej));
	}
	switch (ev->status) {
	case IB_CM_REJ_INVALID_SERVICE_ID:
		return rdmablk_cm_outcome(q, -ECONNREFUSED, "nobody listens on this port");
	case IB_CM_REJ_CONSUMER_DEFINED:
		return rdmablk_cm_outcome(q, -ECONNREFUSED,
					  "the peer refuses, but is not an rdmablk target");
	case IB_CM_REJ_STALE_CONN:
		/*
		 * The target's connection manager knows this queue pair number from before
		 * a restart of this host, and has begun to end the old connection.
		 */
		q->cm_reason = RDMABLK_R_FENCING;
		return rdmablk_cm_outcome(q, -EBUSY,
					  "the target still has a connection from before a restart of this host");
	default:
		return rdmablk_cm_outcome(q, -ECONNREFUSED,
					  rdma_reject_msg(q->cm_id, ev->status));
	}
}

static void rdmablk_cm_lost(struct rdmablk_queue *q, int status, u16 reason)
{
	rdmablk_cm_outcome(q, status, rdmablk_reason_text(reason));
	if (q->connected)
		q->fatal(q, reason);
}

static int rdmablk_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rdmablk_queue *q = id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rdmablk_cm_outcome(q, 0, NULL);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rdmablk_cm_established(q, ev);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		rdmablk_cm_unreached(q, ev->status);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		rdmablk_cm_outcome(q, ev->status < 0 ? ev->status : -ECONNABORTED,
				   "the connection cannot be established");
		break;
	case RDMA_CM_EVENT_REJECTED:
		rdmablk_cm_rejected(q, ev);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rdmablk_cm_lost(q, -ENODEV, RDMABLK_R_DEVICE_GONE);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rdmablk_cm_lost(q, -ECONNRESET, RDMABLK_R_CONNECTION);
		break;
	default:
		break;
	}
	return 0;
}

/**
 * rdmablk_cm_is_done() - whether the step started last has an outcome
 * @q: queue
 *
 * Return: true when @q->cm_status and @q->why hold the outcome.
 */
bool rdmablk_cm_is_done(const struct rdmablk_queue *q)
{
	/* Pairs with the release in rdmablk_cm_outcome(). */
	return !smp_load_acquire(&q->cm_pending);
}

/**
 * rdmablk_cm_wait() - wait for the outcome of the step started last
 * @q: the control queue, or one of its probes
 * @deadline: in jiffies
 *
 * Context: may sleep.
 *
 * Return: 0; or a negative errno, with a text in @q->why.
 */
int rdmablk_cm_wait(struct rdmablk_queue *q, unsigned long deadline)
{
	struct rdmablk_waiter *w = q->waiter;

	wait_event_idle_timeout(w->wq, rdmablk_cm_is_done(q) || READ_ONCE(w->cancelled),
				rdmablk_cm_left(deadline));
	if (READ_ONCE(w->cancelled)) {
		q->why = "the connect was given up";
		return -ECANCELED;
	}
	if (rdmablk_cm_is_done(q))
		return q->cm_status;
	q->why = "no answer in time";
	return -ETIMEDOUT;
}

/**
 * rdmablk_cm_start_address() - start to look for the device that leads to a target
 * @q: queue without a connection, or one whose last address step timed out
 * @dst: address of the target, with its port
 * @src: address to connect from, or NULL
 * @ms: time for this step, milliseconds; capped at RDMABLK_RESOLVE_MS
 *
 * After the outcome -ETIMEDOUT the caller may start the step again. After success the id
 * knows its device, @q->cm_id->device, and holds it.
 *
 * Context: may sleep. On error the caller destroys the id.
 *
 * Return: 0: an outcome will follow; or a negative errno, with a text in @q->why.
 */
int rdmablk_cm_start_address(struct rdmablk_queue *q, struct sockaddr *dst,
			     struct sockaddr *src, unsigned int ms)
{
	struct rdma_cm_id *id = q->cm_id;
	int ret;

	if (!id) {
		id = rdma_create_id(&init_net, rdmablk_cm_handler, q, RDMA_PS_TCP, IB_QPT_RC);
		if (IS_ERR(id)) {
			q->why = "cannot create an rdma_cm id";
			return PTR_ERR(id);
		}
		q->cm_id = id;
	}
	WRITE_ONCE(q->cm_pending, true);
	ret = rdma_resolve_addr(id, src, dst, min(ms, RDMABLK_RESOLVE_MS));
	if (!ret)
		return 0;
	rdmablk_cm_unreached(q, ret);
	return q->cm_status;
}

/**
 * rdmablk_cm_ack_timeout() - the retransmit timeout to ask for
 * @q: queue whose device is known
 * @route: what the administrator asks for
 *
 * Return: exponent of the timeout, or RDMABLK_ACK_TIMEOUT_PATH.
 */
u8 rdmablk_cm_ack_timeout(const struct rdmablk_queue *q, const struct rdmablk_cm_route *route)
{
	if (route->ack_timeout != RDMABLK_ACK_TIMEOUT_AUTO)
		return route->ack_timeout;
	return rdma_cap_ib_sa(q->cm_id->device, q->cm_id->port_num) ?
	       RDMABLK_ACK_TIMEOUT_PATH : RDMABLK_DEFAULT_ACK_TIMEOUT;
}

/**
 * rdmablk_cm_longest_ack() - the longest retransmit timeout that a queue pair can get
 * @q: queue with a route
 * @route: what the administrator asks for
 *
 * With a path record, the connection manager adds the delay of the target's adapter and
 * rounds up. We assume that the target's adapter has the same delay as ours.
 *
 * Return: exponent of the timeout.
 */
u8 rdmablk_cm_longest_ack(const struct rdmablk_queue *q, const struct rdmablk_cm_route *route)
{
	u8 ack_timeout = rdmablk_cm_ack_timeout(q, route);
	const struct rdma_cm_id *id = q->cm_id;

	if (ack_timeout != RDMABLK_ACK_TIMEOUT_PATH)
		return ack_timeout;
	/* iWARP has no path record, and no such timeout. */
	if (!id->route.path_rec)
		return RDMABLK_DEFAULT_ACK_TIMEOUT;
	return min_t(u32, RDMABLK_LONGEST_ACK,
		     max_t(u32, id->route.path_rec->packet_life_time + 1,
			   id->device->attrs.local_ca_ack_delay) + 1);
}

/* Called before the route step, because the route depends on both values. */
static void rdmablk_cm_set(struct rdmablk_queue *q, const struct rdmablk_cm_route *route)
{
	u8 ack_timeout = rdmablk_cm_ack_timeout(q, route);

	/* Cannot fail for an RC queue pair that is not connected yet. */
	if (ack_timeout != RDMABLK_ACK_TIMEOUT_PATH)
		rdma_set_ack_timeout(q->cm_id, ack_timeout);
	if (route->tos != RDMABLK_TOS_UNSET)
		rdma_set_service_type(q->cm_id, route->tos);
}

/**
 * rdmablk_cm_start_route() - start to look for the route to a target
 * @q: queue whose address step has succeeded
 * @route: what the administrator asks for
 * @ms: time for this step, milliseconds
 *
 * Context: may sleep. On error the caller destroys the id.
 *
 * Return: 0: an outcome will follow; or a negative errno, with a text in @q->why.
 */
int rdmablk_cm_start_route(struct rdmablk_queue *q, const struct rdmablk_cm_route *route,
			   unsigned int ms)
{
	int ret;

	rdmablk_cm_set(q, route);
	WRITE_ONCE(q->cm_pending, true);
	ret = rdma_resolve_route(q->cm_id, ms);
	if (!ret)
		return 0;
	rdmablk_cm_unreached(q, ret);
	return q->cm_status;
}

/**
 * rdmablk_cm_share_route() - copy the route of another queue between the same addresses
 * @q: queue whose address step has succeeded
 * @route: what the administrator asks for
 * @from: queue that has a route
 * @ms: time for this step, milliseconds
 *
 * On native InfiniBand each route step asks the subnet manager. After a disturbance many
 * hosts with many queues would ask it all at once, so queues copy the route instead. On
 * RoCE a route costs no message, and each queue needs its own: its flow label spreads the
 * queues over links.
 *
 * Context: may sleep. On error the caller destroys the id.
 *
 * Return: 0: the outcome is there or will follow; or a negative errno, with a text in
 * @q->why.
 */
int rdmablk_cm_share_route(struct rdmablk_queue *q, const struct rdmablk_cm_route *route,
			   const struct rdmablk_queue *from, unsigned int ms)
{
	const struct rdma_cm_id *has = from->cm_id;
	struct rdma_cm_id *id = q->cm_id;
	int ret;

	if (!rdma_cap_ib_sa(id->device, id->port_num) || id->device != has->device ||
	    id->port_num != has->port_num || !has->route.path_rec)
		return rdmablk_cm_start_route(q, route, ms);
	rdmablk_cm_set(q, route);
	ret = rdma_set_ib_path(id, has->route.path_rec);
	if (ret)
		q->why = "cannot take the route of the control queue";
	else
		rdmablk_cm_outcome(q, 0, NULL);
	return ret;
}

/**
 * rdmablk_cm_resolve() - find the device and the route to a target
 * @q: control queue without a connection
 * @dst: address of the target, with its port
 * @src: address to connect from, or NULL
 * @route: what the administrator asks for
 * @deadline: in jiffies
 *
 * Context: may sleep. On error the caller destroys the id, if @q has one.
 *
 * Return: 0; or a negative errno, with a text in @q->why.
 */
int rdmablk_cm_resolve(struct rdmablk_queue *q, struct sockaddr *dst,
		       struct sockaddr *src, const struct rdmablk_cm_route *route,
		       unsigned long deadline)
{
	unsigned int ms;
	int ret;

	do {
		ms = jiffies_to_msecs(rdmablk_cm_left(deadline));
		ret = rdmablk_cm_start_address(q, dst, src, ms);
		if (ret)
			return ret;
		ret = rdmablk_cm_wait(q, deadline);
	} while (ret == -ETIMEDOUT && time_before(jiffies, deadline));
	if (!ret)
		ret = rdmablk_cm_start_route(q, route, ms);
	return ret ?: rdmablk_cm_wait(q, deadline);
}

/**
 * rdmablk_cm_start_connect() - send a connection request
 * @q: queue with a queue pair
 * @req: private data, of one version; need not outlive the call
 * @read_depth: RDMA READs to have in flight, not more than the device can do
 *
 * The target may send no READ or atomic of its own (responder_resources 0). When the target
 * refuses, @q->cm_reason holds its reason.
 *
 * Context: may sleep.
 *
 * Return: 0: an outcome will follow; or a negative errno, with a text in @q->why.
 */
int rdmablk_cm_start_connect(struct rdmablk_queue *q,
			     const struct rdmablk_cm_request *req, u8 read_depth)
{
	struct rdma_conn_param param = {
		.private_data		= req,
		.private_data_len	= sizeof(*req),
		.responder_resources	= 0,
		.initiator_depth	= read_depth,
		.retry_count		= RDMABLK_RETRY_COUNT,
		.rnr_retry_count	= RDMABLK_RNR_RETRY,
	};
	int ret;

	q->version = le16_to_cpu(req->version_max);
	WRITE_ONCE(q->cm_pending, true);
	ret = rdma_connect(q->cm_id, &param);
	if (ret)
		q->why = "cannot send a connection request";
	return ret;
}

/**
 * rdmablk_cm_destroy() - destroy the id; may be called twice
 * @q: queue without a queue pair
 *
 * This function waits for a running event handler, so an event handler must not call it.
 * Afterwards the queue holds no reference to an RDMA device.
 */
void rdmablk_cm_destroy(struct rdmablk_queue *q)
{
	struct rdma_cm_id *id = q->cm_id;

	if (!id)
		return;
	rdma_destroy_id(id);
	q->cm_id = NULL;
	q->connected = false;
}
