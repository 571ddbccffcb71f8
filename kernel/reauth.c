// SPDX-License-Identifier: GPL-2.0-only
/*
 * A live session of version 2 proves its key again, and gets new keys for the control queue.
 * Data queues and their memory stay.
 *
 *   REAUTH -> REAUTH_CHALLENGE, REAUTH_PROOF -> REAUTH_DONE
 *
 * This happens from time to time, when the administrator gives the disk another key, and when
 * the target announces that the key ends. I/O is not held meanwhile.
 *
 * Nothing is sent without a key that can be used. Nothing is sent, either, with the key whose
 * end the target has announced, until that time is over. The session then goes on until the
 * target ends it, and the recovery tries with the key that it finds.
 *
 * An error after REAUTH ends the connection, because the two sides may differ in what they
 * expect next. The recovery brings the disk back.
 *
 * The old keys serve until REAUTH_DONE, which is the first frame of the new ones.
 *
 * The work waits for the target, so it has a work queue of its own: on that of the timers it
 * would delay the keep-alives of all disks. The recovery waits for this work, so the work
 * never waits for memory. It may use the reserves, and if these are empty, too, it tries
 * again: before REAUTH from the beginning, after REAUTH only its last step.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include "keys.h"
#include "log.h"
#include "reauth.h"
#include "session.h"

/* Pause after a try for which no key could be used */
#define RDMABLK_REAUTH_AGAIN	(10 * HZ)
/* Shortest time from one run to the next that the target asks for */
#define RDMABLK_REAUTH_ASKED	HZ
/* Pause after an allocation has failed */
#define RDMABLK_REAUTH_PAUSE	(HZ / 20 + 1)
/* Longest notice of the end of a key that counts, milliseconds */
#define RDMABLK_REAUTH_LONGEST	3600000ULL

/*
 * Whether a proof would do harm: the target has announced the end of this very key, waits for
 * another key, and would end the session at once if this one came.
 */
static bool rdmablk_reauth_is_vain(struct rdmablk_session *s)
{
	bool ends;

	spin_lock_irq(&s->lock);
	ends = s->login.key_ends && time_before(jiffies, s->login.key_ends_at);
	spin_unlock_irq(&s->lock);
	return ends && !rdmablk_auth_is_other(&s->auth);
}

/*
 * Makes an ephemeral key only for a message that will be sent: until the target ends the
 * session, the work runs every RDMABLK_REAUTH_AGAIN.
 *
 * Return: 0: @msg can be sent; or a negative errno, and nothing has happened.
 */
static int rdmablk_reauth_begin(struct rdmablk_session *s, struct rdmablk_reauth *msg)
{
	u8 key_id[RDMABLK_KEY_ID_LEN], nonce[RDMABLK_NONCE_LEN], point[RDMABLK_POINT_LEN];
	struct rdmablk_auth *a = &s->auth;
	int ret = rdmablk_keys_take(s, a->secret.key);

	if (!ret)
		ret = rdmablk_auth_name(a, key_id);
	if (!ret && rdmablk_reauth_is_vain(s))
		ret = -EKEYREJECTED;
	if (!ret)
		ret = rdmablk_auth_begin(a, key_id, point);
	if (ret)
		return ret;
	get_random_bytes(nonce, sizeof(nonce));
	rdmablk_wire_reauth(msg, key_id, nonce, point);
	return rdmablk_auth_reauth(a, msg, sizeof(*msg));
}

static const char *rdmablk_reauth_text(int err)
{
	return err == -EKEYREJECTED ? "the target will not take this one any more" :
				      rdmablk_keys_text(err);
}

/* A lack of memory for a moment must not end a connection that works. */
static int rdmablk_reauth_derive(struct rdmablk_session *s, const u8 *point, u8 *mac,
				 unsigned long deadline)
{
	const struct rdmablk_ctrl *ctrl = &s->ctrl;
	int ret;

	while ((ret = rdmablk_auth_challenge(&s->auth, ctrl->msg, ctrl->msg_len, point,
					     mac)) == -ENOMEM &&
	       !READ_ONCE(ctrl->broken) && time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(RDMABLK_REAUTH_PAUSE);
	return ret;
}

static int rdmablk_reauth_prove(struct rdmablk_session *s, const struct rdmablk_reauth *msg)
{
	/* A target that lives answers within the time of a keep-alive. */
	unsigned long deadline = jiffies + s->keepalive.tmo;
	const struct rdmablk_auth_ciphers *next = rdmablk_auth_ciphers(&s->auth);
	struct rdmablk_reauth_proof proof;
	u8 point[RDMABLK_POINT_LEN], mac[RDMABLK_MAC_LEN];
	struct rdmablk_ctrl *ctrl = &s->ctrl;
	int ret;

	ret = rdmablk_ctrl_ask(ctrl, msg, sizeof(*msg), RDMABLK_MSG_REAUTH_CHALLENGE, deadline);
	if (!ret)
		ret = rdmablk_wire_parse_reauth_challenge(ctrl->msg, ctrl->msg_len, point);
	if (!ret)
		ret = rdmablk_reauth_derive(s, point, mac, deadline);
	if (!ret)
		ret = rdmablk_ctrl_open_next(ctrl, next->rx);
	if (ret)
		return ret;
	rdmablk_wire_reauth_proof(&proof, mac);
	ret = rdmablk_ctrl_ask(ctrl, &proof, sizeof(proof), RDMABLK_MSG_REAUTH_DONE, deadline);
	if (!ret)
		ret = rdmablk_ctrl_seal_next(ctrl, next->tx);
	if (ret)
		return ret;
	rdmablk_auth_turn(&s->auth);
	spin_lock_irq(&s->lock);
	s->login.key_ends = false;
	spin_unlock_irq(&s->lock);
	return 0;
}

static void rdmablk_reauth_failed(struct rdmablk_session *s, int ret)
{
	/* The administrator ends the session, or it has ended for a reason of its own. */
	if (ret == -ECANCELED || ret == -ECONNRESET || ret == -ENOTCONN)
		return;
	rdmablk_warn_ratelimited(s, "cannot prove the key again (%d)\n", ret);
	if (ret != -ETIMEDOUT)
		return rdmablk_session_error(s, RDMABLK_R_AUTH_FAILED);
	/* A target that does not answer this will not answer a LOGOUT. */
	rdmablk_ctrl_break(&s->ctrl);
	rdmablk_session_error(s, RDMABLK_R_EXPIRED);
}

static void rdmablk_reauth_again(struct rdmablk_session *s, unsigned long delay)
{
	spin_lock_irq(&s->lock);
	if (s->outage.phase == RDMABLK_PHASE_UP)
		queue_delayed_work(rdmablk_reauth_wq, &s->reauth_work, delay);
	spin_unlock_irq(&s->lock);
}

static void rdmablk_reauth_arm(struct rdmablk_session *s)
{
	s32 tmo = READ_ONCE(s->opt.reauth_tmo);

	/* Another proof overwrites the old keys that could not be wiped. */
	if (s->auth.stale)
		return rdmablk_reauth_again(s, RDMABLK_REAUTH_AGAIN);
	if (tmo > 0)
		rdmablk_reauth_again(s, (unsigned long)tmo * HZ);
}

static void rdmablk_reauth_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(to_delayed_work(work),
						 struct rdmablk_session, reauth_work);
	unsigned int noreclaim = memalloc_noreclaim_save();
	struct rdmablk_reauth msg;
	int ret;

	WRITE_ONCE(s->reauth_at, jiffies);
	ret = rdmablk_reauth_begin(s, &msg);
	if (ret) {
		if (ret != s->reauth_ret)
			rdmablk_warn_ratelimited(s, "no key to prove again: %s (%d)\n",
						 rdmablk_reauth_text(ret), ret);
		rdmablk_reauth_again(s, RDMABLK_REAUTH_AGAIN);
	} else {
		ret = rdmablk_reauth_prove(s, &msg);
		if (ret)
			rdmablk_reauth_failed(s, ret);
		else
			rdmablk_reauth_arm(s);
	}
	s->reauth_ret = ret;
	rdmablk_auth_forget(&s->auth);
	memalloc_noreclaim_restore(noreclaim);
}

/**
 * rdmablk_reauth_init() - prepare the work
 * @s: new session
 */
void rdmablk_reauth_init(struct rdmablk_session *s)
{
	INIT_DELAYED_WORK(&s->reauth_work, rdmablk_reauth_work);
}

static void rdmablk_reauth_after(struct rdmablk_session *s, unsigned long delay)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	/* Under the lock: the teardown of the connection finds it queued, or not at all. */
	if (s->outage.phase == RDMABLK_PHASE_UP && s->login.version == RDMABLK_VERSION_PROVEN)
		mod_delayed_work(rdmablk_reauth_wq, &s->reauth_work, delay);
	else
		s->login.reauth = true;
	spin_unlock_irqrestore(&s->lock, flags);
}

/**
 * rdmablk_reauth_now() - prove the key again as soon as possible
 * @s: session; without effect unless it is of version 2
 *
 * A login that is under way does it when it is complete. Context: any.
 */
void rdmablk_reauth_now(struct rdmablk_session *s)
{
	rdmablk_reauth_after(s, 0);
}

/**
 * rdmablk_reauth_ends() - the target has announced that the key ends
 * @s: session
 * @ms: time until the target ends the session, milliseconds
 *
 * The target may announce that again and again; each proof takes a new key pair. Context: any.
 */
void rdmablk_reauth_ends(struct rdmablk_session *s, u64 ms)
{
	unsigned long ran = READ_ONCE(s->reauth_at), next = ran + RDMABLK_REAUTH_ASKED;
	unsigned long flags, now = jiffies;

	spin_lock_irqsave(&s->lock, flags);
	s->login.key_ends = true;
	s->login.key_ends_at = jiffies + msecs_to_jiffies(min(ms, RDMABLK_REAUTH_LONGEST));
	spin_unlock_irqrestore(&s->lock, flags);
	rdmablk_reauth_after(s, time_in_range(now, ran, next) ? next - now : 0);
}

/**
 * rdmablk_reauth_start() - prove the key again from time to time
 * @s: session that has just gone live
 *
 * Context: may not be a softirq.
 */
void rdmablk_reauth_start(struct rdmablk_session *s)
{
	if (s->login.version != RDMABLK_VERSION_PROVEN)
		return;
	s->reauth_ret = 0;
	if (READ_ONCE(s->login.reauth))
		rdmablk_reauth_now(s);
	else
		rdmablk_reauth_arm(s);
}
