// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data queues of a login: two queue pairs per hardware queue that was granted, each
 * joined to the session with a MAC.
 *
 * All come from the address of the control queue and are on its device and port: that a
 * READ sees what a completed WRITE of another queue pair has written rests on that.
 *
 * A message of rdma_cm that is lost ends the try of a disk that comes back, see
 * rdmablk_login_step(): a queue whose reply was lost has joined, and does not join twice.
 * Each queue has that time for itself, because one takes a round trip to join, and all of
 * them as many as there are. For a network or a target that needs longer than that, the time
 * doubles with every other try in a row that ends so, up to that of the whole login. Not
 * with every one: where packets get lost, that may happen twice.
 *
 * Nothing is undone here but a queue pair that the target's connection manager takes for
 * one of an earlier life of this host; see login.c.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <rdma/rdma_cm.h>
#include "cm.h"
#include "ibdev.h"
#include "log.h"
#include "login.h"
#include "poll.h"
#include "session.h"

/* Of a write queue, when READs and WRITEs are no commands; and those that are reserved */
#define RDMABLK_ONESIDED_TAGS	32

/* Between two tries with another queue pair */
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
	return READ_ONCE(s->ctrl.broken);
}

/* The target knows the number of this queue pair already; that of the next is another. */
static bool rdmablk_login_stale(struct rdmablk_session *s, struct rdmablk_queue *q,
				struct rdmablk_cmdq *cmdq, int ret)
{
	if (ret != -EBUSY || q->cm_reason != RDMABLK_R_FENCING ||
	    time_after_eq(jiffies, s->deadline))
		return false;
	/* The receives of a queue pair that is refused complete, and with an error. */
	rdmablk_queue_stop(q);
	/* That was of a queue pair that has no future; all it had to say has been said. */
	WRITE_ONCE(q->failed, false);
	spin_lock_irq(&s->lock);
	if (s->attempt_reason == RDMABLK_R_CONNECTION && !rdmablk_login_others_failed(s, q))
		s->attempt_reason = 0;
	spin_unlock_irq(&s->lock);
	q->cm_reason = 0;
	rdmablk_queue_destroy_qp(q);
	rdmablk_cmdq_destroy(cmdq);
	rdmablk_cm_destroy(q);
	wait_event_timeout(s->waiter.wq, READ_ONCE(s->waiter.cancelled),
			   RDMABLK_STALE_PAUSE);
	return true;
}

/* Of the hardware queues that are granted: when too few are, half of them at most. */
static u32 rdmablk_login_polled(const struct rdmablk_session *s)
{
	u32 granted = s->offer.grant.nr_queues;

	return granted == s->nr_queues ? s->path.nr_poll :
					 min(s->path.nr_poll, granted / 2);
}

/**
 * rdmablk_login_sharers() - hardware queues of the tag set that share one
 * @s: session with a grant
 *
 * Return: how many at most.
 */
u32 rdmablk_login_sharers(const struct rdmablk_session *s)
{
	u32 granted = s->offer.grant.nr_queues, polled = rdmablk_login_polled(s);

	if (!polled)
		return DIV_ROUND_UP(s->nr_queues, granted);
	return max(DIV_ROUND_UP(s->nr_queues - s->path.nr_poll, granted - polled),
		   DIV_ROUND_UP(s->path.nr_poll, polled));
}

/**
 * rdmablk_login_map() - say which hardware queue of the tag set uses which
 * @s: session with a grant; nothing is posted
 *
 * Those for polled I/O use the last ones; or any, with interrupts, when there is but one.
 */
void rdmablk_login_map(struct rdmablk_session *s)
{
	u32 granted = s->offer.grant.nr_queues, polled = rdmablk_login_polled(s);
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
	s->offer.nr_hwqs = granted;
	s->offer.nr_polled = polled;
}

static u32 rdmablk_login_dirty_bytes(const struct rdmablk_wire_limits *cmds)
{
	return sizeof(struct rdmablk_command) +
	       cmds->max_ranges * sizeof(struct rdmablk_range);
}

/*
 * Tags, and receives for their answers: no more than there can be commands, however many
 * the target would take. It is this host's memory.
 */
static u32 rdmablk_login_tags(const struct rdmablk_session *s)
{
	u32 most = rdmablk_login_sharers(s) * s->offer.grant.queue_depth;

	/* Who needs one waits for it; READs and WRITEs need none. */
	if (!(s->offer.grant.flags & RDMABLK_GRANT_STAGED))
		most = min_t(u32, most, RDMABLK_ONESIDED_TAGS);
	return min_t(u32, s->offer.cmds.cmd_depth, RDMABLK_CMD_RESERVED + most);
}

/**
 * rdmablk_login_owned() - send slots that are kept for commands
 * @s: session with grant and limits of commands
 *
 * What waits for a tag must not wait for a slot, too. Where each request is a command, slow
 * ones wait; of all others the slots are taken with the tag.
 *
 * Return: 0 without commands.
 */
u32 rdmablk_login_owned(const struct rdmablk_session *s)
{
	u32 tags = rdmablk_login_tags(s);

	if (!(s->offer.grant.flags & RDMABLK_GRANT_STAGED))
		return tags;
	return tags ? RDMABLK_CMD_RESERVED + rdmablk_cmdq_slow(tags) : 0;
}

static int rdmablk_login_commands(struct rdmablk_session *s, struct rdmablk_hwq *hwq)
{
	const struct rdmablk_wire_limits *cmds = &s->offer.cmds;
	const struct rdmablk_cmdq_attr attr = {
		.depth		= rdmablk_login_tags(s),
		.owned		= rdmablk_login_owned(s),
		.needed		= s->offer.limits.max_chain + 1,
		.node		= hwq->node,
		.dirty_bytes	= rdmablk_login_dirty_bytes(cmds),
		.rx_bytes	= cmds->slot_bytes ? cmds->trailer_bytes : 0,
		.lists		= cmds->slot_bytes &&
				  s->offer.grant.features & RDMABLK_F_LISTS,
		.implied	= cmds->slot_bytes &&
				  s->offer.grant.features & RDMABLK_F_IMPLIED,
	};

	return rdmablk_cmdq_create(&hwq->cmdq, &hwq->write, s->pd, &attr);
}

static unsigned long rdmablk_login_join_step(const struct rdmablk_session *s)
{
	return rdmablk_login_step(s, s->late_joins / 2);
}

static int rdmablk_login_join_fail(struct rdmablk_session *s, struct rdmablk_queue *q,
				   int ret)
{
	u16 reason = READ_ONCE(s->attempt_reason);

	if (ret == -ETIMEDOUT)
		s->late_joins++;
	if (ret == -ENOTCONN && reason)
		return rdmablk_login_fail(s, rdmablk_wire_errno(reason),
					  rdmablk_reason_text(reason));
	return rdmablk_login_queue_fail(s, q, ret);
}

/* Return: -EAGAIN: the queue is as before, and another try makes sense. */
static int rdmablk_login_join_once(struct rdmablk_session *s, struct rdmablk_hwq *hwq,
				   struct rdmablk_queue *q)
{
	struct sockaddr_storage src = s->ctrl.queue.cm_id->route.addr.src_addr;
	u16 version = s->challenge.version;
	struct rdmablk_cm_request req;
	u8 depth = 0;
	u32 recvs;
	int ret;

	/* The control queue's address, but not its port. */
	if (src.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&src)->sin6_port = 0;
	else
		((struct sockaddr_in *)&src)->sin_port = 0;
	ret = rdmablk_cm_resolve(q, (struct sockaddr *)&s->opt.target,
				 (struct sockaddr *)&src, s->opt.ack_timeout,
				 rdmablk_login_join_step(s));
	if (ret)
		return rdmablk_login_join_fail(s, q, ret);
	if (q->cm_id->device != s->pd->device || q->cm_id->port_num != s->offer.port)
		return rdmablk_login_fail(s, -EXDEV,
					  "the route changed to another RDMA device");
	recvs = q->kind == RDMABLK_KIND_WRITE ? rdmablk_login_tags(s) : 0;
	ret = rdmablk_queue_create_qp(q, s->pd, hwq->cq, s->offer.limits.send_slots, recvs,
				      s->offer.limits.sge_per_wr);
	if (!ret && recvs)
		ret = rdmablk_login_commands(s, hwq);
	if (ret)
		return rdmablk_login_fail(s, ret, "cannot create a data queue");
	rdmablk_wire_cm_request(&req, q->kind, q->nr, s->generation,
				s->challenge.session_id, version, version);
	ret = rdmablk_auth_join(&s->auth, &req);
	if (ret)
		return rdmablk_login_fail(s, ret, "cannot compute a MAC");
	if (q->kind == RDMABLK_KIND_READ)
		depth = min_t(u16, rdmablk_ibdev_read_depth(s->pd->device),
			      s->offer.grant.read_depth);
	ret = rdmablk_cm_connect(q, &req, depth, rdmablk_login_join_step(s));
	if (rdmablk_login_stale(s, q, &hwq->cmdq, ret))
		return -EAGAIN;
	if (ret)
		return rdmablk_login_join_fail(s, q, ret);
	if (q->version != version || (depth && !q->read_depth))
		return rdmablk_login_fail(s, -EPROTO, "the target accepts a queue wrongly");
	return 0;
}

static int rdmablk_login_join(struct rdmablk_session *s, struct rdmablk_hwq *hwq,
			      struct rdmablk_queue *q)
{
	int ret;

	do {
		ret = rdmablk_login_join_once(s, hwq, q);
	} while (ret == -EAGAIN);
	return ret;
}

/*
 * A hint, so a device that cannot moderate is no reason to have no disk. One with adaptive
 * moderation sets its own values again when its load changes, until it is told not to.
 */
static void rdmablk_login_moderate(struct rdmablk_session *s, struct rdmablk_hwq *hwq)
{
	const struct rdmablk_options *opt = &s->opt;
	int ret;

	if (hwq->polled || !opt->cq_count)
		return;
	ret = rdma_set_cq_moderation(hwq->cq, opt->cq_count, opt->cq_period);
	if (ret && !hwq->nr)
		rdmablk_warn(s, "%s does not moderate completions as asked to: %d\n",
			     dev_name(&s->pd->device->dev), ret);
}

/**
 * rdmablk_login_queues() - connect all data queues
 * @s: session with all that was agreed on
 *
 * Return: 0 or a negative errno, with a text in @s->why.
 */
int rdmablk_login_queues(struct rdmablk_session *s)
{
	struct ib_device *dev = s->pd->device;
	/* READs, WRITEs and commands; answers; two queue pairs with two drains each */
	unsigned int tags = rdmablk_login_tags(s);
	unsigned int cqes = 2 * (s->offer.limits.send_slots + 2) + tags;
	u32 i;
	int ret;

	if (cqes > dev->attrs.max_cqe || tags >= dev->attrs.max_qp_wr)
		return rdmablk_login_fail(s, -EOPNOTSUPP,
					  "queue_depth is too large for the RDMA device");
	for (i = 0; i < s->path.nr_hwqs; i++) {
		struct rdmablk_hwq *hwq = s->path.hwq[i];

		hwq->cq = ib_alloc_cq(dev, hwq, cqes,
				      rdmablk_limits_vector(s->index, s->path.nr_hwqs, i,
							    dev->num_comp_vectors),
				      hwq->polled ? IB_POLL_DIRECT : IB_POLL_SOFTIRQ);
		if (IS_ERR(hwq->cq)) {
			ret = PTR_ERR(hwq->cq);
			hwq->cq = NULL;
			return rdmablk_login_fail(s, ret,
						  "cannot create a completion queue");
		}
		rdmablk_login_moderate(s, hwq);
		ret = rdmablk_login_join(s, hwq, &hwq->read);
		if (!ret)
			ret = rdmablk_login_join(s, hwq, &hwq->write);
		if (ret)
			return ret;
		if (hwq->polled)
			rdmablk_poll_open(hwq);
	}
	s->late_joins = 0;
	return 0;
}
