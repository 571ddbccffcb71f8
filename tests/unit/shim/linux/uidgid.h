/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests use what is in linux/key.h. */
#ifndef SHIM_LINUX_UIDGID_H
#define SHIM_LINUX_UIDGID_H

#endif
