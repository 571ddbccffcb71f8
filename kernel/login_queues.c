// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data queues of a login: two queue pairs per granted hardware queue. A MAC joins each
 * of them to the session.
 *
 * All data queues come from the address of the control queue and use its device and port.
 * Only then does a READ see the data of a completed WRITE on another queue pair.
 *
 * Up to RDMABLK_JOINS queues join at the same time. One task does all of it: it starts a step
 * of each queue (cm.c), waits until one of them has an outcome, and starts the next step of
 * that queue. So nothing here runs beside a teardown. The teardown finds each queue in one of
 * three conditions, as if queues had joined one by one: without an id, with an id, with a
 * queue pair. The target lets queues join in any order.
 *
 * If rdma_cm loses a message, this try of a reconnect fails: a queue whose reply was lost has
 * joined, and cannot join twice. Such a try ends when no queue has completed a step for the
 * time that patience.c allows. That time grows with each late try in a row, up to the time of
 * a whole login: the network or the target may just be slow.
 *
 * This file takes down nothing, except a queue pair that the target's connection manager
 * takes for one from before a restart of this host. login.c takes down the rest.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include <rdma/rdma_cm.h>
#include "cm.h"
#include "ibdev.h"
#include "log.h"
#include "login.h"
#include "patience.h"
#include "poll.h"
#include "session.h"

/* Most tags of a write queue besides the reserved ones, if READs and WRITEs need no tag */
#define RDMABLK_ONESIDED_TAGS	32

/* Pause before the next try with another queue pair, jiffies */
#define RDMABLK_STALE_PAUSE	(HZ / 100 + 1)

static bool rdmablk_login_others_failed(struct rdmablk_session *s,
					const struct rdmablk_queue *q)
{
	const struct rdmablk_hwq *hwq;
	u32 i;

	for (i = 0; i < s->path.nr_hwqs; i++) {
		hwq = s->path.hwq[i];
		if ((&hwq->read != q && READ_ONCE(hwq->read.failed)) ||
		    (&hwq->write != q && READ_ONCE(hwq->write.failed)))
			return true;
	}
	/* Set also after an error of the protocol, although a CLOSE can still be sent. */
	return READ_ONCE(s->waiter.broken);
}

/*
 * If the target knows the number of this queue pair already, destroys the queue pair; the
 * next one has another number. Only a write queue may destroy the commands: they belong to
 * it, and it may be connected when the read queue is not.
 */
static bool rdmablk_login_stale(struct rdmablk_session *s, struct rdmablk_queue *q,
				struct rdmablk_cmdq *cmdq, int ret)
{
	if (ret != -EBUSY || q->cm_reason != RDMABLK_R_FENCING ||
	    time_after_eq(jiffies, s->login.deadline))
		return false;
	/* The receives of a refused queue pair complete with an error. */
	rdmablk_queue_stop(q);
	rdmablk_queue_destroy_qp(q);
	/* Those errors came from the old queue pair, which sends no event any more. */
	WRITE_ONCE(q->failed, false);
	spin_lock_irq(&s->lock);
	if (s->login.reason == RDMABLK_R_CONNECTION && !rdmablk_login_others_failed(s, q))
		s->login.reason = 0;
	spin_unlock_irq(&s->lock);
	q->cm_reason = 0;
	if (q->kind == RDMABLK_KIND_WRITE)
		rdmablk_cmdq_destroy(cmdq);
	rdmablk_cm_destroy(q);
	return true;
}

/**
 * rdmablk_login_polled() - number of granted hardware queues that are for polled I/O
 * @s: session with a grant
 *
 * Return: the number wanted; if the target granted fewer hardware queues than the tag set
 * has, at most half of the granted ones.
 */
u32 rdmablk_login_polled(const struct rdmablk_session *s)
{
	u32 granted = s->login.offer.grant.nr_queues;

	return granted == s->nr_queues ? s->path.nr_poll :
					 min(s->path.nr_poll, granted / 2);
}

/**
 * rdmablk_login_sharers() - hardware queues of the tag set that share a granted one
 * @s: session with a grant
 *
 * Return: most sharers of any.
 */
u32 rdmablk_login_sharers(const struct rdmablk_session *s)
{
	u32 granted = s->login.offer.grant.nr_queues, polled = rdmablk_login_polled(s);

	if (!polled)
		return DIV_ROUND_UP(s->nr_queues, granted);
	return max(DIV_ROUND_UP(s->nr_queues - s->path.nr_poll, granted - polled),
		   DIV_ROUND_UP(s->path.nr_poll, polled));
}

/**
 * rdmablk_login_map() - map the hardware queues of the tag set to the granted ones
 * @s: session with a grant; nothing is posted
 *
 * Hardware queues for polled I/O use the last granted ones. If only one is granted, they use
 * it with interrupts.
 */
void rdmablk_login_map(struct rdmablk_session *s)
{
	u32 granted = s->login.offer.grant.nr_queues, polled = rdmablk_login_polled(s);
	u32 first = granted - polled, shown = s->nr_queues - (polled ? s->path.nr_poll : 0);
	struct rdmablk_path *path = &s->path;
	struct rdmablk_hwq *hwq;
	u32 i;

	for (i = 0; i < s->nr_queues; i++) {
		hwq = path->hwq[i];
		hwq->polled = i >= first && i < granted;
		hwq->write.watch = hwq->polled ? rdmablk_poll_watch : NULL;
		if (i < shown)
			path->map[i] = path->hwq[i % first];
		else
			path->map[i] = path->hwq[first + (i - shown) % polled];
	}
	path->nr_hwqs = granted;
	s->login.offer.nr_hwqs = granted;
	s->login.offer.nr_polled = polled;
}

static u32 rdmablk_login_dirty_bytes(const struct rdmablk_wire_limits *cmds)
{
	return sizeof(struct rdmablk_command) +
	       cmds->max_ranges * sizeof(struct rdmablk_range);
}

/**
 * rdmablk_login_tags() - number of tags of a write queue, and of receives for answers
 * @s: session with grant and limits of commands
 *
 * Not more than there can be commands, however many the target would take, because tags and
 * receives are this host's memory.
 *
 * Return: number; 0: the session has no commands.
 */
u32 rdmablk_login_tags(const struct rdmablk_session *s)
{
	u32 most = rdmablk_login_sharers(s) * s->login.offer.grant.queue_depth;

	/* One-sided READs and WRITEs need no tag; commands that find none wait for it. */
	if (!(s->login.offer.grant.flags & RDMABLK_GRANT_STAGED))
		most = min_t(u32, most, RDMABLK_ONESIDED_TAGS);
	return min_t(u32, s->login.offer.cmds.cmd_depth, RDMABLK_CMD_RESERVED + most);
}

/**
 * rdmablk_login_owned() - number of send slots that are kept for commands
 * @s: session with grant and limits of commands
 *
 * A command that waits for a tag must not wait for a slot, too. In a staged session only
 * slow commands wait; other requests take their slots together with the tag.
 *
 * Return: number; 0: the session has no commands.
 */
u32 rdmablk_login_owned(const struct rdmablk_session *s)
{
	u32 tags = rdmablk_login_tags(s);

	if (!(s->login.offer.grant.flags & RDMABLK_GRANT_STAGED))
		return tags;
	return tags ? RDMABLK_CMD_RESERVED + rdmablk_cmdq_slow(tags) : 0;
}

static int rdmablk_login_commands(struct rdmablk_session *s, struct rdmablk_hwq *hwq)
{
	const struct rdmablk_wire_limits *cmds = &s->login.offer.cmds;
	const struct rdmablk_cmdq_attr attr = {
		.depth		= rdmablk_login_tags(s),
		.owned		= rdmablk_login_owned(s),
		.needed		= s->login.offer.limits.max_chain + 1,
		.node		= hwq->node,
		.dirty_bytes	= rdmablk_login_dirty_bytes(cmds),
		.rx_bytes	= cmds->slot_bytes ? cmds->trailer_bytes : 0,
		.lists		= cmds->slot_bytes &&
				  s->login.offer.grant.features & RDMABLK_F_LISTS,
		.implied	= cmds->slot_bytes &&
				  s->login.offer.grant.features & RDMABLK_F_IMPLIED,
	};

	return rdmablk_cmdq_create(&hwq->cmdq, &hwq->write, s->pd, &attr);
}

/* The step of a join that is under way */
enum rdmablk_join_step {
	RDMABLK_JOIN_ADDRESS,
	RDMABLK_JOIN_ROUTE,
	RDMABLK_JOIN_CONNECT,
	RDMABLK_JOIN_STALE,	/* pauses, and begins again */
};

/*
 * A queue that joins. hwq: its hardware queue; queue: NULL: this entry is free; until: end of
 * the pause of RDMABLK_JOIN_STALE, in jiffies
 */
struct rdmablk_join {
	struct rdmablk_hwq *hwq;
	struct rdmablk_queue *queue;
	enum rdmablk_join_step step;
	unsigned long until;
};

/*
 * The queues that join. cqes: entries of each completion queue; started: number of queues
 * that have begun; deadline: for the next progress of any queue, in jiffies
 */
struct rdmablk_joins {
	struct rdmablk_join join[RDMABLK_JOINS];
	unsigned int cqes;
	u32 started;
	unsigned long deadline;
};

static void rdmablk_join_progress(struct rdmablk_session *s, struct rdmablk_joins *joins)
{
	unsigned int ms = READ_ONCE(s->opt.reconnect_delay) * MSEC_PER_SEC;

	rdmablk_login_progress(s);
	joins->deadline = rdmablk_login_step(s, rdmablk_patience_join(ms, s->outage.late_joins));
}

static int rdmablk_join_fail(struct rdmablk_session *s, struct rdmablk_queue *q, int ret)
{
	bool open = s->login.version == RDMABLK_VERSION_OPEN;
	u16 reason = READ_ONCE(s->login.reason);

	if (ret == -ETIMEDOUT)
		s->outage.late_joins++;
	/* The sealed CLOSE counts more than the error of this queue. */
	if (!open && rdmablk_login_believes(s, RDMABLK_R_DEVICE_FULL)) {
		s->login.no_room = true;
		return rdmablk_login_fail(s, rdmablk_wire_errno(RDMABLK_R_DEVICE_FULL),
					  rdmablk_reason_text(RDMABLK_R_DEVICE_FULL));
	}
	if (open && (q->cm_reason == RDMABLK_R_DEVICE_FULL ||
		     (ret == -ENOTCONN && reason == RDMABLK_R_DEVICE_FULL)))
		s->login.no_room = true;
	if (ret == -ENOTCONN && reason)
		return rdmablk_login_fail(s, rdmablk_wire_errno(reason),
					  rdmablk_reason_text(reason));
	return rdmablk_login_queue_fail(s, q, ret);
}

static unsigned int rdmablk_join_ms(const struct rdmablk_joins *joins)
{
	return jiffies_to_msecs(rdmablk_cm_left(joins->deadline));
}

/* Whether a queue may have failed because the target has no room for it, or for another one */
static bool rdmablk_join_may_be_full(const struct rdmablk_queue *q, int ret)
{
	return q->cm_reason == RDMABLK_R_DEVICE_FULL ||
	       q->cm_reason == RDMABLK_R_JOIN_SESSION || ret == -ECONNRESET;
}

/*
 * In version 2 a reject is only a hint, because anybody can send one: this login waits for the
 * time of a join, but does not ask for fewer queues. A target without room for a queue rejects
 * the queue and ends the session. Its sealed CLOSE says why, and comes when the session is
 * fenced. By then other queues may have been rejected or disconnected. If CLOSE is late, later
 * tries wait longer.
 */
static int rdmablk_join_await_close(struct rdmablk_session *s, struct rdmablk_joins *joins)
{
	struct rdmablk_waiter *w = &s->waiter;

	rdmablk_join_progress(s, joins);
	wait_event_idle_timeout(w->wq, READ_ONCE(w->cancelled) || READ_ONCE(w->broken),
				rdmablk_cm_left(joins->deadline));
	if (READ_ONCE(w->cancelled))
		return rdmablk_login_fail(s, -ECANCELED, "the connect was given up");
	if (!READ_ONCE(w->broken))
		s->outage.late_joins++;
	return 0;
}

/* The connect of a queue has failed. Waits for the reason if it may come by CLOSE. */
static int rdmablk_join_refused(struct rdmablk_session *s, struct rdmablk_joins *joins,
				struct rdmablk_queue *q, int ret)
{
	int err = 0;

	if (s->login.version != RDMABLK_VERSION_OPEN && rdmablk_join_may_be_full(q, ret))
		err = rdmablk_join_await_close(s, joins);
	return err ? err : rdmablk_join_fail(s, q, ret);
}

static int rdmablk_join_address(struct rdmablk_session *s, struct rdmablk_joins *joins,
				struct rdmablk_join *j)
{
	struct sockaddr_storage src = s->ctrl.queue.cm_id->route.addr.src_addr;
	int ret;

	/* The control queue's address, but not its port */
	if (src.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&src)->sin6_port = 0;
	else
		((struct sockaddr_in *)&src)->sin_port = 0;
	j->step = RDMABLK_JOIN_ADDRESS;
	ret = rdmablk_cm_start_address(j->queue, (struct sockaddr *)&s->opt.target,
				       (struct sockaddr *)&src, rdmablk_join_ms(joins));
	return ret ? rdmablk_join_fail(s, j->queue, ret) : 0;
}

static int rdmablk_join_route(struct rdmablk_session *s, struct rdmablk_joins *joins,
			      struct rdmablk_join *j)
{
	int ret;

	j->step = RDMABLK_JOIN_ROUTE;
	ret = rdmablk_cm_share_route(j->queue, &s->opt.route, &s->ctrl.queue,
				     rdmablk_join_ms(joins));
	return ret ? rdmablk_join_fail(s, j->queue, ret) : 0;
}

/**
 * rdmablk_login_ordered() - whether each WRITE of a session ends with a READ
 * @s: session with a grant
 *
 * Staged sessions need no such READ: the target answers a command when it has the data.
 */
bool rdmablk_login_ordered(const struct rdmablk_session *s)
{
	return s->opt.ordered && !(s->login.offer.grant.flags & RDMABLK_GRANT_STAGED);
}

/* The number of RDMA READs that a queue wants to have in flight */
static u8 rdmablk_join_depth(const struct rdmablk_session *s, const struct rdmablk_queue *q)
{
	if (q->kind != RDMABLK_KIND_READ && !rdmablk_login_ordered(s))
		return 0;
	return min_t(u16, rdmablk_ibdev_read_depth(s->pd->device),
		     s->login.offer.grant.read_depth);
}

static int rdmablk_join_mac(struct rdmablk_session *s, struct rdmablk_queue *q,
			    struct rdmablk_cm_request *req)
{
	int ret;

	if (s->login.challenge.version == RDMABLK_VERSION_OPEN)
		return rdmablk_mac_join(&s->mac, req);
	ret = rdmablk_auth_join(&s->auth, q->qp->qp_num, req);
	memcpy(q->join_mac, req->mac, sizeof(q->join_mac));
	return ret;
}

static int rdmablk_join_connect(struct rdmablk_session *s, struct rdmablk_join *j)
{
	struct rdmablk_queue *q = j->queue;
	u16 version = s->login.challenge.version;
	u32 slots = s->login.offer.limits.send_slots, recvs = 0;
	struct rdmablk_cm_request req;
	int ret;

	if (q->cm_id->device != s->pd->device || q->cm_id->port_num != s->login.offer.port)
		return rdmablk_login_fail(s, -EXDEV,
					  "the route changed to another RDMA device");
	if (q->kind == RDMABLK_KIND_WRITE)
		recvs = rdmablk_login_tags(s);
	else
		slots = rdmablk_limits_reads(&s->login.offer.limits, rdmablk_login_owned(s));
	ret = rdmablk_queue_create_qp(q, s->pd, j->hwq->cq, slots, recvs,
				      s->login.offer.limits.sge_per_wr);
	s->login.no_room = ret;
	if (!ret && q->kind == RDMABLK_KIND_WRITE && rdmablk_login_ordered(s))
		ret = rdmablk_queue_make_tail(q, s->pd->local_dma_lkey);
	if (!ret && recvs)
		ret = rdmablk_login_commands(s, j->hwq);
	if (ret)
		return rdmablk_login_fail(s, ret, ret == -ENOMEM ?
					  "no memory or no room on the device for a data queue" :
					  "cannot create a data queue");
	rdmablk_wire_cm_request(&req, q->kind, q->nr, s->generation,
				s->login.challenge.session_id, version, version);
	ret = rdmablk_join_mac(s, q, &req);
	if (ret)
		return rdmablk_login_fail(s, ret, "cannot compute a MAC");
	j->step = RDMABLK_JOIN_CONNECT;
	ret = rdmablk_cm_start_connect(q, &req, rdmablk_join_depth(s, q));
	return ret ? rdmablk_join_fail(s, q, ret) : 0;
}

static int rdmablk_join_end(struct rdmablk_session *s, struct rdmablk_join *j)
{
	struct rdmablk_queue *q = j->queue;
	int ret = 0;

	if (q->version != s->login.challenge.version ||
	    (rdmablk_join_depth(s, q) && !q->read_depth))
		return rdmablk_login_fail(s, -EPROTO,
					  "the target accepted a queue with a wrong version or no READs");
	/* Nothing but receives has been posted: a stranger gets no READ and no WRITE. */
	if (q->version != RDMABLK_VERSION_OPEN)
		ret = rdmablk_auth_accept(&s->auth, &q->accept, q->join_mac, q->peer_qpn);
	if (ret)
		return rdmablk_login_fail(s, ret, ret == -EACCES ?
					  "somebody else has accepted a queue: its MAC is wrong" :
					  "cannot compute a MAC");
	j->queue = NULL;
	return 0;
}

/* The current step has the outcome @ret: starts the next one. */
static int rdmablk_join_next(struct rdmablk_session *s, struct rdmablk_joins *joins,
			     struct rdmablk_join *j, int ret)
{
	if (j->step == RDMABLK_JOIN_ADDRESS && ret == -ETIMEDOUT &&
	    time_before(jiffies, joins->deadline))
		return rdmablk_join_address(s, joins, j);
	if (j->step == RDMABLK_JOIN_CONNECT &&
	    rdmablk_login_stale(s, j->queue, &j->hwq->cmdq, ret)) {
		j->step = RDMABLK_JOIN_STALE;
		j->until = jiffies + RDMABLK_STALE_PAUSE;
		return 0;
	}
	if (ret)
		return rdmablk_join_refused(s, joins, j->queue, ret);
	rdmablk_join_progress(s, joins);
	switch (j->step) {
	case RDMABLK_JOIN_ADDRESS:
		return rdmablk_join_route(s, joins, j);
	case RDMABLK_JOIN_ROUTE:
		return rdmablk_join_connect(s, j);
	default:
		return rdmablk_join_end(s, j);
	}
}

static bool rdmablk_join_is_due(const struct rdmablk_join *j)
{
	if (!j->queue)
		return false;
	if (j->step == RDMABLK_JOIN_STALE)
		return time_after_eq(jiffies, j->until);
	return rdmablk_cm_is_done(j->queue);
}

static struct rdmablk_join *rdmablk_joins_due(struct rdmablk_joins *joins)
{
	struct rdmablk_join *j;

	for (j = joins->join; j < joins->join + RDMABLK_JOINS; j++) {
		if (rdmablk_join_is_due(j))
			return j;
	}
	return NULL;
}

/* Return: the first join under way; NULL: there is none. */
static struct rdmablk_join *rdmablk_joins_busy(struct rdmablk_joins *joins)
{
	struct rdmablk_join *j;

	for (j = joins->join; j < joins->join + RDMABLK_JOINS; j++) {
		if (j->queue)
			return j;
	}
	return NULL;
}

/* Return: jiffies until the deadline or the end of a pause, whichever is first. */
static long rdmablk_joins_left(struct rdmablk_joins *joins)
{
	long left = rdmablk_cm_left(joins->deadline);
	struct rdmablk_join *j;

	for (j = joins->join; j < joins->join + RDMABLK_JOINS; j++) {
		if (j->queue && j->step == RDMABLK_JOIN_STALE)
			left = min(left, rdmablk_cm_left(j->until));
	}
	return left;
}

/*
 * Waits until a queue has an outcome or ends its pause, and starts its next step. An outcome
 * goes before the end of the control queue, because it says why the target refuses a queue.
 */
static int rdmablk_joins_step(struct rdmablk_session *s, struct rdmablk_joins *joins)
{
	struct rdmablk_waiter *w = &s->waiter;
	struct rdmablk_join *j = NULL;

	wait_event_idle_timeout(w->wq, (j = rdmablk_joins_due(joins)) ||
				READ_ONCE(w->cancelled) || READ_ONCE(w->broken),
				rdmablk_joins_left(joins));
	if (READ_ONCE(w->cancelled))
		return rdmablk_login_fail(s, -ECANCELED, "the connect was given up");
	if (!j)
		j = rdmablk_joins_due(joins);
	if (j && j->step == RDMABLK_JOIN_STALE)
		return rdmablk_join_address(s, joins, j);
	if (j)
		return rdmablk_join_next(s, joins, j, j->queue->cm_status);
	j = rdmablk_joins_busy(joins);
	if (READ_ONCE(w->broken)) {
		j->queue->why = "connection lost during the login";
		return rdmablk_join_fail(s, j->queue, -ENOTCONN);
	}
	if (time_before(jiffies, joins->deadline))
		return 0;
	j->queue->why = "no answer in time";
	return rdmablk_join_fail(s, j->queue, -ETIMEDOUT);
}

static int rdmablk_login_cq(struct rdmablk_session *s, struct rdmablk_hwq *hwq,
			    unsigned int cqes)
{
	struct ib_device *dev = s->pd->device;
	int ret;

	hwq->cq = ib_alloc_cq(dev, hwq, cqes,
			      rdmablk_limits_vector(s->index, s->path.nr_hwqs, hwq->nr,
						    dev->num_comp_vectors),
			      hwq->polled ? IB_POLL_DIRECT : IB_POLL_SOFTIRQ);
	if (IS_ERR(hwq->cq)) {
		ret = PTR_ERR(hwq->cq);
		hwq->cq = NULL;
		s->login.no_room = true;
		return rdmablk_login_fail(s, ret, ret == -ENOMEM ?
					  "no memory or no room on the device for completions" :
					  "cannot create a completion queue");
	}
	return 0;
}

/* Starts as many queues as may join at the same time; of each pair the READs' queue first. */
static int rdmablk_joins_start(struct rdmablk_session *s, struct rdmablk_joins *joins)
{
	struct rdmablk_hwq *hwq;
	struct rdmablk_join *j;
	int ret = 0;

	for (j = joins->join; !ret && j < joins->join + RDMABLK_JOINS; j++) {
		if (joins->started == 2 * s->path.nr_hwqs)
			break;
		if (j->queue)
			continue;
		hwq = s->path.hwq[joins->started / 2];
		if (joins->started % 2 == 0)
			ret = rdmablk_login_cq(s, hwq, joins->cqes);
		if (ret)
			break;
		j->hwq = hwq;
		j->queue = joins->started % 2 ? &hwq->write : &hwq->read;
		joins->started++;
		ret = rdmablk_join_address(s, joins, j);
	}
	return ret;
}

/**
 * rdmablk_login_queues() - connect all data queues
 * @s: session after the dialogue of the login
 *
 * On error the caller takes down the queues that exist.
 *
 * Return: 0 or a negative errno, with a text in @s->why.
 */
int rdmablk_login_queues(struct rdmablk_session *s)
{
	struct ib_device *dev = s->pd->device;
	/* READs, WRITEs and commands; answers; two queue pairs with two drains each */
	unsigned int tags = rdmablk_login_tags(s);
	struct rdmablk_joins joins = {
		.cqes = 2 * (s->login.offer.limits.send_slots + 2) + tags,
	};
	u32 i;
	int ret;

	if (joins.cqes > dev->attrs.max_cqe || tags >= dev->attrs.max_qp_wr)
		return rdmablk_login_fail(s, -EOPNOTSUPP,
					  "queue_depth is too large for the RDMA device");
	rdmablk_join_progress(s, &joins);
	ret = rdmablk_joins_start(s, &joins);
	while (!ret && rdmablk_joins_busy(&joins)) {
		ret = rdmablk_joins_step(s, &joins);
		if (!ret)
			ret = rdmablk_joins_start(s, &joins);
	}
	if (ret)
		return ret;
	for (i = 0; i < s->path.nr_hwqs; i++) {
		if (s->path.hwq[i]->polled)
			rdmablk_poll_open(s->path.hwq[i]);
	}
	s->outage.late_joins = 0;
	return 0;
}
