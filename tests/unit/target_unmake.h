/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions on a fake device that refuses or waits when the test says so, for the tests of how
 * sessions end
 */
#ifndef TARGET_UNMAKE_H
#define TARGET_UNMAKE_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/base/util.h"
#include "../../target/export/quota.h"
#include "../../target/session/session.h"

/* In the order in which a session destroys them */
enum object {
	QP,
	MR,
	CQ,
	PD,
	ID,
	OBJECTS,
};

static struct {
	int have[OBJECTS];
	int refuse[OBJECTS];	/* refusals of the device to come */
	bool early;		/* something was destroyed too early */
	struct ibv_qp *qp;	/* the last one made */
	struct ibv_cq *cq;
	uint64_t receive;	/* address of the last receive */
	void *stuck[16];	/* objects to be freed later */
	unsigned int nr_stuck;
	bool no_receive;
	bool accepts;		/* rdma_accept() succeeds */
	bool full[OBJECTS];	/* the device makes no more of them */
	bool gone;
	bool in_loop;		/* the loop made or destroyed a queue pair, which may take long */
	bool stop;		/* stop the loop after the next answer */
	unsigned int rejects;
	unsigned int reason;	/* reason of the last reject */
	sem_t *hold;		/* making a queue pair waits for it */
	sem_t begun;		/* posted when that wait begins */
	enum ibv_qp_state state;	/* state of the last queue pair */
	unsigned int access;
	pthread_t loop;
} fake;

static void *made(enum object object, void *p)
{
	fake.have[object] += !!p;
	return p;
}

static int destroyed(enum object object, void *p)
{
	int busy = fake.refuse[object] ? EBUSY : 0;

	for (enum object o = QP; o < object && object != ID; o++)
		fake.early = fake.early || fake.have[o];
	if (busy) {
		fake.refuse[object]--;
		return busy;
	}
	fake.have[object]--;
	free(p);
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *verbs)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = verbs;
	return made(PD, pd);
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return destroyed(PD, pd);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *verbs, int cqe, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq;

	if (fake.full[CQ]) {
		errno = ENOMEM;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	(void)cqe;
	(void)vector;
	cq->context = verbs;
	cq->cq_context = context;
	cq->channel = channel;
	fake.cq = cq;
	return made(CQ, cq);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return destroyed(CQ, cq);
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	(void)pd;
	(void)addr;
	(void)length;
	(void)access;
	return made(MR, calloc(1, sizeof(struct ibv_mr)));
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	return destroyed(MR, mr);
}

static void made_where(void)
{
	fake.in_loop = fake.in_loop || pthread_equal(pthread_self(), fake.loop);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	made_where();
	if (fake.hold) {
		sem_post(&fake.begun);
		sem_wait(fake.hold);
	}
	if (fake.full[QP]) {
		errno = ENOMEM;
		return NULL;
	}
	fake.qp = made(QP, calloc(1, sizeof(*fake.qp)));
	fake.qp->context = pd->context;
	fake.qp->qp_context = attr->qp_context;
	fake.qp->qp_num = 77;
	return fake.qp;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	(void)id;
	made_where();
	attr->qp_access_flags = ~0U;
	*mask = IBV_QP_STATE;
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	struct rdmablk_cm_reject reject;

	(void)id;
	assert_int_equal(len, sizeof(reject));
	memcpy(&reject, data, sizeof(reject));
	fake.rejects++;
	fake.reason = le16toh(reject.reason);
	if (fake.stop)
		loop_stop();
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	made_where();
	return destroyed(QP, qp);
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	return destroyed(ID, id);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)mask;
	made_where();
	assert_ptr_equal(qp, fake.qp);
	fake.state = attr->qp_state;
	if (attr->qp_state == IBV_QPS_INIT)
		fake.access = attr->qp_access_flags;
	return 0;
}

/* In the loop, librdmacm would modify a queue pair that it knows, even after its end. */
int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	assert_null(id->qp);
	assert_int_equal(param->qp_num, 77);
	assert_int_equal(fake.state, IBV_QPS_RTS);
	if (fake.stop)
		loop_stop();
	errno = ENOMEM;
	return fake.accepts ? 0 : -1;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)bad;
	fake.receive = wr->sg_list->addr;
	return fake.no_receive ? ENOMEM : 0;
}

static int req_notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
}

static struct ibv_context verbs = {
	.ops = { .post_recv = post_recv, .post_send = post_send, .req_notify_cq = req_notify },
};

static struct ibv_comp_channel channel = { .context = &verbs, .fd = -1 };
static struct device device = { .verbs = &verbs, .attr.max_cqe = 1024, .channel = &channel,
				.users = 1 };
static struct config cfg;

static struct rdma_cm_id *id_new(void)
{
	struct rdma_cm_id *id = calloc(1, sizeof(*id));

	id->verbs = &verbs;
	id->route.addr.dst_addr.sa_family = AF_INET;
	return made(ID, id);
}

/* A connection request, valid until the next call */
static const struct cm_event *request_new(struct rdma_cm_id *id)
{
	static struct cm_event ev;

	ev = (struct cm_event){ .type = RDMA_CM_EVENT_CONNECT_REQUEST, .id = id,
				.resources = 1 };
	return &ev;
}

static void gone(void)
{
	fake.gone = true;
	loop_stop();
}

static int setup(void **state)
{
	(void)state;
	while (fake.nr_stuck)
		free(fake.stuck[--fake.nr_stuck]);
	memset(&fake, 0, sizeof(fake));
	fake.loop = pthread_self();
	sem_init(&fake.begun, 0, 0);
	device.users = 1;
	return 0;
}

/* Called once: workers that were stopped do not start again. */
static int begin(void **state)
{
	(void)state;
	config_init(&cfg);
	quota_init(&cfg);
	return loop_init() || worker_start() || session_init(gone);
}

static int end(void **state)
{
	(void)state;
	worker_stop();
	loop_exit();
	config_free(&cfg);
	return 0;
}

/* Waits for the end of all sessions. The loop may stop before it for another reason. */
static void wait_gone(void)
{
	while (session_any())
		assert_int_equal(loop_run(), 0);
	assert_true(fake.gone);
	assert_false(session_any());
	assert_false(fake.early);
	assert_false(fake.in_loop);
	for (enum object o = QP; o < OBJECTS; o++) {
		assert_int_equal(fake.have[o], 0);
		assert_int_equal(fake.refuse[o], 0);
	}
}

/* Runs the loop until a connection request is accepted or rejected. */
static void wait_answered(void)
{
	fake.stop = true;
	assert_int_equal(loop_run(), 0);
	fake.stop = false;
}

static struct session *session_make(struct export *export)
{
	struct session *s = calloc(1, sizeof(*s));

	LIST_INIT(&export->leases);
	s->cfg = &cfg;
	s->device = &device;
	device.users++;
	s->export = export;
	s->born = loop_now();
	s->quiet = true;
	s->pd = ibv_alloc_pd(&verbs);
	assert_int_equal(cq_open(&s->cq, device.channel, 1), 0);
	assert_int_equal(ctrl_create(&s->ctrl, s->pd), 0);
	s->conn = conn_create(id_new(), s, 0, session_conn_event);
	s->nr_data = 2;
	s->data = calloc(2, sizeof(*s->data));
	s->state = SESSION_GRANTED;
	session_add(s);
	export_lease(export, &s->lease);
	s->leased = true;
	return s;
}

/* Checks what the log says that the end of the session waits for. */
static void assert_waits_for(struct session *s, const char *text)
{
	int file = memfd_create("log", MFD_CLOEXEC), was = dup(STDERR_FILENO);
	char line[1024] = "";

	assert_true(file >= 0 && was >= 0);
	dup2(file, STDERR_FILENO);
	log_setup(LOG_WARNING);
	s->end.late.expired(&s->end.late);
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	dup2(was, STDERR_FILENO);
	assert_true(pread(file, line, sizeof(line) - 1, 0) > 0);
	assert_non_null(strstr(line, text));
	close(file);
	close(was);
}

static struct loop_timer look;

static void look_again(struct loop_timer *timer)
{
	(void)timer;
	loop_stop();
}

#endif
