/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of arenas: shared pages, as large as the host has them. All pages exist before
 * any session uses the arena.
 */
#ifndef RDMABLKD_PAGES_H
#define RDMABLKD_PAGES_H

#include "store/store.h"

int pages_anonymous(struct store *store, const struct export_config *ec);
int pages_reserve(struct store *store, const char *name);
int pages_map(struct store *store, const char *name, uint64_t room);
int pages_populate(const struct store *store, const char *name, uint64_t from);
int pages_grow(struct store *store, const char *name, uint64_t room, uint64_t size);
void pages_shrink(struct store *store, uint64_t had);
void pages_release(struct store *store, uint64_t room);

#endif
