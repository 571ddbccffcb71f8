/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_MUTEX_H
#define SHIM_LINUX_MUTEX_H

#include <linux/spinlock.h>

struct mutex {
	spinlock_t lock;	/* must be first, see lockdep_assert_held() */
};

#define mutex_init(m)		spin_lock_init(&(m)->lock)
#define mutex_lock(m)		spin_lock_bh(&(m)->lock)
#define mutex_unlock(m)		spin_unlock_bh(&(m)->lock)

#endif
