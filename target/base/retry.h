/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of reads and writes that the kernel tells to come again, with EAGAIN or
 * EINTR. They do so at once the first time, and then once a millisecond: what the kernel is
 * short of may be back by then. After five seconds that is the result.
 *
 * Not for an fdatasync, see file_batch_sync(). But for a write with RWF_DSYNC, although its
 * sync, too, may hide an error of the page cache behind EINTR. Its own data is written again,
 * and the error is one of other data: an uncached file has another descriptor for FLUSHes,
 * which are told of the error, and full.c writes so only when all other data is durable.
 */
#ifndef RDMABLKD_RETRY_H
#define RDMABLKD_RETRY_H

#include <errno.h>

#define RETRY_TRIES	5000
#define RETRY_MS	1

/**
 * enum retry - what to do with I/O that has ended
 * @RETRY_NOT: it is done, or has failed
 * @RETRY_NOW: try it again
 * @RETRY_LATER: try it again after RETRY_MS
 */
enum retry {
	RETRY_NOT,
	RETRY_NOW,
	RETRY_LATER,
};

/**
 * retry_after - what to do with I/O that has ended
 * @tries: how often it was tried again without progress; counted here
 * @res: result, -errno or how much was done
 *
 * Return: what.
 */
static inline enum retry retry_after(unsigned int *tries, int res)
{
	if ((res != -EINTR && res != -EAGAIN) || *tries == RETRY_TRIES)
		return RETRY_NOT;
	return (*tries)++ ? RETRY_LATER : RETRY_NOW;
}

#endif
