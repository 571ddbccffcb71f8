// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/io_tmo.c gives each request the time that the administrator set, at once
 * and whatever its kind, until the disk is removed by force or the machine goes down; and that
 * a request whose time is over ends the connection.
 */
#include "session_fakes.h"

static struct rdmablk_session s;
static struct request_queue queue;
static struct gendisk disk = { .queue = &queue };
static unsigned int errors, rearmed, quiesced_with, quiesced_queue;
static u16 error;

void rdmablk_session_error(struct rdmablk_session *of, u16 reason)
{
	assert_ptr_equal(of, &s);
	error = reason;
	errors++;
}

static void blk_queue_rq_timeout(struct request_queue *q, unsigned int timeout)
{
	q->timeout = timeout;
}

static void blk_mq_quiesce_queue(struct request_queue *q)
{
	assert_int_equal(q->quiesced++, 0);
	quiesced_with = s.path.read_write_tmo;
	quiesced_queue = q->timeout;
}

static void blk_mq_unquiesce_queue(struct request_queue *q)
{
	assert_int_equal(q->quiesced--, 1);
}

/* Tasks that have read an older limit have started their requests by now. */
void rdmablk_request_rearm(struct blk_mq_tag_set *set, unsigned int most)
{
	assert_ptr_equal(set, &s.tag_set);
	assert_int_equal(queue.quiesced, 1);
	assert_int_equal(quiesced_with, s.path.read_write_tmo);
	assert_int_equal(quiesced_queue, queue.timeout);
	assert_true(s.disk_mutex.lock.held);
	rearmed = most;
}

#include "../../kernel/io_tmo.c"

static int setup(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	queue.timeout = 30 * HZ;
	errors = 0;
	error = 0;
	rearmed = 0;
	s.state = RDMABLK_DEV_LIVE;
	s.opt.io_tmo = 30;
	s.disk = &disk;
	return 0;
}

/* The transport limits a request without a command: io_tmo does not matter. */
static void test_request_without_a_command(void **state)
{
	(void)state;
	s.opt.io_tmo = 0;
	rdmablk_io_tmo_expired(&s.path, false);
	assert_int_equal(errors, 1);
	assert_int_equal(error, RDMABLK_R_CONNECTION);
}

static void test_command(void **state)
{
	(void)state;
	rdmablk_io_tmo_expired(&s.path, true);
	assert_int_equal(error, RDMABLK_R_IO_TIMEOUT);
}

/* A command without a limit waits, but not when its disk is removed. */
static void test_command_without_limit(void **state)
{
	static const s32 never[] = { 0, -1 };

	for (unsigned int i = 0; i < ARRAY_SIZE(never); i++) {
		setup(state);
		s.opt.io_tmo = never[i];
		rdmablk_io_tmo_expired(&s.path, true);
		assert_int_equal(errors, 0);
		s.hurry = true;
		rdmablk_io_tmo_expired(&s.path, true);
		assert_int_equal(error, RDMABLK_R_IO_TIMEOUT);
		assert_int_equal(errors, 1);
		s.hurry = false;
		s.state = RDMABLK_DEV_DELETING;
		rdmablk_io_tmo_expired(&s.path, true);
		assert_int_equal(errors, 2);
	}
}

static void time_of(s32 io_tmo, unsigned int read_write, unsigned int slow)
{
	s.opt.io_tmo = io_tmo;
	rdmablk_io_tmo_apply(&s);
	assert_int_equal(s.path.read_write_tmo, read_write);
	assert_int_equal(s.path.slow_tmo, slow);
}

static void test_apply(void **state)
{
	(void)state;
	time_of(30, 30 * HZ, RDMABLK_SLOW_FACTOR * 30 * HZ);
	time_of(1, HZ, RDMABLK_SLOW_FACTOR * HZ);
	time_of(0, 0, 0);
	time_of(-1, 0, 0);
}

/* In a hurry each request has 5 s, and a READ or WRITE never more than io_tmo. */
static void test_apply_in_a_hurry(void **state)
{
	(void)state;
	s.hurry = true;
	time_of(30, 5 * HZ, 5 * HZ);
	time_of(1, HZ, 5 * HZ);
	time_of(0, 5 * HZ, 5 * HZ);
	time_of(-1, 5 * HZ, 5 * HZ);
}

/* Requests under way get the new time, too. */
static void test_changed(void **state)
{
	(void)state;
	s.opt.io_tmo = 7;
	rdmablk_io_tmo_changed(&s);
	assert_int_equal(s.path.read_write_tmo, 7 * HZ);
	assert_int_equal(rearmed, UINT_MAX);
	assert_false(s.hurry);
	assert_int_equal(queue.timeout, 30 * HZ);
	assert_int_equal(queue.quiesced, 0);
	assert_false(s.disk_mutex.lock.held);
}

static void test_hurry(void **state)
{
	(void)state;
	rdmablk_io_tmo_hurry(&s);
	assert_int_equal(s.path.read_write_tmo, 5 * HZ);
	assert_int_equal(rearmed, 5 * HZ);
	assert_int_equal(queue.timeout, 5 * HZ);
	rdmablk_io_tmo_expired(&s.path, true);
	assert_int_equal(error, RDMABLK_R_IO_TIMEOUT);
	/* The hurry lasts, whatever the administrator sets now. */
	s.opt.io_tmo = 0;
	rdmablk_io_tmo_changed(&s);
	assert_int_equal(s.path.read_write_tmo, 5 * HZ);
}

/* Without a disk no request is under way. */
static void test_without_a_disk(void **state)
{
	(void)state;
	s.disk = NULL;
	rdmablk_io_tmo_changed(&s);
	rdmablk_io_tmo_hurry(&s);
	assert_int_equal(s.path.slow_tmo, 5 * HZ);
	assert_int_equal(rearmed, 0);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_request_without_a_command),
		TEST(test_command),
		TEST(test_command_without_limit),
		TEST(test_apply),
		TEST(test_apply_in_a_hurry),
		TEST(test_changed),
		TEST(test_hurry),
		TEST(test_without_a_disk),
	};

	return cmocka_run_group_tests_name("io_tmo", tests, NULL, NULL);
}
