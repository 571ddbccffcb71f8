// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control queue.
 *
 * A login sends one message at a time and waits for its answer. Later the queue carries
 * commands: each tag has one purpose, one send buffer and one command in flight, so a
 * keep-alive never waits behind a slow command. Command and answer carry a generation that
 * counts the uses of the tag: a late answer to an abandoned command cannot complete a
 * newer one.
 *
 * RDMABLK_CTRL_RECVS receives are always posted: one for the answer of each tag, one for a
 * login answer or CLOSE, the rest for events. The queue posts a receive again before it
 * acts upon the message.
 *
 * wire.c checks everything that arrives before anything else reads it. A broken or
 * unexpected message ends the session.
 *
 * In version 2 messages are sealed once the login has the keys. Each direction numbers its
 * frames, and the receiver takes the next one only. So a frame is sealed and posted under one
 * mutex. A frame that cannot be posted leaves a gap, which ends the session.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "cm.h"
#include "crypt.h"
#include "ctrl.h"

/**
 * rdmablk_ctrl_init() - put a control queue into its first state
 * @ctrl: control queue, zeroed memory
 * @ops: upcalls
 * @waiter: wait queue of logins
 * @errors: counters of the reasons why its queue pairs end
 * @fatal: upcall of its queue
 */
void rdmablk_ctrl_init(struct rdmablk_ctrl *ctrl, const struct rdmablk_ctrl_ops *ops,
		       struct rdmablk_waiter *waiter,
		       struct rdmablk_transport_errors *errors,
		       void (*fatal)(struct rdmablk_queue *q, u16 reason))
{
	/* The control queue has no batches to trace. */
	const struct rdmablk_queue_owner owner = {
		.index	= -1,
		.waiter	= waiter,
		.errors	= errors,
		.fatal	= fatal,
	};
	int i;

	rdmablk_queue_init(&ctrl->queue, 0, RDMABLK_KIND_CONTROL, &owner);
	mutex_init(&ctrl->tx_lock);
	spin_lock_init(&ctrl->rx_lock);
	spin_lock_init(&ctrl->lock);
	for (i = 0; i < RDMABLK_CTRL_TAGS; i++)
		init_completion(&ctrl->slot[i].done);
	ctrl->ops = ops;
}

/**
 * rdmablk_ctrl_reset() - prepare for another login
 * @ctrl: control queue without a connection
 * @version: protocol version of the login
 *
 * The generations of the tags go on, so that no answer of an old session can pass for an
 * answer of the new one.
 */
void rdmablk_ctrl_reset(struct rdmablk_ctrl *ctrl, u16 version)
{
	int i;

	rdmablk_queue_reset(&ctrl->queue);
	ctrl->version = version;
	spin_lock_irq(&ctrl->lock);
	for (i = 0; i < RDMABLK_CTRL_TAGS; i++)
		ctrl->slot[i].busy = false;
	ctrl->tx_busy = 0;
	ctrl->expected = 0;
	ctrl->msg_len = 0;
	ctrl->broken = false;
	WRITE_ONCE(ctrl->queue.waiter->broken, false);
	spin_unlock_irq(&ctrl->lock);
}

/**
 * rdmablk_ctrl_open() - from now on take sealed messages only
 * @ctrl: control queue on which no sealed message has arrived yet
 * @cipher: has its key; lives until rdmablk_ctrl_destroy()
 *
 * CLOSE is the exception: the target may not have the key.
 */
void rdmablk_ctrl_open(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	spin_lock_bh(&ctrl->rx_lock);
	rdmablk_sealed_init(&ctrl->open, &rdmablk_crypt_sealed, cipher);
	spin_unlock_bh(&ctrl->rx_lock);
}

/**
 * rdmablk_ctrl_seal() - from now on seal what is sent
 * @ctrl: control queue
 * @cipher: has its key; lives until rdmablk_ctrl_destroy()
 */
void rdmablk_ctrl_seal(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	mutex_lock(&ctrl->tx_lock);
	rdmablk_sealed_init(&ctrl->seal, &rdmablk_crypt_sealed, cipher);
	mutex_unlock(&ctrl->tx_lock);
}

/**
 * rdmablk_ctrl_open_next() - take frames of the next key epoch, too
 * @ctrl: control queue after rdmablk_ctrl_open()
 * @cipher: has its key; lives until rdmablk_ctrl_destroy()
 *
 * The first one ends the present epoch of this direction.
 *
 * Return: 0; -EBUSY: the last epoch that was announced has not begun; -EOVERFLOW.
 */
int rdmablk_ctrl_open_next(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	int ret;

	spin_lock_bh(&ctrl->rx_lock);
	ret = rdmablk_sealed_prepare(&ctrl->open, cipher);
	spin_unlock_bh(&ctrl->rx_lock);
	return ret;
}

/**
 * rdmablk_ctrl_seal_next() - begin the key epoch that the target has begun
 * @ctrl: control queue after rdmablk_ctrl_open_next()
 * @cipher: has its key; lives until rdmablk_ctrl_destroy()
 *
 * Return: 0: nothing uses the ciphers of the epoch before; -EBADMSG: the target has not begun
 * the epoch; -EOVERFLOW.
 */
int rdmablk_ctrl_seal_next(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	bool begun;
	int ret;

	spin_lock_bh(&ctrl->rx_lock);
	begun = !ctrl->open.next;
	spin_unlock_bh(&ctrl->rx_lock);
	if (!begun)
		return -EBADMSG;
	mutex_lock(&ctrl->tx_lock);
	ret = rdmablk_sealed_rekey(&ctrl->seal, cipher);
	mutex_unlock(&ctrl->tx_lock);
	return ret;
}

static void rdmablk_ctrl_answer(struct rdmablk_ctrl *ctrl, const void *data, size_t len)
{
	struct rdmablk_wire_answer answer;
	struct rdmablk_ctrl_slot *slot;
	unsigned long flags;
	bool stale;

	if (rdmablk_wire_parse_answer(data, len, &answer))
		return ctrl->queue.fatal(&ctrl->queue, RDMABLK_R_MALFORMED);
	slot = &ctrl->slot[answer.tag];
	spin_lock_irqsave(&ctrl->lock, flags);
	stale = !slot->busy || slot->generation != answer.generation;
	if (stale) {
		ctrl->stale_answers++;
	} else {
		slot->busy = false;
		slot->status = answer.status;
		complete(&slot->done);
	}
	spin_unlock_irqrestore(&ctrl->lock, flags);
	if (!stale)
		ctrl->ops->answered(ctrl, &answer);
}

/*
 * rdmablk_ctrl_take() lets no message without a seal come here once there is a key. If one
 * came all the same, it would not be an answer.
 */
static void rdmablk_ctrl_deliver(struct rdmablk_ctrl *ctrl, u16 type,
				 const void *data, size_t len, enum rdmablk_ctrl_trust trust)
{
	bool believed = trust == RDMABLK_CTRL_TRUSTED || !READ_ONCE(ctrl->open.key);
	unsigned long flags;
	bool wanted;

	spin_lock_irqsave(&ctrl->lock, flags);
	wanted = believed && ctrl->expected == type;
	if (wanted) {
		ctrl->expected = 0;
		memcpy(ctrl->msg, data, len);
		ctrl->msg_len = len;
	}
	spin_unlock_irqrestore(&ctrl->lock, flags);
	if (wanted)
		wake_up_all(&ctrl->queue.waiter->wq);
	else
		ctrl->queue.fatal(&ctrl->queue, RDMABLK_R_STATE);
}

static void rdmablk_ctrl_dispatch(struct rdmablk_ctrl *ctrl, const void *data, size_t len,
				  enum rdmablk_ctrl_trust trust)
{
	struct rdmablk_wire_close close;
	struct rdmablk_wire_event event;
	int type = rdmablk_wire_type(data, len, ctrl->version);

	/* In version 2 a message without a seal belongs to a login's dialogue, or is CLOSE. */
	if (trust != RDMABLK_CTRL_TRUSTED &&
	    (type == RDMABLK_MSG_EVENT || type == RDMABLK_MSG_ANSWER))
		return ctrl->queue.fatal(&ctrl->queue, RDMABLK_R_STATE);
	switch (type) {
	case RDMABLK_MSG_CLOSE:
		if (rdmablk_wire_parse_close(data, len, &close))
			break;
		return ctrl->ops->closed(ctrl, &close, trust);
	case RDMABLK_MSG_EVENT:
		if (rdmablk_wire_parse_event(data, len, &event))
			break;
		return ctrl->ops->event(ctrl, &event);
	case RDMABLK_MSG_ANSWER:
		return rdmablk_ctrl_answer(ctrl, data, len);
	default:
		if (type > 0)
			return rdmablk_ctrl_deliver(ctrl, type, data, len, trust);
	}
	ctrl->queue.fatal(&ctrl->queue, RDMABLK_R_MALFORMED);
}

static int rdmablk_ctrl_post_recv(struct rdmablk_ctrl *ctrl, struct rdmablk_ctrl_buf *buf)
{
	struct ib_sge sge = {
		.addr	= buf->dma,
		.length	= RDMABLK_CTRL_MSG_MAX,
		.lkey	= ctrl->lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe		= &buf->cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
	};

	ib_dma_sync_single_for_device(ctrl->dev, buf->dma, RDMABLK_CTRL_MSG_MAX,
				      DMA_FROM_DEVICE);
	return ib_post_recv(ctrl->queue.qp, &wr, NULL);
}

/*
 * Copies a message before anything reads it; opens it if it is a sealed frame. Return: length
 * of the message; negative: it is not the next frame of the target.
 */
static int rdmablk_ctrl_take(struct rdmablk_ctrl *ctrl, const void *data, size_t len, u8 *msg,
			     enum rdmablk_ctrl_trust *trust)
{
	int ret = len;

	if (ctrl->version == RDMABLK_VERSION_OPEN) {
		*trust = RDMABLK_CTRL_TRUSTED;
		memcpy(msg, data, len);
		return ret;
	}
	spin_lock_bh(&ctrl->rx_lock);
	*trust = ctrl->open.seq ? RDMABLK_CTRL_UNSEALED : RDMABLK_CTRL_UNPROVEN;
	memcpy(ctrl->frame, data, len);
	if (!ctrl->open.key ||
	    rdmablk_wire_type(ctrl->frame, len, ctrl->version) == RDMABLK_MSG_CLOSE) {
		memcpy(msg, ctrl->frame, len);
	} else {
		*trust = RDMABLK_CTRL_TRUSTED;
		ret = rdmablk_sealed_open(&ctrl->open, ctrl->frame, len, msg,
					  RDMABLK_CTRL_MSG_MAX);
	}
	spin_unlock_bh(&ctrl->rx_lock);
	return ret;
}

static void rdmablk_ctrl_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdmablk_ctrl_buf *buf = container_of(wc->wr_cqe, struct rdmablk_ctrl_buf,
						    cqe);
	struct rdmablk_ctrl *ctrl = buf->ctrl;
	u8 msg[RDMABLK_CTRL_MSG_MAX] __aligned(8);
	enum rdmablk_ctrl_trust trust;
	int len;

	if (wc->status != IB_WC_SUCCESS)
		return ctrl->queue.fatal(&ctrl->queue,
					 rdmablk_queue_recv_reason(wc));
	if (wc->byte_len > sizeof(msg))
		return ctrl->queue.fatal(&ctrl->queue, RDMABLK_R_MALFORMED);
	/*
	 * Copy the message before reading it, and post the buffer before acting upon the
	 * message: whatever the target sends in response finds a receive.
	 */
	ib_dma_sync_single_for_cpu(ctrl->dev, buf->dma, RDMABLK_CTRL_MSG_MAX,
				   DMA_FROM_DEVICE);
	len = rdmablk_ctrl_take(ctrl, buf->data, wc->byte_len, msg, &trust);
	if (rdmablk_ctrl_post_recv(ctrl, buf))
		ctrl->queue.fatal(&ctrl->queue, RDMABLK_R_CONNECTION);
	if (len < 0)
		return ctrl->queue.fatal(&ctrl->queue, RDMABLK_R_AUTH_FAILED);
	rdmablk_ctrl_dispatch(ctrl, msg, len, trust);
	/* The message may have had the keys of regions. */
	if (ctrl->version != RDMABLK_VERSION_OPEN)
		memzero_explicit(msg, sizeof(msg));
}

static void rdmablk_ctrl_tx_free(struct rdmablk_ctrl *ctrl, int nr)
{
	clear_bit_unlock(nr, &ctrl->tx_busy);
	wake_up_all(&ctrl->queue.waiter->wq);
}

static void rdmablk_ctrl_tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdmablk_ctrl_buf *buf = container_of(wc->wr_cqe, struct rdmablk_ctrl_buf,
						    cqe);
	struct rdmablk_ctrl *ctrl = buf->ctrl;

	rdmablk_ctrl_tx_free(ctrl, buf - ctrl->tx);
	if (wc->status != IB_WC_SUCCESS)
		rdmablk_queue_failed(&ctrl->queue, wc);
}

/* Puts a message, or its frame, into a buffer. Return: bytes, or a negative errno. */
static int rdmablk_ctrl_fill(struct rdmablk_ctrl *ctrl, struct rdmablk_ctrl_buf *buf,
			     const void *msg, size_t len)
{
	int ret = len;

	lockdep_assert_held(&ctrl->tx_lock);
	ib_dma_sync_single_for_cpu(ctrl->dev, buf->dma, RDMABLK_CTRL_MSG_MAX, DMA_TO_DEVICE);
	if (ctrl->seal.key)
		ret = rdmablk_sealed_seal(&ctrl->seal, msg, len, buf->data,
					  RDMABLK_CTRL_MSG_MAX);
	else
		memcpy(buf->data, msg, len);
	ib_dma_sync_single_for_device(ctrl->dev, buf->dma, RDMABLK_CTRL_MSG_MAX,
				      DMA_TO_DEVICE);
	return ret;
}

static int rdmablk_ctrl_post_send(struct rdmablk_ctrl *ctrl, struct rdmablk_ctrl_buf *buf,
				  size_t len)
{
	struct ib_sge sge = {
		.addr	= buf->dma,
		.length	= len,
		.lkey	= ctrl->lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe		= &buf->cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED,
	};

	return ib_post_send(ctrl->queue.qp, &wr, NULL);
}

static int rdmablk_ctrl_send(struct rdmablk_ctrl *ctrl, int nr, const void *msg, size_t len)
{
	struct rdmablk_ctrl_buf *buf = &ctrl->tx[nr];
	bool gap = false;
	int ret;

	if (READ_ONCE(ctrl->broken))
		return -ENOTCONN;
	if (test_and_set_bit(nr, &ctrl->tx_busy))
		return -EBUSY;
	mutex_lock(&ctrl->tx_lock);
	ret = rdmablk_ctrl_fill(ctrl, buf, msg, len);
	if (ret > 0) {
		ret = rdmablk_ctrl_post_send(ctrl, buf, ret);
		gap = ret && ctrl->seal.key;
	}
	mutex_unlock(&ctrl->tx_lock);
	if (ret)
		rdmablk_ctrl_tx_free(ctrl, nr);
	if (gap)
		ctrl->queue.fatal(&ctrl->queue, RDMABLK_R_CONNECTION);
	return ret;
}

static int rdmablk_ctrl_buf_alloc(struct rdmablk_ctrl *ctrl, struct rdmablk_ctrl_buf *buf,
				  void (*done)(struct ib_cq *cq, struct ib_wc *wc),
				  enum dma_data_direction dir)
{
	buf->ctrl = ctrl;
	buf->cqe.done = done;
	buf->data = kzalloc(RDMABLK_CTRL_MSG_MAX, GFP_KERNEL);
	if (!buf->data)
		return -ENOMEM;
	buf->dma = ib_dma_map_single(ctrl->dev, buf->data, RDMABLK_CTRL_MSG_MAX, dir);
	if (ib_dma_mapping_error(ctrl->dev, buf->dma)) {
		kfree(buf->data);
		buf->data = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void rdmablk_ctrl_buf_free(struct rdmablk_ctrl *ctrl, struct rdmablk_ctrl_buf *buf,
				  enum dma_data_direction dir)
{
	if (!buf->data)
		return;
	ib_dma_unmap_single(ctrl->dev, buf->dma, RDMABLK_CTRL_MSG_MAX, dir);
	kfree_sensitive(buf->data);
	buf->data = NULL;
}

/**
 * rdmablk_ctrl_create() - give a resolved control queue its queue pair and buffers
 * @ctrl: control queue whose cm_id has a device
 * @pd: protection domain
 *
 * On error the caller calls rdmablk_ctrl_destroy().
 *
 * Return: 0 or a negative errno.
 */
int rdmablk_ctrl_create(struct rdmablk_ctrl *ctrl, struct ib_pd *pd)
{
	/* all sends, all receives, two drains */
	const int cqes = RDMABLK_CTRL_TXS + RDMABLK_CTRL_RECVS + 2;
	int ret, i;

	ctrl->dev = pd->device;
	ctrl->lkey = pd->local_dma_lkey;
	ctrl->cq = ib_alloc_cq_any(ctrl->dev, ctrl, cqes, IB_POLL_SOFTIRQ);
	if (IS_ERR(ctrl->cq)) {
		ret = PTR_ERR(ctrl->cq);
		ctrl->cq = NULL;
		return ret;
	}
	ret = rdmablk_queue_create_qp(&ctrl->queue, pd, ctrl->cq, RDMABLK_CTRL_TXS,
				      RDMABLK_CTRL_RECVS, 1);
	for (i = 0; !ret && i < RDMABLK_CTRL_TXS; i++)
		ret = rdmablk_ctrl_buf_alloc(ctrl, &ctrl->tx[i], rdmablk_ctrl_tx_done,
					     DMA_TO_DEVICE);
	for (i = 0; !ret && i < RDMABLK_CTRL_RECVS; i++) {
		ret = rdmablk_ctrl_buf_alloc(ctrl, &ctrl->rx[i], rdmablk_ctrl_rx_done,
					     DMA_FROM_DEVICE);
		if (!ret)
			ret = rdmablk_ctrl_post_recv(ctrl, &ctrl->rx[i]);
	}
	return ret;
}

static void rdmablk_ctrl_end_waits(struct rdmablk_ctrl *ctrl, bool broken)
{
	unsigned long flags;
	int i;

	spin_lock_irqsave(&ctrl->lock, flags);
	ctrl->broken |= broken;
	WRITE_ONCE(ctrl->queue.waiter->broken, true);
	ctrl->expected = 0;
	for (i = 0; i < RDMABLK_CTRL_TAGS; i++)
		complete(&ctrl->slot[i].done);
	spin_unlock_irqrestore(&ctrl->lock, flags);
	wake_up_all(&ctrl->queue.waiter->wq);
}

/**
 * rdmablk_ctrl_break() - the connection carries no more messages: wake all waiting tasks
 * @ctrl: control queue
 *
 * Context: any.
 */
void rdmablk_ctrl_break(struct rdmablk_ctrl *ctrl)
{
	rdmablk_ctrl_end_waits(ctrl, true);
}

/**
 * rdmablk_ctrl_wake() - wake all waiting tasks: their answers will not come, but CLOSE can
 *	still be sent
 * @ctrl: control queue
 *
 * Context: any.
 */
void rdmablk_ctrl_wake(struct rdmablk_ctrl *ctrl)
{
	rdmablk_ctrl_end_waits(ctrl, false);
}

/**
 * rdmablk_ctrl_stop() - end all traffic
 * @ctrl: control queue; may be stopped already
 *
 * A receive that is posted again behind the drain's marker completes later, with an error that
 * calls fatal(). rdmablk_ctrl_destroy() frees the completion queue, which ends that, before the
 * buffers. No other upcall comes.
 */
void rdmablk_ctrl_stop(struct rdmablk_ctrl *ctrl)
{
	rdmablk_ctrl_break(ctrl);
	rdmablk_queue_stop(&ctrl->queue);
}

/**
 * rdmablk_ctrl_destroy() - free everything but the cm_id; may be called twice
 * @ctrl: stopped control queue
 */
void rdmablk_ctrl_destroy(struct rdmablk_ctrl *ctrl)
{
	int i;

	rdmablk_queue_destroy_qp(&ctrl->queue);
	if (ctrl->cq)
		ib_free_cq(ctrl->cq);
	ctrl->cq = NULL;
	for (i = 0; i < RDMABLK_CTRL_TXS; i++)
		rdmablk_ctrl_buf_free(ctrl, &ctrl->tx[i], DMA_TO_DEVICE);
	for (i = 0; i < RDMABLK_CTRL_RECVS; i++)
		rdmablk_ctrl_buf_free(ctrl, &ctrl->rx[i], DMA_FROM_DEVICE);
	ctrl->dev = NULL;
	/* The next login has other keys, and its first messages are not sealed. */
	ctrl->seal = (struct rdmablk_sealed) { };
	ctrl->open = (struct rdmablk_sealed) { };
	memzero_explicit(ctrl->msg, sizeof(ctrl->msg));
}

static bool rdmablk_ctrl_expects(struct rdmablk_ctrl *ctrl)
{
	bool expects;

	spin_lock_irq(&ctrl->lock);
	expects = ctrl->expected;
	spin_unlock_irq(&ctrl->lock);
	return expects;
}

/**
 * rdmablk_ctrl_ask() - send a login message and wait for its answer
 * @ctrl: connected control queue
 * @msg: message
 * @len: length of @msg, bytes
 * @reply: type of the answer, enum rdmablk_msg_type
 * @deadline: in jiffies
 *
 * Return: 0: @ctrl->msg holds the complete answer of that type; -ETIMEDOUT; -ECANCELED;
 * -ECONNRESET: the queue broke; or an errno of the device.
 */
int rdmablk_ctrl_ask(struct rdmablk_ctrl *ctrl, const void *msg, size_t len,
		     u16 reply, unsigned long deadline)
{
	struct rdmablk_waiter *w = ctrl->queue.waiter;
	long left;
	int ret;

	/* The answer to the last message may be faster than its send completion. */
	left = wait_event_idle_timeout(w->wq,
				       !test_bit(RDMABLK_CTRL_TX_LOGIN, &ctrl->tx_busy) ||
				       READ_ONCE(w->cancelled), rdmablk_cm_left(deadline));
	if (READ_ONCE(w->cancelled))
		return -ECANCELED;
	if (!left)
		return -ETIMEDOUT;

	spin_lock_irq(&ctrl->lock);
	ctrl->expected = reply;
	ctrl->msg_len = 0;
	ret = ctrl->broken ? -ECONNRESET : 0;
	spin_unlock_irq(&ctrl->lock);
	if (!ret)
		ret = rdmablk_ctrl_send(ctrl, RDMABLK_CTRL_TX_LOGIN, msg, len);
	if (ret)
		return ret;
	/*
	 * The kernel reports a task as hung after two minutes of uninterruptible sleep, but not in
	 * TASK_IDLE.
	 */
	left = wait_event_idle_timeout(w->wq, !rdmablk_ctrl_expects(ctrl) ||
				       READ_ONCE(w->cancelled), rdmablk_cm_left(deadline));
	if (READ_ONCE(w->cancelled))
		return -ECANCELED;
	if (!left)
		return -ETIMEDOUT;
	return ctrl->msg_len ? 0 : -ECONNRESET;
}

/**
 * rdmablk_ctrl_command() - send a command
 * @ctrl: control queue of a live session
 * @op: enum rdmablk_op
 * @flags: flags of the operation
 * @tag: tag of the command
 *
 * Return: 0; -EBUSY: the last command of this tag is under way; -ENOTCONN: the queue is
 * broken; or an errno of the device.
 */
int rdmablk_ctrl_command(struct rdmablk_ctrl *ctrl, u16 op, u16 flags, u16 tag)
{
	struct rdmablk_ctrl_slot *slot = &ctrl->slot[tag];
	struct rdmablk_command msg;
	u32 generation;
	int ret;

	spin_lock_irq(&ctrl->lock);
	if (slot->busy || ctrl->broken) {
		ret = ctrl->broken ? -ENOTCONN : -EBUSY;
		spin_unlock_irq(&ctrl->lock);
		return ret;
	}
	slot->busy = true;
	generation = ++slot->generation;
	reinit_completion(&slot->done);
	spin_unlock_irq(&ctrl->lock);

	rdmablk_wire_command(&msg, op, flags, tag, generation, 0, 0);
	ret = rdmablk_ctrl_send(ctrl, tag, &msg, sizeof(msg));
	if (ret) {
		spin_lock_irq(&ctrl->lock);
		slot->busy = false;
		spin_unlock_irq(&ctrl->lock);
	}
	return ret;
}

/**
 * rdmablk_ctrl_wait() - wait for the answer to a command
 * @ctrl: control queue
 * @tag: tag of the command
 * @deadline: in jiffies
 *
 * Return: 0: the target answered RDMABLK_OK; -ETIMEDOUT; -ECONNRESET: the queue broke; or
 * the errno of the target's reason.
 */
int rdmablk_ctrl_wait(struct rdmablk_ctrl *ctrl, u16 tag, unsigned long deadline)
{
	struct rdmablk_ctrl_slot *slot = &ctrl->slot[tag];
	int ret;

	if (!wait_for_completion_timeout(&slot->done, rdmablk_cm_left(deadline)))
		return -ETIMEDOUT;
	spin_lock_irq(&ctrl->lock);
	if (slot->busy)
		ret = -ECONNRESET;
	else
		ret = slot->status ? rdmablk_wire_errno(slot->status) : 0;
	spin_unlock_irq(&ctrl->lock);
	return ret;
}

/**
 * rdmablk_ctrl_close() - tell the target why the session ends
 * @ctrl: control queue, connected
 * @reason: enum rdmablk_reason
 *
 * Best effort: returns when the message has left, or after two seconds at most.
 */
void rdmablk_ctrl_close(struct rdmablk_ctrl *ctrl, u16 reason)
{
	struct rdmablk_waiter *w = ctrl->queue.waiter;
	struct rdmablk_close msg;

	/* The last login message may have left, while its completion has yet to come. */
	wait_event_idle_timeout(w->wq, !test_bit(RDMABLK_CTRL_TX_LOGIN, &ctrl->tx_busy), HZ);
	rdmablk_wire_close(&msg, reason, ctrl->version);
	if (!rdmablk_ctrl_send(ctrl, RDMABLK_CTRL_TX_LOGIN, &msg, sizeof(msg)))
		wait_event_idle_timeout(w->wq, !test_bit(RDMABLK_CTRL_TX_LOGIN, &ctrl->tx_busy),
					HZ);
}
