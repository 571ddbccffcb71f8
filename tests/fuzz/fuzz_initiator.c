// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target against the module's login, its control queue and its reauthentication. The
 * input is a script of what the target and others on its network do, four bytes a step. The
 * harness has the key, so it can seal the script's messages. The script changes messages
 * before or after sealing, repeats and loses them, accepts queues as a stranger, and
 * closes. A model knows which messages only the target can have sent. The module may
 * believe no other messages, and may keep no key longer than it needs it. A script that
 * begins with OPEN is one of version 1, in which the module believes every sender.
 */
#include "initiator_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPEN		0xff	/* first byte of a script for a disk without a key */
#define LOGINS		3	/* at most, for one input */

/**
 * struct frame - a message on its way to the module
 * @len: bytes of @bytes
 * @seq: its number; @epoch: epoch of its keys
 * @sealed: the target has sealed it with the keys of the session
 * @intact: the bytes have not been changed since
 * @bytes: the bytes as sent
 * @plain: the contents before sealing
 */
struct frame {
	size_t len;
	u64 seq;
	u32 epoch;
	bool sealed, intact;
	u8 bytes[RDMABLK_CTRL_MSG_MAX] __aligned(8);
	u8 plain[RDMABLK_CTRL_MSG_MAX] __aligned(8);
};

#include "script_target.h"

/*
 * The target. tx, rx: its ends of the control queue; expected: the message that the module
 * waits for; first: first region that the module asks for; honest: that many next answers
 * are right, whatever the script says; staged: its export is staged
 */
static struct {
	struct crypt_target end;
	struct rdmablk_sealed tx, rx;
	void *next_tx, *next_rx;	/* of the next epoch */
	u16 expected;
	struct rdmablk_hello2 hello;
	struct rdmablk_reauth reauth;
	u32 first, generation;
	u16 tag;
	unsigned int honest;
	bool staged;
	struct frame saved[SAVED];
	unsigned int nr_saved;
} target;

/*
 * The model. challenged: the module has got the target's point; opens: the module has the
 * keys; epoch, seq: of the next frame that it may accept; announced: the next epoch may
 * begin; granted: GRANT was such a frame; closed: reason of a CLOSE that was such a frame;
 * told: events that were such frames, a bit each; right: queues that the target itself has
 * accepted. Over all connections: errors, logins: their numbers; full: how often such a
 * CLOSE, or the adapter of this host, reported no room for queues; fences: a GRANT or a
 * CLOSE was such a frame since the session was live; said: reason of the last such CLOSE
 * since the last HELLO; word: the same of a live session
 */
static struct {
	bool challenged, opens, announced, granted, live;
	u32 epoch;
	u64 seq;
	u16 closed;
	u32 told;
	bool right[2 * RDMABLK_MAX_QUEUES + 2];
	unsigned int errors, logins, full;
	bool fences;
	u16 said, word;
} model;

static const u8 key[2][RDMABLK_KEYSCHED_LEN] = {
	{ 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 1, 2, 3, 4, 5, 6, 7,
	  8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23 },
	{ 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 1, 2, 3, 4, 5, 6, 7,
	  8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24 },
};

static unsigned int loaded;	/* of key */
static int take_ret;

static bool has(const void *data, size_t len, const void *what)
{
	const u8 *p = data;

	for (size_t i = 0; i + RDMABLK_KEYSCHED_LEN <= len; i++)
		if (!memcmp(p + i, what, RDMABLK_KEYSCHED_LEN))
			return true;
	return false;
}

static bool is_secret(const void *data, size_t len)
{
	const struct rdmablk_keysched_keys *k = &target.end.keys;

	if (has(data, len, key[0]) || has(data, len, key[1]))
		return true;
	return crypt_is_secret(k->i2t, sizeof(k->i2t)) &&
	       (has(data, len, k->i2t) || has(data, len, k->t2i) || has(data, len, k->join));
}

int rdmablk_keys_take(struct rdmablk_session *s, u8 *secret)
{
	assert_ptr_equal(s, session);
	if (!take_ret)
		memcpy(secret, key[loaded], sizeof(key[loaded]));
	return take_ret;
}

const char *rdmablk_keys_text(int err)
{
	(void)err;
	return "no key";
}

static void failed(u16 reason)
{
	(void)reason;
	model.errors++;
}

static void short_of_room(void)
{
	model.full++;
}

/* GRANT and the accept of each queue were the target's, and it has not closed since. */
static void went_live(void)
{
	const struct rdmablk_wire_grant *g = &session->login.offer.grant;

	assert_int_equal(session->login.offer.proven, !open_world);
	assert_true(model.granted || open_world);
	assert_true(!model.closed || open_world);
	for (u32 i = 1; i <= 2U * g->nr_queues && !open_world; i++)
		assert_true(model.right[i]);
	assert_in_range(g->nr_queues, 1, le16_to_cpu(target.hello.hello.nr_queues));
	assert_in_range(g->queue_depth, 1, le16_to_cpu(target.hello.hello.queue_depth));
	assert_in_range(g->nr_regions, 0, RDMABLK_MAX_REGIONS);
	assert_true(rdmablk_wire_times_ok(g, 5000));
	assert_in_range(session->login.offer.limits.max_io_bytes, PAGE_SIZE, 1U << 30);
	assert_false(session->opt.read_only && !(g->flags & RDMABLK_GRANT_READ_ONLY));
	model.live = true;
	model.fences = false;
}

/*
 * What the module sends
 */

static void open_hello_comes(const void *msg, size_t len)
{
	assert_int_equal(len, sizeof(target.hello.hello));
	memcpy(&target.hello, msg, len);
	assert_int_equal(le16_to_cpu(target.hello.hello.version_max), RDMABLK_VERSION_OPEN);
	assert_int_equal(le32_to_cpu(target.hello.hello.auth_methods), RDMABLK_AUTH_NONE);
	target.expected = RDMABLK_MSG_CHALLENGE;
}

static void hello_comes(const void *msg, size_t len)
{
	u8 id[RDMABLK_KEY_ID_LEN];

	if (open_world) {
		open_hello_comes(msg, len);
		return;
	}
	assert_int_equal(len, sizeof(target.hello));
	memcpy(&target.hello, msg, len);
	memcpy(target.end.key, key[loaded], sizeof(target.end.key));
	assert_int_equal(le16_to_cpu(target.hello.hello.version_min), RDMABLK_VERSION_PROVEN);
	assert_int_equal(le32_to_cpu(target.hello.hello.auth_methods), RDMABLK_AUTH_PSK);
	assert_int_equal(rdmablk_keysched_id(&crypto_keysched, key[loaded], id), 0);
	assert_memory_equal(id, target.hello.key_id, sizeof(id));
	target.expected = RDMABLK_MSG_CHALLENGE;
	model.said = 0;
}

static void end_ciphers(struct rdmablk_sealed *s)
{
	crypto_cipher_free(s->key);
	crypto_cipher_free(s->next);
	*s = (struct rdmablk_sealed) { };
}

static void proof_comes(const void *msg, size_t len)
{
	const struct rdmablk_proof *proof = msg;

	assert_int_equal(len, sizeof(*proof));
	target.expected = RDMABLK_MSG_GRANT;
	if (open_world)
		return;
	/* PROOF must be right: both ends have the key, and the same messages. */
	assert_int_equal(crypt_target_proof(&target.end, proof->mac), 0);
	rdmablk_sealed_init(&target.tx, &crypto_sealed,
			    crypto_cipher(target.end.keys.t2i, true));
	rdmablk_sealed_init(&target.rx, &crypto_sealed,
			    crypto_cipher(target.end.keys.i2t, false));
	model.opens = true;
}

static void reauth_proof_comes(const struct rdmablk_reauth_proof *proof)
{
	assert_int_equal(crypt_target_proof(&target.end, proof->mac), 0);
	crypto_cipher_free(target.next_tx);
	target.next_tx = crypto_cipher(target.end.keys.t2i, true);
	crypto_cipher_free(target.next_rx);
	target.next_rx = crypto_cipher(target.end.keys.i2t, false);
	model.announced = true;
	target.expected = RDMABLK_MSG_REAUTH_DONE;
}

static void sealed_comes(const u8 *msg, size_t len)
{
	struct rdmablk_hdr hdr;

	memcpy(&hdr, msg, sizeof(hdr));
	assert_int_equal(le16_to_cpu(hdr.length), len);
	switch (le16_to_cpu(hdr.type)) {
	case RDMABLK_MSG_LIMITS_GET:
		target.expected = RDMABLK_MSG_LIMITS;
		break;
	case RDMABLK_MSG_REGIONS_GET:
		target.expected = RDMABLK_MSG_REGIONS;
		target.first = le32_to_cpu(((const struct rdmablk_regions_get *)msg)->first);
		break;
	case RDMABLK_MSG_READY:
		target.expected = RDMABLK_MSG_LIVE;
		break;
	case RDMABLK_MSG_COMMAND:
		target.expected = RDMABLK_MSG_ANSWER;
		target.tag = le16_to_cpu(hdr.tag);
		target.generation = le32_to_cpu(hdr.generation);
		break;
	case RDMABLK_MSG_REAUTH:
		memcpy(target.end.key, key[loaded], sizeof(target.end.key));
		assert_int_equal(len, sizeof(target.reauth));
		memcpy(&target.reauth, msg, sizeof(target.reauth));
		target.expected = RDMABLK_MSG_REAUTH_CHALLENGE;
		break;
	case RDMABLK_MSG_REAUTH_PROOF:
		reauth_proof_comes((const void *)msg);
		break;
	case RDMABLK_MSG_CLOSE:
		break;
	default:
		fail();
	}
}

/* After PROOF every message must be sealed, unless the two sides have different keys. */
static void target_got(const void *msg, size_t len)
{
	u8 plain[RDMABLK_CTRL_MSG_MAX] __aligned(8);
	struct rdmablk_hdr hdr;
	void *old = target.rx.key;
	int ret;

	memcpy(&hdr, msg, sizeof(hdr));
	switch (le16_to_cpu(hdr.type)) {
	case RDMABLK_MSG_HELLO:
		assert_false(model.opens);
		hello_comes(msg, len);
		return;
	case RDMABLK_MSG_PROOF:
		assert_false(model.opens);
		proof_comes(msg, len);
		return;
	case RDMABLK_MSG_CLOSE:
		assert_false(model.granted && !open_world);
		return;
	}
	if (open_world) {
		sealed_comes(msg, len);
		return;
	}
	assert_int_equal(le16_to_cpu(hdr.type), RDMABLK_MSG_SEALED);
	assert_true(model.opens);
	ret = rdmablk_sealed_open(&target.rx, msg, len, plain, sizeof(plain));
	assert_true(ret > 0 || !model.challenged);
	if (target.rx.key != old)
		crypto_cipher_free(old);
	if (ret > 0)
		sealed_comes(plain, (size_t)ret);
}

static void target_asked(struct rdmablk_queue *q, const struct rdmablk_cm_request *req)
{
	if (q == &session->ctrl.queue) {
		q->peer_qpn = QPN_T;
		return;
	}
	if (open_world)
		return;
	assert_true(model.granted);
	assert_int_equal(rdmablk_keysched_check_join(&crypto_keysched, target.end.keys.join, req,
						     q->qp->qp_num, req->mac), 0);
}

/*
 * Messages of the target, and of others
 */

static bool is_next(const struct frame *f)
{
	return f->sealed && f->intact && f->seq == model.seq && model.challenged &&
	       (f->epoch == model.epoch || (model.announced && f->epoch == model.epoch + 1));
}

/* The module may accept this frame, because only the target can have sent it. */
static void takes(const struct frame *f)
{
	const struct rdmablk_close *c = (const void *)f->plain;
	const struct rdmablk_event_msg *ev = (const void *)f->plain;

	model.seq++;
	if (f->epoch != model.epoch) {
		model.epoch = f->epoch;
		model.announced = false;
	}
	switch (le16_to_cpu(c->hdr.type)) {
	case RDMABLK_MSG_GRANT:
		model.granted = true;
		model.fences = true;
		break;
	case RDMABLK_MSG_CLOSE:
		model.closed = le16_to_cpu(c->reason);
		model.said = model.closed;
		model.full += model.closed == RDMABLK_R_DEVICE_FULL;
		model.word = model.live ? model.closed : model.word;
		model.fences = true;
		break;
	case RDMABLK_MSG_EVENT:
		model.told |= 1U << (le16_to_cpu(ev->event) & 31);
		break;
	}
}

static void arrives(const struct frame *f)
{
	const struct rdmablk_session *s = session;
	const struct rdmablk_login_state was = s->login;
	const struct rdmablk_outage out = s->outage;
	unsigned int errors = model.errors;
	bool next = is_next(f), opens = model.opens;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .byte_len = (u32)f->len };
	u16 len = s->ctrl.msg_len;

	wc.wr_cqe = take_receive();
	if (!wc.wr_cqe)
		return;
	memcpy(container_of(wc.wr_cqe, struct rdmablk_ctrl_buf, cqe)->data, f->bytes, f->len);
	if (next && opens)
		takes(f);
	wc.wr_cqe->done(&cq, &wc);
	if (next || !opens)
		return;
	/* Any other message must end the session, and have no other effect. */
	assert_int_equal(model.errors, errors + 1);
	assert_int_equal(s->login.trusted, was.trusted);
	assert_int_equal(s->outage.trusted, out.trusted);
	assert_int_equal(s->outage.fenced, out.fenced);
	assert_int_equal(s->login.resized, was.resized);
	assert_int_equal(s->login.drained, was.drained);
	assert_int_equal(s->login.key_ends, was.key_ends);
	assert_int_equal(s->ctrl.msg_len, len);
}

static void say_sealed(const void *msg, size_t len, bool lost)
{
	struct frame *f = &target.saved[target.nr_saved % SAVED], sent;
	int ret;

	if (!target.tx.key) {
		say(msg, len);
		return;
	}
	*f = (struct frame) { .sealed = true, .intact = true, .seq = target.tx.seq,
			      .epoch = target.tx.epoch };
	memcpy(f->plain, msg, len);
	change_before(f->plain, len);
	ret = rdmablk_sealed_seal(&target.tx, f->plain, len, f->bytes, sizeof(f->bytes));
	assert_true(ret > 0);
	f->len = (size_t)ret;
	target.nr_saved++;
	sent = *f;
	change_after(&sent);
	if (!lost)
		arrives(&sent);
}

static void say_challenge(void)
{
	struct rdmablk_challenge2 ch, was;
	struct frame f = { .len = sizeof(ch), .intact = true };

	if (open_world) {
		msg_challenge(&ch);
		ch.challenge.features = cpu_to_le64(RDMABLK_FEATURES_V1);
		say(&ch, sizeof(ch.challenge));
		return;
	}
	msg_challenge2(&ch);
	ch.challenge.features = cpu_to_le64(RDMABLK_FEATURES_V1);
	if (target.expected == RDMABLK_MSG_CHALLENGE) {
		crypt_target_end(&target.end);
		crypt_target_hello(&target.end, session->ctrl.queue.qp->qp_num, QPN_T,
				   &target.hello, sizeof(target.hello), target.hello.point,
				   ch.point);
	}
	was = ch;
	change_before((u8 *)&ch, sizeof(ch));
	if (target.expected == RDMABLK_MSG_CHALLENGE) {
		/*
		 * Both sides hash CHALLENGE as the module gets it, so only a changed point
		 * changes the keys.
		 */
		model.challenged = !memcmp(was.point, ch.point, sizeof(ch.point));
		crypt_target_challenge(&target.end, &ch, sizeof(ch));
		target.expected = RDMABLK_MSG_PROOF;
	}
	memcpy(f.bytes, &ch, sizeof(ch));
	change.after = false;
	change.longer = 0;
	arrives(&f);
}

static void say_reauth_challenge(void)
{
	struct rdmablk_reauth_challenge ch;

	msg_reauth_challenge(&ch);
	if (target.expected == RDMABLK_MSG_REAUTH_CHALLENGE) {
		crypt_target_end(&target.end);
		crypt_target_reauth(&target.end, &target.reauth, sizeof(target.reauth),
				    target.reauth.point, ch.point);
		crypt_target_challenge(&target.end, &ch, sizeof(ch));
		target.expected = RDMABLK_MSG_REAUTH_PROOF;
	}
	/* A sealed message is the target's, so it is not changed before sealing. */
	change.before = false;
	say_sealed(&ch, sizeof(ch), false);
}

static void say_done(void)
{
	const struct rdmablk_hdr done = {
		.type = cpu_to_le16(RDMABLK_MSG_REAUTH_DONE),
		.length = cpu_to_le16(sizeof(done)),
	};
	void *old = target.tx.key;

	if (target.next_tx && !rdmablk_sealed_rekey(&target.tx, target.next_tx)) {
		target.next_tx = NULL;
		crypto_cipher_free(old);
		if (target.next_rx && !rdmablk_sealed_prepare(&target.rx, target.next_rx))
			target.next_rx = NULL;
	}
	say_sealed(&done, sizeof(done), false);
}

static u8 epoch;	/* changes the epoch of GRANT; 0: the same epoch */

static void grant(struct rdmablk_grant *g)
{
	if (open_world)
		msg_grant(g);
	else
		msg_grant2(g);
	g->nr_queues = target.hello.hello.nr_queues;
	g->epoch[0] ^= epoch;
	g->flags = cpu_to_le32(RDMABLK_GRANT_CACHE);
	if (target.staged) {
		g->flags |= cpu_to_le32(RDMABLK_GRANT_STAGED);
		g->region_bytes = 0;
		g->nr_regions = 0;
	}
	if (target.hello.hello.flags & cpu_to_le32(RDMABLK_HELLO_READ_ONLY))
		g->flags |= cpu_to_le32(RDMABLK_GRANT_READ_ONLY);
}

static void limits(void *msg)
{
	if (target.staged)
		(open_world ? msg_staged_limits : msg_staged_limits2)(msg);
	else
		(open_world ? msg_limits : msg_limits2)(msg);
}

/* The message that the module waits for, or another one. @how: 1: lost, 2: not sealed */
static void answer(u16 type, unsigned int how)
{
	u8 msg[RDMABLK_CTRL_MSG_MAX] __aligned(8) = { };
	struct rdmablk_answer *a = (void *)msg;
	size_t len = sizeof(struct rdmablk_hdr);

	switch (type) {
	case RDMABLK_MSG_CHALLENGE:
		say_challenge();
		return;
	case RDMABLK_MSG_REAUTH_CHALLENGE:
		say_reauth_challenge();
		return;
	case RDMABLK_MSG_REAUTH_DONE:
		say_done();
		return;
	case RDMABLK_MSG_GRANT:
		grant((void *)msg);
		len = open_world ? sizeof(struct rdmablk_grant) : MSG_GRANT2;
		break;
	case RDMABLK_MSG_LIMITS:
		limits(msg);
		len = open_world ? sizeof(struct rdmablk_limits) : MSG_LIMITS2;
		break;
	case RDMABLK_MSG_REGIONS:
		if (target.first)
			(open_world ? msg_last_regions : msg_last_regions2)(msg);
		else
			(open_world ? msg_regions : msg_regions2)(msg);
		len = open_world ? sizeof(struct rdmablk_regions) : MSG_REGIONS2;
		break;
	case RDMABLK_MSG_ANSWER:
		msg_answer(msg);
		a->hdr.tag = cpu_to_le16(target.tag);
		a->hdr.generation = cpu_to_le32(target.generation);
		len = sizeof(*a);
		break;
	default:
		*(struct rdmablk_hdr *)msg = msg_hdr(type, len);
		break;
	}
	if (how & 2)
		say(msg, len);
	else
		say_sealed(msg, len, how & 1);
}

static void say_event(unsigned int event, u64 value)
{
	struct rdmablk_event_msg ev = {
		.hdr = msg_hdr(RDMABLK_MSG_EVENT, sizeof(ev)),
		.event = cpu_to_le16((u16)event),
		.value = cpu_to_le64(value),
	};

	say_sealed(&ev, sizeof(ev), false);
}

static void say_close(unsigned int how, u16 reason)
{
	struct rdmablk_close c;

	msg_close(&c);
	c.reason = cpu_to_le16(reason);
	c.version_min = cpu_to_le16(open_world ? 1 : 2);
	c.version_max = c.version_min;
	if (how & 1)
		say(&c, sizeof(c));
	else
		say_sealed(&c, sizeof(c), how & 2);
}

/*
 * A queue is accepted or refused. An accept is right, or of another queue pair, or for
 * another request, or changed.
 */
static void accept_queue(struct rdmablk_queue *q, unsigned int how, unsigned int with)
{
	struct rdmablk_cm_accept2 acc = { };
	u8 mac[RDMABLK_MAC_LEN];
	u32 qpn = QPN_T + q->nr;
	int ret;

	if ((how & 7) == 5) {
		q->cm_reason = (u16)with;
		world_outcome(q, with ? rdmablk_wire_errno((u16)with) : -ECONNREFUSED, "refused");
		return;
	}
	msg_accept2(&acc);
	acc.accept.version = cpu_to_le16(open_world ? 1 : 2);
	acc.accept.queue = cpu_to_le16(q->nr);
	memset(acc.mac, 0, sizeof(acc.mac));
	memcpy(mac, q->join_mac, sizeof(mac));
	mac[0] ^= (how & 7) == 1;
	if (q->nr && !open_world)
		assert_int_equal(rdmablk_keysched_accept(&crypto_keysched, target.end.keys.join,
							 &acc.accept, mac, qpn + ((how & 7) == 2),
							 acc.mac), 0);
	if ((how & 7) == 3)
		((u8 *)&acc)[with % sizeof(acc)] ^= how >> 3 ?: 1;
	model.right[q->nr] = (how & 7) == 0 || (how & 7) == 4 || (how & 7) > 5;
	q->peer_qpn = qpn;
	ret = rdmablk_wire_parse_accept(&acc, open_world ? sizeof(acc.accept) : sizeof(acc),
					q->nr, q->version, &q->accept);
	world_outcome(q, ret ? -EPROTO : 0, "accepted");
}

/* Return: the next queue that waits for an accept or reject */
static struct rdmablk_queue *waiting(unsigned int skip)
{
	struct rdmablk_queue *last = NULL;

	if (session->ctrl.queue.cm_pending)
		return &session->ctrl.queue;
	for (u32 i = 0; session->path.hwq && i < 2 * session->path.nr_hwqs; i++) {
		struct rdmablk_hwq *hwq = session->path.hwq[i / 2];
		struct rdmablk_queue *q = i % 2 ? &hwq->write : &hwq->read;

		if (!q->cm_pending)
			continue;
		last = q;
		if (!skip--)
			break;
	}
	return last;
}

static bool act_honestly(void)
{
	struct rdmablk_queue *q = waiting(0);
	u16 type = target.expected;

	if (!target.honest)
		return false;
	target.honest--;
	if (q) {
		accept_queue(q, 0, 0);
		return true;
	}
	target.expected = 0;
	if (!type)
		return false;
	target.expected = type;
	answer(type, 0);
	if (target.expected == type)
		target.expected = 0;
	return true;
}

/* Sets the administrator's options, and whether data is unflushed. */
static void set_options(unsigned int b)
{
	if (!session->path.hwq)		/* fixed when the disk is made */
		session->opt.poll_queues = b & 1;
	session->opt.ordered = b & 2;
	session->accept_loss = b & 4;
	session->path.unflushed = b & 8;
}

/* Events of the module that are not messages */
static void befall(unsigned int a, unsigned int b)
{
	switch (a) {
	case 1:
		session->waiter.cancelled = true;
		break;
	case 2:
		target.staged = true;
		break;
	case 3:
		shortage = b;
		break;
	case 4:
		cq_shortage = b;
		break;
	case 5:
		sends_fail = b;
		break;
	case 6:
		world_receive_fails();
		break;
	case 7:
		set_options(b);
		break;
	case 8:
		epoch = (u8)b;
		break;
	}
}

static void act(unsigned int what, unsigned int a, unsigned int b)
{
	struct rdmablk_queue *q;

	switch (what) {
	case 0:
		target.honest = a;
		break;
	case 1:
		answer(target.expected, b);
		break;
	case 2:
		answer((u16)(a & 31), b);
		break;
	case 3:
		say_close(a, (u16)b);
		break;
	case 4:
		say_event(a & 7, (u64)b << (a >> 3));
		break;
	case 5:
		q = waiting(a & 7);
		if (q)
			accept_queue(q, a >> 3, b);
		break;
	case 6:
		say_again(&target.saved[a % SAVED]);
		break;
	case 7:
		say_bytes(a);
		break;
	case 8:
		session->ctrl.queue.fatal(&session->ctrl.queue, RDMABLK_R_CONNECTION);
		break;
	case 9:
		befall(a, b);
		break;
	case 10:
		change.before = true;
		change.before_at = a << 8 | b;
		change.before_with = (u8)next_byte();
		break;
	case 11:
		change.after = true;
		change.after_at = a << 8 | b;
		change.after_with = (u8)next_byte();
		break;
	case 12:
		change.longer = (int8_t)b;
		break;
	case 14:
		mac_ret = a & 1 ? -EACCES : 0;
		break;
	case 13:
		loaded = a & 1;
		take_ret = b == 1 ? -EKEYREVOKED : 0;
		break;
	}
}

static bool target_acts(void)
{
	unsigned int what, a;

	world_sent();
	if (act_honestly())
		return true;
	if (!script.left)
		return false;
	what = next_byte() % 16;
	a = next_byte();
	act(what, a, next_byte());
	return true;
}

/*
 * What the module does
 */

static void check(void)
{
	const struct rdmablk_session *s = session;

	assert_true(!s->lock.held && !s->ctrl.tx_lock.lock.held && !s->ctrl.rx_lock.held);
	if (open_world)
		return;
	/* Only the target, or this host's adapter, can reduce the disk's queues. */
	assert_true(s->most_queues == s->nr_queues || model.full);
	/* Only the target can fail the disk for good, or let held writes be sent again. */
	assert_true(!s->login.trusted || model.granted || s->login.trusted == model.said);
	assert_true(!s->outage.trusted || s->outage.trusted == model.word);
	assert_true(!s->outage.fenced || model.fences);
	assert_true(!s->login.resized || model.told & 1U << RDMABLK_EVENT_RESIZE);
	assert_true(!s->login.key_ends || model.told & 1U << RDMABLK_EVENT_REAUTH);
}

static void no_secret_stays(void)
{
	assert_false(crypt_is_secret((u8 *)&session->auth.secret, sizeof(session->auth.secret)));
}

/* Target and model forget the connection, too. */
static void connection_gone(void)
{
	unsigned int honest = target.honest;
	bool staged = target.staged;

	crypt_target_end(&target.end);
	end_ciphers(&target.tx);
	end_ciphers(&target.rx);
	crypto_cipher_free(target.next_tx);
	crypto_cipher_free(target.next_rx);
	memset(&target, 0, sizeof(target));
	target.honest = honest;
	target.staged = staged;
	memset(&model, 0, offsetof(typeof(model), errors));
	assert_int_equal(crypt_world.secrets, 0);
	assert_false(crypt_is_secret(session->ctrl.msg, sizeof(session->ctrl.msg)));
	assert_int_equal(objects, 0);
}

/* Ends the connection in the order of recovery.c. */
static void take_down(void)
{
	struct rdmablk_session *s = session;

	cancel_delayed_work_sync(&s->reauth_work);
	rdmablk_ctrl_stop(&s->ctrl);
	rdmablk_session_destroy_queues(s);
	s->outage.phase = RDMABLK_PHASE_DOWN;
	s->path.live = false;
	no_secret_stays();
	target.honest = 0;
	if (s->resume)
		return;
	rdmablk_disk_free(s);
	rdmablk_fence_exit(&s->path.fence);
	rdmablk_hwq_free(s);
}

static void log_in(unsigned int how)
{
	struct rdmablk_session *s = session;
	bool easy;
	int ret;

	if (model.logins++ == LOGINS)
		return;
	/* With a target that sends only right messages the first login succeeds. */
	easy = how >> 2 > 12 && !s->resume && !shortage && !cq_shortage && !sends_fail &&
	       !change.before && !change.after && !change.longer && !take_ret && !mac_ret &&
	       !epoch;
	s->opt.read_only = s->resume ? s->opt.read_only : how & 1;
	s->opt.steal = how & 2;
	target.honest = how >> 2;
	next_qpn = QPN_I;
	s->outage.attempts++;
	ret = rdmablk_login(s);
	check();
	no_secret_stays();
	assert_int_equal(!ret, model.live);
	assert_true(!ret || !easy);
	if (ret)
		take_down();
}

static void go_on(unsigned int what, unsigned int a)
{
	struct rdmablk_session *s = session;

	switch (what % 4) {
	case 0:
		target_acts();
		break;
	case 1:
		if (!s->reauth_work.work.queued)
			rdmablk_reauth_now(s);
		if (s->reauth_work.work.queued)
			unit_run(&s->reauth_work);
		no_secret_stays();
		break;
	case 2:
		if (!rdmablk_ctrl_command(&s->ctrl, RDMABLK_OP_KEEPALIVE, 0, RDMABLK_TAG_KEEPALIVE))
			rdmablk_ctrl_wait(&s->ctrl, RDMABLK_TAG_KEEPALIVE, jiffies + a);
		break;
	case 3:
		take_down();
		return;
	}
	check();
	if (s->outage.phase == RDMABLK_PHASE_BROKEN)
		take_down();
}

static void begin(void)
{
	static struct rdmablk_session s;

	session = &s;
	s = (struct rdmablk_session) {
		.opt = { .queues = 2, .queue_depth = 64, .keep_alive_tmo = 5, .connect_tmo = 10,
			 .reconnect_delay = 2, .reauth_tmo = 3600, .export_name = "disk0",
			 .key_name = "key" },
		.outage.phase = RDMABLK_PHASE_DOWN,
	};
	rdmablk_ctrl_init(&s.ctrl, &rdmablk_ctrl_events_ops, &s.waiter, &s.errors,
			  rdmablk_ctrl_events_fatal);
	rdmablk_reauth_init(&s);
	if (open_world)
		s.opt.key_name[0] = '\0';
	jiffies = 1000;
	loaded = 0;
	take_ret = 0;
	mac_ret = 0;
	shortage = 0;
	cq_shortage = 0;
	epoch = 0;
	sends_fail = 0;
	memset(&target, 0, sizeof(target));
	memset(&change, 0, sizeof(change));
	memset(&model, 0, sizeof(model));
}

static void end(void)
{
	struct rdmablk_session *s = session;

	take_down();
	s->resume = false;
	rdmablk_disk_free(s);
	rdmablk_fence_exit(&s->path.fence);
	rdmablk_hwq_free(s);
	free(s->path.region);
	rdmablk_auth_close(&s->auth);
	assert_int_equal(crypt_world.objects, 0);
	assert_int_equal(crypt_world.secrets, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;

	if (!ready) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);	/* as other findings end */
		crypt_begin();
	}
	ready = true;
	script.at = data;
	script.left = size;
	open_world = size && *data == OPEN;
	if (open_world)
		next_byte();
	begin();
	while (script.left) {
		unsigned int what = next_byte();

		if (session->waiter.cancelled)
			break;
		if (session->outage.phase == RDMABLK_PHASE_DOWN)
			log_in(what);
		else
			go_on(what, next_byte());
	}
	end();
	return 0;
}
