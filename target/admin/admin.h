/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes by the administrator while the daemon runs: exports are added, removed, resized and
 * opened again, and the configuration is read again. One change at a time, in the order of the
 * requests. Workers do the parts that take time.
 */
#ifndef RDMABLKD_ADMIN_H
#define RDMABLKD_ADMIN_H

#include "admin/admin_request.h"

extern int64_t admin_patience_ms;	/* with the one under way */
void admin_init(struct config *cfg);
void admin_submit(struct admin *a);
void admin_reload_log(const struct admin *a);

#endif
