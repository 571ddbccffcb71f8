// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a login waits, and how long the pause after a failed one is.
 * PURE: the unit tests compile this file.
 *
 * After a link has flapped all disks of a host, and of other hosts, log in at once, and the
 * target serves them one after the other. A login that is served slowly must not give up
 * what it has, because the next try would begin with nothing and make the others slower.
 * So each step that succeeds gives the login its time again; a try that ends for want of
 * time makes the next one more patient; and a target that is slow gets longer pauses.
 *
 * A target that is away is another matter: it is back when it answers, and the disk should
 * be, too. The pauses after such tries are reconnect_delay at most.
 */
#include <linux/kernel.h>
#include "patience.h"

/* Doublings of a time that a late join may cost: 1 s becomes more than any connect_tmo. */
#define RDMABLK_JOIN_DOUBLINGS	10U

/* Pauses begin with reconnect_delay >> 4, and grow to reconnect_delay << 3. */
#define RDMABLK_PAUSE_SHIFT	5U
#define RDMABLK_PAUSE_DOUBLINGS	3U

/**
 * rdmablk_patience_login() - time for a whole login, however much progress it makes
 * @connect_ms: time without progress that ends it, milliseconds
 * @joins: data queues that may join
 *
 * A peer that does one step whenever the time is nearly over cannot go on for ever.
 *
 * Return: milliseconds.
 */
u64 rdmablk_patience_login(u32 connect_ms, u32 joins)
{
	return (u64)connect_ms * (2 + DIV_ROUND_UP(joins, RDMABLK_JOINS));
}

/**
 * rdmablk_patience_control() - time for the control queue to connect, in a login that is
 *	not the first
 * @delay_ms: reconnect_delay, milliseconds
 * @failed: tries in a row that have failed
 *
 * The first try ends early: the connection may have been lost because the device or the
 * address is another one. After that the answer may come as late as rdma_cm's second
 * request makes it; who waits notices by other means that the target is back.
 *
 * Return: milliseconds.
 */
u32 rdmablk_patience_control(u32 delay_ms, u32 failed)
{
	return failed ? max(delay_ms, 2 * RDMABLK_CM_RESPONSE_MS) : delay_ms;
}

/**
 * rdmablk_patience_join() - time without progress of any join that ends a login which is
 *	not the first
 * @delay_ms: reconnect_delay, milliseconds
 * @late: tries in a row that have ended so
 *
 * It doubles with every other of these: where packets get lost, that may happen twice.
 *
 * Return: milliseconds.
 */
u64 rdmablk_patience_join(u32 delay_ms, u32 late)
{
	return (u64)delay_ms << min(late / 2, RDMABLK_JOIN_DOUBLINGS);
}

/**
 * rdmablk_patience_pause() - from the end of a failed try to the start of the next
 * @delay_ms: reconnect_delay, milliseconds
 * @tries: in a row that have failed, this one included
 * @late: how many of them the target was reached, but did not let all queues join in time
 * @chance: a random number
 *
 * Up to half of a pause is left to chance: the disks of many hosts that have lost the same
 * link must not come back at the same moments.
 *
 * Return: milliseconds.
 */
u32 rdmablk_patience_pause(u32 delay_ms, u32 tries, u32 late, u32 chance)
{
	u64 pause = delay_ms;

	if (tries < RDMABLK_PAUSE_SHIFT)
		pause >>= RDMABLK_PAUSE_SHIFT - max(tries, 1U);
	else if (late >= RDMABLK_PAUSE_SHIFT)
		pause <<= min(late - RDMABLK_PAUSE_SHIFT + 1, RDMABLK_PAUSE_DOUBLINGS);
	pause -= chance % (pause / 2 + 1);
	return max_t(u64, pause, RDMABLK_MIN_PAUSE_MS);
}
