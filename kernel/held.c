// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that a lost connection leaves behind: who holds them, and how they end; see
 * the top of request.c.
 */
#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include "onesided.h"
#include "request.h"

static bool rdmablk_request_hold(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_path *path = rq->q->queuedata;
	struct rdmablk_held *held = data;

	/* Ended already; ->complete() has not run yet. */
	if (blk_mq_request_completed(rq))
		return true;
	rdmablk_onesided_unmap(path, rq);
	if (path->staged && req_op(rq) == REQ_OP_FLUSH && req->was_unflushed)
		WRITE_ONCE(path->unflushed, true);
	req->cmd = NULL;
	req->watched = false;
	/* That of a command; it may be none when it is sent again. */
	rq->timeout = 0;
	if (held->lost && held->again && req->holds) {
		req->holds = 2;
	} else if (held->lost) {
		req->holds = 1;
		req->held_since = jiffies;
	}
	WRITE_ONCE(req->held, true);
	held->requests++;
	held->writes += req->posted && op_is_write(req_op(rq));
	return true;
}

/**
 * rdmablk_request_hold_all() - take the requests that a lost connection left behind
 * @set: tag set, quiesced; all queue pairs are drained, the device is still there
 * @lost: the connection was, and not given up as planned
 * @again: it had not lasted
 *
 * Return: how many there are.
 */
struct rdmablk_held rdmablk_request_hold_all(struct blk_mq_tag_set *set, bool lost,
					     bool again)
{
	struct rdmablk_held held = { .lost = lost, .again = again };

	blk_mq_tagset_busy_iter(set, rdmablk_request_hold, &held);
	return held;
}

static bool rdmablk_request_is_posted(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	bool *busy = data;

	*busy |= !blk_mq_request_completed(rq) && !req->held;
	return !*busy;
}

/**
 * rdmablk_request_busy() - look for requests that are under way
 * @set: tag set, quiesced
 *
 * Return: whether there is one.
 */
bool rdmablk_request_busy(struct blk_mq_tag_set *set)
{
	bool busy = false;

	blk_mq_tagset_busy_iter(set, rdmablk_request_is_posted, &busy);
	return busy;
}

static bool rdmablk_request_is_in_flight(struct request *rq, void *data)
{
	u32 *n = data;

	*n += !blk_mq_request_completed(rq);
	return true;
}

/**
 * rdmablk_request_in_flight() - count the requests that have not ended
 * @set: tag set
 *
 * Return: how many there are at the moment, held ones among them.
 */
u32 rdmablk_request_in_flight(struct blk_mq_tag_set *set)
{
	u32 n = 0;

	blk_mq_tagset_busy_iter(set, rdmablk_request_is_in_flight, &n);
	return n;
}

static void rdmablk_request_end_held(struct request *rq)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);

	req->held = false;
	req->unsent = false;
	req->status = BLK_STS_TRANSPORT;
	rdmablk_request_hand_over(rq);
}

/**
 * rdmablk_request_fails_fast() - whether a request is to fail while there is no connection
 * @rq: request
 *
 * Multipath and md set the flags where they can use another disk at once. The block layer
 * sets them for all readahead, which is exempt: it would turn an outage into pages that
 * cannot be read. So is a request merged from several bios that differ in these flags.
 *
 * Return: whether it does not wait for the next connection.
 */
bool rdmablk_request_fails_fast(const struct request *rq)
{
	return rq->cmd_flags & (REQ_FAILFAST_TRANSPORT | REQ_FAILFAST_DEV) &&
	       !(rq->cmd_flags & REQ_RAHEAD) && !(rq->rq_flags & RQF_MIXED_MERGE);
}

struct rdmablk_fail {
	bool all;
	bool keep_writes;
	unsigned int kept;
};

static bool rdmablk_request_fail(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	struct rdmablk_fail *fail = data;

	if (blk_mq_request_completed(rq) || !req->held)
		return true;
	if (!fail->all && !rdmablk_request_fails_fast(rq))
		return true;
	if (fail->keep_writes && req->posted && op_is_write(req_op(rq))) {
		fail->kept++;
		return true;
	}
	rdmablk_request_end_held(rq);
	return true;
}

/**
 * rdmablk_request_fail_held() - end held requests with BLK_STS_TRANSPORT
 * @set: tag set, quiesced
 * @all: not only those that are to fail fast
 * @keep_writes: not the WRITEs that were posted
 *
 * Return: how many WRITEs are still held for @keep_writes alone.
 */
unsigned int rdmablk_request_fail_held(struct blk_mq_tag_set *set, bool all,
				       bool keep_writes)
{
	struct rdmablk_fail fail = { .all = all, .keep_writes = keep_writes };

	blk_mq_tagset_busy_iter(set, rdmablk_request_fail, &fail);
	return fail.kept;
}

static bool rdmablk_request_requeue(struct request *rq, void *data)
{
	struct rdmablk_request *req = blk_mq_rq_to_pdu(rq);
	unsigned long *patience = data;

	if (blk_mq_request_completed(rq) || !req->held)
		return true;
	if (req->holds > 1 && time_after_eq(jiffies, req->held_since + *patience)) {
		rdmablk_request_end_held(rq);
		return true;
	}
	/*
	 * It stays marked: until it is queued anew its timer may fire. Whoever unquiesces
	 * the queue kicks the list.
	 */
	blk_mq_requeue_request(rq, false);
	return true;
}

/**
 * rdmablk_request_requeue_held() - give held requests back to the block layer, to
 *	be posted anew
 * @set: tag set, quiesced; nothing of an earlier connection can land any more
 * @patience: jiffies after which a request fails that has met the end of one connection
 *	after the other; up to MAX_JIFFY_OFFSET
 *
 * A connection that comes back ends the outage, but not for a request that breaks
 * it again and again: where large packets do not get through it may be this very one.
 */
void rdmablk_request_requeue_held(struct blk_mq_tag_set *set, unsigned long patience)
{
	blk_mq_tagset_busy_iter(set, rdmablk_request_requeue, &patience);
}
