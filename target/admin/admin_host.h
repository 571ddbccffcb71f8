/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of hosts, their keys and their rights at run time.
 */
#ifndef RDMABLKD_ADMIN_HOST_H
#define RDMABLKD_ADMIN_HOST_H

#include "admin/admin_request.h"
#include "admin/admin_step.h"
#include "export/host.h"

void admin_host_init(struct config *cfg);
void admin_host_add(struct admin *a, admin_then then);
int admin_host_remove(const char *name);
bool admin_host_check(const char *list);
int admin_host_allow(struct export *e, const char *list);

/* For a reload: a worker reads, the loop takes over */
int admin_host_read(struct config *fresh);
void admin_host_rights(const struct config *fresh);
void admin_host_reload(void (*report)(const char *name, const char *action));

#endif
