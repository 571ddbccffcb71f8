/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_KREF_H
#define SHIM_LINUX_KREF_H

struct kref {
	int refcount;
};

#endif
