/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Initiators of a daemon whose adapter, librdmacm and clock are fakes: connection requests,
 * messages, and what the daemon sends.
 *
 * The program defines, before it includes this file:
 *
 *	PEERS		how many connections there are at most
 *	struct peer	with at least
 *			struct rdma_cm_id id
 *			struct rdmablk_cm_request req	private data of its request
 *			uint32_t qpn			number of its queue pair
 *			struct rdmablk_cm_accept2 accept	private data of the accept
 *			size_t accept_len
 *			struct rdmablk_cm_reject reject	private data of the reject
 *			bool own			an id of the daemon's own
 *			bool accepted
 *			unsigned int refused		reason of the reject
 *			atomic_bool gone
 *	sent()		called with each message that the daemon sends
 */
#ifndef TARGET_PEERS_H
#define TARGET_PEERS_H

#define SILENT_MS	2000
#define PATIENCE_MS	30000	/* real time that a worker may take */
#define QP_NUM		77	/* number of the first queue pair */

static atomic_llong ahead_ms;	/* how far the daemon's clock is ahead */
static struct timespec frozen;	/* if set, only ahead_ms moves the clock */
static uint64_t cpu_most;	/* longest processor time of a turn, ns */
static atomic_int have;		/* queue pairs that exist */
static atomic_int made;		/* queue pairs made so far */
static sem_t *hold;		/* destroying a queue pair waits for it */
static sem_t *make;		/* making a queue pair waits for it */
static struct peer *peers[PEERS];
static unsigned int nr_peers;
static struct rdma_cm_event events[16];
static unsigned int nr_events;
static struct rdma_event_channel events_of;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long long ms = atomic_load(&ahead_ms);
	int ret = (int)syscall(SYS_clock_gettime, clock, ts);

	if (frozen.tv_sec && clock == CLOCK_MONOTONIC)
		*ts = frozen;
	ts->tv_sec += ms / 1000;
	ts->tv_nsec += ms % 1000 * 1000000;
	if (ts->tv_nsec >= 1000000000) {
		ts->tv_nsec -= 1000000000;
		ts->tv_sec++;
	}
	return ret;
}

/*
 * Verbs
 */

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
}

static struct peer *peer_of(const struct ibv_qp *qp)
{
	const struct conn *conn = container_of(qp->qp_context, struct conn, qp);

	return container_of(conn->id, struct peer, id);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	sent(peer_of(qp), (const void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	(void)cq;
	(void)nr;
	(void)wc;
	return 0;
}

static int req_notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

static struct ibv_device adapter = { .name = "fake0", .dev_name = "." };
static struct ibv_context verbs = {
	.device = &adapter,
	.ops = { .post_recv = post_recv, .post_send = post_send, .poll_cq = poll_cq,
		 .req_notify_cq = req_notify },
};

int ibv_query_device(struct ibv_context *v, struct ibv_device_attr *attr)
{
	(void)v;
	*attr = (struct ibv_device_attr){ .max_mr_size = 1 << 30, .max_cqe = 1 << 20,
					  .max_qp_rd_atom = 16 };
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *v)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	channel->context = v;
	channel->fd = eventfd(0, EFD_CLOEXEC);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *v)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = v;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *v, int cqe, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	(void)cqe;
	(void)vector;
	cq->context = v;
	cq->cq_context = context;
	cq->channel = channel;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

#define REMOTE	(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* Memory that was registered for peers: the last one, how many there are, what fails */
static struct {
	struct ibv_mr *mr;
	uint64_t iova;
	int access;
	atomic_int nr;
	bool fails;
	int shut;	/* errno: no queue pair is opened for peers */
} lent;

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr;

	if (lent.fails && access & REMOTE) {
		errno = ENOMEM;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->rkey = 0x77;
	mr->handle = !!(access & REMOTE);
	atomic_fetch_add(&lent.nr, (int)mr->handle);
	if (mr->handle) {
		lent.mr = mr;
		lent.access = access;
	}
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	lent.iova = iova;
	return ibv_reg_mr(pd, addr, length, (int)access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	atomic_fetch_sub(&lent.nr, (int)mr->handle);
	free(mr);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = calloc(1, sizeof(*qp));

	if (make)
		sem_wait(make);
	atomic_fetch_add(&have, 1);
	qp->context = pd->context;
	qp->qp_context = attr->qp_context;
	qp->qp_num = QP_NUM + (uint32_t)atomic_fetch_add(&made, 1);
	return qp;
}

/* The rights of a peer on a queue pair are kept in a field that is not used otherwise. */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (lent.shut && mask == (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS))
		return lent.shut;
	if (attr->qp_state == IBV_QPS_INIT || mask & IBV_QP_ACCESS_FLAGS)
		qp->events_completed = attr->qp_access_flags;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (hold)
		sem_wait(hold);
	atomic_fetch_sub(&have, 1);
	free(qp);
	return 0;
}

/*
 * librdmacm
 */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	events_of.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	return &events_of;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	eventfd_t one;

	if (eventfd_read(channel->fd, &one))
		return -1;
	*event = &events[--nr_events];
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	struct peer *p = calloc(1, sizeof(*p));

	p->own = true;
	p->id.channel = channel;
	p->id.context = context;
	p->id.ps = ps;
	p->id.route.addr.src_addr.sa_family = AF_INET;
	*id = &p->id;
	return 0;
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

static struct sockaddr_in6 bound;	/* last IPv6 address of rdma_bind_addr() */

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		bound = *(struct sockaddr_in6 *)addr;
	id->verbs = &verbs;
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)backlog;
	peers[0] = container_of(id, struct peer, id);
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct peer *p = container_of(id, struct peer, id);

	if (p->own)
		free(p);
	else
		atomic_store(&p->gone, true);
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	(void)id;
	(void)attr;
	*mask = IBV_QP_STATE;
	return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct peer *p = container_of(id, struct peer, id);
	const struct conn *conn = container_of(id->context, struct conn, cm);

	assert_int_equal(param->qp_num, conn->pair->qp_num);
	assert_true(param->private_data_len <= sizeof(p->accept));
	memcpy(&p->accept, param->private_data, param->private_data_len);
	p->accept_len = param->private_data_len;
	p->accepted = true;
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	struct peer *p = container_of(id, struct peer, id);

	assert_int_equal(len, sizeof(p->reject));
	memcpy(&p->reject, data, sizeof(p->reject));
	p->refused = le16toh(p->reject.reason);
	return 0;
}

/*
 * Initiators
 */

static void stop(struct loop_timer *timer)
{
	(void)timer;
	loop_stop();
}

static inline void freeze(bool on)
{
	frozen = (struct timespec){ 0 };
	if (on)
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &frozen);
}

static uint64_t cpu_now(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void cpu_took(uint64_t from)
{
	uint64_t ns = cpu_now() - from;

	cpu_most = ns > cpu_most ? ns : cpu_most;
}

/* Runs the loop for a moment. */
static void turn(void)
{
	static struct loop_timer timer = { .expired = stop };
	uint64_t from = cpu_now();

	loop_timer_start(&timer, 0);
	assert_int_equal(loop_run(), 0);
	cpu_took(from);
}

static void advance(int64_t ms)
{
	atomic_fetch_add(&ahead_ms, ms);
	turn();
}

/* The machine's own clock, which is never frozen, in ms */
static int64_t real_now(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#define WAIT_FOR(condition)							\
	do {									\
		int64_t wait_end = real_now() + PATIENCE_MS;			\
										\
		while (!(condition)) {						\
			assert_true(real_now() < wait_end);			\
			turn();							\
		}								\
	} while (0)

static void event(struct peer *p, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev = &events[nr_events++];

	*ev = (struct rdma_cm_event){ .id = &p->id, .listen_id = &peers[0]->id, .event = type };
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		ev->param.conn.private_data = &p->req;
		ev->param.conn.private_data_len = sizeof(p->req);
		ev->param.conn.responder_resources = 100;
		ev->param.conn.qp_num = p->qpn;
	}
	assert_int_equal(eventfd_write(events_of.fd, 1), 0);
}

static struct peer *peer_new(uint32_t address)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct sockaddr_in *in = (struct sockaddr_in *)&p->id.route.addr.dst_addr;

	p->id.verbs = &verbs;
	p->id.port_num = 1;
	p->id.route.addr.src_addr.sa_family = AF_INET;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(address);
	p->req = (struct rdmablk_cm_request){ .magic = htole32(RDMABLK_MAGIC),
					      .version_min = htole16(1),
					      .version_max = htole16(1) };
	assert_true(nr_peers < ARRAY_SIZE(peers));
	peers[nr_peers++] = p;
	return p;
}

static void ask(struct peer *p)
{
	event(p, RDMA_CM_EVENT_CONNECT_REQUEST);
	WAIT_FOR(p->accepted || p->refused);
}

static struct peer *connect_from(uint32_t address)
{
	struct peer *p = peer_new(address);

	ask(p);
	return p;
}

static inline struct peer *accepted(uint32_t address)
{
	struct peer *p = connect_from(address);

	assert_int_equal(p->refused, RDMABLK_OK);
	return p;
}

static struct session *session_of(const struct peer *p)
{
	return container_of(p->id.context, struct conn, cm)->owner;
}

static void say(struct peer *p, const void *msg, size_t len)
{
	const struct ibv_wc wc = { .wr_id = CTRL_WR_RECV, .opcode = IBV_WC_RECV,
				   .byte_len = (uint32_t)len };
	struct session *s = session_of(p);
	uint64_t from = cpu_now();

	memcpy(s->ctrl.buf, msg, len);
	session_completed(&s->cq, &wc);
	cpu_took(from);
	for (unsigned int i = 0; i < CTRL_SENDS; i++)	/* the peer has got all that was sent */
		ctrl_sent(&s->ctrl, i);
}

static inline void hang_up(struct peer *p)
{
	event(p, RDMA_CM_EVENT_DISCONNECTED);
	WAIT_FOR(atomic_load(&p->gone));
}

static inline unsigned int sessions(void)
{
	struct session *s = NULL;
	unsigned int nr = 0;

	while ((s = session_next(s)))
		nr++;
	return nr;
}

static int all_end(void **state)
{
	(void)state;
	freeze(false);		/* a test that failed may have left it frozen */
	session_end_all(RDMABLK_R_SHUTDOWN);
	advance(5000);
	WAIT_FOR(!session_any());
	while (nr_peers > 1)
		free(peers[--nr_peers]);
	assert_int_equal(atomic_load(&have), 0);
	return 0;
}

static int start(void **state)
{
	const int ret = setup(state);

	verbs.async_fd = eventfd(0, EFD_CLOEXEC);
	verbs.cmd_fd = -1;
	nr_peers = 1;
	return ret ?: cm_init() ?: listener_open_all(&cfg);
}

static int finish(void **state)
{
	listener_close_all();
	worker_stop();
	device_exit();
	cm_exit();
	close(verbs.async_fd);
	return teardown(state);
}

#endif
