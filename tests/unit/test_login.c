// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/login.c asks for half of the queues when the adapter of either side has
 * no room for them, wherever in the login that is found out, and for more again later; and
 * that a first login that begins again keeps nothing that was made for what it had been
 * granted before.
 */
#include "session_world.h"

#include "messages.h"
#include "../../kernel/login.h"

/* The kernel around login.c and hwq.c */
#define PAGE_SIZE		4096
#define SZ_128K			0x20000
#define NUMA_NO_NODE		(-1)
#define clamp_t(type, v, lo, hi)	min_t(type, max_t(type, v, lo), hi)
#define IS_ERR(p)		(!(p))
#define PTR_ERR(p)		((p) ? 0 : -ENOMEM)
#define dev_name(dev)		((void)(dev), "unit")
#define strscpy(to, from, n)	snprintf(to, n, "%s", from)
#define get_random_bytes(to, n)	memset(to, 7, n)
#define init_utsname()		(&utsname)
#define wait_event_timeout(wq, condition, left)	((void)(wq), (void)(left), (condition))
#define kfree(p)		free(p)
#define kvfree_sensitive(p, n)	((void)(n), free(p))
#define kcalloc(n, size, f)	((void)(f), calloc(n, size))
#define kzalloc_node(n, f, node)	((void)(f), (void)(node), calloc(1, n))
#define kvzalloc_node(n, f, node)	((void)(f), (void)(node), calloc(1, n))
#define array_size(n, size)	((n) * (size))
#define cpu_to_node(cpu)	((void)(cpu), 0)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < nr_cpu_ids; (cpu)++)

struct blk_mq_queue_map {
	unsigned int *mq_map, nr_queues, queue_offset;
};

struct ib_device_attr {
	int max_qp, max_cq, max_cqe, max_qp_wr;
};

struct ib_device {
	struct ib_device_attr attrs;
	int num_comp_vectors, dev;
};

struct ib_pd {
	struct ib_device *device;
	u32 local_dma_lkey;
};

struct rdma_cm_id {
	struct ib_device *device;
	u32 port_num;
};

enum { QUEUES = 8 };

static const unsigned int nr_cpu_ids = QUEUES;
static const struct { const char *nodename; } utsname = { "unit" };
static struct ib_device device = {
	.attrs = { .max_qp = 1 << 16, .max_cq = 1 << 16, .max_cqe = 1 << 16,
		   .max_qp_wr = 1 << 12 },
	.num_comp_vectors = QUEUES,
};

static struct rdma_cm_id id = { .device = &device, .port_num = 1 };
static struct gendisk *const a_disk = (struct gendisk *)&device;
static struct rdmablk_session *session;

/*
 * What the target and its adapter, and ours, are like in a login. sends: elements of one of
 * our work requests; early: hardware queues that there is room for before GRANT, late: after
 * it; staged: the export is; cut: GRANT is broken, and the connection is lost behind it
 */
static struct world {
	u32 granule, sends, early, late;
	bool staged, cut;
} world[8];

static unsigned int logins;
static u32 asked[ARRAY_SIZE(world)];

static struct world *now(void)
{
	assert_in_range(logins, 1, ARRAY_SIZE(world));
	return &world[logins - 1];
}

#define num_online_cpus()	QUEUES

static void blk_mq_map_queues(struct blk_mq_queue_map *map)
{
	for (unsigned int i = 0; i < nr_cpu_ids; i++)
		map->mq_map[i] = map->queue_offset + i % map->nr_queues;
}

static struct ib_pd *ib_alloc_pd(struct ib_device *dev, unsigned int flags)
{
	struct ib_pd *pd = calloc(1, sizeof(*pd));

	(void)flags;
	pd->device = dev;
	return pd;
}

/*
 * The target
 */

static int answer(struct rdmablk_ctrl *ctrl, void (*build)(void *msg), size_t len)
{
	build(ctrl->msg);
	ctrl->msg_len = (u16)len;
	return 0;
}

static int grant(struct rdmablk_ctrl *ctrl)
{
	struct rdmablk_grant *g = (struct rdmablk_grant *)ctrl->msg;

	if (asked[logins - 1] > now()->early) {
		session->login.reason = RDMABLK_R_DEVICE_FULL;
		return -ECONNRESET;
	}
	answer(ctrl, msg_grant, sizeof(*g));
	if (now()->cut) {
		g->logical_block = cpu_to_le32(1);
		session->login.reason = RDMABLK_R_CONNECTION;
	}
	g->nr_queues = cpu_to_le16(asked[logins - 1]);
	g->flags = cpu_to_le32(RDMABLK_GRANT_CACHE);
	if (now()->staged) {
		g->flags |= cpu_to_le32(RDMABLK_GRANT_STAGED);
		g->region_bytes = 0;
		g->nr_regions = 0;
	}
	return 0;
}

static int limits(struct rdmablk_ctrl *ctrl)
{
	struct rdmablk_limits *l = (struct rdmablk_limits *)ctrl->msg;

	answer(ctrl, now()->staged ? msg_staged_limits : msg_limits, sizeof(*l));
	if (!now()->staged)
		l->granule = cpu_to_le32(now()->granule);
	return 0;
}

int rdmablk_ctrl_ask(struct rdmablk_ctrl *ctrl, const void *msg, size_t len, u16 reply,
		     unsigned long deadline)
{
	const struct rdmablk_regions_get *get = msg;

	(void)len;
	(void)deadline;
	switch (reply) {
	case RDMABLK_MSG_CHALLENGE:
		logins++;
		now();
		asked[logins - 1] = le16_to_cpu(((const struct rdmablk_hello *)msg)->nr_queues);
		return answer(ctrl, msg_challenge, sizeof(struct rdmablk_challenge));
	case RDMABLK_MSG_GRANT:
		return grant(ctrl);
	case RDMABLK_MSG_LIMITS:
		return limits(ctrl);
	case RDMABLK_MSG_REGIONS:
		return answer(ctrl, le32_to_cpu(get->first) ? msg_last_regions : msg_regions,
			      sizeof(struct rdmablk_regions));
	default:
		return answer(ctrl, msg_live, sizeof(struct rdmablk_live));
	}
}

/* Each queue pair of ours and of the target's */
int rdmablk_login_queues(struct rdmablk_session *s)
{
	if (s->path.nr_hwqs <= now()->late)
		return 0;
	s->login.no_room = true;
	return rdmablk_login_fail(s, -ENOMEM, "no room");
}

void rdmablk_login_map(struct rdmablk_session *s)
{
	for (u32 i = 0; i < s->nr_queues; i++)
		s->path.map[i] = s->path.hwq[i % s->login.offer.grant.nr_queues];
	s->path.nr_hwqs = s->login.offer.grant.nr_queues;
	s->login.offer.nr_hwqs = s->path.nr_hwqs;
}

bool rdmablk_session_go_live(struct rdmablk_session *s, u64 *resized, u16 *drained)
{
	*resized = 0;
	*drained = 0;
	if (!s->resume)
		s->told = s->login.offer;
	s->agreed = s->login.offer;
	s->resume = true;
	return true;
}

void rdmablk_session_destroy_queues(struct rdmablk_session *s)
{
	free(s->pd);
	s->pd = NULL;
}

int rdmablk_disk_alloc(struct rdmablk_session *s)
{
	assert_null(s->disk);
	s->disk = a_disk;
	s->tag_set.queue_depth = s->login.offer.grant.queue_depth;
	return 0;
}

void rdmablk_disk_free(struct rdmablk_session *s)
{
	s->disk = NULL;
}

void rdmablk_ibdev_limits(struct ib_device *dev, u32 port, struct rdmablk_limits_in *in)
{
	(void)port;
	in->max_send_sge = now()->sends;
	in->max_sge_rd = now()->sends;
	in->max_qp_wr = dev->attrs.max_qp_wr;
	in->max_cqe = dev->attrs.max_cqe;
	in->max_msg_size = 1U << 30;
}

u8 rdmablk_boot_nonce[RDMABLK_ID_LEN];

void rdmablk_fence_exit(struct rdmablk_fence *f)
{
	if (f->has_dirty)
		rdmablk_dirty_exit(&f->dirty);
	f->has_dirty = false;
}

/* Functions of the module that do not matter here */
#pragma GCC diagnostic ignored "-Wunused-parameter"

void rdmablk_ctrl_reset(struct rdmablk_ctrl *ctrl)
{
}

void rdmablk_ctrl_stop(struct rdmablk_ctrl *ctrl)
{
}

void rdmablk_ctrl_close(struct rdmablk_ctrl *ctrl, u16 reason)
{
}

void rdmablk_mac_forget(struct rdmablk_mac *a)
{
}

void rdmablk_cmdq_free(struct rdmablk_cmdq *cmdq)
{
}

void rdmablk_poll_init(struct rdmablk_hwq *hwq)
{
}

void rdmablk_queue_init(struct rdmablk_queue *q, u16 nr, u8 kind,
			const struct rdmablk_queue_owner *owner)
{
}

void rdmablk_queue_reset(struct rdmablk_queue *q)
{
}

void rdmablk_session_stop_data(struct rdmablk_session *s)
{
}

void rdmablk_session_data_fatal(struct rdmablk_queue *q, u16 reason)
{
}

void rdmablk_ctrl_events_resized(struct rdmablk_session *s, u64 bytes)
{
}

void rdmablk_ctrl_events_drain(struct rdmablk_session *s, u16 reason)
{
}

void rdmablk_keepalive_start(struct rdmablk_session *s)
{
}

void rdmablk_flush_ahead_start(struct rdmablk_path *path, bool shared)
{
}

void rdmablk_fence_start(struct rdmablk_fence *f)
{
}

int rdmablk_ctrl_create(struct rdmablk_ctrl *ctrl, struct ib_pd *pd)
{
	return 0;
}

int rdmablk_cm_resolve(struct rdmablk_queue *q, struct sockaddr *dst, struct sockaddr *src,
		       const struct rdmablk_cm_route *route, unsigned long deadline)
{
	return 0;
}

u8 rdmablk_cm_ack_timeout(const struct rdmablk_queue *q,
			  const struct rdmablk_cm_route *route)
{
	return 14;
}

u8 rdmablk_cm_longest_ack(const struct rdmablk_queue *q,
			  const struct rdmablk_cm_route *route)
{
	return 14;
}

int rdmablk_cm_start_connect(struct rdmablk_queue *q, const struct rdmablk_cm_request *req,
			     u8 read_depth)
{
	return 0;
}

int rdmablk_cm_wait(struct rdmablk_queue *q, unsigned long deadline)
{
	return 0;
}

long rdmablk_cm_left(unsigned long deadline)
{
	return 1000;
}

int rdmablk_probe_wait(struct rdmablk_session *s, const struct rdmablk_cm_request *req,
		       unsigned long deadline)
{
	return 0;
}

int rdmablk_ibdev_check(struct ib_device *dev, u32 port, const char **why)
{
	return 0;
}

u32 rdmablk_ibdev_max_segment(struct ib_device *dev)
{
	return 1U << 20;
}

int rdmablk_mac_open(struct rdmablk_mac *a)
{
	return 0;
}

int rdmablk_mac_proof(struct rdmablk_mac *a, const struct rdmablk_hello *hello,
		      const void *challenge, u8 *mac)
{
	return 0;
}

int rdmablk_mac_session(struct rdmablk_mac *a, const struct rdmablk_hello *hello,
			const struct rdmablk_wire_challenge *ch)
{
	return 0;
}

int rdmablk_mac_check(struct rdmablk_mac *a, const char *label, const void *msg, size_t len,
		      const u8 *mac)
{
	return 0;
}

u32 rdmablk_login_tags(const struct rdmablk_session *s)
{
	return 16;
}

u32 rdmablk_login_polled(const struct rdmablk_session *s)
{
	return 0;
}

bool rdmablk_login_ordered(const struct rdmablk_session *s)
{
	return false;
}

u32 rdmablk_login_sharers(const struct rdmablk_session *s)
{
	return QUEUES;
}

u32 rdmablk_login_owned(const struct rdmablk_session *s)
{
	return 16;
}

/* The kernel is built without these warnings. */
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../kernel/hwq.c"
#include "../../kernel/login_step.c"
#include "../../kernel/login.c"
#pragma GCC diagnostic warning "-Wunused-parameter"
#pragma GCC diagnostic warning "-Wsign-compare"

static int setup(void **state)
{
	static struct rdmablk_session s;

	(void)state;
	s = (struct rdmablk_session){
		.opt = { .queues = QUEUES, .queue_depth = 64, .keep_alive_tmo = 5,
			 .connect_tmo = 10, .reconnect_delay = 2, .export_name = "disk0" },
		.ctrl.queue = { .cm_id = &id, .version = 1, .waiter = &s.waiter },
	};
	session = &s;
	for (size_t i = 0; i < ARRAY_SIZE(world); i++)
		world[i] = (struct world){ 4096, 16, QUEUES, QUEUES, false, false };
	logins = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rdmablk_fence_exit(&session->path.fence);
	rdmablk_hwq_free(session);
	free(session->path.region);
	free(session->pd);
	return 0;
}

/* As recovery.c does it after the connection was lost */
static int again(void)
{
	rdmablk_session_destroy_queues(session);
	session->login.reason = 0;
	return rdmablk_login(session);
}

static void test_all_fit(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 1);
	assert_int_equal(asked[0], QUEUES);
	assert_int_equal(session->path.nr_hwqs, QUEUES);
}

static void test_no_room_to_join(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(world); i++)
		world[i].late = 2;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 3);
	assert_int_equal(asked[1], QUEUES / 2);
	assert_int_equal(asked[2], 2);
	assert_int_equal(session->path.nr_hwqs, 2);
	assert_int_equal(session->nr_queues, QUEUES);
}

/* The target's completion queues: it says so in place of GRANT. */
static void test_no_room_before_grant(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(world); i++)
		world[i].early = 3;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 3);
	assert_int_equal(asked[2], 2);
	assert_int_equal(session->path.nr_hwqs, 2);
	/* And of a disk that has been there: then there is a grant, of another login. */
	for (size_t i = logins; i < ARRAY_SIZE(world); i++)
		world[i].early = 1;
	assert_int_equal(again(), 0);
	assert_int_equal(asked[logins - 1], 1);
	world[logins].early = 0;
	session->most_queues = 1;
	assert_int_equal(again(), -ENOSPC);
}

/* The adapter may be another one, and the target may want another granule. */
static void test_nothing_is_kept(void **state)
{
	(void)state;
	world[0] = (struct world){ .granule = 4096, .sends = 1, .early = QUEUES, .late = 4 };
	world[1] = (struct world){ .granule = 65536, .sends = 16, .early = QUEUES, .late = 4 };
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 2);
	assert_int_equal(session->path.fence.dirty.shift, 16);
	assert_true(session->login.offer.limits.max_segments > RDMABLK_FEW_SEGMENTS);
	for (u32 i = 0; i < session->nr_queues; i++)
		assert_non_null(session->path.hwq[i]->reserve.segments);
}

/*
 * The disk of a staged export has no more hardware queues than the target grants, unless it
 * would grant more if an adapter had room.
 */
static void test_staged(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(world); i++)
		world[i] = (struct world){ 0, 16, QUEUES, 4, true, false };
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 2);
	assert_int_equal(session->path.nr_hwqs, 4);
	assert_int_equal(session->nr_queues, QUEUES);
}

/* One that has been there has dirty granules, and a block layer that knows its queues. */
static void test_a_disk_keeps_what_it_has(void **state)
{
	struct rdmablk_hwq *hwq;

	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	hwq = session->path.hwq[0];
	rdmablk_dirty_set(&session->path.fence.dirty, 8192, 1);
	world[1].late = 4;
	assert_int_equal(again(), 0);
	assert_int_equal(logins, 3);
	assert_ptr_equal(session->path.hwq[0], hwq);
	assert_int_equal(atomic_long_read(&session->path.fence.dirty.dirty[0]), 1 << 2);
}

/* A shortage passes, and the disk is not to remember it for ever. */
static void test_more_queues_again(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		world[i].late = 1;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 4);
	assert_int_equal(session->agreed.nr_hwqs, 1);
	for (u32 queues = 2; queues <= QUEUES; queues *= 2) {
		assert_int_equal(again(), 0);
		assert_int_equal(session->agreed.nr_hwqs, queues);
	}
	assert_int_equal(again(), 0);
	assert_int_equal(session->agreed.nr_hwqs, QUEUES);
}

/* The connection is lost because the message is bad. */
static void test_a_bad_message_is_the_reason(void **state)
{
	(void)state;
	world[0].cut = true;
	assert_int_equal(rdmablk_login(session), -EPROTO);
	assert_string_equal(session->why, "the target sent a bad GRANT");
	assert_int_equal(session->login.reason, RDMABLK_R_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room_to_join, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room_before_grant, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_queues_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_staged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_disk_keeps_what_it_has, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_bad_message_is_the_reason, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("login", tests, NULL, NULL);
}
