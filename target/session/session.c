// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions: how they begin, join queues, end.
 *
 * Ownership. A session owns its control queue, its data queues, its domain,
 * completion queue, registrations and lease. The loop owns the session, with two exceptions.
 * While a job is under way (@busy), a worker owns what the job needs. A session has one job at
 * a time, in this order: make the control queue; note the writer and register or, for a visit,
 * lend scratch memory; fence; free the buffers of a staged store; destroy. A session that must
 * end during a job before the fence is fenced when the job is done. Data queues that join have
 * jobs of their own (@opening), and the fence waits for all of them. And threads of the export
 * own the write queues with their commands (@lanes, @cmdqs, @staged), from the registration
 * until @lanes_idle; the loop reads only what is marked so.
 *
 * How a session ends, whatever the reason. session_end() is the only way in, and the
 * change of state makes sure that it happens once:
 *
 *  1. SESSION_CLOSING. No message is handled any more, no queue joins. The lease is
 *     marked as ending, so another login is answered with FENCING. The session waits for
 *     its jobs in workers. A visit with a scratch region, unless it has logged out, gets
 *     CLOSE now (session_part()).
 *  2. SESSION_STOPPING. The threads of its write queues let go of the queue pairs. The store
 *     thread drops the session's commands, except the piece that it is working on.
 *  3. SESSION_FENCING, in a worker: every data queue pair is destroyed, every region
 *     deregistered. From then on no write of this session can land. If the fence fails, it
 *     is tried again, and the export stays taken meanwhile.
 *  4. SESSION_SETTLING. The store thread finishes its piece, and I/O of a staged store that
 *     has begun ends. No worker waits here, or one disk that does not answer would occupy all
 *     workers. Then the store learns of the end, and writes unflushed data to its file.
 *  5. SESSION_CLOSED. The session gives back its lease and its share of the limits. Only
 *     now it tells the peer, by CLOSE or by the answer to LOGOUT. The control queue lives
 *     until the peer has disconnected, a second at most.
 *  6. SESSION_DYING. A worker destroys, in this order: queue pairs,
 *     completion queue, buffers, protection domain, CM ids.
 *  7. In the loop, the memory of the queues and the session is freed. If the driver has
 *     refused to destroy an object, the memory is kept for good: the adapter may write to it,
 *     and an event may point to it. No session and no export waits for that. But a removal of
 *     the device that the driver cannot force waits until the process ends, because mappings
 *     of the driver keep the device open in spite of device_close().
 *
 * None of these waits has a limit, because no step can be skipped. Each state has its
 * deadline instead: when it has passed, and again and again after that, the log names what
 * the session waits for.
 *
 * The loop frees the memory, as the last step, because events point to it: a CM event by
 * the context of its id, an asynchronous event by that of the queue pair, a completion
 * event by that of the completion queue. The loop may hold such an event while a worker
 * destroys its object. Destroying an object drops its unread events and returns only when
 * all events that were read have been acknowledged. The loop acknowledges CM events
 * before it handles them, so that wait does not protect their handlers. But done() of a
 * job frees the memory, and it runs in the loop, after the current event. The loop never
 * waits for a worker, so the wait of the verbs always ends.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "session/session.h"
#include "session/session_audit.h"
#include "wire/mac.h"

#define LINGER_MS	1000	/* time for the peer to disconnect after the last message */
#define LINGER_GONE_MS	200	/* the same when the removal of the device waits for it */
#define NO_FENCE_MS	60000	/* with FAULT_NO_FENCE: how long a session is a ghost */
#define REFENCE_MS	1000	/* between tries of a fence that failed */
#define LOGIN_JOINS	16	/* for so many data queues a login gets login_ms more */
#define VISIT_MS	90000	/* a visit gets so much more: it may measure for a minute */
#define VISIT_SILENT_MS	5000	/* longest silence of a visit, which sends each second */
#define RETURN_MS	10000	/* how long an ended session is expected to come back */
#define LATE_MS		5000	/* a state of the end that lasts longer is logged */
#define LATE_MOST_MS	60000	/* between two such lines, at most */

/**
 * session_host - the name of a session's host
 * @s: session
 *
 * An initiator may claim any name. Where keys are used, only the proven one counts.
 *
 * Return: the name, as long as the session is there; "" if it is not known.
 */
const char *session_host(const struct session *s)
{
	return s->version == RDMABLK_VERSION_PROVEN ? s->proof.name : s->hello.host_name;
}

/**
 * session_text - a session for the log
 * @s: session
 *
 * Return: text, valid until the next call. Loop thread.
 */
const char *session_text(const struct session *s)
{
	const char *kind = s->hello.flags & RDMABLK_HELLO_VISIT ? "visit" : "session";
	const char *host = session_host(s), *export = s->hello.export_name;
	static char text[256];

	snprintf(text, sizeof(text), "%s %016llx%s%s (%s)%s%s", kind, (unsigned long long)s->id,
		 host[0] ? " host " : "", host, s->peer_text, export[0] ? " export " : "",
		 export);
	return text;
}

/*
 * One line about a change of state. The line of a granted session is never dropped,
 * however many lines other peers cause.
 */
__attribute__((format(printf, 3, 4)))
static void log_state(const struct session *s, int level, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (!log_wanted(level) || (!s->granted && !log_allow(fmt, session_peer(s))))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	log_write(level, "%s: %s", session_text(s), text);
}

/*
 * The end is late
 */

/* Return: words for what the end waits for before the fence. */
static const char *awaited_job(const struct session *s)
{
	static char note[300];

	if (s->end.parting)
		return "its host, to receive the last message";
	if (s->scratch.bytes)
		return "a worker, to register its scratch region";
	if (s->opening || s->job.kind == JOB_OPEN)
		return "a worker, to make its queue pairs";
	if (s->job.kind == JOB_NOTE || s->job.kind == JOB_NOTE_STATE) {
		snprintf(note, sizeof(note),
			 "the state directory %.200s, to note who writes its export",
			 config_state_dir(s->export->daemon, s->export->cfg));
		return note;
	}
	return "a worker, to stop registering the export's memory";
}

/**
 * session_awaits - what the end of a session waits for
 * @s: session
 *
 * Return: words that follow "waits for"; NULL: the session is not ending.
 */
const char *session_awaits(const struct session *s)
{
	if (s->state < SESSION_CLOSING)
		return NULL;
	switch (s->state) {
	case SESSION_CLOSING:
		return awaited_job(s);
	case SESSION_STOPPING:
		if (s->staged)
			return "an I/O thread of its export, to let go of its queue pairs";
		return "the commands thread of its export, to let go of its queue pairs";
	case SESSION_FENCING:
		return s->busy ? "a worker, to destroy its queue pairs and memory keys" :
				 "its next try to destroy queue pairs and memory keys";
	case SESSION_SETTLING:
		if (s->busy)
			return "a worker, to free its buffers";
		return s->staged ? "I/O that the file of its export has not ended" :
				   "a command that its export's store has not ended";
	case SESSION_CLOSED:
		return "its initiator, to close the connection";
	default:
		return "a worker, to destroy its control queue";
	}
}

static void late_expired(struct loop_timer *timer)
{
	struct session *s = container_of(timer, struct session, end.late);

	log_warn("%s: has been ending for %lld s, waits for %s%s", session_text(s),
		 (long long)(loop_now() - s->end.began) / 1000, session_awaits(s),
		 s->leased ? "; the export stays taken until then" : "");
	s->end.late_ms = (int64_t)min_u64((uint64_t)s->end.late_ms * 2, LATE_MOST_MS);
	loop_timer_start(timer, s->end.late_ms);
}

static void late_start(struct session *s, int64_t ms)
{
	s->end.late_ms = ms;
	s->end.late.expired = late_expired;
	loop_timer_start(&s->end.late, ms);
}

/*
 * States
 */

#define TO(state)	(1U << SESSION_##state)

/*
 * For each state: next: states that may follow, a bit each; late_ms: time in a state of the
 * end after which the log says what the session waits for, ms; 0: not a state of the end.
 */
static const struct {
	unsigned int next;
	int64_t late_ms;
} session_moves[] = {
	[SESSION_HELLO]		= { TO(PROOF) | TO(CLOSING), 0 },
	[SESSION_PROOF]		= { TO(VISIT) | TO(REGISTER) | TO(CLOSING), 0 },
	[SESSION_VISIT]		= { TO(CLOSING), 0 },
	[SESSION_REGISTER]	= { TO(GRANTED) | TO(CLOSING), 0 },
	[SESSION_GRANTED]	= { TO(LIVE) | TO(CLOSING), 0 },
	[SESSION_LIVE]		= { TO(CLOSING), 0 },
	[SESSION_CLOSING]	= { TO(STOPPING), LATE_MS },
	[SESSION_STOPPING]	= { TO(FENCING), LATE_MS },
	[SESSION_FENCING]	= { TO(SETTLING), LATE_MS },
	[SESSION_SETTLING]	= { TO(CLOSED), LATE_MS },
	[SESSION_CLOSED]	= { TO(DYING), LINGER_MS + LATE_MS },
	[SESSION_DYING]		= { 0, LATE_MS },
};

/**
 * session_set_state - change the state
 * @s: session
 * @state: new state
 *
 * Return: false: the move is not allowed, and nothing has changed.
 */
bool session_set_state(struct session *s, enum session_state state)
{
	if (!(session_moves[s->state].next & 1U << state))
		return false;
	s->state = state;
	if (session_moves[state].late_ms)
		late_start(s, session_moves[state].late_ms);
	return true;
}

/**
 * session_send - send a message on the control queue
 * @s: session
 * @msg: copied
 * @len: bytes
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int session_send(struct session *s, const void *msg, size_t len)
{
	int ret = ctrl_send(&s->ctrl, msg, len, false);

	if (ret == -ENOBUFS)	/* more commands under way than there are tags */
		return RDMABLK_R_STATE;
	return ret ? RDMABLK_R_CONNECTION : RDMABLK_OK;
}

/* Return: the value to send with an event now: a size, or the milliseconds that are left. */
static uint64_t event_value(const struct session *s, uint16_t event)
{
	int64_t left;

	if (event == RDMABLK_EVENT_RESIZE)
		return s->events.value[event];
	left = (int64_t)s->events.value[event] - loop_now();
	return left > 0 ? (uint64_t)left : 0;
}

/**
 * session_tell_due - send the events that are due, as far as the control queue takes them
 * @s: session
 *
 * Sends them in descending order of their numbers: LEAVING gives the reason for DRAIN, and
 * must come first.
 */
void session_tell_due(struct session *s)
{
	int ret;

	if (s->state < SESSION_GRANTED)
		return;
	for (uint16_t event = RDMABLK_EVENT_REAUTH; event; event--) {
		struct rdmablk_event_msg msg;

		if (!(s->events.due & 1U << event))
			continue;
		wire_pack_event(&msg, event, event_value(s, event));
		ret = ctrl_send_event(&s->ctrl, &msg, sizeof(msg));
		if (ret) {
			/*
			 * The frame may have taken its number. If it is not sent, the gap stays,
			 * and the peer opens no later frame.
			 */
			if (ret != -ENOBUFS)
				session_end(s, RDMABLK_R_CONNECTION);
			return;
		}
		s->events.due &= ~(1U << event);
	}
}

/**
 * session_tell - send an event, at once or after the events before it
 * @s: session after PROOF; before GRANT the event stays due
 * @event: enum rdmablk_event
 * @value: replaces the value of the same event that is still due. RESIZE: size, bytes; other
 *	events: a time of loop_now(); what remains until then is sent, milliseconds
 */
void session_tell(struct session *s, uint16_t event, uint64_t value)
{
	s->events.due |= 1U << event;
	s->events.value[event] = value;
	s->events.drained |= event == RDMABLK_EVENT_DRAIN;
	session_tell_due(s);
}

/*
 * Size
 */

/*
 * A disk with one region does not know where regions end. With two regions its requests
 * would cross the border and fail.
 */
static uint64_t room_of(const struct session *s)
{
	return s->regions.nr == 1 ?
	       export_region_max(s->export, s->device->attr.max_mr_size) : UINT64_MAX;
}

/**
 * session_room - how far an export may grow while its sessions go on
 * @export: export
 *
 * Return: bytes.
 */
uint64_t session_room(const struct export *export)
{
	uint64_t room = UINT64_MAX;
	struct session *s = NULL;

	while ((s = session_next(s)))
		if (s->export == export && s->state < SESSION_CLOSING)
			room = min_u64(room, room_of(s));
	return room;
}

/**
 * session_tell_size - tell a session that its export has grown, if it has
 * @s: session past GRANT
 *
 * A session with regions keeps its granted size until it logs in again.
 */
void session_tell_size(struct session *s)
{
	struct store *store = &s->export->store;

	if (store->size == s->scope.size)
		return;
	if (store->size > room_of(s)) {	/* the session logged in during the growth */
		log_peer(session_peer(s), LOG_WARNING, "%s: cannot go on with more than one region",
			 session_text(s));
		return;
	}
	if (s->staged)
		lane_resized(s->lanes, store->size);
	if (s->hello.features & RDMABLK_F_COMMANDS)
		session_tell(s, RDMABLK_EVENT_RESIZE, store->size);
}

/**
 * session_resized - tell the sessions of an export that it has grown
 * @export: with its new size
 *
 * Sessions that have no GRANT yet are told after it.
 */
void session_resized(const struct export *export)
{
	struct session *s = NULL;

	while ((s = session_next(s)))
		if (s->export == export && s->state >= SESSION_GRANTED &&
		    s->state < SESSION_CLOSING)
			session_tell_size(s);
}

/*
 * Timers
 */

static void login_expired(struct loop_timer *timer)
{
	session_end(container_of(timer, struct session, timer),
		    RDMABLK_R_LOGIN_TIMEOUT);
}

static void silence_expired(struct loop_timer *timer)
{
	struct session *s = container_of(timer, struct session, timer);
	int64_t left = s->heard.last + s->heard.silence_ms - loop_now();

	/* A message may wait behind those of other sessions: handle it before judging. */
	if (left <= 0 && cq_waits(&s->cq))
		left = 1;
	if (left > 0)
		loop_timer_start(timer, left);
	else
		session_end(s, RDMABLK_R_EXPIRED);
}

static void session_die(struct session *s);

static void linger_expired(struct loop_timer *timer)
{
	struct session *s = container_of(timer, struct session, timer);

	session_die(s);
}

/**
 * session_login_timer - start the time of the next part of a login
 * @s: session
 *
 * Each part, and each queue that joins, renews the time. A bound on the whole login grows
 * with the number of queues, as on the initiator. Registering does not count, because it
 * takes longer for larger exports. Before PROOF the initiator has less time (hello_ms):
 * connections cost it nothing, and each occupies a login slot. A visit has times of its own,
 * as it may be evicted when slots are short.
 */
void session_login_timer(struct session *s)
{
	int64_t ms = (int64_t)s->cfg->login_ms;
	int64_t left = s->born + s->login.registered_ms +
		       ms * (2 + s->nr_data / LOGIN_JOINS) - loop_now();

	if (s->state == SESSION_VISIT) {
		left += VISIT_MS;
		ms = VISIT_SILENT_MS;
	} else if (s->state < SESSION_REGISTER) {
		ms = (int64_t)min_u64(s->cfg->hello_ms, s->cfg->login_ms);
	}
	s->timer.expired = login_expired;
	loop_timer_start(&s->timer, left < 0 ? 0 : left < ms ? left : ms);
}

static void login_slot_put(struct session *s)
{
	if (s->login.slot)
		quota_login_put(session_peer(s));
	if (s->login.evicted)
		quota_login_gone();
	s->login.slot = false;
	s->login.evicted = false;
}

/**
 * session_queue_depth - requests of a hardware queue at once
 * @s: session
 *
 * Return: the depth in GRANT; before GRANT, the depth in HELLO.
 */
uint16_t session_queue_depth(const struct session *s)
{
	return s->plan.queue_depth ?: s->hello.queue_depth;
}

/**
 * session_live - I/O may start
 * @s: session; all its queues have joined
 */
void session_live(struct session *s)
{
	session_set_state(s, SESSION_LIVE);
	s->heard.window_messages = 0;		/* the rate of a login is higher */
	if (s->lanes)
		lane_live(s->lanes);
	login_slot_put(s);
	s->login = (struct session_login){ 0 };
	quota_live_get(session_peer(s));
	s->known = true;
	s->timer.expired = silence_expired;
	loop_timer_start(&s->timer, s->heard.silence_ms);
	log_state(s, LOG_INFO,
		  "live%s: %u queues of depth %u, keep-alive %u ms, session timeout %u ms",
		  s->lease.writer ? "" : ", read-only",
		  s->nr_data / 2, session_queue_depth(s), s->heard.keep_alive_ms,
		  s->heard.silence_ms);
}

/*
 * The end
 */

/**
 * session_submit - submit the session's job to the workers
 * @s: session without one under way
 * @run: called in a worker
 * @done: called in the loop
 * @kind: kind of the job
 */
void session_submit(struct session *s, void (*run)(struct job *),
		    void (*done)(struct job *), enum job_kind kind)
{
	s->busy = true;
	s->job_error = 0;
	s->job.run = run;
	s->job.done = done;
	s->job.kind = kind;
	s->job.client = value_ip(session_peer(s));
	worker_submit(&s->job);
}

static const struct staged_ops *staged_ops(const struct session *s)
{
	return s->export->store.ops->staged;
}

/*
 * Closes the staged part; its queue pairs are destroyed. May be called again after an error.
 */
static int staged_close(struct session *s)
{
	return s->staged ? staged_ops(s)->close(s->staged) : 0;
}

/* Frees the staged part, which is closed and which no thread uses. */
static void staged_free(struct session *s)
{
	if (!s->staged)
		return;
	staged_ops(s)->free(s->staged);
	s->staged = NULL;
	s->lanes = NULL;
}

static void destroy_run(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	for (unsigned int i = 0; i < s->nr_data; i++)
		if (s->data[i])
			conn_destroy(s->data[i]);
	if (region_deregister(&s->regions) || staged_close(s) || scratch_deregister(&s->scratch))
		log_err("session %016llx: memory cannot be deregistered",
			(unsigned long long)s->id);
	else
		staged_free(s);
	s->end.stuck = conn_close(s->conn);
	if (!s->end.stuck)		/* else the adapter may write there */
		ctrl_destroy(&s->ctrl);
	s->end.stuck = s->end.stuck || lane_close_all(&s->cmdqs.lanes) || cq_close(&s->cq) ||
		   (s->pd && ibv_dealloc_pd(s->pd));
	if (s->end.stuck)
		log_err("session %016llx: cannot be destroyed altogether; its memory stays taken",
			(unsigned long long)s->id);
	/* With a fault the store thread may have a command, or its outcome may be on its way. */
	s->end.stuck = s->end.stuck || lane_busy(&s->cmdqs.lanes);
	if (!s->end.stuck)
		cmdq_free(&s->cmdqs);
	if (!s->end.stuck)
		scratch_free(&s->scratch);
	conn_destroy(s->conn);
}

static uint64_t commands_of(const struct session *s)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < STORE_OPS; i++)
		sum += s->counts.done[i];
	return sum;
}

static void destroy_done(struct job *job)
{
	struct session *s = container_of(job, struct session, job);
	const uint64_t *done = s->counts.done;

	log_state(s, LOG_INFO,
		  "ended: %s; lasted %lld ms, %llu messages, %llu keepalives, %llu joins refused, %llu commands, %llu flushes",
		  rdmablk_reason_text(s->end.reason), (long long)(loop_now() - s->born),
		  (unsigned long long)s->heard.messages, (unsigned long long)s->heard.keepalives,
		  (unsigned long long)s->refused_joins,
		  (unsigned long long)commands_of(s),
		  (unsigned long long)done[RDMABLK_OP_FLUSH - RDMABLK_OP_FENCE]);
	if (s->granted)
		session_audit_end(s, commands_of(s));
	login_slot_put(s);
	if (s->known)
		quota_live_put(session_peer(s));
	device_put(s->device);
	for (unsigned int i = 0; i < s->nr_data && !s->end.stuck; i++)
		free(s->data[i]);
	if (!s->end.stuck) {
		free(s->data);
		free(s->conn);
	}
	mac_wipe(s->key, sizeof(s->key));
	ctrl_forget(&s->ctrl);
	session_remove(s);
}

/* Threads may still have write queues or commands of the session here, but only with a fault. */
static void destroy_begin(struct session *s)
{
	if (s->state != SESSION_DYING || s->busy || session_has_lanes(s))
		return;
	session_submit(s, destroy_run, destroy_done, JOB_FENCE);
}

static void session_die(struct session *s)
{
	if (!session_set_state(s, SESSION_DYING))
		return;
	loop_timer_stop(&s->timer);
	cq_stop(&s->cq);
	if (s->lanes)		/* only with a fault */
		lane_detach_all(s->lanes);
	destroy_begin(s);
}

/**
 * session_destroy - destroy a session whose last message has arrived, has timed out, or
 * was never sent
 * @s: in SESSION_CLOSED; otherwise nothing happens
 */
void session_destroy(struct session *s)
{
	if (!fault(FAULT_NO_FENCE))
		session_die(s);
}

/**
 * session_end_ghost - end what a session still has although its export is free
 * @s: in SESSION_CLOSED; in another state, or without FAULT_NO_FENCE, nothing happens
 *
 * To be called when the daemon ends, before its export is closed: that ends the thread which
 * still has the write queues of the session.
 */
void session_end_ghost(struct session *s)
{
	if (fault(FAULT_NO_FENCE))
		session_die(s);
}

static bool send_last(struct session *s)
{
	struct rdmablk_answer answer;
	struct rdmablk_close close;

	if (s->quiet)
		return false;
	if (s->end.reason == RDMABLK_R_LOGOUT) {
		wire_pack_answer(&answer, &s->end.logout, RDMABLK_OK);
		return !ctrl_send(&s->ctrl, &answer, sizeof(answer), true);
	}
	wire_pack_close(&close, s->end.reason, s->version);
	return !ctrl_send(&s->ctrl, &close, sizeof(close), true);
}

static int64_t linger_ms(const struct session *s)
{
	return s->device->gone ? LINGER_GONE_MS : LINGER_MS;
}

/* Tells the store that a writer has ended: no write of it can reach the store any more. */
static void tell_store(struct session *s)
{
	struct store *store = &s->export->store;

	if (!s->granted || !s->lease.writer || !store->ops->ended ||
	    fault(FAULT_LOST_END))
		return;
	/* With a fault a thread may still note granules: then do not ask cmdq_clean(). */
	store->ops->ended(store, s->end.clean && !session_has_lanes(s) &&
			  cmdq_clean(&s->cmdqs));
	if (store->thread)
		store_thread_wake(store->thread);
}

static void session_closed(struct session *s)
{
	session_set_state(s, SESSION_CLOSED);
	if (s->leased) {
		tell_store(s);
		store_add_counts(&s->export->past, &s->counts);
		if (s->end.returns)	/* awaited without a limit until now */
			export_await(s->export, loop_now() + RETURN_MS);
		export_release(&s->lease);
		log_state(s, LOG_INFO, "fenced: its queues and keys are gone");
	}
	s->leased = false;
	quota_session_put(&s->share);
	quota_visit_put(&s->visit);
	s->timer.expired = linger_expired;
	if (fault(FAULT_NO_FENCE) && s->end.reason != RDMABLK_R_SHUTDOWN)
		loop_timer_start(&s->timer, NO_FENCE_MS);
	else if (send_last(s))
		loop_timer_start(&s->timer, linger_ms(s));
	else
		session_die(s);
}

static void free_run(struct job *job)
{
	staged_free(container_of(job, struct session, job));
}

static void free_done(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	s->busy = false;
	session_closed(s);
}

/* Goes on with the end if the threads of the write queues have finished. */
static void session_settle(struct session *s)
{
	if (s->state != SESSION_SETTLING || s->busy ||
	    (session_has_lanes(s) && !fault(FAULT_NO_FENCE)))
		return;
	if (s->staged && !fault(FAULT_NO_FENCE))
		session_submit(s, free_run, free_done, JOB_FENCE);
	else
		session_closed(s);
}

/**
 * session_lanes_idle - the last command of a session has ended
 * @owner: session; its write queues have stopped
 */
void session_lanes_idle(void *owner)
{
	struct session *s = owner;

	s->lanes_idle = true;
	session_settle(s);
	destroy_begin(s);
}

static void session_fenced(struct session *s)
{
	session_set_state(s, SESSION_SETTLING);
	session_settle(s);
}

static void fence_run(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	if (fault(FAULT_SLOW_FENCE))
		usleep((useconds_t)fault(FAULT_SLOW_FENCE) * 1000);
	for (unsigned int i = 0; i < s->nr_data && !s->job_error; i++)
		if (s->data[i])
			s->job_error = conn_close(s->data[i]);
	if (!s->job_error)
		s->job_error = region_deregister(&s->regions);
	if (!s->job_error)
		s->job_error = staged_close(s);
	if (!s->job_error)
		s->job_error = scratch_deregister(&s->scratch);
}

static void refence_expired(struct loop_timer *timer);

static void fence_done(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	s->busy = false;
	if (!s->job_error) {
		session_fenced(s);
		return;
	}
	log_err("%s: cannot be fenced: %s%s", session_text(s), strerror(-s->job_error),
		s->leased ? "; the export stays taken" : "");
	s->timer.expired = refence_expired;
	loop_timer_start(&s->timer, REFENCE_MS);
}

static void refence_expired(struct loop_timer *timer)
{
	session_submit(container_of(timer, struct session, timer), fence_run, fence_done,
		       JOB_FENCE);
}

static bool has_queues(const struct session *s)
{
	for (unsigned int i = 0; i < s->nr_data; i++)
		if (s->data[i])
			return true;
	return false;
}

/* Begins the fence: no thread uses a queue pair any more. */
static void fence_begin(struct session *s)
{
	session_set_state(s, SESSION_FENCING);
	if ((has_queues(s) || s->regions.region || s->staged || s->scratch.mr) &&
	    !fault(FAULT_NO_FENCE))
		session_submit(s, fence_run, fence_done, JOB_FENCE);
	else
		session_fenced(s);
}

/**
 * session_fence - make sure that nothing of a session can land any more
 * @s: session without a job under way; does nothing in another state than SESSION_CLOSING
 */
void session_fence(struct session *s)
{
	if (!session_set_state(s, SESSION_STOPPING))
		return;
	if (s->lanes && !fault(FAULT_NO_FENCE))
		lane_detach_all(s->lanes);
	else
		fence_begin(s);
}

/**
 * session_lanes_stopped - the threads of the write queues have let go of the queue pairs
 * @owner: session
 */
void session_lanes_stopped(void *owner)
{
	struct session *s = owner;

	lane_counts(s->lanes, &s->counts);
	s->lanes_stopped = true;
	if (s->state == SESSION_STOPPING)
		fence_begin(s);
}

static void part_expired(struct loop_timer *timer)
{
	session_fence(container_of(timer, struct session, timer));
}

/*
 * Sends CLOSE to a visit before the fence. READs and WRITEs may be under way: the fence breaks
 * the connection below them, and a later CLOSE would not arrive. Sessions with an export must be
 * fenced first. So must a visit that has logged out: it has nothing under way, and its answer
 * says that the key is gone.
 *
 * Return: whether session_parted() or a timer, whichever comes first, begins the fence.
 */
static bool session_part(struct session *s)
{
	if (!s->scratch.mr || s->end.reason == RDMABLK_R_LOGOUT || !send_last(s))
		return false;
	s->quiet = true;
	s->end.parting = true;
	s->timer.expired = part_expired;
	loop_timer_start(&s->timer, linger_ms(s));
	return true;
}

/**
 * session_parted - the last message to a visit has arrived, or never will
 * @s: session; does nothing unless it waits for that
 */
void session_parted(struct session *s)
{
	if (!s->end.parting || s->state != SESSION_CLOSING)
		return;
	loop_timer_stop(&s->timer);
	session_fence(s);
}

static int reason_level(unsigned int reason)
{
	switch (reason) {
	case RDMABLK_R_MAGIC ... RDMABLK_R_FEATURE:
	case RDMABLK_R_NO_MEMORY:
	case RDMABLK_R_DEVICE_FULL:
	case RDMABLK_R_AUTH_FAILED ... RDMABLK_R_JOIN_MISSING:
	case RDMABLK_R_ACCESS:
	case RDMABLK_R_EXPIRED:
	case RDMABLK_R_STOLEN:
	case RDMABLK_R_INTERNAL:
		return LOG_WARNING;
	default:
		return LOG_INFO;
	}
}

/*
 * Whether an initiator that logs out has given up flushing. It knew of the end and could not
 * flush in time, so more time would not help. An initiator that could flush, but had more to
 * flush, comes back for the rest. Unflushed data of a staged store is in caches of the host,
 * which outlive this process.
 */
static bool gave_up(const struct session *s)
{
	return s->events.drained && (s->staged || cmdq_gave_up(&s->cmdqs));
}

/*
 * Whether the device is expected to log in again soon, to flush or to go on. A host that has
 * rebooted, or lost the export to another host, does neither. A LOGOUT says whether anything is
 * unflushed; if nothing is, the device does not come back.
 */
static bool comes_back(const struct session *s, unsigned int reason)
{
	switch (reason) {
	case RDMABLK_R_CONNECTION:
	case RDMABLK_R_DEVICE_GONE:
	case RDMABLK_R_EXPIRED:
	case RDMABLK_R_LOGIN_TIMEOUT:
	case RDMABLK_R_REPLACED:
	case RDMABLK_R_NO_MEMORY:
	case RDMABLK_R_DEVICE_FULL:
	case RDMABLK_R_AUTH_KEY:
	case RDMABLK_R_KICKED:
		return session_has_written(s);
	case RDMABLK_R_LOGOUT:
		return !s->end.clean && session_has_cache(s) && !gave_up(s);
	default:
		return false;
	}
}

/**
 * session_end - end a session
 * @s: in any state; does nothing from SESSION_CLOSING on
 * @reason: enum rdmablk_reason
 *
 * The top of this file says how a session ends.
 */
void session_end(struct session *s, unsigned int reason)
{
	bool returns = comes_back(s, s->login.refused ?: reason);
	bool visits = s->state == SESSION_VISIT;

	if (!session_set_state(s, SESSION_CLOSING))
		return;
	s->end.returns = returns;
	if (returns)		/* session_closed() says until when */
		export_await(s->export, INT64_MAX);
	log_state(s, reason_level(reason), "closing: %s", rdmablk_reason_text(reason));
	if (visits)
		session_audit_visit(s, reason);
	else if (!s->granted)
		session_audit_refused(s, reason);
	s->end.reason = reason;
	s->lease.ending = true;
	s->end.began = loop_now();
	loop_timer_stop(&s->timer);
	loop_timer_stop(&s->key_ends);
	keying_forget(&s->keying);
	keying_forget(&s->rekeying);
	session_turn_skip(s);
	if (s->busy)
		atomic_store(&s->regions.cancel, true);
	else if (!s->opening && !session_part(s))
		session_fence(s);
}

/**
 * session_evict - end a login whose initiator is silent, or a visit, because another login
 *	needs the slot
 * @s: as returned by session_silent()
 */
void session_evict(struct session *s)
{
	log_peer(session_peer(s), LOG_INFO,
		 "%s: makes room for another login after %lld ms, silent for %lld ms",
		 session_text(s), (long long)(loop_now() - s->born),
		 (long long)(loop_now() - s->heard.last));
	quota_login_evict(session_peer(s));
	s->login.slot = false;
	s->login.evicted = true;
	session_end(s, RDMABLK_R_LOGIN_TIMEOUT);
}
