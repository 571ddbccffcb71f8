/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fence: no write that an initiator gave up on, or sent twice, lands after a
 * newer one. A Promela model for spin; tests/model/run checks it.
 *
 * What is modelled
 *
 * One logical block of one export. Host A has it as a disk and writes it twice,
 * and reads; host B takes the export over, with --steal or when it finds it free,
 * and writes once. Either write of A may be outstanding while the other is issued.
 * Writes are numbered, and the block holds the number of the write that landed
 * last; 0 is what it held before.
 *
 * Faults come at any moment, as many as the constants below allow, in any order:
 *
 *   FAULTS   a connection of A fails (of a live session or of a login under way),
 *            or the target ends a session for reasons of its own
 *   KILLS    kill -9 of the daemon; another one takes over its kept arena
 *   CRASHES  A loses power and comes back as a new instance
 *   COPIES   packets that the network delivers twice
 *
 * Nothing in this model knows time. A packet may be under way for ever, may arrive
 * long after its queue pair's other end is gone, in any order. A timeout may come
 * whenever it could at all. So what is proved holds whatever the clocks say;
 * giveup.pml is about the one promise for which time is needed.
 *
 * What is not: FLUSH and the epoch (loss of the contents), which have no part in
 * the fence; READ queue pairs, on which nothing lands; the dialogue of the login,
 * which is one message and its answer here. Nor does a queue pair number come
 * back while packets for its predecessor are under way: that is what first packet
 * sequence numbers drawn at random and the time-wait of rdma_cm are for.
 *
 * Two writes of one block that are outstanding at the same time may land in any
 * order, and a replay may make one of them land a second time after the other.
 * Nothing that is built on a block device does that.
 *
 * Properties
 *
 *   stale_write   a write landed after a newer one was acknowledged or had been
 *                 read. Newer: issued after the older had ended, acknowledged or
 *                 reported as failed; or issued by B, who has the export after A
 *   lost_write    an acknowledged write is not in the block, nor a newer one
 *   failed_write  a write landed after it had been reported as failed on the
 *                 target's word (CLOSE, the answer to LOGOUT, a login refused)
 *   old_session_wrote  a write landed through a session that is not the newest:
 *                 the fence itself; the others are its consequences. Checked
 *                 with -DINVARIANT, so that the variants below have to break a
 *                 promise that somebody can notice
 *   deadlock      somebody waits for ever (spin's invalid end states)
 *   progress      faults end because they are counted; then every write ends.
 *                 Checked without giving up, so it ends acknowledged unless the
 *                 export was taken over
 *
 * Variants: a switch takes one protection out, and spin must find a violation, or
 * must not where there is a second one; tests/model/run has the list.
 *
 * Files: network.pml (packets, adapter), target.pml (daemon, its kernel),
 * initiator.pml (hosts A and B).
 */
#ifndef HOSTS
#define HOSTS		2
#endif
#ifndef FAULTS
#define FAULTS		1
#endif
#ifndef KILLS
#define KILLS		0
#endif
#ifndef CRASHES
#define CRASHES		0
#endif
#ifndef COPIES
#define COPIES		0
#endif
#ifndef READS
#define READS		1
#endif
#ifndef GIVE_UP
#define GIVE_UP		1
#endif
#ifndef LOGOUT
#define LOGOUT		1
#endif

#define A		0
#define B		1
#define NONE		255
#define BIT(n)		(1 << (n))

/*
 * The writes, from 1. Each has its hardware queue, as blk-mq has it by the CPU, so
 * 1 and 3 go by the second write queue pair of a session and 2 by the first.
 */
#define NR_WRITES	3
#define QUEUE(w)	((w) % 2)

mtype:outcome = {
	UNUSED,			/* not issued yet */
	HELD,			/* by the initiator, until a session is live */
	POSTED,			/* on a queue pair of the live session */
	ACKED,			/* acknowledged to the application */
	FAILED,			/* reported as failed, on the target's word */
	TIMED_OUT,		/* reported as failed by the clock */
	CRASHED			/* nobody is left to whom it could be reported */
};
mtype:outcome outcome[NR_WRITES + 1] = UNUSED;

byte older[NR_WRITES + 1];	/* masks of the writes that each one is newer than */
byte block;			/* the contents: number of a write */
byte seen;			/* mask of contents that were read */

/*
 * A session is a slot here, and masks of sessions are bytes. A slot is used again
 * when the session is gone and nobody refers to it, which keeps the number of
 * states small. Three are enough, and four for the variants; grant() asserts that.
 */
#ifndef NR_SESSIONS
#define NR_SESSIONS	3
#endif

/* network and adapter, masks of sessions; by write */
byte under_way[NR_WRITES + 1];	/* packets */
byte placing[NR_WRITES + 1];	/* past the checks of the queue pair, not in memory yet */
byte consumed[NR_WRITES + 1];	/* packet sequence number is, and a copy is under way */
byte acked[NR_WRITES + 1];	/* the completion waits for the initiator */

/* what lets a packet into the arena; masks of sessions */
byte qp[2];			/* write queue pairs of the target, by hardware queue */
byte mr;			/* registrations */

mtype:session = {
	FREE,			/* no such session: before, and after */
	GRANTED,		/* queues may join */
	IN_USE,			/* LIVE of protocol.rst */
	CLOSING,		/* the fence runs */
	CLOSED,			/* the fence is said to be complete; variants only:
				 * queue pairs or a registration are left */
	DEAD			/* of a daemon that was killed */
};
mtype:session session[NR_SESSIONS] = FREE;
byte owner;			/* mask of sessions: B's; else A's */
byte login[NR_SESSIONS];	/* A's attempt that it was granted to */
byte final;			/* mask of sessions that ended as STOLEN or REPLACED */
byte newest = NONE;

bool running = true;		/* a daemon answers */
bool dying;			/* one was killed, and its process is not gone yet */

mtype:connection = { DOWN, ASKING, LIVE, LEAVING, OVER };
mtype:connection con[2] = DOWN;
byte cur[2] = NONE;		/* session in use */

mtype:answer = { NOTHING, FENCING, GRANT, REFUSED };
mtype:answer answer[2] = NOTHING;	/* to the login under way */
byte answer_session[2] = NONE;

/*
 * A's logins are numbered like "generation" of HELLO. One that the target asks to
 * come again (FENCING) keeps its number, as nothing is left of it. When no login of
 * an earlier attempt is under way, numbering starts again, which nobody can tell
 * from going on and which keeps the number of states finite.
 */
#define NR_ATTEMPTS	4
byte attempt;

byte faults = FAULTS, kills = KILLS, crashes = CRASHES, copies = COPIES, reads = READS;
bool done_a, done_b;

/* the properties */
bool stale_write, lost_write, failed_write, old_session_wrote;

#define ENDED(w)	(outcome[w] != UNUSED && outcome[w] != HELD && outcome[w] != POSTED)
#define WAITS(w)	(outcome[w] == HELD || outcome[w] == POSTED)
#define KNOWN(w)	(outcome[w] == ACKED || (seen & BIT(w)))
#define OVERTAKEN(w, by) ((older[by] & BIT(w)) && KNOWN(by))
#define LOST(w)		(outcome[w] == ACKED && \
			 (block == 0 || (older[w] & BIT(block))))
#define OWNER(s)	((owner >> (s)) & 1)
#define ATTACHED(s)	(con[OWNER(s)] == LIVE && cur[OWNER(s)] == (s))

/* Whenever the block has changed, and whenever a write is acknowledged */
inline check_contents()
{
	lost_write = LOST(1) || LOST(2) || LOST(3);
	assert(!lost_write)
}

/*
 * M(w, s) for each write. The slots have a line each where these are used: the run
 * checks that each line of the model is executed, and without a variant the third
 * slot is granted at most, and the fourth not even that.
 */
#define EACH_WRITE(M, s)	M(1, s) M(2, s) M(3, s)
#if NR_SESSIONS > 3
#define SPARE3(x)		x
#else
#define SPARE3(x)
#endif

#include "network.pml"
#include "target.pml"
#include "initiator.pml"

#ifdef PROGRESS
ltl progress { <> (done_a && done_b) }
#endif
