// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of allowed moves between states, and between the phases of an outage.
 * PURE: the unit tests compile this file.
 */
#include <linux/kernel.h>
#include "state.h"

#define TO(state)	(1U << RDMABLK_DEV_##state)

static const u8 rdmablk_state_moves[RDMABLK_DEV_STATES] = {
	/* being set up: the login starts, or the set-up fails */
	[RDMABLK_DEV_NEW]	 = TO(CONNECTING) | TO(DELETING),
	/* logging in: the login succeeds, fails, or is given up */
	[RDMABLK_DEV_CONNECTING] = TO(LIVE) | TO(DELETING),
	/* I/O flows: an error or the administrator ends it */
	[RDMABLK_DEV_LIVE]	 = TO(RECOVERING) | TO(DELETING),
	/* reconnecting: the session is back, the time is over, or the disk is removed */
	[RDMABLK_DEV_RECOVERING] = TO(LIVE) | TO(FAILED) | TO(DELETING),
	/* all I/O fails: the administrator retries, or removes the disk */
	[RDMABLK_DEV_FAILED]	 = TO(RECOVERING) | TO(DELETING),
	/* being removed: no state follows */
	[RDMABLK_DEV_DELETING]	 = 0,
};

/**
 * rdmablk_state_may_move() - whether a move is allowed
 * @from: state
 * @to: state
 *
 * Return: true: allowed; false also if a state does not exist.
 */
bool rdmablk_state_may_move(enum rdmablk_dev_state from, enum rdmablk_dev_state to)
{
	if ((unsigned int)from >= RDMABLK_DEV_STATES ||
	    (unsigned int)to >= RDMABLK_DEV_STATES)
		return false;
	return rdmablk_state_moves[from] & (1U << to);
}

#define PHASE(phase)	(1U << RDMABLK_PHASE_##phase)

static const u8 rdmablk_state_phases[RDMABLK_PHASES] = {
	/* the first login succeeds; after one that fails the session is removed as it is */
	[RDMABLK_PHASE_FIRST]	= PHASE(UP),
	/* an error breaks the connection, or the session ends before an error */
	[RDMABLK_PHASE_UP]	= PHASE(BROKEN) | PHASE(SEALED),
	/* the teardown ends, with or without hope */
	[RDMABLK_PHASE_BROKEN]	= PHASE(DOWN) | PHASE(LOST),
	/* a login succeeds, or the time is over, or the target refuses for good */
	[RDMABLK_PHASE_DOWN]	= PHASE(UP) | PHASE(LOST),
	/* the administrator wants another try */
	[RDMABLK_PHASE_LOST]	= PHASE(DOWN),
	/* no phase follows */
	[RDMABLK_PHASE_SEALED]	= 0,
};

/**
 * rdmablk_state_may_follow() - whether a phase of an outage may follow another
 * @from: phase
 * @to: phase
 *
 * Return: true: allowed; false also if a phase does not exist.
 */
bool rdmablk_state_may_follow(enum rdmablk_phase from, enum rdmablk_phase to)
{
	if ((unsigned int)from >= RDMABLK_PHASES || (unsigned int)to >= RDMABLK_PHASES)
		return false;
	return rdmablk_state_phases[from] & (1U << to);
}
