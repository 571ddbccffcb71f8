/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session with kernel/login.c, its hardware queues, and a target that answers as the test
 * says. A program that has another target defines OTHER_TARGET.
 */
#ifndef LOGIN_WORLD_H
#define LOGIN_WORLD_H

#include "session_world.h"

#include "messages.h"
#include "../../kernel/login.h"
#include "login_kernel.h"

/* Time passes only here. */
#define wait_event_idle_timeout(wq, condition, left)				\
	((void)(wq), jiffies += (unsigned long)(left), (condition))
#define kfree(p)		free(p)

struct rdma_cm_id {
	struct ib_device *device;
	u32 port_num;
};

#include "fake_crypt.h"

enum { QUEUES = 8, QPN_I = 0x11, QPN_T = 0x22 };

static const unsigned int nr_cpu_ids = QUEUES;
static const struct { const char *nodename; } utsname = { "unit" };
static struct ib_device device = {
	.attrs = { .max_qp = 1 << 16, .max_cq = 1 << 16, .max_cqe = 1 << 16,
		   .max_qp_wr = 1 << 12 },
	.num_comp_vectors = QUEUES,
};

static struct ib_qp qp = { .qp_num = QPN_I };
static struct rdma_cm_id id = { .device = &device, .port_num = 1 };
static struct gendisk *const a_disk = (struct gendisk *)&device;
static struct rdmablk_session *session;
static bool tells;	/* the target sends events during a login */

/*
 * What the target and both adapters are like in one login. sends: elements of a work request of
 * this host; early, late: hardware queues that there is room for, before and after GRANT;
 * staged: the export is staged
 */
static struct world {
	u32 granule, sends, early, late;
	bool staged;
} world[8];

static unsigned int logins;
/*
 * What is wrong with the target's answer @at, enum rdmablk_msg_type, in @times logins: it is
 * changed, its MAC is wrong, or it does not come, and @reason comes in its place
 */
static struct {
	u16 at;
	unsigned int times;
	void (*change)(void *msg);
	const char *label;
	int ret;
	u16 reason;
	bool sealed;	/* the reason is sealed */
	bool cancels;
} fault;

/* Version 2 */
static struct crypt_target target;
static struct {
	int take;		/* result of rdmablk_keys_take() */
	unsigned int opens, seals;
	u16 version;		/* of the control queue */
	bool proof;		/* PROOF has come, and it is right */
} v2;

/* How the kernel around a login answers */
static struct {
	int mac, resolve, check, create, connect, probe, disk;
	u16 refusal;	/* of a connection request */
	bool no_pd, dies, lost;
	u32 segment;
	unsigned long probe_time;	/* jiffies */
} answers;

/* What the kernel and the target have been told */
static struct {
	unsigned int waits, probes, closes, stops, destroys, disks, retimes, resets;
	unsigned int keepalives, reauths, aheads, fences;
	u16 closed, drain;
	u64 resized;
	bool keys, was_live;
	const struct sockaddr *source;
	struct rdmablk_hello hello;
	struct rdmablk_cm_request request;
} seen;

static struct world *now(void)
{
	assert_in_range(logins, 1, ARRAY_SIZE(world));
	return &world[logins - 1];
}

#define num_online_cpus()	QUEUES

static void blk_mq_map_queues(struct blk_mq_queue_map *map)
{
	for (unsigned int i = 0; i < nr_cpu_ids; i++)
		map->mq_map[i] = map->queue_offset + i % map->nr_queues;
}

static struct ib_pd *ib_alloc_pd(struct ib_device *dev, unsigned int flags)
{
	struct ib_pd *pd = answers.no_pd ? NULL : calloc(1, sizeof(*pd));

	assert_int_equal(flags, 0);
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->device = dev;
	pd->local_dma_lkey = 0x77;
	return pd;
}

static bool proven(void)
{
	return session->login.version == RDMABLK_VERSION_PROVEN;
}

/*
 * The target
 */

#ifndef OTHER_TARGET
static struct rdmablk_crypt_cipher *our_rx;
static u32 asked[ARRAY_SIZE(world)];

static int answer(struct rdmablk_ctrl *ctrl, void (*build)(void *msg), size_t len)
{
	build(ctrl->msg);
	ctrl->msg_len = (u16)len;
	return 0;
}

static int challenge(struct rdmablk_ctrl *ctrl, const struct rdmablk_hello2 *hello)
{
	struct rdmablk_challenge2 *ch = (struct rdmablk_challenge2 *)ctrl->msg;

	if (!proven())
		return answer(ctrl, msg_challenge, sizeof(struct rdmablk_challenge));
	answer(ctrl, msg_challenge2, sizeof(*ch));
	crypt_target_end(&target);
	crypt_target_hello(&target, QPN_I, QPN_T, hello, sizeof(*hello), hello->point, ch->point);
	crypt_target_challenge(&target, ch, sizeof(*ch));
	return 0;
}

/* In version 2 the message ends before the MAC. */
static void cut(struct rdmablk_ctrl *ctrl, size_t len)
{
	if (!proven())
		return;
	((struct rdmablk_hdr *)ctrl->msg)->length = cpu_to_le16((u16)len);
	ctrl->msg_len = (u16)len;
}

static int grant(struct rdmablk_ctrl *ctrl)
{
	struct rdmablk_grant *g = (struct rdmablk_grant *)ctrl->msg;

	if (asked[logins - 1] > now()->early) {
		session->login.reason = RDMABLK_R_DEVICE_FULL;
		return -ECONNRESET;
	}
	answer(ctrl, msg_grant, sizeof(*g));
	g->nr_queues = cpu_to_le16(asked[logins - 1]);
	g->flags = cpu_to_le32(RDMABLK_GRANT_CACHE);
	if (now()->staged) {
		g->flags |= cpu_to_le32(RDMABLK_GRANT_STAGED);
		g->region_bytes = 0;
		g->nr_regions = 0;
	}
	cut(ctrl, MSG_GRANT2);
	return 0;
}

static int limits(struct rdmablk_ctrl *ctrl)
{
	struct rdmablk_limits *l = (struct rdmablk_limits *)ctrl->msg;

	answer(ctrl, now()->staged ? msg_staged_limits : msg_limits, sizeof(*l));
	if (!now()->staged)
		l->granule = cpu_to_le32(now()->granule);
	cut(ctrl, MSG_LIMITS2);
	return 0;
}

static int reply_to(struct rdmablk_ctrl *ctrl, const void *msg, u16 reply)
{
	const struct rdmablk_regions_get *get = msg;
	const struct rdmablk_proof *proof = msg;

	switch (reply) {
	case RDMABLK_MSG_CHALLENGE:
		logins++;
		now();
		seen.hello = *(const struct rdmablk_hello *)msg;
		asked[logins - 1] = le16_to_cpu(((const struct rdmablk_hello *)msg)->nr_queues);
		return challenge(ctrl, msg);
	case RDMABLK_MSG_GRANT:
		if (proven()) {
			/* The answer may be sealed, but PROOF is not. */
			assert_int_equal(v2.opens, v2.seals + 1);
			v2.proof = !crypt_target_proof(&target, proof->mac);
			assert_true(v2.proof);
			seen.keys = true;
		}
		return grant(ctrl);
	case RDMABLK_MSG_LIMITS:
		return limits(ctrl);
	case RDMABLK_MSG_REGIONS:
		answer(ctrl, le32_to_cpu(get->first) ? msg_last_regions : msg_regions,
		       sizeof(struct rdmablk_regions));
		cut(ctrl, MSG_REGIONS2);
		return 0;
	default:
		/*
		 * The keys and the addresses of regions are not needed any more, and have been
		 * wiped.
		 */
		assert_false(seen.keys);
		assert_false(crypt_is_secret(ctrl->msg, sizeof(ctrl->msg)));
		return answer(ctrl, msg_live, sizeof(struct rdmablk_live));
	}
}

int rdmablk_ctrl_ask(struct rdmablk_ctrl *ctrl, const void *msg, size_t len, u16 reply,
		     unsigned long deadline)
{
	int ret = reply_to(ctrl, msg, reply);

	(void)len;
	assert_int_equal(deadline, session->login.deadline);
	/* No answer is expected on a connection that has failed. */
	assert_int_equal(ret ? 0 : session->login.reason, 0);
	if (reply != fault.at || !fault.times)
		return ret;
	fault.times--;
	if (fault.change)
		fault.change(ctrl->msg);
	if (fault.reason)
		session->login.reason = fault.reason;
	if (fault.sealed)
		session->login.trusted = fault.reason;
	session->waiter.cancelled |= fault.cancels;
	return fault.ret;
}

/* Each queue pair of this host joins, if there is room for it. */
int rdmablk_login_queues(struct rdmablk_session *s)
{
	assert_true(s->disk && (s->path.region || s->path.staged) && seen.keys);
	if (proven())
		assert_memory_equal(s->auth.secret.keys.join, target.keys.join,
				    sizeof(target.keys.join));
	if (answers.dies)
		s->login.reason = RDMABLK_R_CONNECTION;
	for (u32 i = 0; i < s->nr_queues; i++)
		s->path.hwq[i]->read.read_depth = 9;
	if (s->path.nr_hwqs <= now()->late)
		return 0;
	s->login.no_room = true;
	return rdmablk_login_fail(s, -ENOMEM, "no room");
}

void rdmablk_ctrl_open(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	(void)ctrl;
	/* The target derives the same key only from PROOF, so the keys cannot be compared yet. */
	assert_true(crypt_is_secret(cipher->key, sizeof(cipher->key)));
	our_rx = cipher;
	v2.opens++;
}

void rdmablk_ctrl_seal(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	(void)ctrl;
	assert_memory_equal(cipher->key, target.keys.i2t, sizeof(cipher->key));
	assert_memory_equal(our_rx->key, target.keys.t2i, sizeof(cipher->key));
	v2.seals++;
}

void rdmablk_ctrl_close(struct rdmablk_ctrl *ctrl, u16 reason)
{
	(void)ctrl;
	seen.closes++;
	seen.closed = reason;
}

int rdmablk_cm_wait(struct rdmablk_queue *q, unsigned long deadline)
{
	(void)deadline;
	seen.waits++;
	q->cm_reason = answers.refusal;
	/* The receives of a refused queue pair may have failed before. */
	if (q->cm_reason)
		session->login.reason = RDMABLK_R_CONNECTION;
	q->why = "the target refuses";
	return answers.connect;
}
#endif /* OTHER_TARGET */

void rdmablk_login_map(struct rdmablk_session *s)
{
	for (u32 i = 0; i < s->nr_queues; i++)
		s->path.map[i] = s->path.hwq[i % s->login.offer.grant.nr_queues];
	s->path.nr_hwqs = s->login.offer.grant.nr_queues;
	s->login.offer.nr_hwqs = s->path.nr_hwqs;
}

bool rdmablk_session_go_live(struct rdmablk_session *s, u64 *resized, u16 *drained)
{
	/* An error that follows must find all that it has to undo. */
	assert_int_equal(seen.keepalives, 1);
	assert_int_equal(seen.fences, s->path.commands);
	assert_int_equal(seen.aheads, s->path.commands);
	if (answers.lost)
		return false;
	*resized = s->login.resized;
	*drained = s->login.drained;
	seen.was_live = true;
	if (!s->resume)
		s->promised = s->login.offer;
	s->agreed = s->login.offer;
	s->resume = true;
	return true;
}

void rdmablk_session_destroy_queues(struct rdmablk_session *s)
{
	seen.destroys++;
	rdmablk_auth_end(&s->auth);
	free(s->pd);
	s->pd = NULL;
}

int rdmablk_disk_alloc(struct rdmablk_session *s)
{
	assert_null(s->disk);
	if (answers.disk)
		return answers.disk;
	seen.disks++;
	s->disk = a_disk;
	s->tag_set.queue_depth = s->login.offer.grant.queue_depth;
	return 0;
}

void rdmablk_disk_retime(struct rdmablk_session *s)
{
	assert_non_null(s->disk);
	seen.retimes++;
}

void rdmablk_disk_free(struct rdmablk_session *s)
{
	s->disk = NULL;
}

void rdmablk_ibdev_limits(struct ib_device *dev, u32 port, struct rdmablk_limits_in *in)
{
	(void)port;
	in->max_send_sge = now()->sends;
	in->max_sge_rd = now()->sends;
	in->max_qp_wr = dev->attrs.max_qp_wr;
	in->max_cqe = dev->attrs.max_cqe;
	in->max_msg_size = 1U << 30;
}

u8 rdmablk_boot_nonce[RDMABLK_ID_LEN];

void rdmablk_fence_exit(struct rdmablk_fence *f)
{
	if (f->has_dirty)
		rdmablk_dirty_exit(&f->dirty);
	f->has_dirty = false;
}

/* Functions of the module that do little here */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int rdmablk_keys_take(struct rdmablk_session *s, u8 *secret)
{
	assert_ptr_equal(s, session);
	if (!v2.take)
		memcpy(secret, target.key, sizeof(target.key));
	return v2.take;
}

const char *rdmablk_keys_text(int err)
{
	assert_int_equal(err, v2.take);
	return "no key can be used";
}

void rdmablk_ctrl_reset(struct rdmablk_ctrl *ctrl, u16 version)
{
	v2.version = version;
	/* From now on the target may announce a new size, or its end. */
	assert_int_equal(session->login.resized, 0);
	assert_false(session->login.drained || session->login.leaving);
	if (tells) {
		session->login.resized = 2 * MSG_SIZE;
		session->login.drained = RDMABLK_R_SHUTDOWN;
	}
}

void rdmablk_ctrl_stop(struct rdmablk_ctrl *ctrl)
{
	seen.stops++;
}

void rdmablk_mac_forget(struct rdmablk_mac *a)
{
	seen.keys = false;
}

void rdmablk_cmdq_free(struct rdmablk_cmdq *cmdq)
{
}

void rdmablk_poll_init(struct rdmablk_hwq *hwq)
{
}

void rdmablk_queue_init(struct rdmablk_queue *q, u16 nr, u8 kind,
			const struct rdmablk_queue_owner *owner)
{
}

void rdmablk_queue_reset(struct rdmablk_queue *q)
{
	seen.resets++;
}

void rdmablk_session_stop_data(struct rdmablk_session *s)
{
}

void rdmablk_session_data_fatal(struct rdmablk_queue *q, u16 reason)
{
}

void rdmablk_ctrl_events_resized(struct rdmablk_session *s, u64 bytes)
{
	assert_true(seen.was_live);
	seen.resized = bytes;
}

void rdmablk_ctrl_events_drain(struct rdmablk_session *s, u16 reason)
{
	assert_true(seen.was_live);
	seen.drain = reason;
}

void rdmablk_reauth_start(struct rdmablk_session *s)
{
	assert_true(seen.was_live);
	seen.reauths++;
}

void rdmablk_keepalive_start(struct rdmablk_session *s)
{
	seen.keepalives++;
}

void rdmablk_flush_ahead_start(struct rdmablk_path *path, bool shared)
{
	seen.aheads++;
}

void rdmablk_fence_start(struct rdmablk_fence *f)
{
	seen.fences++;
}

int rdmablk_ctrl_create(struct rdmablk_ctrl *ctrl, struct ib_pd *pd)
{
	return answers.create;
}

int rdmablk_cm_resolve(struct rdmablk_queue *q, struct sockaddr *dst, struct sockaddr *src,
		       const struct rdmablk_cm_route *route, unsigned long deadline)
{
	seen.source = src;
	q->why = "no route to host";
	return answers.resolve;
}

u8 rdmablk_cm_ack_timeout(const struct rdmablk_queue *q,
			  const struct rdmablk_cm_route *route)
{
	return 14;
}

u8 rdmablk_cm_longest_ack(const struct rdmablk_queue *q,
			  const struct rdmablk_cm_route *route)
{
	return 14;
}

int rdmablk_cm_start_connect(struct rdmablk_queue *q, const struct rdmablk_cm_request *req,
			     u8 read_depth)
{
	seen.request = *req;
	return 0;
}

long rdmablk_cm_left(unsigned long deadline)
{
	return time_before(jiffies, deadline) ? (long)(deadline - jiffies) : 1;
}

int rdmablk_probe_wait(struct rdmablk_session *s, const struct rdmablk_cm_request *req,
		       unsigned long deadline)
{
	int ret = answers.probe;

	jiffies += answers.probe_time;
	/* The target is back: the second request gets through. */
	if (++seen.probes == 2)
		answers.probe = 0;
	return ret;
}

int rdmablk_ibdev_check(struct ib_device *dev, u32 port, const char **why)
{
	*why = "iWARP devices are not supported";
	return answers.check;
}

u32 rdmablk_ibdev_max_segment(struct ib_device *dev)
{
	return answers.segment;
}

int rdmablk_mac_open(struct rdmablk_mac *a)
{
	return answers.mac;
}

int rdmablk_mac_proof(struct rdmablk_mac *a, const struct rdmablk_hello *hello,
		      const void *challenge, u8 *mac)
{
	return 0;
}

int rdmablk_mac_session(struct rdmablk_mac *a, const struct rdmablk_hello *hello,
			const struct rdmablk_wire_challenge *ch)
{
	seen.keys = true;
	return 0;
}

int rdmablk_mac_check(struct rdmablk_mac *a, const char *label, const void *msg, size_t len,
		      const u8 *mac)
{
	assert_true(seen.keys);
	/* Version 2 has no such MACs. */
	assert_false(proven());
	return fault.label && !strcmp(label, fault.label) ? -EACCES : 0;
}

u32 rdmablk_login_tags(const struct rdmablk_session *s)
{
	return 16;
}

u32 rdmablk_login_polled(const struct rdmablk_session *s)
{
	return 0;
}

bool rdmablk_login_ordered(const struct rdmablk_session *s)
{
	return false;
}

u32 rdmablk_login_sharers(const struct rdmablk_session *s)
{
	return QUEUES;
}

u32 rdmablk_login_owned(const struct rdmablk_session *s)
{
	return 16;
}

/* The kernel is built without these warnings. */
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../kernel/auth.c"
/* Both versions forget their keys here. */
#define rdmablk_auth_forget(a)	(rdmablk_auth_forget(a), seen.keys = false)
#include "../../kernel/hwq.c"
#include "../../kernel/login_step.c"
#include "../../kernel/login.c"
#pragma GCC diagnostic warning "-Wunused-parameter"
#pragma GCC diagnostic warning "-Wsign-compare"

static int setup(void **state)
{
	static struct rdmablk_session s;

	(void)state;
	s = (struct rdmablk_session){
		.opt = { .queues = QUEUES, .queue_depth = 64, .keep_alive_tmo = 5,
			 .connect_tmo = 10, .reconnect_delay = 2, .export_name = "disk0" },
		.ctrl.queue = { .cm_id = &id, .version = 1, .waiter = &s.waiter, .qp = &qp,
				.peer_qpn = QPN_T },
	};
	crypt_begin();
	memset(&target, 0, sizeof(target));
	memset(target.key, 0x4b, sizeof(target.key));
	memset(&v2, 0, sizeof(v2));
	session = &s;
	for (size_t i = 0; i < ARRAY_SIZE(world); i++)
		world[i] = (struct world){ 4096, 16, QUEUES, QUEUES, false };
	logins = 0;
	tells = false;
	jiffies = 1000;
	memset(&fault, 0, sizeof(fault));
	memset(&seen, 0, sizeof(seen));
	memset(&answers, 0, sizeof(answers));
	answers.segment = 1U << 20;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	/* This line tells of a refusal that is final. */
	log_is_limited("the store has lost its contents (epoch");
	rdmablk_fence_exit(&session->path.fence);
	rdmablk_hwq_free(session);
	free(session->path.region);
	free(session->pd);
	rdmablk_auth_close(&session->auth);
	crypt_target_end(&target);
	crypt_end();
	return 0;
}

/* As recovery.c does it after the connection was lost */
static inline int again(void)
{
	rdmablk_session_destroy_queues(session);
	session->login.reason = 0;
	memset(&seen, 0, sizeof(seen));
	return rdmablk_login(session);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* LOGIN_WORLD_H */
