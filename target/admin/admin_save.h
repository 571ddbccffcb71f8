/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was changed at run time, as a configuration file.
 */
#ifndef RDMABLKD_ADMIN_SAVE_H
#define RDMABLKD_ADMIN_SAVE_H

#include "admin/admin_request.h"
#include "admin/admin_step.h"

void admin_save_init(const struct config *cfg);
void admin_save(struct admin *a, admin_then then);

#endif
