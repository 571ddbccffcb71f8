/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the administrator changes while the daemon runs: exports are added, removed,
 * resized, opened again, and the configuration is read again. One thing at a time, in
 * the order it was asked for; what takes time is done beside the loop.
 */
#ifndef RDMABLKD_ADMIN_H
#define RDMABLKD_ADMIN_H

#include "admin/admin_request.h"

extern int64_t admin_patience_ms;	/* with the one under way */
void admin_init(struct config *cfg);
void admin_submit(struct admin *a);
void admin_reload_log(const struct admin *a);

#endif
