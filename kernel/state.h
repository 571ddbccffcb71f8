/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The allowed moves between states, and between the phases of an outage. The setters in
 * session.c check them.
 */
#ifndef RDMABLK_STATE_H
#define RDMABLK_STATE_H

#include <linux/types.h>
#include "uapi/rdmablk_netlink.h"

/**
 * enum rdmablk_phase - phases of an outage
 */
enum rdmablk_phase {
	/** @RDMABLK_PHASE_FIRST: no login has succeeded yet */
	RDMABLK_PHASE_FIRST,
	/** @RDMABLK_PHASE_UP: a connection carries I/O, so there is no outage */
	RDMABLK_PHASE_UP,
	/** @RDMABLK_PHASE_BROKEN: the connection has failed; the recovery takes it down */
	RDMABLK_PHASE_BROKEN,
	/** @RDMABLK_PHASE_DOWN: the connection has been taken down; logins may follow */
	RDMABLK_PHASE_DOWN,
	/** @RDMABLK_PHASE_LOST: the connection has been taken down; reconnecting has ended */
	RDMABLK_PHASE_LOST,
	/** @RDMABLK_PHASE_SEALED: the session ends in order; an error starts no recovery */
	RDMABLK_PHASE_SEALED,
	/** @RDMABLK_PHASES: number of phases */
	RDMABLK_PHASES,
};

/**
 * rdmablk_state_is_down() - whether no connection carries I/O, or is being taken down
 * @phase: phase
 *
 * Return: true: no queue of an earlier connection is left.
 */
static inline bool rdmablk_state_is_down(enum rdmablk_phase phase)
{
	return phase == RDMABLK_PHASE_FIRST || phase == RDMABLK_PHASE_DOWN ||
	       phase == RDMABLK_PHASE_LOST;
}

bool rdmablk_state_may_follow(enum rdmablk_phase from, enum rdmablk_phase to);
bool rdmablk_state_may_move(enum rdmablk_dev_state from, enum rdmablk_dev_state to);

#endif /* RDMABLK_STATE_H */
