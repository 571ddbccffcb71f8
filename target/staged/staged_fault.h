/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of faults (store_fault.h) for I/O threads, which must not wait. Compiled in with
 * FAULTS=1 only; otherwise staged_fault() does the request at once.
 */
#ifndef RDMABLKD_STAGED_FAULT_H
#define RDMABLKD_STAGED_FAULT_H

#include "base/fault.h"
#include "base/ring.h"
#include "store/store_fault.h"

/**
 * struct staged_ask - a request that is about to be done
 * @ring: of the thread that does it
 * @fault: rules; NULL: none
 * @op: kind of the request
 * @offset: where it begins, bytes
 * @bytes: its length
 * @src: gets the error if a rule lets the request fail
 * @go: called in the thread otherwise: do the request, with the bytes that a rule leaves
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

void staged_fault_ask(const struct staged_ask *ask);

/**
 * staged_fault - do a request unless a rule lets it fail
 * @ask: the request; copied
 *
 * In the thread of its ring. Does not wait.
 */
static inline void staged_fault(const struct staged_ask *ask)
{
	if (FAULT_BUILT && ask->fault)
		staged_fault_ask(ask);
	else
		ask->go(ask->src, ask->bytes);
}

#endif
