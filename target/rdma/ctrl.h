/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The message buffers of a control queue.
 */
#ifndef RDMABLKD_CTRL_H
#define RDMABLKD_CTRL_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

#include "uapi/rdmablk_proto.h"
#include "uapi/rdmablk_keysched.h"
#include "uapi/rdmablk_sealed.h"

/*
 * Number of sends: an answer per tag, all events that may be under way, a CLOSE. The peer has
 * as many receives.
 */
#define CTRL_SENDS	RDMABLK_CTRL_RECVS
#define CTRL_RECVS	RDMABLK_CTRL_RECVS
#define CTRL_EVENTS	(RDMABLK_CTRL_RECVS - RDMABLK_CTRL_TAGS - 1)

/* Work request ids: kind and number of the buffer */
#define CTRL_WR_RECV	0x10000
#define CTRL_WR_SEND	0x20000
#define CTRL_WR_INDEX	0x0ffff

/**
 * struct ctrl - buffers of a control queue
 * @qp: queue pair
 * @mr: registration of @buf, local rights only
 * @buf: CTRL_RECVS receive buffers, CTRL_SENDS send buffers, and one buffer for the guards of
 *	data queues, on which nothing should arrive
 * @sending: send buffers under way, a bit each
 * @events: those of @sending that hold events
 * @sealed: every message is sealed, in both directions
 * @tx: seals sent messages
 * @rx: opens received messages
 * @plain: the last message opened
 */
struct ctrl {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buf;
	unsigned int sending;
	unsigned int events;
	bool sealed;
	struct rdmablk_sealed tx;
	struct rdmablk_sealed rx;
	uint8_t plain[RDMABLK_SEALED_MAX];
};

int ctrl_create(struct ctrl *ctrl, struct ibv_pd *pd);
int ctrl_start(struct ctrl *ctrl, struct ibv_qp *qp);
int ctrl_post(struct ctrl *ctrl, unsigned int index);
int ctrl_send(struct ctrl *ctrl, const void *msg, size_t len, bool last);
int ctrl_send_event(struct ctrl *ctrl, const void *msg, size_t len);
int ctrl_seal(struct ctrl *ctrl, const struct rdmablk_keysched_keys *keys);
int ctrl_rekey(struct ctrl *ctrl, const struct rdmablk_keysched_keys *keys);
const void *ctrl_message(struct ctrl *ctrl, unsigned int index, uint32_t bytes, size_t *len);
bool ctrl_is_close(const struct ctrl *ctrl, unsigned int index, uint32_t bytes);
void ctrl_guard_sge(const struct ctrl *ctrl, struct ibv_sge *sge);
void ctrl_sent(struct ctrl *ctrl, unsigned int index);
void ctrl_forget(struct ctrl *ctrl);
void ctrl_destroy(struct ctrl *ctrl);

#endif
