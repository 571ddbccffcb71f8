// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a session begins, registers its export, and gets its queues. After a failure
 * session_end() undoes what was made.
 *
 * Workers make the queue pairs. An adapter may take a millisecond for each, and one whose
 * firmware does not answer a minute, in which the loop has the sessions of all others.
 * Requests that join are opened several at a time, each a job of its own; the fence waits
 * until the last of them is done.
 */
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "session/session.h"

/*
 * Completions: each receive and each send of the control queue, and the guard
 * of each data queue. Write queues that carry commands have another completion queue.
 */
#define SESSION_CQES	(CTRL_RECVS + CTRL_SENDS + 2 * RDMABLK_MAX_QUEUES)

#define VISIT_READS	16	/* at once, that a control queue answers */

static unsigned int queue_reason(int ret)
{
	return ret == DEVICE_FULL ? RDMABLK_R_DEVICE_FULL : RDMABLK_R_NO_MEMORY;
}

/* In a worker. After an error the end of the session undoes what was made. */
static int create_queue(struct session *s)
{
	int cqes = SESSION_CQES, ret;

	if (cqes > s->device->attr.max_cqe)
		cqes = s->device->attr.max_cqe;
	s->pd = ibv_alloc_pd(s->device->verbs);
	if (!s->pd)
		return -errno;
	ret = cq_open(&s->cq, s->device->channel, cqes) ?: ctrl_create(&s->ctrl, s->pd);
	if (ret)
		return ret;
	s->conn->setup = (struct conn_setup){
		.pd = s->pd,
		.cq = s->cq.ibv,
		.caps = { .sends = CTRL_SENDS, .recvs = CTRL_RECVS },
		.resources = s->conn->setup.resources,
	};
	ret = conn_open(s->conn);
	return ret ?: ctrl_start(&s->ctrl, s->conn->pair);
}

static void create_run(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	s->job_error = create_queue(s);
}

/* The accept of version 2 proves that the queue pair is the target's. */
static int accept_queue(struct session *s, struct conn *conn)
{
	bool bad = !conn->queue && fault(FAULT_BAD_VERSION);
	struct rdmablk_cm_accept2 data = { 0 };

	wire_pack_accept(&data.accept, bad ? 99 : s->version, conn->queue);
	if (s->version != RDMABLK_VERSION_PROVEN)
		return conn_accept(conn, &data.accept, sizeof(data.accept));
	if (conn->queue && keying_accept(&s->keying, &data, conn->mac, conn->pair->qp_num))
		return -EIO;
	data.mac[0] ^= conn->queue && fault(FAULT_FOREIGN_ACCEPT);
	if (conn->queue == 1)
		fault_flip(FAULT_FLIP_ACCEPT, &data, sizeof(data));
	return conn_accept(conn, &data, sizeof(data));
}

static void create_done(struct job *job)
{
	struct session *s = container_of(job, struct session, job);
	int ret = s->job_error;

	s->busy = false;
	if (s->state == SESSION_CLOSING) {
		conn_refuse(s->conn, s->end.reason, s->version);
		session_fence(s);
		return;
	}
	ret = ret ?: accept_queue(s, s->conn);
	if (ret) {
		log_peer(session_peer(s), LOG_ERR, "%s: cannot make a control queue: %s",
			 s->peer_text, device_error_text(ret));
		conn_refuse(s->conn, queue_reason(ret), s->version);
		session_end(s, queue_reason(ret));
		return;
	}
	s->quiet = false;
	s->heard.last = loop_now();
	s->login.connected = s->heard.last;
	session_login_timer(s);
	log_debug("%s: connected", session_text(s));
}

static struct session *session_alloc(const struct cm_event *ev, struct device *dev,
				     uint16_t version)
{
	struct rdma_cm_id *id = ev->id;
	const struct sockaddr *peer = rdma_get_peer_addr(id);
	uint8_t reads = device_read_depth(dev);
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->conn = conn_create(id, s, 0, session_conn_event);
	if (!s->conn) {
		free(s);
		return NULL;
	}
	s->conn->qpn = ev->qpn;
	/*
	 * READs that the queue pair answers at once, for a visit with a scratch region; nobody
	 * may READ before that is lent. Each costs memory of the device, and nothing is known
	 * of the peer yet, so there are few.
	 */
	reads = reads < VISIT_READS ? reads : VISIT_READS;
	s->conn->setup.resources = ev->resources < reads ? ev->resources : reads;
	s->device = dev;
	s->port = id->port_num;
	s->version = version;
	s->cq.completed = session_completed;
	s->cq.failed = session_cq_failed;
	s->born = loop_now();
	s->heard.last = s->born;
	s->login.connected = s->born;
	s->quiet = true;	/* until it is accepted */
	memcpy(&s->peer, peer, peer->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	value_address_text(peer, s->peer_text, false);
	return s;
}

/**
 * session_create - begin a login
 * @ev: connection request for a control queue
 * @dev: device of its id; with RDMABLK_OK the session owns the reference
 * @cfg: outlives the session
 * @version: of the protocol
 * @receive: gets its messages; returns RDMABLK_OK or why the session must end
 *
 * The caller has taken a login slot; it is the session's with RDMABLK_OK. A worker makes the
 * control queue; then the request is accepted, or refused and the session ends.
 *
 * Return: enum rdmablk_reason; unless RDMABLK_OK the id is still the caller's.
 */
unsigned int session_create(const struct cm_event *ev, struct device *dev,
			    const struct config *cfg, uint16_t version,
			    unsigned int (*receive)(struct session *s,
						    const void *msg, size_t len))
{
	struct session *s = session_alloc(ev, dev, version);

	if (!s)
		return RDMABLK_R_NO_MEMORY;
	s->cfg = cfg;
	s->receive = receive;
	s->login.slot = true;
	session_add(s);
	session_login_timer(s);
	session_submit(s, create_run, create_done, JOB_OPEN);
	return RDMABLK_OK;
}

static int register_staged(struct session *s)
{
	struct store *store = &s->export->store;
	int ret = store->ops->staged->open(store, &s->plan, &s->staged);

	s->scope.slot_iova = s->plan.slot_iova;
	s->scope.slot_rkey = s->plan.slot_rkey;
	return ret;
}

static int register_arena(struct session *s)
{
	int ret = region_register(&s->regions, &s->export->store, s->pd,
				  s->lease.writer);

	if (!ret && s->hello.features & RDMABLK_F_COMMANDS)
		ret = cmdq_open(&s->cmdqs, s->device, s->pd, s->share.queues);
	return ret;
}

static void register_run(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	if (fault(FAULT_SLOW_LOGIN))
		usleep((useconds_t)fault(FAULT_SLOW_LOGIN) * 1000);
	if (s->grant_flags & RDMABLK_GRANT_STAGED)
		s->job_error = register_staged(s);
	else
		s->job_error = register_arena(s);
}

static bool others_register(const struct session *s)
{
	const struct session *other = NULL;

	while ((other = session_next(other)))
		if (other->login.registering &&
		    quota_same_address(session_peer(other), session_peer(s)))
			return true;
	return false;
}

static void register_submit(struct session *s)
{
	s->login.registering = true;
	session_submit(s, register_run, s->login.registered, JOB_REGISTER);
}

static void register_turn(struct session *s)
{
	loop_timer_stop(&s->timer);
	s->login.turn_began = loop_now();
	if (others_register(s))
		session_turn_wait(s);
	else
		register_submit(s);
}

static void note_run(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	s->login.noted = export_note_writer(s->export, &s->lease);
}

static void note_done(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	if (s->state == SESSION_CLOSING || s->login.noted < 0) {
		s->login.registered(job);	/* it ends without memory */
		return;
	}
	s->busy = false;
	register_turn(s);
}

/* Messages from before the failure of a queue may still wait for their turn. */
static void lanes_failed(void *owner, unsigned int reason)
{
	struct session *s = owner;

	if (!s->quiet)
		cq_catch_up(&s->cq, CTRL_RECVS + CTRL_SENDS);
	session_end(s, reason);
}

/**
 * session_register - register the export's memory for an admitted session
 * @s: with @export, @lease, @regions or @plan, @scope; in SESSION_REGISTER
 * @done: in the loop, once; calls session_registered() first
 *
 * If necessary, notes the writer in the state directory first. The directory may hang, so the
 * login timer runs meanwhile. If it expires, the login has failed, and the end of the session
 * waits for the directory. The registration has no such limit, because it takes longer for a
 * larger export.
 *
 * Registers one session of an address at a time, so that a host that logs in again and again
 * to a large export does not delay other hosts.
 *
 * Return: enum rdmablk_reason.
 */
unsigned int session_register(struct session *s, void (*done)(struct job *job))
{
	s->data = calloc(2 * s->share.queues, sizeof(*s->data));
	if (!s->data)
		return RDMABLK_R_NO_MEMORY;
	s->nr_data = 2 * s->share.queues;
	s->cmdqs.store = &s->export->store;
	s->cmdqs.lanes.threads = s->export->commands;
	s->cmdqs.lanes.scope = s->scope;
	s->cmdqs.lanes.owner = s;
	s->cmdqs.lanes.failed = lanes_failed;
	s->cmdqs.lanes.stopped = session_lanes_stopped;
	s->cmdqs.lanes.idle = session_lanes_idle;
	s->plan.pd = s->pd;
	s->plan.owner = s;
	s->plan.failed = lanes_failed;
	s->plan.stopped = session_lanes_stopped;
	s->plan.idle = session_lanes_idle;
	s->login.registered = done;
	if (export_note_due(s->export, &s->lease)) {
		session_login_timer(s);
		session_submit(s, note_run, note_done,
			       s->export->cfg->state ? JOB_NOTE_STATE : JOB_NOTE);
	} else {
		register_turn(s);
	}
	return RDMABLK_OK;
}

/* The registration has ended: the next session of its address may begin. */
static void register_end(struct session *s)
{
	struct session *next;

	if (!s->login.registering)
		return;
	s->login.registering = false;
	next = session_turn_next(s);
	if (!next)
		return;
	session_turn_skip(next);
	register_submit(next);
}

/**
 * session_registered - go on after the registration
 * @s: session
 *
 * Return: true: the login goes on; false: the session has begun to end.
 */
bool session_registered(struct session *s)
{
	struct lanes *lanes = s->staged ? &s->staged->lanes : &s->cmdqs.lanes;

	s->busy = false;
	if (lanes->given)
		s->lanes = lanes;
	if (s->login.registering)
		s->login.registered_ms = loop_now() - s->login.turn_began;
	register_end(s);
	if (s->login.noted > 0)
		export_noted(s->export, &s->lease);
	if (s->state == SESSION_CLOSING) {
		session_fence(s);
		return false;
	}
	if (s->login.noted < 0) {
		session_end(s, RDMABLK_R_INTERNAL);
		return false;
	}
	if (s->job_error == -ENOSPC && s->staged) {
		log_peer(session_peer(s), LOG_ERR,
			 "%s: its queues do not fit in beside those of other sessions of its export",
			 session_text(s));
		session_end(s, RDMABLK_R_LIMIT_QUEUES);
		return false;
	}
	if (s->job_error == -E2BIG) {
		log_peer(session_peer(s), LOG_ERR,
			 "%s: the host has too little memory free for its buffers",
			 session_text(s));
		session_end(s, RDMABLK_R_NO_MEMORY);
		return false;
	}
	if (s->job_error == DEVICE_FULL) {
		log_peer(session_peer(s), LOG_ERR, "%s: cannot make its completion queues: %s",
			 session_text(s), device_error_text(s->job_error));
		session_end(s, RDMABLK_R_DEVICE_FULL);
		return false;
	}
	if (s->job_error) {
		log_peer(session_peer(s), LOG_ERR, "%s: cannot register %llu bytes: %s%s",
			 session_text(s), (unsigned long long)s->share.bytes,
			 strerror(-s->job_error),
			 s->job_error == -ENOMEM ?
			 " (RLIMIT_MEMLOCK too small?)" : "");
		session_end(s, RDMABLK_R_NO_MEMORY);
		return false;
	}
	export_let_write(s->export, &s->lease);
	return true;
}

static unsigned int hardware_queue(const struct conn *conn)
{
	return (conn->queue - 1U) / 2;
}

/* The kind of a data queue decides its sizes, its rights and the owner of its completions. */
static void setup_queue(struct session *s, const struct conn *conn, bool write,
			struct conn_setup *setup)
{
	setup->pd = s->pd;
	setup->cq = s->cq.ibv;
	setup->caps = (struct conn_caps){ .sends = 1, .recvs = 1 };
	setup->access = IBV_ACCESS_REMOTE_READ;
	/* WRITE queues may READ, too: that is how a write is fenced */
	if (write && s->lease.writer)
		setup->access |= IBV_ACCESS_REMOTE_WRITE;
	if (write && s->lanes)
		lane_setup(s->lanes, hardware_queue(conn), setup);
}

/* Posts its receives before the peer may send. */
static int start_queue(struct session *s, struct conn *conn)
{
	struct ibv_sge sge;

	if (conn->setup.cq != s->cq.ibv)
		return lane_join(s->lanes, hardware_queue(conn), conn->pair);
	ctrl_guard_sge(&s->ctrl, &sge);
	return conn_guard(conn, SESSION_WR_GUARD | conn->queue, &sge);
}

static void join_run(struct job *job)
{
	struct conn *conn = container_of(job, struct conn, job);

	conn->error = conn_open(conn);
}

/*
 * If there is no queue pair, nothing is left of the data queue, and a reject is enough: the
 * initiator may ask for fewer queues in its next login. In version 2 it does so only after a
 * sealed CLOSE, which ends the session. If there is a queue pair, only the end of the session
 * destroys it: a worker has to, because the device may take its time or refuse, and the thread
 * of the write queue may know the queue pair already. The fence takes care of both.
 */
static void join_failed(struct session *s, struct conn *conn, int error)
{
	unsigned int reason = queue_reason(error);

	log_peer(session_peer(s), LOG_ERR, "%s: cannot make data queue %u: %s",
		 session_text(s), conn->queue, device_error_text(error));
	s->refused_joins++;
	if (conn->pair || s->version == RDMABLK_VERSION_PROVEN) {
		conn_refuse(conn, reason, s->version);
		session_end(s, reason);
		return;
	}
	s->data[conn->queue - 1] = NULL;
	conn_reject(conn->id, reason, s->version);
	free(conn);
}

static void join_done(struct job *job)
{
	struct conn *conn = container_of(job, struct conn, job);
	struct session *s = conn->owner;
	int ret = conn->error;

	s->opening--;
	if (s->state != SESSION_GRANTED) {
		conn_refuse(conn, s->end.reason, s->version);
		if (!s->opening)
			session_fence(s);
		return;
	}
	ret = ret ?: start_queue(s, conn) ?: accept_queue(s, conn);
	if (ret) {
		join_failed(s, conn, ret);
		return;
	}
	s->joined++;
	session_login_timer(s);
}

/**
 * session_join - let a data queue join
 * @s: session the initiator has proven to own
 * @ev: connection request
 * @req: the same, decoded and verified
 *
 * A worker makes the queue pair; then the request is accepted or refused.
 *
 * Return: enum rdmablk_reason; unless RDMABLK_OK the id is still the caller's.
 */
unsigned int session_join(struct session *s, const struct cm_event *ev,
			  const struct wire_request *req)
{
	struct rdma_cm_id *id = ev->id;
	uint8_t depth = device_read_depth(s->device);
	struct conn *conn;

	if (s->state != SESSION_GRANTED)
		return RDMABLK_R_STATE;
	if (req->queue > s->nr_data)
		return RDMABLK_R_LIMIT_QUEUES;
	if (s->data[req->queue - 1])
		return RDMABLK_R_JOIN_TWICE;
	if (id->verbs != s->device->verbs || id->port_num != s->port)
		return RDMABLK_R_JOIN_DEVICE;
	conn = conn_create(id, s, req->queue, session_conn_event);
	if (!conn)
		return RDMABLK_R_NO_MEMORY;
	setup_queue(s, conn, req->kind == RDMABLK_KIND_WRITE, &conn->setup);
	conn->setup.resources = ev->resources < depth ? ev->resources : depth;
	conn->qpn = ev->qpn;
	memcpy(conn->mac, ev->data + offsetof(struct rdmablk_cm_request, mac),
	       sizeof(conn->mac));
	conn->job = (struct job){
		.run = join_run,
		.done = join_done,
		.kind = JOB_OPEN,
		.client = value_ip(session_peer(s)),
	};
	s->data[req->queue - 1] = conn;
	s->opening++;
	worker_submit(&conn->job);
	return RDMABLK_OK;
}
