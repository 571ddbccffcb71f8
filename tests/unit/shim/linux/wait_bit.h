/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests use of it they have themselves. */
#ifndef SHIM_LINUX_WAIT_BIT_H
#define SHIM_LINUX_WAIT_BIT_H

#endif
