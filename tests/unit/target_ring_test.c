// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An io_uring of the daemon does what files need, and refuses everything else: other
 * operations, and more registrations.
 *
 * Sources: target/base/ring.c target/base/log.c
 * Libraries: liburing libsystemd
 */
#include "../../target/base/ring.h"
#include "target_files.h"

struct answer {
	struct ring_source source;
	int res;
};

static void answered(struct ring_source *src, int res, unsigned int flags)
{
	(void)flags;
	((struct answer *)src)->res = res;
}

/* Return: the result of what @prepare has asked for */
static int result_of(struct ring *r, void (*prepare)(struct io_uring_sqe *sqe))
{
	struct answer a = { .source.ready = answered, .res = 1 };

	prepare(ring_sqe(r, &a.source));
	for (int i = 0; i < 1000 && a.res == 1; i++)
		ring_turn(r, true);
	return a.res;
}

static void nop(struct io_uring_sqe *sqe)
{
	io_uring_prep_nop(sqe);
}

static void openat_root(struct io_uring_sqe *sqe)
{
	io_uring_prep_openat(sqe, AT_FDCWD, "/", O_RDONLY, 0);
}

static void socket_new(struct io_uring_sqe *sqe)
{
	io_uring_prep_rw(IORING_OP_CONNECT, sqe, 0, NULL, 0, 0);
}

static void unlink_name(struct io_uring_sqe *sqe)
{
	io_uring_prep_unlinkat(sqe, AT_FDCWD, "/nonexistent", 0);
}

static void linked_nop(struct io_uring_sqe *sqe)
{
	io_uring_prep_nop(sqe);
	sqe->flags |= IOSQE_IO_LINK;
}

static void refuses_others(struct ring *r)
{
	assert_int_equal(result_of(r, nop), 0);
	assert_int_equal(result_of(r, openat_root), -EACCES);
	assert_int_equal(result_of(r, socket_new), -EACCES);
	assert_int_equal(result_of(r, unlink_name), -EACCES);
	assert_int_equal(result_of(r, linked_nop), -EACCES);
	assert_int_equal(result_of(r, nop), 0);
	assert_true(io_uring_register_eventfd(&r->uring, 0) < 0);
}

static void of_an_io_thread(void **state)
{
	struct ring r;

	(void)state;
	assert_int_equal(ring_init(&r, 16), 0);
	refuses_others(&r);
	ring_exit(&r);
}

static void of_a_batch(void **state)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ring r;

	(void)state;
	assert_int_equal(ring_init_files(&r, 8, &fd, 1), 0);
	refuses_others(&r);
	ring_exit(&r);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_an_io_thread),
		cmocka_unit_test(of_a_batch),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
