// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An io_uring. A turn is one system call: it submits the entries prepared since the last
 * turn, waits if there is nothing else to do, and handles what has completed.
 *
 * With an epoll a turn handles one event. So no event can wait in a batch while the memory that
 * it points to is freed.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/log.h"
#include "base/retry.h"
#include "base/ring.h"
#include "base/util.h"

#define RING_SQES	256		/* prepared between two system calls */
#define RING_CQES	(2 * RING_DEPTH)
#define PAUSE_NS	10000000	/* after an error that should not be */
#define WATCH		1UL		/* in the user data of a watch; sources are aligned */

static_assert(EPOLLIN == POLLIN && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP,
	      "ring_watch() gives the same results with an io_uring and with an epoll");

/* Each has a budget of its own in the log. */
static const char io_uring_call[] = "io_uring_enter";
static const char epoll_call[] = "epoll_wait";

static void *watch_of(struct ring_source *src)
{
	return (void *)((uintptr_t)src | WATCH);
}

static void ring_listen(struct ring *r)
{
	struct io_uring_sqe *sqe = ring_sqe(r, &r->wake);

	io_uring_prep_read(sqe, r->event, &r->count, sizeof(r->count), 0);
}

/*
 * Notes may free themselves and bring new ones about; those wait for the next round,
 * for which the eventfd has been written.
 */
static void ring_woken(struct ring_source *src, int res, unsigned int flags)
{
	struct ring *r = container_of(src, struct ring, wake);
	struct ring_notes notes = TAILQ_HEAD_INITIALIZER(notes);
	struct ring_note *note;
	eventfd_t n;

	(void)res;
	(void)flags;
	if (r->epoll < 0)
		ring_listen(r);
	else
		eventfd_read(r->event, &n);
	pthread_mutex_lock(&r->lock);
	TAILQ_CONCAT(&notes, &r->notes, entry);
	pthread_mutex_unlock(&r->lock);
	while ((note = TAILQ_FIRST(&notes))) {
		TAILQ_REMOVE(&notes, note, entry);
		note->run(note);
	}
}

/* liburing 2.3 declares the functions for these two, but does not export them. */
static int ring_register(struct ring *r, unsigned int what, void *arg, unsigned int nr)
{
	return syscall(SYS_io_uring_register, r->uring.ring_fd, what, arg, nr) ? -errno : 0;
}

/* seccomp sees io_uring_enter() and nothing of what the entries ask for. */
static int ring_confine(struct ring *r)
{
	static const uint8_t allowed[] = {
		IORING_OP_NOP, IORING_OP_READ, IORING_OP_WRITE, IORING_OP_READ_FIXED,
		IORING_OP_WRITE_FIXED, IORING_OP_FSYNC, IORING_OP_POLL_ADD,
		IORING_OP_ASYNC_CANCEL, IORING_OP_TIMEOUT,
	};
	struct io_uring_restriction rule[ARRAY_SIZE(allowed) + 3] = {
		{ .opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED,
		  .sqe_flags = IOSQE_FIXED_FILE },
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_REGISTER_BUFFERS_UPDATE },
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_UNREGISTER_FILES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		rule[3 + i].opcode = IORING_RESTRICTION_SQE_OP;
		rule[3 + i].sqe_op = allowed[i];
	}
	return ring_register(r, IORING_REGISTER_RESTRICTIONS, rule, ARRAY_SIZE(rule)) ?:
	       ring_register(r, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

/* The kernel runs completions only when this thread asks for them; Linux 6.1 and later. */
static int ring_setup(struct ring *r)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE |
			 IORING_SETUP_R_DISABLED,
		.cq_entries = RING_CQES,
	};

	return io_uring_queue_init_params(RING_SQES, &r->uring, &params);
}

static int ring_notes_init(struct ring *r)
{
	*r = (struct ring){ .wake.ready = ring_woken, .epoll = -1 };
	TAILQ_INIT(&r->notes);
	r->event = eventfd(0, EFD_CLOEXEC);
	if (r->event < 0)
		return -errno;
	pthread_mutex_init(&r->lock, NULL);
	return 0;
}

static void ring_notes_exit(struct ring *r)
{
	close(r->event);
	pthread_mutex_destroy(&r->lock);
}

/**
 * ring_init - make the ring of the calling thread
 * @r: filled
 * @buffers: places in its table of buffers
 *
 * Return: 0 or -errno.
 */
int ring_init(struct ring *r, unsigned int buffers)
{
	int ret;

	ret = ring_notes_init(r);
	if (ret)
		return ret;
	ret = ring_setup(r);
	if (ret)
		goto close_event;
	ret = io_uring_register_buffers_sparse(&r->uring, buffers) ?: ring_confine(r);
	if (ret)
		goto exit_uring;
	ring_listen(r);
	return 0;
exit_uring:
	io_uring_queue_exit(&r->uring);
close_event:
	ring_notes_exit(r);
	return ret;
}

/**
 * ring_init_epoll - make a ring without I/O for the calling thread, of an epoll
 * @r: filled
 *
 * It has notes and watches descriptors. ring_sqe(), ring_pause() and ring_set_buffer() are not
 * for such a ring.
 *
 * Return: 0 or -errno.
 */
int ring_init_epoll(struct ring *r)
{
	int ret = ring_notes_init(r);

	if (ret)
		return ret;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	ret = r->epoll < 0 ? -errno : ring_watch(r, &r->wake, r->event);
	if (!ret)
		return 0;
	if (r->epoll >= 0)
		close(r->epoll);
	ring_notes_exit(r);
	return ret;
}

/**
 * ring_init_files - make a ring without notes, for a thread that only waits for its I/O
 * @r: filled
 * @depth: entries under way at once
 * @fds: descriptors that its entries name by their index
 * @nr: number of @fds
 *
 * Any thread may use the ring, one at a time. ring_tell() and ring_set_buffer() are not for
 * such a ring.
 *
 * Return: 0 or -errno.
 */
int ring_init_files(struct ring *r, unsigned int depth, const int *fds, unsigned int nr)
{
	int ret;

	*r = (struct ring){ .event = -1, .epoll = -1 };
	ret = io_uring_queue_init(depth, &r->uring, IORING_SETUP_R_DISABLED);
	if (ret)
		return ret;
	ret = io_uring_register_files(&r->uring, fds, nr) ?: ring_confine(r);
	if (ret)
		io_uring_queue_exit(&r->uring);
	return ret;
}

/**
 * ring_exit - undo ring_init(), ring_init_epoll() or ring_init_files()
 * @r: ring; nothing is under way and no thread tells it anything
 *
 * Descriptors of ring_init_files() are released first: io_uring_queue_exit() would leave
 * that to a thread of the kernel, which pins their locks until then.
 */
void ring_exit(struct ring *r)
{
	if (r->event < 0)
		io_uring_unregister_files(&r->uring);
	if (r->epoll < 0)
		io_uring_queue_exit(&r->uring);
	else
		close(r->epoll);
	if (r->event >= 0)
		ring_notes_exit(r);
}

/*
 * Looks at what a system call of a ring has returned. If the kernel could not do it now, the next
 * turn asks again. After an error this waits for a moment.
 */
static void check(const char *call, int ret)
{
	const struct timespec time = { .tv_nsec = PAUSE_NS };

	if (ret >= 0 || ret == -EINTR)
		return;
	if (ret != -EAGAIN && ret != -EBUSY && log_allow(call, NULL))
		log_err("%s: %s", call, strerror(-ret));
	nanosleep(&time, NULL);
}

/**
 * ring_sqe - prepare an entry
 * @r: ring
 * @src: gets its completion
 *
 * The caller fills the entry at once, with io_uring_prep_*(), and no field before.
 * The order of @src and io_uring_prep_*() is no matter: those leave it alone.
 *
 * Return: the entry.
 */
struct io_uring_sqe *ring_sqe(struct ring *r, struct ring_source *src)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&r->uring);

	while (!sqe) {
		check(io_uring_call, io_uring_submit(&r->uring));
		sqe = io_uring_get_sqe(&r->uring);
	}
	r->busy++;
	io_uring_sqe_set_data(sqe, src);
	return sqe;
}

/**
 * ring_watch - have a completion whenever a descriptor has something new to read
 * @r: ring
 * @src: gets them, with a result of POLLIN, POLLERR and POLLHUP, or -errno. Without
 *	IORING_CQE_F_MORE in its flags one is the last
 * @fd: watched until then or until ring_unwatch()
 *
 * The owner of @fd must read all there is, because no completion comes for data that it leaves.
 * Nor does one come again for an error: the completion channel of a device that is gone has an
 * error for good, which would wake the thread without end.
 *
 * Return: 0; or -errno, with an epoll only.
 */
int ring_watch(struct ring *r, struct ring_source *src, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.ptr = src };
	struct io_uring_sqe *sqe;

	if (r->epoll >= 0)
		return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
	sqe = ring_sqe(r, src);
	r->busy--;
	io_uring_prep_poll_multishot(sqe, fd, POLLIN);
	io_uring_sqe_set_data(sqe, watch_of(src));
	return 0;
}

/**
 * ring_unwatch - undo ring_watch()
 * @r: ring
 * @src: as given to ring_watch(), its last completion not come
 * @fd: as given to ring_watch()
 * @end: gets a completion when the kernel has tried
 *
 * The kernel refuses with -EALREADY while an event of @fd is on its way to the io_uring:
 * @src then has that event and goes on. The caller asks again until @src has its last
 * completion.
 *
 * Return: true: wait for @end, and then for the last completion of @src; false: @src gets none.
 */
bool ring_unwatch(struct ring *r, struct ring_source *src, int fd, struct ring_source *end)
{
	if (r->epoll >= 0) {
		epoll_ctl(r->epoll, EPOLL_CTL_DEL, fd, NULL);
		return false;
	}
	io_uring_prep_cancel(ring_sqe(r, end), watch_of(src), 0);
	return true;
}

/**
 * ring_pause - have a completion after RETRY_MS, in place of I/O that is to be tried again
 * @r: ring
 * @src: gets it; its result says nothing
 */
void ring_pause(struct ring *r, struct ring_source *src)
{
	static struct __kernel_timespec time = { .tv_nsec = RETRY_MS * 1000000L };

	io_uring_prep_timeout(ring_sqe(r, src), &time, 0, 0);
}

/**
 * ring_full - whether the largest number of entries is under way
 * @r: ring
 *
 * Watches do not count: each session has one for as long as it lives, and many sessions would
 * leave no entry for I/O.
 *
 * Return: true: the caller waits for a completion before it prepares another entry.
 */
bool ring_full(const struct ring *r)
{
	return r->busy >= RING_DEPTH;
}

static bool ring_pending(const struct ring *r)
{
	return io_uring_sq_ready(&r->uring) ||
	       *r->uring.sq.kflags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
}

static void ring_turn_epoll(struct ring *r, bool wait)
{
	struct epoll_event ev;
	int nr = epoll_wait(r->epoll, &ev, 1, wait ? -1 : 0);

	if (nr > 0) {
		struct ring_source *src = ev.data.ptr;

		src->ready(src, (int)ev.events, IORING_CQE_F_MORE);
	} else if (nr < 0) {
		check(epoll_call, -errno);
	}
}

/**
 * ring_turn - submit what was prepared and handle what has completed
 * @r: ring
 * @wait: wait until something has completed
 */
void ring_turn(struct ring *r, bool wait)
{
	struct io_uring_cqe *cqe;
	unsigned int head, budget = RING_DEPTH;

	if (r->epoll >= 0) {
		ring_turn_epoll(r, wait);
		return;
	}
	if (wait)
		check(io_uring_call, io_uring_submit_and_wait(&r->uring, 1));
	else if (ring_pending(r))
		check(io_uring_call, io_uring_submit_and_get_events(&r->uring));
	io_uring_for_each_cqe(&r->uring, head, cqe) {
		uintptr_t data = (uintptr_t)io_uring_cqe_get_data(cqe);
		struct ring_source *src = (struct ring_source *)(data & ~WATCH);
		unsigned int flags = cqe->flags;
		int res = cqe->res;

		io_uring_cqe_seen(&r->uring, cqe);
		if (!(data & WATCH))
			r->busy--;
		src->ready(src, res, flags);
		if (!--budget)
			break;
	}
}

/**
 * ring_tell - have something done in the thread of a ring
 * @r: of any thread
 * @note: the ring's until its @run is called
 *
 * Any thread.
 */
void ring_tell(struct ring *r, struct ring_note *note)
{
	bool first;

	pthread_mutex_lock(&r->lock);
	first = TAILQ_EMPTY(&r->notes);
	TAILQ_INSERT_TAIL(&r->notes, note, entry);
	/* under the lock: the ring may be gone once the note has run */
	if (first)
		eventfd_write(r->event, 1);
	pthread_mutex_unlock(&r->lock);
}

/**
 * ring_set_buffer - give memory to the ring, which pins it
 * @r: ring
 * @slot: in its table
 * @from: first byte; NULL: none any more
 * @bytes: how many
 *
 * Return: 0 or -errno.
 */
int ring_set_buffer(struct ring *r, unsigned int slot, void *from, size_t bytes)
{
	const struct iovec iov = { .iov_base = from, .iov_len = bytes };
	__u64 tag = 0;
	int ret = io_uring_register_buffers_update_tag(&r->uring, slot, &iov, &tag, 1);

	return ret < 0 ? ret : 0;
}
