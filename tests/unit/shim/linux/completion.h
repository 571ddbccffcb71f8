/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_COMPLETION_H
#define SHIM_LINUX_COMPLETION_H

#include <linux/types.h>

struct completion {
	unsigned int done;
};

static inline void init_completion(struct completion *c)
{
	c->done = 0;
}

#define reinit_completion	init_completion

static inline void complete(struct completion *c)
{
	c->done++;
}

/* The test defines it: the world goes on until @c is done, or nothing happens any more. */
unsigned long wait_for_completion_timeout(struct completion *c, unsigned long timeout);

#endif
