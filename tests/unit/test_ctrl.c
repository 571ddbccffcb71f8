// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/ctrl.c sends and takes messages of version 1 as they are. In version 2,
 * once it has the keys, it takes nothing but the next frame of the target, tells a CLOSE
 * without a seal from a sealed one, numbers its own frames in the order in which it posts them,
 * and leaves no key of a region in memory.
 */
#include "session_world.h"

#include "messages.h"
#include "../../kernel/ctrl_events.h"

#define ERR_PTR(e)		((void *)(long)(e))
#define PTR_ERR(p)		((int)(long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= (unsigned long)-4095)
#define spin_lock_irqsave(l, f)		do { (f) = 0; spin_lock_bh(l); } while (0)
#define spin_unlock_irqrestore(l, f)	do { (void)(f); spin_unlock_bh(l); } while (0)
#define kzalloc(n, flags)	((void)(flags), made(n))
#define kfree(p)		unmade(p)
#define kfree_sensitive(p)	unmade(p)
#define test_and_set_bit(nr, to)	({ bool w_ = test_bit(nr, to); set_bit(nr, to); w_; })
#define wake_up_all(wq)		((void)(wq))
#define wait_event_idle_timeout(wq, condition, left)				\
	({								\
		(void)(wq);						\
		if (!(condition))					\
			goes_on();					\
		(condition) ? (left) : 0;				\
	})

enum { IB_POLL_SOFTIRQ, IB_WC_SUCCESS = 0, IB_WC_FLUSH = 5 };

struct ib_device {
	int none;
};

struct ib_pd {
	struct ib_device *device;
	u32 local_dma_lkey;
};

struct ib_cq {
	int none;
};

struct ib_qp {
	int none;
};

struct ib_wc {
	struct ib_cqe *wr_cqe;
	int status;
	u32 byte_len;
};

struct ib_recv_wr {
	struct ib_cqe *wr_cqe;
	struct ib_sge *sg_list;
	int num_sge;
};

#include "fake_crypt.h"

static void goes_on(void);

enum { FRAMES = 16 };

static struct ib_device device;
static struct ib_pd pd = { .device = &device, .local_dma_lkey = 5 };
static struct ib_cq cq;
static struct ib_qp qp;
static struct rdmablk_ctrl ctrl;
static struct rdmablk_waiter waiter;
static struct rdmablk_transport_errors errors;
static int buffers;		/* allocated */
static int post_ret;
static unsigned int recvs;	/* posted */

/* What was posted, in this order. Sends complete when the task waits. */
static struct {
	u8 data[RDMABLK_CTRL_MSG_MAX];
	u32 len;
	struct ib_cqe *cqe;
} sent[FRAMES];
static unsigned int nr_sent, completed;

/* Calls to the owner of the queue */
static struct {
	unsigned int fatals, closes, events, answers;
	u16 fatal, close;
	enum rdmablk_ctrl_trust trust;
} up;

/* The target's ciphers of both directions */
static struct rdmablk_sealed to_us, from_us;
static u8 i2t[32], t2i[32];
static struct rdmablk_crypt_cipher *our_tx, *our_rx, *their_tx, *their_rx;

/* What the target says when the login waits; NULL: nothing */
static void (*says)(void);

static void *made(size_t n)
{
	buffers++;
	return calloc(1, n);
}

static void unmade(void *p)
{
	buffers -= !!p;
	free(p);
}

static struct ib_cq *ib_alloc_cq_any(struct ib_device *dev, void *context, int cqes, int how)
{
	assert_ptr_equal(dev, &device);
	assert_ptr_equal(context, &ctrl);
	assert_int_equal(cqes, RDMABLK_CTRL_TXS + RDMABLK_CTRL_RECVS + 2);
	assert_int_equal(how, IB_POLL_SOFTIRQ);
	return &cq;
}

static void ib_free_cq(struct ib_cq *of)
{
	assert_ptr_equal(of, &cq);
}

static u64 ib_dma_map_single(struct ib_device *dev, void *p, size_t n,
			     enum dma_data_direction dir)
{
	(void)dev;
	(void)dir;
	assert_int_equal(n, RDMABLK_CTRL_MSG_MAX);
	return (u64)(uintptr_t)p;
}

#define ib_dma_mapping_error(dev, dma)		((void)(dev), !(dma))
#define ib_dma_unmap_single(dev, dma, n, dir)	\
	((void)(dev), (void)(dma), (void)(n), (void)(dir))
#define ib_dma_sync_single_for_device(dev, dma, n, dir)	\
	((void)(dev), (void)(dma), (void)(n), (void)(dir))

static int ib_post_recv(struct ib_qp *of, const struct ib_recv_wr *wr, void *bad)
{
	assert_ptr_equal(of, &qp);
	assert_null(bad);
	assert_int_equal(wr->sg_list->length, RDMABLK_CTRL_MSG_MAX);
	recvs++;
	return 0;
}

static int ib_post_send(struct ib_qp *of, const struct ib_send_wr *wr, void *bad)
{
	assert_ptr_equal(of, &qp);
	assert_null(bad);
	/* Without the lock another frame could be posted before this one. */
	assert_true(ctrl.tx_lock.lock.held);
	if (post_ret)
		return post_ret;
	assert_true(nr_sent < FRAMES);
	sent[nr_sent].len = wr->sg_list->length;
	memcpy(sent[nr_sent].data, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	sent[nr_sent++].cqe = wr->wr_cqe;
	return 0;
}

long rdmablk_cm_left(unsigned long deadline)
{
	return time_before(jiffies, deadline) ? (long)(deadline - jiffies) : 1;
}

void rdmablk_queue_init(struct rdmablk_queue *q, u16 nr, u8 kind,
			const struct rdmablk_queue_owner *owner)
{
	assert_int_equal(nr, 0);
	assert_int_equal(kind, RDMABLK_KIND_CONTROL);
	q->waiter = owner->waiter;
	q->fatal = owner->fatal;
}

void rdmablk_queue_reset(struct rdmablk_queue *q)
{
	assert_ptr_equal(q, &ctrl.queue);
}

int rdmablk_queue_create_qp(struct rdmablk_queue *q, struct ib_pd *of, struct ib_cq *to,
			    unsigned int send_slots, unsigned int receives, unsigned int sge)
{
	assert_ptr_equal(of, &pd);
	assert_ptr_equal(to, &cq);
	assert_int_equal(send_slots, RDMABLK_CTRL_TXS);
	assert_int_equal(receives, RDMABLK_CTRL_RECVS);
	assert_int_equal(sge, 1);
	q->qp = &qp;
	return 0;
}

void rdmablk_queue_stop(struct rdmablk_queue *q)
{
	assert_ptr_equal(q, &ctrl.queue);
}

void rdmablk_queue_destroy_qp(struct rdmablk_queue *q)
{
	q->qp = NULL;
}

u16 rdmablk_queue_recv_reason(const struct ib_wc *wc)
{
	(void)wc;
	return RDMABLK_R_CONNECTION;
}

void rdmablk_queue_failed(struct rdmablk_queue *q, const struct ib_wc *wc)
{
	(void)wc;
	q->fatal(q, RDMABLK_R_CONNECTION);
}

static void fatal(struct rdmablk_queue *q, u16 reason)
{
	assert_ptr_equal(q, &ctrl.queue);
	assert_false(ctrl.tx_lock.lock.held || ctrl.rx_lock.held || ctrl.lock.held);
	if (!up.fatals++)
		up.fatal = reason;
}

static void closed(struct rdmablk_ctrl *of, const struct rdmablk_wire_close *c,
		   enum rdmablk_ctrl_trust trust)
{
	assert_ptr_equal(of, &ctrl);
	up.closes++;
	up.close = c->reason;
	up.trust = trust;
}

static void event(struct rdmablk_ctrl *of, const struct rdmablk_wire_event *ev)
{
	(void)ev;
	assert_ptr_equal(of, &ctrl);
	up.events++;
}

static void answered(struct rdmablk_ctrl *of, const struct rdmablk_wire_answer *a)
{
	(void)a;
	assert_ptr_equal(of, &ctrl);
	up.answers++;
}

static const struct rdmablk_ctrl_ops ops = {
	.closed = closed, .event = event, .answered = answered,
};

/* No message is read from a buffer that the device may change meanwhile. */
static void copied(const void *data)
{
	for (unsigned int i = 0; i < RDMABLK_CTRL_RECVS; i++)
		assert_false(data >= ctrl.rx[i].data &&
			     data < ctrl.rx[i].data + RDMABLK_CTRL_MSG_MAX);
}

/* The kernel is built without these warnings. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define rdmablk_sealed_open(s, frame, ...)				\
	(copied(frame), rdmablk_sealed_open(s, frame, __VA_ARGS__))
#define rdmablk_wire_type(data, ...)					\
	(copied(data), rdmablk_wire_type(data, __VA_ARGS__))
#include "../../kernel/ctrl.c"
#undef rdmablk_sealed_open
#undef rdmablk_wire_type
#pragma GCC diagnostic warning "-Wunused-parameter"
#pragma GCC diagnostic warning "-Wsign-compare"

/* Sends complete, and the target says something. */
static void goes_on(void)
{
	struct ib_wc wc = { .status = IB_WC_SUCCESS };

	while (completed < nr_sent) {
		wc.wr_cqe = sent[completed++].cqe;
		wc.wr_cqe->done(&cq, &wc);
	}
	if (says)
		says();
}

unsigned long wait_for_completion_timeout(struct completion *c, unsigned long timeout)
{
	if (!c->done)
		goes_on();
	return c->done ? timeout : 0;
}

/* A message arrives without a seal. */
static void arrives(const void *data, size_t len)
{
	static unsigned int next;
	struct rdmablk_ctrl_buf *buf = &ctrl.rx[next++ % RDMABLK_CTRL_RECVS];
	struct ib_wc wc = { .wr_cqe = &buf->cqe, .byte_len = (u32)len };
	unsigned int before = recvs;

	memcpy(buf->data, data, len);
	buf->cqe.done(&cq, &wc);
	assert_int_equal(recvs, before + 1);
}

/* The target seals a message, and it arrives. */
static void arrives_sealed(const void *msg, size_t len)
{
	u8 frame[RDMABLK_CTRL_MSG_MAX];
	int ret = rdmablk_sealed_seal(&to_us, msg, len, frame, sizeof(frame));

	assert_true(ret > 0);
	arrives(frame, (size_t)ret);
}

/* Opens frame @nr as the target does. */
static int opened(unsigned int nr, void *msg)
{
	assert_true(nr < nr_sent);
	return rdmablk_sealed_open(&from_us, sent[nr].data, sent[nr].len, msg,
				   RDMABLK_CTRL_MSG_MAX);
}

static struct rdmablk_crypt_cipher *cipher(const u8 *key)
{
	struct rdmablk_crypt_cipher *c = rdmablk_crypt_new_cipher();

	assert_int_equal(rdmablk_crypt_set_key(c, key), 0);
	return c;
}

static int setup(void **state)
{
	(void)state;
	crypt_begin();
	memset(&ctrl, 0, sizeof(ctrl));
	memset(&waiter, 0, sizeof(waiter));
	memset(&up, 0, sizeof(up));
	memset(i2t, 0x12, sizeof(i2t));
	memset(t2i, 0x21, sizeof(t2i));
	our_tx = cipher(i2t);
	our_rx = cipher(t2i);
	their_tx = cipher(t2i);
	their_rx = cipher(i2t);
	rdmablk_sealed_init(&to_us, &rdmablk_crypt_sealed, their_tx);
	rdmablk_sealed_init(&from_us, &rdmablk_crypt_sealed, their_rx);
	buffers = 0;
	post_ret = 0;
	recvs = 0;
	nr_sent = 0;
	completed = 0;
	says = NULL;
	rdmablk_ctrl_init(&ctrl, &ops, &waiter, &errors, fatal);
	rdmablk_ctrl_reset(&ctrl, 2);
	assert_int_equal(rdmablk_ctrl_create(&ctrl, &pd), 0);
	assert_int_equal(recvs, RDMABLK_CTRL_RECVS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rdmablk_ctrl_stop(&ctrl);
	rdmablk_ctrl_destroy(&ctrl);
	rdmablk_ctrl_destroy(&ctrl);
	assert_int_equal(buffers, 0);
	/* The ciphers may be freed now. */
	assert_null(ctrl.seal.key);
	assert_null(ctrl.open.key);
	rdmablk_crypt_free_cipher(our_tx);
	rdmablk_crypt_free_cipher(our_rx);
	rdmablk_crypt_free_cipher(their_tx);
	rdmablk_crypt_free_cipher(their_rx);
	crypt_end();
	return 0;
}

static void version1(void)
{
	rdmablk_ctrl_reset(&ctrl, 1);
}

/* The state after PROOF was sent and GRANT has come */
static void sealed(void)
{
	rdmablk_ctrl_open(&ctrl, our_rx);
	rdmablk_ctrl_seal(&ctrl, our_tx);
}

static void says_challenge2(void)
{
	struct rdmablk_challenge2 msg;

	says = NULL;
	msg_challenge2(&msg);
	arrives(&msg, sizeof(msg));
}

static void says_grant(void)
{
	u8 msg[MSG_GRANT2];

	says = NULL;
	msg_grant2(msg);
	arrives_sealed(msg, sizeof(msg));
}

static void says_open_grant(void)
{
	u8 msg[MSG_GRANT2];

	says = NULL;
	msg_grant2(msg);
	arrives(msg, sizeof(msg));
}

/* The same frame number comes twice. */
static void says_old_grant(void)
{
	says_grant();
	to_us.seq = 0;
	says_grant();
}

/*
 * Version 1
 */

static void test_messages_as_they_are(void **state)
{
	struct rdmablk_event_msg ev;
	struct rdmablk_close close;

	(void)state;
	version1();
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), 0);
	assert_int_equal(sent[0].len, sizeof(struct rdmablk_command));
	assert_int_equal(rdmablk_wire_type(sent[0].data, sent[0].len, 1), RDMABLK_MSG_COMMAND);
	/* The answer to the first keep-alive has not come yet. */
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), -EBUSY);
	msg_event(&ev);
	arrives(&ev, sizeof(ev));
	assert_int_equal(up.events, 1);
	msg_close(&close);
	arrives(&close, sizeof(close));
	assert_int_equal(up.close, RDMABLK_R_SHUTDOWN);
	assert_int_equal(up.trust, RDMABLK_CTRL_TRUSTED);
	assert_int_equal(up.fatals, 0);
	rdmablk_ctrl_close(&ctrl, RDMABLK_R_STATE);
	assert_int_equal(le16_to_cpu(((struct rdmablk_close *)sent[1].data)->version_max), 1);
	/* Version 1 knows no sealed frames. */
	rdmablk_sealed_seal(&to_us, &ev, sizeof(ev), sent[2].data, RDMABLK_CTRL_MSG_MAX);
	arrives(sent[2].data, sizeof(ev) + RDMABLK_SEALED_EXTRA);
	assert_int_equal(up.fatal, RDMABLK_R_MALFORMED);
}

static void test_answers(void **state)
{
	struct rdmablk_answer a;

	(void)state;
	version1();
	msg_answer(&a);
	a.status = 0;
	a.hdr.generation = cpu_to_le32(1);
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_LOGOUT, 0, RDMABLK_TAG_LOGOUT), 0);
	assert_int_equal(rdmablk_ctrl_wait(&ctrl, RDMABLK_TAG_LOGOUT, jiffies), -ETIMEDOUT);
	arrives(&a, sizeof(a));
	assert_int_equal(up.answers, 1);
	assert_int_equal(rdmablk_ctrl_wait(&ctrl, RDMABLK_TAG_LOGOUT, jiffies), 0);
	/* The same answer again completes nothing. */
	arrives(&a, sizeof(a));
	assert_int_equal(up.answers, 1);
	assert_int_equal(ctrl.stale_answers, 1);
}

/*
 * Version 2
 */

static void test_login(void **state)
{
	struct rdmablk_hello2 hello = msg_sent2;
	struct rdmablk_proof proof;
	struct rdmablk_ready ready;
	u8 mac[RDMABLK_MAC_LEN] = { }, got[RDMABLK_CTRL_MSG_MAX], grant[MSG_GRANT2];

	(void)state;
	says = says_challenge2;
	assert_int_equal(rdmablk_ctrl_ask(&ctrl, &hello, sizeof(hello), RDMABLK_MSG_CHALLENGE,
					  jiffies + 100), 0);
	assert_int_equal(ctrl.msg_len, sizeof(struct rdmablk_challenge2));
	assert_memory_equal(sent[0].data, &hello, sizeof(hello));
	/* PROOF is not sealed, but the answer to it is. */
	rdmablk_ctrl_open(&ctrl, our_rx);
	rdmablk_wire_proof(&proof, mac);
	says = says_grant;
	assert_int_equal(rdmablk_ctrl_ask(&ctrl, &proof, sizeof(proof), RDMABLK_MSG_GRANT,
					  jiffies + 100), 0);
	assert_memory_equal(sent[1].data, &proof, sizeof(proof));
	msg_grant2(grant);
	assert_int_equal(ctrl.msg_len, sizeof(grant));
	assert_memory_equal(ctrl.msg, grant, sizeof(grant));
	rdmablk_ctrl_seal(&ctrl, our_tx);
	rdmablk_wire_ready(&ready);
	assert_int_equal(rdmablk_ctrl_ask(&ctrl, &ready, sizeof(ready), RDMABLK_MSG_LIVE,
					  jiffies + 100), -ETIMEDOUT);
	assert_int_equal(opened(2, got), sizeof(ready));
	assert_memory_equal(got, &ready, sizeof(ready));
	assert_int_equal(up.fatals, 0);
}

/* After PROOF, anything but the next frame is a failed authentication. */
static void test_other_grants(void **state)
{
	static void (*const grants[])(void) = { says_open_grant, says_old_grant };

	for (size_t i = 0; i < ARRAY_SIZE(grants); i++) {
		struct rdmablk_proof proof = { };

		teardown(state);
		setup(state);
		rdmablk_ctrl_open(&ctrl, our_rx);
		says = grants[i];
		rdmablk_ctrl_ask(&ctrl, &proof, sizeof(proof), RDMABLK_MSG_GRANT, jiffies + 100);
		assert_int_equal(up.fatals, 1);
		assert_int_equal(up.fatal, RDMABLK_R_AUTH_FAILED);
	}
}

/* Before the keys, messages that do not belong to the login dialogue are errors. */
static void test_before_the_keys(void **state)
{
	struct rdmablk_event_msg ev;
	struct rdmablk_answer a;
	struct rdmablk_close close;

	(void)state;
	msg_event(&ev);
	arrives(&ev, sizeof(ev));
	assert_int_equal(up.fatal, RDMABLK_R_STATE);
	msg_answer(&a);
	arrives(&a, sizeof(a));
	assert_int_equal(up.fatals, 2);
	assert_int_equal(up.events + up.answers, 0);
	arrives_sealed(&ev, sizeof(ev));
	assert_int_equal(up.fatals, 3);
	assert_int_equal(up.events, 0);
	/* Anybody may have sent this CLOSE, but its reason may help. */
	msg_close(&close);
	arrives(&close, sizeof(close));
	assert_int_equal(up.closes, 1);
	assert_int_equal(up.trust, RDMABLK_CTRL_UNPROVEN);
}

static void test_close(void **state)
{
	struct rdmablk_close close;
	struct rdmablk_event_msg ev;

	(void)state;
	msg_close(&close);
	msg_event(&ev);
	/* The target may have found PROOF wrong, and then has no key to seal with. */
	rdmablk_ctrl_open(&ctrl, our_rx);
	arrives(&close, sizeof(close));
	assert_int_equal(up.trust, RDMABLK_CTRL_UNPROVEN);
	arrives_sealed(&ev, sizeof(ev));
	assert_int_equal(up.events, 1);
	arrives(&close, sizeof(close));
	assert_int_equal(up.trust, RDMABLK_CTRL_UNSEALED);
	arrives_sealed(&close, sizeof(close));
	assert_int_equal(up.trust, RDMABLK_CTRL_TRUSTED);
	assert_int_equal(up.closes, 3);
	assert_int_equal(up.fatals, 0);
}

/* A change of any bit of a frame ends the session, and so does a message without a seal. */
static void test_forged_frames(void **state)
{
	u8 frame[RDMABLK_CTRL_MSG_MAX];
	struct rdmablk_event_msg ev;
	struct rdmablk_sealed at;
	int len;

	(void)state;
	sealed();
	msg_event(&ev);
	at = to_us;
	len = rdmablk_sealed_seal(&at, &ev, sizeof(ev), frame, sizeof(frame));
	for (int bit = 0; bit < 8 * len; bit++) {
		frame[bit / 8] ^= 1 << bit % 8;
		arrives(frame, (size_t)len);
		frame[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(up.fatals, bit + 1);
	}
	assert_int_equal(up.fatal, RDMABLK_R_AUTH_FAILED);
	arrives(&ev, sizeof(ev));
	assert_int_equal(up.fatals, 8 * len + 1);
	assert_int_equal(up.events, 0);
	arrives_sealed(&ev, sizeof(ev));
	assert_int_equal(up.events, 1);
}

/* Once there are keys, an answer without a seal is an error, however it gets this far. */
static void test_no_answer_without_a_seal(void **state)
{
	u8 msg[MSG_GRANT2];

	(void)state;
	msg_grant2(msg);
	ctrl.expected = RDMABLK_MSG_GRANT;
	sealed();
	rdmablk_ctrl_dispatch(&ctrl, msg, sizeof(msg), RDMABLK_CTRL_UNPROVEN);
	assert_int_equal(up.fatal, RDMABLK_R_STATE);
	assert_int_equal(ctrl.msg_len, 0);
	rdmablk_ctrl_dispatch(&ctrl, msg, sizeof(msg), RDMABLK_CTRL_UNSEALED);
	assert_int_equal(up.fatals, 2);
	rdmablk_ctrl_dispatch(&ctrl, msg, sizeof(msg), RDMABLK_CTRL_TRUSTED);
	assert_int_equal(up.fatals, 2);
	assert_int_equal(ctrl.msg_len, sizeof(msg));
}

/* A message in a frame is checked in full, like one without a seal. */
static void test_bad_messages_inside(void **state)
{
	u8 frame[RDMABLK_CTRL_MSG_MAX];
	struct rdmablk_event_msg ev;
	int len;

	(void)state;
	sealed();
	msg_event(&ev);
	ev.reserved = cpu_to_le16(1);
	arrives_sealed(&ev, sizeof(ev));
	assert_int_equal(up.fatal, RDMABLK_R_MALFORMED);
	/* A frame inside a frame */
	len = rdmablk_sealed_seal(&to_us, &ev, sizeof(ev), frame, sizeof(frame));
	to_us.seq--;
	arrives_sealed(frame, (size_t)len);
	assert_int_equal(up.fatals, 2);
	assert_int_equal(up.events, 0);
}

/* Each frame has its number, whichever task sends it. */
static void test_own_frames_are_in_order(void **state)
{
	struct rdmablk_command *cmd;
	u8 msg[RDMABLK_CTRL_MSG_MAX];

	(void)state;
	sealed();
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), 0);
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_LOGOUT, 0, RDMABLK_TAG_LOGOUT), 0);
	rdmablk_ctrl_close(&ctrl, RDMABLK_R_STATE);
	assert_int_equal(nr_sent, 3);
	assert_int_equal(opened(0, msg), sizeof(*cmd));
	cmd = (struct rdmablk_command *)msg;
	assert_int_equal(le16_to_cpu(cmd->op), RDMABLK_OP_KEEPALIVE);
	assert_int_equal(opened(1, msg), sizeof(*cmd));
	assert_int_equal(le16_to_cpu(cmd->op), RDMABLK_OP_LOGOUT);
	assert_int_equal(opened(2, msg), sizeof(struct rdmablk_close));
	assert_int_equal(le16_to_cpu(((struct rdmablk_close *)msg)->version_min), 2);
}

/* The number of a frame that was not posted is used up: the target would take no later frame. */
static void test_a_gap_ends_the_session(void **state)
{
	(void)state;
	sealed();
	post_ret = -ENOMEM;
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), -ENOMEM);
	assert_int_equal(up.fatal, RDMABLK_R_CONNECTION);
	/* In version 1 there are no numbers. */
	teardown(state);
	setup(state);
	version1();
	post_ret = -ENOMEM;
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), -ENOMEM);
	assert_int_equal(up.fatals, 0);
	post_ret = 0;
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), 0);
}

/* A message that cannot be sealed is not sent, and uses no number. */
static void test_a_cipher_that_fails(void **state)
{
	(void)state;
	sealed();
	crypt_world.left = 0;
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), -ENOMEM);
	crypt_world.left = -1;
	assert_int_equal(nr_sent, 0);
	assert_int_equal(up.fatals, 0);
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), 0);
	assert_int_equal(nr_sent, 1);
	assert_int_equal(ctrl.seal.seq, 1);
}

/* Frames of the old epoch are on their way when the new one begins, in both directions. */
static void test_the_next_epoch(void **state)
{
	struct rdmablk_crypt_cipher *tx, *rx, *target_tx, *target_rx;
	u8 key[2][RDMABLK_SEALED_KEY_LEN], msg[RDMABLK_CTRL_MSG_MAX];
	struct rdmablk_event_msg ev;

	(void)state;
	sealed();
	msg_event(&ev);
	memset(key[0], 0x34, sizeof(key[0]));
	memset(key[1], 0x43, sizeof(key[1]));
	tx = cipher(key[0]);
	rx = cipher(key[1]);
	target_tx = cipher(key[1]);
	target_rx = cipher(key[0]);
	arrives_sealed(&ev, sizeof(ev));
	assert_int_equal(rdmablk_ctrl_open_next(&ctrl, rx), 0);
	assert_int_equal(rdmablk_ctrl_open_next(&ctrl, rx), -EBUSY);
	arrives_sealed(&ev, sizeof(ev));
	/* The target has not begun the new epoch yet. */
	assert_int_equal(rdmablk_ctrl_seal_next(&ctrl, tx), -EBADMSG);
	assert_int_equal(rdmablk_ctrl_command(&ctrl, RDMABLK_OP_KEEPALIVE, 0, 0), 0);
	assert_int_equal(opened(0, msg), sizeof(struct rdmablk_command));
	rdmablk_sealed_rekey(&to_us, target_tx);
	arrives_sealed(&ev, sizeof(ev));
	assert_int_equal(up.events, 3);
	assert_int_equal(rdmablk_ctrl_seal_next(&ctrl, tx), 0);
	rdmablk_sealed_prepare(&from_us, target_rx);
	rdmablk_ctrl_close(&ctrl, RDMABLK_R_STATE);
	assert_int_equal(opened(1, msg), sizeof(struct rdmablk_close));
	assert_int_equal(from_us.epoch, 1);
	assert_int_equal(up.fatals, 0);
	rdmablk_ctrl_stop(&ctrl);
	rdmablk_ctrl_destroy(&ctrl);
	rdmablk_crypt_free_cipher(tx);
	rdmablk_crypt_free_cipher(rx);
	rdmablk_crypt_free_cipher(target_tx);
	rdmablk_crypt_free_cipher(target_rx);
}

/* A login that is broken off does not wipe the last message; the end of the queue does. */
static void test_nothing_stays(void **state)
{
	struct rdmablk_regions_get get;

	(void)state;
	sealed();
	says = says_grant;
	rdmablk_wire_regions_get(&get, 0);
	assert_int_equal(rdmablk_ctrl_ask(&ctrl, &get, sizeof(get), RDMABLK_MSG_GRANT,
					  jiffies + 100), 0);
	assert_true(crypt_is_secret(ctrl.msg, sizeof(ctrl.msg)));
	rdmablk_ctrl_stop(&ctrl);
	rdmablk_ctrl_destroy(&ctrl);
	assert_false(crypt_is_secret(ctrl.msg, sizeof(ctrl.msg)));
	/* The first messages of the next login are not sealed. */
	assert_int_equal(rdmablk_ctrl_create(&ctrl, &pd), 0);
	rdmablk_ctrl_reset(&ctrl, 2);
	says = says_challenge2;
	assert_int_equal(rdmablk_ctrl_ask(&ctrl, &msg_sent2, sizeof(msg_sent2),
					  RDMABLK_MSG_CHALLENGE, jiffies + 100), 0);
	assert_memory_equal(sent[nr_sent - 1].data, &msg_sent2, sizeof(msg_sent2));
}

static int group_setup(void **state)
{
	(void)state;
	msg_setup();
	return 0;
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_messages_as_they_are),
		TEST(test_answers),
		TEST(test_login),
		TEST(test_other_grants),
		TEST(test_before_the_keys),
		TEST(test_close),
		TEST(test_forged_frames),
		TEST(test_no_answer_without_a_seal),
		TEST(test_bad_messages_inside),
		TEST(test_own_frames_are_in_order),
		TEST(test_a_gap_ends_the_session),
		TEST(test_a_cipher_that_fails),
		TEST(test_the_next_epoch),
		TEST(test_nothing_stays),
	};

	return cmocka_run_group_tests_name("ctrl", tests, group_setup, NULL);
}
