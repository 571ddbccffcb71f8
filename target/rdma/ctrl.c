// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The message buffers of a control queue. They have one registration, which a worker makes
 * and destroys with the queue.
 *
 * Once there are keys, messages are sealed in the order in which they are posted, and opened
 * in the order in which they complete. The queue pair keeps both orders, so both sides count
 * frames alike.
 */
#include <endian.h>
#include <errno.h>

#include "base/util.h"
#include "rdma/ctrl.h"
#include "wire/crypto.h"
#include "wire/mac.h"

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
 * @index: number of the buffer, below CTRL_RECVS
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
 * @qp: queue pair of the control queue
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

/* Return: bytes to send, or -errno. */
static int fill(struct ctrl *ctrl, char *buf, const void *msg, size_t len)
{
	if (ctrl->sealed)
		return rdmablk_sealed_seal(&ctrl->tx, msg, len, buf, RDMABLK_CTRL_MSG_MAX);
	memcpy(buf, msg, len);
	return (int)len;
}

/**
 * ctrl_send - send a message
 * @ctrl: started
 * @msg: copied, or sealed
 * @len: bytes, RDMABLK_CTRL_MSG_MAX at most; sealed: RDMABLK_SEALED_MAX
 * @last: the message may take the buffer that is kept for the last message
 *
 * Return: 0; -ENOBUFS: the peer has more commands under way than it may; -errno.
 */
int ctrl_send(struct ctrl *ctrl, const void *msg, size_t len, bool last)
{
	struct ibv_sge sge = { .lkey = ctrl->mr->lkey };
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
	ret = fill(ctrl, send_buffer(ctrl, index), msg, len);
	if (ret < 0)
		return ret;
	sge.length = (uint32_t)ret;
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
 * Return: 0; -ENOBUFS: the largest number of events is under way; -errno.
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
 * ctrl_seal - from now on seal every message, in both directions
 * @ctrl: started
 * @keys: keys of the first epoch, which the caller wipes
 *
 * Return: 0 or -ENOMEM.
 */
int ctrl_seal(struct ctrl *ctrl, const struct rdmablk_keysched_keys *keys)
{
	rdmablk_sealed_init(&ctrl->tx, &crypto_sealed, crypto_cipher(keys->t2i, true));
	rdmablk_sealed_init(&ctrl->rx, &crypto_sealed, crypto_cipher(keys->i2t, false));
	if (!ctrl->tx.key || !ctrl->rx.key) {
		ctrl_forget(ctrl);
		return -ENOMEM;
	}
	ctrl->sealed = true;
	return 0;
}

/**
 * ctrl_rekey - begin the next key epoch with the next message that is sent
 * @ctrl: sealed
 * @keys: keys of that epoch, which the caller wipes
 *
 * The peer begins the epoch when it has received that message. Until then its frames belong to
 * the old epoch.
 *
 * Return: 0; -EBUSY: no frame of the present epoch has come yet; -errno. After an error
 * nothing has changed.
 */
int ctrl_rekey(struct ctrl *ctrl, const struct rdmablk_keysched_keys *keys)
{
	void *tx = crypto_cipher(keys->t2i, true), *rx = crypto_cipher(keys->i2t, false);
	void *old = ctrl->tx.key;
	int ret = tx && rx ? rdmablk_sealed_prepare(&ctrl->rx, rx) : -ENOMEM;

	if (ret) {
		crypto_cipher_free(tx);
		crypto_cipher_free(rx);
		return ret;
	}
	/* both directions were in one epoch, and rx has found that another may follow */
	rdmablk_sealed_rekey(&ctrl->tx, tx);
	crypto_cipher_free(old);
	return 0;
}

/**
 * ctrl_message - a message received
 * @ctrl: started
 * @index: number of its buffer
 * @bytes: number of bytes received
 * @len: result, bytes of the message
 *
 * To be called once for each message, in the order of the completions.
 *
 * Return: the message, valid until ctrl_post() or the next call; NULL: the message is not the
 * next sealed frame, and the session has to end.
 */
const void *ctrl_message(struct ctrl *ctrl, unsigned int index, uint32_t bytes, size_t *len)
{
	void *old = ctrl->rx.key;
	int ret;

	*len = bytes;
	if (!ctrl->sealed)
		return recv_buffer(ctrl, index);
	ret = rdmablk_sealed_open(&ctrl->rx, recv_buffer(ctrl, index), bytes, ctrl->plain,
				  sizeof(ctrl->plain));
	if (ret < 0)
		return NULL;
	if (ctrl->rx.key != old)
		crypto_cipher_free(old);
	*len = (size_t)ret;
	return ctrl->plain;
}

/**
 * ctrl_is_close - whether a message that is not sealed is CLOSE
 * @ctrl: sealed
 * @index: number of its buffer
 * @bytes: number of bytes received
 *
 * Return: true: it is CLOSE, which anybody may have sent.
 */
bool ctrl_is_close(const struct ctrl *ctrl, unsigned int index, uint32_t bytes)
{
	struct rdmablk_hdr hdr;

	memcpy(&hdr, recv_buffer(ctrl, index), sizeof(hdr));
	return bytes == sizeof(struct rdmablk_close) && le16toh(hdr.type) == RDMABLK_MSG_CLOSE;
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
 * @index: number of its buffer
 */
void ctrl_sent(struct ctrl *ctrl, unsigned int index)
{
	ctrl->sending &= ~(1U << index);
	ctrl->events &= ~(1U << index);
}

/**
 * ctrl_forget - wipe the keys when no message is sent or received any more
 * @ctrl: sealed or not; may be called twice
 */
void ctrl_forget(struct ctrl *ctrl)
{
	crypto_cipher_free(ctrl->tx.key);
	crypto_cipher_free(ctrl->rx.key);
	crypto_cipher_free(ctrl->rx.next);
	ctrl->tx = (struct rdmablk_sealed){ 0 };
	ctrl->rx = (struct rdmablk_sealed){ 0 };
	mac_wipe(ctrl->plain, sizeof(ctrl->plain));
}

/**
 * ctrl_destroy - undo ctrl_create(), after the queue pair is destroyed
 * @ctrl: created, perhaps only in part
 */
void ctrl_destroy(struct ctrl *ctrl)
{
	if (ctrl->mr)
		ibv_dereg_mr(ctrl->mr);
	free(ctrl->buf);
	ctrl->mr = NULL;
	ctrl->buf = NULL;
}
