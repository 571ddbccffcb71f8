/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kept arenas: files on tmpfs or hugetlbfs that outlive the daemon, and the
 * trailer that says what is in them.
 */
#ifndef RDMABLKD_ARENA_H
#define RDMABLKD_ARENA_H

#include "store.h"

int arena_open(struct store *store, const struct export_config *ec);
int arena_attach(struct store *store, const struct export_config *ec,
		 bool fresh);
int arena_publish(struct store *store);
void arena_written_by(struct store *store);

#endif
