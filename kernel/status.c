// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the block layer is told of what the target says. PURE, and the one place where
 * that is decided: its errors become the errno that a program gets.
 */
#include "status.h"
#include "uapi/rdmablk_proto.h"

/**
 * rdmablk_status_blk() - what an answer means for a request
 * @status: enum rdmablk_reason
 *
 * Return: BLK_STS_OK or what the block layer is told.
 */
blk_status_t rdmablk_status_blk(u8 status)
{
	switch (status) {
	case RDMABLK_OK:
		return BLK_STS_OK;
	case RDMABLK_R_UNSUPPORTED:
		return BLK_STS_NOTSUPP;
	case RDMABLK_R_STORE_SPACE:
		return BLK_STS_NOSPC;
	case RDMABLK_R_READ_ONLY:
	case RDMABLK_R_STORE_READ_ONLY:
		return BLK_STS_TARGET;
	default:
		return BLK_STS_IOERR;
	}
}
