/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session: one disk of this host, from connect to disconnect.
 */
#ifndef RDMABLK_SESSION_H
#define RDMABLK_SESSION_H

#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "auth.h"
#include "mac.h"
#include "cm.h"
#include "ctrl.h"
#include "keepalive.h"
#include "limits.h"
#include "log.h"
#include "request.h"
#include "state.h"
#include "uapi/rdmablk_netlink.h"

/* Defaults of options, and a bound that no netlink policy has; see uapi/rdmablk_netlink.h */
#define RDMABLK_DEFAULT_DEPTH		128
#define RDMABLK_DEFAULT_KEEP_ALIVE	5	/* seconds */
#define RDMABLK_DEFAULT_CONNECT_TMO	10	/* seconds */
#define RDMABLK_MIN_ACK_TIMEOUT		8
#define RDMABLK_DEFAULT_RECONNECT_DELAY	2	/* seconds */
#define RDMABLK_DEFAULT_FAST_IO_FAIL	-1	/* seconds */
#define RDMABLK_DEFAULT_DEV_LOSS	600	/* seconds */
#define RDMABLK_DEFAULT_IO_TMO		30	/* seconds */
#define RDMABLK_DEFAULT_REAUTH_TMO	3600	/* seconds */
/* A command other than READ and WRITE may take so many times io_tmo. */
#define RDMABLK_SLOW_FACTOR		20

struct key;

/**
 * struct rdmablk_options - what the administrator asked for; those from @keep_alive_tmo
 *	to @on_data_loss may change at any time, one by one
 * @target: address of the target, with its port
 * @source: address to connect from; AF_UNSPEC: the route decides
 * @export_name: name of the export
 * @host_id: identity of this host
 * @read_only: no write access wanted
 * @steal: end another host's writing session
 * @queues: hardware queues; 0: see rdmablk_limits_shown()
 * @poll_queues: hardware queues for polled I/O, in addition to @queues
 * @queue_depth: requests per hardware queue
 * @connect_tmo: time without progress that ends a login, seconds
 * @route: retransmit timeout and type of service
 * @key_name: key to log in with, see keys.c; "": none. Under the session's lock once there is
 *	a session
 * @ordered: each WRITE ends with a READ; see queue.c
 * @keep_alive_tmo: seconds
 * @reconnect_delay: seconds
 * @fast_io_fail_tmo: seconds; -1: never before @dev_loss_tmo
 * @dev_loss_tmo: seconds; -1: never
 * @io_tmo: seconds; 0 or less: never
 * @reauth_tmo: seconds between two proofs of the key; 0 or less: only when one is asked for
 * @on_data_loss: enum rdmablk_on_data_loss
 */
struct rdmablk_options {
	struct sockaddr_storage target;
	struct sockaddr_storage source;
	char export_name[RDMABLK_NAME_LEN];
	u8 host_id[RDMABLK_ID_LEN];
	bool read_only;
	bool steal;
	u32 queues;
	u32 poll_queues;
	u32 queue_depth;
	u32 connect_tmo;
	struct rdmablk_cm_route route;
	char key_name[RDMABLK_KEY_NAME_LEN];
	bool ordered;
	u32 keep_alive_tmo;
	u32 reconnect_delay;
	s32 fast_io_fail_tmo;
	s32 dev_loss_tmo;
	s32 io_tmo;
	s32 reauth_tmo;
	u32 on_data_loss;
};

/**
 * struct rdmablk_agreed - what the two sides have agreed on in a login
 * @grant: GRANT of the target
 * @limits: limits of requests
 * @cmds: limits of commands; all zero without commands
 * @ibdev: name of the RDMA device, for the administrator
 * @port: port of the RDMA device
 * @nr_hwqs: hardware queues with queue pairs of their own
 * @nr_polled: number of those without interrupts, which are the last
 * @proven: each side has proved that it has the key: the login was of version 2
 * @read_depth: RDMA READs in flight per queue pair
 */
struct rdmablk_agreed {
	struct rdmablk_wire_grant grant;
	struct rdmablk_limits_out limits;
	struct rdmablk_wire_limits cmds;
	char ibdev[IB_DEVICE_NAME_MAX];
	u32 port;
	u32 nr_hwqs;
	u32 nr_polled;
	bool proven;
	u8 read_depth;
};

/**
 * struct rdmablk_login_state - state of a login; @hello and what follows belong to one
 *	attempt of it
 * @deadline: end of the login unless it makes progress before, in jiffies
 * @last_deadline: end of the login whatever progress it makes, in jiffies
 * @no_progress: time without progress that ends the login, jiffies
 * @failed_tries: number of tries in a row that have failed before this login
 * @version: protocol version of this login, and of the session that it begins
 * @hello: HELLO as sent; version 1 sends the first part only
 * @challenge: CHALLENGE as received
 * @offer: what the two sides have agreed on so far
 * @resized: size of the export that the target has announced during the login, bytes; 0: it
 *	has announced none. Under the session's lock
 * @reason: why the login cannot succeed, enum rdmablk_reason; 0: it still can. Under the
 *	session's lock
 * @trusted: reason that ends the login and that nobody but the target can have caused, enum
 *	rdmablk_reason; 0: there is none. Under the session's lock
 * @drained: why the session will end soon, as the target has announced during the login, enum
 *	rdmablk_reason; 0: it has announced no end. Under the session's lock
 * @reauth: the key has to be proved again once the session is live. Under the session's lock
 * @key_ends: the target has announced the end of the key. Under the session's lock
 * @key_ends_at: when the key ends, in jiffies. Under the session's lock
 * @leaving: the target has announced, since the login began, that the export will be removed;
 *	owned by the handler of the control queue
 * @no_room: an RDMA device, ours or the target's, has no room for the queues
 */
struct rdmablk_login_state {
	unsigned long deadline;
	unsigned long last_deadline;
	unsigned long no_progress;
	u32 failed_tries;
	u16 version;
	/* rdmablk_login_dialogue() zeroes all fields from here on */
	struct rdmablk_hello2 hello;
	struct rdmablk_wire_challenge challenge;
	struct rdmablk_agreed offer;
	u64 resized;
	u16 reason;
	u16 trusted;
	u16 drained;
	unsigned long key_ends_at;
	bool reauth;
	bool key_ends;
	bool leaving;
	bool no_room;
};

/**
 * struct rdmablk_outage - state of the connection, and of the outage if it is lost
 * @phase: changed by rdmablk_session_set_phase() only
 * @reason: why the connection was lost, or the session failed, enum rdmablk_reason; 0: neither
 * @trusted: reason of a CLOSE that only the target can have sent, enum rdmablk_reason; 0: no
 *	such CLOSE has come since the session went live
 * @planned: this side has given the connection up on purpose: the administrator wants a new
 *	one, or the export has grown
 * @grown: of a planned outage: the target says that the export has grown
 * @fenced: nothing of the lost connection can land any more
 * @failing_early: I/O fails only because the disk has not been added yet
 * @lost_at: time when the connection was lost, in jiffies
 * @down_at: time when the outage began, in jiffies; a restart of a failed device does not change
 *	it. Set by rdmablk_session_set_phase() only
 * @down_ms: duration of the outages that are over, in milliseconds. Set by
 *	rdmablk_session_set_phase() only
 * @clock: time from which the timeouts count, in jiffies
 * @last_clock: @clock before the last try to connect. Owned by the recovery work
 * @waiting: requests were held, or I/O failed, when the last try succeeded. Owned by the
 *	recovery work
 * @served: number of requests that had succeeded before the last try. Owned by the recovery
 *	work
 * @hold_until: time from which posted writes may fail, in jiffies. Owned by the recovery work
 * @attempts: number of tries since the connection was lost; a short connection between two of
 *	them does not reset it. Owned by the recovery work
 * @attempt_ret: result of the last try, so that the log says each error once. Owned by the
 *	recovery work
 * @late_joins: number of tries in a row that ended because no data queue made progress, or the
 *	CLOSE behind a reject was late; only a login that joins all its queues resets it.
 *	Owned by the login under way
 * @quiesced: bit 0: the recovery has quiesced the queue
 *
 * The session's lock protects all fields that name no owner.
 */
struct rdmablk_outage {
	enum rdmablk_phase phase;
	u16 reason;
	u16 trusted;
	bool planned;
	bool grown;
	bool fenced;
	bool failing_early;
	unsigned long lost_at;
	unsigned long down_at;
	u64 down_ms;
	unsigned long clock;
	unsigned long last_clock;
	bool waiting;
	u64 served;
	unsigned long hold_until;
	u32 attempts;
	int attempt_ret;
	unsigned int late_joins;
	unsigned long quiesced;
};

/**
 * enum rdmablk_end - how a session is to end
 */
enum rdmablk_end {
	/** @RDMABLK_END_NONE: nobody has asked for the end */
	RDMABLK_END_NONE,
	/** @RDMABLK_END_UNWANTED: disconnected before the disk was added */
	RDMABLK_END_UNWANTED,
	/** @RDMABLK_END_ORDERLY: nobody uses the disk */
	RDMABLK_END_ORDERLY,
	/** @RDMABLK_END_FORCED: the disk goes although it may be in use */
	RDMABLK_END_FORCED,
};

/**
 * struct rdmablk_session - one disk
 * @ref: the list, the disk and each task that looked the session up hold one
 * @node: in the list of all sessions, under its mutex
 * @index: N of rdmablkN
 * @name: "rdmablkN"
 * @id: "rdmablkN address:port/export", for log lines
 * @opt: options
 * @log: limits the log lines that the target can cause
 * @lock: protects what follows up to @promised, and the name in @opt; taken in softirq, too
 * @state: changed by rdmablk_session_move() only
 * @deleted_at: when it became "deleting", in jiffies; by the same
 * @outage: what has become of the connection
 * @unscanned: I/O has failed before the disk was added, and with it the scan for
 *	partitions
 * @live_at: time when the last login succeeded, in jiffies
 * @agreed: result of the last login that succeeded, without address and key of slots
 * @key: key that the next login takes; NULL: a login without a key
 * @promised: result of the first login, which the block layer relies on
 * @why: text of the last login error, static
 * @ack_timeout: exponent of the retransmit timeout that the last login asked for; 0: that of
 *	the path record
 * @longest_ack: exponent of the longest retransmit timeout that its queue pairs can have
 * @added: the disk has been added; the session may be removed
 * @end: whether and how the session is to end; under @disk_mutex
 * @hurry: requests may take RDMABLK_HURRY_TMO at most; set under @disk_mutex
 * @frozen: the request queue is frozen for a suspend; under @disk_mutex
 * @disk_mutex: keeps @disk; protects @end, @hurry and @frozen
 * @gone: completed when the disk is gone and the session has left the list
 * @instance_id: identity of this device towards the target
 * @generation: number of logins so far
 * @resume: a login has succeeded once
 * @accept_loss: the administrator acknowledged the loss of the store's contents
 * @login: the login under way, or the last one
 * @waiter: where the login under way waits
 * @mac: keys of a login of version 1
 * @auth: keys of a login of version 2
 * @nr_queues: hardware queues of the tag set
 * @most_queues: hardware queues to ask the target for: fewer than @nr_queues when the RDMA
 *	device had no room for more; doubled by each login that succeeds
 * @nr_regions: number of entries in the table of regions
 * @ctrl: control queue
 * @pd: protection domain; no memory of this host is registered in it
 * @path: the data path's view
 * @tag_set: tags of all requests
 * @disk: disk; NULL: not allocated yet, or freed
 * @login_work: runs the first login, for insmod
 * @login_done: completed when @login_work has ended
 * @login_ret: result of @login_work
 * @nl_portid: netlink socket that waits for the first login; 0: none
 * @recovery_work: takes the queues down after an error, and connects again
 * @fail_work: ends requests that have been held for too long
 * @reauth_work: proves the key again
 * @reauth_at: time when @reauth_work last began, in jiffies
 * @reauth_ret: result of the last @reauth_work, so that the log says each error once
 * @disk_work: tells the block layer what a new connection has changed
 * @disk_looked: time when @disk_work last ran, in jiffies
 * @reconnects: number of times that the connection came back
 * @held: requests that were in flight when a connection was lost
 * @errors: counters of the reasons why queue pairs ended
 * @keepalive: finds out whether the daemon lives
 */
struct rdmablk_session {
	struct kref ref;
	struct list_head node;
	int index;
	char name[16];
	char id[152];
	struct rdmablk_options opt;
	struct rdmablk_log log;

	spinlock_t lock;	/* protects all up to promised */
	enum rdmablk_dev_state state;
	unsigned long deleted_at;
	bool unscanned;
	struct rdmablk_outage outage;
	unsigned long live_at;
	struct rdmablk_agreed agreed;
	struct key *key;
	struct rdmablk_agreed promised;

	const char *why;
	u8 ack_timeout;
	u8 longest_ack;
	bool added;
	enum rdmablk_end end;
	bool hurry;
	bool frozen;
	struct mutex disk_mutex;	/* keeps disk; end, hurry, frozen */
	struct completion gone;

	u8 instance_id[RDMABLK_ID_LEN];
	u32 generation;
	bool resume;
	bool accept_loss;
	struct rdmablk_login_state login;
	struct rdmablk_waiter waiter;
	struct rdmablk_mac mac;
	struct rdmablk_auth auth;
	unsigned int nr_queues;
	u32 most_queues;
	u32 nr_regions;

	struct rdmablk_ctrl ctrl;
	struct ib_pd *pd;
	struct rdmablk_path path;

	struct blk_mq_tag_set tag_set;
	struct gendisk *disk;

	struct work_struct login_work;
	struct completion login_done;
	int login_ret;
	u32 nl_portid;
	struct delayed_work recovery_work;
	struct delayed_work fail_work;
	struct delayed_work reauth_work;
	unsigned long reauth_at;
	int reauth_ret;
	struct delayed_work disk_work;
	unsigned long disk_looked;
	u64 reconnects;
	u64 held;
	struct rdmablk_transport_errors errors;
	struct rdmablk_keepalive keepalive;
};

extern struct workqueue_struct *rdmablk_wq;
extern struct workqueue_struct *rdmablk_poll_wq;
extern struct workqueue_struct *rdmablk_recovery_wq;
extern struct workqueue_struct *rdmablk_reauth_wq;
extern struct workqueue_struct *rdmablk_login_wq;
extern u8 rdmablk_host_id[RDMABLK_ID_LEN];
extern u8 rdmablk_boot_nonce[RDMABLK_ID_LEN];
extern bool rdmablk_ready;
/* No disk logs in without a key. Read only. */
extern bool rdmablk_require_key;

struct rdmablk_session *rdmablk_session_alloc(const struct rdmablk_options *opt);
void rdmablk_session_await_freed(void);
bool rdmablk_session_go_live(struct rdmablk_session *s, u64 *resized, u16 *drained);
void rdmablk_session_announce(struct rdmablk_session *s);
extern void (*rdmablk_session_event)(struct rdmablk_session *s);
void rdmablk_session_options_init(struct rdmablk_options *opt);
void rdmablk_session_agreed(struct rdmablk_session *s, struct rdmablk_agreed *agreed);
u64 rdmablk_session_outage_ms(struct rdmablk_session *s);
bool rdmablk_session_disconnect_ms(struct rdmablk_session *s, u64 *ms);
void rdmablk_session_put(struct rdmablk_session *s);
enum rdmablk_dev_state rdmablk_session_state(struct rdmablk_session *s);
bool rdmablk_session_move(struct rdmablk_session *s, enum rdmablk_dev_state to);
bool rdmablk_session_set_phase(struct rdmablk_session *s, enum rdmablk_phase to);
bool rdmablk_session_is_orderly(u16 reason);
void rdmablk_session_error(struct rdmablk_session *s, u16 reason);
void rdmablk_session_renew(struct rdmablk_session *s, bool grown);
void rdmablk_session_stop_data(struct rdmablk_session *s);
void rdmablk_session_destroy_queues(struct rdmablk_session *s);
void rdmablk_session_data_fatal(struct rdmablk_queue *q, u16 reason);

#endif /* RDMABLK_SESSION_H */
