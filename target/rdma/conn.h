/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One queue: a CM id and its queue pair.
 */
#ifndef RDMABLKD_CONN_H
#define RDMABLKD_CONN_H

#include "base/worker.h"
#include "rdma/cm.h"
#include "rdma/device.h"
#include "uapi/rdmablk_proto.h"

/**
 * enum conn_event - what a queue tells its owner
 * @CONN_LOST: the connection is over
 * @CONN_FAILED: the queue pair is in error
 * @CONN_ACCESS: the peer went where it may not
 * @CONN_REMOVED: its device is being removed
 */
enum conn_event {
	CONN_LOST,
	CONN_FAILED,
	CONN_ACCESS,
	CONN_REMOVED,
};

/**
 * struct conn_caps - number of work requests that a queue pair has room for
 * @sends: sends
 * @recvs: receives
 */
struct conn_caps {
	uint32_t sends;
	uint32_t recvs;
};

/**
 * struct conn_setup - what a queue pair is made with
 * @pd: of the session
 * @cq: for sends and receives
 * @caps: numbers of work requests
 * @access: what the initiator may do on the queue pair, IBV_ACCESS_REMOTE_*, until conn_permit()
 * @resources: READs in flight that the queue pair answers
 */
struct conn_setup {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct conn_caps caps;
	unsigned int access;
	uint8_t resources;
};

/**
 * struct conn - one queue
 * @cm: handler of @id
 * @qp: handler of @pair
 * @id: CM id, which the queue owns. librdmacm does not know @pair: see conn_accept()
 * @pair: the queue pair, from conn_open() to conn_close()
 * @owner: the session
 * @queue: number of the queue
 * @qpn: number of the initiator's queue pair
 * @mac: MAC of the connection request
 * @setup: for conn_open()
 * @job: for the owner: makes @pair in a worker
 * @error: result of @job: 0; DEVICE_FULL; or -errno
 * @event: upcall to the owner, in the loop
 */
struct conn {
	struct cm_handler cm;
	struct qp_handler qp;
	struct rdma_cm_id *id;
	struct ibv_qp *pair;
	void *owner;
	uint16_t queue;
	uint32_t qpn;
	uint8_t mac[RDMABLK_MAC_LEN];
	struct conn_setup setup;
	struct job job;
	int error;
	void (*event)(struct conn *conn, enum conn_event event);
};

struct conn *conn_create(struct rdma_cm_id *id, void *owner, uint16_t queue,
			 void (*event)(struct conn *, enum conn_event));
int conn_open(struct conn *conn);
int conn_permit(struct conn *conn, unsigned int access);
int conn_accept(struct conn *conn, const void *data, size_t len);
int conn_guard(struct conn *conn, uint64_t wr_id, struct ibv_sge *sge);
int conn_close(struct conn *conn);
void conn_destroy(struct conn *conn);
unsigned int conn_failure(const struct ibv_wc *wc, bool receive);
void conn_refuse(struct conn *conn, unsigned int reason, uint16_t version);
void conn_reject(struct rdma_cm_id *id, unsigned int reason, uint16_t version);

#endif
