// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of sessions. Events of one session's queues: messages, completions, errors. And the
 * end of several sessions at a time: those of a device, of an export, or all; at once, or with
 * time to flush. Every end goes through session_end(). A session that ends together with
 * others stays in the list at least until the next turn of the loop.
 */
#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "session/session.h"

#define MESSAGES_MAX	200	/* per second; a KEEPALIVE each 50 ms is 20 */
#define LATE_FLUSHES	3	/* number of FLUSHes to wait for */
#define LATE_MS		5000	/* from the end of a FLUSH to what an initiator does next */

/* A login may ask for each of its regions, all of them at once. */
static unsigned int messages_max(const struct session *s)
{
	return MESSAGES_MAX + (s->state < SESSION_LIVE ? s->regions.nr : 0);
}

/*
 * Refuses a message that is not the next sealed frame. Anybody who can put a packet into the
 * connection can send a CLOSE without a seal. So its reason is not used: it only shows that the
 * connection is of no use any more.
 */
static unsigned int refuse_unsealed(struct session *s, unsigned int index, uint32_t bytes)
{
	if (!ctrl_is_close(&s->ctrl, index, bytes))
		return RDMABLK_R_AUTH_FAILED;
	log_peer(session_peer(s), LOG_WARNING, "%s: a CLOSE that is not sealed has come",
		 session_text(s));
	s->quiet = true;
	return RDMABLK_R_CONNECTION;
}

/*
 * A WRITE WITH IMMEDIATE completes a receive, too, and a visit that has a scratch region may
 * send one: the length is that of the WRITE, and an old message is in the buffer.
 */
static bool is_message(const struct ibv_wc *wc)
{
	return wc->opcode == IBV_WC_RECV &&
	       !(wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV));
}

static void message_received(struct session *s, const struct ibv_wc *wc)
{
	unsigned int index = wc->wr_id & CTRL_WR_INDEX, reason;
	int64_t now = loop_now();
	const void *msg;
	size_t len;

	s->heard.last = now;
	s->heard.messages++;
	if (now - s->heard.window > 1000) {
		s->heard.window = now;
		s->heard.window_messages = 0;
	}
	if (++s->heard.window_messages > messages_max(s)) {
		reason = RDMABLK_R_STATE;
	} else if (!is_message(wc)) {
		reason = RDMABLK_R_MALFORMED;
	} else {
		msg = ctrl_message(&s->ctrl, index, wc->byte_len, &len);
		reason = msg ? s->receive(s, msg, len) :
			 refuse_unsealed(s, index, wc->byte_len);
	}
	if (reason)
		session_end(s, reason);
}

static void ctrl_failed(struct session *s, unsigned int reason)
{
	s->quiet = true;
	session_end(s, reason);
	session_parted(s);
	session_destroy(s);
}

static void recv_completed(struct session *s, const struct ibv_wc *wc)
{
	if (wc->status) {
		ctrl_failed(s, wc->status == IBV_WC_LOC_LEN_ERR ?
			    RDMABLK_R_MALFORMED : RDMABLK_R_CONNECTION);
		return;
	}
	if (s->state < SESSION_CLOSING)
		message_received(s, wc);
	/* A session that ends gets no receive again: only messages under way find one. */
	if (s->state < SESSION_CLOSING && !fault(FAULT_NO_RECV) &&
	    ctrl_post(&s->ctrl, wc->wr_id & CTRL_WR_INDEX))
		ctrl_failed(s, RDMABLK_R_CONNECTION);
}

static void send_completed(struct session *s, const struct ibv_wc *wc)
{
	ctrl_sent(&s->ctrl, wc->wr_id & CTRL_WR_INDEX);
	if (wc->status)
		ctrl_failed(s, RDMABLK_R_CONNECTION);
	else if (s->events.due && s->state < SESSION_CLOSING)
		session_tell_due(s);
	else if (!s->ctrl.sending)
		session_parted(s);
}

/*
 * The guard of a data queue without commands has completed. A message there is against the
 * protocol. If the guard was flushed, the device has refused a request of the peer: the daemon
 * never puts a live session's queue pair in error.
 */
static void guard_completed(struct session *s, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS || wc->status == IBV_WC_LOC_LEN_ERR)
		session_end(s, RDMABLK_R_STATE);
	else
		session_end(s, RDMABLK_R_ACCESS);
}

/**
 * session_completed - handle a completion of any queue of a session
 * @cq: completion queue of the session
 * @wc: completion
 */
void session_completed(struct cq *cq, const struct ibv_wc *wc)
{
	struct session *s = container_of(cq, struct session, cq);

	if (wc->wr_id & SESSION_WR_GUARD)
		guard_completed(s, wc);
	else if (wc->wr_id & CTRL_WR_RECV)
		recv_completed(s, wc);
	else
		send_completed(s, wc);
}

/**
 * session_cq_failed - the completion queue of a session cannot be polled any more
 * @cq: completion queue of the session
 */
void session_cq_failed(struct cq *cq)
{
	ctrl_failed(container_of(cq, struct session, cq), RDMABLK_R_CONNECTION);
}

/**
 * session_conn_event - something happened to a queue of a session
 * @conn: queue
 * @event: what happened
 */
void session_conn_event(struct conn *conn, enum conn_event event)
{
	struct session *s = conn->owner;

	switch (event) {
	case CONN_REMOVED:
		device_remove(s->device);
		return;
	case CONN_ACCESS:
		session_end(s, RDMABLK_R_ACCESS);
		return;
	case CONN_LOST:
	case CONN_FAILED:
		/*
		 * A peer that leaves sends a message first, and hangs up at once. The message
		 * has completed by now, but may still wait for its turn. Until the control queue
		 * is accepted (@quiet) no message comes, and a worker has the completion queue.
		 */
		if (!s->quiet)
			cq_catch_up(&s->cq, CTRL_RECVS + CTRL_SENDS);
		if (conn == s->conn)
			ctrl_failed(s, RDMABLK_R_CONNECTION);
		else
			session_end(s, RDMABLK_R_CONNECTION);
		return;
	}
}

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
 * session_end_all - end all sessions, because the daemon ends
 * @reason: enum rdmablk_reason
 */
void session_end_all(unsigned int reason)
{
	struct session *s = NULL;

	while ((s = session_next(s))) {
		session_end(s, reason);
		session_end_ghost(s);
	}
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
 * Sessions with unflushed writes end, too, because these cannot be flushed any more.
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
 * @ms: time until the end
 * @cache_ms: time until the end for sessions that may have to flush
 *
 * A device that logs in for the first time has written nothing, and one with nothing to flush
 * loses nothing when it comes again later. A device that may have unflushed writes may finish
 * its login, because they would be lost with this process: it is told after GRANT, and flushes
 * when it is live. While such a device is expected, a login whose export is not known yet may be
 * its login, and goes on; a visit ends.
 *
 * Return: number of sessions that are told.
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
		} else if (!expected || s->state >= SESSION_VISIT) {
			session_end(s, only ? RDMABLK_R_EXPORT_GONE : RDMABLK_R_SHUTDOWN);
		}
	}
	return nr;
}

/*
 * Whether a session goes on because of a FLUSH, which may take as long as the file does. Three
 * FLUSHes are enough: one that was under way, one that waited for it, and one for the rest.
 */
static bool is_flushing(struct session *s)
{
	if (!s->events.late)
		s->events.late_flushes = s->cmdqs.flushes;
	s->events.late = true;
	return s->cmdqs.flushes - s->events.late_flushes < LATE_FLUSHES &&
	       cmdq_flushes(&s->cmdqs, loop_now() - LATE_MS);
}

/**
 * session_end_late - end sessions whose time to flush is over, except those that are flushing
 * @only: only sessions of this export; NULL: all
 * @reason: enum rdmablk_reason of the end
 *
 * A session whose FLUSH is under way goes on as long as its initiator is not silent. To be
 * called again and again.
 *
 * Return: number of sessions that go on.
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
