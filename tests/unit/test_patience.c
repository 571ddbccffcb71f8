// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that disks come back after a link has flapped, however many there are: the times of
 * kernel/patience.c are tried in a model of a target that serves one message after the other.
 * Fixed deadlines in the same model show that the numbers are hard enough.
 */
#include <linux/kernel.h>

#include "../../kernel/patience.h"
#include "unit.h"

#define DELAY		2000U	/* reconnect_delay and connect_tmo by default, milliseconds */
#define CONNECT		10000U
#define DISKS		20U
#define QUEUES		256U
#define DEV_LOSS	600000U

/* Steps of a login: the control queue, five messages, and two joins for each queue */
#define DIALOGUE	6U

/*
 * A disk. steps, done: steps of its login, all and finished ones; asked: messages that the
 * target has not answered; deadline, whole: end of the step and of the login; begin: time of
 * the next try; round: number of earlier tries, so that an answer to an old try does not count
 */
struct disk {
	uint32_t steps, done, asked, tries, late, round;
	uint64_t begin, deadline, whole;
	bool trying, live;
};

/* What waits at the target, in order */
struct message {
	uint32_t disk, round;
};

struct policy {
	uint32_t joins;
	bool progress;
};

static struct disk disks[DISKS];
static struct message line[1 << 20];
static uint32_t first, last;

static void ask(uint32_t d, uint32_t joins)
{
	uint32_t most = disks[d].done < DIALOGUE ? 1 : joins;

	while (disks[d].asked < most && disks[d].done + disks[d].asked < disks[d].steps) {
		line[last++ % ARRAY_SIZE(line)] = (struct message){ d, disks[d].round };
		disks[d].asked++;
	}
	assert_true(last - first < ARRAY_SIZE(line));
}

static void renew(struct disk *d, const struct policy *p, uint64_t now)
{
	uint64_t ms = d->done ? rdmablk_patience_join(DELAY, d->late) :
				rdmablk_patience_control(DELAY, d->tries - 1);
	uint64_t most = d->whole;

	if (!p->progress)
		return;
	if (d->done && d->done < DIALOGUE)
		ms = CONNECT;
	ms = min_t(uint64_t, ms, CONNECT);
	d->deadline = min_t(uint64_t, now + ms, most);
}

static void begin(struct disk *d, const struct policy *p, uint64_t now)
{
	d->trying = true;
	d->done = 0;
	d->asked = 0;
	d->tries++;
	d->whole = now + (p->progress ? rdmablk_patience_login(CONNECT, 2 * QUEUES) : CONNECT);
	d->deadline = d->whole;
	renew(d, p, now);
	ask(d - disks, p->joins);
}

static void give_up(struct disk *d, const struct policy *p, uint64_t now)
{
	d->trying = false;
	d->round++;
	d->late += d->done >= DIALOGUE;
	/*
	 * With fixed deadlines the pause counts from the start of the try, CONNECT ago: it is
	 * over.
	 */
	d->begin = now + (p->progress ?
			  rdmablk_patience_pause(DELAY, d->tries, d->late, unit_random()) :
			  RDMABLK_MIN_PAUSE_MS);
}

/* Return: how many disks are back after at most DEV_LOSS; a message takes @each us. */
static uint32_t flap(const struct policy *p, uint32_t each, uint64_t *took)
{
	uint64_t now, busy = 0;
	uint32_t live = 0;

	memset(disks, 0, sizeof(disks));
	first = 0;
	last = 0;
	for (uint32_t i = 0; i < DISKS; i++)
		disks[i].steps = DIALOGUE + 2 * QUEUES;
	for (now = 0; now < DEV_LOSS && live < DISKS; now++) {
		for (uint32_t i = 0; i < DISKS; i++) {
			struct disk *d = &disks[i];

			if (d->trying && now >= d->deadline)
				give_up(d, p, now);
			else if (!d->trying && !d->live && now >= d->begin)
				begin(d, p, now);
		}
		for (; first != last && busy <= now * 1000; busy += each) {
			struct message m = line[first++ % ARRAY_SIZE(line)];
			struct disk *d = &disks[m.disk];

			if (!d->trying || d->round != m.round)
				continue;
			d->asked--;
			d->done++;
			renew(d, p, now);
			if (d->done == d->steps) {
				d->trying = false;
				d->live = true;
				live++;
			} else {
				ask(m.disk, p->joins);
			}
		}
		busy = busy < now * 1000 ? now * 1000 : busy;
	}
	*took = now;
	return live;
}

static void test_all_disks_are_back(void **state)
{
	static const struct policy now = { RDMABLK_JOINS, true };
	static const struct policy fixed = { 1, false };
	/* Microseconds that the target takes for a message */
	static const uint32_t each[] = { 100, 1000, 2000, 5000, 10000, 20000 };
	uint64_t took;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
		uint64_t work = (uint64_t)DISKS * (DIALOGUE + 2 * QUEUES) * each[i] / 1000;

		assert_int_equal(flap(&now, each[i], &took), DISKS);
		/* Little of the work is in vain. */
		assert_true(took <= 2 * work + DELAY);
	}
	/* With a fixed deadline for a whole login, no disk comes back from a slow target. */
	assert_int_equal(flap(&fixed, 100, &took), DISKS);
	assert_int_equal(flap(&fixed, 5000, &took), 0);
}

static void test_pause(void **state)
{
	(void)state;
	/*
	 * The pause grows from a sixteenth of reconnect_delay to all of it. It grows no further
	 * for a target that is away.
	 */
	assert_int_equal(rdmablk_patience_pause(DELAY, 1, 0, 0), DELAY / 16);
	assert_int_equal(rdmablk_patience_pause(DELAY, 2, 0, 0), DELAY / 8);
	assert_int_equal(rdmablk_patience_pause(DELAY, 4, 0, 0), DELAY / 2);
	assert_int_equal(rdmablk_patience_pause(DELAY, 5, 0, 0), DELAY);
	assert_int_equal(rdmablk_patience_pause(DELAY, UINT32_MAX, 0, 0), DELAY);
	assert_int_equal(rdmablk_patience_pause(DELAY, UINT32_MAX, 4, 0), DELAY);
	/* It grows further for a target that is slow. */
	assert_int_equal(rdmablk_patience_pause(DELAY, 5, 5, 0), 2 * DELAY);
	assert_int_equal(rdmablk_patience_pause(DELAY, 9, UINT32_MAX, 0), 8 * DELAY);
	/* Half of the pause is random, and there is always a pause. */
	for (uint32_t tries = 0; tries < 12; tries++) {
		for (uint32_t delay = 1000; delay <= 600000; delay += 599000) {
			uint32_t most = rdmablk_patience_pause(delay, tries, tries, 0);
			uint32_t least = most;

			for (int i = 0; i < 1000; i++) {
				uint32_t ms = rdmablk_patience_pause(delay, tries, tries,
								     unit_random());

				assert_in_range(ms, RDMABLK_MIN_PAUSE_MS, most);
				assert_true(ms >= most / 2);
				least = ms < least ? ms : least;
			}
			if (most > 2 * RDMABLK_MIN_PAUSE_MS)
				assert_true(least < most / 2 + most / 16);
		}
	}
}

static void test_steps(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_patience_control(DELAY, 0), DELAY);
	assert_true(rdmablk_patience_control(DELAY, 1) >= 2 * RDMABLK_CM_RESPONSE_MS);
	assert_true(rdmablk_patience_control(DELAY, UINT32_MAX) >= 2 * RDMABLK_CM_RESPONSE_MS);
	assert_int_equal(rdmablk_patience_control(600000, 1), 600000);
	assert_int_equal(rdmablk_patience_join(DELAY, 0), DELAY);
	assert_int_equal(rdmablk_patience_join(DELAY, 1), DELAY);
	assert_int_equal(rdmablk_patience_join(DELAY, 2), 2 * DELAY);
	assert_true(rdmablk_patience_join(1000, UINT32_MAX) > 600000);
	assert_true(rdmablk_patience_join(600000, UINT32_MAX) <= 600000ULL << 10);
	/* However slowly a peer answers, the login ends, and sooner with fewer queues. */
	assert_int_equal(rdmablk_patience_login(CONNECT, 2), 3 * CONNECT);
	assert_int_equal(rdmablk_patience_login(CONNECT, 32), 4 * CONNECT);
	assert_int_equal(rdmablk_patience_login(CONNECT, 512), 34 * CONNECT);
	assert_int_equal(rdmablk_patience_login(600000, 512), 34 * 600000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_disks_are_back),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
