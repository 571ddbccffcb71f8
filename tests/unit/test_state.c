// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/state.c allows the moves below and no other, between states and between
 * phases of an outage.
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

/* A row per phase, a column per next phase, both in the order of the enum. */
static const char follows[RDMABLK_PHASES][RDMABLK_PHASES + 1] = {
	/*			     FUBDLS */
	[RDMABLK_PHASE_FIRST]	 = ".x....",
	[RDMABLK_PHASE_UP]	 = "..x..x",
	[RDMABLK_PHASE_BROKEN]	 = "...xx.",
	[RDMABLK_PHASE_DOWN]	 = ".x..x.",
	[RDMABLK_PHASE_LOST]	 = "...x..",
	[RDMABLK_PHASE_SEALED]	 = "......",
};

static void test_phases(void **state)
{
	(void)state;
	for (int from = -2; from < RDMABLK_PHASES + 40; from++) {
		for (int to = -2; to < RDMABLK_PHASES + 40; to++) {
			bool want = from >= 0 && from < RDMABLK_PHASES && to >= 0 &&
				    to < RDMABLK_PHASES && follows[from][to] == 'x';

			if (rdmablk_state_may_follow((enum rdmablk_phase)from,
						     (enum rdmablk_phase)to) != want)
				fail_msg("phase %d -> %d", from, to);
		}
	}
}

/* In every other phase the queues of a connection may exist. */
static void test_down(void **state)
{
	static const bool down[RDMABLK_PHASES] = {
		[RDMABLK_PHASE_FIRST] = true,
		[RDMABLK_PHASE_DOWN] = true,
		[RDMABLK_PHASE_LOST] = true,
	};

	(void)state;
	for (unsigned int p = 0; p < RDMABLK_PHASES; p++)
		assert_int_equal(rdmablk_state_is_down((enum rdmablk_phase)p), down[p]);
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

/* A disk in any state can be removed. */
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
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_down),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_all_roads_lead_to_deleting),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
