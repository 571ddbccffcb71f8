/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests that need this have definitions of their own. */
#ifndef SHIM_LINUX_DELAY_H
#define SHIM_LINUX_DELAY_H

#endif
