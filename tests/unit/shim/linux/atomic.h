/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's atomic accesses, with its memory order or a stronger one. Accesses that have no
 * order in the kernel are relaxed here. ThreadSanitizer does not know fences, so a barrier is
 * an atomic operation on a variable of the thread's own.
 */
#ifndef SHIM_LINUX_ATOMIC_H
#define SHIM_LINUX_ATOMIC_H

#include <linux/types.h>

struct shim_atomic_long {
	long counter;
};

#define atomic_long_t	struct shim_atomic_long

/*
 * Called before each access, so that a test decides which task goes on; with NULL before each
 * full barrier.
 */
__attribute__((weak)) void (*shim_access)(const void *at);

static inline void shim_before(const void *at)
{
	if (shim_access)
		shim_access(at);
}

/* Orders stores and loads. */
static inline void smp_mb(void)
{
	static __thread int own;

	shim_before(NULL);
	__atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST);
}

/* A full barrier, whatever the order of the atomic operation before it */
static inline void smp_mb__after_atomic(void)
{
	smp_mb();	/* the caller says why */
}

/* Orders loads. It does not call shim_access(): a switch of tasks here would show nothing new. */
static inline void smp_rmb(void)
{
	static __thread int own;

	__atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST);
}

/* Orders stores, also without a call of shim_access(). */
static inline void smp_wmb(void)
{
	smp_rmb();	/* is a full barrier */
}

#define READ_ONCE(x)							\
	({ shim_before(&(x)); __atomic_load_n(&(x), __ATOMIC_RELAXED); })
#define WRITE_ONCE(x, v)						\
	({ shim_before(&(x)); __atomic_store_n(&(x), v, __ATOMIC_RELAXED); })
#define xchg(p, v)							\
	({ shim_before(p); __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); })

#define cmpxchg(p, old, v)						\
	({ typeof(*(p)) old_ = (old);					\
	   typeof(*(p)) new_ = (v);					\
	   shim_before(p);						\
	   __atomic_compare_exchange_n(p, &old_, new_, false, __ATOMIC_SEQ_CST,	\
				       __ATOMIC_SEQ_CST);		\
	   old_; })

/* Orders all accesses before it. */
#define smp_store_release(p, v)							\
	({ shim_before(p); __atomic_store_n(p, v, __ATOMIC_RELEASE); })
/* pairs with smp_store_release(), orders all accesses after it */
#define smp_load_acquire(p)							\
	({ shim_before(p); __atomic_load_n(p, __ATOMIC_ACQUIRE); })

struct shim_atomic {
	int counter;
};

#define atomic_t	struct shim_atomic

static inline int atomic_read(const atomic_t *a)
{
	return READ_ONCE(a->counter);
}

static inline int atomic_read_acquire(const atomic_t *a)
{
	return smp_load_acquire(&a->counter); /* the caller pairs it */
}

static inline void atomic_set(atomic_t *a, int v)
{
	WRITE_ONCE(a->counter, v);
}

static inline int atomic_add_return(int v, atomic_t *a)
{
	shim_before(a);
	return __atomic_add_fetch(&a->counter, v, __ATOMIC_SEQ_CST);
}

#define atomic_add(v, a)		((void)atomic_add_return(v, a))
#define atomic_sub_return(v, a)		atomic_add_return(-(v), a)
#define atomic_inc(a)			atomic_add(1, a)
#define atomic_dec(a)			atomic_add(-1, a)
#define atomic_dec_and_test(a)		(!atomic_sub_return(1, a))

static inline long atomic_long_read(const atomic_long_t *a)
{
	return READ_ONCE(a->counter);
}

static inline void atomic_long_or(long bits, atomic_long_t *a)
{
	shim_before(a);
	__atomic_fetch_or(&a->counter, bits, __ATOMIC_RELAXED);
}

static inline void atomic_long_andnot(long bits, atomic_long_t *a)
{
	shim_before(a);
	__atomic_fetch_and(&a->counter, ~bits, __ATOMIC_RELAXED);
}

#endif
