// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An io_uring of the daemon does what files need, and refuses everything else: other
 * operations, and more registrations. Threads without I/O have an epoll, which reports the
 * same descriptors and notes.
 *
 * Sources: target/base/ring.c target/base/log.c
 * Libraries: liburing libsystemd
 */
#include "../../target/base/ring.h"
#include "../../target/base/util.h"
#include "target_files.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

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

/* A watched descriptor, and the sum of what was read from it */
static struct watched {
	struct ring *r;
	struct ring_source source, end;
	int fd;
	unsigned int told;
	bool last, ended;
} watched[2];

static void watch_ready(struct ring_source *src, int res, unsigned int flags)
{
	struct watched *w = container_of(src, struct watched, source);
	eventfd_t n;

	w->last = !(flags & IORING_CQE_F_MORE);
	if (res < 0)	/* the end */
		return;
	assert_int_equal(eventfd_read(w->fd, &n), 0);
	w->told += (unsigned int)n;
}

static void watch_ended(struct ring_source *src, int res, unsigned int flags)
{
	(void)res;
	(void)flags;
	container_of(src, struct watched, end)->ended = true;
}

static void watch(struct ring *r, struct watched *w)
{
	*w = (struct watched){
		.r = r, .source.ready = watch_ready, .end.ready = watch_ended,
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	assert_int_equal(ring_watch(r, &w->source, w->fd), 0);
}

static void unwatch(struct watched *w)
{
	if (!ring_unwatch(w->r, &w->source, w->fd, &w->end))
		return;
	while (!w->ended || !w->last)
		ring_turn(w->r, true);
}

static void unwatch_both(struct ring_note *note)
{
	(void)note;
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		unwatch(&watched[i]);
}

static void tells(struct ring *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		watch(r, &watched[i]);
	for (unsigned int n = 1; n < 100; n++) {
		struct watched *w = &watched[n % 2];
		unsigned int before = w->told;

		assert_int_equal(eventfd_write(w->fd, n), 0);
		while (w->told == before)
			ring_turn(r, true);
		assert_int_equal(w->told, before + n);
	}
	unwatch_both(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		unsigned int before = watched[i].told;

		assert_int_equal(eventfd_write(watched[i].fd, 1), 0);
		ring_turn(r, false);
		assert_int_equal(watched[i].told, before);
		close(watched[i].fd);
	}
}

static void raise_file_limit(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/*
 * Both descriptors are readable in the turn that ends their watches. An event that still came
 * would reach memory that a real caller has freed.
 */
static void a_descriptor_in_the_same_breath(void **state)
{
	struct ring_note note = { .run = unwatch_both };
	struct ring r;

	(void)state;
	assert_int_equal(ring_init_epoll(&r), 0);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		watch(&r, &watched[i]);
	ring_tell(&r, &note);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		assert_int_equal(eventfd_write(watched[i].fd, 1), 0);
	for (int i = 0; i < 4; i++)
		ring_turn(&r, false);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		assert_int_equal(watched[i].told, 0);
		close(watched[i].fd);
	}
	ring_exit(&r);
}

static void descriptors_are_watched(void **state)
{
	struct ring r;

	(void)state;
	assert_int_equal(ring_init(&r, 16), 0);
	tells(&r);
	ring_exit(&r);
	assert_int_equal(ring_init_epoll(&r), 0);
	tells(&r);
	ring_exit(&r);
}

/* A session has a watch for as long as it lives. However many there are, I/O begins. */
static void watches_leave_room(void **state)
{
	static struct watched many[RING_DEPTH + 1];
	struct answer io[RING_DEPTH] = { };
	struct ring r;

	(void)state;
	raise_file_limit();
	assert_int_equal(ring_init(&r, 16), 0);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		watch(&r, &many[i]);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		assert_int_equal(eventfd_write(many[i].fd, 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		while (!many[i].told)
			ring_turn(&r, true);
	assert_false(ring_full(&r));
	for (size_t i = 0; !ring_full(&r); i++) {
		assert_in_range(i, 0, RING_DEPTH - 1);
		io[i].source.ready = answered;
		nop(ring_sqe(&r, &io[i].source));
	}
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		unwatch(&many[i]);
		close(many[i].fd);
	}
	assert_int_equal(r.busy, 1);	/* the one that listens for notes */
	ring_exit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_an_io_thread),
		cmocka_unit_test(of_a_batch),
		cmocka_unit_test(descriptors_are_watched),
		cmocka_unit_test(watches_leave_room),
		cmocka_unit_test(a_descriptor_in_the_same_breath),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
