// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A peer that sends without pause does not keep timers, other descriptors and other sessions
 * from their turn in the loop. Yet no completion is left unread. RDMA is a fake.
 *
 * Sources: target/base/loop.c target/rdma/cq.c target/rdma/device.c target/rdma/cm.c
 *	   target/session/session_event.c
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/base/util.h"
#include "../../target/session/session.h"
#include "fake_verbs.h"

#define FLOOD_MS	10000	/* most time for a flood; at its end all others have starved */
#define SHORT_MS	20
#define HOG_MS		7	/* more than all tasks may take at a time */
#define LIVE_MESSAGES	200	/* per second */
#define TURNS		20	/* of the loop; enough for anything but a flood */

static struct ibv_device adapter = { .name = "fake0", .dev_name = "." };
static struct device *dev;
static struct config cfg = { .login_ms = SHORT_MS };

/* A peer and the queue that it floods. */
static struct peer {
	struct cq cq;
	struct session *session;
	struct fake_qp qp;
	uint64_t sent, done;
	bool flood;
	bool failed;
} peers[2];

static int64_t flood_until;
static struct loop_timer timer;
static bool timely;		/* the timer had its turn before the end of the flood */
static struct loop_source other;
static unsigned int others;	/* turns of another descriptor */

static bool flooding(void)
{
	return loop_now() < flood_until;
}

/* The timer may be late, but has to expire during the flood. */
static void expired(struct loop_timer *t)
{
	timely = flooding();
	if (timely && others < 2)
		loop_timer_start(t, 1);
	else
		loop_stop();
}

static void other_ready(struct loop_source *src)
{
	(void)src;
	others++;
}

/* Return: whether the timer and another descriptor have had their turn during the flood. */
static bool others_live(void)
{
	timely = false;
	others = 0;
	timer.expired = expired;
	loop_timer_start(&timer, SHORT_MS);
	assert_int_equal(loop_run(), 0);
	return timely;
}

static void stop_run(struct loop_task *task)
{
	(void)task;
	loop_stop();
}

static void turn(void)
{
	static struct loop_task stop = { .run = stop_run };

	loop_task_start(&stop);
	assert_int_equal(loop_run(), 0);
}

static void settle(void)
{
	for (unsigned int i = 0; i < TURNS; i++)
		turn();
}

/*
 * Events of rdma_cm without end, when asked for
 */

static struct rdma_event_channel cm_channel;
static uint64_t cm_events;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	cm_channel.fd = eventfd(1, EFD_CLOEXEC);
	return &cm_channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	(void)channel;
	(void)ps;
	*id = calloc(1, sizeof(**id));
	assert_non_null(*id);
	(*id)->context = context;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)addr;
	id->verbs = fake_context();
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	return 0;
}

static void cm_count(struct cm_handler *handler, const struct cm_event *ev)
{
	(void)handler;
	(void)ev;
	cm_events++;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	static struct cm_handler handler = { .event = cm_count };
	static struct rdma_cm_id id = { .context = &handler };
	static struct rdma_cm_event one = { .id = &id, .event = RDMA_CM_EVENT_ESTABLISHED };

	(void)channel;
	*event = &one;
	return flooding() ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	return 0;
}

static void connections_without_pause(void **state)
{
	(void)state;
	cm_events = 0;
	flood_until = loop_now() + FLOOD_MS;
	assert_int_equal(cm_init(), 0);
	assert_true(others_live());
	assert_true(cm_events > 1);
	cm_exit();
}

/*
 * A queue of its own
 */

static bool send_byte(struct peer *p)
{
	p->sent++;
	return fake_send(&p->qp, "x", 1);
}

static void post_receive(struct peer *p)
{
	static char byte;
	struct ibv_sge sge = { .addr = (uintptr_t)&byte, .length = 1 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(&p->qp.qp, &wr, &bad), 0);
}

/* Each byte makes another one. */
static void completed(struct cq *cq, const struct ibv_wc *wc)
{
	struct peer *p = container_of(cq, struct peer, cq);

	assert_int_equal(wc->opcode, IBV_WC_RECV);
	p->done++;
	post_receive(p);
	if (p->flood && flooding())
		assert_true(send_byte(p));
}

static void failed(struct cq *cq)
{
	container_of(cq, struct peer, cq)->failed = true;
	cq_stop(cq);
}

static struct peer *queue_open(unsigned int i)
{
	struct peer *p = &peers[i];

	memset(p, 0, sizeof(*p));
	p->cq.completed = completed;
	p->cq.failed = failed;
	assert_int_equal(cq_open(&p->cq, dev->channel, 64), 0);
	fake_qp_init(&p->qp, p->cq.ibv);
	for (int nr = 0; nr < 8; nr++)
		post_receive(p);
	return p;
}

/* Reads the last events of a queue before it is closed. */
static void queue_close(struct peer *p)
{
	cq_stop(&p->cq);
	dev->completions.ready(&dev->completions);
	assert_false(cq_waits(&p->cq));
	assert_int_equal(cq_close(&p->cq), 0);
}

static void completions_without_pause(void **state)
{
	struct peer *p = queue_open(0), *quiet = queue_open(1);
	uint64_t before;

	(void)state;
	flood_until = loop_now() + FLOOD_MS;
	p->flood = true;
	for (int nr = 0; nr < 8; nr++)
		assert_true(send_byte(p));
	assert_true(others_live());
	assert_true(p->sent > 8);
	/* another queue has its turn, too */
	assert_true(send_byte(quiet));
	before = p->sent;
	assert_true(others_live());
	assert_true(p->sent > before);
	assert_int_equal(quiet->done, 1);
	p->flood = false;
	settle();
	assert_int_equal(p->done, p->sent);
	assert_false(p->failed);
	queue_close(p);
	queue_close(quiet);
}

/*
 * Completions that come just before the queue is armed, and just after
 */

static int (*real_req_notify)(struct ibv_cq *cq, int solicited);
static bool before_it, after_it;

static int req_notify(struct ibv_cq *cq, int solicited)
{
	int ret;

	if (before_it)
		assert_true(send_byte(&peers[0]));
	before_it = false;
	ret = real_req_notify(cq, solicited);
	if (after_it)
		assert_true(send_byte(&peers[0]));
	after_it = false;
	return ret;
}

static void nothing_is_left_lying(void **state)
{
	struct ibv_context_ops *ops = &fake_context()->ops;
	struct peer *p = queue_open(0);

	(void)state;
	real_req_notify = ops->req_notify_cq;
	ops->req_notify_cq = req_notify;
	for (unsigned int which = 0; which < 4; which++) {
		before_it = which & 1;
		after_it = which & 2;
		assert_true(send_byte(p));
		settle();
		assert_false(before_it || after_it);
		assert_int_equal(p->done, p->sent);
	}
	ops->req_notify_cq = real_req_notify;
	assert_false(p->failed);
	queue_close(p);
}

static int cannot_notify(struct ibv_cq *cq, int solicited)
{
	int error = EIO;

	(void)cq;
	(void)solicited;
	return error;
}

static void a_queue_that_cannot_be_armed_fails(void **state)
{
	struct ibv_context_ops *ops = &fake_context()->ops;
	struct peer *p = queue_open(0);

	(void)state;
	real_req_notify = ops->req_notify_cq;
	ops->req_notify_cq = cannot_notify;
	assert_true(send_byte(p));
	settle();
	ops->req_notify_cq = real_req_notify;
	assert_int_equal(p->done, 1);
	assert_true(p->failed);
	queue_close(p);
}

static int (*real_poll)(struct ibv_cq *cq, int max, struct ibv_wc *wc);
static unsigned int polls_left;

static int poll_fails(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	if (!polls_left)
		return -1;
	polls_left--;
	return real_poll(cq, max, wc);
}

/* The poll fails at once, when there may be more completions, or after the queue was armed. */
static void a_queue_that_cannot_be_polled_fails(void **state)
{
	struct ibv_context_ops *ops = &fake_context()->ops;

	(void)state;
	real_poll = ops->poll_cq;
	for (unsigned int which = 0; which < 3; which++) {
		struct peer *p = queue_open(0);

		polls_left = which;
		ops->poll_cq = poll_fails;
		assert_true(send_byte(p));
		settle();
		ops->poll_cq = real_poll;
		assert_int_equal(p->done, !!which);
		assert_true(p->failed);
		queue_close(p);
	}
}

/* A queue that was stopped is not polled any more, even if an event was on its way. */
static void who_has_ended_is_not_heard(void **state)
{
	struct peer *p = queue_open(0);

	(void)state;
	assert_true(send_byte(p));
	cq_stop(&p->cq);
	settle();
	cq_event(&p->cq);
	settle();
	assert_int_equal(p->done, 0);
	queue_close(p);
}

/*
 * Messages
 */

static bool send_message(struct peer *p)
{
	p->sent++;
	return fake_send(&p->qp, "message", 8);
}

/* Each message makes another one. */
static unsigned int received(struct session *s, const void *msg, size_t len)
{
	struct peer *p = &peers[0];

	(void)msg;
	assert_ptr_equal(p->session, s);
	assert_int_equal(len, 8);
	if (p->flood && flooding())
		assert_true(send_message(p));
	return RDMABLK_OK;
}

static struct session *session_open(enum session_state how)
{
	struct session *s = calloc(1, sizeof(*s));
	struct peer *p = &peers[0];

	assert_non_null(s);
	memset(p, 0, sizeof(*p));
	p->session = s;
	s->cfg = &cfg;
	s->device = dev;
	s->pd = fake_pd();
	s->state = how;
	s->heard.last = loop_now();
	s->heard.silence_ms = 60000;
	s->receive = received;
	s->cq.completed = session_completed;
	s->cq.failed = session_cq_failed;
	assert_int_equal(cq_open(&s->cq, dev->channel, 64), 0);
	assert_int_equal(ctrl_create(&s->ctrl, s->pd), 0);
	fake_qp_init(&p->qp, s->cq.ibv);
	assert_int_equal(ctrl_start(&s->ctrl, &p->qp.qp), 0);
	return s;
}

static void session_close(struct session *s)
{
	loop_timer_stop(&s->timer);
	loop_timer_stop(&s->end.late);
	cq_stop(&s->cq);
	dev->completions.ready(&dev->completions);
	assert_false(cq_waits(&s->cq));
	assert_int_equal(cq_close(&s->cq), 0);
	ctrl_destroy(&s->ctrl);
	free(s);
}

/* The timer of a login ends it, although the peer sends without pause. */
static void messages_without_pause(void **state)
{
	struct session *s = session_open(SESSION_GRANTED);
	struct peer *p = &peers[0];

	(void)state;
	s->regions.nr = UINT32_MAX / 2;		/* allows as many messages */
	flood_until = loop_now() + FLOOD_MS;
	p->flood = true;
	session_login_timer(s);
	assert_true(send_message(p));
	assert_true(others_live());
	while (s->state < SESSION_CLOSING)
		settle();
	assert_true(flooding());
	assert_int_equal(s->end.reason, RDMABLK_R_LOGIN_TIMEOUT);
	session_close(s);
}

/* Return: how many messages it takes until the session ends. */
static uint64_t messages_until_end(struct session *s)
{
	struct peer *p = &peers[0];

	flood_until = loop_now() + FLOOD_MS;
	p->flood = true;
	assert_true(send_message(p));
	settle();
	while (flooding() && s->state < SESSION_CLOSING)
		settle();
	p->flood = false;
	assert_int_equal(s->state, SESSION_CLOSED);
	assert_int_equal(s->end.reason, RDMABLK_R_STATE);
	return s->heard.messages;
}

static void messages_are_counted(void **state)
{
	struct session *s = session_open(SESSION_LIVE);

	(void)state;
	assert_int_equal(messages_until_end(s), LIVE_MESSAGES + 1);
	session_close(s);
	s = session_open(SESSION_HELLO);
	assert_int_equal(messages_until_end(s), LIVE_MESSAGES + 1);
	session_close(s);
	s = session_open(SESSION_GRANTED);
	s->regions.nr = 100;
	assert_int_equal(messages_until_end(s), LIVE_MESSAGES + 101);
	session_close(s);
}

/* Sends @nr messages, one after the other. */
static void say(struct session *s, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t before = s->heard.messages;

		assert_true(send_message(&peers[0]));
		while (s->heard.messages == before)
			turn();
	}
}

/* The messages of a login with many regions do not count against the live session. */
static void a_login_counts_for_itself(void **state)
{
	struct session *s = session_open(SESSION_GRANTED);

	(void)state;
	s->regions.nr = RDMABLK_MAX_REGIONS;
	say(s, RDMABLK_MAX_REGIONS);
	session_live(s);
	say(s, LIVE_MESSAGES);
	assert_int_equal(s->state, SESSION_LIVE);
	session_close(s);
}

/* A session that has ended has room for messages under way, and reads none of them. */
static void who_is_told_to_go_is_not_listened_to(void **state)
{
	struct session *s = session_open(SESSION_LIVE);
	unsigned int room = 0;

	(void)state;
	session_end(s, RDMABLK_R_STATE);
	assert_int_equal(s->state, SESSION_CLOSED);
	while (room <= CTRL_RECVS && send_message(&peers[0])) {
		room++;
		settle();
	}
	assert_int_equal(room, CTRL_RECVS);
	assert_int_equal(s->heard.messages, 0);
	session_close(s);
}

static unsigned int received_last(struct session *s, const void *msg, size_t len)
{
	(void)s;
	(void)msg;
	(void)len;
	return RDMABLK_R_LOGOUT;
}

/* Messages that arrived before the connection was lost count, and no others. */
static void last_words_are_heard(void **state)
{
	struct session *s = session_open(SESSION_LIVE);
	struct conn data = { .owner = s };

	(void)state;
	s->receive = received_last;
	assert_true(send_message(&peers[0]));
	session_conn_event(&data, CONN_LOST);
	assert_int_equal(s->end.reason, RDMABLK_R_LOGOUT);
	session_close(s);
	s = session_open(SESSION_LIVE);
	data.owner = s;
	flood_until = loop_now() + FLOOD_MS;
	peers[0].flood = true;
	assert_true(send_message(&peers[0]));
	session_conn_event(&data, CONN_FAILED);
	assert_true(flooding());
	assert_int_equal(s->end.reason, RDMABLK_R_CONNECTION);
	assert_int_equal(s->heard.messages, CTRL_RECVS + CTRL_SENDS);
	session_close(s);
}

/*
 * A daemon that was stopped for long has many messages to read. A session does not count as
 * silent before the daemon has read its messages.
 */

static unsigned int hogs;

static void hog(struct loop_task *task)
{
	int64_t until = loop_now() + HOG_MS;

	while (loop_now() < until)
		;
	if (!hogs)
		return;
	hogs--;
	loop_task_start(task);
}

static void who_waits_to_be_heard_is_not_silent(void **state)
{
	static struct loop_task first[3] = { { .run = hog }, { .run = hog }, { .run = hog } };
	struct session *s = session_open(SESSION_GRANTED);

	(void)state;
	s->heard.silence_ms = 60000;
	session_live(s);
	s->heard.last -= s->heard.silence_ms + 1;
	loop_timer_start(&s->timer, 0);
	hogs = 2 * ARRAY_SIZE(first);
	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		loop_task_start(&first[i]);
	assert_true(send_message(&peers[0]));
	while (hogs)
		settle();
	settle();
	assert_int_equal(s->heard.messages, 1);
	assert_int_equal(s->state, SESSION_LIVE);
	/* a silent session is ended */
	s->heard.last -= s->heard.silence_ms + 1;
	loop_timer_start(&s->timer, 0);
	settle();
	assert_int_equal(s->end.reason, RDMABLK_R_EXPIRED);
	session_close(s);
}

static void gone(struct device *device)
{
	(void)device;
}

/* A device, and a descriptor that is always readable. */
static int begin(void **state)
{
	const struct sockaddr_in local = { .sin_family = AF_INET };
	struct ibv_context *verbs = fake_context();

	(void)state;
	verbs->device = &adapter;
	verbs->cmd_fd = -1;
	verbs->async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop_init())
		return -1;
	device_init(gone);
	dev = device_get(verbs, (const struct sockaddr *)&local);
	other.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	other.ready = other_ready;
	return dev ? loop_add(&other) : -1;
}

static int end(void **state)
{
	(void)state;
	device_put(dev);
	device_exit();
	loop_exit();
	close(other.fd);
	close(fake_context()->async_fd);
	return fake_objects() ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_without_pause),
		cmocka_unit_test(completions_without_pause),
		cmocka_unit_test(nothing_is_left_lying),
		cmocka_unit_test(a_queue_that_cannot_be_armed_fails),
		cmocka_unit_test(a_queue_that_cannot_be_polled_fails),
		cmocka_unit_test(who_has_ended_is_not_heard),
		cmocka_unit_test(messages_without_pause),
		cmocka_unit_test(messages_are_counted),
		cmocka_unit_test(a_login_counts_for_itself),
		cmocka_unit_test(who_is_told_to_go_is_not_listened_to),
		cmocka_unit_test(last_words_are_heard),
		cmocka_unit_test(who_waits_to_be_heard_is_not_silent),
	};

	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests(tests, begin, end);
}
