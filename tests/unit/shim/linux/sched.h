/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_SCHED_H
#define SHIM_LINUX_SCHED_H

static inline void cond_resched(void)
{
}

#endif
