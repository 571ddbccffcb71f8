// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The message buffers of a control queue. One registration, made with the queue
 * and destroyed with it; small enough for the loop.
 */
#include <errno.h>

#include "base/util.h"
#include "rdma/ctrl.h"

#define CTRL_BYTES	((CTRL_RECVS + CTRL_SENDS + 1) * RDMABLK_CTRL_MSG_MAX)
#define CTRL_ALIGN	4096

static char *recv_buffer(const struct ctrl *ctrl, unsigned int index)
{
	return ctrl->buf + index * RDMABLK_CTRL_MSG_MAX;
}

static char *send_buffer(const struct ctrl *ctrl, unsigned int index)
{
	return recv_buffer(ctrl, CTRL_RECVS + index);
}

/**
 * ctrl_create - make the buffers
 * @ctrl: zeroed
 * @pd: of the session
 *
 * Return: 0 or -errno; ctrl_destroy() is due either way.
 */
int ctrl_create(struct ctrl *ctrl, struct ibv_pd *pd)
{
	ctrl->buf = aligned_alloc(CTRL_ALIGN, round_up(CTRL_BYTES, CTRL_ALIGN));
	if (!ctrl->buf)
		return -ENOMEM;
	memset(ctrl->buf, 0, CTRL_BYTES);
	ctrl->mr = ibv_reg_mr(pd, ctrl->buf, CTRL_BYTES, IBV_ACCESS_LOCAL_WRITE);
	return ctrl->mr ? 0 : -errno;
}

/**
 * ctrl_post - post one receive
 * @ctrl: started
 * @index: of the buffer, below CTRL_RECVS
 *
 * Return: 0 or -errno.
 */
int ctrl_post(struct ctrl *ctrl, unsigned int index)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)recv_buffer(ctrl, index),
		.length = RDMABLK_CTRL_MSG_MAX,
		.lkey = ctrl->mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = CTRL_WR_RECV | index,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	return -ibv_post_recv(ctrl->qp, &wr, &bad);
}

/**
 * ctrl_start - post all receives
 * @ctrl: created
 * @qp: of the control queue
 *
 * Return: 0 or -errno.
 */
int ctrl_start(struct ctrl *ctrl, struct ibv_qp *qp)
{
	int ret = 0;

	ctrl->qp = qp;
	for (unsigned int i = 0; !ret && i < CTRL_RECVS; i++)
		ret = ctrl_post(ctrl, i);
	return ret;
}

/**
 * ctrl_send - send a message
 * @ctrl: started
 * @msg: copied
 * @len: bytes, RDMABLK_CTRL_MSG_MAX at most
 * @last: it may take the buffer kept for the last message
 *
 * Return: 0; -ENOBUFS: the peer has more outstanding than it may; -errno.
 */
int ctrl_send(struct ctrl *ctrl, const void *msg, size_t len, bool last)
{
	struct ibv_sge sge = { .length = (uint32_t)len, .lkey = ctrl->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	unsigned int index = (unsigned int)__builtin_ctz(~ctrl->sending);
	int ret;

	if (index + !last >= CTRL_SENDS)
		return -ENOBUFS;
	memcpy(send_buffer(ctrl, index), msg, len);
	sge.addr = (uintptr_t)send_buffer(ctrl, index);
	wr.wr_id = CTRL_WR_SEND | index;
	ret = ibv_post_send(ctrl->qp, &wr, &bad);
	if (!ret)
		ctrl->sending |= 1U << index;
	return -ret;
}

/**
 * ctrl_send_event - send an event
 * @ctrl: started
 * @msg: copied
 * @len: bytes, RDMABLK_CTRL_MSG_MAX at most
 *
 * Return: 0; -ENOBUFS: as many are under way as may be; -errno.
 */
int ctrl_send_event(struct ctrl *ctrl, const void *msg, size_t len)
{
	unsigned int before = ctrl->sending;
	int ret;

	if (__builtin_popcount(ctrl->events) >= CTRL_EVENTS)
		return -ENOBUFS;
	ret = ctrl_send(ctrl, msg, len, false);
	ctrl->events |= before ^ ctrl->sending;
	return ret;
}

/**
 * ctrl_message - a message received
 * @ctrl: started
 * @index: of its buffer
 *
 * Return: the message; the adapter's again after ctrl_post().
 */
const void *ctrl_message(const struct ctrl *ctrl, unsigned int index)
{
	return recv_buffer(ctrl, index);
}

/**
 * ctrl_guard_sge - where the guards of data queues receive
 * @ctrl: created
 * @sge: filled
 */
void ctrl_guard_sge(const struct ctrl *ctrl, struct ibv_sge *sge)
{
	*sge = (struct ibv_sge){
		.addr = (uintptr_t)send_buffer(ctrl, CTRL_SENDS),
		.length = RDMABLK_CTRL_MSG_MAX,
		.lkey = ctrl->mr->lkey,
	};
}

/**
 * ctrl_sent - a send has completed
 * @ctrl: started
 * @index: of its buffer
 */
void ctrl_sent(struct ctrl *ctrl, unsigned int index)
{
	ctrl->sending &= ~(1U << index);
	ctrl->events &= ~(1U << index);
}

/**
 * ctrl_destroy - undo ctrl_create(), after the queue pair is destroyed
 * @ctrl: created, perhaps half
 */
void ctrl_destroy(struct ctrl *ctrl)
{
	if (ctrl->mr)
		ibv_dereg_mr(ctrl->mr);
	free(ctrl->buf);
	ctrl->mr = NULL;
	ctrl->buf = NULL;
}
