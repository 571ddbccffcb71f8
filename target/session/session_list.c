// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All sessions, and what concerns more than one of them.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/util.h"
#include "session/session.h"
#include "wire/mac.h"

#define LATE_FLUSHES	3	/* that are waited for */
#define LATE_MS		5000	/* from the end of a FLUSH to what an initiator does next */

static LIST_HEAD(, session) sessions = LIST_HEAD_INITIALIZER(sessions);
static LIST_HEAD(, session) kept = LIST_HEAD_INITIALIZER(kept);
static void (*session_gone)(void);
static uint64_t session_last_id;

/**
 * session_init - before the first session
 * @gone: called whenever a session is gone
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
 * session_add - a new session
 * @s: gets its id
 */
void session_add(struct session *s)
{
	s->id = ++session_last_id;
	LIST_INSERT_HEAD(&sessions, s, entry);
}

/**
 * session_keep - a session is over, but its device has not let go of all of it
 * @s: in no list; with its queues and their memory, for good. Its keys are dead
 *
 * Events of what the device has kept may come: they find it, and change nothing.
 */
void session_keep(struct session *s)
{
	s->state = SESSION_DYING;
	cq_stop(&s->cq);
	LIST_INSERT_HEAD(&kept, s, entry);
}

/**
 * session_remove - a session is gone
 * @s: freed, or kept with @stuck
 */
void session_remove(struct session *s)
{
	LIST_REMOVE(s, entry);
	loop_timer_stop(&s->late_timer);
	if (s->stuck)
		session_keep(s);
	else
		free(s);
	session_gone();
}

/**
 * session_any - look for sessions
 *
 * Return: whether there is one, in any state.
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
 * session_end_device - end all sessions of a device that is being removed
 * @dev: device
 */
void session_end_device(struct device *dev)
{
	struct session *s;

	LIST_FOREACH(s, &sessions, entry) {
		if (s->device != dev)
			continue;
		session_end(s, RDMABLK_R_DEVICE_GONE);
		if (s->state == SESSION_CLOSED)
			session_destroy(s);
	}
}

/**
 * session_end_all - end all sessions
 * @reason: enum rdmablk_reason
 */
void session_end_all(unsigned int reason)
{
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		session_end(s, reason);
}

/**
 * session_has_cache - may a session have something that is durable only after a FLUSH
 * @s: session
 *
 * And still flush it: what an earlier session of its device has left, when it is on the
 * way to be live again.
 *
 * Return: whether it may.
 */
bool session_has_cache(const struct session *s)
{
	bool resumes = (s->state == SESSION_REGISTER || s->state == SESSION_GRANTED) &&
		       s->wish.flags & RDMABLK_HELLO_RESUME;

	return (resumes || s->state == SESSION_LIVE) && s->lease.writer &&
	       s->grant_flags & RDMABLK_GRANT_CACHE;
}

/**
 * session_next - all sessions, one by one
 * @s: the one before, or NULL
 *
 * Return: the session, in any state, or NULL.
 */
const struct session *session_next(const struct session *s)
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
 * session_left - does any session still know an export
 * @export: export
 *
 * Return: whether one does, be it ending.
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
 * session_end_export - end the sessions of an export that have nothing to flush
 * @export: export
 * @reason: enum rdmablk_reason
 */
void session_end_export(const struct export *export, unsigned int reason)
{
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		if (s->export == export && !session_has_cache(s))
			session_end(s, reason);
}

/**
 * session_end_broken - end all sessions of an export whose arena has lost a page
 * @export: export
 *
 * Those with something to flush, too: it cannot be flushed any more.
 */
void session_end_broken(const struct export *export)
{
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		if (s->export == export)
			session_end(s, RDMABLK_R_STORE_FAILED);
}

/**
 * session_expected - may a device come that has to flush
 *
 * One that has lost its session, of which this side may not have heard yet.
 *
 * Return: whether one may.
 */
bool session_expected(void)
{
	return session_caches(NULL) || export_awaiting();
}

static bool is_of(const struct session *s, const struct export *only)
{
	return !only || s->export == only;
}

/**
 * session_drain - tell sessions that the end is near, and end those that log in
 * @only: those of this export; NULL: all
 * @ms: until then
 * @cache_ms: until then for those that have to flush
 *
 * Who logs in for the first time has written nothing, and who has nothing to flush loses
 * nothing when it comes again later. A device that may have unflushed writes is let in,
 * or they would be taken for lost with the contents that this process has: it is told
 * after GRANT, and flushes when it is live. While one is expected, a login whose export is
 * not known yet may be its.
 *
 * Return: how many have been told.
 */
unsigned int session_drain(const struct export *only, uint64_t ms, uint64_t cache_ms)
{
	bool expected = !only && session_expected();
	uint64_t now = (uint64_t)loop_now();
	unsigned int nr = 0;
	struct session *s;

	LIST_FOREACH(s, &sessions, entry) {
		if (!is_of(s, only))
			continue;
		if (s->state == SESSION_LIVE || session_has_cache(s)) {
			uint64_t until = now + (session_has_cache(s) ? cache_ms : ms);

			nr++;
			if (only)
				session_tell(s, RDMABLK_EVENT_LEAVING, until);
			session_tell(s, RDMABLK_EVENT_DRAIN, until);
		} else if (!expected || s->state >= SESSION_REGISTER) {
			session_end(s, only ? RDMABLK_R_EXPORT_GONE : RDMABLK_R_SHUTDOWN);
		}
	}
	return nr;
}

/**
 * session_caches - look for sessions that still have to flush
 * @only: among those of this export; NULL: all
 *
 * Return: how many there are.
 */
unsigned int session_caches(const struct export *only)
{
	unsigned int nr = 0;
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		nr += session_has_cache(s) && is_of(s, only);
	return nr;
}

/*
 * It is at its FLUSH, which may take as long as its file does. Not for ever: who has had
 * time for the one that was under way, one that waited for it, and one for the rest, has
 * had enough.
 */
static bool is_flushing(struct session *s)
{
	if (!s->late)
		s->late_flushes = s->cmdqs.flushes;
	s->late = true;
	return s->cmdqs.flushes - s->late_flushes < LATE_FLUSHES &&
	       cmdq_flushes(&s->cmdqs, loop_now() - LATE_MS);
}

/**
 * session_end_late - the time of those that have to flush is over
 * @only: those of this export; NULL: all
 * @reason: enum rdmablk_reason, for those that do not
 *
 * One whose FLUSH is under way goes on as long as it is heard of. To be called again.
 *
 * Return: how many go on.
 */
unsigned int session_end_late(const struct export *only, unsigned int reason)
{
	unsigned int nr = 0;
	struct session *s;

	LIST_FOREACH(s, &sessions, entry) {
		if (!session_has_cache(s) || !is_of(s, only))
			continue;
		if (is_flushing(s))
			nr++;
		else
			session_end(s, reason);
	}
	return nr;
}

/**
 * session_cmdqs_busy - look for ending sessions for which a store thread still works
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

/*
 * A disk with one region was never told where regions end: its requests would cross from
 * one to the next, so that it fails when it is granted two.
 */
static uint64_t room_of(const struct session *s)
{
	return s->regions.nr == 1 ?
	       export_region_max(s->export, s->device->attr.max_mr_size) : UINT64_MAX;
}

/**
 * session_room - how large may an export get while its sessions go on
 * @export: export
 *
 * Return: bytes.
 */
uint64_t session_room(const struct export *export)
{
	uint64_t room = UINT64_MAX;
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		if (s->export == export && s->state < SESSION_CLOSING)
			room = min_u64(room, room_of(s));
	return room;
}

/**
 * session_tell_size - tell a session that its export has grown, if it has
 * @s: session past GRANT
 *
 * One with regions keeps the size it was granted until it logs in again.
 */
void session_tell_size(struct session *s)
{
	struct store *store = &s->export->store;

	if (store->size == s->scope.size)
		return;
	if (store->size > room_of(s)) {	/* it came while the export was growing */
		log_peer(session_peer(s), LOG_WARNING, "%s: cannot go on with more than one region",
			 session_text(s));
		return;
	}
	if (s->staged && store->ops->staged->resized)
		store->ops->staged->resized(s->staged, store->size);
	if (s->wish.features & RDMABLK_F_COMMANDS)
		session_tell(s, RDMABLK_EVENT_RESIZE, store->size);
}

/**
 * session_resized - tell the sessions of an export that it has grown
 * @export: with its new size
 *
 * Those that are not granted it yet are told after GRANT.
 */
void session_resized(const struct export *export)
{
	struct session *s;

	LIST_FOREACH(s, &sessions, entry)
		if (s->export == export && s->state >= SESSION_GRANTED &&
		    s->state < SESSION_CLOSING)
			session_tell_size(s);
}
