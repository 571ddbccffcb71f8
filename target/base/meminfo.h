/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the host has the memory of an arena, or of a session.
 */
#ifndef RDMABLKD_MEMINFO_H
#define RDMABLKD_MEMINFO_H

#include <stdbool.h>
#include <stdint.h>

extern const char *meminfo_root;

int meminfo_check(const char *name, uint64_t bytes, bool overcommit);
int meminfo_check_session(const char *name, uint64_t bytes, bool writer);
uint64_t meminfo_lockable(void);
bool meminfo_check_locked(const char *name, uint64_t bytes);
void meminfo_expose(void);
void meminfo_protect(void);

#endif
