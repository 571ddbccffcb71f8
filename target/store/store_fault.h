/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of what is behind an export, on demand: between the stores and their file
 * errors, short transfers, delays and hangs, as a file of rules says that may change
 * at any time. Without such a file nothing is looked at.
 *
 * The file has a rule per line; '#' begins a comment:
 *
 *	OP ACTION [ARG] [at OFFSET+BYTES] [skip N] [count N]
 *
 *	OP	read, write, sync, discard, zero, or any
 *	ACTION	error NAME	EIO, ENOSPC, EDQUOT, EROFS, EINVAL, EAGAIN, EINTR
 *		short BYTES	no more than so many are transferred
 *		delay MS	it takes so much longer
 *		hang		it is done when the rule is gone from the file
 *	at	only what touches this range
 *	skip	not the first N that fit
 *	count	N times; default: always
 *
 * The first rule that fits counts. A file that changes starts all rules anew.
 */
#ifndef RDMABLKD_STORE_FAULT_H
#define RDMABLKD_STORE_FAULT_H

#include <stdint.h>

/**
 * enum store_fault_op - what can go wrong
 * @STORE_FAULT_READ: reading the file
 * @STORE_FAULT_WRITE: writing it
 * @STORE_FAULT_SYNC: fdatasync
 * @STORE_FAULT_DISCARD: discarding and secure erasing
 * @STORE_FAULT_ZERO: zeroing without writing
 */
enum store_fault_op {
	STORE_FAULT_READ,
	STORE_FAULT_WRITE,
	STORE_FAULT_SYNC,
	STORE_FAULT_DISCARD,
	STORE_FAULT_ZERO,
	STORE_FAULT_OPS,
};

struct store_fault;

int store_fault_open(struct store_fault **out, const char *path);
void store_fault_close(struct store_fault *sf);
int store_fault_ask(struct store_fault *sf, enum store_fault_op op, uint64_t offset,
		    uint64_t *bytes);

/**
 * store_fault - is something to go wrong now
 * @sf: rules; NULL: none
 * @op: what is about to be done
 * @offset: where
 * @bytes: how many; may get fewer
 *
 * Waits as long as a rule says. Any thread.
 *
 * Return: 0: do it; -errno: it has failed so, and is not done.
 */
static inline int store_fault(struct store_fault *sf, enum store_fault_op op,
			      uint64_t offset, uint64_t *bytes)
{
	return sf ? store_fault_ask(sf, op, offset, bytes) : 0;
}

#endif
