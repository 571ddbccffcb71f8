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
#include "command.h"
#include "limits.h"
#include "request.h"
#include "uapi/rdmablk_netlink.h"

/* Defaults and bounds of what uapi/rdmablk_netlink.h documents */
#define RDMABLK_DEFAULT_DEPTH		128
#define RDMABLK_MAX_DEPTH		1024
#define RDMABLK_DEFAULT_KEEP_ALIVE	5	/* seconds */
#define RDMABLK_DEFAULT_CONNECT_TMO	10	/* seconds */
#define RDMABLK_DEFAULT_ACK_TIMEOUT	16	/* 4.096 us << 16 = 268 ms */
#define RDMABLK_MIN_ACK_TIMEOUT		8
#define RDMABLK_MAX_ACK_TIMEOUT		22
#define RDMABLK_MAX_TMO			600	/* seconds */

/**
 * struct rdmablk_options - what the administrator asked for
 * @target: where to connect to; the port is set
 * @source: where from; AF_UNSPEC: the route decides
 * @export_name: which export
 * @host_id: identity of this host
 * @read_only: no write access wanted
 * @steal: end another host's writing session
 * @queues: hardware queues; 0: one per CPU
 * @queue_depth: requests per hardware queue
 * @keep_alive_tmo: seconds
 * @connect_tmo: seconds
 * @fast_io_fail_tmo: seconds
 * @ack_timeout: 4.096 us << this
 */
struct rdmablk_options {
	struct sockaddr_storage target;
	struct sockaddr_storage source;
	char export_name[RDMABLK_NAME_LEN];
	u8 host_id[RDMABLK_ID_LEN];
	bool read_only;
	bool steal;
	u32 queues;
	u32 queue_depth;
	u32 keep_alive_tmo;
	u32 connect_tmo;
	s32 fast_io_fail_tmo;
	u8 ack_timeout;
};

/**
 * struct rdmablk_session - one disk
 * @ref: the list, the disk and whoever looked it up hold one each
 * @node: in the list of all sessions, under its mutex
 * @index: N of rdmablkN
 * @name: "rdmablkN"
 * @id: "rdmablkN address:port/export", for log lines
 * @opt: options; constant
 * @lock: protects @state, @error, @reason and @fenced; taken in softirq, too
 * @state: changed by rdmablk_session_move() only
 * @error: the session has failed, or is past the point where that matters; set
 *	once, and whoever sets it is the one who starts the recovery
 * @fenced: the target said that nothing of this session can land any more
 * @reason: why it failed, enum rdmablk_reason
 * @why: text of the last connect error, static
 * @added: the disk has been added; the session may be removed
 * @disk_mutex: @disk does not go away while this is held
 * @instance_id: identity of this device towards the target
 * @generation: logins so far
 * @deadline: of the connect under way, in jiffies
 * @auth: keys of the login
 * @hello: as sent
 * @challenge: as received
 * @grant: as received
 * @limits: what a request may be
 * @nr_queues: hardware queues of the tag set
 * @ctrl: control queue
 * @pd: protection domain; no memory of this host is registered in it
 * @path: the data path's view
 * @ibdev: name of the RDMA device, for the administrator
 * @port: port of the RDMA device
 * @tag_set: tags
 * @disk: disk
 * @login_work: a login on behalf of insmod
 * @login_done: its end
 * @login_ret: its result
 * @recovery_work: takes the queues down after an error
 * @release_work: ends held writes when the target's session must have ended
 * @settled: after an error: nothing is held any more
 * @keepalive_work: asks the daemon whether it lives
 * @keepalive_sent: when it was last asked, in jiffies
 * @keepalive_late: the answer was due when the work last looked
 * @keepalives: answers
 */
struct rdmablk_session {
	struct kref ref;
	struct list_head node;
	int index;
	char name[16];
	char id[152];
	struct rdmablk_options opt;

	spinlock_t lock;	/* state, error, fenced, reason */
	enum rdmablk_dev_state state;
	bool error;
	bool fenced;
	u16 reason;
	const char *why;
	bool added;
	struct mutex disk_mutex;	/* disk does not go away */

	u8 instance_id[RDMABLK_ID_LEN];
	u32 generation;
	unsigned long deadline;
	struct rdmablk_auth auth;
	struct rdmablk_hello hello;
	struct rdmablk_wire_challenge challenge;
	struct rdmablk_wire_grant grant;
	struct rdmablk_limits_out limits;
	unsigned int nr_queues;

	struct rdmablk_ctrl ctrl;
	struct ib_pd *pd;
	struct rdmablk_path path;
	char ibdev[IB_DEVICE_NAME_MAX];
	u32 port;

	struct blk_mq_tag_set tag_set;
	struct gendisk *disk;

	struct work_struct login_work;
	struct completion login_done;
	int login_ret;
	struct work_struct recovery_work;
	struct delayed_work release_work;
	struct completion settled;
	struct delayed_work keepalive_work;
	unsigned long keepalive_sent;
	bool keepalive_late;
	u64 keepalives;
};

extern struct workqueue_struct *rdmablk_wq;
extern struct workqueue_struct *rdmablk_login_wq;
extern u8 rdmablk_host_id[RDMABLK_ID_LEN];
extern u8 rdmablk_boot_nonce[RDMABLK_ID_LEN];
extern bool rdmablk_ready;

/* session.c */
void rdmablk_options_init(struct rdmablk_options *opt);
struct rdmablk_session *rdmablk_session_create(const struct rdmablk_options *opt,
					       const char **why);
int rdmablk_session_connect(struct rdmablk_session *s);
int rdmablk_session_publish(struct rdmablk_session *s);
void rdmablk_session_abort(struct rdmablk_session *s);
int rdmablk_session_remove(struct rdmablk_session *s, bool force, const char **why);
void rdmablk_session_remove_all(void);
struct rdmablk_session *rdmablk_session_find(int index);
struct rdmablk_session *rdmablk_session_next(int index);
void rdmablk_session_put(struct rdmablk_session *s);
enum rdmablk_dev_state rdmablk_session_state(struct rdmablk_session *s);
bool rdmablk_session_move(struct rdmablk_session *s, enum rdmablk_dev_state to);
void rdmablk_session_error(struct rdmablk_session *s, u16 reason);
void rdmablk_session_init_queues(struct rdmablk_session *s);
void rdmablk_session_stop_data(struct rdmablk_session *s);
void rdmablk_session_destroy_queues(struct rdmablk_session *s);
void rdmablk_data_fatal(struct rdmablk_queue *q, u16 reason);

/* login.c */
int rdmablk_login(struct rdmablk_session *s);

/* recovery.c */
void rdmablk_recovery_init(struct rdmablk_session *s);
void rdmablk_recovery_finish(struct rdmablk_session *s);
void rdmablk_keepalive_start(struct rdmablk_session *s);

/* sysfs.c */
extern const struct attribute_group *rdmablk_disk_groups[];

#endif /* RDMABLK_SESSION_H */
