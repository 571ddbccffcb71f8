// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests the patterns, the blast and the figures of rdmablk ping against a fake target, which is
 * memory of this program. The target loses or changes data, is slow, or completes requests that
 * were never posted.
 *
 * Sources: tools/scratch.c tools/blast.c tools/times.c
 */
#include <time.h>

#include "unit.h"

static uint64_t clock_ns;

static int fake_clock(clockid_t which, struct timespec *now)
{
	(void)which;
	now->tv_sec = (time_t)(clock_ns / 1000000000);
	now->tv_nsec = (long)(clock_ns % 1000000000);
	clock_ns += 100;
	return 0;
}

#define clock_gettime fake_clock
#include "../../tools/times.c"
#undef clock_gettime
#include "../../tools/scratch.c"
#include "../../tools/blast.c"

#define REGION	4096U
#define IOVA	0x1000000

int nl_fail(struct nl_failure *failure, int err, const char *fmt, ...)
{
	snprintf(failure->text, sizeof(failure->text), "%s", fmt);
	failure->err = err;
	return -1;
}

/*
 * The target
 */

static struct client_conn conn;
static atomic_bool stop;

/**
 * struct target - the fake target, and what it does wrong
 * @memory: memory that the target lends
 * @lends: bytes of @memory that are lent
 * @ids: ids of the requests that client_done() has yet to return
 * @nr: number of @ids
 * @posts: number of requests posted so far
 * @dones: number of requests that client_done() has returned
 * @deaf: the target drops WRITEs
 * @mute: READs bring no data
 * @flip: number of the request in which a bit is flipped, from 1 on; 0: none
 * @wrong_id: what client_done() adds to each id
 * @slow_ns: time that a request takes, ns
 * @keep_alives: number of keep-alives sent
 * @heard_ns: time of the last keep-alive
 * @quiet_ns: longest time without a keep-alive, ns
 * @stop_at: number of the request after which a signal comes
 * @limit_ms: last argument of client_limit()
 * @left: the visit has ended
 * @used: memory was deregistered while the visit was under way
 */
static struct target {
	__u8 memory[REGION];
	__u32 lends;
	unsigned int ids[256];
	unsigned int nr;
	unsigned int posts;
	unsigned int dones;
	bool deaf;
	bool mute;
	unsigned int flip;
	unsigned int wrong_id;
	uint64_t slow_ns;
	unsigned int keep_alives;
	uint64_t heard_ns;
	uint64_t quiet_ns;
	unsigned int stop_at;
	unsigned int limit_ms;
	bool left;
	bool used;
} t;

int client_lend(struct client *client, __u32 bytes, struct client_scratch *lent,
		struct nl_failure *failure)
{
	(void)client;
	(void)failure;
	*lent = (struct client_scratch){ .iova = IOVA, .rkey = 7,
					 .bytes = bytes < t.lends ? bytes : t.lends };
	return 0;
}

struct client_conn *client_connection(struct client *client)
{
	(void)client;
	return &conn;
}

void client_leave(struct client *client)
{
	(void)client;
	t.left = true;
}

int client_conn_post(struct client_conn *to, const struct client_conn_request *request,
		     struct nl_failure *failure)
{
	__u64 at = request->remote - IOVA;
	/* a READ writes its data here */
	__u8 *local = (__u8 *)(uintptr_t)request->local;

	(void)to;
	(void)failure;
	assert_int_equal(request->rkey, 7);
	assert_true(at + request->bytes <= t.lends && t.nr < 256);
	for (unsigned int i = 0; i < t.nr; i++)
		assert_int_not_equal(t.ids[i], request->id);
	if (request->write && !t.deaf)
		memcpy(t.memory + at, local, request->bytes);
	if (!request->write && !t.mute)
		memcpy(local, t.memory + at, request->bytes);
	t.posts++;
	if (t.posts == t.flip)
		local[request->bytes - 1] ^= 1;
	t.ids[t.nr++] = request->id;
	if (t.posts == t.stop_at)
		stop = true;
	return 0;
}

/* Completes the request that was posted last. */
int client_done(struct client *client, unsigned int *id, struct nl_failure *failure)
{
	(void)client;
	clock_ns += t.slow_ns;
	if (clock_ns - t.heard_ns > t.quiet_ns)
		t.quiet_ns = clock_ns - t.heard_ns;
	if (!t.nr)
		return nl_fail(failure, ETIMEDOUT, "nothing is under way");
	t.dones++;
	*id = t.ids[--t.nr] + t.wrong_id;
	return 0;
}

int client_keep_alive(struct client *client, struct nl_failure *failure)
{
	(void)client;
	(void)failure;
	t.keep_alives++;
	t.heard_ns = clock_ns;
	return 0;
}

void client_limit(struct client *client, unsigned int ms)
{
	(void)client;
	t.limit_ms = ms;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	static struct ibv_mr mr;

	(void)pd;
	(void)addr;
	assert_int_equal(length, 2 * t.lends);
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	return &mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	t.used = !t.left;
	return 0;
}

static struct scratch region;
static struct nl_failure failure;

static int begin(void **state)
{
	(void)state;
	t = (struct target){ .lends = REGION, .heard_ns = clock_ns };
	stop = false;
	assert_int_equal(scratch_open(&region, NULL, REGION, &failure), 0);
	assert_int_equal(region.lent.bytes, REGION);
	return 0;
}

static int end(void **state)
{
	(void)state;
	scratch_close(&region);
	assert_false(t.used);
	return 0;
}

/*
 * The pattern
 */

/* Every byte of every size is compared, in each of the first rounds. */
static void test_each_byte(void **state)
{
	struct scratch_damage damage;

	(void)state;
	for (__u32 bytes = 1; bytes <= 17; bytes++) {
		scratch_fill(&region, bytes);
		assert_false(scratch_check(&region, 0, bytes, &damage));
		assert_int_equal(damage.offset, 0);
		memcpy(region.in, region.out, bytes);
		assert_true(scratch_check(&region, 0, bytes, &damage));
		for (__u32 at = 0; at < bytes; at++) {
			__u32 word = at / 8 * 8, size = bytes - word < 8 ? bytes - word : 8;

			region.in[at] ^= 0x10;
			assert_false(scratch_check(&region, 0, bytes, &damage));
			assert_int_equal(damage.offset, word);
			assert_int_equal(damage.bytes, size);
			assert_memory_equal(damage.expected, region.out + word, size);
			assert_memory_equal(damage.got, region.in + word, size);
			region.in[at] ^= 0x10;
		}
		/* bytes behind the size are not compared */
		region.in[bytes] = (__u8)~region.out[bytes];
		assert_true(scratch_check(&region, 0, bytes, &damage));
	}
}

/* A pattern differs from that of the round before, and its words of 8 bytes from each other. */
static void test_rounds_differ(void **state)
{
	__u8 before[REGION];

	(void)state;
	for (unsigned int round = 0; round < 600; round++) {
		memcpy(before, region.out, 64);
		scratch_fill(&region, 64);
		assert_int_not_equal(region.out[0], before[0]);
		for (__u32 at = 0; at < 64; at += 8) {
			assert_memory_not_equal(region.out + at, before + at, 8);
			assert_memory_not_equal(region.out + at, region.out + (at + 8) % 64, 8);
			assert_memory_not_equal(region.out + at, region.out + (at + 16) % 64, 8);
		}
	}
}

/*
 * The blast
 */

static int blast(struct blast *b, __u32 size, __u32 depth)
{
	b->scratch = &region;
	b->size = size;
	b->depth = depth;
	b->seconds = 2;
	b->stop = &stop;
	return blast_run(b, &failure);
}

static void test_blast(void **state)
{
	static const __u32 sizes[] = { 1, 3, 7, 512, 1000, REGION };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t posts = t.posts;
		struct blast b = { 0 };

		t.slow_ns = 10000;
		assert_int_equal(blast(&b, sizes[i], 16), 0);
		assert_false(b.damaged);
		assert_true(b.rounds > 1);
		assert_int_equal(t.posts - posts, 2 * b.rounds * (REGION / sizes[i]));
		assert_int_equal(t.nr, 0);
		assert_int_equal(b.times[BLAST_READ].count, b.rounds * (REGION / sizes[i]));
		assert_true(b.busy_ns[BLAST_READ] > 0 && b.busy_ns[BLAST_WRITE] > 0);
		blast_free(&b);
	}
}

static void loses(__u32 size)
{
	struct blast b = { 0 };

	assert_int_equal(blast(&b, size, 4), 0);
	assert_true(b.damaged);
	assert_int_equal(b.rounds, 1);
	blast_free(&b);
}

/* A target that drops WRITEs, or sends no data for READs, is noticed in the first round. */
static void test_nothing_arrives(void **state)
{
	(void)state;
	for (__u32 size = 1; size < 20; size++) {
		t.deaf = true;
		loses(size);
		t.deaf = false;
		t.mute = true;
		loses(size);
		t.mute = false;
	}
}

static void test_one_byte(void **state)
{
	struct blast b = { 0 };

	(void)state;
	t.flip = 2 * 8 + 8 + 3;		/* third READ of the second round */
	assert_int_equal(blast(&b, 512, 4), 0);
	assert_true(b.damaged);
	assert_int_equal(b.rounds, 2);
	assert_int_equal(b.damage.offset, 3 * 512 - 8);
	assert_int_equal(b.damage.bytes, 8);
	assert_int_equal(b.damage.got[7], b.damage.expected[7] ^ 1);
	blast_free(&b);
}

static void test_wrong_id(void **state)
{
	struct blast b = { 0 };

	(void)state;
	t.wrong_id = 1000;
	assert_int_equal(blast(&b, 512, 4), -1);
	assert_int_equal(failure.err, EIO);
	assert_int_equal(b.rounds, 0);
	blast_free(&b);
	t.nr = 0;
}

/* The blast ends in time although a round takes longer, and sends keep-alives meanwhile. */
static void test_slow_round(void **state)
{
	uint64_t before = clock_ns;
	struct blast b = { 0 };

	(void)state;
	t.slow_ns = 900000000;
	assert_int_equal(blast(&b, 1, 4), 0);
	assert_in_range(clock_ns - before, 7000000000ULL, 13000000000ULL);
	assert_int_equal(b.rounds, 0);
	assert_false(b.damaged);
	assert_int_equal(t.nr, 0);
	assert_int_equal(t.limit_ms, BLAST_DRAIN_MS);
	assert_true(t.quiet_ns < 3000000000ULL);
	assert_true(t.keep_alives > 2);
	assert_true(b.busy_ns[BLAST_WRITE] > 7000000000ULL);
	blast_free(&b);
}

/* A signal ends the blast within a round, after the requests under way have completed. */
static void test_signal(void **state)
{
	struct blast b = { 0 };

	(void)state;
	t.stop_at = 8 + 8 + 8 + 3;	/* READs of the second round */
	assert_int_equal(blast(&b, 512, 4), 0);
	assert_int_equal(b.rounds, 1);
	assert_int_equal(t.posts, 8 + 8 + 8 + 3);
	assert_int_equal(t.dones, t.posts);
	assert_false(b.damaged);
	blast_free(&b);
}

static void test_mtu(void **state)
{
	unsigned int passes;

	(void)state;
	assert_int_equal(scratch_find_mtu(&region, 1024, &passes, &failure), 0);
	assert_int_equal(passes, 1024);
	assert_int_equal(t.posts, 2 * 3);
	t.wrong_id = 0;
	t.posts = 0;
	assert_int_equal(scratch_find_mtu(&region, 2 * REGION, &passes, &failure), 0);
	assert_int_equal(passes, REGION);
}

/*
 * Figures
 */

static void count(struct times *times, __u64 nr)
{
	for (__u64 i = nr; i; i--)
		assert_int_equal(times_add(times, i), 0);
}

static void test_times(void **state)
{
	struct times times = { 0 };

	(void)state;
	assert_int_equal(times_average(&times), 0);
	assert_int_equal(times_percentile(&times, 50), 0);
	count(&times, 1);
	assert_int_equal(times_percentile(&times, 50), 1);
	assert_int_equal(times_percentile(&times, 99.9), 1);
	times_free(&times);
	count(&times, 2);
	assert_int_equal(times_percentile(&times, 50), 1);
	assert_int_equal(times_percentile(&times, 50.1), 2);
	/* one more time after the others were sorted */
	assert_int_equal(times_add(&times, 1), 0);
	assert_int_equal(times_percentile(&times, 66.6), 1);
	times_free(&times);
	count(&times, 1000);
	assert_int_equal(times.min, 1);
	assert_int_equal(times.max, 1000);
	assert_int_equal(times_average(&times), 500);
	assert_int_equal(times_percentile(&times, 50), 500);
	assert_int_equal(times_percentile(&times, 99), 990);
	assert_int_equal(times_percentile(&times, 99.9), 999);
	assert_int_equal(times_percentile(&times, 100), 1000);
	times_free(&times);
	count(&times, 41000);
	assert_int_equal(times_percentile(&times, 99.9), 40959);
	times_free(&times);
}

/* A random sample of many times is kept; minimum, maximum and average cover all of them. */
static void test_many_times(void **state)
{
	struct times times = { 0 };
	const __u64 nr = 4 * TIMES_KEPT;

	(void)state;
	count(&times, nr);
	assert_int_equal(times.kept, TIMES_KEPT);
	assert_int_equal(times.count, nr);
	assert_int_equal(times.min, 1);
	assert_int_equal(times.max, nr);
	assert_int_equal(times_average(&times), nr / 2);
	assert_in_range(times_percentile(&times, 50), nr * 48 / 100, nr * 52 / 100);
	assert_in_range(times_percentile(&times, 99), nr * 98 / 100, nr);
	times_free(&times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_byte, begin, end),
		cmocka_unit_test_setup_teardown(test_rounds_differ, begin, end),
		cmocka_unit_test_setup_teardown(test_blast, begin, end),
		cmocka_unit_test_setup_teardown(test_nothing_arrives, begin, end),
		cmocka_unit_test_setup_teardown(test_one_byte, begin, end),
		cmocka_unit_test_setup_teardown(test_wrong_id, begin, end),
		cmocka_unit_test_setup_teardown(test_slow_round, begin, end),
		cmocka_unit_test_setup_teardown(test_signal, begin, end),
		cmocka_unit_test_setup_teardown(test_mtu, begin, end),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_many_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
