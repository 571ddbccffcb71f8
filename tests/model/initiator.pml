/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The initiators, included by fence.pml.
 *
 *   model                        code
 *   the application              whoever has /dev/rdmablk0 open
 *   post, complete               dispatch.c: rdmablk_dispatch_queue(), request.c: _done()
 *   lose_a()                     recovery.c: rdmablk_recovery_teardown():
 *                                rdmablk_session_stop_data() drains,
 *                                rdmablk_request_hold_all() takes what is left
 *   DOWN -> ASKING               recovery.c: rdmablk_recovery_try();
 *                                login.c: rdmablk_login()
 *   FENCING                      login.c: rdmablk_login_again()
 *   go_live_a()                  login.c: rdmablk_login_queues(), _ready();
 *                                session.c: rdmablk_session_go_live();
 *                                recovery.c: rdmablk_recovery_resume()
 *   REFUSED, "final"             recovery.c: rdmablk_reason_is_final()
 *   LEAVING                      recovery.c: rdmablk_recovery_goodbye()
 *   give up                      recovery.c: rdmablk_fail_work()
 *
 * A request that is held and a request that was never posted are the same here:
 * either is posted when a session is live. GRANT comes before the queues can join,
 * and they join before anything can be posted, so granting and joining are one step
 * at the initiator and the fence is not between them.
 */

bool disk;			/* the disk exists: A has been live since it started */
bool failing;			/* new requests fail instead of being held */
byte next = 1;			/* write of A to issue next */

inline next_attempt()
{
	attempt++;
	if
	:: hello == 0 ->
		attempt = 1;
		outdated = 0;
		for (k : 0 .. NR_SESSIONS - 1) {
			login[k] = 0
		}
		k = 0
	:: else
	fi;
	assert(attempt < NR_ATTEMPTS)
}

inline drop_completions(s)
{
#ifndef NO_DRAIN
	acked[1] = acked[1] & ~BIT(s);
	acked[2] = acked[2] & ~BIT(s);
	acked[3] = acked[3] & ~BIT(s)
#else
	skip
#endif
}

inline end_write(w, how)
{
	if
	:: WAITS(w) -> outcome[w] = how
	:: else
	fi
}

inline end_writes_a(how)
{
	end_write(1, how);
	end_write(2, how)
}

/* COMPLETE_ON_LOSS: what was in flight is reported as done */
inline hold(w)
{
	if
	:: outcome[w] == POSTED ->
#ifdef COMPLETE_ON_LOSS
		outcome[w] = ACKED;
		check_contents()
#else
		outcome[w] = HELD
#endif
	:: else
	fi
}

/* The connection of the live session is lost: drain, destroy, hold. */
inline lose_a()
{
	drop_completions(cur[A]);
	cur[A] = NONE;
	con[A] = DOWN;
	hold(1);
	hold(2);
	next_attempt()
}

/* There will be no other try. */
inline end_a(how)
{
	con[A] = OVER;
	cur[A] = NONE;
	answer[A] = NOTHING;
	answer_session[A] = NONE;
	end_writes_a(how)
}

/*
 * A login has failed. When it was the first there will be no disk, and whoever tries
 * again is another instance. So a login without RESUME can not be under way when its
 * instance has been live: an old one of those, granted late, would make its instance
 * the last writer again.
 */
inline forget_login_a()
{
	con[A] = DOWN;
	answer[A] = NOTHING;
	answer_session[A] = NONE;
	if
	:: disk -> next_attempt()
	:: else -> end_a(FAILED)
	fi
}

inline go_live_a()
{
	cur[A] = answer_session[A];
	answer[A] = NOTHING;
	answer_session[A] = NONE;
	session[cur[A]] = IN_USE;
	qp[0] = qp[0] | BIT(cur[A]);
	qp[1] = qp[1] | BIT(cur[A]);
	con[A] = LIVE;
	disk = true;
	failing = false
}

/* A comes back as another instance, with nothing but its host id. */
inline crash_a()
{
	drop_completions((cur[A] == NONE -> NR_SESSIONS : cur[A]));
	cur[A] = NONE;
	con[A] = DOWN;
	answer[A] = NOTHING;
	answer_session[A] = NONE;
	end_writes_a(CRASHED);
	attempt++;
	assert(attempt < NR_ATTEMPTS);
	outdated = BIT(attempt) - 1;
	instance = 2;
	disk = false;
	failing = false
}

/*
 * CLOSE, or the answer to LOGOUT, comes when the fence is complete. CLOSE_EARLY: when
 * it begins.
 */
#ifdef CLOSE_EARLY
#define IS_TOLD(s)	(session[s] != GRANTED && session[s] != IN_USE)
#else
#define IS_TOLD(s)	(session[s] == FREE || session[s] == CLOSED)
#endif

#ifdef NO_DRAIN
#define COMPLETES(w, host) (acked[w] && WAITS(w))
#else
#define COMPLETES(w, host) (con[host] == LIVE && (acked[w] & BIT(cur[host])))
#endif

/* NO_REQUEUE: what was held is never posted again */
#ifdef NO_REQUEUE
#define MAY_POST(w)	(faults == FAULTS)
#else
#define MAY_POST(w)	true
#endif

#define WRITE(w, host) \
	:: d_step { con[host] == LIVE && outcome[w] == HELD && MAY_POST(w) -> \
		outcome[w] = POSTED; \
		under_way[w] = under_way[w] | (BIT(cur[host]) & qp[QUEUE(w)]) } \
	:: d_step { COMPLETES(w, host) -> \
		acked[w] = 0; \
		outcome[w] = ACKED; \
		check_contents() }

active proctype Host_A()
{
	do
	/* the application */
	:: d_step { next <= 2 && disk && con[A] != OVER ->
		older[next] = (ENDED(1) -> BIT(1) : 0) | (ENDED(2) -> BIT(2) : 0) |
			      (ENDED(3) -> BIT(3) : 0);
		outcome[next] = (failing -> TIMED_OUT : HELD);
		next++
	   }
	:: d_step { reads > 0 && con[A] == LIVE && (qp[0] & mr & BIT(cur[A])) ->
		reads--;
		seen = seen | BIT(block)
	   }
	WRITE(1, A)
	WRITE(2, A)

	/* a connection is lost; the target's last word is lost with it, or comes first */
	:: d_step { con[A] == LIVE && faults > 0 -> faults--; lose_a() }
	:: d_step { con[A] == LIVE && session[cur[A]] != IN_USE && !(final & BIT(cur[A])) ->
		lose_a()
	   }
	:: d_step { con[A] == LIVE && (final & BIT(cur[A])) && IS_TOLD(cur[A]) ->
		drop_completions(cur[A]);
		end_a(FAILED)
	   }
	:: d_step { con[A] == ASKING && faults > 0 -> faults--; forget_login_a() }
	:: d_step { con[A] == ASKING && answer[A] == NOTHING && !(hello & BIT(attempt)) ->
		forget_login_a()	/* the daemon was killed */
	   }

	/* a login */
	:: d_step { con[A] == DOWN && running ->
		con[A] = ASKING;
		hello = hello | BIT(attempt);
		resuming = (disk -> resuming | BIT(attempt) : resuming)
	   }
	:: d_step { con[A] == ASKING && answer[A] == FENCING ->
		con[A] = DOWN;
		answer[A] = NOTHING
	   }
	:: d_step { con[A] == ASKING && answer[A] == REFUSED -> end_a(FAILED) }
	:: d_step { con[A] == ASKING && answer[A] == GRANT &&
		    session[answer_session[A]] == GRANTED -> go_live_a() }
	:: d_step { con[A] == ASKING && answer[A] == GRANT &&
		    session[answer_session[A]] != GRANTED &&
		    !(final & BIT(answer_session[A])) -> forget_login_a() }
	:: d_step { con[A] == ASKING && answer[A] == GRANT &&
		    (final & BIT(answer_session[A])) && IS_TOLD(answer_session[A]) ->
		end_a(FAILED)
	   }

	/* dev_loss_tmo is 0 and a data queue fails, but not the control queue: LOGOUT */
	:: d_step { LOGOUT && con[A] == LIVE && session[cur[A]] == IN_USE && faults > 0 ->
		faults--;
		drop_completions(cur[A]);
		con[A] = LEAVING;
		session[cur[A]] = CLOSING
	   }
	:: d_step { con[A] == LEAVING && IS_TOLD(cur[A]) -> end_a(FAILED) }

	/* fast_io_fail_tmo; without time, it may be over at any moment */
	:: d_step { GIVE_UP && (con[A] == DOWN || con[A] == ASKING) && !failing &&
		    (WAITS(1) || WAITS(2)) ->
		failing = true;
		end_writes_a(TIMED_OUT)
	   }

	/* power */
	:: d_step { crashes > 0 && con[A] != OVER -> crashes--; crash_a() }

	:: (next > 2 || con[A] == OVER) && !WAITS(1) && !WAITS(2) -> break
	od;
	done_a = true
}

inline go_live_b()
{
	cur[B] = answer_session[B];
	session[cur[B]] = IN_USE;
	qp[0] = qp[0] | BIT(cur[B]);
	qp[1] = qp[1] | BIT(cur[B]);
	con[B] = LIVE;
	older[3] = (outcome[1] != UNUSED -> BIT(1) : 0) |
		   (outcome[2] != UNUSED -> BIT(2) : 0);
	outcome[3] = HELD
}

/*
 * B comes after A has had the export, or not at all. It writes and goes; when
 * its session is lost, so is B.
 */
active proctype Host_B()
{
	if
	:: HOSTS == 2 -> steal = true
	:: HOSTS == 2 -> steal = false
	:: con[B] = OVER
	fi;
	do
	:: d_step { con[B] == DOWN && newest == NONE && con[A] == OVER -> con[B] = OVER }
	:: d_step { con[B] == DOWN && running && newest != NONE ->
		con[B] = ASKING;
		hello_b = true
	   }
	:: d_step { con[B] == ASKING && answer[B] == NOTHING && !hello_b -> con[B] = DOWN }
	:: d_step { con[B] == ASKING && answer[B] == FENCING ->
		con[B] = DOWN;
		answer[B] = NOTHING
	   }
	:: d_step { con[B] == ASKING && answer[B] == REFUSED ->
		con[B] = OVER;
		answer[B] = NOTHING
	   }
	:: d_step { con[B] == ASKING && answer[B] == GRANT ->
		if
		:: session[answer_session[B]] == GRANTED -> go_live_b()
		:: else -> con[B] = OVER
		fi;
		answer[B] = NOTHING;
		answer_session[B] = NONE
	   }
	WRITE(3, B)
	:: d_step { con[B] == LIVE && (session[cur[B]] != IN_USE || outcome[3] == ACKED) ->
		end_write(3, CRASHED);
		drop_completions(cur[B]);
		con[B] = OVER;
		cur[B] = NONE
	   }
	:: con[B] == OVER -> break
	od;
	done_b = true
}
