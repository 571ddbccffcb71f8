/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session's state and phase in place of session.c, for tests of files that ask for them. The
 * tables of state.c decide which moves are allowed.
 */
#ifndef UNIT_SESSION_FAKES_H
#define UNIT_SESSION_FAKES_H

#include "session_world.h"

enum rdmablk_dev_state rdmablk_session_state(struct rdmablk_session *of)
{
	return of->state;
}

static inline bool session_fakes_move(struct rdmablk_session *of, enum rdmablk_dev_state to)
{
	assert_false(of->lock.held);
	if (!rdmablk_state_may_move(of->state, to))
		return false;
	of->state = to;
	return true;
}

bool rdmablk_session_set_phase(struct rdmablk_session *of, enum rdmablk_phase to)
{
	assert_true(of->lock.held);
	if (!rdmablk_state_may_follow(of->outage.phase, to))
		return false;
	of->outage.phase = to;
	return true;
}

#endif
