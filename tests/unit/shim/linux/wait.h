/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_WAIT_H
#define SHIM_LINUX_WAIT_H

struct shim_wait {
	char none;
};

#define wait_queue_head_t	struct shim_wait

#endif
