// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/queue.c reports each error of a queue pair to the session, except the
 * flushed completions that follow the first error, as there may be thousands of these, and
 * that it posts nothing to a queue pair that has failed.
 */
#include <linux/kernel.h>

#include "unit.h"

#include "../../kernel/queue.h"

#define RDMABLK_TRACE_H		/* nobody traces */
#define trace_rdmablk_post_enabled()		false
#define trace_rdmablk_post(...)			((void)0)

#define WARN_ON_ONCE(x)		(x)
#define init_waitqueue_head(wq)	((void)(wq))
#define wake_up_all(wq)		((void)(wq))
#define usleep_range(a, b)	((void)(a), (void)(b))
#define min(a, b)		min_t(typeof(a), a, b)

enum ib_wc_status {
	IB_WC_SUCCESS,
	IB_WC_WR_FLUSH_ERR,
	IB_WC_RETRY_EXC_ERR,
	IB_WC_RNR_RETRY_EXC_ERR,
	IB_WC_REM_ACCESS_ERR,
	IB_WC_REM_INV_REQ_ERR,
	IB_WC_REM_OP_ERR,
	IB_WC_LOC_LEN_ERR,
	IB_WC_LOC_QP_OP_ERR,
};

struct ib_wc {
	struct ib_cqe *wr_cqe;
	enum ib_wc_status status;
};

struct ib_recv_wr {
	struct ib_cqe *wr_cqe;
};

enum { IB_POLL_SOFTIRQ, IB_POLL_DIRECT };

struct ib_cq {
	int poll_ctx;
};

struct ib_qp {
	struct ib_cq *send_cq;
	struct ib_device *device;
};

struct rdma_cm_id {
	struct ib_qp *qp;
};

enum {
	IB_EVENT_COMM_EST, IB_EVENT_SQ_DRAINED, IB_EVENT_QP_LAST_WQE_REACHED,
	IB_EVENT_PATH_MIG, IB_EVENT_QP_FATAL,
};

struct ib_event {
	int event;
};

enum { IB_SIGNAL_REQ_WR = 1, IB_QPT_RC, IB_QPS_ERR, IB_QP_STATE };

struct ib_qp_attr {
	int qp_state;
};

struct ib_qp_init_attr {
	void (*event_handler)(struct ib_event *event, void *context);
	void *qp_context;
	struct ib_cq *send_cq, *recv_cq;
	struct {
		unsigned int max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
	} cap;
	int sq_sig_type, qp_type;
};

static struct ib_cq unit_cq;
static struct ib_qp unit_qp = { .send_cq = &unit_cq };
static struct rdma_cm_id *id_of_queue;
static unsigned int posts, post_error;
static struct ib_qp_init_attr created;

static int rdma_create_qp(struct rdma_cm_id *id, struct ib_pd *pd,
			  struct ib_qp_init_attr *attr)
{
	(void)pd;
	created = *attr;
	id->qp = &unit_qp;
	return 0;
}

static void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
}

static int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

static int ib_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask)
{
	(void)qp;
	(void)attr;
	return !mask;
}

static void ib_drain_qp(struct ib_qp *qp)
{
	assert_ptr_equal(qp, &unit_qp);
}

static int ib_post_send(struct ib_qp *qp, struct ib_send_wr *wr, void *bad)
{
	(void)bad;
	assert_ptr_equal(qp, &unit_qp);
	assert_non_null(wr);
	posts++;
	return (int)post_error;
}

static int ib_post_recv(struct ib_qp *qp, struct ib_recv_wr *wr, void *bad)
{
	(void)bad;
	assert_ptr_equal(qp, &unit_qp);
	return !wr;
}

static void ib_process_cq_direct(struct ib_cq *cq, int budget)
{
	(void)cq;
	(void)budget;
	fail_msg("nothing is drained here");
}

static u64 dma;			/* where the memory of a tail is mapped; 0: it is not */
static bool no_dma;
static u8 memory[RDMABLK_TAIL_BYTES];

static u64 ib_dma_map_single(struct ib_device *dev, void *p, size_t bytes,
			     enum dma_data_direction dir)
{
	(void)dev;
	assert_ptr_equal(p, memory);
	assert_int_equal(bytes, RDMABLK_TAIL_BYTES);
	assert_int_equal(dir, DMA_FROM_DEVICE);
	dma = no_dma ? 0 : 4096;
	return dma;
}

static bool ib_dma_mapping_error(struct ib_device *dev, u64 addr)
{
	(void)dev;
	return !addr;
}

static void ib_dma_unmap_single(struct ib_device *dev, u64 addr, size_t bytes,
				enum dma_data_direction dir)
{
	(void)dev;
	assert_int_equal(addr, dma);
	assert_int_equal(bytes, RDMABLK_TAIL_BYTES);
	assert_int_equal(dir, DMA_FROM_DEVICE);
	assert_non_null(id_of_queue->qp);	/* it is destroyed after the unmap */
	dma = 0;
}

/* The kernel is built without this warning. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../kernel/queue.c"
#pragma GCC diagnostic warning "-Wunused-parameter"

static struct rdmablk_queue q;
static struct rdma_cm_id id;
static struct rdmablk_transport_errors errors;
static unsigned int fatals;
static u16 last;

/* As rdmablk_session_data_fatal() */
static void fatal(struct rdmablk_queue *queue, u16 reason)
{
	WRITE_ONCE(queue->failed, true);
	last = reason;
	fatals++;
}

static int setup(void **state)
{
	static struct rdmablk_waiter waiter;
	const struct rdmablk_queue_owner owner = {
		.waiter = &waiter, .errors = &errors, .fatal = fatal,
	};

	(void)state;
	memset(&q, 0, sizeof(q));
	memset(&errors, 0, sizeof(errors));
	rdmablk_queue_waiter_init(&waiter);
	rdmablk_queue_init(&q, 1, RDMABLK_KIND_READ, &owner);
	rdmablk_queue_reset(&q);
	q.cm_id = &id;
	id_of_queue = &id;
	no_dma = false;
	q.tail_buf = memory;
	assert_int_equal(rdmablk_queue_create_qp(&q, NULL, &unit_cq, 8, 3, 16), 0);
	fatals = 0;
	posts = 0;
	post_error = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rdmablk_queue_stop(&q);
	rdmablk_queue_destroy_qp(&q);
	rdmablk_queue_destroy_qp(&q);
	assert_null(id.qp);
	assert_int_equal(dma, 0);
	return 0;
}

static void fail_with(enum ib_wc_status status)
{
	const struct ib_wc wc = { .status = status };

	rdmablk_queue_failed(&q, &wc);
}

static void test_flushed_completions(void **state)
{
	(void)state;
	for (int round = 1; round <= 3; round++) {
		for (int i = 0; i < 1000; i++)
			fail_with(IB_WC_WR_FLUSH_ERR);
		assert_int_equal(fatals, round);
		assert_int_equal(last, RDMABLK_R_CONNECTION);
		/* The next connection */
		rdmablk_queue_reset(&q);
	}
}

/* An error is reported and counted unless it is a consequence of an earlier one. */
static void test_other_errors(void **state)
{
	(void)state;
	fail_with(IB_WC_WR_FLUSH_ERR);
	fail_with(IB_WC_REM_ACCESS_ERR);
	assert_int_equal(fatals, 2);
	assert_int_equal(last, RDMABLK_R_ACCESS);
	fail_with(IB_WC_RETRY_EXC_ERR);
	fail_with(IB_WC_RNR_RETRY_EXC_ERR);
	fail_with(IB_WC_LOC_LEN_ERR);
	fail_with(IB_WC_REM_OP_ERR);
	assert_int_equal(fatals, 6);
	assert_int_equal(last, RDMABLK_R_CONNECTION);
	assert_int_equal(errors.retry.counter, 1);
	assert_int_equal(errors.rnr.counter, 1);
	assert_int_equal(errors.remote.counter, 2);
	assert_int_equal(errors.other.counter, 1);
}

/* A message longer than the receive: status of the standard's adapters, and of Soft-RoCE */
static void test_failed_receives(void **state)
{
	static const struct {
		enum ib_wc_status status;
		u16 reason;
	} want[] = {
		{ IB_WC_LOC_LEN_ERR, RDMABLK_R_MALFORMED },
		{ IB_WC_LOC_QP_OP_ERR, RDMABLK_R_MALFORMED },
		{ IB_WC_WR_FLUSH_ERR, RDMABLK_R_CONNECTION },
		{ IB_WC_REM_OP_ERR, RDMABLK_R_CONNECTION },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct ib_wc wc = { .status = want[i].status };

		assert_int_equal(rdmablk_queue_recv_reason(&wc), want[i].reason);
	}
}

static void post(unsigned int n)
{
	spin_lock_bh(&q.lock);
	while (n--)
		rdmablk_queue_next_wr(&q);
	rdmablk_queue_post(&q);
	spin_unlock_bh(&q.lock);
}

static void test_posting(void **state)
{
	(void)state;
	post(1);
	post(RDMABLK_BATCH);
	assert_int_equal(posts, 2);
	post(RDMABLK_BATCH + 1);
	assert_int_equal(posts, 4);
	assert_int_equal(q.nr_batch, 0);
	rdmablk_queue_commit(&q);
	assert_int_equal(posts, 4);
	post_error = 1;
	post(1);
	assert_int_equal(posts, 5);
	assert_int_equal(fatals, 1);
	post(3);
	assert_int_equal(posts, 5);
	assert_int_equal(fatals, 1);
}

static void test_sizes(void **state)
{
	(void)state;
	/* One more of each is for the drain. */
	assert_int_equal(created.cap.max_send_wr, 9);
	assert_int_equal(created.cap.max_recv_wr, 4);
	assert_int_equal(created.cap.max_send_sge, 16);
	assert_true(rdmablk_queue_get_slots(&q, 5));
	assert_false(rdmablk_queue_get_slots(&q, 4));
	assert_true(rdmablk_queue_get_slots(&q, 3));
	assert_false(rdmablk_queue_get_slots(&q, 1));
	rdmablk_queue_put_slots(&q, 8);
	assert_int_equal(atomic_read(&q.slots), 8);
}

static void test_events(void **state)
{
	static const int harmless[] = {
		IB_EVENT_COMM_EST, IB_EVENT_SQ_DRAINED, IB_EVENT_QP_LAST_WQE_REACHED,
		IB_EVENT_PATH_MIG,
	};
	struct ib_event event;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		event.event = harmless[i];
		created.event_handler(&event, created.qp_context);
	}
	assert_int_equal(fatals, 0);
	event.event = IB_EVENT_QP_FATAL;
	created.event_handler(&event, created.qp_context);
	assert_int_equal(fatals, 1);
}

/* The tail belongs to the queue pair, and goes with it, whether another one follows or not. */
static void test_tail(void **state)
{
	(void)state;
	assert_int_equal(q.tail, 0);
	no_dma = true;
	assert_int_equal(rdmablk_queue_make_tail(&q, 5), -ENOMEM);
	assert_int_equal(q.tail, 0);
	no_dma = false;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rdmablk_queue_make_tail(&q, 5), 0);
		assert_int_equal(q.tail, 1);
		assert_int_equal(q.tail_sge.addr, dma);
		assert_int_equal(q.tail_sge.length, RDMABLK_TAIL_BYTES);
		assert_int_equal(q.tail_sge.lkey, 5);
		rdmablk_queue_stop(&q);
		rdmablk_queue_destroy_qp(&q);
		assert_int_equal(q.tail, 0);
		assert_int_equal(rdmablk_queue_create_qp(&q, NULL, &unit_cq, 8, 3, 16), 0);
	}
	assert_int_equal(rdmablk_queue_make_tail(&q, 5), 0);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_flushed_completions),
		TEST(test_other_errors),
		TEST(test_failed_receives),
		TEST(test_posting),
		TEST(test_sizes),
		TEST(test_events),
		TEST(test_tail),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
