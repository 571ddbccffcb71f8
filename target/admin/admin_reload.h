/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the configuration again.
 */
#ifndef RDMABLKD_ADMIN_RELOAD_H
#define RDMABLKD_ADMIN_RELOAD_H

#include "admin/admin_request.h"
#include "admin/admin_step.h"

void admin_reload(struct admin *a, struct config *cfg, admin_then then);
void admin_reload_log(const struct admin *a);

#endif
