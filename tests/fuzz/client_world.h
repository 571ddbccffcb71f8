/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tool's visit, its scratch region and its blast, with a fake adapter, rdma_cm and
 * clock. Whenever the tool waits, the target acts first, and then the clock advances. The
 * harness defines the target's behaviour: target_acts(), target_asked(), target_got().
 */
#ifndef CLIENT_WORLD_H
#define CLIENT_WORLD_H

#include <malloc.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include <rdma/rdma_cma.h>

#include "../unit/crypt_target.h"

enum {
	QPN_I = 0x11, QPN_T = 0x2000,
	REQUESTS = 4,		/* READs and WRITEs of a visit at once */
	TICK_NS = 50000,	/* that pass each time the tool looks at the clock */
	DEPTH = 64,		/* more than the tool may have posted */
	EVENTS = 8,		/* of rdma_cm, that wait */
};

static uint64_t clock_ns;
static atomic_bool interrupted;

static int world_clock(clockid_t which, struct timespec *now)
{
	(void)which;
	clock_ns += TICK_NS;
	now->tv_sec = (time_t)(clock_ns / 1000000000);
	now->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

static int world_poll(struct pollfd *fds, nfds_t nr, int ms);
static void world_free(void *p);

/* ibv_reg_mr() is a macro. */
#undef ibv_reg_mr
#define ibv_reg_mr	world_reg_mr
static struct ibv_mr *world_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access);

/* The tool is built without these warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#define clock_gettime	world_clock
#include "../../tools/times.c"
#undef clock_gettime
#define poll		world_poll
#define free(p)		world_free(p)
#include "../../tools/client_conn.c"
#undef poll
#include "../../tools/client.c"
#undef free
#include "../../tools/scratch.c"
#include "../../tools/blast.c"
#pragma GCC diagnostic pop

#include "../unit/client_fakes.h"

/**
 * struct posted - a SEND, READ or WRITE that has not completed
 * @wr_id: id of its completion
 * @opcode: its operation
 * @local: its memory in the tool
 * @bytes: its length
 * @remote: offset in the lent memory
 */
struct posted {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	uint8_t *local;
	uint32_t bytes;
	uint64_t remote;
};

struct cm_event {
	struct rdma_cm_event ev;
	void *data;
};

/*
 * The adapter. objects: number of the tool's objects; wc, nr_wc: waiting completions; most:
 * room for completions; recvs, nr_recvs: buffers of posted receives; posted, nr_posted:
 * requests; error: the queue pair accepts nothing any more; up: the tool knows that it is
 * connected; deaf: SENDs do not complete; eager: the target acts while the tool polls;
 * armed, told: state of the completion channel; unread: its events that are not
 * acknowledged yet; mrs: registrations; shortage: the call with that number fails; iova,
 * rkey, bytes: the region that the target has announced; done: id of the last request whose
 * completion the tool has polled; damage: a READ has fetched other data than was written
 */
static struct {
	int objects;
	struct ibv_wc wc[DEPTH];
	unsigned int nr_wc, most;
	unsigned int recvs[BUFFERS], nr_recvs;
	struct posted posted[DEPTH];
	unsigned int nr_posted, max_posted;
	bool error, up, deaf, eager, armed, told;
	unsigned int unread;
	struct ibv_mr *mrs[2];
	unsigned int shortage;
	struct cm_event events[EVENTS];
	unsigned int nr_events, unacked;
	uint64_t iova;
	uint32_t rkey, bytes;
	uint64_t done;
	bool damage;
	uint8_t memory[1 << 16];
} hw;

static bool target_acts(void);
static void target_asked(const struct rdmablk_cm_request *req);
static void target_got(const void *msg, size_t len);
static void tool_takes(const struct ibv_wc *wc);
static bool is_secret(const void *data, size_t len);

static void world_free(void *p)
{
	assert_false(p && is_secret(p, malloc_usable_size(p)));
	free(p);
}

static bool falls_short(void)
{
	errno = ENOMEM;
	return hw.shortage && !--hw.shortage;
}

static void *make(size_t size)
{
	if (falls_short())
		return NULL;
	hw.objects++;
	return calloc(1, size);
}

static void drop(void *object)
{
	hw.objects--;
	free(object);
}

/*
 * Completions
 */

static void complete(const struct ibv_wc *wc)
{
	assert_true(hw.nr_wc < hw.most);
	hw.wc[hw.nr_wc++] = *wc;
	hw.told = hw.told || hw.armed;
	hw.armed = false;
}

static void complete_recv(enum ibv_wc_status status, enum ibv_wc_opcode opcode,
			  unsigned int flags, uint32_t bytes)
{
	const struct ibv_wc wc = { .wr_id = hw.recvs[0], .status = status, .opcode = opcode,
				   .wc_flags = flags, .byte_len = bytes };

	assert_true(hw.nr_recvs);
	memmove(hw.recvs, hw.recvs + 1, --hw.nr_recvs * sizeof(*hw.recvs));
	complete(&wc);
}

/* Completes the oldest request, with or without an error. */
static void complete_posted(enum ibv_wc_status status)
{
	const struct posted *p = &hw.posted[0];
	const struct ibv_wc wc = { .wr_id = p->wr_id, .status = status };
	uint8_t *memory = hw.memory + p->remote;

	if (!status && p->opcode == IBV_WR_RDMA_WRITE)
		memcpy(memory, p->local, p->bytes);
	if (!status && p->opcode == IBV_WR_RDMA_READ) {
		/* The written data is @bytes before the buffer of the READ. */
		hw.damage = hw.damage || memcmp(p->local - hw.bytes, memory, p->bytes);
		memcpy(p->local, memory, p->bytes);
	}
	memmove(hw.posted, hw.posted + 1, --hw.nr_posted * sizeof(*hw.posted));
	complete(&wc);
}

static void complete_sends(void)
{
	while (hw.nr_posted && hw.posted[0].opcode == IBV_WR_SEND && !hw.deaf && !hw.error)
		complete_posted(IBV_WC_SUCCESS);
}

/* The connection breaks: the oldest request, if any, fails first, then all others. */
static void break_off(enum ibv_wc_status status)
{
	hw.error = true;
	while (hw.nr_posted) {
		complete_posted(status);
		status = IBV_WC_WR_FLUSH_ERR;
	}
	while (hw.nr_recvs)
		complete_recv(IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0, 0);
}

static int poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	(void)cq;
	assert_int_equal(nr, 1);
	if (!hw.nr_wc && hw.eager)
		target_acts();
	if (!hw.nr_wc)
		return 0;
	*wc = hw.wc[0];
	memmove(hw.wc, hw.wc + 1, --hw.nr_wc * sizeof(*hw.wc));
	if (!wc->status && wc->wr_id >= REQUEST_ID)
		hw.done = wc->wr_id - REQUEST_ID;
	else if (!wc->status && wc->wr_id < SEND_ID)
		tool_takes(wc);
	return 1;
}

static int notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	assert_false(solicited);
	hw.armed = true;
	return 0;
}

/* Memory that the adapter accesses must be registered under this key. */
static bool is_registered(const struct ibv_sge *sge)
{
	for (size_t i = 0; i < ARRAY_SIZE(hw.mrs); i++) {
		const struct ibv_mr *mr = hw.mrs[i];
		uint64_t at = mr ? sge->addr - (uintptr_t)mr->addr : 0;

		if (mr && mr->lkey == sge->lkey && at <= mr->length &&
		    sge->length <= mr->length - at)
			return true;
	}
	return false;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct posted *p = &hw.posted[hw.nr_posted];
	uint64_t at = wr->wr.rdma.remote_addr - hw.iova;

	(void)qp;
	(void)bad;
	assert_true(hw.up && wr->num_sge == 1 && is_registered(wr->sg_list));
	assert_int_equal(wr->send_flags, IBV_SEND_SIGNALED);
	if (hw.nr_posted == hw.max_posted) {
		errno = ENOMEM;
		return errno;
	}
	*p = (struct posted){ .wr_id = wr->wr_id, .opcode = wr->opcode,
			      .local = (uint8_t *)(uintptr_t)wr->sg_list->addr,
			      .bytes = wr->sg_list->length };
	hw.nr_posted++;
	if (wr->opcode != IBV_WR_SEND) {
		/* Only memory that the target has lent */
		assert_true(wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_READ);
		assert_int_equal(wr->wr.rdma.rkey, hw.rkey);
		assert_true(at <= hw.bytes && p->bytes <= hw.bytes - at);
		assert_in_range(wr->wr_id, REQUEST_ID, REQUEST_ID + REQUESTS - 1);
		p->remote = at;
	}
	if (hw.error)
		break_off(IBV_WC_WR_FLUSH_ERR);
	else if (wr->opcode == IBV_WR_SEND)
		target_got(p->local, p->bytes);
	complete_sends();
	return 0;
}

static int post_recv_one(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)bad;
	assert_true(wr->num_sge == 1 && is_registered(wr->sg_list) && wr->wr_id < BUFFERS);
	for (unsigned int i = 0; i < hw.nr_recvs; i++)
		assert_int_not_equal(hw.recvs[i], wr->wr_id);
	hw.recvs[hw.nr_recvs++] = (unsigned int)wr->wr_id;
	if (hw.error)
		complete_recv(IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0, 0);
	return 0;
}

static struct ibv_context ctx = { .ops = { .poll_cq = poll_cq, .req_notify_cq = notify,
					   .post_send = post_send, .post_recv = post_recv_one } };

/*
 * Objects
 */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	assert_ptr_equal(context, &ctx);
	return make(sizeof(struct ibv_pd));
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	assert_true(!hw.mrs[0] && !hw.mrs[1]);
	drop(pd);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = make(sizeof(*channel));

	assert_ptr_equal(context, &ctx);
	if (channel)
		channel->fd = 1001;
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	drop(channel);
	return 0;
}

/* No memory of this host may be accessible to the target. */
static struct ibv_mr *world_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	unsigned int nr = !!hw.mrs[0];
	struct ibv_mr *mr;

	assert_true(pd && !hw.mrs[nr]);
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	mr = make(sizeof(*mr));
	if (!mr)
		return NULL;
	*mr = (struct ibv_mr){ .addr = addr, .length = len, .lkey = 7 + nr };
	hw.mrs[nr] = mr;
	return mr;
}

/* No queue pair may use it any more. */
int ibv_dereg_mr(struct ibv_mr *mr)
{
	unsigned int nr = mr == hw.mrs[1];

	assert_ptr_equal(mr, hw.mrs[nr]);
	assert_int_equal(hw.max_posted, 0);
	hw.mrs[nr] = NULL;
	drop(mr);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq;

	(void)cq_context;
	(void)channel;
	(void)vector;
	assert_in_range(cqe, 1, DEPTH);
	cq = make(sizeof(*cq));
	if (!cq)
		return NULL;
	cq->context = context;
	hw.most = (unsigned int)cqe;
	return cq;
}

/* A real destroy would wait for unacknowledged events. */
int ibv_destroy_cq(struct ibv_cq *cq)
{
	assert_int_equal(hw.unread, 0);
	drop(cq);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	(void)channel;
	assert_true(hw.told);
	hw.told = false;
	hw.unread++;
	*cq = NULL;
	*context = NULL;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nr)
{
	assert_null(cq);
	hw.unread -= nr;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)qp;
	(void)init;
	assert_int_equal(mask, IBV_QP_PATH_MTU);
	attr->path_mtu = IBV_MTU_4096;
	return 0;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return status == IBV_WC_WR_FLUSH_ERR ? "flushed" : "failed";
}

/*
 * rdma_cm
 */

/* The private data is a copy of its own size, so that the sanitizer sees reads beyond it. */
static void tell(enum rdma_cm_event_type type, int status, const void *data, uint8_t len)
{
	struct cm_event *e = &hw.events[hw.nr_events];

	if (hw.nr_events == EVENTS)
		return;
	*e = (struct cm_event){ .ev = { .event = type, .status = status }, .data = malloc(len) };
	memcpy(e->data, data, len);
	e->ev.param.conn.private_data = e->data;
	e->ev.param.conn.private_data_len = len;
	e->ev.param.conn.qp_num = QPN_T;
	hw.nr_events++;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel = make(sizeof(*channel));

	if (channel)
		channel->fd = 1002;
	return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	drop(channel);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	(void)context;
	(void)ps;
	*id = make(sizeof(**id));
	if (!*id)
		return -1;
	(*id)->channel = channel;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_true(!hw.unacked && !id->qp);
	while (hw.nr_events)
		free(hw.events[--hw.nr_events].data);
	drop(id);
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int ms)
{
	(void)src;
	(void)dst;
	assert_true(ms >= 0);
	id->verbs = &ctx;
	if (falls_short())
		tell(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, "", 0);
	else
		tell(RDMA_CM_EVENT_ADDR_RESOLVED, 0, "", 0);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)id;
	assert_true(ms >= 0);
	tell(RDMA_CM_EVENT_ROUTE_RESOLVED, 0, "", 0);
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	assert_true(pd && attr->send_cq && attr->recv_cq == attr->send_cq);
	assert_int_equal(attr->qp_type, IBV_QPT_RC);
	assert_in_range(attr->cap.max_send_wr, 1, DEPTH - 1);
	id->qp = make(sizeof(*id->qp));
	if (!id->qp)
		return -1;
	id->qp->context = &ctx;
	id->qp->qp_num = QPN_I;
	hw.max_posted = attr->cap.max_send_wr;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	drop(id->qp);
	id->qp = NULL;
	hw.nr_posted = 0;
	hw.nr_recvs = 0;
	hw.max_posted = 0;
	hw.up = false;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	assert_non_null(id->qp);
	assert_int_equal(param->private_data_len, sizeof(struct rdmablk_cm_request));
	assert_int_equal(param->responder_resources, 0);
	assert_in_range(param->retry_count, 0, 6);
	target_asked(param->private_data);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	assert_non_null(id->qp);
	hw.up = false;
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	static struct cm_event at;

	(void)channel;
	assert_true(hw.nr_events && !hw.unacked);
	at = hw.events[0];
	memmove(hw.events, hw.events + 1, --hw.nr_events * sizeof(*hw.events));
	hw.unacked++;
	hw.up = hw.up || at.ev.event == RDMA_CM_EVENT_ESTABLISHED;
	*event = &at.ev;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	free((void *)(uintptr_t)event->param.conn.private_data);
	hw.unacked--;
	return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	return event == RDMA_CM_EVENT_UNREACHABLE ? "unreachable" : "an event";
}

/*
 * The target acts until the tool has something to read, or the target has nothing more to
 * do.
 */
static int world_poll(struct pollfd *fds, nfds_t nr, int ms)
{
	int ready = 0;

	assert_in_range(ms, 0, 1000);
	do {
		ready = 0;
		for (nfds_t i = 0; i < nr; i++) {
			bool is = fds[i].fd == 1001 ? hw.told : !!hw.nr_events;

			fds[i].revents = is ? POLLIN : 0;
			ready += is;
		}
	} while (!ready && target_acts());
	if (!ready)
		clock_ns += (uint64_t)ms * 1000000 + 1000;
	return ready;
}

#endif /* CLIENT_WORLD_H */
