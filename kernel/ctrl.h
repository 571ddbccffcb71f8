/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control queue: login messages, commands and their answers, events.
 */
#ifndef RDMABLK_CTRL_H
#define RDMABLK_CTRL_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include "queue.h"
#include "uapi/rdmablk_sealed.h"
#include "wire.h"

/* Send buffers: one per tag, one for the login and for CLOSE */
#define RDMABLK_CTRL_TX_LOGIN	RDMABLK_CTRL_TAGS
#define RDMABLK_CTRL_TXS	(RDMABLK_CTRL_TAGS + 1)

struct rdmablk_crypt_cipher;
struct rdmablk_ctrl;

/**
 * enum rdmablk_ctrl_trust - how far a CLOSE may be believed
 */
enum rdmablk_ctrl_trust {
	/** @RDMABLK_CTRL_UNPROVEN: version 2, and nobody has proved K yet: may be from anybody */
	RDMABLK_CTRL_UNPROVEN,
	/** @RDMABLK_CTRL_UNSEALED: not sealed although the target can seal: not the target's */
	RDMABLK_CTRL_UNSEALED,
	/** @RDMABLK_CTRL_TRUSTED: sealed, or version 1 */
	RDMABLK_CTRL_TRUSTED,
};

/**
 * struct rdmablk_ctrl_ops - upcalls, in softirq context
 * @closed: CLOSE has arrived
 * @event: the target has sent an event
 * @answered: the target has answered a command
 */
struct rdmablk_ctrl_ops {
	void (*closed)(struct rdmablk_ctrl *ctrl, const struct rdmablk_wire_close *c,
		       enum rdmablk_ctrl_trust trust);
	void (*event)(struct rdmablk_ctrl *ctrl, const struct rdmablk_wire_event *ev);
	void (*answered)(struct rdmablk_ctrl *ctrl, const struct rdmablk_wire_answer *a);
};

/**
 * struct rdmablk_ctrl_buf - one message buffer
 * @cqe: completion of its send or receive
 * @ctrl: owner
 * @data: RDMABLK_CTRL_MSG_MAX bytes
 * @dma: DMA address of @data
 */
struct rdmablk_ctrl_buf {
	struct ib_cqe cqe;
	struct rdmablk_ctrl *ctrl;
	void *data;
	u64 dma;
};

/**
 * struct rdmablk_ctrl_slot - a command tag
 * @generation: generation of the newest command with this tag
 * @busy: the command is not answered yet
 * @status: status in the answer
 * @done: completed by the answer, and when the queue breaks
 */
struct rdmablk_ctrl_slot {
	u32 generation;
	bool busy;
	u16 status;
	struct completion done;
};

/**
 * struct rdmablk_ctrl - the control queue of a session
 * @queue: queue 0
 * @ops: upcalls
 * @dev: device of the buffers; NULL while there are no buffers
 * @lkey: local key
 * @cq: completion queue
 * @rx: receive buffers
 * @tx: send buffers
 * @tx_busy: bit per send buffer that the device may still read
 * @version: protocol version of the login
 * @tx_lock: makes a frame and its post one step, because frames are numbered
 * @seal: sealing of sent messages, under @tx_lock; without a cipher they are not sealed
 * @rx_lock: protects @open and @frame; taken in softirq, too
 * @open: opening of received messages; without a cipher they are not sealed
 * @frame: copy of a frame that is being opened
 * @lock: protects @slot, @expected, @msg_len and @broken
 * @slot: command tags
 * @expected: message type that the login waits for; 0: it waits for none, or @msg is there
 * @msg: the last login answer
 * @msg_len: length of @msg, bytes; 0: no answer came
 * @stale_answers: number of answers that carried an old generation
 * @broken: nothing can be sent any more
 */
struct rdmablk_ctrl {
	struct rdmablk_queue queue;
	const struct rdmablk_ctrl_ops *ops;
	struct ib_device *dev;
	u32 lkey;
	struct ib_cq *cq;
	struct rdmablk_ctrl_buf rx[RDMABLK_CTRL_RECVS];
	struct rdmablk_ctrl_buf tx[RDMABLK_CTRL_TXS];
	unsigned long tx_busy;
	u16 version;
	struct mutex tx_lock;	/* seal, posting */
	struct rdmablk_sealed seal;
	spinlock_t rx_lock;	/* open, frame */
	struct rdmablk_sealed open;
	u8 frame[RDMABLK_CTRL_MSG_MAX] __aligned(8);
	spinlock_t lock;	/* slot, expected, msg_len, broken */
	struct rdmablk_ctrl_slot slot[RDMABLK_CTRL_TAGS];
	u16 expected;
	u8 msg[RDMABLK_CTRL_MSG_MAX] __aligned(8);
	u16 msg_len;
	u64 stale_answers;
	bool broken;
};

void rdmablk_ctrl_init(struct rdmablk_ctrl *ctrl, const struct rdmablk_ctrl_ops *ops,
		       struct rdmablk_waiter *waiter,
		       struct rdmablk_transport_errors *errors,
		       void (*fatal)(struct rdmablk_queue *q, u16 reason));
void rdmablk_ctrl_reset(struct rdmablk_ctrl *ctrl, u16 version);
void rdmablk_ctrl_open(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher);
void rdmablk_ctrl_seal(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher);
int rdmablk_ctrl_open_next(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher);
int rdmablk_ctrl_seal_next(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher);
int rdmablk_ctrl_create(struct rdmablk_ctrl *ctrl, struct ib_pd *pd);
void rdmablk_ctrl_stop(struct rdmablk_ctrl *ctrl);
void rdmablk_ctrl_destroy(struct rdmablk_ctrl *ctrl);
void rdmablk_ctrl_break(struct rdmablk_ctrl *ctrl);
void rdmablk_ctrl_wake(struct rdmablk_ctrl *ctrl);
int rdmablk_ctrl_ask(struct rdmablk_ctrl *ctrl, const void *msg, size_t len,
		     u16 reply, unsigned long deadline);
int rdmablk_ctrl_command(struct rdmablk_ctrl *ctrl, u16 op, u16 flags, u16 tag);
int rdmablk_ctrl_wait(struct rdmablk_ctrl *ctrl, u16 tag, unsigned long deadline);
void rdmablk_ctrl_close(struct rdmablk_ctrl *ctrl, u16 reason);

#endif /* RDMABLK_CTRL_H */
