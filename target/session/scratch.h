/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory lent to one visit.
 */
#ifndef RDMABLKD_SCRATCH_H
#define RDMABLKD_SCRATCH_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct scratch - the scratch region of a visit; zeroed: none
 * @asked: the visit has asked for one, and may not do so again
 * @bytes: lent; 0: none
 * @mem: its memory, whole pages, of nothing else; NULL: none
 * @mr: its registration, of @bytes; NULL: none
 * @iova: its remote address
 * @step: the step that has failed, for the log
 */
struct scratch {
	bool asked;
	uint32_t bytes;
	void *mem;
	struct ibv_mr *mr;
	uint64_t iova;
	const char *step;
};

uint64_t scratch_room(uint32_t bytes);
int scratch_register(struct scratch *scratch, struct ibv_pd *pd);
int scratch_deregister(struct scratch *scratch);
void scratch_free(struct scratch *scratch);

#endif
