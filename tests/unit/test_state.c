// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/state.c allows the moves below and no other.
 */
#include "state.h"
#include "unit.h"

/* A row per state, a column per next state, both in the order of the enum. */
static const char allowed[RDMABLK_DEV_STATES][RDMABLK_DEV_STATES + 1] = {
	/*			  NCLRFD */
	[RDMABLK_DEV_NEW]	 = ".x...x",
	[RDMABLK_DEV_CONNECTING] = "..x..x",
	[RDMABLK_DEV_LIVE]	 = "...x.x",
	[RDMABLK_DEV_RECOVERING] = "..x.xx",
	[RDMABLK_DEV_FAILED]	 = "...x.x",
	[RDMABLK_DEV_DELETING]	 = "......",
};

static void test_moves(void **state)
{
	(void)state;
	for (int from = -2; from < RDMABLK_DEV_STATES + 40; from++) {
		for (int to = -2; to < RDMABLK_DEV_STATES + 40; to++) {
			bool want = from >= 0 && from < RDMABLK_DEV_STATES && to >= 0 &&
				    to < RDMABLK_DEV_STATES && allowed[from][to] == 'x';

			if (rdmablk_state_may_move((enum rdmablk_dev_state)from,
						   (enum rdmablk_dev_state)to) != want)
				fail_msg("%s -> %s", rdmablk_dev_state_text(from),
					 rdmablk_dev_state_text(to));
		}
	}
}

static void test_names(void **state)
{
	static const char * const name[] = {
		"new", "connecting", "live", "recovering", "failed", "deleting", "unknown",
	};

	(void)state;
	for (unsigned int s = 0; s <= RDMABLK_DEV_STATES; s++)
		assert_string_equal(rdmablk_dev_state_text(s), name[s]);
}

/* Whatever happened, a disk can be removed; then nothing else happens. */
static void test_all_roads_lead_to_deleting(void **state)
{
	(void)state;
	for (int s = 0; s < RDMABLK_DEV_DELETING; s++)
		assert_true(rdmablk_state_may_move((enum rdmablk_dev_state)s,
						   RDMABLK_DEV_DELETING));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_all_roads_lead_to_deleting),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
