/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limit of locked memory, as which registered memory counts.
 */
#ifndef RDMABLKD_MEMLOCK_H
#define RDMABLKD_MEMLOCK_H

#include <stdbool.h>
#include <stdint.h>

bool memlock_check(const char *name, uint64_t bytes);

#endif
