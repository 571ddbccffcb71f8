// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One end of all queue pairs: the near one, which writes and reads, or the far one, whose
 * memory is written and read. In loopback both are in this process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "ordering.h"

#define PSN_MASK	0xffffffU	/* numbers of packets have 24 bits */

/*
 * A lost packet is sent again after 4.096 us * 2^14, about 67 ms, and 6 times at most.
 * The next value, 7, means "for ever" to Soft-RoCE.
 */
#define ACK_TIMEOUT	14
#define RETRIES		6
#define RNR_TIMER	12
#define HOP_LIMIT	64

static int cannot(const struct end *end, const char *what, int err)
{
	const char *hint = "";

	if (err == ENOMEM || err == EPERM)
		hint = " (the device may be full, or ulimit -l, locked memory, too low)";
	return report_failure(end->port->name, "cannot %s: %s%s", what, strerror(err), hint);
}

static int open_memory(struct end *end, int access)
{
	char what[48];
	void *memory;

	snprintf(what, sizeof(what), "allocate %zu bytes", end->bytes);
	if (posix_memalign(&memory, sysconf(_SC_PAGESIZE), end->bytes))
		return cannot(end, what, ENOMEM);
	memset(memory, 0, end->bytes);
	end->memory = memory;
	/* Relaxed ordering is a hint: verbs drop the flag if the device lacks it. */
	end->mr = ibv_reg_mr(end->pd, end->memory, end->bytes, access);
	snprintf(what, sizeof(what), "register %zu bytes", end->bytes);
	return end->mr ? 0 : cannot(end, what, errno);
}

static int open_queue(struct end *end, struct ibv_qp **queue)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = end->port->num,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	char what[48];
	int err;

	*queue = ibv_create_qp(end->pd, &init);
	if (!*queue) {
		err = errno;
		snprintf(what, sizeof(what), "create queue pair %u", end->nr_queues + 1);
		return cannot(end, what, err);
	}
	err = ibv_modify_qp(*queue, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS);
	return err ? cannot(end, "initialise a queue pair", err) : 0;
}

static int open_queues(struct end *end, unsigned int nr)
{
	int ret;

	for (end->nr_queues = 0; end->nr_queues < nr; end->nr_queues++) {
		ret = open_queue(end, &end->queue[end->nr_queues]);
		if (ret)
			return ret;
	}
	if (getrandom(end->psn, sizeof(end->psn), 0) != sizeof(end->psn))
		return cannot(end, "get random numbers", errno);
	return 0;
}

/**
 * end_open - make one end
 * @end: set; the caller closes it, also after a failure
 * @port: open as long as @end
 * @pairs: of queue pairs
 * @bytes: memory to register
 * @access: IBV_ACCESS_* of the memory
 *
 * Return: 0, or STATUS_NOT_RUN after a complaint.
 */
int end_open(struct end *end, const struct port *port, unsigned int pairs, size_t bytes,
	     int access)
{
	int ret;

	memset(end, 0, sizeof(*end));
	end->port = port;
	end->bytes = bytes;
	end->pd = ibv_alloc_pd(port->ctx);
	if (!end->pd)
		return cannot(end, "allocate a protection domain", errno);
	/* Each queue pair has one request under way. */
	end->cq = ibv_create_cq(port->ctx, 2 * pairs, NULL, NULL, 0);
	if (!end->cq)
		return cannot(end, "create a completion queue", errno);
	ret = open_memory(end, access);
	return ret ?: open_queues(end, 2 * pairs);
}

/**
 * end_offer - fill in what the other end must know about this one
 * @end: opened
 * @offer: set
 */
void end_offer(const struct end *end, struct offer *offer)
{
	const struct port *port = end->port;
	unsigned int i;

	*offer = (struct offer){
		.gid = port->gid,
		.lid = port->attr.lid,
		.mtu = port->attr.active_mtu,
		.link_layer = port->attr.link_layer,
		.rkey = end->mr->rkey,
		.address = (uintptr_t)end->memory,
	};
	for (i = 0; i < end->nr_queues; i++) {
		offer->queue[i].qpn = end->queue[i]->qp_num;
		offer->queue[i].psn = end->psn[i] & PSN_MASK;
	}
}

static int make_ready(struct end *end, unsigned int i, const struct offer *peer)
{
	const struct port *port = end->port;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = peer->mtu < port->attr.active_mtu ? peer->mtu :
			    port->attr.active_mtu,
		.dest_qp_num = peer->queue[i].qpn,
		.rq_psn = peer->queue[i].psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = {
			.dlid = peer->lid,
			.port_num = port->num,
			.is_global = port->global,
			.grh = {
				.dgid = peer->gid,
				.sgid_index = port->gid_index,
				.hop_limit = HOP_LIMIT,
			},
		},
	};
	int err;

	err = ibv_modify_qp(end->queue[i], &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER);
	if (err)
		return cannot(end, "reach the other end's address", err);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = end->psn[i] & PSN_MASK,
		.max_rd_atomic = 1,
		.timeout = ACK_TIMEOUT,
		.retry_cnt = RETRIES,
		.rnr_retry = RETRIES,
	};
	err = ibv_modify_qp(end->queue[i], &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			    IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY);
	return err ? cannot(end, "make a queue pair ready", err) : 0;
}

/**
 * end_connect - connect each queue pair with that of the same number
 * @end: opened
 * @peer: the other end's offer
 *
 * Return: 0, or STATUS_NOT_RUN after a complaint.
 */
int end_connect(struct end *end, const struct offer *peer)
{
	unsigned int i;
	int ret = 0;

	if (peer->link_layer != end->port->attr.link_layer)
		return report_failure(end->port->name, "one end is InfiniBand and the other RoCE");
	for (i = 0; i < end->nr_queues && !ret; i++)
		ret = make_ready(end, i, peer);
	return ret;
}

/**
 * end_close - destroy an end
 * @end: opened, perhaps in part
 */
void end_close(struct end *end)
{
	unsigned int i;

	for (i = 0; i < MAX_QUEUES; i++)
		if (end->queue[i])
			ibv_destroy_qp(end->queue[i]);
	if (end->mr)
		ibv_dereg_mr(end->mr);
	if (end->cq)
		ibv_destroy_cq(end->cq);
	if (end->pd)
		ibv_dealloc_pd(end->pd);
	free(end->memory);
	memset(end, 0, sizeof(*end));
}
