/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target, included by fence.pml: the daemon's loop, its worker, and the kernel
 * that outlives a daemon which is killed.
 *
 *   model                        code
 *   Worker, FENCE()              session.c: session_fence(), fence_run(), fence_done()
 *   FENCE() -> closed()          session.c: session_fenced(), lease and CLOSE
 *   Daemon, admit()              dialog.c: admit(); export.c: export_resumable(),
 *                                export_admit(), conflict()
 *   Daemon, grant()              export.c: export_lease(); session_open.c:
 *                                session_register()
 *   Daemon, END()                session.c: session_end() by silence_expired(), by a
 *                                connection that is lost, by a guard
 *   Kernel, kill                 SIGKILL: the process stops at once, its queue pairs
 *                                and registrations live until its context is closed
 *   Kernel, start                arena.c: wait_for_process()
 *   writer                       struct store_writer, kept in the arena's trailer
 *
 * protocol.rst has the rules: "Take-over", "Who may have an export", "Close by the
 * target", "Logout".
 */

/* NO_WAIT_DMA: as if destroying a queue pair did not wait for what it has taken */
#ifdef NO_WAIT_DMA
#define QUIET(q, s)	true
#else
#define QUIET(q, s)	(!(((q) == 0 -> placing[2] : placing[1] | placing[3]) & BIT(s)))
#endif

inline destroy_qp(q, s)
{
	qp[q] = qp[q] & ~BIT(s);
	if
	:: q == 0 ->
		under_way[2] = under_way[2] & ~BIT(s);
		consumed[2] = consumed[2] & ~BIT(s)
	:: else ->
		under_way[1] = under_way[1] & ~BIT(s);
		under_way[3] = under_way[3] & ~BIT(s);
		consumed[1] = consumed[1] & ~BIT(s);
		consumed[3] = consumed[3] & ~BIT(s)
	fi
}

/* The lease is given back, and the peer may be told. */
inline closed(s)
{
	login[s] = 0;
	session[s] = (((qp[0] | qp[1] | mr) & BIT(s)) -> CLOSED : FREE)
}

/*
 * The fence. A daemon that is killed meanwhile does not go on.
 *
 * The queue pairs and the registration guard the arena twice: with KEEP_QPS or
 * KEEP_MR alone nothing is found. Both together are needed to let an old packet in,
 * or one registration for all sessions, or a queue pair that is overlooked.
 */
#define FENCING(s)	(running && session[s] == CLOSING)

#ifdef KEEP_QPS
#define NO_QP0(s)	true
#define NO_QP1(s)	true
#else
#define NO_QP0(s)	(!(qp[0] & BIT(s)))
#ifdef KEEP_SECOND_QP
#define NO_QP1(s)	true
#else
#define NO_QP1(s)	(!(qp[1] & BIT(s)))
#endif
#endif
#ifdef KEEP_MR
#define NO_MR(s)	true
#else
#define NO_MR(s)	(!(mr & BIT(s)))
#endif

#ifdef NO_FENCE
/* rdmablkd --fault no-fence: says it is over; what there is goes later */
#define FENCE(s) \
	:: d_step { FENCING(s) -> closed(s) } \
	:: d_step { running && session[s] == CLOSED && QUIET(0, s) && QUIET(1, s) -> \
		destroy_qp(0, s); \
		destroy_qp(1, s); \
		mr = mr & ~BIT(s); \
		closed(s) }
#else
#define FENCE(s) \
	:: d_step { FENCING(s) && !NO_QP0(s) && QUIET(0, s) -> destroy_qp(0, s) } \
	:: d_step { FENCING(s) && NO_QP0(s) && !NO_QP1(s) && QUIET(1, s) -> \
		destroy_qp(1, s) } \
	:: d_step { FENCING(s) && NO_QP0(s) && NO_QP1(s) && QUIET(0, s) && QUIET(1, s) -> \
		mr = (NO_MR(s) -> mr : mr & ~BIT(s)); \
		closed(s) }
#endif

active proctype Worker()
{
end:	do
	FENCE(0)
	FENCE(1)
	FENCE(2)		/* spare */
	SPARE3(FENCE(3))	/* spare */
	od
}

/*
 * Who A is: its instance before and after the loss of power. A message of a login
 * can still be under way when its sender is no more.
 */
byte hello;			/* mask of A's attempts whose login is under way */
byte resuming;			/* those of them with RDMABLK_HELLO_RESUME */
byte outdated;			/* attempts of the instance before */
bool hello_b, steal;		/* B's login is under way; with STEAL */
byte instance = 1;		/* of A, now */

#define INSTANCE(a)	((outdated & BIT(a)) -> 1 : instance)
#define INSTANCE_B	3

/*
 * The instance that was the last to be granted the export. A device that resumes
 * is refused for good when it is not that: another host has written meanwhile, and
 * what this one holds would land on top of it. FORGET_WRITER: nobody asks.
 * FORGET_ON_RESTART: it is not kept with the arena.
 */
byte writer;
#ifdef FORGET_WRITER
#define MAY_RESUME(a)	true
#else
#define MAY_RESUME(a)	(writer == 0 || writer == INSTANCE(a))
#endif

#define LEASE(s)	(session[s] == GRANTED || session[s] == IN_USE)
/* "host restarted", or the same instance with a higher generation */
#define REPLACES(a, s)	(!(outdated & BIT(a)) != !(outdated & BIT(login[s])) || \
			 (a) > login[s])
#define AWAITED(s)	(answer[OWNER(s)] == GRANT && answer_session[OWNER(s)] == (s))

mtype:answer verdict = NOTHING;
byte k;

/*
 * A claim meets each lease. GRANT_EARLY: granted while the fence of the session that
 * it replaces is still under way, so held writes are posted again before the target
 * can say that the old ones are gone.
 */
#ifdef GRANT_EARLY
#define NOT_YET		GRANT
#else
#define NOT_YET		FENCING
#endif

inline admit(host, a)
{
	verdict = GRANT;
	for (k : 0 .. NR_SESSIONS - 1) {
		if
		:: session[k] == CLOSING && verdict == GRANT ->
			verdict = NOT_YET
		:: LEASE(k) && OWNER(k) == host && (host == B || REPLACES(a, k)) ->
			session[k] = CLOSING;
			final = final | BIT(k);
			verdict = NOT_YET
		:: LEASE(k) && OWNER(k) != host && host == B && steal ->
			session[k] = CLOSING;
			final = final | BIT(k);
			verdict = NOT_YET
		:: LEASE(k) && ((OWNER(k) == host && host == A && !REPLACES(a, k)) ||
				(OWNER(k) != host && !(host == B && steal))) ->
			verdict = REFUSED
		:: else
		fi
	}
	k = 0
}

#define IS_UNUSED(s)	(session[s] == FREE && cur[A] != (s) && cur[B] != (s) && \
			 answer_session[A] != (s) && answer_session[B] != (s))

inline grant(host, a)
{
	newest = 0;
	do
	:: newest < NR_SESSIONS && !IS_UNUSED(newest) -> newest++
	:: else -> break
	od;
	assert(newest < NR_SESSIONS);
	session[newest] = GRANTED;
	login[newest] = a;
	owner = (owner & ~BIT(newest)) | (host << newest);
	final = final & ~BIT(newest);
	writer = (host == A -> INSTANCE(a) : INSTANCE_B);
	mr = mr | BIT(newest)
}

inline reply(host)
{
	answer[host] = verdict;
	answer_session[host] = (verdict == GRANT -> newest : NONE)
}

/* A login of A: of the attempt under way, or one that A has given up. */
#define HELLO_A(a) \
	:: d_step { running && (hello & BIT(a)) -> \
		if \
		:: (resuming & BIT(a)) && !MAY_RESUME(a) -> verdict = REFUSED \
		:: else -> admit(A, a) \
		fi; \
		hello = hello & ~BIT(a); \
		resuming = resuming & ~BIT(a); \
		if \
		:: verdict == GRANT -> grant(A, a) \
		:: else \
		fi; \
		if \
		:: con[A] == ASKING && attempt == a -> reply(A) \
		:: else \
		fi; \
		verdict = NOTHING }

/* A session that nobody uses any more ends, and for some reason also one in use. */
#define END(s) \
	:: d_step { running && LEASE(s) && !ATTACHED(s) && !AWAITED(s) -> \
		session[s] = CLOSING } \
	:: d_step { running && LEASE(s) && ATTACHED(s) && faults > 0 -> \
		faults--; \
		session[s] = CLOSING }

active proctype Daemon()
{
end:	do
	HELLO_A(0)
	HELLO_A(1)
	HELLO_A(2)
	HELLO_A(3)
	:: d_step { running && hello_b ->
		hello_b = false;
		admit(B, 0);
		if
		:: verdict == GRANT -> grant(B, 0)
		:: else
		fi;
		reply(B);
		verdict = NOTHING
	   }
	END(0)
	END(1)
	END(2)		/* spare */
	SPARE3(END(3))	/* spare */
	od
}

inline kill_daemon()
{
	running = false;
	dying = true;
	for (k : 0 .. NR_SESSIONS - 1) {
		if
		:: session[k] != FREE ->
			session[k] = DEAD;
			login[k] = 0
		:: else
		fi
	}
	k = 0;
	final = 0;
	hello = 0;
	resuming = 0;
	hello_b = false;
#ifdef FORGET_ON_RESTART
	writer = 0
#endif
}

inline close_context()
{
	dying = false;
	for (k : 0 .. NR_SESSIONS - 1) {
		if
		:: session[k] == DEAD ->
			destroy_qp(0, k);
			destroy_qp(1, k);
			mr = mr & ~BIT(k);
			closed(k)
		:: else
		fi
	}
	k = 0
}

/*
 * NO_WAIT_PROCESS: the successor serves the arena as soon as it has the lock on it,
 * which a killed process loses before its context is closed.
 */
#ifdef NO_WAIT_PROCESS
#define FORMER_IS_GONE	true
#else
#define FORMER_IS_GONE	(!dying)
#endif

active proctype Kernel()
{
end:	do
	:: d_step { running && kills > 0 -> kills--; kill_daemon() }
	:: d_step { dying && !(placing[1] | placing[2] | placing[3]) -> close_context() }
	:: d_step { !running && FORMER_IS_GONE -> running = true }
	od
}
