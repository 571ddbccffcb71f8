/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests that need this have definitions of their own. */
#ifndef SHIM_LINUX_SCHED_MM_H
#define SHIM_LINUX_SCHED_MM_H

#endif
