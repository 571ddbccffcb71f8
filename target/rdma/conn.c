// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One queue. conn_open(), conn_close() and conn_destroy() may block and run in workers;
 * the memory of a conn is its owner's to free, in the loop, after conn_destroy():
 * until then the loop may hold an event of it.
 */
#include <errno.h>

#include "base/log.h"
#include "base/util.h"
#include "rdma/conn.h"
#include "rdma/device.h"
#include "wire/wire.h"

static void conn_cm_event(struct cm_handler *handler, const struct cm_event *ev)
{
	struct conn *conn = container_of(handler, struct conn, cm);

	switch (ev->type) {
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		conn->event(conn, CONN_REMOVED);
		return;
	default:
		conn->event(conn, CONN_LOST);
		return;
	}
}

static void conn_qp_failed(struct qp_handler *handler, bool access)
{
	struct conn *conn = container_of(handler, struct conn, qp);

	conn->event(conn, access ? CONN_ACCESS : CONN_FAILED);
}

/* A message overtook the last step of the handshake, or that step was lost. */
static void conn_qp_established(struct qp_handler *handler)
{
	struct conn *conn = container_of(handler, struct conn, qp);

	if (conn->id)	/* or the device has kept a queue pair that is over */
		rdma_notify(conn->id, IBV_EVENT_COMM_EST);
}

/**
 * conn_create - a queue for a connection request
 * @id: of the request; the queue's from now on
 * @owner: the session
 * @queue: its number
 * @event: upcall
 *
 * Return: the queue, or NULL and @id is still the caller's.
 */
struct conn *conn_create(struct rdma_cm_id *id, void *owner, uint16_t queue,
			 void (*event)(struct conn *, enum conn_event))
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->cm.event = conn_cm_event;
	conn->qp.failed = conn_qp_failed;
	conn->qp.established = conn_qp_established;
	conn->id = id;
	conn->owner = owner;
	conn->queue = queue;
	conn->event = event;
	id->context = &conn->cm;
	return conn;
}

/*
 * What librdmacm does for a queue pair that it knows, but for the rights: those of
 * rdma_cm let every queue write.
 */
static int conn_modify(struct conn *conn, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(conn->id, &attr, &mask))
		return -errno;
	if (state == IBV_QPS_INIT)
		attr.qp_access_flags = conn->wish.access;
	else if (state == IBV_QPS_RTR)
		attr.max_dest_rd_atomic = conn->wish.resources;
	else
		attr.max_rd_atomic = 0;		/* it READs nothing */
	return -ibv_modify_qp(conn->pair, &attr, mask);
}

/**
 * conn_open - make the queue pair, ready to be used once the connection is accepted
 * @conn: without one, with @wish
 *
 * May block; for workers. After an error, too, there may be a queue pair.
 *
 * Return: 0; DEVICE_FULL; or -errno.
 */
int conn_open(struct conn *conn)
{
	const struct conn_wish *wish = &conn->wish;
	struct ibv_qp_init_attr attr = {
		.qp_context = &conn->qp,
		.send_cq = wish->cq,
		.recv_cq = wish->cq,
		.cap = {
			.max_send_wr = wish->caps.sends,
			.max_recv_wr = wish->caps.recvs,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	conn->pair = ibv_create_qp(wish->pd, &attr);
	if (!conn->pair)
		return device_queue_error();
	return conn_modify(conn, IBV_QPS_INIT) ?: conn_modify(conn, IBV_QPS_RTR) ?:
	       conn_modify(conn, IBV_QPS_RTS);
}

/**
 * conn_accept - accept the connection
 * @conn: opened
 * @data: private data
 * @len: bytes of @data
 *
 * librdmacm never knows the queue pair. Of one that it knows rdma_get_cm_event() itself
 * modifies the state, in the loop, when the connection is rejected; and a worker may be
 * destroying it, or have destroyed it.
 *
 * Loop thread.
 *
 * Return: 0 or -errno.
 */
int conn_accept(struct conn *conn, const void *data, size_t len)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = (uint8_t)len,
		.responder_resources = conn->wish.resources,
		.initiator_depth = 0,
		.flow_control = 1,
		.rnr_retry_count = 7,
		.qp_num = conn->pair->qp_num,
	};

	return rdma_accept(conn->id, &param) ? -errno : 0;
}

/**
 * conn_close - destroy the queue pair; nothing of the peer's lands afterwards
 * @conn: with a queue pair or without
 *
 * Blocks; for workers. Not rdma_destroy_qp(), which hides failure: a fence that
 * did not happen must not look like one.
 *
 * Return: 0 or -errno.
 */
int conn_close(struct conn *conn)
{
	int ret = conn->pair ? ibv_destroy_qp(conn->pair) : 0;

	if (!ret)
		conn->pair = NULL;
	return -ret;
}

/**
 * conn_guard - post the one receive of a data queue
 * @conn: opened
 * @wr_id: of its completion
 * @sge: into which nothing should ever be received
 *
 * The receive is how a queue pair that fails
 * says so: it is flushed. Not every device tells of that by an event.
 *
 * Return: 0 or -errno.
 */
int conn_guard(struct conn *conn, uint64_t wr_id, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return -ibv_post_recv(conn->pair, &wr, &bad);
}

/**
 * conn_destroy - end the connection and destroy the CM id
 * @conn: its memory is the owner's to free
 *
 * Blocks; for workers.
 */
void conn_destroy(struct conn *conn)
{
	if (conn_close(conn))
		log_err("queue %u: cannot be destroyed", conn->queue);
	rdma_destroy_id(conn->id);
	conn->id = NULL;
}

/**
 * conn_failure - what a failed completion of a queue with commands means
 * @wc: it
 * @receive: of a receive
 *
 * A flush is the device's answer to a request it refused, or to the end of the
 * connection, which the connection manager tells us by itself: nothing of ours puts a
 * live session's queue pair in error.
 *
 * Return: why the session must end.
 */
unsigned int conn_failure(const struct ibv_wc *wc, bool receive)
{
	if (wc->status == IBV_WC_LOC_LEN_ERR)
		return RDMABLK_R_MALFORMED;
	if (wc->status == IBV_WC_WR_FLUSH_ERR || receive)
		return RDMABLK_R_ACCESS;
	return RDMABLK_R_CONNECTION;
}

static void reject(struct rdma_cm_id *id, unsigned int reason, uint16_t version)
{
	struct rdmablk_cm_reject data;

	wire_pack_reject(&data, reason, version);
	rdma_reject(id, &data, sizeof(data));
}

/**
 * conn_refuse - refuse a connection request that has a queue
 * @conn: not accepted; conn_destroy() is due
 * @reason: enum rdmablk_reason
 * @version: that of the daemon
 */
void conn_refuse(struct conn *conn, unsigned int reason, uint16_t version)
{
	reject(conn->id, reason, version);
}

/**
 * conn_reject - refuse a connection request
 * @id: of the request; destroyed
 * @reason: enum rdmablk_reason
 * @version: that of the daemon
 */
void conn_reject(struct rdma_cm_id *id, unsigned int reason, uint16_t version)
{
	reject(id, reason, version);
	rdma_destroy_id(id);
}
