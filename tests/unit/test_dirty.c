// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/dirty.c forgets no granule. It is compared with a model that has a byte
 * for each granule: with all sets of granules if there are few, at random if there are many,
 * and in every order of the accesses of two setters and a flush.
 */
#include <endian.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <ucontext.h>

#include "dirty.h"
#include "dirty_any.h"
#include "unit.h"

#define GROUP		4096	/* granules of a summary bit: 64 words of 64 bits */
#define MOST		(70 * GROUP)
#define RANGES		64

/* --- the model ------------------------------------------------------------------ */

static uint8_t dirty[MOST], flushing[MOST];
static struct rdmablk_dirty d;
static uint64_t size;
static uint32_t granule;
static unsigned long granules, cursor;

static void model_init(uint64_t bytes, uint32_t bytes_of_granule)
{
	memset(dirty, 0, sizeof(dirty));
	memset(flushing, 0, sizeof(flushing));
	size = bytes;
	granule = bytes_of_granule;
	granules = (bytes + granule - 1) / granule;
	cursor = 0;
	assert_true(granules <= MOST);
	assert_int_equal(rdmablk_dirty_init(&d, bytes, granule), 0);
}

static bool model_any(void)
{
	return memchr(dirty, 1, granules) || memchr(flushing, 1, granules);
}

static void set(uint64_t pos, uint64_t bytes)
{
	rdmablk_dirty_set(&d, pos, bytes);
	for (uint64_t g = pos / granule; g <= (pos + bytes - 1) / granule; g++)
		dirty[g] = 1;
}

static void begin(void)
{
	rdmablk_dirty_begin(&d);
	for (unsigned long g = 0; g < granules; g++) {
		flushing[g] |= dirty[g];
		dirty[g] = 0;
	}
	cursor = 0;
}

/* One call of next. Return: the number of ranges. */
static unsigned int next(unsigned int max)
{
	struct rdmablk_range out[RANGES + 1];
	unsigned int n, got;

	memset(out, 0xa5, sizeof(out));
	got = rdmablk_dirty_next(&d, out, max);
	for (n = 0; n < max; n++) {
		unsigned long first;
		uint64_t end;

		while (cursor < granules && !flushing[cursor])
			cursor++;
		if (cursor == granules)
			break;
		for (first = cursor; cursor < granules && flushing[cursor]; cursor++)
			;
		end = cursor * (uint64_t)granule;
		end = end < size ? end : size;
		assert_int_equal(le64toh(out[n].offset), first * (uint64_t)granule);
		assert_int_equal(le64toh(out[n].bytes), end - first * (uint64_t)granule);
	}
	assert_int_equal(got, n);
	assert_int_equal(out[n].offset, 0xa5a5a5a5a5a5a5a5);
	return n;
}

static void done(void)
{
	rdmablk_dirty_done(&d);
	memset(flushing, 0, granules);
}

static void restore(void)
{
	rdmablk_dirty_restore(&d);
	for (unsigned long g = 0; g < granules; g++)
		dirty[g] |= flushing[g];
	memset(flushing, 0, granules);
}

static void grow(uint64_t bytes)
{
	assert_int_equal(rdmablk_dirty_grow(&d, bytes), 0);
	size = bytes;
	granules = (bytes + granule - 1) / granule;
}

/* A whole flush, with at most @max ranges in each call */
static void flush(unsigned int max)
{
	begin();
	while (next(max))
		;
	assert_int_equal(next(max), 0);
}

/* --- one after the other -------------------------------------------------------- */

/* All sets of granules, in calls of 1 to 3 ranges, done and restored. */
static void test_small_exports(void **state)
{
	(void)state;
	for (unsigned int n = 1; n <= 9; n++) {
		for (uint32_t bits = 0; bits < 1U << n; bits++) {
			model_init(n * 4096 - (bits % 8) * 512, 4096);
			for (unsigned int g = 0; g < n; g++)
				if (bits >> g & 1)
					set(g * 4096, 1);
			assert_int_equal(dirty_any(&d), bits != 0);
			flush(1 + bits % 3);
			assert_int_equal(dirty_any(&d), bits != 0);
			restore();
			assert_int_equal(dirty_any(&d), bits != 0);
			flush(RANGES);
			done();
			assert_false(dirty_any(&d));
			flush(1);
			rdmablk_dirty_exit(&d);
		}
	}
}

/* Each possible write, in blocks, across words, to an export that ends inside a granule */
static void test_each_write(void **state)
{
	const uint32_t block = 512, blocks = 2 * 150 - 1;

	(void)state;
	model_init(blocks * block, 2 * block);
	for (uint32_t from = 0; from < blocks; from++) {
		for (uint32_t to = from + 1; to <= blocks; to++) {
			set(from * block, (to - from) * block);
			flush(2);
			done();
		}
	}
	rdmablk_dirty_exit(&d);
}

/* Writes that begin and end around the ends of words, groups and summary words. */
static void test_boundaries(void **state)
{
	static const unsigned long ends[] = {
		0, 63, 64, 127, GROUP - 64, GROUP - 1, GROUP, GROUP + 63, 2 * GROUP,
		63 * GROUP, 64 * GROUP - 1, 64 * GROUP, 65 * GROUP + 17, MOST - 1,
	};

	(void)state;
	model_init(MOST * 512ULL, 512);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		for (size_t k = i; k < ARRAY_SIZE(ends); k++) {
			set(ends[i] * 512, (ends[k] - ends[i] + 1) * 512);
			flush(1);
			k % 2 ? restore() : done();
		}
	}
	flush(1);
	done();
	rdmablk_dirty_exit(&d);
}

static void random_step(void)
{
	uint64_t pos = unit_random() % size, left = size - pos;
	uint64_t most = unit_random() % 8 ? 4 * granule : size;

	switch (unit_random() % 16) {
	case 0:
		begin();
		break;
	case 1:
		while (next(RANGES))
			;
		done();
		break;
	case 2:
		restore();
		break;
	case 3:
		if (size < (MOST - GROUP) * (uint64_t)granule)
			grow(size + unit_random() % GROUP * 512);
		break;
	case 4 ... 7:
		next(1 + unit_random() % RANGES);
		break;
	default:
		most = most < left ? most : left;
		set(pos, 1 + unit_random() % most);
	}
	assert_int_equal(dirty_any(&d), model_any());
}

static void test_random(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		uint32_t bytes = 512U << unit_random() % 8;

		model_init(1 + unit_random() % ((1 + round % 3) * GROUP * (uint64_t)bytes),
			   bytes);
		for (int i = 0; i < 400; i++)
			random_step();
		restore();
		flush(7);
		done();
		assert_false(dirty_any(&d));
		rdmablk_dirty_exit(&d);
	}
}

static void test_a_flush_that_was_given_up_is_part_of_the_next(void **state)
{
	(void)state;
	model_init(100 * 512, 512);
	set(0, 512);
	begin();
	set(512 * 50, 512);
	begin();
	assert_int_equal(next(RANGES), 2);
	done();
	rdmablk_dirty_exit(&d);
}

static void test_limits(void **state)
{
	struct rdmablk_dirty x;

	(void)state;
	assert_int_equal(rdmablk_dirty_init(&x, RDMABLK_MAX_SIZE, 512), -EFBIG);
	rdmablk_dirty_exit(&x);
	assert_int_equal(rdmablk_dirty_init(&x, (512ULL << 28) + 1, 512), -EFBIG);
	assert_int_equal(rdmablk_dirty_init(&x, 512ULL << 28, 512), 0);
	rdmablk_dirty_set(&x, (512ULL << 28) - 1, 1);
	assert_true(dirty_any(&x));
	assert_int_equal(rdmablk_dirty_grow(&x, (512ULL << 28) + 1), -EFBIG);
	assert_true(dirty_any(&x));
	rdmablk_dirty_exit(&x);
	rdmablk_dirty_exit(&x);
}

/* A login that was granted a larger size has failed: the export has its old size again. */
static void test_growth_is_taken_back(void **state)
{
	const uint64_t was = GROUP * 4096 - 512;

	(void)state;
	model_init(was, 4096);
	set(was - 1, 1);
	set(0, 1);
	grow(5 * GROUP * 4096ULL);
	grow(was);
	flush(RANGES);
	done();
	assert_false(dirty_any(&d));
	grow(2 * GROUP * 4096ULL);
	set(2 * GROUP * 4096ULL - 1, 1);
	flush(RANGES);
	done();
	rdmablk_dirty_exit(&d);
}

/* Whichever allocation fails, nothing leaks and nothing is forgotten. */
static void test_no_memory(void **state)
{
	struct rdmablk_dirty x;

	(void)state;
	model_init(GROUP * 512, 512);
	set(4096, 1);
	for (int n = 0; n < 4; n++) {
		shim_allocations = n;
		assert_int_equal(rdmablk_dirty_init(&x, 4096, 512), -ENOMEM);
		shim_allocations = n;
		assert_int_equal(rdmablk_dirty_grow(&d, 2 * GROUP * 512), -ENOMEM);
	}
	shim_allocations = -1;
	flush(1);
	assert_int_equal(d.bytes, GROUP * 512);
	rdmablk_dirty_exit(&d);
}

/* --- in every order ------------------------------------------------------------- */

/*
 * Two setters and a flush are coroutines that give way before each access to the word or the
 * summary of one granule. All orders are tried. They are counted through like the digits of a
 * number: the last choice that has an alternative is changed first.
 */
#define STACK		(256 * 1024)
#define PLAYERS		3
#define CHOICES		64

enum { SETTER, OTHER, FLUSH };

static struct {
	ucontext_t main, context[PLAYERS];
	uint8_t *stack[PLAYERS];
	bool ended[PLAYERS];
	int now;			/* index of the running coroutine, -1: main */
	unsigned int clock, begun[PLAYERS], returned[PLAYERS];
	unsigned int choice[CHOICES], of[CHOICES], depth, step;
	uint64_t pos[FLUSH];
	bool fails;			/* the flush fails, and puts its bits back */
	bool first[FLUSH];		/* the write is in the flush */
	bool buffers;			/* stores wait for a full barrier of their thread */
	bool wrote, seen;		/* OTHER's store is in memory; it was at the flush */
	bool lost;
} play;

static void give_way(const void *at)
{
	int me = play.now;

	if (me < 0 || (!at && (!play.buffers || me == FLUSH)) ||
	    (at && at != &d.dirty[0] && at != &d.dirty_groups[0]))
		return;
	play.now = -1;
	swapcontext(&play.context[me], &play.main);
	if (!at)
		play.wrote = true;
}

static bool has(const struct rdmablk_range *r, unsigned int n, uint64_t pos)
{
	for (unsigned int i = 0; i < n; i++)
		if (le64toh(r[i].offset) <= pos &&
		    pos - le64toh(r[i].offset) < le64toh(r[i].bytes))
			return true;
	return false;
}

/* Each write that had been acknowledged when the flush began must be in it. */
static void player_flush(int me)
{
	struct rdmablk_range out[RANGES];
	unsigned int n;

	rdmablk_dirty_begin(&d);
	play.seen = play.wrote;
	n = rdmablk_dirty_next(&d, out, RANGES);
	for (int i = 0; i < FLUSH; i++) {
		play.first[i] = has(out, n, play.pos[i]);
		if (play.returned[i] && play.returned[i] < play.begun[me] && !play.first[i])
			play.lost = true;
	}
	play.fails ? rdmablk_dirty_restore(&d) : rdmablk_dirty_done(&d);
}

static void player(int me)
{
	play.begun[me] = ++play.clock;
	if (me == FLUSH)
		player_flush(me);
	else
		rdmablk_dirty_set(&d, play.pos[me], 512);
	play.returned[me] = ++play.clock;
	play.ended[me] = true;
	play.now = -1;
}

/* Runs a coroutine that has not ended until it gives way or ends. */
static bool play_step(void)
{
	int left[PLAYERS];
	unsigned int n = 0, step = play.step++;

	for (int i = 0; i < PLAYERS; i++)
		if (!play.ended[i])
			left[n++] = i;
	if (!n)
		return false;
	assert_in_range(step, 0, CHOICES - 1);
	if (step == play.depth) {
		play.choice[step] = 0;
		play.depth++;
	}
	play.of[step] = n;
	play.now = left[play.choice[step]];
	swapcontext(&play.main, &play.context[play.now]);
	return true;
}

static void play_start(void)
{
	assert_int_equal(rdmablk_dirty_init(&d, 100 * 512, 512), 0);
	play.clock = 0;
	play.step = 0;
	play.lost = false;
	play.wrote = false;
	play.seen = false;
	for (int i = 0; i < PLAYERS; i++) {
		play.ended[i] = false;
		play.begun[i] = 0;
		play.returned[i] = 0;
		getcontext(&play.context[i]);
		play.context[i].uc_stack.ss_sp = play.stack[i];
		play.context[i].uc_stack.ss_size = STACK;
		play.context[i].uc_link = &play.main;
		makecontext(&play.context[i], (void (*)(void))player, 1, i);
	}
	if (play.buffers) {
		rdmablk_dirty_set(&d, play.pos[SETTER], 512);
		play.returned[SETTER] = ++play.clock;
		play.ended[SETTER] = true;
	}
}

/* Runs one order to its end. The next flush must have what this one did not take or put back. */
static bool play_order(void)
{
	struct rdmablk_range out[RANGES];
	unsigned int n;

	play_start();
	while (play_step())
		;
	play.depth = play.step - 1;
	rdmablk_dirty_begin(&d);
	n = rdmablk_dirty_next(&d, out, RANGES);
	for (int i = 0; i < FLUSH; i++) {
		bool late = play.begun[i] > play.returned[FLUSH];

		if ((play.fails || late || !play.first[i]) && !has(out, n, play.pos[i]))
			play.lost = true;
	}
	if (play.buffers && !has(out, n, play.pos[OTHER]) && !play.seen)
		play.lost = true;
	rdmablk_dirty_exit(&d);
	return !play.lost;
}

static bool play_advance(void)
{
	while (play.depth && play.choice[play.depth - 1] + 1 == play.of[play.depth - 1])
		play.depth--;
	if (!play.depth)
		return false;
	play.choice[play.depth - 1]++;
	return true;
}

static void play_all(uint64_t pos, uint64_t other)
{
	unsigned int orders = 0;

	play.pos[SETTER] = pos;
	play.pos[OTHER] = other;
	play.depth = 0;
	play.now = -1;
	shim_access = give_way;
	do {
		orders++;
		if (!play_order()) {
			shim_access = NULL;
			fail_msg("a write was lost in order %u", orders);
		}
	} while (play_advance());
	shim_access = NULL;
	assert_true(orders > 100);
	print_message("# %u orders\n", orders);
}

static void test_each_order(void **state)
{
	(void)state;
	play.buffers = false;
	play.fails = false;
	play_all(0, 0);
	play_all(0, 512);
	play.fails = true;
	play_all(0, 0);
}

/*
 * A setter may find its bit set already. The flush that takes this bit must see what the setter
 * wrote before, although the setter's stores wait in a buffer until its next barrier.
 */
static void test_each_order_of_what_was_written_before(void **state)
{
	(void)state;
	play.buffers = true;
	play.fails = false;
	play_all(0, 0);
}

static int make_stacks(void **state)
{
	(void)state;
	for (int i = 0; i < PLAYERS; i++)
		assert_non_null(play.stack[i] = malloc(STACK));
	return 0;
}

static int free_stacks(void **state)
{
	(void)state;
	for (int i = 0; i < PLAYERS; i++)
		free(play.stack[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_exports),
		cmocka_unit_test(test_each_write),
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_a_flush_that_was_given_up_is_part_of_the_next),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_growth_is_taken_back),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_each_order),
		cmocka_unit_test(test_each_order_of_what_was_written_before),
	};

	return cmocka_run_group_tests_name("dirty", tests, make_stacks, free_stacks);
}
