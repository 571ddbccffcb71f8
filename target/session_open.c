// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a session begins, registers its export, gets its queues. What a failure
 * leaves half made before the session is in the list is undone here; afterwards
 * session_end() does it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "session.h"
#include "util.h"

/*
 * Completions: each receive and each send of the control queue, and the guard
 * of each data queue. Write queues that carry commands have another completion queue.
 */
#define SESSION_CQES	(CTRL_RECVS + CTRL_SENDS + 2 * RDMABLK_MAX_QUEUES)

static TAILQ_HEAD(, session) waiting = TAILQ_HEAD_INITIALIZER(waiting);

static unsigned int queue_reason(int ret)
{
	return ret == DEVICE_FULL ? RDMABLK_R_DEVICE_FULL : RDMABLK_R_NO_MEMORY;
}

static int create_queue(struct session *s)
{
	const struct conn_caps caps = { .sends = CTRL_SENDS, .recvs = CTRL_RECVS };
	int cqes = SESSION_CQES, ret;

	if (cqes > s->device->attr.max_cqe)
		cqes = s->device->attr.max_cqe;
	s->pd = ibv_alloc_pd(s->device->verbs);
	if (!s->pd)
		return -errno;
	ret = cq_open(&s->cq, s->device->channel, cqes) ?: ctrl_create(&s->ctrl, s->pd);
	if (ret)
		return ret;
	ret = conn_open(s->conn, s->pd, s->cq.ibv, &caps);
	return ret ?: ctrl_start(&s->ctrl, s->conn->pair);
}

/*
 * The id stays the caller's. What the device does not let go of it may still write to,
 * and tell of: that is not freed.
 */
static void undo_create(struct session *s)
{
	int ret = conn_close(s->conn);

	if (!ret)
		ctrl_destroy(&s->ctrl);
	if (!ret)
		ret = cq_close(&s->cq);
	if (!ret && s->pd)
		ret = -ibv_dealloc_pd(s->pd);
	if (ret) {
		log_err("%s: the device does not let go of a queue: %s; its memory stays taken",
			s->peer_text, strerror(-ret));
		s->conn->id = NULL;
		session_keep(s);
		return;
	}
	free(s->conn);
	free(s);
}

static struct session *session_alloc(struct rdma_cm_id *id, struct device *dev,
				     uint16_t version)
{
	const struct sockaddr *peer = rdma_get_peer_addr(id);
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->conn = conn_create(id, s, 0, session_conn_event);
	if (!s->conn) {
		free(s);
		return NULL;
	}
	s->device = dev;
	s->port = id->port_num;
	s->version = version;
	s->cq.completed = session_completed;
	s->cq.failed = session_cq_failed;
	s->born = loop_now();
	s->heard = s->born;
	memcpy(&s->peer, peer, peer->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	value_address_text(peer, s->peer_text, false);
	return s;
}

/**
 * session_create - a login begins
 * @id: of the connection request for a control queue
 * @dev: of @id; the session's with RDMABLK_OK
 * @cfg: outlives the session
 * @version: of the protocol
 * @receive: gets its messages; returns RDMABLK_OK or why the session must end
 *
 * The caller has taken a login slot; it is the session's with RDMABLK_OK.
 *
 * Return: enum rdmablk_reason; unless RDMABLK_OK @id is still the caller's.
 */
unsigned int session_create(struct rdma_cm_id *id, struct device *dev,
			    const struct config *cfg, uint16_t version,
			    unsigned int (*receive)(struct session *s,
						    const void *msg, size_t len))
{
	struct session *s = session_alloc(id, dev, version);
	int ret;

	if (!s)
		return RDMABLK_R_NO_MEMORY;
	s->cfg = cfg;
	s->receive = receive;
	ret = create_queue(s);
	if (!ret)
		ret = conn_accept(s->conn, fault(FAULT_BAD_VERSION) ? 99 : version,
				  0, 0);
	if (ret) {
		log_peer(session_peer(s), LOG_ERR, "%s: cannot make a control queue: %s",
			 s->peer_text, device_error_text(ret));
		undo_create(s);
		return queue_reason(ret);
	}
	s->login_slot = true;
	session_add(s);
	session_login_timer(s);
	log_debug("%s: connected", session_text(s));
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
	int ret = regions_register(&s->regions, &s->export->store, s->pd,
				   s->lease.writer);

	if (!ret && s->wish.features & RDMABLK_F_COMMANDS)
		ret = command_open(&s->commands, s->device, s->pd, s->share.queues);
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
		if (other->registering &&
		    limits_same_address(session_peer(other), session_peer(s)))
			return true;
	return false;
}

static void register_submit(struct session *s)
{
	s->registering = true;
	session_submit(s, register_run, s->registered, JOB_REGISTER);
}

static void register_turn(struct session *s)
{
	loop_timer_stop(&s->timer);
	s->waits = others_register(s);
	if (s->waits)
		TAILQ_INSERT_TAIL(&waiting, s, turn);
	else
		register_submit(s);
}

static void note_run(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	s->noted = export_note_writer(s->export, &s->lease);
}

static void note_done(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	if (s->state == SESSION_CLOSING || s->noted < 0) {
		s->registered(job);	/* it ends without memory */
		return;
	}
	s->busy = false;
	register_turn(s);
}

static void commands_ended(struct commands *c, unsigned int reason)
{
	session_end(container_of(c, struct session, commands), reason);
}

static void staged_failed(void *owner, unsigned int reason)
{
	session_end(owner, reason);
}

/**
 * session_register - register the export's memory for an admitted session
 * @s: with @export, @lease, @regions or @plan, @scope; in SESSION_REGISTER
 * @done: in the loop, once; calls session_registered() first
 *
 * If need be it is noted in the state directory before that who is to write. The directory
 * may hang, so that the login timer runs meanwhile: when it expires the login has failed,
 * and the end of the session waits for the directory. The registration has no such limit,
 * because it lasts the longer the larger the export is.
 *
 * One at a time of an address: a host that logs in again and again to an export with much
 * memory keeps no other waiting.
 *
 * Return: enum rdmablk_reason.
 */
unsigned int session_register(struct session *s, void (*done)(struct job *job))
{
	s->data = calloc(2 * s->share.queues, sizeof(*s->data));
	if (!s->data)
		return RDMABLK_R_NO_MEMORY;
	s->nr_data = 2 * s->share.queues;
	s->commands.scope = s->scope;
	s->commands.store = &s->export->store;
	s->commands.ended = commands_ended;
	s->commands.idle = session_commands_idle;
	s->plan.pd = s->pd;
	s->plan.owner = s;
	s->plan.failed = staged_failed;
	s->plan.stopped = session_staged_stopped;
	s->plan.idle = session_staged_idle;
	s->registered = done;
	if (export_note_due(s->export, &s->lease)) {
		session_login_timer(s);
		session_submit(s, note_run, note_done, JOB_NOTE);
	} else {
		register_turn(s);
	}
	return RDMABLK_OK;
}

/**
 * session_register_skip - a session is not to be registered any more
 * @s: session; unless it waits for its turn nothing happens
 */
void session_register_skip(struct session *s)
{
	if (s->waits)
		TAILQ_REMOVE(&waiting, s, turn);
	s->waits = false;
}

/* Another of its address may begin. */
static void register_end(struct session *s)
{
	struct session *next;

	if (!s->registering)
		return;
	s->registering = false;
	TAILQ_FOREACH(next, &waiting, turn)
		if (limits_same_address(session_peer(next), session_peer(s)))
			break;
	if (!next)
		return;
	session_register_skip(next);
	register_submit(next);
}

/**
 * session_registered - the memory is registered, or not
 * @s: session
 *
 * Return: whether the login goes on; if not the session's end has begun.
 */
bool session_registered(struct session *s)
{
	s->busy = false;
	register_end(s);
	if (s->noted > 0)
		export_noted(s->export, &s->lease);
	if (s->state == SESSION_CLOSING) {
		session_fence(s);
		return false;
	}
	if (s->noted < 0) {
		session_end(s, RDMABLK_R_INTERNAL);
		return false;
	}
	if (s->job_error == -ENOSPC) {
		log_peer(session_peer(s), LOG_ERR,
			 "%s: its queues do not fit in beside those of other sessions of its export",
			 session_text(s));
		session_end(s, RDMABLK_R_LIMIT_QUEUES);
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

/* Whose a data queue is decides what it is made with and who hears of it. */
static int open_queue(struct session *s, struct conn *conn,
		      const struct login_request *req)
{
	const struct staged_ops *staged = s->export->store.ops->staged;
	unsigned int i = (req->queue - 1U) / 2;
	struct conn_caps caps = { .sends = 1, .recvs = 1 };
	struct ibv_cq *cq = s->cq.ibv;
	struct ibv_sge sge;
	int ret;

	if (req->kind == RDMABLK_KIND_WRITE && s->staged) {
		staged->queue(s->staged, i, &cq, &caps.sends, &caps.recvs);
		ret = conn_open(conn, s->pd, cq, &caps);
		return ret ?: staged->join(s->staged, i, conn->pair);
	}
	if (req->kind == RDMABLK_KIND_WRITE && s->commands.cq.ibv) {
		command_caps(&s->commands, &caps);
		ret = conn_open(conn, s->pd, s->commands.cq.ibv, &caps);
		return ret ?: command_join(&s->commands, i, conn->pair);
	}
	ctrl_guard_sge(&s->ctrl, &sge);
	ret = conn_open(conn, s->pd, cq, &caps);
	return ret ?: conn_guard(conn, SESSION_WR_GUARD | req->queue, &sge);
}

static unsigned int open_data(struct session *s, struct conn *conn,
			      const struct login_request *req, uint8_t resources)
{
	unsigned int access = IBV_ACCESS_REMOTE_READ;
	int ret = open_queue(s, conn, req);

	/* WRITE queues may READ, too: that is how a write is fenced */
	if (req->kind == RDMABLK_KIND_WRITE && s->lease.writer)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (!ret)
		ret = conn_accept(conn, s->version, resources, access);
	if (!ret)
		return RDMABLK_OK;
	log_peer(session_peer(s), LOG_ERR, "%s: cannot make data queue %u: %s",
		 session_text(s), req->queue, device_error_text(ret));
	return queue_reason(ret);
}

/**
 * session_join - a data queue joins
 * @s: session the initiator has proven to own
 * @id: of the connection request
 * @req: decoded and verified
 * @resources: READs at once it asks us to answer
 *
 * Return: enum rdmablk_reason; unless RDMABLK_OK @id is still the caller's.
 */
unsigned int session_join(struct session *s, struct rdma_cm_id *id,
			  const struct login_request *req, uint8_t resources)
{
	uint8_t depth = device_read_depth(s->device);
	struct conn *conn;
	unsigned int reason;

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
	reason = open_data(s, conn, req, resources < depth ? resources : depth);
	if (reason && req->kind == RDMABLK_KIND_READ && !conn->pair) {
		free(conn);
		return reason;
	}
	s->data[req->queue - 1] = conn;
	s->joined++;
	session_login_timer(s);
	/*
	 * A worker has to destroy a queue pair that exists: the device may take its time, or
	 * refuse. What answers the commands of a write queue may know the queue already. The
	 * fence ends both.
	 */
	if (reason)
		session_end(s, reason);
	return RDMABLK_OK;
}
