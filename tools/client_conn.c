// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The connection of a visit: one queue pair, made by rdma_cm, that SENDs and receives, and
 * READs and WRITEs what the target lends. The target gets no right to any memory of this host.
 * Every wait ends with the deadline.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_conn.h"
#include "times.h"
#include "util.h"

#define BUFFERS		RDMABLK_CTRL_RECVS
#define BUF_BYTES	(2 * BUFFERS * RDMABLK_CTRL_MSG_MAX)
#define RETRIES		6	/* of the transport; 7 would be for ever on rxe */
#define SEND_ID		BUFFERS	/* work request id of sends */
#define REQUEST_ID	0x10000	/* and of the first READ or WRITE */
#define SPIN_NS		50000	/* a sleep makes the answer of a fast adapter look late */
#define STOP_MS		1000	/* patience with a target when the user has none */
#define SLICE_MS	200	/* a signal just before a sleep does not end it */
#define REJECT_NOBODY	8	/* of rdma_cm: invalid service id */
#define REJECT_CONSUMER	28	/* of rdma_cm: by the program that listens */

static int fail_errno(struct nl_failure *failure, const char *what)
{
	/* of this host: the target's refusal is EACCES */
	int err = errno == EACCES ? EPERM : errno;

	return nl_fail(failure, err, "%s: %s", what, strerror(err));
}

static __s64 now_ms(void)
{
	return times_now() / 1000000;
}

static bool stopped(const struct client_conn *conn)
{
	return conn->stop && atomic_load(conn->stop);
}

/**
 * client_conn_deadline() - bounds all that follows
 * @conn: connection
 * @ms: from now on; with @conn->stop set one second at most
 */
void client_conn_deadline(struct client_conn *conn, unsigned int ms)
{
	conn->hurried = stopped(conn);
	conn->deadline = now_ms() + (conn->hurried && ms > STOP_MS ? STOP_MS : ms);
}

static int left_ms(struct client_conn *conn)
{
	__s64 left;

	if (!conn->hurried && stopped(conn)) {
		left = conn->deadline - now_ms();
		client_conn_deadline(conn, left < 0 ? 0 : left);
	}
	left = conn->deadline - now_ms();
	return left > 0 ? left : 0;
}

static int slice_ms(struct client_conn *conn)
{
	int left = left_ms(conn);

	return left < SLICE_MS ? left : SLICE_MS;
}

static int too_late(struct client_conn *conn, struct nl_failure *failure)
{
	if (stopped(conn))
		return nl_fail(failure, EINTR, "interrupted before the target has answered");
	return nl_fail(failure, ETIMEDOUT, "the target does not answer");
}

/*
 * Connection events
 */

static void take_reject(struct client_conn *conn, const struct rdma_cm_event *event,
			struct nl_failure *failure)
{
	struct rdmablk_cm_reject reject;

	if (event->param.conn.private_data_len >= sizeof(reject)) {
		memcpy(&reject, event->param.conn.private_data, sizeof(reject));
		if (le32toh(reject.magic) == RDMABLK_MAGIC) {
			conn->reason = le16toh(reject.reason);
			conn->version_max = le16toh(reject.version_max);
			nl_fail(failure, ECONNREFUSED, "%s", rdmablk_reason_text(conn->reason));
			return;
		}
	}
	if (event->status == REJECT_NOBODY)
		nl_fail(failure, ECONNREFUSED, "nobody listens on this port");
	else if (event->status == REJECT_CONSUMER)
		nl_fail(failure, ECONNREFUSED, "the peer refuses, but is not an rdmablk target");
	else
		nl_fail(failure, ECONNREFUSED, "the peer refuses (status %d of rdma_cm)",
			event->status);
}

static int take_accept(struct client_conn *conn, const struct rdma_cm_event *event,
		       const struct rdmablk_cm_request *request, struct nl_failure *failure)
{
	struct rdmablk_cm_accept accept = { 0 };
	size_t len = event->param.conn.private_data_len;

	if (len >= sizeof(accept))
		memcpy(&accept, event->param.conn.private_data, sizeof(accept));
	conn->qpn = event->param.conn.qp_num;
	conn->up = true;
	if (le32toh(accept.magic) != RDMABLK_MAGIC)
		return nl_fail(failure, EPROTO,
			       "the peer accepts, but is not an rdmablk target");
	if (accept.version != request->version_max || accept.queue || accept.reserved)
		return nl_fail(failure, EPROTO, "the target's accept is malformed");
	return 0;
}

static int take_event(struct client_conn *conn, const struct rdma_cm_event *event,
		      const struct rdmablk_cm_request *request, struct nl_failure *failure)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		return take_accept(conn, event, request, failure);
	case RDMA_CM_EVENT_REJECTED:
		take_reject(conn, event, failure);
		return -1;
	case RDMA_CM_EVENT_DISCONNECTED:
		return nl_fail(failure, ECONNRESET, "the target has closed the connection");
	case RDMA_CM_EVENT_ADDR_ERROR:
		return nl_fail(failure, event->status == -ETIMEDOUT ? ETIMEDOUT : EHOSTUNREACH,
			       "no RDMA device of this host leads there: %s",
			       strerror(abs(event->status)));
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return nl_fail(failure, EHOSTUNREACH, "the target does not answer: %s",
			       strerror(abs(event->status)));
	default:
		return nl_fail(failure, EIO, "%s", rdma_event_str(event->event));
	}
}

/* Waits for the next event. Returns 0 after one of success, or -1. */
static int await(struct client_conn *conn, const struct rdmablk_cm_request *request,
		 struct nl_failure *failure)
{
	struct pollfd fd = { .fd = conn->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int ret;

	do {
		ret = poll(&fd, 1, slice_ms(conn));
	} while (ret <= 0 && left_ms(conn));
	if (ret <= 0)
		return too_late(conn, failure);
	if (rdma_get_cm_event(conn->channel, &event))
		return fail_errno(failure, "rdma_cm");
	ret = take_event(conn, event, request, failure);
	rdma_ack_cm_event(event);
	return ret;
}

/*
 * The queue pair
 */

static __u8 *recv_buffer(const struct client_conn *conn, unsigned int index)
{
	return conn->buf + index * RDMABLK_CTRL_MSG_MAX;
}

static int post_recv(struct client_conn *conn, unsigned int index)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)recv_buffer(conn, index),
		.length = RDMABLK_CTRL_MSG_MAX,
		.lkey = conn->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = index, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(conn->id->qp, &wr, &bad);
}

static int make_queue(struct client_conn *conn, struct nl_failure *failure)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = BUFFERS + conn->requests,
			.max_recv_wr = BUFFERS,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	unsigned int i;

	conn->pd = ibv_alloc_pd(conn->id->verbs);
	conn->comp = ibv_create_comp_channel(conn->id->verbs);
	conn->buf = calloc(1, BUF_BYTES);
	if (!conn->pd || !conn->comp || !conn->buf)
		return fail_errno(failure, "the RDMA device has no room");
	conn->mr = ibv_reg_mr(conn->pd, conn->buf, BUF_BYTES, IBV_ACCESS_LOCAL_WRITE);
	conn->cq = ibv_create_cq(conn->id->verbs, 2 * BUFFERS + (int)conn->requests, NULL,
				 conn->comp, 0);
	if (!conn->mr || !conn->cq)
		return fail_errno(failure, "the RDMA device has no room");
	attr.send_cq = conn->cq;
	attr.recv_cq = conn->cq;
	if (rdma_create_qp(conn->id, conn->pd, &attr))
		return fail_errno(failure, "the RDMA device makes no queue pair");
	for (i = 0; i < BUFFERS; i++)
		if (post_recv(conn, i))
			return nl_fail(failure, EIO, "a receive cannot be posted");
	return 0;
}

static int resolve(struct client_conn *conn, const struct sockaddr *target,
		   const struct rdmablk_cm_request *request, struct nl_failure *failure)
{
	conn->channel = rdma_create_event_channel();
	if (!conn->channel)
		return fail_errno(failure, "rdma_cm cannot be used (modprobe rdma_ucm)");
	if (rdma_create_id(conn->channel, &conn->id, NULL, RDMA_PS_TCP))
		return fail_errno(failure, "rdma_cm");
	if (rdma_resolve_addr(conn->id, NULL, (struct sockaddr *)target, left_ms(conn)))
		return fail_errno(failure, "no RDMA device of this host leads there");
	if (await(conn, request, failure))
		return -1;
	if (rdma_resolve_route(conn->id, left_ms(conn)))
		return fail_errno(failure, "there is no path to the target");
	return await(conn, request, failure);
}

/**
 * client_conn_open() - connects to a target
 * @conn: zeroed but for its deadline and @requests; to be closed in any case
 * @target: address and port
 * @request: private data, of one version
 * @failure: why it was not possible; @conn has the reason that the target gave
 *
 * Returns 0 or -1.
 */
int client_conn_open(struct client_conn *conn, const struct sockaddr *target,
		     const struct rdmablk_cm_request *request, struct nl_failure *failure)
{
	struct rdma_conn_param param = {
		.private_data = request,
		.private_data_len = sizeof(*request),
		.retry_count = RETRIES,
		.rnr_retry_count = RETRIES,
		/* as many as the device can have; the target says how many it answers */
		.initiator_depth = conn->requests ? RDMA_MAX_INIT_DEPTH : 0,
	};

	if (resolve(conn, target, request, failure) || make_queue(conn, failure))
		return -1;
	if (rdma_connect(conn->id, &param))
		return fail_errno(failure, "rdma_cm");
	return await(conn, request, failure);
}

/*
 * Messages
 */

/*
 * A target may end the key of the memory that it lends before its CLOSE has arrived. The adapter
 * then refuses a request under way, which breaks the connection, and the reason does not arrive.
 */
static int lost(struct client_conn *conn, const struct ibv_wc *wc, struct nl_failure *failure)
{
	conn->gone = true;
	if (wc->status == IBV_WC_REM_ACCESS_ERR)
		return nl_fail(failure, ECONNRESET,
			       "the target has taken its memory back, which ends the visit");
	return nl_fail(failure, wc->status == IBV_WC_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET,
		       "the connection is lost: %s", ibv_wc_status_str(wc->status));
}

/* Returns 1 with a completion, 0 when there is none yet, or -1. */
static int next_completion(struct client_conn *conn, struct ibv_wc *wc,
			   struct nl_failure *failure)
{
	int nr = ibv_poll_cq(conn->cq, 1, wc);

	if (nr < 0)
		return nl_fail(failure, EIO, "the completion queue cannot be read");
	return nr && wc->status ? lost(conn, wc, failure) : nr;
}

/* The same, but polls for SPIN_NS, because an answer may come within microseconds. */
static int spin(struct client_conn *conn, struct ibv_wc *wc, struct nl_failure *failure)
{
	__u64 until = times_now() + SPIN_NS;
	int ret;

	do {
		ret = next_completion(conn, wc, failure);
	} while (!ret && times_now() < until);
	return ret;
}

/* Waits a little for a completion, or for the end of the connection. */
static int await_completion(struct client_conn *conn, struct nl_failure *failure)
{
	struct pollfd fds[] = {
		{ .fd = conn->comp->fd, .events = POLLIN },
		{ .fd = conn->channel->fd, .events = POLLIN },
	};
	struct ibv_cq *cq;
	void *context;
	int ret = poll(fds, ARRAY_SIZE(fds), slice_ms(conn));

	if (!ret || (ret < 0 && errno == EINTR))
		return 0;
	if (ret < 0)
		return fail_errno(failure, "poll");
	if (fds[0].revents) {
		if (ibv_get_cq_event(conn->comp, &cq, &context))
			return fail_errno(failure, "the completion queue");
		ibv_ack_cq_events(cq, 1);
		return 0;
	}
	conn->gone = true;
	return nl_fail(failure, ECONNRESET, "the target has closed the connection");
}

/* Returns 0 with the next completion, or -1. */
static int completion(struct client_conn *conn, struct ibv_wc *wc, struct nl_failure *failure)
{
	int ret;

	for (;;) {
		/* A target that sends without pause must not hold the tool. */
		if (!left_ms(conn)) {
			conn->gone = true;
			return too_late(conn, failure);
		}
		ret = spin(conn, wc, failure);
		if (ret)
			return ret > 0 ? 0 : -1;
		if (ibv_req_notify_cq(conn->cq, 0))
			return nl_fail(failure, EIO, "the completion queue tells of nothing");
		/* A completion that came before ibv_req_notify_cq() makes no event. */
		ret = next_completion(conn, wc, failure);
		if (ret)
			return ret > 0 ? 0 : -1;
		if (await_completion(conn, failure))
			return -1;
	}
}

/**
 * client_conn_send() - sends a message
 * @conn: open
 * @msg: copied
 * @len: bytes, RDMABLK_CTRL_MSG_MAX at most
 * @failure: why it was not possible
 *
 * Each message is answered before the next but one: the send buffers are used in turn.
 *
 * Returns 0 or -1.
 */
int client_conn_send(struct client_conn *conn, const void *msg, size_t len,
		     struct nl_failure *failure)
{
	__u8 *place = recv_buffer(conn, BUFFERS + conn->sends++ % BUFFERS);
	struct ibv_sge sge = {
		.addr = (uintptr_t)place,
		.length = len,
		.lkey = conn->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = SEND_ID,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	memcpy(place, msg, len);
	if (ibv_post_send(conn->id->qp, &wr, &bad))
		return nl_fail(failure, ECONNRESET, "a message cannot be sent");
	return 0;
}

/*
 * Copies a message. Returns its bytes, perhaps 0; or -1. A WRITE WITH IMMEDIATE completes a
 * receive, too, with the length of the WRITE and without a byte in the buffer.
 */
static int take_message(struct client_conn *conn, const struct ibv_wc *wc,
			__u8 msg[RDMABLK_CTRL_MSG_MAX], struct nl_failure *failure)
{
	int len = wc->byte_len;

	if (wc->opcode != IBV_WC_RECV || wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) ||
	    wc->byte_len > RDMABLK_CTRL_MSG_MAX)
		return nl_fail(failure, EPROTO,
			       "the target has sent something else than a message");
	memcpy(msg, recv_buffer(conn, wc->wr_id), len);
	if (post_recv(conn, wc->wr_id))
		return nl_fail(failure, ECONNRESET, "a receive cannot be posted");
	return len;
}

/**
 * client_conn_receive() - waits for a message
 * @conn: open
 * @msg: copy of the message
 * @failure: why none came
 *
 * Returns its bytes, or -1.
 */
int client_conn_receive(struct client_conn *conn, __u8 msg[RDMABLK_CTRL_MSG_MAX],
			struct nl_failure *failure)
{
	struct ibv_wc wc = { 0 };

	do {
		if (completion(conn, &wc, failure))
			return -1;
	} while (wc.wr_id >= SEND_ID);
	return take_message(conn, &wc, msg, failure);
}

/**
 * client_conn_post() - begins a READ or WRITE
 * @conn: open, with less than @requests of them under way
 * @request: what is read or written
 * @failure: why it was not possible
 *
 * Returns 0 or -1.
 */
int client_conn_post(struct client_conn *conn, const struct client_conn_request *request,
		     struct nl_failure *failure)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)request->local,
		.length = request->bytes,
		.lkey = request->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = REQUEST_ID + request->id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = request->write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = request->remote, .rkey = request->rkey },
	}, *bad;

	if (ibv_post_send(conn->id->qp, &wr, &bad))
		return nl_fail(failure, ECONNRESET, "a request cannot be posted");
	return 0;
}

/**
 * client_conn_done() - waits for a READ or WRITE, or for a message
 * @conn: open, with a READ or WRITE under way
 * @event: set with 0: what has come
 * @msg: copy of the message
 * @failure: why nothing has come
 *
 * Returns 0 or -1.
 */
int client_conn_done(struct client_conn *conn, struct client_conn_event *event,
		     __u8 msg[RDMABLK_CTRL_MSG_MAX], struct nl_failure *failure)
{
	struct ibv_wc wc = { 0 };
	int len;

	do {
		if (completion(conn, &wc, failure))
			return -1;
	} while (wc.wr_id == SEND_ID);
	if (wc.wr_id >= REQUEST_ID) {
		*event = (struct client_conn_event){ .id = wc.wr_id - REQUEST_ID };
		return 0;
	}
	len = take_message(conn, &wc, msg, failure);
	if (len < 0)
		return -1;
	*event = (struct client_conn_event){ .message = true, .len = len };
	return 0;
}

/**
 * client_conn_hang_up() - ends a connection, and with it all that is under way
 * @conn: open, or what client_conn_open() has made of it; client_conn_close() is due
 */
void client_conn_hang_up(struct client_conn *conn)
{
	if (conn->up)
		rdma_disconnect(conn->id);
	conn->up = false;
	if (conn->id && conn->id->qp)
		rdma_destroy_qp(conn->id);
}

/**
 * client_conn_close() - ends a connection
 * @conn: open, or what client_conn_open() has made of it
 */
void client_conn_close(struct client_conn *conn)
{
	client_conn_hang_up(conn);
	if (conn->cq)
		ibv_destroy_cq(conn->cq);
	if (conn->comp)
		ibv_destroy_comp_channel(conn->comp);
	if (conn->mr)
		ibv_dereg_mr(conn->mr);
	if (conn->pd)
		ibv_dealloc_pd(conn->pd);
	if (conn->id)
		rdma_destroy_id(conn->id);
	if (conn->channel)
		rdma_destroy_event_channel(conn->channel);
	free(conn->buf);
	*conn = (struct client_conn){ 0 };
}
