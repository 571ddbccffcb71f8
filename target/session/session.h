/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions: one initiator, one export, 1 + 2n queues.
 */
#ifndef RDMABLKD_SESSION_H
#define RDMABLKD_SESSION_H

#include "base/loop.h"
#include "base/worker.h"
#include "config/config.h"
#include "export/export.h"
#include "export/host.h"
#include "export/quota.h"
#include "rdma/conn.h"
#include "rdma/cq.h"
#include "rdma/ctrl.h"
#include "session/cmdq.h"
#include "session/region.h"
#include "session/scratch.h"
#include "wire/keying.h"
#include "wire/wire.h"

/**
 * enum session_state - where a session is; session.c says what the states of the end do
 * @SESSION_HELLO: a worker makes its control queue; then connected, waits for HELLO
 * @SESSION_PROOF: CHALLENGE is sent, waits for PROOF
 * @SESSION_VISIT: a host without an export looks round, or measures
 * @SESSION_REGISTER: admitted; a worker registers the memory
 * @SESSION_GRANTED: GRANT is sent; regions are asked for, queues join
 * @SESSION_LIVE: in use
 * @SESSION_CLOSING: the end has begun, waits for the jobs that workers have of it
 * @SESSION_STOPPING: the threads of its write queues let go of its queue pairs
 * @SESSION_FENCING: a worker destroys data queues and registrations, until that succeeds
 * @SESSION_SETTLING: fenced, waits for the command or I/O that its store works on
 * @SESSION_CLOSED: its export is free; the last message is on its way
 * @SESSION_DYING: a worker destroys the rest
 */
enum session_state {
	SESSION_HELLO,
	SESSION_PROOF,
	SESSION_VISIT,
	SESSION_REGISTER,
	SESSION_GRANTED,
	SESSION_LIVE,
	SESSION_CLOSING,
	SESSION_STOPPING,
	SESSION_FENCING,
	SESSION_SETTLING,
	SESSION_CLOSED,
	SESSION_DYING,
};

/**
 * struct session_login - data that only a login needs; zeroed when the session is live
 * @turn: in the list of sessions that wait until another of their address is registered
 * @hello: as received; of version 2 its first part
 * @challenge: as sent, version 1
 * @connected: when its control queue was ready for HELLO, ms; at first, @born
 * @slot: the session holds a login slot
 * @evicted: another login has got the slot
 * @refused: why the initiator itself has closed the session, or RDMABLK_OK
 * @waits: the session is in the list of @turn
 * @registering: a worker registers the memory
 * @noted: result of noting the writer: 1: noted; 0: not noted; -errno: the session must not
 *	write
 * @registered: upcall, once: the memory is registered, or the login has failed
 * @turn_began: when the session began to wait for its turn to register, ms
 * @registered_ms: how long the turn and the registration took; not part of a login's time
 */
struct session_login {
	TAILQ_ENTRY(session) turn;
	struct rdmablk_hello hello;
	struct rdmablk_challenge challenge;
	int64_t connected;
	bool slot;
	bool evicted;
	bool waits;
	bool registering;
	unsigned int refused;
	int noted;
	void (*registered)(struct job *job);
	int64_t turn_began;
	int64_t registered_ms;
};

/**
 * struct session_heard - messages of the initiator on the control queue
 * @keep_alive_ms: granted keep-alive timeout, ms
 * @silence_ms: the session ends when nothing was heard for so long
 * @last: when something was heard last, ms; at first, when it was connected
 * @window: start of the second in which @window_messages are counted, ms
 * @window_messages: for the limit on messages
 * @messages: number of messages received
 * @keepalives: number of keep-alives answered
 */
struct session_heard {
	uint32_t keep_alive_ms;
	uint32_t silence_ms;
	int64_t last;
	int64_t window;
	unsigned int window_messages;
	uint64_t messages;
	uint64_t keepalives;
};

/**
 * struct session_events - events for the initiator, and the time that it gets to flush
 * @value: value of each event that is due, as session_tell() got it
 * @due: events that wait until earlier ones have arrived, a bit each
 * @drained: DRAIN was sent, or is due: the end of daemon or export is near
 * @late: the time to flush is over, and the session goes on because it is flushing
 * @late_flushes: FLUSHes that had begun when the session became @late
 */
struct session_events {
	uint64_t value[RDMABLK_EVENT_REAUTH + 1];
	uint32_t due;
	bool drained;
	bool late;
	uint64_t late_flushes;
};

/**
 * struct session_ending - the end of a session
 * @reason: why the session ends, enum rdmablk_reason
 * @clean: the initiator has logged out and says that nothing is unflushed
 * @returns: the device is expected back
 * @parting: CLOSE to a visit was sent before its fence, which waits until CLOSE has arrived
 * @stuck: the adapter's driver has refused to destroy something
 * @logout: the command to be answered, when @reason is RDMABLK_R_LOGOUT
 * @began: time at which the end began, ms
 * @late: in each state of the end: logs what the session waits for
 * @late_ms: how long @late runs this time, ms
 */
struct session_ending {
	unsigned int reason;
	bool clean;
	bool returns;
	bool parting;
	bool stuck;
	struct wire_command logout;
	int64_t began;
	struct loop_timer late;
	int64_t late_ms;
};

/**
 * struct session - see the top of session.c for who may touch what, when
 * @entry: in the list of sessions
 * @cfg: the configuration
 * @device: RDMA device of all its queues
 * @peer: address of the initiator
 * @peer_text: the same as text
 * @id: number of the session; one process never uses a number twice
 * @born: time of the connection request, ms
 * @version: version of the protocol
 * @port: port of @device
 * @quiet: the control queue is of no use for a last message
 * @busy: @job is under way
 * @leased: @lease is held
 * @granted: GRANT was sent: keys may have been used
 * @known: its address counts as that of a live session
 * @state: changed by session_set_state() only
 * @job: the one job that a session has at a time
 * @job_error: result of @job
 * @timer: limits, one after the other, the login, a silence, the pause before another fence,
 *	and the time after the last message
 * @receive: upcall for a message: RDMABLK_OK or why the session must end
 * @login: data of the login, until SESSION_LIVE
 * @heard: messages of the initiator
 * @events: events for the initiator
 * @end: data of the end, from SESSION_CLOSING on
 * @pd: protection domain; the session's keys are valid nowhere else
 * @cq: completion queue of its queues, except write queues that carry commands
 * @ctrl: buffers of the control queue
 * @conn: the control queue
 * @data: data queue q is @data[q - 1]; NULL: it has not joined
 * @nr_data: number of data queues: twice the hardware queues granted
 * @opening: number of data queues that workers are making; a fence begins when it is 0
 * @joined: number of data queues that are connected
 * @refused_joins: requests to join that named its id
 * @hello: HELLO, decoded
 * @proof: host whose key the session has proved; all 0 with AUTH_NONE
 * @key: session key, from SESSION_REGISTER on; version 1
 * @keying: keys of version 2, of the present epoch
 * @rekeying: keys of the next epoch, between REAUTH and REAUTH_PROOF
 * @rekeying_id: fingerprint of the key that REAUTH names
 * @key_ends: timer that ends the session because of its key
 * @export: export of the session, from SESSION_REGISTER on
 * @lease: lease on @export
 * @share: what the session has taken of the limits
 * @visit: what a visit has taken of the limits
 * @scratch: scratch region of a visit
 * @regions: registered regions of @export
 * @limits: of the store, as GRANT and LIMITS say
 * @plan: resources of a session with a staged store, else all 0
 * @staged: session's part of a staged store; NULL: freed
 * @grant_flags: RDMABLK_GRANT_*, as granted
 * @cmdqs: commands of a one-sided store; zeroed without RDMABLK_F_COMMANDS
 * @lanes: of @staged or @cmdqs, once threads know of them; NULL: freed, or without commands
 * @lanes_stopped: the threads use no queue pair of @lanes any more
 * @lanes_idle: the threads are done with @lanes and the store, too
 * @counts: commands answered, when @lanes have stopped
 * @scope: limits of commands, as in LIMITS; with RDMABLK_F_COMMANDS
 */
struct session {
	LIST_ENTRY(session) entry;
	const struct config *cfg;
	struct device *device;
	struct sockaddr_storage peer;
	char peer_text[ADDR_TEXT];
	uint64_t id;
	int64_t born;
	uint16_t version;
	uint8_t port;
	bool quiet;
	bool busy;
	bool leased;
	bool granted;
	bool known;
	enum session_state state;
	struct job job;
	int job_error;
	struct loop_timer timer;
	unsigned int (*receive)(struct session *s, const void *msg, size_t len);
	struct session_login login;
	struct session_heard heard;
	struct session_events events;
	struct session_ending end;

	struct ibv_pd *pd;
	struct cq cq;
	struct ctrl ctrl;
	struct conn *conn;
	struct conn **data;
	unsigned int nr_data;
	unsigned int opening;
	unsigned int joined;
	uint64_t refused_joins;

	struct wire_hello hello;
	struct host_proof proof;
	uint8_t key[RDMABLK_MAC_LEN];
	struct keying keying;
	struct keying rekeying;
	uint8_t rekeying_id[RDMABLK_KEY_ID_LEN];
	struct loop_timer key_ends;
	struct export *export;
	struct lease lease;
	struct quota_share share;
	struct quota_visit visit;
	struct scratch scratch;
	struct regions regions;
	struct store_limits limits;
	struct staged_plan plan;
	struct staged *staged;
	uint32_t grant_flags;
	struct cmdqs cmdqs;
	struct lanes *lanes;
	bool lanes_stopped;
	bool lanes_idle;
	struct store_counts counts;
	struct wire_scope scope;
};

/* Work request id of a data queue's guard; the others are ctrl.h's. */
#define SESSION_WR_GUARD	0x40000

/* The initiator's address, for the budgets of the log; valid as long as the session is. */
static inline const struct sockaddr *session_peer(const struct session *s)
{
	return (const struct sockaddr *)&s->peer;
}

/* Threads of its export have its write queues, or their commands. */
static inline bool session_has_lanes(const struct session *s)
{
	return s->lanes && !s->lanes_idle;
}

/* session_list.c: the list of all sessions; calls none of the functions below */
int session_init(void (*gone)(void));
void session_add(struct session *s);
void session_remove(struct session *s);
struct session *session_find(uint64_t id);
bool session_any(void);
struct session *session_next(const struct session *s);
unsigned int session_users(const struct export *export);
void session_counts(const struct session *s, struct store_counts *sum);
bool session_left(const struct export *export);
bool session_has_written(const struct session *s);
bool session_has_cache(const struct session *s);
bool session_expected(void);
unsigned int session_caches(const struct export *only);
unsigned int session_cmdqs_busy(void);
unsigned int session_ghosts(void);
void session_turn_wait(struct session *s);
void session_turn_skip(struct session *s);
struct session *session_turn_next(const struct session *s);
struct session *session_silent(const struct sockaddr *peer);

/* session.c: life and end */
const char *session_host(const struct session *s);
const char *session_text(const struct session *s);
const char *session_awaits(const struct session *s);
bool session_set_state(struct session *s, enum session_state state);
unsigned int session_send(struct session *s, const void *msg, size_t len);
void session_tell(struct session *s, uint16_t event, uint64_t value);
void session_tell_due(struct session *s);
uint64_t session_room(const struct export *export);
void session_tell_size(struct session *s);
void session_resized(const struct export *export);
void session_login_timer(struct session *s);
uint16_t session_queue_depth(const struct session *s);
void session_live(struct session *s);
void session_submit(struct session *s, void (*run)(struct job *job),
		    void (*done)(struct job *job), enum job_kind kind);
void session_end(struct session *s, unsigned int reason);
void session_evict(struct session *s);
void session_fence(struct session *s);
void session_parted(struct session *s);
void session_lanes_stopped(void *owner);
void session_lanes_idle(void *owner);
void session_destroy(struct session *s);
void session_end_ghost(struct session *s);

/* session_event.c: what happens to its queues, and the end of several */
void session_completed(struct cq *cq, const struct ibv_wc *wc);
void session_cq_failed(struct cq *cq);
void session_conn_event(struct conn *conn, enum conn_event event);
void session_end_device(struct device *dev);
void session_end_all(unsigned int reason);
void session_end_export(const struct export *export, unsigned int reason);
void session_end_broken(const struct export *export);
unsigned int session_drain(const struct export *only, uint64_t ms, uint64_t cache_ms);
unsigned int session_end_late(const struct export *only, unsigned int reason);

/* session_key.c: what changes of hosts and keys do to them */
void session_key_ends(struct session *s, uint64_t ms);
void session_hosts_changed(void);
unsigned int session_reauth_begin(struct session *s, const void *msg, size_t len);
unsigned int session_reauth_prove(struct session *s, const void *msg, size_t len);

/* session_open.c: beginnings */
unsigned int session_create(const struct cm_event *ev, struct device *dev,
			    const struct config *cfg, uint16_t version,
			    unsigned int (*receive)(struct session *s,
						    const void *msg, size_t len));
unsigned int session_join(struct session *s, const struct cm_event *ev,
			  const struct wire_request *req);
unsigned int session_register(struct session *s, void (*done)(struct job *job));
bool session_registered(struct session *s);

#endif
