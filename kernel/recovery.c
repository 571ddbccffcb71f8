// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens after an error, and the keep-alive that finds one when nothing else
 * moves.
 *
 * With fast_io_fail_tmo = 0 the end is always the same: the session comes down,
 * requests fail with BLK_STS_TRANSPORT, the disk stays and fails all I/O until it is
 * disconnected. Two things take time, both bounded:
 *
 * - A write that was posted may still be under way in the network. It is not
 *   reported as failed before nothing of this session can land any more. The target
 *   says so by a CLOSE, or by its answer to the LOGOUT that is sent when the control
 *   queue survived. When it says nothing, its own rule is the bound: a target that
 *   runs ends a session that it has not heard of for session_tmo_ms; our queue pairs
 *   are gone and retransmit nothing, so it has not heard of us since. One more
 *   second covers what a packet may live in the network and how late the target's
 *   timer may be. A target that is stopped does not get that far, but then the
 *   bound is many times what a packet can live.
 * - That LOGOUT is waited for as long as a keep-alive.
 *
 * The work runs under memalloc_noio: an allocation that waited for write-back to
 * this very disk would wait for itself.
 */
#include <linux/blk-mq.h>
#include <linux/sched/mm.h>
#include "log.h"
#include "session.h"

/* What a packet of ours can live in the network, generously */
#define RDMABLK_PACKET_LIFE	HZ

static unsigned long rdmablk_keep_alive(const struct rdmablk_session *s)
{
	return max(msecs_to_jiffies(s->grant.keep_alive_ms), 2UL);
}

static void rdmablk_keepalive_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(to_delayed_work(work),
						 struct rdmablk_session, keepalive_work);
	unsigned long tmo = rdmablk_keep_alive(s), delay = tmo / 2;
	int ret;

	ret = rdmablk_ctrl_command(&s->ctrl, RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE);
	if (!ret) {
		s->keepalive_sent = jiffies;
		s->keepalive_late = false;
	} else {
		/* The last one is under way. Look more often. */
		delay = tmo / 4;
	}
	if (ret && time_after(jiffies, s->keepalive_sent + tmo)) {
		if (s->keepalive_late) {
			/* Whoever does not answer this will not answer a LOGOUT. */
			rdmablk_ctrl_break(&s->ctrl);
			rdmablk_session_error(s, RDMABLK_R_EXPIRED);
			return;
		}
		/*
		 * Once more: on a host that stood still, a virtual one say, this
		 * work may run before the answer that came meanwhile is received.
		 */
		s->keepalive_late = true;
	}
	queue_delayed_work(rdmablk_wq, &s->keepalive_work, max(delay, 1UL));
}

/**
 * rdmablk_keepalive_start() - ask the daemon whether it lives, from now on
 * @s: live session
 *
 * READs and WRITEs succeed against a daemon that is stopped; only its own answer
 * proves that it lives.
 */
void rdmablk_keepalive_start(struct rdmablk_session *s)
{
	s->keepalive_late = false;
	queue_delayed_work(rdmablk_wq, &s->keepalive_work, rdmablk_keep_alive(s) / 2);
}

/* Tries to learn from the target that nothing of the session can land any more. */
static void rdmablk_recovery_goodbye(struct rdmablk_session *s)
{
	if (s->reason == RDMABLK_R_MALFORMED || s->reason == RDMABLK_R_STATE) {
		rdmablk_ctrl_close(&s->ctrl, s->reason);
		return;
	}
	if (rdmablk_ctrl_command(&s->ctrl, RDMABLK_OP_LOGOUT, RDMABLK_TAG_LOGOUT))
		return;
	if (!rdmablk_ctrl_wait(&s->ctrl, RDMABLK_TAG_LOGOUT,
			       jiffies + rdmablk_keep_alive(s))) {
		spin_lock_irq(&s->lock);
		s->fenced = true;
		spin_unlock_irq(&s->lock);
	}
}

static void rdmablk_recovery_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(work, struct rdmablk_session,
						 recovery_work);
	unsigned int noio = memalloc_noio_save();
	struct request_queue *q = s->disk ? s->disk->queue : NULL;
	unsigned long hold = 0;
	unsigned int held = 0;

	rdmablk_err(s, "session failed: %s\n", rdmablk_reason_text(s->reason));
	rdmablk_session_move(s, RDMABLK_DEV_RECOVERING);
	cancel_delayed_work_sync(&s->keepalive_work);
	if (q)
		blk_mq_quiesce_queue(q);
	rdmablk_session_stop_data(s);
	if (q) {
		held = rdmablk_request_fail_all(&s->tag_set, !READ_ONCE(s->fenced));
		blk_mq_unquiesce_queue(q);
	}
	if (!READ_ONCE(s->fenced))
		rdmablk_recovery_goodbye(s);
	rdmablk_ctrl_stop(&s->ctrl);
	rdmablk_session_destroy_queues(s);
	if (held && !s->fenced)
		hold = msecs_to_jiffies(s->grant.session_tmo_ms) + RDMABLK_PACKET_LIFE;
	queue_delayed_work(rdmablk_wq, &s->release_work, hold);
	memalloc_noio_restore(noio);
}

static void rdmablk_release_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(to_delayed_work(work),
						 struct rdmablk_session, release_work);

	if (s->disk)
		rdmablk_request_release_held(&s->tag_set);
	rdmablk_session_move(s, RDMABLK_DEV_FAILED);
	complete_all(&s->settled);
}

/**
 * rdmablk_recovery_init() - prepare the works
 * @s: new session
 */
void rdmablk_recovery_init(struct rdmablk_session *s)
{
	INIT_WORK(&s->recovery_work, rdmablk_recovery_work);
	INIT_DELAYED_WORK(&s->release_work, rdmablk_release_work);
	INIT_DELAYED_WORK(&s->keepalive_work, rdmablk_keepalive_work);
}

/**
 * rdmablk_recovery_finish() - wait for what runs; nothing runs afterwards
 * @s: session whose error flag is set, with no request in flight
 */
void rdmablk_recovery_finish(struct rdmablk_session *s)
{
	cancel_delayed_work_sync(&s->keepalive_work);
	flush_work(&s->recovery_work);
	cancel_delayed_work_sync(&s->release_work);
}
