// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of all sessions: finds sessions, those that wait for a turn or for their
 * initiators, and counts sessions by what they do. Calls nothing that changes a session.
 */
#include <stdlib.h>

#include "base/util.h"
#include "session/session.h"
#include "wire/mac.h"

static LIST_HEAD(, session) sessions = LIST_HEAD_INITIALIZER(sessions);
static LIST_HEAD(, session) kept = LIST_HEAD_INITIALIZER(kept);
static TAILQ_HEAD(, session) waiting = TAILQ_HEAD_INITIALIZER(waiting);
static void (*session_gone)(void);
static uint64_t session_last_id;

/**
 * session_init - initialise, before the first session
 * @gone: upcall whenever a session is gone
 *
 * Return: 0 or -errno.
 */
int session_init(void (*gone)(void))
{
	uint32_t start;
	int ret = mac_random(&start, sizeof(start));

	session_gone = gone;
	session_last_id = (uint64_t)start << 32;
	return ret;
}

/**
 * session_add - put a new session into the list
 * @s: session; gets its id
 */
void session_add(struct session *s)
{
	s->id = ++session_last_id;
	LIST_INSERT_HEAD(&sessions, s, entry);
}

/*
 * Keeps a session that has ended, because its driver has refused to destroy some of its
 * objects. The session stays for good, with its queues and their memory. Its keys are dead.
 * Events of the remaining objects find the session and change nothing.
 */
static void keep(struct session *s)
{
	s->state = SESSION_DYING;
	cq_stop(&s->cq);
	LIST_INSERT_HEAD(&kept, s, entry);
}

/**
 * session_remove - remove a session that has ended
 * @s: session; is freed, or kept if @stuck is set
 */
void session_remove(struct session *s)
{
	LIST_REMOVE(s, entry);
	loop_timer_stop(&s->end.late);
	if (s->end.stuck)
		keep(s);
	else
		free(s);
	session_gone();
}

/**
 * session_any - whether there are sessions
 *
 * Return: true: there is a session, in any state.
 */
bool session_any(void)
{
	return !LIST_EMPTY(&sessions);
}

/**
 * session_find - a session by its id
 * @id: as granted
 *
 * Return: the session, perhaps ending, or NULL.
 */
struct session *session_find(uint64_t id)
{
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		if (s->id == id)
			return s;
	return NULL;
}

/**
 * session_has_written - whether a session may have written
 * @s: session
 *
 * Writes of an earlier session of its device count, too, while the session logs in to go on.
 *
 * Return: true: it may.
 */
bool session_has_written(const struct session *s)
{
	bool resumes = (s->state == SESSION_REGISTER || s->state == SESSION_GRANTED) &&
		       s->hello.flags & RDMABLK_HELLO_RESUME;

	return (resumes || s->state == SESSION_LIVE) && s->lease.writer;
}

/**
 * session_has_cache - whether a session may have writes that only a FLUSH makes durable
 * @s: session
 *
 * Return: true: it may.
 */
bool session_has_cache(const struct session *s)
{
	return session_has_written(s) && s->grant_flags & RDMABLK_GRANT_CACHE;
}

/**
 * session_next - all sessions, one by one
 * @s: the one before, or NULL
 *
 * Return: the session, in any state, or NULL.
 */
struct session *session_next(const struct session *s)
{
	return s ? LIST_NEXT(s, entry) : LIST_FIRST(&sessions);
}

/**
 * session_users - how many sessions use an export
 * @export: export
 *
 * Return: those that are not ending.
 */
unsigned int session_users(const struct export *export)
{
	unsigned int nr = 0;
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		nr += s->export == export && s->state < SESSION_CLOSING;
	return nr;
}

/**
 * session_counts - what a session has done
 * @s: session
 * @sum: its commands are added here
 */
void session_counts(const struct session *s, struct store_counts *sum)
{
	store_add_counts(sum, &s->counts);
	/* In this order: a worker forgets @lanes once they have stopped. */
	if (!s->lanes_stopped && s->lanes)
		lane_counts(s->lanes, sum);
}

/**
 * session_left - whether any session still uses an export
 * @export: export
 *
 * Return: true: a session does, perhaps one that is ending.
 */
bool session_left(const struct export *export)
{
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		if (s->export == export)
			return true;
	return false;
}

/**
 * session_expected - whether a device may come that has to flush
 *
 * A device may have lost its session before this side has noticed.
 *
 * Return: true: such a device may come.
 */
bool session_expected(void)
{
	return session_caches(NULL) || export_awaiting();
}

/**
 * session_caches - count the sessions that still have to flush
 * @only: only sessions of this export; NULL: all
 *
 * Return: number of sessions.
 */
unsigned int session_caches(const struct export *only)
{
	unsigned int nr = 0;
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		nr += session_has_cache(s) && (!only || s->export == only);
	return nr;
}

/**
 * session_cmdqs_busy - look for sessions for which a store thread works
 *
 * Return: how many there are.
 */
unsigned int session_cmdqs_busy(void)
{
	unsigned int nr = 0;
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		nr += cmdq_busy(&s->cmdqs);
	return nr;
}

/**
 * session_ghosts - look for sessions that have write queues although their exports are free
 *
 * Only with a fault there are such sessions.
 *
 * Return: how many there are.
 */
unsigned int session_ghosts(void)
{
	unsigned int nr = 0;
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		nr += s->state >= SESSION_CLOSED && session_has_lanes(s);
	return nr;
}

/*
 * Turns: one session of an address is registered at a time.
 */

/**
 * session_turn_wait - let a session wait for its turn to be registered
 * @s: session
 */
void session_turn_wait(struct session *s)
{
	s->login.waits = true;
	TAILQ_INSERT_TAIL(&waiting, s, login.turn);
}

/**
 * session_turn_skip - take a session out of those that wait for their turn
 * @s: session, waiting or not
 */
void session_turn_skip(struct session *s)
{
	if (s->login.waits)
		TAILQ_REMOVE(&waiting, s, login.turn);
	s->login.waits = false;
}

/**
 * session_turn_next - the session whose turn follows that of another
 * @s: session that has had its turn
 *
 * Return: the first waiting session from the same address, or NULL.
 */
struct session *session_turn_next(const struct session *s)
{
	struct session *next;

	TAILQ_FOREACH(next, &waiting, login.turn)
		if (quota_same_address(session_peer(next), session_peer(s)))
			return next;
	return NULL;
}

/*
 * Silent logins: connections cost a peer nothing, and each holds a slot.
 */

#define SILENT_MS	2000	/* for a login until PROOF, when slots are short */

/*
 * HELLO proves nothing, so it does not count. A visit keeps its slot until another login needs
 * it, however many messages it sends.
 */
static int64_t silent_since(const struct session *s)
{
	return s->state == SESSION_VISIT ? s->born : s->login.connected;
}

/* Whether a session waits for its initiator, and has handled all messages that have come */
static bool is_silent(const struct session *s)
{
	return s->state < SESSION_REGISTER && s->login.slot &&
	       !s->busy && !cq_waits(&s->cq) && loop_now() - silent_since(s) >= SILENT_MS;
}

/**
 * session_silent - find a login or visit whose slot a new login may take
 * @peer: address of the new login
 *
 * Return: of those whose slot @peer could use, the login that has been silent for longest, or
 * the visit that has lasted longest, if that is long enough; or NULL.
 */
struct session *session_silent(const struct sockaddr *peer)
{
	struct session *s, *silent = NULL;

	LIST_FOREACH(s, &sessions, entry)
		if (is_silent(s) && (!silent || silent_since(s) <= silent_since(silent)) &&
		    quota_login_would(peer, session_peer(s)))
			silent = s;
	return silent;
}
