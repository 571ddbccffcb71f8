/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults on demand, for tests: each breaks one promise. Compiled in with
 * FAULTS=1 only; otherwise fault() is constant and the code behind it is gone.
 */
#ifndef RDMABLKD_FAULT_H
#define RDMABLKD_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * enum fault - what to break
 * @FAULT_NO_KEEPALIVE_ANSWER: swallow KEEPALIVE commands
 * @FAULT_NO_FENCE: say that a session is over while its queues and keys live on
 * @FAULT_SLOW_FENCE: queues and keys of a session that ends live so many milliseconds longer
 * @FAULT_GRANT_EARLY: grant before the session that is replaced has been fenced
 * @FAULT_NO_RECV: do not post receives of the control queue again
 * @FAULT_CORRUPT_GRANT: flip a bit of GRANT after its MAC
 * @FAULT_BAD_VERSION: accept with a version that no initiator speaks
 * @FAULT_FOREIGN_ACCEPT: accept data queues of version 2 with a wrong MAC
 * @FAULT_FULL_REJECT: reject data queues for want of room, and say no more, as a forger would
 * @FAULT_FLIP_CHALLENGE: flip a bit of each CHALLENGE of version 2; fault_flip() says which
 * @FAULT_FLIP_ACCEPT: flip a bit of the accept of each first data queue, likewise
 * @FAULT_UNSEALED_CLOSE: send one CLOSE with this reason and without a seal to a live session
 * @FAULT_UNSEALED_RESIZE: send one RESIZE to this many bytes, likewise
 * @FAULT_SLOW_LOGIN: GRANT comes so many milliseconds late
 * @FAULT_LOST_FLUSH: answer FLUSH without doing it
 * @FAULT_EARLY_FLUSH: answer FLUSH before it is done
 * @FAULT_EARLY_ZEROES: answer DISCARD and WRITE_ZEROES before they are done
 * @FAULT_LOST_DIRTY: note nothing of DIRTY, nor of the range of a FLUSH
 * @FAULT_LOST_END: do not tell the store that a session ended with something unflushed
 * @FAULT_NO_STORE_WAIT: let a session end during one of its commands
 * @FAULT_SLOW_STORE: each piece of a command takes so many milliseconds longer
 * @FAULT_SAME_EPOCH: new contents have the epoch of all others
 * @FAULT_FORGET_WRITER: forget who wrote last when an export is opened
 * @FAULT_FOLD_SCRATCH: the second page of a scratch region is its first one, too
 * @FAULT_COUNT: how many there are
 */
enum fault {
	FAULT_NO_KEEPALIVE_ANSWER,
	FAULT_NO_FENCE,
	FAULT_SLOW_FENCE,
	FAULT_GRANT_EARLY,
	FAULT_NO_RECV,
	FAULT_CORRUPT_GRANT,
	FAULT_BAD_VERSION,
	FAULT_FOREIGN_ACCEPT,
	FAULT_FULL_REJECT,
	FAULT_FLIP_CHALLENGE,
	FAULT_FLIP_ACCEPT,
	FAULT_UNSEALED_CLOSE,
	FAULT_UNSEALED_RESIZE,
	FAULT_SLOW_LOGIN,
	FAULT_LOST_FLUSH,
	FAULT_EARLY_FLUSH,
	FAULT_EARLY_ZEROES,
	FAULT_LOST_DIRTY,
	FAULT_LOST_END,
	FAULT_NO_STORE_WAIT,
	FAULT_SLOW_STORE,
	FAULT_SAME_EPOCH,
	FAULT_FORGET_WRITER,
	FAULT_FOLD_SCRATCH,
	FAULT_COUNT,
};

#ifdef RDMABLKD_FAULTS

#define FAULT_BUILT	true

uint64_t fault(enum fault which);
uint64_t fault_once(enum fault which);
void fault_flip(enum fault which, void *bytes, size_t len);
int fault_set(const char *word);
const char *fault_options(void);

#else

#define FAULT_BUILT	false

/* 0: off; else the value given, 1 without one */
static inline uint64_t fault(enum fault which)
{
	(void)which;
	return 0;
}

static inline uint64_t fault_once(enum fault which)
{
	(void)which;
	return 0;
}

static inline void fault_flip(enum fault which, void *bytes, size_t len)
{
	(void)which;
	(void)bytes;
	(void)len;
}

static inline int fault_set(const char *word)
{
	(void)word;
	return -1;
}

static inline const char *fault_options(void)
{
	return "";
}

#endif
#endif
