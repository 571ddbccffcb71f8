// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that each status of an answer becomes the right block status. The errno that a program
 * gets for it is beside it.
 */
#include "status.h"
#include "unit.h"

static blk_status_t want(unsigned int status)
{
	switch (status) {
	case RDMABLK_OK:
		return BLK_STS_OK;
	case RDMABLK_R_UNSUPPORTED:	/* EOPNOTSUPP */
		return BLK_STS_NOTSUPP;
	case RDMABLK_R_STORE_SPACE:	/* ENOSPC */
		return BLK_STS_NOSPC;
	case RDMABLK_R_READ_ONLY:	/* EREMOTEIO */
	case RDMABLK_R_STORE_READ_ONLY:
		return BLK_STS_TARGET;
	default:			/* EIO, also for unknown ones */
		return BLK_STS_IOERR;
	}
}

static void test_every_status(void **state)
{
	(void)state;
	for (unsigned int status = 0; status <= UINT8_MAX; status++)
		assert_int_equal(rdmablk_status_blk((u8)status), want(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_status),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
