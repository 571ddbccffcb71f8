/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cached file, as the store thread and the loop use it
 */
#ifndef TARGET_FULL_H
#define TARGET_FULL_H

#include "../../target/base/util.h"
#include "../../target/store/full.h"
#include "target_files.h"

static struct export_config full_ec;

/* Configuration of the next open; the test may change fields before it. */
static inline struct export_config *full_config(const char *path)
{
	full_ec = (struct export_config){
		.name = "d", .file = (char *)path, .cache = CACHE_FULL, .block = 512,
	};
	return &full_ec;
}

static inline int full_open(struct store *s, const struct export_config *ec)
{
	int ret;

	full_end_pause_ms = 1;
	*s = (struct store){ .ops = &store_full_ops };
	ret = s->ops->open(s, ec);
	return ret ?: s->ops->publish(s);
}

static inline void full_close(struct store *s)
{
	s->ops->close(s);
}

static inline char *full_at(struct store *s, uint64_t offset)
{
	return (char *)s->base + offset;
}

/* Writes to the arena as an adapter does: the daemon does not learn of it. */
static inline void full_rdma(struct store *s, uint64_t offset, size_t bytes,
			     unsigned int seed)
{
	files_pattern(full_at(s, offset), offset, bytes, seed);
}

static inline bool full_has(struct store *s, uint64_t offset, size_t bytes,
			    unsigned int seed)
{
	char *want = malloc(bytes);
	bool same;

	files_pattern(want, offset, bytes, seed);
	same = !memcmp(want, full_at(s, offset), bytes);
	free(want);
	return same;
}

static inline bool full_is_zero(struct store *s, uint64_t offset, size_t bytes)
{
	const char *p = full_at(s, offset);

	return !*p && !memcmp(p, p + 1, bytes - 1);
}

static inline struct bitmap full_dirty(const struct store *s)
{
	struct store_limits limits;
	struct bitmap b;

	s->ops->limits(s, &limits);
	assert_int_equal(bitmap_init(&b, round_up(s->size, limits.granule) /
				     limits.granule), 0);
	return b;
}

/* Notes a range as a session does for DIRTY. */
static inline void full_note(struct store *s, struct bitmap *b, uint64_t offset,
			     uint64_t bytes)
{
	uint64_t granule = full_of(s)->granule, first = offset / granule;

	bitmap_set(b, first, round_up(offset + bytes, granule) / granule - first);
}

static inline unsigned int full_do(struct store *s, uint16_t op, uint16_t flags,
				   uint64_t offset, uint64_t bytes,
				   struct bitmap *dirty)
{
	struct store_works works = TAILQ_HEAD_INITIALIZER(works);
	struct store_work w = { .op = op, .flags = flags, .dirty = dirty };
	struct bitmap own = { 0 };

	if (op != RDMABLK_OP_FLUSH) {
		w.offset = offset;
		w.bytes = bytes;
		return s->ops->work(s, &w, offset, bytes);
	}
	if (bytes) {	/* a range of its own, as a session notes it */
		assert_null(dirty);
		own = full_dirty(s);
		full_note(s, &own, offset, bytes);
		w.dirty = &own;
	}
	TAILQ_INSERT_TAIL(&works, &w, entry);
	s->ops->flush(s, &works);
	bitmap_free(&own);
	return w.status;
}

static inline unsigned int full_flush_all(struct store *s, struct bitmap *dirty)
{
	return full_do(s, RDMABLK_OP_FLUSH, 0, 0, 0, dirty);
}

#endif
