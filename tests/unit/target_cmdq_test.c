// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands thread of an export, which serves the sessions with an arena: it needs neither an
 * io_uring nor the loop, and a peer that sends without pause does not starve other sessions. In
 * this test every io_uring is refused.
 *
 * Sources: target/staged/lane.c target/staged/iothread.c target/base/ring.c
 *	   target/session/cmdq.c
 */
#include <errno.h>
#include <liburing.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target_cmdq.h"

#define SIZE		(1ULL << 20)
#define FLOOD_MOST	50000000	/* commands; a flood of so many has starved the others */

static sem_t begun, permit;	/* a work item of the store has begun; it may end */

/* A session and its only write queue */
static struct peer {
	struct cmdqs c;
	struct fake_qp qp;
	unsigned int reason;	/* why the session must end */
	bool ended, stopped, idle;	/* upcalls: the session must end, has stopped, is idle */
	bool flood;
	atomic_uint_fast64_t sent;
} peers[2];

/* Replaces the library's function: fails as with kernel.io_uring_disabled=2. */
int io_uring_queue_init_params(unsigned int entries, struct io_uring *uring,
			       struct io_uring_params *params)
{
	int error = -EPERM;

	(void)entries;
	(void)uring;
	(void)params;
	return error;
}

/* epoll_ctl() replaces the C library's: it may fail as if the host could watch no more. */
static atomic_bool epoll_full;

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD && atomic_load(&epoll_full)) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
}

static unsigned int fake_work(struct store *s, struct store_work *w, uint64_t offset,
			      uint64_t bytes)
{
	(void)s;
	(void)w;
	(void)offset;
	(void)bytes;
	sem_post(&begun);
	sem_wait(&permit);
	return RDMABLK_OK;
}

static void fake_flush(struct store *s, struct store_works *works)
{
	TAILQ_FIRST(works)->status = fake_work(s, NULL, 0, 0);
}

static const struct store_ops fake_ops = {
	.type = "fake", .work = fake_work, .flush = fake_flush,
};

/*
 * Sessions
 */

static void send_command(struct peer *p, uint16_t op, uint16_t tag)
{
	const struct rdmablk_command cmd = {
		.hdr = { .type = htole16(RDMABLK_MSG_COMMAND),
			 .length = htole16(sizeof(cmd)), .tag = htole16(tag) },
		.op = htole16(op),
		.bytes = htole64(op == RDMABLK_OP_WRITE_ZEROES ? 4096 : 0),
	};

	atomic_fetch_add(&p->sent, 1);
	assert_true(fake_send(&p->qp, &cmd, sizeof(cmd)));
}

static unsigned int wait_answer(struct peer *p, uint16_t tag)
{
	struct fake_answer a;

	assert_true(fake_answer(&p->qp, tag, &a));
	return RDMABLK_IMM_STATUS(a.imm);
}

static void failed(void *owner, unsigned int reason)
{
	struct peer *p = owner;

	p->reason = reason;
	p->ended = true;
	loop_stop();
}

static void stopped(void *owner)
{
	struct peer *p = owner;

	p->stopped = true;
	p->qp.dead = true;
	loop_stop();
}

static void idle(void *owner)
{
	struct peer *p = owner;

	assert_true(p->stopped);
	p->idle = true;
	loop_stop();
}

/* Return: 0, or -errno if the thread did not take the lane. */
static int peer_begin(struct peer *p)
{
	struct lanes *l = &p->c.lanes;

	memset(p, 0, sizeof(*p));
	l->threads = pool;
	l->scope = (struct wire_scope){ .size = SIZE, .logical_block = 512, .writer = true,
		.ops = UINT32_MAX, .max_zeroes = SIZE, .cmd_depth = CMDQ_DEPTH };
	l->owner = p;
	l->failed = failed;
	l->stopped = stopped;
	l->idle = idle;
	p->c.store = &store;
	return cmdq_open(&p->c, &dev, fake_pd(), 1);
}

static struct peer *peer_open(unsigned int i)
{
	struct peer *p = &peers[i];
	struct lanes *l = &p->c.lanes;
	struct conn_setup setup;

	assert_int_equal(peer_begin(p), 0);
	lane_setup(l, 0, &setup);
	fake_qp_init(&p->qp, setup.cq);
	assert_int_equal(lane_join(l, 0, &p->qp.qp), 0);
	lane_live(l);
	return p;
}

static void peer_stop(struct peer *p)
{
	lane_detach_all(&p->c.lanes);
	hear_of(&p->stopped);
}

static void peer_close(struct peer *p)
{
	peer_stop(p);
	hear_of(&p->idle);
	assert_int_equal(lane_close_all(&p->c.lanes), 0);
	cmdq_free(&p->c);
	assert_false(p->qp.late);
}

static uint64_t fences(const struct peer *p)
{
	struct store_counts sum = { 0 };

	lane_counts(&p->c.lanes, &sum);
	return sum.done[0];
}

/*
 * Tests
 */

/* The threads of an uncached file need an io_uring. The commands thread of an arena does not. */
static void without_an_io_uring(void **state)
{
	struct staged_file file = { .file = NULL };
	struct peer *p = peer_open(0);

	(void)state;
	assert_null(iothread_pool_start("unit", &file, 1, lane_turn));
	send_command(p, RDMABLK_OP_FENCE, 0);
	assert_int_equal(wait_answer(p, 0), RDMABLK_OK);
	assert_false(p->ended);
	peer_close(p);
}

/* Commands are begun, done and answered while the loop does not run. */
static void without_the_loop(void **state)
{
	static const uint16_t ops[] = {
		RDMABLK_OP_WRITE_ZEROES, RDMABLK_OP_FLUSH, RDMABLK_OP_FENCE
	};
	struct peer *p = peer_open(0);

	(void)state;
	for (uint16_t tag = 0; tag < ARRAY_SIZE(ops); tag++) {
		send_command(p, ops[tag], tag);
		if (ops[tag] != RDMABLK_OP_FENCE) {
			sem_wait(&begun);
			sem_post(&permit);
		}
		assert_int_equal(wait_answer(p, tag), RDMABLK_OK);
	}
	peer_close(p);
}

/* A slow command delays neither other sessions nor other commands of the same session. */
static void a_slow_command_is_alone(void **state)
{
	struct peer *slow = peer_open(0), *p = peer_open(1);

	(void)state;
	send_command(slow, RDMABLK_OP_WRITE_ZEROES, 0);
	sem_wait(&begun);
	send_command(p, RDMABLK_OP_FENCE, 0);
	assert_int_equal(wait_answer(p, 0), RDMABLK_OK);
	send_command(slow, RDMABLK_OP_FENCE, 1);
	assert_int_equal(wait_answer(slow, 1), RDMABLK_OK);
	/* the slow session stops at once, and is idle only when its command has ended */
	peer_stop(slow);
	send_command(p, RDMABLK_OP_FENCE, 1);
	assert_int_equal(wait_answer(p, 1), RDMABLK_OK);
	pool->inbox.source.ready(&pool->inbox.source);
	assert_false(slow->idle);
	assert_true(cmdq_busy(&slow->c));
	sem_post(&permit);
	hear_of(&slow->idle);
	assert_false(cmdq_busy(&slow->c));
	peer_close(slow);
	peer_close(p);
}

/* While the peer floods, it sends a new command for each answer. */
static void answered(struct fake_qp *qp)
{
	struct peer *p = container_of(qp, struct peer, qp);

	while (p->flood && qp->nr_answers) {
		uint16_t tag = (uint16_t)(qp->answers[--qp->nr_answers].imm >> 16);

		if (atomic_load(&p->sent) < FLOOD_MOST)
			send_command(p, RDMABLK_OP_FENCE, tag);
	}
}

static struct watch {
	struct ring_note note;
	sem_t run;
} watch;

static void watch_run(struct ring_note *note)
{
	(void)note;
	sem_post(&watch.run);
}

static void without_pause(void **state)
{
	struct peer *p = peer_open(0), *quiet = peer_open(1);

	(void)state;
	p->flood = true;
	p->qp.sent = answered;
	for (uint16_t tag = 0; tag < CMDQ_DEPTH; tag++)
		send_command(p, RDMABLK_OP_FENCE, tag);
	send_command(quiet, RDMABLK_OP_FENCE, 0);
	assert_int_equal(wait_answer(quiet, 0), RDMABLK_OK);
	/* notes get their turn, too: those of the watchdog, and of sessions that begin or end */
	sem_init(&watch.run, 0, 0);
	watch.note.run = watch_run;
	ring_tell(&pool->thread[0].engine.ring, &watch.note);
	sem_wait(&watch.run);
	peer_close(quiet);
	assert_true(atomic_load(&p->sent) > CMDQ_DEPTH);
	peer_close(p);
	assert_true(atomic_load(&p->sent) < FLOOD_MOST);
	assert_false(p->ended);
}

/*
 * Commands that arrive just before the completion queue is armed, and just after
 */

static int (*real_req_notify)(struct ibv_cq *cq, int solicited);
static int (*real_poll)(struct ibv_cq *cq, int max, struct ibv_wc *wc);
static atomic_bool before_it, after_it, gated;

static int req_notify(struct ibv_cq *cq, int solicited)
{
	int ret;

	if (atomic_exchange(&before_it, false))
		send_command(&peers[0], RDMABLK_OP_FENCE, 1);
	ret = real_req_notify(cq, solicited);
	if (atomic_exchange(&after_it, false))
		send_command(&peers[0], RDMABLK_OP_FENCE, 2);
	return ret;
}

static int poll_gated(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	while (atomic_load(&gated))
		sched_yield();
	return real_poll(cq, max, wc);
}

/*
 * The queue is armed after a completion was handled, or after the queue was found empty. No
 * command stays unnoticed. The completions of sends are released between the rounds only, so
 * that they do not cause a poll.
 */
static void nothing_is_left_lying(void **state)
{
	struct ibv_context_ops *ops = &fake_context()->ops;
	struct peer *p;

	(void)state;
	real_req_notify = ops->req_notify_cq;
	real_poll = ops->poll_cq;
	ops->req_notify_cq = req_notify;
	ops->poll_cq = poll_gated;
	p = peer_open(0);
	for (unsigned int which = 0; which < 8; which++) {
		atomic_store(&gated, true);
		p->qp.hold = true;
		send_command(p, RDMABLK_OP_FENCE, 0);
		if (which & 4)
			send_command(p, RDMABLK_OP_FENCE, 3);
		atomic_store(&before_it, which & 1);
		atomic_store(&after_it, which & 2);
		atomic_store(&gated, false);
		assert_int_equal(wait_answer(p, 0), RDMABLK_OK);
		if (which & 4)
			assert_int_equal(wait_answer(p, 3), RDMABLK_OK);
		for (uint16_t tag = 1; tag <= 2; tag++)
			if (which & tag)
				assert_int_equal(wait_answer(p, tag), RDMABLK_OK);
		fake_release(&p->qp);
	}
	assert_int_equal(fences(p), atomic_load(&p->sent));
	peer_close(p);
	ops->req_notify_cq = real_req_notify;
	ops->poll_cq = real_poll;
}

static int cannot_notify(struct ibv_cq *cq, int solicited)
{
	int error = EIO;

	(void)cq;
	(void)solicited;
	return error;
}

static int cannot_poll(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int error = -1;

	(void)cq;
	(void)max;
	(void)wc;
	return error;
}

/* If a completion queue can no longer be polled or armed, the session ends: connection lost. */
static void a_device_that_fails_ends_its_sessions(void **state)
{
	struct ibv_context_ops *ops = &fake_context()->ops;
	struct peer *p;

	(void)state;
	real_req_notify = ops->req_notify_cq;
	real_poll = ops->poll_cq;
	for (int which = 0; which < 2; which++) {
		p = peer_open(0);
		if (which)
			ops->poll_cq = cannot_poll;
		else
			ops->req_notify_cq = cannot_notify;
		send_command(p, RDMABLK_OP_FENCE, 0);
		hear_of(&p->ended);
		assert_int_equal(p->reason, RDMABLK_R_CONNECTION);
		assert_int_equal(fences(p), !which);
		peer_close(p);
		ops->poll_cq = real_poll;
		ops->req_notify_cq = real_req_notify;
	}
}

/*
 * A session whose lane the thread cannot take, or takes too late, ends like any other
 */

static void a_lane_that_cannot_be_attached_leaves(void **state)
{
	struct ibv_context_ops *ops = &fake_context()->ops;
	struct peer *p = &peers[0];

	(void)state;
	real_req_notify = ops->req_notify_cq;
	for (int which = 0; which < 2; which++) {
		atomic_store(&epoll_full, !which);
		if (which)
			ops->req_notify_cq = cannot_notify;
		assert_int_equal(peer_begin(p), which ? -EIO : -ENOSPC);
		atomic_store(&epoll_full, false);
		ops->req_notify_cq = real_req_notify;
		peer_close(p);
		assert_int_equal(fake_objects(), 0);
	}
	/* the thread still serves other sessions */
	p = peer_open(0);
	send_command(p, RDMABLK_OP_FENCE, 0);
	assert_int_equal(wait_answer(p, 0), RDMABLK_OK);
	peer_close(p);
}

static struct hang {
	struct ring_note note;
	sem_t end;
} hang;

static void hang_run(struct ring_note *note)
{
	(void)note;
	sem_wait(&hang.end);
}

static void a_session_ends_before_its_lane_is_attached(void **state)
{
	struct peer *p = &peers[0];

	(void)state;
	sem_init(&hang.end, 0, 0);
	hang.note.run = hang_run;
	ring_tell(&pool->thread[0].engine.ring, &hang.note);
	assert_int_equal(peer_begin(p), -ETIMEDOUT);
	lane_detach_all(&p->c.lanes);
	pool->inbox.source.ready(&pool->inbox.source);
	assert_false(p->stopped);
	sem_post(&hang.end);
	peer_close(p);
	assert_int_equal(fake_objects(), 0);
}

/* The channel breaks when its device is gone. There may be no other sign of that. */
static void a_channel_that_breaks_ends_its_session(void **state)
{
	struct peer *p = peer_open(0);

	(void)state;
	fake_break(p->c.lanes.lane->channel);
	hear_of(&p->ended);
	assert_int_equal(p->reason, RDMABLK_R_CONNECTION);
	peer_close(p);
}

/* A session that must end handles no more commands, even before it is told to stop. */
static void who_has_ended_is_not_heard(void **state)
{
	struct ibv_context_ops *ops = &fake_context()->ops;
	struct peer *p;

	(void)state;
	real_poll = ops->poll_cq;
	ops->poll_cq = poll_gated;
	p = peer_open(0);
	/* both are polled together */
	atomic_store(&gated, true);
	assert_true(fake_send(&p->qp, "x", 1));
	send_command(p, RDMABLK_OP_FENCE, 0);
	atomic_store(&gated, false);
	hear_of(&p->ended);
	assert_int_equal(p->reason, RDMABLK_R_MALFORMED);
	send_command(p, RDMABLK_OP_FENCE, 1);
	peer_stop(p);
	send_command(p, RDMABLK_OP_FENCE, 2);
	assert_int_equal(fences(p), 0);
	peer_close(p);
	ops->poll_cq = real_poll;
}

/* The heartbeat of the export's thread, which answers the watchdog */

static struct heartbeat *beat;

static void the_watchdog_is_answered(void **state)
{
	int64_t until = loop_now() + PATIENCE_MS;

	(void)state;
	beat = &pool->thread[0].heartbeat;
	assert_true(beat->watched);
	/* the thread waits for no file, so a hang must come from the adapter */
	assert_string_equal(beat->kind, "commands");
	assert_string_equal(beat->suspect, "adapter");
	atomic_store(&beat->asked, true);
	beat->ask(beat);
	while (atomic_load(&beat->asked) && loop_now() < until)
		;
	assert_false(atomic_load(&beat->asked));
}

static int begin(void **state)
{
	(void)state;
	sem_init(&begun, 0, 0);
	sem_init(&permit, 0, 0);
	return export_start(&fake_ops);
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)	/* for work items that a failed test has left */
		sem_post(&permit);
	return export_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_an_io_uring),
		cmocka_unit_test(without_the_loop),
		cmocka_unit_test(a_slow_command_is_alone),
		cmocka_unit_test(without_pause),
		cmocka_unit_test(nothing_is_left_lying),
		cmocka_unit_test(a_device_that_fails_ends_its_sessions),
		cmocka_unit_test(a_lane_that_cannot_be_attached_leaves),
		cmocka_unit_test(a_session_ends_before_its_lane_is_attached),
		cmocka_unit_test(a_channel_that_breaks_ends_its_session),
		cmocka_unit_test(who_has_ended_is_not_heard),
		cmocka_unit_test(the_watchdog_is_answered),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
