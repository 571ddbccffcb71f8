// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dirty granules of an export: set when a WRITE completes, taken by a flush, put back when
 * the flush fails. PURE: bit operations and memory only, so that unit tests can build it.
 *
 * Invariant: a granule that has been written and may not be durable has its bit in @dirty
 * or in @flushing. rdmablk_dirty_set() runs in any context, on any number of CPUs, beside
 * everything else. One context at a time runs the functions of a flush, from begin to done
 * or restore.
 *
 * A flush does, in this order:
 *
 *	begin		takes all bits that are set
 *	(fences)	fences each queue on which a WRITE has completed
 *	next ...	returns the ranges of the taken bits
 *	done or restore
 *
 * A bit must not be taken after its queue was fenced: the WRITE may have completed after the
 * fence, and the flush would forget a range that the target's CPU may not see yet. So begin
 * takes all bits at once, and next takes none.
 *
 * Memory order. The flush looks at a group only if the group is in the summary. So when a
 * setter has returned, its bit must not be in @dirty while the group is not in the summary:
 *
 *	setter				flush
 *	bit is set, now or before	removes group from the summary, xchg()
 *	smp_mb()			(xchg() is a full barrier)
 *	group is in the summary?	bit is set?
 *	if not: adds it
 *
 * With a barrier on each side at least one of the two sees what the other did: the setter
 * sees that the group is gone, or the flush sees that the bit is set. The setter needs a
 * full barrier and must check the summary even if the bit was set already: the other setter
 * of that bit may not have reached the summary yet when this setter returns.
 *
 * The setter's other barrier comes before it looks at the bit, and pairs with the barrier
 * at the end of begin. A flush that takes a bit thus sees what each of its setters, also
 * one that found the bit set, has written before: that its queue must be fenced.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "dirty.h"

#define RDMABLK_DIRTY_MAX_GRANULES	BIT(28)	/* 32 MiB per bitmap */
#define RDMABLK_GROUP_WORDS		64
#define RDMABLK_GROUP_GRANULES		(RDMABLK_GROUP_WORDS * BITS_PER_LONG)

/* The number of words of a bitmap, rounded up to whole groups */
static unsigned long rdmablk_dirty_words(const struct rdmablk_dirty *d)
{
	return d->groups * RDMABLK_GROUP_WORDS;
}

/**
 * rdmablk_dirty_init() - allocate the bitmaps, with no bit set
 * @d: dirty granules, uninitialized
 * @bytes: size of the export
 * @granule: bytes, a power of two
 *
 * Return: 0; -ENOMEM; -EFBIG: more than RDMABLK_DIRTY_MAX_GRANULES granules. After an error
 * there is nothing to free, and rdmablk_dirty_exit() may be called.
 */
int rdmablk_dirty_init(struct rdmablk_dirty *d, u64 bytes, u32 granule)
{
	unsigned long words, sums;
	u64 granules;

	*d = (struct rdmablk_dirty) {
		.bytes	= bytes,
		.shift	= ilog2(granule),
	};
	granules = ((bytes - 1) >> d->shift) + 1;
	if (granules > RDMABLK_DIRTY_MAX_GRANULES)
		return -EFBIG;
	d->granules = granules;
	d->groups = DIV_ROUND_UP(d->granules, RDMABLK_GROUP_GRANULES);
	words = rdmablk_dirty_words(d);
	sums = BITS_TO_LONGS(d->groups);
	d->dirty = kvcalloc(words, sizeof(*d->dirty), GFP_KERNEL);
	d->dirty_groups = kvcalloc(sums, sizeof(*d->dirty_groups), GFP_KERNEL);
	d->flushing = kvcalloc(words, sizeof(*d->flushing), GFP_KERNEL);
	d->flushing_groups = kvcalloc(sums, sizeof(*d->flushing_groups), GFP_KERNEL);
	if (d->dirty && d->dirty_groups && d->flushing && d->flushing_groups)
		return 0;
	rdmablk_dirty_exit(d);
	return -ENOMEM;
}

/**
 * rdmablk_dirty_exit() - free the bitmaps
 * @d: dirty granules; may be freed already, or zero
 */
void rdmablk_dirty_exit(struct rdmablk_dirty *d)
{
	kvfree(d->dirty);
	kvfree(d->dirty_groups);
	kvfree(d->flushing);
	kvfree(d->flushing_groups);
	*d = (struct rdmablk_dirty) { };
}

/**
 * rdmablk_dirty_grow() - adapt to a new size of the export
 * @d: dirty granules; no other context uses them
 * @bytes: new size; no bit is set beyond it
 *
 * Keeps all bits, also those of a flush under way. @bytes may be less than before, if an
 * earlier login has grown the bitmaps and then failed.
 *
 * Return: as rdmablk_dirty_init(); after an error @d is unchanged.
 */
int rdmablk_dirty_grow(struct rdmablk_dirty *d, u64 bytes)
{
	unsigned long words = rdmablk_dirty_words(d), sums = BITS_TO_LONGS(d->groups);
	struct rdmablk_dirty n;
	int ret;

	if ((bytes - 1) >> d->shift < d->granules) {
		d->bytes = bytes;
		return 0;
	}
	ret = rdmablk_dirty_init(&n, bytes, 1U << d->shift);
	if (ret)
		return ret;
	memcpy(n.dirty, d->dirty, words * sizeof(*n.dirty));
	memcpy(n.dirty_groups, d->dirty_groups, sums * sizeof(*n.dirty_groups));
	memcpy(n.flushing, d->flushing, words * sizeof(*n.flushing));
	memcpy(n.flushing_groups, d->flushing_groups, sums * sizeof(*n.flushing_groups));
	n.cursor = d->cursor;
	rdmablk_dirty_exit(d);
	*d = n;
	return 0;
}

/* Sets granules @first to @last, which are in one group. */
static void rdmablk_dirty_set_group(struct rdmablk_dirty *d, unsigned long first,
				    unsigned long last)
{
	unsigned long group = first / RDMABLK_GROUP_GRANULES;
	unsigned long i, mask;

	for (i = first / BITS_PER_LONG; i <= last / BITS_PER_LONG; i++) {
		mask = ~0UL;
		if (i == first / BITS_PER_LONG)
			mask &= BITMAP_FIRST_WORD_MASK(first);
		if (i == last / BITS_PER_LONG)
			mask &= BITMAP_LAST_WORD_MASK(last + 1);
		if (mask & ~atomic_long_read(&d->dirty[i]))
			atomic_long_or(mask, &d->dirty[i]);
	}
	/* Bits before the summary; pairs with xchg() in rdmablk_dirty_begin(). */
	smp_mb();
	if (!test_bit(group, d->dirty_groups))
		set_bit(group, d->dirty_groups);
}

/**
 * rdmablk_dirty_set() - a WRITE has completed
 * @d: dirty granules
 * @pos: first byte
 * @bytes: number of bytes, not 0; within the export
 *
 * Called before the request ends, in any context. When the rdmablk_dirty_begin() that takes
 * the bits returns, its context sees what this caller has written before this call.
 */
void rdmablk_dirty_set(struct rdmablk_dirty *d, u64 pos, u64 bytes)
{
	unsigned long first = pos >> d->shift, last = (pos + bytes - 1) >> d->shift, end;

	/* The caller's stores before the bits; pairs with the end of rdmablk_dirty_begin(). */
	smp_mb();
	for (; first <= last; first = end + 1) {
		end = first | (RDMABLK_GROUP_GRANULES - 1);
		end = min_t(unsigned long, end, last);
		rdmablk_dirty_set_group(d, first, end);
	}
}

static void rdmablk_dirty_take(struct rdmablk_dirty *d, unsigned long group)
{
	unsigned long i = group * RDMABLK_GROUP_WORDS, end = i + RDMABLK_GROUP_WORDS;
	long word;

	for (; i < end; i++) {
		word = atomic_long_read(&d->dirty[i]);
		if (!word)
			continue;
		/* Bits set after this read stay, and their setters add the group again. */
		WRITE_ONCE(d->flushing[i], d->flushing[i] | word);
		atomic_long_andnot(word, &d->dirty[i]);
	}
}

/**
 * rdmablk_dirty_begin() - a flush takes all bits that are set
 * @d: dirty granules
 *
 * A bit that is set meanwhile goes to this flush or to the next. If an earlier flush was
 * neither done nor restored, its bits become part of this one. Process context: the
 * function calls cond_resched().
 */
void rdmablk_dirty_begin(struct rdmablk_dirty *d)
{
	unsigned long sum, groups, bit;

	d->cursor = 0;
	for (sum = 0; sum < BITS_TO_LONGS(d->groups); sum++) {
		if (!READ_ONCE(d->dirty_groups[sum]))
			continue;
		/* The summary before the bits; pairs with rdmablk_dirty_set_group(). */
		groups = xchg(&d->dirty_groups[sum], 0);
		WRITE_ONCE(d->flushing_groups[sum], d->flushing_groups[sum] | groups);
		for_each_set_bit(bit, &groups, BITS_PER_LONG)
			rdmablk_dirty_take(d, sum * BITS_PER_LONG + bit);
		cond_resched();
	}
	/* The bits before their setters' earlier stores; pairs with rdmablk_dirty_set(). */
	smp_mb();
}

/* Return: the first granule of the flush at or after @from; @d->granules: none is left. */
static unsigned long rdmablk_dirty_find(const struct rdmablk_dirty *d, unsigned long from)
{
	unsigned long group, end, bit;

	while (from < d->granules) {
		group = from / RDMABLK_GROUP_GRANULES;
		if (!test_bit(group, d->flushing_groups)) {
			from = find_next_bit(d->flushing_groups, d->groups, group) *
			       RDMABLK_GROUP_GRANULES;
			continue;
		}
		end = min_t(unsigned long, d->granules,
			    (group + 1) * RDMABLK_GROUP_GRANULES);
		bit = find_next_bit(d->flushing, end, from);
		if (bit < end)
			return bit;
		from = end;
	}
	return d->granules;
}

/**
 * rdmablk_dirty_next() - return the next ranges of the flush
 * @d: dirty granules
 * @out: result, in the format of a DIRTY command
 * @max: size of @out, not 0
 *
 * The ranges are in order and do not touch each other. They begin and end at granules, or
 * at the end of the export.
 *
 * Return: number of ranges; less than @max: these are the last.
 */
unsigned int rdmablk_dirty_next(struct rdmablk_dirty *d, struct rdmablk_range *out,
				unsigned int max)
{
	unsigned long first, end;
	unsigned int n;
	u64 from, to;

	for (n = 0; n < max; n++) {
		first = rdmablk_dirty_find(d, d->cursor);
		d->cursor = first;
		if (first == d->granules)
			break;
		end = find_next_zero_bit(d->flushing, d->granules, first);
		d->cursor = end;
		from = (u64)first << d->shift;
		to = min_t(u64, (u64)end << d->shift, d->bytes);
		out[n].offset = cpu_to_le64(from);
		out[n].bytes = cpu_to_le64(to - from);
	}
	return n;
}

/* Clears a group of @flushing; with @restore its bits go back to @dirty. */
static void rdmablk_dirty_empty(struct rdmablk_dirty *d, unsigned long group, bool restore)
{
	unsigned long i = group * RDMABLK_GROUP_WORDS, end = i + RDMABLK_GROUP_WORDS;

	for (; i < end; i++) {
		if (!d->flushing[i])
			continue;
		if (restore)
			atomic_long_or(d->flushing[i], &d->dirty[i]);
		WRITE_ONCE(d->flushing[i], 0);
	}
	/* No barrier: only this context, or one ordered after it, looks for restored bits. */
	if (restore)
		set_bit(group, d->dirty_groups);
}

static void rdmablk_dirty_end(struct rdmablk_dirty *d, bool restore)
{
	unsigned long sum, groups, bit;

	for (sum = 0; sum < BITS_TO_LONGS(d->groups); sum++) {
		groups = d->flushing_groups[sum];
		if (!groups)
			continue;
		for_each_set_bit(bit, &groups, BITS_PER_LONG)
			rdmablk_dirty_empty(d, sum * BITS_PER_LONG + bit, restore);
		WRITE_ONCE(d->flushing_groups[sum], 0);
		cond_resched();
	}
}

/**
 * rdmablk_dirty_done() - the flush has succeeded: forget what it took
 * @d: dirty granules; rdmablk_dirty_next() has returned all ranges
 *
 * Process context.
 */
void rdmablk_dirty_done(struct rdmablk_dirty *d)
{
	rdmablk_dirty_end(d, false);
}

/**
 * rdmablk_dirty_restore() - the flush has failed: make its bits dirty again
 * @d: dirty granules; with or without a flush under way
 *
 * Process context.
 */
void rdmablk_dirty_restore(struct rdmablk_dirty *d)
{
	rdmablk_dirty_end(d, true);
}
