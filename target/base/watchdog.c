// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The watchdog. systemd kills the daemon when the loop has not turned for WatchdogSec:
 * without the loop no session can be kept alive and nobody can log in.
 *
 * The threads that serve write queues are asked for a heartbeat, too. One that does not answer
 * is reported again and again, but not to systemd: a restart does not mend the disk that the
 * thread waits for, and other exports would lose what they have in memory.
 */
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/watchdog.h"

#define BEAT_MS		10000	/* between two questions to a thread */
#define SILENT_MS	30000	/* a thread silent for so long is reported */
#define AGAIN_MS	60000	/* and again after this */

static void beat(struct loop_timer *timer);
static void notify(struct loop_timer *timer);

static struct {
	LIST_HEAD(, heartbeat) threads;
	struct loop_timer beat;
	struct loop_timer notify;
	int64_t notify_ms;
} watchdog = {
	.beat = { .expired = beat },
	.notify = { .expired = notify },
};

static void notify(struct loop_timer *timer)
{
	sd_notify(0, "WATCHDOG=1");
	loop_timer_start(timer, watchdog.notify_ms);
}

static void check(struct heartbeat *hb, int64_t now)
{
	if (!atomic_load(&hb->asked)) {
		if (hb->reported)
			log_warn("export %s: %s thread %u answers again", hb->name,
				 hb->kind, hb->number);
		hb->reported = 0;
		hb->since = now;
		atomic_store(&hb->asked, true);
		hb->ask(hb);
		return;
	}
	if (now - hb->since < SILENT_MS || (hb->reported && now - hb->reported < AGAIN_MS))
		return;
	hb->reported = now;
	log_err("export %s: %s thread %u has not answered for %lld s; does its %s hang?",
		hb->name, hb->kind, hb->number, (long long)(now - hb->since) / 1000,
		hb->suspect);
}

static void beat(struct loop_timer *timer)
{
	int64_t now = loop_now();
	struct heartbeat *hb;

	LIST_FOREACH(hb, &watchdog.threads, entry)
		check(hb, now);
	if (!LIST_EMPTY(&watchdog.threads))
		loop_timer_start(timer, BEAT_MS);
}

/**
 * watchdog_start - tell systemd from now on that the loop turns, if it wants to know
 */
void watchdog_start(void)
{
	uint64_t us = 0;

	if (sd_watchdog_enabled(0, &us) <= 0)
		return;
	/* early enough, even if one turn of the loop is a long one */
	watchdog.notify_ms = (int64_t)(us / 4000);
	if (watchdog.notify_ms < 1)
		watchdog.notify_ms = 1;
	notify(&watchdog.notify);
}

/**
 * watchdog_stop - the loop will not turn any more, and that is as it should be
 */
void watchdog_stop(void)
{
	loop_timer_stop(&watchdog.beat);
	loop_timer_stop(&watchdog.notify);
	if (watchdog.notify_ms)
		sd_notify(0, "WATCHDOG_USEC=0");
	watchdog.notify_ms = 0;
}

/**
 * watchdog_add - watch a thread
 * @hb: @name, @kind, @number, @suspect and @ask are set, the rest is zero
 *
 * In the loop.
 */
void watchdog_add(struct heartbeat *hb)
{
	if (LIST_EMPTY(&watchdog.threads))
		loop_timer_start(&watchdog.beat, BEAT_MS);
	LIST_INSERT_HEAD(&watchdog.threads, hb, entry);
	hb->watched = true;
}

/**
 * watchdog_del - watch a thread no more
 * @hb: as given to watchdog_add(), and then the thread may still answer; or zeroed
 *
 * In the loop.
 */
void watchdog_del(struct heartbeat *hb)
{
	if (!hb->watched)
		return;
	LIST_REMOVE(hb, entry);
	hb->watched = false;
	if (LIST_EMPTY(&watchdog.threads))
		loop_timer_stop(&watchdog.beat);
}

/**
 * watchdog_answer - say that a thread is alive
 * @hb: of the calling thread, which was asked
 */
void watchdog_answer(struct heartbeat *hb)
{
	atomic_store(&hb->asked, false);
}
