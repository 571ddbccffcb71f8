// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a login waits, and how long the pause after a failed login is.
 * PURE: the unit tests compile this file.
 *
 * After a link has flapped, all disks of this host and of others log in at once, and the
 * target serves them one after the other. A login that is served slowly must not give up the
 * queues that it has: the next try would begin with nothing and make the others slower. So
 * each successful step restarts the login's time; a try that runs out of time makes the next
 * one more patient; and a slow target gets longer pauses.
 *
 * If the target is away, the disk should be back as soon as the target answers again. The
 * pauses after such tries are at most reconnect_delay.
 */
#include <linux/kernel.h>
#include "patience.h"

/* Most doublings of a join's time: 1 s becomes more than any connect_tmo. */
#define RDMABLK_JOIN_DOUBLINGS	10U

/* Pauses begin with reconnect_delay >> 4 and grow up to reconnect_delay << 3. */
#define RDMABLK_PAUSE_SHIFT	5U
#define RDMABLK_PAUSE_DOUBLINGS	3U

/**
 * rdmablk_patience_login() - time for a whole login, however much progress it makes
 * @connect_ms: time without progress that ends the login, milliseconds
 * @joins: number of data queues that may join
 *
 * The limit stops a peer that completes one step whenever the time is nearly over.
 *
 * Return: milliseconds.
 */
u64 rdmablk_patience_login(u32 connect_ms, u32 joins)
{
	return (u64)connect_ms * (2 + DIV_ROUND_UP(joins, RDMABLK_JOINS));
}

/**
 * rdmablk_patience_control() - time for the control queue to connect, in a reconnect
 * @delay_ms: reconnect_delay, milliseconds
 * @failed: number of failed tries in a row
 *
 * The first try ends early: the connection may have been lost because the device or the
 * address has changed. Later tries allow for an answer to rdma_cm's second request; probes
 * (probe.c) notice sooner that the target is back.
 *
 * Return: milliseconds.
 */
u32 rdmablk_patience_control(u32 delay_ms, u32 failed)
{
	return failed ? max(delay_ms, 2 * RDMABLK_CM_RESPONSE_MS) : delay_ms;
}

/**
 * rdmablk_patience_join() - time without progress of any join that ends a reconnect
 * @delay_ms: reconnect_delay, milliseconds
 * @late: number of tries in a row that have ended so
 *
 * The time doubles with every second late try: if packets get lost, two late tries may be
 * chance.
 *
 * Return: milliseconds.
 */
u64 rdmablk_patience_join(u32 delay_ms, u32 late)
{
	return (u64)delay_ms << min(late / 2, RDMABLK_JOIN_DOUBLINGS);
}

/**
 * rdmablk_patience_pause() - pause from the end of a failed try to the start of the next
 * @delay_ms: reconnect_delay, milliseconds
 * @tries: number of failed tries in a row, this one included
 * @late: number of those that reached the target, but whose queues did not all join in time
 * @chance: a random number
 *
 * Up to half of the pause is random: the disks of many hosts that have lost the same link
 * must not come back at the same moments.
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
