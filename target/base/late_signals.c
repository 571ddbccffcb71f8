// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals to a daemon whose loop has ended. What the main thread does then may take as
 * long as a file does, so a thread waits for the signals. A signal handler could end the
 * process as well, but not have the log write the lines that wait there.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/late_signals.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"

static bool asked_once;		/* a signal has asked for the end; the thread's */

static void fill_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
}

static void *late_main(void *arg)
{
	sigset_t set;
	int signo;

	fill_set(&set);
	while (!sigwait(&set, &signo)) {
		if (asked_once) {
			log_warn("a signal again: exiting at once");
			log_stop();
			_exit(EXIT_FAILED);
		}
		log_warn("ending already; another signal ends it at once");
		asked_once = true;
	}
	return arg;
}

/**
 * late_signals_start - wait for SIGTERM and SIGINT in a thread
 * @asked: such a signal has asked for the end already
 *
 * The first signal that asks for the end is answered, because what is being brought up to
 * date is not given up for it. The next one ends the process, after the lines of the log
 * are written. All threads block both signals. Once.
 *
 * Return: 0 or -errno: nothing waits for them.
 */
int late_signals_start(bool asked)
{
	pthread_t thread;
	int ret;

	asked_once = asked;
	ret = thread_start(&thread, "late-signals", late_main, NULL);
	if (!ret)
		pthread_detach(thread);
	return ret;
}
