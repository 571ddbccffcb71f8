// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Completion queues that the loop polls. The loop takes one completion at a time, in turn with
 * the other queues, however fast a peer makes new ones.
 *
 * An event only says that there is something to poll. When the loop finds the queue empty, it
 * arms the queue and polls once more: a completion that has come between the two makes no
 * event. So no completion is forgotten: the loop polls each queue that is not armed and has no
 * event on its way. And a peer causes one event of a queue at most until the loop has caught
 * up with that queue.
 *
 * cq_open() and cq_close() are for workers, too; the rest is the loop's.
 */
#include <errno.h>

#include "base/util.h"
#include "rdma/cq.h"
#include "rdma/device.h"

static void cq_poll(struct loop_task *task)
{
	struct cq *cq = container_of(task, struct cq, task);
	struct ibv_wc wc;
	int nr = ibv_poll_cq(cq->ibv, 1, &wc);

	if (nr > 0) {
		loop_task_start(task);	/* before the upcall, which may stop the task */
		cq->completed(cq, &wc);
	} else if (nr < 0) {
		cq->failed(cq);
	} else if (!cq->armed) {
		cq->armed = !ibv_req_notify_cq(cq->ibv, 0);
		if (cq->armed)
			loop_task_start(task);
		else
			cq->failed(cq);
	}
}

/**
 * cq_open - make a completion queue, armed
 * @cq: zeroed, except for the upcalls
 * @channel: gets the events of the queue
 * @cqes: number of completions that the queue has room for
 *
 * cq_close() is due either way.
 *
 * Return: 0; DEVICE_FULL; or -errno.
 */
int cq_open(struct cq *cq, struct ibv_comp_channel *channel, int cqes)
{
	int ret;

	cq->task.run = cq_poll;
	cq->ibv = ibv_create_cq(channel->context, cqes, cq, channel, 0);
	if (!cq->ibv)
		return device_queue_error();
	ret = ibv_req_notify_cq(cq->ibv, 0);
	cq->armed = !ret;
	return -ret;
}

/**
 * cq_event - an event says that there are completions
 * @cq: context of the event's queue; may be stopped
 */
void cq_event(struct cq *cq)
{
	cq->armed = false;
	if (!cq->stopped)
		loop_task_start(&cq->task);
}

/**
 * cq_catch_up - handle completions that are there already, out of turn
 * @cq: in any condition
 * @most: number of completions to handle at most, because a peer may be making new ones
 *
 * For a caller that acts upon something that has happened after these completions.
 */
void cq_catch_up(struct cq *cq, unsigned int most)
{
	struct ibv_wc wc;

	while (most-- && cq->ibv && !cq->stopped && ibv_poll_cq(cq->ibv, 1, &wc) > 0)
		cq->completed(cq, &wc);
}

/**
 * cq_waits - whether there may be completions that have not been handled yet
 * @cq: opened
 *
 * Return: true: the queue waits for its turn.
 */
bool cq_waits(const struct cq *cq)
{
	return cq->task.queued;
}

/**
 * cq_stop - stop polling; called before cq_close()
 * @cq: in any condition; its events may still come
 */
void cq_stop(struct cq *cq)
{
	cq->stopped = true;
	loop_task_stop(&cq->task);
}

/**
 * cq_close - destroy a completion queue
 * @cq: in any condition, its queue pairs destroyed. The owner frees @cq, in the loop, which
 *	may have an event of @cq until then
 *
 * Waits for events that are being handled. May be called again after an error.
 *
 * Return: 0 or -errno.
 */
int cq_close(struct cq *cq)
{
	int ret = cq->ibv ? ibv_destroy_cq(cq->ibv) : 0;

	if (!ret)
		cq->ibv = NULL;
	return -ret;
}
