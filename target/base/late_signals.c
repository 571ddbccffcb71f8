// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals to a daemon whose loop has ended. The main thread may then be busy with a file for
 * long, so another thread waits for the signals. A signal handler could end the process, too,
 * but could not write the log lines that wait.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/late_signals.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"

static bool asked_once;		/* a signal has asked for the end; owned by the thread */
static void (*before_end)(void);

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
			before_end();
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
 * @at_end: called in that thread before it ends the process; may log
 *
 * After the first signal the daemon only logs that it is ending: it goes on to bring files up
 * to date. The next signal ends the process, after the log lines are written. All threads
 * block both signals. To be called once.
 *
 * Return: 0; or -errno: no thread waits for signals.
 */
int late_signals_start(bool asked, void (*at_end)(void))
{
	pthread_t thread;
	int ret;

	asked_once = asked;
	before_end = at_end;
	ret = thread_start(&thread, "late-signals", late_main, NULL);
	if (!ret)
		pthread_detach(thread);
	return ret;
}
