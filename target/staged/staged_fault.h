/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of a file (store_fault.h) for threads that must not wait.
 */
#ifndef RDMABLKD_STAGED_FAULT_H
#define RDMABLKD_STAGED_FAULT_H

#include "base/ring.h"
#include "store/store_fault.h"

/**
 * struct staged_ask - what is about to be done
 * @ring: of the thread that does it
 * @fault: rules
 * @op: what
 * @offset: where
 * @bytes: how many
 * @src: gets the error if it shall fail
 * @go: called in the thread if not, with the bytes to be done
 */
struct staged_ask {
	struct ring *ring;
	struct store_fault *fault;
	enum store_fault_op op;
	uint64_t offset;
	uint64_t bytes;
	struct ring_source *src;
	void (*go)(struct ring_source *src, uint64_t bytes);
};

void staged_ask(const struct staged_ask *ask);

#endif
