// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes that come with the write.
 *
 * A database writes and flushes again and again, and waits for two round trips each time. So
 * after a few FLUSHes in a row that each had one small write, the next lone write is sent as
 * a durable write, and the FLUSH behind it has nothing to do and is not sent at all. If no
 * FLUSH follows, that write took longer than necessary, and no other write is sent durable
 * before the next FLUSH. If a durable write fails, it is sent again as an ordinary
 * one, and no write is sent durable before a few such FLUSHes have come again.
 *
 * When there is nothing to flush
 *
 * "unflushed" is set before a write that is not durable ends. A flush clears it when it
 * begins; if the flush fails, it sets "unflushed" again before it ends. So there is nothing
 * to flush when "unflushed" is clear and no unfinished flush has cleared it:
 *
 *	a flush				a task that asks
 *	increments "begun"		reads "begun": n
 *	full barrier			reads "done": also n, so no flush is under way
 *	clears "unflushed"		reads "unflushed": clear
 *	...				reads "begun": still n, so no flush has cleared
 *	sets it again on failure	"unflushed" since the first read
 *	full barrier
 *	increments "done"
 *
 * with a read barrier between any two steps on the right.
 *
 * "unflushed" covers the writes of this session. Earlier writes, by another disk or before
 * the daemon was killed, are durable once a flush has succeeded. This host cannot know what
 * others write to a shared export, so there every FLUSH is sent.
 */
#include "flush_ahead.h"
#include "request.h"

#define RDMABLK_FLUSH_AHEAD_SINGLES	4		/* FLUSHes in a row with one write each */
#define RDMABLK_FLUSH_AHEAD_BYTES	(64U << 10)	/* largest write that is sent durable */

/**
 * rdmablk_flush_ahead_start() - a session begins
 * @path: data path, not live; no flush is under way
 * @shared: other hosts may write the export, too
 */
void rdmablk_flush_ahead_start(struct rdmablk_path *path, bool shared)
{
	path->ahead.shared = shared;
	path->ahead.flushed = false;
	atomic_set(&path->ahead.done, atomic_read(&path->ahead.begun));
}

/**
 * rdmablk_flush_ahead_expects() - whether to send the next write as a durable one
 * @path: data path, of an export with a cache
 * @bytes: size of the write
 *
 * Context: any.
 *
 * Return: true: a FLUSH is expected right behind the write.
 */
bool rdmablk_flush_ahead_expects(const struct rdmablk_path *path, u32 bytes)
{
	const struct rdmablk_flush_ahead *a = &path->ahead;

	return READ_ONCE(a->singles) == RDMABLK_FLUSH_AHEAD_SINGLES && !READ_ONCE(a->recent) &&
	       bytes <= RDMABLK_FLUSH_AHEAD_BYTES && a->flushed && !a->shared;
}

/**
 * rdmablk_flush_ahead_write() - a write is sent for which nobody has asked FUA
 * @path: data path, of an export with a cache
 *
 * From the third write in a row on this only reads, so CPUs share the cache line. Context: any.
 */
void rdmablk_flush_ahead_write(struct rdmablk_path *path)
{
	u8 recent = READ_ONCE(path->ahead.recent);

	if (recent < 2)
		WRITE_ONCE(path->ahead.recent, recent + 1);
}

/**
 * rdmablk_flush_ahead_flush() - the block layer has sent a FLUSH
 * @path: data path, of an export with a cache
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
 * rdmablk_flush_ahead_failed() - a write that was sent durable unasked has failed
 * @path: data path
 *
 * The write is not sent durable when it is sent again, whatever FLUSHes succeed until then.
 * The next FLUSH is sent, because the fate of the write is unknown. Context: any.
 */
void rdmablk_flush_ahead_failed(struct rdmablk_path *path)
{
	WRITE_ONCE(path->ahead.flushed, false);
	WRITE_ONCE(path->ahead.singles, 0);
}

/* The reads of the asking task (see the top of the file) after its first read of "begun" */
static bool rdmablk_flush_ahead_nothing_since(const struct rdmablk_path *path, int begun)
{
	const struct rdmablk_flush_ahead *a = &path->ahead;

	/* The read barriers of the table at the top of the file */
	smp_rmb();
	if (atomic_read(&a->done) != begun)
		return false;
	/* No flush is under way, and the result of the last one is visible. */
	smp_rmb();
	if (READ_ONCE(path->unflushed))
		return false;
	/* If a flush has cleared "unflushed" since, "begun" has changed. */
	smp_rmb();
	return atomic_read(&a->begun) == begun;
}

/**
 * rdmablk_flush_ahead_is_clean() - whether there is nothing to flush
 * @path: data path, live
 *
 * Context: any.
 *
 * Return: true: a FLUSH need not be sent.
 */
bool rdmablk_flush_ahead_is_clean(const struct rdmablk_path *path)
{
	const struct rdmablk_flush_ahead *a = &path->ahead;
	int begun = atomic_read(&a->begun);

	return READ_ONCE(a->flushed) && !a->shared &&
	       rdmablk_flush_ahead_nothing_since(path, begun);
}

/**
 * rdmablk_flush_ahead_is_settled() - whether no write of the session waits for a flush, or
 *	for the end of one
 * @path: data path, live
 *
 * "unflushed" alone does not tell: a flush that is under way has cleared it.
 *
 * Context: any.
 *
 * Return: true: no write waits.
 */
bool rdmablk_flush_ahead_is_settled(const struct rdmablk_path *path)
{
	return rdmablk_flush_ahead_nothing_since(path, atomic_read(&path->ahead.begun));
}

/**
 * rdmablk_flush_ahead_begin() - a flush begins; it does not cover writes from here on
 * @path: data path, live
 *
 * Context: any.
 *
 * Return: the value of "unflushed" before, for rdmablk_flush_ahead_end().
 */
bool rdmablk_flush_ahead_begin(struct rdmablk_path *path)
{
	atomic_inc(&path->ahead.begun);
	/* See the top of the file. */
	smp_mb();
	return xchg(&path->unflushed, false);
}

/**
 * rdmablk_flush_ahead_end() - a flush has ended; called before its requests end
 * @path: data path
 * @was_unflushed: from rdmablk_flush_ahead_begin()
 * @ok: the flush has succeeded
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
