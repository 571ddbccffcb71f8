/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGBUS in an arena ends that export, not the daemon.
 */
#ifndef RDMABLKD_ARENA_GUARD_H
#define RDMABLKD_ARENA_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct arena_guard;

int arena_guard_init(void (*hit)(void));
void arena_guard_exit(void);
struct arena_guard *arena_guard_add(void *base, uint64_t bytes, uint64_t page_size);
void arena_guard_del(struct arena_guard *guard);
bool arena_guard_broken(const struct arena_guard *guard);
void arena_guard_break(struct arena_guard *guard);

#endif
