// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logins when slots are short, from the connection request to LIVE: a login whose initiator
 * is silent makes room for another, a known address gets in whatever the others do, and a
 * flood of logins takes bounded memory. The adapter, librdmacm and the clock are fakes.
 *
 * Sources: target/session/listener.c target/session/login.c target/session/session_open.c
 *	   target/session/session_list.c target/session/session.c target/export/quota.c
 * Libraries: json-c liburing libcrypto
 */
#include <arpa/inet.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "../../target/base/log.h"
#include "../../target/rdma/cm.h"
#include "../../target/session/listener.h"
#include "../../target/session/login.h"
#include "../../target/wire/mac.h"
#include "target_admin.h"

#define SILENT_MS	2000
#define PATIENCE_MS	30000	/* of real time, for what a worker does */
#define HALF_OPEN	256U
#define UNPROVEN	10000U
#define ADDRESSES	500U	/* of those */
#define QP_NUM		77

/* An initiator's connection, or an id of the daemon's own. */
struct peer {
	struct rdma_cm_id id;
	struct rdmablk_cm_request req;
	struct rdmablk_hello hello;
	struct rdmablk_challenge challenge;
	struct rdmablk_grant grant;
	uint8_t key[RDMABLK_MAC_LEN];
	bool own;		/* the daemon's */
	bool accepted;
	bool live;
	unsigned int refused;	/* reason of a rejection */
	unsigned int closed;	/* reason of a CLOSE */
	atomic_bool gone;
};

static atomic_llong ahead_ms;	/* of the real clock */
static atomic_int have;		/* queue pairs */
static sem_t *hold;		/* what destroys queue pairs waits for it */
static sem_t *make;		/* what makes them */
static struct peer *peers[3 * UNPROVEN];
static unsigned int nr_peers;
static struct rdma_cm_event events[16];
static unsigned int nr_events;
static struct rdma_event_channel events_of;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long long ms = atomic_load(&ahead_ms);
	int ret = (int)syscall(SYS_clock_gettime, clock, ts);

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
	struct peer *p = peer_of(qp);
	const void *msg = (const void *)(uintptr_t)wr->sg_list->addr;
	const struct rdmablk_hdr *hdr = msg;

	(void)bad;
	switch (le16toh(hdr->type)) {
	case RDMABLK_MSG_CHALLENGE:
		memcpy(&p->challenge, msg, sizeof(p->challenge));
		break;
	case RDMABLK_MSG_GRANT:
		memcpy(&p->grant, msg, sizeof(p->grant));
		break;
	case RDMABLK_MSG_LIVE:
		p->live = true;
		break;
	case RDMABLK_MSG_CLOSE:
		p->closed = le16toh(((const struct rdmablk_close *)msg)->reason);
		break;
	default:
		break;
	}
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

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	(void)pd;
	(void)addr;
	(void)length;
	(void)access;
	return calloc(1, sizeof(struct ibv_mr));
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, length, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
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
	qp->qp_num = QP_NUM;
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)attr;
	(void)mask;
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

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)addr;
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
	assert_int_equal(param->qp_num, QP_NUM);
	container_of(id, struct peer, id)->accepted = true;
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	struct rdmablk_cm_reject reject;

	assert_int_equal(len, sizeof(reject));
	memcpy(&reject, data, sizeof(reject));
	container_of(id, struct peer, id)->refused = le16toh(reject.reason);
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

/* Lets the loop turn for a moment. */
static void turn(void)
{
	static struct loop_timer timer = { .expired = stop };

	loop_timer_start(&timer, 0);
	assert_int_equal(loop_run(), 0);
}

static void advance(int64_t ms)
{
	atomic_fetch_add(&ahead_ms, ms);
	turn();
}

#define WAIT_FOR(condition)							\
	do {									\
		int64_t wait_end = loop_now() + PATIENCE_MS;			\
										\
		while (!(condition)) {						\
			assert_true(loop_now() < wait_end);			\
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
		ev->param.conn.responder_resources = 1;
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

static struct peer *accepted(uint32_t address)
{
	struct peer *p = connect_from(address);

	assert_int_equal(p->refused, RDMABLK_OK);
	return p;
}

static void assert_refused(uint32_t address)
{
	assert_int_equal(connect_from(address)->refused, RDMABLK_R_LIMIT_LOGINS);
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

	memcpy((void *)ctrl_message(&s->ctrl, 0), msg, len);
	session_completed(&s->cq, &wc);
}

static void say_hello(struct peer *p)
{
	struct rdmablk_hello *h = &p->hello;

	*h = (struct rdmablk_hello){
		.hdr = { .type = htole16(RDMABLK_MSG_HELLO), .length = htole16(sizeof(*h)) },
		.version_min = htole16(1), .version_max = htole16(1),
		.flags = htole32(RDMABLK_HELLO_READ_ONLY),
		.generation = htole32(1), .nr_queues = htole16(1), .queue_depth = htole16(16),
		.keep_alive_ms = htole32(5000), .auth_methods = htole32(RDMABLK_AUTH_NONE),
		.host_name = "host", .export_name = "first",
	};
	h->host_id[0] = 1;
	say(p, h, sizeof(*h));
	assert_int_equal(le16toh(p->challenge.hdr.type), RDMABLK_MSG_CHALLENGE);
}

static void say_proof(struct peer *p)
{
	static const uint8_t no_key[RDMABLK_MAC_LEN];
	struct rdmablk_proof proof = { .hdr = { .type = htole16(RDMABLK_MSG_PROOF),
						.length = htole16(sizeof(proof)) } };

	assert_int_equal(mac_proof(no_key, &p->hello, &p->challenge, proof.mac), 0);
	assert_int_equal(mac_session_key(no_key, &p->hello, &p->challenge, p->key), 0);
	say(p, &proof, sizeof(proof));
}

static void join_queue(const struct peer *p, uint32_t address, uint16_t queue)
{
	struct peer *data = peer_new(address);

	data->req.kind = queue & 1 ? RDMABLK_KIND_READ : RDMABLK_KIND_WRITE;
	data->req.queue = htole16(queue);
	data->req.generation = p->hello.generation;
	data->req.session_id = p->grant.session_id;
	assert_int_equal(mac_message(p->key, RDMABLK_LABEL_JOIN, &data->req,
				     offsetof(struct rdmablk_cm_request, mac),
				     data->req.mac), 0);
	ask(data);
	assert_int_equal(data->refused, RDMABLK_OK);
}

/* A whole login, with no pause in it. */
static struct peer *log_in(uint32_t address)
{
	struct rdmablk_ready ready = { .hdr = { .type = htole16(RDMABLK_MSG_READY),
						.length = htole16(sizeof(ready)) } };
	struct peer *p = accepted(address);

	say_hello(p);
	say_proof(p);
	WAIT_FOR(p->grant.hdr.type);
	join_queue(p, address, 1);
	join_queue(p, address, 2);
	say(p, &ready, sizeof(ready));
	assert_true(p->live);
	return p;
}

static void hang_up(struct peer *p)
{
	event(p, RDMA_CM_EVENT_DISCONNECTED);
	WAIT_FOR(atomic_load(&p->gone));
}

static unsigned int sessions(void)
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
	session_end_all(RDMABLK_R_SHUTDOWN);
	advance(5000);
	WAIT_FOR(!session_any());
	while (nr_peers > 1)
		free(peers[--nr_peers]);
	assert_int_equal(atomic_load(&have), 0);
	return 0;
}

/*
 * Tests
 */

static void limit(uint64_t logins, uint64_t of_address)
{
	cfg.max_logins = logins;
	cfg.max_logins_addr = of_address;
}

/* Of 8 slots 6 are for addresses that nobody knows. */
static void the_login_that_was_silent_for_longest_makes_room(void **state)
{
	struct peer *p[6];

	(void)state;
	limit(8, 8);
	for (unsigned int i = 0; i < 6; i++) {
		p[i] = accepted(100 + i);
		advance(1);
	}
	assert_refused(200);
	advance(SILENT_MS - 100);
	assert_refused(200);
	say_hello(p[0]);
	say_hello(p[2]);
	advance(100);
	/* the first has just said HELLO, the second has said nothing */
	accepted(201);
	assert_int_equal(p[1]->closed, RDMABLK_R_LOGIN_TIMEOUT);
	accepted(202);
	assert_int_equal(p[3]->closed, RDMABLK_R_LOGIN_TIMEOUT);
	accepted(203);
	accepted(204);
	assert_int_equal(p[5]->closed, RDMABLK_R_LOGIN_TIMEOUT);
	assert_refused(205);
	assert_false(p[0]->closed || p[2]->closed);
	/* HELLO without PROOF is silence, too, in its time */
	advance(SILENT_MS - 200);
	assert_refused(206);
	advance(200);
	accepted(207);
	assert_int_equal(p[0]->closed, RDMABLK_R_LOGIN_TIMEOUT);
}

/* The slots of an address: it is no use to end the login of another one. */
static void a_login_makes_room_where_it_is_short(void **state)
{
	struct peer *other, *first, *second;

	(void)state;
	limit(8, 2);
	other = accepted(101);
	advance(10);
	first = accepted(100);
	advance(10);
	second = accepted(100);
	assert_refused(100);
	advance(SILENT_MS);
	accepted(100);
	assert_false(other->closed || second->closed);
	assert_int_equal(first->closed, RDMABLK_R_LOGIN_TIMEOUT);
	accepted(100);
	assert_int_equal(second->closed, RDMABLK_R_LOGIN_TIMEOUT);
	assert_false(other->closed);
}

/* It cannot send HELLO before its queue is made. */
static void a_login_whose_queue_is_made_is_not_silent(void **state)
{
	const struct sockaddr *address;
	struct in6_addr ip;
	struct peer *slow;
	sem_t sem;

	(void)state;
	limit(1, 1);
	sem_init(&sem, 0, 0);
	make = &sem;
	slow = peer_new(100);
	event(slow, RDMA_CM_EVENT_CONNECT_REQUEST);
	turn();
	address = rdma_get_peer_addr(&slow->id);
	ip = value_ip(address);
	/* and the workers know for whom they make it */
	assert_memory_equal(&session_of(slow)->job.client, &ip, sizeof(ip));
	advance(SILENT_MS);
	assert_refused(200);
	make = NULL;
	sem_post(&sem);
	WAIT_FOR(slow->accepted);
	assert_refused(200);
	advance(SILENT_MS);
	accepted(200);
	assert_int_equal(slow->closed, RDMABLK_R_LOGIN_TIMEOUT);
}

/* Sessions that have made room still take memory: no more of them than slots. */
static void logins_that_made_room_are_bounded(void **state)
{
	unsigned int refused = 0;
	sem_t sem;

	(void)state;
	limit(8, 8);
	sem_init(&sem, 0, 0);
	hold = &sem;
	for (uint32_t i = 0; i < 40; i++) {
		refused += !!connect_from(100 + i)->refused;
		advance(SILENT_MS);
	}
	assert_int_equal(refused, 40 - 6 - 8);
	assert_int_equal(sessions(), 6 + 8);
	hold = NULL;
	for (unsigned int i = 0; i < 40; i++)
		sem_post(&sem);
	WAIT_FOR(sessions() <= 6);
	accepted(500);
}

#define KNOWN	7U

/* Nobody has slots left, and one known address takes those for known ones. */
static void a_known_address_leaves_room_for_another(void **state)
{
	struct sockaddr_in in[2] = { { .sin_family = AF_INET }, { .sin_family = AF_INET } };

	(void)state;
	limit(32, 32);
	for (unsigned int i = 0; i < 2; i++) {
		in[i].sin_addr.s_addr = htonl(KNOWN + i);
		quota_live_get((struct sockaddr *)&in[i]);
		quota_live_put((struct sockaddr *)&in[i]);
	}
	for (uint32_t i = 0; i < 24; i++)
		accepted(100 + i);
	assert_refused(200);
	for (uint32_t i = 0; i < 4; i++)
		accepted(KNOWN);
	assert_refused(KNOWN);
	for (uint32_t i = 0; i < 4; i++)
		accepted(KNOWN + 1);
	assert_refused(KNOWN + 1);
}

/* Half-open connections, and HELLOs without PROOF, from many addresses */
static void a_flood_keeps_no_known_address_out(void **state)
{
	unsigned int taken = 0, most = 0, n, in = 0;
	struct peer *p;

	(void)state;
	limit(256, 64);		/* the defaults */
	hang_up(log_in(KNOWN));
	for (uint32_t i = 0; i < HALF_OPEN + UNPROVEN; i++) {
		p = connect_from(1000 + i % ADDRESSES);
		taken += p->accepted;
		if (p->accepted && i >= HALF_OPEN)
			say_hello(p);
		atomic_fetch_add(&ahead_ms, 2);
		n = sessions();
		most = n > most ? n : most;
		if (i % 500 == 499) {
			hang_up(log_in(KNOWN));
			in++;
		}
	}
	print_message("%u of %u logins of the flood had a slot, %u sessions at most, %u live\n",
		      taken, HALF_OPEN + UNPROVEN, most, in);
	assert_true(taken > cfg.max_logins);
	assert_true(most <= 2 * cfg.max_logins);
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

#define TEST(name) cmocka_unit_test_teardown(name, all_end)

static const struct CMUnitTest tests[] = {
	TEST(the_login_that_was_silent_for_longest_makes_room),
	TEST(a_login_makes_room_where_it_is_short),
	TEST(a_login_whose_queue_is_made_is_not_silent),
	TEST(logins_that_made_room_are_bounded),
	TEST(a_known_address_leaves_room_for_another),
	TEST(a_flood_keeps_no_known_address_out),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests_name("logins", tests, start, finish);
}
