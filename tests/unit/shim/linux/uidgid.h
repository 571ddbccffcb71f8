/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests use of it is in linux/key.h. */
#ifndef SHIM_LINUX_UIDGID_H
#define SHIM_LINUX_UIDGID_H

#endif
