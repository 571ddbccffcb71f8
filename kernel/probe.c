// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes: find out whether the target is back while the control queue waits for its answer.
 *
 * If a connection request is lost, rdma_cm repeats it only after more than 4 s. A reconnect
 * must wait longer than that, because a target that is busy with the disks of many hosts may
 * be as slow. But a disk must also be back soon after its network is. So while the request
 * waits, this file sends a second one each reconnect_delay, from an id and a queue pair of
 * its own. Any answer to it, even a refusal, shows that requests get through again; then the
 * login starts again and abandons the lost request. A slow target answers the older request
 * first.
 *
 * Nothing is ever posted on the queue pair of a probe. A probe ends before
 * rdmablk_probe_wait() returns, so no teardown needs to know of it. The target sees a control
 * connection that ends before HELLO.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>
#include "cm.h"
#include "login.h"
#include "probe.h"
#include "session.h"

enum rdmablk_probe_step {
	RDMABLK_PROBE_ADDRESS,
	RDMABLK_PROBE_ROUTE,
	RDMABLK_PROBE_CONNECT,
};

/* queue: NULL: no probe is under way; step: the step whose outcome comes next */
struct rdmablk_probe {
	struct rdmablk_queue *queue;
	enum rdmablk_probe_step step;
};

/* The connection of a probe carries nothing, so its end means nothing. */
static void rdmablk_probe_fatal(struct rdmablk_queue *q, u16 reason)
{
}

static void rdmablk_probe_end(struct rdmablk_probe *p)
{
	if (!p->queue)
		return;
	rdmablk_queue_destroy_qp(p->queue);
	rdmablk_cm_destroy(p->queue);
	kfree(p->queue);
	p->queue = NULL;
}

/* If there is no memory, there is no probe this time. */
static void rdmablk_probe_start(struct rdmablk_session *s, struct rdmablk_probe *p)
{
	const struct rdmablk_queue_owner owner = {
		.index	= -1,
		.waiter	= &s->waiter,
		.errors	= &s->errors,
		.fatal	= rdmablk_probe_fatal,
	};
	struct sockaddr *src = s->opt.source.ss_family != AF_UNSPEC ?
		(struct sockaddr *)&s->opt.source : NULL;

	p->queue = kzalloc(sizeof(*p->queue), GFP_KERNEL);
	if (!p->queue)
		return;
	rdmablk_queue_init(p->queue, 0, RDMABLK_KIND_CONTROL, &owner);
	p->step = RDMABLK_PROBE_ADDRESS;
	if (rdmablk_cm_start_address(p->queue, (struct sockaddr *)&s->opt.target, src, UINT_MAX))
		rdmablk_probe_end(p);
}

static int rdmablk_probe_connect(struct rdmablk_session *s, struct rdmablk_probe *p,
				 const struct rdmablk_cm_request *req)
{
	struct rdmablk_queue *q = p->queue;

	if (q->cm_id->device != s->pd->device)
		return -EXDEV;
	return rdmablk_queue_create_qp(q, s->pd, s->ctrl.cq, 0, 0, 1) ?:
	       rdmablk_cm_start_connect(q, req, 0);
}

/* A step of a probe has an outcome. Return: whether the target has answered. */
static bool rdmablk_probe_next(struct rdmablk_session *s, struct rdmablk_probe *p,
			       const struct rdmablk_cm_request *req)
{
	struct rdmablk_queue *q = p->queue;
	int ret = q->cm_status;

	if (p->step == RDMABLK_PROBE_CONNECT && (!ret || q->cm_reason || ret == -ECONNREFUSED))
		return true;
	if (!ret && p->step == RDMABLK_PROBE_ADDRESS) {
		p->step = RDMABLK_PROBE_ROUTE;
		ret = rdmablk_cm_share_route(q, &s->opt.route, &s->ctrl.queue,
					     RDMABLK_RESOLVE_MS);
	} else if (!ret) {
		p->step = RDMABLK_PROBE_CONNECT;
		ret = rdmablk_probe_connect(s, p, req);
	}
	if (ret)
		rdmablk_probe_end(p);
	return false;
}

/**
 * rdmablk_probe_wait() - wait for the answer to the control queue's connection request
 * @s: session whose control queue connects
 * @req: the request, which probes carry, too
 * @deadline: in jiffies
 *
 * Context: may sleep.
 *
 * Return: 0; -ERESTART, which no verb returns: the target has answered a probe, but not this
 * request; or another negative errno, with a text in the control queue's why.
 */
int rdmablk_probe_wait(struct rdmablk_session *s, const struct rdmablk_cm_request *req,
		       unsigned long deadline)
{
	unsigned long every = READ_ONCE(s->opt.reconnect_delay) * HZ;
	unsigned long next = jiffies + every;
	struct rdmablk_queue *q = &s->ctrl.queue;
	struct rdmablk_waiter *w = &s->waiter;
	struct rdmablk_probe p = { };
	bool answered = false;

	while (!answered && time_before(jiffies, deadline)) {
		wait_event_idle_timeout(w->wq, rdmablk_cm_is_done(q) || READ_ONCE(w->cancelled) ||
					(p.queue && rdmablk_cm_is_done(p.queue)),
					rdmablk_cm_left(time_before(next, deadline) ?
							next : deadline));
		if (rdmablk_cm_is_done(q) || READ_ONCE(w->cancelled))
			break;
		if (p.queue && rdmablk_cm_is_done(p.queue)) {
			answered = rdmablk_probe_next(s, &p, req);
		} else if (time_after_eq(jiffies, next)) {
			rdmablk_probe_end(&p);
			rdmablk_probe_start(s, &p);
			next = jiffies + every;
		}
	}
	rdmablk_probe_end(&p);
	/* Return the outcome, or say why there is none. */
	return answered && !rdmablk_cm_is_done(q) ? -ERESTART : rdmablk_cm_wait(q, deadline);
}
