/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An export with an arena, for the tests of its commands thread. That thread, the store thread
 * and the loop, which the test runs, are real. The adapter is fake_verbs.h, and the test has
 * the store.
 */
#ifndef TARGET_CMDQ_H
#define TARGET_CMDQ_H

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/base/loop.h"
#include "../../target/base/util.h"
#include "../../target/session/cmdq.h"
#include "fake_verbs.h"

#define PATIENCE_MS	60000

static struct iothread_pool *pool;
static struct store store;
static struct device dev = { .attr.max_cqe = FAKE_CQES };

static inline void give_up(struct loop_timer *timer)
{
	(void)timer;
	loop_stop();
}

/* Runs the loop until an upcall has set @what and stopped the loop. */
static inline void hear_of(const bool *what)
{
	struct loop_timer limit = { .expired = give_up };

	loop_timer_start(&limit, PATIENCE_MS);
	while (!*what && limit.armed)
		assert_int_equal(loop_run(), 0);
	loop_timer_stop(&limit);
	assert_true(*what);
}

static inline int export_start(const struct store_ops *ops)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	store.ops = ops;
	if (loop_init() || store_thread_start(&store))
		return -1;
	pool = iothread_pool_start("unit", NULL, 1, lane_turn);
	if (!pool)
		return -1;
	iothread_pool_attach(pool);
	return 0;
}

/* Return: how many objects of verbs are left */
static inline int export_stop(void)
{
	store_thread_stop(&store);
	iothread_pool_detach(pool);
	iothread_pool_stop(pool);
	loop_exit();
	return (int)fake_objects();
}

#endif
