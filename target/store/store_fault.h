/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of an export's file on demand, for tests: errors, short transfers, delays and
 * hangs. A file of rules, which may change at any time, says which. Compiled in with
 * FAULTS=1 only; otherwise store_fault() is constant and the code behind it is gone.
 *
 * The file has a rule per line; '#' begins a comment:
 *
 *	OP ACTION [ARG] [at OFFSET+BYTES] [skip N] [count N]
 *
 *	OP	read, write, sync, discard, zero, or any
 *	ACTION	error NAME	EIO, ENOSPC, EDQUOT, EROFS, EINVAL, EAGAIN, EINTR
 *		short BYTES	a transfer moves so many at most
 *		delay MS	the request takes so much longer
 *		hang		the request waits until the file changes
 *	at	only requests that touch this range
 *	skip	not the first N requests that match
 *	count	N times; default: always
 *
 * The first rule that matches wins. When the file changes, all rules start again.
 */
#ifndef RDMABLKD_STORE_FAULT_H
#define RDMABLKD_STORE_FAULT_H

#include <stddef.h>
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

#ifdef RDMABLKD_FAULTS

int store_fault_open(struct store_fault **out, const char *path);
void store_fault_close(struct store_fault *sf);
int store_fault_ask(struct store_fault *sf, enum store_fault_op op, uint64_t offset,
		    uint64_t *bytes);

/**
 * store_fault - apply the rules to a request that is about to be done
 * @sf: rules; NULL: none
 * @op: kind of the request
 * @offset: where it begins, bytes
 * @bytes: its length; a rule may shorten it
 *
 * Waits as long as a rule says. Any thread.
 *
 * Return: 0: do it; -errno: it has failed and is not done.
 */
static inline int store_fault(struct store_fault *sf, enum store_fault_op op,
			      uint64_t offset, uint64_t *bytes)
{
	return sf ? store_fault_ask(sf, op, offset, bytes) : 0;
}

#else

static inline int store_fault_open(struct store_fault **out, const char *path)
{
	(void)path;
	*out = NULL;
	return 0;
}

static inline void store_fault_close(struct store_fault *sf)
{
	(void)sf;
}

static inline int store_fault(struct store_fault *sf, enum store_fault_op op,
			      uint64_t offset, uint64_t *bytes)
{
	(void)sf;
	(void)op;
	(void)offset;
	(void)bytes;
	return 0;
}

#endif
#endif
