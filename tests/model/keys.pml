/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys: rotation and revocation against reconnect and reauthentication in version 2 of
 * the protocol. A Promela model for spin; tests/model/run checks it.
 *
 * login.pv shows what an attacker cannot learn or forge. Here the two sides are honest,
 * and the question is in which order things may happen: a key is removed while a login or
 * a reauthentication with it is under way, frames of the old epoch are in flight when the
 * new one begins, the connection is lost at any moment.
 *
 * One disk of one host, whose keys are 1 and 2. The administrator, in any order and at
 * any moment: removes key 1 at the target; with SECOND allows key 2 at the target, and
 * gives it to the disk; with AGAIN allows key 1 once more. Besides:
 *
 *   FAULTS    the connection is lost
 *   ATTACKS   somebody inserts an unsealed CLOSE with a final reason, to either side
 *   TIMERS    reauth_tmo has passed
 *
 * A frame has the epoch whose key seals it. The queue is reliable and ordered, and what
 * is under way is lost with the connection. There is no time: the target's deadline for
 * a key that ends may pass at any moment after EVENT REAUTH. It ends nothing if the key is
 * allowed again by then.
 *
 * Properties
 *
 *   old_epoch        a side seals with a key of an epoch that has ended for it: for the
 *                    initiator when REAUTH_DONE has arrived, for the target when it has
 *                    sent that
 *   frame_refused    a side does not open a frame of its honest peer
 *   revoked_session  a session lives with a key that the target does not allow, and no
 *                    deadline runs for it
 *   io_failed        the disk fails its I/O; no reason of this model may do that
 *   deadlock         somebody waits for ever (spin's invalid end states)
 *   progress         with SECOND the disk is live with key 2 at last, with AGAIN it is
 *                    live, and with neither of them its session has ended for good
 *
 *   model            code
 *   Initiator        login.c, recovery.c, ctrl_events.c; i_open(): sealed.c
 *   Target           target/session/login.c; t_open(): sealed.c
 *   Deadline, Admin  session_key_ends(); the reload of hosts
 *
 * Variants take one protection out; tests/model/run has the list.
 */
#ifndef SECOND
#define SECOND		0
#endif
#ifndef AGAIN
#define AGAIN		0
#endif
#ifndef FAULTS
#define FAULTS		1
#endif
#ifndef ATTACKS
#define ATTACKS		0
#endif
#ifndef TIMERS
#define TIMERS		1
#endif

#define PLAIN		255	/* epoch of a message that is not sealed */
#define NONE		254
#define ROOM		6	/* messages under way; the sends assert that it suffices */

mtype = {
	HELLO, CHALLENGE, PROOF, GRANT,
	KEEPALIVE, EVENT,
	REAUTH, REAUTH_CHALLENGE, REAUTH_PROOF, REAUTH_DONE,
	CLOSE_KEY,		/* RDMABLK_R_AUTH_KEY */
	CLOSE_FAILED,		/* RDMABLK_R_AUTH_FAILED */
	CLOSE_FORGED
};

/* type, epoch, key id */
chan i2t = [ROOM] of { mtype, byte, byte };
chan t2i = [ROOM] of { mtype, byte, byte };
bool con;

mtype:initiator = { DOWN, ASKED, PROVED, LIVE, FAILED };
mtype:initiator initiator = DOWN;
byte loaded = 1;		/* the key that the disk has */
byte i_key;			/* the one that it proved last, or proves */
byte i_tx = NONE, i_rx = NONE, i_next = NONE;
byte i_newest;			/* epoch of the last REAUTH_DONE */
bool want, dialogue;		/* a reauthentication is to begin; is under way */

mtype:target = { IDLE, CHALLENGED, IN_USE, OVER };
mtype:target target = IDLE;
bool allowed_1 = true, allowed_2;
byte t_key, t_dialogue_key;	/* of the session; of what is under way */
bool known, dialogue_known;	/* what the target thought of it when it began */
byte t_tx = NONE, t_rx = NONE, t_next = NONE;
byte t_newest;
bool ends;			/* the deadline runs */

#define ALLOWED(key)	((key) == 1 && allowed_1 || (key) == 2 && allowed_2)

byte faults = FAULTS, attacks = ATTACKS, timers = TIMERS;

bool old_epoch, frame_refused, revoked_session, io_failed;

hidden mtype msg;
hidden byte epoch, key;

inline lose()
{
	do
	:: len(i2t) > 0 -> i2t?_, _, _
	:: else -> break
	od;
	do
	:: len(t2i) > 0 -> t2i?_, _, _
	:: else -> break
	od;
	con = false
}

inline check_session()
{
	revoked_session = (con && target == IN_USE && !ALLOWED(t_key) && !ends);
	assert(!revoked_session)
}

/* Initiator */

inline i_down()
{
	initiator = DOWN;
	i_key = 0;
	i_tx = NONE; i_rx = NONE; i_next = NONE; i_newest = 0;
	want = false; dialogue = false
}

inline i_fail()
{
	initiator = FAILED;
	io_failed = true;
	assert(!io_failed)
}

inline i_send(type, with)
{
	old_epoch = (i_tx < i_newest);
	assert(!old_epoch);
	assert(len(i2t) < ROOM);
	i2t!type, i_tx, with
}

inline i_open()
{
	if
	:: epoch == i_next -> i_rx = i_next; i_next = NONE
	:: else
	fi;
	frame_refused = (epoch != i_rx);
	assert(!frame_refused)
}

/* STALE_KEY: the disk goes on with the key of its first login */
#ifdef STALE_KEY
#define CHOSEN		1
#else
#define CHOSEN		loaded
#endif

/* UNSEALED_FINAL: the reason of an unsealed CLOSE counts */
inline i_unsealed()
{
#ifdef UNSEALED_FINAL
	i_fail()
#else
	lose();
	i_down()
#endif
}

inline i_sealed()
{
	i_open();
	if
	:: msg == GRANT -> initiator = LIVE
	:: msg == EVENT -> want = (CHOSEN != i_key)
	:: msg == REAUTH_CHALLENGE ->
		i_next = i_rx + 1;
#ifdef SWITCH_EARLY	/* the initiator seals with the new key before REAUTH_DONE */
		i_tx = i_next;
#endif
		i_send(REAUTH_PROOF, 0)
	:: msg == REAUTH_DONE ->
		i_newest = i_rx;
#ifndef KEEPS_OLD_KEY
		i_tx = i_rx;
#endif
		dialogue = false
	:: msg == CLOSE_KEY ->
#ifdef KEY_FINAL	/* the end of a key is final */
		i_fail()
#else
		lose();
		i_down()
#endif
#ifdef REFUSED_FAILED
	:: msg == CLOSE_FAILED -> i_fail()
#endif
	fi
}

active proctype Initiator()
{
	do
	:: d_step { !con && initiator != DOWN && initiator != FAILED -> i_down() }
	:: d_step { !con && initiator == DOWN && target == IDLE ->
		con = true;
		initiator = ASKED;
		i_key = CHOSEN;
		i2t!HELLO, PLAIN, i_key
	   }
	:: atomic { len(t2i) > 0 && initiator != FAILED ->
		t2i?msg, epoch, key;
		if
		:: epoch == PLAIN && msg == CHALLENGE && initiator == ASKED ->
			initiator = PROVED;
			i_tx = 0; i_rx = 0;
			i2t!PROOF, PLAIN, 0
		:: epoch == PLAIN && !(msg == CHALLENGE && initiator == ASKED) -> i_unsealed()
		:: epoch != PLAIN -> i_sealed()
		fi
	   }
	:: d_step { initiator == LIVE && con && want && !dialogue ->
		want = false;
		dialogue = true;
		i_key = CHOSEN;
		i_send(REAUTH, i_key)
	   }
	od
}

active proctype Keepalive()
{
end:	do
	:: d_step { initiator == LIVE && con && len(i2t) == 0 -> i_send(KEEPALIVE, 0) }
	:: d_step { initiator == LIVE && timers > 0 && !want -> timers--; want = true }
	od
}

/* Target */

inline t_idle()
{
	target = IDLE;
	t_key = 0; t_dialogue_key = 0; known = false; dialogue_known = false;
	t_tx = NONE; t_rx = NONE; t_next = NONE; t_newest = 0;
	ends = false
}

inline t_send(type)
{
	old_epoch = (t_tx < t_newest);
	assert(!old_epoch);
	assert(len(t2i) < ROOM);
	t2i!type, t_tx, 0
}

inline t_over(type)
{
	t_send(type);
	target = OVER;
	ends = false
}

/* NO_RECHECK: what held when HELLO came counts; REAUTH_NO_RECHECK: the same for REAUTH */
#ifdef NO_RECHECK
#define ADMITTED	known
#else
#define ADMITTED	ALLOWED(t_key)
#endif
#ifdef REAUTH_NO_RECHECK
#define PROVES		dialogue_known
#else
#define PROVES		ALLOWED(t_dialogue_key)
#endif
/* REFUSED_FAILED: a reauthentication is refused with a reason that is final */
#ifdef REFUSED_FAILED
#define REFUSAL		CLOSE_FAILED
#else
#define REFUSAL		CLOSE_KEY
#endif

inline t_unsealed()
{
	if
	:: msg == HELLO && target == IDLE ->
		t_key = key;
		known = ALLOWED(key);
		target = CHALLENGED;
		t2i!CHALLENGE, PLAIN, 0
	:: msg == PROOF && target == CHALLENGED && ADMITTED ->
		target = IN_USE;
		t_tx = 0; t_rx = 0;
		t_send(GRANT)
	:: msg == PROOF && target == CHALLENGED && !ADMITTED ->
		target = OVER;
		t2i!CLOSE_FAILED, PLAIN, 0
	:: msg == CLOSE_FORGED -> lose(); t_idle()
	fi
}

inline t_open()
{
	if
	:: epoch == t_next -> t_rx = t_next; t_next = NONE
	:: else
	fi;
	frame_refused = (epoch != t_rx);
	assert(!frame_refused)
}

inline t_sealed()
{
	t_open();
	if
	:: msg == KEEPALIVE
	:: msg == REAUTH ->
		t_dialogue_key = key;
		dialogue_known = ALLOWED(key);
		t_send(REAUTH_CHALLENGE)
	:: msg == REAUTH_PROOF && PROVES ->
		t_key = t_dialogue_key;
		t_dialogue_key = 0; dialogue_known = false;
		ends = false;
		assert(t_next == NONE);
		t_newest = t_tx + 1;
#ifndef DONE_IN_OLD_EPOCH
		t_tx = t_newest;
#endif
#ifdef NO_PREPARE	/* the target opens nothing of the old epoch any more */
		t_rx = t_newest;
#else
		t_next = t_newest;
#endif
		t_send(REAUTH_DONE)
	:: msg == REAUTH_PROOF && !PROVES -> t_over(REFUSAL)
	fi
}

active proctype Target()
{
end:	do
	:: d_step { !con && target != IDLE -> t_idle() }
	:: atomic { len(i2t) > 0 && target != OVER ->
		i2t?msg, epoch, key;
		if
		:: epoch == PLAIN -> t_unsealed()
		:: epoch != PLAIN -> t_sealed()
		fi;
		check_session()
	   }
	od
}

/* NO_DEADLINE: EVENT REAUTH is all that happens to the session */
active proctype Deadline()
{
end:	do
#ifdef NO_DEADLINE
	:: d_step { false -> t_over(CLOSE_KEY) }
#else
	:: d_step { ends && target == IN_USE && con && !ALLOWED(t_key) -> t_over(CLOSE_KEY) }
	:: d_step { ends && target == IN_USE && con && ALLOWED(t_key) -> ends = false }
#endif
	od
}

active proctype Admin()
{
	bool remove = true, allow = SECOND, load = SECOND, again = AGAIN;

	do
	:: d_step { remove ->
		remove = false;
		allowed_1 = false;
		if
#ifndef FORGETS_SESSION	/* a reload looks at logins only */
		:: target == IN_USE && t_key == 1 && con -> ends = true; t_send(EVENT)
#endif
		:: else
		fi;
		check_session()
	   }
	:: d_step { allow -> allow = false; allowed_2 = true }
	:: d_step { load -> load = false; loaded = 2; want = (initiator == LIVE) }
	:: d_step { !remove && again -> again = false; allowed_1 = true }
	:: !remove && !allow && !load && !again -> break
	od
}

active proctype Network()
{
end:	do
	:: d_step { faults > 0 && con -> faults--; lose() }
	:: d_step { attacks > 0 && con && initiator != FAILED ->
		attacks--;
		assert(len(t2i) < ROOM);
		t2i!CLOSE_FORGED, PLAIN, 0
	   }
	:: d_step { attacks > 0 && con && target != OVER ->
		attacks--;
		assert(len(i2t) < ROOM);
		i2t!CLOSE_FORGED, PLAIN, 0
	   }
	od
}

#if SECOND
#define GOAL	(initiator == LIVE && target == IN_USE && t_key == 2 && !ends)
#elif AGAIN
#define GOAL	(initiator == LIVE && target == IN_USE && !ends)
#else
#define GOAL	(target != IN_USE)
#endif
#ifdef PROGRESS
ltl progress { <> [] GOAL }
#endif
