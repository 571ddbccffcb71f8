/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_CLIENT_CONN_H
#define RDMABLK_TOOLS_CLIENT_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#include "nl.h"
#include "rdmablk_proto.h"

/**
 * struct client_conn - a control queue to a target; zeroed memory: none
 * @channel: channel of connection events
 * @id: CM id of the connection
 * @pd: protection domain of @mr
 * @comp: completion channel of @cq
 * @cq: completion queue of receives and sends
 * @mr: registration of @buf, local rights only
 * @buf: RDMABLK_CTRL_RECVS receive buffers, as many send buffers
 * @requests: READs and WRITEs that may be under way at once, set before client_conn_open()
 * @stop: set by a signal: no wait lasts longer than a second from then on; NULL: none, set
 *	before client_conn_open()
 * @hurried: @deadline takes account of @stop already
 * @sends: number of sends posted
 * @qpn: number of the target's queue pair
 * @reason: reason of the target's reject, enum rdmablk_reason; 0: no reject of an rdmablk target
 * @version_max: highest version that the target's reject names
 * @up: the target has accepted
 * @gone: the connection is lost
 * @deadline: end of all waits, of CLOCK_MONOTONIC, ms
 */
struct client_conn {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	__u8 *buf;
	unsigned int requests;
	const atomic_bool *stop;
	bool hurried;
	unsigned int sends;
	__u32 qpn;
	unsigned int reason;
	unsigned int version_max;
	bool up;
	bool gone;
	__s64 deadline;
};

/**
 * struct client_conn_request - a READ or WRITE of the target's memory
 * @write: WRITE, else READ
 * @id: id of its completion, below @requests of the connection
 * @local: memory of this host
 * @bytes: how many
 * @lkey: of @local
 * @remote: address at the target
 * @rkey: of @remote
 */
struct client_conn_request {
	bool write;
	unsigned int id;
	const void *local;
	__u32 bytes;
	__u32 lkey;
	__u64 remote;
	__u32 rkey;
};

/**
 * struct client_conn_event - what client_conn_done() has waited for
 * @message: a message has come; else a READ or WRITE is done
 * @len: bytes of the message, RDMABLK_CTRL_MSG_MAX at most; perhaps 0
 * @id: of the READ or WRITE
 */
struct client_conn_event {
	bool message;
	size_t len;
	unsigned int id;
};

void client_conn_deadline(struct client_conn *conn, unsigned int ms);
int client_conn_open(struct client_conn *conn, const struct sockaddr *target,
		     const struct rdmablk_cm_request *request, struct nl_failure *failure);
int client_conn_send(struct client_conn *conn, const void *msg, size_t len,
		     struct nl_failure *failure);
int client_conn_receive(struct client_conn *conn, __u8 msg[RDMABLK_CTRL_MSG_MAX],
			struct nl_failure *failure);
int client_conn_post(struct client_conn *conn, const struct client_conn_request *request,
		     struct nl_failure *failure);
int client_conn_done(struct client_conn *conn, struct client_conn_event *event,
		     __u8 msg[RDMABLK_CTRL_MSG_MAX], struct nl_failure *failure);
void client_conn_hang_up(struct client_conn *conn);
void client_conn_close(struct client_conn *conn);

#endif /* RDMABLK_TOOLS_CLIENT_CONN_H */
