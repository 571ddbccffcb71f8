/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A daemon in one thread. The event loop, the workers, the adapter and librdmacm are fakes,
 * and this thread is also the commands thread of an export. Time passes when the harness
 * lets it. The harness sees every message that the daemon sends, decides what arrives, and
 * may hold back jobs, completions of sends, and messages.
 *
 * The harness defines struct peer, with at least
 *
 *	struct rdma_cm_id id
 *	bool gone			the daemon has let go of it
 *
 * and, called from here:
 *
 *	peer_sent()	a message of the daemon on a control queue
 *	peer_answered()	a SEND of the daemon on a write queue
 *	peer_arrives()	a message is about to be handled by the daemon
 *	peer_handled()	it has been
 *	peer_accepted()	a connection request is accepted
 *	peer_refused()	it is rejected
 *	queue_ready()	a queue pair has got its rights
 *	memory_ready()	memory is registered for remote use
 *	io_begins()	a command of an uncached file begins its I/O
 */
#ifndef TARGET_WORLD_H
#define TARGET_WORLD_H

#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "../../target/base/loop.h"
#include "../../target/base/util.h"
#include "../../target/base/worker.h"
#include "../../target/rdma/cm.h"
#include "../../target/rdma/cq.h"
#include "../../target/rdma/device.h"
#include "../../target/session/session.h"
#include "../../target/staged/lane.h"
#include "staged_world.h"

#define QPN_TARGET	0x500	/* of the daemon's first queue pair */
#define WRS		256	/* completions of a queue, at most */

/* @cond: must hold, whatever the input is */
#define CHECK(cond)								\
	do {									\
		if (!(cond)) {							\
			fprintf(stderr, "ERROR: %s:%d: not so: %s\n", __FILE__,	\
				__LINE__, #cond);				\
			abort();						\
		}								\
	} while (0)

struct peer;

static void peer_sent(struct peer *p, const void *msg, size_t len);
static void peer_answered(const struct conn *conn, const struct ibv_send_wr *wr);
static void peer_arrives(struct peer *p);
static void peer_handled(struct peer *p);
static void peer_accepted(struct peer *p, const struct conn *conn,
			  const struct rdma_conn_param *param);
static void peer_refused(struct peer *p, const void *data, size_t len);
static void queue_ready(const struct conn *conn, unsigned int access);
static void memory_ready(const struct session *s, int access);

static struct {
	unsigned int jobs, timers, pds, cqs, qps, mrs, ids, channels;
	unsigned int events, events_taken;	/* of channels; those that a lane has not taken */
	bool hold_jobs, hold_sends, hold_messages;
	unsigned int shortage;		/* the adapter has no room for the object of that number */
	unsigned int buffers;		/* registered with the ring */
	uint32_t qpn, imm;		/* @imm: immediate data of the next completion */
} world = { .qpn = QPN_TARGET };

/*
 * Loop
 */

static int64_t world_ms = 1000000;
static TAILQ_HEAD(, loop_timer) timers = TAILQ_HEAD_INITIALIZER(timers);
static TAILQ_HEAD(, loop_task) tasks = TAILQ_HEAD_INITIALIZER(tasks);
static struct job_list jobs = TAILQ_HEAD_INITIALIZER(jobs);

int64_t loop_now(void)
{
	return world_ms;
}

int loop_add(struct loop_source *src)
{
	(void)src;
	return 0;
}

void loop_del(struct loop_source *src)
{
	(void)src;
}

void loop_watch(struct loop_source *src, bool input, bool output)
{
	(void)src;
	(void)input;
	(void)output;
}

void loop_timer_stop(struct loop_timer *timer)
{
	if (!timer->armed)
		return;
	TAILQ_REMOVE(&timers, timer, entry);
	timer->armed = false;
	world.timers--;
}

void loop_timer_start(struct loop_timer *timer, int64_t ms)
{
	struct loop_timer *t;

	loop_timer_stop(timer);
	timer->deadline = world_ms + ms;
	timer->armed = true;
	world.timers++;
	TAILQ_FOREACH(t, &timers, entry)
		if (t->deadline > timer->deadline)
			break;
	if (t)
		TAILQ_INSERT_BEFORE(t, timer, entry);
	else
		TAILQ_INSERT_TAIL(&timers, timer, entry);
}

void loop_task_start(struct loop_task *task)
{
	if (!task->queued)
		TAILQ_INSERT_TAIL(&tasks, task, entry);
	task->queued = true;
}

void loop_task_stop(struct loop_task *task)
{
	if (task->queued)
		TAILQ_REMOVE(&tasks, task, entry);
	task->queued = false;
}

int loop_inbox_open(struct loop_inbox *inbox)
{
	TAILQ_INIT(&inbox->notes);
	return 0;
}

void loop_inbox_post(struct loop_inbox *inbox, struct loop_note *note)
{
	TAILQ_INSERT_TAIL(&inbox->notes, note, entry);
}

void loop_inbox_ignore(struct loop_inbox *inbox)
{
	TAILQ_INIT(&inbox->notes);
}

void loop_inbox_close(struct loop_inbox *inbox)
{
	(void)inbox;
}

void worker_submit(struct job *job)
{
	TAILQ_INSERT_TAIL(&jobs, job, entry);
	world.jobs++;
}

/* For threads of staged stores, which do not exist here */
void worker_init(struct worker *w, const char *name, unsigned int threads)
{
	(void)w;
	(void)name;
	(void)threads;
	abort();
}

int worker_add(struct worker *w, struct job *job)
{
	(void)w;
	(void)job;
	abort();
}

bool worker_end(struct worker *w, unsigned int seconds)
{
	(void)w;
	(void)seconds;
	abort();
}

/* The oldest job; false: there is none */
static bool world_work(void)
{
	struct job *job = TAILQ_FIRST(&jobs);

	if (!job)
		return false;
	TAILQ_REMOVE(&jobs, job, entry);
	world.jobs--;
	job->run(job);
	job->done(job);
	return true;
}

/*
 * Verbs
 */

struct fake_cq {
	struct ibv_cq ibv;
	struct ibv_wc wc[WRS];
	struct peer *from[WRS];		/* of a message, else NULL */
	unsigned int first, nr;
	struct peer *handled;		/* the last one that was polled */
	bool armed;
};

/* A completion queue of a lane, or of the device, which has no events */
struct fake_channel {
	struct ibv_comp_channel ibv;
	struct ibv_cq *cq;
	bool event;			/* one has come that was not taken */
};

struct fake_qp {
	TAILQ_ENTRY(fake_qp) entry;
	struct ibv_qp ibv;
	struct ibv_cq *cq;
	uint64_t recv_id[WRS], recv_addr[WRS];
	uint32_t recv_len[WRS];
	unsigned int first_recv, nr_recvs;
	uint64_t unsaid[WRS];		/* sends that have not completed */
	unsigned int nr_unsaid;
	struct ibv_qp_cap cap;
	bool control;
};

static TAILQ_HEAD(, fake_qp) qps = TAILQ_HEAD_INITIALIZER(qps);

static struct conn *conn_of(const struct ibv_qp *qp)
{
	return container_of(qp->qp_context, struct conn, qp);
}

static struct ibv_comp_channel channel;

static void channel_event(struct ibv_comp_channel *ibv)
{
	struct fake_channel *ch = container_of(ibv, struct fake_channel, ibv);

	CHECK(!ch->event);
	ch->event = true;
	world.events++;
	CHECK(!eventfd_write(ibv->fd, 1));
}

static void world_complete(struct ibv_cq *ibv, const struct ibv_wc *wc, struct peer *from)
{
	struct fake_cq *cq = container_of(ibv, struct fake_cq, ibv);
	unsigned int at = (cq->first + cq->nr++) % WRS;

	CHECK(cq->nr <= WRS);
	cq->wc[at] = *wc;
	cq->from[at] = from;
	if (!cq->armed)
		return;
	cq->armed = false;
	if (ibv->channel == &channel)
		cq_event(ibv->cq_context);
	else
		channel_event(ibv->channel);
}

/* The message of the previous poll has been handled by now. */
static void world_handled(struct fake_cq *cq)
{
	struct peer *p = cq->handled;

	cq->handled = NULL;
	if (p)
		peer_handled(p);
}

static int poll_cq(struct ibv_cq *ibv, int most, struct ibv_wc *wc)
{
	struct fake_cq *cq = container_of(ibv, struct fake_cq, ibv);

	CHECK(most == 1 || ibv->channel != &channel);
	world_handled(cq);
	if (!cq->nr)
		return 0;
	*wc = cq->wc[cq->first];
	cq->handled = cq->from[cq->first];
	cq->first = (cq->first + 1) % WRS;
	cq->nr--;
	if (cq->handled)
		peer_arrives(cq->handled);
	return 1;
}

static int req_notify(struct ibv_cq *ibv, int solicited)
{
	(void)solicited;
	container_of(ibv, struct fake_cq, ibv)->armed = true;
	return 0;
}

static int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *qp = container_of(ibv, struct fake_qp, ibv);

	(void)bad;
	for (; wr; wr = wr->next) {
		unsigned int at = (qp->first_recv + qp->nr_recvs) % WRS;

		CHECK(++qp->nr_recvs <= qp->cap.max_recv_wr);
		qp->recv_id[at] = wr->wr_id;
		qp->recv_addr[at] = wr->sg_list ? wr->sg_list->addr : 0;
		qp->recv_len[at] = wr->sg_list ? wr->sg_list->length : 0;
	}
	return 0;
}

static struct peer *peer_of_id(struct rdma_cm_id *id);

/* Unsignalled sends complete without a completion. */
static int post_answers(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	for (; wr; wr = wr->next) {
		CHECK(qp->nr_unsaid < qp->cap.max_send_wr);
		if (wr->send_flags & IBV_SEND_SIGNALED)
			qp->unsaid[qp->nr_unsaid++] = wr->wr_id;
		peer_answered(conn_of(&qp->ibv), wr);
	}
	return 0;
}

static int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = container_of(ibv, struct fake_qp, ibv);

	(void)bad;
	if (!qp->control)
		return post_answers(qp, wr);
	CHECK(wr->opcode == IBV_WR_SEND && qp->nr_unsaid < CTRL_SENDS);
	qp->unsaid[qp->nr_unsaid++] = wr->wr_id;
	peer_sent(peer_of_id(conn_of(ibv)->id), (const void *)(uintptr_t)wr->sg_list->addr,
		  wr->sg_list->length);
	return 0;
}

static struct ibv_context verbs = {
	.ops = { .post_recv = post_recv, .post_send = post_send, .poll_cq = poll_cq,
		 .req_notify_cq = req_notify },
};

static bool is_short(void)
{
	if (!world.shortage || --world.shortage)
		return false;
	errno = ENOMEM;
	return true;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *v)
{
	struct fake_channel *ch;

	if (is_short())
		return NULL;
	ch = calloc(1, sizeof(*ch));
	ch->ibv.context = v;
	ch->ibv.fd = eventfd(0, EFD_CLOEXEC);
	CHECK(ch->ibv.fd >= 0);
	world.channels++;
	return &ch->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct fake_channel *ch = container_of(ibv, struct fake_channel, ibv);

	CHECK(!ch->cq);
	world.events -= ch->event;
	close(ibv->fd);
	free(ch);
	world.channels--;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq, void **context)
{
	struct fake_channel *ch = container_of(ibv, struct fake_channel, ibv);
	eventfd_t n;

	if (eventfd_read(ibv->fd, &n))
		return -1;
	CHECK(ch->event && ch->cq);
	ch->event = false;
	world.events--;
	world.events_taken++;
	ch->cq->comp_events_completed++;
	*cq = ch->cq;
	*context = ch->cq->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	CHECK(nevents <= cq->comp_events_completed);
	cq->comp_events_completed -= nevents;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *v)
{
	struct ibv_pd *pd;

	if (is_short())
		return NULL;
	pd = calloc(1, sizeof(*pd));
	pd->context = v;
	world.pds++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	world.pds--;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *v, int cqe, void *context,
			     struct ibv_comp_channel *to, int vector)
{
	struct fake_cq *cq;

	(void)cqe;
	(void)vector;
	if (is_short())
		return NULL;
	cq = calloc(1, sizeof(*cq));
	cq->ibv.context = v;
	cq->ibv.cq_context = context;
	cq->ibv.channel = to;
	if (to != &channel)
		container_of(to, struct fake_channel, ibv)->cq = &cq->ibv;
	world.cqs++;
	return &cq->ibv;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	CHECK(!ibv->comp_events_completed);
	if (ibv->channel != &channel)
		container_of(ibv->channel, struct fake_channel, ibv)->cq = NULL;
	world_handled(container_of(ibv, struct fake_cq, ibv));
	free(container_of(ibv, struct fake_cq, ibv));
	world.cqs--;
	return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, int access)
{
	const struct session *s = NULL;
	static uint32_t rkey = 0x7000;
	struct ibv_mr *mr;

	if (is_short())
		return NULL;
	mr = calloc(1, sizeof(*mr));
	mr->lkey = ++rkey;
	mr->rkey = rkey;
	world.mrs++;
	while (access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE) &&
	       (s = session_next(s)))
		if (s->pd == pd)
			memory_ready(s, access);
	return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	(void)addr;
	(void)length;
	return register_memory(pd, access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	(void)addr;
	(void)length;
	(void)iova;
	return register_memory(pd, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	(void)addr;
	(void)length;
	(void)iova;
	return register_memory(pd, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	world.mrs--;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_qp *qp;

	if (is_short())
		return NULL;
	qp = calloc(1, sizeof(*qp));
	qp->ibv.context = pd->context;
	qp->ibv.qp_context = attr->qp_context;
	qp->ibv.qp_num = world.qpn++;
	qp->cq = attr->recv_cq;
	qp->control = !conn_of(&qp->ibv)->queue;
	qp->cap = attr->cap;
	TAILQ_INSERT_TAIL(&qps, qp, entry);
	world.qps++;
	return &qp->ibv;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (attr->qp_state == IBV_QPS_INIT || mask & IBV_QP_ACCESS_FLAGS)
		queue_ready(conn_of(qp), attr->qp_access_flags);
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct fake_qp *qp = container_of(ibv, struct fake_qp, ibv);

	TAILQ_REMOVE(&qps, qp, entry);
	free(qp);
	world.qps--;
	return 0;
}

/*
 * The device, and librdmacm
 */

static struct ibv_comp_channel channel = { .context = &verbs };
static struct device device = {
	.verbs = &verbs,
	.attr = { .max_mr_size = 1 << 30, .max_cqe = 1 << 20, .max_qp_rd_atom = 16 },
	.name = "fake0",
	.channel = &channel,
};

struct device *device_get(struct ibv_context *v, const struct sockaddr *local)
{
	(void)v;
	(void)local;
	device.users++;
	return &device;
}

void device_put(struct device *dev)
{
	dev->users--;
}

void device_remove(struct device *dev)
{
	session_end_device(dev);
}

uint8_t device_read_depth(const struct device *dev)
{
	return (uint8_t)dev->attr.max_qp_rd_atom;
}

const char *device_error_text(int ret)
{
	return strerror(-ret);
}

static struct cm_handler *listening;

struct rdma_cm_id *cm_create_id(struct cm_handler *handler)
{
	static struct rdma_cm_id id = { .verbs = &verbs };

	listening = handler;
	id.context = handler;
	return &id;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	(void)id;
	(void)level;
	(void)name;
	(void)value;
	(void)len;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)id;
	(void)addr;
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id;
	(void)backlog;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	(void)id;
	(void)attr;
	*mask = IBV_QP_STATE;
	return 0;
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	(void)id;
	(void)event;
	return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	const struct conn *conn = container_of(id->context, struct conn, cm);

	CHECK(param->qp_num == conn->pair->qp_num);
	peer_accepted(peer_of_id(id), conn, param);
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	peer_refused(peer_of_id(id), data, len);
	return 0;
}

/*
 * The commands thread is this thread, so that a run can be repeated exactly
 */

static struct iothread_pool *world_pool;

struct iothread_pool *iothread_pool_start(const char *name, struct staged_file *sf,
					  unsigned int nr, void (*turn)(struct iothread *t))
{
	struct iothread *t;

	(void)name;
	(void)sf;
	(void)nr;
	if (world_pool)
		return world_pool;
	world_pool = calloc(1, sizeof(*world_pool) + sizeof(*t));
	t = &world_pool->thread[0];
	world_pool->name = "all";
	world_pool->kind = "commands";
	world_pool->file = &uncached.staged;
	world_pool->turn = turn;
	world_pool->nr = 1;
	t->all = world_pool;
	TAILQ_INIT(&t->polled);
	TAILQ_INIT(&t->answering);
	uncached.threads = world_pool;
	CHECK(!loop_inbox_open(&world_pool->inbox));
	CHECK(!ring_init_epoll(&t->engine.ring));
	return world_pool;
}

/* A turn of the thread; false: there was nothing to do */
static bool lane_step(void)
{
	struct iothread *t = world_pool ? &world_pool->thread[0] : NULL;
	unsigned int taken = world.events_taken;
	bool more;

	if (!t)
		return false;
	more = !TAILQ_EMPTY(&t->engine.ring.notes) || !TAILQ_EMPTY(&t->polled) ||
	       !TAILQ_EMPTY(&t->answering);
	if (!more && !world.events)
		return false;
	ring_turn(&t->engine.ring, false);
	t->all->turn(t);
	return more || world.events_taken != taken;
}

/* Return: false if the thread has no request for the loop. */
static bool inbox_step(void)
{
	struct loop_notes *notes = world_pool ? &world_pool->inbox.notes : NULL;
	struct loop_note *note = notes ? TAILQ_FIRST(notes) : NULL;

	if (!note)
		return false;
	TAILQ_REMOVE(notes, note, entry);
	note->run(note);
	return true;
}

/*
 * A worker waits for the thread. While messages are held back, the thread does not answer
 * in time.
 */
int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t clock,
			   const struct timespec *until)
{
	int late = ETIMEDOUT;

	(void)cond;
	(void)clock;
	(void)until;
	if (world.hold_messages)
		return late;
	pthread_mutex_unlock(lock);
	lane_step();
	pthread_mutex_lock(lock);
	return 0;
}

void iothread_pool_attach(struct iothread_pool *all)
{
	(void)all;
}

void iothread_pool_detach(struct iothread_pool *all)
{
	(void)all;
}

void iothread_pool_stop(struct iothread_pool *all)
{
	(void)all;
}

int iothread_get_buffer(struct iothread *t, void *from, size_t bytes, bool writer)
{
	(void)t;
	(void)from;
	(void)bytes;
	(void)writer;
	return is_short() ? -ENOSPC : (int)world.buffers++;
}

void iothread_put_buffer(struct iothread *t, unsigned int place)
{
	(void)t;
	(void)place;
	CHECK(world.buffers--);
}

/*
 * Functions for the harness
 */

/* Runs everything that can run now. */
static void world_settle(void)
{
	struct loop_task *task;
	struct fake_qp *qp;
	bool more = true;

	while (more) {
		more = !world.hold_jobs && (world_work() || inbox_step() || store_step() ||
						 io_settle());
		more |= !world.hold_messages && lane_step();
		TAILQ_FOREACH(qp, &qps, entry) {
			for (unsigned int i = 0; !world.hold_sends && i < qp->nr_unsaid; i++) {
				const struct ibv_wc wc = { .wr_id = qp->unsaid[i],
							   .opcode = IBV_WC_SEND };

				world_complete(qp->cq, &wc, NULL);
				more = true;
			}
			if (!world.hold_sends)
				qp->nr_unsaid = 0;
		}
		while (!world.hold_messages && (task = TAILQ_FIRST(&tasks))) {
			loop_task_stop(task);
			task->run(task);
			more = true;
		}
	}
}

/* Lets time pass; due timers expire. */
static void world_advance(int64_t ms)
{
	int64_t until = world_ms + ms;
	struct loop_timer *timer;

	while ((timer = TAILQ_FIRST(&timers)) && timer->deadline <= until) {
		if (world_ms < timer->deadline)
			world_ms = timer->deadline;
		loop_timer_stop(timer);
		timer->expired(timer);
		world_settle();
	}
	world_ms = until;
}

/*
 * Delivers a message, or a completion in its place, to the queue pair. Return: false if it
 * has no receive.
 */
static bool world_receive_as(enum ibv_wc_opcode opcode, struct ibv_qp *ibv, const void *msg,
			     size_t len, enum ibv_wc_status status, struct peer *from)
{
	struct fake_qp *qp = container_of(ibv, struct fake_qp, ibv);
	struct ibv_wc wc = { .status = status, .opcode = opcode, .imm_data = htobe32(world.imm) };

	if (!qp->nr_recvs)
		return false;
	wc.wr_id = qp->recv_id[qp->first_recv];
	wc.byte_len = (uint32_t)len;
	if (opcode == IBV_WC_RECV && len > qp->recv_len[qp->first_recv])
		wc.status = IBV_WC_LOC_LEN_ERR;
	else if (msg)
		memcpy((void *)(uintptr_t)qp->recv_addr[qp->first_recv], msg, len);
	qp->first_recv = (qp->first_recv + 1) % WRS;
	qp->nr_recvs--;
	world_complete(qp->cq, &wc, from);
	return true;
}

static bool world_receive(struct ibv_qp *ibv, const void *msg, size_t len,
			  enum ibv_wc_status status, struct peer *from)
{
	return world_receive_as(IBV_WC_RECV, ibv, msg, len, status, from);
}

#endif
