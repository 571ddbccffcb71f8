// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ending sessions, several at a time: those of a device, of an export, or all; at once, or
 * with time to flush. A session that is ended here stays in the list at least until the
 * loop has its next turn.
 */
#include "base/util.h"
#include "session/session.h"

#define LATE_FLUSHES	3	/* that are waited for */
#define LATE_MS		5000	/* from the end of a FLUSH to what an initiator does next */

static bool is_of(const struct session *s, const struct export *only)
{
	return !only || s->export == only;
}

/**
 * session_end_device - end all sessions of a device that is being removed
 * @dev: device
 */
void session_end_device(struct device *dev)
{
	struct session *s = NULL;

	while ((s = session_next(s))) {
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
	struct session *s = NULL;

	while ((s = session_next(s)))
		session_end(s, reason);
}

/**
 * session_end_export - end the sessions of an export that have nothing to flush
 * @export: export
 * @reason: enum rdmablk_reason
 */
void session_end_export(const struct export *export, unsigned int reason)
{
	struct session *s = NULL;

	while ((s = session_next(s)))
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
	struct session *s = NULL;

	while ((s = session_next(s)))
		if (s->export == export)
			session_end(s, RDMABLK_R_STORE_FAILED);
}

/**
 * session_drain - tell sessions that the end is near, and end those that log in
 * @only: those of this export; NULL: all
 * @ms: until then
 * @cache_ms: until then for those that have to flush
 *
 * A device that logs in for the first time has written nothing, and one with nothing to flush
 * loses nothing when it comes again later. A device that may have unflushed writes is let in,
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
	struct session *s = NULL;

	while ((s = session_next(s))) {
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

/*
 * The session's FLUSH is under way, and may take as long as the file does. Not for ever:
 * time for the FLUSH that was under way, for one that waited for it, and for one for the rest
 * is enough.
 */
static bool is_flushing(struct session *s)
{
	if (!s->told.late)
		s->told.late_flushes = s->cmdqs.flushes;
	s->told.late = true;
	return s->cmdqs.flushes - s->told.late_flushes < LATE_FLUSHES &&
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
	struct session *s = NULL;

	while ((s = session_next(s))) {
		if (!session_has_cache(s) || !is_of(s, only))
			continue;
		if (is_flushing(s))
			nr++;
		else
			session_end(s, reason);
	}
	return nr;
}
