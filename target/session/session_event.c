// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What happens to the queues of a session: messages, completions, errors. Only
 * dispatches; whatever ends the session goes through session_end().
 */
#include "base/fault.h"
#include "base/util.h"
#include "session/session.h"

#define MESSAGES_MAX	200	/* per second; a KEEPALIVE each 50 ms is 20 */

/* A login may ask for each of its regions, all of them at once. */
static unsigned int messages_max(const struct session *s)
{
	return MESSAGES_MAX + (s->state < SESSION_LIVE ? s->regions.nr : 0);
}

static void message_received(struct session *s, const struct ibv_wc *wc)
{
	unsigned int index = wc->wr_id & CTRL_WR_INDEX, reason;
	int64_t now = loop_now();

	s->heard.last = now;
	s->heard.messages++;
	if (now - s->heard.window > 1000) {
		s->heard.window = now;
		s->heard.window_messages = 0;
	}
	if (++s->heard.window_messages > messages_max(s))
		reason = RDMABLK_R_STATE;
	else
		reason = s->receive(s, ctrl_message(&s->ctrl, index), wc->byte_len);
	if (reason)
		session_end(s, reason);
}

static void ctrl_failed(struct session *s, unsigned int reason)
{
	s->quiet = true;
	session_end(s, reason);
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
	else if (s->told.due && s->state < SESSION_CLOSING)
		session_tell_due(s);
}

/*
 * The guard of a data queue without commands. A message there is against the protocol. A flush
 * is the device's answer to a request it refused: nothing of ours puts a live
 * session's queue pair in error.
 */
static void guard_completed(struct session *s, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS || wc->status == IBV_WC_LOC_LEN_ERR)
		session_end(s, RDMABLK_R_STATE);
	else
		session_end(s, RDMABLK_R_ACCESS);
}

/**
 * session_completed - a completion of any queue of a session
 * @cq: its completion queue
 * @wc: it
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
 * session_cq_failed - no completion of a session is told of any more
 * @cq: its completion queue
 */
void session_cq_failed(struct cq *cq)
{
	ctrl_failed(container_of(cq, struct session, cq), RDMABLK_R_CONNECTION);
}

/**
 * session_conn_event - something happened to a queue of a session
 * @conn: queue
 * @event: what
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
		 * Who leaves says so first, and hangs up at once. The message has completed
		 * before that, but may still wait for its turn. Until the control queue is
		 * accepted there is none, and a worker has the completion queue.
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
