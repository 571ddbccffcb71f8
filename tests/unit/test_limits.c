// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that the limits of kernel/limits.c fit together: what a device cannot carry
 * is never asked of it, and what it can carry is used.
 */
#include <linux/kernel.h>

#include "../../kernel/limits.h"
#include "unit.h"

/* A fast adapter and an ordinary export. */
static const struct rdmablk_limits_in usual = {
	.max_send_sge = 32, .max_sge_rd = 32, .max_qp_wr = 4096,
	.max_msg_size = 1ULL << 30, .queue_depth = 128, .max_io = 0,
	.logical_block = 512, .region_bytes = 1ULL << 40, .page_bytes = 4096,
};

static struct rdmablk_limits_out out;

static void compute(const struct rdmablk_limits_in *in)
{
	memset(&out, 0xa5, sizeof(out));
	assert_int_equal(rdmablk_limits_compute(in, &out), 0);
}

static void test_usual_device(void **state)
{
	(void)state;
	compute(&usual);
	assert_int_equal(out.sge_per_wr, 16);
	assert_int_equal(out.max_segments, 64);
	assert_int_equal(out.max_chain, 4);
	assert_int_equal(out.max_io_bytes, 1 << 20);
	assert_int_equal(out.send_slots, 256);
}

static void test_elements_of_a_work_request(void **state)
{
	static const struct {
		uint32_t send, rd, per_wr, chain, segments;
	} list[] = {
		{ 1, 32, 1, 4, 4 }, { 32, 1, 1, 4, 4 }, { 2, 3, 2, 4, 8 }, { 3, 3, 3, 4, 12 },
		/* bnxt_re, irdma, mlx5 */
		{ 6, 6, 6, 4, 24 }, { 13, 13, 13, 4, 52 }, { 30, 30, 16, 4, 64 },
		{ 16, 17, 16, 4, 64 }, { 15, 16, 15, 4, 60 },
		{ UINT32_MAX, UINT32_MAX, 16, 4, 64 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rdmablk_limits_in in = usual;

		in.max_send_sge = list[i].send;
		in.max_sge_rd = list[i].rd;
		compute(&in);
		assert_int_equal(out.sge_per_wr, list[i].per_wr);
		assert_int_equal(out.max_chain, list[i].chain);
		assert_int_equal(out.max_segments, list[i].segments);
	}
}

static void test_largest_request(void **state)
{
	static const struct {
		uint32_t max_io, block;
		uint64_t region, msg;
		uint32_t want;
	} list[] = {
		{ 0, 512, 1 << 20, 1 << 30, 1 << 20 },
		{ 1 << 20, 512, 1 << 20, 1 << 20, 1 << 20 },
		{ (1 << 20) + 512, 512, 1 << 30, 1 << 30, 1 << 20 },
		{ (1 << 20) - 512, 512, 1 << 30, 1 << 30, (1 << 20) - 512 },
		{ 4096, 512, 1 << 30, 1 << 30, 4096 },
		{ 4096, 4096, 1 << 30, 1 << 30, 4096 },
		{ UINT32_MAX, 4096, UINT64_MAX, UINT64_MAX, 1 << 20 },
		{ 0, 512, 1 << 30, 70000, 69632 },
		{ 0, 4096, 1 << 30, 70000, 69632 },
		{ 0, 4096, 1 << 30, 8191, 4096 },
		{ 0, 512, 1 << 30, 4607, 4096 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rdmablk_limits_in in = usual;

		in.max_io = list[i].max_io;
		in.logical_block = list[i].block;
		in.region_bytes = list[i].region;
		in.max_msg_size = list[i].msg;
		compute(&in);
		assert_int_equal(out.max_io_bytes, list[i].want);
	}
}

static void test_send_queue(void **state)
{
	static const struct {
		uint32_t wr, sge, depth, slots, chain, segments;
	} list[] = {
		{ 4096, 32, 1, 8, 4, 64 },
		{ 4096, 32, 4, 8, 4, 64 },
		{ 4096, 32, 5, 10, 4, 64 },
		{ 257, 32, 128, 256, 4, 64 },
		{ 256, 32, 128, 255, 4, 64 },
		{ 65535, 1, 65535, 65534, 4, 4 },
		{ 131072, 1, 65535, 131070, 4, 4 },
		{ UINT32_MAX, 1, 65535, 131070, 4, 4 },
		{ 9, 32, 1, 8, 4, 64 },
		{ 8, 32, 1, 6, 3, 48 },
		{ 8, 6, 1, 6, 3, 18 },
		{ 3, 32, 128, 2, 1, 16 },
		{ 2, 32, 128, 1, 1, 16 },
		{ 2, 1, 128, 1, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rdmablk_limits_in in = usual;

		in.max_qp_wr = list[i].wr;
		in.max_send_sge = list[i].sge;
		in.queue_depth = (uint16_t)list[i].depth;
		compute(&in);
		assert_int_equal(out.send_slots, list[i].slots);
		assert_int_equal(out.max_chain, list[i].chain);
		assert_int_equal(out.max_segments, list[i].segments);
	}
}

/* A disk that comes back by another device keeps its segments, if there is room for them. */
static void test_another_device(void **state)
{
	static const struct {
		uint32_t told, sge, wr, chain, segments;
	} list[] = {
		{ 64, 32, 4096, 4, 64 }, { 64, 13, 4096, 5, 64 }, { 64, 6, 4096, 11, 64 },
		{ 64, 1, 4096, 64, 64 }, { 24, 6, 4096, 4, 24 }, { 24, 16, 4096, 4, 64 },
		{ 24, 13, 4096, 4, 52 }, { 52, 6, 4096, 9, 54 }, { 1, 1, 4096, 4, 4 },
		{ 64, 1, 33, 16, 16 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rdmablk_limits_in in = usual;

		in.segments = list[i].told;
		in.max_send_sge = list[i].sge;
		in.max_qp_wr = list[i].wr;
		compute(&in);
		assert_int_equal(out.max_chain, list[i].chain);
		assert_int_equal(out.max_segments, list[i].segments);
		assert_true(out.send_slots >= 2 * out.max_chain);
	}
}

static void test_devices_that_are_too_small(void **state)
{
	struct rdmablk_limits_in in;

	(void)state;
#define REFUSED(member, value)							\
	do {									\
		in = usual;							\
		in.member = (value);						\
		assert_int_equal(rdmablk_limits_compute(&in, &out), -EINVAL);	\
	} while (0)
	REFUSED(max_send_sge, 0);
	REFUSED(max_sge_rd, 0);
	REFUSED(max_qp_wr, 0);
	REFUSED(max_qp_wr, 1);
	REFUSED(queue_depth, 0);
	REFUSED(logical_block, 0);
	REFUSED(region_bytes, 0);
	REFUSED(region_bytes, 511);
	REFUSED(max_msg_size, 0);
	REFUSED(max_msg_size, 511);
	REFUSED(max_msg_size, 4095);
	REFUSED(max_io, 511);
	REFUSED(max_io, 4095);
	REFUSED(page_bytes, (1 << 20) + 1);
#undef REFUSED
}

/* Each hardware queue of a disk has a vector of its own while there are enough of them. */
static void test_vectors(void **state)
{
	static const struct {
		uint32_t disk, nr, i, vectors, want;
	} list[] = {
		{ 0, 4, 0, 16, 0 }, { 0, 4, 3, 16, 3 }, { 1, 4, 0, 16, 4 }, { 3, 4, 3, 16, 15 },
		{ 4, 4, 0, 16, 0 }, { 1, 3, 2, 4, 1 }, { 7, 16, 5, 16, 5 }, { 9, 2, 1, 1, 0 },
		{ 1, 256, 255, 64, 63 }, { 1048575, 128, 127, 63, 7 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		assert_int_equal(rdmablk_limits_vector(list[i].disk, list[i].nr, list[i].i,
						       list[i].vectors), list[i].want);
	for (int i = 0; i < 10000; i++) {
		uint32_t vectors = 1 + (uint32_t)(unit_random() % 256);
		uint32_t nr = 1 + (uint32_t)(unit_random() % 128);
		uint32_t disk = (uint32_t)(unit_random() % (1 << 20));
		uint32_t first = rdmablk_limits_vector(disk, nr, 0, vectors);

		assert_in_range(first, 0, vectors - 1);
		for (uint32_t q = 1; q < nr; q++)
			assert_int_equal(rdmablk_limits_vector(disk, nr, q, vectors),
					 (first + q) % vectors);
	}
}

/* What holds for any device and any export. */
static void test_invariants(void **state)
{
	(void)state;
	for (int i = 0; i < 500000; i++) {
		struct rdmablk_limits_in in = {
			.max_send_sge	= (uint32_t)(unit_random() >> (32 + unit_random() % 32)),
			.max_sge_rd	= (uint32_t)(unit_random() >> (32 + unit_random() % 32)),
			.max_qp_wr	= (uint32_t)(unit_random() >> (32 + unit_random() % 32)),
			.max_msg_size	= unit_random() >> unit_random() % 64,
			.queue_depth	= (uint16_t)(unit_random() >> (48 + unit_random() % 16)),
			.max_io		= (uint32_t)(unit_random() >> (32 + unit_random() % 32)),
			.logical_block	= unit_random() & 1 ? 512 : 4096,
			.region_bytes	= 1ULL << unit_random() % 64,
			.page_bytes	= unit_random() & 1 ? 4096 : 65536,
			.segments	= unit_random() & 1 ? 0 :
					  (uint32_t)(unit_random() % (RDMABLK_MAX_SEGMENTS + 1)),
		};

		if (rdmablk_limits_compute(&in, &out))
			continue;
		assert_in_range(out.sge_per_wr, 1, 16);
		assert_true(in.segments || out.max_chain <= 4);
		assert_true(out.sge_per_wr <= in.max_send_sge && out.sge_per_wr <= in.max_sge_rd);
		assert_in_range(out.max_segments, 1, 64);
		assert_true(out.max_chain * out.sge_per_wr >= out.max_segments);
		assert_true((out.max_chain - 1) * out.sge_per_wr < out.max_segments);
		assert_in_range(out.max_io_bytes, in.page_bytes, RDMABLK_MAX_IO);
		assert_int_equal(out.max_io_bytes % in.logical_block, 0);
		assert_true(out.max_io_bytes <= in.max_msg_size);
		assert_true(out.max_io_bytes <= in.region_bytes);
		assert_true(!in.max_io || out.max_io_bytes <= in.max_io);
		assert_true(out.send_slots >= out.max_chain && out.send_slots < in.max_qp_wr);
		assert_true(out.send_slots <= 2U * in.queue_depth ||
			    out.send_slots <= 2 * out.max_chain);
	}
}

/* Whatever a target grants within the protocol, the memory for answers is bounded. */
static void test_receive_buffers(void **state)
{
	static const uint32_t queues[] = { 1, 2, 16, 64, 128, 256 };
	static const uint32_t depths[] = { 4, 131, RDMABLK_MAX_CMD_DEPTH };
	static const uint32_t sizes[] = { 0, 1, 256, 512, 513, 4096, RDMABLK_MAX_TRAILER };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(queues) * ARRAY_SIZE(depths) * ARRAY_SIZE(sizes); i++) {
		uint32_t nr = queues[i % ARRAY_SIZE(queues)];
		uint32_t depth = depths[i / ARRAY_SIZE(queues) % ARRAY_SIZE(depths)];
		uint32_t size = sizes[i / ARRAY_SIZE(queues) / ARRAY_SIZE(depths)];
		uint32_t tags = depth, bytes = size;

		rdmablk_limits_receive(nr, &tags, &bytes);
		assert_true((uint64_t)nr * tags * bytes <= RDMABLK_MAX_RECV_BYTES);
		assert_in_range(tags, 4, depth);
		assert_true(bytes <= size && !bytes == !size);
		/* A list of answers always fits. */
		assert_true(bytes >= sizeof(struct rdmablk_answers) || bytes == size);
		if ((uint64_t)nr * depth * size <= RDMABLK_MAX_RECV_BYTES)
			assert_true(tags == depth && bytes == size);
		else if ((uint64_t)nr * depth * RDMABLK_MIN_RECV_BYTES <= RDMABLK_MAX_RECV_BYTES)
			assert_int_equal(tags, depth);
	}
}

static uint32_t queues_of(uint32_t wanted, uint32_t polled, uint32_t online, uint32_t vectors)
{
	const struct rdmablk_limits_queues in = {
		.wanted = wanted, .polled = polled, .possible = 512, .online = online,
		.vectors = vectors, .max = RDMABLK_MAX_QUEUES,
	};

	assert_true(rdmablk_limits_polled(&in) <= polled);
	return rdmablk_limits_shown(&in) + rdmablk_limits_polled(&in);
}

/* One queue for each processor, at most one for each completion vector, and at most 16 */
static void test_number_of_queues(void **state)
{
	const struct rdmablk_limits_queues small = {
		.wanted = 64, .polled = 64, .possible = 4, .online = 2, .vectors = 2,
		.max = RDMABLK_MAX_QUEUES,
	};

	(void)state;
	assert_int_equal(queues_of(0, 0, 1, 64), 1);
	assert_int_equal(queues_of(0, 0, 8, 64), 8);
	assert_int_equal(queues_of(0, 0, 128, 64), 16);
	assert_int_equal(queues_of(0, 0, 128, 6), 6);
	assert_int_equal(queues_of(0, 0, 128, 0), 1);
	assert_int_equal(queues_of(0, 8, 128, 64), 24);
	/* A number that the administrator asks for is taken as it is. */
	assert_int_equal(queues_of(64, 0, 8, 1), 64);
	assert_int_equal(queues_of(256, 0, 8, 1), 256);
	assert_int_equal(queues_of(256, 128, 8, 1), 256);
	assert_int_equal(queues_of(UINT32_MAX, UINT32_MAX, 8, 1), 256);
	/* More queues than processors would never be used. */
	assert_int_equal(rdmablk_limits_shown(&small), 4);
	assert_int_equal(rdmablk_limits_polled(&small), 4);
}

/* The queue pairs and completion queues of a device bound what one disk asks for. */
static void test_queues_of_a_device(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_limits_pairs(64, 64), 31);
	assert_int_equal(rdmablk_limits_pairs(65, 64), 32);
	assert_int_equal(rdmablk_limits_pairs(1024, 8), 7);
	assert_int_equal(rdmablk_limits_pairs(262144, 16777216), 131071);
	assert_int_equal(rdmablk_limits_pairs(3, 2), 1);
	assert_int_equal(rdmablk_limits_pairs(0, 0), 1);
	assert_int_equal(rdmablk_limits_pairs(-1, INT32_MIN + 1), 1);
}

/* All sharers of a queue pair have send slots, as far as the device has room for them. */
static void test_shared_queue_pairs(void **state)
{
	struct rdmablk_limits_in in = usual;

	(void)state;
	in.max_qp_wr = 32768;
	in.max_cqe = 1 << 20;
	in.reserved = 35;
	in.cqes = 35;
	for (in.sharers = 1; in.sharers <= 16; in.sharers++) {
		compute(&in);
		assert_int_equal(out.send_slots, 256 * in.sharers + 35);
	}
	in.sharers = 256;
	compute(&in);
	assert_int_equal(out.send_slots, RDMABLK_SHARED_SLOTS + 35);
	in.max_qp_wr = 1024;
	compute(&in);
	assert_int_equal(out.send_slots, 1023);
	/* Room for two queue pairs, each with its drains, and for the answers */
	for (in.max_cqe = 700; in.max_cqe < 4096; in.max_cqe++) {
		compute(&in);
		assert_true(2 * (out.send_slots + 2) + in.cqes <= in.max_cqe);
		assert_true(out.send_slots >= 256 + 35);
	}
	/* If the completion queue is too small for one sharer, the caller must refuse it. */
	in.max_cqe = 100;
	compute(&in);
	assert_int_equal(out.send_slots, 256 + 35);
}

/* READs need no slots for commands, and leave room in the queue for the drain and for rxe. */
static void test_queue_pairs_of_reads(void **state)
{
	struct rdmablk_limits_in in = usual;

	(void)state;
	in.reserved = 35;
	compute(&in);
	assert_int_equal(out.send_slots, 256 + 35);
	assert_int_equal(rdmablk_limits_reads(&out, 35), 254);
	in.queue_depth = 100;
	compute(&in);
	assert_int_equal(rdmablk_limits_reads(&out, 35), 200);
	/* two of the longest chains fit in any case */
	in.queue_depth = 1;
	compute(&in);
	assert_int_equal(rdmablk_limits_reads(&out, 35), 8);
	in.queue_depth = 8;
	compute(&in);
	assert_int_equal(rdmablk_limits_reads(&out, 35), 14);
	in.reserved = 0;
	for (in.queue_depth = 1; in.queue_depth < 1024; in.queue_depth++) {
		compute(&in);
		assert_in_range(rdmablk_limits_reads(&out, 0), out.send_slots - 2, out.send_slots);
		assert_true(rdmablk_limits_reads(&out, 0) >= 2 * out.max_chain);
	}
}

/* The longest request fits into the send queue, with the READ that follows it. */
static void test_a_read_behind_each_write(void **state)
{
	struct rdmablk_limits_in in = usual;

	(void)state;
	in.tail = 1;
	in.queue_depth = 1;
	for (in.max_qp_wr = 3; in.max_qp_wr < 64; in.max_qp_wr++) {
		compute(&in);
		assert_true(out.send_slots >= out.max_chain + 1);
	}
	/* One slot for the request and one for the drain leave none for the READ. */
	in.max_qp_wr = 2;
	assert_int_equal(rdmablk_limits_compute(&in, &out), -EINVAL);
	in.tail = 0;
	assert_int_equal(rdmablk_limits_compute(&in, &out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_receive_buffers),
		cmocka_unit_test(test_number_of_queues),
		cmocka_unit_test(test_queues_of_a_device),
		cmocka_unit_test(test_shared_queue_pairs),
		cmocka_unit_test(test_queue_pairs_of_reads),
		cmocka_unit_test(test_a_read_behind_each_write),
		cmocka_unit_test(test_usual_device),
		cmocka_unit_test(test_elements_of_a_work_request),
		cmocka_unit_test(test_largest_request),
		cmocka_unit_test(test_send_queue),
		cmocka_unit_test(test_another_device),
		cmocka_unit_test(test_devices_that_are_too_small),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_invariants),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
