// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SIGBUS in an arena ends that export, not the daemon.
 *
 * A thread of the daemon gets SIGBUS when it touches an arena page that no longer
 * exists: another process truncated the file, or the host's memory has an uncorrectable
 * error. Store thread, workers and the loop touch arenas; the kernel's own accesses (io_uring,
 * registration) fail with EFAULT instead.
 *
 * The handler looks for the arena of the address in a table that it reads without a
 * lock. It marks the arena as broken, then maps one page of zeroes in the place of the
 * missing one, then wakes the loop, and the thread goes on with the zeroes. They are not
 * the arena's contents: a thread that has touched an arena calls arena_guard_broken() before
 * it writes to the file what it has read, and before it reports success. A thread sees
 * the mark of its own fault because the handler runs in that thread.
 *
 * What an adapter has pinned stays pinned, and it writes to pages that no file has any
 * more. So the loop ends all sessions of the export and refuses logins.
 *
 * Threads that touch an arena must not block SIGBUS: the kernel kills a process that
 * faults while it does.
 *
 * Only calls that are safe in a signal handler: mmap, write and sigaction are bare
 * system calls here.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "base/loop.h"
#include "base/util.h"
#include "store/arena_guard.h"

#define ARENAS	4096

/**
 * struct arena_guard - an arena that the handler knows
 * @used: the entry is taken
 * @base: its first address; 0: not to be looked at. Written last, read first
 * @bytes: from there on
 * @page_size: of its pages, bytes
 * @broken: one of its pages is missing; never cleared
 */
struct arena_guard {
	atomic_bool used;
	atomic_uintptr_t base;
	uint64_t bytes;
	uint64_t page_size;
	atomic_bool broken;
};

static void guard_ready(struct loop_source *src);

static struct {
	struct arena_guard arenas[ARENAS];
	struct loop_source source;
	void (*hit)(void);
} guards = {
	.source = { .fd = -1, .ready = guard_ready },
};

static void guard_ready(struct loop_source *src)
{
	uint64_t count;

	if (read(src->fd, &count, sizeof(count)) == sizeof(count))
		guards.hit();
}

static void wake(void)
{
	const uint64_t one = 1;
	ssize_t n = write(guards.source.fd, &one, sizeof(one));

	(void)n;	/* EAGAIN: the loop has been woken already */
}

static struct arena_guard *guard_of(uintptr_t at)
{
	for (size_t i = 0; i < ARENAS; i++) {
		struct arena_guard *guard = &guards.arenas[i];
		uintptr_t base = atomic_load_explicit(&guard->base, memory_order_acquire);

		if (base && at >= base && at - base < guard->bytes)
			return guard;
	}
	return NULL;
}

static bool replace_page(const struct arena_guard *guard, uintptr_t at)
{
	uintptr_t base = atomic_load(&guard->base);
	uintptr_t page = base + (at - base) / guard->page_size * guard->page_size;

	return mmap((void *)page, guard->page_size, PROT_READ | PROT_WRITE, MAP_FIXED |
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

static void sigbus(int signo, siginfo_t *info, void *context)
{
	const struct sigaction fatal = { .sa_handler = SIG_DFL };
	uintptr_t at = (uintptr_t)info->si_addr;
	/* From the kernel: only then is there an address. */
	struct arena_guard *guard = info->si_code > 0 ? guard_of(at) : NULL;
	int saved = errno;

	(void)context;
	if (guard)
		atomic_store(&guard->broken, true);
	if (guard && replace_page(guard, at)) {
		wake();
	} else {
		/* The instruction that has faulted does so again, and ends the process. */
		sigaction(signo, &fatal, NULL);
		if (info->si_code <= 0)
			raise(signo);
	}
	errno = saved;
}

/**
 * arena_guard_init - catch SIGBUS, before the first arena
 * @hit: called in the loop when an arena has broken
 *
 * Return: 0 or -errno.
 */
int arena_guard_init(void (*hit)(void))
{
	const struct sigaction action = {
		.sa_sigaction = sigbus, .sa_flags = SA_SIGINFO | SA_RESTART,
	};

	guards.hit = hit;
	guards.source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (guards.source.fd < 0 || sigaction(SIGBUS, &action, NULL))
		return -errno;
	return loop_add(&guards.source);
}

/**
 * arena_guard_exit - undo arena_guard_init(); no arena is left
 */
void arena_guard_exit(void)
{
	if (guards.source.fd < 0)
		return;
	signal(SIGBUS, SIG_DFL);
	loop_del(&guards.source);
	close(guards.source.fd);
	guards.source.fd = -1;
}

/**
 * arena_guard_add - let the handler know of an arena
 * @base: its first address
 * @bytes: how many may ever be mapped from there on
 * @page_size: of its pages, bytes
 *
 * Any thread.
 *
 * Return: its guard; NULL: there are too many.
 */
struct arena_guard *arena_guard_add(void *base, uint64_t bytes, uint64_t page_size)
{
	for (size_t i = 0; i < ARENAS; i++) {
		struct arena_guard *guard = &guards.arenas[i];

		if (atomic_exchange(&guard->used, true))
			continue;
		guard->bytes = bytes;
		guard->page_size = page_size;
		atomic_store(&guard->broken, false);
		atomic_store_explicit(&guard->base, (uintptr_t)base, memory_order_release);
		return guard;
	}
	return NULL;
}

/**
 * arena_guard_del - forget an arena, before it is unmapped
 * @guard: of an arena that no thread touches any more; or NULL
 */
void arena_guard_del(struct arena_guard *guard)
{
	if (!guard)
		return;
	atomic_store(&guard->base, 0);
	atomic_store(&guard->used, false);
}

/**
 * arena_guard_broken - is a page of an arena missing
 * @guard: of the arena; NULL: there is no arena
 *
 * Any thread, after it has touched the arena.
 *
 * Return: whether what was read there may not be its contents.
 */
bool arena_guard_broken(const struct arena_guard *guard)
{
	return guard && atomic_load(&guard->broken);
}

/**
 * arena_guard_break - the kernel has found a page missing
 * @guard: of the arena; or NULL
 *
 * Any thread.
 */
void arena_guard_break(struct arena_guard *guard)
{
	if (!guard)
		return;
	atomic_store(&guard->broken, true);
	wake();
}
