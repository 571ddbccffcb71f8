// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes that come with the write.
 *
 * Who writes and then flushes, again and again, as a database does, waits for two round
 * trips each time. So when some FLUSHes in a row had a single small write each, the next
 * write that comes alone is sent as one that must be durable when it ends, and the FLUSH
 * behind it finds nothing to do: it is not sent at all. If none comes, one write was slower
 * than it had to be, and none is sent so before the next FLUSH. When one fails it is sent
 * again as what it was asked for, and none is sent so before there have been such FLUSHes
 * anew.
 *
 * When there is nothing to flush
 *
 * "unflushed" is set before a write that is not durable ends. A flush clears it when it
 * begins and sets it again before it ends when it fails. So there is nothing to flush when
 * it is clear and was not cleared by a flush that has not ended:
 *
 *	a flush			who wants another
 *	"begun" is one more		"begun"? n
 *	full barrier			"done"? n, too: none is under way
 *	"unflushed" is cleared		"unflushed"? no
 *	...				"begun"? still n: none has cleared
 *	if it fails: it is set		that since the first look
 *	full barrier
 *	"done" is one more
 *
 * with a read barrier between each two on the right.
 *
 * This is about what the session has written. What was written before, by another disk or
 * a daemon that was killed, is durable when a flush has succeeded. What others write to a
 * shared export is nobody's to know, so all is sent there.
 */
#include "flush_ahead.h"
#include "request.h"

#define RDMABLK_FLUSH_AHEAD_SINGLES	4		/* until the next is expected */
#define RDMABLK_FLUSH_AHEAD_BYTES	(64U << 10)	/* of a write that is sent so, at most */

/**
 * rdmablk_flush_ahead_start() - a session begins
 * @path: not live; no flush is under way
 * @shared: others may write the export, too
 */
void rdmablk_flush_ahead_start(struct rdmablk_path *path, bool shared)
{
	path->ahead.shared = shared;
	path->ahead.flushed = false;
	atomic_set(&path->ahead.done, atomic_read(&path->ahead.begun));
}

/**
 * rdmablk_flush_ahead_expects() - whether a write that comes now should be durable when it ends
 * @path: with a cache
 * @bytes: of the write
 *
 * Context: any.
 *
 * Return: whether.
 */
bool rdmablk_flush_ahead_expects(const struct rdmablk_path *path, u32 bytes)
{
	const struct rdmablk_flush_ahead *a = &path->ahead;

	return READ_ONCE(a->singles) == RDMABLK_FLUSH_AHEAD_SINGLES && !READ_ONCE(a->recent) &&
	       bytes <= RDMABLK_FLUSH_AHEAD_BYTES && a->flushed && !a->shared;
}

/**
 * rdmablk_flush_ahead_write() - a write is sent that nobody has asked to be durable
 * @path: with a cache
 *
 * Many of them in a row only read here. Context: any.
 */
void rdmablk_flush_ahead_write(struct rdmablk_path *path)
{
	u8 recent = READ_ONCE(path->ahead.recent);

	if (recent < 2)
		WRITE_ONCE(path->ahead.recent, recent + 1);
}

/**
 * rdmablk_flush_ahead_flush() - there is a FLUSH
 * @path: with a cache
 *
 * Context: any.
 */
void rdmablk_flush_ahead_flush(struct rdmablk_path *path)
{
	struct rdmablk_flush_ahead *a = &path->ahead;
	u8 recent = READ_ONCE(a->recent), singles = READ_ONCE(a->singles);

	if (recent > 1)
		WRITE_ONCE(a->singles, 0);
	else if (recent && singles < RDMABLK_FLUSH_AHEAD_SINGLES)
		WRITE_ONCE(a->singles, singles + 1);
	if (recent)
		WRITE_ONCE(a->recent, 0);
}

/**
 * rdmablk_flush_ahead_failed() - a write that was sent to be durable unasked has failed
 * @path: path
 *
 * It is not expected to be durable when it comes again, whatever FLUSHes succeed until
 * then; and the next FLUSH is sent, for what came of it is not known. Context: any.
 */
void rdmablk_flush_ahead_failed(struct rdmablk_path *path)
{
	WRITE_ONCE(path->ahead.flushed, false);
	WRITE_ONCE(path->ahead.singles, 0);
}

/* The rest of what who wants another does, after its first look at "begun". */
static bool rdmablk_flush_ahead_nothing_since(const struct rdmablk_path *path, int begun)
{
	const struct rdmablk_flush_ahead *a = &path->ahead;

	/* As all of these: see the top of the file. */
	smp_rmb();
	if (atomic_read(&a->done) != begun)
		return false;
	/* None is under way; what it has left is seen. */
	smp_rmb();
	if (READ_ONCE(path->unflushed))
		return false;
	/* If that was cleared since, "begun" says so. */
	smp_rmb();
	return atomic_read(&a->begun) == begun;
}

/**
 * rdmablk_flush_ahead_is_clean() - whether there is nothing to flush
 * @path: live
 *
 * Context: any.
 *
 * Return: whether.
 */
bool rdmablk_flush_ahead_is_clean(const struct rdmablk_path *path)
{
	const struct rdmablk_flush_ahead *a = &path->ahead;
	int begun = atomic_read(&a->begun);

	return READ_ONCE(a->flushed) && !a->shared &&
	       rdmablk_flush_ahead_nothing_since(path, begun);
}

/**
 * rdmablk_flush_ahead_is_settled() - whether no write of the session waits for a flush, nor for
 *	the end of one
 * @path: live
 *
 * "unflushed" alone does not say so: a flush that is under way has cleared it.
 *
 * Context: any.
 *
 * Return: whether.
 */
bool rdmablk_flush_ahead_is_settled(const struct rdmablk_path *path)
{
	return rdmablk_flush_ahead_nothing_since(path, atomic_read(&path->ahead.begun));
}

/**
 * rdmablk_flush_ahead_begin() - a flush begins: what is written from here on is not its own
 * @path: live
 *
 * Context: any.
 *
 * Return: what was unflushed, for rdmablk_flush_ahead_end().
 */
bool rdmablk_flush_ahead_begin(struct rdmablk_path *path)
{
	atomic_inc(&path->ahead.begun);
	/* See the top of the file. */
	smp_mb();
	return xchg(&path->unflushed, false);
}

/**
 * rdmablk_flush_ahead_end() - a flush has ended, before anybody is told
 * @path: path
 * @was_unflushed: from rdmablk_flush_ahead_begin()
 * @ok: it has succeeded
 *
 * Context: any.
 */
void rdmablk_flush_ahead_end(struct rdmablk_path *path, bool was_unflushed, bool ok)
{
	WRITE_ONCE(path->ahead.flushed, ok);
	if (!ok && was_unflushed)
		WRITE_ONCE(path->unflushed, true);
	/* See the top of the file. */
	smp_mb();
	atomic_inc(&path->ahead.done);
}
