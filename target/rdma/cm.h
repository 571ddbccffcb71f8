/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event channel of rdma_cm. Every CM id of the daemon lives on it, and the
 * context of every id is a struct cm_handler.
 */
#ifndef RDMABLKD_CM_H
#define RDMABLKD_CM_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

/**
 * struct cm_event - copy of an event; the original is acknowledged
 * @type: enum rdma_cm_event_type
 * @status: 0, -errno or a reject code
 * @id: id of the event; for a connection request the new id, which the handler owns
 * @resources: number of READs in flight that the initiator asks this side to answer
 * @qpn: number of the initiator's queue pair; of a connection request only
 * @len: bytes of @data
 * @data: private data
 */
struct cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	uint8_t resources;
	uint32_t qpn;
	uint8_t len;
	uint8_t data[UINT8_MAX];
};

/**
 * struct cm_handler - what the context of a CM id points to
 * @event: called in the loop; owns the id of a connection request
 */
struct cm_handler {
	void (*event)(struct cm_handler *handler, const struct cm_event *ev);
};

/* Message when cm_init() fails */
#define CM_MISSING "cannot open /dev/infiniband/rdma_cm (is the module rdma_ucm loaded?)"

int cm_init(void);
void cm_exit(void);
struct rdma_cm_id *cm_create_id(struct cm_handler *handler);

#endif
