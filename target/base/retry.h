/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes that have failed with EAGAIN or EINTR are tried again: at once the first
 * time, then once a millisecond, because the kernel may have the missing resource by then.
 * After five seconds the error is the result.
 *
 * An fdatasync is not tried again, see file_batch_sync(). A write with RWF_DSYNC is, although
 * its sync may hide an error of the page cache behind EINTR. Its own data is written again, so
 * the hidden error concerns other data: for an uncached file, FLUSHes see that error on a
 * descriptor of their own; and full.c writes so only when all other data is durable.
 */
#ifndef RDMABLKD_RETRY_H
#define RDMABLKD_RETRY_H

#include <errno.h>

#define RETRY_TRIES	5000
#define RETRY_MS	1

/**
 * enum retry - how to go on with I/O that has ended
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
 * retry_after - how to go on with I/O that has ended
 * @tries: number of tries in a row without progress; this function counts
 * @res: result of the I/O: -errno or bytes
 *
 * Return: enum retry.
 */
static inline enum retry retry_after(unsigned int *tries, int res)
{
	if ((res != -EINTR && res != -EAGAIN) || *tries == RETRY_TRIES)
		return RETRY_NOT;
	return (*tries)++ ? RETRY_LATER : RETRY_NOW;
}

#endif
