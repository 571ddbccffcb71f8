// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One queue. conn_open(), conn_close() and conn_destroy() may block and run in workers. The
 * owner frees the memory of a conn in the loop, after conn_destroy(): until then the loop
 * may hold an event of the conn.
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

/* A message has overtaken the last step of the handshake, or that step was lost. */
static void conn_qp_established(struct qp_handler *handler)
{
	struct conn *conn = container_of(handler, struct conn, qp);

	if (conn->id)	/* or the device has kept a queue pair that is over */
		rdma_notify(conn->id, IBV_EVENT_COMM_EST);
}

/**
 * conn_create - make a queue for a connection request
 * @id: id of the request; the queue owns it from now on
 * @owner: the session
 * @queue: number of the queue
 * @event: upcall
 *
 * Return: the queue; or NULL, and the caller still owns @id.
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
 * Does what librdmacm does for a queue pair that it knows, but sets other rights: rdma_cm
 * would let the initiator write by every queue.
 */
static int conn_modify(struct conn *conn, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(conn->id, &attr, &mask))
		return -errno;
	if (state == IBV_QPS_INIT)
		attr.qp_access_flags = conn->setup.access;
	else if (state == IBV_QPS_RTR)
		attr.max_dest_rd_atomic = conn->setup.resources;
	else
		attr.max_rd_atomic = 0;		/* it READs nothing */
	return -ibv_modify_qp(conn->pair, &attr, mask);
}

/**
 * conn_open - make the queue pair, ready to be used once the connection is accepted
 * @conn: queue without a queue pair, with @setup
 *
 * May block; for workers. There may be a queue pair even after an error.
 *
 * Return: 0; DEVICE_FULL; or -errno.
 */
int conn_open(struct conn *conn)
{
	const struct conn_setup *setup = &conn->setup;
	struct ibv_qp_init_attr attr = {
		.qp_context = &conn->qp,
		.send_cq = setup->cq,
		.recv_cq = setup->cq,
		.cap = {
			.max_send_wr = setup->caps.sends,
			.max_recv_wr = setup->caps.recvs,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	conn->pair = ibv_create_qp(setup->pd, &attr);
	if (!conn->pair)
		return device_queue_error();
	return conn_modify(conn, IBV_QPS_INIT) ?: conn_modify(conn, IBV_QPS_RTR) ?:
	       conn_modify(conn, IBV_QPS_RTS);
}

/**
 * conn_permit - change what the initiator may do on a queue
 * @conn: opened, not closed
 * @access: IBV_ACCESS_REMOTE_*, from now on
 *
 * May block; for workers.
 *
 * Return: 0 or -errno.
 */
int conn_permit(struct conn *conn, unsigned int access)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .qp_access_flags = access };

	return -ibv_modify_qp(conn->pair, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
}

/**
 * conn_accept - accept the connection
 * @conn: opened
 * @data: private data
 * @len: bytes of @data
 *
 * librdmacm never knows the queue pair. It would change the state of a queue pair that it
 * knows, inside rdma_get_cm_event() in the loop, when the connection is rejected. A worker may
 * be destroying the queue pair at that moment, or have destroyed it.
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
		.responder_resources = conn->setup.resources,
		.initiator_depth = 0,
		.flow_control = 1,
		.rnr_retry_count = 7,
		.qp_num = conn->pair->qp_num,
	};

	return rdma_accept(conn->id, &param) ? -errno : 0;
}

/**
 * conn_close - destroy the queue pair; no packet of the peer lands afterwards
 * @conn: with a queue pair or without
 *
 * Blocks; for workers. Does not call rdma_destroy_qp(), which hides a failure: a fence that
 * failed must not look like a success.
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
 * @wr_id: id of the receive's completion
 * @sge: memory of the receive; nothing should ever arrive there
 *
 * When the queue pair fails, the device flushes the receive, and its completion tells the
 * daemon. Not every device also sends an event.
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
 * @conn: queue; the owner frees its memory
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
 * conn_failure - why a completion of a queue with commands has failed
 * @wc: the failed completion
 * @receive: the completion is that of a receive
 *
 * The daemon itself never puts the queue pair of a live session in error. So the device
 * flushes because it has refused a request of the peer, or because the connection has ended.
 * The connection manager reports the latter by itself.
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
 * conn_refuse - refuse a connection request for which there is a queue
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
 * @id: CM id of the request; is destroyed
 * @reason: enum rdmablk_reason
 * @version: that of the daemon
 */
void conn_reject(struct rdma_cm_id *id, unsigned int reason, uint16_t version)
{
	reject(id, reason, version);
	rdma_destroy_id(id);
}
