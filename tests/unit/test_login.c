// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/login.c asks for half of the queues when either adapter has no room for
 * them, at whatever step of the login this shows, and for more again later; and that a first
 * login that begins again keeps nothing that was made for the earlier grant.
 */
#include "login_world.h"

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

/* The target has no room for completion queues, and says so in place of GRANT. */
static void test_no_room_before_grant(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(world); i++)
		world[i].early = 3;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 3);
	assert_int_equal(asked[2], 2);
	assert_int_equal(session->path.nr_hwqs, 2);
	/* The same for a disk that was live before, which has the grant of another login. */
	for (size_t i = logins; i < ARRAY_SIZE(world); i++)
		world[i].early = 1;
	assert_int_equal(again(), 0);
	assert_int_equal(asked[logins - 1], 1);
	world[logins].early = 0;
	session->most_queues = 1;
	assert_int_equal(again(), -ENOSPC);
}

/* At the second try the adapter may be another one, and the target may want another granule. */
static void test_nothing_is_kept(void **state)
{
	(void)state;
	world[0] = (struct world){ .granule = 4096, .sends = 1, .early = QUEUES, .late = 4 };
	world[1] = (struct world){ .granule = 65536, .sends = 16, .early = QUEUES, .late = 4 };
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 2);
	assert_int_equal(session->path.fence.dirty.shift, 16);
	assert_int_equal(seen.disks, 2);
	assert_true(session->login.offer.limits.max_segments > RDMABLK_FEW_SEGMENTS);
	for (u32 i = 0; i < session->nr_queues; i++)
		assert_non_null(session->path.hwq[i]->reserve.segments);
}

/*
 * The disk of a staged export has no more hardware queues than the target grants, unless the
 * target would grant more if an adapter had room.
 */
static void test_staged(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(world); i++)
		world[i] = (struct world){ 0, 16, QUEUES, 4, true };
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 2);
	assert_int_equal(session->path.nr_hwqs, 4);
	assert_int_equal(session->nr_queues, QUEUES);
}

/*
 * A disk that was live before keeps its dirty granules, and the queues that the block layer
 * knows.
 */
static void test_a_disk_keeps_what_it_has(void **state)
{
	struct rdmablk_hwq *hwq;

	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(seen.retimes, 0);
	hwq = session->path.hwq[0];
	rdmablk_dirty_set(&session->path.fence.dirty, 8192, 1);
	world[1].late = 4;
	assert_int_equal(again(), 0);
	assert_int_equal(logins, 3);
	assert_int_equal(seen.disks, 0);
	assert_true(seen.retimes > 0);
	assert_ptr_equal(session->path.hwq[0], hwq);
	assert_int_equal(atomic_long_read(&session->path.fence.dirty.dirty[0]), 1 << 2);
}

/* A shortage passes: each later login asks for more queues again. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_fit),
		TEST(test_no_room_to_join),
		TEST(test_no_room_before_grant),
		TEST(test_nothing_is_kept),
		TEST(test_more_queues_again),
		TEST(test_staged),
		TEST(test_a_disk_keeps_what_it_has),
	};

	return cmocka_run_group_tests_name("login", tests, NULL, NULL);
}
