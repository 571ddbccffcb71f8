// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves, with threads that write while another one flushes, that a flush covers each write
 * that was acknowledged before it began, and that no write is lost. ThreadSanitizer also
 * reports an access that should be atomic and is not.
 *
 * A write stores a growing number in each of its granules. The flush makes durable what it
 * finds in the memory of a range after it has taken that range, as the target does.
 */
#include <endian.h>
#include <linux/atomic.h>
#include <linux/kernel.h>
#include <pthread.h>

#include "dirty.h"
#include "dirty_any.h"
#include "unit.h"

#define WRITERS		2
#define GRANULES	(2 * 4096 + 64)		/* three groups, the last one small */
#define HOT		4	/* granules that most of the writes go to */
#define FLUSHES		1000
#define GRANULE		512

static struct rdmablk_dirty d;
static unsigned long memory[WRITERS][GRANULES];		/* newest write of each writer */
static unsigned long acknowledged[WRITERS][GRANULES];
static unsigned long must[WRITERS][GRANULES], durable[WRITERS][GRANULES];
static int ended;

struct writer {
	int nr;
	uint64_t random;
};

static uint64_t draw(struct writer *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void *writer(void *arg)
{
	struct writer *w = arg;

	for (unsigned long n = 1; !READ_ONCE(ended); n++) {
		unsigned long first = draw(w) % 8 ? draw(w) % HOT : draw(w) % GRANULES;
		unsigned long last = draw(w) % 64 ? first : first + draw(w) % 5000;

		if (last >= GRANULES)
			last = GRANULES - 1;
		for (unsigned long g = first; g <= last; g++)
			WRITE_ONCE(memory[w->nr][g], n);
		rdmablk_dirty_set(&d, first * GRANULE, (last - first + 1) * GRANULE);
		for (unsigned long g = first; g <= last; g++)
			__atomic_store_n(&acknowledged[w->nr][g], n, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void look(unsigned long to[WRITERS][GRANULES], unsigned long from[WRITERS][GRANULES],
		 unsigned long first, unsigned long end)
{
	for (int w = 0; w < WRITERS; w++)
		for (unsigned long g = first; g < end; g++)
			to[w][g] = __atomic_load_n(&from[w][g], __ATOMIC_ACQUIRE);
}

/* A flush, or one that fails in the middle and makes nothing durable */
static void flush(bool fails)
{
	struct rdmablk_range out[8];
	unsigned int n;

	look(must, acknowledged, 0, GRANULES);
	rdmablk_dirty_begin(&d);
	while ((n = rdmablk_dirty_next(&d, out, ARRAY_SIZE(out)))) {
		if (fails)
			break;
		for (unsigned int i = 0; i < n; i++) {
			unsigned long first = le64toh(out[i].offset) / GRANULE;

			look(durable, memory, first, first + le64toh(out[i].bytes) / GRANULE);
		}
	}
	if (fails) {
		rdmablk_dirty_restore(&d);
		return;
	}
	rdmablk_dirty_done(&d);
	for (int w = 0; w < WRITERS; w++)
		for (unsigned long g = 0; g < GRANULES; g++)
			if (durable[w][g] < must[w][g])
				fail_msg("granule %lu: write %lu of %d was flushed, not %lu",
					 g, durable[w][g], w, must[w][g]);
}

static void test_nothing_is_lost(void **state)
{
	struct writer w[WRITERS];
	pthread_t thread[WRITERS];

	(void)state;
	assert_int_equal(rdmablk_dirty_init(&d, GRANULES * GRANULE, GRANULE), 0);
	for (int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ i, unit_random() };
		assert_int_equal(pthread_create(&thread[i], NULL, writer, &w[i]), 0);
	}
	for (int i = 0; i < FLUSHES; i++)
		flush(i % 3 == 1);
	WRITE_ONCE(ended, 1);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	flush(false);
	assert_memory_equal(durable, memory, sizeof(memory));
	assert_false(dirty_any(&d));
	rdmablk_dirty_exit(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost),
	};

	return cmocka_run_group_tests_name("dirty threads", tests, NULL, NULL);
}
