// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/cm.c asks rdma_cm for what a queue needs, gives each step its time and
 * no more, turns every event into an outcome that a waiting task sees whole, tells the end
 * of a connection to its owner, and destroys an id once.
 */
#include "session_world.h"

#include "messages.h"

#define IS_ERR(p)	((unsigned long)(p) >= (unsigned long)-4095)
#define PTR_ERR(p)	((int)(long)(p))
#define ERR_PTR(e)	((void *)(long)(e))
#define wake_up_all(wq)	((void)(wq), woken())
/* Time passes, and events arrive, only while the task waits. */
#define wait_event_idle_timeout(wq, condition, left)				\
	do {								\
		unsigned long until_ = jiffies + (unsigned long)(left);	\
									\
		(void)(wq);						\
		while (!(condition) && time_before(jiffies, until_))	\
			goes_on(until_);				\
	} while (0)

enum rdma_cm_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED,
	RDMA_CM_EVENT_ADDR_ERROR,
	RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR,
	RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_CONNECT_ERROR,
	RDMA_CM_EVENT_UNREACHABLE,
	RDMA_CM_EVENT_REJECTED,
	RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED,
	RDMA_CM_EVENT_DEVICE_REMOVAL,
	RDMA_CM_EVENT_ADDR_CHANGE,
	RDMA_CM_EVENT_TIMEWAIT_EXIT,
};

enum {
	IB_CM_REJ_NO_RESOURCES = 3,
	IB_CM_REJ_INVALID_SERVICE_ID = 8,
	IB_CM_REJ_STALE_CONN = 10,
	IB_CM_REJ_CONSUMER_DEFINED = 28,
};

enum { RDMA_PS_TCP = 0x106, IB_QPT_RC = 2 };

struct sa_path_rec {
	u8 packet_life_time;
};

struct ib_device {
	struct {
		u8 local_ca_ack_delay;
	} attrs;
	bool sa;	/* native InfiniBand, with a subnet manager */
};

struct rdma_conn_param {
	const void *private_data;
	u8 private_data_len, responder_resources, initiator_depth, retry_count, rnr_retry_count;
	u32 qp_num;
};

struct rdma_cm_event {
	enum rdma_cm_event_type event;
	int status;
	union {
		struct rdma_conn_param conn;
	} param;
};

struct rdma_cm_id {
	struct ib_device *device;
	void *context;
	u32 port_num;
	struct {
		struct sa_path_rec *path_rec;
	} route;
	int (*handler)(struct rdma_cm_id *id, struct rdma_cm_event *ev);
};

struct net {
	int none;
};

#define NEVER		(~0UL)
#define STALE		12345	/* outcome of an earlier step */

/* What rdma_cm answers to a step: at once, or with an event some time later */
struct step {
	int ret;
	enum rdma_cm_event_type event;
	int status;
	unsigned long after;	/* jiffies */
	unsigned int calls;
	unsigned int ms;	/* of the last call */
};

static struct net init_net;
static struct ib_device device, other_device;
static struct sa_path_rec record, other_record;
static struct rdma_cm_id id, control_id;
static struct rdmablk_waiter waiter;
static struct rdmablk_queue q, control, seen;
static struct rdmablk_cm_route route;
static struct sockaddr_storage from, to;
static struct step address, way, connects;
static unsigned long event_at, cancel_at;
static struct step *under_way;
static unsigned int wakes, fatals, created, destroyed;
static u16 fatal_reason;
static int create_ret, path_ret, ack_timeout, tos;
static struct sa_path_rec *shared_path;
static struct rdma_conn_param asked;
static struct rdmablk_cm_request sent;

/* Each access to cm_pending: keeps what another task would see at that moment */
static void looked(const void *at)
{
	if (at == &q.cm_pending)
		seen = q;
}

static void woken(void)
{
	assert_false(q.cm_pending);
	wakes++;
}

/* rdma_cm's event of the queue */
static void deliver_ev(struct rdma_cm_event *ev)
{
	assert_ptr_equal(id.context, &q);
	/* After any other result rdma_cm would destroy the id. */
	assert_int_equal(id.handler(&id, ev), 0);
	if (q.cm_pending)
		return;
	/* The whole outcome was written before cm_pending showed it to a task. */
	assert_int_equal(seen.cm_status, q.cm_status);
	assert_ptr_equal(seen.why, q.why);
	assert_int_equal(seen.cm_reason, q.cm_reason);
	assert_int_equal(seen.retry_after_ms, q.retry_after_ms);
	assert_int_equal(seen.version, q.version);
	assert_int_equal(seen.read_depth, q.read_depth);
	assert_int_equal(seen.peer_qpn, q.peer_qpn);
	assert_memory_equal(&seen.accept, &q.accept, sizeof(q.accept));
}

static void deliver(enum rdma_cm_event_type event, int status)
{
	struct rdma_cm_event ev = { .event = event, .status = status };

	deliver_ev(&ev);
}

/* An answer of the peer, with private data that rdma_cm has padded */
static void deliver_data(enum rdma_cm_event_type event, int status, const void *data, u8 len)
{
	struct rdma_cm_event ev = {
		.event = event,
		.status = status,
		.param.conn = {
			.private_data = data,
			.private_data_len = len,
			.initiator_depth = 11,
			.responder_resources = 3,
			.qp_num = 0x1234,
		},
	};

	deliver_ev(&ev);
}

/* NEVER is later than all times. */
static bool is_over(unsigned long at, unsigned long now)
{
	return at <= now;
}

static void goes_on(unsigned long until)
{
	unsigned long next = min(min(event_at, cancel_at), until);

	assert_true(time_before(jiffies, until));
	jiffies = max(next, jiffies);
	if (is_over(event_at, jiffies)) {
		event_at = NEVER;
		deliver(under_way->event, under_way->status);
	}
	if (is_over(cancel_at, jiffies))
		waiter.cancelled = true;
}

static int begin(struct step *s)
{
	s->calls++;
	assert_true(q.cm_pending);	/* else an event that comes at once would be lost */
	under_way = s;
	if (s->ret)
		return s->ret;
	event_at = s->after == NEVER ? NEVER : jiffies + s->after;
	return 0;
}

static struct rdma_cm_id *rdma_create_id(struct net *net,
					 int (*handler)(struct rdma_cm_id *id,
							struct rdma_cm_event *ev),
					 void *context, int ps, int type)
{
	assert_ptr_equal(net, &init_net);
	assert_int_equal(ps, RDMA_PS_TCP);
	assert_int_equal(type, IB_QPT_RC);
	if (create_ret)
		return ERR_PTR(create_ret);
	id.context = context;
	id.handler = handler;
	created++;
	return &id;
}

static int rdma_resolve_addr(struct rdma_cm_id *of, struct sockaddr *src,
			     const struct sockaddr *dst, unsigned long ms)
{
	assert_ptr_equal(of, &id);
	assert_ptr_equal(src, &from);
	assert_ptr_equal(dst, &to);
	address.ms = ms;
	return begin(&address);
}

static int rdma_resolve_route(struct rdma_cm_id *of, unsigned long ms)
{
	assert_ptr_equal(of, &id);
	way.ms = ms;
	return begin(&way);
}

static int rdma_connect(struct rdma_cm_id *of, struct rdma_conn_param *param)
{
	assert_ptr_equal(of, &id);
	asked = *param;
	assert_int_equal(param->private_data_len, sizeof(sent));
	memcpy(&sent, param->private_data, sizeof(sent));
	return begin(&connects);
}

/* These two settings have no effect on a route that is there already. */
static int rdma_set_ack_timeout(struct rdma_cm_id *of, u8 timeout)
{
	assert_ptr_equal(of, &id);
	assert_int_equal(way.calls, 0);
	assert_null(shared_path);
	ack_timeout = timeout;
	return 0;
}

static void rdma_set_service_type(struct rdma_cm_id *of, int type)
{
	assert_ptr_equal(of, &id);
	assert_int_equal(way.calls, 0);
	assert_null(shared_path);
	tos = type;
}

static int rdma_set_ib_path(struct rdma_cm_id *of, struct sa_path_rec *path)
{
	assert_ptr_equal(of, &id);
	if (path_ret)
		return path_ret;
	shared_path = path;
	return 0;
}

static bool rdma_cap_ib_sa(const struct ib_device *dev, u32 port)
{
	assert_int_equal(port, id.port_num);
	return dev->sa;
}

static void rdma_destroy_id(struct rdma_cm_id *of)
{
	assert_ptr_equal(of, &id);
	/* A handler that still runs looks for its id in the queue. */
	assert_ptr_equal(q.cm_id, of);
	assert_int_equal(destroyed++, 0);
}

/* Private data of a reject, if the peer's program and not its connection manager sent it */
static const void *rdma_consumer_reject_data(struct rdma_cm_id *of, struct rdma_cm_event *ev,
					     u8 *len)
{
	assert_ptr_equal(of, &id);
	if (ev->status != IB_CM_REJ_CONSUMER_DEFINED)
		return NULL;
	*len = ev->param.conn.private_data_len;
	return ev->param.conn.private_data;
}

static const char *rdma_reject_msg(struct rdma_cm_id *of, int reason)
{
	assert_ptr_equal(of, &id);
	return reason == IB_CM_REJ_NO_RESOURCES ? "no resources" : "unknown";
}

static void fatal(struct rdmablk_queue *of, u16 reason)
{
	assert_ptr_equal(of, &q);
	fatals++;
	fatal_reason = reason;
}

#include "../../kernel/cm.c"

static int setup(void **state)
{
	static const struct step answers = { .after = 10 };

	(void)state;
	jiffies = 100000;
	waiter = (struct rdmablk_waiter){ };
	memset(&q, 0, sizeof(q));
	q.waiter = &waiter;
	q.fatal = fatal;
	q.nr = MSG_QUEUE;
	q.cm_status = STALE;
	memset(&seen, 0, sizeof(seen));
	id = (struct rdma_cm_id){ .device = &device, .port_num = 2 };
	control_id = (struct rdma_cm_id){
		.device = &device, .port_num = 2, .route.path_rec = &record,
	};
	memset(&control, 0, sizeof(control));
	control.cm_id = &control_id;
	memset(&device, 0, sizeof(device));
	record.packet_life_time = 0;
	route = (struct rdmablk_cm_route){ RDMABLK_ACK_TIMEOUT_AUTO, RDMABLK_TOS_UNSET };
	address = answers;
	address.event = RDMA_CM_EVENT_ADDR_RESOLVED;
	way = answers;
	way.event = RDMA_CM_EVENT_ROUTE_RESOLVED;
	connects = answers;
	connects.after = NEVER;
	event_at = NEVER;
	cancel_at = NEVER;
	wakes = 0;
	fatals = 0;
	fatal_reason = 0;
	created = 0;
	destroyed = 0;
	create_ret = 0;
	path_ret = 0;
	shared_path = NULL;
	ack_timeout = -1;
	tos = -1;
	shim_access = looked;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shim_access = NULL;
	return 0;
}

static int resolve(unsigned long ms)
{
	return rdmablk_cm_resolve(&q, (struct sockaddr *)&to, (struct sockaddr *)&from, &route,
				  jiffies + ms);
}

/* A queue with an id, whose request is under way */
static void request_of(u16 version)
{
	const struct rdmablk_cm_request req = {
		.version_min = cpu_to_le16(version), .version_max = cpu_to_le16(version),
		.queue = 9,
	};

	q.cm_id = &id;
	id.context = &q;
	id.handler = rdmablk_cm_handler;
	assert_int_equal(rdmablk_cm_start_connect(&q, &req, 16), 0);
	assert_false(rdmablk_cm_is_done(&q));
	assert_memory_equal(&sent, &req, sizeof(req));
	assert_int_equal(q.version, version);
}

static void request(void)
{
	request_of(1);
}

static void establish(void)
{
	_Alignas(8) u8 data[196] = { };

	request();
	msg_accept(data);
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, data, sizeof(data));
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), 0);
}

/*
 * Steps and their time
 */

static void test_resolve(void **state)
{
	unsigned long start = jiffies;

	(void)state;
	assert_int_equal(resolve(9000), 0);
	assert_int_equal(jiffies - start, 20);
	assert_int_equal(created, 1);
	assert_int_equal(address.calls, 1);
	assert_int_equal(address.ms, RDMABLK_RESOLVE_MS);
	assert_int_equal(way.calls, 1);
	assert_in_range(way.ms, 1, 9000);
	assert_int_equal(wakes, 2);
	assert_ptr_equal(q.cm_id, &id);
}

/* rdma_cm may miss the answer of a neighbour, and finds it with the next try. */
static void test_an_address_is_asked_for_again(void **state)
{
	unsigned long start = jiffies;

	(void)state;
	address.event = RDMA_CM_EVENT_ADDR_ERROR;
	address.status = -ETIMEDOUT;
	address.after = RDMABLK_RESOLVE_MS;
	assert_int_equal(resolve(1700), -ETIMEDOUT);
	assert_int_equal(jiffies - start, 1700);
	assert_int_equal(address.calls, 4);
	assert_int_equal(address.ms, 200);
	assert_int_equal(created, 1);
	assert_int_equal(way.calls, 0);
	assert_string_equal(q.why, "no answer in time");
}

static void test_other_errors_end_it(void **state)
{
	(void)state;
	address.event = RDMA_CM_EVENT_ADDR_ERROR;
	address.status = -EHOSTUNREACH;
	assert_int_equal(resolve(1700), -EHOSTUNREACH);
	assert_int_equal(address.calls, 1);
	setup(state);
	address.ret = -ENODEV;
	assert_int_equal(resolve(1700), -ENODEV);
	assert_int_equal(address.calls, 1);
	assert_true(rdmablk_cm_is_done(&q));
	setup(state);
	create_ret = -ENOMEM;
	assert_int_equal(resolve(1700), -ENOMEM);
	assert_null(q.cm_id);
	assert_non_null(q.why);
	setup(state);
	way.event = RDMA_CM_EVENT_ROUTE_ERROR;
	way.status = -ENETUNREACH;
	assert_int_equal(resolve(1700), -ENETUNREACH);
	setup(state);
	way.ret = -EINVAL;
	assert_int_equal(resolve(1700), -EINVAL);
	assert_non_null(q.why);
}

static void test_a_route_has_no_time_beyond_the_deadline(void **state)
{
	unsigned long start = jiffies;

	(void)state;
	way.after = NEVER;
	assert_int_equal(resolve(900), -ETIMEDOUT);
	assert_int_equal(jiffies - start, 900);
	assert_in_range(way.ms, 890, 900);
	assert_int_equal(way.calls, 1);
}

/* After the deadline 1 is left, never 0: rdma_cm still gets a valid time. */
static void test_no_time_is_left(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_cm_left(jiffies + 7), 7);
	assert_int_equal(rdmablk_cm_left(jiffies), 1);
	assert_int_equal(rdmablk_cm_left(jiffies - 7), 1);
	/* The same where jiffies wrap */
	jiffies = -3UL;
	assert_int_equal(rdmablk_cm_left(4), 7);
	jiffies = 4;
	assert_int_equal(rdmablk_cm_left(-3UL), 1);
}

static void test_given_up(void **state)
{
	unsigned long start = jiffies;

	(void)state;
	address.after = NEVER;
	cancel_at = jiffies + 30;
	assert_int_equal(resolve(9000), -ECANCELED);
	assert_int_equal(jiffies - start, 30);
	assert_string_equal(q.why, "the connect was given up");
	assert_int_equal(address.calls, 1);
	/*
	 * A cancelled wait fails although the outcome is there: the next step would be for
	 * nothing.
	 */
	setup(state);
	establish();
	waiter.cancelled = true;
	assert_int_equal(rdmablk_cm_wait(&q, jiffies + 10), -ECANCELED);
}

/* The text of each error of an address or a route, from an event and from a call that fails */
static void test_texts(void **state)
{
	static const struct {
		int status, ret;
		const char *why;
	} c[] = {
		{ -ENODEV, -ENODEV, "no RDMA device leads to this address" },
		{ -EADDRNOTAVAIL, -ENODEV, "no RDMA device leads to this address" },
		{ -ENETUNREACH, -ENETUNREACH, "no route to this network" },
		{ -EHOSTUNREACH, -EHOSTUNREACH, "no route to host" },
		{ -EINVAL, -EINVAL, "address cannot be resolved" },
		/* The connection manager's own codes are positive. */
		{ 4, -EHOSTUNREACH, "address cannot be resolved" },
		{ -ETIMEDOUT, -ETIMEDOUT, "no answer from this address" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		setup(state);
		request();
		deliver(RDMA_CM_EVENT_UNREACHABLE, c[i].status);
		assert_int_equal(rdmablk_cm_wait(&q, jiffies), c[i].ret);
		assert_string_equal(q.why, c[i].why);
		assert_int_equal(wakes, 1);
		setup(state);
		address.ret = c[i].status;
		if (c[i].status < 0) {
			assert_int_equal(resolve(10), c[i].ret);
			assert_string_equal(q.why, c[i].why);
		}
	}
}

/*
 * What is asked of the fabric
 */

static void test_retransmit_timeout(void **state)
{
	(void)state;
	assert_int_equal(resolve(9000), 0);
	assert_int_equal(ack_timeout, RDMABLK_DEFAULT_ACK_TIMEOUT);
	assert_int_equal(tos, -1);
	/* With a subnet manager the path record has the timeout. */
	setup(state);
	device.sa = true;
	assert_int_equal(resolve(9000), 0);
	assert_int_equal(ack_timeout, -1);
	/* The administrator's choice comes before both. */
	setup(state);
	device.sa = true;
	route.ack_timeout = 21;
	route.tos = 0;
	assert_int_equal(resolve(9000), 0);
	assert_int_equal(ack_timeout, 21);
	assert_int_equal(tos, 0);
	setup(state);
	route.ack_timeout = RDMABLK_ACK_TIMEOUT_PATH;
	route.tos = 255;
	assert_int_equal(resolve(9000), 0);
	assert_int_equal(ack_timeout, -1);
	assert_int_equal(tos, 255);
}

static void test_longest_retransmit_timeout(void **state)
{
	(void)state;
	q.cm_id = &id;
	assert_int_equal(rdmablk_cm_longest_ack(&q, &route), RDMABLK_DEFAULT_ACK_TIMEOUT);
	route.ack_timeout = 12;
	assert_int_equal(rdmablk_cm_longest_ack(&q, &route), 12);
	route.ack_timeout = RDMABLK_ACK_TIMEOUT_PATH;
	assert_int_equal(rdmablk_cm_longest_ack(&q, &route), RDMABLK_DEFAULT_ACK_TIMEOUT);
	id.route.path_rec = &record;
	record.packet_life_time = 14;
	device.attrs.local_ca_ack_delay = 10;
	assert_int_equal(rdmablk_cm_longest_ack(&q, &route), 16);
	device.attrs.local_ca_ack_delay = 18;
	assert_int_equal(rdmablk_cm_longest_ack(&q, &route), 19);
	record.packet_life_time = 63;
	assert_int_equal(rdmablk_cm_longest_ack(&q, &route), 31);
}

static void share(int ret)
{
	q.cm_id = &id;
	id.context = &q;
	id.handler = rdmablk_cm_handler;
	assert_int_equal(rdmablk_cm_share_route(&q, &route, &control, 77), ret);
}

/* On InfiniBand a queue takes the path of the control queue: no request, and no event. */
static void test_shared_route(void **state)
{
	(void)state;
	device.sa = true;
	route.ack_timeout = 21;
	route.tos = 5;
	share(0);
	assert_ptr_equal(shared_path, &record);
	assert_int_equal(way.calls, 0);
	assert_int_equal(ack_timeout, 21);
	assert_int_equal(tos, 5);
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), 0);
	setup(state);
	device.sa = true;
	path_ret = -ENOMEM;
	share(-ENOMEM);
	assert_non_null(q.why);
}

static void test_a_route_of_its_own(void **state)
{
	for (unsigned int i = 0; i < 4; i++) {
		setup(state);
		device.sa = i;
		if (i == 1)
			control_id.device = &other_device;
		else if (i == 2)
			control_id.port_num = 1;
		else if (i == 3)
			control_id.route.path_rec = NULL;
		id.route.path_rec = &other_record;
		share(0);
		assert_null(shared_path);
		assert_int_equal(way.calls, 1);
		assert_int_equal(way.ms, 77);
		assert_int_equal(rdmablk_cm_wait(&q, jiffies + 20), 0);
	}
}

/*
 * The connection
 */

static void test_connection_request(void **state)
{
	(void)state;
	request();
	/* The target must not READ the memory of this host. */
	assert_int_equal(asked.responder_resources, 0);
	assert_int_equal(asked.initiator_depth, 16);
	/* On rxe 7 means that retries never end. */
	assert_in_range(asked.retry_count, 1, 6);
	assert_int_equal(asked.rnr_retry_count, 6);
	/* The message has 92 bytes, and rdma_cm takes 36 of them. */
	assert_true(asked.private_data_len <= 56);
	setup(state);
	q.cm_id = &id;
	connects.ret = -EINVAL;
	assert_int_equal(rdmablk_cm_start_connect(&q, &sent, 1), -EINVAL);
	assert_non_null(q.why);
}

static void test_accepted(void **state)
{
	(void)state;
	establish();
	assert_int_equal(q.version, 1);
	assert_int_equal(q.read_depth, 11);
	assert_null(q.why);
	assert_true(q.connected);
	assert_int_equal(wakes, 1);
	assert_int_equal(fatals, 0);
}

/* The task that has the key checks the accept later: the queue keeps it, with its MAC. */
static void test_accepted_in_version_2(void **state)
{
	_Alignas(8) u8 data[196] = { };
	struct rdmablk_cm_accept2 want;

	(void)state;
	msg_accept2(&want);
	memcpy(data, &want, sizeof(want));
	request_of(2);
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, data, sizeof(data));
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), 0);
	assert_memory_equal(&q.accept, &want, sizeof(want));
	assert_int_equal(q.peer_qpn, 0x1234);
	assert_int_equal(q.version, 2);
	/* An accept of another version than the request's is an error. */
	setup(state);
	request_of(1);
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, data, sizeof(data));
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -EPROTONOSUPPORT);
	setup(state);
	request_of(2);
	msg_accept(data);
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, data, sizeof(data));
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -EPROTONOSUPPORT);
	assert_false(q.connected);
}

/* The texts tell the administrator on which side a key is missing. */
static void test_one_side_has_no_key(void **state)
{
	static const struct {
		u16 version, reason, theirs;
		int ret;
		const char *why;
	} c[] = {
		{ 1, RDMABLK_R_AUTH_REQUIRED, 2, -EACCES,
		  "the target demands a key: connect with --key NAME" },
		{ 2, RDMABLK_R_VERSION, 1, -EPROTONOSUPPORT,
		  "the target takes no keys: set auth = psk there, or connect without --key" },
		/* In these cases no key is missing. */
		{ 2, RDMABLK_R_AUTH_REQUIRED, 2, -EACCES, "authentication required" },
		{ 2, RDMABLK_R_VERSION, 3, -EPROTONOSUPPORT, "no common protocol version" },
		{ 1, RDMABLK_R_VERSION, 1, -EPROTONOSUPPORT, "no common protocol version" },
	};
	_Alignas(8) u8 data[148] = { };
	struct rdmablk_cm_reject *rej = (struct rdmablk_cm_reject *)data;

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		setup(state);
		request_of(c[i].version);
		msg_reject(data);
		rej->reason = cpu_to_le16(c[i].reason);
		rej->version_max = cpu_to_le16(c[i].theirs);
		deliver_data(RDMA_CM_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED, data,
			     sizeof(data));
		assert_int_equal(rdmablk_cm_wait(&q, jiffies), c[i].ret);
		assert_string_equal(q.why, c[i].why);
		assert_int_equal(q.cm_reason, c[i].reason);
	}
}

static void test_accepted_by_something_else(void **state)
{
	_Alignas(8) u8 data[196] = { };
	struct rdmablk_cm_accept *acc = (struct rdmablk_cm_accept *)data;

	(void)state;
	request();
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, data, sizeof(data));
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -EPROTO);
	assert_int_equal(q.cm_reason, 0);
	assert_false(q.connected);
	/* One byte too short */
	setup(state);
	request();
	msg_accept(data);
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, data, sizeof(*acc) - 1);
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -EPROTO);
	setup(state);
	request();
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -EPROTO);
	/* The accept of another queue's request */
	setup(state);
	request();
	acc->queue = cpu_to_le16(MSG_QUEUE + 1);
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, data, sizeof(data));
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -EPROTO);
	setup(state);
	request();
	msg_accept(data);
	acc->version = cpu_to_le16(RDMABLK_VERSION_MAX + 1);
	deliver_data(RDMA_CM_EVENT_ESTABLISHED, 0, data, sizeof(data));
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -EPROTONOSUPPORT);
	assert_int_equal(q.cm_reason, RDMABLK_R_VERSION);
	assert_false(q.connected);
}

static void test_refused_by_the_target(void **state)
{
	_Alignas(8) u8 data[148] = { };

	(void)state;
	request();
	msg_reject(data);
	deliver_data(RDMA_CM_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED, data, sizeof(data));
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), rdmablk_wire_errno(RDMABLK_R_FENCING));
	assert_int_equal(q.cm_reason, RDMABLK_R_FENCING);
	assert_int_equal(q.retry_after_ms, 100);
	assert_string_equal(q.why, rdmablk_reason_text(RDMABLK_R_FENCING));
	assert_int_equal(fatals, 0);
}

static void test_refused_by_something_else(void **state)
{
	static const struct {
		int status, ret;
		u16 reason;
		const char *why;
	} c[] = {
		{ IB_CM_REJ_CONSUMER_DEFINED, -ECONNREFUSED, 0,
		  "the peer refuses, but is not an rdmablk target" },
		{ IB_CM_REJ_INVALID_SERVICE_ID, -ECONNREFUSED, 0,
		  "nobody listens on this port" },
		{ IB_CM_REJ_STALE_CONN, -EBUSY, RDMABLK_R_FENCING,
		  "the target still has a connection from before a restart of this host" },
		{ IB_CM_REJ_NO_RESOURCES, -ECONNREFUSED, 0, "no resources" },
	};
	_Alignas(8) u8 data[148] = { 1 };

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		setup(state);
		request();
		deliver_data(RDMA_CM_EVENT_REJECTED, c[i].status, data, sizeof(data));
		assert_int_equal(rdmablk_cm_wait(&q, jiffies), c[i].ret);
		assert_int_equal(q.cm_reason, c[i].reason);
		assert_int_equal(q.retry_after_ms, 0);
		assert_string_equal(q.why, c[i].why);
	}
	setup(state);
	request();
	deliver(RDMA_CM_EVENT_CONNECT_ERROR, -ENOMEM);
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -ENOMEM);
	setup(state);
	request();
	deliver(RDMA_CM_EVENT_CONNECT_ERROR, 5);
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -ECONNABORTED);
	assert_non_null(q.why);
}

/* Events that are no outcome of the request leave it under way. */
static void test_events_without_an_outcome(void **state)
{
	(void)state;
	request();
	deliver(RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	deliver(RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_false(rdmablk_cm_is_done(&q));
	assert_int_equal(wakes, 0);
	assert_int_equal(rdmablk_cm_wait(&q, jiffies + 5), -ETIMEDOUT);
}

/*
 * The end of a connection
 */

static void test_connection_ends(void **state)
{
	static const struct {
		enum rdma_cm_event_type event;
		u16 reason;
		int ret;
	} c[] = {
		{ RDMA_CM_EVENT_DISCONNECTED, RDMABLK_R_CONNECTION, -ECONNRESET },
		{ RDMA_CM_EVENT_ADDR_CHANGE, RDMABLK_R_CONNECTION, -ECONNRESET },
		{ RDMA_CM_EVENT_DEVICE_REMOVAL, RDMABLK_R_DEVICE_GONE, -ENODEV },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		setup(state);
		establish();
		deliver(c[i].event, 0);
		assert_int_equal(fatals, 1);
		assert_int_equal(fatal_reason, c[i].reason);
		assert_int_equal(destroyed, 0);
		/* During a login the waiting task gets the error, and fatal() is not called. */
		setup(state);
		request();
		deliver(c[i].event, 0);
		assert_int_equal(fatals, 0);
		assert_int_equal(rdmablk_cm_wait(&q, jiffies), c[i].ret);
		assert_string_equal(q.why, rdmablk_reason_text(c[i].reason));
	}
}

/* The id is destroyed once, and the queue keeps no pointer to it. */
static void test_destroyed_once(void **state)
{
	(void)state;
	establish();
	rdmablk_cm_destroy(&q);
	assert_int_equal(destroyed, 1);
	assert_null(q.cm_id);
	assert_false(q.connected);
	rdmablk_cm_destroy(&q);
	assert_int_equal(destroyed, 1);
}

/* The next connection does not count as established because the last one was. */
static void test_next_connection(void **state)
{
	(void)state;
	establish();
	rdmablk_cm_destroy(&q);
	request();
	deliver(RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(fatals, 0);
	assert_int_equal(rdmablk_cm_wait(&q, jiffies), -ECONNRESET);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_resolve),
		TEST(test_an_address_is_asked_for_again),
		TEST(test_other_errors_end_it),
		TEST(test_a_route_has_no_time_beyond_the_deadline),
		TEST(test_no_time_is_left),
		TEST(test_given_up),
		TEST(test_texts),
		TEST(test_retransmit_timeout),
		TEST(test_longest_retransmit_timeout),
		TEST(test_shared_route),
		TEST(test_a_route_of_its_own),
		TEST(test_connection_request),
		TEST(test_accepted),
		TEST(test_accepted_in_version_2),
		TEST(test_one_side_has_no_key),
		TEST(test_accepted_by_something_else),
		TEST(test_refused_by_the_target),
		TEST(test_refused_by_something_else),
		TEST(test_events_without_an_outcome),
		TEST(test_connection_ends),
		TEST(test_destroyed_once),
		TEST(test_next_connection),
	};

	return cmocka_run_group_tests_name("cm", tests, NULL, NULL);
}
