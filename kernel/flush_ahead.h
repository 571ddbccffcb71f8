/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flushes that come with the write.
 */
#ifndef RDMABLK_FLUSH_AHEAD_H
#define RDMABLK_FLUSH_AHEAD_H

#include <linux/atomic.h>
#include <linux/types.h>

struct rdmablk_path;

/**
 * struct rdmablk_flush_ahead - see the top of flush_ahead.c
 * @flushed: the last flush of this session has succeeded, and no write that was sent durable
 *	unasked has failed since
 * @shared: other hosts may write the export, too
 * @recent: number of writes since the last FLUSH, 2 at most; a hint, not exact
 * @singles: number of FLUSHes in a row with one write each; a hint, not exact
 * @begun: number of flushes that have begun
 * @done: number of flushes that have ended; a flush that a lost connection has ended is
 *	counted when the next session begins
 */
struct rdmablk_flush_ahead {
	bool flushed;
	bool shared;
	u8 recent;
	u8 singles;
	atomic_t begun;
	atomic_t done;
};

void rdmablk_flush_ahead_start(struct rdmablk_path *path, bool shared);
bool rdmablk_flush_ahead_expects(const struct rdmablk_path *path, u32 bytes);
void rdmablk_flush_ahead_write(struct rdmablk_path *path);
void rdmablk_flush_ahead_flush(struct rdmablk_path *path);
void rdmablk_flush_ahead_failed(struct rdmablk_path *path);
bool rdmablk_flush_ahead_is_clean(const struct rdmablk_path *path);
bool rdmablk_flush_ahead_is_settled(const struct rdmablk_path *path);
bool rdmablk_flush_ahead_begin(struct rdmablk_path *path);
void rdmablk_flush_ahead_end(struct rdmablk_path *path, bool was_unflushed, bool ok);

#endif /* RDMABLK_FLUSH_AHEAD_H */
