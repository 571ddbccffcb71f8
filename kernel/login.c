// SPDX-License-Identifier: GPL-2.0-only
/*
 * The login: from an address to a session in which I/O can start.
 *
 *   control queue   resolve, check the device, connect
 *   dialogue        HELLO -> CHALLENGE, PROOF -> GRANT, LIMITS_GET -> LIMITS,
 *                   REGIONS_GET -> REGIONS …; in version 2 sealed from GRANT on
 *   disk            limits, tags, gendisk; not visible yet
 *   data queues     two per hardware queue, each joined with a MAC
 *   READY -> LIVE
 *
 * Each step that fails says why, in words. A login ends when it has made no progress for
 * connect_tmo, and at the latest after a time that grows with the number of queues. In a
 * reconnect each connection has a deadline of its own, too. After an error the caller tears
 * the whole session down.
 *
 * The login begins again by itself in three cases. It then takes down what it has made.
 *
 * - The target still fences an earlier session of this export, and says when to try again. Or
 *   the target's connection manager still has a connection from before a restart of this
 *   host, with one of the queue pair numbers that this host uses again.
 * - The connection request was lost: see probe.c.
 * - An adapter has no room for so many queues: the login asks for half of them.
 *
 * The administrator chooses the protocol version with the key: with a key this side speaks
 * version 2 only, without a key version 1 only. In version 2 GRANT is the first message that
 * only the target can have sent. A message before GRANT can make this login fail, but decides
 * nothing about the disk.
 *
 * A login that is not the first finds a disk in use. It goes on only if the export is the
 * same and still takes all that the block layer was told. It makes no disk, and uses the
 * memory of the first login again.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/wait.h>
#include <rdma/rdma_cm.h>
#include "cm.h"
#include "ctrl_events.h"
#include "disk.h"
#include "hwq.h"
#include "ibdev.h"
#include "keepalive.h"
#include "keys.h"
#include "log.h"
#include "login.h"
#include "patience.h"
#include "probe.h"
#include "reauth.h"
#include "session.h"

#define RDMABLK_RETRY_MIN_MS	10
#define RDMABLK_RETRY_MAX_MS	1000

/*
 * The first login decides how many hardware queues the tag set has. The number does not
 * depend on the adapter's room, because several of them may share a granted one. For a staged
 * export it depends on the target's grant, see rdmablk_login_fit().
 */
static void rdmablk_login_count(struct rdmablk_session *s)
{
	const struct rdmablk_limits_queues in = {
		.wanted		= s->opt.queues,
		.polled		= s->opt.poll_queues,
		.possible	= nr_cpu_ids,
		.online		= num_online_cpus(),
		.vectors	= s->pd->device->num_comp_vectors,
		.max		= RDMABLK_MAX_QUEUES,
	};

	if (s->nr_queues)
		return;
	s->path.nr_poll = rdmablk_limits_polled(&in);
	s->nr_queues = rdmablk_limits_shown(&in) + s->path.nr_poll;
	s->most_queues = s->nr_queues;
}

/* Hardware queues to ask for: those that the adapter seems to have room for */
static u32 rdmablk_login_wish(const struct rdmablk_session *s)
{
	const struct ib_device_attr *attrs = &s->pd->device->attrs;

	return min(s->most_queues, rdmablk_limits_pairs(attrs->max_qp, attrs->max_cq));
}

/* HELLO says which export the disk has been. In version 2 only the target understands it. */
static int rdmablk_login_resume(struct rdmablk_session *s, struct rdmablk_wire_hello *h,
				bool proven)
{
	const u8 *uuid = s->agreed.grant.uuid;

	if (!s->resume)
		return 0;
	if (proven)
		return rdmablk_auth_resume(&s->auth, h->nonce, uuid, h->uuid);
	memcpy(h->uuid, uuid, sizeof(h->uuid));
	return 0;
}

/* @key_id, @point: name of the key and public key in version 2; in version 1 NULL */
static int rdmablk_login_hello(struct rdmablk_session *s, const u8 *key_id, const u8 *point)
{
	struct rdmablk_wire_hello h = {
		.flags		= (s->opt.read_only ? RDMABLK_HELLO_READ_ONLY : 0) |
				  /* Only a first login steals: else two hosts never stop. */
				  (s->resume ? RDMABLK_HELLO_RESUME :
				   s->opt.steal ? RDMABLK_HELLO_STEAL : 0),
		.generation	= ++s->generation,
		.nr_queues	= rdmablk_login_wish(s),
		.queue_depth	= s->opt.queue_depth,
		.keep_alive_ms	= READ_ONCE(s->opt.keep_alive_tmo) * MSEC_PER_SEC,
		.features_offered = RDMABLK_FEATURES_V1,
	};
	int ret;

	memcpy(h.host_id, s->opt.host_id, sizeof(h.host_id));
	memcpy(h.boot_nonce, rdmablk_boot_nonce, sizeof(h.boot_nonce));
	memcpy(h.instance_id, s->instance_id, sizeof(h.instance_id));
	get_random_bytes(h.nonce, sizeof(h.nonce));
	strscpy(h.host_name, init_utsname()->nodename, sizeof(h.host_name));
	strscpy(h.export_name, s->opt.export_name, sizeof(h.export_name));
	ret = rdmablk_login_resume(s, &h, !!key_id);
	if (ret)
		return ret;
	if (key_id)
		rdmablk_wire_hello2(&s->login.hello, &h, key_id, point);
	else
		rdmablk_wire_hello(&s->login.hello.hello, &h);
	/* The number asked for, until the target grants fewer */
	s->login.offer.nr_hwqs = h.nr_queues;
	return 0;
}

static int rdmablk_login_control(struct rdmablk_session *s)
{
	struct sockaddr *src = s->opt.source.ss_family != AF_UNSPEC ?
		(struct sockaddr *)&s->opt.source : NULL;
	struct rdmablk_queue *q = &s->ctrl.queue;
	u32 delay = READ_ONCE(s->opt.reconnect_delay) * MSEC_PER_SEC;
	unsigned long deadline = rdmablk_login_step(s, rdmablk_patience_control(delay,
								s->login.failed_tries));
	struct rdmablk_cm_request req;
	int ret;

	ret = rdmablk_cm_resolve(q, (struct sockaddr *)&s->opt.target, src,
				 &s->opt.route, deadline);
	if (ret)
		return rdmablk_login_queue_fail(s, q, ret);
	WRITE_ONCE(s->ack_timeout, rdmablk_cm_ack_timeout(q, &s->opt.route));
	s->longest_ack = rdmablk_cm_longest_ack(q, &s->opt.route);
	s->login.offer.port = q->cm_id->port_num;
	strscpy(s->login.offer.ibdev, dev_name(&q->cm_id->device->dev),
		sizeof(s->login.offer.ibdev));
	ret = rdmablk_ibdev_check(q->cm_id->device, s->login.offer.port, &s->why);
	if (ret)
		return ret;
	s->pd = ib_alloc_pd(q->cm_id->device, 0);
	if (IS_ERR(s->pd)) {
		ret = PTR_ERR(s->pd);
		s->pd = NULL;
		return rdmablk_login_fail(s, ret, "cannot allocate a protection domain");
	}
	ret = rdmablk_ctrl_create(&s->ctrl, s->pd);
	if (ret)
		return rdmablk_login_fail(s, ret, ret == -ENOMEM ?
					  "no memory or no room on the device for a control queue" :
					  "cannot create the control queue");
	rdmablk_wire_cm_request(&req, RDMABLK_KIND_CONTROL, 0, 0, 0, s->login.version,
				s->login.version);
	ret = rdmablk_cm_start_connect(q, &req, 0);
	if (!ret)
		ret = s->login.failed_tries ? rdmablk_probe_wait(s, &req, deadline) :
					rdmablk_cm_wait(q, deadline);
	if (ret == -ERESTART)
		return rdmablk_login_fail(s, ret, "no answer in time");
	if (ret)
		return rdmablk_login_queue_fail(s, q, ret);
	rdmablk_login_progress(s);
	return 0;
}

/* Sends a message and waits for the answer. If CLOSE comes instead, its reason is reported. */
static int rdmablk_login_ask(struct rdmablk_session *s, const void *msg, size_t len,
			     u16 reply)
{
	u16 reason = READ_ONCE(s->login.reason);
	int ret = -ECONNRESET;

	/* The error may have come before this message. */
	if (!reason) {
		ret = rdmablk_ctrl_ask(&s->ctrl, msg, len, reply, s->login.deadline);
		reason = READ_ONCE(s->login.reason);
	}
	if (!ret) {
		rdmablk_login_progress(s);
		return 0;
	}
	if (ret == -ECANCELED)
		return rdmablk_login_fail(s, ret, "the connect was given up");
	if (reason == RDMABLK_R_DEVICE_FULL && rdmablk_login_believes(s, reason))
		s->login.no_room = true;
	if (reason == RDMABLK_R_AUTH_REQUIRED && s->login.version == RDMABLK_VERSION_OPEN)
		return rdmablk_login_fail(s, -EACCES, RDMABLK_WHY_NEEDS_KEY);
	if (reason)
		return rdmablk_login_fail(s, rdmablk_wire_errno(reason),
					  rdmablk_reason_text(reason));
	switch (ret) {
	case -ETIMEDOUT:
		return rdmablk_login_fail(s, ret, "the target does not answer the login");
	default:
		return rdmablk_login_fail(s, ret, "connection lost during the login");
	}
}

/* The target has sent a wrong message: tells the target why this side closes. */
static int rdmablk_login_bad(struct rdmablk_session *s, int ret, const char *why)
{
	u16 reason = ret == -EACCES ? RDMABLK_R_AUTH_FAILED :
		     ret == -EPROTONOSUPPORT ? RDMABLK_R_VERSION : RDMABLK_R_MALFORMED;

	rdmablk_login_reason(s, reason);
	rdmablk_ctrl_close(&s->ctrl, reason);
	return rdmablk_login_fail(s, ret == -EBADMSG ? -EPROTO : ret, why);
}

/* The dialogue up to GRANT in version 1; everybody knows the key of the MAC in PROOF. */
static int rdmablk_login_declare(struct rdmablk_session *s)
{
	struct rdmablk_wire_challenge *c = &s->login.challenge;
	struct rdmablk_hello *hello = &s->login.hello.hello;
	struct rdmablk_proof proof;
	u8 mac[RDMABLK_MAC_LEN];
	int ret;

	ret = rdmablk_login_hello(s, NULL, NULL);
	if (!ret)
		ret = rdmablk_login_ask(s, hello, sizeof(*hello), RDMABLK_MSG_CHALLENGE);
	if (ret)
		return ret;
	ret = rdmablk_wire_parse_challenge(s->ctrl.msg, s->ctrl.msg_len, hello, c);
	if (!ret && c->version != s->ctrl.queue.version)
		ret = -EBADMSG;
	if (ret)
		return rdmablk_login_bad(s, ret, "the target sent a bad CHALLENGE");
	ret = rdmablk_mac_proof(&s->mac, hello, s->ctrl.msg, mac);
	if (!ret)
		ret = rdmablk_mac_session(&s->mac, hello, c);
	if (ret)
		return rdmablk_login_fail(s, ret, "cannot compute a MAC");
	rdmablk_wire_proof(&proof, mac);
	return rdmablk_login_ask(s, &proof, sizeof(proof), RDMABLK_MSG_GRANT);
}

/* Sends HELLO with the name of K, and derives the keys from the CHALLENGE that answers it. */
static int rdmablk_login_keys(struct rdmablk_session *s, u8 *mac)
{
	u8 key_id[RDMABLK_KEY_ID_LEN], point[RDMABLK_POINT_LEN];
	struct rdmablk_hello2 *hello = &s->login.hello;
	struct rdmablk_queue *q = &s->ctrl.queue;
	struct rdmablk_auth *a = &s->auth;
	int ret;

	ret = rdmablk_keys_take(s, a->secret.key);
	if (ret)
		return rdmablk_login_fail(s, ret, rdmablk_keys_text(ret));
	ret = rdmablk_auth_begin(a, key_id, point);
	if (ret)
		return rdmablk_login_fail(s, ret, "cannot compute a key");
	ret = rdmablk_login_hello(s, key_id, point);
	if (ret)
		return rdmablk_login_fail(s, ret, "cannot compute a key");
	ret = rdmablk_login_ask(s, hello, sizeof(*hello), RDMABLK_MSG_CHALLENGE);
	if (ret)
		return ret;
	ret = rdmablk_wire_parse_challenge2(s->ctrl.msg, s->ctrl.msg_len, hello,
					    &s->login.challenge, point);
	if (ret)
		return rdmablk_login_bad(s, ret, "the target sent a bad CHALLENGE");
	ret = rdmablk_auth_hello(a, q->qp->qp_num, q->peer_qpn, hello, sizeof(*hello));
	if (!ret)
		ret = rdmablk_auth_challenge(a, s->ctrl.msg, s->ctrl.msg_len, point, mac);
	if (ret == -EBADMSG)
		return rdmablk_login_bad(s, ret, "the target sent a bad CHALLENGE");
	return ret ? rdmablk_login_fail(s, ret, "cannot compute a key") : 0;
}

/*
 * The dialogue up to GRANT in version 2. PROOF is the last message that is not sealed. GRANT
 * proves that the target has the key.
 */
static int rdmablk_login_prove(struct rdmablk_session *s)
{
	const struct rdmablk_auth_ciphers *ciphers;
	struct rdmablk_proof proof;
	u8 mac[RDMABLK_MAC_LEN];
	int ret;

	ret = rdmablk_login_keys(s, mac);
	if (ret)
		return ret;
	rdmablk_wire_proof(&proof, mac);
	ciphers = rdmablk_auth_ciphers(&s->auth);
	/* GRANT may arrive before the completion of the SEND of PROOF. */
	rdmablk_ctrl_open(&s->ctrl, ciphers->rx);
	ret = rdmablk_login_ask(s, &proof, sizeof(proof), RDMABLK_MSG_GRANT);
	rdmablk_ctrl_seal(&s->ctrl, ciphers->tx);
	rdmablk_auth_turn(&s->auth);
	s->login.offer.proven = !ret;
	return ret;
}

static int rdmablk_login_refuse_times(struct rdmablk_session *s)
{
	const struct rdmablk_wire_grant *g = &s->login.offer.grant;

	rdmablk_warn_ratelimited(s, "target grants a keep-alive timeout of %u ms, %u ms were asked for, and a session timeout of %u ms\n",
				 g->keep_alive_ms,
				 le32_to_cpu(s->login.hello.hello.keep_alive_ms),
				 g->session_tmo_ms);
	return rdmablk_login_bad(s, -ERANGE,
				 "the target grants timeouts far longer than asked for");
}

/* Checks the MAC of the first @len bytes of an answer. In version 2 the seal did that. */
static int rdmablk_login_check(struct rdmablk_session *s, const char *label, size_t len,
			       const u8 *mac)
{
	if (s->login.version == RDMABLK_VERSION_PROVEN)
		return 0;
	return rdmablk_mac_check(&s->mac, label, s->ctrl.msg, len, mac);
}

static int rdmablk_login_grant(struct rdmablk_session *s)
{
	struct rdmablk_wire_grant *g = &s->login.offer.grant;
	int ret;

	ret = rdmablk_wire_parse_grant(s->ctrl.msg, s->ctrl.msg_len, &s->login.hello.hello,
				       &s->login.challenge, g);
	if (!ret)
		ret = rdmablk_login_check(s, RDMABLK_LABEL_GRANT,
					  offsetof(struct rdmablk_grant, mac), g->mac);
	if (ret)
		return rdmablk_login_bad(s, ret, "the target sent a bad GRANT");
	return rdmablk_wire_times_ok(g, le32_to_cpu(s->login.hello.hello.keep_alive_ms)) ? 0 :
	       rdmablk_login_refuse_times(s);
}

/*
 * Refuses what the target grants, and tells the target and the administrator why. In version
 * 2 the grant was sealed, so the refusal is trusted.
 */
static int rdmablk_login_refuse(struct rdmablk_session *s, int ret, u16 reason)
{
	rdmablk_login_reason(s, reason);
	spin_lock_irq(&s->lock);
	s->login.trusted = reason;
	spin_unlock_irq(&s->lock);
	rdmablk_ctrl_close(&s->ctrl, reason);
	return rdmablk_login_fail(s, ret, rdmablk_reason_text(reason));
}

/* Checks whether the disk can go on with what the target grants now. */
static int rdmablk_login_compare(struct rdmablk_session *s)
{
	const struct rdmablk_wire_grant *g = &s->login.offer.grant, *was = &s->agreed.grant;
	const struct rdmablk_wire_grant *promised = &s->promised.grant;
	u32 rights = RDMABLK_GRANT_READ_ONLY | RDMABLK_GRANT_SHARED |
		     RDMABLK_GRANT_CACHE | RDMABLK_GRANT_STAGED;

	/* Another target has this address. It has fenced nothing of ours. */
	if (memcmp(g->uuid, was->uuid, sizeof(g->uuid)))
		return rdmablk_login_refuse(s, -ESTALE, RDMABLK_R_IDENTITY);
	/* The target grants only after it has fenced the earlier session. */
	spin_lock_irq(&s->lock);
	s->outage.fenced = true;
	spin_unlock_irq(&s->lock);
	if (g->logical_block != was->logical_block ||
	    (g->flags ^ was->flags) & rights)
		return rdmablk_login_refuse(s, -ESTALE, RDMABLK_R_IDENTITY);
	/* The block layer splits requests at the ends of the regions it was told. */
	if (g->size < was->size ||
	    (g->nr_regions > 1 && (promised->nr_regions == 1 ||
				   g->region_bytes < promised->region_bytes)))
		return rdmablk_login_refuse(s, -ESTALE, RDMABLK_R_SHRUNK);
	if (!memcmp(g->epoch, was->epoch, sizeof(g->epoch)))
		return 0;
	/*
	 * The store has lost only data that was not on its medium. All data of this disk is
	 * on it: either this disk has flushed, or the store is staged and has no volatile
	 * cache, so that it answers a write when the medium has the data.
	 */
	if (g->flags & (RDMABLK_GRANT_CACHE | RDMABLK_GRANT_STAGED) &&
	    !READ_ONCE(s->path.unflushed)) {
		rdmablk_info_ratelimited(s, "the store has started again; all that was written had been flushed\n");
		return 0;
	}
	if (s->accept_loss || READ_ONCE(s->opt.on_data_loss) == RDMABLK_DATA_LOSS_CONTINUE) {
		rdmablk_warn_ratelimited(s, "the store has lost its contents; going on as asked to\n");
		return 0;
	}
	rdmablk_err(s, "the store has lost its contents (epoch %pUb, was %pUb)\n",
		    g->epoch, was->epoch);
	return rdmablk_login_refuse(s, -ENODATA, RDMABLK_R_DATA_LOST);
}

/* Whether the target takes less than the block layer was told that commands may ask for */
static bool rdmablk_login_cmds_shrunk(const struct rdmablk_wire_limits *now,
				      const struct rdmablk_wire_limits *was)
{
	return (was->ops & ~now->ops) || now->max_discard < was->max_discard ||
	       now->max_zeroes < was->max_zeroes || now->max_erase < was->max_erase ||
	       now->granule != was->granule || now->slot_bytes < was->slot_bytes;
}

/*
 * Each request of a staged session is a command, so a queue has no more requests than tags.
 * The target offers tags, but this host's memory for answers limits them. An existing disk
 * keeps its number of requests: with fewer tags, requests wait in the block layer.
 */
static void rdmablk_login_depth(struct rdmablk_session *s)
{
	struct rdmablk_wire_limits *cmds = &s->login.offer.cmds;
	struct rdmablk_wire_grant *g = &s->login.offer.grant;
	u32 sharers = rdmablk_login_sharers(s);
	u32 tags = min_t(u32, cmds->cmd_depth,
			 RDMABLK_CMD_RESERVED + sharers * g->queue_depth);

	/* The target accepts smaller buffers: each command says how much fits. */
	rdmablk_limits_receive(g->nr_queues, &tags, &cmds->trailer_bytes);
	g->queue_depth = min_t(u32, g->queue_depth,
			       max((tags - RDMABLK_CMD_RESERVED) / sharers, 1U));
}

/*
 * Gives the tag set of a staged session as many hardware queues as the target granted: more of
 * them would have to share requests. Three kinds of disks keep their number: a disk that has
 * hardware queues already; a disk for which an adapter has no room now, because there may be
 * room later; and a disk that shall poll, but got no hardware queue to poll.
 */
static void rdmablk_login_fit(struct rdmablk_session *s)
{
	u32 polled = rdmablk_login_polled(s);

	if (s->path.hwq || s->most_queues < s->nr_queues || !polled != !s->path.nr_poll)
		return;
	s->path.nr_poll = polled;
	s->nr_queues = s->login.offer.grant.nr_queues;
	s->most_queues = s->nr_queues;
}

static int rdmablk_login_cmds(struct rdmablk_session *s)
{
	struct rdmablk_wire_limits *cmds = &s->login.offer.cmds;
	struct rdmablk_wire_grant *g = &s->login.offer.grant;
	struct rdmablk_limits_get get;
	int ret;

	if (s->login.challenge.features & RDMABLK_F_COMMANDS) {
		rdmablk_wire_limits_get(&get);
		ret = rdmablk_login_ask(s, &get, sizeof(get), RDMABLK_MSG_LIMITS);
		if (ret)
			return ret;
		ret = rdmablk_wire_parse_limits(s->ctrl.msg, s->ctrl.msg_len, g, cmds);
		if (!ret)
			ret = rdmablk_login_check(s, RDMABLK_LABEL_LIMITS,
						  offsetof(struct rdmablk_limits, mac),
						  cmds->mac);
		if (ret)
			return rdmablk_login_bad(s, ret, "the target sent bad LIMITS");
		if (cmds->cmd_depth <= RDMABLK_CMD_RESERVED)
			return rdmablk_login_fail(s, -EOPNOTSUPP,
						  "the target takes too few commands at once");
	}
	if (cmds->unusable & ~s->agreed.cmds.unusable)
		rdmablk_warn_ratelimited(s, "no %s: the target takes less than its granularity at once\n",
					 cmds->unusable & RDMABLK_OP_BIT(RDMABLK_OP_DISCARD) ?
					 "DISCARD" : "SECURE ERASE");
	if (g->flags & RDMABLK_GRANT_STAGED) {
		rdmablk_login_fit(s);
		rdmablk_login_depth(s);
	}
	if (s->resume)
		g->queue_depth = min_t(u32, g->queue_depth, s->tag_set.queue_depth);
	if (s->resume && rdmablk_login_cmds_shrunk(cmds, &s->promised.cmds))
		return rdmablk_login_refuse(s, -ESTALE, RDMABLK_R_SHRUNK);
	return 0;
}

/*
 * Makes the bitmaps of dirty granules for a disk with a volatile cache. They live as long as
 * the disk, because only the initiator knows which granules are dirty.
 */
static int rdmablk_login_dirty(struct rdmablk_session *s)
{
	const struct rdmablk_wire_grant *g = &s->login.offer.grant;
	struct rdmablk_fence *f = &s->path.fence;
	int ret;

	if (!(g->flags & RDMABLK_GRANT_CACHE) || g->flags & RDMABLK_GRANT_STAGED)
		return 0;
	if (f->has_dirty)
		ret = rdmablk_dirty_grow(&f->dirty, g->size);
	else
		ret = rdmablk_dirty_init(&f->dirty, g->size, s->login.offer.cmds.granule);
	if (ret == -EFBIG)
		return rdmablk_login_fail(s, ret,
					  "the export is too large for the target's granule");
	if (ret)
		return rdmablk_login_fail(s, ret, "out of memory");
	f->has_dirty = true;
	return 0;
}

static int rdmablk_login_regions(struct rdmablk_session *s)
{
	struct rdmablk_regions_get get;
	const struct rdmablk_wire_grant *g = &s->login.offer.grant;
	u8 mac[RDMABLK_MAC_LEN];
	u32 first;
	int ret;

	if (g->nr_regions > s->nr_regions) {
		kvfree_sensitive(s->path.region, s->nr_regions * sizeof(*s->path.region));
		s->nr_regions = 0;
		s->path.region = kvcalloc(g->nr_regions, sizeof(*s->path.region),
					  GFP_KERNEL);
		if (!s->path.region)
			return rdmablk_login_fail(s, -ENOMEM, "out of memory");
		s->nr_regions = g->nr_regions;
	}
	for (first = 0; first < g->nr_regions; first += RDMABLK_REGIONS_PER_MSG) {
		rdmablk_wire_regions_get(&get, first);
		ret = rdmablk_login_ask(s, &get, sizeof(get), RDMABLK_MSG_REGIONS);
		if (ret)
			return ret;
		ret = rdmablk_wire_parse_regions(s->ctrl.msg, s->ctrl.msg_len, g, first,
						 s->path.region, mac);
		if (!ret)
			ret = rdmablk_login_check(s, RDMABLK_LABEL_REGIONS,
						  offsetof(struct rdmablk_regions, mac), mac);
		if (ret)
			return rdmablk_login_bad(s, ret, "the target sent bad REGIONS");
	}
	return 0;
}

static int rdmablk_login_limits(struct rdmablk_session *s)
{
	const struct rdmablk_limits_out *was = &s->promised.limits;
	const struct rdmablk_wire_grant *g = &s->login.offer.grant;
	struct rdmablk_limits_out *now = &s->login.offer.limits;
	struct rdmablk_limits_in in = {
		.queue_depth	= g->queue_depth,
		.max_io		= min_not_zero(s->login.offer.cmds.slot_bytes, g->max_io),
		.logical_block	= g->logical_block,
		.region_bytes	= g->region_bytes ?: U64_MAX,
		.sharers	= rdmablk_login_sharers(s),
		.cqes		= rdmablk_login_tags(s),
		.reserved	= rdmablk_login_owned(s),
		.tail		= rdmablk_login_ordered(s),
		.page_bytes	= PAGE_SIZE,
		.segments	= s->resume ? was->max_segments : 0,
	};

	rdmablk_ibdev_limits(s->pd->device, s->login.offer.port, &in);
	if (rdmablk_limits_compute(&in, now))
		return rdmablk_login_fail(s, -EOPNOTSUPP,
					  "the RDMA device or the target takes no request of a page");
	if (s->resume && (now->max_io_bytes < was->max_io_bytes ||
			  now->max_segments < was->max_segments ||
			  rdmablk_ibdev_max_segment(s->pd->device) < s->path.max_segment))
		return rdmablk_login_refuse(s, -ESTALE, RDMABLK_R_SHRUNK);
	return 0;
}

static int rdmablk_login_path(struct rdmablk_session *s)
{
	const struct rdmablk_wire_grant *g = &s->login.offer.grant;
	struct rdmablk_path *path = &s->path;
	int ret;
	u32 i;

	ret = rdmablk_login_limits(s);
	if (!ret && !path->hwq)
		ret = rdmablk_hwq_alloc(s, rdmablk_session_data_fatal);
	if (ret)
		return ret;
	path->dev = s->pd->device;
	path->lkey = s->pd->local_dma_lkey;
	path->sge_per_wr = s->login.offer.limits.sge_per_wr;
	if (!s->resume)
		path->max_segment = rdmablk_ibdev_max_segment(s->pd->device);
	path->read_only = g->flags & RDMABLK_GRANT_READ_ONLY;
	path->size = g->size;
	path->region_shift = g->nr_regions > 1 ? ilog2(g->region_bytes) : 63;
	path->region_mask = BIT_ULL(path->region_shift) - 1;
	path->cmds = s->login.offer.cmds;
	path->commands = path->cmds.cmd_depth;
	path->staged = g->flags & RDMABLK_GRANT_STAGED;
	path->block_shift = ilog2(g->logical_block);
	path->cache = g->flags & RDMABLK_GRANT_CACHE;
	path->ordered = rdmablk_login_ordered(s);
	path->more = path->cache || path->ordered;
	for (i = 0; i < s->nr_queues; i++) {
		rdmablk_queue_reset(&path->hwq[i]->read);
		rdmablk_queue_reset(&path->hwq[i]->write);
	}
	rdmablk_login_map(s);
	return 0;
}

static int rdmablk_login_ready(struct rdmablk_session *s)
{
	struct rdmablk_ready ready;
	u16 reason, drained;
	u64 resized;
	int ret;

	rdmablk_wire_ready(&ready);
	ret = rdmablk_login_ask(s, &ready, sizeof(ready), RDMABLK_MSG_LIVE);
	if (ret)
		return ret;
	ret = rdmablk_wire_parse_live(s->ctrl.msg, s->ctrl.msg_len);
	if (ret)
		return rdmablk_login_bad(s, ret, "the target sent a bad LIVE");
	s->login.offer.read_depth = s->path.hwq[0]->read.read_depth;
	/* Before the session goes live: an error then stops the keep-alive. */
	rdmablk_keepalive_start(s);
	if (s->path.commands) {
		rdmablk_flush_ahead_start(&s->path,
					  s->login.offer.grant.flags & RDMABLK_GRANT_SHARED);
		rdmablk_fence_start(&s->path.fence);
	}
	if (rdmablk_session_go_live(s, &resized, &drained)) {
		if (resized)
			rdmablk_ctrl_events_resized(s, resized);
		if (drained)
			rdmablk_ctrl_events_drain(s, drained);
		rdmablk_reauth_start(s);
		return 0;
	}
	reason = READ_ONCE(s->login.reason);
	return reason ? rdmablk_login_fail(s, rdmablk_wire_errno(reason),
					   rdmablk_reason_text(reason)) :
			rdmablk_login_fail(s, -ECANCELED, "the connect was given up");
}

static int rdmablk_login_dialogue(struct rdmablk_session *s)
{
	int ret;

	/* Forget an earlier attempt, its reason included. */
	spin_lock_irq(&s->lock);
	memset_startat(&s->login, 0, hello);
	spin_unlock_irq(&s->lock);
	rdmablk_ctrl_reset(&s->ctrl, s->login.version);
	ret = rdmablk_login_control(s);
	if (!ret) {
		rdmablk_login_count(s);
		ret = s->login.version == RDMABLK_VERSION_PROVEN ?
		      rdmablk_login_prove(s) : rdmablk_login_declare(s);
	}
	if (!ret)
		ret = rdmablk_login_grant(s);
	return ret;
}

/* Prepares another attempt after the error @ret. Return: false: it would begin too late. */
static bool rdmablk_login_again(struct rdmablk_session *s, int ret, unsigned long until)
{
	u32 ms = clamp_t(u32, s->ctrl.queue.retry_after_ms, RDMABLK_RETRY_MIN_MS,
			 RDMABLK_RETRY_MAX_MS);

	/* The target has answered a probe, so the request was lost: send it again at once. */
	if (ret == -ERESTART)
		ms = 0;
	else if (READ_ONCE(s->login.reason) != RDMABLK_R_FENCING)
		return false;
	if (rdmablk_cm_left(until) <= msecs_to_jiffies(ms) + 1)
		return false;
	/* Undo this connection. */
	rdmablk_ctrl_stop(&s->ctrl);
	rdmablk_session_destroy_queues(s);
	return !wait_event_idle_timeout(s->waiter.wq, READ_ONCE(s->waiter.cancelled),
					msecs_to_jiffies(ms));
}

/*
 * Prepares another attempt with half of the queues, if this host's or the target's adapter had
 * no room for all. That takes a new login, because the target waits for all queues that it has
 * granted.
 */
static bool rdmablk_login_fewer(struct rdmablk_session *s)
{
	bool theirs = READ_ONCE(s->login.reason) == RDMABLK_R_DEVICE_FULL;
	u32 asked = s->login.offer.nr_hwqs;

	if (!s->login.no_room || asked < 2 || READ_ONCE(s->waiter.cancelled))
		return false;
	rdmablk_warn_ratelimited(s, "%s has no room for %u queues; trying with %u\n",
				 theirs ? "the target's RDMA device" : s->login.offer.ibdev,
				 asked, asked / 2);
	rdmablk_session_stop_data(s);
	rdmablk_ctrl_stop(&s->ctrl);
	rdmablk_session_destroy_queues(s);
	/* The next grant may differ, so undo what was sized for this one. */
	if (!s->resume) {
		rdmablk_disk_free(s);
		rdmablk_fence_exit(&s->path.fence);
		rdmablk_hwq_free(s);
	}
	s->most_queues = asked / 2;
	return true;
}

/* Wipes the keys of the login: the queues have joined, or the login has failed. */
static void rdmablk_login_forget(struct rdmablk_session *s)
{
	memzero_explicit(s->ctrl.msg, sizeof(s->ctrl.msg));
	if (s->login.version == RDMABLK_VERSION_PROVEN)
		rdmablk_auth_forget(&s->auth);
	else
		rdmablk_mac_forget(&s->mac);
}

static int rdmablk_login_disk(struct rdmablk_session *s)
{
	int ret;

	if (s->disk) {
		rdmablk_disk_retime(s);
		return 0;
	}
	ret = rdmablk_disk_alloc(s);
	return ret ? rdmablk_login_fail(s, ret, "cannot allocate the disk") : 0;
}

static int rdmablk_login_once(struct rdmablk_session *s)
{
	unsigned long until;
	int ret;

	rdmablk_login_start_clock(s);
	/* Progress does not prolong the time to fence, or to repeat lost requests. */
	until = s->login.deadline;
	do {
		ret = rdmablk_login_dialogue(s);
	} while (ret && rdmablk_login_again(s, ret, until));
	if (ret == -ERESTART)
		ret = -ETIMEDOUT;
	if (!ret && s->resume)
		ret = rdmablk_login_compare(s);
	if (!ret)
		ret = rdmablk_login_cmds(s);
	if (!ret)
		ret = rdmablk_login_dirty(s);
	if (!ret)
		ret = rdmablk_login_regions(s);
	if (!ret)
		ret = rdmablk_login_path(s);
	if (!ret)
		ret = rdmablk_login_disk(s);
	if (!ret)
		ret = rdmablk_login_queues(s);
	rdmablk_login_forget(s);
	if (!ret)
		ret = rdmablk_login_ready(s);
	return ret;
}

/* Chooses the version: 2 if the disk has a key, else 1. Allocates what its logins need. */
static int rdmablk_login_open(struct rdmablk_session *s)
{
	int ret = 0;

	spin_lock_irq(&s->lock);
	s->login.version = s->opt.key_name[0] ? RDMABLK_VERSION_PROVEN : RDMABLK_VERSION_OPEN;
	spin_unlock_irq(&s->lock);
	if (s->login.version == RDMABLK_VERSION_PROVEN) {
		ret = rdmablk_auth_open(&s->auth);
		if (ret)
			rdmablk_login_fail(s, ret, ret == -ENOENT ?
					   "the kernel lacks an algorithm of logins with a key" :
					   "cannot prepare the cryptography");
	} else if (!s->mac.tfm) {
		ret = rdmablk_mac_open(&s->mac);
		if (ret)
			rdmablk_login_fail(s, ret, ret == -ENOENT ?
					   "the kernel has no hmac(sha256)" :
					   "cannot prepare hmac(sha256)");
	}
	return ret;
}

/**
 * rdmablk_login() - connect and log in
 * @s: connecting or recovering session
 *
 * Context: may sleep, for opt.connect_tmo seconds without progress at most.
 *
 * Return: 0 with a live session; or a negative errno, as RDMABLK_CMD_CONNECT lists
 * them, -ENODATA or -ESTALE, with a text in @s->why.
 */
int rdmablk_login(struct rdmablk_session *s)
{
	int ret = rdmablk_login_open(s);

	if (ret)
		return ret;
	do {
		ret = rdmablk_login_once(s);
	} while (ret && rdmablk_login_fewer(s));
	if (ret)
		return ret;
	/* There may be more room by the next login. */
	s->most_queues = min(2 * s->most_queues, s->nr_queues);
	if (s->login.version == RDMABLK_VERSION_OPEN)
		rdmablk_warn_ratelimited(s, "logged in without a key: any host that answers at this address can read and change the data\n");
	return 0;
}
