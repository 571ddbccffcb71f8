/* SPDX-License-Identifier: GPL-2.0-only */
/* For one thread only: taking a lock twice would be a deadlock. */
#ifndef SHIM_LINUX_SPINLOCK_H
#define SHIM_LINUX_SPINLOCK_H

#include <assert.h>
#include <linux/types.h>

struct shim_spinlock {
	bool held;
};

#define spinlock_t	struct shim_spinlock

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static inline void spin_lock_bh(spinlock_t *lock)
{
	assert(!lock->held);
	lock->held = true;
}

static inline void spin_unlock_bh(spinlock_t *lock)
{
	assert(lock->held);
	lock->held = false;
}

/* Works for a mutex, too. */
#define lockdep_assert_held(l)	\
	assert(((const struct shim_spinlock *)(const void *)(l))->held)

#endif
