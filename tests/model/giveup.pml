/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving up: a write that fast_io_fail_tmo reports as failed never lands afterwards.
 * A Promela model for spin, with time; tests/model/run checks it.
 *
 * fence.pml shows, without any time, that such a write never lands after a newer one
 * on the export. But whoever is told of a failure may do something elsewhere because
 * of it: a mirror goes on with its other half. So the write must not land at all any
 * more, and when the target says nothing, only time can tell (protocol.rst, "Held
 * writes"). The initiator waits session_tmo_ms and a margin from the moment at which
 * its own queue pairs were destroyed. There are two reasons for that to be enough,
 * each with its own assumption, and each is checked on its own:
 *
 *   RUNS     The target's daemon runs. Then it ends the session session_tmo_ms after
 *            it last heard of it. How long a data packet may be under way does not
 *            matter, for it meets no queue pair. The margin covers the delay of the
 *            last control message, a late timer of the target, and its fence.
 *   STOPS    The daemon may be stopped at any moment, for ever; its adapter takes
 *            every packet. Then no packet must live as long as session_tmo_ms and
 *            the margin together.
 *
 *   model            code
 *   Initiator        recovery.c: rdmablk_recovery_teardown() sets hold_until,
 *                    rdmablk_recovery_fail_io() looks at it and at "fenced",
 *                    rdmablk_session_closed() and rdmablk_recovery_goodbye() set that
 *   Target           session.c: silence_expired(), session_end(), session_fence(),
 *                    session_fenced()
 *
 * Time is counted in ticks by Clock, which waits for what is due: an event that must
 * happen within n ticks happens before the tick after the n-th. Two events of one
 * tick may come in either order, so a bound that must be kept is kept by a tick more.
 */
#define SESSION_TMO	3

/* what the margin is for; ticks */
#define CTRL_DELAY	1	/* a control message, from the initiator to the target */
#define TIMER_LATE	1	/* the target's timer */
#ifndef FENCE_TIME
#define FENCE_TIME	1	/* from the end of the session to the last queue pair's */
#endif
#ifdef NO_MARGIN
#define MARGIN		0
#else
#define MARGIN		(CTRL_DELAY + TIMER_LATE + 1 + 1)
#endif
#define HOLD		(SESSION_TMO + MARGIN)

/* RUNS: a data packet may live for ever; STOPS: so long */
#ifdef RUNS
#define STOPS		0
#define MUST_ARRIVE	false
#else
#define STOPS		2
#ifndef LIFE
#define LIFE		(HOLD - 1)
#endif
#define MUST_ARRIVE	(data && data_age >= LIFE)
#endif
#define MANY		15	/* no counter needs to go further */

mtype = { IN_USE, BROKEN, HOLDING, REPORTED };
mtype initiator = IN_USE;	/* BROKEN: the connection is lost, the queue pairs exist */
byte held;			/* ticks of the hold */
bool fenced;			/* the target has said so */

bool ctrl;			/* a control message is under way */
byte ctrl_age;
bool data;			/* the WRITE is under way; of its copies the youngest */
byte data_age;
bool close;			/* CLOSE, or the answer to LOGOUT, is under way */

mtype = { LIVE, CLOSING, CLOSED };
mtype session = LIVE;
bool stopped;			/* SIGSTOP; for ever unless it goes on */
byte stops = STOPS;
byte silent;			/* ticks since the target heard of the initiator */
byte closing;			/* ticks of the fence */
bool landed;

#define QPS_EXIST	(initiator == IN_USE || initiator == BROKEN)
#define OLDER(age)	((age) < MANY -> (age) + 1 : (age))

bool landed_after_report;

/* Data of the WRITE are sent, and sent again, as long as the queue pair exists. */
active proctype Network()
{
end:	do
	:: d_step { QPS_EXIST && !(data && data_age == 0) -> data = true; data_age = 0 }
	:: d_step { data && session != CLOSED ->
		data = false;
		data_age = 0;
		landed = true;
		landed_after_report = (initiator == REPORTED);
		assert(!landed_after_report)
	   }
	:: d_step { data -> data = false; data_age = 0 }
	/* so are control messages */
	:: d_step { QPS_EXIST && !(ctrl && ctrl_age == 0) -> ctrl = true; ctrl_age = 0 }
	:: d_step { ctrl -> ctrl = false; ctrl_age = 0 }
	od
}

/* HOLD_FROM_LOSS: the clock of the hold starts while the queue pairs still send. */
#ifdef HOLD_FROM_LOSS
#define HOLD_TICKS	(initiator == BROKEN || initiator == HOLDING)
#else
#define HOLD_TICKS	(initiator == HOLDING)
#endif
/* NO_HOLD: reported as soon as the queue pairs are drained */
#ifdef NO_HOLD
#define HELD_ENOUGH	true
#else
#define HELD_ENOUGH	(held >= HOLD)
#endif

active proctype Initiator()
{
	initiator = BROKEN;
	/* until its control queue is gone, too, it hears the target */
	do
	:: d_step { close -> close = false; fenced = true }
	:: break
	od;
	initiator = HOLDING;
	d_step { (fenced || HELD_ENOUGH) -> initiator = REPORTED }
}

/* NO_LEASE: a silent session lives on */
#ifdef NO_LEASE
#define EXPIRED		false
#else
#define EXPIRED		(silent >= SESSION_TMO)
#endif
/* CLOSE_EARLY: the target says that it is over before it is */
#ifdef CLOSE_EARLY
#define MAY_CLOSE	(session != LIVE)
#else
#define MAY_CLOSE	(session == CLOSED)
#endif

bool told;

active proctype Target()
{
end:	do
	:: d_step { !stopped && stops > 0 -> stops--; stopped = true }
	:: d_step { stopped -> stopped = false }
	:: d_step { ctrl && !stopped && session == LIVE ->
		ctrl = false;
		ctrl_age = 0;
		silent = 0
	   }
	:: d_step { session == LIVE && !stopped && EXPIRED -> session = CLOSING; silent = 0 }
	/* a connection is lost at its end, too; LOGOUT */
	:: d_step { session == LIVE && !stopped && initiator != IN_USE ->
		session = CLOSING;
		silent = 0
	   }
	/* the worker goes on unless the process is stopped */
	:: d_step { session == CLOSING && !stopped -> session = CLOSED; closing = 0 }
	:: d_step { MAY_CLOSE && !told && !stopped && QPS_EXIST -> told = true; close = true }
	od
}

#define DUE \
	((ctrl && ctrl_age >= CTRL_DELAY) || MUST_ARRIVE || \
	 (session == LIVE && !stopped && EXPIRED && silent >= SESSION_TMO + TIMER_LATE) || \
	 (session == CLOSING && !stopped && closing >= FENCE_TIME))

active proctype Clock()
{
end:	do
	:: d_step { !DUE ->
		ctrl_age = (ctrl -> OLDER(ctrl_age) : 0);
		data_age = (data -> OLDER(data_age) : 0);
		silent = (session == LIVE -> OLDER(silent) : 0);
		closing = (session == CLOSING -> OLDER(closing) : 0);
		held = (HOLD_TICKS -> OLDER(held) : held)
	   }
	od
}

#ifdef PROGRESS
ltl progress { <> (initiator == REPORTED) }
#endif
