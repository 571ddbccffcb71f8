// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/hwq.c allocates the memory of hardware queues on the node of the
 * processors that use it, and no more than requests can need, and that it frees all of it,
 * however much was allocated.
 */
#include "session_world.h"

#include <assert.h>
#include <linux/slab.h>

#define SZ_128K			0x00020000
#define CPUS			4
#define MOST			16
#define NUMA_NO_NODE		(-1)
#define nr_cpu_ids		CPUS
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < CPUS; (cpu)++)
#define array_size(n, size)	((size_t)(n) * (size))
#define kcalloc(n, size, flags)	((void)(flags), unit_alloc((size_t)(n) * (size), NUMA_NO_NODE))
#define kzalloc_node(size, flags, node)		((void)(flags), unit_alloc(size, node))
#define kvzalloc_node(size, flags, node)	((void)(flags), unit_alloc(size, node))
#define kfree(p)		unit_free(p)
#define kvfree(p)		unit_free(p)

struct blk_mq_queue_map {
	unsigned int *mq_map;
	unsigned int nr_queues, queue_offset;
};

static struct rdmablk_session s;
static int live;		/* allocations that are not free */
static int left;		/* allocations until one fails; negative: none does */
static unsigned int on_node[3];	/* allocations, the last without a node */
static unsigned int cmdqs_freed;

static void *unit_alloc(size_t bytes, int node)
{
	if (left >= 0 && !left--)
		return NULL;
	live++;
	on_node[node == NUMA_NO_NODE ? 2 : node]++;
	return calloc(1, bytes);
}

static void unit_free(void *p)
{
	live -= !!p;
	free(p);
}

/* Processors 0 and 1 are on node 0. */
static int cpu_to_node(unsigned int cpu)
{
	assert_in_range(cpu, 0, CPUS - 1);
	return cpu / 2;
}

static void blk_mq_map_queues(struct blk_mq_queue_map *map)
{
	assert_true(map->nr_queues > 0);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		map->mq_map[cpu] = map->queue_offset + cpu * map->nr_queues /
				   max(CPUS, map->nr_queues);
}

void rdmablk_queue_init(struct rdmablk_queue *q, u16 nr, u8 kind,
			const struct rdmablk_queue_owner *owner)
{
	q->nr = nr;
	q->kind = kind;
	q->index = owner->index;
	q->waiter = owner->waiter;
	q->errors = owner->errors;
	q->fatal = owner->fatal;
}

void rdmablk_poll_init(struct rdmablk_hwq *hwq)
{
	assert_null(hwq->write.tail_buf);
}

void rdmablk_cmdq_free(struct rdmablk_cmdq *cmdq)
{
	assert_ptr_equal(cmdq, &s.path.hwq[cmdqs_freed]->cmdq);
	cmdqs_freed++;
}

static void data_fatal(struct rdmablk_queue *q, u16 reason)
{
	(void)q;
	(void)reason;
}

#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../kernel/hwq.c"
#pragma GCC diagnostic warning "-Wsign-compare"

static int setup(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	memset(on_node, 0, sizeof(on_node));
	live = 0;
	left = -1;
	cmdqs_freed = 0;
	s.index = 7;
	s.nr_queues = 4;
	s.login.offer.limits.max_segments = RDMABLK_FEW_SEGMENTS;
	return 0;
}

static void all_free(void)
{
	cmdqs_freed = 0;
	rdmablk_hwq_free(&s);
	assert_int_equal(live, 0);
}

/* Each queue pair has a number of its own at the target; 0 is the control queue's. */
static void test_queues(void **state)
{
	bool seen[2 * MOST + 3] = { [0] = true };

	(void)state;
	s.nr_queues = MOST;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	for (u32 i = 0; i < MOST; i++) {
		struct rdmablk_hwq *hwq = s.path.hwq[i];

		assert_int_equal(hwq->nr, i);
		assert_ptr_equal(hwq->path, &s.path);
		assert_int_equal(hwq->read.kind, RDMABLK_KIND_READ);
		assert_int_equal(hwq->write.kind, RDMABLK_KIND_WRITE);
		assert_false(seen[hwq->read.nr]);
		seen[hwq->read.nr] = true;
		assert_false(seen[hwq->write.nr]);
		seen[hwq->write.nr] = true;
		assert_int_equal(hwq->read.index, 7);
		assert_ptr_equal(hwq->write.waiter, &s.waiter);
		assert_ptr_equal(hwq->read.errors, &s.errors);
		assert_ptr_equal(hwq->write.fatal, data_fatal);
		for (int line = 0; line < RDMABLK_LINES; line++)
			assert_true(list_empty(&hwq->line[line]));
	}
	all_free();
	assert_int_equal(cmdqs_freed, MOST);
}

static void test_nodes(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(s.path.hwq[i]->node, i / 2);
	assert_int_equal(on_node[0], 2);
	assert_int_equal(on_node[1], 2);
	all_free();
}

/* All processors use the only polled queue, and the first processor is on node 0. */
static void test_polled_queues_have_a_map_of_their_own(void **state)
{
	static const int node[] = { 0, 1, 0 };

	(void)state;
	s.nr_queues = 3;
	s.path.nr_poll = 1;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(s.path.hwq[i]->node, node[i]);
	all_free();
}

static void test_queue_that_no_processor_uses(void **state)
{
	(void)state;
	s.nr_queues = 2 * CPUS;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	assert_int_equal(s.path.hwq[CPUS - 1]->node, 1);
	assert_int_equal(s.path.hwq[CPUS]->node, NUMA_NO_NODE);
	all_free();
}

/* The reserve of 128 KiB is allocated only if a request can need it. */
static void test_reserve(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	assert_null(s.path.hwq[0]->reserve.segments);
	all_free();
	s.login.offer.limits.max_segments = RDMABLK_FEW_SEGMENTS + 1;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	for (u32 i = 0; i < s.nr_queues; i++) {
		struct rdmablk_reserve *reserve = &s.path.hwq[i]->reserve;

		assert_non_null(reserve->segments);
		assert_int_equal(reserve->used, 0);
		for (int k = 0; k < RDMABLK_RESERVE; k++)
			assert_ptr_equal(reserve->segments[k].reserve, reserve);
	}
	all_free();
	assert_int_equal(on_node[0], on_node[1]);
}

static void test_tail(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	assert_null(s.path.hwq[0]->write.tail_buf);
	all_free();
	s.opt.ordered = true;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	for (u32 i = 0; i < s.nr_queues; i++)
		assert_non_null(s.path.hwq[i]->write.tail_buf);
	all_free();
}

/* Each of the allocations fails once. */
static void test_no_memory(void **state)
{
	int n = 0;

	for (;; n++) {
		setup(state);
		s.opt.ordered = true;
		s.login.offer.limits.max_segments = RDMABLK_MAX_SEGMENTS;
		s.path.nr_poll = 1;
		left = n;
		if (!rdmablk_hwq_alloc(&s, data_fatal))
			break;
		assert_non_null(s.why);
		assert_int_equal(left, -1);
		all_free();
	}
	assert_int_equal(left, 0);	/* no allocation has failed */
	/* Two tables, and three allocations for each queue */
	assert_int_equal(live, 2 + 3 * s.nr_queues);
	assert_null(s.why);
	all_free();
	assert_true(n > live);
}

/* A session that has no queues yet, and one that allocates them again */
static void test_none(void **state)
{
	(void)state;
	all_free();
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	all_free();
	all_free();
	assert_int_equal(cmdqs_freed, 0);
	s.nr_queues = 1;
	assert_int_equal(rdmablk_hwq_alloc(&s, data_fatal), 0);
	all_free();
	assert_int_equal(cmdqs_freed, 1);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_queues),
		TEST(test_nodes),
		TEST(test_polled_queues_have_a_map_of_their_own),
		TEST(test_queue_that_no_processor_uses),
		TEST(test_reserve),
		TEST(test_tail),
		TEST(test_no_memory),
		TEST(test_none),
	};

	return cmocka_run_group_tests_name("hwq", tests, NULL, NULL);
}
