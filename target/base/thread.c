// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads. Each begins with its signals blocked and sets its name itself: a daemon that is
 * confined or not dumpable may not write the name of another thread to /proc.
 */
#include <errno.h>
#include <signal.h>

#include "base/thread.h"
#include "base/util.h"

struct beginning {
	const char *name;
	void *(*run)(void *arg);
	void *arg;
};

static void *thread_main(void *data)
{
	const struct beginning begin = *(struct beginning *)data;

	free(data);
	pthread_setname_np(pthread_self(), begin.name);
	return begin.run(begin.arg);
}

/**
 * thread_start - start a thread that takes no signal of the process
 * @thread: filled; to be joined or detached
 * @name: 15 bytes at most, constant; for ps and debuggers
 * @run: its function
 * @arg: for @run
 *
 * It blocks all signals but SIGBUS: see arena.c. Any thread.
 *
 * Return: 0 or -errno.
 */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg)
{
	struct beginning *begin = malloc(sizeof(*begin));
	sigset_t all, old;
	int ret;

	if (!begin)
		return -ENOMEM;
	*begin = (struct beginning){ .name = name, .run = run, .arg = arg };
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	ret = -pthread_create(thread, NULL, thread_main, begin);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		free(begin);
	return ret;
}

/**
 * thread_end_wanted - whether a signal asks the daemon to end
 *
 * For what takes long at the start, when no loop runs that would see the signal.
 */
bool thread_end_wanted(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGTERM) ||
				     sigismember(&set, SIGINT));
}
