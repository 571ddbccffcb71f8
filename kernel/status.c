// SPDX-License-Identifier: GPL-2.0-only
/*
 * Translates the status in a target's answer for the block layer, which makes of it the
 * errno that a program gets. PURE. No other place translates a status.
 */
#include "status.h"
#include "uapi/rdmablk_proto.h"

/**
 * rdmablk_status_blk() - translate the status of an answer
 * @status: enum rdmablk_reason
 *
 * Return: status for the block layer.
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
