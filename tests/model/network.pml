/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network and the adapter of the target, included by fence.pml.
 *
 * A packet is one WRITE for one session. It is taken by the adapter if the queue
 * pair exists, if its key is that of a registration, and if its sequence number was
 * not consumed already: reliable connections execute a request once, so a copy is
 * answered and not placed again. Packets may overtake each other even within a queue
 * pair, where they could not: all the more orders are searched.
 *
 * Then it is under way to memory, in the adapter or on the bus, and lands. That is
 * a step of its own because ibv_destroy_qp() and ibv_dereg_mr() promise to return
 * only after it, see target.pml.
 *
 * A packet that is lost while its queue pair lives is sent again, which is a delay;
 * one whose queue pair has gone is dropped whenever it arrives, so it is forgotten
 * at once.
 */

/* ONE_KEY: as if all sessions shared a registration (region.c has one for each) */
#ifdef ONE_KEY
#define KEY_IS_VALID(s)	(mr != 0)
#else
#define KEY_IS_VALID(s)	(mr & BIT(s))
#endif

/* NO_PSN: as if the transport executed copies; shows that there are some */
#ifdef NO_PSN
#define IS_NEW(w, s)	true
#else
#define IS_NEW(w, s)	(!(consumed[w] & BIT(s)))
#endif

inline arrive(w, s, copy_stays)
{
	if
	:: (qp[QUEUE(w)] & BIT(s)) && KEY_IS_VALID(s) && IS_NEW(w, s) ->
		placing[w] = placing[w] | BIT(s);
		consumed[w] = (copy_stays -> consumed[w] | BIT(s) :
					     consumed[w] & ~BIT(s))
	:: else ->
		consumed[w] = consumed[w] & ~BIT(s)
	fi
}

/*
 * The write is in the block. Its completion finds the initiator if that has its end
 * of the queue pair still. NO_DRAIN: a completion of an earlier session completes
 * the request although it has been posted again (rdmablk_session_stop_data() drains
 * before rdmablk_request_hold_all() takes the requests).
 */
inline land(w, s)
{
	block = w;
	stale_write = OVERTAKEN(w, 1) || OVERTAKEN(w, 2) || OVERTAKEN(w, 3);
	assert(!stale_write);
	failed_write = (outcome[w] == FAILED);
	assert(!failed_write);
	check_contents();
#ifdef INVARIANT
	old_session_wrote = (s != newest);
	assert(!old_session_wrote);
#endif
	if
#ifdef NO_DRAIN
	:: true ->
#else
	:: ATTACHED(s) ->
#endif
		acked[w] = acked[w] | BIT(s)
	:: else
	fi
}

#define DELIVER(w, s) \
	:: d_step { (under_way[w] & BIT(s)) -> \
		under_way[w] = under_way[w] & ~BIT(s); \
		arrive(w, s, false) } \
	:: d_step { (under_way[w] & BIT(s)) && copies > 0 && !(consumed[w] & BIT(s)) -> \
		copies--; \
		arrive(w, s, true) }

active proctype Network()
{
end:	do
	EACH_WRITE(DELIVER, 0)
	EACH_WRITE(DELIVER, 1)
	EACH_WRITE(DELIVER, 2)		/* spare */
	SPARE3(EACH_WRITE(DELIVER, 3))	/* spare */
	od
}

#define PLACE(w, s) \
	:: d_step { (placing[w] & BIT(s)) -> \
		placing[w] = placing[w] & ~BIT(s); \
		land(w, s) }

active proctype Adapter()
{
end:	do
	EACH_WRITE(PLACE, 0)
	EACH_WRITE(PLACE, 1)
	EACH_WRITE(PLACE, 2)		/* spare */
	SPARE3(EACH_WRITE(PLACE, 3))	/* spare */
	od
}
